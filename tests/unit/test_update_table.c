/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of updates, fed with records as the kernel's side writes them: to
 * which row each goes, what it adds there, and what is handed out and when.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "../../bpf/updates.h"
#include "update_table.h"

static struct update_record new_record(uint32_t tgid, uint32_t map_id)
{
	return (struct update_record){
		.header = { RECORD_UPDATES, 0 },
		.process_start = 1000, .tgid = tgid, .pid = tgid, .map_id = map_id,
		.map_type = 12, .ns = 20, .wait_ns = 15, .flags = UPDATE_TIMED,
		.waits = { [WAIT_EXPEDITED] = 1 }, .comm = "loader", .map_name = "outer",
	};
}

static void add(struct update_table *table, const struct update_record *record)
{
	assert_int_equal(update_table_add(table, record), 0);
}

/* What a call handed out. */
struct handed {
	struct update_report reports[64];
	size_t count;
};

static void keep(void *context, const struct update_report *report)
{
	struct handed *handed = context;

	assert_true(handed->count < 64);
	assert_true(dist_count(&report->ns) == report->calls - report->untimed);
	handed->reports[handed->count++] = *report;
}

static struct handed totals(struct update_table *table)
{
	static struct handed handed;

	handed.count = 0;
	update_table_each_total(table, keep, &handed);
	return handed;
}

static struct handed intervals(struct update_table *table)
{
	static struct handed handed;

	handed.count = 0;
	update_table_each_interval(table, keep, &handed);
	return handed;
}

static void test_one_operation(void **state)
{
	struct update_table *table = update_table_new();
	struct update_record record = new_record(7, 9);
	struct update_report *report;
	struct handed handed;

	(void)state;
	add(table, &record);
	handed = totals(table);
	assert_int_equal(handed.count, 1);
	report = &handed.reports[0];
	assert_int_equal(report->span, SPAN_TOTAL);
	assert_int_equal(report->pid, 7);
	assert_string_equal(report->comm, "loader");
	assert_int_equal(report->map.id, 9);
	assert_string_equal(report->map.name, "outer");
	assert_string_equal(report->map.type, "array_of_maps");
	assert_int_equal(report->calls, 1);
	assert_int_equal(report->failed, 0);
	assert_int_equal(report->ns.sum, 20);
	assert_int_equal(report->wait_ns.sum, 15);
	assert_string_equal(report->wait, "expedited");
	assert_int_equal(report->waits_expedited, 1);
	assert_int_equal(report->waits_normal, 0);
	update_table_free(table);
}

static void test_names_fill_their_room(void **state)
{
	struct update_table *table = update_table_new();
	struct update_record record = new_record(7, 9);

	(void)state;
	memset(record.comm, 'c', sizeof(record.comm));
	memset(record.map_name, 'm', sizeof(record.map_name));
	add(table, &record);
	assert_int_equal(strlen(totals(table).reports[0].comm), 15);
	assert_int_equal(strlen(totals(table).reports[0].map.name), 15);
	update_table_free(table);
}

static void test_failures_and_misses(void **state)
{
	struct update_table *table = update_table_new();
	struct update_record record = new_record(7, 9);
	struct update_report report;

	(void)state;
	/* failed, without a wait */
	record.result = -17;
	record.waits[WAIT_EXPEDITED] = 0;
	record.wait_ns = 0;
	add(table, &record);
	report = totals(table).reports[0];
	assert_string_equal(report.wait, "none");
	assert_int_equal(dist_count(&report.wait_ns), 0);
	/* its entry was missed: what else it says is not so */
	record = new_record(7, 9);
	record.flags = 0;
	record.ns = UINT64_MAX;
	add(table, &record);
	/* a wait was missed in part */
	record = new_record(7, 9);
	record.flags |= UPDATE_WAIT_UNTIMED;
	add(table, &record);
	/* a batch that got all of its elements' waits */
	record = new_record(7, 9);
	record.waits[WAIT_EXPEDITED] = 0;
	record.waits[WAIT_NORMAL] = 3;
	add(table, &record);
	report = totals(table).reports[0];
	assert_int_equal(report.calls, 4);
	assert_int_equal(report.failed, 1);
	assert_int_equal(report.untimed, 1);
	assert_int_equal(dist_count(&report.ns), 3);
	assert_int_equal(report.ns.max, 20);
	assert_int_equal(dist_count(&report.wait_ns), 1);
	assert_int_equal(report.waits_expedited, 1);
	assert_int_equal(report.waits_normal, 3);
	assert_string_equal(report.wait, "normal");
	update_table_free(table);
}

static void test_rows_by_process_and_map(void **state)
{
	struct update_table *table = update_table_new();
	struct update_record record;
	struct handed handed;

	(void)state;
	for (int round = 0; round < 2; round++)
		for (uint32_t tgid = 1; tgid <= 3; tgid++)
			for (uint32_t map = 1; map <= 4; map++) {
				record = new_record(tgid, map);
				add(table, &record);
			}
	/* a PID that another process had before */
	record = new_record(1, 1);
	record.process_start = 2000;
	add(table, &record);
	/* processes that the tracer's PID namespace does not show */
	for (uint32_t tgid = 10; tgid < 12; tgid++) {
		record = new_record(tgid, 1);
		record.pid = 0;
		add(table, &record);
	}
	handed = totals(table);
	assert_int_equal(handed.count, 3 * 4 + 1 + 2);
	for (size_t i = 0; i < handed.count; i++)
		assert_int_equal(handed.reports[i].calls, i < 12 ? 2 : 1);
	/* by first appearance */
	assert_int_equal(handed.reports[0].map.id, 1);
	assert_int_equal(handed.reports[5].pid, 2);
	assert_int_equal(handed.reports[5].map.id, 2);
	update_table_free(table);
}

static void test_latest_name(void **state)
{
	struct update_table *table = update_table_new();
	struct update_record record = new_record(7, 9);

	(void)state;
	add(table, &record);
	strcpy(record.comm, "exec");
	add(table, &record);
	assert_string_equal(totals(table).reports[0].comm, "exec");
	update_table_free(table);
}

static void test_intervals_add_up(void **state)
{
	struct update_table *table = update_table_new();
	struct update_record record = new_record(7, 9);
	struct handed handed;
	struct dist sum = {};
	uint64_t calls = 0;

	(void)state;
	assert_int_equal(intervals(table).count, 0);
	for (int interval = 0; interval < 5; interval++) {
		for (int i = 0; i < interval; i++) {
			record.ns = 1000 * interval + i;
			add(table, &record);
		}
		handed = intervals(table);
		assert_int_equal(handed.count, interval > 0);
		if (!interval)
			continue;
		assert_int_equal(handed.reports[0].span, SPAN_INTERVAL);
		assert_int_equal(handed.reports[0].ns.min, 1000 * interval);
		assert_int_equal(handed.reports[0].ns.max, 1000 * interval + interval - 1);
		calls += handed.reports[0].calls;
		dist_merge(&sum, &handed.reports[0].ns);
	}
	assert_int_equal(intervals(table).count, 0);
	handed = totals(table);
	assert_int_equal(handed.reports[0].calls, calls);
	assert_int_equal(handed.reports[0].ns.sum, sum.sum);
	assert_memory_equal(handed.reports[0].ns.slots, sum.slots, sizeof(sum.slots));
	update_table_free(table);
}

static void test_many_rows(void **state)
{
	struct update_table *table = update_table_new();
	struct update_record record;

	(void)state;
	for (int round = 0; round < 3; round++)
		for (uint32_t tgid = 1; tgid <= 3000; tgid++) {
			record = new_record(tgid, tgid % 7);
			add(table, &record);
		}
	/* a fourth operation of each still finds its row: no more rows, so nothing to evict */
	update_table_limit(table, 3000);
	assert_int_equal(update_table_each_evicted(table, NULL, keep, NULL), 0);
	update_table_free(table);
}

/* Interval records and totals of the rows that go. */
struct evicted {
	struct handed intervals, totals;
};

static void keep_interval(void *context, const struct update_report *report)
{
	keep(&((struct evicted *)context)->intervals, report);
}

static void keep_total(void *context, const struct update_report *report)
{
	keep(&((struct evicted *)context)->totals, report);
}

static void test_idle_rows_go_first(void **state)
{
	struct update_table *table = update_table_new();
	static struct evicted evicted;
	struct update_record record;
	struct handed left;

	(void)state;
	update_table_limit(table, 8);
	for (uint32_t tgid = 1; tgid <= 8; tgid++) {
		record = new_record(tgid, 9);
		add(table, &record);
	}
	assert_int_equal(update_table_each_evicted(table, keep_interval, keep_total, &evicted), 0);
	intervals(table);
	/* 1 goes on; with a ninth row there are too many */
	record = new_record(1, 9);
	add(table, &record);
	record = new_record(2, 9);
	add(table, &record);
	record = new_record(9, 9);
	add(table, &record);
	assert_int_equal(update_table_each_evicted(table, keep_interval, keep_total, &evicted), 5);
	assert_int_equal(evicted.totals.count, 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(evicted.totals.reports[i].pid, 3 + i);
	/* their intervals were shown */
	assert_int_equal(evicted.intervals.count, 0);
	left = totals(table);
	assert_int_equal(left.count, 4);
	assert_int_equal(left.reports[0].pid, 1);
	assert_int_equal(left.reports[0].calls, 2);
	assert_int_equal(left.reports[3].pid, 9);
	/* one that comes back has a row of its own, and is found again */
	record = new_record(5, 9);
	add(table, &record);
	add(table, &record);
	left = totals(table);
	assert_int_equal(left.count, 5);
	assert_int_equal(left.reports[4].calls, 2);
	update_table_free(table);
}

static void test_what_no_interval_showed_is_handed_out(void **state)
{
	struct update_table *table = update_table_new();
	static struct evicted evicted;
	struct update_record record;

	(void)state;
	update_table_limit(table, 2);
	for (uint32_t tgid = 1; tgid <= 3; tgid++) {
		record = new_record(tgid, 9);
		add(table, &record);
	}
	assert_int_equal(update_table_each_evicted(table, keep_interval, keep_total, &evicted), 2);
	assert_int_equal(evicted.intervals.count, 2);
	assert_int_equal(evicted.intervals.reports[0].calls, 1);
	assert_int_equal(evicted.totals.count, 2);
	assert_int_equal(intervals(table).count, 1);
	update_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_operation),
		cmocka_unit_test(test_names_fill_their_room),
		cmocka_unit_test(test_failures_and_misses),
		cmocka_unit_test(test_rows_by_process_and_map),
		cmocka_unit_test(test_latest_name),
		cmocka_unit_test(test_intervals_add_up),
		cmocka_unit_test(test_many_rows),
		cmocka_unit_test(test_idle_rows_go_first),
		cmocka_unit_test(test_what_no_interval_showed_is_handed_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
