/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event records: what the kernel's side writes is read, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "events.h"
#include "records.h"

static struct event_record fault(void)
{
	return (struct event_record) {
		.header = { RECORD_EVENT, EVENT_FAULT },
		.time = 5000000123, .row = 9, .page = 77, .elapsed = 1500,
		.pid = 10, .tid = 11, .map_id = 12, .map_type = 33, .pages = 1,
		.access = ACCESS_WRITE, .origin = ORIGIN_KERNEL, .outcome = OUTCOME_INSTALLED,
		.comm = "thread", .map_name = "heap",
	};
}

static int read_record(const struct event_record *record, struct event_report *event)
{
	return event_read(record, sizeof(*record), 2000000000, event);
}

static void test_fault(void **state)
{
	struct event_record record = fault();
	struct event_report event;

	(void)state;
	assert_int_equal(read_record(&record, &event), 0);
	assert_false(event.batch);
	assert_int_equal(event.time.tv_sec, 7);
	assert_int_equal(event.time.tv_nsec, 123);
	assert_int_equal(event.row, 9);
	assert_int_equal(event.map_offset_pages, 77);
	assert_int_equal(event.pid, 10);
	assert_int_equal(event.tid, 11);
	assert_int_equal(event.map.id, 12);
	assert_string_equal(event.map.type, "arena");
	assert_string_equal(event.map.name, "heap");
	assert_string_equal(event.comm, "thread");
	assert_true(event.write);
	assert_string_equal(event.origin, "kernel");
	assert_int_equal(event.installed_pages, 1);
	assert_true(event.timed);
	assert_int_equal(event.ns, 1500);
	assert_string_equal(event.outcome, "installed");
}

static void test_batch_and_outcomes(void **state)
{
	static const char *const outcomes[] = {
		[OUTCOME_FAILED] = "failed", [OUTCOME_RACED] = "raced",
	};
	struct event_record record = fault();
	struct event_report event;

	(void)state;
	record.header.state = EVENT_BATCH;
	record.pages = 512;
	record.elapsed = EVENT_UNTIMED;
	assert_int_equal(read_record(&record, &event), 0);
	assert_true(event.batch);
	assert_int_equal(event.installed_pages, 512);
	assert_false(event.timed);
	assert_int_equal(event.ns, 0);
	for (uint8_t outcome = OUTCOME_FAILED; outcome <= OUTCOME_RACED; outcome++) {
		record = fault();
		record.outcome = outcome;
		record.pages = 0;
		assert_int_equal(read_record(&record, &event), 0);
		assert_string_equal(event.outcome, outcomes[outcome]);
	}
}

#define REFUSED(change) do {							\
	struct event_record record = fault();					\
	struct event_report event;						\
										\
	change;									\
	assert_int_equal(read_record(&record, &event), -EPROTO);		\
} while (0)

static void test_what_no_kernel_side_writes(void **state)
{
	(void)state;
	REFUSED(record.header.type = RECORD_VMA);
	REFUSED(record.header.state = 0);
	REFUSED(record.header.state = 3);
	REFUSED(record.access = ACCESSES);
	REFUSED(record.origin = ORIGINS);
	REFUSED(record.outcome = 0);
	REFUSED((record.outcome = OUTCOME_RACED + 1, record.pages = 0));
	REFUSED(record.pages = 0);
	REFUSED(record.pages = 2);
	REFUSED(record.outcome = OUTCOME_FAILED);
	REFUSED((record.header.state = EVENT_BATCH, record.pages = 0));
	REFUSED((record.header.state = EVENT_BATCH, record.outcome = OUTCOME_RACED));
	REFUSED(record.pad = 1);
	REFUSED(record.time = UINT64_MAX);
	REFUSED(memset(record.comm, 'x', sizeof(record.comm)));
	REFUSED(memset(record.map_name, 'x', sizeof(record.map_name)));
}

static void test_short_record(void **state)
{
	struct event_record record = fault();
	struct event_report event;

	(void)state;
	assert_int_equal(event_read(&record, sizeof(record) - 1, 0, &event), -EPROTO);
	assert_int_equal(event_read(&record, 0, 0, &event), -EPROTO);
	/* a ring rounds sizes up */
	assert_int_equal(event_read(&record, sizeof(record), 0, &event), 0);
}

static void test_clock(void **state)
{
	struct event_record record = fault();
	struct event_report event;
	struct timespec now;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &now);
	record.time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	clock_gettime(CLOCK_REALTIME, &now);
	assert_int_equal(event_read(&record, sizeof(record), event_clock_offset(), &event), 0);
	assert_true(event.time.tv_sec >= now.tv_sec - 2 && event.time.tv_sec <= now.tv_sec + 2);
	/* before the epoch there is nothing */
	record.time = 5;
	assert_int_equal(event_read(&record, sizeof(record), -100, &event), 0);
	assert_int_equal(event.time.tv_sec, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fault),
		cmocka_unit_test(test_batch_and_outcomes),
		cmocka_unit_test(test_what_no_kernel_side_writes),
		cmocka_unit_test(test_short_record),
		cmocka_unit_test(test_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
