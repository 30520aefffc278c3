/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packs structs that are mostly zero: a bitmap of words, then those not zero. */
#include "packed.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* struct packed is never completed: it is an array of uint64_t, bitmap first. */
enum { WORD_BYTES = sizeof(uint64_t), WORD_BITS = 64 };

static size_t word_count(size_t bytes)
{
	return (bytes + WORD_BYTES - 1) / WORD_BYTES;
}

static size_t bitmap_words(size_t bytes)
{
	return (word_count(bytes) + WORD_BITS - 1) / WORD_BITS;
}

/* How much of word i lies inside `bytes`. */
static size_t word_bytes(size_t bytes, size_t i)
{
	size_t left = bytes - i * WORD_BYTES;

	return left < WORD_BYTES ? left : WORD_BYTES;
}

static uint64_t word_at(const void *data, size_t bytes, size_t i)
{
	uint64_t word = 0;

	memcpy(&word, (const char *)data + i * WORD_BYTES, word_bytes(bytes, i));
	return word;
}

struct packed *packed_new(const void *data, size_t bytes)
{
	size_t bitmap = bitmap_words(bytes), used = bitmap;
	uint64_t *words;

	for (size_t i = 0; i < word_count(bytes); i++)
		used += word_at(data, bytes, i) != 0;
	words = calloc(used ? used : 1, WORD_BYTES);
	if (!words)
		return NULL;

	used = bitmap;
	for (size_t i = 0; i < word_count(bytes); i++) {
		uint64_t word = word_at(data, bytes, i);

		if (!word)
			continue;
		words[i / WORD_BITS] |= UINT64_C(1) << (i % WORD_BITS);
		words[used++] = word;
	}
	return (struct packed *)words;
}

void packed_get(const struct packed *packed, void *data, size_t bytes)
{
	const uint64_t *words = (const uint64_t *)packed;
	size_t used = bitmap_words(bytes);

	memset(data, 0, bytes);
	if (!packed)
		return;
	for (size_t i = 0; i < word_count(bytes); i++) {
		if (!(words[i / WORD_BITS] >> (i % WORD_BITS) & 1))
			continue;
		memcpy((char *)data + i * WORD_BYTES, &words[used++], word_bytes(bytes, i));
	}
}
