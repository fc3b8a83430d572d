/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connection's queue pair, its buffers, and what the two sides tell each other about them. Each
 * side's ring of receive memory has two halves: the first is told in the connection data, later
 * ones are written into the peer's list (stream.c). Receives carry no memory: only immediate data
 * is received, the bytes come by RDMA WRITE.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rsocket/socket.h"

static size_t round_to_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

/* Whole pages of their own: a forked child then copies nothing that the device writes to. */
static int map_region(struct roce_rs *rs, size_t bytes, int access, uint8_t **out_memory,
		      struct ibv_mr **out_mr)
{
	void *memory = mmap(NULL, round_to_pages(bytes), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -ENOMEM;
	*out_mr = ibv_reg_mr(rs->id->pd, memory, bytes, (unsigned)access);
	if (!*out_mr) {
		munmap(memory, round_to_pages(bytes));
		return -errno;
	}
	*out_memory = memory;
	return 0;
}

static void unmap_region(uint8_t **memory, struct ibv_mr **mr)
{
	size_t bytes;

	if (!*mr)
		return;
	bytes = (*mr)->length;
	ibv_dereg_mr(*mr);
	munmap(*memory, round_to_pages(bytes));
	*mr = NULL;
	*memory = NULL;
}

static size_t list_bytes(const struct roce_rs *rs)
{
	return ROCE_RS_LIST_LENGTH * ROCE_RS_SGE_BYTES +
	       (size_t)rs->sizes.mapping_slots * ROCE_RS_MAPPING_BYTES;
}

static int create_buffers(struct roce_rs *rs)
{
	const int remote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	int error;

	rs->message_slots = (unsigned)rs->sizes.receive_wqes + 1;
	rs->messages = calloc(rs->message_slots, sizeof(*rs->messages));
	if (!rs->messages)
		return -ENOMEM;
	error = map_region(rs, rs->sizes.send_buffer, IBV_ACCESS_LOCAL_WRITE, &rs->send_ring,
			   &rs->send_mr);
	if (!error)
		error = map_region(rs, list_bytes(rs), remote, &rs->list, &rs->list_mr);
	if (!error)
		error = map_region(rs, rs->sizes.receive_ring, remote, &rs->ring, &rs->ring_mr);
	return error;
}

static void limit_queues(struct roce_rs *rs)
{
	struct ibv_device_attr attr;
	uint16_t max = ROCE_RS_WQES_MAX;

	if (!ibv_query_device(rs->id->verbs, &attr) && attr.max_qp_wr < max &&
	    attr.max_qp_wr >= ROCE_RS_WQES_MIN)
		max = (uint16_t)attr.max_qp_wr;
	if (rs->sizes.send_wqes > max)
		rs->sizes.send_wqes = max;
	if (rs->sizes.receive_wqes > max)
		rs->sizes.receive_wqes = max;
}

static int create_queues(struct roce_rs *rs)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {.max_send_wr = rs->sizes.send_wqes,
			.max_recv_wr = rs->sizes.receive_wqes,
			.max_send_sge = 2,
			.max_recv_sge = 1,
			.max_inline_data = rs->sizes.inline_bytes < ROCE_RS_INLINE_MIN
						   ? ROCE_RS_INLINE_MIN
						   : rs->sizes.inline_bytes},
	};

	rs->cq_channel = ibv_create_comp_channel(rs->id->verbs);
	if (!rs->cq_channel)
		return -errno;
	if (fcntl(rs->cq_channel->fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	rs->cq = ibv_create_cq(rs->id->verbs, rs->sizes.send_wqes + rs->sizes.receive_wqes, rs,
			       rs->cq_channel, 0);
	if (!rs->cq)
		return -errno;
	attr.send_cq = rs->cq;
	attr.recv_cq = rs->cq;
	if (rdma_create_qp(rs->id, NULL, &attr))
		return -errno;
	rs->inline_max = attr.cap.max_inline_data;
	return 0;
}

static int post_receives(struct roce_rs *rs)
{
	struct ibv_recv_wr wr = {.num_sge = 0}, *bad;

	for (unsigned i = 0; i < rs->sizes.receive_wqes; i++) {
		int error = ibv_post_recv(rs->id->qp, &wr, &bad);

		if (error)
			return -error;
	}
	return 0;
}

int roce_rs_endpoint_create(struct roce_rs *rs)
{
	int error;

	limit_queues(rs);
	rs->sizes.receive_ring &= ~UINT32_C(1); /* two equal halves */
	error = create_queues(rs);
	if (!error)
		error = create_buffers(rs);
	if (!error)
		error = post_receives(rs);
	if (error) {
		roce_rs_endpoint_destroy(rs);
		return error;
	}
	rs->send_room = (unsigned)rs->sizes.send_wqes - ROCE_RS_CONTROL_SENDS;
	rs->control_room = ROCE_RS_CONTROL_SENDS;
	rs->send_free = rs->sizes.send_buffer;
	rs->ring_free = rs->sizes.receive_ring / 2;
	rs->publish_position = rs->sizes.receive_ring / 2;
	rs->credit_threshold = rs->sizes.receive_wqes / 2;
	return 0;
}

void roce_rs_endpoint_destroy(struct roce_rs *rs)
{
	struct roce_list *pos, *tmp;

	if (rs->id && rs->id->qp)
		rdma_destroy_qp(rs->id);
	if (rs->cq)
		ibv_destroy_cq(rs->cq);
	rs->cq = NULL;
	if (rs->cq_channel)
		ibv_destroy_comp_channel(rs->cq_channel);
	rs->cq_channel = NULL;
	roce_list_for_each_safe (pos, tmp, &rs->mappings) {
		struct roce_rs_mapping *m = roce_container_of(pos, struct roce_rs_mapping, link);

		roce_list_remove(&m->link);
		ibv_dereg_mr(m->mr);
		free(m);
	}
	unmap_region(&rs->ring, &rs->ring_mr);
	unmap_region(&rs->list, &rs->list_mr);
	unmap_region(&rs->send_ring, &rs->send_mr);
	free(rs->messages);
	rs->messages = NULL;
}

void roce_rs_endpoint_describe(const struct roce_rs *rs, uint8_t *out_connect_data)
{
	struct roce_rs_connect_data d = {
		.version = ROCE_RS_VERSION,
		.flags = ROCE_RS_FLAG_MAPPINGS,
		.credits = rs->sizes.receive_wqes,
		.mapping_slots = rs->sizes.mapping_slots,
		.list = {.address = (uintptr_t)rs->list,
			 .rkey = rs->list_mr->rkey,
			 .length = ROCE_RS_LIST_LENGTH},
		.ring = {.address = (uintptr_t)rs->ring,
			 .rkey = rs->ring_mr->rkey,
			 .length = rs->sizes.receive_ring / 2},
	};

	if (roce_rs_host_is_big_endian())
		d.flags |= ROCE_RS_FLAG_BIG_ENDIAN;
	roce_rs_connect_encode(&d, out_connect_data);
}

int roce_rs_endpoint_apply(struct roce_rs *rs, const uint8_t *data, size_t length)
{
	struct roce_rs_connect_data d;

	if (length < ROCE_RS_CONNECT_BYTES)
		return -EPROTONOSUPPORT;
	roce_rs_connect_decode(data, &d);
	if (d.version != ROCE_RS_VERSION || !d.list.length)
		return -EPROTONOSUPPORT;
	rs->is_peer_swapped = !!(d.flags & ROCE_RS_FLAG_BIG_ENDIAN) != roce_rs_host_is_big_endian();
	rs->sent_limit = d.credits;
	rs->target[0] = d.ring;
	rs->peer_list = d.list;
	rs->peer_list_next = d.list.length > 1 ? 1 : 0;
	if (d.flags & ROCE_RS_FLAG_MAPPINGS)
		rs->peer_mappings = (struct roce_rs_sge){
			.address = d.list.address + (uint64_t)d.list.length * ROCE_RS_SGE_BYTES,
			.rkey = d.list.rkey,
			.length = d.mapping_slots,
		};
	return 0;
}
