/* SPDX-License-Identifier: GPL-2.0-only */
/* What process.bpf.h and its loaders share beside its maps. */
#ifndef LAZYFAULT_PROCESS_H
#define LAZYFAULT_PROCESS_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#include <stdbool.h>
#endif

struct filters {
	__u64 pid_ns;		/* address of the tracer's PID namespace */
	__u32 pid_ns_level;	/* 0: it is the initial one */
	__u32 own_tgid;		/* the tracer, in the initial PID namespace */
	bool any;		/* of the following */
	bool by_tgid;		/* only what traced_tgids names */
	bool by_descent;	/* children of the traced join them */
	bool by_cgroup;
	bool by_map;
};

#endif
