/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which handlers this kernel's mappings of BPF maps use, and so the mode of
 * each map type. Asked of the kernel, never derived from a version.
 */
#ifndef LAZYFAULT_HANDLERS_H
#define LAZYFAULT_HANDLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "model.h"

#define SYMBOL_BYTES 128

enum type_index { TYPE_ARRAY, TYPE_ARENA, TYPE_RINGBUF };

/* One function pointer of a vm_ops. */
struct handler {
	bool present;		/* the pointer is not NULL */
	char name[SYMBOL_BYTES];/* "" while no name is known */
};

struct type_handlers {
	bool mapped;		/* the tracer could map one */
	int error;		/* else why not: a positive errno */
	bool asked;		/* the kernel told its vm_ops */
	uint64_t vm_ops;	/* address */
	struct handler fault, map_pages, open, close;
};

struct handlers {
	struct type_handlers types[MODEL_TYPES];
	uint32_t pid_ns_level;	/* of the tracer; 0: the initial PID namespace */
	uint64_t pid_ns;	/* its address */
	uint32_t own_tgid;	/* in the initial PID namespace; if not known, as getpid() has it */
	uint64_t own_start;	/* when this process began: ns, CLOCK_MONOTONIC; 0: not known */
	int probe_error;	/* the kernel could not be asked: positive errno; 0: it could */
};

/*
 * Maps one map of each type and asks. Always fills handlers; where the kernel
 * cannot be asked, names that its BTF has stand in for what it would have said.
 */
void handlers_find(struct handlers *handlers);

/* The decision, apart from the asking. */
enum map_mode handlers_mode(const struct type_handlers *type);
/* For the start record; the strings live in handlers and in static storage. */
void handlers_describe(const struct handlers *handlers, struct type_mode modes[MODEL_TYPES]);

/*
 * Takes one line of the asking program's output, "TYPE MEMBER ADDRESS NAME":
 * false if it is not of that form. For handlers_find and its test.
 */
bool handlers_parse_line(struct handlers *handlers, const char *line);

#endif
