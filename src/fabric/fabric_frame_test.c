/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a frame keeps of a packet's headers, with and without an extra, and what becomes of extras
 * and blocks.
 */
#include "fabric/frame.h"

#include "base/prng.h"
#include "wire/headers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define SEED	20251130u
#define ROUNDS	100000u
#define LARGEST (ROCE_FABRIC_FRAME_NUMBERS - 1)

static uint32_t draw(struct roce_prng *prng, uint32_t limit)
{
	return (uint32_t)roce_prng_below(prng, limit);
}

static roce_opcode_t draw_opcode(struct roce_prng *prng)
{
	roce_opcode_t opcode;

	do
		opcode.v = (uint8_t)draw(prng, 256);
	while (!roce_opcode_info(opcode));
	return opcode;
}

/* Every field has a value, whether the opcode has a place for it or not. */
static struct roce_headers draw_headers(struct roce_prng *prng, uint32_t payload_bytes)
{
	struct roce_headers hdr = {
		.opcode = draw_opcode(prng),
		.pad_count = roce_pad_count(payload_bytes),
		.solicited = draw(prng, 2),
		.mig_req = draw(prng, 2),
		.ack_req = draw(prng, 2),
		.becn = draw(prng, 2),
		.pkey = (uint16_t)draw(prng, 1u << 16),
		.flush_sel = (uint8_t)draw(prng, 4),
		.flush_plt = (uint8_t)draw(prng, 16),
		.dest_qpn = {draw(prng, 1u << 24)},
		.psn = {draw(prng, 1u << 24)},
		.xrc_srqn = draw(prng, 1u << 24),
		.va = roce_prng_next(prng),
		.rkey = {(uint32_t)roce_prng_next(prng)},
		.dma_len = draw(prng, 1u << 24),
		.swap_add = roce_prng_next(prng),
		.compare = roce_prng_next(prng),
		.imm_be = (uint32_t)roce_prng_next(prng),
		.syndrome = (uint8_t)draw(prng, 256),
	};

	return hdr;
}

/* On the wire nothing differs: that is all that an opcode has a place for. */
static void assert_same(const struct roce_headers *a, const struct roce_headers *b)
{
	uint8_t wire_a[ROCE_HEADERS_MAX], wire_b[ROCE_HEADERS_MAX];
	size_t length = roce_headers_encode(a, wire_a);

	assert_int_equal(roce_headers_encode(b, wire_b), length);
	assert_memory_equal(wire_a, wire_b, length);
}

static bool has_extra(const struct roce_fabric_frame *frame)
{
	return frame->flags & ROCE_FABRIC_FRAME_EXTRA;
}

/* As a packet's way begins: everything else is set as well, to values of all ones. */
static struct roce_fabric_frame *make(struct roce_fabric_frame_pool *pool,
				      const struct roce_headers *hdr, uint32_t payload_bytes)
{
	struct roce_fabric_frame *frame = roce_fabric_frame_get(pool);

	memset(frame, 0xff, sizeof(*frame));
	frame->flags = 0;
	frame->payload_bytes = payload_bytes & 0x1fff;
	roce_fabric_frame_set_headers(pool, frame, hdr);
	return frame;
}

static void headers__of_every_opcode_come_back(void **state)
{
	struct roce_fabric_frame_pool pool = {0};
	struct roce_prng prng = {SEED};
	struct roce_headers out;

	(void)state;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t bytes = draw(&prng, ROCE_MTU_BYTES_MAX + 1);
		struct roce_headers hdr = draw_headers(&prng, bytes);
		struct roce_fabric_frame *frame = make(&pool, &hdr, bytes);

		roce_fabric_frame_get_headers(frame, &out);
		assert_same(&out, &hdr);
		assert_int_equal(frame->opcode, hdr.opcode.v);
		assert_int_equal(frame->dest_qpn, hdr.dest_qpn.v);
		assert_int_equal(frame->psn, hdr.psn.v);
		assert_int_equal(frame->payload_bytes, bytes);
		/* The neighbours of what was set are as they were. */
		assert_int_equal(frame->src, LARGEST);
		assert_int_equal(frame->dst, LARGEST);
		assert_int_equal(frame->hash, UINT32_MAX);
		assert_int_equal(frame->in_port, UINT32_MAX);
		assert_int_equal(frame->in_prio, 7);
		assert_int_equal(frame->pcp, 15);
		roce_fabric_frame_put(&pool, frame);
		assert_int_equal(pool.in_use, 0);
	}
	roce_fabric_frame_pool_fini(&pool);
}

/* Data of a message in the middle, acknowledgements, CNPs: nearly all packets. */
static void headers__few_packets_need_an_extra(void **state)
{
	static const struct {
		enum roce_op op;
		bool has_extra;
	} rows[] = {
		{ROCE_RC_WRITE_FIRST, true},
		{ROCE_RC_WRITE_MIDDLE, false},
		{ROCE_RC_WRITE_LAST, false},
		{ROCE_RC_WRITE_LAST_IMM, true},
		{ROCE_RC_WRITE_ONLY, true},
		{ROCE_RC_SEND_ONLY, false},
		{ROCE_RC_SEND_ONLY_INV, true},
		{ROCE_RC_READ_REQUEST, true},
		{ROCE_RC_READ_RESPONSE_FIRST, false},
		{ROCE_RC_READ_RESPONSE_MIDDLE, false},
		{ROCE_RC_ACK, false},
		{ROCE_RC_ATOMIC_ACK, true},
		{ROCE_RC_CMP_SWAP, true},
		{ROCE_UC_WRITE_MIDDLE, false},
		{ROCE_UD_SEND_ONLY, true},
		{ROCE_CNP, false},
	};
	struct roce_fabric_frame_pool pool = {0};

	(void)state;
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct roce_headers hdr = {.opcode = roce_opcode_make(rows[i].op)};
		struct roce_fabric_frame *frame = make(&pool, &hdr, 0);

		assert_int_equal(has_extra(frame), rows[i].has_extra);
		roce_fabric_frame_put(&pool, frame);
	}
	roce_fabric_frame_pool_fini(&pool);
}

/* What no transport of ours sends. */
static void headers__that_nobody_sends(void **state)
{
	const struct roce_headers odd[] = {
		{.opcode = {ROCE_RC_ACK}, .tver = 1},
		{.opcode = {ROCE_RC_ACK}, .fecn = true},
		{.opcode = {ROCE_RC_ACK}, .pad_count = 3},
	};
	struct roce_fabric_frame_pool pool = {0};
	struct roce_headers out;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct roce_fabric_frame *frame = make(&pool, &odd[i], 0);

		assert_true(has_extra(frame));
		roce_fabric_frame_get_headers(frame, &out);
		assert_same(&out, &odd[i]);
		roce_fabric_frame_put(&pool, frame);
	}
	roce_fabric_frame_pool_fini(&pool);
}

/* A detour and a payload take the place of headers that were in the frame. */
static void extra__keeps_the_headers(void **state)
{
	struct roce_prng prng = {1};
	struct roce_headers hdr = draw_headers(&prng, 17);
	struct roce_fabric_frame_pool pool = {0};
	struct roce_fabric_frame *frame;
	struct roce_headers out;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		hdr.opcode = roce_opcode_make(ROCE_RC_READ_RESPONSE_ONLY);
		frame = make(&pool, &hdr, 17);
		frame->dst = 5;
		assert_int_equal(roce_fabric_frame_target(frame), 5);
		assert_null(roce_fabric_frame_payload(frame));
		if (i != 1) {
			roce_fabric_frame_set_via(&pool, frame, 1u << 20);
			assert_int_equal(roce_fabric_frame_target(frame), 1u << 20);
		}
		if (i != 0) {
			memset(roce_fabric_frame_add_block(&pool, frame)->bytes, 7, 17);
			assert_int_equal(roce_fabric_frame_payload(frame)[16], 7);
		}
		roce_fabric_frame_get_headers(frame, &out);
		assert_same(&out, &hdr);
		frame->flags &= (uint8_t)~ROCE_FABRIC_FRAME_DETOUR;
		assert_int_equal(roce_fabric_frame_target(frame), 5);
		roce_fabric_frame_put(&pool, frame);
	}
	roce_fabric_frame_pool_fini(&pool);
}

static void copy__has_what_is_its_own(void **state)
{
	struct roce_prng prng = {2};
	struct roce_fabric_frame_pool pool = {0};

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		struct roce_headers hdr = draw_headers(&prng, 100);
		struct roce_fabric_frame *frame, *twin;
		struct roce_headers out;

		hdr.opcode = roce_opcode_make(i & 1 ? ROCE_RC_WRITE_ONLY : ROCE_RC_WRITE_LAST);
		frame = make(&pool, &hdr, 100);
		if (i & 2)
			roce_fabric_frame_set_via(&pool, frame, 9);
		if (i & 4) {
			struct roce_fabric_block *block = roce_fabric_frame_add_block(&pool, frame);

			block->message = 77;
			memset(block->bytes, 3, 100);
		}
		twin = roce_fabric_frame_copy(&pool, frame);
		assert_int_equal(has_extra(twin), i > 0);
		assert_int_equal(twin->flags, frame->flags);
		assert_int_equal(twin->hash, frame->hash);
		/* What becomes of one is nothing to the other. */
		if (i)
			memset(&frame->extra->hdr, 0, sizeof(frame->extra->hdr));
		if (i & 2)
			frame->extra->via = 0;
		if (i & 4)
			memset(frame->extra->block->bytes, 0, 100);
		roce_fabric_frame_put(&pool, frame);
		roce_fabric_frame_get_headers(twin, &out);
		assert_same(&out, &hdr);
		if (i & 2)
			assert_int_equal(roce_fabric_frame_target(twin), 9);
		if (i & 4) {
			assert_int_equal(twin->extra->block->message, 77);
			assert_int_equal(roce_fabric_frame_payload(twin)[99], 3);
		}
		roce_fabric_frame_put(&pool, twin);
		assert_int_equal(pool.in_use, 0);
	}
	roce_fabric_frame_pool_fini(&pool);
}

static void pool__takes_back_what_it_gave(void **state)
{
	const struct roce_headers hdr = {.opcode = {ROCE_RC_WRITE_ONLY}};
	struct roce_fabric_frame_pool pool = {0};
	struct roce_fabric_extra *extra = NULL;
	struct roce_fabric_block *first = NULL;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		struct roce_fabric_frame *frame = make(&pool, &hdr, 0);
		struct roce_fabric_block *block = roce_fabric_frame_add_block(&pool, frame);

		if (i == 0) {
			extra = frame->extra;
			first = block;
		}
		assert_ptr_equal(frame->extra, extra);
		assert_ptr_equal(block, first);
		roce_fabric_frame_put(&pool, frame);
	}
	roce_fabric_frame_pool_fini(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers__of_every_opcode_come_back),
		cmocka_unit_test(headers__few_packets_need_an_extra),
		cmocka_unit_test(headers__that_nobody_sends),
		cmocka_unit_test(extra__keeps_the_headers),
		cmocka_unit_test(copy__has_what_is_its_own),
		cmocka_unit_test(pool__takes_back_what_it_gave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
