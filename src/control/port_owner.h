/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who else has UDP port 4791 in this network namespace, as /proc tells: what an error message names
 * when a socket cannot be bound, and how uroced sees that an earlier one has left sockets behind.
 *
 * Linux Soft-RoCE (the module rdma_rxe) is such a one: in the kernel it holds the port of the
 * wildcard address without sharing it, so no other socket gets it for any address. No process is
 * behind that socket, `ss -p` shows none, and the message must name it.
 */
#ifndef ROCE_CONTROL_PORT_OWNER_H
#define ROCE_CONTROL_PORT_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "control/address.h"

#define ROCE_SOFT_ROCE_MODULE "/sys/module/rdma_rxe"

struct roce_port_owner {
	uint32_t uid;
	bool is_wildcard; /* of all addresses */
};

/* False: /proc shows no socket that keeps others from the port of this address. */
bool roce_port_owner_find(const struct roce_gid *gid, struct roce_port_owner *out);

/* Whether it looks like Soft-RoCE's. `module`: ROCE_SOFT_ROCE_MODULE, there when it is loaded. */
bool roce_port_owner_is_soft_roce(const struct roce_port_owner *owner, const char *module);

/*
 * What to say then. Every text about a port that cannot be had, uroced's too, begins with START: it
 * is about the machine and no mistake of the program, so it is shown without being asked for.
 */
#define ROCE_PORT_OWNER_TEXT_START "UDP port 4791 "
extern const char roce_port_owner_soft_roce_text[];

/* Any socket of this user on the port. */
bool roce_port_owner_is_user(uint32_t uid);

#endif
