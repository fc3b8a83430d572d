/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Four switches in a ring that lock up, and two cures: a second lossless class for what would close
 * the circle, and PFC for the one priority that needs it. The load, the buffers and the routes are
 * the same with and without.
 */
#include "fabric/measure.h"
#include "fabric/net.h"

#define SIZE	   4u
#define PRIO_A	   3u
#define PRIO_B	   4u
#define DSCP(prio) ((uint8_t)((prio)*8))

static void on_deadlock(void *ctx, uint64_t ps, const struct roce_fabric_cycle *cycle,
			uint32_t count)
{
	uint32_t *length = ctx;

	(void)ps;
	(void)cycle;
	*length = count;
}

static const struct roce_fabric_observer observer = {.deadlock = on_deadlock};

enum classes { ONE_CLASS, TWO_CLASSES, TWO_IN_ONE_QUEUE };

/* PFC and a lossless buffer for these priorities, each in a queue of its own, or those of the two
 * classes in one. */
static void lossless(struct roce_fabric_port_config *port, uint8_t prios, bool is_one_queue)
{
	struct roce_fabric_buffer lossless_buffer = port->buffer[PRIO_A];
	struct roce_fabric_buffer lossy_buffer = port->buffer[0];

	port->pfc.prios = prios;
	for (uint32_t prio = 0; prio < ROCE_FABRIC_PRIOS; prio++) {
		port->buffer[prio] = prios >> prio & 1 ? lossless_buffer : lossy_buffer;
		port->qos.prio_to_tc[prio] = (uint8_t)prio;
		port->qos.tc_scheduler[prio] = ROCE_FABRIC_DWRR;
		port->qos.tc_weight[prio] = 10;
		port->ecn[prio].is_enabled = false;
	}
	if (is_one_queue)
		port->qos.prio_to_tc[PRIO_B] = PRIO_A;
}

/* Host i at switch SIZE + i; all goes clockwise. */
static void make_ring(struct net *net, uint8_t prios, bool is_one_queue, uint64_t buffer_bytes,
		      uint32_t *cycle)
{
	*cycle = 0;
	net_defaults(net);
	net->fabric.observer = &observer;
	net->fabric.observer_ctx = cycle;
	net->fabric.deadlock_check_ps = PS_PER_MS;
	net->sw.buffer_bytes = buffer_bytes;
	lossless(&net->sw.port, prios, is_one_queue);
	lossless(&net->host.port, prios, is_one_queue);
	net_create(net);
	for (uint32_t i = 0; i < SIZE; i++)
		net_host(net);
	for (uint32_t i = 0; i < SIZE; i++)
		net_switch(net);
	for (uint32_t i = 0; i < SIZE; i++)
		net_link(net, i, SIZE + i);
	for (uint32_t i = 0; i < SIZE; i++)
		net_link(net, SIZE + i, SIZE + (i + 1) % SIZE);
	for (uint32_t i = 0; i < SIZE; i++) {
		uint32_t out = i == 0 ? 1 : 2;

		for (uint32_t d = 0; d < SIZE; d++)
			if (d != i)
				assert_int_equal(
					roce_fabric_route_static(net->f, SIZE + i, d, &out, 1), 0);
	}
	assert_int_equal(roce_fabric_prepare(net->f), 0);
}

static void send(struct net *net, uint32_t src, uint32_t hops, uint32_t prio, uint64_t bytes)
{
	struct roce_fabric_flow_config flow = net_flow(src, (src + hops) % SIZE, bytes);

	flow.prio = (uint8_t)prio;
	flow.dscp = DSCP(prio);
	flow.timeout = 10;
	net_add(net, &flow);
}

/* Each host to the one three switches on; with two classes, those that start behind the middle of
 * the ring are of the second: neither class has a circle. */
static enum roce_fabric_end run_ring(enum classes classes, uint64_t bytes, uint64_t buffer_bytes,
				     uint32_t *cycle, uint64_t *pauses)
{
	struct net net;
	enum roce_fabric_end end;

	make_ring(&net, 1u << PRIO_A | 1u << PRIO_B, classes == TWO_IN_ONE_QUEUE, buffer_bytes,
		  cycle);
	for (uint32_t i = 0; i < SIZE; i++)
		send(&net, i, SIZE - 1, classes != ONE_CLASS && i >= SIZE / 2 ? PRIO_B : PRIO_A,
		     bytes);
	end = roce_fabric_run(net.f, PS_PER_S);
	*pauses = net_totals(&net).pause_frames;
	assert_int_equal(net_drops(&net), 0);
	net_end(&net);
	return end;
}

static void ring_of_4__never_with_two_classes(void **state)
{
	static const uint64_t buffers[] = {1000000, 1500000, 4000000};
	uint32_t locked = 0, free_of_it = 0, cycle = 0;
	uint64_t pauses = 0;

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		for (uint64_t bytes = 4 << 20; bytes <= 16 << 20; bytes *= 2) {
			locked += run_ring(ONE_CLASS, bytes, buffers[i], &cycle, &pauses) ==
				  ROCE_FABRIC_END_DEADLOCK;
			free_of_it += run_ring(TWO_CLASSES, bytes, buffers[i], &cycle, &pauses) ==
				      ROCE_FABRIC_END_DONE;
			assert_int_equal(cycle, 0);
			assert_true(pauses > 0); /* it is under pressure all the same */
		}
	}
	measured(locked == 9, "four switches in a ring, one class", "deadlock",
		 "%u of 9 runs (3 buffers, 3 lengths)", locked);
	measured(free_of_it == 9, "the same, two tagged classes", "never", "%u of 9 runs end well",
		 free_of_it);
}

/* A pause of either class holds up the frames of both, so the circle is closed again. */
static void ring_of_4__two_classes_of_one_queue(void **state)
{
	uint32_t cycle;
	uint64_t pauses;

	(void)state;
	assert_int_equal(run_ring(TWO_IN_ONE_QUEUE, 16 << 20, 1000000, &cycle, &pauses),
			 ROCE_FABRIC_END_DEADLOCK);
	assert_int_equal(cycle, SIZE);
}

/* RoCE between neighbours, which cannot lock up, beside other traffic that goes all round. */
static enum roce_fabric_end run_mixed(uint8_t prios, uint32_t *cycle, uint64_t *drops,
				      uint64_t *roce_drops)
{
	struct net net;
	enum roce_fabric_end end;

	make_ring(&net, prios, false, 3000000, cycle);
	for (uint32_t i = 0; i < SIZE; i++) {
		send(&net, i, 1, PRIO_A, 8 << 20);
		send(&net, i, SIZE - 1, 0, 8 << 20);
	}
	end = roce_fabric_run(net.f, PS_PER_S);
	*drops = net_drops(&net);
	*roce_drops = 0;
	for (uint32_t i = 0; i < SIZE; i++) {
		for (uint32_t port = 0; port < 3; port++) {
			struct roce_fabric_port_view view = net_port(&net, SIZE + i, port);

			*roce_drops += view.prio_counters[PRIO_A][ROCE_FABRIC_RX_DISCARDS] +
				       view.prio_counters[PRIO_A][ROCE_FABRIC_TX_DISCARDS];
		}
	}
	net_end(&net);
	return end;
}

static void mixed__pfc_on_one_priority_cures_it(void **state)
{
	uint64_t drops[2], roce_drops[2];
	uint32_t cycle[2];
	enum roce_fabric_end all = run_mixed(0xff, &cycle[0], &drops[0], &roce_drops[0]);
	enum roce_fabric_end one = run_mixed(1u << PRIO_A, &cycle[1], &drops[1], &roce_drops[1]);

	(void)state;
	measured(all == ROCE_FABRIC_END_DEADLOCK && cycle[0] == SIZE,
		 "RoCE beside bulk round a ring, PFC on all eight priorities", "deadlock",
		 "a circle of %u ports", cycle[0]);
	measured(one == ROCE_FABRIC_END_DONE && roce_drops[1] == 0 && drops[1] > 0,
		 "the same, PFC on priority 3 only", "all flows end, RoCE loses nothing",
		 "%s; RoCE lost %u frames, bulk %u", roce_fabric_end_str(one),
		 (unsigned)roce_drops[1], (unsigned)drops[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_of_4__never_with_two_classes),
		cmocka_unit_test(ring_of_4__two_classes_of_one_queue),
		cmocka_unit_test(mixed__pfc_on_one_priority_cures_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
