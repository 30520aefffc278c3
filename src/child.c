/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Forks the command early, so that its tgid is known before it runs. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "loop.h"

static void run(int go, int failure, char *const argv[])
{
	char byte;
	int error;

	signal(SIGPIPE, SIG_DFL);
	loop_unblock_signals();
	if (read(go, &byte, 1) != 1)
		_exit(0);
	execvp(argv[0], argv);
	error = errno;
	if (write(failure, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(error == ENOENT ? 127 : 126);
}

int child_prepare(struct child *child, char *const argv[])
{
	int go[2], failure[2];

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(failure, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return -errno;
	}
	child->pid = fork();
	if (child->pid == 0) {
		close(go[1]);
		close(failure[0]);
		run(go[0], failure[1], argv);
	}
	close(go[0]);
	close(failure[1]);
	child->go = go[1];
	child->failure = failure[0];
	child->pidfd = child->pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, child->pid, 0);
	if (child->pidfd < 0) {
		int error = errno;

		child_abandon(child);
		return -error;
	}
	return 0;
}

int child_release(struct child *child)
{
	int error = 0;

	if (write(child->go, "g", 1) != 1)
		error = errno;
	close(child->go);
	/* end of file: the exec has closed it */
	if (!error && read(child->failure, &error, sizeof(error)) != sizeof(error))
		error = 0;
	close(child->failure);
	return -error;
}

int child_wait(struct child *child)
{
	int status;

	while (waitpid(child->pid, &status, 0) < 0)
		if (errno != EINTR)
			return 1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void child_abandon(struct child *child)
{
	close(child->go);
	close(child->failure);
	if (child->pid > 0)
		child_wait(child);
}
