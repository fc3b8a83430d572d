/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frame pool: chunks of frames, aligned to cache lines, that are freed with the fabric. The
 * list hands out what came back last, which is still in the cache. Beside it the extras and the
 * blocks of those frames that have them. And how headers are kept in a frame.
 */
#include "fabric/frame.h"

#include "base/assert.h"
#include "fabric/pages.h"
#include "wire/headers.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_FRAMES	512u
#define MANY_FRAMES	(1u << 18) /* from here on chunks are huge pages */
#define HUGE_FRAMES	((uint32_t)(ROCE_FABRIC_HUGE_PAGE / sizeof(struct roce_fabric_frame)) - 1)
#define CHUNK_EXTRAS	128u

#define ROOM_FOR	(ROCE_HEADER_BIT(AETH) | ROCE_HEADER_BIT(CNP_RESERVED))

#define AROUND_V4_BYTES 46u /* Ethernet 14, IPv4 20, UDP 8, FCS 4 */
#define V6_EXTRA_BYTES	20u

struct roce_fabric_chunk {
	struct roce_fabric_chunk *next;
	struct roce_fabric_frame frames[];
};

struct roce_fabric_extra_chunk {
	struct roce_fabric_extra_chunk *next;
	struct roce_fabric_extra extras[CHUNK_EXTRAS];
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

void roce_fabric_frame_pool_fini(struct roce_fabric_frame_pool *pool)
{
	while (pool->chunks) {
		struct roce_fabric_chunk *chunk = pool->chunks;

		pool->chunks = chunk->next;
		free(chunk);
	}
	while (pool->extra_chunks) {
		struct roce_fabric_extra_chunk *chunk = pool->extra_chunks;

		pool->extra_chunks = chunk->next;
		free(chunk);
	}
	while (pool->blocks) {
		struct roce_fabric_block *block = pool->blocks;

		pool->blocks = block->next_made;
		free(block);
	}
	*pool = (struct roce_fabric_frame_pool){0};
}

/* ---- extras and blocks ---- */

static void make_extras(struct roce_fabric_frame_pool *pool)
{
	struct roce_fabric_extra_chunk *chunk = malloc(sizeof(*chunk));

	ROCE_ASSERT(chunk);
	chunk->next = pool->extra_chunks;
	pool->extra_chunks = chunk;
	for (uint32_t i = CHUNK_EXTRAS; i > 0; i--) {
		chunk->extras[i - 1].next = pool->free_extra;
		pool->free_extra = &chunk->extras[i - 1];
	}
}

/* The one that it has, or another. */
static struct roce_fabric_extra *add_extra(struct roce_fabric_frame_pool *pool,
					   struct roce_fabric_frame *frame)
{
	struct roce_fabric_extra *extra;

	if (frame->flags & ROCE_FABRIC_FRAME_EXTRA)
		return frame->extra;
	if (!pool->free_extra)
		make_extras(pool);
	extra = pool->free_extra;
	pool->free_extra = extra->next;
	roce_fabric_frame_get_headers(frame, &extra->hdr);
	frame->extra = extra;
	frame->flags |= ROCE_FABRIC_FRAME_EXTRA;
	return extra;
}

void roce_fabric_frame_put_extra(struct roce_fabric_frame_pool *pool,
				 struct roce_fabric_frame *frame)
{
	struct roce_fabric_extra *extra = frame->extra;

	if (frame->flags & ROCE_FABRIC_FRAME_REAL) {
		extra->block->next = pool->free_block;
		pool->free_block = extra->block;
	}
	extra->next = pool->free_extra;
	pool->free_extra = extra;
	frame->flags &= (uint8_t) ~(ROCE_FABRIC_FRAME_EXTRA | ROCE_FABRIC_FRAME_REAL |
				    ROCE_FABRIC_FRAME_DETOUR);
}

void roce_fabric_frame_set_via(struct roce_fabric_frame_pool *pool, struct roce_fabric_frame *frame,
			       uint32_t via)
{
	add_extra(pool, frame)->via = via;
	frame->flags |= ROCE_FABRIC_FRAME_DETOUR;
}

static struct roce_fabric_block *make_block(struct roce_fabric_frame_pool *pool)
{
	struct roce_fabric_block *block = malloc(sizeof(*block));

	ROCE_ASSERT(block);
	block->next_made = pool->blocks;
	pool->blocks = block;
	return block;
}

struct roce_fabric_block *roce_fabric_frame_add_block(struct roce_fabric_frame_pool *pool,
						      struct roce_fabric_frame *frame)
{
	struct roce_fabric_block *block = pool->free_block;

	if (block)
		pool->free_block = block->next;
	else
		block = make_block(pool);
	add_extra(pool, frame)->block = block;
	frame->flags |= ROCE_FABRIC_FRAME_REAL;
	return block;
}

struct roce_fabric_frame *roce_fabric_frame_copy(struct roce_fabric_frame_pool *pool,
						 const struct roce_fabric_frame *frame)
{
	struct roce_fabric_frame *twin = roce_fabric_frame_get(pool);
	const uint8_t *bytes = roce_fabric_frame_payload(frame);

	*twin = *frame;
	if (!(frame->flags & ROCE_FABRIC_FRAME_EXTRA))
		return twin;
	twin->flags &= (uint8_t) ~(ROCE_FABRIC_FRAME_EXTRA | ROCE_FABRIC_FRAME_REAL);
	*add_extra(pool, twin) = *frame->extra;
	if (bytes) {
		struct roce_fabric_block *block = roce_fabric_frame_add_block(pool, twin);

		block->message = frame->extra->block->message;
		memcpy(block->bytes, bytes, frame->payload_bytes);
	}
	return twin;
}

/* ---- headers ---- */

/* Of what the opcode has no header for nothing is kept. */
void roce_fabric_frame_set_headers(struct roce_fabric_frame_pool *pool,
				   struct roce_fabric_frame *frame, const struct roce_headers *hdr)
{
	bool is_more = roce_opcode_table[hdr->opcode.v].headers.v & ~ROOM_FOR;

	frame->opcode = hdr->opcode.v;
	frame->dest_qpn = hdr->dest_qpn.v & ROCE_QPN_MASK;
	frame->psn = hdr->psn.v & ROCE_PSN_MASK;
	frame->is_solicited = hdr->solicited;
	frame->is_mig_req = hdr->mig_req;
	frame->is_ack_req = hdr->ack_req;
	frame->is_becn = hdr->becn;
	if (is_more || hdr->tver || hdr->fecn ||
	    hdr->pad_count != roce_pad_count(frame->payload_bytes)) {
		add_extra(pool, frame)->hdr = *hdr;
		return;
	}
	frame->pkey = hdr->pkey;
	frame->msn = hdr->msn & ROCE_PSN_MASK;
	frame->syndrome = hdr->syndrome;
}

void roce_fabric_frame_get_headers(const struct roce_fabric_frame *frame, struct roce_headers *out)
{
	if (__builtin_expect(frame->flags & ROCE_FABRIC_FRAME_EXTRA, 0)) {
		*out = frame->extra->hdr;
		return;
	}
	*out = (struct roce_headers){
		.opcode = {frame->opcode},
		.pad_count = roce_pad_count(frame->payload_bytes),
		.solicited = frame->is_solicited,
		.mig_req = frame->is_mig_req,
		.ack_req = frame->is_ack_req,
		.becn = frame->is_becn,
		.pkey = frame->pkey,
		.dest_qpn = {frame->dest_qpn},
		.psn = {frame->psn},
		.msn = frame->msn,
		.syndrome = frame->syndrome,
	};
}

/* ---- size ---- */

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
