/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The local addresses of the namespace, as the connection manager needs them: which exist (a
 * wildcard listener serves all), which device each belongs to, that device's GUID. Read anew when
 * netlink says that something changed.
 */
#ifndef ROCE_DAEMON_CM_LOCAL_H
#define ROCE_DAEMON_CM_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

#include "control/address.h"

#define ROCE_CM_LOCALS_MAX 512

struct roce_cm_local {
	struct roce_address address; /* ifindex only when it is link-local */
	uint32_t ifindex;
	uint64_t guid;
};

struct roce_cm_locals {
	int netlink_fd;		/* readable: something has changed; -1: cannot be watched */
	uint64_t fallback_guid; /* for an address that is not (yet) here */
	uint32_t count;
	struct roce_cm_local local[ROCE_CM_LOCALS_MAX];
};

/* Works without netlink: then the table is what it was at this moment. */
void roce_cm_locals_init(struct roce_cm_locals *l);
void roce_cm_locals_fini(struct roce_cm_locals *l);

/* After netlink_fd became readable. */
void roce_cm_locals_refresh(struct roce_cm_locals *l);

/* NULL: no such address here. 127.0.0.2 and the like are found as the loopback device's. */
const struct roce_cm_local *roce_cm_locals_find(const struct roce_cm_locals *l,
						const struct roce_address *a);

#endif
