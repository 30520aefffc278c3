/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The metrics file: exact numbers, buckets that add up, counters that never
 * go back, labels of any bytes; and that it is replaced whole or not at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"
#include "openmetrics.h"
#include "replace.h"
#include "sink.h"

#include "contains.h"
#include "sample.h"

static char directory[] = "/tmp/lazyfault-metrics-XXXXXX";
static char path[64];

static int make_directory(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/lazyfault.prom", directory);
	return 0;
}

static int remove_directory(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

static char *read_metrics(void)
{
	static char text[1 << 22];
	FILE *file = fopen(path, "r");
	size_t length;

	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	length = fread(text, 1, sizeof(text) - 1, file);
	text[length] = '\0';
	fclose(file);
	return text;
}

static struct sink *open_metrics(bool per_process)
{
	char message[512] = "";
	struct sink *sink = openmetrics_sink_new(path, per_process, message, sizeof(message));
	struct run_start start = sample_start(MODE_LAZY);

	if (!sink)
		fail_msg("%s", message);
	sink->ops->start(sink, &start);
	return sink;
}

/* The value of the line that begins with `series `. */
static void assert_value(const char *series, const char *value)
{
	const char *text = read_metrics(), *at = text;
	size_t length = strlen(series);

	while ((at = strstr(at, series)) && (at[length] != ' ' || (at > text && at[-1] != '\n')))
		at++;
	if (!at)
		fail_msg("no %s in:\n%s", series, text);
	if (strncmp(at + length + 1, value, strlen(value)) != 0 ||
	    at[length + 1 + strlen(value)] != '\n')
		fail_msg("%s is %.40s, not %s", series, at + length + 1, value);
}

#define MAP "map_id=\"7\",map_name=\"counters\",map_type=\"array\""

static const struct interval_report second = { .seconds = 1 };

static void put_total(struct sink *sink, const struct vma_report *vma, uint32_t pid, uint32_t map)
{
	struct vma_report total = *vma;

	total.pid = pid;
	total.map.id = map;
	sink->ops->vma(sink, &total);
}

static void test_values_are_exact(void **state)
{
	struct sink *sink = open_metrics(false);
	struct vma_report vma = sample_vma(2048);
	struct summary_report summary = {
		.seconds = 3.25, .lost = { .ring_full = 1, .vma_table_full = 2, .recursion = 3,
					   .unseen_runs = 4 },
	};

	(void)state;
	sample_touch(&vma, 0, 100, false, 255);
	sample_touch(&vma, 100, 20, true, 256);
	sample_batch(&vma, 200, 3, 16, 1000);
	vma.faults.populate = 30;
	vma.faults.user = 90;
	vma.faults.populate_write = 5;
	vma.faults.user_write = 15;
	vma.faults.failed = 6;
	vma.faults.raced = 7;
	vma.faults.untimed = 8;
	vma.batches.declined = 9;
	sink->ops->vma(sink, &vma);
	/* another VMA of the same map */
	vma.row = 2;
	vma.pid++;
	sink->ops->vma(sink, &vma);
	sink->ops->summary(sink, &summary);
	assert_false(sink->failed);
	assert_value("lazyfault_faults_total{" MAP ",access=\"read\",origin=\"user\"}", "150");
	assert_value("lazyfault_faults_total{" MAP ",access=\"write\",origin=\"user\"}", "30");
	assert_value("lazyfault_faults_total{" MAP ",access=\"read\",origin=\"populate\"}", "50");
	assert_value("lazyfault_faults_total{" MAP ",access=\"write\",origin=\"populate\"}", "10");
	assert_value("lazyfault_faults_total{" MAP ",access=\"read\",origin=\"remote\"}", "0");
	assert_value("lazyfault_failed_faults_total{" MAP "}", "12");
	assert_value("lazyfault_raced_runs_total{" MAP "}", "14");
	assert_value("lazyfault_untimed_faults_total{" MAP "}", "16");
	assert_value("lazyfault_mmap_lock_faults_total{" MAP "}", "240");
	assert_value("lazyfault_declined_batches_total{" MAP "}", "18");
	assert_value("lazyfault_installed_pages_total{" MAP "}", "336");
	assert_value("lazyfault_fault_duration_seconds_bucket{" MAP ",le=\"0.000000255\"}", "200");
	assert_value("lazyfault_fault_duration_seconds_bucket{" MAP ",le=\"0.000000511\"}", "240");
	assert_value("lazyfault_fault_duration_seconds_bucket{" MAP ",le=\"+Inf\"}", "240");
	assert_value("lazyfault_fault_duration_seconds_sum{" MAP "}", "0.000061240");
	assert_value("lazyfault_fault_duration_seconds_count{" MAP "}", "240");
	assert_value("lazyfault_batch_size_pages_bucket{" MAP ",le=\"15\"}", "0");
	assert_value("lazyfault_batch_size_pages_bucket{" MAP ",le=\"31\"}", "6");
	assert_value("lazyfault_batch_size_pages_sum{" MAP "}", "96");
	assert_value("lazyfault_lost_events_total{reason=\"ring_full\"}", "1");
	assert_value("lazyfault_lost_events_total{reason=\"vma_table_full\"}", "2");
	assert_value("lazyfault_lost_events_total{reason=\"recursion\"}", "3");
	assert_value("lazyfault_unseen_runs_total", "4");
	assert_value("lazyfault_traced_seconds_total", "3.250000000");
	assert_value("lazyfault_start_time_seconds", "1796036580.123456");
	assert_value("lazyfault_build_info{version=\"0.1.0\",kernel=\"7.3.4+deb14-cloud-amd64\","
		     "counting=\"exact\"}", "1");
	assert_non_null(strstr(read_metrics(), "\n# EOF\n"));
	sink_free(sink);
}

static void test_far_values_are_in_the_last_bucket(void **state)
{
	struct sink *sink = open_metrics(false);
	struct vma_report vma = sample_vma(64);
	struct summary_report summary = { .seconds = 1 };

	(void)state;
	dist_add(&vma.fault_ns, 0);
	dist_add(&vma.fault_ns, (UINT64_C(1) << 34) - 1);
	dist_add(&vma.fault_ns, UINT64_C(1) << 34);
	dist_add(&vma.fault_ns, UINT64_C(1) << 60);
	dist_add(&vma.batch_pages, 1 << 20);
	sink->ops->vma(sink, &vma);
	sink->ops->summary(sink, &summary);
	assert_value("lazyfault_fault_duration_seconds_bucket{" MAP ",le=\"0.000000255\"}", "1");
	assert_value("lazyfault_fault_duration_seconds_bucket{" MAP ",le=\"17.179869183\"}", "2");
	assert_value("lazyfault_fault_duration_seconds_bucket{" MAP ",le=\"+Inf\"}", "4");
	assert_value("lazyfault_batch_size_pages_bucket{" MAP ",le=\"16383\"}", "0");
	assert_value("lazyfault_batch_size_pages_bucket{" MAP ",le=\"+Inf\"}", "1");
	sink_free(sink);
}

#define READS "lazyfault_faults_total{" MAP ",access=\"read\",origin=\"user\"}"

static void test_intervals_add_up_and_nothing_goes_back(void **state)
{
	struct sink *sink = open_metrics(false);
	struct vma_report vma = sample_vma(64), total = sample_vma(64);
	struct summary_report summary = { .seconds = 2.5 };

	(void)state;
	vma.span = SPAN_INTERVAL;
	sample_touch(&vma, 0, 10, false, 100);
	sink->ops->vma(sink, &vma);
	sink->ops->interval(sink, &second);
	assert_value(READS, "10");
	sink->ops->vma(sink, &vma);
	/* a VMA long gone: its total comes early, and is not counted twice */
	total.span = SPAN_TOTAL;
	sample_touch(&total, 0, 20, false, 100);
	sink->ops->vma(sink, &total);
	sink->ops->interval(sink, &second);
	assert_value(READS, "20");
	sink->ops->interval(sink, &second);
	assert_value(READS, "20");
	assert_value("lazyfault_traced_seconds_total", "3.000000000");
	sink->ops->summary(sink, &summary);
	assert_value(READS, "20");
	assert_value("lazyfault_traced_seconds_total", "3.000000000");
	sink_free(sink);
	/* what came after the last interval is in the totals only */
	sink = open_metrics(false);
	sink->ops->vma(sink, &vma);
	sink->ops->interval(sink, &second);
	sink->ops->vma(sink, &total);
	sink->ops->summary(sink, &summary);
	assert_value(READS, "20");
	sink_free(sink);
}

static void test_processes_apart_only_if_asked(void **state)
{
	struct summary_report summary = { .seconds = 1 };
	struct vma_report vma = sample_vma(64);
	struct sink *sink = open_metrics(false);

	(void)state;
	sample_touch(&vma, 0, 10, false, 100);
	put_total(sink, &vma, 1, 7);
	put_total(sink, &vma, 2, 7);
	put_total(sink, &vma, 2, 8);
	sink->ops->summary(sink, &summary);
	assert_value(READS, "20");
	assert_null(strstr(read_metrics(), "pid="));
	sink_free(sink);
	sink = open_metrics(true);
	put_total(sink, &vma, 1, 7);
	put_total(sink, &vma, 2, 7);
	put_total(sink, &vma, 2, 7);
	sink->ops->summary(sink, &summary);
	assert_value("lazyfault_faults_total{" MAP ",pid=\"1\",comm=\"postgres\",access=\"read\","
		     "origin=\"user\"}", "10");
	assert_value("lazyfault_faults_total{" MAP ",pid=\"2\",comm=\"postgres\",access=\"read\","
		     "origin=\"user\"}", "20");
	sink_free(sink);
}

static void test_series_are_bounded(void **state)
{
	struct summary_report summary = { .seconds = 1 };
	struct vma_report vma = sample_vma(64);
	struct sink *sink = open_metrics(true);

	(void)state;
	sample_touch(&vma, 0, 1, true, 100);
	for (uint32_t i = 0; i < 5000; i++)
		put_total(sink, &vma, 1 + i % 100, 1 + i / 100);
	for (uint32_t i = 0; i < 5000; i++)
		put_total(sink, &vma, 1 + i % 100, 1 + i / 100);
	sink->ops->summary(sink, &summary);
	assert_false(sink->failed);
	assert_non_null(strstr(read_metrics(),
			       "lazyfault_faults_total{map_id=\"other\",map_name=\"\",map_type=\"\","
			       "pid=\"\",comm=\"\",access=\"write\",origin=\"user\"} 1808\n"));
	sink_free(sink);
}

/* As many series as there is room for: no rest, of which zeros would be told. */
static void test_no_rest_where_all_have_room(void **state)
{
	struct summary_report summary = { .seconds = 1 };
	struct vma_report vma = sample_vma(64);

	(void)state;
	sample_touch(&vma, 0, 1, true, 100);
	for (uint32_t maps = 4096; maps <= 4097; maps++) {
		struct sink *sink = open_metrics(false);
		const char *rest;

		for (uint32_t map = 1; map <= maps; map++)
			put_total(sink, &vma, 1, map);
		sink->ops->summary(sink, &summary);
		rest = strstr(read_metrics(), "map_id=\"other\"");
		assert_true(maps == 4096 ? !rest : rest != NULL);
		sink_free(sink);
	}
}

static void test_labels_of_any_bytes(void **state)
{
	struct summary_report summary = { .seconds = 1 };
	struct vma_report vma = sample_vma(64);
	struct sink *sink = open_metrics(true);

	(void)state;
	memcpy(vma.comm, "a\"b\\c\nd\xff", 9);
	memcpy(vma.map.name, "{}\n,=", 6);
	sink->ops->vma(sink, &vma);
	sink->ops->summary(sink, &summary);
	assert_contains(read_metrics(), "map_name=\"{}\\n,=\",map_type=\"array\",pid=\"4711\","
					"comm=\"a\\\"b\\\\c\\nd\xef\xbf\xbd\"");
	sink_free(sink);
}

static void test_without_times_there_are_no_durations(void **state)
{
	struct run_start start = sample_start(MODE_LAZY);
	struct summary_report summary = { .seconds = 1 };
	struct vma_report vma = sample_vma(64);
	struct sink *sink = open_metrics(false);

	(void)state;
	start.timed = false;
	start.version = start.kernel = NULL;
	sink_free(sink);
	sink = openmetrics_sink_new(path, false, NULL, 0);
	sink->ops->start(sink, &start);
	sink->ops->vma(sink, &vma);
	sink->ops->summary(sink, &summary);
	assert_null(strstr(read_metrics(), "duration"));
	assert_non_null(strstr(read_metrics(), "batch_size"));
	sink_free(sink);
}

/* An older capture tells accesses and origins, but not both together. */
static void test_access_that_is_not_known(void **state)
{
	struct summary_report summary = { .seconds = 1 };
	struct vma_report vma = sample_vma(64);
	struct sink *sink = open_metrics(false);

	(void)state;
	sample_touch(&vma, 0, 10, true, 100);
	sample_touch(&vma, 10, 5, false, 100);
	vma.faults.user_write = 0;
	sink->ops->vma(sink, &vma);
	sink->ops->summary(sink, &summary);
	assert_value("lazyfault_faults_total{" MAP ",access=\"unknown\",origin=\"user\"}", "15");
	assert_value(READS, "0");
	sink_free(sink);
}

/* ---- the file ---- */

static size_t count_files(void)
{
	DIR *dir = opendir(directory);
	size_t count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 2;
}

static void test_file_is_whole_and_readable(void **state)
{
	struct stat before, after;
	struct sink *sink;
	mode_t mask = umask(077);
	int held;

	(void)state;
	unlink(path);
	sink = open_metrics(false);
	/* trying whether it can be written leaves nothing */
	assert_int_equal(count_files(), 0);
	sink->ops->interval(sink, &second);
	assert_int_equal(count_files(), 1);
	assert_int_equal(stat(path, &before), 0);
	assert_int_equal(before.st_mode & 07777, 0644);
	held = open(path, O_RDONLY);
	sink->ops->interval(sink, &second);
	assert_int_equal(count_files(), 1);
	assert_int_equal(stat(path, &after), 0);
	assert_true(after.st_ino != before.st_ino);
	/* who reads the old one reads all of it */
	assert_int_equal(fstat(held, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	close(held);
	umask(mask);
	sink_free(sink);
}

/* Silences what is expected on stderr. */
static struct sink *refused(const char *target, char *message, size_t bytes)
{
	message[0] = '\0';
	return openmetrics_sink_new(target, false, message, bytes);
}

static void test_only_plain_files_are_replaced(void **state)
{
	char link[80], message[512];
	struct stat status;

	(void)state;
	snprintf(link, sizeof(link), "%s/link", directory);
	assert_null(refused("/dev/null", message, sizeof(message)));
	assert_contains(message, "--openmetrics=/dev/null: is not a plain file");
	assert_null(refused(directory, message, sizeof(message)));
	assert_contains(message, "Is a directory");
	assert_null(refused("/nonexistent/a.prom", message, sizeof(message)));
	assert_contains(message, "/nonexistent/a.prom: No such file");
	assert_null(refused("/tmp/", message, sizeof(message)));
	assert_contains(message, "Is a directory");
	assert_int_equal(symlink("/dev/null", link), 0);
	assert_null(refused(link, message, sizeof(message)));
	assert_contains(message, "is not a plain file");
	unlink(link);
	assert_int_equal(mkfifo(link, 0600), 0);
	assert_null(refused(link, message, sizeof(message)));
	assert_contains(message, "is not a plain file");
	unlink(link);
	assert_int_equal(stat("/dev/null", &status), 0);
	assert_true(S_ISCHR(status.st_mode));
}

/* What turned into something else while tracing is not written over either. */
static void test_target_is_looked_at_each_time(void **state)
{
	struct summary_report summary = { .seconds = 1 };
	struct sink *sink = open_metrics(false);
	int stderr_fd = dup(STDERR_FILENO), null = memfd_create("stderr", 0);
	struct stat status;
	char said[512] = "";

	(void)state;
	unlink(path);
	assert_int_equal(symlink("/dev/null", path), 0);
	dup2(null, STDERR_FILENO);
	sink->ops->interval(sink, &second);
	assert_false(sink->failed);
	assert_int_equal(count_files(), 1);
	sink->ops->summary(sink, &summary);
	dup2(stderr_fd, STDERR_FILENO);
	assert_true(sink->failed && sink->told);
	assert_true(pread(null, said, sizeof(said) - 1, 0) > 0);
	assert_contains(said, "what is there now is not a plain file; it stays as it was");
	assert_int_equal(lstat(path, &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	unlink(path);
	sink_free(sink);
	close(stderr_fd);
	close(null);
}

/* A directory that goes away while tracing: no file can be said to stay. */
static void test_no_file_stays_where_there_is_none(void **state)
{
	int stderr_fd = dup(STDERR_FILENO), file = memfd_create("stderr", 0);
	char gone[80], said[512] = "", message[512];
	struct sink *sink;

	(void)state;
	snprintf(gone, sizeof(gone), "%s/gone", directory);
	assert_int_equal(mkdir(gone, 0700), 0);
	snprintf(gone, sizeof(gone), "%s/gone/m.prom", directory);
	sink = openmetrics_sink_new(gone, false, message, sizeof(message));
	assert_non_null(sink);
	*strrchr(gone, '/') = '\0';
	assert_int_equal(rmdir(gone), 0);
	dup2(file, STDERR_FILENO);
	sink->ops->interval(sink, &second);
	dup2(stderr_fd, STDERR_FILENO);
	assert_true(pread(file, said, sizeof(said) - 1, 0) > 0);
	assert_contains(said, "m.prom: No such file or directory; there is no file");
	sink_free(sink);
	close(stderr_fd);
	close(file);
}

static void test_failed_write_leaves_the_old_file(void **state)
{
	char message[512];
	struct replace *replace = replace_new(path, message, sizeof(message));
	FILE *file;

	(void)state;
	assert_non_null(replace);
	file = replace_begin(replace);
	fputs("old\n", file);
	assert_int_equal(replace_end(replace, file), 0);
	file = replace_begin(replace);
	assert_non_null(freopen("/dev/full", "w", file));
	fputs("new\n", file);
	assert_int_equal(replace_end(replace, file), -ENOSPC);
	assert_string_equal(read_metrics(), "old\n");
	assert_int_equal(count_files(), 1);
	replace_free(replace);
	replace_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_are_exact),
		cmocka_unit_test(test_far_values_are_in_the_last_bucket),
		cmocka_unit_test(test_intervals_add_up_and_nothing_goes_back),
		cmocka_unit_test(test_processes_apart_only_if_asked),
		cmocka_unit_test(test_series_are_bounded),
		cmocka_unit_test(test_no_rest_where_all_have_room),
		cmocka_unit_test(test_labels_of_any_bytes),
		cmocka_unit_test(test_without_times_there_are_no_durations),
		cmocka_unit_test(test_access_that_is_not_known),
		cmocka_unit_test(test_file_is_whole_and_readable),
		cmocka_unit_test(test_only_plain_files_are_replaced),
		cmocka_unit_test(test_target_is_looked_at_each_time),
		cmocka_unit_test(test_no_file_stays_where_there_is_none),
		cmocka_unit_test(test_failed_write_leaves_the_old_file),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
