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

static const char *const timers_str[2] = {"timers 50, 50, 55 us", "timers 1, 4, 300 us"};
static const uint32_t timers[2][3] = {{50, 50, 55}, {1, 4, 300}};

static void run_permutation(struct net *net, int timer, uint64_t seed, bool has_step)
{
	hpcc_defaults(net);
	net->fabric.seed = seed;
	if (timer >= 0)
		hpcc_control(net, timers[timer][0], timers[timer][1], timers[timer][2]);
	else
		net->sw.port.ecn[3].is_enabled = false;
	if (has_step)
		net->sw.port.ecn[3].kmax_bytes = net->sw.port.ecn[3].kmin_bytes;
	fat_tree(net, 8);
	permute(net);
}

/* How many flows end in the same nanosecond, and by what share the others are off at most. */
static uint32_t count_same(const struct net *net, const uint32_t *known_ns, double *out_most)
{
	uint32_t same = 0;

	*out_most = 0;
	for (uint32_t i = 0; i < HOSTS; i++) {
		double ns = (double)net_result(net, i).done_ps / PS_PER_NS;
		double off = ns / known_ns[i] - 1;

		same += ns > known_ns[i] - 0.5 && ns < known_ns[i] + 0.5;
		off = off < 0 ? -off : off;
		*out_most = off > *out_most ? off : *out_most;
	}
	return same;
}

/* Nothing is drawn: flow by flow. Who meets whom on a link, who waits for whom, and when each rate
 * changes must be as there; what is left is that rates are kept in kbit/s here. */
static void permutation__flow_by_flow(void **state)
{
	static const uint32_t same_min[3] = {120, 64, 20};
	static const double off_max[3] = {0.001, 0.01, 0.05};
	static const char *const names[2] = {"timers 50, 50, 55 us, all marked above 400 kB",
					     "timers 1, 4, 300 us, all marked above 400 kB"};

	(void)state;
	for (int k = 0; k < 3; k++) {
		struct net net;
		char what[96], range[96];
		uint32_t same;
		double off;

		run_permutation(&net, k - 1, 1, true);
		same = count_same(&net, hpcc_times_ns[k], &off);
		snprintf(what, sizeof(what), "the same, %s: each flow's FCT",
			 k ? names[k - 1] : "no congestion control");
		snprintf(range, sizeof(range),
			 "within %.1f%%; to the nanosecond for %u of 128 at least",
			 off_max[k] * 100, same_min[k]);
		measured(off < off_max[k] && same >= same_min[k], what, range,
			 "within %.2f%%; %u to the nanosecond", off * 100, same);
		net_end(&net);
	}
}

static int compare_times(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Those of the second timers differ more. */
static const uint32_t runs[2] = {4, 8};

/* Adds least, deciles, most and mean. */
static void add_deciles(const struct net *net, double *sums)
{
	double us[HOSTS];

	for (uint32_t i = 0; i < HOSTS; i++) {
		us[i] = (double)net_result(net, i).done_ps * 1e-6;
		sums[HPCC_DECILES] += us[i] / HOSTS;
	}
	qsort(us, HOSTS, sizeof(*us), compare_times);
	for (uint32_t d = 0; d < HPCC_DECILES; d++)
		sums[d] += us[d ? (HOSTS * d + 9) / 10 - 1 : 0];
}

/* Marks are drawn: distributions, of several runs. They are the longest of all that is measured, so
 * only where rows are asked for. */
static void permutation__distributions(void **state)
{
	(void)state;
	if (!measured_rows())
		skip();
	for (int k = 0; k < 2; k++) {
		double sums[HPCC_DECILES + 1] = {0};
		double off[HPCC_DECILES + 1];
		uint32_t worst = 0;
		char what[96], range[96];

		for (uint32_t seed = 1; seed <= runs[k]; seed++) {
			struct net net;

			run_permutation(&net, k, seed, false);
			add_deciles(&net, sums);
			net_end(&net);
		}
		for (uint32_t d = 0; d <= HPCC_DECILES; d++) {
			off[d] = sums[d] / runs[k] / (hpcc_deciles[k][d] / 10.0) - 1;
			off[d] = off[d] < 0 ? -off[d] : off[d];
			if (d < HPCC_DECILES && off[d] > off[worst])
				worst = d;
		}
		snprintf(what, sizeof(what), "the same, %s, marks drawn: mean FCT of %u runs",
			 timers_str[k], runs[k]);
		snprintf(range, sizeof(range), "%.1f us within 2%%",
			 hpcc_deciles[k][HPCC_DECILES] / 10.0);
		measured(off[HPCC_DECILES] < 0.02, what, range, "%.1f us",
			 sums[HPCC_DECILES] / runs[k]);
		snprintf(what, sizeof(what), "the same, %s, marks drawn: distribution of FCT",
			 timers_str[k]);
		measured(off[worst] < 0.05, what, "least, each decile and most within 5%",
			 "all within %.1f%% (at %u%%: %.1f and %.1f us)", off[worst] * 100,
			 worst * 10, sums[worst] / runs[k], hpcc_deciles[k][worst] / 10.0);
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
		cmocka_unit_test(permutation__flow_by_flow),
		cmocka_unit_test(permutation__distributions),
#endif
		cmocka_unit_test(frames__case_082_kinds_are_not_guessed_by_length),
		cmocka_unit_test(run__same_seed_same_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
