/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports of the RDMA CM: who is bound where, per port space. The rules are those of Linux's rdma_cm,
 * which differ from those of sockets: a clash with a wildcard or loopback address is EADDRNOTAVAIL,
 * a clash of two specific addresses EADDRINUSE, and a listener must be alone even when all allow
 * the port to be shared. Storage of a binding is the caller's; the table only links it.
 */
#ifndef ROCE_DAEMON_PORT_TABLE_H
#define ROCE_DAEMON_PORT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "control/address.h"

#define ROCE_PORT_BUCKETS 1024u

struct roce_port_binding {
	struct roce_list link; /* of its bucket */
	uint16_t port_space;
	uint16_t port; /* 0: not bound */
	bool is_v6;
	struct roce_address address; /* zero GID: wildcard of the family */
	bool is_reuse_allowed;
	bool is_af_only; /* an IPv6 wildcard that leaves IPv4 alone; IPv4 always is */
};

struct roce_port_table {
	struct roce_list bucket[ROCE_PORT_BUCKETS];
	uint16_t ephemeral_first, ephemeral_last; /* what port 0 may become */
	uint16_t last_given;
};

void roce_port_table_init(struct roce_port_table *t, uint16_t ephemeral_first,
			  uint16_t ephemeral_last);

/*
 * Binds as *b says; port 0 becomes a free one, beginning at `random`. -EADDRINUSE, -EADDRNOTAVAIL
 * (also: no free port), -EACCES (below 1024, not privileged).
 */
int roce_port_table_bind(struct roce_port_table *t, struct roce_port_binding *b, bool is_privileged,
			 uint32_t random) __attribute__((warn_unused_result));

/* May it listen? -EADDRINUSE, -EADDRNOTAVAIL. */
int roce_port_table_check_listen(const struct roce_port_table *t, const struct roce_port_binding *b)
	__attribute__((warn_unused_result));

/* No harm when it is not bound. */
void roce_port_table_release(struct roce_port_binding *b);

#endif
