/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws numbers, paragraphs, histograms and strips in plain 64-bit arithmetic. */
#include "text_draw.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* Three digits of value / unit: "1.23", "45.6", "789"; rounded down. */
static int three_digits(char *text, uint64_t value, uint64_t unit)
{
	uint64_t whole = value / unit, rest = value % unit;

	/* Units are at least 1000, so this cannot overflow. */
	if (whole < 10)
		return snprintf(text, NUMBER_BYTES, "%" PRIu64 ".%02" PRIu64, whole,
				rest / (unit / 100));
	if (whole < 100)
		return snprintf(text, NUMBER_BYTES, "%" PRIu64 ".%01" PRIu64, whole,
				rest / (unit / 10));
	return snprintf(text, NUMBER_BYTES, "%" PRIu64, whole);
}

const char *draw_duration(char text[NUMBER_BYTES], uint64_t ns)
{
	static const char *const names[] = { "ns", "us", "ms", "s", "ks", "Ms" };
	uint64_t unit = 1;
	unsigned int i = 0;
	int length;

	/* People read seconds up to a day, thousands of them only beyond. */
	while (i < 5 && ns / unit >= (i == 3 ? 100000 : 1000)) {
		unit *= 1000;
		i++;
	}
	if (i == 0)
		length = snprintf(text, NUMBER_BYTES, "%" PRIu64, ns);
	else
		length = three_digits(text, ns, unit);
	snprintf(text + length, NUMBER_BYTES - (size_t)length, " %s", names[i]);
	return text;
}

const char *draw_bytes(char text[NUMBER_BYTES], uint64_t bytes)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned int i = 0;
	uint64_t whole, hundredths;

	while (i < 6 && bytes >> (10 * (i + 1)))
		i++;
	whole = bytes >> (10 * i);
	/* Of the remainder only the upper ten bits are looked at. */
	hundredths = i ? ((bytes >> (10 * (i - 1)) & 1023) * 100) >> 10 : 0;
	if (hundredths)
		snprintf(text, NUMBER_BYTES, "%" PRIu64 ".%02" PRIu64 " %s", whole, hundredths,
			 names[i]);
	else
		snprintf(text, NUMBER_BYTES, "%" PRIu64 " %s", whole, names[i]);
	return text;
}

const char *draw_count(char text[NUMBER_BYTES], uint64_t count, unsigned int columns)
{
	static const char suffixes[] = "kMGTPE";
	uint64_t unit = 1;
	int length = snprintf(text, NUMBER_BYTES, "%" PRIu64, count);

	for (unsigned int i = 0; length > (int)columns && i < 6; i++) {
		unit *= 1000;
		length = snprintf(text, NUMBER_BYTES, "%" PRIu64 "%c", count / unit, suffixes[i]);
	}
	return text;
}

/* 2^power as "1", "512", "1K", "2M". */
static void draw_power(char *text, unsigned int power)
{
	static const char *const suffixes[] = { "", "K", "M", "G", "T", "P", "E" };

	snprintf(text, NUMBER_BYTES, "%u%s", 1u << (power % 10), suffixes[power / 10]);
}

const char *draw_slot(char text[NUMBER_BYTES], const struct dist *dist, unsigned int slot)
{
	char from[NUMBER_BYTES], to[NUMBER_BYTES] = "...";

	if (slot < 2 && slot != dist->open_slot) {
		snprintf(text, NUMBER_BYTES, "[%u]", slot);
		return text;
	}
	if (slot == 0) {
		snprintf(text, NUMBER_BYTES, "[0]");
		return text;
	}
	draw_power(from, slot - 1);
	if (slot != dist->open_slot)
		draw_power(to, slot);
	snprintf(text, NUMBER_BYTES, "[%.12s, %.12s)", from, to);
	return text;
}

/* part * scale / whole, rounded down, without overflow. whole is not 0. */
static uint64_t scale_down(uint64_t part, uint64_t whole, uint64_t scale)
{
	while (part > UINT64_MAX / scale) {
		part >>= 1;
		whole >>= 1;
	}
	return whole ? part * scale / whole : scale;
}

const char *draw_percent(char text[NUMBER_BYTES], uint64_t part, uint64_t whole)
{
	uint64_t percent = whole ? scale_down(part, whole, 100) : 0;

	if (part && !percent)
		return strcpy(text, "<1 %");
	if (part < whole && percent == 99)
		return strcpy(text, ">99 %");
	snprintf(text, NUMBER_BYTES, "%" PRIu64 " %%", percent);
	return text;
}

const char *draw_ratio(char text[NUMBER_BYTES], uint64_t a, uint64_t b)
{
	uint64_t tenths = scale_down(a % b, b, 10);

	snprintf(text, NUMBER_BYTES, "%" PRIu64 ".%" PRIu64, a / b, tenths > 9 ? 9 : tenths);
	return text;
}

void paragraph_begin(struct paragraph *paragraph, FILE *out, unsigned int indent,
		     const char *label)
{
	*paragraph = (struct paragraph){ .out = out, .indent = indent, .at_start = true };
	if (!label)
		return;
	paragraph->column = indent;
	fprintf(out, "%-*s", (int)indent, label);
}

static void paragraph_put(struct paragraph *paragraph, const char *phrase, size_t length)
{
	unsigned int space = paragraph->at_start ? 0 : 1;

	if (!paragraph->at_start && paragraph->column + space + length > TEXT_COLUMNS) {
		fprintf(paragraph->out, "\n%*s", (int)paragraph->indent, "");
		paragraph->column = paragraph->indent;
		space = 0;
	}
	fprintf(paragraph->out, "%s%.*s", space ? " " : "", (int)length, phrase);
	paragraph->column += space + (unsigned int)length;
	paragraph->at_start = false;
}

void paragraph_add(struct paragraph *paragraph, const char *format, ...)
{
	char phrase[TEXT_COLUMNS + 1];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(phrase, sizeof(phrase) - paragraph->indent, format, arguments);
	va_end(arguments);
	paragraph_put(paragraph, phrase, strlen(phrase));
}

void paragraph_words(struct paragraph *paragraph, const char *text)
{
	size_t most = TEXT_COLUMNS - paragraph->indent;

	for (;;) {
		size_t length;

		text += strspn(text, " ");
		length = strcspn(text, " ");
		if (!length)
			return;
		/* A word longer than a line goes on in the next, cut between characters. */
		while (length > most) {
			size_t cut = most;

			while (cut > 1 && (text[cut] & 0xc0) == 0x80)
				cut--;
			paragraph_put(paragraph, text, cut);
			text += cut;
			length -= cut;
		}
		paragraph_put(paragraph, text, length);
		text += length;
	}
}

void paragraph_end(struct paragraph *paragraph)
{
	fputc('\n', paragraph->out);
}

/* One more step of a ramp for more: from blank to full. */
static const char *const ascii_ramp[] = { " ", ".", ":", "-", "=", "+", "*", "#", "%", "@" };
static const char *const level_ramp[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
static const char *const length_ramp[] = { " ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" };

enum { ASCII_STEPS = 9, UNICODE_STEPS = 8, BAR_CELLS = 40, INDENT = 4 };

/* A bar of `cells` for count of most. */
static void draw_bar(FILE *out, uint64_t count, uint64_t most, unsigned int cells, bool unicode)
{
	unsigned int steps = unicode ? UNICODE_STEPS : 1;
	uint64_t filled = scale_down(count, most, (uint64_t)cells * steps);

	for (unsigned int i = 0; i < cells; i++) {
		uint64_t before = (uint64_t)i * steps;
		uint64_t here = filled <= before ? 0 : filled - before;

		if (here > steps)
			here = steps;
		fputs(unicode ? length_ramp[here] : here ? "@" : " ", out);
	}
}

void draw_histogram(FILE *out, const struct dist *dist, bool unicode)
{
	unsigned int low = 0, high = DIST_SLOTS - 1, count_columns, cells;
	char text[NUMBER_BYTES];
	uint64_t most = 0;

	while (low < DIST_SLOTS && !dist->slots[low])
		low++;
	if (low == DIST_SLOTS)
		return;
	while (!dist->slots[high])
		high--;
	for (unsigned int i = low; i <= high; i++) {
		if (dist->slots[i] > most)
			most = dist->slots[i];
	}
	count_columns = (unsigned int)snprintf(text, sizeof(text), "%" PRIu64, most);
	if (count_columns < 9)
		count_columns = 9;
	/* Indent, a label of 13, a space on both sides of the count, two edges. */
	cells = TEXT_COLUMNS - (INDENT + 13 + 1 + count_columns + 1 + 2);
	if (cells > BAR_CELLS)
		cells = BAR_CELLS;
	for (unsigned int i = low; i <= high; i++) {
		fprintf(out, "%*s%-13s %*" PRIu64 " |", INDENT, "", draw_slot(text, dist, i),
			(int)count_columns, dist->slots[i]);
		draw_bar(out, dist->slots[i], most, cells, unicode);
		fputs("|\n", out);
	}
}

/* The step of a ramp for part of whole: only nothing is blank, only all is full. */
static uint64_t ramp_step(uint64_t part, uint64_t whole, unsigned int steps)
{
	uint64_t step;

	if (part >= whole)
		return part ? steps : 0;
	if (!part)
		return 0;
	step = 1 + scale_down(part, whole, steps - 1);
	return step < steps ? step : steps - 1;
}

void draw_strip(FILE *out, const struct where_bins *where, uint64_t pages, bool unicode)
{
	fputc('|', out);
	for (unsigned int i = 0; i < where->count && i < MODEL_WHERE_BINS; i++) {
		uint64_t before = i * where->pages_per_bin, whole = where->pages_per_bin, step;

		/* The last part may be cut by the end of the VMA. */
		if (pages > before && pages - before < whole)
			whole = pages - before;
		step = ramp_step(where->pages[i], whole,
				 unicode ? UNICODE_STEPS : ASCII_STEPS);
		fputs(unicode ? level_ramp[step] : ascii_ramp[step], out);
	}
	fputs("|\n", out);
}
