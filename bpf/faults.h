/* SPDX-License-Identifier: GPL-2.0-only */
/* What faults.bpf.c and its loader share beside the records. */
#ifndef LAZYFAULT_FAULTS_H
#define LAZYFAULT_FAULTS_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#include "process.h"

#define BUCKET_WAYS 8
#define HINTS_SHIFT 15		/* twice as many as VMAs by default */
#define LEFT_OUT_SHIFT 13
#define CLOSED_BY_WALK_SHIFT 10
#define STATS_CPUS 128		/* a power of two; CPUs above share */
#define INSERT_LOCKS 64		/* a power of two */
#define FAULT_SLOTS_SHIFT 13
#define FAULT_SLOTS (1 << FAULT_SLOTS_SHIFT)
#define MMAP_SLOTS 1024		/* a power of two */

/* Events that no row has, per CPU to keep cache lines apart. */
struct fault_stats {
	__u64 filtered;		/* faults that the filters left out */
	__u64 table_full;	/* faults of VMAs that found no entry */
	__u64 exit_missed;	/* faults whose exit was missed, but whose page was counted */
	__u64 batches_unseen;	/* runs of .map_pages whose installed pages could not be told */
	__u64 events_lost;	/* faults and batches that are counted, but have no event */
	__u64 pad[2];
};

/*
 * What the programs do where there are neither filters nor events nor batches,
 * or filters or batches alone; all else is WAY_ANY. One constant, since asking
 * for any costs two instructions, whatever it is.
 */
enum fault_way { WAY_ANY, WAY_COUNTS, WAY_EXACT, WAY_LIGHT, WAY_FILTERS, WAY_BATCHES };

/*
 * What a slot in use says of its run: that it was entered, or that it was met
 * later, or once it has left its handler the mark of its VMA's entry, and
 * whether its time is not known.
 */
#define SLOT_ENTERED 1ULL
#define SLOT_MET_LATE 2ULL
#define SLOT_UNTIMED (1ULL << 31)

/* Of a live entry: its index below, and above the lower 31 bits of its row's id. */
#define ENTRY_MARK(row, index) (((row) | 1ULL << 31) << 32 | (index))
#define NO_MARK 1ULL
#define MARK_ROW(mark) ((mark) >> 32)	/* 0: that of a run which has not left its handler */

/*
 * Where a thread notes its handler run until the PTE is written. A slot that
 * stays in use after the exit belongs to a run that raced, or to one in flight.
 */
struct fault_slot {
	__u64 state;		/* see above; first, so that it is at hand as a key */
	__u64 vmf;		/* struct vm_fault *, on the thread's own stack; 0: free */
	__u64 address;
	__u64 start;		/* ns, CLOCK_MONOTONIC */
	__u64 elapsed;		/* ns */
	__u32 entry;		/* index, in a batch_slot */
	__u32 pad[5];
};

/* The pages of one .map_pages run: fault_around_bytes is at most 2 MiB of one page table. */
#define WINDOW_SHIFT 9
#define WINDOW_PAGES (1 << WINDOW_SHIFT)
#define WINDOW_WORDS (WINDOW_PAGES / 64)

/* A bit a page, by its number in the address space modulo WINDOW_PAGES. */
struct window {
	__u64 bits[WINDOW_WORDS];
};

#define BATCH_SLOTS_SHIFT 12
#define BATCH_SLOTS_COUNT (1 << BATCH_SLOTS_SHIFT)
#define CLAIM_SLOTS 1024	/* a power of two */

/* Where a thread notes its run of .map_pages until it ends. */
struct batch_slot {
	struct fault_slot run;	/* state: ENTERED, or MET_LATE if the entry was missed */
	__u64 mark;		/* of the entry, once a page was seen to be installed; else NO_MARK */
	__u64 installed;	/* pages that set_pte_range() was seen to install */
	__u64 began;		/* ns, before `before` was read */
	struct window before;
};

enum walk_mode {
	WALK_MARK,	/* note each entry's exits, before the slots are read */
	WALK_SHIP,	/* copy what changed to the ring buffer */
	WALK_SHIP_LAST,	/* copy all; when the programs are off */
	WALK_SUM,	/* add up, copy nothing */
};

/* In and out of the program that walks the table. */
struct walk {
	__u32 mode;		/* enum walk_mode */
	__u32 next;		/* in: where to begin; out: where the ring was full */
	__u32 shipped;		/* out: records */
	__u32 full;		/* out: 1 if the ring was full: drain and call again */
	__u64 faults, pages;	/* out, WALK_SUM: of all VMAs that have not been shipped for good */
};

#endif
