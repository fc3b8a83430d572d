/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much memory a run may still take: what the machine has left, or the control group, or the
 * limit of the process, whichever is least. Files that are not there limit nothing.
 */
#include "tools/sim.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define KIB	   1024u
#define LINE_BYTES 512

static uint64_t less(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The number behind `key` in a file of lines; UINT64_MAX: none. */
static uint64_t number_in(const char *path, const char *key)
{
	FILE *file = fopen(path, "re");
	char line[LINE_BYTES];
	uint64_t value = UINT64_MAX;

	while (file && value == UINT64_MAX && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)) == 0 &&
		    sscanf(line + strlen(key), "%" SCNu64, &value) != 1)
			break;
	}
	if (file)
		fclose(file);
	return value;
}

static uint64_t of_machine(void)
{
	uint64_t kib = number_in("/proc/meminfo", "MemAvailable:");

	return kib == UINT64_MAX ? kib : kib * KIB;
}

/* Of the group itself; its parents may have less. */
static uint64_t of_group(void)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[LINE_BYTES], path[LINE_BYTES + 64];
	uint64_t most = UINT64_MAX, used;

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::", 3) != 0)
			continue;
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", line + 3);
		most = number_in(path, "");
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.current", line + 3);
		used = number_in(path, "");
		if (most != UINT64_MAX && used != UINT64_MAX)
			most = most > used ? most - used : 0;
	}
	if (file)
		fclose(file);
	return most;
}

static uint64_t of_process(void)
{
	struct rlimit limit;
	uint64_t pages = number_in("/proc/self/statm", "");
	uint64_t used = pages == UINT64_MAX ? 0 : pages * (uint64_t)sysconf(_SC_PAGESIZE);

	if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

uint64_t roce_sim_memory_left(void)
{
	return less(less(of_machine(), of_group()), of_process());
}
