/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes the verdict of an update report: how much of the time is waiting, how
 * this kernel waits, and what would change that here.
 */
#include "update_verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rcu.h"
#include "text_draw.h"

struct writer {
	char *text;
	size_t bytes, used;
};

static void write_text(struct writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void write_text(struct writer *writer, const char *format, ...)
{
	va_list args;
	int length;

	if (writer->used >= writer->bytes)
		return;
	va_start(args, format);
	length = vsnprintf(writer->text + writer->used, writer->bytes - writer->used, format, args);
	va_end(args);
	writer->used += length > 0 ? (size_t)length : 0;
}

void update_verdict_add(struct update_verdict *verdict, const struct update_report *total)
{
	verdict->calls += total->calls;
	verdict->untimed += total->untimed;
	verdict->ns += total->ns.sum;
	verdict->wait_ns += total->wait_ns.sum;
	verdict->waits_normal += total->waits_normal;
	verdict->waits_expedited += total->waits_expedited;
}

static bool is(const char *kind, const char *word)
{
	return kind && !strcmp(kind, word);
}

/* What the calls met if they waited, else what this kernel does. */
static const char *kind_of_waits(const struct update_verdict *verdict)
{
	if (!verdict->waits_normal && !verdict->waits_expedited)
		return verdict->rcu->waits;
	return verdict->waits_normal > verdict->waits_expedited ? "normal" : "expedited";
}

static void write_share(struct writer *writer, const struct update_verdict *verdict)
{
	char percent[NUMBER_BYTES];

	if (!verdict->calls)
		write_text(writer, "No map of maps was updated while tracing%s", verdict->filtered ?
			   "; if one was, a filter (-p, -m, -c) leaves it out" : "");
	else if (!verdict->waits_normal && !verdict->waits_expedited)
		write_text(writer, verdict->calls == 1 ?
			   "This call did not wait for a grace period" :
			   "None of these calls waited for a grace period");
	else
		write_text(writer, "Waiting for grace periods is %s of the time",
			   draw_percent(percent, verdict->wait_ns, verdict->ns));
}

/* How this kernel waits, and which knob makes it so. */
static void write_kind(struct writer *writer, const struct update_verdict *verdict)
{
	const struct rcu_state *rcu = verdict->rcu;
	const char *knob = rcu_overruling_knob(rcu), *kind = kind_of_waits(verdict);

	if (knob)
		write_text(writer, "; this kernel asks for %s waits, but 1 in /sys/kernel/%s "
			   "overrules that and makes them %s", rcu->asks, knob,
			   is(knob, "rcu_normal") ? "normal" : "expedited");
	else if (is(kind, "normal"))
		write_text(writer, "; this kernel waits normal (synchronize_rcu)");
	else if (is(kind, "expedited"))
		write_text(writer, "; this kernel waits expedited (synchronize_rcu_expedited), "
			   "the short way");
	else
		write_text(writer, "; how this kernel waits is not known");
}

/* Whether a batch is a way out: asked of the kernel, as the waits are. */
static void write_batch(struct writer *writer, const struct rcu_state *rcu, const char *before)
{
	if (rcu->batch_waits == 1)
		write_text(writer, "%sbatch operations, which wait once for all their elements",
			   before);
}

static const char rt_remark[] =
	" (PREEMPT_RT writes 1 there after boot, so that no CPU is interrupted)";

static void write_change(struct writer *writer, const struct update_verdict *verdict)
{
	const struct rcu_state *rcu = verdict->rcu;
	const char *knob = rcu_overruling_knob(rcu), *kind = kind_of_waits(verdict);

	if (is(knob, "rcu_normal")) {
		write_text(writer, "; what would change it: 0 in /sys/kernel/rcu_normal%s",
			   rcu->preempt_rt ? rt_remark : "");
		write_batch(writer, rcu, "; ");
	} else if (is(kind, "normal")) {
		write_text(writer, "; what would change it: ");
		if (rcu->normal > 0)
			write_text(writer, "0 in /sys/kernel/rcu_normal%s, and with it ",
				   rcu->preempt_rt ? rt_remark : "");
		write_text(writer, "a kernel of 6.19 or later, which waits expedited; %s1 in "
			   "/sys/kernel/rcu_expedited, at the cost of interrupting every busy CPU for "
			   "each grace period of the whole machine", rcu->normal > 0 ? "or " : "");
		write_batch(writer, rcu, "; ");
	} else if (is(kind, "expedited")) {
		write_batch(writer, rcu, "; what would change it: ");
	}
	if (rcu->batch_waits > 1)
		write_text(writer, "; batch operations would not: here they wait for each element");
}

void update_verdict_text(const struct update_verdict *verdict, char *text, size_t bytes)
{
	struct writer writer = { text, bytes, 0 };

	text[0] = '\0';
	write_share(&writer, verdict);
	write_kind(&writer, verdict);
	write_change(&writer, verdict);
	write_text(&writer, ".");
}
