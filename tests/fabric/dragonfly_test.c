/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A dragonfly of 9 groups of 4 switches with 2 hosts and 2 global links each: how many links frames
 * take by minimal routes and by Valiant's is what theory says, and so is what becomes of the
 * pattern that minimal routes do not like, in which each group sends to the next. One lossless
 * class locks up under pressure; as many as theory wants do not.
 */
#include "fabric/measure.h"

#include "scenario/build.h"
#include "scenario/outcome.h"

#include <string.h>

#define ROUTERS	   4.0
#define GLOBALS	   2.0
#define GROUPS	   9u
#define GROUP_SIZE 8u /* hosts */
#define HOSTS	   (GROUPS * GROUP_SIZE)
#define HOP_LIMIT  64u

struct paths {
	uint32_t hosts;
	uint32_t longest; /* links between switches, of frames from group to group */
	uint64_t sum;
	uint64_t frames;
	uint64_t pauses; /* PFC frames of the run */
};

static void on_received(void *ctx, uint64_t ps, uint32_t node, uint32_t port,
			const struct roce_fabric_frame_view *frame)
{
	struct paths *p = ctx;
	uint32_t links;

	(void)ps;
	(void)port;
	if (node >= p->hosts || frame->src / GROUP_SIZE == frame->dst / GROUP_SIZE)
		return;
	links = HOP_LIMIT - frame->ttl - 1;
	p->longest = links > p->longest ? links : p->longest;
	p->sum += links;
	p->frames++;
}

static enum roce_fabric_end run_to_any_end(const char *text, struct paths *paths,
					   struct roce_outcome *outcome, double *out_gbps)
{
	static const struct roce_fabric_observer observer = {.frame_received = on_received};
	struct roce_problems problems;
	struct roce_scenario *scenario;
	struct roce_plan plan;
	struct roce_built built;
	enum roce_fabric_end end;
	uint64_t last_ps = 0;

	roce_problems_init(&problems, "dragonfly");
	memset(&plan, 0, sizeof(plan));
	*paths = (struct paths){.hosts = HOSTS};
	scenario = roce_scenario_load(text, strlen(text), "dragonfly", &problems);
	if (!scenario || !roce_plan_init(&plan, scenario, NULL, &problems) ||
	    !roce_build(&built, &plan, &observer, paths, &problems))
		fail_msg("%s", problems.text[0]);
	end = roce_fabric_run(built.fabric, ROCE_FABRIC_NEVER);
	assert_int_equal(roce_outcome_init(outcome, &built, end), 0);
	assert_int_equal(outcome->drops, 0);
	for (uint32_t i = 0; i < outcome->workload_count; i++)
		if (outcome->workloads[i].last_ps > last_ps)
			last_ps = outcome->workloads[i].last_ps;
	*out_gbps = (double)outcome->totals.bytes_delivered * 8000 / (double)last_ps / HOSTS;
	paths->pauses = outcome->totals.pause_frames;
	roce_outcome_fini(outcome);
	roce_build_fini(&built);
	roce_plan_fini(&plan);
	roce_scenario_destroy(scenario);
	return end;
}

static void run(const char *text, struct paths *paths, struct roce_outcome *outcome,
		double *out_gbps)
{
	assert_int_equal(run_to_any_end(text, paths, outcome, out_gbps), ROCE_FABRIC_END_DONE);
}

/* From each host to each: with routes by one global link, the switches at its ends are those of
 * source and destination with a chance of one in `ROUTERS`. A detour has one more global link, and
 * in its group one more local one, unless both global links are at one switch. */
static void path__as_long_as_in_theory(void **state)
{
	static const char form[] = "topology: {kind: dragonfly, routing: %s}\n"
				   "workload: [{kind: all-to-all, bytes: 64}]\n";
	const double minimal = 1 + 2 * (ROUTERS - 1) / ROUTERS;
	const double valiant =
		2 + 2 * (ROUTERS - 1) / ROUTERS + (1 - (GLOBALS - 1) / (ROUTERS * GLOBALS - 1));
	struct roce_outcome outcome;
	struct paths p;
	double gbps, mean;
	char text[256], expected[96];

	(void)state;
	snprintf(text, sizeof(text), form, "minimal");
	run(text, &p, &outcome, &gbps);
	mean = (double)p.sum / (double)p.frames;
	snprintf(expected, sizeof(expected), "at most 3 links, mean %.3f", minimal);
	measured(p.longest == 3 && mean > minimal - 0.001 && mean < minimal + 0.001,
		 "dragonfly, minimal routes between groups", expected, "at most %u, mean %.3f",
		 p.longest, mean);
	snprintf(text, sizeof(text), form, "valiant, classes: 3");
	run(text, &p, &outcome, &gbps);
	mean = (double)p.sum / (double)p.frames;
	snprintf(expected, sizeof(expected), "at most 5 links, mean %.3f within 2%%", valiant);
	measured(p.longest == 5 && mean > 0.98 * valiant && mean < 1.02 * valiant,
		 "dragonfly, Valiant's routes", expected, "at most %u, mean %.3f", p.longest, mean);
}

/* Each host of a group to each of the next: all over the one link that joins the two, or over as
 * many as there are, at two for each frame. */
static double run_adversary(const char *routing)
{
	struct roce_outcome outcome;
	struct paths p;
	char text[2048];
	double gbps;
	size_t used = (size_t)snprintf(text, sizeof(text),
				       "topology: {kind: dragonfly, routing: %s}\n"
				       "switch: {buffer: {size: 1GB}}\n"
				       "host: {cc: none}\n"
				       "workload:\n",
				       routing);

	for (uint32_t g = 0; g < GROUPS; g++) {
		uint32_t from = g * GROUP_SIZE;
		uint32_t to = (g + 1) % GROUPS * GROUP_SIZE;

		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "  - {from: h%u..h%u, to: h%u..h%u, bytes: 200kB}\n", from,
					 from + GROUP_SIZE - 1, to, to + GROUP_SIZE - 1);
	}
	run(text, &p, &outcome, &gbps);
	return gbps;
}

static void adversary__is_what_valiant_is_for(void **state)
{
	const double payload = 100.0 * 4096 / (4096 + 62 + 20);
	const double one_link = payload / GROUP_SIZE;
	double minimal = run_adversary("minimal");
	double valiant = run_adversary("valiant, classes: 3");
	char expected[96];

	(void)state;
	snprintf(expected, sizeof(expected), "1/8 of the line a host: %.1f Gb/s within 5%%",
		 one_link);
	measured(minimal > 0.95 * one_link && minimal <= one_link,
		 "dragonfly, each group to the next, minimal", expected, "%.1f Gb/s", minimal);
	measured(valiant > 2 * minimal && valiant < payload / 2, "the same, Valiant",
		 "more than twice that, at most half of the line", "%.1f Gb/s", valiant);
}

/* Everybody to everybody with little buffer, so that every link is paused again and again. How
 * many of the seeds lock up. */
static uint32_t count_deadlocks(const char *routing, uint32_t seeds)
{
	static const char form[] = "seed: %u\nuntil: 100ms\nstall: 1ms\n"
				   "topology: {kind: dragonfly, routing: %s}\n"
				   "switch:\n"
				   "  buffer: {size: 2500kB, pg_lossless: {static_th: 30kB}}\n"
				   "  ecn: {enabled: off}\n"
				   "  qos: {pfc: [0,0,0,1,1,1,0,0], prio_tc: [0,0,0,3,4,5,6,0], "
				   "tcbw: [40,0,0,20,20,20,0,0]}\n"
				   "host: {cc: none}\n"
				   "workload: [{kind: all-to-all, bytes: 100kB}]\n";
	uint32_t locked = 0;

	for (uint32_t seed = 1; seed <= seeds; seed++) {
		struct roce_outcome outcome;
		enum roce_fabric_end end;
		struct paths p;
		char text[1024];
		double gbps;

		snprintf(text, sizeof(text), form, seed, routing);
		end = run_to_any_end(text, &p, &outcome, &gbps);
		assert_true(end == ROCE_FABRIC_END_DEADLOCK || end == ROCE_FABRIC_END_DONE);
		assert_true(p.pauses > 1000);
		locked += end == ROCE_FABRIC_END_DEADLOCK;
	}
	return locked;
}

static void lossless__needs_a_class_for_each_global_link(void **state)
{
	static const struct {
		const char *one;
		const char *enough;
		const char *what_one;
		const char *what_enough;
		uint32_t runs; /* minimal routes draw nothing */
	} rows[] = {
		{"minimal, classes: 3", "minimal, classes: [3,4]",
		 "dragonfly under pressure, minimal routes, one lossless class",
		 "the same, minimal, two classes, the next with each global link", 1},
		{"valiant, classes: 3", "valiant, classes: [3,4,5]",
		 "dragonfly under pressure, Valiant's routes, one lossless class",
		 "the same, Valiant, three classes", 3},
	};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t one = count_deadlocks(rows[i].one, rows[i].runs);
		uint32_t enough = count_deadlocks(rows[i].enough, rows[i].runs);

		measured(one == rows[i].runs, rows[i].what_one, "deadlock", "in %u of %u runs", one,
			 rows[i].runs);
		measured(enough == 0, rows[i].what_enough, "never", "in %u of %u runs", enough,
			 rows[i].runs);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path__as_long_as_in_theory),
		cmocka_unit_test(adversary__is_what_valiant_is_for),
		cmocka_unit_test(lossless__needs_a_class_for_each_global_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
