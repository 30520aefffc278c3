/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selects and attaches programs. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "programs.h"

void program_gap_add(struct program_gaps *gaps, const char *what, const char *why)
{
	struct program_gap *gap;

	if (!what || gaps->count == PROGRAM_GAPS)
		return;
	gap = &gaps->items[gaps->count++];
	gap->what = what;
	snprintf(gap->why, sizeof(gap->why), "%s", why);
}

static bool needs_function(const struct program_use *use)
{
	const char *section = bpf_program__section_name(use->program);

	return strstr(section, "fentry") || strstr(section, "fexit");
}

/* The function that a program is attached to; NULL if nothing names one. */
static const char *target_of(const struct program_use *use)
{
	const char *slash;

	if (use->function)
		return use->function;
	slash = strchr(bpf_program__section_name(use->program), '/');
	return slash ? slash + 1 : NULL;
}

/* libbpf reads the kernel's BTF for it, and has it at hand until the object is loaded. */
static bool finds_target(const struct program_use *use)
{
	const char *function = target_of(use);

	return function && !bpf_program__set_attach_target(use->program, 0, function);
}

size_t programs_select(struct program_use *uses, size_t count, struct program_gaps *gaps)
{
	size_t kept = 0;
	char why[160];

	for (size_t i = 0; i < count; i++) {
		const char *function = target_of(&uses[i]);

		if (needs_function(&uses[i]) && !finds_target(&uses[i])) {
			snprintf(why, sizeof(why), "this kernel's BTF has no function %s",
				 function ? function : "of the name its mappings use");
			program_gap_add(gaps, uses[i].what, why);
			continue;
		}
		bpf_program__set_autoload(uses[i].program, true);
		uses[kept++] = uses[i];
	}
	return kept;
}

size_t programs_attach(const struct program_use *uses, size_t count, struct ground *ground,
		       struct program_gaps *gaps)
{
	size_t attached = 0;

	for (size_t i = 0; i < count; i++) {
		char why[sizeof(gaps->items[0].why)];
		int error;

		*uses[i].link = bpf_program__attach(uses[i].program);
		if (*uses[i].link) {
			attached++;
			continue;
		}
		error = errno;
		ground_try_programs(ground);
		explain_failure(ground, STEP_ATTACH, error, bpf_program__name(uses[i].program),
				why, sizeof(why));
		program_gap_add(gaps, uses[i].what, why);
	}
	return attached;
}

uint64_t program_misses(const struct bpf_program *program)
{
	struct bpf_prog_info info = {};
	__u32 bytes = sizeof(info);
	int fd = bpf_program__fd(program);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &bytes))
		return 0;
	return info.recursion_misses;
}
