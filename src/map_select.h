/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the maps that -m names: `ID`, `id ID`, `name NAME`, `pinned PATH`. */
#ifndef LAZYFAULT_MAP_SELECT_H
#define LAZYFAULT_MAP_SELECT_H

#include <stddef.h>
#include <stdint.h>

#include "options.h"

/* A map of the kernel, for the decision apart from the asking. */
#define MAP_ENTRY_NAME_BYTES 16	/* BPF_OBJ_NAME_LEN, with its NUL */

struct map_entry {
	uint32_t id;
	char name[MAP_ENTRY_NAME_BYTES];
};

/*
 * The map of `maps` that selector's name fits: *id and 0; -ENOENT if none,
 * -ENOTUNIQ if several, each with a message.
 */
int map_match_name(const struct map_selector *selector, const struct map_entry *maps,
		   size_t count, uint32_t *id, char *message, size_t message_bytes);

/*
 * Resolves selectors to map ids: *ids is allocated (free() it), *count long,
 * without repeats. On failure -errno, and message says what is wrong and what
 * would be right: a name that fits several maps lists their ids; a path that
 * does not exist, is a plain file, or is pinned but no map is each said so.
 * Names are found in full or cut at 15 bytes, as the kernel keeps them.
 */
int map_select(const struct map_selector *selectors, size_t selector_count,
	       uint32_t **ids, size_t *count, char *message, size_t message_bytes);

#endif
