/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The graph: a generator and its numbers, or the edges one by one. What a link is made of stands in
 * section `link`.
 */
#ifndef ROCE_SCENARIO_SECTION_TOPOLOGY_H
#define ROCE_SCENARIO_SECTION_TOPOLOGY_H

#include "scenario/key.h"

enum roce_topology_kind {
	ROCE_TOPOLOGY_STAR,
	ROCE_TOPOLOGY_DUMBBELL,
	ROCE_TOPOLOGY_PARKING_LOT,
	ROCE_TOPOLOGY_RING,
	ROCE_TOPOLOGY_LEAF_SPINE,
	ROCE_TOPOLOGY_THREE_TIER,
	ROCE_TOPOLOGY_FAT_TREE,
	ROCE_TOPOLOGY_DRAGONFLY,
	ROCE_TOPOLOGY_GRAPH,
	ROCE_TOPOLOGY_KIND_COUNT,
};
#define ROCE_TOPOLOGY_WORDS \
	"star|dumbbell|parking-lot|ring|leaf-spine|three-tier|fat-tree|dragonfly|graph"

enum roce_routing {
	ROCE_ROUTING_SHORTEST,
	ROCE_ROUTING_UP_DOWN,
	ROCE_ROUTING_CLOCKWISE,
	ROCE_ROUTING_MINIMAL,
	ROCE_ROUTING_VALIANT,
};
#define ROCE_ROUTING_WORDS "shortest|up-down|clockwise|minimal|valiant"

#define ON_STAR		   (1u << ROCE_TOPOLOGY_STAR)
#define ON_DUMBBELL	   (1u << ROCE_TOPOLOGY_DUMBBELL)
#define ON_LOT		   (1u << ROCE_TOPOLOGY_PARKING_LOT)
#define ON_RING		   (1u << ROCE_TOPOLOGY_RING)
#define ON_LEAF_SPINE	   (1u << ROCE_TOPOLOGY_LEAF_SPINE)
#define ON_THREE_TIER	   (1u << ROCE_TOPOLOGY_THREE_TIER)
#define ON_FAT_TREE	   (1u << ROCE_TOPOLOGY_FAT_TREE)
#define ON_DRAGONFLY	   (1u << ROCE_TOPOLOGY_DRAGONFLY)
#define ON_GRAPH	   (1u << ROCE_TOPOLOGY_GRAPH)

/* clang-format off */
#define ROCE_TOPOLOGY_KEYS(X)                                                                      \
	X(kind, "kind", WORD, "star", NULL, NULL, ROCE_TOPOLOGY_WORDS, 0,                          \
	  "the shape of the network", NULL)                                                        \
	X(routing, "routing", WORD, "shortest", NULL, NULL, ROCE_ROUTING_WORDS, 0, \
	  "shortest paths; up-down: never down and up again; " \
	  "clockwise: one way round a ring; minimal: one global link at most, of a dragonfly; " \
	  "valiant: each flow by way of a group that is drawn for it", NULL)                       \
	X(hosts, "hosts", COUNT, "16", "2", "65536", NULL, ON_STAR,                                \
	  "hosts of a star, all at one switch", NULL)                                              \
	X(left, "left", COUNT, "2", "1", "32768", NULL, ON_DUMBBELL,                               \
	  "hosts on the left side of a dumbbell", NULL)                                            \
	X(right, "right", COUNT, "2", "1", "32768", NULL, ON_DUMBBELL,                             \
	  "hosts on its right side", NULL)                                                         \
	X(switches, "switches", COUNT, "3", "2", "4096", NULL, ON_LOT | ON_RING,                   \
	  "switches in a row, or in a ring", NULL)                                                 \
	X(hosts_per_switch, "hosts_per_switch", COUNT, "2", "1", "4096", NULL,                     \
	  ON_LOT | ON_RING | ON_DRAGONFLY,                                                         \
	  "hosts at each switch; p of a dragonfly", NULL)                                          \
	X(leaves, "leaves", COUNT, "4", "1", "4096", NULL, ON_LEAF_SPINE,                          \
	  "leaf switches", NULL)                                                                   \
	X(spines, "spines", COUNT, "2", "1", "1024", NULL, ON_LEAF_SPINE,                          \
	  "spine switches, each connected to each leaf", NULL)                                     \
	X(hosts_per_leaf, "hosts_per_leaf", COUNT, "8", "1", "4096", NULL, ON_LEAF_SPINE,          \
	  "hosts at each leaf", NULL)                                                              \
	X(uplinks, "uplinks", COUNT, "1", "1", "64", NULL, ON_LEAF_SPINE,                          \
	  "parallel links between a leaf and a spine", NULL)                                       \
	X(oversubscription, "oversubscription", TEXT, "", NULL, NULL, NULL, ON_LEAF_SPINE,         \
	  "N:M: hosts' rate of a leaf to its uplinks' rate; sets the rate of class fabric", NULL)  \
	X(cores, "cores", COUNT, "2", "1", "256", NULL, ON_THREE_TIER,                             \
	  "core switches, each connected to each distribution switch", NULL)                       \
	X(blocks, "blocks", COUNT, "2", "1", "1024", NULL, ON_THREE_TIER,                          \
	  "distribution blocks", NULL)                                                             \
	X(distribution, "distribution", COUNT, "2", "1", "64", NULL, ON_THREE_TIER,                \
	  "distribution switches of a block", "pairs, as campus designs have them")                \
	X(access, "access", COUNT, "2", "1", "256", NULL, ON_THREE_TIER,                           \
	  "access switches of a block, each connected to each of its distribution switches", NULL) \
	X(hosts_per_access, "hosts_per_access", COUNT, "4", "1", "1024", NULL, ON_THREE_TIER,      \
	  "hosts at each access switch", NULL)                                                     \
	X(k, "k", COUNT, "4", "2", "64", NULL, ON_FAT_TREE,                                        \
	  "ports of each switch of a fat-tree, even; k^3/4 hosts", NULL)                           \
	X(routers, "routers", COUNT, "4", "1", "256", NULL, ON_DRAGONFLY,                          \
	  "a: switches of a group, all connected to each other", NULL)                             \
	X(global_links, "global_links", COUNT, "2", "1", "256", NULL, ON_DRAGONFLY,                \
	  "h: links to other groups at each switch", NULL)                                         \
	X(groups, "groups", COUNT, "0", NULL, "4096", NULL, ON_DRAGONFLY,                          \
	  "groups; 0: a*h+1, as many as there can be", "balanced dragonfly: a = 2p = 2h")          \
	X(classes, "classes", LIST, "", NULL, NULL, NULL, ON_DRAGONFLY,                            \
	  "lossless priorities: packets begin in the first and go to the next with each global link, " \
	  "so that buffers cannot wait for each other in a circle; 2 for minimal routes, 3 for valiant", \
	  "virtual channels of the dragonfly paper, as priorities")                                \
	X(switch_names, "switch_names", LIST, "", NULL, NULL, NULL, ON_GRAPH,                      \
	  "which nodes are switches; all others are hosts", NULL)                                  \
	X(edges, "edges", LIST, "", NULL, NULL, NULL, ON_GRAPH,                                    \
	  "the links, each as a-b; once for each parallel link", NULL)
/* clang-format on */

struct roce_topology_conf {
	ROCE_TOPOLOGY_KEYS(ROCE_KEY_MEMBER)
	struct {
		ROCE_TOPOLOGY_KEYS(ROCE_KEY_LINE)
	} where;
};

extern const struct roce_section roce_section_topology;

#endif
