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

#include "compat.bpf.h"
#include "process.h"

const volatile struct filters filters;	/* set by the loader */

/* Named, as the tracer's PID namespace numbers them. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8);
} traced_tgids SEC(".maps");

/*
 * Their descendants, as the initial PID namespace numbers them, since that is
 * what there still is to go by when one has ended.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);	/* its start_time */
} followed_tgids SEC(".maps");

bool followed_no_more;	/* a descendant found no room there: it is not traced */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
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

	if (!pid || BPF_CORE_READ(pid, level) < filters.pid_ns_level)
		return 0;
	upid = upid_at(pid, filters.pid_ns_level);
	/* in another namespace of that level it is another process's number */
	return (__u64)BPF_CORE_READ(upid, ns) == filters.pid_ns ? BPF_CORE_READ(upid, nr) : 0;
}

static __always_inline __u32 visible_tgid(struct task_struct *task)
{
	if (!filters.pid_ns_level)
		return task->tgid;
	return visible_number(BPF_CORE_READ(task, group_leader, thread_pid));
}

static __always_inline __u32 visible_tid(struct task_struct *task)
{
	if (!filters.pid_ns_level)
		return task->pid;
	return visible_number(BPF_CORE_READ(task, thread_pid));
}

/* The tracer's own .bss, .data and .rodata are mmapable arrays, too. */
static __always_inline bool is_own(struct task_struct *task)
{
	return (__u32)task->tgid == filters.own_tgid;
}

static __always_inline bool is_traced(struct task_struct *task)
{
	__u32 visible = visible_tgid(task), tgid = task->tgid;

	return bpf_map_lookup_elem(&traced_tgids, &visible) ||
	       (filters.by_descent && bpf_map_lookup_elem(&followed_tgids, &tgid));
}

static __always_inline bool tgid_passes(struct task_struct *task)
{
	if (is_own(task))
		return false;
	if (filters.by_tgid && !is_traced(task))
		return false;
	return !filters.by_cgroup || bpf_current_task_under_cgroup(&traced_cgroup, 0) == 1;
}

static __always_inline bool map_passes(struct bpf_map *map)
{
	__u32 id;

	if (!filters.by_map)
		return true;
	id = BPF_CORE_READ(map, id);
	return bpf_map_lookup_elem(&traced_maps, &id) != NULL;
}

/*
 * A child of a traced process is traced, too; a thread is no child. Whoever has
 * a number now, another process that had it is gone.
 */
static __always_inline void follow_fork(struct task_struct *parent, struct task_struct *child)
{
	__u32 visible, tgid = child->tgid;
	__u64 start = child->start_time;

	if (!filters.by_tgid || parent->tgid == child->tgid)
		return;
	visible = visible_tgid(child);
	bpf_map_delete_elem(&traced_tgids, &visible);
	if (!filters.by_descent)
		return;
	if (!is_traced(parent))
		bpf_map_delete_elem(&followed_tgids, &tgid);
	else if (bpf_map_update_elem(&followed_tgids, &tgid, &start, BPF_ANY))
		followed_no_more = true;
}

/* Its number may already be another descendant's. */
static __always_inline void forget_process(struct task_struct *task)
{
	__u32 tgid = task->tgid;
	__u64 *start;

	if (task->pid != task->tgid)
		return;
	start = bpf_map_lookup_elem(&followed_tgids, &tgid);
	if (start && *start == task->start_time)
		bpf_map_delete_elem(&followed_tgids, &tgid);
}

#endif
