/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios in which something goes wrong, as fabrics: slow receivers, storms, links with errors,
 * links that go down and routes that follow.
 */
#include "scenario/build_run.h"

/* A host that takes 10 Gb/s in: its switch is paused, others are not held up. */
static void build__a_slow_receiver(void **state)
{
	(void)state;
	run("topology: {hosts: 4}\nhosts: [{match: h3, drain_rate: 10G}]\nhost: {cc: none}\n"
	    "workload: [{name: slow, from: h0, to: h3, bytes: 2MB}, {name: fast, from: h1, to: h2, "
	    "bytes: 2MB}]\n");
	assert_int_equal(outcome.end, ROCE_FABRIC_END_DONE);
	assert_true(roce_outcome_goodput(&outcome.workloads[0]) < 10.1e9);
	assert_true(roce_outcome_goodput(&outcome.workloads[0]) > 9.5e9);
	assert_true(roce_outcome_goodput(&outcome.workloads[1]) > 90e9);
	assert_true(outcome.totals.pause_frames > 0);
	assert_int_equal(outcome.drops, 0);
	drop();
}

/* Whatever the links do, what was asked for arrives; each fault is counted as itself. */
static void build__links_with_faults(void **state)
{
	static const struct {
		const char *fault;
		enum roce_fabric_drop drop;
		bool is_repeating;
	} rows[] = {
		{"loss: 0.5%", ROCE_FABRIC_DROP_LINK_LOSS, true},
		{"ber: 1e-7", ROCE_FABRIC_DROP_BIT_ERROR, true},
		{"duplicate: 5%", ROCE_FABRIC_DROP_COUNT, false},
		{"reorder: 1%, reorder_delay: 3us", ROCE_FABRIC_DROP_COUNT, true},
	};
	char text[256];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(text, sizeof(text),
			 "topology: {hosts: 2}\nlink: {%s}\nhost: {retry: {timeout: 8}}\n"
			 "workload: [{from: h0, to: h1, bytes: 4MB}]\n",
			 rows[i].fault);
		run(text);
		assert_int_equal(outcome.workloads[0].done, 1);
		assert_int_equal(outcome.workloads[0].bytes, 4000000);
		assert_int_equal(outcome.workloads[0].packets_repeated > 0, rows[i].is_repeating);
		for (uint32_t k = 0; k < ROCE_FABRIC_DROP_COUNT; k++)
			assert_int_equal(outcome.totals.drops[k] > 0, k == rows[i].drop);
		drop();
	}
}

/* A link that stays down: with routes that follow, the flow goes on by the other spine. */
static void build__links_that_go_down(void **state)
{
	static const char form[] = "topology: {kind: leaf-spine, leaves: 2, hosts_per_leaf: 4}\n"
				   "host: {retry: {timeout: 6}}\n"
				   "faults: [{link: leaf0-spine0, at: 100us%s}]\n"
				   "until: 20ms\n"
				   "workload: [{from: h0..h3, to: h4..h7, bytes: 2MB}]\n";
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), form, "");
	run(text);
	assert_true(outcome.workloads[0].done < plan.flows.count);
	assert_true(outcome.totals.drops[ROCE_FABRIC_DROP_LINK_DOWN] > 0);
	drop();
	snprintf(text, sizeof(text), form, ", reroute: 200us");
	run(text);
	assert_int_equal(outcome.workloads[0].done, plan.flows.count);
	drop();
}

/* The one link between two groups goes: by a third group, if routes follow. And a thousand hosts
 * have routes before anybody notices. */
static void build__minimal_routes_follow_links(void **state)
{
	static const char form[] = "topology: {kind: dragonfly, routing: minimal}\n"
				   "host: {retry: {timeout: 6}}\n"
				   "faults: [{link: \"g0*-g1*\", at: 10us%s}]\n"
				   "until: 20ms\n"
				   "workload: [{from: h0..h7, to: h8..h15, bytes: 100kB}]\n";
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), form, "");
	run(text);
	assert_true(outcome.workloads[0].done < plan.flows.count);
	drop();
	snprintf(text, sizeof(text), form, ", reroute: 100us");
	run(text);
	assert_int_equal(outcome.workloads[0].done, plan.flows.count);
	drop();
	run("topology: {kind: dragonfly, routing: minimal, routers: 8, hosts_per_switch: 4, "
	    "global_links: 4}\n"
	    "workload: [{from: h0, to: h1055, bytes: 4kB}]\n");
	assert_int_equal(outcome.workloads[0].done, 1);
	drop();
}

/* A storm, and a slow receiver, of 1 ms each: what comes before, in it and behind it. */
static void build__hosts_that_go_wrong(void **state)
{
	static const struct {
		const char *fault;
		uint64_t most; /* bytes, of 12 MB, in the middle of it */
	} rows[] = {
		{"kind: pause-storm", 400000},
		{"kind: slow-receiver, drain_rate: 10G", 1700000},
	};
	struct roce_fabric_flow_result r;
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t at[4] = {0};

		snprintf(text, sizeof(text),
			 "topology: {hosts: 3}\nhost: {cc: none}\n"
			 "faults: [{host: h1, at: 1ms, duration: 1ms, %s}]\n"
			 "workload: [{from: h0, to: h1, bytes: 100MB}]\n",
			 rows[i].fault);
		assert_true(make(text));
		for (uint64_t ms = 1; ms <= 3; ms++) {
			roce_fabric_run(built.fabric, ms * ROCE_PS_PER_MS);
			roce_fabric_flow_result(built.fabric, 0, &r);
			at[ms] = r.bytes_delivered;
		}
		assert_true(at[1] > 12000000);
		assert_true(at[2] - at[1] < rows[i].most);
		assert_true(at[3] - at[2] > 12000000);
		drop();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(build__a_slow_receiver),
		cmocka_unit_test(build__links_with_faults),
		cmocka_unit_test(build__links_that_go_down),
		cmocka_unit_test(build__minimal_routes_follow_links),
		cmocka_unit_test(build__hosts_that_go_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
