/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Batches: how many pages each run of .map_pages installs. Where that handler
 * writes its PTEs by set_pte_range(), they are counted there, exactly; where it
 * does not, by the page table before and after the run.
 */
#ifndef LAZYFAULT_BATCHES_BPF_H
#define LAZYFAULT_BATCHES_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "account.bpf.h"
#include "pte.bpf.h"

/* Set by the loader: there is a .map_pages, or there may be. */
const volatile bool batches;

/* Set by the loader after its self-test: how the pages of batches are told. */
bool batches_by_hook;	/* set_pte_range() is seen to write them */
bool batches_by_table;	/* it is not, so by the page table */

/* The self-test's PTEs that .map_pages installed by set_pte_range(). */
__u64 selftest_batched;

struct batch_slot batch_slots[BATCH_SLOTS_COUNT];

/*
 * When each of WINDOW_PAGES pages of an address space was last claimed by a
 * run that found it installed. Two runs on one window at once both find it
 * filled at their exits, as does one beside a fault; the page is the first
 * one's. A page that was claimed before a run began is a page anew.
 */
struct claim_slot {
	__u64 mm;
	__u64 region;		/* address / bytes of WINDOW_PAGES pages */
	__u64 since;		/* ns; claims before that are another region's */
	__u64 claimed[WINDOW_PAGES];	/* ns */
};

/* CLAIM_SLOTS long where a kernel has a .map_pages. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct claim_slot);
} claim_slots SEC(".maps");

static __always_inline struct batch_slot *batch_slot_of(struct vm_fault *vmf)
{
	return place_in(batch_slots, vmf, BATCH_SLOTS_SHIFT, sizeof(struct batch_slot));
}

static __always_inline bool is_this_run(struct fault_slot *slot, struct vm_fault *vmf)
{
	return slot->vmf == (__u64)vmf && slot->address == vmf->address;
}

/* Pages of one folio, whose PTEs are written at once. */
struct page_run {
	__u64 address;
	__u32 entry;		/* index */
};

static long place_page(__u32 i, void *context)
{
	struct page_run *run = context;
	__u32 index = run->entry;
	struct vma_entry *entry = entry_at(index);

	if (!entry)
		return 1;
	account_place(entry, run->address + ((__u64)i << page_shift), 1);
	return 0;
}

static __always_inline void tell_batch(struct vma_entry *entry, struct vm_fault *vmf, __u32 pages,
				       __u64 elapsed)
{
	struct event_record *event = reserve_event();
	struct fault fault;

	if (!event)
		return;
	describe(&fault, vmf, elapsed, false);
	fill_fault_event(event, entry, &fault, vmf->pgoff, OUTCOME_INSTALLED);
	event->header.state = EVENT_BATCH;
	event->pages = pages;
	send_event(event);
}

/* A slot is taken anew whose batch was counted, but whose exit was not seen. */
static __always_inline void tell_overrun_batch(struct batch_slot *slot)
{
	if (events && slot->run.vmf && slot->installed)
		event_lost();
}

/* PTEs that .map_pages is writing, `pages` of them from `address` on. */
static __always_inline int batch_installed(struct vm_fault *vmf, struct vm_area_struct *vma,
					   __u32 pages, __u64 address)
{
	struct batch_slot *slot;
	struct vma_entry *entry;
	__u32 index = index_of(vma);
	struct page_run run = { .address = address, .entry = index };

	if (index >= ENTRY_NONE_ABOVE) {
		/* the run itself is counted as left out at the handler's exit */
		if (index == ENTRY_OWN) {
			count(&selftest_hits);
			count(&selftest_batched);
		}
		return 0;
	}
	if (!batches_by_hook)
		return 0;
	entry = entry_at(index);
	slot = batch_slot_of(vmf);
	if (!entry || entry->key != (__u64)vma)
		return 0;
	if (!is_this_run(&slot->run, vmf)) {
		/* its entry was missed, or is not hooked */
		tell_overrun_batch(slot);
		slot->run.vmf = (__u64)vmf;
		slot->run.address = vmf->address;
		slot->run.entry = index;
		slot->run.start = 0;
		slot->run.state = SLOT_MET_LATE;
		slot->installed = 0;
	}
	slot->mark = entry->mark;
	if (!slot->installed)
		count(&entry->record.counts.batches);
	slot->installed += pages;
	__sync_fetch_and_add(&entry->record.counts.batch_installed, pages);
	if (pages == 1)
		account_place(entry, address, 1);
	else
		bpf_loop(pages, place_page, &run, 0);
	return 0;
}

/* One more page of a run of which some were seen already. False if it is not that. */
static __always_inline bool next_installed(__u64 *ctx)
{
	struct vm_fault *vmf = (void *)ctx[0];
	struct batch_slot *slot = batch_slot_of(vmf);
	struct vma_entry *entry;

	if (ctx[3] != 1 || !is_this_run(&slot->run, vmf))
		return false;
	/* until a page was seen, no entry has that mark */
	entry = bpf_map_lookup_elem(&vma_entries, &slot->mark);
	if (!entry || entry->mark != slot->mark)
		return false;
	slot->installed++;
	count(&entry->record.counts.batch_installed);
	account_place(entry, ctx[4], in_a_register(1));
	return true;
}

static __always_inline __u64 window_start(struct vm_fault *vmf, __u64 first)
{
	return vmf->address - ((vmf->pgoff - first) << page_shift);
}

static __always_inline __u32 window_pages(__u64 first, __u64 last)
{
	__u64 pages = last - first + 1;

	return pages < WINDOW_PAGES ? pages : WINDOW_PAGES;
}

static __always_inline int pages_enter(struct vm_fault *vmf, __u64 first, __u64 last)
{
	struct batch_slot *slot;
	__u32 index = index_of(vmf->vma);
	__u64 now;

	if (index >= ENTRY_NONE_ABOVE)
		return 0;
	slot = batch_slot_of(vmf);
	now = bpf_ktime_get_ns();
	if (slot_is_taken(&slot->run, vmf, now))
		return 0;
	tell_overrun_batch(slot);
	slot->run.vmf = (__u64)vmf;
	slot->run.address = vmf->address;
	slot->run.entry = index;
	slot->run.start = now;
	slot->began = now;
	slot->mark = NO_MARK;
	slot->installed = 0;
	slot->run.state = SLOT_ENTERED;
	if (!batches_by_table)
		return 0;
	if (!read_window(vmf->pmd, window_start(vmf, first), window_pages(first, last), page_shift,
			 &slot->before))
		slot->run.vmf = 0;
	else if (timed)
		slot->run.start = bpf_ktime_get_ns();
	return 0;
}

static __always_inline __u32 claim_number(struct vm_area_struct *vma, __u64 address)
{
	struct mm_struct *mm = vma->vm_mm;
	__u64 region = address >> page_shift >> WINDOW_SHIFT;

	return (mix(mm) + region * 0x9e3779b97f4a7c15ULL) >> 54;	/* CLAIM_SLOTS */
}

static __always_inline void open_claims(__u32 number, __u64 mm, __u64 address)
{
	struct claim_slot *slot = bpf_map_lookup_elem(&claim_slots, &number);
	__u64 region = address >> page_shift >> WINDOW_SHIFT;

	if (!slot || (slot->mm == mm && slot->region == region))
		return;
	slot->since = bpf_ktime_get_ns();
	slot->mm = mm;
	slot->region = region;
}

/* Whether nobody has claimed the page at place since `began`; it is claimed then. */
static __always_inline bool claim(__u32 number, __u32 place, __u64 began, __u64 now)
{
	struct claim_slot *slot = bpf_map_lookup_elem(&claim_slots, &number);
	__u64 *claimed, last;

	if (!slot)
		return true;
	claimed = &slot->claimed[place & (WINDOW_PAGES - 1)];
	last = *(volatile __u64 *)claimed;
	if (last >= slot->since && last >= began)
		return false;
	return __sync_val_compare_and_swap(claimed, last, now) == last;
}

/* One run's window at its end, page by page. */
struct harvest {
	__u64 start;		/* address */
	__u64 began, now;	/* ns */
	__u32 place;		/* of the first page */
	__u32 claims;		/* number of the claim slot */
	__u32 entry;		/* index */
	__u32 pages;		/* found newly installed by this run */
	struct window fresh;	/* present now and not before */
};

static long harvest_page(__u32 i, void *context)
{
	struct harvest *harvest = context;
	__u32 place = (harvest->place + i) & (WINDOW_PAGES - 1);
	__u32 index = harvest->entry;
	struct vma_entry *entry;

	if (!(harvest->fresh.bits[place >> 6] & (1ULL << (place & 63))) ||
	    !claim(harvest->claims, place, harvest->began, harvest->now))
		return 0;
	entry = entry_at(index);
	if (!entry)
		return 1;
	account_place(entry, harvest->start + ((__u64)i << page_shift), 1);
	harvest->pages++;
	return 0;
}

/*
 * Pages that this run has installed, by the page table; also counts their
 * places. False if the table cannot be read.
 */
static __noinline bool newly_installed(struct vm_fault *vmf, struct batch_slot *slot,
				       __u64 first, __u64 last, __u32 *pages)
{
	struct harvest harvest = {
		.start = window_start(vmf, first),
		.began = slot->began,
		.entry = slot->run.entry,
	};
	__u32 count = window_pages(first, last);

	harvest.place = place_of(harvest.start, page_shift);
	harvest.claims = claim_number(vmf->vma, harvest.start);
	if (!read_window(vmf->pmd, harvest.start, count, page_shift, &harvest.fresh))
		return false;
	for (int i = 0; i < WINDOW_WORDS; i++)
		harvest.fresh.bits[i] &= ~slot->before.bits[i];
	open_claims(harvest.claims, (__u64)vmf->vma->vm_mm, harvest.start);
	/* after that, or this run's claims would pass for another region's */
	harvest.now = bpf_ktime_get_ns();
	bpf_loop(count, harvest_page, &harvest, 0);
	*pages = harvest.pages;
	return true;
}

static __always_inline int pages_exit(struct vm_fault *vmf, __u64 first, __u64 last, __u32 ret)
{
	__u64 now = bpf_ktime_get_ns(), elapsed = UNTIMED_EXIT_SEEN;
	struct batch_slot *slot = batch_slot_of(vmf);
	struct vm_area_struct *vma = vmf->vma;
	struct vma_counts *counts;
	struct vma_entry *entry;
	bool mine, told = true;
	__u32 index, pages = 0;

	mine = is_this_run(&slot->run, vmf);
	index = mine ? slot->run.entry : index_of(vma);
	entry = entry_or_count(vma, index);
	if (!entry)
		return 0;
	counts = &entry->record.counts;
	if (batches_by_hook) {
		pages = mine ? slot->installed : 0;
	} else if (mine) {
		told = newly_installed(vmf, slot, first, last, &pages);
		if (pages) {
			count(&counts->batches);
			__sync_fetch_and_add(&counts->batch_installed, pages);
		}
	} else {
		told = false;
	}
	if (!told)
		count(&cpu_stats()->batches_unseen);
	else if (!pages)
		count(&counts->batches_declined);
	else
		dist_add(&counts->batch_pages, BATCH_SLOTS, pages);
	if (timed && slot->run.state == SLOT_ENTERED)
		elapsed = now - slot->run.start;
	if (pages && elapsed != UNTIMED_EXIT_SEEN)
		dist_add(&counts->batch_ns, NS_SLOTS, elapsed);
	if (events && pages)
		tell_batch(entry, vmf, pages, elapsed);
	if (mine)
		slot->run.vmf = 0;
	return 0;
}

/* A batch beside this fault must not take its page for one of its own. */
static __always_inline void claim_fault(struct vm_fault *vmf, struct vm_area_struct *vma)
{
	__u32 number = claim_number(vma, vmf->address);
	__u64 now;

	open_claims(number, (__u64)vma->vm_mm, vmf->address);
	now = bpf_ktime_get_ns();
	claim(number, place_of(vmf->address, page_shift), now, now);
}

#endif
