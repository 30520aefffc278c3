/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any command line, its arguments parted by newlines: it is parsed, or the
 * parser exits with status 64 and a message, or prints help. What it accepts
 * is within the limits that the manual names.
 *
 * argp exits the process from deep inside the C library. The run is left from
 * an exit handler by longjmp(), and what the parser had allocated is freed by
 * its list, so that the fuzzer goes on in one process.
 */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#include "strict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* of the sanitizer's run-time library */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
					      void (*on_free)(const volatile void *));

enum { ARGUMENTS_MAX = 32, BLOCKS_MAX = 4096, USAGE_STATUS = 64 };

static jmp_buf out_of_exit;
static bool parsing, armed;
static int exit_status;
static const volatile void *blocks[BLOCKS_MAX];
static size_t block_count;

/* ---- what the parser allocates ---- */

static void note_malloc(const volatile void *block, size_t bytes)
{
	(void)bytes;
	if (parsing && block_count < BLOCKS_MAX)
		blocks[block_count++] = block;
}

static void note_free(const volatile void *block)
{
	if (!parsing)
		return;
	for (size_t i = block_count; i-- > 0;) {
		if (blocks[i] != block)
			continue;
		blocks[i] = blocks[--block_count];
		return;
	}
}

static void free_blocks(void)
{
	for (size_t i = 0; i < block_count; i++)
		free((void *)blocks[i]);
	block_count = 0;
}

/* ---- leaving by exit() ---- */

static void on_parser_exit(int status, void *unused)
{
	(void)unused;
	armed = false;
	if (!parsing)
		return;
	exit_status = status;
	longjmp(out_of_exit, 1);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	__sanitizer_install_malloc_and_free_hooks(note_malloc, note_free);
	return 0;
}

/* ---- what is accepted ---- */

static bool is_time(double seconds)
{
	return seconds == 0 || (seconds >= 0.01 && seconds <= 31536000);
}

static void check_accepted(const struct options *options)
{
	require(options->command <= COMMAND_REPORT);
	require(is_time(options->interval) && is_time(options->duration));
	require(options->count <= 2147483647 && (!options->count || options->interval > 0));
	for (size_t i = 0; i < options->pid_count; i++)
		require(options->pids[i] >= 1 && options->pids[i] <= 4194304);
	for (size_t i = 0; i < options->map_count; i++)
		require(options->maps[i].given && *options->maps[i].given);
	require(!options->ring_bytes || !(options->ring_bytes & (options->ring_bytes - 1)));
	require(options->max_vmas >= 16 && options->max_vmas <= 1048576);
	require(options->command != COMMAND_REPORT || (options->file && *options->file));
	require(!options->argv || (options->argv[0] && *options->argv[0]));
	require(!options->cgroup || *options->cgroup);
	require(!options->output || *options->output);
}

struct text {
	char *bytes;
	size_t size;
};

/* True if the parser returned; else exit_status is set. */
static bool parse(struct options *options, int argc, char **argv)
{
	bool returned = false;

	parsing = true;
	if (!setjmp(out_of_exit)) {
		if (!armed)
			on_exit(on_parser_exit, NULL);
		armed = true;
		options_parse(options, argc, argv);
		returned = true;
	}
	parsing = false;
	return returned;
}

static void run(int argc, char **argv, bool plain)
{
	FILE *real_out = stdout, *real_err = stderr;
	struct text out = { NULL, 0 }, err = { NULL, 0 };
	struct options options;
	bool returned;

	stdout = open_memstream(&out.bytes, &out.size);
	stderr = open_memstream(&err.bytes, &err.size);
	returned = parse(&options, argc, argv);
	fclose(stdout);
	fclose(stderr);
	stdout = real_out;
	stderr = real_err;
	if (returned) {
		require(!out.size && !err.size);
		check_accepted(&options);
		block_count = 0;
		options_free(&options);
	} else {
		free_blocks();
		require(exit_status == 0 || exit_status == USAGE_STATUS);
		require((exit_status ? err.size : out.size) > 0);
		require_of(!exit_status || !strncmp(err.bytes, "lazyfault", 9), err.bytes,
			   err.size);
		if (plain)
			require_of(is_for_terminal(err.bytes, err.size), err.bytes, err.size);
	}
	free(out.bytes);
	free(err.bytes);
}

/* getopt() names a letter that it does not know byte by byte, as it was given. */
static bool is_ascii(const char *text)
{
	for (; *text; text++)
		if ((*text < ' ' && *text != '\n') || *text == 0x7f)
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *argv[ARGUMENTS_MAX + 2] = { "lazyfault" };
	bool plain;
	int argc = 1;

	memcpy(text, data, size);
	text[size] = '\0';
	plain = is_ascii(text);
	for (char *rest = text; rest && argc <= ARGUMENTS_MAX;)
		argv[argc++] = strsep(&rest, "\n");
	if (argc == 2 && !*argv[1])
		argc = 1;
	argv[argc] = NULL;
	run(argc, argv, plain);
	free(text);
	return 0;
}
