/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether a thread of this process waits in a call already, for tests of what wakes it: a time
 * after which "it must have got there" is too short on a machine that stands still for seconds.
 */
#ifndef ROCE_TESTS_HARNESS_ASLEEP_H
#define ROCE_TESTS_HARNESS_ASLEEP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define ASLEEP_LOOKS \
	20 /* one after the other: a lock that another has for a moment looks the same */
#define ASLEEP_PAUSE_US	 5000
#define ASLEEP_LOOKS_MAX 12000 /* a minute */

static inline bool asleep_look(pid_t thread)
{
	char path[64], line[512] = "";
	const char *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
	f = fopen(path, "re");
	if (!f)
		return false;
	p = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	return p && p[1] == ' ' && p[2] == 'S';
}

/* False: it does not fall asleep. `*thread` is set by it before the call, to gettid(). */
static inline bool asleep_await(const _Atomic pid_t *thread)
{
	int seen = 0;

	for (int i = 0; i < ASLEEP_LOOKS_MAX && seen < ASLEEP_LOOKS; i++) {
		usleep(ASLEEP_PAUSE_US);
		seen = *thread && asleep_look(*thread) ? seen + 1 : 0;
	}
	return seen == ASLEEP_LOOKS;
}

#endif
