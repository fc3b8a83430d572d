/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that were executed before: their answer was lost, or is late. Nothing is executed again;
 * the answer is given again if it is really the same request, and what does not fit is dropped
 * silently (IBTA: a duplicate is never refused).
 */
#include "transport/responder.h"

#include "base/marks.h"
#include "transport/segment.h"

/* Never executed again. The ACK must not pass a READ or atomic whose response may be lost. */
static enum roce_verdict on_duplicate_send_or_write(struct roce_request *rq)
{
	struct roce_responder *resp = &rq->qp->resp;
	const struct roce_resp_resource *after;

	if (!rq->pkt->hdr.ack_req)
		return ROCE_RX_DUPLICATE;
	after = roce_resp_resource_after(rq->qp, rq->pkt->hdr.psn);
	if (after)
		ROCE_MARK(responder_duplicate_before_read);
	resp->dup_ack_psn = roce_psn_add(after ? after->first_psn : resp->expected_psn,
					 ROCE_PSN_MASK); /* the PSN before it */
	resp->is_dup_ack_pending = true;
	roce_qp_mark_ready(rq->qp);
	return ROCE_RX_DUPLICATE;
}

/* What is asked for again comes in order: a PSN that is not beyond the one before begins the next
 * round. If that begins where the last one did, the last one brought nothing. */
static void note_read_again(struct roce_request *rq)
{
	struct roce_responder *resp = &rq->qp->resp;
	roce_psn_t psn = rq->pkt->hdr.psn;
	bool is_same_round = resp->fruitless && roce_psn_diff(psn, resp->again_last) > 0;

	resp->again_last = psn;
	if (is_same_round)
		return;
	if (!roce_psn_is_equal(psn, resp->again_first))
		resp->fruitless = 0;
	resp->again_first = psn;
	roce_peer_on_fruitless(rq->qp, &resp->fruitless, rq->now);
}

/* The rest of a saved READ is read and sent again, if it is really the same request. */
static enum roce_verdict on_duplicate_read(struct roce_request *rq)
{
	struct roce_qp *qp = rq->qp;
	const struct roce_headers *hdr = &rq->pkt->hdr;
	struct roce_resp_resource *res = roce_resp_resource_find(qp, hdr->psn);
	uint64_t skip;
	struct roce_mem_place place;

	if (!res)
		return ROCE_MARKED(responder_read_forgotten, ROCE_RX_DUPLICATE_MISMATCH);
	if (res->is_atomic || res->rkey.v != hdr->rkey.v)
		return ROCE_MARKED(responder_read_other_key, ROCE_RX_DUPLICATE_MISMATCH);
	skip = (uint64_t)((hdr->psn.v - res->first_psn.v) & ROCE_PSN_MASK) * qp->mtu;
	if (hdr->va != res->va + skip || hdr->dma_len != res->length - skip)
		return ROCE_MARKED(responder_read_other_range, ROCE_RX_DUPLICATE_MISMATCH);
	if (hdr->dma_len &&
	    roce_mem_check_remote(&qp->t->keys, res->pd, qp, hdr->rkey, hdr->va, hdr->dma_len,
				  ROCE_ACCESS_REMOTE_READ, &place) != ROCE_MEM_OK)
		return ROCE_MARKED(responder_read_again_key, ROCE_RX_DUPLICATE_MISMATCH);
	note_read_again(rq);
	res->next_psn = hdr->psn;
	res->is_restart = true;
	roce_resp_resource_set_pending(qp, res, true);
	roce_qp_mark_ready(qp);
	return ROCE_RX_DUPLICATE;
}

static enum roce_verdict on_duplicate_atomic(struct roce_request *rq)
{
	struct roce_resp_resource *res = roce_resp_resource_find(rq->qp, rq->pkt->hdr.psn);

	if (!res || !res->is_atomic)
		return ROCE_MARKED(responder_atomic_forgotten, ROCE_RX_DUPLICATE_MISMATCH);
	roce_resp_resource_set_pending(rq->qp, res, true);
	roce_qp_mark_ready(rq->qp);
	return ROCE_RX_DUPLICATE;
}

static enum roce_verdict on_duplicate_atomic_write(struct roce_request *rq)
{
	struct roce_resp_resource *res = roce_resp_resource_find(rq->qp, rq->pkt->hdr.psn);

	if (!res || res->is_atomic || res->length)
		return ROCE_MARKED(responder_atomic_write_forgotten, ROCE_RX_DUPLICATE_MISMATCH);
	res->next_psn = res->first_psn;
	res->is_restart = true;
	roce_resp_resource_set_pending(rq->qp, res, true);
	roce_qp_mark_ready(rq->qp);
	return ROCE_RX_DUPLICATE;
}

enum roce_verdict roce_request_answer_again(struct roce_request *rq)
{
	switch (rq->info->operation) {
	case ROCE_OPERATION_SEND:
	case ROCE_OPERATION_WRITE:
		return on_duplicate_send_or_write(rq);
	case ROCE_OPERATION_READ_REQUEST:
		return on_duplicate_read(rq);
	case ROCE_OPERATION_CMP_SWAP:
	case ROCE_OPERATION_FETCH_ADD:
		return on_duplicate_atomic(rq);
	case ROCE_OPERATION_ATOMIC_WRITE:
		return on_duplicate_atomic_write(rq);
	case ROCE_OPERATION_READ_RESPONSE:
	case ROCE_OPERATION_ACK:
	case ROCE_OPERATION_ATOMIC_ACK:
	case ROCE_OPERATION_FLUSH:
	case ROCE_OPERATION_CNP:
	case ROCE_OPERATION_RESYNC:
		break;
	}
	return ROCE_MARKED(responder_duplicate_op, ROCE_RX_DUPLICATE_MISMATCH);
}
