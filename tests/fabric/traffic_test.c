/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What flows can be: operations on transports, many queue pairs, an order among flows, messages at
 * intervals, questions with answers, rates; and what is refused.
 */
#include "fabric/net.h"

#include <errno.h>

static void every_operation_on_every_transport(void **state)
{
	static const struct {
		uint8_t transport;
		uint8_t operation;
	} kinds[] = {
		{ROCE_FABRIC_RC, ROCE_FABRIC_WRITE}, {ROCE_FABRIC_RC, ROCE_FABRIC_READ},
		{ROCE_FABRIC_RC, ROCE_FABRIC_SEND},  {ROCE_FABRIC_UC, ROCE_FABRIC_WRITE},
		{ROCE_FABRIC_UC, ROCE_FABRIC_SEND},  {ROCE_FABRIC_UD, ROCE_FABRIC_SEND},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct roce_fabric_flow_config flow = net_flow(0, 1, 1000001);
		struct roce_fabric_flow_result r;
		struct net net;

		net_defaults(&net);
		net_star(&net, 2);
		flow.transport = kinds[i].transport;
		flow.operation = kinds[i].operation;
		flow.message_bytes = 4000;
		flow.qp_count = 3;
		net_add(&net, &flow);
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
		r = net_result(&net, 0);
		assert_int_equal(r.state, ROCE_FABRIC_FLOW_DONE);
		assert_int_equal(r.bytes_delivered, 1000001);
		assert_int_equal(r.packets_sent, 251);
		assert_int_equal(r.packets_repeated, 0);
		assert_true(r.done_ps >= r.delivered_ps);
		assert_int_equal(net_drops(&net), 0);
		net_end(&net);
	}
}

/* UC and UD do not repeat what is lost: the flow is never complete, and says so. */
static void unreliable__lost_is_lost(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct roce_fabric_flow_config flow = net_flow(0, 1, 4000000);
		struct roce_fabric_flow_result r;
		struct net net;

		net_defaults(&net);
		net.link.faults[0].loss_ppm = 10000;
		net_star(&net, 2);
		flow.transport = i ? ROCE_FABRIC_UD : ROCE_FABRIC_UC;
		flow.operation = ROCE_FABRIC_SEND;
		flow.message_bytes = 4000;
		net_add(&net, &flow);
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_IDLE);
		r = net_result(&net, 0);
		assert_int_equal(r.state, ROCE_FABRIC_FLOW_LOSSY);
		assert_int_equal(r.packets_sent, 1000);
		assert_true(r.bytes_delivered < 4000000 && r.bytes_delivered > 3900000);
		assert_int_equal(r.bytes_delivered + net_drops(&net) * 4000, 4000000);
		net_end(&net);
	}
}

/* What a link delivers twice has come once: flows end when all is there, and those that lost
 * something do not end. With the last packets of a message twice, UC breaks none of them. */
static void unreliable__twice_is_once(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		struct roce_fabric_flow_config flow = net_flow(0, 1, 4000000);
		bool is_lossy = i & 1;
		bool is_write = i >> 2 & 1;
		struct roce_fabric_flow_result r;
		struct net net;

		net_defaults(&net);
		net.link.faults[0].duplicate_ppm = 200000;
		net.link.faults[0].loss_ppm = is_lossy ? 10000 : 0;
		net_star(&net, 2);
		flow.transport = i >> 1 & 1 && !is_write ? ROCE_FABRIC_UD : ROCE_FABRIC_UC;
		flow.operation = is_write ? ROCE_FABRIC_WRITE : ROCE_FABRIC_SEND;
		flow.message_bytes = 4000;
		flow.qp_count = 1 + (i >> 1 & 1);
		net_add(&net, &flow);
		net_run(&net, PS_PER_S, is_lossy ? ROCE_FABRIC_END_IDLE : ROCE_FABRIC_END_DONE);
		r = net_result(&net, 0);
		assert_int_equal(r.state,
				 is_lossy ? ROCE_FABRIC_FLOW_LOSSY : ROCE_FABRIC_FLOW_DONE);
		assert_int_equal(r.packets_sent, 1000);
		if (is_lossy)
			assert_in_range(r.bytes_delivered, 3800000, 3996000);
		else
			assert_int_equal(r.bytes_delivered, 4000000);
		assert_int_equal(net_totals(&net).bytes_delivered, r.bytes_delivered);
		net_end(&net);
	}
}

/* Questions and answers of UD, either of which may come twice. */
static void unreliable__an_answer_counts_once(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 64000);
	struct roce_fabric_flow_result r;
	struct net net;

	(void)state;
	net_defaults(&net);
	net.link.faults[0].duplicate_ppm = 300000;
	net.link.faults[1].duplicate_ppm = 300000;
	net_star(&net, 2);
	flow.transport = ROCE_FABRIC_UD;
	flow.operation = ROCE_FABRIC_SEND;
	flow.message_bytes = 64;
	flow.response_bytes = 128;
	flow.interval_ps = PS_PER_US; /* answers must not pile up */
	net_add(&net, &flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	r = net_result(&net, 0);
	assert_int_equal(r.state, ROCE_FABRIC_FLOW_DONE);
	assert_int_equal(r.messages.count, 1000);
	assert_int_equal(r.bytes_delivered, 64000);
	net_end(&net);
}

/* A message of UC that lost a packet is lost; the next one arrives, as a SEND and as a WRITE. */
static void unreliable__a_broken_message_ends_alone(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct roce_fabric_flow_config flow = net_flow(0, 1, 4000000);
		struct roce_fabric_flow_result r;
		struct net net;

		net_defaults(&net);
		net.link.faults[0].loss_ppm = 10000;
		net_star(&net, 2);
		flow.transport = ROCE_FABRIC_UC;
		flow.operation = i ? ROCE_FABRIC_SEND : ROCE_FABRIC_WRITE;
		flow.message_bytes = 4000;
		flow.path_mtu = 1024;
		net_add(&net, &flow);
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_IDLE);
		r = net_result(&net, 0);
		assert_int_equal(r.state, ROCE_FABRIC_FLOW_LOSSY);
		assert_in_range(r.bytes_delivered, 3800000, 3999999);
		net_end(&net);
	}
}

/* 1 after 0 has ended, 2 five microseconds after both, 3 as soon as the bytes of 2 are there. */
static void after__order_of_flows(void **state)
{
	const uint32_t both[] = {0, 1};
	const uint32_t two = 2;
	struct roce_fabric_flow_config flow = net_flow(0, 1, 100000);
	struct roce_fabric_flow_result r[4];
	struct net net;

	(void)state;
	net_defaults(&net);
	net_star(&net, 3);
	net_add(&net, &flow);
	flow.after = both;
	flow.after_count = 1;
	net_add(&net, &flow);
	flow = net_flow(1, 2, 100000);
	flow.after = both;
	flow.after_count = 2;
	flow.after_ps = 5 * PS_PER_US;
	net_add(&net, &flow);
	flow.after = &two;
	flow.after_count = 1;
	flow.after_ps = 0;
	flow.is_after_delivery = true;
	net_add(&net, &flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	for (uint32_t i = 0; i < 4; i++)
		r[i] = net_result(&net, i);
	assert_int_equal(r[1].started_ps, r[0].done_ps);
	assert_int_equal(r[2].started_ps, r[1].done_ps + 5 * PS_PER_US);
	assert_int_equal(r[3].started_ps, r[2].delivered_ps);
	assert_true(r[2].delivered_ps < r[2].done_ps);
	net_end(&net);
}

static void after__an_ended_flow_holds_nobody(void **state)
{
	const uint32_t first = 0;
	struct roce_fabric_flow_config flow = net_flow(0, 1, 1000);
	struct net net;
	uint64_t now_ps;

	(void)state;
	net_defaults(&net);
	net_star(&net, 2);
	net_add(&net, &flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	now_ps = roce_fabric_now_ps(net.f);
	flow.after = &first;
	flow.after_count = 1;
	net_add(&net, &flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	assert_int_equal(net_result(&net, 1).started_ps, now_ps);
	net_end(&net);
}

/* Messages at a fixed interval: the last is released 999 intervals after the first. */
static void interval__is_kept(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 1000 * 256);
	struct roce_fabric_flow_result r;
	struct net net;

	(void)state;
	net_defaults(&net);
	net_star(&net, 2);
	flow.message_bytes = 256;
	flow.interval_ps = 5 * PS_PER_US;
	flow.tag = 7;
	net_add(&net, &flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	r = net_result(&net, 0);
	assert_int_equal(r.messages.count, 1000);
	assert_int_equal(r.messages.min_ps, r.messages.max_ps); /* nothing else is there */
	assert_int_equal(r.done_ps, 999 * flow.interval_ps + r.messages.max_ps);
	assert_in_range(roce_fabric_latency_quantile(net.f, 7, 0.5), r.messages.min_ps,
			r.messages.min_ps + r.messages.min_ps / 32);
	assert_int_equal(roce_fabric_latency_quantile(net.f, 8, 0.5), 0);
	net_end(&net);
}

static void interval__poisson_has_its_mean(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 10000 * 64);
	struct net net;
	double mean;

	(void)state;
	net_defaults(&net);
	net_star(&net, 2);
	flow.message_bytes = 64;
	flow.interval_ps = 5 * PS_PER_US;
	flow.is_poisson = true;
	net_add(&net, &flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	mean = (double)net_result(&net, 0).done_ps / 9999;
	assert_true(mean > 0.96 * 5e6 && mean < 1.04 * 5e6);
	net_end(&net);
}

/* A question of 256 bytes, an answer of 64: there and back. */
static void response__latency_is_there_and_back(void **state)
{
	static const uint8_t transports[] = {ROCE_FABRIC_RC, ROCE_FABRIC_UC, ROCE_FABRIC_UD};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct roce_fabric_flow_config flow = net_flow(0, 1, 500 * 256);
		struct roce_fabric_flow_result r;
		struct net net;

		net_defaults(&net);
		net_star(&net, 2);
		flow.operation = ROCE_FABRIC_SEND;
		flow.transport = transports[i];
		flow.message_bytes = 256;
		flow.response_bytes = 64;
		flow.interval_ps = 5 * PS_PER_US;
		net_add(&net, &flow);
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
		r = net_result(&net, 0);
		assert_int_equal(r.state, ROCE_FABRIC_FLOW_DONE);
		assert_int_equal(r.messages.count, 500);
		assert_int_equal(r.bytes_delivered, 500 * 256);
		assert_int_equal(net_totals(&net).bytes_delivered, 500 * 256);
		assert_int_equal(net_totals(&net).answer_bytes, 500 * 64);
		/* Twice the adapters, cables and switch, and the line four times. */
		assert_in_range(r.messages.min_ps, 3200 * PS_PER_NS, 3400 * PS_PER_NS);
		net_end(&net);
	}
}

static void rate__is_that_of_each_queue_pair(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 8 << 20);
	struct roce_fabric_flow_result r;
	struct net net;
	double ip_rate;

	(void)state;
	net_defaults(&net);
	net_star(&net, 2);
	flow.rate_kbps = 10000000;
	flow.qp_count = 2;
	flow.message_bytes = 4096;
	net_add(&net, &flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	r = net_result(&net, 0);
	/* as IP carries them: RETH on each */
	ip_rate = (double)(8 << 20) * (4096 + 28 + 12 + 16 + 4) / 4096 * 8000 / (double)r.done_ps;
	assert_true(ip_rate > 19.9 && ip_rate < 20.1);
	net_end(&net);
}

/* Every rule of a flow, broken alone. */
static void add_flow__refuses(void **state)
{
	const uint32_t late = 5;
	struct net net;
	uint32_t index;

	(void)state;
	net_defaults(&net);
	net_star(&net, 2);
#define REFUSED(change, why)                                                           \
	do {                                                                           \
		struct roce_fabric_flow_config flow = net_flow(0, 1, 1000);            \
		change;                                                                \
		assert_int_equal(roce_fabric_add_flow(net.f, &flow, &index), -EINVAL); \
		assert_int_equal(roce_fabric_fault(net.f, NULL, NULL, NULL), why);     \
	} while (0)
	REFUSED(flow.dst = 0, ROCE_FABRIC_FAULT_NOT_HOST);
	REFUSED(flow.dst = 2, ROCE_FABRIC_FAULT_NOT_HOST);
	REFUSED(flow.dst = 3, ROCE_FABRIC_FAULT_NO_SUCH_NODE);
	REFUSED(flow.via = 2, ROCE_FABRIC_FAULT_NOT_HOST);
	REFUSED(flow.bytes = 0, ROCE_FABRIC_FAULT_BYTES);
	REFUSED(flow.path_mtu = 1500, ROCE_FABRIC_FAULT_PATH_MTU);
	REFUSED(flow.path_mtu = 8192, ROCE_FABRIC_FAULT_PATH_MTU);
	REFUSED(flow.message_bytes = (1u << 31) + 1, ROCE_FABRIC_FAULT_MESSAGE);
	REFUSED(flow.qp_count = 0, ROCE_FABRIC_FAULT_QUEUE_PAIRS);
	REFUSED(flow.prio = 8, ROCE_FABRIC_FAULT_PRIO);
	REFUSED(flow.dscp = 64, ROCE_FABRIC_FAULT_PRIO);
	REFUSED(flow.transport = ROCE_FABRIC_UD, ROCE_FABRIC_FAULT_OPERATION);
	REFUSED((flow.transport = ROCE_FABRIC_UC, flow.operation = ROCE_FABRIC_READ),
		ROCE_FABRIC_FAULT_OPERATION);
	REFUSED(flow.response_bytes = 1, ROCE_FABRIC_FAULT_OPERATION);
	REFUSED((flow.after = &late, flow.after_count = 1), ROCE_FABRIC_FAULT_AFTER);
#undef REFUSED
	net_end(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_on_every_transport),
		cmocka_unit_test(unreliable__lost_is_lost),
		cmocka_unit_test(unreliable__twice_is_once),
		cmocka_unit_test(unreliable__an_answer_counts_once),
		cmocka_unit_test(unreliable__a_broken_message_ends_alone),
		cmocka_unit_test(after__order_of_flows),
		cmocka_unit_test(after__an_ended_flow_holds_nobody),
		cmocka_unit_test(interval__is_kept),
		cmocka_unit_test(interval__poisson_has_its_mean),
		cmocka_unit_test(response__latency_is_there_and_back),
		cmocka_unit_test(rate__is_that_of_each_queue_pair),
		cmocka_unit_test(add_flow__refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
