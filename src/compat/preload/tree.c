/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that are all alike (counters, whose content is made when they are opened, and GIDs that are
 * not there) are links to one, which is a page of memory instead of two hundred.
 */
#include "compat/preload/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLASS	     "sys/class/infiniband"
#define VERBS	     "sys/class/infiniband_verbs"
#define NODES	     "dev/infiniband"
#define STAND_IN     "/dev/null" /* a character device that everybody may read and write */
#define ABI	     "6"	 /* of the class, as Linux has it */
#define DRIVER	     "1"
#define STAND_IN_DEV "1:3"

struct writer {
	const char *root;
	const char *device;	 /* that is being written */
	char alike[2][PATH_MAX]; /* the first file of its kind */
	int err;
};

static bool place(struct writer *w, char out[PATH_MAX], const char *dir, const char *path)
{
	int n = snprintf(out, PATH_MAX, "%s/%s/%s", w->root, dir, path);

	if (n < PATH_MAX)
		return true;
	w->err = -ENAMETOOLONG;
	return false;
}

/* All directories above the last component. */
static void make_parents(struct writer *w, char *path)
{
	for (char *slash = strchr(path + strlen(w->root), '/'); slash && !w->err;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) != 0 && errno != EEXIST)
			w->err = -errno;
		*slash = '/';
	}
}

static void write_file(struct writer *w, const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	char line[PATH_MAX + 1];
	int n = snprintf(line, sizeof(line), "%s\n", text);
	ssize_t written = fd < 0 ? -1 : write(fd, line, (size_t)n);

	if (written != n)
		w->err = written < 0 ? -errno : -ENOSPC;
	if (fd >= 0)
		close(fd);
}

static void add_link(struct writer *w, const char *dir, const char *name, const char *target)
{
	char path[PATH_MAX];

	if (w->err || !place(w, path, dir, name))
		return;
	make_parents(w, path);
	if (!w->err && symlink(target, path) != 0)
		w->err = -errno;
}

static void add_file(struct writer *w, const char *dir, const char *name, const char *text)
{
	char path[PATH_MAX];

	if (w->err || !place(w, path, dir, name))
		return;
	make_parents(w, path);
	if (!w->err)
		write_file(w, path, text);
}

static void add_alike(struct writer *w, char first[PATH_MAX], const char *dir, const char *name,
		      const char *text)
{
	char path[PATH_MAX];

	if (w->err || !place(w, path, dir, name))
		return;
	make_parents(w, path);
	if (w->err || (first[0] && link(first, path) == 0))
		return;
	write_file(w, path, text);
	memcpy(first, path, PATH_MAX);
}

static void add_attr(void *ctx, enum roce_attr_kind kind, const char *path, const char *text)
{
	struct writer *w = ctx;
	char dir[sizeof(CLASS) + ROCE_DEVICE_NAME_MAX];

	snprintf(dir, sizeof(dir), CLASS "/%s", w->device);
	switch (kind) {
	case ROCE_ATTR_FILE:
		add_file(w, dir, path, text);
		break;
	case ROCE_ATTR_LINK:
		add_link(w, dir, path, text);
		break;
	case ROCE_ATTR_COUNTER:
		add_alike(w, w->alike[0], dir, path, "0");
		break;
	case ROCE_ATTR_EMPTY_GID:
		add_alike(w, w->alike[1], dir, path, text);
		break;
	}
}

static void add_verbs_class(struct writer *w, const struct roce_attr_device *d)
{
	char name[32];
	char dir[sizeof(VERBS) + sizeof(name)];
	char target[ROCE_DEVICE_NAME_MAX + 64];

	snprintf(name, sizeof(name), "uverbs%u", roce_netdev_index(d->netdev));
	snprintf(dir, sizeof(dir), VERBS "/%s", name);
	add_file(w, dir, "ibdev", d->name);
	add_file(w, dir, "abi_version", DRIVER);
	add_file(w, dir, "dev", STAND_IN_DEV);
	snprintf(target, sizeof(target), "../../infiniband/%s/device", d->name);
	add_link(w, dir, "device", target);
	add_link(w, NODES, name, STAND_IN);
}

int roce_tree_write(const char *root, const struct roce_attr_device *devices, uint32_t count)
{
	/* What programs go on to from <sysfs path>. */
	static const char *const own[] = {"sys/bus", "sys/devices", "sys/class/net"};
	struct writer w = {.root = root};

	if (mkdir(root, 0755) != 0)
		return -errno;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		char target[64];

		snprintf(target, sizeof(target), "/%s", own[i]);
		add_link(&w, ".", own[i], target);
	}
	add_file(&w, VERBS, "abi_version", ABI);
	for (uint32_t i = 0; i < count; i++) {
		w.device = devices[i].name;
		roce_attr_each(&devices[i], add_attr, &w);
		add_verbs_class(&w, &devices[i]);
	}
	if (!count) {
		char path[PATH_MAX];

		if (place(&w, path, CLASS, "") && !w.err)
			make_parents(&w, path);
		if (place(&w, path, NODES, "") && !w.err)
			make_parents(&w, path);
	}
	return w.err;
}
