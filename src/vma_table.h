/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of each VMA: takes the kernel's cumulative snapshots, gives
 * interval and total reports. Rows of VMAs that are gone are kept, packed,
 * until their total was reported: at the end, or earlier where there are many.
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
 * the VMA's last; bytes that no kernel side writes with -EPROTO. -ENOMEM, or
 * 0. A record for an unmapped VMA may come once
 * only; a repeated one is ignored.
 */
int vma_table_add(struct vma_table *table, const struct vma_record *record,
		  uint64_t unconsumed);
/*
 * The same for the last snapshot of a VMA that is still mapped when tracing
 * ends: it is never refused, and nothing is held back from `raced`.
 */
int vma_table_add_last(struct vma_table *table, const struct vma_record *record);

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
/*
 * Bounds the memory: where more VMAs are gone than the limit, hands out those
 * gone longest and forgets them. Of each, what no interval has shown yet goes
 * to `interval` (NULL where none are reported) and to the sums of the next
 * vma_table_each_interval(), then all of it to `total`. For the loop, after
 * each drain; returns how many rows it forgot.
 */
size_t vma_table_each_evicted(struct vma_table *table, vma_report_fn interval,
			      vma_report_fn total, void *context);
/* Gone rows to keep. Tests set fewer: eviction with its corner cases, in runs that end. */
#define VMA_TABLE_GONE_MAX 32768
void vma_table_limit_gone(struct vma_table *table, size_t limit);

/* VMAs ever seen. */
uint64_t vma_table_count(const struct vma_table *table);

#endif
