// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Measures what mmap() and munmap() of a BPF_F_MMAPABLE array map cost, with and without
 * MAP_POPULATE, and with no page accessed, each page read or each page written in between.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define MAX_BYTES (1ULL << 32)
#define MAX_REPEAT 100000ULL
#define CLOCK_READINGS 1000

enum access { ACCESS_NONE, ACCESS_READ, ACCESS_WRITE, ACCESS_NR };
enum part { PART_MMAP, PART_ACCESS, PART_MUNMAP, PART_TOTAL, PART_NR };

static const char *const access_names[] = { "none", "read", "write" };
static const char *const part_names[] = { "mmap", "access", "munmap", "total" };

struct options {
	uint64_t bytes;
	uint64_t repeat;
	bool json;
};

/* One of the ways to map; sample[part] has a duration for each repetition. */
struct way {
	bool populate;
	enum access access;
	uint64_t *sample[PART_NR];
	uint64_t *faults;
};

#define WAYS (2 * ACCESS_NR)

struct spread {
	double min, q1, median, q3, max;
};

static size_t page_bytes;

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "arraymap-mmap: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

/* --- options ------------------------------------------------------------ */

enum key { KEY_SIZE = 0x100, KEY_REPEAT, KEY_JSON };

static const struct argp_option table[] = {
	{ "size", KEY_SIZE, "BYTES", 0,
	  "size of the map, a multiple of the page size; K, M and G are suffixes (default 8M)", 0 },
	{ "repeat", KEY_REPEAT, "N", 0, "measure each way N times (default 20)", 0 },
	{ "json", KEY_JSON, NULL, 0, "one JSON object a line, times in ns", 0 },
	{ 0 }
};

static const char doc[] =
	"Measures mmap() and munmap() of an array map: with and without MAP_POPULATE, and with no "
	"page accessed, each page read or each page written in between.\v"
	"The ways take turns, after one round that does not count. Times are us, unless --json: "
	"the medians of the three parts and of their total, then the least, the quartiles and the "
	"most of the total. Faults are the minor faults of the process, of which MAP_POPULATE makes "
	"one a page (or a batch) too. What reading the clock costs is said, and not subtracted.\n\n"
	"Exit status: 0; 1 if something failed; 64 wrong usage.";

/* Digits and, with suffixes, one of K, M and G; nothing else, and nothing that overflows. */
static bool to_number(const char *text, bool suffixes, uint64_t *value)
{
	static const char letters[] = "KMG";
	const char *letter;
	char *end;
	unsigned int shift = 0;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	if (errno)
		return false;
	if (suffixes && *end) {
		letter = strchr(letters, *end++);
		if (!letter)
			return false;
		shift = 10 * (letter - letters + 1);
	}
	if (*end || *value > UINT64_MAX >> shift)
		return false;
	*value <<= shift;
	return true;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case KEY_SIZE:
		if (!to_number(arg, true, &o->bytes) || !o->bytes || o->bytes > MAX_BYTES ||
		    o->bytes % page_bytes)
			argp_error(state, "--size: '%s' is not a multiple of the page size, %zu, "
				   "up to 4G", arg, page_bytes);
		return 0;
	case KEY_REPEAT:
		if (!to_number(arg, false, &o->repeat) || !o->repeat || o->repeat > MAX_REPEAT)
			argp_error(state, "--repeat: '%s' is not a number from 1 to %llu", arg,
				   MAX_REPEAT);
		return 0;
	case KEY_JSON:
		o->json = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' is no option", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- measuring ---------------------------------------------------------- */

static int map_create(uint64_t bytes)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.map_flags = BPF_F_MMAPABLE;
	attr.key_size = sizeof(uint32_t);
	attr.value_size = page_bytes;
	attr.max_entries = bytes / page_bytes;
	fd = syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		die("cannot create an array map of %" PRIu64 " bytes: %s%s", bytes, strerror(errno),
		    errno == EPERM ? " (needs root, or CAP_BPF)" :
		    errno == ENOMEM ? " (try a smaller --size)" : "");
	return fd;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static uint64_t minor_faults(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		die("getrusage: %m");
	return usage.ru_minflt;
}

static void access_pages(volatile unsigned char *start, uint64_t bytes, enum access access)
{
	volatile unsigned char *at;

	if (access == ACCESS_READ)
		for (at = start; at < start + bytes; at += page_bytes)
			(void)*at;
	else if (access == ACCESS_WRITE)
		for (at = start; at < start + bytes; at += page_bytes)
			*at = 1;
}

static void measure(int fd, uint64_t bytes, struct way *way, uint64_t index)
{
	int flags = MAP_SHARED | (way->populate ? MAP_POPULATE : 0);
	uint64_t start, mapped, accessed, unmapped, faults;
	void *addr;

	faults = minor_faults();
	start = now_ns();
	addr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
	mapped = now_ns();
	if (addr == MAP_FAILED)
		die("cannot map %" PRIu64 " bytes of the array map: %m", bytes);
	access_pages(addr, bytes, way->access);
	accessed = now_ns();
	if (munmap(addr, bytes))
		die("munmap: %m");
	unmapped = now_ns();

	way->sample[PART_MMAP][index] = mapped - start;
	way->sample[PART_ACCESS][index] = accessed - mapped;
	way->sample[PART_MUNMAP][index] = unmapped - accessed;
	way->sample[PART_TOTAL][index] = unmapped - start;
	way->faults[index] = minor_faults() - faults;
}

/* Written to, so that its pages are there before anything is measured. */
static uint64_t *new_samples(uint64_t nr)
{
	uint64_t *sample = malloc(nr * sizeof(*sample));

	if (!sample)
		die("out of memory");
	memset(sample, 0xff, nr * sizeof(*sample));
	return sample;
}

static void ways_init(struct way *ways, uint64_t repeat)
{
	int i, part;

	for (i = 0; i < WAYS; i++) {
		ways[i].populate = i >= ACCESS_NR;
		ways[i].access = i % ACCESS_NR;
		for (part = 0; part < PART_NR; part++)
			ways[i].sample[part] = new_samples(repeat);
		ways[i].faults = new_samples(repeat);
	}
}

static void ways_free(struct way *ways)
{
	int i, part;

	for (i = 0; i < WAYS; i++) {
		for (part = 0; part < PART_NR; part++)
			free(ways[i].sample[part]);
		free(ways[i].faults);
	}
}

/* The ways take turns, so that whatever drifts or disturbs hits all of them alike. */
static void measure_ways(const struct options *o, struct way *ways)
{
	int fd = map_create(o->bytes), i;
	uint64_t round;

	/* What comes first finds cold caches, and pages that nobody wrote. */
	for (i = 0; i < WAYS; i++)
		measure(fd, o->bytes, &ways[i], 0);
	for (round = 0; round < o->repeat; round++)
		for (i = 0; i < WAYS; i++)
			measure(fd, o->bytes, &ways[i], round);
	close(fd);
}

/* --- results ------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Between two samples where the quantile falls between them. */
static double quantile(const uint64_t *sorted, uint64_t nr, double share)
{
	double at = share * (nr - 1);
	uint64_t below = at;

	if (below + 1 >= nr)
		return sorted[nr - 1];
	return sorted[below] + (at - below) * ((double)sorted[below + 1] - sorted[below]);
}

/* Sorts the samples. */
static struct spread spread_of(uint64_t *sample, uint64_t nr)
{
	qsort(sample, nr, sizeof(*sample), compare);
	return (struct spread) {
		.min = sample[0],
		.q1 = quantile(sample, nr, 0.25),
		.median = quantile(sample, nr, 0.5),
		.q3 = quantile(sample, nr, 0.75),
		.max = sample[nr - 1],
	};
}

/* Of one reading; of the time between two, that is. */
static double clock_cost(void)
{
	uint64_t sample[CLOCK_READINGS], last = now_ns(), now;
	int i;

	for (i = 0; i < CLOCK_READINGS; i++) {
		now = now_ns();
		sample[i] = now - last;
		last = now;
	}
	return spread_of(sample, CLOCK_READINGS).median;
}

static void print_json_way(struct way *way, uint64_t repeat)
{
	struct spread s;
	int part;

	printf("{\"type\":\"way\",\"populate\":%s,\"access\":\"%s\",\"repeat\":%" PRIu64,
	       way->populate ? "true" : "false", access_names[way->access], repeat);
	printf(",\"faults\":%.10g", spread_of(way->faults, repeat).median);
	for (part = 0; part < PART_NR; part++) {
		s = spread_of(way->sample[part], repeat);
		printf(",\"%s_ns\":{\"min\":%.15g,\"q1\":%.15g,\"median\":%.15g,\"q3\":%.15g,"
		       "\"max\":%.15g}", part_names[part], s.min, s.q1, s.median, s.q3, s.max);
	}
	printf("}\n");
}

static void print_json(const struct options *o, const char *kernel, double clock_ns,
		       struct way *ways)
{
	int i;

	printf("{\"type\":\"setup\",\"kernel\":\"%s\",\"bytes\":%" PRIu64 ",\"page_bytes\":%zu,"
	       "\"repeat\":%" PRIu64 ",\"clock_ns\":%.15g}\n",
	       kernel, o->bytes, page_bytes, o->repeat, clock_ns);
	for (i = 0; i < WAYS; i++)
		print_json_way(&ways[i], o->repeat);
}

static void print_text_way(struct way *way, uint64_t repeat)
{
	struct spread s;
	int part;

	printf("%-12s  %-6s  %6.0f", way->populate ? "yes" : "no", access_names[way->access],
	       spread_of(way->faults, repeat).median);
	for (part = 0; part < PART_NR; part++)
		printf("  %9.1f", spread_of(way->sample[part], repeat).median / 1000);
	s = spread_of(way->sample[PART_TOTAL], repeat);
	printf("  |%9.1f %9.1f %9.1f %9.1f\n", s.min / 1000, s.q1 / 1000, s.q3 / 1000,
	       s.max / 1000);
}

static void print_text(const struct options *o, const char *kernel, double clock_ns,
		       struct way *ways)
{
	int i, part;

	printf("Linux %s: array map of %" PRIu64 " bytes, %" PRIu64 " pages; %" PRIu64
	       " repetitions, us; one reading of the clock: %.3f us\n\n", kernel, o->bytes,
	       o->bytes / page_bytes, o->repeat, clock_ns / 1000);
	printf("%-12s  %-6s  %6s", "MAP_POPULATE", "access", "faults");
	for (part = 0; part < PART_NR; part++)
		printf("  %9s", part_names[part]);
	printf("  |%9s %9s %9s %9s\n", "min", "q1", "q3", "max");
	for (i = 0; i < WAYS; i++)
		print_text_way(&ways[i], o->repeat);
}

int main(int argc, char **argv)
{
	static const struct argp argp = { table, parse, NULL, doc, NULL, NULL, NULL };
	struct options o = { .bytes = 8 << 20, .repeat = 20 };
	struct way ways[WAYS];
	struct utsname system;
	double clock_ns;

	page_bytes = sysconf(_SC_PAGESIZE);
	argp_parse(&argp, argc, argv, 0, NULL, &o);
	if (uname(&system))
		die("uname: %m");
	clock_ns = clock_cost();
	ways_init(ways, o.repeat);
	measure_ways(&o, ways);
	if (o.json)
		print_json(&o, system.release, clock_ns, ways);
	else
		print_text(&o, system.release, clock_ns, ways);
	ways_free(ways);
	if (fflush(stdout) || ferror(stdout))
		die("cannot write the results: %m");
	return 0;
}
