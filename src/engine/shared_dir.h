/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A directory in memory for what the processes of one user in one network namespace share by name:
 * the counters of their devices, and the files that programs look for in sysfs. Everything in it
 * can be made again; what lies unused is removed by whoever makes a directory for another
 * namespace.
 *
 *     /dev/shm/uroce-<uid>/<namespace>/
 */
#ifndef ROCE_ENGINE_SHARED_DIR_H
#define ROCE_ENGINE_SHARED_DIR_H

#define ROCE_SHARED_DIR_MAX 128

/* How the names begin of what goes when it is idle for minutes. */
#define ROCE_SHARED_DIR_TREE "tree-"

/*
 * The directory of the calling thread's namespace, made if there is none. 0 or -errno: EACCES when
 * no directory here can be trusted to be only ours.
 */
int roce_shared_dir_get(char out[ROCE_SHARED_DIR_MAX]);

/* Removes that directory, if nobody counts there any more, and the user's when it is empty then:
 * for whoever ends a namespace of his own. */
void roce_shared_dir_forget(void);

/* Removes a directory and all in it, without following links. Errors are left to the next try. */
void roce_shared_dir_remove(const char *path);

#endif
