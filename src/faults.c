/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fault report: counts the faults of VMAs that map BPF maps, and hands
 * the rows of the VMA table to the sink.
 */
#include <errno.h>
#include <stdio.h>

#include "commands.h"
#include "errors.h"
#include "filters.h"
#include "handlers.h"
#include "options.h"
#include "run.h"
#include "sink.h"
#include "tracer.h"
#include "verdict.h"
#include "vma_table.h"

struct faults {
	struct handlers handlers;
	struct tracer *tracer;
	struct vma_table *table;
	struct verdict_input verdict;
	char verdict_text[1024];
};

/* ---- start ---- */

static uint32_t power_of_two_above(uint32_t value)
{
	uint32_t power = 1;

	while (power < value)
		power <<= 1;
	return power;
}

static void show_event(void *context, const struct event_report *event)
{
	struct run *run = context;

	sink_event(run->sink, event);
}

static int attach(struct run *run, char *message)
{
	const struct options *options = run->options;
	struct faults *faults = run->report;
	struct tracer_config config = {
		.handlers = &faults->handlers,
		.light = options->light,
		.no_time = options->no_time,
		.targets = &run->targets,
		.max_vmas = power_of_two_above(options->max_vmas),
		.ring_bytes = options->ring_bytes,
		.on_event = options->events ? show_event : NULL,
		.context = run,
	};
	const struct program_gaps *gaps;

	handlers_find(&faults->handlers);
	faults->tracer = tracer_start(&config, message, MESSAGE_BYTES);
	if (!faults->tracer)
		return -EPERM;
	gaps = tracer_gaps(faults->tracer);
	for (size_t i = 0; i < gaps->count; i++)
		notice("not traced: %s: %s", gaps->items[i].what, gaps->items[i].why);
	faults->table = vma_table_new(tracer_is_timed(faults->tracer),
				      tracer_is_exact(faults->tracer));
	if (!faults->table) {
		snprintf(message, MESSAGE_BYTES, "out of memory");
		return -ENOMEM;
	}
	return 0;
}

static uint64_t fault_around_bytes(void)
{
	FILE *file = fopen("/sys/kernel/debug/fault_around_bytes", "re");
	unsigned long long bytes = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%llu", &bytes) != 1)
		bytes = 0;
	fclose(file);
	return bytes;
}

static void describe(struct run *run)
{
	struct faults *faults = run->report;
	struct run_start *start = &run->start;

	start->exact = tracer_is_exact(faults->tracer);
	start->timed = tracer_is_timed(faults->tracer);
	start->events = run->options->events;
	start->fault_around_bytes = fault_around_bytes();
	handlers_describe(&faults->handlers, start->types);
	faults->verdict.start = start;
}

/* ---- while tracing ---- */

static void show_vma(void *context, const struct vma_report *report)
{
	struct run *run = context;

	run->sink->ops->vma(run->sink, report);
}

static void show_total(void *context, const struct vma_report *report)
{
	struct run *run = context;
	struct faults *faults = run->report;

	verdict_add(&faults->verdict, report);
	run->sink->ops->vma(run->sink, report);
}

static void show_evicted(struct run *run)
{
	struct faults *faults = run->report;

	vma_table_each_evicted(faults->table, run_has_intervals(run) ? show_vma : NULL,
			       show_total, run);
}

static int records_fd(struct run *run)
{
	struct faults *faults = run->report;

	return tracer_fd(faults->tracer);
}

static int drain(struct run *run)
{
	struct faults *faults = run->report;
	int error = tracer_drain(faults->tracer, faults->table);

	if (run->options->events)
		sink_flush(run->sink);
	if (!error)
		show_evicted(run);
	return error;
}

static int collect(struct run *run)
{
	struct faults *faults = run->report;
	int error = tracer_collect(faults->tracer, faults->table);

	if (!error)
		show_evicted(run);
	return error;
}

static void show_interval(struct run *run, struct interval_report *interval)
{
	struct faults *faults = run->report;

	vma_table_each_interval(faults->table, show_vma, run, &interval->faults,
				&interval->installed_pages);
}

static void progress(struct run *run, struct status_counts *counts)
{
	struct faults *faults = run->report;

	counts->faults_known = !tracer_progress(faults->tracer, &counts->faults,
						&counts->installed_pages);
}

static void losses(struct run *run, struct losses *lost)
{
	struct faults *faults = run->report;

	tracer_losses(faults->tracer, lost);
}

/* ---- the end ---- */

static void show_totals(struct run *run, struct summary_report *summary)
{
	struct faults *faults = run->report;

	vma_table_each_total(faults->table, show_total, run);
	verdict_for_run(&faults->verdict, faults->verdict_text, sizeof(faults->verdict_text));
	summary->vmas = vma_table_count(faults->table);
	summary->faults = faults->verdict.faults.total;
	summary->batches = faults->verdict.batches.total;
	summary->installed_pages = faults->verdict.installed_pages;
	summary->verdict = faults->verdict_text;
}

static void detach(struct run *run)
{
	struct faults *faults = run->report;

	tracer_detach(faults->tracer);
}

static void tell(struct run *run)
{
	struct faults *faults = run->report;

	if (tracer_follows_no_more(faults->tracer))
		tell_of_too_many_processes();
	if (tracer_filtered(faults->tracer) && run->options->verbose)
		notice("%llu faults were left out by the filters",
		       (unsigned long long)tracer_filtered(faults->tracer));
}

static void free_faults(struct run *run)
{
	struct faults *faults = run->report;

	tracer_free(faults->tracer);
	vma_table_free(faults->table);
}

int command_faults(const struct options *options)
{
	static const struct run_ops ops = {
		.attach = attach,
		.describe = describe,
		.records_fd = records_fd,
		.drain = drain,
		.collect = collect,
		.show_interval = show_interval,
		.show_totals = show_totals,
		.progress = progress,
		.losses = losses,
		.detach = detach,
		.tell = tell,
		.free = free_faults,
	};
	struct faults faults = {};

	return run_report(options, &ops, &faults);
}
