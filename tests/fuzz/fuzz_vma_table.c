/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any records from the ring buffer: those that no kernel side can have
 * written are refused, and what is reported of the others keeps the sums that
 * the reports promise, never goes back, and is strict JSON that reads as it
 * was written and adds up to `lazyfault report`.
 *
 * An input is a row of steps upon one record, so that small inputs reach deep:
 * set or raise a word of it, overwrite it with bytes, hand it over, report.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "balance.h"
#include "capture.h"
#include "records.h"
#include "rows.h"
#include "sink.h"
#include "vma_table.h"

#include "strict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS = 64, STEPS_MAX = 256, GONE_MAX = 4 };

/* What the intervals of one row have added up to. */
struct so_far {
	uint64_t row, faults, pages, failed, untimed, raced, batches;
	bool ended;
};

struct run {
	struct vma_table *table;
	struct vma_record record;
	const uint8_t *at, *end;
	struct so_far rows[ROWS];
	size_t row_count;
	bool overflowed;	/* more rows than are followed */
	struct capture *capture;
	struct balance *balance;
	struct rows *sums;
};

static uint64_t take(struct run *run, size_t bytes)
{
	uint64_t value = 0;

	if (bytes > (size_t)(run->end - run->at))
		bytes = (size_t)(run->end - run->at);
	memcpy(&value, run->at, bytes);
	run->at += bytes;
	return value;
}

/* ---- what holds of a report ---- */

static void check_sums(const struct vma_report *vma)
{
	const struct fault_counts *faults = &vma->faults;

	require(faults->total == faults->read + faults->write);
	require(faults->total == faults->user + faults->populate + faults->kernel +
				 faults->remote);
	require(faults->failed <= faults->total);
	require(faults->untimed <= faults->total);
	require(faults->under_mmap_lock <= faults->total);
	require(faults->user_write <= faults->user && faults->remote_write <= faults->remote);
	require(dist_count(&vma->fault_ns) == faults->total - faults->untimed);
	require(vma->installed_pages == faults->total - faults->failed + vma->batches.pages);
	require(vma->where.count <= MODEL_WHERE_BINS);
}

static void check_dist(const struct dist *dist)
{
	uint64_t least = 0, most = 0;

	if (!dist_count(dist))
		return;
	for (unsigned int i = DIST_SLOTS; i-- > 0;)
		least = dist->slots[i] ? dist_from(i) : least;
	for (unsigned int i = 0; i < DIST_SLOTS; i++)
		most = dist->slots[i] ? dist_to(dist, i) : most;
	require(least <= dist->min && dist->min <= dist->max && dist->max <= most);
}

/* The record of it, read again. */
static void check_json(struct run *run, const struct vma_report *vma)
{
	struct capture_record record;
	char why[CAPTURE_WHY_BYTES], *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	struct sink *sink = json_sink_new(out);

	sink->ops->vma(sink, vma);
	require(!sink->failed);
	sink_free(sink);
	fclose(out);
	require_of(is_json_lines(text, bytes), text, bytes);
	require_of(!capture_read(run->capture, text, bytes - 1, &record, why), why, strlen(why));
	require(record.kind == CAPTURE_VMA);
	require(!memcmp(&record.vma.faults, &vma->faults, sizeof(vma->faults)));
	require(!memcmp(record.vma.fault_ns.slots, vma->fault_ns.slots,
			sizeof(vma->fault_ns.slots)));
	require(!strcmp(record.vma.comm, vma->comm));
	free(text);
}

/* `report` takes it; but sums beyond 64 bits come only of a fuzzer, as rows do that come again. */
static void check_balance(struct run *run, const struct vma_report *vma)
{
	struct balance_row row = { .known = true };
	struct vma_report copy = *vma, sum;
	char why[CAPTURE_WHY_BYTES];

	if (rows_sum(run->sums, vma, &sum))
		row.intervals = &sum;
	require_of(!balance_vma(run->balance, vma, &row, why) || strstr(why, "beyond 64 bits") ||
		   strstr(why, "had its total before"), why, strlen(why));
	require(!rows_take(run->sums, &copy, true));
}

static void check(struct run *run, const struct vma_report *vma)
{
	check_sums(vma);
	check_dist(&vma->fault_ns);
	check_dist(&vma->batch_ns);
	check_dist(&vma->batch_pages);
	check_json(run, vma);
	check_balance(run, vma);
}

static struct so_far *find(struct run *run, uint64_t row)
{
	size_t i;

	for (i = 0; i < run->row_count && run->rows[i].row != row; i++)
		;
	if (i == ROWS) {
		run->overflowed = true;
		return NULL;
	}
	if (i == run->row_count)
		run->rows[run->row_count++] = (struct so_far){ .row = row };
	return &run->rows[i];
}

static void on_interval(void *context, const struct vma_report *vma)
{
	struct run *run = context;
	struct so_far *row = find(run, vma->row);

	require(vma->span == SPAN_INTERVAL);
	check(run, vma);
	if (!row)
		return;
	row->faults += vma->faults.total;
	row->pages += vma->installed_pages;
	row->failed += vma->faults.failed;
	row->untimed += vma->faults.untimed;
	row->raced += vma->faults.raced;
	row->batches += vma->batches.total;
}

static void on_total(void *context, const struct vma_report *vma)
{
	struct run *run = context;
	struct so_far *row = find(run, vma->row);

	require(vma->span == SPAN_TOTAL);
	check(run, vma);
	if (!row)
		return;
	/* a forgotten row's number comes again only in a fuzzer */
	if (!row->ended) {
		require(row->faults == vma->faults.total);
		require(row->pages == vma->installed_pages);
		require(row->failed == vma->faults.failed);
		require(row->untimed == vma->faults.untimed);
		require(row->raced == vma->faults.raced);
		require(row->batches == vma->batches.total);
	}
}

static void on_evicted(void *context, const struct vma_report *vma)
{
	struct run *run = context;
	struct so_far *row = find(run, vma->row);

	on_total(context, vma);
	if (row)
		row->ended = true;
}

/* ---- steps ---- */

static void hand_over(struct run *run, bool last)
{
	struct vma_record before = run->record;
	int error = last ? vma_table_add_last(run->table, &run->record) :
			   vma_table_add(run->table, &run->record, 0);

	require(error == 0 || error == -EAGAIN || error == -EPROTO);
	require(!last || error != -EAGAIN);
	require(!memcmp(&before, &run->record, sizeof(before)));
}

static __u64 *word(struct run *run)
{
	return (__u64 *)&run->record + take(run, 1) % (sizeof(run->record) / sizeof(__u64));
}

static void step(struct run *run)
{
	uint8_t code = (uint8_t)take(run, 1);
	__u64 *at;
	size_t bytes;

	switch (code % 12) {
	case 0:
		*word(run) = take(run, 8);
		break;
	case 1:
		*word(run) += take(run, 1);
		break;
	case 2: /* a whole fault, as the kernel side counts it */
		run->record.counts.cells[code >> 7][code >> 5 & 3][code >> 4 & 1]++;
		run->record.counts.fault_ns.slots[take(run, 1) % NS_SLOTS]++;
		break;
	case 3: /* a batch */
		at = &run->record.counts.batch_pages.slots[take(run, 1) % BATCH_SLOTS];
		++*at;
		run->record.counts.batches++;
		run->record.counts.batch_installed += take(run, 2);
		break;
	case 4: /* any bytes */
		bytes = take(run, 2) % sizeof(run->record);
		at = (__u64 *)&run->record;
		for (size_t i = 0; i < bytes; i++)
			((uint8_t *)at)[i] = (uint8_t)take(run, 1);
		break;
	case 5:
		run->record.identity.id = 1 + take(run, 1) % ROWS;
		break;
	case 6:
		run->record.header.state = code & 0x80 ? VMA_UNMAPPED : VMA_MAPPED;
		break;
	case 7:
		memcpy(run->record.identity.comm, &(uint64_t){ take(run, 8) }, 8);
		break;
	case 8:
		run->record.counts.failed++;
		break;
	case 9:
	case 10:
		hand_over(run, code % 12 == 10);
		break;
	case 11:
		vma_table_each_interval(run->table, on_interval, run, NULL, NULL);
		if (code & 0x80)
			vma_table_each_evicted(run->table, on_interval, on_evicted, run);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run run = {
		.record = {
			.header = { RECORD_VMA, VMA_MAPPED },
			.identity = { .id = 1, .start = 0x7f0000000000, .end = 0x7f0000800000,
				      .where_start = 0x7f0000000000, .where_shift = 5,
				      .map_type = 2, .pid = 1 },
		},
		.at = data, .end = data + size,
	};
	uint8_t kind;

	run.record.counts.fault_ns.min = run.record.counts.batch_ns.min = UINT64_MAX;
	run.record.counts.batch_pages.min = UINT64_MAX;
	kind = (uint8_t)take(&run, 1);
	run.table = vma_table_new(kind & 1, kind & 2);
	run.capture = capture_new();
	run.balance = balance_new();
	run.sums = rows_new();
	balance_pages(run.balance, (uint64_t)sysconf(_SC_PAGESIZE));
	vma_table_limit_gone(run.table, GONE_MAX);
	for (int i = 0; i < STEPS_MAX && run.at < run.end; i++)
		step(&run);
	vma_table_each_interval(run.table, on_interval, &run, NULL, NULL);
	vma_table_each_total(run.table, on_total, &run);
	vma_table_free(run.table);
	capture_free(run.capture);
	balance_free(run.balance);
	rows_free(run.sums);
	return 0;
}
