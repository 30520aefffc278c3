/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The status line: one line on the terminal of standard error that is drawn
 * over and over while tracing, and erased before anything else is printed.
 */
#ifndef LAZYFAULT_STATUS_H
#define LAZYFAULT_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct options;

struct status_counts {
	double seconds;		/* since tracing began */
	bool faults_known;	/* else the next two are not shown */
	uint64_t faults, installed_pages;
	bool calls_known;	/* else the next is not shown */
	uint64_t calls;		/* updates */
	uint64_t lost;
};

struct status {
	bool shown;		/* there is a status line in this run */
	bool drawn;		/* it is on the terminal now */
	double next;		/* seconds of the run at which it is drawn again */
};

/* Where standard error and the data go. */
struct status_ground {
	bool stderr_is_terminal, out_is_terminal;
	bool out_is_pipe;	/* who reads it may have the terminal */
	const char *term;	/* $TERM; NULL: not set */
};

/* Whether a run has a status line: nothing else may write on that terminal meanwhile. */
bool status_wanted(const struct options *options, const struct status_ground *ground);
/* The line, cut to `columns`. Returns text. */
const char *status_line(const struct status_counts *counts, char *text, size_t bytes,
			unsigned int columns);

void status_begin(struct status *status, const struct options *options, FILE *out);
/* Whether it is time to draw again: at most once a second, so that counts need not be had more often. */
bool status_is_due(const struct status *status, double seconds);
void status_draw(struct status *status, const struct status_counts *counts);
/* Takes it off the terminal, for other output. */
void status_erase(struct status *status);

#endif
