/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capabilities are given up but for those that the options need, and stay
 * given up. Each case runs in a process of its own. Where the tests run
 * without capabilities, none are there to keep, and none must appear.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "options.h"
#include "privileges.h"

static char directory[] = "/tmp/lazyfault-privileges-XXXXXX";

static int make_directory(void **state)
{
	(void)state;
	return !mkdtemp(directory);
}

static int remove_directory(void **state)
{
	(void)state;
	return rmdir(directory);
}

/* What /proc/self/status says of one set, as of now. */
static uint64_t set_of(const char *name)
{
	FILE *file = fopen("/proc/self/status", "r");
	unsigned long long set = ~0ULL, value;
	char line[256], key[16];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%15[A-Za-z]: %llx", key, &value) == 2 && !strcmp(key, name))
			set = value;
	if (file)
		fclose(file);
	return set;
}

static uint64_t bit(cap_value_t capability)
{
	return UINT64_C(1) << capability;
}

/* In a child: exits with 0, or the number of what did not hold. */
static void drop_and_look(const struct options *options, uint64_t wanted)
{
	uint64_t expected = wanted & set_of("CapPrm");
	char kept[256] = "";

	if (privileges_drop(options, kept, sizeof(kept)))
		_exit(1);
	if (set_of("CapEff") != expected || set_of("CapPrm") != expected)
		_exit(2);
	if (set_of("CapInh") || set_of("CapAmb"))
		_exit(3);
	if (set_of("NoNewPrivs") != 1)
		_exit(4);
	if (!kept[0] != !expected)
		_exit(5);
	if ((expected & bit(CAP_KILL)) && !strstr(kept, "CAP_KILL"))
		_exit(6);
	/* nor does a program that is run by root bring them back */
	if (!expected && system("grep -q '^CapEff:[[:space:]]*0000000000000000$' /proc/self/status"))
		_exit(7);
	_exit(0);
}

static void assert_kept(const struct options *options, uint64_t wanted)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		drop_and_look(options, wanted);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_nothing_is_kept(void **state)
{
	const struct options options = { .command = COMMAND_FAULTS };

	(void)state;
	assert_kept(&options, 0);
}

static void test_a_command_can_still_be_signalled(void **state)
{
	char *argv[] = { "sleep", "1", NULL };
	const struct options options = { .command = COMMAND_FAULTS, .argv = argv };

	(void)state;
	assert_kept(&options, bit(CAP_KILL));
}

static void test_updates_look_for_threads(void **state)
{
	const struct options options = { .command = COMMAND_UPDATES };

	(void)state;
	assert_kept(&options, bit(CAP_SYS_PTRACE) | bit(CAP_DAC_READ_SEARCH));
}

static void test_metrics_in_ones_own_directory_need_nothing(void **state)
{
	struct options options = { .command = COMMAND_FAULTS };
	char path[64];

	(void)state;
	snprintf(path, sizeof(path), "%s/m.prom", directory);
	options.openmetrics = path;
	assert_kept(&options, 0);
}

static void test_metrics_in_anothers_directory(void **state)
{
	struct options options = { .command = COMMAND_FAULTS };
	char path[64];

	(void)state;
	if (chown(directory, 12345, 12345)) {
		print_message("# not root: another user's directory is not tested\n");
		return;
	}
	snprintf(path, sizeof(path), "%s/m.prom", directory);
	options.openmetrics = path;
	assert_kept(&options, bit(CAP_DAC_OVERRIDE));
	assert_int_equal(chmod(directory, 01777), 0);
	assert_kept(&options, bit(CAP_FOWNER));
}

static void test_not_borrowed_here(void **state)
{
	(void)state;
	assert_false(privileges_are_borrowed());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_borrowed_here),
		cmocka_unit_test(test_nothing_is_kept),
		cmocka_unit_test(test_a_command_can_still_be_signalled),
		cmocka_unit_test(test_updates_look_for_threads),
		cmocka_unit_test(test_metrics_in_ones_own_directory_need_nothing),
		cmocka_unit_test(test_metrics_in_anothers_directory),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
