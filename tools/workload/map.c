// SPDX-License-Identifier: GPL-2.0-or-later
/* Creates the BPF map that the workload maps, by bpf(2) itself. */
#include "workload.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Newer than the headers of the systems that this is built on. */
#define MAP_TYPE_ARENA 33
#define FLAG_SEGV_ON_FAULT (1U << 17)

static int sys_bpf(int command, union bpf_attr *attr, size_t size)
{
	return syscall(SYS_bpf, command, attr, size);
}

/*
 * Several processes can only share an arena at one address. Finds one that is
 * free here and does not cross a 4 GiB boundary, as the kernel demands.
 */
static unsigned char *find_arena_addr(uint64_t bytes)
{
	const uint64_t gib4 = 1ULL << 32;
	uint64_t start;
	void *room;

	room = mmap(NULL, bytes + gib4, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		die("no room for an arena of %llu bytes: %m", (unsigned long long)bytes);
	munmap(room, bytes + gib4);
	start = (uint64_t)(uintptr_t)room;
	if (start >> 32 != (start + bytes - 1) >> 32)
		start = (start + gib4 - 1) & ~(gib4 - 1);
	return (unsigned char *)(uintptr_t)start;
}

static void fill_geometry(const struct options *o, union bpf_attr *attr)
{
	uint64_t bytes = o->map_pages * page_bytes, stride;

	switch (o->kind) {
	case KIND_ARRAY:
		attr->map_type = BPF_MAP_TYPE_ARRAY;
		attr->map_flags = BPF_F_MMAPABLE;
		attr->key_size = sizeof(uint32_t);
		attr->value_size = o->value_bytes ? o->value_bytes : page_bytes;
		stride = (attr->value_size + 7ULL) & ~7ULL;
		attr->max_entries = (bytes + stride - 1) / stride;
		break;
	case KIND_ARENA:
		attr->map_type = MAP_TYPE_ARENA;
		attr->map_flags = BPF_F_MMAPABLE;
		if (o->segv_on_fault)
			attr->map_flags |= FLAG_SEGV_ON_FAULT;
		attr->max_entries = o->map_pages;
		break;
	case KIND_RINGBUF:
		attr->map_type = BPF_MAP_TYPE_RINGBUF;
		attr->max_entries = bytes;
		break;
	case KIND_USER_RINGBUF:
		attr->map_type = BPF_MAP_TYPE_USER_RINGBUF;
		attr->max_entries = bytes;
		break;
	}
}

static const char *create_hint(const struct options *o, int error)
{
	if (error == EPERM)
		return " (needs root, or CAP_BPF)";
	if (error == EINVAL && o->kind == KIND_ARENA)
		return " (arenas need Linux 6.9 or later)";
	if (error == EINVAL && o->kind == KIND_USER_RINGBUF)
		return " (user ring buffers need Linux 6.1 or later)";
	if (error == ENOMEM || error == E2BIG)
		return " (try fewer --map-pages)";
	return "";
}

static uint32_t map_id(int fd)
{
	struct bpf_map_info info;
	union bpf_attr attr;

	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uint64_t)(uintptr_t)&info;
	if (sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)))
		die("cannot ask for the id of the map: %m");
	return info.id;
}

static void map_pin(int fd, const char *path)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.pathname = (uint64_t)(uintptr_t)path;
	attr.bpf_fd = fd;
	if (sys_bpf(BPF_OBJ_PIN, &attr, sizeof(attr)))
		die("cannot pin the map at %s: %m (is it a new name on a mounted bpffs?)", path);
}

void map_create(const struct options *o, struct map *map)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	fill_geometry(o, &attr);
	memcpy(attr.map_name, o->name, sizeof(attr.map_name));
	map->fixed_addr = NULL;
	if (o->kind == KIND_ARENA && o->processes) {
		map->fixed_addr = find_arena_addr(o->pages * page_bytes);
		attr.map_extra = (uint64_t)(uintptr_t)map->fixed_addr;
		/* with an address, the kernel wants the VMA to be as long as the arena */
		attr.max_entries = o->pages;
	}
	map->fd = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	if (map->fd < 0)
		die("cannot create a map of type %s with %llu pages: %s%s", kind_name(o->kind),
		    (unsigned long long)o->map_pages, strerror(errno), create_hint(o, errno));
	map->id = map_id(map->fd);
	if (o->pin)
		map_pin(map->fd, o->pin);
}

void map_destroy(const struct options *o, struct map *map)
{
	close(map->fd);
	map->fd = -1;
	if (o->pin)
		unlink(o->pin);
}
