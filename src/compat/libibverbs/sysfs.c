/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions that programs ask of sysfs through the library. What a device's own directory has is
 * answered as it is now; any other file is read from where it is, or from the generated tree.
 */
#include "compat/libibverbs/compat.h"

#include "compat/preload/divert.h"
#include "compat/preload/surroundings.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

const char *ibv_get_sysfs_path(void);

/* Not a directory of its own: "<tree>/sys" (compat/preload/tree.h), or the machine's. */
const char *ibv_get_sysfs_path(void)
{
	const char *path = roce_surroundings_sysfs();

	return path ? path : "/sys";
}

static int read_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];
	char buffer[PATH_MAX];
	ssize_t n;
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
		return compat_minus_one(-ENAMETOOLONG);
	fd = open(roce_divert(AT_FDCWD, path, buffer, NULL), O_RDONLY | O_CLOEXEC);
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
	int length = roce_surroundings_read(dir, file, buf, size);

	if (length == -ENOSPC)
		return compat_minus_one(-EOVERFLOW);
	if (length >= 0)
		return length;
	length = read_file(dir, file, buf, size);
	if (length < 0)
		return -1;
	if (length > 0 && (size_t)length <= size && buf[length - 1] == '\n')
		length--;
	if ((size_t)length >= size)
		return compat_minus_one(-EOVERFLOW);
	buf[length] = '\0';
	return length;
}
