// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that do nothing, or read the clock and no more: what hooks cost by
 * themselves. Plain functions of a context, since even reading an argument
 * would be work.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

SEC("?fentry")
int empty_entry(void *context)
{
	return 0;
}

SEC("?fexit")
int empty_exit(void *context)
{
	return 0;
}

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
