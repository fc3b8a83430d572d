/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The generated tree: directories, files and links as sysfs and /dev have them for our devices.
 *
 *     <root>/sys/class/infiniband/<device>/...         see attr.h
 *     <root>/sys/class/infiniband_verbs/uverbs<n>/...
 *     <root>/sys/class/net, <root>/sys/...             links to the machine's own
 *     <root>/dev/infiniband/uverbs<n>                  a link to a character device
 */
#ifndef ROCE_COMPAT_PRELOAD_TREE_H
#define ROCE_COMPAT_PRELOAD_TREE_H

#include "compat/preload/attr.h"

/* Writes it anew at `root`, which must not exist. 0 or -errno; what was made stays. */
int roce_tree_write(const char *root, const struct roce_attr_device *devices, uint32_t count);

#endif
