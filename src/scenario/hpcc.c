/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the three files to a plan. Ports differ by the rate and delay of their link (thresholds by
 * rate, headroom by both), so each such pair has a configuration of its own.
 */
#include "scenario/hpcc_internal.h"

#include "fabric/node.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX	(256u << 20)
#define RESERVE_BYTES	4096
#define XON_OFFSET	3072
#define SHIFT_AT_LOWEST 3 /* XOFF at 1/8 of the free pool */

/* 0 where the map does not have the rate. */
static double map_value(const struct roce_hpcc_map *map, uint64_t rate)
{
	for (uint32_t i = 0; i < map->count; i++) {
		if (map->rates[i] == rate)
			return map->values[i];
	}
	return 0;
}

/* ---- what is alike for all ---- */

static void set_classes(struct roce_eight *pfc, struct roce_eight *prio_tc, struct roce_eight *tsa,
			struct roce_eight *tcbw, const struct roce_flows *flows)
{
	memset(pfc, 0, sizeof(*pfc));
	for (uint32_t i = 0; i < flows->count; i++)
		pfc->at[flows->at[i].prio] = flows->at[i].prio != 0;
	for (uint8_t i = 0; i < 8; i++) {
		prio_tc->at[i] = i;
		tsa->at[i] = i == 0;
		tcbw->at[i] = i != 0;
	}
}

static void set_switch(struct roce_switch_conf *sw, const struct roce_hpcc_config *config,
		       const struct roce_flows *flows)
{
	set_classes(&sw->pfc, &sw->prio_tc, &sw->tsa, &sw->tcbw, flows);
	sw->latency = 0;
	sw->hash = 1; /* murmur3 */
	sw->buffer_size = config->buffer_mib << 20;
	sw->pg_size = RESERVE_BYTES;
	sw->pg_xon_offset = XON_OFFSET;
	sw->pg_dynamic_th = -SHIFT_AT_LOWEST;
	memset(&sw->uncounted, 0, sizeof(sw->uncounted));
	sw->uncounted.at[0] = 1;
	for (uint32_t i = 0; i < 8; i++)
		sw->ecn_tc.at[i] = i != 0;
	sw->mark_at = ROCE_MARK_AT_DEQUEUE;
	sw->pause_endless = true;
	sw->pause_response = 0;
}

static void set_host(struct roce_host_conf *host, const struct roce_hpcc_config *config,
		     const struct roce_flows *flows)
{
	set_classes(&host->pfc, &host->prio_tc, &host->tsa, &host->tcbw, flows);
	for (host->path_mtu = 0; UINT64_C(256) << host->path_mtu < config->payload_bytes;)
		host->path_mtu++;
	host->segment = config->payload_bytes;
	host->tx_delay = 0;
	host->rx_delay = 0;
	host->retry_timeout = 0;
	host->ack_interval = config->ack_interval;
	/* In switches they stand behind data all the same. */
	host->ack_first = config->is_ack_strict ? ROCE_FABRIC_ACK_ALWAYS : ROCE_FABRIC_ACK_FIRST;
	host->window_by_rate = config->is_window_by_rate;
	host->recovery = config->is_go_back_0;
	host->pause_endless = true;
	host->pause_response = 0;
	host->cc = config->has_qcn && config->cc_mode ? ROCE_HOST_CC_DCQCN : ROCE_HOST_CC_NONE;
	host->dcqcn_preset = (uint32_t)roce_words_find(ROCE_DCQCN_PRESET_WORDS, "hpcc-ns3");
	memcpy(host->dcqcn, config->dcqcn, sizeof(host->dcqcn));
}

/* ---- what differs by link ---- */

struct port_kind {
	uint64_t rate;
	uint64_t delay;
	const struct roce_switch_conf *conf;
};

/* The plan ends it. */
static void *keep(struct roce_plan *plan, const void *conf, size_t size)
{
	struct roce_variant *v = calloc(1, sizeof(*v));
	void *copy = malloc(size);

	if (!v || !copy) {
		free(v);
		free(copy);
		return NULL;
	}
	memcpy(copy, conf, size);
	v->conf = copy;
	v->next = plan->variants;
	plan->variants = v;
	return copy;
}

static const struct roce_switch_conf *make_port(struct roce_plan *plan,
						const struct roce_hpcc_config *config,
						const struct roce_link_conf *link,
						uint64_t rate_min)
{
	struct roce_switch_conf conf = plan->scenario->sw;
	uint64_t rate = link->rate;

	/* In its steps: bytes in flight, rounded down, three times. */
	conf.pg_xoff = link->rate / 8 * (link->delay / ROCE_PS_PER_NS) / 1000000000 * 3;
	/* A port that is twice as fast may fill twice as much of the pool. */
	for (; rate > rate_min && conf.pg_dynamic_th < 0; rate /= 2)
		conf.pg_dynamic_th++;
	conf.kmin = (uint64_t)(map_value(&config->kmin, link->rate) * 1000);
	conf.kmax = (uint64_t)(map_value(&config->kmax, link->rate) * 1000);
	conf.pmax = (uint64_t)(map_value(&config->pmax, link->rate) * (double)ROCE_FRACTION_ONE);
	conf.ecn = config->has_qcn;
	return keep(plan, &conf, sizeof(conf));
}

#define KINDS_MAX 64

static bool set_ports(struct roce_plan *plan, const struct roce_hpcc_config *config,
		      struct roce_problems *problems)
{
	const struct roce_graph *g = &plan->graph;
	struct port_kind kinds[KINDS_MAX];
	uint32_t kind_count = 0;
	uint64_t rate_min = UINT64_MAX;

	for (uint32_t e = 0; e < g->edge_count; e++) {
		if (g->edges[e].class == ROCE_EDGE_HOST && plan->links[e]->rate < rate_min)
			rate_min = plan->links[e]->rate;
	}
	for (uint32_t e = 0; e < g->edge_count; e++) {
		const struct roce_link_conf *link = plan->links[e];
		uint32_t k = 0;

		while (k < kind_count &&
		       (kinds[k].rate != link->rate || kinds[k].delay != link->delay))
			k++;
		if (k == KINDS_MAX) {
			roce_problem_add(problems, 0, "more than %d kinds of links", KINDS_MAX);
			return false;
		}
		if (k == kind_count && config->has_qcn && map_value(&config->kmax, link->rate) == 0)
			roce_problem_add(problems, 0, "KMAX_MAP and KMIN_MAP have no rate %llu",
					 (unsigned long long)link->rate);
		if (k == kind_count)
			kinds[kind_count++] = (struct port_kind){
				link->rate, link->delay, make_port(plan, config, link, rate_min)};
		for (int side = 0; side < 2; side++) {
			uint32_t node = side ? g->edges[e].b : g->edges[e].a;

			if (!g->nodes[node].is_host)
				plan->ports[side][e] = kinds[k].conf;
		}
	}
	return true;
}

static bool set_links(struct roce_plan *plan, const struct roce_link_conf *links,
		      const struct roce_hpcc_config *config)
{
	const struct roce_link_conf *last = NULL;

	for (uint32_t e = 0; e < plan->graph.edge_count; e++) {
		struct roce_link_conf link = links[e];

		link.loss = link.loss ? link.loss : config->loss;
		if (!last || memcmp(last, &link, sizeof(link)) != 0)
			last = keep(plan, &link, sizeof(link));
		if (!last)
			return false;
		plan->links[e] = last;
	}
	return true;
}

static void set_down(struct roce_plan *plan, struct roce_scenario *s,
		     const struct roce_hpcc_config *config, struct roce_problems *problems)
{
	const struct roce_graph *g = &plan->graph;

	if (!config->down_ps)
		return;
	s->faults = calloc(1, sizeof(*s->faults));
	plan->faults = calloc(1, sizeof(*plan->faults));
	if (!s->faults || !plan->faults)
		return;
	s->fault_count = 1;
	s->faults[0].link = "";
	s->faults[0].at = config->down_ps;
	for (uint32_t e = 0; e < g->edge_count; e++) {
		if ((g->edges[e].a == config->down_a && g->edges[e].b == config->down_b) ||
		    (g->edges[e].b == config->down_a && g->edges[e].a == config->down_b)) {
			plan->faults[0] = (struct roce_plan_fault){&s->faults[0], e};
			plan->fault_count = 1;
		}
	}
	if (!plan->fault_count)
		roce_problem_add(problems, 0, "LINK_DOWN: no link from %u to %u", config->down_a,
				 config->down_b);
}

/* ---- the whole ---- */

static bool plan_texts(struct roce_plan *plan, struct roce_scenario *s,
		       const struct roce_hpcc_files *files, char *const texts[3],
		       struct roce_link_conf **links, struct roce_problems *problems)
{
	struct roce_hpcc_config config;

	problems->file = files->config;
	if (!roce_hpcc_read_config(texts[2], &config, problems))
		return false;
	problems->file = files->topology;
	if (!roce_hpcc_read_topology(texts[0], &plan->graph, links, &s->link, problems))
		return false;
	problems->file = files->flows;
	if (!roce_hpcc_read_flows(texts[1], &plan->graph, &plan->flows, problems))
		return false;
	problems->file = files->config;
	s->general.profile = ROCE_PROFILE_HPCC_NS3;
	s->general.until = config.stop_ps;
	set_switch(&s->sw, &config, &plan->flows);
	set_host(&s->host, &config, &plan->flows);
	if (config.is_go_back_0) /* a message is what is sent anew */
		for (uint32_t i = 0; i < plan->flows.count; i++)
			plan->flows.at[i].message_bytes = (uint32_t)config.chunk_bytes;
	if (!roce_plan_begin(plan, problems) || !set_links(plan, *links, &config))
		return false;
	if (config.has_window)
		s->host.window = roce_hpcc_window_bytes(plan, config.payload_bytes);
	set_down(plan, s, &config, problems);
	return set_ports(plan, &config, problems) && problems->count == 0;
}

bool roce_hpcc_plan(struct roce_plan *plan, struct roce_scenario *s,
		    const struct roce_hpcc_files *files, struct roce_problems *problems)
{
	const char *const names[3] = {files->topology, files->flows, files->config};
	struct roce_link_conf *links = NULL;
	char *texts[3] = {NULL, NULL, NULL};
	bool is_good = true;
	size_t length;

	memset(plan, 0, sizeof(*plan));
	plan->scenario = s;
	roce_graph_init(&plan->graph);
	for (int i = 0; i < 3; i++) {
		problems->file = names[i];
		texts[i] = roce_file_read(names[i], FILE_BYTES_MAX, &length, problems);
		is_good = is_good && texts[i];
	}
	is_good = is_good && plan_texts(plan, s, files, texts, &links, problems);
	free(links);
	for (int i = 0; i < 3; i++)
		free(texts[i]);
	return is_good;
}
