/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What sysfs says of a device: every file below /sys/class/infiniband/<device>, its content, and
 * links. The one source for the generated tree (tree.c) and for ibv_read_sysfs_file().
 */
#ifndef ROCE_COMPAT_PRELOAD_ATTR_H
#define ROCE_COMPAT_PRELOAD_ATTR_H

#include "engine/counters.h"
#include "engine/netdev.h"

enum roce_attr_kind {
	ROCE_ATTR_FILE,
	ROCE_ATTR_EMPTY_GID, /* a file, too; there are many, all alike */
	ROCE_ATTR_COUNTER,   /* a file that is made when it is opened */
	ROCE_ATTR_LINK,	     /* `text` is where it leads */
};

/* `path` is relative to the device's directory; `text` has no newline. Borrowed for the call. */
typedef void roce_attr_fn(void *ctx, enum roce_attr_kind kind, const char *path, const char *text);

struct roce_attr_device {
	char name[ROCE_DEVICE_NAME_MAX];
	const struct roce_netdev *netdev;
	const struct roce_shared_counters *counters;
};

void roce_attr_each(const struct roce_attr_device *device, roce_attr_fn *each, void *ctx);

/* The content of one file, with its length as the result; -ENOENT, -ENOSPC. */
int roce_attr_read(const struct roce_attr_device *device, const char *path, char *out, size_t size);

#endif
