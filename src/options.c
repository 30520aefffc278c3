/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line. Commands and options each stand once, in a table that
 * parses them and makes their help; what an option's value may be is checked
 * by the function that its row names.
 */
#include "options.h"

#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "output.h"
#include "printable.h"
#include "similar.h"

#ifndef LAZYFAULT_VERSION
#error "the build must say -DLAZYFAULT_VERSION=\"X.Y.Z\""
#endif

#define PROGRAM "lazyfault"
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/*
 * Limits that help, messages and checks share. PID_LIMIT is the kernel's
 * PID_MAX_LIMIT; map ids come from an IDR that ends at INT_MAX.
 */
#define PID_LIMIT 4194304
#define NUMBER_LIMIT 2147483647
#define SECONDS_LEAST 0.01
#define SECONDS_MOST 31536000
#define MAX_VMAS_LEAST 16
#define MAX_VMAS_MOST 1048576
#define MAX_VMAS_DEFAULT 16384
#define RING_LIMIT (1u << 30)
#define SECONDS_ALLOWED "seconds from " TEXT(SECONDS_LEAST) " to " TEXT(SECONDS_MOST)

/* Commands that accept an option. */
#define FOR_FAULTS (1u << COMMAND_FAULTS)
#define FOR_REPORT (1u << COMMAND_REPORT)
#define FOR_REPORTS (FOR_FAULTS | FOR_REPORT)
#define FOR_UPDATES (1u << COMMAND_UPDATES)
#define FOR_TRACING (FOR_FAULTS | FOR_UPDATES)
#define FOR_PRINTING (FOR_TRACING | FOR_REPORT)
#define FOR_ALL (~0u)

/* argp shows them in this order, and group -1 last. */
enum { GROUP_WHAT = 1, GROUP_HOW_LONG, GROUP_COUNTING, GROUP_SHOWING, GROUP_OTHER = -1 };

enum {	/* keys of options without a letter */
	KEY_LIGHT = 0x100,
	KEY_NO_TIME,
	KEY_MAX_VMAS,
	KEY_RING_SIZE,
	KEY_HTML,
	KEY_OPENMETRICS,
	KEY_SAVE,
	KEY_PER_PROCESS,
	KEY_HELP,
	KEY_USAGE,
	KEY_VERSION,
};

/* What each sorts by is the text report's; a test holds the two together. */
const char *const vma_sort_keys[] = {
	"faults", "installed", "time", "batches", "raced", "pid", "map", "start", NULL
};
const char *const update_sort_keys[] = {
	"time", "calls", "failed", "waiting", "max", "pid", "map", NULL
};

struct command_entry {
	const char *name;
	const char *args_doc;	/* forms of the arguments, a line each; NULL: none */
	const char *summary;
	bool takes_interval;	/* [INTERVAL [COUNT]] */
	bool takes_command;	/* -- COMMAND [ARG...] */
	bool takes_file;	/* FILE */
	const char *const *sort_keys;	/* NULL: those of VMAs and of updates */
	const char *failure;	/* what exit status 1 means */
};

/* In the order of enum command; the first is the default. */
static const struct command_entry commands[] = {
	[COMMAND_FAULTS] = {
		.name = "faults",
		.args_doc = "[INTERVAL [COUNT]]\n[INTERVAL [COUNT]] -- COMMAND [ARG...]",
		.summary = "count and time the page faults of mapped BPF maps (the default)",
		.takes_interval = true,
		.takes_command = true,
		.sort_keys = vma_sort_keys,
		.failure = "it cannot trace",
	},
	[COMMAND_UPDATES] = {
		.name = "updates",
		.args_doc = "[INTERVAL [COUNT]]\n[INTERVAL [COUNT]] -- COMMAND [ARG...]",
		.summary = "time updates of maps of maps, and their grace periods",
		.takes_interval = true,
		.takes_command = true,
		.sort_keys = update_sort_keys,
		.failure = "it cannot trace",
	},
	[COMMAND_CHECK] = {
		.name = "check",
		.summary = "say what can be traced on this kernel, and why not",
		.failure = "it cannot trace",
	},
	[COMMAND_REPORT] = {
		.name = "report",
		.args_doc = "FILE",
		.summary = "print a saved capture (of -j) as live tracing would",
		.takes_file = true,
		.failure = "nothing could be read",
	},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* One run of the parser. */
struct parse {
	struct options *options;
	const struct command_entry *command;
	struct argp_state *state;
	bool named;			/* the command was */
	unsigned int positional;	/* arguments seen */
};

struct option_entry;
typedef void take_fn(struct parse *parse, const struct option_entry *entry, char *value);

struct option_entry {
	int key;
	const char *name;
	const char *arg;	/* NULL: the option takes no value */
	unsigned int commands;	/* FOR_... that accept it */
	int group;
	take_fn *take;
	size_t field;		/* where in struct options a plain value goes */
	uint64_t min, max;	/* range of a plain number */
	const char *doc;
};

static take_fn take_pids, take_map, take_cgroup, take_duration, take_flag, take_number,
	take_ring_size, take_sort_key, take_output, take_save, take_openmetrics, take_help,
	take_usage, take_version;

#define FIELD(member) .field = offsetof(struct options, member)

static const struct option_entry entries[] = {
	{ 'p', "pid", "PID[,PID...]", FOR_TRACING, GROUP_WHAT, take_pids,
	  .doc = "These processes only (numbers as the PID namespace of the caller has them)" },
	{ 'm', "map", "MAP", FOR_TRACING, GROUP_WHAT, take_map,
	  .doc = "This map only: ID, 'id ID', 'name NAME' or 'pinned PATH'; may be repeated" },
	{ 'c', "cgroup", "PATH", FOR_TRACING, GROUP_WHAT, take_cgroup,
	  .doc = "Processes in this cgroup v2 directory and below only" },

	{ 'd', "duration", "SECONDS", FOR_TRACING, GROUP_HOW_LONG, take_duration,
	  .doc = "End after this time" },

	{ KEY_LIGHT, "light", NULL, FOR_FAULTS, GROUP_COUNTING, take_flag, FIELD(light),
	  .doc = "Hook the fault handlers only: other processes pay nothing, but runs may be "
		 "missed when threads share a CPU" },
	{ KEY_NO_TIME, "no-time", NULL, FOR_FAULTS, GROUP_COUNTING, take_flag, FIELD(no_time),
	  .doc = "Count only, take no times: the cheapest" },
	{ KEY_MAX_VMAS, "max-vmas", "N", FOR_FAULTS, GROUP_COUNTING, take_number,
	  FIELD(max_vmas), MAX_VMAS_LEAST, MAX_VMAS_MOST,
	  .doc = "Room for this many VMAs at a time, " TEXT(MAX_VMAS_LEAST) " to "
		 TEXT(MAX_VMAS_MOST) " (default " TEXT(MAX_VMAS_DEFAULT) ")" },
	{ KEY_RING_SIZE, "ring-size", "BYTES[K|M]", FOR_TRACING, GROUP_COUNTING, take_ring_size,
	  .doc = "Size of the ring buffer: a power of two, at least one page (default: chosen "
		 "by the program)" },

	{ 'e', "events", NULL, FOR_FAULTS, GROUP_SHOWING, take_flag, FIELD(events),
	  .doc = "Print a line for each fault and batch when it happens" },
	{ 'T', "timestamp", NULL, FOR_PRINTING, GROUP_SHOWING, take_flag, FIELD(timestamp),
	  .doc = "Print the time before each interval" },
	{ 'n', "top", "N", FOR_PRINTING, GROUP_SHOWING, take_number,
	  FIELD(top), 1, NUMBER_LIMIT,
	  .doc = "Print the first N rows of each text report, and the others as one sum" },
	{ 's', "sort", "KEY", FOR_PRINTING, GROUP_SHOWING, take_sort_key,
	  .doc = "Order of the rows in a text report" },
	{ 'j', "json", NULL, FOR_ALL, GROUP_SHOWING, take_flag, FIELD(json),
	  .doc = "Print JSON lines" },
	{ KEY_HTML, "html", NULL, FOR_REPORT, GROUP_SHOWING, take_flag, FIELD(html),
	  .doc = "Print one self-contained HTML page" },
	{ 'o', "output", "FILE", FOR_PRINTING, GROUP_SHOWING, take_output,
	  .doc = "Write the data to FILE, not to standard output" },
	{ KEY_SAVE, "save", "FILE", FOR_TRACING, GROUP_SHOWING, take_save,
	  .doc = "Also write a capture to FILE, for `lazyfault report'" },
	{ KEY_OPENMETRICS, "openmetrics", "FILE", FOR_REPORTS, GROUP_SHOWING, take_openmetrics,
	  .doc = "Also write metrics to FILE, whole, at each interval and at the end" },
	{ KEY_PER_PROCESS, "per-process", NULL, FOR_REPORTS, GROUP_SHOWING, take_flag,
	  FIELD(per_process),
	  .doc = "Keep the metrics of each process apart, not only of each map" },
	{ 'q', "quiet", NULL, FOR_PRINTING, GROUP_SHOWING, take_flag, FIELD(quiet),
	  .doc = "No header, no notices and no status line" },
	{ 'v', "verbose", NULL, FOR_ALL, GROUP_SHOWING, take_flag, FIELD(verbose),
	  .doc = "Say more, libbpf's log included" },

	{ KEY_HELP, "help", NULL, FOR_ALL, GROUP_OTHER, take_help,
	  .doc = "Print this help and exit" },
	{ KEY_USAGE, "usage", NULL, FOR_ALL, GROUP_OTHER, take_usage,
	  .doc = "Print a short usage message and exit" },
	{ KEY_VERSION, "version", NULL, FOR_ALL, GROUP_OTHER, take_version,
	  .doc = "Print the version and exit" },
};

#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

static const char *const group_titles[] = {
	[GROUP_WHAT] = "What to trace (all of these must fit):",
	[GROUP_HOW_LONG] = "How long:",
	[GROUP_COUNTING] = "How to count:",
	[GROUP_SHOWING] = "How to print:",
};

/* Titles, of which slot 0 is none. */
#define TITLES (sizeof(group_titles) / sizeof(group_titles[0]) - 1)

static const struct option_entry *entry_of_key(int key)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (entries[i].key == key)
			return &entries[i];
	return NULL;
}

static bool has_letter(const struct option_entry *entry)
{
	return entry->key < KEY_LIGHT;
}

/* Errors. None of these return. */

static void usage_failure(const struct parse *parse, const char *format, ...)
	__attribute__((format(printf, 2, 3), noreturn));

static void usage_failure(const struct parse *parse, const char *format, ...)
{
	char text[1024], *shown;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	shown = printable_copy(text, false);
	argp_failure(parse->state, EX_USAGE, 0, "%s", shown ? shown : "wrong usage");
	free(shown);
	exit(EX_USAGE);
}

static void value_failure(const struct parse *parse, const struct option_entry *entry,
			  const char *value, const char *format, ...)
	__attribute__((format(printf, 4, 5), noreturn));

/* "-p/--pid=VALUE: " and what is wrong with it. */
static void value_failure(const struct parse *parse, const struct option_entry *entry,
			  const char *value, const char *format, ...)
{
	char text[768], letter[4] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (has_letter(entry))
		snprintf(letter, sizeof(letter), "-%c/", entry->key);
	usage_failure(parse, "%s--%s=%.200s: %s", letter, entry->name, value, text);
}

static void memory_failure(const struct parse *parse)
{
	argp_failure(parse->state, EXIT_FAILURE, ENOMEM, "cannot keep the options");
	exit(EXIT_FAILURE);
}

/* What a parser's refusal means, to be followed by what would be right. */
static const char *refusal(int error)
{
	return error == -ERANGE ? "is out of range" : "is not a number";
}

/* Parsers. */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads the digits at *text, moves it behind them. -EINVAL if there are none. */
static int read_digits(const char **text, uint64_t *value)
{
	bool fits = true;

	if (!is_digit(**text))
		return -EINVAL;
	for (*value = 0; is_digit(**text); (*text)++)
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, (uint64_t)(**text - '0'), value))
			fits = false;
	return fits ? 0 : -ERANGE;
}

int parse_unsigned(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	bool negative = *text == '-';
	uint64_t number = 0;
	int err;

	if (negative)
		text++;
	err = read_digits(&text, &number);
	if (*text)
		return -EINVAL;
	if (err)
		return err;
	if (negative || number < min || number > max)
		return -ERANGE;
	*value = number;
	return 0;
}

/*
 * Reads ".DIGITS" as nanoseconds, which is as fine as any clock here: further
 * digits must be digits and change nothing. -EINVAL if it is not that.
 */
static int read_fraction(const char **text, uint64_t *ns)
{
	uint64_t unit = 100000000;

	if (**text != '.' || !is_digit((*text)[1]))
		return -EINVAL;
	*ns = 0;
	for ((*text)++; is_digit(**text); (*text)++) {
		*ns += (uint64_t)(**text - '0') * unit;
		unit /= 10;
	}
	return 0;
}

int parse_seconds(const char *text, double max, double *value)
{
	bool negative = *text == '-';
	uint64_t whole = 0, ns = 0;
	int err = 0, fraction_err;
	double seconds;

	if (negative)
		text++;
	if (*text != '.')
		err = read_digits(&text, &whole);
	if (err == -EINVAL)
		return err;
	if (*text) {
		fraction_err = read_fraction(&text, &ns);
		if (fraction_err || *text)
			return -EINVAL;
	}
	seconds = (double)whole + (double)ns / 1e9;
	if (err || negative || (!whole && !ns) || seconds > max)
		return -ERANGE;
	*value = seconds;
	return 0;
}

/* Options: each take_ function checks one value and stores it. */

static void take_flag(struct parse *parse, const struct option_entry *entry, char *value)
{
	(void)value;
	*(bool *)((char *)parse->options + entry->field) = true;
}

/* The field is 32 bits wide. */
static void take_number(struct parse *parse, const struct option_entry *entry, char *value)
{
	uint64_t number;
	int err = parse_unsigned(value, entry->min, entry->max, &number);

	if (err)
		value_failure(parse, entry, value,
			      "'%.200s' %s; a number from %llu to %llu is allowed", value,
			      refusal(err), (unsigned long long)entry->min,
			      (unsigned long long)entry->max);
	*(uint32_t *)((char *)parse->options + entry->field) = (uint32_t)number;
}

static void add_pid(struct parse *parse, pid_t pid)
{
	struct options *options = parse->options;
	pid_t *pids;

	for (size_t i = 0; i < options->pid_count; i++)
		if (options->pids[i] == pid)
			return;
	pids = reallocarray(options->pids, options->pid_count + 1, sizeof(*pids));
	if (!pids)
		memory_failure(parse);
	options->pids = pids;
	pids[options->pid_count++] = pid;
}

static void take_pids(struct parse *parse, const struct option_entry *entry, char *value)
{
	const char *item = value;

	for (;;) {
		size_t length = strcspn(item, ",");
		char *text = strndup(item, length);
		uint64_t pid;
		int err;

		if (!text)
			memory_failure(parse);
		err = parse_unsigned(text, 1, PID_LIMIT, &pid);
		if (err)
			value_failure(parse, entry, value,
				      "'%.200s' %s; process ids from 1 to %d are allowed, "
				      "separated by commas", text, refusal(err), PID_LIMIT);
		free(text);
		add_pid(parse, (pid_t)pid);
		if (!item[length])
			return;
		item += length + 1;
	}
}

static const struct {
	const char *word;
	enum map_selector_kind kind;
} map_words[] = { { "id", MAP_BY_ID }, { "name", MAP_BY_NAME }, { "pinned", MAP_BY_PIN } };

#define MAP_WORDS (sizeof(map_words) / sizeof(map_words[0]))
#define BLANKS " \t"

/*
 * Reads the word that begins a selector. Returns what follows it, blanks
 * skipped, or NULL if text does not begin with one of the words.
 */
static const char *read_map_word(const char *text, enum map_selector_kind *kind)
{
	size_t length = strcspn(text, BLANKS);

	for (size_t i = 0; i < MAP_WORDS; i++) {
		if (strlen(map_words[i].word) != length ||
		    strncmp(map_words[i].word, text, length) != 0)
			continue;
		*kind = map_words[i].kind;
		return text + length + strspn(text + length, BLANKS);
	}
	return NULL;
}

/*
 * The whole selector, allocated. bpftool's users write `name NAME` as two
 * arguments: a value that is but the word takes the next argument as well.
 */
static char *join_map_value(struct parse *parse, const char *value)
{
	struct argp_state *state = parse->state;
	enum map_selector_kind kind;
	const char *rest = read_map_word(value, &kind);
	char *joined;

	if (!rest || *rest || state->next >= state->argc || state->argv[state->next][0] == '-') {
		joined = strdup(value);
		if (!joined)
			memory_failure(parse);
		return joined;
	}
	if (asprintf(&joined, "%s %s", value, state->argv[state->next]) < 0)
		memory_failure(parse);
	state->next++;
	return joined;
}

static void take_map(struct parse *parse, const struct option_entry *entry, char *value)
{
	struct options *options = parse->options;
	struct map_selector selector = { .kind = MAP_BY_ID }, *maps;
	char *given = join_map_value(parse, value);
	const char *rest = read_map_word(given, &selector.kind);
	uint64_t id;
	int err;

	selector.given = given;
	selector.text = rest ? rest : given;
	if (rest && !*rest)
		value_failure(parse, entry, given, "'%s' needs %s after it", given,
			      selector.kind == MAP_BY_ID ? "a map id" :
			      selector.kind == MAP_BY_NAME ? "a map's name" : "a path");
	if (selector.kind == MAP_BY_ID) {
		err = parse_unsigned(selector.text, 1, NUMBER_LIMIT, &id);
		if (err == -ERANGE)
			value_failure(parse, entry, given, "'%.200s' is out of range; map ids "
				      "are 1 to %d", selector.text, NUMBER_LIMIT);
		if (err)
			value_failure(parse, entry, given, "'%.200s' is no map id; a map is "
				      "named by ID, 'id ID', 'name NAME' or 'pinned PATH'",
				      selector.text);
		selector.id = (uint32_t)id;
	}
	maps = reallocarray(options->maps, options->map_count + 1, sizeof(*maps));
	if (!maps)
		memory_failure(parse);
	options->maps = maps;
	maps[options->map_count++] = selector;
}

/* A path that must not be empty. */
static const char *take_path(struct parse *parse, const struct option_entry *entry,
			     const char *value)
{
	if (!*value)
		value_failure(parse, entry, value, "'' is no path; %s is needed",
			      entry->arg);
	return value;
}

static void take_cgroup(struct parse *parse, const struct option_entry *entry, char *value)
{
	if (parse->options->cgroup)
		value_failure(parse, entry, value, "only one cgroup can be given, and '%.200s' "
			      "was", parse->options->cgroup);
	parse->options->cgroup = take_path(parse, entry, value);
}

static void take_output(struct parse *parse, const struct option_entry *entry, char *value)
{
	parse->options->output = take_path(parse, entry, value);
}

static void take_save(struct parse *parse, const struct option_entry *entry, char *value)
{
	parse->options->save = take_path(parse, entry, value);
	if (output_is_stdout(value))
		value_failure(parse, entry, value, "standard output has the report; a capture "
			      "there is what -j prints");
}

static void take_openmetrics(struct parse *parse, const struct option_entry *entry, char *value)
{
	parse->options->openmetrics = take_path(parse, entry, value);
	if (output_is_stdout(value))
		value_failure(parse, entry, value, "metrics need a file, which is replaced as a "
			      "whole each time");
}

static int parse_time(const char *text, double *seconds)
{
	double value;
	int err = parse_seconds(text, SECONDS_MOST, &value);

	if (err)
		return err;
	if (value < SECONDS_LEAST)
		return -ERANGE;
	*seconds = value;
	return 0;
}

static void take_duration(struct parse *parse, const struct option_entry *entry, char *value)
{
	int err = parse_time(value, &parse->options->duration);

	if (err)
		value_failure(parse, entry, value, "'%.200s' %s; " SECONDS_ALLOWED
			      " are allowed", value, refusal(err));
}

static int parse_bytes(const char *text, uint64_t max, uint64_t *bytes)
{
	size_t length = strlen(text);
	unsigned int shift = 0;
	uint64_t number;
	char *digits;
	int err;

	if (length && (text[length - 1] == 'K' || text[length - 1] == 'M')) {
		shift = text[length - 1] == 'K' ? 10 : 20;
		length--;
	}
	digits = strndup(text, length);
	if (!digits)
		return -ENOMEM;
	err = parse_unsigned(digits, 0, max >> shift, &number);
	free(digits);
	if (!err)
		*bytes = number << shift;
	return err;
}

static void take_ring_size(struct parse *parse, const struct option_entry *entry, char *value)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes = 0;
	int err = parse_bytes(value, RING_LIMIT, &bytes);
	const char *wrong;

	if (err == -ENOMEM)
		memory_failure(parse);
	if (err)
		wrong = refusal(err);
	else if (bytes < page)
		wrong = "is less than a page";
	else if (bytes & (bytes - 1))
		wrong = "is not a power of two";
	else
		wrong = NULL;
	if (wrong)
		value_failure(parse, entry, value, "'%.200s' %s; a power of two from %llu to %u "
			      "is allowed, such as 256K or 4M", value, wrong,
			      (unsigned long long)page, RING_LIMIT);
	parse->options->ring_bytes = (uint32_t)bytes;
}

/* Appends to "one, two" what comes next. */
static void list_add(char *list, size_t bytes, const char *item)
{
	size_t used = strlen(list);

	snprintf(list + used, bytes - used, "%s%s", used ? ", " : "", item);
}

static const char *find_key(const char *const *keys, const char *key)
{
	for (; *keys; keys++)
		if (strcmp(*keys, key) == 0)
			return *keys;
	return NULL;
}

static void list_sort_keys(const struct command_entry *command, char *list, size_t bytes)
{
	const char *const *keys = command->sort_keys ? command->sort_keys : vma_sort_keys;

	list[0] = '\0';
	for (size_t i = 0; keys[i]; i++)
		list_add(list, bytes, keys[i]);
	for (size_t i = 0; !command->sort_keys && update_sort_keys[i]; i++)
		if (!find_key(vma_sort_keys, update_sort_keys[i]))
			list_add(list, bytes, update_sort_keys[i]);
}

static void take_sort_key(struct parse *parse, const struct option_entry *entry, char *value)
{
	const struct command_entry *command = parse->command;
	const char *key = find_key(command->sort_keys ? command->sort_keys : vma_sort_keys, value);
	char keys[256];

	if (!key && !command->sort_keys)
		key = find_key(update_sort_keys, value);
	if (key) {
		parse->options->sort_key = key;
		return;
	}
	list_sort_keys(command, keys, sizeof(keys));
	value_failure(parse, entry, value, "there is no key '%.200s'; the keys are %s", value,
		      keys);
}

/* Ends it when it was asked for but some lines, and they are written. */
static void end_printed(void) __attribute__((noreturn));

static void end_printed(void)
{
	int error = output_close(stdout);

	if (error)
		output_complain("output", NULL, error);
	exit(error ? EXIT_FAILURE : EXIT_SUCCESS);
}

static void take_help(struct parse *parse, const struct option_entry *entry, char *value)
{
	(void)entry;
	(void)value;
	argp_state_help(parse->state, stdout, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK);
	end_printed();
}

static void take_usage(struct parse *parse, const struct option_entry *entry, char *value)
{
	(void)entry;
	(void)value;
	argp_state_help(parse->state, stdout, ARGP_HELP_USAGE);
	end_printed();
}

static void take_version(struct parse *parse, const struct option_entry *entry, char *value)
{
	(void)parse;
	(void)entry;
	(void)value;
	puts(PROGRAM " " LAZYFAULT_VERSION);
	end_printed();
}

/* Arguments. */

static void list_commands(char *list, size_t bytes)
{
	list[0] = '\0';
	for (size_t i = 0; i < COMMANDS; i++)
		list_add(list, bytes, commands[i].name);
}

static void take_interval(struct parse *parse, const char *value)
{
	int err = parse_time(value, &parse->options->interval);
	char names[256];

	if (!err)
		return;
	if (err == -ERANGE)
		usage_failure(parse, "INTERVAL '%.200s' is out of range; " SECONDS_ALLOWED
			      " are allowed", value);
	list_commands(names, sizeof(names));
	usage_failure(parse, "INTERVAL '%.200s' is not a number; " SECONDS_ALLOWED
		      " are allowed (a command to run follows --, and one of %s comes first)",
		      value, names);
}

static void take_count(struct parse *parse, const char *value)
{
	int err = parse_unsigned(value, 1, NUMBER_LIMIT, &parse->options->count);

	if (err)
		usage_failure(parse, "COUNT '%.200s' %s; a number from 1 to %d is allowed",
			      value, refusal(err), NUMBER_LIMIT);
}

static void take_file(struct parse *parse, const char *value)
{
	if (!*value)
		usage_failure(parse, "FILE '' is no path; a file is needed, or - for standard input");
	if (parse->options->file)
		usage_failure(parse, "'%.200s': %s takes one FILE, and '%.200s' was given", value,
			      parse->command->name, parse->options->file);
	parse->options->file = value;
}

static void take_argument(struct parse *parse, const char *value)
{
	if (parse->command->takes_file) {
		take_file(parse, value);
		return;
	}
	if (!parse->command->takes_interval)
		usage_failure(parse, "'%.200s': %s takes no arguments", value,
			      parse->command->name);
	switch (parse->positional++) {
	case 0:
		take_interval(parse, value);
		break;
	case 1:
		take_count(parse, value);
		break;
	default:
		usage_failure(parse, "'%.200s': nothing can follow INTERVAL and COUNT but "
			      "-- COMMAND", value);
	}
}

/* What is wrong only together. */
static void check_together(const struct parse *parse)
{
	const struct options *options = parse->options;

	if (parse->command->takes_file && !options->file)
		usage_failure(parse, "%s needs a FILE (- is standard input)",
			      parse->command->name);
	if (options->html && options->json)
		usage_failure(parse, "--html and -j/--json: give one of the two");
	if (options->per_process && !options->openmetrics)
		usage_failure(parse, "--per-process: it is for the metrics of --openmetrics, "
			      "which must be given too");
	if (!options->argv)
		return;
	if (!parse->command->takes_command)
		usage_failure(parse, "'--': %s runs no COMMAND", parse->command->name);
	if (!options->argv[0])
		usage_failure(parse, "'--': a COMMAND must follow it");
	if (!options->argv[0][0])
		usage_failure(parse, "'--': the COMMAND after it is empty");
	if (options->pid_count)
		usage_failure(parse, "-p/--pid and -- COMMAND: the command and what it starts "
			      "are the processes to trace; give one of the two");
	if (options->cgroup)
		usage_failure(parse, "-c/--cgroup and -- COMMAND: the command and what it starts "
			      "are the processes to trace; give one of the two");
}

/* The first option of any command whose long name begins so. */
static const struct option_entry *entry_of_name(const char *name, size_t length)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (!strncmp(entries[i].name, name, length))
			return &entries[i];
	return NULL;
}

/*
 * The option whose value is the next argument, if it is one's; *last is the
 * last one that text has, whatever it takes.
 */
static bool awaits_value(const char *text, const struct option_entry **last)
{
	const char *value;

	if (text[1] == '-') {
		value = strchrnul(text + 2, '=');
		*last = entry_of_name(text + 2, (size_t)(value - text) - 2);
		return *last && (*last)->arg && !*value;
	}
	for (value = text + 1; *value; value++) {
		*last = entry_of_key(*value);
		if (*last && (*last)->arg)
			return !value[1];
	}
	return false;
}

/*
 * Of arguments without a command's name before them, the first that is no
 * option and no option's value, as options of any command have them. 0: there
 * is none, or it does not matter.
 */
static int find_argument(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const struct option_entry *last = NULL;
		enum map_selector_kind kind;
		const char *rest;

		if (argv[i][0] != '-' || !argv[i][1])
			return i;
		if (awaits_value(argv[i], &last) && ++i < argc && last->take == take_map) {
			rest = read_map_word(argv[i], &kind);
			i += rest && !*rest;
		}
		if (last && last->group == GROUP_OTHER)
			return 0;
	}
	return 0;
}

/* A command that is misspelt, or stands behind options, would be taken for INTERVAL. */
static void check_command(const struct parse *parse, int argc, char **argv)
{
	int at = find_argument(argc, argv);

	for (size_t i = 0; at && i < COMMANDS; i++) {
		if (!strcmp(argv[at], commands[i].name))
			usage_failure(parse, "'%s' is a command, which comes before all options: "
				      PROGRAM " %s ...", argv[at], argv[at]);
		if (is_similar(argv[at], commands[i].name))
			usage_failure(parse, "'%.200s' is no command, and no INTERVAL; did you mean "
				      "'%s'?", argv[at], commands[i].name);
	}
}

static error_t parse_key(int key, char *value, struct argp_state *state)
{
	struct parse *parse = state->input;
	const struct option_entry *entry = entry_of_key(key);

	parse->state = state;
	if (entry) {
		entry->take(parse, entry, value);
		return 0;
	}
	switch (key) {
	case ARGP_KEY_INIT:
		/* argp sets it only later */
		state->name = state->argv[0];
		if (!parse->named)
			check_command(parse, state->argc, state->argv);
		return 0;
	case ARGP_KEY_ARG:
		take_argument(parse, value);
		return 0;
	case ARGP_KEY_END:
		check_together(parse);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Adds what only the tables know to the help that argp makes. */
static char *filter_help(int key, const char *text, void *input)
{
	const struct command_entry *command = ((struct parse *)input)->command;
	char keys[256], *filtered;

	if (key != 's' || !text)
		return (char *)text;
	list_sort_keys(command, keys, sizeof(keys));
	if (asprintf(&filtered, "%s: %s (default %s)", text, keys,
		     command->sort_keys ? command->sort_keys[0] : vma_sort_keys[0]) < 0)
		return (char *)text;
	return filtered;
}

/*
 * Help before and behind the options, which argp parts by a vertical tab.
 * Allocated; NULL on lack of memory.
 */
static char *describe_command(const struct command_entry *command)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	fprintf(out, PROGRAM " %s: %s.\v", command->name, command->summary);
	if (command == commands) {
		fprintf(out, "Commands:\n");
		for (size_t i = 0; i < COMMANDS; i++)
			fprintf(out, "  %-10s%s\n", commands[i].name, commands[i].summary);
		fprintf(out, "\n");
	}
	if (command->takes_interval)
		fprintf(out, "A report is printed every INTERVAL seconds, COUNT times; without "
			"INTERVAL one at the end.\n");
	if (command->takes_command)
		fprintf(out, "With -- COMMAND that command is run, and it is traced with all "
			"that it starts.\n");
	fprintf(out, "Exit status: 0%s; 1 if %s; %d for wrong usage.",
		command->takes_command ? ", or the COMMAND's own" : "", command->failure,
		EX_USAGE);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* The rows that command accepts, as argp wants them; rows holds ENTRIES + TITLES + 1. */
static void fill_argp_options(enum command command, struct argp_option *rows)
{
	int group = 0;

	for (size_t i = 0; i < ENTRIES; i++) {
		const struct option_entry *entry = &entries[i];

		if (!(entry->commands & 1u << command))
			continue;
		if (entry->group != group && entry->group > 0) {
			group = entry->group;
			*rows++ = (struct argp_option) { .doc = group_titles[group],
							 .group = group };
		}
		*rows++ = (struct argp_option) {
			.name = entry->name, .key = entry->key, .arg = entry->arg,
			.doc = entry->doc, .group = entry->group,
		};
	}
	*rows = (struct argp_option) { 0 };
}

/* Takes the command's name off the arguments, if it is there; *named says so. */
static enum command split_command(int *argc, char **argv, bool *named)
{
	*named = true;
	for (size_t i = 0; *argc > 1 && i < COMMANDS; i++) {
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		memmove(argv + 1, argv + 2, (size_t)(*argc - 1) * sizeof(*argv));
		(*argc)--;
		return (enum command)i;
	}
	*named = false;
	return COMMAND_FAULTS;
}

/*
 * Cuts the arguments at the first `--`, so that no option of COMMAND is ever
 * taken for one of ours. Returns what follows it, or NULL.
 */
static char **split_program(int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--") != 0)
			continue;
		*argc = i;
		return argv + i + 1;
	}
	return NULL;
}

/* own: a copy of the arguments that may be changed, with room for one more. */
static void parse_arguments(struct parse *parse, int argc, char **own)
{
	struct argp_option rows[ENTRIES + TITLES + 1];
	struct argp argp = {
		.options = rows, .parser = parse_key, .help_filter = filter_help,
	};
	enum command command = split_command(&argc, own, &parse->named);
	char name[32] = PROGRAM, *doc = describe_command(&commands[command]);
	error_t err = doc ? 0 : ENOMEM;

	if (command != COMMAND_FAULTS)
		snprintf(name, sizeof(name), PROGRAM " %s", commands[command].name);
	own[0] = name;
	parse->options->command = command;
	parse->command = &commands[command];
	argp.doc = doc;
	argp.args_doc = parse->command->args_doc;
	fill_argp_options(command, rows);
	argp_err_exit_status = EX_USAGE;
	if (!err)
		err = argp_parse(&argp, argc, own, ARGP_NO_HELP, NULL, parse);
	if (err) {
		fprintf(stderr, PROGRAM ": cannot read the arguments: %s\n", strerror(err));
		exit(EXIT_FAILURE);
	}
	free(doc);
}

void options_parse(struct options *options, int argc, char **argv)
{
	struct parse parse = { .options = options };
	char **own;

	*options = (struct options) { .max_vmas = MAX_VMAS_DEFAULT };
	options->argv = split_program(&argc, argv);
	own = calloc((size_t)argc + 2, sizeof(*own));
	if (!own) {
		perror(PROGRAM);
		exit(EXIT_FAILURE);
	}
	memcpy(own, argv, (size_t)argc * sizeof(*own));
	parse_arguments(&parse, argc, own);
	free(own);
}

void options_free(struct options *options)
{
	for (size_t i = 0; i < options->map_count; i++)
		free((char *)options->maps[i].given);
	free(options->maps);
	free(options->pids);
	*options = (struct options) { 0 };
}
