/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting work requests: what the local caller gets wrong is refused here with a reason; what only
 * shows when the request is executed (keys, ranges) becomes an error completion later.
 */
#include "transport/roles.h"

#include "base/marks.h"
#include "wq/sge.h"

#include <string.h>

#define MESSAGE_BYTES_MAX (UINT64_C(1) << 31)

/* What each transport can carry (IBTA table of operations by service type). */
static bool is_opcode_supported(const struct roce_qp *qp, uint8_t opcode)
{
	switch (opcode) {
	case ROCE_WR_SEND:
	case ROCE_WR_SEND_WITH_IMM:
		return qp->cfg.type != ROCE_QP_XRC_TGT;
	case ROCE_WR_RDMA_WRITE:
	case ROCE_WR_RDMA_WRITE_WITH_IMM:
		return qp->cfg.type == ROCE_QP_UC || qp->cfg.type == ROCE_QP_RC ||
		       qp->cfg.type == ROCE_QP_XRC_INI;
	case ROCE_WR_LOCAL_INV:
	case ROCE_WR_BIND_MW:
		return qp->cfg.type == ROCE_QP_UC || qp->cfg.type == ROCE_QP_RC ||
		       qp->cfg.type == ROCE_QP_XRC_INI;
	default:
		break;
	}
	if (qp->cfg.type != ROCE_QP_RC && qp->cfg.type != ROCE_QP_XRC_INI)
		return false;
	switch (opcode) {
	case ROCE_WR_SEND_WITH_INV:
	case ROCE_WR_ATOMIC_WRITE:
	case ROCE_WR_RDMA_READ:
	case ROCE_WR_ATOMIC_CMP_AND_SWP:
	case ROCE_WR_ATOMIC_FETCH_AND_ADD:
		return true;
	default:
		return false;
	}
}

static enum roce_post_result check_send(const struct roce_qp *qp, const struct roce_send_wr *wr,
					uint64_t *out_length)
{
	uint64_t length;
	bool is_atomic = wr->opcode == ROCE_WR_ATOMIC_CMP_AND_SWP ||
			 wr->opcode == ROCE_WR_ATOMIC_FETCH_AND_ADD;

	if (qp->attr.state != ROCE_QP_RTS && qp->attr.state != ROCE_QP_SQD &&
	    qp->attr.state != ROCE_QP_SQE && qp->attr.state != ROCE_QP_ERR)
		return ROCE_MARKED(post_send_state, ROCE_POST_BAD_STATE);
	if (!is_opcode_supported(qp, wr->opcode))
		return ROCE_MARKED(post_send_opcode, ROCE_POST_BAD_OPCODE);
	if (wr->sge_count > qp->sq.max_sge)
		return ROCE_MARKED(post_send_sge, ROCE_POST_TOO_MANY_SGE);
	length = roce_sge_total(wr->sge, wr->sge_count);
	*out_length = length;
	if ((wr->flags & ROCE_SEND_INLINE) &&
	    ((roce_wr_is_read_or_atomic(wr->opcode) && wr->opcode != ROCE_WR_ATOMIC_WRITE) ||
	     length > qp->sq.max_inline))
		return ROCE_MARKED(post_send_inline, ROCE_POST_BAD_INLINE);
	if (qp->cfg.type == ROCE_QP_UD && !wr->path)
		return ROCE_MARKED(post_send_path, ROCE_POST_BAD_PATH);
	if (wr->opcode == ROCE_WR_BIND_MW && !wr->bind)
		return ROCE_MARKED(post_send_bind, ROCE_POST_BAD_OPCODE);
	if (wr->opcode == ROCE_WR_ATOMIC_WRITE && length != 8)
		return ROCE_MARKED(post_send_atomic_write, ROCE_POST_BAD_LENGTH);
	if (length > MESSAGE_BYTES_MAX || (is_atomic && length < 8))
		return ROCE_MARKED(post_send_length, ROCE_POST_BAD_LENGTH);
	if (roce_send_queue_is_full(&qp->sq))
		return ROCE_MARKED(post_send_full, ROCE_POST_FULL);
	return ROCE_POST_OK;
}

static void copy_inline(struct roce_send_wqe *wqe, const struct roce_send_wr *wr)
{
	uint8_t *to = roce_send_wqe_inline(wqe);

	for (uint32_t i = 0; i < wr->sge_count; i++) {
		if (wr->sge[i].length == 0)
			continue;
		memcpy(to, (const void *)(uintptr_t)wr->sge[i].addr, wr->sge[i].length);
		to += wr->sge[i].length;
	}
}

/* A bind has none of the fields of a message: they hold its parameters. */
static void put_bind(struct roce_send_wqe *wqe, const struct roce_mem_bind *bind)
{
	wqe->rkey = bind->rkey;
	wqe->remote_addr = bind->addr;
	wqe->swap = bind->length;
	wqe->compare_add = bind->current.v;
	wqe->remote_qkey = bind->lkey;
	wqe->remote_qpn = bind->access;
}

enum roce_post_result roce_post_send(struct roce_qp *qp, const struct roce_send_wr *wr,
				     roce_ns_t now)
{
	uint64_t length = 0;
	enum roce_post_result result = check_send(qp, wr, &length);
	struct roce_send_wqe *wqe;

	if (result != ROCE_POST_OK)
		return result;
	wqe = roce_send_queue_at(&qp->sq, qp->sq.posted);
	wqe->wr_id = wr->wr_id;
	wqe->remote_addr = wr->remote_addr;
	wqe->compare_add = wr->compare_add;
	wqe->swap = wr->swap;
	wqe->length = length;
	if (qp->cfg.type == ROCE_QP_UD) {
		wqe->path = *wr->path;
		wqe->remote_qpn = wr->remote_qpn;
		wqe->remote_qkey = wr->remote_qkey;
		if (qp->sq.next == qp->sq.posted)
			roce_qp_set_class(qp, wr->path->sl);
	}
	wqe->remote_srqn = wr->remote_srqn;
	if (wr->opcode == ROCE_WR_BIND_MW)
		put_bind(wqe, wr->bind);
	else
		wqe->rkey = (roce_key_t){wr->rkey};
	wqe->imm_be = wr->imm_be;
	wqe->inv_rkey = (roce_key_t){wr->imm_be};
	wqe->opcode = wr->opcode;
	wqe->flags = wr->flags;
	wqe->is_signaled = qp->cfg.sq_sig_all || (wr->flags & ROCE_SEND_SIGNALED);
	wqe->status = ROCE_WC_SUCCESS;
	wqe->is_started = false;
	wqe->is_done = false;
	wqe->is_inline = (wr->flags & ROCE_SEND_INLINE) != 0;
	if (wqe->is_inline) {
		wqe->sge_count = 0;
		copy_inline(wqe, wr);
	} else {
		struct roce_sge *sge = roce_send_wqe_sges(wqe);

		wqe->sge_count = wr->sge_count;
		for (uint32_t i = 0; i < wr->sge_count; i++)
			sge[i] = wr->sge[i];
	}
	qp->sq.posted++;
	if (qp->attr.state == ROCE_QP_ERR || qp->attr.state == ROCE_QP_SQE) {
		ROCE_MARK(post_send_flushed);
		roce_qp_complete_send(qp, ROCE_WC_WR_FLUSH_ERR, now);
		qp->sq.next = qp->sq.posted;
	} else {
		roce_qp_mark_ready(qp);
	}
	return ROCE_POST_OK;
}

enum roce_post_result roce_post_recv(struct roce_qp *qp, uint64_t wr_id, const struct roce_sge *sge,
				     uint32_t sge_count, roce_ns_t now)
{
	if (qp->attr.state == ROCE_QP_RESET || qp->cfg.srq || qp->cfg.type == ROCE_QP_XRC_INI ||
	    qp->cfg.type == ROCE_QP_XRC_TGT)
		return ROCE_MARKED(post_recv_state, ROCE_POST_BAD_STATE);
	if (sge_count > qp->rq.max_sge)
		return ROCE_MARKED(post_recv_sge, ROCE_POST_TOO_MANY_SGE);
	if (!roce_recv_queue_push(&qp->rq, wr_id, sge, sge_count))
		return ROCE_MARKED(post_recv_full, ROCE_POST_FULL);
	if (qp->attr.state == ROCE_QP_ERR) {
		ROCE_MARK(post_recv_flushed);
		roce_qp_complete_recv(qp,
				      &(struct roce_cqe){.status = ROCE_WC_WR_FLUSH_ERR,
							 .opcode = ROCE_WC_RECV,
							 .timestamp_ns = now},
				      false);
	}
	return ROCE_POST_OK;
}
