/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the knobs of RCU that this machine is set to. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "rcu.h"

/* The number in a file; -1: it cannot be read. */
static int read_number(const char *root, const char *path)
{
	char name[512];
	int number = -1;
	FILE *file;

	snprintf(name, sizeof(name), "%s%s", root, path);
	file = fopen(name, "re");
	if (!file)
		return -1;
	if (fscanf(file, "%d", &number) != 1)
		number = -1;
	fclose(file);
	return number;
}

void rcu_look_under(struct rcu_state *rcu, const char *root, const char *version)
{
	rcu->normal = read_number(root, "/sys/kernel/rcu_normal");
	rcu->expedited = read_number(root, "/sys/kernel/rcu_expedited");
	/* the file came with patches to older kernels; the version has always said it */
	rcu->preempt_rt = strstr(version, "PREEMPT_RT") != NULL ||
			  read_number(root, "/sys/kernel/realtime") == 1;
}

void rcu_look(struct rcu_state *rcu)
{
	struct utsname kernel;

	uname(&kernel);
	rcu_look_under(rcu, "", kernel.version);
}

const char *rcu_overruling_knob(const struct rcu_state *rcu)
{
	const char *asks = rcu->asks ? rcu->asks : "";

	/* rcu_normal wins over rcu_expedited */
	if (rcu->normal > 0)
		return strcmp(asks, "expedited") ? NULL : "rcu_normal";
	if (rcu->expedited > 0)
		return strcmp(asks, "normal") ? NULL : "rcu_expedited";
	return NULL;
}
