/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where data goes: stdout, or a file that is created with care. */
#ifndef LAZYFAULT_OUTPUT_H
#define LAZYFAULT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/*
 * Opens path for writing from its start, mode 0600 if it is new; NULL, "-" and
 * /dev/stdout: stdout. A link, a directory, a device other than /dev/null, and
 * in a directory that all may write to what is another user's, are refused,
 * and nothing is lost of them. NULL with a message on failure.
 */
FILE *output_open(const char *path, char *message, size_t message_bytes);
/* The same for another option than "output", by which the message names it. */
FILE *output_open_for(const char *option, const char *path, char *message, size_t message_bytes);
/* Whether output_open() would give stdout for path. */
bool output_is_stdout(const char *path);
/* Columns of the terminal at fd; of one that cannot tell 80, the least that terminals have. */
unsigned int output_columns(int fd);
/* Both are one plain file. */
bool output_is_same(FILE *a, FILE *b);
/* The same of what path (NULL: no) leads to. */
bool output_is_at(FILE *file, const char *path);
/*
 * The errno of a write to it that failed before, which stdio does not keep:
 * EPIPE where nobody reads it any more, else EIO.
 */
int output_error(FILE *out);
/* Says that what option and path, of output_open_for(), name could not be written. */
void output_complain(const char *option, const char *path, int error);
/* Closes it; 0, or the positive errno of a write that failed at last. */
int output_close(FILE *out);

#endif
