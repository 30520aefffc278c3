/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rights beyond the caller's that are refused, and those given up once tracing is set up. */
#ifndef LAZYFAULT_PRIVILEGES_H
#define LAZYFAULT_PRIVILEGES_H

#include <stdbool.h>
#include <stddef.h>

struct options;

/*
 * Whether the program runs setuid or setgid, which it is not made for. File
 * capabilities are an administrator's choice and are not meant.
 */
bool privileges_are_borrowed(void);

/*
 * Gives up, for good, all capabilities but those that a run by these options
 * still needs once all is loaded, attached and open; a command that was forked
 * before keeps its own. What was kept goes to kept, as "CAP_KILL, CAP_BPF";
 * empty: none. 0 or -errno.
 */
int privileges_drop(const struct options *options, char *kept, size_t kept_bytes);

#endif
