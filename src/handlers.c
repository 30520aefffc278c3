/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the handlers by mapping a map of each type in the tracer itself and
 * reading the mappings' vm_ops with an iterator program.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "errors.h"
#include "handlers.h"
#include "handlers.skel.h"
#include "kernel_btf.h"

/* The kernel's numbers, so that old system headers do. */
#define MAP_TYPE_ARRAY 2
#define MAP_TYPE_RINGBUF 27
#define MAP_TYPE_ARENA 33	/* since 6.9 */

/* Names to look for in BTF where the vm_ops cannot be read. */
static const struct {
	const char *fault, *open, *close;
} known_names[MODEL_TYPES] = {
	[TYPE_ARRAY] = { "bpf_map_mmap_fault", "bpf_map_mmap_open", "bpf_map_mmap_close" },
	[TYPE_ARENA] = { "arena_vm_fault", "arena_vm_open", "arena_vm_close" },
	[TYPE_RINGBUF] = { NULL, "bpf_map_mmap_open", "bpf_map_mmap_close" },
};

struct probe_mapping {
	int fd;
	void *address;
	size_t bytes;
};

static int map_one(enum type_index type, struct probe_mapping *mapping)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	size_t page = sysconf(_SC_PAGESIZE);

	mapping->bytes = page;
	switch (type) {
	case TYPE_ARRAY:
		mapping->fd = bpf_map_create(MAP_TYPE_ARRAY, "lazyfault_probe", 4, page, 1, &options);
		break;
	case TYPE_ARENA:
		mapping->fd = bpf_map_create(MAP_TYPE_ARENA, "lazyfault_probe", 0, 0, 1, &options);
		break;
	case TYPE_RINGBUF:
		options.map_flags = 0;
		mapping->fd = bpf_map_create(MAP_TYPE_RINGBUF, "lazyfault_probe", 0, 0, page, &options);
		break;
	}
	if (mapping->fd < 0)
		return errno;
	mapping->address = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, mapping->fd, 0);
	if (mapping->address == MAP_FAILED) {
		int error = errno;

		close(mapping->fd);
		mapping->fd = -1;
		return error;
	}
	return 0;
}

static void unmap_one(struct probe_mapping *mapping)
{
	if (mapping->fd < 0)
		return;
	munmap(mapping->address, mapping->bytes);
	close(mapping->fd);
}

bool handlers_parse_line(struct handlers *handlers, const char *line)
{
	char member[16], name[SYMBOL_BYTES];
	struct type_handlers *type;
	struct handler *handler;
	uint64_t address;
	unsigned int number;

	if (sscanf(line, "%u %15s %" SCNx64 " %127s", &number, member, &address, name) != 4 ||
	    number >= MODEL_TYPES)
		return false;
	type = &handlers->types[number];
	if (!strcmp(member, "fault"))
		handler = &type->fault;
	else if (!strcmp(member, "map_pages"))
		handler = &type->map_pages;
	else if (!strcmp(member, "open"))
		handler = &type->open;
	else if (!strcmp(member, "close"))
		handler = &type->close;
	else
		return false;
	type->asked = true;
	handler->present = address != 0;
	/* %ps prints a number where the kernel has no symbol */
	if (handler->present && strncmp(name, "0x", 2))
		snprintf(handler->name, sizeof(handler->name), "%s", name);
	return true;
}

static int read_answers(struct handlers *handlers, struct bpf_link *link)
{
	int fd = bpf_iter_create(bpf_link__fd(link));
	char line[256];
	FILE *answers;

	if (fd < 0)
		return errno;
	answers = fdopen(fd, "r");
	if (!answers) {
		close(fd);
		return ENOMEM;
	}
	while (fgets(line, sizeof(line), answers))
		handlers_parse_line(handlers, line);
	fclose(answers);
	return 0;
}

static int ask(struct handlers *handlers, const struct probe_mapping *mappings)
{
	union bpf_iter_link_info only_us = { .task = { .pid = getpid() } };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &only_us,
		    .link_info_len = sizeof(only_us));
	struct handlers_bpf *skeleton = handlers_bpf__open();
	struct bpf_link *link;
	int error = 0;

	if (!skeleton)
		return errno;
	for (int type = 0; type < MODEL_TYPES; type++)
		if (mappings[type].fd >= 0)
			skeleton->rodata->mapping_start[type] = (uintptr_t)mappings[type].address;
	if (handlers_bpf__load(skeleton)) {
		error = errno;
		goto out;
	}
	link = bpf_program__attach_iter(skeleton->progs.read_handlers, &options);
	if (!link) {
		error = errno;
		goto out;
	}
	error = read_answers(handlers, link);
	bpf_link__destroy(link);
	for (int type = 0; type < MODEL_TYPES; type++)
		if (skeleton->bss->seen[type])
			handlers->types[type].vm_ops = skeleton->bss->vm_ops[type];
	handlers->pid_ns_level = skeleton->bss->pid_ns_level;
	handlers->pid_ns = skeleton->bss->pid_ns;
	handlers->own_tgid = skeleton->bss->own_tgid;
	handlers->own_start = skeleton->bss->own_start;
out:
	handlers_bpf__destroy(skeleton);
	return error;
}

/* Kernels without symbols tell that there is a handler, but not its name. */
static void guess(struct handler *handler, enum map_mode mode, const char *known)
{
	if ((mode == MODE_UNKNOWN || handler->present) && !handler->name[0] && known &&
	    kernel_function(known))
		snprintf(handler->name, sizeof(handler->name), "%s", known);
}

/* Names that the kernel did not tell, if it has functions of the usual ones. */
static void guess_names(struct handlers *handlers)
{
	for (int i = 0; i < MODEL_TYPES; i++) {
		struct type_handlers *type = &handlers->types[i];
		enum map_mode mode = handlers_mode(type);

		guess(&type->fault, mode, known_names[i].fault);
		guess(&type->open, mode, known_names[i].open);
		guess(&type->close, mode, known_names[i].close);
	}
	kernel_btf_forget();
}

void handlers_find(struct handlers *handlers)
{
	struct probe_mapping mappings[MODEL_TYPES] = {};

	memset(handlers, 0, sizeof(*handlers));
	for (int type = 0; type < MODEL_TYPES; type++) {
		handlers->types[type].error = map_one(type, &mappings[type]);
		handlers->types[type].mapped = !handlers->types[type].error;
		if (!handlers->types[type].mapped)
			mappings[type].fd = -1;
	}
	handlers->probe_error = ask(handlers, mappings);
	if (!handlers->own_tgid)
		handlers->own_tgid = (uint32_t)getpid();
	guess_names(handlers);
	for (int type = 0; type < MODEL_TYPES; type++)
		unmap_one(&mappings[type]);
}

enum map_mode handlers_mode(const struct type_handlers *type)
{
	if (!type->mapped)
		return type->error == EPERM || type->error == EACCES ? MODE_UNKNOWN : MODE_NONE;
	if (!type->asked)
		return MODE_UNKNOWN;
	if (!type->fault.present)
		return MODE_EAGER;
	return type->map_pages.present ? MODE_LAZY_AROUND : MODE_LAZY;
}

/* Static storage for each type: a reason is made once a run. */
static const char *reason_for(const struct handlers *handlers, int i)
{
	static char reasons[MODEL_TYPES][160];
	const struct type_handlers *type = &handlers->types[i];

	switch (handlers_mode(type)) {
	case MODE_NONE:
		snprintf(reasons[i], sizeof(reasons[i]), "this kernel cannot map it: %s",
			 error_name(type->error));
		return reasons[i];
	case MODE_UNKNOWN:
		snprintf(reasons[i], sizeof(reasons[i]), "the kernel could not be asked: %s",
			 error_name(type->mapped ? handlers->probe_error : type->error));
		return reasons[i];
	default:
		return NULL;
	}
}

static const char *name_or_null(const struct handler *handler)
{
	return handler->name[0] ? handler->name : handler->present ? "(no symbol)" : NULL;
}

void handlers_describe(const struct handlers *handlers, struct type_mode modes[MODEL_TYPES])
{
	static const char *const names[MODEL_TYPES] = { "array", "arena", "ringbuf" };

	for (int i = 0; i < MODEL_TYPES; i++) {
		const struct type_handlers *type = &handlers->types[i];

		modes[i] = (struct type_mode){
			.type = names[i],
			.mode = handlers_mode(type),
			.reason = reason_for(handlers, i),
			.fault = name_or_null(&type->fault),
			.map_pages = name_or_null(&type->map_pages),
		};
	}
}
