/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that others chose, hostile or missing, in every string that a report
 * has and in each form of it: none moves the cursor, ends a quotation or
 * becomes markup. The forms are held against recognizers of their own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "html.h"
#include "openmetrics.h"
#include "sink.h"

#include "contains.h"
#include "sample.h"

#include "../fuzz/strict.c"

/* All the strings of a run are this one. */
struct story {
	struct run_start start;
	struct vma_report vma;
	struct update_report update;
	struct summary_report summary;
};

static struct story story_of(const char *name)
{
	struct story story = {
		.start = sample_start(MODE_LAZY_AROUND),
		.vma = sample_vma(64),
		.summary = { .seconds = 1, .vmas = 1, .faults = 8, .verdict = name },
	};
	struct run_start *start = &story.start;

	start->version = start->kernel = start->arch = start->scope = start->stop_hint = name;
	for (int i = 0; i < MODEL_TYPES; i++)
		start->types[i].reason = start->types[i].fault = start->types[i].map_pages = name;
	start->types[1].mode = MODE_NONE;
	sample_touch(&story.vma, 0, 8, true, 900);
	snprintf(story.vma.comm, sizeof(story.vma.comm), "%s", name);
	snprintf(story.vma.map.name, sizeof(story.vma.map.name), "%s", name);
	story.vma.map.type = name;
	memcpy(story.update.comm, story.vma.comm, sizeof(story.update.comm));
	story.update.map = story.vma.map;
	story.update.pid = 1;
	story.update.calls = 1;
	story.update.wait = name;
	dist_add(&story.update.ns, 5000);
	return story;
}

static void tell(struct sink *sink, const struct story *story, bool updates)
{
	static const struct interval_report interval = { .seconds = 1, .faults = 8 };
	struct run_start start = story->start;

	start.updates = updates;
	sink->ops->start(sink, &start);
	for (int span = SPAN_INTERVAL; span <= SPAN_TOTAL; span++) {
		struct update_report update = story->update;
		struct vma_report vma = story->vma;

		update.span = vma.span = (enum span)span;
		if (updates)
			sink->ops->update(sink, &update);
		else
			sink->ops->vma(sink, &vma);
		if (span == SPAN_INTERVAL)
			sink->ops->interval(sink, &interval);
	}
	sink->ops->summary(sink, &story->summary);
	assert_false(sink->failed);
	sink_free(sink);
}

struct text {
	char *bytes;
	size_t size;
};

enum form { TEXT, UNICODE, JSON, HTML, FORMS };

static struct text print(const struct story *story, enum form form, bool updates)
{
	struct text text = { NULL, 0 };
	FILE *out = open_memstream(&text.bytes, &text.size);
	const struct text_options options = {
		.verbose = true, .intervals = true, .timestamp = true,
		.unicode = form == UNICODE,
	};

	tell(form == JSON ? json_sink_new(out) : form == HTML ? html_sink_new(out, 0, NULL) :
	     text_sink_new(out, &options), story, updates);
	fclose(out);
	return text;
}

static struct text print_metrics(const struct story *story)
{
	char path[] = "/tmp/lazyfault-names-XXXXXX", message[256];
	struct text text = { NULL, 0 };
	FILE *out = open_memstream(&text.bytes, &text.size), *in;
	struct sink *sink;
	int fd = mkstemp(path), byte;

	assert_true(fd >= 0);
	close(fd);
	sink = openmetrics_sink_new(path, true, message, sizeof(message));
	assert_non_null(sink);
	tell(sink, story, false);
	in = fopen(path, "r");
	assert_non_null(in);
	while ((byte = getc(in)) != EOF)
		putc(byte, out);
	fclose(in);
	fclose(out);
	unlink(path);
	return text;
}

static void check(const char *name)
{
	const struct story story = story_of(name);
	struct text text;

	for (int form = 0; form < FORMS; form++)
		for (int updates = 0; updates < 2; updates++) {
			text = print(&story, (enum form)form, updates);
			require_of(form == JSON ? is_json_lines(text.bytes, text.size) :
				   form == HTML ? is_html(text.bytes, text.size) :
				   is_for_terminal(text.bytes, text.size), text.bytes, text.size);
			free(text.bytes);
		}
	text = print_metrics(&story);
	require_of(is_metrics(text.bytes, text.size), text.bytes, text.size);
	free(text.bytes);
}

static void test_bytes_one_by_one(void **state)
{
	char name[8] = "a_b";

	(void)state;
	for (int byte = 1; byte < 256; byte++) {
		name[1] = (char)byte;
		check(name);
	}
}

static void test_characters_that_control(void **state)
{
	static const char *const names[] = {
		"\x1b[2J", "\x1b]0;t\x07", "\r\nok 1", "\xc2\x9bK", "\xc2\x85", "\xe2\x80\xae",
		"\xe2\x80\x8f", "\xe2\x81\xa6", "\xd8\x9c", "\xe2\x80\xa8", "\xef\xbb\xbf",
		"\xf3\xa0\x80\x81", "e\xcc\x81\xcc\x81",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check(names[i]);
}

static void test_broken_utf8(void **state)
{
	static const char *const names[] = {
		"\xc3", "\xe2\x82", "\xf0\x9f\x90", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
		"\xff\xfe", "cut in the mid\xd0", "\x80\x80\x80",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check(names[i]);
}

static void test_quotations_and_markup(void **state)
{
	static const char *const names[] = {
		"\"", "\\", "\\\"}", "'", "<b>", "</style>", "-->", "&lt;", "]]>", "a\",b=\"", "%s%n",
		"{}[],:", "\\u0000", "# EOF",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check(names[i]);
}

static void test_map_without_a_name(void **state)
{
	struct story story;
	struct text text;

	(void)state;
	check("");
	story = story_of("");
	text = print(&story, TEXT, false);
	assert_contains(text.bytes, "map id 7");
	free(text.bytes);
	text = print(&story, JSON, false);
	assert_contains(text.bytes, "\"map\":{\"id\":7,\"name\":\"\"");
	free(text.bytes);
	text = print(&story, HTML, false);
	assert_contains(text.bytes, "7");
	free(text.bytes);
}

/* The recognizers do refuse: else what is above shows nothing. */
static void test_recognizers(void **state)
{
#define IS(recognizer, text) recognizer(text, sizeof(text) - 1)
	(void)state;
	assert_true(IS(is_for_terminal, "a b\nбаза"));
	assert_false(IS(is_for_terminal, "\x1b[2J"));
	assert_false(IS(is_for_terminal, "\xc2\x9b"));
	assert_false(IS(is_for_terminal, "\xe2\x80\xae"));
	assert_false(IS(is_for_terminal, "\xff"));
	assert_true(IS(is_json_lines, "{\"a\":[1,-2.5e3,null,{\"b\":\"\\u00e9\\n\"}]}\n{}\n"));
	assert_false(IS(is_json_lines, "{\"a\":1}"));
	assert_false(IS(is_json_lines, "{\"a\":01}\n"));
	assert_false(IS(is_json_lines, "{\"a\":\"\x01\"}\n"));
	assert_false(IS(is_json_lines, "{\"a\":\"\xff\"}\n"));
	assert_false(IS(is_json_lines, "{\"a\":nan}\n"));
	assert_false(IS(is_json_lines, "{\"a\":1,}\n"));
	assert_true(IS(is_html, "<!DOCTYPE html><p class=\"a\">1 &lt; 2<br></p>"));
	assert_false(IS(is_html, "<!DOCTYPE html><p>"));
	assert_false(IS(is_html, "<!DOCTYPE html><script></script>"));
	assert_false(IS(is_html, "<!DOCTYPE html><p onclick=\"a\"></p>"));
	assert_false(IS(is_html, "<!DOCTYPE html><p>a & b</p>"));
	assert_true(IS(is_metrics, "# HELP lazyfault_a b\nlazyfault_a{b=\"c\\\"\"} 1\n# EOF\n"));
	assert_false(IS(is_metrics, "lazyfault_a{b=\"c\"d\"} 1\n# EOF\n"));
	assert_false(IS(is_metrics, "lazyfault_a{b=\"c\"} 1\n"));
#undef IS
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recognizers),
		cmocka_unit_test(test_bytes_one_by_one),
		cmocka_unit_test(test_characters_that_control),
		cmocka_unit_test(test_broken_utf8),
		cmocka_unit_test(test_quotations_and_markup),
		cmocka_unit_test(test_map_without_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
