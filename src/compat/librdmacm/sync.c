/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Synchronous ids: a call that starts something waits for the next event of the id, whatever it is,
 * and its status becomes the call's result. rdma_get_request() waits for a child in the same way.
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>

static int status_to_error(const struct rdma_cm_event *event)
{
	if (!event->status)
		return 0;
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return ECONNREFUSED;
	return event->status < 0 ? -event->status : event->status;
}

int cm_complete(struct cm_id *id)
{
	int error;

	if (!id->is_sync)
		return 0;
	if (id->id.event) {
		rdma_ack_cm_event(id->id.event);
		id->id.event = NULL;
	}
	if (rdma_get_cm_event(id->id.channel, &id->id.event))
		return -1;
	error = status_to_error(id->id.event);
	return error ? cm_fail(error) : 0;
}

/* The child gets the queue pair that rdma_create_ep() was told of. */
static int adopt_child(struct cm_id *listener, struct rdma_cm_event *event)
{
	struct rdma_cm_id *child = event->id;
	struct ibv_qp_init_attr attr;

	child->event = event;
	if (!listener->qp_attr)
		return 0;
	attr = *listener->qp_attr;
	return rdma_create_qp(child, listener->id.pd, &attr);
}

int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	struct cm_id *listener = cm_id_of(listen);
	struct rdma_cm_event *event;
	int error;

	if (!listener->is_sync)
		return cm_fail(EINVAL);
	if (listen->event) {
		rdma_ack_cm_event(listen->event);
		listen->event = NULL;
	}
	if (rdma_get_cm_event(listen->channel, &event))
		return -1;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		listen->event = event;
		return cm_fail(EINVAL);
	}
	if (event->status) {
		error = event->status < 0 ? -event->status : event->status;
		listen->event = event;
		return cm_fail(error);
	}
	if (adopt_child(listener, event)) {
		struct rdma_cm_id *child = event->id;

		error = errno;
		rdma_reject(child, NULL, 0);
		rdma_destroy_id(child); /* and its event */
		return cm_fail(error);
	}
	*id = event->id;
	return 0;
}
