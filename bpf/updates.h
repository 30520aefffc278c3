/* SPDX-License-Identifier: GPL-2.0-only */
/* What updates.bpf.c and its loader share beside the records' header. */
#ifndef LAZYFAULT_UPDATES_H
#define LAZYFAULT_UPDATES_H

#include "process.h"
#include "records.h"

enum wait_kind { WAIT_NORMAL, WAIT_EXPEDITED, WAIT_KINDS };

enum update_flags {
	UPDATE_TIMED = 1 << 0,		/* its entry was seen: ns and the waits are valid */
	UPDATE_BATCH = 1 << 1,
	UPDATE_WAIT_UNTIMED = 1 << 2,	/* a wait of it was seen in part: wait_ns is too little */
	UPDATE_ASKED_EXPEDITED = 1 << 3,/* it called synchronize_rcu_expedited() itself */
	UPDATE_SWITCHED = 1 << 4,	/* the thread left its CPU, and not in a wait */
};

/* One operation on a map of maps that has returned: header.type is RECORD_UPDATES. */
struct update_record {
	struct record_header header;
	__u64 process_start;	/* ns, CLOCK_MONOTONIC: with tgid, a process for good */
	__u64 ns;		/* from entry to return */
	__u64 wait_ns;		/* of these, in grace-period waits */
	__s32 result;		/* what bpf(2) returned */
	__u32 flags;		/* enum update_flags */
	__u32 waits[WAIT_KINDS];
	__u32 tgid;		/* in the initial PID namespace */
	__u32 pid;		/* tgid in the tracer's PID namespace; 0: not known */
	__u32 map_id;
	__u32 map_type;		/* enum bpf_map_type */
	char comm[COMM_BYTES];	/* as the process calls itself: any bytes */
	char map_name[MAP_NAME_BYTES];
};

/* What the loader looks at of a thread's latest operation. */
struct begun {
	__u64 number;		/* 0: not seen to begin, or it has ended */
	__u32 thread;		/* id in the tracer's PID namespace; 0: not known */
	__u32 pad;
};

/* The loader's own operation, by which it asks the kernel how it waits. */
struct probe {
	__u32 wanted;		/* in: look at the loader's own operations */
	__u32 seen;		/* out: how many */
	__u32 first;		/* out: which of the two programs runs first at an exit; 0: not known */
	__u32 begun;		/* out: how many the LSM's program saw */
	struct update_record last;	/* out: the latest */
};

#endif
