/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all reports' runs share, from set-up to exit status. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "errors.h"
#include "loop.h"
#include "options.h"
#include "output.h"
#include "privileges.h"
#include "run.h"
#include "sink.h"
#include "sinks.h"

/* How often events are taken: so late they are printed, and that much the ring must hold. */
#define EVENT_DRAIN_SECONDS 0.1

bool run_has_intervals(const struct run *run)
{
	return run->options->interval > 0;
}

/* ---- start ---- */

static void describe_start(struct run *run)
{
	const struct options *options = run->options;

	uname(&run->kernel);
	run->start = (struct run_start){
		.version = LAZYFAULT_VERSION,
		.kernel = run->kernel.release,
		.arch = run->kernel.machine,
		.page_bytes = (unsigned int)sysconf(_SC_PAGESIZE),
		.scope = run->targets.scope,
		.filtered = options->pid_count || options->map_count || options->cgroup,
		.stop_hint = options->argv ? "Ends with the command." : "Hit Ctrl-C to end.",
	};
	clock_gettime(CLOCK_REALTIME, &run->start.time);
	run->ops->describe(run);
}

/* What is attached and open is all that the rest goes by. */
static int give_up_privileges(const struct run *run, char *message)
{
	char kept[256];
	int error = privileges_drop(run->options, kept, sizeof(kept));

	if (error)
		snprintf(message, MESSAGE_BYTES, "cannot give up capabilities: %s",
			 error_name(-error));
	else if (run->options->verbose)
		notice("capabilities are given up: all%s%s", kept[0] ? " but " : "", kept);
	return error;
}

static int open_outputs(struct run *run, char *message)
{
	const struct options *options = run->options;

	run->out = output_open(options->output, message, MESSAGE_BYTES);
	if (!run->out)
		return -EIO;
	if (!options->save)
		return 0;
	run->saved = output_open_for("save", options->save, message, MESSAGE_BYTES);
	if (!run->saved)
		return -EIO;
	if (!output_is_same(run->saved, run->out))
		return 0;
	snprintf(message, MESSAGE_BYTES, "--save=%s: the report goes there too; name another file",
		 options->save);
	return -EINVAL;
}

static int set_up(struct run *run, char *message)
{
	int error = loop_block_signals();

	if (!error)
		error = targets_find(&run->targets, run->options, message, MESSAGE_BYTES);
	if (!error)
		error = run->ops->attach(run, message);
	if (error)
		return error;
	error = open_outputs(run, message);
	if (error)
		return error;
	describe_start(run);
	run->sink = sinks_open(run->options, run->options->interval > 0, run->out, run->saved,
			       message, MESSAGE_BYTES);
	return run->sink ? give_up_privileges(run, message) : -ENOMEM;
}

/* ---- while tracing ---- */

static double seconds_between(const struct timespec *from, const struct timespec *to)
{
	return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) / 1e9;
}

static int check_sink(struct run *run)
{
	return run->sink->failed ? -run->sink->error : 0;
}

static int take_records(void *context)
{
	struct run *run = context;

	run->error = run->ops->drain(run);
	if (!run->error)
		run->error = check_sink(run);
	return run->error;
}

static struct losses losses_since(const struct losses *now, const struct losses *before)
{
	return (struct losses){
		.ring_full = now->ring_full - before->ring_full,
		.vma_table_full = now->vma_table_full - before->vma_table_full,
		.recursion = now->recursion - before->recursion,
		.recursion_at_most = now->recursion_at_most &&
				     now->recursion > before->recursion,
		.unseen_runs = now->unseen_runs - before->unseen_runs,
		.events_lost = now->events_lost - before->events_lost,
	};
}

static void show_interval(struct run *run)
{
	struct interval_report interval = {};
	struct timespec now;
	struct losses lost;

	run->ops->show_interval(run, &interval);
	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_gettime(CLOCK_REALTIME, &interval.time);
	interval.seconds = seconds_between(&run->interval_began, &now);
	run->ops->losses(run, &lost);
	/* these can turn out to be seen: never below what was said */
	if (lost.unseen_runs < run->lost_before.unseen_runs)
		lost.unseen_runs = run->lost_before.unseen_runs;
	interval.lost = losses_since(&lost, &run->lost_before);
	run->interval_began = now;
	run->lost_before = lost;
	run->sink->ops->interval(run->sink, &interval);
}

/* Called where the loop is awake anyway. */
static void show_status(void *context)
{
	struct run *run = context;
	struct status_counts counts = {};
	struct timespec now;
	struct losses lost;

	clock_gettime(CLOCK_MONOTONIC, &now);
	counts.seconds = seconds_between(&run->began, &now);
	if (!status_is_due(&run->status, counts.seconds))
		return;
	run->ops->losses(run, &lost);
	counts.lost = lost.ring_full + lost.vma_table_full + lost.recursion;
	run->ops->progress(run, &counts);
	status_draw(&run->status, &counts);
}

static int end_interval(void *context)
{
	struct run *run = context;

	run->error = run->ops->collect(run);
	if (run->error)
		return run->error;
	show_interval(run);
	run->error = check_sink(run);
	return run->error;
}

/* The first line comes before the command's own output. 0 or -errno. */
static int begin(struct run *run)
{
	int error;

	clock_gettime(CLOCK_MONOTONIC, &run->began);
	run->interval_began = run->began;
	run->sink->ops->start(run->sink, &run->start);
	error = targets_release(&run->targets);
	if (error)
		complain("cannot run %s: %s", run->options->argv[0], strerror(-error));
	return error;
}

static enum loop_end trace(struct run *run)
{
	const struct options *options = run->options;
	const struct targets *targets = &run->targets;
	struct loop_config config = {
		.interval = options->interval,
		.count = options->count,
		.duration = options->duration,
		.drain_seconds = options->events ? EVENT_DRAIN_SECONDS : 0,
		.records_fd = run->ops->records_fd(run),
		.output_fd = fileno(run->out),
		.pidfds = targets->pidfds,
		.pidfd_count = targets->pidfd_count,
		.command_pidfd = options->argv ? targets->child.pidfd : -1,
		.command = targets->child.pid,
		.on_records = take_records,
		.on_interval = end_interval,
		.on_tick = show_status,
		.context = run,
	};
	enum loop_end why;

	status_begin(&run->status, options, run->out);
	why = loop_run(&config);
	if (why == END_FAILED)
		run->error = -errno;
	status_erase(&run->status);
	return why;
}

/* ---- the end ---- */

static void show_summary(struct run *run)
{
	struct summary_report summary = {};
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	run->ops->show_totals(run, &summary);
	summary.seconds = seconds_between(&run->began, &now);
	run->ops->losses(run, &summary.lost);
	run->sink->ops->summary(run->sink, &summary);
}

static int finish(struct run *run, enum loop_end why)
{
	int error = 0;

	if (run->sink->failed && run->sink->error == EPIPE)
		return 0;
	if (run->sink->failed) {
		sink_complain(run->sink);
		return EXIT_FAILURE;
	}
	run->ops->detach(run);
	if (why == END_PIPE)
		return 0;
	error = run->ops->collect(run);
	if (error) {
		complain("the last counts could not be fetched: %s", error_name(-error));
		return EXIT_FAILURE;
	}
	if (run_has_intervals(run))
		show_interval(run);
	show_summary(run);
	if (run->sink->failed && run->sink->error != EPIPE)
		sink_complain(run->sink);
	if (run->ops->tell)
		run->ops->tell(run);
	if (why == END_FAILED || why == END_CALLBACK) {
		complain("tracing ended early: %s", error_name(-run->error));
		return EXIT_FAILURE;
	}
	return run->sink->failed && run->sink->error != EPIPE ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void close_run(struct run *run)
{
	sink_free(run->sink);
	run->ops->free(run);
	targets_free(&run->targets);
	/* its sink is closed: what could not be written has not been said yet */
	if (run->saved)
		run->save_error = output_close(run->saved);
}

/* What is written only now; the exit status. */
static int close_output(struct run *run, int status, enum loop_end why)
{
	int error = output_close(run->out);

	/* a reader that goes away ends it quietly */
	if (error == EPIPE || why == END_PIPE)
		error = 0;
	if (status != EXIT_SUCCESS)
		return status;
	if (run->save_error)
		output_complain("save", run->options->save, run->save_error);
	if (error)
		output_complain("output", run->options->output, error);
	return run->save_error || error ? EXIT_FAILURE : EXIT_SUCCESS;
}

int run_report(const struct options *options, const struct run_ops *ops, void *report)
{
	struct run run = {
		.options = options, .ops = ops, .report = report, .targets = TARGETS_NONE,
	};
	char message[MESSAGE_BYTES] = "";
	enum loop_end why;
	int status;

	if (set_up(&run, message)) {
		complain("%s", message[0] ? message : "out of memory");
		close_run(&run);
		return EXIT_FAILURE;
	}
	if (begin(&run)) {
		status = child_wait(&run.targets.child);
		close_run(&run);
		return status;
	}
	why = trace(&run);
	loop_let_signals_end();
	status = finish(&run, why);
	close_run(&run);
	status = close_output(&run, status, why);
	if (options->argv && status == EXIT_SUCCESS)
		status = child_wait(&run.targets.child);
	return status;
}
