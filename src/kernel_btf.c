/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the kernel's BTF when it is first asked for. */
#include "kernel_btf.h"

#include <bpf/btf.h>
#include <stdbool.h>

static struct btf *btf;		/* NULL: not read, or there is none */
static bool was_read;

uint32_t kernel_function(const char *name)
{
	int id;

	if (!was_read) {
		btf = btf__load_vmlinux_btf();
		was_read = true;
	}
	id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) : 0;
	return id > 0 ? (uint32_t)id : 0;
}

void kernel_btf_forget(void)
{
	btf__free(btf);
	btf = NULL;
	was_read = false;
}
