/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posting lists of work requests. Each request is converted on the stack and handed to the
 * transport at once, all under one lock; the first that is refused stops the list and is named
 * through bad_wr. What was posted before it stays posted and is sent.
 */
#include "compat/libibverbs/compat.h"

#define SEND_FLAGS_KNOWN \
	((unsigned int)(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE))

/* A scatter/gather list is passed on as it is. */
_Static_assert(sizeof(struct ibv_sge) == sizeof(struct roce_sge), "sge size");
_Static_assert(offsetof(struct ibv_sge, addr) == offsetof(struct roce_sge, addr), "sge.addr");
_Static_assert(offsetof(struct ibv_sge, length) == offsetof(struct roce_sge, length), "sge.length");
_Static_assert(offsetof(struct ibv_sge, lkey) == offsetof(struct roce_sge, lkey), "sge.lkey");

/* Members of the request's union by transport and operation. */
static void fill_target(const struct roce_qp *qp, const struct ibv_send_wr *wr,
			struct roce_send_wr *out)
{
	if (qp->cfg.type == ROCE_QP_UD) {
		out->path = wr->wr.ud.ah ? &compat_ah_of(wr->wr.ud.ah)->rah.path : NULL;
		out->remote_qpn = wr->wr.ud.remote_qpn & ROCE_QPN_MASK;
		out->remote_qkey = wr->wr.ud.remote_qkey;
		return;
	}
	if (qp->cfg.type == ROCE_QP_XRC_INI)
		out->remote_srqn = wr->qp_type.xrc.remote_srqn & ROCE_QPN_MASK;
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		out->remote_addr = wr->wr.atomic.remote_addr;
		out->rkey = wr->wr.atomic.rkey;
		out->compare_add = wr->wr.atomic.compare_add;
		out->swap = wr->wr.atomic.swap;
	} else {
		out->remote_addr = wr->wr.rdma.remote_addr;
		out->rkey = wr->wr.rdma.rkey;
	}
}

static enum roce_post_result post_one(struct roce_verbs_qp *vqp, const struct ibv_send_wr *wr,
				      roce_ns_t now)
{
	struct roce_qp *qp = &vqp->qp;
	struct roce_mem_bind bind;
	struct roce_send_wr out = {
		.wr_id = wr->wr_id,
		.sge = (const struct roce_sge *)wr->sg_list,
		.sge_count = (uint32_t)wr->num_sge,
		.opcode = (uint8_t)wr->opcode,
		.flags = (uint8_t)wr->send_flags,
		.imm_be = wr->imm_data,
	};

	if ((unsigned int)wr->opcode > 0xff)
		return ROCE_POST_BAD_OPCODE;
	if (wr->send_flags & ~SEND_FLAGS_KNOWN)
		return ROCE_POST_BAD_FLAGS;
	/* Before anything reads the list; a negative number is a large one here. */
	if (out.sge_count > qp->sq.max_sge)
		return ROCE_POST_TOO_MANY_SGE;
	if (wr->opcode == IBV_WR_BIND_MW) {
		if (!compat_may_bind(wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info))
			return ROCE_POST_BAD_OPCODE;
		compat_fill_bind(&bind, wr->bind_mw.mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
		out.bind = &bind;
		out.sge_count = 0;
		return roce_post_send(qp, &out, now);
	}
	fill_target(qp, wr, &out);
	if (qp->cfg.type == ROCE_QP_UD)
		return roce_verbs_qp_post_datagram(vqp, &out, now);
	return roce_post_send(qp, &out, now);
}

int compat_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct roce_verbs_qp *vqp = compat_vqp_of(qp);
	enum roce_post_result result = ROCE_POST_OK;
	roce_ns_t now;

	if (roce_context_is_forked(vqp->ctx)) {
		*bad_wr = wr;
		return COMPAT_FORKED;
	}
	now = roce_verbs_qp_lock(vqp);
	for (; wr; wr = wr->next) {
		result = post_one(vqp, wr, now);
		if (result != ROCE_POST_OK)
			break;
	}
	roce_verbs_qp_unlock_send(vqp);
	if (result == ROCE_POST_OK)
		return 0;
	*bad_wr = wr;
	return roce_verbs_qp_refuse_post(vqp, "post_send", result,
					 result == ROCE_POST_BAD_FLAGS
						 ? wr->send_flags & ~SEND_FLAGS_KNOWN
						 : (uint32_t)wr->opcode,
					 wr->num_sge);
}

int compat_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct roce_verbs_qp *vqp = compat_vqp_of(qp);
	enum roce_post_result result = ROCE_POST_OK;
	roce_ns_t now;

	if (roce_context_is_forked(vqp->ctx)) {
		*bad_wr = wr;
		return COMPAT_FORKED;
	}
	now = roce_verbs_qp_lock(vqp);
	for (; wr; wr = wr->next) {
		if (wr->num_sge < 0)
			result = ROCE_POST_TOO_MANY_SGE;
		else
			result = roce_post_recv(&vqp->qp, wr->wr_id,
						(const struct roce_sge *)wr->sg_list,
						(uint32_t)wr->num_sge, now);
		if (result != ROCE_POST_OK)
			break;
	}
	roce_verbs_qp_unlock_recv(vqp);
	if (result == ROCE_POST_OK)
		return 0;
	*bad_wr = wr;
	return roce_verbs_qp_refuse_post(vqp, "post_recv", result, 0, wr->num_sge);
}
