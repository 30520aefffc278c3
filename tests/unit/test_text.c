/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text report, held against tests/unit/golden/NAME.txt. After a wanted
 * change run this with UPDATE_GOLDEN=1, and read the difference.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sink.h"
#include "text_draw.h"
#include "verdict.h"

#include "contains.h"
#include "sample.h"

/* A text sink and what it has written. */
struct written {
	FILE *out;
	char *text;
	size_t bytes;
	struct sink *sink;
};

static void open_text(struct written *written, const struct text_options *options)
{
	written->out = open_memstream(&written->text, &written->bytes);
	assert_non_null(written->out);
	written->sink = text_sink_new(written->out, options);
	assert_non_null(written->sink);
}

static void close_text(struct written *written)
{
	sink_free(written->sink);
	fclose(written->out);
	free(written->text);
}

/* Each line below 80 columns, and no byte that moves a cursor. */
static void assert_plain(const char *text)
{
	size_t columns = 0;

	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte == '\n')
			columns = 0;
		else if ((byte & 0xc0) != 0x80)
			columns++;
		if (columns > TEXT_COLUMNS)
			fail_msg("a line of more than %d columns", TEXT_COLUMNS);
		assert_true(byte == '\n' || (byte >= 0x20 && byte != 0x7f));
	}
}

static void read_golden(const char *path, char *text, size_t bytes)
{
	FILE *file = fopen(path, "r");
	size_t length;

	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	length = fread(text, 1, bytes - 1, file);
	text[length] = '\0';
	fclose(file);
}

static void write_golden(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void assert_golden(const struct written *written, const char *name)
{
	static char golden[1 << 16];
	char path[256];

	assert_false(written->sink->failed);
	assert_plain(written->text);
	snprintf(path, sizeof(path), "tests/unit/golden/%s.txt", name);
	if (getenv("UPDATE_GOLDEN"))
		write_golden(path, written->text);
	read_golden(path, golden, sizeof(golden));
	assert_string_equal(written->text, golden);
}

static void put_vma(struct written *written, struct verdict_input *input,
		    const struct vma_report *vma)
{
	verdict_add(input, vma);
	written->sink->ops->vma(written->sink, vma);
}

static void put_summary(struct written *written, const struct verdict_input *input,
			const struct losses *lost)
{
	char verdict[VERDICT_BYTES];
	struct summary_report summary = {
		.seconds = 3.25,
		.vmas = input->vmas,
		.faults = input->faults.total,
		.batches = input->batches.total,
		.installed_pages = input->installed_pages,
		.verdict = verdict,
	};

	if (lost)
		summary.lost = *lost;
	verdict_for_run(input, verdict, sizeof(verdict));
	written->sink->ops->summary(written->sink, &summary);
}

/* A whole array read in order on a kernel without fault-around. */
static void fill_lazy(struct vma_report *vma)
{
	*vma = sample_vma(2048);
	sample_touch(vma, 0, 1800, false, 1500);
	sample_touch(vma, 1800, 240, false, 2100);
	sample_touch(vma, 2040, 8, false, 41000);
	vma->faults.raced = 3;
}

/* An array of which a kernel with fault-around has seen some parts. */
static void fill_around(struct vma_report *vma)
{
	*vma = sample_vma(2048);
	vma->row = 2;
	vma->mapped = false;
	vma->map_offset_pages = 16;
	sample_touch(vma, 0, 1, false, 1100);
	sample_batch(vma, 1, 60, 16, 3100);
	sample_batch(vma, 1024, 16, 3, 900);
	sample_touch(vma, 1500, 4, false, 1200);
	sample_touch(vma, 1900, 77, true, 1250);
	vma->batches.declined = 4;
	vma->faults.untimed = 2;
	vma->fault_ns.slots[11] -= 2;
}

static void test_lazy(void **state)
{
	struct text_options options = { .top = 0 };
	struct run_start start = sample_start(MODE_LAZY);
	struct verdict_input input = { .start = &start };
	struct written written;
	struct vma_report vma;

	(void)state;
	open_text(&written, &options);
	written.sink->ops->start(written.sink, &start);
	fill_lazy(&vma);
	put_vma(&written, &input, &vma);
	put_summary(&written, &input, NULL);
	assert_golden(&written, "lazy");
	close_text(&written);
}

static void draw_around(bool unicode, const char *golden)
{
	struct text_options options = { .unicode = unicode, .verbose = true };
	struct run_start start = sample_start(MODE_LAZY_AROUND);
	struct verdict_input input = { .start = &start };
	struct written written;
	struct vma_report vma;

	open_text(&written, &options);
	written.sink->ops->start(written.sink, &start);
	fill_around(&vma);
	put_vma(&written, &input, &vma);
	put_summary(&written, &input, NULL);
	assert_golden(&written, golden);
	close_text(&written);
}

static void test_around(void **state)
{
	(void)state;
	draw_around(false, "around");
}

static void test_around_in_unicode(void **state)
{
	(void)state;
	draw_around(true, "around-unicode");
}

/* An eager kernel: a populated array, an arena, a map without a name. */
static void test_eager(void **state)
{
	struct text_options options = { .top = 0 };
	struct run_start start = sample_start(MODE_EAGER);
	struct verdict_input input = { .start = &start };
	struct written written;
	struct vma_report vma;

	(void)state;
	start.fault_around_bytes = 0;
	start.exact = start.timed = false;
	start.scope = NULL;
	start.stop_hint = NULL;
	open_text(&written, &options);
	written.sink->ops->start(written.sink, &start);
	vma = sample_vma(2048);
	vma.mmap.ns = 1600000;
	vma.mmap.populate = true;
	put_vma(&written, &input, &vma);
	vma = sample_vma(64);
	vma.row = 2;
	vma.map.type = "arena";
	vma.raced_known = vma.mmap.seen = false;
	sample_touch(&vma, 0, 20, true, 0);
	memset(&vma.fault_ns, 0, sizeof(vma.fault_ns));
	vma.faults.untimed = 20;
	put_vma(&written, &input, &vma);
	vma = sample_vma(1);
	vma.row = 3;
	vma.pid = 0;
	vma.map = (struct map_identity){ .id = 12 };
	vma.comm[0] = '\0';
	put_vma(&written, &input, &vma);
	put_summary(&written, &input, NULL);
	assert_golden(&written, "eager");
	close_text(&written);
}

static void put_interval(struct written *written, uint64_t faults, const struct losses *lost)
{
	struct interval_report interval = {
		.time = { 1796036580, 0 }, .seconds = 1.0002, .faults = faults,
		.installed_pages = faults,
	};

	if (lost)
		interval.lost = *lost;
	written->sink->ops->interval(written->sink, &interval);
}

static void test_intervals(void **state)
{
	struct text_options options = {
		.top = 3, .sort_key = "pid", .timestamp = true, .intervals = true,
		.columns = TEXT_COLUMNS,
	};
	struct run_start start = sample_start(MODE_LAZY);
	struct verdict_input input = { .start = &start };
	struct losses lost = { .vma_table_full = 12 };
	struct written written;
	struct vma_report vma;

	(void)state;
	setenv("TZ", "UTC-2", 1);
	tzset();
	open_text(&written, &options);
	written.sink->ops->start(written.sink, &start);
	fill_lazy(&vma);
	for (uint32_t i = 0; i < 5; i++) {
		vma.span = SPAN_INTERVAL;
		vma.row = 10 - i;
		vma.pid = 4714 - i / 2;
		vma.mapped = i % 2 == 0;
		written.sink->ops->vma(written.sink, &vma);
		vma.span = SPAN_TOTAL;
		put_vma(&written, &input, &vma);
	}
	put_interval(&written, 5 * 2048, &lost);
	put_interval(&written, 0, NULL);
	put_summary(&written, &input, &lost);
	assert_golden(&written, "intervals");
	close_text(&written);
}

/* A row of an interval, of these names, in so many columns, ends in `names`. */
static void assert_names(const char *comm, const char *name, bool mapped, unsigned int columns,
			 const char *names)
{
	struct text_options options = { .intervals = true, .quiet = true, .columns = columns };
	struct vma_report vma = sample_vma(1);
	struct written written;
	char expected[128];

	open_text(&written, &options);
	vma.span = SPAN_INTERVAL;
	vma.mapped = mapped;
	snprintf(vma.comm, sizeof(vma.comm), "%s", comm);
	snprintf(vma.map.name, sizeof(vma.map.name), "%s", name);
	written.sink->ops->vma(written.sink, &vma);
	put_interval(&written, 0, NULL);
	snprintf(expected, sizeof(expected), "        -  %s\n", names);
	if (!strstr(written.text, expected))
		fail_msg("no '%s' in:\n%s", expected, written.text);
	close_text(&written);
}

static void test_names_take_the_line(void **state)
{
	static const char comm[] = "connection_pool", name[] = "conntrack_table";

	(void)state;
	assert_names(comm, name, true, 0, "connection_pool conntrack_table");
	assert_names(comm, name, false, 0, "connection_pool conntrack_table (gone)");
	assert_names(comm, name, false, 119, "connection_pool conntrack_table (gone)");
	assert_names(comm, name, true, 79, "connect.. conntr..");
	assert_names(comm, name, false, 79, "con.. con.. (gone)");
	assert_names("sh", name, false, 79, "sh conntr.. (gone)");
	assert_names(comm, "lpm", false, 79, "conne.. lpm (gone)");
	assert_names(comm, "", false, 79, "connecti.. (gone)");
	assert_names("\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b\x1b", name, true, 79,
		     "\\x1b.. conntrack..");
}

static void assert_events(const struct written *written, const char *expected)
{
	assert_false(written->sink->failed);
	assert_string_equal(written->text, expected);
}

#define EVENT_HEADING "TIME                PID     TID    MAP     PAGE A ORIGIN    PAGES  HANDLER  COMM, MAP\n"

/* One heading for all that come in a row; a blank line before what follows. */
static void test_events(void **state)
{
	struct text_options options = { .intervals = true, .quiet = true };
	struct event_report event = sample_event();
	struct interval_report interval = {
		.seconds = 1, .faults = 1, .installed_pages = 1, .lost.events_lost = 2,
	};
	struct written written;

	(void)state;
	setenv("TZ", "UTC-2", 1);
	tzset();
	open_text(&written, &options);
	sink_event(written.sink, &event);
	event.batch = true;
	event.installed_pages = 512;
	event.origin = "populate";
	event.ns = 123456;
	sink_event(written.sink, &event);
	event.batch = false;
	event.write = true;
	event.installed_pages = 0;
	event.outcome = "failed";
	event.timed = false;
	event.map.name[0] = '\0';
	sink_event(written.sink, &event);
	written.sink->ops->interval(written.sink, &interval);
	event.outcome = "raced";
	sink_event(written.sink, &event);
	sink_flush(written.sink);
	assert_events(&written,
		EVENT_HEADING
		"13:03:01.123456    4711    4712      7        2 r user          1  1.50 us  worker counters\n"
		"13:03:01.123456    4711    4712      7        2 r populate    512   123 us  worker counters\n"
		"13:03:01.123456    4711    4712      7        2 w populate failed        -  worker \n"
		"\n"
		"1.00 s: 1 fault, 1 page installed\n"
		"Lost         2 lines of events: their ring buffer was full; the counts have\n"
		"             them (larger: --ring-size)\n"
		"\n"
		EVENT_HEADING
		"13:03:01.123456    4711    4712      7        2 w populate  raced        -  worker \n");
	close_text(&written);
}

static void test_hostile_events(void **state)
{
	struct text_options options = { .quiet = true };
	struct event_report event = sample_event();
	struct written written;

	(void)state;
	memcpy(event.comm, "\x1b[2J\n\x9b\r", 8);
	memcpy(event.map.name, "\xff\n\n\n\n\n\n\n\n\n\n\n\n\n\n", 15);
	event.pid = event.tid = event.map.id = UINT32_MAX;
	event.map_offset_pages = event.installed_pages = event.ns = UINT64_MAX;
	event.origin = "\x1b[31m red and long";
	event.time.tv_sec = INT64_MAX;
	open_text(&written, &options);
	sink_event(written.sink, &event);
	event.outcome = NULL;
	event.installed_pages = 0;
	sink_event(written.sink, &event);
	sink_flush(written.sink);
	assert_false(written.sink->failed);
	for (const char *at = written.text; *at; at++)
		assert_true(*at == '\n' || ((unsigned char)*at >= 0x20 && *at != 0x7f));
	assert_int_equal(strspn(strchr(written.text, '\n') + 1, "- "), 16);
	close_text(&written);
}

static void test_losses(void **state)
{
	struct text_options options = { .quiet = true };
	struct losses lost = { 3, 4, 5, 6, false, 0 };
	struct run_start start = sample_start(MODE_LAZY);
	struct verdict_input input = { .start = &start };
	struct written written;

	(void)state;
	start.exact = false;
	open_text(&written, &options);
	written.sink->ops->start(written.sink, &start);
	put_summary(&written, &input, &lost);
	assert_golden(&written, "losses");
	close_text(&written);
}

/* Names that would move the cursor, and numbers as long as can be. */
static void test_hostile(void **state)
{
	struct text_options options = { .intervals = true, .verbose = true, .columns = TEXT_COLUMNS };
	struct run_start start = sample_start(MODE_UNKNOWN);
	struct verdict_input input = { .start = &start };
	uint64_t huge = UINT64_MAX;
	struct written written;
	struct vma_report vma;

	(void)state;
	start.scope = "command /bin/\x1b]0;owned\a a/very/long/path/that/does/not/end/before/the/"
		      "eightieth/column/of/the/terminal";
	start.kernel = "7.3\n\x9b";
	start.types[0].reason = "no \x1b[31msymbols";
	open_text(&written, &options);
	written.sink->ops->start(written.sink, &start);
	vma = sample_vma(64);
	memcpy(vma.comm, "\x1b[2J\x1b[H\xff\xff\xff\xff\xff\xff\xff", 15);
	memcpy(vma.map.name, "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", 15);
	vma.pid = vma.map.id = UINT32_MAX;
	vma.start = huge - 1;
	vma.end = vma.pages = vma.map_offset_pages = vma.mmap.ns = huge;
	vma.faults = (struct fault_counts){ huge, huge, huge, huge, huge, huge, huge, huge, huge,
					    huge, huge, huge, huge, huge, huge };
	vma.batches = (struct batch_counts){ huge, huge, huge };
	vma.installed_pages = huge;
	vma.fault_ns.slots[47] = vma.batch_pages.slots[0] = vma.batch_ns.slots[47] = huge;
	vma.fault_ns.sum = vma.batch_pages.sum = vma.batch_ns.sum = huge;
	vma.fault_ns.max = vma.batch_pages.max = vma.batch_ns.max = huge;
	vma.where.pages_per_bin = UINT64_C(1) << 63;
	vma.where.count = 64;
	put_vma(&written, &input, &vma);
	vma.span = SPAN_INTERVAL;
	written.sink->ops->vma(written.sink, &vma);
	put_interval(&written, huge, NULL);
	put_summary(&written, &input, &(struct losses){ huge, huge, huge, huge, false, 0 });
	assert_golden(&written, "hostile");
	close_text(&written);
}

static void test_updates(void **state)
{
	struct text_options options = { .intervals = true, .quiet = true };
	struct run_start start = sample_start(MODE_LAZY);
	struct update_report update = {
		.span = SPAN_TOTAL, .pid = 4711, .comm = "loader",
		.map = { 9, "outer", "array_of_maps" }, .calls = 1400, .failed = 2,
		.wait = "normal",
	};
	struct verdict_input input = { .start = &start };
	struct written written;

	(void)state;
	for (int i = 0; i < 1400; i++) {
		dist_add(&update.ns, i % 10 ? 15500000 : 47900000);
		dist_add(&update.wait_ns, i % 10 ? 15400000 : 47800000);
	}
	open_text(&written, &options);
	written.sink->ops->start(written.sink, &start);
	written.sink->ops->update(written.sink, &update);
	update.pid = 1;
	update.span = SPAN_INTERVAL;
	written.sink->ops->update(written.sink, &update);
	put_interval(&written, 0, NULL);
	update.span = SPAN_TOTAL;
	memset(&update.ns, 0, sizeof(update.ns));
	memset(&update.wait_ns, 0, sizeof(update.wait_ns));
	update.calls = 0;
	update.wait = "none";
	written.sink->ops->update(written.sink, &update);
	put_summary(&written, &input, NULL);
	assert_golden(&written, "updates");
	close_text(&written);
}

/* A whole report of updates: ground, rows, losses, and what --top leaves out. */
static void test_report_of_updates(void **state)
{
	struct text_options options = { .intervals = true, .top = 1, .columns = TEXT_COLUMNS };
	struct run_start start = sample_start(MODE_LAZY);
	struct update_report update = {
		.span = SPAN_INTERVAL, .pid = 4711, .comm = "loader",
		.map = { 9, "outer", "array_of_maps" }, .calls = 12, .failed = 1, .untimed = 2,
		.wait = "expedited", .waits_normal = 4, .waits_expedited = 5,
	};
	struct summary_report summary = {
		.seconds = 2, .verdict = "Waiting for grace periods is 88 % of the time.",
		.lost = { .ring_full = 3, .recursion = 4 },
	};
	struct written written;

	(void)state;
	start.updates = true;
	start.rcu = (struct rcu_state){
		.normal = 1, .expedited = -1, .preempt_rt = true, .asks = "expedited",
		.waits = "normal", .batch_waits = 1,
	};
	for (int i = 0; i < 10; i++) {
		dist_add(&update.ns, 100000);
		if (i)
			dist_add(&update.wait_ns, 98000);
	}
	open_text(&written, &options);
	written.sink->ops->start(written.sink, &start);
	for (int i = 0; i < 3; i++) {
		update.span = SPAN_INTERVAL;
		written.sink->ops->update(written.sink, &update);
		update.pid++;
		update.ns.sum--;
	}
	put_interval(&written, 0, &summary.lost);
	summary.lost = (struct losses){ .ring_full = 1, .recursion = 4, .recursion_at_most = true };
	for (int i = 0; i < 3; i++) {
		update.span = SPAN_TOTAL;
		written.sink->ops->update(written.sink, &update);
		update.pid++;
		update.ns.sum--;
	}
	written.sink->ops->summary(written.sink, &summary);
	assert_golden(&written, "updates-report");
	close_text(&written);
}

/* A report of updates says so also where there were none. */
static void test_report_of_no_updates(void **state)
{
	struct text_options options = { .intervals = false };
	struct run_start start = sample_start(MODE_LAZY);
	struct summary_report summary = { .seconds = 2, .verdict = "None." };
	struct written written;

	(void)state;
	start.updates = true;
	start.rcu = (struct rcu_state){ .asks = "normal", .waits = "normal" };
	open_text(&written, &options);
	written.sink->ops->start(written.sink, &start);
	written.sink->ops->summary(written.sink, &summary);
	assert_contains(written.text, "rcu_normal 0, rcu_expedited 0\n");
	assert_contains(written.text, "not PREEMPT_RT\n");
	assert_contains(written.text, "Totals       0 calls, 0 failed");
	assert_null(strstr(written.text, "VMA"));
	assert_null(strstr(written.text, "overrules"));
	close_text(&written);
}

/* One of a thing is not several. */
static void test_one_update(void **state)
{
	struct text_options options = { .top = 1 };
	struct run_start start = sample_start(MODE_LAZY);
	struct update_report update = {
		.span = SPAN_TOTAL, .pid = 1, .comm = "loader",
		.map = { 9, "outer", "array_of_maps" }, .calls = 1, .wait = "none",
	};
	struct summary_report summary = { .seconds = 2, .lost = { .recursion = 1 } };
	struct written written;

	(void)state;
	start.updates = true;
	open_text(&written, &options);
	written.sink->ops->start(written.sink, &start);
	written.sink->ops->update(written.sink, &update);
	update.pid = 2;
	update.ns.sum = 1;
	written.sink->ops->update(written.sink, &update);
	written.sink->ops->summary(written.sink, &summary);
	assert_contains(written.text, "... and 1 more: 1 call, ");
	assert_contains(written.text, "Totals       2 calls, 0 failed");
	assert_contains(written.text, "Lost         1 call: the kernel skipped");
	close_text(&written);

	open_text(&written, &options);
	written.sink->ops->start(written.sink, &start);
	written.sink->ops->update(written.sink, &update);
	written.sink->ops->summary(written.sink, &summary);
	assert_contains(written.text, "Totals       1 call, 0 failed");
	close_text(&written);
}

static void assert_first_line(bool updates, const char *scope, const char *hint,
			      const char *expected)
{
	struct text_options options = { .intervals = false };
	struct run_start start = sample_start(MODE_LAZY);
	struct written written;

	start.updates = updates;
	start.scope = scope;
	start.stop_hint = hint;
	open_text(&written, &options);
	written.sink->ops->start(written.sink, &start);
	assert_int_equal(strncmp(written.text, expected, strlen(expected)), 0);
	close_text(&written);
}

/* A command takes one line, however long its name is; lists wrap and are whole. */
static void test_first_line(void **state)
{
	static const char hint[] = "Ends with the command.", ctrl_c[] = "Hit Ctrl-C to end.";
	static const char agent[] = "command /opt/an/agent/with/a/long/path/to/its/file/bin/agent";

	(void)state;
	assert_first_line(false, "command mapinmap-update", hint, "Tracing lazy faults of "
			  "command mapinmap-update ... Ends with the command.\nKernel");
	assert_first_line(true, "command mapinmap-update", hint, "Tracing map-in-map updates of "
			  "command mapinmap-update ... Ends with it.\nKernel");
	assert_first_line(true, agent, hint, "Tracing map-in-map updates of "
			  "command /opt/an/agent/with/a/.. ... Ends with it.\nKernel");
	assert_first_line(true, "all processes; map ids 107, 108, 109", ctrl_c,
			  "Tracing map-in-map updates of all processes; map ids 107, 108, 109 ... "
			  "Hit\n  Ctrl-C to end.\nKernel");
	assert_first_line(true, "pid 1", NULL, "Tracing map-in-map updates of pid 1\nKernel");
}

/* ---- sorting ---- */

/* The pids of the blocks in their order, "3 1 2". */
static void assert_order(const char *key, unsigned int top, const char *expected)
{
	struct text_options options = { .top = top, .sort_key = key, .quiet = true };
	struct run_start start = sample_start(MODE_LAZY);
	struct verdict_input input = { .start = &start };
	char order[64] = "";
	struct written written;

	open_text(&written, &options);
	written.sink->ops->start(written.sink, &start);
	for (uint32_t i = 1; i <= 4; i++) {
		struct vma_report vma = sample_vma(64);

		vma.row = 10 - i;
		vma.pid = i;
		vma.map.id = 10 + (i * 3) % 4;
		vma.start += (uint64_t)(5 - i) << 20;
		vma.faults.total = i == 2 ? 90 : 10;
		vma.installed_pages = 100 * ((i * 3) % 5);
		vma.fault_ns.sum = i == 3 ? 7 : i;
		vma.batches.total = i == 4;
		vma.faults.raced = i == 1;
		put_vma(&written, &input, &vma);
	}
	put_summary(&written, &input, NULL);
	for (const char *block = strstr(written.text, "pid "); block;
	     block = strstr(block + 1, "\npid ")) {
		unsigned int pid;

		assert_int_equal(sscanf(block, " pid %u", &pid), 1);
		sprintf(order + strlen(order), "%s%u", *order ? " " : "", pid);
	}
	assert_string_equal(order, expected);
	close_text(&written);
}

static void test_sort_keys(void **state)
{
	(void)state;
	/* equal values are in order of row, which falls here */
	assert_order(NULL, 0, "2 4 3 1");
	assert_order("faults", 0, "2 4 3 1");
	assert_order("no such key", 0, "2 4 3 1");
	assert_order("installed", 0, "3 1 4 2");
	assert_order("time", 0, "3 4 2 1");
	assert_order("batches", 0, "4 3 2 1");
	assert_order("raced", 0, "1 4 3 2");
	assert_order("pid", 0, "1 2 3 4");
	assert_order("map", 0, "4 3 2 1");
	assert_order("start", 0, "4 3 2 1");
	assert_order("pid", 2, "1 2");
	assert_order("faults", 1, "2");
}

/* The first of very many, in whatever order they come; the rest by its sum. */
static void test_top_of_many(void **state)
{
	enum { MANY = 30000 };
	struct text_options options = { .top = 2, .quiet = true };
	struct summary_report summary = { .verdict = NULL };
	struct written written;

	(void)state;
	open_text(&written, &options);
	for (uint64_t i = 0; i < MANY; i++) {
		struct vma_report vma = sample_vma(1);

		vma.row = i;
		vma.faults.total = 1 + i * 7919 % MANY;
		vma.installed_pages = 1;
		written.sink->ops->vma(written.sink, &vma);
	}
	written.sink->ops->summary(written.sink, &summary);
	assert_contains(written.text, "faults     30000:");
	assert_contains(written.text, "faults     29999:");
	assert_contains(written.text, "... and 29998 more VMAs: 449955001 faults, 29998 pages");
	close_text(&written);
}

/* ---- options and writing ---- */

static void test_without_intervals_none_is_shown(void **state)
{
	struct text_options options = { .quiet = true };
	struct written written;
	struct vma_report vma;

	(void)state;
	open_text(&written, &options);
	fill_lazy(&vma);
	vma.span = SPAN_INTERVAL;
	written.sink->ops->vma(written.sink, &vma);
	put_interval(&written, 2048, NULL);
	fflush(written.out);
	assert_int_equal(written.bytes, 0);
	close_text(&written);
}

static void test_written_when_due(void **state)
{
	struct text_options options = { .intervals = true, .columns = TEXT_COLUMNS };
	struct run_start start = sample_start(MODE_LAZY);
	struct written written;

	(void)state;
	open_text(&written, &options);
	setvbuf(written.out, NULL, _IOFBF, 1 << 16);
	written.sink->ops->start(written.sink, &start);
	assert_contains(written.text, "Tracing lazy faults of pid 4711 ... Hit Ctrl-C to end.\n");
	put_interval(&written, 77, NULL);
	assert_contains(written.text, "77 faults");
	close_text(&written);
}

static void test_locale_changes_nothing(void **state)
{
	(void)state;
	setlocale(LC_ALL, "de_DE.UTF-8");
	test_lazy(NULL);
	setlocale(LC_ALL, "C.UTF-8");
	test_hostile(NULL);
	setlocale(LC_ALL, "C");
}

static void test_failed_write_is_told(void **state)
{
	struct text_options options = { .intervals = true, .columns = TEXT_COLUMNS };
	FILE *out = fopen("/dev/full", "w");
	struct sink *sink;
	struct interval_report interval = { .seconds = 1 };

	(void)state;
	assert_non_null(out);
	sink = text_sink_new(out, &options);
	sink->ops->interval(sink, &interval);
	assert_true(sink->failed);
	assert_int_equal(sink->error, ENOSPC);
	sink_free(sink);
	fclose(out);
}

static void test_freed_with_records_held(void **state)
{
	struct text_options options = { .intervals = true, .columns = TEXT_COLUMNS };
	struct written written;
	struct vma_report vma;

	(void)state;
	open_text(&written, &options);
	fill_lazy(&vma);
	written.sink->ops->vma(written.sink, &vma);
	vma.span = SPAN_INTERVAL;
	written.sink->ops->vma(written.sink, &vma);
	close_text(&written);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lazy),
		cmocka_unit_test(test_around),
		cmocka_unit_test(test_around_in_unicode),
		cmocka_unit_test(test_eager),
		cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_names_take_the_line),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_hostile_events),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_updates),
		cmocka_unit_test(test_report_of_updates),
		cmocka_unit_test(test_report_of_no_updates),
		cmocka_unit_test(test_one_update),
		cmocka_unit_test(test_first_line),
		cmocka_unit_test(test_sort_keys),
		cmocka_unit_test(test_top_of_many),
		cmocka_unit_test(test_without_intervals_none_is_shown),
		cmocka_unit_test(test_written_when_due),
		cmocka_unit_test(test_locale_changes_nothing),
		cmocka_unit_test(test_failed_write_is_told),
		cmocka_unit_test(test_freed_with_records_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
