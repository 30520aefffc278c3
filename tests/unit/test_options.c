/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line: what each option takes, and that everything else ends
 * with status 64 and one line that names option, value and what is allowed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"
#include "sink.h"

#include "contains.h"

#define LINE(...) ((char *[]) { "lazyfault", __VA_ARGS__, NULL })

static int count_arguments(char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return argc;
}

static struct options parsed(char **argv)
{
	struct options options;

	options_parse(&options, count_arguments(argv), argv);
	return options;
}

/* A whole run of the parser in a child, which may exit. */
struct outcome {
	int status;
	char out[16384], err[4096];
};

static void read_all(int fd, char *text, size_t bytes)
{
	size_t used = 0;
	ssize_t got;

	while (used < bytes - 1 && (got = read(fd, text + used, bytes - 1 - used)) > 0)
		used += (size_t)got;
	text[used] = '\0';
	close(fd);
}

static void run_child(char **argv, int out, int err)
{
	struct options options;

	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	options_parse(&options, count_arguments(argv), argv);
	options_free(&options);
	exit(0);
}

static void run(struct outcome *outcome, char **argv)
{
	int out[2], err[2], status;
	pid_t child;

	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(err), 0);
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		run_child(argv, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	read_all(out[0], outcome->out, sizeof(outcome->out));
	read_all(err[0], outcome->err, sizeof(outcome->err));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	outcome->status = WEXITSTATUS(status);
}

/* Status 64, and one line with all of the parts (NULL-terminated). */
static void assert_refused(char **argv, ...)
{
	struct outcome outcome;
	const char *part;
	va_list parts;

	run(&outcome, argv);
	if (outcome.status != 64)
		fail_msg("status %d, not 64, after: %s", outcome.status, outcome.err);
	assert_string_equal(outcome.out, "");
	assert_one_line(outcome.err);
	assert_int_equal(strncmp(outcome.err, "lazyfault", strlen("lazyfault")), 0);
	va_start(parts, argv);
	while ((part = va_arg(parts, const char *)))
		assert_contains(outcome.err, part);
	va_end(parts);
}

/* The parsers. */

static void test_parse_unsigned(void **state)
{
	static const struct {
		const char *text;
		uint64_t min, max;
		int err;
		uint64_t value;
	} cases[] = {
		{ "0", 0, 9, 0, 0 },
		{ "9", 0, 9, 0, 9 },
		{ "007", 1, 9, 0, 7 },
		{ "18446744073709551615", 0, UINT64_MAX, 0, UINT64_MAX },
		{ "10", 0, 9, -ERANGE, 0 },
		{ "0", 1, 9, -ERANGE, 0 },
		{ "-1", 0, 9, -ERANGE, 0 },
		{ "-18446744073709551615", 0, 9, -ERANGE, 0 },
		{ "18446744073709551616", 0, UINT64_MAX, -ERANGE, 0 },
		{ "99999999999999999999999", 0, UINT64_MAX, -ERANGE, 0 },
		{ "", 0, 9, -EINVAL, 0 },
		{ "-", 0, 9, -EINVAL, 0 },
		{ "haha", 0, 9, -EINVAL, 0 },
		{ "1x", 0, 9, -EINVAL, 0 },
		{ "x1", 0, 9, -EINVAL, 0 },
		{ " 1", 0, 9, -EINVAL, 0 },
		{ "1 ", 0, 9, -EINVAL, 0 },
		{ "+1", 0, 9, -EINVAL, 0 },
		{ "--1", 0, 9, -EINVAL, 0 },
		{ "0x1", 0, 9, -EINVAL, 0 },
		{ "1.0", 0, 9, -EINVAL, 0 },
		{ "1e0", 0, 9, -EINVAL, 0 },
		{ "99999999999999999999999x", 0, 9, -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint64_t value = 4711;
		int err = parse_unsigned(cases[i].text, cases[i].min, cases[i].max, &value);

		if (err != cases[i].err || value != (err ? 4711 : cases[i].value))
			fail_msg("'%s': %d, %" PRIu64, cases[i].text, err, value);
	}
}

static void assert_seconds(void)
{
	static const struct {
		const char *text;
		double max;
		int err;
		double value;
	} cases[] = {
		{ "1", 10, 0, 1 },
		{ "10", 10, 0, 10 },
		{ "0.5", 10, 0, 0.5 },
		{ ".5", 10, 0, 0.5 },
		{ "1.25", 10, 0, 1.25 },
		{ "0.000000001", 10, 0, 1e-9 },
		{ "2.0000000000000000000000", 10, 0, 2 },
		{ "3.5000000000000000000001", 10, 0, 3.5 },
		{ "10.000000001", 10, -ERANGE, 0 },
		{ "11", 10, -ERANGE, 0 },
		{ "0", 10, -ERANGE, 0 },
		{ "0.0", 10, -ERANGE, 0 },
		{ "0.0000000009", 10, -ERANGE, 0 },
		{ "-1", 10, -ERANGE, 0 },
		{ "-0.5", 10, -ERANGE, 0 },
		{ "99999999999999999999999", 10, -ERANGE, 0 },
		{ "", 10, -EINVAL, 0 },
		{ "-", 10, -EINVAL, 0 },
		{ ".", 10, -EINVAL, 0 },
		{ "1.", 10, -EINVAL, 0 },
		{ "1.x", 10, -EINVAL, 0 },
		{ "1x", 10, -EINVAL, 0 },
		{ "1.5s", 10, -EINVAL, 0 },
		{ "1,5", 10, -EINVAL, 0 },
		{ "1.5.5", 10, -EINVAL, 0 },
		{ "1e1", 10, -EINVAL, 0 },
		{ " 1", 10, -EINVAL, 0 },
		{ "haha", 10, -EINVAL, 0 },
		{ "inf", 10, -EINVAL, 0 },
		{ "nan", 10, -EINVAL, 0 },
		{ "0x1", 10, -EINVAL, 0 },
		{ "99999999999999999999999x", 10, -EINVAL, 0 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		double value = 4711;
		int err = parse_seconds(cases[i].text, cases[i].max, &value);

		if (err != cases[i].err || value != (err ? 4711 : cases[i].value))
			fail_msg("'%s': %d, %.12g", cases[i].text, err, value);
	}
}

static void test_parse_seconds(void **state)
{
	(void)state;
	assert_seconds();
}

static void test_parse_seconds_where_the_point_is_a_comma(void **state)
{
	(void)state;
	if (!setlocale(LC_ALL, "de_DE.UTF-8"))
		skip();
	assert_string_equal(localeconv()->decimal_point, ",");
	assert_seconds();
	setlocale(LC_ALL, "C");
}

/* What is taken. */

static void test_defaults(void **state)
{
	struct options options = parsed((char *[]) { "lazyfault", NULL });

	(void)state;
	assert_int_equal(options.command, COMMAND_FAULTS);
	assert_int_equal(options.pid_count, 0);
	assert_int_equal(options.map_count, 0);
	assert_null(options.cgroup);
	assert_null(options.output);
	assert_null(options.sort_key);
	assert_null(options.argv);
	assert_true(options.duration == 0 && options.interval == 0);
	assert_int_equal(options.count, 0);
	assert_int_equal(options.top, 0);
	assert_int_equal(options.max_vmas, 16384);
	assert_int_equal(options.ring_bytes, 0);
	assert_false(options.timestamp || options.json || options.light || options.no_time ||
		     options.quiet || options.verbose);
	options_free(&options);
}

static void test_commands(void **state)
{
	static const struct {
		char *argv[5];
		enum command command;
		bool json;
		double interval;
	} cases[] = {
		{ { "lazyfault", "faults", NULL }, COMMAND_FAULTS, false, 0 },
		{ { "lazyfault", "faults", "-j", "2", NULL }, COMMAND_FAULTS, true, 2 },
		{ { "lazyfault", "updates", NULL }, COMMAND_UPDATES, false, 0 },
		{ { "lazyfault", "updates", "-j", "0.5", NULL }, COMMAND_UPDATES, true, 0.5 },
		{ { "lazyfault", "check", NULL }, COMMAND_CHECK, false, 0 },
		{ { "lazyfault", "check", "-j", "-v", NULL }, COMMAND_CHECK, true, 0 },
		{ { "lazyfault", "check", "--json", NULL }, COMMAND_CHECK, true, 0 },
		{ { "lazyfault", "report", "a", NULL }, COMMAND_REPORT, false, 0 },
		{ { "lazyfault", "report", "-j", "-", NULL }, COMMAND_REPORT, true, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct options options = parsed((char **)cases[i].argv);

		assert_int_equal(options.command, cases[i].command);
		assert_int_equal(options.json, cases[i].json);
		assert_true(options.interval == cases[i].interval);
		options_free(&options);
	}
}

static void test_flags(void **state)
{
	static const struct {
		char *option;
		size_t field;
	} flags[] = {
		{ "-T", offsetof(struct options, timestamp) },
		{ "--timestamp", offsetof(struct options, timestamp) },
		{ "-j", offsetof(struct options, json) },
		{ "--json", offsetof(struct options, json) },
		{ "--light", offsetof(struct options, light) },
		{ "--no-time", offsetof(struct options, no_time) },
		{ "-e", offsetof(struct options, events) },
		{ "--events", offsetof(struct options, events) },
		{ "-q", offsetof(struct options, quiet) },
		{ "--quiet", offsetof(struct options, quiet) },
		{ "-v", offsetof(struct options, verbose) },
		{ "--verbose", offsetof(struct options, verbose) },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(flags); i++) {
		struct options options = parsed(LINE(flags[i].option));
		int set = options.timestamp + options.json + options.light + options.no_time +
			  options.quiet + options.verbose + options.events;

		assert_true(*(bool *)((char *)&options + flags[i].field));
		assert_int_equal(set, 1);
		options_free(&options);
	}
}

static void test_values(void **state)
{
	struct options options = parsed(LINE("-c", "/sys/fs/cgroup/a", "-d", "1.5", "-n3",
					     "--sort=time", "-o", "out", "--max-vmas", "16",
					     "--ring-size=4M", "0.25", "7"));

	(void)state;
	assert_string_equal(options.cgroup, "/sys/fs/cgroup/a");
	assert_true(options.duration == 1.5);
	assert_int_equal(options.top, 3);
	assert_string_equal(options.sort_key, "time");
	assert_string_equal(options.output, "out");
	assert_int_equal(options.max_vmas, 16);
	assert_int_equal(options.ring_bytes, 4 << 20);
	assert_true(options.interval == 0.25);
	assert_int_equal(options.count, 7);
	options_free(&options);
}

static void test_limits_are_in_range(void **state)
{
	struct options options;
	char page[32];

	(void)state;
	snprintf(page, sizeof(page), "%ld", sysconf(_SC_PAGESIZE));
	options = parsed(LINE("-p", "1,4194304", "--max-vmas=1048576", "--top=2147483647",
			      "--duration=31536000", "--ring-size", page, "0.01", "2147483647"));
	assert_int_equal(options.pids[1], 4194304);
	assert_int_equal(options.max_vmas, 1048576);
	assert_int_equal(options.top, 2147483647);
	assert_true(options.duration == 31536000);
	assert_int_equal(options.ring_bytes, sysconf(_SC_PAGESIZE));
	assert_true(options.interval == 0.01);
	assert_int_equal(options.count, 2147483647);
	options_free(&options);
	options = parsed(LINE("--ring-size=1024M"));
	assert_int_equal(options.ring_bytes, 1u << 30);
	options_free(&options);
}

static void test_pids_keep_order_without_repeats(void **state)
{
	struct options options = parsed(LINE("-p", "30,4", "--pid=4,500", "-p30"));

	(void)state;
	assert_int_equal(options.pid_count, 3);
	assert_int_equal(options.pids[0], 30);
	assert_int_equal(options.pids[1], 4);
	assert_int_equal(options.pids[2], 500);
	options_free(&options);
}

static void test_sort_keys(void **state)
{
	(void)state;
	assert_non_null(vma_sort_keys[0]);
	for (size_t i = 0; vma_sort_keys[i]; i++) {
		struct options options = parsed(LINE("-s", (char *)vma_sort_keys[i]));

		assert_string_equal(options.sort_key, vma_sort_keys[i]);
		options_free(&options);
	}
}

static void test_sort_keys_of_updates(void **state)
{
	(void)state;
	assert_non_null(update_sort_keys[0]);
	for (size_t i = 0; update_sort_keys[i]; i++) {
		struct options options = parsed(LINE("updates", "-s",
						     (char *)update_sort_keys[i]));

		assert_string_equal(options.sort_key, update_sort_keys[i]);
		options_free(&options);
		/* a saved capture may be of either report */
		options = parsed(LINE("report", "-s", (char *)update_sort_keys[i], "file"));
		assert_string_equal(options.sort_key, update_sort_keys[i]);
		options_free(&options);
	}
	assert_refused(LINE("updates", "-s", "installed"), "installed", "waiting", NULL);
	assert_refused(LINE("-s", "waiting"), "waiting", "installed", NULL);
	assert_refused(LINE("report", "-s", "x", "file"), "installed", "waiting", NULL);
}

/* Each of eight VMAs comes first by one key only. */
static void report_vma(struct sink *sink, size_t number)
{
	struct vma_report vma = {
		.span = SPAN_TOTAL, .mapped = true, .row = number, .pid = 50, .comm = "comm",
		.map = { .id = 50, .name = "name", .type = "array" },
		.start = 0x50000, .end = 0x60000, .pages = 16,
	};

	snprintf(vma.comm, sizeof(vma.comm), "vma%zu", number);
	vma.faults.total = number == 0 ? 9 : 1;
	vma.installed_pages = number == 1 ? 9 : 1;
	dist_add(&vma.fault_ns, number == 2 ? 9 : 1);
	vma.batches.total = number == 3 ? 9 : 1;
	vma.faults.raced = number == 4 ? 9 : 1;
	vma.pid = number == 5 ? 1 : 50;
	vma.map.id = number == 6 ? 1 : 50;
	vma.start = number == 7 ? 0x10000 : 0x50000;
	sink->ops->vma(sink, &vma);
}

static void assert_sorts_first(const char *key, const char *comm)
{
	static const char *const types[] = { "array", "arena", "ringbuf" };
	const struct summary_report summary = { .verdict = "" };
	const struct text_options options = { .sort_key = key, .top = 1, .quiet = true };
	struct run_start start = { .version = "", .kernel = "", .arch = "", .page_bytes = 4096 };
	size_t bytes;
	char *text;
	FILE *out = open_memstream(&text, &bytes);
	struct sink *sink = text_sink_new(out, &options);

	for (size_t i = 0; i < COUNT_OF(types); i++)
		start.types[i].type = types[i];
	sink->ops->start(sink, &start);
	for (size_t i = 0; i < 8; i++)
		report_vma(sink, i);
	sink->ops->summary(sink, &summary);
	sink_free(sink);
	fclose(out);
	if (!strstr(text, comm))
		fail_msg("sorted by %s, %s does not come first: %s", key, comm, text);
	free(text);
}

/* Each key that --sort takes is known to the text report, which orders by it. */
static void test_sort_keys_are_those_of_the_text_report(void **state)
{
	static const struct {
		const char *key, *first;
	} order[] = {
		{ "faults", "(vma0)" }, { "installed", "(vma1)" }, { "time", "(vma2)" },
		{ "batches", "(vma3)" }, { "raced", "(vma4)" }, { "pid", "(vma5)" },
		{ "map", "(vma6)" }, { "start", "(vma7)" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(order); i++) {
		assert_non_null(vma_sort_keys[i]);
		assert_string_equal(vma_sort_keys[i], order[i].key);
		assert_sorts_first(order[i].key, order[i].first);
	}
	assert_null(vma_sort_keys[COUNT_OF(order)]);
	assert_sorts_first(NULL, order[0].first);
}

/* Each of seven updates comes first by one key only. */
static void report_update(struct sink *sink, size_t number)
{
	struct update_report update = {
		.span = SPAN_TOTAL, .pid = number == 5 ? 1 : 50,
		.map = { .id = number == 6 ? 1 : 50, .name = "name", .type = "hash_of_maps" },
		.calls = number == 1 ? 9 : 2, .failed = number == 2 ? 9 : 1, .wait = "normal",
	};

	snprintf(update.comm, sizeof(update.comm), "update%zu", number);
	dist_add(&update.ns, number == 4 ? 12 : number == 0 ? 10 : 5);
	dist_add(&update.ns, number == 0 ? 10 : 5);
	dist_add(&update.wait_ns, number == 3 ? 9 : 1);
	sink->ops->update(sink, &update);
}

static void assert_update_sorts_first(const char *key, const char *comm)
{
	const struct summary_report summary = { .verdict = "" };
	const struct text_options options = { .sort_key = key, .top = 1, .quiet = true };
	const struct run_start start = { .updates = true };
	size_t bytes;
	char *text;
	FILE *out = open_memstream(&text, &bytes);
	struct sink *sink = text_sink_new(out, &options);

	sink->ops->start(sink, &start);
	for (size_t i = 0; i < 7; i++)
		report_update(sink, i);
	sink->ops->summary(sink, &summary);
	sink_free(sink);
	fclose(out);
	if (!strstr(text, comm))
		fail_msg("sorted by %s, %s does not come first: %s", key, comm, text);
	/* the others as one sum: their calls, and the time in them */
	assert_contains(text, "... and 6 more:");
	free(text);
}

static void test_sort_keys_of_updates_are_those_of_the_text_report(void **state)
{
	static const struct {
		const char *key, *first;
	} order[] = {
		{ "time", "(update0)" }, { "calls", "(update1)" }, { "failed", "(update2)" },
		{ "waiting", "(update3)" }, { "max", "(update4)" }, { "pid", "(update5)" },
		{ "map", "(update6)" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(order); i++) {
		assert_non_null(update_sort_keys[i]);
		assert_string_equal(update_sort_keys[i], order[i].key);
		assert_update_sorts_first(order[i].key, order[i].first);
	}
	assert_null(update_sort_keys[COUNT_OF(order)]);
	assert_update_sorts_first(NULL, order[0].first);
}

static void test_map_forms(void **state)
{
	static const struct {
		char *argv[6];
		enum map_selector_kind kind;
		uint32_t id;
		const char *text, *given;
	} cases[] = {
		{ { "lazyfault", "-m", "7" }, MAP_BY_ID, 7, "7", "7" },
		{ { "lazyfault", "-m2147483647" }, MAP_BY_ID, 2147483647, "2147483647",
		  "2147483647" },
		{ { "lazyfault", "-m", "id 7" }, MAP_BY_ID, 7, "7", "id 7" },
		{ { "lazyfault", "--map=id  7" }, MAP_BY_ID, 7, "7", "id  7" },
		{ { "lazyfault", "-m", "name foo" }, MAP_BY_NAME, 0, "foo", "name foo" },
		{ { "lazyfault", "-m", "name\t7" }, MAP_BY_NAME, 0, "7", "name\t7" },
		{ { "lazyfault", "-m", "name id" }, MAP_BY_NAME, 0, "id", "name id" },
		{ { "lazyfault", "-m", "pinned /a b" }, MAP_BY_PIN, 0, "/a b", "pinned /a b" },
		/* as bpftool has it */
		{ { "lazyfault", "-m", "id", "7" }, MAP_BY_ID, 7, "7", "id 7" },
		{ { "lazyfault", "-m", "name", "foo" }, MAP_BY_NAME, 0, "foo", "name foo" },
		{ { "lazyfault", "--map=pinned", "/a b" }, MAP_BY_PIN, 0, "/a b",
		  "pinned /a b" },
		{ { "lazyfault", "-m", "name", "7", "-q" }, MAP_BY_NAME, 0, "7", "name 7" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct options options = parsed((char **)cases[i].argv);

		assert_int_equal(options.map_count, 1);
		assert_int_equal(options.maps[0].kind, cases[i].kind);
		assert_int_equal(options.maps[0].id, cases[i].id);
		assert_string_equal(options.maps[0].text, cases[i].text);
		assert_string_equal(options.maps[0].given, cases[i].given);
		assert_true(options.interval == 0);
		options_free(&options);
	}
}

static void test_maps_and_interval(void **state)
{
	struct options options = parsed(LINE("5", "-m", "name", "foo", "-m7", "3", "-m", "7"));

	(void)state;
	assert_int_equal(options.map_count, 3);
	assert_string_equal(options.maps[0].text, "foo");
	assert_int_equal(options.maps[1].id, 7);
	assert_int_equal(options.maps[2].id, 7);
	assert_true(options.interval == 5);
	assert_int_equal(options.count, 3);
	options_free(&options);
}

static void test_command_to_run(void **state)
{
	char **argv = LINE("-j", "2", "--", "prog", "-p", "haha", "--", "check");
	struct options options = parsed(argv);

	(void)state;
	assert_true(options.json);
	assert_true(options.interval == 2);
	assert_int_equal(options.pid_count, 0);
	assert_ptr_equal(options.argv, argv + 4);
	assert_string_equal(options.argv[0], "prog");
	assert_string_equal(options.argv[4], "check");
	assert_null(options.argv[5]);
	options_free(&options);
}

static void test_arguments_are_left_as_they_are(void **state)
{
	char **argv = LINE("faults", "1", "-j", "2", "-m", "name", "foo");
	struct options options = parsed(argv);

	(void)state;
	assert_string_equal(argv[1], "faults");
	assert_string_equal(argv[2], "1");
	assert_string_equal(argv[3], "-j");
	assert_string_equal(argv[7], "foo");
	assert_null(argv[8]);
	options_free(&options);
}

/* What is refused. */

static const char *const wrong_numbers[] = {
	"haha", "", "0", "-1", "1x", "2147483648", "9223372036854775808",
	"18446744073709551616", " 1", "0x10", "1 2",
};

static void test_numbers_refused(void **state)
{
	static const struct {
		const char *option, *named, *allowed;
	} options[] = {
		{ "-p", "-p/--pid", "1 to 4194304" },
		{ "-m", "-m/--map", "map id" },
		{ "-d", "-d/--duration", "0.01 to 31536000" },
		{ "-n", "-n/--top", "1 to 2147483647" },
		{ "--max-vmas", "--max-vmas", "16 to 1048576" },
		{ "--ring-size", "--ring-size", "power of two" },
	};
	char quoted[64];

	(void)state;
	for (size_t o = 0; o < COUNT_OF(options); o++) {
		for (size_t i = 0; i < COUNT_OF(wrong_numbers); i++) {
			snprintf(quoted, sizeof(quoted), "'%s'", wrong_numbers[i]);
			assert_refused(LINE((char *)options[o].option, (char *)wrong_numbers[i]),
				       options[o].named, quoted, options[o].allowed, NULL);
		}
	}
}

static void test_arguments_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(wrong_numbers); i++) {
		char *value = (char *)wrong_numbers[i];

		if (value[0] == '-')
			continue;	/* an option, not an argument */
		assert_refused(LINE(value), "INTERVAL", wrong_numbers[i], "0.01 to 31536000",
			       NULL);
		assert_refused(LINE("1", value), "COUNT", wrong_numbers[i], "1 to 2147483647",
			       NULL);
	}
	assert_refused(LINE("1", "2", "3"), "'3'", "COUNT", NULL);
	assert_refused(LINE("0.001"), "INTERVAL", "'0.001'", "out of range", NULL);
	assert_refused(LINE("nope"), "'nope'", "faults, updates, check, report", "--", NULL);
	assert_refused(LINE("1", "1.5"), "COUNT", "'1.5'", NULL);
}

static void test_commands_that_are_misspelt(void **state)
{
	static const char *const words[][2] = {
		{ "repor", "report" }, { "reprot", "report" }, { "rep", "report" },
		{ "fault", "faults" }, { "chek", "check" }, { "chekc", "check" },
		{ "update", "updates" }, { "upadtes", "updates" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		char *word = (char *)words[i][0];

		assert_refused(LINE(word, "x"), word, "is no command", "did you mean",
			       words[i][1], NULL);
		/* options of the command that was meant do not come in between */
		assert_refused(LINE(word, "--html", "x"), word, "did you mean", words[i][1], NULL);
	}
	assert_refused(LINE("c"), "INTERVAL 'c'", NULL);
	assert_refused(LINE("reverberation"), "INTERVAL 'reverberation'", NULL);
	assert_refused(LINE("checkpointing-of-everything"), "INTERVAL", NULL);
}

static void test_commands_behind_options(void **state)
{
	struct options options;

	(void)state;
	assert_refused(LINE("-j", "check"), "'check' is a command", "before all options",
		       "lazyfault check ...", NULL);
	assert_refused(LINE("--html", "report", "x"), "'report' is a command", NULL);
	assert_refused(LINE("-qd", "5", "updates"), "'updates' is a command", NULL);
	assert_refused(LINE("--dur", "5", "--sort=pid", "updates"), "'updates' is a command", NULL);
	assert_refused(LINE("-m", "name", "x", "check"), "'check' is a command", NULL);
	/* values are no commands */
	options = parsed(LINE("-o", "report", "-m", "name", "check", "--save", "updates", "5"));
	assert_string_equal(options.output, "report");
	assert_string_equal(options.maps[0].text, "check");
	assert_string_equal(options.save, "updates");
	options_free(&options);
}

static void test_values_refused(void **state)
{
	char half_page[32], odd[32];

	(void)state;
	snprintf(half_page, sizeof(half_page), "%ld", sysconf(_SC_PAGESIZE) / 2);
	snprintf(odd, sizeof(odd), "%ld", sysconf(_SC_PAGESIZE) * 3);

	assert_refused(LINE("-p", "1,"), "-p/--pid", "1,", "''", NULL);
	assert_refused(LINE("-p", ",1"), "-p/--pid", ",1", "''", NULL);
	assert_refused(LINE("-p", "1,x,2"), "-p/--pid", "1,x,2", "'x'", NULL);
	assert_refused(LINE("-p", "4194305"), "'4194305'", "out of range", NULL);
	assert_refused(LINE("-d", "31536001"), "-d/--duration", "out of range", NULL);
	assert_refused(LINE("-d", "0.001"), "-d/--duration", "out of range", NULL);
	assert_refused(LINE("-d", "1,5"), "-d/--duration", "not a number", NULL);
	assert_refused(LINE("--max-vmas=15"), "--max-vmas=15", "out of range", NULL);
	assert_refused(LINE("--max-vmas=1048577"), "--max-vmas=1048577", NULL);
	assert_refused(LINE("--ring-size", half_page), "--ring-size", half_page,
		       "less than a page", NULL);
	assert_refused(LINE("--ring-size", odd), "--ring-size", odd, "not a power of two",
		       NULL);
	assert_refused(LINE("--ring-size=1G"), "--ring-size=1G", "not a number", NULL);
	assert_refused(LINE("--ring-size=64k"), "'64k'", "not a number", NULL);
	assert_refused(LINE("--ring-size=K"), "'K'", "not a number", NULL);
	assert_refused(LINE("--ring-size=4MM"), "'4MM'", "not a number", NULL);
	assert_refused(LINE("--ring-size=2048M"), "'2048M'", "out of range", NULL);
	/* 2^54 K is 2^64: it must not wrap to 0 */
	assert_refused(LINE("--ring-size=18014398509481984K"), "out of range", NULL);
	assert_refused(LINE("-s", "foo"), "-s/--sort=foo", "faults, ", "map", NULL);
	assert_refused(LINE("-s", ""), "-s/--sort=", "faults, ", NULL);
	assert_refused(LINE("-o", ""), "-o/--output", "FILE", NULL);
	assert_refused(LINE("-c", ""), "-c/--cgroup", "PATH", NULL);
	assert_refused(LINE("-c", "a", "-c", "b"), "-c/--cgroup=b", "'a'", NULL);
}

static void test_maps_refused(void **state)
{
	(void)state;
	assert_refused(LINE("-m", "foo"), "-m/--map=foo", "name NAME", NULL);
	assert_refused(LINE("-m", "foo bar"), "'foo bar'", "pinned PATH", NULL);
	assert_refused(LINE("-m", "id foo"), "-m/--map=id foo", "'foo'", NULL);
	assert_refused(LINE("-m", "id 0"), "-m/--map=id 0", "out of range", NULL);
	assert_refused(LINE("-m", "id -1"), "-m/--map=id -1", "out of range", NULL);
	assert_refused(LINE("-m", "id 2147483648"), "'2147483648'", "out of range", NULL);
	assert_refused(LINE("-m", "id 1x"), "-m/--map=id 1x", "'1x'", NULL);
	assert_refused(LINE("-m", "id"), "-m/--map=id", "map id", NULL);
	assert_refused(LINE("-m", "id "), "-m/--map=id ", "map id", NULL);
	assert_refused(LINE("-m", "name"), "-m/--map=name", "name", NULL);
	assert_refused(LINE("-m", "pinned"), "-m/--map=pinned", "path", NULL);
	assert_refused(LINE("-m", "name", "-j"), "-m/--map=name", NULL);
	assert_refused(LINE("-m", "pinned", "--", "prog"), "-m/--map=pinned", NULL);
}

static void test_combinations_refused(void **state)
{
	(void)state;
	assert_refused(LINE("--"), "'--'", "COMMAND", NULL);
	assert_refused(LINE("1", "--"), "'--'", "COMMAND", NULL);
	assert_refused(LINE("--", ""), "COMMAND", "empty", NULL);
	assert_refused(LINE("-p", "1", "--", "prog"), "-p/--pid", "-- COMMAND", NULL);
	assert_refused(LINE("-c", "/a", "--", "prog"), "-c/--cgroup", "-- COMMAND", NULL);
	assert_refused(LINE("check", "--", "prog"), "check", "COMMAND", NULL);
	assert_refused(LINE("check", "1"), "check", "'1'", NULL);
	assert_refused(LINE("check", "faults"), "check", "'faults'", NULL);
	assert_refused(LINE("report"), "report", "FILE", NULL);
	assert_refused(LINE("report", ""), "FILE", "''", NULL);
	assert_refused(LINE("report", "a", "b"), "'b'", "'a'", NULL);
	assert_refused(LINE("report", "a", "--", "prog"), "report", "COMMAND", NULL);
	assert_refused(LINE("report", "--html", "-j", "a"), "--html", "--json", NULL);
	assert_refused(LINE("--per-process"), "--per-process", "--openmetrics", NULL);
	assert_refused(LINE("report", "--openmetrics=", "a"), "--openmetrics=", "''", NULL);
	assert_refused(LINE("--save="), "--save=", "''", NULL);
	assert_refused(LINE("--save=-"), "--save=-", "-j", NULL);
	assert_refused(LINE("updates", "--save", "/dev/stdout"), "--save=/dev/stdout", "-j", NULL);
}

/* argp's own errors add a line on where help is. */
static void assert_refused_by_argp(char **argv, const char *part)
{
	struct outcome outcome;

	run(&outcome, argv);
	assert_int_equal(outcome.status, 64);
	assert_string_equal(outcome.out, "");
	assert_contains(outcome.err, part);
	assert_contains(outcome.err, "--help");
}

static void test_unknown_options_refused(void **state)
{
	static char *const not_of_check[] = {
		"-p1", "-m1", "-c/a", "-d1", "-T", "-n1", "-sfaults", "-oa", "-q",
		"--light", "--no-time", "--max-vmas=16", "--ring-size=64K", "--html",
		"--openmetrics=a", "--per-process", "-e", "--save=a",
	};
	static char *const not_of_report[] = {
		"-p1", "-m1", "-c/a", "-d1", "--light", "--no-time", "--max-vmas=16",
		"--ring-size=64K", "-e", "--save=a",
	};

	(void)state;
	assert_refused_by_argp(LINE("--foo"), "--foo");
	assert_refused_by_argp(LINE("--foo=1"), "--foo=1");
	assert_refused_by_argp(LINE("-x"), "'x'");
	assert_refused_by_argp(LINE("--json=1"), "--json");
	assert_refused_by_argp(LINE("-p"), "'p'");
	assert_refused_by_argp(LINE("--map"), "--map");
	for (size_t i = 0; i < COUNT_OF(not_of_check); i++)
		assert_refused_by_argp(LINE("check", not_of_check[i]), "lazyfault check: ");
	for (size_t i = 0; i < COUNT_OF(not_of_report); i++)
		assert_refused_by_argp(LINE("report", not_of_report[i]), "lazyfault report: ");
	assert_refused_by_argp(LINE("--html"), "--html");
}

static void test_long_values_are_cut(void **state)
{
	struct outcome outcome;
	char value[5000];

	(void)state;
	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	run(&outcome, LINE("-p", value));
	assert_int_equal(outcome.status, 64);
	assert_one_line(outcome.err);
	assert_contains(outcome.err, "1 to 4194304");
	assert_true(strlen(outcome.err) < 1000);
}

/* Help, usage, version. */

static void test_version(void **state)
{
	struct outcome outcome;

	(void)state;
	run(&outcome, LINE("--version"));
	assert_int_equal(outcome.status, 0);
	assert_string_equal(outcome.out, "lazyfault " LAZYFAULT_VERSION "\n");
	assert_string_equal(outcome.err, "");
	run(&outcome, LINE("check", "--version"));
	assert_string_equal(outcome.out, "lazyfault " LAZYFAULT_VERSION "\n");
}

/* The help of a command has these options, in this order, and no others. */
static void assert_help_lists(char **argv, const char *expected)
{
	char listed[512] = "";
	struct outcome outcome;

	run(&outcome, argv);
	assert_int_equal(outcome.status, 0);
	assert_string_equal(outcome.err, "");
	for (const char *line = outcome.out; line; line = strchr(line, '\n')) {
		size_t used = strlen(listed);

		/* "  -p, --pid=PID" or "      --light" */
		line += *line == '\n';
		if (strncmp(line, "  -", 3) != 0 && strncmp(line, "      --", 8) != 0)
			continue;
		snprintf(listed + used, sizeof(listed) - used, "%s%.*s", used ? " " : "",
			 (int)strcspn(line + 8, " =\n"), line + 8);
	}
	assert_string_equal(listed, expected);
}

static void test_help_lists_the_table(void **state)
{
	static const char faults[] = "cgroup map pid duration light max-vmas no-time ring-size "
				     "events json top openmetrics output per-process quiet save "
				     "sort timestamp verbose help usage version";
	struct outcome outcome;

	(void)state;
	assert_help_lists(LINE("--help"), faults);
	assert_help_lists(LINE("faults", "--help"), faults);
	assert_help_lists(LINE("updates", "--help"),
			  "cgroup map pid duration ring-size json top output quiet save sort "
			  "timestamp verbose help usage version");
	assert_help_lists(LINE("check", "--help"), "json verbose help usage version");
	assert_help_lists(LINE("report", "--help"),
			  "html json top openmetrics output per-process quiet sort timestamp "
			  "verbose help usage version");
	run(&outcome, LINE("--help"));
	assert_contains(outcome.out, "Usage: lazyfault [OPTION...] [INTERVAL [COUNT]]\n");
	assert_contains(outcome.out, "-- COMMAND [ARG...]\n");
	assert_contains(outcome.out, "\n  check ");
	assert_contains(outcome.out, "No header, no notices and no status line\n");
	for (size_t i = 0; vma_sort_keys[i]; i++)
		assert_contains(outcome.out, vma_sort_keys[i]);
	run(&outcome, LINE("updates", "--help"));
	assert_contains(outcome.out, "Usage: lazyfault updates [OPTION...] [INTERVAL [COUNT]]\n");
	for (size_t i = 0; update_sort_keys[i]; i++)
		assert_contains(outcome.out, update_sort_keys[i]);
	assert_null(strstr(outcome.out, "--light"));
	assert_null(strstr(outcome.out, "installed"));
	run(&outcome, LINE("check", "--help"));
	assert_contains(outcome.out, "Usage: lazyfault check [OPTION...]\n");
	assert_null(strstr(outcome.out, "--pid"));
	assert_null(strstr(outcome.out, "COMMAND"));
}

static void test_usage(void **state)
{
	struct outcome outcome;

	(void)state;
	run(&outcome, LINE("--usage"));
	assert_int_equal(outcome.status, 0);
	assert_contains(outcome.out, "[-p PID[,PID...]]");
	assert_string_equal(outcome.err, "");
}

static void test_report(void **state)
{
	char **argv = LINE("report", "-T", "-n3", "-spid", "-v", "--openmetrics=m.prom",
			   "--per-process", "--html", "-o", "page.html", "run.jsonl");
	struct options options = parsed(argv);

	(void)state;
	assert_string_equal(options.file, "run.jsonl");
	assert_string_equal(options.output, "page.html");
	assert_string_equal(options.openmetrics, "m.prom");
	assert_string_equal(options.sort_key, "pid");
	assert_int_equal(options.top, 3);
	assert_true(options.html && options.per_process && options.timestamp &&
		    options.verbose);
	options_free(&options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_parse_unsigned),
		cmocka_unit_test(test_parse_seconds),
		cmocka_unit_test(test_parse_seconds_where_the_point_is_a_comma),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_limits_are_in_range),
		cmocka_unit_test(test_pids_keep_order_without_repeats),
		cmocka_unit_test(test_sort_keys),
		cmocka_unit_test(test_sort_keys_are_those_of_the_text_report),
		cmocka_unit_test(test_sort_keys_of_updates),
		cmocka_unit_test(test_sort_keys_of_updates_are_those_of_the_text_report),
		cmocka_unit_test(test_map_forms),
		cmocka_unit_test(test_maps_and_interval),
		cmocka_unit_test(test_command_to_run),
		cmocka_unit_test(test_arguments_are_left_as_they_are),
		cmocka_unit_test(test_numbers_refused),
		cmocka_unit_test(test_arguments_refused),
		cmocka_unit_test(test_commands_that_are_misspelt),
		cmocka_unit_test(test_commands_behind_options),
		cmocka_unit_test(test_values_refused),
		cmocka_unit_test(test_maps_refused),
		cmocka_unit_test(test_combinations_refused),
		cmocka_unit_test(test_unknown_options_refused),
		cmocka_unit_test(test_long_values_are_cut),
		cmocka_unit_test(test_version),
		cmocka_unit_test(test_help_lists_the_table),
		cmocka_unit_test(test_usage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
