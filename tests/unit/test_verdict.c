/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict: what is said of each way a run can go, and what must not be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "verdict.h"

#include "contains.h"
#include "sample.h"

/* The verdict on a run of one VMA. */
static const char *verdict_on(const struct run_start *start, const struct vma_report *vma)
{
	struct verdict_input input = { .start = start };
	static char text[1024];
	char same[1024];

	verdict_add(&input, vma);
	verdict_for_run(&input, text, sizeof(text));
	verdict_for_vma(start, vma, same, sizeof(same));
	assert_string_equal(text, same);
	assert_true(strlen(text) > 0 && strlen(text) < VERDICT_BYTES);
	assert_int_equal(text[strlen(text) - 1], '.');
	return text;
}

static void assert_lacks(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' is in: %s", part, text);
}

static void test_nothing_seen(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct verdict_input input = { .start = &start };
	char text[1024];

	(void)state;
	verdict_for_run(&input, text, sizeof(text));
	assert_contains(text, "No mapping of a BPF map was made");
	assert_contains(text, "a filter (-p, -m, -c)");
	start.filtered = false;
	verdict_for_run(&input, text, sizeof(text));
	assert_string_equal(text, "No mapping of a BPF map was made, nor touched for the first "
				  "time, while tracing.");
	start = sample_start(MODE_EAGER);
	verdict_for_run(&input, text, sizeof(text));
	assert_contains(text, "installs all pages of array maps at mmap");
}

static void test_lazy_kernel_has_no_fault_around(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct vma_report vma = sample_vma(2048);
	const char *text;

	(void)state;
	sample_touch(&vma, 0, 1536, false, 1500);
	sample_touch(&vma, 1536, 512, true, 1500);
	text = verdict_on(&start, &vma);
	assert_contains(text, "This kernel has no fault-around for array maps: 2048 faults (25 % "
			      "writes) brought one page each, 3.07 ms in the handler");
	assert_contains(text, "MAP_POPULATE would have spared 2048 traps, if not the handler's "
			      "runs.");
	assert_lacks(text, "times what was used");
}

static void test_populating_a_map_hardly_used(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct vma_report vma = sample_vma(2048);
	const char *text;

	(void)state;
	sample_touch(&vma, 100, 10, false, 1500);
	text = verdict_on(&start, &vma);
	assert_contains(text, "MAP_POPULATE would have spared 10 traps but installed 2048 pages, "
			      "204.8 times what was used");
}

static void test_populating_a_map_seen_late(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct vma_report vma = sample_vma(2048);
	const char *text;

	(void)state;
	vma.mmap.seen = false;
	vma.mmap.ns = 0;
	sample_touch(&vma, 100, 10, false, 1500);
	text = verdict_on(&start, &vma);
	assert_contains(text, "MAP_POPULATE spares such traps where most of a map is used");
	assert_lacks(text, "would have");
}

static void test_untouched_gets_no_advice(void **state)
{
	static const enum map_mode modes[] = { MODE_LAZY, MODE_LAZY_AROUND, MODE_UNKNOWN };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		struct run_start start = sample_start(modes[i]);
		struct vma_report vma = sample_vma(2048);
		const char *text = verdict_on(&start, &vma);

		assert_contains(text, "No page of the array maps was touched for the first time");
		assert_lacks(text, "MAP_POPULATE");
	}
}

static void test_populated_already(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct vma_report vma = sample_vma(2048);
	const char *text;

	(void)state;
	sample_touch(&vma, 0, 2048, false, 1000);
	vma.faults.user = 0;
	vma.faults.populate = 2048;
	vma.mmap.populate = true;
	text = verdict_on(&start, &vma);
	assert_contains(text, "MAP_POPULATE had 2048 pages of the array maps installed, by 2048 "
			      "handler runs, 2.04 ms in the handler");
	assert_contains(text, "no touch had to trap");
	assert_lacks(text, "would have");
}

static void test_populated_by_batches(void **state)
{
	struct run_start start = sample_start(MODE_LAZY_AROUND);
	struct vma_report vma = sample_vma(2048);

	(void)state;
	sample_batch(&vma, 0, 128, 16, 1000);
	vma.mmap.populate = true;
	assert_contains(verdict_on(&start, &vma), "had 2048 pages of the array maps installed, by "
						  "128 handler runs");
}

static void test_fault_around_works(void **state)
{
	struct run_start start = sample_start(MODE_LAZY_AROUND);
	struct vma_report vma = sample_vma(2048);
	const char *text;

	(void)state;
	sample_touch(&vma, 0, 4, false, 1000);
	sample_batch(&vma, 4, 127, 16, 3000);
	text = verdict_on(&start, &vma);
	assert_contains(text, "Fault-around works for array maps: 131 traps brought 15.5 pages each "
			      "of at most 16, 385 us in the handler");
	assert_contains(text, "4 reads fell through to .fault, a page each");
	assert_contains(text, "MAP_POPULATE would have spared 131 traps.");
	assert_lacks(text, "writes");
}

static void test_share_of_writes(void **state)
{
	struct run_start start = sample_start(MODE_LAZY_AROUND);
	struct vma_report vma = sample_vma(2048);
	const char *text;

	(void)state;
	sample_batch(&vma, 0, 75, 16, 3000);
	sample_touch(&vma, 1200, 25, true, 1000);
	text = verdict_on(&start, &vma);
	assert_contains(text, "100 traps brought 12.2 pages each");
	assert_contains(text, "25 (25 %) were writes, which cannot be batched");
	assert_contains(text, "Reading pages before they are written lets them be batched");
}

static void test_all_writes(void **state)
{
	struct run_start start = sample_start(MODE_LAZY_AROUND);
	struct vma_report vma = sample_vma(2048);
	const char *text;

	(void)state;
	sample_touch(&vma, 0, 2048, true, 1000);
	text = verdict_on(&start, &vma);
	assert_contains(text, "Nothing was batched for array maps: all 2048 faults were writes, "
			      "which cannot be");
	assert_contains(text, "Reading pages before they are written lets them be batched");
	assert_contains(text, "MAP_POPULATE would have spared 2048 traps");
}

static void test_window_of_one_page(void **state)
{
	struct run_start start = sample_start(MODE_LAZY_AROUND);
	struct vma_report vma = sample_vma(2048);
	const char *text;

	(void)state;
	start.fault_around_bytes = 4096;
	sample_touch(&vma, 0, 2048, false, 1000);
	text = verdict_on(&start, &vma);
	assert_contains(text, "fault_around_bytes is a single page");
	assert_contains(text, "A larger fault_around_bytes (in debugfs) would batch reads");
}

static void test_window_not_known(void **state)
{
	struct run_start start = sample_start(MODE_LAZY_AROUND);
	struct vma_report vma = sample_vma(2048);
	const char *text;

	(void)state;
	start.fault_around_bytes = 0;
	sample_batch(&vma, 0, 128, 16, 1000);
	text = verdict_on(&start, &vma);
	assert_contains(text, "128 traps brought 16.0 pages each, 128 us");
	assert_lacks(text, "at most");
}

static void test_all_declined(void **state)
{
	struct run_start start = sample_start(MODE_LAZY_AROUND);
	struct vma_report vma = sample_vma(64);

	(void)state;
	sample_touch(&vma, 0, 64, false, 1000);
	vma.batches.declined = 64;
	assert_contains(verdict_on(&start, &vma), "map_pages declined all 64 times, and 64 faults "
						  "(0 % writes) brought one page each");
}

static void test_reads_without_a_batch(void **state)
{
	struct run_start start = sample_start(MODE_LAZY_AROUND);
	struct vma_report vma = sample_vma(64);

	(void)state;
	sample_touch(&vma, 0, 64, false, 1000);
	assert_contains(verdict_on(&start, &vma), "though reads could be (userfaultfd prevents "
						  "it): 64 faults");
}

static void test_eager_kernel(void **state)
{
	struct run_start start = sample_start(MODE_EAGER);
	struct vma_report vma = sample_vma(2048);
	const char *text;

	(void)state;
	vma.mmap.ns = 1600000;
	text = verdict_on(&start, &vma);
	assert_contains(text, "This kernel installs all pages of array maps at mmap (1 call took "
			      "1.60 ms), so touching them never faults");
	assert_lacks(text, "MAP_POPULATE");
	vma.mmap.seen = false;
	assert_contains(verdict_on(&start, &vma), "at mmap, so touching them never faults");
}

static void test_mode_not_known(void **state)
{
	struct run_start start = sample_start(MODE_UNKNOWN);
	struct vma_report vma = sample_vma(64);
	const char *text;

	(void)state;
	start.types[0].reason = "kallsyms is hidden";
	sample_touch(&vma, 0, 64, false, 1000);
	text = verdict_on(&start, &vma);
	assert_contains(text, "How this kernel maps array maps is not known (kallsyms is hidden): "
			      "64 faults and 0 batches brought 64 pages");
	assert_lacks(text, "MAP_POPULATE");
}

static void test_arena_alone(void **state)
{
	struct run_start start = sample_start(MODE_EAGER);
	struct vma_report vma = sample_vma(64);
	const char *text;

	(void)state;
	vma.map.type = "arena";
	sample_touch(&vma, 0, 64, true, 2000);
	text = verdict_on(&start, &vma);
	assert_contains(text, "This kernel has no fault-around for arenas: 64 faults (100 % writes) "
			      "brought one page each, 128 us");
	assert_lacks(text, "MAP_POPULATE");
	assert_lacks(text, "array maps");
}

static void test_arrays_and_arenas(void **state)
{
	struct run_start start = sample_start(MODE_EAGER);
	struct vma_report array = sample_vma(64), arena = sample_vma(64);
	struct verdict_input input = { .start = &start };
	char text[1024];

	(void)state;
	arena.map.type = "arena";
	sample_touch(&arena, 0, 64, true, 2000);
	verdict_add(&input, &array);
	verdict_add(&input, &array);
	verdict_add(&input, &arena);
	verdict_for_run(&input, text, sizeof(text));
	assert_contains(text, "array maps at mmap (2 calls took 2.40 us), so touching them never "
			      "faults; this kernel has no fault-around for arenas: 64 faults");
	assert_true(input.vmas == 3 && input.vmas_of_type[0] == 2 && input.vmas_of_type[1] == 1);
	assert_true(input.faults.total == 64 && input.installed_pages == 64);
	assert_true(input.mmap_calls == 3 && input.mmap_ns == 3 * 1204);
	assert_true(dist_count(&input.fault_ns) == 64);
}

static void test_ring_buffers_and_others(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct vma_report vma = sample_vma(64);

	(void)state;
	vma.map.type = "user_ringbuf";
	assert_contains(verdict_on(&start, &vma), "all pages of ring buffers at mmap");
	vma.map.type = "other";
	assert_contains(verdict_on(&start, &vma), "types without faults of their own");
	vma.map.type = NULL;
	assert_contains(verdict_on(&start, &vma), "types without faults of their own");
}

static void test_failed_faults(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct vma_report vma = sample_vma(64);
	const char *text;

	(void)state;
	sample_touch(&vma, 0, 3, false, 1000);
	vma.faults.failed = 1;
	vma.installed_pages = 2;
	text = verdict_on(&start, &vma);
	assert_contains(text, "3 faults (0 % writes) brought 2 pages");
	assert_contains(text, "1 fault failed: no page was there to give (SIGBUS, SIGSEGV)");

	/* nothing but failures: MAP_POPULATE would spare nothing */
	vma.faults.failed = 3;
	vma.installed_pages = 0;
	text = verdict_on(&start, &vma);
	assert_contains(text, "3 faults failed");
	assert_lacks(text, "MAP_POPULATE");
}

static void test_without_times_no_cost(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct vma_report vma = sample_vma(64);

	(void)state;
	sample_touch(&vma, 0, 64, false, 0);
	memset(&vma.fault_ns, 0, sizeof(vma.fault_ns));
	vma.faults.untimed = 64;
	assert_lacks(verdict_on(&start, &vma), "handler (");
}

static void test_one_of_each(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct vma_report vma = sample_vma(1);

	(void)state;
	sample_touch(&vma, 0, 1, false, 1000);
	assert_contains(verdict_on(&start, &vma), "1 fault (0 % writes) brought 1 page, 1.00 us");
	assert_contains(verdict_on(&start, &vma), "would have spared 1 trap, if");
}

static void test_huge_numbers_stay_whole(void **state)
{
	static const enum map_mode modes[] = { MODE_UNKNOWN, MODE_EAGER, MODE_LAZY,
					       MODE_LAZY_AROUND };
	uint64_t huge = UINT64_MAX;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		struct run_start start = sample_start(modes[i]);
		struct vma_report vma = sample_vma(64);

		start.types[0].reason = "a reason that goes on and on and on and on and on and on "
					"and on and on and on and on and on and on and on and on";
		vma.faults = (struct fault_counts){ huge, huge, huge, huge, huge, huge, huge, 1,
						    huge, huge, huge, huge, huge, huge, huge };
		vma.batches = (struct batch_counts){ huge / 2, huge, huge };
		vma.installed_pages = vma.fault_ns.sum = vma.pages = huge;
		verdict_on(&start, &vma);
	}
}

/* What has no room is left out whole, and the sentence ends all the same. */
static void test_too_much_to_say(void **state)
{
	struct run_start start = sample_start(MODE_LAZY_AROUND);
	struct vma_report array = sample_vma(64), arena = sample_vma(64), ring = sample_vma(64);
	struct verdict_input input = { .start = &start };
	uint64_t huge = UINT64_MAX / 4;
	char text[1024];

	(void)state;
	array.faults = (struct fault_counts){ .total = huge, .read = huge / 2, .write = huge / 2,
					      .user = huge };
	array.batches = (struct batch_counts){ .total = huge, .pages = huge };
	array.fault_ns.sum = huge;
	arena.map.type = "arena";
	arena.faults = array.faults;
	arena.fault_ns.sum = huge;
	ring.map.type = "ringbuf";
	verdict_add(&input, &array);
	verdict_add(&input, &arena);
	verdict_add(&input, &ring);
	verdict_for_run(&input, text, sizeof(text));
	assert_true(strlen(text) < VERDICT_BYTES);
	assert_contains(text, "Fault-around works for array maps");
	assert_lacks(text, "fault-around for arenas");
	assert_contains(text, "ring buffers");
	assert_int_equal(text[strlen(text) - 1], '.');
}

static void test_short_buffer(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct vma_report vma = sample_vma(64);
	char text[8];

	(void)state;
	memset(text, 'X', sizeof(text));
	verdict_for_vma(&start, &vma, text, sizeof(text));
	assert_string_equal(text, "No page");
	memset(text, 'X', sizeof(text));
	verdict_for_vma(&start, &vma, text, 0);
	assert_int_equal(text[0], 'X');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_seen),
		cmocka_unit_test(test_lazy_kernel_has_no_fault_around),
		cmocka_unit_test(test_populating_a_map_hardly_used),
		cmocka_unit_test(test_populating_a_map_seen_late),
		cmocka_unit_test(test_untouched_gets_no_advice),
		cmocka_unit_test(test_populated_already),
		cmocka_unit_test(test_populated_by_batches),
		cmocka_unit_test(test_fault_around_works),
		cmocka_unit_test(test_share_of_writes),
		cmocka_unit_test(test_all_writes),
		cmocka_unit_test(test_window_of_one_page),
		cmocka_unit_test(test_window_not_known),
		cmocka_unit_test(test_all_declined),
		cmocka_unit_test(test_reads_without_a_batch),
		cmocka_unit_test(test_eager_kernel),
		cmocka_unit_test(test_mode_not_known),
		cmocka_unit_test(test_arena_alone),
		cmocka_unit_test(test_arrays_and_arenas),
		cmocka_unit_test(test_ring_buffers_and_others),
		cmocka_unit_test(test_failed_faults),
		cmocka_unit_test(test_without_times_no_cost),
		cmocka_unit_test(test_one_of_each),
		cmocka_unit_test(test_huge_numbers_stay_whole),
		cmocka_unit_test(test_too_much_to_say),
		cmocka_unit_test(test_short_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
