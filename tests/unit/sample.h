/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs and VMAs as tracing reports them, for the tests of sinks and verdict. */
#ifndef LAZYFAULT_TEST_SAMPLE_H
#define LAZYFAULT_TEST_SAMPLE_H

#include <string.h>

#include "model.h"

/* A kernel of mode `array` for array maps, with arenas lazy. */
static inline struct run_start sample_start(enum map_mode array)
{
	struct run_start start = {
		.version = "0.1.0",
		.kernel = "7.3.4+deb14-cloud-amd64",
		.arch = "x86_64",
		.exact = true,
		.timed = true,
		.page_bytes = 4096,
		.fault_around_bytes = 65536,
		.time = { 1796036580, 123456789 },	/* 2026-11-30T11:03:00Z */
		.types = {
			{ .type = "array", .mode = array },
			{ .type = "arena", .mode = MODE_LAZY, .fault = "arena_vm_fault" },
			{ .type = "ringbuf", .mode = MODE_EAGER },
		},
		.scope = "pid 4711",
		.filtered = true,
		.stop_hint = "Hit Ctrl-C to end.",
	};

	if (array == MODE_LAZY || array == MODE_LAZY_AROUND)
		start.types[0].fault = "bpf_map_mmap_fault";
	if (array == MODE_LAZY_AROUND)
		start.types[0].map_pages = "bpf_map_mmap_pages";
	return start;
}

/* A read of page 2 of the map, and what it brought. */
static inline struct event_report sample_event(void)
{
	return (struct event_report) {
		.time = { 1796036581, 123456789 },
		.pid = 4711,
		.tid = 4712,
		.comm = "worker",
		.map = { 7, "counters", "array" },
		.row = 3,
		.map_offset_pages = 2,
		.origin = "user",
		.installed_pages = 1,
		.timed = true,
		.ns = 1500,
		.outcome = "installed",
	};
}

/* A mapping of `pages` that nothing has touched. */
static inline struct vma_report sample_vma(uint64_t pages)
{
	struct vma_report vma = {
		.span = SPAN_TOTAL,
		.mapped = true,
		.row = 1,
		.pid = 4711,
		.comm = "postgres",
		.map = { 7, "counters", "array" },
		.start = 0x7f0000000000,
		.end = 0x7f0000000000 + pages * 4096,
		.pages = pages,
		.mmap = { .seen = true, .ns = 1204 },
		.raced_known = true,
		.where = { .pages_per_bin = 1 },
	};

	while (vma.where.pages_per_bin * MODEL_WHERE_BINS < pages)
		vma.where.pages_per_bin *= 2;
	vma.where.count = (unsigned int)((pages + vma.where.pages_per_bin - 1) /
					 vma.where.pages_per_bin);
	vma.fault_ns.open_slot = vma.batch_ns.open_slot = 47;
	vma.batch_pages.open_slot = 15;
	return vma;
}

static inline void sample_install(struct vma_report *vma, uint64_t first, uint64_t count)
{
	vma->installed_pages += count;
	for (uint64_t page = first; page < first + count; page++)
		vma->where.pages[page / vma->where.pages_per_bin]++;
}

/* User faults on `count` pages from `first` on, of `ns` each. */
static inline void sample_touch(struct vma_report *vma, uint64_t first, uint64_t count, bool write,
				uint64_t ns)
{
	struct fault_counts *faults = &vma->faults;

	faults->total += count;
	*(write ? &faults->write : &faults->read) += count;
	faults->user += count;
	faults->user_write += write ? count : 0;
	faults->under_mmap_lock += count;
	for (uint64_t i = 0; i < count; i++)
		dist_add(&vma->fault_ns, ns);
	sample_install(vma, first, count);
}

/* Batches of `size` pages each from `first` on, `count` of them, of `ns` each. */
static inline void sample_batch(struct vma_report *vma, uint64_t first, uint64_t count,
				uint64_t size, uint64_t ns)
{
	vma->batches.total += count;
	vma->batches.pages += count * size;
	for (uint64_t i = 0; i < count; i++) {
		dist_add(&vma->batch_ns, ns);
		dist_add(&vma->batch_pages, size);
	}
	sample_install(vma, first, count * size);
}

#endif
