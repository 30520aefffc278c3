/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What lazyfault reports: the values of one run in the words of the man page.
 * Live tracing makes them from kernel records, `lazyfault report` from a saved
 * capture; sinks print them and know nothing else.
 */
#ifndef LAZYFAULT_MODEL_H
#define LAZYFAULT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "dist.h"

#define MODEL_COMM_BYTES 16	/* with its NUL */
#define MODEL_NAME_BYTES 16	/* with its NUL */
#define MODEL_WHERE_BINS 64

enum span { SPAN_INTERVAL, SPAN_TOTAL };

enum map_mode { MODE_UNKNOWN, MODE_NONE, MODE_EAGER, MODE_LAZY, MODE_LAZY_AROUND };

/* "unknown", "none", "eager", "lazy", "lazy+around". */
const char *map_mode_name(enum map_mode mode);
/* Name of an enum bpf_map_type as the kernel's tools print it; "other" for those that cannot be here. */
const char *map_type_name(uint32_t type);

/* How this kernel maps one type of map. Strings are owned by the holder. */
struct type_mode {
	const char *type;	/* "array", "arena", "ringbuf" */
	enum map_mode mode;
	const char *reason;	/* why MODE_UNKNOWN or MODE_NONE; else NULL */
	const char *fault;	/* name of the .fault handler, or NULL */
	const char *map_pages;	/* name of the .map_pages handler, or NULL */
};

#define MODEL_TYPES 3		/* array, arena, ringbuf: in this order */

/* How this kernel waits for the readers of a map of maps. */
struct rcu_state {
	int normal, expedited;	/* the knobs in /sys/kernel; -1: not known */
	bool preempt_rt;
	/* "normal", "expedited" or "none"; NULL: not known */
	const char *asks;	/* what an update's code asks for */
	const char *waits;	/* what it gets, as the knobs are */
	unsigned int batch_waits;	/* waits of one batch of two elements; 0: not known */
};

struct run_start {
	const char *version;	/* of lazyfault */
	const char *kernel;	/* uname -r */
	const char *arch;	/* uname -m */
	bool exact;		/* counting: exact or light */
	bool timed;		/* false with --no-time */
	bool events;		/* events were asked for */
	unsigned int page_bytes;
	uint64_t fault_around_bytes;	/* 0: not known */
	struct timespec time;		/* CLOCK_REALTIME */
	struct type_mode types[MODEL_TYPES];
	bool updates;		/* a report of map-in-map updates: rcu is valid */
	struct rcu_state rcu;
	/* for the text's first lines; NULL in a capture that lacks them */
	const char *scope;	/* "pid 4711", "map id 7", "all processes", "command ./x" */
	const char *stop_hint;	/* "Hit Ctrl-C to end." */
	bool filtered;		/* -p, -m or -c leave something out */
};

/* False of a capture that lacks its start record. */
bool run_is_known(const struct run_start *start);

struct map_identity {
	uint32_t id;
	char name[MODEL_NAME_BYTES];
	const char *type;	/* static string: "array", ... */
};

struct fault_counts {
	uint64_t total, read, write;
	uint64_t user, populate, kernel, remote;
	uint64_t failed, raced, untimed, under_mmap_lock;
	/* of each origin, the writes; zero in a capture that lacks them */
	uint64_t user_write, populate_write, kernel_write, remote_write;
};

struct batch_counts {
	uint64_t total, declined, pages;
};

struct where_bins {
	uint64_t pages_per_bin;		/* power of two; 0: no bins known */
	unsigned int count;		/* bins in use, at most MODEL_WHERE_BINS */
	uint64_t pages[MODEL_WHERE_BINS];	/* installed, by place */
};

struct vma_report {
	enum span span;
	bool mapped;		/* else unmapped by now */
	uint64_t row;		/* identity within this run; text does not show it */
	uint32_t pid;
	char comm[MODEL_COMM_BYTES];	/* any bytes */
	struct map_identity map;
	uint64_t start, end, pages, map_offset_pages;
	struct {
		bool seen;
		uint64_t ns;
		bool populate;
	} mmap;
	struct fault_counts faults;
	bool raced_known;	/* false where nothing could tell (--no-time, --light) */
	struct batch_counts batches;
	uint64_t installed_pages;
	struct dist fault_ns, batch_ns, batch_pages;
	struct where_bins where;
};

/* Adds what a later interval saw of the same VMA; what it is stays as the later has it. */
void vma_report_add(struct vma_report *sum, const struct vma_report *later);

/*
 * Traps of a VMA, and the pages that they installed: user faults, and batches,
 * each of which spared one. None where MAP_POPULATE had its batches made.
 */
struct traps {
	uint64_t count, pages;
};

struct traps vma_traps(const struct vma_report *vma);

struct losses {
	uint64_t ring_full;	/* events that found the ring full */
	uint64_t vma_table_full;/* faults on VMAs that found no entry */
	uint64_t recursion;	/* handler runs that the kernel skipped for us */
	/*
	 * Exact counting only, not a loss of faults: runs whose exit was
	 * skipped and that installed nothing, so raced or failed unseen.
	 */
	uint64_t unseen_runs;
	bool recursion_at_most;	/* updates: perhaps fewer calls than that */
	/* Faults, batches and raced runs that rows have, but no event. */
	uint64_t events_lost;
};

/* One fault or batch. */
struct event_report {
	struct timespec time;	/* CLOCK_REALTIME */
	bool batch;
	uint32_t pid, tid;	/* of the thread that ran into it; 0: not known */
	char comm[MODEL_COMM_BYTES];	/* the thread's, any bytes */
	struct map_identity map;
	uint64_t row;		/* of its VMA */
	uint64_t map_offset_pages;	/* the page that was touched */
	bool write;
	const char *origin;	/* static string: "user", ... */
	uint64_t installed_pages;
	bool timed;		/* ns is known */
	uint64_t ns;		/* in the handler */
	const char *outcome;	/* static string: "installed", "failed", "raced" */
};

struct interval_report {
	struct timespec time;	/* CLOCK_REALTIME at its end */
	double seconds;		/* its length */
	uint64_t faults, installed_pages;
	struct losses lost;	/* in this interval */
};

struct update_report {
	enum span span;
	uint32_t pid;
	char comm[MODEL_COMM_BYTES];
	struct map_identity map;
	uint64_t calls, failed;
	struct dist ns;
	uint64_t untimed;	/* calls whose entry was missed: not in ns, nor in wait_ns */
	const char *wait;	/* "expedited", "normal", "none": most of its waits */
	uint64_t waits_normal, waits_expedited;	/* grace periods; an old kernel's batch has many */
	struct dist wait_ns;	/* of each call that waited: all of its waits */
};

struct summary_report {
	/* of a capture that ends before its first interval: seconds and lost are not known */
	bool unmeasured;
	double seconds;
	uint64_t vmas, faults, batches, installed_pages;
	struct losses lost;
	const char *verdict;	/* one sentence or two, owned by the caller */
};

#endif
