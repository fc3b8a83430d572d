/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is free is what the kernel says that a new program may have without swapping, or what the
 * limit of this control group leaves, if that is less. Machines are told apart by their boot id.
 */
#include "verify/agent/room.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define SPARE_BYTES (UINT64_C(512) << 20) /* for everything else */
#define SMALL_BYTES (UINT64_C(64) << 20)  /* not worth asking */

static bool read_number(const char *path, uint64_t *out)
{
	FILE *file = fopen(path, "re");
	unsigned long long number;
	bool is_read;

	if (!file)
		return false;
	is_read = fscanf(file, "%llu", &number) == 1; /* "max" is none */
	(void)fclose(file);
	*out = number;
	return is_read;
}

uint64_t va_room_free(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	uint64_t limit;
	uint64_t used;
	char line[128];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			break;
	}
	if (file)
		(void)fclose(file);
	if (read_number("/sys/fs/cgroup/memory.max", &limit) &&
	    read_number("/sys/fs/cgroup/memory.current", &used)) {
		uint64_t left = used < limit ? limit - used : 0;

		return left < kib * 1024 ? left : kib * 1024;
	}
	return kib * 1024;
}

static json_t *describe(void)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	char boot[64] = "";

	if (file && !fgets(boot, sizeof(boot), file))
		boot[0] = '\0';
	if (file)
		(void)fclose(file);
	boot[strcspn(boot, "\n")] = '\0';
	return json_pack("{s:s, s:I}", "boot", boot, "available", (json_int_t)va_room_free());
}

void va_room_need(struct va_run *run, uint64_t bytes)
{
	json_t *own;
	json_t *theirs;
	uint64_t wanted;
	uint64_t least;
	bool is_shared;

	if (bytes < SMALL_BYTES)
		return;
	own = describe();
	theirs = va_exchange(run, json_deep_copy(own));
	is_shared = strcmp(roce_json_text(own, "boot"), roce_json_text(theirs, "boot")) == 0;
	wanted = (is_shared ? 2 * bytes : bytes) + SPARE_BYTES;
	least = (uint64_t)roce_json_integer(own, "available");
	if ((uint64_t)roce_json_integer(theirs, "available") < least)
		least = (uint64_t)roce_json_integer(theirs, "available");
	json_decref(own);
	json_decref(theirs);
	if (least < wanted)
		va_skip(run, "%llu MiB of memory are free (MemAvailable), %llu MiB are needed%s",
			(unsigned long long)(least >> 20), (unsigned long long)(wanted >> 20),
			is_shared ? " for both sides on this machine" : "");
}

void va_room_buffer(struct va_run *run, struct va_device *device, size_t bytes, unsigned int access,
		    struct va_buffer *out)
{
	struct rlimit locked = {.rlim_cur = RLIM_INFINITY};

	if (va_buffer_try(device, bytes, access, out))
		return;
	if (!out->at)
		va_skip(run, "%zu MiB of memory cannot be had: %s", bytes >> 20, strerror(errno));
	(void)getrlimit(RLIMIT_MEMLOCK, &locked);
	if (errno == ENOMEM && locked.rlim_cur < bytes)
		va_skip(run,
			"%zu MiB cannot be registered: %llu KiB of memory may be locked; more "
			"with: ulimit -l unlimited",
			bytes >> 20, (unsigned long long)(locked.rlim_cur >> 10));
	va_fail(run, "ibv_reg_mr of %zu B: %s", bytes, strerror(errno));
}
