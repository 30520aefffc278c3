/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Distributions: every edge of every slot, 64 bits throughout, open slots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "dist.h"

static struct dist dist_of(unsigned int open_slot, const uint64_t *values, size_t count)
{
	struct dist dist = { .open_slot = open_slot };

	for (size_t i = 0; i < count; i++)
		dist_add(&dist, values[i]);
	return dist;
}

#define DIST_OF(open_slot, ...) \
	dist_of(open_slot, (const uint64_t[]){ __VA_ARGS__ }, \
		sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void test_small_values_have_slots_of_their_own(void **state)
{
	(void)state;
	assert_int_equal(dist_slot(0), 0);
	assert_int_equal(dist_slot(1), 1);
	assert_int_equal(dist_slot(2), 2);
	assert_int_equal(dist_slot(3), 2);
	assert_int_equal(dist_slot(4), 3);
}

static void test_edges_of_every_power(void **state)
{
	(void)state;
	for (unsigned int k = 1; k < 64; k++) {
		uint64_t power = UINT64_C(1) << k;

		assert_int_equal(dist_slot(power - 1), k);
		assert_int_equal(dist_slot(power), k + 1);
		if (k > 1)
			assert_int_equal(dist_slot(power + 1), k + 1);
	}
	assert_int_equal(dist_slot(UINT64_MAX), 64);
	assert_int_equal(dist_slot(UINT64_MAX - 1), 64);
}

static void test_slots_meet_and_hold_their_edges(void **state)
{
	struct dist dist = { .open_slot = 0 };

	(void)state;
	assert_true(dist_from(0) == 0 && dist_to(&dist, 0) == 0);
	assert_true(dist_from(1) == 1 && dist_to(&dist, 1) == 1);
	for (unsigned int slot = 0; slot < DIST_SLOTS; slot++) {
		assert_int_equal(dist_slot(dist_from(slot)), slot);
		assert_int_equal(dist_slot(dist_to(&dist, slot)), slot);
		if (slot > 0)
			assert_true(dist_to(&dist, slot - 1) + 1 == dist_from(slot));
	}
	assert_true(dist_to(&dist, 64) == UINT64_MAX);
}

static void test_open_slot_takes_all_above(void **state)
{
	struct dist dist = DIST_OF(15, 16383, 16384, 32768, UINT64_MAX);

	(void)state;
	assert_int_equal(dist.slots[14], 1);
	assert_int_equal(dist.slots[15], 3);
	assert_true(dist_from(15) == 16384);
	assert_true(dist_to(&dist, 15) == UINT64_MAX);
	assert_true(dist_to(&dist, 14) == 16383);
	assert_true(dist.max == UINT64_MAX);
}

static void test_add_keeps_count_sum_and_range(void **state)
{
	struct dist dist = { .open_slot = 0 };

	(void)state;
	assert_int_equal(dist_count(&dist), 0);
	dist_add(&dist, 7);
	assert_true(dist.min == 7 && dist.max == 7);
	dist_add(&dist, 0);
	dist_add(&dist, UINT64_C(1) << 40);
	assert_int_equal(dist_count(&dist), 3);
	assert_true(dist.sum == (UINT64_C(1) << 40) + 7);
	assert_true(dist.min == 0 && dist.max == UINT64_C(1) << 40);
}

static void test_counts_beyond_32_bits(void **state)
{
	struct dist dist = { .open_slot = 0 }, other = { .open_slot = 0 };

	(void)state;
	dist.slots[3] = UINT64_C(5) << 32;
	dist.min = dist.max = 4;
	other.slots[3] = UINT64_C(1) << 33;
	other.slots[64] = UINT64_C(1) << 62;
	other.min = 5;
	other.max = UINT64_MAX;
	dist_merge(&dist, &other);
	assert_true(dist.slots[3] == UINT64_C(7) << 32);
	assert_true(dist_count(&dist) == (UINT64_C(7) << 32) + (UINT64_C(1) << 62));
	assert_true(dist.min == 4 && dist.max == UINT64_MAX);
}

static void test_merge_with_empty(void **state)
{
	struct dist empty = { .open_slot = 0 }, some = DIST_OF(0, 100, 900);
	struct dist dist = empty;

	(void)state;
	dist_merge(&dist, &some);
	assert_true(dist.min == 100 && dist.max == 900 && dist.sum == 1000);
	dist_merge(&dist, &empty);
	assert_true(dist.min == 100 && dist.max == 900 && dist_count(&dist) == 2);
}

static void test_merge_keeps_the_lower_open_slot(void **state)
{
	struct dist low = DIST_OF(4, 1, 100), high = DIST_OF(10, 100, 5000), none = DIST_OF(0, 77);
	struct dist dist = low;

	(void)state;
	dist_merge(&dist, &high);
	assert_int_equal(dist.open_slot, 4);
	assert_int_equal(dist.slots[4], 3);
	dist = high;
	dist_merge(&dist, &low);
	assert_int_equal(dist.open_slot, 4);
	assert_int_equal(dist.slots[4], 3);
	assert_int_equal(dist.slots[7], 0);
	dist_merge(&dist, &none);
	assert_int_equal(dist.open_slot, 4);
	assert_int_equal(dist.slots[4], 4);
	dist_merge(&none, &low);
	assert_int_equal(none.open_slot, 4);
}

static void test_since_subtracts(void **state)
{
	struct dist earlier = DIST_OF(0, 10, 1000), now = DIST_OF(0, 10, 1000, 600, 700, 5);
	struct dist since;

	(void)state;
	dist_since(&since, &now, &earlier);
	assert_int_equal(dist_count(&since), 3);
	assert_int_equal(since.sum, 1305);
	assert_int_equal(since.slots[dist_slot(600)], 2);
	assert_int_equal(since.slots[dist_slot(5)], 1);
	/* 5 is the least of all; the greatest is in [512, 1023], and 1000 or less */
	assert_int_equal(since.min, 5);
	assert_int_equal(since.max, 1000);
}

static void test_since_bounds_by_slots(void **state)
{
	struct dist earlier = DIST_OF(0, 1, 100000), now = DIST_OF(0, 1, 100000, 70, 300, 310);
	struct dist since;

	(void)state;
	dist_since(&since, &now, &earlier);
	assert_int_equal(since.min, 64);
	assert_int_equal(since.max, 511);
}

static void test_since_of_one_is_exact(void **state)
{
	struct dist earlier = DIST_OF(0, 1, 100000), now = DIST_OF(0, 1, 100000, 70);
	struct dist since;

	(void)state;
	dist_since(&since, &now, &earlier);
	assert_int_equal(since.min, 70);
	assert_int_equal(since.max, 70);
}

static void test_since_nothing_is_empty(void **state)
{
	struct dist dist = DIST_OF(47, 1, 2), empty = { .open_slot = 47 }, since;

	(void)state;
	dist_since(&since, &dist, &dist);
	assert_int_equal(dist_count(&since), 0);
	assert_int_equal(since.sum, 0);
	assert_int_equal(since.open_slot, 47);
	dist_since(&since, &dist, &empty);
	assert_memory_equal(&since, &dist, sizeof(since));
}

static void test_since_may_be_its_own_result(void **state)
{
	struct dist earlier = DIST_OF(0, 10), now = DIST_OF(0, 10, 20);

	(void)state;
	dist_since(&now, &now, &earlier);
	assert_int_equal(dist_count(&now), 1);
	assert_int_equal(now.sum, 20);
}

static void test_intervals_add_up(void **state)
{
	struct dist states[4], sum = { .open_slot = 12 }, since;
	uint64_t value = 1;

	(void)state;
	memset(states, 0, sizeof(states));
	states[0].open_slot = 12;
	for (int i = 1; i < 4; i++) {
		states[i] = states[i - 1];
		for (int j = 0; j < 50; j++) {
			value = value * UINT64_C(6364136223846793005) + 1442695040888963407;
			dist_add(&states[i], value >> (value & 63));
		}
		dist_since(&since, &states[i], &states[i - 1]);
		dist_merge(&sum, &since);
	}
	assert_memory_equal(sum.slots, states[3].slots, sizeof(sum.slots));
	assert_true(sum.sum == states[3].sum);
	assert_true(sum.min <= states[3].min);
	assert_true(sum.max >= states[3].max);
}

static void test_percentiles(void **state)
{
	struct dist empty = { .open_slot = 0 }, one = DIST_OF(0, 777), many = { .open_slot = 0 };
	uint64_t median;

	(void)state;
	assert_int_equal(dist_percentile(&empty, 50), 0);
	assert_int_equal(dist_percentile(&one, 0), 777);
	assert_int_equal(dist_percentile(&one, 50), 777);
	assert_int_equal(dist_percentile(&one, 100), 777);
	for (uint64_t i = 1; i <= 1000; i++)
		dist_add(&many, i);
	median = dist_percentile(&many, 50);
	assert_in_range(median, 490, 510);
	assert_in_range(dist_percentile(&many, 99), 980, 1000);
	assert_int_equal(dist_percentile(&many, 0), 1);
	assert_int_equal(dist_percentile(&many, 100), 1000);
	assert_int_equal(dist_percentile(&many, -3), 1);
	assert_int_equal(dist_percentile(&many, 300), 1000);
}

static void test_percentiles_at_the_end_of_64_bits(void **state)
{
	struct dist dist = DIST_OF(0, UINT64_MAX, UINT64_MAX, UINT64_C(1) << 63);
	struct dist open = DIST_OF(3, 0, UINT64_MAX);

	(void)state;
	for (double percent = 0; percent <= 100; percent += 0.5) {
		assert_true(dist_percentile(&dist, percent) >= UINT64_C(1) << 63);
		dist_percentile(&open, percent);
	}
	assert_true(dist_percentile(&dist, 99.999) > UINT64_C(3) << 62);
	assert_true(dist_percentile(&open, 100) == UINT64_MAX);
}

/* A slot of this width has no exact double: rounding must not leave it. */
static void test_percentile_stays_in_a_wide_slot(void **state)
{
	struct dist dist = DIST_OF(0, UINT64_C(1) << 62, UINT64_C(1) << 63);

	(void)state;
	assert_true(dist_percentile(&dist, 50) == (UINT64_C(1) << 63) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_values_have_slots_of_their_own),
		cmocka_unit_test(test_edges_of_every_power),
		cmocka_unit_test(test_slots_meet_and_hold_their_edges),
		cmocka_unit_test(test_open_slot_takes_all_above),
		cmocka_unit_test(test_add_keeps_count_sum_and_range),
		cmocka_unit_test(test_counts_beyond_32_bits),
		cmocka_unit_test(test_merge_with_empty),
		cmocka_unit_test(test_merge_keeps_the_lower_open_slot),
		cmocka_unit_test(test_since_subtracts),
		cmocka_unit_test(test_since_bounds_by_slots),
		cmocka_unit_test(test_since_of_one_is_exact),
		cmocka_unit_test(test_since_nothing_is_empty),
		cmocka_unit_test(test_since_may_be_its_own_result),
		cmocka_unit_test(test_intervals_add_up),
		cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_percentiles_at_the_end_of_64_bits),
		cmocka_unit_test(test_percentile_stays_in_a_wide_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
