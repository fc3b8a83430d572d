/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What workloads come down to: how many flows, between whom, behind which; the load and the mix
 * that was asked for; the same seed giving the same flows; and workloads that cannot be.
 */
#include "scenario/workload.h"

#include "scenario/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOSTS 16u

static struct roce_problems problems;
static struct roce_word_store store;
static struct roce_graph graph;
static struct roce_flows flows;
static uint64_t rates[HOSTS];
static struct roce_workload_input in;

static struct roce_workload_conf conf_of(enum roce_workload_kind kind)
{
	struct roce_workload_conf conf;

	assert_true(roce_section_defaults(&roce_section_workload, &store, &conf));
	conf.kind = kind;
	return conf;
}

static void words(struct roce_words *out, const char *text)
{
	assert_true(roce_words_split(&store, text, out));
}

static bool try_build(const struct roce_workload_conf *conf)
{
	roce_flows_fini(&flows);
	roce_problems_init(&problems, "w.yaml");
	return roce_workload_build(conf, 0, &in, &flows, &problems);
}

static void build(const struct roce_workload_conf *conf)
{
	if (!try_build(conf))
		fail_msg("%s", problems.text[0]);
	for (uint32_t i = 0; i < flows.count; i++) {
		const struct roce_flow *f = &flows.at[i];

		assert_true(f->src < HOSTS && f->dst < HOSTS && f->src != f->dst);
		assert_true(f->bytes > 0);
		for (uint32_t k = 0; k < f->after_count; k++)
			assert_true(flows.after[f->after_at + k] < i);
	}
}

static void workload__pairs(void **state)
{
	struct roce_workload_conf c = conf_of(ROCE_WORKLOAD_FLOW);

	(void)state;
	words(&c.from, "h0,h1");
	words(&c.to, "h1..h3");
	c.rounds = 2;
	build(&c);
	assert_int_equal(flows.count, 5 * 2); /* not from h1 to itself */
	assert_int_equal(flows.at[0].after_count, 0);
	assert_int_equal(flows.at[1].after_count, 1);
	assert_int_equal(flows.after[flows.at[1].after_at], 0);
	assert_int_equal(flows.at[0].bytes, 1000000);
	assert_int_equal(flows.at[0].message_bytes, 1000000); /* no longer than the flow */
	assert_int_equal(flows.at[0].dscp, 26);
	c = conf_of(ROCE_WORKLOAD_ALL_TO_ALL);
	build(&c);
	assert_int_equal(flows.count, HOSTS * (HOSTS - 1));
}

static void workload__incast(void **state)
{
	struct roce_workload_conf c = conf_of(ROCE_WORKLOAD_INCAST);

	(void)state;
	words(&c.to, "h15");
	build(&c);
	assert_int_equal(flows.count, HOSTS - 1);
	c.fan_in = 4;
	c.rounds = 3;
	c.jitter = 1000;
	build(&c);
	assert_int_equal(flows.count, 12);
	for (uint32_t i = 0; i < 12; i++) {
		assert_int_equal(flows.at[i].dst, 15);
		assert_int_equal(flows.at[i].after_count, i >= 4);
		assert_true(flows.at[i].start_ps < 1000);
		if (i >= 4)
			assert_int_equal(flows.after[flows.at[i].after_at], i - 4);
		for (uint32_t k = i / 4 * 4; k < i; k++)
			assert_int_not_equal(flows.at[k].src, flows.at[i].src);
	}
}

static void workload__permutation(void **state)
{
	struct roce_workload_conf c = conf_of(ROCE_WORKLOAD_PERMUTATION);
	uint32_t received = 0;

	(void)state;
	build(&c);
	assert_int_equal(flows.count, HOSTS);
	for (uint32_t i = 0; i < HOSTS; i++)
		received |= 1u << flows.at[i].dst;
	assert_int_equal(received, 0xffff);
}

/* Follows the data: after 2 (n - 1) steps each host has each chunk, summed. */
static void workload__ring_all_reduce(void **state)
{
	struct roce_workload_conf c = conf_of(ROCE_WORKLOAD_ALL_REDUCE);

	(void)state;
	words(&c.from, "h2..h6");
	c.bytes = 1001;
	build(&c);
	assert_int_equal(flows.count, 5 * 8);
	for (uint32_t i = 0; i < flows.count; i++) {
		const struct roce_flow *f = &flows.at[i];

		assert_int_equal(f->bytes, 201);
		assert_int_equal(f->dst, 2 + (f->src - 2 + 1) % 5);
		assert_int_equal(f->after_count, i < 5 ? 0 : 2);
		assert_true(f->is_after_delivery);
		if (i < 5)
			continue;
		/* What it passes on came to it; what it sent before was its own. */
		assert_int_equal(flows.at[flows.after[f->after_at]].dst, f->src);
		assert_int_equal(flows.at[flows.after[f->after_at + 1]].src, f->src);
	}
}

static void workload__storage(void **state)
{
	struct roce_workload_conf c = conf_of(ROCE_WORKLOAD_STORAGE);
	uint32_t reads = 0;
	uint32_t copies = 0;

	(void)state;
	words(&c.from, "h0..h7");
	words(&c.to, "h6..h15");
	c.operations = 1000;
	build(&c);
	for (uint32_t i = 0; i < flows.count; i++) {
		const struct roce_flow *f = &flows.at[i];

		assert_int_equal(f->bytes, 65536);
		assert_true(f->dst >= 6);
		reads += f->op == ROCE_OP_READ;
		copies += f->is_after_delivery;
		if (!f->is_after_delivery)
			continue;
		/* From the server that has got it. */
		assert_int_equal(flows.at[flows.after[f->after_at]].dst, f->src);
		assert_int_equal(flows.at[flows.after[f->after_at]].op, ROCE_OP_WRITE);
	}
	assert_in_range(reads, 8000 * 68 / 100, 8000 * 72 / 100);
	assert_int_equal(copies, 2 * (8000 - reads));
	assert_int_equal(flows.count, 8000 + copies);
}

static void workload__poisson_load(void **state)
{
	struct roce_workload_conf c = conf_of(ROCE_WORKLOAD_POISSON);
	unsigned __int128 bits = 0;

	(void)state;
	c.cdf = "storage";
	c.load = ROCE_FRACTION_ONE * 3 / 10;
	c.duration = 100 * ROCE_PS_PER_MS;
	for (in.seed = 1; in.seed <= 8; in.seed++) {
		build(&c);
		for (uint32_t i = 0; i < flows.count; i++) {
			bits += flows.at[i].bytes * 8;
			assert_true(flows.at[i].start_ps < c.duration);
		}
	}
	in.seed = 1;
	/* 16 hosts of 100 Gb/s, 0.1 s, 30%. A run of 146,000 flows has a standard deviation
	 * of 1.3%, since few of them have half of the bytes. */
	assert_in_range((uint64_t)(bits / 8000000), 48000 * 98 / 100, 48000 * 102 / 100);
}

static void workload__requests_and_background(void **state)
{
	struct roce_workload_conf c = conf_of(ROCE_WORKLOAD_REQUESTS);

	(void)state;
	words(&c.from, "h0..h3");
	words(&c.to, "h3,h4");
	c.requests = 200000 * 1000;
	c.duration = ROCE_PS_PER_MS;
	build(&c);
	assert_int_equal(flows.count, 4);
	assert_int_equal(flows.at[0].bytes, 64 * 200);
	assert_int_equal(flows.at[0].interval_ps, 5 * ROCE_PS_PER_US);
	assert_int_equal(flows.at[0].response_bytes, 256);
	assert_int_equal(flows.at[2].dst, 3);
	assert_int_equal(flows.at[3].dst, 4);
	c = conf_of(ROCE_WORKLOAD_BACKGROUND);
	words(&c.to, "h0");
	build(&c);
	assert_int_equal(flows.count, HOSTS - 1);
	assert_int_equal(flows.at[0].service, ROCE_SERVICE_UD);
	assert_int_equal(flows.at[0].prio, 0);
	assert_true(flows.at[0].is_not_ecn);
	assert_int_equal(flows.at[0].interval_ps, 8192 * ROCE_PS_PER_NS); /* 8192 bits at 1 Gb/s */
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void workload__trace(void **state)
{
	static const struct {
		const char *text;
		const char *problem;
	} rows[] = {
		{"1,h0,h99,5\n", ":1: no host h99"},
		{"start_us,src\n# x\n1,0,1\n", ":3: expected start_us,src,dst,bytes[,prio]"},
		{"1,h0,h0,5\n", ":1: from and to are one host"},
		{"1,h0,s0,5\n", ":1: no host s0"},
		{"1,h0,h1,0\n", ":1: bytes: found \"0\""},
		{"x,h0,h1,1\n", ":1: start: found \"x\""},
		{"1,h0,h1,1,8\n", ":1: prio: found \"8\""},
		{"1,h0,h1,1,2,3\n", ":1: expected"},
		{"", ":1: the file ends without a flow"},
		{"start_us,src,dst,bytes\n# none\n", ":2: the file ends without a flow"},
		{"start_us,src,dst,bytes\n\n\n ", ":4: the file ends without a flow"},
	};
	struct roce_workload_conf c = conf_of(ROCE_WORKLOAD_TRACE);
	char folder[] = "/tmp/workload_test.XXXXXX";
	char path[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/t.csv", folder);
	in.folder = folder;
	c.file = "t.csv";
	write_file(path, "start_us,src,dst,bytes,prio\n0.5,h0,h1,4096\n\n2,2,3,64KiB,0\r\n");
	build(&c);
	assert_int_equal(flows.count, 2);
	assert_int_equal(flows.at[0].start_ps, 500000);
	assert_int_equal(flows.at[0].prio, 3);
	assert_int_equal(flows.at[1].src, 2);
	assert_int_equal(flows.at[1].bytes, 65536);
	assert_int_equal(flows.at[1].dscp, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		write_file(path, rows[i].text);
		assert_false(try_build(&c));
		if (!strstr(problems.text[0], rows[i].problem))
			fail_msg("%s: %s", rows[i].text, problems.text[0]);
	}
	unlink(path);
	assert_false(try_build(&c));
	assert_non_null(strstr(problems.text[0], "cannot be read"));
	in.folder = NULL;
	assert_false(try_build(&c));
	rmdir(folder);
}

static void workload__the_seed_decides(void **state)
{
	struct roce_workload_conf c = conf_of(ROCE_WORKLOAD_POISSON);
	struct roce_flow first;
	uint32_t count;

	(void)state;
	build(&c);
	first = flows.at[0];
	count = flows.count;
	build(&c);
	assert_int_equal(flows.count, count);
	/* The struct ends in padding, which is not copied everywhere. */
	assert_memory_equal(&flows.at[0], &first, offsetof(struct roce_flow, is_not_ecn) + 1);
	/* These were so with every compiler that was tried. */
	assert_int_equal(count, 61);
	assert_int_equal(first.start_ps, 71562301);
	assert_int_equal(first.bytes, 4570412);
	assert_int_equal(first.dst, 4);
	in.seed = 2;
	build(&c);
	assert_true(flows.at[0].start_ps != first.start_ps);
	in.seed = 1;
}

static void workload__impossible(void **state)
{
	struct roce_workload_conf c = conf_of(ROCE_WORKLOAD_FLOW);

	(void)state;
	words(&c.from, "h0..h16");
	assert_false(try_build(&c));
	assert_non_null(strstr(problems.text[0], "from: \"h0..h16\" is no host"));
	words(&c.from, "s0");
	assert_false(try_build(&c));
	words(&c.from, "@t*");
	assert_false(try_build(&c));
	words(&c.from, "h1");
	words(&c.to, "h1");
	assert_false(try_build(&c));
	assert_non_null(strstr(problems.text[0], "one host, h1"));
	c = conf_of(ROCE_WORKLOAD_INCAST);
	c.fan_in = HOSTS;
	assert_false(try_build(&c));
	c = conf_of(ROCE_WORKLOAD_STORAGE);
	words(&c.to, "h0..h2");
	assert_false(try_build(&c));
	assert_non_null(strstr(problems.text[0], "3 copies need 4 servers, found 3"));
	c = conf_of(ROCE_WORKLOAD_FLOW);
	c.service = ROCE_SERVICE_UC;
	c.op = ROCE_OP_READ;
	assert_false(try_build(&c));
	c = conf_of(ROCE_WORKLOAD_ALL_TO_ALL);
	c.rounds = 1000000;
	assert_false(try_build(&c));
	assert_non_null(strstr(problems.text[0], "more than"));
}

static int begin(void **state)
{
	struct roce_topology_conf star;

	(void)state;
	assert_true(roce_section_defaults(&roce_section_topology, &store, &star));
	roce_problems_init(&problems, "w.yaml");
	assert_true(roce_topology_build(&star, &graph, &problems));
	for (uint32_t i = 0; i < HOSTS; i++)
		rates[i] = UINT64_C(100000000000);
	in = (struct roce_workload_input){.graph = &graph, .host_rates = rates, .seed = 1};
	return 0;
}

static int end(void **state)
{
	(void)state;
	roce_flows_fini(&flows);
	roce_graph_fini(&graph);
	roce_word_store_fini(&store);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workload__pairs),
		cmocka_unit_test(workload__incast),
		cmocka_unit_test(workload__permutation),
		cmocka_unit_test(workload__ring_all_reduce),
		cmocka_unit_test(workload__storage),
		cmocka_unit_test(workload__poisson_load),
		cmocka_unit_test(workload__requests_and_background),
		cmocka_unit_test(workload__trace),
		cmocka_unit_test(workload__the_seed_decides),
		cmocka_unit_test(workload__impossible),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
