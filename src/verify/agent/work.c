/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock is looked at once in many polls, for that costs as much as the poll. */
#include "verify/agent/work.h"

#include "base/assert.h"
#include "base/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

#define POLLS_PER_CLOCK 1024

enum ibv_wr_opcode va_opcode(const char *word)
{
	static const struct {
		const char *word;
		enum ibv_wr_opcode opcode;
	} words[] = {
		{"send", IBV_WR_SEND},
		{"send_imm", IBV_WR_SEND_WITH_IMM},
		{"write", IBV_WR_RDMA_WRITE},
		{"write_imm", IBV_WR_RDMA_WRITE_WITH_IMM},
		{"read", IBV_WR_RDMA_READ},
		{"fetch_add", IBV_WR_ATOMIC_FETCH_AND_ADD},
		{"cmp_swap", IBV_WR_ATOMIC_CMP_AND_SWP},
	};
	size_t i = 0;

	while (strcmp(words[i].word, word) != 0) {
		if (++i == sizeof(words) / sizeof(words[0]))
			roce_unreachable(); /* the plan was checked */
	}
	return words[i].opcode;
}

int va_try_post(struct va_endpoint *endpoint, const struct va_request *request)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)(request->local->at + request->local_offset),
		.length = request->length,
		.lkey = request->local->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = request->wr_id,
		.sg_list = &sge,
		.num_sge = request->length ? 1 : 0,
		.opcode = request->opcode,
		.send_flags = request->flags | (request->is_silent ? 0 : IBV_SEND_SIGNALED),
		.imm_data = htonl(request->imm),
	};
	struct ibv_send_wr *bad;

	if (request->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
	    request->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = request->remote->address + request->remote_offset;
		wr.wr.atomic.rkey = request->remote->rkey;
		wr.wr.atomic.compare_add = request->compare_add;
		wr.wr.atomic.swap = request->swap;
	} else if (request->remote) {
		wr.wr.rdma.remote_addr = request->remote->address + request->remote_offset;
		wr.wr.rdma.rkey = request->remote->rkey;
	}
	if (endpoint->target_qp)
		wr.qp_type.xrc.remote_srqn = endpoint->peer_srqn;
	if (endpoint->ah) {
		wr.wr.ud.ah = endpoint->ah;
		wr.wr.ud.remote_qpn = endpoint->peer_qpn;
		wr.wr.ud.remote_qkey = VA_QKEY;
	}
	return ibv_post_send(endpoint->qp, &wr, &bad);
}

void va_post(struct va_run *run, struct va_endpoint *endpoint, const struct va_request *request)
{
	int rc = va_try_post(endpoint, request);

	if (rc)
		va_fail(run, "ibv_post_send: %s", strerror(rc));
}

void va_post_receive(struct va_run *run, struct va_endpoint *endpoint,
		     const struct va_buffer *buffer, size_t offset, uint32_t length, uint64_t wr_id)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)(buffer->at + offset),
		.length = length,
		.lkey = buffer->mr->lkey,
	};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = length ? 1 : 0};
	struct ibv_recv_wr *bad;
	int rc = endpoint->srq ? ibv_post_srq_recv(endpoint->srq, &wr, &bad)
			       : ibv_post_recv(endpoint->qp, &wr, &bad);

	if (rc)
		va_fail(run, "%s: %s", endpoint->srq ? "ibv_post_srq_recv" : "ibv_post_recv",
			strerror(rc));
}

void va_wait(struct va_run *run, struct ibv_cq *cq, const char *awaited, struct ibv_wc *out)
{
	va_wait_long(run, cq, awaited, VA_STALL_S, out);
}

void va_wait_long(struct va_run *run, struct ibv_cq *cq, const char *awaited, uint32_t seconds,
		  struct ibv_wc *out)
{
	roce_ns_t deadline = 0;

	for (;;) {
		for (int i = 0; i < POLLS_PER_CLOCK; i++) {
			int n = ibv_poll_cq(cq, 1, out);

			if (n == 1)
				return;
			if (n < 0)
				va_fail(run, "ibv_poll_cq: %d", n);
		}
		/* Long past a round trip: on a busy machine the other side may need this
		 * processor. */
		(void)sched_yield();
		if (!deadline)
			deadline = roce_clock_now() + seconds * ROCE_NS_PER_S;
		else if (roce_clock_now() > deadline)
			va_fail(run, "no completion of %s in %u s", awaited, seconds);
	}
}

void va_must_succeed(struct va_run *run, const struct ibv_wc *wc, const char *what)
{
	if (wc->status != IBV_WC_SUCCESS)
		va_fail(run, "%s completed with status %d (%s), vendor error 0x%x", what,
			(int)wc->status, ibv_wc_status_str(wc->status), wc->vendor_err);
}

void va_wait_success(struct va_run *run, struct ibv_cq *cq, const char *awaited, struct ibv_wc *out)
{
	va_wait(run, cq, awaited, out);
	va_must_succeed(run, out, awaited);
}
