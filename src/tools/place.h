/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the pieces of this installation lie, found from the running command itself, so that a build
 * tree, an installed tree and a tree that was moved all work without configuration.
 */
#ifndef ROCE_TOOLS_PLACE_H
#define ROCE_TOOLS_PLACE_H

#include <limits.h>
#include <stddef.h>

struct roce_place {
	char library_dir[PATH_MAX]; /* has our libibverbs.so.1, and no library of anybody else */
	char daemon[PATH_MAX];
	char self[PATH_MAX];
};

/* 0, or -errno with one line in `err`. */
int roce_place_find(struct roce_place *out, char *err, size_t err_size);
/* The same of `self` alone, for what needs none of our libraries. */
int roce_place_find_self(struct roce_place *out, char *err, size_t err_size);

#endif
