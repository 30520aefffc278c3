/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens sinks by the options; a second one beside the first hears the same. */
#include "sinks.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "html.h"
#include "openmetrics.h"
#include "output.h"
#include "options.h"
#include "sink.h"
#include "text_draw.h"

/* Two sinks as one. The first is the one whose reader may go away. */
struct both {
	struct sink sink;
	struct sink *first, *second;
};

static void note_failure(struct both *both, const struct sink *sink)
{
	if (!both->sink.failed && sink->failed) {
		both->sink.failed = true;
		both->sink.error = sink->error;
		both->sink.told = sink->told;
		both->sink.option = sink->option;
		both->sink.path = sink->path;
	}
}

static void note_failures(struct both *both)
{
	note_failure(both, both->first);
	note_failure(both, both->second);
}

static void both_start(struct sink *sink, const struct run_start *start)
{
	struct both *both = (struct both *)sink;

	both->first->ops->start(both->first, start);
	both->second->ops->start(both->second, start);
	note_failures(both);
}

static void both_vma(struct sink *sink, const struct vma_report *vma)
{
	struct both *both = (struct both *)sink;

	both->first->ops->vma(both->first, vma);
	both->second->ops->vma(both->second, vma);
	note_failures(both);
}

static void both_update(struct sink *sink, const struct update_report *update)
{
	struct both *both = (struct both *)sink;

	both->first->ops->update(both->first, update);
	both->second->ops->update(both->second, update);
	note_failures(both);
}

static void both_event(struct sink *sink, const struct event_report *event)
{
	struct both *both = (struct both *)sink;

	sink_event(both->first, event);
	sink_event(both->second, event);
	note_failures(both);
}

static void both_flush(struct sink *sink)
{
	struct both *both = (struct both *)sink;

	sink_flush(both->first);
	sink_flush(both->second);
	note_failures(both);
}

static void both_interval(struct sink *sink, const struct interval_report *interval)
{
	struct both *both = (struct both *)sink;

	both->first->ops->interval(both->first, interval);
	both->second->ops->interval(both->second, interval);
	note_failures(both);
}

static void both_summary(struct sink *sink, const struct summary_report *summary)
{
	struct both *both = (struct both *)sink;

	both->first->ops->summary(both->first, summary);
	both->second->ops->summary(both->second, summary);
	note_failures(both);
}

static void both_free(struct sink *sink)
{
	struct both *both = (struct both *)sink;

	sink_free(both->first);
	sink_free(both->second);
	free(both);
}

/* Takes both over; NULL: no memory. */
static struct sink *both_new(struct sink *first, struct sink *second)
{
	static const struct sink_ops ops = {
		.start = both_start,
		.vma = both_vma,
		.update = both_update,
		.event = both_event,
		.flush = both_flush,
		.interval = both_interval,
		.summary = both_summary,
		.free = both_free,
	};
	struct both *both = calloc(1, sizeof(*both));

	if (!both) {
		sink_free(first);
		sink_free(second);
		return NULL;
	}
	both->sink.ops = &ops;
	both->sink.out = first->out;
	both->sink.option = first->option;
	both->sink.path = first->path;
	both->first = first;
	both->second = second;
	return &both->sink;
}

/* What a line may take on a terminal, less the last column, which would wrap some; 0: no bound. */
static unsigned int columns_of(FILE *out)
{
	unsigned int columns = output_columns(fileno(out));

	if (!isatty(fileno(out)))
		return 0;
	return columns > TEXT_COLUMNS ? columns - 1 : TEXT_COLUMNS;
}

static struct sink *open_first(const struct options *options, bool intervals, FILE *out)
{
	struct text_options text = {
		.top = options->top,
		.sort_key = options->sort_key,
		.timestamp = options->timestamp,
		.unicode = isatty(fileno(out)) && !strcmp(nl_langinfo(CODESET), "UTF-8"),
		.columns = columns_of(out),
		.verbose = options->verbose,
		.quiet = options->quiet,
		.intervals = intervals,
	};

	if (options->json)
		return json_sink_new(out);
	if (options->html)
		return html_sink_new(out, options->top, options->sort_key);
	return text_sink_new(out, &text);
}

/* The metrics take the place of the file that is there: of no other output. */
static struct sink *open_metrics(const struct options *options, FILE *out, FILE *saved,
				 char *message, size_t message_bytes)
{
	const char *path = options->openmetrics;

	if (output_is_at(out, path) || (saved && output_is_at(saved, path))) {
		snprintf(message, message_bytes, "--openmetrics=%s: the %s goes there too; name "
			 "another file", path, output_is_at(out, path) ? "report" : "capture");
		return NULL;
	}
	return openmetrics_sink_new(path, options->per_process, message, message_bytes);
}

/* NULL is fine. */
static void name_sink(struct sink *sink, const char *option, const char *path)
{
	if (!sink)
		return;
	sink->option = option;
	sink->path = path;
}

struct sink *sinks_open(const struct options *options, bool intervals, FILE *out, FILE *saved,
			char *message, size_t message_bytes)
{
	struct sink *sink = open_first(options, intervals, out), *capture, *metrics;

	name_sink(sink, "output", options->output);
	if (sink && saved) {
		capture = json_sink_new(saved);
		name_sink(capture, "save", options->save);
		if (capture)
			sink = both_new(sink, capture);
		else
			sink_free(sink);
		if (!capture)
			sink = NULL;
	}
	if (sink && options->openmetrics) {
		metrics = open_metrics(options, out, saved, message, message_bytes);
		if (!metrics) {
			sink_free(sink);
			return NULL;
		}
		name_sink(metrics, "openmetrics", options->openmetrics);
		sink = both_new(sink, metrics);
	}
	if (!sink)
		snprintf(message, message_bytes, "out of memory");
	return sink;
}
