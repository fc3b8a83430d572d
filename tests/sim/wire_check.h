/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one direction of a connection may say on the wire, checked packet by packet as it is sent
 * and delivered, without a look into the transports:
 *   requester  new PSNs without a gap, message packets in order; a retransmission starts at the
 *              oldest unacknowledged PSN and repeats what was sent; a READ retry asks for a suffix;
 *              no more READs and atomics on their way than agreed; silence during an RNR wait;
 *   responder  takes requests in PSN order only; never acknowledges what it has not taken; answers
 *              in PSN order, an ACK never before an older READ's responses; replays only when
 *              asked; one sequence NAK for each expected PSN; MSN counts finished messages.
 */
#ifndef TESTS_SIM_WIRE_CHECK_H
#define TESTS_SIM_WIRE_CHECK_H

#include "sim/link.h"

struct sim_run;

struct sim_wire_pkt {
	struct roce_headers hdr; /* as first sent */
	uint64_t payload_hash;
	uint32_t payload_len;
	uint32_t span;	    /* PSNs; of a READ the number of responses */
	uint32_t owner;	    /* index of the READ that these response PSNs belong to, or own index */
	uint32_t msn;	    /* messages finished once this packet was taken; 0 before */
	uint32_t responded; /* READ, atomic: responses sent at least once */
	uint32_t replay_next; /* READ, atomic: next response of a replay, as an index */
	bool is_answered;     /* READ, atomic: last response taken by the requester */
};

struct sim_wire {
	struct sim_run *run;
	uint32_t conn;
	unsigned int from; /* the requester's host */
	uint32_t first_psn;
	uint32_t mtu;
	uint32_t max_rd_atomic;

	struct sim_wire_pkt *pkts; /* by PSN - first_psn */
	uint32_t capacity;
	uint32_t sent;	      /* PSNs used so far */
	uint32_t cursor;      /* where the requester goes on */
	uint32_t acked;	      /* oldest index that the requester must still wait for */
	uint32_t outstanding; /* READs and atomics sent and not answered in full */
	roce_ns_t rnr_until_ns;
	uint32_t rnr_index;

	uint32_t taken; /* index that the responder expects */
	uint32_t msn;
	uint32_t responded_read; /* index of the oldest READ or atomic with responses never sent */
	uint32_t nak_index;	 /* expected index for which a sequence NAK was sent; UINT32_MAX */
	uint64_t retransmitted;
};

void sim_wire_init(struct sim_wire *w, struct sim_run *run, uint32_t conn, unsigned int from);
void sim_wire_fini(struct sim_wire *w);

/* A request (sent by w->from) or a response (sent by the other host) of this direction. */
void sim_wire_on_request(struct sim_wire *w, enum roce_link_fate fate,
			 const struct roce_link_pkt *pkt, enum roce_verdict verdict);
void sim_wire_on_response(struct sim_wire *w, enum roce_link_fate fate,
			  const struct roce_link_pkt *pkt, enum roce_verdict verdict);

#endif
