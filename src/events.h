/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event records of the kernel's side, as what is reported. */
#ifndef LAZYFAULT_EVENTS_H
#define LAZYFAULT_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "model.h"

/* What to add to CLOCK_MONOTONIC for CLOCK_REALTIME, as the clocks stand now; ns. */
int64_t event_clock_offset(void);

/* Reads a record. 0, or -EPROTO for bytes that no kernel side writes. */
int event_read(const void *data, size_t bytes, int64_t clock_offset, struct event_report *event);

#endif
