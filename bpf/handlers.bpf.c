// SPDX-License-Identifier: GPL-2.0-only
/*
 * Asks this kernel which handlers its mappings of BPF maps use: the loader
 * maps one map of each type and this iterator reads the mappings' vm_ops.
 * So a handler is found under any name. Addresses become names by %ps in the
 * kernel itself, which works whatever kptr_restrict says.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "compat.bpf.h"

#define TYPES 3

/* The loader's own mappings, by type; 0 where the type cannot be mapped. */
const volatile __u64 mapping_start[TYPES];

/* Answers, read by the loader. */
__u64 vm_ops[TYPES];
__u32 pid_ns_level;	/* of the loader's PID namespace */
__u64 pid_ns;		/* its address */
__u32 own_tgid;	/* in the initial PID namespace */
__u64 own_start;	/* ns, CLOCK_MONOTONIC */
bool seen[TYPES];

SEC("iter/task_vma")
int read_handlers(struct bpf_iter__task_vma *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *task = ctx->task;
	struct vm_area_struct *vma = ctx->vma;
	const struct vm_operations_struct *ops;

	/* only the loader's own mappings; it is the loader that reads this iterator */
	if (!task || !vma || task->mm != bpf_get_current_task_btf()->mm)
		return 0;

	for (int i = 0; i < TYPES; i++) {
		if (!mapping_start[i] || vma->vm_start != mapping_start[i])
			continue;

		own_tgid = task->tgid;
		own_start = task->start_time;
		pid_ns_level = task->thread_pid->level;
		pid_ns = (__u64)BPF_CORE_READ(upid_at(task->thread_pid, pid_ns_level), ns);
		ops = vma->vm_ops;
		vm_ops[i] = (__u64)ops;
		seen[i] = true;
		if (!ops)
			return 0;
		BPF_SEQ_PRINTF(seq, "%d fault %lx %ps\n", i, (__u64)ops->fault, ops->fault);
		BPF_SEQ_PRINTF(seq, "%d map_pages %lx %ps\n", i, (__u64)ops->map_pages,
			       ops->map_pages);
		BPF_SEQ_PRINTF(seq, "%d open %lx %ps\n", i, (__u64)ops->open, ops->open);
		BPF_SEQ_PRINTF(seq, "%d close %lx %ps\n", i, (__u64)ops->close, ops->close);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
