/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creation and destruction in the order that verbs want (windows before regions, QPs before CQs),
 * and the exchange of names: QP numbers, then address and rkey of each region, then window keys.
 */
#include "tools/verbs_check/endpoint.h"

#include <errno.h>
#include <string.h>
#include <time.h>

static struct ibv_cq_ex *create_extended(struct vc_endpoint *endpoint, struct vc_device *device,
					 uint32_t depth)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = depth,
					   .cq_context = endpoint,
					   .channel = endpoint->channel,
					   .wc_flags = IBV_WC_STANDARD_FLAGS};

	if (device->timestamps)
		attr.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				 IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	return ibv_create_cq_ex(device->context, &attr);
}

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
		struct ibv_cq *cq;

		if (side->cq_extended[c]) {
			endpoint->extended[c] =
				create_extended(endpoint, device, side->cq_depth[c]);
			cq = endpoint->extended[c] ? ibv_cq_ex_to_cq(endpoint->extended[c]) : NULL;
		} else {
			cq = ibv_create_cq(device->context, (int)side->cq_depth[c], endpoint,
					   endpoint->channel, 0);
		}
		endpoint->cqs[c] = cq;
		if (!cq)
			return vc_report_unusable(report, "ibv_create_cq%s with %u entries: %s",
						  side->cq_extended[c] ? "_ex" : "",
						  side->cq_depth[c], strerror(errno));
		if (cq->cqe < (int)side->cq_depth[c])
			return vc_report_wrong(report, "ibv_create_cq gave %d entries of %u",
					       cq->cqe, side->cq_depth[c]);
	}
	return VC_RIGHT;
}

static enum vc_verdict create_srqs(struct vc_endpoint *endpoint, struct vc_device *device,
				   const struct vc_program *program, const struct vc_side *side,
				   struct vc_report *report)
{
	if (!program->is_shared)
		return VC_RIGHT;
	for (uint32_t p = 0; p < side->pool_count; p++) {
		const struct vc_lane *pool = &side->lanes[p];
		struct ibv_srq_init_attr_ex attr = {
			.srq_context = endpoint,
			.attr = {.max_wr = pool->receive_depth, .max_sge = pool->receive_sge},
			.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
			.srq_type = IBV_SRQT_BASIC,
			.pd = device->pds[0],
		};

		if (program->transport == VC_TRANSPORT_XRC) {
			attr.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
			attr.srq_type = IBV_SRQT_XRC;
			attr.xrcd = device->xrcd;
			attr.cq = endpoint->cqs[pool->receive_cq];
		}
		endpoint->srqs[p] = ibv_create_srq_ex(device->context, &attr);
		if (!endpoint->srqs[p])
			return vc_report_unusable(report, "ibv_create_srq_ex with %u receives: %s",
						  pool->receive_depth, strerror(errno));
	}
	return VC_RIGHT;
}

#define OPS_UD	  (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_WRITE (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)

static uint64_t builder_ops(struct vc_device *device, const struct vc_program *program)
{
	uint64_t ops = OPS_UD;

	if (program->transport == VC_TRANSPORT_UD)
		return ops;
	ops |= OPS_WRITE;
	if (program->limits->windows)
		ops |= IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV;
	if (program->transport == VC_TRANSPORT_UC)
		return ops;
	ops |= IBV_QP_EX_WITH_RDMA_READ;
	if (program->limits->atomics)
		ops |= IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
	if (program->limits->windows)
		ops |= IBV_QP_EX_WITH_SEND_WITH_INV;
	return device->atomic_write ? ops | IBV_QP_EX_WITH_ATOMIC_WRITE : ops;
}

static enum ibv_qp_type type_of(enum vc_transport transport)
{
	switch (transport) {
	case VC_TRANSPORT_UC:
		return IBV_QPT_UC;
	case VC_TRANSPORT_UD:
		return IBV_QPT_UD;
	case VC_TRANSPORT_XRC:
		return IBV_QPT_XRC_SEND;
	case VC_TRANSPORT_RC:
	case VC_TRANSPORT_COUNT:
		break;
	}
	return IBV_QPT_RC;
}

static enum vc_verdict create_target(struct vc_endpoint *endpoint, struct vc_device *device,
				     uint32_t q, struct vc_report *report)
{
	struct ibv_qp_init_attr_ex attr = {.qp_type = IBV_QPT_XRC_RECV,
					   .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					   .xrcd = device->xrcd};

	endpoint->targets[q] = ibv_create_qp_ex(device->context, &attr);
	if (!endpoint->targets[q])
		return vc_report_unusable(report, "ibv_create_qp_ex of an XRC target: %s",
					  strerror(errno));
	return VC_RIGHT;
}

static enum vc_verdict create_qp(struct vc_endpoint *endpoint, struct vc_device *device,
				 const struct vc_program *program, const struct vc_lane *lane,
				 uint32_t q, struct vc_report *report)
{
	bool has_queue = !program->is_shared;
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = endpoint->cqs[lane->send_cq],
		.recv_cq = endpoint->cqs[lane->receive_cq],
		.qp_type = type_of(program->transport),
		.sq_sig_all = lane->signal_all,
		.cap = {.max_send_wr = lane->send_depth,
			.max_recv_wr = has_queue ? lane->receive_depth : 0,
			.max_send_sge = lane->send_sge,
			.max_recv_sge = has_queue ? lane->receive_sge : 0,
			.max_inline_data = lane->inline_max},
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = device->pds[0],
	};

	if (program->transport == VC_TRANSPORT_XRC)
		attr.recv_cq = NULL;
	else if (program->is_shared)
		attr.srq = endpoint->srqs[lane->pool];
	if (lane->builder) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = builder_ops(device, program);
	}
	endpoint->qps[q] = ibv_create_qp_ex(device->context, &attr);
	if (!endpoint->qps[q])
		return vc_report_unusable(
			report,
			"ibv_create_qp_ex (%s%s) with %u send and %u receive requests, %u and "
			"%u elements, %u bytes inline: %s",
			vc_transport_str(program->transport), lane->builder ? ", ibv_wr_*" : "",
			lane->send_depth, lane->receive_depth, lane->send_sge, lane->receive_sge,
			lane->inline_max, strerror(errno));
	if (attr.cap.max_send_wr < lane->send_depth || attr.cap.max_send_sge < lane->send_sge ||
	    attr.cap.max_inline_data < lane->inline_max ||
	    (has_queue && (attr.cap.max_recv_wr < lane->receive_depth ||
			   attr.cap.max_recv_sge < lane->receive_sge)))
		return vc_report_wrong(report, "ibv_create_qp_ex gave less than was asked for");
	if (lane->builder)
		endpoint->builders[q] = ibv_qp_to_qp_ex(endpoint->qps[q]);
	return program->transport == VC_TRANSPORT_XRC ? create_target(endpoint, device, q, report)
						      : VC_RIGHT;
}

static enum vc_verdict create_windows(struct vc_endpoint *endpoint, struct vc_device *device,
				      const struct vc_lane *lane, uint32_t q, uint32_t type,
				      struct vc_report *report)
{
	for (uint32_t w = 0; w < lane->window_count; w++) {
		struct ibv_mw *window =
			ibv_alloc_mw(device->pds[0], type == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);

		if (!window)
			return vc_report_unusable(report, "ibv_alloc_mw of type %u: %s", type,
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
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	*endpoint = (struct vc_endpoint){.has_stamps = device->timestamps,
					 .born_ns = (uint64_t)now.tv_sec * 1000000000u +
						    (uint64_t)now.tv_nsec};
	verdict = vc_region_create_all(endpoint, device, side, memory, report);
	if (verdict == VC_RIGHT)
		verdict = create_cqs(endpoint, device, side, program->limits->events, report);
	if (verdict == VC_RIGHT)
		verdict = create_srqs(endpoint, device, program, side, report);
	for (uint32_t q = 0; q < program->qp_count && verdict == VC_RIGHT; q++) {
		verdict = create_qp(endpoint, device, program, &side->lanes[q], q, report);
		if (verdict == VC_RIGHT)
			verdict = create_windows(endpoint, device, &side->lanes[q], q,
						 program->window_type, report);
	}
	return verdict;
}

static uint32_t name_count(const struct vc_program *program, uint32_t side)
{
	uint32_t count = program->qp_count + 2 * program->sides[side].mr_count;

	if (program->transport == VC_TRANSPORT_XRC)
		count += program->qp_count + program->sides[side].pool_count;

	for (uint32_t q = 0; q < program->qp_count; q++)
		count += program->sides[side].lanes[q].window_count;
	return count;
}

enum vc_verdict vc_endpoint_exchange(struct vc_endpoint *endpoint, const struct vc_program *program,
				     uint32_t side, struct vc_control *control,
				     struct vc_report *report)
{
	uint64_t mine[VC_MESSAGE_WORDS], theirs[VC_MESSAGE_WORDS];
	bool is_xrc = program->transport == VC_TRANSPORT_XRC;
	enum vc_verdict verdict;
	uint32_t at = 0;

	for (uint32_t q = 0; q < program->qp_count; q++)
		mine[at++] = endpoint->qps[q]->qp_num;
	for (uint32_t m = 0; m < program->sides[side].mr_count; m++) {
		mine[at++] = endpoint->bases[m];
		mine[at++] = endpoint->mrs[m]->rkey;
	}
	for (uint32_t q = 0; q < program->qp_count; q++)
		for (uint32_t w = 0; w < program->sides[side].lanes[q].window_count; w++)
			mine[at++] = endpoint->window_rkeys[q][w];
	for (uint32_t q = 0; is_xrc && q < program->qp_count; q++)
		mine[at++] = endpoint->targets[q]->qp_num;
	for (uint32_t p = 0; is_xrc && p < program->sides[side].pool_count; p++) {
		uint32_t number = 0;
		int error = ibv_get_srq_num(endpoint->srqs[p], &number);

		if (error)
			return vc_report_wrong(report, "ibv_get_srq_num: %s", strerror(error));
		mine[at++] = number;
	}
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
	for (uint32_t q = 0; is_xrc && q < program->qp_count; q++)
		endpoint->remote_targets[q] = (uint32_t)theirs[at++];
	for (uint32_t p = 0; is_xrc && p < program->sides[!side].pool_count; p++)
		endpoint->remote_srqns[p] = (uint32_t)theirs[at++];
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
	uint32_t destination;
	int error = ibv_query_qp(endpoint->qps[qp], &attr,
				 IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN, &init);

	if (error)
		return vc_report_wrong(report, "ibv_query_qp: %s", strerror(error));
	if (attr.qp_state != state)
		return vc_report_wrong(report, "state of qp %u: expected %d, found %d", qp,
				       (int)state, (int)attr.qp_state);
	destination = program->transport == VC_TRANSPORT_XRC ? endpoint->remote_targets[qp]
							     : endpoint->remote_qpns[qp];
	if (state == IBV_QPS_RTS && program->transport != VC_TRANSPORT_UD &&
	    (attr.path_mtu != program->mtu || attr.dest_qp_num != destination))
		return vc_report_wrong(
			report,
			"ibv_query_qp of qp %u: path MTU %d and destination 0x%x, set "
			"were %d and 0x%x",
			qp, (int)attr.path_mtu, attr.dest_qp_num, (int)program->mtu, destination);
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

enum vc_verdict vc_endpoint_destroy(struct vc_endpoint *endpoint, const struct vc_program *program,
				    uint32_t side, struct vc_report *report)
{
	/* A bound window may hold its QP: Soft-RoCE waits for it in ibv_destroy_qp(). */
	for (uint32_t q = 0; q < VC_QP_MAX; q++)
		for (uint32_t w = 0; w < VC_WINDOW_MAX; w++)
			if (endpoint->windows[q][w])
				note(ibv_dealloc_mw(endpoint->windows[q][w]), "ibv_dealloc_mw",
				     report);
	vc_datagram_destroy(endpoint, program, side, report);
	for (uint32_t q = 0; q < VC_QP_MAX; q++) {
		if (endpoint->qps[q])
			note(ibv_destroy_qp(endpoint->qps[q]), "ibv_destroy_qp", report);
		if (endpoint->targets[q])
			note(ibv_destroy_qp(endpoint->targets[q]), "ibv_destroy_qp", report);
	}
	for (uint32_t p = 0; p < VC_QP_MAX; p++)
		if (endpoint->srqs[p])
			note(ibv_destroy_srq(endpoint->srqs[p]), "ibv_destroy_srq", report);
	for (uint32_t c = 0; c < VC_CQ_MAX; c++)
		if (endpoint->cqs[c])
			note(ibv_destroy_cq(endpoint->cqs[c]), "ibv_destroy_cq", report);
	if (endpoint->channel)
		note(ibv_destroy_comp_channel(endpoint->channel), "ibv_destroy_comp_channel",
		     report);
	vc_region_destroy_all(endpoint, report);
	*endpoint = (struct vc_endpoint){0};
	return report->verdict;
}
