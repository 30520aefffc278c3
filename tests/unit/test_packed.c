/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packed structs come back as they were, whatever their size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "packed.h"

static void round_trip(const unsigned char *data, size_t bytes)
{
	struct packed *packed = packed_new(data, bytes);
	unsigned char back[4096 + 1];

	assert_non_null(packed);
	memset(back, 0xaa, sizeof(back));
	packed_get(packed, back, bytes);
	assert_memory_equal(back, data, bytes);
	assert_int_equal(back[bytes], 0xaa);
	free(packed);
}

static void test_any_size_comes_back(void **state)
{
	unsigned char data[4096];

	(void)state;
	for (size_t bytes = 1; bytes <= sizeof(data); bytes += bytes < 600 ? 1 : 499) {
		memset(data, 0, sizeof(data));
		round_trip(data, bytes);
		data[bytes - 1] = 1;
		round_trip(data, bytes);
		for (size_t i = 0; i < bytes; i++)
			data[i] = (unsigned char)(i * 37 + 1);
		round_trip(data, bytes);
		for (size_t i = 0; i < bytes; i++)
			data[i] = i / 8 % 3 ? 0 : 0x80;
		round_trip(data, bytes);
	}
}

static void test_nothing_is_zeros(void **state)
{
	uint64_t data[100], zeros[100] = { 0 };

	(void)state;
	memset(data, 0xff, sizeof(data));
	packed_get(NULL, data, sizeof(data));
	assert_memory_equal(data, zeros, sizeof(data));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_size_comes_back),
		cmocka_unit_test(test_nothing_is_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
