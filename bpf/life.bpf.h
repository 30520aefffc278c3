/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How VMAs come and go: mmap, copies by fork, splits and moves, and the time
 * that a map's mmap handler took.
 */
#ifndef LAZYFAULT_LIFE_BPF_H
#define LAZYFAULT_LIFE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "compat.bpf.h"
#include "vmas.bpf.h"

/* Set by the loader. */
const volatile __u64 own_start;		/* of the tracer's process: ns, CLOCK_MONOTONIC */

/* What a program on a handler tells those that come after it. */
struct mmap_slot {
	__u64 vma;
	__u64 start;
	__u64 done;		/* the VMA that the first of two twins has seen to, unless another
				   VMA took the slot: see is_seen_to() */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MMAP_SLOTS);
	__type(key, __u32);
	__type(value, struct mmap_slot);
} mmap_slots SEC(".maps");

static __always_inline struct mmap_slot *mmap_slot_of(struct vm_area_struct *vma)
{
	__u32 number = mix(vma) >> 54;	/* 10 bits: MMAP_SLOTS */

	return bpf_map_lookup_elem(&mmap_slots, &number);
}

static __always_inline int mmap_entered(struct vm_area_struct *vma)
{
	struct mmap_slot *slot = mmap_slot_of(vma);

	if (!slot)
		return 0;
	slot->start = bpf_ktime_get_ns();
	slot->vma = (__u64)vma;
	slot->done = 0;
	return 0;
}

static __always_inline void map_mmapped(struct vm_area_struct *vma, __u32 flags, __u64 ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct syscall_now now = {};

	retire(vma, false);
	if (!tgid_passes(task) || !map_passes(map_of_vma(vma))) {
		if (!filters.by_cgroup)
			insert_key(number_of(vma), ENTRY_FILTERED);
		return;
	}
	read_syscall(task, &now);
	if (now.mmap_populate)
		flags |= VMA_MMAP_POPULATE;
	make_entry(number_of(vma), flags, ns);
}

/*
 * Whether one of two twins has seen to a VMA, though another VMA took its slot
 * since: its entry is of this address space and map, and nothing has touched it.
 * So may be that of a VMA which was here before and whose close both programs
 * missed: a row without faults is missing then.
 */
static __noinline bool is_just_made(struct vm_area_struct *vma)
{
	struct vma_entry *entry = entry_at(find_index(number_of(vma)));

	return entry && entry->key == (__u64)vma && entry->mm == (__u64)vma->vm_mm &&
	       entry->map == (__u64)map_of_vma(vma) && !faults_of(&entry->record.counts) &&
	       !entry->record.counts.batches;
}

static __always_inline bool is_seen_to(struct mmap_slot *slot, struct vm_area_struct *vma)
{
	if (slot->done != (__u64)vma)
		return is_just_made(vma);
	slot->done = 0;
	return true;
}

static __always_inline int mmap_left(struct vm_area_struct *vma, int ret)
{
	struct mmap_slot *slot = mmap_slot_of(vma);
	__u32 flags = 0;
	__u64 ns = 0;

	if (!slot)
		return 0;
	if (is_seen_to(slot, vma))
		return 0;
	if (slot->vma == (__u64)vma) {
		ns = bpf_ktime_get_ns() - slot->start;
		flags = VMA_MMAP_SEEN;
		slot->vma = 0;
	}
	slot->done = (__u64)vma;
	if (!ret && !is_own(bpf_get_current_task_btf()))
		map_mmapped(vma, flags, ns);
	return 0;
}

/* A VMA is copied by fork, or split, or moved by mremap. */
static __always_inline int vma_opened(struct vm_area_struct *vma)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool forked = task->mm != vma->vm_mm;
	struct mm_owner nobody_yet = {};
	__u64 mm = (__u64)vma->vm_mm;

	if (is_own(task))
		return 0;
	retire(vma, false);
	/* with -p a child is another process, and not named */
	if (!tgid_passes(task) || (forked && filters.by_tgid && !filters.by_descent) ||
	    !map_passes(map_of_vma(vma))) {
		if (!filters.by_cgroup)
			insert_key(number_of(vma), ENTRY_FILTERED);
		return 0;
	}
	if (forked)
		bpf_map_update_elem(&forked_mms, &mm, &nobody_yet, BPF_ANY);
	make_entry(number_of(vma), forked ? VMA_FORKED : 0, 0);
	return 0;
}

static __always_inline int open_entered(struct vm_area_struct *vma)
{
	struct mmap_slot *slot = mmap_slot_of(vma);

	if (slot)
		slot->done = (__u64)vma;
	return vma_opened(vma);
}

static __always_inline int open_left(struct vm_area_struct *vma)
{
	struct mmap_slot *slot = mmap_slot_of(vma);

	return slot && is_seen_to(slot, vma) ? 0 : vma_opened(vma);
}

/*
 * A VMA closes that the table does not know: nobody has touched it, and how it
 * was made was not seen by either twin. It is a row all the same, if all of it
 * happened while the tracer was there: in a process that is younger. Not once
 * the table was full, for then it may have been touched and is among the lost.
 */
static __noinline int meet_at_close(struct vm_area_struct *vma)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (table_was_full || task->group_leader->start_time < own_start ||
	    (task->mm != vma->vm_mm && task->active_mm != vma->vm_mm))
		return 0;
	if (tgid_passes(task) && map_passes(map_of_vma(vma)))
		make_entry(number_of(vma), 0, 0);
	return 0;
}

/*
 * The first of two twins: the second could not tell a VMA that has been retired.
 * One whose process was held up on the way here the walk may have taken for gone:
 * it has had its row.
 */
static __always_inline int close_entered(struct vm_area_struct *vma)
{
	if (find_index(number_of(vma)) == ENTRY_UNKNOWN &&
	    *closed_by_walk_at(mix(vma)) != (__u64)vma)
		meet_at_close(vma);
	return retire(vma, true);
}

/* The child's PID, which the VMAs that fork copied do not have yet. */
static __always_inline void name_child(struct task_struct *child)
{
	__u64 mm = (__u64)child->mm;
	struct mm_owner *owner = bpf_map_lookup_elem(&forked_mms, &mm);

	if (!owner)
		return;
	bpf_probe_read_kernel_str(owner->comm, COMM_BYTES, &child->comm);
	owner->pid = visible_tgid(child);
}

static __always_inline int child_comes(struct task_struct *parent, struct task_struct *child)
{
	if (parent->tgid != child->tgid)
		name_child(child);
	follow_fork(parent, child);
	return 0;
}

#endif
