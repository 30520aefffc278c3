/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures what a command adds to page faults and to calls of bpf(2): its own
 * without the command, then with it attached. Under QEMU's icount a nanosecond
 * is an instruction, and the difference repeats to a tenth of one.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* A pass must be shorter than a tick (4 ms), so that most have none in them. */
#define PAGES 256
#define PASSES 96
#define MAX_THREADS 64
#define WINDOW_PAGES 16
#define TABLE_BYTES (2UL << 20)		/* what one page table spans */
#define FAULT_AROUND "/sys/kernel/debug/fault_around_bytes"

enum kind { ARRAY, BATCH, FILE_PAGE, LOOKUP, UPDATE, KINDS };

static const char *const kind_names[KINDS] = { "array", "batch", "file", "lookup", "update" };

struct settings {
	const char *name, *ready, *output;
	bool measure[KINDS];
	unsigned int vmas, threads;
	char **command;
};

/* Instructions of one fault or call. */
struct cost {
	double least, median;
};

static size_t page_bytes;
static uint64_t touches;	/* of array pages, while the command was attached */

static __attribute__((noreturn)) void die(const char *what)
{
	fprintf(stderr, "overhead: %s: %s\n", what, strerror(errno));
	exit(1);
}

static __attribute__((noreturn)) void die_saying(const char *what)
{
	fprintf(stderr, "overhead: %s\n", what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static void sleep_ms(unsigned int ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

static uint64_t minor_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt;
}

/* ---- mappings ---- */

static int create_array(unsigned int value_bytes, unsigned int elements)
{
	union bpf_attr attributes = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4,
		.value_size = value_bytes,
		.max_entries = elements,
		.map_flags = BPF_F_MMAPABLE,
		.map_name = "overhead",
	};
	int fd = syscall(__NR_bpf, BPF_MAP_CREATE, &attributes, sizeof(attributes));

	if (fd < 0)
		die("cannot create an array map");
	return fd;
}

/*
 * Maps pages of fd at the beginning of a page table, and in the last table that
 * they reach one page of memory stays present: so that of few pages is never
 * made or freed while we measure.
 */
static char *map_beside_anchor(int fd, size_t pages, int flags)
{
	size_t tables = (pages + 1) * page_bytes / TABLE_BYTES + 1;
	char *room, *start;

	room = mmap(NULL, (tables + 1) * TABLE_BYTES, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		die("mmap");
	start = (char *)(((uintptr_t)room + TABLE_BYTES - 1) & ~(TABLE_BYTES - 1));
	madvise(start, tables * TABLE_BYTES, MADV_NOHUGEPAGE);
	start = mmap(start, pages * page_bytes, PROT_READ, flags | MAP_FIXED, fd, 0);
	if (start == MAP_FAILED)
		die("mmap");
	start[tables * TABLE_BYTES - page_bytes] = 1;
	return start;
}

/* Each a VMA of its own: the kernel does not merge mappings of this kind. */
static char *map_more(int fd, unsigned int count)
{
	char *start = mmap(NULL, count * page_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (unsigned int i = 0; start != MAP_FAILED && i < count; i++)
		if (mmap(start + i * page_bytes, page_bytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd,
			 0) == MAP_FAILED)
			die("mmap of a further VMA");
	if (start == MAP_FAILED)
		die("mmap");
	return start;
}

static void touch(const char *start, size_t pages, size_t step)
{
	for (size_t i = 0; i < pages; i += step)
		(void)*(const volatile char *)(start + i * page_bytes);
}

static void zap(char *start, size_t pages)
{
	if (madvise(start, pages * page_bytes, MADV_DONTNEED))
		die("MADV_DONTNEED");
}

/* ---- passes ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The least of many passes is the one that nothing came between. */
static struct cost cost_of(double *passes, size_t count)
{
	qsort(passes, count, sizeof(*passes), by_value);
	return (struct cost){ passes[0], passes[count / 2] };
}

static __attribute__((noreturn)) void die_of_faults(uint64_t faults, uint64_t expected)
{
	fprintf(stderr, "overhead: a pass took %llu faults, not %llu: is the kernel the right one?\n",
		(unsigned long long)faults, (unsigned long long)expected);
	exit(1);
}

/* One page a fault, or one window of them. */
static struct cost measure_alone(char *start, size_t step)
{
	double passes[PASSES];

	for (int pass = -1; pass < PASSES; pass++) {
		uint64_t before, after, faults;

		zap(start, PAGES);
		faults = minor_faults();
		before = now_ns();
		touch(start, PAGES, step);
		after = now_ns();
		faults = minor_faults() - faults;
		if (pass < 0)
			continue;	/* it also meets code and stack for the first time */
		if (faults != PAGES / step)
			die_of_faults(faults, PAGES / step);
		passes[pass] = (double)(after - before) / faults;
	}
	return cost_of(passes, PASSES);
}

/* Calls of bpf(2) that look up or set the element of an array of one. */
static struct cost measure_calls(enum bpf_cmd command)
{
	uint32_t key = 0;
	uint64_t value = 0;
	union bpf_attr attributes = {
		.map_fd = create_array(sizeof(value), 1),
		.key = (uintptr_t)&key,
		.value = (uintptr_t)&value,
	};
	double passes[PASSES];

	for (int pass = -1; pass < PASSES; pass++) {
		uint64_t before = now_ns();

		for (int i = 0; i < PAGES; i++)
			if (syscall(__NR_bpf, command, &attributes, sizeof(attributes)))
				die("a call of bpf(2)");
		if (pass >= 0)
			passes[pass] = (double)(now_ns() - before) / PAGES;
	}
	close((int)attributes.map_fd);
	return cost_of(passes, PASSES);
}

struct crowd {
	char *start;
	size_t share;		/* pages of each */
	pthread_barrier_t begin, end;
	bool done;
};

struct member {
	struct crowd *crowd;
	unsigned int number;
	pthread_t thread;
	uint64_t ns;		/* that its share took, in the pass that is over */
};

static void *run_member(void *argument)
{
	struct member *member = argument;
	struct crowd *crowd = member->crowd;

	for (;;) {
		uint64_t before;

		pthread_barrier_wait(&crowd->begin);
		if (crowd->done)
			return NULL;
		before = now_ns();
		touch(crowd->start + member->number * crowd->share * page_bytes, crowd->share, 1);
		member->ns = now_ns() - before;
		pthread_barrier_wait(&crowd->end);
	}
}

/*
 * Threads at once, each with its share of the pages. Each takes its own time, as
 * that of all depends on how often they take turns, which is chance.
 */
static struct cost measure_crowd(char *start, unsigned int threads)
{
	struct crowd crowd = { .start = start, .share = PAGES / threads };
	static double shares[PASSES * MAX_THREADS];
	struct member members[MAX_THREADS];
	size_t count = 0;

	pthread_barrier_init(&crowd.begin, NULL, threads + 1);
	pthread_barrier_init(&crowd.end, NULL, threads + 1);
	for (unsigned int i = 0; i < threads; i++) {
		members[i] = (struct member){ .crowd = &crowd, .number = i };
		if (pthread_create(&members[i].thread, NULL, run_member, &members[i]))
			die("pthread_create");
	}
	for (int pass = -1; pass < PASSES; pass++) {
		zap(start, threads * crowd.share);
		pthread_barrier_wait(&crowd.begin);
		pthread_barrier_wait(&crowd.end);
		for (unsigned int i = 0; pass >= 0 && i < threads; i++)
			shares[count++] = (double)members[i].ns / crowd.share;
	}
	crowd.done = true;
	pthread_barrier_wait(&crowd.begin);
	for (unsigned int i = 0; i < threads; i++)
		pthread_join(members[i].thread, NULL);
	return cost_of(shares, count);
}

/* ---- a process that has nothing to do with BPF maps ---- */

static char *map_file(void)
{
	char path[] = "/tmp/overhead.XXXXXX";
	char *block = calloc(1, page_bytes);
	int fd = mkstemp(path);

	if (fd < 0 || !block)
		die("a file in /tmp");
	unlink(path);
	for (int i = 0; i < PAGES; i++)
		if (write(fd, block, page_bytes) != (ssize_t)page_bytes)
			die("writing a file in /tmp");
	return map_beside_anchor(fd, PAGES, MAP_PRIVATE);
}

static int start_bystander(void)
{
	int sockets[2];
	struct cost cost;
	char *start, word;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		die("socketpair");
	switch (fork()) {
	case -1:
		die("fork");
	case 0:
		close(sockets[0]);
		start = map_file();
		while (read(sockets[1], &word, 1) == 1) {
			cost = measure_alone(start, 1);
			if (write(sockets[1], &cost, sizeof(cost)) != sizeof(cost))
				break;
		}
		_exit(0);
	}
	close(sockets[1]);
	return sockets[0];
}

static struct cost ask_bystander(int socket)
{
	struct cost cost;

	if (write(socket, "?", 1) != 1 || read(socket, &cost, sizeof(cost)) != sizeof(cost))
		die_saying("the process that faults on a file ended");
	return cost;
}

/* ---- fault-around ---- */

static unsigned long fault_around(void)
{
	unsigned long bytes = 0;
	FILE *file = fopen(FAULT_AROUND, "re");

	if (!file || fscanf(file, "%lu", &bytes) != 1)
		die(FAULT_AROUND);
	fclose(file);
	return bytes;
}

static void set_fault_around(unsigned long bytes)
{
	FILE *file = fopen(FAULT_AROUND, "we");

	if (!file || fprintf(file, "%lu", bytes) < 0 || fclose(file))
		die(FAULT_AROUND);
}

/* ---- the command ---- */

struct child {
	pid_t pid;
	int output;		/* its standard output and standard error */
	FILE *copy;		/* where its output is kept, or NULL */
	uint64_t start_ns, stop_ns;
};

static void put(struct child *child, const char *text, size_t bytes)
{
	if (child->copy)
		fwrite(text, 1, bytes, child->copy);
}

/* Reads until the text that says it is attached has come. */
static void await_ready(struct child *child, const char *text)
{
	char seen[8192];
	size_t length = 0;
	ssize_t got;

	for (;;) {
		got = read(child->output, seen + length, sizeof(seen) - 1 - length);
		if (got <= 0)
			break;
		put(child, seen + length, got);
		length += got;
		seen[length] = 0;
		if (strstr(seen, text))
			return;
		if (length == sizeof(seen) - 1)
			break;
	}
	seen[length] = 0;
	fprintf(stderr, "overhead: the command never said '%s', but:\n%s\n", text, seen);
	exit(1);
}

/* A word {pid} of the command stands for this process. */
static void fill_in_pid(char **command)
{
	static char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	for (; *command; command++)
		if (!strcmp(*command, "{pid}"))
			*command = pid;
}

/* On a terminal programs print a line when it is due; in a pipe some keep it back. */
static int open_terminal(int *slave)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios mode;

	if (master < 0 || grantpt(master) || unlockpt(master))
		die("a terminal for the command");
	*slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*slave < 0 || tcgetattr(*slave, &mode))
		die("a terminal for the command");
	cfmakeraw(&mode);
	tcsetattr(*slave, TCSANOW, &mode);
	return master;
}

static void start_child(struct child *child, const struct settings *settings)
{
	uint64_t before = now_ns();
	int terminal;

	child->copy = settings->output ? fopen(settings->output, "we") : NULL;
	if (settings->output && !child->copy)
		die(settings->output);
	child->output = open_terminal(&terminal);
	fill_in_pid(settings->command);
	child->pid = fork();
	if (child->pid < 0)
		die("fork");
	if (!child->pid) {
		dup2(terminal, STDOUT_FILENO);
		dup2(terminal, STDERR_FILENO);
		signal(SIGINT, SIG_DFL);
		execvp(settings->command[0], settings->command);
		fprintf(stderr, "%s: %s\n", settings->command[0], strerror(errno));
		_exit(127);
	}
	close(terminal);
	await_ready(child, settings->ready);
	child->start_ns = now_ns() - before;
}

static void stop_child(struct child *child)
{
	uint64_t before = now_ns();
	char text[4096];
	ssize_t got;
	int status;

	kill(child->pid, SIGINT);
	while ((got = read(child->output, text, sizeof(text))) > 0)
		put(child, text, got);
	if (waitpid(child->pid, &status, 0) != child->pid || status)
		die_saying("the command failed");
	child->stop_ns = now_ns() - before;
	if (child->copy)
		fclose(child->copy);
}

/* ---- the whole ---- */

struct bench {
	char *start, *more;
	int bystander;
	unsigned long around;
};

static struct cost measure(const struct bench *bench, const struct settings *settings,
			   enum kind kind)
{
	struct cost cost;

	if (kind == LOOKUP || kind == UPDATE)
		return measure_calls(kind == LOOKUP ? BPF_MAP_LOOKUP_ELEM : BPF_MAP_UPDATE_ELEM);
	set_fault_around(kind == FILE_PAGE ? page_bytes : WINDOW_PAGES * page_bytes);
	if (kind == FILE_PAGE) {
		cost = ask_bystander(bench->bystander);
	} else {
		cost = settings->threads > 1 ? measure_crowd(bench->start, settings->threads) :
		       measure_alone(bench->start, kind == BATCH ? WINDOW_PAGES : 1);
		touches += (PASSES + 1) * (PAGES / settings->threads * settings->threads);
	}
	set_fault_around(bench->around);
	return cost;
}

/* Every VMA is touched, so that whoever keeps something of each has it. */
static void measure_all(const struct bench *bench, const struct settings *settings,
			struct cost *costs)
{
	touches = 0;
	sleep_ms(500);
	if (bench->more) {
		touch(bench->more, settings->vmas - 1, 1);
		zap(bench->more, settings->vmas - 1);
		touches += settings->vmas - 1;
	}
	for (int kind = 0; kind < KINDS; kind++)
		if (settings->measure[kind])
			costs[kind] = measure(bench, settings, kind);
}

static void print_row(const struct settings *settings, enum kind kind, struct cost before,
		      struct cost with, const struct child *child)
{
	printf("{\"type\":\"row\",\"name\":\"%s\",\"measure\":\"%s\",\"vmas\":%u,\"threads\":%u,"
	       "\"without\":%.2f,\"with\":%.2f,\"added\":%.2f,\"added_median\":%.2f,\"passes\":%d,"
	       "\"touches\":%llu,\"start_ns\":%llu,\"stop_ns\":%llu}\n",
	       settings->name, kind_names[kind], settings->vmas, settings->threads, before.least,
	       with.least, with.least - before.least, with.median - before.median, PASSES,
	       (unsigned long long)touches, (unsigned long long)child->start_ns,
	       (unsigned long long)child->stop_ns);
}

static void run(const struct settings *settings)
{
	struct cost before[KINDS], with[KINDS];
	struct bench bench = { .around = fault_around() };
	struct child child = {};
	int array;

	/* before there are maps, so that it has none */
	if (settings->measure[FILE_PAGE])
		bench.bystander = start_bystander();
	array = create_array(page_bytes, PAGES);
	bench.start = map_beside_anchor(array, PAGES, MAP_SHARED);
	if (settings->vmas > 1)
		bench.more = map_more(array, settings->vmas - 1);

	measure_all(&bench, settings, before);
	start_child(&child, settings);
	measure_all(&bench, settings, with);
	stop_child(&child);
	for (int kind = 0; kind < KINDS; kind++)
		if (settings->measure[kind])
			print_row(settings, kind, before[kind], with[kind], &child);
}

/* ---- options ---- */

static const struct argp_option options[] = {
	{ "name", 'n', "NAME", 0, "Of the rows that are printed", 0 },
	{ "ready", 'r', "TEXT", 0, "What COMMAND prints once it is attached", 0 },
	{ "output", 'o', "FILE", 0, "Keep what COMMAND prints", 0 },
	{ "measure", 'm', "KIND", 0, "A fault on a page of an array (default), batch or file, or a "
	  "call of bpf(2), lookup or update; may be repeated", 0 },
	{ "vmas", 'v', "N", 0, "VMAs of the array map (1)", 0 },
	{ "threads", 't', "N", 0, "Threads that fault on arrays at once (1)", 0 },
	{}
};

static unsigned int parse_count(struct argp_state *state, const char *text, unsigned long most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end || !value || value > most)
		argp_error(state, "'%s' is not a number from 1 to %lu", text, most);
	return value;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct settings *settings = state->input;
	int kind;

	switch (key) {
	case 'n':
		settings->name = argument;
		return 0;
	case 'r':
		settings->ready = argument;
		return 0;
	case 'o':
		settings->output = argument;
		return 0;
	case 'm':
		for (kind = 0; kind < KINDS && strcmp(argument, kind_names[kind]); kind++)
			;
		if (kind == KINDS)
			argp_error(state, "--measure: '%s' is not array, batch, file, lookup or update",
				   argument);
		settings->measure[kind] = true;
		return 0;
	case 'v':
		settings->vmas = parse_count(state, argument, 60000);
		return 0;
	case 't':
		settings->threads = parse_count(state, argument, MAX_THREADS);
		return 0;
	case ARGP_KEY_ARGS:
		settings->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "no command given");
		return 0;
	case ARGP_KEY_END:
		if (!settings->name || !settings->ready)
			argp_error(state, "--name and --ready must be given");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* Where things lie changes what they cost, so they lie at the same places each time. */
static void fix_addresses(char **argv)
{
	int was = personality(0xffffffff);

	if (was & ADDR_NO_RANDOMIZE)
		return;
	if (personality(was | ADDR_NO_RANDOMIZE) < 0)
		die("personality");
	execv("/proc/self/exe", argv);
	die("/proc/self/exe");
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = parse,
		.args_doc = "-- COMMAND [ARG...]",
		.doc = "Measures instructions that COMMAND adds to a page fault or a call of bpf(2); "
		       "{pid} among its arguments stands for this process.",
	};
	struct settings settings = { .vmas = 1, .threads = 1 };

	fix_addresses(argv);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &settings);
	if (!memchr(settings.measure, true, sizeof(settings.measure)))
		settings.measure[ARRAY] = true;
	page_bytes = sysconf(_SC_PAGESIZE);
	run(&settings);
	return 0;
}
