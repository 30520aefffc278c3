/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks a path directory by directory. What the kernel does by itself where
 * fs.protected_symlinks, _hardlinks and _regular are on, is done here however
 * they are set: we write as root, and names in /tmp are anybody's.
 */
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* As many as the kernel follows. */
enum { LINKS_MAX = 40 };

struct walk {
	int directory;		/* O_PATH */
	struct stat status;	/* of it */
	char *rest;		/* to be walked */
	int links;		/* followed so far */
};

static bool is_shared(const struct stat *directory)
{
	return directory->st_mode & S_IWOTH;
}

/* Goes to the directory called name, as seen from the one where it is. */
static int enter(struct walk *walk, const char *name, int flags)
{
	int fd = openat(walk->directory, name, O_PATH | O_DIRECTORY | O_CLOEXEC | flags);

	if (fd < 0)
		return errno;
	if (walk->directory >= 0)
		close(walk->directory);
	walk->directory = fd;
	return fstat(fd, &walk->status) ? errno : 0;
}

/* Puts a link's target before what is left of the path. */
static int follow(struct walk *walk, const char *name)
{
	char target[PATH_MAX], *rest;
	ssize_t length = readlinkat(walk->directory, name, target, sizeof(target) - 1);

	if (length < 0)
		return errno;
	if (++walk->links > LINKS_MAX)
		return ELOOP;
	target[length] = '\0';
	if (asprintf(&rest, "%s/%s", target, walk->rest) < 0)
		return ENOMEM;
	free(walk->rest);
	walk->rest = rest;
	return *target == '/' ? enter(walk, "/", 0) : 0;
}

/* The magic number of the filesystem that it is in; 0: not known. */
static uint32_t filesystem_of(const struct walk *walk)
{
	struct statfs status;

	return fstatfs(walk->directory, &status) ? 0 : (uint32_t)status.f_type;
}

/* Links in /proc lead where their text does not say: only the kernel can follow them. */
static bool is_in_proc(const struct walk *walk)
{
	return filesystem_of(walk) == PROC_SUPER_MAGIC;
}

/* Whose files pass for plain ones, and are knobs of the kernel. */
static bool is_of_the_kernel(const struct walk *walk)
{
	static const uint32_t kinds[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC, SECURITYFS_MAGIC,
		CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, BPF_FS_MAGIC, EFIVARFS_MAGIC, SELINUX_MAGIC,
	};
	uint32_t kind = filesystem_of(walk);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i] == kind)
			return true;
	return false;
}

/* One part of the path that is not the last. */
static int walk_into(struct walk *walk, const char *name)
{
	struct stat link;

	if (fstatat(walk->directory, name, &link, AT_SYMLINK_NOFOLLOW))
		return errno;
	if (!S_ISLNK(link.st_mode))
		return enter(walk, name, O_NOFOLLOW);
	if (is_shared(&walk->status) && link.st_uid != geteuid() &&
	    link.st_uid != walk->status.st_uid)
		return EPERM;
	return is_in_proc(walk) ? enter(walk, name, 0) : follow(walk, name);
}

/* Walks all directories of walk->rest. */
static int walk_all(struct walk *walk)
{
	int error = enter(walk, *walk->rest == '/' ? "/" : ".", 0);

	while (!error) {
		char *name = walk->rest + strspn(walk->rest, "/"), *own;
		size_t length = strcspn(name, "/");

		if (!length)
			return 0;
		own = strndup(name, length);
		if (!own)
			return ENOMEM;
		memmove(walk->rest, name + length, strlen(name + length) + 1);
		error = walk_into(walk, own);
		free(own);
	}
	return error;
}

int place_find(struct place *place, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct walk walk = { .directory = AT_FDCWD };
	int error;

	*place = (struct place)PLACE_NONE;
	walk.rest = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("");
	place->name = strdup(slash ? slash + 1 : path);
	error = walk.rest && place->name ? walk_all(&walk) : ENOMEM;
	free(walk.rest);
	if (walk.directory >= 0)
		place->directory = walk.directory;
	place->shared = is_shared(&walk.status);
	if (!error && (!*place->name || !strcmp(place->name, ".") || !strcmp(place->name, "..")))
		error = EISDIR;
	if (!error && is_of_the_kernel(&walk))
		error = ENOTSUP;
	return error;
}

void place_free(struct place *place)
{
	if (place->directory >= 0)
		close(place->directory);
	free(place->name);
	*place = (struct place)PLACE_NONE;
}

int place_look(const struct place *place, struct stat *status)
{
	return fstatat(place->directory, place->name, status, AT_SYMLINK_NOFOLLOW) ? errno : 0;
}

const char *place_forbids(const struct place *place, const struct stat *status, bool to_stdout)
{
	switch (status->st_mode & S_IFMT) {
	case S_IFREG:
		break;
	case S_IFDIR:
		return "Is a directory; name a file in it";
	case S_IFLNK:
		return "is not a plain file but a symbolic link, which is not followed; name the "
		       "file itself";
	case S_IFIFO:
		return to_stdout ? "is not a plain file but a named pipe, and is left alone; write "
				   "to stdout and redirect that"
				 : "is not a plain file but a named pipe, and is left alone; name a "
				   "file";
	default:
		return to_stdout ? "is not a plain file, and is left alone; name a file, or write to "
				   "stdout"
				 : "is not a plain file, and is left alone; name a file";
	}
	if (place->shared && status->st_uid != geteuid())
		return "is another user's file in a directory that all may write to, and is left "
		       "alone; name another file";
	if (place->shared && status->st_nlink > 1)
		return "is in a directory that all may write to, and has another name elsewhere, "
		       "so it is left alone; name another file";
	return NULL;
}

const char *place_error(int error)
{
	if (error == EPERM)
		return "leads over a symbolic link that another user has set in a directory that "
		       "all may write to, which is not followed; name the directory itself";
	if (error == ENOTSUP)
		return "is in a filesystem of the kernel's own, as /proc and /sys are, whose files are "
		       "its knobs; name a file elsewhere";
	return strerror(error);
}
