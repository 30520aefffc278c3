/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's side of the update report as the user's side sees it: loads and
 * attaches the programs, asks the kernel how it waits, takes the records.
 */
#ifndef LAZYFAULT_UPDATE_TRACER_H
#define LAZYFAULT_UPDATE_TRACER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model.h"
#include "programs.h"

struct handlers;
struct targets;
struct update_table;
struct update_tracer;

struct update_tracer_config {
	const struct targets *targets;
	const struct handlers *handlers;
	uint32_t ring_bytes;	/* 0: the default */
};

/*
 * Loads and attaches, and makes updates of its own that it must see. NULL if
 * nothing can be traced: message then holds the cause and the remedy.
 */
struct update_tracer *update_tracer_start(const struct update_tracer_config *config,
					  char *message, size_t message_bytes);
const struct program_gaps *update_tracer_gaps(const struct update_tracer *tracer);
/* How the tracer's own updates waited; the knobs are not in it. */
void update_tracer_waits(const struct update_tracer *tracer, struct rcu_state *rcu);

/* Whether a process that a traced one started is not: there are more than FOLLOWED_PROCESSES. */
bool update_tracer_follows_no_more(const struct update_tracer *tracer);
/* Whether each operation is seen to begin, so that losses are exact; else they are at most so many. */
bool update_tracer_sees_all(const struct update_tracer *tracer);

/* A file descriptor to wait on: readable when the ring wants to be drained. */
int update_tracer_fd(const struct update_tracer *tracer);
/* Takes the records that are in the ring: all operations that have returned. 0 or -errno. */
int update_tracer_drain(struct update_tracer *tracer, struct update_table *table);

/* Cumulative since tracing began. */
void update_tracer_losses(struct update_tracer *tracer, struct losses *losses);
/* Entries to and exits from waits that were missed, at most, whoever waited. */
uint64_t update_tracer_unseen_waits(const struct update_tracer *tracer);

/* Takes the programs off; draining is still possible. */
void update_tracer_detach(struct update_tracer *tracer);
void update_tracer_free(struct update_tracer *tracer);	/* NULL is fine; detaches */

#endif
