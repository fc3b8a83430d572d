/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a path that a program gives to the path that is meant. The wrapped calls (calls.c) ask first
 * roce_divert_may(), which is cheap and mostly says no; then roce_divert().
 *
 * Where the tree is and what a counter's value is comes from two functions of libibverbs' public
 * interface, ibv_get_sysfs_path() and ibv_read_sysfs_file(): inside the library they are called as
 * they are (surroundings.c), the preload shim looks them up (shim.c).
 *
 * Threads: all of it may be called at any time by any. While we ourselves make the tree, the calls
 * of that thread are not diverted.
 */
#ifndef ROCE_COMPAT_PRELOAD_DIVERT_H
#define ROCE_COMPAT_PRELOAD_DIVERT_H

#include "compat/preload/path.h"

#include <sys/types.h>

struct roce_divert_source {
	/* "<root>/sys", made and up to date; NULL when there is none. Does not go away. */
	const char *(*sysfs_path)(void);
	/* The content of a file without its newline: its length, or negative. */
	int (*read_file)(const char *dir, const char *file, char *buf, size_t size);
};

/* NULL: nothing is diverted. */
const struct roce_divert_source *roce_divert_source(void);

/* Calls that take a path. */
bool roce_divert_may(const char *path);

/* Calls that open a file: they must know a counter by a name relative to its directory, too. */
bool roce_divert_may_open(const char *path);

/*
 * The path to use instead, which may be `path` itself; absolute when it is another. `out_kind` may
 * be NULL. errno stays as it was.
 */
const char *roce_divert(int dirfd, const char *path, char buffer[PATH_MAX],
			enum roce_path_kind *out_kind);

/* A descriptor to read a counter from, by the path that roce_divert() gave; -1 and errno. */
int roce_divert_open_counter(const char *path, bool close_on_exec);

/* The program now has a descriptor in the tree, or stands in it. */
void roce_divert_enter(void);

#endif
