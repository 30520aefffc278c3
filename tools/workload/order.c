// SPDX-License-Identifier: GPL-2.0-or-later
/* The order in which pages are touched, each by its number within the VMA. */
#include "workload.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool to_number(const char *text, uint64_t *value)
{
	char *end;

	/* strtoull() itself would take a sign or blanks. */
	if (!isdigit((unsigned char)text[0]))
		return false;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return !errno && !*end;
}

static void add_touch(struct options *o, size_t *room, uint64_t page)
{
	uint32_t *more;

	if (o->nr_touches == *room) {
		*room = *room ? 2 * *room : 64;
		more = realloc(o->order, *room * sizeof(*more));
		if (!more)
			die("out of memory");
		o->order = more;
	}
	o->order[o->nr_touches++] = page;
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void shuffle(uint32_t *order, size_t nr, uint64_t seed)
{
	uint64_t state = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	uint32_t other;
	size_t i, j;

	for (i = nr - 1; i > 0; i--) {
		j = random_next(&state) % (i + 1);
		other = order[i];
		order[i] = order[j];
		order[j] = other;
	}
}

/* False: item is neither a page nor a range of pages of the VMA. */
static bool add_item(struct options *o, size_t *room, char *item)
{
	char *dash = strchr(item, '-');
	uint64_t from, to;

	if (dash)
		*dash++ = '\0';
	if (!to_number(item, &from) || !to_number(dash ? dash : item, &to) || from > to ||
	    to >= o->pages)
		return false;
	for (; from <= to; from++)
		add_touch(o, room, from);
	return true;
}

static bool order_list(struct options *o, const char *text)
{
	char *copy = strdup(text), *rest = copy, *item;
	size_t room = 0;
	bool good = true;

	if (!copy)
		die("out of memory");
	while (good && (item = strsep(&rest, ",")))
		good = add_item(o, &room, item);
	free(copy);
	return good;
}

bool order_make(struct options *o)
{
	uint64_t step = o->order_plan == ORDER_STRIDE ? o->order_value : 1, start, i;
	bool backward = o->order_plan == ORDER_BACKWARD;
	size_t room = 0;

	if (o->access == PLAN_NONE)
		return true;
	if (o->order_plan == ORDER_ONCE)
		return order_list(o, o->order_text);
	for (start = 0; start < step && start < o->pages; start++)
		for (i = start; i < o->pages; i += step)
			add_touch(o, &room, backward ? o->pages - 1 - i : i);
	if (o->order_plan == ORDER_RANDOM)
		shuffle(o->order, o->nr_touches, o->order_value);
	return true;
}
