/* SPDX-License-Identifier: BSD-2-Clause */
/* The summary of a run: a line for each workload, then what the network did, then how it ended. */
#include "tools/sim.h"

#include <string.h>

static void print_head(const struct roce_outcome *o, FILE *out)
{
	const struct roce_general_conf *g = &o->built->plan->scenario->general;
	const struct roce_graph *graph = &o->built->plan->graph;

	if (*g->name)
		fprintf(out, "%s\n", g->name);
	fprintf(out, "%u hosts, %u switches, %u links, %u flows, seed %llu\n\n", graph->host_count,
		graph->node_count - graph->host_count, graph->edge_count,
		o->built->plan->flows.count, (unsigned long long)g->seed);
}

static void print_latency(const struct roce_outcome *o, uint32_t i, FILE *out)
{
	if (o->workloads[i].messages)
		fprintf(out,
			"  %-18s %10llu messages, latency p50 %.2f us, p99 %.2f us, p99.9 %.2f us, "
			"max %.2f us\n",
			"", (unsigned long long)o->workloads[i].messages,
			roce_outcome_latency_us(o, i, 0.5), roce_outcome_latency_us(o, i, 0.99),
			roce_outcome_latency_us(o, i, 0.999), roce_outcome_latency_us(o, i, 1));
}

/* Requests are one flow a client: their latency says more than its completion. */
static bool is_by_message(const struct roce_workload_outcome *w)
{
	return w->conf && w->conf->kind == ROCE_WORKLOAD_REQUESTS;
}

/* The plan has checked it. */
static double part_of(const char *percentile)
{
	uint64_t fraction = 0;

	return roce_unit_parse(ROCE_UNIT_PERCENT, percentile, &fraction)
		       ? 0
		       : (double)fraction / (double)ROCE_FRACTION_ONE;
}

/* A dash where nothing was measured: zero would be a value. */
static void print_number(FILE *out, int width, int digits, bool is_there, double value)
{
	if (is_there)
		fprintf(out, "%*.*f", width, digits, value);
	else
		fprintf(out, "%*s", width, "-");
}

static void print_workloads(const struct roce_outcome *o, FILE *out)
{
	const struct roce_words *percentiles = &o->built->plan->scenario->output.percentiles;

	fprintf(out, "  %-18s %7s %7s %9s %12s", "workload", "flows", "done", "Gb/s",
		"FCT mean us");
	for (uint32_t i = 0; i < percentiles->count; i++)
		fprintf(out, "  %9s%%", percentiles->at[i]);
	fprintf(out, "  %10s %9s\n", "max", "slowdown");
	for (uint32_t i = 0; i < o->workload_count; i++) {
		const struct roce_workload_outcome *w = &o->workloads[i];

		fprintf(out, "  %-18.18s %7u %7u %9.2f ", w->name, w->flows, w->done,
			roce_outcome_goodput(w) / 1e9);
		print_number(out, 12, 1, w->fct_us.count, roce_spread_mean(&w->fct_us));
		for (uint32_t p = 0; p < percentiles->count; p++)
			print_number(out, 12, 1, w->fct_us.count,
				     roce_spread_quantile(&w->fct_us, part_of(percentiles->at[p])));
		print_number(out, 12, 1, w->fct_us.count, roce_spread_quantile(&w->fct_us, 1));
		print_number(out, 10, 2, roce_spread_mean(&w->slowdown) > 0,
			     roce_spread_mean(&w->slowdown));
		fprintf(out, "\n");
		if (is_by_message(w))
			print_latency(o, i, out);
		if (w->failed)
			fprintf(out, "  %-18s %7u flows failed: retries were spent\n", "",
				w->failed);
		if (w->incomplete)
			fprintf(out,
				"  %-18s %7u flows lost packets, and never end: uc and ud repeat "
				"nothing\n",
				"", w->incomplete);
		if (w->packets_repeated)
			fprintf(out, "  %-18s %7llu packets sent again\n", "",
				(unsigned long long)w->packets_repeated);
	}
}

static void print_drops(const struct roce_outcome *o, FILE *out)
{
	const char *comma = " (";

	fprintf(out, "  %-18s %llu", "drops", (unsigned long long)o->drops);
	for (uint32_t i = 0; i < ROCE_FABRIC_DROP_COUNT; i++) {
		if (!o->totals.drops[i])
			continue;
		fprintf(out, "%s%s %llu", comma, roce_fabric_drop_str((enum roce_fabric_drop)i),
			(unsigned long long)o->totals.drops[i]);
		comma = ", ";
	}
	fprintf(out, "%s\n", o->drops ? ")" : "");
	if (o->lossless_drops)
		fprintf(out,
			"  %-18s %llu of them of lossless priorities, most of them at %s's "
			"port to %s: is the headroom too small (buffer.pg_lossless.xoff)?\n",
			"ALARM", (unsigned long long)o->lossless_drops,
			o->built->plan->graph.nodes[o->lossless_drops_node].name,
			o->built->plan->graph.nodes[o->lossless_drops_peer].name);
}

static const char *peer_name(const struct roce_outcome *o, uint32_t node, uint32_t port)
{
	struct roce_fabric_port_view view;

	return roce_fabric_port_view(o->built->fabric, node, port, &view)
		       ? "?"
		       : o->built->plan->graph.nodes[view.peer_node].name;
}

static void print_network(const struct roce_outcome *o, FILE *out)
{
	const struct roce_graph *g = &o->built->plan->graph;

	fprintf(out, "\n");
	print_drops(o, out);
	fprintf(out, "  %-18s %llu frames, %llu us paused in all\n", "PFC",
		(unsigned long long)o->totals.pause_frames, (unsigned long long)o->pause_us);
	fprintf(out, "  %-18s %llu packets marked, %llu CNPs\n", "ECN",
		(unsigned long long)o->totals.ecn_marks, (unsigned long long)o->totals.cnps);
	if (o->queue_max_bytes)
		fprintf(out, "  %-18s %u bytes, %s to %s\n", "longest queue", o->queue_max_bytes,
			g->nodes[o->queue_max_node].name,
			peer_name(o, o->queue_max_node, o->queue_max_port));
	fprintf(out, "  %-18s %llu packet hops, %llu events", "work",
		(unsigned long long)o->totals.packet_hops, (unsigned long long)o->totals.events);
	if (o->wall_seconds > 0)
		fprintf(out, ", %.2f s, %.2f M hops/s", o->wall_seconds,
			(double)o->totals.packet_hops / o->wall_seconds / 1e6);
	fprintf(out, "\n");
}

#define WRONGS_SHOWN 5u

static void print_payload(const struct roce_outcome *o, FILE *out)
{
	const struct roce_graph *g = &o->built->plan->graph;
	const struct roce_fabric_totals *t = &o->totals;
	char text[ROCE_FABRIC_WRONG_TEXT_MAX];
	uint32_t count;
	const struct roce_fabric_wrong *wrongs = roce_fabric_wrongs(o->built->fabric, &count);

	if (!t->messages_checked)
		return;
	fprintf(out, "  %-18s %llu messages compared, %llu wrong", "payload",
		(unsigned long long)t->messages_checked, (unsigned long long)t->messages_wrong);
	if (t->messages_wrong)
		fprintf(out, ": %llu bytes differ, %llu are missing",
			(unsigned long long)t->bytes_wrong, (unsigned long long)t->bytes_missing);
	fprintf(out, "\n");
	for (uint32_t i = 0; i < count && i < WRONGS_SHOWN; i++) {
		const struct roce_fabric_flow_config *cfg =
			roce_fabric_flow_config(o->built->fabric, wrongs[i].flow);

		fprintf(out, "  %-18s flow %u, %s to %s, %s\n", "", wrongs[i].flow,
			g->nodes[cfg->src].name, g->nodes[cfg->dst].name,
			roce_fabric_wrong_text(&wrongs[i], text));
	}
	if (t->messages_wrong > WRONGS_SHOWN)
		fprintf(out, "  %-18s and %llu more\n", "",
			(unsigned long long)(t->messages_wrong - WRONGS_SHOWN));
}

#define CIRCLE_SHOWN 12u

static void print_deadlock(const struct roce_outcome *o, FILE *out)
{
	const struct roce_graph *g = &o->built->plan->graph;
	uint32_t count;
	const struct roce_fabric_cycle *cycle =
		roce_fabric_deadlock_circle(o->built->fabric, &count);

	if (o->end != ROCE_FABRIC_END_DEADLOCK)
		return;
	for (uint32_t i = 0; i < count && i < CIRCLE_SHOWN; i++)
		fprintf(out, "  %-18s %s to %s is paused on priority %u and waits for %s\n",
			i ? "" : "circle", g->nodes[cycle[i].node].name,
			peer_name(o, cycle[i].node, cycle[i].port), cycle[i].prio,
			g->nodes[cycle[(i + 1) % count].node].name);
	if (count > CIRCLE_SHOWN)
		fprintf(out, "  %-18s and %u more\n", "", count - CIRCLE_SHOWN);
}

void roce_sim_print_table(const struct roce_outcome *o, FILE *out)
{
	print_head(o, out);
	print_workloads(o, out);
	print_network(o, out);
	print_payload(o, out);
	fprintf(out, "  %-18s at %.3f us: %s\n", "ended", (double)o->now_ps / 1e6,
		roce_fabric_end_str(o->end));
	print_deadlock(o, out);
}
