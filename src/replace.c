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

enum { TRIES = 16, SUFFIX_BYTES = sizeof(".0123456789abcdef.tmp") };

struct replace {
	int directory;
	char *name;		/* of the file in it */
	char *temporary;	/* while one is there; empty otherwise */
	size_t temporary_bytes;
};

/* Parts path into directory and name; false if memory is short. */
static bool split(const char *path, char **directory, char **name)
{
	const char *slash = strrchr(path, '/');

	*directory = slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1)
			   : strdup(".");
	*name = strdup(slash ? slash + 1 : path);
	return *directory && *name;
}

/* 0 where a plain file is, or nothing; else -errno. */
static int check_target(const struct replace *replace)
{
	struct stat status;

	if (fstatat(replace->directory, replace->name, &status, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	return S_ISREG(status.st_mode) ? 0 : -EMEDIUMTYPE;
}

FILE *replace_begin(struct replace *replace)
{
	int fd = -1, error;
	uint64_t number;
	FILE *file;

	for (int i = 0; i < TRIES && fd < 0; i++) {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return NULL;
		snprintf(replace->temporary, replace->temporary_bytes, ".%s.%016" PRIx64 ".tmp",
			 replace->name, number);
		fd = openat(replace->directory, replace->temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		return NULL;
	/* the umask has taken from the mode; whoever collects it must read it */
	file = fchmod(fd, 0644) ? NULL : fdopen(fd, "w");
	if (!file) {
		error = errno;
		close(fd);
		unlinkat(replace->directory, replace->temporary, 0);
		errno = error;
	}
	return file;
}

int replace_end(struct replace *replace, FILE *file)
{
	int error = ferror(file) ? EIO : 0;

	if (fclose(file) && !error)
		error = errno;
	if (!error)
		error = -check_target(replace);
	if (!error && renameat(replace->directory, replace->temporary, replace->directory,
			       replace->name))
		error = errno;
	if (error)
		unlinkat(replace->directory, replace->temporary, 0);
	return -error;
}

/* Makes a file and takes it away again. */
static int try_once(struct replace *replace)
{
	int error = check_target(replace);
	FILE *file;

	if (error)
		return error;
	file = replace_begin(replace);
	if (!file)
		return -errno;
	fclose(file);
	unlinkat(replace->directory, replace->temporary, 0);
	return 0;
}

struct replace *replace_new(const char *path, char *message, size_t message_bytes)
{
	struct replace *replace = calloc(1, sizeof(*replace));
	char *directory = NULL;
	int error = ENOMEM;

	if (replace && split(path, &directory, &replace->name)) {
		replace->temporary_bytes = 1 + strlen(replace->name) + SUFFIX_BYTES;
		replace->temporary = calloc(1, replace->temporary_bytes);
		replace->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (replace->directory < 0)
			error = errno;
		else if (replace->temporary)
			error = *replace->name ? -try_once(replace) : EISDIR;
	}
	free(directory);
	if (!error)
		return replace;
	snprintf(message, message_bytes, "%s: %s", path,
		 error == EMEDIUMTYPE ? "is not a plain file, and is left alone; name a file"
				      : strerror(error));
	replace_free(replace);
	return NULL;
}

void replace_free(struct replace *replace)
{
	if (!replace)
		return;
	if (replace->directory > 0)
		close(replace->directory);
	free(replace->name);
	free(replace->temporary);
	free(replace);
}
