/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernels and architectures, each behind one accessor:
 * what a task asked of the kernel, its numbers, and the map behind a file.
 */
#ifndef LAZYFAULT_COMPAT_BPF_H
#define LAZYFAULT_COMPAT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define MAP_POPULATE 0x8000

/*
 * The system calls that populate mappings on purpose: mmap (MAP_POPULATE) and
 * madvise (MADV_POPULATE_*). What mlock and its like bring in is of the kernel.
 * Asking what the task is executing needs no state, so no hook can be missed.
 */
struct syscall_now {
	bool populates;
	bool mmap_populate;	/* mmap() that asks for MAP_POPULATE */
};

#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 0x0002	/* arch/x86/include/asm/thread_info.h: a 32-bit call */
#define X32_BIT 0x40000000

static __always_inline void read_syscall(struct task_struct *task, struct syscall_now *now)
{
	struct task_struct___x86 *task_x86 = (void *)task;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u64 number = regs->orig_ax & ~X32_BIT;

	if (task_x86->thread_info.status & TS_COMPAT) {
		/* mmap (its arguments in memory), mmap2, madvise, process_madvise */
		now->populates = number == 90 || number == 192 || number == 219 || number == 440;
		now->mmap_populate = number == 192 && (regs->si & MAP_POPULATE);
		return;
	}
	/* mmap, madvise, process_madvise */
	now->populates = number == 9 || number == 28 || number == 440;
	now->mmap_populate = number == 9 && (regs->r10 & MAP_POPULATE);
}

/* Whether the fault that a signal is being sent for was a write. */
static __always_inline bool last_fault_was_write(struct task_struct *task)
{
	struct task_struct___x86 *task_x86 = (void *)task;

	return task_x86->thread.error_code & 2;		/* X86_PF_WRITE */
}
#elif defined(__TARGET_ARCH_arm64)
static __always_inline void read_syscall(struct task_struct *task, struct syscall_now *now)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	int number = regs->syscallno;

	/* mmap, madvise, process_madvise */
	now->populates = number == 222 || number == 233 || number == 440;
	now->mmap_populate = number == 222 && (regs->regs[3] & MAP_POPULATE);
}

static __always_inline bool last_fault_was_write(struct task_struct *task)
{
	struct task_struct___arm64 *task_arm64 = (void *)task;

	return task_arm64->thread.fault_code & (1 << 6);	/* ESR_ELx_WNR */
}
#else
#error "lazyfault: teach read_syscall() this architecture"
#endif

/*
 * The number of a process in its PID namespace of that level, which is at most
 * its own level (include/linux/pid.h).
 */
static __always_inline struct upid *upid_at(struct pid *pid, __u32 level)
{
	struct upid *first = (void *)__builtin_preserve_access_index(&pid->numbers[0]);

	return first + level;
}

/*
 * The map behind a VMA. Holds for every kind of map: bpf_map_mmap() is
 * reached through a map's own file (kernel/bpf/syscall.c, bpf_map_fops).
 */
static __always_inline struct bpf_map *map_of_vma(struct vm_area_struct *vma)
{
	return BPF_CORE_READ(vma, vm_file, private_data);
}

/*
 * Whether a VMA has left its mm; false where the kernel does not tell (before
 * 6.4, commit 457f67be5910; the count came with commit f35ab95ca0af in 6.15).
 */
static __always_inline bool vma_is_detached(struct vm_area_struct *vma)
{
	struct vm_area_struct___v615 *v615 = (void *)vma;
	struct vm_area_struct___v64 *v64 = (void *)vma;

	if (bpf_core_field_exists(v615->vm_refcnt))
		return BPF_CORE_READ(v615, vm_refcnt.refs.counter) == 0;
	if (bpf_core_field_exists(v64->detached))
		return BPF_CORE_READ(v64, detached);
	return false;
}

#endif
