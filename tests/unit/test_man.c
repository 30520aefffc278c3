/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holds the man page against the program: every key that JSON records have is
 * described, and nothing is that they do not have; the same for sort keys.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "held.h"
#include "options.h"
#include "sink.h"

#include "contains.h"

#define PATHS 256
#define PATH_BYTES 96

/* Dotted paths of keys, each once. */
struct paths {
	char items[PATHS][PATH_BYTES];
	size_t count;
};

static bool has_path(const struct paths *paths, const char *path)
{
	for (size_t i = 0; i < paths->count; i++)
		if (strcmp(paths->items[i], path) == 0)
			return true;
	return false;
}

static void add_path(struct paths *paths, const char *path)
{
	if (has_path(paths, path))
		return;
	assert_true(paths->count < PATHS);
	snprintf(paths->items[paths->count++], PATH_BYTES, "%s", path);
}

static int load_page(void **state)
{
	char *text = NULL, block[4096];
	size_t bytes, got;
	FILE *out = open_memstream(&text, &bytes), *in = fopen("man/lazyfault.8", "r");

	if (!in || !out)
		return -1;
	while ((got = fread(block, 1, sizeof(block), in)) > 0)
		fwrite(block, 1, got, out);
	fclose(in);
	fclose(out);
	*state = text;
	return 0;
}

static int free_page(void **state)
{
	free(*state);
	return 0;
}

/* The paths that the page describes, as ".It Va PATH". */
static void read_described(const char *page, struct paths *paths)
{
	static const char item[] = "\n.It Va ";
	char path[PATH_BYTES];

	for (const char *at = strstr(page, item); at; at = strstr(at + 1, item)) {
		const char *name = at + strlen(item);

		snprintf(path, sizeof(path), "%.*s", (int)strcspn(name, "\n"), name);
		add_path(paths, path);
	}
}

/* Records with all there can be in them. */

static void fill_vma(struct vma_report *vma)
{
	*vma = (struct vma_report) {
		.span = SPAN_TOTAL, .pid = 1, .comm = "comm\xff",
		.map = { .id = 1, .name = "name", .type = "array" },
		.raced_known = false,
		.where = { .pages_per_bin = 1, .count = 1 },
	};
	vma->fault_ns.open_slot = 3;
	dist_add(&vma->fault_ns, 1);
	dist_add(&vma->fault_ns, 1000);
	dist_add(&vma->batch_ns, 1);
	dist_add(&vma->batch_pages, 1);
}

static void fill_start(struct run_start *start)
{
	*start = (struct run_start) {
		.version = "1", .kernel = "7.3", .arch = "x86_64", .page_bytes = 4096,
		.scope = "command \xff", .filtered = true, .stop_hint = "Hit Ctrl-C to end.",
		.types = {
			{ .type = "array", .mode = MODE_LAZY, .fault = "f", .map_pages = "m" },
			{ .type = "arena", .mode = MODE_NONE, .reason = "why" },
			{ .type = "ringbuf", .mode = MODE_EAGER },
		},
		.updates = true,
		.events = true,
		.rcu = { .asks = "normal", .waits = "normal" },
	};
}

static void fill_update(struct update_report *update)
{
	*update = (struct update_report) {
		.span = SPAN_TOTAL, .pid = 1, .comm = "comm",
		.map = { .id = 1, .name = "name", .type = "hash_of_maps" }, .wait = "none",
	};
	dist_add(&update->ns, 1);
	dist_add(&update->wait_ns, 1);
}

/* All records that runs of `faults` and `updates` print, a line each; allocated. */
static char *print_records(void)
{
	const struct interval_report interval = { .seconds = 1 };
	const struct summary_report summary = {
		.seconds = 1, .verdict = "verdict", .lost = { .recursion_at_most = true },
	};
	struct run_start start;
	struct event_report event = { .comm = "comm", .map.name = "name" };
	struct update_report update;
	struct vma_report vma;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	struct sink *sink = json_sink_new(out);

	assert_non_null(sink);
	fill_start(&start);
	fill_vma(&vma);
	fill_update(&update);
	sink->ops->start(sink, &start);
	sink->ops->vma(sink, &vma);
	sink->ops->update(sink, &update);
	sink->ops->event(sink, &event);
	sink->ops->interval(sink, &interval);
	sink->ops->summary(sink, &summary);
	assert_false(sink->failed);
	sink_free(sink);
	fclose(out);
	return text;
}

static bool is_one_of(const char *key, const char *const *words)
{
	for (; *words; words++)
		if (strcmp(key, *words) == 0)
			return true;
	return false;
}

/* The page's name for a key: map types stand for one another. */
static const char *name_of(const char *key)
{
	static const char *const types[] = { "array", "arena", "ringbuf", NULL };

	return is_one_of(key, types) ? "TYPE" : key;
}

static void walk(struct paths *paths, const char *prefix, struct json_object *value);

/* What is inside of a distribution is described once, as DIST. */
static void walk_key(struct paths *paths, const char *prefix, const char *key,
		     struct json_object *value)
{
	static const char *const dists[] = {
		"fault_ns", "batch_ns", "batch_pages", "ns", "wait_ns", NULL
	};
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "", name_of(key));
	add_path(paths, path);
	walk(paths, is_one_of(key, dists) ? "DIST" : path, value);
}

static void walk(struct paths *paths, const char *prefix, struct json_object *value)
{
	if (json_object_is_type(value, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(value); i++)
			walk(paths, prefix, json_object_array_get_idx(value, i));
	} else if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, key, member)
			walk_key(paths, prefix, key, member);
	}
}

static void read_printed(struct paths *paths)
{
	char *text = print_records();

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		struct json_object *record = json_tokener_parse(line);

		assert_non_null(record);
		walk(paths, "", record);
		json_object_put(record);
	}
	free(text);
}

static void test_every_key_is_described(void **state)
{
	struct paths printed = { .count = 0 }, described = { .count = 0 };

	read_described(*state, &described);
	read_printed(&printed);
	assert_true(printed.count > 50);
	for (size_t i = 0; i < printed.count; i++) {
		if (strcmp(printed.items[i], "type") == 0)
			continue;	/* told of all records, before the lists */
		if (!has_path(&described, printed.items[i]))
			fail_msg("the page has no '.It Va %s'", printed.items[i]);
	}
	assert_contains(*state, "\n.Va type\n");
}

static void test_every_description_has_its_key(void **state)
{
	/* `check` prints these; tests/man/lazyfault.t runs it */
	static const char *const of_check[] = {
		"ok", "items", "items.name", "items.ok", "items.detail", NULL
	};
	struct paths printed = { .count = 0 }, described = { .count = 0 };

	read_described(*state, &described);
	read_printed(&printed);
	for (size_t i = 0; i < described.count; i++)
		if (!has_path(&printed, described.items[i]) &&
		    !is_one_of(described.items[i], of_check))
			fail_msg("no record has '%s'", described.items[i]);
}

/* Items of one list of the page, from its first line to its last. */
static void read_items(const char *page, const char *from, const char *macro,
		       struct paths *paths)
{
	const char *at = strstr(page, from), *end;
	char item[32], path[PATH_BYTES];

	assert_non_null(at);
	end = strstr(at, "\n.El");
	assert_non_null(end);
	snprintf(item, sizeof(item), "\n.It %s ", macro);
	for (at = strstr(at, item); at && at < end; at = strstr(at + 1, item)) {
		snprintf(path, sizeof(path), "%.*s", (int)strcspn(at + strlen(item), "\n"),
			 at + strlen(item));
		add_path(paths, path);
	}
}

/* Those that one record has must stand in its own list, whatever others have of the same name. */
static void test_every_key_of_a_vma_is_described_there(void **state)
{
	struct paths described = { .count = 0 }, printed = { .count = 0 };
	char *text = print_records(), *line = strstr(text, "{\"type\":\"vma\"");
	struct json_object *record;

	assert_non_null(line);
	line[strcspn(line, "\n")] = '\0';
	record = json_tokener_parse(line);
	assert_non_null(record);
	json_object_object_foreach(record, key, member) {
		(void)member;
		add_path(&printed, key);
	}
	json_object_put(record);
	free(text);
	read_items(*state, "\n.Cm vma\nrecord:\n", "Va", &described);
	for (size_t i = 0; i < printed.count; i++)
		if (!has_path(&described, printed.items[i]) && strcmp(printed.items[i], "type"))
			fail_msg("the list of vma records has no '.It Va %s'", printed.items[i]);
}

/* Of what is printed no further the page says so, with the program's own number. */
static void test_rows_that_are_printed_at_most(void **state)
{
	char text[64];

	snprintf(text, sizeof(text), "not given, these are the first %d; JSON", HELD_MAX);
	assert_contains(*state, text);
	snprintf(text, sizeof(text), "(beyond the first\n%d they are counted", HELD_MAX);
	assert_contains(*state, text);
}

static void assert_keys_described(const char *page, const char *from, const char *const *keys)
{
	struct paths described = { .count = 0 };
	size_t i;

	read_items(page, from, "Cm", &described);
	for (i = 0; keys[i] && i < described.count; i++)
		assert_string_equal(described.items[i], keys[i]);
	assert_null(keys[i]);
	assert_int_equal(i, described.count);
}

static void test_sort_keys_are_described_in_order(void **state)
{
	assert_keys_described(*state, "\n.It Fl s , Fl -sort", vma_sort_keys);
	assert_keys_described(*state, "\nThe keys of\n.Cm updates\n", update_sort_keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_key_is_described),
		cmocka_unit_test(test_every_key_of_a_vma_is_described_there),
		cmocka_unit_test(test_rows_that_are_printed_at_most),
		cmocka_unit_test(test_every_description_has_its_key),
		cmocka_unit_test(test_sort_keys_are_described_in_order),
	};

	return cmocka_run_group_tests(tests, load_page, free_page);
}
