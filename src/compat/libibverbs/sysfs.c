/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions that programs ask of sysfs through the library. What stands under a device's own
 * (imagined) directory is answered here; any other file is read as it is.
 */
#include "compat/libibverbs/compat.h"

#include "base/bytes.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLASS_DIR     "/sys/class/infiniband/"
#define TREE	      "/uroce-sysfs"
#define CLASS_IN_TREE "/class/infiniband"
#define ANSWER_MAX    128

/* Programs test whether <this>/class/infiniband exists. The machine need not have it, so an empty
 * tree lies beside the library. */
static void find_sysfs_path(char *out, size_t size)
{
	Dl_info info;
	struct stat st;
	char real[PATH_MAX];
	char *slash;
	int n;

	snprintf(out, size, "/sys");
	if (!dladdr((void *)(uintptr_t)ibv_get_device_list, &info) ||
	    !realpath(info.dli_fname, real))
		return;
	slash = strrchr(real, '/');
	if (!slash)
		return;
	*slash = '\0';
	n = snprintf(out, size, "%s" TREE CLASS_IN_TREE, real);
	if (n < 0 || (size_t)n >= size || stat(out, &st) != 0)
		snprintf(out, size, "/sys");
	else
		out[(size_t)n - (sizeof(CLASS_IN_TREE) - 1)] = '\0';
}

const char *ibv_get_sysfs_path(void);

const char *ibv_get_sysfs_path(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static char path[PATH_MAX];

	pthread_mutex_lock(&lock);
	if (!path[0])
		find_sysfs_path(path, sizeof(path));
	pthread_mutex_unlock(&lock);
	return path;
}

static void print_guid(char *out, uint64_t guid_be)
{
	uint8_t g[8];

	memcpy(g, &guid_be, sizeof(g));
	snprintf(out, ANSWER_MAX, "%04x:%04x:%04x:%04x", roce_get_be16(g), roce_get_be16(g + 2),
		 roce_get_be16(g + 4), roce_get_be16(g + 6));
}

/* False when there is no such file. */
static bool answer_device_file(const struct compat_device *dev, const char *file, char *out)
{
	if (strcmp(file, "board_id") == 0)
		snprintf(out, ANSWER_MAX, "uroce");
	else if (strcmp(file, "fw_ver") == 0)
		snprintf(out, ANSWER_MAX, "%s", UROCE_VERSION);
	else if (strcmp(file, "node_type") == 0)
		snprintf(out, ANSWER_MAX, "1: CA");
	else if (strcmp(file, "node_desc") == 0)
		snprintf(out, ANSWER_MAX, "uroce %s", dev->netdev);
	else if (strcmp(file, "parent") == 0)
		snprintf(out, ANSWER_MAX, "%s", dev->netdev);
	else if (strcmp(file, "node_guid") == 0 || strcmp(file, "sys_image_guid") == 0)
		print_guid(out, dev->guid_be);
	else
		return false;
	return true;
}

/* The device whose directory `dir` is, or NULL. */
static const struct compat_device *device_of_dir(const char *dir)
{
	const size_t prefix = sizeof(CLASS_DIR) - 1;

	return strncmp(dir, CLASS_DIR, prefix) == 0 ? compat_device_find(dir + prefix) : NULL;
}

static int read_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
		return compat_minus_one(-ENAMETOOLONG);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size);
	close(fd);
	return (int)n;
}

int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

/* The length without a newline at the end, or -1; the text is always terminated. */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	const struct compat_device *dev = device_of_dir(dir);
	char answer[ANSWER_MAX];
	int length;

	if (dev && answer_device_file(dev, file, answer)) {
		length = (int)strlen(answer);
		if ((size_t)length <= size)
			memcpy(buf, answer, (size_t)length);
	} else {
		length = read_file(dir, file, buf, size);
	}
	if (length < 0)
		return -1;
	if (length > 0 && (size_t)length <= size && buf[length - 1] == '\n')
		length--;
	if ((size_t)length >= size)
		return compat_minus_one(-EOVERFLOW);
	buf[length] = '\0';
	return length;
}
