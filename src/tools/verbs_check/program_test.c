/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What both sides rely on: the same seed gives the same program, no queue can fill up with
 * unsignalled requests, and no two requests share memory unless they say so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tools/verbs_check/claim_test.h"
#include "tools/verbs_check/open_program.h"
#include "tools/verbs_check/program.h"

enum { SEEDS = 400 };

static const struct vc_limits limits = {
	.ops = 96,
	.size_max = 1u << 20,
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
	.fault_every = 8,
	.timeout = 14,
	.transports = (1u << VC_TRANSPORT_COUNT) - 1,
	.features = (1u << VC_FEATURE_COUNT) - 1,
	.srq_sge_max = 16,
	.dm_max = 1u << 20,
	.atomic_write = true,
	.windows = true,
	.atomics = true,
	.events = true,
};

static uint64_t hash_program(const struct vc_program *program)
{
	uint64_t hash = program->byte_count;

	for (uint32_t s = 0; s < VC_SIDES; s++) {
		hash = vc_mix(hash, program->sides[s].memory_bytes);
		for (uint32_t q = 0; q < program->qp_count; q++) {
			const struct vc_lane *lane = &program->sides[s].lanes[q];

			hash = vc_mix(hash, lane->psn);
			for (uint32_t i = 0; i < lane->request_count; i++) {
				const struct vc_request *request = &lane->requests[i];

				hash = vc_mix(hash, request->op);
				hash = vc_mix(hash, request->flags);
				hash = vc_mix(hash, request->length);
				hash = vc_mix(hash, request->payload_key);
				hash = vc_mix(hash, request->remote.offset);
				hash = vc_mix(hash, request->status);
			}
		}
	}
	return hash;
}

/* The value is the same for every compiler and machine; a new one means new programs for all. */
static void same_seed_same_program(void **state)
{
	struct vc_program program = {0};
	uint64_t all = 0;

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		uint64_t first;

		vc_program_draw(&program, &limits, seed);
		first = hash_program(&program);
		vc_program_draw(&program, &limits, seed + 1);
		assert_int_not_equal(first, hash_program(&program));
		vc_program_draw(&program, &limits, seed);
		assert_int_equal(first, hash_program(&program));
		all = vc_mix(all, first);
	}
	vc_program_fini(&program);
	assert_int_equal(all, 0xa95e0d1ee776caec);
}

static void check_signalling(const struct vc_lane *lane)
{
	uint32_t run = 0;

	for (uint32_t i = 0; i < lane->request_count; i++) {
		run = lane->requests[i].completes ? 0 : run + 1;
		assert_true(run < lane->send_depth);
	}
	if (lane->phases[0].request_await)
		assert_true(lane->requests[lane->phases[0].request_await - 1].completes);
}

static void queues_never_fill_with_unsignalled(void **state)
{
	struct vc_program program = {0};

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		vc_program_draw(&program, &limits, seed);
		for (uint32_t s = 0; s < VC_SIDES; s++)
			for (uint32_t q = 0; q < program.qp_count; q++)
				check_signalling(&program.sides[s].lanes[q]);
	}
	vc_program_fini(&program);
}

/* Whoever takes a message has room for it, and no queue has fewer receives than messages. */
static void check_pool(const struct vc_program *program, uint32_t side, uint32_t pool)
{
	const struct vc_lane *lane = &program->sides[side].lanes[pool];
	uint32_t extra = program->transport == VC_TRANSPORT_UD ? VC_GRH_BYTES : 0;
	uint32_t count = 0;

	for (uint32_t from = 0; from < VC_SIDES; from++) {
		for (uint32_t q = 0; q < program->qp_count; q++) {
			const struct vc_lane *sender = &program->sides[from].lanes[q];

			for (uint32_t i = 0; i < sender->request_count; i++) {
				const struct vc_request *request = &sender->requests[i];
				uint32_t to = program->transport == VC_TRANSPORT_XRC ? pool : q;

				if (program->sides[side].lanes[to].pool != pool ||
				    program->transport == VC_TRANSPORT_UD ||
				    !vc_open_is_for(program, from, request, q, side, to))
					continue;
				assert_true(count < lane->receive_count);
				if (vc_op_is_send(request->op))
					assert_true(lane->receives[count].capacity >=
						    request->length + extra);
				count++;
			}
		}
	}
}

static void open_seeds_have_receives_for_all(void **state)
{
	struct vc_program program = {0};
	uint32_t seen[VC_TRANSPORT_COUNT] = {0};

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		vc_program_draw(&program, &limits, seed);
		seen[program.transport]++;
		for (uint32_t s = 0; program.is_open && s < VC_SIDES; s++)
			for (uint32_t p = 0; p < program.sides[s].pool_count; p++)
				check_pool(&program, s, p);
	}
	for (uint32_t t = 0; t < VC_TRANSPORT_COUNT; t++)
		assert_int_not_equal(seen[t], 0);
	vc_program_fini(&program);
}

static void claim_lane(uint8_t *owners, const struct vc_program *program, uint32_t side,
		       uint32_t qp)
{
	const struct vc_lane *lane = &program->sides[side].lanes[qp];
	const struct vc_lane *peer = &program->sides[!side].lanes[qp];

	for (uint32_t i = 0; i < lane->receive_count; i++)
		claim_list(owners, program, side, lane->receives[i].piece_first,
			   lane->receives[i].piece_count);
	for (uint32_t i = 0; i < lane->request_count; i++)
		if (!(lane->requests[i].flags & VC_FORWARD))
			claim_list(owners, program, side, lane->requests[i].piece_first,
				   lane->requests[i].piece_count);
	for (uint32_t i = 0; i < peer->request_count; i++) {
		const struct vc_request *request = &peer->requests[i];
		bool shared = (request->flags & VC_SUPERSEDED) ||
			      (request->op == VC_OP_READ && (request->flags & VC_READ_BACK));

		if (!vc_op_is_send(request->op) && !vc_op_is_atomic(request->op) && !shared &&
		    request->status == IBV_WC_SUCCESS)
			claim_piece(owners, program, side, &request->remote);
	}
}

static void memory_has_one_owner(void **state)
{
	struct vc_program program = {0};

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		vc_program_draw(&program, &limits, seed);
		for (uint32_t s = 0; s < VC_SIDES; s++) {
			const struct vc_side *side = &program.sides[s];
			uint8_t *owners = calloc(1, side->memory_bytes);

			assert_non_null(owners);
			for (uint32_t q = 0; q < program.qp_count; q++)
				claim_lane(owners, &program, s, q);
			for (uint32_t c = 0; c < side->cell_count; c++)
				claim_piece(owners, &program, s, &side->cells[c].at);
			free(owners);
		}
	}
	vc_program_fini(&program);
}

static void error_seeds_have_one_fault(void **state)
{
	struct vc_program program = {0};
	uint32_t seen[VC_FAULT_COUNT] = {0};

	(void)state;
	for (uint64_t seed = 7; seed < 16 * SEEDS; seed += 8) {
		const struct vc_lane *lane;
		uint32_t failed = 0;

		vc_program_draw(&program, &limits, seed);
		seen[program.fault]++;
		lane = &program.sides[program.requester].lanes[0];
		for (uint32_t i = 0; i < lane->request_count; i++) {
			enum ibv_wc_status status = lane->requests[i].status;

			if (status != IBV_WC_SUCCESS && status != IBV_WC_WR_FLUSH_ERR)
				failed++;
			/* Once something failed, nothing succeeds. */
			if (failed)
				assert_int_not_equal(status, IBV_WC_SUCCESS);
		}
		assert_int_equal(failed, program.fault != VC_FAULT_LOCAL_ERR);
	}
	assert_int_equal(seen[VC_FAULT_NONE], 0);
	for (uint32_t f = 1; f < VC_FAULT_COUNT; f++)
		assert_int_not_equal(seen[f], 0);
	vc_program_fini(&program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_seed_same_program),
		cmocka_unit_test(queues_never_fill_with_unsignalled),
		cmocka_unit_test(open_seeds_have_receives_for_all),
		cmocka_unit_test(memory_has_one_owner),
		cmocka_unit_test(error_seeds_have_one_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
