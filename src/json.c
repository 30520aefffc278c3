/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The JSON lines sink: one object a line, written and flushed at once. Keys
 * and their order are a promise to scripts. Beyond the promised ones there
 * are, so that a capture holds all that the text report shows:
 *   start:  "timed" (false with --no-time), "scope" (what is traced),
 *           "filtered":true where -p, -m or -c was given,
 *           "stop_hint" (how it said it would end),
 *           "reasons":{"arena":"…"} for modes that are unknown or none
 *           of updates: "report":"updates", "rcu" (how this kernel waits)
 *   update: "waits" (grace periods by kind), "untimed" (calls that are not in ns)
 *   vma:    "row" (the VMA's number within the run), in "faults" the writes of
 *           each origin and "raced_known":false where races could not be told;
 *           "where":{"pages_per_bin":32,"installed":[…]}: pages installed in
 *           each part, the first one from where the VMA began when first seen;
 *           "verdict" in the records of totals: a sentence on this VMA
 *   DIST:   "open":true in a bucket that also holds all above its edge
 *   "comm_hex", "scope_hex": the bytes of a string that is not UTF-8
 *   event:  one fault or batch, with -e; start then has "events":true, and
 *           interval and summary "events_lost": faults, batches and raced runs
 *           that are in the rows but found the ring of events full
 *   interval, summary: "unseen_runs", handler runs whose exit the kernel
 *           skipped and that installed nothing; of updates
 *           "recursion_at_most":true where lost.recursion may be too much
 */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "printable.h"
#include "sink.h"
#include "verdict.h"

struct json_sink {
	struct sink sink;
	struct run_start start;	/* what it points to is the caller's */
};

/* An object under construction; one flag for all that may find no memory. */
struct builder {
	bool failed;
};

static struct json_object *new_object(struct builder *builder)
{
	struct json_object *object = json_object_new_object();

	builder->failed |= !object;
	return object;
}

static struct json_object *new_array(struct builder *builder)
{
	struct json_object *array = json_object_new_array();

	builder->failed |= !array;
	return array;
}

/* Takes over value; keys are literals, each given once. */
static void add(struct builder *builder, struct json_object *object, const char *key,
		struct json_object *value)
{
	const unsigned int once = JSON_C_OBJECT_ADD_KEY_IS_NEW | JSON_C_OBJECT_ADD_CONSTANT_KEY;

	if (!object || !value || json_object_object_add_ex(object, key, value, once)) {
		json_object_put(value);
		builder->failed = true;
	}
}

static void append(struct builder *builder, struct json_object *array, struct json_object *value)
{
	if (!array || !value || json_object_array_add(array, value)) {
		json_object_put(value);
		builder->failed = true;
	}
}

static void add_null(struct builder *builder, struct json_object *object, const char *key)
{
	if (!object || json_object_object_add(object, key, NULL))
		builder->failed = true;
}

static void add_number(struct builder *builder, struct json_object *object, const char *key,
		       uint64_t value)
{
	add(builder, object, key, json_object_new_uint64(value));
}

static void add_bool(struct builder *builder, struct json_object *object, const char *key,
		     bool value)
{
	add(builder, object, key, json_object_new_boolean(value));
}

static void add_string(struct builder *builder, struct json_object *object, const char *key,
		       const char *text)
{
	char *valid;

	if (!text) {
		add_null(builder, object, key);
		return;
	}
	valid = printable_utf8(text);
	add(builder, object, key, valid ? json_object_new_string(valid) : NULL);
	free(valid);
}

/*
 * A string that others chose, by its key; where it is not UTF-8, also its
 * bytes by hex_key, so that a capture can show it as live tracing does.
 */
static void add_bytes(struct builder *builder, struct json_object *object, const char *key,
		      const char *hex_key, const char *text)
{
	static const char digits[] = "0123456789abcdef";
	char *valid = printable_utf8(text), *hex;
	size_t length = strlen(text);

	add(builder, object, key, valid ? json_object_new_string(valid) : NULL);
	if (!valid || !strcmp(valid, text)) {
		free(valid);
		return;
	}
	free(valid);
	hex = malloc(2 * length + 1);
	for (size_t i = 0; hex && i < length; i++) {
		hex[2 * i] = digits[(unsigned char)text[i] >> 4];
		hex[2 * i + 1] = digits[(unsigned char)text[i] & 15];
	}
	add(builder, object, hex_key,
	    hex ? json_object_new_string_len(hex, (int)(2 * length)) : NULL);
	free(hex);
}

static void add_address(struct builder *builder, struct json_object *object, const char *key,
			uint64_t address)
{
	char text[2 + 16 + 1];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	add_string(builder, object, key, text);
}

/* Seconds to the microsecond, as short as can be: 1.0, 0.25. */
static void add_seconds(struct builder *builder, struct json_object *object, const char *key,
			double seconds)
{
	uint64_t us = seconds > 0 && seconds < 1e12 ? (uint64_t)(seconds * 1e6 + 0.5) : 0;
	char text[40];
	int length;

	/* Of whole numbers: a locale may have its own decimal point. */
	length = snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64, us / 1000000,
			  us % 1000000);
	while (text[length - 1] == '0' && text[length - 2] != '.')
		text[--length] = '\0';
	add(builder, object, key, json_object_new_double_s(seconds, text));
}

/* UTC to the microsecond. */
static void add_time(struct builder *builder, struct json_object *object, const char *key,
		     const struct timespec *time)
{
	struct tm tm;
	char text[64];

	if (!gmtime_r(&time->tv_sec, &tm)) {
		add_null(builder, object, key);
		return;
	}
	snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%06ldZ", tm.tm_year + 1900,
		 tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		 time->tv_nsec / 1000);
	add_string(builder, object, key, text);
}

static void add_bucket(struct builder *builder, struct json_object *buckets,
		       const struct dist *dist, unsigned int slot)
{
	struct json_object *bucket = new_object(builder);

	add_number(builder, bucket, "from", dist_from(slot));
	add_number(builder, bucket, "to", dist_to(dist, slot));
	add_number(builder, bucket, "count", dist->slots[slot]);
	if (dist->open_slot && slot == dist->open_slot)
		add_bool(builder, bucket, "open", true);
	append(builder, buckets, bucket);
}

static void add_dist(struct builder *builder, struct json_object *object, const char *key,
		     const struct dist *dist)
{
	struct json_object *value = new_object(builder), *buckets = new_array(builder);
	uint64_t count = dist_count(dist);

	add_number(builder, value, "count", count);
	add_number(builder, value, "sum", dist->sum);
	if (count) {
		add_number(builder, value, "min", dist->min);
		add_number(builder, value, "max", dist->max);
	} else {
		add_null(builder, value, "min");
		add_null(builder, value, "max");
	}
	for (unsigned int slot = 0; slot < DIST_SLOTS; slot++) {
		if (dist->slots[slot])
			add_bucket(builder, buckets, dist, slot);
	}
	add(builder, value, "buckets", buckets);
	add(builder, object, key, value);
}

static void add_losses(struct builder *builder, struct json_object *object,
		       const struct losses *lost)
{
	struct json_object *value = new_object(builder);

	add_number(builder, value, "ring_full", lost->ring_full);
	add_number(builder, value, "vma_table_full", lost->vma_table_full);
	add_number(builder, value, "recursion", lost->recursion);
	add(builder, object, "lost", value);
}

/* Where there are events. */
static void add_events_lost(struct builder *builder, struct json_object *record,
			    const struct sink *sink, const struct losses *lost)
{
	if (((const struct json_sink *)sink)->start.events)
		add_number(builder, record, "events_lost", lost->events_lost);
}

/* Left out where lost.recursion is exact. */
static void add_doubt(struct builder *builder, struct json_object *object,
		      const struct losses *lost)
{
	if (lost->recursion_at_most)
		add_bool(builder, object, "recursion_at_most", true);
}

static void add_map(struct builder *builder, struct json_object *object,
		    const struct map_identity *map)
{
	struct json_object *value = new_object(builder);

	add_number(builder, value, "id", map->id);
	add_string(builder, value, "name", map->name);
	add_string(builder, value, "type", map->type);
	add(builder, object, "map", value);
}

static struct json_object *new_record(struct builder *builder, const char *type)
{
	struct json_object *record = new_object(builder);

	add_string(builder, record, "type", type);
	return record;
}

static void add_span(struct builder *builder, struct json_object *record, enum span span)
{
	add_string(builder, record, "span", span == SPAN_INTERVAL ? "interval" : "total");
}

/* Keeps the first error; later records are not tried. */
static void fail(struct sink *sink, int error)
{
	if (!sink->failed)
		sink->error = error;
	sink->failed = true;
}

/* Writes and releases a record, without a flush. */
static void put_record(struct sink *sink, struct builder *builder, struct json_object *record)
{
	const int flags = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE;
	const char *line = NULL;

	if (!builder->failed)
		line = json_object_to_json_string_ext(record, flags);
	if (!line) {
		fail(sink, ENOMEM);
	} else if (!sink->failed) {
		errno = 0;
		if (fputs(line, sink->out) < 0 || fputc('\n', sink->out) < 0)
			fail(sink, errno ? errno : EIO);
	}
	json_object_put(record);
}

static void write_record(struct sink *sink, struct builder *builder, struct json_object *record)
{
	put_record(sink, builder, record);
	if (sink->failed)
		return;
	errno = 0;
	if (fflush(sink->out) < 0)
		fail(sink, errno ? errno : EIO);
}

/* The reasons of modes that need one; none is left out. */
static void add_reasons(struct builder *builder, struct json_object *record,
			const struct run_start *start)
{
	struct json_object *reasons = new_object(builder);

	for (int i = 0; i < MODEL_TYPES; i++) {
		const struct type_mode *type = &start->types[i];

		if (type->type && type->reason)
			add_string(builder, reasons, type->type, type->reason);
	}
	if (reasons && json_object_object_length(reasons))
		add(builder, record, "reasons", reasons);
	else
		json_object_put(reasons);
}

static void add_modes(struct builder *builder, struct json_object *record,
		      const struct run_start *start)
{
	struct json_object *modes = new_object(builder), *handlers = new_object(builder);

	for (int i = 0; i < MODEL_TYPES; i++) {
		const struct type_mode *type = &start->types[i];
		struct json_object *pair;

		if (!type->type)
			continue;
		add_string(builder, modes, type->type, map_mode_name(type->mode));
		if (!type->fault && !type->map_pages)
			continue;
		pair = new_object(builder);
		add_string(builder, pair, "fault", type->fault);
		add_string(builder, pair, "map_pages", type->map_pages);
		add(builder, handlers, type->type, pair);
	}
	add(builder, record, "modes", modes);
	add(builder, record, "handlers", handlers);
}

static void add_knob(struct builder *builder, struct json_object *object, const char *key,
		     int value)
{
	if (value < 0)
		add_null(builder, object, key);
	else
		add_number(builder, object, key, (uint64_t)value);
}

static void add_rcu(struct builder *builder, struct json_object *record,
		    const struct rcu_state *rcu)
{
	struct json_object *value = new_object(builder);

	add_knob(builder, value, "rcu_normal", rcu->normal);
	add_knob(builder, value, "rcu_expedited", rcu->expedited);
	add_bool(builder, value, "preempt_rt", rcu->preempt_rt);
	add_string(builder, value, "asks", rcu->asks);
	add_string(builder, value, "waits", rcu->waits);
	add_number(builder, value, "batch_waits", rcu->batch_waits);
	add(builder, record, "rcu", value);
}

static void json_start(struct sink *sink, const struct run_start *start)
{
	struct json_sink *json = (struct json_sink *)sink;
	struct builder builder = { false };
	struct json_object *record;

	json->start = *start;
	/* a capture that has lost its start: one without it is what can be read again */
	if (!start->version)
		return;
	record = new_record(&builder, "start");
	add_string(&builder, record, "version", start->version);
	add_string(&builder, record, "kernel", start->kernel);
	add_string(&builder, record, "counting", start->exact ? "exact" : "light");
	add_string(&builder, record, "arch", start->arch);
	add_number(&builder, record, "page_bytes", start->page_bytes);
	add_number(&builder, record, "fault_around_bytes", start->fault_around_bytes);
	add_time(&builder, record, "time", &start->time);
	add_modes(&builder, record, start);
	add_reasons(&builder, record, start);
	add_bool(&builder, record, "timed", start->timed);
	if (start->events)
		add_bool(&builder, record, "events", true);
	if (start->scope)
		add_bytes(&builder, record, "scope", "scope_hex", start->scope);
	if (start->filtered)
		add_bool(&builder, record, "filtered", true);
	if (start->stop_hint)
		add_string(&builder, record, "stop_hint", start->stop_hint);
	if (start->updates) {
		add_string(&builder, record, "report", "updates");
		add_rcu(&builder, record, &start->rcu);
	}
	write_record(sink, &builder, record);
}

static void add_mmap(struct builder *builder, struct json_object *record,
		     const struct vma_report *vma)
{
	struct json_object *value = new_object(builder);

	add_bool(builder, value, "seen", vma->mmap.seen);
	add_number(builder, value, "ns", vma->mmap.ns);
	add_bool(builder, value, "populate", vma->mmap.populate);
	add(builder, record, "mmap", value);
}

static void add_faults(struct builder *builder, struct json_object *record,
		       const struct vma_report *vma)
{
	struct json_object *value = new_object(builder);
	const struct fault_counts *faults = &vma->faults;

	add_number(builder, value, "total", faults->total);
	add_number(builder, value, "read", faults->read);
	add_number(builder, value, "write", faults->write);
	add_number(builder, value, "user", faults->user);
	add_number(builder, value, "populate", faults->populate);
	add_number(builder, value, "kernel", faults->kernel);
	add_number(builder, value, "remote", faults->remote);
	add_number(builder, value, "failed", faults->failed);
	add_number(builder, value, "raced", faults->raced);
	add_number(builder, value, "untimed", faults->untimed);
	add_number(builder, value, "under_mmap_lock", faults->under_mmap_lock);
	add_number(builder, value, "user_write", faults->user_write);
	add_number(builder, value, "populate_write", faults->populate_write);
	add_number(builder, value, "kernel_write", faults->kernel_write);
	add_number(builder, value, "remote_write", faults->remote_write);
	if (!vma->raced_known)
		add_bool(builder, value, "raced_known", false);
	add(builder, record, "faults", value);
}

static void add_batches(struct builder *builder, struct json_object *record,
			const struct batch_counts *batches)
{
	struct json_object *value = new_object(builder);

	add_number(builder, value, "total", batches->total);
	add_number(builder, value, "declined", batches->declined);
	add_number(builder, value, "pages", batches->pages);
	add(builder, record, "batches", value);
}

static void add_where(struct builder *builder, struct json_object *record,
		      const struct where_bins *where)
{
	struct json_object *value, *installed;

	if (!where->pages_per_bin)
		return;
	value = new_object(builder);
	installed = new_array(builder);
	for (unsigned int i = 0; i < where->count && i < MODEL_WHERE_BINS; i++)
		append(builder, installed, json_object_new_uint64(where->pages[i]));
	add_number(builder, value, "pages_per_bin", where->pages_per_bin);
	add(builder, value, "installed", installed);
	add(builder, record, "where", value);
}

static void add_verdict(struct builder *builder, struct json_object *record,
			const struct run_start *start, const struct vma_report *vma)
{
	char text[VERDICT_BYTES];

	verdict_for_vma(start, vma, text, sizeof(text));
	add_string(builder, record, "verdict", text);
}

static void json_vma(struct sink *sink, const struct vma_report *vma)
{
	const struct json_sink *json = (const struct json_sink *)sink;
	struct builder builder = { false };
	struct json_object *record = new_record(&builder, "vma");

	add_span(&builder, record, vma->span);
	add_string(&builder, record, "state", vma->mapped ? "mapped" : "unmapped");
	add_number(&builder, record, "pid", vma->pid);
	add_bytes(&builder, record, "comm", "comm_hex", vma->comm);
	add_map(&builder, record, &vma->map);
	add_address(&builder, record, "start", vma->start);
	add_address(&builder, record, "end", vma->end);
	add_number(&builder, record, "pages", vma->pages);
	add_number(&builder, record, "map_offset_pages", vma->map_offset_pages);
	add_mmap(&builder, record, vma);
	add_faults(&builder, record, vma);
	add_batches(&builder, record, &vma->batches);
	add_number(&builder, record, "installed_pages", vma->installed_pages);
	add_dist(&builder, record, "fault_ns", &vma->fault_ns);
	add_dist(&builder, record, "batch_ns", &vma->batch_ns);
	add_dist(&builder, record, "batch_pages", &vma->batch_pages);
	add_number(&builder, record, "row", vma->row);
	add_where(&builder, record, &vma->where);
	if (vma->span == SPAN_TOTAL)
		add_verdict(&builder, record, &json->start, vma);
	write_record(sink, &builder, record);
}

static void add_waits(struct builder *builder, struct json_object *record,
		      const struct update_report *update)
{
	struct json_object *value = new_object(builder);

	add_number(builder, value, "normal", update->waits_normal);
	add_number(builder, value, "expedited", update->waits_expedited);
	add(builder, record, "waits", value);
}

static void json_update(struct sink *sink, const struct update_report *update)
{
	struct builder builder = { false };
	struct json_object *record = new_record(&builder, "update");

	add_span(&builder, record, update->span);
	add_number(&builder, record, "pid", update->pid);
	add_bytes(&builder, record, "comm", "comm_hex", update->comm);
	add_map(&builder, record, &update->map);
	add_number(&builder, record, "calls", update->calls);
	add_number(&builder, record, "failed", update->failed);
	add_dist(&builder, record, "ns", &update->ns);
	add_string(&builder, record, "wait", update->wait);
	add_dist(&builder, record, "wait_ns", &update->wait_ns);
	add_waits(&builder, record, update);
	add_number(&builder, record, "untimed", update->untimed);
	write_record(sink, &builder, record);
}

static void json_event(struct sink *sink, const struct event_report *event)
{
	struct builder builder = { false };
	struct json_object *record = new_record(&builder, "event");

	add_string(&builder, record, "event", event->batch ? "batch" : "fault");
	add_time(&builder, record, "time", &event->time);
	add_number(&builder, record, "pid", event->pid);
	add_number(&builder, record, "tid", event->tid);
	add_bytes(&builder, record, "comm", "comm_hex", event->comm);
	add_map(&builder, record, &event->map);
	add_number(&builder, record, "map_offset_pages", event->map_offset_pages);
	add_string(&builder, record, "access", event->write ? "write" : "read");
	add_string(&builder, record, "origin", event->origin);
	add_number(&builder, record, "installed_pages", event->installed_pages);
	if (event->timed)
		add_number(&builder, record, "ns", event->ns);
	else
		add_null(&builder, record, "ns");
	add_string(&builder, record, "outcome", event->outcome);
	add_number(&builder, record, "row", event->row);
	put_record(sink, &builder, record);
}

static void json_interval(struct sink *sink, const struct interval_report *interval)
{
	struct builder builder = { false };
	struct json_object *record = new_record(&builder, "interval");

	add_time(&builder, record, "time", &interval->time);
	add_seconds(&builder, record, "seconds", interval->seconds);
	add_number(&builder, record, "faults", interval->faults);
	add_number(&builder, record, "installed_pages", interval->installed_pages);
	add_losses(&builder, record, &interval->lost);
	add_number(&builder, record, "unseen_runs", interval->lost.unseen_runs);
	add_events_lost(&builder, record, sink, &interval->lost);
	add_doubt(&builder, record, &interval->lost);
	write_record(sink, &builder, record);
}

static void json_summary(struct sink *sink, const struct summary_report *summary)
{
	struct builder builder = { false };
	struct json_object *record = new_record(&builder, "summary");

	if (summary->unmeasured)
		add_null(&builder, record, "seconds");
	else
		add_seconds(&builder, record, "seconds", summary->seconds);
	add_number(&builder, record, "vmas", summary->vmas);
	add_number(&builder, record, "faults", summary->faults);
	add_number(&builder, record, "batches", summary->batches);
	add_number(&builder, record, "installed_pages", summary->installed_pages);
	if (summary->unmeasured)
		add_null(&builder, record, "lost");
	else
		add_losses(&builder, record, &summary->lost);
	add_string(&builder, record, "verdict", summary->verdict);
	if (!summary->unmeasured) {
		add_number(&builder, record, "unseen_runs", summary->lost.unseen_runs);
		add_events_lost(&builder, record, sink, &summary->lost);
		add_doubt(&builder, record, &summary->lost);
	}
	write_record(sink, &builder, record);
}

static void json_free(struct sink *sink)
{
	free(sink);
}

struct sink *json_sink_new(FILE *out)
{
	static const struct sink_ops ops = {
		.start = json_start,
		.vma = json_vma,
		.update = json_update,
		.event = json_event,
		.interval = json_interval,
		.summary = json_summary,
		.free = json_free,
	};
	struct json_sink *json = calloc(1, sizeof(*json));

	if (!json)
		return NULL;
	json->sink.ops = &ops;
	json->sink.out = out;
	return &json->sink;
}
