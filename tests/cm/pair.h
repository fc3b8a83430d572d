/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two hosts on a perfect wire for dialogues of the connection manager, and the way to each stage of
 * a connection.
 */
#ifndef TESTS_CM_PAIR_H
#define TESTS_CM_PAIR_H

#include "host.h"

#define A_QPN 0x010029u
#define B_QPN 0x02004au

struct pair {
	struct host a; /* active */
	struct host b; /* passive, listens */
	struct roce_cm_listener *listener;
	struct roce_cm_id *active;
	struct roce_cm_id *passive;
	roce_ns_t now;
};

/* Host b listens for this type at HOST_PORT. */
void pair_init(struct pair *p, enum roce_cm_qp_type type);
void pair_fini(struct pair *p);
void pair_exchange(struct pair *p);

/* From nothing up to the CONNECT_REQUEST, the CONNECT_RESPONSE, the ESTABLISHED of RC. */
void pair_request(struct pair *p);
void pair_respond(struct pair *p);
void pair_establish(struct pair *p);

/* Lets time pass until nothing is due any more; packets are exchanged, or lost when `is_cut`. */
void pair_run(struct pair *p, bool is_cut);

#endif
