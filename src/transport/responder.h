/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One request on its way through the responder, and what its parts offer each other: resp_checks.c
 * decides whether it may be executed, responder.c executes it, resp_duplicate.c answers what was
 * executed before, resp_answer.c sends what is owed. Nothing but these four includes this.
 */
#ifndef ROCE_TRANSPORT_RESPONDER_H
#define ROCE_TRANSPORT_RESPONDER_H

#include "transport/roles.h"
#include "wire/aeth.h"

struct roce_request {
	struct roce_qp *qp;
	const struct roce_rx_pkt *pkt;
	const struct roce_opcode_info *info;
	roce_ns_t now;
	struct roce_mem_place place; /* behind the R_Key, where one was checked */
};

static inline bool roce_request_is_atomic(const struct roce_request *rq)
{
	return rq->info->operation == ROCE_OPERATION_CMP_SWAP ||
	       rq->info->operation == ROCE_OPERATION_FETCH_ADD;
}

static inline bool roce_request_is_start(const struct roce_request *rq)
{
	return roce_position_is_start(rq->info->position);
}

static inline bool roce_request_is_end(const struct roce_request *rq)
{
	return roce_position_is_end(rq->info->position);
}

/* ---- responder.c ---- */

/* Owes the peer a NAK; it acknowledges everything before `psn`. */
void roce_responder_owe_nak(struct roce_qp *qp, uint8_t syndrome, roce_psn_t psn);

/* Class C and A errors: NAK, the receive WQE in hand (or an async event) tells the program, ERR.
 * `recv_status` is SUCCESS where no receive WQE belongs to the message. Gives `verdict` back. */
enum roce_verdict roce_request_refuse(struct roce_request *rq, enum roce_nak code,
				      enum roce_wc_status recv_status, enum roce_async_event event,
				      enum roce_verdict verdict);
/* NAK invalid request; a SEND that breaks off takes its receive WQE with it. */
enum roce_verdict roce_request_refuse_invalid(struct roce_request *rq, enum roce_verdict verdict);

/* ---- resp_checks.c ---- */

/* ACCEPTED, or why not: then the peer has been given its NAK. */
enum roce_verdict roce_request_check(struct roce_request *rq);

/* ---- resp_duplicate.c ---- */

/* DUPLICATE: an answer is owed again, where one was asked for; DUPLICATE_MISMATCH: nothing is. */
enum roce_verdict roce_request_answer_again(struct roce_request *rq);

#endif
