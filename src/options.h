/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line: every option stands once, in one table, with its check.
 * Wrong usage ends the program with status 64 and a line that names option
 * and value (argp's own habit).
 */
#ifndef LAZYFAULT_OPTIONS_H
#define LAZYFAULT_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum command { COMMAND_FAULTS, COMMAND_UPDATES, COMMAND_CHECK, COMMAND_REPORT };

enum map_selector_kind { MAP_BY_ID, MAP_BY_NAME, MAP_BY_PIN };

struct map_selector {
	enum map_selector_kind kind;
	uint32_t id;
	const char *text;	/* name or path; points into given */
	const char *given;	/* the option's value as given, for messages */
};

struct options {
	enum command command;
	pid_t *pids;		/* -p, in order, without repeats */
	size_t pid_count;
	struct map_selector *maps;	/* -m */
	size_t map_count;
	const char *cgroup;	/* -c; NULL: none */
	double duration;	/* seconds; 0: no limit */
	double interval;	/* seconds; 0: none */
	uint64_t count;		/* intervals; 0: no limit */
	bool timestamp, json, light, no_time, events, quiet, verbose;
	unsigned int top;	/* 0: all */
	const char *sort_key;	/* NULL: the default */
	const char *output;	/* -o; NULL: stdout */
	const char *save;	/* --save; NULL: none */
	bool html;		/* --html */
	const char *openmetrics;	/* --openmetrics; NULL: none */
	bool per_process;	/* --per-process */
	const char *file;	/* FILE of report; "-": stdin */
	uint32_t max_vmas;	/* --max-vmas */
	uint32_t ring_bytes;	/* --ring-size; 0: the default */
	char **argv;		/* -- COMMAND [ARG...], NULL-terminated; NULL: none */
};

/*
 * Keys that --sort takes for VMAs and for updates, NULL-terminated; the first
 * is the default. A saved capture may be of either: there both are taken.
 */
extern const char *const vma_sort_keys[], *const update_sort_keys[];

/*
 * Fills options (owned by the caller, to be freed by options_free). Does not
 * return on wrong usage (exit 64), --help or --version (exit 0).
 */
void options_parse(struct options *options, int argc, char **argv);
void options_free(struct options *options);

/*
 * Parsers, exposed for tests: the whole text must be a value in range.
 * 0, or -EINVAL (not a number), -ERANGE (out of range).
 */
int parse_unsigned(const char *text, uint64_t min, uint64_t max, uint64_t *value);
/* Decimal seconds such as 1, 0.5: greater than 0, at most max. Locale-independent. */
int parse_seconds(const char *text, double max, double *value);

#endif
