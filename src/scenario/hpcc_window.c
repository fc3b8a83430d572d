/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The window of HAS_WIN: the largest product of bandwidth and round trip of all pairs of hosts, by
 * that simulator's sums. A round trip is twice the delay of the cables and once the time of a
 * payload on each line, in whole nanoseconds; the way is the first that a search finds.
 */
#include "scenario/hpcc_internal.h"

#include <stdlib.h>

struct reach {
	bool is_found;
	uint64_t delay_ns;
	uint64_t tx_ns;
	uint64_t rate;
};

static void step(const struct roce_plan *plan, uint64_t payload_bytes, const struct reach *from,
		 uint32_t edge, struct reach *out)
{
	const struct roce_link_conf *link = plan->links[edge];

	*out = (struct reach){
		.is_found = true,
		.delay_ns = from->delay_ns + link->delay / ROCE_PS_PER_NS,
		.tx_ns = from->tx_ns + payload_bytes * UINT64_C(8000000000) / link->rate,
		.rate = link->rate < from->rate ? link->rate : from->rate,
	};
}

/* From host `from` to all others: the largest product in bytes. */
static uint64_t largest_from(const struct roce_plan *plan, uint64_t payload_bytes, uint32_t from,
			     struct reach *reach, uint32_t *line)
{
	const struct roce_graph *g = &plan->graph;
	uint32_t head = 0, tail = 0;
	uint64_t most = 0;

	for (uint32_t i = 0; i < g->node_count; i++)
		reach[i] = (struct reach){0};
	reach[from] = (struct reach){.is_found = true, .rate = UINT64_MAX};
	line[tail++] = from;
	while (head < tail) {
		uint32_t at = line[head++];

		for (uint32_t i = roce_graph_degree(g, at); i-- > 0;) {
			uint32_t edge, to = roce_graph_neighbour(g, at, i, &edge);
			unsigned __int128 bits;

			if (reach[to].is_found)
				continue;
			step(plan, payload_bytes, &reach[at], edge, &reach[to]);
			if (!g->nodes[to].is_host) {
				line[tail++] = to;
				continue;
			}
			bits = (unsigned __int128)(2 * reach[to].delay_ns + reach[to].tx_ns) *
			       reach[to].rate;
			if (bits / 8000000000u > most)
				most = (uint64_t)(bits / 8000000000u);
		}
	}
	return most;
}

/* Hosts behind one switch on alike links see the same. */
static bool is_like(const struct roce_plan *plan, uint32_t a, uint32_t b)
{
	uint32_t edge_a, edge_b;

	if (roce_graph_neighbour(&plan->graph, a, 0, &edge_a) !=
	    roce_graph_neighbour(&plan->graph, b, 0, &edge_b))
		return false;
	return plan->links[edge_a]->rate == plan->links[edge_b]->rate &&
	       plan->links[edge_a]->delay == plan->links[edge_b]->delay;
}

uint64_t roce_hpcc_window_bytes(const struct roce_plan *plan, uint64_t payload_bytes)
{
	const struct roce_graph *g = &plan->graph;
	struct reach *reach = calloc(g->node_count, sizeof(*reach));
	uint32_t *line = calloc(g->node_count, sizeof(*line));
	uint32_t last = ROCE_HPCC_NO_HOST;
	uint64_t most = 0;

	for (uint32_t h = 0; reach && line && h < g->node_count; h++) {
		uint64_t bytes;

		if (!g->nodes[h].is_host || (last != ROCE_HPCC_NO_HOST && is_like(plan, last, h)))
			continue;
		last = h;
		bytes = largest_from(plan, payload_bytes, h, reach, line);
		most = bytes > most ? bytes : most;
	}
	free(reach);
	free(line);
	return most;
}
