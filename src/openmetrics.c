/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The metrics sink. The file is in the Prometheus text format, which is what
 * node_exporter's textfile collector reads: sums over all VMAs of a map.
 *
 * Interval records are summed as they come; at the end the totals take their
 * place, as these also have what came after the last interval.
 */
#include "openmetrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "printable.h"
#include "replace.h"
#include "sink.h"

/* Maps, or maps and processes, with series of their own; the rest is one. */
enum { SERIES_MAX = 4096, SLOTS = 2 * SERIES_MAX };

/* Buckets end at 2^k - 1, where slots of a distribution do: so they are exact. */
enum { NS_FIRST = 8, NS_LAST = 34, PAGES_FIRST = 1, PAGES_LAST = 14 };
enum { NS_BUCKETS = NS_LAST - NS_FIRST + 2, PAGES_BUCKETS = PAGES_LAST - PAGES_FIRST + 2 };

enum { READ, WRITE, ACCESS_UNKNOWN, ACCESSES };
enum { USER, POPULATE, KERNEL, REMOTE, ORIGINS };

/* What is counted of a map: 64-bit counters and nothing else. */
struct sums {
	uint64_t faults[ACCESSES][ORIGINS];
	uint64_t failed, raced, untimed, under_mmap_lock;
	uint64_t declined, installed_pages;
	uint64_t fault_ns_sum, fault_ns[NS_BUCKETS];
	uint64_t batch_ns_sum, batch_ns[NS_BUCKETS];
	uint64_t batch_pages_sum, batch_pages[PAGES_BUCKETS];
};

/* What is counted of the run. */
struct run_sums {
	uint64_t ring_full, vma_table_full, recursion, unseen_runs;
	uint64_t us;
};

struct series {
	struct map_identity map;
	uint32_t pid;
	char *map_name, *map_type, *comm;	/* valid UTF-8 */
	struct sums intervals, totals;
	struct sums shown;	/* the most that was written: never goes back */
};

struct openmetrics {
	struct sink sink;
	char *path;
	struct replace *replace;
	bool per_process;
	struct series **series;		/* [0] is for those beyond SERIES_MAX */
	size_t count;
	bool any_rest;			/* there are such */
	uint32_t slots[SLOTS];		/* by map and process; 0: free */
	struct run_sums intervals, shown;
	struct run_start start;
	char *version, *kernel;		/* valid UTF-8; NULL before the start */
	bool unmeasured;		/* time and losses are not known */
	bool said;			/* that it could not be written */
};

/* ---- adding up ---- */

static void add_dist(uint64_t *buckets, unsigned int first, unsigned int last, uint64_t *sum,
		     const struct dist *dist)
{
	for (unsigned int slot = 0; slot < DIST_SLOTS; slot++) {
		unsigned int bound = slot < first ? first : slot;

		/* an open slot holds what may be far above its edge */
		if (bound > last || (dist->open_slot && slot == dist->open_slot))
			bound = last + 1;
		buckets[bound - first] += dist->slots[slot];
	}
	*sum += dist->sum;
}

static void add_faults(struct sums *sums, const struct fault_counts *faults)
{
	const uint64_t all[ORIGINS] = { faults->user, faults->populate, faults->kernel,
					faults->remote };
	const uint64_t writes[ORIGINS] = { faults->user_write, faults->populate_write,
					   faults->kernel_write, faults->remote_write };
	uint64_t write = writes[USER] + writes[POPULATE] + writes[KERNEL] + writes[REMOTE];

	for (int i = 0; i < ORIGINS; i++) {
		/* a capture from before they were told apart by both */
		if (write != faults->write || writes[i] > all[i]) {
			sums->faults[ACCESS_UNKNOWN][i] += all[i];
			continue;
		}
		sums->faults[READ][i] += all[i] - writes[i];
		sums->faults[WRITE][i] += writes[i];
	}
	sums->failed += faults->failed;
	sums->raced += faults->raced;
	sums->untimed += faults->untimed;
	sums->under_mmap_lock += faults->under_mmap_lock;
}

static void sums_add(struct sums *sums, const struct vma_report *vma)
{
	add_faults(sums, &vma->faults);
	sums->declined += vma->batches.declined;
	sums->installed_pages += vma->installed_pages;
	add_dist(sums->fault_ns, NS_FIRST, NS_LAST, &sums->fault_ns_sum, &vma->fault_ns);
	add_dist(sums->batch_ns, NS_FIRST, NS_LAST, &sums->batch_ns_sum, &vma->batch_ns);
	add_dist(sums->batch_pages, PAGES_FIRST, PAGES_LAST, &sums->batch_pages_sum,
		 &vma->batch_pages);
}

/* Raises each counter of a struct of them to what it is now. */
static void raise_counters(void *shown, const void *now, size_t bytes)
{
	uint64_t *high = shown;
	const uint64_t *value = now;

	for (size_t i = 0; i < bytes / sizeof(*high); i++)
		if (high[i] < value[i])
			high[i] = value[i];
}

/* ---- series ---- */

static struct series *new_series(struct openmetrics *metrics)
{
	struct series **all = realloc(metrics->series, (metrics->count + 1) * sizeof(*all));
	struct series *series;

	if (!all)
		return NULL;
	metrics->series = all;
	series = calloc(1, sizeof(*series));
	if (series)
		all[metrics->count++] = series;
	return series;
}

/* The series of a VMA's map and process; NULL: no memory. */
static struct series *find_series(struct openmetrics *metrics, const struct vma_report *vma)
{
	uint32_t pid = metrics->per_process ? vma->pid : 0;
	uint64_t hash = ((uint64_t)vma->map.id << 32 | pid) * UINT64_C(0x9e3779b97f4a7c15);
	struct series *series;

	for (size_t i = (size_t)(hash >> 32);; i++) {
		uint32_t *slot = &metrics->slots[i % SLOTS];

		if (*slot) {
			series = metrics->series[*slot];
			if (series->map.id == vma->map.id && series->pid == pid)
				return series;
			continue;
		}
		if (metrics->count > SERIES_MAX) {
			metrics->any_rest = true;
			return metrics->series[0];
		}
		series = new_series(metrics);
		if (!series)
			return NULL;
		*slot = (uint32_t)(metrics->count - 1);
		series->map = vma->map;
		series->pid = pid;
		series->map_name = printable_utf8(vma->map.name);
		series->map_type = printable_utf8(vma->map.type ? vma->map.type : "");
		series->comm = printable_utf8(vma->comm);
		return series->map_name && series->map_type && series->comm ? series : NULL;
	}
}

/* ---- the text format ---- */

/* A string in quotes, escaped. What can fail was done before: no label may be left out. */
static void put_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (const char *at = text; *at; at++) {
		if (*at == '\n')
			fputs("\\n", out);
		else if (*at == '\\' || *at == '"')
			fprintf(out, "\\%c", *at);
		else
			fputc(*at, out);
	}
	fputc('"', out);
}

/* Nanoseconds as seconds, to the last digit. */
static void put_seconds(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

static void put_family(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* The labels that all series have, without the closing brace. */
static void put_labels(const struct openmetrics *metrics, FILE *out, const struct series *series)
{
	bool rest = series == metrics->series[0];

	if (rest)
		fputs("{map_id=\"other\",map_name=\"\",map_type=\"\"", out);
	else
		fprintf(out, "{map_id=\"%" PRIu32 "\"", series->map.id);
	if (!rest) {
		fputs(",map_name=", out);
		put_string(out, series->map_name);
		fputs(",map_type=", out);
		put_string(out, series->map_type);
	}
	if (metrics->per_process && rest) {
		fputs(",pid=\"\",comm=\"\"", out);
	} else if (metrics->per_process) {
		fprintf(out, ",pid=\"%" PRIu32 "\",comm=", series->pid);
		put_string(out, series->comm);
	}
}

/* The series that there are: that for the rest only if there is any. */
static size_t first_series(const struct openmetrics *metrics)
{
	return metrics->any_rest ? 0 : 1;
}

static void put_faults(const struct openmetrics *metrics, FILE *out)
{
	static const char *const accesses[] = { "read", "write", "unknown" };
	static const char *const origins[] = { "user", "populate", "kernel", "remote" };

	put_family(out, "lazyfault_faults_total", "counter",
		   "Faults on mapped BPF maps, failed ones included.");
	for (size_t i = first_series(metrics); i < metrics->count; i++) {
		const struct series *series = metrics->series[i];

		for (int cell = 0; cell < ACCESSES * ORIGINS; cell++) {
			int access = cell / ORIGINS, origin = cell % ORIGINS;
			uint64_t value = series->shown.faults[access][origin];

			if (access == ACCESS_UNKNOWN && !value)
				continue;
			fputs("lazyfault_faults_total", out);
			put_labels(metrics, out, series);
			fprintf(out, ",access=\"%s\",origin=\"%s\"} %" PRIu64 "\n",
				accesses[access], origins[origin], value);
		}
	}
}

struct counter {
	const char *name, *help;
	size_t offset;		/* in struct sums */
};

static void put_counters(const struct openmetrics *metrics, FILE *out)
{
	static const struct counter counters[] = {
		{ "lazyfault_failed_faults_total",
		  "Faults for which the handler gave no page.",
		  offsetof(struct sums, failed) },
		{ "lazyfault_raced_runs_total",
		  "Runs of the fault handler that came second for a page; no faults.",
		  offsetof(struct sums, raced) },
		{ "lazyfault_untimed_faults_total", "Faults without a handler time.",
		  offsetof(struct sums, untimed) },
		{ "lazyfault_mmap_lock_faults_total", "Faults handled under mmap_lock.",
		  offsetof(struct sums, under_mmap_lock) },
		{ "lazyfault_installed_pages_total", "Pages installed by faults and batches.",
		  offsetof(struct sums, installed_pages) },
		{ "lazyfault_declined_batches_total",
		  "Runs of the map_pages handler that installed nothing.",
		  offsetof(struct sums, declined) },
	};

	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		put_family(out, counters[i].name, "counter", counters[i].help);
		for (size_t k = first_series(metrics); k < metrics->count; k++) {
			const struct series *series = metrics->series[k];

			fputs(counters[i].name, out);
			put_labels(metrics, out, series);
			fprintf(out, "} %" PRIu64 "\n",
				*(const uint64_t *)((const char *)&series->shown +
						    counters[i].offset));
		}
	}
}

struct histogram {
	const char *name, *help;
	size_t sum, buckets;	/* offsets in struct sums */
	unsigned int first, last;
	bool seconds;
};

static void put_value(FILE *out, const struct histogram *histogram, uint64_t value)
{
	if (histogram->seconds)
		put_seconds(out, value);
	else
		fprintf(out, "%" PRIu64, value);
}

static void put_histogram_of(const struct openmetrics *metrics, FILE *out,
			     const struct histogram *histogram, const struct series *series)
{
	const char *shown = (const char *)&series->shown;
	const uint64_t *buckets = (const uint64_t *)(shown + histogram->buckets);
	uint64_t count = 0;

	for (unsigned int k = histogram->first; k <= histogram->last + 1; k++) {
		count += buckets[k - histogram->first];
		fprintf(out, "%s_bucket", histogram->name);
		put_labels(metrics, out, series);
		fputs(",le=\"", out);
		if (k > histogram->last)
			fputs("+Inf", out);
		else
			put_value(out, histogram, (UINT64_C(1) << k) - 1);
		fprintf(out, "\"} %" PRIu64 "\n", count);
	}
	fprintf(out, "%s_sum", histogram->name);
	put_labels(metrics, out, series);
	fputs("} ", out);
	put_value(out, histogram, *(const uint64_t *)(shown + histogram->sum));
	fprintf(out, "\n%s_count", histogram->name);
	put_labels(metrics, out, series);
	fprintf(out, "} %" PRIu64 "\n", count);
}

static void put_histograms(const struct openmetrics *metrics, FILE *out)
{
	static const struct histogram histograms[] = {
		{ "lazyfault_fault_duration_seconds", "Handler time of faults.",
		  offsetof(struct sums, fault_ns_sum), offsetof(struct sums, fault_ns),
		  NS_FIRST, NS_LAST, true },
		{ "lazyfault_batch_duration_seconds", "Handler time of batches.",
		  offsetof(struct sums, batch_ns_sum), offsetof(struct sums, batch_ns),
		  NS_FIRST, NS_LAST, true },
		{ "lazyfault_batch_size_pages", "Pages that a batch installed.",
		  offsetof(struct sums, batch_pages_sum), offsetof(struct sums, batch_pages),
		  PAGES_FIRST, PAGES_LAST, false },
	};

	for (size_t i = 0; i < sizeof(histograms) / sizeof(histograms[0]); i++) {
		if (histograms[i].seconds && !metrics->start.timed)
			continue;
		put_family(out, histograms[i].name, "histogram", histograms[i].help);
		for (size_t k = first_series(metrics); k < metrics->count; k++)
			put_histogram_of(metrics, out, &histograms[i], metrics->series[k]);
	}
}

static void put_losses(const struct openmetrics *metrics, FILE *out)
{
	const struct run_sums *shown = &metrics->shown;

	put_family(out, "lazyfault_lost_events_total", "counter",
		   "Events that no series has.");
	fprintf(out, "lazyfault_lost_events_total{reason=\"ring_full\"} %" PRIu64 "\n",
		shown->ring_full);
	fprintf(out, "lazyfault_lost_events_total{reason=\"vma_table_full\"} %" PRIu64 "\n",
		shown->vma_table_full);
	fprintf(out, "lazyfault_lost_events_total{reason=\"recursion\"} %" PRIu64 "\n",
		shown->recursion);
	put_family(out, "lazyfault_unseen_runs_total", "counter",
		   "Handler runs whose exit was skipped and that installed nothing.");
	fprintf(out, "lazyfault_unseen_runs_total %" PRIu64 "\n", shown->unseen_runs);
	put_family(out, "lazyfault_traced_seconds_total", "counter", "Time traced.");
	fputs("lazyfault_traced_seconds_total ", out);
	put_seconds(out, shown->us * 1000);
	fputc('\n', out);
}

static void put_start(const struct openmetrics *metrics, FILE *out)
{
	put_family(out, "lazyfault_start_time_seconds", "gauge",
		   "When tracing began, since the epoch; its counters began at zero then.");
	fprintf(out, "lazyfault_start_time_seconds %" PRId64 ".%06ld\n",
		(int64_t)metrics->start.time.tv_sec, metrics->start.time.tv_nsec / 1000);
}

static void put_build(const struct openmetrics *metrics, FILE *out)
{
	put_family(out, "lazyfault_build_info", "gauge",
		   "Version of lazyfault, kernel traced, and way of counting; always 1.");
	fputs("lazyfault_build_info{version=", out);
	put_string(out, metrics->version);
	fputs(",kernel=", out);
	put_string(out, metrics->kernel);
	fprintf(out, ",counting=\"%s\"} 1\n", metrics->start.exact ? "exact" : "light");
}

/* What a capture does not tell is left out: zero would be a claim. */
static void put_run(const struct openmetrics *metrics, FILE *out)
{
	if (!metrics->unmeasured)
		put_losses(metrics, out);
	if (metrics->start.time.tv_sec)
		put_start(metrics, out);
	if (run_is_known(&metrics->start))
		put_build(metrics, out);
}

static int write_file(struct openmetrics *metrics)
{
	FILE *out = replace_begin(metrics->replace);

	if (!out)
		return -errno;
	put_faults(metrics, out);
	put_counters(metrics, out);
	put_histograms(metrics, out);
	put_run(metrics, out);
	fputs("# EOF\n", out);
	return replace_end(metrics->replace, out);
}

/* ---- the sink's calls ---- */

/* A full disk may have room again later: tracing goes on, and this is said once. */
static int update_file(struct openmetrics *metrics)
{
	int error = write_file(metrics);

	if (error && !metrics->said)
		complain("--openmetrics=%s: %s; %s", metrics->path, error == -EMEDIUMTYPE ?
			 "what is there now is not a plain file" : strerror(-error),
			 replace_has_file(metrics->replace) ? "it stays as it was" :
			 "there is no file");
	metrics->said = error != 0;
	return error;
}

static void metrics_start(struct sink *sink, const struct run_start *start)
{
	struct openmetrics *metrics = (struct openmetrics *)sink;

	metrics->start = *start;
	metrics->version = printable_utf8(start->version ? start->version : "");
	metrics->kernel = printable_utf8(start->kernel ? start->kernel : "");
	if (!metrics->version || !metrics->kernel) {
		sink->failed = true;
		sink->error = ENOMEM;
	}
}

static void metrics_vma(struct sink *sink, const struct vma_report *vma)
{
	struct openmetrics *metrics = (struct openmetrics *)sink;
	struct series *series = find_series(metrics, vma);

	if (!series) {
		sink->failed = true;
		sink->error = ENOMEM;
		return;
	}
	sums_add(vma->span == SPAN_INTERVAL ? &series->intervals : &series->totals, vma);
}

/* Map-in-map updates have no metrics. */
static void metrics_update(struct sink *sink, const struct update_report *update)
{
	(void)sink;
	(void)update;
}

static void add_run(struct run_sums *sums, const struct losses *lost, double seconds)
{
	sums->ring_full += lost->ring_full;
	sums->vma_table_full += lost->vma_table_full;
	sums->recursion += lost->recursion;
	sums->unseen_runs += lost->unseen_runs;
	if (seconds > 0 && seconds < 1e12)
		sums->us += (uint64_t)(seconds * 1e6 + 0.5);
}

static void metrics_interval(struct sink *sink, const struct interval_report *interval)
{
	struct openmetrics *metrics = (struct openmetrics *)sink;

	add_run(&metrics->intervals, &interval->lost, interval->seconds);
	raise_counters(&metrics->shown, &metrics->intervals, sizeof(metrics->shown));
	for (size_t i = 0; i < metrics->count; i++)
		raise_counters(&metrics->series[i]->shown, &metrics->series[i]->intervals,
			       sizeof(struct sums));
	update_file(metrics);
}

static void metrics_summary(struct sink *sink, const struct summary_report *summary)
{
	struct openmetrics *metrics = (struct openmetrics *)sink;
	struct run_sums all = { 0 };
	int error;

	metrics->unmeasured = summary->unmeasured;
	add_run(&all, &summary->lost, summary->seconds);
	raise_counters(&metrics->shown, &all, sizeof(metrics->shown));
	for (size_t i = 0; i < metrics->count; i++)
		raise_counters(&metrics->series[i]->shown, &metrics->series[i]->totals,
			       sizeof(struct sums));
	error = update_file(metrics);
	if (error) {
		sink->failed = sink->told = true;
		sink->error = -error;
	}
}

static void metrics_free(struct sink *sink)
{
	struct openmetrics *metrics = (struct openmetrics *)sink;

	for (size_t i = 0; i < metrics->count; i++) {
		free(metrics->series[i]->map_name);
		free(metrics->series[i]->map_type);
		free(metrics->series[i]->comm);
		free(metrics->series[i]);
	}
	free(metrics->series);
	replace_free(metrics->replace);
	free(metrics->version);
	free(metrics->kernel);
	free(metrics->path);
	free(metrics);
}

struct sink *openmetrics_sink_new(const char *path, bool per_process, char *message,
				  size_t message_bytes)
{
	static const struct sink_ops ops = {
		.start = metrics_start,
		.vma = metrics_vma,
		.update = metrics_update,
		.interval = metrics_interval,
		.summary = metrics_summary,
		.free = metrics_free,
	};
	struct openmetrics *metrics = calloc(1, sizeof(*metrics));
	char why[512] = "out of memory";

	if (!metrics) {
		snprintf(message, message_bytes, "%s", why);
		return NULL;
	}
	metrics->sink.ops = &ops;
	metrics->per_process = per_process;
	metrics->path = strdup(path);
	if (metrics->path && new_series(metrics))
		metrics->replace = replace_new(path, why, sizeof(why));
	if (metrics->replace)
		return &metrics->sink;
	snprintf(message, message_bytes, "--openmetrics=%s", why);
	metrics_free(&metrics->sink);
	return NULL;
}
