/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which nodes and links a scenario means: names, "h0..h7", patterns with * and ?, "@leaf0" for the
 * hosts at a switch; links by class or by two ends.
 */
#ifndef ROCE_SCENARIO_SELECT_H
#define ROCE_SCENARIO_SELECT_H

#include "scenario/graph.h"
#include "scenario/problem.h"
#include "scenario/words.h"

struct roce_nodes {
	uint32_t *at;
	uint32_t count;
};

/* In the order of the words, each node once. `what`: the key, for messages; a word that means no
 * node is a problem. For free() of `out->at`; empty when there are problems. */
void roce_select_nodes(const struct roce_graph *g, const struct roce_words *words, bool is_host,
		       const char *what, uint32_t line, struct roce_problems *problems,
		       struct roce_nodes *out);

/* Does `pattern` mean this node: its name, or a pattern? */
bool roce_select_matches_node(const struct roce_graph *g, const char *pattern, uint32_t node);
/* "fabric", "leaf*-spine0" (in either order), "*". */
bool roce_select_matches_edge(const struct roce_graph *g, const char *pattern, uint32_t edge);
/* "leaf0:h3": the port of the first towards the second. */
bool roce_select_matches_port(const struct roce_graph *g, const char *pattern, uint32_t node,
			      uint32_t peer);

#endif
