/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any event records: those that no kernel side can have written are refused,
 * and each of the others is one line of text without a byte that moves the
 * cursor, and a line of strict JSON that reads as it was written.
 *
 * An input is a row of records; what its last one lacks is zero.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "events.h"
#include "records.h"
#include "sink.h"

#include "strict.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORDS_MAX = 64 };

/* What one sink says of an event; allocated. */
static char *print(struct sink *(*open)(FILE *out), const struct event_report *event,
		   size_t *bytes)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, bytes);
	struct sink *sink = open(out);

	sink_event(sink, event);
	sink_flush(sink);
	require(!sink->failed);
	sink_free(sink);
	fclose(out);
	return text;
}

static struct sink *open_text(FILE *out)
{
	static const struct text_options options = { .quiet = true };

	return text_sink_new(out, &options);
}

static void check_text(const struct event_report *event)
{
	size_t bytes, lines = 0;
	char *text = print(open_text, event, &bytes);

	for (size_t i = 0; i < bytes; i++)
		lines += text[i] == '\n';
	require_of(is_for_terminal(text, bytes), text, bytes);
	/* the heading, and itself */
	require_of(lines == 2, text, bytes);
	free(text);
}

static void check_same(const struct event_report *read, const struct event_report *event)
{
	require(read->batch == event->batch && read->write == event->write);
	require(read->pid == event->pid && read->tid == event->tid);
	require(!strcmp(read->comm, event->comm));
	require(read->map.id == event->map.id && !strcmp(read->map.type, event->map.type));
	require(read->map_offset_pages == event->map_offset_pages && read->row == event->row);
	require(read->installed_pages == event->installed_pages);
	require(read->timed == event->timed && read->ns == event->ns);
	require(!strcmp(read->origin, event->origin) && !strcmp(read->outcome, event->outcome));
}

static void check_json(const struct event_report *event)
{
	struct capture *capture = capture_new();
	struct capture_record record;
	char why[CAPTURE_WHY_BYTES];
	size_t bytes;
	char *text = print(json_sink_new, event, &bytes);

	require_of(is_json_lines(text, bytes), text, bytes);
	require_of(!capture_read(capture, text, bytes - 1, &record, why), why, strlen(why));
	require(record.kind == CAPTURE_EVENT);
	check_same(&record.event, event);
	capture_free(capture);
	free(text);
}

static void check(const struct event_record *record)
{
	struct event_report event;
	int error = event_read(record, sizeof(*record), 0, &event);

	if (error) {
		require(error == -EPROTO);
		return;
	}
	/* what the invariants of reports rest on */
	require(event.batch ? event.installed_pages > 0 : event.installed_pages <= 1);
	require((event.installed_pages > 0) == !strcmp(event.outcome, "installed"));
	/* far times are not for this test: a capture has years of four digits */
	if (event.time.tv_sec > INT32_MAX)
		event.time.tv_sec = INT32_MAX;
	check_text(&event);
	check_json(&event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < RECORDS_MAX && size; i++) {
		struct event_record record = {};
		size_t bytes = size < sizeof(record) ? size : sizeof(record);

		memcpy(&record, data, bytes);
		/* the hardest to hit, and told apart by the unit tests */
		record.header.type = RECORD_EVENT;
		check(&record);
		data += bytes;
		size -= bytes;
	}
	return 0;
}
