/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `lazyfault report` of any bytes, by each sink: what comes out is strict in
 * its format, hostile names move no cursor, and the JSON of a report is a
 * capture that gives the same JSON again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "errors.h"
#include "options.h"
#include "replace.h"

#include "strict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A stream into memory, in the place of stdout, stderr or a file. */
struct text {
	char *bytes;
	size_t size;
};

/* ---- the metrics' file, in memory ---- */

static struct text metrics;

struct replace {
	FILE *file;
};

struct replace *replace_new(const char *path, char *message, size_t message_bytes)
{
	(void)path;
	(void)message;
	(void)message_bytes;
	return calloc(1, sizeof(struct replace));
}

void replace_free(struct replace *replace)
{
	free(replace);
}

bool replace_has_file(const struct replace *replace)
{
	(void)replace;
	return true;
}

FILE *replace_begin(struct replace *replace)
{
	free(metrics.bytes);
	metrics = (struct text){ NULL, 0 };
	replace->file = open_memstream(&metrics.bytes, &metrics.size);
	return replace->file;
}

int replace_end(struct replace *replace, FILE *file)
{
	(void)replace;
	return fclose(file) ? -1 : 0;
}

/* ---- reports ---- */

static int report(const char *capture, size_t bytes, struct options options, struct text *out,
		  struct text *err)
{
	FILE *real[] = { stdin, stdout, stderr };
	int status;

	options.command = COMMAND_REPORT;
	options.file = "-";
	/* an empty one cannot be opened everywhere: a blank line is passed over */
	stdin = bytes ? fmemopen((void *)capture, bytes, "r") : fmemopen((void *)"\n", 1, "r");
	stdout = open_memstream(&out->bytes, &out->size);
	stderr = open_memstream(&err->bytes, &err->size);
	status = command_report(&options);
	fclose(stdin);
	fclose(stdout);
	fclose(stderr);
	stdin = real[0];
	stdout = real[1];
	stderr = real[2];
	return status;
}

static void check_notices(const struct text *err)
{
	require_of(is_for_terminal(err->bytes, err->size), err->bytes, err->size);
	require_of(!err->size || !strncmp(err->bytes, "lazyfault: ", 11), err->bytes, err->size);
}

typedef bool check_fn(const char *text, size_t bytes);

/* Prints it once and holds what comes out against its format. */
static void check_format(const char *capture, size_t bytes, struct options options,
			 check_fn *check)
{
	struct text out = { NULL, 0 }, err = { NULL, 0 };
	int status = report(capture, bytes, options, &out, &err);

	require(status == 0 || status == 1);
	if (status == 0 || !options.html)
		require_of(!out.size || check(out.bytes, out.size), out.bytes, out.size);
	require(status == 0 || err.size);
	check_notices(&err);
	free(out.bytes);
	free(err.bytes);
}

/*
 * A capture of which something was left out need not add up, nor need one
 * that does not number its rows; what is written of it then has the same gaps.
 */
static bool has_gaps(const struct text *err, const char *capture, size_t bytes)
{
	return memmem(err->bytes, err->size, " left out", strlen(" left out")) ||
	       memmem(err->bytes, err->size, "without a start", strlen("without a start")) ||
	       !memmem(capture, bytes, "\"row\"", strlen("\"row\""));
}

/* The JSON of what the report printed as JSON is the same, to the byte. */
static void check_round_trip(const char *capture, size_t bytes)
{
	struct text out = { NULL, 0 }, err = { NULL, 0 }, again = { NULL, 0 };
	struct options options = { .json = true };

	if (report(capture, bytes, options, &out, &err) == 0 && out.size)
		require_of(is_json_lines(out.bytes, out.size), out.bytes, out.size);
	if (out.size && !has_gaps(&err, capture, bytes)) {
		free(err.bytes);
		err.bytes = NULL;
		require(report(out.bytes, out.size, options, &again, &err) == 0);
		require_of(!err.size, err.bytes, err.size);
		require_of(again.size == out.size && !memcmp(again.bytes, out.bytes, out.size),
			   again.bytes, again.size);
	}
	free(out.bytes);
	free(err.bytes);
	free(again.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *capture = (const char *)data;

	errors_setup(false, false);
	check_round_trip(capture, size);
	check_format(capture, size,
		     (struct options){ .verbose = true, .openmetrics = "metrics.prom",
				       .per_process = size % 2 },
		     is_for_terminal);
	require_of(!metrics.size || is_metrics(metrics.bytes, metrics.size), metrics.bytes,
		   metrics.size);
	free(metrics.bytes);
	metrics = (struct text){ NULL, 0 };
	check_format(capture, size, (struct options){ .html = true }, is_html);
	return 0;
}
