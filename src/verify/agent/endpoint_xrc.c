/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an endpoint of XRC is made of beside its initiator queue pair: a domain, a target queue pair
 * that the partner's requests come to, and the shared queue that they name. Each endpoint has them
 * to itself, so that a message goes where the endpoint's receives are, as with other transports.
 */
#include "verify/agent/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static struct ibv_qp *make_initiator(struct va_endpoint *endpoint,
				     const struct ibv_qp_init_attr *attr, uint32_t inline_max)
{
	struct ibv_qp_init_attr_ex extended = {
		.qp_type = IBV_QPT_XRC_SEND,
		.send_cq = attr->send_cq,
		.cap = {.max_send_wr = attr->cap.max_send_wr,
			.max_send_sge = attr->cap.max_send_sge,
			.max_inline_data = inline_max},
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = endpoint->device->pd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(endpoint->device->context, &extended);

	endpoint->inline_max = qp ? extended.cap.max_inline_data : 0;
	return qp;
}

static struct ibv_srq *make_queue(struct va_endpoint *endpoint, const struct ibv_qp_init_attr *attr)
{
	struct ibv_srq_init_attr_ex extended = {
		.attr = {.max_wr = attr->cap.max_recv_wr, .max_sge = attr->cap.max_recv_sge},
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = endpoint->device->pd,
		.xrcd = endpoint->xrcd,
		.cq = endpoint->recv_cq,
	};

	return ibv_create_srq_ex(endpoint->device->context, &extended);
}

int va_endpoint_xrc_try(struct va_run *run, struct va_endpoint *endpoint,
			const struct ibv_qp_init_attr *attr)
{
	struct ibv_context *context = endpoint->device->context;
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};
	struct ibv_qp_init_attr_ex target = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};

	if (!(endpoint->device->attr.device_cap_flags & IBV_DEVICE_XRC))
		va_skip(run, "the device has no XRC");
	endpoint->xrcd = ibv_open_xrcd(context, &domain);
	if (!endpoint->xrcd)
		return errno;
	endpoint->srq = make_queue(endpoint, attr);
	if (!endpoint->srq)
		return errno;
	target.xrcd = endpoint->xrcd;
	endpoint->target_qp = ibv_create_qp_ex(context, &target);
	if (!endpoint->target_qp)
		return errno;
	endpoint->qp = make_initiator(endpoint, attr, attr->cap.max_inline_data);
	if (!endpoint->qp && attr->cap.max_inline_data)
		endpoint->qp = make_initiator(endpoint, attr, 0);
	return endpoint->qp ? 0 : errno;
}

uint32_t va_endpoint_xrc_srqn(const struct va_endpoint *endpoint)
{
	uint32_t number = 0;

	if (endpoint->target_qp)
		(void)ibv_get_srq_num(endpoint->srq, &number);
	return number;
}

static void gone(struct va_run *run, int rc, const char *what)
{
	if (rc)
		va_fail(run, "%s: %s", what, strerror(rc));
}

void va_endpoint_xrc_destroy(struct va_run *run, struct va_endpoint *endpoint)
{
	gone(run, ibv_destroy_qp(endpoint->target_qp), "ibv_destroy_qp of an XRC target");
	gone(run, ibv_destroy_srq(endpoint->srq), "ibv_destroy_srq");
	gone(run, ibv_close_xrcd(endpoint->xrcd), "ibv_close_xrcd");
}
