/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The notification point: the side that receives packets marked by a switch (ECN's CE) and tells
 * the sender. As with adapters, it tells at most once in an interval, which is counted for each
 * queue pair, for each destination, or for the whole port; what is marked in between is not told.
 */
#ifndef ROCE_CC_NOTIFY_H
#define ROCE_CC_NOTIFY_H

#include "base/ns.h"

#include <stdbool.h>
#include <stdint.h>

enum roce_notify_mode {
	ROCE_NOTIFY_OFF,
	ROCE_NOTIFY_CNP, /* a packet of its own */
	ROCE_NOTIFY_ACK, /* BECN in the next acknowledgement; the interval does not matter */
};

/* What the interval is counted for. */
enum roce_notify_scope {
	ROCE_NOTIFY_PER_QP,
	ROCE_NOTIFY_PER_DESTINATION,
	ROCE_NOTIFY_PER_PORT,
};

struct roce_notify_config {
	enum roce_notify_mode mode;
	enum roce_notify_scope scope;
	roce_ns_t interval_ns;
	uint8_t traffic_class; /* of CNPs: DSCP << 2 */
	uint8_t tx_class;      /* of CNPs: priority, 0 to 7 */
	bool is_with_nak;      /* a sequence NAK has a CNP for company, as ConnectX-5 does it */
};

struct roce_notify {
	roce_ns_t next_at;
};

/* A marked packet has come: is the sender to be told? */
static inline bool roce_notify_take(struct roce_notify *n, const struct roce_notify_config *cfg,
				    roce_ns_t now)
{
	if (now < n->next_at)
		return false;
	n->next_at = now + cfg->interval_ns;
	return true;
}

#endif
