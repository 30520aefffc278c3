/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills the filters of a tracer's programs. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "errors.h"
#include "filters.h"
#include "handlers.h"
#include "targets.h"

void tell_of_too_many_processes(void)
{
	notice("more than %d processes at a time: what was started beyond that is not traced",
	       FOLLOWED_PROCESSES);
}

struct filters filters_of(const struct handlers *handlers, const struct targets *targets)
{
	struct filters filters = {
		.pid_ns = handlers->pid_ns,
		.pid_ns_level = handlers->pid_ns_level,
		.own_tgid = handlers->own_tgid,
		.by_tgid = targets->pid_count > 0,
		.by_descent = targets->descend,
		.by_cgroup = targets->cgroup_fd >= 0,
		.by_map = targets->map_count > 0,
	};

	filters.any = filters.by_tgid || filters.by_cgroup || filters.by_map;
	return filters;
}

static struct bpf_map *map_of(struct bpf_object *object, const char *name)
{
	return bpf_object__find_map_by_name(object, name);
}

static uint32_t at_least_one(size_t count)
{
	return count ? (uint32_t)count : 1;
}

void filters_make_room(struct bpf_object *object, const struct targets *targets)
{
	bpf_map__set_max_entries(map_of(object, "traced_tgids"), at_least_one(targets->pid_count));
	bpf_map__set_max_entries(map_of(object, "traced_maps"), at_least_one(targets->map_count));
	bpf_map__set_max_entries(map_of(object, "followed_tgids"),
				 targets->descend ? FOLLOWED_PROCESSES : 1);
}

static int add(struct bpf_map *map, __u32 key)
{
	const __u8 yes = 1;

	return bpf_map__update_elem(map, &key, sizeof(key), &yes, sizeof(yes), BPF_ANY) ? -errno : 0;
}

int filters_fill(struct bpf_object *object, const struct targets *targets)
{
	struct bpf_map *tgids = map_of(object, "traced_tgids"), *maps = map_of(object, "traced_maps");
	const __u32 zero = 0;
	int error = 0;

	for (size_t i = 0; i < targets->pid_count && !error; i++)
		error = add(tgids, (__u32)targets->pids[i]);
	for (size_t i = 0; i < targets->map_count && !error; i++)
		error = add(maps, targets->map_ids[i]);
	if (!error && targets->cgroup_fd >= 0 &&
	    bpf_map__update_elem(map_of(object, "traced_cgroup"), &zero, sizeof(zero),
				 &targets->cgroup_fd, sizeof(int), BPF_ANY))
		error = -errno;
	return error;
}
