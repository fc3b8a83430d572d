/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Multicast groups of datagram ids. Joining is local on RoCE: an ordinary socket holds the
 * membership, so that the kernel speaks IGMP, and the MGID is the group's address. Reading the
 * event attaches the queue pair; leaving, or destroying the id, undoes both. IPv6 groups are
 * refused as Linux refuses them on RoCEv2.
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MULTICAST_QPN 0xffffff
#define HOP_LIMIT     64
#define NOT_SUPPORTED 524 /* Linux's own ENOTSUPP, which has no name here */

static int join_group(const struct sockaddr *addr, uint32_t ifindex, int *out_sock)
{
	struct ip_mreqn request = {.imr_ifindex = (int)ifindex};
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error;

	if (sock < 0)
		return -errno;
	request.imr_multiaddr = ((const struct sockaddr_in *)(const void *)addr)->sin_addr;
	if (setsockopt(sock, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof(request))) {
		error = -errno;
		close(sock);
		return error;
	}
	*out_sock = sock;
	return 0;
}

static int check_join(const struct cm_id *id, const struct rdma_cm_join_mc_attr_ex *attr)
{
	const uint32_t needed = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED)
		return -ENOTSUP;
	if ((attr->comp_mask & needed) != needed || !attr->addr)
		return -EINVAL;
	if (attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return -EINVAL;
	if (!id->dev || !cm_is_datagram(id) || !cm_sockaddr_length(attr->addr) ||
	    cm_sockaddr_is_zero(attr->addr))
		return -EINVAL;
	if (attr->addr->sa_family == AF_INET6)
		return -NOT_SUPPORTED;
	return cm_sockaddr_is_multicast(attr->addr) ? 0 : -EINVAL;
}

static struct cm_group *make_group(const struct sockaddr *addr, void *context)
{
	struct cm_group *g = calloc(1, sizeof(*g));
	struct roce_gid gid;

	if (!g)
		return NULL;
	memcpy(&g->addr, addr, cm_sockaddr_length(addr));
	cm_gid_from_sockaddr(addr, &gid);
	memcpy(g->mgid.raw, gid.raw, 16);
	g->context = context;
	g->sock = -1;
	return g;
}

static void free_group(struct cm_group *g)
{
	if (g->sock >= 0)
		close(g->sock);
	free(g);
}

static struct cm_event *make_join_event(struct cm_id *id, struct cm_group *g)
{
	struct cm_event *ev = cm_event_make(id, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	struct rdma_ud_param *p;

	if (!ev)
		return NULL;
	ev->group = g;
	p = &ev->event.param.ud;
	p->private_data = g->context;
	p->qp_num = MULTICAST_QPN;
	p->qkey = RDMA_UDP_QKEY;
	return ev;
}

/* The address vector with the group for the peer. */
static void fill_ah_attr(const struct cm_id *id, const struct cm_group *g, struct ibv_ah_attr *out)
{
	struct roce_gid local;
	int index;

	memset(out, 0, sizeof(*out));
	cm_gid_from_sockaddr(&id->id.route.addr.src_addr, &local);
	index = cm_device_gid_index(id->dev, &local);
	out->grh.dgid = g->mgid;
	out->grh.sgid_index = (uint8_t)(index < 0 ? 0 : index);
	out->grh.hop_limit = HOP_LIMIT;
	out->grh.traffic_class = id->tos;
	out->is_global = 1;
	out->port_num = id->id.port_num;
}

int rdma_join_multicast_ex(struct rdma_cm_id *rid, struct rdma_cm_join_mc_attr_ex *attr,
			   void *context)
{
	struct cm_id *id = cm_id_of(rid);
	int error = check_join(id, attr);
	struct cm_group *g;
	struct cm_event *ev;

	if (error)
		return cm_fail(error);
	g = make_group(attr->addr, context);
	ev = g ? make_join_event(id, g) : NULL;
	error = ev ? 0 : -ENOMEM;
	if (!error && attr->join_flags == RDMA_MC_JOIN_FLAG_FULLMEMBER)
		error = join_group(attr->addr, id->ifindex, &g->sock);
	if (error) {
		free(ev);
		if (g)
			free_group(g);
		return cm_fail(error);
	}
	fill_ah_attr(id, g, &ev->event.param.ud.ah_attr);
	pthread_mutex_lock(&cm_lock);
	roce_list_add_tail(&id->groups, &g->link);
	cm_event_post(ev);
	pthread_mutex_unlock(&cm_lock);
	return cm_complete(id);
}

int rdma_join_multicast(struct rdma_cm_id *rid, struct sockaddr *addr, void *context)
{
	struct rdma_cm_join_mc_attr_ex attr = {.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS |
							    RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
					       .join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER,
					       .addr = addr};

	return rdma_join_multicast_ex(rid, &attr, context);
}

int cm_group_attach(struct cm_event *ev)
{
	struct cm_group *g = ev->group;
	int error;

	if (!ev->id->id.qp || g->sock < 0)
		return 0;
	error = ibv_attach_mcast(ev->id->id.qp, &g->mgid, 0);
	g->is_attached = !error;
	return -error;
}

/* The group is off the id's list. */
static void leave(struct cm_id *id, struct cm_group *g)
{
	struct cm_event *held = id->id.event ? (struct cm_event *)id->id.event : NULL;
	struct roce_list events, *pos, *tmp;

	if (g->is_attached && id->id.qp)
		ibv_detach_mcast(id->id.qp, &g->mgid, 0);
	if (held && held->group == g) {
		rdma_ack_cm_event(id->id.event);
		id->id.event = NULL;
	}
	roce_list_init(&events);
	pthread_mutex_lock(&cm_lock);
	cm_channel_take(cm_channel_of(id->id.channel), id, g, &events);
	while (g->unacked)
		pthread_cond_wait(&cm_acked, &cm_lock);
	pthread_mutex_unlock(&cm_lock);
	roce_list_for_each_safe (pos, tmp, &events)
		free(roce_container_of(pos, struct cm_event, link));
	free_group(g);
}

/* Takes it off the list. addr NULL: any. */
static struct cm_group *take_group(struct cm_id *id, const struct sockaddr *addr)
{
	struct cm_group *found = NULL;
	struct roce_list *pos;

	pthread_mutex_lock(&cm_lock);
	roce_list_for_each (pos, &id->groups) {
		struct cm_group *g = roce_container_of(pos, struct cm_group, link);

		if (addr && memcmp(&g->addr, addr, cm_sockaddr_length(addr)) != 0)
			continue;
		roce_list_remove(&g->link);
		found = g;
		break;
	}
	pthread_mutex_unlock(&cm_lock);
	return found;
}

void cm_groups_leave(struct cm_id *id)
{
	struct cm_group *g;

	while ((g = take_group(id, NULL)))
		leave(id, g);
}

int rdma_leave_multicast(struct rdma_cm_id *rid, struct sockaddr *addr)
{
	struct cm_id *id = cm_id_of(rid);
	struct cm_group *g;

	if (!addr || !cm_sockaddr_length(addr))
		return cm_fail(EINVAL);
	g = take_group(id, addr);
	if (!g)
		return cm_fail(EADDRNOTAVAIL);
	leave(id, g);
	return 0;
}
