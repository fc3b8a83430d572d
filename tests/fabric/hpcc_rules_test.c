/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single rules that the fabric has for the sake of HPCC's ns-3 simulator, each where it shows:
 * whose turn acknowledgements have at a host, windows of queue pairs, and what a nanosecond is.
 */
#include "fabric/fat_tree.h"

/* Hosts 0 and 1 around a switch. Host 1 sends by so many flows at full speed and has one
 * packet of host 0 to acknowledge meanwhile: when that ACK is back. */
static uint64_t answered_ps(uint8_t turn, uint32_t flows)
{
	struct roce_fabric_flow_config flow = hpcc_flow(0, 1, 1000);
	struct roce_fabric_flow_config bulk = hpcc_flow(1, 0, 4000000);
	struct roce_fabric_flow_result r;
	struct net net;

	hpcc_defaults(&net);
	net.host.ack_turn = turn;
	net_star(&net, 2);
	for (uint32_t i = 0; i < flows; i++)
		net_add(&net, &bulk);
	flow.start_ps = 10 * PS_PER_US;
	net_add(&net, &flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	r = net_result(&net, flows);
	net_end(&net);
	return r.done_ps - r.started_ps;
}

static void ack_turn__before_data(void **state)
{
	/* Twice there, twice back, and one frame of 83 ns that is just being sent, at each port. */
	const uint64_t most_ps = (2 * (1000 + 83) + 2 * (1000 + 4) + 2 * 83) * PS_PER_NS;

	(void)state;
	assert_in_range(answered_ps(ROCE_FABRIC_ACK_FIRST, 16), 1, most_ps);
	assert_in_range(answered_ps(ROCE_FABRIC_ACK_ALWAYS, 16), 1, most_ps);
	assert_true(answered_ps(ROCE_FABRIC_ACK_IN_TURN, 16) > most_ps + 8 * 83 * PS_PER_NS);
}

/* Host 2 pauses for ever, so the switch pauses host 1, which sends there: whether host 1 still
 * acknowledges what comes from host 0. */
static bool is_answered_while_paused(uint8_t turn)
{
	struct roce_fabric_flow_config flow = hpcc_flow(0, 1, 1000);
	struct roce_fabric_flow_config bulk = hpcc_flow(1, 2, 40000000);
	struct roce_fabric_flow_result r;
	struct net net;
	uint32_t node[3], sw;

	hpcc_defaults(&net);
	net.sw.buffer_bytes = 1 << 20;
	net.host.ack_turn = turn;
	net_create(&net);
	for (uint32_t i = 0; i < 3; i++) {
		net.host.is_pausing_forever = i == 2;
		node[i] = net_host(&net);
	}
	sw = net_switch(&net);
	for (uint32_t i = 0; i < 3; i++)
		net_link(&net, node[i], sw);
	assert_int_equal(roce_fabric_prepare(net.f), 0);
	net_add(&net, &bulk);
	flow.start_ps = PS_PER_MS;
	net_add(&net, &flow);
	net_run(&net, 3 * PS_PER_MS, ROCE_FABRIC_END_TIME);
	assert_true(net_port(&net, node[1], 0).paused >> 3 & 1);
	r = net_result(&net, 1);
	assert_int_equal(r.bytes_delivered, 1000);
	net_end(&net);
	return r.state == ROCE_FABRIC_FLOW_DONE;
}

static void ack_turn__paused_with_its_priority_or_not(void **state)
{
	(void)state;
	assert_false(is_answered_while_paused(ROCE_FABRIC_ACK_FIRST));
	assert_true(is_answered_while_paused(ROCE_FABRIC_ACK_ALWAYS));
}

/* At 1 Gb/s 1048 bytes are 8384 ns and 60 bytes 480, and each becomes one less. */
static void line__whole_nanoseconds_are_one_less(void **state)
{
	struct roce_fabric_flow_config flow = hpcc_flow(0, 1, 1000);
	struct net net;

	(void)state;
	hpcc_defaults(&net);
	net.link.rate_bps = GBPS;
	net_star(&net, 2);
	net_add(&net, &flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	assert_int_equal(net_result(&net, 0).delivered_ps, 2 * (8383 + 1000) * PS_PER_NS);
	assert_int_equal(net_result(&net, 0).done_ps, 2 * (8383 + 1000 + 479 + 1000) * PS_PER_NS);
	net_end(&net);
}

/* Ten packets go, and then one for each ACK: ten in each round trip, as many as fit into the window
 * begun; with 9,001 bytes too. Without a window the line is full. */
static void window__so_much_in_each_round_trip(void **state)
{
	static const uint32_t windows[] = {10000, 9001, 0};
	/* To the switch, on, and the ACK the same way. */
	const uint64_t round_ps = 2 * (1000 + 83 + 1000 + 4) * PS_PER_NS;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct roce_fabric_flow_config flow = hpcc_flow(0, 1, 1000000);
		struct net net;
		uint64_t ps;

		hpcc_defaults(&net);
		net.host.window_bytes = windows[i];
		net_star(&net, 2);
		net_add(&net, &flow);
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
		ps = net_result(&net, 0).done_ps;
		if (windows[i]) /* a hundred rounds, the last one ends with its tenth packet */
			assert_int_equal(ps, 100 * round_ps + 9 * 83 * PS_PER_NS);
		else
			assert_int_equal(ps, round_ps + 999 * 83 * PS_PER_NS);
		net_end(&net);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ack_turn__before_data),
		cmocka_unit_test(ack_turn__paused_with_its_priority_or_not),
		cmocka_unit_test(window__so_much_in_each_round_trip),
		cmocka_unit_test(line__whole_nanoseconds_are_one_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
