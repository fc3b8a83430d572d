/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DCQCN in a network: marks become CNPs, rates fall and share fairly, and under the rules of HPCC's
 * ns-3 simulator incasts take as long as they do there, within 2%.
 */
#include "fabric/fat_tree.h"
#include "fabric/hpcc_times.h"
#include "fabric/measure.h"

#include "cc/dcqcn.h"
#include "wire/opcode.h"

#ifdef ROCE_DEBUG /* sanitizers take their time */
#define INCASTS 6
#else
#define INCASTS 24
#endif

static void choose(struct roce_fabric_host_config *host, const char *set)
{
	const struct roce_cc_set *found;

	host->cc = &roce_cc_dcqcn;
	found = roce_cc_find_set(host->cc, set, strlen(set));
	assert_non_null(found);
	host->cc_params = found->params;
}

/* Two senders at full speed into one port: both near the half, by Jain's index. */
static void two_to_one__fair_and_no_pauses_in_the_end(void **state)
{
	double rate[2], jain;
	uint64_t pauses;
	struct net net;

	(void)state;
	net_defaults(&net);
	choose(&net.host, "connectx");
	net_star(&net, 3);
	for (uint32_t i = 0; i < 2; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, 2, UINT64_C(1) << 32);

		flow.start_ps = i * 500 * PS_PER_US;
		net_add(&net, &flow);
	}
	net_run(&net, 20 * PS_PER_MS, ROCE_FABRIC_END_TIME);
	assert_true(net_totals(&net).cnps > 0);
	assert_true(net_totals(&net).ecn_marks >= net_totals(&net).cnps);
	assert_int_equal(roce_fabric_host_counters(net.f, 2)->v[ROCE_STAT_CNP_SENT],
			 net_totals(&net).cnps);
	pauses = net_totals(&net).pause_frames;
	for (uint32_t i = 0; i < 2; i++)
		rate[i] = -(double)net_result(&net, i).bytes_delivered;
	net_run(&net, 60 * PS_PER_MS, ROCE_FABRIC_END_TIME);
	for (uint32_t i = 0; i < 2; i++)
		rate[i] = (rate[i] + (double)net_result(&net, i).bytes_delivered) * 8 / 40e6;
	jain = (rate[0] + rate[1]) * (rate[0] + rate[1]) /
	       (2 * (rate[0] * rate[0] + rate[1] * rate[1]));
	measured(jain > 0.98, "two into one, DCQCN: Jain's index", "at least 0.98",
		 "%.4f (%.1f and %.1f Gb/s)", jain, rate[0], rate[1]);
	assert_true(rate[0] + rate[1] > 80);
	assert_int_equal(net_totals(&net).pause_frames, pauses);
	net_end(&net);
}

/* The controller itself, by the paper's values. */
static void cnp__halves_and_alpha_falls(void **state)
{
	struct roce_cc_config cfg = {
		.ops = &roce_cc_dcqcn,
		.params = roce_cc_find_set(&roce_cc_dcqcn, "paper", 5)->params,
		.line_kbit_per_s = 100000000,
	};
	struct roce_cc cc;
	uint32_t first, second;
	double alpha;

	(void)state;
	cfg.params.v[ROCE_DCQCN_rpg_time_reset] = 131071; /* nothing rises meanwhile */
	roce_cc_init(&cc, &cfg);
	roce_cc_on_cnp(&cc, 0);
	first = roce_cc_rate(&cc, 0);
	roce_cc_on_cnp(&cc, UINT64_C(55000));
	second = roce_cc_rate(&cc, UINT64_C(55000));
	alpha = 2 - 2.0 * second / first; /* a cut takes half of alpha */
	measured(first == 50000000, "DCQCN: rate after the first CNP", "half of 100 Gb/s",
		 "%.3f Gb/s", first * 1e-6);
	measured(alpha > 254.99 / 256 && alpha < 255.01 / 256,
		 "DCQCN: alpha after 55 us without CNP", "255/256", "%.3f/256", alpha * 256);
}

/* ACKs: asked for so often, not with every packet. */
static void acks__as_often_as_asked(void **state)
{
	struct roce_fabric_flow_config flow = net_flow(0, 1, 16 << 20); /* 4096 packets */
	struct net net;

	(void)state;
	net_defaults(&net);
	net_star(&net, 2);
	net_add(&net, &flow);
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	assert_int_equal(roce_fabric_host_counters(net.f, 1)->v[ROCE_STAT_TX_ACKS],
			 4096 / net.host.ack_interval_packets);
	net_end(&net);
}

/* 16 to 1, 1 MB each, at once; marks are drawn, so several runs. */
static void incast_16__takes_as_long_as_with_hpcc(void **state)
{
	static const uint32_t timers[2][3] = {{50, 50, 55}, {1, 4, 300}};

	(void)state;
	for (uint32_t k = 0; k < 2; k++) {
		double known_mean = hpcc_incast[k][0] / 10.0, known_max = hpcc_incast[k][1] / 10.0;
		double mean = 0, longest = 0;
		char range[96];

		for (uint32_t seed = 1; seed <= INCASTS; seed++) {
			double max = 0;
			struct net net;

			hpcc_defaults(&net);
			net.fabric.seed = seed;
			hpcc_control(&net, timers[k][0], timers[k][1], timers[k][2]);
			net_star(&net, 17);
			for (uint32_t i = 0; i < 16; i++) {
				struct roce_fabric_flow_config flow = hpcc_flow(i, 16, 1000000);

				net_add(&net, &flow);
			}
			net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
			for (uint32_t i = 0; i < 16; i++) {
				double us = (double)net_result(&net, i).done_ps * 1e-6;

				mean += us / 16 / INCASTS;
				max = us > max ? us : max;
			}
			longest += max / INCASTS;
			assert_int_equal(net_totals(&net).pause_frames, 0);
			assert_int_equal(net_totals(&net).packet_hops, 64000);
			net_end(&net);
		}
		snprintf(range, sizeof(range), "%.1f and %.1f us within 2%%", known_mean,
			 known_max);
		measured(
			mean > 0.98 * known_mean && mean < 1.02 * known_mean &&
				longest > 0.98 * known_max && longest < 1.02 * known_max,
			k ? "HPCC ns-3, 16 to 1, timers 1, 4, 300 us: mean and maximum FCT, 24 runs"
			  : "HPCC ns-3, 16 to 1, timers 50, 50, 55 us: mean and maximum FCT, 24 "
			    "runs",
			range, "%.1f and %.1f us", mean, longest);
	}
}

/* The same with a window of 52,000 bytes, which is the bandwidth times the round trip there, and of
 * it as much as the rate is of the line. Nothing is drawn. */
static void incast_16__windows_as_with_hpcc(void **state)
{
	uint32_t same = 0;
	struct net net;

	(void)state;
	hpcc_defaults(&net);
	hpcc_control(&net, 1, 4, 300);
	net.sw.port.ecn[3].kmax_bytes = net.sw.port.ecn[3].kmin_bytes;
	net.host.window_bytes = 52000;
	net.host.is_window_by_rate = true;
	net_star(&net, 17);
	for (uint32_t i = 0; i < 16; i++) {
		struct roce_fabric_flow_config flow = hpcc_flow(i, 16, 1000000);

		net_add(&net, &flow);
	}
	net_run(&net, PS_PER_S, ROCE_FABRIC_END_DONE);
	for (uint32_t i = 0; i < 16; i++)
		same += net_result(&net, i).done_ps == hpcc_window_ns[i] * PS_PER_NS;
	measured(same == 16, "the same, windows by rate, all marked above 400 kB: each flow's FCT",
		 "to the nanosecond", "%u of 16", same);
	net_end(&net);
}

/* A window that shrinks with the rate must not leave a sender to wait for an ACK that nobody was
 * asked for, until the timeout: each packet asks, whatever the interval. */
static void windows_by_rate__never_wait_in_vain(void **state)
{
	struct net net;

	(void)state;
	net_defaults(&net);
	choose(&net.host, "connectx");
	net.host.window_bytes = 300000;
	net.host.is_window_by_rate = true;
	net.host.ack_interval_packets = 1024;
	net.sw.port.ecn[3].kmin_bytes = 30000;
	net_star(&net, 9);
	for (uint32_t i = 0; i < 8; i++) {
		struct roce_fabric_flow_config flow = net_flow(i, 8, 4000000);

		flow.message_bytes = 4000000;
		net_add(&net, &flow);
	}
	net_run(&net, 20 * PS_PER_MS, ROCE_FABRIC_END_DONE);
	assert_true(net_totals(&net).cnps > 0);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(net_result(&net, i).packets_repeated, 0);
	net_end(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_to_one__fair_and_no_pauses_in_the_end),
		cmocka_unit_test(cnp__halves_and_alpha_falls),
		cmocka_unit_test(acks__as_often_as_asked),
		cmocka_unit_test(incast_16__takes_as_long_as_with_hpcc),
		cmocka_unit_test(incast_16__windows_as_with_hpcc),
		cmocka_unit_test(windows_by_rate__never_wait_in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
