/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sinks that the options ask for, opened as one. */
#ifndef LAZYFAULT_SINKS_H
#define LAZYFAULT_SINKS_H

#include <stdbool.h>
#include <stdio.h>

struct options;
struct sink;

/*
 * Text, JSON or HTML on out, beside it JSON on saved (NULL: none) and
 * OpenMetrics; `intervals` says whether text shows each interval. NULL with a
 * message on failure.
 */
struct sink *sinks_open(const struct options *options, bool intervals, FILE *out, FILE *saved,
			char *message, size_t message_bytes);

#endif
