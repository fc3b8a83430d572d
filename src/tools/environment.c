/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LD_LIBRARY_PATH gets our directory in front, once: `uroce run` inside `uroce run` must not make
 * it grow. The preload shim, which shows the devices in sysfs, goes into LD_PRELOAD; its absence is
 * no error: programs find less then, but run. UROCE_UROCED names the daemon that belongs to these
 * libraries, so that a library that is used from a build tree does not start an installed one of
 * another version.
 */
#include "tools/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_item(const char *list, const char *item, char separator)
{
	size_t n = strlen(item);

	for (const char *s = list; s; s = strchr(s, separator)) {
		s += *s == separator;
		if (strncmp(s, item, n) == 0 && (s[n] == separator || s[n] == '\0'))
			return true;
	}
	return false;
}

static int put_first(const char *variable, const char *item)
{
	const char *old = getenv(variable);
	char *value;
	int rc;

	if (!old || !*old)
		return setenv(variable, item, 1) ? -ENOMEM : 0;
	if (has_item(old, item, ':'))
		return 0;
	if (asprintf(&value, "%s:%s", item, old) < 0)
		return -ENOMEM;
	rc = setenv(variable, value, 1) ? -ENOMEM : 0;
	free(value);
	return rc;
}

static int preload_library(const struct roce_place *place, const char *name)
{
	char library[PATH_MAX + 32];

	snprintf(library, sizeof(library), "%s/%s", place->library_dir, name);
	return put_first("LD_PRELOAD", library);
}

static bool has_library(const struct roce_place *place, const char *name)
{
	char library[PATH_MAX + 32];

	snprintf(library, sizeof(library), "%s/%s", place->library_dir, name);
	return access(library, R_OK) == 0;
}

int roce_environment_set(const struct roce_place *place,
			 const struct roce_environment_extras *extras)
{
	int rc = put_first("LD_LIBRARY_PATH", place->library_dir);

	if (extras->sockets && !has_library(place, "librspreload.so"))
		return -ENOENT;
	if (!rc && has_library(place, "liburoce-preload.so"))
		rc = preload_library(place, "liburoce-preload.so");
	if (!rc && extras->preload_verbs)
		rc = preload_library(place, "libibverbs.so.1");
	if (!rc && extras->sockets)
		rc = preload_library(place, "librspreload.so");
	if (!rc)
		rc = setenv("UROCE_UROCED", place->daemon, 1) ? -ENOMEM : 0;
	return rc;
}
