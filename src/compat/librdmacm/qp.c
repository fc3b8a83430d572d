/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs of ids: made with what is missing of their completion queues, and taken through their
 * states with what the dialogue has settled. rdma_init_qp_attr() answers from the same place, for
 * programs that move their queue pairs themselves.
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>
#include <string.h>

/*
 * The local ACK timeout as IBTA 12.7.34 has it made from the path's life time and a CA's ACK delay,
 * rounded as Linux does: both are exponents, and the sum of two powers of two is at most one more.
 */
uint8_t cm_ack_timeout(uint8_t ack_delay, uint8_t packet_life)
{
	unsigned timeout = packet_life + 1u;

	if (timeout >= ack_delay)
		timeout += ack_delay >= timeout - 1 ? 1 : 0;
	else
		timeout = ack_delay + (timeout >= ack_delay - 1u ? 1u : 0u);
	return (uint8_t)(timeout > 31 ? 31 : timeout);
}

void cm_qp_fill_ah_attr(const struct cm_id *id, struct ibv_ah_attr *out)
{
	const struct roce_cm_path *p = &id->path;
	int index = id->dev ? cm_device_gid_index(id->dev, &p->local.gid) : 0;

	memset(out, 0, sizeof(*out));
	memcpy(out->grh.dgid.raw, p->remote.raw, 16);
	out->grh.flow_label = p->flow_label;
	out->grh.sgid_index = (uint8_t)(index < 0 ? 0 : index);
	out->grh.hop_limit = p->hop_limit;
	out->grh.traffic_class = p->traffic_class;
	out->sl = p->sl;
	out->static_rate = p->rate;
	out->is_global = 1;
	out->port_num = id->id.port_num;
}

/* ---- attributes ---- */

static bool is_connected(const struct cm_id *id)
{
	return id->state == CM_CONNECTING || id->state == CM_CHILD;
}

static bool is_requester(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
}

static bool is_responder(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV;
}

static void fill_init(const struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	attr->pkey_index = 0;
	attr->port_num = id->id.port_num;
	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (cm_is_datagram(id)) {
		attr->qkey = RDMA_UDP_QKEY;
		*mask |= IBV_QP_QKEY;
		return;
	}
	attr->qp_access_flags = 0;
	if (is_connected(id)) {
		attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
		if (id->responder_resources)
			attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	}
	*mask |= IBV_QP_ACCESS_FLAGS;
}

static void fill_rtr(const struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	cm_qp_fill_ah_attr(id, &attr->ah_attr);
	attr->path_mtu = (enum ibv_mtu)id->path.mtu;
	attr->dest_qp_num = id->peer.qpn;
	attr->rq_psn = id->own_psn;
	*mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (is_responder(id->id.qp_type)) {
		attr->max_dest_rd_atomic = id->responder_resources;
		attr->min_rnr_timer = 0; /* 655 ms */
		*mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
}

/* The program's own; else what REQ said, which our own REQ has from the path. */
static uint8_t timeout_of(const struct cm_id *id)
{
	if (id->has_ack_timeout)
		return id->ack_timeout;
	if (id->state == CM_CHILD)
		return id->peer.ack_timeout;
	return cm_ack_timeout(id->peer.ack_delay,
			      (uint8_t)(id->own_timeout ? id->own_timeout - 1 : 0));
}

static void fill_rts(const struct cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	attr->sq_psn = id->peer.starting_psn;
	*mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
	if (is_requester(id->id.qp_type)) {
		attr->retry_cnt = id->retry_count;
		attr->rnr_retry = id->peer.rnr_retry_count;
		attr->max_rd_atomic = id->initiator_depth;
		*mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	}
	if (is_requester(id->id.qp_type) || is_responder(id->id.qp_type)) {
		attr->timeout = timeout_of(id);
		*mask |= IBV_QP_TIMEOUT;
	}
}

/* RTR and RTS need the peer's word: of the REQ, or of the REP. */
static bool knows_peer(const struct cm_id *id)
{
	return id->state == CM_CHILD || (id->state == CM_CONNECTING && id->is_responded);
}

int rdma_init_qp_attr(struct rdma_cm_id *rid, struct ibv_qp_attr *qp_attr, int *qp_attr_mask)
{
	struct cm_id *id = cm_id_of(rid);

	if (!qp_attr || !qp_attr_mask || !id->dev)
		return cm_fail(EINVAL);
	/* Datagrams, and ids without a dialogue, have no further attributes. */
	if (qp_attr->qp_state == IBV_QPS_INIT || cm_is_datagram(id) || !is_connected(id)) {
		fill_init(id, qp_attr, qp_attr_mask);
		return 0;
	}
	if (!knows_peer(id))
		return cm_fail(EINVAL);
	if (qp_attr->qp_state == IBV_QPS_RTR)
		fill_rtr(id, qp_attr, qp_attr_mask);
	else if (qp_attr->qp_state == IBV_QPS_RTS)
		fill_rts(id, qp_attr, qp_attr_mask);
	else
		return cm_fail(EINVAL);
	return 0;
}

/* ---- transitions ---- */

static int modify(struct cm_id *id, struct ibv_qp_attr *attr, int mask)
{
	return -ibv_modify_qp(id->id.qp, attr, mask);
}

int cm_qp_to_rtr(struct cm_id *id, uint8_t responder_resources)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
	int mask, error;

	/* Again, now with the access that the peer asked for. */
	fill_init(id, &attr, &mask);
	error = modify(id, &attr, mask);
	if (error)
		return error;
	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IBV_QPS_RTR;
	fill_rtr(id, &attr, &mask);
	if (responder_resources != RDMA_MAX_RESP_RES)
		attr.max_dest_rd_atomic = responder_resources;
	return modify(id, &attr, mask);
}

int cm_qp_to_rts(struct cm_id *id, uint8_t initiator_depth)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS};
	int mask;

	fill_rts(id, &attr, &mask);
	if (initiator_depth != RDMA_MAX_INIT_DEPTH)
		attr.max_rd_atomic = initiator_depth;
	return modify(id, &attr, mask);
}

int cm_qp_to_error(struct cm_id *id)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	return id->id.qp ? modify(id, &attr, IBV_QP_STATE) : 0;
}

static int start_connected(struct cm_id *id, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
	int mask;

	fill_init(id, &attr, &mask);
	/* What the peer may do is known and set when the connection is made. */
	attr.qp_access_flags = 0;
	return -ibv_modify_qp(qp, &attr, mask);
}

static int start_datagram(struct cm_id *id, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
	int mask, error;

	fill_init(id, &attr, &mask);
	error = ibv_modify_qp(qp, &attr, mask);
	if (error)
		return -error;
	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IBV_QPS_RTR;
	error = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	if (error)
		return -error;
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = 0;
	return -ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* ---- creation ---- */

static int make_cq(struct cm_id *id, uint32_t size, struct ibv_comp_channel **channel,
		   struct ibv_cq **cq)
{
	*channel = ibv_create_comp_channel(id->id.verbs);
	if (!*channel)
		return -errno;
	*cq = ibv_create_cq(id->id.verbs, (int)size, &id->id, *channel, 0);
	return *cq ? 0 : -errno;
}

void cm_cqs_destroy(struct cm_id *id)
{
	struct rdma_cm_id *rid = &id->id;

	if (rid->recv_cq) {
		ibv_destroy_cq(rid->recv_cq);
		if (rid->send_cq == rid->recv_cq)
			rid->send_cq = NULL;
	}
	if (rid->recv_cq_channel) {
		ibv_destroy_comp_channel(rid->recv_cq_channel);
		if (rid->send_cq_channel == rid->recv_cq_channel)
			rid->send_cq_channel = NULL;
	}
	if (rid->send_cq)
		ibv_destroy_cq(rid->send_cq);
	if (rid->send_cq_channel)
		ibv_destroy_comp_channel(rid->send_cq_channel);
	rid->recv_cq = rid->send_cq = NULL;
	rid->recv_cq_channel = rid->send_cq_channel = NULL;
}

/* Of size 0: none. What is there already stays. */
int cm_cqs_create(struct cm_id *id, uint32_t send_size, uint32_t recv_size)
{
	int error = 0;

	if (recv_size && !id->id.recv_cq)
		error = make_cq(id, recv_size, &id->id.recv_cq_channel, &id->id.recv_cq);
	if (!error && send_size && !id->id.send_cq)
		error = make_cq(id, send_size, &id->id.send_cq_channel, &id->id.send_cq);
	if (error)
		cm_cqs_destroy(id);
	return error;
}

static bool is_other(const void *ours, const void *asked)
{
	return ours && asked && ours != asked;
}

static int check_attr(struct cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	if (!id->dev || id->id.qp)
		return -EINVAL;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = id->id.pd;
	} else if (attr->pd->context != id->id.verbs) {
		return -EINVAL;
	}
	if (is_other(id->id.send_cq, attr->send_cq) || is_other(id->id.recv_cq, attr->recv_cq))
		return -EINVAL;
	return 0;
}

/* The queues that are missing, at least of one entry, for a queue pair must have them. */
static int complete_attr(struct cm_id *id, struct ibv_qp_init_attr_ex *attr)
{
	bool is_xrc_target = attr->qp_type == IBV_QPT_XRC_RECV;
	uint32_t send = attr->send_cq || is_xrc_target ? 0 : attr->cap.max_send_wr;
	uint32_t recv = attr->recv_cq || is_xrc_target || attr->qp_type == IBV_QPT_XRC_SEND
				? 0
				: attr->cap.max_recv_wr;
	int error;

	if (is_xrc_target && (!(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !attr->xrcd)) {
		error = cm_device_xrcd(id, &attr->xrcd);
		if (error)
			return error;
		attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
	}
	error = cm_cqs_create(id, send, recv);
	if (error)
		return error;
	if (!attr->send_cq)
		attr->send_cq = id->id.send_cq;
	if (!attr->recv_cq)
		attr->recv_cq = id->id.recv_cq;
	/* A queue of size 0 is served by the other's. */
	if (!is_xrc_target && !attr->send_cq)
		attr->send_cq = attr->recv_cq;
	if (!is_xrc_target && !attr->recv_cq)
		attr->recv_cq = attr->send_cq;
	if (id->id.srq && !attr->srq)
		attr->srq = id->id.srq;
	return 0;
}

int rdma_create_qp_ex(struct rdma_cm_id *rid, struct ibv_qp_init_attr_ex *attr)
{
	struct cm_id *id = cm_id_of(rid);
	struct ibv_qp *qp;
	int error = check_attr(id, attr);

	if (!error)
		error = complete_attr(id, attr);
	if (error)
		return cm_fail(error);
	qp = ibv_create_qp_ex(rid->verbs, attr);
	if (!qp) {
		error = errno;
		cm_cqs_destroy(id);
		return cm_fail(error);
	}
	error = cm_is_datagram(id) ? start_datagram(id, qp) : start_connected(id, qp);
	if (error) {
		ibv_destroy_qp(qp);
		cm_cqs_destroy(id);
		return cm_fail(error);
	}
	rid->pd = qp->pd ? qp->pd : attr->pd;
	rid->qp = qp;
	return 0;
}

int rdma_create_qp(struct rdma_cm_id *rid, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex;

	memset(&ex, 0, sizeof(ex));
	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	ex.pd = pd ? pd : rid->pd;
	if (rdma_create_qp_ex(rid, &ex))
		return -1;
	memcpy(attr, &ex, sizeof(*attr));
	return 0;
}

void rdma_destroy_qp(struct rdma_cm_id *rid)
{
	if (rid->qp)
		ibv_destroy_qp(rid->qp);
	rid->qp = NULL;
	cm_cqs_destroy(cm_id_of(rid));
}
