/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Making and ending queue pairs, and their small calls. Changing state is in qp_modify.c.
 *
 * A queue pair's rings are one block, sized by what it asked for; ring depths are powers of two, so
 * more is granted than asked, never less.
 */
#include "verbs/qp_verbs.h"

#include "base/pow2.h"
#include "verbs/limits.h"
#include "verbs/refuse.h"

#include <errno.h>

static int check_cap(const char *name, uint32_t value, uint32_t limit)
{
	if (value > limit)
		return roce_refuse(EINVAL, "create_qp: cap.%s %u is above the device's %u", name,
				   value, limit);
	return 0;
}

/* What its receive capabilities ask for is ignored otherwise. */
static bool has_own_recv(const struct roce_qp_request *req)
{
	return !req->srq && req->type != ROCE_QP_XRC_INI && req->type != ROCE_QP_XRC_TGT;
}

/* Which objects each type is made of. */
static int check_objects(const struct roce_qp_request *req)
{
	switch ((enum roce_qp_type)req->type) {
	case ROCE_QP_RC:
	case ROCE_QP_UC:
	case ROCE_QP_UD:
		if (req->xrcd || (req->srq && req->srq->xrcd))
			return roce_refuse(EINVAL, "create_qp: an XRC object with qp_type %u",
					   req->type);
		if (!req->pd || !req->send_cq || !req->recv_cq)
			return roce_refuse(EINVAL, "create_qp: %s is NULL",
					   !req->pd	  ? "pd"
					   : req->send_cq ? "recv_cq"
							  : "send_cq");
		return 0;
	case ROCE_QP_XRC_INI:
		if (!req->pd || !req->send_cq || req->srq || req->xrcd)
			return roce_refuse(EINVAL, "create_qp: an XRC initiator has a pd and a "
						   "send_cq, no srq and no xrcd");
		return 0;
	case ROCE_QP_XRC_TGT:
		if (!req->xrcd || req->srq)
			return roce_refuse(EINVAL,
					   "create_qp: an XRC target has an xrcd and no srq");
		return 0;
	}
	return roce_refuse(EOPNOTSUPP, "create_qp: qp_type %u is not supported", req->type);
}

static int check_request(const struct roce_qp_request *req)
{
	const struct roce_qp_caps *caps = &req->caps;
	int err = check_objects(req);

	if (!err)
		err = check_cap("max_send_wr", caps->max_send_wr, ROCE_MAX_QP_WR);
	if (!err && has_own_recv(req))
		err = check_cap("max_recv_wr", caps->max_recv_wr, ROCE_MAX_QP_WR);
	if (!err)
		err = check_cap("max_send_sge", caps->max_send_sge, ROCE_MAX_SGE);
	if (!err && has_own_recv(req))
		err = check_cap("max_recv_sge", caps->max_recv_sge, ROCE_MAX_SGE);
	if (!err)
		err = check_cap("max_inline_data", caps->max_inline, ROCE_MAX_INLINE);
	return err;
}

static void grant(struct roce_qp_config *cfg, const struct roce_qp_request *req)
{
	static const struct roce_qp_caps none;
	const struct roce_qp_caps *send = req->type == ROCE_QP_XRC_TGT ? &none : &req->caps;
	const struct roce_qp_caps *recv = has_own_recv(req) ? &req->caps : &none;

	cfg->max_send_wr = roce_pow2_round_up(send->max_send_wr);
	cfg->max_recv_wr = roce_pow2_round_up(recv->max_recv_wr);
	cfg->max_send_sge = send->max_send_sge ? send->max_send_sge : 1;
	cfg->max_recv_sge = recv->max_recv_sge ? recv->max_recv_sge : 1;
	/* Inline bytes stand where the SGEs would: their room is there, and programs count on it.
	 * The 8 bytes of an ATOMIC WRITE, which are always inline, fit as well. */
	cfg->max_inline = cfg->max_send_sge * (uint32_t)sizeof(struct roce_sge);
	if (cfg->max_inline < send->max_inline)
		cfg->max_inline = send->max_inline;
}

static size_t round_up_16(size_t n)
{
	return (n + 15) & ~(size_t)15;
}

/* Room for a WQE of the largest queue that it may be taken from. */
static size_t held_bytes(const struct roce_qp_request *req)
{
	uint32_t sges = req->srq		       ? req->srq->max_sge
			: req->type == ROCE_QP_XRC_TGT ? ROCE_MAX_SGE
						       : 0;

	return sges ? roce_recv_queue_bytes(1, sges) : 0;
}

/* The rings and the held WQE, one block. */
static int get_storage(struct roce_verbs_qp *vqp, struct roce_qp_config *cfg,
		       const struct roce_qp_request *req)
{
	size_t sq = round_up_16(
		roce_send_queue_bytes(cfg->max_send_wr, cfg->max_send_sge, cfg->max_inline));
	size_t rq = round_up_16(roce_recv_queue_bytes(cfg->max_recv_wr, cfg->max_recv_sge));
	size_t held = held_bytes(req);
	uint8_t *at;

	if (roce_block_get(&vqp->storage, req->allocator, sq + rq + held))
		return -ENOMEM;
	at = vqp->storage.ptr;
	cfg->sq_storage = at;
	cfg->rq_storage = at + sq;
	cfg->held_storage = held ? (struct roce_recv_wqe *)(void *)(at + sq + rq) : NULL;
	return 0;
}

static void count_users(const struct roce_verbs_qp *vqp, uint32_t change)
{
	vqp->qp.cfg.pd->use_count += change;
	if (vqp->send_cq)
		vqp->send_cq->qp_count += change;
	if (vqp->recv_cq)
		vqp->recv_cq->qp_count += change;
	if (vqp->srq)
		vqp->srq->use_count += change;
	if (vqp->xrcd)
		vqp->xrcd->use_count += change;
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
	/* The pool has the numbers of the transport's table at its largest, so this one is free
	 * there. */
	if (roce_device_fit_qp(dev, cfg->qpn.v) || !roce_qp_init(&vqp->qp, &dev->transport, cfg)) {
		roce_qpn_pool_give_back(roce_device_qpns(dev), (uint16_t)cfg->qpn.v);
		return -ENOMEM;
	}
	roce_list_add_tail(&vqp->ctx->qps, &vqp->link);
	count_users(vqp, 1);
	return 0;
}

int roce_verbs_qp_init(struct roce_verbs_qp *vqp, struct roce_context *ctx,
		       const struct roce_qp_request *req)
{
	struct roce_qp_config cfg = {
		.type = req->type,
		.sq_sig_all = req->sq_sig_all,
		.pd = req->pd ? req->pd : &vqp->no_pd,
		.srq = req->srq ? &req->srq->srq : NULL,
		.owner = vqp,
	};
	int err = check_request(req);

	if (!err && req->type == ROCE_QP_UD)
		err = roce_port_mtu(ctx->dev, &cfg.port_mtu);
	if (err)
		return err;
	grant(&cfg, req);
	*vqp = (struct roce_verbs_qp){
		.ctx = ctx,
		.send_cq = req->type == ROCE_QP_XRC_TGT ? NULL : req->send_cq,
		.recv_cq = has_own_recv(req) || req->srq ? req->recv_cq : NULL,
		.srq = req->srq,
		.xrcd = req->xrcd,
	};
	err = get_storage(vqp, &cfg, req);
	if (err)
		return err;
	cfg.send_cq = vqp->send_cq ? &vqp->send_cq->cq : &vqp->no_cq;
	cfg.recv_cq = vqp->recv_cq ? &vqp->recv_cq->cq : &vqp->no_cq;
	roce_list_init(&vqp->link);
	roce_list_init(&vqp->groups);
	roce_event_source_init(&vqp->events, ROCE_EVENT_OF_QP, req->owner);
	pthread_mutex_lock(&ctx->dev->lock);
	err = enter_device(vqp, &cfg);
	pthread_mutex_unlock(&ctx->dev->lock);
	if (err)
		roce_block_put(&vqp->storage);
	return err;
}

int roce_verbs_qp_fini(struct roce_verbs_qp *vqp)
{
	struct roce_device *dev = vqp->ctx->dev;
	bool is_attached;

	pthread_mutex_lock(&dev->lock);
	is_attached = !roce_list_is_empty(&vqp->groups);
	if (!is_attached)
		roce_verbs_qp_detach(vqp);
	pthread_mutex_unlock(&dev->lock);
	if (is_attached)
		return roce_refuse(EBUSY, "destroy_qp: QP 0x%06x is attached to multicast groups",
				   vqp->qp.cfg.qpn.v);
	roce_event_source_retire(&vqp->ctx->async, &vqp->events);
	roce_block_put(&vqp->storage);
	return 0;
}

void roce_verbs_qp_detach(struct roce_verbs_qp *vqp)
{
	struct roce_device *dev = vqp->ctx->dev;

	if (roce_list_is_empty(&vqp->link))
		return;
	roce_verbs_qp_leave(vqp);
	roce_qpn_pool_give_back(roce_device_qpns(dev), (uint16_t)vqp->qp.cfg.qpn.v);
	count_users(vqp, (uint32_t)-1);
	roce_list_remove(&vqp->link);
}

int roce_verbs_qp_limit_rate(struct roce_verbs_qp *vqp, uint32_t kbit_per_s, uint32_t burst_bytes)
{
	struct roce_device *dev = vqp->ctx->dev;
	bool is_done;

	if (kbit_per_s > ROCE_MAX_RATE)
		return roce_refuse(EINVAL, "modify_qp_rate_limit: rate_limit %u is not in %u..%u",
				   kbit_per_s, ROCE_MIN_RATE, ROCE_MAX_RATE);
	pthread_mutex_lock(&dev->lock);
	is_done = roce_qp_limit_rate(&vqp->qp, kbit_per_s, burst_bytes);
	if (is_done)
		dev->env->kick(dev->env_ctx);
	pthread_mutex_unlock(&dev->lock);
	return is_done ? 0
		       : roce_refuse(EINVAL, "modify_qp_rate_limit: QP 0x%06x does not send now",
				     vqp->qp.cfg.qpn.v);
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

/* An address that cannot be opened is as one that does not send: the datagram is lost and counted.
 */
enum roce_post_result roce_verbs_qp_post_datagram(struct roce_verbs_qp *vqp,
						  const struct roce_send_wr *wr, roce_ns_t now)
{
	if (wr->path)
		roce_locals_open(vqp, wr->path);
	return roce_post_send(&vqp->qp, wr, now);
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
	case ROCE_POST_BAD_PATH:
		return -roce_refuse(EINVAL, "%s: QP 0x%06x: no address handle", call, qpn);
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
