/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A permutation on a fat-tree of 128 hosts under the rules of HPCC's ns-3 simulator: the number of
 * hops does not depend on who waits for whom, and is known. And that a run is a function of its
 * seed.
 */
#include "fabric/fat_tree.h"
#include "fabric/hpcc_times.h"
#include "fabric/measure.h"

#define HOSTS 128u
#define BYTES 2000000u

static void permute(struct net *net)
{
	for (uint32_t i = 0; i < HOSTS; i++) {
		struct roce_fabric_flow_config flow =
			hpcc_flow(i, fat_tree_8_permutation[i], BYTES);

		net_add(net, &flow);
	}
	net_run(net, PS_PER_S, ROCE_FABRIC_END_DONE);
}

static void permutation__hops_of_the_original(void **state)
{
	struct roce_fabric_totals totals;
	struct net net;

	(void)state;
	hpcc_defaults(&net);
	fat_tree(&net, 8);
	permute(&net);
	totals = net_totals(&net);
	measured(totals.packet_hops == 2984000, "HPCC ns-3, fat-tree of 128 hosts: packet hops",
		 "2984000", "%u", (unsigned)totals.packet_hops);
	assert_int_equal(totals.bytes_delivered, (uint64_t)HOSTS * BYTES);
	assert_int_equal(totals.flows_done, HOSTS);
	assert_int_equal(net_drops(&net), 0);
	for (uint32_t i = 0; i < HOSTS; i++) {
		struct roce_fabric_flow_result r = net_result(&net, i);

		assert_int_equal(r.packets_sent, BYTES / FAT_TREE_PAYLOAD);
		assert_int_equal(r.packets_repeated, 0);
		/* 2000 frames of 83 ns, and two cables at least. */
		assert_true(r.delivered_ps > 2000 * 83 * PS_PER_NS + 2 * PS_PER_US);
	}
	net_end(&net);
}

#ifndef ROCE_DEBUG /* six million hops: too many for sanitizers */

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The largest difference of the two distribution functions; both are sorted. */
static double distance(const double *us, const uint16_t *tenths)
{
	double most = 0;

	for (uint32_t i = 0; i < HOSTS; i++) {
		uint32_t below = 0, known = 0;
		double d;

		while (below < HOSTS && us[below] <= us[i])
			below++;
		while (known < HOSTS && tenths[known] <= us[i] * 10)
			known++;
		d = ((double)below - known) / HOSTS;
		d = d < 0 ? -d : d;
		most = d > most ? d : most;
	}
	return most;
}

/* Which flows meet on a link is decided by the order of next hops, which is that of addresses in
 * memory there and not known. Falling order was chosen because it fits best (rising: the second
 * mean is 7% off); single flows differ, so means and distributions are compared. */
static void permutation__times_of_the_original(void **state)
{
	static const uint32_t timers[2][3] = {{50, 50, 55}, {1, 4, 300}};

	(void)state;
	for (uint32_t k = 0; k < 2; k++) {
		double us[HOSTS], mean = 0, known = 0, apart;
		char what[96], range[96];
		struct net net;

		hpcc_defaults(&net);
		hpcc_control(&net, timers[k][0], timers[k][1], timers[k][2]);
		fat_tree_in_order(&net, 8, true);
		permute(&net);
		for (uint32_t i = 0; i < HOSTS; i++) {
			us[i] = (double)net_result(&net, i).done_ps * 1e-6;
			mean += us[i] / HOSTS;
			known += hpcc_times[k][i] / 10.0 / HOSTS;
		}
		qsort(us, HOSTS, sizeof(*us), compare_times);
		apart = distance(us, hpcc_times[k]);
		snprintf(what, sizeof(what), "the same, timers %u, %u, %u us: mean FCT",
			 timers[k][0], timers[k][1], timers[k][2]);
		snprintf(range, sizeof(range), "%.1f us within 5%%", known);
		measured(mean > 0.95 * known && mean < 1.05 * known, what, range, "%.1f us", mean);
		snprintf(what, sizeof(what),
			 "the same, timers %u, %u, %u us: distributions (Kolmogorov-Smirnov)",
			 timers[k][0], timers[k][1], timers[k][2]);
		measured(apart < 0.17, what, "below 0.17, what 128 flows can tell apart at 5%",
			 "%.3f", apart);
		net_end(&net);
	}
}

#endif

/* A small one, twice with one seed and once with another. */
static void run__same_seed_same_run(void **state)
{
	uint64_t ends[3] = {0};
	uint64_t events[3] = {0};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct net net;

		hpcc_defaults(&net);
		net.fabric.seed = i < 2 ? 1 : 2;
		net.sw.hash = ROCE_FABRIC_HASH_MIXED;
		fat_tree(&net, 4);
		for (uint32_t h = 0; h < 16; h++) {
			struct roce_fabric_flow_config flow = hpcc_flow(h, (h + 5) % 16, 100000);

			net_add(&net, &flow);
		}
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
		for (uint32_t h = 0; h < 16; h++)
			ends[i] = ends[i] * 31 + net_result(&net, h).done_ps;
		events[i] = net_totals(&net).events;
		net_end(&net);
	}
	assert_int_equal(ends[0], ends[1]);
	assert_int_equal(events[0], events[1]);
	assert_int_not_equal(ends[0], ends[2]);
}

/* What a packet is stands in its headers: under these rules data of 12 bytes is as
 * long as an ACK, and shorter data shorter; each message is delivered as itself. */
static void frames__case_082_kinds_are_not_guessed_by_length(void **state)
{
	(void)state;
	for (uint32_t operation = 0; operation < ROCE_FABRIC_OPERATION_COUNT; operation++) {
		struct net net;

		hpcc_defaults(&net);
		net_star(&net, 2);
		for (uint32_t bytes = 1; bytes <= 64; bytes++) {
			struct roce_fabric_flow_config flow = hpcc_flow(0, 1, (uint64_t)bytes * 10);

			flow.message_bytes = bytes;
			flow.operation = (uint8_t)operation;
			net_add(&net, &flow);
		}
		net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
		for (uint32_t i = 0; i < 64; i++) {
			struct roce_fabric_flow_result r = net_result(&net, i);

			assert_int_equal(r.state, ROCE_FABRIC_FLOW_DONE);
			assert_int_equal(r.bytes_delivered, (i + 1) * 10);
			assert_int_equal(r.packets_sent, 10);
			assert_int_equal(r.packets_repeated, 0);
		}
		net_end(&net);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(permutation__hops_of_the_original),
#ifndef ROCE_DEBUG
		cmocka_unit_test(permutation__times_of_the_original),
#endif
		cmocka_unit_test(frames__case_082_kinds_are_not_guessed_by_length),
		cmocka_unit_test(run__same_seed_same_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
