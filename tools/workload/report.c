// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Prints what the workload did and what a tracer must have seen of it, one JSON
 * object a line, each written whole by one write(2), since processes share
 * standard output. Compares the account with what the kernel says.
 */
#include "workload.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ULL(x) ((unsigned long long)(x))

static const char *const origin_names[ORIGIN_NR] = { "user", "populate", "kernel", "remote" };

struct line {
	char *text;
	size_t length;
	FILE *stream;
};

static void line_open(struct line *line)
{
	line->stream = open_memstream(&line->text, &line->length);
	if (!line->stream)
		die("out of memory");
}

static void line_write(struct line *line)
{
	const char *at;
	ssize_t done;

	fputc('\n', line->stream);
	if (fclose(line->stream))
		die("out of memory");
	for (at = line->text; line->length; at += done, line->length -= done) {
		done = write(STDOUT_FILENO, at, line->length);
		if (done < 0 && errno == EINTR)
			done = 0;
		else if (done < 0)
			die("cannot write to standard output: %m");
	}
	free(line->text);
}

void report_line(const char *format, ...)
{
	struct line line;
	va_list args;

	line_open(&line);
	va_start(args, format);
	vfprintf(line.stream, format, args);
	va_end(args);
	line_write(&line);
}

/* Bytes of the UTF-8 character at text, or 0: not a whole, shortest, valid one. */
static size_t utf8_length(const unsigned char *text)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t code;
	size_t length, i;

	if (text[0] < 0x80)
		return 1;
	length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc0 ? 2 : 0;
	if (!length || text[0] > 0xf4)
		return 0;
	code = text[0] & (0x7f >> length);
	for (i = 1; i < length; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return length;
}

static void put_string(FILE *to, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t length;

	fputc('"', to);
	for (; *at; at += length ? length : 1) {
		length = utf8_length(at);
		if (!length)
			fputs("\\ufffd", to);
		else if (*at == '"' || *at == '\\')
			fprintf(to, "\\%c", *at);
		else if (*at < 0x20 || *at == 0x7f)
			fprintf(to, "\\u%04x", *at);
		else
			fwrite(at, length, 1, to);
	}
	fputc('"', to);
}

/* The name as text, and byte for byte, since a name need not be text. */
static void put_comm(FILE *to)
{
	char comm[COMM_BYTES] = "";
	size_t i;

	prctl(PR_GET_NAME, comm);
	fputs(",\"comm\":", to);
	put_string(to, comm);
	fputs(",\"comm_hex\":\"", to);
	for (i = 0; i < sizeof(comm) && comm[i]; i++)
		fprintf(to, "%02x", (unsigned char)comm[i]);
	fputc('"', to);
}

static void put_map(FILE *to, const struct options *o, const struct map *map)
{
	fprintf(to, ",\"map_id\":%u,\"map_name\":\"%s\",\"map_type\":\"%s\"", map->id, o->name,
		kind_name(o->kind));
}

static void put_expect(FILE *to, const struct fault_counts *counts)
{
	int i;

	fprintf(to, ",\"expect\":{\"total\":%llu,\"read\":%llu,\"write\":%llu",
		ULL(counts->read + counts->write), ULL(counts->read), ULL(counts->write));
	for (i = 0; i < ORIGIN_NR; i++)
		fprintf(to, ",\"%s\":%llu", origin_names[i], ULL(counts->by_origin[i]));
	fprintf(to, ",\"failed\":%llu}", ULL(counts->failed));
}

void report_refusal(const char *call)
{
	int error = errno;

	report_line("{\"type\":\"refused\",\"pid\":%d,\"call\":\"%s\",\"errno\":%d,"
		    "\"error\":\"%s\"}", (int)getpid(), call, error, strerrorname_np(error));
}

void report_map(const struct options *o, const struct map *map)
{
	struct line line;

	line_open(&line);
	fprintf(line.stream, "{\"type\":\"map\",\"pid\":%d", (int)getpid());
	put_comm(line.stream);
	put_map(line.stream, o, map);
	fprintf(line.stream, ",\"map_pages\":%llu,\"page_bytes\":%zu}", ULL(o->map_pages),
		page_bytes);
	line_write(&line);
}

void report_ready(const struct options *o, const struct map *map, const struct vma_set *set)
{
	const struct vma *first = &set->vma[0];
	struct line line;

	line_open(&line);
	fprintf(line.stream, "{\"type\":\"ready\",\"pid\":%d", (int)getpid());
	put_comm(line.stream);
	put_map(line.stream, o, map);
	fprintf(line.stream, ",\"vmas\":%zu,\"start\":\"%p\",\"end\":\"%p\"}", set->nr,
		(void *)first->addr, (void *)(first->addr + first->pages * page_bytes));
	line_write(&line);
}

static const char *origin_text(const struct vma *v)
{
	int i;

	if (!v->origins)
		return "none";
	for (i = 0; i < ORIGIN_NR; i++)
		if (v->origins == 1U << i)
			return origin_names[i];
	return "mixed";
}

static const char *mode_text(const struct vma *v)
{
	static const char *const text[] = { "unknown", "eager", "lazy" };

	return text[v->mode];
}

/* How the account compares with the kernel's. */
struct comparison {
	bool pages;		/* all that must be there are, and no refusal was unforeseen */
	bool around;		/* pages are there that nobody touched */
	bool min_flt;		/* as many faults as the account has */
};

static struct comparison compare(struct vma *v)
{
	struct comparison c = { .pages = true };
	uint8_t *there = NULL;
	uint64_t i, faults;

	if (!v->gone) {
		there = malloc(v->pages);
		if (!there)
			die("out of memory");
		v->present_after = pagemap_present(v->addr, v->pages, there);
	}
	for (i = 0; there && i < v->pages; i++) {
		bool known = v->page[i] & PAGE_PRESENT;

		if (known && !there[i])
			c.pages = false;
		if (there[i] && !known)
			c.around = true;
	}
	free(there);
	if (v->failed_touches != v->expect_failed_touches || v->lacks_boundaries ||
	    (c.around && v->mode != MODE_LAZY))
		c.pages = false;
	/* A failed fault is none to getrusage(); threads that come second are one each. */
	faults = v->expect.read + v->expect.write - v->expect.failed;
	c.min_flt = v->raced ? v->min_flt >= faults : v->min_flt == faults;
	return c;
}

static void add_to_totals(const struct vma *v, uint64_t installed, struct comparison c)
{
	int i;

	totals->vmas++;
	totals->touched_read += v->touched_read;
	totals->touched_write += v->touched_write;
	totals->read += v->expect.read;
	totals->write += v->expect.write;
	totals->failed += v->expect.failed;
	for (i = 0; i < ORIGIN_NR; i++)
		totals->by_origin[i] += v->expect.by_origin[i];
	totals->installed += installed;
	totals->min_flt += v->min_flt;
	totals->failed_touches += v->failed_touches;
	totals->disagreements += !c.pages;
	totals->min_flt_disagreements += !c.min_flt;
	totals->around += c.around;
	totals->eager += v->mode == MODE_EAGER;
	totals->lazy += v->mode == MODE_LAZY;
}

static void put_verdicts(FILE *to, struct comparison c)
{
	fprintf(to, ",\"agrees\":%s,\"min_flt_agrees\":%s,\"around\":%s}",
		c.pages ? "true" : "false", c.min_flt ? "true" : "false",
		c.around ? "true" : "false");
}

static void put_observed(FILE *to, const struct vma *v)
{
	const char *comma = "";
	uint64_t i;

	if (!v->observed)
		return;
	fputs(",\"observed\":[", to);
	for (i = 0; i <= v->pages; i++) {
		if (!v->observed[i])
			continue;
		fprintf(to, "%s{\"pages\":%llu,\"touches\":%llu}", comma, ULL(i),
			ULL(v->observed[i]));
		comma = ",";
	}
	fputc(']', to);
}

static void put_identity(FILE *to, const struct options *o, const struct map *map,
			 const struct vma *v, uint64_t round)
{
	fprintf(to, "{\"type\":\"vma\",\"pid\":%d", (int)getpid());
	put_comm(to);
	put_map(to, o, map);
	fprintf(to, ",\"round\":%llu,\"vma\":%llu,\"role\":\"%s\"", ULL(round), ULL(v->index),
		v->role);
	fprintf(to, ",\"start\":\"%p\",\"end\":\"%p\",\"pages\":%llu,\"map_offset_pages\":%llu",
		(void *)v->addr, (void *)(v->addr + v->pages * page_bytes), ULL(v->pages),
		ULL(v->offset));
	fprintf(to, ",\"mode\":\"%s\",\"populate\":%s,\"origin\":\"%s\"", mode_text(v),
		o->populate ? "true" : "false", origin_text(v));
}

void report_vma(const struct options *o, const struct map *map, struct vma *v, uint64_t round)
{
	struct comparison c = compare(v);
	uint64_t installed = (int64_t)(v->present_after + v->dropped) - v->inherited;
	uint64_t faults = v->expect.read + v->expect.write - v->expect.failed;
	struct line line;

	add_to_totals(v, installed, c);
	if (o->quiet)
		return;
	line_open(&line);
	put_identity(line.stream, o, map, v, round);
	fprintf(line.stream, ",\"touched_read\":%llu,\"touched_write\":%llu",
		ULL(v->touched_read), ULL(v->touched_write));
	fprintf(line.stream, ",\"present_before\":%llu,\"present_after\":%llu,\"installed\":%llu",
		ULL(v->present_before), ULL(v->present_after), ULL(installed));
	fprintf(line.stream, ",\"min_flt\":%llu,\"min_flt_noise\":%llu", ULL(v->min_flt),
		ULL(v->min_flt_noise));
	put_expect(line.stream, &v->expect);
	fprintf(line.stream, ",\"raced_at_most\":%llu,\"failed_touches\":%llu",
		ULL(v->raced && v->min_flt > faults ? v->min_flt - faults : 0),
		ULL(v->failed_touches));
	fprintf(line.stream, ",\"mmap_ns\":%llu,\"touch_ns\":%llu", ULL(v->mmap_ns),
		ULL(v->touch_ns));
	put_observed(line.stream, v);
	put_verdicts(line.stream, c);
	line_write(&line);
}

void report_summary(const struct options *o)
{
	struct fault_counts expect = { .read = totals->read, .write = totals->write,
				       .failed = totals->failed };
	const char *mode = totals->eager ? (totals->lazy ? "both" : "eager") :
					   (totals->lazy ? "lazy" : "unknown");
	double seconds = (now_ns() - totals->start_ns) / 1e9;
	struct line line;
	int i;

	for (i = 0; i < ORIGIN_NR; i++)
		expect.by_origin[i] = totals->by_origin[i];
	line_open(&line);
	fprintf(line.stream, "{\"type\":\"summary\",\"pid\":%d", (int)getpid());
	put_comm(line.stream);
	fprintf(line.stream, ",\"map_type\":\"%s\",\"mode\":\"%s\",\"seconds\":%.6f",
		kind_name(o->kind), mode, seconds);
	fprintf(line.stream, ",\"processes\":%llu,\"rounds\":%llu,\"vmas\":%llu",
		ULL(totals->processes), ULL(totals->rounds), ULL(totals->vmas));
	fprintf(line.stream, ",\"touched_read\":%llu,\"touched_write\":%llu,\"installed\":%llu",
		ULL(totals->touched_read), ULL(totals->touched_write), ULL(totals->installed));
	fprintf(line.stream, ",\"min_flt\":%llu", ULL(totals->min_flt));
	put_expect(line.stream, &expect);
	fprintf(line.stream, ",\"failed_touches\":%llu", ULL(totals->failed_touches));
	put_verdicts(line.stream, (struct comparison){
		.pages = !totals->disagreements,
		.min_flt = !totals->min_flt_disagreements,
		.around = totals->around,
	});
	line_write(&line);
}
