/* SPDX-License-Identifier: GPL-2.0-only */
/* Log2 slots and 64-bit distributions that many CPUs add to at once. */
#ifndef LAZYFAULT_HIST_BPF_H
#define LAZYFAULT_HIST_BPF_H

#include "records.h"

/*
 * log2_table[v] is the slot of v: 0 for 0, else 1 + the number of its highest
 * bit. Filled by the loader. A look-up costs 6 instructions where a ladder of
 * branches costs 33; most handler times are below 4096 ns.
 */
#define LOG2_TABLE 4096
const volatile __u8 log2_table[LOG2_TABLE];

static __always_inline __u32 log2_slot(__u64 value)
{
	__u32 slot = 0;

	while (value >= LOG2_TABLE && slot < 60) {
		value >>= 12;
		slot += 12;
	}
	return slot + log2_table[value & (LOG2_TABLE - 1)];
}

/* The branch is rare once a distribution has some values. */
static __always_inline void lower_to(__u64 *min, __u64 value)
{
	__u64 seen = *(volatile __u64 *)min;

	for (int i = 0; i < 8 && value < seen; i++) {
		__u64 before = __sync_val_compare_and_swap(min, seen, value);

		if (before == seen)
			break;
		seen = before;
	}
}

static __always_inline void raise_to(__u64 *max, __u64 value)
{
	__u64 seen = *(volatile __u64 *)max;

	for (int i = 0; i < 8 && value > seen; i++) {
		__u64 before = __sync_val_compare_and_swap(max, seen, value);

		if (before == seen)
			break;
		seen = before;
	}
}

/* Adds value to a struct ns_dist or batch_dist of `count` slots, the last one open. */
#define dist_add(dist, count, value)						\
	do {									\
		__u64 value_ = (value);						\
		__u32 slot_ = log2_slot(value_);				\
										\
		if (slot_ >= (count))						\
			slot_ = (count) - 1;					\
		__sync_fetch_and_add(&(dist)->sum, value_);			\
		lower_to(&(dist)->min, value_);					\
		raise_to(&(dist)->max, value_);					\
		__sync_fetch_and_add(&(dist)->slots[slot_], 1);			\
	} while (0)

#endif
