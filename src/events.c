/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks and decodes event records; nothing of a record is believed. */
#include "events.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "records.h"

#define SECOND_NS 1000000000LL

static int64_t nanoseconds(clockid_t clock)
{
	struct timespec time = { 0, 0 };

	clock_gettime(clock, &time);
	return time.tv_sec * SECOND_NS + time.tv_nsec;
}

int64_t event_clock_offset(void)
{
	return nanoseconds(CLOCK_REALTIME) - nanoseconds(CLOCK_MONOTONIC);
}

static bool is_string(const char *text, size_t bytes)
{
	return strnlen(text, bytes) < bytes;
}

static bool outcome_fits(const struct event_record *record)
{
	if (record->header.state == EVENT_BATCH)
		return record->outcome == OUTCOME_INSTALLED && record->pages > 0;
	return record->header.state == EVENT_FAULT &&
	       record->pages == (record->outcome == OUTCOME_INSTALLED);
}

static bool is_valid(const struct event_record *record)
{
	return record->header.type == RECORD_EVENT && outcome_fits(record) &&
	       record->outcome >= OUTCOME_INSTALLED && record->outcome <= OUTCOME_RACED &&
	       record->access < ACCESSES && record->origin < ORIGINS && !record->pad &&
	       record->time <= INT64_MAX / 2 && is_string(record->comm, COMM_BYTES) &&
	       is_string(record->map_name, MAP_NAME_BYTES);
}

static struct timespec wall_time(uint64_t monotonic, int64_t offset)
{
	int64_t ns = (int64_t)monotonic + offset;

	if (ns < 0)
		ns = 0;
	return (struct timespec){ .tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS };
}

int event_read(const void *data, size_t bytes, int64_t clock_offset, struct event_report *event)
{
	static const char *const origins[ORIGINS] = {
		[ORIGIN_USER] = "user", [ORIGIN_POPULATE] = "populate",
		[ORIGIN_KERNEL] = "kernel", [ORIGIN_REMOTE] = "remote",
	};
	static const char *const outcomes[] = {
		[OUTCOME_INSTALLED] = "installed", [OUTCOME_FAILED] = "failed",
		[OUTCOME_RACED] = "raced",
	};
	const struct event_record *record = data;

	if (bytes < sizeof(*record) || !is_valid(record))
		return -EPROTO;
	*event = (struct event_report){
		.time = wall_time(record->time, clock_offset),
		.batch = record->header.state == EVENT_BATCH,
		.pid = record->pid,
		.tid = record->tid,
		.map = { .id = record->map_id, .type = map_type_name(record->map_type) },
		.map_offset_pages = record->page,
		.write = record->access == ACCESS_WRITE,
		.origin = origins[record->origin],
		.installed_pages = record->pages,
		.timed = record->elapsed != EVENT_UNTIMED,
		.ns = record->elapsed != EVENT_UNTIMED ? record->elapsed : 0,
		.outcome = outcomes[record->outcome],
		.row = record->row,
	};
	memcpy(event->comm, record->comm, sizeof(event->comm));
	memcpy(event->map.name, record->map_name, sizeof(event->map.name));
	return 0;
}
