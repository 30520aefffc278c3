/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run of a report, whatever it reports: finds the targets, traces until told
 * to stop, hands what was counted to a sink, and says how it ended.
 */
#ifndef LAZYFAULT_RUN_H
#define LAZYFAULT_RUN_H

#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>

#include "model.h"
#include "status.h"
#include "targets.h"

#define MESSAGE_BYTES 2048

struct options;
struct run;
struct sink;

/* What a report does of its own. Failures are -errno. */
struct run_ops {
	/* Loads and attaches; a failure's cause and remedy go to message. */
	int (*attach)(struct run *run, char *message);
	/* Adds to run->start what only this report knows. */
	void (*describe)(struct run *run);
	/* Readable when records wait. */
	int (*records_fd)(struct run *run);
	/* Takes the records that have come by themselves. */
	int (*drain)(struct run *run);
	/* Takes all that there is to know at this moment. */
	int (*collect)(struct run *run);
	/* Hands an interval's rows to the sink; fills in what adds them up. */
	void (*show_interval)(struct run *run, struct interval_report *interval);
	/* Hands all totals to the sink; fills in the sums and the verdict. */
	void (*show_totals)(struct run *run, struct summary_report *summary);
	/* Fills in what was counted so far, more or less, at little cost. */
	void (*progress)(struct run *run, struct status_counts *counts);
	/* Cumulative since tracing began. */
	void (*losses)(struct run *run, struct losses *losses);
	/* Takes the programs off; collecting is still possible, and then complete. */
	void (*detach)(struct run *run);
	/* Notices that come last; may be NULL. */
	void (*tell)(struct run *run);
	void (*free)(struct run *run);
};

/* All that a run holds; freed in one place. */
struct run {
	const struct options *options;
	const struct run_ops *ops;
	void *report;			/* the report's own */
	struct targets targets;
	struct sink *sink;
	FILE *out, *saved;		/* saved: of --save, or NULL */
	int save_error;			/* of its last write; 0: none */
	struct status status;
	struct run_start start;
	struct utsname kernel;
	struct timespec began, interval_began;	/* CLOCK_MONOTONIC */
	int error;		/* -errno that ended tracing early; 0: none */
	struct losses lost_before;	/* at the last interval */
};

/* From set-up to the last line; returns the exit status. */
int run_report(const struct options *options, const struct run_ops *ops, void *report);

/* For ops: a report for each interval was asked for. */
bool run_has_intervals(const struct run *run);

#endif
