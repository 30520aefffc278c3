/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The records that cross the ring buffer: the one header that the kernel's
 * side and the user's side share. All counts are cumulative since the entry
 * was made; nothing in the kernel is ever reset, a reader subtracts.
 */
#ifndef LAZYFAULT_RECORDS_H
#define LAZYFAULT_RECORDS_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define COMM_BYTES 16		/* TASK_COMM_LEN */
#define MAP_NAME_BYTES 16	/* BPF_OBJ_NAME_LEN */

/*
 * Distributions are log2: slot 0 holds the value 0, slot k holds
 * [2^(k-1), 2^k - 1]. The last slot is open: it also holds all above.
 */
#define NS_SLOTS 40		/* the open one begins at 2^38 ns, 4.6 minutes */
#define BATCH_SLOTS 16		/* the open one begins at 2^14 pages */

/* Parts of a VMA whose installed pages are counted apart. */
#define WHERE_BINS 64

enum fault_access { ACCESS_READ, ACCESS_WRITE, ACCESSES };
enum fault_origin { ORIGIN_USER, ORIGIN_POPULATE, ORIGIN_KERNEL, ORIGIN_REMOTE, ORIGINS };
enum fault_lock { UNDER_VMA_LOCK, UNDER_MMAP_LOCK, LOCKS };

enum vma_state { VMA_MAPPED = 1, VMA_UNMAPPED = 2 };

enum vma_flags {
	VMA_MMAP_SEEN = 1 << 0,		/* mmap() of it was seen: mmap_ns is valid */
	VMA_MMAP_POPULATE = 1 << 1,	/* and it asked for MAP_POPULATE */
	VMA_FORKED = 1 << 2,		/* made by fork: the PTEs are the parent's */
};

struct ns_dist {
	__u64 slots[NS_SLOTS];
	__u64 sum;		/* ns */
	__u64 min;		/* ns; ~0 while empty */
	__u64 max;		/* ns */
};

struct batch_dist {
	__u64 slots[BATCH_SLOTS];
	__u64 sum;		/* pages */
	__u64 min;		/* pages; ~0 while empty */
	__u64 max;		/* pages */
};

/*
 * What one VMA has seen. Each fault adds one to one of `cells` and then one
 * to either one slot of fault_ns or to one of the two untimed counters; so
 * a copy in which the two sums differ was taken in mid-fault.
 * The slots stand first: a copier that reads upwards sees them before cells.
 */
struct vma_counts {
	struct ns_dist fault_ns;	/* faults: handler time */
	__u64 untimed_exit_seen;	/* faults whose entry was missed */
	__u64 untimed_exit_missed;	/* faults whose exit was missed */
	__u64 exits;			/* runs of .fault whose exit was seen */
	__u64 failed;			/* of the faults: the handler gave no page */
	__u64 cells[ACCESSES][ORIGINS][LOCKS]; /* faults, failed ones included */

	/*
	 * Batches are counted where their PTEs are written, if set_pte_range()
	 * writes them, and then a batch whose exit was missed has no size and no
	 * time; else at the handler's exit.
	 */
	__u64 batches;
	__u64 batch_installed;		/* pages */
	__u64 batches_declined;		/* runs of .map_pages that installed nothing */
	struct ns_dist batch_ns;	/* batches: handler time */
	struct batch_dist batch_pages;	/* batches: PTEs installed */

	/*
	 * Installed pages by place: bin i holds pages [i << where_shift,
	 * (i + 1) << where_shift) counted from where_start.
	 */
	__u64 where[WHERE_BINS];
};

struct vma_identity {
	__u64 id;		/* counts up, never reused: the row's identity */
	__u64 start, end;	/* addresses; refreshed with each snapshot */
	__u64 map_offset_pages;	/* vm_pgoff */
	__u64 mmap_ns;		/* time in the map's mmap handler */
	__u64 where_start;	/* address where bin 0 begins */
	__u32 where_shift;	/* log2 of the pages in a bin */
	__u32 flags;		/* enum vma_flags */
	__u32 pid;		/* tgid in the tracer's PID namespace; 0: not known */
	__u32 map_id;
	__u32 map_type;		/* enum bpf_map_type */
	__u32 pad;		/* zero */
	/*
	 * counts.exits a moment before the in-flight runs were looked at: runs
	 * among these that are neither accounted nor in flight have raced.
	 */
	__u64 exits_before;
	char comm[COMM_BYTES];	/* as the process calls itself: any bytes */
	char map_name[MAP_NAME_BYTES];
};

enum record_type { RECORD_VMA = 1, RECORD_EVENT = 2, RECORD_UPDATES = 3 };

/* Every record begins so. */
struct record_header {
	__u32 type;		/* enum record_type */
	__u32 state;		/* RECORD_VMA: enum vma_state; RECORD_EVENT: enum event_kind */
};

struct vma_record {
	struct record_header header;
	struct vma_identity identity;
	struct vma_counts counts;
};

enum event_kind { EVENT_FAULT = 1, EVENT_BATCH = 2 };
enum event_outcome { OUTCOME_INSTALLED = 1, OUTCOME_FAILED = 2, OUTCOME_RACED = 3 };

#define EVENT_UNTIMED (~0ULL)

/* One fault or batch. Who: the thread that ran into it, whosever the VMA is. */
struct event_record {
	struct record_header header;
	__u64 time;		/* ns, CLOCK_MONOTONIC, at its end */
	__u64 row;		/* vma_identity.id */
	__u64 page;		/* of the map: the one that was touched */
	__u64 elapsed;		/* ns in the handler, or EVENT_UNTIMED */
	__u32 pid, tid;		/* in the tracer's PID namespace; 0: not there */
	__u32 map_id;
	__u32 map_type;		/* enum bpf_map_type */
	__u32 pages;		/* installed */
	__u8 access;		/* enum fault_access */
	__u8 origin;		/* enum fault_origin */
	__u8 outcome;		/* enum event_outcome */
	__u8 pad;		/* zero */
	char comm[COMM_BYTES];	/* of the thread: any bytes */
	char map_name[MAP_NAME_BYTES];
};

#endif
