/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strings that others chose (what a process or a map calls itself, any bytes)
 * made fit for a terminal and for JSON. Neither depends on the locale.
 */
#ifndef LAZYFAULT_PRINTABLE_H
#define LAZYFAULT_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * For a terminal: control characters, bytes that are not UTF-8 and characters
 * that turn, break or hide text come as \xNN, byte by byte; what would take
 * more than `columns` is cut and ends in "..". A cut never splits a character
 * or a \xNN. Each byte of the result takes at most one column, so its length
 * bounds its width. out holds columns + 1 bytes; returns the length.
 */
size_t printable_terminal(char *out, const char *text, size_t columns);

/*
 * The same of a text of any length, uncut; with `lines`, newlines and tabs
 * stay. A copy to be freed with free(); NULL: no memory.
 */
char *printable_copy(const char *text, bool lines);

/*
 * For JSON: valid UTF-8, each piece that is not replaced by U+FFFD. A copy to
 * be freed with free(); NULL: no memory.
 */
char *printable_utf8(const char *text);

#endif
