/* SPDX-License-Identifier: BSD-2-Clause */
/* /proc/stat, less /proc/PID/stat of this process and its descendants; a process that has ended
 * counts with whoever waited for it. */
#include "verify/others.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX 65536u
#define MANY_PERCENT  5

struct process {
	int pid;
	int parent;
	uint64_t ticks;
	bool is_own;
};

static bool read_line(const char *path, char *out, size_t size)
{
	FILE *file = fopen(path, "re");
	bool is_read = file && fgets(out, (int)size, file);

	if (file)
		(void)fclose(file);
	return is_read;
}

static void read_machine(struct roce_verify_ticks *out)
{
	unsigned long long t[8] = {0}; /* user nice system idle iowait irq softirq steal */
	char line[512];

	if (!read_line("/proc/stat", line, sizeof(line)) ||
	    sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2], &t[3],
		   &t[4], &t[5], &t[6], &t[7]) < 4)
		return;
	for (int i = 0; i < 8; i++)
		out->all += t[i];
	out->busy = t[0] + t[1] + t[2] + t[7];
}

/* False: it has gone. */
static bool read_process(const char *pid, struct process *out)
{
	unsigned long long user, system;
	long long waited_user, waited_system;
	char path[64];
	char line[1024];
	const char *rest;

	snprintf(path, sizeof(path), "/proc/%.16s/stat", pid);
	if (!read_line(path, line, sizeof(line)))
		return false;
	rest = strrchr(line, ')'); /* a name may have any character */
	*out = (struct process){.pid = atoi(pid)};
	if (!rest ||
	    sscanf(rest + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld",
		   &out->parent, &user, &system, &waited_user, &waited_system) != 5)
		return false;
	out->ticks =
		(uint64_t)user + (uint64_t)system + (uint64_t)waited_user + (uint64_t)waited_system;
	out->is_own = out->pid == getpid();
	return true;
}

static uint32_t read_processes(struct process *all)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	uint32_t count = 0;

	while (folder && count < PROCESSES_MAX && (entry = readdir(folder)))
		count += isdigit((unsigned char)entry->d_name[0]) &&
			 read_process(entry->d_name, &all[count]);
	if (folder)
		(void)closedir(folder);
	return count;
}

/* Children of what is known to be own, until there are no more: few generations. */
static bool mark_children(struct process *all, uint32_t count)
{
	bool has_new = false;

	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t p = 0; !all[i].is_own && p < count; p++) {
			if (all[p].is_own && all[p].pid == all[i].parent)
				has_new = all[i].is_own = true;
		}
	}
	return has_new;
}

void roce_verify_ticks_now(struct roce_verify_ticks *out)
{
	struct process *all = calloc(PROCESSES_MAX, sizeof(*all));
	uint32_t count;

	*out = (struct roce_verify_ticks){0};
	if (!all)
		return;
	read_machine(out);
	count = read_processes(all);
	while (mark_children(all, count))
		;
	for (uint32_t i = 0; i < count; i++)
		out->own += all[i].is_own ? all[i].ticks : 0;
	free(all);
}

double roce_verify_others(const struct roce_verify_ticks *from, const struct roce_verify_ticks *to)
{
	uint64_t all = to->all - from->all;
	uint64_t busy = to->busy - from->busy;
	uint64_t own = to->own - from->own;

	if (to->all <= from->all || to->busy < from->busy || to->own < from->own || busy <= own)
		return 0;
	return 100 * (double)(busy - own) / (double)all;
}

bool roce_verify_others_are_many(const struct roce_verify_others_sum *sum)
{
	return sum->percent > MANY_PERCENT;
}

void roce_verify_others_text(const struct roce_verify_others_sum *sum, const char *whose, char *out,
			     size_t size)
{
	snprintf(
		out, size,
		"other programs had %.0f%% of %s processors, more than %d%% in %u of %u cases that "
		"were run: its times and rates say little",
		sum->percent, whose, ROCE_VERIFY_OTHERS_MAX, sum->disturbed, sum->rounds);
}
