/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fault report: finds what to trace, traces it until told to stop, and
 * hands what was counted to a sink.
 */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "commands.h"
#include "errors.h"
#include "handlers.h"
#include "loop.h"
#include "map_select.h"
#include "options.h"
#include "output.h"
#include "sink.h"
#include "tracer.h"
#include "verdict.h"
#include "vma_table.h"

#define MESSAGE_BYTES 2048

/* All that a run holds; freed in one place. */
struct run {
	const struct options *options;
	struct handlers handlers;
	struct tracer *tracer;
	struct vma_table *table;
	struct sink *sink;
	FILE *out;
	uint32_t *map_ids;
	size_t map_count;
	int *pidfds;
	size_t pidfd_count;
	int cgroup_fd;
	struct child child;
	bool child_waits;		/* prepared, and not let go */
	char scope[256];
	struct run_start start;
	struct utsname kernel;
	struct timespec began, interval_began;	/* CLOCK_MONOTONIC */
	struct losses lost_before;	/* at the last interval */
	struct verdict_input verdict;
	bool total_failed;
};

/* ---- what to trace ---- */

/* A thread's id is a common mistake: the process it belongs to is named. */
static void explain_pid(pid_t pid, int error, char *message)
{
	char path[64], line[128];
	int tgid = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "Tgid: %d", &tgid) == 1)
			break;
	if (status)
		fclose(status);
	if (tgid && tgid != pid)
		snprintf(message, MESSAGE_BYTES, "--pid=%d: is a thread of process %d; use --pid=%d",
			 pid, tgid, tgid);
	else if (error == ESRCH || error == EINVAL)
		snprintf(message, MESSAGE_BYTES, "--pid=%d: there is no such process", pid);
	else
		snprintf(message, MESSAGE_BYTES, "--pid=%d: %s", pid, error_name(error));
}

static int open_pids(struct run *run, char *message)
{
	const struct options *options = run->options;

	if (!options->pid_count)
		return 0;
	run->pidfds = calloc(options->pid_count, sizeof(*run->pidfds));
	if (!run->pidfds)
		return -ENOMEM;
	for (size_t i = 0; i < options->pid_count; i++) {
		int fd = (int)syscall(SYS_pidfd_open, options->pids[i], 0);

		if (fd < 0) {
			explain_pid(options->pids[i], errno, message);
			return -ESRCH;
		}
		run->pidfds[run->pidfd_count++] = fd;
	}
	return 0;
}

static int open_cgroup(struct run *run, char *message)
{
	const char *path = run->options->cgroup;
	struct statfs status;

	if (!path)
		return 0;
	run->cgroup_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (run->cgroup_fd < 0) {
		snprintf(message, MESSAGE_BYTES, "--cgroup=%s: %s", path, strerror(errno));
		return -errno;
	}
	if (fstatfs(run->cgroup_fd, &status) || status.f_type != CGROUP2_SUPER_MAGIC) {
		snprintf(message, MESSAGE_BYTES,
			 "--cgroup=%s: is not a directory of a cgroup v2 file system, "
			 "and only cgroup v2 can be followed; `mount -t cgroup2` tells where it is",
			 path);
		return -EINVAL;
	}
	return 0;
}

static void describe_scope(struct run *run)
{
	const struct options *options = run->options;
	size_t at = 0;

#define ADD(...) \
	(at += at < sizeof(run->scope) ? (size_t)snprintf(run->scope + at, \
	 sizeof(run->scope) - at, __VA_ARGS__) : 0)
	if (options->argv)
		ADD("command %s", options->argv[0]);
	else if (options->pid_count)
		for (size_t i = 0; i < options->pid_count; i++)
			ADD("%s%d", i ? ", " : options->pid_count > 1 ? "pids " : "pid ",
			    options->pids[i]);
	else if (options->cgroup)
		ADD("cgroup %s", options->cgroup);
	else
		ADD("all processes");
	for (size_t i = 0; i < run->map_count; i++)
		ADD("%s%u", i ? ", " : run->map_count > 1 ? "; map ids " : "; map id ",
		    run->map_ids[i]);
#undef ADD
}

static int find_targets(struct run *run, char *message)
{
	const struct options *options = run->options;
	int error;

	run->cgroup_fd = -1;
	error = open_pids(run, message);
	if (!error)
		error = open_cgroup(run, message);
	if (!error && options->map_count)
		error = map_select(options->maps, options->map_count, &run->map_ids,
				   &run->map_count, message, MESSAGE_BYTES);
	if (!error && options->argv) {
		error = child_prepare(&run->child, options->argv);
		if (error)
			snprintf(message, MESSAGE_BYTES, "cannot start %s: %s", options->argv[0],
				 strerror(-error));
		run->child_waits = !error;
	}
	describe_scope(run);
	return error;
}

/* ---- start ---- */

static uint32_t power_of_two_above(uint32_t value)
{
	uint32_t power = 1;

	while (power < value)
		power <<= 1;
	return power;
}

static int start_tracer(struct run *run, char *message)
{
	const struct options *options = run->options;
	struct tracer_config config = {
		.handlers = &run->handlers,
		.light = options->light,
		.no_time = options->no_time,
		.pids = options->argv ? &run->child.pid : options->pids,
		.pid_count = options->argv ? 1 : options->pid_count,
		.descend = options->argv != NULL,
		.map_ids = run->map_ids,
		.map_count = run->map_count,
		.cgroup_fd = run->cgroup_fd,
		.max_vmas = power_of_two_above(options->max_vmas),
		.ring_bytes = options->ring_bytes,
	};
	const struct tracer_gap *gaps;
	size_t count;

	handlers_find(&run->handlers);
	run->tracer = tracer_start(&config, message, MESSAGE_BYTES);
	if (!run->tracer)
		return -EPERM;
	gaps = tracer_gaps(run->tracer, &count);
	for (size_t i = 0; i < count; i++)
		notice("not traced: %s: %s", gaps[i].what, gaps[i].why);
	run->table = vma_table_new(tracer_is_timed(run->tracer), tracer_is_exact(run->tracer));
	if (!run->table) {
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

static void describe_start(struct run *run)
{
	struct run_start *start = &run->start;

	uname(&run->kernel);
	*start = (struct run_start){
		.version = LAZYFAULT_VERSION,
		.kernel = run->kernel.release,
		.arch = run->kernel.machine,
		.exact = tracer_is_exact(run->tracer),
		.timed = tracer_is_timed(run->tracer),
		.page_bytes = (unsigned int)sysconf(_SC_PAGESIZE),
		.fault_around_bytes = fault_around_bytes(),
		.scope = run->scope,
		.stop_hint = run->options->argv ? "Ends with the command." : "Hit Ctrl-C to end.",
	};
	clock_gettime(CLOCK_REALTIME, &start->time);
	handlers_describe(&run->handlers, start->types);
	run->verdict.start = start;
}

static int open_sink(struct run *run, char *message)
{
	const struct options *options = run->options;
	struct text_options text = {
		.top = options->top,
		.sort_key = options->sort_key,
		.timestamp = options->timestamp,
		.unicode = isatty(fileno(run->out)) && !strcmp(nl_langinfo(CODESET), "UTF-8"),
		.verbose = options->verbose,
		.quiet = options->quiet,
		.intervals = options->interval > 0,
	};

	run->sink = options->json ? json_sink_new(run->out) : text_sink_new(run->out, &text);
	if (!run->sink) {
		snprintf(message, MESSAGE_BYTES, "out of memory");
		return -ENOMEM;
	}
	return 0;
}

/* ---- while tracing ---- */

static double seconds_between(const struct timespec *from, const struct timespec *to)
{
	return (double)(to->tv_sec - from->tv_sec) + (double)(to->tv_nsec - from->tv_nsec) / 1e9;
}

static void show_vma(void *context, const struct vma_report *report)
{
	struct run *run = context;

	run->sink->ops->vma(run->sink, report);
}

static void show_total(void *context, const struct vma_report *report)
{
	struct run *run = context;

	verdict_add(&run->verdict, report);
	run->sink->ops->vma(run->sink, report);
}

static bool intervals_wanted(const struct run *run)
{
	return run->options->interval > 0;
}

static int check_sink(struct run *run)
{
	return run->sink->failed ? -run->sink->error : 0;
}

static int take_records(void *context)
{
	struct run *run = context;
	int error = tracer_drain(run->tracer, run->table);

	if (error)
		return error;
	vma_table_each_evicted(run->table, intervals_wanted(run) ? show_vma : NULL, show_total,
			       run);
	return check_sink(run);
}

static struct losses losses_since(const struct losses *now, const struct losses *before)
{
	return (struct losses){
		.ring_full = now->ring_full - before->ring_full,
		.vma_table_full = now->vma_table_full - before->vma_table_full,
		.recursion = now->recursion - before->recursion,
		/* these can turn out to be seen: never below what was said */
		.unseen_runs = now->unseen_runs > before->unseen_runs ?
			now->unseen_runs - before->unseen_runs : 0,
	};
}

static void show_interval(struct run *run)
{
	struct interval_report interval = {};
	struct timespec now;
	struct losses lost;

	vma_table_each_interval(run->table, show_vma, run, &interval.faults,
				&interval.installed_pages);
	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_gettime(CLOCK_REALTIME, &interval.time);
	interval.seconds = seconds_between(&run->interval_began, &now);
	tracer_losses(run->tracer, &lost);
	interval.lost = losses_since(&lost, &run->lost_before);
	run->interval_began = now;
	run->lost_before = lost;
	run->sink->ops->interval(run->sink, &interval);
}

static int collect(struct run *run)
{
	int error = tracer_collect(run->tracer, run->table);

	if (error)
		return error;
	vma_table_each_evicted(run->table, intervals_wanted(run) ? show_vma : NULL, show_total,
			       run);
	return 0;
}

static int end_interval(void *context)
{
	struct run *run = context;
	int error = collect(run);

	if (error)
		return error;
	show_interval(run);
	return check_sink(run);
}

/* ---- the end ---- */

static void show_summary(struct run *run)
{
	char verdict[1024];
	struct summary_report summary = { .verdict = verdict };
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	vma_table_each_total(run->table, show_total, run);
	verdict_for_run(&run->verdict, verdict, sizeof(verdict));
	summary.seconds = seconds_between(&run->began, &now);
	summary.vmas = vma_table_count(run->table);
	summary.faults = run->verdict.faults.total;
	summary.batches = run->verdict.batches.total;
	summary.installed_pages = run->verdict.installed_pages;
	tracer_losses(run->tracer, &summary.lost);
	run->sink->ops->summary(run->sink, &summary);
}

static int finish(struct run *run, enum loop_end why)
{
	int error = 0;

	if (run->sink->failed && run->sink->error == EPIPE)
		return 0;
	if (run->sink->failed) {
		complain("cannot write the output: %s", strerror(run->sink->error));
		return EXIT_FAILURE;
	}
	tracer_detach(run->tracer);
	if (why == END_PIPE)
		return 0;
	error = collect(run);
	if (error) {
		complain("the last counts could not be fetched: %s", error_name(-error));
		return EXIT_FAILURE;
	}
	if (intervals_wanted(run) && why != END_COUNT)
		show_interval(run);
	show_summary(run);
	if (tracer_filtered(run->tracer) && run->options->verbose)
		notice("%llu faults were left out by the filters",
		       (unsigned long long)tracer_filtered(run->tracer));
	if (why == END_FAILED || why == END_CALLBACK) {
		complain("tracing ended early: %s", strerror(errno));
		return EXIT_FAILURE;
	}
	return run->sink->failed && run->sink->error != EPIPE ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The first line comes before the command's own output. 0 or -errno. */
static int begin(struct run *run)
{
	int error = 0;

	clock_gettime(CLOCK_MONOTONIC, &run->began);
	run->interval_began = run->began;
	run->sink->ops->start(run->sink, &run->start);
	if (run->child_waits) {
		error = child_release(&run->child);
		run->child_waits = false;
	}
	if (error)
		complain("cannot run %s: %s", run->options->argv[0], strerror(-error));
	return error;
}

static enum loop_end trace(struct run *run)
{
	const struct options *options = run->options;
	struct loop_config config = {
		.interval = options->interval,
		.count = options->count,
		.duration = options->duration,
		.records_fd = tracer_fd(run->tracer),
		.output_fd = fileno(run->out),
		.pidfds = run->pidfds,
		.pidfd_count = run->pidfd_count,
		.command_pidfd = options->argv ? run->child.pidfd : -1,
		.command = run->child.pid,
		.on_records = take_records,
		.on_interval = end_interval,
		.context = run,
	};

	return loop_run(&config);
}

static void close_run(struct run *run)
{
	if (run->child_waits)
		child_abandon(&run->child);
	sink_free(run->sink);
	tracer_free(run->tracer);
	vma_table_free(run->table);
	for (size_t i = 0; i < run->pidfd_count; i++)
		close(run->pidfds[i]);
	free(run->pidfds);
	free(run->map_ids);
	if (run->cgroup_fd >= 0)
		close(run->cgroup_fd);
}

static int set_up(struct run *run, char *message)
{
	int error = loop_block_signals();

	if (!error)
		error = find_targets(run, message);
	if (!error)
		error = start_tracer(run, message);
	if (error)
		return error;
	run->out = output_open(run->options->output, message, MESSAGE_BYTES);
	if (!run->out)
		return -EIO;
	describe_start(run);
	return open_sink(run, message);
}

int command_faults(const struct options *options)
{
	struct run run = { .options = options, .cgroup_fd = -1 };
	char message[MESSAGE_BYTES] = "";
	enum loop_end why;
	int status;

	if (set_up(&run, message)) {
		complain("%s", message[0] ? message : "out of memory");
		close_run(&run);
		return EXIT_FAILURE;
	}
	if (begin(&run)) {
		status = child_wait(&run.child);
		close_run(&run);
		return status;
	}
	why = trace(&run);
	loop_unblock_signals();
	status = finish(&run, why);
	close_run(&run);
	if (output_close(run.out) && status == EXIT_SUCCESS && why != END_PIPE)
		status = EXIT_FAILURE;
	if (options->argv && status == EXIT_SUCCESS)
		status = child_wait(&run.child);
	return status;
}
