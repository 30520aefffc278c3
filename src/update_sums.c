/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tree of packed sums, by process and map. */
#include "update_sums.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "packed.h"

struct sum {
	uint32_t pid, map_id;
	uint64_t number;	/* counts up */
	struct packed *packed;	/* struct update_report */
};

struct update_sums {
	void *tree;
	uint64_t made;
	size_t count;
};

struct update_sums *update_sums_new(void)
{
	return calloc(1, sizeof(struct update_sums));
}

static void sum_free(void *node)
{
	struct sum *sum = node;

	free(sum->packed);
	free(sum);
}

void update_sums_free(struct update_sums *sums)
{
	if (!sums)
		return;
	tdestroy(sums->tree, sum_free);
	free(sums);
}

static int by_key(const void *a, const void *b)
{
	const struct sum *left = a, *right = b;

	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return (left->map_id > right->map_id) - (left->map_id < right->map_id);
}

static void add(struct update_report *sum, const struct update_report *later)
{
	sum->calls += later->calls;
	sum->failed += later->failed;
	sum->untimed += later->untimed;
	sum->waits_normal += later->waits_normal;
	sum->waits_expedited += later->waits_expedited;
	dist_merge(&sum->ns, &later->ns);
	dist_merge(&sum->wait_ns, &later->wait_ns);
	/* a capture that does not count the waits by kind names the latest that there were */
	if (sum->waits_normal || sum->waits_expedited)
		sum->wait = sum->waits_normal > sum->waits_expedited ? "normal" : "expedited";
	else if (later->wait && strcmp(later->wait, "none"))
		sum->wait = later->wait;
}

/* The row of a key, made if it is not there; NULL: no memory. */
static struct sum *find(struct update_sums *sums, uint32_t pid, uint32_t map_id)
{
	struct sum *sum = calloc(1, sizeof(*sum)), **found;

	if (!sum)
		return NULL;
	sum->pid = pid;
	sum->map_id = map_id;
	found = tsearch(sum, &sums->tree, by_key);
	if (!found || *found != sum) {
		free(sum);
		return found ? *found : NULL;
	}
	sum->number = ++sums->made;
	sums->count++;
	return sum;
}

static void forget(struct update_sums *sums, const struct update_report *update)
{
	const struct sum key = { .pid = update->pid, .map_id = update->map.id };
	struct sum **found = tfind(&key, &sums->tree, by_key), *sum;

	if (!found)
		return;
	sum = *found;
	tdelete(sum, &sums->tree, by_key);
	sum_free(sum);
	sums->count--;
}

int update_sums_take(struct update_sums *sums, const struct update_report *update)
{
	struct update_report report = *update;
	struct packed *packed;
	struct sum *sum;

	if (update->span == SPAN_TOTAL) {
		forget(sums, update);
		return 0;
	}
	sum = find(sums, update->pid, update->map.id);
	if (!sum)
		return -ENOMEM;
	if (sum->packed) {
		packed_get(sum->packed, &report, sizeof(report));
		add(&report, update);
	}
	packed = packed_new(&report, sizeof(report));
	if (!packed)
		return -ENOMEM;
	free(sum->packed);
	sum->packed = packed;
	return 0;
}

struct walk {
	const struct sum **sums;
	size_t count;
};

static void note(const void *node, VISIT which, void *context)
{
	struct walk *walk = context;

	if (which == postorder || which == leaf)
		walk->sums[walk->count++] = *(const struct sum *const *)node;
}

static int by_number(const void *a, const void *b)
{
	uint64_t left = (*(const struct sum *const *)a)->number;
	uint64_t right = (*(const struct sum *const *)b)->number;

	return (left > right) - (left < right);
}

int update_sums_each(struct update_sums *sums,
		     void (*fn)(void *context, const struct update_report *update),
		     void *context)
{
	struct walk walk = { .sums = calloc(sums->count + 1, sizeof(*walk.sums)) };
	struct update_report report;

	if (!walk.sums)
		return -ENOMEM;
	twalk_r(sums->tree, note, &walk);
	qsort(walk.sums, walk.count, sizeof(*walk.sums), by_number);
	for (size_t i = 0; i < walk.count; i++) {
		packed_get(walk.sums[i]->packed, &report, sizeof(report));
		report.span = SPAN_TOTAL;
		fn(context, &report);
	}
	free(walk.sums);
	return 0;
}
