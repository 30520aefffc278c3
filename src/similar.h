/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a word was meant for another. */
#ifndef LAZYFAULT_SIMILAR_H
#define LAZYFAULT_SIMILAR_H

#include <stdbool.h>

/* word is the beginning of name, or differs from it by a slip or two of the fingers. */
bool is_similar(const char *word, const char *name);

#endif
