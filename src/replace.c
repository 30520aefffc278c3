/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes into a temporary file in the same directory, whose name no collector
 * reads, and renames it. Links are not followed, nothing that is there is
 * opened, and nothing but a plain file is ever replaced.
 */
#include "replace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "place.h"

/* Of a new one: whoever collects it must read it. */
enum { MODE_NEW = 0644 };

enum { TRIES = 16, SUFFIX_BYTES = sizeof(".0123456789abcdef.tmp") };

struct replace {
	struct place place;
	char *temporary;	/* while one is there; empty otherwise */
	size_t temporary_bytes;
};

/* The mode for the new file: as the old one has it, if there is one. Else -errno. */
static int target_mode(const struct replace *replace)
{
	struct stat status;
	int error = place_look(&replace->place, &status);

	if (error)
		return error == ENOENT ? MODE_NEW : -error;
	if (place_forbids(&replace->place, &status, false))
		return S_ISDIR(status.st_mode) ? -EISDIR : -EMEDIUMTYPE;
	return status.st_mode & 0777;
}

bool replace_has_file(const struct replace *replace)
{
	struct stat status;

	return !place_look(&replace->place, &status);
}

FILE *replace_begin(struct replace *replace)
{
	int fd = -1, error, mode = target_mode(replace);
	uint64_t number;
	FILE *file;

	if (mode < 0) {
		errno = -mode;
		return NULL;
	}

	for (int i = 0; i < TRIES && fd < 0; i++) {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return NULL;
		snprintf(replace->temporary, replace->temporary_bytes, ".%s.%016" PRIx64 ".tmp",
			 replace->place.name, number);
		fd = openat(replace->place.directory, replace->temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		return NULL;
	/* not by the open: the umask would take from it */
	file = fchmod(fd, (mode_t)mode) ? NULL : fdopen(fd, "w");
	if (!file) {
		error = errno;
		close(fd);
		unlinkat(replace->place.directory, replace->temporary, 0);
		errno = error;
	}
	return file;
}

int replace_end(struct replace *replace, FILE *file)
{
	int directory = replace->place.directory, mode = target_mode(replace);
	int error = ferror(file) ? EIO : 0;

	if (fclose(file) && !error)
		error = errno;
	if (!error && mode < 0)
		error = -mode;
	if (!error && renameat(directory, replace->temporary, directory, replace->place.name))
		error = errno;
	if (error)
		unlinkat(directory, replace->temporary, 0);
	return -error;
}

/* Makes a file and takes it away again. 0 or errno. */
static int try_once(struct replace *replace)
{
	FILE *file = replace_begin(replace);

	if (!file)
		return errno;
	fclose(file);
	unlinkat(replace->place.directory, replace->temporary, 0);
	return 0;
}

/* NULL, or why it is refused. */
static const char *prepare(struct replace *replace, const char *path)
{
	int error = place_find(&replace->place, path);
	const char *why = NULL;
	struct stat status;

	if (error)
		return place_error(error);
	if (!place_look(&replace->place, &status))
		why = place_forbids(&replace->place, &status, false);
	if (why)
		return why;
	replace->temporary_bytes = 1 + strlen(replace->place.name) + SUFFIX_BYTES;
	replace->temporary = calloc(1, replace->temporary_bytes);
	error = replace->temporary ? try_once(replace) : ENOMEM;
	return error ? strerror(error) : NULL;
}

struct replace *replace_new(const char *path, char *message, size_t message_bytes)
{
	struct replace *replace = calloc(1, sizeof(*replace));
	const char *why = replace ? prepare(replace, path) : strerror(ENOMEM);

	if (!why)
		return replace;
	snprintf(message, message_bytes, "%s: %s", path, why);
	replace_free(replace);
	return NULL;
}

void replace_free(struct replace *replace)
{
	if (!replace)
		return;
	place_free(&replace->place);
	free(replace->temporary);
	free(replace);
}
