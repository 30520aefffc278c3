// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes the VMAs of the workload and changes them: populate, drop PTEs, split,
 * move, unmap. Keeps for each what it can know about the faults in it.
 */
#include "workload.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

struct vma *vma_set_add(struct vma_set *set)
{
	struct vma *more;

	if (set->nr == set->capacity) {
		set->capacity = set->capacity ? 2 * set->capacity : 4;
		more = realloc(set->vma, set->capacity * sizeof(*more));
		if (!more)
			die("out of memory");
		set->vma = more;
	}
	memset(&set->vma[set->nr], 0, sizeof(set->vma[0]));
	return &set->vma[set->nr++];
}

void vma_set_free(struct vma_set *set)
{
	size_t i;

	for (i = 0; i < set->nr; i++) {
		free(set->vma[i].page);
		free(set->vma[i].observed);
	}
	free(set->vma);
	memset(set, 0, sizeof(*set));
}

static int mmap_protection(const struct options *o)
{
	bool ring = o->kind == KIND_RINGBUF || o->kind == KIND_USER_RINGBUF;
	bool writes = o->access != PLAN_READ && o->access != PLAN_NONE;

	if (o->protection == PROTECTION_READ)
		return PROT_READ;
	/* Ring buffers are writable in parts only, so ask for it only where it is needed. */
	if (o->protection == PROTECTION_DEFAULT && ring && !writes)
		return PROT_READ;
	return PROT_READ | PROT_WRITE;
}

static unsigned char *map_pages(const struct options *o, const struct map *map, uint64_t pgoff)
{
	int flags = MAP_SHARED;
	void *addr;

	if (o->populate)
		flags |= MAP_POPULATE;
	if (map->fixed_addr)
		flags |= MAP_FIXED_NOREPLACE;
	addr = mmap(map->fixed_addr, o->pages * page_bytes, mmap_protection(o), flags, map->fd,
		    pgoff * page_bytes);
	if (addr == MAP_FAILED)
		die("cannot map %llu pages at page %llu of a map of type %s: %m",
		    (unsigned long long)o->pages, (unsigned long long)pgoff, kind_name(o->kind));
	return addr;
}

/*
 * How this kernel maps: PTEs that are there at once without MAP_POPULATE, or
 * with it and without a fault, were put there by mmap() itself.
 */
static enum vma_mode find_mode(const struct options *o, const struct vma *v)
{
	if (o->populate)
		return v->min_flt ? MODE_LAZY : MODE_EAGER;
	if (v->present_before == v->pages)
		return MODE_EAGER;
	return v->present_before ? MODE_UNKNOWN : MODE_LAZY;
}

static uint8_t *new_pages(uint64_t pages)
{
	uint8_t *page = calloc(pages, sizeof(*page));

	if (!page)
		die("out of memory");
	return page;
}

void vma_map(const struct options *o, struct map *map, struct vma_set *set, uint64_t index)
{
	struct vma *v = vma_set_add(set);
	uint64_t begin, faults;

	v->role = "mapped";
	v->index = index;
	v->pages = o->pages;
	v->offset = o->offset + index * o->vma_stride;
	v->page = new_pages(v->pages);
	prefault_stack();
	begin = now_ns();
	faults = thread_min_flt();
	v->addr = map_pages(o, map, v->offset);
	v->min_flt = thread_min_flt() - faults;
	v->mmap_ns = now_ns() - begin;
	v->present_before = pagemap_present(v->addr, v->pages, v->page);
	v->mode = find_mode(o, v);
	/* An arena keeps the address of its first mapping for good. */
	if (o->kind == KIND_ARENA)
		map->fixed_addr = v->addr;
	if (v->mode == MODE_EAGER) {
		v->inherited = v->present_before;
	} else if (o->populate) {
		v->expect.read = v->expect.by_origin[ORIGIN_POPULATE] = v->pages;
		v->origins |= 1U << ORIGIN_POPULATE;
		memset(v->page, PAGE_PRESENT, v->pages);
	}
}

/* madvise(MADV_POPULATE_*): a fault from the kernel for each page that is not there. */
/* Has the kernel install all pages. */
static void install(const struct options *o, const struct vma *v)
{
	bool writes = o->advice == ADVICE_POPULATE_WRITE;

	if (o->advice == ADVICE_MLOCK) {
		if (mlock(v->addr, v->pages * page_bytes))
			die("mlock: %m");
	} else if (madvise(v->addr, v->pages * page_bytes,
			   writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ)) {
		die("madvise(MADV_POPULATE_%s): %m (needs Linux 5.14 and a mapping that allows it)",
		    writes ? "WRITE" : "READ");
	}
}

/* mlock() of a shared mapping reads (mm/gup.c, populate_vma_page_range()). */
void vma_populate(const struct options *o, struct vma *v)
{
	enum origin origin = o->advice == ADVICE_MLOCK ? ORIGIN_KERNEL : ORIGIN_POPULATE;
	bool writes = o->advice == ADVICE_POPULATE_WRITE;
	uint64_t missing = 0, faults, i;

	prefault_stack();
	faults = thread_min_flt();
	install(o, v);
	v->min_flt += thread_min_flt() - faults;
	for (i = 0; i < v->pages; i++) {
		missing += !(v->page[i] & PAGE_PRESENT);
		v->page[i] |= PAGE_PRESENT;
	}
	v->expect.by_origin[origin] += missing;
	*(writes ? &v->expect.write : &v->expect.read) += missing;
	v->origins |= 1U << origin;
}

void vma_drop_ptes(struct vma *v)
{
	uint64_t i;

	v->dropped += pagemap_present(v->addr, v->pages, NULL);
	if (madvise(v->addr, v->pages * page_bytes, MADV_DONTNEED))
		die("madvise(MADV_DONTNEED): %m");
	for (i = 0; i < v->pages; i++)
		v->page[i] &= ~PAGE_PRESENT;
	/* No handler ever brings back what an eager mmap() had installed. */
	v->bare = v->mode == MODE_EAGER;
}

/* A VMA that the kernel made out of another, with some of its PTEs. */
static void vma_derive(const struct vma *from, struct vma *to, const char *role,
		       uint64_t first, uint64_t pages)
{
	uint64_t skip = first - from->first;

	to->role = role;
	to->index = from->index;
	to->mode = from->mode;
	to->bare = from->bare;
	to->raced = from->raced;
	to->read_only = from->read_only;
	to->first = first;
	to->pages = pages;
	to->offset = from->offset + skip;
	to->addr = from->addr + skip * page_bytes;
	to->page = new_pages(pages);
	memcpy(to->page, from->page + skip, pages);
	to->present_before = pagemap_present(to->addr, pages, NULL);
	to->inherited = to->present_before;
}

/* The counts of a VMA go on in the one that the kernel kept for it. */
static void vma_continue(const struct vma *from, struct vma *to, uint64_t present)
{
	to->expect = from->expect;
	to->origins = from->origins;
	to->dropped = from->dropped;
	to->min_flt = from->min_flt;
	to->min_flt_noise = from->min_flt_noise;
	to->failed_touches = from->failed_touches;
	to->expect_failed_touches = from->expect_failed_touches;
	to->mmap_ns = from->mmap_ns;
	to->touch_ns = from->touch_ns;
	to->touched_read = from->touched_read;
	to->touched_write = from->touched_write;
	/* so that installed = present + dropped - inherited goes on, too */
	to->inherited -= (int64_t)present - from->inherited;
}

static void forget_touches(struct vma *v)
{
	uint64_t i;

	for (i = 0; i < v->pages; i++)
		v->page[i] &= PAGE_PRESENT;
}

/*
 * mprotect() or munmap() of the middle half. The kernel splits off what lies
 * below, then what lies above; its VMA of before is the middle at last.
 */
void vma_split(const struct options *o, struct vma_set *set, size_t at)
{
	struct vma whole = set->vma[at], *lower, *middle, *upper;
	uint64_t side = whole.pages / 4 ? whole.pages / 4 : 1, inner = whole.pages - 2 * side;
	uint64_t present = pagemap_present(whole.addr, whole.pages, NULL);
	unsigned char *start = whole.addr + side * page_bytes;
	bool unmap = o->split == SPLIT_MUNMAP;

	vma_set_add(set);
	vma_set_add(set);
	middle = &set->vma[at];
	lower = &set->vma[set->nr - 2];
	upper = &set->vma[set->nr - 1];
	memset(middle, 0, sizeof(*middle));
	vma_derive(&whole, lower, "split-lower", whole.first, side);
	vma_derive(&whole, middle, "split-middle", whole.first + side, inner);
	vma_derive(&whole, upper, "split-upper", whole.first + side + inner, side);
	vma_continue(&whole, middle, present);
	forget_touches(lower);
	forget_touches(upper);
	middle->present_after = middle->present_before;
	if (unmap ? munmap(start, inner * page_bytes) :
		    mprotect(start, inner * page_bytes, PROT_READ)) {
		report_refusal(unmap ? "munmap" : "mprotect");
		free(lower->page);
		free(middle->page);
		free(upper->page);
		set->vma[at] = whole;
		set->nr -= 2;
		return;
	}
	middle->gone = unmap;
	middle->read_only = true;
	free(whole.page);
	free(whole.observed);
}

/* mremap() to another place: the kernel makes a new VMA there and closes the old one. */
void vma_move(struct vma_set *set, size_t at)
{
	uint64_t bytes = set->vma[at].pages * page_bytes;
	struct vma *from, *to;
	void *room;

	room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		die("no room to move a VMA to: %m");
	to = vma_set_add(set);
	from = &set->vma[at];
	vma_derive(from, to, "moved", from->first, from->pages);
	forget_touches(to);
	from->present_after = pagemap_present(from->addr, from->pages, NULL);
	if (mremap(from->addr, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, room) == MAP_FAILED) {
		report_refusal("mremap");
		free(to->page);
		set->nr--;
		/* Refused late, the call has unmapped what was there already. */
		munmap(room, bytes);
		return;
	}
	to->addr = room;
	from->gone = true;
}

/* In a forked child: the copy of the parent's VMA, with the PTEs that fork copied. */
void vma_inherit(struct vma *v)
{
	struct vma parent = *v;

	memset(v, 0, sizeof(*v));
	vma_derive(&parent, v, "forked", parent.first, parent.pages);
	v->present_before = pagemap_present(v->addr, v->pages, v->page);
	v->inherited = v->present_before;
	free(parent.page);
	free(parent.observed);
}

void vma_unmap(struct vma *v)
{
	if (!v->gone && munmap(v->addr, v->pages * page_bytes))
		die("munmap: %m");
	v->gone = true;
}
