/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's side of the fault report as the user's side sees it: loads and
 * attaches the programs, brings their records into a vma_table, tells losses.
 */
#ifndef LAZYFAULT_TRACER_H
#define LAZYFAULT_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "handlers.h"
#include "model.h"
#include "programs.h"

struct targets;
struct vma_table;
struct tracer;

struct tracer_config {
	const struct handlers *handlers;
	bool light, no_time;
	const struct targets *targets;
	uint32_t max_vmas;	/* a power of two */
	uint32_t ring_bytes;	/* 0: the default */
	/* Gets each event, from the calls below that drain and collect; NULL: no events. */
	void (*on_event)(void *context, const struct event_report *event);
	void *context;		/* of on_event */
};

/*
 * Loads and attaches. NULL if nothing can be traced: message then holds the
 * cause and the remedy. Where exact counting is not to be had, the tracer is
 * light, and says so among its gaps.
 */
struct tracer *tracer_start(const struct tracer_config *config, char *message,
			    size_t message_bytes);
bool tracer_is_exact(const struct tracer *tracer);
bool tracer_is_timed(const struct tracer *tracer);
const struct program_gaps *tracer_gaps(const struct tracer *tracer);

/* A file descriptor to wait on: readable when the ring wants to be drained. */
int tracer_fd(const struct tracer *tracer);
/* Takes the records that are in the rings when it is called. 0 or -errno. */
int tracer_drain(struct tracer *tracer, struct vma_table *table);
/* Has the kernel ship what changed, and takes it. 0 or -errno. */
int tracer_collect(struct tracer *tracer, struct vma_table *table);

/*
 * Faults and installed pages so far, added up in the kernel where they are;
 * a VMA that closes at this moment may be missing. 0 or -errno.
 */
int tracer_progress(struct tracer *tracer, uint64_t *faults, uint64_t *installed_pages);
/* Cumulative since tracing began. */
void tracer_losses(struct tracer *tracer, struct losses *losses);
/* Faults that the filters left out. */
uint64_t tracer_filtered(struct tracer *tracer);
/* Whether a process that a traced one started is not: there are more than FOLLOWED_PROCESSES. */
bool tracer_follows_no_more(const struct tracer *tracer);
/* Bytes of kernel memory in the tracer's maps. */
uint64_t tracer_memory(const struct tracer *tracer);

/* Takes the programs off; collecting is still possible, and then complete. */
void tracer_detach(struct tracer *tracer);
void tracer_free(struct tracer *tracer);	/* NULL is fine; detaches */

#endif
