/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that are not there limit nothing. What a control group has of files is given back when
 * somebody needs it, so it counts as free, as it does in MemAvailable: a container that has read
 * much would be full otherwise.
 */
#include "base/memory_left.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define KIB	   1024u
#define PATH_BYTES 1024

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* The number behind `key` in a file of lines; UINT64_MAX: none. */
static uint64_t number_in(const char *folder, const char *name, const char *key)
{
	char path[2 * PATH_BYTES], line[512];
	uint64_t value = UINT64_MAX;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	while (file && value == UINT64_MAX && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)) == 0 &&
		    sscanf(line + strlen(key), "%" SCNu64, &value) != 1)
			break; /* "max" is no number */
	}
	if (file)
		fclose(file);
	return value;
}

static uint64_t number_or_0(const char *folder, const char *name, const char *key)
{
	uint64_t value = number_in(folder, name, key);

	return value == UINT64_MAX ? 0 : value;
}

static uint64_t of_machine(const char *proc)
{
	uint64_t kib = number_in(proc, "meminfo", "MemAvailable:");

	return kib == UINT64_MAX ? kib : kib * KIB;
}

static uint64_t of_group(const char *folder)
{
	uint64_t most = number_in(folder, "memory.max", "");
	uint64_t files = number_or_0(folder, "memory.stat", "active_file ") +
			 number_or_0(folder, "memory.stat", "inactive_file ");

	if (most == UINT64_MAX)
		return most;
	return less(most, less(number_or_0(folder, "memory.current", ""), files));
}

/* Of the group whose name is in /proc/self/cgroup ("0::/a/b"), and of those that it is part of. */
static uint64_t of_groups(const char *proc, const char *groups)
{
	char path[PATH_BYTES], line[PATH_BYTES] = "";
	uint64_t least = UINT64_MAX;
	FILE *file;
	char *end;

	snprintf(path, sizeof(path), "%s/self/cgroup", proc);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file) && strncmp(line, "0::", 3) != 0)
		line[0] = '\0';
	if (file)
		fclose(file);
	line[strcspn(line, "\n")] = '\0';
	if (!*line)
		return least;
	do {
		end = strrchr(line, '/');
		snprintf(path, sizeof(path), "%s%s", groups, line + strlen("0::"));
		least = lesser(least, of_group(path));
		if (end)
			*end = '\0';
	} while (end);
	return least;
}

static uint64_t of_process(const char *proc)
{
	uint64_t pages = number_or_0(proc, "self/statm", "");
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return less(limit.rlim_cur, pages * (uint64_t)sysconf(_SC_PAGESIZE));
}

uint64_t roce_memory_left_by(const char *proc, const char *groups)
{
	return lesser(lesser(of_machine(proc), of_groups(proc, groups)), of_process(proc));
}

uint64_t roce_memory_left(void)
{
	return roce_memory_left_by("/proc", "/sys/fs/cgroup");
}
