/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios as fabrics: what the file says reaches the ports; every kind of topology carries its
 * flows; filters, static routes, rings that lock up do what they say; the seed decides. What goes
 * wrong while it runs is in build_fault_test.c.
 */
#include "scenario/build_conf.h"
#include "scenario/build_run.h"

static void build__defaults_are_the_fabrics(void **state)
{
	struct roce_fabric_port_config mine;
	struct roce_fabric_port_config theirs;
	struct roce_fabric_switch_config sw;
	struct roce_fabric_switch_config sw_theirs;
	struct roce_fabric_host_config host;
	struct roce_fabric_host_config host_theirs;

	(void)state;
	assert_true(make("workload: [{from: h0, to: h1}]\n"));
	memset(&theirs, 0, sizeof(theirs));
	roce_fabric_port_defaults(&theirs);
	roce_build_switch_port(&scenario->sw, &mine);
	assert_memory_equal(&mine.qos, &theirs.qos, sizeof(mine.qos));
	assert_memory_equal(&mine.pfc, &theirs.pfc, sizeof(mine.pfc));
	assert_memory_equal(&mine.ecn, &theirs.ecn, sizeof(mine.ecn));
	assert_memory_equal(&mine.buffer, &theirs.buffer, sizeof(mine.buffer));
	assert_int_equal(mine.mtu_bytes, theirs.mtu_bytes);
	roce_build_host_port(&scenario->host, &mine);
	assert_memory_equal(&mine.qos, &theirs.qos, sizeof(mine.qos));
	assert_memory_equal(&mine.buffer, &theirs.buffer, sizeof(mine.buffer));
	roce_fabric_switch_defaults(&sw_theirs);
	roce_build_switch(&scenario->sw, -1, &sw);
	assert_int_equal(sw.buffer_bytes, sw_theirs.buffer_bytes);
	assert_int_equal(sw.latency_ps, sw_theirs.latency_ps);
	assert_int_equal(sw.watchdog.detect_ps, sw_theirs.watchdog.detect_ps);
	roce_fabric_host_defaults(&host_theirs);
	roce_build_host(&plan, 0, &host);
	assert_int_equal(host.tx_delay_ps, host_theirs.tx_delay_ps);
	assert_int_equal(host.rx_delay_ps, host_theirs.rx_delay_ps);
	assert_int_equal(host.rx_buffer_bytes, host_theirs.rx_buffer_bytes);
	assert_int_equal(host.ack_interval_packets, host_theirs.ack_interval_packets);
	assert_int_equal(host.ack_prio, host_theirs.ack_prio);
	drop();
}

static void build__keys_reach_the_ports(void **state)
{
	struct roce_fabric_switch_config sw;
	struct roce_fabric_port_view view;
	uint32_t s0;

	(void)state;
	assert_true(make("topology: {kind: dumbbell}\n"
			 "link: {rate: 40G, length: 1km}\n"
			 "switch:\n"
			 "  buffer:\n"
			 "    pg_lossless: {xoff: 50kB, static_th: 900kB, xon: 700kB}\n"
			 "    ingress_lossless_pool: {xoff: 100kB}\n"
			 "    egress_lossless_pool: {size: 20MB}\n"
			 "    egress_lossy_pool: {size: 10MB}\n"
			 "    q_lossless: {static_th: 3MB}\n"
			 "    q_lossy: {static_th: 2MB}\n"
			 "  ecn: {kmin: 5kB, kmax: 200kB, pmax: 1%, at: dequeue}\n"
			 "  qos: {dscp_prio: [30:3], tcbw: [25,0,0,75,0,0,0,0]}\n"
			 "ports: [{match: \"s0:s1\", pfc: {quanta: 100}}]\n"
			 "workload: [{from: h0, to: h2}]\n"));
	s0 = roce_graph_find(&plan.graph, "s0");
	assert_int_equal(roce_fabric_port_view(built.fabric, s0, 2, &view), 0);
	assert_int_equal(view.peer_node, roce_graph_find(&plan.graph, "s1"));
	assert_int_equal(view.rate_bps, 40000000000);
	assert_int_equal(view.delay_ps, 5 * ROCE_PS_PER_US);
	assert_int_equal(view.headroom_bytes[3], 50000);
	assert_int_equal(view.cfg->buffer[3].xoff_bytes, 900000);
	assert_int_equal(view.cfg->buffer[3].xon_bytes, 700000);
	assert_int_equal(view.cfg->buffer[3].egress_limit_bytes, 3000000);
	assert_int_equal(view.cfg->buffer[0].egress_limit_bytes, 2000000);
	roce_build_switch(&scenario->sw, -1, &sw);
	assert_int_equal(sw.headroom_pool_bytes, 100000);
	assert_int_equal(sw.egress_lossless_bytes, 20000000);
	assert_int_equal(sw.egress_lossy_bytes, 10000000);
	assert_int_equal(view.cfg->ecn[3].kmin_bytes, 5000);
	assert_int_equal(view.cfg->ecn[3].pmax_ppm, 10000);
	assert_true(view.cfg->ecn[3].is_at_dequeue);
	assert_false(view.cfg->ecn[0].is_enabled);
	assert_int_equal(view.cfg->qos.dscp_to_prio[30], 3);
	assert_int_equal(view.cfg->qos.tc_weight[3], 75);
	assert_int_equal(view.cfg->qos.tc_weight[6], 1);
	assert_int_equal(view.cfg->qos.tc_scheduler[6], ROCE_FABRIC_STRICT);
	assert_int_equal(view.cfg->pfc.quanta, 100);
	assert_int_equal(roce_fabric_port_view(built.fabric, s0, 0, &view), 0);
	assert_int_equal(view.cfg->pfc.quanta, 65535);
	drop();
}

static void build__keys_reach_the_hosts(void **state)
{
	struct roce_fabric_host_config host;

	(void)state;
	assert_true(make("host: {recovery: go-back-0, cnp_delay: 55us, vlan: 7}\n"
			 "hosts: [{match: h1, recovery: go-back-n, vlan: 0}, {match: h2, vlan: 0, "
			 "qos: {trust: pcp, pcp_prio: [1,0,2,3,4,5,6,7], default_prio: 5}}]\n"
			 "workload: [{from: h0, to: h1}]\n"));
	roce_build_host(&plan, 0, &host);
	assert_true(host.is_go_back_0);
	assert_int_equal(host.cnp_delay_ps, 55 * ROCE_PS_PER_US);
	assert_true(host.is_tagged && host.vlan_id == 7);
	roce_build_host(&plan, 1, &host);
	assert_false(host.is_go_back_0);
	assert_false(host.is_tagged);
	roce_build_host(&plan, 2, &host);
	assert_true(host.is_tagged && host.vlan_id == 0);
	assert_int_equal(host.port.qos.pcp_to_prio[0], 1);
	assert_int_equal(host.port.qos.default_prio, 5);
	drop();
}

static void build__headrooms_of_all_ports(void **state)
{
	(void)state;
	assert_false(make("topology: {hosts: 64}\n"
			  "switch:\n"
			  "  buffer:\n"
			  "    size: 8MB\n"
			  "    pg_lossless: {xoff: 200kB}\n"
			  "workload: [{from: h0, to: h1}]\n"));
	assert_string_equal(problems.text[0], "b.yaml:4: s0: reserve and headroom of all "
					      "ports are more than the buffer");
	drop();
}

/* From spine to spine the way is down and up again. */
static void build__up_down_that_leads_nowhere(void **state)
{
	(void)state;
	assert_false(make("topology:\n"
			  "  kind: graph\n"
			  "  routing: up-down\n"
			  "  switch_names: [k, l, s, t]\n"
			  "  edges: [k-s, k-t, l-s, l-t, a-k, b-l, c-s, d-t]\n"
			  "workload: [{from: a, to: b}]\n"));
	assert_string_equal(problems.text[0],
			    "b.yaml:3: c: no way from one host to another, with routing: up-down");
	drop();
}

static void build__every_topology_carries_flows(void **state)
{
	static const char *const kinds[] = {
		"kind: star",
		"kind: dumbbell",
		"kind: parking-lot",
		"kind: ring",
		"kind: leaf-spine",
		"kind: three-tier",
		"kind: fat-tree",
		"kind: dragonfly, groups: 3",
		"kind: dragonfly, routing: minimal",
		"kind: dragonfly, routing: valiant, classes: 3",
		"kind: leaf-spine, routing: up-down, uplinks: 2",
		"kind: ring, routing: clockwise",
		"kind: graph, switch_names: [a, b], edges: [x-a, a-b, b-y, b-z]",
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(text, sizeof(text),
			 "topology: {%s}\nworkload: [{kind: permutation, bytes: 20kB}]\n",
			 kinds[i]);
		run(text);
		assert_int_equal(outcome.end, ROCE_FABRIC_END_DONE);
		assert_int_equal(outcome.workloads[0].done, plan.graph.host_count);
		assert_int_equal(outcome.workloads[0].bytes, plan.graph.host_count * 20000);
		assert_int_equal(outcome.drops, 0);
		drop();
	}
}

static void build__every_workload_ends(void **state)
{
	static const char *const kinds[] = {
		"kind: flow, from: h0, to: h1, op: read",
		"kind: flow, from: h0, to: h1, service: uc",
		"kind: flow, from: h0, to: h1, service: ud, op: send, bytes: 50kB",
		"kind: flow, from: h0, to: h1, queue_pairs: 4, rounds: 2",
		"kind: incast, to: h0, bytes: 50kB, rounds: 2",
		"kind: all-to-all, bytes: 4kB",
		"kind: all-reduce, bytes: 100kB",
		"kind: storage, from: h0..h3, to: h4..h7, operations: 5",
		"kind: poisson, cdf: storage, load: 20%, duration: 20us",
		("kind: requests, from: h0..h3, to: h4..h7, rate_per_client: 200k/s, "
		 "duration: 100us"),
		"kind: background, to: h0, duration: 50us",
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		snprintf(text, sizeof(text), "topology: {hosts: 8}\nworkload: [{%s}]\n", kinds[i]);
		run(text);
		if (outcome.end != ROCE_FABRIC_END_DONE ||
		    outcome.workloads[0].done != plan.flows.count || outcome.drops)
			fail_msg("%s: %s, %u of %u, %u drops", kinds[i],
				 roce_fabric_end_str(outcome.end), outcome.workloads[0].done,
				 plan.flows.count, (unsigned int)outcome.drops);
		/* What nobody acknowledges is over when it is sent. */
		if (plan.flows.at[0].service == ROCE_SERVICE_RC)
			assert_true(outcome.workloads[0].messages > 0 &&
				    roce_outcome_latency_us(&outcome, 0, 0.5) > 0.8);
		drop();
	}
}

/* A ring that everybody goes the same way round waits for itself; the shorter way does not. */
static void build__a_ring_locks_up(void **state)
{
	static const char form[] =
		"topology: {kind: ring, routing: %s, switches: 3}\n"
		"switch: {ecn: {enabled: off}, buffer: {pg_lossless: {static_th: 100kB}}}\n"
		"stall: 1ms\nuntil: 100ms\n"
		"workload:\n"
		"  - {from: \"@s0\", to: \"@s2\", bytes: 20MB}\n"
		"  - {from: \"@s1\", to: \"@s0\", bytes: 20MB}\n"
		"  - {from: \"@s2\", to: \"@s1\", bytes: 20MB}\n";
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), form, "clockwise");
	run(text);
	assert_int_equal(outcome.end, ROCE_FABRIC_END_DEADLOCK);
	assert_int_equal(outcome.totals.flows_done, 0);
	drop();
	snprintf(text, sizeof(text), form, "shortest");
	run(text);
	assert_int_equal(outcome.end, ROCE_FABRIC_END_DONE);
	drop();
}

static void build__filters(void **state)
{
	static const char form[] = "host: {address: %s, retry: {count: 0, timeout: 8}}\n"
				   "acl: [{family: ipv6, udp_port: 4791, dst: h1}]\n"
				   "workload:\n"
				   "  - {from: h0, to: h1, bytes: 10kB}\n"
				   "  - {from: h0, to: h2, bytes: 10kB}\n";
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), form, "ipv4");
	run(text);
	assert_int_equal(outcome.workloads[0].done, 1);
	assert_int_equal(outcome.totals.drops[ROCE_FABRIC_DROP_ACL], 0);
	drop();
	snprintf(text, sizeof(text), form, "ipv6");
	run(text);
	assert_int_equal(outcome.workloads[0].failed, 1);
	assert_int_equal(outcome.workloads[1].done, 1);
	assert_true(outcome.totals.drops[ROCE_FABRIC_DROP_ACL] > 0);
	drop();
}

static void build__static_routes(void **state)
{
	struct roce_fabric_port_view view;
	uint32_t hops[8];
	uint32_t leaf0;

	(void)state;
	assert_true(make("topology: {kind: leaf-spine}\n"
			 "routes: [{at: leaf0, to: h31, via: spine1}]\n"
			 "workload: [{from: h0, to: h31}]\n"));
	leaf0 = roce_graph_find(&plan.graph, "leaf0");
	assert_int_equal(roce_fabric_next_hops(built.fabric, leaf0, 31, hops, 8), 1);
	assert_int_equal(roce_fabric_port_view(built.fabric, leaf0, hops[0], &view), 0);
	assert_int_equal(view.peer_node, roce_graph_find(&plan.graph, "spine1"));
	assert_int_equal(roce_fabric_next_hops(built.fabric, leaf0, 30, hops, 8), 2);
	drop();
}

/* Hops of a packet between two hosts, by the routes that there are. */
static uint32_t count_hops(uint32_t src, uint32_t dst, uint32_t *out_global)
{
	struct roce_fabric_port_view view;
	uint32_t node = src;
	uint32_t hops = 0;
	uint32_t port = 0;

	*out_global = 0;
	while (node != dst && hops < 20) {
		assert_int_equal(roce_fabric_port_view(built.fabric, node, port, &view), 0);
		for (uint32_t e = 0; e < plan.graph.edge_count; e++) {
			const struct roce_graph_edge *edge = &plan.graph.edges[e];

			*out_global += edge->class == ROCE_EDGE_GLOBAL &&
				       ((edge->a == node && edge->b == view.peer_node) ||
					(edge->b == node && edge->a == view.peer_node));
		}
		node = view.peer_node;
		hops++;
		if (node != dst)
			assert_true(roce_fabric_next_hops(built.fabric, node, dst, &port, 1) > 0);
	}
	return hops;
}

/* At most local, global, local between switches; one global link to another group, none inside. */
static void build__minimal_routes_of_a_dragonfly(void **state)
{
	uint32_t longest = 0;

	(void)state;
	assert_true(make("topology: {kind: dragonfly, routing: minimal}\n"
			 "workload: [{from: h0, to: h1}]\n"));
	for (uint32_t a = 0; a < plan.graph.host_count; a += 5) {
		for (uint32_t b = 0; b < plan.graph.host_count; b++) {
			uint32_t global;
			uint32_t hops = a == b ? 0 : count_hops(a, b, &global);

			if (a == b)
				continue;
			longest = hops > longest ? hops : longest;
			assert_int_equal(global, a / 8 != b / 8);
		}
	}
	assert_int_equal(longest, 3 + 2);
	drop();
}

/* Loaded as a user's mistake would be; the words that would have been right are named. */
static void build__case_076_control_changes_results(void **state)
{
	static const char form[] = "topology: {hosts: 33}\nhost: {cc: %s}\n"
				   "workload: [{kind: incast, to: h32, bytes: 2MB}]\n";
	double mean[2];
	char text[256];

	(void)state;
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), form, i ? "dcqcn" : "none");
		run(text);
		mean[i] = roce_spread_mean(&outcome.workloads[0].fct_us);
		assert_int_equal(outcome.totals.cnps > 0, i);
		drop();
	}
	assert_true(mean[0] > mean[1] * 1.01 || mean[1] > mean[0] * 1.01);
	snprintf(text, sizeof(text), form, "swift");
	assert_false(make(text));
	assert_string_equal(problems.text[0], "b.yaml:2: cc: found \"swift\", expected none|dcqcn");
	drop();
}

/* Jain's index of what the flows have got. */
static double fairness(void)
{
	double sum = 0;
	double squares = 0;

	for (uint32_t i = 0; i < plan.flows.count; i++) {
		struct roce_fabric_flow_result r;

		roce_fabric_flow_result(built.fabric, i, &r);
		sum += (double)r.bytes_delivered;
		squares += (double)r.bytes_delivered * (double)r.bytes_delivered;
	}
	return sum * sum / squares / plan.flows.count;
}

/* Fair by port, and by flow. */
static void build__a_parking_lot(void **state)
{
	static const char form[] = "topology: {kind: parking-lot, switches: 3}\nuntil: 10ms\n"
				   "switch: {buffer: {pg_lossless: {static_th: 400kB}}, ecn: "
				   "{kmin: 100kB, kmax: 300kB}}\n"
				   "host: {cc: %s}\n"
				   "workload: [{from: h0..h4, to: h5, bytes: 200MB}]\n";
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), form, "none");
	run(text);
	assert_true(fairness() < 0.65); /* 1, 1, 2, 2, 6 of 12: 0.626 */
	drop();
	snprintf(text, sizeof(text), form, "dcqcn");
	run(text);
	assert_true(fairness() > 0.98);
	assert_true(outcome.workloads[0].bytes > UINT64_C(100000000)); /* of 125 MB */
	drop();
}

static void build__case_072_many_ports_and_hosts(void **state)
{
	static const uint32_t hosts[] = {1024, 5000};
	char text[256];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		snprintf(text, sizeof(text),
			 "topology: {hosts: %u}\nswitch: {buffer: {size: 1GB}}\n"
			 "workload: [{from: h0, to: h%u, bytes: 10kB}]\n",
			 hosts[i], hosts[i] - 1);
		run(text);
		assert_int_equal(outcome.workloads[0].done, 1);
		drop();
	}
}

static void build__case_078_long_delays(void **state)
{
	(void)state;
	run("topology: {hosts: 32}\nlink: {delay: 10ms}\n"
	    "switch: {buffer: {size: 1GB, pg_lossless: {xoff: 10MB}}}\n"
	    "workload: [{kind: permutation, bytes: 100kB}]\n");
	assert_int_equal(outcome.end, ROCE_FABRIC_END_DONE);
	assert_int_equal(outcome.workloads[0].done, 32);
	assert_true(roce_spread_quantile(&outcome.workloads[0].fct_us, 0) > 40000);
	drop();
}

static void build__case_079_all_reduce_of_64(void **state)
{
	(void)state;
	run("topology: {kind: leaf-spine, leaves: 8}\n"
	    "workload: [{kind: all-reduce, bytes: 1MiB}]\n");
	assert_int_equal(outcome.end, ROCE_FABRIC_END_DONE);
	assert_int_equal(outcome.workloads[0].done, 64 * 126);
	drop();
}

static void build__the_seed_decides(void **state)
{
	static const char form[] = "seed: %d\ntopology: {kind: fat-tree}\n"
				   "workload: [{kind: permutation, bytes: 100kB}]\n";
	struct roce_fabric_totals totals[3];
	uint64_t ends[3];
	char text[256];

	(void)state;
	for (int i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), form, i == 2 ? 2 : 1);
		run(text);
		totals[i] = outcome.totals;
		ends[i] = outcome.now_ps;
		drop();
	}
	assert_memory_equal(&totals[0], &totals[1], sizeof(totals[0]));
	assert_int_equal(ends[0], ends[1]);
	assert_int_not_equal(ends[0], ends[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(build__defaults_are_the_fabrics),
		cmocka_unit_test(build__keys_reach_the_ports),
		cmocka_unit_test(build__keys_reach_the_hosts),
		cmocka_unit_test(build__headrooms_of_all_ports),
		cmocka_unit_test(build__up_down_that_leads_nowhere),
		cmocka_unit_test(build__every_topology_carries_flows),
		cmocka_unit_test(build__every_workload_ends),
		cmocka_unit_test(build__a_ring_locks_up),
		cmocka_unit_test(build__filters),
		cmocka_unit_test(build__static_routes),
		cmocka_unit_test(build__minimal_routes_of_a_dragonfly),
		cmocka_unit_test(build__a_parking_lot),
		cmocka_unit_test(build__case_072_many_ports_and_hosts),
		cmocka_unit_test(build__case_076_control_changes_results),
		cmocka_unit_test(build__case_078_long_delays),
		cmocka_unit_test(build__case_079_all_reduce_of_64),
		cmocka_unit_test(build__the_seed_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
