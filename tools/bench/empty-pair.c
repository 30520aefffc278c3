/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Attaches an empty program to a function's entry and another to its exit,
 * says "attached" and waits for SIGINT: the yardstick of tools/bench/overhead.
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

int main(int argc, char **argv)
{
	struct empty_pair_bpf *skeleton;
	sigset_t signals;
	int signal;

	if (argc < 2) {
		fprintf(stderr, "Usage: empty-pair FUNCTION [entry]\n");
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
	aim(skeleton->progs.empty_entry, argv[1]);
	if (argc == 2)
		aim(skeleton->progs.empty_exit, argv[1]);
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
