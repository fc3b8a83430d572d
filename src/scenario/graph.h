/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network as a graph: named hosts and switches, and the links between them, each of a class
 * ("host", "fabric", ...) by which a scenario can speak of it. Hosts come first, in the order in
 * which they are attached; nodes and links are numbered from 0, and keep their numbers in the
 * fabric.
 */
#ifndef ROCE_SCENARIO_GRAPH_H
#define ROCE_SCENARIO_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#define ROCE_GRAPH_NAME_MAX  32
#define ROCE_GRAPH_NODES_MAX 262144u
#define ROCE_GRAPH_EDGES_MAX 4194304u
#define ROCE_GRAPH_NONE	     UINT32_MAX

/* X(enumerator, name): what a link is for. */
#define ROCE_EDGE_CLASSES(X)                                        \
	X(HOST, "host")	    /* between a host and a switch */       \
	X(FABRIC, "fabric") /* between switches */                  \
	X(CORE, "core")	    /* up to the topmost of three levels */ \
	X(LOCAL, "local")   /* inside a group of a dragonfly */     \
	X(GLOBAL, "global") /* between groups */

enum roce_edge_class {
#define X(id, name) ROCE_EDGE_##id,
	ROCE_EDGE_CLASSES(X)
#undef X
		ROCE_EDGE_CLASS_COUNT
};

const char *roce_edge_class_str(enum roce_edge_class class);
/* -1: none of this name */
int roce_edge_class_from(const char *name);

struct roce_graph_node {
	char name[ROCE_GRAPH_NAME_MAX];
	bool is_host;
	int8_t rank; /* level of a switch, 1 next to the hosts; -1: no levels */
};

struct roce_graph_edge {
	uint32_t a;
	uint32_t b;
	uint8_t class; /* enum roce_edge_class */
};

struct roce_graph {
	struct roce_graph_node *nodes;
	struct roce_graph_edge *edges;
	uint32_t *by_name;   /* nodes, sorted by name */
	uint32_t *adjacency; /* edges of node n: [adjacency_at[n], adjacency_at[n + 1]) */
	uint32_t *adjacency_at;
	uint32_t node_count;
	uint32_t edge_count;
	uint32_t host_count;
	uint32_t node_room;
	uint32_t edge_room;
	bool is_full; /* something did not fit: too large, or out of memory */
};

void roce_graph_init(struct roce_graph *g);
void roce_graph_fini(struct roce_graph *g);

/* Number of the new node; after a failure `is_full` is set, and the numbers mean nothing. */
__attribute__((format(printf, 4, 5))) uint32_t
roce_graph_add_node(struct roce_graph *g, bool is_host, int rank, const char *fmt, ...);
void roce_graph_add_edge(struct roce_graph *g, uint32_t a, uint32_t b, enum roce_edge_class class);
/* To be called when all is there: sorts, and builds the lists of neighbours. 0 or -ENOMEM (also for
 * what did not fit before), -EEXIST: a name is there twice (`out_node`). */
int roce_graph_finish(struct roce_graph *g, uint32_t *out_node) __attribute__((warn_unused_result));

/* ---- of a finished graph ---- */

uint32_t roce_graph_find(const struct roce_graph *g, const char *name);
static inline uint32_t roce_graph_degree(const struct roce_graph *g, uint32_t node)
{
	return g->adjacency_at[node + 1] - g->adjacency_at[node];
}
/* The i-th edge of a node, and the node at its other end. */
uint32_t roce_graph_neighbour(const struct roce_graph *g, uint32_t node, uint32_t i,
			      uint32_t *out_edge);
/* Links on the shortest way from `from` to each node; ROCE_GRAPH_NONE where there is none. `queue`
 * has room for all nodes too. */
void roce_graph_distances(const struct roce_graph *g, uint32_t from, uint32_t *out_distances,
			  uint32_t *queue);

#endif
