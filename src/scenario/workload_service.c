/* SPDX-License-Identifier: BSD-2-Clause */
/* Clients and servers: distributed block storage, and requests with answers. */
#include "scenario/workload.h"

#include <stdlib.h>

/* ---- storage ---- */

struct storage {
	struct roce_workload *w;
	struct roce_prng mix;
	struct roce_prng peers;
	uint32_t *servers; /* shuffled for each operation */
	uint32_t pool;	   /* of them, that the client may ask */
	uint32_t replicas;
};

/* A client may be a server of others, not its own: it goes to the end, behind the pool. */
static void leave_out(struct storage *s, uint32_t client)
{
	s->pool = s->w->to.count;
	for (uint32_t i = 0; i < s->pool; i++) {
		if (s->servers[i] != client)
			continue;
		s->servers[i] = s->servers[--s->pool];
		s->servers[s->pool] = client;
	}
}

/* The servers of one operation: the first `replicas`. */
static void draw_servers(struct storage *s)
{
	for (uint32_t i = 0; i < s->replicas; i++) {
		uint32_t k = i + (uint32_t)roce_prng_below(&s->peers, s->pool - i);
		uint32_t t = s->servers[k];

		s->servers[k] = s->servers[i];
		s->servers[i] = t;
	}
}

/* Behind the flows [first, first + count), or at the start. */
static uint32_t add_behind(struct storage *s, uint32_t src, uint32_t dst, uint32_t first,
			   uint32_t count)
{
	uint32_t flow =
		roce_workload_add(s->w, src, dst, s->w->conf->block, count ? 0 : s->w->conf->start,
				  count ? first : ROCE_FLOW_NONE);

	for (uint32_t i = 1; i < count; i++)
		roce_flows_add_after(s->w->flows, first + i);
	return flow;
}

/* One read or write behind another; the flows of it that end it. */
static void add_operation(struct storage *s, uint32_t client, uint32_t *first, uint32_t *count)
{
	bool is_read = roce_prng_below(&s->mix, ROCE_FRACTION_ONE) < s->w->conf->read_share;
	uint32_t flow;

	draw_servers(s);
	s->w->flow.is_after_delivery = false;
	s->w->flow.op = is_read ? ROCE_OP_READ : ROCE_OP_WRITE;
	flow = add_behind(s, client, s->servers[0], *first, *count);
	*first = flow;
	*count = 1;
	if (is_read || s->replicas == 1)
		return;
	/* The first server passes on what it has got, to all others at once. */
	s->w->flow.is_after_delivery = true;
	for (uint32_t i = 1; i < s->replicas; i++)
		add_behind(s, s->servers[0], s->servers[i], flow, 1);
	*first = flow + 1;
	*count = s->replicas - 1;
}

void roce_workload_storage(struct roce_workload *w)
{
	const struct roce_workload_conf *c = w->conf;
	struct storage s = {
		.w = w,
		.mix = roce_stream_init(w->in->seed, w->index, ROCE_STREAM_MIX),
		.peers = roce_stream_init(w->in->seed, w->index, ROCE_STREAM_PEERS),
		.replicas = (uint32_t)c->replicas,
	};

	/* One more, since a client may be among them. */
	if (w->to.count < s.replicas + 1) {
		roce_problem_add(w->problems, c->where.replicas ? c->where.replicas : c->where.kind,
				 "replicas: %u copies need %u servers, found %u", s.replicas,
				 s.replicas + 1, w->to.count);
		return;
	}
	s.servers = malloc(w->to.count * sizeof(*s.servers));
	for (uint32_t i = 0; s.servers && i < w->to.count; i++)
		s.servers[i] = w->to.at[i];
	for (uint32_t i = 0; s.servers && i < w->from.count; i++) {
		leave_out(&s, w->from.at[i]);
		for (uint64_t chain = 0; chain < c->depth; chain++) {
			uint32_t first = 0;
			uint32_t count = 0;

			for (uint64_t n = chain; n < c->operations && !w->flows->is_full;
			     n += c->depth)
				add_operation(&s, w->from.at[i], &first, &count);
		}
	}
	free(s.servers);
}

/* ---- requests ---- */

#define REQUESTS_DEPTH 1024 /* posted and not answered yet, of one client */

void roce_workload_requests(struct roce_workload *w)
{
	const struct roce_workload_conf *c = w->conf;
	uint64_t interval = ROCE_PS_PER_S * 1000 / c->requests;
	uint64_t count = c->duration / interval;

	if (count == 0) {
		roce_problem_add(w->problems, c->where.kind,
				 "no request in its duration: raise rate_per_client or duration");
		return;
	}
	w->flow.op = ROCE_OP_SEND;
	w->flow.message_bytes = (uint32_t)c->request;
	w->flow.response_bytes = (uint32_t)c->response;
	w->flow.interval_ps = interval;
	w->flow.is_poisson = c->arrival == ROCE_ARRIVAL_POISSON;
	w->flow.depth = REQUESTS_DEPTH;
	w->flow.queue_pairs = 1;
	for (uint32_t i = 0; i < w->from.count; i++) {
		uint32_t server = w->to.at[i % w->to.count];

		if (server == w->from.at[i] && w->to.count > 1)
			server = w->to.at[(i + 1) % w->to.count];
		if (server != w->from.at[i])
			roce_workload_add(w, w->from.at[i], server, c->request * count, c->start,
					  ROCE_FLOW_NONE);
	}
}
