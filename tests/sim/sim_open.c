/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim-open: UC, UD, and RC and XRC with shared receive queues on a simulated link, by seeds. Each
 * is run twice to see that nothing but the seed decides. A failure prints the line that replays it.
 */
#include "open_run.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

struct options {
	uint64_t seed;
	uint64_t seeds;
	bool is_traced;
};

/* A number, or a commit hash. */
static uint64_t parse_seed(const char *text)
{
	char *end;
	uint64_t seed = strtoull(text, &end, 10);
	char head[16] = {0};

	if (*end == '\0')
		return seed;
	snprintf(head, sizeof(head), "%s", text);
	return strtoull(head, NULL, 16);
}

static bool parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"seed", required_argument, NULL, 's'},
		{"seeds", required_argument, NULL, 'n'},
		{"trace", no_argument, NULL, 't'},
		{NULL, 0, NULL, 0},
	};
	int c;

	*o = (struct options){.seed = 1, .seeds = 1};
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 's')
			o->seed = parse_seed(optarg);
		else if (c == 'n')
			o->seeds = parse_seed(optarg);
		else if (c == 't')
			o->is_traced = true;
		else
			return false;
	}
	return optind == argc;
}

static struct open_plan plan;
static struct open_run run;
static uint64_t message_count;

static bool run_seed(const struct options *o, uint64_t seed)
{
	bool is_right;
	uint64_t hash;

	open_plan_draw(&plan, seed);
	is_right = open_run_plan(&run, &plan, o->is_traced);
	hash = run.hash;
	message_count += run.message_count;
	if (!is_right)
		printf("FAIL seed %lu (QP type %u) at %lu ns: %s\n", (unsigned long)seed, plan.type,
		       (unsigned long)sim_pair_now(&run.pair), run.failure);
	open_run_fini(&run);
	if (is_right && !o->is_traced) {
		open_plan_draw(&plan, seed);
		open_run_plan(&run, &plan, false);
		is_right = run.hash == hash;
		if (!is_right)
			printf("FAIL seed %lu: another hash when run again\n", (unsigned long)seed);
		open_run_fini(&run);
	}
	if (!is_right)
		printf("replay: sim-open --seed %lu --trace\n", (unsigned long)seed);
	return is_right;
}

int main(int argc, char **argv)
{
	struct options o;
	uint64_t failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!parse_options(argc, argv, &o)) {
		printf("usage: sim-open [--seed N] [--seeds COUNT] [--trace]\n");
		return 2;
	}
	for (uint64_t i = 0; i < o.seeds; i++)
		failed += !run_seed(&o, o.seed + i);
	printf("%lu seeds from %lu, %lu failed, %lu messages came\n", (unsigned long)o.seeds,
	       (unsigned long)o.seed, (unsigned long)failed, (unsigned long)message_count);
	return failed ? 1 : 0;
}
