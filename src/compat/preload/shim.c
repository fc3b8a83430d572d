/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The preload shim, liburoce-preload.so: what `uroce run` puts into LD_PRELOAD. It is in every
 * program and every child, so it has no library of its own behind it: only the first path of ours
 * that a program looks at loads the libibverbs.so.1 that lies beside it.
 */
#include "compat/preload/divert.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libibverbs.so.1"

/* By this the library knows that it need not patch anything (surroundings.c). */
extern const char uroce_preload_shim[];
__attribute__((visibility("default"))) const char uroce_preload_shim[] = UROCE_VERSION;

static void *load_library(void)
{
	char path[PATH_MAX];
	const char *slash;
	Dl_info info;
	int n;

	if (!dladdr((void *)(uintptr_t)roce_divert_source, &info))
		return NULL;
	slash = strrchr(info.dli_fname, '/');
	if (!slash)
		return NULL;
	n = snprintf(path, sizeof(path), "%.*s/" LIBRARY, (int)(slash - info.dli_fname),
		     info.dli_fname);
	return n > 0 && n < PATH_MAX ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

static struct roce_divert_source *make_source(void)
{
	void *library = load_library();
	struct roce_divert_source *source = library ? calloc(1, sizeof(*source)) : NULL;

	if (!source)
		return NULL;
	source->sysfs_path = (const char *(*)(void))dlsym(library, "ibv_get_sysfs_path");
	source->read_file = (int (*)(const char *, const char *, char *, size_t))dlsym(
		library, "ibv_read_sysfs_file");
	if (source->sysfs_path && source->read_file)
		return source;
	free(source);
	return NULL;
}

/*
 * Two threads may both come here first; the second to be ready throws its own away. No lock:
 * dlopen() waits for the loader's, and a constructor that looks at a path of ours has that one.
 */
const struct roce_divert_source *roce_divert_source(void)
{
	static struct roce_divert_source *_Atomic shared;
	struct roce_divert_source *none = NULL;
	struct roce_divert_source *made;

	if (shared)
		return shared;
	made = make_source();
	if (made && !atomic_compare_exchange_strong(&shared, &none, made))
		free(made);
	return shared;
}
