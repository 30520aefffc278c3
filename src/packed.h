/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps a struct that is mostly zero in little memory: its 64-bit words that
 * are not zero, and which they are.
 */
#ifndef LAZYFAULT_PACKED_H
#define LAZYFAULT_PACKED_H

#include <stddef.h>

struct packed;

/* A packed copy of `bytes` at data, to be freed with free(); NULL: no memory. */
struct packed *packed_new(const void *data, size_t bytes);
/* Restores it; `bytes` as given to packed_new(). NULL is all zeros. */
void packed_get(const struct packed *packed, void *data, size_t bytes);

#endif
