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
#include <unistd.h>

#include "errors.h"
#include "targets.h"
#include "update_table.h"
#include "update_tracer.h"
#include "updates.h"
#include "updates.skel.h"

#define DEFAULT_RING_BYTES (1 << 20)
#define USES 16

/* What is missing without the hooks on bpf(2). */
#define OPERATIONS_TIME "the time of operations"
#define OPERATIONS "operations"

struct update_tracer {
	struct updates_bpf *skeleton;
	struct ring_buffer *ring;
	struct program_gaps gaps;
	const char *asks, *waits;	/* of the tracer's own update */
	unsigned int batch_waits;
	struct update_table *table;	/* while draining */
	int drain_error;
};

/* ---- start ---- */

static void set_constants(struct updates_bpf *skeleton, const struct update_tracer_config *config)
{
	uint32_t ring = config->ring_bytes ? config->ring_bytes : DEFAULT_RING_BYTES;
	const struct targets *targets = config->targets;

	skeleton->rodata->by_tgid = targets->pid_count > 0;
	skeleton->rodata->by_descent = targets->descend;
	skeleton->rodata->by_cgroup = targets->cgroup_fd >= 0;
	skeleton->rodata->by_map = targets->map_count > 0;
	skeleton->rodata->own_tgid = config->own_tgid ? config->own_tgid : (uint32_t)getpid();
	skeleton->rodata->pid_ns_level = config->pid_ns_level;
	skeleton->rodata->ring_half = ring / 2;
	bpf_map__set_max_entries(skeleton->maps.records, ring);
}

/*
 * What to attach, in this order: an operation that is seen from its entry on
 * has its waits seen, and is reported when its exit is.
 */
static size_t plan_uses(struct updates_bpf *skeleton, struct program_use *uses)
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
	ADD(operation_enter, OPERATIONS_TIME);
	ADD(operation_enter_2, NULL);
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
 * which exits and entries must have been missed. A thread that slept out of
 * its waits is a sign of it; but it may also have waited for memory or a page.
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
		if ((judged.flags & UPDATE_SLEPT) && may_be_mispaired(tracer->skeleton))
			judged.flags &= ~UPDATE_TIMED;
		error = update_table_add(tracer->table, &judged);
	}
	if (error)
		tracer->drain_error = error;
	return 0;
}

static int load(struct update_tracer *tracer, const struct update_tracer_config *config,
		struct program_use *uses, size_t *count, const struct ground *ground,
		char *message, size_t message_bytes)
{
	struct updates_bpf *skeleton = updates_bpf__open();
	int error;

	tracer->skeleton = skeleton;
	if (!skeleton) {
		explain_failure(ground, STEP_OPEN, errno, "the update programs", message,
				message_bytes);
		return -EINVAL;
	}
	set_constants(skeleton, config);
	*count = programs_keep_present(uses, plan_uses(skeleton, uses), &tracer->gaps);
	error = programs_select(uses, *count);
	if (error) {
		explain_failure(ground, STEP_BTF, -error, "the update programs", message,
				message_bytes);
		return error;
	}
	if (updates_bpf__load(skeleton)) {
		error = errno;
		explain_failure(ground, STEP_LOAD, error, "the update programs", message,
				message_bytes);
		return -error;
	}
	return 0;
}

static int fill_and_open(struct update_tracer *tracer, const struct update_tracer_config *config,
			 const struct ground *ground, char *message, size_t message_bytes)
{
	const struct filter_maps filters = {
		tracer->skeleton->maps.traced_tgids, tracer->skeleton->maps.traced_maps,
		tracer->skeleton->maps.traced_cgroup,
	};
	int error = filters_fill(&filters, config->targets);

	if (error) {
		explain_failure(ground, STEP_MAP, -error, "the filters", message, message_bytes);
		return error;
	}
	tracer->ring = ring_buffer__new(bpf_map__fd(tracer->skeleton->maps.records), on_record,
					tracer, NULL);
	if (!tracer->ring) {
		error = errno;
		explain_failure(ground, STEP_RING, error, "the ring buffer", message,
				message_bytes);
		return -error;
	}
	return 0;
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

/* What one update of one element did. False if the programs did not see it. */
static bool ask_update(struct update_tracer *tracer, const struct own_maps *own)
{
	const struct probe *probe = &tracer->skeleton->bss->probe;
	const __u32 zero = 0;

	if (bpf_map_update_elem(own->outer, &zero, &own->inner, BPF_ANY))
		return false;
	if (!probe->seen)
		return false;
	if (sees_waits(tracer->skeleton))
		tracer->asks = tracer->waits = "none";
	if (probe->last.waits[WAIT_NORMAL] + probe->last.waits[WAIT_EXPEDITED]) {
		tracer->asks = wait_name(probe->last.flags & UPDATE_ASKED_EXPEDITED);
		tracer->waits = wait_name(probe->last.waits[WAIT_EXPEDITED] > 0);
	}
	return true;
}

/* Whether a batch waits once, or once for each element as kernels before 6.8 do. */
static void ask_batch(struct update_tracer *tracer, const struct own_maps *own)
{
	const struct probe *probe = &tracer->skeleton->bss->probe;
	const __u32 keys[] = { 0, 1 };
	const int values[] = { own->inner, own->inner };
	LIBBPF_OPTS(bpf_map_batch_opts, options);
	__u32 count = 2;

	if (!bpf_map_update_batch(own->outer, keys, values, &count, &options))
		tracer->batch_waits = probe->last.waits[WAIT_NORMAL] +
				      probe->last.waits[WAIT_EXPEDITED];
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

static bool start(struct update_tracer *tracer, const struct update_tracer_config *config,
		  char *message, size_t message_bytes)
{
	struct program_use uses[USES];
	struct ground ground;
	size_t count = 0;

	ground_look(&ground);
	ground_try_programs(&ground);
	if (load(tracer, config, uses, &count, &ground, message, message_bytes) ||
	    fill_and_open(tracer, config, &ground, message, message_bytes))
		return false;
	programs_attach(uses, count, &ground, &tracer->gaps);
	if (!tracer->skeleton->links.operation_enter || !tracer->skeleton->links.operation_exit) {
		snprintf(message, message_bytes, "map-in-map updates cannot be traced: %s",
			 why_not(&tracer->gaps));
		return false;
	}
	return ask_kernel(tracer, message, message_bytes);
}

struct update_tracer *update_tracer_start(const struct update_tracer_config *config,
					  char *message, size_t message_bytes)
{
	struct update_tracer *tracer = calloc(1, sizeof(*tracer));

	if (!tracer) {
		snprintf(message, message_bytes, "out of memory");
		return NULL;
	}
	if (!start(tracer, config, message, message_bytes)) {
		update_tracer_free(tracer);
		return NULL;
	}
	return tracer;
}

const struct program_gaps *update_tracer_gaps(const struct update_tracer *tracer)
{
	return &tracer->gaps;
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

void update_tracer_losses(const struct update_tracer *tracer, struct losses *losses)
{
	const struct updates_bpf *skeleton = tracer->skeleton;
	bool swapped = skeleton->bss->probe.first == 2;
	uint64_t first = program_misses(swapped ? skeleton->progs.operation_exit_2 :
					skeleton->progs.operation_exit);
	uint64_t second = program_misses(swapped ? skeleton->progs.operation_exit :
					 skeleton->progs.operation_exit_2);
	uint64_t rescued = skeleton->bss->alone[swapped ? 1 : 2];

	/* of the runs that the first has missed, the second has seen some */
	first = first > rescued ? first - rescued : 0;
	*losses = (struct losses){
		.ring_full = skeleton->bss->ring_full,
		.recursion = (first < second ? first : second) + skeleton->bss->unmarked,
	};
}

uint64_t update_tracer_unseen_waits(const struct update_tracer *tracer)
{
	const struct updates_bpf *skeleton = tracer->skeleton;

	return missed_by_both(skeleton->progs.normal_enter, skeleton->progs.normal_enter_2) +
	       missed_by_both(skeleton->progs.normal_exit, skeleton->progs.normal_exit_2) +
	       missed_by_both(skeleton->progs.expedited_enter, skeleton->progs.expedited_enter_2) +
	       missed_by_both(skeleton->progs.expedited_exit, skeleton->progs.expedited_exit_2);
}

/* ---- the end ---- */

void update_tracer_detach(struct update_tracer *tracer)
{
	struct updates_bpf *skeleton = tracer->skeleton;

	if (!skeleton)
		return;
	/* first of all the exits: taking one off lasts, and entries would be missed meanwhile */
	bpf_link__destroy(skeleton->links.operation_exit);
	bpf_link__destroy(skeleton->links.operation_exit_2);
	skeleton->links.operation_exit = skeleton->links.operation_exit_2 = NULL;
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
