/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walks the table of VMAs and ships what changed since the last walk, what
 * could not be shipped when its VMA closed, and VMAs whose close was missed.
 * Or adds up what has been counted so far.
 */
#ifndef LAZYFAULT_WALK_BPF_H
#define LAZYFAULT_WALK_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "compat.bpf.h"
#include "vmas.bpf.h"

/*
 * Changes whenever a count does. Not static: so the verifier goes through its
 * loops once, and not on each path that leads here.
 */
__noinline __u64 activity(struct vma_counts *counts)
{
	__u64 sum = 1;

	if (!counts)
		return 0;
	for (__u32 i = 0; i < NS_SLOTS; i++)
		sum += counts->fault_ns.slots[i] + counts->batch_ns.slots[i];
	for (int i = 0; i < BATCH_SLOTS; i++)
		sum += counts->batch_pages.slots[i];
	return sum + faults_of(counts) + counts->untimed_exit_seen + counts->untimed_exit_missed +
	       counts->exits + counts->failed + counts->batches +
	       counts->batch_installed + counts->batches_declined;
}

/*
 * Refreshes the ends of a VMA that may be closing meanwhile. False if it is
 * gone already, and its close was missed.
 */
static __always_inline bool still_there(struct vma_entry *entry)
{
	struct vm_area_struct *vma = (void *)entry->key;
	__u64 start, end, offset;

	if (!vma)
		return true;	/* its close is under way */
	if ((__u64)BPF_CORE_READ(vma, vm_mm) != entry->mm ||
	    (__u64)BPF_CORE_READ(vma, vm_file, private_data) != entry->map)
		return *(volatile __u64 *)&entry->key != (__u64)vma;
	/* detached comes a moment before close: only who stays so was missed */
	if (vma_is_detached(vma))
		return entry->suspect++ == 0;
	start = BPF_CORE_READ(vma, vm_start);
	end = BPF_CORE_READ(vma, vm_end);
	offset = BPF_CORE_READ(vma, vm_pgoff);
	if (*(volatile __u64 *)&entry->key != (__u64)vma)
		return true;
	entry->record.identity.start = start;
	entry->record.identity.end = end;
	entry->record.identity.map_offset_pages = offset;
	return true;
}

/* Not static, as activity(). */
__noinline int forget_key(__u64 vma, __u32 index)
{
	/* first, as its close may be under way after all */
	*closed_by_walk_at(mix_number(vma)) = vma;
	return remove_key(vma, index);
}

static __always_inline bool close_missed(struct vma_entry *entry, __u32 index, struct walk *walk)
{
	__u64 vma = entry->key;

	if (!begin_closing(entry))
		return true;
	forget_key(vma, index);
	entry->key = 0;
	entry->live_key = 0;
	entry->mark = 0;
	name_forked(entry);
	walk->shipped++;
	return ship_closed(entry, index, BPF_RB_NO_WAKEUP);
}

static __always_inline bool ship_live(struct vma_entry *entry, __u32 index, struct walk *walk)
{
	__u64 now = activity(&entry->record.counts);
	__u64 row = entry->record.identity.id;
	struct vma_record *copy;

	if (!still_there(entry))
		return close_missed(entry, index, walk);
	if (entry->shipped == now && walk->mode != WALK_SHIP_LAST)
		return true;
	name_forked(entry);
	copy = bpf_ringbuf_reserve(&records, sizeof(*copy), 0);
	if (!copy)
		return false;
	bpf_probe_read_kernel(copy, sizeof(*copy), &entry->record);
	/* the VMA may have closed, and its entry been taken anew, meanwhile */
	if (entry->record.identity.id != row || entry->use != ENTRY_LIVE ||
	    copy->identity.id != row || copy->header.state != VMA_MAPPED) {
		bpf_ringbuf_discard(copy, BPF_RB_NO_WAKEUP);
		return true;
	}
	bpf_ringbuf_submit(copy, BPF_RB_NO_WAKEUP);
	entry->shipped = now;
	walk->shipped++;
	return true;
}

/* False if the ring had no room. */
static __always_inline bool visit(struct vma_entry *entry, __u32 index, struct walk *walk)
{
	if (walk->mode == WALK_MARK) {
		entry->record.identity.exits_before = entry->record.counts.exits;
		return true;
	}
	if (walk->mode == WALK_SUM) {
		if (entry->use != ENTRY_FREE)
			add_counts(&entry->record.counts, &walk->faults, &walk->pages);
		return true;
	}
	if (entry->use == ENTRY_LIVE)
		return ship_live(entry, index, walk);
	if (entry->use == ENTRY_CLOSED)
		return ship_closed(entry, index, BPF_RB_NO_WAKEUP);
	return true;
}

static long walk_entry(__u32 offset, void *context)
{
	struct walk *walk = context;
	__u32 index = walk->next;
	struct vma_entry *entry = entry_at(index);

	if (!entry)
		return 1;
	if (!visit(entry, index, walk)) {
		walk->full = 1;
		return 1;
	}
	walk->next = index + 1;
	return 0;
}

#endif
