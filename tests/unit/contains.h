/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assertions on texts: the messages that users read. Needs cmocka.h before it. */
#ifndef LAZYFAULT_TEST_CONTAINS_H
#define LAZYFAULT_TEST_CONTAINS_H

#include <string.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static inline void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in: %s", part, text);
}

static inline void assert_one_line(const char *text)
{
	const char *end = strchr(text, '\n');

	if (!end || end[1] != '\0')
		fail_msg("not one line: %s", text);
}

#endif
