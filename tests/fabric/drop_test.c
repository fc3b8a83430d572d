/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames that go no further: each reason is made to happen alone, is counted where it happened, and
 * the flow ends as RC says: it comes again when it can, and gives up when it cannot.
 */
#include "fabric/net.h"

#include <errno.h>

#define RETRY_EXCEEDED 12u /* status of the completion */

/* Hosts 0 and 1 on switch 2: what the reason has dropped at the ports of the switch. */
static uint64_t counted(const struct net *net, enum roce_fabric_port_counter counter)
{
	return net_port(net, 2, 0).port_counters[counter] +
	       net_port(net, 2, 1).port_counters[counter];
}

/* One small flow that is given up soon. */
static struct roce_fabric_flow_result run_short(struct net *net)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 100000);

	flow.timeout = 5; /* 131 us */
	flow.retry_cnt = 1;
	net_add(net, &flow);
	assert_int_not_equal(roce_fabric_run(net->f, PS_PER_S), ROCE_FABRIC_END_TIME);
	return net_result(net, 0);
}

static void mtu__longer_frames_are_dropped(void **state)
{
	struct roce_fabric_flow_result r;
	struct net net;

	(void)state;
	net_defaults(&net);
	net.sw.port.mtu_bytes = 1500;
	net_star(&net, 2);
	r = run_short(&net);
	assert_int_equal(r.state, ROCE_FABRIC_FLOW_FAILED);
	assert_int_equal(r.status, RETRY_EXCEEDED);
	assert_true(net_totals(&net).drops[ROCE_FABRIC_DROP_MTU] > 0);
	assert_int_equal(net_drops(&net), net_totals(&net).drops[ROCE_FABRIC_DROP_MTU]);
	assert_int_equal(counted(&net, ROCE_FABRIC_PORT_RX_OVERSIZE), net_drops(&net));
	net_end(&net);
}

/* A filter for RoCE over IPv6 lets IPv4 pass. */
static void acl__of_one_family(void **state)
{
	const struct roce_fabric_acl_rule rule = {
		.in_port = ROCE_FABRIC_PORT_ANY, .family = 6, .udp_dport = 4791};

	(void)state;
	for (uint32_t is_v6 = 0; is_v6 < 2; is_v6++) {
		struct roce_fabric_flow_result r;
		struct net net;
		uint32_t sw;

		net_defaults(&net);
		net.sw.acl = &rule;
		net.sw.acl_count = 1;
		net_create(&net);
		for (uint8_t i = 0; i < 2; i++) {
			const struct roce_gid v6 = {{[0] = 0xfd, [15] = (uint8_t)(i + 1)}};

			if (is_v6)
				net.host.gid = v6;
			net_host(&net);
		}
		sw = net_switch(&net);
		net_link(&net, 0, sw);
		net_link(&net, 1, sw);
		assert_int_equal(roce_fabric_prepare(net.f), 0);
		r = run_short(&net);
		assert_int_equal(r.state, is_v6 ? ROCE_FABRIC_FLOW_FAILED : ROCE_FABRIC_FLOW_DONE);
		assert_int_equal(counted(&net, ROCE_FABRIC_PORT_RX_ACL_DISCARDS), net_drops(&net));
		assert_int_equal(net_drops(&net) > 0, is_v6);
		net_end(&net);
	}
}

/* By source prefix, at one port. */
static void acl__of_a_prefix(void **state)
{
	struct roce_fabric_acl_rule rule = {.in_port = 0, .src_bits = 96 + 24};
	const struct roce_gid mine = {{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 77}};
	const struct roce_gid other = {{[10] = 0xff, [11] = 0xff, [12] = 10, [14] = 1, [15] = 1}};

	(void)state;
	for (uint32_t is_hit = 0; is_hit < 2; is_hit++) {
		struct net net;

		rule.src = is_hit ? mine : other;
		net_defaults(&net);
		net.sw.acl = &rule;
		net.sw.acl_count = 1;
		net_star(&net, 2);
		assert_int_equal(run_short(&net).state,
				 is_hit ? ROCE_FABRIC_FLOW_FAILED : ROCE_FABRIC_FLOW_DONE);
		net_end(&net);
	}
}

/* Two switches that send a frame to each other until its time is over. */
static void ttl__ends_a_loop(void **state)
{
	struct roce_fabric_flow_config flow;
	struct net net;
	uint32_t port;

	(void)state;
	net_defaults(&net);
	net_create(&net);
	for (uint32_t i = 0; i < 2; i++)
		net_host(&net);
	for (uint32_t i = 0; i < 2; i++)
		net_switch(&net);
	net_link(&net, 0, 2);
	net_link(&net, 1, 3);
	net_link(&net, 2, 3);
	port = 1; /* back to where it came from; host 1 is behind port 0 */
	assert_int_equal(roce_fabric_route_static(net.f, 3, 1, &port, 1), 0);
	assert_int_equal(roce_fabric_prepare(net.f), 0);
	flow = net_flow(0, 1, 64);
	flow.timeout = 0;
	net_add(&net, &flow);
	net_run(&net, PS_PER_MS, ROCE_FABRIC_END_TIME);
	assert_int_equal(net_totals(&net).drops[ROCE_FABRIC_DROP_TTL], 1);
	assert_int_equal(net_totals(&net).packet_hops, 64); /* as many as its hop limit */
	assert_int_equal(net_result(&net, 0).state, ROCE_FABRIC_FLOW_RUNNING);
	net_end(&net);
}

/* The only link to the other switch goes, and routes that follow know of no way. */
static void route__none_left(void **state)
{
	struct net net;

	(void)state;
	net_defaults(&net);
	net_create(&net);
	for (uint32_t i = 0; i < 2; i++)
		net_host(&net);
	for (uint32_t i = 0; i < 2; i++)
		net_switch(&net);
	net_link(&net, 0, 2);
	net_link(&net, 1, 3);
	net_link(&net, 2, 3);
	assert_int_equal(roce_fabric_prepare(net.f), 0);
	assert_int_equal(roce_fabric_schedule_link(net.f, 2, 1, false, 1), 0);
	net_run(&net, 2, ROCE_FABRIC_END_TIME);
	assert_int_equal(roce_fabric_route(net.f, ROCE_FABRIC_ROUTING_SHORTEST), -EINVAL);
	assert_int_equal(roce_fabric_fault(net.f, NULL, NULL, NULL), ROCE_FABRIC_FAULT_UNREACHABLE);
	assert_int_equal(run_short(&net).state, ROCE_FABRIC_FLOW_FAILED);
	assert_true(net_totals(&net).drops[ROCE_FABRIC_DROP_NO_ROUTE] > 0);
	assert_int_equal(counted(&net, ROCE_FABRIC_PORT_RX_NO_ROUTE), net_drops(&net));
	net_end(&net);
}

/* A static route that leads to the wrong host: an adapter drops what is not for it. */
static void route__to_a_stranger(void **state)
{
	struct net net;
	uint32_t sw, port = 2;

	(void)state;
	net_defaults(&net);
	net_create(&net);
	for (uint32_t i = 0; i < 2; i++)
		net_host(&net);
	sw = net_switch(&net);
	net_host(&net); /* node 3, the stranger */
	for (uint32_t i = 0; i < 4; i++)
		if (i != sw)
			net_link(&net, i, sw);
	assert_int_equal(roce_fabric_route_static(net.f, sw, 1, &port, 1), 0);
	assert_int_equal(roce_fabric_prepare(net.f), 0);
	assert_int_equal(run_short(&net).state, ROCE_FABRIC_FLOW_FAILED);
	assert_true(net_totals(&net).drops[ROCE_FABRIC_DROP_STRAY] > 0);
	assert_int_equal(net_port(&net, 3, 0).port_counters[ROCE_FABRIC_PORT_RX_NO_ROUTE],
			 net_drops(&net));
	net_end(&net);
}

/* A lossy class whose queue may grow beyond the pool: then the pool is the limit. */
static void lossy__finds_the_pool_full(void **state)
{
	struct roce_fabric_flow_config flow;
	struct net net;

	(void)state;
	net_defaults(&net);
	net.sw.buffer_bytes = 300000;
	net.sw.port.buffer[0].egress_alpha = ROCE_FABRIC_ALPHA_ONE << 8;
	net_star(&net, 3);
	for (uint32_t i = 0; i < 2; i++) {
		flow = net_flow(i, 2, 1 << 20);
		flow.prio = 0;
		flow.dscp = 0;
		flow.timeout = 8;
		net_add(&net, &flow);
	}
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	assert_true(net_totals(&net).drops[ROCE_FABRIC_DROP_BUFFER] > 0);
	assert_int_equal(net_port(&net, 3, 0).prio_counters[0][ROCE_FABRIC_RX_DISCARDS] +
				 net_port(&net, 3, 1).prio_counters[0][ROCE_FABRIC_RX_DISCARDS],
			 net_drops(&net));
	net_end(&net);
}

static void lossy__drops_above_the_egress_limit(void **state)
{
	struct roce_fabric_flow_config flow;
	struct roce_fabric_port_view out;
	struct net net;

	(void)state;
	net_defaults(&net);
	net.sw.buffer_bytes = 2000000;
	net_star(&net, 3);
	for (uint32_t i = 0; i < 2; i++) {
		flow = net_flow(i, 2, 2 << 20);
		flow.prio = 0;
		flow.dscp = 0;
		flow.timeout = 8;
		net_add(&net, &flow);
	}
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	out = net_port(&net, 3, 2);
	assert_true(out.prio_counters[0][ROCE_FABRIC_TX_DISCARDS] > 0);
	assert_int_equal(net_drops(&net), out.prio_counters[0][ROCE_FABRIC_TX_DISCARDS]);
	assert_int_equal(net_totals(&net).flows_done, 2);
	assert_int_equal(net_totals(&net).pause_frames, 0);
	assert_true(net_result(&net, 0).packets_repeated + net_result(&net, 1).packets_repeated >
		    0);
	net_end(&net);
}

/* ---- links ---- */

static void link__down_and_up_again(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 4 << 20);
	struct roce_fabric_flow_result r;
	struct net net;

	(void)state;
	net_defaults(&net);
	net_star(&net, 2);
	flow.timeout = 5;
	net_add(&net, &flow);
	assert_int_equal(roce_fabric_schedule_link(net.f, 1, 0, false, 100 * PS_PER_US), 0);
	assert_int_equal(roce_fabric_schedule_link(net.f, 1, 0, true, 200 * PS_PER_US), 0);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	r = net_result(&net, 0);
	assert_int_equal(r.state, ROCE_FABRIC_FLOW_DONE);
	assert_true(r.packets_repeated > 0);
	assert_true(net_totals(&net).drops[ROCE_FABRIC_DROP_LINK_DOWN] > 0);
	assert_int_equal(net_drops(&net), net_totals(&net).drops[ROCE_FABRIC_DROP_LINK_DOWN]);
	assert_int_equal(net_port(&net, 2, 1).port_counters[ROCE_FABRIC_PORT_LINK_DOWN_EVENTS], 1);
	assert_true(net_port(&net, 2, 1).is_up);
	net_end(&net);
}

/* Two ways; one goes, and routes that are computed anew know it. */
static void link__routes_around_it(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 4 << 20);
	uint32_t ports[4];
	struct net net;

	(void)state;
	net_defaults(&net);
	net_create(&net);
	for (uint32_t i = 0; i < 2; i++)
		net_host(&net);
	for (uint32_t i = 0; i < 4; i++)
		net_switch(&net); /* leaves 2 and 3, spines 4 and 5 */
	net_link(&net, 0, 2);
	net_link(&net, 1, 3);
	for (uint32_t i = 0; i < 4; i++)
		net_link(&net, 2 + i / 2, 4 + i % 2);
	assert_int_equal(roce_fabric_prepare(net.f), 0);
	assert_int_equal(roce_fabric_next_hops(net.f, 2, 1, ports, 4), 2);
	flow.timeout = 5;
	net_add(&net, &flow);
	assert_int_equal(roce_fabric_schedule_link(net.f, 2, 1, false, 50 * PS_PER_US), 0);
	net_run(&net, 60 * PS_PER_US, ROCE_FABRIC_END_TIME);
	assert_int_equal(roce_fabric_route(net.f, ROCE_FABRIC_ROUTING_SHORTEST), 0);
	assert_int_equal(roce_fabric_next_hops(net.f, 2, 1, ports, 4), 1);
	assert_int_equal(ports[0], 2);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	assert_int_equal(net_result(&net, 0).state, ROCE_FABRIC_FLOW_DONE);
	net_end(&net);
}

/* Of 4,000 frames one in a hundred: RC brings them all. */
static void faults__loss_is_made_good(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 16 << 20);
	struct roce_fabric_totals totals;
	struct net net;

	(void)state;
	net_defaults(&net);
	net.link.faults[0] = (struct roce_fabric_faults){
		.loss_ppm = 5000, .duplicate_ppm = 2000, .bit_errors_per_1e15 = 100000000};
	net_star(&net, 2);
	flow.timeout = 8;
	net_add(&net, &flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	totals = net_totals(&net);
	assert_true(totals.drops[ROCE_FABRIC_DROP_LINK_LOSS] > 0);
	assert_true(totals.drops[ROCE_FABRIC_DROP_BIT_ERROR] > 0);
	assert_int_equal(counted(&net, ROCE_FABRIC_PORT_RX_CRC_ERRORS),
			 totals.drops[ROCE_FABRIC_DROP_BIT_ERROR]);
	assert_int_equal(net_result(&net, 0).bytes_delivered, 16 << 20);
	net_end(&net);
}

/* The last packet, or its ACK, is lost: the flow ends a timeout later. */
static void faults__case_067_a_lost_end_costs_a_timeout(void **state)
{
	const uint64_t timeout_ps = (UINT64_C(4096) << 8) * PS_PER_NS;

	(void)state;
	for (uint32_t is_ack = 0; is_ack < 2; is_ack++) {
		struct roce_fabric_flow_config flow = net_flow(0, 1, 64);
		struct roce_fabric_flow_result r;
		struct net net;

		net_defaults(&net);
		net_star(&net, 2);
		flow.timeout = 8;
		net_add(&net, &flow);
		/* The link is down while the packet, or the ACK, is on its way. */
		assert_int_equal(roce_fabric_schedule_link(net.f, 1, 0, false,
							   (is_ack ? 1800u : 1u) * PS_PER_NS),
				 0);
		assert_int_equal(roce_fabric_schedule_link(net.f, 1, 0, true, 100 * PS_PER_US), 0);
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
		r = net_result(&net, 0);
		assert_int_equal(r.packets_sent, 2);
		assert_int_equal(r.packets_repeated, 1);
		assert_in_range(r.done_ps, timeout_ps, timeout_ps + 20 * PS_PER_US);
		assert_int_equal(net_drops(&net), 1);
		net_end(&net);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mtu__longer_frames_are_dropped),
		cmocka_unit_test(acl__of_one_family),
		cmocka_unit_test(acl__of_a_prefix),
		cmocka_unit_test(ttl__ends_a_loop),
		cmocka_unit_test(route__none_left),
		cmocka_unit_test(route__to_a_stranger),
		cmocka_unit_test(lossy__finds_the_pool_full),
		cmocka_unit_test(lossy__drops_above_the_egress_limit),
		cmocka_unit_test(link__down_and_up_again),
		cmocka_unit_test(link__routes_around_it),
		cmocka_unit_test(faults__loss_is_made_good),
		cmocka_unit_test(faults__case_067_a_lost_end_costs_a_timeout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
