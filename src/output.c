/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the output file so that nothing but a plain file is ever written over. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"

FILE *output_open(const char *path, char *message, size_t message_bytes)
{
	struct stat status;
	FILE *out;
	int fd;

	if (!path)
		return stdout;
	/* O_NONBLOCK: the open of a FIFO must not wait for its reader */
	fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (fd < 0) {
		if (errno == ELOOP)
			snprintf(message, message_bytes,
				 "--output=%s: is a symbolic link, which is not followed; name the file itself",
				 path);
		else
			snprintf(message, message_bytes, "--output=%s: %s", path, strerror(errno));
		return NULL;
	}
	if (fstat(fd, &status) || !S_ISREG(status.st_mode)) {
		snprintf(message, message_bytes,
			 "--output=%s: is not a plain file, and is left alone; name a file, or write to stdout",
			 path);
		close(fd);
		return NULL;
	}
	out = ftruncate(fd, 0) ? NULL : fdopen(fd, "w");
	if (!out) {
		snprintf(message, message_bytes, "--output=%s: %s", path, strerror(errno));
		close(fd);
	}
	return out;
}

int output_error(FILE *out)
{
	struct pollfd poller = { .fd = fileno(out) };

	/* of a pipe without a reader, or a socket or terminal without its other end */
	return poll(&poller, 1, 0) == 1 && poller.revents & (POLLERR | POLLHUP) ? EPIPE : EIO;
}

int output_close(FILE *out)
{
	int error = ferror(out) ? output_error(out) : 0;

	if (out == stdout)
		return fflush(out) ? errno : error;
	return fclose(out) ? errno : error;
}
