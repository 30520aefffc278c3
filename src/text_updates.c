/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints map-in-map updates: the numbers people compare, with units. */
#include "text_updates.h"

#include <inttypes.h>
#include <string.h>

#include "printable.h"
#include "rcu.h"
#include "text_draw.h"

enum { NAME_COLUMNS = 30 };

static void draw_knob(struct paragraph *line, const char *name, int value, const char *behind)
{
	if (value < 0)
		paragraph_add(line, "%s not known%s", name, behind);
	else
		paragraph_add(line, "%s %d%s", name, value, behind);
}

void text_update_ground(FILE *out, const struct run_start *start)
{
	const struct rcu_state *rcu = &start->rcu;
	const char *knob = rcu_overruling_knob(rcu);
	char word[60 + 1], arch[20 + 1];
	struct paragraph line;

	printable_terminal(word, start->kernel ? start->kernel : "?", 60);
	printable_terminal(arch, start->arch ? start->arch : "?", 20);
	paragraph_begin(&line, out, 10, "Kernel");
	paragraph_add(&line, "%s,", word);
	paragraph_add(&line, "%s,", arch);
	paragraph_add(&line, "%sPREEMPT_RT", rcu->preempt_rt ? "" : "not ");
	paragraph_end(&line);

	paragraph_begin(&line, out, 10, "Waiting");
	printable_terminal(word, rcu->waits ? rcu->waits : "not known", 60);
	paragraph_add(&line, "%s%s", word, knob ? "," : ";");
	if (knob) {
		printable_terminal(word, rcu->asks, 60);
		paragraph_add(&line, "as %s overrules the kernel's %s;", knob, word);
	}
	draw_knob(&line, "rcu_normal", rcu->normal, ",");
	draw_knob(&line, "rcu_expedited", rcu->expedited, "");
	paragraph_end(&line);
}

static void draw_loss(FILE *out, uint64_t count, const char *before, const char *why)
{
	struct paragraph line;

	if (!count)
		return;
	paragraph_begin(&line, out, TEXT_LABEL, "Lost");
	paragraph_words(&line, before);
	paragraph_add(&line, "%" PRIu64, count);
	paragraph_words(&line, count == 1 ? "call:" : "calls:");
	paragraph_words(&line, why);
	paragraph_end(&line);
}

void text_update_losses(FILE *out, const struct losses *lost)
{
	draw_loss(out, lost->ring_full, "", "the ring buffer was full (larger: --ring-size)");
	if (lost->recursion_at_most)
		draw_loss(out, lost->recursion, "at most",
			  "the kernel skipped so many runs of the hooks on bpf(2), of any "
			  "process, as threads share a CPU");
	else
		draw_loss(out, lost->recursion, "",
			  "the kernel skipped the hooks on bpf(2), as threads share a CPU");
}

static void draw_times(FILE *out, const struct dist *ns)
{
	char total[NUMBER_BYTES], most[NUMBER_BYTES], average[NUMBER_BYTES], least[NUMBER_BYTES];
	uint64_t count = dist_count(ns);
	struct paragraph line;

	if (!count)
		return;
	paragraph_begin(&line, out, TEXT_LABEL, "  time");
	paragraph_add(&line, "total %s,", draw_duration(total, ns->sum));
	paragraph_add(&line, "max %s,", draw_duration(most, ns->max));
	paragraph_add(&line, "avg %s,", draw_duration(average, ns->sum / count));
	paragraph_add(&line, "min %s", draw_duration(least, ns->min));
	paragraph_end(&line);
}

static void draw_waiting(FILE *out, const struct update_report *update)
{
	char text[NUMBER_BYTES], kind[NAME_COLUMNS + 1];
	struct paragraph line;

	paragraph_begin(&line, out, TEXT_LABEL, "  waiting");
	if (!update->wait || !strcmp(update->wait, "none")) {
		paragraph_words(&line, "for no grace period");
		paragraph_end(&line);
		return;
	}
	printable_terminal(kind, update->wait, NAME_COLUMNS);
	if (update->waits_normal && update->waits_expedited)
		paragraph_add(&line, "normal and expedited grace periods,");
	else
		paragraph_add(&line, "%s grace period,", kind);
	if (update->waits_normal + update->waits_expedited)
		paragraph_add(&line, "%" PRIu64 " of them,",
			      update->waits_normal + update->waits_expedited);
	paragraph_add(&line, "%s,", draw_duration(text, update->wait_ns.sum));
	paragraph_add(&line, "%s of the time",
		      draw_percent(text, update->wait_ns.sum, update->ns.sum));
	paragraph_end(&line);
}

void text_update_block(FILE *out, const struct update_report *update, bool unicode)
{
	char comm[NAME_COLUMNS + 1], name[NAME_COLUMNS + 1], type[NAME_COLUMNS + 1];
	struct paragraph line;

	printable_terminal(comm, update->comm, NAME_COLUMNS);
	printable_terminal(name, update->map.name, NAME_COLUMNS);
	printable_terminal(type, update->map.type ? update->map.type : "?", NAME_COLUMNS);
	paragraph_begin(&line, out, 2, NULL);
	paragraph_add(&line, "pid %" PRIu32, update->pid);
	paragraph_add(&line, "(%s),", comm);
	paragraph_add(&line, "map id %" PRIu32, update->map.id);
	paragraph_add(&line, "\"%s\",", name);
	paragraph_add(&line, "%s", type);
	paragraph_end(&line);

	paragraph_begin(&line, out, TEXT_LABEL, "  calls");
	paragraph_add(&line, "%" PRIu64 ",", update->calls);
	paragraph_add(&line, "%" PRIu64 " failed%s", update->failed, update->untimed ? "," : "");
	if (update->untimed)
		paragraph_add(&line, "%" PRIu64 " untimed", update->untimed);
	paragraph_end(&line);
	draw_times(out, &update->ns);
	draw_waiting(out, update);
	draw_histogram(out, &update->ns, unicode);
	fputc('\n', out);
}

void text_update_heading(FILE *out)
{
	fprintf(out, "%7s %7s %9s %9s %9s %9s  %s\n", "PID", "MAP", "CALLS", "TOTAL", "AVG",
		"MAX", "COMM");
}

void text_update_row(FILE *out, const struct update_report *update)
{
	char calls[NUMBER_BYTES], total[NUMBER_BYTES], average[NUMBER_BYTES], most[NUMBER_BYTES];
	uint64_t count = dist_count(&update->ns);
	char numbers[TEXT_COLUMNS + 1], comm[TEXT_COLUMNS + 1];
	size_t columns;

	columns = (size_t)snprintf(numbers, sizeof(numbers),
				   "%7" PRIu32 " %7" PRIu32 " %9s %9s %9s %9s  ", update->pid,
				   update->map.id, draw_count(calls, update->calls, 9),
				   draw_duration(total, update->ns.sum),
				   draw_duration(average, count ? update->ns.sum / count : 0),
				   draw_duration(most, count ? update->ns.max : 0));
	printable_terminal(comm, update->comm, TEXT_COLUMNS - columns);
	fprintf(out, "%s%s\n", numbers, comm);
}
