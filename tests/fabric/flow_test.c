/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One flow on a line that it has to itself: its rate and its latency are sums that can be done by
 * hand. The line takes 80 ps a byte at 100 Gb/s.
 */
#include "fabric/measure.h"
#include "fabric/net.h"

#define BYTE_PS	     UINT64_C(80)
#define HEADERS	     UINT64_C(62) /* Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4 */
#define PREAMBLE     UINT64_C(8)
#define PREAMBLE_GAP UINT64_C(20)
#define RETH	     UINT64_C(16)

/* The last byte is there a message's frames after the first; of these, all but the first have the
 * same length. */
static void one_rc_write__goodput_is_that_of_the_headers(void **state)
{
	static const uint32_t mtus[] = {1024, 4096};
	const uint64_t bytes = UINT64_C(64) << 20;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct roce_fabric_flow_config flow = net_flow(0, 1, bytes);
		struct roce_fabric_flow_result r;
		struct net net;
		double goodput, expected, wire;
		char what[96], range[96];

		net_defaults(&net);
		net_star(&net, 2);
		flow.path_mtu = mtus[i];
		net_add(&net, &flow);
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
		r = net_result(&net, 0);
		assert_int_equal(r.state, ROCE_FABRIC_FLOW_DONE);
		assert_int_equal(r.bytes_delivered, bytes);
		assert_int_equal(r.bytes_sent, bytes);
		assert_int_equal(r.packets_sent, bytes / mtus[i]);
		assert_int_equal(r.packets_repeated, 0);
		goodput = (double)bytes * 8 / ((double)(r.delivered_ps - r.started_ps) / 1e12);
		expected = 100e9 * mtus[i] / (double)(mtus[i] + HEADERS + PREAMBLE_GAP);
		snprintf(what, sizeof(what), "one flow on 100G, path MTU %u: goodput", mtus[i]);
		snprintf(range, sizeof(range), "%u/%u of the line, %.3f Gb/s, within 0.1%%",
			 mtus[i], (unsigned)(mtus[i] + HEADERS + PREAMBLE_GAP), expected * 1e-9);
		measured(goodput < expected && goodput > expected * 0.999, what, range, "%.3f Gb/s",
			 goodput * 1e-9);
		wire = goodput * (double)(mtus[i] + HEADERS + PREAMBLE_GAP) / mtus[i];
		snprintf(what, sizeof(what), "the same, path MTU %u: on the wire", mtus[i]);
		measured(wire > 0.98 * 100e9, what, "at least 98% of the line", "%.2f%%",
			 wire * 1e-9);
		assert_int_equal(net_drops(&net), 0);
		net_end(&net);
	}
}

/* Twice the line, twice the cable, the adapters and the switch. */
static void write_64__latency_is_the_sum_of_its_parts(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 64);
	struct roce_fabric_flow_result r;
	struct net net;
	const uint64_t line = (PREAMBLE + HEADERS + RETH + 64) * BYTE_PS;
	const uint64_t ack_line = (PREAMBLE + HEADERS + 4) * BYTE_PS;
	uint64_t one_way, back;
	char range[96];

	(void)state;
	net_defaults(&net);
	net_star(&net, 2);
	flow.start_ps = 12345678;
	net_add(&net, &flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	r = net_result(&net, 0);
	one_way = net.host.tx_delay_ps + 2 * line + 2 * net.link.delay_ps + net.sw.latency_ps +
		  net.host.rx_delay_ps;
	back = one_way + 2 * ack_line - 2 * line;
	assert_int_equal(r.started_ps, flow.start_ps);
	snprintf(range, sizeof(range), "the sum of its parts, %.3f ns, below 10 us",
		 (double)one_way * 1e-3);
	measured(r.delivered_ps - r.started_ps == one_way, "64-byte WRITE, one switch, 100G", range,
		 "%.3f ns", (double)(r.delivered_ps - r.started_ps) * 1e-3);
	assert_int_equal(r.done_ps - r.delivered_ps, back);
	assert_true(one_way < 10 * PS_PER_US);
	assert_int_equal(r.messages.count, 1);
	assert_int_equal(r.messages.max_ps, one_way + back);
	net_end(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_rc_write__goodput_is_that_of_the_headers),
		cmocka_unit_test(write_64__latency_is_the_sum_of_its_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
