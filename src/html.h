/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One self-contained HTML page of a run: no network, no scripts. */
#ifndef LAZYFAULT_HTML_H
#define LAZYFAULT_HTML_H

#include <stdio.h>

struct sink;

/*
 * A sink that writes the page at summary(). `top`: VMAs in its table, 0: as
 * many as a page can well hold; sort_key as for the text report. NULL: no memory.
 */
struct sink *html_sink_new(FILE *out, unsigned int top, const char *sort_key);

#endif
