/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Making, changing and ending shared receive queues. An XRC target keeps pointing at the queue of
 * its last message, so a queue that goes is taken from those targets too.
 */
#include "verbs/srq_verbs.h"

#include "base/pow2.h"
#include "verbs/limits.h"
#include "verbs/qp_verbs.h"
#include "verbs/refuse.h"

#include <errno.h>

/* Value of IBV_EVENT_SRQ_LIMIT_REACHED. */
#define EVENT_LIMIT_REACHED 15u

/* Never 0, and not mistaken for a bare index. */
#define NUMBER_BASE 0x10000u

static void on_limit(struct roce_srq *srq)
{
	struct roce_verbs_srq *vsrq = srq->owner;

	roce_events_post(&vsrq->ctx->async, &vsrq->events, EVENT_LIMIT_REACHED);
}

static int check_size(const char *call, uint32_t max_wr)
{
	if (max_wr == 0 || max_wr > ROCE_MAX_SRQ_WR)
		return roce_refuse(EINVAL, "%s: max_wr %u is not in 1..%u", call, max_wr,
				   ROCE_MAX_SRQ_WR);
	return 0;
}

static int check_request(const struct roce_srq_request *req)
{
	int err = check_size("create_srq", req->max_wr);

	if (err)
		return err;
	if (req->max_sge > ROCE_MAX_SGE)
		return roce_refuse(EINVAL, "create_srq: max_sge %u is above %u", req->max_sge,
				   ROCE_MAX_SGE);
	if (!req->xrcd != !req->cq)
		return roce_refuse(EINVAL, "create_srq: an XRC queue needs %s",
				   req->xrcd ? "a cq" : "an xrcd");
	return 0;
}

static int enter_device(struct roce_verbs_srq *vsrq)
{
	struct roce_device *dev = vsrq->ctx->dev;
	uint16_t number;

	if (dev->srq_count >= ROCE_MAX_SRQ)
		return roce_refuse(ENOMEM, "create_srq: all %u receive queues are in use",
				   ROCE_MAX_SRQ);
	if (vsrq->xrcd) {
		if (!roce_qpn_pool_take(roce_device_srqns(dev), (uint16_t)roce_device_random(dev),
					&number))
			return -ENOMEM;
		vsrq->number = NUMBER_BASE | number;
		*roce_device_srq_entry(dev, vsrq->number) = vsrq;
		vsrq->xrcd->use_count++;
		vsrq->cq->qp_count++;
	}
	dev->srq_count++;
	vsrq->srq.pd->use_count++;
	roce_list_add_tail(&vsrq->ctx->srqs, &vsrq->link);
	return 0;
}

int roce_verbs_srq_init(struct roce_verbs_srq *vsrq, struct roce_context *ctx,
			const struct roce_srq_request *req)
{
	uint32_t max_sge = req->max_sge ? req->max_sge : 1;
	uint32_t depth;
	int err = check_request(req);

	if (err)
		return err;
	depth = roce_pow2_round_up(req->max_wr);
	*vsrq = (struct roce_verbs_srq){.ctx = ctx, .xrcd = req->xrcd, .cq = req->cq};
	roce_list_init(&vsrq->link);
	roce_event_source_init(&vsrq->events, ROCE_EVENT_OF_SRQ, req->owner);
	if (roce_block_get(&vsrq->storage, req->allocator, roce_recv_queue_bytes(depth, max_sge)))
		return -ENOMEM;
	roce_srq_init(&vsrq->srq, vsrq->storage.ptr, depth, max_sge, req->pd, on_limit, vsrq);
	vsrq->srq.cq = req->cq ? &req->cq->cq : NULL;
	vsrq->max_sge = max_sge;
	vsrq->from = vsrq->storage.from;
	/* As hardware: a limit is armed by modify_srq only. */
	pthread_mutex_lock(&ctx->dev->lock);
	err = enter_device(vsrq);
	pthread_mutex_unlock(&ctx->dev->lock);
	if (err)
		roce_block_put(&vsrq->storage);
	return err;
}

static void leave_targets(struct roce_verbs_srq *vsrq)
{
	struct roce_list *it, *at;

	roce_list_for_each (it, &vsrq->ctx->dev->contexts) {
		struct roce_context *ctx = roce_container_of(it, struct roce_context, link);

		roce_list_for_each (at, &ctx->qps) {
			struct roce_qp *qp = &roce_container_of(at, struct roce_verbs_qp, link)->qp;

			if (qp->cfg.type == ROCE_QP_XRC_TGT && qp->srq == &vsrq->srq) {
				qp->srq = NULL;
				qp->is_held = false;
			}
		}
	}
}

void roce_verbs_srq_detach(struct roce_verbs_srq *vsrq)
{
	struct roce_device *dev = vsrq->ctx->dev;

	if (roce_list_is_empty(&vsrq->link))
		return;
	if (vsrq->xrcd) {
		leave_targets(vsrq);
		*roce_device_srq_entry(dev, vsrq->number) = NULL;
		roce_qpn_pool_give_back(roce_device_srqns(dev), (uint16_t)vsrq->number);
		vsrq->xrcd->use_count--;
		vsrq->cq->qp_count--;
	}
	dev->srq_count--;
	vsrq->srq.pd->use_count--;
	roce_list_remove(&vsrq->link);
}

int roce_verbs_srq_fini(struct roce_verbs_srq *vsrq)
{
	struct roce_device *dev = vsrq->ctx->dev;
	uint32_t users;

	pthread_mutex_lock(&dev->lock);
	users = vsrq->use_count;
	if (!users)
		roce_verbs_srq_detach(vsrq);
	pthread_mutex_unlock(&dev->lock);
	if (users)
		return roce_refuse(EBUSY, "destroy_srq: %u queue pairs use it", users);
	roce_event_source_retire(&vsrq->ctx->async, &vsrq->events);
	roce_block_put(&vsrq->storage);
	return 0;
}

/* The new ring, or none when the present one has that depth; lock not held. */
static int get_ring(struct roce_verbs_srq *vsrq, const struct roce_srq_change *change,
		    struct roce_block *out, uint32_t *out_depth)
{
	int err;

	*out = (struct roce_block){0};
	if (!change->is_size_given)
		return 0;
	err = check_size("modify_srq", change->max_wr);
	if (err)
		return err;
	*out_depth = roce_pow2_round_up(change->max_wr);
	return roce_block_get(out, &vsrq->from, roce_recv_queue_bytes(*out_depth, vsrq->max_sge))
		       ? -ENOMEM
		       : 0;
}

int roce_verbs_srq_change(struct roce_verbs_srq *vsrq, const struct roce_srq_change *change)
{
	struct roce_device *dev = vsrq->ctx->dev;
	struct roce_srq *srq = &vsrq->srq;
	struct roce_block ring;
	uint32_t depth = 0;
	int err = get_ring(vsrq, change, &ring, &depth);

	if (err)
		return err;
	pthread_mutex_lock(&dev->lock);
	if (!ring.ptr)
		depth = srq->rq.depth;
	if (depth < roce_srq_count(srq))
		err = roce_refuse(EINVAL, "modify_srq: %u requests wait, max_wr %u is too few",
				  roce_srq_count(srq), change->max_wr);
	else if (change->is_limit_given && change->limit > depth)
		err = roce_refuse(EINVAL, "modify_srq: srq_limit %u is above max_wr %u",
				  change->limit, depth);
	if (!err && ring.ptr) {
		struct roce_block old = vsrq->storage;

		roce_srq_resize(srq, ring.ptr, depth);
		vsrq->storage = ring;
		ring = old;
	}
	if (!err && change->is_limit_given) {
		srq->limit = change->limit;
		/* Armed too late: what it would tell has happened already. */
		if (srq->limit && roce_srq_count(srq) < srq->limit) {
			srq->limit = 0;
			on_limit(srq);
		}
	}
	pthread_mutex_unlock(&dev->lock);
	roce_block_put(&ring);
	return err;
}

struct roce_verbs_srq *roce_verbs_srq_find(struct roce_device *dev, const struct roce_xrcd *xrcd,
					   uint32_t number)
{
	struct roce_verbs_srq *vsrq = *roce_device_srq_entry(dev, number);

	return vsrq && vsrq->number == number && vsrq->xrcd == xrcd ? vsrq : NULL;
}

static void for_each_cq(const struct roce_xrcd *xrcd, const struct roce_qp *qp,
			void (*call)(struct roce_cq *cq, const void *qp))
{
	struct roce_list *it, *at;

	roce_list_for_each (it, &xrcd->dev->contexts) {
		struct roce_context *ctx = roce_container_of(it, struct roce_context, link);

		roce_list_for_each (at, &ctx->srqs) {
			struct roce_verbs_srq *vsrq =
				roce_container_of(at, struct roce_verbs_srq, link);

			if (vsrq->xrcd == xrcd)
				call(&vsrq->cq->cq, qp);
		}
	}
}

void roce_xrcd_reset_qp(struct roce_xrcd *xrcd, const struct roce_qp *qp)
{
	for_each_cq(xrcd, qp, roce_cq_clean);
}

void roce_xrcd_disown_qp(struct roce_xrcd *xrcd, const struct roce_qp *qp)
{
	for_each_cq(xrcd, qp, roce_cq_disown);
}
