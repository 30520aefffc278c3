/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers with units, wrapped paragraphs, histograms and strips. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text_draw.h"

#include "contains.h"

static void test_durations(void **state)
{
	static const struct { uint64_t ns; const char *text; } cases[] = {
		{ 0, "0 ns" }, { 999, "999 ns" }, { 1000, "1.00 us" }, { 1204, "1.20 us" },
		{ 9999, "9.99 us" }, { 10000, "10.0 us" }, { 99999, "99.9 us" },
		{ 100000, "100 us" }, { 999999, "999 us" }, { 1000000, "1.00 ms" },
		{ 21200000000, "21.2 s" }, { 12345000000000, "12345 s" },
		{ 99999999999999, "99999 s" }, { 100000000000000, "100 ks" },
		{ UINT64_MAX, "18446 Ms" },
	};
	char text[NUMBER_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_string_equal(draw_duration(text, cases[i].ns), cases[i].text);
}

static void test_bytes(void **state)
{
	static const struct { uint64_t bytes; const char *text; } cases[] = {
		{ 0, "0 B" }, { 1023, "1023 B" }, { 4096, "4 KiB" }, { 65536, "64 KiB" },
		{ 8 << 20, "8 MiB" }, { 1536, "1.50 KiB" }, { UINT64_C(1) << 40, "1 TiB" },
		{ UINT64_MAX, "15.99 EiB" },
	};
	char text[NUMBER_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_string_equal(draw_bytes(text, cases[i].bytes), cases[i].text);
}

static void test_counts_that_fit(void **state)
{
	char text[NUMBER_BYTES];

	(void)state;
	assert_string_equal(draw_count(text, 0, 6), "0");
	assert_string_equal(draw_count(text, 999999, 6), "999999");
	assert_string_equal(draw_count(text, 1000000, 6), "1000k");
	assert_string_equal(draw_count(text, UINT64_C(4294967296), 8), "4294967k");
	for (unsigned int columns = 6; columns < 21; columns++)
		for (unsigned int bit = 0; bit < 64; bit++)
			assert_true(strlen(draw_count(text, UINT64_MAX >> bit, columns)) <=
				    columns);
	assert_string_equal(draw_count(text, UINT64_MAX, 20), "18446744073709551615");
}

static void test_slots(void **state)
{
	static const struct { unsigned int slot; const char *text; } cases[] = {
		{ 0, "[0]" }, { 1, "[1]" }, { 2, "[2, 4)" }, { 10, "[512, 1K)" },
		{ 11, "[1K, 2K)" }, { 13, "[4K, 8K)" }, { 20, "[512K, 1M)" },
		{ 21, "[1M, 2M)" }, { 40, "[512G, 1T)" }, { 63, "[4E, 8E)" }, { 64, "[8E, 16E)" },
	};
	struct dist dist = { .open_slot = 0 };
	char text[NUMBER_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_string_equal(draw_slot(text, &dist, cases[i].slot), cases[i].text);
	dist.open_slot = 15;
	assert_string_equal(draw_slot(text, &dist, 14), "[8K, 16K)");
	assert_string_equal(draw_slot(text, &dist, 15), "[16K, ...)");
	dist.open_slot = 1;
	assert_string_equal(draw_slot(text, &dist, 0), "[0]");
	assert_string_equal(draw_slot(text, &dist, 1), "[1, ...)");
}

static void test_percent(void **state)
{
	static const struct { uint64_t part, whole; const char *text; } cases[] = {
		{ 0, 0, "0 %" }, { 0, 5, "0 %" }, { 1, 1000, "<1 %" }, { 37, 100, "37 %" },
		{ 999, 1000, ">99 %" }, { 5, 5, "100 %" }, { 10, 5, "200 %" },
		{ UINT64_MAX, UINT64_MAX, "100 %" }, { UINT64_C(1) << 63, UINT64_MAX, "50 %" },
		{ 1, UINT64_MAX, "<1 %" },
	};
	char text[NUMBER_BYTES];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_string_equal(draw_percent(text, cases[i].part, cases[i].whole),
				    cases[i].text);
}

static void test_ratio(void **state)
{
	char text[NUMBER_BYTES];

	(void)state;
	assert_string_equal(draw_ratio(text, 31, 2), "15.5");
	assert_string_equal(draw_ratio(text, 2, 3), "0.6");
	assert_string_equal(draw_ratio(text, 16, 1), "16.0");
	assert_string_equal(draw_ratio(text, UINT64_MAX, 1), "18446744073709551615.0");
	assert_string_equal(draw_ratio(text, UINT64_MAX - 1, UINT64_MAX), "0.9");
}

/* ---- what is drawn to a stream ---- */

static char drawn[65536];

static FILE *begin(void)
{
	FILE *out = fmemopen(drawn, sizeof(drawn), "w");

	assert_non_null(out);
	memset(drawn, 0, sizeof(drawn));
	return out;
}

/* Columns of the widest line: characters, not bytes. */
static size_t widest(const char *text)
{
	size_t most = 0, columns = 0;

	for (; *text; text++) {
		if (*text == '\n')
			columns = 0;
		else if ((*text & 0xc0) != 0x80)
			columns++;
		if (columns > most)
			most = columns;
	}
	return most;
}

static void test_paragraph_wraps_between_phrases(void **state)
{
	struct paragraph paragraph;
	FILE *out = begin();

	(void)state;
	paragraph_begin(&paragraph, out, 13, "  label");
	for (int i = 0; i < 12; i++)
		paragraph_add(&paragraph, "%d phrases here,", i);
	paragraph_end(&paragraph);
	fclose(out);
	assert_string_equal(drawn,
			    "  label      0 phrases here, 1 phrases here, 2 phrases here, "
			    "3 phrases here,\n"
			    "             4 phrases here, 5 phrases here, 6 phrases here, "
			    "7 phrases here,\n"
			    "             8 phrases here, 9 phrases here, 10 phrases here, "
			    "11 phrases here,\n");
}

static void test_paragraph_of_words(void **state)
{
	char word[200] = "";
	struct paragraph paragraph;
	FILE *out = begin();

	(void)state;
	memset(word, 'w', sizeof(word) - 1);
	paragraph_begin(&paragraph, out, 4, NULL);
	paragraph_words(&paragraph, "  some   words ");
	paragraph_words(&paragraph, word);
	paragraph_words(&paragraph, "");
	paragraph_words(&paragraph, "more");
	paragraph_end(&paragraph);
	fclose(out);
	assert_contains(drawn, "some words\n    wwww");
	assert_contains(drawn, "www more\n");
	assert_true(widest(drawn) <= TEXT_COLUMNS);
}

static void test_long_word_is_cut_between_characters(void **state)
{
	char word[201] = "", *line;
	struct paragraph paragraph;
	FILE *out = begin();

	(void)state;
	/* characters of two bytes, in a line of an odd number */
	for (size_t i = 0; i < 200; i += 2)
		memcpy(word + i, "б", 2);
	paragraph_begin(&paragraph, out, 4, NULL);
	paragraph_words(&paragraph, word);
	paragraph_end(&paragraph);
	fclose(out);
	for (line = strtok(drawn, "\n"); line; line = strtok(NULL, "\n")) {
		line += strspn(line, " ");
		assert_int_equal(strlen(line) % 2, 0);
		assert_memory_equal(line, "б", 2);
	}
}

static void test_histogram(void **state)
{
	struct dist dist = { .open_slot = 0 };
	FILE *out = begin();

	(void)state;
	dist.slots[11] = 80;
	dist.slots[13] = 20;
	dist.slots[14] = 1;
	draw_histogram(out, &dist, false);
	fclose(out);
	assert_string_equal(drawn,
			    "    [1K, 2K)             80 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
			    "    [2K, 4K)              0 |                                        |\n"
			    "    [4K, 8K)             20 |@@@@@@@@@@                              |\n"
			    "    [8K, 16K)             1 |                                        |\n");
}

static void test_histogram_in_unicode(void **state)
{
	struct dist dist = { .open_slot = 0 };
	FILE *out = begin();

	(void)state;
	dist.slots[1] = 320;
	dist.slots[2] = 5;
	draw_histogram(out, &dist, true);
	fclose(out);
	assert_contains(drawn, "320 |████████████████████████████████████████|\n");
	/* 5 of 320 is five eighths of a cell */
	assert_contains(drawn, "5 |▋                                       |\n");
}

static void test_histogram_of_64_bits(void **state)
{
	struct dist dist = { .open_slot = 0 };
	FILE *out = begin();

	(void)state;
	dist.slots[0] = UINT64_C(1) << 63;
	dist.slots[64] = UINT64_MAX;
	draw_histogram(out, &dist, false);
	fclose(out);
	assert_contains(drawn, " 9223372036854775808 |@@@@@@@@@@@@@@@@@@@ ");
	assert_contains(drawn, "18446744073709551615 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@");
	assert_true(widest(drawn) <= TEXT_COLUMNS);
}

static void test_empty_histogram(void **state)
{
	struct dist dist = { .open_slot = 47 };
	FILE *out = begin();

	(void)state;
	draw_histogram(out, &dist, false);
	fclose(out);
	assert_string_equal(drawn, "");
}

static const char *strip(const struct where_bins *where, uint64_t pages, bool unicode)
{
	FILE *out = begin();

	draw_strip(out, where, pages, unicode);
	fclose(out);
	return drawn;
}

static void test_strip_shows_shares(void **state)
{
	struct where_bins where = {
		.pages_per_bin = 100, .count = 10,
		.pages = { 0, 1, 13, 25, 38, 50, 63, 75, 99, 100 },
	};

	(void)state;
	assert_string_equal(strip(&where, 1000, false), "| .:-=+*#%@|\n");
	assert_string_equal(strip(&where, 1000, true), "| ▁▁▂▃▄▅▆▇█|\n");
}

/* Only all is full, only nothing is blank; what came again is not more than all. */
static void test_strip_at_its_ends(void **state)
{
	struct where_bins where = {
		.pages_per_bin = UINT64_C(1) << 40, .count = 4,
		.pages = { 1, (UINT64_C(1) << 40) - 1, UINT64_C(1) << 40, UINT64_MAX },
	};

	(void)state;
	assert_string_equal(strip(&where, UINT64_C(4) << 40, false), "|.%@@|\n");
	assert_string_equal(strip(&where, UINT64_C(4) << 40, true), "|▁▇██|\n");
}

static void test_strip_knows_that_the_last_part_is_short(void **state)
{
	struct where_bins where = { .pages_per_bin = 32, .count = 2, .pages = { 32, 3 } };

	(void)state;
	assert_string_equal(strip(&where, 35, false), "|@@|\n");
	assert_string_equal(strip(&where, 64, false), "|@.|\n");
	/* a VMA that has shrunk below what was counted */
	assert_string_equal(strip(&where, 16, false), "|@.|\n");
}

static void test_longest_strip_fits(void **state)
{
	struct where_bins where = { .pages_per_bin = 1, .count = 64 };
	size_t length = strlen(strip(&where, 64, false));

	(void)state;
	assert_int_equal(length, 67);
	assert_true(TEXT_LABEL + length - 1 <= TEXT_COLUMNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_counts_that_fit),
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_percent),
		cmocka_unit_test(test_ratio),
		cmocka_unit_test(test_paragraph_wraps_between_phrases),
		cmocka_unit_test(test_paragraph_of_words),
		cmocka_unit_test(test_long_word_is_cut_between_characters),
		cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_histogram_in_unicode),
		cmocka_unit_test(test_histogram_of_64_bits),
		cmocka_unit_test(test_empty_histogram),
		cmocka_unit_test(test_strip_shows_shares),
		cmocka_unit_test(test_strip_at_its_ends),
		cmocka_unit_test(test_strip_knows_that_the_last_part_is_short),
		cmocka_unit_test(test_longest_strip_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
