/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An open device as one user of it sees it: the asynchronous events, and the objects that must
 * leave the transport when the context is closed under them.
 *
 * A context belongs to the process that opened it. In a forked child its calls are refused, and
 * nothing of the shared state is touched: the parent's threads may have held any lock.
 */
#ifndef ROCE_VERBS_CONTEXT_H
#define ROCE_VERBS_CONTEXT_H

#include "verbs/device.h"
#include "verbs/events.h"

/* X(name, value of enum ibv_event_type) */
#define ROCE_PORT_EVENTS(X)                           \
	X(GID_CHANGE, 18) /* IBV_EVENT_GID_CHANGE */  \
	X(ACTIVE, 9)	  /* IBV_EVENT_PORT_ACTIVE */ \
	X(ERR, 10)	  /* IBV_EVENT_PORT_ERR */    \
	X(FATAL, 8)	  /* IBV_EVENT_DEVICE_FATAL */

enum roce_port_event {
#define X(name, type) ROCE_PORT_##name,
	ROCE_PORT_EVENTS(X)
#undef X
		ROCE_PORT_EVENT_COUNT,
};

struct roce_context {
	struct roce_device *dev;
	struct roce_list link; /* dev->contexts */
	struct roce_events async;
	struct roce_event_source port_events[ROCE_PORT_EVENT_COUNT]; /* one each: they keep order */
	struct roce_list qps;					     /* struct roce_verbs_qp */
	struct roce_list mrs;					     /* struct roce_verbs_mr */
	struct roce_list mws;					     /* struct roce_verbs_mw */
	struct roce_list srqs;					     /* struct roce_verbs_srq */
	struct roce_list cqs;					     /* struct roce_verbs_cq */
	uint32_t pd_count; /* the device's numbers fall by these when it is closed */
	uint32_t ah_count;
	uint32_t fork_generation;
};

/* `owner` is what async events of the port name. 0 or -errno. */
int roce_context_init(struct roce_context *ctx, struct roce_device *dev, void *owner);

/* The same, but its events have no descriptor (events.h), so that it cannot fail. */
void roce_context_init_mute(struct roce_context *ctx, struct roce_device *dev, void *owner);

/* Queue pairs and regions that are still there leave the transport; their storage stays with the
 * program, which may still hold pointers to it. */
void roce_context_fini(struct roce_context *ctx);

/* Are we in a child of the process that opened it? */
bool roce_context_is_forked(const struct roce_context *ctx);

#endif
