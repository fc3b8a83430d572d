/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Making and ending queue pairs, and their small calls. Changing state is in qp_modify.c.
 *
 * A queue pair's rings are one block, sized by what it asked for; ring depths are powers of two, so
 * more is granted than asked, never less.
 */
#include "verbs/qp_verbs.h"

#include "verbs/limits.h"
#include "verbs/refuse.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t round_up_pow2(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

static int check_cap(const char *name, uint32_t value, uint32_t limit)
{
	if (value > limit)
		return roce_refuse(EINVAL, "create_qp: cap.%s %u is above the device's %u", name,
				   value, limit);
	return 0;
}

static int check_request(const struct roce_qp_request *req)
{
	const struct roce_qp_caps *caps = &req->caps;
	int err = 0;

	if (req->type != ROCE_QP_RC)
		return roce_refuse(EOPNOTSUPP, "create_qp: qp_type %u is not supported", req->type);
	if (!req->send_cq || !req->recv_cq)
		return roce_refuse(EINVAL, "create_qp: %s is NULL",
				   req->send_cq ? "recv_cq" : "send_cq");
	if (!err)
		err = check_cap("max_send_wr", caps->max_send_wr, ROCE_MAX_QP_WR);
	if (!err)
		err = check_cap("max_recv_wr", caps->max_recv_wr, ROCE_MAX_QP_WR);
	if (!err)
		err = check_cap("max_send_sge", caps->max_send_sge, ROCE_MAX_SGE);
	if (!err)
		err = check_cap("max_recv_sge", caps->max_recv_sge, ROCE_MAX_SGE);
	if (!err)
		err = check_cap("max_inline_data", caps->max_inline, ROCE_MAX_INLINE);
	return err;
}

static void grant(struct roce_qp_config *cfg, const struct roce_qp_caps *asked)
{
	cfg->max_send_wr = round_up_pow2(asked->max_send_wr);
	cfg->max_recv_wr = round_up_pow2(asked->max_recv_wr);
	cfg->max_send_sge = asked->max_send_sge ? asked->max_send_sge : 1;
	cfg->max_recv_sge = asked->max_recv_sge ? asked->max_recv_sge : 1;
	cfg->max_inline = asked->max_inline;
}

static int ensure_slot(struct roce_device *dev)
{
	return dev->slot ? 0 : dev->env->acquire_slot(dev->env_ctx, &dev->slot);
}

static int draw_number(struct roce_device *dev, roce_qpn_t *out)
{
	uint16_t number;

	if (dev->transport.qp_count >= ROCE_MAX_QP ||
	    !roce_qpn_pool_take(roce_device_qpns(dev), (uint16_t)roce_device_random(dev), &number))
		return roce_refuse(ENOMEM, "create_qp: all %u queue pairs are in use", ROCE_MAX_QP);
	*out = (roce_qpn_t){(uint32_t)dev->slot << 16 | number};
	return 0;
}

static int enter_device(struct roce_verbs_qp *vqp, struct roce_qp_config *cfg)
{
	struct roce_device *dev = vqp->ctx->dev;
	int err = ensure_slot(dev);

	if (!err)
		err = draw_number(dev, &cfg->qpn);
	if (err)
		return err;
	/* The pool has the same numbers as the transport's table, so this one is free there. */
	if (!roce_qp_init(&vqp->qp, &dev->transport, cfg)) {
		roce_qpn_pool_give_back(roce_device_qpns(dev), (uint16_t)cfg->qpn.v);
		return -ENOMEM;
	}
	roce_list_add_tail(&vqp->ctx->qps, &vqp->link);
	cfg->pd->use_count++;
	vqp->send_cq->qp_count++;
	vqp->recv_cq->qp_count++;
	return 0;
}

int roce_verbs_qp_init(struct roce_verbs_qp *vqp, struct roce_context *ctx,
		       const struct roce_qp_request *req)
{
	struct roce_qp_config cfg = {
		.type = req->type,
		.sq_sig_all = req->sq_sig_all,
		.pd = req->pd,
		.owner = vqp,
	};
	int err = check_request(req);
	size_t sq_bytes;

	if (err)
		return err;
	cfg.send_cq = &req->send_cq->cq;
	cfg.recv_cq = &req->recv_cq->cq;
	grant(&cfg, &req->caps);
	sq_bytes = (roce_send_queue_bytes(cfg.max_send_wr, cfg.max_send_sge, cfg.max_inline) + 15) &
		   ~(size_t)15;
	vqp->storage =
		calloc(1, sq_bytes + roce_recv_queue_bytes(cfg.max_recv_wr, cfg.max_recv_sge));
	if (!vqp->storage)
		return -ENOMEM;
	cfg.sq_storage = vqp->storage;
	cfg.rq_storage = (uint8_t *)vqp->storage + sq_bytes;
	vqp->ctx = ctx;
	vqp->send_cq = req->send_cq;
	vqp->recv_cq = req->recv_cq;
	vqp->peer = NULL;
	roce_list_init(&vqp->link);
	roce_event_source_init(&vqp->events, ROCE_EVENT_OF_QP, req->owner);
	pthread_mutex_lock(&ctx->dev->lock);
	err = enter_device(vqp, &cfg);
	pthread_mutex_unlock(&ctx->dev->lock);
	if (err) {
		free(vqp->storage);
		vqp->storage = NULL;
	}
	return err;
}

void roce_verbs_qp_fini(struct roce_verbs_qp *vqp)
{
	struct roce_device *dev = vqp->ctx->dev;

	pthread_mutex_lock(&dev->lock);
	roce_verbs_qp_detach(vqp);
	pthread_mutex_unlock(&dev->lock);
	roce_event_source_retire(&vqp->ctx->async, &vqp->events);
	free(vqp->storage);
	vqp->storage = NULL;
}

void roce_verbs_qp_query(struct roce_verbs_qp *vqp, struct roce_qp_attr *out_attr,
			 bool *out_is_draining)
{
	struct roce_device *dev = vqp->ctx->dev;
	const struct roce_qp *qp = &vqp->qp;

	pthread_mutex_lock(&dev->lock);
	*out_attr = qp->attr;
	*out_is_draining = qp->attr.state == ROCE_QP_SQD && qp->sq.completed != qp->sq.posted &&
			   roce_send_queue_at(&qp->sq, qp->sq.completed)->is_started;
	pthread_mutex_unlock(&dev->lock);
}

void roce_verbs_qp_on_async_event(struct roce_verbs_qp *vqp, enum roce_async_event event)
{
	roce_events_post(&vqp->ctx->async, &vqp->events, event);
}

static uint32_t read_state(const struct roce_verbs_qp *vqp)
{
	struct roce_device *dev = vqp->ctx->dev;
	uint32_t state;

	pthread_mutex_lock(&dev->lock);
	state = vqp->qp.attr.state;
	pthread_mutex_unlock(&dev->lock);
	return state;
}

int roce_verbs_qp_refuse_post(const struct roce_verbs_qp *vqp, const char *call,
			      enum roce_post_result result, uint32_t what, int sge_count)
{
	const struct roce_qp_config *cfg = &vqp->qp.cfg;
	uint32_t qpn = cfg->qpn.v;

	switch (result) {
	case ROCE_POST_OK:
		return 0;
	case ROCE_POST_FULL:
		return -roce_refuse(ENOMEM, "%s: QP 0x%06x: the queue of %u is full", call, qpn,
				    call[5] == 's' ? cfg->max_send_wr : cfg->max_recv_wr);
	case ROCE_POST_BAD_STATE:
		return -roce_refuse(EINVAL, "%s: QP 0x%06x is in state %u", call, qpn,
				    read_state(vqp));
	case ROCE_POST_BAD_OPCODE:
		return -roce_refuse(EINVAL, "%s: QP 0x%06x: opcode %u is not for this QP", call,
				    qpn, what);
	case ROCE_POST_TOO_MANY_SGE:
		return -roce_refuse(EINVAL, "%s: QP 0x%06x: num_sge %d is not in 0..%u", call, qpn,
				    sge_count,
				    call[5] == 's' ? cfg->max_send_sge : cfg->max_recv_sge);
	case ROCE_POST_BAD_INLINE:
		return -roce_refuse(EINVAL,
				    "%s: QP 0x%06x: inline data above %u bytes, or with opcode %u",
				    call, qpn, cfg->max_inline, what);
	case ROCE_POST_BAD_LENGTH:
		return -roce_refuse(EINVAL,
				    "%s: QP 0x%06x: message above 2^31 bytes, or atomic without 8 "
				    "bytes",
				    call, qpn);
	case ROCE_POST_BAD_FLAGS:
		return -roce_refuse(EINVAL, "%s: QP 0x%06x: send flag 0x%x is unknown", call, qpn,
				    what);
	}
	return EINVAL;
}
