/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Saved captures: what the text report prints of one is byte for byte what it
 * prints of the run itself; what is cut off, damaged, older or newer is read
 * as far as it goes, and hostile input does no harm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "errors.h"
#include "options.h"
#include "sink.h"
#include "update_verdict.h"
#include "verdict.h"

#include "contains.h"
#include "sample.h"

static char directory[] = "/tmp/lazyfault-report-XXXXXX";
static char capture_path[64], output_path[64], errors_path[64], metrics_path[64];

static int make_directory(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(capture_path, sizeof(capture_path), "%s/capture", directory);
	snprintf(output_path, sizeof(output_path), "%s/output", directory);
	snprintf(errors_path, sizeof(errors_path), "%s/errors", directory);
	snprintf(metrics_path, sizeof(metrics_path), "%s/metrics", directory);
	setenv("TZ", "UTC-2", 1);
	tzset();
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	unlink(capture_path);
	unlink(output_path);
	unlink(errors_path);
	unlink(metrics_path);
	return rmdir(directory);
}

static void write_file(const char *path, const char *text, size_t bytes)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
}

/* Allocated, with a NUL behind it. */
static char *read_file(const char *path)
{
	char *text = NULL, block[4096];
	size_t bytes, got;
	FILE *out = open_memstream(&text, &bytes), *in = fopen(path, "r");

	assert_non_null(in);
	while ((got = fread(block, 1, sizeof(block), in)) > 0)
		fwrite(block, 1, got, out);
	fclose(in);
	fclose(out);
	return text;
}

/* What a run of `lazyfault report` did. */
struct outcome {
	int status;
	char *out, *err;
};

static void free_outcome(struct outcome *outcome)
{
	free(outcome->out);
	free(outcome->err);
}

static struct outcome report_file(const struct options *given)
{
	struct options options = *given;
	struct outcome outcome;
	int stderr_fd = dup(STDERR_FILENO);
	int fd = open(errors_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	options.command = COMMAND_REPORT;
	options.file = capture_path;
	options.output = output_path;
	fflush(stderr);
	dup2(fd, STDERR_FILENO);
	outcome.status = command_report(&options);
	fflush(stderr);
	dup2(stderr_fd, STDERR_FILENO);
	close(stderr_fd);
	close(fd);
	outcome.out = read_file(output_path);
	outcome.err = read_file(errors_path);
	return outcome;
}

static struct outcome report_text(const char *capture, size_t bytes)
{
	const struct options options = { .top = 0 };

	write_file(capture_path, capture, bytes);
	return report_file(&options);
}

/* ---- round trips ---- */

/* A run: its records, in the order in which tracing hands them to a sink. */
struct story {
	void (*tell)(struct sink *sink, unsigned int seed);
	unsigned int seed;
};

static char *print_text(const struct story *story, const struct text_options *options)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	struct sink *sink = text_sink_new(out, options);

	assert_non_null(sink);
	story->tell(sink, story->seed);
	assert_false(sink->failed);
	sink_free(sink);
	fclose(out);
	return text;
}

static void write_capture(const struct story *story)
{
	FILE *out = fopen(capture_path, "w");
	struct sink *sink = json_sink_new(out);

	assert_non_null(sink);
	story->tell(sink, story->seed);
	assert_false(sink->failed);
	sink_free(sink);
	assert_int_equal(fclose(out), 0);
}

static void check_text(const struct story *story, const struct text_options *text)
{
	const struct options options = {
		.top = text->top, .sort_key = text->sort_key, .timestamp = text->timestamp,
		.verbose = text->verbose, .quiet = text->quiet,
	};
	char *live = print_text(story, text);
	struct outcome outcome;

	write_capture(story);
	outcome = report_file(&options);
	assert_string_equal(outcome.err, "");
	assert_int_equal(outcome.status, 0);
	assert_string_equal(outcome.out, live);
	free_outcome(&outcome);
	free(live);
}

/* The capture, written again from what was read. */
static void check_json(const struct story *story)
{
	const struct options options = { .json = true };
	struct outcome outcome;
	char *capture;

	write_capture(story);
	capture = read_file(capture_path);
	outcome = report_file(&options);
	assert_string_equal(outcome.err, "");
	assert_int_equal(outcome.status, 0);
	assert_string_equal(outcome.out, capture);
	free_outcome(&outcome);
	free(capture);
}

/* With all options that change the text, one after the other. */
static void check_story(void (*tell)(struct sink *sink, unsigned int seed), unsigned int seed,
			bool intervals)
{
	const struct story story = { tell, seed };
	struct text_options text = { .intervals = intervals };

	check_text(&story, &text);
	for (size_t i = 0; update_sort_keys[i]; i++) {
		text.sort_key = update_sort_keys[i];
		text.top = (unsigned int)i;
		check_text(&story, &text);
	}
	for (size_t i = 0; vma_sort_keys[i]; i++) {
		text.sort_key = vma_sort_keys[i];
		text.top = (unsigned int)i;
		text.verbose = i % 2;
		text.timestamp = i % 3 == 0;
		text.quiet = i % 4 == 3;
		check_text(&story, &text);
	}
	check_json(&story);
}

static void tell_end(struct sink *sink, const struct verdict_input *input,
		     const struct losses *lost, double seconds)
{
	char verdict[VERDICT_BYTES];
	struct summary_report summary = {
		.seconds = seconds, .vmas = input->vmas, .faults = input->faults.total,
		.batches = input->batches.total, .installed_pages = input->installed_pages,
		.lost = *lost, .verdict = verdict,
	};

	verdict_for_run(input, verdict, sizeof(verdict));
	sink->ops->summary(sink, &summary);
}

static void tell_lazy(struct sink *sink, unsigned int seed)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct verdict_input input = { .start = &start };
	struct vma_report vma = sample_vma(2048);

	(void)seed;
	sink->ops->start(sink, &start);
	sample_touch(&vma, 0, 1800, false, 1500);
	sample_touch(&vma, 1800, 248, true, 41000);
	vma.faults.raced = 3;
	verdict_add(&input, &vma);
	sink->ops->vma(sink, &vma);
	tell_end(sink, &input, &(struct losses){ 0 }, 3.25);
}

static void test_lazy(void **state)
{
	(void)state;
	check_story(tell_lazy, 0, false);
}

/* Of both kinds and all outcomes, in an interval and after it. */
static void tell_events(struct sink *sink, unsigned int seed)
{
	struct run_start start = sample_start(MODE_LAZY_AROUND);
	struct verdict_input input = { .start = &start };
	struct interval_report interval = {
		.time = { 1796036582, 0 }, .seconds = 1, .lost.events_lost = 3,
	};
	struct event_report event = sample_event();

	(void)seed;
	start.events = true;
	sink->ops->start(sink, &start);
	sink_event(sink, &event);
	event.batch = true;
	event.installed_pages = UINT64_MAX;
	event.ns = 0;
	memcpy(event.comm, "\xff\"\\\n", 5);
	sink_event(sink, &event);
	sink->ops->interval(sink, &interval);
	event = sample_event();
	event.write = true;
	event.timed = false;
	event.ns = 0;
	event.installed_pages = 0;
	event.outcome = "raced";
	event.origin = "populate";
	event.map.name[0] = '\0';
	sink_event(sink, &event);
	tell_end(sink, &input, &(struct losses){ .events_lost = 4 }, 2);
}

static void test_events(void **state)
{
	(void)state;
	check_story(tell_events, 0, true);
}

static void test_events_are_whole(void **state)
{
	static const char *const wrong[][2] = {
		{ "\"event\":\"fault\"", "\"event\":\"trap\"" },
		{ "\"access\":\"read\"", "\"access\":\"exec\"" },
		{ "\"ns\":1500", "\"ns\":-1" },
		{ "\"tid\":4712", "\"tid\":4294967296" },
		{ "\"row\":3", "\"line\":3" },
		{ "\"origin\":\"user\"", "\"origin\":7" },
	};
	const struct story story = { tell_events, 0 };
	char *capture;

	(void)state;
	write_capture(&story);
	capture = read_file(capture_path);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char changed[1 << 14], *at = strstr(capture, wrong[i][0]);
		struct outcome outcome;

		assert_non_null(at);
		snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - capture), capture,
			 wrong[i][1], at + strlen(wrong[i][0]));
		outcome = report_text(changed, strlen(changed));
		assert_int_equal(outcome.status, 0);
		assert_contains(outcome.err, "line 2 is left out");
		free_outcome(&outcome);
	}
	free(capture);
}

static void tell_around(struct sink *sink, unsigned int seed)
{
	struct run_start start = sample_start(MODE_LAZY_AROUND);
	struct verdict_input input = { .start = &start };
	struct vma_report vma = sample_vma(2048);

	(void)seed;
	sink->ops->start(sink, &start);
	vma.mapped = false;
	vma.map_offset_pages = 16;
	sample_touch(&vma, 0, 1, false, 1100);
	sample_batch(&vma, 1, 60, 16, 3100);
	sample_touch(&vma, 1900, 77, true, 1250);
	vma.batches.declined = 4;
	verdict_add(&input, &vma);
	sink->ops->vma(sink, &vma);
	tell_end(sink, &input, &(struct losses){ 1, 2, 3, 4, false, 0 }, 0.9999996);
}

static void test_around(void **state)
{
	(void)state;
	check_story(tell_around, 0, false);
}

/* Whatever the capture of a kernel without anything lazy lacks. */
static void tell_eager(struct sink *sink, unsigned int seed)
{
	struct run_start start = sample_start(MODE_EAGER);
	struct verdict_input input = { .start = &start };
	struct vma_report vma = sample_vma(64);

	(void)seed;
	start.fault_around_bytes = 0;
	start.exact = start.timed = false;
	start.scope = start.stop_hint = NULL;
	start.types[1] = (struct type_mode){ .type = NULL };
	start.types[2].mode = MODE_NONE;
	start.types[2].reason = "it has none <\"'&>";
	sink->ops->start(sink, &start);
	vma.pid = 0;
	vma.comm[0] = vma.map.name[0] = '\0';
	vma.raced_known = vma.mmap.seen = false;
	vma.where = (struct where_bins){ 0 };
	verdict_add(&input, &vma);
	sink->ops->vma(sink, &vma);
	tell_end(sink, &input, &(struct losses){ 0 }, 0);
}

static void test_eager(void **state)
{
	(void)state;
	check_story(tell_eager, 0, false);
}

/* Names of bytes that are no UTF-8, and numbers as large as can be. */
static void tell_hostile(struct sink *sink, unsigned int seed)
{
	struct run_start start = sample_start(MODE_UNKNOWN);
	struct verdict_input input = { .start = &start };
	struct vma_report vma = sample_vma(64);

	(void)seed;
	start.scope = "command /bin/\x1b]0;owned\a \xff\xfe \xc3";
	start.kernel = "7.3\n\xc2\x9b";
	start.types[0].reason = "no \x1b[31msymbols";
	sink->ops->start(sink, &start);
	memcpy(vma.comm, "\x1b[2J\xff\xd0\xb1\xd0\x80\"\\\n<b>", 15);
	memcpy(vma.map.name, "\n\t\"\\\x7f</script>", 14);
	vma.pid = vma.map.id = UINT32_MAX;
	vma.start = 0;
	vma.pages = UINT64_MAX / start.page_bytes;
	vma.row = vma.end = vma.map_offset_pages = vma.mmap.ns = UINT64_MAX;
	vma.faults = (struct fault_counts){
		.total = UINT64_MAX, .write = UINT64_MAX, .remote = UINT64_MAX,
		.remote_write = UINT64_MAX, .failed = UINT64_MAX, .raced = UINT64_MAX,
		.under_mmap_lock = UINT64_MAX,
	};
	vma.batches.pages = vma.batches.declined = vma.installed_pages = UINT64_MAX;
	vma.fault_ns.slots[47] = vma.fault_ns.sum = vma.fault_ns.max = UINT64_MAX;
	vma.fault_ns.min = UINT64_C(1) << 46;
	verdict_add(&input, &vma);
	sink->ops->vma(sink, &vma);
	tell_end(sink, &input, &(struct losses){ UINT64_MAX - 2, 1, 1, 1, false, 0 }, 9e8);
}

static void test_hostile_strings_and_numbers(void **state)
{
	(void)state;
	check_story(tell_hostile, 0, false);
}

static void tell_updates(struct sink *sink, unsigned int seed)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct verdict_input input = { .start = &start };
	struct update_report update = {
		.span = SPAN_INTERVAL, .pid = 4711, .comm = "agent",
		.map = { 9, "tenants", "array_of_maps" }, .calls = 3, .failed = 1, .untimed = 1,
		.wait = "expedited",
	};
	struct interval_report interval = { .seconds = 1 };

	(void)seed;
	start.updates = true;
	sink->ops->start(sink, &start);
	dist_add(&update.ns, 15000000);
	dist_add(&update.ns, 16000000);
	dist_add(&update.wait_ns, 14000000);
	sink->ops->update(sink, &update);
	sink->ops->interval(sink, &interval);
	update.span = SPAN_TOTAL;
	sink->ops->update(sink, &update);
	update = (struct update_report){
		.span = SPAN_TOTAL, .map = { 10, "", "hash_of_maps" }, .wait = "none",
	};
	sink->ops->update(sink, &update);
	tell_end(sink, &input, &(struct losses){ 0 }, 2);
}

static void test_updates(void **state)
{
	(void)state;
	check_story(tell_updates, 0, true);
}

/* Two processes in two intervals, on a kernel whose waits a knob overrules. */
static void tell_report_of_updates(struct sink *sink, unsigned int seed)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct update_verdict input = { .rcu = &start.rcu };
	struct update_report updates[2], totals[2] = {};
	struct interval_report interval = {
		.seconds = 1, .lost = { .recursion = 2, .recursion_at_most = seed },
	};
	char verdict[UPDATE_VERDICT_BYTES];
	struct summary_report summary = { .seconds = 2, .verdict = verdict };

	start.updates = true;
	start.rcu = (struct rcu_state){
		.normal = 1, .expedited = -1, .preempt_rt = true, .asks = "expedited",
		.waits = "normal", .batch_waits = 1,
	};
	sink->ops->start(sink, &start);
	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < 2; i++) {
			updates[i] = (struct update_report){
				.span = SPAN_INTERVAL, .pid = 4711 + i, .comm = "loader",
				.map = { 9, "outer", "hash_of_maps" }, .calls = 3, .failed = 1,
				.untimed = 1, .wait = "normal", .waits_normal = 1,
			};
			dist_add(&updates[i].ns, 15000000 + round);
			dist_add(&updates[i].ns, 5000);
			dist_add(&updates[i].wait_ns, 14000000 - i);
			sink->ops->update(sink, &updates[i]);
		}
		sink->ops->interval(sink, &interval);
	}
	for (unsigned int i = 0; i < 2; i++) {
		totals[i] = updates[i];
		totals[i].span = SPAN_TOTAL;
		totals[i].calls = 6;
		totals[i].failed = totals[i].untimed = totals[i].waits_normal = 2;
		dist_add(&totals[i].ns, 15000000);
		dist_add(&totals[i].ns, 5000);
		dist_add(&totals[i].wait_ns, 14000000 - i);
		update_verdict_add(&input, &totals[i]);
		sink->ops->update(sink, &totals[i]);
	}
	update_verdict_text(&input, verdict, sizeof(verdict));
	summary.lost = interval.lost;
	sink->ops->summary(sink, &summary);
}

static void test_report_of_updates(void **state)
{
	(void)state;
	/* the losses exact, and as a bound */
	check_story(tell_report_of_updates, 0, true);
	check_story(tell_report_of_updates, 1, true);
}

/* ---- random runs ---- */

static uint64_t random_state;

static uint64_t random_bits(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Small numbers most often. */
static uint64_t random_number(void)
{
	return random_bits() >> (random_bits() % 64);
}

static uint64_t random_to(uint64_t most)
{
	return random_bits() % (most + 1);
}

static void random_dist(struct dist *dist, unsigned int open_slot, uint64_t count)
{
	dist->open_slot = open_slot;
	for (; count; count--)
		dist_add(dist, random_number() >> 16);
}

static void random_identity(struct vma_report *vma, uint64_t row)
{
	static const char *const types[] = { "array", "arena", "ringbuf", "other" };

	*vma = sample_vma(1 + random_to(5000));
	vma->row = row;
	vma->pid = (uint32_t)random_to(3);
	vma->map.id = (uint32_t)random_to(3);
	vma->map.type = types[random_to(3)];
	vma->raced_known = random_bits() % 2;
	memset(vma->comm, 0, sizeof(vma->comm));
	for (uint64_t i = random_to(15); i; i--)
		vma->comm[i - 1] = (char)(1 + random_to(254));
}

/* What happened to it in an interval. */
static struct vma_report random_news(const struct vma_report *vma)
{
	struct vma_report news = *vma;

	news.span = SPAN_INTERVAL;
	news.mapped = random_bits() % 2;
	news.faults = (struct fault_counts){ .read = random_to(50), .write = random_to(50) };
	news.faults.user = news.faults.total = news.faults.read + news.faults.write;
	news.faults.user_write = news.faults.write;
	news.faults.raced = random_to(3);
	news.faults.untimed = random_to(news.faults.total);
	news.faults.failed = random_to(2) ? 0 : news.faults.total;
	news.fault_ns = news.batch_ns = news.batch_pages = (struct dist){ .sum = 0 };
	random_dist(&news.fault_ns, 47, news.faults.total - news.faults.untimed);
	random_dist(&news.batch_ns, 47, random_to(40));
	random_dist(&news.batch_pages, 15, random_to(40));
	news.batches.total = dist_count(&news.batch_pages);
	news.batches.pages = news.batch_pages.sum;
	news.batches.declined = random_to(3);
	news.installed_pages = news.faults.total - news.faults.failed + news.batches.pages;
	for (unsigned int i = 0; i < news.where.count; i++)
		news.where.pages[i] = random_number() >> 16;
	return news;
}

enum { RANDOM_VMAS = 8 };

/* An interval of some of the VMAs; totals of those long gone come early. */
static void tell_random_interval(struct sink *sink, struct verdict_input *input,
				 struct vma_report totals[RANDOM_VMAS], bool ended[RANDOM_VMAS])
{
	struct interval_report interval = {
		.time = { (time_t)random_to(4000000000), (long)random_to(999999999) },
		.seconds = (double)(random_number() >> 14) / 1e9,
	};

	for (int i = 0; i < RANDOM_VMAS; i++) {
		struct vma_report news = random_news(&totals[i]);

		if (ended[i] || random_bits() % 2)
			continue;
		vma_report_add(&totals[i], &news);
		totals[i].span = SPAN_TOTAL;
		interval.faults += news.faults.total;
		interval.installed_pages += news.installed_pages;
		sink->ops->vma(sink, &news);
		ended[i] = random_to(9) == 0;
		if (!ended[i])
			continue;
		verdict_add(input, &totals[i]);
		sink->ops->vma(sink, &totals[i]);
	}
	sink->ops->interval(sink, &interval);
}

static void tell_random(struct sink *sink, unsigned int seed)
{
	static const struct losses nothing;
	struct run_start start = sample_start((enum map_mode)(seed % 5));
	struct verdict_input input = { .start = &start };
	struct vma_report totals[RANDOM_VMAS];
	bool ended[RANDOM_VMAS] = { false };

	random_state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	start.exact = random_bits() % 2;
	start.timed = random_bits() % 2;
	sink->ops->start(sink, &start);
	for (int i = 0; i < RANDOM_VMAS; i++)
		random_identity(&totals[i], (uint64_t)i);
	for (uint64_t i = random_to(5); i; i--)
		tell_random_interval(sink, &input, totals, ended);
	for (int i = 0; i < RANDOM_VMAS; i++) {
		if (ended[i])
			continue;
		verdict_add(&input, &totals[i]);
		sink->ops->vma(sink, &totals[i]);
	}
	tell_end(sink, &input, &nothing, (double)(random_number() >> 14) / 1e9);
}

static void test_random_runs(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= 50; seed++)
		check_story(tell_random, seed, true);
}

/* ---- captures that are cut off ---- */

static void put_interval(struct sink *sink, struct vma_report *vma, uint64_t faults)
{
	struct interval_report interval = {
		.time = { 1796036580, 0 }, .seconds = 1, .faults = faults,
		.installed_pages = faults, .lost = { .ring_full = 2 },
	};

	sink->ops->vma(sink, vma);
	sink->ops->interval(sink, &interval);
}

/* Two VMAs in three intervals: one's total is the sum of two, the other's comes. */
static void tell_long(struct sink *sink, unsigned int seed)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct verdict_input input = { .start = &start };
	struct vma_report vma = sample_vma(64), total = sample_vma(64), other = sample_vma(8);

	(void)seed;
	sink->ops->start(sink, &start);
	vma.span = SPAN_INTERVAL;
	sample_touch(&vma, 0, 20, false, 1000);
	put_interval(sink, &vma, 20);
	other.span = SPAN_INTERVAL;
	other.row = 2;
	other.pid = 4712;
	sample_touch(&other, 0, 8, true, 1500);
	put_interval(sink, &other, 8);
	vma = sample_vma(64);
	vma.span = SPAN_INTERVAL;
	vma.mapped = false;
	sample_touch(&vma, 20, 10, true, 5000);
	put_interval(sink, &vma, 10);
	other.span = SPAN_TOTAL;
	verdict_add(&input, &other);
	sink->ops->vma(sink, &other);
	sample_touch(&total, 0, 20, false, 1000);
	sample_touch(&total, 20, 10, true, 5000);
	total.mapped = false;
	verdict_add(&input, &total);
	sink->ops->vma(sink, &total);
	tell_end(sink, &input, &(struct losses){ .ring_full = 6 }, 3);
}

static char *long_capture(void)
{
	const struct story story = { tell_long, 0 };

	write_capture(&story);
	return read_file(capture_path);
}

/* The first `count` lines. */
static size_t lines_length(const char *text, unsigned int count)
{
	const char *at = text;

	for (; count; count--)
		at = strchr(at, '\n') + 1;
	return (size_t)(at - text);
}

/* From the blocks on, but for the verdict's first words. */
static void assert_same_end(const char *cut, const char *whole)
{
	const char *blocks = strstr(whole, "pid 4711 ("), *totals = strstr(whole, "Totals");
	const char *cut_blocks = strstr(cut, "pid 4711 (");

	assert_non_null(blocks);
	assert_non_null(cut_blocks);
	assert_true(totals > blocks);
	assert_memory_equal(cut_blocks, blocks, (size_t)(totals - blocks));
	assert_contains(cut, "2 VMAs, 38 faults, 0 batches, 38 pages installed in 3.00 s");
	assert_contains(cut, "The capture ends early");
	assert_contains(cut, "Lost         6 events");
}

static void test_totals_of_a_cut_capture_are_its_intervals(void **state)
{
	char *capture = long_capture();
	struct outcome whole = report_text(capture, strlen(capture)), cut;

	(void)state;
	/* behind the intervals, and behind one of the totals */
	for (unsigned int lines = 7; lines <= 9; lines++) {
		cut = report_text(capture, lines_length(capture, lines));
		assert_int_equal(cut.status, 0);
		assert_contains(cut.err, "there is no summary");
		assert_one_line(cut.err);
		assert_same_end(cut.out, whole.out);
		free_outcome(&cut);
	}
	free_outcome(&whole);
	free(capture);
}

/* A run without intervals that was killed: nothing tells its time and its losses. */
static void test_what_a_cut_capture_does_not_tell_is_not_known(void **state)
{
	static const struct options forms[] = {
		{ .top = 1 }, { .html = true }, { .json = true }, { .openmetrics = metrics_path },
	};
	static const char *const said[] = {
		"Lost         not known\n", "<dt>Traced for</dt><dd>not known</dd>",
		"\"summary\",\"seconds\":null", "1 VMA, 2048 faults",
	};
	const struct story story = { tell_lazy, 0 };
	struct outcome outcome, again;
	char *capture, *metrics;

	(void)state;
	write_capture(&story);
	capture = read_file(capture_path);
	write_file(capture_path, capture, lines_length(capture, 2));
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		outcome = report_file(&forms[i]);
		assert_int_equal(outcome.status, 0);
		assert_contains(outcome.out, said[i]);
		assert_null(strstr(outcome.out, "nothing\n"));
		assert_null(strstr(outcome.out, "Nothing."));
		assert_null(strstr(outcome.out, "ring_full"));
		if (forms[i].json) {
			again = report_text(outcome.out, strlen(outcome.out));
			assert_string_equal(again.err, "");
			assert_contains(again.out, "Lost         not known\n");
			free_outcome(&again);
			write_file(capture_path, capture, lines_length(capture, 2));
		}
		free_outcome(&outcome);
	}
	metrics = read_file(metrics_path);
	assert_contains(metrics, "lazyfault_installed_pages_total");
	assert_null(strstr(metrics, "lost_events"));
	assert_null(strstr(metrics, "unseen_runs"));
	assert_null(strstr(metrics, "traced_seconds"));
	free(metrics);
	free(capture);
}

/* From the blocks to the totals, all is as if the totals had come. */
static void test_updates_of_a_cut_capture_are_its_intervals(void **state)
{
	const struct story story = { tell_report_of_updates, 0 };
	struct outcome whole, cut;
	const char *blocks;
	char *capture;

	(void)state;
	write_capture(&story);
	capture = read_file(capture_path);
	whole = report_text(capture, strlen(capture));
	blocks = strstr(whole.out, "pid 4711 (");
	assert_non_null(blocks);
	for (unsigned int lines = 7; lines <= 9; lines++) {
		cut = report_text(capture, lines_length(capture, lines));
		assert_non_null(strstr(cut.out, "pid 4711 ("));
		assert_memory_equal(strstr(cut.out, "pid 4711 ("), blocks,
				    (size_t)(strstr(blocks, "Verdict") - blocks));
		assert_contains(cut.out, "The capture ends early; of what it has: Waiting");
		free_outcome(&cut);
	}
	free_outcome(&whole);
	free(capture);
}

static void test_cut_anywhere(void **state)
{
	char *capture = long_capture(), expected[64];
	size_t bytes = strlen(capture);

	(void)state;
	/* each place of the first lines, then every seventh */
	for (size_t length = 0; length < bytes; length += length < 1200 ? 1 : 7) {
		struct outcome cut = report_text(capture, length);
		unsigned int line = 1;

		for (size_t i = 0; i < length; i++)
			line += capture[i] == '\n';
		/* a whole first line is a capture; its newline may be missing */
		assert_int_equal(cut.status, length < lines_length(capture, 1) - 1);
		snprintf(expected, sizeof(expected), "cut off in line %u\n", line);
		if (length && capture[length - 1] != '\n' && capture[length] != '\n')
			assert_contains(cut.err, expected);
		free_outcome(&cut);
	}
	free(capture);
}

/* A last line that lacks its newline, and ends after its first `bytes` bytes (0: as a whole). */
static void assert_last_line(const char *last, size_t bytes, const char *expected)
{
	char *capture = long_capture();
	size_t length = lines_length(capture, 3);
	struct outcome outcome;

	bytes = bytes ? bytes : strlen(last);
	capture = realloc(capture, length + bytes);
	assert_non_null(capture);
	memcpy(capture + length, last, bytes);
	outcome = report_text(capture, length + bytes);
	assert_int_equal(outcome.status, 0);
	assert_contains(outcome.err, expected);
	free_outcome(&outcome);
	free(capture);
}

static void test_whole_last_line_is_not_cut_off(void **state)
{
	static const char named[] = "{\"type\":\"\xd1\x81\xd0\xbb\"}";

	(void)state;
	assert_last_line("{\"type\":\"interval\",\"seconds\":1.0}", 0,
			 "line 4 is left out: there is no faults");
	assert_last_line("{\"type\":\"interval\",\"seconds\":1.0}}", 0,
			 "line 4 is left out: unexpected character");
	assert_last_line("{\"type\":\"\xd1}", 0, "line 4 is left out: invalid utf-8 string");
	assert_last_line("{\"type\":\"interval\",\"seconds\":1.0", 0, "it is cut off in line 4");
	/* at each byte of its characters */
	for (size_t bytes = 9; bytes < sizeof(named) - 2; bytes++)
		assert_last_line(named, bytes, "it is cut off in line 4");
}

static void test_bytes_changed_anywhere(void **state)
{
	char *capture = long_capture();
	size_t bytes = strlen(capture);

	(void)state;
	random_state = 42;
	for (int i = 0; i < 1000; i++) {
		size_t at = (size_t)random_to(bytes - 1);
		char was = capture[at];
		struct outcome outcome;

		capture[at] = (char)random_bits();
		outcome = report_text(capture, bytes);
		assert_true(outcome.status == 0);
		free_outcome(&outcome);
		capture[at] = was;
	}
	free(capture);
}

/* ---- lines that cannot be used ---- */

static const char start_line[] =
	"{\"type\":\"start\",\"version\":\"0.1.0\",\"kernel\":\"7.3\",\"counting\":\"exact\","
	"\"arch\":\"x86_64\",\"page_bytes\":4096,\"fault_around_bytes\":0,"
	"\"time\":\"2026-11-30T11:03:00.123456Z\",\"modes\":{\"array\":\"lazy\"},\"handlers\":{}}\n";

#define INTERVAL "{\"type\":\"interval\",\"time\":\"2026-11-30T11:03:00.123456Z\","
#define NO_DIST "{\"count\":0,\"sum\":0,\"min\":null,\"max\":null,\"buckets\":[]}"
#define LOST "\"lost\":{\"ring_full\":0,\"vma_table_full\":0,\"recursion\":0}"

/* A start and an interval line, and that the second is refused with `why`. */
static void assert_line_refused(const char *line, const char *why)
{
	char text[8192], expected[512];
	struct outcome outcome;

	snprintf(text, sizeof(text), "%s%s\n", start_line, line);
	outcome = report_text(text, strlen(text));
	assert_int_equal(outcome.status, 0);
	snprintf(expected, sizeof(expected), "line 2 is left out: %s", why);
	if (!strstr(outcome.err, expected))
		fail_msg("%s: no '%s' in: %s", line, expected, outcome.err);
	free_outcome(&outcome);
}

static void test_numbers_are_strict(void **state)
{
	static const char *const numbers[] = {
		"-1", "-0.0", "1.0", "1e3", "18446744073709551616", "99999999999999999999999",
		"\"1\"", "null", "true", "{}", "[1]", "+1", "0x1", "Infinity",
	};
	char line[512];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		snprintf(line, sizeof(line), INTERVAL "\"seconds\":1.0,\"faults\":%s,"
			 "\"installed_pages\":0," LOST "}", numbers[i]);
		assert_line_refused(line, "");
	}
	assert_line_refused(INTERVAL "\"seconds\":1.0,\"faults\":-1,\"installed_pages\":0," LOST
			    "}", "faults is not a whole number from 0 on");
	assert_line_refused(INTERVAL "\"seconds\":NaN,\"faults\":1,\"installed_pages\":0," LOST
			    "}", "");
	assert_line_refused(INTERVAL "\"seconds\":-1.0,\"faults\":1,\"installed_pages\":0," LOST
			    "}", "seconds is out of range");
	assert_line_refused(INTERVAL "\"seconds\":1e300,\"faults\":1,\"installed_pages\":0," LOST
			    "}", "seconds is out of range");
	assert_line_refused(INTERVAL "\"seconds\":1.0,\"installed_pages\":0," LOST "}",
			    "there is no faults");
	assert_line_refused(INTERVAL "\"seconds\":1.0,\"faults\":1,\"installed_pages\":0}",
			    "there is no lost");
	assert_line_refused(INTERVAL "\"seconds\":1.0,\"faults\":1,\"installed_pages\":0,"
			    "\"lost\":{\"ring_full\":0}}", "there is no lost.vma_table_full");
}

static void test_other_lines_are_refused(void **state)
{
	static const char *const lines[] = {
		"garbage", "[]", "17", "null", "{", "{}", "{\"type\":1}", "\"start\"",
		"{\"type\":\"vma\"}", "{\"type\":\"vma\",\"span\":\"day\"}",
		"{\"type\":\"summary\"} trailing",
		"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
		"{\"type\":\"update\",\"pid\":4294967296}", "{\"type\":\"\xff\"}",
		"{'type':'start'}", "{\"type\":\"interval\",\"time\":\"yesterday\"}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lines); i++)
		assert_line_refused(lines[i], "");
	assert_line_refused("{\"type\":\"interval\",\"time\":\"2026-13-30T11:03:00.123456Z\","
			    "\"seconds\":1.0,\"faults\":1,\"installed_pages\":0," LOST "}",
			    "time is not like");
}

/* A vma record with one thing changed. */
static void assert_vma_refused(const char *what, const char *with, const char *why)
{
	const struct story story = { tell_lazy, 0 };
	char line[8192];
	char *capture, *record, *at, *end;

	write_capture(&story);
	capture = read_file(capture_path);
	record = strchr(capture, '\n') + 1;
	end = strchr(record, '\n');
	*end = '\0';
	at = strstr(record, what);
	if (!at)
		fail_msg("'%s' is not in: %s", what, record);
	snprintf(line, sizeof(line), "%.*s%s%s", (int)(at - record), record, with,
		 at + strlen(what));
	assert_line_refused(line, why);
	free(capture);
}

static void test_vmas_are_whole(void **state)
{
	(void)state;
	assert_vma_refused("\"pid\":4711", "\"pid\":4294967296", "pid is more than 4294967295");
	assert_vma_refused("\"start\":\"0x7f", "\"start\":\"7f", "start is no address");
	assert_vma_refused("\"end\":\"0x7f", "\"end\":\"0xfffffffff7f", "end is no address");
	assert_vma_refused("\"count\":2048", "\"count\":2049", "fault_ns: the buckets hold");
	assert_vma_refused("{\"from\":1024", "{\"from\":1025", "fault_ns has a bucket from 1025");
	assert_vma_refused("\"to\":2047", "\"to\":2048", "fault_ns has a bucket from 1024");
	assert_vma_refused("\"count\":1800", "\"count\":18446744073709551615",
			   "fault_ns counts beyond");
	assert_vma_refused("\"pages_per_bin\":32", "\"pages_per_bin\":33", "where.pages_per_bin");
	assert_vma_refused("\"pages_per_bin\":32", "\"pages_per_bin\":0", "where.pages_per_bin");
	assert_vma_refused("\"installed\":[", "\"installed\":[1,", "where.installed has 65");
	assert_vma_refused("\"populate\":false", "\"populate\":0", "mmap.populate is neither");
	assert_vma_refused("\"comm\":\"postgres\"", "\"comm\":\"a\",\"comm_hex\":\"6g\"",
			   "comm_hex is not");
	assert_vma_refused("\"comm\":\"postgres\"",
			   "\"comm\":\"a\",\"comm_hex\":\"61616161616161616161616161616161\"",
			   "comm_hex is not");
	assert_vma_refused("\"map\":{", "\"map\":7,\"was\":{", "map is not an object");
	assert_vma_refused("\"buckets\":[", "\"buckets\":[7,", "fault_ns has a bucket that");
}

static void test_sums_of_a_vma(void **state)
{
	(void)state;
	assert_vma_refused("\"total\":2048", "\"total\":18446744073709551615",
			   "faults.total is 18446744073709551615, but read is 1800 and write 248");
	assert_vma_refused("\"read\":1800", "\"read\":18446744073709551615",
			   "faults.total is 2048, but read is 18446744073709551615");
	assert_vma_refused("\"user\":2048", "\"user\":2047", "faults.total is 2048, which user,");
	assert_vma_refused("\"failed\":0", "\"failed\":2049", "faults.total is 2048, and more");
	assert_vma_refused("\"untimed\":0", "\"untimed\":1",
			   "fault_ns.count is 2048, but timed faults are 2047");
	assert_vma_refused("\"user_write\":248", "\"user_write\":247",
			   "faults.write is 248, which");
	assert_vma_refused("\"installed_pages\":2048", "\"installed_pages\":2049",
			   "installed_pages is 2049, but faults that did not fail are 2048 and "
			   "batches.pages 0");
	assert_vma_refused("\"pages\":2048", "\"pages\":1",
			   "pages is 1, but from start to end are 2048");
	assert_vma_refused("\"min\":1500", "\"min\":2500", "fault_ns: min 2500 and max 41000");
	assert_vma_refused("\"max\":41000", "\"max\":90000", "fault_ns: min 1500 and max 90000");
	assert_vma_refused("\"batch_ns\":" NO_DIST, "\"batch_ns\":{\"count\":0,\"sum\":0,"
			   "\"min\":null,\"max\":null,\"buckets\":[{\"from\":0,\"to\":0,\"count\":0}]}",
			   "batch_ns has an empty bucket from 0");
	assert_vma_refused("\"pid\":4711", "\"pid\":4711,\"pid\":4712",
			   "it has a key twice in one object");
	assert_vma_refused("\"id\":7", "\"id\":7,\"i\\u0064\":7",
			   "it has a key twice in one object");
}

/* The capture of tell_long() with one thing changed in a line: another line, or it, is left out. */
static void assert_long_refused(unsigned int number, const char *what, const char *with,
				unsigned int refused, const char *why)
{
	char *capture = long_capture(), changed[1 << 15], expected[256];
	char *line = capture + lines_length(capture, number - 1), *at = strstr(line, what);
	struct outcome outcome;

	if (!at)
		fail_msg("'%s' is not in: %s", what, line);
	snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - capture), capture, with,
		 at + strlen(what));
	outcome = report_text(changed, strlen(changed));
	assert_int_equal(outcome.status, 0);
	snprintf(expected, sizeof(expected), "line %u is left out: %s", refused, why);
	assert_contains(outcome.err, expected);
	assert_contains(outcome.out, " 38 faults");
	free_outcome(&outcome);
	free(capture);
}

static void test_records_add_up(void **state)
{
	(void)state;
	assert_long_refused(3, "\"faults\":20", "\"faults\":21", 3,
			    "faults is 21, but the VMAs of this interval have 20");
	assert_long_refused(3, "\"installed_pages\":20", "\"installed_pages\":2", 3,
			    "installed_pages is 2, but the VMAs of this interval have 20");
	assert_long_refused(6, "\"raced\":0", "\"raced\":1", 9,
			    "its intervals do not add up to its faults and batches");
	assert_long_refused(9, "\"sum\":70000", "\"sum\":70001", 9,
			    "its intervals do not add up to its distributions");
	assert_long_refused(10, "\"vmas\":2", "\"vmas\":3", 10,
			    "vmas is 3, but the totals before it have 2");
	assert_long_refused(10, "\"faults\":38", "\"faults\":39", 10,
			    "faults is 39, but the totals before it have 38");
	assert_long_refused(10, "\"batches\":0", "\"batches\":1", 10,
			    "batches is 1, but the totals before it have 0");
	assert_long_refused(10, "{", "{\"type\":\"update\",\"span\":\"total\",\"pid\":1,\"comm\":\"u\","
			    "\"map\":{\"id\":9,\"name\":\"m\"},\"calls\":0,\"failed\":0,\"ns\":" NO_DIST
			    ",\"wait\":\"none\",\"wait_ns\":" NO_DIST "}\n{", 10,
			    "it is of an update, in a capture of faults");
}

static void test_a_row_has_one_total(void **state)
{
	char *capture = long_capture(), twice[1 << 15];
	size_t before = lines_length(capture, 8), after = lines_length(capture, 9);
	size_t first = lines_length(capture, 1), second = lines_length(capture, 2);
	struct outcome outcome;

	(void)state;
	snprintf(twice, sizeof(twice), "%.*s%s", (int)after, capture, capture + before);
	outcome = report_text(twice, strlen(twice));
	assert_contains(outcome.err, "line 10 is left out: row 1 had its total before");
	assert_contains(outcome.out, "2 VMAs, 38 faults");
	free_outcome(&outcome);
	/* nor does it go on after it */
	snprintf(twice, sizeof(twice), "%.*s%.*s%s", (int)after, capture, (int)(second - first),
		 capture + first, capture + after);
	outcome = report_text(twice, strlen(twice));
	assert_contains(outcome.err, "line 10 is left out: row 1 had its total before");
	free_outcome(&outcome);
	free(capture);
}

static void test_summary_that_does_not_add_up(void **state)
{
	char *capture = long_capture(), *at = strstr(capture, "\"faults\":38");
	struct outcome outcome;

	(void)state;
	memcpy(at, "\"faults\":83", strlen("\"faults\":83"));
	outcome = report_text(capture, strlen(capture));
	assert_int_equal(outcome.status, 0);
	assert_contains(outcome.out, "2 VMAs, 38 faults, 0 batches, 38 pages installed in 3.00 s");
	assert_contains(outcome.out, "The capture does not add up; of what it has:");
	free_outcome(&outcome);
	free(capture);
}

static void test_faults_in_a_capture_of_updates(void **state)
{
	const struct story story = { tell_report_of_updates, 0 };
	char *faults = long_capture(), *updates, both[1 << 15];
	size_t first = lines_length(faults, 1), second = lines_length(faults, 2);
	struct outcome outcome;

	(void)state;
	write_capture(&story);
	updates = read_file(capture_path);
	snprintf(both, sizeof(both), "%.*s%.*s%s", (int)lines_length(updates, 1), updates,
		 (int)(second - first), faults + first, updates + lines_length(updates, 1));
	outcome = report_text(both, strlen(both));
	assert_contains(outcome.err, "line 2 is left out: it is of faults, in a capture of updates");
	assert_null(strstr(outcome.out, "20 faults"));
	free_outcome(&outcome);
	free(updates);
	free(faults);
}

/* Counts of two VMAs that fit 64 bits, and do not together. */
static void tell_too_much(struct sink *sink, unsigned int seed)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct vma_report vma = sample_vma(1);

	(void)seed;
	sink->ops->start(sink, &start);
	for (vma.row = 1; vma.row <= 2; vma.row++) {
		vma.batches.pages = vma.installed_pages = UINT64_MAX - 1;
		sink->ops->vma(sink, &vma);
	}
}

static void test_sums_stay_within_64_bits(void **state)
{
	const struct story story = { tell_too_much, 0 };
	const struct options options = { .top = 0 };
	struct outcome outcome;

	(void)state;
	write_capture(&story);
	outcome = report_file(&options);
	assert_contains(outcome.err, "line 3 is left out: with it, counts are beyond 64 bits");
	assert_contains(outcome.out, "1 VMA, 0 faults, 0 batches, 18446744073709551614 pages");
	free_outcome(&outcome);
}

static void test_page_size_of_a_capture(void **state)
{
	static const char *const sizes[] = { "0", "4095", "4294967296" };
	char *capture = long_capture(), changed[1 << 15], *at = strstr(capture, "4096");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		struct outcome outcome;

		snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - capture), capture,
			 sizes[i], at + strlen("4096"));
		outcome = report_text(changed, strlen(changed));
		assert_contains(outcome.err, "line 1 is left out: page_bytes is ");
		assert_contains(outcome.out, "2 VMAs, 38 faults");
		free_outcome(&outcome);
	}
	free(capture);
}

/* A name longer than there is room for is cut, not overrun. */
static void test_long_strings_are_cut(void **state)
{
	const struct story story = { tell_lazy, 0 };
	char *capture, *at, text[16384];
	struct outcome outcome;

	(void)state;
	write_capture(&story);
	capture = read_file(capture_path);
	at = strstr(capture, "postgres");
	snprintf(text, sizeof(text), "%.*s%0512d%s", (int)(at - capture), capture, 7,
		 at + strlen("postgres"));
	outcome = report_text(text, strlen(text));
	assert_int_equal(outcome.status, 0);
	assert_contains(outcome.out, "(000000000000000)");
	free_outcome(&outcome);
	free(capture);
}

static void test_many_bad_lines_are_summed_up(void **state)
{
	char text[1024];
	struct outcome outcome;
	size_t lines = 0;

	(void)state;
	snprintf(text, sizeof(text), "%sa\nb\n\x1b[2J\nd\ne\nf\ng\n", start_line);
	outcome = report_text(text, strlen(text));
	assert_int_equal(outcome.status, 0);
	assert_contains(outcome.err, "line 6 is left out");
	assert_null(strstr(outcome.err, "line 7"));
	assert_contains(outcome.err, "2 more lines are left out");
	assert_null(strchr(outcome.err, '\x1b'));
	for (const char *at = outcome.err; *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, 5 + 1 + 1);
	free_outcome(&outcome);
}

static void test_overlong_line(void **state)
{
	size_t bytes = strlen(start_line), extra = (3 << 20);
	char *text = malloc(bytes + extra + 1 + bytes);
	struct outcome outcome;

	(void)state;
	memcpy(text, start_line, bytes);
	memset(text + bytes, '{', extra);
	text[bytes + extra] = '\n';
	outcome = report_text(text, bytes + extra + 1);
	assert_int_equal(outcome.status, 0);
	assert_contains(outcome.err, "line 2 is left out: it is longer than");
	free_outcome(&outcome);
	free(text);
}

/* ---- nothing to use ---- */

static void test_nothing_usable_is_a_failure(void **state)
{
	static const char *const captures[] = {
		"", "\n\n", "garbage\nmore\n", "{\"type\":\"start\"}\n", "\177ELF\2\1\1",
		"{\"type\":\"check\",\"ok\":true,\"items\":[]}\n",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(captures); i++) {
		struct outcome outcome = report_text(captures[i], strlen(captures[i]));

		assert_int_equal(outcome.status, 1);
		assert_string_equal(outcome.out, "");
		assert_contains(outcome.err, "no record that can be used");
		free_outcome(&outcome);
	}
}

static void test_file_that_cannot_be_read(void **state)
{
	struct options options = { .file = "/nonexistent/capture" };
	int stderr_fd = dup(STDERR_FILENO), fd;
	char *err;

	(void)state;
	fd = open(errors_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	dup2(fd, STDERR_FILENO);
	assert_int_equal(command_report(&options), 1);
	options.file = directory;
	assert_int_equal(command_report(&options), 1);
	/* its own output would empty it */
	write_file(capture_path, start_line, strlen(start_line));
	options.file = options.output = capture_path;
	assert_int_equal(command_report(&options), 1);
	fflush(stderr);
	dup2(stderr_fd, STDERR_FILENO);
	close(stderr_fd);
	close(fd);
	err = read_file(errors_path);
	assert_contains(err, "/nonexistent/capture: No such file");
	assert_contains(err, "is a directory");
	assert_contains(err, "is the capture itself");
	free(err);
	err = read_file(capture_path);
	assert_string_equal(err, start_line);
	free(err);
}

/* ---- other versions ---- */

/* Deletes every `"key":value,` of plain values. */
static void remove_key(char *text, const char *key)
{
	char *at;

	while ((at = strstr(text, key))) {
		size_t length = strlen(key);

		length += strcspn(at + length, ",}");
		if (at[length] == ',')
			length++;
		memmove(at, at + length, strlen(at + length) + 1);
	}
}

static void test_older_capture(void **state)
{
	static const char *const keys[] = {
		"\"row\":", "\"timed\":", "\"user_write\":", "\"populate_write\":",
		"\"kernel_write\":", ",\"unseen_runs\":",
	};
	char *capture = long_capture();
	struct outcome whole = report_text(capture, strlen(capture)), older, cut;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(keys); i++)
		remove_key(capture, keys[i]);
	older = report_text(capture, strlen(capture));
	assert_string_equal(older.err, "");
	assert_string_equal(older.out, whole.out);
	/* VMAs without a number are told apart by what they are */
	cut = report_text(capture, lines_length(capture, 7));
	assert_same_end(cut.out, whole.out);
	free_outcome(&whole);
	free_outcome(&older);
	free_outcome(&cut);
	free(capture);
}

static void test_newer_capture(void **state)
{
	const struct story story = { tell_lazy, 0 };
	char *capture, *at, text[16384];
	struct outcome whole, newer;

	(void)state;
	write_capture(&story);
	capture = read_file(capture_path);
	whole = report_text(capture, strlen(capture));
	at = strstr(capture, "\"pid\"");
	snprintf(text, sizeof(text),
		 "%.*s{\"type\":\"weather\x1f\",\"sky\":7}\n{\"type\":\"weather\"}\n"
		 "%.*s\"hue\":[1,{\"a\":null}],%s",
		 (int)lines_length(capture, 1), capture,
		 (int)(at - capture) - (int)lines_length(capture, 1),
		 capture + lines_length(capture, 1), at);
	/* a control character is no JSON */
	*strchr(text, '\x1f') = '!';
	newer = report_text(text, strlen(text));
	assert_int_equal(newer.status, 0);
	assert_string_equal(newer.out, whole.out);
	assert_contains(newer.err, "2 records of types that this version does not know, from "
				   "line 2 (\"weather!\") on, are left out");
	assert_one_line(newer.err);
	free_outcome(&whole);
	free_outcome(&newer);
	free(capture);
}

static void test_capture_without_its_beginning(void **state)
{
	char *capture = long_capture();
	size_t skip = lines_length(capture, 1);
	struct outcome outcome = report_text(capture + skip, strlen(capture + skip));
	char *metrics;

	(void)state;
	assert_int_equal(outcome.status, 0);
	assert_contains(outcome.err, "line 1 comes without a start record");
	assert_contains(outcome.out, "page size not known");
	assert_contains(outcome.out, "Counting  not known");
	assert_contains(outcome.out, "2 VMAs, 38 faults");
	free_outcome(&outcome);
	outcome = report_file(&(struct options){ .html = true, .openmetrics = metrics_path });
	assert_contains(outcome.out, "<dt>Counting</dt><dd>not known</dd>");
	free_outcome(&outcome);
	metrics = read_file(metrics_path);
	assert_null(strstr(metrics, "lazyfault_start_time_seconds"));
	assert_null(strstr(metrics, "lazyfault_build_info"));
	free(metrics);
	free(capture);
}

/* The first run's strings are still in use when the second one's start comes. */
static void test_second_start_after_a_run_that_was_killed(void **state)
{
	static const struct options forms[] = { { .html = true }, { .json = true }, { .top = 1 } };
	char *capture = long_capture(), *both = malloc(2 * strlen(capture) + 1);
	size_t killed = lines_length(capture, 3);

	(void)state;
	memcpy(both, capture, killed);
	strcpy(both + killed, capture);
	write_file(capture_path, both, strlen(both));
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		struct outcome outcome = report_file(&forms[i]);

		assert_int_equal(outcome.status, 0);
		assert_contains(outcome.err, "another run begins in line 4");
		assert_contains(outcome.err, "there is no summary");
		if (!forms[i].top)
			assert_contains(outcome.out, "7.3.4");
		free_outcome(&outcome);
	}
	free(both);
	free(capture);
}

static void test_two_runs_in_one_file(void **state)
{
	char *capture = long_capture(), *both = malloc(2 * strlen(capture) + 1);
	struct outcome one = report_text(capture, strlen(capture)), two;

	(void)state;
	strcpy(both, capture);
	strcat(both, capture);
	two = report_text(both, strlen(both));
	assert_int_equal(two.status, 0);
	assert_string_equal(two.out, one.out);
	assert_contains(two.err, "another run begins in line");
	assert_one_line(two.err);
	free_outcome(&one);
	free_outcome(&two);
	free(both);
	free(capture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lazy),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_events_are_whole),
		cmocka_unit_test(test_around),
		cmocka_unit_test(test_eager),
		cmocka_unit_test(test_hostile_strings_and_numbers),
		cmocka_unit_test(test_updates),
		cmocka_unit_test(test_report_of_updates),
		cmocka_unit_test(test_updates_of_a_cut_capture_are_its_intervals),
		cmocka_unit_test(test_what_a_cut_capture_does_not_tell_is_not_known),
		cmocka_unit_test(test_random_runs),
		cmocka_unit_test(test_totals_of_a_cut_capture_are_its_intervals),
		cmocka_unit_test(test_cut_anywhere),
		cmocka_unit_test(test_whole_last_line_is_not_cut_off),
		cmocka_unit_test(test_bytes_changed_anywhere),
		cmocka_unit_test(test_numbers_are_strict),
		cmocka_unit_test(test_other_lines_are_refused),
		cmocka_unit_test(test_vmas_are_whole),
		cmocka_unit_test(test_sums_of_a_vma),
		cmocka_unit_test(test_records_add_up),
		cmocka_unit_test(test_a_row_has_one_total),
		cmocka_unit_test(test_summary_that_does_not_add_up),
		cmocka_unit_test(test_faults_in_a_capture_of_updates),
		cmocka_unit_test(test_sums_stay_within_64_bits),
		cmocka_unit_test(test_page_size_of_a_capture),
		cmocka_unit_test(test_long_strings_are_cut),
		cmocka_unit_test(test_many_bad_lines_are_summed_up),
		cmocka_unit_test(test_overlong_line),
		cmocka_unit_test(test_nothing_usable_is_a_failure),
		cmocka_unit_test(test_file_that_cannot_be_read),
		cmocka_unit_test(test_older_capture),
		cmocka_unit_test(test_newer_capture),
		cmocka_unit_test(test_capture_without_its_beginning),
		cmocka_unit_test(test_two_runs_in_one_file),
		cmocka_unit_test(test_second_start_after_a_run_that_was_killed),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
