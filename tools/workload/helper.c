// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Processes that the workload forks before it maps anything, so that they own
 * no copy of its VMAs: one that touches its pages from outside, and some that
 * make noise by executing programs.
 */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

struct remote_request {
	struct vma vma;			/* its page[] is not looked at */
	size_t from, to;
};

struct remote_answer {
	uint64_t min_flt;
	int error;
};

static pid_t remote_pid;
static int to_remote = -1, from_remote = -1;
static pid_t *noise_pids;
static uint64_t nr_noise;

pid_t fork_child(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		die("fork: %m");
	prefault_program();
	if (pid)
		return pid;
	/* Nothing may stay behind when the workload is killed. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(EXIT_FAILURE);
	return 0;
}

void wait_for_child(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			die("waitpid: %m");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return;
	if (WIFSIGNALED(status))
		die("child %d was killed by signal %d", (int)pid, WTERMSIG(status));
	die("child %d failed", (int)pid);
}

/* --- touches from another process -------------------------------------- */

static bool access_remotely(pid_t owner, void *addr, enum access_bits how)
{
	unsigned char byte = 0x5a;
	struct iovec here = { &byte, 1 }, there = { addr, 1 };

	if (how & ACCESS_READ && process_vm_readv(owner, &here, 1, &there, 1, 0) != 1)
		return false;
	if (how & ACCESS_WRITE && process_vm_writev(owner, &here, 1, &there, 1, 0) != 1)
		return false;
	return true;
}

static struct remote_answer serve(const struct options *o, pid_t owner,
				  const struct remote_request *request)
{
	const struct vma *v = &request->vma;
	struct remote_answer answer = { 0 };
	uint64_t faults;
	size_t i;

	prefault_stack();
	faults = thread_min_flt();
	for (i = request->from; i < request->to; i++) {
		uint64_t page = o->order[i];

		if (v->gone || page < v->first || page - v->first >= v->pages)
			continue;
		if (!access_remotely(owner, v->addr + (page - v->first) * page_bytes,
				     page_access(o, v, page))) {
			answer.error = errno;
			break;
		}
	}
	answer.min_flt = thread_min_flt() - faults;
	return answer;
}

static __attribute__((noreturn)) void serve_forever(const struct options *o, pid_t owner,
						     int in, int out)
{
	static unsigned char trial;
	struct remote_request request;
	struct remote_answer answer;

	program_name = "workload (remote)";
	prctl(PR_SET_NAME, "remote-helper");
	/*
	 * A trial puts in place what it needs, here and in the owner, which waits for its end:
	 * one that goes on meanwhile can meet a PTE of its own that is just being replaced.
	 */
	memset(&request, 0, sizeof(request));
	answer = serve(o, owner, &request);
	if (!access_remotely(owner, &trial, ACCESS_READ | ACCESS_WRITE))
		answer.error = errno;
	if (write(out, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
		_exit(EXIT_FAILURE);
	while (read(in, &request, sizeof(request)) == (ssize_t)sizeof(request)) {
		answer = serve(o, owner, &request);
		if (write(out, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
			break;
	}
	_exit(EXIT_SUCCESS);
}

static uint64_t receive_answer(void)
{
	struct remote_answer answer;

	if (read(from_remote, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
		die("the remote helper is gone");
	if (answer.error)
		die("another process cannot touch our pages: %s (may it ptrace us?)",
		    strerror(answer.error));
	return answer.min_flt;
}

void remote_start(const struct options *o)
{
	pid_t owner = getpid();
	int ask[2], tell[2];

	if (!o->remote_touches)
		return;
	/* Pipes, since a small kernel may lack AF_UNIX; messages below PIPE_BUF stay whole. */
	if (pipe2(ask, O_CLOEXEC) || pipe2(tell, O_CLOEXEC))
		die("pipe: %m");
	/* Yama lets a parent look into its child, but not the other way round. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	remote_pid = fork_child();
	if (!remote_pid) {
		close(ask[1]);
		close(tell[0]);
		serve_forever(o, owner, ask[0], tell[1]);
	}
	close(ask[0]);
	close(tell[1]);
	to_remote = ask[1];
	from_remote = tell[0];
	receive_answer();
}

uint64_t remote_touch(const struct vma *v, size_t from, size_t to)
{
	struct remote_request request;

	memset(&request, 0, sizeof(request));
	request.vma = *v;
	request.from = from;
	request.to = to;
	if (write(to_remote, &request, sizeof(request)) != (ssize_t)sizeof(request))
		die("the remote helper is gone");
	return receive_answer();
}

void remote_stop(void)
{
	if (to_remote < 0)
		return;
	close(to_remote);
	close(from_remote);
	to_remote = -1;
	from_remote = -1;
	wait_for_child(remote_pid);
}

/* --- noise ------------------------------------------------------------- */

static __attribute__((noreturn)) void make_noise(void)
{
	char *argv[] = { "workload", "--do-nothing", NULL }, *envp[] = { NULL };
	pid_t pid;

	prctl(PR_SET_NAME, "exec-noise");
	for (;;) {
		if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, envp))
			die("cannot execute /proc/self/exe (is /proc mounted?)");
		wait_for_child(pid);
	}
}

void noise_start(uint64_t nr)
{
	if (!nr)
		return;
	noise_pids = calloc(nr, sizeof(noise_pids[0]));
	if (!noise_pids)
		die("out of memory");
	for (nr_noise = 0; nr_noise < nr; nr_noise++) {
		noise_pids[nr_noise] = fork_child();
		if (!noise_pids[nr_noise])
			make_noise();
	}
}

void noise_stop(void)
{
	uint64_t i;

	for (i = 0; i < nr_noise; i++) {
		kill(noise_pids[i], SIGKILL);
		while (waitpid(noise_pids[i], NULL, 0) < 0 && errno == EINTR)
			;
	}
	nr_noise = 0;
	free(noise_pids);
	noise_pids = NULL;
}
