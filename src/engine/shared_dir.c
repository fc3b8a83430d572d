/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where that directory is. It must be in memory (a counter's page on a disk would be written back,
 * and stop the data path meanwhile) and ours alone: /dev/shm belongs to everybody, so a name that a
 * stranger took first is passed over. Users of a user namespace may meet the directory of a user
 * of the same number outside: another name.
 *
 * A namespace is known by its cookie, which no other gets until the next boot; before Linux 5.14 by
 * its inode, which another may get once it is gone.
 */
#include "engine/shared_dir.h"

#include "base/hash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

#define NAMES_MAX	      8
#define IDLE_SECONDS_MAX      86400
#define TREE_IDLE_SECONDS_MAX 600
#define LOOK_SECONDS_MIN      60 /* hosts that make many namespaces have thousands to look at */
#define DEPTH_MAX	      12
#define NAME_BYTES	      16
#define TRIES_MAX	      8
#define STAMP		      "used"
#define LOOKED		      ".looked"
#define TREE		      ROCE_SHARED_DIR_TREE

static uint64_t namespace_number(void)
{
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);
	struct stat st;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = fd < 0 ? -1 : getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size);

	if (fd >= 0)
		close(fd);
	if (err == 0)
		return cookie;
	return stat("/proc/thread-self/ns/net", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* Cookies begin anew at each boot; a directory in a disk-backed tree would outlive it. */
static uint64_t boot_number(void)
{
	char id[64] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, id, sizeof(id));

	if (fd >= 0)
		close(fd);
	return roce_hash(ROCE_HASH_START, id, n > 0 ? (size_t)n : 0);
}

static bool is_ours_alone(const struct stat *st)
{
	return S_ISDIR(st->st_mode) && st->st_uid == geteuid() &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* -EACCES: a stranger has the name. -ENOENT: what was there is being removed. */
static int make_dir(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return -errno;
	if (lstat(path, &st) != 0)
		return -errno;
	return is_ours_alone(&st) ? 0 : -EACCES;
}

static bool is_in_memory(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

static int find_base(char out[ROCE_SHARED_DIR_MAX])
{
	static const char *const parents[] = {"/dev/shm", "/run/shm", "/tmp"};
	int err = -EACCES;

	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
		if (!is_in_memory(parents[i]))
			continue;
		for (unsigned int n = 0; n < NAMES_MAX; n++) {
			snprintf(out, ROCE_SHARED_DIR_MAX, n ? "%s/uroce-%u.%u" : "%s/uroce-%u",
				 parents[i], (unsigned int)geteuid(), n);
			err = make_dir(out);
			if (err != -EACCES)
				break;
		}
		/* a name that is free again is not passed over for another one */
		if (!err || err == -ENOENT)
			return err;
	}
	return err;
}

static void remove_tree(const char *path, unsigned int depth)
{
	DIR *dir = depth < DEPTH_MAX ? opendir(path) : NULL;
	struct dirent *entry;
	char child[PATH_MAX];

	while (dir && (entry = readdir(dir))) {
		int n = snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);

		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    n < (int)sizeof(child) && unlink(child) != 0)
			remove_tree(child, depth + 1);
	}
	if (dir)
		closedir(dir);
	rmdir(path);
}

void roce_shared_dir_remove(const char *path)
{
	remove_tree(path, 0);
}

/* Somebody still counts there: the memory of counters is locked for as long as its process lives.
 */
static bool is_in_use(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool is_used = false;

	while (dir && !is_used && (entry = readdir(dir))) {
		int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

		is_used = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0;
		if (fd >= 0)
			close(fd);
	}
	if (dir)
		closedir(dir);
	return is_used;
}

/* What can be made again at once, which is the larger part. */
static void remove_trees(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char child[PATH_MAX];

	while (dir && (entry = readdir(dir))) {
		int n = snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);

		if (strncmp(entry->d_name, TREE, strlen(TREE)) == 0 && n < (int)sizeof(child))
			remove_tree(child, 0);
	}
	if (dir)
		closedir(dir);
}

static void touch(const char *directory, const char *name)
{
	char path[ROCE_SHARED_DIR_MAX + NAME_BYTES];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0) {
		futimens(fd, NULL);
		close(fd);
	}
}

/* Then this process looks for it. */
static bool is_time_to_look(const char *base)
{
	char path[ROCE_SHARED_DIR_MAX + NAME_BYTES];
	struct stat st;
	time_t now = time(NULL);

	snprintf(path, sizeof(path), "%s/" LOOKED, base);
	if (stat(path, &st) == 0 && st.st_mtime <= now && now - st.st_mtime < LOOK_SECONDS_MIN)
		return false;
	touch(base, LOOKED);
	return true;
}

/* Directories that nobody used for long: their trees, and later all of it. */
static void remove_old(const char *base)
{
	DIR *dir = opendir(base);
	struct dirent *entry;
	char path[PATH_MAX];
	struct stat st;
	time_t idle;

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s/" STAMP, base, entry->d_name);
		if (entry->d_name[0] == '.' || stat(path, &st) != 0)
			continue;
		idle = time(NULL) - st.st_mtime;
		*strrchr(path, '/') = '\0';
		if (idle > IDLE_SECONDS_MAX && !is_in_use(path))
			remove_tree(path, 0);
		else if (idle > TREE_IDLE_SECONDS_MAX)
			remove_trees(path);
	}
	if (dir)
		closedir(dir);
}

static int name_dir(const char *base, char out[ROCE_SHARED_DIR_MAX])
{
	uint64_t boot = boot_number();
	int n = snprintf(out, ROCE_SHARED_DIR_MAX, "%s/%" PRIx64 "-%08x", base, namespace_number(),
			 (unsigned int)(boot ^ boot >> 32));

	return n < ROCE_SHARED_DIR_MAX ? 0 : -ENAMETOOLONG;
}

static int make_both(char base[ROCE_SHARED_DIR_MAX], char out[ROCE_SHARED_DIR_MAX], bool *is_new)
{
	int err = find_base(base);

	if (!err)
		err = name_dir(base, out);
	if (err)
		return err;
	*is_new = access(out, F_OK) != 0;
	return make_dir(out);
}

int roce_shared_dir_get(char out[ROCE_SHARED_DIR_MAX])
{
	char base[ROCE_SHARED_DIR_MAX];
	bool is_new = false;
	int err = -ENOENT;

	/* The other one may be removing what was empty until now. */
	for (int i = 0; i < TRIES_MAX && err == -ENOENT; i++)
		err = make_both(base, out, &is_new);
	if (err)
		return err;
	touch(out, STAMP);
	if (is_new && is_time_to_look(base))
		remove_old(base);
	return 0;
}

/* The last one turns off the light; one that comes meanwhile makes it anew, or has it kept. */
static void remove_empty_base(const char *base)
{
	DIR *dir = opendir(base);
	struct dirent *entry;
	char path[ROCE_SHARED_DIR_MAX + NAME_BYTES];
	bool is_empty = dir != NULL;

	while (is_empty && (entry = readdir(dir)))
		is_empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
			   strcmp(entry->d_name, LOOKED) == 0;
	if (dir)
		closedir(dir);
	if (!is_empty)
		return;
	snprintf(path, sizeof(path), "%s/" LOOKED, base);
	unlink(path);
	rmdir(base);
}

void roce_shared_dir_forget(void)
{
	char base[ROCE_SHARED_DIR_MAX];
	char path[ROCE_SHARED_DIR_MAX];

	if (find_base(base) || name_dir(base, path))
		return;
	if (!is_in_use(path))
		remove_tree(path, 0);
	remove_empty_base(base);
}
