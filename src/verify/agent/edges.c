/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `edges`: limits that a device or a queue pair states, used to the last one, and one more
 * that must be refused: by the call, or by a completion that says so. Here lists of pieces and
 * inline data; queues and the longest message are in edges_refused.c, memory windows in
 * edges_window.c, the queues of XRC in edges_xrc.c.
 */
#include "verify/agent/edges.h"
#include "verify/agent/kind.h"

#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES 24u
#define BESIDE	    0x5a /* stands beside what is sent, so that it is seen where it does not belong */
#define SHAPES	    5

/* ---- lists of pieces ---- */

struct pieces {
	struct va_edges *edges;
	struct va_endpoint endpoint;
	struct va_buffer from; /* where a message's bytes are taken from, backwards */
	struct va_buffer to;
	struct va_remote remote;
	uint32_t count; /* the most there are */
};

/* How long a piece is: none is empty, every second, the first, the last, all. */
static uint32_t length_of(uint32_t shape, uint32_t i, uint32_t count)
{
	switch (shape) {
	case 0:
		return i % PIECE_BYTES + 1;
	case 1:
		return i % 2 ? 0 : PIECE_BYTES - i % 3;
	case 2:
		return i ? PIECE_BYTES : 0;
	case 3:
		return i + 1 < count ? PIECE_BYTES : 0;
	default:
		return 0;
	}
}

static uint32_t total_of(uint32_t shape, uint32_t count)
{
	uint32_t total = 0;

	for (uint32_t i = 0; i < count; i++)
		total += length_of(shape, i, count);
	return total;
}

/* The last piece comes first in memory, with gaps between them. A receive has the lengths of its
 * message the other way round, so that no piece ends where one of the request does. */
static void make_list(const struct pieces *p, const struct va_buffer *memory, uint32_t shape,
		      bool is_receive, struct ibv_sge *list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		list[i] = (struct ibv_sge){
			.addr = (uintptr_t)memory->at + (size_t)(count - 1 - i) * (PIECE_BYTES + 1),
			.length = length_of(shape, is_receive ? count - 1 - i : i, p->count),
			.lkey = memory->mr->lkey,
		};
}

/* Byte k of the list's message has byte k of the pattern. */
static void fill_list(struct va_run *run, const struct ibv_sge *list, uint32_t count)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < count; at += list[i++].length)
		va_pattern_fill((uint8_t *)(uintptr_t)list[i].addr, list[i].length, run->seed, at);
}

/* And what lies between the pieces is as it was: zeros, as the pieces are when they were looked at.
 */
static void check_list(struct va_run *run, const struct va_buffer *memory,
		       const struct ibv_sge *list, uint32_t count, const char *what)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < count; at += list[i++].length) {
		uint8_t *piece = (uint8_t *)(uintptr_t)list[i].addr;

		va_pattern_must(run, piece, list[i].length, run->seed, at, what);
		memset(piece, 0, list[i].length);
	}
	va_filler_must(run, memory->at, memory->bytes, 0, "what lies between the pieces");
}

static int post_list(struct va_edges *e, struct pieces *p, enum ibv_wr_opcode opcode,
		     struct ibv_sge *list, uint32_t count)
{
	struct ibv_send_wr wr = {
		.wr_id = ++e->checked,
		.sg_list = list,
		.num_sge = (int)count,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = p->remote.address, .rkey = p->remote.rkey},
	};
	struct ibv_send_wr *bad;

	if (p->endpoint.target_qp)
		wr.qp_type.xrc.remote_srqn = p->endpoint.peer_srqn;
	return ibv_post_send(p->endpoint.qp, &wr, &bad);
}

static int post_receive_list(struct pieces *p, struct ibv_sge *list, uint32_t count)
{
	struct ibv_recv_wr wr = {.sg_list = list, .num_sge = (int)count};
	struct ibv_recv_wr *bad;

	return p->endpoint.srq ? ibv_post_srq_recv(p->endpoint.srq, &wr, &bad)
			       : ibv_post_recv(p->endpoint.qp, &wr, &bad);
}

static void must_post(struct va_run *run, int rc, uint32_t count)
{
	if (rc)
		va_fail(run, "a request with %u pieces: %s; the device says that it may be so many",
			count, strerror(rc));
}

static void ask_pieces(struct va_run *run, struct va_edges *e, struct pieces *p,
		       enum ibv_wr_opcode opcode, uint32_t shape)
{
	uint32_t most = opcode == IBV_WR_RDMA_READ && e->device.attr.max_sge_rd > 0 &&
					(uint32_t)e->device.attr.max_sge_rd < p->count
				? (uint32_t)e->device.attr.max_sge_rd
				: p->count;
	struct ibv_sge *list = calloc(p->count + 1, sizeof(*list));
	struct ibv_wc wc;

	va_need(run, list != NULL, "calloc");
	memset(p->from.at, opcode == IBV_WR_RDMA_READ ? 0 : BESIDE, p->from.bytes);
	make_list(p, &p->from, shape, false, list, most);
	if (opcode != IBV_WR_RDMA_READ)
		fill_list(run, list, most);
	va_barrier(run, "ready");
	must_post(run, post_list(e, p, opcode, list, most), most);
	va_wait_success(run, p->endpoint.send_cq, "a request with all pieces", &wc);
	if (opcode == IBV_WR_RDMA_READ)
		check_list(run, &p->from, list, most, "what READ brought into all pieces");
	va_barrier(run, "done");
	free(list);
}

static void answer_pieces(struct va_run *run, struct pieces *p, enum ibv_wr_opcode opcode,
			  uint32_t shape)
{
	uint32_t total = total_of(shape, p->count);
	struct ibv_sge *list = calloc(p->count + 1, sizeof(*list));
	struct ibv_wc wc;

	va_need(run, list != NULL, "calloc");
	memset(p->to.at, 0, p->to.bytes);
	make_list(p, &p->to, shape, true, list, p->count);
	if (opcode == IBV_WR_RDMA_READ)
		va_pattern_fill(p->to.at, p->to.bytes, run->seed, 0);
	if (opcode == IBV_WR_SEND)
		must_post(run, post_receive_list(p, list, p->count), p->count);
	va_barrier(run, "ready");
	if (opcode == IBV_WR_SEND) {
		va_wait_success(run, p->endpoint.recv_cq, "a receive with all pieces", &wc);
		if (wc.byte_len != total)
			va_fail(run, "a message of %u B in all pieces came as one of %u B", total,
				wc.byte_len);
		check_list(run, &p->to, list, p->count, "what SEND brought from pieces to pieces");
	}
	va_barrier(run, "done");
	if (opcode == IBV_WR_RDMA_WRITE) {
		va_pattern_must(run, p->to.at, total, run->seed, 0,
				"what a WRITE of all pieces left");
		va_filler_must(run, p->to.at + total, p->to.bytes - total, 0,
			       "what lies behind a WRITE of all pieces");
	}
	free(list);
}

/* One piece more than there may be: of a request, of a receive, of a new queue pair. */
static void refuse_pieces(struct va_run *run, struct va_edges *e, struct pieces *p)
{
	struct ibv_qp_cap cap = va_edges_cap(run, &p->endpoint);
	struct ibv_srq_attr srq = {.max_sge = cap.max_recv_sge};
	uint32_t sends = cap.max_send_sge + 1;
	uint32_t receives;
	uint32_t room;
	struct ibv_sge *list;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = p->endpoint.send_cq,
		.recv_cq = p->endpoint.recv_cq,
		.cap = {.max_send_wr = 1,
			.max_recv_wr = 1,
			.max_send_sge = (uint32_t)e->device.attr.max_sge + 1,
			.max_recv_sge = 1},
	};
	struct ibv_qp *qp;

	va_need(run, !p->endpoint.srq || !ibv_query_srq(p->endpoint.srq, &srq), "ibv_query_srq");
	receives = srq.max_sge + 1;
	room = sends > receives ? sends : receives;
	list = calloc(room, sizeof(*list));
	va_need(run, list != NULL, "calloc");
	for (uint32_t i = 0; i < room; i++)
		list[i] = (struct ibv_sge){(uintptr_t)p->from.at + i, 1, p->from.mr->lkey};
	va_edges_refused(run, e, post_list(e, p, IBV_WR_RDMA_WRITE, list, sends),
			 "a request with so many pieces", sends);
	va_edges_refused(run, e, post_receive_list(p, list, receives),
			 "a receive with so many pieces", receives);
	qp = ibv_create_qp(e->device.pd, &attr);
	va_edges_refused(run, e, qp ? 0 : 1, "a queue pair whose requests have so many pieces",
			 (uint64_t)e->device.attr.max_sge + 1);
	free(list);
}

void va_edges_pieces(struct va_run *run, struct va_edges *e)
{
	static const enum ibv_wr_opcode opcodes[] = {IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						     IBV_WR_RDMA_READ};
	struct pieces p = {.edges = e, .count = (uint32_t)e->device.attr.max_sge};
	struct va_endpoint_config config = {
		.type = va_transport_type(va_word(run, "transport")),
		.pieces_max = p.count,
	};

	if (config.type == IBV_QPT_XRC_SEND && (uint32_t)e->device.attr.max_srq_sge < p.count)
		config.pieces_max = p.count = (uint32_t)e->device.attr.max_srq_sge;
	va_endpoint_create(run, &e->device, &config, &p.endpoint);
	va_endpoint_connect(run, &p.endpoint);
	va_buffer_create(run, &e->device, (size_t)p.count * (PIECE_BYTES + 1), VA_ACCESS_ALL,
			 &p.from);
	va_buffer_create(run, &e->device, (size_t)p.count * (PIECE_BYTES + 1), VA_ACCESS_ALL,
			 &p.to);
	va_buffer_exchange(run, &p.to, &p.remote);
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		for (uint32_t shape = 0; shape < SHAPES; shape++) {
			if (run->is_initiator)
				ask_pieces(run, e, &p, opcodes[i], shape);
			else
				answer_pieces(run, &p, opcodes[i], shape);
		}
	}
	if (run->is_initiator)
		refuse_pieces(run, e, &p);
	e->edge = p.count;
	va_barrier(run, "over");
	va_endpoint_destroy(run, &p.endpoint);
	va_buffer_destroy(run, &p.from);
	va_buffer_destroy(run, &p.to);
}

/* ---- inline data ---- */

/* The most that the device gives, of the usual sizes. */
static uint32_t make_inline(struct va_run *run, struct va_edges *e, struct va_endpoint *out)
{
	static const uint32_t sizes[] = {1024, 512, 400, 256, 220, 128, 64, 32};
	struct va_endpoint_config config = {
		.type = va_transport_type(va_word(run, "transport")),
		.pieces_max = 3,
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		config.inline_max = sizes[i];
		va_endpoint_create(run, &e->device, &config, out);
		if (out->inline_max >= sizes[i])
			return out->inline_max;
		va_endpoint_destroy(run, out);
	}
	va_skip(run, "the device has no inline data");
}

/* The source is none of a region, and something else as soon as it is posted. */
static int post_inline(struct va_edges *e, struct va_endpoint *endpoint, enum ibv_wr_opcode opcode,
		       uint8_t *source, uint32_t length, uint32_t count, struct va_remote *remote)
{
	struct ibv_sge list[3] = {{0}};
	struct ibv_send_wr wr = {
		.wr_id = ++e->checked,
		.sg_list = list,
		.num_sge = (int)count,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.wr.rdma = {.remote_addr = remote->address, .rkey = remote->rkey},
	};
	struct ibv_send_wr *bad;
	uint32_t first = count == 3 ? length / 2 : length;
	int rc;

	list[0] = (struct ibv_sge){.addr = (uintptr_t)source, .length = first};
	list[1] = (struct ibv_sge){.addr = (uintptr_t)source};
	list[2] = (struct ibv_sge){.addr = (uintptr_t)source + first, .length = length - first};
	if (endpoint->target_qp)
		wr.qp_type.xrc.remote_srqn = endpoint->peer_srqn;
	rc = ibv_post_send(endpoint->qp, &wr, &bad);
	memset(source, 0xaa, length);
	return rc;
}

static void carry_inline(struct va_run *run, struct va_edges *e, struct va_endpoint *endpoint,
			 const struct va_buffer *in, struct va_remote *remote, uint32_t length,
			 uint32_t count, enum ibv_wr_opcode opcode)
{
	uint8_t *source = malloc(length + 1);
	bool is_send = opcode == IBV_WR_SEND;
	struct ibv_wc wc;

	va_need(run, source != NULL, "malloc");
	va_pattern_fill(source, length, run->seed, length);
	source[length] = BESIDE;
	if (!run->is_initiator) {
		memset(in->at, 0, in->bytes);
		if (is_send)
			va_post_receive(run, endpoint, in, 0, length, length);
	}
	va_barrier(run, "ready");
	if (run->is_initiator) {
		int rc = post_inline(e, endpoint, opcode, source, length, count, remote);

		if (rc)
			va_fail(run, "%u B of inline data in %u pieces: %s; the queue pair has %u",
				length, count, strerror(rc), endpoint->inline_max);
		va_wait_success(run, endpoint->send_cq, "inline data", &wc);
	} else if (is_send) {
		va_wait_success(run, endpoint->recv_cq, "a receive", &wc);
		if (wc.byte_len != length)
			va_fail(run, "%u B of inline data came as %u", length, wc.byte_len);
	}
	va_barrier(run, "done");
	if (!run->is_initiator) {
		va_pattern_must(run, in->at, length, run->seed, length, "inline data");
		va_filler_must(run, in->at + length, in->bytes - length, 0,
			       "what lies behind inline data");
	}
	free(source);
}

void va_edges_inline(struct va_run *run, struct va_edges *e)
{
	struct va_endpoint endpoint;
	struct va_buffer in;
	struct va_remote remote;
	json_t *theirs;
	uint32_t most = make_inline(run, e, &endpoint);
	uint32_t refused = va_edges_cap(run, &endpoint).max_inline_data + 1;
	uint8_t *longer = calloc(refused, 1);

	va_need(run, longer != NULL, "calloc");
	va_endpoint_connect(run, &endpoint);
	theirs = va_exchange(run, json_integer((json_int_t)most));
	if (!run->is_initiator) /* what the asking side has counts */
		most = (uint32_t)json_integer_value(theirs);
	json_decref(theirs);
	va_buffer_create(run, &e->device, most + 1, VA_ACCESS_ALL, &in);
	va_buffer_exchange(run, &in, &remote);
	for (uint32_t i = 0; i < 8; i++) {
		const uint32_t lengths[] = {0, 1, most - 1, most};

		carry_inline(run, e, &endpoint, &in, &remote, lengths[i / 2], i % 2 ? 3 : 1,
			     IBV_WR_SEND);
		carry_inline(run, e, &endpoint, &in, &remote, lengths[i / 2], i % 2 ? 3 : 1,
			     IBV_WR_RDMA_WRITE);
	}
	if (run->is_initiator)
		va_edges_refused(
			run, e,
			post_inline(e, &endpoint, IBV_WR_RDMA_WRITE, longer, refused, 1, &remote),
			"so many bytes of inline data", refused);
	e->edge = most;
	va_barrier(run, "over");
	free(longer);
	va_endpoint_destroy(run, &endpoint);
	va_buffer_destroy(run, &in);
}

/* ---- all of them ---- */

void va_edges_refused(struct va_run *run, struct va_edges *e, int rc, const char *what,
		      uint64_t edge)
{
	if (!rc)
		va_fail(run, "%s was taken: %llu", what, (unsigned long long)edge);
	e->checked++;
}

struct ibv_qp_cap va_edges_cap(struct va_run *run, const struct va_endpoint *endpoint)
{
	struct ibv_qp_init_attr init = {0};
	struct ibv_qp_attr attr;

	va_need(run, !ibv_query_qp(endpoint->qp, &attr, IBV_QP_CAP, &init), "ibv_query_qp");
	return init.cap;
}

static void run_side(struct va_run *run)
{
	struct va_edges e = {.checked = 0};

	va_device_open(run, VA_ANY_FAMILY, &e.device);
	if (va_is(run, "what", "pieces"))
		va_edges_pieces(run, &e);
	else if (va_is(run, "what", "inline"))
		va_edges_inline(run, &e);
	else if (va_is(run, "what", "message"))
		va_edges_message(run, &e);
	else if (va_is(run, "what", "queues"))
		va_edges_queues(run, &e);
	else if (va_is(run, "what", "xrc_queue"))
		va_edges_xrc(run, &e);
	else
		va_edges_bind(run, &e);
	if (run->is_initiator) {
		va_value(run, "checked", (double)e.checked);
		va_value(run, "edge", (double)e.edge);
	}
	va_device_close(run, &e.device);
}

void va_edges_initiator(struct va_run *run)
{
	run_side(run);
}

void va_edges_target(struct va_run *run)
{
	run_side(run);
}
