// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests in a guest that the fault-around kernel maps array maps as bpf_array_mmap= says: foresees
 * every page fault and every installed page, and compares; and that contents, references, reverse
 * mappings and the kernel log are as they should be. Prints TAP.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE		4096UL
#define TABLE_PAGES	512UL		/* what one page table maps */
#define TABLE_SIZE	(TABLE_PAGES * PAGE)
#define MAX_PAGES	2048UL
#define WINDOW_FILE	"/sys/kernel/debug/fault_around_bytes"
#define TRACING		"/sys/kernel/tracing/"

enum mode { EAGER, LAZY, AROUND, SET_PTE_RANGE, SET_PTE_AT, RENAMED, SKIP, DECLINE, MODES };

static const char *const mode_words[MODES] = {
	"eager", "lazy", "around", "set_pte_range", "set_pte_at", "renamed", "skip", "decline",
};

/* An array of one element a page, and where some of its pages are mapped. */
struct mapping {
	int fd;
	unsigned long offset;		/* of the first mapped page in the array */
	unsigned long pages;
	char *reserved;			/* page tables that nothing else uses */
	size_t reserved_size;
	volatile char *at;
};

/* What ought to be: which pages have a PTE, which page tables exist, faults so far. */
struct model {
	bool present[MAX_PAGES];
	bool table[MAX_PAGES / TABLE_PAGES + 2];
	unsigned long faults;
};

static enum mode mode = AROUND;
static unsigned long window = 16;	/* pages */
static struct model model;
static int pagemap_fd, count_fd;
static bool failed;			/* in the case that is running */
static unsigned int cases, failures;

static void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

static void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("# ");
	vprintf(format, args);
	printf("\n");
	va_end(args);
	failed = true;
}

static long sys_bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static uint64_t word_of(uint32_t index)
{
	return 0x5eed000000000000ULL + index;
}

static void update(int fd, uint32_t index, uint64_t word)
{
	static char value[PAGE];
	union bpf_attr attr = { .map_fd = fd, .key = (uintptr_t)&index,
				.value = (uintptr_t)value };

	memcpy(value, &word, sizeof(word));
	memcpy(value + PAGE - sizeof(word), &word, sizeof(word));
	if (sys_bpf(BPF_MAP_UPDATE_ELEM, &attr))
		die("BPF_MAP_UPDATE_ELEM");
}

static uint64_t lookup(int fd, uint32_t index)
{
	static char value[PAGE];
	union bpf_attr attr = { .map_fd = fd, .key = (uintptr_t)&index,
				.value = (uintptr_t)value };
	uint64_t word;

	if (sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr))
		die("BPF_MAP_LOOKUP_ELEM");
	memcpy(&word, value, sizeof(word));
	return word;
}

static int create_array(unsigned long pages)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4,
				.value_size = PAGE, .max_entries = pages,
				.map_flags = BPF_F_MMAPABLE };
	int fd = sys_bpf(BPF_MAP_CREATE, &attr);

	if (fd < 0)
		die("BPF_MAP_CREATE");
	return fd;
}

/*
 * Maps pages of a fresh array, beginning @shift pages into a page table. Whole tables are reserved
 * around it, so that whether there is a table already depends on this mapping alone.
 */
static struct mapping map_array(unsigned long offset, unsigned long pages, unsigned long shift,
				int flags)
{
	struct mapping m = { .offset = offset, .pages = pages };
	uintptr_t aligned;
	unsigned long i;

	m.fd = create_array(offset + pages);
	for (i = 0; i < offset + pages; i++)
		update(m.fd, i, word_of(i));
	m.reserved_size = (shift + pages) * PAGE + 3 * TABLE_SIZE;
	m.reserved = mmap(NULL, m.reserved_size, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m.reserved == MAP_FAILED)
		die("mmap of address space");
	aligned = ((uintptr_t)m.reserved + TABLE_SIZE - 1) & ~(TABLE_SIZE - 1);
	m.at = mmap((void *)(aligned + shift * PAGE), pages * PAGE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED | flags, m.fd, offset * PAGE);
	if (m.at == MAP_FAILED)
		die("mmap of an array");

	memset(&model, 0, sizeof(model));
	if (mode == EAGER || (flags & MAP_POPULATE))
		memset(model.present, true, sizeof(model.present));
	return m;
}

static void unmap_array(struct mapping *m)
{
	if (munmap(m->reserved, m->reserved_size) || close(m->fd))
		die("munmap");
}

static bool batches(void)
{
	return mode != EAGER && mode != LAZY && window > 1;
}

/* The kernel's own arithmetic: a window is aligned, and ends with the VMA and the page table. */
static void model_window(const struct mapping *m, unsigned long page)
{
	unsigned long first_index = (uintptr_t)m->at / PAGE;
	unsigned long index = first_index + page;
	unsigned long first = index / window * window;
	unsigned long end = first + window;
	unsigned long table_end = (index / TABLE_PAGES + 1) * TABLE_PAGES;
	unsigned long i;

	if (first < first_index) {
		first = first_index;
		/* the kernel counts the window's length from where it begins */
		end = first + window;
	}
	if (end > table_end)
		end = table_end;
	if (end > first_index + m->pages)
		end = first_index + m->pages;
	for (i = first - first_index; i < end - first_index; i++)
		if (mode != SKIP || (i - page) % 2 == 0)
			model.present[i] = true;
}

static void model_touch(const struct mapping *m, unsigned long page, bool write)
{
	unsigned long table = ((uintptr_t)m->at / PAGE + page) / TABLE_PAGES -
			      (uintptr_t)m->at / TABLE_SIZE;
	bool declined = mode == DECLINE && (m->offset + page) % 2 == 0;

	if (model.present[page])
		return;
	model.faults++;
	if (!write && batches() && model.table[table] && !declined)
		model_window(m, page);
	model.present[page] = true;
	model.table[table] = true;
}

static long minor_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

static void touch(struct mapping *m, unsigned long page, bool write)
{
	volatile uint64_t *word = (volatile uint64_t *)(m->at + page * PAGE);
	uint64_t want = word_of(m->offset + page), got;
	unsigned long foreseen = model.faults;
	long faults;

	faults = minor_faults();
	if (write)
		*word = want;
	got = *word;
	faults = minor_faults() - faults;

	if (got != want)
		fail("page %lu reads %llx", page, (unsigned long long)got);
	model_touch(m, page, write);
	foreseen = model.faults - foreseen;
	if (faults != (long)foreseen)
		fail("page %lu: %ld faults instead of %lu", page, faults, foreseen);
}

static uint64_t pagemap_entry(const volatile char *address)
{
	uint64_t entry;

	if (pread(pagemap_fd, &entry, sizeof(entry), (uintptr_t)address / PAGE * 8) != 8)
		die("pread of pagemap");
	return entry;
}

static uint64_t map_count(uint64_t frame)
{
	uint64_t count;

	if (pread(count_fd, &count, sizeof(count), frame * 8) != 8)
		die("pread of /proc/kpagecount");
	return count;
}

/* Are the pages present that ought to be, mapped as often as they ought to be? */
static void check_present(const struct mapping *m, uint64_t mappings)
{
	unsigned long i;

	for (i = 0; i < m->pages; i++) {
		uint64_t entry = pagemap_entry(m->at + i * PAGE);
		bool present = entry >> 63;

		if (present != model.present[i])
			fail("page %lu is %spresent", i, present ? "" : "not ");
		else if (present && map_count(entry & ((1ULL << 55) - 1)) != mappings)
			fail("page %lu is mapped %llu times", i, (unsigned long long)
			     map_count(entry & ((1ULL << 55) - 1)));
	}
}

/* What bpf(2) writes is seen through the mapping, and the other way round. */
static void check_shared(struct mapping *m, unsigned long page)
{
	volatile uint64_t *word = (volatile uint64_t *)(m->at + page * PAGE);
	uint32_t index = m->offset + page;

	update(m->fd, index, 4711);
	if (word[0] != 4711 || word[PAGE / 8 - 1] != 4711)
		fail("page %lu does not show what bpf() wrote", page);
	word[0] = 815;
	if (lookup(m->fd, index) != 815)
		fail("bpf() does not see what page %lu holds", page);
	update(m->fd, index, word_of(index));
}

enum access { FORWARD, BACKWARD, STRIDE, WRITE, MIXED, ACCESSES };

static const char *const access_names[ACCESSES] = {
	"read forward", "read backward", "read every 5th", "write", "read and write",
};

static void touch_all(struct mapping *m, enum access access)
{
	unsigned long i;

	for (i = 0; i < m->pages; i += access == STRIDE ? 5 : 1)
		touch(m, access == BACKWARD ? m->pages - 1 - i : i,
		      access == WRITE || (access == MIXED && i % 3 == 0));
}

/* The sizes and offsets at which windows meet the ends of the mapping and of page tables. */
static void run_access(unsigned long pages, unsigned long offset, unsigned long shift,
		       enum access access)
{
	struct mapping m = map_array(offset, pages, shift, 0);
	unsigned long i;

	touch_all(&m, access);
	check_present(&m, 1);
	for (i = 0; i < m.pages; i++)
		check_shared(&m, i);
	unmap_array(&m);
}

static void *read_all(void *argument)
{
	const struct mapping *m = argument;
	unsigned long i;

	for (i = 0; i < m->pages; i++)
		if (*(volatile uint64_t *)(m->at + i * PAGE) != word_of(m->offset + i))
			return "";
	return NULL;
}

static void run_threads(void)
{
	struct mapping m = map_array(3, 2048, 7, 0);
	pthread_t threads[8];
	void *wrong;
	int i;

	for (i = 0; i < 8; i++)
		if (pthread_create(&threads[i], NULL, read_all, &m))
			die("pthread_create");
	for (i = 0; i < 8; i++) {
		pthread_join(threads[i], &wrong);
		if (wrong)
			fail("thread %d read what nobody wrote", i);
	}
	memset(model.present, true, sizeof(model.present));
	check_present(&m, 1);
	unmap_array(&m);
}

static void run_populate(void)
{
	struct mapping m = map_array(5, 513, 9, MAP_POPULATE);

	check_present(&m, 1);
	touch_all(&m, FORWARD);
	unmap_array(&m);
}

/* A child has the parent's PTEs and takes them with it; what it adds is its own. */
static void run_fork(void)
{
	struct mapping m = map_array(1, 600, 100, 0);
	unsigned long i;
	int status;
	pid_t child;

	for (i = 0; i < 600; i += 3)
		touch(&m, i, false);
	fflush(stdout);
	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		pagemap_fd = open("/proc/self/pagemap", O_RDONLY);
		check_present(&m, 2);
		if (munmap((void *)(m.at + 100 * PAGE), 200 * PAGE))
			fail("munmap of a part in the child");
		if (read_all(&(struct mapping){ .at = m.at + 300 * PAGE, .offset = 301,
						.pages = 300 }))
			fail("wrong contents in the child");
		fflush(stdout);
		_exit(failed);
	}
	waitpid(child, &status, 0);
	if (status)
		fail("the child failed");
	check_present(&m, 1);
	touch_all(&m, FORWARD);
	check_present(&m, 1);
	unmap_array(&m);
}

/* PTEs that went come back, and a mapping in pieces or elsewhere works as the whole did. */
static void run_pieces(void)
{
	struct mapping m = map_array(2, 1024, 60, 0);
	volatile char *at;

	touch_all(&m, FORWARD);
	if (mode != EAGER) {
		if (madvise((void *)(m.at + 10 * PAGE), 500 * PAGE, MADV_DONTNEED))
			fail("MADV_DONTNEED: %s", strerror(errno));
		memset(model.present + 10, false, 500);
		check_present(&m, 1);
		touch_all(&m, BACKWARD);
		check_present(&m, 1);
	}
	if (munmap((void *)(m.at + 700 * PAGE), 24 * PAGE))
		fail("munmap of a part: %s", strerror(errno));
	at = mremap((void *)m.at, 600 * PAGE, 600 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		    m.at + 1024 * PAGE);
	if (at == MAP_FAILED || read_all(&(struct mapping){ .at = at, .offset = 2, .pages = 600 }))
		fail("wrong contents after mremap");
	unmap_array(&m);
}

/* A mapping keeps the array, and its pages outlive neither. */
static void run_closed(void)
{
	struct mapping m = map_array(0, 100, 0, 0);
	int fd = dup(m.fd);

	close(m.fd);
	m.fd = fd;
	touch_all(&m, FORWARD);
	if (mmap(NULL, PAGE, PROT_READ, MAP_SHARED, m.fd, 100 * PAGE) != MAP_FAILED)
		fail("a page beyond the end could be mapped");
	if (mmap(NULL, 101 * PAGE, PROT_READ, MAP_SHARED, m.fd, 0) != MAP_FAILED)
		fail("one page too many could be mapped");
	close(m.fd);
	m.fd = dup(0);
	if (read_all(&m))
		fail("wrong contents after close");
	unmap_array(&m);
}

/* Pages beyond 4 GiB into an array: nothing may be cut to 32 bits. */
static void run_large(void)
{
	const unsigned long pages = (4UL << 30) / PAGE + 100;
	struct mapping m = { .offset = pages - 64, .pages = 64 };
	unsigned long i;

	m.fd = create_array(pages);
	for (i = m.offset; i < pages; i++)
		update(m.fd, i, word_of(i));
	m.at = mmap(NULL, 64 * PAGE, PROT_READ, MAP_SHARED, m.fd, m.offset * PAGE);
	if (m.at == MAP_FAILED)
		die("mmap of the end of a large array");
	if (read_all(&m))
		fail("wrong contents beyond 4 GiB");
	munmap((void *)m.at, 64 * PAGE);
	close(m.fd);
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

static void set_window(unsigned long pages)
{
	char text[32];

	snprintf(text, sizeof(text), "%lu", pages * PAGE);
	if (!write_file(WINDOW_FILE, text))
		die(WINDOW_FILE);
	window = pages;
}

/* How often the function tracer saw a function since it was turned on. */
static unsigned long traced(const char *function)
{
	unsigned long count = 0;
	char line[512], call[64];
	FILE *trace = fopen(TRACING "trace", "r");

	if (!trace)
		die(TRACING "trace");
	snprintf(call, sizeof(call), ": %s <-", function);
	while (fgets(line, sizeof(line), trace))
		if (line[0] != '#' && strstr(line, call))
			count++;
	fclose(trace);
	return count;
}

static void expect_traced(const char *function, unsigned long expected)
{
	unsigned long count = traced(function);

	if (count != expected)
		fail("%s ran %lu times instead of %lu", function, count, expected);
}

static void trace(bool on)
{
	static const char *const functions[] = {
		"set_pte_range", "bpf_map_mmap_pages", "array_map_mmap_pages",
		"prefill_neighbours", "bpf_map_mmap_fault", "array_map_mmap_fault",
	};
	char pid[16];
	size_t i;

	if (!on) {
		write_file(TRACING "tracing_on", "0");
		return;
	}
	snprintf(pid, sizeof(pid), "%d", getpid());
	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		int fd = open(TRACING "set_ftrace_filter", O_WRONLY | (i ? O_APPEND : O_TRUNC));

		if (fd < 0 || write(fd, functions[i], strlen(functions[i])) < 0)
			fail("%s cannot be traced: %s", functions[i], strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	if (!write_file(TRACING "set_ftrace_pid", pid) ||
	    !write_file(TRACING "current_tracer", "function") ||
	    !write_file(TRACING "tracing_on", "1"))
		die("function tracer");
}

/*
 * Which functions serve the faults: 64 pages at the beginning of a table, read in order. The first
 * fault finds no table and every handler declines.
 */
static void run_handlers(void)
{
	struct mapping m = map_array(0, 64, 0, 0);
	unsigned long calls, declined = 0, pages = 64, singles, i;

	/* what runs between the two trace() must not bring faults of its own */
	read_all(&m);
	trace(false);
	unmap_array(&m);
	m = map_array(0, 64, 0, 0);

	for (i = 0; i < 64; i++)
		model_touch(&m, i, false);
	calls = batches() ? model.faults : 0;
	if (batches())
		declined = mode == DECLINE ? 4 : 1;
	singles = batches() ? declined : model.faults;
	if (mode == EAGER)
		pages = 0;

	trace(true);
	read_all(&m);
	trace(false);
	expect_traced("bpf_map_mmap_pages", mode == RENAMED ? 0 : calls);
	expect_traced("array_map_mmap_pages", mode == RENAMED ? 0 : calls);
	expect_traced("prefill_neighbours", mode == RENAMED ? calls : 0);
	expect_traced("bpf_map_mmap_fault", singles);
	expect_traced("array_map_mmap_fault", singles);
	expect_traced("set_pte_range", mode == SET_PTE_AT ? singles : pages);
	unmap_array(&m);
	write_file(TRACING "current_tracer", "nop");
	write_file(TRACING "tracing_on", "1");
}

static const char *kernel_log(void)
{
	static char log[1 << 20];

	if (klogctl(3, log, sizeof(log) - 1) <= 0)
		die("klogctl");
	return log;
}

/* The kernel says which word it took: one that it does not know would leave the default. */
static void check_mode(void)
{
	const char *log = kernel_log();
	char taken[64];
	const char *at;

	snprintf(taken, sizeof(taken), "bpf_array_mmap=%s\n", mode_words[mode]);
	for (at = strstr(log, taken); at; at = strstr(at + 1, taken))
		if (at > log && (at[-1] == '>' || !strncmp(at - 2, "] ", 2)))
			return;
	fail("the kernel did not say that it took %s", taken);
}

static void check_log(void)
{
	static const char *const bad[] = { "BUG:", "WARNING:", "Oops", "INFO: task" };
	const char *log = kernel_log();
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (strstr(log, bad[i]))
			fail("the kernel log has: %.200s", strstr(log, bad[i]));
}

/* A process of its own for each case: when it ends, the kernel checks the mm's counters. */
#define RUN(call, ...)						\
	do {							\
		pid_t child_;					\
		int status_ = 1;				\
								\
		fflush(stdout);					\
		child_ = fork();				\
		if (!child_) {					\
			pagemap_fd = open("/proc/self/pagemap", O_RDONLY); \
			minor_faults();				\
			call;					\
			fflush(stdout);				\
			_exit(failed);				\
		}						\
		if (child_ < 0 || waitpid(child_, &status_, 0) < 0) \
			die("fork");				\
		failures += status_ != 0;			\
		printf("%sok %u - ", status_ ? "not " : "", ++cases); \
		printf(__VA_ARGS__);				\
		printf(" (%s)\n", mode_words[mode]);		\
	} while (0)

static void run_accesses(void)
{
	static const unsigned long sizes[] = { 1, 3, 511, 512, 513, 2048 };
	static const struct { unsigned long offset, shift; } places[] = {
		{ 0, 0 }, { 1, 5 }, { 7, 510 },
	};
	size_t s, p;
	int access;

	for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (p = 0; p < sizeof(places) / sizeof(places[0]); p++)
			for (access = 0; access < ACCESSES; access++)
				RUN(run_access(sizes[s], places[p].offset, places[p].shift, access),
				    "%s: %lu pages from %lu, %lu into a table",
				    access_names[access], sizes[s], places[p].offset,
				    places[p].shift);
}

static void run_windows(void)
{
	static const unsigned long windows[] = { 1, 2, 256, 512 };
	size_t i;

	for (i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		set_window(windows[i]);
		RUN(run_access(1100, 2, 200, FORWARD), "read forward, window of %lu pages", window);
		RUN(run_access(1100, 3, 200, STRIDE), "read every 5th, window of %lu pages", window);
	}
	set_window(16);
}

static unsigned long memory_mib(void)
{
	return (unsigned long)sysconf(_SC_PHYS_PAGES) / ((1 << 20) / PAGE);
}

/* Without a word on the command line the kernel has its default. */
static bool read_mode(void)
{
	char line[4096] = "", *word;
	FILE *file = fopen("/proc/cmdline", "r");
	int i;

	if (!file || !fgets(line, sizeof(line), file))
		die("/proc/cmdline");
	fclose(file);
	word = strstr(line, "bpf_array_mmap=");
	if (!word)
		return false;
	word += strlen("bpf_array_mmap=");
	word[strcspn(word, " \n")] = '\0';
	for (i = 0; i < MODES; i++)
		if (!strcmp(word, mode_words[i]))
			mode = i;
	return true;
}

int main(void)
{
	bool told = read_mode();

	count_fd = open("/proc/kpagecount", O_RDONLY);
	if (count_fd < 0)
		die("/proc/kpagecount");
	set_window(16);
	if (told)
		RUN(check_mode(), "the kernel takes the word");
	RUN(run_handlers(), "the handlers that ought to run");
	run_accesses();
	run_windows();
	RUN(run_threads(), "8 threads");
	RUN(run_populate(), "MAP_POPULATE");
	RUN(run_fork(), "fork");
	RUN(run_pieces(), "MADV_DONTNEED, munmap of a part, mremap");
	RUN(run_closed(), "bounds, and a map that is closed while mapped");
	if (memory_mib() > 5000)
		RUN(run_large(), "beyond 4 GiB into an array");
	else
		printf("ok %u - beyond 4 GiB into an array # SKIP needs 5 GiB of memory\n", ++cases);
	RUN(check_log(), "the kernel log is clean");
	printf("1..%u\n", cases);
	return failures != 0;
}
