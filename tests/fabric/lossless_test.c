/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Priority flow control: how long a pause lasts, what ends it, and that the computed headroom is
 * what it takes: with it an incast of a thousand flows loses nothing, with half of it it does.
 */
#include "fabric/measure.h"
#include "fabric/net.h"

#define PRIO 3u

/* ---- one pause ---- */

struct pauses {
	uint64_t began_ps;
	uint64_t ended_ps;
	uint32_t begun;
	uint32_t ended;
	uint32_t sent;
	uint32_t resumes;
	uint64_t last_sent_ps;
	uint64_t gap_max_ps; /* between pauses that were sent */
};

/* Of host 0, the sender. */
static void on_paused(void *ctx, uint64_t ps, uint32_t node, uint32_t port, uint32_t prio,
		      bool is_paused)
{
	struct pauses *p = ctx;

	assert_int_equal(port, 0);
	assert_int_equal(prio, PRIO);
	if (node != 0)
		return;
	if (is_paused) {
		p->begun++;
		p->began_ps = ps;
	} else {
		p->ended++;
		p->ended_ps = ps;
	}
}

static void on_pause_sent(void *ctx, uint64_t ps, uint32_t node, uint32_t port, uint8_t prios,
			  const uint16_t quanta[8])
{
	struct pauses *p = ctx;

	(void)node;
	(void)port;
	assert_int_equal(prios, 1u << PRIO);
	if (p->sent && ps - p->last_sent_ps > p->gap_max_ps)
		p->gap_max_ps = ps - p->last_sent_ps;
	p->sent++;
	p->last_sent_ps = ps;
	p->resumes += quanta[PRIO] == 0;
}

static const struct roce_fabric_observer observer = {
	.paused = on_paused,
	.pause_sent = on_pause_sent,
};

/* Host 1 asks once for the longest pause, of a sender that has much to send. The pause frame leaves
 * at 0, is on the cable and read, and obeyed; then it is 65535 * 512 bit times. */
static void pause__lasts_its_quanta(void **state)
{
	static const uint64_t rates[] = {100 * GBPS, 400 * GBPS};
	static const uint64_t lasts_ns[] = {335539, 83884};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct roce_fabric_flow_config flow = net_flow(0, 1, 64 << 20);
		struct pauses p = {0};
		struct net net;
		uint64_t obeyed_ps;

		net_defaults(&net);
		net.fabric.observer = &observer;
		net.fabric.observer_ctx = &p;
		net.link.rate_bps = rates[i];
		net.host.port.pfc.refresh_ps = PS_PER_S; /* it is not repeated */
		net_create(&net);
		net_host(&net);
		net.host.is_pausing_forever = true;
		net_host(&net);
		net_link(&net, 0, 1);
		assert_int_equal(roce_fabric_prepare(net.f), 0);
		net_add(&net, &flow);
		net_run(&net, PS_PER_MS, ROCE_FABRIC_END_TIME);
		assert_int_equal(p.begun, 1);
		assert_int_equal(p.ended, 1);
		measured((p.ended_ps - p.began_ps) / PS_PER_NS == lasts_ns[i],
			 i ? "a pause of 65535 quanta, never ended, 400G"
			   : "a pause of 65535 quanta, never ended, 100G",
			 i ? "expires after 83.9 us" : "expires after 335.5 us", "%.3f us",
			 (double)(p.ended_ps - p.began_ps) * 1e-6);
		obeyed_ps = (8 + 64) * 8 * PS_PER_S / rates[i] + net.link.delay_ps +
			    net.host.port.pfc.response_ps;
		assert_int_equal(p.began_ps, obeyed_ps);
		assert_int_equal(net_port(&net, 0, 0).prio_counters[PRIO][ROCE_FABRIC_RX_PAUSE], 1);
		assert_int_equal(
			net_port(&net, 0, 0).prio_counters[PRIO][ROCE_FABRIC_RX_PAUSE_DURATION],
			lasts_ns[i] / 1000);
		net_end(&net);
	}
}

/* Repeated before it expires: the sender never gets a frame out again. */
static void pause__repeated_has_no_gap(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 64 << 20);
	struct pauses p = {0};
	struct net net;
	uint64_t delivered;

	(void)state;
	net_defaults(&net);
	net.fabric.observer = &observer;
	net.fabric.observer_ctx = &p;
	net.fabric.deadlock_check_ps = 0;
	net_create(&net);
	net_host(&net);
	net.host.is_pausing_forever = true;
	net_host(&net);
	net_link(&net, 0, 1);
	assert_int_equal(roce_fabric_prepare(net.f), 0);
	flow.timeout = 0;
	net_add(&net, &flow);
	net_run(&net, 10 * PS_PER_US, ROCE_FABRIC_END_TIME);
	delivered = net_result(&net, 0).bytes_delivered;
	net_run(&net, 2 * PS_PER_MS, ROCE_FABRIC_END_TIME);
	assert_int_equal(net_result(&net, 0).bytes_delivered, delivered);
	assert_int_equal(p.begun, 1);
	assert_int_equal(p.ended, 0);
	assert_in_range(p.sent, 11, 13); /* each 168 us */
	assert_int_equal(net_port(&net, 0, 0).paused, 1u << PRIO);
	net_end(&net);
}

/* ---- slow receivers ---- */

/* 100G into a host that takes 20: it pauses, nothing is lost, and the flow runs at its pace. */
static void slow_receiver__pauses_its_switch(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 8 << 20);
	struct roce_fabric_flow_result r;
	struct roce_fabric_port_view view;
	struct net net;
	uint32_t sw;
	double rate;

	(void)state;
	net_defaults(&net);
	net_create(&net);
	net_host(&net);
	net.host.drain_bps = 20 * GBPS;
	net_host(&net);
	sw = net_switch(&net);
	net_link(&net, 0, sw);
	net_link(&net, 1, sw);
	assert_int_equal(roce_fabric_prepare(net.f), 0);
	net_add(&net, &flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	r = net_result(&net, 0);
	rate = (double)r.bytes_delivered * 8000 / (double)r.delivered_ps;
	assert_true(rate > 0.97 * 20 * 4096 / 4158 && rate < 20);
	assert_int_equal(net_drops(&net), 0);
	assert_int_equal(r.packets_repeated, 0);
	view = net_port(&net, 1, 0);
	assert_true(view.prio_counters[PRIO][ROCE_FABRIC_TX_PAUSE] > 10);
	assert_true(view.ingress_bytes_max[PRIO] <= net.host.rx_buffer_bytes);
	assert_true(view.ingress_bytes_max[PRIO] > net.host.rx_buffer_bytes / 2);
	assert_true(net_port(&net, sw, 1).prio_counters[PRIO][ROCE_FABRIC_RX_PAUSE_TRANSITION] > 5);
	net_end(&net);
}

/* Without PFC its buffer overflows. */
static void slow_receiver__drops_without_pfc(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 1 << 20);
	struct net net;

	(void)state;
	net_defaults(&net);
	net.host.drain_bps = 20 * GBPS;
	net.host.port.pfc.prios = 0;
	net.host.port.buffer[PRIO] = net.host.port.buffer[0];
	net.sw.port.pfc.prios = 0;
	net.sw.port.buffer[PRIO] = net.sw.port.buffer[0];
	net_star(&net, 2);
	flow.timeout = 8;
	net_add(&net, &flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	assert_true(net_port(&net, 1, 0).prio_counters[PRIO][ROCE_FABRIC_RX_DISCARDS] > 0);
	assert_int_equal(net_drops(&net), net_totals(&net).drops[ROCE_FABRIC_DROP_BUFFER]);
	net_end(&net);
}

/* ---- incast ---- */

#define SENDERS	   50u
#define FLOWS_EACH 20u

struct incast {
	uint64_t drops;
	uint64_t pauses;
	uint64_t headroom_used; /* the most of a port */
	uint32_t headroom;
};

/* A thousand flows of 64 KB into one port, by cables of this length. */
static struct incast run_incast(uint64_t metres, uint32_t headroom_bytes)
{
	struct incast result;
	struct net net;
	uint32_t sw = SENDERS + 1;

	net_defaults(&net);
	net.link.delay_ps = metres * 5 * PS_PER_NS;
	net.host.port.mtu_bytes = 4200; /* the frames are nearly as long as they may be */
	net.sw.port.mtu_bytes = 4200;
	net.sw.port.buffer[PRIO].headroom_bytes = headroom_bytes;
	net.sw.port.ecn[PRIO].is_enabled = false;
	net.sw.buffer_bytes = UINT64_C(16) << 20;
	net_star(&net, SENDERS + 1);
	for (uint32_t i = 0; i < SENDERS * FLOWS_EACH; i++) {
		struct roce_fabric_flow_config flow = net_flow(i % SENDERS, SENDERS, 65536);

		net_add(&net, &flow);
	}
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	assert_int_equal(net_totals(&net).flows_done, SENDERS * FLOWS_EACH);
	result = (struct incast){.drops = net_drops(&net), .pauses = net_totals(&net).pause_frames};
	for (uint32_t i = 0; i < SENDERS; i++) {
		struct roce_fabric_port_view view = net_port(&net, sw, i);

		result.headroom = view.headroom_bytes[PRIO];
		if (view.headroom_bytes_max[PRIO] > result.headroom_used)
			result.headroom_used = view.headroom_bytes_max[PRIO];
		assert_int_equal(view.ingress_bytes[PRIO], 0);
	}
	net_end(&net);
	return result;
}

static void incast__case_068_computed_headroom_is_what_it_takes(void **state)
{
	static const uint64_t metres[] = {1, 30, 300};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct incast full = run_incast(metres[i], ROCE_FABRIC_COMPUTED);
		struct incast half;
		char what[96];

		snprintf(what, sizeof(what), "1000-flow incast, cables of %u m, computed headroom",
			 (unsigned)metres[i]);
		measured(full.drops == 0, what, "no drops", "%u, %u of %u bytes of headroom used",
			 (unsigned)full.drops, (unsigned)full.headroom_used, full.headroom);
		assert_true(full.pauses > SENDERS);
		assert_true(full.headroom_used > full.headroom / 2);
		half = run_incast(metres[i], full.headroom / 2);
		snprintf(what, sizeof(what), "the same, %u m, half of it", (unsigned)metres[i]);
		measured(half.drops > 0, what, "drops", "%u", (unsigned)half.drops);
	}
}

static void incast__case_068_without_headroom_drops(void **state)
{
	struct incast none = run_incast(30, 0);

	(void)state;
	assert_true(none.drops > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pause__lasts_its_quanta),
		cmocka_unit_test(pause__repeated_has_no_gap),
		cmocka_unit_test(slow_receiver__pauses_its_switch),
		cmocka_unit_test(slow_receiver__drops_without_pfc),
		cmocka_unit_test(incast__case_068_computed_headroom_is_what_it_takes),
		cmocka_unit_test(incast__case_068_without_headroom_drops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
