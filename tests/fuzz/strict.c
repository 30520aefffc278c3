/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small recognizers of what the outputs must be. */
#include "strict.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fail_require(const char *condition, const char *file, int line, const char *text,
		  size_t bytes)
{
	/* not by stdio: a target may have put another stream in stderr's place */
	dprintf(STDERR_FILENO, "%s:%d: does not hold: %s\n", file, line, condition);
	if (text)
		dprintf(STDERR_FILENO, "of:\n%.*s\n", (int)(bytes < 4000 ? bytes : 4000), text);
	abort();
}

/* A text being read. */
struct cursor {
	const char *at, *end;
};

static bool take(struct cursor *cursor, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, word, length) != 0)
		return false;
	cursor->at += length;
	return true;
}

static bool take_one_of(struct cursor *cursor, const char *set)
{
	if (cursor->at == cursor->end || !*cursor->at || !strchr(set, *cursor->at))
		return false;
	cursor->at++;
	return true;
}

static size_t take_all_of(struct cursor *cursor, const char *set)
{
	const char *from = cursor->at;

	while (take_one_of(cursor, set))
		;
	return (size_t)(cursor->at - from);
}

/* ---- characters ---- */

static bool take_character(struct cursor *cursor, uint32_t *code)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	unsigned char first;
	int more;

	if (cursor->at == cursor->end)
		return false;
	first = (unsigned char)*cursor->at++;
	more = first < 0x80 ? 0 : first >> 5 == 6 ? 1 : first >> 4 == 14 ? 2 :
	       first >> 3 == 30 ? 3 : -1;
	if (more < 0 || cursor->end - cursor->at < more)
		return false;
	*code = more ? first & (0x3fu >> more) : first;
	for (int i = 0; i < more; i++) {
		unsigned char byte = (unsigned char)*cursor->at++;

		if (byte >> 6 != 2)
			return false;
		*code = *code << 6 | (byte & 0x3f);
	}
	return *code >= least[more] && *code <= 0x10ffff && *code >> 11 != 0x1b;
}

bool is_utf8(const char *text, size_t bytes)
{
	struct cursor cursor = { text, text + bytes };
	uint32_t code;

	while (cursor.at < cursor.end)
		if (!take_character(&cursor, &code))
			return false;
	return true;
}

bool is_for_terminal(const char *text, size_t bytes)
{
	struct cursor cursor = { text, text + bytes };
	uint32_t code;

	while (cursor.at < cursor.end) {
		if (!take_character(&cursor, &code))
			return false;
		if ((code < 0x20 && code != '\n') || (code >= 0x7f && code <= 0x9f))
			return false;
		if (code == 0x61c || code == 0x200e || code == 0x200f ||
		    (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069))
			return false;
	}
	return true;
}

/* ---- JSON ---- */

enum { DEPTH_MAX = 16 };

static bool take_value(struct cursor *cursor, int depth);

static bool take_escape(struct cursor *cursor)
{
	if (!take(cursor, "u"))
		return take_one_of(cursor, "\"\\/bfnrt");
	for (int i = 0; i < 4; i++)
		if (!take_one_of(cursor, "0123456789abcdefABCDEF"))
			return false;
	return true;
}

static bool take_string(struct cursor *cursor)
{
	uint32_t code;

	if (!take(cursor, "\""))
		return false;
	while (!take(cursor, "\"")) {
		if (!take_character(cursor, &code) || code < 0x20)
			return false;
		if (code == '\\' && !take_escape(cursor))
			return false;
	}
	return true;
}

static bool take_number(struct cursor *cursor)
{
	take(cursor, "-");
	if (!take(cursor, "0") && !take_all_of(cursor, "0123456789"))
		return false;
	if (take(cursor, ".") && !take_all_of(cursor, "0123456789"))
		return false;
	if (!take_one_of(cursor, "eE"))
		return true;
	take_one_of(cursor, "+-");
	return take_all_of(cursor, "0123456789") > 0;
}

/* Members of an object or elements of an array, up to its closing bracket. */
static bool take_members(struct cursor *cursor, const char *closing, bool named, int depth)
{
	if (take(cursor, closing))
		return true;
	do {
		if (named && !(take_string(cursor) && take(cursor, ":")))
			return false;
		if (!take_value(cursor, depth + 1))
			return false;
	} while (take(cursor, ","));
	return take(cursor, closing);
}

static bool take_value(struct cursor *cursor, int depth)
{
	if (depth > DEPTH_MAX)
		return false;
	if (take(cursor, "{"))
		return take_members(cursor, "}", true, depth);
	if (take(cursor, "["))
		return take_members(cursor, "]", false, depth);
	if (cursor->at < cursor->end && *cursor->at == '"')
		return take_string(cursor);
	if (take(cursor, "true") || take(cursor, "false") || take(cursor, "null"))
		return true;
	return take_number(cursor);
}

bool is_json_object(const char *text, size_t bytes)
{
	struct cursor cursor = { text, text + bytes };

	return bytes && *text == '{' && take_value(&cursor, 0) && cursor.at == cursor.end;
}

bool is_json_lines(const char *text, size_t bytes)
{
	const char *end = text + bytes, *newline;

	for (; text < end; text = newline + 1) {
		newline = memchr(text, '\n', (size_t)(end - text));
		if (!newline || !is_json_object(text, (size_t)(newline - text)))
			return false;
	}
	return true;
}

/* ---- HTML ---- */

enum { NAME_BYTES = 16, NESTED_MAX = 64 };

struct elements {
	char names[NESTED_MAX][NAME_BYTES];
	int count;
};

static bool is_one_of(const char *const *list, const char *name)
{
	for (; *list; list++)
		if (!strcmp(*list, name))
			return true;
	return false;
}

static bool is_void(const char *name)
{
	static const char *const names[] = { "meta", "link", "br", "hr", NULL };

	return is_one_of(names, name);
}

static bool is_known(const char *name)
{
	static const char *const names[] = {
		"a", "article", "body", "br", "caption", "code", "dd", "details", "div", "dl", "dt",
		"figcaption", "figure", "footer", "h1", "h2", "h3", "head", "header", "hr", "html",
		"li", "link", "main", "meta", "ol", "p", "rect", "section", "span", "strong",
		"style", "summary", "svg", "table", "tbody", "td", "th", "thead", "time", "title",
		"tr", "ul", NULL,
	};

	return is_one_of(names, name);
}

static bool take_name(struct cursor *cursor, char name[NAME_BYTES])
{
	const char *from = cursor->at;
	size_t length = take_all_of(cursor, "abcdefghijklmnopqrstuvwxyz0123456789-");

	if (!length || length >= NAME_BYTES)
		return false;
	memcpy(name, from, length);
	name[length] = '\0';
	return true;
}

/* "&amp;" without its first character. */
static bool take_entity(struct cursor *cursor)
{
	return take(cursor, "amp;") || take(cursor, "lt;") || take(cursor, "gt;") ||
	       take(cursor, "quot;") || take(cursor, "#39;") || take(cursor, "nbsp;") ||
	       (take(cursor, "#") && take_all_of(cursor, "0123456789") && take(cursor, ";"));
}

/* ` name="value"`; the value holds neither quotes nor angle brackets, and names no handler. */
static bool take_attribute(struct cursor *cursor)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-:";
	const char *name = cursor->at;

	if (!take_all_of(cursor, letters) || !strncmp(name, "on", 2))
		return false;
	if (!take(cursor, "="))
		return true;
	if (!take(cursor, "\""))
		return false;
	while (cursor->at < cursor->end && !take(cursor, "\"")) {
		if (strchr("<>", *cursor->at))
			return false;
		if (*cursor->at++ == '&' && !take_entity(cursor))
			return false;
	}
	return cursor->at < cursor->end;
}

/* What follows "<". */
static bool take_tag(struct cursor *cursor, struct elements *open)
{
	char name[NAME_BYTES];
	bool closing = take(cursor, "/");

	if (!take_name(cursor, name) || !is_known(name))
		return false;
	if (closing)
		return open->count && !strcmp(open->names[--open->count], name) &&
		       take(cursor, ">");
	while (take_all_of(cursor, " \n"))
		if (!take_attribute(cursor))
			break;
	if (take(cursor, "/>") || (is_void(name) && take(cursor, ">")))
		return true;
	if (open->count == NESTED_MAX || !take(cursor, ">"))
		return false;
	memcpy(open->names[open->count++], name, sizeof(name));
	return true;
}

bool is_html(const char *text, size_t bytes)
{
	struct cursor cursor = { text, text + bytes };
	struct elements open = { .count = 0 };
	uint32_t code;

	if (!is_for_terminal(text, bytes) || !take(&cursor, "<!DOCTYPE html>"))
		return false;
	while (cursor.at < cursor.end) {
		bool styled = open.count && !strcmp(open.names[open.count - 1], "style");

		if (take(&cursor, "<")) {
			if (!take_tag(&cursor, &open))
				return false;
			continue;
		}
		if (!styled && take(&cursor, "&")) {
			if (!take_entity(&cursor))
				return false;
			continue;
		}
		if (!styled && *cursor.at == '>')
			return false;
		take_character(&cursor, &code);
	}
	return !open.count;
}

/* ---- metrics ---- */

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static bool take_label_value(struct cursor *cursor)
{
	uint32_t code;

	if (!take(cursor, "\""))
		return false;
	while (!take(cursor, "\"")) {
		if (!take_character(cursor, &code) || code == '\n')
			return false;
		if (code == '\\' && !take_one_of(cursor, "\\\"n"))
			return false;
	}
	return true;
}

static bool take_labels(struct cursor *cursor)
{
	if (!take(cursor, "{"))
		return true;
	do {
		if (!take_all_of(cursor, LETTERS "_") || !take(cursor, "=") ||
		    !take_label_value(cursor))
			return false;
	} while (take(cursor, ","));
	return take(cursor, "}");
}

static bool take_sample(struct cursor *cursor)
{
	if (!take(cursor, "lazyfault_") || !take_all_of(cursor, LETTERS "_0123456789") ||
	    !take_labels(cursor) || !take(cursor, " "))
		return false;
	take_number(cursor);
	return take(cursor, "\n");
}

static bool take_comment(struct cursor *cursor)
{
	uint32_t code;

	if (!take(cursor, "# HELP ") && !take(cursor, "# TYPE "))
		return false;
	while (!take(cursor, "\n"))
		if (!take_character(cursor, &code))
			return false;
	return true;
}

bool is_metrics(const char *text, size_t bytes)
{
	struct cursor cursor = { text, text + bytes };

	while (!take(&cursor, "# EOF\n"))
		if (!(take_comment(&cursor) || take_sample(&cursor)))
			return false;
	return cursor.at == cursor.end;
}
