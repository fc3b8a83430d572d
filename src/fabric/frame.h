/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A frame in the fabric. What ports and switches look at is in the first cache line; the
 * RoCE headers behind it are touched at hosts alone. Frames come from a free list and are in one
 * place at a time: a flight (struct roce_fabric_port.flying) or an egress queue, by `next`.
 */
#ifndef ROCE_FABRIC_FRAME_H
#define ROCE_FABRIC_FRAME_H

#include "fabric/node.h"
#include "fabric/observer.h"
#include "wire/mtu.h"
#include "wire/packet.h"

#define ROCE_FABRIC_FRAME_V6	    0x01u /* IPv6 */
#define ROCE_FABRIC_FRAME_CNP	    0x02u
#define ROCE_FABRIC_FRAME_BACK	    0x04u /* from the flow's destination to its source */
#define ROCE_FABRIC_FRAME_REAL	    0x08u /* has a block with its payload */
#define ROCE_FABRIC_FRAME_DAMAGED   0x10u /* struct roce_fabric says where */
#define ROCE_FABRIC_FRAME_TAGGED    0x20u /* 802.1Q */

#define ROCE_FABRIC_IP_EXTRA_BYTES  18u /* of a frame that are not IP: Ethernet header and FCS */
#define ROCE_FABRIC_TAG_BYTES	    4u
#define ROCE_FABRIC_FRAME_BYTES_MIN 64u /* without a tag */

#define ROCE_FABRIC_ECN_MASK	    3u
#define ROCE_FABRIC_ECN_CE	    3u

struct roce_fabric_frame {
	_Alignas(64) struct roce_fabric_frame *next;
	uint64_t at_ps;	     /* flying: when it is there; queued: when it may leave */
	uint64_t next_at_ps; /* of `next`, while that flies: it need not be touched */
	uint32_t bytes;	     /* on the wire, without preamble and gap */
	uint32_t payload_bytes;
	uint32_t src; /* hosts, numbered among hosts */
	uint32_t dst;
	uint32_t hash; /* of its flow */
	uint32_t via;  /* host, or ROCE_FABRIC_DIRECT: no more */
	uint32_t in_port;
	uint32_t block; /* with FRAME_REAL */
	uint16_t udp_sport;
	uint8_t prio;	 /* at the node where it is; queued: of the port that it leaves by */
	uint8_t in_prio; /* at a switch: of the port that it came in at */
	uint8_t pcp;
	uint8_t traffic_class;
	uint8_t ttl;
	uint8_t flags;

	_Alignas(64) struct roce_headers hdr;
};

_Static_assert(offsetof(struct roce_fabric_frame, hdr) == 64, "the hot part is one cache line");
_Static_assert(sizeof(struct roce_fabric_frame) == 128, "and the headers are another");

/* What a packet takes on the wire, without preamble and gap; V6 and TAGGED of `flags` count. */
uint32_t roce_fabric_frame_bytes(const struct roce_fabric_framing *framing, roce_opcode_t opcode,
				 uint32_t payload_bytes, uint8_t flags);

static inline uint32_t roce_fabric_tag_bytes(uint8_t flags)
{
	return flags & ROCE_FABRIC_FRAME_TAGGED ? ROCE_FABRIC_TAG_BYTES : 0;
}

/* The payload of a frame, where there is more than its length. Frames have its number, since they
 * have no room for more. */
struct roce_fabric_block {
	uint64_t message; /* of its flow, that the payload is of */
	uint32_t next;	  /* of those that are free */
	uint8_t bytes[ROCE_MTU_BYTES_MAX];
};

struct roce_fabric_frame_pool {
	struct roce_fabric_frame *free;
	struct roce_fabric_chunk *chunks;
	uint32_t made; /* frames in all chunks */
	struct roce_fabric_block **blocks;
	uint32_t block_count;
	uint32_t block_room;
	uint32_t free_block; /* the first; 0: there is none */
	uint32_t in_use;
};

/* Gives the frame a block, which is the caller's to fill. */
struct roce_fabric_block *roce_fabric_frame_add_block(struct roce_fabric_frame_pool *pool,
						      struct roce_fabric_frame *frame);

static inline struct roce_fabric_block *
roce_fabric_frame_block(const struct roce_fabric_frame_pool *pool,
			const struct roce_fabric_frame *frame)
{
	return pool->blocks[frame->block];
}

void roce_fabric_frame_pool_fini(struct roce_fabric_frame_pool *pool);
/* More frames when the list is empty; the process ends without memory, as it has no result then. */
void roce_fabric_frame_pool_grow(struct roce_fabric_frame_pool *pool);

static inline struct roce_fabric_frame *roce_fabric_frame_get(struct roce_fabric_frame_pool *pool)
{
	struct roce_fabric_frame *frame;

	if (!pool->free)
		roce_fabric_frame_pool_grow(pool);
	frame = pool->free;
	pool->free = frame->next;
	pool->in_use++;
	return frame;
}

static inline void roce_fabric_frame_put(struct roce_fabric_frame_pool *pool,
					 struct roce_fabric_frame *frame)
{
	if (__builtin_expect(frame->flags & ROCE_FABRIC_FRAME_REAL, 0)) {
		roce_fabric_frame_block(pool, frame)->next = pool->free_block;
		pool->free_block = frame->block;
	}
	frame->next = pool->free;
	pool->free = frame;
	pool->in_use--;
}

/* The block's bytes, or NULL: phantom. */
static inline const uint8_t *roce_fabric_frame_payload(const struct roce_fabric_frame_pool *pool,
						       const struct roce_fabric_frame *frame)
{
	return frame->flags & ROCE_FABRIC_FRAME_REAL ? roce_fabric_frame_block(pool, frame)->bytes
						     : NULL;
}

/* First in, first out. */
struct roce_fabric_fifo {
	struct roce_fabric_frame *head;
	struct roce_fabric_frame *tail; /* of no meaning when empty */
};

static inline void roce_fabric_fifo_push(struct roce_fabric_fifo *q,
					 struct roce_fabric_frame *frame)
{
	frame->next = NULL;
	if (q->head) {
		q->tail->next = frame;
		q->tail->next_at_ps = frame->at_ps;
	} else {
		q->head = frame;
	}
	q->tail = frame;
}

static inline struct roce_fabric_frame *roce_fabric_fifo_pop(struct roce_fabric_fifo *q)
{
	struct roce_fabric_frame *frame = q->head;

	q->head = frame->next;
	return frame;
}

#endif
