/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that are taken for captures: what they are, and how they become one. */
#ifndef LAZYFAULT_FOREIGN_H
#define LAZYFAULT_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Cause and remedy, by the first line that is not blank, and whether others
 * follow it; NULL: it may be a capture.
 */
const char *foreign_form(const char *line, size_t length, bool others);

#endif
