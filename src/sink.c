/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all sinks share. */
#include "sink.h"

void sink_free(struct sink *sink)
{
	if (sink)
		sink->ops->free(sink);
}
