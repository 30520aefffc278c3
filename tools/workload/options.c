// SPDX-License-Identifier: GPL-2.0-or-later
/* The workload's options: one table, each value checked once. */
#include "workload.h"

#include <argp.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TIMES 1000000000ULL

enum key {
	KEY_TYPE = 0x100, KEY_NAME, KEY_MAP_PAGES, KEY_VALUE_BYTES, KEY_NEW_MAP, KEY_PIN,
	KEY_ARENA_SEGV, KEY_PAGES, KEY_OFFSET, KEY_VMAS, KEY_VMA_STRIDE, KEY_POPULATE, KEY_PROT,
	KEY_ACCESS, KEY_ORDER, KEY_THREADS, KEY_SHARE, KEY_KERNEL_ACCESS, KEY_REMOTE, KEY_OBSERVE,
	KEY_SCHED, KEY_MADVISE, KEY_FORK, KEY_SPLIT, KEY_MREMAP, KEY_ROUNDS, KEY_SECONDS,
	KEY_REPEAT, KEY_PROCESSES, KEY_PARALLEL, KEY_PAUSE, KEY_EXEC_NOISE, KEY_WAIT_BEFORE,
	KEY_WAIT_FILE, KEY_HOLD, KEY_END, KEY_COMM, KEY_QUIET, KEY_DO_NOTHING,
};

static const struct argp_option table[] = {
	{ .doc = "The map:", .group = 1 },
	{ "type", KEY_TYPE, "KIND", 0,
	  "array (the default; BPF_F_MMAPABLE), arena, ringbuf or user_ringbuf", 1 },
	{ "name", KEY_NAME, "NAME", 0,
	  "its name, up to 15 of A-Z a-z 0-9 _ . (default: workload; may be empty)", 1 },
	{ "map-pages", KEY_MAP_PAGES, "N", 0,
	  "its size (default: what the VMAs need); a ring buffer's data's, a power of two", 1 },
	{ "value-size", KEY_VALUE_BYTES, "BYTES", 0,
	  "of an array: bytes of one value (default: a page)", 1 },
	{ "new-map", KEY_NEW_MAP, NULL, 0,
	  "a new map for each round; the id goes with the old one", 1 },
	{ "pin", KEY_PIN, "PATH", 0, "pin it there, until the end", 1 },
	{ "arena-segv", KEY_ARENA_SEGV, NULL, 0,
	  "an arena that refuses (BPF_F_SEGV_ON_FAULT): every touch is a failed fault", 1 },

	{ .doc = "The VMAs:", .group = 2 },
	{ "pages", KEY_PAGES, "N", 0, "pages of each VMA (default 16)", 2 },
	{ "offset", KEY_OFFSET, "N", 0, "page of the map that the first VMA begins at", 2 },
	{ "vmas", KEY_VMAS, "N", 0, "map the same map N times", 2 },
	{ "vma-stride", KEY_VMA_STRIDE, "N", 0, "each VMA begins N pages further into the map", 2 },
	{ "populate", KEY_POPULATE, NULL, 0, "MAP_POPULATE", 2 },
	{ "prot", KEY_PROT, "r|rw", 0,
	  "protection (default rw; of a ring buffer rw only if it is written)", 2 },

	{ .doc = "The touches, one byte of a page each:", .group = 3 },
	{ "access", KEY_ACCESS, "HOW", 0,
	  "read (the default), write, none, mixed[:K] (every page whose number K divides is "
	  "written, the others are read; K is 2) or read-then-write", 3 },
	{ "order", KEY_ORDER, "HOW", 0,
	  "forward (the default), backward, random[:SEED], stride:K (0, K, 2K, ..., 1, K+1, ...) "
	  "or once:LIST (only these, as 3,7-9,2)", 3 },
	{ "threads", KEY_THREADS, "N", 0, "threads that touch", 3 },
	{ "share", KEY_SHARE, "split|same", 0,
	  "threads divide the pages (the default), or each touches all of them", 3 },
	{ "kernel-access", KEY_KERNEL_ACCESS, "N|all", 0,
	  "the first N touches are made by the kernel: read(2) from a pipe into the page where it "
	  "would be written, write(2) to a pipe from it where it would be read", 3 },
	{ "remote", KEY_REMOTE, "N|all", 0,
	  "the next N touches are made by another process, by process_vm_readv and -writev", 3 },
	{ "observe", KEY_OBSERVE, NULL, 0,
	  "look after each touch how many pages it brought (fault-around); one thread only", 3 },
	{ "sched", KEY_SCHED, "fifo[:N]", 0, "run as SCHED_FIFO (priority 1)", 3 },

	{ .doc = "Changes, with half of the touches before and half after them:", .group = 4 },
	{ "madvise", KEY_MADVISE, "HOW", 0,
	  "none, populate_read, populate_write, mlock (which is mlock(2); each of them before any "
	  "touch) or dontneed[:N] (after all touches; then they are made again, N times in all; on an "
	  "eager kernel that ends in SIGBUS)", 4 },
	{ "fork", KEY_FORK, "WHEN", 0,
	  "none, before-touch or half-touched: the child touches everything and exits", 4 },
	{ "split", KEY_SPLIT, "mprotect|munmap", 0,
	  "make the middle half read-only or unmap it, so that the kernel splits the VMA", 4 },
	{ "mremap", KEY_MREMAP, NULL, 0, "move the VMA to another address", 4 },

	{ .doc = "The course of the run:", .group = 5 },
	{ "rounds", KEY_ROUNDS, "N", 0, "map, touch and unmap so often", 5 },
	{ "seconds", KEY_SECONDS, "N", 0, "rounds until so much time is over; implies --quiet", 5 },
	{ "repeat", KEY_REPEAT, NULL, 0, "rounds until SIGTERM or SIGINT; implies --quiet", 5 },
	{ "processes", KEY_PROCESSES, "N", 0, "N processes, each does all of this and exits", 5 },
	{ "parallel", KEY_PARALLEL, "N", 0, "so many of them at a time", 5 },
	{ "pause", KEY_PAUSE, "MS", 0, "wait between rounds, and before each dontneed", 5 },
	{ "exec-noise", KEY_EXEC_NOISE, "N", 0,
	  "N processes execute programs all the while: file faults that are none of a map", 5 },
	{ "wait-before", KEY_WAIT_BEFORE, "PATH", 0, "map only when PATH exists", 5 },
	{ "wait-file", KEY_WAIT_FILE, "PATH", 0, "touch only when PATH exists", 5 },
	{ "hold", KEY_HOLD, NULL, 0,
	  "keep the VMAs until standard input ends, or SIGTERM or SIGINT comes", 5 },
	{ "end", KEY_END, "HOW", 0, "how they go: munmap (the default), exit, exec or kill", 5 },
	{ "comm", KEY_COMM, "NAME", 0,
	  "name of the process; \\n, \\\\ and \\xNN stand for bytes", 5 },
	{ "quiet", KEY_QUIET, NULL, 0, "only the map, ready, holding and summary lines", 5 },
	{ "do-nothing", KEY_DO_NOTHING, NULL, OPTION_HIDDEN, NULL, 5 },
	{ 0 },
};

/* What follows the vertical tab is printed behind the options. */
static const char doc[] =
	"Maps a BPF map and touches its pages in exactly known ways; prints what a tracer must "
	"have seen. The truth comes from its own account, /proc/self/pagemap and getrusage().\v"
	"One JSON object a line: \"map\" once the map is there, \"ready\" once it is mapped, "
	"\"vma\" for each VMA when it has been touched, \"holding\", \"refused\" for a change "
	"that this kernel does not allow, and \"summary\".\n\n"
	"A \"vma\" says what it is: pid, comm (comm_hex: its bytes), map_id, map_name, "
	"map_type, round, vma (its number), role (mapped, forked, moved, split-lower, "
	"split-middle, split-upper), start, end, pages, map_offset_pages, mode (does this "
	"kernel map it eager or lazy), populate, origin (who touched it).\n\n"
	"expect is what a tracer must have seen in it: total = read + write = user + populate + "
	"kernel + remote, each with the failed ones; a run that came second for a page is not "
	"counted. It holds for eager and for lazy kernels. With fault-around, installed and "
	"min_flt (one for each trap or page populated) hold instead, and observed (touches by "
	"the pages that each brought).\n\n"
	"touched_read, touched_write: pages. present_before, present_after: PTEs right after "
	"mmap(), fork or the change, and at the end. installed: PTEs that faults in this VMA "
	"wrote. min_flt: of the threads that touched, while they did; min_flt_noise: what the "
	"same code faults without a map. raced_at_most: runs that may have come second. "
	"failed_touches: SIGSEGV, SIGBUS.\n\n"
	"The kernel's own VMA of before a split is the middle of after: its counts go on there. "
	"One that moved is two: \"mapped\" until then, \"moved\" from then on.\n\n"
	"agrees: pagemap shows every page of the account, and no touch failed unforeseen. "
	"min_flt_agrees: so does min_flt (not with fault-around). around: pages are there that "
	"nobody touched.\n\n"
	"Exit status: 0; 1 if something failed, or agrees is false; 64 wrong usage.";

const char *kind_name(enum map_kind kind)
{
	static const char *const names[] = { "array", "arena", "ringbuf", "user_ringbuf" };

	return names[kind];
}

enum access_bits page_access(const struct options *o, const struct vma *v, uint64_t page)
{
	if (v->read_only)
		return ACCESS_READ;
	switch (o->access) {
	case PLAN_WRITE:
		return ACCESS_WRITE;
	case PLAN_MIXED:
		return page % o->mixed_every ? ACCESS_READ : ACCESS_WRITE;
	case PLAN_READ_THEN_WRITE:
		return ACCESS_READ | ACCESS_WRITE;
	default:
		return ACCESS_READ;
	}
}

/* --- values ------------------------------------------------------------ */

static const char *option_name(int key)
{
	const struct argp_option *option;

	for (option = table; option->name || option->doc; option++)
		if (option->key == key)
			return option->name;
	return "?";
}

static uint64_t number(struct argp_state *state, int key, const char *text, uint64_t min,
		       uint64_t max)
{
	uint64_t value = 0;

	if (!to_number(text, &value) || value < min || value > max)
		argp_error(state, "--%s: '%s' is not a number from %" PRIu64 " to %" PRIu64,
			   option_name(key), text, min, max);
	return value;
}

static uint64_t number_or_all(struct argp_state *state, int key, const char *text)
{
	return strcmp(text, "all") ? number(state, key, text, 0, MAX_PAGES) : ALL_TOUCHES;
}

/* The place of text in a list of words that NULL ends. */
static int word(struct argp_state *state, int key, const char *text, const char *const *words)
{
	int i;

	for (i = 0; words[i]; i++)
		if (!strcmp(text, words[i]))
			return i;
	argp_error(state, "--%s: '%s' is none of its values (see --help)", option_name(key), text);
	return 0;
}

/*
 * The same for words that a number may follow after a colon. *value stays as
 * it is where there is none.
 */
static int word_and_number(struct argp_state *state, int key, const char *text,
			   const char *const *words, uint64_t min, uint64_t max, uint64_t *value)
{
	const char *colon = strchr(text, ':');
	char *name;
	int i;

	if (!colon)
		return word(state, key, text, words);
	name = strndup(text, colon - text);
	if (!name)
		die("out of memory");
	i = word(state, key, name, words);
	free(name);
	*value = number(state, key, colon + 1, min, max);
	return i;
}

static void no_number(struct argp_state *state, int key, const char *text)
{
	if (strchr(text, ':'))
		argp_error(state, "--%s: '%s': this value takes no number", option_name(key), text);
}

static void set_name(struct argp_state *state, struct options *o, const char *text)
{
	size_t i, length = strlen(text);

	for (i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '.')
			break;
	if (i < length || length >= sizeof(o->name))
		argp_error(state, "--name: '%s' is not up to 15 of A-Z a-z 0-9 _ .", text);
	memset(o->name, 0, sizeof(o->name));
	memcpy(o->name, text, length);
}

/* One byte of a comm, or -1; *text moves on behind it. */
static int unescape(const char **text)
{
	char hex[3] = "", *end;
	int byte;

	if (**text != '\\')
		return (unsigned char)*(*text)++;
	(*text)++;
	switch (*(*text)++) {
	case 'n':
		return '\n';
	case '\\':
		return '\\';
	case 'x':
		if (!isxdigit((unsigned char)(*text)[0]) || !isxdigit((unsigned char)(*text)[1]))
			return -1;
		memcpy(hex, *text, 2);
		*text += 2;
		byte = strtol(hex, &end, 16);
		return byte ? byte : -1;
	default:
		return -1;
	}
}

static void set_comm(struct argp_state *state, struct options *o, const char *text)
{
	const char *at = text;
	size_t length = 0;
	int byte;

	while (*at) {
		byte = unescape(&at);
		if (byte < 0)
			argp_error(state, "--comm: '%s': only \\n, \\\\ and \\x01 to \\xff are "
				   "escapes", text);
		if (length == sizeof(o->comm) - 1)
			argp_error(state, "--comm: '%s' has more than 15 bytes", text);
		o->comm[length++] = byte;
	}
	o->comm[length] = '\0';
	o->comm_given = true;
}

static void set_order(struct argp_state *state, struct options *o, const char *text)
{
	static const char *const words[] = { "forward", "backward", "random", "stride", NULL };

	o->order_value = 0;
	if (!strncmp(text, "once:", 5)) {
		o->order_plan = ORDER_ONCE;
		o->order_text = text + 5;
		return;
	}
	o->order_plan = word_and_number(state, KEY_ORDER, text, words, 0, MAX_PAGES,
					&o->order_value);
	if (o->order_plan < ORDER_RANDOM)
		no_number(state, KEY_ORDER, text);
	if (o->order_plan == ORDER_STRIDE && !o->order_value)
		argp_error(state, "--order: '%s': a stride needs a number from 1, as stride:8",
			   text);
}

static void set_access(struct argp_state *state, struct options *o, const char *text)
{
	static const char *const words[] = { "read", "write", "none", "mixed", "read-then-write",
					     NULL };

	o->mixed_every = 2;
	o->access = word_and_number(state, KEY_ACCESS, text, words, 1, MAX_PAGES, &o->mixed_every);
	if (o->access != PLAN_MIXED)
		no_number(state, KEY_ACCESS, text);
}

static void set_advice(struct argp_state *state, struct options *o, const char *text)
{
	static const char *const words[] = { "none", "populate_read", "populate_write", "mlock",
					     "dontneed", NULL };

	o->advice_times = 1;
	o->advice = word_and_number(state, KEY_MADVISE, text, words, 1, MAX_TIMES,
				    &o->advice_times);
	if (o->advice != ADVICE_DONTNEED)
		no_number(state, KEY_MADVISE, text);
}

static void set_sched(struct argp_state *state, struct options *o, const char *text)
{
	static const char *const words[] = { "fifo", NULL };
	uint64_t priority = 1;

	word_and_number(state, KEY_SCHED, text, words, 1, 99, &priority);
	o->fifo_priority = priority;
}

/* --- the parser --------------------------------------------------------- */

static error_t parse_plan(int key, char *arg, struct argp_state *state, struct options *o)
{
	static const char *const shares[] = { "split", "same", NULL };
	static const char *const prots[] = { "r", "rw", NULL };
	static const char *const forks[] = { "none", "before-touch", "half-touched", NULL };
	static const char *const splits[] = { "mprotect", "munmap", NULL };
	static const char *const endings[] = { "munmap", "exit", "exec", "kill", NULL };

	switch (key) {
	case KEY_PROT:
		o->protection = PROTECTION_READ + word(state, key, arg, prots);
		break;
	case KEY_ACCESS:
		set_access(state, o, arg);
		break;
	case KEY_ORDER:
		set_order(state, o, arg);
		break;
	case KEY_SHARE:
		o->share = word(state, key, arg, shares);
		break;
	case KEY_SCHED:
		set_sched(state, o, arg);
		break;
	case KEY_MADVISE:
		set_advice(state, o, arg);
		break;
	case KEY_FORK:
		o->fork = word(state, key, arg, forks);
		break;
	case KEY_SPLIT:
		o->split = SPLIT_MPROTECT + word(state, key, arg, splits);
		break;
	case KEY_END:
		o->ending = word(state, key, arg, endings);
		break;
	case KEY_COMM:
		set_comm(state, o, arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static error_t parse_number(int key, char *arg, struct argp_state *state, struct options *o)
{
	switch (key) {
	case KEY_MAP_PAGES:
		o->map_pages = number(state, key, arg, 1, MAX_PAGES);
		break;
	case KEY_VALUE_BYTES:
		o->value_bytes = number(state, key, arg, 1, 1 << 22);
		break;
	case KEY_PAGES:
		o->pages = number(state, key, arg, 1, MAX_PAGES);
		break;
	case KEY_OFFSET:
		o->offset = number(state, key, arg, 0, MAX_PAGES);
		break;
	case KEY_VMAS:
		o->vmas = number(state, key, arg, 1, 1000000);
		break;
	case KEY_VMA_STRIDE:
		o->vma_stride = number(state, key, arg, 0, MAX_PAGES);
		break;
	case KEY_THREADS:
		o->threads = number(state, key, arg, 1, 4096);
		break;
	case KEY_KERNEL_ACCESS:
		o->kernel_touches = number_or_all(state, key, arg);
		break;
	case KEY_REMOTE:
		o->remote_touches = number_or_all(state, key, arg);
		break;
	case KEY_ROUNDS:
		o->rounds = number(state, key, arg, 1, MAX_TIMES);
		break;
	case KEY_SECONDS:
		o->seconds = number(state, key, arg, 1, MAX_TIMES);
		break;
	case KEY_PROCESSES:
		o->processes = number(state, key, arg, 1, MAX_TIMES);
		break;
	case KEY_PARALLEL:
		o->parallel = number(state, key, arg, 1, 4096);
		break;
	case KEY_PAUSE:
		o->pause_ms = number(state, key, arg, 0, MAX_TIMES);
		break;
	case KEY_EXEC_NOISE:
		o->noise = number(state, key, arg, 1, 4096);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static error_t parse_flag(int key, char *arg, struct options *o)
{
	switch (key) {
	case KEY_NEW_MAP:
		o->new_map = true;
		break;
	case KEY_PIN:
		o->pin = arg;
		break;
	case KEY_ARENA_SEGV:
		o->segv_on_fault = true;
		break;
	case KEY_POPULATE:
		o->populate = true;
		break;
	case KEY_OBSERVE:
		o->observe = true;
		break;
	case KEY_MREMAP:
		o->move = true;
		break;
	case KEY_REPEAT:
		o->forever = true;
		break;
	case KEY_WAIT_BEFORE:
		o->wait_before = arg;
		break;
	case KEY_WAIT_FILE:
		o->wait_file = arg;
		break;
	case KEY_HOLD:
		o->hold = true;
		break;
	case KEY_QUIET:
		o->quiet = true;
		break;
	case KEY_DO_NOTHING:
		o->do_nothing = true;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const kinds[] = { "array", "arena", "ringbuf", "user_ringbuf", NULL };
	struct options *o = state->input;
	char *error;

	switch (key) {
	case KEY_TYPE:
		o->kind = word(state, key, arg, kinds);
		return 0;
	case KEY_NAME:
		set_name(state, o, arg);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is no option", arg);
		return 0;
	case ARGP_KEY_END:
		error = options_complete(o);
		if (error)
			argp_error(state, "%s", error);
		return 0;
	}
	if (parse_plan(key, arg, state, o) == 0 || parse_number(key, arg, state, o) == 0)
		return 0;
	return parse_flag(key, arg, o);
}

void options_parse(int argc, char **argv, struct options *o)
{
	static const struct argp argp = { .options = table, .parser = parse, .doc = doc };

	*o = (struct options){
		.name = "workload", .pages = 16, .vmas = 1, .threads = 1, .mixed_every = 2,
		.rounds = 1, .parallel = 1,
	};
	argp_parse(&argp, argc, argv, 0, NULL, o);
}
