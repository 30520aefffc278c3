/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What must hold of every output, whatever was read: written against the
 * standards and without the program's own code, so that both must agree.
 */
#ifndef LAZYFAULT_FUZZ_STRICT_H
#define LAZYFAULT_FUZZ_STRICT_H

#include <stdbool.h>
#include <stddef.h>

/* Says what was expected and ends the process, so that the fuzzer keeps the input. */
#define require(condition) \
	((condition) ? (void)0 : fail_require(#condition, __FILE__, __LINE__, NULL, 0))
/* The same; shows the text it is about. */
#define require_of(condition, text, bytes) \
	((condition) ? (void)0 : fail_require(#condition, __FILE__, __LINE__, text, bytes))

_Noreturn void fail_require(const char *condition, const char *file, int line,
			    const char *text, size_t bytes);

/* RFC 3629. */
bool is_utf8(const char *text, size_t bytes);
/* UTF-8 without control characters (C0 but newline, DEL, C1) or marks that turn text. */
bool is_for_terminal(const char *text, size_t bytes);
/* One RFC 8259 object, in UTF-8. */
bool is_json_object(const char *text, size_t bytes);
/* Lines that are each such an object, and end in a newline. */
bool is_json_lines(const char *text, size_t bytes);
/* Elements that nest, of those that a page without scripts has. */
bool is_html(const char *text, size_t bytes);
/* Samples and comments of the Prometheus text format, to the last line "# EOF". */
bool is_metrics(const char *text, size_t bytes);

#endif
