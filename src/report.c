/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints a saved capture: reads it line by line, and hands its records to the
 * sinks that live tracing prints by. A capture that is cut off, older, newer
 * or damaged is read as far as it goes, and what was left out is said.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "balance.h"
#include "capture.h"
#include "commands.h"
#include "errors.h"
#include "foreign.h"
#include "options.h"
#include "output.h"
#include "printable.h"
#include "rows.h"
#include "sink.h"
#include "sinks.h"
#include "update_sums.h"
#include "update_verdict.h"
#include "verdict.h"

enum {
	MESSAGE_BYTES = 2048,
	/* Far above the longest record; a line beyond is no record and is not held. */
	LINE_MAX_BYTES = 1 << 20,
	/* Complaints about lines that are said one by one. */
	SAID_MAX = 5,
	NAME_COLUMNS = 60,
};

struct report {
	const struct options *options;
	const char *name;		/* of the file, for messages */
	FILE *in;
	bool in_is_file;		/* all of it is there already */
	struct capture *capture;
	struct balance *balance;
	struct rows *rows;
	struct update_sums *update_sums;
	struct sink *sink;
	uint64_t line;			/* number of the line being read */
	uint64_t used, refused, unknown;
	const char *foreign;		/* what it is, if no capture */
	bool begun;			/* a line that is not blank has come */
	char unknown_type[NAME_COLUMNS + 1];	/* the first of them */
	uint64_t unknown_line;
	bool started, summarized;
	bool measured;			/* an interval has told of time and losses */
	bool another;			/* a second run begins */
	bool rows_full;
	bool any_update, any_fault;	/* records of them */
	bool unfit;			/* there is a summary, but it does not add up */
	int error;			/* positive: ends it */
	struct run_start start;
	struct verdict_input verdict;
	struct update_verdict update_verdict;
	struct summary_report sum;	/* what a summary would say */
};

/* ---- lines ---- */

struct line {
	char *text;
	size_t length;
	bool too_long, ended;	/* ended: by a newline, not by the file's end */
};

/* Reads the next line into a buffer of LINE_MAX_BYTES; false at the end. */
static bool next_line(FILE *in, struct line *line)
{
	int byte;

	line->length = 0;
	line->too_long = line->ended = false;
	while ((byte = getc_unlocked(in)) != EOF) {
		if (byte == '\n') {
			line->ended = true;
			return true;
		}
		if (line->length == LINE_MAX_BYTES)
			line->too_long = true;
		else
			line->text[line->length++] = (char)byte;
	}
	return line->length > 0;
}

static bool is_blank(const struct line *line)
{
	for (size_t i = 0; i < line->length; i++)
		if (!strchr(" \t\r", line->text[i]) || !line->text[i])
			return false;
	return true;
}

/* ---- complaints ---- */

/* A line that cannot be used: the first few are told one by one. */
static void refuse_line(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void refuse_line(struct report *report, const char *format, ...)
{
	char why[CAPTURE_WHY_BYTES], shown[CAPTURE_WHY_BYTES];
	va_list args;

	balance_doubt(report->balance);
	if (report->refused++ >= SAID_MAX)
		return;
	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	printable_terminal(shown, why, sizeof(shown) - 1);
	notice("%s: line %" PRIu64 " is left out: %s", report->name, report->line, shown);
}

static void tell_rest(const struct report *report)
{
	if (report->refused > SAID_MAX)
		notice("%s: %" PRIu64 " more lines are left out", report->name,
		       report->refused - SAID_MAX);
	if (report->unknown)
		notice("%s: %" PRIu64 " record%s of types that this version does not know, from "
		       "line %" PRIu64 " (\"%s\") on, %s left out", report->name, report->unknown,
		       report->unknown == 1 ? "" : "s", report->unknown_line,
		       report->unknown_type, report->unknown == 1 ? "is" : "are");
	if (report->rows_full)
		notice("%s: it has more than %u VMAs at a time, and the totals of a capture that "
		       "is cut off lack the others", report->name, ROWS_MAX);
}

/* ---- records ---- */

static void begin(struct report *report, const struct run_start *start)
{
	report->start = *start;
	report->verdict.start = &report->start;
	report->update_verdict.rcu = &report->start.rcu;
	report->update_verdict.filtered = start->filtered;
	report->started = true;
	balance_pages(report->balance, start->page_bytes);
	report->sink->ops->start(report->sink, &report->start);
}

/* A capture whose beginning was lost: nothing is known of the kernel. */
static void begin_without_start(struct report *report)
{
	static const struct run_start nothing = { .exact = true, .timed = true };

	notice("%s: line %" PRIu64 " comes without a start record before it: kernel, modes and "
	       "scope are not known", report->name, report->line);
	balance_doubt(report->balance);
	begin(report, &nothing);
}

static void take_start(struct report *report, struct capture_record *record)
{
	begin(report, &record->start);
}

static void add_total(struct report *report, const struct vma_report *vma)
{
	verdict_add(&report->verdict, vma);
	report->sink->ops->vma(report->sink, vma);
}

static void take_vma(struct report *report, struct capture_record *record)
{
	int error = rows_take(report->rows, &record->vma, record->row_known);

	if (error == -ENOSPC) {
		report->rows_full = true;
		balance_doubt(report->balance);
	} else if (error) {
		report->error = -error;
	}
	if (record->vma.span == SPAN_TOTAL)
		add_total(report, &record->vma);
	else
		report->sink->ops->vma(report->sink, &record->vma);
}

static void add_update_total(void *context, const struct update_report *update)
{
	struct report *report = context;

	update_verdict_add(&report->update_verdict, update);
	report->sink->ops->update(report->sink, update);
}

static void take_update(struct report *report, struct capture_record *record)
{
	if (update_sums_take(report->update_sums, &record->update))
		report->error = ENOMEM;
	if (record->update.span == SPAN_TOTAL)
		add_update_total(report, &record->update);
	else
		report->sink->ops->update(report->sink, &record->update);
}

static void take_event(struct report *report, struct capture_record *record)
{
	sink_event(report->sink, &record->event);
	/* from a pipe: as it comes */
	if (!report->in_is_file)
		sink_flush(report->sink);
}

static void take_interval(struct report *report, struct capture_record *record)
{
	const struct interval_report *interval = &record->interval;
	struct losses *lost = &report->sum.lost;

	report->measured = true;
	report->sum.seconds += interval->seconds;
	lost->ring_full += interval->lost.ring_full;
	lost->vma_table_full += interval->lost.vma_table_full;
	lost->recursion += interval->lost.recursion;
	lost->recursion_at_most |= interval->lost.recursion_at_most;
	lost->unseen_runs += interval->lost.unseen_runs;
	lost->events_lost += interval->lost.events_lost;
	report->sink->ops->interval(report->sink, interval);
}

static void take_summary(struct report *report, struct capture_record *record)
{
	report->summarized = true;
	report->sink->ops->summary(report->sink, &record->summary);
}

/* ---- what does not add up ---- */

/* A record of a report that the capture is not. 0 or -EINVAL. */
static int check_kind(struct report *report, bool update, char *why)
{
	bool of_updates = report->start.updates;

	/* without a start, the first record tells */
	if (!run_is_known(&report->start))
		of_updates = update ? !report->any_fault : report->any_update;
	if (update != of_updates) {
		snprintf(why, CAPTURE_WHY_BYTES, update ? "it is of an update, in a capture of faults"
							: "it is of faults, in a capture of updates");
		return -EINVAL;
	}
	report->any_update |= update;
	report->any_fault |= !update;
	return 0;
}

static int check_vma(struct report *report, const struct capture_record *record, char *why)
{
	struct balance_row row = { .known = record->row_known };
	struct vma_report sum;
	int error = check_kind(report, false, why);

	if (error)
		return error;
	if (row.known && rows_sum(report->rows, &record->vma, &sum))
		row.intervals = &sum;
	return balance_vma(report->balance, &record->vma, &row, why);
}

static int weigh(struct report *report, struct capture_record *record, char *why)
{
	struct balance *balance = report->balance;
	int error;

	switch (record->kind) {
	case CAPTURE_VMA:
		return check_vma(report, record, why);
	case CAPTURE_UPDATE:
		error = check_kind(report, true, why);
		return error ? error : balance_update(balance, &record->update, why);
	case CAPTURE_EVENT:
		return check_kind(report, false, why);
	case CAPTURE_INTERVAL:
		return balance_interval(balance, &record->interval, why);
	case CAPTURE_SUMMARY:
		return balance_summary(balance, &record->summary, why);
	default:
		return 0;
	}
}

/* Whether the record fits what came before it; else it is left out, and that is said. */
static bool adds_up(struct report *report, struct capture_record *record)
{
	char why[CAPTURE_WHY_BYTES];
	int error = weigh(report, record, why);

	if (error == -EINVAL)
		refuse_line(report, "%s", why);
	else if (error)
		report->error = -error;
	report->unfit |= error == -EINVAL && record->kind == CAPTURE_SUMMARY;
	return !error;
}

static void take_record(struct report *report, struct capture_record *record)
{
	static void (*const take[])(struct report *report, struct capture_record *record) = {
		[CAPTURE_START] = take_start,
		[CAPTURE_VMA] = take_vma,
		[CAPTURE_UPDATE] = take_update,
		[CAPTURE_EVENT] = take_event,
		[CAPTURE_INTERVAL] = take_interval,
		[CAPTURE_SUMMARY] = take_summary,
	};

	if (record->kind == CAPTURE_START && report->started) {
		report->another = true;
		return;
	}
	if (report->summarized) {
		refuse_line(report, "it comes after the summary");
		return;
	}
	if (record->kind != CAPTURE_START && !report->started)
		begin_without_start(report);
	if (!adds_up(report, record))
		return;
	report->used++;
	take[record->kind](report, record);
}

static void take_line(struct report *report, const struct line *line)
{
	struct capture_record record;
	char why[CAPTURE_WHY_BYTES];
	int error;

	if (line->too_long) {
		refuse_line(report, "it is longer than %d bytes", LINE_MAX_BYTES);
		return;
	}
	error = capture_read(report->capture, line->text, line->length, &record, why);
	if (error == -ENOMEM)
		report->error = ENOMEM;
	else if (error == -ENODATA && !line->ended)
		notice("%s: it is cut off in line %" PRIu64, report->name, report->line);
	else if (error)
		refuse_line(report, "%s", why);
	else if (record.kind != CAPTURE_UNKNOWN)
		take_record(report, &record);
	else if (!report->unknown++) {
		report->unknown_line = report->line;
		printable_terminal(report->unknown_type, why, NAME_COLUMNS);
	}
}

/* The first line shows whether it is a capture at all. */
static void take_first_or_other(struct report *report, const struct line *line)
{
	if (!report->begun)
		report->foreign = foreign_form(line->text, line->length, line->ended);
	report->begun = true;
	if (!report->foreign)
		take_line(report, line);
}

static void read_lines(struct report *report)
{
	struct line line = { .text = malloc(LINE_MAX_BYTES) };

	if (!line.text)
		report->error = ENOMEM;
	while (!report->error && !report->another && !report->foreign &&
	       next_line(report->in, &line)) {
		report->line++;
		if (!is_blank(&line))
			take_first_or_other(report, &line);
		if (report->sink->failed)
			break;
	}
	free(line.text);
	if (report->another)
		notice("%s: another run begins in line %" PRIu64 "; only the first is reported",
		       report->name, report->line);
	if (!report->error && ferror(report->in)) {
		notice("%s: it cannot be read beyond line %" PRIu64 ": %s", report->name,
		       report->line, strerror(errno));
	}
}

/* ---- a capture that ends before its summary ---- */

static void note_missing(struct report *report, int error, const char *why)
{
	if (error == -EINVAL)
		notice("%s: a row is left out of the totals: %s", report->name, why);
	else
		report->error = -error;
}

static void add_missing_total(void *context, const struct vma_report *vma)
{
	const struct balance_row row = { true, vma };
	struct report *report = context;
	char why[CAPTURE_WHY_BYTES];
	int error = balance_vma(report->balance, vma, &row, why);

	if (error)
		note_missing(report, error, why);
	else
		add_total(report, vma);
}

static void add_missing_update(void *context, const struct update_report *update)
{
	struct report *report = context;
	char why[CAPTURE_WHY_BYTES];
	int error = balance_update(report->balance, update, why);

	if (error)
		note_missing(report, error, why);
	else
		add_update_total(report, update);
}

/* The totals of the rows that have none. False, with the report's error: they are not whole. */
static bool add_missing(struct report *report)
{
	int error = rows_each(report->rows, add_missing_total, report);

	if (!error)
		error = update_sums_each(report->update_sums, add_missing_update, report);
	if (error)
		report->error = -error;
	return !report->error;
}

/* Says what can be said at the end: the sum of what came. */
static void summarize(struct report *report)
{
	struct summary_report *sum = &report->sum;
	char verdict[UPDATE_VERDICT_BYTES], text[UPDATE_VERDICT_BYTES + 100];

	if (report->unfit)
		notice("%s: the totals are of the rows that it has", report->name);
	else
		notice("%s: there is no summary: tracing was killed, still goes on, or the file is "
		       "cut off; the totals are of what it has", report->name);
	if (!add_missing(report))
		return;
	if (report->start.updates || (report->any_update && !report->verdict.vmas))
		update_verdict_text(&report->update_verdict, verdict, sizeof(verdict));
	else
		verdict_for_run(&report->verdict, verdict, sizeof(verdict));
	snprintf(text, sizeof(text), "%s; of what it has: %s", report->unfit ?
		 "The capture does not add up" : "The capture ends early", verdict);
	sum->unmeasured = !report->measured;
	sum->verdict = text;
	sum->vmas = report->verdict.vmas;
	sum->faults = report->verdict.faults.total;
	sum->batches = report->verdict.batches.total;
	sum->installed_pages = report->verdict.installed_pages;
	report->sink->ops->summary(report->sink, sum);
}

/* ---- the command ---- */

static FILE *open_capture(const char *path, char *message)
{
	struct stat status;
	FILE *in;

	if (!strcmp(path, "-"))
		return stdin;
	in = fopen(path, "re");
	if (!in) {
		snprintf(message, MESSAGE_BYTES, "%s: %s", path, strerror(errno));
		return NULL;
	}
	if (!fstat(fileno(in), &status) && S_ISDIR(status.st_mode)) {
		snprintf(message, MESSAGE_BYTES, "%s: is a directory; name a file that "
			 "`lazyfault -j -o FILE` wrote", path);
		fclose(in);
		return NULL;
	}
	return in;
}

/* The capture would be emptied before it is read, or replaced. */
static bool would_lose(FILE *in, const char *option, const char *path, char *message)
{
	if (!output_is_at(in, path))
		return false;
	snprintf(message, MESSAGE_BYTES, "--%s=%s: is the capture itself; name another file",
		 option, path);
	return true;
}

static int set_up(struct report *report, FILE **out, char *message)
{
	const struct options *options = report->options;
	struct stat status;

	report->in = open_capture(options->file, message);
	if (!report->in)
		return -EIO;
	report->in_is_file = !fstat(fileno(report->in), &status) && S_ISREG(status.st_mode);
	if (would_lose(report->in, "output", options->output, message) ||
	    would_lose(report->in, "openmetrics", options->openmetrics, message))
		return -EINVAL;
	report->capture = capture_new();
	report->balance = balance_new();
	report->rows = rows_new();
	report->update_sums = update_sums_new();
	if (!report->capture || !report->balance || !report->rows || !report->update_sums)
		return -ENOMEM;
	*out = output_open(options->output, message, MESSAGE_BYTES);
	if (!*out)
		return -EIO;
	report->sink = sinks_open(options, true, *out, NULL, message, MESSAGE_BYTES);
	return report->sink ? 0 : -ENOMEM;
}

static void close_report(struct report *report)
{
	sink_free(report->sink);
	balance_free(report->balance);
	rows_free(report->rows);
	update_sums_free(report->update_sums);
	capture_free(report->capture);
	if (report->in && report->in != stdin)
		fclose(report->in);
}

/* The exit status, after the last line. */
static int conclude(struct report *report)
{
	if (report->sink->failed && report->sink->error == EPIPE)
		return EXIT_SUCCESS;
	if (report->sink->failed) {
		sink_complain(report->sink);
		return EXIT_FAILURE;
	}
	if (report->error) {
		complain("%s: %s", report->name, strerror(report->error));
		return EXIT_FAILURE;
	}
	if (report->foreign) {
		complain("%s: %s", report->name, report->foreign);
		return EXIT_FAILURE;
	}
	if (!report->used) {
		complain("%s: %s no record that can be used; `lazyfault -j -o FILE` writes a "
			 "capture", report->name, report->line ? "it has" : "it is empty:");
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

int command_report(const struct options *options)
{
	struct report report = {
		.options = options,
		.name = strcmp(options->file, "-") ? options->file : "standard input",
	};
	char message[MESSAGE_BYTES] = "";
	FILE *out = NULL;
	int status, error;

	/* a reader that goes away ends it quietly, by the failed write */
	signal(SIGPIPE, SIG_IGN);
	if (set_up(&report, &out, message)) {
		complain("%s", message[0] ? message : "out of memory");
		close_report(&report);
		if (out)
			output_close(out);
		return EXIT_FAILURE;
	}
	read_lines(&report);
	tell_rest(&report);
	if (report.started && !report.summarized && !report.sink->failed && !report.error)
		summarize(&report);
	status = conclude(&report);
	close_report(&report);
	error = output_close(out);
	if (error && error != EPIPE && status == EXIT_SUCCESS) {
		output_complain("output", options->output, error);
		status = EXIT_FAILURE;
	}
	return status;
}
