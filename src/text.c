/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text sink: a block for each VMA at the end, a line for each VMA in an
 * interval, then totals, verdict and losses. Below 80 columns throughout, but
 * for lines that end in names where these have more room.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "held.h"
#include "output.h"
#include "packed.h"
#include "printable.h"
#include "sink.h"
#include "text_draw.h"
#include "text_updates.h"
#include "verdict.h"

/* What a name may take of a line. */
enum { NAME_COLUMNS = 30 };

struct text_sink {
	struct sink sink;
	struct text_options options;
	const struct vma_order *order;
	struct run_start start;		/* the strings are their holder's */
	struct held_list interval, total;
	struct held_list update_interval, update_total;
	uint64_t update_rows, update_calls, update_failed, update_ns;
	bool any_update;
	bool in_events;			/* the last line was an event */
};

static void fail(struct text_sink *text, int error)
{
	if (!text->sink.failed)
		text->sink.error = error;
	text->sink.failed = true;
}

static void flush(struct text_sink *text)
{
	errno = 0;
	if (fflush(text->sink.out) || ferror(text->sink.out))
		fail(text, errno ? errno : output_error(text->sink.out));
}

/* A capture from before there was a word for it shows by its records what it reports. */
static bool reports_updates(const struct text_sink *text)
{
	return text->start.updates || text->any_update;
}

/* Takes over held.packed. */
static void hold(struct text_sink *text, struct held_list *list, struct held held)
{
	if (held.packed && !held_add(list, held))
		return;
	free(held.packed);
	fail(text, ENOMEM);
}

/* ---- start ---- */

/* "array lazy, arena unknown (why), ringbuf eager" */
static void draw_modes(const struct text_sink *text)
{
	const char *separator = "";
	char modes[1024], name[NAME_COLUMNS + 1], reason[200 + 1];
	struct paragraph line;
	size_t used = 0;

	modes[0] = '\0';
	for (int i = 0; i < MODEL_TYPES; i++) {
		const struct type_mode *type = &text->start.types[i];

		if (!type->type)
			continue;
		printable_terminal(name, type->type, NAME_COLUMNS);
		printable_terminal(reason, type->reason ? type->reason : "", 200);
		used += (size_t)snprintf(modes + used, sizeof(modes) - used, "%s%s %s%s%s%s",
					 separator, name, map_mode_name(type->mode),
					 *reason ? " (" : "", reason, *reason ? ")" : "");
		separator = ", ";
	}
	paragraph_begin(&line, text->sink.out, 10, "Mappings");
	paragraph_words(&line, modes);
	paragraph_end(&line);
}

static void draw_kernel(const struct text_sink *text)
{
	const struct run_start *start = &text->start;
	char kernel[60 + 1], arch[20 + 1], bytes[NUMBER_BYTES];
	struct paragraph line;

	printable_terminal(kernel, start->kernel ? start->kernel : "?", 60);
	printable_terminal(arch, start->arch ? start->arch : "?", 20);
	paragraph_begin(&line, text->sink.out, 10, "Kernel");
	paragraph_add(&line, "%s,", kernel);
	paragraph_add(&line, "%s,", arch);
	if (start->page_bytes)
		paragraph_add(&line, "pages of %s,", draw_bytes(bytes, start->page_bytes));
	else
		paragraph_add(&line, "page size not known,");
	if (start->fault_around_bytes)
		paragraph_add(&line, "fault-around %s",
			      draw_bytes(bytes, start->fault_around_bytes));
	else
		paragraph_add(&line, "fault-around not known");
	paragraph_end(&line);
}

static void draw_counting(const struct text_sink *text)
{
	const struct run_start *start = &text->start;
	struct paragraph line;

	paragraph_begin(&line, text->sink.out, 10, "Counting");
	if (run_is_known(start))
		paragraph_words(&line, start->exact ? "exact (where page tables are written)"
						    : "light (at the handlers only)");
	else
		paragraph_words(&line, "not known");
	if (!start->timed)
		paragraph_words(&line, "and without times");
	paragraph_end(&line);
}

/*
 * What is traced and how to stop. With a command it is one line, for which a
 * long name is cut; lists of processes and maps are told in full.
 */
static void draw_first_line(const struct text_sink *text)
{
	const struct run_start *start = &text->start;
	const char *what = start->updates ? "Tracing map-in-map updates of" : "Tracing lazy faults of";
	const char *scope = start->scope ? start->scope : "all processes", *hint = NULL;
	size_t room = TEXT_COLUMNS - strlen(what) - strlen(" ");
	char shown[200 + 1], shown_hint[40 + 1];
	struct paragraph line;

	if (start->stop_hint) {
		printable_terminal(shown_hint, start->stop_hint, sizeof(shown_hint) - 1);
		hint = shown_hint;
	}
	if (!strncmp(scope, "command ", strlen("command ")) && hint) {
		if (strlen(scope) + strlen(" ... ") + strlen(hint) > room)
			hint = "Ends with it.";
		room -= strlen(" ... ") + strlen(hint);
	} else {
		room = sizeof(shown) - 1;
	}
	printable_terminal(shown, scope, room);
	paragraph_begin(&line, text->sink.out, 2, NULL);
	paragraph_words(&line, what);
	paragraph_words(&line, shown);
	paragraph_words(&line, hint ? "..." : "");
	paragraph_words(&line, hint ? hint : "");
	paragraph_end(&line);
}

static void text_start(struct sink *sink, const struct run_start *start)
{
	struct text_sink *text = (struct text_sink *)sink;

	text->start = *start;
	if (text->options.quiet)
		return;
	draw_first_line(text);
	if (start->updates) {
		text_update_ground(sink->out, start);
	} else {
		draw_kernel(text);
		draw_modes(text);
		draw_counting(text);
	}
	fputc('\n', sink->out);
	flush(text);
}

/* ---- a block for each VMA ---- */

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

static void draw_identity(const struct text_sink *text, const struct vma_report *vma)
{
	char comm[NAME_COLUMNS + 1], name[NAME_COLUMNS + 1], type[NAME_COLUMNS + 1];
	struct paragraph line;

	printable_terminal(comm, vma->comm, NAME_COLUMNS);
	printable_terminal(name, vma->map.name, NAME_COLUMNS);
	printable_terminal(type, vma->map.type ? vma->map.type : "of unknown type", NAME_COLUMNS);
	paragraph_begin(&line, text->sink.out, 2, NULL);
	if (vma->pid)
		paragraph_add(&line, "pid %" PRIu32, vma->pid);
	else
		paragraph_add(&line, "pid not known");
	paragraph_add(&line, "(%s),", *comm ? comm : "?");
	paragraph_add(&line, "map id %" PRIu32, vma->map.id);
	if (*name)
		paragraph_add(&line, "\"%s\",", name);
	else
		paragraph_add(&line, "without a name,");
	paragraph_add(&line, "%s", type);
	paragraph_end(&line);
}

static void draw_range(const struct text_sink *text, const struct vma_report *vma)
{
	struct paragraph line;
	char bytes[NUMBER_BYTES];

	paragraph_begin(&line, text->sink.out, TEXT_LABEL, "  range");
	paragraph_add(&line, "0x%" PRIx64 "-0x%" PRIx64 ",", vma->start, vma->end);
	paragraph_add(&line, "%" PRIu64 " page%s (%s),", vma->pages, plural(vma->pages),
		      draw_bytes(bytes, vma->end > vma->start ? vma->end - vma->start : 0));
	if (vma->map_offset_pages)
		paragraph_add(&line, "from page %" PRIu64 ",", vma->map_offset_pages);
	paragraph_add(&line, vma->mapped ? "mapped" : "unmapped");
	paragraph_end(&line);

	paragraph_begin(&line, text->sink.out, TEXT_LABEL, "  mmap");
	if (vma->mmap.seen)
		paragraph_add(&line, "%s%s", draw_duration(bytes, vma->mmap.ns),
			      vma->mmap.populate ? ", with MAP_POPULATE" : "");
	else
		paragraph_words(&line, "not seen: before tracing, or by fork, split, mremap");
	paragraph_end(&line);
}

/* Counts that are listed with commas between them. */
struct counts {
	char texts[12][40];
	unsigned int count;
};

static void count_add(struct counts *counts, uint64_t count, const char *what)
{
	snprintf(counts->texts[counts->count], sizeof(counts->texts[0]), "%" PRIu64 " %s", count,
		 what);
	counts->count++;
}

static void count_if(struct counts *counts, uint64_t count, const char *what)
{
	if (count)
		count_add(counts, count, what);
}

static void counts_draw(const struct counts *counts, struct paragraph *line)
{
	for (unsigned int i = 0; i < counts->count; i++)
		paragraph_add(line, "%s%s", counts->texts[i], i + 1 < counts->count ? "," : "");
}

static void draw_faults(const struct text_sink *text, const struct vma_report *vma)
{
	const struct fault_counts *faults = &vma->faults;
	struct counts counts = { .count = 0 };
	struct paragraph line;

	count_add(&counts, faults->read, "read");
	count_add(&counts, faults->write, "write");
	count_if(&counts, faults->user, "user");
	count_if(&counts, faults->populate, "populate");
	count_if(&counts, faults->kernel, "kernel");
	count_if(&counts, faults->remote, "remote");
	count_if(&counts, faults->failed, "failed");
	count_if(&counts, faults->under_mmap_lock, "under mmap_lock");
	if (vma->raced_known)
		count_if(&counts, faults->raced, "raced");
	if (text->start.timed)
		count_if(&counts, faults->untimed, "untimed");

	paragraph_begin(&line, text->sink.out, TEXT_LABEL, "  faults");
	if (faults->total || faults->raced) {
		paragraph_add(&line, "%" PRIu64 ":", faults->total);
		counts_draw(&counts, &line);
	} else {
		paragraph_add(&line, "none");
	}
	paragraph_end(&line);
}

static void draw_batches(const struct text_sink *text, const struct vma_report *vma)
{
	const struct batch_counts *batches = &vma->batches;
	struct traps traps = vma_traps(vma);
	struct paragraph line;
	char ratio[NUMBER_BYTES];

	if (!batches->total && !batches->declined)
		return;
	paragraph_begin(&line, text->sink.out, TEXT_LABEL, "  batches");
	paragraph_add(&line, "%" PRIu64 ",", batches->total);
	if (batches->total) {
		paragraph_add(&line, "%s pages each",
			      draw_ratio(ratio, batches->pages, batches->total));
		paragraph_add(&line, "(%" PRIu64 " in all),", batches->pages);
	}
	paragraph_add(&line, "%" PRIu64 " declined", batches->declined);
	paragraph_end(&line);
	if (!traps.count)
		return;
	paragraph_begin(&line, text->sink.out, TEXT_LABEL, "  traps");
	paragraph_add(&line, "%" PRIu64 ",", traps.count);
	paragraph_add(&line, "%s pages each", draw_ratio(ratio, traps.pages, traps.count));
	paragraph_end(&line);
}

static void draw_installed(const struct text_sink *text, const struct vma_report *vma)
{
	const struct where_bins *where = &vma->where;
	bool strip = where->pages_per_bin && where->count && vma->installed_pages;
	struct paragraph line;
	char percent[NUMBER_BYTES];

	if (!vma->installed_pages)
		return;
	paragraph_begin(&line, text->sink.out, TEXT_LABEL, "  installed");
	paragraph_add(&line, "%" PRIu64 " page%s,", vma->installed_pages,
		      plural(vma->installed_pages));
	if (vma->installed_pages <= vma->pages)
		paragraph_add(&line, "%s of the VMA%s",
			      draw_percent(percent, vma->installed_pages, vma->pages),
			      strip ? ";" : "");
	else
		paragraph_add(&line, "some of them again%s", strip ? ";" : "");
	if (strip && where->pages_per_bin > 1)
		paragraph_add(&line, "%" PRIu64 " page%s a cell:", where->pages_per_bin,
			      plural(where->pages_per_bin));
	else if (strip)
		paragraph_add(&line, "a page a cell:");
	paragraph_end(&line);
	if (!strip)
		return;
	fprintf(text->sink.out, "%-*s", TEXT_LABEL, "  where");
	draw_strip(text->sink.out, where, vma->pages, text->options.unicode);
}

/* A line of figures, in ns or in pages, and the histogram. */
static void draw_dist(const struct text_sink *text, const char *label, const struct dist *dist,
		      bool ns)
{
	static const char *const names[] = { "avg", "p50", "p99", "max", "sum" };
	uint64_t count = dist_count(dist);
	char value[NUMBER_BYTES];
	struct paragraph line;
	uint64_t values[5];

	if (!count)
		return;
	values[0] = dist->sum / count;
	values[1] = dist_percentile(dist, 50);
	values[2] = dist_percentile(dist, 99);
	values[3] = dist->max;
	values[4] = dist->sum;
	paragraph_begin(&line, text->sink.out, TEXT_LABEL, label);
	for (int i = 0; i < 5; i++) {
		if (ns)
			draw_duration(value, values[i]);
		else
			snprintf(value, sizeof(value), "%" PRIu64, values[i]);
		paragraph_add(&line, "%s %s%s", names[i], value, i < 4 ? "," : "");
	}
	paragraph_end(&line);
	draw_histogram(text->sink.out, dist, text->options.unicode);
}

/* A verdict is made of others' words too, or of a saved capture's. */
static void draw_verdict(const struct text_sink *text, const char *label, const char *verdict)
{
	char shown[2 * VERDICT_BYTES];
	struct paragraph line;

	printable_terminal(shown, verdict, sizeof(shown) - 1);
	paragraph_begin(&line, text->sink.out, TEXT_LABEL, label);
	paragraph_words(&line, shown);
	paragraph_end(&line);
}

static void draw_vma_verdict(const struct text_sink *text, const struct vma_report *vma)
{
	char verdict[VERDICT_BYTES];

	verdict_for_vma(&text->start, vma, verdict, sizeof(verdict));
	draw_verdict(text, "  verdict", verdict);
}

static void draw_block(const struct text_sink *text, const struct vma_report *vma)
{
	draw_identity(text, vma);
	draw_range(text, vma);
	draw_faults(text, vma);
	draw_batches(text, vma);
	draw_installed(text, vma);
	draw_dist(text, "  fault ns", &vma->fault_ns, true);
	draw_dist(text, "  batch ns", &vma->batch_ns, true);
	draw_dist(text, "  batch size", &vma->batch_pages, false);
	if (text->options.verbose)
		draw_vma_verdict(text, vma);
	fputc('\n', text->sink.out);
}

/* ---- a line for each VMA and interval ---- */

static void draw_heading(const struct text_sink *text)
{
	fprintf(text->sink.out, "%7s %7s %9s %5s %8s %9s %8s  %s\n", "PID", "MAP", "FAULTS",
		"WRITE", "BATCHES", "PAGES", "AVG", "COMM, MAP");
}

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * The names of a row's process and map, which stand last: in full, or in what
 * a terminal leaves of the line, half of it for each if both are long.
 */
static void draw_names(const struct text_sink *text, const struct vma_report *vma, size_t column)
{
	const char *gone = vma->mapped ? "" : " (gone)";
	char comm[TEXT_COLUMNS + 1], name[TEXT_COLUMNS + 1];
	size_t room = 2 * TEXT_COLUMNS, length;

	if (text->options.columns)
		room = lesser(room, text->options.columns - column - strlen(gone) - strlen(" "));
	length = printable_terminal(name, vma->map.name, TEXT_COLUMNS);
	length = room - lesser(length, room / 2);
	length = printable_terminal(comm, vma->comm, lesser(length, TEXT_COLUMNS));
	printable_terminal(name, vma->map.name, lesser(room - length, TEXT_COLUMNS));
	fprintf(text->sink.out, "%s%s%s%s\n", comm, *name ? " " : "", name, gone);
}

static void draw_row(const struct text_sink *text, const struct vma_report *vma)
{
	char faults[NUMBER_BYTES], write[NUMBER_BYTES], batches[NUMBER_BYTES];
	char pages[NUMBER_BYTES], average[NUMBER_BYTES] = "-";
	uint64_t timed = dist_count(&vma->fault_ns);
	char numbers[TEXT_COLUMNS + 1];
	size_t columns;

	if (timed)
		draw_duration(average, vma->fault_ns.sum / timed);
	columns = (size_t)snprintf(numbers, sizeof(numbers),
				   "%7" PRIu32 " %7" PRIu32 " %9s %5s %8s %9s %8s  ", vma->pid,
				   vma->map.id, draw_count(faults, vma->faults.total, 9),
				   draw_percent(write, vma->faults.write, vma->faults.total),
				   draw_count(batches, vma->batches.total, 8),
				   draw_count(pages, vma->installed_pages, 9), average);
	fputs(numbers, text->sink.out);
	draw_names(text, vma, columns);
}

static void draw_time(const struct text_sink *text, const struct timespec *time)
{
	struct tm tm;
	long minutes;

	if (!localtime_r(&time->tv_sec, &tm))
		return;
	minutes = tm.tm_gmtoff / 60;
	fprintf(text->sink.out, "%04d-%02d-%02dT%02d:%02d:%02d%c%02ld:%02ld\n",
		tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		minutes < 0 ? '-' : '+', labs(minutes) / 60, labs(minutes) % 60);
}

static uint64_t nanoseconds(double seconds)
{
	/* To the microsecond, as a capture has it: both print the same. */
	return seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e6 + 0.5) * 1000 : 0;
}

/* ---- a line for each event ---- */

/* Wider than 80 columns where the names are long: they stand last, and whole. */
static void draw_event_heading(const struct text_sink *text)
{
	fprintf(text->sink.out, "%-15s %7s %7s %6s %8s %-2s%-8s %6s %8s  %s\n", "TIME", "PID",
		"TID", "MAP", "PAGE", "A", "ORIGIN", "PAGES", "HANDLER", "COMM, MAP");
}

static void text_event(struct sink *sink, const struct event_report *event)
{
	struct text_sink *text = (struct text_sink *)sink;
	char page[NUMBER_BYTES], pages[NUMBER_BYTES], duration[NUMBER_BYTES] = "-";
	char names[MODEL_COMM_BYTES + MODEL_NAME_BYTES + 2], shown[TEXT_COLUMNS + 1];
	char origin[8 + 1], outcome[6 + 1], time[16] = "-";
	struct tm tm;

	if (!text->in_events)
		draw_event_heading(text);
	text->in_events = true;
	if (localtime_r(&event->time.tv_sec, &tm))
		snprintf(time, sizeof(time), "%02u:%02u:%02u.%06lu", (unsigned int)tm.tm_hour % 24,
			 (unsigned int)tm.tm_min % 60, (unsigned int)tm.tm_sec % 61,
			 (unsigned long)event->time.tv_nsec / 1000 % 1000000);
	if (event->timed)
		draw_duration(duration, event->ns);
	snprintf(names, sizeof(names), "%s %s", event->comm, event->map.name);
	printable_terminal(shown, names, TEXT_COLUMNS);
	printable_terminal(origin, event->origin ? event->origin : "?", sizeof(origin) - 1);
	printable_terminal(outcome, event->outcome ? event->outcome : "?", sizeof(outcome) - 1);
	/* what installed pages is told by their number */
	fprintf(sink->out, "%-15s %7" PRIu32 " %7" PRIu32 " %6" PRIu32 " %8s %-2s%-8s %6s %8s  %s\n",
		time, event->pid, event->tid, event->map.id,
		draw_count(page, event->map_offset_pages, 8), event->write ? "w" : "r", origin,
		event->installed_pages ? draw_count(pages, event->installed_pages, 6) : outcome,
		duration, shown);
}

/* What is not an event comes after a blank line. */
static void end_events(struct text_sink *text)
{
	if (text->in_events)
		fputc('\n', text->sink.out);
	text->in_events = false;
}

/* ---- losses ---- */

static void draw_loss(const struct text_sink *text, const char *label, uint64_t count,
		      const char *what)
{
	struct paragraph line;

	if (!count)
		return;
	paragraph_begin(&line, text->sink.out, TEXT_LABEL, label);
	paragraph_add(&line, "%" PRIu64, count);
	paragraph_words(&line, what);
	paragraph_end(&line);
}

/* Each loss with what to do about it; nothing where nothing was lost. */
static void draw_losses(const struct text_sink *text, const struct losses *lost)
{
	if (text->start.updates) {
		text_update_losses(text->sink.out, lost);
		return;
	}
	draw_loss(text, "Lost", lost->ring_full,
		  "events: the ring buffer was full (larger: --ring-size)");
	draw_loss(text, "Lost", lost->vma_table_full,
		  "faults: their VMAs found no entry (more room: --max-vmas)");
	draw_loss(text, "Lost", lost->recursion,
		  text->start.exact
			  ? "faults: the kernel skipped the program that counts them"
			  : "handler runs: the kernel skipped them, as threads share a CPU "
			    "(exact counting has them)");
	draw_loss(text, "Lost", lost->events_lost,
		  "lines of events: their ring buffer was full; the counts have them (larger: "
		  "--ring-size)");
	draw_loss(text, "Unseen", lost->unseen_runs,
		  "handler runs whose end was missed: they installed nothing, so no page is "
		  "missing here, but they raced or failed");
}

/* ---- the sink's calls ---- */

static void text_vma(struct sink *sink, const struct vma_report *vma)
{
	struct text_sink *text = (struct text_sink *)sink;

	if (vma->span == SPAN_INTERVAL && !text->options.intervals)
		return;
	hold(text, vma->span == SPAN_INTERVAL ? &text->interval : &text->total,
	     held_vma(text->order, vma));
}

static void text_update(struct sink *sink, const struct update_report *update)
{
	struct text_sink *text = (struct text_sink *)sink;
	struct held_list *list = &text->update_total;

	if (update->span == SPAN_INTERVAL && !text->options.intervals)
		return;
	text->any_update = true;
	if (update->span == SPAN_TOTAL) {
		text->update_calls += update->calls;
		text->update_failed += update->failed;
		text->update_ns += update->ns.sum;
	} else {
		list = &text->update_interval;
	}
	hold(text, list, held_update(text->options.sort_key, update, text->update_rows++));
}

static void draw_rest(const struct text_sink *text, const struct held_list *list)
{
	char number[NUMBER_BYTES];
	struct paragraph line;

	if (!list->rest)
		return;
	paragraph_begin(&line, text->sink.out, 4, NULL);
	if (list->of_updates) {
		paragraph_add(&line, "... and %" PRIu64 " more:", list->rest);
		paragraph_add(&line, "%" PRIu64 " call%s,", list->rest_calls,
			      plural(list->rest_calls));
		paragraph_add(&line, "%s in calls", draw_duration(number, list->rest_ns));
	} else {
		paragraph_add(&line, "... and %" PRIu64 " more VMA%s:", list->rest,
			      plural(list->rest));
		paragraph_add(&line, "%" PRIu64 " fault%s,", list->rest_faults,
			      plural(list->rest_faults));
		paragraph_add(&line, "%" PRIu64 " page%s installed", list->rest_pages,
			      plural(list->rest_pages));
	}
	paragraph_end(&line);
}

static void draw_rows(struct text_sink *text)
{
	struct vma_report vma;

	held_cut(&text->interval);
	if (text->interval.count)
		draw_heading(text);
	for (size_t i = 0; i < text->interval.count; i++) {
		packed_get(text->interval.items[i].packed, &vma, sizeof(vma));
		draw_row(text, &vma);
	}
	draw_rest(text, &text->interval);
	held_clear(&text->interval);
}

static void draw_update_rows(struct text_sink *text)
{
	struct update_report update;

	held_cut(&text->update_interval);
	if (text->update_interval.count)
		text_update_heading(text->sink.out);
	for (size_t i = 0; i < text->update_interval.count; i++) {
		packed_get(text->update_interval.items[i].packed, &update, sizeof(update));
		text_update_row(text->sink.out, &update);
	}
	draw_rest(text, &text->update_interval);
	held_clear(&text->update_interval);
}

static void text_interval(struct sink *sink, const struct interval_report *interval)
{
	struct text_sink *text = (struct text_sink *)sink;
	char length[NUMBER_BYTES];
	struct paragraph line;

	if (!text->options.intervals)
		return;
	end_events(text);
	if (text->options.timestamp)
		draw_time(text, &interval->time);
	draw_rows(text);
	draw_update_rows(text);
	paragraph_begin(&line, sink->out, 4, NULL);
	draw_duration(length, nanoseconds(interval->seconds));
	if (reports_updates(text) && !interval->faults) {
		paragraph_add(&line, "%s", length);
	} else {
		paragraph_add(&line, "%s:", length);
		paragraph_add(&line, "%" PRIu64 " fault%s,", interval->faults,
			      plural(interval->faults));
		paragraph_add(&line, "%" PRIu64 " page%s installed", interval->installed_pages,
			      plural(interval->installed_pages));
	}
	paragraph_end(&line);
	draw_losses(text, &interval->lost);
	fputc('\n', sink->out);
	flush(text);
}

static void draw_blocks(struct text_sink *text)
{
	struct update_report update;
	struct vma_report vma;

	held_cut(&text->total);
	for (size_t i = 0; i < text->total.count; i++) {
		packed_get(text->total.items[i].packed, &vma, sizeof(vma));
		draw_block(text, &vma);
	}
	draw_rest(text, &text->total);
	if (text->total.rest)
		fputc('\n', text->sink.out);
	held_cut(&text->update_total);
	for (size_t i = 0; i < text->update_total.count; i++) {
		packed_get(text->update_total.items[i].packed, &update, sizeof(update));
		text_update_block(text->sink.out, &update, text->options.unicode);
	}
	draw_rest(text, &text->update_total);
	if (text->update_total.rest)
		fputc('\n', text->sink.out);
	held_clear(&text->total);
	held_clear(&text->update_total);
}

static void draw_totals(const struct text_sink *text, const struct summary_report *summary)
{
	char number[NUMBER_BYTES];
	struct paragraph line;

	paragraph_begin(&line, text->sink.out, TEXT_LABEL, "Totals");
	if (reports_updates(text)) {
		paragraph_add(&line, "%" PRIu64 " call%s,", text->update_calls,
			      plural(text->update_calls));
		paragraph_add(&line, "%" PRIu64 " failed,", text->update_failed);
		paragraph_add(&line, "%s in calls;", draw_duration(number, text->update_ns));
	}
	if (!reports_updates(text) || summary->vmas) {
		paragraph_add(&line, "%" PRIu64 " VMA%s,", summary->vmas, plural(summary->vmas));
		paragraph_add(&line, "%" PRIu64 " fault%s,", summary->faults,
			      plural(summary->faults));
		paragraph_add(&line, "%" PRIu64 " batch%s,", summary->batches,
			      summary->batches == 1 ? "" : "es");
		paragraph_add(&line, "%" PRIu64 " page%s installed", summary->installed_pages,
			      plural(summary->installed_pages));
	}
	draw_duration(number, nanoseconds(summary->seconds));
	if (summary->unmeasured)
		paragraph_words(&line, reports_updates(text) ? "traced for a time that is not known"
							     : "in a time that is not known");
	else
		paragraph_add(&line, reports_updates(text) ? "traced for %s" : "in %s", number);
	paragraph_end(&line);
}

static void draw_lost(const struct text_sink *text, const struct summary_report *summary)
{
	const struct losses *lost = &summary->lost;
	const char *none = summary->unmeasured ? "not known" : "nothing";

	if (!lost->ring_full && !lost->vma_table_full && !lost->recursion && !lost->events_lost)
		fprintf(text->sink.out, "%-*s%s\n", TEXT_LABEL, "Lost", none);
	draw_losses(text, lost);
}

static void text_summary(struct sink *sink, const struct summary_report *summary)
{
	struct text_sink *text = (struct text_sink *)sink;

	end_events(text);
	draw_blocks(text);
	draw_totals(text, summary);
	if (summary->verdict && *summary->verdict)
		draw_verdict(text, "Verdict", summary->verdict);
	draw_lost(text, summary);
	flush(text);
}

static void text_free(struct sink *sink)
{
	struct text_sink *text = (struct text_sink *)sink;
	struct held_list *const lists[] = { &text->interval, &text->total,
					    &text->update_interval, &text->update_total };

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		held_clear(lists[i]);
		free(lists[i]->items);
	}
	free(text);
}

struct sink *text_sink_new(FILE *out, const struct text_options *options)
{
	static const struct sink_ops ops = {
		.start = text_start,
		.vma = text_vma,
		.update = text_update,
		.event = text_event,
		.interval = text_interval,
		.summary = text_summary,
		.free = text_free,
	};
	struct text_sink *text = calloc(1, sizeof(*text));
	size_t limit = options->top ? options->top : HELD_MAX;

	if (!text)
		return NULL;
	text->sink.ops = &ops;
	text->sink.out = out;
	text->options = *options;
	text->order = vma_order(options->sort_key);
	text->interval.limit = text->total.limit = limit;
	text->update_interval.limit = text->update_total.limit = limit;
	text->update_interval.of_updates = text->update_total.of_updates = true;
	return &text->sink;
}
