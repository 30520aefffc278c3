/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The updates of a capture whose totals have not come: their intervals, added
 * up, for a capture that ends before it tells them.
 */
#ifndef LAZYFAULT_UPDATE_SUMS_H
#define LAZYFAULT_UPDATE_SUMS_H

#include "model.h"

struct update_sums;

struct update_sums *update_sums_new(void);	/* NULL: no memory */
void update_sums_free(struct update_sums *sums);	/* NULL is fine */

/* Adds an interval up; a total makes the row's intervals forgotten. 0 or -ENOMEM. */
int update_sums_take(struct update_sums *sums, const struct update_report *update);

/* Hands out the sums as totals, in order of first appearance. 0; or -ENOMEM, and none was. */
int update_sums_each(struct update_sums *sums,
		     void (*fn)(void *context, const struct update_report *update),
		     void *context);

#endif
