/* SPDX-License-Identifier: BSD-2-Clause */
/* Two passes over the flows: sizes first, then the samples, which are sorted at the end. */
#include "scenario/outcome.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PS_PER_US_F 1e6

double roce_spread_quantile(const struct roce_spread *spread, double q)
{
	uint32_t index;

	if (spread->count == 0)
		return 0;
	index = (uint32_t)(q * spread->count);
	return spread->at[index < spread->count ? index : spread->count - 1];
}

double roce_spread_mean(const struct roce_spread *spread)
{
	double sum = 0;

	for (uint32_t i = 0; i < spread->count; i++)
		sum += spread->at[i];
	return spread->count ? sum / spread->count : 0;
}

uint64_t roce_outcome_fct_ps(const struct roce_fabric_flow_config *cfg,
			     const struct roce_fabric_flow_result *result)
{
	uint64_t end = cfg->transport == ROCE_FABRIC_RC ? result->done_ps : result->delivered_ps;

	if (result->state != ROCE_FABRIC_FLOW_DONE || end == ROCE_FABRIC_NEVER)
		return ROCE_FABRIC_NEVER;
	return end - result->started_ps;
}

double roce_outcome_latency_us(const struct roce_outcome *outcome, uint32_t workload, double q)
{
	return (double)roce_fabric_latency_quantile(outcome->built->fabric,
						    roce_build_tag(workload), q) /
	       PS_PER_US_F;
}

double roce_outcome_goodput(const struct roce_workload_outcome *workload)
{
	double ps = (double)(workload->last_ps - workload->first_ps);

	return ps > 0 ? (double)workload->bytes * 8e12 / ps : 0;
}

void roce_workload_name(const struct roce_scenario *scenario, uint32_t workload,
			char out[ROCE_WORKLOAD_NAME_MAX])
{
	const struct roce_workload_conf *conf;
	char kind[32];

	if (workload >= scenario->workload_count) {
		snprintf(out, ROCE_WORKLOAD_NAME_MAX, "flows");
		return;
	}
	conf = &scenario->workloads[workload];
	roce_words_at(ROCE_WORKLOAD_WORDS, conf->kind, kind, sizeof(kind));
	if (*conf->name)
		snprintf(out, ROCE_WORKLOAD_NAME_MAX, "%.63s", conf->name);
	else if (workload)
		snprintf(out, ROCE_WORKLOAD_NAME_MAX, "%s %u", kind, workload + 1);
	else
		snprintf(out, ROCE_WORKLOAD_NAME_MAX, "%s", kind);
}

static int make_workloads(struct roce_outcome *o)
{
	const struct roce_plan *plan = o->built->plan;
	uint32_t count = plan->scenario->workload_count ? plan->scenario->workload_count : 1;

	o->workloads = calloc(count, sizeof(*o->workloads));
	if (!o->workloads)
		return -ENOMEM;
	o->workload_count = count;
	for (uint32_t i = 0; i < count; i++) {
		if (plan->scenario->workload_count)
			o->workloads[i].conf = &plan->scenario->workloads[i];
		roce_workload_name(plan->scenario, i, o->workloads[i].name);
		o->workloads[i].first_ps = ROCE_FABRIC_NEVER;
	}
	for (uint32_t i = 0; i < plan->flows.count; i++)
		o->workloads[plan->flows.at[i].workload].flows++;
	for (uint32_t i = 0; i < count; i++) {
		struct roce_workload_outcome *w = &o->workloads[i];

		w->fct_us.at = calloc(w->flows + 1, sizeof(double));
		w->slowdown.at = calloc(w->flows + 1, sizeof(double));
		if (!w->fct_us.at || !w->slowdown.at)
			return -ENOMEM;
	}
	return 0;
}

static void add_flow(struct roce_outcome *o, uint32_t flow)
{
	struct roce_fabric *f = o->built->fabric;
	struct roce_workload_outcome *w = &o->workloads[o->built->plan->flows.at[flow].workload];
	struct roce_fabric_flow_result r;
	uint64_t fct;
	uint64_t ideal;

	roce_fabric_flow_result(f, flow, &r);
	w->bytes += r.bytes_delivered;
	w->packets_repeated += r.packets_repeated;
	w->messages += r.messages.count;
	w->done += r.state == ROCE_FABRIC_FLOW_DONE;
	w->failed += r.state == ROCE_FABRIC_FLOW_FAILED;
	w->incomplete += r.state == ROCE_FABRIC_FLOW_LOSSY;
	if (r.started_ps < w->first_ps)
		w->first_ps = r.started_ps;
	fct = roce_outcome_fct_ps(roce_fabric_flow_config(f, flow), &r);
	if (fct == ROCE_FABRIC_NEVER) {
		/* What was lost for good is waited for by nobody. */
		uint64_t last = r.state == ROCE_FABRIC_FLOW_LOSSY ? r.arrived_ps : o->now_ps;

		if (r.started_ps != ROCE_FABRIC_NEVER && last > w->last_ps)
			w->last_ps = last;
		return;
	}
	if (r.started_ps + fct > w->last_ps)
		w->last_ps = r.started_ps + fct;
	ideal = roce_fabric_flow_ideal_ps(f, flow);
	w->fct_us.at[w->fct_us.count++] = (double)fct / PS_PER_US_F;
	if (ideal)
		w->slowdown.at[w->slowdown.count++] = (double)fct / (double)ideal;
}

/* Frames for which PFC should have seen to it that there is room. */
static void add_lossless_drops(struct roce_outcome *o, uint32_t node,
			       const struct roce_fabric_port_view *view)
{
	uint64_t drops = 0;

	for (uint32_t i = 0; i < ROCE_FABRIC_PRIOS; i++) {
		if (view->cfg->pfc.prios >> i & 1)
			drops += view->prio_counters[i][ROCE_FABRIC_RX_DISCARDS] +
				 view->prio_counters[i][ROCE_FABRIC_TX_DISCARDS];
	}
	o->lossless_drops += drops;
	if (drops <= o->lossless_drops_most)
		return;
	o->lossless_drops_most = drops;
	o->lossless_drops_node = node;
	o->lossless_drops_peer = view->peer_node;
}

static void add_ports(struct roce_outcome *o)
{
	struct roce_fabric *f = o->built->fabric;
	struct roce_fabric_port_view view;

	for (uint32_t node = 0; node < roce_fabric_node_count(f); node++) {
		for (uint32_t port = 0; port < roce_fabric_port_count(f, node); port++) {
			if (roce_fabric_port_view(f, node, port, &view))
				continue;
			add_lossless_drops(o, node, &view);
			for (uint32_t i = 0; i < ROCE_FABRIC_PRIOS; i++) {
				o->pause_us += view.prio_counters[i][ROCE_FABRIC_RX_PAUSE_DURATION];
				if (roce_fabric_is_host(f, node) ||
				    view.queue_bytes_max[i] <= o->queue_max_bytes)
					continue;
				o->queue_max_bytes = view.queue_bytes_max[i];
				o->queue_max_node = node;
				o->queue_max_port = port;
			}
		}
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int roce_outcome_init(struct roce_outcome *o, const struct roce_built *built,
		      enum roce_fabric_end end)
{
	memset(o, 0, sizeof(*o));
	o->built = built;
	o->end = end;
	o->now_ps = roce_fabric_now_ps(built->fabric);
	roce_fabric_totals(built->fabric, &o->totals);
	for (uint32_t i = 0; i < ROCE_FABRIC_DROP_COUNT; i++)
		o->drops += o->totals.drops[i];
	add_ports(o);
	if (make_workloads(o)) {
		roce_outcome_fini(o);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < built->plan->flows.count; i++)
		add_flow(o, i);
	for (uint32_t i = 0; i < o->workload_count; i++) {
		struct roce_workload_outcome *w = &o->workloads[i];

		qsort(w->fct_us.at, w->fct_us.count, sizeof(double), compare);
		qsort(w->slowdown.at, w->slowdown.count, sizeof(double), compare);
	}
	return 0;
}

void roce_outcome_fini(struct roce_outcome *o)
{
	for (uint32_t i = 0; o->workloads && i < o->workload_count; i++) {
		free(o->workloads[i].fct_us.at);
		free(o->workloads[i].slowdown.at);
	}
	free(o->workloads);
	memset(o, 0, sizeof(*o));
}
