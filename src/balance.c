/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Holds records against the sums that the manual names, never wrapping: a
 * tally of all that was taken refuses what would leave 64 bits, so that no
 * sink's sum of a part of it can.
 */
#include "balance.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a sink adds up, of VMAs, of updates and of losses. */
enum {
	RUNS, RACED, INSTALLED, DECLINED, BATCH_PAGES, HANDLER_NS, MMAP_NS, BATCH_SIZES,
	BATCHES_TIMED, BATCHES_SIZED, WHERE, VMA_COUNTERS,
};
enum { CALLS, WAITS, CALL_NS, WAIT_NS, WAITED, UPDATE_COUNTERS };
enum { LOST, UNSEEN, EVENTS_LOST, LOSS_COUNTERS };
enum { COUNTERS_MOST = VMA_COUNTERS };

struct tally {
	uint64_t at[COUNTERS_MOST];
};

/* Of a span, what the summary or the end of an interval must say. */
struct sums {
	uint64_t vmas, faults, batches, installed_pages;
	uint64_t calls, failed, untimed;
};

struct balance {
	struct tally vmas[2], updates[2], losses;	/* by enum span */
	struct sums totals, intervals, since;	/* since: the last interval */
	double seconds;
	bool has_intervals, doubt;
	uint64_t page_bytes;
	uint64_t *ended;		/* rows whose totals came, by open addressing; 0: free */
	size_t ended_count, ended_space;	/* space: 0, or a power of two */
	bool row_0_ended;
};

struct balance *balance_new(void)
{
	return calloc(1, sizeof(struct balance));
}

void balance_free(struct balance *balance)
{
	if (!balance)
		return;
	free(balance->ended);
	free(balance);
}

void balance_doubt(struct balance *balance)
{
	balance->doubt = true;
}

void balance_pages(struct balance *balance, uint64_t page_bytes)
{
	balance->page_bytes = page_bytes;
}

static int wrong(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int wrong(char *why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, CAPTURE_WHY_BYTES, format, args);
	va_end(args);
	return -EINVAL;
}

static int too_much(char *why)
{
	return wrong(why, "with it, counts are beyond 64 bits");
}

/* ---- sums that do not wrap ---- */

/* sum += value; false if it leaves 64 bits. */
static bool add(uint64_t *sum, uint64_t value)
{
	return !__builtin_add_overflow(*sum, value, sum);
}

/* Whether parts make up the whole. */
static bool is_sum(uint64_t whole, const uint64_t *parts, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (!add(&sum, parts[i]))
			return false;
	return sum == whole;
}

/* Adds all or nothing. */
static bool tally_add(struct tally *tally, const uint64_t *values, size_t count)
{
	struct tally sum = *tally;

	for (size_t i = 0; i < count; i++)
		if (!add(&sum.at[i], values[i]))
			return false;
	*tally = sum;
	return true;
}

/* ---- one VMA ---- */

static int check_faults(const struct fault_counts *faults, char *why)
{
	const uint64_t accesses[] = { faults->read, faults->write };
	const uint64_t origins[] = { faults->user, faults->populate, faults->kernel,
				     faults->remote };
	const uint64_t writes[] = { faults->user_write, faults->populate_write,
				    faults->kernel_write, faults->remote_write };

	if (!is_sum(faults->total, accesses, 2))
		return wrong(why, "faults.total is %" PRIu64 ", but read is %" PRIu64
			     " and write %" PRIu64, faults->total, faults->read, faults->write);
	if (!is_sum(faults->total, origins, 4))
		return wrong(why, "faults.total is %" PRIu64 ", which user, populate, kernel and "
			     "remote do not add up to", faults->total);
	if (faults->failed > faults->total || faults->untimed > faults->total ||
	    faults->under_mmap_lock > faults->total)
		return wrong(why, "faults.total is %" PRIu64 ", and more of them are failed, "
			     "untimed or under_mmap_lock", faults->total);
	/* all are zero in a capture that lacks them */
	if (!is_sum(faults->write, writes, 4) && !is_sum(0, writes, 4))
		return wrong(why, "faults.write is %" PRIu64 ", which the writes of each origin "
			     "do not add up to", faults->write);
	for (int i = 0; i < 4; i++)
		if (writes[i] > origins[i])
			return wrong(why, "faults of an origin are less than its writes");
	return 0;
}

static int check_vma(const struct balance *balance, const struct vma_report *vma, char *why)
{
	const struct fault_counts *faults = &vma->faults;
	uint64_t bytes = vma->end > vma->start ? vma->end - vma->start : 0;
	uint64_t installed[2] = { faults->total - faults->failed, vma->batches.pages };
	int error = check_faults(faults, why);

	if (error)
		return error;
	if (!is_sum(vma->installed_pages, installed, 2))
		return wrong(why, "installed_pages is %" PRIu64 ", but faults that did not fail "
			     "are %" PRIu64 " and batches.pages %" PRIu64, vma->installed_pages,
			     installed[0], installed[1]);
	if (dist_count(&vma->fault_ns) != faults->total - faults->untimed)
		return wrong(why, "fault_ns.count is %" PRIu64 ", but timed faults are %" PRIu64,
			     dist_count(&vma->fault_ns), faults->total - faults->untimed);
	if (balance->page_bytes && vma->pages != bytes / balance->page_bytes)
		return wrong(why, "pages is %" PRIu64 ", but from start to end are %" PRIu64,
			     vma->pages, bytes / balance->page_bytes);
	return 0;
}

/* What it adds to each counter of a tally; false if a counter itself leaves 64 bits. */
static bool counters_of(const struct vma_report *vma, uint64_t values[VMA_COUNTERS])
{
	bool fits;

	for (int i = 0; i < VMA_COUNTERS; i++)
		values[i] = 0;
	fits = add(&values[RUNS], vma->faults.total) && add(&values[RUNS], vma->batches.total);
	fits &= add(&values[HANDLER_NS], vma->fault_ns.sum) &&
		add(&values[HANDLER_NS], vma->batch_ns.sum);
	values[RACED] = vma->faults.raced;
	values[INSTALLED] = vma->installed_pages;
	values[DECLINED] = vma->batches.declined;
	values[BATCH_PAGES] = vma->batches.pages;
	values[MMAP_NS] = vma->mmap.ns;
	values[BATCH_SIZES] = vma->batch_pages.sum;
	values[BATCHES_TIMED] = dist_count(&vma->batch_ns);
	values[BATCHES_SIZED] = dist_count(&vma->batch_pages);
	for (int i = 0; i < MODEL_WHERE_BINS; i++)
		fits &= add(&values[WHERE], vma->where.pages[i]);
	return fits;
}

/* ---- rows ---- */

static size_t slot_of(const uint64_t *rows, size_t space, uint64_t row)
{
	size_t i = (size_t)(row * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	while (rows[i & (space - 1)] && rows[i & (space - 1)] != row)
		i++;
	return i & (space - 1);
}

static bool has_ended(const struct balance *balance, uint64_t row)
{
	if (!row)
		return balance->row_0_ended;
	return balance->ended_space &&
	       balance->ended[slot_of(balance->ended, balance->ended_space, row)];
}

/* Room for one more; at most half of it is taken. */
static int grow(struct balance *balance)
{
	size_t space = balance->ended_space ? 2 * balance->ended_space : 256;
	uint64_t *larger;

	if (2 * balance->ended_count < balance->ended_space)
		return 0;
	larger = calloc(space, sizeof(*larger));
	if (!larger)
		return -ENOMEM;
	for (size_t i = 0; i < balance->ended_space; i++)
		if (balance->ended[i])
			larger[slot_of(larger, space, balance->ended[i])] = balance->ended[i];
	free(balance->ended);
	balance->ended = larger;
	balance->ended_space = space;
	return 0;
}

static int note_end(struct balance *balance, uint64_t row)
{
	int error = grow(balance);

	if (error)
		return error;
	if (!row) {
		balance->row_0_ended = true;
		return 0;
	}
	balance->ended[slot_of(balance->ended, balance->ended_space, row)] = row;
	balance->ended_count++;
	return 0;
}

static void sums_add_vma(struct sums *sums, const struct vma_report *vma)
{
	sums->vmas++;
	sums->faults += vma->faults.total;
	sums->batches += vma->batches.total;
	sums->installed_pages += vma->installed_pages;
}

static bool same_counts(const struct dist *a, const struct dist *b)
{
	return dist_count(a) == dist_count(b) && a->sum == b->sum;
}

/* What a VMA's total says against what its intervals said. */
static int check_row(const struct balance *balance, const struct vma_report *total,
		     const struct vma_report *intervals, char *why)
{
	static const struct vma_report nothing;
	const struct vma_report *sum = intervals ? intervals : &nothing;

	if (balance->doubt || !balance->has_intervals)
		return 0;
	if (total->faults.total != sum->faults.total)
		return wrong(why, "faults.total is %" PRIu64 ", but its intervals have %" PRIu64,
			     total->faults.total, sum->faults.total);
	if (total->installed_pages != sum->installed_pages)
		return wrong(why, "installed_pages is %" PRIu64 ", but its intervals have %" PRIu64,
			     total->installed_pages, sum->installed_pages);
	if (memcmp(&total->faults, &sum->faults, sizeof(sum->faults)) != 0 ||
	    memcmp(&total->batches, &sum->batches, sizeof(sum->batches)) != 0)
		return wrong(why, "its intervals do not add up to its faults and batches");
	if (!same_counts(&total->fault_ns, &sum->fault_ns) ||
	    !same_counts(&total->batch_ns, &sum->batch_ns) ||
	    !same_counts(&total->batch_pages, &sum->batch_pages))
		return wrong(why, "its intervals do not add up to its distributions");
	return 0;
}

int balance_vma(struct balance *balance, const struct vma_report *vma,
		const struct balance_row *row, char *why)
{
	bool total = vma->span == SPAN_TOTAL;
	uint64_t values[VMA_COUNTERS];
	int error = check_vma(balance, vma, why);

	if (error)
		return error;
	if (row->known && has_ended(balance, vma->row))
		return wrong(why, "row %" PRIu64 " had its total before", vma->row);
	if (row->known && total)
		error = check_row(balance, vma, row->intervals, why);
	if (error)
		return error;
	if (!counters_of(vma, values) ||
	    !tally_add(&balance->vmas[vma->span], values, VMA_COUNTERS))
		return too_much(why);
	if (total) {
		sums_add_vma(&balance->totals, vma);
		return row->known ? note_end(balance, vma->row) : 0;
	}
	sums_add_vma(&balance->since, vma);
	balance->has_intervals = true;
	return 0;
}

/* ---- updates ---- */

static int check_update(const struct update_report *update, char *why)
{
	uint64_t timed = update->calls - update->untimed;

	if (update->failed > update->calls || update->untimed > update->calls)
		return wrong(why, "calls is %" PRIu64 ", and more of them are failed or untimed",
			     update->calls);
	if (dist_count(&update->ns) != timed)
		return wrong(why, "ns.count is %" PRIu64 ", but timed calls are %" PRIu64,
			     dist_count(&update->ns), timed);
	if (dist_count(&update->wait_ns) > timed)
		return wrong(why, "wait_ns.count is %" PRIu64 ", but timed calls are %" PRIu64,
			     dist_count(&update->wait_ns), timed);
	return 0;
}

int balance_update(struct balance *balance, const struct update_report *update, char *why)
{
	bool total = update->span == SPAN_TOTAL;
	struct sums *sums = total ? &balance->totals : &balance->intervals;
	uint64_t values[UPDATE_COUNTERS] = {
		[CALLS] = update->calls, [WAITS] = update->waits_normal,
		[CALL_NS] = update->ns.sum, [WAIT_NS] = update->wait_ns.sum,
		[WAITED] = dist_count(&update->wait_ns),
	};
	int error = check_update(update, why);

	if (error)
		return error;
	if (!add(&values[WAITS], update->waits_expedited) ||
	    !tally_add(&balance->updates[update->span], values, UPDATE_COUNTERS))
		return too_much(why);
	sums->calls += update->calls;
	sums->failed += update->failed;
	sums->untimed += update->untimed;
	balance->has_intervals |= !total;
	return 0;
}

/* ---- intervals and the end ---- */

/* What is said of all VMAs against those that came; in doubt there were others. */
static bool differs(const struct balance *balance, uint64_t said, uint64_t sum)
{
	return balance->doubt ? said < sum : said != sum;
}

static int check_interval(const struct balance *balance, const struct interval_report *interval,
			  char *why)
{
	if (!balance->doubt && interval->faults != balance->since.faults)
		return wrong(why, "faults is %" PRIu64 ", but the VMAs of this interval have %"
			     PRIu64, interval->faults, balance->since.faults);
	if (!balance->doubt && interval->installed_pages != balance->since.installed_pages)
		return wrong(why, "installed_pages is %" PRIu64 ", but the VMAs of this interval "
			     "have %" PRIu64, interval->installed_pages,
			     balance->since.installed_pages);
	if (balance->seconds + interval->seconds > CAPTURE_SECONDS_MAX)
		return wrong(why, "with it, seconds are out of range");
	return 0;
}

int balance_interval(struct balance *balance, const struct interval_report *interval, char *why)
{
	const struct losses *lost = &interval->lost;
	const uint64_t values[LOSS_COUNTERS] = {
		[LOST] = lost->ring_full + lost->vma_table_full + lost->recursion,
		[UNSEEN] = lost->unseen_runs, [EVENTS_LOST] = lost->events_lost,
	};
	int error = check_interval(balance, interval, why);

	if (error)
		return error;
	if (!tally_add(&balance->losses, values, LOSS_COUNTERS))
		return too_much(why);
	balance->seconds += interval->seconds;
	balance->since = (struct sums){ .vmas = 0 };
	balance->has_intervals = true;
	return 0;
}

int balance_summary(struct balance *balance, const struct summary_report *summary, char *why)
{
	const struct sums *totals = &balance->totals, *intervals = &balance->intervals;
	const struct {
		const char *what;
		uint64_t said, sum;
	} pairs[] = {
		{ "vmas", summary->vmas, totals->vmas },
		{ "faults", summary->faults, totals->faults },
		{ "batches", summary->batches, totals->batches },
		{ "installed_pages", summary->installed_pages, totals->installed_pages },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (differs(balance, pairs[i].said, pairs[i].sum))
			return wrong(why, "%s is %" PRIu64 ", but the totals before it have %"
				     PRIu64, pairs[i].what, pairs[i].said, pairs[i].sum);
	if (!balance->has_intervals || balance->doubt)
		return 0;
	if (totals->calls != intervals->calls || totals->failed != intervals->failed ||
	    totals->untimed != intervals->untimed)
		return wrong(why, "the totals before it have %" PRIu64 " calls, but the intervals "
			     "%" PRIu64, totals->calls, intervals->calls);
	return 0;
}
