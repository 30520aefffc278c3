/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One fault: what it is, how it is counted in the entry of its VMA, and the
 * slot where a thread notes its handler run until the PTE is written. A slot is
 * found by the run's struct vm_fault, which lives on the thread's own stack.
 */
#ifndef LAZYFAULT_ACCOUNT_BPF_H
#define LAZYFAULT_ACCOUNT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "compat.bpf.h"
#include "events.bpf.h"
#include "hist.bpf.h"
#include "vmas.bpf.h"

/* Set by the loader. */
const volatile bool timed = true;	/* the handlers are hooked */

/* At hand without a look-up; the loader reads it in the object's .bss. */
struct fault_slot fault_slots[FAULT_SLOTS];

#define UNTIMED_EXIT_SEEN (~0ULL)
#define UNTIMED_EXIT_MISSED (~0ULL - 1)

static __always_inline __u32 origin_of(struct vm_fault *vmf, __u32 flags)
{
	struct syscall_now now = {};
	struct task_struct *task;

	if (flags & FAULT_FLAG_USER)
		return ORIGIN_USER;
	task = bpf_get_current_task_btf();
	if (task->mm != vmf->vma->vm_mm)
		return ORIGIN_REMOTE;
	read_syscall(task, &now);
	return now.populates ? ORIGIN_POPULATE : ORIGIN_KERNEL;
}

/* One fault as it is counted. */
struct fault {
	__u64 address;
	__u64 elapsed;		/* ns, or one of UNTIMED_* */
	__u32 access, origin, lock;
	bool failed;
};

static __always_inline void describe(struct fault *fault, struct vm_fault *vmf, __u64 elapsed,
				     bool failed)
{
	__u32 flags = vmf->flags;

	fault->address = vmf->address;
	fault->elapsed = elapsed;
	fault->access = flags & FAULT_FLAG_WRITE ? ACCESS_WRITE : ACCESS_READ;
	fault->lock = flags & FAULT_FLAG_VMA_LOCK ? UNDER_VMA_LOCK : UNDER_MMAP_LOCK;
	fault->origin = origin_of(vmf, flags);
	fault->failed = failed;
}

/*
 * count() of `member` of an entry, so many bytes on. A compiler would copy the
 * entry's address and the one that is added, each time.
 */
#define count_in(entry, member, bytes, one)						\
	do {										\
		__u64 place_ = (bytes);							\
											\
		asm volatile("%0 += %1; lock *(u64 *)(%0 + %3) += %2"			\
			     : "+r"(place_)						\
			     : "r"(entry), "r"(one),					\
			       "i"(__builtin_offsetof(struct vma_entry, member))	\
			     : "memory");						\
	} while (0)

static __always_inline __u64 in_a_register(__u64 value)
{
	asm volatile("" : "+r"(value));
	return value;
}

static __always_inline void account_place(struct vma_entry *entry, __u64 address, __u64 one)
{
	__u64 bin = (address - entry->record.identity.where_start) >> entry->bin_shift;

	if (bin >= WHERE_BINS)
		bin = WHERE_BINS - 1;
	count_in(entry, record.counts.where, bin * sizeof(__u64), one);
}

/* `page`: of the map. */
static __always_inline void fill_fault_event(struct event_record *event, struct vma_entry *entry,
					     struct fault *fault, __u64 page, __u32 outcome)
{
	fill_event(event, entry, page);
	event->header.state = EVENT_FAULT;
	event->elapsed = timed && fault->elapsed < UNTIMED_EXIT_MISSED ? fault->elapsed :
									 EVENT_UNTIMED;
	event->pages = outcome == OUTCOME_INSTALLED;
	event->access = fault->access;
	event->origin = fault->origin;
	event->outcome = outcome;
	event->pad = 0;
}

static __always_inline void tell_fault(struct vma_entry *entry, struct fault *fault, __u64 page)
{
	struct event_record *event = reserve_event();

	if (!event)
		return;
	fill_fault_event(event, entry, fault, page,
			 fault->failed ? OUTCOME_FAILED : OUTCOME_INSTALLED);
	send_event(event);
}

/* Not static: so the verifier goes through its loops once, and not on each path that leads here. */
__noinline int account_time(struct vma_counts *counts, __u64 elapsed)
{
	if (!counts)
		return 0;
	if (elapsed == UNTIMED_EXIT_SEEN) {
		count(&counts->untimed_exit_seen);
	} else if (elapsed == UNTIMED_EXIT_MISSED) {
		count(&counts->untimed_exit_missed);
		count(&cpu_stats()->exit_missed);
	} else {
		dist_add(&counts->fault_ns, NS_SLOTS, elapsed);
	}
	return 0;
}

/* What comes later is raised anew: a value that another CPU has overtaken is only too low. */
static __always_inline void learn_usual_most(struct vma_entry *entry)
{
	__u64 most = entry->record.counts.fault_ns.max;

	entry->usual_most = most < LOG2_TABLE ? most : LOG2_TABLE - 1;
}

static __noinline int account(struct vma_entry *entry, struct fault *fault)
{
	struct vma_counts *counts = &entry->record.counts;

	count(&counts->cells[fault->access & 1][fault->origin & (ORIGINS - 1)][fault->lock & 1]);
	if (fault->failed)
		count(&counts->failed);
	else
		account_place(entry, fault->address, 1);
	if (timed) {
		account_time(counts, fault->elapsed);
		learn_usual_most(entry);
	}
	return 0;
}

/*
 * Where the count of a fault from user mode is, as an offset in the cells. The
 * factor moves the bit of a write and that of the VMA's lock to where they are
 * in it, and the latter is turned round.
 */
static __always_inline __u64 user_cell(__u32 flags)
{
	_Static_assert(FAULT_FLAG_WRITE == 1 && FAULT_FLAG_VMA_LOCK == 1 << 12, "elsewhere");
	_Static_assert(ORIGIN_USER == 0 && ORIGINS * LOCKS * sizeof(__u64) == 1 << 6 &&
		       ACCESS_WRITE == 1 && UNDER_MMAP_LOCK == 1, "the cells are elsewhere");
	__u64 cell = flags * (1 << 15 | 1);

	return (cell >> 9 & (1 << 6 | 1 << 3)) ^ 1 << 3;
}

static __noinline int account_unusual(struct vma_entry *entry, struct vm_fault *vmf, __u64 elapsed)
{
	struct fault fault;

	describe(&fault, vmf, elapsed, false);
	return account(entry, &fault);
}

/* Neither shorter nor longer than any before, which is rare once there are some. */
static __always_inline bool is_usual_time(struct vma_entry *entry, __u64 elapsed)
{
	return elapsed >= entry->record.counts.fault_ns.min && elapsed <= entry->usual_most;
}

/* The same as account_time() of a usual time. */
static __always_inline void account_usual_time(struct vma_entry *entry, __u64 elapsed, __u64 one)
{
	/* masked where the verifier sees it: the compiler knows that it need not be */
	__u64 place = in_a_register(elapsed) & (LOG2_TABLE - 1);

	__sync_fetch_and_add(&entry->record.counts.fault_ns.sum, elapsed);
	count_in(entry, record.counts.fault_ns.slots,
		 in_a_register(log2_table[place] * sizeof(__u64)) & 15 * sizeof(__u64), one);
}

/*
 * The same as describe() and account() of a page that was installed, on the way
 * that most faults take: from user mode, and in a usual time.
 */
static __always_inline int account_installed(struct vma_entry *entry, struct vm_fault *vmf,
					     __u64 address, __u64 elapsed, bool with_time)
{
	__u64 one = in_a_register(1);
	__u32 flags = vmf->flags;

	if (!(flags & FAULT_FLAG_USER) || (with_time && !is_usual_time(entry, elapsed)))
		return account_unusual(entry, vmf, elapsed);
	count_in(entry, record.counts.cells, user_cell(flags), one);
	account_place(entry, address, one);
	if (with_time)
		account_usual_time(entry, elapsed, one);
	return 0;
}

static __always_inline struct fault_slot *slot_of(struct vm_fault *vmf)
{
	return place_in(fault_slots, vmf, FAULT_SLOTS_SHIFT, sizeof(struct fault_slot));
}

static __always_inline __u32 slot_number(struct vm_fault *vmf)
{
	void *first = fault_slots;
	__u64 bytes = (__u64)slot_of(vmf);

	asm volatile("%0 -= %1" : "+r"(bytes) : "r"(first));
	return bytes / sizeof(struct fault_slot);
}

/*
 * Notes the event of a run that has left its handler: it raced, unless its PTE
 * is written. So has the run before, if its event still waits here.
 */
static __always_inline void note_event(struct vma_entry *entry, struct vm_fault *vmf,
				       __u64 elapsed)
{
	__u32 number = slot_number(vmf);
	struct event_record *event = bpf_map_lookup_elem(&event_slots, &number);
	struct fault fault;

	if (!event)
		return;
	if (event->outcome == OUTCOME_RACED)
		send_copy(event);
	describe(&fault, vmf, elapsed, false);
	fill_fault_event(event, entry, &fault, vmf->pgoff, OUTCOME_RACED);
}

/* A fault whose PTE is written. If its exit was seen, its event was noted there. */
static __always_inline void tell_installed(struct vma_entry *entry, struct fault *fault,
					   struct vm_fault *vmf)
{
	if (fault->elapsed == UNTIMED_EXIT_MISSED ||
	    !send_noted_event(slot_number(vmf), vmf->pgoff))
		tell_fault(entry, fault, vmf->pgoff);
}

/* Its PTE is written, but its VMA is gone: it is counted nowhere, and no event either. */
static __always_inline void forget_noted_event(struct vm_fault *vmf)
{
	__u32 number = slot_number(vmf);
	struct event_record *event = bpf_map_lookup_elem(&event_slots, &number);

	if (event)
		event->outcome = 0;
}

/*
 * Another thread's run holds the slot: hands off, or its time would be lost
 * and its exit counted twice. What is older than a second is a leftover.
 */
static __always_inline bool slot_is_taken(struct fault_slot *slot, struct vm_fault *vmf, __u64 now)
{
	return slot->vmf && slot->vmf != (__u64)vmf && now - slot->start < 1000000000;
}

#endif
