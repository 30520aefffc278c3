/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The HTML sink: holds what comes, and at the summary writes the page: the
 * verdict first, then totals, time, VMAs one by one, losses.
 */
#include "html.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "held.h"
#include "html_draw.h"
#include "output.h"
#include "packed.h"
#include "sink.h"
#include "text_draw.h"
#include "verdict.h"

enum {
	ROWS_DEFAULT = 500,	/* in the table of VMAs */
	BLOCKS_MAX = 20,	/* VMAs, and updates, with pictures of their own */
	POINTS_MAX = 480,	/* bars over time; more are added up in pairs */
};

struct html {
	struct sink sink;
	const char *sort_key;
	const struct vma_order *order;
	struct run_start start;		/* the strings are their holder's */
	struct held_list vmas, updates;
	struct html_point points[POINTS_MAX];
	size_t count;			/* points; the last may be under way */
	uint64_t intervals, per_point;	/* intervals so far, and in each point */
};

static void fail(struct html *html, int error)
{
	if (!html->sink.failed)
		html->sink.error = error;
	html->sink.failed = true;
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* ---- collecting ---- */

static void html_start(struct sink *sink, const struct run_start *start)
{
	((struct html *)sink)->start = *start;
}

/* Takes over held.packed. */
static void hold(struct html *html, struct held_list *list, struct held held)
{
	if (held.packed && !held_add(list, held))
		return;
	free(held.packed);
	fail(html, ENOMEM);
}

static void html_vma(struct sink *sink, const struct vma_report *vma)
{
	struct html *html = (struct html *)sink;

	if (vma->span == SPAN_TOTAL)
		hold(html, &html->vmas, held_vma(html->order, vma));
}

static void html_update(struct sink *sink, const struct update_report *update)
{
	struct html *html = (struct html *)sink;
	struct held held = { update->ns.sum, html->updates.count, NULL };

	if (update->span != SPAN_TOTAL)
		return;
	held.packed = packed_new(update, sizeof(*update));
	hold(html, &html->updates, held);
}

static void point_add(struct html_point *point, const struct html_point *later)
{
	point->time = later->time;
	point->seconds += later->seconds;
	point->faults += later->faults;
	point->installed_pages += later->installed_pages;
	point->lost += later->lost;
}

/* Halves the points: each is then twice as long. */
static void halve_points(struct html *html)
{
	for (size_t i = 0; i < POINTS_MAX / 2; i++) {
		html->points[i] = html->points[2 * i];
		point_add(&html->points[i], &html->points[2 * i + 1]);
	}
	html->count = POINTS_MAX / 2;
	html->per_point *= 2;
}

static uint64_t lost_of(const struct losses *lost)
{
	return lost->ring_full + lost->vma_table_full + lost->recursion;
}

static void html_interval(struct sink *sink, const struct interval_report *interval)
{
	struct html *html = (struct html *)sink;
	struct html_point point = {
		.time = interval->time,
		.seconds = interval->seconds,
		.faults = interval->faults,
		.installed_pages = interval->installed_pages,
		.lost = lost_of(&interval->lost),
	};

	if (html->intervals % html->per_point == 0 && html->count == POINTS_MAX)
		halve_points(html);
	if (html->intervals % html->per_point == 0)
		html->points[html->count++] = point;
	else
		point_add(&html->points[html->count - 1], &point);
	html->intervals++;
}

/* ---- the page's parts ---- */

static void put_fact(FILE *out, const char *name, const char *value)
{
	fprintf(out, "<dt>%s</dt><dd>", name);
	html_text(out, value);
	fputs("</dd>\n", out);
}

static void put_head(const struct html *html, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"color-scheme\" content=\"light dark\">\n"
	      "<link rel=\"icon\" href=\"data:,\">\n<title>Lazy faults of ", out);
	html_text(out, html->start.scope ? html->start.scope : "all processes");
	fputs("</title>\n", out);
	html_style(out);
	fputs("</head>\n<body>\n<header>\n<h1>Lazy faults of ", out);
	html_text(out, html->start.scope ? html->start.scope : "all processes");
	fputs("</h1>\n</header>\n<main>\n", out);
}

static void put_verdict(FILE *out, const struct summary_report *summary)
{
	fputs("<section aria-labelledby=\"verdict\">\n<h2 id=\"verdict\">Verdict</h2>\n"
	      "<p class=\"verdict\">", out);
	html_text(out, summary->verdict && *summary->verdict ? summary->verdict
							     : "None was made.");
	fputs("</p>\n", out);
	if (lost_of(&summary->lost))
		fprintf(out, "<p class=\"warn\">%" PRIu64 " events were lost: see <a "
			"href=\"#lost\">Lost</a>.</p>\n", lost_of(&summary->lost));
	fputs("</section>\n", out);
}

static void put_total(FILE *out, const char *name, const char *value)
{
	fprintf(out, "<div><dt>%s</dt><dd>%s</dd></div>\n", name, value);
}

static void put_totals(const struct html *html, FILE *out, const struct summary_report *summary)
{
	const struct {
		const char *name;
		uint64_t value;
	} totals[] = {
		{ "Faults", summary->faults },
		{ "Batches", summary->batches },
		{ "Pages installed", summary->installed_pages },
		{ "VMAs", summary->vmas },
	};
	char text[NUMBER_BYTES];

	fputs("<section aria-labelledby=\"totals\">\n<h2 id=\"totals\">Totals</h2>\n"
	      "<dl class=\"totals\">\n", out);
	/* a report of updates alone has no VMAs */
	for (size_t i = 0; i < 4 && (summary->vmas || !html->updates.count); i++) {
		snprintf(text, sizeof(text), "%" PRIu64, totals[i].value);
		put_total(out, totals[i].name, text);
	}
	draw_duration(text, summary->seconds > 0 && summary->seconds < 1e9
				    ? (uint64_t)(summary->seconds * 1e6 + 0.5) * 1000 : 0);
	put_total(out, "Traced for", summary->unmeasured ? "not known" : text);
	fputs("</dl>\n</section>\n", out);
}

static void put_time(const struct html *html, FILE *out)
{
	if (!html->count)
		return;
	fputs("<section aria-labelledby=\"time\">\n<h2 id=\"time\">Faults over time</h2>\n", out);
	html_chart(out, html->points, html->count);
	if (html->per_point > 1)
		fprintf(out, "<p class=\"dim\">Each of them is %" PRIu64 " intervals of the "
			"capture, added up.</p>\n", html->per_point);
	fputs("</section>\n", out);
}

/* ---- the table of VMAs ---- */

static const struct {
	const char *key, *title, *class, *direction;
} columns[] = {
	{ "pid", "Process", "", "ascending" },
	{ "map", "Map", "wide", "ascending" },
	{ "faults", "Faults", "n", "descending" },
	{ NULL, "Writes", "n wide", NULL },
	{ "batches", "Batches", "n wide", "descending" },
	{ "installed", "Pages", "n", "descending" },
	{ NULL, "Average", "n wide", NULL },
	{ "time", "Fault time", "n", "descending" },
};

static void put_vma_heading(const struct html *html, FILE *out)
{
	fputs("<thead><tr>", out);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		fprintf(out, "<th scope=\"col\" class=\"%s\"", columns[i].class);
		if (columns[i].key && !strcmp(columns[i].key, html->sort_key))
			fprintf(out, " aria-sort=\"%s\"", columns[i].direction);
		fprintf(out, ">%s</th>", columns[i].title);
	}
	fputs("</tr></thead>\n", out);
}

/* "4711 (postgres)" */
static void put_process(FILE *out, uint32_t pid, const char *comm)
{
	if (pid)
		fprintf(out, "%" PRIu32 " (", pid);
	else
		fputs("pid not known (", out);
	html_text(out, *comm ? comm : "?");
	fputs(")", out);
}

/* "7 counters, array" */
static void put_map(FILE *out, const struct map_identity *map)
{
	fprintf(out, "%" PRIu32 " ", map->id);
	html_text(out, *map->name ? map->name : "without a name");
	fputs(", ", out);
	html_text(out, map->type ? map->type : "of unknown type");
}

static void put_number(FILE *out, const char *class, const char *text)
{
	fprintf(out, "<td class=\"%s\">", class);
	html_text(out, text);
	fputs("</td>", out);
}

static const char *decimal(char text[NUMBER_BYTES], uint64_t value)
{
	snprintf(text, NUMBER_BYTES, "%" PRIu64, value);
	return text;
}

static void put_vma_row(FILE *out, const struct vma_report *vma, size_t number)
{
	uint64_t timed = dist_count(&vma->fault_ns);
	char text[NUMBER_BYTES];

	fputs("<tr><th scope=\"row\">", out);
	if (number < BLOCKS_MAX)
		fprintf(out, "<a href=\"#vma-%zu\">", number + 1);
	put_process(out, vma->pid, vma->comm);
	fputs(number < BLOCKS_MAX ? "</a>" : "", out);
	fputs(vma->mapped ? "" : " <span class=\"dim\">unmapped</span>", out);
	/* on a phone the map has no column of its own, in which its name would be broken */
	fputs("<span class=\"narrow dim\">", out);
	put_map(out, &vma->map);
	fputs("</span></th><td class=\"wide\">", out);
	put_map(out, &vma->map);
	fputs("</td>", out);
	put_number(out, "n", decimal(text, vma->faults.total));
	put_number(out, "n wide", draw_percent(text, vma->faults.write, vma->faults.total));
	put_number(out, "n wide", decimal(text, vma->batches.total));
	put_number(out, "n", decimal(text, vma->installed_pages));
	put_number(out, "n wide", timed ? draw_duration(text, vma->fault_ns.sum / timed) : "-");
	put_number(out, "n", timed ? draw_duration(text, vma->fault_ns.sum) : "-");
	fputs("</tr>\n", out);
}

static void put_vma_table(const struct html *html, FILE *out)
{
	const struct held_list *list = &html->vmas;
	struct vma_report vma;

	fputs("<section aria-labelledby=\"vmas\">\n<h2 id=\"vmas\">VMAs</h2>\n", out);
	if (!list->count) {
		fputs("<p>No mapping of a BPF map was seen.</p>\n</section>\n", out);
		return;
	}
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"vmas\">\n"
	      "<table>\n<caption>Mappings of BPF maps, in order of ", out);
	html_text(out, html->sort_key);
	fputs("</caption>\n", out);
	put_vma_heading(html, out);
	fputs("<tbody>\n", out);
	for (size_t i = 0; i < list->count; i++) {
		packed_get(list->items[i].packed, &vma, sizeof(vma));
		put_vma_row(out, &vma, i);
	}
	fputs("</tbody></table></div>\n", out);
	if (list->rest)
		fprintf(out, "<p>And %" PRIu64 " more VMA%s: %" PRIu64 " faults, %" PRIu64
			" pages installed.</p>\n", list->rest, plural(list->rest),
			list->rest_faults, list->rest_pages);
	fputs("</section>\n", out);
}

/* ---- VMAs one by one ---- */

static void put_range(FILE *out, const struct vma_report *vma)
{
	char bytes[NUMBER_BYTES], text[200];
	int length;

	length = snprintf(text, sizeof(text),
			  "0x%" PRIx64 "-0x%" PRIx64 ", %" PRIu64 " page%s (%s), ", vma->start,
			  vma->end, vma->pages, plural(vma->pages),
			  draw_bytes(bytes, vma->end > vma->start ? vma->end - vma->start : 0));
	if (vma->map_offset_pages)
		length += snprintf(text + length, sizeof(text) - (size_t)length,
				   "from page %" PRIu64 " of the map, ", vma->map_offset_pages);
	snprintf(text + length, sizeof(text) - (size_t)length, "%s",
		 vma->mapped ? "mapped" : "unmapped");
	put_fact(out, "Range", text);
	if (vma->mmap.seen)
		snprintf(text, sizeof(text), "%s%s", draw_duration(bytes, vma->mmap.ns),
			 vma->mmap.populate ? ", with MAP_POPULATE" : "");
	put_fact(out, "mmap", vma->mmap.seen ? text
		 : "not seen: before tracing, or by fork, split or mremap");
}

static void put_faults(FILE *out, const struct vma_report *vma)
{
	const struct fault_counts *faults = &vma->faults;
	const struct {
		uint64_t count;
		const char *what;
	} parts[] = {
		{ faults->user, "user" }, { faults->populate, "populate" },
		{ faults->kernel, "kernel" }, { faults->remote, "remote" },
		{ faults->failed, "failed" }, { faults->under_mmap_lock, "under mmap_lock" },
		{ vma->raced_known ? faults->raced : 0, "raced (not among them)" },
		{ faults->untimed, "untimed" },
	};

	fprintf(out, "<dt>Faults</dt><dd>%" PRIu64 ": %" PRIu64 " read, %" PRIu64 " write",
		faults->total, faults->read, faults->write);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].count)
			fprintf(out, ", %" PRIu64 " %s", parts[i].count, parts[i].what);
	fputs("</dd>\n", out);
}

static void put_batches(FILE *out, const struct vma_report *vma)
{
	const struct batch_counts *batches = &vma->batches;
	struct traps traps = vma_traps(vma);
	char text[200], ratio[NUMBER_BYTES];

	if (!batches->total && !batches->declined)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 ", %s pages each, %" PRIu64 " declined",
		 batches->total, batches->total ? draw_ratio(ratio, batches->pages, batches->total)
						: "no", batches->declined);
	put_fact(out, "Batches", text);
	if (!traps.count)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 ", %s pages each", traps.count,
		 draw_ratio(ratio, traps.pages, traps.count));
	put_fact(out, "Traps", text);
}

static void put_block(const struct html *html, FILE *out, const struct vma_report *vma,
		      size_t number)
{
	char verdict[VERDICT_BYTES];

	fprintf(out, "<article aria-labelledby=\"vma-%zu\">\n<h3 id=\"vma-%zu\">Process ", number,
		number);
	put_process(out, vma->pid, vma->comm);
	fputs(", map ", out);
	put_map(out, &vma->map);
	fputs("</h3>\n<dl class=\"facts\">\n", out);
	put_range(out, vma);
	put_faults(out, vma);
	put_batches(out, vma);
	verdict_for_vma(&html->start, vma, verdict, sizeof(verdict));
	put_fact(out, "Verdict", verdict);
	fputs("</dl>\n", out);
	if (vma->installed_pages)
		html_strip(out, &vma->where, vma->pages);
	html_dist(out, "Handler time of faults", "Faults", &vma->fault_ns, true);
	html_dist(out, "Handler time of batches", "Batches", &vma->batch_ns, true);
	html_dist(out, "Pages of a batch", "Batches", &vma->batch_pages, false);
	fputs("</article>\n", out);
}

static void put_blocks(const struct html *html, FILE *out)
{
	const struct held_list *list = &html->vmas;
	size_t count = list->count < BLOCKS_MAX ? list->count : BLOCKS_MAX;
	struct vma_report vma;

	if (!count)
		return;
	fputs("<section aria-labelledby=\"each\">\n<h2 id=\"each\">VMAs one by one</h2>\n", out);
	if (count < list->count)
		fprintf(out, "<p>The first %zu of the table above.</p>\n", count);
	for (size_t i = 0; i < count; i++) {
		packed_get(list->items[i].packed, &vma, sizeof(vma));
		put_block(html, out, &vma, i + 1);
	}
	fputs("</section>\n", out);
}

/* ---- map-in-map updates ---- */

static void put_update_row(FILE *out, const struct update_report *update)
{
	uint64_t count = dist_count(&update->ns);
	char text[NUMBER_BYTES];

	fputs("<tr><th scope=\"row\">", out);
	put_process(out, update->pid, update->comm);
	fputs("</th><td>", out);
	put_map(out, &update->map);
	fputs("</td>", out);
	put_number(out, "n", decimal(text, update->calls));
	put_number(out, "n wide", decimal(text, update->failed));
	put_number(out, "n", draw_duration(text, update->ns.sum));
	put_number(out, "n wide", draw_duration(text, count ? update->ns.sum / count : 0));
	put_number(out, "n", draw_percent(text, update->wait_ns.sum, update->ns.sum));
	put_number(out, "wide", update->wait ? update->wait : "none");
	fputs("</tr>\n", out);
}

static void put_updates(const struct html *html, FILE *out)
{
	const struct held_list *list = &html->updates;
	struct update_report update;

	if (!list->count)
		return;
	fputs("<section aria-labelledby=\"updates\">\n<h2 id=\"updates\">Map-in-map updates</h2>\n"
	      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"updates\">\n"
	      "<table>\n<caption>Updates of maps of maps, most time first</caption>\n<thead><tr>"
	      "<th scope=\"col\">Process</th><th scope=\"col\">Map</th>"
	      "<th scope=\"col\" class=\"n\">Calls</th>"
	      "<th scope=\"col\" class=\"n wide\">Failed</th>"
	      "<th scope=\"col\" class=\"n\" aria-sort=\"descending\">Time</th>"
	      "<th scope=\"col\" class=\"n wide\">Average</th>"
	      "<th scope=\"col\" class=\"n\">Waiting</th>"
	      "<th scope=\"col\" class=\"wide\">Grace period</th></tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; i < list->count; i++) {
		packed_get(list->items[i].packed, &update, sizeof(update));
		put_update_row(out, &update);
	}
	fputs("</tbody></table></div>\n", out);
	for (size_t i = 0; i < list->count && i < BLOCKS_MAX; i++) {
		packed_get(list->items[i].packed, &update, sizeof(update));
		fputs("<article>\n<h3>Process ", out);
		put_process(out, update.pid, update.comm);
		fputs(", map ", out);
		put_map(out, &update.map);
		fputs("</h3>\n", out);
		html_dist(out, "Time of an update", "Calls", &update.ns, true);
		html_dist(out, "Waiting for a grace period", "Waits", &update.wait_ns, true);
		fputs("</article>\n", out);
	}
	fputs("</section>\n", out);
}

/* ---- losses and the ground ---- */

static const char *skipped_what(const struct html *html, const struct losses *lost)
{
	if (html->start.updates && lost->recursion_at_most)
		return "runs of the hooks on bpf(2), of any process: the kernel skipped them, as "
		       "threads share a CPU; at most so many calls are missing";
	if (html->start.updates)
		return "calls: the kernel skipped the hooks on bpf(2), as threads share a CPU";
	if (html->start.exact)
		return "faults: the kernel skipped the program that counts them";
	return "handler runs: the kernel skipped them, as threads share a CPU (exact counting "
	       "has them)";
}

static void put_lost(const struct html *html, FILE *out, const struct summary_report *summary)
{
	const struct losses *lost = &summary->lost;
	const struct {
		uint64_t count;
		const char *what;
	} parts[] = {
		{ lost->ring_full, "events: the ring buffer was full (larger: --ring-size)" },
		{ lost->vma_table_full,
		  "faults: their VMAs found no entry (more room: --max-vmas)" },
		{ lost->recursion, skipped_what(html, lost) },
		{ lost->unseen_runs, "handler runs whose end was missed: they installed nothing, "
		  "so no page is missing here, but they raced or failed" },
	};

	fputs("<section aria-labelledby=\"lost\">\n<h2 id=\"lost\">Lost</h2>\n", out);
	if (!lost_of(lost) && !lost->unseen_runs)
		fprintf(out, "<p>%s.</p>\n", summary->unmeasured ? "Not known" : "Nothing");
	else
		fputs("<ul>\n", out);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].count)
			fprintf(out, "<li>%" PRIu64 " %s</li>\n", parts[i].count, parts[i].what);
	if (lost_of(lost) || lost->unseen_runs)
		fputs("</ul>\n", out);
	fputs("</section>\n", out);
}

static void put_modes(const struct html *html, FILE *out)
{
	fputs("<table>\n<caption>How this kernel maps each type of map</caption>\n<thead><tr>"
	      "<th scope=\"col\">Map type</th><th scope=\"col\">Mode</th>"
	      "<th scope=\"col\">Handlers</th></tr></thead>\n<tbody>\n", out);
	for (int i = 0; i < MODEL_TYPES; i++) {
		const struct type_mode *type = &html->start.types[i];

		if (!type->type)
			continue;
		fputs("<tr><th scope=\"row\">", out);
		html_text(out, type->type);
		fputs("</th><td>", out);
		html_text(out, map_mode_name(type->mode));
		if (type->reason) {
			fputs(": ", out);
			html_text(out, type->reason);
		}
		fputs("</td><td>", out);
		html_text(out, type->fault ? type->fault : "none");
		if (type->map_pages) {
			fputs(", ", out);
			html_text(out, type->map_pages);
		}
		fputs("</td></tr>\n", out);
	}
	fputs("</tbody></table>\n", out);
}

static void put_ground(const struct html *html, FILE *out)
{
	const struct run_start *start = &html->start;
	char text[NUMBER_BYTES];

	fputs("<section aria-labelledby=\"ground\">\n<h2 id=\"ground\">Kernel and counting</h2>\n"
	      "<dl class=\"facts\">\n", out);
	put_fact(out, "Kernel", start->kernel);
	put_fact(out, "Machine", start->arch);
	put_fact(out, "Page", start->page_bytes ? draw_bytes(text, start->page_bytes)
						: "size not known");
	put_fact(out, "Fault-around", start->fault_around_bytes
		 ? draw_bytes(text, start->fault_around_bytes) : "not known");
	/* of updates there is one way, and the losses say whether they are exact */
	if (!start->updates)
		put_fact(out, "Counting", !run_is_known(start) ? "not known"
			 : start->exact ? "exact (where page tables are written)"
					: "light (at the handlers only)");
	if (!start->timed)
		put_fact(out, "Times", "none were taken");
	if (start->time.tv_sec) {
		fputs("<dt>Began</dt><dd>", out);
		html_time(out, &start->time);
		fputs("</dd>\n", out);
	}
	fputs("</dl>\n", out);
	if (start->types[0].type)
		put_modes(html, out);
	fputs("</section>\n", out);
}

static void put_foot(const struct html *html, FILE *out)
{
	fputs("</main>\n<footer>\n<p class=\"dim\">Traced by lazyfault ", out);
	html_text(out, html->start.version);
	fputs(". A fault is one page that the handler brought in; a batch is one run of the "
	      "fault-around handler; handler time is not the whole fault. K is 1024 in ranges. "
	      "The terms are explained in lazyfault(8).</p>\n</footer>\n</body>\n</html>\n", out);
}

static void html_summary(struct sink *sink, const struct summary_report *summary)
{
	struct html *html = (struct html *)sink;
	FILE *out = sink->out;

	held_cut(&html->vmas);
	held_cut(&html->updates);
	put_head(html, out);
	put_verdict(out, summary);
	put_totals(html, out, summary);
	put_time(html, out);
	if (html->vmas.count || !html->updates.count)
		put_vma_table(html, out);
	put_blocks(html, out);
	put_updates(html, out);
	put_lost(html, out, summary);
	put_ground(html, out);
	put_foot(html, out);
	errno = 0;
	if (fflush(out) || ferror(out))
		fail(html, errno ? errno : output_error(out));
}

static void html_free(struct sink *sink)
{
	struct html *html = (struct html *)sink;

	held_clear(&html->vmas);
	held_clear(&html->updates);
	free(html->vmas.items);
	free(html->updates.items);
	free(html);
}

struct sink *html_sink_new(FILE *out, unsigned int top, const char *sort_key)
{
	static const struct sink_ops ops = {
		.start = html_start,
		.vma = html_vma,
		.update = html_update,
		.interval = html_interval,
		.summary = html_summary,
		.free = html_free,
	};
	struct html *html = calloc(1, sizeof(*html));

	if (!html)
		return NULL;
	html->sink.ops = &ops;
	html->sink.out = out;
	html->sort_key = sort_key ? sort_key : "faults";
	html->order = vma_order(sort_key);
	html->vmas.limit = top ? top : ROWS_DEFAULT;
	html->updates.limit = SIZE_MAX / 2;
	html->per_point = 1;
	return &html->sink;
}
