/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who and what is traced: processes as the tracer's PID namespace numbers
 * them, their descendants, a cgroup, maps. Each object that includes this has
 * filters of its own, which its loader fills.
 */
#ifndef LAZYFAULT_PROCESS_BPF_H
#define LAZYFAULT_PROCESS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

/* Set by the loader. */
const volatile bool by_tgid;		/* only what traced_tgids names */
const volatile bool by_descent;		/* children of the traced join them */
const volatile bool by_cgroup;
const volatile bool by_map;
const volatile __u32 own_tgid;		/* the tracer, in the initial PID namespace */
const volatile __u32 pid_ns_level;	/* the tracer's PID namespace */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, __u8);
} traced_tgids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u8);
} traced_maps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} traced_cgroup SEC(".maps");

/* A number as the tracer's PID namespace has it; 0: not visible there. */
static __always_inline __u32 visible_number(struct pid *pid)
{
	struct upid *upid;

	if (!pid || BPF_CORE_READ(pid, level) < pid_ns_level)
		return 0;
	upid = (void *)__builtin_preserve_access_index(&pid->numbers[0]);
	upid += pid_ns_level;
	return BPF_CORE_READ(upid, nr);
}

static __always_inline __u32 visible_tgid(struct task_struct *task)
{
	if (!pid_ns_level)
		return task->tgid;
	return visible_number(BPF_CORE_READ(task, group_leader, thread_pid));
}

static __always_inline __u32 visible_tid(struct task_struct *task)
{
	if (!pid_ns_level)
		return task->pid;
	return visible_number(BPF_CORE_READ(task, thread_pid));
}

/* The tracer's own .bss, .data and .rodata are mmapable arrays, too. */
static __always_inline bool is_own(struct task_struct *task)
{
	return (__u32)task->tgid == own_tgid;
}

static __always_inline bool tgid_passes(struct task_struct *task)
{
	__u32 tgid = visible_tgid(task);

	if (is_own(task))
		return false;
	if (by_tgid && !bpf_map_lookup_elem(&traced_tgids, &tgid))
		return false;
	return !by_cgroup || bpf_current_task_under_cgroup(&traced_cgroup, 0) == 1;
}

static __always_inline bool map_passes(struct bpf_map *map)
{
	__u32 id;

	if (!by_map)
		return true;
	id = BPF_CORE_READ(map, id);
	return bpf_map_lookup_elem(&traced_maps, &id) != NULL;
}

/* A child of a traced process is traced, too. A thread is no child. */
static __always_inline void follow_fork(struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid, child_tgid;
	__u8 yes = 1;

	if (!by_descent || parent->tgid == child->tgid)
		return;
	parent_tgid = visible_tgid(parent);
	child_tgid = visible_tgid(child);
	if (bpf_map_lookup_elem(&traced_tgids, &parent_tgid))
		bpf_map_update_elem(&traced_tgids, &child_tgid, &yes, BPF_ANY);
}

#endif
