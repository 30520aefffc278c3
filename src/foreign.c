/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Knows the forms that a capture gets on its way: compressed, marked by an
 * editor, or written anew by a tool that knows JSON and not lines.
 */
#include "foreign.h"

#include <string.h>

static const struct {
	const char *bytes;
	size_t length;
	const char *what;
} beginnings[] = {
	{ "\x1f\x8b", 2, "it is compressed by gzip; `zcat FILE | lazyfault report -` reads it" },
	{ "\xfd" "7zXZ", 5, "it is compressed by xz; `xzcat FILE | lazyfault report -` reads it" },
	{ "\x28\xb5\x2f\xfd", 4,
	  "it is compressed by zstd; `zstdcat FILE | lazyfault report -` reads it" },
	{ "BZh", 3, "it is compressed by bzip2; `bzcat FILE | lazyfault report -` reads it" },
	{ "\xef\xbb\xbf", 3, "it begins with a byte order mark, which some editors write and JSON "
	  "does not have; `tail -c +4 FILE | lazyfault report -` leaves it out" },
	{ "\xff\xfe", 2, "it is UTF-16; `iconv -f UTF-16 -t UTF-8 FILE | lazyfault report -` "
	  "reads it" },
	{ "\xfe\xff", 2, "it is UTF-16; `iconv -f UTF-16 -t UTF-8 FILE | lazyfault report -` "
	  "reads it" },
};

/* The first character from *at on that is no blank; 0: none. */
static char next_character(const char *line, size_t length, size_t *at)
{
	while (*at < length && strchr(" \t\r", line[*at]) && line[*at])
		++*at;
	return *at < length ? line[(*at)++] : '\0';
}

const char *foreign_form(const char *line, size_t length, bool others)
{
	char first, second;
	size_t at = 0;

	for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
		if (length >= beginnings[i].length &&
		    !memcmp(line, beginnings[i].bytes, beginnings[i].length))
			return beginnings[i].what;
	first = next_character(line, length, &at);
	second = next_character(line, length, &at);
	if (first == '[' && (second == '{' || (!second && others)))
		return "it is one JSON array, and a capture has a record a line; `jq -c '.[]' FILE "
		       "| lazyfault report -` reads it";
	if (first == '{' && !second && others)
		return "its records go over several lines, and a capture has a record a line; `jq "
		       "-c . FILE | lazyfault report -` reads it";
	return NULL;
}
