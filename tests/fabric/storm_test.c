/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lossless networks that stand still: a ring of switches whose buffers wait for each other, what
 * cures it, and a host that pauses for ever, with and without a watchdog.
 */
#include "fabric/measure.h"
#include "fabric/net.h"

#include <errno.h>

#define PRIO	3u

#define POLL_PS (100 * PS_PER_US) /* of the watchdog; twice that to detect and to restore */

struct seen {
	struct roce_fabric_cycle cycle[16];
	uint32_t length;
	uint32_t deadlocks;
	uint32_t storms;
	uint32_t storm_ends;
	uint64_t storm_ps;
	uint64_t storm_end_ps;
};

static void on_deadlock(void *ctx, uint64_t ps, const struct roce_fabric_cycle *cycle,
			uint32_t count)
{
	struct seen *s = ctx;

	(void)ps;
	assert_in_range(count, 1, 16);
	for (uint32_t i = 0; i < count; i++)
		s->cycle[i] = cycle[i];
	s->length = count;
	s->deadlocks++;
}

static void on_storm(void *ctx, uint64_t ps, uint32_t node, uint32_t port, uint32_t tc,
		     bool is_stormed)
{
	struct seen *s = ctx;

	(void)node;
	(void)port;
	assert_int_equal(tc, PRIO);
	if (is_stormed) {
		s->storms++;
		s->storm_ps = ps;
	} else {
		s->storm_ends++;
		s->storm_end_ps = ps;
	}
}

static const struct roce_fabric_observer observer = {.deadlock = on_deadlock, .storm = on_storm};

/* ---- rings ---- */

/* Switch i of `size` has host i at port 0, and sends clockwise by port `out`. */
static void make_ring(struct net *net, uint32_t size, bool is_clockwise)
{
	net_create(net);
	for (uint32_t i = 0; i < size; i++)
		net_host(net);
	for (uint32_t i = 0; i < size; i++)
		net_switch(net);
	for (uint32_t i = 0; i < size; i++)
		net_link(net, i, size + i);
	for (uint32_t i = 0; i < size; i++)
		net_link(net, size + i, size + (i + 1) % size);
	for (uint32_t i = 0; is_clockwise && i < size; i++) {
		/* The link to the next switch is the last of switch 0, the first of the others,
		 * which get the link from the one before first. */
		uint32_t out = i == 0 ? 1 : 2;

		for (uint32_t d = 0; d < size; d++)
			if (d != i)
				assert_int_equal(
					roce_fabric_route_static(net->f, size + i, d, &out, 1), 0);
	}
}

/* Each host sends to the one `size - 1` switches on, so all links carry several flows. */
static void load_ring(struct net *net, uint32_t size, uint64_t bytes)
{
	for (uint32_t i = 0; i < size; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, (i + size - 1) % size, bytes);

		flow.timeout = 0;
		net_add(net, &flow);
	}
}

static void ring_defaults(struct net *net, struct seen *seen)
{
	*seen = (struct seen){0};
	net_defaults(net);
	net->fabric.observer = &observer;
	net->fabric.observer_ctx = seen;
	net->fabric.deadlock_check_ps = PS_PER_MS;
	net->sw.buffer_bytes = 1000000;
	net->sw.port.ecn[PRIO].is_enabled = false;
}

static void ring__deadlocks_and_names_the_circle(void **state)
{
	(void)state;
	for (uint32_t size = 3; size <= 4; size++) {
		struct seen seen;
		struct net net;
		uint64_t delivered;

		ring_defaults(&net, &seen);
		make_ring(&net, size, true);
		assert_int_equal(roce_fabric_prepare(net.f), 0);
		load_ring(&net, size, UINT64_C(1) << 30);
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_DEADLOCK);
		assert_true(roce_fabric_now_ps(net.f) < 100 * PS_PER_MS);
		assert_int_equal(seen.deadlocks, 1);
		assert_int_equal(seen.length, size);
		for (uint32_t i = 0; i < size; i++) {
			const struct roce_fabric_cycle *c = &seen.cycle[i];
			const struct roce_fabric_cycle *next = &seen.cycle[(i + 1) % size];
			struct roce_fabric_port_view view = net_port(&net, c->node, c->port);

			assert_int_equal(c->prio, PRIO);
			assert_int_equal(view.paused, 1u << PRIO);
			assert_int_equal(view.peer_node, next->node);
		}
		/* It is for ever: no byte arrives any more. */
		delivered = net_totals(&net).bytes_delivered;
		net_run(&net, roce_fabric_now_ps(net.f) + 5 * PS_PER_MS, ROCE_FABRIC_END_TIME);
		measured(net_totals(&net).bytes_delivered == delivered,
			 size == 3 ? "three switches in a ring, all clockwise"
				   : "four switches in a ring, all clockwise",
			 "deadlock, its circle named, nothing delivered any more",
			 "a circle of %u links; %u bytes in the 5 ms after", seen.length,
			 (unsigned)(net_totals(&net).bytes_delivered - delivered));
		assert_int_equal(net_drops(&net), 0);
		net_end(&net);
	}
}

static void ring__up_down_routes_cannot(void **state)
{
	(void)state;
	for (uint32_t size = 3; size <= 4; size++) {
		struct seen seen;
		struct net net;

		ring_defaults(&net, &seen);
		make_ring(&net, size, false);
		assert_int_equal(roce_fabric_route(net.f, ROCE_FABRIC_ROUTING_UP_DOWN), 0);
		assert_int_equal(roce_fabric_prepare(net.f), 0);
		load_ring(&net, size, 16 << 20);
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
		measured(seen.deadlocks == 0 && net_totals(&net).flows_done == size,
			 size == 3 ? "the same three, up-down routing"
				   : "the same four, up-down routing",
			 "never", "%u deadlocks, %u of %u flows done", seen.deadlocks,
			 net_totals(&net).flows_done, size);
		net_end(&net);
	}
}

/* A ring without PFC loses frames and goes on. */
static void ring__lossy_goes_on(void **state)
{
	struct seen seen;
	struct net net;

	(void)state;
	ring_defaults(&net, &seen);
	net.sw.port.pfc.prios = 0;
	net.sw.port.buffer[PRIO] = net.sw.port.buffer[0];
	make_ring(&net, 3, true);
	assert_int_equal(roce_fabric_prepare(net.f), 0);
	for (uint32_t i = 0; i < 3; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, (i + 2) % 3, 4 << 20);

		flow.timeout = 8;
		net_add(&net, &flow);
	}
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	assert_int_equal(seen.deadlocks, 0);
	assert_true(net_drops(&net) > 0);
	net_end(&net);
}

/* ---- storms ---- */

/* Host 2 pauses for ever. Host 0 sends to it, and to host 1, who is a victim. */
static void storm_if(struct net *net, struct seen *seen, bool has_watchdog, bool is_forwarding,
		     bool is_for_ever)
{
	struct roce_fabric_flow_config flow;
	uint32_t sw;

	*seen = (struct seen){0};
	net_defaults(net);
	net->fabric.observer = &observer;
	net->fabric.observer_ctx = seen;
	net->sw.watchdog = (struct roce_fabric_watchdog){.is_enabled = has_watchdog,
							 .is_forwarding = is_forwarding,
							 .poll_ps = POLL_PS,
							 .detect_ps = 2 * POLL_PS,
							 .restore_ps = 2 * POLL_PS};
	net_create(net);
	net_host(net);
	net_host(net);
	net->host.is_pausing_forever = is_for_ever;
	net_host(net);
	sw = net_switch(net);
	for (uint32_t i = 0; i < 3; i++)
		net_link(net, i, sw);
	assert_int_equal(roce_fabric_prepare(net->f), 0);
	flow = net_flow(0, 2, UINT64_C(1) << 30);
	flow.timeout = 0;
	net_add(net, &flow);
	flow = net_flow(0, 1, 16 << 20);
	flow.timeout = 0;
	net_add(net, &flow);
}

static void storm(struct net *net, struct seen *seen, bool has_watchdog, bool is_forwarding)
{
	storm_if(net, seen, has_watchdog, is_forwarding, true);
}

static void storm__victims_stand_still(void **state)
{
	struct seen seen;
	struct net net;

	(void)state;
	storm(&net, &seen, false, false);
	net_run(&net, 5 * PS_PER_MS, ROCE_FABRIC_END_TIME);
	assert_int_equal(net_result(&net, 1).state, ROCE_FABRIC_FLOW_RUNNING);
	assert_int_equal(net_result(&net, 0).bytes_delivered, 0);
	measured(net_result(&net, 1).bytes_delivered < 12 << 20,
		 "a host that pauses for ever: a victim elsewhere", "stands still",
		 "%.1f of 16.8 MB in 5 ms", (double)net_result(&net, 1).bytes_delivered * 1e-6);
	assert_int_equal(seen.deadlocks, 0); /* it is none: nobody waits in a circle */
	net_end(&net);
}

static void storm__watchdog_frees_the_victims(void **state)
{
	struct roce_fabric_flow_result victim;
	struct seen seen;
	struct net net;

	(void)state;
	storm(&net, &seen, true, false);
	net_run(&net, 5 * PS_PER_MS, ROCE_FABRIC_END_TIME);
	assert_int_equal(seen.storms, 1);
	assert_int_equal(seen.storm_ends, 0); /* the pauses go on: no flapping */
	/* Two polls that find it stuck, the first of them after one that found it sending. */
	measured(seen.storms == 1 && seen.storm_ends == 0 && seen.storm_ps >= 2 * POLL_PS &&
			 seen.storm_ps <= 3 * POLL_PS &&
			 net_result(&net, 1).state == ROCE_FABRIC_FLOW_DONE,
		 "the same with a watchdog of 200 us", "one storm, no flapping, the victim ends",
		 "%u storm at %.0f us, %u ends, victim done at %.0f us", seen.storms,
		 (double)seen.storm_ps * 1e-6, seen.storm_ends,
		 (double)net_result(&net, 1).done_ps * 1e-6);
	victim = net_result(&net, 1);
	assert_int_equal(victim.state, ROCE_FABRIC_FLOW_DONE);
	assert_true(victim.done_ps > seen.storm_ps);
	assert_int_equal(net_port(&net, 3, 2).prio_counters[PRIO][ROCE_FABRIC_TX_STORMS], 1);
	assert_true(net_totals(&net).drops[ROCE_FABRIC_DROP_STORM] > 0);
	assert_int_equal(net_drops(&net), net_totals(&net).drops[ROCE_FABRIC_DROP_STORM]);
	net_end(&net);
}

static void storm__forwarding_ignores_the_pauses(void **state)
{
	struct seen seen;
	struct net net;

	(void)state;
	storm(&net, &seen, true, true);
	net_run(&net, 5 * PS_PER_MS, ROCE_FABRIC_END_TIME);
	assert_int_equal(seen.storms, 1);
	assert_int_equal(net_drops(&net), 0);
	assert_int_equal(net_result(&net, 1).state, ROCE_FABRIC_FLOW_DONE);
	assert_true(net_result(&net, 0).bytes_delivered > 0);
	net_end(&net);
}

/* The host is mended: the pauses end, and so does the storm. */
static void storm__ends_when_the_pauses_do(void **state)
{
	struct seen seen;
	struct net net;

	(void)state;
	storm(&net, &seen, true, false);
	assert_int_equal(roce_fabric_schedule_storm(net.f, 2, false, PS_PER_MS), 0);
	net_run(&net, 3 * PS_PER_MS, ROCE_FABRIC_END_TIME);
	assert_int_equal(seen.storms, 1);
	assert_int_equal(seen.storm_ends, 1);
	assert_in_range(seen.storm_end_ps, PS_PER_MS + 2 * POLL_PS, PS_PER_MS + 4 * POLL_PS);
	net_end(&net);
}

/* The link of the broken host is drawn for a while: when it is back, it pauses again. */
static void storm__comes_back_with_the_link(void **state)
{
	struct seen seen;
	struct net net;

	(void)state;
	storm(&net, &seen, false, false);
	assert_int_equal(roce_fabric_schedule_link(net.f, 2, 0, false, PS_PER_MS), 0);
	assert_int_equal(roce_fabric_schedule_link(net.f, 2, 0, true, 2 * PS_PER_MS), 0);
	net_run(&net, 3 * PS_PER_MS / 2, ROCE_FABRIC_END_TIME);
	assert_int_equal(net_port(&net, 3, 2).paused, 0);
	net_run(&net, 3 * PS_PER_MS, ROCE_FABRIC_END_TIME);
	assert_int_equal(net_port(&net, 3, 2).paused, 1u << PRIO);
	net_end(&net);
}

/* From 1 to 3 ms, told to begin twice and to end twice, the ends 1 ms apart: until the last. */
static void storm__begins_and_ends_when_it_is_told(void **state)
{
	struct seen seen;
	struct net net;

	(void)state;
	storm_if(&net, &seen, false, false, false);
	for (uint32_t ms = 1; ms <= 3; ms += 2) {
		assert_int_equal(roce_fabric_schedule_storm(net.f, 2, true, PS_PER_MS), 0);
		assert_int_equal(roce_fabric_schedule_storm(net.f, 2, false, ms * PS_PER_MS), 0);
	}
	net_run(&net, PS_PER_MS - 1, ROCE_FABRIC_END_TIME);
	assert_int_equal(net_port(&net, 3, 2).prio_counters[PRIO][ROCE_FABRIC_RX_PAUSE], 0);
	net_run(&net, 5 * PS_PER_MS / 2, ROCE_FABRIC_END_TIME);
	assert_int_equal(net_port(&net, 3, 2).paused, 1u << PRIO);
	net_run(&net, 4 * PS_PER_MS, ROCE_FABRIC_END_TIME);
	assert_int_equal(net_port(&net, 3, 2).paused, 0);
	assert_in_range(net_port(&net, 3, 2).prio_counters[PRIO][ROCE_FABRIC_RX_PAUSE_DURATION],
			1999, 2001);
	assert_int_equal(net_port(&net, 3, 2).prio_counters[PRIO][ROCE_FABRIC_RX_PAUSE_TRANSITION],
			 1);
	assert_int_equal(net_drops(&net), 0);
	net_end(&net);
}

static uint64_t delivered(const struct net *net)
{
	return net_result(net, 0).bytes_delivered;
}

/* At 10 of 100 Gb/s from 1 to 3 ms; what waits in the buffer leaves at each new rate. */
static void receiver__slow_for_a_while(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, UINT64_C(1) << 30);
	uint64_t at[4];
	struct net net;

	(void)state;
	net_defaults(&net);
	net_star(&net, 2);
	net_add(&net, &flow);
	assert_int_equal(roce_fabric_schedule_drain(net.f, 1, 10 * GBPS, PS_PER_MS), 0);
	assert_int_equal(roce_fabric_schedule_drain(net.f, 1, 0, 3 * PS_PER_MS), 0);
	for (uint64_t ms = 1; ms <= 4; ms++) {
		net_run(&net, ms * PS_PER_MS, ROCE_FABRIC_END_TIME);
		at[ms - 1] = delivered(&net);
	}
	assert_true(net_port(&net, 2, 1).prio_counters[PRIO][ROCE_FABRIC_RX_PAUSE] > 0);
	/* Of 12.25 MB a ms of payload, a tenth. */
	assert_in_range(at[2] - at[1], 1200000, 1250000);
	assert_in_range(at[3] - at[2], 12000000, 12600000);
	assert_int_equal(net_drops(&net), 0);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	assert_int_equal(delivered(&net), UINT64_C(1) << 30);
	net_end(&net);
}

static void host_fault__refused(void **state)
{
	struct net net;

	(void)state;
	net_defaults(&net);
	net_star(&net, 2);
	net_run(&net, 10, ROCE_FABRIC_END_TIME);
	assert_int_equal(roce_fabric_schedule_storm(net.f, 2, true, 20), -EINVAL);
	assert_int_equal(roce_fabric_fault(net.f, NULL, NULL, NULL),
			 ROCE_FABRIC_FAULT_NO_SUCH_NODE);
	assert_int_equal(roce_fabric_schedule_drain(net.f, 0, 0, 9), -EINVAL);
	assert_int_equal(roce_fabric_fault(net.f, NULL, NULL, NULL), ROCE_FABRIC_FAULT_PAST);
	net_end(&net);
}

/* A run of which nothing is left but those who look: it says so, instead of going on for ever. */
static void idle__ends_the_run(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 64);
	struct net net;

	(void)state;
	net_defaults(&net);
	net.sw.watchdog.is_enabled = true;
	net_star(&net, 2);
	flow.timeout = 0;
	net_add(&net, &flow);
	assert_int_equal(roce_fabric_schedule_link(net.f, 1, 0, false, 1), 0);
	net_run(&net, UINT64_MAX, ROCE_FABRIC_END_IDLE);
	assert_int_equal(net_result(&net, 0).state, ROCE_FABRIC_FLOW_RUNNING);
	net_end(&net);
}

/* The storm without a watchdog: pauses come for ever, and nothing else. */
static void stall__ends_the_run(void **state)
{
	struct seen seen;
	struct net net;

	(void)state;
	storm(&net, &seen, false, false);
	net_run(&net, UINT64_MAX, ROCE_FABRIC_END_STALLED);
	net_end(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring__deadlocks_and_names_the_circle),
		cmocka_unit_test(ring__up_down_routes_cannot),
		cmocka_unit_test(ring__lossy_goes_on),
		cmocka_unit_test(storm__victims_stand_still),
		cmocka_unit_test(storm__watchdog_frees_the_victims),
		cmocka_unit_test(storm__forwarding_ignores_the_pauses),
		cmocka_unit_test(storm__ends_when_the_pauses_do),
		cmocka_unit_test(storm__comes_back_with_the_link),
		cmocka_unit_test(storm__begins_and_ends_when_it_is_told),
		cmocka_unit_test(receiver__slow_for_a_while),
		cmocka_unit_test(host_fault__refused),
		cmocka_unit_test(idle__ends_the_run),
		cmocka_unit_test(stall__ends_the_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
