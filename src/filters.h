/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells programs whom and what to trace: the constant and the maps of bpf/process.bpf.h. */
#ifndef LAZYFAULT_FILTERS_H
#define LAZYFAULT_FILTERS_H

#include "process.h"

struct bpf_object;
struct handlers;
struct targets;

/* So many descendants of a command are traced at a time. */
#define FOLLOWED_PROCESSES 32768

/* Says that more were started, and are not traced. */
void tell_of_too_many_processes(void);

/* The constant, for an object that is not loaded yet. */
struct filters filters_of(const struct handlers *handlers, const struct targets *targets);
/* Makes the maps, before they are loaded, as large as the targets need. */
void filters_make_room(struct bpf_object *object, const struct targets *targets);
/* Fills them with what the targets name. 0 or -errno. */
int filters_fill(struct bpf_object *object, const struct targets *targets);

#endif
