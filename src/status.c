/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Draws by one write(2), without colours, and never waits for the terminal: a
 * terminal that is stopped (^S) or slow misses a line, and tracing goes on.
 */
#include "status.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"
#include "output.h"

#define DRAW_SECONDS 1.0
/* Drawn at ticks of a timer, of which none is exactly on time. */
#define SLACK_SECONDS 0.1

#define ERASE_LINE "\r\033[K"

/* ---- whether ---- */

/* Text without intervals or events comes in one piece, at the end. */
static bool prints_meanwhile(const struct options *options)
{
	return options->json || options->interval > 0 || options->events;
}

bool status_wanted(const struct options *options, const struct status_ground *ground)
{
	if (!ground->stderr_is_terminal || options->quiet || options->verbose)
		return false;
	if (!ground->term || !*ground->term || !strcmp(ground->term, "dumb"))
		return false;
	/* a command has the terminal for its own */
	if (options->argv || ground->out_is_pipe)
		return false;
	return !ground->out_is_terminal || !prints_meanwhile(options);
}

static bool is_pipe(int fd)
{
	struct stat status;

	return !fstat(fd, &status) && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

void status_begin(struct status *status, const struct options *options, FILE *out)
{
	const struct status_ground ground = {
		.stderr_is_terminal = isatty(STDERR_FILENO),
		.out_is_terminal = isatty(fileno(out)),
		.out_is_pipe = is_pipe(fileno(out)),
		.term = getenv("TERM"),
	};

	*status = (struct status){
		.shown = status_wanted(options, &ground), .next = DRAW_SECONDS,
	};
}

bool status_is_due(const struct status *status, double seconds)
{
	return status->shown && seconds + SLACK_SECONDS >= status->next;
}

/* ---- the line ---- */

const char *status_line(const struct status_counts *counts, char *text, size_t bytes,
			unsigned int columns)
{
	char so_far[80] = "";
	int length;

	if (counts->faults_known)
		snprintf(so_far, sizeof(so_far), "%" PRIu64 " fault%s, %" PRIu64
			 " page%s installed, ", counts->faults, counts->faults == 1 ? "" : "s",
			 counts->installed_pages, counts->installed_pages == 1 ? "" : "s");
	else if (counts->calls_known)
		snprintf(so_far, sizeof(so_far), "%" PRIu64 " update%s, ", counts->calls,
			 counts->calls == 1 ? "" : "s");
	length = snprintf(text, bytes, "lazyfault: %.0f s, %s%" PRIu64 " lost", counts->seconds,
			  so_far, counts->lost);
	if (length > 0 && (unsigned int)length > columns && columns < bytes)
		text[columns] = '\0';
	return text;
}

static bool is_in_foreground(void)
{
	pid_t group = tcgetpgrp(STDERR_FILENO);

	/* a terminal that is not ours to control has no groups for us */
	return group < 0 || group == getpgrp();
}

static bool put(const char *text)
{
	struct pollfd terminal = { .fd = STDERR_FILENO, .events = POLLOUT };
	size_t length = strlen(text);

	return poll(&terminal, 1, 0) == 1 && terminal.revents == POLLOUT &&
	       write(STDERR_FILENO, text, length) == (ssize_t)length;
}

void status_draw(struct status *status, const struct status_counts *counts)
{
	char line[200], text[sizeof(ERASE_LINE) + sizeof(line)];
	unsigned int columns = output_columns(STDERR_FILENO);

	status->next = counts->seconds + DRAW_SECONDS;
	if (!status->shown || !is_in_foreground())
		return;
	/* the last column stays free, or some terminals would begin a new line */
	status_line(counts, line, sizeof(line), columns > 1 ? columns - 1 : 1);
	snprintf(text, sizeof(text), ERASE_LINE "%s", line);
	status->drawn |= put(text);
}

void status_erase(struct status *status)
{
	if (status->drawn)
		put(ERASE_LINE);
	status->drawn = false;
}
