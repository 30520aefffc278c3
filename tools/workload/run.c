// SPDX-License-Identifier: GPL-2.0-or-later
/* The course of a run: processes, rounds, and the phases of each round. */
#include "workload.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_FILE_MS 5

static volatile sig_atomic_t stop_asked;
static uint64_t deadline_ns;

static void on_stop(int number)
{
	(void)number;
	stop_asked = 1;
}

/*
 * Where a run only ends when it is told to, SIGTERM and SIGINT are taken
 * between two rounds, so that the last numbers are whole.
 */
void signals_init(const struct options *o)
{
	struct sigaction action = { .sa_handler = on_stop };
	sigset_t stops;

	if (o->seconds)
		deadline_ns = now_ns() + o->seconds * 1000000000ULL;
	if (!o->hold && !o->forever && !o->seconds)
		return;
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigemptyset(&stops);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGINT);
	sigprocmask(SIG_BLOCK, &stops, NULL);
}

/* Sleeps in a poll that lets the stopping signals in. */
static int poll_for_stop(struct pollfd *fds, nfds_t nr, int64_t ms)
{
	struct timespec timeout = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
	sigset_t none;

	sigemptyset(&none);
	return ppoll(fds, nr, ms < 0 ? NULL : &timeout, &none);
}

bool should_stop(void)
{
	if (!stop_asked)
		poll_for_stop(NULL, 0, 0);
	return stop_asked || (deadline_ns && now_ns() >= deadline_ns);
}

void wait_ms(uint64_t ms)
{
	if (ms)
		poll_for_stop(NULL, 0, ms);
}

void wait_for_file(const char *path)
{
	while (path && !stop_asked && access(path, F_OK))
		poll_for_stop(NULL, 0, WAIT_FILE_MS);
}

/* Until standard input ends, or a signal says so. */
static void hold(void)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char bytes[512];
	ssize_t got;

	report_line("{\"type\":\"holding\",\"pid\":%d}", (int)getpid());
	while (!stop_asked) {
		if (poll_for_stop(&input, 1, -1) <= 0)
			continue;
		got = read(STDIN_FILENO, bytes, sizeof(bytes));
		if (got == 0 || (got < 0 && errno != EINTR))
			return;
	}
}

/* --- what happens between touches -------------------------------------- */

static __attribute__((noreturn)) void run_forked(const struct options *o, const struct map *map,
						 struct vma_set *set, uint64_t round)
{
	struct vma_set mine = { 0 };
	size_t i;

	program_name = "workload (child)";
	for (i = 0; i < set->nr; i++) {
		struct vma *v = &set->vma[i];

		/* Arenas are not copied by every kernel. */
		if (v->gone || !maps_has(v->addr, v->addr + v->pages * page_bytes))
			continue;
		*vma_set_add(&mine) = *v;
		v->page = NULL;
		v->observed = NULL;
		vma_inherit(&mine.vma[mine.nr - 1]);
	}
	touch_by_user(o, &mine, 0, o->nr_touches);
	for (i = 0; i < mine.nr; i++)
		report_vma(o, map, &mine.vma[i], round);
	vma_set_free(&mine);
	_exit(EXIT_SUCCESS);
}

static void check_boundaries(struct vma_set *set)
{
	size_t i;

	for (i = 0; i < set->nr; i++) {
		struct vma *v = &set->vma[i];

		if (!v->gone)
			v->lacks_boundaries = !maps_has(v->addr, v->addr + v->pages * page_bytes);
	}
}

static void drop_and_touch_again(const struct options *o, struct vma_set *set)
{
	uint64_t time;
	size_t i;

	for (time = 0; time < o->advice_times && !stop_asked; time++) {
		wait_ms(o->pause_ms);
		for (i = 0; i < set->nr; i++)
			vma_drop_ptes(&set->vma[i]);
		touch_by_user(o, set, 0, o->nr_touches);
	}
}

static void change(const struct options *o, const struct map *map, struct vma_set *set,
		   uint64_t round)
{
	size_t nr = set->nr, i;
	pid_t pid;

	if (o->fork != FORK_NONE) {
		pid = fork_child();
		if (!pid)
			run_forked(o, map, set, round);
		wait_for_child(pid);
	}
	for (i = 0; o->split != SPLIT_NONE && i < nr; i++)
		vma_split(o, set, i);
	for (i = 0; o->move && i < nr; i++)
		vma_move(set, i);
	if (o->split != SPLIT_NONE || o->move)
		check_boundaries(set);
	if (o->advice == ADVICE_DONTNEED)
		drop_and_touch_again(o, set);
}

/* Touches that come before the change; the others follow it. */
static size_t first_phase(const struct options *o)
{
	if (o->fork == FORK_BEFORE_TOUCH)
		return 0;
	if (o->fork == FORK_HALF_TOUCHED || o->split != SPLIT_NONE || o->move)
		return o->nr_touches / 2;
	return o->nr_touches;
}

/* --- rounds ------------------------------------------------------------ */

static __attribute__((noreturn)) void end_in_place(const struct options *o)
{
	char *argv[] = { "workload", "--do-nothing", NULL };

	if (o->ending == END_KILL)
		kill(getpid(), SIGKILL);
	if (o->ending == END_EXEC) {
		execv("/proc/self/exe", argv);
		die("cannot execute /proc/self/exe: %m");
	}
	_exit(totals->disagreements && !o->processes ? EXIT_FAILURE : EXIT_SUCCESS);
}

static void run_round(const struct options *o, struct map *map, uint64_t round)
{
	size_t split_at = first_phase(o), i;
	struct vma_set set = { 0 };

	for (i = 0; i < o->vmas; i++)
		vma_map(o, map, &set, i);
	if (!round && !o->processes)
		report_ready(o, map, &set);
	if (!round)
		wait_for_file(o->wait_file);
	if (o->advice != ADVICE_NONE && o->advice != ADVICE_DONTNEED)
		for (i = 0; i < set.nr; i++)
			vma_populate(o, &set.vma[i]);
	touch_range(o, &set, 0, split_at);
	change(o, map, &set, round);
	touch_range(o, &set, split_at, o->nr_touches);
	for (i = 0; i < set.nr; i++)
		report_vma(o, map, &set.vma[i], round);
	totals->rounds++;
	if (o->hold)
		hold();
	if (o->ending != END_MUNMAP) {
		remote_stop();
		if (!o->processes) {
			noise_stop();
			report_summary(o);
		}
		end_in_place(o);
	}
	for (i = 0; i < set.nr; i++)
		vma_unmap(&set.vma[i]);
	vma_set_free(&set);
}

void run_rounds(const struct options *o, struct map *map)
{
	bool endless = o->forever || o->seconds;
	uint64_t round;

	remote_start(o);
	for (round = 0; (endless || round < o->rounds) && !should_stop(); round++) {
		if (round)
			wait_ms(o->pause_ms);
		if (round && o->new_map) {
			map_destroy(o, map);
			map_create(o, map);
		}
		run_round(o, map, round);
	}
	remote_stop();
}

/* --- processes --------------------------------------------------------- */

struct children {
	pid_t *pid;
	uint64_t running, room;
	bool told;			/* to stop */
};

static void on_child(int number)
{
	(void)number;
}

/* SIGCHLD comes only where we wait for it, so that none is missed. */
static void await_sigchld(void)
{
	struct sigaction action = { .sa_handler = on_child };
	sigset_t child;

	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
}

static void tell_to_stop(struct children *children)
{
	uint64_t i;

	if (children->told)
		return;
	children->told = true;
	for (i = 0; i < children->running; i++)
		kill(children->pid[i], SIGTERM);
}

static void check_status(const struct options *o, pid_t pid, int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && o->ending == END_KILL)
		return;
	if (WIFSIGNALED(status))
		die("process %d was killed by signal %d", (int)pid, WTERMSIG(status));
	if (WEXITSTATUS(status))
		die("process %d failed", (int)pid);
}

static void reap_one(const struct options *o, struct children *children)
{
	uint64_t i;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) == 0) {
		poll_for_stop(NULL, 0, -1);
		if (stop_asked)
			tell_to_stop(children);
	}
	if (pid < 0)
		die("waitpid: %m");
	for (i = 0; i < children->running && children->pid[i] != pid; i++)
		;
	if (i == children->running)
		die("helper %d ended early", (int)pid);
	children->pid[i] = children->pid[--children->running];
	check_status(o, pid, status);
	totals->processes++;
}

void run_processes(const struct options *o, struct map *map)
{
	struct children children = { .room = o->parallel };
	uint64_t started;
	pid_t pid;

	children.pid = calloc(children.room, sizeof(children.pid[0]));
	if (!children.pid)
		die("out of memory");
	await_sigchld();
	for (started = 0; started < o->processes && !should_stop(); started++) {
		if (children.running == children.room)
			reap_one(o, &children);
		if (stop_asked)
			break;
		pid = fork_child();
		if (!pid) {
			run_rounds(o, map);
			_exit(EXIT_SUCCESS);
		}
		children.pid[children.running++] = pid;
	}
	while (children.running)
		reap_one(o, &children);
	free(children.pid);
}
