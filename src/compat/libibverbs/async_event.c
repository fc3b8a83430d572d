/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous events of a context. Events of the port belong to no object that could be destroyed
 * under the program, so they count as acknowledged when they are delivered.
 */
#include "compat/libibverbs/compat.h"

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	struct roce_context *ctx = compat_roce_of(context);
	struct roce_event_source *src;
	uint32_t type;
	int err;

	if (roce_context_is_forked(ctx))
		return compat_minus_one(-COMPAT_FORKED);
	err = roce_events_get(&ctx->async, &src, &type);
	if (err)
		return compat_minus_one(err);
	memset(event, 0, sizeof(*event));
	event->event_type = (enum ibv_event_type)type;
	switch (src->kind) {
	case ROCE_EVENT_OF_PORT:
		event->element.port_num = 1;
		roce_event_source_ack(&ctx->async, src, 1);
		break;
	case ROCE_EVENT_OF_QP:
		event->element.qp = &((struct compat_qp *)src->owner)->ex.qp_base;
		break;
	case ROCE_EVENT_OF_CQ:
		event->element.cq = ibv_cq_ex_to_cq(&((struct compat_cq *)src->owner)->ex);
		break;
	case ROCE_EVENT_OF_SRQ:
		event->element.srq = &((struct compat_srq *)src->owner)->srq;
		break;
	}
	return 0;
}

static void ack(struct roce_context *ctx, struct roce_event_source *src)
{
	if (!roce_context_is_forked(ctx))
		roce_event_source_ack(&ctx->async, src, 1);
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR: {
		struct roce_verbs_cq *vcq = &compat_cq_of(event->element.cq)->vcq;

		ack(vcq->ctx, &vcq->async_events);
		break;
	}
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED: {
		struct roce_verbs_qp *vqp = compat_vqp_of(event->element.qp);

		ack(vqp->ctx, &vqp->events);
		break;
	}
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED: {
		struct roce_verbs_srq *vsrq = &compat_srq_of(event->element.srq)->vsrq;

		ack(vsrq->ctx, &vsrq->events);
		break;
	}
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
	case IBV_EVENT_WQ_FATAL:
		break;
	}
}
