// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a command and then says, of each tracing program that is loaded, how
 * often the kernel ran it meanwhile and how often it skipped it: the kernel's
 * own account, to hold a tracer's against.
 *
 * Statistics are on while a file descriptor of them is open (BPF_ENABLE_STATS,
 * kernel/bpf/syscall.c); the sysctl is left alone, as a crash would leave it on.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAMS 4096

struct account {
	uint32_t id;
	char name[BPF_OBJ_NAME_LEN];
	uint64_t runs, missed;
};

static int bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return (int)syscall(__NR_bpf, command, attr, sizeof(*attr));
}

static void die(const char *what)
{
	fprintf(stderr, "bpfstats: %s: %s\n", what, strerror(errno));
	exit(125);
}

/* False if the program is gone, or no tracing program. */
static int look_at(uint32_t id, struct account *account)
{
	struct bpf_prog_info info = {};
	union bpf_attr attr = { .prog_id = id };
	int fd = bpf(BPF_PROG_GET_FD_BY_ID, &attr), error;

	if (fd < 0)
		return 0;
	attr = (union bpf_attr){ .info.bpf_fd = (uint32_t)fd, .info.info_len = sizeof(info),
				 .info.info = (uint64_t)(uintptr_t)&info };
	error = bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
	close(fd);
	if (error || info.type != BPF_PROG_TYPE_TRACING)
		return 0;
	account->id = id;
	memcpy(account->name, info.name, sizeof(account->name));
	account->runs = info.run_cnt;
	account->missed = info.recursion_misses;
	return 1;
}

static size_t look_at_all(struct account *accounts)
{
	union bpf_attr attr = {};
	size_t count = 0;

	while (count < PROGRAMS && !bpf(BPF_PROG_GET_NEXT_ID, &attr)) {
		uint32_t id = attr.next_id;

		count += (size_t)look_at(id, &accounts[count]);
		attr = (union bpf_attr){ .start_id = id };
	}
	return count;
}

static int run(char **argv)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		die("fork");
	if (!child) {
		execvp(argv[0], argv);
		fprintf(stderr, "bpfstats: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (waitpid(child, &status, 0) < 0)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void print_difference(FILE *out, const struct account *before, size_t count,
			     const struct account *after)
{
	struct account none = {};
	const struct account *base = &none;

	for (size_t i = 0; i < count; i++)
		if (before[i].id == after->id)
			base = &before[i];
	fprintf(out, "{\"type\":\"program\",\"name\":\"%.*s\",\"id\":%" PRIu32
		",\"runs\":%" PRIu64 ",\"missed\":%" PRIu64 "}\n",
		BPF_OBJ_NAME_LEN, after->name, after->id, after->runs - base->runs,
		after->missed - base->missed);
}

int main(int argc, char **argv)
{
	static struct account before[PROGRAMS], after[PROGRAMS];
	union bpf_attr attr = { .enable_stats.type = BPF_STATS_RUN_TIME };
	size_t count, count_after;
	int status;
	FILE *out;

	if (argc < 3) {
		fputs("Usage: bpfstats FILE COMMAND [ARGUMENT...]\n"
		      "Runs COMMAND; writes to FILE a JSON line for each tracing program: its runs\n"
		      "and the runs that the kernel skipped. Ends with COMMAND's status.\n", stderr);
		return 64;
	}
	out = fopen(argv[1], "we");
	if (!out)
		die(argv[1]);
	if (bpf(BPF_ENABLE_STATS, &attr) < 0)
		die("BPF statistics");
	count = look_at_all(before);
	status = run(argv + 2);
	count_after = look_at_all(after);
	for (size_t i = 0; i < count_after; i++)
		print_difference(out, before, count, &after[i]);
	if (fclose(out))
		die(argv[1]);
	return status;
}
