/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces a file as a whole: a reader sees the old one or the new one. */
#ifndef LAZYFAULT_REPLACE_H
#define LAZYFAULT_REPLACE_H

#include <stdbool.h>
#include <stdio.h>

struct replace;

/*
 * For the file at path: mode 0644, or that of the file that is there. Its
 * directory is held open, and that a file can be made there is tried at once.
 * NULL with a message on failure; a path that is there and no plain file, or
 * another user's in a directory that all may write to, is refused.
 */
struct replace *replace_new(const char *path, char *message, size_t message_bytes);
void replace_free(struct replace *replace);	/* NULL is fine */

/* Whether there is a file at its path. */
bool replace_has_file(const struct replace *replace);

/* Begins the new file; NULL and errno on failure. */
FILE *replace_begin(struct replace *replace);
/* Ends it and puts it in the old one's place. 0, or -errno: the old one stays. */
int replace_end(struct replace *replace, FILE *file);

#endif
