// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the faults of each VMA that maps a BPF map, where they happen.
 *
 * Exact counting rests on set_pte_range(): it runs under the page-table lock
 * with preemption off, so no run of the program there is ever skipped, while
 * a program on a handler is skipped when a preempted task holds it on that
 * CPU. The handler's entry and exit give the time; a thread hands it over in
 * a slot found by its struct vm_fault, which lives on its own stack.
 *
 * Every entry is cumulative; `ship` copies entries to the ring buffer. What
 * the ring has no room for stays here and goes with the next call.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "records.h"
#include "compat.bpf.h"
#include "hist.bpf.h"
#include "pte.bpf.h"
#include "faults.h"

/* The return bits of a handler (include/linux/mm_types.h, enum vm_fault_reason). */
#define VM_FAULT_ERROR 0x000873
#define VM_FAULT_NOPAGE 0x000100
#define VM_FAULT_RETRY 0x000400

/* Set by the loader. */
const volatile __u64 array_vm_ops;	/* of a lazy mapping; 0: there is none */
const volatile __u64 arena_vm_ops;
const volatile bool exact = true;	/* set_pte_range is hooked */
const volatile bool timed = true;	/* the handlers are hooked */
const volatile bool by_tgid;		/* only what traced_tgids names */
const volatile bool by_descent;		/* children of the traced join them */
const volatile bool by_cgroup;
const volatile bool by_map;
const volatile __u32 own_tgid;		/* the tracer, in the initial PID namespace */
const volatile __u32 pid_ns_level;	/* the tracer's PID namespace */
const volatile __u32 max_entries;	/* of vma_entries */
const volatile __u32 bucket_mask;	/* buckets - 1, a power of two */
const volatile __u32 page_shift = 12;
const volatile __u32 ring_half;		/* bytes */

struct fault_stats stats[STATS_CPUS];

/* Where an entry of the table stands. */
struct key_bucket {
	__u64 key[BUCKET_WAYS];		/* struct vm_area_struct *; 0: free */
	__u32 entry[BUCKET_WAYS];	/* index, or ENTRY_FILTERED */
};

/* Indexes that are none. */
#define ENTRY_FILTERED 0xffffffff	/* the filters leave this VMA out */
#define ENTRY_NO_ROOM 0xfffffffe	/* the table is full */
#define ENTRY_OWN 0xfffffffd		/* the tracer's own mapping */
#define ENTRY_NONE_ABOVE 0xfffffff0

/*
 * Who takes an entry from LIVE to CLOSING ships it. CLOSED: it found the ring
 * full, and the next walk ships it.
 */
enum entry_use { ENTRY_FREE, ENTRY_LIVE, ENTRY_CLOSING, ENTRY_CLOSED };

struct vma_entry {
	struct vma_record record;
	__u64 key;		/* struct vm_area_struct * */
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

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, FAULT_SLOTS);
	__type(key, __u32);
	__type(value, struct fault_slot);
} fault_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BATCH_SLOTS_COUNT);
	__type(key, __u32);
	__type(value, struct batch_slot);
} batch_slots SEC(".maps");

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

/* What a program on a handler tells those that come after it. */
struct mmap_slot {
	__u64 vma;
	__u64 start;
	__u64 done;		/* the VMA that the first of two twins has seen to */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MMAP_SLOTS);
	__type(key, __u32);
	__type(value, struct mmap_slot);
} mmap_slots SEC(".maps");

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
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, __u8);
} traced_tgids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u8);
} traced_maps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} traced_cgroup SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

__u64 next_id = 1;
__u32 high_water;	/* entries at and above this index were never used */
__u64 selftest_hits;	/* PTEs seen installed in the tracer's own mappings */
__u64 selftest_batched;	/* of these, PTEs that .map_pages installed by set_pte_range() */
/* Set by the loader after its self-test: how the pages of batches are told. */
bool batches_by_hook;	/* set_pte_range() is seen to write them */
bool batches_by_table;	/* it is not, so by the page table */

static __always_inline struct fault_stats *cpu_stats(void)
{
	return &stats[bpf_get_smp_processor_id() & (STATS_CPUS - 1)];
}

static __always_inline void count(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

/* ---- who and what is traced ------------------------------------------- */

/* The tgid as the tracer's PID namespace numbers it; 0: not visible there. */
static __always_inline __u32 visible_tgid(struct task_struct *task)
{
	struct upid *upid;
	struct pid *pid;

	if (!pid_ns_level)
		return task->tgid;
	pid = BPF_CORE_READ(task, group_leader, thread_pid);
	if (!pid || BPF_CORE_READ(pid, level) < pid_ns_level)
		return 0;
	upid = (void *)__builtin_preserve_access_index(&pid->numbers[0]);
	upid += pid_ns_level;
	return BPF_CORE_READ(upid, nr);
}

/* The tracer's own .bss, .data and .rodata are mmapable arrays, too. */
static __always_inline bool is_own(struct task_struct *task)
{
	return (__u32)task->tgid == own_tgid;
}

static __always_inline bool tgid_passes(struct task_struct *task)
{
	__u32 tgid = visible_tgid(task);

	if (is_own(task))
		return false;
	if (by_tgid && !bpf_map_lookup_elem(&traced_tgids, &tgid))
		return false;
	return !by_cgroup || bpf_current_task_under_cgroup(&traced_cgroup, 0) == 1;
}

static __always_inline bool map_passes(struct bpf_map *map)
{
	__u32 id;

	if (!by_map)
		return true;
	id = BPF_CORE_READ(map, id);
	return bpf_map_lookup_elem(&traced_maps, &id) != NULL;
}

/* ---- hashing kernel pointers -------------------------------------------- */

static __u64 anchor __attribute__((aligned(64)));

/*
 * Spreads a pointer's bits. The verifier allows no arithmetic on a pointer
 * but the difference of two, which is a plain number: taken from a fixed
 * place it is as good as the address.
 */
static __always_inline __u64 mix(void *pointer)
{
	__u64 number = (__u64)pointer;

	asm volatile("%0 -= %1" : "+r"(number) : "r"(&anchor));
	return (number >> 4) * 0x9e3779b97f4a7c15ULL;
}

/* The same of an address that is a number already. */
static __u64 anchor_number;

static __always_inline __u64 mix_number(__u64 number)
{
	*(volatile __u64 *)&anchor_number = (__u64)&anchor;
	number -= *(volatile __u64 *)&anchor_number;
	return (number >> 4) * 0x9e3779b97f4a7c15ULL;
}

/* ---- the table: VMA -> entry ------------------------------------------ */

/* A VMA is at least 64-byte aligned. */
static __always_inline __u32 bucket_of(void *vma)
{
	return (__u32)(mix(vma) >> 32) & bucket_mask;
}

/* The way of a bucket that holds vma, or -1. */
static __always_inline int way_of(struct key_bucket *bucket, void *vma)
{
#pragma unroll
	for (int way = 0; way < BUCKET_WAYS; way++)
		if (bucket->key[way] == (__u64)vma)
			return way;
	return -1;
}

static __always_inline bool find_in_bucket(__u32 number, void *vma, __u32 *index)
{
	struct key_bucket *bucket = bpf_map_lookup_elem(&vma_keys, &number);

	if (!bucket)
		return false;
#pragma unroll
	for (int way = 0; way < BUCKET_WAYS; way++)
		if (bucket->key[way] == (__u64)vma) {
			*index = bucket->entry[way];
			return true;
		}
	return false;
}

/* A VMA's index, or one of those that are none; false if it is not known. */
static __always_inline bool find_index(void *vma, __u32 *index)
{
	__u32 number = bucket_of(vma);

	return find_in_bucket(number, vma, index) ||
	       find_in_bucket(number ^ 1, vma, index);
}

static __always_inline bool claim_way(struct key_bucket *bucket, void *vma, __u32 index)
{
#pragma unroll
	for (int way = 0; way < BUCKET_WAYS; way++)
		if (!bucket->key[way]) {
			bucket->entry[way] = index;
			/* a full barrier: who sees the key sees the index */
			__sync_lock_test_and_set(&bucket->key[way], (__u64)vma);
			return true;
		}
	return false;
}

enum insert_result { INSERTED, EXISTED, NO_ROOM };

static __noinline int insert_key(struct vm_area_struct *vma, __u32 index)
{
	__u32 first = bucket_of(vma), second = first ^ 1;
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

/* `number`: the VMA's bucket. */
static __noinline int remove_key(__u32 number, __u64 vma, __u32 index)
{
	return remove_from_bucket(number, vma, index) ||
	       remove_from_bucket(number ^ 1, vma, index);
}

/* ---- entries: made, retired, shipped ---------------------------------- */

static __always_inline void fill_place(struct vma_entry *entry, struct vm_area_struct *vma)
{
	struct vma_identity *identity = &entry->record.identity;
	__u64 start = vma->vm_start, pages = (vma->vm_end - start) >> page_shift;
	__u32 shift = 0;

	/* bins are a power of two wide, so that a fault need not divide */
	for (int i = 0; i < 48 && ((__u64)WHERE_BINS << shift) < pages; i++)
		shift++;
	identity->start = start;
	identity->end = vma->vm_end;
	identity->map_offset_pages = vma->vm_pgoff;
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

static __always_inline void clear_record(struct vma_record *record)
{
	__u64 *words = (__u64 *)record;

	for (__u32 i = 0; i < sizeof(*record) / sizeof(__u64); i++)
		*(volatile __u64 *)&words[i] = 0;
	record->counts.fault_ns.min = ~0ULL;
	record->counts.batch_ns.min = ~0ULL;
	record->counts.batch_pages.min = ~0ULL;
}

static __always_inline bool take_free_index(__u32 *index)
{
	if (!bpf_map_pop_elem(&free_entries, index))
		return true;
	if (high_water >= max_entries)
		return false;
	*index = __sync_fetch_and_add(&high_water, 1);
	return *index < max_entries;
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
static __noinline __u32 make_entry(struct vm_area_struct *vma, __u32 flags, __u64 mmap_ns)
{
	struct vma_entry *entry;
	__u32 index = 0, found;
	int result;

	if (!take_free_index(&index))
		return ENTRY_NO_ROOM;
	entry = bpf_map_lookup_elem(&vma_entries, &index);
	if (!entry)
		return ENTRY_NO_ROOM;

	clear_record(&entry->record);
	fill_place(entry, vma);
	fill_map(entry, map_of_vma(vma));
	if (!(flags & VMA_FORKED))
		fill_owner(entry, bpf_get_current_task_btf());
	entry->record.header.type = RECORD_VMA;
	entry->record.header.state = VMA_MAPPED;
	entry->record.identity.flags = flags;
	entry->record.identity.mmap_ns = mmap_ns;
	entry->record.identity.id = __sync_fetch_and_add(&next_id, 1);
	entry->mm = (__u64)vma->vm_mm;
	entry->map = (__u64)map_of_vma(vma);
	entry->key = (__u64)vma;
	entry->shipped = 0;
	entry->suspect = 0;

	result = insert_key(vma, index);
	if (result == INSERTED) {
		entry->use = ENTRY_LIVE;
		return index;
	}
	give_back(entry, index);
	if (result == EXISTED && find_index(vma, &found))
		return found;
	return ENTRY_NO_ROOM;
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
	give_back(entry, index);
	return true;
}

static __always_inline void refresh_place(struct vma_entry *entry, struct vm_area_struct *vma)
{
	entry->record.identity.start = vma->vm_start;
	entry->record.identity.end = vma->vm_end;
	entry->record.identity.map_offset_pages = vma->vm_pgoff;
}

/*
 * Takes a VMA out of the table. No fault is under way on it: its mm is locked
 * for writing, or gone. `closes`: it is this VMA that closes; else its close
 * was missed, and the same address is another VMA by now.
 */
static __noinline int retire(struct vm_area_struct *vma, bool closes)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct vma_entry *entry;
	__u32 index;

	if (!find_index(vma, &index))
		return 0;
	remove_key(bucket_of(vma), (__u64)vma, index);
	entry = bpf_map_lookup_elem(&vma_entries, &index);
	if (!entry || entry->key != (__u64)vma || !begin_closing(entry))
		return 0;
	name_forked(entry);
	if (closes) {
		/* a split moves the ends of a VMA without a word to its handlers */
		refresh_place(entry, vma);
		if (!entry->record.identity.pid &&
		    ((__u64)task->mm == entry->mm || (__u64)task->active_mm == entry->mm))
			fill_owner(entry, task);
	}
	entry->key = 0;
	if (!ship_closed(entry, index, wakeup_flag()))
		count(&cpu_stats()->closed_late);
	return 0;
}

/* ---- a VMA that is not in the table ------------------------------------ */

/* Whose mapping it is: mm->owner exists only with CONFIG_MEMCG. */
static __always_inline bool remote_owner_passes(struct vm_area_struct *vma)
{
	struct task_struct *owner;

	if (!by_tgid && !by_cgroup)
		return true;
	if (by_cgroup || !bpf_core_field_exists(vma->vm_mm->owner))
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
		return make_entry(vma, own ? 0 : VMA_FORKED, 0);
	/* a task can move into the cgroup later; all else stays as it is */
	if (own && !by_cgroup)
		insert_key(vma, ENTRY_FILTERED);
	return ENTRY_FILTERED;
}

static __always_inline __u32 index_of(struct vm_area_struct *vma)
{
	__u32 index;

	return find_index(vma, &index) ? index : consider(vma);
}

/* The entry at index if it is this VMA's; else the event is counted as what it is. */
static __always_inline struct vma_entry *entry_or_count(struct vm_area_struct *vma, __u32 index)
{
	struct vma_entry *entry = bpf_map_lookup_elem(&vma_entries, &index);

	if (entry && entry->key == (__u64)vma)
		return entry;
	if (index == ENTRY_OWN)
		count(&selftest_hits);
	else if (index == ENTRY_FILTERED)
		count(&cpu_stats()->filtered);
	else
		count(&cpu_stats()->table_full);
	return NULL;
}

/* ---- faults -------------------------------------------------------------- */

#define UNTIMED_EXIT_SEEN (~0ULL)
#define UNTIMED_EXIT_MISSED (~0ULL - 1)

static __always_inline __u32 origin_of(struct vm_fault *vmf, __u32 flags)
{
	struct syscall_now now = {};
	struct task_struct *task;

	if (flags & FAULT_FLAG_USER)
		return ORIGIN_USER;
	task = bpf_get_current_task_btf();
	if (task->mm != vmf->vma->vm_mm)
		return ORIGIN_REMOTE;
	read_syscall(task, &now);
	return now.populates ? ORIGIN_POPULATE : ORIGIN_KERNEL;
}

/* One fault as it is counted. */
struct fault {
	__u64 address;
	__u64 elapsed;		/* ns, or one of UNTIMED_* */
	__u32 access, origin, lock;
	bool failed;
};

static __always_inline void describe(struct fault *fault, struct vm_fault *vmf, __u64 elapsed,
				     bool failed)
{
	__u32 flags = vmf->flags;

	fault->address = vmf->address;
	fault->elapsed = elapsed;
	fault->access = flags & FAULT_FLAG_WRITE ? ACCESS_WRITE : ACCESS_READ;
	fault->lock = flags & FAULT_FLAG_VMA_LOCK ? UNDER_VMA_LOCK : UNDER_MMAP_LOCK;
	fault->origin = origin_of(vmf, flags);
	fault->failed = failed;
}

static __always_inline void account_place(struct vma_entry *entry, __u64 address)
{
	__u64 bin = (address - entry->record.identity.where_start) >> (entry->bin_shift & 63);

	count(&entry->record.counts.where[bin < WHERE_BINS ? bin : WHERE_BINS - 1]);
}

static __always_inline void account(struct vma_entry *entry, struct fault *fault)
{
	struct vma_counts *counts = &entry->record.counts;

	count(&counts->cells[fault->access & 1][fault->origin & (ORIGINS - 1)][fault->lock & 1]);
	if (fault->failed)
		count(&counts->failed);
	else
		account_place(entry, fault->address);
	if (!timed)
		return;
	if (fault->elapsed == UNTIMED_EXIT_SEEN) {
		count(&counts->untimed_exit_seen);
	} else if (fault->elapsed == UNTIMED_EXIT_MISSED) {
		count(&counts->untimed_exit_missed);
		count(&cpu_stats()->exit_missed);
	} else {
		dist_add(&counts->fault_ns, NS_SLOTS, fault->elapsed);
	}
}

static __always_inline struct fault_slot *slot_of(struct vm_fault *vmf)
{
	__u32 number = mix(vmf) >> 51;	/* 13 bits: FAULT_SLOTS */

	return bpf_map_lookup_elem(&fault_slots, &number);
}

/*
 * Another thread's run holds the slot: hands off, or its time would be lost
 * and its exit counted twice. What is older than a second is a leftover.
 */
static __always_inline bool slot_is_taken(struct fault_slot *slot, struct vm_fault *vmf, __u64 now)
{
	return slot->state != SLOT_FREE && slot->vmf != (__u64)vmf &&
	       now - slot->start < 1000000000;
}

static __always_inline int handler_enter(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct fault_slot *slot;
	__u32 index = index_of(vma);
	__u64 now;

	if (index >= ENTRY_NONE_ABOVE)
		return 0;
	slot = slot_of(vmf);
	if (!slot)
		return 0;
	now = bpf_ktime_get_ns();
	if (slot_is_taken(slot, vmf, now))
		return 0;
	slot->vmf = (__u64)vmf;
	slot->address = vmf->address;
	slot->entry = index;
	slot->start = now;
	slot->state = SLOT_ENTERED;
	return 0;
}

static __always_inline int handler_exit(struct vm_fault *vmf, __u32 ret)
{
	__u64 now = bpf_ktime_get_ns(), elapsed = UNTIMED_EXIT_SEEN;
	struct vm_area_struct *vma = vmf->vma;
	struct fault_slot *slot = slot_of(vmf);
	bool final = !exact || (ret & (VM_FAULT_ERROR | VM_FAULT_NOPAGE)), taken;
	struct vma_entry *entry;
	struct fault fault;
	__u32 index;

	if (!slot)
		return 0;
	taken = slot_is_taken(slot, vmf, now);
	if (!taken && slot->state == SLOT_ENTERED && slot->address == vmf->address) {
		index = slot->entry;
		elapsed = now - slot->start;
	} else {
		index = index_of(vma);
	}
	if (!taken)
		slot->state = SLOT_FREE;
	if (ret & VM_FAULT_RETRY)
		return 0;
	/* in exact counting the installed page is counted where its PTE is written */
	if (!final && (taken || index >= ENTRY_NONE_ABOVE))
		return 0;
	entry = entry_or_count(vma, index);
	if (!entry)
		return 0;
	count(&entry->record.counts.exits);
	if (final) {
		describe(&fault, vmf, elapsed, ret & VM_FAULT_ERROR);
		account(entry, &fault);
		return 0;
	}
	slot->vmf = (__u64)vmf;
	slot->address = vmf->address;
	slot->entry = index;
	slot->row = entry->record.identity.id;
	slot->elapsed = elapsed;
	slot->start = now;
	slot->state = elapsed == UNTIMED_EXIT_SEEN ? SLOT_EXITED_UNTIMED : SLOT_EXITED;
	return 0;
}

SEC("?fentry")
int BPF_PROG(array_fault_enter, struct vm_fault *vmf)
{
	return handler_enter(vmf);
}

SEC("?fexit")
int BPF_PROG(array_fault_exit, struct vm_fault *vmf, __u32 ret)
{
	return handler_exit(vmf, ret);
}

SEC("?fentry")
int BPF_PROG(arena_fault_enter, struct vm_fault *vmf)
{
	return handler_enter(vmf);
}

SEC("?fexit")
int BPF_PROG(arena_fault_exit, struct vm_fault *vmf, __u32 ret)
{
	return handler_exit(vmf, ret);
}

/* ---- batches -------------------------------------------------------------- */

static __always_inline struct batch_slot *batch_slot_of(struct vm_fault *vmf)
{
	__u32 number = mix(vmf) >> 52;	/* 12 bits: BATCH_SLOTS_COUNT */

	return bpf_map_lookup_elem(&batch_slots, &number);
}

static __always_inline bool is_this_run(struct fault_slot *slot, struct vm_fault *vmf)
{
	return slot->state != SLOT_FREE && slot->vmf == (__u64)vmf &&
	       slot->address == vmf->address;
}

/* PTEs that .map_pages is writing, `pages` of them from `address` on. */
static __always_inline int batch_installed(struct vm_fault *vmf, struct vm_area_struct *vma,
					   __u32 pages, __u64 address)
{
	struct batch_slot *slot;
	struct vma_entry *entry;
	__u32 index = index_of(vma);

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
	entry = bpf_map_lookup_elem(&vma_entries, &index);
	slot = batch_slot_of(vmf);
	if (!entry || entry->key != (__u64)vma || !slot)
		return 0;
	if (!is_this_run(&slot->run, vmf)) {
		/* its entry was missed, or is not hooked */
		slot->run.vmf = (__u64)vmf;
		slot->run.address = vmf->address;
		slot->run.entry = index;
		slot->run.start = 0;
		slot->run.state = SLOT_EXITED_UNTIMED;
		slot->installed = 0;
	}
	if (!slot->installed)
		count(&entry->record.counts.batches);
	slot->installed += pages;
	__sync_fetch_and_add(&entry->record.counts.batch_installed, pages);
	for (__u32 i = 0; i < pages && i < WINDOW_PAGES; i++)
		account_place(entry, address + ((__u64)i << page_shift));
	return 0;
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
	if (!slot)
		return 0;
	now = bpf_ktime_get_ns();
	if (slot_is_taken(&slot->run, vmf, now))
		return 0;
	slot->run.vmf = (__u64)vmf;
	slot->run.address = vmf->address;
	slot->run.entry = index;
	slot->run.start = now;
	slot->began = now;
	slot->installed = 0;
	slot->run.state = SLOT_ENTERED;
	if (!batches_by_table)
		return 0;
	if (!read_window(vmf->pmd, window_start(vmf, first), window_pages(first, last), page_shift,
			 &slot->before))
		slot->run.state = SLOT_FREE;
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
	entry = bpf_map_lookup_elem(&vma_entries, &index);
	if (!entry)
		return 1;
	account_place(entry, harvest->start + ((__u64)i << page_shift));
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
	__u64 now = bpf_ktime_get_ns();
	struct batch_slot *slot = batch_slot_of(vmf);
	struct vm_area_struct *vma = vmf->vma;
	struct vma_counts *counts;
	struct vma_entry *entry;
	bool mine, told = true;
	__u32 index, pages = 0;

	if (!slot)
		return 0;
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
	if (pages && timed && slot->run.state == SLOT_ENTERED)
		dist_add(&counts->batch_ns, NS_SLOTS, now - slot->run.start);
	if (mine)
		slot->run.state = SLOT_FREE;
	return 0;
}

SEC("?fentry")
int BPF_PROG(array_pages_enter, struct vm_fault *vmf, __u64 first, __u64 last)
{
	return pages_enter(vmf, first, last);
}

SEC("?fexit")
int BPF_PROG(array_pages_exit, struct vm_fault *vmf, __u64 first, __u64 last, __u32 ret)
{
	return pages_exit(vmf, first, last, ret);
}

SEC("?fentry")
int BPF_PROG(arena_pages_enter, struct vm_fault *vmf, __u64 first, __u64 last)
{
	return pages_enter(vmf, first, last);
}

SEC("?fexit")
int BPF_PROG(arena_pages_exit, struct vm_fault *vmf, __u64 first, __u64 last, __u32 ret)
{
	return pages_exit(vmf, first, last, ret);
}

/* ---- where PTEs are written ------------------------------------------------ */

/* A batch beside this fault must not take its page for one of its own. */
static __always_inline void claim_fault(struct vm_fault *vmf, struct vm_area_struct *vma)
{
	__u32 number = claim_number(vma, vmf->address);
	__u64 now;

	open_claims(number, (__u64)vma->vm_mm, vmf->address);
	now = bpf_ktime_get_ns();
	claim(number, place_of(vmf->address, page_shift), now, now);
}

static __always_inline int fault_installed(struct vm_fault *vmf, struct vm_area_struct *vma)
{
	struct fault_slot *slot = timed ? slot_of(vmf) : NULL;
	__u64 elapsed = UNTIMED_EXIT_MISSED;
	struct vma_entry *entry;
	struct fault fault;
	__u32 index;

	if (slot && slot->vmf == (__u64)vmf && slot->address == vmf->address &&
	    slot->state >= SLOT_EXITED) {
		index = slot->entry;
		elapsed = slot->state == SLOT_EXITED ? slot->elapsed : UNTIMED_EXIT_SEEN;
		slot->state = SLOT_FREE;
	} else {
		index = index_of(vma);
	}
	entry = entry_or_count(vma, index);
	if (!entry)
		return 0;
	describe(&fault, vmf, elapsed, false);
	account(entry, &fault);
	if (batches_by_table)
		claim_fault(vmf, vma);
	return 0;
}

/*
 * Under the page-table lock (mm/memory.c). A .fault handler leaves its page in
 * vmf->page; while .map_pages runs that is NULL (mm/memory.c, do_read_fault).
 */
SEC("?fentry/set_pte_range")
int BPF_PROG(pte_installed, struct vm_fault *vmf, struct folio *folio, struct page *page,
	     __u32 pages, __u64 address)
{
	struct vm_area_struct *vma = vmf->vma;
	__u64 ops = (__u64)vma->vm_ops;

	if (ops != array_vm_ops && ops != arena_vm_ops)
		return 0;
	return vmf->page ? fault_installed(vmf, vma) :
			   batch_installed(vmf, vma, pages, address);
}

/* ---- failed faults without handler hooks (--no-time) -------------------- */

#define SIGBUS 7
#define SIGSEGV 11
#define BUS_ADRERR 2
#define SEGV_MAPERR 1

static long failed_in_vma(struct task_struct *task, struct vm_area_struct *vma, void *context)
{
	__u64 ops = (__u64)vma->vm_ops;
	struct fault *fault = context;
	struct vma_entry *entry;

	if (ops != array_vm_ops && ops != arena_vm_ops)
		return 0;
	entry = entry_or_count(vma, index_of(vma));
	if (entry)
		account(entry, fault);
	return 0;
}

/*
 * A handler that gives no page ends in a signal where the fault came from
 * user mode: SEGV_MAPERR inside a VMA is VM_FAULT_SIGSEGV, BUS_ADRERR is
 * VM_FAULT_SIGBUS (arch/x86/mm/fault.c, arch/arm64/mm/fault.c).
 */
SEC("?fentry/force_sig_fault")
int BPF_PROG(fault_signal, int sig, int code, void *address)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fault fault = {
		.address = (__u64)address,
		.elapsed = UNTIMED_EXIT_MISSED,
		.access = last_fault_was_write(task) ? ACCESS_WRITE : ACCESS_READ,
		.origin = ORIGIN_USER,
		.lock = UNDER_MMAP_LOCK,
		.failed = true,
	};

	if ((sig == SIGSEGV && code == SEGV_MAPERR) || (sig == SIGBUS && code == BUS_ADRERR))
		bpf_find_vma(task, (__u64)address, failed_in_vma, &fault, 0);
	return 0;
}

/* ---- the life of a VMA --------------------------------------------------- */

static __always_inline struct mmap_slot *mmap_slot_of(struct vm_area_struct *vma)
{
	__u32 number = mix(vma) >> 54;	/* 10 bits: MMAP_SLOTS */

	return bpf_map_lookup_elem(&mmap_slots, &number);
}

SEC("?fentry/bpf_map_mmap")
int BPF_PROG(map_mmap_enter, struct file *file, struct vm_area_struct *vma)
{
	struct mmap_slot *slot = mmap_slot_of(vma);

	if (!slot)
		return 0;
	slot->start = bpf_ktime_get_ns();
	slot->vma = (__u64)vma;
	slot->done = 0;
	return 0;
}

static __always_inline void map_mmapped(struct vm_area_struct *vma, __u32 flags, __u64 ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct syscall_now now = {};

	retire(vma, false);
	if (!tgid_passes(task) || !map_passes(map_of_vma(vma))) {
		if (!by_cgroup)
			insert_key(vma, ENTRY_FILTERED);
		return;
	}
	read_syscall(task, &now);
	if (now.mmap_populate)
		flags |= VMA_MMAP_POPULATE;
	make_entry(vma, flags, ns);
}

static __always_inline int mmap_left(struct vm_area_struct *vma, int ret)
{
	struct mmap_slot *slot = mmap_slot_of(vma);
	__u32 flags = 0;
	__u64 ns = 0;

	if (!slot)
		return 0;
	if (slot->done == (__u64)vma) {
		slot->done = 0;
		return 0;
	}
	if (slot->vma == (__u64)vma) {
		ns = bpf_ktime_get_ns() - slot->start;
		flags = VMA_MMAP_SEEN;
		slot->vma = 0;
	}
	slot->done = (__u64)vma;
	if (!ret && !is_own(bpf_get_current_task_btf()))
		map_mmapped(vma, flags, ns);
	return 0;
}

/*
 * Twins: a program is skipped while a preempted task holds it on that CPU,
 * but hardly two at once. The second of them does nothing where the first
 * was there. A mapping that was not seen to begin would be no row where it
 * is eager, and one that was not seen to end would be taken for whatever
 * comes to its address.
 */
SEC("?fexit/bpf_map_mmap")
int BPF_PROG(map_mmap_exit, struct file *file, struct vm_area_struct *vma, int ret)
{
	return mmap_left(vma, ret);
}

SEC("?fexit/bpf_map_mmap")
int BPF_PROG(map_mmap_exit_twin, struct file *file, struct vm_area_struct *vma, int ret)
{
	return mmap_left(vma, ret);
}

/* A VMA is copied by fork, or split, or moved by mremap. */
static __always_inline int vma_opened(struct vm_area_struct *vma)
{
	struct task_struct *task = bpf_get_current_task_btf();
	bool forked = task->mm != vma->vm_mm;
	struct mm_owner nobody_yet = {};
	__u64 mm = (__u64)vma->vm_mm;

	if (is_own(task))
		return 0;
	retire(vma, false);
	/* with -p a child is another process, and not named */
	if (!tgid_passes(task) || (forked && by_tgid && !by_descent) ||
	    !map_passes(map_of_vma(vma))) {
		if (!by_cgroup)
			insert_key(vma, ENTRY_FILTERED);
		return 0;
	}
	if (forked)
		bpf_map_update_elem(&forked_mms, &mm, &nobody_yet, BPF_ANY);
	make_entry(vma, forked ? VMA_FORKED : VMA_OPENED, 0);
	return 0;
}

static __always_inline int open_entered(struct vm_area_struct *vma)
{
	struct mmap_slot *slot = mmap_slot_of(vma);

	if (slot)
		slot->done = (__u64)vma;
	return vma_opened(vma);
}

static __always_inline int open_left(struct vm_area_struct *vma)
{
	struct mmap_slot *slot = mmap_slot_of(vma);

	if (slot && slot->done == (__u64)vma) {
		slot->done = 0;
		return 0;
	}
	return vma_opened(vma);
}

SEC("?fentry")
int BPF_PROG(array_open, struct vm_area_struct *vma)
{
	return open_entered(vma);
}

SEC("?fexit")
int BPF_PROG(array_open_twin, struct vm_area_struct *vma)
{
	return open_left(vma);
}

SEC("?fentry")
int BPF_PROG(arena_open, struct vm_area_struct *vma)
{
	return open_entered(vma);
}

SEC("?fexit")
int BPF_PROG(arena_open_twin, struct vm_area_struct *vma)
{
	return open_left(vma);
}

SEC("?fentry")
int BPF_PROG(array_close, struct vm_area_struct *vma)
{
	return retire(vma, true);
}

SEC("?fexit")
int BPF_PROG(array_close_twin, struct vm_area_struct *vma)
{
	return retire(vma, true);
}

SEC("?fentry")
int BPF_PROG(arena_close, struct vm_area_struct *vma)
{
	return retire(vma, true);
}

SEC("?fexit")
int BPF_PROG(arena_close_twin, struct vm_area_struct *vma)
{
	return retire(vma, true);
}

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(process_forked, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid = visible_tgid(parent), child_tgid = visible_tgid(child);
	__u64 mm = (__u64)child->mm;
	struct mm_owner *owner;
	__u8 yes = 1;

	if (parent->tgid == child->tgid)
		return 0;
	owner = bpf_map_lookup_elem(&forked_mms, &mm);
	if (owner) {
		bpf_probe_read_kernel_str(owner->comm, COMM_BYTES, &child->comm);
		owner->pid = child_tgid;
	}
	if (by_descent && bpf_map_lookup_elem(&traced_tgids, &parent_tgid))
		bpf_map_update_elem(&traced_tgids, &child_tgid, &yes, BPF_ANY);
	return 0;
}

/* ---- walking the table ---------------------------------------------------- */

/* Changes whenever a count does. */
static __always_inline __u64 activity(struct vma_counts *counts)
{
	__u64 *cells = &counts->cells[0][0][0], sum = 1;

	for (__u32 i = 0; i < NS_SLOTS; i++)
		sum += counts->fault_ns.slots[i] + counts->batch_ns.slots[i];
	for (int i = 0; i < BATCH_SLOTS; i++)
		sum += counts->batch_pages.slots[i];
	for (int i = 0; i < ACCESSES * ORIGINS * LOCKS; i++)
		sum += cells[i];
	return sum + counts->untimed_exit_seen + counts->untimed_exit_missed +
	       counts->exits + counts->failed + counts->batches +
	       counts->batch_installed + counts->batches_declined;
}

/*
 * Refreshes the ends of a VMA that may be closing meanwhile. False if it is
 * gone already, and its close was missed.
 */
static __always_inline bool still_there(struct vma_entry *entry)
{
	struct vm_area_struct *vma = (void *)entry->key;
	__u64 start, end, offset;

	if (!vma)
		return true;	/* its close is under way */
	if ((__u64)BPF_CORE_READ(vma, vm_mm) != entry->mm ||
	    (__u64)BPF_CORE_READ(vma, vm_file, private_data) != entry->map)
		return *(volatile __u64 *)&entry->key != (__u64)vma;
	/* detached comes a moment before close: only who stays so was missed */
	if (vma_is_detached(vma))
		return entry->suspect++ == 0;
	start = BPF_CORE_READ(vma, vm_start);
	end = BPF_CORE_READ(vma, vm_end);
	offset = BPF_CORE_READ(vma, vm_pgoff);
	if (*(volatile __u64 *)&entry->key != (__u64)vma)
		return true;
	entry->record.identity.start = start;
	entry->record.identity.end = end;
	entry->record.identity.map_offset_pages = offset;
	return true;
}

static __always_inline bool close_missed(struct vma_entry *entry, __u32 index, struct walk *walk)
{
	__u64 vma = entry->key;

	if (!begin_closing(entry))
		return true;
	remove_key((__u32)(mix_number(vma) >> 32) & bucket_mask, vma, index);
	entry->key = 0;
	name_forked(entry);
	walk->shipped++;
	return ship_closed(entry, index, BPF_RB_NO_WAKEUP);
}

static __always_inline bool ship_live(struct vma_entry *entry, __u32 index, struct walk *walk)
{
	__u64 now = activity(&entry->record.counts);
	__u64 row = entry->record.identity.id;
	struct vma_record *copy;

	if (!still_there(entry))
		return close_missed(entry, index, walk);
	if (entry->shipped == now && walk->mode != WALK_SHIP_LAST)
		return true;
	name_forked(entry);
	copy = bpf_ringbuf_reserve(&records, sizeof(*copy), 0);
	if (!copy)
		return false;
	bpf_probe_read_kernel(copy, sizeof(*copy), &entry->record);
	/* the VMA may have closed, and its entry been taken anew, meanwhile */
	if (entry->record.identity.id != row || entry->use != ENTRY_LIVE ||
	    copy->identity.id != row || copy->header.state != VMA_MAPPED) {
		bpf_ringbuf_discard(copy, BPF_RB_NO_WAKEUP);
		return true;
	}
	bpf_ringbuf_submit(copy, BPF_RB_NO_WAKEUP);
	entry->shipped = now;
	walk->shipped++;
	return true;
}

static long walk_entry(__u32 offset, void *context)
{
	struct walk *walk = context;
	__u32 index = walk->next;
	struct vma_entry *entry = bpf_map_lookup_elem(&vma_entries, &index);
	bool room = true;

	if (!entry)
		return 1;
	if (walk->mode == WALK_MARK)
		entry->record.identity.exits_before = entry->record.counts.exits;
	else if (entry->use == ENTRY_LIVE)
		room = ship_live(entry, index, walk);
	else if (entry->use == ENTRY_CLOSED)
		room = ship_closed(entry, index, BPF_RB_NO_WAKEUP);
	if (!room) {
		walk->full = 1;
		return 1;
	}
	walk->next = index + 1;
	return 0;
}

/*
 * Run by the loader, never attached. Not a "syscall" program: before 6.2 those
 * cannot use a stack of free entries. In: mode and next; the rest is out.
 */
struct walk walked;

SEC("raw_tp")
int walk_table(__u64 *args)
{
	struct walk local = { .mode = args[0], .next = args[1] };
	__u32 used = high_water < max_entries ? high_water : max_entries;

	if (local.next < used)
		bpf_loop(used - local.next, walk_entry, &local, 0);
	walked = local;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
