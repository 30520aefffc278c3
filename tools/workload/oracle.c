// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel itself says about pages and faults: /proc/self/pagemap,
 * /proc/self/maps and getrusage(). None of it goes through tracing.
 */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PAGEMAP_PRESENT (1ULL << 63)
#define PAGEMAP_CHUNK 4096
#define STACK_AHEAD_BYTES 32768
#define STACK_STEP_BYTES 1024

const char *program_name = "workload";

void die(const char *format, ...)
{
	int error = errno;
	va_list args;

	fprintf(stderr, "%s[%d]: ", program_name, (int)getpid());
	errno = error;		/* for %m */
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	/* Not exit(): a child must not flush what its parent has buffered. */
	_exit(EXIT_FAILURE);
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

uint64_t thread_min_flt(void)
{
	struct rusage usage;

	/* The kernel writes its answer after it has counted: that write must not fault. */
	memset(&usage, 0, sizeof(usage));
	if (getrusage(RUSAGE_THREAD, &usage))
		die("getrusage: %m");
	return usage.ru_minflt;
}

__attribute__((noinline)) void prefault_stack(void)
{
	volatile unsigned char room[STACK_AHEAD_BYTES];
	size_t i;

	for (i = 0; i < sizeof(room); i += STACK_STEP_BYTES)
		room[i] = 0;
}

/*
 * Puts the program's own memory in place: fork shares data and stack until they
 * are written, and leaves it to the child to fault in its text again. It goes by
 * the page and not by the object, which a sanitizer would take for an overrun.
 */
__attribute__((no_sanitize("address"))) void prefault_program(void)
{
	extern const unsigned char __executable_start[], etext[];
	extern unsigned char __data_start[], end[];
	volatile const unsigned char *text;
	volatile unsigned char *data;

	for (text = __executable_start; text < etext; text += page_bytes)
		(void)*text;
	for (data = __data_start; data < end; data += page_bytes)
		*data = *data;
	prefault_stack();
}

/* Opened anew in each process: after fork the old descriptor shows the parent. */
static int pagemap_fd(void)
{
	static pid_t owner;
	static int fd = -1;

	if (fd >= 0 && owner == getpid())
		return fd;
	if (fd >= 0)
		close(fd);
	fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		die("cannot open /proc/self/pagemap: %m (is /proc mounted?)");
	owner = getpid();
	return fd;
}

uint64_t pagemap_present(const void *addr, uint64_t pages, uint8_t *present)
{
	static uint64_t entries[PAGEMAP_CHUNK];
	uint64_t first = (uintptr_t)addr / page_bytes, done = 0, count = 0, i, n;
	ssize_t got;

	while (done < pages) {
		n = pages - done;
		if (n > PAGEMAP_CHUNK)
			n = PAGEMAP_CHUNK;
		got = pread(pagemap_fd(), entries, n * sizeof(entries[0]),
			    (first + done) * sizeof(entries[0]));
		if (got <= 0)
			die("cannot read /proc/self/pagemap: %s",
			    got ? strerror(errno) : "it ends early");
		n = got / sizeof(entries[0]);
		for (i = 0; i < n; i++) {
			bool here = entries[i] & PAGEMAP_PRESENT;

			count += here;
			if (present)
				present[done + i] = here;
		}
		done += n;
	}
	return count;
}

bool maps_has(const void *start, const void *end)
{
	unsigned long long from, to;
	bool found = false;
	char *line = NULL;
	size_t room = 0;
	FILE *maps;

	maps = fopen("/proc/self/maps", "re");
	if (!maps)
		die("cannot open /proc/self/maps: %m (is /proc mounted?)");
	while (!found && getline(&line, &room, maps) > 0)
		found = sscanf(line, "%llx-%llx", &from, &to) == 2 &&
			from == (uintptr_t)start && to == (uintptr_t)end;
	free(line);
	fclose(maps);
	return found;
}
