/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The VMA table, fed with records as the kernel's side writes them: what
 * each becomes in a report, that intervals add up, and what torn, late and
 * repeated snapshots do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../bpf/records.h"
#include "vma_table.h"

#include "invariants.h"

#define BASE 0x7f0000000000

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- the kernel's side, imitated ---- */

static struct vma_record new_record(uint64_t id, uint64_t pages)
{
	struct vma_record record = {
		.header = { RECORD_VMA, VMA_MAPPED },
		.identity = {
			.id = id,
			.start = BASE,
			.end = BASE + pages * page_bytes(),
			.where_start = BASE,
			.flags = VMA_MMAP_SEEN,
			.mmap_ns = 1200,
			.pid = 100,
			.map_id = 7,
			.map_type = 2,
			.exits_before = UINT64_MAX,
			.comm = "worker",
			.map_name = "counters",
		},
	};

	while ((uint64_t)WHERE_BINS << record.identity.where_shift < pages)
		record.identity.where_shift++;
	record.counts.fault_ns.min = UINT64_MAX;
	record.counts.batch_ns.min = UINT64_MAX;
	record.counts.batch_pages.min = UINT64_MAX;
	return record;
}

static void note(__u64 *slots, unsigned int count, __u64 *sum, __u64 *min, __u64 *max,
		 uint64_t value)
{
	unsigned int slot = dist_slot(value);

	slots[slot < count ? slot : count - 1]++;
	*sum += value;
	if (value < *min)
		*min = value;
	if (value > *max)
		*max = value;
}

static void note_ns(struct ns_dist *dist, uint64_t ns)
{
	note(dist->slots, NS_SLOTS, &dist->sum, &dist->min, &dist->max, ns);
}

static void fault(struct vma_record *record, enum fault_access access, enum fault_origin origin,
		  enum fault_lock lock, uint64_t ns)
{
	record->counts.cells[access][origin][lock]++;
	record->counts.exits++;
	record->counts.where[0]++;
	note_ns(&record->counts.fault_ns, ns);
}

static void user_fault(struct vma_record *record)
{
	fault(record, ACCESS_READ, ORIGIN_USER, UNDER_MMAP_LOCK, 1000);
}

static void batch(struct vma_record *record, uint64_t pages, uint64_t ns)
{
	struct batch_dist *dist = &record->counts.batch_pages;

	note(dist->slots, BATCH_SLOTS, &dist->sum, &dist->min, &dist->max, pages);
	note_ns(&record->counts.batch_ns, ns);
	record->counts.batches++;
	record->counts.batch_installed += pages;
	record->counts.where[1] += pages;
}

/* ---- reports, collected ---- */

struct reports {
	struct vma_report items[256];
	size_t count;
};

static void collect(void *context, const struct vma_report *report)
{
	struct reports *reports = context;

	assert_true(reports->count < sizeof(reports->items) / sizeof(reports->items[0]));
	assert_invariants(report);
	reports->items[reports->count++] = *report;
}

static void never(void *context, const struct vma_report *report)
{
	(void)context;
	(void)report;
	fail_msg("a report that should not come");
}

static const struct vma_report *only_total(struct vma_table *table)
{
	static struct reports reports;

	reports.count = 0;
	vma_table_each_total(table, collect, &reports);
	assert_int_equal(reports.count, 1);
	assert_int_equal(reports.items[0].span, SPAN_TOTAL);
	return &reports.items[0];
}

static const struct vma_report *only_interval(struct vma_table *table)
{
	static struct reports reports;

	reports.count = 0;
	vma_table_each_interval(table, collect, &reports, NULL, NULL);
	assert_int_equal(reports.count, 1);
	assert_int_equal(reports.items[0].span, SPAN_INTERVAL);
	return &reports.items[0];
}

static struct vma_table *new_table(void)
{
	struct vma_table *table = vma_table_new(true, true);

	assert_non_null(table);
	return table;
}

static void add(struct vma_table *table, const struct vma_record *record)
{
	assert_int_equal(vma_table_add(table, record, 0), 0);
}

/* ---- one record, one report ---- */

static void test_empty_table_reports_nothing(void **state)
{
	struct vma_table *table = new_table();
	uint64_t faults = 1, pages = 1;

	(void)state;
	vma_table_each_interval(table, never, NULL, &faults, &pages);
	vma_table_each_total(table, never, NULL);
	assert_int_equal(vma_table_each_evicted(table, never, never, NULL), 0);
	assert_true(faults == 0 && pages == 0 && vma_table_count(table) == 0);
	vma_table_free(table);
	vma_table_free(NULL);
}

static void test_identity(void **state)
{
	struct vma_record record = new_record(42, 2048);
	struct vma_table *table = new_table();
	const struct vma_report *vma;

	(void)state;
	record.identity.map_offset_pages = 16;
	record.identity.flags |= VMA_MMAP_POPULATE;
	memset(record.identity.comm, 'c', COMM_BYTES);
	memset(record.identity.map_name, 'm', MAP_NAME_BYTES);
	add(table, &record);
	vma = only_total(table);
	assert_true(vma->row == 42 && vma->pid == 100 && vma->mapped);
	assert_string_equal(vma->comm, "ccccccccccccccc");
	assert_int_equal(vma->map.id, 7);
	assert_string_equal(vma->map.name, "mmmmmmmmmmmmmmm");
	assert_string_equal(vma->map.type, "array");
	assert_true(vma->start == BASE && vma->end == BASE + 2048 * page_bytes());
	assert_true(vma->pages == 2048 && vma->map_offset_pages == 16);
	assert_true(vma->mmap.seen && vma->mmap.ns == 1200 && vma->mmap.populate);
	assert_true(vma->raced_known);
	vma_table_free(table);
}

static void test_mmap_that_was_not_seen(void **state)
{
	struct vma_record record = new_record(1, 8);
	struct vma_table *table = new_table();
	const struct vma_report *vma;

	(void)state;
	record.identity.flags = 0;
	add(table, &record);
	vma = only_total(table);
	assert_true(!vma->mmap.seen && vma->mmap.ns == 0 && !vma->mmap.populate);
	vma_table_free(table);
}

/* Each cell holds its own number, so that none can stand for another. */
static void test_cells(void **state)
{
	struct vma_record record = new_record(1, 8);
	struct vma_table *table = new_table();
	const struct fault_counts *faults;
	uint64_t by_access[ACCESSES] = { 0 }, by_origin[ORIGINS] = { 0 }, by_lock[LOCKS] = { 0 };
	uint64_t value = 1;

	(void)state;
	for (int a = 0; a < ACCESSES; a++)
		for (int o = 0; o < ORIGINS; o++)
			for (int l = 0; l < LOCKS; l++, value *= 3) {
				record.counts.cells[a][o][l] = value;
				by_access[a] += value;
				by_origin[o] += value;
				by_lock[l] += value;
			}
	record.counts.untimed_exit_missed = by_access[ACCESS_READ];
	record.counts.untimed_exit_seen = by_access[ACCESS_WRITE];
	record.counts.failed = 5;
	add(table, &record);
	faults = &only_total(table)->faults;
	assert_true(faults->read == by_access[ACCESS_READ]);
	assert_true(faults->write == by_access[ACCESS_WRITE]);
	assert_true(faults->user == by_origin[ORIGIN_USER]);
	assert_true(faults->populate == by_origin[ORIGIN_POPULATE]);
	assert_true(faults->kernel == by_origin[ORIGIN_KERNEL]);
	assert_true(faults->remote == by_origin[ORIGIN_REMOTE]);
	assert_true(faults->under_mmap_lock == by_lock[UNDER_MMAP_LOCK]);
	assert_true(faults->failed == 5);
	assert_true(faults->untimed == faults->total);
	vma_table_free(table);
}

static void test_distributions_and_batches(void **state)
{
	struct vma_record record = new_record(1, 2048);
	struct vma_table *table = new_table();
	const struct vma_report *vma;

	(void)state;
	fault(&record, ACCESS_READ, ORIGIN_USER, UNDER_VMA_LOCK, 0);
	fault(&record, ACCESS_READ, ORIGIN_USER, UNDER_VMA_LOCK, 5000);
	fault(&record, ACCESS_READ, ORIGIN_USER, UNDER_VMA_LOCK, UINT64_C(1) << 50);
	batch(&record, 16, 3000);
	batch(&record, 40000, 9000);
	record.counts.batches_declined = 3;
	add(table, &record);
	vma = only_total(table);
	assert_int_equal(vma->fault_ns.open_slot, NS_SLOTS - 1);
	assert_true(vma->fault_ns.min == 0 && vma->fault_ns.max == UINT64_C(1) << 50);
	assert_true(vma->fault_ns.sum == (UINT64_C(1) << 50) + 5000);
	assert_int_equal(vma->fault_ns.slots[0], 1);
	assert_int_equal(vma->fault_ns.slots[13], 1);
	assert_int_equal(vma->fault_ns.slots[NS_SLOTS - 1], 1);
	assert_int_equal(vma->batch_pages.open_slot, BATCH_SLOTS - 1);
	assert_int_equal(vma->batch_pages.slots[5], 1);
	assert_int_equal(vma->batch_pages.slots[BATCH_SLOTS - 1], 1);
	assert_true(vma->batches.total == 2 && vma->batches.pages == 40016);
	assert_true(vma->batches.declined == 3);
	assert_true(vma->batch_ns.sum == 12000 && vma->batch_ns.min == 3000);
	assert_true(vma->installed_pages == 40019);
	vma_table_free(table);
}

static void test_counts_of_64_bits(void **state)
{
	struct vma_record record = new_record(1, 8);
	struct vma_table *table = new_table();

	(void)state;
	record.counts.cells[ACCESS_WRITE][ORIGIN_USER][UNDER_VMA_LOCK] = UINT64_C(1) << 56;
	record.counts.fault_ns.slots[20] = UINT64_C(1) << 56;
	record.counts.exits = UINT64_C(1) << 56;
	record.counts.fault_ns.min = record.counts.fault_ns.max = UINT64_C(1) << 19;
	add(table, &record);
	assert_true(only_total(table)->faults.write == UINT64_C(1) << 56);
	assert_true(only_total(table)->installed_pages == UINT64_C(1) << 56);
	vma_table_free(table);
}

/* Bytes that no kernel side writes: of another kind, or with counts beyond all reason. */
static void test_impossible_record_is_refused(void **state)
{
	struct vma_record good = new_record(1, 8), bad[6];
	struct vma_table *table = new_table();

	(void)state;
	user_fault(&good);
	for (int i = 0; i < 6; i++)
		bad[i] = good;
	bad[0].header.type = RECORD_UPDATES;
	bad[1].header.state = 0;
	bad[2].header.state = VMA_UNMAPPED + 1;
	bad[3].identity.where_shift = 64;
	bad[4].counts.cells[ACCESS_READ][ORIGIN_REMOTE][UNDER_MMAP_LOCK] = UINT64_MAX;
	bad[5].counts.where[63] = (UINT64_C(1) << 56) + 1;
	for (int i = 0; i < 6; i++) {
		assert_int_equal(vma_table_add(table, &bad[i], 0), -EPROTO);
		assert_int_equal(vma_table_add_last(table, &bad[i]), -EPROTO);
	}
	assert_int_equal(vma_table_count(table), 0);
	add(table, &good);
	assert_true(only_total(table)->faults.total == 1);
	vma_table_free(table);
}

static void test_where(void **state)
{
	static const struct { uint64_t pages, per_bin; unsigned int count; } cases[] = {
		{ 1, 1, 1 }, { 63, 1, 63 }, { 64, 1, 64 }, { 65, 2, 33 }, { 100, 2, 50 },
		{ 2048, 32, 64 }, { 2049, 64, 33 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vma_record record = new_record(1, cases[i].pages);
		struct vma_table *table = new_table();
		const struct vma_report *vma;

		user_fault(&record);
		add(table, &record);
		vma = only_total(table);
		assert_true(vma->where.pages_per_bin == cases[i].per_bin);
		assert_int_equal(vma->where.count, cases[i].count);
		assert_true(vma->where.pages[0] == 1);
		vma_table_free(table);
	}
}

/* A VMA that lost its front, or shrank, keeps the bins that were counted in. */
static void test_where_of_a_vma_that_was_cut(void **state)
{
	struct vma_record record = new_record(1, 2048);
	struct vma_table *table = new_table();
	const struct vma_report *vma;

	(void)state;
	record.counts.where[63] = 7;
	record.identity.end = BASE + 64 * page_bytes();
	add(table, &record);
	assert_int_equal(only_total(table)->where.count, 64);
	record.counts.where[63] = 0;
	record.identity.start = BASE + 32 * page_bytes();
	add(table, &record);
	vma = only_total(table);
	assert_int_equal(vma->where.count, 2);
	assert_int_equal(vma->pages, 32);
	vma_table_free(table);
}

/* ---- intervals ---- */

static void test_interval_is_what_changed(void **state)
{
	struct vma_record record = new_record(1, 64);
	struct vma_table *table = new_table();
	uint64_t faults, pages;
	struct reports reports = { .count = 0 };

	(void)state;
	user_fault(&record);
	add(table, &record);
	assert_true(only_interval(table)->faults.total == 1);
	vma_table_each_interval(table, never, NULL, NULL, NULL);

	fault(&record, ACCESS_WRITE, ORIGIN_KERNEL, UNDER_VMA_LOCK, 77);
	batch(&record, 16, 500);
	add(table, &record);
	vma_table_each_interval(table, collect, &reports, &faults, &pages);
	assert_int_equal(reports.count, 1);
	assert_true(reports.items[0].faults.write == 1 && reports.items[0].faults.read == 0);
	assert_true(reports.items[0].faults.kernel == 1 && reports.items[0].faults.user == 0);
	assert_true(reports.items[0].fault_ns.sum == 77 && reports.items[0].fault_ns.max == 77);
	assert_true(reports.items[0].where.pages[0] == 1 && reports.items[0].where.pages[1] == 16);
	assert_true(faults == 1 && pages == 17);

	/* the same snapshot again is no news */
	add(table, &record);
	vma_table_each_interval(table, never, NULL, &faults, &pages);
	assert_true(faults == 0 && pages == 0);
	assert_true(only_total(table)->faults.total == 2);
	vma_table_free(table);
}

static void test_appearing_and_going_are_told_once(void **state)
{
	struct vma_record record = new_record(1, 64);
	struct vma_table *table = new_table();

	(void)state;
	add(table, &record);
	assert_true(only_interval(table)->mapped);
	vma_table_each_interval(table, never, NULL, NULL, NULL);
	record.header.state = VMA_UNMAPPED;
	add(table, &record);
	assert_false(only_interval(table)->mapped);
	vma_table_each_interval(table, never, NULL, NULL, NULL);
	assert_false(only_total(table)->mapped);
	vma_table_free(table);
}

static void test_short_life_is_one_report(void **state)
{
	struct vma_record record = new_record(1, 64);
	struct vma_table *table = new_table();

	(void)state;
	user_fault(&record);
	record.header.state = VMA_UNMAPPED;
	add(table, &record);
	assert_true(only_interval(table)->faults.total == 1);
	vma_table_each_interval(table, never, NULL, NULL, NULL);
	vma_table_free(table);
}

static uint64_t seed;

static uint64_t random_below(uint64_t limit)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (seed >> 33) % limit;
}

/* Some faults of any kind, some untimed, some failed, some raced, some batches. */
static void live(struct vma_record *record)
{
	struct vma_counts *counts = &record->counts;

	for (uint64_t i = random_below(20); i > 0; i--) {
		fault(record, (enum fault_access)random_below(ACCESSES),
		      (enum fault_origin)random_below(ORIGINS),
		      (enum fault_lock)random_below(LOCKS), random_below(100000));
		if (!random_below(5))
			counts->failed++;
	}
	for (uint64_t i = random_below(3); i > 0; i--) {
		counts->cells[0][0][0]++;
		counts->untimed_exit_missed++;
	}
	for (uint64_t i = random_below(3); i > 0; i--) {
		counts->cells[1][0][0]++;
		counts->untimed_exit_seen++;
		counts->exits++;
	}
	counts->exits += random_below(4);
	for (uint64_t i = random_below(5); i > 0; i--)
		batch(record, 1 + random_below(512), random_below(100000));
	counts->batches_declined += random_below(2);
}

enum { VMAS = 30, ROUNDS = 12 };

static void add_to_sum(struct vma_report *sum, const struct vma_report *part)
{
	uint64_t *total = &sum->faults.total;
	const uint64_t *more = &part->faults.total;

	/* struct fault_counts is counters only */
	for (size_t i = 0; i < sizeof(sum->faults) / sizeof(uint64_t); i++)
		total[i] += more[i];
	sum->batches.total += part->batches.total;
	sum->batches.declined += part->batches.declined;
	sum->batches.pages += part->batches.pages;
	sum->installed_pages += part->installed_pages;
	sum->fault_ns.open_slot = sum->batch_ns.open_slot = NS_SLOTS - 1;
	sum->batch_pages.open_slot = BATCH_SLOTS - 1;
	dist_merge(&sum->fault_ns, &part->fault_ns);
	dist_merge(&sum->batch_ns, &part->batch_ns);
	dist_merge(&sum->batch_pages, &part->batch_pages);
	for (unsigned int i = 0; i < MODEL_WHERE_BINS; i++)
		sum->where.pages[i] += part->where.pages[i];
}

static void assert_sums_equal(const struct vma_report *sum, const struct vma_report *total)
{
	assert_memory_equal(&sum->faults, &total->faults, sizeof(sum->faults));
	assert_memory_equal(&sum->batches, &total->batches, sizeof(sum->batches));
	assert_true(sum->installed_pages == total->installed_pages);
	assert_memory_equal(sum->fault_ns.slots, total->fault_ns.slots,
			    sizeof(sum->fault_ns.slots));
	assert_memory_equal(sum->batch_ns.slots, total->batch_ns.slots,
			    sizeof(sum->batch_ns.slots));
	assert_memory_equal(sum->batch_pages.slots, total->batch_pages.slots,
			    sizeof(sum->batch_pages.slots));
	assert_true(sum->fault_ns.sum == total->fault_ns.sum);
	assert_true(sum->batch_ns.sum == total->batch_ns.sum);
	assert_true(sum->batch_pages.sum == total->batch_pages.sum);
	assert_memory_equal(sum->where.pages, total->where.pages, sizeof(sum->where.pages));
}

static struct vma_report sums[VMAS + 1];
static uint64_t evicted_rows;

static void sum_interval(void *context, const struct vma_report *report)
{
	(void)context;
	assert_invariants(report);
	assert_int_equal(report->span, SPAN_INTERVAL);
	add_to_sum(&sums[report->row], report);
}

static void check_total(void *context, const struct vma_report *report)
{
	uint64_t *rows = context;

	assert_invariants(report);
	assert_int_equal(report->span, SPAN_TOTAL);
	assert_sums_equal(&sums[report->row], report);
	(*rows)++;
}

/* A life of many VMAs, with snapshots torn, late and missing on the way. */
static void run_random_life(uint64_t start, size_t gone_limit)
{
	struct vma_table *table = new_table();
	struct vma_record records[VMAS + 1], torn;
	uint64_t rows = 0, faults, pages, fault_sum = 0, page_sum = 0, all = 0, all_pages = 0;
	bool last;

	seed = start;
	evicted_rows = 0;
	memset(sums, 0, sizeof(sums));
	vma_table_limit_gone(table, gone_limit);
	for (uint64_t id = 1; id <= VMAS; id++)
		records[id] = new_record(id, 2048);
	for (int round = 0; round < ROUNDS; round++) {
		last = round == ROUNDS - 1;
		for (uint64_t id = VMAS; id > 0; id--) {
			struct vma_record *record = &records[id];

			if (record->header.state == VMA_UNMAPPED)
				continue;
			live(record);
			if (!last && random_below(3) == 0)
				continue;
			torn = *record;
			torn.counts.cells[0][1][1]++;
			assert_int_equal(vma_table_add(table, &torn, 0), -EAGAIN);
			if (!random_below(6))
				record->header.state = VMA_UNMAPPED;
			if (last)
				assert_int_equal(vma_table_add_last(table, record), 0);
			else
				assert_int_equal(vma_table_add(table, record, random_below(3)), 0);
		}
		vma_table_each_evicted(table, sum_interval, check_total, &evicted_rows);
		vma_table_each_interval(table, sum_interval, NULL, &faults, &pages);
		fault_sum += faults;
		page_sum += pages;
	}
	rows = evicted_rows;
	vma_table_each_total(table, check_total, &rows);
	assert_int_equal(rows, VMAS);
	assert_int_equal(vma_table_count(table), VMAS);
	for (uint64_t id = 1; id <= VMAS; id++) {
		all += sums[id].faults.total;
		all_pages += sums[id].installed_pages;
	}
	assert_true(fault_sum == all && page_sum == all_pages);
	vma_table_free(table);
}

static void test_intervals_add_up_to_totals(void **state)
{
	(void)state;
	for (uint64_t start = 1; start <= 20; start++)
		run_random_life(start, VMA_TABLE_GONE_MAX);
	assert_int_equal(evicted_rows, 0);
}

static void test_intervals_add_up_when_rows_are_evicted(void **state)
{
	(void)state;
	for (uint64_t start = 1; start <= 20; start++) {
		run_random_life(start, 4);
		assert_true(evicted_rows > 0);
	}
}

/* ---- torn snapshots ---- */

static void test_torn_snapshot_is_refused(void **state)
{
	struct vma_record record = new_record(1, 64);
	struct vma_table *table = new_table();

	(void)state;
	record.counts.cells[ACCESS_READ][ORIGIN_USER][UNDER_VMA_LOCK] = 1;
	assert_int_equal(vma_table_add(table, &record, 0), -EAGAIN);
	assert_int_equal(vma_table_count(table), 0);
	record.counts.untimed_exit_missed = 1;
	add(table, &record);
	/* failures may not outnumber faults either */
	record.counts.failed = 2;
	assert_int_equal(vma_table_add(table, &record, 0), -EAGAIN);
	assert_true(only_total(table)->faults.failed == 0);
	vma_table_free(table);
}

static void test_last_snapshot_is_mended(void **state)
{
	struct vma_record record = new_record(1, 64), closed = new_record(2, 64);
	struct vma_table *table = new_table();
	struct reports reports = { .count = 0 };

	(void)state;
	/* more faults than times */
	user_fault(&record);
	record.counts.cells[ACCESS_WRITE][ORIGIN_USER][UNDER_VMA_LOCK] = 2;
	assert_int_equal(vma_table_add(table, &record, 0), -EAGAIN);
	assert_int_equal(vma_table_add_last(table, &record), 0);
	/* more times than faults */
	fault(&closed, ACCESS_WRITE, ORIGIN_KERNEL, UNDER_MMAP_LOCK, 10);
	note_ns(&closed.counts.fault_ns, 30);
	closed.counts.failed = 3;
	closed.header.state = VMA_UNMAPPED;
	add(table, &closed);

	vma_table_each_total(table, collect, &reports);
	assert_int_equal(reports.count, 2);
	assert_true(reports.items[0].faults.total == 3 && reports.items[0].faults.untimed == 2);
	assert_true(reports.items[1].faults.total == 2 && reports.items[1].faults.kernel == 2);
	assert_true(reports.items[1].faults.failed == 2);
	vma_table_free(table);
}

/* A failure is noted a moment after its fault: installed pages must not fall by it. */
static void test_late_failure_takes_nothing_back(void **state)
{
	struct vma_record record = new_record(1, 64);
	struct vma_table *table = vma_table_new(false, true);
	const struct vma_report *vma;

	(void)state;
	record.counts.cells[ACCESS_READ][ORIGIN_USER][UNDER_VMA_LOCK] = 1;
	add(table, &record);
	assert_true(only_interval(table)->installed_pages == 1);
	record.counts.failed = 1;
	add(table, &record);
	vma_table_each_interval(table, never, NULL, NULL, NULL);
	record.counts.cells[ACCESS_READ][ORIGIN_USER][UNDER_VMA_LOCK] = 2;
	add(table, &record);
	vma = only_interval(table);
	assert_true(vma->faults.total == 1 && vma->faults.failed == 1);
	assert_true(vma->installed_pages == 0);
	vma_table_free(table);
}

/* min and max are written beside the slots: they never leave them. */
static void test_range_stays_in_its_slots(void **state)
{
	struct vma_record record = new_record(1, 64);
	struct vma_table *table = new_table();
	const struct vma_report *vma;

	(void)state;
	user_fault(&record);
	record.counts.fault_ns.min = UINT64_MAX;
	record.counts.fault_ns.max = 0;
	add(table, &record);
	vma = only_total(table);
	assert_true(vma->fault_ns.min >= 512 && vma->fault_ns.min <= 1023);
	assert_true(vma->fault_ns.max >= 512 && vma->fault_ns.max <= 1023);
	vma_table_free(table);

	/* the open slot has no end of its own to fall back to */
	table = new_table();
	record = new_record(1, 64);
	fault(&record, ACCESS_READ, ORIGIN_USER, UNDER_VMA_LOCK, UINT64_C(1) << 50);
	record.counts.fault_ns.max = 0;
	add(table, &record);
	vma = only_total(table);
	assert_true(vma->fault_ns.min == UINT64_C(1) << 50);
	assert_true(vma->fault_ns.max == UINT64_C(1) << 50);
	vma_table_free(table);
}

/* ---- late and repeated snapshots ---- */

static void test_nothing_comes_after_the_end(void **state)
{
	struct vma_record record = new_record(1, 64);
	struct vma_table *table = new_table();

	(void)state;
	user_fault(&record);
	record.header.state = VMA_UNMAPPED;
	add(table, &record);
	user_fault(&record);
	add(table, &record);
	record.header.state = VMA_MAPPED;
	add(table, &record);
	assert_int_equal(vma_table_add_last(table, &record), 0);
	assert_true(only_total(table)->faults.total == 1);
	assert_false(only_total(table)->mapped);
	assert_int_equal(vma_table_count(table), 1);
	vma_table_free(table);
}

static void test_older_snapshot_is_refused(void **state)
{
	struct vma_record record = new_record(1, 64), fewer_faults, fewer_batches;
	struct vma_table *table = new_table();

	(void)state;
	user_fault(&record);
	batch(&record, 4, 100);
	fewer_faults = fewer_batches = record;
	user_fault(&fewer_batches);
	batch(&fewer_faults, 4, 100);
	user_fault(&record);
	batch(&record, 4, 100);
	add(table, &record);
	assert_true(only_interval(table)->installed_pages == 10);
	assert_int_equal(vma_table_add(table, &fewer_faults, 0), -EAGAIN);
	assert_int_equal(vma_table_add(table, &fewer_batches, 0), -EAGAIN);
	vma_table_free(table);
}

static void test_older_end_takes_nothing_back(void **state)
{
	struct vma_record record = new_record(1, 64), older;
	struct vma_table *table = new_table();
	const struct vma_report *vma;

	(void)state;
	user_fault(&record);
	older = record;
	older.header.state = VMA_UNMAPPED;
	fault(&record, ACCESS_WRITE, ORIGIN_USER, UNDER_VMA_LOCK, 520);
	batch(&record, 4, 100);
	add(table, &record);
	assert_true(only_interval(table)->installed_pages == 6);
	add(table, &older);
	assert_true(only_interval(table)->installed_pages == 0);
	vma = only_total(table);
	assert_true(vma->installed_pages == 6 && vma->faults.write == 1);
	assert_true(vma->fault_ns.min == 520 && vma->fault_ns.max == 1000);
	assert_true(vma->batch_pages.min == 4 && vma->batch_ns.min == 100);
	vma_table_free(table);
}

static void test_what_is_not_known_any_more_stays(void **state)
{
	struct vma_record record = new_record(1, 64);
	struct vma_table *table = new_table();

	(void)state;
	add(table, &record);
	record.identity.pid = 0;
	record.identity.comm[0] = '\0';
	record.header.state = VMA_UNMAPPED;
	add(table, &record);
	assert_int_equal(only_total(table)->pid, 100);
	assert_string_equal(only_total(table)->comm, "worker");
	vma_table_free(table);
}

static void test_newest_identity_is_shown(void **state)
{
	struct vma_record record = new_record(1, 64);
	struct vma_table *table = new_table();

	(void)state;
	add(table, &record);
	strcpy(record.identity.comm, "renamed");
	record.identity.end = BASE + 32 * page_bytes();
	add(table, &record);
	assert_string_equal(only_total(table)->comm, "renamed");
	assert_int_equal(only_total(table)->pages, 32);
	vma_table_free(table);
}

/* ---- races ---- */

static void test_races_are_exits_without_a_fault(void **state)
{
	struct vma_record record = new_record(1, 64);
	struct vma_table *table = new_table();

	(void)state;
	user_fault(&record);
	record.counts.cells[0][0][0] += 2;
	record.counts.untimed_exit_seen = 1;
	record.counts.untimed_exit_missed = 1;
	record.counts.exits = 2 + 5;
	/* five more exits, of which two may still write their PTE */
	assert_int_equal(vma_table_add(table, &record, 2), 0);
	assert_true(only_interval(table)->faults.raced == 3);
	/* one of these did, the other raced */
	user_fault(&record);
	record.counts.exits--;
	assert_int_equal(vma_table_add(table, &record, 1), 0);
	assert_true(only_interval(table)->faults.raced == 0);
	assert_int_equal(vma_table_add_last(table, &record), 0);
	assert_true(only_interval(table)->faults.raced == 1);
	assert_true(only_total(table)->faults.raced == 4);
	vma_table_free(table);
}

static void test_races_never_fall(void **state)
{
	struct vma_record record = new_record(1, 64);
	struct vma_table *table = new_table();

	(void)state;
	record.counts.exits = 3;
	add(table, &record);
	assert_true(only_interval(table)->faults.raced == 3);
	assert_int_equal(vma_table_add(table, &record, 2), 0);
	vma_table_each_interval(table, never, NULL, NULL, NULL);
	assert_true(only_total(table)->faults.raced == 3);
	/* more in flight than exits is not less than nothing */
	assert_int_equal(vma_table_add(table, &record, 50), 0);
	assert_true(only_total(table)->faults.raced == 3);
	vma_table_free(table);
}

static void test_races_are_told_of_exits_before_the_look(void **state)
{
	struct vma_record record = new_record(1, 64);
	struct vma_table *table = new_table();

	(void)state;
	user_fault(&record);
	record.counts.exits = 10;
	record.identity.exits_before = 4;
	assert_int_equal(vma_table_add(table, &record, 1), 0);
	assert_true(only_total(table)->faults.raced == 2);
	/* the end knows all */
	record.header.state = VMA_UNMAPPED;
	assert_int_equal(vma_table_add(table, &record, 1), 0);
	assert_true(only_total(table)->faults.raced == 9);
	vma_table_free(table);
}

static void check_races_unknown(bool timed, bool exact)
{
	struct vma_record record = new_record(1, 64);
	struct vma_table *table = vma_table_new(timed, exact);

	user_fault(&record);
	record.counts.exits = 10;
	add(table, &record);
	assert_true(only_total(table)->faults.raced == 0);
	assert_false(only_total(table)->raced_known);
	vma_table_free(table);
}

static void test_races_that_nothing_can_tell(void **state)
{
	(void)state;
	check_races_unknown(true, false);
	check_races_unknown(false, true);
	check_races_unknown(false, false);
}

static void test_without_times_all_is_untimed(void **state)
{
	struct vma_record record = new_record(1, 64);
	struct vma_table *table = vma_table_new(false, true);
	const struct vma_report *vma;

	(void)state;
	record.counts.cells[ACCESS_WRITE][ORIGIN_USER][UNDER_VMA_LOCK] = 9;
	add(table, &record);
	vma = only_total(table);
	assert_true(vma->faults.total == 9 && vma->faults.untimed == 9);
	assert_int_equal(dist_count(&vma->fault_ns), 0);
	vma_table_free(table);
}

/* ---- many ---- */

struct order {
	uint64_t last, count;
};

static void check_order(void *context, const struct vma_report *report)
{
	struct order *order = context;

	assert_true(report->row > order->last);
	order->last = report->row;
	order->count++;
}

/* 20,000 VMAs in an order that is neither rising nor falling, a few rounds of each. */
static void test_many_vmas_in_good_time(void **state)
{
	enum { MANY = 20000 };
	struct vma_table *table = new_table();
	struct vma_record record = new_record(0, 64);
	struct timespec before, after;
	struct order order;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &before);
	for (int round = 0; round < 3; round++) {
		user_fault(&record);
		for (uint64_t i = 0; i < MANY; i++) {
			record.identity.id = 1 + i * 7919 % MANY;
			add(table, &record);
		}
		order = (struct order){ 0, 0 };
		vma_table_each_interval(table, check_order, &order, NULL, NULL);
		assert_int_equal(order.count, MANY);
	}
	order = (struct order){ 0, 0 };
	vma_table_each_total(table, check_order, &order);
	assert_int_equal(order.count, MANY);
	assert_int_equal(vma_table_count(table), MANY);
	clock_gettime(CLOCK_MONOTONIC, &after);
	/* Takes about a second with sanitizers; quadratic, it would take minutes. */
	assert_true(after.tv_sec - before.tv_sec < 30);
	vma_table_free(table);
}

static void test_evicts_those_gone_longest(void **state)
{
	struct vma_table *table = new_table();
	struct reports totals = { .count = 0 };
	uint64_t faults, pages;

	(void)state;
	vma_table_limit_gone(table, 8);
	for (uint64_t id = 1; id <= 12; id++) {
		/* they go in falling order of id; 5 stays */
		struct vma_record record = new_record(13 - id, 64);

		user_fault(&record);
		if (record.identity.id != 5)
			record.header.state = VMA_UNMAPPED;
		add(table, &record);
		if (id == 8)
			assert_int_equal(vma_table_each_evicted(table, NULL, never, NULL), 0);
	}
	/* 11 are gone, 8 may stay: a quarter more is made room for */
	assert_int_equal(vma_table_each_evicted(table, NULL, collect, &totals), 5);
	assert_int_equal(totals.count, 5);
	for (size_t i = 0; i < totals.count; i++)
		assert_int_equal(totals.items[i].row, 8 + i);
	assert_int_equal(vma_table_each_evicted(table, NULL, never, NULL), 0);
	vma_table_each_total(table, collect, &totals);
	assert_int_equal(totals.count, 12);
	assert_int_equal(vma_table_count(table), 12);
	/* without an interval callback nothing was reported of them */
	vma_table_each_interval(table, collect, &totals, &faults, &pages);
	assert_true(faults == 7 && pages == 7);
	vma_table_free(table);
}

static void test_evicted_are_in_the_next_sums(void **state)
{
	struct vma_table *table = new_table();
	struct reports intervals = { .count = 0 };
	struct vma_record record;
	uint64_t faults, pages;

	(void)state;
	vma_table_limit_gone(table, 0);
	record = new_record(1, 64);
	user_fault(&record);
	batch(&record, 10, 1);
	record.header.state = VMA_UNMAPPED;
	add(table, &record);
	assert_int_equal(vma_table_each_evicted(table, collect, collect, &intervals), 1);
	assert_int_equal(intervals.count, 2);
	assert_int_equal(intervals.items[0].span, SPAN_INTERVAL);
	assert_int_equal(intervals.items[1].span, SPAN_TOTAL);
	vma_table_each_interval(table, never, NULL, &faults, &pages);
	assert_true(faults == 1 && pages == 11);
	vma_table_each_interval(table, never, NULL, &faults, &pages);
	assert_true(faults == 0 && pages == 0);
	vma_table_free(table);
}

/* Rows that stay are still found, and room is made as before. */
static void test_table_goes_on_after_eviction(void **state)
{
	struct vma_table *table = new_table();
	struct reports totals = { .count = 0 };

	(void)state;
	vma_table_limit_gone(table, 0);
	for (uint64_t round = 0; round < 20; round++) {
		/* one VMA that stays, twenty that come and go */
		struct vma_record stays = new_record(1, 64);

		for (uint64_t i = 0; i <= round; i++)
			user_fault(&stays);
		for (uint64_t i = 0; i < 20; i++) {
			struct vma_record goes = new_record(2 + 20 * round + i, 64);

			goes.header.state = VMA_UNMAPPED;
			add(table, &goes);
		}
		add(table, &stays);
		totals.count = 0;
		assert_int_equal(vma_table_each_evicted(table, NULL, collect, &totals), 20);
	}
	assert_true(only_total(table)->faults.total == 20);
	assert_int_equal(vma_table_count(table), 401);
	vma_table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty_table_reports_nothing),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_mmap_that_was_not_seen),
		cmocka_unit_test(test_cells),
		cmocka_unit_test(test_distributions_and_batches),
		cmocka_unit_test(test_counts_of_64_bits),
		cmocka_unit_test(test_impossible_record_is_refused),
		cmocka_unit_test(test_where),
		cmocka_unit_test(test_where_of_a_vma_that_was_cut),
		cmocka_unit_test(test_interval_is_what_changed),
		cmocka_unit_test(test_appearing_and_going_are_told_once),
		cmocka_unit_test(test_short_life_is_one_report),
		cmocka_unit_test(test_intervals_add_up_to_totals),
		cmocka_unit_test(test_intervals_add_up_when_rows_are_evicted),
		cmocka_unit_test(test_torn_snapshot_is_refused),
		cmocka_unit_test(test_last_snapshot_is_mended),
		cmocka_unit_test(test_late_failure_takes_nothing_back),
		cmocka_unit_test(test_range_stays_in_its_slots),
		cmocka_unit_test(test_nothing_comes_after_the_end),
		cmocka_unit_test(test_older_snapshot_is_refused),
		cmocka_unit_test(test_older_end_takes_nothing_back),
		cmocka_unit_test(test_what_is_not_known_any_more_stays),
		cmocka_unit_test(test_newest_identity_is_shown),
		cmocka_unit_test(test_races_are_exits_without_a_fault),
		cmocka_unit_test(test_races_never_fall),
		cmocka_unit_test(test_races_are_told_of_exits_before_the_look),
		cmocka_unit_test(test_races_that_nothing_can_tell),
		cmocka_unit_test(test_without_times_all_is_untimed),
		cmocka_unit_test(test_many_vmas_in_good_time),
		cmocka_unit_test(test_evicts_those_gone_longest),
		cmocka_unit_test(test_evicted_are_in_the_next_sums),
		cmocka_unit_test(test_table_goes_on_after_eviction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
