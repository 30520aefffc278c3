/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notices on stderr, and the table that says what an errno means on this
 * ground and what to do about it.
 */
#include "errors.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel_btf.h"
#include "printable.h"

/* Kernel-internal, but it reaches user space when a trampoline is refused. */
#define KERNEL_ENOTSUPP 524

/* Inode number of the initial user namespace (include/linux/proc_ns.h). */
#define INITIAL_USER_NAMESPACE 0xEFFFFFFDu

static bool quiet_notices, verbose_errors;

void errors_setup(bool quiet, bool verbose)
{
	quiet_notices = quiet;
	verbose_errors = verbose;
}

/*
 * In one write, so that a traced command's own output cannot part the line;
 * what it names may be called anything, and moves no cursor.
 */
static void print_line(const char *format, va_list args)
{
	char *text, *shown;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	shown = text ? printable_copy(text, false) : NULL;
	fprintf(stderr, "lazyfault: %s\n", shown ? shown : "out of memory, even for a message");
	free(shown);
	free(text);
}

void notice(const char *format, ...)
{
	va_list args;

	if (quiet_notices)
		return;
	va_start(args, format);
	print_line(format, args);
	va_end(args);
}

void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(format, args);
	va_end(args);
}

const char *error_name(int error)
{
	static _Thread_local char number[32];
	const char *known;

	if (error == KERNEL_ENOTSUPP)
		return "Operation not supported by this kernel (ENOTSUPP)";
	known = strerrordesc_np(error);
	if (known)
		return known;
	snprintf(number, sizeof(number), "Error %d", error);
	return number;
}

/* The ground. */

/* First bytes of a file as a string. 0 or -errno. */
static int read_text(const char *root, const char *path, char *text, size_t bytes)
{
	char name[512];
	size_t length;
	FILE *in;
	int err = 0;

	snprintf(name, sizeof(name), "%s%s", root, path);
	in = fopen(name, "re");
	if (!in)
		return -errno;
	length = fread(text, 1, bytes - 1, in);
	if (ferror(in))
		err = errno ? -errno : -EIO;
	text[length] = '\0';
	fclose(in);
	return err;
}

static uint64_t look_at_capabilities(const char *root)
{
	static const char key[] = "CapEff:";
	char name[512], *line = NULL;
	uint64_t caps = 0;
	size_t room = 0;
	FILE *in;

	snprintf(name, sizeof(name), "%s/proc/self/status", root);
	in = fopen(name, "re");
	if (!in)
		return 0;
	while (getline(&line, &room, in) > 0)
		if (strncmp(line, key, strlen(key)) == 0)
			caps = strtoull(line + strlen(key), NULL, 16);
	free(line);
	fclose(in);
	return caps;
}

/* The mode in force stands in brackets: "none [integrity] confidentiality". */
static int look_at_lockdown(const char *root)
{
	static const char *const modes[] = { "[none]", "[integrity]", "[confidentiality]" };
	char text[256];

	if (read_text(root, "/sys/kernel/security/lockdown", text, sizeof(text)) < 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (strstr(text, modes[i]))
			return i;
	return -1;
}

/* "capability,landlock,bpf" */
static int look_at_lsm_bpf(const char *root)
{
	char text[512], *rest = text, *name;

	if (read_text(root, "/sys/kernel/security/lsm", text, sizeof(text)) < 0)
		return -1;
	while ((name = strsep(&rest, ",\n")))
		if (!strcmp(name, "bpf"))
			return 1;
	return 0;
}

static bool look_at_user_namespace(const char *root)
{
	char name[512];
	struct stat st;

	snprintf(name, sizeof(name), "%s/proc/self/ns/user", root);
	return stat(name, &st) == 0 && st.st_ino != INITIAL_USER_NAMESPACE;
}

static bool look_at_btf(const char *root)
{
	char name[512];

	snprintf(name, sizeof(name), "%s/sys/kernel/btf/vmlinux", root);
	return access(name, R_OK) == 0;
}

void ground_look_under(struct ground *ground, const char *root)
{
	bool child = look_at_user_namespace(root);
	/* Capabilities of a child user namespace are none in bpf(2)'s eyes. */
	uint64_t caps = child ? 0 : look_at_capabilities(root);

	*ground = (struct ground) {
		.root = geteuid() == 0 && !child,
		.user_namespace = child,
		.cap_bpf = caps >> CAP_BPF & 1,
		.cap_perfmon = caps >> CAP_PERFMON & 1,
		.cap_sys_admin = caps >> CAP_SYS_ADMIN & 1,
		.lockdown = look_at_lockdown(root),
		.lsm_bpf = look_at_lsm_bpf(root),
		.btf = look_at_btf(root),
	};
}

void ground_look(struct ground *ground)
{
	ground_look_under(ground, "");
}

/* Loads "r0 = 0; exit". 0 or -errno. */
static int try_program(enum bpf_prog_type type, const struct bpf_prog_load_opts *opts)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(type, "lazyfault_try", "GPL", nothing,
			       sizeof(nothing) / sizeof(nothing[0]), opts);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* A BTF id that a minimal tracing program can name, or 0. */
static __u32 function_to_trace(void)
{
	static const char *const functions[] = { "bpf_map_mmap", "__sys_bpf" };
	__u32 id = 0;

	for (size_t i = 0; !id && i < sizeof(functions) / sizeof(functions[0]); i++)
		id = kernel_function(functions[i]);
	kernel_btf_forget();
	return id;
}

void ground_try_programs(struct ground *ground)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = function_to_trace());
	int err = opts.attach_btf_id ? try_program(BPF_PROG_TYPE_TRACING, &opts) : 0;

	ground->tracing_refused = err == -EPERM || err == -EACCES;
	ground->plain_bpf_loads = try_program(BPF_PROG_TYPE_SOCKET_FILTER, NULL) == 0;
}

/* Causes. */

/* CAP_SYS_ADMIN stands for both, as before Linux 5.8. */
static bool lacks_bpf(const struct ground *ground)
{
	return !ground->cap_bpf && !ground->cap_sys_admin;
}

static bool lacks_perfmon(const struct ground *ground)
{
	return !ground->cap_perfmon && !ground->cap_sys_admin;
}

static bool lacks_capability(const struct ground *ground)
{
	return lacks_bpf(ground) || lacks_perfmon(ground);
}

static bool in_user_namespace(const struct ground *ground)
{
	return ground->user_namespace;
}

static bool is_user(const struct ground *ground)
{
	return !ground->root && lacks_capability(ground);
}

static bool is_bare_root(const struct ground *ground)
{
	return ground->root && lacks_capability(ground);
}

static bool lacks_admin(const struct ground *ground)
{
	return !ground->cap_sys_admin;
}

static bool lacks_btf(const struct ground *ground)
{
	return !ground->btf;
}

static bool is_confidential(const struct ground *ground)
{
	return ground->lockdown == 2;
}

static bool refuses_tracing_only(const struct ground *ground)
{
	return ground->tracing_refused && ground->plain_bpf_loads;
}

static bool refuses_all(const struct ground *ground)
{
	return ground->tracing_refused && !ground->plain_bpf_loads;
}

#define AT(step) (1u << (step))
#define AT_ANY (~0u)
#define AT_PROGRAM (AT(STEP_OPEN) | AT(STEP_LOAD) | AT(STEP_ATTACH))
#define AT_MEMORY (AT(STEP_RING) | AT(STEP_MAP) | AT(STEP_LOAD) | AT(STEP_OPEN))

/*
 * A cause fits if the step is among `steps`, the errno among `errors` (none
 * named: any), and `holds` is true of the ground (NULL: always). The first
 * that fits is told. {missing} becomes the capabilities that are lacking,
 * {log} where the log is to be found.
 */
struct cause {
	unsigned int steps;
	int errors[4];
	bool (*holds)(const struct ground *ground);
	const char *text;
};

static const struct cause causes[] = {
	{ AT_ANY, { EPERM, EACCES }, in_user_namespace,
	  "This process is in a user namespace of its own, as in a rootless container; its "
	  "capabilities, root's too, do not count for tracing the kernel. Run lazyfault on the "
	  "host, with sudo." },
	{ AT_ANY, { EPERM, EACCES }, is_user,
	  "Tracing needs root's rights. Run lazyfault with sudo, or grant it CAP_BPF and "
	  "CAP_PERFMON (setcap cap_bpf,cap_perfmon+ep on the program)." },
	{ AT_ANY, { EPERM, EACCES }, is_bare_root,
	  "This process is root but lacks {missing}, as is usual in a container. Give the "
	  "container what is missing (docker and podman: --cap-add), or run lazyfault on the "
	  "host." },

	/* The helper that reads kernel memory is hidden then: that is EINVAL too. */
	{ AT_PROGRAM, { EPERM, EACCES, EINVAL }, is_confidential,
	  "The kernel is locked down in confidentiality mode, in which no BPF program may read "
	  "kernel memory. Boot it without lockdown=confidentiality; lockdown=integrity does no "
	  "harm." },
	{ AT_PROGRAM, { 0 }, lacks_btf,
	  "This kernel has no type information (BTF) in /sys/kernel/btf/vmlinux, by which "
	  "programs find the functions that they trace. Use a kernel that was built with "
	  "CONFIG_DEBUG_INFO_BTF." },

	{ AT(STEP_MAP), { EPERM, EACCES }, lacks_admin,
	  "Finding maps by id or name needs CAP_SYS_ADMIN, which this process has not. Run "
	  "lazyfault as root, or name the map by its pinned path." },
	{ AT_ANY, { EPERM, EACCES }, refuses_tracing_only,
	  "The kernel refuses BPF tracing programs as such: a minimal one was tried and refused, "
	  "a socket filter was tried and loads, and this process has CAP_BPF and CAP_PERFMON. So "
	  "a security module, a seccomp filter or the policy of this machine's kernel forbids "
	  "them. Raising ulimit -l will not help: locked memory is not the cause. Trace where "
	  "the kernel allows it, or ask whoever sets that policy." },
	{ AT_ANY, { EPERM, EACCES }, refuses_all,
	  "The kernel refuses every BPF program, a plain socket filter too, though this process "
	  "has CAP_BPF and CAP_PERFMON. So a security module or a seccomp filter (a container's "
	  "default one does) blocks bpf(2). Allow it there, or run lazyfault on the host." },
	{ AT_ANY, { EPERM }, NULL,
	  "The kernel refuses it though this process has CAP_BPF and CAP_PERFMON, so a security "
	  "module, a seccomp filter or lockdown of this kernel forbids it. 'lazyfault check' "
	  "tries each part by itself; {log}." },

	{ AT_ANY, { ENOSYS }, NULL,
	  "The system call bpf(2) is not there: the kernel was built without CONFIG_BPF_SYSCALL, "
	  "or a seccomp filter (a container's) hides it. Run lazyfault on the host, or on "
	  "another kernel." },

	{ AT(STEP_ATTACH), { E2BIG }, NULL,
	  "All places for tracing programs on this function (36 on x86-64, 37 on arm64) are "
	  "taken by other tracing programs. End some of them; 'bpftool link list' shows them." },
	{ AT(STEP_LOAD), { E2BIG, ENOSPC }, NULL,
	  "The program is larger than this kernel's verifier takes. Use a newer kernel; {log}." },
	{ AT(STEP_ATTACH), { EBUSY }, NULL,
	  "Something else holds this function for itself: a live patch, another direct user of "
	  "ftrace, or a program that replaces it. End that ('bpftool link list' and "
	  "/sys/kernel/debug/tracing/enabled_functions show who) and start again." },
	{ AT(STEP_ATTACH), { KERNEL_ENOTSUPP, EOPNOTSUPP }, NULL,
	  "This kernel cannot put a trampoline on its functions: it was built without direct "
	  "calls of ftrace (CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS), or BPF trampolines do not "
	  "exist for its architecture. Use a kernel that has them." },
	{ AT_ANY, { KERNEL_ENOTSUPP, EOPNOTSUPP }, NULL,
	  "This kernel does not offer that part of bpf(2), or was built without it "
	  "(CONFIG_BPF_JIT, CONFIG_BPF_EVENTS), or a seccomp filter hides it. Use a kernel that "
	  "has it; 'lazyfault check' tries each part by itself." },

	{ AT_PROGRAM, { ENOENT, ESRCH }, NULL,
	  "The function is not in the type information (BTF) of this kernel: the kernel does "
	  "not have it, or the compiler renamed or inlined it. What depends on it cannot be "
	  "traced here; 'lazyfault check' lists what can." },
	{ AT(STEP_MAP), { ENOENT, ESRCH }, NULL,
	  "The map is gone: it was freed after its last user closed it. 'bpftool map list' shows "
	  "the maps there are." },

	{ AT_ANY, { ENOMEM }, NULL,
	  "The kernel has no memory for it, or the memory limit of this cgroup is reached. A "
	  "smaller --max-vmas or --ring-size needs less; or raise the limit." },
	{ AT(STEP_RING), { EINVAL }, NULL,
	  "The kernel does not take a ring buffer of this size. Give another --ring-size: a "
	  "power of two and a multiple of the page size." },
	{ AT(STEP_MAP), { EINVAL, E2BIG }, NULL,
	  "The kernel does not know this kind of map, or not with these flags or this size. Use "
	  "a newer kernel, or a smaller --max-vmas." },
	{ AT_PROGRAM, { EINVAL, EACCES }, NULL,
	  "The kernel's verifier does not accept the program, or the kernel is too old for it; "
	  "{log}." },
	{ AT_ANY, { EMFILE, ENFILE }, NULL,
	  "Too many files are open. Raise the limit on open files (ulimit -n), or close some." },
	{ AT_MEMORY, { EAGAIN, EINTR }, NULL,
	  "It was interrupted. Start lazyfault again." },
	{ AT_ANY, { 0 }, NULL,
	  "lazyfault knows no usual cause of this. 'lazyfault check' tries each part by itself; "
	  "{log}." },
};

#define CAUSES (sizeof(causes) / sizeof(causes[0]))
#define CAUSE_ERRORS (sizeof(causes[0].errors) / sizeof(causes[0].errors[0]))

static bool cause_fits(const struct cause *cause, const struct ground *ground,
		       enum failed_step step, int error)
{
	bool named = cause->errors[0] == 0;

	for (size_t i = 0; i < CAUSE_ERRORS && cause->errors[i]; i++)
		if (cause->errors[i] == error)
			named = true;
	return named && (cause->steps & AT(step)) && (!cause->holds || cause->holds(ground));
}

static const struct cause *find_cause(const struct ground *ground, enum failed_step step,
				      int error)
{
	size_t i = 0;

	/* The last one always fits. */
	while (i < CAUSES - 1 && !cause_fits(&causes[i], ground, step, error))
		i++;
	return &causes[i];
}

/* What was being done to `what`. */
static const char *const step_words[] = {
	[STEP_OPEN] = "prepare",
	[STEP_LOAD] = "load",
	[STEP_ATTACH] = "attach",
	[STEP_RING] = "set up",
	[STEP_MAP] = "use",
};

static const char *missing_capabilities(const struct ground *ground)
{
	if (lacks_bpf(ground) && lacks_perfmon(ground))
		return "CAP_BPF and CAP_PERFMON";
	return lacks_bpf(ground) ? "CAP_BPF" : "CAP_PERFMON";
}

/* Copies text to out, its {words} replaced. */
static void expand(FILE *out, const char *text, const struct ground *ground)
{
	const struct {
		const char *word, *value;
	} words[] = {
		{ "{missing}", missing_capabilities(ground) },
		{ "{log}", verbose_errors ? "libbpf's log above says more" :
					    "-v shows libbpf's log" },
	};

	while (*text) {
		const char *value = NULL;

		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]) && !value; i++) {
			if (strncmp(text, words[i].word, strlen(words[i].word)) != 0)
				continue;
			value = words[i].value;
			text += strlen(words[i].word);
		}
		if (value)
			fputs(value, out);
		else
			fputc(*text++, out);
	}
}

void explain_failure(const struct ground *ground, enum failed_step step, int error,
		     const char *what, char *text, size_t bytes)
{
	char *whole = NULL;
	size_t length;
	FILE *out = open_memstream(&whole, &length);

	if (out) {
		fprintf(out, "Cannot %s %s: %s. ", step_words[step], what, error_name(error));
		expand(out, find_cause(ground, step, error)->text, ground);
		fclose(out);
	}
	snprintf(text, bytes, "%s", whole ? whole : error_name(error));
	free(whole);
}
