/* SPDX-License-Identifier: BSD-2-Clause */
/* Machines are told apart by their boot id. */
#include "verify/agent/room.h"

#include "base/memory_left.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#define SPARE_BYTES (UINT64_C(512) << 20) /* for everything else */
#define SMALL_BYTES (UINT64_C(64) << 20)  /* not worth asking */

static json_t *describe(void)
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
	char boot[64] = "";

	if (file && !fgets(boot, sizeof(boot), file))
		boot[0] = '\0';
	if (file)
		(void)fclose(file);
	boot[strcspn(boot, "\n")] = '\0';
	return json_pack("{s:s, s:I}", "boot", boot, "available", (json_int_t)roce_memory_left());
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
		va_skip(run, "%llu MiB of memory are free, %llu MiB are needed%s",
			(unsigned long long)(least >> 20), (unsigned long long)(wanted >> 20),
			is_shared ? " for both sides on this machine" : "");
}

void va_room_need_here(struct va_run *run, uint64_t bytes)
{
	uint64_t left = bytes < SMALL_BYTES ? UINT64_MAX : roce_memory_left();

	if (left < bytes + SMALL_BYTES)
		va_skip(run, "%llu MiB of memory are free, %llu MiB are needed",
			(unsigned long long)(left >> 20),
			(unsigned long long)((bytes + SMALL_BYTES) >> 20));
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
