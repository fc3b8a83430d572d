/* SPDX-License-Identifier: BSD-2-Clause */
/* See end.h. Any failure of the set-up is the end of the process: nothing useful can follow. */
#include "end.h"

#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCESS_ALL                                                                      \
	(ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_READ | \
	 ROCE_ACCESS_REMOTE_ATOMIC)
#define REMOTE_ALL (ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_READ | ROCE_ACCESS_REMOTE_ATOMIC)

static void check(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "%s: error %d (%s)\n", what, result, strerror(abs(result)));
	exit(1);
}

void end_exchange(int fd, const void *out, void *in, size_t bytes)
{
	check(send(fd, out, bytes, 0) != (ssize_t)bytes, "send to the other process");
	check(recv(fd, in, bytes, MSG_WAITALL) != (ssize_t)bytes, "receive from the other process");
}

void end_meet(int socket_fd)
{
	char here = 'x';
	char there;

	end_exchange(socket_fd, &here, &there, 1);
}

static void create_objects(struct end *e)
{
	struct roce_qp_request request = {
		.type = ROCE_QP_RC,
		.pd = &e->pd,
		.send_cq = &e->cq,
		.recv_cq = &e->cq,
		.caps = {.max_send_wr = e->cfg.depth,
			 .max_recv_wr = e->cfg.depth,
			 .max_send_sge = 2,
			 .max_recv_sge = 2,
			 .max_inline = 64},
	};
	void *memory = mmap(NULL, e->cfg.buffer_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(memory == MAP_FAILED, "mmap");
	e->buffer = memory;
	check(roce_engine_get(e->cfg.ifindex, &e->engine), "open the engine");
	check(roce_context_init(&e->ctx, roce_engine_device(e->engine), e), "open a context");
	roce_pd_init(&e->pd, 1);
	check(roce_comp_channel_init(&e->channel, &e->ctx), "completion channel");
	check(roce_verbs_cq_init(&e->cq, &e->ctx, 2 * e->cfg.depth,
				 e->cfg.has_events ? &e->channel : NULL, NULL, e),
	      "completion queue");
	check(roce_verbs_mr_init(&e->mr, &e->ctx, &e->pd, (uint64_t)(uintptr_t)memory,
				 e->cfg.buffer_bytes, (uint64_t)(uintptr_t)memory,
				 ACCESS_ALL | (e->cfg.is_on_demand ? ROCE_ACCESS_ON_DEMAND : 0u)),
	      "memory region");
	check(roce_verbs_qp_init(&e->qp, &e->ctx, &request), "queue pair");
}

static void describe(struct end *e)
{
	struct roce_device *dev = roce_engine_device(e->engine);
	uint32_t ifindex;

	check(dev->env->query_gid(dev->env_ctx, e->cfg.gid_index, &e->own.gid, &ifindex),
	      "GID index");
	e->own.qpn = e->qp.qp.cfg.qpn.v;
	check(getrandom(&e->own.psn, sizeof(e->own.psn), 0) != sizeof(e->own.psn), "getrandom");
	e->own.psn &= ROCE_PSN_MASK;
	e->own.buffer = (uint64_t)(uintptr_t)e->buffer;
	e->own.rkey = e->mr.mr.rkey.v;
}

static void connect_qp(struct end *e)
{
	struct roce_av av = {.dgid = e->peer.gid,
			     .sgid_index = e->cfg.gid_index,
			     .hop_limit = 64,
			     .port_num = 1,
			     .is_global = true};
	struct roce_qp_attr attr = {
		.state = ROCE_QP_INIT, .port_num = 1, .access_flags = REMOTE_ALL};

	check(roce_verbs_qp_modify(&e->qp, &attr,
				   ROCE_ATTR_STATE | ROCE_ATTR_PKEY_INDEX | ROCE_ATTR_PORT |
					   ROCE_ATTR_ACCESS_FLAGS,
				   NULL),
	      "to INIT");
	attr = (struct roce_qp_attr){.state = ROCE_QP_RTR,
				     .path_mtu = e->cfg.mtu,
				     .dest_qpn = e->peer.qpn,
				     .rq_psn = e->peer.psn,
				     .max_dest_rd_atomic = ROCE_MAX_RD_ATOMIC,
				     .min_rnr_timer = 1};
	check(roce_verbs_qp_modify(&e->qp, &attr,
				   ROCE_ATTR_STATE | ROCE_ATTR_AV | ROCE_ATTR_PATH_MTU |
					   ROCE_ATTR_DEST_QPN | ROCE_ATTR_RQ_PSN |
					   ROCE_ATTR_MAX_DEST_RD_ATOMIC | ROCE_ATTR_MIN_RNR_TIMER,
				   &av),
	      "to RTR");
	attr = (struct roce_qp_attr){.state = ROCE_QP_RTS,
				     .timeout = e->cfg.timeout,
				     .retry_cnt = e->cfg.retry_count,
				     .rnr_retry = 7,
				     .sq_psn = e->own.psn,
				     .max_rd_atomic = ROCE_MAX_RD_ATOMIC};
	check(roce_verbs_qp_modify(&e->qp, &attr,
				   ROCE_ATTR_STATE | ROCE_ATTR_TIMEOUT | ROCE_ATTR_RETRY_CNT |
					   ROCE_ATTR_RNR_RETRY | ROCE_ATTR_SQ_PSN |
					   ROCE_ATTR_MAX_QP_RD_ATOMIC,
				   NULL),
	      "to RTS");
}

void end_open(struct end *e, const struct end_config *cfg, int socket_fd)
{
	memset(e, 0, sizeof(*e));
	e->cfg = *cfg;
	create_objects(e);
	describe(e);
	end_exchange(socket_fd, &e->own, &e->peer, sizeof(e->own));
	connect_qp(e);
	end_meet(socket_fd);
}

void end_close(struct end *e)
{
	roce_verbs_qp_fini(&e->qp);
	roce_verbs_mr_fini(&e->mr);
	check(roce_verbs_cq_fini(&e->cq), "destroy the completion queue");
	check(roce_comp_channel_fini(&e->channel), "destroy the channel");
	check(roce_pd_fini(&e->ctx, &e->pd), "deallocate the domain");
	roce_context_fini(&e->ctx);
	roce_engine_put(e->engine);
	munmap(e->buffer, e->cfg.buffer_bytes);
}

static enum roce_post_result post(struct end *e, struct roce_send_wr *wr, size_t offset,
				  uint32_t length)
{
	struct roce_sge sge = {
		.addr = e->own.buffer + offset, .length = length, .lkey = e->mr.mr.lkey.v};
	roce_ns_t now = roce_verbs_qp_lock(&e->qp);
	enum roce_post_result result;

	wr->sge = &sge;
	wr->sge_count = length ? 1 : 0;
	wr->rkey = e->peer.rkey;
	wr->compare_add = 1;
	result = roce_post_send(&e->qp.qp, wr, now);
	roce_verbs_qp_unlock_send(&e->qp);
	return result;
}

enum roce_post_result end_post(struct end *e, uint8_t opcode, uint64_t wr_id, size_t offset,
			       uint32_t length, uint8_t flags)
{
	struct roce_send_wr wr = {.wr_id = wr_id,
				  .opcode = opcode,
				  .flags = flags,
				  .remote_addr = e->peer.buffer + offset};

	return post(e, &wr, offset, length);
}

enum roce_post_result end_post_to(struct end *e, uint8_t opcode, size_t offset,
				  size_t remote_offset, uint32_t length)
{
	struct roce_send_wr wr = {.opcode = opcode,
				  .flags = ROCE_SEND_SIGNALED,
				  .remote_addr = e->peer.buffer + remote_offset};

	return post(e, &wr, offset, length);
}

enum roce_post_result end_post_recv(struct end *e, uint64_t wr_id, size_t offset, uint32_t length)
{
	struct roce_sge sge = {
		.addr = e->own.buffer + offset, .length = length, .lkey = e->mr.mr.lkey.v};
	roce_ns_t now = roce_verbs_qp_lock(&e->qp);
	enum roce_post_result result = roce_post_recv(&e->qp.qp, wr_id, &sge, 1, now);

	roce_verbs_qp_unlock_recv(&e->qp);
	return result;
}

bool end_poll(struct end *e, struct roce_cqe *out, roce_ns_t timeout_ns)
{
	roce_ns_t end = roce_clock_now() + timeout_ns;

	do {
		if (roce_verbs_cq_poll(&e->cq, out, 1) == 1)
			return true;
	} while (roce_clock_now() < end);
	return false;
}

bool end_wait(struct end *e, struct roce_cqe *out)
{
	for (;;) {
		struct roce_verbs_cq *which;

		if (roce_verbs_cq_poll(&e->cq, out, 1) == 1)
			return true;
		roce_verbs_cq_arm(&e->cq, false);
		if (roce_verbs_cq_poll(&e->cq, out, 1) == 1)
			return true;
		if (roce_comp_channel_get(&e->channel, &which) != 0)
			return false;
		roce_event_source_ack(&e->channel.events, &which->comp_events, 1);
	}
}
