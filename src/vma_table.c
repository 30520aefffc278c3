/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is known of each VMA. A row keeps two cumulative states, the newest and
 * the one last reported, packed; reports are made from them when asked for.
 */
#include "vma_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../bpf/records.h"
#include "packed.h"

/* A cumulative state: the kernel's counts, and the races they amount to. */
struct state {
	struct vma_counts counts;
	uint64_t raced;
};

struct row {
	struct vma_identity identity;
	struct packed *now;		/* struct state */
	struct packed *reported;	/* the same; NULL: nothing was; may be now */
	uint64_t gone;			/* counts up as VMAs go; 0: still mapped */
	bool shown_mapped;		/* an interval has told of it */
	bool shown_gone;		/* and of its end */
};

struct vma_table {
	bool timed, exact;
	uint64_t page_bytes;
	struct row **rows;		/* all rows */
	size_t count, space;
	bool sorted;			/* rows are in order of id */
	struct row **slots;		/* open addressing by id, at most half full */
	size_t slot_count;		/* a power of two */
	size_t gone_count, gone_limit;
	uint64_t gone_last;		/* the newest `gone` given */
	uint64_t seen;
	uint64_t evicted_faults, evicted_pages;	/* for the sums of the next interval */
};

struct vma_table *vma_table_new(bool timed, bool exact)
{
	struct vma_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->timed = timed;
	table->exact = exact;
	table->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	table->gone_limit = VMA_TABLE_GONE_MAX;
	table->sorted = true;
	return table;
}

static void row_free(struct row *row)
{
	if (row->reported != row->now)
		free(row->reported);
	free(row->now);
	free(row);
}

void vma_table_free(struct vma_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count; i++)
		row_free(table->rows[i]);
	free(table->rows);
	free(table->slots);
	free(table);
}

void vma_table_limit_gone(struct vma_table *table, size_t limit)
{
	table->gone_limit = limit;
}

uint64_t vma_table_count(const struct vma_table *table)
{
	return table->seen;
}

/* ---- rows by id ---- */

/* The slot that holds id, or the empty one where it belongs. */
static struct row **slot_of(struct row **slots, size_t slot_count, uint64_t id)
{
	size_t i = (size_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	for (;; i++) {
		struct row **slot = &slots[i & (slot_count - 1)];

		if (!*slot || (*slot)->identity.id == id)
			return slot;
	}
}

static struct row *find(const struct vma_table *table, uint64_t id)
{
	return table->slots ? *slot_of(table->slots, table->slot_count, id) : NULL;
}

/* Fills the slots anew from the rows. */
static void index_rows(struct vma_table *table)
{
	memset(table->slots, 0, table->slot_count * sizeof(struct row *));
	for (size_t i = 0; i < table->count; i++) {
		struct row *row = table->rows[i];

		*slot_of(table->slots, table->slot_count, row->identity.id) = row;
	}
}

/* Makes room for one more row. */
static int grow(struct vma_table *table)
{
	size_t space = table->space ? 2 * table->space : 256;
	struct row **rows, **slots;

	if (table->count < table->space)
		return 0;
	rows = realloc(table->rows, space * sizeof(struct row *));
	if (!rows)
		return -ENOMEM;
	table->rows = rows;
	slots = calloc(2 * space, sizeof(struct row *));
	if (!slots)
		return -ENOMEM;
	free(table->slots);
	table->slots = slots;
	table->slot_count = 2 * space;
	table->space = space;
	index_rows(table);
	return 0;
}

static void append(struct vma_table *table, struct row *row)
{
	uint64_t id = row->identity.id;

	if (table->count && table->rows[table->count - 1]->identity.id > id)
		table->sorted = false;
	table->rows[table->count++] = row;
	*slot_of(table->slots, table->slot_count, id) = row;
	table->seen++;
}

static int by_id(const void *a, const void *b)
{
	uint64_t left = (*(struct row *const *)a)->identity.id;
	uint64_t right = (*(struct row *const *)b)->identity.id;

	return (left > right) - (left < right);
}

static void sort_rows(struct vma_table *table)
{
	if (!table->sorted)
		qsort(table->rows, table->count, sizeof(struct row *), by_id);
	table->sorted = true;
}

/* ---- snapshots ---- */

/* NULL is the state before all counts. */
static void state_get(const struct packed *packed, struct state *state)
{
	packed_get(packed, state, sizeof(*state));
	if (packed)
		return;
	state->counts.fault_ns.min = UINT64_MAX;
	state->counts.batch_ns.min = UINT64_MAX;
	state->counts.batch_pages.min = UINT64_MAX;
}

static uint64_t sum_of_slots(const __u64 *slots, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += slots[i];
	return sum;
}

static uint64_t cell_sum(const struct vma_counts *counts, int access, int origin, int lock)
{
	uint64_t sum = 0;

	for (int a = 0; a < ACCESSES; a++)
		for (int o = 0; o < ORIGINS; o++)
			for (int l = 0; l < LOCKS; l++)
				if ((access < 0 || a == access) && (origin < 0 || o == origin) &&
				    (lock < 0 || l == lock))
					sum += counts->cells[a][o][l];
	return sum;
}

enum { ANY = -1 };

static uint64_t fault_total(const struct vma_counts *counts)
{
	return cell_sum(counts, ANY, ANY, ANY);
}

static uint64_t timed_total(const struct vma_counts *counts)
{
	return sum_of_slots(counts->fault_ns.slots, NS_SLOTS);
}

/*
 * Was it taken between two steps of a fault, or before the state that was
 * reported last? Another look will give a better one.
 */
static bool is_torn(const struct vma_table *table, const struct vma_counts *counts,
		    const struct vma_counts *reported)
{
	uint64_t total = fault_total(counts);

	if (table->timed && total != timed_total(counts) + counts->untimed_exit_seen +
				     counts->untimed_exit_missed)
		return true;
	return counts->failed > total || total < fault_total(reported) ||
	       counts->batch_installed < reported->batch_installed;
}

/* Raises each of the counters to what was reported: reports never take back. */
static void raise_all(__u64 *counters, const __u64 *reported, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (counters[i] < reported[i])
			counters[i] = reported[i];
	}
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void raise_to_reported(struct vma_counts *counts, const struct vma_counts *reported)
{
	const struct vma_counts ours = *counts;

	/* All members are 64-bit counters that rise, but min, which falls. */
	raise_all((__u64 *)counts, (const __u64 *)reported, sizeof(*counts) / sizeof(__u64));
	counts->fault_ns.min = lesser(ours.fault_ns.min, reported->fault_ns.min);
	counts->batch_ns.min = lesser(ours.batch_ns.min, reported->batch_ns.min);
	counts->batch_pages.min = lesser(ours.batch_pages.min, reported->batch_pages.min);
}

/* Makes faults and their times agree where they do not: the last snapshot was torn. */
static void mend(struct vma_counts *counts)
{
	uint64_t total = fault_total(counts);
	uint64_t known = timed_total(counts) + counts->untimed_exit_seen +
			 counts->untimed_exit_missed;
	__u64 *cells = &counts->cells[0][0][0], *most = cells;

	if (total >= known) {
		counts->untimed_exit_missed += total - known;
		return;
	}
	/* A fault with a time has been: of the kind that most are. */
	for (size_t i = 1; i < ACCESSES * ORIGINS * LOCKS; i++) {
		if (cells[i] > *most)
			most = &cells[i];
	}
	*most += known - total;
}

/* Failures may be noted after their fault: installed pages must not fall by that. */
static void bound_failed(struct vma_counts *counts, const struct vma_counts *reported)
{
	uint64_t most = fault_total(counts) - (fault_total(reported) - reported->failed);

	if (counts->failed > most)
		counts->failed = most;
}

/*
 * Handler runs that ended and are neither accounted nor in flight. While
 * tracing goes on only those that had ended before the in-flight ones were
 * looked at can be told so.
 */
static uint64_t races(const struct vma_table *table, const struct vma_record *record,
		      uint64_t unconsumed, bool last)
{
	const struct vma_counts *counts = &record->counts;
	uint64_t accounted = timed_total(counts) + counts->untimed_exit_seen;
	uint64_t exits = counts->exits;

	if (!table->exact || !table->timed)
		return 0;
	if (!last) {
		accounted += unconsumed;
		if (record->identity.exits_before < exits)
			exits = record->identity.exits_before;
	}
	return exits > accounted ? exits - accounted : 0;
}

/* More than any machine counts, and so few that no sum of counters overflows. */
#define COUNTER_MOST (UINT64_C(1) << 56)

static bool are_possible(const __u64 *counters, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (counters[i] > COUNTER_MOST)
			return false;
	return true;
}

/* Whether the kernel's side can have written it; else these are not its bytes. */
static bool is_possible(const struct vma_record *record)
{
	const struct vma_counts *counts = &record->counts;
	const __u64 single[] = {
		counts->untimed_exit_seen, counts->untimed_exit_missed, counts->exits,
		counts->failed, counts->batches, counts->batch_installed,
		counts->batches_declined,
	};

	return record->header.type == RECORD_VMA &&
	       (record->header.state == VMA_MAPPED || record->header.state == VMA_UNMAPPED) &&
	       record->identity.where_shift < 64 &&
	       are_possible(single, sizeof(single) / sizeof(single[0])) &&
	       are_possible(&counts->cells[0][0][0], ACCESSES * ORIGINS * LOCKS) &&
	       are_possible(counts->fault_ns.slots, NS_SLOTS) &&
	       are_possible(counts->batch_ns.slots, NS_SLOTS) &&
	       are_possible(counts->batch_pages.slots, BATCH_SLOTS) &&
	       are_possible(counts->where, WHERE_BINS);
}

/* Makes a state of a snapshot; -EAGAIN if it is torn and not the last. */
static int settle(struct vma_table *table, const struct vma_record *record, uint64_t unconsumed,
		  bool last, const struct state *reported, struct state *state)
{
	bool torn = is_torn(table, &record->counts, &reported->counts);

	if (torn && !last)
		return -EAGAIN;
	*state = (struct state){ record->counts, races(table, record, unconsumed, last) };
	if (state->raced < reported->raced)
		state->raced = reported->raced;

	raise_to_reported(&state->counts, &reported->counts);
	if (table->timed)
		mend(&state->counts);
	bound_failed(&state->counts, &reported->counts);
	return 0;
}

/* What a later snapshot does not know stays as it was. */
static void update_identity(struct vma_identity *identity, const struct vma_identity *newer)
{
	struct vma_identity old = *identity;

	*identity = *newer;
	if (!identity->pid)
		identity->pid = old.pid;
	if (!identity->comm[0])
		memcpy(identity->comm, old.comm, sizeof(old.comm));
}

/* A row without a state yet; NULL: no memory. */
static struct row *new_row(struct vma_table *table, const struct vma_identity *identity)
{
	struct row *row;

	if (grow(table))
		return NULL;
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->identity = *identity;
	append(table, row);
	return row;
}

static void set_now(struct row *row, struct packed *now)
{
	if (row->now != row->reported)
		free(row->now);
	row->now = now;
}

static int add(struct vma_table *table, const struct vma_record *record, uint64_t unconsumed,
	       bool last)
{
	struct row *row = find(table, record->identity.id);
	struct state state, reported;
	bool unmapped = record->header.state == VMA_UNMAPPED;
	struct packed *packed;
	int err;

	if (!is_possible(record))
		return -EPROTO;
	if (row && row->gone)
		return 0;
	state_get(row ? row->reported : NULL, &reported);
	err = settle(table, record, unconsumed, last || unmapped, &reported, &state);
	if (err)
		return err;

	packed = packed_new(&state, sizeof(state));
	if (!packed)
		return -ENOMEM;
	if (!row)
		row = new_row(table, &record->identity);
	if (!row) {
		free(packed);
		return -ENOMEM;
	}
	set_now(row, packed);
	update_identity(&row->identity, &record->identity);
	if (unmapped) {
		row->gone = ++table->gone_last;
		table->gone_count++;
	}
	return 0;
}

int vma_table_add(struct vma_table *table, const struct vma_record *record,
		  uint64_t unconsumed)
{
	return add(table, record, unconsumed, false);
}

int vma_table_add_last(struct vma_table *table, const struct vma_record *record)
{
	return add(table, record, 0, true);
}

/* ---- reports ---- */

static bool in_slot(const struct dist *dist, unsigned int slot, uint64_t value)
{
	return value >= dist_from(slot) && value <= dist_to(dist, slot);
}

static void report_dist(struct dist *dist, const __u64 *slots, unsigned int count, uint64_t sum,
			uint64_t min, uint64_t max)
{
	unsigned int low, high;

	memset(dist, 0, sizeof(*dist));
	dist->open_slot = count - 1;
	dist->sum = sum;
	for (unsigned int i = 0; i < count; i++)
		dist->slots[i] = slots[i];

	for (low = 0; low < count && !slots[low]; low++)
		;
	if (low == count)
		return;
	for (high = count - 1; !slots[high]; high--)
		;
	/* The range may be a moment ahead of or behind the slots: it never leaves them. */
	dist->min = in_slot(dist, low, min) ? min : dist_from(low);
	if (in_slot(dist, high, max))
		dist->max = max;
	else
		dist->max = high == dist->open_slot ? dist_from(high) : dist_to(dist, high);
	if (dist->max < dist->min)
		dist->max = dist->min;
}

/* Writes of one origin. */
static uint64_t writes_of(const struct vma_counts *counts, int origin)
{
	return cell_sum(counts, ACCESS_WRITE, origin, ANY);
}

static void report_faults(const struct vma_table *table, struct vma_report *report,
			  const struct vma_counts *counts)
{
	struct fault_counts *faults = &report->faults;

	faults->total = fault_total(counts);
	faults->read = cell_sum(counts, ACCESS_READ, ANY, ANY);
	faults->write = cell_sum(counts, ACCESS_WRITE, ANY, ANY);
	faults->user = cell_sum(counts, ANY, ORIGIN_USER, ANY);
	faults->populate = cell_sum(counts, ANY, ORIGIN_POPULATE, ANY);
	faults->kernel = cell_sum(counts, ANY, ORIGIN_KERNEL, ANY);
	faults->remote = cell_sum(counts, ANY, ORIGIN_REMOTE, ANY);
	faults->user_write = writes_of(counts, ORIGIN_USER);
	faults->populate_write = writes_of(counts, ORIGIN_POPULATE);
	faults->kernel_write = writes_of(counts, ORIGIN_KERNEL);
	faults->remote_write = writes_of(counts, ORIGIN_REMOTE);
	faults->under_mmap_lock = cell_sum(counts, ANY, ANY, UNDER_MMAP_LOCK);
	faults->failed = counts->failed;
	if (!table->timed) {
		faults->untimed = faults->total;
		report->fault_ns.open_slot = NS_SLOTS - 1;
		return;
	}
	faults->untimed = counts->untimed_exit_seen + counts->untimed_exit_missed;
	report_dist(&report->fault_ns, counts->fault_ns.slots, NS_SLOTS, counts->fault_ns.sum,
		    counts->fault_ns.min, counts->fault_ns.max);
}

static void report_batches(struct vma_report *report, const struct vma_counts *counts)
{
	const struct batch_dist *pages = &counts->batch_pages;
	const struct ns_dist *ns = &counts->batch_ns;

	report->batches.total = counts->batches;
	report->batches.declined = counts->batches_declined;
	report->batches.pages = counts->batch_installed;
	report_dist(&report->batch_pages, pages->slots, BATCH_SLOTS, pages->sum, pages->min,
		    pages->max);
	report_dist(&report->batch_ns, ns->slots, NS_SLOTS, ns->sum, ns->min, ns->max);
}

/* The bins that the VMA's reach takes, and any further one that was counted in. */
static unsigned int bins_in_use(const struct vma_table *table, const struct vma_identity *identity,
				const struct where_bins *where)
{
	uint64_t start = identity->where_start, pages = 0, bins;
	unsigned int used = MODEL_WHERE_BINS;

	if (identity->end > start)
		pages = (identity->end - start) / table->page_bytes;
	bins = pages / where->pages_per_bin + (pages % where->pages_per_bin != 0);
	while (used > 0 && !where->pages[used - 1])
		used--;
	if (bins > MODEL_WHERE_BINS)
		bins = MODEL_WHERE_BINS;
	return bins > used ? (unsigned int)bins : used;
}

static void report_where(const struct vma_table *table, struct vma_report *report,
			 const struct vma_identity *identity, const struct vma_counts *counts)
{
	struct where_bins *where = &report->where;

	where->pages_per_bin = UINT64_C(1) << identity->where_shift;
	for (unsigned int i = 0; i < MODEL_WHERE_BINS; i++)
		where->pages[i] = counts->where[i];
	where->count = bins_in_use(table, identity, where);
}

static void report_identity(const struct vma_table *table, struct vma_report *report,
			    const struct vma_identity *identity)
{
	report->row = identity->id;
	report->pid = identity->pid;
	memcpy(report->comm, identity->comm, MODEL_COMM_BYTES);
	report->comm[MODEL_COMM_BYTES - 1] = '\0';
	report->map.id = identity->map_id;
	memcpy(report->map.name, identity->map_name, MODEL_NAME_BYTES);
	report->map.name[MODEL_NAME_BYTES - 1] = '\0';
	report->map.type = map_type_name(identity->map_type);
	report->start = identity->start;
	report->end = identity->end;
	if (identity->end > identity->start)
		report->pages = (identity->end - identity->start) / table->page_bytes;
	report->map_offset_pages = identity->map_offset_pages;
	report->mmap.seen = identity->flags & VMA_MMAP_SEEN;
	report->mmap.ns = report->mmap.seen ? identity->mmap_ns : 0;
	report->mmap.populate = identity->flags & VMA_MMAP_POPULATE;
}

static void report_state(const struct vma_table *table, const struct row *row,
			 const struct packed *packed, struct vma_report *report)
{
	struct state state;

	state_get(packed, &state);
	memset(report, 0, sizeof(*report));
	report->span = SPAN_TOTAL;
	report->mapped = !row->gone;
	report_identity(table, report, &row->identity);
	report_faults(table, report, &state.counts);
	report->faults.raced = state.raced;
	report->raced_known = table->exact && table->timed;
	report_batches(report, &state.counts);
	report_where(table, report, &row->identity, &state.counts);
	report->installed_pages = report->faults.total - report->faults.failed +
				  report->batches.pages;
}

static void subtract_faults(struct fault_counts *faults, const struct fault_counts *earlier)
{
	faults->total -= earlier->total;
	faults->read -= earlier->read;
	faults->write -= earlier->write;
	faults->user -= earlier->user;
	faults->populate -= earlier->populate;
	faults->kernel -= earlier->kernel;
	faults->remote -= earlier->remote;
	faults->failed -= earlier->failed;
	faults->raced -= earlier->raced;
	faults->untimed -= earlier->untimed;
	faults->under_mmap_lock -= earlier->under_mmap_lock;
	faults->user_write -= earlier->user_write;
	faults->populate_write -= earlier->populate_write;
	faults->kernel_write -= earlier->kernel_write;
	faults->remote_write -= earlier->remote_write;
}

/* Leaves in report what came after earlier. */
static void subtract_report(struct vma_report *report, const struct vma_report *earlier)
{
	report->span = SPAN_INTERVAL;
	subtract_faults(&report->faults, &earlier->faults);
	report->batches.total -= earlier->batches.total;
	report->batches.declined -= earlier->batches.declined;
	report->batches.pages -= earlier->batches.pages;
	report->installed_pages -= earlier->installed_pages;
	dist_since(&report->fault_ns, &report->fault_ns, &earlier->fault_ns);
	dist_since(&report->batch_ns, &report->batch_ns, &earlier->batch_ns);
	dist_since(&report->batch_pages, &report->batch_pages, &earlier->batch_pages);
	for (unsigned int i = 0; i < MODEL_WHERE_BINS; i++)
		report->where.pages[i] -= earlier->where.pages[i];
}

static bool has_news(const struct row *row)
{
	struct state now, reported;

	if (!row->shown_mapped || (row->gone && !row->shown_gone))
		return true;
	if (row->now == row->reported)
		return false;
	state_get(row->now, &now);
	state_get(row->reported, &reported);
	return memcmp(&now, &reported, sizeof(now)) != 0;
}

static void mark_reported(struct row *row)
{
	if (row->reported != row->now)
		free(row->reported);
	row->reported = row->now;
	row->shown_mapped = true;
	row->shown_gone = row->gone;
}

static void interval_of(const struct vma_table *table, const struct row *row,
			struct vma_report *report)
{
	struct vma_report earlier;

	report_state(table, row, row->now, report);
	report_state(table, row, row->reported, &earlier);
	subtract_report(report, &earlier);
}

void vma_table_each_interval(struct vma_table *table, vma_report_fn fn, void *context,
			     uint64_t *faults, uint64_t *installed_pages)
{
	uint64_t fault_sum = table->evicted_faults, page_sum = table->evicted_pages;
	struct vma_report report;

	table->evicted_faults = table->evicted_pages = 0;
	sort_rows(table);
	for (size_t i = 0; i < table->count; i++) {
		struct row *row = table->rows[i];

		if (!has_news(row))
			continue;
		interval_of(table, row, &report);
		mark_reported(row);
		fault_sum += report.faults.total;
		page_sum += report.installed_pages;
		fn(context, &report);
	}
	if (faults)
		*faults = fault_sum;
	if (installed_pages)
		*installed_pages = page_sum;
}

void vma_table_each_total(struct vma_table *table, vma_report_fn fn, void *context)
{
	struct vma_report report;

	sort_rows(table);
	for (size_t i = 0; i < table->count; i++) {
		report_state(table, table->rows[i], table->rows[i]->now, &report);
		fn(context, &report);
	}
}

/* ---- forgetting ---- */

static void evict(struct vma_table *table, struct row *row, vma_report_fn interval,
		  vma_report_fn total, void *context)
{
	struct vma_report report;

	if (interval && has_news(row)) {
		interval_of(table, row, &report);
		table->evicted_faults += report.faults.total;
		table->evicted_pages += report.installed_pages;
		interval(context, &report);
	}
	report_state(table, row, row->now, &report);
	total(context, &report);
	row_free(row);
}

size_t vma_table_each_evicted(struct vma_table *table, vma_report_fn interval,
			      vma_report_fn total, void *context)
{
	/* `gone` numbers are dense but for rows forgotten before, which were the lowest. */
	uint64_t oldest = table->gone_last - table->gone_count + 1, limit;
	size_t kept = 0, evicted;

	if (table->gone_count <= table->gone_limit)
		return 0;
	/* A quarter more than needed, so that it is not for each VMA that goes. */
	evicted = table->gone_count - (table->gone_limit - table->gone_limit / 4);
	limit = oldest + evicted;
	sort_rows(table);
	for (size_t i = 0; i < table->count; i++) {
		struct row *row = table->rows[i];

		if (row->gone && row->gone < limit)
			evict(table, row, interval, total, context);
		else
			table->rows[kept++] = row;
	}
	table->count = kept;
	table->gone_count -= evicted;
	index_rows(table);
	return evicted;
}
