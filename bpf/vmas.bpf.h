/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of VMAs: each one that the filters let pass has an entry with its
 * counts, from its mmap or first fault until it closes, when the entry goes to
 * the ring buffer.
 *
 * Every entry is cumulative. What the ring has no room for stays here and goes
 * with the next walk (walk.bpf.h).
 */
#ifndef LAZYFAULT_VMAS_BPF_H
#define LAZYFAULT_VMAS_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "records.h"
#include "faults.h"
#include "compat.bpf.h"
#include "hash.bpf.h"
#include "hist.bpf.h"
#include "process.bpf.h"

/* Set by the loader. */
const volatile __u32 max_entries;	/* of vma_entries */
const volatile __u32 bucket_mask;	/* buckets - 1, a power of two */
const volatile __u32 page_shift = 12;
const volatile __u32 ring_half;		/* bytes */

/* Events that no row has. */
struct fault_stats stats[STATS_CPUS];

/* Where an entry of the table stands. */
struct key_bucket {
	__u64 key[BUCKET_WAYS];		/* struct vm_area_struct *; 0: free */
	__u32 entry[BUCKET_WAYS];	/* index, or ENTRY_FILTERED */
};

/* Indexes that are none. */
#define ENTRY_UNKNOWN 0xfffffffb	/* the table does not have this VMA */
#define ENTRY_FILTERED 0xffffffff	/* the filters leave this VMA out */
#define ENTRY_NO_ROOM 0xfffffffe	/* the table is full */
#define ENTRY_OWN 0xfffffffd		/* the tracer's own mapping */
#define ENTRY_LATE 0xfffffffc		/* it came while the programs were taken off */
#define ENTRY_NONE_ABOVE 0xfffffff0

/*
 * Who takes an entry from LIVE to CLOSING ships it. CLOSED: it found the ring
 * full, and the next walk ships it.
 */
enum entry_use { ENTRY_FREE, ENTRY_LIVE, ENTRY_CLOSING, ENTRY_CLOSED };

struct vma_entry {
	struct vma_record record;
	__u64 key;		/* struct vm_area_struct * */
	__u64 live_key;		/* the same while the entry is LIVE, else 0 */
	__u64 mark;		/* ENTRY_MARK() while the entry is LIVE, else 0 */
	__u64 usual_most;	/* ns: fault_ns.max, if the table of logarithms has it */
	__u64 mm;
	__u64 map;
	__u64 shipped;		/* activity() when last shipped */
	__u32 bin_shift;	/* log2 of a bin's bytes */
	__u32 use;		/* enum entry_use */
	__u32 suspect;		/* walks that found its VMA detached */
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct key_bucket);
} vma_keys SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct vma_entry);
} vma_entries SEC(".maps");

/*
 * Where VMAs were found last, by the hash of their addresses: for most faults
 * there is nothing to be searched. What stands there may be of another VMA, or
 * of one that is gone; the entry's live_key tells.
 */
__u32 hints[1 << HINTS_SHIFT];

/* In the same way VMAs that the filters leave out: these have no entry. */
__u64 left_out[1 << LEFT_OUT_SHIFT];

/* VMAs that the walk took for gone, by the hash of their addresses: see close_entered(). */
__u64 closed_by_walk[1 << CLOSED_BY_WALK_SHIFT];

/* Last in, first out, so that used indexes stay low and walks short. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__uint(value_size, sizeof(__u32));
} free_entries SEC(".maps");

/* Only the first fault on a VMA mapped earlier races to make its entry. */
struct insert_lock {
	struct bpf_spin_lock lock;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, INSERT_LOCKS);
	__type(key, __u32);
	__type(value, struct insert_lock);
} insert_locks SEC(".maps");

/* Whose a new mm is: while fork copies VMAs the child has no PID yet. */
struct mm_owner {
	__u32 pid;
	char comm[COMM_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, struct mm_owner);
} forked_mms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

__u64 next_id = 1;
__u32 high_water;	/* entries at and above this index were never used */
__u64 selftest_hits;	/* PTEs seen installed in the tracer's own mappings */

static __always_inline struct fault_stats *cpu_stats(void)
{
	return &stats[bpf_get_smp_processor_id() & (STATS_CPUS - 1)];
}

static __always_inline void count(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

/* ---- the table: VMA -> entry ------------------------------------------ */

/* A VMA is at least 64-byte aligned. */
static __always_inline __u32 bucket_of(__u64 mixed)
{
	return (__u32)(mixed >> 32) & bucket_mask;
}

static __always_inline __u64 *closed_by_walk_at(__u64 mixed)
{
	return &closed_by_walk[mixed >> (64 - CLOSED_BY_WALK_SHIFT)];
}

/* The way of a bucket that holds vma, or -1. */
static __always_inline int way_of(struct key_bucket *bucket, __u64 vma)
{
#pragma unroll
	for (int way = 0; way < BUCKET_WAYS; way++)
		if (bucket->key[way] == vma)
			return way;
	return -1;
}

static __always_inline __u32 find_in_bucket(__u32 number, __u64 vma)
{
	struct key_bucket *bucket = bpf_map_lookup_elem(&vma_keys, &number);

	if (!bucket)
		return ENTRY_UNKNOWN;
#pragma unroll
	for (int way = 0; way < BUCKET_WAYS; way++)
		if (bucket->key[way] == vma)
			return bucket->entry[way];
	return ENTRY_UNKNOWN;
}

/* A VMA's index, or one of those that are none. */
__noinline __u32 find_index(__u64 vma)
{
	__u32 number = bucket_of(mix_number(vma));
	__u32 index = find_in_bucket(number, vma);

	return index == ENTRY_UNKNOWN ? find_in_bucket(number ^ 1, vma) : index;
}

static __always_inline bool claim_way(struct key_bucket *bucket, __u64 vma, __u32 index)
{
#pragma unroll
	for (int way = 0; way < BUCKET_WAYS; way++)
		if (!bucket->key[way]) {
			bucket->entry[way] = index;
			/* a full barrier: who sees the key sees the index */
			__sync_lock_test_and_set(&bucket->key[way], vma);
			return true;
		}
	return false;
}

static __always_inline struct vma_entry *entry_at(__u32 index)
{
	return bpf_map_lookup_elem(&vma_entries, &index);
}

static __always_inline __u32 *hint_of(void *vma)
{
	return place_in(hints, vma, HINTS_SHIFT, sizeof(*hints));
}

static __always_inline __u64 *left_out_of(void *vma)
{
	return place_in(left_out, vma, LEFT_OUT_SHIFT, sizeof(*left_out));
}

/*
 * The entry of a VMA; NULL if it has none, or must be searched. The hint is
 * itself the key of the look-up, so that it need not be copied.
 */
static __always_inline struct vma_entry *hinted_entry(struct vm_area_struct *vma)
{
	__u64 key = (__u64)vma;
	struct vma_entry *entry = bpf_map_lookup_elem(&vma_entries, hint_of(vma));

	return entry && entry->live_key == key ? entry : NULL;
}

/* True only if the filters leave the VMA out. */
static __always_inline bool is_left_out(struct vm_area_struct *vma)
{
	return *left_out_of(vma) == (__u64)vma;
}

enum insert_result { INSERTED, EXISTED, NO_ROOM };

__noinline int insert_key(__u64 vma, __u32 index)
{
	__u32 first = bucket_of(mix_number(vma)), second = first ^ 1;
	__u32 lock = (first >> 1) & (INSERT_LOCKS - 1);
	struct insert_lock *guard = bpf_map_lookup_elem(&insert_locks, &lock);
	struct key_bucket *a = bpf_map_lookup_elem(&vma_keys, &first);
	struct key_bucket *b = bpf_map_lookup_elem(&vma_keys, &second);
	int result = NO_ROOM;

	if (!guard || !a || !b)
		return NO_ROOM;
	bpf_spin_lock(&guard->lock);
	if (way_of(a, vma) >= 0 || way_of(b, vma) >= 0)
		result = EXISTED;
	else if (claim_way(a, vma, index) || claim_way(b, vma, index))
		result = INSERTED;
	bpf_spin_unlock(&guard->lock);
	return result;
}

static __always_inline bool remove_from_bucket(__u32 number, __u64 vma, __u32 index)
{
	struct key_bucket *bucket = bpf_map_lookup_elem(&vma_keys, &number);

	if (!bucket)
		return false;
#pragma unroll
	for (int way = 0; way < BUCKET_WAYS; way++)
		if (bucket->key[way] == vma && bucket->entry[way] == index) {
			__sync_lock_test_and_set(&bucket->key[way], 0);
			return true;
		}
	return false;
}

__noinline int remove_key(__u64 vma, __u32 index)
{
	__u32 number = bucket_of(mix_number(vma));

	return remove_from_bucket(number, vma, index) ||
	       remove_from_bucket(number ^ 1, vma, index);
}

/* ---- entries: made, retired, shipped ---------------------------------- */

static __always_inline void fill_place(struct vma_entry *entry, struct vm_area_struct *vma)
{
	struct vma_identity *identity = &entry->record.identity;
	__u64 start = BPF_CORE_READ(vma, vm_start), end = BPF_CORE_READ(vma, vm_end);
	__u64 pages = (end - start) >> page_shift;
	/* bins are a power of two wide, so that a fault need not divide */
	__u32 shift = log2_slot((pages - 1) / WHERE_BINS);

	identity->start = start;
	identity->end = end;
	identity->map_offset_pages = BPF_CORE_READ(vma, vm_pgoff);
	identity->where_start = start;
	identity->where_shift = shift;
	entry->bin_shift = shift + page_shift;
}

static __always_inline void fill_map(struct vma_entry *entry, struct bpf_map *map)
{
	entry->record.identity.map_id = BPF_CORE_READ(map, id);
	entry->record.identity.map_type = BPF_CORE_READ(map, map_type);
	bpf_probe_read_kernel_str(entry->record.identity.map_name, MAP_NAME_BYTES, &map->name);
}

static __always_inline void fill_owner(struct vma_entry *entry, struct task_struct *task)
{
	struct task_struct *leader = task->group_leader;

	entry->record.identity.pid = visible_tgid(task);
	bpf_probe_read_kernel_str(entry->record.identity.comm, COMM_BYTES, &leader->comm);
}

/* Copied in one call: the verifier would follow a loop over the words at each place that calls. */
static const volatile struct vma_record empty_record = {
	.header = { .type = RECORD_VMA, .state = VMA_MAPPED },
	.counts = {
		.fault_ns.min = ~0ULL,
		.batch_ns.min = ~0ULL,
		.batch_pages.min = ~0ULL,
	},
};

/*
 * Set by the loader before it takes the programs off, one by one: of a VMA that
 * comes then some would see less than of others, and its row would be wrong.
 */
bool ending;

bool table_was_full;	/* entries or their keys: so VMAs without an entry may have lost faults */

static __always_inline bool take_free_index(__u32 *index)
{
	if (!bpf_map_pop_elem(&free_entries, index))
		return true;
	if (high_water < max_entries) {
		*index = __sync_fetch_and_add(&high_water, 1);
		if (*index < max_entries)
			return true;
	}
	table_was_full = true;
	return false;
}

static __always_inline void give_back(struct vma_entry *entry, __u32 index)
{
	entry->use = ENTRY_FREE;
	bpf_map_push_elem(&free_entries, &index, BPF_ANY);
}

/*
 * Makes the entry of a VMA that passed the filters. Its owner is the running
 * task, or not known yet while fork copies the VMA.
 */
__noinline __u32 make_entry(__u64 key, __u32 flags, __u64 mmap_ns)
{
	struct vm_area_struct *vma = (void *)key;
	struct vma_entry *entry;
	__u32 index = 0;
	int result;

	if (ending)
		return ENTRY_LATE;
	if (!take_free_index(&index))
		return ENTRY_NO_ROOM;
	entry = entry_at(index);
	if (!entry)
		return ENTRY_NO_ROOM;

	bpf_probe_read_kernel(&entry->record, sizeof(entry->record), (void *)&empty_record);
	fill_place(entry, vma);
	fill_map(entry, map_of_vma(vma));
	if (!(flags & VMA_FORKED))
		fill_owner(entry, bpf_get_current_task_btf());
	entry->record.identity.flags = flags;
	entry->record.identity.mmap_ns = mmap_ns;
	entry->record.identity.id = __sync_fetch_and_add(&next_id, 1);
	entry->mm = (__u64)BPF_CORE_READ(vma, vm_mm);
	entry->map = (__u64)map_of_vma(vma);
	entry->key = key;
	entry->shipped = 0;
	entry->usual_most = 0;
	entry->suspect = 0;

	result = insert_key(key, index);
	if (result == INSERTED) {
		entry->use = ENTRY_LIVE;
		entry->mark = ENTRY_MARK(entry->record.identity.id, index);
		/* a full barrier: who sees the key sees the mark */
		__sync_lock_test_and_set(&entry->live_key, key);
		return index;
	}
	give_back(entry, index);
	if (result == NO_ROOM)
		table_was_full = true;
	else
		index = find_index(key);
	return result == EXISTED && index != ENTRY_UNKNOWN ? index : ENTRY_NO_ROOM;
}

/* A process that fork made had no PID yet when its VMAs were copied. */
static __always_inline void name_forked(struct vma_entry *entry)
{
	struct mm_owner *owner;

	if (entry->record.identity.pid)
		return;
	owner = bpf_map_lookup_elem(&forked_mms, &entry->mm);
	if (!owner)
		return;
	entry->record.identity.pid = owner->pid;
	__builtin_memcpy(entry->record.identity.comm, owner->comm, COMM_BYTES);
}

/* Wakes the reader only when the ring is half full; it drains by a timer. */
static __always_inline __u64 wakeup_flag(void)
{
	return bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) > ring_half ?
		BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* Of the VMAs that were shipped for good. */
__u64 gone_faults, gone_pages;

/* Not static: so the verifier goes through its loop once, and not at each call. */
__noinline __u64 faults_of(struct vma_counts *counts)
{
	__u64 *cells, sum = 0;

	if (!counts)
		return 0;
	cells = &counts->cells[0][0][0];
	for (int i = 0; i < ACCESSES * ORIGINS * LOCKS; i++)
		sum += cells[i];
	return sum;
}

static __always_inline void add_counts(struct vma_counts *counts, __u64 *faults, __u64 *pages)
{
	__u64 sum = faults_of(counts);

	__sync_fetch_and_add(faults, sum);
	__sync_fetch_and_add(pages, sum - counts->failed + counts->batch_installed);
}

static __always_inline bool begin_closing(struct vma_entry *entry)
{
	return __sync_val_compare_and_swap(&entry->use, ENTRY_LIVE, ENTRY_CLOSING) == ENTRY_LIVE;
}

static __always_inline bool ship_closed(struct vma_entry *entry, __u32 index, __u64 flags)
{
	entry->record.header.state = VMA_UNMAPPED;
	if (bpf_ringbuf_output(&records, &entry->record, sizeof(entry->record), flags)) {
		entry->use = ENTRY_CLOSED;
		return false;
	}
	add_counts(&entry->record.counts, &gone_faults, &gone_pages);
	give_back(entry, index);
	return true;
}

static __always_inline void refresh_place(struct vma_entry *entry, struct vm_area_struct *vma)
{
	entry->record.identity.start = BPF_CORE_READ(vma, vm_start);
	entry->record.identity.end = BPF_CORE_READ(vma, vm_end);
	entry->record.identity.map_offset_pages = BPF_CORE_READ(vma, vm_pgoff);
}

__noinline int end_entry(__u64 vma, bool closes)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 *by_walk = closed_by_walk_at(mix_number(vma));
	__u32 index = find_index(vma);
	struct vma_entry *entry;

	if (*by_walk == vma)
		*by_walk = 0;
	if (index == ENTRY_UNKNOWN)
		return 0;
	remove_key(vma, index);
	entry = entry_at(index);
	if (!entry || entry->key != vma || !begin_closing(entry))
		return 0;
	name_forked(entry);
	if (closes) {
		/* a split moves the ends of a VMA without a word to its handlers */
		refresh_place(entry, (void *)vma);
		if (!entry->record.identity.pid &&
		    ((__u64)task->mm == entry->mm || (__u64)task->active_mm == entry->mm))
			fill_owner(entry, task);
	}
	entry->key = 0;
	entry->live_key = 0;
	entry->mark = 0;
	ship_closed(entry, index, wakeup_flag());
	return 0;
}

/*
 * Takes a VMA out of the table. No fault is under way on it: its mm is locked
 * for writing, or gone. `closes`: it is this VMA that closes; else its close
 * was missed, and the same address is another VMA by now.
 */
static __always_inline int retire(struct vm_area_struct *vma, bool closes)
{
	if (is_left_out(vma))
		*left_out_of(vma) = 0;
	return end_entry(number_of(vma), closes);
}

/* ---- a VMA that is not in the table ------------------------------------ */

/* Whose mapping it is: mm->owner exists only with CONFIG_MEMCG. */
static __always_inline bool remote_owner_passes(struct vm_area_struct *vma)
{
	struct task_struct *owner;

	if (!filters.by_tgid && !filters.by_cgroup)
		return true;
	if (filters.by_cgroup || !bpf_core_field_exists(vma->vm_mm->owner))
		return false;
	owner = vma->vm_mm->owner;
	return owner && tgid_passes(owner);
}

/* Decides on a VMA that the table does not have, and remembers the decision. */
static __noinline __u32 consider(struct vm_area_struct *vma)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool own = task->mm == vma->vm_mm, passes;

	if (is_own(task))
		return ENTRY_OWN;
	passes = own ? tgid_passes(task) : remote_owner_passes(vma);
	if (passes && map_passes(map_of_vma(vma)))
		return make_entry(number_of(vma), own ? 0 : VMA_FORKED, 0);
	/* a task can move into the cgroup later; all else stays as it is */
	if (own && !filters.by_cgroup)
		insert_key(number_of(vma), ENTRY_FILTERED);
	return ENTRY_FILTERED;
}

/* Searches the table, and notes what it finds for the next time. */
static __noinline __u32 search(struct vm_area_struct *vma)
{
	__u32 index = find_index(number_of(vma));

	if (index == ENTRY_UNKNOWN)
		return consider(vma);
	if (index == ENTRY_FILTERED)
		*left_out_of(vma) = (__u64)vma;
	else if (index < ENTRY_NONE_ABOVE)
		*hint_of(vma) = index;
	return index;
}

static __always_inline __u32 index_of(struct vm_area_struct *vma)
{
	struct vma_entry *entry = hinted_entry(vma);

	if (entry)
		return entry->mark;	/* the lower half */
	return filters.any && is_left_out(vma) ? ENTRY_FILTERED : search(vma);
}

/* The entry at index if it is this VMA's; else the event is counted as what it is. */
static __always_inline struct vma_entry *entry_or_count(struct vm_area_struct *vma, __u32 index)
{
	struct vma_entry *entry = entry_at(index);

	if (entry && entry->key == (__u64)vma)
		return entry;
	if (index == ENTRY_OWN)
		count(&selftest_hits);
	else if (index == ENTRY_FILTERED)
		count(&cpu_stats()->filtered);
	else if (index != ENTRY_LATE)
		count(&cpu_stats()->table_full);
	return NULL;
}

#endif
