/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A sink prints what a run reports: text, JSON lines, OpenMetrics. All have
 * the same calls, so that live tracing and saved captures drive them alike.
 */
#ifndef LAZYFAULT_SINK_H
#define LAZYFAULT_SINK_H

#include <stdio.h>

#include "model.h"

struct text_options {
	unsigned int top;	/* VMA blocks to show per report; 0: all */
	const char *sort_key;	/* see vma_sort_keys; NULL: faults */
	bool timestamp;		/* -T: a line with the time before each interval */
	unsigned int columns;	/* for a row of an interval, at least 79; 0: names in full */
	bool unicode;		/* block characters for bars and strips */
	bool verbose;		/* a verdict for each VMA */
	bool quiet;		/* no header, no notices */
	bool intervals;		/* an interval was asked for: print each */
};

struct sink;

struct sink_ops {
	void (*start)(struct sink *sink, const struct run_start *start);
	void (*vma)(struct sink *sink, const struct vma_report *vma);
	void (*update)(struct sink *sink, const struct update_report *update);
	/* NULL: it shows none. It does not flush. */
	void (*event)(struct sink *sink, const struct event_report *event);
	void (*flush)(struct sink *sink);	/* NULL: there is but `out` to flush */
	void (*interval)(struct sink *sink, const struct interval_report *interval);
	void (*summary)(struct sink *sink, const struct summary_report *summary);
	void (*free)(struct sink *sink);
};

struct sink {
	const struct sink_ops *ops;
	FILE *out;		/* borrowed; NULL: it writes a file of its own */
	const char *option, *path;	/* by which messages name what it writes; path NULL: stdout */
	bool failed;		/* a write failed; errno is in error */
	bool told;		/* the failure has been said */
	int error;
};

/*
 * Order of calls: start; then for each interval its vma records of span
 * interval followed by interval(); at the end vma records of span total,
 * then summary. Events come at any time in between. A sink collects what it
 * needs to sort.
 * Each sink flushes `out` at the end of interval() and of summary(), JSON
 * after every record but events. NULL and errno on lack of memory.
 */
struct sink *text_sink_new(FILE *out, const struct text_options *options);
struct sink *json_sink_new(FILE *out);
void sink_free(struct sink *sink);	/* NULL is fine */

/* Says that it failed, unless that has been said. */
void sink_complain(const struct sink *sink);

void sink_event(struct sink *sink, const struct event_report *event);
/* After events: what is still buffered goes out. */
void sink_flush(struct sink *sink);

#endif
