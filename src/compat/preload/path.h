/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which paths are ours: what stands below /sys/class/infiniband, /sys/class/infiniband_verbs and
 * /dev/infiniband, and the same below the root of the generated tree (programs get there by
 * realpath() or the current directory). Pure text, no file is touched: a path that is not ours must
 * cost next to nothing and stay what it is.
 *
 * ".." is left to the kernel, which follows it in the tree as it would in sysfs.
 */
#ifndef ROCE_COMPAT_PRELOAD_PATH_H
#define ROCE_COMPAT_PRELOAD_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum roce_path_kind {
	ROCE_PATH_STRANGER,
	ROCE_PATH_TREE,	  /* a file or directory of the tree */
	ROCE_PATH_LIVE,	  /* a counter: its content is made when it is opened */
	ROCE_PATH_DEVICE, /* something in /dev/infiniband */
};

/* Can the path be ours at all? One pass over it. NULL is no path of ours. */
bool roce_path_is_candidate(const char *path);

/* `path` below `dir` (not used when it is absolute) without "//" and "/./". False: too long. */
bool roce_path_join(const char *dir, const char *path, char out[PATH_MAX]);

/*
 * What a joined path is. *out_tail, when it is ours, is its part from "/sys" or "/dev" on; `root`
 * is the tree's root or NULL.
 */
enum roce_path_kind roce_path_classify(const char *path, const char *root, const char **out_tail);

/* Does it lie in some tree's directory of devices, whoever made the tree? */
bool roce_path_is_in_a_tree(const char *path);

#endif
