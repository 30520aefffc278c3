/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the page-table entries of a fault's window, by architecture: which of
 * them are present. For handlers of .map_pages whose work no hook sees.
 */
#ifndef LAZYFAULT_PTE_BPF_H
#define LAZYFAULT_PTE_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "faults.h"

#define PTES_AT_ONCE 16
#define PTE_PRESENT 1ULL	/* _PAGE_PRESENT; PTE_VALID on arm64 */

/*
 * Addresses of the kernel's variables that say where the direct mapping is,
 * found by the loader (src/tracer.c, direct_map_symbols); 0: not found.
 */
const volatile __u64 direct_map_at[2];

#if defined(__TARGET_ARCH_x86)
/* arch/x86/include/asm/page_64_types.h: page_offset_base is where it begins. */
static __always_inline bool table_of(__u64 pmd, __u64 *table)
{
	static __u64 base;	/* does not change after boot */

	if (!base && (!direct_map_at[0] ||
		      bpf_probe_read_kernel(&base, sizeof(base), (void *)direct_map_at[0])))
		return false;
	*table = base + (pmd & 0x000ffffffffff000ULL);
	return true;
}
#elif defined(__TARGET_ARCH_arm64)
/*
 * arch/arm64/include/asm/memory.h, __phys_to_virt(): memstart_addr is the first
 * physical address, and it is mapped at PAGE_OFFSET = -(1 << vabits_actual).
 */
static __always_inline bool table_of(__u64 pmd, __u64 *table)
{
	static __u64 start, bits;	/* do not change after boot */

	if (!bits && (!direct_map_at[0] || !direct_map_at[1] ||
		      bpf_probe_read_kernel(&start, sizeof(start), (void *)direct_map_at[0]) ||
		      bpf_probe_read_kernel(&bits, sizeof(bits), (void *)direct_map_at[1])))
		return false;
	*table = ((pmd & 0x0000fffffffff000ULL) - start) | -(1ULL << (bits & 63));
	return true;
}
#else
#error "lazyfault: teach table_of() this architecture"
#endif

/* The place of a page in a struct window. */
static __always_inline __u32 place_of(__u64 address, __u32 page_shift)
{
	return (address >> page_shift) & (WINDOW_PAGES - 1);
}

static __always_inline void set_place(struct window *window, __u32 place, __u64 bit)
{
	window->bits[(place >> 6) & (WINDOW_WORDS - 1)] |= bit << (place & 63);
}

struct pte_reader {
	__u64 table;		/* address of the first entry to read */
	__u32 count;		/* entries */
	__u32 place;		/* of the first one */
	struct window *window;
	bool failed;
};

static long read_some(__u32 round, void *context)
{
	struct pte_reader *reader = context;
	__u32 first = round * PTES_AT_ONCE;
	__u64 ptes[PTES_AT_ONCE] = {};

	if (first >= reader->count)
		return 1;
	/* whole chunks are read, within the table: a window ends where its table does */
	if (bpf_probe_read_kernel(ptes, sizeof(ptes), (void *)(reader->table + first * 8))) {
		reader->failed = true;
		return 1;
	}
#pragma unroll
	for (__u32 i = 0; i < PTES_AT_ONCE; i++)
		if (first + i < reader->count)
			set_place(reader->window, reader->place + first + i, ptes[i] & PTE_PRESENT);
	return 0;
}

/*
 * Which of `count` pages from `address` on are present, all of one page table:
 * pmd is the entry that points to it. False if that cannot be read.
 */
static __always_inline bool read_window(void *pmd_pointer, __u64 address, __u32 count,
					__u32 page_shift, struct window *window)
{
	struct pte_reader reader = {
		.count = count,
		.place = place_of(address, page_shift),
		.window = window,
	};
	__u64 pmd = 0, ptes_per_table = 1ULL << (page_shift - 3);

	for (int i = 0; i < WINDOW_WORDS; i++)
		window->bits[i] = 0;
	if (bpf_probe_read_kernel(&pmd, sizeof(pmd), pmd_pointer))
		return false;
	if (!pmd)
		return true;	/* no table yet: nothing is present */
	if (!table_of(pmd, &reader.table))
		return false;
	reader.table += ((address >> page_shift) & (ptes_per_table - 1)) * 8;
	bpf_loop((count + PTES_AT_ONCE - 1) / PTES_AT_ONCE, read_some, &reader, 0);
	return !reader.failed;
}

#endif
