/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an errno means when tracing fails, and what to do about it. */
#ifndef LAZYFAULT_ERRORS_H
#define LAZYFAULT_ERRORS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Notices: one line on stderr, "lazyfault: ...". `notice` is silent with -q. */
void errors_setup(bool quiet, bool verbose);
void notice(const char *format, ...) __attribute__((format(printf, 1, 2)));
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* strerror() that also knows 524 (ENOTSUPP). Static storage per errno. */
const char *error_name(int error);

/* The ground that a failure happened on: facts that errors.c looks up itself. */
struct ground {
	bool root;		/* effective uid 0 in the initial user namespace's sense */
	bool user_namespace;	/* in a child user namespace: no capability counts there */
	bool cap_bpf, cap_perfmon, cap_sys_admin;
	int lockdown;		/* 0 none, 1 integrity, 2 confidentiality, -1 not known */
	int lsm_bpf;		/* the LSM "bpf" is on: 1, off: 0, -1 not known */
	bool btf;		/* /sys/kernel/btf/vmlinux is readable */
	bool tracing_refused;	/* a minimal tracing program is refused (set by the caller) */
	bool plain_bpf_loads;	/* while a socket filter loads (set by the caller) */
};

void ground_look(struct ground *ground);
/* The same with other files under `root` in place of /: for tests. */
void ground_look_under(struct ground *ground, const char *root);
/*
 * Sets tracing_refused and plain_bpf_loads by loading one program of each
 * kind, which do nothing and are closed at once. For when something failed.
 */
void ground_try_programs(struct ground *ground);

enum failed_step { STEP_OPEN, STEP_LOAD, STEP_ATTACH, STEP_RING, STEP_MAP };

/*
 * One paragraph: cause and remedy of `error` (a positive errno) at `step`;
 * `what` names the program or map. Never advises ulimit where locked memory
 * is not the cause. Always NUL-terminated.
 */
void explain_failure(const struct ground *ground, enum failed_step step, int error,
		     const char *what, char *text, size_t bytes);

#endif
