/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records that a sink holds until it can print them in order: the first ones
 * in full, the others by their sum, so that memory is bounded.
 */
#ifndef LAZYFAULT_HELD_H
#define LAZYFAULT_HELD_H

#include "model.h"

struct packed;

/* VMAs that are held where all are asked for; the rest goes by the sum. */
enum { HELD_MAX = 32768 };

/* A record that waits to be sorted. */
struct held {
	uint64_t value;		/* what it is sorted by, highest first */
	uint64_t row;		/* then by this, lowest first */
	struct packed *packed;	/* struct vma_report or struct update_report */
};

/* Records held, and the sum of those that fell behind the first `limit`. */
struct held_list {
	struct held *items;
	size_t count, space, limit;
	bool of_updates;		/* they are struct update_report */
	uint64_t rest, rest_faults, rest_pages;
	uint64_t rest_calls, rest_ns;	/* of updates */
};

struct vma_order;

/* By a key of vma_sort_keys; NULL: faults. */
const struct vma_order *vma_order(const char *key);
/* A VMA to be sorted so; packed is NULL on lack of memory. */
struct held held_vma(const struct vma_order *order, const struct vma_report *vma);
/* An update to be sorted by a key of update_sort_keys (NULL: time), then by row; likewise. */
struct held held_update(const char *key, const struct update_report *update, uint64_t row);

/* Takes over held.packed if it returns 0; -ENOMEM. */
int held_add(struct held_list *list, struct held held);
/* Sorts, and sums up what falls behind the limit. */
void held_cut(struct held_list *list);
void held_clear(struct held_list *list);

#endif
