/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The HTML sink without a browser: all of its parts are there when there is
 * something to show, elements are closed in order, and nothing that others
 * chose becomes markup. tests/html looks at the page in Chromium.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "sink.h"

#include "contains.h"
#include "sample.h"

struct written {
	FILE *out;
	char *text;
	size_t bytes;
	struct sink *sink;
};

static void open_page(struct written *written, unsigned int top, const char *sort_key)
{
	written->out = open_memstream(&written->text, &written->bytes);
	written->sink = html_sink_new(written->out, top, sort_key);
	assert_non_null(written->sink);
}

static void close_page(struct written *written)
{
	sink_free(written->sink);
	fclose(written->out);
	free(written->text);
}

enum { NAME_BYTES = 16, DEPTH_MAX = 32 };

/* Reads a tag's name behind '<' or '</'. */
static const char *read_name(const char *at, char name[NAME_BYTES])
{
	size_t length = 0;

	while (isalnum((unsigned char)*at) && length < NAME_BYTES - 1)
		name[length++] = *at++;
	name[length] = '\0';
	return at;
}

/* Behind the tag: quotes may hold a '>'. */
static const char *skip_tag(const char *at, bool *closed)
{
	bool quoted = false;

	for (; *at && (quoted || *at != '>'); at++) {
		assert_true(quoted || *at != '<');
		quoted ^= *at == '"';
	}
	assert_int_equal(*at, '>');
	*closed = at[-1] == '/';
	return at + 1;
}

static void assert_balanced(const char *page)
{
	static const char *const empty[] = { "meta", "link" };
	char open[DEPTH_MAX][NAME_BYTES], name[NAME_BYTES];
	unsigned int depth = 0;
	const char *at = page;
	bool closed;

	while ((at = strchr(at, '<'))) {
		bool end = at[1] == '/';

		if (!strncmp(at, "<!DOCTYPE", 9)) {
			at += 9;
			continue;
		}
		at = skip_tag(read_name(at + 1 + end, name), &closed);
		if (closed || !strcmp(name, empty[0]) || !strcmp(name, empty[1]))
			continue;
		if (!end) {
			assert_true(depth < DEPTH_MAX);
			strcpy(open[depth++], name);
			continue;
		}
		assert_true(depth > 0);
		assert_string_equal(open[--depth], name);
	}
	assert_int_equal(depth, 0);
}

static void put_summary(struct written *written, const char *verdict)
{
	struct summary_report summary = {
		.seconds = 3.25, .vmas = 2, .faults = 78, .batches = 60, .installed_pages = 1038,
		.verdict = verdict,
	};

	written->sink->ops->summary(written->sink, &summary);
	assert_false(written->sink->failed);
	assert_balanced(written->text);
}

static void test_batches_and_traps(void **state)
{
	struct run_start start = sample_start(MODE_LAZY_AROUND);
	struct vma_report vma = sample_vma(2048);
	struct written written;

	(void)state;
	open_page(&written, 0, NULL);
	written.sink->ops->start(written.sink, &start);
	sample_touch(&vma, 0, 1, false, 1100);
	sample_batch(&vma, 1, 60, 16, 3100);
	sample_touch(&vma, 1900, 77, true, 1250);
	vma.batches.declined = 4;
	vma.map_offset_pages = 16;
	written.sink->ops->vma(written.sink, &vma);
	put_summary(&written, "All is well.");
	assert_contains(written.text, "<p class=\"verdict\">All is well.</p>");
	assert_contains(written.text, "<dt>Batches</dt><dd>60, 16.0 pages each, 4 declined</dd>");
	assert_contains(written.text, "<dt>Traps</dt><dd>138, 7.5 pages each</dd>");
	assert_contains(written.text, "from page 16 of the map");
	assert_contains(written.text, "Handler time of batches: average 3.10 us");
	assert_contains(written.text, "Pages of a batch: average 16,");
	assert_contains(written.text, "<td>bpf_map_mmap_fault, bpf_map_mmap_pages</td>");
	assert_contains(written.text, "<p>Nothing.</p>");
	assert_contains(written.text,
			"Of 64 parts of 32 pages: 31 came in whole, 3 in part, 30 not at all.");
	/* neither intervals nor updates were told */
	assert_null(strstr(written.text, "over time"));
	assert_null(strstr(written.text, "updates"));
	close_page(&written);
}

static void test_nothing_seen(void **state)
{
	static const struct run_start nothing;
	struct written written;

	(void)state;
	open_page(&written, 0, "pid");
	written.sink->ops->start(written.sink, &nothing);
	put_summary(&written, NULL);
	assert_contains(written.text, "No mapping of a BPF map was seen.");
	assert_contains(written.text, "None was made.");
	assert_contains(written.text, "size not known");
	close_page(&written);
}

static void test_losses_are_told_first_and_last(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct summary_report summary = { .verdict = "v", .lost = {
		.ring_full = 3, .vma_table_full = 4, .recursion = 5, .unseen_runs = 6,
	} };
	struct written written;

	(void)state;
	open_page(&written, 0, NULL);
	written.sink->ops->start(written.sink, &start);
	written.sink->ops->summary(written.sink, &summary);
	assert_balanced(written.text);
	assert_contains(written.text, "12 events were lost");
	assert_contains(written.text, "<li>3 events: the ring buffer was full");
	assert_contains(written.text, "<li>4 faults: their VMAs found no entry");
	assert_contains(written.text, "<li>5 faults: the kernel skipped");
	assert_contains(written.text, "<li>6 handler runs whose end was missed");
	close_page(&written);
}

static void test_order_and_rest(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct vma_report vma = sample_vma(64);
	struct written written;

	(void)state;
	open_page(&written, 2, "pid");
	written.sink->ops->start(written.sink, &start);
	sample_touch(&vma, 0, 10, false, 1000);
	for (uint32_t i = 0; i < 5; i++) {
		vma.pid = 105 - i;
		vma.row = i;
		written.sink->ops->vma(written.sink, &vma);
	}
	put_summary(&written, "v");
	assert_contains(written.text, "<th scope=\"col\" class=\"\" aria-sort=\"ascending\">Process");
	assert_true(strstr(written.text, "101 (") < strstr(written.text, "102 ("));
	assert_null(strstr(written.text, "103 ("));
	assert_contains(written.text, "And 3 more VMAs: 30 faults, 30 pages installed.");
	close_page(&written);
}

static void test_names_are_no_markup(void **state)
{
	static const char markup[] = "</title><script src=\"//x\">'&\xff\x1b[2J";
	struct run_start start = sample_start(MODE_UNKNOWN);
	struct vma_report vma = sample_vma(64);
	struct update_report update = {
		.span = SPAN_TOTAL, .comm = "<script>", .map = { 1, "</table>", "<b>" },
		.wait = "<i>",
	};
	struct written written;

	(void)state;
	open_page(&written, 0, NULL);
	start.scope = start.kernel = start.arch = start.version = markup;
	start.types[0].reason = start.types[0].fault = start.types[0].map_pages = markup;
	written.sink->ops->start(written.sink, &start);
	memcpy(vma.comm, "<script>\"'&", 12);
	memcpy(vma.map.name, "</td><script>", 14);
	vma.map.type = markup;
	dist_add(&update.ns, 5);
	written.sink->ops->vma(written.sink, &vma);
	written.sink->ops->update(written.sink, &update);
	put_summary(&written, markup);
	assert_null(strstr(written.text, "<script"));
	assert_null(strstr(written.text, "<i>"));
	assert_null(strchr(written.text, '\x1b'));
	assert_contains(written.text, "&lt;/title&gt;&lt;script src=&quot;//x&quot;&gt;&#39;&amp;"
				      "\\xff\\x1b[2J");
	close_page(&written);
}

static void test_updates(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct summary_report summary = { .seconds = 1 };
	struct update_report update = {
		.span = SPAN_TOTAL, .pid = 4711, .comm = "agent",
		.map = { 9, "tenants", "array_of_maps" }, .calls = 3, .wait = "expedited",
	};
	struct written written;

	(void)state;
	start.updates = true;
	open_page(&written, 0, NULL);
	written.sink->ops->start(written.sink, &start);
	dist_add(&update.ns, 15000000);
	dist_add(&update.wait_ns, 14000000);
	written.sink->ops->update(written.sink, &update);
	written.sink->ops->summary(written.sink, &summary);
	assert_balanced(written.text);
	assert_contains(written.text, "Map-in-map updates");
	assert_contains(written.text, "<td class=\"n\">93 %</td><td class=\"wide\">expedited</td>");
	assert_contains(written.text, "Waiting for a grace period: average 14.0 ms");
	assert_null(strstr(written.text, "No mapping"));
	/* no hook where page tables are written */
	assert_null(strstr(written.text, "Counting</dt>"));
	close_page(&written);
}

/* Faults of all intervals, however many, in at most 480 bars. */
static void test_many_intervals_are_added_up(void **state)
{
	static const unsigned int counts[] = { 1, 479, 480, 481, 960, 961, 5000 };
	struct run_start start = sample_start(MODE_LAZY);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		struct interval_report interval = { .seconds = 1, .faults = 3 };
		uint64_t sum = 0, bars = 0;
		struct written written;

		open_page(&written, 0, NULL);
		written.sink->ops->start(written.sink, &start);
		for (unsigned int k = 0; k < counts[i]; k++)
			written.sink->ops->interval(written.sink, &interval);
		put_summary(&written, "v");
		for (const char *at = written.text; (at = strstr(at, "</time></th>")); bars++) {
			at = strstr(strstr(at + 1, "</td>") + 1, "\"n\">") + 4;
			sum += strtoull(at, NULL, 10);
		}
		assert_true(bars <= 480);
		assert_int_equal(sum, 3 * counts[i]);
		close_page(&written);
	}
}

static void test_failed_write_is_told(void **state)
{
	FILE *out = fopen("/dev/full", "w");
	struct sink *sink = html_sink_new(out, 0, NULL);
	struct summary_report summary = { .seconds = 1 };

	(void)state;
	sink->ops->summary(sink, &summary);
	assert_true(sink->failed);
	assert_int_equal(sink->error, ENOSPC);
	sink_free(sink);
	fclose(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batches_and_traps),
		cmocka_unit_test(test_nothing_seen),
		cmocka_unit_test(test_losses_are_told_first_and_last),
		cmocka_unit_test(test_order_and_rest),
		cmocka_unit_test(test_names_are_no_markup),
		cmocka_unit_test(test_updates),
		cmocka_unit_test(test_many_intervals_are_added_up),
		cmocka_unit_test(test_failed_write_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
