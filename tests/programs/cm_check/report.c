/* SPDX-License-Identifier: BSD-2-Clause */
/* What cm-check has seen: complaints as they come, one line of JSON at the end. */
#include "check.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#define COMPLAINTS_SHOWN 20

static const char *const stage_text[] = {
#define X(name, text) [STAGE_##name] = text,
	STAGES(X)
#undef X
};

double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct usage usage_now(const struct check *k)
{
	struct usage u = {.alive_max = k->alive_max};
	DIR *folder = opendir("/proc/self/fd");
	FILE *f = fopen("/proc/self/status", "re");
	char line[128];

	while (folder && readdir(folder))
		u.descriptors++;
	if (folder)
		closedir(folder);
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmData: %lu", &u.data_kb) == 1)
			break;
	if (f)
		fclose(f);
	return u;
}

void complain(struct check *k, const struct conn *c, const char *format, ...)
{
	va_list args;

	if (k->count[COUNT_complaints]++ >= COMPLAINTS_SHOWN)
		return;
	if (c)
		printf("complaint: connection %u, waiting for %s: ", c->number,
		       stage_text[c->stage]);
	else
		printf("complaint: ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

void report_print(const struct check *k)
{
	static const char *const names[] = {
#define X(name) [COUNT_##name] = #name,
		COUNTS(X)
#undef X
	};
	struct usage last = usage_now(k);
	double end = k->finished > 0 ? k->finished : seconds_now();

	printf("{");
	for (unsigned i = 0; i < COUNT_COUNT; i++)
		printf("\"%s\": %lu, ", names[i], k->count[i]);
	printf("\"descriptors\": [%u, %u], \"data_kb\": [%lu, %lu], \"alive_max\": [%u, %u], ",
	       k->warm.descriptors, last.descriptors, k->warm.data_kb, last.data_kb,
	       k->warm.alive_max, last.alive_max);
	printf("\"seconds\": %.3f}\n", end - k->begun);
}
