/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The update report: times operations on maps of maps, and hands the rows of
 * the update table to the sink.
 */
#include <errno.h>
#include <stdio.h>

#include "commands.h"
#include "errors.h"
#include "filters.h"
#include "handlers.h"
#include "options.h"
#include "rcu.h"
#include "run.h"
#include "sink.h"
#include "update_table.h"
#include "update_tracer.h"
#include "update_verdict.h"

struct updates {
	struct handlers handlers;
	struct update_tracer *tracer;
	struct update_table *table;
	struct update_verdict verdict;
	char verdict_text[UPDATE_VERDICT_BYTES];
};

/* ---- start ---- */

static int attach(struct run *run, char *message)
{
	struct updates *updates = run->report;
	const struct update_tracer_config config = {
		.targets = &run->targets,
		.handlers = &updates->handlers,
		.ring_bytes = run->options->ring_bytes,
	};
	const struct program_gaps *gaps;

	handlers_find(&updates->handlers);
	updates->tracer = update_tracer_start(&config, message, MESSAGE_BYTES);
	if (!updates->tracer)
		return -EPERM;
	gaps = update_tracer_gaps(updates->tracer);
	for (size_t i = 0; i < gaps->count; i++)
		notice("not traced: %s: %s", gaps->items[i].what, gaps->items[i].why);
	updates->table = update_table_new();
	if (!updates->table) {
		snprintf(message, MESSAGE_BYTES, "out of memory");
		return -ENOMEM;
	}
	return 0;
}

static void describe(struct run *run)
{
	struct updates *updates = run->report;
	struct run_start *start = &run->start;

	start->timed = true;
	start->updates = true;
	start->exact = update_tracer_sees_all(updates->tracer);
	handlers_describe(&updates->handlers, start->types);
	rcu_look(&start->rcu);
	update_tracer_waits(updates->tracer, &start->rcu);
	updates->verdict.rcu = &start->rcu;
	updates->verdict.filtered = start->filtered;
}

/* ---- while tracing ---- */

static void show(void *context, const struct update_report *report)
{
	struct run *run = context;

	run->sink->ops->update(run->sink, report);
}

static void show_total(void *context, const struct update_report *report)
{
	struct run *run = context;
	struct updates *updates = run->report;

	update_verdict_add(&updates->verdict, report);
	run->sink->ops->update(run->sink, report);
}

static int records_fd(struct run *run)
{
	struct updates *updates = run->report;

	return update_tracer_fd(updates->tracer);
}

static int take(struct run *run)
{
	struct updates *updates = run->report;
	int error = update_tracer_drain(updates->tracer, updates->table);

	if (!error)
		update_table_each_evicted(updates->table, run_has_intervals(run) ? show : NULL,
					  show_total, run);
	return error;
}

static void show_interval(struct run *run, struct interval_report *interval)
{
	struct updates *updates = run->report;

	(void)interval;
	update_table_each_interval(updates->table, show, run);
}

/* Those that have been taken: the loop drains a moment before. */
static void progress(struct run *run, struct status_counts *counts)
{
	struct updates *updates = run->report;

	counts->calls_known = true;
	counts->calls = update_table_operations(updates->table);
}

static void losses(struct run *run, struct losses *lost)
{
	struct updates *updates = run->report;

	update_tracer_losses(updates->tracer, lost);
}

/* ---- the end ---- */

static void show_totals(struct run *run, struct summary_report *summary)
{
	struct updates *updates = run->report;

	update_table_each_total(updates->table, show_total, run);
	/* a knob turned meanwhile is told as it is now */
	rcu_look(&run->start.rcu);
	update_verdict_text(&updates->verdict, updates->verdict_text,
			    sizeof(updates->verdict_text));
	summary->verdict = updates->verdict_text;
}

static void detach(struct run *run)
{
	struct updates *updates = run->report;

	update_tracer_detach(updates->tracer);
}

static void tell(struct run *run)
{
	struct updates *updates = run->report;
	uint64_t unseen = update_tracer_unseen_waits(updates->tracer);

	if (update_tracer_follows_no_more(updates->tracer))
		tell_of_too_many_processes();
	if (unseen)
		notice("missed waits, of any process: up to %llu; waiting may be more than is shown",
		       (unsigned long long)unseen);
}

static void free_updates(struct run *run)
{
	struct updates *updates = run->report;

	update_tracer_free(updates->tracer);
	update_table_free(updates->table);
}

int command_updates(const struct options *options)
{
	static const struct run_ops ops = {
		.attach = attach,
		.describe = describe,
		.records_fd = records_fd,
		.drain = take,
		.collect = take,
		.show_interval = show_interval,
		.show_totals = show_totals,
		.progress = progress,
		.losses = losses,
		.detach = detach,
		.tell = tell,
		.free = free_updates,
	};
	struct updates updates = {};

	return run_report(options, &ops, &updates);
}
