/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The VMAs of a capture whose totals have not come: their intervals, added
 * up, for a capture that ends before it tells them. Also numbers the VMAs of
 * a capture that does not.
 */
#ifndef LAZYFAULT_ROWS_H
#define LAZYFAULT_ROWS_H

#include "model.h"

/* More VMAs at a time than tracing itself holds. */
#define ROWS_MAX (1u << 21)

struct rows;

struct rows *rows_new(void);	/* NULL: no memory */
void rows_free(struct rows *rows);	/* NULL is fine */

/*
 * Takes a record as it comes; sets vma->row if row_known is false. Adds an
 * interval up; a total makes the VMA's intervals forgotten. 0, -ENOMEM, or
 * -ENOSPC where there are more VMAs than ROWS_MAX, which is harmless.
 */
int rows_take(struct rows *rows, struct vma_report *vma, bool row_known);

/* The sum of the intervals of vma's row since its beginning; false: there are none. */
bool rows_sum(struct rows *rows, const struct vma_report *vma, struct vma_report *sum);

/* Hands out the sums as totals, in order of row. 0; or -ENOMEM, and none was handed out. */
int rows_each(struct rows *rows, void (*fn)(void *context, const struct vma_report *vma),
	      void *context);

#endif
