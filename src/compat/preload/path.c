/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Matching by whole components: /sys/class/infiniband_mad is a stranger, as is
 * /sys/class/infinibandage. A counter is <device>/ports/<n>/{counters,hw_counters}/<name>.
 */
#include "compat/preload/path.h"

#include <stdio.h>
#include <string.h>

#define CLASS_DIR "/sys/class/infiniband"

static const char *const prefixes[] = {
	CLASS_DIR,
	"/sys/class/infiniband_verbs",
	"/dev/infiniband",
};

bool roce_path_is_candidate(const char *path)
{
	return path && strstr(path, "infiniband");
}

/* Appends with "//" and "/./" squeezed out. */
static bool append(char *out, size_t *length, const char *path)
{
	for (const char *s = path; *s; s++) {
		size_t n = *length;

		if (*s == '/' && n > 0 && out[n - 1] == '/')
			continue;
		if (*s == '.' && (n == 0 || out[n - 1] == '/') && s[1] == '/') {
			s++;
			continue;
		}
		if (n + 1 >= PATH_MAX)
			return false;
		out[n] = *s;
		(*length)++;
	}
	out[*length] = '\0';
	return true;
}

bool roce_path_join(const char *dir, const char *path, char out[PATH_MAX])
{
	size_t length = 0;

	if (*path != '/' && (!append(out, &length, dir) || !append(out, &length, "/")))
		return false;
	return append(out, &length, path);
}

/* The rest behind a prefix that ends where a component ends, else NULL. */
static const char *skip_prefix(const char *path, const char *prefix)
{
	size_t n = strlen(prefix);

	if (strncmp(path, prefix, n) != 0 || (path[n] != '/' && path[n] != '\0'))
		return NULL;
	return path + n;
}

/* "/<device>/ports/<n>/{counters,hw_counters}/<name>" */
static bool is_counter(const char *rest)
{
	char directory[16];
	char end;
	int at = 0;

	if (sscanf(rest, "/%*[^/]/ports/%*[0-9]/%15[a-z_]/%n%c", directory, &at, &end) != 2)
		return false;
	return (strcmp(directory, "counters") == 0 || strcmp(directory, "hw_counters") == 0) &&
	       !strchr(rest + at, '/') && rest[at] != '.';
}

enum roce_path_kind roce_path_classify(const char *path, const char *root, const char **out_tail)
{
	const char *below = root ? skip_prefix(path, root) : NULL;
	const char *tail = below ? below : path;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		const char *rest = skip_prefix(tail, prefixes[i]);

		if (!rest)
			continue;
		*out_tail = tail;
		if (strncmp(tail, "/dev/", 5) == 0)
			return ROCE_PATH_DEVICE;
		return i == 0 && is_counter(rest) ? ROCE_PATH_LIVE : ROCE_PATH_TREE;
	}
	return ROCE_PATH_STRANGER;
}

bool roce_path_is_in_a_tree(const char *path)
{
	const char *at = strstr(path, CLASS_DIR);

	return at && at > path && skip_prefix(at, CLASS_DIR) != NULL;
}
