/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's pool of huge pages belongs to the whole machine: what is added for a case goes with
 * it, however it ends.
 */
#include "verify/agent/huge.h"

#include "verify/agent/aftermath.h"
#include "verify/agent/room.h"

#include "base/memory_left.h"

#include <stdio.h>
#include <sys/mman.h>

#define SMALL_PAGE 4096u
#define POOL_PATH  "/sys/kernel/mm/hugepages/hugepages-%zukB/%s"

struct pool {
	size_t page;
	unsigned long before; /* pages it had */
};

static bool pool_read(size_t page, const char *name, unsigned long *out)
{
	char path[128];
	FILE *file;
	bool is_read;

	snprintf(path, sizeof(path), POOL_PATH, page / 1024, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	is_read = fscanf(file, "%lu", out) == 1;
	(void)fclose(file);
	return is_read;
}

static bool pool_resize(size_t page, unsigned long pages)
{
	char path[128];
	FILE *file;
	bool is_written;

	snprintf(path, sizeof(path), POOL_PATH, page / 1024, "nr_hugepages");
	file = fopen(path, "we");
	if (!file)
		return false;
	is_written = fprintf(file, "%lu\n", pages) > 0;
	return fclose(file) == 0 && is_written;
}

static void restore(const void *what)
{
	const struct pool *pool = what;

	(void)pool_resize(pool->page, pool->before);
}

/* Adds what is missing for `wanted` free pages. */
static bool make_room(size_t page, unsigned long wanted)
{
	struct pool pool = {.page = page};
	unsigned long free_pages;

	if (!pool_read(page, "free_hugepages", &free_pages) ||
	    !pool_read(page, "nr_hugepages", &pool.before))
		return false;
	if (free_pages >= wanted)
		return true;
	if (!pool_resize(page, pool.before + wanted - free_pages))
		return false;
	va_when_gone(restore, &pool, sizeof(pool));
	return pool_read(page, "free_hugepages", &free_pages) && free_pages >= wanted;
}

static int flags_of(size_t page)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;

	if (page > SMALL_PAGE)
		flags |= MAP_HUGETLB | (int)((unsigned int)__builtin_ctzl(page) << MAP_HUGE_SHIFT);
	return flags;
}

void *va_pages_map(struct va_run *run, size_t page, size_t bytes)
{
	unsigned long wanted = (bytes + page - 1) / page;
	void *at;

	/* A device may pin it, and a machine without memory ends whom it likes. */
	if (page == SMALL_PAGE && bytes > roce_memory_left() / 4 * 3)
		va_skip(run, "%zu MiB are too much for this machine, which has %zu MiB left",
			bytes >> 20, (size_t)roce_memory_left() >> 20);
	if (page > SMALL_PAGE && !make_room(page, wanted))
		va_skip(run,
			"no room for %lu pages of %zu MiB; make it with: echo %lu > " POOL_PATH
			"%s",
			wanted, page >> 20, wanted, page / 1024, "nr_hugepages",
			page >> 30 ? " (or boot with hugepagesz=1G hugepages=1)" : "");
	at = mmap(NULL, wanted * page, PROT_READ | PROT_WRITE, flags_of(page), -1, 0);
	va_need(run, at != MAP_FAILED, "mmap");
	return at;
}
