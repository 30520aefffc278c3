/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all sinks share. */
#include "sink.h"

#include <errno.h>

#include "output.h"

void sink_free(struct sink *sink)
{
	if (sink)
		sink->ops->free(sink);
}

void sink_complain(const struct sink *sink)
{
	if (!sink->told)
		output_complain(sink->option, sink->path, sink->error);
}

void sink_event(struct sink *sink, const struct event_report *event)
{
	if (sink->ops->event)
		sink->ops->event(sink, event);
}

void sink_flush(struct sink *sink)
{
	if (sink->ops->flush) {
		sink->ops->flush(sink);
		return;
	}
	errno = 0;
	if (!sink->out || sink->failed)
		return;
	if (!fflush(sink->out) && !ferror(sink->out))
		return;
	sink->error = errno ? errno : output_error(sink->out);
	sink->failed = true;
}
