/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 200,000 orders a second, each answered, beside bulk traffic in bursts that two senders have at
 * once, 90% of the line on average: in the class of the bulk, where a map that nobody made puts
 * them, orders wait in its queue and are lost with it; in a class of their own nothing happens.
 */
#include "fabric/measure.h"
#include "fabric/net.h"

#define CLIENTS	   10u
#define SERVER	   CLIENTS
#define BULKS	   2u
#define HOSTS	   (CLIENTS + 1 + BULKS)
#define PRIO	   5u
#define DSCP	   46u
#define TAG	   1u
#define DURATION   (20 * PS_PER_MS)
#define ORDERS	   4000u    /* in that time */
#define BULK_BYTES 4750000u /* of each, every millisecond */

struct orders {
	uint64_t lost; /* without an answer */
	double p50_us, p99_us;
};

static struct orders run_orders(bool is_mapped, bool has_bulk)
{
	struct orders o = {0};
	struct net net;

	net_defaults(&net);
	if (is_mapped) {
		net.sw.port.qos.prio_to_tc[PRIO] = PRIO;
		net.sw.port.qos.tc_scheduler[PRIO] = ROCE_FABRIC_STRICT;
		net.host.port.qos = net.sw.port.qos;
	}
	net.sw.buffer_bytes = UINT64_C(8) << 20;
	net_star(&net, HOSTS);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, SERVER, ORDERS / CLIENTS * 64);

		flow.transport = ROCE_FABRIC_UD;
		flow.operation = ROCE_FABRIC_SEND;
		flow.message_bytes = 64;
		flow.response_bytes = 64;
		flow.interval_ps = PS_PER_S / (200000 / CLIENTS);
		flow.is_poisson = true;
		flow.depth = 16384;
		flow.prio = PRIO;
		flow.dscp = DSCP;
		flow.tag = TAG;
		net_add(&net, &flow);
	}
	for (uint32_t i = 0; has_bulk && i < BULKS; i++) {
		struct roce_fabric_flow_config flow =
			net_flow(CLIENTS + 1 + i, SERVER, UINT64_C(1000) * BULK_BYTES);

		flow.transport = ROCE_FABRIC_UC;
		flow.message_bytes = BULK_BYTES;
		flow.interval_ps = PS_PER_MS;
		flow.prio = 0;
		flow.dscp = 0;
		net_add(&net, &flow);
	}
	assert_int_not_equal(roce_fabric_run(net.f, DURATION + 6 * PS_PER_MS),
			     ROCE_FABRIC_END_DEADLOCK);
	for (uint32_t i = 0; i < CLIENTS; i++) {
		struct roce_fabric_flow_result r = net_result(&net, i);

		o.lost += ORDERS / CLIENTS - r.messages.count;
	}
	o.p50_us = (double)roce_fabric_latency_quantile(net.f, TAG, 0.5) * 1e-6;
	o.p99_us = (double)roce_fabric_latency_quantile(net.f, TAG, 0.99) * 1e-6;
	net_end(&net);
	return o;
}

static void orders__a_wrong_map_loses_them(void **state)
{
	struct orders alone = run_orders(true, false);
	struct orders wrong = run_orders(false, true);
	struct orders right = run_orders(true, true);
	double lost = 100.0 * (double)wrong.lost / ORDERS;

	(void)state;
	assert_int_equal(alone.lost, 0);
	measured(lost > 2 && lost < 4, "200,000 orders/s beside bulk, wrong map: lost", "about 3%",
		 "%.1f%%", lost);
	measured(wrong.p99_us > 200, "the same: 99th percentile of the latency", "above 200 us",
		 "%.0f us (median %.0f)", wrong.p99_us, wrong.p50_us);
	measured(right.lost == 0, "the same, right map: lost", "none", "%u of %u",
		 (unsigned)right.lost, ORDERS);
	measured(right.p99_us < 1.5 * alone.p99_us, "the same: 99th percentile",
		 "as without bulk, within the half", "%.2f us (alone %.2f)", right.p99_us,
		 alone.p99_us);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders__a_wrong_map_loses_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
