/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any records of map-in-map updates: calls, times and waits are counted as
 * the records have them, intervals add up to totals, forgotten rows keep
 * theirs, and the JSON of each reads as it was written.
 *
 * The first byte sets how many rows are kept; then come records, each of the
 * bytes of a struct from its beginning, cut short where the next one's length
 * byte says so.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "sink.h"
#include "update_table.h"
#include "updates.h"

#include "strict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORDS_MAX = 512 };

struct sums {
	uint64_t calls, failed, untimed, ns_count, wait_count, normal, expedited;
};

struct run {
	struct capture *capture;
	struct sums given, intervals, totals;
};

static void sums_add(struct sums *sums, const struct update_report *update)
{
	sums->calls += update->calls;
	sums->failed += update->failed;
	sums->untimed += update->untimed;
	sums->ns_count += dist_count(&update->ns);
	sums->wait_count += dist_count(&update->wait_ns);
	sums->normal += update->waits_normal;
	sums->expedited += update->waits_expedited;
}

static void check_json(struct run *run, const struct update_report *update)
{
	struct capture_record record;
	char why[CAPTURE_WHY_BYTES], *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	struct sink *sink = json_sink_new(out);

	sink->ops->update(sink, update);
	require(!sink->failed);
	sink_free(sink);
	fclose(out);
	require_of(is_json_lines(text, bytes), text, bytes);
	require_of(!capture_read(run->capture, text, bytes - 1, &record, why), why, strlen(why));
	require(record.kind == CAPTURE_UPDATE);
	require(record.update.calls == update->calls);
	require(record.update.waits_normal == update->waits_normal);
	require(!memcmp(record.update.ns.slots, update->ns.slots, sizeof(update->ns.slots)));
	require(!strcmp(record.update.comm, update->comm));
	free(text);
}

static void check(struct run *run, const struct update_report *update)
{
	require(dist_count(&update->ns) == update->calls - update->untimed);
	require(update->failed <= update->calls);
	require(dist_count(&update->wait_ns) <= dist_count(&update->ns));
	check_json(run, update);
}

static void on_interval(void *context, const struct update_report *update)
{
	struct run *run = context;

	require(update->span == SPAN_INTERVAL && update->calls);
	check(run, update);
	sums_add(&run->intervals, update);
}

static void on_total(void *context, const struct update_report *update)
{
	struct run *run = context;

	require(update->span == SPAN_TOTAL && update->calls);
	check(run, update);
	sums_add(&run->totals, update);
}

static void note(struct sums *given, const struct update_record *record)
{
	uint64_t waits = (uint64_t)record->waits[WAIT_NORMAL] + record->waits[WAIT_EXPEDITED];
	bool timed = record->flags & UPDATE_TIMED;

	given->calls++;
	given->failed += record->result < 0;
	given->untimed += !timed;
	given->ns_count += timed;
	given->wait_count += timed && waits && !(record->flags & UPDATE_WAIT_UNTIMED);
	given->normal += timed ? record->waits[WAIT_NORMAL] : 0;
	given->expedited += timed ? record->waits[WAIT_EXPEDITED] : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct update_table *table = update_table_new();
	struct run run = { .capture = capture_new() };
	const uint8_t *end = data + size;

	update_table_limit(table, size ? *data++ % 16 : 4);
	for (int i = 0; i < RECORDS_MAX && data < end; i++) {
		struct update_record record = { .header = { .type = RECORD_UPDATES } };
		size_t bytes = *data++ % (sizeof(record) - sizeof(record.header) + 1);
		int error;

		if (bytes > (size_t)(end - data))
			bytes = (size_t)(end - data);
		memcpy((char *)&record + sizeof(record.header), data, bytes);
		data += bytes;
		error = update_table_add(table, &record);
		require(error == 0 || error == -EPROTO);
		if (!error)
			note(&run.given, &record);
		if (bytes % 8 == 1)
			update_table_each_interval(table, on_interval, &run);
		update_table_each_evicted(table, on_interval, on_total, &run);
	}
	update_table_each_interval(table, on_interval, &run);
	update_table_each_total(table, on_total, &run);
	require(!memcmp(&run.given, &run.totals, sizeof(run.given)));
	require(!memcmp(&run.given, &run.intervals, sizeof(run.given)));
	update_table_free(table);
	capture_free(run.capture);
	return 0;
}
