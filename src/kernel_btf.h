/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The BTF of the running kernel, for questions beside what is loaded. To read it
 * takes as long as to load several programs: it is kept until it is forgotten.
 */
#ifndef LAZYFAULT_KERNEL_BTF_H
#define LAZYFAULT_KERNEL_BTF_H

#include <stdint.h>

/* The BTF id of a function; 0 if the kernel has no such function, or no BTF. */
uint32_t kernel_function(const char *name);

/* Gives back its 6 MiB; who asks later has it read anew. */
void kernel_btf_forget(void);

#endif
