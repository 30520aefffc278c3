/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the records of a saved capture, JSON lines, back into what was
 * reported. Nothing of a line is believed: a record is whole or refused.
 */
#ifndef LAZYFAULT_CAPTURE_H
#define LAZYFAULT_CAPTURE_H

#include "model.h"

enum capture_kind {
	CAPTURE_UNKNOWN,	/* a type that this version does not know */
	CAPTURE_START,
	CAPTURE_VMA,
	CAPTURE_UPDATE,
	CAPTURE_EVENT,
	CAPTURE_INTERVAL,
	CAPTURE_SUMMARY,
};

struct capture_record {
	enum capture_kind kind;
	bool row_known;		/* vma: the capture says which VMA it is */
	union {
		struct run_start start;
		struct vma_report vma;
		struct update_report update;
		struct event_report event;
		struct interval_report interval;
		struct summary_report summary;
	};
};

struct capture;

struct capture *capture_new(void);	/* NULL: no memory */
void capture_free(struct capture *capture);

#define CAPTURE_WHY_BYTES 256
/* The longest run that is believed: some thirty years. */
#define CAPTURE_SECONDS_MAX 999999999.0

/*
 * Reads one line. 0; or -EINVAL, with what is wrong with it in why; -ENODATA
 * where the JSON ends before it is complete; -ENOMEM. For a record of a type
 * that is not known, why is its name. Strings in the record are valid until the
 * capture is freed. Of a second start record nothing but its kind is read.
 */
int capture_read(struct capture *capture, const char *line, size_t length,
		 struct capture_record *record, char why[CAPTURE_WHY_BYTES]);

#endif
