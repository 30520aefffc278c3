// SPDX-License-Identifier: GPL-2.0-only
/*
 * Times updates, deletes and batch operations of bpf(2) on maps of maps, and
 * the grace-period waits within them.
 *
 * The hook is __sys_bpf(): the one function that every kernel has for all of
 * these operations. Further in, what there is differs (maybe_wait_bpf_programs()
 * is inlined, map_update_elem() too before 7.2), and a delete from a hash of
 * maps is htab_map_delete_elem(), which programs call millions of times a
 * second for other maps. So the map is the one behind the descriptor that the
 * caller passed. The structs that __sys_bpf() takes by value fill a slot for
 * each 8 bytes: cmd is slot 0, the address of the attributes slot 1, whether
 * that is the kernel's own slot 2 in all kernels; what follows differs, and the
 * return value comes from bpf_get_func_ret().
 *
 * An operation takes microseconds at the least and is mostly a grace period: a
 * record for each is cheap, exact, and leaves nothing to keep in the kernel of
 * processes that have gone. What finds the ring full is counted.
 *
 * The kernel skips a program on a CPU where another task was preempted in it.
 * So each hook has two programs of one body: what the first does not see the
 * second does, unless tasks are held up in both at once. And an exit that
 * still lacks its entry must not pair with the entry of an earlier operation:
 * see pairs().
 *
 * One kind of program the kernel never skips: an LSM's, since Linux 6.2. Where
 * the LSM "bpf" is on, operation_begun() sees each operation, before the kernel
 * looks for the map. Then the operations that no exit reported are counted one
 * by one. Elsewhere an entry is the beginning, and entries may be skipped, too:
 * to what began and did not end comes how often the kernel skipped the programs
 * at the exit, whoever called bpf(2). The sum is the most that there can be. The
 * beginnings are needed: where another tracer attaches meanwhile, calls that
 * sleep in bpf(2) return past all programs at its exit, and nothing counts that.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "process.bpf.h"
#include "updates.h"

const volatile __u32 ring_half;		/* bytes */

/* Commands of bpf(2): include/uapi/linux/bpf.h. */
#define MAP_UPDATE_ELEM 2
#define MAP_DELETE_ELEM 3
#define MAP_LOOKUP_AND_DELETE_BATCH 25
#define MAP_UPDATE_BATCH 26
#define MAP_DELETE_BATCH 27
#define COMMON_ATTRS (1 << 16)		/* a flag beside the command, since 7.0 */

/* Its attributes, in words of 8 bytes; the same on all architectures. */
#define ELEM_WORDS 2			/* descriptor, key */
#define ELEM_KEY 1
#define BATCH_WORDS 5
#define BATCH_KEYS 2
#define BATCH_MAP_FD 4			/* its upper half */

/*
 * Entries bring a thread to ENTERED or OTHER, exits from there to DONE. The
 * second program at an exit that finds DONE by the first leaves it at that. If
 * it is its own doing, or left before, it is an earlier operation's, and the
 * entries and the first exit of this one were skipped. The first never leaves.
 */
enum phase { PHASE_NONE, PHASE_ENTERED, PHASE_OTHER, PHASE_DONE };

enum wait_function { WAIT_IN_NONE, WAIT_IN_NORMAL, WAIT_IN_EXPEDITED };

/* Read at the entry: the map can be gone when the operation has ended. */
struct map_facts {
	__u32 id;
	__u32 type;		/* enum bpf_map_type */
	char name[MAP_NAME_BYTES];
};

/* A thread's latest operation. Nobody but the thread itself looks at it. */
struct operation {
	struct begun begun;	/* first, for the loader */
	__u64 frame;		/* where the trampoline keeps the arguments */
	__u64 attr;		/* address */
	__u64 key;		/* address of a key that is only read; 0: not known */
	__u64 start;		/* ns */
	__u64 wait_start;	/* ns */
	__u64 wait_ns;
	__u64 switches;		/* of the thread, when it was last looked at */
	__u32 phase;		/* enum phase */
	__u32 command;
	__u32 fd;		/* of the map */
	__u32 key_bytes;	/* the first of them */
	__u32 waits[WAIT_KINDS];
	__u32 outer;		/* enum wait_function that is being waited in */
	__u32 closed;		/* enum wait_function that was last; none while in one */
	__u32 kind;		/* enum wait_kind of it */
	__u32 flags;		/* enum update_flags */
	__u32 done_by;		/* which program, 1 or 2 */
	bool left;		/* the other one has seen that */
	bool noted;		/* by an entry, and not yet by operation_begun() */
	struct map_facts map;	/* id 0: the attributes were not in memory */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);	/* thread */
	__type(value, struct operation);
} operations SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

__u64 ring_full;	/* operations that found it so */
__u64 rescued;		/* exits that the second program saw and the first did not */
__u64 unmarked;		/* operations left out, as there was no memory for their mark */
__u64 begun, ended;	/* operations that were seen to begin, and of these those that ended */
__u64 unended;		/* of these, whose thread has begun another one */
__u32 tracing;		/* set by the loader while operations are to be noted */
__u32 by_begun;		/* set by the loader: operation_begun() sees all of them */
__u64 map_fops;		/* file_operations of maps, learned from the loader's own */
struct probe probe;

/* ---- which map ---------------------------------------------------------- */

static __always_inline __u32 command_of(__u64 *ctx)
{
	return (__u32)ctx[0] & ~COMMON_ATTRS;
}

static __always_inline bool changes_elements(__u32 command)
{
	return command == MAP_UPDATE_ELEM || command == MAP_DELETE_ELEM ||
	       (command >= MAP_LOOKUP_AND_DELETE_BATCH && command <= MAP_DELETE_BATCH);
}

static __always_inline bool is_batch(__u32 command)
{
	return command >= MAP_LOOKUP_AND_DELETE_BATCH;
}

static __always_inline bool read_from(void *to, __u32 bytes, __u64 address, __u64 *ctx)
{
	return !(ctx[2] & 1 ? bpf_probe_read_kernel(to, bytes, (void *)address) :
			      bpf_probe_read_user(to, bytes, (void *)address));
}

/* The map behind a descriptor of the running task; NULL if that is no map's. */
static __always_inline struct bpf_map *map_of_fd(struct task_struct *task, __u32 fd)
{
	struct fdtable *table = task->files ? task->files->fdt : NULL;
	struct file *file = NULL;
	__u64 ops;

	if (!table || fd >= table->max_fds)
		return NULL;
	if (bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd) || !file)
		return NULL;
	ops = (__u64)BPF_CORE_READ(file, f_op);
	if (!map_fops && is_own(task) && probe.wanted)
		map_fops = ops;
	return ops == map_fops ? BPF_CORE_READ(file, private_data) : NULL;
}

static __always_inline bool is_map_of_maps(struct bpf_map *map)
{
	__u32 type = BPF_CORE_READ(map, map_type);

	return type == BPF_MAP_TYPE_ARRAY_OF_MAPS || type == BPF_MAP_TYPE_HASH_OF_MAPS;
}

static __always_inline __u32 fd_in(const __u64 *attr, bool batch)
{
	return batch ? attr[BATCH_MAP_FD] >> 32 : (__u32)attr[0];
}

static __always_inline bool read_attr(__u64 *ctx, __u64 *attr, __u32 *fd)
{
	bool batch = is_batch(command_of(ctx));

	if (!read_from(attr, batch ? BATCH_WORDS * 8 : ELEM_WORDS * 8, ctx[1], ctx))
		return false;
	*fd = fd_in(attr, batch);
	return true;
}

static __always_inline void read_facts(struct map_facts *facts, struct bpf_map *map)
{
	facts->id = BPF_CORE_READ(map, id);
	facts->type = BPF_CORE_READ(map, map_type);
	bpf_probe_read_kernel_str(facts->name, MAP_NAME_BYTES, &map->name);
}

enum ownership { OURS, NOT_OURS, NOT_KNOWN };

/* What an operation is on. */
struct target {
	struct bpf_map *map;
	__u64 key;		/* address of the first key; 0: not known, or written */
	__u32 fd;
	__u32 whose;		/* enum ownership */
};

static __always_inline void find_map(struct target *target)
{
	struct task_struct *task = bpf_get_current_task_btf();

	target->whose = NOT_OURS;
	target->map = map_of_fd(task, target->fd);
	if (target->map && is_map_of_maps(target->map) &&
	    (is_own(task) || map_passes(target->map)))
		target->whose = OURS;
}

/*
 * Not known is whose an operation is while its attributes are not in memory:
 * the kernel is about to bring them in.
 */
static __noinline int look_at(__u64 *ctx, struct target *target)
{
	__u32 command = command_of(ctx);
	__u64 attr[BATCH_WORDS] = {};

	if (!target)
		return 0;
	target->whose = NOT_KNOWN;
	if (!read_attr(ctx, attr, &target->fd))
		return 0;
	find_map(target);
	/* what is deleted by a look-up is written there, not read */
	if (target->whose == OURS && command != MAP_LOOKUP_AND_DELETE_BATCH)
		target->key = is_batch(command) ? attr[BATCH_KEYS] : attr[ELEM_KEY];
	return 0;
}

/* The tracer's own are left out, but for those by which it asks. */
static __always_inline bool task_passes(struct task_struct *task)
{
	return is_own(task) ? probe.wanted : tgid_passes(task);
}

static __always_inline bool concerns_us(__u64 *ctx)
{
	return changes_elements(command_of(ctx)) && task_passes(bpf_get_current_task_btf());
}

/* Before all hooks are on, and once they come off, nothing is begun. */
static __always_inline bool may_begin(__u64 *ctx)
{
	return (tracing || is_own(bpf_get_current_task_btf())) && concerns_us(ctx);
}

/* ---- entry -------------------------------------------------------------- */

static __always_inline struct operation *thread_operation(void)
{
	__u32 thread = (__u32)bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&operations, &thread);
}

/* Whether the other program has noted this entry just now: it is as good as no other. */
static __always_inline bool is_noted(const struct operation *noted, __u64 *ctx)
{
	__u64 attr[BATCH_WORDS] = {};
	__u32 fd = 0;

	return noted->noted && (noted->phase == PHASE_ENTERED || noted->phase == PHASE_OTHER) &&
	       noted->frame == (__u64)ctx && noted->attr == ctx[1] &&
	       noted->command == command_of(ctx) && !noted->wait_ns && !noted->outer &&
	       read_attr(ctx, attr, &fd) && fd == noted->fd;
}

/* How often the running thread has been switched out of a CPU. */
static __always_inline __u64 switches_so_far(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return task->nvcsw + task->nivcsw;
}

static __always_inline void note(__u64 *ctx, struct operation *operation)
{
	struct target target = {};

	look_at(ctx, &target);
	operation->phase = target.whose == NOT_OURS ? PHASE_OTHER : PHASE_ENTERED;
	operation->noted = true;
	if (target.whose == OURS)
		read_facts(&operation->map, target.map);
	operation->key = target.key;
	operation->fd = target.fd;
	operation->frame = (__u64)ctx;
	operation->attr = ctx[1];
	operation->command = command_of(ctx);
	if (target.key && !read_from(&operation->key_bytes, 4, target.key, ctx))
		operation->key = 0;
	operation->switches = switches_so_far();
	operation->start = bpf_ktime_get_ns();
}

/* A thread that begins another operation has ended the one before, which no exit saw. */
static __always_inline void close_earlier(struct operation *earlier)
{
	if (!earlier->begun.number)
		return;
	__sync_fetch_and_add(&unended, 1);
	earlier->begun.number = 0;
}

/* One for which there is no memory will not be seen to end. */
static __always_inline void keep(struct operation *place, const struct operation *operation)
{
	__u32 thread = (__u32)bpf_get_current_pid_tgid();

	if (place)
		*place = *operation;
	else if (bpf_map_update_elem(&operations, &thread, operation, BPF_ANY) &&
		 operation->begun.number)
		__sync_fetch_and_add(&unended, 1);
}

/* Counts an operation that has begun, whose end is to be seen. */
static __always_inline void number(struct begun *operation)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (is_own(task))
		return;
	operation->number = __sync_fetch_and_add(&begun, 1) + 1;
	operation->thread = visible_tid(task);
}

static __always_inline int enter(__u64 *ctx)
{
	struct operation *place, operation = {};

	if (!may_begin(ctx))
		return 0;
	place = thread_operation();
	if (place && is_noted(place, ctx)) {
		place->switches = switches_so_far();
		place->start = bpf_ktime_get_ns();
		return 0;
	}
	if (place)
		close_earlier(place);
	note(ctx, &operation);
	if (!by_begun && operation.phase == PHASE_ENTERED)
		number(&operation.begun);
	keep(place, &operation);
	return 0;
}

SEC("?fentry/__sys_bpf")
int operation_enter(__u64 *ctx)
{
	return enter(ctx);
}

SEC("?fentry/__sys_bpf")
int operation_enter_2(__u64 *ctx)
{
	return enter(ctx);
}

/* ---- entry, never skipped ----------------------------------------------- */

/* Whether an entry of the same operation has been here. */
static __always_inline bool was_noted(const struct operation *noted, __u32 command, __u32 fd)
{
	return noted->noted && noted->command == command && (!noted->map.id || noted->fd == fd);
}

/* Whose an operation is, by an entry of it that has been here: to find out again is dear. */
static __always_inline enum ownership told_by_entry(const struct operation *noted, __u32 command,
						    __u32 fd)
{
	if (!noted->noted || noted->command != command || noted->fd != fd)
		return NOT_KNOWN;
	if (noted->phase == PHASE_OTHER)
		return NOT_OURS;
	return noted->map.id ? OURS : NOT_KNOWN;
}

/* `map` is NULL if the entry has read what it is. */
static __always_inline void begin(struct operation *place, __u32 command, __u32 fd,
				  struct bpf_map *map)
{
	struct operation operation = {};

	if (place && was_noted(place, command, fd))
		operation = *place;
	operation.phase = PHASE_ENTERED;
	operation.command = command;
	operation.fd = fd;
	operation.noted = false;
	if (map)
		read_facts(&operation.map, map);
	if (is_own(bpf_get_current_task_btf()))
		probe.begun++;
	number(&operation.begun);
	keep(place, &operation);
}

/* Its attributes are the kernel's copy: bpf(2) does with these what it does. */
SEC("?lsm/bpf")
int operation_begun(__u64 *ctx)
{
	__u32 command = command_of(ctx);
	__u64 attr[BATCH_WORDS] = {};
	struct target target = {};
	struct operation *place;

	if (!may_begin(ctx))
		return 0;
	if (bpf_probe_read_kernel(attr, sizeof(attr), (void *)ctx[1]))
		return 0;
	target.fd = fd_in(attr, is_batch(command));
	place = thread_operation();
	if (place)
		close_earlier(place);
	target.whose = place ? told_by_entry(place, command, target.fd) : NOT_KNOWN;
	if (target.whose == NOT_KNOWN)
		find_map(&target);
	if (target.whose == OURS) {
		begin(place, command, target.fd, target.map);
	} else if (place) {
		place->phase = PHASE_OTHER;
		place->noted = false;
	}
	return 0;
}

/* ---- exit --------------------------------------------------------------- */

/*
 * Whether the entry belongs to the exit seen now. It may be of an earlier
 * operation of the thread, if that one's exits and this one's entries were all
 * skipped. Then the key differs, or the place on the stack, which kernels
 * randomize; or there are two waits where one element has one. What is left has
 * one sign: the thread was switched out of its CPU, and not in a wait, for while
 * it stays there nobody takes a program that it has just run. The loader judges
 * that (UPDATE_SWITCHED).
 */
static __always_inline bool pairs(const struct operation *operation, __u64 *ctx)
{
	__u32 key = 0;

	if (operation->phase != PHASE_ENTERED || operation->frame != (__u64)ctx ||
	    operation->command != command_of(ctx) || operation->attr != ctx[1])
		return false;
	if (operation->key && read_from(&key, 4, operation->key, ctx) &&
	    key != operation->key_bytes)
		return false;
	return is_batch(operation->command) ||
	       operation->waits[WAIT_NORMAL] + operation->waits[WAIT_EXPEDITED] <= 1;
}

static __always_inline void fill_who(struct update_record *record,
				     const struct map_facts *map)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_struct *leader = task->group_leader;

	record->header.type = RECORD_UPDATES;
	record->process_start = leader->start_time;
	record->tgid = task->tgid;
	record->pid = visible_tgid(task);
	record->map_id = map->id;
	record->map_type = map->type;
	__builtin_memcpy(record->map_name, map->name, MAP_NAME_BYTES);
	bpf_probe_read_kernel_str(record->comm, COMM_BYTES, &leader->comm);
}

/* An index that is computed the verifier would not follow into the stack. */
static __always_inline void count_wait(__u32 *waits, __u32 kind)
{
	waits[WAIT_NORMAL] += kind == WAIT_NORMAL;
	waits[WAIT_EXPEDITED] += kind == WAIT_EXPEDITED;
}

static __always_inline void fill_times(struct update_record *record,
				       const struct operation *operation, __u64 now)
{
	record->ns = now - operation->start;
	record->wait_ns = operation->wait_ns;
	record->waits[WAIT_NORMAL] = operation->waits[WAIT_NORMAL];
	record->waits[WAIT_EXPEDITED] = operation->waits[WAIT_EXPEDITED];
	record->flags |= UPDATE_TIMED | operation->flags;
	if (operation->outer) {
		/* the end of its last wait was missed */
		count_wait(record->waits, operation->kind);
		record->flags |= UPDATE_WAIT_UNTIMED;
	}
	if (switches_so_far() != operation->switches)
		record->flags |= UPDATE_SWITCHED;
}

/* Wakes the reader only when the ring is half full; it drains by a timer. */
static __always_inline __u64 wakeup_flag(void)
{
	return bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) > ring_half ?
		BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* Fills in all but the times. */
static __always_inline void fill(struct update_record *record, __u64 *ctx,
				 const struct map_facts *map)
{
	__u64 result = 0;

	__builtin_memset(record, 0, sizeof(*record));
	bpf_get_func_ret(ctx, &result);
	record->result = (__s32)result;
	record->flags = is_batch(command_of(ctx)) ? UPDATE_BATCH : 0;
	fill_who(record, map);
}

/* `operation`: NULL if its entries were skipped; without a start if only operation_begun() saw it. */
static __always_inline void report(__u64 *ctx, const struct map_facts *map,
				   const struct operation *operation, __u64 now)
{
	struct update_record *record;

	if (is_own(bpf_get_current_task_btf())) {
		fill(&probe.last, ctx, map);
		if (operation && operation->start)
			fill_times(&probe.last, operation, now);
		probe.seen++;
		return;
	}
	record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		__sync_fetch_and_add(&ring_full, 1);
		return;
	}
	fill(record, ctx, map);
	if (operation && operation->start)
		fill_times(record, operation, now);
	bpf_ringbuf_submit(record, wakeup_flag());
}

/* An exit whose entries were skipped. */
static __noinline int exit_alone(__u64 *ctx, __u32 program)
{
	__u32 thread = (__u32)bpf_get_current_pid_tgid();
	struct operation done = { .phase = PHASE_DONE, .done_by = program };
	struct target target = {};
	struct map_facts map = {};
	bool marked;

	look_at(ctx, &target);
	/* without the mark the other program would report it again */
	marked = !bpf_map_update_elem(&operations, &thread, &done, BPF_ANY);
	if (!marked)
		__sync_fetch_and_add(&unmarked, target.whose == OURS);
	if (marked && target.whose == OURS) {
		read_facts(&map, target.map);
		report(ctx, &map, NULL, 0);
	}
	return 0;
}

/* An operation whose entry was seen. */
static __always_inline void exit_paired(__u64 *ctx, struct operation *operation, __u64 now)
{
	struct target target = {};

	if (!operation->map.id) {
		look_at(ctx, &target);
		if (target.whose != OURS)
			return;
		read_facts(&operation->map, target.map);
	}
	report(ctx, &operation->map, operation, now);
}

static __always_inline void end(struct operation *operation, __u32 program)
{
	operation->phase = PHASE_DONE;
	operation->done_by = program;
	operation->left = false;
	operation->noted = false;
	if (operation->begun.number)
		__sync_fetch_and_add(&ended, 1);
	operation->begun.number = 0;
}

/* Where operation_begun() sees all operations: what it did not see is none of ours. */
static __always_inline int leave_begun(__u64 *ctx, __u32 program, __u64 now)
{
	struct operation *operation = thread_operation();
	bool ours = operation && operation->phase == PHASE_ENTERED &&
		    operation->command == command_of(ctx);

	if (!ours)
		return 0;
	/* one that is noted only was refused before the kernel looked for the map */
	ours = operation->begun.number || pairs(operation, ctx);
	end(operation, program);
	if (ours)
		exit_paired(ctx, operation, now);
	return 0;
}

/* Whether the entry that found it to be none of ours was this operation's. */
static __always_inline bool is_other(const struct operation *operation, __u64 *ctx)
{
	__u64 attr[BATCH_WORDS] = {};
	__u32 fd = 0;

	return operation->phase == PHASE_OTHER && operation->frame == (__u64)ctx &&
	       operation->command == command_of(ctx) && operation->attr == ctx[1] &&
	       read_attr(ctx, attr, &fd) && fd == operation->fd;
}

/* Whether the program that runs first at an exit has dealt with this one already. */
static __always_inline bool is_dealt_with(struct operation *operation, __u32 program)
{
	if (program == probe.first || operation->phase != PHASE_DONE ||
	    operation->done_by == program || operation->left)
		return false;
	operation->left = true;
	if (is_own(bpf_get_current_task_btf()))
		probe.first = operation->done_by;
	return true;
}

/* The first program at this exit was skipped, if there are two. */
static __always_inline void note_rescue(__u32 program)
{
	if (probe.first && program != probe.first)
		__sync_fetch_and_add(&rescued, 1);
}

static __always_inline int leave_paired(__u64 *ctx, struct operation *operation, __u32 program,
					__u64 now)
{
	bool other;

	/* once nothing is begun any more, what has begun still ends */
	if ((!operation->begun.number && !may_begin(ctx)) || is_dealt_with(operation, program))
		return 0;
	note_rescue(program);
	other = is_other(operation, ctx);
	if (!other && !pairs(operation, ctx))
		return exit_alone(ctx, program);
	end(operation, program);
	if (!other)
		exit_paired(ctx, operation, now);
	return 0;
}

static __always_inline int leave(__u64 *ctx, __u32 program)
{
	__u64 now = bpf_ktime_get_ns();
	struct operation *operation;

	if (!concerns_us(ctx))
		return 0;
	if (by_begun)
		return leave_begun(ctx, program, now);
	operation = thread_operation();
	if (operation)
		return leave_paired(ctx, operation, program, now);
	if (!may_begin(ctx))
		return 0;
	note_rescue(program);
	return exit_alone(ctx, program);
}

SEC("?fexit/__sys_bpf")
int operation_exit(__u64 *ctx)
{
	return leave(ctx, 1);
}

SEC("?fexit/__sys_bpf")
int operation_exit_2(__u64 *ctx)
{
	return leave(ctx, 2);
}

/* ---- waits -------------------------------------------------------------- */

static __always_inline struct operation *operation_under_way(void)
{
	struct operation *operation = thread_operation();

	return operation && operation->phase == PHASE_ENTERED ? operation : NULL;
}

static __always_inline __u32 kind_of(enum wait_function function)
{
	return function == WAIT_IN_EXPEDITED ? WAIT_EXPEDITED : WAIT_NORMAL;
}

/*
 * synchronize_rcu() may call synchronize_rcu_expedited(), as a knob has it: the
 * time is that of the outer one, the kind that of the inner one.
 */
static __always_inline int wait_enter(enum wait_function function)
{
	struct operation *operation = operation_under_way();

	/* no function calls itself: this is the second program */
	if (!operation || operation->outer == function)
		return 0;
	operation->kind = kind_of(function);
	if (operation->outer)
		return 0;
	operation->outer = function;
	operation->closed = WAIT_IN_NONE;
	if (function == WAIT_IN_EXPEDITED)
		operation->flags |= UPDATE_ASKED_EXPEDITED;
	if (switches_so_far() != operation->switches)
		operation->flags |= UPDATE_SWITCHED;
	operation->wait_start = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int wait_exit(enum wait_function function)
{
	struct operation *operation = operation_under_way();

	if (!operation)
		return 0;
	if (operation->outer == function) {
		operation->wait_ns += bpf_ktime_get_ns() - operation->wait_start;
		count_wait(operation->waits, operation->kind);
	} else if (!operation->outer && !operation->closed) {
		/* its entry was missed */
		count_wait(operation->waits, kind_of(function));
		operation->flags |= UPDATE_WAIT_UNTIMED;
	} else {
		/* an inner one, or one within which the last was made, or the second program */
		return 0;
	}
	operation->outer = WAIT_IN_NONE;
	operation->closed = function;
	operation->switches = switches_so_far();
	return 0;
}

SEC("?fentry/synchronize_rcu")
int normal_enter(__u64 *ctx)
{
	return wait_enter(WAIT_IN_NORMAL);
}

SEC("?fentry/synchronize_rcu")
int normal_enter_2(__u64 *ctx)
{
	return wait_enter(WAIT_IN_NORMAL);
}

SEC("?fexit/synchronize_rcu")
int normal_exit(__u64 *ctx)
{
	return wait_exit(WAIT_IN_NORMAL);
}

SEC("?fexit/synchronize_rcu")
int normal_exit_2(__u64 *ctx)
{
	return wait_exit(WAIT_IN_NORMAL);
}

SEC("?fentry/synchronize_rcu_expedited")
int expedited_enter(__u64 *ctx)
{
	return wait_enter(WAIT_IN_EXPEDITED);
}

SEC("?fentry/synchronize_rcu_expedited")
int expedited_enter_2(__u64 *ctx)
{
	return wait_enter(WAIT_IN_EXPEDITED);
}

SEC("?fexit/synchronize_rcu_expedited")
int expedited_exit(__u64 *ctx)
{
	return wait_exit(WAIT_IN_EXPEDITED);
}

SEC("?fexit/synchronize_rcu_expedited")
int expedited_exit_2(__u64 *ctx)
{
	return wait_exit(WAIT_IN_EXPEDITED);
}

/*
 * Where synchronize_rcu_expedited() asks whether it may be that; if not it
 * waits as a normal one does, by functions that are inlined or not.
 */
SEC("?fexit/rcu_gp_is_normal")
int BPF_PROG(expedited_refused, bool refused)
{
	struct operation *operation = refused ? operation_under_way() : NULL;

	if (operation && operation->outer)
		operation->kind = WAIT_NORMAL;
	return 0;
}

/* Two places of one fork: a child that neither sees would not be traced. */
SEC("?tp_btf/sched_process_fork")
int BPF_PROG(process_forked, struct task_struct *parent, struct task_struct *child)
{
	follow_fork(parent, child);
	return 0;
}

SEC("?tp_btf/task_newtask")
int BPF_PROG(process_forked_twin, struct task_struct *child)
{
	follow_fork(bpf_get_current_task_btf(), child);
	return 0;
}

SEC("?tp_btf/sched_process_free")
int BPF_PROG(process_freed, struct task_struct *task)
{
	forget_process(task);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
