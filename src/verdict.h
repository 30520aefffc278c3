/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict: what the numbers mean for the person who reads them. */
#ifndef LAZYFAULT_VERDICT_H
#define LAZYFAULT_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "model.h"

/* Totals over the VMAs of one type of map. */
struct verdict_part {
	struct fault_counts faults;
	struct batch_counts batches;
	uint64_t installed_pages;
	uint64_t handler_ns;		/* faults and batches; 0 where untimed */
	uint64_t mmap_calls, mmap_ns;
	struct traps traps;
	uint64_t populated;		/* VMAs made with MAP_POPULATE */
	/* Of those made without that took traps, which it would have spared: */
	struct traps spared;
	uint64_t spared_size;		/* pages of these VMAs */
	bool spared_partly_seen;	/* some were mapped before tracing began */
};

/* Totals over all VMAs that the verdict of a run is made of. */
struct verdict_input {
	const struct run_start *start;
	uint64_t vmas;
	uint64_t vmas_of_type[MODEL_TYPES];
	struct fault_counts faults;
	struct batch_counts batches;
	uint64_t installed_pages;
	struct dist fault_ns, batch_ns;
	uint64_t mmap_calls, mmap_ns;
	struct verdict_part of_type[MODEL_TYPES];
};

/* Adds one VMA; `start` may be set before or after. */
void verdict_add(struct verdict_input *input, const struct vma_report *total);
/* One or two sentences into text, below VERDICT_BYTES, always NUL-terminated. */
#define VERDICT_BYTES 400

void verdict_for_run(const struct verdict_input *input, char *text, size_t bytes);
void verdict_for_vma(const struct run_start *start, const struct vma_report *vma,
		     char *text, size_t bytes);

#endif
