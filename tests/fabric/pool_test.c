/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The buffer as SONiC divides it: when a paused sender may go on (xon, xon_offset), a pool of
 * headroom that ports share, egress pools of lossless and lossy classes, and static limits of
 * queues.
 */
#include "fabric/net.h"

#include <errno.h>

#define PRIO	    3u
#define LOSSY	    0u
#define SENDERS	    8u
#define SWITCH	    (SENDERS + 1)
#define FRAME_BYTES 4158u /* of 4096 of payload */

/* ---- when XON is sent ---- */

struct resumes {
	struct net *net;
	uint32_t count;
	uint32_t held_max; /* by the priority when its sender may go on */
	uint32_t held_min;
};

static void on_pause_sent(void *ctx, uint64_t ps, uint32_t node, uint32_t port, uint8_t prios,
			  const uint16_t quanta[8])
{
	struct resumes *r = ctx;
	struct roce_fabric_port_view view;

	(void)ps;
	if (node != SWITCH || !(prios >> PRIO & 1) || quanta[PRIO])
		return;
	view = net_port(r->net, node, port);
	r->held_max =
		view.ingress_bytes[PRIO] > r->held_max ? view.ingress_bytes[PRIO] : r->held_max;
	r->held_min =
		view.ingress_bytes[PRIO] < r->held_min ? view.ingress_bytes[PRIO] : r->held_min;
	r->count++;
}

static const struct roce_fabric_observer observer = {.pause_sent = on_pause_sent};

/* Incast with XOFF at 200 kB above the reserve. */
static struct resumes run_incast(uint32_t xon, uint32_t xon_offset)
{
	struct net net;
	struct resumes r = {.net = &net, .held_min = UINT32_MAX};

	net_defaults(&net);
	net.fabric.observer = &observer;
	net.fabric.observer_ctx = &r;
	net.sw.port.ecn[PRIO].is_enabled = false;
	net.sw.port.buffer[PRIO].xoff_bytes = 200000;
	net.sw.port.buffer[PRIO].xon_bytes = xon;
	net.sw.port.buffer[PRIO].xon_offset_bytes = xon_offset;
	net_star(&net, SENDERS + 1);
	for (uint32_t i = 0; i < SENDERS; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, SENDERS, 2 << 20);

		net_add(&net, &flow);
	}
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	assert_int_equal(net_drops(&net), 0);
	assert_true(r.count > SENDERS);
	net_end(&net);
	return r;
}

/* The larger of the two counts; reserve and threshold are 218,432 bytes. A pause frame may have to
 * wait for a frame that is being sent, in which time one more may leave the buffer. */
static void xon__the_larger_of_both(void **state)
{
	static const struct {
		uint32_t xon;
		uint32_t offset;
		uint32_t at;
	} rows[] = {
		{ROCE_FABRIC_COMPUTED, 1000000, 18432},
		{50000, 1000000, 50000},
		{0, 20000, 198432},
		{50000, 20000, 198432},
		{210000, 20000, 210000},
		{0, 1000000, 0},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct resumes r = run_incast(rows[i].xon, rows[i].offset);

		assert_true(r.held_max <= rows[i].at);
		assert_true(r.held_min + 3 * FRAME_BYTES > rows[i].at);
	}
}

/* ---- headroom ---- */

/* As many bytes of headroom as eight ports of 30 m need do not fit into the buffer,
 * two thirds do; and that is enough, as not all ports are hit by the worst case at once. */
static void headroom__shared_by_all_ports(void **state)
{
	static const uint32_t pools[] = {0, 160000, 4000};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct net net;
		uint32_t node;

		net_defaults(&net);
		net.link.delay_ps = 150 * PS_PER_NS;
		net.sw.port.ecn[PRIO].is_enabled = false;
		net.sw.port.mtu_bytes = 4200;
		net.host.port.mtu_bytes = 4200;
		net.sw.buffer_bytes = 340000;
		net.sw.headroom_pool_bytes = pools[i];
		net_create(&net);
		for (uint32_t h = 0; h <= SENDERS; h++)
			net_host(&net);
		node = net_switch(&net);
		for (uint32_t h = 0; h <= SENDERS; h++)
			net_link(&net, h, node);
		if (!pools[i]) {
			assert_int_equal(roce_fabric_prepare(net.f), -EINVAL);
			assert_int_equal(roce_fabric_fault(net.f, NULL, NULL, NULL),
					 ROCE_FABRIC_FAULT_BUFFER);
			net_end(&net);
			continue;
		}
		assert_int_equal(roce_fabric_prepare(net.f), 0);
		for (uint32_t h = 0; h < SENDERS; h++) {
			struct roce_fabric_flow_config flow = net_flow(h, SENDERS, 1 << 20);

			flow.timeout = 8;
			net_add(&net, &flow);
		}
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
		assert_int_equal(net_drops(&net) == 0, pools[i] == 160000);
		assert_int_equal(net_totals(&net).drops[ROCE_FABRIC_DROP_HEADROOM],
				 net_drops(&net));
		assert_true(net_totals(&net).pause_frames > 0);
		net_end(&net);
	}
}

/* ---- egress ---- */

/* Half of the senders in each class; what the queues held at most, and what was dropped. */
struct mix {
	uint64_t queue_max[2]; /* lossy, lossless */
	uint64_t drops[2];
	uint64_t pauses;
};

static struct mix run_mix(struct net *net)
{
	struct roce_fabric_port_view view;
	struct mix mix;

	net->sw.port.ecn[PRIO].is_enabled = false;
	net_star(net, SENDERS + 1);
	for (uint32_t i = 0; i < SENDERS; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, SENDERS, 4 << 20);

		if (i % 2) {
			flow.prio = LOSSY;
			flow.dscp = 0;
		}
		flow.timeout = 8;
		net_add(net, &flow);
	}
	net_run(net, 600 * PS_PER_US, ROCE_FABRIC_END_TIME);
	view = net_port(net, SWITCH, SENDERS);
	mix = (struct mix){
		.queue_max = {view.queue_bytes_max[LOSSY], view.queue_bytes_max[PRIO]},
		.drops = {view.prio_counters[LOSSY][ROCE_FABRIC_TX_DISCARDS],
			  view.prio_counters[PRIO][ROCE_FABRIC_TX_DISCARDS]},
		.pauses = net_totals(net).pause_frames,
	};
	assert_int_equal(net_drops(net), mix.drops[0] + mix.drops[1]);
	net_end(net);
	return mix;
}

/* Without limits the lossy queue takes half of what is free; with a pool of 1 MB it takes half of
 * that, and the lossless class does not notice. */
static void egress__lossy_pool(void **state)
{
	struct net net;
	struct mix mix;

	(void)state;
	net_defaults(&net);
	mix = run_mix(&net);
	assert_true(mix.queue_max[0] > 5000000);
	net_defaults(&net);
	net.sw.egress_lossy_bytes = 1000000;
	mix = run_mix(&net);
	assert_in_range(mix.queue_max[0], 500000 - FRAME_BYTES, 500000);
	assert_true(mix.drops[0] > 0);
	assert_int_equal(mix.drops[1], 0);
	assert_true(mix.queue_max[1] > 5000000);
	/* A threshold above the pool: the pool is the limit. */
	net_defaults(&net);
	net.sw.egress_lossy_bytes = 1000000;
	net.sw.port.buffer[LOSSY].egress_limit_bytes = 4000000;
	mix = run_mix(&net);
	assert_in_range(mix.queue_max[0], 1000000 - FRAME_BYTES, 1000000);
}

static void egress__lossless_pool_and_static_limits(void **state)
{
	struct net net;
	struct mix mix;

	(void)state;
	net_defaults(&net);
	net.sw.egress_lossless_bytes = 2000000;
	mix = run_mix(&net);
	assert_in_range(mix.queue_max[1], 2000000 - FRAME_BYTES, 2000000);
	assert_true(mix.drops[1] > 0); /* before PFC acts: a mistake, and seen as one */
	net_defaults(&net);
	net.sw.port.buffer[LOSSY].egress_limit_bytes = 300000;
	net.sw.port.buffer[PRIO].egress_limit_bytes = 700000;
	mix = run_mix(&net);
	assert_in_range(mix.queue_max[0], 300000 - FRAME_BYTES, 300000);
	assert_in_range(mix.queue_max[1], 700000 - FRAME_BYTES, 700000);
	assert_true(mix.drops[0] > 0 && mix.drops[1] > 0);
	assert_int_equal(mix.pauses, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xon__the_larger_of_both),
		cmocka_unit_test(headroom__shared_by_all_ports),
		cmocka_unit_test(egress__lossy_pool),
		cmocka_unit_test(egress__lossless_pool_and_static_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
