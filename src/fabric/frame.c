/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frame pool: chunks of frames, aligned to cache lines, that are freed with the fabric. The
 * list hands out what came back last, which is still in the cache. Beside it the blocks of those
 * frames whose payload is more than a length.
 */
#include "fabric/frame.h"

#include "base/assert.h"
#include "fabric/pages.h"
#include "wire/headers.h"

#include <stdlib.h>

#define CHUNK_FRAMES	512u
#define MANY_FRAMES	(1u << 17) /* from here on chunks are huge pages */
#define HUGE_FRAMES	((uint32_t)(ROCE_FABRIC_HUGE_PAGE / sizeof(struct roce_fabric_frame)) - 1)
#define BLOCKS_FIRST	64u

#define AROUND_V4_BYTES 46u /* Ethernet 14, IPv4 20, UDP 8, FCS 4 */
#define V6_EXTRA_BYTES	20u

struct roce_fabric_chunk {
	struct roce_fabric_chunk *next;
	struct roce_fabric_frame frames[];
};

void roce_fabric_frame_pool_grow(struct roce_fabric_frame_pool *pool)
{
	uint32_t count = pool->made < MANY_FRAMES ? CHUNK_FRAMES : HUGE_FRAMES;
	struct roce_fabric_chunk *chunk =
		roce_fabric_pages_get(sizeof(*chunk) + count * sizeof(chunk->frames[0]));

	ROCE_ASSERT(chunk);
	chunk->next = pool->chunks;
	pool->chunks = chunk;
	pool->made += count;
	for (uint32_t i = count; i > 0; i--) {
		chunk->frames[i - 1].next = pool->free;
		pool->free = &chunk->frames[i - 1];
	}
}

/* Block 0 is nobody's, so that a pool begins as zeros. */
static uint32_t make_block(struct roce_fabric_frame_pool *pool)
{
	uint32_t number = pool->block_count ? pool->block_count : 1;

	if (number >= pool->block_room) {
		pool->block_room = pool->block_room ? 2 * pool->block_room : BLOCKS_FIRST;
		pool->blocks = realloc(pool->blocks, pool->block_room * sizeof(*pool->blocks));
		ROCE_ASSERT(pool->blocks);
	}
	pool->blocks[0] = NULL;
	pool->blocks[number] = malloc(sizeof(*pool->blocks[number]));
	ROCE_ASSERT(pool->blocks[number]);
	pool->block_count = number + 1;
	return number;
}

struct roce_fabric_block *roce_fabric_frame_add_block(struct roce_fabric_frame_pool *pool,
						      struct roce_fabric_frame *frame)
{
	uint32_t number = pool->free_block;

	if (number)
		pool->free_block = pool->blocks[number]->next;
	else
		number = make_block(pool);
	frame->block = number;
	frame->flags |= ROCE_FABRIC_FRAME_REAL;
	return pool->blocks[number];
}

void roce_fabric_frame_pool_fini(struct roce_fabric_frame_pool *pool)
{
	while (pool->chunks) {
		struct roce_fabric_chunk *chunk = pool->chunks;

		pool->chunks = chunk->next;
		free(chunk);
	}
	for (uint32_t i = 0; i < pool->block_count; i++)
		free(pool->blocks[i]);
	free(pool->blocks);
	*pool = (struct roce_fabric_frame_pool){0};
}

uint32_t roce_fabric_frame_bytes(const struct roce_fabric_framing *framing, roce_opcode_t opcode,
				 uint32_t payload_bytes, uint8_t flags)
{
	uint32_t bytes;

	if (payload_bytes && framing->data_extra_bytes)
		return payload_bytes + framing->data_extra_bytes;
	if (!payload_bytes && framing->ack_bytes)
		return framing->ack_bytes;
	bytes = AROUND_V4_BYTES + (flags & ROCE_FABRIC_FRAME_V6 ? V6_EXTRA_BYTES : 0) +
		(uint32_t)roce_packet_len(opcode, payload_bytes);
	if (bytes < ROCE_FABRIC_FRAME_BYTES_MIN)
		bytes = ROCE_FABRIC_FRAME_BYTES_MIN;
	return bytes + roce_fabric_tag_bytes(flags);
}
