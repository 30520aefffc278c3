/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attaches programs that do nothing to functions, says "attached" and waits for
 * SIGINT: the yardstick of tools/bench/overhead.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "empty-pair.skel.h"

static void aim(struct bpf_program *program, const char *function)
{
	int error;

	bpf_program__set_autoload(program, true);
	error = bpf_program__set_attach_target(program, 0, function);
	if (error) {
		fprintf(stderr, "empty-pair: %s cannot be hooked: %s\n", function, strerror(-error));
		exit(1);
	}
}

/* The next program of that name that is not in use yet. */
static struct bpf_program *next(struct empty_pair_bpf *skeleton, const char *name)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, skeleton->obj)
		if (!strncmp(bpf_program__name(program), name, strlen(name)) &&
		    !bpf_program__autoload(program))
			return program;
	fprintf(stderr, "empty-pair: too many functions\n");
	exit(64);
}

static void aim_at(struct empty_pair_bpf *skeleton, const char *how, const char *function)
{
	if (!strcmp(how, "pair")) {
		aim(next(skeleton, "empty_entry"), function);
		aim(next(skeleton, "empty_exit"), function);
	} else if (!strcmp(how, "clocks")) {
		aim(skeleton->progs.clock_entry, function);
		aim(skeleton->progs.clock_exit, function);
	} else if (!strcmp(how, "entry")) {
		aim(skeleton->progs.lone_entry, function);
	} else {
		fprintf(stderr, "empty-pair: '%s' is not pair, clocks or entry\n", how);
		exit(64);
	}
}

int main(int argc, char **argv)
{
	struct empty_pair_bpf *skeleton;
	sigset_t signals;
	int signal;

	if (argc < 3 || argc % 2 == 0) {
		fprintf(stderr, "Usage: empty-pair pair|clocks|entry FUNCTION...\n"
			"pair: on the function's entry and exit; clocks: the same, and each reads\n"
			"the clock; entry: on its entry\n");
		return 64;
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);

	skeleton = empty_pair_bpf__open();
	if (!skeleton) {
		perror("empty-pair: open");
		return 1;
	}
	for (int i = 1; i < argc; i += 2)
		aim_at(skeleton, argv[i], argv[i + 1]);
	if (empty_pair_bpf__load(skeleton) || empty_pair_bpf__attach(skeleton)) {
		perror("empty-pair: load or attach");
		return 1;
	}
	puts("attached");
	fflush(stdout);
	sigwait(&signals, &signal);
	empty_pair_bpf__destroy(skeleton);
	return 0;
}
