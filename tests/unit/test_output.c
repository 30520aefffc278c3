/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that are written: nothing but plain files of ours is written over,
 * links of others lead nowhere, and what is new is private.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "output.h"
#include "replace.h"

#include "contains.h"

#define STRANGER 12345

static char directory[] = "/tmp/lazyfault-output-XXXXXX";
static char shared[64];		/* in it; all may write to it */

static int make_directories(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(shared, sizeof(shared), "%s/shared", directory);
	return mkdir(shared, 0700) || chmod(shared, 01777);
}

static int remove_directories(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	return system(command);
}

/* A path below the test's directory. Static storage, four of them in turn. */
static const char *path_of(const char *format, ...)
{
	static char paths[4][PATH_MAX];
	static unsigned int turn;
	char *path = paths[turn++ % 4];
	int used = snprintf(path, PATH_MAX, "%s/", directory);
	va_list args;

	va_start(args, format);
	vsnprintf(path + used, (size_t)(PATH_MAX - used), format, args);
	va_end(args);
	return path;
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static void assert_text(const char *path, const char *expected)
{
	char text[64] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(text, expected);
}

static mode_t mode_of(const char *path)
{
	struct stat status;

	assert_int_equal(lstat(path, &status), 0);
	return status.st_mode & 07777;
}

/* Gives a path to another user, if this process may; says so if not. */
static bool give_away(const char *path)
{
	if (!lchown(path, STRANGER, STRANGER))
		return true;
	print_message("# not root: what another user owns is not tested\n");
	return false;
}

/* ---- both ways of writing ---- */

static void assert_output_refused(const char *path, const char *why)
{
	char message[512] = "";

	assert_null(output_open(path, message, sizeof(message)));
	assert_int_equal(strncmp(message, "--output=", 9), 0);
	assert_contains(message, path);
	assert_contains(message, why);
}

static void assert_refused(const char *path, const char *why)
{
	char message[512] = "";

	assert_output_refused(path, why);
	assert_null(replace_new(path, message, sizeof(message)));
	assert_contains(message, path);
	assert_contains(message, why);
}

static void output_text(const char *path, const char *text)
{
	char message[512] = "";
	FILE *out = output_open(path, message, sizeof(message));

	if (!out)
		fail_msg("%s", message);
	fputs(text, out);
	assert_int_equal(output_close(out), 0);
}

static void replace_text(const char *path, const char *text)
{
	char message[512] = "";
	struct replace *replace = replace_new(path, message, sizeof(message));
	FILE *out;

	if (!replace)
		fail_msg("%s", message);
	out = replace_begin(replace);
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(replace_end(replace, out), 0);
	replace_free(replace);
}

/* ---- what is written ---- */

static void test_new_file_is_private(void **state)
{
	static const mode_t masks[] = { 0, 022, 077 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		mode_t mask = umask(masks[i]);

		unlink(path_of("new"));
		output_text(path_of("new"), "text");
		umask(mask);
		assert_int_equal(mode_of(path_of("new")), 0600);
		assert_text(path_of("new"), "text");
	}
}

static void test_file_that_is_there_is_emptied_and_keeps_its_mode(void **state)
{
	(void)state;
	write_text(path_of("there"), "what was there before");
	assert_int_equal(chmod(path_of("there"), 0640), 0);
	output_text(path_of("there"), "new");
	assert_text(path_of("there"), "new");
	assert_int_equal(mode_of(path_of("there")), 0640);
}

static void test_metrics_can_be_read_by_their_collector_or_as_before(void **state)
{
	mode_t mask = umask(077);

	(void)state;
	replace_text(path_of("m.prom"), "one");
	assert_int_equal(mode_of(path_of("m.prom")), 0644);
	assert_int_equal(chmod(path_of("m.prom"), 0600), 0);
	replace_text(path_of("m.prom"), "two");
	assert_int_equal(mode_of(path_of("m.prom")), 0600);
	assert_text(path_of("m.prom"), "two");
	umask(mask);
}

static void test_stdout_by_its_names(void **state)
{
	char message[512] = "";

	(void)state;
	assert_ptr_equal(output_open(NULL, message, sizeof(message)), stdout);
	assert_ptr_equal(output_open("-", message, sizeof(message)), stdout);
	assert_ptr_equal(output_open("/dev/stdout", message, sizeof(message)), stdout);
}

static void test_another_option_is_named(void **state)
{
	char message[512] = "";

	(void)state;
	assert_null(output_open_for("save", directory, message, sizeof(message)));
	assert_int_equal(strncmp(message, "--save=", 7), 0);
	assert_contains(message, directory);
}

static void test_one_file_twice(void **state)
{
	char message[512] = "";
	FILE *a = output_open(path_of("twice"), message, sizeof(message));
	FILE *b = output_open_for("save", path_of("twice"), message, sizeof(message));
	FILE *c = output_open(path_of("once"), message, sizeof(message));
	FILE *null = output_open("/dev/null", message, sizeof(message));

	(void)state;
	assert_true(a && b && c && null);
	assert_true(output_is_same(a, b));
	assert_false(output_is_same(a, c));
	/* what is written there is gone, both times */
	assert_false(output_is_same(null, null));
	assert_int_equal(output_close(a) + output_close(b) + output_close(c) + output_close(null),
			 0);
}

static void test_relative_paths_and_directories_on_the_way(void **state)
{
	char here[PATH_MAX];

	(void)state;
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(mkdir(path_of("sub"), 0755), 0);
	assert_int_equal(symlink("../sub/.", path_of("sub/own-link")), 0);
	assert_int_equal(symlink(directory, path_of("sub/absolute")), 0);
	output_text(path_of("sub//own-link/./../sub/file"), "1");
	assert_text(path_of("sub/file"), "1");
	output_text(path_of("sub/absolute/sub/file"), "2");
	assert_text(path_of("sub/file"), "2");
	assert_int_equal(chdir(directory), 0);
	output_text("sub/file", "3");
	output_text("plain", "4");
	replace_text("./plain", "5");
	output_text("/proc/self/cwd/in-proc", "6");
	assert_int_equal(chdir(here), 0);
	assert_text(path_of("sub/file"), "3");
	assert_text(path_of("plain"), "5");
	assert_text(path_of("in-proc"), "6");
}

/* ---- what is refused ---- */

static void test_directories_are_refused(void **state)
{
	(void)state;
	assert_refused(directory, "Is a directory");
	assert_refused(path_of(""), "Is a directory");
	assert_refused(path_of("."), "Is a directory");
	assert_refused("/", "Is a directory");
	assert_refused(path_of("none/file"), "No such file or directory");
	write_text(path_of("file"), "");
	assert_refused(path_of("file/below"), "Not a directory");
}

static void test_devices_are_refused_but_the_null_device(void **state)
{
	struct stat status;
	char message[512] = "";

	(void)state;
	assert_refused("/dev/zero", "is not a plain file, and is left alone");
	assert_refused("/dev/tty", "is not a plain file, and is left alone");
	output_text("/dev/null", "gone");
	assert_int_equal(stat("/dev/null", &status), 0);
	assert_true(S_ISCHR(status.st_mode));
	/* a file in its place would be the end of it */
	assert_null(replace_new("/dev/null", message, sizeof(message)));
	assert_contains(message, "is not a plain file");
}

/* What passes for plain files there is none. */
static void test_files_of_the_kernel_are_refused(void **state)
{
	static const char *const paths[] = {
		"/proc/sys/kernel/hostname", "/proc/self/comm", "/proc/new", "/sys/kernel/uevent_seqnum",
		"/sys/new", "/proc/self/fd/1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_refused(paths[i], "is in a filesystem of the kernel's own");
	/* a way over it leads elsewhere */
	write_text(path_of("by-proc"), "");
	assert_int_equal(chdir(directory), 0);
	output_text("/proc/self/cwd/by-proc", "text");
	assert_int_equal(chdir("/"), 0);
	assert_text(path_of("by-proc"), "text");
}

/* Only the report can go to stdout instead. */
static void test_advice_is_for_the_option(void **state)
{
	char message[512];

	(void)state;
	if (access(path_of("advice"), F_OK))
		assert_int_equal(mkfifo(path_of("advice"), 0600), 0);
	assert_null(output_open(path_of("advice"), message, sizeof(message)));
	assert_contains(message, "is left alone; write to stdout and redirect that");
	assert_null(output_open_for("save", path_of("advice"), message, sizeof(message)));
	assert_contains(message, "is left alone; name a file");
	assert_null(replace_new(path_of("advice"), message, sizeof(message)));
	assert_contains(message, "is left alone; name a file");
	assert_null(output_open("/dev/zero", message, sizeof(message)));
	assert_contains(message, "name a file, or write to stdout");
	assert_null(replace_new("/dev/zero", message, sizeof(message)));
	assert_null(strstr(message, "stdout"));
}

static void test_pipes_and_sockets_are_refused(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
	assert_refused(path_of("pipe"), "is not a plain file but a named pipe");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path_of("socket"));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_refused(path_of("socket"), "is not a plain file");
	close(fd);
}

static void test_links_are_refused_and_their_target_is_kept(void **state)
{
	(void)state;
	write_text(path_of("target"), "kept");
	assert_int_equal(symlink("target", path_of("link")), 0);
	assert_refused(path_of("link"), "is not a plain file but a symbolic link");
	assert_text(path_of("target"), "kept");
	assert_int_equal(symlink("nowhere", path_of("dangling")), 0);
	assert_refused(path_of("dangling"), "symbolic link");
	assert_int_equal(access(path_of("nowhere"), F_OK), -1);
	assert_int_equal(symlink("/dev/null", path_of("null-link")), 0);
	assert_refused(path_of("null-link"), "symbolic link");
	assert_int_equal(symlink("loop", path_of("loop")), 0);
	assert_refused(path_of("loop/file"), "Too many levels of symbolic links");
}

/* ---- directories that all may write to ---- */

static void test_strangers_links_lead_nowhere(void **state)
{
	(void)state;
	assert_int_equal(symlink(directory, path_of("shared/way")), 0);
	output_text(path_of("shared/way/over-own-link"), "fine");
	if (!give_away(path_of("shared/way")))
		return;
	assert_refused(path_of("shared/way/led"), "leads over a symbolic link that another user");
	assert_int_equal(access(path_of("led"), F_OK), -1);
	/* also by a way that begins elsewhere */
	assert_int_equal(symlink("shared/way", path_of("indirect")), 0);
	assert_refused(path_of("indirect/led"), "leads over a symbolic link that another user");
	/* where only we can write, it was ours to set */
	assert_int_equal(symlink("sub-of-stranger", path_of("lent")), 0);
	assert_int_equal(lchown(path_of("lent"), STRANGER, STRANGER), 0);
	assert_int_equal(mkdir(path_of("sub-of-stranger"), 0755), 0);
	output_text(path_of("lent/file"), "fine");
}

static void test_strangers_files_are_left_alone(void **state)
{
	(void)state;
	write_text(path_of("shared/trap"), "kept");
	output_text(path_of("shared/trap"), "ours");
	assert_text(path_of("shared/trap"), "ours");
	if (!give_away(path_of("shared/trap")))
		return;
	assert_refused(path_of("shared/trap"), "is another user's file");
	assert_text(path_of("shared/trap"), "ours");
	/* in a directory of one's own it is as asked for */
	write_text(path_of("handed-over"), "old");
	assert_int_equal(chown(path_of("handed-over"), STRANGER, STRANGER), 0);
	output_text(path_of("handed-over"), "new");
	assert_text(path_of("handed-over"), "new");
}

static void test_files_with_a_name_elsewhere_are_left_alone(void **state)
{
	(void)state;
	write_text(path_of("precious"), "kept");
	assert_int_equal(link(path_of("precious"), path_of("shared/harmless")), 0);
	assert_refused(path_of("shared/harmless"), "has another name elsewhere");
	assert_text(path_of("precious"), "kept");
}

static void test_what_changes_while_tracing_is_looked_at_again(void **state)
{
	char message[512] = "";
	struct replace *replace = replace_new(path_of("later"), message, sizeof(message));
	FILE *out;

	(void)state;
	assert_non_null(replace);
	out = replace_begin(replace);
	assert_non_null(out);
	assert_int_equal(symlink("precious", path_of("later")), 0);
	assert_true(replace_end(replace, out) < 0);
	assert_null(replace_begin(replace));
	assert_int_equal(unlink(path_of("later")), 0);
	out = replace_begin(replace);
	assert_non_null(out);
	assert_int_equal(replace_end(replace, out), 0);
	replace_free(replace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_new_file_is_private),
		cmocka_unit_test(test_file_that_is_there_is_emptied_and_keeps_its_mode),
		cmocka_unit_test(test_metrics_can_be_read_by_their_collector_or_as_before),
		cmocka_unit_test(test_stdout_by_its_names),
		cmocka_unit_test(test_another_option_is_named),
		cmocka_unit_test(test_one_file_twice),
		cmocka_unit_test(test_relative_paths_and_directories_on_the_way),
		cmocka_unit_test(test_directories_are_refused),
		cmocka_unit_test(test_devices_are_refused_but_the_null_device),
		cmocka_unit_test(test_files_of_the_kernel_are_refused),
		cmocka_unit_test(test_advice_is_for_the_option),
		cmocka_unit_test(test_pipes_and_sockets_are_refused),
		cmocka_unit_test(test_links_are_refused_and_their_target_is_kept),
		cmocka_unit_test(test_strangers_links_lead_nowhere),
		cmocka_unit_test(test_strangers_files_are_left_alone),
		cmocka_unit_test(test_files_with_a_name_elsewhere_are_left_alone),
		cmocka_unit_test(test_what_changes_while_tracing_is_looked_at_again),
	};

	return cmocka_run_group_tests(tests, make_directories, remove_directories);
}
