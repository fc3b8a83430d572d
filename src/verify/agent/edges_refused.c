/* SPDX-License-Identifier: BSD-2-Clause */
/* Kind `edges`: the longest message and full queues. */
#include "verify/agent/edges.h"
#include "verify/agent/room.h"

#include <stdlib.h>
#include <string.h>

#define PIECES_MAX 16u
#define DEPTH	   17u /* what a device makes of it is taken as it is */

/* ---- a message of one byte more than there may be ---- */

/* The same memory again and again: nothing of it is sent. */
static int post_too_long(struct va_endpoint *endpoint, const struct va_buffer *memory,
			 struct va_remote *remote, enum ibv_wr_opcode opcode, uint64_t bytes,
			 uint32_t pieces)
{
	struct ibv_sge list[PIECES_MAX];
	struct ibv_send_wr wr = {
		.sg_list = list,
		.num_sge = (int)pieces,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = remote->address, .rkey = remote->rkey},
	};
	struct ibv_send_wr *bad;
	uint64_t each = bytes / pieces;

	for (uint32_t i = 0; i < pieces; i++)
		list[i] = (struct ibv_sge){
			.addr = (uintptr_t)memory->at,
			.length = (uint32_t)(i ? each : bytes - each * (pieces - 1)),
			.lkey = memory->mr->lkey,
		};
	if (endpoint->target_qp)
		wr.qp_type.xrc.remote_srqn = endpoint->peer_srqn;
	return ibv_post_send(endpoint->qp, &wr, &bad);
}

void va_edges_message(struct va_run *run, struct va_edges *e)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						     IBV_WR_RDMA_READ};
	uint64_t bytes = (uint64_t)e->device.port_attr.max_msg_sz + 1;
	uint32_t pieces = (uint32_t)e->device.attr.max_sge < PIECES_MAX
				  ? (uint32_t)e->device.attr.max_sge
				  : PIECES_MAX;
	struct va_endpoint_config config = {
		.type = va_transport_type(va_word(run, "transport")),
		.pieces_max = pieces,
	};
	struct va_remote remote;
	struct va_buffer memory;
	struct ibv_wc wc;

	va_room_buffer(run, &e->device, run->is_initiator ? (size_t)(bytes / pieces + pieces) : 1,
		       VA_ACCESS_ALL, &memory);
	va_buffer_exchange(run, &memory, &remote);
	if (run->is_initiator && va_accepts(run, "rxe"))
		va_skip(run, "Soft-RoCE never ends a message that is too long, a known departure");
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		struct va_endpoint
			endpoint; /* one that refuses by a completion is of no more use */
		int rc;

		va_endpoint_create(run, &e->device, &config, &endpoint);
		va_endpoint_connect(run, &endpoint);
		if (run->is_initiator) {
			rc = post_too_long(&endpoint, &memory, &remote, opcodes[i], bytes, pieces);
			if (!rc) {
				va_wait(run, endpoint.send_cq, "a message that is too long", &wc);
				if (wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_LOC_LEN_ERR)
					va_fail(run,
						"a message that is too long ended with status %d "
						"(%s), expected %d",
						(int)wc.status, ibv_wc_status_str(wc.status),
						IBV_WC_LOC_LEN_ERR);
				rc = (int)wc.status;
			}
			va_edges_refused(run, e, rc, "a message of so many bytes", bytes);
		}
		va_barrier(run, "refused");
		va_endpoint_destroy(run, &endpoint);
	}
	e->edge = bytes - 1;
	va_buffer_destroy(run, &memory);
}

/* ---- full queues ---- */

static struct va_request nothing(struct va_buffer *memory, struct va_remote *remote, uint64_t wr_id)
{
	return (struct va_request){
		.opcode = IBV_WR_RDMA_WRITE,
		.local = memory,
		.remote = remote,
		.wr_id = wr_id,
	};
}

/* A queue may hold somewhat more than it states, for sizes are rounded up. False: without end. */
static bool is_still_room(uint32_t taken, uint32_t stated)
{
	return taken <= 4 * stated + 64;
}

/* Requests stand in their queue until their completions have been taken. */
static void fill_sends(struct va_run *run, struct va_edges *e, struct va_endpoint *endpoint,
		       struct va_buffer *memory, struct va_remote *remote)
{
	uint32_t stated = va_edges_cap(run, endpoint).max_send_wr;
	uint32_t before = 0;
	struct ibv_wc wc;

	for (uint32_t round = 0; round < 2; round++) {
		struct va_request request = nothing(memory, remote, 0);
		uint32_t taken = 0;

		while (is_still_room(taken, stated) && !va_try_post(endpoint, &request))
			request = nothing(memory, remote, ++taken);
		/* Soft-RoCE's has room again as soon as the request has been sent. */
		if (taken < stated || (!va_accepts(run, "rxe") && (!is_still_room(taken, stated) ||
								   (round && taken != before))))
			va_fail(run, "a queue of %u requests took %u, before %u", stated, taken,
				before);
		for (uint32_t i = 0; i < taken; i++) {
			va_wait_success(run, endpoint->send_cq, "a request of a full queue", &wc);
			if (wc.wr_id != i)
				va_fail(run, "request %u of a full queue completed as %llu", i,
					(unsigned long long)wc.wr_id);
		}
		before = taken;
		e->checked++;
	}
	e->edge = before;
	va_detail(run, "stated", json_integer(stated));
}

static int try_receive(struct va_endpoint *endpoint, uint64_t wr_id)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id};
	struct ibv_recv_wr *bad;

	return endpoint->srq ? ibv_post_srq_recv(endpoint->srq, &wr, &bad)
			     : ibv_post_recv(endpoint->qp, &wr, &bad);
}

static void fill_receives(struct va_run *run, struct va_edges *e, struct va_endpoint *endpoint)
{
	struct ibv_srq_attr srq = {0};
	uint32_t stated;
	uint32_t taken = 0;

	va_need(run, !endpoint->srq || !ibv_query_srq(endpoint->srq, &srq), "ibv_query_srq");
	stated = endpoint->srq ? srq.max_wr : va_edges_cap(run, endpoint).max_recv_wr;
	while (is_still_room(taken, stated) && !try_receive(endpoint, taken))
		taken++;
	if (!is_still_room(taken, stated) || taken < stated)
		va_fail(run, "a queue of %u receives took %u", stated, taken);
	e->checked++;
}

void va_edges_queues(struct va_run *run, struct va_edges *e)
{
	struct va_endpoint_config config = {
		.type = va_transport_type(va_word(run, "transport")),
		.send_depth = DEPTH,
		.receive_depth = DEPTH,
		.send_cq = ibv_create_cq(e->device.context, 1024, NULL, NULL, 0),
	};
	struct va_endpoint endpoint;
	struct va_buffer memory;
	struct va_remote remote;

	va_need(run, config.send_cq != NULL, "ibv_create_cq");
	va_endpoint_create(run, &e->device, &config, &endpoint);
	va_endpoint_connect(run, &endpoint);
	va_buffer_create(run, &e->device, 64, VA_ACCESS_ALL, &memory);
	va_buffer_exchange(run, &memory, &remote);
	if (run->is_initiator) {
		fill_sends(run, e, &endpoint, &memory, &remote);
		fill_receives(run, e, &endpoint);
	}
	va_barrier(run, "over");
	va_endpoint_destroy(run, &endpoint);
	va_need(run, !ibv_destroy_cq(config.send_cq), "ibv_destroy_cq");
	va_buffer_destroy(run, &memory);
}
