/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads JSON lines strictly: numbers are whole and fit, distributions add up,
 * no key comes twice, strings are cut to what they are kept in. Keys that this version does not
 * know are passed over; those that older versions did not write may lack.
 */
#include "capture.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deeper than any record is: bucket, buckets, distribution, record. */
enum { DEPTH_MAX = 16 };
/* Words of which there are few, kept once each: map types, waits, origins and outcomes. */
enum { WORDS_MAX = 32, WORD_BYTES = 32 };

struct capture {
	struct json_tokener *tokener;
	struct json_object *start, *summary;	/* hold their records' strings */
	char *scope;				/* from its bytes */
	char words[WORDS_MAX][WORD_BYTES];
	unsigned int word_count;
};

/* One record being read: what was refused first. */
struct reading {
	struct capture *capture;
	char *why;
	bool refused, no_memory;
};

/* An object within a record, and its name for messages. */
struct node {
	struct json_object *object;
	const char *name;	/* ""; "faults." */
};

struct capture *capture_new(void)
{
	struct capture *capture = calloc(1, sizeof(*capture));

	if (!capture)
		return NULL;
	capture->tokener = json_tokener_new_ex(DEPTH_MAX);
	if (!capture->tokener) {
		free(capture);
		return NULL;
	}
	json_tokener_set_flags(capture->tokener,
			       JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	return capture;
}

void capture_free(struct capture *capture)
{
	if (!capture)
		return;
	json_object_put(capture->start);
	json_object_put(capture->summary);
	json_tokener_free(capture->tokener);
	free(capture->scope);
	free(capture);
}

static void refuse(struct reading *reading, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void refuse(struct reading *reading, const char *format, ...)
{
	va_list args;

	if (reading->refused)
		return;
	reading->refused = true;
	va_start(args, format);
	vsnprintf(reading->why, CAPTURE_WHY_BYTES, format, args);
	va_end(args);
}

/* ---- values ---- */

enum need { MUST, MAY };

/* The value of a key; NULL if it is absent or null. */
static struct json_object *value_of(struct reading *reading, struct node node, const char *key,
				    enum need need)
{
	struct json_object *value = NULL;

	if (node.object && !json_object_object_get_ex(node.object, key, &value) && need == MUST)
		refuse(reading, "there is no %s%s", node.name, key);
	return value;
}

static struct node node_of(struct reading *reading, struct node parent, const char *key,
			   const char *name, enum need need)
{
	struct json_object *value = value_of(reading, parent, key, need);

	if (value && !json_object_is_type(value, json_type_object)) {
		refuse(reading, "%s%s is not an object", parent.name, key);
		value = NULL;
	} else if (!value && need == MUST) {
		refuse(reading, "%s%s is null", parent.name, key);
	}
	return (struct node){ value, name };
}

static struct json_object *array_of(struct reading *reading, struct node node, const char *key)
{
	struct json_object *value = value_of(reading, node, key, MUST);

	if (json_object_is_type(value, json_type_array))
		return value;
	refuse(reading, "%s%s is not an array", node.name, key);
	return NULL;
}

/* A whole number from 0 to max; `what` names it. */
static uint64_t whole_number(struct reading *reading, struct json_object *value, uint64_t max,
			     const char *name, const char *key)
{
	uint64_t number;

	if (!json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0) {
		refuse(reading, "%s%s is not a whole number from 0 on", name, key);
		return 0;
	}
	number = json_object_get_uint64(value);
	if (number > max) {
		refuse(reading, "%s%s is more than %" PRIu64, name, key, max);
		return 0;
	}
	return number;
}

static uint64_t number_to(struct reading *reading, struct node node, const char *key,
			  enum need need, uint64_t max)
{
	struct json_object *value = value_of(reading, node, key, need);

	if (!value && need == MAY)
		return 0;
	return whole_number(reading, value, max, node.name, key);
}

static uint64_t number(struct reading *reading, struct node node, const char *key)
{
	return number_to(reading, node, key, MUST, UINT64_MAX);
}

static uint64_t number_if(struct reading *reading, struct node node, const char *key)
{
	return number_to(reading, node, key, MAY, UINT64_MAX);
}

/* `absent` where there is no such key. */
static bool flag(struct reading *reading, struct node node, const char *key, enum need need,
		 bool absent)
{
	struct json_object *value = value_of(reading, node, key, need);

	if (!value && need == MAY)
		return absent;
	if (!json_object_is_type(value, json_type_boolean))
		refuse(reading, "%s%s is neither true nor false", node.name, key);
	return json_object_get_boolean(value);
}

/* NULL if it may be absent, or null, and is. */
static const char *string(struct reading *reading, struct node node, const char *key,
			  enum need need)
{
	struct json_object *value = value_of(reading, node, key, need);

	if (!value && need == MAY)
		return NULL;
	if (!json_object_is_type(value, json_type_string)) {
		refuse(reading, "%s%s is not a string", node.name, key);
		return NULL;
	}
	return json_object_get_string(value);
}

static double seconds(struct reading *reading, struct node node)
{
	struct json_object *value = value_of(reading, node, "seconds", MUST);
	double number_of_them;

	if (!json_object_is_type(value, json_type_double) &&
	    !json_object_is_type(value, json_type_int)) {
		refuse(reading, "%sseconds is not a number", node.name);
		return 0;
	}
	number_of_them = json_object_get_double(value);
	if (!(number_of_them >= 0 && number_of_them <= CAPTURE_SECONDS_MAX)) {
		refuse(reading, "%sseconds is out of range", node.name);
		return 0;
	}
	return number_of_them;
}

/* Digits from *text on, exactly `count` of them; -1 if they are not there. */
static int digits(const char **text, int count)
{
	int value = 0;

	for (; count; count--, (*text)++) {
		if (**text < '0' || **text > '9')
			return -1;
		value = 10 * value + (**text - '0');
	}
	return value;
}

/* "2026-11-30T11:03:00.123456Z" */
static bool parse_time(const char *text, struct timespec *time)
{
	static const char marks[] = "--T::.Z";
	int parts[7];
	struct tm tm;

	for (int i = 0; i < 7; i++) {
		parts[i] = digits(&text, i == 0 ? 4 : i == 6 ? 6 : 2);
		if (parts[i] < 0 || *text++ != marks[i])
			return false;
	}
	if (*text || parts[1] < 1 || parts[1] > 12 || parts[2] < 1 || parts[2] > 31 ||
	    parts[3] > 23 || parts[4] > 59 || parts[5] > 60)
		return false;
	tm = (struct tm){
		.tm_year = parts[0] - 1900, .tm_mon = parts[1] - 1, .tm_mday = parts[2],
		.tm_hour = parts[3], .tm_min = parts[4], .tm_sec = parts[5],
	};
	time->tv_sec = timegm(&tm);
	time->tv_nsec = parts[6] * 1000L;
	return true;
}

static struct timespec time_of(struct reading *reading, struct node node)
{
	const char *text = string(reading, node, "time", MAY);
	struct timespec time = { 0, 0 };

	if (text && !parse_time(text, &time))
		refuse(reading, "%stime is not like 2026-11-30T11:03:00.123456Z", node.name);
	return time;
}

/* "0x7f00" */
static uint64_t address(struct reading *reading, struct node node, const char *key)
{
	const char *text = string(reading, node, key, MUST);
	uint64_t value = 0;
	size_t length = text ? strlen(text) : 0;

	if (length < 3 || length > 2 + 16 || strncmp(text, "0x", 2) != 0 ||
	    strspn(text + 2, "0123456789abcdef") != length - 2) {
		refuse(reading, "%s%s is no address like \"0x7f00\"", node.name, key);
		return 0;
	}
	for (text += 2; *text; text++)
		value = value << 4 | (uint64_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
	return value;
}

/* Bytes in hexadecimal into out, with a NUL. False if they are not that, or too many. */
static bool parse_hex(const char *text, char *out, size_t bytes)
{
	size_t length = strlen(text);

	if (length % 2 || length / 2 >= bytes || strspn(text, "0123456789abcdef") != length)
		return false;
	for (; *text; text += 2) {
		int high = text[0] <= '9' ? text[0] - '0' : text[0] - 'a' + 10;
		int low = text[1] <= '9' ? text[1] - '0' : text[1] - 'a' + 10;

		*out++ = (char)(high << 4 | low);
	}
	*out = '\0';
	return true;
}

static void comm_of(struct reading *reading, struct node node, char comm[MODEL_COMM_BYTES])
{
	const char *text = string(reading, node, "comm", MUST);
	const char *hex = string(reading, node, "comm_hex", MAY);

	if (hex && !parse_hex(hex, comm, MODEL_COMM_BYTES))
		refuse(reading, "%scomm_hex is not at most %d bytes in hexadecimal", node.name,
		       MODEL_COMM_BYTES - 1);
	else if (!hex)
		snprintf(comm, MODEL_COMM_BYTES, "%s", text ? text : "");
}

/* A copy that lives as long as the capture; of very many different ones "other". */
static const char *keep_word(struct capture *capture, const char *word)
{
	unsigned int i;

	for (i = 0; i < capture->word_count; i++) {
		if (!strncmp(capture->words[i], word, WORD_BYTES - 1))
			return capture->words[i];
	}
	if (i == WORDS_MAX)
		return "other";
	snprintf(capture->words[i], WORD_BYTES, "%s", word);
	capture->word_count++;
	return capture->words[i];
}

static void map_of(struct reading *reading, struct node record, struct map_identity *map)
{
	struct node node = node_of(reading, record, "map", "map.", MUST);
	const char *name = string(reading, node, "name", MUST);
	const char *type = string(reading, node, "type", MAY);

	map->id = (uint32_t)number_to(reading, node, "id", MUST, UINT32_MAX);
	snprintf(map->name, sizeof(map->name), "%s", name ? name : "");
	map->type = type ? keep_word(reading->capture, type) : NULL;
}

static enum span span_of(struct reading *reading, struct node node)
{
	const char *text = string(reading, node, "span", MUST);

	if (text && !strcmp(text, "interval"))
		return SPAN_INTERVAL;
	if (text && strcmp(text, "total") != 0)
		refuse(reading, "%sspan is neither \"interval\" nor \"total\"", node.name);
	return SPAN_TOTAL;
}

/* ---- distributions ---- */

static void read_bucket(struct reading *reading, struct json_object *value, struct dist *dist,
			const char *name)
{
	struct node bucket = { value, "buckets." };
	uint64_t from = number(reading, bucket, "from"), to = number(reading, bucket, "to");
	unsigned int slot = dist_slot(from);

	if (flag(reading, bucket, "open", MAY, false))
		dist->open_slot = slot;
	if (dist_from(slot) != from || dist_to(dist, slot) != to)
		refuse(reading, "%s has a bucket from %" PRIu64 " to %" PRIu64
		       ", which is no power of two", name, from, to);
	if (dist->slots[slot])
		refuse(reading, "%s has two buckets from %" PRIu64, name, from);
	dist->slots[slot] = number(reading, bucket, "count");
	if (!dist->slots[slot])
		refuse(reading, "%s has an empty bucket from %" PRIu64, name, from);
}

/* The slot of a value, as far as there are slots. */
static unsigned int slot_within(const struct dist *dist, uint64_t value)
{
	unsigned int slot = dist_slot(value);

	return dist->open_slot && slot > dist->open_slot ? dist->open_slot : slot;
}

/* Least and greatest lie in the lowest and the highest bucket. */
static void check_range(struct reading *reading, const struct dist *dist, const char *name)
{
	unsigned int low = 0, high = DIST_SLOTS - 1;

	while (!dist->slots[low])
		low++;
	while (!dist->slots[high])
		high--;
	if (dist->min > dist->max || slot_within(dist, dist->min) != low ||
	    slot_within(dist, dist->max) != high)
		refuse(reading, "%s: min %" PRIu64 " and max %" PRIu64 " are not those of its "
		       "buckets", name, dist->min, dist->max);
}

static void read_dist(struct reading *reading, struct node record, const char *key,
		      const char *name, struct dist *dist)
{
	struct node node = node_of(reading, record, key, name, MUST);
	uint64_t count = number(reading, node, "count"), sum = 0;
	struct json_object *buckets = array_of(reading, node, "buckets");
	size_t length = buckets ? json_object_array_length(buckets) : 0;

	if (length > DIST_SLOTS)
		refuse(reading, "%s has %zu buckets; %d are possible", key, length, DIST_SLOTS);
	for (size_t i = 0; i < length && !reading->refused; i++) {
		struct json_object *bucket = json_object_array_get_idx(buckets, i);

		if (json_object_is_type(bucket, json_type_object))
			read_bucket(reading, bucket, dist, key);
		else
			refuse(reading, "%s has a bucket that is not an object", key);
	}
	for (unsigned int slot = 0; slot < DIST_SLOTS; slot++)
		if (__builtin_add_overflow(sum, dist->slots[slot], &sum))
			refuse(reading, "%s counts beyond 64 bits", key);
	if (sum != count)
		refuse(reading, "%s: the buckets hold %" PRIu64 ", not %" PRIu64, key, sum, count);
	dist->sum = number(reading, node, "sum");
	if (count) {
		dist->min = number(reading, node, "min");
		dist->max = number(reading, node, "max");
	}
	if (count && !reading->refused)
		check_range(reading, dist, key);
}

/* ---- records ---- */

static enum map_mode mode_of(struct reading *reading, struct node modes, const char *type)
{
	const char *name = string(reading, modes, type, MAY);

	for (int mode = MODE_UNKNOWN; name && mode <= MODE_LAZY_AROUND; mode++) {
		if (!strcmp(name, map_mode_name((enum map_mode)mode)))
			return (enum map_mode)mode;
	}
	return MODE_UNKNOWN;	/* a later version may know more */
}

static void read_types(struct reading *reading, struct node record, struct type_mode *types)
{
	static const char *const names[MODEL_TYPES] = { "array", "arena", "ringbuf" };
	struct node modes = node_of(reading, record, "modes", "modes.", MUST);
	struct node reasons = node_of(reading, record, "reasons", "reasons.", MAY);
	struct node handlers = node_of(reading, record, "handlers", "handlers.", MUST);

	for (int i = 0; i < MODEL_TYPES; i++) {
		struct node pair = node_of(reading, handlers, names[i], "handlers.TYPE.", MAY);

		if (!modes.object || !json_object_object_get_ex(modes.object, names[i], NULL))
			continue;
		types[i].type = names[i];
		types[i].mode = mode_of(reading, modes, names[i]);
		types[i].reason = string(reading, reasons, names[i], MAY);
		types[i].fault = string(reading, pair, "fault", MAY);
		types[i].map_pages = string(reading, pair, "map_pages", MAY);
	}
}

static void read_scope(struct reading *reading, struct node record, struct run_start *start)
{
	const char *hex = string(reading, record, "scope_hex", MAY);
	size_t bytes = hex ? strlen(hex) / 2 + 1 : 0;
	struct capture *capture = reading->capture;

	start->scope = string(reading, record, "scope", MAY);
	if (!hex)
		return;
	free(capture->scope);
	capture->scope = malloc(bytes);
	if (!capture->scope)
		reading->no_memory = true;
	else if (!parse_hex(hex, capture->scope, bytes))
		refuse(reading, "scope_hex is not in hexadecimal");
	else
		start->scope = capture->scope;
}

/* A knob: -1 if it was not known. */
static int knob_of(struct reading *reading, struct node node, const char *key)
{
	return value_of(reading, node, key, MAY) ?
		(int)number_to(reading, node, key, MUST, INT_MAX) : -1;
}

static void read_rcu(struct reading *reading, struct node record, struct rcu_state *rcu)
{
	struct node node = node_of(reading, record, "rcu", "rcu.", MAY);

	rcu->normal = knob_of(reading, node, "rcu_normal");
	rcu->expedited = knob_of(reading, node, "rcu_expedited");
	rcu->preempt_rt = flag(reading, node, "preempt_rt", MAY, false);
	rcu->asks = string(reading, node, "asks", MAY);
	rcu->waits = string(reading, node, "waits", MAY);
	rcu->batch_waits = (unsigned int)number_to(reading, node, "batch_waits", MAY, UINT_MAX);
}

static void read_start(struct reading *reading, struct node record, struct capture_record *out)
{
	struct run_start *start = &out->start;
	const char *counting = string(reading, record, "counting", MUST), *report;

	/* of another run: the strings of the first one are in use */
	if (reading->capture->start)
		return;
	start->version = string(reading, record, "version", MUST);
	start->kernel = string(reading, record, "kernel", MUST);
	start->arch = string(reading, record, "arch", MUST);
	start->exact = counting && !strcmp(counting, "exact");
	start->timed = flag(reading, record, "timed", MAY, true);
	start->events = flag(reading, record, "events", MAY, false);
	start->page_bytes = (unsigned int)number_to(reading, record, "page_bytes", MUST,
						    1u << 30);
	if (!start->page_bytes || start->page_bytes & (start->page_bytes - 1))
		refuse(reading, "page_bytes is %u, which is no power of two", start->page_bytes);
	start->fault_around_bytes = number(reading, record, "fault_around_bytes");
	start->time = time_of(reading, record);
	read_types(reading, record, start->types);
	read_scope(reading, record, start);
	start->filtered = flag(reading, record, "filtered", MAY, false);
	start->stop_hint = string(reading, record, "stop_hint", MAY);
	report = string(reading, record, "report", MAY);
	start->updates = report && !strcmp(report, "updates");
	if (start->updates)
		read_rcu(reading, record, &start->rcu);
	if (reading->refused)
		return;
	reading->capture->start = json_object_get(record.object);
}

static void read_faults(struct reading *reading, struct node record, struct vma_report *vma)
{
	struct node node = node_of(reading, record, "faults", "faults.", MUST);
	struct fault_counts *faults = &vma->faults;

	faults->total = number(reading, node, "total");
	faults->read = number(reading, node, "read");
	faults->write = number(reading, node, "write");
	faults->user = number(reading, node, "user");
	faults->populate = number(reading, node, "populate");
	faults->kernel = number(reading, node, "kernel");
	faults->remote = number(reading, node, "remote");
	faults->failed = number(reading, node, "failed");
	faults->raced = number(reading, node, "raced");
	faults->untimed = number(reading, node, "untimed");
	faults->under_mmap_lock = number(reading, node, "under_mmap_lock");
	faults->user_write = number_if(reading, node, "user_write");
	faults->populate_write = number_if(reading, node, "populate_write");
	faults->kernel_write = number_if(reading, node, "kernel_write");
	faults->remote_write = number_if(reading, node, "remote_write");
	vma->raced_known = flag(reading, node, "raced_known", MAY, true);
}

static void read_mmap(struct reading *reading, struct node record, struct vma_report *vma)
{
	struct node node = node_of(reading, record, "mmap", "mmap.", MUST);

	vma->mmap.seen = flag(reading, node, "seen", MUST, false);
	vma->mmap.ns = number(reading, node, "ns");
	vma->mmap.populate = flag(reading, node, "populate", MUST, false);
}

static void read_batches(struct reading *reading, struct node record, struct vma_report *vma)
{
	struct node node = node_of(reading, record, "batches", "batches.", MUST);

	vma->batches.total = number(reading, node, "total");
	vma->batches.declined = number(reading, node, "declined");
	vma->batches.pages = number(reading, node, "pages");
}

static void read_where(struct reading *reading, struct node record, struct where_bins *where)
{
	struct node node = node_of(reading, record, "where", "where.", MAY);
	struct json_object *installed;
	size_t length;

	if (!node.object)
		return;
	where->pages_per_bin = number(reading, node, "pages_per_bin");
	installed = array_of(reading, node, "installed");
	length = installed ? json_object_array_length(installed) : 0;
	if (!where->pages_per_bin || where->pages_per_bin & (where->pages_per_bin - 1))
		refuse(reading, "where.pages_per_bin is no power of two");
	if (length > MODEL_WHERE_BINS) {
		refuse(reading, "where.installed has %zu parts; %d are possible", length,
		       MODEL_WHERE_BINS);
		return;
	}
	where->count = (unsigned int)length;
	for (size_t i = 0; i < length; i++)
		where->pages[i] = whole_number(reading, json_object_array_get_idx(installed, i),
					       UINT64_MAX, node.name, "installed");
}

static void read_vma(struct reading *reading, struct node record, struct capture_record *out)
{
	struct vma_report *vma = &out->vma;
	const char *state = string(reading, record, "state", MUST);

	vma->span = span_of(reading, record);
	vma->mapped = !state || strcmp(state, "unmapped") != 0;
	vma->pid = (uint32_t)number_to(reading, record, "pid", MUST, UINT32_MAX);
	comm_of(reading, record, vma->comm);
	map_of(reading, record, &vma->map);
	vma->start = address(reading, record, "start");
	vma->end = address(reading, record, "end");
	vma->pages = number(reading, record, "pages");
	vma->map_offset_pages = number(reading, record, "map_offset_pages");
	read_mmap(reading, record, vma);
	read_faults(reading, record, vma);
	read_batches(reading, record, vma);
	vma->installed_pages = number(reading, record, "installed_pages");
	read_dist(reading, record, "fault_ns", "fault_ns.", &vma->fault_ns);
	read_dist(reading, record, "batch_ns", "batch_ns.", &vma->batch_ns);
	read_dist(reading, record, "batch_pages", "batch_pages.", &vma->batch_pages);
	out->row_known = json_object_object_get_ex(record.object, "row", NULL);
	vma->row = number_if(reading, record, "row");
	read_where(reading, record, &vma->where);
}

/* One of the words that there are, which live longer than the record. */
static const char *word_of(struct reading *reading, struct node record, const char *key,
			   enum need need)
{
	const char *word = string(reading, record, key, need);

	return word ? keep_word(reading->capture, word) : NULL;
}

static void read_update(struct reading *reading, struct node record, struct capture_record *out)
{
	struct update_report *update = &out->update;
	struct node waits;

	update->span = span_of(reading, record);
	update->pid = (uint32_t)number_to(reading, record, "pid", MUST, UINT32_MAX);
	comm_of(reading, record, update->comm);
	map_of(reading, record, &update->map);
	update->calls = number(reading, record, "calls");
	update->failed = number(reading, record, "failed");
	read_dist(reading, record, "ns", "ns.", &update->ns);
	update->wait = word_of(reading, record, "wait", MAY);
	read_dist(reading, record, "wait_ns", "wait_ns.", &update->wait_ns);
	waits = node_of(reading, record, "waits", "waits.", MAY);
	update->waits_normal = number_if(reading, waits, "normal");
	update->waits_expedited = number_if(reading, waits, "expedited");
	update->untimed = number_if(reading, record, "untimed");
}

/* Whether a key's word is the second of the two that it can be. */
static bool is_second(struct reading *reading, struct node record, const char *key,
		      const char *first, const char *second)
{
	const char *word = string(reading, record, key, MUST);

	if (word && strcmp(word, first) != 0 && strcmp(word, second) != 0)
		refuse(reading, "%s is neither \"%s\" nor \"%s\"", key, first, second);
	return word && !strcmp(word, second);
}

static void read_event(struct reading *reading, struct node record, struct capture_record *out)
{
	struct event_report *event = &out->event;

	event->batch = is_second(reading, record, "event", "fault", "batch");
	event->time = time_of(reading, record);
	event->pid = (uint32_t)number_to(reading, record, "pid", MUST, UINT32_MAX);
	event->tid = (uint32_t)number_to(reading, record, "tid", MUST, UINT32_MAX);
	comm_of(reading, record, event->comm);
	map_of(reading, record, &event->map);
	event->map_offset_pages = number(reading, record, "map_offset_pages");
	event->write = is_second(reading, record, "access", "read", "write");
	event->origin = word_of(reading, record, "origin", MUST);
	event->installed_pages = number(reading, record, "installed_pages");
	event->timed = value_of(reading, record, "ns", MUST);
	if (event->timed)
		event->ns = number(reading, record, "ns");
	event->outcome = word_of(reading, record, "outcome", MUST);
	event->row = number(reading, record, "row");
}

static void read_losses(struct reading *reading, struct node record, struct losses *lost)
{
	struct node node = node_of(reading, record, "lost", "lost.", MUST);
	uint64_t sum;

	lost->ring_full = number(reading, node, "ring_full");
	lost->vma_table_full = number(reading, node, "vma_table_full");
	lost->recursion = number(reading, node, "recursion");
	lost->recursion_at_most = flag(reading, record, "recursion_at_most", MAY, false);
	lost->unseen_runs = number_if(reading, record, "unseen_runs");
	lost->events_lost = number_if(reading, record, "events_lost");
	if (__builtin_add_overflow(lost->ring_full, lost->vma_table_full, &sum) ||
	    __builtin_add_overflow(sum, lost->recursion, &sum))
		refuse(reading, "lost counts beyond 64 bits");
}

static void read_interval(struct reading *reading, struct node record, struct capture_record *out)
{
	struct interval_report *interval = &out->interval;

	interval->time = time_of(reading, record);
	interval->seconds = seconds(reading, record);
	interval->faults = number(reading, record, "faults");
	interval->installed_pages = number(reading, record, "installed_pages");
	read_losses(reading, record, &interval->lost);
}

static void read_summary(struct reading *reading, struct node record, struct capture_record *out)
{
	struct summary_report *summary = &out->summary;

	/* both are null where neither was known */
	summary->unmeasured = !value_of(reading, record, "seconds", MUST) &&
			      !value_of(reading, record, "lost", MUST);
	if (!summary->unmeasured) {
		summary->seconds = seconds(reading, record);
		read_losses(reading, record, &summary->lost);
	}
	summary->vmas = number(reading, record, "vmas");
	summary->faults = number(reading, record, "faults");
	summary->batches = number(reading, record, "batches");
	summary->installed_pages = number(reading, record, "installed_pages");
	summary->verdict = string(reading, record, "verdict", MAY);
	if (reading->refused)
		return;
	json_object_put(reading->capture->summary);
	reading->capture->summary = json_object_get(record.object);
}

static const struct {
	const char *type;
	enum capture_kind kind;
	void (*read)(struct reading *reading, struct node record, struct capture_record *out);
} types[] = {
	{ "start", CAPTURE_START, read_start },
	{ "vma", CAPTURE_VMA, read_vma },
	{ "update", CAPTURE_UPDATE, read_update },
	{ "event", CAPTURE_EVENT, read_event },
	{ "interval", CAPTURE_INTERVAL, read_interval },
	{ "summary", CAPTURE_SUMMARY, read_summary },
};

static void read_record(struct reading *reading, struct json_object *object,
			struct capture_record *record)
{
	struct node node = { object, "" };
	const char *type;

	if (!json_object_is_type(object, json_type_object)) {
		refuse(reading, "it is no JSON object");
		return;
	}
	type = string(reading, node, "type", MUST);
	if (!type)
		return;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(type, types[i].type) != 0)
			continue;
		record->kind = types[i].kind;
		types[i].read(reading, node, record);
		return;
	}
	snprintf(reading->why, CAPTURE_WHY_BYTES, "%s", type);
}

/* ---- lines ---- */

/* A whole number of more than 64 bits, which the parser would take for the highest. */
static bool is_too_large(const char *number, size_t length)
{
	static const char most[] = "18446744073709551615";

	while (length && *number == '0') {
		number++;
		length--;
	}
	return length > strlen(most) ||
	       (length == strlen(most) && memcmp(number, most, length) > 0);
}

static size_t digits_at(const char *text, size_t length)
{
	size_t count = 0;

	while (count < length && text[count] >= '0' && text[count] <= '9')
		count++;
	return count;
}

/* What the parser would not tell of a line. */
struct look {
	bool too_large;		/* such a number stands anywhere but in a string or behind a point */
	size_t keys;		/* of all objects */
	size_t room;		/* bytes that the parser takes for it, at most */
};

/*
 * What the parser allocates for a mark of JSON, with what it keeps meanwhile:
 * an object has a table of 16 keys from the start, an array one of 32 values;
 * tables are doubled, and the old one is there until the new one is filled.
 */
static size_t room_of(char mark)
{
	switch (mark) {
	case '{':
		return 1280;
	case '[':
		return 640;
	case ':':
		return 512;
	case ',':
		return 192;
	default:
		return 0;
	}
}

static struct look look_at(const char *line, size_t length)
{
	/* its text, once as values and twice while they are read; and what the heap grows by */
	struct look look = { .room = 4 * length + (2 << 20) };
	bool in_string = false;

	for (size_t i = 0; i < length; i++) {
		size_t count = in_string ? 0 : digits_at(line + i, length - i);

		if (count && (!i || line[i - 1] != '.') && is_too_large(line + i, count))
			look.too_large = true;
		look.keys += !in_string && line[i] == ':';
		look.room += in_string ? 0 : room_of(line[i]);
		if (count)
			i += count - 1;
		else if (in_string && line[i] == '\\')
			i++;
		else if (line[i] == '"')
			in_string = !in_string;
	}
	return look;
}

/* Keys that the parser has kept: of two that are the same, one. No deeper than DEPTH_MAX. */
static size_t count_keys(struct json_object *value)
{
	size_t count = 0;

	if (json_object_is_type(value, json_type_array))
		for (size_t i = 0; i < json_object_array_length(value); i++)
			count += count_keys(json_object_array_get_idx(value, i));
	if (json_object_is_type(value, json_type_object)) {
		json_object_object_foreach(value, key, member) {
			(void)key;
			count += 1 + count_keys(member);
		}
	}
	return count;
}

/*
 * Whether there is so much memory. The parser does not tell when it finds
 * none: it leaves out what it was about to keep, or, up to json-c 0.16, crashes.
 */
static bool has_room(size_t bytes)
{
	/* volatile: else compilers take it that there is */
	void *volatile room = malloc(bytes);
	bool found = room;

	free(room);
	return found;
}

/*
 * Whether the line was right as far as it goes. Of a character that is cut
 * within its bytes the parser says that it is wrong, once it has come to the end.
 */
static bool is_cut(struct json_tokener *tokener, size_t length)
{
	enum json_tokener_error state = json_tokener_get_error(tokener);

	return state == json_tokener_continue ||
	       (state == json_tokener_error_parse_utf8_string &&
		json_tokener_get_parse_end(tokener) == length);
}

/* The line as JSON; NULL, with 0, -EINVAL, -ENODATA or -ENOMEM in *error. */
static struct json_object *parse_line(struct capture *capture, const char *line, size_t length,
				      char *why, int *error)
{
	struct json_tokener *tokener = capture->tokener;
	struct look look = look_at(line, length);
	struct json_object *object;

	*error = -EINVAL;
	if (memchr(line, '\0', length)) {
		snprintf(why, CAPTURE_WHY_BYTES, "it has a NUL byte");
		return NULL;
	}
	if (look.too_large) {
		snprintf(why, CAPTURE_WHY_BYTES, "a number in it is more than %" PRIu64,
			 UINT64_MAX);
		return NULL;
	}
	if (!has_room(look.room)) {
		*error = -ENOMEM;
		return NULL;
	}
	json_tokener_reset(tokener);
	object = json_tokener_parse_ex(tokener, line, (int)length);
	if (json_tokener_get_error(tokener) != json_tokener_success) {
		*error = is_cut(tokener, length) ? -ENODATA : -EINVAL;
		snprintf(why, CAPTURE_WHY_BYTES, "%s", *error == -ENODATA ?
			 "it ends before it is complete" :
			 json_tokener_error_desc(json_tokener_get_error(tokener)));
		return NULL;
	}
	if (count_keys(object) != look.keys) {
		snprintf(why, CAPTURE_WHY_BYTES, "it has a key twice in one object");
		json_object_put(object);
		return NULL;
	}
	*error = 0;
	return object;
}

int capture_read(struct capture *capture, const char *line, size_t length,
		 struct capture_record *record, char why[CAPTURE_WHY_BYTES])
{
	struct reading reading = { .capture = capture, .why = why };
	struct json_object *object;
	int error;

	memset(record, 0, sizeof(*record));
	why[0] = '\0';
	object = parse_line(capture, line, length, why, &error);
	if (error)
		return error;
	read_record(&reading, object, record);
	json_object_put(object);
	if (reading.no_memory)
		return -ENOMEM;
	return reading.refused ? -EINVAL : 0;
}
