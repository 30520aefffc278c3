/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One epoll over timers, signals, processes and the ring buffer. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "loop.h"

/* How often VMAs that have closed are taken in; two wakeups a second. */
#define DRAIN_SECONDS 0.5

enum source { SOURCE_RECORDS, SOURCE_INTERVAL, SOURCE_DRAIN, SOURCE_DURATION, SOURCE_SIGNAL,
	      SOURCE_OUTPUT, SOURCE_COMMAND, SOURCE_TARGET };

struct loop {
	const struct loop_config *config;
	int epoll, interval, drain, duration, signals;
	uint64_t intervals;
	size_t targets_gone;
	bool ended;
	enum loop_end end;
};

static bool is_ignored(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
}

static void ending_signals(sigset_t *set)
{
	sigemptyset(set);
	/* these, too, if they are ignored: shells start what is in the background so */
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	/* not under nohup, which is there for that */
	if (!is_ignored(SIGHUP))
		sigaddset(set, SIGHUP);
}

int loop_block_signals(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	ending_signals(&set);
	return sigprocmask(SIG_BLOCK, &set, NULL) ? -errno : 0;
}

void loop_unblock_signals(void)
{
	sigset_t set;

	ending_signals(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void loop_let_signals_end(void)
{
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	loop_unblock_signals();
}

static int watch(struct loop *loop, int fd, enum source source, unsigned int index, uint32_t events)
{
	struct epoll_event event = {
		.events = events,
		.data.u64 = (uint64_t)source << 32 | index,
	};

	return epoll_ctl(loop->epoll, EPOLL_CTL_ADD, fd, &event);
}

static struct timespec to_timespec(double seconds)
{
	double whole = floor(seconds);

	return (struct timespec){ .tv_sec = whole, .tv_nsec = (seconds - whole) * 1e9 };
}

static int start_timer(struct loop *loop, double seconds, bool repeat, enum source source)
{
	struct itimerspec when = { .it_value = to_timespec(seconds) };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return -1;
	if (repeat)
		when.it_interval = when.it_value;
	if (timerfd_settime(fd, 0, &when, NULL) || watch(loop, fd, source, 0, EPOLLIN)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* A regular file cannot be watched, and has no reader that could go. */
static void watch_output(struct loop *loop)
{
	struct stat status;

	if (loop->config->output_fd < 0 || fstat(loop->config->output_fd, &status))
		return;
	if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))
		watch(loop, loop->config->output_fd, SOURCE_OUTPUT, 0, 0);
}

static int open_loop(struct loop *loop)
{
	const struct loop_config *config = loop->config;
	sigset_t set;

	loop->interval = loop->drain = loop->duration = loop->signals = -1;
	loop->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll < 0)
		return -1;
	ending_signals(&set);
	loop->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (loop->signals < 0 || watch(loop, loop->signals, SOURCE_SIGNAL, 0, EPOLLIN))
		return -1;
	if (config->records_fd >= 0) {
		if (watch(loop, config->records_fd, SOURCE_RECORDS, 0, EPOLLIN))
			return -1;
		loop->drain = start_timer(loop, config->drain_seconds > 0 ?
						config->drain_seconds : DRAIN_SECONDS,
					  true, SOURCE_DRAIN);
		if (loop->drain < 0)
			return -1;
	}
	if (config->interval > 0) {
		loop->interval = start_timer(loop, config->interval, true, SOURCE_INTERVAL);
		if (loop->interval < 0)
			return -1;
	}
	if (config->duration > 0) {
		loop->duration = start_timer(loop, config->duration, false, SOURCE_DURATION);
		if (loop->duration < 0)
			return -1;
	}
	for (size_t i = 0; i < config->pidfd_count; i++)
		if (watch(loop, config->pidfds[i], SOURCE_TARGET, i, EPOLLIN))
			return -1;
	if (config->command_pidfd >= 0 &&
	    watch(loop, config->command_pidfd, SOURCE_COMMAND, 0, EPOLLIN))
		return -1;
	watch_output(loop);
	return 0;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void close_loop(struct loop *loop)
{
	close_if_open(loop->interval);
	close_if_open(loop->drain);
	close_if_open(loop->duration);
	close_if_open(loop->signals);
	close_if_open(loop->epoll);
}

static void end(struct loop *loop, enum loop_end why)
{
	loop->ended = true;
	loop->end = why;
}

static void expire(int fd)
{
	uint64_t times;

	if (read(fd, &times, sizeof(times)) < 0)
		return;
}

/*
 * With a command, the first signal is its: a terminal has sent it to both of
 * us, anybody else to us alone. It ends, and so does the run. A second
 * signal, or one without a command, ends the run.
 */
static void on_signal(struct loop *loop)
{
	struct signalfd_siginfo signal;

	if (read(loop->signals, &signal, sizeof(signal)) != sizeof(signal))
		return;
	if (loop->config->command <= 0) {
		end(loop, END_SIGNAL);
		return;
	}
	if (signal.ssi_code != SI_KERNEL)
		kill(loop->config->command, (int)signal.ssi_signo);
	close(loop->signals);
	loop->signals = -1;
	loop_let_signals_end();
}

static void on_interval(struct loop *loop)
{
	expire(loop->interval);
	/* the last one is the caller's to show, with all that comes in until it has detached */
	if (loop->config->count && ++loop->intervals >= loop->config->count) {
		end(loop, END_COUNT);
		return;
	}
	if (loop->config->on_interval && loop->config->on_interval(loop->config->context))
		end(loop, END_CALLBACK);
}

static void on_records(struct loop *loop)
{
	if (loop->config->on_records && loop->config->on_records(loop->config->context))
		end(loop, END_CALLBACK);
}

static void on_target(struct loop *loop, unsigned int index)
{
	epoll_ctl(loop->epoll, EPOLL_CTL_DEL, loop->config->pidfds[index], NULL);
	if (++loop->targets_gone == loop->config->pidfd_count)
		end(loop, END_TARGETS_GONE);
}

static void dispatch(struct loop *loop, const struct epoll_event *event)
{
	switch ((enum source)(event->data.u64 >> 32)) {
	case SOURCE_DRAIN:
		expire(loop->drain);
		on_records(loop);
		if (loop->config->on_tick)
			loop->config->on_tick(loop->config->context);
		break;
	case SOURCE_RECORDS:
		on_records(loop);
		break;
	case SOURCE_INTERVAL:
		on_interval(loop);
		break;
	case SOURCE_DURATION:
		end(loop, END_DURATION);
		break;
	case SOURCE_SIGNAL:
		on_signal(loop);
		break;
	case SOURCE_OUTPUT:
		end(loop, END_PIPE);
		break;
	case SOURCE_COMMAND:
		end(loop, END_COMMAND);
		break;
	case SOURCE_TARGET:
		on_target(loop, (unsigned int)event->data.u64);
		break;
	}
}

enum loop_end loop_run(const struct loop_config *config)
{
	struct loop loop = { .config = config };
	struct epoll_event events[16];

	if (open_loop(&loop))
		end(&loop, END_FAILED);
	while (!loop.ended) {
		int count = epoll_wait(loop.epoll, events, 16, -1);

		if (count < 0 && errno != EINTR)
			end(&loop, END_FAILED);
		for (int i = 0; i < count && !loop.ended; i++)
			dispatch(&loop, &events[i]);
	}
	close_loop(&loop);
	return loop.end;
}
