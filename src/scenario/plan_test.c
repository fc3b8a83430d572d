/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Overrides reach what they match and nothing else, in the order of the file; what keys mean
 * together is checked, each rule by a scenario that breaks it alone.
 */
#include "scenario/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define FLOW "workload: [{from: h0, to: h1}]\n"

static struct roce_problems problems;
static struct roce_plan plan;
static struct roce_scenario *scenario;

static bool make(const char *text)
{
	roce_problems_init(&problems, "p.yaml");
	memset(&plan, 0, sizeof(plan));
	scenario = roce_scenario_load(text, strlen(text), "p.yaml", &problems);
	return scenario && roce_plan_init(&plan, scenario, NULL, &problems);
}

static void drop(void)
{
	roce_plan_fini(&plan);
	roce_scenario_destroy(scenario);
}

static void plan_init__overrides(void **state)
{
	uint32_t leaf0;
	uint32_t spine0;
	uint32_t h0;
	uint32_t edge;

	(void)state;
	if (!make("topology: {kind: leaf-spine}\n"
		  "link: {length: 2m}\n"
		  "links:\n"
		  "  - {match: host, rate: 25G}\n"
		  "  - {match: h0-leaf0, rate: 10G}\n"
		  "  - {match: spine0-leaf*, delay: 1us}\n"
		  "switch: {ecn: {kmin: 100kB}}\n"
		  "switches:\n"
		  "  - {match: \"*\", ecn: {kmax: 2MB}}\n"
		  "  - {match: spine*, ecn: {kmax: 3MB}, mtu: 1500}\n"
		  "ports: [{match: \"leaf0:h*\", ecn: {enabled: off}}]\n"
		  "hosts: [{match: h1, path_mtu: 1024}]\n" FLOW))
		fail_msg("%s", problems.text[0]);
	leaf0 = roce_graph_find(&plan.graph, "leaf0");
	spine0 = roce_graph_find(&plan.graph, "spine0");
	h0 = roce_graph_find(&plan.graph, "h0");
	assert_int_equal(plan.switches[leaf0]->kmax, 2000000);
	assert_int_equal(plan.switches[spine0]->kmax, 3000000);
	assert_int_equal(plan.switches[spine0]->kmin, 100000);
	assert_int_equal(plan.switches[spine0]->mtu, 1500);
	assert_ptr_equal(plan.switches[spine0], plan.switches[spine0 + 1]); /* shared */
	assert_int_equal(plan.hosts[1]->path_mtu, 2);
	assert_int_equal(plan.hosts[0]->path_mtu, 4);
	assert_int_equal(roce_plan_host_link(&plan, h0)->rate, 10000000000);
	assert_int_equal(roce_plan_host_link(&plan, h0 + 1)->rate, 25000000000);
	assert_int_equal(roce_link_delay_ps(roce_plan_host_link(&plan, h0)), 10000); /* 2 m */
	for (uint32_t i = 0; i < roce_graph_degree(&plan.graph, leaf0); i++) {
		uint32_t peer = roce_graph_neighbour(&plan.graph, leaf0, i, &edge);
		int side = plan.graph.edges[edge].b == leaf0;

		assert_int_equal(plan.ports[side][edge]->ecn, !plan.graph.nodes[peer].is_host);
		if (peer == spine0) {
			assert_int_equal(roce_link_delay_ps(plan.links[edge]), 1000000);
			assert_int_equal(plan.links[edge]->rate, 100000000000);
		}
	}
	drop();
}

static void plan_init__oversubscription(void **state)
{
	(void)state;
	assert_true(make("topology: {kind: leaf-spine, hosts_per_leaf: 12, spines: 4, "
			 "oversubscription: \"3:1\"}\n" FLOW));
	/* 12 hosts of 100 Gb/s over 4 uplinks at a third. */
	assert_int_equal(plan.links[plan.graph.edge_count - 1]->rate, 100000000000);
	assert_int_equal(plan.links[0]->rate, 100000000000);
	drop();
	assert_true(make("topology: {kind: leaf-spine, oversubscription: \"1:1\"}\n" FLOW));
	assert_int_equal(plan.links[plan.graph.edge_count - 1]->rate, 400000000000);
	drop();
}

static void plan_init__lists(void **state)
{
	(void)state;
	assert_true(make("topology: {kind: ring}\n"
			 "acl: [{at: s0, src: [h0, h1], family: ipv6}]\n"
			 "routes: [{at: s0, to: \"@s1\", via: s2}]\n"
			 "faults: [{link: fabric, at: 1us}]\n" FLOW));
	assert_int_equal(plan.acl_count, 1);
	assert_int_equal(plan.acl[0].src.count, 2);
	assert_int_equal(plan.acl[0].dst.count, 0);
	assert_int_equal(plan.route_count, 1);
	assert_int_equal(plan.routes[0].to.count, 2);
	assert_int_equal(plan.fault_count, 3);
	drop();
}

static void plan_init__each_mistake(void **state)
{
	static const struct {
		const char *text;
		const char *problem;
	} rows[] = {
		{"switch: {ecn: {kmin: 2MB, kmax: 1MB}}\n",
		 "p.yaml:1: ecn.kmax: 1000000 is below kmin"},
		{"switch: {buffer: {size: 300kB}}\n",
		 "p.yaml:1: ecn.kmin: 400000 can never be reached"},
		{"switch: {buffer: {size: 2MB}}\n",
		 "ecn.kmin: 400000 is not below the XOFF point, at most 240"},
		{"\nswitch: {buffer: {pg_lossless: {static_th: 300kB}}}\n",
		 "p.yaml:2: ecn.kmin: 400000 is not below the XOFF point, at most 318432"},
		{"switch: {buffer: {size: 12MB, pg_lossless: {xoff: 13MB}}}\n",
		 "reserve and headroom of 13018432 are larger than the buffer"},
		{"switch: {buffer: {pg_lossless: {static_th: 40MB}}}\n",
		 "static_th: 40000000 can never be reached"},
		{"switch: {buffer: {egress_lossless_pool: {size: 33MiB}}}\n",
		 "egress_lossless_pool.size: 34603008 can never be reached: the buffer has "
		 "33554432"},
		{"switch: {buffer: {egress_lossy_pool: {size: 33MiB}}}\n",
		 "egress_lossy_pool.size: 34603008 can never be reached"},
		{"switch: {buffer: {ingress_lossless_pool: {xoff: 33MiB}}}\n",
		 "ingress_lossless_pool.xoff: 34603008 can never be reached"},
		{"switch: {buffer: {ingress_lossless_pool: {xoff: 60kB}, pg_lossless: {xoff: "
		 "70kB}}}\n",
		 "pg_lossless.xoff: 70000 is more than the headroom pool, 60000"},
		{"switch:\n  buffer:\n    pg_lossless: {static_th: 500kB, xon: 600kB}\n",
		 "p.yaml:3: buffer.pg_lossless.xon: 600000 is above the XOFF point, at most "
		 "518432"},
		{"switch: {buffer: {q_lossless: {static_th: 33MiB}, q_lossy: {static_th: "
		 "34MiB}}}\n",
		 "q_lossless.static_th: 34603008 can never be reached"},
		{"\nswitch: {buffer: {q_lossless: {static_th: 300kB}}}\n",
		 "p.yaml:2: ecn.kmin: 400000 can never be reached: lossless queues drop above "
		 "300000"},
		{"switch: {buffer: {egress_lossless_pool: {size: 200kB}}}\n",
		 "ecn.kmin: 400000 can never be reached: lossless queues drop above 200000"},
		{"switch: {buffer: {q_lossy: {static_th: 300kB}}, ecn: {tc: [1,0,0,1,0,0,0,0]}}\n",
		 "ecn.kmin: 400000 can never be reached: lossy queues drop above 300000"},
		{"switch:\n  qos:\n    tcbw: 50,0,0,40,0,0,10,0\n",
		 "p.yaml:3: qos.tcbw: 10% for class 6, which is strict, expected 0"},
		{"switch: {qos: {dscp_prio: [26:3, 64:3]}}\n",
		 "found \"64:3\", expected DSCP:PRIO"},
		{"switch: {watchdog: {enabled: on, detection_time: 1ms}}\n",
		 "watchdog.detection_time: below poll_interval"},
		{"host: {mtu: 1500}\n",
		 "path_mtu: packets of 4096 bytes and headers do not fit into mtu, 1500"},
		{"links: [{match: fabric, rate: 5G}]\n",
		 "links: \"fabric\" matches nothing of this network"},
		{"switches: [{match: leaf*, mtu: 1500}]\n", "switches: \"leaf*\" matches nothing"},
		{"ports: [{match: s0, mtu: 1500}]\n", "ports: \"s0\" matches nothing"},
		{"hosts: [{match: h16, mtu: 1500}]\n", "hosts: \"h16\" matches nothing"},
		{"acl: [{dst: h99}]\n", "acl: dst: \"h99\" is no host of this network (h0 to h15)"},
		{"routes: [{at: h0, via: s0}]\n", "routes: at: \"h0\" is no switch"},
		{"\nroutes: [{}]\n", "p.yaml:2: routes: at: \"\" is no switch"},
		{"\nroutes: [{at: s0}]\n", "p.yaml:2: routes: via: no switch"},
		{"\nfaults: [{}]\n", "p.yaml:2: faults: link: \"\" is no link"},
		{"faults: [{link: h0-h1}]\n", "faults: link: \"h0-h1\" is no link"},
		{"faults: [{kind: pause-storm, at: 1us}]\n", "p.yaml:1: faults: host: no host"},
		{"faults: [{kind: slow-receiver, host: s0}]\n", "\"s0\" is no host"},
		{"output: {percentiles: [50, 101]}\n", "percentiles: found \"101\""},
		{"switch: {buffer: {uncounted: [0,0,0,1,0,0,0,0]}}\n",
		 "PFC acts on what priority 3 holds"},
		{"topology: {routing: clockwise}\n", "routing: clockwise is for a ring"},
		{"topology: {routing: minimal}\n", "routing: minimal is for a dragonfly"},
		{"topology: {routing: valiant}\n", "routing: valiant is for a dragonfly"},
		{"topology: {kind: dragonfly, routing: valiant}\n",
		 "p.yaml:1: routing: valiant in one lossless class can lock up, expected `classes` "
		 "too, as 3,4,5, or 3 to see it"},
		{"topology: {kind: dragonfly, routing: valiant, classes: [3,9]}\n",
		 "classes: found \"9\", expected different priorities, as 3,4,5"},
		{"topology: {kind: dragonfly, classes: [3,3]}\n", "classes: found \"3\", expected"},
		{"topology: {kind: dragonfly, classes: [3,4]}\n"
		 "switch: {qos: {pfc: [0,0,0,1,1,0,0,0], prio_tc: [0,0,0,3,4,0,6,0]}}\n",
		 "classes: found 2, expected 3 for such routes"},
		{"topology: {kind: dragonfly, routing: minimal, classes: [3,4]}\n",
		 "classes: priority 4 is not lossless at g0r0, `switch.qos.pfc`"},
		{"topology: {kind: dragonfly, routing: minimal, classes: [3,4]}\n"
		 "switch: {qos: {pfc: [0,0,0,1,1,0,0,0], prio_tc: [0,0,0,3,3,0,6,0]}}\n",
		 "classes: priority 4 has no traffic class of its own at g0r0"},
		{"topology: {kind: dragonfly, routing: minimal, classes: 4}\n"
		 "switch: {qos: {pfc: [0,0,0,1,1,0,0,0]}}\n",
		 "prio: 3 is lossless, but `topology.classes` begin with 4"},
		{"topology: {classes: 3}\n", "classes: means nothing for kind star"},
		{"hosts: [{match: h1, address: ipv6}]\n",
		 "h0 and h1 have addresses of different kinds"},
		{"topology: {kind: leaf-spine, oversubscription: \"3\"}\n",
		 "oversubscription: found \"3\", expected N:M"},
		{"topology: {kind: leaf-spine, oversubscription: \"1:9\"}\n",
		 "expected 1kb/s to 800Gb/s"},
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool is_found = false;

		snprintf(text, sizeof(text), "%s" FLOW, rows[i].text);
		if (make(text))
			fail_msg("%s: nothing", rows[i].text);
		for (uint32_t p = 0; p < roce_problems_kept(&problems); p++)
			is_found = is_found || strstr(problems.text[p], rows[i].problem);
		if (!is_found)
			fail_msg("%s: \"%s\" is not \"%s\"", rows[i].text, problems.text[0],
				 rows[i].problem);
		drop();
	}
	assert_false(make("seed: 1\n"));
	assert_non_null(strstr(problems.text[0], "no `workload`"));
	drop();
	assert_false(
		make("workload: [{name: a, from: h0, to: h1}, {name: a, from: h1, to: h0}]\n"));
	assert_non_null(strstr(problems.text[0], "p.yaml:1: two workloads have the name a"));
	drop();
	/* Several parts of a file at once. */
	assert_false(
		make("switch: {ecn: {kmin: 2MB}}\nacl: [{dst: h99}]\nworkload: [{from: h99}]\n"));
	assert_int_equal(problems.count, 3);
	drop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plan_init__overrides),
		cmocka_unit_test(plan_init__oversubscription),
		cmocka_unit_test(plan_init__lists),
		cmocka_unit_test(plan_init__each_mistake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
