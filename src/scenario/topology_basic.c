/* SPDX-License-Identifier: BSD-2-Clause */
/* Star, dumbbell, parking lot, ring, and the graph that is given edge by edge. */
#include "scenario/topology.h"

#include <ctype.h>
#include <string.h>

static void add_hosts(struct roce_graph *g, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		roce_graph_add_node(g, true, 0, "h%u", g->host_count);
}

/* h0 h1 ... around s0. */
void roce_topology_star(const struct roce_topology_conf *c, struct roce_graph *g,
			struct roce_problems *p)
{
	uint32_t s;

	(void)p;
	add_hosts(g, c->hosts);
	s = roce_graph_add_node(g, false, 1, "s0");
	for (uint32_t i = 0; i < c->hosts; i++)
		roce_graph_add_edge(g, i, s, ROCE_EDGE_HOST);
}

/* h0 h1 ... s0 --- s1 ... h2 h3: the link in the middle is of class fabric. */
void roce_topology_dumbbell(const struct roce_topology_conf *c, struct roce_graph *g,
			    struct roce_problems *p)
{
	uint32_t left;
	uint32_t right;

	(void)p;
	add_hosts(g, c->left + c->right);
	left = roce_graph_add_node(g, false, 1, "s0");
	right = roce_graph_add_node(g, false, 1, "s1");
	for (uint32_t i = 0; i < c->left + c->right; i++)
		roce_graph_add_edge(g, i, i < c->left ? left : right, ROCE_EDGE_HOST);
	roce_graph_add_edge(g, left, right, ROCE_EDGE_FABRIC);
}

/* Switches in a row, each with its hosts. */
static uint32_t add_row(const struct roce_topology_conf *c, struct roce_graph *g)
{
	uint32_t per_switch = (uint32_t)c->hosts_per_switch;
	uint32_t first = (uint32_t)c->switches * per_switch;

	add_hosts(g, first);
	for (uint32_t i = 0; i < c->switches; i++)
		roce_graph_add_node(g, false, -1, "s%u", i);
	for (uint32_t i = 0; i < first; i++)
		roce_graph_add_edge(g, i, first + i / per_switch, ROCE_EDGE_HOST);
	for (uint32_t i = 1; i < c->switches; i++)
		roce_graph_add_edge(g, first + i - 1, first + i, ROCE_EDGE_FABRIC);
	return first;
}

/* Each switch adds its hosts' traffic to what comes down the row. */
void roce_topology_parking_lot(const struct roce_topology_conf *c, struct roce_graph *g,
			       struct roce_problems *p)
{
	(void)p;
	add_row(c, g);
}

void roce_topology_ring(const struct roce_topology_conf *c, struct roce_graph *g,
			struct roce_problems *p)
{
	uint32_t first;

	if (c->switches < 3) {
		roce_problem_add(p, c->where.switches,
				 "switches: %u do not make a ring, expected 3",
				 (unsigned int)c->switches);
		return;
	}
	first = add_row(c, g);
	roce_graph_add_edge(g, first + (uint32_t)c->switches - 1, first, ROCE_EDGE_FABRIC);
}

/* ---- edge by edge ---- */

/* Letters, digits, '_' and '.', so that names can stand in patterns and in "a-b". */
static bool is_name(const char *name, size_t length)
{
	if (length == 0 || length >= ROCE_GRAPH_NAME_MAX)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!isalnum((unsigned char)name[i]) && name[i] != '_' && name[i] != '.')
			return false;
	}
	return true;
}

/* The graph is not finished yet, so its names are not sorted; small graphs are written by hand. */
static uint32_t find_node(const struct roce_graph *g, const char *name, size_t length)
{
	for (uint32_t n = 0; n < g->node_count; n++) {
		if (strncmp(g->nodes[n].name, name, length) == 0 && !g->nodes[n].name[length])
			return n;
	}
	return ROCE_GRAPH_NONE;
}

static bool is_switch_name(const struct roce_topology_conf *c, const char *name, size_t length)
{
	for (uint32_t i = 0; i < c->switch_names.count; i++) {
		if (strlen(c->switch_names.at[i]) == length &&
		    memcmp(c->switch_names.at[i], name, length) == 0)
			return true;
	}
	return false;
}

/* Both ends of edge `text` that are hosts and are not there yet. */
static void add_end_hosts(const struct roce_topology_conf *c, struct roce_graph *g,
			  const char *text, struct roce_problems *p)
{
	const char *dash = strchr(text, '-');
	size_t length = dash ? (size_t)(dash - text) : 0;
	const char *ends[] = {text, dash ? dash + 1 : text};
	size_t lengths[] = {length, dash ? strlen(dash + 1) : 0};

	if (!is_name(ends[0], lengths[0]) || !is_name(ends[1], lengths[1])) {
		roce_problem_add(p, c->where.edges,
				 "edges: found \"%.40s\", expected two names as a-b", text);
		return;
	}
	if (lengths[0] == lengths[1] && memcmp(ends[0], ends[1], length) == 0)
		roce_problem_add(p, c->where.edges, "edges: \"%.40s\" links a node to itself",
				 text);
	for (int i = 0; i < 2; i++) {
		if (!is_switch_name(c, ends[i], lengths[i]) &&
		    find_node(g, ends[i], lengths[i]) == ROCE_GRAPH_NONE)
			roce_graph_add_node(g, true, 0, "%.*s", (int)lengths[i], ends[i]);
	}
}

/* As long as it takes a second to look each name up. */
#define HAND_EDGES_MAX 20000u

void roce_topology_graph(const struct roce_topology_conf *c, struct roce_graph *g,
			 struct roce_problems *p)
{
	uint32_t before = p->count;

	if (c->edges.count == 0 || c->edges.count > HAND_EDGES_MAX) {
		roce_problem_add(p, c->where.kind, "edges: %u links, expected 1 to %u",
				 c->edges.count, HAND_EDGES_MAX);
		return;
	}
	for (uint32_t i = 0; i < c->edges.count; i++)
		add_end_hosts(c, g, c->edges.at[i], p);
	for (uint32_t i = 0; i < c->switch_names.count; i++) {
		const char *name = c->switch_names.at[i];

		if (!is_name(name, strlen(name)))
			roce_problem_add(
				p, c->where.switch_names,
				"switch_names: \"%.40s\" is no name: letters, digits, _ and .",
				name);
		else
			roce_graph_add_node(g, false, -1, "%s", name);
	}
	for (uint32_t i = 0; i < c->edges.count && p->count == before; i++) {
		const char *text = c->edges.at[i];
		size_t length = strcspn(text, "-");
		uint32_t a = find_node(g, text, length);
		uint32_t b = find_node(g, text + length + 1, strlen(text + length + 1));
		bool is_host = g->nodes[a].is_host || g->nodes[b].is_host;

		roce_graph_add_edge(g, a, b, is_host ? ROCE_EDGE_HOST : ROCE_EDGE_FABRIC);
	}
}
