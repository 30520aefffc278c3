/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that others chose, on a terminal and in JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"

#define FFFD "\xef\xbf\xbd"

static const char *terminal(const char *text, size_t columns)
{
	static char out[512 + 1];
	size_t length;

	memset(out, 'X', sizeof(out));
	length = printable_terminal(out, text, columns);
	assert_int_equal(length, strlen(out));
	assert_true(length <= columns);
	return out;
}

static void test_terminal_leaves_plain_text(void **state)
{
	(void)state;
	assert_string_equal(terminal("", 10), "");
	assert_string_equal(terminal("postgres", 8), "postgres");
	assert_string_equal(terminal("a\"b'c\\d e", 30), "a\"b'c\\d e");
	assert_string_equal(terminal("база", 20), "база");
	assert_string_equal(terminal("日本語 🐧", 20), "日本語 🐧");
}

static void test_terminal_escapes_what_moves_the_cursor(void **state)
{
	(void)state;
	assert_string_equal(terminal("\x1b[2J", 40), "\\x1b[2J");
	assert_string_equal(terminal("a\nb\rc\td\b", 40), "a\\x0ab\\x0dc\\x09d\\x08");
	assert_string_equal(terminal("\x7f", 40), "\\x7f");
	/* C1, as a character and as a lone byte */
	assert_string_equal(terminal("\xc2\x9b" "31m", 40), "\\xc2\\x9b31m");
	assert_string_equal(terminal("\x9b" "31m", 40), "\\x9b31m");
	/* direction, line separators, invisible, stacked */
	assert_string_equal(terminal("\xe2\x80\xae" "evil", 40), "\\xe2\\x80\\xaeevil");
	assert_string_equal(terminal("\xe2\x80\xa8", 40), "\\xe2\\x80\\xa8");
	assert_string_equal(terminal("\xe2\x80\x8b", 40), "\\xe2\\x80\\x8b");
	assert_string_equal(terminal("e\xcc\x81", 40), "e\\xcc\\x81");
}

static void test_terminal_escapes_every_byte_that_is_no_character(void **state)
{
	char text[2] = "", expected[8];

	(void)state;
	for (int byte = 1; byte < 256; byte++) {
		text[0] = (char)byte;
		if (byte >= 0x20 && byte < 0x7f)
			snprintf(expected, sizeof(expected), "%c", byte);
		else
			snprintf(expected, sizeof(expected), "\\x%02x", byte);
		assert_string_equal(terminal(text, 20), expected);
	}
}

static void test_terminal_cuts_between_characters(void **state)
{
	(void)state;
	assert_string_equal(terminal("abcdefghij", 10), "abcdefghij");
	assert_string_equal(terminal("abcdefghijk", 10), "abcdefgh..");
	assert_string_equal(terminal("abcdefg\x1b[", 10), "abcdefg..");
	assert_string_equal(terminal("\x1b\x1b\x1b", 10), "\\x1b\\x1b..");
	assert_string_equal(terminal("\x1b\x1b\x1b", 11), "\\x1b\\x1b..");
	assert_string_equal(terminal("ббббб", 9), "ббб..");
	assert_string_equal(terminal("ббббб", 10), "ббббб");
	assert_string_equal(terminal("abc", 2), "ab");
	assert_string_equal(terminal("abc", 1), "a");
	assert_string_equal(terminal("abc", 0), "");
	assert_string_equal(terminal("\x1b", 3), "..");
}

static void check_copy(const char *text, bool lines, const char *expected)
{
	char *copy = printable_copy(text, lines);

	assert_non_null(copy);
	assert_string_equal(copy, expected);
	free(copy);
}

static void test_copy_is_whole(void **state)
{
	char marks[2000], shown[sizeof(marks) * 4] = "";

	(void)state;
	check_copy("", false, "");
	check_copy("-m name \x1b[2Jx: база", false, "-m name \\x1b[2Jx: база");
	check_copy("a\nb\tc\rd", false, "a\\x0ab\\x09c\\x0dd");
	check_copy("a\nb\tc\rd\x9b", true, "a\nb\tc\\x0dd\\x9b");
	check_copy("\xe2\x80\xae\xff\xc3", true, "\\xe2\\x80\\xae\\xff\\xc3");
	memset(marks, '\x1b', sizeof(marks) - 1);
	marks[sizeof(marks) - 1] = '\0';
	for (size_t i = 0; i < sizeof(marks) - 1; i++)
		strcpy(shown + 4 * i, "\\x1b");
	check_copy(marks, false, shown);
}

static void check_utf8(const char *text, const char *expected)
{
	char *valid = printable_utf8(text);

	assert_non_null(valid);
	assert_string_equal(valid, expected);
	free(valid);
}

static void test_utf8_keeps_what_is_valid(void **state)
{
	(void)state;
	check_utf8("", "");
	check_utf8("plain \x01\x1b\x7f\"\\", "plain \x01\x1b\x7f\"\\");
	check_utf8("\xc2\x80 \xdf\xbf", "\xc2\x80 \xdf\xbf");
	check_utf8("\xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf",
		   "\xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf");
	check_utf8("\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf");
}

static void test_utf8_replaces_what_is_not(void **state)
{
	(void)state;
	check_utf8("\x80", FFFD);
	check_utf8("\xff\xfe", FFFD FFFD);
	/* a name cut in the middle of a character */
	check_utf8("\xd0\xb1\xd0", "\xd0\xb1" FFFD);
	check_utf8("\xe2\x82", FFFD);
	check_utf8("\xf0\x9f\x90", FFFD);
	check_utf8("\xf0\x9f\x90" "x", FFFD "x");
	/* overlong forms, surrogates, beyond U+10FFFF */
	check_utf8("\xc0\x80", FFFD FFFD);
	check_utf8("\xc1\xbf", FFFD FFFD);
	check_utf8("\xe0\x80\x80", FFFD FFFD FFFD);
	check_utf8("\xed\xa0\x80", FFFD FFFD FFFD);
	check_utf8("\xf0\x80\x80\x80", FFFD FFFD FFFD FFFD);
	check_utf8("\xf4\x90\x80\x80", FFFD FFFD FFFD FFFD);
	check_utf8("\xf5\x80", FFFD FFFD);
	/* a broken one does not swallow what follows */
	check_utf8("\xe2\x82\xe2\x82\xac", FFFD "\xe2\x82\xac");
	check_utf8("\xc3(", FFFD "(");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terminal_leaves_plain_text),
		cmocka_unit_test(test_terminal_escapes_what_moves_the_cursor),
		cmocka_unit_test(test_terminal_escapes_every_byte_that_is_no_character),
		cmocka_unit_test(test_terminal_cuts_between_characters),
		cmocka_unit_test(test_copy_is_whole),
		cmocka_unit_test(test_utf8_keeps_what_is_valid),
		cmocka_unit_test(test_utf8_replaces_what_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
