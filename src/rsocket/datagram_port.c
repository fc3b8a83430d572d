/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One local address of a datagram socket: an id of the connection manager, which reserves the
 * address and port among rsockets, and a UD queue pair with its memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "rsocket/address.h"
#include "rsocket/datagram.h"
#include "rsocket/socket.h"

#define SLOTS_MIN     1
#define SLOT_RECEIVED (ROCE_DS_GRH_BYTES + ROCE_DS_SLOT_BYTES)
#define HOP_LIMIT     64
#define RESOLVE_MS    2000

uint8_t *roce_ds_port_receive_slot(const struct roce_ds_port *port, unsigned slot)
{
	return port->memory + (size_t)slot * SLOT_RECEIVED;
}

uint8_t *roce_ds_port_send_slot(const struct roce_ds_port *port, unsigned slot)
{
	return port->memory + (size_t)port->receive_slots * SLOT_RECEIVED +
	       (size_t)slot * ROCE_DS_SLOT_BYTES;
}

int roce_ds_port_post_receive(struct roce_ds_port *port, unsigned slot)
{
	struct ibv_sge sge = {.addr = (uintptr_t)roce_ds_port_receive_slot(port, slot),
			      .length = SLOT_RECEIVED,
			      .lkey = port->mr->lkey};
	struct ibv_recv_wr *bad, wr = {.wr_id = slot, .sg_list = &sge, .num_sge = 1};

	return -ibv_post_recv(port->id->qp, &wr, &bad);
}

static void gid_of(const struct sockaddr *a, union ibv_gid *out)
{
	memset(out, 0, sizeof(*out));
	if (a->sa_family == AF_INET) {
		out->raw[10] = 0xff;
		out->raw[11] = 0xff;
		memcpy(out->raw + 12, &((const struct sockaddr_in *)(const void *)a)->sin_addr, 4);
	} else {
		memcpy(out->raw, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, 16);
	}
}

static int find_gid_index(struct roce_ds_port *port)
{
	struct ibv_port_attr attr;
	union ibv_gid wanted, gid;

	gid_of((struct sockaddr *)&port->local, &wanted);
	if (ibv_query_port(port->id->verbs, port->id->port_num, &attr))
		return -ENODEV;
	port->path_mtu = 128U << attr.active_mtu;
	for (int i = 0; i < attr.gid_tbl_len; i++) {
		if (ibv_query_gid(port->id->verbs, port->id->port_num, i, &gid))
			continue;
		if (!memcmp(gid.raw, wanted.raw, sizeof(gid.raw))) {
			port->gid_index = i;
			return 0;
		}
	}
	return -EADDRNOTAVAIL;
}

struct ibv_ah *roce_ds_port_create_ah(const struct roce_ds_port *port, const struct sockaddr *peer)
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = port->id->port_num,
		.grh = {.sgid_index = (uint8_t)port->gid_index, .hop_limit = HOP_LIMIT},
	};

	gid_of(peer, &attr.grh.dgid);
	return ibv_create_ah(port->id->pd, &attr);
}

static unsigned slots_of(uint32_t buffer, uint16_t wqes)
{
	unsigned slots = buffer / ROCE_DS_SLOT_BYTES;

	if (slots > wqes)
		slots = wqes;
	return slots < SLOTS_MIN ? SLOTS_MIN : slots;
}

static int create_queues(struct roce_rs *rs, struct roce_ds_port *port)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = port->send_slots,
			.max_recv_wr = port->receive_slots,
			.max_send_sge = 1,
			.max_recv_sge = 1},
	};

	port->channel = ibv_create_comp_channel(port->id->verbs);
	if (!port->channel || fcntl(port->channel->fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	port->cq = ibv_create_cq(port->id->verbs, (int)(port->send_slots + port->receive_slots), rs,
				 port->channel, 0);
	if (!port->cq)
		return -errno;
	attr.send_cq = port->cq;
	attr.recv_cq = port->cq;
	return rdma_create_qp(port->id, NULL, &attr) ? -errno : 0;
}

static int create_memory(struct roce_ds_port *port)
{
	size_t bytes = (size_t)port->receive_slots * SLOT_RECEIVED +
		       (size_t)port->send_slots * ROCE_DS_SLOT_BYTES;
	int error = 0;

	port->memory = calloc(1, bytes);
	if (!port->memory)
		return -ENOMEM;
	port->mr = ibv_reg_mr(port->id->pd, port->memory, bytes, IBV_ACCESS_LOCAL_WRITE);
	if (!port->mr)
		return -errno;
	for (unsigned i = 0; i < port->receive_slots && !error; i++)
		error = roce_ds_port_post_receive(port, i);
	return error;
}

/* The address and port among rsockets, and a device. Binding to a loopback address alone finds no
 * device, resolving it as a destination does. */
static int reserve(struct roce_rs *rs, struct roce_ds_port *port)
{
	struct sockaddr *local = (struct sockaddr *)&port->local;

	if (rdma_create_id(NULL, &port->id, rs, RDMA_PS_UDP) || rdma_bind_addr(port->id, local))
		return -errno;
	if (!port->id->verbs && rdma_resolve_addr(port->id, NULL, local, RESOLVE_MS))
		return -errno;
	return port->id->verbs ? 0 : -ENODEV;
}

static int create(struct roce_rs *rs, const struct sockaddr *local, struct roce_ds_port **out)
{
	struct roce_ds_port *port = calloc(1, sizeof(*port));
	int error;

	if (!port)
		return -ENOMEM;
	memcpy(&port->local, local, roce_rs_address_length(local));
	port->receive_slots = slots_of(rs->sizes.receive_ring, rs->sizes.receive_wqes);
	port->send_slots = slots_of(rs->sizes.send_buffer, rs->sizes.send_wqes);
	port->send_free = port->send_slots;
	error = reserve(rs, port);
	if (!error) {
		error = find_gid_index(port);
		if (!error)
			error = create_queues(rs, port);
		if (!error)
			error = create_memory(port);
	}
	if (error) {
		roce_ds_port_destroy(port);
		return error;
	}
	*out = port;
	return 0;
}

void roce_ds_port_destroy(struct roce_ds_port *port)
{
	if (!port)
		return;
	if (port->id && port->id->qp)
		rdma_destroy_qp(port->id);
	if (port->mr)
		ibv_dereg_mr(port->mr);
	free(port->memory);
	if (port->cq)
		ibv_destroy_cq(port->cq);
	if (port->channel)
		ibv_destroy_comp_channel(port->channel);
	if (port->id)
		rdma_destroy_id(port->id);
	free(port);
}

int roce_ds_port_get(struct roce_rs *rs, const struct sockaddr *local, struct roce_ds_port **out)
{
	struct roce_ds *ds = rs->datagram;
	int error;

	for (unsigned i = 0; i < ds->port_count; i++)
		if (roce_rs_address_is_same_host((struct sockaddr *)&ds->ports[i]->local, local)) {
			*out = ds->ports[i];
			return 0;
		}
	if (ds->port_count == ROCE_DS_PORTS_MAX)
		return -ENOBUFS;
	error = create(rs, local, out);
	if (!error)
		ds->ports[ds->port_count++] = *out;
	return error;
}
