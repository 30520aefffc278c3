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
const volatile __u8 way;	/* enum fault_way; asked first */

/* ---- handlers of faults and batches ---- */

/*
 * These run for every fault: what is unusual is done in functions that they end
 * in, so that little need be kept in registers for it.
 */

/* The clock is read at the end, so that what is done here is not the handler's time. */
static __always_inline int note_start(struct fault_slot *slot, struct vm_fault *vmf)
{
	/* before it is in use: what stands there may be of a run that has exited */
	*(volatile __u64 *)&slot->state = SLOT_ENTERED;
	*(volatile __u64 *)&slot->vmf = (__u64)vmf;
	slot->address = vmf->address;
	slot->start = bpf_ktime_get_ns();
	return 0;
}

static __noinline int enter_used(struct vm_fault *vmf)
{
	struct fault_slot *slot = slot_of(vmf);

	return slot_is_taken(slot, vmf, bpf_ktime_get_ns()) ? 0 : note_start(slot, vmf);
}

static __always_inline int handler_enter(__u64 *ctx)
{
	struct vm_fault *vmf = (void *)ctx[0];
	struct fault_slot *slot;

	__u8 chosen = way;

	if ((chosen == WAY_FILTERS || (chosen == WAY_ANY && filters.any)) && is_left_out(vmf->vma))
		return 0;
	slot = slot_of(vmf);
	return slot->vmf ? enter_used(vmf) : note_start(slot, vmf);
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
	if (slot->state == SLOT_ENTERED && slot->vmf == (__u64)vmf &&
	    slot->address == vmf->address)
		elapsed = now - slot->start;
	if (!taken)
		slot->vmf = 0;
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
	slot->address = vmf->address;
	slot->elapsed = elapsed;
	slot->start = now;
	slot->state = entry->mark | (elapsed == UNTIMED_EXIT_SEEN ? SLOT_UNTIMED : 0);
	*(volatile __u64 *)&slot->vmf = (__u64)vmf;
	return 0;
}

/* In exact counting pages are counted as left out where their PTEs are written. */
static __always_inline int exit_left_out(__u32 ret)
{
	bool failed = ret & (VM_FAULT_ERROR | VM_FAULT_NOPAGE);

	if ((failed || !exact) && !(ret & VM_FAULT_RETRY))
		count(&cpu_stats()->filtered);
	return 0;
}

static __always_inline int handler_exit(__u64 *ctx, bool is_exact)
{
	__u64 now = bpf_ktime_get_ns();
	struct vm_fault *vmf = (void *)ctx[0];
	struct fault_slot *slot = slot_of(vmf);
	struct vma_entry *entry = NULL;

	if (slot->vmf == (__u64)vmf && slot->state == SLOT_ENTERED &&
	    slot->address == vmf->address &&
	    !(ctx[1] & (VM_FAULT_ERROR | VM_FAULT_NOPAGE | VM_FAULT_RETRY)))
		entry = hinted_entry(vmf->vma);
	vmf = (void *)ctx[0];
	if (!entry)
		return unusual_exit(vmf, ctx[1], now);
	slot->elapsed = now - slot->start;
	count(&entry->record.counts.exits);
	if (is_exact) {
		slot->state = entry->mark;
		return 0;
	}
	slot->vmf = 0;
	return account_installed(entry, vmf, slot->address, slot->elapsed, true);
}

static __always_inline int exit_any_way(__u64 *ctx, bool is_filtered)
{
	struct vm_fault *vmf = (void *)ctx[0];

	if (is_filtered && is_left_out(vmf->vma))
		return exit_left_out(ctx[1]);
	if (events)
		return unusual_exit(vmf, ctx[1], bpf_ktime_get_ns());
	return exact ? handler_exit(ctx, true) : handler_exit(ctx, false);
}

static __always_inline int choose_exit(__u64 *ctx)
{
	__u8 chosen = way;

	if (chosen == WAY_EXACT)
		return handler_exit(ctx, true);
	if (chosen == WAY_LIGHT)
		return handler_exit(ctx, false);
	return exit_any_way(ctx, chosen == WAY_FILTERS || (chosen == WAY_ANY && filters.any));
}

SEC("?fentry")
int array_fault_enter(__u64 *ctx)
{
	return handler_enter(ctx);
}

SEC("?fexit")
int array_fault_exit(__u64 *ctx)
{
	return choose_exit(ctx);
}

SEC("?fentry")
int arena_fault_enter(__u64 *ctx)
{
	return handler_enter(ctx);
}

SEC("?fexit")
int arena_fault_exit(__u64 *ctx)
{
	return choose_exit(ctx);
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

	if (slot->vmf != (__u64)vmf || slot->address != vmf->address)
		return UNTIMED_EXIT_MISSED;
	/* one that was entered has missed its exit: the start must not wait for another */
	slot->vmf = 0;
	if (!MARK_ROW(slot->state))
		return UNTIMED_EXIT_MISSED;
	return slot->state & SLOT_UNTIMED ? UNTIMED_EXIT_SEEN : slot->elapsed;
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

/*
 * The entry that the exit found, if it still is that of the same row. The
 * lower half of a slot's state is its index then, and else no entry's mark
 * equals it.
 */
static __always_inline struct vma_entry *entry_of_slot(struct fault_slot *slot)
{
	struct vma_entry *entry = bpf_map_lookup_elem(&vma_entries, &slot->state);

	return entry && entry->mark == slot->state ? entry : NULL;
}

static __always_inline int installed_timed(__u64 *ctx)
{
	struct vm_fault *vmf = (void *)ctx[0];
	struct fault_slot *slot = slot_of(vmf);
	struct vma_entry *entry;

	if (slot->vmf != (__u64)vmf || slot->address != ctx[4])
		return unusual_installed(vmf);
	entry = entry_of_slot(slot);
	vmf = (void *)ctx[0];
	if (!entry)
		return unusual_installed(vmf);
	slot->vmf = 0;
	return account_installed(entry, vmf, slot->address, slot->elapsed, true);
}

static __always_inline int installed_untimed(__u64 *ctx)
{
	struct vm_fault *vmf = (void *)ctx[0];
	struct vm_area_struct *vma = vmf->vma;
	struct vma_entry *entry = NULL;

	/* of a VMA that left unseen, the address may be that of any other by now */
	if (is_lazy(vma))
		entry = hinted_entry(vma);
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

static __always_inline bool next_of_batch(__u64 *ctx)
{
	struct vm_fault *vmf = (void *)ctx[0];

	return !vmf->page && next_installed(ctx);
}

static __always_inline int left_out_installed(struct vm_area_struct *vma)
{
	if (is_lazy(vma))
		count(&cpu_stats()->filtered);
	return 0;
}

static __always_inline int installed_filtered(__u64 *ctx)
{
	struct vm_fault *vmf = (void *)ctx[0];

	if (is_left_out(vmf->vma))
		return left_out_installed(vmf->vma);
	return timed ? installed_timed(ctx) : installed_untimed(ctx);
}

static __always_inline int installed_any_way(__u64 *ctx)
{
	struct vm_fault *vmf = (void *)ctx[0];

	if (events || (batches && batches_by_table))
		return installed_around(ctx);
	if (batches && !vmf->page)
		return installed_around(ctx);
	if (filters.any)
		return installed_filtered(ctx);
	return timed ? installed_timed(ctx) : installed_untimed(ctx);
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
	__u8 chosen;

	if (folio->mapping)
		return 0;
	chosen = way;
	if (chosen == WAY_EXACT)
		return installed_timed(ctx);
	if (chosen == WAY_COUNTS)
		return installed_untimed(ctx);
	if (chosen == WAY_FILTERS)
		return installed_filtered(ctx);
	/* where batches are told by the table, there is no next page to be seen */
	if (chosen == WAY_BATCHES && next_of_batch(ctx))
		return 0;
	return installed_any_way(ctx);
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

SEC("?tp_btf/sched_process_free")
int BPF_PROG(process_freed, struct task_struct *task)
{
	forget_process(task);
	return 0;
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
