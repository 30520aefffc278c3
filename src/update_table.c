/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows by process and map, in an array by age with a hash beside it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "update_table.h"
#include "updates.h"

struct row {
	uint64_t process_start;
	uint32_t tgid, map_id;
	uint64_t used;		/* number of its latest operation */
	struct update_report total, interval;
};

struct update_table {
	struct row **rows;	/* by first appearance */
	size_t count, space, limit;
	uint32_t *index;	/* 1 + place in rows; 0: free */
	size_t slots;		/* a power of two, at least twice the rows */
	uint64_t operations;
};

struct update_table *update_table_new(void)
{
	struct update_table *table = calloc(1, sizeof(*table));

	if (table)
		table->limit = UPDATE_TABLE_MAX;
	return table;
}

void update_table_free(struct update_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count; i++)
		free(table->rows[i]);
	free(table->rows);
	free(table->index);
	free(table);
}

void update_table_limit(struct update_table *table, size_t limit)
{
	table->limit = limit;
}

/* ---- finding and making rows ---- */

static size_t hash(uint64_t process_start, uint32_t tgid, uint32_t map_id)
{
	uint64_t mixed = process_start ^ (uint64_t)tgid << 32 ^ map_id;

	return (size_t)((mixed * 0x9e3779b97f4a7c15ULL) >> 20);
}

/* The slot of a row, or the free one where it would be. */
static uint32_t *find_slot(const struct update_table *table, uint64_t process_start,
			   uint32_t tgid, uint32_t map_id)
{
	size_t at = hash(process_start, tgid, map_id);

	for (;; at++) {
		uint32_t *slot = &table->index[at & (table->slots - 1)];
		const struct row *row = *slot ? table->rows[*slot - 1] : NULL;

		if (!row || (row->tgid == tgid && row->map_id == map_id &&
			     row->process_start == process_start))
			return slot;
	}
}

static void rebuild_index(struct update_table *table)
{
	memset(table->index, 0, table->slots * sizeof(*table->index));
	for (size_t i = 0; i < table->count; i++) {
		const struct row *row = table->rows[i];

		*find_slot(table, row->process_start, row->tgid, row->map_id) = (uint32_t)i + 1;
	}
}

static int make_room(struct update_table *table)
{
	size_t space = table->space ? 2 * table->space : 64;
	uint32_t *index;
	struct row **rows;

	if (table->count < table->space)
		return 0;
	rows = realloc(table->rows, space * sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	table->rows = rows;
	index = calloc(2 * space, sizeof(*index));
	if (!index)
		return -ENOMEM;
	free(table->index);
	table->index = index;
	table->slots = 2 * space;
	table->space = space;
	rebuild_index(table);
	return 0;
}

static struct row *row_of(struct update_table *table, const struct update_record *record)
{
	struct row *row;
	uint32_t *slot;

	if (make_room(table))
		return NULL;
	slot = find_slot(table, record->process_start, record->tgid, record->map_id);
	if (*slot)
		return table->rows[*slot - 1];
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->process_start = record->process_start;
	row->tgid = record->tgid;
	row->map_id = record->map_id;
	table->rows[table->count++] = row;
	*slot = (uint32_t)table->count;
	return row;
}

/* ---- adding ---- */

static void identify(struct update_report *report, const struct update_record *record)
{
	report->pid = record->pid;
	memcpy(report->comm, record->comm, sizeof(report->comm) - 1);
	report->map.id = record->map_id;
	memcpy(report->map.name, record->map_name, sizeof(report->map.name) - 1);
	report->map.type = map_type_name(record->map_type);
}

static void add(struct update_report *report, const struct update_record *record)
{
	uint64_t waits = (uint64_t)record->waits[WAIT_NORMAL] + record->waits[WAIT_EXPEDITED];

	identify(report, record);
	report->calls++;
	report->failed += record->result < 0;
	if (!(record->flags & UPDATE_TIMED)) {
		report->untimed++;
		return;
	}
	dist_add(&report->ns, record->ns);
	report->waits_normal += record->waits[WAIT_NORMAL];
	report->waits_expedited += record->waits[WAIT_EXPEDITED];
	if (waits && !(record->flags & UPDATE_WAIT_UNTIMED))
		dist_add(&report->wait_ns, record->wait_ns);
}

int update_table_add(struct update_table *table, const struct update_record *record)
{
	struct row *row = row_of(table, record);

	if (!row)
		return -ENOMEM;
	row->used = ++table->operations;
	add(&row->total, record);
	add(&row->interval, record);
	return 0;
}

uint64_t update_table_operations(const struct update_table *table)
{
	return table->operations;
}

/* ---- reports ---- */

static void hand_out(const struct update_report *counts, enum span span, update_report_fn fn,
		     void *context)
{
	struct update_report report = *counts;

	report.span = span;
	report.wait = "none";
	if (report.waits_normal || report.waits_expedited)
		report.wait = report.waits_normal > report.waits_expedited ? "normal" : "expedited";
	fn(context, &report);
}

static void hand_out_interval(struct row *row, update_report_fn fn, void *context)
{
	if (row->interval.calls && fn)
		hand_out(&row->interval, SPAN_INTERVAL, fn, context);
	row->interval = (struct update_report){ .calls = 0 };
}

void update_table_each_interval(struct update_table *table, update_report_fn fn, void *context)
{
	for (size_t i = 0; i < table->count; i++)
		hand_out_interval(table->rows[i], fn, context);
}

void update_table_each_total(struct update_table *table, update_report_fn fn, void *context)
{
	for (size_t i = 0; i < table->count; i++)
		hand_out(&table->rows[i]->total, SPAN_TOTAL, fn, context);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Rows whose latest operation came before this one are to go; 0: none. */
static uint64_t eviction_bound(const struct update_table *table)
{
	size_t keep = table->limit / 2;
	uint64_t *used, bound;

	if (table->count <= table->limit)
		return 0;
	used = calloc(table->count, sizeof(*used));
	if (!used)
		return 0;	/* the next call may find memory */
	for (size_t i = 0; i < table->count; i++)
		used[i] = table->rows[i]->used;
	qsort(used, table->count, sizeof(*used), by_number);
	bound = keep ? used[table->count - keep] : UINT64_MAX;
	free(used);
	return bound;
}

size_t update_table_each_evicted(struct update_table *table, update_report_fn interval,
				 update_report_fn total, void *context)
{
	uint64_t bound = eviction_bound(table);
	size_t kept = 0, before = table->count;

	if (!bound)
		return 0;
	for (size_t i = 0; i < before; i++) {
		struct row *row = table->rows[i];

		if (row->used >= bound) {
			table->rows[kept++] = row;
			continue;
		}
		hand_out_interval(row, interval, context);
		hand_out(&row->total, SPAN_TOTAL, total, context);
		free(row);
	}
	table->count = kept;
	rebuild_index(table);
	return before - kept;
}
