/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens, configures, loads and attaches the fault programs, and moves their
 * records into the table. What cannot be attached becomes a gap that is told;
 * only when nothing can be counted is it a failure.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "errors.h"
#include "events.h"
#include "faults.h"
#include "faults.skel.h"
#include "filters.h"
#include "rcu.h"
#include "records.h"
#include "tracer.h"
#include "vma_table.h"

#define DEFAULT_RING_BYTES (1 << 20)
#define DEFAULT_EVENT_RING_BYTES (1 << 22)	/* 40,000 events between two drains */

/* A row, as MARK_ROW() has it, and its handler runs that were neither accounted nor failed yet. */
struct pending_row {
	uint64_t row, runs;
};

struct tracer {
	struct faults_bpf *skeleton;
	struct ring_buffer *ring;
	const struct fault_slot *slots;	/* in the skeleton's .bss */
	bool exact, timed;
	bool detached;
	struct program_gaps gaps;
	struct vma_table *table;	/* while draining */
	struct pending_row *pending;
	size_t pending_count;
	int drain_error;
	uint64_t torn;			/* snapshots refused in the last drain */
	void (*on_event)(void *context, const struct event_report *event);
	void *event_context;
	int64_t clock_offset;		/* see event_clock_offset() */
	size_t events_most, events_left;	/* in a drain; still to come in this one */
	uint64_t events_untold;		/* lost, as the end has shown */
};

/* What this run asks for, lowered step by step to what the kernel grants. */
struct plan {
	bool exact, timed;
};

static bool is_lazy(const struct handlers *handlers, enum type_index type)
{
	enum map_mode mode = handlers_mode(&handlers->types[type]);

	return mode == MODE_LAZY || mode == MODE_LAZY_AROUND ||
	       (mode == MODE_UNKNOWN && handlers->types[type].fault.name[0]);
}

static bool any_lazy(const struct handlers *handlers)
{
	return is_lazy(handlers, TYPE_ARRAY) || is_lazy(handlers, TYPE_ARENA);
}

static bool has_map_pages(const struct handlers *handlers)
{
	return handlers->types[TYPE_ARRAY].map_pages.present ||
	       handlers->types[TYPE_ARENA].map_pages.present;
}

/* Where vm_operations could not be read, nobody knows. */
static bool may_have_map_pages(const struct handlers *handlers)
{
	return has_map_pages(handlers) ||
	       handlers_mode(&handlers->types[TYPE_ARRAY]) == MODE_UNKNOWN ||
	       handlers_mode(&handlers->types[TYPE_ARENA]) == MODE_UNKNOWN;
}

/* ---- configure ---- */

static void fill_log2_table(unsigned char *table)
{
	for (unsigned int value = 1; value < 4096; value++)
		table[value] = 32 - __builtin_clz(value);
}

/* In the order of bpf/pte.bpf.h. */
static const char *const direct_map_symbols[] = {
#if defined(__aarch64__)
	"memstart_addr", "vabits_actual",
#else
	"page_offset_base",
#endif
};

#define DIRECT_MAP_SYMBOLS (sizeof(direct_map_symbols) / sizeof(direct_map_symbols[0]))

/*
 * Looks the symbols up, which takes a while: only for kernels with a handler
 * of .map_pages. What is hidden (kptr_restrict) stays 0.
 */
static void find_direct_map(__u64 *addresses)
{
	FILE *symbols = fopen("/proc/kallsyms", "re");
	unsigned long long address;
	char line[512], name[256];

	while (symbols && fgets(line, sizeof(line), symbols))
		for (size_t i = 0; i < DIRECT_MAP_SYMBOLS; i++)
			if (strstr(line, direct_map_symbols[i]) &&
			    sscanf(line, "%llx %*c %255s", &address, name) == 2 &&
			    !strcmp(name, direct_map_symbols[i]))
				addresses[i] = address;
	if (symbols)
		fclose(symbols);
}

static uint32_t event_ring_bytes(const struct tracer_config *config)
{
	return config->ring_bytes ? config->ring_bytes : DEFAULT_EVENT_RING_BYTES;
}

static void set_up_events(struct faults_bpf *skeleton, const struct tracer_config *config)
{
	uint32_t bytes = config->on_event ? event_ring_bytes(config) :
					    (uint32_t)sysconf(_SC_PAGESIZE);

	skeleton->rodata->events = config->on_event;
	skeleton->rodata->event_ring_half = bytes / 2;
	bpf_map__set_max_entries(skeleton->maps.event_ring, bytes);
	if (config->on_event)
		bpf_map__set_max_entries(skeleton->maps.event_slots, FAULT_SLOTS);
}

static enum fault_way way_of(const struct faults_bpf *skeleton, const struct plan *plan)
{
	const bool filtered = skeleton->rodata->filters.any, batched = skeleton->rodata->batches;

	if (skeleton->rodata->events || (filtered && batched))
		return WAY_ANY;
	if (filtered || batched)
		return filtered ? WAY_FILTERS : WAY_BATCHES;
	if (!plan->exact)
		return WAY_LIGHT;
	return plan->timed ? WAY_EXACT : WAY_COUNTS;
}

static void set_constants(struct faults_bpf *skeleton, const struct tracer_config *config,
			  const struct plan *plan)
{
	const struct handlers *handlers = config->handlers;
	uint32_t ring = config->ring_bytes ? config->ring_bytes : DEFAULT_RING_BYTES;
	uint32_t buckets = config->max_vmas / 2;

	if (buckets < 2)
		buckets = 2;
	fill_log2_table((unsigned char *)skeleton->rodata->log2_table);
	if (is_lazy(handlers, TYPE_ARRAY))
		skeleton->rodata->array_vm_ops = handlers->types[TYPE_ARRAY].vm_ops;
	if (is_lazy(handlers, TYPE_ARENA))
		skeleton->rodata->arena_vm_ops = handlers->types[TYPE_ARENA].vm_ops;
	skeleton->rodata->exact = plan->exact;
	skeleton->rodata->timed = plan->timed;
	skeleton->rodata->filters = filters_of(handlers, config->targets);
	skeleton->rodata->own_start = handlers->own_start ? handlers->own_start : UINT64_MAX;
	skeleton->rodata->max_entries = config->max_vmas;
	skeleton->rodata->bucket_mask = buckets - 1;
	skeleton->rodata->page_shift = __builtin_ctzl(sysconf(_SC_PAGESIZE));
	skeleton->rodata->ring_half = ring / 2;
	skeleton->rodata->batches = may_have_map_pages(handlers);
	if (has_map_pages(handlers)) {
		find_direct_map((__u64 *)skeleton->rodata->direct_map_at);
		bpf_map__set_max_entries(skeleton->maps.claim_slots, CLAIM_SLOTS);
		skeleton->bss->batches_by_table = true;
	}

	bpf_map__set_max_entries(skeleton->maps.vma_entries, config->max_vmas);
	bpf_map__set_max_entries(skeleton->maps.free_entries, config->max_vmas);
	bpf_map__set_max_entries(skeleton->maps.vma_keys, buckets);
	bpf_map__set_max_entries(skeleton->maps.records, ring);
	filters_make_room(skeleton->obj, config->targets);
	set_up_events(skeleton, config);
	skeleton->rodata->way = way_of(skeleton, plan);
}

/* At most all programs that there are. */
#define USES (sizeof(((struct faults_bpf *)0)->progs) / sizeof(struct bpf_program *))

static size_t add(struct program_use *uses, size_t count, struct bpf_program *program,
		  struct bpf_link **link, const char *function, const char *what)
{
	uses[count] = (struct program_use){ program, link, function, what };
	return count + 1;
}

#define ADD(member, function, what) \
	(count = add(uses, count, skeleton->progs.member, &skeleton->links.member, function, what))

static const char *target_of(const struct handler *handler)
{
	return handler->name[0] ? handler->name : NULL;
}

/*
 * What to attach, in this order: where PTEs are written first, so that no
 * handler's exit is seen whose installed page is not.
 */
static size_t plan_uses(struct faults_bpf *skeleton, const struct handlers *handlers,
			const struct plan *plan, struct program_use *uses)
{
	const struct type_handlers *array = &handlers->types[TYPE_ARRAY];
	const struct type_handlers *arena = &handlers->types[TYPE_ARENA];
	bool hook_handlers = plan->timed || !plan->exact;
	size_t count = 0;

	if (plan->exact && any_lazy(handlers))
		ADD(pte_installed, NULL, "exact counts");
	if (target_of(&array->close)) {
		ADD(array_close, array->close.name, "unmapped arrays and ring buffers");
		ADD(array_close_twin, array->close.name, NULL);
	}
	if (target_of(&array->open)) {
		ADD(array_open, array->open.name, "arrays copied by fork, split or moved");
		ADD(array_open_twin, array->open.name, NULL);
	}
	if (target_of(&arena->close)) {
		ADD(arena_close, arena->close.name, "unmapped arenas");
		ADD(arena_close_twin, arena->close.name, NULL);
	}
	if (target_of(&arena->open)) {
		ADD(arena_open, arena->open.name, "moved arenas");
		ADD(arena_open_twin, arena->open.name, NULL);
	}
	ADD(process_forked, NULL, "the PIDs of forked processes");
	ADD(process_forked_twin, NULL, NULL);
	if (skeleton->rodata->filters.by_descent)
		ADD(process_freed, NULL, NULL);
	ADD(map_mmap_enter, NULL, "the time of mmap");
	ADD(map_mmap_exit, NULL, "mmap calls");
	ADD(map_mmap_exit_twin, NULL, NULL);
	if (!hook_handlers && any_lazy(handlers))
		ADD(fault_signal, NULL, "failed faults");
	if (hook_handlers && is_lazy(handlers, TYPE_ARRAY)) {
		if (plan->timed)
			ADD(array_fault_enter, target_of(&array->fault), "the time in array faults");
		ADD(array_fault_exit, target_of(&array->fault), "array faults");
	}
	if (target_of(&array->map_pages)) {
		ADD(array_pages_enter, array->map_pages.name, "batches of arrays");
		ADD(array_pages_exit, array->map_pages.name, "batches of arrays");
	}
	if (target_of(&arena->map_pages)) {
		ADD(arena_pages_enter, arena->map_pages.name, "batches of arenas");
		ADD(arena_pages_exit, arena->map_pages.name, "batches of arenas");
	}
	if (hook_handlers && is_lazy(handlers, TYPE_ARENA)) {
		if (plan->timed)
			ADD(arena_fault_enter, target_of(&arena->fault), "the time in arena faults");
		ADD(arena_fault_exit, target_of(&arena->fault), "arena faults");
	}
	return count;
}

/* ---- attach ---- */

/* Enough for some of them to come in a batch, if a handler declines now and then. */
#define SELFTEST_PAGES 64

/*
 * Whether the hook that exact counting rests on sees pages come in; and
 * whether it sees batches.
 */
static bool selftest_passes(const struct faults_bpf *skeleton, const struct handlers *handlers)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	size_t page = sysconf(_SC_PAGESIZE), bytes = SELFTEST_PAGES * page;
	volatile const char *mapping;
	int fd;

	if (is_lazy(handlers, TYPE_ARRAY))
		fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "lazyfault_probe", 4, page,
				    SELFTEST_PAGES, &options);
	else
		fd = bpf_map_create(33 /* BPF_MAP_TYPE_ARENA */, "lazyfault_probe", 0, 0,
				    SELFTEST_PAGES, &options);
	if (fd < 0)
		return false;
	mapping = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (mapping == MAP_FAILED) {
		close(fd);
		return false;
	}
	for (size_t i = 0; i < SELFTEST_PAGES; i++)
		(void)mapping[i * page];
	munmap((void *)mapping, bytes);
	close(fd);
	return skeleton->bss->selftest_hits > 0;
}

/*
 * Until the self-test has shown that set_pte_range() sees batches, and where it
 * does not, they are told by the page table.
 */
static void choose_batch_counting(struct tracer *tracer, const struct handlers *handlers)
{
	struct faults_bpf *skeleton = tracer->skeleton;

	if (!has_map_pages(handlers))
		return;
	skeleton->bss->batches_by_hook = skeleton->bss->selftest_batched > 0;
	skeleton->bss->batches_by_table = !skeleton->bss->batches_by_hook;
	if (skeleton->bss->batches_by_table && !skeleton->rodata->direct_map_at[0])
		program_gap_add(&tracer->gaps, "the sizes of batches",
			"this kernel's .map_pages does not use set_pte_range(), and where page tables "
			"are is hidden; as root set kernel.kptr_restrict to 0 or 1");
}

static int on_record(void *context, void *data, size_t bytes);
static int on_event(void *context, void *data, size_t bytes);

static int open_event_ring(struct tracer *tracer, const struct tracer_config *config)
{
	if (!config->on_event)
		return 0;
	tracer->on_event = config->on_event;
	tracer->event_context = config->context;
	tracer->events_most = event_ring_bytes(config) / sizeof(struct event_record) + 1;
	return ring_buffer__add(tracer->ring, bpf_map__fd(tracer->skeleton->maps.event_ring),
				on_event, tracer);
}

/*
 * The tracer's own arrays are faulted in before a program is attached: first
 * touches of them are runs of the handlers, too, and would come in between.
 */
static void touch(const volatile void *start, size_t bytes)
{
	size_t page = sysconf(_SC_PAGESIZE);

	for (size_t at = 0; at < bytes; at += page)
		(void)((const volatile char *)start)[at];
}

static int open_ring(struct tracer *tracer, const struct tracer_config *config)
{
	int error;

	tracer->ring = ring_buffer__new(bpf_map__fd(tracer->skeleton->maps.records), on_record,
					tracer, NULL);
	if (!tracer->ring)
		return -errno;
	error = open_event_ring(tracer, config);
	if (error)
		return error;
	tracer->slots = tracer->skeleton->bss->fault_slots;
	tracer->pending = calloc(FAULT_SLOTS, sizeof(*tracer->pending));
	return tracer->pending ? 0 : -ENOMEM;
}

static void close_skeleton(struct tracer *tracer)
{
	tracer->slots = NULL;
	ring_buffer__free(tracer->ring);
	tracer->ring = NULL;
	free(tracer->pending);
	tracer->pending = NULL;
	faults_bpf__destroy(tracer->skeleton);
	tracer->skeleton = NULL;
}

/* All that one start needs, whichever of its plans works out. */
struct start {
	const struct tracer_config *config;
	struct plan plan;
	char not_exact[512], not_timed[512];	/* why not, where it was asked for */
	struct ground ground;
	char *message;
	size_t message_bytes;
};

static int give_up(struct start *start, enum failed_step step, int error, const char *what)
{
	ground_try_programs(&start->ground);
	explain_failure(&start->ground, step, error, what, start->message, start->message_bytes);
	return -error;
}

static int load(struct tracer *tracer, struct start *start, struct program_use *uses,
		size_t *count)
{
	struct faults_bpf *skeleton = faults_bpf__open();

	tracer->gaps.count = 0;
	tracer->skeleton = skeleton;
	if (!skeleton)
		return give_up(start, STEP_OPEN, errno, "the fault programs");
	set_constants(skeleton, start->config, &start->plan);
	*count = plan_uses(skeleton, start->config->handlers, &start->plan, uses);
	*count = programs_select(uses, *count, &tracer->gaps);
	if (faults_bpf__load(skeleton))
		return give_up(start, STEP_LOAD, errno, "the fault programs");
	return 0;
}

static int fill_and_open(struct tracer *tracer, struct start *start)
{
	int error = filters_fill(tracer->skeleton->obj, start->config->targets);

	if (error)
		return give_up(start, STEP_MAP, -error, "the filters");
	error = open_ring(tracer, start->config);
	if (error)
		return give_up(start, STEP_RING, -error, "the ring buffer");
	touch(tracer->skeleton->bss, sizeof(*tracer->skeleton->bss));
	touch(tracer->skeleton->rodata, sizeof(*tracer->skeleton->rodata));
	return 0;
}

static bool lacks_pair(const struct tracer_config *config, enum type_index type,
		       const struct bpf_link *enter, const struct bpf_link *exit)
{
	return is_lazy(config->handlers, type) && (!enter || !exit);
}

enum outcome { STARTED, LOWERED, FAILED };

/* What the attached programs see; LOWERED: the plan asked too much and was changed. */
static enum outcome judge(const struct tracer *tracer, struct start *start)
{
	const struct faults_bpf *skeleton = tracer->skeleton;
	const struct tracer_config *config = start->config;
	struct plan *plan = &start->plan;

	if (plan->exact && any_lazy(config->handlers) &&
	    (!skeleton->links.pte_installed || !selftest_passes(skeleton, config->handlers))) {
		plan->exact = false;
		return LOWERED;
	}
	/* half a pair would count exits without times, or raced runs that were none */
	if (plan->exact && plan->timed &&
	    (lacks_pair(config, TYPE_ARRAY, skeleton->links.array_fault_enter,
			skeleton->links.array_fault_exit) ||
	     lacks_pair(config, TYPE_ARENA, skeleton->links.arena_fault_enter,
			skeleton->links.arena_fault_exit))) {
		plan->timed = false;
		return LOWERED;
	}
	return STARTED;
}

static enum outcome try_plan(struct tracer *tracer, struct start *start)
{
	struct program_use uses[USES];
	size_t count;

	if (load(tracer, start, uses, &count) || fill_and_open(tracer, start))
		return FAILED;
	if (!programs_attach(uses, count, &start->ground, &tracer->gaps)) {
		snprintf(start->message, start->message_bytes, "%s", tracer->gaps.count ?
			 tracer->gaps.items[0].why : "this kernel has nothing that could be traced");
		return FAILED;
	}
	return judge(tracer, start);
}

/* Why a plan was lowered, while its programs are still there. */
static void explain_lowering(const struct tracer *tracer, bool was_exact, char *why, size_t bytes)
{
	const struct program_gaps *gaps = &tracer->gaps;

	if (was_exact)
		snprintf(why, bytes, "set_pte_range() %s", tracer->skeleton->links.pte_installed ?
			 "is there but does not see pages come in" : "cannot be hooked here");
	else
		snprintf(why, bytes, "%s", gaps->count ? gaps->items[gaps->count - 1].why :
			 "the handlers cannot be hooked");
}

static bool start_best(struct tracer *tracer, struct start *start)
{
	enum outcome outcome;

	do {
		struct plan before = start->plan;

		if (tracer->skeleton)
			close_skeleton(tracer);
		outcome = try_plan(tracer, start);
		if (before.exact && !start->plan.exact)
			explain_lowering(tracer, true, start->not_exact,
					 sizeof(start->not_exact));
		if (before.timed && !start->plan.timed)
			explain_lowering(tracer, false, start->not_timed,
					 sizeof(start->not_timed));
	} while (outcome == LOWERED);
	if (outcome == FAILED)
		return false;
	tracer->exact = start->plan.exact;
	tracer->timed = start->plan.timed;
	if (start->not_exact[0])
		program_gap_add(&tracer->gaps, "exact counting; it is light instead",
				start->not_exact);
	if (start->not_timed[0])
		program_gap_add(&tracer->gaps, "handler times", start->not_timed);
	choose_batch_counting(tracer, start->config->handlers);
	return true;
}

/*
 * On PREEMPT_RT spinlocks sleep (Documentation/locking/locktypes.rst), the
 * page-table lock too: a thread is preempted in the program on set_pte_range()
 * as it is in those on the handlers, and others' runs are skipped meanwhile.
 */
static void lower_on_rt(struct start *start)
{
	struct rcu_state rcu;

	rcu_look(&rcu);
	if (!start->plan.exact || !rcu.preempt_rt)
		return;
	start->plan.exact = false;
	snprintf(start->not_exact, sizeof(start->not_exact),
		 "PREEMPT_RT leaves preemption on where PTEs are written, so that the kernel "
		 "skips programs there as it does on the handlers");
}

struct tracer *tracer_start(const struct tracer_config *config, char *message,
			    size_t message_bytes)
{
	struct start start = {
		.config = config,
		.plan = { .exact = !config->light, .timed = !config->no_time },
		.message = message,
		.message_bytes = message_bytes,
	};
	struct tracer *tracer = calloc(1, sizeof(*tracer));

	if (!tracer) {
		snprintf(message, message_bytes, "out of memory");
		return NULL;
	}
	ground_look(&start.ground);
	lower_on_rt(&start);
	if (!start_best(tracer, &start)) {
		tracer_free(tracer);
		return NULL;
	}
	return tracer;
}

bool tracer_is_exact(const struct tracer *tracer)
{
	return tracer->exact;
}

bool tracer_is_timed(const struct tracer *tracer)
{
	return tracer->timed;
}

const struct program_gaps *tracer_gaps(const struct tracer *tracer)
{
	return &tracer->gaps;
}

/* ---- collect ---- */

int tracer_fd(const struct tracer *tracer)
{
	return ring_buffer__epoll_fd(tracer->ring);
}

static uint64_t pending_runs(const struct tracer *tracer, uint64_t id)
{
	uint64_t row = MARK_ROW(ENTRY_MARK(id, 0));

	for (size_t i = 0; i < tracer->pending_count; i++)
		if (tracer->pending[i].row == row)
			return tracer->pending[i].runs;
	return 0;
}

static int on_record(void *context, void *data, size_t bytes)
{
	struct tracer *tracer = context;
	const struct vma_record *record = data;
	int error;

	/* never a negative return: it would end the poll and lose what follows */
	if (bytes < sizeof(*record) || record->header.type != RECORD_VMA) {
		tracer->drain_error = -EPROTO;
		return 0;
	}
	if (tracer->detached)
		error = vma_table_add_last(tracer->table, record);
	else
		error = vma_table_add(tracer->table, record,
				      pending_runs(tracer, record->identity.id));
	if (error == -EAGAIN)
		tracer->torn++;
	else if (error)
		tracer->drain_error = error;
	return 0;
}

static void tell_event(struct tracer *tracer, const void *data, size_t bytes)
{
	struct event_report event;
	int error = event_read(data, bytes, tracer->clock_offset, &event);

	if (error)
		tracer->drain_error = error;
	else
		tracer->on_event(tracer->event_context, &event);
}

/*
 * In a storm events come as fast as they are taken, and a drain would never
 * end: it takes what a ring can hold. What is left stays for the next one, and
 * so it may end here, as this ring is drained after that of the snapshots.
 */
static int on_event(void *context, void *data, size_t bytes)
{
	struct tracer *tracer = context;

	tell_event(tracer, data, bytes);
	return --tracer->events_left ? 0 : -ECANCELED;
}

int tracer_drain(struct tracer *tracer, struct vma_table *table)
{
	int result;

	tracer->table = table;
	tracer->drain_error = 0;
	tracer->clock_offset = event_clock_offset();
	tracer->events_left = tracer->events_most;
	/* before the drain: who fills the ring meanwhile wakes us again */
	tracer->skeleton->bss->events_woken = 0;
	result = ring_buffer__consume(tracer->ring);
	tracer->table = NULL;
	return result < 0 && result != -ECANCELED ? result : tracer->drain_error;
}

/* ---- events that only the end shows ---- */

/* Runs that have left the handler and will write no PTE any more: they have raced. */
static int tell_last_raced(struct tracer *tracer)
{
	size_t bytes = sizeof(struct event_record) * FAULT_SLOTS;
	const struct event_record *waiting = mmap(NULL, bytes, PROT_READ, MAP_SHARED,
		bpf_map__fd(tracer->skeleton->maps.event_slots), 0);

	if (waiting == MAP_FAILED)
		return -errno;
	for (size_t i = 0; i < FAULT_SLOTS; i++)
		if (waiting[i].outcome == OUTCOME_RACED)
			tell_event(tracer, &waiting[i], sizeof(waiting[i]));
	munmap((void *)waiting, bytes);
	return 0;
}

/* Batches that were counted, but whose exit was not seen. */
static void count_untold_batches(struct tracer *tracer)
{
	const struct batch_slot *slots = tracer->skeleton->bss->batch_slots;

	for (size_t i = 0; i < BATCH_SLOTS_COUNT; i++)
		if (slots[i].run.vmf && slots[i].installed)
			tracer->events_untold++;
}

static int tell_last_events(struct tracer *tracer)
{
	int error;

	if (!tracer->on_event)
		return 0;
	error = tell_last_raced(tracer);
	if (tracer->skeleton->bss->batches_by_hook)
		count_untold_batches(tracer);
	tracer->on_event = NULL;
	return error;
}

/* Runs that have left the handler and written no PTE yet: in flight, or raced. */
static void look_at_slots(struct tracer *tracer)
{
	tracer->pending_count = 0;
	for (size_t i = 0; i < FAULT_SLOTS; i++) {
		const volatile struct fault_slot *slot = &tracer->slots[i];
		uint64_t row = MARK_ROW(slot->state);
		size_t j;

		if (!slot->vmf || !row)
			continue;
		for (j = 0; j < tracer->pending_count && tracer->pending[j].row != row; j++)
			;
		if (j == tracer->pending_count)
			tracer->pending[tracer->pending_count++] = (struct pending_row){ row, 0 };
		tracer->pending[j].runs++;
	}
}

static int walk(struct tracer *tracer, struct walk *walk)
{
	__u64 args[] = { walk->mode, walk->next };
	LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = args, .ctx_size_in = sizeof(args));

	if (bpf_prog_test_run_opts(bpf_program__fd(tracer->skeleton->progs.walk_table), &options))
		return -errno;
	*walk = tracer->skeleton->bss->walked;
	return 0;
}

static int ship_and_drain(struct tracer *tracer, struct vma_table *table)
{
	struct walk ship = { .mode = tracer->detached ? WALK_SHIP_LAST : WALK_SHIP };
	int error;

	tracer->torn = 0;
	do {
		error = walk(tracer, &ship);
		if (!error)
			error = tracer_drain(tracer, table);
	} while (!error && ship.full);
	return error;
}

int tracer_collect(struct tracer *tracer, struct vma_table *table)
{
	struct walk mark = { .mode = WALK_MARK };
	int error;

	if (tracer->detached) {
		error = ship_and_drain(tracer, table);
		return error ? error : tell_last_events(tracer);
	}
	error = walk(tracer, &mark);
	if (error)
		return error;
	look_at_slots(tracer);
	/* a snapshot taken in mid-fault is taken again; a storm may win, then it waits */
	for (int tries = 0; tries < 4; tries++) {
		error = ship_and_drain(tracer, table);
		if (error || !tracer->torn)
			break;
	}
	return error;
}

int tracer_progress(struct tracer *tracer, uint64_t *faults, uint64_t *installed_pages)
{
	struct walk sum = { .mode = WALK_SUM };
	int error = walk(tracer, &sum);

	if (error)
		return error;
	*faults = sum.faults + tracer->skeleton->bss->gone_faults;
	*installed_pages = sum.pages + tracer->skeleton->bss->gone_pages;
	return 0;
}

/* ---- losses ---- */

void tracer_losses(struct tracer *tracer, struct losses *losses)
{
	struct faults_bpf *skeleton = tracer->skeleton;
	uint64_t exits = program_misses(skeleton->progs.array_fault_exit) +
			 program_misses(skeleton->progs.arena_fault_exit);
	uint64_t batch_exits = program_misses(skeleton->progs.array_pages_exit) +
			       program_misses(skeleton->progs.arena_pages_exit);
	uint64_t counted = 0;	/* of exits, runs whose page was counted all the same */

	memset(losses, 0, sizeof(*losses));
	for (int cpu = 0; cpu < STATS_CPUS; cpu++) {
		losses->vma_table_full += skeleton->bss->stats[cpu].table_full;
		counted += skeleton->bss->stats[cpu].exit_missed;
		losses->recursion += skeleton->bss->stats[cpu].batches_unseen;
		losses->events_lost += skeleton->bss->stats[cpu].events_lost;
	}
	losses->events_lost += tracer->events_untold;
	/* where PTEs are seen written, a batch is counted whether its exit is seen or not */
	if (!skeleton->bss->batches_by_hook)
		losses->recursion += batch_exits;
	if (tracer->exact) {
		losses->recursion += program_misses(skeleton->progs.pte_installed);
		losses->unseen_runs = exits > counted ? exits - counted : 0;
	} else {
		losses->recursion += exits;
	}
}

bool tracer_follows_no_more(const struct tracer *tracer)
{
	return tracer->skeleton->bss->followed_no_more;
}

uint64_t tracer_filtered(struct tracer *tracer)
{
	uint64_t filtered = 0;

	for (int cpu = 0; cpu < STATS_CPUS; cpu++)
		filtered += tracer->skeleton->bss->stats[cpu].filtered;
	return filtered;
}

uint64_t tracer_memory(const struct tracer *tracer)
{
	struct bpf_map *map;
	uint64_t bytes = 0;

	bpf_object__for_each_map(map, tracer->skeleton->obj) {
		uint64_t entries = bpf_map__max_entries(map);

		if (bpf_map__type(map) == BPF_MAP_TYPE_RINGBUF)
			bytes += entries;
		else
			bytes += entries * (((uint64_t)bpf_map__key_size(map) + 7) / 8 * 8 +
					    ((uint64_t)bpf_map__value_size(map) + 7) / 8 * 8);
	}
	return bytes;
}

/* ---- the end ---- */

static void drop(struct bpf_link **link)
{
	bpf_link__destroy(*link);
	*link = NULL;
}

/* A run that has left its handler writes its PTE at once, if it ever does. */
static void let_runs_land(void)
{
	const struct timespec moment = { .tv_nsec = 20 * 1000 * 1000 };

	nanosleep(&moment, NULL);
}

void tracer_detach(struct tracer *tracer)
{
	struct faults_bpf *skeleton = tracer->skeleton;

	if (tracer->detached || !skeleton)
		return;
	tracer->detached = true;
	skeleton->bss->ending = true;
	drop(&skeleton->links.array_pages_enter);
	drop(&skeleton->links.arena_pages_enter);
	drop(&skeleton->links.array_pages_exit);
	drop(&skeleton->links.arena_pages_exit);
	drop(&skeleton->links.array_fault_enter);
	drop(&skeleton->links.arena_fault_enter);
	drop(&skeleton->links.array_fault_exit);
	drop(&skeleton->links.arena_fault_exit);
	if (tracer->exact && tracer->timed)
		let_runs_land();
	faults_bpf__detach(skeleton);
}

void tracer_free(struct tracer *tracer)
{
	if (!tracer)
		return;
	if (tracer->skeleton)
		tracer_detach(tracer);
	close_skeleton(tracer);
	free(tracer);
}
