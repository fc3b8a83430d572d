/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a flow should take alone, by calculation, is what it takes alone in the simulation: each
 * operation, sizes at the edges of packets and messages, one switch and two, links of different
 * rates, store and forward and cut through.
 */
#include "fabric/net.h"

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static void check(const struct net *given, uint64_t trunk_bps,
		  const struct roce_fabric_flow_config *flow)
{
	struct net net = *given;
	struct roce_fabric_flow_result r;
	uint32_t a, b, left, right;
	uint64_t took, ideal, ack_ps;

	net_create(&net);
	a = net_host(&net);
	b = net_host(&net);
	left = net_switch(&net);
	net_link(&net, a, left);
	right = left;
	if (trunk_bps) {
		right = net_switch(&net);
		net.link.rate_bps = trunk_bps;
		net_link(&net, left, right);
		net.link = given->link;
	}
	net_link(&net, b, right);
	assert_int_equal(roce_fabric_prepare(net.f), 0);
	net_add(&net, flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	r = net_result(&net, 0);
	assert_int_equal(r.state, ROCE_FABRIC_FLOW_DONE);
	took = r.done_ps - r.started_ps;
	ideal = roce_fabric_flow_ideal_ps(net.f, 0);
	/* The core's clock has whole nanoseconds, and the last ACK may wait for the one before it:
	 * 86 bytes with preamble and gap. */
	ack_ps = trunk_bps ? 86 * 8 * PS_PER_S / trunk_bps : 0;
	if (difference(took, ideal) > 2 * PS_PER_NS + ack_ps + ideal / 1000)
		fail_msg("%s of %llu bytes over %llu Gb/s: took %llu ps, calculated %llu",
			 roce_fabric_operation_str(flow->operation),
			 (unsigned long long)flow->bytes, (unsigned long long)(trunk_bps / GBPS),
			 (unsigned long long)took, (unsigned long long)ideal);
	net_end(&net);
}

static void a_flow_alone_takes_what_was_calculated(void **state)
{
	static const uint64_t sizes[] = {1, 64, 4096, 4097, 100000, 1000000, 5000000};
	static const uint64_t trunks[] = {0, 100 * GBPS, 25 * GBPS, 400 * GBPS};
	static const uint8_t operations[] = {ROCE_FABRIC_WRITE, ROCE_FABRIC_READ, ROCE_FABRIC_SEND};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t k = 0; k < sizeof(trunks) / sizeof(trunks[0]); k++) {
			for (size_t o = 0; o < sizeof(operations); o++) {
				struct roce_fabric_flow_config flow = net_flow(0, 1, sizes[i]);
				struct net net;

				net_defaults(&net);
				flow.operation = operations[o];
				check(&net, trunks[k], &flow);
			}
		}
	}
}

static void many_messages_follow_each_other(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 1000000);
	struct net net;

	(void)state;
	net_defaults(&net);
	flow.message_bytes = 10000;
	flow.depth = 16;
	check(&net, 100 * GBPS, &flow);
	flow.message_bytes = 1000;
	flow.depth = 64;
	check(&net, 0, &flow);
}

static void cut_through_switches_wait_for_no_tail(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 4096);
	struct net net;

	(void)state;
	net_defaults(&net);
	net.sw.is_cut_through = true;
	check(&net, 100 * GBPS, &flow);
	flow.bytes = 500000;
	check(&net, 100 * GBPS, &flow);
}

/* The tag is four bytes of every frame, and of what the headers leave. */
static void tagged_frames_are_longer(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 500000);
	struct roce_fabric_flow_result r[2];

	(void)state;
	for (uint32_t is_tagged = 0; is_tagged < 2; is_tagged++) {
		struct net net;

		net_defaults(&net);
		net.host.is_tagged = is_tagged;
		check(&net, 100 * GBPS, &flow);
		net_star(&net, 2);
		net_add(&net, &flow);
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
		r[is_tagged] = net_result(&net, 0);
		assert_int_equal(net_port(&net, 2, 0).prio_counters[3][ROCE_FABRIC_RX_BYTES],
				 500000 + r[0].packets_sent * (62 + 4 * is_tagged) + 16);
		net_end(&net);
	}
	assert_true(r[1].done_ps > r[0].done_ps);
}

static void paced_flows_have_no_ideal(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 1000);
	struct net net;

	(void)state;
	net_defaults(&net);
	net_star(&net, 2);
	flow.interval_ps = PS_PER_US;
	net_add(&net, &flow);
	assert_int_equal(roce_fabric_flow_ideal_ps(net.f, 0), 0);
	net_end(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flow_alone_takes_what_was_calculated),
		cmocka_unit_test(many_messages_follow_each_other),
		cmocka_unit_test(cut_through_switches_wait_for_no_tail),
		cmocka_unit_test(tagged_frames_are_longer),
		cmocka_unit_test(paced_flows_have_no_ideal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
