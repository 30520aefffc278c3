/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command to trace: made before tracing begins, let go when it has begun. */
#ifndef LAZYFAULT_CHILD_H
#define LAZYFAULT_CHILD_H

#include <sys/types.h>

struct child {
	pid_t pid;
	int pidfd;		/* readable when it has ended; whoever has the child closes it */
	int go;			/* closing it unwritten ends the child */
	int failure;		/* the child's errno comes here if it cannot be run */
};

/* Forks; the child waits before its exec. 0 or -errno. */
int child_prepare(struct child *child, char *const argv[]);
/* Lets it run. 0, or -errno of the exec. */
int child_release(struct child *child);
/* Waits for its end: its exit status, or 128 + its signal. */
int child_wait(struct child *child);
/* Ends a child that was not let go. */
void child_abandon(struct child *child);

#endif
