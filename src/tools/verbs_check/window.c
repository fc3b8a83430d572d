/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows of both types: bound before a seed's requests, by a work request, by the builder
 * interface or by ibv_bind_mw(), and in some error seeds ended in each of the ways that verbs
 * know, after which their old key must open nothing.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "tools/verbs_check/endpoint.h"
#include "tools/verbs_check/poll.h"

struct binding {
	struct vc_endpoint *endpoint;
	const struct vc_program *program;
	const struct vc_memory *memory;
	struct vc_report *report;
	uint32_t side;
};

static enum vc_verdict await(const struct binding *b, uint32_t q, uint64_t wr_id,
			     enum ibv_wc_opcode opcode)
{
	const struct vc_lane *lane = &b->program->sides[b->side].lanes[q];
	time_t give_up = time(NULL) + 10;
	struct ibv_wc wc = {0};
	int got;

	do {
		got = vc_poll(b->endpoint, lane->send_cq, 1, &wc, b->report);
	} while (got == 0 && time(NULL) < give_up);
	if (b->report->verdict != VC_RIGHT)
		return b->report->verdict;
	if (got != 1)
		return vc_report_wrong(b->report, "memory window: no completion");
	if (wc.status != IBV_WC_SUCCESS || wc.opcode != opcode || wc.wr_id != wr_id ||
	    wc.qp_num != b->endpoint->qps[q]->qp_num)
		return vc_report_wrong(b->report,
				       "memory window: status %d (%s), opcode %d, expected "
				       "success and opcode %d",
				       (int)wc.status, ibv_wc_status_str(wc.status), (int)wc.opcode,
				       (int)opcode);
	return VC_RIGHT;
}

static struct ibv_mw_bind_info info_of(const struct binding *b, uint32_t q, uint32_t w,
				       bool is_void)
{
	const struct vc_piece *piece = &b->program->sides[b->side].lanes[q].windows[w];

	return (struct ibv_mw_bind_info){
		.mr = b->endpoint->mrs[piece->mr],
		.addr = (uintptr_t)vc_memory_at(b->memory, b->program, b->side, piece),
		.length = is_void ? 0 : piece->length,
		.mw_access_flags = is_void ? 0 : IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	};
}

/* Type 1: the library chooses the key. With `is_void` it is bound to nothing. */
static enum vc_verdict bind_type_1(const struct binding *b, uint32_t q, uint32_t w, bool is_void)
{
	struct ibv_mw *mw = b->endpoint->windows[q][w];
	struct ibv_mw_bind bind = {
		.wr_id = vc_mix(b->program->seed, 100 + w),
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = info_of(b, q, w, is_void),
	};
	int error = ibv_bind_mw(b->endpoint->qps[q], mw, &bind);

	if (error)
		return vc_report_wrong(b->report, "ibv_bind_mw: %s", strerror(error));
	b->endpoint->window_rkeys[q][w] = mw->rkey;
	return await(b, q, bind.wr_id, IBV_WC_BIND_MW);
}

static int post_bind(const struct binding *b, uint32_t q, uint32_t w, uint64_t wr_id)
{
	struct ibv_qp_ex *builder = b->endpoint->builders[q];
	struct ibv_mw_bind_info info = info_of(b, q, w, false);
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad = NULL;

	if (builder) {
		ibv_wr_start(builder);
		builder->wr_id = wr_id;
		builder->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_bind_mw(builder, b->endpoint->windows[q][w], b->endpoint->window_rkeys[q][w],
			       &info);
		return ibv_wr_complete(builder);
	}
	wr.bind_mw.mw = b->endpoint->windows[q][w];
	wr.bind_mw.rkey = b->endpoint->window_rkeys[q][w];
	wr.bind_mw.bind_info = info;
	return ibv_post_send(b->endpoint->qps[q], &wr, &bad);
}

static enum vc_verdict bind_type_2(const struct binding *b, uint32_t q, uint32_t w)
{
	uint64_t wr_id = vc_mix(b->program->seed, w);
	int error = post_bind(b, q, w, wr_id);

	if (error)
		return vc_report_wrong(b->report, "binding a memory window: %s", strerror(error));
	return await(b, q, wr_id, IBV_WC_BIND_MW);
}

enum vc_verdict vc_window_bind_all(struct vc_endpoint *endpoint, const struct vc_program *program,
				   uint32_t side, const struct vc_memory *memory,
				   struct vc_report *report)
{
	struct binding b = {endpoint, program, memory, report, side};
	enum vc_verdict verdict = VC_RIGHT;

	for (uint32_t q = 0; q < program->qp_count; q++) {
		const struct vc_lane *lane = &program->sides[side].lanes[q];

		for (uint32_t w = 0; w < lane->window_count && verdict == VC_RIGHT; w++)
			verdict = program->window_type == 1 ? bind_type_1(&b, q, w, false)
							    : bind_type_2(&b, q, w);
	}
	return verdict;
}

static enum vc_verdict invalidate(const struct binding *b)
{
	struct ibv_qp_ex *builder = b->endpoint->builders[0];
	uint64_t wr_id = vc_mix(b->program->seed, 200);
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED,
		.invalidate_rkey = b->endpoint->window_rkeys[0][0],
	};
	struct ibv_send_wr *bad = NULL;
	int error;

	if (builder) {
		ibv_wr_start(builder);
		builder->wr_id = wr_id;
		builder->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_local_inv(builder, wr.invalidate_rkey);
		error = ibv_wr_complete(builder);
	} else {
		error = ibv_post_send(b->endpoint->qps[0], &wr, &bad);
	}
	if (error)
		return vc_report_wrong(b->report, "LOCAL_INV: %s", strerror(error));
	return await(b, 0, wr_id, IBV_WC_LOCAL_INV);
}

static enum vc_verdict free_window(const struct binding *b)
{
	int error = ibv_dealloc_mw(b->endpoint->windows[0][0]);

	if (error)
		return vc_report_wrong(b->report, "ibv_dealloc_mw of a bound window: %s",
				       strerror(error));
	b->endpoint->windows[0][0] = NULL;
	return VC_RIGHT;
}

enum vc_verdict vc_window_end(struct vc_endpoint *endpoint, const struct vc_program *program,
			      uint32_t side, const struct vc_memory *memory,
			      struct vc_report *report)
{
	struct binding b = {endpoint, program, memory, report, side};

	if (program->fault == VC_FAULT_WINDOW_LOCAL_INV)
		return invalidate(&b);
	if (program->fault == VC_FAULT_WINDOW_FREED)
		return free_window(&b);
	if (program->fault == VC_FAULT_WINDOW_REBOUND)
		return bind_type_1(&b, 0, 0, false);
	if (program->fault == VC_FAULT_WINDOW_UNBOUND)
		return bind_type_1(&b, 0, 0, true);
	return VC_RIGHT;
}
