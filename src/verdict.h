/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict: what the numbers mean for the person who reads them. */
#ifndef LAZYFAULT_VERDICT_H
#define LAZYFAULT_VERDICT_H

#include <stddef.h>

#include "model.h"

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
};

void verdict_add(struct verdict_input *input, const struct vma_report *total);
/* One or two sentences into text, always NUL-terminated. */
void verdict_for_run(const struct verdict_input *input, char *text, size_t bytes);
void verdict_for_vma(const struct run_start *start, const struct vma_report *vma,
		     char *text, size_t bytes);

#endif
