/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text report's part on map-in-map updates. */
#ifndef LAZYFAULT_TEXT_UPDATES_H
#define LAZYFAULT_TEXT_UPDATES_H

#include <stdbool.h>
#include <stdio.h>

#include "model.h"

/* The kernel, how it waits, and the knobs that decide that. */
void text_update_ground(FILE *out, const struct run_start *start);
/* A block: who, calls, times, the part spent waiting, the distribution. */
void text_update_block(FILE *out, const struct update_report *update, bool unicode);
/* The columns of an interval, and a line in them. */
void text_update_heading(FILE *out);
void text_update_row(FILE *out, const struct update_report *update);
/* Each loss with what it means; nothing where nothing was lost. */
void text_update_losses(FILE *out, const struct losses *lost);

#endif
