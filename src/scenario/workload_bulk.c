/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows of one size between hosts: pairs, incast, permutation, all to all. */
#include "scenario/workload.h"

#include <stdlib.h>
#include <string.h>

static uint64_t draw_start(struct roce_workload *w, struct roce_prng *prng)
{
	uint64_t jitter = w->conf->jitter;

	return w->conf->start + (jitter ? roce_prng_below(prng, jitter) : 0);
}

/* All rounds between two hosts, each behind the one before. */
static void add_rounds(struct roce_workload *w, struct roce_prng *jitter, uint32_t src,
		       uint32_t dst)
{
	uint32_t last = ROCE_FLOW_NONE;

	for (uint64_t round = 0; round < w->conf->rounds && !w->flows->is_full; round++)
		last = roce_workload_add(w, src, dst, w->conf->bytes,
					 round ? 0 : draw_start(w, jitter), last);
}

static void add_pairs(struct roce_workload *w, const struct roce_nodes *to)
{
	struct roce_prng jitter = roce_stream_init(w->in->seed, w->index, ROCE_STREAM_JITTER);

	/* Neighbours in time go to different hosts. */
	for (uint32_t turn = 0; turn < to->count; turn++) {
		for (uint32_t i = 0; i < w->from.count && !w->flows->is_full; i++) {
			uint32_t dst = to->at[(i + turn) % to->count];

			if (w->from.at[i] != dst)
				add_rounds(w, &jitter, w->from.at[i], dst);
		}
	}
}

void roce_workload_flow(struct roce_workload *w)
{
	add_pairs(w, &w->to);
}

void roce_workload_all_to_all(struct roce_workload *w)
{
	add_pairs(w, &w->from);
}

void roce_workload_permutation(struct roce_workload *w)
{
	struct roce_prng peers = roce_stream_init(w->in->seed, w->index, ROCE_STREAM_PEERS);
	struct roce_prng jitter = roce_stream_init(w->in->seed, w->index, ROCE_STREAM_JITTER);
	uint32_t count = w->from.count;
	uint32_t *to = malloc((count + 1) * sizeof(*to));

	if (count < 2) {
		roce_problem_add(w->problems, w->conf->where.kind, "a permutation needs two hosts");
	} else if (to) {
		roce_chance_derange(&peers, to, count);
		for (uint32_t i = 0; i < count; i++)
			add_rounds(w, &jitter, w->from.at[i], w->from.at[to[i]]);
	}
	free(to);
}

/* The senders of one receiver; drawn anew for each round. */
static void add_incast(struct roce_workload *w, uint32_t dst, struct roce_prng *peers,
		       struct roce_prng *jitter, uint32_t *senders)
{
	uint32_t count = 0;
	uint32_t wanted = (uint32_t)w->conf->fan_in;
	uint32_t before;

	for (uint32_t i = 0; i < w->from.count; i++) {
		if (w->from.at[i] != dst)
			senders[count++] = w->from.at[i];
	}
	if (count < wanted) {
		roce_problem_add(w->problems, w->conf->where.fan_in,
				 "fan_in: %u senders for %s, expected at most %u", wanted,
				 w->in->graph->nodes[dst].name, count);
		return;
	}
	wanted = wanted ? wanted : count;
	before = w->flows->count;
	for (uint64_t round = 0; round < w->conf->rounds && !w->flows->is_full; round++) {
		if (wanted < count)
			roce_chance_shuffle(peers, senders, count);
		/* The n-th of a round comes behind the n-th of the last. */
		for (uint32_t i = 0; i < wanted; i++)
			roce_workload_add(w, senders[i], dst, w->conf->bytes,
					  round ? 0 : draw_start(w, jitter),
					  round ? before + (uint32_t)(round - 1) * wanted + i
						: ROCE_FLOW_NONE);
	}
}

void roce_workload_incast(struct roce_workload *w)
{
	struct roce_prng peers = roce_stream_init(w->in->seed, w->index, ROCE_STREAM_PEERS);
	struct roce_prng jitter = roce_stream_init(w->in->seed, w->index, ROCE_STREAM_JITTER);
	uint32_t *senders = malloc((w->from.count + 1) * sizeof(*senders));

	for (uint32_t i = 0; senders && i < w->to.count; i++)
		add_incast(w, w->to.at[i], &peers, &jitter, senders);
	free(senders);
}
