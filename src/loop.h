/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for all that a run waits for in one epoll: time, signals, targets, records. */
#ifndef LAZYFAULT_LOOP_H
#define LAZYFAULT_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum loop_end {
	END_FAILED,		/* errno tells */
	END_SIGNAL,
	END_DURATION,
	END_COUNT,
	END_TARGETS_GONE,
	END_COMMAND,		/* the command ended */
	END_PIPE,		/* nobody reads the output any more */
	END_CALLBACK,		/* a callback asked for it */
};

struct loop_config {
	double interval;	/* seconds; 0: none */
	uint64_t count;		/* intervals, the last without a call; 0: no limit */
	double duration;	/* seconds; 0: no limit */
	int records_fd;		/* on_records when readable; -1: none */
	double drain_seconds;	/* and so often; 0: twice a second */
	int output_fd;		/* watched for a reader that has gone; -1: not */
	const int *pidfds;	/* END_TARGETS_GONE when all are readable */
	size_t pidfd_count;
	int command_pidfd;	/* END_COMMAND when readable; -1: none */
	pid_t command;		/* gets the signals that were sent to us alone */
	/* Non-zero ends the loop. */
	int (*on_records)(void *context);
	int (*on_interval)(void *context);
	/* After each timed drain: what costs no wakeup of its own. NULL: nothing. */
	void (*on_tick)(void *context);
	void *context;
};

/*
 * INT, TERM and HUP wait for the loop from here on; call it before anything that must be undone.
 * A HUP that was ignored when the program began stays so, as under nohup.
 */
int loop_block_signals(void);
/* From here on they do what they did when the program began: for a command. */
void loop_unblock_signals(void);
/* From here on they end the program at once, even if they were ignored when it began. */
void loop_let_signals_end(void);

enum loop_end loop_run(const struct loop_config *config);

#endif
