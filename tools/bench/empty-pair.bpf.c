// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that do nothing, or read the clock and no more: what hooks cost by
 * themselves. Plain functions of a context, since even reading an argument
 * would be work.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#define PAIR(number)					\
	SEC("?fentry")					\
	int empty_entry_##number(void *context)		\
	{						\
		return 0;				\
	}						\
							\
	SEC("?fexit")					\
	int empty_exit_##number(void *context)		\
	{						\
		return 0;				\
	}

/* One for each function that lazyfault hooks on a kernel without fault-around. */
PAIR(0)
PAIR(1)
PAIR(2)
PAIR(3)
PAIR(4)
PAIR(5)
PAIR(6)

SEC("?fentry")
int clock_entry(void *context)
{
	bpf_ktime_get_ns();
	return 0;
}

SEC("?fexit")
int clock_exit(void *context)
{
	bpf_ktime_get_ns();
	return 0;
}

SEC("?fentry")
int lone_entry(void *context)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
