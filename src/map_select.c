/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the maps that -m names. Which of the kernel's maps a name fits is
 * decided apart from asking the kernel for them.
 */
#include "map_select.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "errors.h"

/* Bytes of a name that the kernel keeps. */
#define NAME_KEPT (MAP_ENTRY_NAME_BYTES - 1)

/* Where a failure is described. */
struct complaint {
	const char *given;	/* the selector's text */
	char *message;
	size_t bytes;
};

static void describe(const struct complaint *complaint, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * "-m SELECTOR: " and what is wrong. What does not fit ends with dots, so that
 * a cut list is not taken for all of it.
 */
static void describe(const struct complaint *complaint, const char *format, ...)
{
	static const char dots[] = "...";
	size_t length;
	char *text;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	length = (size_t)snprintf(complaint->message, complaint->bytes, "-m %s: %s",
				  complaint->given, text ? text : "no memory");
	if (length >= complaint->bytes && complaint->bytes > sizeof(dots))
		strcpy(complaint->message + complaint->bytes - sizeof(dots), dots);
	free(text);
}

static struct complaint complaint_of(const struct map_selector *selector, char *message,
				     size_t message_bytes)
{
	return (struct complaint) { selector->given, message, message_bytes };
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;

	return (one > other) - (one < other);
}

/* "7, 9, 12", allocated; NULL on lack of memory. */
static char *list_ids(const uint32_t *ids, size_t count)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s%u", i ? ", " : "", ids[i]);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static int describe_several(const struct complaint *complaint, const char *name, uint32_t *ids,
			    size_t count)
{
	char *list;

	qsort(ids, count, sizeof(*ids), compare_ids);
	list = list_ids(ids, count);
	if (!list)
		return -ENOMEM;
	describe(complaint, "%zu maps have the name '%s'%s; choose one by -m ID: %s", count,
		 name, strlen(name) > NAME_KEPT ? ", of which the kernel keeps 15 bytes" : "",
		 list);
	free(list);
	return -ENOTUNIQ;
}

int map_match_name(const struct map_selector *selector, const struct map_entry *maps,
		   size_t count, uint32_t *id, char *message, size_t message_bytes)
{
	struct complaint complaint = complaint_of(selector, message, message_bytes);
	uint32_t *fitting = calloc(count + 1, sizeof(*fitting));
	size_t fits = 0;
	int err = 0;

	if (!fitting) {
		describe(&complaint, "no memory");
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		if (strncmp(selector->text, maps[i].name, NAME_KEPT) == 0)
			fitting[fits++] = maps[i].id;
	if (fits == 1) {
		*id = fitting[0];
	} else if (fits == 0) {
		describe(&complaint, "no map has the name '%s'; 'bpftool map list' shows the "
			 "names and ids there are", selector->text);
		err = -ENOENT;
	} else {
		err = describe_several(&complaint, selector->text, fitting, fits);
	}
	free(fitting);
	return err;
}

/* Asking the kernel. */

static int map_name(int fd, struct map_entry *entry)
{
	struct bpf_map_info info = { 0 };
	__u32 bytes = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &bytes) < 0)
		return -errno;
	entry->id = info.id;
	snprintf(entry->name, sizeof(entry->name), "%s", info.name);
	return 0;
}

/* For reading only: a map may be protected from writers. fd or -errno. */
static int open_by_id(uint32_t id)
{
	LIBBPF_OPTS(bpf_get_fd_by_id_opts, opts, .open_flags = BPF_F_RDONLY);
	int fd = bpf_map_get_fd_by_id_opts(id, &opts);

	return fd < 0 ? -errno : fd;
}

static int add_entry(struct map_entry **maps, size_t *count, uint32_t id)
{
	struct map_entry *grown;
	int fd = open_by_id(id), err;

	if (fd == -ENOENT)
		return 0;	/* freed since its id was told */
	if (fd < 0)
		return fd;
	grown = reallocarray(*maps, *count + 1, sizeof(*grown));
	if (grown) {
		*maps = grown;
		err = map_name(fd, &grown[*count]);
	} else {
		err = -ENOMEM;
	}
	close(fd);
	if (!err)
		(*count)++;
	return err;
}

/* All maps of the kernel; *maps is allocated, also on failure. */
static int list_maps(struct map_entry **maps, size_t *count)
{
	uint32_t id = 0;
	int err;

	*maps = NULL;
	*count = 0;
	while (bpf_map_get_next_id(id, &id) == 0) {
		err = add_entry(maps, count, id);
		if (err)
			return err;
	}
	return errno == ENOENT ? 0 : -errno;
}

static int describe_refused(const struct complaint *complaint, int error)
{
	if (error == -EPERM)
		describe(complaint, "maps can be looked up with CAP_SYS_ADMIN only; run lazyfault "
			 "as root, or give the map's id");
	else
		describe(complaint, "cannot look up maps: %s", error_name(-error));
	return error;
}

static int select_by_name(const struct map_selector *selector, uint32_t *id, char *message,
			  size_t message_bytes)
{
	struct complaint complaint = complaint_of(selector, message, message_bytes);
	struct map_entry *maps;
	size_t count;
	int err = list_maps(&maps, &count);

	if (err)
		describe_refused(&complaint, err);
	else
		err = map_match_name(selector, maps, count, id, message, message_bytes);
	free(maps);
	return err;
}

/*
 * Without CAP_SYS_ADMIN an id cannot be looked up. It is taken as it is then:
 * the filter needs nothing but the number.
 */
static int select_by_id(const struct map_selector *selector, uint32_t *id, char *message,
			size_t message_bytes)
{
	struct complaint complaint = complaint_of(selector, message, message_bytes);
	int fd = open_by_id(selector->id);

	if (fd == -ENOENT) {
		describe(&complaint, "no map has the id %u; 'bpftool map list' shows the ids "
			 "there are", selector->id);
		return fd;
	}
	if (fd < 0 && fd != -EPERM)
		return describe_refused(&complaint, fd);
	if (fd >= 0)
		close(fd);
	*id = selector->id;
	return 0;
}

/*
 * bpf(2) tells all wrong files by one errno, so the path is looked at first.
 * 0 if an object may be pinned there.
 */
static int check_pin(const struct complaint *complaint, const char *path)
{
	struct statfs filesystem;
	struct stat st;

	if (stat(path, &st) < 0 || statfs(path, &filesystem) < 0) {
		int err = -errno;

		if (err == -ENOENT)
			describe(complaint, "there is no file '%s'", path);
		else
			describe(complaint, "cannot look at '%s': %s", path, error_name(-err));
		return err;
	}
	if (S_ISDIR(st.st_mode)) {
		describe(complaint, "'%s' is a directory, not a pinned map", path);
		return -EISDIR;
	}
	if (filesystem.f_type != BPF_FS_MAGIC) {
		describe(complaint, "'%s' is an ordinary file, not a pinned map: it is not on a "
			 "bpf filesystem (such as /sys/fs/bpf)", path);
		return -EINVAL;
	}
	return 0;
}

/* What kind of BPF object a descriptor is: "map", "program", "link" or NULL. */
static const char *object_kind(int fd)
{
	static const struct {
		const char *target, *kind;
	} kinds[] = {
		{ "anon_inode:bpf-map", "map" },
		{ "anon_inode:bpf-prog", "program" },
		{ "anon_inode:bpf_link", "link" },
		{ "anon_inode:bpf-link", "link" },
	};
	char name[64], target[64];
	ssize_t length;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	length = readlink(name, target, sizeof(target) - 1);
	if (length < 0)
		return NULL;
	target[length] = '\0';
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(target, kinds[i].target) == 0)
			return kinds[i].kind;
	return NULL;
}

/* The id of the map that fd, opened at path, is. */
static int pinned_id(const struct complaint *complaint, const char *path, int fd, uint32_t *id)
{
	const char *kind = object_kind(fd);
	struct map_entry entry;
	int err;

	if (!kind || strcmp(kind, "map") != 0) {
		describe(complaint, "'%s' is a pinned %s, not a map", path,
			 kind ? kind : "object of another kind");
		return -EINVAL;
	}
	err = map_name(fd, &entry);
	if (err)
		describe(complaint, "cannot ask for the id of the map: %s", error_name(-err));
	else
		*id = entry.id;
	return err;
}

/* For reading only, which the kernel refuses for a link. fd or -errno. */
static int open_pin(const char *path)
{
	LIBBPF_OPTS(bpf_obj_get_opts, opts, .file_flags = BPF_F_RDONLY);
	int fd = bpf_obj_get_opts(path, &opts);

	if (fd < 0 && errno == EINVAL)
		fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

static int select_by_pin(const struct map_selector *selector, uint32_t *id, char *message,
			 size_t message_bytes)
{
	struct complaint complaint = complaint_of(selector, message, message_bytes);
	const char *path = selector->text;
	int err = check_pin(&complaint, path), fd;

	if (err)
		return err;
	fd = open_pin(path);
	/* Files that bpffs has of its own, such as maps.debug: the file is there. */
	if (fd == -ENOENT || (fd == -EACCES && access(path, R_OK) == 0)) {
		describe(&complaint, "'%s' is a file of a bpf filesystem, but no pinned map",
			 path);
		return -EINVAL;
	}
	if (fd < 0) {
		describe(&complaint, "cannot open '%s': %s%s", path, error_name(-fd),
			 fd == -EACCES || fd == -EPERM ? "; run lazyfault as root" : "");
		return fd;
	}
	err = pinned_id(&complaint, path, fd, id);
	close(fd);
	return err;
}

static int select_one(const struct map_selector *selector, uint32_t *id, char *message,
		      size_t message_bytes)
{
	switch (selector->kind) {
	case MAP_BY_ID:
		return select_by_id(selector, id, message, message_bytes);
	case MAP_BY_NAME:
		return select_by_name(selector, id, message, message_bytes);
	case MAP_BY_PIN:
		return select_by_pin(selector, id, message, message_bytes);
	}
	return -EINVAL;
}

static bool contains(const uint32_t *ids, size_t count, uint32_t id)
{
	for (size_t i = 0; i < count; i++)
		if (ids[i] == id)
			return true;
	return false;
}

int map_select(const struct map_selector *selectors, size_t selector_count,
	       uint32_t **ids, size_t *count, char *message, size_t message_bytes)
{
	uint32_t *found = calloc(selector_count + 1, sizeof(*found)), id = 0;
	size_t found_count = 0;

	if (!found) {
		snprintf(message, message_bytes, "-m: no memory");
		return -ENOMEM;
	}
	for (size_t i = 0; i < selector_count; i++) {
		int err = select_one(&selectors[i], &id, message, message_bytes);

		if (err) {
			free(found);
			return err;
		}
		if (!contains(found, found_count, id))
			found[found_count++] = id;
	}
	*ids = found;
	*count = found_count;
	return 0;
}
