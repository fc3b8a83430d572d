/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table of regions and Q_Keys in memory that both ends may share: an adapter that takes a wrong
 * key knows the right one. Two ends in one process share it anyhow; two processes share the file of
 * PLANT_SHARED, which whoever comes first makes.
 *
 * Slots are claimed and given back one by one with atomics; a reader may see a region that is about
 * to go, as an adapter may.
 */
#include "plant.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOTS 4096u

struct region {
	_Atomic uint32_t state; /* 0 free, 1 being written, 2 there */
	uint32_t rkey;
	uint64_t begin;
	uint64_t bytes;
	unsigned int access;
};

struct shared {
	struct region regions[SLOTS];
	_Atomic uint64_t qkeys[SLOTS]; /* number << 32 | key, by number; 0: none */
};

static struct shared *shared;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void map_shared(void)
{
	const char *path = getenv("PLANT_SHARED");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (fd >= 0 && ftruncate(fd, sizeof(*shared)) != 0) {
		close(fd);
		fd = -1;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (shared == MAP_FAILED)
		abort();
	if (fd >= 0)
		close(fd);
}

void plant_shared_add_region(const struct ibv_mr *mr, uint64_t begin, uint64_t bytes,
			     unsigned int access)
{
	pthread_once(&once, map_shared);
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct region *r = &shared->regions[i];
		uint32_t is_free = 0;

		if (!atomic_compare_exchange_strong(&r->state, &is_free, 1))
			continue;
		r->rkey = mr->rkey;
		r->begin = begin;
		r->bytes = bytes;
		r->access = access;
		atomic_store(&r->state, 2);
		return;
	}
}

void plant_shared_remove_region(uint32_t rkey)
{
	pthread_once(&once, map_shared);
	for (uint32_t i = 0; i < SLOTS; i++) {
		struct region *r = &shared->regions[i];

		if (atomic_load(&r->state) == 2 && r->rkey == rkey)
			atomic_store(&r->state, 0);
	}
}

uint32_t plant_shared_rkey(uint32_t rkey, uint64_t begin, uint64_t bytes, unsigned int access)
{
	uint32_t other = rkey;

	pthread_once(&once, map_shared);
	for (uint32_t i = 0; i < SLOTS; i++) {
		const struct region *r = &shared->regions[i];

		if (atomic_load(&r->state) != 2 || (r->access & access) != access ||
		    begin < r->begin || begin + bytes > r->begin + r->bytes)
			continue;
		if (r->rkey == rkey)
			return rkey;
		other = r->rkey;
	}
	return other;
}

static _Atomic uint64_t *qkey_slot(uint32_t qp_num)
{
	pthread_once(&once, map_shared);
	for (uint32_t i = 0; i < SLOTS; i++) {
		_Atomic uint64_t *slot = &shared->qkeys[(qp_num + i) % SLOTS];
		uint64_t seen = atomic_load(slot);

		if (seen == 0 || seen >> 32 == qp_num)
			return slot;
	}
	return NULL;
}

void plant_shared_set_qkey(uint32_t qp_num, uint32_t qkey)
{
	_Atomic uint64_t *slot = qkey_slot(qp_num);

	if (slot)
		atomic_store(slot, (uint64_t)qp_num << 32 | qkey);
}

uint32_t plant_shared_qkey(uint32_t qp_num, uint32_t qkey)
{
	const _Atomic uint64_t *slot = qkey_slot(qp_num);
	uint64_t seen = slot ? atomic_load(slot) : 0;

	return seen ? (uint32_t)seen : qkey;
}
