/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of the workload program share: its options, the VMAs that it
 * made together with what it knows about them, and the calls between the files.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MAX_PAGES (1ULL << 20)	/* as many as an arena has, with 4 KiB pages */
#define ALL_TOUCHES UINT64_MAX
#define COMM_BYTES 16		/* TASK_COMM_LEN, with the final NUL */
#define MAP_NAME_BYTES 16	/* BPF_OBJ_NAME_LEN, with the final NUL */

enum map_kind { KIND_ARRAY, KIND_ARENA, KIND_RINGBUF, KIND_USER_RINGBUF };

/* How one page is accessed: one of these bits, or both (read, then write). */
enum access_bits { ACCESS_READ = 1, ACCESS_WRITE = 2 };

enum access_plan { PLAN_READ, PLAN_WRITE, PLAN_NONE, PLAN_MIXED, PLAN_READ_THEN_WRITE };
enum order_plan { ORDER_FORWARD, ORDER_BACKWARD, ORDER_RANDOM, ORDER_STRIDE, ORDER_ONCE };
enum share { SHARE_SPLIT, SHARE_SAME };
enum protection { PROTECTION_DEFAULT, PROTECTION_READ, PROTECTION_WRITE };
enum advice { ADVICE_NONE, ADVICE_POPULATE_READ, ADVICE_POPULATE_WRITE, ADVICE_MLOCK,
	      ADVICE_DONTNEED };
enum fork_plan { FORK_NONE, FORK_BEFORE_TOUCH, FORK_HALF_TOUCHED };
enum split_plan { SPLIT_NONE, SPLIT_MPROTECT, SPLIT_MUNMAP };
enum ending { END_MUNMAP, END_EXIT, END_EXEC, END_KILL };
enum origin { ORIGIN_USER, ORIGIN_POPULATE, ORIGIN_KERNEL, ORIGIN_REMOTE, ORIGIN_NR };

struct options {
	/* the map */
	enum map_kind kind;
	char name[MAP_NAME_BYTES];
	const char *pin;
	uint64_t map_pages;
	uint64_t value_bytes;
	bool new_map;			/* a map of its own for each round */
	bool segv_on_fault;
	/* the VMAs */
	uint64_t pages;
	uint64_t offset;
	uint64_t vmas;
	uint64_t vma_stride;
	bool populate;
	enum protection protection;
	/* the touches */
	enum access_plan access;
	uint64_t mixed_every;
	enum order_plan order_plan;
	uint64_t order_value;		/* of a stride, or the seed */
	const char *order_text;		/* of once: the list */
	uint32_t *order;		/* what comes of it: page numbers within the VMA */
	size_t nr_touches;
	uint64_t threads;
	enum share share;
	uint64_t kernel_touches;
	uint64_t remote_touches;
	bool observe;
	int fifo_priority;		/* 0: the scheduler's default */
	/* what happens to the VMAs between touches */
	enum advice advice;
	uint64_t advice_times;
	enum fork_plan fork;
	enum split_plan split;
	bool move;
	/* the course of the run */
	uint64_t rounds;
	uint64_t seconds;
	bool forever;
	uint64_t processes;
	uint64_t parallel;
	uint64_t pause_ms;
	uint64_t noise;
	const char *wait_before;
	const char *wait_file;
	bool hold;
	enum ending ending;
	bool quiet;
	char comm[COMM_BYTES];
	bool comm_given;
	/* private to the program's own helpers */
	bool do_nothing;
};

/* Faults that a tracer must have seen in one VMA. */
struct fault_counts {
	uint64_t read, write;
	uint64_t by_origin[ORIGIN_NR];
	uint64_t failed;
};

enum vma_mode { MODE_UNKNOWN, MODE_EAGER, MODE_LAZY };

/* What the program remembers of each page of a VMA. */
enum page_bits { PAGE_PRESENT = 1, PAGE_WAS_READ = 2, PAGE_WAS_WRITTEN = 4 };

struct vma {
	unsigned char *addr;
	uint64_t pages;
	uint64_t first;			/* its first page, from the start of the mmap() */
	uint64_t offset;		/* its first page, from the start of the map */
	uint64_t index;
	const char *role;
	enum vma_mode mode;
	bool read_only;			/* mprotect() took the write permission */
	bool bare;			/* eager, its PTEs dropped: touches end in SIGBUS */
	bool gone;			/* unmapped already */
	bool lacks_boundaries;		/* /proc/self/maps does not have it so */
	uint8_t *page;			/* enum page_bits for each page */
	uint64_t touched_read, touched_write;	/* pages */

	struct fault_counts expect;
	unsigned int origins;		/* bit for each enum origin that touched it */
	uint64_t present_before, present_after;
	int64_t inherited;		/* PTEs that no fault installed in this VMA */
	uint64_t dropped;		/* PTEs that MADV_DONTNEED took away */
	uint64_t min_flt, min_flt_noise;
	uint64_t failed_touches, expect_failed_touches;
	uint64_t mmap_ns, touch_ns;
	uint64_t *observed;		/* observed[n]: touches that brought n pages */
	bool raced;			/* several threads touched the same page */
};

/* VMAs of one round in one process, as they are now. */
struct vma_set {
	struct vma *vma;
	size_t nr, capacity;
};

/* One map, as user space knows it. */
struct map {
	int fd;
	uint32_t id;
	unsigned char *fixed_addr;	/* where an arena has to be mapped; NULL: anywhere */
};

/* Sums over every process of the run, in memory that they share. */
struct totals {
	_Atomic uint64_t vmas, touched_read, touched_write;
	_Atomic uint64_t read, write, failed, installed, min_flt, failed_touches;
	_Atomic uint64_t by_origin[ORIGIN_NR];
	_Atomic uint64_t processes, rounds, disagreements, min_flt_disagreements, around;
	_Atomic uint64_t eager, lazy;
	uint64_t start_ns;
};

extern struct totals *totals;
extern size_t page_bytes;
/* Set in any process that sends others to do its work and forks: who it is. */
extern const char *program_name;

/* options.c */
void options_parse(int argc, char **argv, struct options *o);
const char *kind_name(enum map_kind kind);
enum access_bits page_access(const struct options *o, const struct vma *v, uint64_t page);

/* check.c: completes the options; a message to free(), or NULL if they fit each other. */
char *options_complete(struct options *o);

/* order.c */
bool to_number(const char *text, uint64_t *value);
bool order_make(struct options *o);

/* map.c; any failure ends the program with a message. */
void map_create(const struct options *o, struct map *map);
void map_destroy(const struct options *o, struct map *map);

/* oracle.c */
__attribute__((noreturn, format(printf, 1, 2))) void die(const char *format, ...);
uint64_t now_ns(void);
/* Of the calling thread. What lies between two calls must find its own memory in place. */
uint64_t thread_min_flt(void);
/* Puts the stack below the caller in place: it may be new, or shared since a fork. */
void prefault_stack(void);
void prefault_program(void);
/* Pages of [addr, addr + pages) that have a PTE; a byte for each in *present unless NULL. */
uint64_t pagemap_present(const void *addr, uint64_t pages, uint8_t *present);
bool maps_has(const void *start, const void *end);

/* touch.c */
void touch_init(const struct options *o);
/* Touch what entries [from, to) of the order say, in every VMA of the set. */
void touch_range(const struct options *o, struct vma_set *set, size_t from, size_t to);
/* The same from user mode only, whatever the options say. */
void touch_by_user(const struct options *o, struct vma_set *set, size_t from, size_t to);

/* helper.c: processes that are forked before anything is mapped. */
void remote_start(const struct options *o);
void remote_stop(void);
void noise_start(uint64_t nr);
void noise_stop(void);
uint64_t remote_touch(const struct vma *v, size_t from, size_t to);
pid_t fork_child(void);
void wait_for_child(pid_t pid);

/* vma.c: making VMAs and changing them. */
struct vma *vma_set_add(struct vma_set *set);
void vma_set_free(struct vma_set *set);
void vma_map(const struct options *o, struct map *map, struct vma_set *set, uint64_t index);
void vma_populate(const struct options *o, struct vma *v);
void vma_drop_ptes(struct vma *v);
void vma_split(const struct options *o, struct vma_set *set, size_t at);
void vma_move(struct vma_set *set, size_t at);
void vma_inherit(struct vma *v);
void vma_unmap(struct vma *v);

/* report.c */
void report_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void report_refusal(const char *call);	/* of errno */
void report_map(const struct options *o, const struct map *map);
void report_ready(const struct options *o, const struct map *map, const struct vma_set *set);
void report_vma(const struct options *o, const struct map *map, struct vma *v, uint64_t round);
void report_summary(const struct options *o);

/* run.c */
void run_rounds(const struct options *o, struct map *map);
void run_processes(const struct options *o, struct map *map);
bool should_stop(void);
void signals_init(const struct options *o);
void wait_ms(uint64_t ms);
void wait_for_file(const char *path);

#endif
