/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues of ids. One of an XRC target needs a completion queue and an XRC domain,
 * and gets the id's own when the program brings none.
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>
#include <string.h>

static int complete_xrc(struct cm_id *id, struct ibv_srq_init_attr_ex *attr)
{
	int error = 0;

	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD) || !attr->xrcd) {
		error = cm_device_xrcd(id, &attr->xrcd);
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD;
	}
	if (!error && (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ) || !attr->cq)) {
		error = cm_cqs_create(id, 0, attr->attr.max_wr);
		attr->cq = id->id.recv_cq;
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
	}
	return error;
}

int rdma_create_srq_ex(struct rdma_cm_id *rid, struct ibv_srq_init_attr_ex *attr)
{
	struct cm_id *id = cm_id_of(rid);
	struct ibv_srq *srq;
	int error = 0;

	if (!id->dev || !(attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE))
		return cm_fail(EINVAL);
	if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD) || !attr->pd) {
		attr->pd = rid->pd;
		attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	} else if (attr->pd->context != rid->verbs) {
		return cm_fail(EINVAL);
	}
	if (attr->srq_type == IBV_SRQT_XRC)
		error = complete_xrc(id, attr);
	if (error)
		return cm_fail(error);
	srq = ibv_create_srq_ex(rid->verbs, attr);
	if (!srq) {
		error = errno;
		if (!rid->qp && attr->srq_type == IBV_SRQT_XRC)
			cm_cqs_destroy(id);
		return cm_fail(error);
	}
	if (!rid->pd)
		rid->pd = attr->pd;
	rid->srq = srq;
	return 0;
}

int rdma_create_srq(struct rdma_cm_id *rid, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	struct ibv_srq_init_attr_ex ex;

	memset(&ex, 0, sizeof(ex));
	memcpy(&ex, attr, sizeof(*attr));
	ex.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	ex.srq_type = rid->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
	ex.pd = pd;
	if (rdma_create_srq_ex(rid, &ex))
		return -1;
	memcpy(attr, &ex, sizeof(*attr));
	return 0;
}

void rdma_destroy_srq(struct rdma_cm_id *rid)
{
	if (rid->srq)
		ibv_destroy_srq(rid->srq);
	rid->srq = NULL;
	if (!rid->qp)
		cm_cqs_destroy(cm_id_of(rid));
}
