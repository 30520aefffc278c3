/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a run traces: processes, a cgroup, maps, a command; found and held open. */
#ifndef LAZYFAULT_TARGETS_H
#define LAZYFAULT_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "child.h"

struct options;

struct targets {
	const pid_t *pids;	/* as the tracer's PID namespace numbers them */
	size_t pid_count;
	bool descend;		/* their children, too */
	int *pidfds;		/* of the processes of --pid */
	size_t pidfd_count;
	int cgroup_fd;		/* of a cgroup v2 directory; -1: none */
	uint32_t *map_ids;
	size_t map_count;
	struct child child;	/* of a run with a command */
	bool child_waits;	/* it is prepared, and not let go */
	char scope[256];	/* all of that in words */
};

/* For targets that were not found yet: they can be freed. */
#define TARGETS_NONE { .cgroup_fd = -1, .child.pidfd = -1 }

/*
 * Finds what the options name; a command is made, and waits. 0, or -errno with
 * a message that names option and value. To be freed in either case.
 */
int targets_find(struct targets *targets, const struct options *options, char *message,
		 size_t message_bytes);
/* Lets the command run, if there is one. 0 or -errno. */
int targets_release(struct targets *targets);
/* Of a command that was let go, what is needed to wait for its end stays. */
void targets_free(struct targets *targets);

#endif
