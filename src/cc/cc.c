/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What controllers share: pacing at the rate that a controller has set, and finding controllers,
 * their parameter sets and parameters by name.
 */
#include "cc/cc.h"

#include <string.h>

static const struct roce_cc_ops *const controllers[] = {
#define X(object, name) &(object),
	ROCE_CC_LIST(X)
#undef X
};

#define CONTROLLERS (sizeof(controllers) / sizeof(controllers[0]))

void roce_cc_init(struct roce_cc *cc, const struct roce_cc_config *cfg)
{
	*cc = (struct roce_cc){.cfg = cfg};
	if (cfg->ops)
		cfg->ops->init(cc);
}

/* ---- pacing ---- */

void roce_cc_set_rate(struct roce_cc *cc, uint32_t kbit_per_s, roce_ns_t at, bool keeps_gap)
{
	if (!kbit_per_s)
		cc->pace = (struct roce_pace){0};
	else if (cc->kbit_per_s && !keeps_gap)
		roce_pace_change(&cc->pace, cc->kbit_per_s, kbit_per_s, at);
	else
		cc->pace.rest = 0; /* in parts of another rate */
	cc->kbit_per_s = kbit_per_s;
}

roce_ns_t roce_cc_next_send(struct roce_cc *cc, roce_ns_t now)
{
	const struct roce_cc_config *cfg = cc->cfg;
	roce_ns_t next, change;

	cfg->ops->advance(cc, now);
	if (!cc->kbit_per_s || cc->pace.passed_at <= now + cfg->burst_ns)
		return now;
	next = cc->pace.passed_at - cfg->burst_ns;
	/* A higher rate may let it go earlier. */
	change = cfg->ops->next_change(cc);
	return change < next ? change : next;
}

void roce_cc_on_send(struct roce_cc *cc, uint32_t bytes, roce_ns_t now)
{
	const struct roce_cc_config *cfg = cc->cfg;
	struct roce_pace_config rate = {0};

	cfg->ops->advance(cc, now);
	rate.kbit_per_s = cc->kbit_per_s;
	roce_pace_on_send(&cc->pace, &rate, bytes, now > cfg->late_ns ? now - cfg->late_ns : 0);
	cfg->ops->on_send(cc, bytes, now);
}

void roce_cc_on_cnp(struct roce_cc *cc, roce_ns_t now)
{
	cc->cfg->ops->advance(cc, now);
	cc->cfg->ops->on_cnp(cc, now);
}

uint32_t roce_cc_rate(struct roce_cc *cc, roce_ns_t now)
{
	cc->cfg->ops->advance(cc, now);
	return cc->kbit_per_s ? cc->kbit_per_s : cc->cfg->line_kbit_per_s;
}

/* ---- by name ---- */

static bool is_named(const char *name, const char *text, size_t length)
{
	return strlen(name) == length && memcmp(name, text, length) == 0;
}

const struct roce_cc_ops *roce_cc_find(const char *name, size_t length)
{
	for (size_t i = 0; i < CONTROLLERS; i++)
		if (is_named(controllers[i]->name, name, length))
			return controllers[i];
	return NULL;
}

const struct roce_cc_set *roce_cc_find_set(const struct roce_cc_ops *ops, const char *name,
					   size_t length)
{
	for (uint32_t i = 0; i < ops->set_count; i++)
		if (is_named(ops->sets[i].name, name, length))
			return &ops->sets[i];
	return NULL;
}

enum roce_cc_set_result roce_cc_set_param(const struct roce_cc_ops *ops,
					  struct roce_cc_params *params, const char *name,
					  size_t length, uint64_t value,
					  const struct roce_cc_param **out_param)
{
	for (uint32_t i = 0; i < ops->param_count; i++) {
		const struct roce_cc_param *p = &ops->params[i];

		if (!is_named(p->name, name, length))
			continue;
		*out_param = p;
		if (value < p->min || value > p->max)
			return ROCE_CC_SET_RANGE;
		params->v[i] = (uint32_t)value;
		return ROCE_CC_SET_OK;
	}
	return ROCE_CC_SET_UNKNOWN;
}
