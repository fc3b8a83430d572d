/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion control of one queue pair: a controller decides at which rate its packets may leave,
 * from what the network says. What all controllers have in common is here: pacing, and parameters
 * by name. A controller is one file with a struct roce_cc_ops, and its line in ROCE_CC_LIST.
 *
 * There are no timers: a controller is advanced to `now` when it is asked or told something, and
 * the result does not depend on how often that is. The owner asks roce_cc_next_send() before each
 * packet, reports each with roce_cc_on_send(), and asks again at the time that it was given.
 */
#ifndef ROCE_CC_CC_H
#define ROCE_CC_CC_H

#include "base/ns.h"
#include "cc/notify.h"
#include "cc/pace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(object, name for users) */
#define ROCE_CC_LIST(X)	    X(roce_cc_dcqcn, "dcqcn")

#define ROCE_CC_PARAMS_MAX  32u
#define ROCE_CC_STATE_WORDS 8u

/* Values of a controller's parameters, in the order of its table. */
struct roce_cc_params {
	uint32_t v[ROCE_CC_PARAMS_MAX];
};

struct roce_cc_param {
	const char *name;
	const char *unit;
	uint32_t min;
	uint32_t max;
	const char *text;
};

/* Values that belong together, of one kind of adapter. */
struct roce_cc_set {
	const char *name;
	const char *text;
	struct roce_cc_params params;
};

struct roce_cc;

struct roce_cc_ops {
	const char *name;
	const struct roce_cc_param *params;
	uint32_t param_count;
	const struct roce_cc_set *sets; /* the first one is the default */
	uint32_t set_count;

	/* cc->state is all zero. */
	void (*init)(struct roce_cc *cc);
	/* Everything that time alone does until `now`. */
	void (*advance)(struct roce_cc *cc, roce_ns_t now);
	/* These two find the controller advanced. */
	void (*on_send)(struct roce_cc *cc, uint32_t bytes, roce_ns_t now);
	void (*on_cnp)(struct roce_cc *cc, roce_ns_t now);
	/* When the rate may rise by itself next, after the time it was advanced to. */
	roce_ns_t (*next_change)(const struct roce_cc *cc);
	/* What the receiving side does, by the same parameters. */
	void (*notify_config)(const struct roce_cc_params *params, struct roce_notify_config *out);
};

/* Shared by all queue pairs of a port, and longer-lived. */
struct roce_cc_config {
	const struct roce_cc_ops *ops; /* NULL: no control */
	struct roce_cc_params params;
	uint32_t line_kbit_per_s; /* what the port can send; not 0 */
	roce_ns_t burst_ns;	  /* what leaves in it may leave back to back */
	roce_ns_t late_ns;	  /* lateness of the owner that is made up for */
};

struct roce_cc {
	const struct roce_cc_config *cfg;
	uint32_t kbit_per_s; /* 0: not limited; written by roce_cc_set_rate() alone */
	struct roce_pace pace;
	uint64_t state[ROCE_CC_STATE_WORDS]; /* the controller's */
};

void roce_cc_init(struct roce_cc *cc, const struct roce_cc_config *cfg);

static inline bool roce_cc_is_on(const struct roce_cc *cc)
{
	return cc->cfg && cc->cfg->ops;
}

/* When to ask again; at or before `now`: a packet may go at once. */
roce_ns_t roce_cc_next_send(struct roce_cc *cc, roce_ns_t now);
/* A packet of so many bytes leaves. */
void roce_cc_on_send(struct roce_cc *cc, uint32_t bytes, roce_ns_t now);
/* The network, by way of the receiver, says that there is congestion. */
void roce_cc_on_cnp(struct roce_cc *cc, roce_ns_t now);
/* What the queue pair may send now; the line rate while it is not limited. */
uint32_t roce_cc_rate(struct roce_cc *cc, roce_ns_t now);

/* For controllers: the limit from `at` on, 0 for none. `keeps_gap`: the packet that left last still
 * counts at the rate of then. */
void roce_cc_set_rate(struct roce_cc *cc, uint32_t kbit_per_s, roce_ns_t at, bool keeps_gap);

/* ---- by name ---- */

/* NULL when there is none of that name. */
const struct roce_cc_ops *roce_cc_find(const char *name, size_t length);
const struct roce_cc_set *roce_cc_find_set(const struct roce_cc_ops *ops, const char *name,
					   size_t length);

enum roce_cc_set_result {
	ROCE_CC_SET_OK,
	ROCE_CC_SET_UNKNOWN,
	ROCE_CC_SET_RANGE,
};

/* Unless unknown, *out_param is the one that was named. */
enum roce_cc_set_result roce_cc_set_param(const struct roce_cc_ops *ops,
					  struct roce_cc_params *params, const char *name,
					  size_t length, uint64_t value,
					  const struct roce_cc_param **out_param);

#define X(object, name) extern const struct roce_cc_ops object;
ROCE_CC_LIST(X)
#undef X

#endif
