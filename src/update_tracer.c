/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens, configures, loads and attaches the update programs. Without the hooks
 * on waits it goes on, and says so; without those on bpf(2) it cannot.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "errors.h"
#include "filters.h"
#include "run.h"
#include "update_table.h"
#include "update_tracer.h"
#include "updates.h"
#include "updates.skel.h"

#define DEFAULT_RING_BYTES (1 << 20)
/* At most all programs that there are. */
#define USES (sizeof(((struct updates_bpf *)0)->progs) / sizeof(struct bpf_program *))
#define ORDER_TRIES 50
#define ASK_TRIES 100
#define ASK_PAUSE_US 20000
#define WAIT_TRIES 20
#define BATCH_TRIES 10
#define RUNNING_TRIES 20	/* a millisecond each */

/* What is missing without the hooks on bpf(2). */
#define OPERATIONS_TIME "the time of operations"
#define OPERATIONS "operations"

/* Runs that the kernel skipped: of the programs at the exit, and of the LSM's. */
struct misses {
	uint64_t first, second;	/* in the order in which they run */
	uint64_t begins;	/* of the LSM's program */
};

struct update_tracer {
	struct updates_bpf *skeleton;
	struct ring_buffer *ring;
	struct program_gaps gaps;
	const char *asks, *waits;	/* of the tracer's own update */
	unsigned int batch_waits;
	struct misses before;	/* tracing */
	uint64_t said;		/* runs lost by then */
	struct losses final;	/* once the programs are off */
	bool detached;
	struct update_table *table;	/* while draining */
	int drain_error;
};

/* ---- start ---- */

static void set_constants(struct updates_bpf *skeleton, const struct update_tracer_config *config)
{
	uint32_t ring = config->ring_bytes ? config->ring_bytes : DEFAULT_RING_BYTES;

	skeleton->rodata->filters = filters_of(config->handlers, config->targets);
	skeleton->rodata->ring_half = ring / 2;
	filters_make_room(skeleton->obj, config->targets);
	bpf_map__set_max_entries(skeleton->maps.records, ring);
}

/*
 * Programs of LSMs are never skipped since Linux 6.2 ("bpf: Remove prog->active
 * check for bpf_lsm and bpf_iter"). Those that can be enter by a function that
 * got its name then.
 */
static bool lsm_programs_see_all(void)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	bool hook = false, others = false;
	char line[512], name[256];

	while (symbols && !(hook && others) && fgets(line, sizeof(line), symbols)) {
		if (sscanf(line, "%*s %*s %255s", name) != 1)
			continue;
		hook |= !strcmp(name, "bpf_lsm_bpf");
		others |= !strcmp(name, "__bpf_prog_enter_recur");
	}
	if (symbols)
		fclose(symbols);
	return hook && others;
}

/*
 * What to attach, in this order: an operation that is seen from its entry on
 * has its waits seen, and is reported when its exit is.
 */
static size_t plan_uses(struct updates_bpf *skeleton, struct program_use *uses, bool begun)
{
	size_t count = 0;

#define ADD(member, what) \
	(uses[count++] = (struct program_use){ skeleton->progs.member, \
					       &skeleton->links.member, NULL, what })
	ADD(expedited_refused, "normal waits in place of expedited ones");
	ADD(normal_enter, "normal waits");
	ADD(normal_enter_2, NULL);
	ADD(normal_exit, "the end of normal waits");
	ADD(normal_exit_2, NULL);
	ADD(expedited_enter, "expedited waits");
	ADD(expedited_enter_2, NULL);
	ADD(expedited_exit, "the end of expedited waits");
	ADD(expedited_exit_2, NULL);
	ADD(process_forked, "processes that a traced one starts");
	ADD(process_forked_twin, NULL);
	if (skeleton->rodata->filters.by_descent)
		ADD(process_freed, NULL);
	ADD(operation_enter, OPERATIONS_TIME);
	ADD(operation_enter_2, NULL);
	if (begun)
		ADD(operation_begun, NULL);
	ADD(operation_exit, OPERATIONS);
	ADD(operation_exit_2, NULL);
#undef ADD
	return count;
}

/* Runs that neither of two programs of one hook has seen, at most. */
static uint64_t missed_by_both(const struct bpf_program *first, const struct bpf_program *second)
{
	uint64_t by_first = program_misses(first), by_second = program_misses(second);

	return by_first < by_second ? by_first : by_second;
}

/*
 * Whether an entry may have been paired with a later operation's exit, for
 * which exits and entries must have been missed. A thread that left its CPU out
 * of its waits is a sign of it; but it may also have been preempted.
 */
static bool may_be_mispaired(const struct updates_bpf *skeleton)
{
	return missed_by_both(skeleton->progs.operation_enter, skeleton->progs.operation_enter_2) &&
	       missed_by_both(skeleton->progs.operation_exit, skeleton->progs.operation_exit_2);
}

static int on_record(void *context, void *data, size_t bytes)
{
	struct update_tracer *tracer = context;
	const struct update_record *record = data;
	struct update_record judged;
	int error = -EPROTO;

	/* never a negative return: it would end the poll and lose what follows */
	if (bytes >= sizeof(*record) && record->header.type == RECORD_UPDATES) {
		judged = *record;
		if ((judged.flags & UPDATE_SWITCHED) && !tracer->skeleton->bss->by_begun &&
		    may_be_mispaired(tracer->skeleton))
			judged.flags &= ~UPDATE_TIMED;
		error = update_table_add(tracer->table, &judged);
	}
	if (error)
		tracer->drain_error = error;
	return 0;
}

/* One start: what it is to be, what is loaded for it, and where its failure is told. */
struct start {
	const struct update_tracer_config *config;
	struct ground ground;
	struct program_use uses[USES];
	size_t count;
	char *message;
	size_t message_bytes;
};

static int give_up(struct start *start, enum failed_step step, int error, const char *what)
{
	ground_try_programs(&start->ground);
	explain_failure(&start->ground, step, error, what, start->message, start->message_bytes);
	return -error;
}

/* `begun`: with the LSM's program. */
static int load(struct update_tracer *tracer, struct start *start, bool begun)
{
	struct updates_bpf *skeleton = updates_bpf__open();

	tracer->skeleton = skeleton;
	tracer->gaps.count = 0;
	if (!skeleton)
		return give_up(start, STEP_OPEN, errno, "the update programs");
	set_constants(skeleton, start->config);
	start->count = programs_select(start->uses, plan_uses(skeleton, start->uses, begun),
				       &tracer->gaps);
	if (updates_bpf__load(skeleton))
		return give_up(start, STEP_LOAD, errno, "the update programs");
	return 0;
}

/* The LSM's program only makes the losses more exact: it goes if the kernel refuses it. */
static int load_what_can_be(struct update_tracer *tracer, struct start *start)
{
	bool begun = lsm_programs_see_all();
	int error = load(tracer, start, begun);

	if (!error || !begun)
		return error;
	updates_bpf__destroy(tracer->skeleton);
	return load(tracer, start, false);
}

static int fill_and_open(struct update_tracer *tracer, struct start *start)
{
	int error = filters_fill(tracer->skeleton->obj, start->config->targets);

	if (error)
		return give_up(start, STEP_MAP, -error, "the filters");
	tracer->ring = ring_buffer__new(bpf_map__fd(tracer->skeleton->maps.records), on_record,
					tracer, NULL);
	return tracer->ring ? 0 : give_up(start, STEP_RING, errno, "the ring buffer");
}

/* ---- asking the kernel ---- */

/* Two elements of one map of maps, as values of its updates. */
struct own_maps {
	int inner, outer;
};

static int make_own_maps(struct own_maps *own)
{
	LIBBPF_OPTS(bpf_map_create_opts, options);

	own->outer = -1;
	own->inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "lazyfault_probe", 4, 4, 1, NULL);
	if (own->inner < 0)
		return -errno;
	options.inner_map_fd = own->inner;
	own->outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "lazyfault_probe", 4, 4, 2,
				    &options);
	return own->outer < 0 ? -errno : 0;
}

static void close_own_maps(const struct own_maps *own)
{
	if (own->outer >= 0)
		close(own->outer);
	if (own->inner >= 0)
		close(own->inner);
}

static const char *wait_name(bool expedited)
{
	return expedited ? "expedited" : "normal";
}

/* So that no wait seen is no wait made. */
static bool sees_waits(const struct updates_bpf *skeleton)
{
	return skeleton->links.normal_enter && skeleton->links.normal_exit &&
	       skeleton->links.expedited_enter && skeleton->links.expedited_exit;
}

/*
 * Which of the two programs at the exit runs first shows once both have seen an
 * exit. Where they never do the second goes, as its exits would be told twice.
 */
static void find_order(struct update_tracer *tracer, const struct own_maps *own)
{
	struct updates_bpf *skeleton = tracer->skeleton;
	const __u32 zero = 0;

	for (int i = 0; !skeleton->bss->probe.first && i < ORDER_TRIES; i++)
		if (bpf_map_update_elem(own->outer, &zero, &own->inner, BPF_ANY))
			break;
	if (skeleton->bss->probe.first)
		return;
	bpf_link__destroy(skeleton->links.operation_exit_2);
	skeleton->links.operation_exit_2 = NULL;
	skeleton->bss->probe.first = 1;
}

static __u32 waits_of(const struct probe *probe)
{
	return probe->last.waits[WAIT_NORMAL] + probe->last.waits[WAIT_EXPEDITED];
}

/*
 * Whether the programs see an update, and its wait. While another tracer attaches
 * to the same functions they miss some: only who never sees one is blind.
 */
static bool update_is_seen(const struct probe *probe, const struct own_maps *own)
{
	const __u32 zero = 0;

	for (int i = 0; i < ASK_TRIES; i++) {
		if (bpf_map_update_elem(own->outer, &zero, &own->inner, BPF_ANY))
			return false;
		if (probe->seen && (waits_of(probe) || i >= WAIT_TRIES))
			return true;
		usleep(ASK_PAUSE_US);
	}
	return false;
}

/* What an update of one element did. False if the programs do not see any. */
static bool ask_update(struct update_tracer *tracer, const struct own_maps *own)
{
	const struct probe *probe = &tracer->skeleton->bss->probe;

	if (!update_is_seen(probe, own))
		return false;
	if (sees_waits(tracer->skeleton))
		tracer->asks = tracer->waits = "none";
	if (waits_of(probe)) {
		tracer->asks = wait_name(probe->last.flags & UPDATE_ASKED_EXPEDITED);
		tracer->waits = wait_name(probe->last.waits[WAIT_EXPEDITED] > 0);
	}
	return true;
}

/*
 * Whether a batch waits once, or once for each element as kernels before 6.8 do.
 * As a wait can be missed, the most that is seen is true.
 */
static void ask_batch(struct update_tracer *tracer, const struct own_maps *own)
{
	const struct probe *probe = &tracer->skeleton->bss->probe;
	const __u32 keys[] = { 0, 1 };
	const int values[] = { own->inner, own->inner };
	LIBBPF_OPTS(bpf_map_batch_opts, options);

	for (int i = 0; i < BATCH_TRIES && tracer->batch_waits < 2; i++) {
		__u32 seen = probe->seen, count = 2;

		if (bpf_map_update_batch(own->outer, keys, values, &count, &options))
			return;
		if (probe->seen != seen && waits_of(probe) > tracer->batch_waits)
			tracer->batch_waits = waits_of(probe);
		if (tracer->batch_waits < 2)
			usleep(ASK_PAUSE_US);
	}
}

/* Hooks that attach may still see nothing: the tracer's own updates show it. */
static bool ask_kernel(struct update_tracer *tracer, char *message, size_t message_bytes)
{
	struct own_maps own = { -1, -1 };
	int error = make_own_maps(&own);
	bool seen = false;

	if (error) {
		snprintf(message, message_bytes, "cannot make a map of maps to try the hooks on: %s",
			 error_name(-error));
		close_own_maps(&own);
		return false;
	}
	tracer->skeleton->bss->probe.wanted = 1;
	seen = ask_update(tracer, &own);
	if (seen)
		ask_batch(tracer, &own);
	if (seen)
		find_order(tracer, &own);
	else
		snprintf(message, message_bytes, "the programs on __sys_bpf() are attached and do "
			 "not see an update that is made: this kernel's compiler has moved it "
			 "elsewhere, and its map-in-map updates cannot be traced");
	tracer->skeleton->bss->probe.wanted = 0;
	close_own_maps(&own);
	return seen;
}

/* Why there is no hook on bpf(2). */
static const char *why_not(const struct program_gaps *gaps)
{
	for (size_t i = 0; i < gaps->count; i++)
		if (!strcmp(gaps->items[i].what, OPERATIONS_TIME) ||
		    !strcmp(gaps->items[i].what, OPERATIONS))
			return gaps->items[i].why;
	return "the hooks on bpf(2) are not attached";
}

static struct misses misses_now(const struct updates_bpf *skeleton)
{
	bool swapped = skeleton->bss->probe.first == 2;
	uint64_t one = program_misses(skeleton->progs.operation_exit);
	uint64_t two = program_misses(skeleton->progs.operation_exit_2);

	return (struct misses){
		.first = swapped ? two : one, .second = swapped ? one : two,
		.begins = program_misses(skeleton->progs.operation_begun),
	};
}

static bool attach(struct update_tracer *tracer, struct start *start)
{
	ground_look(&start->ground);
	if (load_what_can_be(tracer, start) || fill_and_open(tracer, start))
		return false;
	programs_attach(start->uses, start->count, &start->ground, &tracer->gaps);
	if (!tracer->skeleton->links.operation_enter || !tracer->skeleton->links.operation_exit) {
		snprintf(start->message, start->message_bytes,
			 "map-in-map updates cannot be traced: %s", why_not(&tracer->gaps));
		return false;
	}
	if (!ask_kernel(tracer, start->message, start->message_bytes))
		return false;
	tracer->skeleton->bss->by_begun = tracer->skeleton->bss->probe.begun > 0;
	tracer->before = misses_now(tracer->skeleton);
	tracer->skeleton->bss->tracing = 1;
	return true;
}

struct update_tracer *update_tracer_start(const struct update_tracer_config *config,
					  char *message, size_t message_bytes)
{
	struct update_tracer *tracer = calloc(1, sizeof(*tracer));
	struct start start = {
		.config = config, .message = message, .message_bytes = message_bytes,
	};

	if (!tracer) {
		snprintf(message, message_bytes, "out of memory");
		return NULL;
	}
	if (!attach(tracer, &start)) {
		update_tracer_free(tracer);
		return NULL;
	}
	return tracer;
}

const struct program_gaps *update_tracer_gaps(const struct update_tracer *tracer)
{
	return &tracer->gaps;
}

bool update_tracer_sees_all(const struct update_tracer *tracer)
{
	return tracer->skeleton->bss->by_begun;
}

void update_tracer_waits(const struct update_tracer *tracer, struct rcu_state *rcu)
{
	rcu->asks = tracer->asks;
	rcu->waits = tracer->waits;
	rcu->batch_waits = tracer->batch_waits;
}

/* ---- while tracing ---- */

int update_tracer_fd(const struct update_tracer *tracer)
{
	return ring_buffer__epoll_fd(tracer->ring);
}

int update_tracer_drain(struct update_tracer *tracer, struct update_table *table)
{
	int result;

	tracer->table = table;
	tracer->drain_error = 0;
	result = ring_buffer__consume(tracer->ring);
	tracer->table = NULL;
	return result < 0 ? result : tracer->drain_error;
}

/* Exits that neither program saw, of whatever operation of whatever process. */
static uint64_t exits_skipped(const struct update_tracer *tracer)
{
	struct misses misses = misses_now(tracer->skeleton);
	uint64_t rescued = tracer->skeleton->bss->rescued;

	if (!tracer->skeleton->links.operation_exit_2)
		return misses.first - tracer->before.first;
	misses.first -= tracer->before.first;
	misses.second -= tracer->before.second;
	/* of the runs that the first has missed, the second has seen some */
	misses.first = misses.first > rescued ? misses.first - rescued : 0;
	return misses.first < misses.second ? misses.first : misses.second;
}

/* None, by what is said of lsm_programs_see_all(); but the kernel itself counts them. */
static uint64_t begins_skipped(const struct update_tracer *tracer)
{
	return program_misses(tracer->skeleton->progs.operation_begun) - tracer->before.begins;
}

static struct losses losses_now(struct update_tracer *tracer)
{
	const struct updates_bpf__bss *bss = tracer->skeleton->bss;
	struct losses losses = { .ring_full = bss->ring_full, .recursion = bss->unmarked };

	if (bss->by_begun) {
		losses.recursion += bss->unended + begins_skipped(tracer);
		losses.recursion_at_most = begins_skipped(tracer) > 0;
		return losses;
	}
	losses.recursion += exits_skipped(tracer) + bss->unended;
	/* a skipped run can turn out to be rescued: never below what was said */
	if (losses.recursion < tracer->said)
		losses.recursion = tracer->said;
	tracer->said = losses.recursion;
	losses.recursion_at_most = losses.recursion > 0;
	return losses;
}

void update_tracer_losses(struct update_tracer *tracer, struct losses *losses)
{
	*losses = tracer->detached ? tracer->final : losses_now(tracer);
}

uint64_t update_tracer_unseen_waits(const struct update_tracer *tracer)
{
	const struct updates_bpf *skeleton = tracer->skeleton;

	return missed_by_both(skeleton->progs.normal_enter, skeleton->progs.normal_enter_2) +
	       missed_by_both(skeleton->progs.normal_exit, skeleton->progs.normal_exit_2) +
	       missed_by_both(skeleton->progs.expedited_enter, skeleton->progs.expedited_enter_2) +
	       missed_by_both(skeleton->progs.expedited_exit, skeleton->progs.expedited_exit_2);
}

bool update_tracer_follows_no_more(const struct update_tracer *tracer)
{
	return tracer->skeleton->bss->followed_no_more;
}

/* ---- the end ---- */

enum whereabouts { ELSEWHERE, IN_BPF, NOT_KNOWN };

/* Whether a system call is bpf(2), of a 32-bit program, too. */
static bool is_bpf(long number)
{
#if defined(__x86_64__)
	if (number == 357 || number == (SYS_bpf | 1 << 30 /* x32 */))
		return true;
#elif defined(__aarch64__)
	if (number == 386)
		return true;
#endif
	return number == SYS_bpf;
}

/* Where a thread is, which is done with what it has begun unless it is in bpf(2). */
static enum whereabouts where_is(uint32_t thread)
{
	const struct timespec moment = { .tv_nsec = 1000 * 1000 };
	char path[64], call[32];

	if (!thread)
		return NOT_KNOWN;
	snprintf(path, sizeof(path), "/proc/%u/syscall", thread);
	/* "running" says nothing; but no operation goes on running for long */
	for (int i = 0; i < RUNNING_TRIES; i++) {
		FILE *file = fopen(path, "re");
		bool read;

		if (!file)
			return errno == ENOENT ? ELSEWHERE : NOT_KNOWN;
		read = fscanf(file, "%31s", call) == 1;
		fclose(file);
		if (!read)	/* it has just gone, or is not ours to look at */
			return NOT_KNOWN;
		if (strcmp(call, "running"))
			return is_bpf(strtol(call, NULL, 10)) ? IN_BPF : ELSEWHERE;
		nanosleep(&moment, NULL);
	}
	return ELSEWHERE;
}

struct under_way {
	uint32_t *threads;	/* keys of operations */
	size_t count, room;
	bool uncertain;		/* there may be more */
};

/* The operation of a thread; false: it has none that has begun and not ended. */
static bool read_begun(const struct update_tracer *tracer, void *value, uint32_t thread,
		       struct begun *begun)
{
	int fd = bpf_map__fd(tracer->skeleton->maps.operations);

	if (bpf_map_lookup_elem(fd, &thread, value))
		return false;
	memcpy(begun, value, sizeof(*begun));
	return begun->number != 0;
}

static void find_under_way(const struct update_tracer *tracer, void *value,
			   struct under_way *found)
{
	int fd = bpf_map__fd(tracer->skeleton->maps.operations);
	uint32_t key, *previous = NULL;
	struct begun begun;

	for (; !bpf_map_get_next_key(fd, previous, &key); previous = &key) {
		enum whereabouts where = ELSEWHERE;

		if (read_begun(tracer, value, key, &begun))
			where = where_is(begun.thread);
		if (where == IN_BPF && found->count < found->room)
			found->threads[found->count++] = key;
		else if (where != ELSEWHERE)
			found->uncertain = true;
	}
}

/* Takes off what reports operations. Sets how many of those begun are still under way. */
static void detach_exits(struct update_tracer *tracer, uint64_t *under_way, bool *uncertain)
{
	struct updates_bpf *skeleton = tracer->skeleton;
	void *value = calloc(1, bpf_map__value_size(skeleton->maps.operations));
	struct under_way found = { .room = bpf_map__max_entries(skeleton->maps.operations) };
	struct begun begun;

	found.threads = calloc(found.room, sizeof(*found.threads));
	if (value && found.threads)
		find_under_way(tracer, value, &found);
	bpf_link__destroy(skeleton->links.operation_exit);
	bpf_link__destroy(skeleton->links.operation_exit_2);
	skeleton->links.operation_exit = skeleton->links.operation_exit_2 = NULL;
	*under_way = 0;
	for (size_t i = 0; i < found.count; i++)
		*under_way += read_begun(tracer, value, found.threads[i], &begun);
	*uncertain = found.uncertain || !value || !found.threads;
	free(found.threads);
	free(value);
}

/*
 * The losses as they stay. Those of the skipped exits are taken before: while
 * the programs come off one by one, they tell nothing more.
 */
static void detach_and_settle(struct update_tracer *tracer)
{
	const struct updates_bpf__bss *bss = tracer->skeleton->bss;
	struct losses *final = &tracer->final;
	uint64_t under_way, unended;
	bool uncertain;

	*final = losses_now(tracer);
	detach_exits(tracer, &under_way, &uncertain);
	final->ring_full = bss->ring_full;
	unended = bss->begun - bss->ended;
	unended = unended > under_way ? unended - under_way : 0;
	if (unended > bss->unended)
		final->recursion += unended - bss->unended;
	final->recursion_at_most |= (uncertain || !bss->by_begun) && final->recursion;
}

void update_tracer_detach(struct update_tracer *tracer)
{
	struct updates_bpf *skeleton = tracer->skeleton;

	if (!skeleton || tracer->detached)
		return;
	/* nothing begins any more that would not be seen to end */
	skeleton->bss->tracing = 0;
	/* first of all the exits: taking one off lasts, and entries would be missed meanwhile */
	detach_and_settle(tracer);
	tracer->detached = true;
	updates_bpf__detach(skeleton);
}

void update_tracer_free(struct update_tracer *tracer)
{
	if (!tracer)
		return;
	update_tracer_detach(tracer);
	ring_buffer__free(tracer->ring);
	updates_bpf__destroy(tracer->skeleton);
	free(tracer);
}
