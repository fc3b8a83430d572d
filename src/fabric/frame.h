/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A frame in the fabric: one cache line, since a network under load is mostly frames that wait, and
 * each hop finds one cold. Its headers are there in a form that has room for BTH and AETH, which is
 * all that most packets have. What says more has an extra of its own (extended headers, payload
 * that is more than a length, a detour), which nobody touches on the way; so hosts, captures and
 * counters ask for headers, and get them whole.
 *
 * Frames come from a free list and are in one place at a time: a flight (struct
 * roce_fabric_port.flying) or an egress queue, by `next`.
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
#define ROCE_FABRIC_FRAME_REAL	    0x08u /* its extra has a block with its payload */
#define ROCE_FABRIC_FRAME_DAMAGED   0x10u /* struct roce_fabric says where */
#define ROCE_FABRIC_FRAME_TAGGED    0x20u /* 802.1Q */
#define ROCE_FABRIC_FRAME_EXTRA	    0x40u /* has one */
#define ROCE_FABRIC_FRAME_DETOUR    0x80u /* its extra says by way of whom */

#define ROCE_FABRIC_IP_EXTRA_BYTES  18u /* of a frame that are not IP: Ethernet header and FCS */
#define ROCE_FABRIC_TAG_BYTES	    4u
#define ROCE_FABRIC_FRAME_BYTES_MIN 64u /* without a tag */

#define ROCE_FABRIC_ECN_MASK	    3u
#define ROCE_FABRIC_ECN_CE	    3u

#define ROCE_FABRIC_FRAME_NUMBERS \
	(1u << 24) /* of hosts, QPNs and PSNs, that a frame has room for */
#define ROCE_FABRIC_FRAME_BYTES_MAX UINT16_MAX

struct roce_fabric_frame {
	_Alignas(64) struct roce_fabric_frame *next;
	uint64_t at_ps;	     /* flying: when it is there; queued: when it may leave */
	uint64_t next_at_ps; /* of `next`, while that flies: it need not be touched */
	union {
		struct roce_fabric_extra *extra; /* with FRAME_EXTRA */
		struct {
			uint32_t msn : 24; /* AETH, or of no meaning */
			uint8_t syndrome;
			uint16_t pkey;
		};
	};
	uint32_t hash;	   /* of its flow */
	uint32_t src : 24; /* hosts, numbered among hosts */
	uint8_t opcode;
	uint32_t dst : 24;
	uint8_t traffic_class;
	uint32_t dest_qpn : 24;
	uint8_t ttl;
	uint32_t psn : 24;
	uint8_t flags;
	uint32_t in_port;
	uint16_t bytes; /* on the wire, without preamble and gap */
	uint16_t payload_bytes : 13;
	uint16_t in_prio : 3; /* at a switch: of the port that it came in at */
	uint16_t udp_sport;
	uint8_t prio;	 /* at the node where it is; queued: of the port that it leaves by */
	uint8_t pcp : 4; /* or ROCE_FABRIC_UNTAGGED */
	bool is_solicited : 1;
	bool is_mig_req : 1;
	bool is_ack_req : 1;
	bool is_becn : 1;
};

_Static_assert(sizeof(struct roce_fabric_frame) == 64, "one cache line");
_Static_assert(ROCE_MTU_BYTES_MAX < 1u << 13, "payload fits");

/* What few frames have. */
struct roce_fabric_extra {
	struct roce_headers hdr; /* all of them, and all that they say */
	union {
		struct roce_fabric_block *block; /* with FRAME_REAL */
		struct roce_fabric_extra *next;	 /* of those that are free */
	};
	uint32_t via; /* host, with FRAME_DETOUR */
};

/* What a packet takes on the wire, without preamble and gap; V6 and TAGGED of `flags` count. */
uint32_t roce_fabric_frame_bytes(const struct roce_fabric_framing *framing, roce_opcode_t opcode,
				 uint32_t payload_bytes, uint8_t flags);

static inline uint32_t roce_fabric_tag_bytes(uint8_t flags)
{
	return flags & ROCE_FABRIC_FRAME_TAGGED ? ROCE_FABRIC_TAG_BYTES : 0;
}

/* The payload of a frame, where there is more than its length. */
struct roce_fabric_block {
	uint64_t message;		/* of its flow, that the payload is of */
	struct roce_fabric_block *next; /* of those that are free */
	struct roce_fabric_block *next_made;
	uint8_t bytes[ROCE_MTU_BYTES_MAX];
};

struct roce_fabric_frame_pool {
	struct roce_fabric_frame *free;
	struct roce_fabric_chunk *chunks;
	uint32_t made; /* frames in all chunks */
	uint32_t in_use;
	struct roce_fabric_extra *free_extra;
	struct roce_fabric_extra_chunk *extra_chunks;
	struct roce_fabric_block *free_block;
	struct roce_fabric_block *blocks; /* all */
};

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

/* The frame has none any more, nor a block. */
void roce_fabric_frame_put_extra(struct roce_fabric_frame_pool *pool,
				 struct roce_fabric_frame *frame);

static inline void roce_fabric_frame_put(struct roce_fabric_frame_pool *pool,
					 struct roce_fabric_frame *frame)
{
	if (__builtin_expect(frame->flags & ROCE_FABRIC_FRAME_EXTRA, 0))
		roce_fabric_frame_put_extra(pool, frame);
	frame->next = pool->free;
	pool->free = frame;
	pool->in_use--;
}

/* `flags` and `payload_bytes` are set by then. */
void roce_fabric_frame_set_headers(struct roce_fabric_frame_pool *pool,
				   struct roce_fabric_frame *frame, const struct roce_headers *hdr);
void roce_fabric_frame_get_headers(const struct roce_fabric_frame *frame, struct roce_headers *out);
/* Headers are set by then. By way of a host: */
void roce_fabric_frame_set_via(struct roce_fabric_frame_pool *pool, struct roce_fabric_frame *frame,
			       uint32_t via);
/* Gives the frame a block, which is the caller's to fill. */
struct roce_fabric_block *roce_fabric_frame_add_block(struct roce_fabric_frame_pool *pool,
						      struct roce_fabric_frame *frame);
/* Another one that says and carries the same. */
struct roce_fabric_frame *roce_fabric_frame_copy(struct roce_fabric_frame_pool *pool,
						 const struct roce_fabric_frame *frame);

/* The block's bytes, or NULL: phantom. */
static inline const uint8_t *roce_fabric_frame_payload(const struct roce_fabric_frame *frame)
{
	return frame->flags & ROCE_FABRIC_FRAME_REAL ? frame->extra->block->bytes : NULL;
}

/* Where it goes next, host by host. */
static inline uint32_t roce_fabric_frame_target(const struct roce_fabric_frame *frame)
{
	return __builtin_expect(frame->flags & ROCE_FABRIC_FRAME_DETOUR, 0) ? frame->extra->via
									    : frame->dst;
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
