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

/* All that a report left, as one text. */
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
	fprintf(joined, "%s%s%s", out.bytes, err->bytes, metrics ? metrics : "");
	fclose(joined);
	free(metrics);
	free(out.bytes);
}

static void each_allocation_fails(struct options options, uint64_t at_least)
{
	struct text expected = { NULL, 0 }, err = { NULL, 0 };
	uint64_t all;
	int status;

	options.command = COMMAND_REPORT;
	options.file = "tests/captures/linux-7.3.jsonl";
	errors_setup(false, false);
	report_whole(&options, 0, &status, &expected, &err);
	assert_int_equal(status, 0);
	all = allocations;
	assert_in_range(all, at_least, 1000000);
	free(err.bytes);
	for (uint64_t fail = 1; fail <= all; fail++) {
		struct text whole = { NULL, 0 };

		report_whole(&options, fail, &status, &whole, &err);
		if (status) {
			assert_int_equal(status, 1);
			assert_non_null(strstr(err.bytes, "memory"));
		} else if (strcmp(whole.bytes, expected.bytes)) {
			fail_msg("allocation %llu fails: another report, and status 0:\n%s",
				 (unsigned long long)fail, err.bytes);
		}
		free(whole.bytes);
		free(err.bytes);
	}
	free(expected.bytes);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_report),
		cmocka_unit_test(test_json_report),
		cmocka_unit_test(test_html_report),
		cmocka_unit_test(test_metrics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
