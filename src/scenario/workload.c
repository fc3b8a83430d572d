/* SPDX-License-Identifier: BSD-2-Clause */
/* What all kinds of workloads share: hosts, classes, files; and the table of builders. */
#include "scenario/workload.h"

#include "scenario/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void build_fn(struct roce_workload *w);

static build_fn *const builders[ROCE_WORKLOAD_KIND_COUNT] = {
	[ROCE_WORKLOAD_FLOW] = roce_workload_flow,
	[ROCE_WORKLOAD_INCAST] = roce_workload_incast,
	[ROCE_WORKLOAD_PERMUTATION] = roce_workload_permutation,
	[ROCE_WORKLOAD_ALL_TO_ALL] = roce_workload_all_to_all,
	[ROCE_WORKLOAD_ALL_REDUCE] = roce_workload_all_reduce,
	[ROCE_WORKLOAD_STORAGE] = roce_workload_storage,
	[ROCE_WORKLOAD_POISSON] = roce_workload_poisson,
	[ROCE_WORKLOAD_REQUESTS] = roce_workload_requests,
	[ROCE_WORKLOAD_TRACE] = roce_workload_trace,
	[ROCE_WORKLOAD_BACKGROUND] = roce_workload_background,
};

#define MESSAGE_BYTES_DEFAULT (1u << 20)
#define FILE_BYTES_MAX	      (256u << 20)
#define DSCP_BY_PRIO	      64u

static struct roce_flow flow_of(const struct roce_workload_conf *c, uint32_t index)
{
	struct roce_flow flow = {
		.message_bytes = c->message ? (uint32_t)c->message : MESSAGE_BYTES_DEFAULT,
		.workload = index,
		.queue_pairs = (uint16_t)c->queue_pairs,
		.op = (uint8_t)c->op,
		.service = (uint8_t)c->service,
		.prio = (uint8_t)c->prio,
		.start_ps = c->start,
	};

	/* What is no RDMA traffic goes beside it, not into its class. */
	if (c->kind == ROCE_WORKLOAD_BACKGROUND && !c->where.prio)
		flow.prio = 0;
	flow.dscp = (uint8_t)c->dscp;
	if (c->dscp == DSCP_BY_PRIO)
		flow.dscp = flow.prio == 3 ? 26 : (uint8_t)(flow.prio * 8);
	return flow;
}

uint32_t roce_workload_add(struct roce_workload *w, uint32_t src, uint32_t dst, uint64_t bytes,
			   uint64_t start_ps, uint32_t after)
{
	struct roce_flow flow = w->flow;
	uint32_t number;

	flow.src = src;
	flow.dst = dst;
	flow.bytes = bytes;
	flow.start_ps = start_ps;
	if (flow.message_bytes > bytes)
		flow.message_bytes = (uint32_t)bytes;
	number = roce_flows_add(w->flows, &flow);
	roce_flows_add_after(w->flows, after);
	return number;
}

static bool has_op_of_service(const struct roce_workload_conf *c)
{
	if (c->service == ROCE_SERVICE_UC)
		return c->op != ROCE_OP_READ;
	return c->service == ROCE_SERVICE_RC || c->op == ROCE_OP_SEND ||
	       c->kind == ROCE_WORKLOAD_BACKGROUND;
}

/* "from" and "to" of a builder may be relied on: from is not empty, and where one host of each is
 * taken there are two that differ. */
static bool find_hosts(struct roce_workload *w)
{
	const struct roce_workload_conf *c = w->conf;
	uint32_t before = w->problems->count;
	uint32_t line = c->where.kind;

	if (c->kind == ROCE_WORKLOAD_TRACE)
		return true;
	roce_select_nodes(w->in->graph, &c->from, true, "from",
			  c->where.from ? c->where.from : line, w->problems, &w->from);
	roce_select_nodes(w->in->graph, &c->to, true, "to", c->where.to ? c->where.to : line,
			  w->problems, &w->to);
	if (w->problems->count != before)
		return false;
	if (w->from.count == 1 && w->to.count == 1 && w->from.at[0] == w->to.at[0]) {
		roce_problem_add(w->problems, line, "from and to are one host, %s",
				 w->in->graph->nodes[w->from.at[0]].name);
		return false;
	}
	return true;
}

bool roce_workload_build(const struct roce_workload_conf *conf, uint32_t index,
			 const struct roce_workload_input *in, struct roce_flows *flows,
			 struct roce_problems *problems)
{
	uint32_t before = problems->count;
	struct roce_workload w = {
		.conf = conf,
		.in = in,
		.index = index,
		.flow = flow_of(conf, index),
		.flows = flows,
		.problems = problems,
	};

	if (!has_op_of_service(conf))
		roce_problem_add(problems, conf->where.service,
				 "service: uc has no read, ud has send alone");
	else if (find_hosts(&w))
		builders[conf->kind](&w);
	if (flows->is_full && problems->count == before)
		roce_problem_add(problems, conf->where.kind, "more than %u flows", ROCE_FLOWS_MAX);
	free(w.from.at);
	free(w.to.at);
	return problems->count == before;
}

char *roce_workload_read(struct roce_workload *w, const char *name, uint32_t line, char *out_path,
			 size_t path_size)
{
	const char *folder = w->in->folder;
	struct roce_problems inner;
	size_t length;
	char *text;

	if (!folder) {
		roce_problem_add(w->problems, line, "%.60s: no files can be read here", name);
		return NULL;
	}
	snprintf(out_path, path_size, "%s%s%s", *name == '/' ? "" : folder,
		 *name == '/' || !*folder ? "" : "/", name);
	roce_problems_init(&inner, out_path);
	text = roce_file_read(out_path, FILE_BYTES_MAX, &length, &inner);
	if (!text)
		roce_problem_add(w->problems, line, "%.200s", inner.text[0]);
	return text;
}
