/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What reliable connected QPs need beyond their creation: the way to RTS with all attributes, and
 * binding the memory windows that the other side may invalidate. Called once a seed, before the
 * barrier behind which requests may arrive.
 */
#include "tools/verbs_check/endpoint.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static enum vc_verdict modify(struct vc_endpoint *endpoint, uint32_t q, struct ibv_qp_attr *attr,
			      int mask, const char *state, struct vc_report *report)
{
	int error = ibv_modify_qp(endpoint->qps[q], attr, mask);

	if (error)
		return vc_report_unusable(report, "qp %u to %s: %s", q, state, strerror(error));
	return VC_RIGHT;
}

static enum vc_verdict connect_one(struct vc_endpoint *endpoint, const struct vc_device *device,
				   const struct vc_program *program, uint32_t side, uint32_t q,
				   const struct vc_peer *peer, struct vc_report *report)
{
	const struct vc_lane *lane = &program->sides[side].lanes[q];
	const struct vc_lane *other = &program->sides[!side].lanes[q];
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
				   .port_num = device->port,
				   .qp_access_flags = lane->access};
	struct ibv_qp_attr rtr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = program->mtu,
		.dest_qp_num = endpoint->remote_qpns[q],
		.rq_psn = other->psn,
		.max_dest_rd_atomic = (uint8_t)lane->dest_rd_atomic,
		.min_rnr_timer = (uint8_t)lane->min_rnr_timer,
		.ah_attr = {.is_global = 1,
			    .dlid = peer->lid,
			    .port_num = device->port,
			    .grh = {.dgid = peer->gid,
				    .sgid_index = device->gid_index,
				    .flow_label = (uint32_t)(program->seed * 16 + q) & 0xfffff,
				    .hop_limit = 64}},
	};
	struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
				  .sq_psn = lane->psn,
				  .timeout = (uint8_t)lane->timeout,
				  .retry_cnt = (uint8_t)lane->retry_cnt,
				  .rnr_retry = (uint8_t)lane->rnr_retry,
				  .max_rd_atomic = (uint8_t)lane->rd_atomic};
	enum vc_verdict verdict;

	verdict = modify(endpoint, q, &init,
			 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			 "INIT", report);
	if (verdict == VC_RIGHT)
		verdict = modify(endpoint, q, &rtr,
				 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					 IBV_QP_MIN_RNR_TIMER,
				 "RTR", report);
	if (verdict == VC_RIGHT)
		verdict = modify(endpoint, q, &rts,
				 IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
				 "RTS", report);
	return verdict;
}

enum vc_verdict vc_rc_endpoint_connect(struct vc_endpoint *endpoint, const struct vc_device *device,
				       const struct vc_program *program, uint32_t side,
				       const struct vc_peer *peer, struct vc_report *report)
{
	enum vc_verdict verdict = VC_RIGHT;

	for (uint32_t q = 0; q < program->qp_count && verdict == VC_RIGHT; q++)
		verdict = connect_one(endpoint, device, program, side, q, peer, report);
	if (verdict == VC_RIGHT)
		verdict = vc_endpoint_check_state(endpoint, program, 0, IBV_QPS_RTS, report);
	return verdict;
}

static enum vc_verdict await_bind(struct vc_endpoint *endpoint, const struct vc_lane *lane,
				  uint32_t q, uint64_t wr_id, struct vc_report *report)
{
	time_t give_up = time(NULL) + 10;
	struct ibv_wc wc = {0};
	int got;

	do {
		got = ibv_poll_cq(endpoint->cqs[lane->send_cq], 1, &wc);
	} while (got == 0 && time(NULL) < give_up);
	if (got != 1)
		return vc_report_wrong(report, "binding a memory window: no completion");
	if (wc.status != IBV_WC_SUCCESS || wc.opcode != IBV_WC_BIND_MW || wc.wr_id != wr_id ||
	    wc.qp_num != endpoint->qps[q]->qp_num)
		return vc_report_wrong(
			report,
			"binding a memory window: status %d (%s), opcode %d, expected "
			"success and opcode %d",
			(int)wc.status, ibv_wc_status_str(wc.status), (int)wc.opcode,
			(int)IBV_WC_BIND_MW);
	return VC_RIGHT;
}

enum vc_verdict vc_rc_endpoint_bind(struct vc_endpoint *endpoint, const struct vc_program *program,
				    uint32_t side, const struct vc_memory *memory,
				    struct vc_report *report)
{
	enum vc_verdict verdict = VC_RIGHT;

	for (uint32_t q = 0; q < program->qp_count; q++) {
		const struct vc_lane *lane = &program->sides[side].lanes[q];

		for (uint32_t w = 0; w < lane->window_count && verdict == VC_RIGHT; w++) {
			const struct vc_piece *piece = &lane->windows[w];
			struct ibv_send_wr wr = {
				.wr_id = vc_mix(program->seed, w),
				.opcode = IBV_WR_BIND_MW,
				.send_flags = IBV_SEND_SIGNALED,
			};
			struct ibv_send_wr *bad = NULL;
			int error;

			wr.bind_mw.mw = endpoint->windows[q][w];
			wr.bind_mw.rkey = endpoint->window_rkeys[q][w];
			wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
				.mr = endpoint->mrs[piece->mr],
				.addr = (uintptr_t)vc_memory_at(memory, program, side, piece),
				.length = piece->length,
				.mw_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
			};
			error = ibv_post_send(endpoint->qps[q], &wr, &bad);
			if (error)
				return vc_report_wrong(report, "binding a memory window: %s",
						       strerror(error));
			verdict = await_bind(endpoint, lane, q, wr.wr_id, report);
		}
	}
	return verdict;
}
