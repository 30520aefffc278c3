// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether options fit each other, and what follows from them. */
#include "workload.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static __attribute__((format(printf, 1, 2))) char *wrong(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		die("out of memory");
	va_end(args);
	return text;
}

static bool is_ring(const struct options *o)
{
	return o->kind == KIND_RINGBUF || o->kind == KIND_USER_RINGBUF;
}

static bool writes(const struct options *o)
{
	return o->access == PLAN_WRITE || o->access == PLAN_MIXED ||
	       o->access == PLAN_READ_THEN_WRITE || o->advice == ADVICE_POPULATE_WRITE;
}

/* A ring buffer is mapped as two pages of positions, and the data twice. */
static uint64_t mappable_pages(const struct options *o)
{
	return is_ring(o) ? 2 + 2 * o->map_pages : o->map_pages;
}

static void choose_map_pages(struct options *o, uint64_t needed)
{
	if (!is_ring(o)) {
		o->map_pages = needed;
		return;
	}
	o->map_pages = 1;
	while (mappable_pages(o) < needed)
		o->map_pages *= 2;
}

static char *check_map(struct options *o)
{
	uint64_t needed = o->offset + (o->vmas - 1) * o->vma_stride + o->pages;

	if (o->segv_on_fault && o->kind != KIND_ARENA)
		return wrong("--arena-segv needs --type arena");
	if (o->value_bytes && o->kind != KIND_ARRAY)
		return wrong("--value-size needs --type array");
	if (o->kind == KIND_ARENA && (o->offset || o->vma_stride || o->vmas > 1))
		return wrong("an arena is mapped once, from its first page: "
			     "no --offset, --vmas or --vma-stride");
	if (!o->map_pages)
		choose_map_pages(o, needed);
	if (is_ring(o) && o->map_pages & (o->map_pages - 1))
		return wrong("--map-pages: '%" PRIu64 "' is not a power of two, as a ring buffer "
			     "needs", o->map_pages);
	if (o->map_pages > MAX_PAGES)
		return wrong("--pages, --offset and --vmas need a map of %" PRIu64
			     " pages, of at most %llu", o->map_pages, MAX_PAGES);
	if (needed > mappable_pages(o))
		return wrong("--pages, --offset and --vmas need %" PRIu64 " pages of a map that "
			     "has %" PRIu64, needed, mappable_pages(o));
	return NULL;
}

static char *check_touches(struct options *o)
{
	if (o->segv_on_fault &&
	    (o->populate || o->advice != ADVICE_NONE || o->kernel_touches || o->remote_touches))
		return wrong("--arena-segv goes with touches from user mode only");
	if (o->protection == PROTECTION_READ && writes(o))
		return wrong("--prot r does not go with writes");
	if (!order_make(o))
		return wrong("--order: 'once:%s' is not a list of pages below %" PRIu64
			     ", as 3,7-9,2", o->order_text, o->pages);
	if (o->kernel_touches == ALL_TOUCHES)
		o->kernel_touches = o->nr_touches;
	if (o->remote_touches == ALL_TOUCHES && o->kernel_touches <= o->nr_touches)
		o->remote_touches = o->nr_touches - o->kernel_touches;
	if (o->kernel_touches > o->nr_touches ||
	    o->remote_touches > o->nr_touches - o->kernel_touches)
		return wrong("--kernel-access and --remote: there are only %zu touches",
			     o->nr_touches);
	return NULL;
}

static char *check_changes(const struct options *o)
{
	int changes = (o->fork != FORK_NONE) + (o->split != SPLIT_NONE) + o->move +
		      (o->advice == ADVICE_DONTNEED);

	if (changes > 1)
		return wrong("only one of --fork, --split, --mremap and --madvise dontneed");
	if (o->split != SPLIT_NONE && o->pages < 3)
		return wrong("--split needs at least 3 --pages");
	if (o->observe && (o->threads > 1 || o->split != SPLIT_NONE))
		return wrong("--observe goes with one thread and without --split");
	return NULL;
}

static char *check_course(const struct options *o)
{
	bool endless = o->forever || o->seconds;

	if (o->forever && o->seconds)
		return wrong("only one of --repeat and --seconds");
	if (o->hold && (o->processes || endless))
		return wrong("--hold does not go with --processes, --repeat or --seconds");
	if (o->ending != END_MUNMAP && (endless || o->rounds > 1))
		return wrong("--end exit, exec and kill go with one round only");
	if (o->new_map && o->processes)
		return wrong("--new-map does not go with --processes");
	if (o->parallel > 1 && !o->processes)
		return wrong("--parallel needs --processes");
	return NULL;
}

char *options_complete(struct options *o)
{
	char *error = check_map(o);

	if (!error)
		error = check_touches(o);
	if (!error)
		error = check_changes(o);
	if (!error)
		error = check_course(o);
	o->quiet |= o->forever || o->seconds;
	return error;
}
