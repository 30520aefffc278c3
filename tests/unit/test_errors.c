/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is said when tracing fails: for each errno, step and ground the cause
 * that holds there, and no advice that would not help. And the notices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "errors.h"

#include "contains.h"

#define NOTSUPP 524

/* Root on a kernel where all should work. */
static const struct ground good = {
	.root = true, .cap_bpf = true, .cap_perfmon = true, .cap_sys_admin = true,
	.lockdown = 0, .btf = true, .plain_bpf_loads = true,
};

static const struct ground user = {
	.lockdown = -1, .btf = true,
};

static const struct ground user_namespace = {
	.user_namespace = true, .lockdown = 0, .btf = true,
};

static const struct ground capable_user = {
	.cap_bpf = true, .cap_perfmon = true, .lockdown = 0, .btf = true,
};

static const struct ground bare_root = { .root = true, .btf = true };
static const struct ground root_without_perfmon = {
	.root = true, .cap_bpf = true, .btf = true,
};
static const struct ground root_without_bpf = {
	.root = true, .cap_perfmon = true, .btf = true,
};

static struct ground good_but(int lockdown, bool btf, bool tracing_refused, bool plain_loads)
{
	struct ground ground = good;

	ground.lockdown = lockdown;
	ground.btf = btf;
	ground.tracing_refused = tracing_refused;
	ground.plain_bpf_loads = plain_loads;
	return ground;
}

static const char *explain(const struct ground *ground, enum failed_step step, int error)
{
	static char text[4096];

	memset(text, 'x', sizeof(text));
	explain_failure(ground, step, error, "the_program", text, sizeof(text));
	return text;
}

/* Every explanation: what failed, errno in words, and at least one sentence more. */
static void assert_shape(const char *text, int error)
{
	char failed[256];

	snprintf(failed, sizeof(failed), "the_program: %s. ", error_name(error));
	assert_int_equal(strncmp(text, "Cannot ", strlen("Cannot ")), 0);
	assert_contains(text, failed);
	assert_null(strchr(text, '\n'));
	assert_null(strchr(text, '{'));
	assert_null(strchr(text, '%'));
	assert_int_equal(text[strlen(text) - 1], '.');
	assert_true(strlen(text) > strlen(failed) + 40);
}

static void assert_explained(const struct ground *ground, enum failed_step step, int error,
			     const char *part, const char *other_part)
{
	const char *text = explain(ground, step, error);

	assert_shape(text, error);
	assert_contains(text, part);
	assert_contains(text, other_part);
}

static void test_not_root(void **state)
{
	(void)state;
	for (enum failed_step step = STEP_OPEN; step <= STEP_MAP; step++) {
		assert_explained(&user, step, EPERM, "sudo", "CAP_BPF and CAP_PERFMON");
		assert_explained(&user, step, EACCES, "sudo", "CAP_BPF and CAP_PERFMON");
		assert_null(strstr(explain(&user, step, EPERM), "CAP_SYS_RESOURCE"));
	}
}

static void test_root_without_a_capability(void **state)
{
	(void)state;
	assert_explained(&bare_root, STEP_LOAD, EPERM, "lacks CAP_BPF and CAP_PERFMON,",
			 "container");
	assert_explained(&root_without_perfmon, STEP_LOAD, EPERM, "lacks CAP_PERFMON,",
			 "--cap-add");
	assert_explained(&root_without_bpf, STEP_LOAD, EPERM, "lacks CAP_BPF,", "--cap-add");
	assert_explained(&root_without_bpf, STEP_RING, EPERM, "lacks CAP_BPF,", "--cap-add");
}

static void test_sys_admin_stands_for_both(void **state)
{
	struct ground ground = bare_root;

	(void)state;
	ground.cap_sys_admin = true;
	assert_null(strstr(explain(&ground, STEP_LOAD, EPERM), "lacks"));
}

static void test_user_namespace(void **state)
{
	(void)state;
	assert_explained(&user_namespace, STEP_LOAD, EPERM, "user namespace", "on the host");
}

static void test_capable_user_is_not_sent_to_sudo(void **state)
{
	(void)state;
	assert_null(strstr(explain(&capable_user, STEP_LOAD, EPERM), "sudo"));
	assert_explained(&capable_user, STEP_MAP, EPERM, "CAP_SYS_ADMIN", "pinned path");
}

static void test_lockdown(void **state)
{
	struct ground confidential = good_but(2, true, false, true);
	struct ground integrity = good_but(1, true, false, true);

	(void)state;
	assert_explained(&confidential, STEP_LOAD, EPERM, "confidentiality mode",
			 "lockdown=integrity does no harm");
	assert_explained(&confidential, STEP_LOAD, EINVAL, "confidentiality mode", "Boot it");
	assert_null(strstr(explain(&integrity, STEP_LOAD, EPERM), "confidentiality"));
	assert_null(strstr(explain(&integrity, STEP_LOAD, EINVAL), "confidentiality"));
	/* a cause of its own, whatever the lockdown */
	assert_explained(&confidential, STEP_ATTACH, E2BIG, "places", "bpftool link list");
}

static void test_no_btf(void **state)
{
	struct ground ground = good_but(0, false, false, true);

	(void)state;
	assert_explained(&ground, STEP_OPEN, ENOENT, "CONFIG_DEBUG_INFO_BTF",
			 "/sys/kernel/btf/vmlinux");
	assert_explained(&ground, STEP_LOAD, ESRCH, "CONFIG_DEBUG_INFO_BTF", "BTF");
	assert_explained(&ground, STEP_LOAD, EINVAL, "CONFIG_DEBUG_INFO_BTF", "BTF");
	assert_null(strstr(explain(&good, STEP_LOAD, ESRCH), "CONFIG_DEBUG_INFO_BTF"));
	/* not being root comes before it */
	ground = user;
	ground.btf = false;
	assert_explained(&ground, STEP_LOAD, EPERM, "sudo", "CAP_BPF");
}

/* Every errno of a refusal on a machine whose kernel refuses tracing programs. */
static void test_tracing_refused(void **state)
{
	struct ground ground = good_but(-1, true, true, true);

	(void)state;
	for (enum failed_step step = STEP_OPEN; step <= STEP_MAP; step++) {
		assert_explained(&ground, step, EPERM, "a minimal one was tried",
				 "socket filter was tried and loads");
		assert_explained(&ground, step, EPERM, "security module",
				 "Raising ulimit -l will not help");
	}
	assert_explained(&ground, STEP_LOAD, EACCES, "a minimal one was tried", "seccomp");
	ground = good_but(0, true, false, true);
	assert_null(strstr(explain(&ground, STEP_LOAD, EPERM), "was tried"));
}

static void test_all_bpf_refused(void **state)
{
	struct ground ground = good_but(-1, true, true, false);

	(void)state;
	assert_explained(&ground, STEP_LOAD, EPERM, "every BPF program", "blocks bpf(2)");
}

static void test_errnos(void **state)
{
	static const struct {
		enum failed_step step;
		int error;
		const char *cause, *remedy;
	} cases[] = {
		{ STEP_LOAD, EPERM, "security module", "lazyfault check" },
		{ STEP_LOAD, ENOSYS, "CONFIG_BPF_SYSCALL", "seccomp" },
		{ STEP_MAP, ENOSYS, "CONFIG_BPF_SYSCALL", "seccomp" },
		{ STEP_LOAD, EOPNOTSUPP, "does not offer", "seccomp" },
		{ STEP_ATTACH, EOPNOTSUPP, "trampoline", "Use a kernel" },
		{ STEP_ATTACH, NOTSUPP, "trampoline", "CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS" },
		{ STEP_LOAD, NOTSUPP, "does not offer", "Use a kernel" },
		{ STEP_ATTACH, E2BIG, "(36 on x86-64", "bpftool link list" },
		{ STEP_LOAD, E2BIG, "larger than this kernel's verifier", "newer kernel" },
		{ STEP_ATTACH, EBUSY, "live patch", "End that" },
		{ STEP_LOAD, ENOENT, "not in the type information", "lazyfault check" },
		{ STEP_OPEN, ESRCH, "not in the type information", "lazyfault check" },
		{ STEP_ATTACH, ENOENT, "not in the type information", "lazyfault check" },
		{ STEP_MAP, ENOENT, "map is gone", "bpftool map list" },
		{ STEP_LOAD, ENOMEM, "no memory", "--max-vmas" },
		{ STEP_RING, ENOMEM, "no memory", "--ring-size" },
		{ STEP_RING, EINVAL, "ring buffer of this size", "power of two" },
		{ STEP_MAP, EINVAL, "this kind of map", "newer kernel" },
		{ STEP_LOAD, EINVAL, "verifier does not accept", "-v shows" },
		{ STEP_LOAD, EACCES, "verifier does not accept", "-v shows" },
		{ STEP_LOAD, EMFILE, "Too many files", "ulimit -n" },
		{ STEP_LOAD, EAGAIN, "interrupted", "again" },
		{ STEP_ATTACH, EXDEV, "no usual cause", "lazyfault check" },
		{ STEP_LOAD, 99999, "no usual cause", "lazyfault check" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_explained(&good, cases[i].step, cases[i].error, cases[i].cause,
				 cases[i].remedy);
}

/* Locked memory is never the cause on the kernels that lazyfault is for. */
static void assert_no_ulimit_advice(const char *text)
{
	const char *at = strstr(text, "ulimit -l");

	if (at && strncmp(at, "ulimit -l will not help", 23) != 0)
		fail_msg("advises: %s", text);
	assert_null(strstr(text, "RLIMIT_MEMLOCK"));
}

/* All grounds, all steps, all errnos: a whole sentence, and no wrong advice. */
static void test_every_combination_is_explained(void **state)
{
	const struct ground grounds[] = {
		good, user, user_namespace, capable_user, bare_root, root_without_perfmon,
		root_without_bpf, good_but(2, true, true, true), good_but(-1, true, true, true),
		good_but(-1, true, true, false), good_but(0, false, true, true),
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(grounds); i++) {
		for (enum failed_step step = STEP_OPEN; step <= STEP_MAP; step++) {
			for (int error = 1; error <= 530; error++) {
				const char *text = explain(&grounds[i], step, error);

				assert_shape(text, error);
				assert_no_ulimit_advice(text);
			}
		}
	}
}

static void test_verbose_does_not_send_to_verbose(void **state)
{
	(void)state;
	errors_setup(false, true);
	assert_null(strstr(explain(&good, STEP_LOAD, EINVAL), "-v shows"));
	assert_contains(explain(&good, STEP_LOAD, EINVAL), "log above");
	errors_setup(false, false);
	assert_contains(explain(&good, STEP_LOAD, EINVAL), "-v shows");
}

static void test_text_is_cut_to_its_room(void **state)
{
	char text[16];

	(void)state;
	memset(text, 'x', sizeof(text));
	explain_failure(&good, STEP_LOAD, EINVAL, "p", text, 8);
	assert_string_equal(text, "Cannot ");
	assert_int_equal(text[8], 'x');
	explain_failure(&good, STEP_LOAD, EINVAL, "p", text, 1);
	assert_string_equal(text, "");
	text[0] = 'x';
	explain_failure(&good, STEP_LOAD, EINVAL, "p", text, 0);
	assert_int_equal(text[0], 'x');
}

static void test_error_names(void **state)
{
	const char *denied = error_name(EPERM);

	(void)state;
	assert_contains(error_name(NOTSUPP), "ENOTSUPP");
	assert_contains(error_name(NOTSUPP), "not supported");
	assert_string_equal(error_name(ENOENT), strerror(ENOENT));
	assert_string_equal(denied, strerror(EPERM));
	assert_contains(error_name(99999), "99999");
}

/* The ground, in a tree of files made for it. */

static char tree[] = "build/ground-XXXXXX";

static void make_directories(char *path)
{
	for (char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (*path)
			mkdir(path, 0755);
		*slash = '/';
	}
}

static void write_file(const char *name, const char *content)
{
	char path[256];
	FILE *out;

	snprintf(path, sizeof(path), "%s%s", tree, name);
	make_directories(path);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs(content, out);
	fclose(out);
}

static void write_capabilities(const char *mask)
{
	char content[20000];
	int used = snprintf(content, sizeof(content), "Name:\tCapEff:\nGroups:\t");

	/* a process in many groups has a long line before it */
	for (int i = 0; i < 2000; i++)
		used += snprintf(content + used, sizeof(content) - (size_t)used, "%d ", 1000 + i);
	snprintf(content + used, sizeof(content) - (size_t)used,
		 "\nCapPrm:\t000001ffffffffff\nCapEff:\t%s\nCapBnd:\t000001ffffffffff\n", mask);
	write_file("/proc/self/status", content);
}

static int make_tree(void **state)
{
	(void)state;
	strcpy(tree, "build/ground-XXXXXX");
	return mkdtemp(tree) ? 0 : -1;
}

static int remove_tree(void **state)
{
	static const char *const names[] = {
		"/proc/self/status", "/proc/self/ns/user", "/proc/self/ns", "/proc/self",
		"/proc", "/sys/kernel/security/lockdown", "/sys/kernel/security/lsm",
		"/sys/kernel/security",
		"/sys/kernel/btf/vmlinux", "/sys/kernel/btf", "/sys/kernel", "/sys", "",
	};
	char path[256];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		snprintf(path, sizeof(path), "%s%s", tree, names[i]);
		remove(path);
	}
	return access(tree, F_OK) == 0 ? -1 : 0;
}

static void test_ground_without_files(void **state)
{
	struct ground ground;

	(void)state;
	memset(&ground, 0xff, sizeof(ground));
	ground_look_under(&ground, tree);
	assert_int_equal(ground.root, geteuid() == 0);
	assert_false(ground.user_namespace);
	assert_false(ground.cap_bpf || ground.cap_perfmon || ground.cap_sys_admin);
	assert_int_equal(ground.lockdown, -1);
	assert_false(ground.btf);
	assert_false(ground.tracing_refused || ground.plain_bpf_loads);
}

static void test_ground_capabilities(void **state)
{
	static const struct {
		const char *mask;
		bool bpf, perfmon, sys_admin;
	} cases[] = {
		{ "0000000000000000", false, false, false },
		{ "000001ffffffffff", true, true, true },
		{ "0000008000000000", true, false, false },	/* bit 39 */
		{ "0000004000000000", false, true, false },	/* bit 38 */
		{ "0000000000200000", false, false, true },	/* bit 21 */
	};
	struct ground ground;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		write_capabilities(cases[i].mask);
		ground_look_under(&ground, tree);
		assert_int_equal(ground.cap_bpf, cases[i].bpf);
		assert_int_equal(ground.cap_perfmon, cases[i].perfmon);
		assert_int_equal(ground.cap_sys_admin, cases[i].sys_admin);
	}
}

/* Any file that is not the initial namespace's stands for another one. */
static void test_ground_in_a_user_namespace(void **state)
{
	struct ground ground;

	(void)state;
	write_capabilities("000001ffffffffff");
	write_file("/proc/self/ns/user", "");
	ground_look_under(&ground, tree);
	assert_true(ground.user_namespace);
	assert_false(ground.root);
	assert_false(ground.cap_bpf || ground.cap_sys_admin);
}

static void test_ground_lockdown(void **state)
{
	static const struct {
		const char *content;
		int lockdown;
	} cases[] = {
		{ "[none] integrity confidentiality\n", 0 },
		{ "none [integrity] confidentiality\n", 1 },
		{ "none integrity [confidentiality]\n", 2 },
		{ "", -1 },
		{ "none integrity confidentiality\n", -1 },
	};
	struct ground ground;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		write_file("/sys/kernel/security/lockdown", cases[i].content);
		ground_look_under(&ground, tree);
		assert_int_equal(ground.lockdown, cases[i].lockdown);
	}
}

static void test_ground_lsm_bpf(void **state)
{
	static const struct {
		const char *content;
		int on;
	} cases[] = {
		{ "lockdown,capability,landlock,yama,apparmor,bpf", 1 },
		{ "bpf,capability\n", 1 }, { "capability,bpf\n", 1 },
		{ "capability,yama,apparmor", 0 }, { "capability,bpfilter", 0 }, { "", 0 },
	};
	struct ground ground;

	(void)state;
	ground_look_under(&ground, tree);
	assert_int_equal(ground.lsm_bpf, -1);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		write_file("/sys/kernel/security/lsm", cases[i].content);
		ground_look_under(&ground, tree);
		assert_int_equal(ground.lsm_bpf, cases[i].on);
	}
}

static void test_ground_btf(void **state)
{
	struct ground ground;

	(void)state;
	write_file("/sys/kernel/btf/vmlinux", "");
	ground_look_under(&ground, tree);
	assert_true(ground.btf);
}

/* What this machine does to programs that do nothing. */
static void test_ground_tries_programs(void **state)
{
	static const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	struct ground ground = { .plain_bpf_loads = false, .tracing_refused = true };
	int fd = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "lf_test", "GPL", nothing,
			       COUNT_OF(nothing), NULL);

	(void)state;
	ground_look(&ground);
	ground_try_programs(&ground);
	assert_int_equal(ground.plain_bpf_loads, fd >= 0);
	if (ground.btf && !ground.cap_perfmon && !ground.cap_sys_admin)
		assert_true(ground.tracing_refused);
	if (fd >= 0)
		close(fd);
}

/* Notices, with stderr in a file. */

static char *captured(void (*speak)(void))
{
	static char text[8192];
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	size_t length;

	assert_non_null(file);
	dup2(fileno(file), STDERR_FILENO);
	speak();
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	length = fread(text, 1, sizeof(text) - 1, file);
	text[length] = '\0';
	fclose(file);
	return text;
}

static void speak_both(void)
{
	notice("%d notices", 2);
	complain("%s failed", "all");
}

static void speak_long(void)
{
	complain("%05000d", 7);
}

static void test_notices(void **state)
{
	const char *text;

	(void)state;
	errors_setup(false, false);
	assert_string_equal(captured(speak_both),
			    "lazyfault: 2 notices\nlazyfault: all failed\n");
	errors_setup(true, false);
	assert_string_equal(captured(speak_both), "lazyfault: all failed\n");
	errors_setup(false, false);
	text = captured(speak_long);
	assert_int_equal(strlen(text), strlen("lazyfault: \n") + 5000);
}

static void speak_of_hostile_names(void)
{
	notice("-m name %s: it fits 2 maps", "\x1b[2J\n\xc2\x9b" "1A\xe2\x80\xae\xff");
	complain("--output=%s: is there", "a\rlazyfault: b\x08");
}

static void test_names_in_notices_move_no_cursor(void **state)
{
	(void)state;
	errors_setup(false, false);
	assert_string_equal(captured(speak_of_hostile_names),
			    "lazyfault: -m name \\x1b[2J\\x0a\\xc2\\x9b1A\\xe2\\x80\\xae\\xff: it "
			    "fits 2 maps\n"
			    "lazyfault: --output=a\\x0dlazyfault: b\\x08: is there\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_root),
		cmocka_unit_test(test_root_without_a_capability),
		cmocka_unit_test(test_sys_admin_stands_for_both),
		cmocka_unit_test(test_user_namespace),
		cmocka_unit_test(test_capable_user_is_not_sent_to_sudo),
		cmocka_unit_test(test_lockdown),
		cmocka_unit_test(test_no_btf),
		cmocka_unit_test(test_tracing_refused),
		cmocka_unit_test(test_all_bpf_refused),
		cmocka_unit_test(test_errnos),
		cmocka_unit_test(test_every_combination_is_explained),
		cmocka_unit_test(test_verbose_does_not_send_to_verbose),
		cmocka_unit_test(test_text_is_cut_to_its_room),
		cmocka_unit_test(test_error_names),
		cmocka_unit_test_setup_teardown(test_ground_without_files, make_tree,
						remove_tree),
		cmocka_unit_test_setup_teardown(test_ground_capabilities, make_tree,
						remove_tree),
		cmocka_unit_test_setup_teardown(test_ground_in_a_user_namespace, make_tree,
						remove_tree),
		cmocka_unit_test_setup_teardown(test_ground_lockdown, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(test_ground_lsm_bpf, make_tree, remove_tree),
		cmocka_unit_test_setup_teardown(test_ground_btf, make_tree, remove_tree),
		cmocka_unit_test(test_ground_tries_programs),
		cmocka_unit_test(test_notices),
		cmocka_unit_test(test_names_in_notices_move_no_cursor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
