/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sizes and offsets of rdma_cma.h that programs were compiled with (64-bit), and that our objects
 * begin with what their pointers are cast to. What is wrong does not compile; the program only says
 * so.
 */
#include "compat/librdmacm/rdmacm.h"

#include <stdio.h>

#define AT(type, member, offset) \
	_Static_assert(offsetof(struct type, member) == (offset), #type "." #member)
#define SIZE(type, size) _Static_assert(sizeof(struct type) == (size), #type)

AT(rdma_cm_id, verbs, 0);
AT(rdma_cm_id, channel, 8);
AT(rdma_cm_id, context, 16);
AT(rdma_cm_id, qp, 24);
AT(rdma_cm_id, route.addr.src_addr, 32);
AT(rdma_cm_id, route.addr.dst_addr, 160);
AT(rdma_cm_id, route.addr.addr.ibaddr.sgid, 288);
AT(rdma_cm_id, route.addr.addr.ibaddr.pkey, 320);
AT(rdma_cm_id, route.path_rec, 328);
AT(rdma_cm_id, route.num_paths, 336);
AT(rdma_cm_id, ps, 344);
AT(rdma_cm_id, port_num, 348);
AT(rdma_cm_id, event, 352);
AT(rdma_cm_id, send_cq_channel, 360);
AT(rdma_cm_id, send_cq, 368);
AT(rdma_cm_id, recv_cq_channel, 376);
AT(rdma_cm_id, recv_cq, 384);
AT(rdma_cm_id, srq, 392);
AT(rdma_cm_id, pd, 400);
AT(rdma_cm_id, qp_type, 408);
SIZE(rdma_cm_id, 416);

AT(rdma_cm_event, listen_id, 8);
AT(rdma_cm_event, event, 16);
AT(rdma_cm_event, status, 20);
AT(rdma_cm_event, param.conn.private_data, 24);
AT(rdma_cm_event, param.conn.private_data_len, 32);
AT(rdma_cm_event, param.conn.srq, 38);
AT(rdma_cm_event, param.conn.qp_num, 40);
AT(rdma_cm_event, param.ud.ah_attr, 40);
AT(rdma_cm_event, param.ud.qp_num, 72);
AT(rdma_cm_event, param.ud.qkey, 76);
SIZE(rdma_cm_event, 80);

AT(rdma_conn_param, responder_resources, 9);
AT(rdma_conn_param, initiator_depth, 10);
AT(rdma_conn_param, retry_count, 12);
AT(rdma_conn_param, qp_num, 16);
SIZE(rdma_conn_param, 24);

AT(rdma_addrinfo, ai_src_len, 16);
AT(rdma_addrinfo, ai_src_addr, 24);
AT(rdma_addrinfo, ai_route_len, 56);
AT(rdma_addrinfo, ai_connect, 80);
AT(rdma_addrinfo, ai_next, 88);
SIZE(rdma_addrinfo, 96);

AT(rdma_cm_join_mc_attr_ex, addr, 8);
SIZE(ibv_sa_path_rec, 64);
SIZE(ibv_path_data, 72);

/* Ours. */
AT(cm_id, id, 0);
AT(cm_channel, channel, 0);
AT(cm_event, event, 0);

int main(void)
{
	puts("layouts are right");
	return 0;
}
