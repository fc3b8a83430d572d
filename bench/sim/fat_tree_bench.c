/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How fast the fabric runs: a permutation on a fat-tree, the whole core with DCQCN in every host.
 * Prints network, hops, events, CPU seconds of the run and of building, hops a second and memory.
 *
 *   fat_tree_bench [k [bytes per host]]     8 ports and 2,000,000 bytes without arguments
 */
#include "base/prng.h"
#include "fabric/fat_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static long memory_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* Without fixed points: each one is exchanged with its neighbour. */
static void shuffle(uint32_t *to, uint32_t count)
{
	struct roce_prng prng = {1};

	for (uint32_t i = 0; i < count; i++)
		to[i] = i;
	for (uint32_t i = count - 1; i > 0; i--) {
		uint32_t j = (uint32_t)roce_prng_below(&prng, i + 1);
		uint32_t swap = to[i];

		to[i] = to[j];
		to[j] = swap;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t j = (i + 1) % count;
		uint32_t swap = to[i];

		if (to[i] != i)
			continue;
		to[i] = to[j];
		to[j] = swap;
	}
}

static double mean_fct_us(const struct net *net, uint32_t count, double *out_max)
{
	double sum = 0;

	*out_max = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct roce_fabric_flow_result r = net_result(net, i);
		double us = (double)(r.done_ps - r.started_ps) * 1e-6;

		sum += us;
		if (us > *out_max)
			*out_max = us;
	}
	return sum / count;
}

int main(int argc, char **argv)
{
	uint32_t k = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 8;
	uint64_t bytes = argc > 2 ? strtoull(argv[2], NULL, 0) : 2000000;
	uint32_t hosts = k * k * k / 4;
	uint32_t *to = calloc(hosts, sizeof(*to));
	struct net net;
	struct roce_fabric_totals totals;
	double start, built, end, mean, max;
	enum roce_fabric_end why;

	if (!to || k < 2 || k % 2) {
		fprintf(stderr, "usage: fat_tree_bench [k [bytes]], k even\n");
		return 2;
	}
	shuffle(to, hosts);
	start = cpu_seconds();
	hpcc_defaults(&net);
	hpcc_control(&net, 50, 50, 55);
	fat_tree(&net, k);
	for (uint32_t i = 0; i < hosts; i++) {
		struct roce_fabric_flow_config flow =
			hpcc_flow(i, k == 8 ? fat_tree_8_permutation[i] : to[i], bytes);

		net_add(&net, &flow);
	}
	built = cpu_seconds();
	why = roce_fabric_run(net.f, UINT64_MAX);
	end = cpu_seconds();
	roce_fabric_totals(net.f, &totals);
	mean = mean_fct_us(&net, hosts, &max);
	printf("%u hosts: %s; %" PRIu64 " hops, %" PRIu64 " events, run %.3f s, build %.3f s, "
	       "%.2f M hops/s, %.2f M events/s, %ld MiB\n",
	       hosts, roce_fabric_end_str(why), totals.packet_hops, totals.events, end - built,
	       built - start, (double)totals.packet_hops / (end - built) * 1e-6,
	       (double)totals.events / (end - built) * 1e-6, memory_kib() / 1024);
	printf("FCT us mean %.1f max %.1f, pauses %" PRIu64 ", marks %" PRIu64 "\n", mean, max,
	       totals.pause_frames, totals.ecn_marks);
	net_end(&net);
	free(to);
	return 0;
}
