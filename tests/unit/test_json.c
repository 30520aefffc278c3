/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The JSON lines: keys and their order as promised, numbers exact, strings
 * valid UTF-8 whatever they hold, each line out at once, in any locale.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <json-c/json.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sink.h"
#include "verdict.h"

#include "contains.h"
#include "sample.h"

/* What a sink has written so far. */
struct written {
	FILE *out;
	char *text;
	size_t bytes;
	struct sink *sink;
};

static void open_sink(struct written *written)
{
	written->out = open_memstream(&written->text, &written->bytes);
	assert_non_null(written->out);
	written->sink = json_sink_new(written->out);
	assert_non_null(written->sink);
}

static void close_sink(struct written *written)
{
	sink_free(written->sink);
	fclose(written->out);
	free(written->text);
}

/* The one line that was written, parsed strictly; it ends in the only newline. */
static struct json_object *only_line(const struct written *written)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *object;

	assert_false(written->sink->failed);
	/* open_memstream() shows what was flushed */
	assert_non_null(written->text);
	assert_one_line(written->text);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	object = json_tokener_parse_ex(tokener, written->text, (int)strlen(written->text));
	if (!object)
		fail_msg("%s: %s", json_tokener_error_desc(json_tokener_get_error(tokener)),
			 written->text);
	json_tokener_free(tokener);
	return object;
}

static struct json_object *at(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value))
		fail_msg("no key %s", key);
	return value;
}

static uint64_t number(struct json_object *object, const char *key)
{
	assert_true(json_object_is_type(at(object, key), json_type_int));
	return json_object_get_uint64(at(object, key));
}

static const char *string(struct json_object *object, const char *key)
{
	assert_true(json_object_is_type(at(object, key), json_type_string));
	return json_object_get_string(at(object, key));
}

/* The keys in their order, "a b c". */
static void assert_keys(struct json_object *object, const char *expected)
{
	char keys[1024] = "";

	json_object_object_foreach(object, key, value) {
		(void)value;
		if (*keys)
			strcat(keys, " ");
		strcat(keys, key);
	}
	assert_string_equal(keys, expected);
}

static struct json_object *record_of_start(const struct run_start *start)
{
	struct written written;
	struct json_object *object;

	open_sink(&written);
	written.sink->ops->start(written.sink, start);
	object = only_line(&written);
	close_sink(&written);
	return object;
}

static struct json_object *record_of_vma(const struct vma_report *vma)
{
	struct written written;
	struct json_object *object;

	open_sink(&written);
	written.sink->ops->vma(written.sink, vma);
	object = only_line(&written);
	close_sink(&written);
	return object;
}

static struct json_object *record_of_interval(const struct interval_report *interval)
{
	struct written written;
	struct json_object *object;

	open_sink(&written);
	written.sink->ops->interval(written.sink, interval);
	object = only_line(&written);
	close_sink(&written);
	return object;
}

static struct json_object *record_of_summary(const struct summary_report *summary)
{
	struct written written;
	struct json_object *object;

	open_sink(&written);
	written.sink->ops->summary(written.sink, summary);
	object = only_line(&written);
	close_sink(&written);
	return object;
}

/* ---- start ---- */

static void test_start(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct json_object *record = record_of_start(&start);

	(void)state;
	assert_keys(record, "type version kernel counting arch page_bytes fault_around_bytes time "
			    "modes handlers timed scope filtered stop_hint");
	assert_string_equal(string(record, "type"), "start");
	assert_string_equal(string(record, "version"), "0.1.0");
	assert_string_equal(string(record, "kernel"), "7.3.4+deb14-cloud-amd64");
	assert_string_equal(string(record, "counting"), "exact");
	assert_string_equal(string(record, "arch"), "x86_64");
	assert_int_equal(number(record, "page_bytes"), 4096);
	assert_int_equal(number(record, "fault_around_bytes"), 65536);
	assert_string_equal(string(record, "time"), "2026-11-30T11:03:00.123456Z");
	assert_string_equal(string(record, "scope"), "pid 4711");
	assert_string_equal(string(record, "stop_hint"), "Hit Ctrl-C to end.");
	assert_true(json_object_get_boolean(at(record, "timed")));
	json_object_put(record);
}

static void test_start_tells_modes_and_handlers(void **state)
{
	struct run_start start = sample_start(MODE_LAZY_AROUND);
	struct json_object *record = record_of_start(&start), *array, *arena;

	(void)state;
	assert_keys(at(record, "modes"), "array arena ringbuf");
	assert_string_equal(string(at(record, "modes"), "array"), "lazy+around");
	assert_string_equal(string(at(record, "modes"), "arena"), "lazy");
	assert_string_equal(string(at(record, "modes"), "ringbuf"), "eager");
	assert_keys(at(record, "handlers"), "array arena");
	array = at(at(record, "handlers"), "array");
	arena = at(at(record, "handlers"), "arena");
	assert_keys(array, "fault map_pages");
	assert_string_equal(string(array, "fault"), "bpf_map_mmap_fault");
	assert_string_equal(string(array, "map_pages"), "bpf_map_mmap_pages");
	assert_null(at(arena, "map_pages"));
	json_object_put(record);
}

static void test_start_gives_reasons(void **state)
{
	struct run_start start = sample_start(MODE_UNKNOWN);
	struct json_object *record;

	(void)state;
	start.types[0].reason = "kptr_restrict hides \"it\"";
	start.types[1].mode = MODE_NONE;
	start.types[1].reason = "no arenas here";
	start.exact = start.timed = false;
	start.scope = start.stop_hint = NULL;
	record = record_of_start(&start);
	assert_keys(record, "type version kernel counting arch page_bytes fault_around_bytes time "
			    "modes handlers reasons timed filtered");
	assert_string_equal(string(at(record, "modes"), "array"), "unknown");
	assert_string_equal(string(at(record, "modes"), "arena"), "none");
	assert_keys(at(record, "reasons"), "array arena");
	assert_string_equal(string(at(record, "reasons"), "array"), "kptr_restrict hides \"it\"");
	assert_string_equal(string(record, "counting"), "light");
	assert_false(json_object_get_boolean(at(record, "timed")));
	json_object_put(record);
}

/* ---- vma ---- */

static void test_vma(void **state)
{
	const struct run_start none = {};
	struct vma_report vma = sample_vma(2048);
	struct json_object *record, *mmap;
	char verdict[VERDICT_BYTES];

	(void)state;
	vma.map_offset_pages = 16;
	vma.mmap.populate = true;
	verdict_for_vma(&none, &vma, verdict, sizeof(verdict));
	record = record_of_vma(&vma);
	assert_keys(record, "type span state pid comm map start end pages map_offset_pages mmap "
			    "faults batches installed_pages fault_ns batch_ns batch_pages row "
			    "where verdict");
	assert_string_equal(string(record, "verdict"), verdict);
	assert_string_equal(string(record, "type"), "vma");
	assert_string_equal(string(record, "span"), "total");
	assert_string_equal(string(record, "state"), "mapped");
	assert_int_equal(number(record, "pid"), 4711);
	assert_string_equal(string(record, "comm"), "postgres");
	assert_keys(at(record, "map"), "id name type");
	assert_int_equal(number(at(record, "map"), "id"), 7);
	assert_string_equal(string(at(record, "map"), "name"), "counters");
	assert_string_equal(string(at(record, "map"), "type"), "array");
	assert_string_equal(string(record, "start"), "0x7f0000000000");
	assert_string_equal(string(record, "end"), "0x7f0000800000");
	assert_int_equal(number(record, "pages"), 2048);
	assert_int_equal(number(record, "map_offset_pages"), 16);
	mmap = at(record, "mmap");
	assert_keys(mmap, "seen ns populate");
	assert_true(json_object_get_boolean(at(mmap, "seen")));
	assert_true(json_object_get_boolean(at(mmap, "populate")));
	assert_int_equal(number(mmap, "ns"), 1204);
	json_object_put(record);

	vma.mapped = false;
	vma.span = SPAN_INTERVAL;
	record = record_of_vma(&vma);
	assert_string_equal(string(record, "span"), "interval");
	assert_false(json_object_object_get_ex(record, "verdict", NULL));
	assert_string_equal(string(record, "state"), "unmapped");
	json_object_put(record);
}

static void test_counts_each_have_their_key(void **state)
{
	struct vma_report vma = sample_vma(64);
	struct json_object *record, *counts;

	(void)state;
	vma.faults = (struct fault_counts){
		.total = 1, .read = 2, .write = 3, .user = 4, .populate = 5, .kernel = 6,
		.remote = 7, .failed = 8, .raced = 9, .untimed = 10, .under_mmap_lock = 11,
		.user_write = 21, .populate_write = 22, .kernel_write = 23, .remote_write = 24,
	};
	vma.batches = (struct batch_counts){ .total = 12, .declined = 13, .pages = 14 };
	vma.installed_pages = 15;
	record = record_of_vma(&vma);
	counts = at(record, "faults");
	assert_keys(counts, "total read write user populate kernel remote failed raced untimed "
			    "under_mmap_lock user_write populate_write kernel_write remote_write");
	assert_int_equal(number(counts, "total"), 1);
	assert_int_equal(number(counts, "read"), 2);
	assert_int_equal(number(counts, "write"), 3);
	assert_int_equal(number(counts, "user"), 4);
	assert_int_equal(number(counts, "populate"), 5);
	assert_int_equal(number(counts, "kernel"), 6);
	assert_int_equal(number(counts, "remote"), 7);
	assert_int_equal(number(counts, "failed"), 8);
	assert_int_equal(number(counts, "raced"), 9);
	assert_int_equal(number(counts, "untimed"), 10);
	assert_int_equal(number(counts, "under_mmap_lock"), 11);
	assert_int_equal(number(counts, "user_write"), 21);
	assert_int_equal(number(counts, "populate_write"), 22);
	assert_int_equal(number(counts, "kernel_write"), 23);
	assert_int_equal(number(counts, "remote_write"), 24);
	counts = at(record, "batches");
	assert_keys(counts, "total declined pages");
	assert_int_equal(number(counts, "total"), 12);
	assert_int_equal(number(counts, "declined"), 13);
	assert_int_equal(number(counts, "pages"), 14);
	assert_int_equal(number(record, "installed_pages"), 15);
	json_object_put(record);
}

static void test_races_not_known_are_said_so(void **state)
{
	struct vma_report vma = sample_vma(64);
	struct json_object *record;

	(void)state;
	vma.raced_known = false;
	record = record_of_vma(&vma);
	assert_int_equal(number(at(record, "faults"), "raced"), 0);
	assert_false(json_object_get_boolean(at(at(record, "faults"), "raced_known")));
	json_object_put(record);
}

static void test_where(void **state)
{
	struct vma_report vma = sample_vma(2048);
	struct json_object *record, *where, *installed;

	(void)state;
	sample_install(&vma, 32, 40);
	record = record_of_vma(&vma);
	where = at(record, "where");
	installed = at(where, "installed");
	assert_keys(where, "pages_per_bin installed");
	assert_int_equal(number(where, "pages_per_bin"), 32);
	assert_int_equal(json_object_array_length(installed), 64);
	assert_int_equal(json_object_get_uint64(json_object_array_get_idx(installed, 0)), 0);
	assert_int_equal(json_object_get_uint64(json_object_array_get_idx(installed, 1)), 32);
	assert_int_equal(json_object_get_uint64(json_object_array_get_idx(installed, 2)), 8);
	json_object_put(record);

	vma.where.pages_per_bin = 0;
	record = record_of_vma(&vma);
	assert_false(json_object_object_get_ex(record, "where", NULL));
	json_object_put(record);
}

/* ---- distributions ---- */

static void test_empty_distribution(void **state)
{
	struct vma_report vma = sample_vma(64);
	struct json_object *record = record_of_vma(&vma), *dist = at(record, "fault_ns");

	(void)state;
	assert_keys(dist, "count sum min max buckets");
	assert_int_equal(number(dist, "count"), 0);
	assert_int_equal(number(dist, "sum"), 0);
	assert_null(at(dist, "min"));
	assert_null(at(dist, "max"));
	assert_int_equal(json_object_array_length(at(dist, "buckets")), 0);
	json_object_put(record);
}

static void check_bucket(struct json_object *dist, size_t index, uint64_t from, uint64_t to,
			 uint64_t count)
{
	struct json_object *bucket = json_object_array_get_idx(at(dist, "buckets"), index);

	assert_true(number(bucket, "from") == from);
	assert_true(number(bucket, "to") == to);
	assert_true(number(bucket, "count") == count);
}

static void test_buckets_are_exact(void **state)
{
	static const uint64_t values[] = { 0, 1, 2, 3, 1023, 1024, 1025, UINT64_MAX };
	struct vma_report vma = sample_vma(64);
	struct json_object *record, *dist;

	(void)state;
	vma.fault_ns.open_slot = 0;
	for (size_t i = 0; i < COUNT_OF(values); i++)
		dist_add(&vma.fault_ns, values[i]);
	record = record_of_vma(&vma);
	dist = at(record, "fault_ns");
	assert_int_equal(number(dist, "count"), 8);
	assert_int_equal(number(dist, "min"), 0);
	assert_true(number(dist, "max") == UINT64_MAX);
	assert_int_equal(json_object_array_length(at(dist, "buckets")), 6);
	check_bucket(dist, 0, 0, 0, 1);
	check_bucket(dist, 1, 1, 1, 1);
	check_bucket(dist, 2, 2, 3, 2);
	check_bucket(dist, 3, 512, 1023, 1);
	check_bucket(dist, 4, 1024, 2047, 2);
	check_bucket(dist, 5, UINT64_C(1) << 63, UINT64_MAX, 1);
	assert_keys(json_object_array_get_idx(at(dist, "buckets"), 5), "from to count");
	json_object_put(record);
}

static void test_open_bucket_is_labelled(void **state)
{
	struct vma_report vma = sample_vma(64);
	struct json_object *record, *buckets;

	(void)state;
	dist_add(&vma.batch_pages, 100);
	dist_add(&vma.batch_pages, 1 << 20);
	record = record_of_vma(&vma);
	buckets = at(at(record, "batch_pages"), "buckets");
	assert_int_equal(json_object_array_length(buckets), 2);
	check_bucket(at(record, "batch_pages"), 1, 16384, UINT64_MAX, 1);
	assert_keys(json_object_array_get_idx(buckets, 0), "from to count");
	assert_keys(json_object_array_get_idx(buckets, 1), "from to count open");
	assert_int_equal(number(at(record, "batch_pages"), "max"), 1 << 20);
	json_object_put(record);
}

static void test_numbers_are_exact(void **state)
{
	static const uint64_t values[] = { 0, UINT32_MAX, UINT64_C(1) << 53, (UINT64_C(1) << 53) + 1,
					   INT64_MAX, UINT64_C(1) << 63, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(values); i++) {
		struct vma_report vma = sample_vma(64);
		struct json_object *record;

		vma.faults.total = vma.fault_ns.sum = vma.pages = values[i];
		record = record_of_vma(&vma);
		assert_true(number(at(record, "faults"), "total") == values[i]);
		assert_true(number(at(record, "fault_ns"), "sum") == values[i]);
		assert_true(number(record, "pages") == values[i]);
		json_object_put(record);
	}
}

/* ---- events ---- */

/* Flushed by the caller, not by the record. */
static struct json_object *record_of_event(const struct event_report *event)
{
	struct written written = { .bytes = 0 };
	struct json_object *object;

	open_sink(&written);
	sink_event(written.sink, event);
	assert_int_equal(written.bytes, 0);
	sink_flush(written.sink);
	object = only_line(&written);
	close_sink(&written);
	return object;
}

static void test_event(void **state)
{
	struct event_report event = sample_event();
	struct json_object *record = record_of_event(&event), *map;

	(void)state;
	assert_keys(record, "type event time pid tid comm map map_offset_pages access origin "
		    "installed_pages ns outcome row");
	assert_string_equal(string(record, "type"), "event");
	assert_string_equal(string(record, "event"), "fault");
	assert_string_equal(string(record, "time"), "2026-11-30T11:03:01.123456Z");
	assert_int_equal(number(record, "pid"), 4711);
	assert_int_equal(number(record, "tid"), 4712);
	assert_string_equal(string(record, "comm"), "worker");
	map = at(record, "map");
	assert_keys(map, "id name type");
	assert_int_equal(number(record, "map_offset_pages"), 2);
	assert_string_equal(string(record, "access"), "read");
	assert_string_equal(string(record, "origin"), "user");
	assert_int_equal(number(record, "installed_pages"), 1);
	assert_int_equal(number(record, "ns"), 1500);
	assert_string_equal(string(record, "outcome"), "installed");
	assert_int_equal(number(record, "row"), 3);
	json_object_put(record);
}

static void test_event_untimed_batch(void **state)
{
	struct event_report event = sample_event();
	struct json_object *record;

	(void)state;
	event.batch = event.write = true;
	event.timed = false;
	event.installed_pages = 16;
	record = record_of_event(&event);
	assert_string_equal(string(record, "event"), "batch");
	assert_string_equal(string(record, "access"), "write");
	assert_int_equal(number(record, "installed_pages"), 16);
	assert_null(at(record, "ns"));
	json_object_put(record);
}

/* Said where there are events, so that a number that is not there is no 0. */
static void test_lost_events(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct interval_report interval = { .lost.events_lost = 5 };
	struct json_object *record;
	struct written written;

	(void)state;
	start.events = true;
	record = record_of_start(&start);
	assert_true(json_object_get_boolean(at(record, "events")));
	json_object_put(record);
	open_sink(&written);
	written.sink->ops->start(written.sink, &start);
	written.sink->ops->interval(written.sink, &interval);
	assert_contains(written.text, ",\"unseen_runs\":0,\"events_lost\":5}\n");
	assert_contains(written.text, "\"lost\":{\"ring_full\":0,\"vma_table_full\":0,\"recursion\":0}");
	close_sink(&written);
}

/* ---- interval, update, summary ---- */

static void test_interval(void **state)
{
	struct interval_report interval = {
		.time = { 1796036581, 5000 },
		.seconds = 1.000123,
		.faults = 5,
		.installed_pages = 6,
		.lost = { 1, 2, 3, 4, false, 0 },
	};
	struct json_object *record = record_of_interval(&interval), *lost;

	(void)state;
	assert_keys(record, "type time seconds faults installed_pages lost unseen_runs");
	assert_string_equal(string(record, "type"), "interval");
	assert_string_equal(string(record, "time"), "2026-11-30T11:03:01.000005Z");
	assert_string_equal(json_object_to_json_string(at(record, "seconds")), "1.000123");
	assert_int_equal(number(record, "faults"), 5);
	assert_int_equal(number(record, "installed_pages"), 6);
	lost = at(record, "lost");
	assert_keys(lost, "ring_full vma_table_full recursion");
	assert_int_equal(number(lost, "ring_full"), 1);
	assert_int_equal(number(lost, "vma_table_full"), 2);
	assert_int_equal(number(lost, "recursion"), 3);
	assert_int_equal(number(record, "unseen_runs"), 4);
	json_object_put(record);
}

static void test_seconds_are_short(void **state)
{
	static const struct { double seconds; const char *text; } cases[] = {
		{ 0, "\"seconds\":0.0," }, { 1, "\"seconds\":1.0," }, { 0.25, "\"seconds\":0.25," },
		{ 10, "\"seconds\":10.0," }, { 0.1 + 0.2, "\"seconds\":0.3," },
		{ 86400.5, "\"seconds\":86400.5," }, { -1, "\"seconds\":0.0," },
		{ 1e300, "\"seconds\":0.0," }, { 59.9999999, "\"seconds\":60.0," },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct interval_report interval = { .seconds = cases[i].seconds };
		struct written written;

		open_sink(&written);
		written.sink->ops->interval(written.sink, &interval);
		assert_contains(written.text, cases[i].text);
		close_sink(&written);
	}
}

static void test_summary(void **state)
{
	struct summary_report summary = {
		.seconds = 2.5, .vmas = 3, .faults = 4, .batches = 5, .installed_pages = 6,
		.lost = { .unseen_runs = 7 }, .verdict = "All \"well\".",
	};
	struct json_object *record = record_of_summary(&summary);

	(void)state;
	assert_keys(record, "type seconds vmas faults batches installed_pages lost verdict "
			    "unseen_runs");
	assert_string_equal(string(record, "type"), "summary");
	assert_int_equal(number(record, "vmas"), 3);
	assert_int_equal(number(record, "faults"), 4);
	assert_int_equal(number(record, "batches"), 5);
	assert_int_equal(number(record, "installed_pages"), 6);
	assert_string_equal(string(record, "verdict"), "All \"well\".");
	assert_int_equal(number(record, "unseen_runs"), 7);
	json_object_put(record);

	/* whose lost.recursion may be too much says so */
	summary.lost.recursion_at_most = true;
	record = record_of_summary(&summary);
	assert_keys(record, "type seconds vmas faults batches installed_pages lost verdict "
			    "unseen_runs recursion_at_most");
	assert_true(json_object_get_boolean(at(record, "recursion_at_most")));
	json_object_put(record);
}

static void test_update(void **state)
{
	struct update_report update = {
		.span = SPAN_TOTAL, .pid = 1, .comm = "loader",
		.map = { 9, "outer", "array_of_maps" }, .calls = 3, .failed = 1,
		.wait = "expedited", .waits_normal = 1, .waits_expedited = 2, .untimed = 4,
	};
	struct written written;
	struct json_object *record;

	(void)state;
	dist_add(&update.ns, 5000);
	dist_add(&update.wait_ns, 4000);
	open_sink(&written);
	written.sink->ops->update(written.sink, &update);
	record = only_line(&written);
	assert_keys(record, "type span pid comm map calls failed ns wait wait_ns waits untimed");
	assert_string_equal(string(record, "type"), "update");
	assert_string_equal(string(record, "wait"), "expedited");
	assert_int_equal(number(at(record, "ns"), "sum"), 5000);
	assert_int_equal(number(at(record, "wait_ns"), "sum"), 4000);
	assert_int_equal(number(at(record, "waits"), "normal"), 1);
	assert_int_equal(number(at(record, "waits"), "expedited"), 2);
	assert_int_equal(number(record, "untimed"), 4);
	json_object_put(record);
	close_sink(&written);
}

/* How the kernel waits stands in the start record of such a report, and in no other. */
static void test_start_of_updates(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct json_object *record, *rcu;
	struct written written;

	(void)state;
	start.updates = true;
	start.rcu = (struct rcu_state){
		.normal = 1, .expedited = -1, .preempt_rt = true, .asks = "expedited",
		.waits = "normal", .batch_waits = 1,
	};
	open_sink(&written);
	written.sink->ops->start(written.sink, &start);
	record = only_line(&written);
	assert_string_equal(string(record, "report"), "updates");
	rcu = at(record, "rcu");
	assert_keys(rcu, "rcu_normal rcu_expedited preempt_rt asks waits batch_waits");
	assert_int_equal(number(rcu, "rcu_normal"), 1);
	assert_null(json_object_object_get(rcu, "rcu_expedited"));
	assert_true(json_object_get_boolean(json_object_object_get(rcu, "preempt_rt")));
	assert_string_equal(string(rcu, "asks"), "expedited");
	assert_string_equal(string(rcu, "waits"), "normal");
	assert_int_equal(number(rcu, "batch_waits"), 1);
	json_object_put(record);
	close_sink(&written);
}

/* ---- strings ---- */

static void check_comm(const char *comm, const char *expected)
{
	struct vma_report vma = sample_vma(1);
	struct json_object *record;

	memset(vma.comm, 0, sizeof(vma.comm));
	memset(vma.map.name, 0, sizeof(vma.map.name));
	memcpy(vma.comm, comm, strlen(comm));
	memcpy(vma.map.name, comm, strlen(comm));
	record = record_of_vma(&vma);
	assert_string_equal(string(record, "comm"), expected);
	assert_string_equal(string(at(record, "map"), "name"), expected);
	/* the bytes themselves where the string is not all of it */
	assert_int_equal(json_object_object_get_ex(record, "comm_hex", NULL),
			 strcmp(comm, expected) != 0);
	json_object_put(record);
}

static void test_names_of_any_bytes(void **state)
{
	char name[2] = "";

	(void)state;
	check_comm("", "");
	check_comm("a\"b\\c/d\ne\tf", "a\"b\\c/d\ne\tf");
	check_comm("\x1b[2J\x01\x1f\x7f", "\x1b[2J\x01\x1f\x7f");
	check_comm("база", "база");
	check_comm("\xd0\xb1\xd0", "\xd0\xb1\xef\xbf\xbd");
	check_comm("\xff\xfe\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	for (int byte = 1; byte < 256; byte++) {
		name[0] = (char)byte;
		check_comm(name, byte < 0x80 ? name : "\xef\xbf\xbd");
	}
}

static void test_locale_changes_nothing(void **state)
{
	static const char *const locales[] = { "de_DE.UTF-8", "C.UTF-8", "C" };
	struct interval_report interval = { .seconds = 1234567.25, .faults = 1234567 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(locales); i++) {
		struct written written;

		/* one that is not installed leaves the former */
		setlocale(LC_ALL, locales[i]);
		open_sink(&written);
		written.sink->ops->interval(written.sink, &interval);
		assert_contains(written.text, "\"seconds\":1234567.25,\"faults\":1234567,");
		close_sink(&written);
	}
	setlocale(LC_ALL, "C");
}

static void test_bytes_are_kept(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct vma_report vma = sample_vma(1);
	struct json_object *record;

	(void)state;
	memcpy(vma.comm, "a\x01\xff\xc3\x7f", 6);
	record = record_of_vma(&vma);
	assert_string_equal(string(record, "comm_hex"), "6101ffc37f");
	json_object_put(record);
	start.scope = "command \xe9t\xe9";
	record = record_of_start(&start);
	assert_string_equal(string(record, "scope_hex"), "636f6d6d616e6420e974e9");
	json_object_put(record);
}

/* ---- writing ---- */

static void test_each_record_is_a_line_at_once(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct vma_report vma = sample_vma(1);
	struct interval_report interval = { .seconds = 1 };
	struct summary_report summary = { .verdict = "" };
	struct written written;
	size_t lines = 0;

	(void)state;
	open_sink(&written);
	setvbuf(written.out, NULL, _IOFBF, 1 << 16);
	written.sink->ops->start(written.sink, &start);
	assert_one_line(written.text);
	written.sink->ops->vma(written.sink, &vma);
	written.sink->ops->interval(written.sink, &interval);
	written.sink->ops->vma(written.sink, &vma);
	written.sink->ops->summary(written.sink, &summary);
	for (size_t i = 0; i < written.bytes; i++)
		lines += written.text[i] == '\n';
	assert_int_equal(lines, 5);
	close_sink(&written);
}

static void test_failed_write_is_told(void **state)
{
	FILE *out = fopen("/dev/full", "w");
	struct sink *sink = json_sink_new(out);
	struct interval_report interval = { .seconds = 1 };

	(void)state;
	assert_non_null(out);
	sink->ops->interval(sink, &interval);
	assert_true(sink->failed);
	assert_int_equal(sink->error, ENOSPC);
	sink->ops->interval(sink, &interval);
	assert_int_equal(sink->error, ENOSPC);
	sink_free(sink);
	fclose(out);
	sink_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_start_tells_modes_and_handlers),
		cmocka_unit_test(test_start_gives_reasons),
		cmocka_unit_test(test_vma),
		cmocka_unit_test(test_counts_each_have_their_key),
		cmocka_unit_test(test_races_not_known_are_said_so),
		cmocka_unit_test(test_where),
		cmocka_unit_test(test_empty_distribution),
		cmocka_unit_test(test_buckets_are_exact),
		cmocka_unit_test(test_open_bucket_is_labelled),
		cmocka_unit_test(test_numbers_are_exact),
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_event_untimed_batch),
		cmocka_unit_test(test_lost_events),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_seconds_are_short),
		cmocka_unit_test(test_summary),
		cmocka_unit_test(test_update),
		cmocka_unit_test(test_start_of_updates),
		cmocka_unit_test(test_names_of_any_bytes),
		cmocka_unit_test(test_bytes_are_kept),
		cmocka_unit_test(test_locale_changes_nothing),
		cmocka_unit_test(test_each_record_is_a_line_at_once),
		cmocka_unit_test(test_failed_write_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
