/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs of which this kernel may lack the targets: selects and attaches
 * those that can be, and keeps what is missing without the others, and why.
 */
#ifndef LAZYFAULT_PROGRAMS_H
#define LAZYFAULT_PROGRAMS_H

#include <stddef.h>
#include <stdint.h>

struct bpf_link;
struct bpf_program;
struct ground;

/* A program that is not attached; the run goes on without it. */
struct program_gap {
	const char *what;	/* what is missing without it, static */
	char why[512];
};

#define PROGRAM_GAPS 12

struct program_gaps {
	struct program_gap items[PROGRAM_GAPS];
	size_t count;
};

/* Without `what` nothing is missing, and no gap is kept. */
void program_gap_add(struct program_gaps *gaps, const char *what, const char *why);

struct program_use {
	struct bpf_program *program;
	struct bpf_link **link;
	const char *function;	/* its target; NULL: as its section says */
	const char *what;	/* what is missing without it; NULL: another has it, too */
};

/*
 * Keeps those whose target functions this kernel's BTF has, and has them loaded
 * with their object; the others are gaps. Returns how many are kept.
 */
size_t programs_select(struct program_use *uses, size_t count, struct program_gaps *gaps);
/* Attaches them in order; those refused are gaps. Returns how many are attached. */
size_t programs_attach(const struct program_use *uses, size_t count, struct ground *ground,
		       struct program_gaps *gaps);

/* Runs of a program that the kernel skipped; 0 if it is not loaded. */
uint64_t program_misses(const struct bpf_program *program);

#endif
