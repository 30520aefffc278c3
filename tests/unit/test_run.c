/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run with a report that traces nothing: what intervals say of losses that
 * become fewer, and how it says why it ended early.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"
#include "run.h"

#include "contains.h"

/* What it tells each time that it is asked. */
struct fake {
	uint64_t unseen[8];
	size_t asked;
	int collect_error;
};

static int attach(struct run *run, char *message)
{
	(void)run;
	(void)message;
	return 0;
}

static void nothing(struct run *run)
{
	(void)run;
}

static int no_fd(struct run *run)
{
	(void)run;
	return -1;
}

static int drain(struct run *run)
{
	(void)run;
	return 0;
}

/* Its last one, at the end, succeeds: and leaves an errno of its own. */
static int collect(struct run *run)
{
	struct fake *fake = run->report;
	int error = fake->collect_error;

	fake->collect_error = 0;
	errno = ENOTTY;
	return error;
}

static void show_interval(struct run *run, struct interval_report *interval)
{
	(void)run;
	(void)interval;
}

static void show_totals(struct run *run, struct summary_report *summary)
{
	(void)run;
	summary->verdict = "";
}

static void losses(struct run *run, struct losses *lost)
{
	struct fake *fake = run->report;

	*lost = (struct losses){ .unseen_runs = fake->unseen[fake->asked++] };
}

static const struct run_ops ops = {
	.attach = attach,
	.describe = nothing,
	.records_fd = no_fd,
	.drain = drain,
	.collect = collect,
	.show_interval = show_interval,
	.show_totals = show_totals,
	.losses = losses,
	.detach = nothing,
	.free = nothing,
};

/* In a process of its own, as it gives up what it may do. Its status; what it said in `said`. */
static int run_of(struct fake *fake, const char *path, char *said, size_t said_bytes)
{
	struct options options = {
		.interval = 0.05, .count = 3, .json = true, .output = path, .max_vmas = 16,
	};
	size_t length = 0;
	int fds[2], status;
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		dup2(fds[1], STDERR_FILENO);
		close(fds[0]);
		close(fds[1]);
		_exit(run_report(&options, &ops, fake));
	}
	close(fds[1]);
	while ((got = read(fds[0], said + length, said_bytes - 1 - length)) > 0)
		length += got;
	said[length] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static const char *string_at(struct json_object *object, const char *key)
{
	return json_object_get_string(json_object_object_get(object, key));
}

/* The unseen runs of each line of that type; how many lines there are. */
static size_t unseen_in(const char *path, const char *type, uint64_t *unseen, size_t room)
{
	FILE *file = fopen(path, "re");
	char line[8192];
	size_t count = 0;

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		struct json_object *object = json_tokener_parse(line);

		assert_non_null(object);
		if (!strcmp(string_at(object, "type"), type) && count < room)
			unseen[count++] = json_object_get_uint64(
				json_object_object_get(object, "unseen_runs"));
		json_object_put(object);
	}
	fclose(file);
	return count;
}

static void test_losses_that_become_fewer(void **state)
{
	struct fake fake = { .unseen = { 5, 3, 6, 6 } };
	char path[] = "build/run-XXXXXX", said[4096];
	uint64_t intervals[4], summary[2];
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(run_of(&fake, path, said, sizeof(said)), 0);
	assert_int_equal(unseen_in(path, "interval", intervals, 4), 3);
	assert_int_equal(unseen_in(path, "summary", summary, 2), 1);
	remove(path);
	assert_int_equal(intervals[0], 5);
	assert_int_equal(intervals[1], 0);
	assert_int_equal(intervals[2], 1);
	assert_int_equal(summary[0], 6);
}

static void test_why_it_ended_early(void **state)
{
	struct fake fake = { .collect_error = -EPROTO };
	char said[4096];

	(void)state;
	assert_int_equal(run_of(&fake, "/dev/null", said, sizeof(said)), 1);
	assert_contains(said, "tracing ended early: Protocol error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_losses_that_become_fewer),
		cmocka_unit_test(test_why_it_ended_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
