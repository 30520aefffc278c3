/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `lazyfault check`: what can be traced here, and why not. It attaches to find
 * out, since what loads may still be refused there.
 */
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "commands.h"
#include "errors.h"
#include "handlers.h"
#include "kernel_btf.h"
#include "options.h"
#include "output.h"
#include "rcu.h"
#include "targets.h"
#include "tracer.h"
#include "update_tracer.h"

#define ITEMS 32
#define DETAIL_BYTES 1024

struct item {
	const char *name;
	bool ok;
	char detail[DETAIL_BYTES];
};

struct findings {
	struct item items[ITEMS];
	size_t count;
	bool traceable;
};

static void __attribute__((format(printf, 4, 5)))
found(struct findings *findings, const char *name, bool ok, const char *format, ...)
{
	struct item *item = &findings->items[findings->count];
	va_list args;

	if (findings->count == ITEMS)
		return;
	findings->count++;
	item->name = name;
	item->ok = ok;
	va_start(args, format);
	vsnprintf(item->detail, sizeof(item->detail), format, args);
	va_end(args);
}

static const char *lockdown_name(int lockdown)
{
	static const char *const names[] = { "none", "integrity", "confidentiality" };

	return lockdown >= 0 && lockdown <= 2 ? names[lockdown] : "not known";
}

static void look_at_ground(struct findings *findings)
{
	struct utsname kernel;
	struct ground ground;

	uname(&kernel);
	ground_look(&ground);
	found(findings, "kernel", true, "%s %s", kernel.release, kernel.machine);
	found(findings, "btf", ground.btf, "%s", ground.btf ? "/sys/kernel/btf/vmlinux" :
	      "/sys/kernel/btf/vmlinux is missing: a kernel with CONFIG_DEBUG_INFO_BTF is needed");
	found(findings, "capabilities", ground.cap_sys_admin || (ground.cap_bpf && ground.cap_perfmon),
	      "%s", ground.cap_sys_admin ? "CAP_SYS_ADMIN" :
	      ground.cap_bpf && ground.cap_perfmon ? "CAP_BPF and CAP_PERFMON" :
	      "CAP_BPF and CAP_PERFMON are needed: run as root");
	found(findings, "lockdown", ground.lockdown < 2, "%s", lockdown_name(ground.lockdown));
}

static void describe_type(struct findings *findings, const struct type_mode *mode,
			  const struct type_handlers *type)
{
	bool ok = mode->mode != MODE_UNKNOWN, in_btf = kernel_function(type->fault.name);

	if (mode->reason)
		found(findings, mode->type, ok, "%s: %s", map_mode_name(mode->mode), mode->reason);
	else if (!mode->fault)
		found(findings, mode->type, ok, "%s", map_mode_name(mode->mode));
	else
		found(findings, mode->type, in_btf, "%s: fault %s%s, map_pages %s",
		      map_mode_name(mode->mode), mode->fault,
		      in_btf ? "" : " (not in BTF: cannot be hooked)",
		      mode->map_pages ? mode->map_pages : "none");
}

static void found_gaps(struct findings *findings, const struct program_gaps *gaps)
{
	for (size_t i = 0; i < gaps->count; i++)
		found(findings, "not traced", false, "%s: %s", gaps->items[i].what,
		      gaps->items[i].why);
}

static void look_at_tracing(struct findings *findings, const struct handlers *handlers,
			    const struct options *options)
{
	const struct targets everything = TARGETS_NONE;
	const struct tracer_config config = {
		.handlers = handlers,
		.targets = &everything,
		.max_vmas = options->max_vmas,
	};
	char message[DETAIL_BYTES];
	struct tracer *tracer;

	tracer = tracer_start(&config, message, sizeof(message));
	findings->traceable = tracer != NULL;
	if (!tracer) {
		found(findings, "faults", false, "%s", message);
		return;
	}
	found(findings, "faults", true, "counting is %s; programs load and attach",
	      tracer_is_exact(tracer) ? "exact" : "light");
	found_gaps(findings, tracer_gaps(tracer));
	found(findings, "kernel memory", true, "%.1f MiB for %u VMAs",
	      (double)tracer_memory(tracer) / (1 << 20), options->max_vmas);
	tracer_free(tracer);
}

static const char *knob_value(int value, char text[16])
{
	if (value < 0)
		return "not known";
	snprintf(text, 16, "%d", value);
	return text;
}

static void describe_waits(struct findings *findings, const struct rcu_state *rcu)
{
	const char *knob = rcu_overruling_knob(rcu);
	char normal[16], expedited[16];

	found(findings, "updates", true, "of maps of maps: programs load and attach; this kernel "
	      "waits %s%s%s%s%s%s", rcu->waits ? rcu->waits : "as is not known", knob ? ", as " : "",
	      knob ? knob : "", knob ? " overrules the " : "", knob ? rcu->asks : "",
	      knob ? " wait that it asks for" : "");
	found(findings, "grace periods", true, "rcu_normal %s, rcu_expedited %s, %sPREEMPT_RT",
	      knob_value(rcu->normal, normal), knob_value(rcu->expedited, expedited),
	      rcu->preempt_rt ? "" : "not ");
}

static void describe_losses(struct findings *findings, bool exact)
{
	struct ground ground;

	ground_look(&ground);
	if (exact)
		found(findings, "update losses", true, "exact: the LSM \"bpf\" sees each call begin");
	else if (ground.lsm_bpf > 0)
		found(findings, "update losses", true, "upper bounds: this kernel may skip programs "
		      "of the LSM \"bpf\", as Linux does before 6.2");
	else
		found(findings, "update losses", true, "upper bounds: %s; the LSM \"bpf\" makes them "
		      "exact since Linux 6.2 (lsm= on the kernel's command line)", ground.lsm_bpf ?
		      "/sys/kernel/security/lsm cannot be read" :
		      "\"bpf\" is not in /sys/kernel/security/lsm");
}

static void look_at_updates(struct findings *findings, const struct handlers *handlers)
{
	const struct targets everything = TARGETS_NONE;
	const struct update_tracer_config config = {
		.targets = &everything,
		.handlers = handlers,
	};
	char message[DETAIL_BYTES];
	struct update_tracer *tracer;
	struct rcu_state rcu;

	tracer = update_tracer_start(&config, message, sizeof(message));
	if (!tracer) {
		found(findings, "updates", false, "%s", message);
		return;
	}
	rcu_look(&rcu);
	update_tracer_waits(tracer, &rcu);
	describe_waits(findings, &rcu);
	describe_losses(findings, update_tracer_sees_all(tracer));
	found_gaps(findings, update_tracer_gaps(tracer));
	update_tracer_free(tracer);
}

static void print_text(const struct findings *findings)
{
	for (size_t i = 0; i < findings->count; i++)
		printf("%-3s  %-14s %s\n", findings->items[i].ok ? "ok" : "NO",
		       findings->items[i].name, findings->items[i].detail);
	printf("%s\n", findings->traceable ? "lazyfault can trace here." :
	       "lazyfault cannot trace here.");
}

static void print_json(const struct findings *findings)
{
	struct json_object *record = json_object_new_object();
	struct json_object *items = json_object_new_array();

	for (size_t i = 0; i < findings->count; i++) {
		struct json_object *item = json_object_new_object();

		json_object_object_add(item, "name", json_object_new_string(findings->items[i].name));
		json_object_object_add(item, "ok", json_object_new_boolean(findings->items[i].ok));
		json_object_object_add(item, "detail",
				       json_object_new_string(findings->items[i].detail));
		json_object_array_add(items, item);
	}
	json_object_object_add(record, "type", json_object_new_string("check"));
	json_object_object_add(record, "ok", json_object_new_boolean(findings->traceable));
	json_object_object_add(record, "items", items);
	printf("%s\n", json_object_to_json_string_ext(record, JSON_C_TO_STRING_PLAIN |
						      JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(record);
}

int command_check(const struct options *options)
{
	struct type_mode modes[MODEL_TYPES];
	struct findings findings = {};
	struct handlers handlers;
	int error;

	look_at_ground(&findings);
	handlers_find(&handlers);
	handlers_describe(&handlers, modes);
	for (int i = 0; i < MODEL_TYPES; i++)
		describe_type(&findings, &modes[i], &handlers.types[i]);
	kernel_btf_forget();
	look_at_tracing(&findings, &handlers, options);
	look_at_updates(&findings, &handlers);
	if (options->json)
		print_json(&findings);
	else
		print_text(&findings);
	error = output_close(stdout);
	if (error)
		output_complain("output", NULL, error);
	return findings.traceable && !error ? EXIT_SUCCESS : EXIT_FAILURE;
}
