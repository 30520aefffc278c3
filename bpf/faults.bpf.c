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
const volatile bool plain;		/* no filters, events or batches; asked first */

/* ---- handlers of faults and batches ---- */

/*
 * These run for every fault: what is unusual is done in functions that they end
 * in, so that nothing need be kept in registers for it. For the same reason
 * they read their context anew after a call.
 */
static __always_inline int handler_enter(__u64 *ctx)
{
	struct fault_slot *slot;
	struct vm_fault *vmf;
	__u64 now;

	if (!plain) {
		vmf = (void *)ctx[0];
		if (filters && is_left_out(vmf->vma))
			return 0;
	}
	now = bpf_ktime_get_ns();
	vmf = (void *)ctx[0];
	slot = slot_of(vmf);
	if (slot_is_taken(slot, vmf, now))
		return 0;
	slot->vmf = (__u64)vmf;
	slot->address = vmf->address;
	slot->start = now;
	slot->state = SLOT_ENTERED;
	return 0;
}

/* A run whose entry or VMA is not at hand, that gives no page, or has an event. */
static __noinline int unusual_exit(struct vm_fault *vmf, __u32 ret, __u64 now)
{
	bool final = !exact || (ret & (VM_FAULT_ERROR | VM_FAULT_NOPAGE)), taken;
	struct fault_slot *slot = slot_of(vmf);
	struct vm_area_struct *vma = vmf->vma;
	__u64 elapsed = UNTIMED_EXIT_SEEN;
	struct vma_entry *entry;
	struct fault fault;
	__u32 index;

	taken = slot_is_taken(slot, vmf, now);
	if (!taken && slot->state == SLOT_ENTERED && slot->vmf == (__u64)vmf &&
	    slot->address == vmf->address)
		elapsed = now - slot->start;
	if (!taken)
		slot->state = SLOT_FREE;
	if (ret & VM_FAULT_RETRY)
		return 0;
	index = index_of(vma);
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

static __always_inline int exit_left_out(__u32 ret)
{
	if (!(ret & VM_FAULT_RETRY) && (!exact || (ret & (VM_FAULT_ERROR | VM_FAULT_NOPAGE))))
		count(&cpu_stats()->filtered);
	return 0;
}

static __always_inline bool is_usual_exit(__u64 *ctx, struct vm_fault *vmf, struct fault_slot *slot)
{
	return slot->vmf == (__u64)vmf && slot->state == SLOT_ENTERED &&
	       !(ctx[1] & (VM_FAULT_ERROR | VM_FAULT_NOPAGE | VM_FAULT_RETRY)) &&
	       slot->address == vmf->address;
}

static __always_inline int handler_exit(__u64 *ctx)
{
	struct vma_entry *entry = NULL;
	struct fault_slot *slot;
	struct vm_fault *vmf;
	__u32 index;
	__u64 now;

	if (!plain) {
		vmf = (void *)ctx[0];
		if (filters && is_left_out(vmf->vma))
			return exit_left_out(ctx[1]);
		if (events)
			return unusual_exit(vmf, ctx[1], bpf_ktime_get_ns());
	}
	now = bpf_ktime_get_ns();
	vmf = (void *)ctx[0];
	slot = slot_of(vmf);
	if (is_usual_exit(ctx, vmf, slot))
		entry = hinted_entry(vmf->vma, &index);
	if (!entry)
		return unusual_exit((void *)ctx[0], ctx[1], now);
	count(&entry->record.counts.exits);
	slot->elapsed = now - slot->start;
	if (!exact) {
		slot->state = SLOT_FREE;
		vmf = (void *)ctx[0];
		return account_installed(entry, vmf, slot->address, slot->elapsed, true);
	}
	slot->entry = index;
	slot->row = entry->record.identity.id;
	slot->state = SLOT_EXITED;
	return 0;
}

SEC("?fentry")
int array_fault_enter(__u64 *ctx)
{
	return handler_enter(ctx);
}

SEC("?fexit")
int array_fault_exit(__u64 *ctx)
{
	return handler_exit(ctx);
}

SEC("?fentry")
int arena_fault_enter(__u64 *ctx)
{
	return handler_enter(ctx);
}

SEC("?fexit")
int arena_fault_exit(__u64 *ctx)
{
	return handler_exit(ctx);
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

static __always_inline bool is_lazy(struct vm_area_struct *vma)
{
	__u64 ops = (__u64)vma->vm_ops;

	return ops == array_vm_ops || ops == arena_vm_ops;
}

/* The time of a run whose PTE is being written, as its exit has noted it. */
static __always_inline __u64 take_elapsed(struct vm_fault *vmf)
{
	struct fault_slot *slot = slot_of(vmf);
	__u32 state = slot->state;

	if (slot->vmf != (__u64)vmf || slot->address != vmf->address)
		return UNTIMED_EXIT_MISSED;
	/* one that was entered has missed its exit: the start must not wait for another */
	slot->state = SLOT_FREE;
	if (state < SLOT_EXITED)
		return UNTIMED_EXIT_MISSED;
	return state == SLOT_EXITED ? slot->elapsed : UNTIMED_EXIT_SEEN;
}

/* A page of a VMA that is not at hand, of a run that is not, or with an event. */
static __noinline int unusual_installed(struct vm_fault *vmf)
{
	__u64 elapsed = UNTIMED_EXIT_MISSED;
	struct vm_area_struct *vma = vmf->vma;
	struct vma_entry *entry;
	struct fault fault;

	if (!is_lazy(vma))
		return 0;
	if (timed)
		elapsed = take_elapsed(vmf);
	entry = entry_or_count(vma, index_of(vma));
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

static __always_inline struct vma_entry *entry_of_slot(struct fault_slot *slot,
						       struct vm_fault *vmf, __u64 address)
{
	struct vma_entry *entry;
	__u64 key;

	if (slot->vmf != (__u64)vmf || slot->address != address || slot->state != SLOT_EXITED)
		return NULL;
	key = (__u64)vmf->vma;
	entry = entry_at(slot->entry);
	return entry && entry->live_key == key ? entry : NULL;
}

static __always_inline int installed_timed(__u64 *ctx)
{
	struct vm_fault *vmf = (void *)ctx[0];
	struct fault_slot *slot = slot_of(vmf);
	struct vma_entry *entry = entry_of_slot(slot, vmf, ctx[4]);

	vmf = (void *)ctx[0];
	if (!entry)
		return unusual_installed(vmf);
	slot->state = SLOT_FREE;
	return account_installed(entry, vmf, ctx[4], slot->elapsed, true);
}

static __always_inline int installed_untimed(__u64 *ctx)
{
	struct vm_fault *vmf = (void *)ctx[0];
	struct vm_area_struct *vma = vmf->vma;
	struct vma_entry *entry = NULL;
	__u32 index;

	/* of a VMA that left unseen, the address may be that of any other by now */
	if (is_lazy(vma))
		entry = hinted_entry(vma, &index);
	vmf = (void *)ctx[0];
	return entry ? account_installed(entry, vmf, ctx[4], 0, false) : unusual_installed(vmf);
}

/* With a .map_pages or events. */
static __noinline int installed_around(__u64 *ctx)
{
	struct vm_fault *vmf = (void *)ctx[0];

	if (vmf->page)
		return unusual_installed(vmf);
	return is_lazy(vmf->vma) ? batch_installed(vmf, vmf->vma, ctx[3], ctx[4]) : 0;
}

static __always_inline int left_out_installed(struct vm_area_struct *vma)
{
	if (is_lazy(vma))
		count(&cpu_stats()->filtered);
	return 0;
}

/*
 * Under the page-table lock (mm/memory.c). The context: vmf, folio, page, the
 * number of pages, and the address. Pages of maps are in no file's page cache,
 * so that a look at the folio spares us most others. A .fault handler leaves its
 * page in vmf->page; while .map_pages runs that is NULL (do_read_fault()).
 */
SEC("?fentry/set_pte_range")
int pte_installed(__u64 *ctx)
{
	struct folio *folio = (void *)ctx[1];

	if (folio->mapping)
		return 0;
	if (!plain) {
		struct vm_fault *vmf = (void *)ctx[0];

		if (events || (batches && batches_by_table))
			return installed_around(ctx);
		if (batches && !vmf->page)
			return next_installed(ctx) ? 0 : installed_around(ctx);
		if (filters && is_left_out(vmf->vma))
			return left_out_installed(vmf->vma);
	}
	return timed ? installed_timed(ctx) : installed_untimed(ctx);
}

/* ---- failed faults without handler hooks (--no-time) ---- */

#define SIGBUS 7
#define SIGSEGV 11
#define BUS_ADRERR 2
#define SEGV_MAPERR 1

static long failed_in_vma(struct task_struct *task, struct vm_area_struct *vma, void *context)
{
	struct fault *fault = context;
	struct vma_entry *entry;

	if (!is_lazy(vma))
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
