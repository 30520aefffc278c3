/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Draws with tables, CSS widths and small SVGs; sizes are whole thousandths. */
#include "html_draw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"
#include "text_draw.h"

/* What a single name may take of the page; a verdict is shorter. */
enum { TEXT_MAX = 1024 };

void html_text(FILE *out, const char *text)
{
	char shown[TEXT_MAX + 1];

	printable_terminal(shown, text ? text : "?", TEXT_MAX);
	for (const char *at = shown; *at; at++) {
		switch (*at) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		default:
			fputc(*at, out);
		}
	}
}

/* Colours have a contrast of 4.5 and more for text, 3 and more for bars, in both schemes. */
static const char style[] =
	":root{color-scheme:light dark;--bg:#fff;--fg:#1b1d21;--dim:#565b63;--line:#d3d7dd;"
	"--card:#f4f6f8;--bar:#2468b4;--rail:#e3e7ec;--warn:#6b3700;--warnbg:#fff0da}\n"
	"@media(prefers-color-scheme:dark){:root{--bg:#14161a;--fg:#e8eaed;--dim:#a8aeb7;"
	"--line:#3a3f47;--card:#1d2026;--bar:#7ab2f4;--rail:#2a2e35;--warn:#ffd9a3;"
	"--warnbg:#38290f}}\n"
	"*{box-sizing:border-box}\n"
	"html{-webkit-text-size-adjust:100%;text-size-adjust:100%}\n"
	"body{margin:0 auto;max-width:64rem;padding:1rem;background:var(--bg);color:var(--fg);"
	"font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
	"h1{font-size:1.4rem;line-height:1.25;margin:.2rem 0 .6rem}\n"
	"h2{font-size:1.15rem;margin:2rem 0 .5rem}\n"
	"h3{font-size:1rem;margin:0 0 .5rem}\n"
	"p{margin:.5rem 0}\n"
	"a{color:inherit}\n"
	".verdict{font-size:1.15rem;padding:.8rem 1rem;background:var(--card);"
	"border-left:.3rem solid var(--bar);border-radius:.3rem}\n"
	".warn{color:var(--warn);background:var(--warnbg);padding:.5rem 1rem;border-radius:.3rem}\n"
	".dim,caption,figcaption{color:var(--dim);font-size:.9rem;font-weight:400}\n"
	"dl.totals{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.5rem,1fr));"
	"gap:.6rem;margin:1rem 0}\n"
	"dl.totals div{background:var(--card);border-radius:.3rem;padding:.5rem .7rem}\n"
	"dl.totals dd{margin:0;font-size:1.3rem;font-variant-numeric:tabular-nums}\n"
	"dt{color:var(--dim);font-size:.9rem}\n"
	"dl.facts{display:grid;grid-template-columns:6rem 1fr;gap:.15rem .8rem;margin:.5rem 0}\n"
	"dl.facts dd{margin:0}\n"
	".scroll{overflow-x:auto}\n"
	"table{border-collapse:collapse;width:100%}\n"
	"caption{text-align:left;padding:.3rem 0}\n"
	"th,td{padding:.3rem .5rem;text-align:left;vertical-align:top;"
	"border-bottom:1px solid var(--line)}\n"
	"th{font-weight:600}\n"
	"thead th{vertical-align:bottom}\n"
	".n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
	".dist th,.dist td{padding:.1rem .5rem;border:0;font-weight:400;line-height:1.35}\n"
	".dist th{white-space:nowrap}\n"
	".dist th,.dist .n{width:1%}\n"
	".bar span{display:block;height:.9rem;margin-top:.2rem;min-width:2px;"
	"background:var(--bar);border-radius:0 .15rem .15rem 0}\n"
	"article{border:1px solid var(--line);border-radius:.4rem;padding:.8rem 1rem;"
	"margin:1rem 0}\n"
	"figure{margin:.8rem 0}\n"
	"svg{display:block;width:100%}\n"
	"svg .on{fill:var(--bar)}\n"
	"svg .rail{fill:var(--rail)}\n"
	".strip{height:1.8rem}\n"
	".chart{height:9rem;border-bottom:1px solid var(--line)}\n"
	".ends{display:flex;justify-content:space-between;gap:1rem;font-size:.85rem;"
	"color:var(--dim)}\n"
	"summary{cursor:pointer;padding:.3rem 0}\n"
	"footer{margin-top:2rem;padding-top:.5rem;border-top:1px solid var(--line)}\n"
	".narrow{display:none}\n"
	"@media(max-width:40rem){.wide{display:none}.narrow{display:block}body{padding:.7rem}"
	"th,td{padding:.3rem .25rem}article{padding:.7rem}"
	"dl.facts{grid-template-columns:4.8rem 1fr}}\n"
	"@media(forced-colors:active){.bar span{background:CanvasText}"
	"svg .on{fill:CanvasText}}\n"
	"@media print{:root{color-scheme:light;--bg:#fff;--fg:#000;--dim:#444;--line:#bbb;"
	"--card:#f4f6f8;--bar:#2468b4;--rail:#e3e7ec;--warn:#6b3700;--warnbg:#fff0da}"
	"*{-webkit-print-color-adjust:exact;print-color-adjust:exact}"
	"html{font-size:9.5pt}body{max-width:none;padding:0}"
	"figure,tr,dl,caption{break-inside:avoid}"
	"h2,h3,caption{break-after:avoid}.scroll{overflow:visible}a{text-decoration:none}"
	"details{display:none}}\n";

void html_style(FILE *out)
{
	fprintf(out, "<style>\n%s</style>\n", style);
}

void html_time(FILE *out, const struct timespec *time)
{
	char machine[40], people[40];
	struct tm utc, local;

	if (!gmtime_r(&time->tv_sec, &utc) || !localtime_r(&time->tv_sec, &local)) {
		fputs("at an unknown time", out);
		return;
	}
	strftime(machine, sizeof(machine), "%Y-%m-%dT%H:%M:%SZ", &utc);
	strftime(people, sizeof(people), "%Y-%m-%d %H:%M:%S %z", &local);
	fprintf(out, "<time datetime=\"%s\">%s</time>", machine, people);
}

/* part of whole in thousandths, at most all of it. */
static unsigned int thousandths(uint64_t part, uint64_t whole)
{
	if (!whole || part >= whole)
		return whole || part ? 1000 : 0;
	return (unsigned int)((long double)part * 1000 / (long double)whole);
}

/* A width in percent: by whole numbers, as a locale may have its own decimal point. */
static void put_percent(FILE *out, unsigned int of_thousand)
{
	fprintf(out, "%u.%u%%", of_thousand / 10, of_thousand % 10);
}

/* ---- distributions ---- */

static void put_dist_caption(FILE *out, const char *title, const struct dist *dist, bool ns)
{
	static const char *const names[] = { "average", "median", "99 % below", "most", "sum" };
	uint64_t count = dist_count(dist);
	const uint64_t values[] = { dist->sum / count, dist_percentile(dist, 50),
				    dist_percentile(dist, 99), dist->max, dist->sum };
	char text[NUMBER_BYTES];

	fprintf(out, "<caption>%s:", title);
	for (int i = 0; i < 5; i++) {
		if (ns)
			draw_duration(text, values[i]);
		else
			snprintf(text, sizeof(text), "%" PRIu64, values[i]);
		fprintf(out, "%s %s %s", i ? "," : "", names[i], text);
	}
	fputs("</caption>\n", out);
}

void html_dist(FILE *out, const char *title, const char *counted, const struct dist *dist,
	       bool ns)
{
	unsigned int low = 0, high = DIST_SLOTS - 1;
	char text[NUMBER_BYTES];
	uint64_t most = 0;

	if (!dist_count(dist))
		return;
	while (!dist->slots[low])
		low++;
	while (!dist->slots[high])
		high--;
	for (unsigned int i = low; i <= high; i++)
		if (dist->slots[i] > most)
			most = dist->slots[i];
	fputs("<table class=\"dist\">", out);
	put_dist_caption(out, title, dist, ns);
	fprintf(out, "<thead><tr><th scope=\"col\">%s</th><th scope=\"col\" class=\"n\">%s</th>"
		     "<td></td></tr></thead>\n<tbody>\n", ns ? "Nanoseconds" : "Pages", counted);
	for (unsigned int i = low; i <= high; i++) {
		fputs("<tr><th scope=\"row\">", out);
		html_text(out, draw_slot(text, dist, i));
		fprintf(out, "</th><td class=\"n\">%" PRIu64 "</td><td class=\"bar\">",
			dist->slots[i]);
		if (dist->slots[i]) {
			fputs("<span style=\"width:", out);
			put_percent(out, thousandths(dist->slots[i], most));
			fputs("\"></span>", out);
		}
		fputs("</td></tr>\n", out);
	}
	fputs("</tbody></table>\n", out);
}

/* ---- where pages came in ---- */

/* Pages in a part; the last one may be cut by the end of the VMA. */
static uint64_t bin_size(const struct where_bins *where, unsigned int bin, uint64_t pages)
{
	uint64_t before = bin * where->pages_per_bin;

	if (pages > before && pages - before < where->pages_per_bin)
		return pages - before;
	return where->pages_per_bin;
}

static unsigned int bin_count(const struct where_bins *where)
{
	return where->count < MODEL_WHERE_BINS ? where->count : MODEL_WHERE_BINS;
}

static void put_strip_words(FILE *out, const struct where_bins *where, uint64_t pages)
{
	unsigned int all = 0, some = 0, count = bin_count(where);

	for (unsigned int i = 0; i < count; i++) {
		if (where->pages[i] >= bin_size(where, i, pages))
			all++;
		else if (where->pages[i])
			some++;
	}
	fprintf(out, "Of %u part%s of %" PRIu64 " page%s: %u came in whole, %u in part, %u not "
		     "at all.", count, count == 1 ? "" : "s", where->pages_per_bin,
		where->pages_per_bin == 1 ? "" : "s", all, some, count - all - some);
}

/* Whether two parts next to each other can share a row of the table. */
static bool alike(const struct where_bins *where, unsigned int a, unsigned int b, uint64_t pages)
{
	return where->pages[a] == where->pages[b] &&
	       bin_size(where, a, pages) == bin_size(where, b, pages);
}

static void put_strip_table(FILE *out, const struct where_bins *where, uint64_t pages)
{
	unsigned int count = bin_count(where), next;

	fputs("<details><summary>These parts in numbers</summary>\n<table class=\"dist\">"
	      "<caption>Pages installed in each part, counted from its first page</caption>"
	      "<thead><tr><th scope=\"col\">Pages</th><th scope=\"col\" class=\"n\">"
	      "Installed in each</th><td></td></tr></thead>\n<tbody>\n", out);
	for (unsigned int i = 0; i < count; i = next) {
		uint64_t first = i * where->pages_per_bin, last;

		for (next = i + 1; next < count && alike(where, i, next, pages); next++)
			;
		last = (next - 1) * where->pages_per_bin + bin_size(where, next - 1, pages) - 1;
		fprintf(out, "<tr><th scope=\"row\">%" PRIu64 " to %" PRIu64 "</th>"
			     "<td class=\"n\">%" PRIu64 "</td><td></td></tr>\n",
			first, last, where->pages[i]);
	}
	fputs("</tbody></table></details>\n", out);
}

void html_strip(FILE *out, const struct where_bins *where, uint64_t pages)
{
	unsigned int count = bin_count(where);

	if (!where->pages_per_bin || !count)
		return;
	fputs("<figure><figcaption>Where pages came in, from its first page to its last</figcaption>\n"
	      "<svg class=\"strip\" role=\"img\" preserveAspectRatio=\"none\" ", out);
	fprintf(out, "viewBox=\"0 0 %u 1000\" aria-label=\"", 10 * count);
	put_strip_words(out, where, pages);
	fprintf(out, "\"><rect class=\"rail\" width=\"%u\" height=\"1000\"/>", 10 * count);
	for (unsigned int i = 0; i < count; i++) {
		unsigned int height = thousandths(where->pages[i], bin_size(where, i, pages));

		if (!where->pages[i])
			continue;
		/* a single page of very many is still to be seen */
		if (height < 60)
			height = 60;
		fprintf(out, "<rect class=\"on\" x=\"%u\" y=\"%u\" width=\"9\" height=\"%u\"/>",
			10 * i, 1000 - height, height);
	}
	fputs("</svg>\n<p class=\"dim\">", out);
	put_strip_words(out, where, pages);
	fputs("</p>\n", out);
	put_strip_table(out, where, pages);
	fputs("</figure>\n", out);
}

/* ---- faults over time ---- */

static const char *seconds_text(char text[NUMBER_BYTES], double seconds)
{
	return draw_duration(text, seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0);
}

static void put_chart_table(FILE *out, const struct html_point *points, size_t count)
{
	char text[NUMBER_BYTES];

	fputs("<details><summary>These intervals in numbers</summary>\n<div class=\"scroll\" "
	      "tabindex=\"0\" role=\"region\" aria-label=\"Intervals in numbers\"><table>"
	      "<caption>Intervals, in the order of time</caption><thead><tr>"
	      "<th scope=\"col\">Ended</th><th scope=\"col\" class=\"n\">Length</th>"
	      "<th scope=\"col\" class=\"n\">Faults</th><th scope=\"col\" class=\"n\">Pages</th>"
	      "<th scope=\"col\" class=\"n\">Lost</th></tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; i < count; i++) {
		fputs("<tr><th scope=\"row\">", out);
		html_time(out, &points[i].time);
		fprintf(out, "</th><td class=\"n\">%s</td><td class=\"n\">%" PRIu64 "</td>"
			     "<td class=\"n\">%" PRIu64 "</td><td class=\"n\">%" PRIu64
			     "</td></tr>\n", seconds_text(text, points[i].seconds),
			points[i].faults, points[i].installed_pages, points[i].lost);
	}
	fputs("</tbody></table></div></details>\n", out);
}

/* The point with the most faults. */
static const struct html_point *highest(const struct html_point *points, size_t count)
{
	const struct html_point *most = points;

	for (size_t i = 1; i < count; i++)
		if (points[i].faults > most->faults)
			most = &points[i];
	return most;
}

static void put_chart_words(FILE *out, const struct html_point *points, size_t count)
{
	const struct html_point *most = highest(points, count);
	char text[NUMBER_BYTES];
	size_t idle = 0;

	for (size_t i = 0; i < count; i++)
		idle += !points[i].faults;
	fprintf(out, "%zu interval%s", count, count == 1 ? "" : "s");
	if (most->faults)
		fprintf(out, "; most faults in number %zu: %" PRIu64 " in %s",
			(size_t)(most - points) + 1, most->faults,
			seconds_text(text, most->seconds));
	fprintf(out, "; %zu without any.", idle);
}

void html_chart(FILE *out, const struct html_point *points, size_t count)
{
	uint64_t most = highest(points, count)->faults;

	fprintf(out, "<figure><figcaption>Faults in each interval; the highest bar is %" PRIu64
		     "</figcaption>\n<svg class=\"chart\" role=\"img\" "
		     "preserveAspectRatio=\"none\" viewBox=\"0 0 %zu 1000\" aria-label=\"",
		most, 10 * count);
	put_chart_words(out, points, count);
	fputs("\">", out);
	for (size_t i = 0; i < count; i++) {
		unsigned int height = thousandths(points[i].faults, most);

		if (!points[i].faults)
			continue;
		if (height < 10)
			height = 10;
		fprintf(out, "<rect class=\"on\" x=\"%zu\" y=\"%u\" width=\"%d\" height=\"%u\"/>",
			10 * i, 1000 - height, count > 120 ? 10 : 9, height);
	}
	fputs("</svg>\n<div class=\"ends\"><span>", out);
	html_time(out, &points[0].time);
	fputs("</span><span>", out);
	html_time(out, &points[count - 1].time);
	fputs("</span></div>\n<p class=\"dim\">", out);
	put_chart_words(out, points, count);
	fputs("</p>\n", out);
	put_chart_table(out, points, count);
	fputs("</figure>\n", out);
}
