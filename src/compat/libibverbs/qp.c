/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: attributes in and out. Values of struct ibv_qp_attr that do not fit our narrower
 * fields become a value that is out of range there, so that they are refused and not cut.
 */
#include "compat/libibverbs/compat.h"

#include "verbs/refuse.h"

#include <stdlib.h>

#define OUT_OF_RANGE 0xff

/* ---- create ---- */

static void caps_to_verbs(struct roce_qp_caps *out, const struct ibv_qp_cap *cap)
{
	*out = (struct roce_qp_caps){
		.max_send_wr = cap->max_send_wr,
		.max_recv_wr = cap->max_recv_wr,
		.max_send_sge = cap->max_send_sge,
		.max_recv_sge = cap->max_recv_sge,
		.max_inline = cap->max_inline_data,
	};
}

/* Without a receive queue of its own there is nothing to tell of one. */
static void caps_from_qp(struct ibv_qp_cap *out, const struct roce_qp_config *cfg)
{
	bool has_recv = !cfg->srq && cfg->type != ROCE_QP_XRC_INI && cfg->type != ROCE_QP_XRC_TGT;
	bool has_send = cfg->type != ROCE_QP_XRC_TGT;

	*out = (struct ibv_qp_cap){
		.max_send_wr = has_send ? cfg->max_send_wr : 0,
		.max_recv_wr = has_recv ? cfg->max_recv_wr : 0,
		.max_send_sge = has_send ? cfg->max_send_sge : 0,
		.max_recv_sge = has_recv ? cfg->max_recv_sge : 0,
		.max_inline_data = cfg->max_inline,
	};
}

static struct roce_verbs_cq *cq_or_null(struct ibv_cq *cq)
{
	return cq ? &compat_cq_of(cq)->vcq : NULL;
}

static struct compat_qp *create_qp(struct ibv_context *context, struct ibv_pd *pd,
				   struct ibv_xrcd *xrcd, const struct ibv_qp_init_attr *attr)
{
	struct roce_context *ctx = compat_roce_of(context);
	struct compat_qp *cqp;
	struct roce_qp_request req;
	int err;

	if (roce_context_is_forked(ctx))
		return compat_null(-COMPAT_FORKED);
	cqp = calloc(1, sizeof(*cqp));
	if (!cqp)
		return compat_null(-ENOMEM);
	req = (struct roce_qp_request){
		.type = attr->qp_type > 0xff ? OUT_OF_RANGE : (uint8_t)attr->qp_type,
		.sq_sig_all = attr->sq_sig_all != 0,
		.pd = pd ? compat_rpd_of(pd) : NULL,
		.send_cq = cq_or_null(attr->send_cq),
		.recv_cq = cq_or_null(attr->recv_cq),
		.srq = attr->srq ? &compat_srq_of(attr->srq)->vsrq : NULL,
		.xrcd = xrcd ? compat_xrcd_of(xrcd)->rxrcd : NULL,
		.allocator = compat_allocator_of(pd),
		.owner = cqp,
	};
	caps_to_verbs(&req.caps, &attr->cap);
	err = roce_verbs_qp_init(&cqp->vqp, ctx, &req);
	if (err) {
		free(cqp);
		return compat_null(err);
	}
	cqp->is_sig_all = req.sq_sig_all;
	compat_pd_hold(pd);
	cqp->handle_count = 1;
	cqp->ex.qp_base.context = context;
	cqp->ex.qp_base.qp_context = attr->qp_context;
	cqp->ex.qp_base.pd = pd;
	cqp->ex.qp_base.send_cq = attr->send_cq;
	cqp->ex.qp_base.recv_cq = attr->recv_cq;
	cqp->ex.qp_base.srq = attr->srq;
	cqp->ex.qp_base.handle = compat_next_handle();
	cqp->ex.qp_base.qp_num = cqp->vqp.qp.cfg.qpn.v;
	cqp->ex.qp_base.state = IBV_QPS_RESET;
	cqp->ex.qp_base.qp_type = attr->qp_type;
	pthread_mutex_init(&cqp->ex.qp_base.mutex, NULL);
	pthread_cond_init(&cqp->ex.qp_base.cond, NULL);
	return cqp;
}

static int destroy_qp(struct compat_qp *cqp)
{
	int err = roce_verbs_qp_fini(&cqp->vqp);

	if (err)
		return err;
	compat_qp_ex_fini(cqp);
	compat_pd_drop(cqp->ex.qp_base.pd);
	pthread_cond_destroy(&cqp->ex.qp_base.cond);
	pthread_mutex_destroy(&cqp->ex.qp_base.mutex);
	free(cqp);
	return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr)
{
	struct compat_qp *cqp = create_qp(pd->context, pd, NULL, qp_init_attr);

	if (!cqp)
		return NULL;
	caps_from_qp(&qp_init_attr->cap, &cqp->vqp.qp.cfg);
	return &cqp->ex.qp_base;
}

struct ibv_qp *compat_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
			       IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	bool is_target = attr->qp_type == IBV_QPT_XRC_RECV;
	struct ibv_qp_init_attr plain;
	struct compat_qp *cqp;
	int err = 0;

	if (attr->comp_mask & ~known)
		return compat_null(
			roce_refuse(EOPNOTSUPP, "create_qp_ex: comp_mask 0x%x", attr->comp_mask));
	if (is_target && !(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD))
		return compat_null(roce_refuse(EINVAL, "create_qp_ex: no xrcd in comp_mask"));
	if (!is_target && !(attr->comp_mask & IBV_QP_INIT_ATTR_PD))
		return compat_null(roce_refuse(EINVAL, "create_qp_ex: no pd in comp_mask"));
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && attr->create_flags)
		return compat_null(roce_refuse(EOPNOTSUPP, "create_qp_ex: create_flags 0x%x",
					       attr->create_flags));
	/* The extended struct begins with the fields of the plain one. */
	memcpy(&plain, attr, sizeof(plain));
	cqp = create_qp(context, is_target ? NULL : attr->pd, is_target ? attr->xrcd : NULL,
			&plain);
	if (!cqp)
		return NULL;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		err = compat_qp_ex_init(cqp, attr->send_ops_flags);
	if (err) {
		(void)destroy_qp(cqp);
		return compat_null(err);
	}
	caps_from_qp(&attr->cap, &cqp->vqp.qp.cfg);
	return &cqp->ex.qp_base;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct compat_qp *cqp = compat_qp_of(qp);

	struct compat_qp *first = cqp->origin ? cqp->origin : cqp;
	struct roce_device *dev;
	bool is_last;

	if (roce_context_is_forked(first->vqp.ctx))
		return COMPAT_FORKED;
	dev = first->vqp.ctx->dev;
	pthread_mutex_lock(&dev->lock);
	is_last = first->handle_count == 1;
	if (!is_last)
		first->handle_count--;
	pthread_mutex_unlock(&dev->lock);
	if (is_last) {
		int err = destroy_qp(first);

		if (err)
			return -err;
	}
	if (cqp != first)
		free(cqp);
	return 0;
}

/* ---- further handles of an XRC target ---- */

static struct compat_qp *find_target(struct roce_device *dev, uint32_t qp_num,
				     const struct roce_xrcd *xrcd)
{
	struct roce_transport *t = &dev->transport;
	struct roce_qp *qp = t->cfg.qp_table[qp_num & t->cfg.qp_table_mask];
	struct roce_verbs_qp *vqp = qp ? qp->cfg.owner : NULL;

	if (!qp || qp->cfg.qpn.v != qp_num || qp->cfg.type != ROCE_QP_XRC_TGT || vqp->xrcd != xrcd)
		return NULL;
	return vqp->events.owner;
}

struct ibv_qp *compat_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	const uint32_t needed =
		IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
	struct roce_context *ctx = compat_roce_of(context);
	struct compat_qp *handle;

	if (roce_context_is_forked(ctx))
		return compat_null(-COMPAT_FORKED);
	if ((attr->comp_mask & needed) != needed || attr->qp_type != IBV_QPT_XRC_RECV)
		return compat_null(roce_refuse(EINVAL, "open_qp: only XRC targets are shared, by "
						       "number, xrcd and type"));
	handle = calloc(1, sizeof(*handle));
	if (!handle)
		return compat_null(-ENOMEM);
	pthread_mutex_lock(&ctx->dev->lock);
	handle->origin = find_target(ctx->dev, attr->qp_num, compat_xrcd_of(attr->xrcd)->rxrcd);
	if (handle->origin)
		handle->origin->handle_count++;
	pthread_mutex_unlock(&ctx->dev->lock);
	if (!handle->origin) {
		free(handle);
		return compat_null(roce_refuse(
			EINVAL, "open_qp: no XRC target 0x%06x in the domain", attr->qp_num));
	}
	handle->ex.qp_base.context = context;
	if (attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT)
		handle->ex.qp_base.qp_context = attr->qp_context;
	handle->ex.qp_base.handle = compat_next_handle();
	handle->ex.qp_base.qp_num = attr->qp_num;
	handle->ex.qp_base.state = handle->origin->ex.qp_base.state;
	handle->ex.qp_base.qp_type = attr->qp_type;
	return &handle->ex.qp_base;
}

/* ---- modify and query ---- */

void compat_av_from_ah_attr(struct roce_av *av, const struct ibv_ah_attr *attr)
{
	*av = (struct roce_av){
		.flow_label = attr->grh.flow_label,
		.sgid_index = attr->grh.sgid_index,
		.hop_limit = attr->grh.hop_limit,
		.traffic_class = attr->grh.traffic_class,
		.sl = attr->sl,
		.port_num = attr->port_num,
		.is_global = attr->is_global != 0,
	};
	memcpy(av->dgid.raw, attr->grh.dgid.raw, sizeof(av->dgid.raw));
}

static void ah_attr_from_path(struct ibv_ah_attr *out, const struct roce_path *path,
			      uint8_t port_num)
{
	*out = (struct ibv_ah_attr){
		.grh = {.flow_label = path->flow_label,
			.sgid_index = path->sgid_index,
			.hop_limit = path->hop_limit,
			.traffic_class = path->traffic_class},
		.sl = path->sl,
		.is_global = !roce_gid_is_zero(&path->dgid),
		.port_num = port_num,
	};
	memcpy(out->grh.dgid.raw, path->dgid.raw, sizeof(path->dgid.raw));
}

static uint8_t narrow(unsigned int value)
{
	return value > 0xff ? OUT_OF_RANGE : (uint8_t)value;
}

static void attr_to_verbs(struct roce_qp_attr *out, const struct ibv_qp_attr *attr)
{
	*out = (struct roce_qp_attr){
		.state = narrow((unsigned int)attr->qp_state),
		.cur_state = narrow((unsigned int)attr->cur_qp_state),
		.path_mtu = narrow((unsigned int)attr->path_mtu),
		.port_num = attr->port_num,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.min_rnr_timer = attr->min_rnr_timer,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.en_sqd_async_notify = attr->en_sqd_async_notify,
		.pkey_index = attr->pkey_index,
		.access_flags = attr->qp_access_flags,
		.qkey = attr->qkey,
		.dest_qpn = attr->dest_qp_num,
		.rq_psn = attr->rq_psn,
		.sq_psn = attr->sq_psn,
	};
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
	struct roce_qp_attr wanted;
	struct roce_av av;
	int err;

	if (roce_context_is_forked(compat_vqp_of(qp)->ctx))
		return COMPAT_FORKED;
	attr_to_verbs(&wanted, attr);
	compat_av_from_ah_attr(&av, &attr->ah_attr);
	err = roce_verbs_qp_modify(compat_vqp_of(qp), &wanted, (uint32_t)attr_mask, &av);
	if (err)
		return -err;
	if (attr_mask & IBV_QP_STATE)
		qp->state = attr->qp_state;
	return 0;
}

/* typical_pkt_sz is a hint for hardware that cannot know; here every packet counts as it is. */
int compat_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
	struct roce_verbs_qp *vqp = compat_vqp_of(qp);

	if (roce_context_is_forked(vqp->ctx))
		return COMPAT_FORKED;
	if (attr->comp_mask)
		return -roce_refuse(EINVAL, "modify_qp_rate_limit: comp_mask 0x%x",
				    attr->comp_mask);
	return -roce_verbs_qp_limit_rate(vqp, attr->rate_limit, attr->max_burst_sz);
}

int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		 struct ibv_qp_init_attr *init_attr)
{
	struct roce_qp_attr now;
	bool is_draining;

	(void)attr_mask; /* everything is at hand */
	if (roce_context_is_forked(compat_vqp_of(qp)->ctx))
		return COMPAT_FORKED;
	roce_verbs_qp_query(compat_vqp_of(qp), &now, &is_draining);
	*attr = (struct ibv_qp_attr){
		.qp_state = (enum ibv_qp_state)now.state,
		.cur_qp_state = (enum ibv_qp_state)now.state,
		.path_mtu = (enum ibv_mtu)now.path_mtu,
		.path_mig_state = IBV_MIG_MIGRATED,
		.qkey = now.qkey,
		.rq_psn = now.rq_psn,
		.sq_psn = now.sq_psn,
		.dest_qp_num = now.dest_qpn,
		.qp_access_flags = now.access_flags,
		.pkey_index = now.pkey_index,
		.en_sqd_async_notify = now.en_sqd_async_notify,
		.sq_draining = is_draining,
		.max_rd_atomic = now.max_rd_atomic,
		.max_dest_rd_atomic = now.max_dest_rd_atomic,
		.min_rnr_timer = now.min_rnr_timer,
		.port_num = now.port_num,
		.timeout = now.timeout,
		.retry_cnt = now.retry_cnt,
		.rnr_retry = now.rnr_retry,
		.rate_limit = now.rate_kbit_per_s,
	};
	caps_from_qp(&attr->cap, &compat_vqp_of(qp)->qp.cfg);
	ah_attr_from_path(&attr->ah_attr, &now.path, now.port_num);
	*init_attr = (struct ibv_qp_init_attr){
		.qp_context = qp->qp_context,
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.srq = qp->srq,
		.cap = attr->cap,
		.qp_type = qp->qp_type,
		.sq_sig_all = compat_qp_of(qp)->is_sig_all,
	};
	qp->state = attr->qp_state;
	return 0;
}

/* ---- what has no meaning here ---- */

/* The data of a packet is placed by memcpy(), which promises no order. */
int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}

/* Enhancements are options that vendors agree upon among themselves; we have none. A device without
 * any answers so, and the connection manager takes it for that. */
int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	(void)ece;
	return EOPNOTSUPP;
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	(void)qp;
	*ece = (struct ibv_ece){0};
	return EOPNOTSUPP;
}
