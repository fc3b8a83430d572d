/* SPDX-License-Identifier: BSD-2-Clause */
/* What the keys of a switch, a port or a host mean together: thresholds that can never fire. */
#include "scenario/plan.h"

#include <stdio.h>

bool roce_dscp_prio_parse(const char *text, uint8_t *out_dscp, uint8_t *out_prio)
{
	unsigned int dscp;
	unsigned int prio;
	int end = 0;

	if (sscanf(text, "%2u:%1u%n", &dscp, &prio, &end) != 2 || text[end] || dscp > 63 ||
	    prio > 7)
		return false;
	*out_dscp = (uint8_t)dscp;
	*out_prio = (uint8_t)prio;
	return true;
}

static void check_dscp_prio(const struct roce_words *words, uint32_t line,
			    struct roce_problems *problems)
{
	uint8_t dscp;
	uint8_t prio;

	for (uint32_t i = 0; i < words->count; i++) {
		if (!roce_dscp_prio_parse(words->at[i], &dscp, &prio))
			roce_problem_add(
				problems, line,
				"qos.dscp_prio: found \"%.20s\", expected DSCP:PRIO, as 26:3",
				words->at[i]);
	}
}

/* mlnx_qos refuses it too: a strict class has no share. */
static void check_ets(const struct roce_eight *tsa, const struct roce_eight *tcbw, uint32_t line,
		      struct roce_problems *problems)
{
	for (unsigned int tc = 0; tc < 8; tc++) {
		if (tsa->at[tc] && tcbw->at[tc])
			roce_problem_add(problems, line,
					 "qos.tcbw: %u%% for class %u, which is strict, expected 0",
					 tcbw->at[tc], tc);
	}
}

/* The line of the key that is to blame: the first of them that was written. */
static uint32_t line_of(uint32_t a, uint32_t b)
{
	return a ? a : b;
}

uint64_t roce_xoff_most(const struct roce_switch_conf *conf)
{
	uint64_t shared = conf->buffer_size;

	if (conf->pg_static_th)
		return conf->pg_size + conf->pg_static_th;
	/* alpha (B - x) = x, with the whole buffer free of others. */
	if (conf->pg_dynamic_th >= 0)
		return conf->pg_size +
		       (shared << conf->pg_dynamic_th) / ((UINT64_C(1) << conf->pg_dynamic_th) + 1);
	return conf->pg_size + shared / ((UINT64_C(1) << -conf->pg_dynamic_th) + 1);
}

/* Does PFC act on a priority whose class is marked? */
static bool has_marked_lossless(const struct roce_switch_conf *conf)
{
	for (unsigned int prio = 0; prio < 8; prio++) {
		if (conf->pfc.at[prio] && conf->ecn_tc.at[conf->prio_tc.at[prio]])
			return true;
	}
	return false;
}

/* The same of a lossy priority. */
static bool has_marked_lossy(const struct roce_switch_conf *conf)
{
	for (unsigned int prio = 0; prio < 8; prio++) {
		if (!conf->pfc.at[prio] && conf->ecn_tc.at[conf->prio_tc.at[prio]])
			return true;
	}
	return false;
}

/* The smaller of the two limits of a queue: its own (0: none), and its pool's. */
static uint64_t queue_most(uint64_t own, uint64_t pool)
{
	uint64_t most = own ? own : ROCE_AUTO;

	return pool < most ? pool : most;
}

/* A queue that drops before it is as long as that marks nothing. */
static void check_marks(const struct roce_switch_conf *c, struct roce_problems *problems)
{
	uint64_t lossless = queue_most(c->q_lossless_th, c->egress_lossless);
	uint64_t lossy = queue_most(c->q_static_th, c->egress_lossy);
	uint32_t line = c->where.kmin;

	if (has_marked_lossless(c) && c->kmin >= lossless)
		roce_problem_add(problems,
				 line ? line
				      : line_of(c->where.q_lossless_th, c->where.egress_lossless),
				 "ecn.kmin: %llu can never be reached: lossless queues drop above "
				 "%llu",
				 (unsigned long long)c->kmin, (unsigned long long)lossless);
	if (has_marked_lossy(c) && c->kmin >= lossy)
		roce_problem_add(
			problems,
			line ? line : line_of(c->where.q_static_th, c->where.egress_lossy),
			"ecn.kmin: %llu can never be reached: lossy queues drop above %llu",
			(unsigned long long)c->kmin, (unsigned long long)lossy);
}

static void check_ecn(const struct roce_switch_conf *conf, struct roce_problems *problems)
{
	uint32_t line = line_of(conf->where.kmin, conf->where.buffer_size);
	uint64_t most = roce_xoff_most(conf);

	if (!conf->ecn)
		return;
	check_marks(conf, problems);
	if (conf->kmax < conf->kmin)
		roce_problem_add(problems, line_of(conf->where.kmax, conf->where.kmin),
				 "ecn.kmax: %llu is below kmin, %llu",
				 (unsigned long long)conf->kmax, (unsigned long long)conf->kmin);
	if (conf->kmin >= conf->buffer_size)
		roce_problem_add(
			problems, line, "ecn.kmin: %llu can never be reached: the buffer has %llu",
			(unsigned long long)conf->kmin, (unsigned long long)conf->buffer_size);
	else if (has_marked_lossless(conf) && conf->kmin >= most)
		roce_problem_add(problems, line_of(line, conf->where.pg_static_th),
				 "ecn.kmin: %llu is not below the XOFF point, at most %llu: PFC "
				 "would always act first",
				 (unsigned long long)conf->kmin, (unsigned long long)most);
}

static void check_buffer(const struct roce_switch_conf *conf, struct roce_problems *problems)
{
	if (conf->pg_xoff != ROCE_AUTO && conf->pg_size + conf->pg_xoff > conf->buffer_size)
		roce_problem_add(problems, line_of(conf->where.pg_xoff, conf->where.buffer_size),
				 "buffer.pg_lossless: reserve and headroom of %llu are larger than "
				 "the buffer, %llu",
				 (unsigned long long)(conf->pg_size + conf->pg_xoff),
				 (unsigned long long)conf->buffer_size);
	if (conf->pg_static_th >= conf->buffer_size)
		roce_problem_add(problems, conf->where.pg_static_th,
				 "buffer.pg_lossless.static_th: %llu can never be reached: the "
				 "buffer has %llu",
				 (unsigned long long)conf->pg_static_th,
				 (unsigned long long)conf->buffer_size);
}

struct part {
	const char *name;
	uint64_t bytes;
	uint32_t line;
};

/* Pools and limits that are larger than the memory they are of: they could never be reached. */
static void check_pools(const struct roce_switch_conf *c, struct roce_problems *problems)
{
	const struct part parts[] = {
		{"ingress_lossless_pool.xoff", c->headroom_pool, c->where.headroom_pool},
		{"egress_lossless_pool.size", c->egress_lossless, c->where.egress_lossless},
		{"egress_lossy_pool.size", c->egress_lossy, c->where.egress_lossy},
		{"q_lossless.static_th", c->q_lossless_th, c->where.q_lossless_th},
		{"q_lossy.static_th", c->q_static_th, c->where.q_static_th},
	};

	for (uint32_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i].bytes != ROCE_AUTO && parts[i].bytes > c->buffer_size)
			roce_problem_add(
				problems, line_of(parts[i].line, c->where.buffer_size),
				"buffer.%s: %llu can never be reached: the buffer has %llu",
				parts[i].name, (unsigned long long)parts[i].bytes,
				(unsigned long long)c->buffer_size);
	}
	if (c->headroom_pool && c->pg_xoff != ROCE_AUTO && c->pg_xoff > c->headroom_pool)
		roce_problem_add(
			problems, line_of(c->where.pg_xoff, c->where.headroom_pool),
			"buffer.pg_lossless.xoff: %llu is more than the headroom pool, %llu",
			(unsigned long long)c->pg_xoff, (unsigned long long)c->headroom_pool);
	if (c->pg_xon != ROCE_AUTO && c->pg_xon > roce_xoff_most(c))
		roce_problem_add(
			problems, line_of(c->where.pg_xon, c->where.pg_static_th),
			"buffer.pg_lossless.xon: %llu is above the XOFF point, at most %llu",
			(unsigned long long)c->pg_xon, (unsigned long long)roce_xoff_most(c));
}

static void check_uncounted(const struct roce_switch_conf *conf, struct roce_problems *problems)
{
	for (uint32_t i = 0; i < 8; i++) {
		if (conf->uncounted.at[i] && conf->pfc.at[i])
			roce_problem_add(problems, line_of(conf->where.uncounted, conf->where.pfc),
					 "buffer.uncounted: PFC acts on what priority %u holds in "
					 "the buffer",
					 i);
	}
}

void roce_check_switch(const struct roce_switch_conf *conf, struct roce_problems *problems)
{
	check_dscp_prio(&conf->dscp_prio, conf->where.dscp_prio, problems);
	check_ets(&conf->tsa, &conf->tcbw, line_of(conf->where.tcbw, conf->where.tsa), problems);
	check_ecn(conf, problems);
	check_buffer(conf, problems);
	check_pools(conf, problems);
	check_uncounted(conf, problems);
	if (conf->watchdog && conf->watchdog_detection < conf->watchdog_poll)
		roce_problem_add(
			problems,
			line_of(conf->where.watchdog_detection, conf->where.watchdog_poll),
			"watchdog.detection_time: below poll_interval, by which it is measured");
}

/* Headers of a packet in an IPv6 one: IP, UDP, BTH, the largest extension, ICRC. */
#define HEADERS_MOST (40u + 8u + 12u + 28u + 4u)

void roce_check_host(const struct roce_host_conf *conf, struct roce_problems *problems)
{
	uint64_t path_mtu = UINT64_C(256) << conf->path_mtu;

	check_dscp_prio(&conf->dscp_prio, conf->where.dscp_prio, problems);
	check_ets(&conf->tsa, &conf->tcbw, line_of(conf->where.tcbw, conf->where.tsa), problems);
	if (path_mtu + HEADERS_MOST > conf->mtu)
		roce_problem_add(
			problems, line_of(conf->where.path_mtu, conf->where.mtu),
			"path_mtu: packets of %llu bytes and headers do not fit into mtu, %llu",
			(unsigned long long)path_mtu, (unsigned long long)conf->mtu);
}

#define PERCENTILES_MAX 8

void roce_check_output(const struct roce_output_conf *conf, struct roce_problems *problems)
{
	uint64_t fraction;

	if (conf->percentiles.count > PERCENTILES_MAX)
		roce_problem_add(problems, conf->where.percentiles,
				 "percentiles: %u, expected at most %d", conf->percentiles.count,
				 PERCENTILES_MAX);
	for (uint32_t i = 0; i < conf->percentiles.count; i++) {
		if (roce_unit_parse(ROCE_UNIT_PERCENT, conf->percentiles.at[i], &fraction) ||
		    fraction > ROCE_FRACTION_ONE)
			roce_problem_add(
				problems, conf->where.percentiles,
				"percentiles: found \"%.20s\", expected a number up to 100",
				conf->percentiles.at[i]);
	}
}
