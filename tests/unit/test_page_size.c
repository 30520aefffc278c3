/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machines with pages of 16 and 64 KiB: sizes come from sysconf(), which this
 * test answers in the C library's place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../bpf/records.h"
#include "options.h"
#include "sink.h"
#include "vma_table.h"

#include "contains.h"

static long pretended;		/* 0: the machine's own */

/* The C library's, by its other name. */
long __sysconf(int name);

long sysconf(int name)
{
	return name == _SC_PAGESIZE && pretended ? pretended : __sysconf(name);
}

static const long sizes[] = { 4096, 16384, 65536 };

static void keep(void *context, const struct vma_report *vma)
{
	*(struct vma_report *)context = *vma;
}

static void test_pages_of_a_vma(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct vma_record record = {
			.header = { RECORD_VMA, VMA_MAPPED },
			.identity = {
				.id = 1, .start = 0x7f0000000000,
				.end = 0x7f0000000000 + 100 * (uint64_t)sizes[i],
				.where_start = 0x7f0000000000, .where_shift = 1,
			},
		};
		struct vma_table *table;
		struct vma_report vma = { .pages = 0 };

		pretended = sizes[i];
		table = vma_table_new(true, true);
		pretended = 0;
		assert_int_equal(vma_table_add(table, &record, 0), 0);
		vma_table_each_total(table, keep, &vma);
		assert_true(vma.pages == 100);
		assert_int_equal(vma.where.count, 50);
		assert_true(vma.where.pages_per_bin == 2);
		vma_table_free(table);
	}
}

static int ring_size_status(const char *bytes)
{
	char *argv[] = { "lazyfault", "--ring-size", (char *)bytes, NULL };
	struct options options;
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(99);
		options_parse(&options, 3, argv);
		options_free(&options);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status);
}

static void test_smallest_ring_is_a_page(void **state)
{
	static const char *const texts[] = { "4096", "16K", "64K" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		pretended = sizes[i];
		for (size_t j = 0; j < 3; j++)
			assert_int_equal(ring_size_status(texts[j]), j < i ? 64 : 0);
		pretended = 0;
	}
}

static void test_header_tells_the_size(void **state)
{
	static const char *const words[] = { "pages of 4 KiB", "pages of 16 KiB", "pages of 64 KiB" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const struct text_options options = { .top = 0 };
		const struct run_start start = {
			.version = "0", .kernel = "k", .arch = "aarch64",
			.page_bytes = (unsigned int)sizes[i], .exact = true, .timed = true,
		};
		char *text = NULL;
		size_t bytes;
		FILE *out = open_memstream(&text, &bytes);
		struct sink *sink = text_sink_new(out, &options);

		sink->ops->start(sink, &start);
		sink_free(sink);
		fclose(out);
		assert_contains(text, words[i]);
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages_of_a_vma),
		cmocka_unit_test(test_smallest_ring_is_a_page),
		cmocka_unit_test(test_header_tells_the_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
