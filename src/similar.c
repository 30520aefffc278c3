/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares words by the letters that were left out, added or mistaken. */
#include "similar.h"

#include <stddef.h>
#include <string.h>

/* Longer words are not compared. */
enum { LETTERS_MAX = 16, SLIPS_MAX = 2, BEGINNING_MIN = 2 };

static unsigned int least(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int least = a < b ? a : b;

	return least < c ? least : c;
}

/* Letters to leave out, add or change to make b of a, neither of which is longer than LETTERS_MAX. */
static unsigned int slips(const char *a, const char *b)
{
	unsigned int row[LETTERS_MAX + 1], columns = (unsigned int)strlen(b);

	for (unsigned int i = 0; i <= columns; i++)
		row[i] = i;
	for (unsigned int line = 1; *a; a++, line++) {
		unsigned int diagonal = row[0];

		row[0] = line;
		for (unsigned int i = 1; i <= columns; i++) {
			unsigned int above = row[i];

			row[i] = least(diagonal + (*a != b[i - 1]), above + 1, row[i - 1] + 1);
			diagonal = above;
		}
	}
	return row[columns];
}

bool is_similar(const char *word, const char *name)
{
	size_t length = strlen(word), most;

	if (length > LETTERS_MAX || strlen(name) > LETTERS_MAX)
		return false;
	if (length >= BEGINNING_MIN && !strncmp(word, name, length))
		return true;
	/* of a short word too little would be left */
	most = length / 2 < SLIPS_MAX ? length / 2 : SLIPS_MAX;
	return slips(word, name) <= most;
}
