// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the faults of each VMA that maps a BPF map, where they happen. Every
 * program of the fault report is here; what they do is in the headers.
 *
 * Exact counting rests on set_pte_range(): it runs under the page-table lock
 * with preemption off, so no run of the program there is ever skipped, while
 * a program on a handler is skipped when a preempted task holds it on that
 * CPU. The handler's entry and exit give the time, which a thread hands over
 * in a slot of its own.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "account.bpf.h"
#include "batches.bpf.h"
#include "life.bpf.h"
#include "vmas.bpf.h"
#include "walk.bpf.h"

/* The return bits of a handler (include/linux/mm_types.h, enum vm_fault_reason). */
#define VM_FAULT_ERROR 0x000873
#define VM_FAULT_NOPAGE 0x000100
#define VM_FAULT_RETRY 0x000400

/* Set by the loader. */
const volatile __u64 array_vm_ops;	/* of a lazy mapping; 0: there is none */
const volatile __u64 arena_vm_ops;
const volatile bool exact = true;	/* set_pte_range is hooked */

/* ---- handlers of faults and batches ---- */

static __always_inline int handler_enter(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct fault_slot *slot;
	__u32 index = index_of(vma);
	__u64 now;

	if (index >= ENTRY_NONE_ABOVE)
		return 0;
	slot = slot_of(vmf);
	now = bpf_ktime_get_ns();
	if (slot_is_taken(slot, vmf, now))
		return 0;
	slot->vmf = (__u64)vmf;
	slot->address = vmf->address;
	slot->entry = index;
	slot->start = now;
	slot->state = SLOT_ENTERED;
	return 0;
}

static __always_inline int handler_exit(struct vm_fault *vmf, __u32 ret)
{
	__u64 now = bpf_ktime_get_ns(), elapsed = UNTIMED_EXIT_SEEN;
	struct vm_area_struct *vma = vmf->vma;
	struct fault_slot *slot = slot_of(vmf);
	bool final = !exact || (ret & (VM_FAULT_ERROR | VM_FAULT_NOPAGE)), taken;
	struct vma_entry *entry;
	struct fault fault;
	__u32 index;

	taken = slot_is_taken(slot, vmf, now);
	if (!taken && slot->state == SLOT_ENTERED && slot->address == vmf->address) {
		index = slot->entry;
		elapsed = now - slot->start;
	} else {
		index = index_of(vma);
	}
	if (!taken)
		slot->state = SLOT_FREE;
	if (ret & VM_FAULT_RETRY)
		return 0;
	/* in exact counting the installed page is counted where its PTE is written */
	if (!final && (taken || index >= ENTRY_NONE_ABOVE))
		return 0;
	entry = entry_or_count(vma, index);
	if (!entry)
		return 0;
	count(&entry->record.counts.exits);
	if (final) {
		describe(&fault, vmf, elapsed, ret & VM_FAULT_ERROR);
		account(entry, &fault);
		if (events)
			tell_fault(entry, &fault, vmf->pgoff);
		return 0;
	}
	if (events)
		note_event(entry, vmf, elapsed);
	slot->vmf = (__u64)vmf;
	slot->address = vmf->address;
	slot->entry = index;
	slot->row = entry->record.identity.id;
	slot->elapsed = elapsed;
	slot->start = now;
	slot->state = elapsed == UNTIMED_EXIT_SEEN ? SLOT_EXITED_UNTIMED : SLOT_EXITED;
	return 0;
}

SEC("?fentry")
int BPF_PROG(array_fault_enter, struct vm_fault *vmf)
{
	return handler_enter(vmf);
}

SEC("?fexit")
int BPF_PROG(array_fault_exit, struct vm_fault *vmf, __u32 ret)
{
	return handler_exit(vmf, ret);
}

SEC("?fentry")
int BPF_PROG(arena_fault_enter, struct vm_fault *vmf)
{
	return handler_enter(vmf);
}

SEC("?fexit")
int BPF_PROG(arena_fault_exit, struct vm_fault *vmf, __u32 ret)
{
	return handler_exit(vmf, ret);
}

SEC("?fentry")
int BPF_PROG(array_pages_enter, struct vm_fault *vmf, __u64 first, __u64 last)
{
	return pages_enter(vmf, first, last);
}

SEC("?fexit")
int BPF_PROG(array_pages_exit, struct vm_fault *vmf, __u64 first, __u64 last, __u32 ret)
{
	return pages_exit(vmf, first, last, ret);
}

SEC("?fentry")
int BPF_PROG(arena_pages_enter, struct vm_fault *vmf, __u64 first, __u64 last)
{
	return pages_enter(vmf, first, last);
}

SEC("?fexit")
int BPF_PROG(arena_pages_exit, struct vm_fault *vmf, __u64 first, __u64 last, __u32 ret)
{
	return pages_exit(vmf, first, last, ret);
}

/* ---- where PTEs are written ---- */

static __always_inline int fault_installed(struct vm_fault *vmf, struct vm_area_struct *vma)
{
	struct fault_slot *slot = timed ? slot_of(vmf) : NULL;
	__u64 elapsed = UNTIMED_EXIT_MISSED;
	struct vma_entry *entry;
	struct fault fault;
	__u32 index;

	if (slot && slot->vmf == (__u64)vmf && slot->address == vmf->address &&
	    slot->state >= SLOT_EXITED) {
		index = slot->entry;
		elapsed = slot->state == SLOT_EXITED ? slot->elapsed : UNTIMED_EXIT_SEEN;
		slot->state = SLOT_FREE;
	} else {
		index = index_of(vma);
	}
	entry = entry_or_count(vma, index);
	if (!entry) {
		if (events && elapsed != UNTIMED_EXIT_MISSED)
			forget_noted_event(vmf);
		return 0;
	}
	describe(&fault, vmf, elapsed, false);
	account(entry, &fault);
	if (events)
		tell_installed(entry, &fault, vmf);
	if (batches_by_table)
		claim_fault(vmf, vma);
	return 0;
}

/*
 * Under the page-table lock (mm/memory.c). A .fault handler leaves its page in
 * vmf->page; while .map_pages runs that is NULL (mm/memory.c, do_read_fault).
 */
SEC("?fentry/set_pte_range")
int BPF_PROG(pte_installed, struct vm_fault *vmf, struct folio *folio, struct page *page,
	     __u32 pages, __u64 address)
{
	struct vm_area_struct *vma = vmf->vma;
	__u64 ops = (__u64)vma->vm_ops;

	if (ops != array_vm_ops && ops != arena_vm_ops)
		return 0;
	return vmf->page ? fault_installed(vmf, vma) :
			   batch_installed(vmf, vma, pages, address);
}

/* ---- failed faults without handler hooks (--no-time) ---- */

#define SIGBUS 7
#define SIGSEGV 11
#define BUS_ADRERR 2
#define SEGV_MAPERR 1

static long failed_in_vma(struct task_struct *task, struct vm_area_struct *vma, void *context)
{
	__u64 ops = (__u64)vma->vm_ops;
	struct fault *fault = context;
	struct vma_entry *entry;

	if (ops != array_vm_ops && ops != arena_vm_ops)
		return 0;
	entry = entry_or_count(vma, index_of(vma));
	if (!entry)
		return 0;
	account(entry, fault);
	if (events)
		tell_fault(entry, fault, vma->vm_pgoff +
			   ((fault->address - vma->vm_start) >> page_shift));
	return 0;
}

/*
 * A handler that gives no page ends in a signal where the fault came from
 * user mode: SEGV_MAPERR inside a VMA is VM_FAULT_SIGSEGV, BUS_ADRERR is
 * VM_FAULT_SIGBUS (arch/x86/mm/fault.c, arch/arm64/mm/fault.c).
 */
SEC("?fentry/force_sig_fault")
int BPF_PROG(fault_signal, int sig, int code, void *address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fault fault = {
		.address = (__u64)address,
		.elapsed = UNTIMED_EXIT_MISSED,
		.access = last_fault_was_write(task) ? ACCESS_WRITE : ACCESS_READ,
		.origin = ORIGIN_USER,
		.lock = UNDER_MMAP_LOCK,
		.failed = true,
	};

	if ((sig == SIGSEGV && code == SEGV_MAPERR) || (sig == SIGBUS && code == BUS_ADRERR))
		bpf_find_vma(task, (__u64)address, failed_in_vma, &fault, 0);
	return 0;
}

/* ---- the life of a VMA ---- */

SEC("?fentry/bpf_map_mmap")
int BPF_PROG(map_mmap_enter, struct file *file, struct vm_area_struct *vma)
{
	return mmap_entered(vma);
}

/*
 * Twins: a program is skipped while a preempted task holds it on that CPU,
 * but hardly two at once. The second of them does nothing where the first
 * was there. A mapping that was not seen to begin would be no row where it
 * is eager, and one that was not seen to end would be taken for whatever
 * comes to its address.
 */
SEC("?fexit/bpf_map_mmap")
int BPF_PROG(map_mmap_exit, struct file *file, struct vm_area_struct *vma, int ret)
{
	return mmap_left(vma, ret);
}

SEC("?fexit/bpf_map_mmap")
int BPF_PROG(map_mmap_exit_twin, struct file *file, struct vm_area_struct *vma, int ret)
{
	return mmap_left(vma, ret);
}

SEC("?fentry")
int BPF_PROG(array_open, struct vm_area_struct *vma)
{
	return open_entered(vma);
}

SEC("?fexit")
int BPF_PROG(array_open_twin, struct vm_area_struct *vma)
{
	return open_left(vma);
}

SEC("?fentry")
int BPF_PROG(arena_open, struct vm_area_struct *vma)
{
	return open_entered(vma);
}

SEC("?fexit")
int BPF_PROG(arena_open_twin, struct vm_area_struct *vma)
{
	return open_left(vma);
}

SEC("?fentry")
int BPF_PROG(array_close, struct vm_area_struct *vma)
{
	return close_entered(vma);
}

SEC("?fexit")
int BPF_PROG(array_close_twin, struct vm_area_struct *vma)
{
	return retire(vma, true);
}

SEC("?fentry")
int BPF_PROG(arena_close, struct vm_area_struct *vma)
{
	return close_entered(vma);
}

SEC("?fexit")
int BPF_PROG(arena_close_twin, struct vm_area_struct *vma)
{
	return retire(vma, true);
}

/* Two places of one fork: a child that neither sees would not be traced. */
SEC("?tp_btf/sched_process_fork")
int BPF_PROG(process_forked, struct task_struct *parent, struct task_struct *child)
{
	return child_comes(parent, child);
}

SEC("?tp_btf/task_newtask")
int BPF_PROG(process_forked_twin, struct task_struct *child)
{
	return child_comes(bpf_get_current_task_btf(), child);
}

/* ---- walking the table ---- */

/*
 * Run by the loader, never attached. Not a "syscall" program: before 6.2 those
 * cannot use a stack of free entries. In: mode and next; the rest is out.
 */
struct walk walked;

SEC("raw_tp")
int walk_table(__u64 *args)
{
	struct walk local = { .mode = args[0], .next = args[1] };
	__u32 used = high_water < max_entries ? high_water : max_entries;

	if (local.next < used)
		bpf_loop(used - local.next, walk_entry, &local, 0);
	walked = local;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
