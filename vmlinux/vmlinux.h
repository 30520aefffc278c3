/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel types that the programs read, written by hand: a field here is a
 * field some program uses. preserve_access_index lets libbpf find each one in
 * the running kernel's BTF, so offsets and the fields left out do not matter.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

enum { false = 0, true = 1 };

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_CGROUP_ARRAY = 8,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_HASH_OF_MAPS = 13,
	BPF_MAP_TYPE_STACK = 23,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
};

enum {
	BPF_F_MMAPABLE = 1 << 10,
};

enum {
	BPF_RB_NO_WAKEUP = 1,
	BPF_RB_FORCE_WAKEUP = 2,
	BPF_RB_AVAIL_DATA = 0,
};

struct bpf_spin_lock {
	__u32 val;
};

/* Not a kernel type's field, but what the verifier hands to iterators. */
struct seq_file;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

struct page;
struct cgroup;

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct task_struct {
	int pid;
	int tgid;
	char comm[16];
	__u64 start_time;	/* ns, CLOCK_MONOTONIC */
	unsigned long nvcsw;	/* times it left its CPU of its own will */
	unsigned long nivcsw;	/* and was taken off it */
	struct mm_struct *mm;
	struct mm_struct *active_mm;
	struct files_struct *files;
	struct task_struct *group_leader;
	struct pid *thread_pid;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct mm_struct {
	struct task_struct *owner;	/* CONFIG_MEMCG */
};

struct file_operations;

struct file {
	const struct file_operations *f_op;
	void *private_data;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_pgoff;
	struct file *vm_file;
	const struct vm_operations_struct *vm_ops;
};

typedef struct {
	int counter;
} atomic_t;

typedef struct refcount_struct {
	atomic_t refs;
} refcount_t;

/* Since 6.15 a VMA that is in no mm has a count of 0; from 6.4 on it had a flag. */
struct vm_area_struct___v615 {
	refcount_t vm_refcnt;
};

struct vm_area_struct___v64 {
	bool detached;
};

/* Values are the kernel's own; bit numbers have not changed since 5.15. */
enum fault_flag {
	FAULT_FLAG_WRITE = 1 << 0,
	FAULT_FLAG_USER = 1 << 6,
	FAULT_FLAG_REMOTE = 1 << 7,
	FAULT_FLAG_VMA_LOCK = 1 << 12,	/* since 6.4 */
};

struct folio {
	void *mapping;		/* struct address_space *, or more of anonymous memory */
};

struct vm_fault {
	struct vm_area_struct *vma;
	unsigned long pgoff;
	unsigned long address;
	enum fault_flag flags;
	void *pmd;
	struct page *page;
};

struct vm_operations_struct {
	void (*open)(struct vm_area_struct *vma);
	void (*close)(struct vm_area_struct *vma);
	unsigned int (*fault)(struct vm_fault *vmf);
	unsigned int (*map_pages)(struct vm_fault *vmf, unsigned long start_pgoff,
				  unsigned long end_pgoff);
};

struct bpf_map {
	enum bpf_map_type map_type;
	__u32 id;
	char name[16];
};

/* What a task was in user space, by architecture. */
#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r10;
	unsigned long si;
	unsigned long orig_ax;
};

struct thread_info {
	__u32 status;
};

struct thread_struct {
	unsigned long error_code;
};

struct task_struct___x86 {
	struct thread_info thread_info;
	struct thread_struct thread;
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31];
};

struct pt_regs {
	__u64 regs[31];
	int syscallno;
};

struct thread_struct {
	unsigned long fault_code;
};

struct task_struct___arm64 {
	struct thread_struct thread;
};
#endif

#pragma clang attribute pop

#endif
