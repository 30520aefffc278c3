/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a file is to be written: its directory, found without being led
 * astray by others in directories that all may write to, and held open.
 */
#ifndef LAZYFAULT_PLACE_H
#define LAZYFAULT_PLACE_H

#include <stdbool.h>

struct stat;

struct place {
	int directory;	/* O_PATH; -1: none */
	char *name;	/* of the file in it */
	bool shared;	/* all may write to it: what is there may be a stranger's */
};

#define PLACE_NONE { .directory = -1 }

/*
 * Finds the directory of path. 0, or a positive errno; EPERM is a link that a
 * stranger has set, ENOTSUP a filesystem of the kernel's own. Afterwards
 * place_free() is right in any case.
 */
int place_find(struct place *place, const char *path);
void place_free(struct place *place);

/* What is there, which is not followed; 0 or errno, ENOENT included. */
int place_look(const struct place *place, struct stat *status);
/*
 * Why what is there must not be written over, and what to do: to_stdout, if
 * stdout can take its place. NULL: it may be.
 */
const char *place_forbids(const struct place *place, const struct stat *status, bool to_stdout);

/* Of a failed place_find(): cause and remedy. Static storage, or strerror()'s. */
const char *place_error(int error);

#endif
