/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a capture adds up as the manual promises: within each record, and
 * from record to record. What does not would print wrong numbers.
 */
#ifndef LAZYFAULT_BALANCE_H
#define LAZYFAULT_BALANCE_H

#include "capture.h"
#include "model.h"

struct balance;

struct balance *balance_new(void);	/* NULL: no memory */
void balance_free(struct balance *balance);	/* NULL is fine */

/* What came of a VMA's row before. */
struct balance_row {
	bool known;		/* the capture numbers it */
	const struct vma_report *intervals;	/* their sum; NULL: there were none */
};

/*
 * Each takes the next record of a capture: 0; -EINVAL, with what does not add
 * up in why, and the record is as if it had not come; or -ENOMEM.
 */
int balance_vma(struct balance *balance, const struct vma_report *vma,
		const struct balance_row *row, char *why);
int balance_update(struct balance *balance, const struct update_report *update, char *why);
int balance_interval(struct balance *balance, const struct interval_report *interval, char *why);
int balance_summary(struct balance *balance, const struct summary_report *summary, char *why);

/*
 * Something of the capture is missing: records are no longer held against
 * others that may have been among it.
 */
void balance_doubt(struct balance *balance);

/* The page size, by which pages are held against addresses; 0: not known. */
void balance_pages(struct balance *balance, uint64_t page_bytes);

#endif
