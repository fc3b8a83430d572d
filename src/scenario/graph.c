/* SPDX-License-Identifier: BSD-2-Clause */
/* Building and asking. Growth stops quietly when it fails; roce_graph_finish() tells. */
#include "scenario/graph.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const class_names[] = {
#define X(id, name) name,
	ROCE_EDGE_CLASSES(X)
#undef X
};

const char *roce_edge_class_str(enum roce_edge_class class)
{
	return class_names[class];
}

int roce_edge_class_from(const char *name)
{
	for (int i = 0; i < ROCE_EDGE_CLASS_COUNT; i++) {
		if (strcmp(class_names[i], name) == 0)
			return i;
	}
	return -1;
}

void roce_graph_init(struct roce_graph *g)
{
	memset(g, 0, sizeof(*g));
}

void roce_graph_fini(struct roce_graph *g)
{
	free(g->nodes);
	free(g->edges);
	free(g->by_name);
	free(g->adjacency);
	free(g->adjacency_at);
	memset(g, 0, sizeof(*g));
}

/* Room for one more. */
static bool grow(void **array, uint32_t count, uint32_t *room, uint32_t max, size_t size)
{
	uint32_t wanted = *room ? *room * 2 : 64;
	void *grown;

	if (count < *room)
		return true;
	if (count >= max)
		return false;
	grown = realloc(*array, wanted * size);
	if (!grown)
		return false;
	*array = grown;
	*room = wanted;
	return true;
}

uint32_t roce_graph_add_node(struct roce_graph *g, bool is_host, int rank, const char *fmt, ...)
{
	struct roce_graph_node *node;
	va_list ap;

	if (!grow((void **)&g->nodes, g->node_count, &g->node_room, ROCE_GRAPH_NODES_MAX,
		  sizeof(*g->nodes))) {
		g->is_full = true;
		return 0;
	}
	node = &g->nodes[g->node_count];
	*node = (struct roce_graph_node){.is_host = is_host, .rank = (int8_t)rank};
	va_start(ap, fmt);
	vsnprintf(node->name, sizeof(node->name), fmt, ap);
	va_end(ap);
	g->host_count += is_host;
	return g->node_count++;
}

void roce_graph_add_edge(struct roce_graph *g, uint32_t a, uint32_t b, enum roce_edge_class class)
{
	if (!grow((void **)&g->edges, g->edge_count, &g->edge_room, ROCE_GRAPH_EDGES_MAX,
		  sizeof(*g->edges))) {
		g->is_full = true;
		return;
	}
	g->edges[g->edge_count++] = (struct roce_graph_edge){a, b, (uint8_t) class};
}

static int compare_names(const void *a, const void *b, void *arg)
{
	const struct roce_graph *g = arg;

	return strcmp(g->nodes[*(const uint32_t *)a].name, g->nodes[*(const uint32_t *)b].name);
}

static int sort_names(struct roce_graph *g, uint32_t *out_node)
{
	g->by_name = malloc((g->node_count + 1) * sizeof(*g->by_name));
	if (!g->by_name)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->node_count; i++)
		g->by_name[i] = i;
	qsort_r(g->by_name, g->node_count, sizeof(*g->by_name), compare_names, g);
	for (uint32_t i = 1; i < g->node_count; i++) {
		if (compare_names(&g->by_name[i - 1], &g->by_name[i], g) == 0) {
			*out_node = g->by_name[i];
			return -EEXIST;
		}
	}
	return 0;
}

static int build_adjacency(struct roce_graph *g)
{
	uint32_t *at = calloc(g->node_count + 1, sizeof(*at));
	uint32_t *list = malloc((2 * g->edge_count + 1) * sizeof(*list));

	g->adjacency_at = at;
	g->adjacency = list;
	if (!at || !list)
		return -ENOMEM;
	for (uint32_t e = 0; e < g->edge_count; e++) {
		at[g->edges[e].a]++;
		at[g->edges[e].b]++;
	}
	for (uint32_t n = 1; n <= g->node_count; n++)
		at[n] += at[n - 1];
	/* From behind, so that each list is in the order of the edges. */
	for (uint32_t e = g->edge_count; e-- > 0;) {
		list[--at[g->edges[e].b]] = e;
		list[--at[g->edges[e].a]] = e;
	}
	return 0;
}

int roce_graph_finish(struct roce_graph *g, uint32_t *out_node)
{
	int r;

	if (g->is_full)
		return -ENOMEM;
	r = sort_names(g, out_node);
	return r ? r : build_adjacency(g);
}

uint32_t roce_graph_find(const struct roce_graph *g, const char *name)
{
	uint32_t low = 0;
	uint32_t high = g->node_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = strcmp(g->nodes[g->by_name[middle]].name, name);

		if (order == 0)
			return g->by_name[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return ROCE_GRAPH_NONE;
}

uint32_t roce_graph_neighbour(const struct roce_graph *g, uint32_t node, uint32_t i,
			      uint32_t *out_edge)
{
	uint32_t edge = g->adjacency[g->adjacency_at[node] + i];

	if (out_edge)
		*out_edge = edge;
	return g->edges[edge].a == node ? g->edges[edge].b : g->edges[edge].a;
}

void roce_graph_distances(const struct roce_graph *g, uint32_t from, uint32_t *out_distances,
			  uint32_t *queue)
{
	uint32_t head = 0;
	uint32_t tail = 0;

	memset(out_distances, 0xff, g->node_count * sizeof(*out_distances));
	out_distances[from] = 0;
	queue[tail++] = from;
	while (head < tail) {
		uint32_t node = queue[head++];

		for (uint32_t i = 0; i < roce_graph_degree(g, node); i++) {
			uint32_t next = roce_graph_neighbour(g, node, i, NULL);

			if (out_distances[next] != ROCE_GRAPH_NONE)
				continue;
			out_distances[next] = out_distances[node] + 1;
			queue[tail++] = next;
		}
	}
}
