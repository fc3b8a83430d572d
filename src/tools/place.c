/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Installed, the libraries are in <prefix>/lib/uroce: a directory of their own, because a
 * libibverbs.so.1 in <prefix>/lib would take the place of the system's for every program. In a
 * build tree they are in build/lib beside build/bin; that directory is believed only if it belongs
 * to a build tree, for /usr/lib may well hold the system's libibverbs.so.1. UROCE_LIBDIR overrides
 * the search for the libraries and UROCE_UROCED that for the daemon.
 */
#include "tools/place.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libibverbs.so.1"

static bool join(char *out, const char *dir, const char *name)
{
	int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);

	return n > 0 && n < PATH_MAX;
}

/* out: the canonical form of dir, if it has our library */
static bool has_library(const char *dir, char *out)
{
	char path[PATH_MAX];

	return join(path, dir, LIBRARY) && access(path, R_OK) == 0 && realpath(dir, out);
}

static bool find_library(const char *bin_dir, char *out)
{
	char path[PATH_MAX];

	if (join(path, bin_dir, "../lib/uroce") && has_library(path, out))
		return true;
	return join(path, bin_dir, "../CMakeCache.txt") && access(path, F_OK) == 0 &&
	       join(path, bin_dir, "../lib") && has_library(path, out);
}

int roce_place_find_self(struct roce_place *place, char *err, size_t err_size)
{
	char *out = place->self;
	ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);

	if (n < 0) {
		int rc = -errno;

		snprintf(err, err_size, "cannot read /proc/self/exe: %s; is /proc mounted?",
			 strerror(errno));
		return rc;
	}
	out[n] = '\0';
	return 0;
}

int roce_place_find(struct roce_place *out, char *err, size_t err_size)
{
	const char *library_dir = getenv("UROCE_LIBDIR");
	const char *daemon = getenv("UROCE_UROCED");
	char bin_dir[PATH_MAX];
	int rc = roce_place_find_self(out, err, err_size);

	if (rc)
		return rc;
	memcpy(bin_dir, out->self, sizeof(bin_dir));
	*strrchr(bin_dir, '/') = '\0';

	if (library_dir && *library_dir) {
		if (!has_library(library_dir, out->library_dir)) {
			snprintf(err, err_size, "UROCE_LIBDIR is %s, which has no " LIBRARY,
				 library_dir);
			return -ENOENT;
		}
	} else if (!find_library(bin_dir, out->library_dir)) {
		snprintf(err, err_size,
			 "no " LIBRARY " in %s/../lib/uroce: incomplete installation (run make "
			 "install, or set UROCE_LIBDIR)",
			 bin_dir);
		return -ENOENT;
	}
	if (daemon && *daemon) {
		if (snprintf(out->daemon, sizeof(out->daemon), "%s", daemon) < PATH_MAX)
			return 0;
	} else if (join(out->daemon, bin_dir, "uroced")) {
		return 0;
	}
	snprintf(err, err_size, "the path of uroced is longer than %d bytes", PATH_MAX);
	return -ENAMETOOLONG;
}
