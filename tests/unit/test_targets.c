/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What options name and is not there, or is something else, is said by its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"
#include "targets.h"

#include "contains.h"

static void assert_refused(const struct options *options, const char *option, const char *why)
{
	struct targets targets = TARGETS_NONE;
	char message[1024] = "";

	assert_true(targets_find(&targets, options, message, sizeof(message)) < 0);
	assert_contains(message, option);
	assert_contains(message, why);
	targets_free(&targets);
}

static void test_cgroup_that_is_not_v2(void **state)
{
	/* a cgroup v1 hierarchy is of another file system, too */
	struct options options = { .cgroup = "/proc" };

	(void)state;
	assert_refused(&options, "--cgroup=/proc", "is not a directory of a cgroup v2 file system");
	options.cgroup = "/nonexistent";
	assert_refused(&options, "--cgroup=/nonexistent: there is no such directory",
		       "`mount -t cgroup2` tells where cgroups are");
	options.cgroup = "/etc/passwd";
	assert_refused(&options, "--cgroup=/etc/passwd: is not a directory",
		       "`mount -t cgroup2` tells where cgroups are");
}

static void test_process_that_is_not_there(void **state)
{
	pid_t pids[] = { 4194304 };
	struct options options = { .pids = pids, .pid_count = 1 };

	(void)state;
	assert_refused(&options, "--pid=4194304", "there is no such process");
}

static void *tell_thread(void *context)
{
	int *fds = context;
	pid_t thread = (pid_t)syscall(SYS_gettid);
	char byte;

	if (write(fds[1], &thread, sizeof(thread)) != sizeof(thread))
		return NULL;
	/* until the test is over */
	return read(fds[2], &byte, 1) == 1 ? NULL : context;
}

static void test_thread_names_its_process(void **state)
{
	int fds[4];
	pid_t thread[1];
	struct options options = { .pids = thread, .pid_count = 1 };
	char use[64];
	pthread_t id;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pipe(fds + 2), 0);
	assert_int_equal(pthread_create(&id, NULL, tell_thread, fds), 0);
	assert_int_equal(read(fds[0], thread, sizeof(thread)), sizeof(thread));
	snprintf(use, sizeof(use), "use --pid=%d", getpid());
	assert_refused(&options, "is a thread of process", use);
	assert_int_equal(write(fds[3], "e", 1), 1);
	pthread_join(id, NULL);
	for (int i = 0; i < 4; i++)
		close(fds[i]);
}

static void test_command_waits_until_it_is_let_go(void **state)
{
	char *argv[] = { "sh", "-c", "exit 7", NULL };
	const struct options options = { .argv = argv };
	struct targets targets = TARGETS_NONE;
	char message[256] = "";

	(void)state;
	assert_int_equal(targets_find(&targets, &options, message, sizeof(message)), 0);
	assert_true(targets.descend && targets.pid_count == 1);
	assert_int_equal(targets.pids[0], targets.child.pid);
	assert_string_equal(targets.scope, "command sh");
	assert_int_equal(targets_release(&targets), 0);
	assert_int_equal(child_wait(&targets.child), 7);
	targets_free(&targets);
}

static int open_files(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static void test_command_of_a_run_that_failed_never_runs(void **state)
{
	const int open_before = open_files();
	char *argv[] = { "/nonexistent/program", NULL };
	const struct options options = { .argv = argv };
	struct targets targets = TARGETS_NONE;
	char message[256] = "";

	(void)state;
	assert_int_equal(targets_find(&targets, &options, message, sizeof(message)), 0);
	targets_free(&targets);
	assert_int_equal(open_files(), open_before);
	/* and one that is not there is told by errno */
	targets = (struct targets)TARGETS_NONE;
	assert_int_equal(targets_find(&targets, &options, message, sizeof(message)), 0);
	assert_true(targets_release(&targets) < 0);
	assert_int_equal(child_wait(&targets.child), 127);
	targets_free(&targets);
	assert_int_equal(open_files(), open_before);
}

static void test_command_that_was_killed_before_it_ran(void **state)
{
	const int open_before = open_files();
	char *argv[] = { "true", NULL };
	const struct options options = { .argv = argv };
	struct targets targets = TARGETS_NONE;
	char message[256] = "";
	siginfo_t end;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(targets_find(&targets, &options, message, sizeof(message)), 0);
	assert_int_equal(kill(targets.child.pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, targets.child.pid, &end, WEXITED | WNOWAIT), 0);
	assert_int_equal(targets_release(&targets), -EPIPE);
	assert_int_equal(child_wait(&targets.child), 128 + SIGKILL);
	targets_free(&targets);
	assert_int_equal(open_files(), open_before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cgroup_that_is_not_v2),
		cmocka_unit_test(test_process_that_is_not_there),
		cmocka_unit_test(test_thread_names_its_process),
		cmocka_unit_test(test_command_waits_until_it_is_let_go),
		cmocka_unit_test(test_command_of_a_run_that_failed_never_runs),
		cmocka_unit_test(test_command_that_was_killed_before_it_ran),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
