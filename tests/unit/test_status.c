/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The status line: when there is one, what is in it, and what is drawn on a
 * terminal of our own in the place of standard error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "options.h"
#include "status.h"

static const struct status_ground terminal = {
	.stderr_is_terminal = true, .out_is_terminal = true, .term = "xterm",
};

static void test_on_a_terminal_only(void **state)
{
	const struct options options = {};
	struct status_ground ground = terminal;

	(void)state;
	assert_true(status_wanted(&options, &ground));
	ground.out_is_terminal = false;
	assert_true(status_wanted(&options, &ground));	/* into a file */
	ground.out_is_pipe = true;
	assert_false(status_wanted(&options, &ground));
	ground = terminal;
	ground.stderr_is_terminal = false;
	assert_false(status_wanted(&options, &ground));
}

static void test_not_on_a_terminal_without_a_cursor(void **state)
{
	static const char *const without[] = { NULL, "", "dumb" };
	const struct options options = {};
	struct status_ground ground = terminal;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		ground.term = without[i];
		assert_false(status_wanted(&options, &ground));
	}
}

static void test_not_where_others_print(void **state)
{
	static const struct options meanwhile[] = {
		{ .json = true }, { .interval = 1 }, { .events = true },
	};
	char *argv[] = { "true", NULL };
	const struct options command = { .argv = argv };
	struct status_ground file = terminal;

	(void)state;
	file.out_is_terminal = false;
	for (size_t i = 0; i < 3; i++) {
		assert_false(status_wanted(&meanwhile[i], &terminal));
		assert_true(status_wanted(&meanwhile[i], &file));
	}
	assert_false(status_wanted(&command, &terminal));
	assert_false(status_wanted(&command, &file));
}

static void test_quiet_and_verbose_have_none(void **state)
{
	const struct options quiet = { .quiet = true }, verbose = { .verbose = true };

	(void)state;
	assert_false(status_wanted(&quiet, &terminal));
	assert_false(status_wanted(&verbose, &terminal));
}

static void test_line(void **state)
{
	struct status_counts counts = {
		.seconds = 12.4, .faults_known = true, .faults = 1, .installed_pages = 16,
	};
	char text[200];

	(void)state;
	assert_string_equal(status_line(&counts, text, sizeof(text), 79),
			    "lazyfault: 12 s, 1 fault, 16 pages installed, 0 lost");
	counts.installed_pages = 1;
	assert_string_equal(status_line(&counts, text, sizeof(text), 79),
			    "lazyfault: 12 s, 1 fault, 1 page installed, 0 lost");
	counts.faults = counts.installed_pages = counts.lost = UINT64_MAX;
	assert_string_equal(status_line(&counts, text, sizeof(text), 150),
			    "lazyfault: 12 s, 18446744073709551615 faults, 18446744073709551615 "
			    "pages installed, 18446744073709551615 lost");
	assert_int_equal(strlen(status_line(&counts, text, sizeof(text), 79)), 79);
	assert_int_equal(strlen(status_line(&counts, text, sizeof(text), 1)), 1);
	counts.faults_known = false;
	counts.lost = 0;
	assert_string_equal(status_line(&counts, text, sizeof(text), 79),
			    "lazyfault: 12 s, 0 lost");
	counts.calls_known = true;
	counts.calls = 1439;
	assert_string_equal(status_line(&counts, text, sizeof(text), 79),
			    "lazyfault: 12 s, 1439 updates, 0 lost");
	counts.calls = 1;
	assert_string_equal(status_line(&counts, text, sizeof(text), 79),
			    "lazyfault: 12 s, 1 update, 0 lost");
}

static void test_once_a_second(void **state)
{
	struct status status = { .shown = true, .next = 1 };
	struct status_counts counts = { .seconds = 1.5 };

	(void)state;
	assert_false(status_is_due(&status, 0.5));
	assert_true(status_is_due(&status, 0.999));
	status.shown = false;
	assert_false(status_is_due(&status, 5));
	status_draw(&status, &counts);	/* draws nothing */
	assert_false(status.drawn);
	status.shown = true;
	assert_false(status_is_due(&status, 2));
	assert_true(status_is_due(&status, 2.45));
}

/* ---- on a terminal ---- */

/* A terminal, which is standard error until it is closed. */
struct screen {
	int master, kept;
};

static void open_screen(struct screen *screen, unsigned short columns)
{
	struct winsize size = { .ws_row = 24, .ws_col = columns };
	int slave;

	assert_int_equal(openpty(&screen->master, &slave, NULL, NULL, &size), 0);
	fcntl(screen->master, F_SETFL, O_NONBLOCK);
	screen->kept = dup(STDERR_FILENO);
	dup2(slave, STDERR_FILENO);
	close(slave);
}

/* What was drawn since the last time. */
static const char *drawn(const struct screen *screen, char *text, size_t bytes)
{
	ssize_t got = read(screen->master, text, bytes - 1);

	text[got > 0 ? got : 0] = '\0';
	return text;
}

static void close_screen(struct screen *screen)
{
	dup2(screen->kept, STDERR_FILENO);
	close(screen->kept);
	close(screen->master);
}

static void test_drawn_over_and_erased(void **state)
{
	struct status_counts counts = { .seconds = 1 };
	struct status status = { .shown = true };
	char first[500], second[500], erased[500], nothing[500];
	struct screen screen;

	(void)state;
	open_screen(&screen, 80);
	status_erase(&status);
	drawn(&screen, nothing, sizeof(nothing));
	status_draw(&status, &counts);
	drawn(&screen, first, sizeof(first));
	counts.seconds = 2;
	status_draw(&status, &counts);
	drawn(&screen, second, sizeof(second));
	status_erase(&status);
	drawn(&screen, erased, sizeof(erased));
	close_screen(&screen);
	assert_string_equal(nothing, "");
	assert_string_equal(first, "\r\033[Klazyfault: 1 s, 0 lost");
	assert_string_equal(second, "\r\033[Klazyfault: 2 s, 0 lost");
	assert_string_equal(erased, "\r\033[K");
	assert_false(status.drawn);
}

static void test_narrow_terminal(void **state)
{
	const struct status_counts counts = { .seconds = 1, .faults_known = true };
	struct status status = { .shown = true };
	struct screen screen;
	char text[500];

	(void)state;
	open_screen(&screen, 10);
	status_draw(&status, &counts);
	drawn(&screen, text, sizeof(text));
	close_screen(&screen);
	assert_string_equal(text, "\r\033[Klazyfault");
}

/* With ^S a terminal takes nothing more, and a write would wait. */
static void test_stopped_terminal_is_not_waited_for(void **state)
{
	const struct status_counts counts = { .seconds = 1 };
	struct status status = { .shown = true };
	struct screen screen;
	char text[500];

	(void)state;
	open_screen(&screen, 80);
	assert_int_equal(tcflow(STDERR_FILENO, TCOOFF), 0);
	alarm(10);
	for (int i = 0; i < 3; i++)
		status_draw(&status, &counts);
	status_erase(&status);
	alarm(0);
	tcflow(STDERR_FILENO, TCOON);
	drawn(&screen, text, sizeof(text));
	close_screen(&screen);
	assert_string_equal(text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_on_a_terminal_only),
		cmocka_unit_test(test_not_on_a_terminal_without_a_cursor),
		cmocka_unit_test(test_not_where_others_print),
		cmocka_unit_test(test_quiet_and_verbose_have_none),
		cmocka_unit_test(test_line),
		cmocka_unit_test(test_once_a_second),
		cmocka_unit_test(test_drawn_over_and_erased),
		cmocka_unit_test(test_narrow_terminal),
		cmocka_unit_test(test_stopped_terminal_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
