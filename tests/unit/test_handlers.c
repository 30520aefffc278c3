/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a kernel's answers amount to: the mode of each type of map, the names
 * of handlers whatever they are called, and the reason where there is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "handlers.h"

#include "contains.h"

static struct handlers all_mapped(void)
{
	struct handlers handlers = { .probe_error = 0 };

	for (int i = 0; i < MODEL_TYPES; i++)
		handlers.types[i].mapped = true;
	return handlers;
}

static void tell(struct handlers *handlers, const char *line)
{
	if (!handlers_parse_line(handlers, line))
		fail_msg("not taken: %s", line);
}

static struct type_mode described(const struct handlers *handlers, enum type_index type)
{
	struct type_mode modes[MODEL_TYPES];

	handlers_describe(handlers, modes);
	return modes[type];
}

static void test_lazy(void **state)
{
	struct handlers handlers = all_mapped();
	struct type_mode mode;

	(void)state;
	tell(&handlers, "0 fault ffffffff81234567 bpf_map_mmap_fault\n");
	tell(&handlers, "0 map_pages 0 0x0\n");
	mode = described(&handlers, TYPE_ARRAY);
	assert_int_equal(mode.mode, MODE_LAZY);
	assert_string_equal(mode.type, "array");
	assert_string_equal(mode.fault, "bpf_map_mmap_fault");
	assert_null(mode.map_pages);
	assert_null(mode.reason);
}

static void test_handlers_of_any_name(void **state)
{
	struct handlers handlers = all_mapped();
	struct type_mode mode;

	(void)state;
	tell(&handlers, "1 fault ffffffff81234567 something_else.isra.0\n");
	tell(&handlers, "1 map_pages ffffffff81234999 nobody_knew_this.constprop.3 [module]\n");
	mode = described(&handlers, TYPE_ARENA);
	assert_int_equal(mode.mode, MODE_LAZY_AROUND);
	assert_string_equal(mode.fault, "something_else.isra.0");
	assert_string_equal(mode.map_pages, "nobody_knew_this.constprop.3");
}

static void test_handler_without_a_symbol(void **state)
{
	struct handlers handlers = all_mapped();

	(void)state;
	tell(&handlers, "0 fault ffffffff81234567 0xffffffff81234567\n");
	assert_int_equal(described(&handlers, TYPE_ARRAY).mode, MODE_LAZY);
	assert_string_equal(described(&handlers, TYPE_ARRAY).fault, "(no symbol)");
}

static void test_eager(void **state)
{
	struct handlers handlers = all_mapped();

	(void)state;
	tell(&handlers, "2 fault 0 0x0\n");
	tell(&handlers, "2 open ffffffff81234567 bpf_map_mmap_open\n");
	assert_int_equal(described(&handlers, TYPE_RINGBUF).mode, MODE_EAGER);
	assert_null(described(&handlers, TYPE_RINGBUF).fault);
}

static void test_kernel_that_cannot_map_it(void **state)
{
	static const int errors[] = { EINVAL, EOPNOTSUPP, 524, ENODEV };

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct handlers handlers = { .probe_error = 0 };
		struct type_mode mode;

		handlers.types[TYPE_ARRAY].error = errors[i];
		mode = described(&handlers, TYPE_ARRAY);
		assert_int_equal(mode.mode, MODE_NONE);
		assert_contains(mode.reason, "this kernel cannot map it: ");
	}
}

static void test_kernel_that_was_not_asked(void **state)
{
	struct handlers handlers = all_mapped(), refused = { .probe_error = 0 };
	struct type_mode mode;

	(void)state;
	handlers.probe_error = EPERM;
	mode = described(&handlers, TYPE_ARRAY);
	assert_int_equal(mode.mode, MODE_UNKNOWN);
	assert_contains(mode.reason, "could not be asked: Operation not permitted");
	refused.types[TYPE_ARENA].error = EACCES;
	mode = described(&refused, TYPE_ARENA);
	assert_int_equal(mode.mode, MODE_UNKNOWN);
	assert_contains(mode.reason, "Permission denied");
}

static void test_other_lines_are_not_taken(void **state)
{
	static const char *const lines[] = {
		"", "\n", "0\n", "0 fault\n", "0 fault ffffffff81234567\n", "x fault 1 name\n",
		"3 fault ffffffff81234567 name\n", "4294967295 fault 1 name\n",
		"0 fault zzz name\n", "0 mremap 1 name\n",
	};
	struct handlers handlers = all_mapped();

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(handlers_parse_line(&handlers, lines[i]));
	assert_false(handlers.types[TYPE_ARRAY].asked);
}

static void test_long_names_are_cut(void **state)
{
	struct handlers handlers = all_mapped();
	char line[1024] = "0 fault ffffffff81234567 ";
	size_t used = strlen(line);

	(void)state;
	memset(line + used, 'n', sizeof(line) - used - 1);
	tell(&handlers, line);
	assert_int_equal(strlen(handlers.types[TYPE_ARRAY].fault.name), SYMBOL_BYTES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lazy),
		cmocka_unit_test(test_handlers_of_any_name),
		cmocka_unit_test(test_handler_without_a_symbol),
		cmocka_unit_test(test_eager),
		cmocka_unit_test(test_kernel_that_cannot_map_it),
		cmocka_unit_test(test_kernel_that_was_not_asked),
		cmocka_unit_test(test_other_lines_are_not_taken),
		cmocka_unit_test(test_long_names_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
