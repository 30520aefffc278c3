/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sorts by a column and then by row, so that the order is always the same. */
#include "held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "packed.h"

/* Held beyond the limit before it is cut, so that this is not for each record. */
enum { SPARE_MIN = 1024 };

struct vma_order {
	const char *key;
	bool ascending;
	uint64_t (*value)(const struct vma_report *vma);
};

static uint64_t faults_of(const struct vma_report *vma) { return vma->faults.total; }
static uint64_t installed_of(const struct vma_report *vma) { return vma->installed_pages; }
static uint64_t time_of(const struct vma_report *vma) { return vma->fault_ns.sum; }
static uint64_t batches_of(const struct vma_report *vma) { return vma->batches.total; }
static uint64_t raced_of(const struct vma_report *vma) { return vma->faults.raced; }
static uint64_t pid_of(const struct vma_report *vma) { return vma->pid; }
static uint64_t map_of(const struct vma_report *vma) { return vma->map.id; }
static uint64_t start_of(const struct vma_report *vma) { return vma->start; }

static const struct vma_order orders[] = {
	{ "faults", false, faults_of },
	{ "installed", false, installed_of },
	{ "time", false, time_of },
	{ "batches", false, batches_of },
	{ "raced", false, raced_of },
	{ "pid", true, pid_of },
	{ "map", true, map_of },
	{ "start", true, start_of },
};

const struct vma_order *vma_order(const char *key)
{
	for (size_t i = 0; key && i < sizeof(orders) / sizeof(orders[0]); i++) {
		if (!strcmp(orders[i].key, key))
			return &orders[i];
	}
	return &orders[0];
}

struct held held_vma(const struct vma_order *order, const struct vma_report *vma)
{
	uint64_t value = order->value(vma);

	return (struct held){ order->ascending ? ~value : value, vma->row,
			      packed_new(vma, sizeof(*vma)) };
}

static uint64_t update_time_of(const struct update_report *update) { return update->ns.sum; }
static uint64_t calls_of(const struct update_report *update) { return update->calls; }
static uint64_t failed_of(const struct update_report *update) { return update->failed; }
static uint64_t waiting_of(const struct update_report *update) { return update->wait_ns.sum; }
static uint64_t update_pid_of(const struct update_report *update) { return update->pid; }
static uint64_t update_map_of(const struct update_report *update) { return update->map.id; }

static uint64_t max_of(const struct update_report *update)
{
	return dist_count(&update->ns) ? update->ns.max : 0;
}

static const struct {
	const char *key;
	bool ascending;
	uint64_t (*value)(const struct update_report *update);
} update_orders[] = {
	{ "time", false, update_time_of },
	{ "calls", false, calls_of },
	{ "failed", false, failed_of },
	{ "waiting", false, waiting_of },
	{ "max", false, max_of },
	{ "pid", true, update_pid_of },
	{ "map", true, update_map_of },
};

struct held held_update(const char *key, const struct update_report *update, uint64_t row)
{
	size_t order = 0;
	uint64_t value;

	for (size_t i = 0; key && i < sizeof(update_orders) / sizeof(update_orders[0]); i++) {
		if (!strcmp(update_orders[i].key, key))
			order = i;
	}
	value = update_orders[order].value(update);
	return (struct held){ update_orders[order].ascending ? ~value : value, row,
			      packed_new(update, sizeof(*update)) };
}

static int by_value(const void *a, const void *b)
{
	const struct held *left = a, *right = b;

	if (left->value != right->value)
		return left->value < right->value ? 1 : -1;
	return (left->row > right->row) - (left->row < right->row);
}

void held_clear(struct held_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i].packed);
	list->count = 0;
	list->rest = list->rest_faults = list->rest_pages = 0;
	list->rest_calls = list->rest_ns = 0;
}

static void add_to_rest(struct held_list *list, const struct packed *packed)
{
	struct update_report update;
	struct vma_report vma;

	list->rest++;
	if (list->of_updates) {
		packed_get(packed, &update, sizeof(update));
		list->rest_calls += update.calls;
		list->rest_ns += update.ns.sum;
	} else {
		packed_get(packed, &vma, sizeof(vma));
		list->rest_faults += vma.faults.total;
		list->rest_pages += vma.installed_pages;
	}
}

void held_cut(struct held_list *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(list->items[0]), by_value);
	while (list->count > list->limit) {
		struct held *last = &list->items[--list->count];

		add_to_rest(list, last->packed);
		free(last->packed);
	}
}

int held_add(struct held_list *list, struct held held)
{
	size_t spare = list->limit < SPARE_MIN ? SPARE_MIN : list->limit;

	if (list->count >= list->limit + spare)
		held_cut(list);
	if (list->count == list->space) {
		size_t space = list->space ? 2 * list->space : 64;
		struct held *items = realloc(list->items, space * sizeof(*items));

		if (!items)
			return -ENOMEM;
		list->items = items;
		list->space = space;
	}
	list->items[list->count++] = held;
	return 0;
}
