/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict on updates: the share of waiting, how the kernel waits, what would change it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "update_verdict.h"

#include "contains.h"

static struct update_report waited(uint64_t calls, uint64_t ns, uint64_t wait_ns, bool expedited)
{
	struct update_report report = { .span = SPAN_TOTAL, .calls = calls };

	for (uint64_t i = 0; i < calls; i++) {
		dist_add(&report.ns, ns);
		if (wait_ns)
			dist_add(&report.wait_ns, wait_ns);
	}
	if (wait_ns)
		*(expedited ? &report.waits_expedited : &report.waits_normal) = calls;
	return report;
}

/* A kernel that waits as its code asks. */
static struct rcu_state kernel(const char *asks, unsigned int batch_waits)
{
	return (struct rcu_state){ .asks = asks, .waits = asks, .batch_waits = batch_waits };
}

static const char *verdict_on(const struct rcu_state *rcu, const struct update_report *report)
{
	static char text[UPDATE_VERDICT_BYTES];
	struct update_verdict verdict = { .rcu = rcu };

	if (report)
		update_verdict_add(&verdict, report);
	memset(text, 'x', sizeof(text));
	update_verdict_text(&verdict, text, sizeof(text));
	/* one sentence, and all of it */
	assert_true(strlen(text) < sizeof(text) - 1);
	assert_ptr_equal(strstr(text, ". "), NULL);
	assert_int_equal(text[strlen(text) - 1], '.');
	return text;
}

static void test_normal(void **state)
{
	struct rcu_state rcu = kernel("normal", 1);
	struct update_report report = waited(100, 1000, 980, false);
	const char *text = verdict_on(&rcu, &report);

	(void)state;
	assert_contains(text, "Waiting for grace periods is 98 % of the time;");
	assert_contains(text, "this kernel waits normal (synchronize_rcu)");
	assert_contains(text, "a kernel of 6.19 or later");
	assert_contains(text, "1 in /sys/kernel/rcu_expedited, at the cost of");
	assert_contains(text, "batch operations, which wait once");
	assert_null(strstr(text, "overrules"));
}

static void test_batches_that_wait_for_each_element(void **state)
{
	struct rcu_state rcu = kernel("normal", 2);
	struct update_report report = waited(100, 1000, 980, false);
	const char *text = verdict_on(&rcu, &report);

	(void)state;
	assert_contains(text, "batch operations would not: here they wait for each element.");
	assert_null(strstr(text, "wait once"));
	/* not known: nothing is said */
	rcu.batch_waits = 0;
	assert_null(strstr(verdict_on(&rcu, &report), "batch"));
}

static void test_expedited(void **state)
{
	struct rcu_state rcu = kernel("expedited", 1);
	struct update_report report = waited(100, 1000, 500, true);
	const char *text = verdict_on(&rcu, &report);

	(void)state;
	assert_contains(text, "is 50 % of the time;");
	assert_contains(text, "this kernel waits expedited (synchronize_rcu_expedited)");
	assert_contains(text, "what would change it: batch operations");
	assert_null(strstr(text, "6.19"));
	assert_null(strstr(text, "/sys/kernel"));
}

static void test_rcu_normal_overrules(void **state)
{
	struct rcu_state rcu = kernel("expedited", 1);
	struct update_report report = waited(100, 1000, 980, false);
	const char *text;

	(void)state;
	rcu.normal = 1;
	rcu.waits = "normal";
	text = verdict_on(&rcu, &report);
	assert_contains(text, "asks for expedited waits, but 1 in /sys/kernel/rcu_normal "
			      "overrules that and makes them normal");
	assert_contains(text, "what would change it: 0 in /sys/kernel/rcu_normal;");
	assert_null(strstr(text, "6.19"));
	assert_null(strstr(text, "PREEMPT_RT"));
	rcu.preempt_rt = true;
	assert_contains(verdict_on(&rcu, &report), "PREEMPT_RT writes 1 there after boot");
	/* it wins over the other */
	rcu.expedited = 1;
	assert_contains(verdict_on(&rcu, &report), "/sys/kernel/rcu_normal overrules");
}

static void test_rcu_expedited_overrules(void **state)
{
	struct rcu_state rcu = kernel("normal", 1);
	struct update_report report = waited(100, 1000, 800, true);
	const char *text;

	(void)state;
	rcu.expedited = 1;
	rcu.waits = "expedited";
	text = verdict_on(&rcu, &report);
	assert_contains(text, "asks for normal waits, but 1 in /sys/kernel/rcu_expedited overrules");
	assert_null(strstr(text, "6.19"));
	/* without effect while rcu_normal wins, which then must go too */
	rcu.normal = 1;
	rcu.waits = "normal";
	report = waited(100, 1000, 980, false);
	text = verdict_on(&rcu, &report);
	assert_contains(text, "what would change it: 0 in /sys/kernel/rcu_normal, and with it a "
			      "kernel of 6.19 or later, which waits expedited; or 1 in "
			      "/sys/kernel/rcu_expedited, at the cost");
	assert_null(strstr(text, "overrules"));
	rcu.preempt_rt = true;
	assert_contains(verdict_on(&rcu, &report), "PREEMPT_RT writes 1 there after boot");
}

static void test_nothing_seen_through_a_filter(void **state)
{
	struct rcu_state rcu = kernel("expedited", 1);
	struct update_verdict verdict = { .rcu = &rcu, .filtered = true };
	char text[UPDATE_VERDICT_BYTES];

	(void)state;
	update_verdict_text(&verdict, text, sizeof(text));
	assert_contains(text, "while tracing; if one was, a filter (-p, -m, -c) leaves it out; this");
}

static void test_no_waits(void **state)
{
	struct rcu_state rcu = kernel("expedited", 1);
	struct update_report report = waited(5, 1000, 0, false);

	(void)state;
	assert_contains(verdict_on(&rcu, &report), "None of these calls waited");
	assert_contains(verdict_on(&rcu, &report), "waits expedited");
	assert_contains(verdict_on(&rcu, NULL), "No map of maps was updated while tracing; this");
	assert_contains(verdict_on(&rcu, NULL), "waits expedited");
	rcu = (struct rcu_state){ .normal = -1, .expedited = -1 };
	assert_contains(verdict_on(&rcu, NULL), "how this kernel waits is not known");
}

/* What the calls met counts where a knob was turned meanwhile. */
static void test_kind_is_that_of_the_calls(void **state)
{
	struct rcu_state rcu = kernel("normal", 1);
	struct update_report report = waited(5, 1000, 900, true);

	(void)state;
	assert_contains(verdict_on(&rcu, &report), "waits expedited");
	report.waits_normal = 6;
	assert_contains(verdict_on(&rcu, &report), "waits normal");
}

static void test_sums_of_rows(void **state)
{
	struct rcu_state rcu = kernel("normal", 1);
	struct update_report first = waited(10, 1000, 1000, false);
	struct update_report second = waited(10, 1000, 0, false);
	struct update_verdict verdict = { .rcu = &rcu };
	char text[UPDATE_VERDICT_BYTES];

	(void)state;
	update_verdict_add(&verdict, &first);
	update_verdict_add(&verdict, &second);
	update_verdict_text(&verdict, text, sizeof(text));
	assert_contains(text, "is 50 % of the time");
}

static void test_short_texts_are_cut(void **state)
{
	struct rcu_state rcu = kernel("normal", 1);
	struct update_verdict verdict = { .rcu = &rcu };
	char text[10] = "xxxxxxxxx";

	(void)state;
	update_verdict_text(&verdict, text, sizeof(text));
	assert_string_equal(text, "No map of");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_normal),
		cmocka_unit_test(test_batches_that_wait_for_each_element),
		cmocka_unit_test(test_expedited),
		cmocka_unit_test(test_rcu_normal_overrules),
		cmocka_unit_test(test_rcu_expedited_overrules),
		cmocka_unit_test(test_nothing_seen_through_a_filter),
		cmocka_unit_test(test_no_waits),
		cmocka_unit_test(test_kind_is_that_of_the_calls),
		cmocka_unit_test(test_sums_of_rows),
		cmocka_unit_test(test_short_texts_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
