/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of each VMA: takes the kernel's cumulative snapshots, gives
 * interval and total reports. Rows of VMAs that are gone are kept only until
 * their total was reported, their counts stay in the run's totals.
 */
#ifndef LAZYFAULT_VMA_TABLE_H
#define LAZYFAULT_VMA_TABLE_H

#include "model.h"

struct vma_record;		/* bpf/records.h */
struct vma_table;

struct vma_table *vma_table_new(bool timed, bool exact);
void vma_table_free(struct vma_table *table);

/*
 * Takes a snapshot (already checked to be whole). `unconsumed`: handler runs
 * of this VMA that were in flight or raced when it was taken; they are held
 * back from `raced` until a later snapshot decides. A snapshot taken in
 * mid-fault (see struct vma_counts) is refused with -EAGAIN, unless it is
 * the VMA's last. -ENOMEM, or 0. A record for an unmapped VMA may come once
 * only; a repeated one is ignored.
 */
int vma_table_add(struct vma_table *table, const struct vma_record *record,
		  uint64_t unconsumed);

typedef void (*vma_report_fn)(void *context, const struct vma_report *report);

/*
 * Reports, for each VMA with any change since the last call, what changed
 * (span interval), in order of identity. A VMA is also reported once when it
 * first appears and once when it was unmapped. Returns the sum of faults and
 * installed pages of the interval by the pointers (may be NULL).
 */
void vma_table_each_interval(struct vma_table *table, vma_report_fn fn, void *context,
			     uint64_t *faults, uint64_t *installed_pages);
/* Reports the total of each VMA ever seen, in order of identity. */
void vma_table_each_total(struct vma_table *table, vma_report_fn fn, void *context);
/* VMAs ever seen. */
uint64_t vma_table_count(const struct vma_table *table);

#endif
