/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creation and destruction in the order that verbs want (windows before regions, QPs before CQs),
 * and the exchange of names: QP numbers, then address and rkey of each region, then window keys.
 */
#include "tools/verbs_check/endpoint.h"

#include <errno.h>
#include <string.h>

static enum vc_verdict create_cqs(struct vc_endpoint *endpoint, struct vc_device *device,
				  const struct vc_side *side, bool events, struct vc_report *report)
{
	if (events) {
		endpoint->channel = ibv_create_comp_channel(device->context);
		if (!endpoint->channel)
			return vc_report_unusable(report, "ibv_create_comp_channel: %s",
						  strerror(errno));
	}
	for (uint32_t c = 0; c < side->cq_count; c++) {
		endpoint->cqs[c] = ibv_create_cq(device->context, (int)side->cq_depth[c], endpoint,
						 endpoint->channel, 0);
		if (!endpoint->cqs[c])
			return vc_report_unusable(report, "ibv_create_cq with %u entries: %s",
						  side->cq_depth[c], strerror(errno));
		if (endpoint->cqs[c]->cqe < (int)side->cq_depth[c])
			return vc_report_wrong(report, "ibv_create_cq gave %d entries of %u",
					       endpoint->cqs[c]->cqe, side->cq_depth[c]);
	}
	return VC_RIGHT;
}

static enum vc_verdict create_mrs(struct vc_endpoint *endpoint, struct vc_device *device,
				  const struct vc_side *side, const struct vc_memory *memory,
				  struct vc_report *report)
{
	for (uint32_t m = 0; m < side->mr_count; m++) {
		const struct vc_mr *mr = &side->mrs[m];

		endpoint->mrs[m] = ibv_reg_mr(device->pds[mr->pd], memory->bytes + mr->base,
					      mr->length, mr->access);
		if (!endpoint->mrs[m])
			return vc_report_unusable(report,
						  "ibv_reg_mr of %zu bytes with access 0x%x: %s",
						  (size_t)mr->length, mr->access, strerror(errno));
	}
	return VC_RIGHT;
}

static enum vc_verdict create_qp(struct vc_endpoint *endpoint, struct vc_device *device,
				 const struct vc_lane *lane, uint32_t q, struct vc_report *report)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = endpoint->cqs[lane->send_cq],
		.recv_cq = endpoint->cqs[lane->receive_cq],
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = lane->signal_all,
		.cap = {.max_send_wr = lane->send_depth,
			.max_recv_wr = lane->receive_depth,
			.max_send_sge = lane->send_sge,
			.max_recv_sge = lane->receive_sge,
			.max_inline_data = lane->inline_max},
	};

	endpoint->qps[q] = ibv_create_qp(device->pds[0], &attr);
	if (!endpoint->qps[q])
		return vc_report_unusable(
			report,
			"ibv_create_qp with %u send and %u receive requests, %u and "
			"%u elements, %u bytes inline: %s",
			lane->send_depth, lane->receive_depth, lane->send_sge, lane->receive_sge,
			lane->inline_max, strerror(errno));
	if (attr.cap.max_send_wr < lane->send_depth || attr.cap.max_recv_wr < lane->receive_depth ||
	    attr.cap.max_send_sge < lane->send_sge || attr.cap.max_recv_sge < lane->receive_sge ||
	    attr.cap.max_inline_data < lane->inline_max)
		return vc_report_wrong(report, "ibv_create_qp gave less than was asked for");
	return VC_RIGHT;
}

static enum vc_verdict create_windows(struct vc_endpoint *endpoint, struct vc_device *device,
				      const struct vc_lane *lane, uint32_t q,
				      struct vc_report *report)
{
	for (uint32_t w = 0; w < lane->window_count; w++) {
		struct ibv_mw *window = ibv_alloc_mw(device->pds[0], IBV_MW_TYPE_2);

		if (!window)
			return vc_report_unusable(report, "ibv_alloc_mw of type 2: %s",
						  strerror(errno));
		endpoint->windows[q][w] = window;
		endpoint->window_rkeys[q][w] = ibv_inc_rkey(window->rkey);
	}
	return VC_RIGHT;
}

enum vc_verdict vc_endpoint_create(struct vc_endpoint *endpoint, struct vc_device *device,
				   const struct vc_program *program, uint32_t s,
				   const struct vc_memory *memory, struct vc_report *report)
{
	const struct vc_side *side = &program->sides[s];
	enum vc_verdict verdict;

	*endpoint = (struct vc_endpoint){0};
	verdict = create_mrs(endpoint, device, side, memory, report);
	if (verdict == VC_RIGHT)
		verdict = create_cqs(endpoint, device, side, program->limits->events, report);
	for (uint32_t q = 0; q < program->qp_count && verdict == VC_RIGHT; q++) {
		verdict = create_qp(endpoint, device, &side->lanes[q], q, report);
		if (verdict == VC_RIGHT)
			verdict = create_windows(endpoint, device, &side->lanes[q], q, report);
	}
	return verdict;
}

static uint32_t name_count(const struct vc_program *program, uint32_t side)
{
	uint32_t count = program->qp_count + 2 * program->sides[side].mr_count;

	for (uint32_t q = 0; q < program->qp_count; q++)
		count += program->sides[side].lanes[q].window_count;
	return count;
}

enum vc_verdict vc_endpoint_exchange(struct vc_endpoint *endpoint, const struct vc_program *program,
				     uint32_t side, struct vc_control *control,
				     struct vc_report *report)
{
	uint64_t mine[VC_MESSAGE_WORDS], theirs[VC_MESSAGE_WORDS];
	enum vc_verdict verdict;
	uint32_t at = 0;

	for (uint32_t q = 0; q < program->qp_count; q++)
		mine[at++] = endpoint->qps[q]->qp_num;
	for (uint32_t m = 0; m < program->sides[side].mr_count; m++) {
		mine[at++] = (uintptr_t)endpoint->mrs[m]->addr;
		mine[at++] = endpoint->mrs[m]->rkey;
	}
	for (uint32_t q = 0; q < program->qp_count; q++)
		for (uint32_t w = 0; w < program->sides[side].lanes[q].window_count; w++)
			mine[at++] = endpoint->window_rkeys[q][w];
	verdict = vc_control_exchange(control, VC_MESSAGE_ENDPOINT, mine, at, theirs,
				      name_count(program, !side), report);
	if (verdict != VC_RIGHT)
		return verdict;
	at = 0;
	for (uint32_t q = 0; q < program->qp_count; q++)
		endpoint->remote_qpns[q] = (uint32_t)theirs[at++];
	for (uint32_t m = 0; m < program->sides[!side].mr_count; m++) {
		endpoint->remote_mrs[m].address = theirs[at++];
		endpoint->remote_mrs[m].rkey = (uint32_t)theirs[at++];
	}
	for (uint32_t q = 0; q < program->qp_count; q++)
		for (uint32_t w = 0; w < program->sides[!side].lanes[q].window_count; w++)
			endpoint->remote_window_rkeys[q][w] = (uint32_t)theirs[at++];
	return VC_RIGHT;
}

enum vc_verdict vc_endpoint_move(struct vc_endpoint *endpoint, uint32_t qp, enum ibv_qp_state state,
				 struct vc_report *report)
{
	struct ibv_qp_attr attr = {.qp_state = state};
	int error = ibv_modify_qp(endpoint->qps[qp], &attr, IBV_QP_STATE);

	if (error)
		return vc_report_wrong(report, "ibv_modify_qp of qp %u to state %d: %s", qp,
				       (int)state, strerror(error));
	return VC_RIGHT;
}

enum vc_verdict vc_endpoint_check_state(struct vc_endpoint *endpoint,
					const struct vc_program *program, uint32_t qp,
					enum ibv_qp_state state, struct vc_report *report)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int error = ibv_query_qp(endpoint->qps[qp], &attr,
				 IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN, &init);

	if (error)
		return vc_report_wrong(report, "ibv_query_qp: %s", strerror(error));
	if (attr.qp_state != state)
		return vc_report_wrong(report, "state of qp %u: expected %d, found %d", qp,
				       (int)state, (int)attr.qp_state);
	if (state == IBV_QPS_RTS &&
	    (attr.path_mtu != program->mtu || attr.dest_qp_num != endpoint->remote_qpns[qp]))
		return vc_report_wrong(
			report,
			"ibv_query_qp of qp %u: path MTU %d and destination 0x%x, set "
			"were %d and 0x%x",
			qp, (int)attr.path_mtu, attr.dest_qp_num, (int)program->mtu,
			endpoint->remote_qpns[qp]);
	return VC_RIGHT;
}

enum vc_verdict vc_endpoint_deregister(struct vc_endpoint *endpoint, uint32_t mr,
				       struct vc_report *report)
{
	int error = ibv_dereg_mr(endpoint->mrs[mr]);

	if (error)
		return vc_report_wrong(report, "ibv_dereg_mr: %s", strerror(error));
	endpoint->mrs[mr] = NULL;
	return VC_RIGHT;
}

static void note(int error, const char *what, struct vc_report *report)
{
	if (error)
		(void)vc_report_wrong(report, "%s: %s", what, strerror(error));
}

enum vc_verdict vc_endpoint_destroy(struct vc_endpoint *endpoint, struct vc_report *report)
{
	/* A bound window may hold its QP: Soft-RoCE waits for it in ibv_destroy_qp(). */
	for (uint32_t q = 0; q < VC_QP_MAX; q++)
		for (uint32_t w = 0; w < VC_WINDOW_MAX; w++)
			if (endpoint->windows[q][w])
				note(ibv_dealloc_mw(endpoint->windows[q][w]), "ibv_dealloc_mw",
				     report);
	for (uint32_t q = 0; q < VC_QP_MAX; q++)
		if (endpoint->qps[q])
			note(ibv_destroy_qp(endpoint->qps[q]), "ibv_destroy_qp", report);
	for (uint32_t c = 0; c < VC_CQ_MAX; c++)
		if (endpoint->cqs[c])
			note(ibv_destroy_cq(endpoint->cqs[c]), "ibv_destroy_cq", report);
	if (endpoint->channel)
		note(ibv_destroy_comp_channel(endpoint->channel), "ibv_destroy_comp_channel",
		     report);
	for (uint32_t m = 0; m < VC_MR_MAX; m++)
		if (endpoint->mrs[m])
			note(ibv_dereg_mr(endpoint->mrs[m]), "ibv_dereg_mr", report);
	*endpoint = (struct vc_endpoint){0};
	return report->verdict;
}
