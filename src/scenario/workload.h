/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a workload to flows. Adding a kind: its word and keys in section_workload.h, its function
 * here, a line in the table of workload.c, a test in workload_test.c.
 *
 * What chance decides comes from streams of (seed, number of the workload), so that another
 * workload beside it changes nothing.
 */
#ifndef ROCE_SCENARIO_WORKLOAD_H
#define ROCE_SCENARIO_WORKLOAD_H

#include "scenario/chance.h"
#include "scenario/flow.h"
#include "scenario/graph.h"
#include "scenario/section_workload.h"
#include "scenario/select.h"

struct roce_workload_input {
	const struct roce_graph *graph;
	const uint64_t *host_rates; /* of each host's link, bit/s */
	const char *folder;	    /* where files are looked for; NULL: none may be read */
	uint64_t seed;
};

/* What a builder works with. */
struct roce_workload {
	const struct roce_workload_conf *conf;
	const struct roce_workload_input *in;
	uint32_t index;
	struct roce_nodes from;
	struct roce_nodes to;
	struct roce_flow flow; /* as all its flows are */
	struct roce_flows *flows;
	struct roce_problems *problems;
};

/* False: what is wrong is in `problems`. */
bool roce_workload_build(const struct roce_workload_conf *conf, uint32_t index,
			 const struct roce_workload_input *in, struct roce_flows *flows,
			 struct roce_problems *problems);

/* Adds a flow like w->flow between two hosts; with the jitter that the workload has. */
uint32_t roce_workload_add(struct roce_workload *w, uint32_t src, uint32_t dst, uint64_t bytes,
			   uint64_t start_ps, uint32_t after);

void roce_workload_flow(struct roce_workload *w);
void roce_workload_incast(struct roce_workload *w);
void roce_workload_permutation(struct roce_workload *w);
void roce_workload_all_to_all(struct roce_workload *w);
void roce_workload_all_reduce(struct roce_workload *w);
void roce_workload_storage(struct roce_workload *w);
void roce_workload_poisson(struct roce_workload *w);
void roce_workload_requests(struct roce_workload *w);
void roce_workload_trace(struct roce_workload *w);
void roce_workload_background(struct roce_workload *w);

/* The text of a file named in the scenario; NULL with a problem added. For free(). */
char *roce_workload_read(struct roce_workload *w, const char *name, uint32_t line, char *out_path,
			 size_t path_size);

#endif
