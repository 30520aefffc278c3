// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Touches pages, one byte each, from user threads, through system calls of its
 * own or by another process, and keeps the account of the faults that a lazy
 * kernel must have taken for it.
 */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_BYTES (256 * 1024)

static __thread sigjmp_buf guard;
static __thread volatile sig_atomic_t guarded;

/* A touch that the kernel refused goes on behind the guard; any other crash is one. */
static void on_refusal(int number)
{
	if (guarded)
		siglongjmp(guard, 1);
	signal(number, SIG_DFL);
}

void touch_init(const struct options *o)
{
	/* SA_NODEFER: the jump leaves the handler without restoring the mask. */
	struct sigaction action = { .sa_handler = on_refusal, .sa_flags = SA_NODEFER };
	struct sched_param priority = { .sched_priority = o->fifo_priority };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	if (o->fifo_priority && sched_setscheduler(0, SCHED_FIFO, &priority))
		die("cannot become SCHED_FIFO %d: %m (needs CAP_SYS_NICE)", o->fifo_priority);
}

static __attribute__((noinline)) bool access_byte(volatile unsigned char *byte,
						  enum access_bits how)
{
	volatile bool done = false;

	guarded = 1;
	if (!sigsetjmp(guard, 0)) {
		if (how & ACCESS_READ)
			(void)*byte;
		if (how & ACCESS_WRITE)
			*byte = 0x5a;
		done = true;
	}
	guarded = 0;
	return done;
}

static bool vma_has(const struct vma *v, uint64_t page)
{
	return !v->gone && page >= v->first && page - v->first < v->pages;
}

static unsigned char *page_addr(const struct vma *v, uint64_t page)
{
	return v->addr + (page - v->first) * page_bytes;
}

/*
 * The account. Which access a page gets depends on the page alone, so that
 * the order in which threads come does not matter.
 */
static void count_page(struct vma *v, uint64_t page, enum access_bits how,
		       enum origin origin, uint64_t times, bool fails)
{
	uint8_t *state = &v->page[page - v->first];
	bool reads = how & ACCESS_READ, writes = how & ACCESS_WRITE;

	v->touched_read += reads && !(*state & PAGE_WAS_READ);
	v->touched_write += writes && !(*state & PAGE_WAS_WRITTEN);
	*state |= (reads ? PAGE_WAS_READ : 0) | (writes ? PAGE_WAS_WRITTEN : 0);
	v->origins |= 1U << origin;
	if (v->bare) {
		v->expect_failed_touches += times;
		return;
	}
	if (!fails && *state & PAGE_PRESENT)
		return;
	if (fails) {
		v->expect_failed_touches += times;
		v->expect.failed += times;
	} else {
		*state |= PAGE_PRESENT;
		times = 1;
	}
	v->expect.by_origin[origin] += times;
	if (reads)
		v->expect.read += times;
	else
		v->expect.write += times;
}

static void count_touched(const struct options *o, struct vma *v, size_t from, size_t to,
			  enum origin origin)
{
	bool same = origin == ORIGIN_USER && o->threads > 1 && o->share == SHARE_SAME;
	uint64_t times = same ? o->threads : 1;
	size_t i;

	if (same && from < to)
		v->raced = true;
	for (i = from; i < to; i++)
		if (vma_has(v, o->order[i]))
			count_page(v, o->order[i], page_access(o, v, o->order[i]), origin, times,
				   o->segv_on_fault);
}

/* --- touches from user mode ------------------------------------------- */

struct user_result {
	uint64_t min_flt, failed, ns;
};

struct user_job {
	const struct options *o;
	const struct vma_set *set;
	size_t from, to;
	struct user_result *result;	/* one for each VMA of the set */
	uint64_t noise;
	pthread_barrier_t *start;
};

static __attribute__((noinline)) struct user_result touch_vma(const struct options *o,
							      const struct vma *v,
							      const uint32_t *order,
							      size_t from, size_t to)
{
	uint64_t failed = 0, faults, begin;
	struct user_result result;
	size_t i;

	begin = now_ns();
	faults = thread_min_flt();
	for (i = from; i < to; i++)
		if (vma_has(v, order[i]) &&
		    !access_byte(page_addr(v, order[i]), page_access(o, v, order[i])))
			failed++;
	result.min_flt = thread_min_flt() - faults;
	result.ns = now_ns() - begin;
	result.failed = failed;
	return result;
}

/*
 * The very code that is about to be measured, on memory that is there already:
 * afterwards its text, stack and thread-local data are, too. What a second run
 * still faults is the noise of the measurement.
 */
static uint64_t warm_up(const struct options *o)
{
	static const uint32_t first_page;
	struct vma v = { .pages = 1 };
	unsigned char *room;
	uint64_t noise;

	room = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (room == MAP_FAILED)
		die("no memory: %m");
	v.addr = room;
	prefault_stack();
	touch_vma(o, &v, &first_page, 0, 1);
	noise = touch_vma(o, &v, &first_page, 0, 1).min_flt;
	munmap(room, page_bytes);
	return noise;
}

static void touch_set(struct user_job *job)
{
	size_t i;

	for (i = 0; i < job->set->nr; i++)
		job->result[i] = touch_vma(job->o, &job->set->vma[i], job->o->order, job->from,
					   job->to);
}

static void *user_thread(void *data)
{
	struct user_job *job = data;

	job->noise = warm_up(job->o);
	pthread_barrier_wait(job->start);
	touch_set(job);
	return NULL;
}

/* Faults add up over the threads; the time is that of the slowest. */
static void add_results(const struct user_job *jobs, size_t nr_jobs, struct vma_set *set)
{
	size_t i, j;

	for (i = 0; i < set->nr; i++) {
		struct vma *v = &set->vma[i];
		uint64_t slowest = 0;

		for (j = 0; j < nr_jobs; j++) {
			v->min_flt += jobs[j].result[i].min_flt;
			v->failed_touches += jobs[j].result[i].failed;
			if (jobs[j].noise > v->min_flt_noise)
				v->min_flt_noise = jobs[j].noise;
			if (jobs[j].result[i].ns > slowest)
				slowest = jobs[j].result[i].ns;
		}
		v->touch_ns += slowest;
	}
}

static struct user_result *new_results(size_t nr)
{
	struct user_result *result = calloc(nr ? nr : 1, sizeof(*result));

	if (!result)
		die("out of memory");
	return result;
}

/* The slice of thread number i of n. */
static size_t slice(size_t from, size_t to, uint64_t i, uint64_t n)
{
	return from + (to - from) * i / n;
}

static void touch_by_threads(const struct options *o, struct vma_set *set, size_t from, size_t to)
{
	struct user_job *jobs = calloc(o->threads, sizeof(*jobs));
	pthread_t *threads = calloc(o->threads, sizeof(*threads));
	pthread_barrier_t start;
	pthread_attr_t attr;
	uint64_t i;
	int error;

	if (!jobs || !threads)
		die("out of memory");
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_barrier_init(&start, NULL, o->threads);
	for (i = 0; i < o->threads; i++) {
		bool split = o->share == SHARE_SPLIT;

		jobs[i] = (struct user_job){
			.o = o, .set = set, .start = &start, .result = new_results(set->nr),
			.from = split ? slice(from, to, i, o->threads) : from,
			.to = split ? slice(from, to, i + 1, o->threads) : to,
		};
		error = pthread_create(&threads[i], &attr, user_thread, &jobs[i]);
		if (error)
			die("cannot start thread %llu: %s", (unsigned long long)i,
			    strerror(error));
	}
	for (i = 0; i < o->threads; i++)
		pthread_join(threads[i], NULL);
	add_results(jobs, o->threads, set);
	for (i = 0; i < o->threads; i++)
		free(jobs[i].result);
	pthread_barrier_destroy(&start);
	pthread_attr_destroy(&attr);
	free(threads);
	free(jobs);
}

/* Touch by touch, how many pages each one brought. */
static void touch_observed(const struct options *o, struct vma *v, size_t from, size_t to)
{
	struct user_result one;
	uint64_t before, after;
	size_t i;

	if (!v->observed)
		v->observed = calloc(v->pages + 1, sizeof(v->observed[0]));
	if (!v->observed)
		die("out of memory");
	before = pagemap_present(v->addr, v->pages, NULL);
	for (i = from; i < to; i++) {
		one = touch_vma(o, v, o->order, i, i + 1);
		after = pagemap_present(v->addr, v->pages, NULL);
		v->min_flt += one.min_flt;
		v->failed_touches += one.failed;
		v->touch_ns += one.ns;
		v->observed[after > before ? after - before : 0]++;
		before = after;
	}
}

void touch_by_user(const struct options *o, struct vma_set *set, size_t from, size_t to)
{
	struct user_job job = { .o = o, .set = set, .from = from, .to = to };
	size_t i;

	if (from >= to)
		return;
	if (o->threads > 1) {
		touch_by_threads(o, set, from, to);
	} else if (o->observe) {
		warm_up(o);
		for (i = 0; i < set->nr; i++)
			touch_observed(o, &set->vma[i], from, to);
	} else {
		job.result = new_results(set->nr);
		job.noise = warm_up(o);
		touch_set(&job);
		add_results(&job, 1, set);
		free(job.result);
	}
	for (i = 0; i < set->nr; i++)
		count_touched(o, &set->vma[i], from, to, ORIGIN_USER);
}

/* --- touches by the kernel, for a system call of ours ------------------ */

static bool write_from(int fd, const void *page)
{
	return write(fd, page, 1) == 1;
}

static bool read_into(int fd, void *page)
{
	return read(fd, page, 1) == 1;
}

/* A pipe of one byte at a time: it never blocks, and copies to and from the page itself. */
static bool access_through_pipe(const int fd[2], unsigned char *page, enum access_bits how)
{
	unsigned char byte = 0x5a;

	if (how & ACCESS_READ && !(write_from(fd[1], page) && read_into(fd[0], &byte)))
		return false;
	if (how & ACCESS_WRITE && !(write_from(fd[1], &byte) && read_into(fd[0], page)))
		return false;
	return true;
}

static void touch_through_kernel(const struct options *o, struct vma *v, size_t from, size_t to)
{
	unsigned char trial = 0;
	uint64_t faults, begin;
	int fd[2];
	size_t i;

	if (pipe2(fd, O_CLOEXEC))
		die("pipe: %m");
	prefault_stack();
	access_through_pipe(fd, &trial, ACCESS_READ | ACCESS_WRITE);
	begin = now_ns();
	faults = thread_min_flt();
	for (i = from; i < to; i++)
		if (vma_has(v, o->order[i]) &&
		    !access_through_pipe(fd, page_addr(v, o->order[i]),
					 page_access(o, v, o->order[i])))
			die("a system call could not touch page %u: %m", o->order[i]);
	v->min_flt += thread_min_flt() - faults;
	v->touch_ns += now_ns() - begin;
	close(fd[0]);
	close(fd[1]);
	count_touched(o, v, from, to, ORIGIN_KERNEL);
}

static size_t at_most(size_t value, size_t limit)
{
	return value < limit ? value : limit;
}

static size_t at_least(size_t value, size_t limit)
{
	return value > limit ? value : limit;
}

void touch_range(const struct options *o, struct vma_set *set, size_t from, size_t to)
{
	size_t kernel_end = at_most(o->kernel_touches, to);
	size_t remote_end = at_most(o->kernel_touches + o->remote_touches, to);
	size_t i;

	for (i = 0; i < set->nr; i++) {
		struct vma *v = &set->vma[i];

		if (from < kernel_end)
			touch_through_kernel(o, v, from, kernel_end);
		if (at_least(from, kernel_end) < remote_end) {
			v->min_flt += remote_touch(v, at_least(from, kernel_end), remote_end);
			count_touched(o, v, at_least(from, kernel_end), remote_end, ORIGIN_REMOTE);
		}
	}
	touch_by_user(o, set, at_least(from, remote_end), to);
}
