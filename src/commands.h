/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands; each returns the exit status. */
#ifndef LAZYFAULT_COMMANDS_H
#define LAZYFAULT_COMMANDS_H

struct options;

int command_faults(const struct options *options);
int command_updates(const struct options *options);
int command_check(const struct options *options);
int command_report(const struct options *options);

#endif
