/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of each process and map of maps: takes a record for each
 * operation, gives interval and total reports.
 */
#ifndef LAZYFAULT_UPDATE_TABLE_H
#define LAZYFAULT_UPDATE_TABLE_H

#include "model.h"

struct update_record;		/* bpf/updates.h */
struct update_table;

struct update_table *update_table_new(void);	/* NULL: no memory */
void update_table_free(struct update_table *table);	/* NULL is fine */

/* Adds one operation to the row of its process and map. 0 or -ENOMEM. */
int update_table_add(struct update_table *table, const struct update_record *record);

/* How many it was given. */
uint64_t update_table_operations(const struct update_table *table);

typedef void (*update_report_fn)(void *context, const struct update_report *report);

/* Reports what came since the last call, in order of first appearance. */
void update_table_each_interval(struct update_table *table, update_report_fn fn, void *context);
/* Reports all rows' totals, in order of first appearance. */
void update_table_each_total(struct update_table *table, update_report_fn fn, void *context);
/*
 * Bounds the memory: where there are more rows than the limit, hands out those
 * idle longest and forgets them; a process that goes on begins a new row. Of
 * each, what no interval has shown yet goes to `interval` (may be NULL), then
 * all of it to `total`. Returns how many rows it forgot.
 */
size_t update_table_each_evicted(struct update_table *table, update_report_fn interval,
				 update_report_fn total, void *context);
/* Rows to keep. Tests set fewer: eviction with its corner cases, in runs that end. */
#define UPDATE_TABLE_MAX 4096
void update_table_limit(struct update_table *table, size_t limit);

#endif
