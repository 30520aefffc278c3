/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the verdict: for each type of map the first fact that applies, then
 * what could be done about it. All numbers are the report's own.
 */
#include "verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "text_draw.h"

enum { TYPE_ARRAY, TYPE_ARENA, TYPE_RINGBUF };

/* ---- adding up ---- */

/* The index of a report's type in run_start.types; -1: none of them. */
static int type_index(const char *type)
{
	static const char *const names[][2] = {
		[TYPE_ARRAY] = { "array", "array" },
		[TYPE_ARENA] = { "arena", "arena" },
		[TYPE_RINGBUF] = { "ringbuf", "user_ringbuf" },
	};

	for (int i = 0; type && i < MODEL_TYPES; i++) {
		if (!strcmp(type, names[i][0]) || !strcmp(type, names[i][1]))
			return i;
	}
	return -1;
}

static void add_faults(struct fault_counts *sum, const struct fault_counts *faults)
{
	sum->total += faults->total;
	sum->read += faults->read;
	sum->write += faults->write;
	sum->user += faults->user;
	sum->populate += faults->populate;
	sum->kernel += faults->kernel;
	sum->remote += faults->remote;
	sum->failed += faults->failed;
	sum->raced += faults->raced;
	sum->untimed += faults->untimed;
	sum->under_mmap_lock += faults->under_mmap_lock;
}

static void add_batches(struct batch_counts *sum, const struct batch_counts *batches)
{
	sum->total += batches->total;
	sum->declined += batches->declined;
	sum->pages += batches->pages;
}

static void add_part(struct verdict_part *part, const struct vma_report *vma)
{
	struct traps traps = vma_traps(vma);

	add_faults(&part->faults, &vma->faults);
	add_batches(&part->batches, &vma->batches);
	part->installed_pages += vma->installed_pages;
	part->handler_ns += vma->fault_ns.sum + vma->batch_ns.sum;
	part->mmap_calls += vma->mmap.seen;
	part->mmap_ns += vma->mmap.ns;
	part->traps.count += traps.count;
	part->traps.pages += traps.pages;
	if (vma->mmap.populate) {
		part->populated++;
	} else if (traps.count) {
		part->spared.count += traps.count;
		part->spared.pages += traps.pages;
		part->spared_size += vma->pages;
		part->spared_partly_seen |= !vma->mmap.seen;
	}
}

void verdict_add(struct verdict_input *input, const struct vma_report *total)
{
	int type = type_index(total->map.type);

	input->vmas++;
	add_faults(&input->faults, &total->faults);
	add_batches(&input->batches, &total->batches);
	input->installed_pages += total->installed_pages;
	dist_merge(&input->fault_ns, &total->fault_ns);
	dist_merge(&input->batch_ns, &total->batch_ns);
	input->mmap_calls += total->mmap.seen;
	input->mmap_ns += total->mmap.ns;
	if (type < 0)
		return;
	input->vmas_of_type[type]++;
	add_part(&input->of_type[type], total);
}

/* ---- saying ---- */

/* Sentences under construction: clauses that do not fit are left out whole. */
struct speech {
	char text[VERDICT_BYTES];
	size_t length;
	bool in_sentence;
};

static void say(struct speech *speech, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Adds a clause, after "; " or as the beginning of a sentence. */
static void say(struct speech *speech, const char *format, ...)
{
	const char *joint = speech->in_sentence ? "; " : speech->length ? " " : "";
	size_t joint_length = strlen(joint);
	char clause[VERDICT_BYTES];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(clause, sizeof(clause), format, arguments);
	va_end(arguments);
	/* One more for the full stop. */
	if (length <= 0 ||
	    speech->length + joint_length + (size_t)length + 1 >= sizeof(speech->text))
		return;
	if (!speech->in_sentence && clause[0] >= 'a' && clause[0] <= 'z')
		clause[0] = (char)(clause[0] - 'a' + 'A');
	memcpy(speech->text + speech->length, joint, joint_length);
	memcpy(speech->text + speech->length + joint_length, clause, (size_t)length + 1);
	speech->length += joint_length + (size_t)length;
	speech->in_sentence = true;
}

static void full_stop(struct speech *speech)
{
	if (!speech->in_sentence)
		return;
	speech->text[speech->length++] = '.';
	speech->text[speech->length] = '\0';
	speech->in_sentence = false;
}

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* ---- facts ---- */

/* One type of map on this kernel, and what it saw. */
struct subject {
	const struct verdict_part *part;
	const char *name;		/* "array maps" */
	enum map_mode mode;
	const char *reason;
	uint64_t window;		/* pages of the fault-around window; 0: not known */
	uint64_t runs;			/* of either handler that did something */
};

/* What it cost, or nothing where no time was taken. */
static const char *cost(char *text, size_t bytes, const struct subject *subject)
{
	char duration[NUMBER_BYTES];

	*text = '\0';
	if (!subject->part->handler_ns)
		return text;
	snprintf(text, bytes, ", %s in the handler (trap and locks come on top)",
		 draw_duration(duration, subject->part->handler_ns));
	return text;
}

static bool is_eager(const struct subject *subject)
{
	return (subject->mode == MODE_EAGER || subject->mode == MODE_NONE) && !subject->runs;
}

static void say_eager(struct speech *speech, const struct subject *subject)
{
	const struct verdict_part *part = subject->part;
	char duration[NUMBER_BYTES];

	if (part->mmap_calls)
		say(speech,
		    "this kernel installs all pages of %s at mmap (%" PRIu64 " call%s took %s), so "
		    "touching them never faults",
		    subject->name, part->mmap_calls, plural(part->mmap_calls),
		    draw_duration(duration, part->mmap_ns));
	else
		say(speech,
		    "this kernel installs all pages of %s at mmap, so touching them never faults",
		    subject->name);
}

static bool is_untouched(const struct subject *subject)
{
	return !subject->runs;
}

static void say_untouched(struct speech *speech, const struct subject *subject)
{
	if (subject->part->faults.raced || subject->part->batches.declined)
		say(speech, "no page of the %s was installed while tracing", subject->name);
	else
		say(speech, "no page of the %s was touched for the first time while tracing",
		    subject->name);
}

static bool is_not_lazy(const struct subject *subject)
{
	return subject->mode != MODE_LAZY && subject->mode != MODE_LAZY_AROUND;
}

/* Of an unknown mode, or of one that its faults speak against. */
static void say_unknown(struct speech *speech, const struct subject *subject)
{
	const struct verdict_part *part = subject->part;
	const char *reason = subject->mode == MODE_UNKNOWN ? subject->reason : NULL;
	char took[96];

	say(speech,
	    "how this kernel maps %s is not known%s%.100s%s: %" PRIu64 " fault%s and %" PRIu64
	    " batch%s brought %" PRIu64 " page%s%s",
	    subject->name, reason ? " (" : "", reason ? reason : "", reason ? ")" : "",
	    part->faults.total, plural(part->faults.total), part->batches.total,
	    part->batches.total == 1 ? "" : "es", part->installed_pages,
	    plural(part->installed_pages), cost(took, sizeof(took), subject));
}

static bool is_populated(const struct subject *subject)
{
	return subject->part->populated && !subject->part->traps.count;
}

static void say_populated(struct speech *speech, const struct subject *subject)
{
	const struct verdict_part *part = subject->part;
	char took[96];

	say(speech,
	    "MAP_POPULATE had %" PRIu64 " page%s of the %s installed, by %" PRIu64
	    " handler run%s%s, and no touch had to trap",
	    part->installed_pages, plural(part->installed_pages), subject->name, subject->runs,
	    plural(subject->runs), cost(took, sizeof(took), subject));
}

static bool is_lazy(const struct subject *subject)
{
	return subject->mode == MODE_LAZY;
}

/* "2048 faults (37 % writes) brought one page each" */
static const char *faults_brought(char *text, size_t bytes, const struct subject *subject)
{
	const struct fault_counts *faults = &subject->part->faults;
	uint64_t pages = faults->total - faults->failed;
	char brought[40] = "one page each", percent[NUMBER_BYTES];

	if (faults->failed || faults->total == 1)
		snprintf(brought, sizeof(brought), "%" PRIu64 " page%s", pages, plural(pages));
	snprintf(text, bytes, "%" PRIu64 " fault%s (%s writes) brought %s", faults->total,
		 plural(faults->total), draw_percent(percent, faults->write, faults->total),
		 brought);
	return text;
}

static void say_lazy(struct speech *speech, const struct subject *subject)
{
	char brought[120], took[96];

	say(speech, "this kernel has no fault-around for %s: %s%s", subject->name,
	    faults_brought(brought, sizeof(brought), subject), cost(took, sizeof(took), subject));
}

static bool is_batched(const struct subject *subject)
{
	return subject->part->batches.total;
}

static void say_batched(struct speech *speech, const struct subject *subject)
{
	const struct verdict_part *part = subject->part;
	char ratio[NUMBER_BYTES], took[96], window[40] = "";

	if (subject->window)
		snprintf(window, sizeof(window), " of at most %" PRIu64, subject->window);
	if (part->traps.count)
		say(speech,
		    "fault-around works for %s: %" PRIu64 " trap%s brought %s pages each%s%s",
		    subject->name, part->traps.count, plural(part->traps.count),
		    draw_ratio(ratio, part->traps.pages, part->traps.count), window,
		    cost(took, sizeof(took), subject));
	else
		say(speech,
		    "fault-around works for %s: %" PRIu64 " batch%s brought %s pages each%s%s",
		    subject->name, part->batches.total, part->batches.total == 1 ? "" : "es",
		    draw_ratio(ratio, part->batches.pages, part->batches.total), window,
		    cost(took, sizeof(took), subject));
}

static bool is_all_writes(const struct subject *subject)
{
	return !subject->part->faults.read;
}

static void say_all_writes(struct speech *speech, const struct subject *subject)
{
	uint64_t faults = subject->part->faults.total;
	char took[96];

	say(speech,
	    "nothing was batched for %s: all %" PRIu64 " fault%s were writes, which cannot be%s",
	    subject->name, faults, plural(faults), cost(took, sizeof(took), subject));
}

static bool is_window_small(const struct subject *subject)
{
	return subject->window == 1;
}

static void say_window_small(struct speech *speech, const struct subject *subject)
{
	char brought[120], took[96];

	say(speech, "nothing was batched for %s, as fault_around_bytes is a single page: %s%s",
	    subject->name, faults_brought(brought, sizeof(brought), subject),
	    cost(took, sizeof(took), subject));
}

static bool always(const struct subject *subject)
{
	(void)subject;
	return true;
}

static void say_unbatched(struct speech *speech, const struct subject *subject)
{
	const struct verdict_part *part = subject->part;
	char brought[120], took[96];

	faults_brought(brought, sizeof(brought), subject);
	cost(took, sizeof(took), subject);
	if (part->batches.declined)
		say(speech, "nothing was batched for %s: map_pages declined all %" PRIu64
		    " time%s, and %s%s", subject->name, part->batches.declined,
		    plural(part->batches.declined), brought, took);
	else
		say(speech, "nothing was batched for %s, though reads could be (userfaultfd "
		    "prevents it): %s%s", subject->name, brought, took);
}

/* The first that applies is said. */
static const struct {
	bool (*applies)(const struct subject *subject);
	void (*say)(struct speech *speech, const struct subject *subject);
} facts[] = {
	{ is_eager, say_eager },
	{ is_untouched, say_untouched },
	{ is_not_lazy, say_unknown },
	{ is_populated, say_populated },
	{ is_lazy, say_lazy },
	{ is_batched, say_batched },
	{ is_all_writes, say_all_writes },
	{ is_window_small, say_window_small },
	{ always, say_unbatched },
};

static void say_fact(struct speech *speech, const struct subject *subject)
{
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		if (facts[i].applies(subject)) {
			facts[i].say(speech, subject);
			return;
		}
	}
}

/* What kept batches from doing more. */
static void say_unbatchable(struct speech *speech, const struct subject *subject)
{
	const struct verdict_part *part = subject->part;
	char percent[NUMBER_BYTES];

	if (subject->mode != MODE_LAZY_AROUND || !part->batches.total)
		return;
	if (part->faults.write)
		say(speech, "%" PRIu64 " (%s) %s, which cannot be batched", part->faults.write,
		    draw_percent(percent, part->faults.write, subject->runs),
		    part->faults.write == 1 ? "was a write" : "were writes");
	if (part->faults.read)
		say(speech, "%" PRIu64 " read%s fell through to .fault, a page each",
		    part->faults.read, plural(part->faults.read));
}

/* ---- advice ---- */

static void say_populate(struct speech *speech, const struct subject *subject)
{
	const struct verdict_part *part = subject->part;
	const struct traps *spared = &part->spared;
	char ratio[NUMBER_BYTES];

	/* Without a page that came in time there is nothing to have brought earlier. */
	if (!spared->pages)
		return;
	if (part->spared_partly_seen)
		say(speech, "MAP_POPULATE spares such traps where most of a map is used");
	else if (part->spared_size / 2 < spared->pages)
		say(speech, "MAP_POPULATE would have spared %" PRIu64 " trap%s%s", spared->count,
		    plural(spared->count),
		    subject->mode == MODE_LAZY ? ", if not the handler's runs" : "");
	else
		say(speech,
		    "MAP_POPULATE would have spared %" PRIu64 " trap%s but installed %" PRIu64
		    " pages, %s times what was used",
		    spared->count, plural(spared->count), part->spared_size,
		    draw_ratio(ratio, part->spared_size, spared->pages));
}

static void say_advice(struct speech *speech, const struct subject *subject)
{
	const struct verdict_part *part = subject->part;

	if (!subject->runs || is_not_lazy(subject))
		return;
	if (subject->mode == MODE_LAZY_AROUND && subject->window == 1)
		say(speech, "a larger fault_around_bytes (in debugfs) would batch reads");
	else if (subject->mode == MODE_LAZY_AROUND && part->faults.write > subject->runs / 10)
		say(speech, "reading pages before they are written lets them be batched");
	say_populate(speech, subject);
}

static void say_failed(struct speech *speech, uint64_t failed)
{
	if (failed)
		say(speech,
		    "%" PRIu64 " fault%s failed: no page was there to give (SIGBUS, SIGSEGV)",
		    failed, plural(failed));
}

/* ---- the verdict ---- */

static struct subject subject_of(const struct verdict_input *input, int type)
{
	static const char *const names[] = {
		[TYPE_ARRAY] = "array maps",
		[TYPE_ARENA] = "arenas",
		[TYPE_RINGBUF] = "ring buffers",
	};
	const struct run_start *start = input->start;
	const struct verdict_part *part = &input->of_type[type];
	struct subject subject = {
		.part = part,
		.name = names[type],
		.mode = start->types[type].mode,
		.reason = start->types[type].reason,
		.runs = part->faults.total + part->batches.total,
	};

	if (start->page_bytes && start->fault_around_bytes) {
		subject.window = start->fault_around_bytes / start->page_bytes;
		if (!subject.window)
			subject.window = 1;
	}
	return subject;
}

static void say_nothing_seen(struct speech *speech, const struct run_start *start)
{
	say(speech, "no mapping of a BPF map was made, nor touched for the first time, while "
		    "tracing");
	if (start->types[TYPE_ARRAY].mode == MODE_EAGER)
		say(speech, "this kernel installs all pages of array maps at mmap, so those mapped "
			    "before do not show");
	else if (start->filtered)
		say(speech, "if there was one, a filter (-p, -m, -c) leaves it out");
}

static void finish(struct speech *speech, char *text, size_t bytes)
{
	full_stop(speech);
	if (bytes)
		snprintf(text, bytes, "%s", speech->text);
}

void verdict_for_run(const struct verdict_input *input, char *text, size_t bytes)
{
	struct subject subjects[MODEL_TYPES];
	struct speech speech = { .length = 0 };

	if (!input->vmas)
		say_nothing_seen(&speech, input->start);
	for (int i = 0; i < MODEL_TYPES; i++) {
		subjects[i] = subject_of(input, i);
		if (!input->vmas_of_type[i])
			continue;
		say_fact(&speech, &subjects[i]);
		say_unbatchable(&speech, &subjects[i]);
	}
	if (!speech.length)
		say(&speech, "the maps seen are of types without faults of their own");
	full_stop(&speech);
	/* An arena is made to be filled here and there: not by MAP_POPULATE. */
	say_advice(&speech, &subjects[TYPE_ARRAY]);
	say_failed(&speech, input->faults.failed);
	finish(&speech, text, bytes);
}

void verdict_for_vma(const struct run_start *start, const struct vma_report *vma, char *text,
		     size_t bytes)
{
	struct verdict_input input = { .start = start };

	verdict_add(&input, vma);
	verdict_for_run(&input, text, bytes);
}
