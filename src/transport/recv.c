/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where receive WQEs come from: the QP's own queue, or a shared one. The WQE in hand is the one
 * that the responder fills: the head of the own queue, which stays in its slot until it completes,
 * or a copy of what was taken from the SRQ, since others take theirs meanwhile.
 */
#include "transport/roles.h"

#include "base/assert.h"
#include "base/marks.h"
#include "wq/sge.h"

bool roce_recv_is_available(const struct roce_qp *qp)
{
	if (!qp->srq)
		return !roce_recv_queue_is_empty(&qp->rq);
	return qp->is_held || !roce_recv_queue_is_empty(&qp->srq->rq);
}

bool roce_recv_is_in_hand(const struct roce_qp *qp)
{
	return qp->srq ? qp->is_held : !roce_recv_queue_is_empty(&qp->rq);
}

struct roce_recv_wqe *roce_recv_take(struct roce_qp *qp)
{
	if (!qp->srq)
		return roce_recv_queue_is_empty(&qp->rq) ? NULL : roce_recv_queue_head(&qp->rq);
	if (!qp->is_held)
		qp->is_held = roce_srq_take(qp->srq, qp->cfg.held_storage);
	return qp->is_held ? qp->cfg.held_storage : NULL;
}

/* Takes the WQE in hand off; its wr_id. */
uint64_t roce_recv_release(struct roce_qp *qp)
{
	if (qp->srq) {
		ROCE_ASSERT(qp->is_held);
		qp->is_held = false;
		return qp->cfg.held_storage->wr_id;
	}
	return roce_recv_queue_head(&qp->rq)->wr_id;
}

static const struct roce_pd *recv_pd(const struct roce_qp *qp)
{
	return qp->srq ? qp->srq->pd : qp->cfg.pd;
}

enum roce_wc_status roce_recv_place(struct roce_qp *qp, uint64_t offset, const uint8_t *data,
				    uint32_t length)
{
	const struct roce_transport *t = qp->t;
	const struct roce_recv_wqe *wqe = roce_recv_take(qp);
	struct roce_sge_cursor c;

	if (offset + length > wqe->length)
		return ROCE_MARKED(recv_too_small, ROCE_WC_LOC_LEN_ERR);
	c = roce_sge_seek(wqe->sge, wqe->sge_count, offset);
	while (length) {
		const struct roce_sge *sge = &wqe->sge[c.index];
		uint32_t part = sge->length - c.skip;
		struct roce_mem_place to;

		if (part > length)
			part = length;
		if (part && roce_mem_check_local(&t->keys, recv_pd(qp), (roce_key_t){sge->lkey},
						 sge->addr + c.skip, part, ROCE_ACCESS_LOCAL_WRITE,
						 &to) != ROCE_MEM_OK)
			return ROCE_MARKED(recv_key, ROCE_WC_LOC_PROT_ERR);
		if (part && data) {
			if (to.ptr != ROCE_MEM_NOWHERE &&
			    t->cfg.mem_ops->store(t->cfg.ctx, &to, data, part))
				return ROCE_MARKED(recv_fault, ROCE_WC_LOC_PROT_ERR);
			data += part;
		}
		length -= part;
		c.index++;
		c.skip = 0;
	}
	return ROCE_WC_SUCCESS;
}
