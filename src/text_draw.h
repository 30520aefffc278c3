/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pieces of the text report: numbers with units, wrapped lines, bars, strips.
 * All stay below 80 columns and none depends on the locale.
 */
#ifndef LAZYFAULT_TEXT_DRAW_H
#define LAZYFAULT_TEXT_DRAW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model.h"

#define TEXT_COLUMNS 79
#define TEXT_LABEL 13		/* columns that a block's labels take */
#define NUMBER_BYTES 32		/* room for any of the numbers below */

/* Nanoseconds as "850 ns", "1.23 us", "45.6 ms", "789 s"; at most 8 columns. Returns text. */
const char *draw_duration(char text[NUMBER_BYTES], uint64_t ns);
/* Bytes as "64 KiB", "1.50 GiB": a power of 1024. Returns text. */
const char *draw_bytes(char text[NUMBER_BYTES], uint64_t bytes);
/*
 * A count in at most `columns` (at least 6): exact, or with k, M, G, ... for
 * thousands. Returns text.
 */
const char *draw_count(char text[NUMBER_BYTES], uint64_t count, unsigned int columns);
/* A slot's values as "[0]", "[1]", "[2, 4)", "[1K, 2K)", "[16K, ...)": K is 1024. Returns text. */
const char *draw_slot(char text[NUMBER_BYTES], const struct dist *dist, unsigned int slot);
/* part of whole, for people: "0 %", "<1 %", "37 %", ">99 %", "100 %". Returns text. */
const char *draw_percent(char text[NUMBER_BYTES], uint64_t part, uint64_t whole);
/* a / b to one decimal, "15.5"; b is not 0. Returns text. */
const char *draw_ratio(char text[NUMBER_BYTES], uint64_t a, uint64_t b);

/* A paragraph of words or phrases that are broken between, never in, lines. */
struct paragraph {
	FILE *out;
	unsigned int indent;	/* of the lines after the first */
	unsigned int column;
	bool at_start;		/* nothing on this line yet */
};

/* Begins one with a label, padded to indent columns; NULL: at column 0. */
void paragraph_begin(struct paragraph *paragraph, FILE *out, unsigned int indent,
		     const char *label);
/* Adds a phrase after a space. */
void paragraph_add(struct paragraph *paragraph, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Adds a text word by word. */
void paragraph_words(struct paragraph *paragraph, const char *text);
void paragraph_end(struct paragraph *paragraph);

/* Lines with slot, count and bar, from the first non-empty slot to the last. */
void draw_histogram(FILE *out, const struct dist *dist, bool unicode);
/*
 * One cell a bin between bars: how full that part of the VMA of `pages` was
 * made, from blank (nothing) to the ramp's last (all of it).
 */
void draw_strip(FILE *out, const struct where_bins *where, uint64_t pages, bool unicode);

#endif
