/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Distributions of 64-bit values in log2 buckets, with count, sum, min, max. */
#ifndef LAZYFAULT_DIST_H
#define LAZYFAULT_DIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Slot 0: the value 0. Slot k: [2^(k-1), 2^k - 1]. */
#define DIST_SLOTS 65

struct dist {
	uint64_t slots[DIST_SLOTS];
	uint64_t sum, min, max;	/* min and max have a meaning only if count > 0 */
	unsigned int open_slot;	/* this slot also holds all above it; 0: none does */
};

/* The slot that holds value. */
unsigned int dist_slot(uint64_t value);
/* First and last value of a slot; of an open slot the last is UINT64_MAX. */
uint64_t dist_from(unsigned int slot);
uint64_t dist_to(const struct dist *dist, unsigned int slot);

void dist_add(struct dist *dist, uint64_t value);
uint64_t dist_count(const struct dist *dist);
/* Adds other to dist. */
void dist_merge(struct dist *dist, const struct dist *other);
/*
 * What came between two cumulative states, earlier and now. The min and max
 * of an interval cannot be known from two cumulative states: they are the
 * bounds of the lowest and highest non-empty slot, tightened by now's min
 * and max.
 */
void dist_since(struct dist *out, const struct dist *now, const struct dist *earlier);
/* Value below which `percent` of the counts lie, interpolated in its slot; 0 if empty. */
uint64_t dist_percentile(const struct dist *dist, double percent);

#endif
