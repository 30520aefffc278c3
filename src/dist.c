/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Distributions of 64-bit values in log2 buckets. Everything is counted in
 * 64 bits; only the interpolation inside a slot uses floating point.
 */
#include "dist.h"


unsigned int dist_slot(uint64_t value)
{
	return value ? 64 - (unsigned int)__builtin_clzll(value) : 0;
}

uint64_t dist_from(unsigned int slot)
{
	return slot ? UINT64_C(1) << (slot - 1) : 0;
}

uint64_t dist_to(const struct dist *dist, unsigned int slot)
{
	if (slot >= DIST_SLOTS - 1 || (dist->open_slot && slot >= dist->open_slot))
		return UINT64_MAX;
	return (UINT64_C(1) << slot) - 1;
}

uint64_t dist_count(const struct dist *dist)
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < DIST_SLOTS; i++)
		count += dist->slots[i];
	return count;
}

static void note_range(struct dist *dist, bool empty, uint64_t min, uint64_t max)
{
	if (empty || min < dist->min)
		dist->min = min;
	if (empty || max > dist->max)
		dist->max = max;
}

void dist_add(struct dist *dist, uint64_t value)
{
	unsigned int slot = dist_slot(value);

	if (dist->open_slot && slot > dist->open_slot)
		slot = dist->open_slot;
	note_range(dist, dist_count(dist) == 0, value, value);
	dist->slots[slot]++;
	dist->sum += value;
}

/* Moves what lies above an open slot into it. */
static void open_at(struct dist *dist, unsigned int slot)
{
	for (unsigned int i = slot + 1; i < DIST_SLOTS; i++) {
		dist->slots[slot] += dist->slots[i];
		dist->slots[i] = 0;
	}
	dist->open_slot = slot;
}

void dist_merge(struct dist *dist, const struct dist *other)
{
	unsigned int open = dist->open_slot;

	if (dist_count(other))
		note_range(dist, dist_count(dist) == 0, other->min, other->max);
	for (unsigned int i = 0; i < DIST_SLOTS; i++)
		dist->slots[i] += other->slots[i];
	dist->sum += other->sum;

	if (other->open_slot && (!open || other->open_slot < open))
		open = other->open_slot;
	if (open)
		open_at(dist, open);
}

/* Sets min and max of an interval from its slots, its sum and the later state. */
static void bound_range(struct dist *out, const struct dist *now)
{
	unsigned int low = 0, high = DIST_SLOTS - 1;
	uint64_t from, to;

	while (!out->slots[low])
		low++;
	while (!out->slots[high])
		high--;
	from = dist_from(low);
	to = dist_to(out, high);

	/* A single value is its own sum. */
	if (low == high && out->slots[low] == 1 && out->sum >= from && out->sum <= to) {
		out->min = out->max = out->sum;
		return;
	}
	/* now's own bounds may be a moment behind its slots: never leave the slots. */
	out->min = now->min > from && now->min <= dist_to(out, low) ? now->min : from;
	out->max = now->max < to && now->max >= dist_from(high) ? now->max : to;
}

void dist_since(struct dist *out, const struct dist *now, const struct dist *earlier)
{
	struct dist since = { .open_slot = now->open_slot };
	bool any = false;

	for (unsigned int i = 0; i < DIST_SLOTS; i++) {
		if (now->slots[i] > earlier->slots[i]) {
			since.slots[i] = now->slots[i] - earlier->slots[i];
			any = true;
		}
	}
	since.sum = now->sum - earlier->sum;
	if (any)
		bound_range(&since, now);
	*out = since;
}

uint64_t dist_percentile(const struct dist *dist, double percent)
{
	uint64_t count = dist_count(dist), below = 0;
	unsigned int slot = 0;
	uint64_t from, to;
	double rank, step;

	if (!count)
		return 0;
	if (!(percent > 0))
		return dist->min;
	if (percent >= 100)
		return dist->max;

	rank = (double)count * percent / 100;
	while (slot < DIST_SLOTS - 1 && (double)(below + dist->slots[slot]) < rank)
		below += dist->slots[slot++];
	/* Rounding may have run past the last value. */
	while (!dist->slots[slot])
		below -= dist->slots[--slot];

	from = dist_from(slot);
	to = dist_to(dist, slot);
	if (dist->min > from && dist->min <= to)
		from = dist->min;
	if (dist->max < to && dist->max >= from)
		to = dist->max;
	step = (double)(to - from) * (rank - (double)below) / (double)dist->slots[slot];
	/* 2^64 as a double has no place in 64 bits. */
	if (step >= (double)(to - from))
		return to;
	return step > 0 ? from + (uint64_t)step : from;
}
