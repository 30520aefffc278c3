/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words for modes and map types, said in one place. */
#include "model.h"

const char *map_mode_name(enum map_mode mode)
{
	switch (mode) {
	case MODE_NONE:
		return "none";
	case MODE_EAGER:
		return "eager";
	case MODE_LAZY:
		return "lazy";
	case MODE_LAZY_AROUND:
		return "lazy+around";
	case MODE_UNKNOWN:
		break;
	}
	return "unknown";
}

/*
 * Numbers of the kernel's interface, by which a map type is known for good:
 * the headers that this is built with may be older than the kernel traced.
 */
const char *map_type_name(uint32_t type)
{
	static const struct {
		uint32_t type;
		const char *name;
	} names[] = {
		{ 2, "array" },
		{ 12, "array_of_maps" },
		{ 13, "hash_of_maps" },
		{ 27, "ringbuf" },
		{ 31, "user_ringbuf" },
		{ 33, "arena" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].type == type)
			return names[i].name;
	}
	return "other";
}

bool run_is_known(const struct run_start *start)
{
	return start->version;
}

struct traps vma_traps(const struct vma_report *vma)
{
	const struct fault_counts *faults = &vma->faults;
	struct traps traps = { .count = faults->user, .pages = faults->user };

	/* Failures are not told apart by origin; few but touches fail. */
	traps.pages -= faults->failed < faults->user ? faults->failed : faults->user;
	if (!vma->mmap.populate) {
		traps.count += vma->batches.total;
		traps.pages += vma->batches.pages;
	}
	return traps;
}

static void fault_counts_add(struct fault_counts *sum, const struct fault_counts *later)
{
	sum->total += later->total;
	sum->read += later->read;
	sum->write += later->write;
	sum->user += later->user;
	sum->populate += later->populate;
	sum->kernel += later->kernel;
	sum->remote += later->remote;
	sum->failed += later->failed;
	sum->raced += later->raced;
	sum->untimed += later->untimed;
	sum->under_mmap_lock += later->under_mmap_lock;
	sum->user_write += later->user_write;
	sum->populate_write += later->populate_write;
	sum->kernel_write += later->kernel_write;
	sum->remote_write += later->remote_write;
}

void vma_report_add(struct vma_report *sum, const struct vma_report *later)
{
	struct vma_report before = *sum;

	*sum = *later;
	sum->faults = before.faults;
	fault_counts_add(&sum->faults, &later->faults);
	sum->raced_known = before.raced_known && later->raced_known;
	sum->batches.total += before.batches.total;
	sum->batches.declined += before.batches.declined;
	sum->batches.pages += before.batches.pages;
	sum->installed_pages += before.installed_pages;
	dist_merge(&sum->fault_ns, &before.fault_ns);
	dist_merge(&sum->batch_ns, &before.batch_ns);
	dist_merge(&sum->batch_pages, &before.batch_pages);
	for (unsigned int i = 0; i < MODEL_WHERE_BINS; i++)
		sum->where.pages[i] += before.where.pages[i];
	if (sum->where.count < before.where.count)
		sum->where.count = before.where.count;
}
