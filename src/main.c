/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the command line and hands over to the command. */
#include <bpf/libbpf.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "commands.h"
#include "errors.h"
#include "options.h"
#include "printable.h"
#include "privileges.h"

/* libbpf's own log explains a refused program to those who ask for it by -v. */
static int print_all(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text, *shown;
	int length;

	(void)level;
	length = vasprintf(&text, format, args);
	if (length < 0)
		return length;
	shown = printable_copy(text, true);
	if (shown)
		fputs(shown, stderr);
	free(shown);
	free(text);
	return length;
}

static int print_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

int main(int argc, char **argv)
{
	struct options options;
	int status;

	if (privileges_are_borrowed()) {
		complain("it is installed setuid or setgid, and is not made to trace for users who "
			 "may not trace themselves: take that bit off it (chmod ug-s), and use sudo");
		return EXIT_FAILURE;
	}
	/* numbers and columns are the same in every locale; only the terminal's charset counts */
	setlocale(LC_CTYPE, "");
	options_parse(&options, argc, argv);
	errors_setup(options.quiet, options.verbose);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	libbpf_set_print(options.verbose ? print_all : print_nothing);
	switch (options.command) {
	case COMMAND_FAULTS:
		status = command_faults(&options);
		break;
	case COMMAND_UPDATES:
		status = command_updates(&options);
		break;
	case COMMAND_CHECK:
		status = command_check(&options);
		break;
	case COMMAND_REPORT:
		status = command_report(&options);
		break;
	default:
		status = EXIT_FAILURE;
	}
	options_free(&options);
	return status;
}
