/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pieces of the HTML report. What others chose is escaped here; every picture
 * has its numbers in words or in a table beside it.
 */
#ifndef LAZYFAULT_HTML_DRAW_H
#define LAZYFAULT_HTML_DRAW_H

#include <stdint.h>
#include <stdio.h>

#include "model.h"

/* Faults of one interval, or of several after each other. */
struct html_point {
	struct timespec time;	/* at its end */
	double seconds;
	uint64_t faults, installed_pages, lost;
};

/* A text, escaped; what a terminal should not get comes as \xNN. NULL is "?". */
void html_text(FILE *out, const char *text);
/* The page's style sheet. */
void html_style(FILE *out);
/* A point in time for people, in the local time zone, and for programs. */
void html_time(FILE *out, const struct timespec *time);

/* A table of the distribution with a bar for each range; nothing if it is empty. */
void html_dist(FILE *out, const char *title, const char *counted, const struct dist *dist,
	       bool ns);
/* The strip of where in a VMA of `pages` pages came in, and the same in words. */
void html_strip(FILE *out, const struct where_bins *where, uint64_t pages);
/* Faults over time as bars, and the same as a table to unfold. count is not 0. */
void html_chart(FILE *out, const struct html_point *points, size_t count);

#endif
