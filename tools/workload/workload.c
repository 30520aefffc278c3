// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The workload program: maps a BPF map, touches it in known ways and prints what
 * a tracer must have seen. The tests' oracle; --help has the whole of it.
 */
#include "workload.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

struct totals *totals;
size_t page_bytes;

static void totals_init(void)
{
	totals = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (totals == MAP_FAILED)
		die("no memory: %m");
	totals->start_ns = now_ns();
}

int main(int argc, char **argv)
{
	struct options options;
	struct map map;
	int status;

	page_bytes = sysconf(_SC_PAGESIZE);
	options_parse(argc, argv, &options);
	if (options.do_nothing) {
		free(options.order);
		return EXIT_SUCCESS;
	}
	if (options.comm_given)
		prctl(PR_SET_NAME, options.comm);
	prefault_program();
	totals_init();
	signals_init(&options);
	noise_start(options.noise);
	touch_init(&options);
	map_create(&options, &map);
	report_map(&options, &map);
	wait_for_file(options.wait_before);
	if (options.processes)
		run_processes(&options, &map);
	else
		run_rounds(&options, &map);
	noise_stop();
	map_destroy(&options, &map);
	report_summary(&options);
	status = totals->disagreements ? EXIT_FAILURE : EXIT_SUCCESS;
	free(options.order);
	return status;
}
