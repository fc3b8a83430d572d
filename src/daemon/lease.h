/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which receive-queue slot belongs to whom. Slots 1 to 254 are the top byte of the QP numbers that
 * a process uses, so a freed slot rests: packets for its former holder may still be under way. The
 * one that has been free for longest is leased first, which gives each the longest rest that the
 * demand allows. A pure table: no clock, no sockets; called by session.c and server.c.
 */
#ifndef ROCE_DAEMON_LEASE_H
#define ROCE_DAEMON_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ns.h"

#define ROCE_LEASE_SLOT_MAX 254

struct roce_lease_entry {
	bool is_held;
	uint32_t holder;   /* the server's number of the client; 0: it has not come back yet */
	uint64_t instance; /* the client's secret, the proof of a claim */
	uint64_t freed;	   /* order of release; 0 never used */
};

struct roce_lease_table {
	struct roce_lease_entry lease[ROCE_LEASE_SLOT_MAX + 1]; /* [0] is the daemon's own */
	uint64_t release_count;
	unsigned held_count;
};

void roce_lease_table_init(struct roce_lease_table *t);

/* -EUSERS: all are held. */
int roce_lease_table_take(struct roce_lease_table *t, uint32_t holder, uint64_t instance,
			  uint8_t *out_slot);

/*
 * A client that comes back takes up its slot: it is free, or held for the same instance. -EBUSY:
 * somebody else has it.
 */
int roce_lease_table_claim(struct roce_lease_table *t, uint8_t slot, uint32_t holder,
			   uint64_t instance);

void roce_lease_table_release(struct roce_lease_table *t, uint8_t slot);

bool roce_lease_table_is_holder(const struct roce_lease_table *t, uint8_t slot, uint32_t holder);

#endif
