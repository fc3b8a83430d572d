/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sim-rc: RC on a simulated link, by seeds. Each seed draws everything (plan.c), is run and checked
 * (run.c), and run once more to see that nothing but the seed decides. A failure prints one line to
 * replay it with its trace.
 */
#include "run.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
	uint64_t seed;
	uint64_t seeds;
	enum sim_recipe recipe; /* SIM_RECIPE_COUNT: by seed */
	bool is_traced;
	bool is_quiet;
	bool is_single; /* do not run each seed twice */
	bool is_hash_printed;
	bool is_summed;
};

static void print_usage(void)
{
	printf("usage: sim-rc [--seed N] [--seeds COUNT] [--recipe NAME] [--trace] [--quiet]\n"
	       "              [--once] [--hash] [--stats]\n"
	       "  --seed N       first seed (default 1); a commit hash will do\n"
	       "  --seeds COUNT  how many seeds to run, one after the other (default 1)\n"
	       "  --recipe NAME  trouble of one kind only:");
	for (uint32_t i = 0; i < SIM_RECIPE_COUNT; i++)
		printf(" %s", sim_recipe_str((enum sim_recipe)i));
	printf("\n"
	       "  --trace        print every packet, post and completion\n"
	       "  --quiet        print failures only\n"
	       "  --once         do not run each seed a second time to compare the hash\n"
	       "  --hash         print each seed's hash\n"
	       "  --stats        print the sums of all counters and packet fates in the end\n");
}

/* A number, or the first 15 digits of a commit hash. */
static uint64_t parse_seed(const char *text)
{
	char *end;
	uint64_t seed = strtoull(text, &end, 10);
	char head[16] = {0};

	if (*end == '\0')
		return seed;
	memcpy(head, text, strnlen(text, sizeof(head) - 1));
	return strtoull(head, NULL, 16);
}

static bool parse_recipe(const char *text, enum sim_recipe *out)
{
	for (uint32_t i = 0; i < SIM_RECIPE_COUNT; i++) {
		if (strcmp(text, sim_recipe_str((enum sim_recipe)i)) == 0) {
			*out = (enum sim_recipe)i;
			return true;
		}
	}
	return false;
}

static bool parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{"seed", required_argument, NULL, 's'},	  {"seeds", required_argument, NULL, 'n'},
		{"recipe", required_argument, NULL, 'r'}, {"trace", no_argument, NULL, 't'},
		{"quiet", no_argument, NULL, 'q'},	  {"once", no_argument, NULL, 'o'},
		{"hash", no_argument, NULL, 'x'},	  {"stats", no_argument, NULL, 'u'},
		{"help", no_argument, NULL, 'h'},	  {NULL, 0, NULL, 0},
	};
	int c;

	*o = (struct options){.seed = 1, .seeds = 1, .recipe = SIM_RECIPE_COUNT};
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 's':
			o->seed = parse_seed(optarg);
			break;
		case 'n':
			o->seeds = parse_seed(optarg);
			break;
		case 'r':
			if (!parse_recipe(optarg, &o->recipe))
				return false;
			break;
		case 't':
			o->is_traced = true;
			break;
		case 'q':
			o->is_quiet = true;
			break;
		case 'o':
			o->is_single = true;
			break;
		case 'x':
			o->is_hash_printed = true;
			break;
		case 'u':
			o->is_summed = true;
			break;
		default:
			return false;
		}
	}
	return optind == argc;
}

static struct sim_plan plan;
static struct sim_run run;

static uint64_t sums[ROCE_COUNTER_COUNT];
static uint64_t fate_sums[ROCE_LINK_FATE_COUNT];
static uint64_t event_sum;

static void add_sums(void)
{
	for (unsigned int host = 0; host < 2; host++) {
		for (uint32_t i = 0; i < ROCE_COUNTER_COUNT; i++)
			sums[i] += sim_counter(&run.pair.hosts[host], i);
		for (uint32_t i = 0; i < ROCE_LINK_FATE_COUNT; i++)
			fate_sums[i] += run.pair.link.ends[host].fates[i];
	}
	event_sum += run.pair.queue.fired_count;
}

static void print_sums(void)
{
	printf("%12lu events\n", (unsigned long)event_sum);
	for (uint32_t i = 0; i < ROCE_LINK_FATE_COUNT; i++)
		printf("%12lu link %s\n", (unsigned long)fate_sums[i],
		       roce_link_fate_str((enum roce_link_fate)i));
	for (uint32_t i = 0; i < ROCE_COUNTER_COUNT; i++)
		printf("%12lu %s\n", (unsigned long)sums[i], roce_counter_str(i));
}

static bool run_seed(const struct options *o, uint64_t seed)
{
	bool is_right;
	uint64_t hash;

	sim_plan_draw(&plan, seed, o->recipe);
	is_right = sim_run_plan(&run, &plan, o->is_traced);
	hash = run.hash;
	add_sums();
	if (!is_right)
		printf("FAIL seed %lu (%s) at %lu ns: %s\n", (unsigned long)seed,
		       sim_recipe_str(plan.recipe), (unsigned long)sim_pair_now(&run.pair),
		       run.failure);
	if (o->is_hash_printed)
		printf("seed %lu hash %016lx\n", (unsigned long)seed, (unsigned long)hash);
	sim_run_fini(&run);
	if (is_right && !o->is_single && !o->is_traced) {
		sim_plan_draw(&plan, seed, o->recipe);
		sim_run_plan(&run, &plan, false);
		is_right = run.hash == hash;
		if (!is_right)
			printf("FAIL seed %lu (%s): another hash when run again\n",
			       (unsigned long)seed, sim_recipe_str(plan.recipe));
		sim_run_fini(&run);
	}
	if (!is_right) {
		if (o->recipe == SIM_RECIPE_COUNT)
			printf("replay: make sim SEED=%lu\n", (unsigned long)seed);
		else
			printf("replay: sim-rc --seed %lu --recipe %s --trace\n",
			       (unsigned long)seed, sim_recipe_str(o->recipe));
	}
	return is_right;
}

static double seconds_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct options o;
	uint64_t failed = 0;
	double slowest = 0;
	double begin;
	uint64_t slowest_seed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!parse_options(argc, argv, &o)) {
		print_usage();
		return 2;
	}
	begin = seconds_now();
	for (uint64_t i = 0; i < o.seeds; i++) {
		double before = seconds_now();
		double took;

		failed += !run_seed(&o, o.seed + i);
		took = seconds_now() - before;
		if (took > slowest) {
			slowest = took;
			slowest_seed = o.seed + i;
		}
	}
	if (o.is_summed)
		print_sums();
	if (!o.is_quiet)
		printf("%lu seeds from %lu, %lu failed, %.2f ms each, slowest %.1f ms (seed %lu)\n",
		       (unsigned long)o.seeds, (unsigned long)o.seed, (unsigned long)failed,
		       (seconds_now() - begin) * 1e3 / (double)o.seeds, slowest * 1e3,
		       (unsigned long)slowest_seed);
	return failed ? 1 : 0;
}
