/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What programs look at besides the library: the generated tree, kept up to date, and the patches
 * that lead a program there which runs without the preload shim. Called by libibverbs.
 */
#ifndef ROCE_COMPAT_PRELOAD_SURROUNDINGS_H
#define ROCE_COMPAT_PRELOAD_SURROUNDINGS_H

#include <stddef.h>

/*
 * "<root>/sys" of the calling thread's network namespace, at most 0.2 s behind its network devices;
 * NULL where there is no place for it, and while the tree is made. The text stays.
 */
const char *roce_surroundings_sysfs(void);

/*
 * A file in the directory of a device or below, as it is now: its length, or -errno; ENOENT when it
 * is no file of ours.
 */
int roce_surroundings_read(const char *dir, const char *file, char *out, size_t size);

/* Patches the objects that need libibverbs.so.1 and came since the last call. */
void roce_surroundings_patch(void);

#endif
