/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A chained hash of packed sums, by what tells VMAs apart in a capture. */
#include "rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "packed.h"

/* A row's number; or, in a capture without those, what comes nearest to it. */
struct key {
	uint64_t row, start;
	uint32_t pid, map_id;
};

struct entry {
	struct entry *next;
	struct key key;
	uint64_t row;
	struct packed *sum;	/* struct vma_report */
};

struct rows {
	struct entry **slots;
	size_t slot_count, count;	/* slot_count: a power of two, or 0 */
	uint64_t last_row;		/* the highest given so far */
};

struct rows *rows_new(void)
{
	return calloc(1, sizeof(struct rows));
}

static void entry_free(struct entry *entry)
{
	free(entry->sum);
	free(entry);
}

void rows_free(struct rows *rows)
{
	if (!rows)
		return;
	for (size_t i = 0; i < rows->slot_count; i++) {
		while (rows->slots[i]) {
			struct entry *entry = rows->slots[i];

			rows->slots[i] = entry->next;
			entry_free(entry);
		}
	}
	free(rows->slots);
	free(rows);
}

static struct key key_of(const struct vma_report *vma, bool row_known)
{
	if (row_known)
		return (struct key){ .row = vma->row };
	return (struct key){ .start = vma->start, .pid = vma->pid, .map_id = vma->map.id };
}

static bool same_key(const struct key *a, const struct key *b)
{
	return a->row == b->row && a->start == b->start && a->pid == b->pid &&
	       a->map_id == b->map_id;
}

static size_t hash(const struct key *key)
{
	const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t value = key->row * odd;

	value = (value ^ key->start) * odd;
	value = (value ^ ((uint64_t)key->pid << 32 | key->map_id)) * odd;
	return (size_t)(value >> 32);
}

/* Where the entry of a key is linked from, or would be. */
static struct entry **find(struct rows *rows, const struct key *key)
{
	struct entry **link = &rows->slots[hash(key) & (rows->slot_count - 1)];

	while (*link && !same_key(&(*link)->key, key))
		link = &(*link)->next;
	return link;
}

static int grow(struct rows *rows)
{
	size_t slot_count = rows->slot_count ? 2 * rows->slot_count : 256;
	struct rows larger = { .slot_count = slot_count };

	if (rows->count < rows->slot_count)
		return 0;
	larger.slots = calloc(slot_count, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < rows->slot_count; i++) {
		while (rows->slots[i]) {
			struct entry *entry = rows->slots[i], **link;

			rows->slots[i] = entry->next;
			link = find(&larger, &entry->key);
			entry->next = NULL;
			*link = entry;
		}
	}
	free(rows->slots);
	rows->slots = larger.slots;
	rows->slot_count = slot_count;
	return 0;
}

static struct entry *new_entry(struct rows *rows, const struct key *key,
			       const struct vma_report *vma, bool row_known)
{
	struct entry *entry = calloc(1, sizeof(*entry)), **link = find(rows, key);

	if (!entry)
		return NULL;
	entry->key = *key;
	entry->row = row_known ? vma->row : ++rows->last_row;
	entry->next = *link;
	*link = entry;
	rows->count++;
	return entry;
}

/* Adds vma to what the entry holds. */
static int add_up(struct entry *entry, const struct vma_report *vma)
{
	struct vma_report sum;
	struct packed *packed;

	if (entry->sum) {
		packed_get(entry->sum, &sum, sizeof(sum));
		vma_report_add(&sum, vma);
	} else {
		sum = *vma;
	}
	packed = packed_new(&sum, sizeof(sum));
	if (!packed)
		return -ENOMEM;
	free(entry->sum);
	entry->sum = packed;
	return 0;
}

static void forget(struct rows *rows, struct entry **link)
{
	struct entry *entry = *link;

	*link = entry->next;
	entry_free(entry);
	rows->count--;
}

int rows_take(struct rows *rows, struct vma_report *vma, bool row_known)
{
	struct key key = key_of(vma, row_known);
	struct entry **link, *entry;
	int error = grow(rows);

	if (error)
		return error;
	link = find(rows, &key);
	entry = *link;
	if (!row_known)
		vma->row = entry ? entry->row : rows->last_row + 1;
	if (vma->span == SPAN_TOTAL) {
		if (entry)
			forget(rows, link);
		else if (!row_known)
			rows->last_row++;
		return 0;
	}
	if (!entry && rows->count >= ROWS_MAX) {
		rows->last_row += !row_known;
		return -ENOSPC;
	}
	if (!entry)
		entry = new_entry(rows, &key, vma, row_known);
	return entry ? add_up(entry, vma) : -ENOMEM;
}

bool rows_sum(struct rows *rows, const struct vma_report *vma, struct vma_report *sum)
{
	struct key key = key_of(vma, true);
	struct entry *entry = rows->slots ? *find(rows, &key) : NULL;

	if (entry)
		packed_get(entry->sum, sum, sizeof(*sum));
	return entry;
}

static int by_row(const void *a, const void *b)
{
	uint64_t left = (*(struct entry *const *)a)->row, right = (*(struct entry *const *)b)->row;

	return (left > right) - (left < right);
}

int rows_each(struct rows *rows, void (*fn)(void *context, const struct vma_report *vma),
	      void *context)
{
	struct entry **sorted = calloc(rows->count + 1, sizeof(*sorted));
	size_t count = 0;

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < rows->slot_count; i++)
		for (struct entry *entry = rows->slots[i]; entry; entry = entry->next)
			sorted[count++] = entry;
	qsort(sorted, count, sizeof(struct entry *), by_row);
	for (size_t i = 0; i < count; i++) {
		struct vma_report sum;

		packed_get(sorted[i]->sum, &sum, sizeof(sum));
		sum.span = SPAN_TOTAL;
		fn(context, &sum);
	}
	free(sorted);
	return 0;
}
