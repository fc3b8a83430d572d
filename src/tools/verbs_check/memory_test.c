/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs executed by copying, as a device without faults would: everything compares right. Then
 * one bit anywhere in the memory is flipped, and the comparison must find it. The copying is
 * written from the requests' meaning, not from the image's code, so each proves the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tools/verbs_check/memory.h"
#include "tools/verbs_check/open_program.h"

enum { SEEDS = 60, FLIPS = 40 };

static const struct vc_limits limits = {
	.ops = 96,
	.size_max = 100000,
	.qp_max = 4,
	.op_mask = (1u << VC_OP_COUNT) - 1,
	.mtu_min = IBV_MTU_256,
	.mtu_max = IBV_MTU_4096,
	.sge_max = 16,
	.sge_read_max = 16,
	.inline_max = 128,
	.depth_max = 64,
	.cqe_max = 4096,
	.rd_atomic_max = 16,
	.windows = true,
	.atomics = true,
	.atomic_write = true,
	.transports = 1u << VC_TRANSPORT_RC,
};

static uint8_t *gather(struct vc_memory *memories, const struct vc_program *program, uint32_t side,
		       const struct vc_request *request)
{
	uint8_t *bytes = malloc(request->length + 1u);
	uint32_t done = 0;

	assert_non_null(bytes);
	for (uint32_t i = 0; i < request->piece_count; i++) {
		const struct vc_piece *piece =
			&program->sides[side].pieces[request->piece_first + i];

		memcpy(bytes + done, vc_memory_at(&memories[side], program, side, piece),
		       piece->length);
		done += piece->length;
	}
	assert_int_equal(done, request->length);
	return bytes;
}

/* Which message took which receive: the next free one of the pool that it goes to. */
static struct vc_arrivals arrivals[VC_SIDES];

static void scatter(struct vc_memory *memories, const struct vc_program *program, uint32_t side,
		    uint32_t first, uint32_t count, const uint8_t *bytes, uint32_t length)
{
	for (uint32_t i = 0; i < count && length; i++) {
		const struct vc_piece *piece = &program->sides[side].pieces[first + i];
		uint32_t part = piece->length < length ? piece->length : length;

		memcpy(vc_memory_at(&memories[side], program, side, piece), bytes, part);
		bytes += part;
		length -= part;
	}
	assert_int_equal(length, 0);
}

static void execute_atomic(struct vc_memory *memories, const struct vc_program *program,
			   uint32_t side, const struct vc_request *request)
{
	uint8_t *cell = vc_memory_at(&memories[!side], program, !side, &request->remote);
	uint64_t value, next;

	memcpy(&value, cell, sizeof(value));
	next = value + request->compare_add;
	if (request->op == VC_OP_CMP_SWAP)
		next = value == request->compare_add ? request->swap : value;
	memcpy(cell, &next, sizeof(next));
	scatter(memories, program, side, request->piece_first, request->piece_count,
		(const uint8_t *)&value, sizeof(value));
}

static void receive_open(struct vc_memory *memories, const struct vc_program *program,
			 uint32_t side, uint32_t qp, const struct vc_request *request,
			 const uint8_t *bytes)
{
	const struct vc_side *peer = &program->sides[!side];
	bool is_ud = program->transport == VC_TRANSPORT_UD;
	uint32_t pool = program->transport == VC_TRANSPORT_XRC
				? request->to
				: peer->lanes[is_ud ? request->to : qp].pool;
	const struct vc_lane *lane = &peer->lanes[pool];
	struct vc_taken *taken = arrivals[!side].taken[pool];
	uint8_t *whole = calloc(1, request->length + VC_GRH_BYTES);
	uint32_t head = is_ud ? VC_GRH_BYTES : 0;
	uint32_t index = 0;

	assert_non_null(whole);
	if (request->flags & (VC_BAD_QKEY | VC_MULTICAST)) {
		free(whole);
		return;
	}
	while (taken[index].is_done)
		index++;
	assert_true(index < lane->receive_count);
	taken[index] =
		(struct vc_taken){true, true, side, qp,
				  (uint32_t)(request - program->sides[side].lanes[qp].requests)};
	memcpy(whole + head, bytes, request->length);
	if (vc_op_is_send(request->op))
		scatter(memories, program, !side, lane->receives[index].piece_first,
			lane->receives[index].piece_count, whole, request->length + head);
	free(whole);
}

static void execute(struct vc_memory *memories, const struct vc_program *program, uint32_t side,
		    uint32_t qp, const struct vc_request *request)
{
	const struct vc_lane *peer = &program->sides[!side].lanes[qp];
	uint8_t *remote = NULL;
	uint8_t *bytes;

	if (vc_op_is_atomic(request->op)) {
		execute_atomic(memories, program, side, request);
		return;
	}
	if (!vc_op_is_send(request->op))
		remote = vc_memory_at(&memories[!side], program, !side, &request->remote);
	if (request->op == VC_OP_READ) {
		scatter(memories, program, side, request->piece_first, request->piece_count, remote,
			request->length);
		return;
	}
	bytes = gather(memories, program, side, request);
	if (request->flags & VC_INLINE)
		vc_memory_scribble(&memories[side], program, side, request);
	if (remote)
		memcpy(remote, bytes, request->length);
	if (program->is_open && vc_op_takes_receive(request->op))
		receive_open(memories, program, side, qp, request, bytes);
	else if (!remote)
		scatter(memories, program, !side, peer->receives[request->receive].piece_first,
			peer->receives[request->receive].piece_count, bytes, request->length);
	free(bytes);
}

static void execute_all(struct vc_memory *memories, const struct vc_program *program)
{
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		for (uint32_t q = 0; q < program->qp_count; q++) {
			const struct vc_lane *lane = &program->sides[s].lanes[q];

			for (uint32_t i = 0; i < lane->request_count; i++)
				execute(memories, program, s, q, &lane->requests[i]);
		}
	}
}

/* What an addition to the shared cell returned is checked by its completion, not here. */
static bool is_shared_result(const struct vc_program *program, uint32_t s, uint64_t at)
{
	const struct vc_side *side = &program->sides[s];

	for (uint32_t q = 0; q < program->qp_count; q++) {
		const struct vc_lane *lane = &side->lanes[q];

		for (uint32_t i = 0; i < lane->request_count; i++) {
			const struct vc_request *request = &lane->requests[i];
			const struct vc_piece *piece = &side->pieces[request->piece_first];

			if ((request->flags & VC_SHARED) &&
			    at - side->mrs[piece->mr].base - piece->offset < 8)
				return true;
		}
	}
	return false;
}

static void flip_and_check(struct vc_memory *memory, const struct vc_program *program,
			   uint32_t side, uint64_t at)
{
	struct vc_report report = {0};

	if (is_shared_result(program, side, at))
		return;
	memory->bytes[at] ^= 0x10;
	assert_int_equal(vc_memory_check_all(memory, program, side, NULL, &report), VC_WRONG);
	assert_non_null(strstr(report.text, vc_side_str(side)));
	memory->bytes[at] ^= 0x10;
}

static void a_flipped_bit_is_found(void **state)
{
	struct vc_memory memories[VC_SIDES] = {0};
	struct vc_program program = {0};
	struct vc_report report = {0};
	struct vc_draw draw;

	(void)state;
	vc_draw_init(&draw, 1, 1);
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		vc_program_draw(&program, &limits, seed);
		for (uint32_t s = 0; s < VC_SIDES; s++)
			assert_int_equal(vc_memory_prepare(&memories[s], &program, s, &report), 0);
		execute_all(memories, &program);
		for (uint32_t s = 0; s < VC_SIDES; s++) {
			uint64_t bytes = program.sides[s].memory_bytes;

			assert_int_equal(
				vc_memory_check_all(&memories[s], &program, s, NULL, &report), 0);
			for (uint32_t i = 0; i < FLIPS; i++)
				flip_and_check(&memories[s], &program, s,
					       vc_draw_below(&draw, bytes));
		}
	}
	for (uint32_t s = 0; s < VC_SIDES; s++)
		vc_memory_fini(&memories[s]);
	vc_program_fini(&program);
}

/* The check at a message's arrival, before the seed's end. */
static void a_flipped_byte_of_a_message_is_found(void **state)
{
	struct vc_memory memories[VC_SIDES] = {0};
	struct vc_program program = {0};
	struct vc_report report = {0};
	const struct vc_request *last;
	const struct vc_receive *receive;
	const struct vc_lane *lane;
	uint8_t *byte;

	(void)state;
	vc_program_draw(&program, &limits, 3);
	for (uint32_t s = 0; s < VC_SIDES; s++)
		assert_int_equal(vc_memory_prepare(&memories[s], &program, s, &report), 0);
	execute_all(memories, &program);
	lane = &program.sides[0].lanes[0];
	last = &lane->requests[lane->request_count - 1];
	assert_true(last->length > 0);
	assert_int_equal(vc_memory_check_arrived(&memories[1], &program, 1, 0,
						 lane->request_count - 1, &report),
			 VC_RIGHT);
	receive = &program.sides[1].lanes[0].receives[last->receive];
	byte = NULL;
	for (uint32_t i = 0; i < receive->piece_count && !byte; i++) {
		const struct vc_piece *piece = &program.sides[1].pieces[receive->piece_first + i];

		if (piece->length)
			byte = vc_memory_at(&memories[1], &program, 1, piece);
	}
	assert_non_null(byte);
	*byte ^= 1;
	assert_int_equal(vc_memory_check_arrived(&memories[1], &program, 1, 0,
						 lane->request_count - 1, &report),
			 VC_WRONG);
	assert_non_null(strstr(report.text, "byte 0 of the message"));
	for (uint32_t s = 0; s < VC_SIDES; s++)
		vc_memory_fini(&memories[s]);
	vc_program_fini(&program);
}

static void make_arrivals(const struct vc_program *program)
{
	for (uint32_t s = 0; s < VC_SIDES; s++)
		for (uint32_t q = 0; q < program->qp_count; q++)
			arrivals[s].taken[q] = calloc(program->sides[s].lanes[q].receive_count + 1u,
						      sizeof(struct vc_taken));
}

static void free_arrivals(void)
{
	for (uint32_t s = 0; s < VC_SIDES; s++) {
		for (uint32_t q = 0; q < VC_QP_MAX; q++)
			free(arrivals[s].taken[q]);
		memset(&arrivals[s], 0, sizeof(arrivals[s]));
	}
}

/* The first byte of the first message that an open seed's side has received, or NULL. */
static uint8_t *first_received(struct vc_memory *memory, const struct vc_program *program,
			       uint32_t side)
{
	const struct vc_side *own = &program->sides[side];
	uint32_t skip = program->transport == VC_TRANSPORT_UD ? VC_GRH_BYTES : 0;

	for (uint32_t p = 0; p < own->pool_count; p++) {
		const struct vc_taken *taken = arrivals[side].taken[p];
		const struct vc_request *request;

		if (!own->lanes[p].receive_count || !taken[0].is_filled)
			continue;
		request = &program->sides[taken[0].from]
				   .lanes[taken[0].lane]
				   .requests[taken[0].request];
		if (!vc_op_is_send(request->op) || !request->length)
			continue;
		for (uint32_t i = 0; i < own->lanes[p].receives[0].piece_count; i++) {
			struct vc_piece piece =
				own->pieces[own->lanes[p].receives[0].piece_first + i];

			if (piece.length <= skip) {
				skip -= piece.length;
				continue;
			}
			piece.offset += skip;
			return vc_memory_at(memory, program, side, &piece);
		}
	}
	return NULL;
}

/* A WRITE of several packets to `side`; its last packet never came. */
static const struct vc_request *cut_write(struct vc_memory *memory,
					  const struct vc_program *program, uint32_t side)
{
	uint32_t mtu = vc_mtu_bytes(program->mtu);

	for (uint32_t q = 0; q < program->qp_count; q++) {
		const struct vc_lane *peer = &program->sides[!side].lanes[q];

		for (uint32_t i = 0; i < peer->request_count; i++) {
			const struct vc_request *write = &peer->requests[i];
			uint32_t kept = (write->length - 1) / mtu * mtu;
			uint64_t at;

			if (!vc_op_is_write(write->op) || write->length <= mtu)
				continue;
			at = vc_memory_offset(program, side, &write->remote) + kept;
			memcpy(memory->bytes + at, memory->image + at, write->length - kept);
			return write;
		}
	}
	return NULL;
}

static void open_seeds_are_checked(void **state)
{
	struct vc_memory memories[VC_SIDES] = {0};
	struct vc_program program = {0};
	struct vc_report report = {0};
	struct vc_limits all = limits;
	uint32_t flipped = 0, cut = 0;

	(void)state;
	all.transports = (1u << VC_TRANSPORT_COUNT) - 1;
	all.features = (1u << VC_FEATURE_COUNT) - 1;
	all.srq_sge_max = 16;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		vc_program_draw(&program, &all, seed);
		if (!program.is_open)
			continue;
		make_arrivals(&program);
		for (uint32_t s = 0; s < VC_SIDES; s++)
			assert_int_equal(vc_memory_prepare(&memories[s], &program, s, &report), 0);
		execute_all(memories, &program);
		for (uint32_t s = 0; s < VC_SIDES; s++) {
			const struct vc_request *write = NULL;
			struct vc_report wrong = {0};
			uint8_t *byte;

			if (!vc_program_is_reliable(&program))
				write = cut_write(&memories[s], &program, s);
			assert_int_equal(vc_memory_check_all(&memories[s], &program, s,
							     &arrivals[s], &report),
					 VC_RIGHT);
			byte = first_received(&memories[s], &program, s);
			if (write) {
				cut++;
				byte = vc_memory_at(&memories[s], &program, s, &write->remote);
			}
			if (!byte)
				continue;
			flipped++;
			*byte ^= 1;
			assert_int_equal(vc_memory_check_all(&memories[s], &program, s,
							     &arrivals[s], &wrong),
					 VC_WRONG);
		}
		free_arrivals();
	}
	assert_true(flipped > 10 && cut > 1);
	for (uint32_t s = 0; s < VC_SIDES; s++)
		vc_memory_fini(&memories[s]);
	vc_program_fini(&program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flipped_bit_is_found),
		cmocka_unit_test(a_flipped_byte_of_a_message_is_found),
		cmocka_unit_test(open_seeds_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
