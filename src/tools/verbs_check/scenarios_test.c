/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * That a scenario is what its name says: its requests, and that the memory they use is nobody
 * else's. What two devices make of them is shown by running them (tests/programs, tests/interop).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tools/verbs_check/claim_test.h"
#include "tools/verbs_check/scenario.h"

enum { CLIENT = 1, PAGE_BYTES = 4096 };

static const struct vc_limits limits = {
	.size_max = 1u << 20,
	.qp_max = 4,
	.mtu_min = IBV_MTU_256,
	.mtu_max = IBV_MTU_1024,
	.sge_max = 16,
	.sge_read_max = 16,
	.inline_max = 128,
	.depth_max = 64,
	.cqe_max = 4096,
	.rd_atomic_max = 16,
	.timeout = 14,
	.transports = (1u << VC_TRANSPORT_COUNT) - 1,
	.features = (1u << VC_FEATURE_COUNT) - 1,
	.srq_sge_max = 16,
	.atomic_write = true,
	.windows = true,
	.atomics = true,
};

static const struct vc_scenario *find(const char *name)
{
	const struct vc_scenario *scenario;

	for (uint32_t i = 0; (scenario = vc_scenario_at(i)); i++)
		if (strcmp(scenario->name, name) == 0)
			return scenario;
	fail_msg("no scenario %s", name);
	return NULL;
}

static void write_named(struct vc_program *program, const char *name)
{
	vc_scenario_write(program, &limits, find(name), 1);
}

static void names_are_distinct_and_begin_with_the_transport(void **state)
{
	const struct vc_scenario *scenario, *other;

	(void)state;
	for (uint32_t i = 0; (scenario = vc_scenario_at(i)); i++) {
		const char *transport = vc_transport_str(scenario->transport);

		assert_memory_equal(scenario->name, transport, strlen(transport));
		assert_int_equal(scenario->name[strlen(transport)], '/');
		for (uint32_t j = 0; j < i && (other = vc_scenario_at(j)); j++)
			assert_string_not_equal(scenario->name, other->name);
	}
}

static uint32_t count_named(const char *list)
{
	struct vc_scenario_set set;
	uint32_t count = 0;
	char bad[32];

	assert_true(vc_scenarios_parse(list, &set, bad, sizeof(bad)));
	assert_false(vc_scenario_set_is_empty(&set));
	for (uint32_t i = 0; vc_scenario_at(i); i++)
		count += vc_scenario_set_has(&set, i);
	return count;
}

static void lists_of_names_are_parsed(void **state)
{
	struct vc_scenario_set set = {0};
	char bad[32] = "";
	uint32_t all = 0;

	(void)state;
	while (vc_scenario_at(all))
		all++;
	assert_int_equal(count_named("all"), all);
	assert_int_equal(count_named("rc") + count_named("uc") + count_named("ud"), all);
	assert_int_equal(count_named("rc/send"), 1); /* and not rc/send-imm */
	assert_int_equal(count_named("rc/send,ud/send"), 2);
	assert_false(vc_scenarios_parse("rc/send,rc/sen", &set, bad, sizeof(bad)));
	assert_string_equal(bad, "rc/sen");
	assert_false(vc_scenarios_parse("rc/send,", &set, bad, sizeof(bad)));
	assert_true(vc_scenario_set_is_empty(&set));
}

static void what_devices_lack_is_refused(void **state)
{
	struct vc_limits less = limits;
	const struct vc_scenario *scenario;

	(void)state;
	for (uint32_t i = 0; (scenario = vc_scenario_at(i)); i++)
		assert_null(vc_scenario_refusal(scenario, &limits));
	less.windows = false;
	assert_non_null(vc_scenario_refusal(find("rc/send-inv"), &less));
	assert_null(vc_scenario_refusal(find("rc/window-type-1"), &less));
	less.features &= ~(1u << VC_FEATURE_WINDOW1);
	assert_non_null(vc_scenario_refusal(find("rc/window-type-1"), &less));
	less.atomics = false;
	assert_non_null(vc_scenario_refusal(find("rc/bad-rkey-atomic"), &less));
	less.atomic_write = false;
	assert_non_null(vc_scenario_refusal(find("rc/atomic-write"), &less));
	less.rd_atomic_max = 15;
	assert_non_null(vc_scenario_refusal(find("rc/reads-outstanding"), &less));
	less.transports = 1u << VC_TRANSPORT_RC;
	assert_non_null(vc_scenario_refusal(find("uc/send"), &less));
	assert_null(vc_scenario_refusal(find("rc/send"), &less));
	less = limits;
	less.quirks[CLIENT] = VC_QUIRK_RXE;
	assert_non_null(vc_scenario_refusal(find("rc/misaligned-atomic"), &less));
}

static void claim_side(const struct vc_program *program, uint32_t side)
{
	uint8_t *owners = calloc(1, program->sides[side].memory_bytes);

	assert_non_null(owners);
	for (uint32_t q = 0; q < program->qp_count; q++) {
		const struct vc_lane *lane = &program->sides[side].lanes[q];
		const struct vc_lane *peer = &program->sides[!side].lanes[q];

		for (uint32_t i = 0; i < lane->receive_count; i++)
			claim_list(owners, program, side, lane->receives[i].piece_first,
				   lane->receives[i].piece_count);
		for (uint32_t i = 0; i < lane->request_count; i++)
			if (!(lane->requests[i].flags & VC_FORWARD))
				claim_list(owners, program, side, lane->requests[i].piece_first,
					   lane->requests[i].piece_count);
		for (uint32_t i = 0; i < peer->request_count; i++)
			if (!vc_op_is_send(peer->requests[i].op) &&
			    !vc_op_is_atomic(peer->requests[i].op))
				claim_piece(owners, program, side, &peer->requests[i].remote);
		for (uint32_t w = 0; w < lane->window_count; w++)
			assert_true(lane->window_used[w] <= lane->windows[w].length);
	}
	free(owners);
}

static void memory_has_one_owner(void **state)
{
	struct vc_program program = {0};
	const struct vc_scenario *scenario;

	(void)state;
	for (uint32_t i = 0; (scenario = vc_scenario_at(i)); i++) {
		if (scenario->fault != VC_FAULT_NONE) /* whose target may be anywhere */
			continue;
		vc_scenario_write(&program, &limits, scenario, 1);
		for (uint32_t s = 0; s < VC_SIDES; s++)
			claim_side(&program, s);
	}
	vc_program_fini(&program);
}

/* All are made of their operations, each of them, and nothing but what ends them beside. */
static void requests_are_of_the_operations_named(void **state)
{
	struct vc_program program = {0};
	const struct vc_scenario *scenario;

	(void)state;
	for (uint32_t i = 0; (scenario = vc_scenario_at(i)); i++) {
		uint32_t seen = 0;
		uint32_t more = 1u << VC_OP_SEND_IMM | 1u << VC_OP_WRITE; /* the last; a window */

		if (scenario->fault != VC_FAULT_NONE)
			continue;
		vc_scenario_write(&program, &limits, scenario, 1);
		assert_int_equal(program.transport, scenario->transport);
		for (uint32_t q = 0; q < program.qp_count; q++)
			for (uint32_t r = 0; r < program.sides[CLIENT].lanes[q].request_count; r++)
				seen |= 1u << program.sides[CLIENT].lanes[q].requests[r].op;
		assert_int_equal(seen & ~(scenario->ops | more), 0);
		assert_int_not_equal(seen & scenario->ops, 0);
	}
	vc_program_fini(&program);
}

static void faults_are_those_named(void **state)
{
	struct vc_program program = {0};
	const struct vc_scenario *scenario;

	(void)state;
	for (uint32_t i = 0; (scenario = vc_scenario_at(i)); i++) {
		const struct vc_lane *lane = &program.sides[CLIENT].lanes[0];
		uint32_t failed = 0;

		if (scenario->fault == VC_FAULT_NONE)
			continue;
		vc_scenario_write(&program, &limits, scenario, 1);
		assert_int_equal(program.fault, scenario->fault);
		assert_int_equal(program.requester, CLIENT);
		while (lane->requests[failed].status == IBV_WC_SUCCESS)
			failed++;
		assert_int_equal(lane->requests[failed].status,
				 vc_fault_requester_status(scenario->fault));
		assert_true(scenario->ops & (1u << lane->requests[failed].op));
	}
	vc_program_fini(&program);
}

static void psns_wrap(void **state)
{
	static const char *const names[] = {"rc/psn-wrap", "rc/psn-wrap-atomic", "uc/psn-wrap",
					    "ud/psn-wrap"};
	struct vc_program program = {0};

	(void)state;
	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		write_named(&program, names[n]);
		for (uint32_t q = 0; q < program.qp_count; q++) {
			const struct vc_lane *lane = &program.sides[CLIENT].lanes[q];
			uint32_t packets = 0;

			for (uint32_t i = 0; i < lane->request_count; i++)
				packets += (lane->requests[i].length + 1023) / 1024;
			assert_true(lane->psn + packets > 0x1000000);
		}
	}
	vc_program_fini(&program);
}

static bool crosses(const struct vc_program *program, uint32_t side, const struct vc_piece *piece)
{
	uint64_t first = program->sides[side].mrs[piece->mr].base + piece->offset;

	return piece->length && first / PAGE_BYTES != (first + piece->length - 1) / PAGE_BYTES;
}

static void pages_are_crossed_on_both_sides(void **state)
{
	struct vc_program program = {0};
	const struct vc_lane *lane = &program.sides[CLIENT].lanes[0];

	(void)state;
	write_named(&program, "rc/page-crossing");
	for (uint32_t i = 0; i + 1 < lane->request_count; i++) { /* but for the last SEND */
		const struct vc_request *request = &lane->requests[i];

		assert_true(crosses(&program, CLIENT,
				    &program.sides[CLIENT].pieces[request->piece_first]));
		if (!vc_op_is_send(request->op))
			assert_true(crosses(&program, !CLIENT, &request->remote));
	}
	vc_program_fini(&program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_distinct_and_begin_with_the_transport),
		cmocka_unit_test(lists_of_names_are_parsed),
		cmocka_unit_test(what_devices_lack_is_refused),
		cmocka_unit_test(memory_has_one_owner),
		cmocka_unit_test(requests_are_of_the_operations_named),
		cmocka_unit_test(faults_are_those_named),
		cmocka_unit_test(psns_wrap),
		cmocka_unit_test(pages_are_crossed_on_both_sides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
