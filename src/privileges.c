/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capabilities are for loading and attaching; what follows goes by file
 * descriptors and mappings that are open. What is needed all the same is asked
 * of this system, not of its version: tried without it.
 */
#include "privileges.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "options.h"
#include "place.h"

bool privileges_are_borrowed(void)
{
	return getauxval(AT_SECURE) && (getuid() != geteuid() || getgid() != getegid());
}

/* ---- what is needed ---- */

enum { NEEDS_MAX = 8 };

struct needs {
	cap_value_t list[NEEDS_MAX];
	int count;
};

static void need(struct needs *needs, cap_value_t capability)
{
	needs->list[needs->count++] = capability;
}

/* Kernels before 6.0 can refuse all of bpf(2), descriptors or not. */
static bool bpf_is_refused(void)
{
	struct bpf_map_info info;
	__u32 bytes = sizeof(info);

	memset(&info, 0, sizeof(info));
	return bpf_obj_get_info_by_fd(-1, &info, &bytes) && errno == EPERM;
}

/* A file that is replaced at each interval: in whose directory? */
static void need_for_file(struct needs *needs, const char *path)
{
	struct place place;
	struct stat status;

	if (!place_find(&place, path) && !fstatat(place.directory, "", &status, AT_EMPTY_PATH)) {
		if (faccessat(place.directory, ".", W_OK | X_OK, AT_EACCESS))
			need(needs, CAP_DAC_OVERRIDE);
		/* others' files in it are not ours to rename over */
		if (status.st_mode & S_ISVTX && status.st_uid != geteuid())
			need(needs, CAP_FOWNER);
	} else {
		need(needs, CAP_DAC_OVERRIDE);
	}
	place_free(&place);
}

/* To be asked while nothing is in effect. */
static void find_needs(struct needs *needs, const struct options *options)
{
	if (bpf_is_refused())
		need(needs, CAP_BPF);
	if (options->openmetrics)
		need_for_file(needs, options->openmetrics);
	/* a command may have become another user's, and signals are passed on to it */
	if (options->argv)
		need(needs, CAP_KILL);
	/* at the end it is looked up where threads of others are: /proc/PID/syscall */
	if (options->command == COMMAND_UPDATES) {
		need(needs, CAP_SYS_PTRACE);
		need(needs, CAP_DAC_READ_SEARCH);
	}
}

/* ---- giving up ---- */

/* Leaves of the needs those that there are to keep. */
static void limit_needs(struct needs *needs, cap_t had)
{
	cap_flag_value_t there;
	int kept = 0;

	for (int i = 0; i < needs->count; i++)
		if (!cap_get_flag(had, needs->list[i], CAP_PERMITTED, &there) && there == CAP_SET)
			needs->list[kept++] = needs->list[i];
	needs->count = kept;
}

static void name_needs(const struct needs *needs, char *text, size_t bytes)
{
	size_t at = 0;

	text[0] = '\0';
	for (int i = 0; i < needs->count && at < bytes; i++) {
		char *name = cap_to_name(needs->list[i]), *letter;

		for (letter = name; letter && *letter; letter++)
			if (*letter >= 'a' && *letter <= 'z')
				*letter -= 'a' - 'A';
		at += (size_t)snprintf(text + at, bytes - at, "%s%s", i ? ", " : "",
				       name ? name : "?");
		cap_free(name);
	}
}

static int set_to(cap_t caps, const struct needs *needs)
{
	if (cap_clear(caps))
		return -errno;
	if (needs->count &&
	    (cap_set_flag(caps, CAP_PERMITTED, needs->count, needs->list, CAP_SET) ||
	     cap_set_flag(caps, CAP_EFFECTIVE, needs->count, needs->list, CAP_SET)))
		return -errno;
	return cap_set_proc(caps) ? -errno : 0;
}

static int drop(cap_t caps, const struct options *options, struct needs *needs)
{
	if (cap_clear_flag(caps, CAP_EFFECTIVE) || cap_set_proc(caps))
		return -errno;
	find_needs(needs, options);
	limit_needs(needs, caps);
	/* an exec by root would bring them all back */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return set_to(caps, needs);
}

int privileges_drop(const struct options *options, char *kept, size_t kept_bytes)
{
	struct needs needs = { .count = 0 };
	cap_t caps = cap_get_proc();
	int error = caps ? drop(caps, options, &needs) : -errno;

	cap_free(caps);
	name_needs(&needs, kept, kept_bytes);
	return error;
}
