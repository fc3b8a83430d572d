/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of each kind of QP to RTS with exactly the attributes that it needs. Called once a seed,
 * before the barrier behind which requests may arrive.
 */
#include <errno.h>
#include <string.h>

#include "tools/verbs_check/endpoint.h"

/* Attributes that the transition of a QP must have, beside the state. */
struct masks {
	int init;
	int rtr;
	int rts;
};

#define INIT_CONNECTED (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR_CONNECTED  (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define RTR_RESPONDER  (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_REQUESTER                                                           \
	(IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
	 IBV_QP_MAX_QP_RD_ATOMIC)

static const struct masks masks_rc = {INIT_CONNECTED, RTR_CONNECTED | RTR_RESPONDER, RTS_REQUESTER};
static const struct masks masks_uc = {INIT_CONNECTED, RTR_CONNECTED, IBV_QP_SQ_PSN};
static const struct masks masks_ud = {IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0,
				      IBV_QP_SQ_PSN};
static const struct masks masks_initiator = {INIT_CONNECTED, RTR_CONNECTED, RTS_REQUESTER};
static const struct masks masks_target = {INIT_CONNECTED, RTR_CONNECTED | RTR_RESPONDER,
					  IBV_QP_SQ_PSN | IBV_QP_TIMEOUT};

static enum vc_verdict modify(struct ibv_qp *qp, uint32_t q, struct ibv_qp_attr *attr, int mask,
			      const char *state, struct vc_report *report)
{
	int error = ibv_modify_qp(qp, attr, IBV_QP_STATE | mask);

	if (error)
		return vc_report_unusable(report, "qp %u to %s: %s", q, state, strerror(error));
	return VC_RIGHT;
}

static enum vc_verdict move_up(struct ibv_qp *qp, uint32_t q, struct ibv_qp_attr *attr,
			       const struct masks *masks, struct vc_report *report)
{
	enum vc_verdict verdict;

	attr->qp_state = IBV_QPS_INIT;
	verdict = modify(qp, q, attr, masks->init, "INIT", report);
	attr->qp_state = IBV_QPS_RTR;
	if (verdict == VC_RIGHT)
		verdict = modify(qp, q, attr, masks->rtr, "RTR", report);
	attr->qp_state = IBV_QPS_RTS;
	if (verdict == VC_RIGHT)
		verdict = modify(qp, q, attr, masks->rts, "RTS", report);
	return verdict;
}

static enum vc_verdict connect_one(struct vc_endpoint *endpoint, const struct vc_device *device,
				   const struct vc_program *program, uint32_t side, uint32_t q,
				   const struct vc_peer *peer, struct vc_report *report)
{
	const struct vc_lane *lane = &program->sides[side].lanes[q];
	const struct vc_lane *other = &program->sides[!side].lanes[q];
	struct ibv_qp_attr attr = {
		.port_num = device->port,
		.qp_access_flags = lane->access,
		.qkey = program->qkey,
		.path_mtu = program->mtu,
		.dest_qp_num = endpoint->remote_qpns[q],
		.rq_psn = other->psn,
		.max_dest_rd_atomic = (uint8_t)lane->dest_rd_atomic,
		.min_rnr_timer = (uint8_t)lane->min_rnr_timer,
		.ah_attr = {.is_global = 1,
			    .dlid = peer->lid,
			    .port_num = device->port,
			    .grh = {.dgid = peer->gid,
				    .sgid_index = device->gid_index,
				    .flow_label = (uint32_t)(program->seed * 16 + q) & 0xfffff,
				    .hop_limit = 64}},
		.sq_psn = lane->psn,
		.timeout = (uint8_t)lane->timeout,
		.retry_cnt = (uint8_t)lane->retry_cnt,
		.rnr_retry = (uint8_t)lane->rnr_retry,
		.max_rd_atomic = (uint8_t)lane->rd_atomic,
	};
	enum vc_verdict verdict;

	switch (program->transport) {
	case VC_TRANSPORT_UC:
		return move_up(endpoint->qps[q], q, &attr, &masks_uc, report);
	case VC_TRANSPORT_UD:
		return move_up(endpoint->qps[q], q, &attr, &masks_ud, report);
	case VC_TRANSPORT_XRC:
		/* Initiators speak to targets. What a target would send is never used. */
		verdict = move_up(endpoint->targets[q], q, &attr, &masks_target, report);
		attr.dest_qp_num = endpoint->remote_targets[q];
		if (verdict == VC_RIGHT)
			verdict = move_up(endpoint->qps[q], q, &attr, &masks_initiator, report);
		return verdict;
	case VC_TRANSPORT_RC:
	case VC_TRANSPORT_COUNT:
		break;
	}
	return move_up(endpoint->qps[q], q, &attr, &masks_rc, report);
}

enum vc_verdict vc_endpoint_connect(struct vc_endpoint *endpoint, const struct vc_device *device,
				    const struct vc_program *program, uint32_t side,
				    const struct vc_peer *peer, struct vc_report *report)
{
	enum vc_verdict verdict = VC_RIGHT;

	for (uint32_t q = 0; q < program->qp_count && verdict == VC_RIGHT; q++)
		verdict = connect_one(endpoint, device, program, side, q, peer, report);
	if (verdict == VC_RIGHT)
		verdict = vc_endpoint_check_state(endpoint, program, 0, IBV_QPS_RTS, report);
	return verdict;
}
