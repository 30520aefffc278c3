/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run whose memory fails: each allocation of a report fails once, and each
 * time the report says so and ends with status 1, or is what it always is.
 * Nothing is silently left out, and nothing leaks on the way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "errors.h"
#include "options.h"

/* ---- allocations that fail: the linker has these in the place of libc's ---- */

static uint64_t allocations, failing;	/* failing: its number, from 1; 0: none */

static bool fails(void)
{
	return ++allocations == failing;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *text);
int __real_vasprintf(char **text, const char *format, va_list args);
FILE *__real_open_memstream(char **text, size_t *bytes);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *text);
int __wrap_vasprintf(char **text, const char *format, va_list args);
FILE *__wrap_open_memstream(char **text, size_t *bytes);

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return fails() ? NULL : __real_realloc(old, bytes);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

int __wrap_vasprintf(char **text, const char *format, va_list args)
{
	return fails() ? -1 : __real_vasprintf(text, format, args);
}

FILE *__wrap_open_memstream(char **text, size_t *bytes)
{
	if (!fails())
		return __real_open_memstream(text, bytes);
	errno = ENOMEM;
	return NULL;
}

/* ---- reports ---- */

struct text {
	char *bytes;
	size_t size;
};

static char metrics_path[] = "/tmp/lazyfault-metrics-XXXXXX";
static const char capture[] = "tests/captures/linux-7.3.jsonl";

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = __real_calloc(1, 1 << 20);

	assert_non_null(text);
	if (file) {
		assert_true(fread(text, 1, (1 << 20) - 1, file) < (1 << 20) - 1);
		fclose(file);
	}
	return text;
}

static int report(const struct options *options, struct text *out, struct text *err)
{
	FILE *real[] = { stdout, stderr };
	int status;

	stdout = __real_open_memstream(&out->bytes, &out->size);
	stderr = __real_open_memstream(&err->bytes, &err->size);
	status = command_report(options);
	failing = 0;
	fclose(stdout);
	fclose(stderr);
	stdout = real[0];
	stderr = real[1];
	return status;
}

/* All the data that a report left, as one text; and what it said. */
static void report_whole(const struct options *options, uint64_t fail, int *status,
			 struct text *whole, struct text *err)
{
	struct text out = { NULL, 0 };
	FILE *joined = __real_open_memstream(&whole->bytes, &whole->size);
	char *metrics;

	allocations = 0;
	failing = fail;
	*status = report(options, &out, err);
	metrics = options->openmetrics ? read_file(options->openmetrics) : NULL;
	fprintf(joined, "%s%s", out.bytes, metrics ? metrics : "");
	fclose(joined);
	free(metrics);
	free(out.bytes);
}

/* Nothing is missing unsaid: the data is whole, and so is what was said, but for what is told. */
static bool is_whole(const struct text *data, const struct text *said,
		     const struct text *expected, const struct text *expected_said)
{
	return !strcmp(data->bytes, expected->bytes) &&
	       (!strcmp(said->bytes, expected_said->bytes) ||
		strstr(said->bytes, "out of memory, even for a message"));
}

static void each_allocation_fails(struct options options, uint64_t at_least)
{
	struct text expected = { NULL, 0 }, expected_err = { NULL, 0 }, err = { NULL, 0 };
	uint64_t all;
	int status;

	options.command = COMMAND_REPORT;
	if (!options.file)
		options.file = capture;
	errors_setup(false, false);
	report_whole(&options, 0, &status, &expected, &expected_err);
	assert_int_equal(status, 0);
	all = allocations;
	assert_in_range(all, at_least, 1000000);
	for (uint64_t fail = 1; fail <= all; fail++) {
		struct text whole = { NULL, 0 };

		report_whole(&options, fail, &status, &whole, &err);
		if (status) {
			assert_int_equal(status, 1);
			assert_non_null(strstr(err.bytes, "memory"));
			/* and the capture is not blamed */
			assert_null(strstr(err.bytes, "left out"));
		} else if (!is_whole(&whole, &err, &expected, &expected_err)) {
			fail_msg("allocation %llu fails: another report, and status 0:\n%s",
				 (unsigned long long)fail, err.bytes);
		}
		free(whole.bytes);
		free(err.bytes);
	}
	free(expected.bytes);
	free(expected_err.bytes);
}

static void test_text_report(void **state)
{
	(void)state;
	each_allocation_fails((struct options){ .verbose = true }, 10);
}

static void test_json_report(void **state)
{
	(void)state;
	each_allocation_fails((struct options){ .json = true }, 100);
}

static void test_html_report(void **state)
{
	(void)state;
	each_allocation_fails((struct options){ .html = true }, 10);
}

static void test_metrics(void **state)
{
	int descriptor = mkstemp(metrics_path);

	(void)state;
	assert_true(descriptor >= 0);
	close(descriptor);
	each_allocation_fails((struct options){ .json = true, .openmetrics = metrics_path }, 100);
	unlink(metrics_path);
}

/* Reports, in each form, a capture that ends early: its totals are made of its intervals. */
static void report_cut(const char *text, size_t bytes)
{
	char path[] = "/tmp/lazyfault-cut-XXXXXX";
	int descriptor = mkstemp(path);

	assert_true(descriptor >= 0);
	assert_int_equal(write(descriptor, text, bytes), bytes);
	close(descriptor);
	each_allocation_fails((struct options){ .file = path, .verbose = true }, 10);
	each_allocation_fails((struct options){ .file = path, .json = true }, 10);
	each_allocation_fails((struct options){ .file = path, .html = true }, 10);
	unlink(path);
}

static void test_report_without_totals(void **state)
{
	char *whole = read_file(capture);
	const char *total = strstr(whole, "{\"type\":\"vma\",\"span\":\"total\"");

	(void)state;
	assert_non_null(total);
	report_cut(whole, (size_t)(total - whole));
	free(whole);
}

static void test_updates_without_totals(void **state)
{
	static const char text[] =
		"{\"type\":\"start\",\"version\":\"1\",\"kernel\":\"7.3.4\",\"counting\":\"exact\","
		"\"arch\":\"x86_64\",\"page_bytes\":4096,\"fault_around_bytes\":65536,"
		"\"modes\":{},\"handlers\":{},\"report\":\"updates\","
		"\"scope\":\"\",\"scope_hex\":\"ff\"}\n"
		"{\"type\":\"update\",\"span\":\"interval\",\"pid\":1,\"comm\":\"a\","
		"\"map\":{\"id\":9,\"name\":\"outer\",\"type\":\"array_of_maps\"},"
		"\"calls\":1,\"failed\":1,\"ns\":{\"count\":1,\"sum\":5,\"min\":5,\"max\":5,"
		"\"buckets\":[{\"from\":4,\"to\":7,\"count\":1}]},\"wait\":\"none\","
		"\"wait_ns\":{\"count\":0,\"sum\":0,\"min\":null,\"max\":null,\"buckets\":[]}}\n"
		"{\"type\":\"interval\",\"seconds\":1.0,\"faults\":0,\"installed_pages\":0,"
		"\"lost\":{\"ring_full\":0,\"vma_table_full\":0,\"recursion\":0}}\n";

	(void)state;
	report_cut(text, sizeof(text) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_report),
		cmocka_unit_test(test_json_report),
		cmocka_unit_test(test_html_report),
		cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_report_without_totals),
		cmocka_unit_test(test_updates_without_totals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
