/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the times of map-in-map updates mean, and what would change them. */
#ifndef LAZYFAULT_UPDATE_VERDICT_H
#define LAZYFAULT_UPDATE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "model.h"

/* Totals over all rows. */
struct update_verdict {
	const struct rcu_state *rcu;
	bool filtered;		/* -p, -m or -c leave something out */
	uint64_t calls, untimed;
	uint64_t ns, wait_ns;
	uint64_t waits_normal, waits_expedited;
};

/* Adds one row; `rcu` may be set before or after. */
void update_verdict_add(struct update_verdict *verdict, const struct update_report *total);
/* A sentence into text, below UPDATE_VERDICT_BYTES, always NUL-terminated. */
#define UPDATE_VERDICT_BYTES 700

void update_verdict_text(const struct update_verdict *verdict, char *text, size_t bytes);

#endif
