/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios from text: what is right lands in its place; each mistake has its line; what is wrong
 * with several keys is told at once. And texts that are broken at random, some of them no YAML at
 * all, end in a scenario or in a reason.
 */
#include "scenario/scenario.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static struct roce_problems problems;

static struct roce_scenario *load(const char *text)
{
	roce_problems_init(&problems, "a.yaml");
	return roce_scenario_load(text, strlen(text), "a.yaml", &problems);
}

static const char whole[] = "name: storage\n"
			    "seed: 7\n"
			    "until: 10ms\n"
			    "topology:\n"
			    "  kind: leaf-spine\n"
			    "  leaves: 2\n"
			    "link: {rate: 25 Gb/s, length: 100m, ber: 1e-12}\n"
			    "links:\n"
			    "  - {match: fabric, rate: 100Gbps, delay: 1us}\n"
			    "switch:\n"
			    "  buffer:\n"
			    "    size: 12MB\n"
			    "    pg_lossless: {xoff: 64KiB, dynamic_th: -2}\n"
			    "  qos:\n"
			    "    pfc: 0,0,0,1,0,0,0,0\n"
			    "    prio_tc: [0,1,2,3,4,5,6,7]\n"
			    "    tsa: ets,ets,ets,ets,ets,ets,strict,ets\n"
			    "    dscp_prio: [26:3, 48:6]\n"
			    "  ecn.kmin: 100kB\n"
			    "  ecn: {pmax: 1}\n"
			    "ports:\n"
			    "  - match: leaf0:spine*\n"
			    "    ecn: {enabled: off}\n"
			    "workload:\n"
			    "  - kind: incast\n"
			    "    from: h1..h7\n"
			    "    to: h0\n"
			    "  - {kind: poisson, load: 30%}\n";

static void scenario_load__whole(void **state)
{
	struct roce_scenario *s = load(whole);
	struct roce_switch_conf port;

	(void)state;
	assert_non_null(s);
	assert_string_equal(s->general.name, "storage");
	assert_int_equal(s->general.seed, 7);
	assert_int_equal(s->general.until, 10 * ROCE_PS_PER_MS);
	assert_int_equal(s->topology.kind, ROCE_TOPOLOGY_LEAF_SPINE);
	assert_int_equal(s->topology.leaves, 2);
	assert_int_equal(s->topology.spines, 2); /* the default */
	assert_int_equal(s->topology.where.leaves, 6);
	assert_int_equal(s->topology.where.spines, 0);
	assert_int_equal(s->link.rate, 25000000000);
	assert_int_equal(s->link.length, 100000);
	assert_int_equal(s->link.delay, ROCE_AUTO);
	assert_int_equal(s->link.ber, 1000);
	assert_int_equal(s->sw.buffer_size, 12000000);
	assert_int_equal(s->sw.pg_xoff, 65536);
	assert_int_equal(s->sw.pg_dynamic_th, -2);
	assert_int_equal(s->sw.pfc.at[3], 1);
	assert_int_equal(s->sw.prio_tc.at[5], 5);
	assert_int_equal(s->sw.tsa.at[6], 1);
	assert_int_equal(s->sw.dscp_prio.count, 2);
	assert_string_equal(s->sw.dscp_prio.at[1], "48:6");
	assert_int_equal(s->sw.kmin, 100000);
	assert_int_equal(s->sw.pmax, ROCE_FRACTION_ONE / 100); /* a bare number is in percent */
	assert_int_equal(s->links.count, 1);
	assert_string_equal(s->links.at[0].match, "fabric");
	assert_int_equal(s->workload_count, 2);
	assert_int_equal(s->workloads[0].kind, ROCE_WORKLOAD_INCAST);
	assert_string_equal(s->workloads[0].from.at[0], "h1..h7");
	assert_int_equal(s->workloads[1].load, ROCE_FRACTION_ONE * 3 / 10);

	port = s->sw;
	roce_scenario_apply(s, &roce_section_port, &s->ports.at[0], &port);
	assert_false(port.ecn);
	assert_int_equal(port.kmin, 100000);
	roce_scenario_destroy(s);
}

static void scenario_load__defaults(void **state)
{
	struct roce_scenario *s = load("");

	(void)state;
	assert_non_null(s);
	assert_int_equal(s->link.rate, 100000000000);
	assert_int_equal(s->sw.kmax, 1600000);
	assert_int_equal(s->general.where.seed, 0);
	roce_scenario_destroy(s);
	s = load("switch:\nlinks:\nworkload:\n  - kind: incast\n");
	assert_non_null(s);
	assert_int_equal(s->workload_count, 1);
	roce_scenario_destroy(s);
}

static void scenario_load__each_mistake(void **state)
{
	static const struct {
		const char *text;
		const char *problem;
	} rows[] = {
		{"a: [", "a.yaml:2: no YAML: "},
		{"- a\n", "a.yaml:1: found a list, expected a mapping"},
		{"switch: {\"a\\0b\": 1}", "a.yaml:1: a byte 0 in a value"},
		{"x: &x {a: *x}\n", "a.yaml:1: nested too deep"},
		{"\nswich: {}\n", "a.yaml:2: unknown section swich; did you mean switch?"},
		{"zzzzzzzz: 1\n", "a.yaml:1: unknown section zzzzzzzz"},
		{"switch:\n  bufer: {size: 1MB}\n",
		 "a.yaml:2: unknown key bufer in switch; did you mean buffer?"},
		{"switch: {kmin: 1}\n", "unknown key kmin in switch; did you mean ecn.kmin?"},
		{"link: {rate: 100}\n", "a.yaml:1: rate: wrong unit in \"100\", expected a rate"},
		{"link: {rate: 0G}\n", "rate: found \"0G\", expected 1kb/s to 800Gb/s"},
		{"link: {rate: fast}\n", "rate: found \"fast\", expected a rate"},
		{"link: {rate: [1G]}\n", "rate: found a list, expected a rate"},
		{"link: {length: 10}\n", "length: wrong unit in \"10\", expected a length"},
		{"link: {delay: later}\n",
		 "expected a time with its unit, as 500ns, 1.5us or 10ms, or auto"},
		{"link: {loss: 2}\n", "loss: found \"2\", expected 0 to 1"},
		{"link: {rate: 1G, rate: 2G}\n", "key rate is there twice"},
		{"link: 5\n", "link: found 5, expected a mapping"},
		{"links: 5\n", "links: found 5, expected a list"},
		{"links: [{rate: 5G}]\n", "entry 1 of links: no `match`"},
		{"switch: {buffer: 5MB}\n", "buffer: found 5MB, expected a mapping"},
		{"switch: {qos: {pfc: 0,0,0,2,0,0,0,0}}\n", "found \"0\", expected 0 or 1"},
		{"switch: {qos: {pfc: \"0,0,0,2,0,0,0,0\"}}\n", "expected 0 or 1 for each of 8"},
		{"switch: {qos: {pfc: 0,0,0,1,0,0,0,0}}\n",
		 "a.yaml:1: a list between { and } needs brackets or quotes, as [0,0,0,1]"},
		{"switch: {qos: {tsa: ets,ets,strict}}\n", "needs brackets or quotes"},
		{"switch: {qos: {pfc: [0,0,1]}}\n", "expected 0 or 1 for each of 8"},
		{"switch: {qos: {prio_tc: \"0,1,2,3,4,5,6,8\"}}\n", "expected a class, 0 to 7"},
		{"switch: {qos: {tsa: \"ets,ets\"}}\n", "expected ets or strict"},
		{"switch: {qos: {tcbw: \"50,0,0,40,0,0,0,0\"}}\n", "sum 100"},
		{"switch: {buffer: {pg_lossless: {dynamic_th: 9}}}\n",
		 "expected a whole number from -8 to 8"},
		{"switch: {ecn: {enabled: maybe}}\n", "expected true or false"},
		{"ports: [{match: a, latency: 1us}]\n",
		 "latency in entry 1 of ports: it is of a whole switch, not of a port"},
		{"topology: {kind: fat-tre}\n", "kind: found \"fat-tre\"; did you mean fat-tree?"},
		{"topology: {kind: 17}\n", "expected star|dumbbell|"},
		{"topology: {k: 8}\n", "a.yaml:1: k: means nothing for kind star"},
		{"workload: [{kind: incast, cdf: hadoop}]\n", "cdf: means nothing for kind incast"},
		{"workload: [incast]\n", "entry 1 of workload: found incast, expected a mapping"},
		{"seed: -1\n", "seed: found \"-1\", expected a whole number"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool is_found = false;

		assert_null(load(rows[i].text));
		for (uint32_t p = 0; p < roce_problems_kept(&problems); p++)
			is_found = is_found || strstr(problems.text[p], rows[i].problem);
		if (!is_found)
			fail_msg("%s: \"%s\" is not \"%s\"", rows[i].text, problems.text[0],
				 rows[i].problem);
	}
}

static void scenario_load__all_mistakes_at_once(void **state)
{
	char text[4096] = "";

	(void)state;
	assert_null(load("sed: 1\nlink: {rat: 5G, length: 5}\n"));
	assert_int_equal(problems.count, 3);
	for (int i = 0; i < 50; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "unknown%d: 1\n", i);
	assert_null(load(text));
	assert_int_equal(problems.count, 50);
	assert_int_equal(roce_problems_kept(&problems), ROCE_PROBLEMS_MAX);
	assert_non_null(strstr(problems.text[ROCE_PROBLEMS_MAX - 1], "a.yaml:20: "));
}

/* An alias is as good as its text; a file of aliases of aliases must not take for ever. */
static void scenario_load__aliases(void **state)
{
	static const char bomb[] =
		"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
		"c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\n"
		"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e]\n"
		"g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]\n";
	struct roce_scenario *s = load("link: {rate: &r 40G}\nlinks: [{match: host, rate: *r}]\n");
	struct roce_link_conf link;

	(void)state;
	assert_non_null(s);
	link = s->link;
	roce_scenario_apply(s, &roce_section_link, &s->links.at[0], &link);
	assert_int_equal(link.rate, 40000000000);
	roce_scenario_destroy(s);
	assert_null(load(bomb));
	assert_non_null(strstr(problems.text[0], "too long"));
}

static void scenario_load__broken_at_random(void **state)
{
	static const char *const pieces[] = {
		"[",  "{",    "]",     "}",	 ": ",	   "\n", "  ", "- ", "&a ", "*a",
		"\"", "1e99", "match", "kind: ", "rate: ", "0",	 "\t", "|",  "%",   "auto"};
	struct roce_prng prng = {4711};
	char text[sizeof(whole) + 64];

	(void)state;
	for (int i = 0; i < 3000; i++) {
		size_t length = sizeof(whole) - 1;

		memcpy(text, whole, sizeof(whole));
		for (uint64_t n = 1 + roce_prng_below(&prng, 4); n; n--) {
			const char *piece = pieces[roce_prng_below(&prng, 20)];
			size_t at = (size_t)roce_prng_below(&prng, length - 8);

			if (roce_prng_below(&prng, 3) == 0)
				length = at + 9;
			memcpy(text + at, piece, strlen(piece));
		}
		roce_problems_init(&problems, "a.yaml");
		{
			struct roce_scenario *s =
				roce_scenario_load(text, length, "a.yaml", &problems);

			if (!s != (problems.count != 0))
				fail_msg("seed 4711, %d: %u problems", i, problems.count);
			roce_scenario_destroy(s);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scenario_load__whole),
		cmocka_unit_test(scenario_load__defaults),
		cmocka_unit_test(scenario_load__each_mistake),
		cmocka_unit_test(scenario_load__all_mistakes_at_once),
		cmocka_unit_test(scenario_load__aliases),
		cmocka_unit_test(scenario_load__broken_at_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
