/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes UTF-8 strictly, and shows or replaces what is not. */
#include "printable.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One piece of a string: a character, or the longest part of one that is broken. */
struct piece {
	size_t length;
	bool valid;
	uint32_t code;		/* if valid */
};

/* What the first byte says of the others: Unicode's table of well-formed sequences. */
struct lead {
	size_t length;
	unsigned char second_from, second_to;
};

static struct lead lead_of(unsigned char first)
{
	struct lead lead = { 0, 0x80, 0xbf };

	if (first >= 0xc2 && first <= 0xdf)
		lead.length = 2;
	else if (first >= 0xe0 && first <= 0xef)
		lead.length = 3;
	else if (first >= 0xf0 && first <= 0xf4)
		lead.length = 4;

	/* Neither overlong forms nor surrogates nor beyond U+10FFFF. */
	if (first == 0xe0)
		lead.second_from = 0xa0;
	else if (first == 0xed)
		lead.second_to = 0x9f;
	else if (first == 0xf0)
		lead.second_from = 0x90;
	else if (first == 0xf4)
		lead.second_to = 0x8f;
	return lead;
}

/* The piece at the beginning of text, which is not empty and ends in NUL. */
static struct piece next_piece(const char *text)
{
	const unsigned char *bytes = (const unsigned char *)text;
	struct lead lead = lead_of(bytes[0]);
	struct piece piece = { .length = 1, .valid = bytes[0] < 0x80, .code = bytes[0] };

	if (lead.length == 0 || bytes[1] < lead.second_from || bytes[1] > lead.second_to)
		return piece;
	piece.code = bytes[0] & (0x7fu >> lead.length);
	do {
		piece.code = piece.code << 6 | (bytes[piece.length++] & 0x3f);
	} while (piece.length < lead.length && (bytes[piece.length] & 0xc0) == 0x80);
	piece.valid = piece.length == lead.length;
	return piece;
}

/* Characters that control the terminal or the direction of text, or cannot be seen. */
static bool is_harmful(uint32_t code)
{
	static const struct { uint32_t from, to; } ranges[] = {
		{ 0x00, 0x1f },		/* C0 */
		{ 0x7f, 0x9f },		/* DEL, C1 */
		{ 0xad, 0xad },		/* soft hyphen */
		{ 0x300, 0x36f },	/* combining marks, stacked without end */
		{ 0x61c, 0x61c },	/* Arabic letter mark */
		{ 0x200b, 0x200f },	/* zero width, direction marks */
		{ 0x2028, 0x202e },	/* line separators, direction */
		{ 0x2060, 0x206f },	/* invisible, direction isolates */
		{ 0xfe00, 0xfe0f },	/* variation selectors */
		{ 0xfeff, 0xfeff },	/* byte order mark */
		{ 0xfff9, 0xfffb },	/* annotations */
		{ 0xe0000, 0xe0fff },	/* tags */
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (code >= ranges[i].from && code <= ranges[i].to)
			return true;
	}
	return false;
}

enum { HEX_COLUMNS = 4, PIECE_MAX = 4 * HEX_COLUMNS };

/* A piece as the terminal gets it; returns its length. */
static size_t show_piece(char *out, const char *text, struct piece piece)
{
	static const char digits[] = "0123456789abcdef";
	size_t length = 0;

	if (piece.valid && !is_harmful(piece.code)) {
		memcpy(out, text, piece.length);
		return piece.length;
	}
	for (size_t i = 0; i < piece.length; i++) {
		unsigned char byte = (unsigned char)text[i];

		out[length++] = '\\';
		out[length++] = 'x';
		out[length++] = digits[byte >> 4];
		out[length++] = digits[byte & 15];
	}
	return length;
}

size_t printable_terminal(char *out, const char *text, size_t columns)
{
	size_t mark = columns > 2 ? 2 : 0;	/* length of ".." */
	size_t length = 0, cut = 0;		/* cut: where ".." would still fit */
	char shown[PIECE_MAX];

	while (*text) {
		struct piece piece = next_piece(text);
		size_t shown_length = show_piece(shown, text, piece);

		if (length + shown_length > columns) {
			memcpy(out + cut, "..", mark);
			length = cut + mark;
			break;
		}
		memcpy(out + length, shown, shown_length);
		length += shown_length;
		if (length + mark <= columns)
			cut = length;
		text += piece.length;
	}
	out[length] = '\0';
	return length;
}

char *printable_copy(const char *text, bool lines)
{
	char *out = malloc(HEX_COLUMNS * strlen(text) + 1), *end = out;

	if (!out)
		return NULL;
	while (*text) {
		struct piece piece = next_piece(text);

		if (lines && (*text == '\n' || *text == '\t'))
			*end++ = *text;
		else
			end += show_piece(end, text, piece);
		text += piece.length;
	}
	*end = '\0';
	return out;
}

char *printable_utf8(const char *text)
{
	static const char replacement[] = "\xef\xbf\xbd";	/* U+FFFD */
	char *out = malloc(3 * strlen(text) + 1), *end = out;

	if (!out)
		return NULL;
	while (*text) {
		struct piece piece = next_piece(text);

		if (piece.valid) {
			memcpy(end, text, piece.length);
			end += piece.length;
		} else {
			memcpy(end, replacement, 3);
			end += 3;
		}
		text += piece.length;
	}
	*end = '\0';
	return out;
}
