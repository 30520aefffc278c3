/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events: a record for each fault and batch, where one was asked for. They
 * have a ring of their own, so that however many there are they take no room
 * from the snapshots, and what is counted stays exact when events are lost.
 */
#ifndef LAZYFAULT_EVENTS_BPF_H
#define LAZYFAULT_EVENTS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "faults.h"
#include "process.bpf.h"
#include "records.h"
#include "vmas.bpf.h"

/* Set by the loader. Where this is false the verifier takes all of it out. */
const volatile bool events;
const volatile __u32 event_ring_half;	/* bytes */

/* The ring's size is the loader's to choose; a page where there are no events. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} event_ring SEC(".maps");

/*
 * The event of each run that has left its handler, by the number of its slot,
 * FAULT_SLOTS long where there are events. It waits for its PTE to be written,
 * its outcome is OUTCOME_RACED until then. One that still waits when the next
 * comes, or at the end, has raced.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct event_record);
} event_slots SEC(".maps");

/* The reader was woken and has not come yet: once is enough. It clears this. */
__u32 events_woken;

/* The reader drains by a timer; it is woken only when half of the ring is full. */
static __always_inline __u64 event_wakeup(void)
{
	if (*(volatile __u32 *)&events_woken ||
	    bpf_ringbuf_query(&event_ring, BPF_RB_AVAIL_DATA) <= event_ring_half)
		return BPF_RB_NO_WAKEUP;
	*(volatile __u32 *)&events_woken = 1;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline void event_lost(void)
{
	count(&cpu_stats()->events_lost);
}

/* What faults and batches have in common: who, where and when. */
static __noinline int fill_event(struct event_record *event, struct vma_entry *entry, __u64 page)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct vma_identity *identity = &entry->record.identity;
	__u64 *from = (__u64 *)identity->map_name, *to = (__u64 *)event->map_name;

	event->header.type = RECORD_EVENT;
	event->time = bpf_ktime_get_ns();
	event->row = identity->id;
	event->page = page;
	event->pid = visible_tgid(task);
	event->tid = visible_tid(task);
	event->map_id = identity->map_id;
	event->map_type = identity->map_type;
	to[0] = from[0];
	to[1] = from[1];
	/* pads it with zeros (kernel/bpf/helpers.c) */
	bpf_get_current_comm(event->comm, COMM_BYTES);
	return 0;
}

/* Room for one that is sent at once; NULL, and counted, where there is none. */
static __always_inline struct event_record *reserve_event(void)
{
	struct event_record *event = bpf_ringbuf_reserve(&event_ring, sizeof(*event), 0);

	if (!event)
		event_lost();
	return event;
}

static __always_inline void send_event(struct event_record *event)
{
	bpf_ringbuf_submit(event, event_wakeup());
}

static __always_inline void send_copy(struct event_record *event)
{
	if (bpf_ringbuf_output(&event_ring, event, sizeof(*event), event_wakeup()))
		event_lost();
}

/* The run that was noted in this slot has its PTE written. False if none waits there. */
static __noinline bool send_noted_event(__u32 number, __u64 page)
{
	struct event_record *event = bpf_map_lookup_elem(&event_slots, &number);

	if (!event || event->outcome != OUTCOME_RACED || event->page != page)
		return false;
	event->outcome = OUTCOME_INSTALLED;
	event->pages = 1;
	send_copy(event);
	return true;
}

#endif
