/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds what the options name, and says what is wrong with what is not there. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "errors.h"
#include "map_select.h"
#include "options.h"
#include "targets.h"

/* Where a failure is told. */
struct complaint {
	char *text;
	size_t bytes;
};

/* A thread's id is a common mistake: the process it belongs to is named. */
static void explain_pid(pid_t pid, int error, const struct complaint *complaint)
{
	char path[64], line[128];
	int tgid = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			break;
	if (status)
		fclose(status);
	if (tgid && tgid != pid)
		snprintf(complaint->text, complaint->bytes,
			 "--pid=%d: is a thread of process %d; use --pid=%d", pid, tgid, tgid);
	else if (error == ESRCH || error == EINVAL)
		snprintf(complaint->text, complaint->bytes, "--pid=%d: there is no such process",
			 pid);
	else
		snprintf(complaint->text, complaint->bytes, "--pid=%d: %s", pid,
			 error_name(error));
}

static int open_pids(struct targets *targets, const struct options *options,
		     const struct complaint *complaint)
{
	if (!options->pid_count)
		return 0;
	targets->pidfds = calloc(options->pid_count, sizeof(*targets->pidfds));
	if (!targets->pidfds)
		return -ENOMEM;
	for (size_t i = 0; i < options->pid_count; i++) {
		int fd = (int)syscall(SYS_pidfd_open, options->pids[i], 0);

		if (fd < 0) {
			explain_pid(options->pids[i], errno, complaint);
			return -ESRCH;
		}
		targets->pidfds[targets->pidfd_count++] = fd;
	}
	targets->pids = options->pids;
	targets->pid_count = options->pid_count;
	return 0;
}

/* As those of other targets: what is wrong with it, and where to look for a right one. */
static void explain_cgroup(const char *path, int error, const struct complaint *complaint)
{
	snprintf(complaint->text, complaint->bytes,
		 "--cgroup=%s: %s; `mount -t cgroup2` tells where cgroups are", path,
		 error == ENOENT ? "there is no such directory" :
		 error == ENOTDIR ? "is not a directory" :
		 error ? error_name(error) :
		 "is not a directory of a cgroup v2 file system, and only cgroup v2 can be followed");
}

static int open_cgroup(struct targets *targets, const char *path,
		       const struct complaint *complaint)
{
	struct statfs status;
	int error;

	if (!path)
		return 0;
	targets->cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (targets->cgroup_fd < 0) {
		error = errno;
		explain_cgroup(path, error, complaint);
		return -error;
	}
	if (fstatfs(targets->cgroup_fd, &status) || status.f_type != CGROUP2_SUPER_MAGIC) {
		explain_cgroup(path, 0, complaint);
		return -EINVAL;
	}
	return 0;
}

static int prepare_command(struct targets *targets, char **argv,
			   const struct complaint *complaint)
{
	int error = child_prepare(&targets->child, argv);

	if (error) {
		snprintf(complaint->text, complaint->bytes, "cannot start %s: %s", argv[0],
			 strerror(-error));
		return error;
	}
	targets->child_waits = true;
	targets->pids = &targets->child.pid;
	targets->pid_count = 1;
	targets->descend = true;
	return 0;
}

static void describe_scope(struct targets *targets, const struct options *options)
{
	size_t at = 0;

#define ADD(...) \
	(at += at < sizeof(targets->scope) ? (size_t)snprintf(targets->scope + at, \
	 sizeof(targets->scope) - at, __VA_ARGS__) : 0)
	if (options->argv)
		ADD("command %s", options->argv[0]);
	else if (options->pid_count)
		for (size_t i = 0; i < options->pid_count; i++)
			ADD("%s%d", i ? ", " : options->pid_count > 1 ? "pids " : "pid ",
			    options->pids[i]);
	else if (options->cgroup)
		ADD("cgroup %s", options->cgroup);
	else
		ADD("all processes");
	for (size_t i = 0; i < targets->map_count; i++)
		ADD("%s%u", i ? ", " : targets->map_count > 1 ? "; map ids " : "; map id ",
		    targets->map_ids[i]);
#undef ADD
}

int targets_find(struct targets *targets, const struct options *options, char *message,
		 size_t message_bytes)
{
	const struct complaint complaint = { message, message_bytes };
	int error;

	*targets = (struct targets)TARGETS_NONE;
	error = open_pids(targets, options, &complaint);
	if (!error)
		error = open_cgroup(targets, options->cgroup, &complaint);
	if (!error && options->map_count)
		error = map_select(options->maps, options->map_count, &targets->map_ids,
				   &targets->map_count, message, message_bytes);
	if (!error && options->argv)
		error = prepare_command(targets, options->argv, &complaint);
	describe_scope(targets, options);
	return error;
}

int targets_release(struct targets *targets)
{
	if (!targets->child_waits)
		return 0;
	targets->child_waits = false;
	return child_release(&targets->child);
}

void targets_free(struct targets *targets)
{
	if (targets->child_waits)
		child_abandon(&targets->child);
	if (targets->child.pidfd >= 0)
		close(targets->child.pidfd);
	for (size_t i = 0; i < targets->pidfd_count; i++)
		close(targets->pidfds[i]);
	free(targets->pidfds);
	free(targets->map_ids);
	if (targets->cgroup_fd >= 0)
		close(targets->cgroup_fd);
}
