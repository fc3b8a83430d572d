/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the section `topology` to a graph. Adding a kind: its word and keys in section_topology.h,
 * its builder here, a line in the table of topology.c, its formulas in topology_test.c.
 */
#ifndef ROCE_SCENARIO_TOPOLOGY_H
#define ROCE_SCENARIO_TOPOLOGY_H

#include "scenario/graph.h"
#include "scenario/problem.h"
#include "scenario/section_topology.h"

/* Builds and finishes the graph. False: what is wrong is in `problems`. A host has one link, every
 * node can reach every other. */
bool roce_topology_build(const struct roce_topology_conf *conf, struct roce_graph *g,
			 struct roce_problems *problems);

/* A graph from anywhere: finishes it and checks the same. `line` for what concerns all of it. */
bool roce_topology_finish(struct roce_graph *g, uint32_t line, struct roce_problems *problems);

/* The builders, one for each kind. What they cannot build they say. */
void roce_topology_star(const struct roce_topology_conf *c, struct roce_graph *g,
			struct roce_problems *p);
void roce_topology_dumbbell(const struct roce_topology_conf *c, struct roce_graph *g,
			    struct roce_problems *p);
void roce_topology_parking_lot(const struct roce_topology_conf *c, struct roce_graph *g,
			       struct roce_problems *p);
void roce_topology_ring(const struct roce_topology_conf *c, struct roce_graph *g,
			struct roce_problems *p);
void roce_topology_leaf_spine(const struct roce_topology_conf *c, struct roce_graph *g,
			      struct roce_problems *p);
void roce_topology_three_tier(const struct roce_topology_conf *c, struct roce_graph *g,
			      struct roce_problems *p);
void roce_topology_fat_tree(const struct roce_topology_conf *c, struct roce_graph *g,
			    struct roce_problems *p);
void roce_topology_dragonfly(const struct roce_topology_conf *c, struct roce_graph *g,
			     struct roce_problems *p);
void roce_topology_graph(const struct roce_topology_conf *c, struct roce_graph *g,
			 struct roce_problems *p);

#endif
