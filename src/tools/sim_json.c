/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The results of a run as JSON. Fields keep their names and meaning, new ones may be added. Nodes
 * of a scenario are named; those of HPCC's files have numbers, and are numbers here.
 */
#include "tools/sim.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define INDENT 1

static json_t *node_json(const struct roce_outcome *o, uint32_t node)
{
	const char *name = o->built->plan->graph.nodes[node].name;

	return isdigit((unsigned char)*name) ? json_integer(atoi(name)) : json_string(name);
}

static json_t *us(uint64_t ps)
{
	return ps == ROCE_FABRIC_NEVER ? json_null() : json_real((double)ps / 1e6);
}

static json_t *flow_json(const struct roce_outcome *o, uint32_t flow)
{
	struct roce_fabric *f = o->built->fabric;
	const struct roce_fabric_flow_config *cfg = roce_fabric_flow_config(f, flow);
	struct roce_fabric_flow_result r;

	roce_fabric_flow_result(f, flow, &r);
	return json_pack("{s:o, s:o, s:I, s:o, s:o, s:o, s:s, s:s, s:I, s:I, s:I, s:I}", "src",
			 node_json(o, cfg->src), "dst", node_json(o, cfg->dst), "bytes",
			 (json_int_t)cfg->bytes, "start_us", us(r.started_ps), "fct_us",
			 us(roce_outcome_fct_ps(cfg, &r)), "ideal_us",
			 us(roce_fabric_flow_ideal_ps(f, flow)), "state",
			 roce_fabric_flow_state_str((enum roce_fabric_flow_state)r.state),
			 "workload", o->workloads[o->built->plan->flows.at[flow].workload].name,
			 "bytes_delivered", (json_int_t)r.bytes_delivered, "packets_repeated",
			 (json_int_t)r.packets_repeated, "messages_compared",
			 (json_int_t)r.messages_checked, "messages_wrong",
			 (json_int_t)r.messages_wrong);
}

static json_t *spread_json(const struct roce_spread *s)
{
	return json_pack("{s:I, s:f, s:f, s:f, s:f, s:f, s:f}", "count", (json_int_t)s->count,
			 "mean", roce_spread_mean(s), "p50", roce_spread_quantile(s, 0.5), "p90",
			 roce_spread_quantile(s, 0.9), "p99", roce_spread_quantile(s, 0.99), "p999",
			 roce_spread_quantile(s, 0.999), "max", roce_spread_quantile(s, 1));
}

static json_t *latency_json(const struct roce_outcome *o, uint32_t i)
{
	return json_pack("{s:I, s:f, s:f, s:f, s:f}", "count", (json_int_t)o->workloads[i].messages,
			 "p50", roce_outcome_latency_us(o, i, 0.5), "p99",
			 roce_outcome_latency_us(o, i, 0.99), "p999",
			 roce_outcome_latency_us(o, i, 0.999), "max",
			 roce_outcome_latency_us(o, i, 1));
}

static json_t *workload_json(const struct roce_outcome *o, uint32_t i)
{
	const struct roce_workload_outcome *w = &o->workloads[i];

	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:o, s:o, s:o}", "name", w->name,
			 "flows", (json_int_t)w->flows, "done", (json_int_t)w->done, "failed",
			 (json_int_t)w->failed, "incomplete", (json_int_t)w->incomplete,
			 "bytes_delivered", (json_int_t)w->bytes, "goodput_bps",
			 roce_outcome_goodput(w), "packets_repeated",
			 (json_int_t)w->packets_repeated, "fct_us", spread_json(&w->fct_us),
			 "slowdown", spread_json(&w->slowdown), "message_us", latency_json(o, i));
}

static json_t *totals_json(const struct roce_outcome *o)
{
	const struct roce_fabric_totals *t = &o->totals;
	json_t *drops = json_object();
	json_t *json = json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "packet_hops",
		(json_int_t)t->packet_hops, "events", (json_int_t)t->events, "drops",
		(json_int_t)o->drops, "pause_frames", (json_int_t)t->pause_frames, "ecn_marks",
		(json_int_t)t->ecn_marks, "cnps", (json_int_t)t->cnps, "bytes_delivered",
		(json_int_t)t->bytes_delivered, "flows_done", (json_int_t)t->flows_done,
		"flows_failed", (json_int_t)t->flows_failed, "pause_us", (json_int_t)o->pause_us,
		"queue_bytes_max", (json_int_t)o->queue_max_bytes, "wall_seconds", o->wall_seconds);

	for (uint32_t i = 0; i < ROCE_FABRIC_DROP_COUNT; i++) {
		if (t->drops[i])
			json_object_set_new(drops, roce_fabric_drop_str((enum roce_fabric_drop)i),
					    json_integer((json_int_t)t->drops[i]));
	}
	json_object_set_new(json, "drops_by_reason", drops);
	json_object_set_new(json, "lossless_drops", json_integer((json_int_t)o->lossless_drops));
	json_object_set_new(json, "response_bytes_delivered",
			    json_integer((json_int_t)t->answer_bytes));
	json_object_set_new(json, "messages_compared",
			    json_integer((json_int_t)t->messages_checked));
	json_object_set_new(json, "messages_wrong", json_integer((json_int_t)t->messages_wrong));
	json_object_set_new(json, "bytes_wrong", json_integer((json_int_t)t->bytes_wrong));
	json_object_set_new(json, "bytes_missing", json_integer((json_int_t)t->bytes_missing));
	json_object_set_new(json, "messages_damaged_by_nics",
			    json_integer((json_int_t)t->messages_damaged));
	return json;
}

/* The first of the messages that arrived wrong. */
static json_t *wrongs_json(const struct roce_outcome *o)
{
	json_t *array = json_array();
	uint32_t count;
	const struct roce_fabric_wrong *w = roce_fabric_wrongs(o->built->fabric, &count);

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(
			array, json_pack("{s:f, s:I, s:o, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
					 "time_us", (double)w[i].ps / 1e6, "flow",
					 (json_int_t)w[i].flow, "at", node_json(o, w[i].node),
					 "is_answer", w[i].is_answer, "message",
					 (json_int_t)w[i].message, "bytes", (json_int_t)w[i].length,
					 "offset", (json_int_t)w[i].offset, "expected",
					 (json_int_t)w[i].expected, "found", (json_int_t)w[i].found,
					 "bytes_wrong", (json_int_t)w[i].wrong_bytes,
					 "bytes_missing", (json_int_t)w[i].missing_bytes));
	return array;
}

/* Counters that are not 0, by the names that switches and `ethtool -S` give them. */
static json_t *counters_json(const struct roce_fabric_port_view *view)
{
	json_t *json = json_object();
	char name[ROCE_FABRIC_COUNTER_NAME_MAX];

	for (uint32_t prio = 0; prio < ROCE_FABRIC_PRIOS; prio++) {
		for (int c = 0; c < ROCE_FABRIC_PRIO_COUNTER_COUNT; c++) {
			uint64_t value = view->prio_counters[prio][c];

			if (!value)
				continue;
			roce_fabric_prio_counter_name((enum roce_fabric_prio_counter)c, prio, name);
			json_object_set_new(json, name, json_integer((json_int_t)value));
		}
	}
	for (int c = 0; c < ROCE_FABRIC_PORT_COUNTER_COUNT; c++) {
		if (view->port_counters[c])
			json_object_set_new(
				json,
				roce_fabric_port_counter_str((enum roce_fabric_port_counter)c),
				json_integer((json_int_t)view->port_counters[c]));
	}
	return json;
}

static json_t *per_class(const uint32_t bytes[ROCE_FABRIC_PRIOS])
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < ROCE_FABRIC_PRIOS; i++)
		json_array_append_new(array, json_integer(bytes[i]));
	return array;
}

static json_t *ports_json(const struct roce_outcome *o)
{
	struct roce_fabric *f = o->built->fabric;
	json_t *array = json_array();
	struct roce_fabric_port_view view;

	for (uint32_t node = 0; node < roce_fabric_node_count(f); node++) {
		for (uint32_t port = 0; port < roce_fabric_port_count(f, node); port++) {
			if (roce_fabric_port_view(f, node, port, &view))
				continue;
			json_array_append_new(
				array,
				json_pack("{s:o, s:o, s:I, s:o, s:o, s:o, s:o}", "node",
					  node_json(o, node), "to", node_json(o, view.peer_node),
					  "rate_bps", (json_int_t)view.rate_bps, "counters",
					  counters_json(&view), "queue_bytes_max",
					  per_class(view.queue_bytes_max), "ingress_bytes_max",
					  per_class(view.ingress_bytes_max), "headroom_bytes_max",
					  per_class(view.headroom_bytes_max)));
		}
	}
	return array;
}

/* What congestion control allowed; null where the flow did not run. */
static json_t *rate_json(const struct roce_rates *rates, uint32_t lane)
{
	const double *bps = roce_rates_of(rates, lane);
	json_t *array = json_array();

	for (uint32_t i = 0; i < rates->count; i++)
		json_array_append_new(array,
				      bps[i] > 0 ? json_integer((json_int_t)bps[i]) : json_null());
	return json_pack("{s:I, s:I, s:o}", "flow", (json_int_t)rates->lanes[lane].flow,
			 "queue_pair", (json_int_t)rates->lanes[lane].qp, "bps", array);
}

static json_t *rates_json(const struct roce_rates *rates)
{
	json_t *lanes = json_array();

	for (uint32_t i = 0; i < rates->lane_count; i++)
		json_array_append_new(lanes, rate_json(rates, i));
	return json_pack("{s:f, s:f, s:o}", "from_us", (double)rates->from_ps / 1e6, "interval_us",
			 (double)rates->interval_ps / 1e6, "queue_pairs", lanes);
}

/* Each of these ports waits for the next, the last for the first. */
static json_t *cycle_json(const struct roce_outcome *o, const struct roce_fabric_cycle *cycle,
			  uint32_t count)
{
	json_t *array = json_array();
	struct roce_fabric_port_view view;

	for (uint32_t i = 0; i < count; i++) {
		if (roce_fabric_port_view(o->built->fabric, cycle[i].node, cycle[i].port, &view))
			continue;
		json_array_append_new(array, json_pack("{s:o, s:o, s:I}", "node",
						       node_json(o, cycle[i].node), "to",
						       node_json(o, view.peer_node), "prio",
						       (json_int_t)cycle[i].prio));
	}
	return array;
}

static json_t *outcome_json(const struct roce_outcome *o)
{
	uint32_t circle_count;
	const struct roce_fabric_cycle *circle =
		roce_fabric_deadlock_circle(o->built->fabric, &circle_count);
	const struct roce_general_conf *g = &o->built->plan->scenario->general;
	json_t *flows = json_array();
	json_t *workloads = json_array();

	for (uint32_t i = 0; i < o->built->plan->flows.count; i++)
		json_array_append_new(flows, flow_json(o, i));
	for (uint32_t i = 0; i < o->workload_count; i++)
		json_array_append_new(workloads, workload_json(o, i));
	return json_pack("{s:s, s:I, s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", g->name,
			 "seed", (json_int_t)g->seed, "end", roce_fabric_end_str(o->end),
			 "simulated_us", (double)o->now_ps / 1e6, "deadlock",
			 cycle_json(o, circle, circle_count), "cyclic_dependency",
			 o->built->is_circle_unknown
				 ? json_null()
				 : cycle_json(o, o->built->circle, o->built->circle_count),
			 "totals", totals_json(o), "workloads", workloads, "flows", flows,
			 "wrong_messages", wrongs_json(o), "ports", ports_json(o));
}

int roce_sim_write_json(const struct roce_outcome *o, const struct roce_rates *rates, FILE *out)
{
	json_t *json = outcome_json(o);
	int r = 0;

	if (json && rates && rates->lane_count)
		json_object_set_new(json, "rates", rates_json(rates));
	if (!json || json_dumpf(json, out, JSON_INDENT(INDENT) | JSON_REAL_PRECISION(12)) ||
	    fputc('\n', out) < 0)
		r = errno ? -errno : -EIO;
	json_decref(json);
	return r;
}
