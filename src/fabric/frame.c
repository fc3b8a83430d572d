/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frame pool: chunks of frames, aligned to cache lines, that are freed with the fabric. The
 * list hands out what came back last, which is still in the cache.
 */
#include "fabric/frame.h"

#include "base/assert.h"

#include <stdlib.h>

#define CHUNK_FRAMES 512u
#define CACHE_LINE   64u

struct roce_fabric_chunk {
	struct roce_fabric_chunk *next;
	struct roce_fabric_frame frames[CHUNK_FRAMES];
};

void roce_fabric_frame_pool_grow(struct roce_fabric_frame_pool *pool)
{
	size_t size =
		(sizeof(struct roce_fabric_chunk) + CACHE_LINE - 1) & ~(size_t)(CACHE_LINE - 1);
	struct roce_fabric_chunk *chunk = aligned_alloc(CACHE_LINE, size);

	ROCE_ASSERT(chunk);
	chunk->next = pool->chunks;
	pool->chunks = chunk;
	for (uint32_t i = CHUNK_FRAMES; i > 0; i--) {
		chunk->frames[i - 1].next = pool->free;
		pool->free = &chunk->frames[i - 1];
	}
}

void roce_fabric_frame_pool_fini(struct roce_fabric_frame_pool *pool)
{
	while (pool->chunks) {
		struct roce_fabric_chunk *chunk = pool->chunks;

		pool->chunks = chunk->next;
		free(chunk);
	}
	pool->free = NULL;
}
