/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows that come at random with sizes from a distribution, and a background of datagrams. */
#include "scenario/workload.h"

#include "scenario/cdf.h"

#include <stdlib.h>

static bool find_cdf(struct roce_workload *w, struct roce_cdf *out)
{
	const char *name = w->conf->cdf;
	struct roce_problems inner;
	char path[512];
	bool is_good;
	char *text;

	if (roce_cdf_find(name, out))
		return true;
	text = roce_workload_read(w, name, w->conf->where.cdf, path, sizeof(path));
	if (!text)
		return false;
	roce_problems_init(&inner, path);
	is_good = roce_cdf_parse(text, out, &inner);
	if (!is_good)
		roce_problem_add(w->problems, w->conf->where.cdf, "%.250s", inner.text[0]);
	free(text);
	return is_good;
}

/* Time between two flows of a sender whose link is loaded to `load`. */
static uint64_t mean_gap(uint64_t mean_bytes, uint64_t rate, uint64_t load)
{
	unsigned __int128 bits = (unsigned __int128)mean_bytes * 8 * ROCE_PS_PER_S;
	unsigned __int128 per_second = (unsigned __int128)rate * load / ROCE_FRACTION_ONE;
	unsigned __int128 gap = per_second ? bits / per_second : 0;

	return gap ? (uint64_t)gap : 1;
}

static uint32_t draw_peer(struct roce_workload *w, struct roce_prng *prng, uint32_t src)
{
	uint32_t dst;

	do
		dst = w->to.at[roce_prng_below(prng, w->to.count)];
	while (dst == src);
	return dst;
}

void roce_workload_poisson(struct roce_workload *w)
{
	struct roce_prng arrivals = roce_stream_init(w->in->seed, w->index, ROCE_STREAM_ARRIVALS);
	struct roce_prng sizes = roce_stream_init(w->in->seed, w->index, ROCE_STREAM_SIZES);
	struct roce_prng peers = roce_stream_init(w->in->seed, w->index, ROCE_STREAM_PEERS);
	struct roce_cdf *cdf = malloc(sizeof(*cdf));
	uint64_t end = w->conf->start + w->conf->duration;

	if (cdf && find_cdf(w, cdf)) {
		uint64_t mean = roce_cdf_mean(cdf);

		for (uint32_t i = 0; i < w->from.count; i++) {
			uint32_t src = w->from.at[i];
			uint64_t gap = mean_gap(mean, w->in->host_rates[src], w->conf->load);
			uint64_t at = w->conf->start + roce_chance_exponential(&arrivals, gap);

			if (w->to.count == 1 && w->to.at[0] == src)
				continue;
			for (; at < end && !w->flows->is_full;
			     at += roce_chance_exponential(&arrivals, gap))
				roce_workload_add(w, src, draw_peer(w, &peers, src),
						  roce_cdf_draw(cdf, &sizes), at, ROCE_FLOW_NONE);
		}
	}
	free(cdf);
}

#define BACKGROUND_DEPTH 1024

void roce_workload_background(struct roce_workload *w)
{
	const struct roce_workload_conf *c = w->conf;
	uint64_t interval = mean_gap(c->packet, c->rate, ROCE_FRACTION_ONE);
	uint64_t count = c->duration / interval;

	if (count == 0) {
		roce_problem_add(w->problems, c->where.kind,
				 "no packet in its duration: raise rate or duration");
		return;
	}
	if (!c->where.service)
		w->flow.service = ROCE_SERVICE_UD;
	w->flow.op = w->flow.service == ROCE_SERVICE_UD ? ROCE_OP_SEND : ROCE_OP_WRITE;
	w->flow.message_bytes = (uint32_t)c->packet;
	w->flow.interval_ps = interval;
	w->flow.is_poisson = c->arrival == ROCE_ARRIVAL_POISSON;
	w->flow.is_not_ecn = true;
	w->flow.depth = BACKGROUND_DEPTH;
	w->flow.queue_pairs = 1;
	for (uint32_t i = 0; i < w->from.count; i++) {
		uint32_t dst = w->to.at[i % w->to.count];

		if (dst == w->from.at[i] && w->to.count > 1)
			dst = w->to.at[(i + 1) % w->to.count];
		if (dst != w->from.at[i])
			roce_workload_add(w, w->from.at[i], dst, c->packet * count, c->start,
					  ROCE_FLOW_NONE);
	}
}
