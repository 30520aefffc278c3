/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The knobs of RCU, read from files that a test made, and which of them overrules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rcu.h"

static char root[] = "/tmp/test_rcu.XXXXXX";

static void write_under_root(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/sys/kernel/%s", root, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void remove_under_root(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s%s", root, name);
	remove(path);
}

static int make_root(void **state)
{
	char path[256];

	(void)state;
	if (!mkdtemp(root))
		return -1;
	snprintf(path, sizeof(path), "%s/sys", root);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/sys/kernel", root);
	return mkdir(path, 0700);
}

static int remove_root(void **state)
{
	static const char *const names[] = {
		"/sys/kernel/rcu_normal", "/sys/kernel/rcu_expedited", "/sys/kernel/realtime",
		"/sys/kernel", "/sys", "",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		remove_under_root(names[i]);
	return 0;
}

static struct rcu_state looked(const char *version)
{
	struct rcu_state rcu = { .normal = 7, .expedited = 7, .asks = "normal", .batch_waits = 5 };

	rcu_look_under(&rcu, root, version);
	/* what the kernel was asked is left alone */
	assert_string_equal(rcu.asks, "normal");
	assert_int_equal(rcu.batch_waits, 5);
	return rcu;
}

static void test_knobs(void **state)
{
	struct rcu_state rcu = looked("#1 SMP PREEMPT_DYNAMIC");

	(void)state;
	assert_int_equal(rcu.normal, -1);
	assert_int_equal(rcu.expedited, -1);
	assert_false(rcu.preempt_rt);
	write_under_root("rcu_normal", "1\n");
	write_under_root("rcu_expedited", "0\n");
	rcu = looked("#1 SMP");
	assert_int_equal(rcu.normal, 1);
	assert_int_equal(rcu.expedited, 0);
	write_under_root("rcu_normal", "nonsense\n");
	assert_int_equal(looked("#1 SMP").normal, -1);
}

static void test_preempt_rt(void **state)
{
	(void)state;
	assert_true(looked("#1 SMP PREEMPT_RT Debian").preempt_rt);
	assert_false(looked("#1 SMP PREEMPT Debian").preempt_rt);
	write_under_root("realtime", "0\n");
	assert_false(looked("#1 SMP").preempt_rt);
	write_under_root("realtime", "1\n");
	assert_true(looked("#1 SMP").preempt_rt);
}

static const char *overruling(int normal, int expedited, const char *asks)
{
	struct rcu_state rcu = { .normal = normal, .expedited = expedited, .asks = asks };
	const char *knob = rcu_overruling_knob(&rcu);

	return knob ? knob : "none";
}

static void test_which_knob_overrules(void **state)
{
	(void)state;
	assert_string_equal(overruling(0, 0, "expedited"), "none");
	assert_string_equal(overruling(0, 0, "normal"), "none");
	assert_string_equal(overruling(1, 0, "expedited"), "rcu_normal");
	assert_string_equal(overruling(0, 1, "normal"), "rcu_expedited");
	/* what is asked for anyway is not overruled */
	assert_string_equal(overruling(1, 0, "normal"), "none");
	assert_string_equal(overruling(0, 1, "expedited"), "none");
	/* rcu_normal wins */
	assert_string_equal(overruling(1, 1, "expedited"), "rcu_normal");
	assert_string_equal(overruling(1, 1, "normal"), "none");
	assert_string_equal(overruling(-1, -1, "normal"), "none");
	assert_string_equal(overruling(0, 1, NULL), "none");
	assert_string_equal(overruling(0, 1, "none"), "none");
	assert_string_equal(overruling(1, 0, NULL), "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_knobs),
		cmocka_unit_test(test_preempt_rt),
		cmocka_unit_test(test_which_knob_overrules),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
