/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Circles of switches that may come to wait for each other, found without a run: in rings and in
 * dragonflies with too few classes, by routes that go up again after they went down, and never in
 * trees. That a network with a circle does lock up is shown by tests of runs.
 */
#include "scenario/build_run.h"

#include <stdlib.h>

#define ALL_TO_ALL "workload: [{kind: all-to-all, bytes: 100kB}]\n"

/* The line that is told, or "" when there is nothing to say; the next call ends it. */
static const char *tell(const char *text)
{
	static char line[1024];
	char *told;

	if (!make(text))
		fail_msg("%s: %s", text, problems.text[0]);
	assert_int_equal(roce_build_find_circle(&built), 0);
	told = roce_build_circle_text(&built);
	snprintf(line, sizeof(line), "%s", told ? told : "");
	free(told);
	drop();
	return line;
}

#define POSSIBLE "switches can wait for each other in a circle, a deadlock is possible: "

static void assert_circle(const char *text, const char *circle)
{
	char expected[512];

	snprintf(expected, sizeof(expected), POSSIBLE "%s", circle);
	assert_string_equal(tell(text), expected);
}

static void assert_none(const char *text)
{
	assert_string_equal(tell(text), "");
}

#define RING(count, routing) "topology: {kind: ring, switches: " #count ", routing: " routing "}\n"

static void rings(void **state)
{
	(void)state;
	assert_circle(RING(3, "clockwise") ALL_TO_ALL,
		      "s0 to s1, s1 to s2, s2 to s0; all on priority 3");
	assert_circle(RING(5, "clockwise") ALL_TO_ALL,
		      "s0 to s1, s1 to s2, s2 to s3, s3 to s4, s4 to s0; all on priority 3");
	assert_none(RING(3, "shortest") ALL_TO_ALL); /* no way is longer than a link */
	/* There are two, and one is named. */
	assert_circle(RING(5, "shortest") ALL_TO_ALL,
		      "s0 to s4, s4 to s3, s3 to s2, s2 to s1, s1 to s0; all on priority 3");
	assert_none(RING(5, "up-down") ALL_TO_ALL);
	assert_circle(RING(20, "clockwise") ALL_TO_ALL,
		      "s0 to s1, s1 to s2, s2 to s3, s3 to s4, s4 to s5, s5 to s6, s6 to s7, s7 to "
		      "s8, s8 to s9, s9 to s10, s10 to s11, s11 to s12 and 8 more; all on priority "
		      "3");
}

/* The ring can lock up if its flows go far enough, and in the class that they are in. */
static void only_what_the_flows_use(void **state)
{
	(void)state;
	assert_none(RING(4, "clockwise") "workload: [{from: \"@s0\", to: \"@s3\"}]\n");
	assert_none(
		RING(4, "clockwise") "workload: [{from: \"@s0\", to: \"@s1\"}, "
				     "{from: \"@s1\", to: \"@s2\"}, {from: \"@s2\", to: \"@s3\"}, "
				     "{from: \"@s3\", to: \"@s0\"}]\nhost: {ack_prio: 6}\n");
	assert_none(RING(4, "clockwise") "workload: [{kind: all-to-all, prio: 0}]\n");
	assert_none(RING(4, "clockwise") "switch: {qos: {pfc: [0,0,0,0,0,0,0,0]}}\n" ALL_TO_ALL);
	assert_none(RING(4, "clockwise") "ports: [{match: \"s2:s1\", qos: {pfc: "
					 "[0,0,0,0,0,0,0,0]}}]\n" ALL_TO_ALL);
}

/* Acknowledgements go the other way round, and READ's data. */
static void what_comes_back_counts(void **state)
{
	static const char to_next[] = RING(
		3, "clockwise") "workload: [{from: \"@s0\", to: \"@s1\"}, "
				"{from: \"@s1\", to: \"@s2\"}, {from: \"@s2\", to: \"@s0\"}]\n";
	char text[512];

	(void)state;
	assert_circle(to_next, "s0 to s1, s1 to s2, s2 to s0; all on priority 3");
	snprintf(text, sizeof(text), "%shost: {ack_prio: 6}\n", to_next);
	assert_none(text);
	assert_circle(RING(3, "clockwise") "host: {ack_prio: 6}\n"
					   "workload: [{from: \"@s0\", to: \"@s1\", op: read}, "
					   "{from: \"@s1\", to: \"@s2\", op: read}, "
					   "{from: \"@s2\", to: \"@s0\", op: read}]\n",
		      "s0 to s1, s1 to s2, s2 to s0; all on priority 3");
	/* Requests and answers may be dropped; acknowledgements of answers go round the ring. */
	assert_circle(
		RING(3, "clockwise") "host: {ack_prio: 3}\n"
				     "workload: [{kind: requests, from: \"@s0\", to: \"@s2\", "
				     "prio: 0}, "
				     "{kind: requests, from: \"@s1\", to: \"@s0\", prio: 0}, "
				     "{kind: requests, from: \"@s2\", to: \"@s1\", prio: 0}]\n",
		"s0 to s1, s1 to s2, s2 to s0; all on priority 3");
}

static void trees(void **state)
{
	(void)state;
	assert_none("topology: {kind: star}\n" ALL_TO_ALL);
	assert_none("topology: {kind: dumbbell}\n" ALL_TO_ALL);
	assert_none("topology: {kind: parking-lot, switches: 5}\n" ALL_TO_ALL);
	assert_none("topology: {kind: leaf-spine, uplinks: 2}\n" ALL_TO_ALL);
	assert_none("topology: {kind: three-tier}\n" ALL_TO_ALL);
	assert_none("topology: {kind: fat-tree, k: 8}\n" ALL_TO_ALL);
	assert_none("topology: {kind: fat-tree, k: 4, routing: up-down}\n" ALL_TO_ALL);
}

/* Down to a leaf that is not the destination's, and up again. */
static void routes_that_go_up_again(void **state)
{
	static const char bounce[] =
		"topology: {kind: leaf-spine, leaves: 4, spines: 2, hosts_per_leaf: 2}\n"
		"routes:\n"
		"  - {at: spine0, to: \"@leaf1\", via: leaf2}\n"
		"  - {at: leaf2, to: \"@leaf1\", via: spine1}\n"
		"  - {at: spine1, to: \"@leaf0\", via: leaf3}\n"
		"  - {at: leaf3, to: \"@leaf0\", via: spine0}\n";
	char text[512];

	(void)state;
	snprintf(text, sizeof(text), "%s" ALL_TO_ALL, bounce);
	assert_circle(text,
		      "leaf2 to spine1, spine1 to leaf3, leaf3 to spine0, spine0 to leaf2; all on "
		      "priority 3");
}

#define DRAGONFLY(rest)                                                                           \
	"topology: {kind: dragonfly, routers: 4, hosts_per_switch: 1, global_links: 1, " rest "}" \
	"\n"
#define CLASSES                                                                 \
	"switch: {ecn: {tc: [0,0,0,1,1,1,0,0]}, qos: {pfc: [0,0,0,1,1,1,0,0], " \
	"prio_tc: [0,1,2,3,4,5,6,7], tcbw: [10,0,0,30,30,30,0,0]}}\n"           \
	"host: {qos: {pfc: [0,0,0,1,1,1,0,0]}}\n"

static void dragonflies(void **state)
{
	(void)state;
	assert_non_null(strstr(tell(DRAGONFLY("routing: minimal") ALL_TO_ALL), POSSIBLE "g0r"));
	assert_none(DRAGONFLY("routing: minimal, classes: [3,4]") CLASSES ALL_TO_ALL);
	assert_non_null(
		strstr(tell(DRAGONFLY("routing: valiant, classes: 3") ALL_TO_ALL), POSSIBLE));
	assert_none(DRAGONFLY("routing: valiant, classes: [3,4,5]") CLASSES ALL_TO_ALL);
	/* Three classes, but two of them in one queue. */
	assert_non_null(strstr(tell(DRAGONFLY("routing: shortest") ALL_TO_ALL), POSSIBLE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings),
		cmocka_unit_test(only_what_the_flows_use),
		cmocka_unit_test(what_comes_back_counts),
		cmocka_unit_test(trees),
		cmocka_unit_test(routes_that_go_up_again),
		cmocka_unit_test(dragonflies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
