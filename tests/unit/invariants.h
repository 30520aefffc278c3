/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What holds for each VMA's report, of an interval or in total. Needs cmocka.h before it. */
#ifndef LAZYFAULT_TEST_INVARIANTS_H
#define LAZYFAULT_TEST_INVARIANTS_H

#include "model.h"

static inline void assert_dist_holds(const struct dist *dist)
{
	if (!dist_count(dist))
		return;
	assert_true(dist->min <= dist->max);
	assert_true(dist->slots[dist_slot(dist->min)] ||
		    dist->slots[dist->open_slot]);
	assert_true(dist_slot(dist->min) <= 64 && dist_slot(dist->max) <= 64);
}

static inline void assert_invariants(const struct vma_report *vma)
{
	const struct fault_counts *faults = &vma->faults;

	assert_true(faults->total == faults->read + faults->write);
	assert_true(faults->total == faults->user + faults->populate + faults->kernel +
		    faults->remote);
	assert_true(faults->write == faults->user_write + faults->populate_write +
				     faults->kernel_write + faults->remote_write);
	assert_true(faults->user_write <= faults->user);
	assert_true(faults->populate_write <= faults->populate);
	assert_true(faults->kernel_write <= faults->kernel);
	assert_true(faults->remote_write <= faults->remote);
	assert_true(faults->failed <= faults->total);
	assert_true(faults->untimed <= faults->total);
	assert_true(faults->under_mmap_lock <= faults->total);
	assert_true(vma->installed_pages == faults->total - faults->failed + vma->batches.pages);
	assert_true(dist_count(&vma->fault_ns) == faults->total - faults->untimed);
	assert_true(dist_count(&vma->batch_pages) == vma->batches.total);
	assert_true(vma->batch_pages.sum == vma->batches.pages);
	assert_dist_holds(&vma->fault_ns);
	assert_dist_holds(&vma->batch_ns);
	assert_dist_holds(&vma->batch_pages);
}

#endif
