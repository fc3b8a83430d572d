/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues, plain and XRC, and XRC domains.
 */
#include "compat/libibverbs/compat.h"

#include "verbs/refuse.h"

#include <fcntl.h>
#include <stdlib.h>

static struct ibv_srq *create_srq(struct ibv_pd *pd, const struct ibv_srq_attr *attr,
				  void *srq_context, struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	struct roce_context *ctx = compat_roce_of(pd->context);
	struct compat_srq *csrq;
	struct roce_srq_request req;
	int err;

	if (roce_context_is_forked(ctx))
		return compat_null(-COMPAT_FORKED);
	csrq = calloc(1, sizeof(*csrq));
	if (!csrq)
		return compat_null(-ENOMEM);
	req = (struct roce_srq_request){
		.pd = compat_rpd_of(pd),
		.max_wr = attr->max_wr,
		.max_sge = attr->max_sge,
		.limit = attr->srq_limit,
		.xrcd = xrcd ? compat_xrcd_of(xrcd)->rxrcd : NULL,
		.cq = cq ? &compat_cq_of(cq)->vcq : NULL,
		.allocator = compat_allocator_of(pd),
		.owner = csrq,
	};
	err = roce_verbs_srq_init(&csrq->vsrq, ctx, &req);
	if (err) {
		free(csrq);
		return compat_null(err);
	}
	compat_pd_hold(pd);
	csrq->srq.context = pd->context;
	csrq->srq.srq_context = srq_context;
	csrq->srq.pd = pd;
	csrq->srq.handle = compat_next_handle();
	pthread_mutex_init(&csrq->srq.mutex, NULL);
	pthread_cond_init(&csrq->srq.cond, NULL);
	return &csrq->srq;
}

static void attr_of(struct ibv_srq_attr *out, const struct roce_srq *srq)
{
	*out = (struct ibv_srq_attr){
		.max_wr = srq->rq.depth,
		.max_sge = srq->rq.max_sge,
		.srq_limit = srq->limit,
	};
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *srq_init_attr)
{
	struct ibv_srq *srq =
		create_srq(pd, &srq_init_attr->attr, srq_init_attr->srq_context, NULL, NULL);

	if (srq)
		attr_of(&srq_init_attr->attr, &compat_srq_of(srq)->vsrq.srq);
	return srq;
}

struct ibv_srq *compat_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr)
{
	const uint32_t known = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			       IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	enum ibv_srq_type type =
		attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE ? attr->srq_type : IBV_SRQT_BASIC;
	bool is_xrc = type == IBV_SRQT_XRC;
	struct ibv_srq *srq;

	(void)context;
	if (attr->comp_mask & ~known)
		return compat_null(
			roce_refuse(EOPNOTSUPP, "create_srq_ex: comp_mask 0x%x", attr->comp_mask));
	if (type != IBV_SRQT_BASIC && !is_xrc)
		return compat_null(roce_refuse(EOPNOTSUPP,
					       "create_srq_ex: srq_type %u is not "
					       "supported",
					       (unsigned int)type));
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD))
		return compat_null(roce_refuse(EINVAL, "create_srq_ex: no pd in comp_mask"));
	if (is_xrc && (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) ||
		       !(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ)))
		return compat_null(
			roce_refuse(EINVAL, "create_srq_ex: an XRC queue needs an xrcd and a cq"));
	srq = create_srq(attr->pd, &attr->attr, attr->srq_context, is_xrc ? attr->xrcd : NULL,
			 is_xrc ? attr->cq : NULL);
	if (srq)
		attr_of(&attr->attr, &compat_srq_of(srq)->vsrq.srq);
	return srq;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr, int srq_attr_mask)
{
	struct roce_verbs_srq *vsrq = &compat_srq_of(srq)->vsrq;
	const struct roce_srq_change change = {
		.is_size_given = srq_attr_mask & IBV_SRQ_MAX_WR,
		.max_wr = srq_attr->max_wr,
		.is_limit_given = srq_attr_mask & IBV_SRQ_LIMIT,
		.limit = srq_attr->srq_limit,
	};

	if (roce_context_is_forked(vsrq->ctx))
		return COMPAT_FORKED;
	if (srq_attr_mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT))
		return -roce_refuse(EINVAL, "modify_srq: mask 0x%x", (unsigned int)srq_attr_mask);
	return -roce_verbs_srq_change(vsrq, &change);
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr)
{
	struct roce_verbs_srq *vsrq = &compat_srq_of(srq)->vsrq;

	if (roce_context_is_forked(vsrq->ctx))
		return COMPAT_FORKED;
	pthread_mutex_lock(&vsrq->ctx->dev->lock);
	attr_of(srq_attr, &vsrq->srq);
	pthread_mutex_unlock(&vsrq->ctx->dev->lock);
	return 0;
}

int ibv_destroy_srq(struct ibv_srq *srq)
{
	struct compat_srq *csrq = compat_srq_of(srq);
	int err;

	if (roce_context_is_forked(csrq->vsrq.ctx))
		return COMPAT_FORKED;
	err = roce_verbs_srq_fini(&csrq->vsrq);
	if (err)
		return -err;
	compat_pd_drop(srq->pd);
	pthread_cond_destroy(&srq->cond);
	pthread_mutex_destroy(&srq->mutex);
	free(csrq);
	return 0;
}

int compat_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num)
{
	const struct roce_verbs_srq *vsrq = &compat_srq_of(srq)->vsrq;

	if (!vsrq->xrcd)
		return -roce_refuse(EINVAL, "get_srq_num: not an XRC queue");
	*srq_num = vsrq->number;
	return 0;
}

static int post_one(struct roce_srq *srq, const struct ibv_recv_wr *wr)
{
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > srq->rq.max_sge)
		return roce_refuse(EINVAL, "post_srq_recv: num_sge %d is not in 0..%u", wr->num_sge,
				   srq->rq.max_sge);
	if (!roce_recv_queue_push(&srq->rq, wr->wr_id, (const struct roce_sge *)wr->sg_list,
				  (uint32_t)wr->num_sge))
		return roce_refuse(ENOMEM, "post_srq_recv: the queue of %u is full", srq->rq.depth);
	return 0;
}

int compat_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct roce_verbs_srq *vsrq = &compat_srq_of(srq)->vsrq;
	int err = 0;

	if (roce_context_is_forked(vsrq->ctx)) {
		*bad_wr = wr;
		return COMPAT_FORKED;
	}
	pthread_mutex_lock(&vsrq->ctx->dev->lock);
	while (wr && !err) {
		err = post_one(&vsrq->srq, wr);
		if (!err)
			wr = wr->next;
	}
	pthread_mutex_unlock(&vsrq->ctx->dev->lock);
	if (err)
		*bad_wr = wr;
	return -err;
}

/* ---- XRC domains ---- */

struct ibv_xrcd *compat_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	const uint32_t needed = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	struct roce_context *ctx = compat_roce_of(context);
	struct compat_xrcd *xrcd;
	uint32_t flags = 0;
	int err;

	if (roce_context_is_forked(ctx))
		return compat_null(-COMPAT_FORKED);
	if ((attr->comp_mask & needed) != needed || (attr->comp_mask & ~needed))
		return compat_null(
			roce_refuse(EINVAL, "open_xrcd: comp_mask 0x%x, it must be fd and oflags",
				    attr->comp_mask));
	if (attr->oflags & O_CREAT)
		flags |= ROCE_XRCD_CREATE;
	if (attr->oflags & O_EXCL)
		flags |= ROCE_XRCD_EXCLUSIVE;
	xrcd = calloc(1, sizeof(*xrcd));
	if (!xrcd)
		return compat_null(-ENOMEM);
	err = roce_xrcd_open(ctx, attr->fd, flags, &xrcd->rxrcd);
	if (err) {
		free(xrcd);
		return compat_null(err);
	}
	xrcd->xrcd.context = context;
	return &xrcd->xrcd;
}

int compat_close_xrcd(struct ibv_xrcd *xrcd)
{
	int err;

	if (roce_context_is_forked(compat_roce_of(xrcd->context)))
		return COMPAT_FORKED;
	err = roce_xrcd_close(compat_xrcd_of(xrcd)->rxrcd);
	if (err)
		return -err;
	free(compat_xrcd_of(xrcd));
	return 0;
}
