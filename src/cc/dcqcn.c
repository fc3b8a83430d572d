/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DCQCN's reaction point. A CNP cuts the rate by a share that follows alpha, an estimate of how
 * congested the path is; without CNPs alpha falls, and the rate returns to the target (what it was
 * before the cut) by halves, then carries the target up: slowly, and in the end fast.
 *
 *   CNP      target = rate; rate -= rate * alpha / 2
 *   updates  alpha = g * alpha (+ 1 - g if a CNP came since the last one)
 *   increase rate = (target + rate) / 2, after the first few with target += ai, later += hai;
 *            one each time that a timer ends, and one each time that so many bytes are sent
 *
 * Lazy: three points in time are kept (next update of alpha, next increase, cut that waits), and
 * what lies before `now` is done in their order. Alpha and increases do not look at each other, so
 * only a cut divides the time. Integers throughout: the same result everywhere.
 */
#include "cc/dcqcn.h"

#include "cc/cc.h"

#define ALPHA_BITS     30u /* of the fraction */
#define ALPHA_PER_1024 (1u << (ALPHA_BITS - 10))
#define STAGES_MAX     UINT32_C(0x40000000)
#define KBIT	       1000u
#define BYTE_RESET     64u

struct dcqcn {
	uint32_t rate;	 /* kbit/s */
	uint32_t target; /* kbit/s */
	uint32_t alpha;	 /* with ALPHA_BITS */
	uint32_t time_stage;
	uint32_t byte_stage; /* increases by each since the last cut */
	bool is_active;	     /* there was a CNP */
	bool is_notified;    /* another one since alpha was updated */
	bool has_time_increase;
	uint64_t bytes_left; /* until the next increase */
	roce_ns_t alpha_at;
	roce_ns_t increase_at;
	roce_ns_t cut_at; /* ROCE_NEVER: no cut waits */
	/* The earliest next cut; with cut_at_period_end: where the periods are counted from. */
	roce_ns_t period_from;
};

_Static_assert(sizeof(struct dcqcn) <= sizeof(((struct roce_cc *)0)->state), "the state fits");

#define PARAM(cc, name) ((cc)->cfg->params.v[ROCE_DCQCN_##name])

static struct dcqcn *state_of(struct roce_cc *cc)
{
	return (struct dcqcn *)cc->state;
}

static roce_ns_t us(uint32_t n)
{
	return n * ROCE_NS_PER_US;
}

static uint32_t rate_max(const struct roce_cc *cc)
{
	uint32_t line = cc->cfg->line_kbit_per_s;
	uint32_t max = PARAM(cc, rpg_max_rate) * KBIT;

	return max && max < line ? max : line;
}

static void set_rate(struct roce_cc *cc, uint32_t rate, roce_ns_t at)
{
	state_of(cc)->rate = rate;
	roce_cc_set_rate(cc, rate, at, PARAM(cc, fixed_gap));
}

/* ---- what time does ---- */

static void update_alpha(struct roce_cc *cc)
{
	struct dcqcn *s = state_of(cc);
	uint32_t g = PARAM(cc, dce_tcp_g);

	s->alpha = (uint32_t)((uint64_t)s->alpha * g >> 10);
	if (s->is_notified)
		s->alpha += (1024 - g) * ALPHA_PER_1024;
	s->is_notified = false;
}

static void run_alpha(struct roce_cc *cc, roce_ns_t now)
{
	struct dcqcn *s = state_of(cc);
	roce_ns_t step = us(PARAM(cc, dce_tcp_rtt));

	while (s->alpha_at <= now && (s->alpha || s->is_notified)) {
		update_alpha(cc);
		s->alpha_at += step;
	}
	/* The rest changes nothing. */
	if (s->alpha_at <= now)
		s->alpha_at += ((now - s->alpha_at) / step + 1) * step;
}

static void reset_increase(struct roce_cc *cc, roce_ns_t now)
{
	struct dcqcn *s = state_of(cc);

	s->time_stage = 0;
	s->byte_stage = 0;
	s->has_time_increase = false;
	s->increase_at = now + us(PARAM(cc, rpg_time_reset));
	s->bytes_left = (uint64_t)PARAM(cc, rpg_byte_reset) * BYTE_RESET;
}

static void leave(struct roce_cc *cc, roce_ns_t now)
{
	*state_of(cc) = (struct dcqcn){.cut_at = ROCE_NEVER};
	roce_cc_set_rate(cc, 0, now, false);
}

/* By how much the target rises; 0 while the rate goes back to it. */
static uint64_t target_step(const struct roce_cc *cc, const struct dcqcn *s)
{
	uint32_t byte_stage = PARAM(cc, rpg_byte_reset) ? s->byte_stage : s->time_stage;
	uint32_t most = s->time_stage > byte_stage ? s->time_stage : byte_stage;
	uint32_t least = s->time_stage < byte_stage ? s->time_stage : byte_stage;
	uint32_t threshold = PARAM(cc, rpg_threshold);
	uint64_t hai = (uint64_t)PARAM(cc, rpg_hai_rate) * KBIT;

	if (most < threshold)
		return 0;
	if (least <= threshold)
		return (uint64_t)PARAM(cc, rpg_ai_rate) * KBIT;
	return PARAM(cc, hai_by_stage) ? hai * (least - threshold) : hai;
}

/* Rounded up, so that the rate reaches the target. */
static void increase(struct roce_cc *cc, uint32_t *stage, roce_ns_t at)
{
	struct dcqcn *s = state_of(cc);
	uint32_t max = rate_max(cc);
	uint64_t target = s->target + target_step(cc, s);

	s->target = target < max ? (uint32_t)target : max;
	if (*stage < STAGES_MAX)
		++*stage;
	set_rate(cc, (uint32_t)(((uint64_t)s->rate + s->target + 1) / 2), at);
	if (s->rate >= max && PARAM(cc, leave_at_max))
		leave(cc, at);
}

static void run_increases(struct roce_cc *cc, roce_ns_t now)
{
	struct dcqcn *s = state_of(cc);
	roce_ns_t step = us(PARAM(cc, rpg_time_reset));
	uint64_t count;

	while (s->is_active && s->increase_at <= now && s->rate < rate_max(cc)) {
		roce_ns_t at = s->increase_at;

		s->increase_at += step;
		s->has_time_increase = true;
		increase(cc, &s->time_stage, at);
	}
	if (!s->is_active || s->increase_at > now)
		return;
	/* The rest counts, but there is nothing to raise. */
	count = (now - s->increase_at) / step + 1;
	s->increase_at += count * step;
	s->has_time_increase = true;
	s->time_stage +=
		count < STAGES_MAX - s->time_stage ? (uint32_t)count : STAGES_MAX - s->time_stage;
}

static void cut(struct roce_cc *cc, roce_ns_t at)
{
	struct dcqcn *s = state_of(cc);
	uint32_t min = PARAM(cc, rpg_min_rate) * KBIT;
	uint32_t shift = ALPHA_BITS + PARAM(cc, rpg_gd) - 10;
	uint64_t half = UINT64_C(1) << (shift - 1);
	uint32_t rate = s->rate - (uint32_t)(((uint64_t)s->rate * s->alpha + half) >> shift);
	uint32_t least = (uint32_t)((uint64_t)s->rate * PARAM(cc, rpg_min_dec_fac) / 100);

	if (rate < least)
		rate = least;
	if (rate < min)
		rate = min < s->rate ? min : s->rate;
	s->cut_at = ROCE_NEVER;
	if (PARAM(cc, clamp_tgt_rate) ||
	    (PARAM(cc, clamp_tgt_rate_after_time_inc) && s->has_time_increase))
		s->target = s->rate;
	if (PARAM(cc, alpha_on_cnp)) {
		s->is_notified = true;
		update_alpha(cc);
		s->alpha_at = at + us(PARAM(cc, dce_tcp_rtt));
	}
	if (!PARAM(cc, cut_at_period_end))
		s->period_from = at + us(PARAM(cc, rate_reduce_monitor_period));
	reset_increase(cc, at);
	set_rate(cc, rate, at);
}

static void advance(struct roce_cc *cc, roce_ns_t now)
{
	struct dcqcn *s = state_of(cc);
	roce_ns_t until;

	if (!s->is_active)
		return;
	if (s->cut_at <= now) {
		until = s->cut_at;
		run_alpha(cc, until);
		run_increases(cc, until);
		if (s->is_active)
			cut(cc, until);
	}
	if (!s->is_active)
		return;
	run_alpha(cc, now);
	run_increases(cc, now);
}

/* ---- what happens ---- */

static void init(struct roce_cc *cc)
{
	state_of(cc)->cut_at = ROCE_NEVER;
}

static void start(struct roce_cc *cc, roce_ns_t now)
{
	struct dcqcn *s = state_of(cc);

	s->is_active = true;
	s->target = rate_max(cc);
	s->alpha = PARAM(cc, initial_alpha_value) * ALPHA_PER_1024;
	s->alpha_at = now + us(PARAM(cc, dce_tcp_rtt));
	s->period_from = now;
	reset_increase(cc, now);
	if (PARAM(cc, cut_at_period_end))
		s->increase_at = ROCE_NEVER; /* the first cut starts it */
	set_rate(cc, s->target, now);
}

/* The period's end stands a nanosecond behind an update of alpha at the same time. */
static roce_ns_t period_end(const struct roce_cc *cc, const struct dcqcn *s, roce_ns_t now)
{
	roce_ns_t period = us(PARAM(cc, rate_reduce_monitor_period));
	roce_ns_t base = s->period_from + 1;

	if (!period)
		return now;
	if (now < base)
		return base + period;
	return base + ((now - base) / period + 1) * period;
}

static void on_cnp(struct roce_cc *cc, roce_ns_t now)
{
	struct dcqcn *s = state_of(cc);
	uint32_t first = PARAM(cc, rate_to_set_on_first_cnp) * KBIT;

	if (s->is_active) {
		/* With alpha_on_cnp it is the cut that takes it into account. */
		s->is_notified = !PARAM(cc, alpha_on_cnp);
	} else {
		start(cc, now);
		if (first && first < s->target) {
			s->target = first;
			s->period_from = now + us(PARAM(cc, rate_reduce_monitor_period));
			set_rate(cc, first, now);
			return;
		}
	}
	if (s->cut_at != ROCE_NEVER)
		return;
	if (PARAM(cc, cut_at_period_end))
		s->cut_at = period_end(cc, s, now);
	else
		s->cut_at = now > s->period_from ? now : s->period_from;
	if (s->cut_at <= now)
		cut(cc, now);
}

static void on_send(struct roce_cc *cc, uint32_t bytes, roce_ns_t now)
{
	struct dcqcn *s = state_of(cc);
	uint64_t reset = (uint64_t)PARAM(cc, rpg_byte_reset) * BYTE_RESET;

	if (PARAM(cc, fixed_gap) && s->is_active) {
		/* Rounded down from a sum of seconds that is a little too small. */
		cc->pace.passed_at -= cc->pace.rest == 0;
		cc->pace.rest = 0;
	}
	if (!reset)
		return;
	while (s->is_active && bytes >= s->bytes_left) {
		bytes -= (uint32_t)s->bytes_left;
		s->bytes_left = reset;
		increase(cc, &s->byte_stage, now);
	}
	if (s->is_active)
		s->bytes_left -= bytes;
}

static roce_ns_t next_change(const struct roce_cc *cc)
{
	const struct dcqcn *s = (const struct dcqcn *)cc->state;

	return s->is_active ? s->increase_at : ROCE_NEVER;
}

static void notify_config(const struct roce_cc_params *params, struct roce_notify_config *out)
{
	*out = (struct roce_notify_config){
		.mode = params->v[ROCE_DCQCN_notify_by_ack] ? ROCE_NOTIFY_ACK : ROCE_NOTIFY_CNP,
		.scope = (enum roce_notify_scope)params->v[ROCE_DCQCN_cnps_per],
		.interval_ns = us(params->v[ROCE_DCQCN_min_time_between_cnps]),
		.traffic_class = (uint8_t)(params->v[ROCE_DCQCN_cnp_dscp] << 2),
		.tx_class = (uint8_t)params->v[ROCE_DCQCN_cnp_802p_prio],
		.is_with_nak = params->v[ROCE_DCQCN_cnp_with_nak],
	};
}

/* ---- tables ---- */

static const struct roce_cc_param params[] = {
#define X(name, unit, min, max, connectx, paper, hpcc, text) {#name, unit, min, max, text},
	ROCE_DCQCN_PARAMS(X)
#undef X
};

_Static_assert(ROCE_DCQCN_PARAM_COUNT <= ROCE_CC_PARAMS_MAX, "all parameters fit");

static const struct roce_cc_set sets[] = {
	{"connectx",
	 "defaults of ConnectX adapters",
	 {{
#define X(name, unit, min, max, connectx, paper, hpcc, text) connectx,
		 ROCE_DCQCN_PARAMS(X)
#undef X
	 }}},
	{"paper",
	 "as published in 2015",
	 {{
#define X(name, unit, min, max, connectx, paper, hpcc, text) paper,
		 ROCE_DCQCN_PARAMS(X)
#undef X
	 }}},
	{"hpcc-ns3",
	 "rules and values of HPCC's simulator",
	 {{
#define X(name, unit, min, max, connectx, paper, hpcc, text) hpcc,
		 ROCE_DCQCN_PARAMS(X)
#undef X
	 }}},
};

const struct roce_cc_ops roce_cc_dcqcn = {
	.name = "dcqcn",
	.params = params,
	.param_count = ROCE_DCQCN_PARAM_COUNT,
	.sets = sets,
	.set_count = sizeof(sets) / sizeof(sets[0]),
	.init = init,
	.advance = advance,
	.on_send = on_send,
	.on_cnp = on_cnp,
	.next_change = next_change,
	.notify_config = notify_config,
};
