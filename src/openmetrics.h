/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics in a file for node_exporter's textfile collector. */
#ifndef LAZYFAULT_OPENMETRICS_H
#define LAZYFAULT_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>

struct sink;

/*
 * A sink that replaces the file at path, as a whole, at the end of each
 * interval and at the end. Counters never go back. Series are by map, and by
 * process too if asked for. NULL with a message where the file cannot be
 * written: that is tried at once.
 */
struct sink *openmetrics_sink_new(const char *path, bool per_process, char *message,
				  size_t message_bytes);

#endif
