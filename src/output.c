/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the output file so that nothing but a plain file of ours is ever written over. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "errors.h"
#include "output.h"
#include "place.h"

/* Whatever is written over it is gone, as was asked for. */
static bool is_null_device(const struct stat *status)
{
	return S_ISCHR(status->st_mode) && status->st_rdev == makedev(1, 3);
}

bool output_is_stdout(const char *path)
{
	return !path || !strcmp(path, "-") || !strcmp(path, "/dev/stdout");
}

/* What is there may be written over; else why not. Beside the report, stdout is no way out. */
static const char *forbids(const struct place *place, const struct stat *status, bool is_report)
{
	return is_null_device(status) ? NULL : place_forbids(place, status, is_report);
}

/*
 * The file, opened; -1 with the reason in *why. It is looked at before, as
 * the open of a device can do something by itself, and after, as another may
 * have come into its place.
 */
static int open_file(const struct place *place, bool is_report, const char **why)
{
	struct stat status;
	int error = place_look(place, &status), fd = -1;

	*why = error ? NULL : forbids(place, &status, is_report);
	if (*why)
		return -1;
	/* O_NONBLOCK: the open of a FIFO must not wait for its reader */
	fd = openat(place->directory, place->name,
		    O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC | O_NONBLOCK |
		    (error == ENOENT ? O_CREAT | O_EXCL : 0), 0600);
	if (fd < 0 || fstat(fd, &status))
		*why = strerror(errno);
	else
		*why = forbids(place, &status, is_report);
	if (!*why && S_ISREG(status.st_mode) && ftruncate(fd, 0))
		*why = strerror(errno);
	if (*why && fd >= 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

FILE *output_open(const char *path, char *message, size_t message_bytes)
{
	return output_open_for("output", path, message, message_bytes);
}

FILE *output_open_for(const char *option, const char *path, char *message, size_t message_bytes)
{
	struct place place;
	const char *why;
	FILE *out = NULL;
	int error, fd = -1;

	if (output_is_stdout(path))
		return stdout;
	error = place_find(&place, path);
	if (error)
		why = place_error(error);
	else
		fd = open_file(&place, !strcmp(option, "output"), &why);
	if (fd >= 0) {
		out = fdopen(fd, "w");
		why = strerror(errno);
	}
	if (!out) {
		snprintf(message, message_bytes, "--%s=%s: %s", option, path, why);
		if (fd >= 0)
			close(fd);
	}
	place_free(&place);
	return out;
}

unsigned int output_columns(int fd)
{
	struct winsize size;

	return ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

static bool is_one_file(const struct stat *one, const struct stat *other)
{
	return S_ISREG(one->st_mode) && one->st_dev == other->st_dev &&
	       one->st_ino == other->st_ino;
}

bool output_is_same(FILE *a, FILE *b)
{
	struct stat one, other;

	return !fstat(fileno(a), &one) && !fstat(fileno(b), &other) && is_one_file(&one, &other);
}

bool output_is_at(FILE *file, const char *path)
{
	struct stat one, other;

	return path && !fstat(fileno(file), &one) && !stat(path, &other) &&
	       is_one_file(&one, &other);
}

int output_error(FILE *out)
{
	struct pollfd poller = { .fd = fileno(out) };

	/* of a pipe without a reader, or a socket or terminal without its other end */
	return poll(&poller, 1, 0) == 1 && poller.revents & (POLLERR | POLLHUP) ? EPIPE : EIO;
}

void output_complain(const char *option, const char *path, int error)
{
	if (output_is_stdout(path))
		complain("cannot write to standard output: %s", strerror(error));
	else
		complain("cannot write --%s=%s: %s", option, path, strerror(error));
}

int output_close(FILE *out)
{
	int error = ferror(out) ? output_error(out) : 0;

	if (out == stdout)
		return fflush(out) ? errno : error;
	return fclose(out) ? errno : error;
}
