/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which map a selector names: the matching of names, and the files that are
 * no pinned maps. What needs a privilege is run where there is one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/bpf.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "map_select.h"

#include "contains.h"

static const struct map_entry maps[] = {
	{ 12, "twice" },
	{ 3, "once" },
	{ 4, "" },
	{ 104, "twice" },
	{ 9, "twice" },
	{ 20, "exactly_15bytes" },
	{ 21, "oncemore" },
};

static struct map_selector by_name(const char *name)
{
	return (struct map_selector) { MAP_BY_NAME, 0, name, name };
}

static void assert_found(const char *name, uint32_t expected)
{
	struct map_selector selector = by_name(name);
	char message[256] = "";
	uint32_t id = 0;

	if (map_match_name(&selector, maps, COUNT_OF(maps), &id, message, sizeof(message)))
		fail_msg("'%s': %s", name, message);
	assert_int_equal(id, expected);
}

static void test_names_in_full(void **state)
{
	(void)state;
	assert_found("once", 3);
	assert_found("oncemore", 21);
	assert_found("exactly_15bytes", 20);
}

static void test_names_longer_than_the_kernel_keeps(void **state)
{
	(void)state;
	assert_found("exactly_15bytes_and_more", 20);
}

static void assert_no_map(const char *name)
{
	struct map_selector selector = by_name(name);
	char message[256] = "";
	uint32_t id = 4711;

	assert_int_equal(map_match_name(&selector, maps, COUNT_OF(maps), &id, message,
					sizeof(message)), -ENOENT);
	assert_int_equal(id, 4711);
	assert_contains(message, name);
	assert_contains(message, "no map has the name");
}

static void test_names_of_no_map(void **state)
{
	(void)state;
	assert_no_map("onc");
	assert_no_map("once ");
	assert_no_map("oncemores");
	assert_no_map("exactly_15byte");
	assert_no_map("Once");
}

static void test_no_maps_at_all(void **state)
{
	struct map_selector selector = by_name("once");
	char message[256] = "";
	uint32_t id;

	(void)state;
	assert_int_equal(map_match_name(&selector, NULL, 0, &id, message, sizeof(message)),
			 -ENOENT);
	assert_contains(message, "'once'");
}

static void test_a_name_of_several_lists_all_ids_in_order(void **state)
{
	struct map_selector selector = by_name("twice");
	char message[256] = "";
	uint32_t id = 4711;

	(void)state;
	assert_int_equal(map_match_name(&selector, maps, COUNT_OF(maps), &id, message,
					sizeof(message)), -ENOTUNIQ);
	assert_int_equal(id, 4711);
	assert_contains(message, "3 maps");
	assert_contains(message, ": 9, 12, 104");
	assert_null(strstr(message, "15 bytes"));
}

static void test_a_cut_name_of_several_says_why(void **state)
{
	static const struct map_entry same[] = {
		{ 2, "a_long_name_tha" }, { 1, "a_long_name_tha" },
	};
	struct map_selector selector = by_name("a_long_name_that_goes_on");
	char message[256] = "";
	uint32_t id;

	(void)state;
	assert_int_equal(map_match_name(&selector, same, 2, &id, message, sizeof(message)),
			 -ENOTUNIQ);
	assert_contains(message, "keeps 15 bytes");
	assert_contains(message, ": 1, 2");
}

static void test_a_list_without_room_ends_in_dots(void **state)
{
	struct map_entry many[400];
	struct map_selector selector = by_name("many");
	char message[128];
	uint32_t id;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(many); i++)
		many[i] = (struct map_entry) { (uint32_t)(1000 + i), "many" };
	assert_int_equal(map_match_name(&selector, many, COUNT_OF(many), &id, message,
					sizeof(message)), -ENOTUNIQ);
	assert_int_equal(strlen(message), sizeof(message) - 1);
	assert_contains(message, "400 maps");
	assert_string_equal(message + strlen(message) - 3, "...");
}

/* The kernel is asked, or refuses to be: never anything else than a reason. */

static int select_one(enum map_selector_kind kind, uint32_t id, const char *text,
		      uint32_t **ids, size_t *count, char *message, size_t bytes)
{
	struct map_selector selector = { kind, id, text, text };

	message[0] = '\0';
	return map_select(&selector, 1, ids, count, message, bytes);
}

static void assert_no_pin(const char *path, int expected, const char *part)
{
	char message[512];
	uint32_t *ids;
	size_t count;

	assert_int_equal(select_one(MAP_BY_PIN, 0, path, &ids, &count, message,
				    sizeof(message)), expected);
	assert_contains(message, path);
	assert_contains(message, part);
}

static void test_files_that_are_no_pinned_maps(void **state)
{
	char plain[] = "build/pin-XXXXXX";
	int fd = mkstemp(plain);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	assert_no_pin(plain, -EINVAL, "an ordinary file");
	unlink(plain);
	assert_no_pin(plain, -ENOENT, "there is no file");
	assert_no_pin("build", -EISDIR, "a directory");
	assert_no_pin("/proc/self/status/x", -ENOTDIR, "Not a directory");
}

static void test_nothing_selected(void **state)
{
	char message[64] = "";
	size_t count = 4711;
	uint32_t *ids;

	(void)state;
	assert_int_equal(map_select(NULL, 0, &ids, &count, message, sizeof(message)), 0);
	assert_int_equal(count, 0);
	free(ids);
}

/* Two maps of one name in the kernel; skipped where none can be made. */
struct two_maps {
	int fds[2];
	uint32_t ids[2];
	char name[16];
};

static uint32_t id_of(int fd)
{
	struct bpf_map_info info = { 0 };
	__u32 bytes = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &bytes), 0);
	return info.id;
}

static void make_maps(struct two_maps *two)
{
	uint32_t any = 0;

	snprintf(two->name, sizeof(two->name), "lf_test_%06u", (unsigned int)getpid() % 1000000);
	for (int i = 0; i < 2; i++) {
		two->fds[i] = bpf_map_create(BPF_MAP_TYPE_ARRAY, two->name, 4, 8, 1, NULL);
		if (two->fds[i] < 0)
			skip();
		two->ids[i] = id_of(two->fds[i]);
	}
	if (bpf_map_get_next_id(0, &any) < 0)
		skip();
}

static void test_maps_of_the_kernel(void **state)
{
	struct map_selector selectors[3];
	char message[256] = "", list[64];
	struct two_maps two;
	uint32_t *ids;
	size_t count;

	(void)state;
	make_maps(&two);
	assert_int_equal(select_one(MAP_BY_NAME, 0, two.name, &ids, &count, message,
				    sizeof(message)), -ENOTUNIQ);
	snprintf(list, sizeof(list), ": %u, %u",
		 two.ids[0] < two.ids[1] ? two.ids[0] : two.ids[1],
		 two.ids[0] < two.ids[1] ? two.ids[1] : two.ids[0]);
	assert_contains(message, list);

	close(two.fds[1]);
	for (int tries = 0; tries < 100; tries++) {	/* maps are freed a little later */
		int fd = bpf_map_get_fd_by_id(two.ids[1]);

		if (fd < 0)
			break;
		close(fd);
		usleep(20000);
	}
	selectors[0] = (struct map_selector) { MAP_BY_ID, two.ids[0], "", "" };
	selectors[1] = by_name(two.name);
	selectors[2] = selectors[0];
	assert_int_equal(map_select(selectors, 3, &ids, &count, message, sizeof(message)), 0);
	assert_int_equal(count, 1);
	assert_int_equal(ids[0], two.ids[0]);
	free(ids);

	assert_int_equal(select_one(MAP_BY_ID, two.ids[1], "", &ids, &count, message,
				    sizeof(message)), -ENOENT);
	assert_contains(message, "no map has the id");
	close(two.fds[0]);
}

/* r0 = 0; exit */
static const struct bpf_insn nothing[] = {
	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
	{ .code = BPF_JMP | BPF_EXIT },
};

static int load_nothing(enum bpf_prog_type type)
{
	return bpf_prog_load(type, "lf_test", "GPL", nothing, COUNT_OF(nothing), NULL);
}

static void remove_bpffs(const char *directory)
{
	umount2(directory, MNT_DETACH);
	rmdir(directory);
}

/* Pins what fd is as NAME below directory; skips the test where that cannot be. */
static void pin_at(int fd, const char *directory, const char *name, char *path, size_t bytes)
{
	snprintf(path, bytes, "%s/%s", directory, name);
	if (fd < 0 || bpf_obj_pin(fd, path) < 0) {
		remove_bpffs(directory);
		skip();
	}
}

/* A bpf filesystem that nobody else sees and that ends with this process. */
static void mount_own_bpffs(char *directory)
{
	assert_non_null(mkdtemp(directory));
	if (unshare(CLONE_NEWNS) < 0 || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("bpf", directory, "bpf", 0, NULL) < 0) {
		remove_bpffs(directory);
		skip();
	}
}

static void test_pinned_objects(void **state)
{
	char directory[] = "build/bpffs-XXXXXX", path[128], message[512] = "";
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "lf_test_pin", 4, 8, 1, NULL);
	uint32_t *ids = NULL;
	size_t count = 0;

	(void)state;
	mount_own_bpffs(directory);
	pin_at(fd, directory, "a map", path, sizeof(path));
	if (select_one(MAP_BY_PIN, 0, path, &ids, &count, message, sizeof(message)))
		fail_msg("%s", message);
	assert_int_equal(count, 1);
	assert_int_equal(ids[0], id_of(fd));
	free(ids);

	snprintf(path, sizeof(path), "%s/none", directory);
	assert_no_pin(path, -ENOENT, "there is no file");
	assert_no_pin(directory, -EISDIR, "a directory");
	pin_at(load_nothing(BPF_PROG_TYPE_SOCKET_FILTER), directory, "program", path,
	       sizeof(path));
	assert_no_pin(path, -EINVAL, "a pinned program");
	pin_at(bpf_raw_tracepoint_open("sys_enter", load_nothing(BPF_PROG_TYPE_RAW_TRACEPOINT)),
	       directory, "link", path, sizeof(path));
	assert_no_pin(path, -EINVAL, "a pinned link");

	remove_bpffs(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_in_full),
		cmocka_unit_test(test_names_longer_than_the_kernel_keeps),
		cmocka_unit_test(test_names_of_no_map),
		cmocka_unit_test(test_no_maps_at_all),
		cmocka_unit_test(test_a_name_of_several_lists_all_ids_in_order),
		cmocka_unit_test(test_a_cut_name_of_several_says_why),
		cmocka_unit_test(test_a_list_without_room_ends_in_dots),
		cmocka_unit_test(test_files_that_are_no_pinned_maps),
		cmocka_unit_test(test_nothing_selected),
		cmocka_unit_test(test_maps_of_the_kernel),
		cmocka_unit_test(test_pinned_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
