/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rdma_resolve_route() on RoCE: the path record is made here, from the addresses and the port, and
 * the event follows at once. A program may also bring its own paths (RDMA_OPTION_IB_PATH).
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HOP_LIMIT   64
#define PACKET_LIFE 16 /* 4.096 us x 2^16 = 268 ms, as Linux assumes for RoCE */
#define EXACTLY	    2  /* selector of a path record's MTU, rate, life time */
#define PATHS_MAX   8

/* As Linux does, so that a flow takes the same way from either implementation. */
static uint32_t flow_label(const struct rdma_addr *addr)
{
	uint32_t given = addr->dst_addr.sa_family == AF_INET6
				 ? be32toh(addr->dst_sin6.sin6_flowinfo) & 0xfffff
				 : 0;

	if (given)
		return given;
	return ((uint32_t)cm_sockaddr_port(&addr->src_addr) * 31 +
		cm_sockaddr_port(&addr->dst_addr)) &
	       0xfffff;
}

static int make_path(struct cm_id *id)
{
	struct roce_cm_path *p = &id->path;
	struct ibv_port_attr port;
	int error = ibv_query_port(id->id.verbs, id->id.port_num, &port);

	if (error)
		return -error;
	p->flow_label = flow_label(&id->id.route.addr);
	p->hop_limit = HOP_LIMIT;
	p->traffic_class = id->tos;
	p->sl = 0;
	p->mtu = (uint8_t)port.active_mtu;
	p->rate = 0;
	p->packet_life = PACKET_LIFE;
	if (id->has_ack_timeout && id->ack_timeout)
		p->packet_life = (uint8_t)(id->ack_timeout - 1);
	return 0;
}

/* The record that programs look at. */
void cm_route_fill(struct cm_id *id)
{
	struct rdma_route *route = &id->id.route;
	const struct roce_cm_path *p = &id->path;
	struct ibv_sa_path_rec *rec;

	if (!route->path_rec)
		route->path_rec = calloc(1, sizeof(*route->path_rec));
	rec = route->path_rec;
	if (!rec)
		return;
	memcpy(rec->dgid.raw, p->remote.raw, 16);
	memcpy(rec->sgid.raw, p->local.gid.raw, 16);
	rec->flow_label = htobe32(p->flow_label);
	rec->hop_limit = p->hop_limit;
	rec->traffic_class = p->traffic_class;
	rec->reversible = 1;
	rec->numb_path = 1;
	rec->pkey = htobe16(p->pkey);
	rec->sl = p->sl;
	rec->mtu_selector = EXACTLY;
	rec->mtu = p->mtu;
	rec->rate_selector = EXACTLY;
	rec->rate = p->rate;
	rec->packet_life_time_selector = EXACTLY;
	rec->packet_life_time = p->packet_life;
	route->num_paths = 1;
}

static int post_resolved(struct cm_id *id)
{
	struct cm_event *ev = cm_event_make(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);

	if (!ev)
		return -ENOMEM;
	id->state = CM_ROUTE_RESOLVED;
	pthread_mutex_lock(&cm_lock);
	cm_event_post(ev);
	pthread_mutex_unlock(&cm_lock);
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *rid, int timeout_ms)
{
	struct cm_id *id = cm_id_of(rid);
	int error;

	if (id->state != CM_ADDR_RESOLVED || !id->dev || timeout_ms <= 0)
		return cm_fail(EINVAL);
	error = make_path(id);
	if (!error)
		error = post_resolved(id);
	return error ? cm_fail(error) : cm_complete(id);
}

/* RoCE has one path; of several the primary one, or the first, is taken. */
static const struct ibv_path_record *choose(const struct ibv_path_data *paths, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (paths[i].flags & IBV_PATH_FLAG_PRIMARY)
			return &paths[i].path;
	return &paths[0].path;
}

int cm_route_set_paths(struct cm_id *id, const struct ibv_path_data *paths, size_t count)
{
	const struct ibv_path_record *rec;
	struct roce_cm_path *p = &id->path;
	uint32_t word;

	if (id->state != CM_ADDR_RESOLVED || !id->dev || !count || count > PATHS_MAX)
		return -EINVAL;
	rec = choose(paths, count);
	word = be32toh(rec->flowlabel_hoplimit);
	memcpy(p->local.gid.raw, rec->sgid.raw, 16);
	memcpy(p->remote.raw, rec->dgid.raw, 16);
	p->flow_label = word >> 8 & 0xfffff;
	p->hop_limit = (uint8_t)word;
	p->traffic_class = rec->tclass;
	p->pkey = be16toh(rec->pkey);
	p->sl = be16toh(rec->qosclass_sl) & 0xf;
	p->mtu = rec->mtu & 0x3f;
	p->rate = rec->rate & 0x3f;
	p->packet_life = rec->packetlifetime & 0x3f;
	return post_resolved(id);
}
