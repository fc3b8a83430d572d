/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters' memory is a file in the shared directory, so that it can be found by device and
 * outlives its process: uroce-counters-<ifindex>-<number>. The process holds a lock on it for as
 * long as it lives. Whoever finds one without a lock adds it to the device's past,
 * uroce-counters-<ifindex>-past, and removes it: so a device's counters never go back, even when a
 * program was killed. The lock on the past serialises that.
 *
 * Where there is no such directory the memory has no name, and where the system has none of that
 * kind it is private; nothing else changes.
 */
#include "engine/counters.h"

#include "engine/file_limit.h"
#include "engine/shared_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME	       "uroce-counters"

#define LOCK_TRIES_MAX 100
#define LOCK_PAUSE_NS  1000000

/* A file without a name until it is locked and whole: nobody may find it half made. */
static int open_unnamed(const char *dir)
{
	int fd = open(dir, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd >= 0 && (flock(fd, LOCK_SH) != 0 ||
			posix_fallocate(fd, 0, sizeof(struct roce_shared_counters)) != 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * The descriptor by the new name takes the old one's place: that one would be shown as a deleted
 * file in /proc for ever, and those who look for counters by process find them by their name.
 */
static void adopt_name(int *fd, const char *path)
{
	int named = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (named < 0)
		return;
	if (flock(named, LOCK_SH | LOCK_NB) != 0) {
		close(named);
		return;
	}
	close(*fd);
	*fd = named;
}

static void give_name(int *fd, const char *dir, uint32_t ifindex)
{
	static _Atomic unsigned int number;
	char self[32];
	char path[PATH_MAX];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", *fd);
	for (int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "%s/" NAME "-%u-%d.%u", dir, ifindex, getpid(),
			 number++);
		if (linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0) {
			adopt_name(fd, path);
			return;
		}
		if (errno != EEXIST)
			return;
	}
}

static struct roce_shared_counters *map(int fd)
{
	const size_t bytes = sizeof(struct roce_shared_counters);

	return fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static struct roce_shared_counters *create(uint32_t ifindex, int *out_fd)
{
	const size_t bytes = sizeof(struct roce_shared_counters);
	struct roce_shared_counters past;
	struct roce_shared_counters *counters;
	char dir[ROCE_SHARED_DIR_MAX];
	bool is_shared = roce_shared_dir_get(dir) == 0;
	int fd = -1;

	if (is_shared) {
		(void)roce_shared_counters_sum(ifindex, &past); /* those who ended leave room */
		fd = open_unnamed(dir);
		is_shared = fd >= 0;
	}
	if (fd < 0) {
		fd = memfd_create(NAME, MFD_CLOEXEC);
		if (fd >= 0 && ftruncate(fd, (off_t)bytes) != 0) {
			close(fd);
			fd = -1;
		}
	}
	counters = map(fd);
	if (counters == MAP_FAILED) {
		if (fd >= 0)
			close(fd);
		fd = -1;
		is_shared = false;
		counters = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				-1, 0);
	}
	if (counters == MAP_FAILED)
		return NULL;
	counters->magic = ROCE_SHARED_COUNTERS_MAGIC;
	counters->version = ROCE_SHARED_COUNTERS_VERSION;
	counters->pid = (uint32_t)getpid();
	counters->ifindex = ifindex;
	if (is_shared)
		give_name(&fd, dir, ifindex);
	*out_fd = fd;
	return counters;
}

struct roce_shared_counters *roce_shared_counters_create(uint32_t ifindex, int *out_fd)
{
	struct roce_shared_counters *counters;
	struct roce_file_limit limit;

	roce_file_limit_begin(&limit);
	counters = create(ifindex, out_fd);
	roce_file_limit_end(&limit);
	return counters;
}

void roce_shared_counters_destroy(struct roce_shared_counters *counters, int fd)
{
	if (counters)
		munmap(counters, sizeof(*counters));
	if (fd >= 0)
		close(fd);
}

/* ---- the device's sum ---- */

static void add(struct roce_shared_counters *sum, const struct roce_shared_counters *c)
{
	for (uint32_t i = 0; i < ROCE_COUNTER_COUNT; i++)
		sum->transport.v[i] += c->transport.v[i];
	for (uint32_t i = 0; i < ROCE_DECODE_COUNT; i++)
		sum->decode[i] += c->decode[i];
#define X(field, text) sum->engine.field += c->engine.field;
	ROCE_ENGINE_STATS(X)
#undef X
#define X(field, text) sum->pktio.field += c->pktio.field;
	ROCE_PKTIO_STATS(X)
#undef X
}

/* False: no counters of this version. The size is looked at too: another uroce of this user may
 * have more counters than we, and a version that nobody has thought of. */
static bool read_counters(int fd, struct roce_shared_counters *out)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size == (off_t)sizeof(*out) &&
	       pread(fd, out, sizeof(*out), 0) == (ssize_t)sizeof(*out) &&
	       out->magic == ROCE_SHARED_COUNTERS_MAGIC &&
	       out->version == ROCE_SHARED_COUNTERS_VERSION;
}

/* One process's: into the sum while it lives, into the past (NULL: not ours to change) when it has
 * ended. */
static void take(int dir_fd, const char *name, struct roce_shared_counters *past,
		 struct roce_shared_counters *living)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct roce_shared_counters c;
	bool is_over;

	if (fd < 0)
		return;
	is_over = past && flock(fd, LOCK_EX | LOCK_NB) == 0;
	if (read_counters(fd, &c))
		add(is_over ? past : living, &c);
	if (is_over)
		unlinkat(dir_fd, name, 0);
	close(fd);
}

/* False when another has it, perhaps one that was stopped: waiting for it is no remedy. */
static bool lock_past(int fd)
{
	for (int i = 0; i < LOCK_TRIES_MAX; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return true;
		nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
	}
	return false;
}

static int open_past(const char *dir, uint32_t ifindex, struct roce_shared_counters *out,
		     bool *out_is_locked)
{
	char path[ROCE_SHARED_DIR_MAX + 64];
	int fd;

	snprintf(path, sizeof(path), "%s/" NAME "-%u-past", dir, ifindex);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	*out_is_locked = lock_past(fd);
	if (!read_counters(fd, out)) {
		memset(out, 0, sizeof(*out));
		out->magic = ROCE_SHARED_COUNTERS_MAGIC;
		out->version = ROCE_SHARED_COUNTERS_VERSION;
		out->ifindex = ifindex;
	}
	return fd;
}

static int sum_up(uint32_t ifindex, struct roce_shared_counters *out)
{
	struct roce_shared_counters living = {0};
	char dir_name[ROCE_SHARED_DIR_MAX];
	struct roce_shared_counters past;
	char past_name[48];
	struct dirent *entry;
	bool is_locked = false;
	size_t prefix;
	DIR *dir;
	int err = roce_shared_dir_get(dir_name);
	int fd;

	if (err)
		return err;
	prefix = (size_t)snprintf(past_name, sizeof(past_name), NAME "-%u-", ifindex);
	fd = open_past(dir_name, ifindex, &past, &is_locked);
	if (fd < 0)
		return fd;
	snprintf(past_name + prefix, sizeof(past_name) - prefix, "past");
	dir = opendir(dir_name);
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, past_name, prefix) == 0 &&
		    strcmp(entry->d_name, past_name) != 0)
			take(dirfd(dir), entry->d_name, is_locked ? &past : NULL, &living);
	}
	if (dir)
		closedir(dir);
	if (is_locked && pwrite(fd, &past, sizeof(past), 0) != (ssize_t)sizeof(past))
		err = -EIO;
	close(fd);
	*out = past;
	add(out, &living);
	return err;
}

int roce_shared_counters_sum(uint32_t ifindex, struct roce_shared_counters *out)
{
	struct roce_file_limit limit;
	int err;

	roce_file_limit_begin(&limit);
	err = sum_up(ifindex, out);
	roce_file_limit_end(&limit);
	return err;
}

/* ---- names ---- */

void roce_shared_counters_each(const struct roce_shared_counters *c, roce_shared_counter_fn *each,
			       void *ctx)
{
	static const char *const decode_names[ROCE_DECODE_COUNT] = {
#define X(name, text) "decode_" #name,
		ROCE_DECODE_LIST(X)
#undef X
	};

	for (uint32_t i = 0; i < ROCE_COUNTER_COUNT; i++)
		each(ctx, roce_counter_str(i), c->transport.v[i]);
#define X(field, text) each(ctx, #field, c->engine.field);
	ROCE_ENGINE_STATS(X)
#undef X
	for (uint32_t i = 0; i < ROCE_DECODE_COUNT; i++)
		each(ctx, decode_names[i], c->decode[i]);
#define X(field, text) each(ctx, "io_" #field, c->pktio.field);
	ROCE_PKTIO_STATS(X)
#undef X
}
