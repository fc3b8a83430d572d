/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Classes that share a line, and marks: shares under saturation are those that were configured,
 * what one class leaves the others take, strict goes first; ECN marks under load and only then.
 */
#include "fabric/measure.h"
#include "fabric/net.h"

#define PRIO_A	   3u
#define PRIO_B	   4u
#define PRIO_S	   6u
#define DSCP(prio) ((uint8_t)((prio)*8))
#define WINDOW_PS  (2 * PS_PER_MS)

static void lossless(struct roce_fabric_port_config *port, uint32_t prio)
{
	port->buffer[prio] = port->buffer[3];
	port->pfc.prios |= (uint8_t)(1u << prio);
	port->ecn[prio].is_enabled = false;
	port->qos.prio_to_tc[prio] = (uint8_t)prio;
}

static void classes(struct roce_fabric_port_config *port, uint8_t weight_a, uint8_t weight_b)
{
	lossless(port, PRIO_A);
	lossless(port, PRIO_B);
	lossless(port, PRIO_S);
	port->qos.tc_weight[PRIO_A] = weight_a;
	port->qos.tc_weight[PRIO_B] = weight_b;
}

/* Three senders, each in a class of its own, towards host 3. */
static void start(struct net *net, uint8_t weight_a, uint8_t weight_b)
{
	net_defaults(net);
	classes(&net->host.port, weight_a, weight_b);
	classes(&net->sw.port, weight_a, weight_b);
	net_star(net, 4);
}

static uint32_t send(struct net *net, uint32_t src, uint8_t prio, uint64_t bytes, uint64_t start_ps)
{
	struct roce_fabric_flow_config flow = net_flow(src, 3, bytes);

	flow.prio = prio;
	flow.dscp = DSCP(prio);
	flow.start_ps = start_ps;
	return net_add(net, &flow);
}

/* What each flow has got, in Gb/s, between two times. */
static void measure(struct net *net, uint32_t flows, uint64_t until_ps, double *out)
{
	uint64_t from_ps = roce_fabric_now_ps(net->f);

	for (uint32_t i = 0; i < flows; i++)
		out[i] = -(double)net_result(net, i).bytes_delivered;
	net_run(net, until_ps, ROCE_FABRIC_END_TIME);
	for (uint32_t i = 0; i < flows; i++)
		out[i] = (out[i] + (double)net_result(net, i).bytes_delivered) * 8000 /
			 (double)(until_ps - from_ps);
}

static void ets__shares_are_those_configured(void **state)
{
	static const uint8_t weights[][2] = {{50, 50}, {70, 30}, {90, 10}, {3, 1}};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		struct net net;
		double rate[2], share;
		char what[96], range[96];
		double expected = (double)weights[i][0] / (weights[i][0] + weights[i][1]);

		start(&net, weights[i][0], weights[i][1]);
		send(&net, 0, PRIO_A, UINT64_C(1) << 30, 0);
		send(&net, 1, PRIO_B, UINT64_C(1) << 30, 0);
		net_run(&net, WINDOW_PS / 10, ROCE_FABRIC_END_TIME);
		measure(&net, 2, WINDOW_PS, rate);
		share = rate[0] / (rate[0] + rate[1]);
		snprintf(what, sizeof(what), "ETS, weights %u and %u: share of the first",
			 weights[i][0], weights[i][1]);
		snprintf(range, sizeof(range), "%.1f%% within 2%%", 100 * expected);
		measured(share > expected - 0.02 && share < expected + 0.02, what, range, "%.2f%%",
			 100 * share);
		assert_true(rate[0] + rate[1] > 97);
		assert_int_equal(net_drops(&net), 0);
		net_end(&net);
	}
}

/* B has 90% and sends nothing after a while: A has the line. */
static void ets__unused_share_is_given_away(void **state)
{
	struct net net;
	double rate[2];

	(void)state;
	start(&net, 10, 90);
	send(&net, 0, PRIO_A, UINT64_C(1) << 30, 0);
	send(&net, 1, PRIO_B, 4 << 20, 0);
	net_run(&net, WINDOW_PS / 2, ROCE_FABRIC_END_TIME);
	assert_int_equal(net_result(&net, 1).state, ROCE_FABRIC_FLOW_DONE);
	measure(&net, 2, WINDOW_PS, rate);
	measured(rate[0] > 97, "ETS, 10 beside 90 that send nothing", "all of the line",
		 "%.2f Gb/s", rate[0]);
	net_end(&net);
}

static void strict__first(void **state)
{
	struct net net;
	double rate[3];

	(void)state;
	start(&net, 50, 50);
	send(&net, 0, PRIO_A, UINT64_C(1) << 30, 0);
	send(&net, 1, PRIO_B, UINT64_C(1) << 30, 0);
	send(&net, 2, PRIO_S, UINT64_C(1) << 30, WINDOW_PS / 20);
	net_run(&net, WINDOW_PS / 10, ROCE_FABRIC_END_TIME);
	measure(&net, 3, WINDOW_PS, rate);
	measured(rate[2] > 97 && rate[0] + rate[1] < 1, "a strict class beside two of ETS",
		 "all of the line", "%.2f Gb/s, the others %.2f", rate[2], rate[0] + rate[1]);
	net_end(&net);
}

/* What comes in with 3 leaves with 4, in its queue, its DSCP and its PCP: so the receiver counts
 * it, and the buffer where it came in is accounted to 3. */
static void remark__changes_what_leaves(void **state)
{
	(void)state;
	for (uint32_t trust = 0; trust < 2; trust++) {
		struct roce_fabric_port_view in, out;
		struct net net;

		net_defaults(&net);
		lossless(&net.sw.port, 4);
		net.host.is_tagged = true;
		net.host.port.qos.trust = trust ? ROCE_FABRIC_TRUST_PCP : ROCE_FABRIC_TRUST_DSCP;
		net.sw.port.qos.remark[3] = 4;
		net.sw.port.ecn[4] = net.sw.port.ecn[3];
		net.sw.port.ecn[4].kmin_bytes = 20000;
		net.sw.port.buffer[3].xoff_bytes = 100000;
		net_star(&net, 4);
		send(&net, 0, 3, 1000000, 0);
		send(&net, 1, 3, 1000000, 0);
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
		in = net_port(&net, 4, 0);
		out = net_port(&net, 4, 3);
		assert_true(in.prio_counters[3][ROCE_FABRIC_RX_PACKETS] > 200);
		assert_true(in.prio_counters[3][ROCE_FABRIC_TX_PAUSE] > 0);
		assert_true(in.ingress_bytes_max[3] > 50000);
		assert_int_equal(in.ingress_bytes_max[4], 0);
		assert_int_equal(in.ingress_bytes[3], 0);
		assert_int_equal(out.queue_bytes_max[3], 0);
		assert_true(out.prio_counters[4][ROCE_FABRIC_TX_PACKETS] > 400);
		assert_true(out.prio_counters[4][ROCE_FABRIC_TX_ECN_MARKED] > 0);
		assert_int_equal(out.prio_counters[3][ROCE_FABRIC_TX_PACKETS], 0);
		assert_true(net_port(&net, 3, 0).prio_counters[4][ROCE_FABRIC_RX_PACKETS] > 400);
		assert_int_equal(net_drops(&net), 0);
		net_end(&net);
	}
}

/* The switch reads PCP 3 as priority 4, and an MTU that just holds the packet holds the tag too. */
static void trust_pcp__maps_the_tag(void **state)
{
	struct net net;

	(void)state;
	net_defaults(&net);
	lossless(&net.sw.port, 4);
	net.sw.port.qos.trust = ROCE_FABRIC_TRUST_PCP;
	net.sw.port.qos.pcp_to_prio[3] = 4;
	net.sw.port.mtu_bytes = 4096 + 60; /* IP, UDP, BTH, RETH, ICRC */
	net.host.is_tagged = true;
	net_star(&net, 4);
	send(&net, 0, 3, 100000, 0);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	assert_int_equal(net_port(&net, 4, 0).prio_counters[4][ROCE_FABRIC_RX_PACKETS], 25);
	assert_int_equal(net_port(&net, 4, 0).prio_counters[3][ROCE_FABRIC_RX_PACKETS], 0);
	assert_int_equal(net_drops(&net), 0);
	net_end(&net);
}

/* A switch that trusts the tag where none is, in the way of the "wrong QoS map": the lossless class
 * goes by the default priority, which is lossy. */
static void trust_pcp__untagged_is_the_default(void **state)
{
	(void)state;
	for (uint32_t is_untagged = 0; is_untagged < 2; is_untagged++) {
		struct net net;

		net_defaults(&net);
		net.sw.port.qos.trust = ROCE_FABRIC_TRUST_PCP;
		net.sw.port.qos.default_prio = 1;
		net.host.is_tagged = !is_untagged;
		net_star(&net, 4);
		send(&net, 0, PRIO_A, 100000, 0);
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
		assert_true(
			net_port(&net, 4, 0)
				.prio_counters[is_untagged ? 1 : PRIO_A][ROCE_FABRIC_RX_PACKETS] >
			20);
		assert_int_equal(
			net_port(&net, 4, 0)
				.prio_counters[is_untagged ? PRIO_A : 1][ROCE_FABRIC_RX_PACKETS],
			0);
		net_end(&net);
	}
}

/* ---- ties ---- */

static void on_dropped(void *ctx, uint64_t ps, uint32_t node, uint32_t port,
		       const struct roce_fabric_frame_view *frame, enum roce_fabric_drop why)
{
	uint64_t *drops = ctx;

	(void)ps;
	(void)node;
	(void)port;
	assert_int_equal(why, ROCE_FABRIC_DROP_EGRESS);
	drops[frame->src]++;
}

/* Two senders in step, one full queue: over some seeds each has its half of the drops. */
static void tie__who_comes_at_once_shares_the_drops(void **state)
{
	static const struct roce_fabric_observer observer = {.frame_dropped = on_dropped};
	uint64_t drops[4] = {0};
	double share;

	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct net net;

		net_defaults(&net);
		net.fabric.seed = seed;
		net.fabric.observer = &observer;
		net.fabric.observer_ctx = drops;
		net.sw.buffer_bytes = 1000000;
		net_star(&net, 4);
		for (uint32_t i = 0; i < 2; i++) {
			struct roce_fabric_flow_config flow = net_flow(i, 3, 8 << 20);

			flow.transport = ROCE_FABRIC_UC;
			flow.prio = 0;
			flow.dscp = 0;
			net_add(&net, &flow);
		}
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_IDLE);
		net_end(&net);
	}
	share = (double)drops[0] / (double)(drops[0] + drops[1]);
	assert_true(drops[0] + drops[1] > 2000);
	measured(share > 0.45 && share < 0.55, "ties: share of the drops, two senders in step",
		 "45 to 55% over seeds", "%.1f%% of %u", 100 * share,
		 (unsigned)(drops[0] + drops[1]));
}

/* ---- ECN ---- */

static struct roce_fabric_totals run_ecn(uint32_t senders, bool is_capable, bool is_mark_only)
{
	struct roce_fabric_totals totals;
	struct net net;

	net_defaults(&net);
	net.sw.port.ecn[PRIO_A].kmin_bytes = 100000;
	net.sw.port.ecn[PRIO_A].kmax_bytes = 400000;
	net.sw.port.ecn[PRIO_A].is_mark_only = is_mark_only;
	net_star(&net, senders + 1);
	for (uint32_t i = 0; i < senders; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, senders, 4 << 20);

		flow.is_not_ecn = !is_capable;
		net_add(&net, &flow);
	}
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	totals = net_totals(&net);
	net_end(&net);
	return totals;
}

static void ecn__case_075_marks_under_load_only(void **state)
{
	struct roce_fabric_totals one = run_ecn(1, true, false);
	struct roce_fabric_totals two = run_ecn(2, true, false);

	(void)state;
	assert_int_equal(one.ecn_marks, 0);
	assert_true(two.ecn_marks > 10);
	assert_int_equal(two.drops[ROCE_FABRIC_DROP_WRED], 0);
}

/* What does not understand marks is dropped in their place, and comes again. */
static void ecn__drops_what_it_cannot_mark(void **state)
{
	struct roce_fabric_totals two = run_ecn(2, false, false);

	(void)state;
	assert_int_equal(two.ecn_marks, 0);
	assert_true(two.drops[ROCE_FABRIC_DROP_WRED] > 0);
	assert_int_equal(two.flows_done, 2);
}

/* Or it passes, where the switch marks only. */
static void ecn__passes_what_it_cannot_mark(void **state)
{
	struct roce_fabric_totals two = run_ecn(2, false, true);

	(void)state;
	assert_int_equal(two.ecn_marks, 0);
	assert_int_equal(two.drops[ROCE_FABRIC_DROP_WRED], 0);
	assert_int_equal(two.flows_done, 2);
}

/* Queues whose ECN decides by what a leaving frame leaves behind. */
static void ecn__at_dequeue(void **state)
{
	struct net net;

	(void)state;
	net_defaults(&net);
	net.sw.port.ecn[PRIO_A].kmin_bytes = 100000;
	net.sw.port.ecn[PRIO_A].kmax_bytes = 100000; /* a step: all above are marked */
	net.sw.port.ecn[PRIO_A].is_at_dequeue = true;
	net_star(&net, 3);
	for (uint32_t i = 0; i < 2; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, 2, 1 << 20);

		net_add(&net, &flow);
	}
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	/* Two frames come for each that goes, until all have come; then the queue falls. */
	assert_true(net_totals(&net).ecn_marks > 256);
	assert_true(net_totals(&net).ecn_marks < 512);
	net_end(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ets__shares_are_those_configured),
		cmocka_unit_test(ets__unused_share_is_given_away),
		cmocka_unit_test(strict__first),
		cmocka_unit_test(remark__changes_what_leaves),
		cmocka_unit_test(trust_pcp__maps_the_tag),
		cmocka_unit_test(trust_pcp__untagged_is_the_default),
		cmocka_unit_test(tie__who_comes_at_once_shares_the_drops),
		cmocka_unit_test(ecn__case_075_marks_under_load_only),
		cmocka_unit_test(ecn__drops_what_it_cannot_mark),
		cmocka_unit_test(ecn__passes_what_it_cannot_mark),
		cmocka_unit_test(ecn__at_dequeue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
