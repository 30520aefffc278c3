/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What ends a run and what does not: intervals on time with nothing to show,
 * counts, durations, targets, commands, closed pipes, and signals, of which
 * the second ends the program at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "loop.h"

static const struct loop_config nothing = {
	.records_fd = -1, .output_fd = -1, .command_pidfd = -1,
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int count_call(void *context)
{
	++*(int *)context;
	return 0;
}

static int fail_third_call(void *context)
{
	return ++*(int *)context == 3 ? -1 : 0;
}

/* A process that sleeps until it is killed, or for some milliseconds. */
static pid_t sleeper(int milliseconds, int *pidfd)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		loop_unblock_signals();
		if (milliseconds)
			usleep((useconds_t)milliseconds * 1000);
		else
			pause();
		_exit(0);
	}
	assert_true(child > 0);
	*pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	assert_true(*pidfd >= 0);
	return child;
}

/* ---- time ---- */

static void test_an_interval_each_time_it_is_due(void **state)
{
	struct loop_config config = nothing;
	double began = now(), took;
	int calls = 0;

	(void)state;
	config.interval = 0.05;
	config.count = 4;
	config.on_interval = count_call;
	config.context = &calls;
	assert_int_equal(loop_run(&config), END_COUNT);
	took = now() - began;
	/* the last is the caller's to show; nothing has come, and all the same it was called */
	assert_int_equal(calls, 3);
	assert_true(took > 0.19 && took < 5);
}

static void test_duration(void **state)
{
	struct loop_config config = nothing;
	double began = now();

	(void)state;
	config.duration = 0.1;
	assert_int_equal(loop_run(&config), END_DURATION);
	assert_true(now() - began >= 0.1);
}

struct drains {
	int drains, ticks, early_ticks;
};

static int count_drain(void *context)
{
	((struct drains *)context)->drains++;
	return 0;
}

static void count_tick(void *context)
{
	struct drains *drains = context;

	drains->ticks++;
	drains->early_ticks += drains->ticks > drains->drains;
}

/* Nothing comes: each drain is the timer's, and has its tick after it. */
static struct drains drains_of(double duration, double drain_seconds)
{
	struct loop_config config = nothing;
	struct drains drains = {};
	int silent[2];

	assert_int_equal(pipe(silent), 0);
	config.records_fd = silent[0];
	config.duration = duration;
	config.drain_seconds = drain_seconds;
	config.on_records = count_drain;
	config.on_tick = count_tick;
	config.context = &drains;
	assert_int_equal(loop_run(&config), END_DURATION);
	close(silent[0]);
	close(silent[1]);
	assert_int_equal(drains.ticks, drains.drains);
	assert_int_equal(drains.early_ticks, 0);
	return drains;
}

static void test_drains_twice_a_second(void **state)
{
	struct drains drains = drains_of(1.2, 0);

	(void)state;
	assert_int_equal(drains.drains, 2);
}

static void test_drains_as_often_as_asked(void **state)
{
	struct drains drains = drains_of(0.5, 0.02);

	(void)state;
	assert_in_range(drains.drains, 5, 25);
}

static void test_a_failure_in_an_interval_ends_it(void **state)
{
	struct loop_config config = nothing;
	int calls = 0;

	(void)state;
	config.interval = 0.01;
	config.on_interval = fail_third_call;
	config.context = &calls;
	assert_int_equal(loop_run(&config), END_CALLBACK);
	assert_int_equal(calls, 3);
}

/* ---- others ---- */

static void test_all_targets_gone(void **state)
{
	struct loop_config config = nothing;
	pid_t children[2];
	int fds[2];

	(void)state;
	children[0] = sleeper(20, &fds[0]);
	children[1] = sleeper(300, &fds[1]);
	config.pidfds = fds;
	config.pidfd_count = 2;
	config.duration = 20;
	assert_int_equal(loop_run(&config), END_TARGETS_GONE);
	/* both, not the first alone: their ends are there to be collected */
	for (int i = 0; i < 2; i++)
		assert_int_equal(waitpid(children[i], NULL, WNOHANG), children[i]);
	close(fds[0]);
	close(fds[1]);
}

static void test_command_ended(void **state)
{
	struct loop_config config = nothing;
	int fd;
	pid_t child = sleeper(20, &fd);

	(void)state;
	config.command_pidfd = fd;
	config.command = child;
	config.duration = 20;
	assert_int_equal(loop_run(&config), END_COMMAND);
	waitpid(child, NULL, 0);
	close(fd);
}

static void test_reader_that_has_gone(void **state)
{
	struct loop_config config = nothing;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	config.output_fd = fds[1];
	config.duration = 20;
	assert_int_equal(loop_run(&config), END_PIPE);
	close(fds[1]);
}

/* ---- signals ---- */

static void test_signals_end_it(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct loop_config config = nothing;

		config.duration = 20;
		/* one that came while it was set up is not lost */
		raise(signals[i]);
		assert_int_equal(loop_run(&config), END_SIGNAL);
	}
}

/* How a process ends that runs what `body` does and gets a signal twice. */
static int status_after(void (*body)(int fd), int number, bool twice)
{
	int fds[2], status;
	pid_t child;
	char byte;

	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		close(fds[0]);
		body(fds[1]);
		_exit(0);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	kill(child, number);
	if (twice && read(fds[0], &byte, 1) == 1)
		kill(child, number);
	assert_int_equal(waitpid(child, &status, 0), child);
	close(fds[0]);
	return status;
}

/* Ends by the first signal; what follows it, a report say, takes long. */
static void run_and_report_slowly(int fd)
{
	struct loop_config config = nothing;

	config.duration = 20;
	if (write(fd, "1", 1) != 1 || loop_run(&config) != END_SIGNAL)
		_exit(1);
	loop_let_signals_end();
	if (write(fd, "2", 1) != 1)
		_exit(2);
	sleep(20);
}

/* As a shell without job control starts what is in the background. */
static void run_ignoring_int(int fd)
{
	signal(SIGINT, SIG_IGN);
	run_and_report_slowly(fd);
}

static void test_signals_that_were_ignored_end_it(void **state)
{
	int status = status_after(run_ignoring_int, SIGINT, true);

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

/* Its status is how the loop ends that gets a HUP under nohup. */
static void run_under_nohup(int fd)
{
	struct loop_config config = nothing;

	loop_unblock_signals();
	signal(SIGHUP, SIG_IGN);
	if (loop_block_signals() || write(fd, "1", 1) != 1)
		_exit(100);
	config.duration = 0.5;
	_exit(loop_run(&config));
}

static void test_nohup(void **state)
{
	int status = status_after(run_under_nohup, SIGHUP, false);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), END_DURATION);
}

static void test_a_second_signal_ends_the_program_at_once(void **state)
{
	double began = now();
	int status = status_after(run_and_report_slowly, SIGINT, true);

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	assert_true(now() - began < 10);
}

/* A command that ignores what is passed on to it. */
static void run_a_stubborn_command(int fd)
{
	struct loop_config config = nothing;
	pid_t child;

	/* before the fork, so that it ignores the signal from the start */
	signal(SIGTERM, SIG_IGN);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		loop_unblock_signals();
		sleep(20);
		_exit(0);
	}
	signal(SIGTERM, SIG_DFL);
	config.command = child;
	config.command_pidfd = (int)syscall(SYS_pidfd_open, child, 0);
	config.interval = 0.05;
	config.duration = 20;
	/* time enough for the first signal to be taken */
	if (write(fd, "1", 1) != 1)
		_exit(1);
	if (fork() == 0) {
		usleep(300 * 1000);
		_exit(write(fd, "2", 1) != 1);
	}
	loop_run(&config);
}

static void test_a_second_signal_does_not_wait_for_a_command(void **state)
{
	double began = now();
	int status = status_after(run_a_stubborn_command, SIGTERM, true);

	(void)state;
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	assert_true(now() - began < 10);
}

static void test_the_first_signal_is_the_commands(void **state)
{
	struct loop_config config = nothing;
	int fd, status;
	pid_t child = sleeper(0, &fd);

	(void)state;
	config.command = child;
	config.command_pidfd = fd;
	config.duration = 20;
	raise(SIGTERM);
	assert_int_equal(loop_run(&config), END_COMMAND);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	close(fd);
	assert_int_equal(loop_block_signals(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_interval_each_time_it_is_due),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_drains_twice_a_second),
		cmocka_unit_test(test_drains_as_often_as_asked),
		cmocka_unit_test(test_a_failure_in_an_interval_ends_it),
		cmocka_unit_test(test_all_targets_gone),
		cmocka_unit_test(test_command_ended),
		cmocka_unit_test(test_reader_that_has_gone),
		cmocka_unit_test(test_signals_end_it),
		cmocka_unit_test(test_signals_that_were_ignored_end_it),
		cmocka_unit_test(test_nohup),
		cmocka_unit_test(test_a_second_signal_ends_the_program_at_once),
		cmocka_unit_test(test_the_first_signal_is_the_commands),
		cmocka_unit_test(test_a_second_signal_does_not_wait_for_a_command),
	};

	/* also if the tests themselves run under nohup */
	signal(SIGHUP, SIG_DFL);
	if (loop_block_signals())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
