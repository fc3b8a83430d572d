/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DCQCN by numbers: cuts, alpha, the three kinds of increase, the rules that differ between the
 * sets of parameters (HPCC's against a model of its own, with doubles), and that the result does
 * not depend on how often the controller is looked at.
 */
#include "cc/dcqcn.h"

#include "base/prng.h"
#include "cc/cc.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define LINE 100000000u /* kbit/s */
#define US   ROCE_NS_PER_US

static struct roce_cc_config cfg;
static struct roce_cc cc;

static void start(const char *set)
{
	cfg = (struct roce_cc_config){
		.ops = &roce_cc_dcqcn,
		.params = roce_cc_find_set(&roce_cc_dcqcn, set, strlen(set))->params,
		.line_kbit_per_s = LINE,
	};
	roce_cc_init(&cc, &cfg);
}

#define SET(name, value) (cfg.params.v[ROCE_DCQCN_##name] = (value))

static uint32_t rate_at(roce_ns_t now)
{
	return roce_cc_rate(&cc, now);
}

static void cnp(roce_ns_t now)
{
	roce_cc_on_cnp(&cc, now);
}

/* ---- paper ---- */

static void cnp__first_halves(void **state)
{
	(void)state;
	start("paper");
	assert_int_equal(rate_at(7 * US), LINE);
	cnp(7 * US);
	assert_int_equal(rate_at(7 * US), LINE / 2);
	assert_int_equal(rate_at(61 * US), LINE / 2);
}

/* Each 55 us without a CNP take 1/256 of alpha, a CNP gives 1/256 of the rest back. */
static void cnp__alpha(void **state)
{
	(void)state;
	start("paper");
	SET(rpg_time_reset, 131071); /* nothing but alpha changes */
	cnp(0);
	cnp(55 * US); /* alpha is 255/256 */
	assert_int_equal(rate_at(55 * US), 25097656);
	/* Updates start anew at a CNP: the next is at 110. Alpha was (255 * 255 / 256 + 1) / 256.
	 */
	cnp(109 * US);
	assert_int_equal(rate_at(109 * US),
			 25097656 - (uint32_t)(25097656.0 * 65281 / 131072 + 0.5));
}

static void increase__fast_recovery_then_additive(void **state)
{
	static const uint32_t expected[] = {75000000, 87500000, 93750000, 96875000,
					    98437500, 99218750, 99609375};

	(void)state;
	start("paper");
	cnp(0);
	for (uint32_t i = 0; i < 7; i++) {
		assert_int_equal(rate_at((i + 1) * 55 * US - 1), i ? expected[i - 1] : LINE / 2);
		assert_int_equal(rate_at((i + 1) * 55 * US), expected[i]);
	}
	/* Half the line rate as the target: after five halvings of the distance it rises. */
	start("paper");
	cnp(0);
	cnp(10 * US);
	assert_int_equal(rate_at(10 * US), 25000000);
	assert_int_equal(rate_at(10 * US + 5 * 55 * US), 49218750);
	assert_int_equal(rate_at(10 * US + 6 * 55 * US), (49218750 + 50040000) / 2);
	assert_int_equal(rate_at(10 * US + 7 * 55 * US), (49629375 + 50080000 + 1) / 2);
}

/* Bytes count like time; both beyond the threshold: the target rises faster at each step. */
static void increase__by_bytes_and_hyper(void **state)
{
	uint32_t rate = 25000000;
	uint32_t target = 50000000;

	(void)state;
	start("paper");
	cnp(0);
	cnp(0);
	assert_int_equal(rate_at(0), rate);
	roce_cc_on_send(&cc, 9999999, 0);
	assert_int_equal(rate_at(0), rate);
	roce_cc_on_send(&cc, 1, 0);
	rate = (rate + target) / 2;
	assert_int_equal(rate_at(0), rate);
	/* Five more by bytes, four of them back to the target. */
	roce_cc_on_send(&cc, 50000000, 0);
	for (int i = 0; i < 4; i++)
		rate = (rate + target + 1) / 2;
	target += 40000;
	rate = (rate + target + 1) / 2;
	assert_int_equal(rate_at(0), rate);
	/* Six by time, the least count so far: additive. */
	for (int i = 0; i < 6; i++) {
		target += 40000;
		rate = (rate + target + 1) / 2;
	}
	assert_int_equal(rate_at(6 * 55 * US), rate);
	/* Six and six: hyper, by 400 Mb/s; then seven and six, and seven and seven: twice that. */
	target += 400000;
	rate = (rate + target + 1) / 2;
	assert_int_equal(rate_at(7 * 55 * US), rate);
	roce_cc_on_send(&cc, 10000000, 7 * 55 * US);
	target += 400000;
	rate = (rate + target + 1) / 2;
	assert_int_equal(rate_at(7 * 55 * US), rate);
	target += 800000;
	rate = (rate + target + 1) / 2;
	assert_int_equal(rate_at(8 * 55 * US), rate);
}

/* A CNP begins all counting anew. */
static void cnp__resets_counters(void **state)
{
	(void)state;
	start("paper");
	cnp(0);
	roce_cc_on_send(&cc, 9999999, 0);
	cnp(54 * US);
	assert_int_equal(rate_at(54 * US), LINE / 4);
	roce_cc_on_send(&cc, 9999999, 55 * US);
	assert_int_equal(rate_at(108 * US), LINE / 4);
	assert_int_equal(rate_at(109 * US), LINE / 8 * 3);
}

static void cnp__floor(void **state)
{
	(void)state;
	start("paper");
	for (int i = 0; i < 100; i++)
		cnp(0);
	assert_int_equal(rate_at(0), 1000);
	/* A limit below what the port does is where it starts, and where it ends. */
	start("paper");
	SET(rpg_max_rate, 40000);
	assert_int_equal(rate_at(0), LINE); /* nothing is limited before the first CNP */
	cnp(0);
	assert_int_equal(rate_at(0), 20000000);
	assert_int_equal(rate_at(ROCE_NS_PER_S), 40000000);
}

/* ---- connectx ---- */

static void connectx__one_cut_in_a_monitor_period(void **state)
{
	uint32_t rate;

	(void)state;
	start("connectx");
	cnp(0);
	rate = rate_at(0);
	assert_int_equal(rate, 50048828);
	cnp(1 * US);
	cnp(2 * US);
	assert_int_equal(rate_at(4 * US - 1), rate);
	assert_in_range(rate_at(4 * US), 25290975, 25290979);
	rate = rate_at(4 * US);
	/* No CNP in the next period, and one long after: at once. */
	assert_int_equal(rate_at(20 * US), rate);
	cnp(20 * US);
	assert_true(rate_at(20 * US) < rate * UINT64_C(6) / 10);
}

static void connectx__first_rate(void **state)
{
	(void)state;
	start("connectx");
	SET(rate_to_set_on_first_cnp, 10000);
	cnp(0);
	assert_int_equal(rate_at(0), 10000000);
	cnp(1 * US);
	assert_int_equal(rate_at(4 * US - 1), 10000000);
	assert_in_range(rate_at(4 * US), 5000000, 5100000);
	/* The target is that rate, too. */
	assert_in_range(rate_at(304 * US), 7500000, 7550000);
}

static void connectx__share_that_a_cut_leaves(void **state)
{
	(void)state;
	start("connectx");
	SET(rpg_gd, 10); /* alpha counts in full */
	cnp(0);
	assert_int_equal(rate_at(0), LINE / 2);
	start("connectx");
	SET(rpg_gd, 10);
	SET(rpg_min_dec_fac, 0);
	cnp(0);
	assert_int_equal(rate_at(0), (LINE + 512) / 1024);
	start("connectx");
	SET(rpg_min_dec_fac, 90);
	cnp(0);
	assert_int_equal(rate_at(0), LINE / 10 * 9);
}

/* The target stays where it was, unless time has raised the rate since the last cut. */
static void connectx__target(void **state)
{
	uint32_t before, rate;

	(void)state;
	start("connectx");
	cnp(0);
	cnp(100 * US);
	rate = rate_at(100 * US);
	assert_int_equal(rate_at(400 * US), (rate + LINE + 1) / 2);
	before = rate_at(401 * US);
	cnp(401 * US);
	rate = rate_at(401 * US);
	assert_int_equal(rate_at(701 * US), (rate + before + 1) / 2);
	/* With neither rule it stays for good. */
	start("connectx");
	SET(clamp_tgt_rate_after_time_inc, 0);
	cnp(0);
	cnp(301 * US);
	rate = rate_at(301 * US);
	assert_int_equal(rate_at(601 * US), (rate + LINE + 1) / 2);
	/* And with the first one it always falls. */
	start("connectx");
	SET(clamp_tgt_rate, 1);
	cnp(0);
	before = rate_at(0);
	cnp(100 * US);
	rate = rate_at(100 * US);
	assert_int_equal(rate_at(400 * US), (rate + before + 1) / 2);
}

/* At the maximum the limit is gone, and the next CNP is a first one again. */
static void connectx__leaves_at_max(void **state)
{
	(void)state;
	start("connectx");
	cnp(0);
	assert_int_equal(cc.kbit_per_s, 50048828);
	assert_true(rate_at(25 * 300 * US) < LINE);
	assert_int_equal(rate_at(30 * 300 * US), LINE);
	assert_int_equal(cc.kbit_per_s, 0);
	cnp(ROCE_NS_PER_S);
	assert_int_equal(rate_at(ROCE_NS_PER_S), 50048828);
	/* Where it stays, alpha has gone to 0, and a CNP cuts next to nothing. */
	start("connectx");
	SET(leave_at_max, 0);
	cnp(0);
	assert_int_equal(rate_at(ROCE_NS_PER_S), LINE);
	assert_int_equal(cc.kbit_per_s, LINE);
	cnp(ROCE_NS_PER_S);
	assert_int_equal(rate_at(ROCE_NS_PER_S), LINE);
	assert_in_range(rate_at(ROCE_NS_PER_S + 1), LINE - 1, LINE);
}

/* ---- hpcc-ns3, against the rules of that simulator written as it has them ---- */

struct model {
	bool is_active, is_alpha_cnp, is_cut_cnp;
	double rate, target, alpha; /* Gb/s */
	uint32_t stage;
	roce_ns_t alpha_at, cut_at, increase_at;
};

static void model_increase(struct model *m)
{
	if (m->stage == 1)
		m->target += 0.02;
	else if (m->stage > 1)
		m->target += 0.2;
	if (m->target > 100)
		m->target = 100;
	m->rate = (m->rate + m->target) / 2;
	m->stage++;
}

static void model_cut(struct model *m, roce_ns_t at)
{
	if (!m->is_cut_cnp)
		return;
	if (m->stage)
		m->target = m->rate;
	m->rate *= 1 - m->alpha / 2;
	if (m->rate < 1)
		m->rate = 1;
	m->stage = 0;
	m->is_cut_cnp = false;
	m->increase_at = at + 300 * US;
}

static void model_run(struct model *m, roce_ns_t now)
{
	while (m->is_active) {
		roce_ns_t next = m->alpha_at;

		next = m->increase_at < next ? m->increase_at : next;
		next = m->cut_at < next ? m->cut_at : next;
		if (next > now)
			return;
		if (next == m->alpha_at) {
			m->alpha = m->alpha * 255 / 256 + (m->is_alpha_cnp ? 1.0 / 256 : 0);
			m->is_alpha_cnp = false;
			m->alpha_at += US;
		} else if (next == m->increase_at) {
			m->increase_at += 300 * US;
			model_increase(m);
		} else {
			model_cut(m, m->cut_at);
			m->cut_at += 4 * US;
		}
	}
}

static void model_cnp(struct model *m, roce_ns_t now)
{
	model_run(m, now);
	if (!m->is_active)
		*m = (struct model){.is_active = true,
				    .rate = 100,
				    .target = 100,
				    .alpha = 1,
				    .alpha_at = now + US,
				    .cut_at = now + 4 * US + 1,
				    .increase_at = ROCE_NEVER};
	else
		m->is_alpha_cnp = true;
	m->is_cut_cnp = true;
}

static uint64_t seed_of_run(void)
{
	const char *text = getenv("UROCE_SEED");
	uint64_t seed = text ? strtoull(text, NULL, 0) : 1;

	print_message("UROCE_SEED=%lu\n", (unsigned long)seed);
	return seed;
}

static void hpcc__as_its_simulator(void **state)
{
	struct roce_prng prng = {seed_of_run()};

	(void)state;
	for (int round = 0; round < 50; round++) {
		struct model m = {.rate = 100};
		uint64_t spread = roce_prng_below(&prng, 4) ? 20 * US : 2000 * US;
		roce_ns_t now = 0;

		start("hpcc-ns3");
		for (int i = 0; i < 200; i++) {
			double rate;

			now += 1 + roce_prng_below(&prng, spread);
			model_run(&m, now);
			rate = rate_at(now) / 1e6;
			assert_true(rate > m.rate * 0.99999 && rate < m.rate * 1.00001);
			if (roce_prng_below(&prng, 3))
				continue;
			model_cnp(&m, now);
			cnp(now);
		}
	}
}

/* ---- laziness ---- */

/* Two controllers see the same packets and CNPs; one is looked at in between, too. */
static void advance__does_not_depend_on_how_often(void **state)
{
	struct roce_prng prng = {seed_of_run()};

	(void)state;
	for (uint32_t round = 0; round < 60; round++) {
		struct roce_cc often;
		roce_ns_t now = 0;

		start(roce_cc_dcqcn.sets[round % roce_cc_dcqcn.set_count].name);
		if (round & 8)
			SET(rpg_byte_reset, 100);
		roce_cc_init(&often, &cfg);
		for (int i = 0; i < 300; i++) {
			roce_ns_t to = now + roce_prng_below(&prng, i % 50 ? 30 * US : 9000 * US);
			uint32_t bytes = (uint32_t)roce_prng_below(&prng, 5000);

			while (now < to) {
				now += 1 + roce_prng_below(&prng, 1 + (to - now) / 3);
				(void)roce_cc_next_send(&often, now);
			}
			if (roce_prng_below(&prng, 10) == 0) {
				roce_cc_on_cnp(&cc, now);
				roce_cc_on_cnp(&often, now);
			} else {
				roce_cc_on_send(&cc, bytes, now);
				roce_cc_on_send(&often, bytes, now);
			}
			assert_memory_equal(&cc, &often, sizeof(cc));
		}
	}
}

/* Whoever asks again at the time it was given finds the rate of that time; idle for an hour or
 * not. */
static void next_change__is_when_the_rate_rises(void **state)
{
	roce_ns_t next;

	(void)state;
	start("paper");
	assert_int_equal(cfg.ops->next_change(&cc), ROCE_NEVER);
	cnp(0);
	next = cfg.ops->next_change(&cc);
	assert_int_equal(next, 55 * US);
	assert_int_equal(rate_at(next - 1), LINE / 2);
	assert_true(rate_at(next) > LINE / 2);
	assert_int_equal(cfg.ops->next_change(&cc), 110 * US);
	assert_int_equal(rate_at(3600 * ROCE_NS_PER_S), LINE);
	next = cfg.ops->next_change(&cc);
	assert_in_range(next, 3600 * ROCE_NS_PER_S + 1, 3600 * ROCE_NS_PER_S + 55 * US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cnp__first_halves),
		cmocka_unit_test(cnp__alpha),
		cmocka_unit_test(increase__fast_recovery_then_additive),
		cmocka_unit_test(increase__by_bytes_and_hyper),
		cmocka_unit_test(cnp__resets_counters),
		cmocka_unit_test(cnp__floor),
		cmocka_unit_test(connectx__one_cut_in_a_monitor_period),
		cmocka_unit_test(connectx__first_rate),
		cmocka_unit_test(connectx__share_that_a_cut_leaves),
		cmocka_unit_test(connectx__target),
		cmocka_unit_test(connectx__leaves_at_max),
		cmocka_unit_test(hpcc__as_its_simulator),
		cmocka_unit_test(advance__does_not_depend_on_how_often),
		cmocka_unit_test(next_change__is_when_the_rate_rises),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
