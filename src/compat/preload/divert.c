/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A path relative to a directory is looked at when it has our word in it, or when the program is
 * known to be inside the tree and opens a file: it opened a directory there, or was started there.
 * So strangers' relative paths cost no system call.
 */
#include "compat/preload/divert.h"

#include "engine/file_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CONTENT_MAX 64

/* The shim is there from the start and the library needs four bytes: both fit in the static room.
 */
static __thread int is_busy __attribute__((tls_model("initial-exec")));
static _Atomic bool is_inside;

__attribute__((constructor)) static void look_where_we_are(void)
{
	char dir[PATH_MAX];
	ssize_t n = readlink("/proc/self/cwd", dir, sizeof(dir) - 1);

	if (n <= 0)
		return;
	dir[n] = '\0';
	if (roce_path_is_in_a_tree(dir))
		roce_divert_enter();
}

bool roce_divert_may(const char *path)
{
	return roce_path_is_candidate(path);
}

bool roce_divert_may_open(const char *path)
{
	return roce_path_is_candidate(path) || (is_inside && path && *path && *path != '/');
}

void roce_divert_enter(void)
{
	is_inside = true;
}

/* The directory that `path` starts from; false when it cannot be told. */
static bool find_dir(int dirfd, const char *path, char out[PATH_MAX])
{
	char link[32] = "/proc/self/cwd";
	ssize_t n;

	out[0] = '\0';
	if (*path == '/')
		return true;
	if (dirfd != AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/self/fd/%d", dirfd);
	n = readlink(link, out, PATH_MAX - 1);
	if (n <= 0 || out[0] != '/')
		return false;
	out[n] = '\0';
	return true;
}

/* The root of the tree, without the "/sys" at its end. */
static bool find_root(char out[PATH_MAX])
{
	const struct roce_divert_source *source = roce_divert_source();
	const char *sysfs = source ? source->sysfs_path() : NULL;
	size_t n = sysfs ? strlen(sysfs) : 0;

	if (n <= 4 || n >= PATH_MAX || strcmp(sysfs + n - 4, "/sys") != 0)
		return false;
	memcpy(out, sysfs, n - 4);
	out[n - 4] = '\0';
	return true;
}

static bool place_in_tree(const char *root, const char *tail, char out[PATH_MAX])
{
	int n = snprintf(out, PATH_MAX, "%s%s", root, tail);

	return n > 0 && n < PATH_MAX;
}

/* Each program's buffers are its own stack's: apart, so that only a path of ours pays for them. */
static enum roce_path_kind classify(int dirfd, const char *path, char buffer[PATH_MAX])
{
	enum roce_path_kind kind;
	char dir[PATH_MAX];
	char full[PATH_MAX];
	char root[PATH_MAX];
	const char *tail;

	if (!find_dir(dirfd, path, dir) || !roce_path_join(dir, path, full))
		return ROCE_PATH_STRANGER;
	/* Before the tree is made for its sake: can it be ours without knowing the root? */
	if (roce_path_classify(full, NULL, &tail) == ROCE_PATH_STRANGER &&
	    !roce_path_is_in_a_tree(full) && !strstr(full, "/dev/infiniband"))
		return ROCE_PATH_STRANGER;
	if (!find_root(root))
		return ROCE_PATH_STRANGER;
	kind = roce_path_classify(full, root, &tail);
	if (kind == ROCE_PATH_STRANGER || !place_in_tree(root, tail, buffer))
		return ROCE_PATH_STRANGER;
	/* What stands for a device file is a link to one that everybody has. Links must not show:
	 * programs ask lstat() whether it is a character device. */
	if (kind == ROCE_PATH_DEVICE && strcmp(tail, "/dev/infiniband") != 0 &&
	    strcmp(tail, "/dev/infiniband/") != 0 && access(buffer, F_OK) == 0)
		snprintf(buffer, PATH_MAX, "/dev/null");
	return kind;
}

const char *roce_divert(int dirfd, const char *path, char buffer[PATH_MAX],
			enum roce_path_kind *out_kind)
{
	enum roce_path_kind kind = ROCE_PATH_STRANGER;
	int saved = errno;

	if (!is_busy) {
		is_busy = 1;
		kind = classify(dirfd, path, buffer);
		is_busy = 0;
	}
	errno = saved;
	if (out_kind)
		*out_kind = kind;
	return kind == ROCE_PATH_STRANGER ? path : buffer;
}

int roce_divert_open_counter(const char *path, bool close_on_exec)
{
	const struct roce_divert_source *source = roce_divert_source();
	const char *sysfs = strstr(path, "/sys/class/infiniband/");
	const char *name = strrchr(path, '/');
	char content[CONTENT_MAX];
	struct roce_file_limit limit;
	char dir[PATH_MAX];
	int length = -1;
	ssize_t written;
	int fd;

	if (source && sysfs && name > sysfs) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(name - sysfs), sysfs);
		is_busy = 1;
		length = source->read_file(dir, name + 1, content, sizeof(content) - 1);
		is_busy = 0;
	}
	if (length < 0) {
		errno = ENOENT;
		return -1;
	}
	content[length++] = '\n';
	fd = memfd_create(name + 1, close_on_exec ? MFD_CLOEXEC : 0);
	if (fd < 0)
		return -1;
	roce_file_limit_begin(&limit);
	written = pwrite(fd, content, (size_t)length, 0);
	roce_file_limit_end(&limit);
	if (written != length) {
		close(fd);
		errno = EIO;
		return -1;
	}
	return fd;
}
