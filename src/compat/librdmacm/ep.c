/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdma_create_ep(): the calls that a program would make one after the other, on a synchronous id,
 * from what rdma_getaddrinfo() found.
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RESOLVE_MS 2000

/* The attributes are kept for the children that rdma_get_request() will find. */
static int make_passive(struct cm_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
			const struct ibv_qp_init_attr *attr)
{
	if (rdma_bind_addr(&id->id, res->ai_src_addr))
		return -1;
	if (pd)
		id->id.pd = pd;
	if (!attr)
		return 0;
	id->qp_attr = malloc(sizeof(*attr));
	if (!id->qp_attr)
		return cm_fail(ENOMEM);
	*id->qp_attr = *attr;
	id->qp_attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	return 0;
}

static int find_route(struct cm_id *id, const struct rdma_addrinfo *res)
{
	if (rdma_resolve_addr(&id->id, res->ai_src_addr, res->ai_dst_addr, RESOLVE_MS))
		return -1;
	if (res->ai_route_len)
		return rdma_set_option(&id->id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, res->ai_route,
				       res->ai_route_len);
	return rdma_resolve_route(&id->id, RESOLVE_MS);
}

static int make_active(struct cm_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
		       struct ibv_qp_init_attr *attr)
{
	if (find_route(id, res))
		return -1;
	if (attr) {
		attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
		if (rdma_create_qp(&id->id, pd, attr))
			return -1;
	}
	if (!res->ai_connect_len)
		return 0;
	id->connect_data = malloc(res->ai_connect_len);
	if (!id->connect_data)
		return cm_fail(ENOMEM);
	memcpy(id->connect_data, res->ai_connect, res->ai_connect_len);
	id->connect_length = res->ai_connect_len;
	return 0;
}

int rdma_create_ep(struct rdma_cm_id **rid, struct rdma_addrinfo *res, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *qp_init_attr)
{
	struct rdma_cm_id *made;
	int rc;

	if (rdma_create_id(NULL, &made, NULL, (enum rdma_port_space)res->ai_port_space))
		return -1;
	made->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	rc = res->ai_flags & RAI_PASSIVE ? make_passive(cm_id_of(made), res, pd, qp_init_attr)
					 : make_active(cm_id_of(made), res, pd, qp_init_attr);
	if (rc) {
		int error = errno;

		rdma_destroy_ep(made);
		return cm_fail(error);
	}
	*rid = made;
	return 0;
}

void rdma_destroy_ep(struct rdma_cm_id *rid)
{
	if (rid->qp)
		rdma_destroy_qp(rid);
	if (rid->srq)
		rdma_destroy_srq(rid);
	rdma_destroy_id(rid);
}
