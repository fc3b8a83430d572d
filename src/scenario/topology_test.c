/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Topologies against their formulas: how many nodes and links, ports of each switch, the longest of
 * the shortest ways between hosts, and the bisection (the largest flow from one half of the hosts
 * to the other, each link carrying one unit); and graphs that are no network.
 */
#include "scenario/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static struct roce_problems problems;
static struct roce_word_store store;

static struct roce_topology_conf conf_of(enum roce_topology_kind kind)
{
	struct roce_topology_conf conf;

	assert_true(roce_section_defaults(&roce_section_topology, &store, &conf));
	conf.kind = kind;
	return conf;
}

static void build(const struct roce_topology_conf *conf, struct roce_graph *g)
{
	roce_graph_init(g);
	roce_problems_init(&problems, "t.yaml");
	if (!roce_topology_build(conf, g, &problems))
		fail_msg("%s", problems.text[0]);
}

static uint32_t diameter(const struct roce_graph *g)
{
	uint32_t *distances = malloc(2 * g->node_count * sizeof(*distances));
	uint32_t longest = 0;

	for (uint32_t a = 0; a < g->host_count; a++) {
		roce_graph_distances(g, a, distances, distances + g->node_count);
		for (uint32_t b = 0; b < g->host_count; b++)
			longest = distances[b] > longest ? distances[b] : longest;
	}
	free(distances);
	return longest;
}

/* Units that flow over an edge from a to b, less those from b to a: -1, 0 or 1. */
static int8_t *flows;

static int residual(const struct roce_graph *g, uint32_t edge, uint32_t from)
{
	return 1 - (g->edges[edge].a == from ? flows[edge] : -flows[edge]);
}

/* One more unit from a host of the first half to one of the second. */
static bool augment(const struct roce_graph *g, uint32_t *came_by, uint32_t *queue)
{
	uint32_t half = g->host_count / 2;
	uint32_t head = 0;
	uint32_t tail = 0;

	memset(came_by, 0xff, g->node_count * sizeof(*came_by));
	for (uint32_t h = 0; h < half; h++) {
		came_by[h] = UINT32_MAX - 1;
		queue[tail++] = h;
	}
	while (head < tail) {
		uint32_t node = queue[head++];

		for (uint32_t i = 0; i < roce_graph_degree(g, node); i++) {
			uint32_t edge;
			uint32_t next = roce_graph_neighbour(g, node, i, &edge);

			if (came_by[next] != UINT32_MAX || residual(g, edge, node) <= 0)
				continue;
			came_by[next] = edge;
			queue[tail++] = next;
			if (next < half || next >= g->host_count)
				continue;
			while (came_by[next] != UINT32_MAX - 1) {
				const struct roce_graph_edge *e = &g->edges[came_by[next]];

				flows[came_by[next]] =
					(int8_t)(flows[came_by[next]] + (e->b == next ? 1 : -1));
				next = e->b == next ? e->a : e->b;
			}
			return true;
		}
	}
	return false;
}

static uint32_t bisection(const struct roce_graph *g)
{
	uint32_t *room = malloc(2 * g->node_count * sizeof(*room));
	uint32_t units = 0;

	flows = calloc(g->edge_count, 1);
	while (augment(g, room, room + g->node_count))
		units++;
	free(flows);
	free(room);
	return units;
}

struct expected {
	uint32_t hosts;
	uint32_t switches;
	uint32_t edges;
	uint32_t diameter; /* in links, host to host */
	uint32_t bisection;
};

static void expect(const struct roce_topology_conf *conf, struct expected e)
{
	struct roce_graph g;

	build(conf, &g);
	assert_int_equal(g.host_count, e.hosts);
	assert_int_equal(g.node_count - g.host_count, e.switches);
	assert_int_equal(g.edge_count, e.edges);
	assert_int_equal(diameter(&g), e.diameter);
	assert_int_equal(bisection(&g), e.bisection);
	for (uint32_t n = 0; n < g.node_count; n++) {
		assert_int_equal(g.nodes[n].is_host, n < g.host_count);
		assert_int_equal(roce_graph_find(&g, g.nodes[n].name), n);
	}
	assert_int_equal(roce_graph_find(&g, "nobody"), ROCE_GRAPH_NONE);
	roce_graph_fini(&g);
}

static void topology__star_dumbbell_row_ring(void **state)
{
	struct roce_topology_conf c = conf_of(ROCE_TOPOLOGY_STAR);

	(void)state;
	c.hosts = 9;
	expect(&c, (struct expected){9, 1, 9, 2, 4});
	c = conf_of(ROCE_TOPOLOGY_DUMBBELL);
	c.left = 4;
	c.right = 3;
	expect(&c,
	       (struct expected){7, 2, 8, 3, 2}); /* one link, and h3 is a neighbour of h0 to h2 */
	c = conf_of(ROCE_TOPOLOGY_PARKING_LOT);
	c.switches = 5;
	c.hosts_per_switch = 2;
	expect(&c, (struct expected){10, 5, 14, 6, 2});
	c = conf_of(ROCE_TOPOLOGY_RING);
	c.switches = 6;
	c.hosts_per_switch = 3;
	expect(&c, (struct expected){18, 6, 24, 5, 2});
}

static void topology__leaf_spine(void **state)
{
	struct roce_topology_conf c = conf_of(ROCE_TOPOLOGY_LEAF_SPINE);

	(void)state;
	c.leaves = 6;
	c.spines = 4;
	c.hosts_per_leaf = 16;
	expect(&c, (struct expected){96, 10, 96 + 24, 4, 12}); /* half of the leaves' uplinks */
	c.uplinks = 4;
	expect(&c, (struct expected){96, 10, 96 + 96, 4, 48}); /* now no oversubscription */
}

static void topology__three_tier(void **state)
{
	struct roce_topology_conf c = conf_of(ROCE_TOPOLOGY_THREE_TIER);

	(void)state;
	c.cores = 2;
	c.blocks = 4;
	c.distribution = 2;
	c.access = 3;
	c.hosts_per_access = 5;
	/* Two blocks on each side: four distribution switches with two links up. */
	expect(&c, (struct expected){60, 2 + 8 + 12, 60 + 24 + 16, 6, 8});
}

/* k^3/4 hosts, 5k^2/4 switches of k ports each, 3k^3/4 links, full bisection. */
static void topology__fat_tree(void **state)
{
	struct roce_topology_conf c = conf_of(ROCE_TOPOLOGY_FAT_TREE);
	struct roce_graph g;

	(void)state;
	for (uint32_t k = 2; k <= 8; k += 2) {
		uint32_t hosts = k * k * k / 4;

		c.k = k;
		expect(&c, (struct expected){hosts, 5 * k * k / 4, 3 * hosts, 6, hosts / 2});
		build(&c, &g);
		for (uint32_t n = g.host_count; n < g.node_count; n++)
			assert_int_equal(roce_graph_degree(&g, n), k);
		roce_graph_fini(&g);
	}
}

/* a*h+1 groups of a routers, p hosts each; every router has p + a - 1 + h links; three hops between
 * routers at most. */
static void topology__dragonfly(void **state)
{
	static const uint32_t shapes[][3] = {{2, 4, 2}, {1, 2, 1}, {3, 4, 1}, {2, 3, 3}};
	struct roce_topology_conf c = conf_of(ROCE_TOPOLOGY_DRAGONFLY);
	struct roce_graph g;

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		uint32_t p = shapes[i][0];
		uint32_t a = shapes[i][1];
		uint32_t h = shapes[i][2];
		uint32_t groups = a * h + 1;

		c.hosts_per_switch = p;
		c.routers = a;
		c.global_links = h;
		build(&c, &g);
		assert_int_equal(g.host_count, groups * a * p);
		assert_int_equal(g.edge_count,
				 groups * a * p + groups * a * (a - 1) / 2 + groups * a * h / 2);
		for (uint32_t n = g.host_count; n < g.node_count; n++)
			assert_int_equal(roce_graph_degree(&g, n), p + a - 1 + h);
		assert_int_equal(diameter(&g), 3 + 2);
		roce_graph_fini(&g);
	}
	/* Three groups of 4 routers with 2 global links: 8 ports to 2 others, 4 each. */
	c.routers = 4;
	c.global_links = 2;
	c.groups = 3;
	build(&c, &g);
	for (uint32_t n = g.host_count; n < g.node_count; n++)
		assert_int_equal(roce_graph_degree(&g, n), c.hosts_per_switch + 3 + 2);
	roce_graph_fini(&g);
}

static void topology__edge_by_edge(void **state)
{
	struct roce_topology_conf c = conf_of(ROCE_TOPOLOGY_GRAPH);
	struct roce_graph g;

	(void)state;
	assert_true(roce_words_split(&store, "s1,s2", &c.switch_names));
	assert_true(roce_words_split(&store, "db-s1, s1-s2,s1-s2 web.1-s2", &c.edges));
	build(&c, &g);
	assert_int_equal(g.host_count, 2);
	assert_string_equal(g.nodes[1].name, "web.1");
	assert_int_equal(g.edge_count, 4);
	assert_int_equal(g.edges[0].class, ROCE_EDGE_HOST);
	assert_int_equal(g.edges[1].class, ROCE_EDGE_FABRIC);
	assert_int_equal(roce_graph_degree(&g, roce_graph_find(&g, "s1")), 3);
	assert_int_equal(bisection(&g), 1);
	roce_graph_fini(&g);
}

static void topology__no_network(void **state)
{
	static const struct {
		const char *switches;
		const char *edges;
		const char *problem;
	} rows[] = {
		{"s1,s2", "a-s1,b-s2", "falls apart: no way from a to b"},
		{"s1", "a-s1,b-s1,a-s1", "host a has 2 links"},
		{"s1,s2", "a-s1,b-s1", "falls apart: no way from a to s2"},
		{"s1", "a-s1,b-s1,s1-s1", "\"s1-s1\" links a node to itself"},
		{"s1", "a-s1,b", "found \"b\", expected two names as a-b"},
		{"s1", "a-s1,b-s1-c", "found \"b-s1-c\", expected two names"},
		{"s1,s1", "a-s1,b-s1", "two nodes have the name s1"},
		{"s1", "a-s1", "1 hosts, expected at least 2"},
		{"s1", "a-s1,b-s1,c-d", "hosts c and d are linked to each other"},
		{"s1", "", "edges: 0 links"},
	};
	struct roce_topology_conf c = conf_of(ROCE_TOPOLOGY_GRAPH);
	struct roce_graph g;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(roce_words_split(&store, rows[i].switches, &c.switch_names));
		assert_true(roce_words_split(&store, rows[i].edges, &c.edges));
		roce_graph_init(&g);
		roce_problems_init(&problems, "t.yaml");
		assert_false(roce_topology_build(&c, &g, &problems));
		if (!strstr(problems.text[0], rows[i].problem))
			fail_msg("%s: %s", rows[i].edges, problems.text[0]);
		roce_graph_fini(&g);
	}
}

static void topology__numbers_that_do_not_fit(void **state)
{
	struct roce_topology_conf c = conf_of(ROCE_TOPOLOGY_FAT_TREE);
	struct roce_graph g;

	(void)state;
	roce_problems_init(&problems, "t.yaml");
	roce_graph_init(&g);
	c.k = 7;
	assert_false(roce_topology_build(&c, &g, &problems));
	c.kind = ROCE_TOPOLOGY_RING;
	c.switches = 2;
	assert_false(roce_topology_build(&c, &g, &problems));
	c.kind = ROCE_TOPOLOGY_DRAGONFLY;
	c.groups = 10;
	assert_false(roce_topology_build(&c, &g, &problems));
	c.kind = ROCE_TOPOLOGY_LEAF_SPINE;
	c.leaves = 4096;
	c.hosts_per_leaf = 4096;
	assert_false(roce_topology_build(&c, &g, &problems));
	assert_int_equal(problems.count, 4);
	roce_graph_fini(&g);
}

static int end(void **state)
{
	(void)state;
	roce_word_store_fini(&store);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(topology__star_dumbbell_row_ring),
		cmocka_unit_test(topology__leaf_spine),
		cmocka_unit_test(topology__three_tier),
		cmocka_unit_test(topology__fat_tree),
		cmocka_unit_test(topology__dragonfly),
		cmocka_unit_test(topology__edge_by_edge),
		cmocka_unit_test(topology__no_network),
		cmocka_unit_test(topology__numbers_that_do_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
