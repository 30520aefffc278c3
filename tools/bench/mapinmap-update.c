// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Inserts arrays into a map of maps and deletes them, one by one and by batch
 * calls, and says how long the calls of bpf(2) took. By its own clock and its
 * own count it also says what a tracer must have seen.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define COUNT_MOST 100000
#define THREADS_MOST 256

enum operation { INSERT, DELETE, BATCH_INSERT, BATCH_DELETE, OPERATIONS };

static const char *const operation_names[OPERATIONS] = {
	[INSERT] = "insert",
	[DELETE] = "delete",
	[BATCH_INSERT] = "batch-insert",
	[BATCH_DELETE] = "batch-delete",
};

enum noise { NOISE_NONE, NOISE_PROCESS, NOISE_THREAD };

struct settings {
	bool array, hash;
	bool operations[OPERATIONS];
	unsigned int count, threads;
	unsigned int fail;	/* calls of each thread that must fail, in each operation */
	unsigned int plain;	/* updates of ordinary maps */
	enum noise noise;	/* grace-period waits of others meanwhile */
	const char *wait_file;
	bool json;
};

/* Calls that were made, by the clock of the caller. */
struct calls {
	uint64_t count, failed;
	uint64_t ns, min, max;
};

struct outer {
	int fd;
	uint32_t id;
	uint32_t type;		/* enum bpf_map_type */
	const char *name;
};

struct bench {
	struct settings settings;
	int *inner;		/* as many as there are elements */
	struct outer outer;
	bool unsupported;	/* the operation that was made last */
};

static void die(const char *what)
{
	fprintf(stderr, "mapinmap-update: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

/* ---- bpf(2) ---- */

static long bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

static int create_map(uint32_t type, const char *name, unsigned int entries, int inner)
{
	union bpf_attr attr = {
		.map_type = type, .key_size = 4, .value_size = 4, .max_entries = entries,
	};

	if (inner >= 0)
		attr.inner_map_fd = (uint32_t)inner;
	snprintf(attr.map_name, sizeof(attr.map_name), "%s", name);
	return (int)bpf(BPF_MAP_CREATE, &attr);
}

static uint32_t id_of(int fd)
{
	struct bpf_map_info info = {};
	union bpf_attr attr = {
		.info = { .bpf_fd = (uint32_t)fd, .info_len = sizeof(info),
			  .info = (uintptr_t)&info },
	};

	if (bpf(BPF_OBJ_GET_INFO_BY_FD, &attr))
		die("cannot ask for the map's id");
	return info.id;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void add_call(struct calls *calls, bool failed, uint64_t ns)
{
	if (!calls->count || ns < calls->min)
		calls->min = ns;
	if (ns > calls->max)
		calls->max = ns;
	calls->count++;
	calls->failed += failed;
	calls->ns += ns;
}

static void merge_calls(struct calls *sum, const struct calls *calls)
{
	if (!calls->count)
		return;
	if (!sum->count || calls->min < sum->min)
		sum->min = calls->min;
	if (calls->max > sum->max)
		sum->max = calls->max;
	sum->count += calls->count;
	sum->failed += calls->failed;
	sum->ns += calls->ns;
}

/* One call that is measured: 0 or -errno. */
static int measured(struct calls *calls, enum bpf_cmd command, union bpf_attr *attr)
{
	uint64_t start = now();
	long result = bpf(command, attr);
	int error = result < 0 ? errno : 0;

	add_call(calls, error != 0, now() - start);
	return -error;
}

/* ---- operations ---- */

static int one(struct calls *calls, enum operation operation, int map, uint32_t key, int value,
	       uint64_t flags)
{
	union bpf_attr attr = {
		.map_fd = (uint32_t)map, .key = (uintptr_t)&key,
	};

	if (operation == DELETE)
		return measured(calls, BPF_MAP_DELETE_ELEM, &attr);
	attr.value = (uintptr_t)&value;
	attr.flags = flags;
	return measured(calls, BPF_MAP_UPDATE_ELEM, &attr);
}

static int batch(struct calls *calls, enum operation operation, int map, uint32_t *keys,
		 int *values, uint32_t count)
{
	union bpf_attr attr = {
		.batch = { .map_fd = (uint32_t)map, .keys = (uintptr_t)keys, .count = count },
	};

	if (operation == BATCH_DELETE)
		return measured(calls, BPF_MAP_DELETE_BATCH, &attr);
	attr.batch.values = (uintptr_t)values;
	return measured(calls, BPF_MAP_UPDATE_BATCH, &attr);
}

/* A thread's share of the elements: every threads-th one. */
struct share {
	const struct bench *bench;
	enum operation operation;
	unsigned int first;
	bool unsupported;	/* the kernel has no such batch operation for this map */
	struct calls calls;
	uint32_t *keys;
	int *values;
	pthread_t thread;
};

static void one_by_one(struct share *share)
{
	const struct bench *bench = share->bench;
	const struct settings *settings = &bench->settings;

	for (unsigned int i = share->first; i < settings->count; i += settings->threads) {
		int error = one(&share->calls, share->operation, bench->outer.fd, i,
				bench->inner[i], BPF_ANY);

		if (error) {
			errno = -error;
			die(operation_names[share->operation]);
		}
	}
}

static void by_batch(struct share *share)
{
	const struct bench *bench = share->bench;
	const struct settings *settings = &bench->settings;
	uint32_t count = 0;
	int error;

	for (unsigned int i = share->first; i < settings->count; i += settings->threads) {
		share->keys[count] = i;
		share->values[count++] = bench->inner[i];
	}
	if (!count)
		return;
	error = batch(&share->calls, share->operation, bench->outer.fd, share->keys,
		      share->values, count);
	/* 524: ENOTSUPP, which has no name in user space */
	if (error == -524 || error == -EOPNOTSUPP) {
		share->unsupported = true;
	} else if (error) {
		errno = -error;
		die(operation_names[share->operation]);
	}
}

static bool is_batch(enum operation operation)
{
	return operation == BATCH_INSERT || operation == BATCH_DELETE;
}

/* A key or a value that the map must refuse. */
static void fail_on_purpose(struct share *share)
{
	const struct bench *bench = share->bench;
	uint32_t absent = 0xfffffff0;
	int no_fd = -1, error;

	for (unsigned int i = 0; i < bench->settings.fail; i++) {
		if (is_batch(share->operation))
			error = batch(&share->calls, share->operation, bench->outer.fd, &absent,
				      &no_fd, 1);
		else
			error = one(&share->calls, share->operation, bench->outer.fd, absent,
				    bench->inner[0], BPF_EXIST);
		if (!error) {
			fprintf(stderr, "mapinmap-update: %s that must fail did not\n",
				operation_names[share->operation]);
			exit(EXIT_FAILURE);
		}
	}
}

static void *run_share(void *context)
{
	struct share *share = context;

	if (is_batch(share->operation))
		by_batch(share);
	else
		one_by_one(share);
	fail_on_purpose(share);
	return NULL;
}

static void prepare_share(struct share *share, const struct bench *bench, enum operation operation,
			  unsigned int first)
{
	size_t most = bench->settings.count / bench->settings.threads + 1;

	*share = (struct share){ .bench = bench, .operation = operation, .first = first };
	share->keys = calloc(most, sizeof(*share->keys));
	share->values = calloc(most, sizeof(*share->values));
	if (!share->keys || !share->values)
		die("no memory");
}

static struct calls run_operation(struct bench *bench, enum operation operation)
{
	unsigned int threads = bench->settings.threads;
	struct share *shares = calloc(threads, sizeof(*shares));
	struct calls sum = {};

	if (!shares)
		die("no memory");
	bench->unsupported = false;
	for (unsigned int i = 0; i < threads; i++)
		prepare_share(&shares[i], bench, operation, i);
	for (unsigned int i = 1; i < threads; i++)
		if (pthread_create(&shares[i].thread, NULL, run_share, &shares[i]))
			die("cannot start a thread");
	run_share(&shares[0]);
	for (unsigned int i = 1; i < threads; i++)
		pthread_join(shares[i].thread, NULL);
	for (unsigned int i = 0; i < threads; i++) {
		merge_calls(&sum, &shares[i].calls);
		bench->unsupported |= shares[i].unsupported;
		free(shares[i].keys);
		free(shares[i].values);
	}
	free(shares);
	return sum;
}

/* Updates that are none of a map of maps: none of them may be counted. */
static void update_plain_maps(const struct settings *settings)
{
	static const uint32_t types[] = { BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_HASH };
	struct calls ignored = {};

	for (size_t type = 0; settings->plain && type < 2; type++) {
		int fd = create_map(types[type], "plain", 16, -1);

		if (fd < 0)
			die("cannot create an ordinary map");
		for (unsigned int i = 0; i < settings->plain; i++)
			one(&ignored, i % 2 ? DELETE : INSERT, fd, i % 16, 1, BPF_ANY);
		close(fd);
	}
}

/* ---- others that wait for grace periods ---- */

static void *wait_for_grace_periods(void *context)
{
	(void)context;
	for (;;)
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	return NULL;
}

static void make_noise(enum noise noise)
{
	pthread_t thread;
	pid_t parent = getpid(), child;

	if (noise == NOISE_THREAD && pthread_create(&thread, NULL, wait_for_grace_periods, NULL))
		die("cannot start a thread");
	if (noise != NOISE_PROCESS)
		return;
	child = fork();
	if (child < 0)
		die("cannot fork");
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		wait_for_grace_periods(NULL);
	_exit(0);
}

/* ---- printing ---- */

/* "47.9 ms", three digits. */
static void print_time(uint64_t ns)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	unsigned int unit = 0;
	double value = (double)ns;

	for (; value >= 1000 && unit < 3; unit++)
		value /= 1000;
	printf("  %*.*f %-2s", 6, unit && value < 100 ? value < 10 ? 2 : 1 : 0, value, units[unit]);
}

static const char *type_name(uint32_t type)
{
	return type == BPF_MAP_TYPE_ARRAY_OF_MAPS ? "array_of_maps" : "hash_of_maps";
}

static void print_heading(void)
{
	printf("%-13s  %-13s  %7s  %6s  %9s  %9s  %9s  %9s\n", "OPERATION", "MAP", "CALLS",
	       "FAILED", "TOTAL", "MAX", "AVG", "MIN");
}

static void print_text(const struct bench *bench, enum operation operation,
		       const struct calls *calls)
{
	printf("%-13s  %-13s  ", operation_names[operation], type_name(bench->outer.type));
	if (bench->unsupported) {
		printf("this kernel cannot\n");
		return;
	}
	printf("%7" PRIu64 "  %6" PRIu64, calls->count, calls->failed);
	print_time(calls->ns);
	print_time(calls->max);
	print_time(calls->count ? calls->ns / calls->count : 0);
	print_time(calls->min);
	printf("\n");
}

static void print_json(const struct bench *bench, enum operation operation,
		       const struct calls *calls)
{
	printf("{\"type\":\"operation\",\"operation\":\"%s\",\"supported\":%s,\"pid\":%d,"
	       "\"map\":{\"id\":%" PRIu32 ",\"name\":\"%s\",\"type\":\"%s\"},\"threads\":%u,"
	       "\"elements\":%u,\"calls\":%" PRIu64 ",\"failed\":%" PRIu64 ","
	       "\"ns\":{\"sum\":%" PRIu64 ",\"min\":%" PRIu64 ",\"max\":%" PRIu64 "}}\n",
	       operation_names[operation], bench->unsupported ? "false" : "true", getpid(),
	       bench->outer.id, bench->outer.name, type_name(bench->outer.type),
	       bench->settings.threads, bench->settings.count, calls->count, calls->failed,
	       calls->ns, calls->min, calls->max);
}

/* ---- the whole ---- */

static void raise_file_limit(unsigned int count)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= count + 64)
		return;
	limit.rlim_cur = count + 64;
	if (limit.rlim_max < limit.rlim_cur)
		limit.rlim_max = limit.rlim_cur;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		die("cannot raise the limit of open files");
}

static void create_inner_maps(struct bench *bench)
{
	bench->inner = calloc(bench->settings.count, sizeof(*bench->inner));
	if (!bench->inner)
		die("no memory");
	raise_file_limit(bench->settings.count);
	for (unsigned int i = 0; i < bench->settings.count; i++) {
		bench->inner[i] = create_map(BPF_MAP_TYPE_ARRAY, "inner", 1, -1);
		if (bench->inner[i] < 0)
			die("cannot create an inner array");
	}
}

static struct outer create_outer(const struct bench *bench, uint32_t type, const char *name)
{
	struct outer outer = {
		.fd = create_map(type, name, bench->settings.count, bench->inner[0]),
		.type = type, .name = name,
	};

	if (outer.fd < 0)
		die("cannot create a map of maps");
	outer.id = id_of(outer.fd);
	return outer;
}

static void run_map(struct bench *bench, const struct outer *outer)
{
	bench->outer = *outer;
	for (enum operation operation = 0; operation < OPERATIONS; operation++) {
		struct calls calls;

		if (!bench->settings.operations[operation])
			continue;
		calls = run_operation(bench, operation);
		if (bench->settings.json)
			print_json(bench, operation, &calls);
		else
			print_text(bench, operation, &calls);
		fflush(stdout);
	}
	close(bench->outer.fd);
}

/* So that a tracer can be pointed at this process, or at its maps, first. */
static void wait_for_file(const char *path, const struct outer *outers, size_t count)
{
	const struct timespec moment = { .tv_nsec = 10 * 1000 * 1000 };

	printf("{\"type\":\"ready\",\"pid\":%d,\"map_ids\":[", getpid());
	for (size_t i = 0; i < count; i++)
		printf("%s%" PRIu32, i ? "," : "", outers[i].id);
	printf("]}\n");
	fflush(stdout);
	while (access(path, F_OK))
		nanosleep(&moment, NULL);
}

/* ---- options ---- */

enum { KEY_FAIL = 0x100, KEY_PLAIN, KEY_NOISE, KEY_WAIT };

static const struct argp_option options[] = {
	{ "count", 'n', "N", 0, "Elements (1400)", 0 },
	{ "type", 't', "TYPE", 0, "array, hash or both (both)", 0 },
	{ "operations", 'o', "LIST", 0,
	  "Of insert, delete, batch-insert, batch-delete, in this order (all)", 0 },
	{ "threads", 'T', "N", 0, "Threads that share the elements (1)", 0 },
	{ "json", 'j', NULL, 0, "A JSON line for each operation", 0 },
	{ "fail", KEY_FAIL, "N", 0, "Calls besides of each thread that must fail (0)", 0 },
	{ "plain", KEY_PLAIN, "N", 0, "First update an ordinary array and hash N times (0)", 0 },
	{ "noise", KEY_NOISE, "WHO", 0,
	  "Meanwhile another process or thread waits for grace periods", 0 },
	{ "wait-file", KEY_WAIT, "FILE", 0, "Say ready, and begin when FILE is there", 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static unsigned int number(struct argp_state *state, const char *text, unsigned int min,
			   unsigned int max)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || value < min || value > max)
		argp_failure(state, EX_USAGE, 0, "'%s' is not a number from %u to %u", text, min,
			     max);
	return (unsigned int)value;
}

static void take_operations(struct argp_state *state, struct settings *settings, char *list)
{
	memset(settings->operations, 0, sizeof(settings->operations));
	for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		int operation = 0;

		while (operation < OPERATIONS && strcmp(word, operation_names[operation]))
			operation++;
		if (operation == OPERATIONS)
			argp_failure(state, EX_USAGE, 0, "there is no operation '%s'", word);
		else
			settings->operations[operation] = true;
	}
}

static void take_type(struct argp_state *state, struct settings *settings, const char *type)
{
	settings->array = !strcmp(type, "array") || !strcmp(type, "both");
	settings->hash = !strcmp(type, "hash") || !strcmp(type, "both");
	if (!settings->array && !settings->hash)
		argp_failure(state, EX_USAGE, 0, "there is no type '%s'", type);
}

static void take_noise(struct argp_state *state, struct settings *settings, const char *who)
{
	if (!strcmp(who, "thread"))
		settings->noise = NOISE_THREAD;
	else if (!strcmp(who, "process"))
		settings->noise = NOISE_PROCESS;
	else
		argp_failure(state, EX_USAGE, 0, "no '%s' can wait; process and thread can", who);
}

static error_t take_option(int key, char *value, struct argp_state *state)
{
	struct settings *settings = state->input;

	switch (key) {
	case 'n':
		settings->count = number(state, value, 1, COUNT_MOST);
		return 0;
	case 't':
		take_type(state, settings, value);
		return 0;
	case 'o':
		take_operations(state, settings, value);
		return 0;
	case 'T':
		settings->threads = number(state, value, 1, THREADS_MOST);
		return 0;
	case 'j':
		settings->json = true;
		return 0;
	case KEY_FAIL:
		settings->fail = number(state, value, 0, COUNT_MOST);
		return 0;
	case KEY_PLAIN:
		settings->plain = number(state, value, 0, COUNT_MOST);
		return 0;
	case KEY_NOISE:
		take_noise(state, settings, value);
		return 0;
	case KEY_WAIT:
		settings->wait_file = value;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	const struct argp argp = {
		.options = options, .parser = take_option,
		.doc = "Times updates of maps of maps, as a program that fills them at its start "
		       "would make them.",
	};
	struct bench bench = {
		.settings = {
			.array = true, .hash = true, .count = 1400, .threads = 1,
			.operations = { true, true, true, true },
		},
	};

	struct outer outers[2];
	size_t count = 0;

	argp_err_exit_status = EX_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &bench.settings);
	create_inner_maps(&bench);
	if (bench.settings.array)
		outers[count++] = create_outer(&bench, BPF_MAP_TYPE_ARRAY_OF_MAPS, "outer_array");
	if (bench.settings.hash)
		outers[count++] = create_outer(&bench, BPF_MAP_TYPE_HASH_OF_MAPS, "outer_hash");
	if (bench.settings.wait_file)
		wait_for_file(bench.settings.wait_file, outers, count);
	make_noise(bench.settings.noise);
	update_plain_maps(&bench.settings);
	if (!bench.settings.json)
		print_heading();
	for (size_t i = 0; i < count; i++)
		run_map(&bench, &outers[i]);
	/* what comes next may be a tracer's report */
	if (!bench.settings.json)
		printf("\n");
	free(bench.inner);
	return EXIT_SUCCESS;
}
