/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue pairs of a flow: made and connected through verbs at its start as a program would do it
 * at both ends, filled with messages as far as depth and time allow, taken down at its end.
 */
#include "fabric/ecmp.h"
#include "fabric/payload.h"

#include "wire/mtu.h"

#include <errno.h>
#include <stdlib.h>

#define QKEY	       0x11111111u
#define RNR_RETRY      7u /* for ever */
#define RNR_TIMER_CODE 1u /* 10 us */
#define ECT_0	       2u
#define SPORT_FIRST    49152u /* the range of RoCEv2's entropy ports */
#define SPORT_COUNT    16384u
#define BURST_ONE      1u /* a packet, no more */
#define SIGNAL_SHARE   4u /* of the depth */
#define SIGNAL_ALL     8u /* up to this depth */

uint64_t roce_fabric_message_length(const struct roce_fabric_flow *flow, uint64_t message)
{
	if (message + 1 < flow->message_count)
		return flow->message_bytes;
	return flow->cfg.bytes - message * flow->message_bytes;
}

static uint32_t depth_of(const struct roce_fabric_flow *flow)
{
	uint32_t depth = flow->cfg.depth ? flow->cfg.depth : 1;

	return depth < ROCE_FABRIC_DEPTH_MAX ? depth : ROCE_FABRIC_DEPTH_MAX;
}

/* What is posted at a time at most; a queue pair has no room for what there is not. */
static uint32_t posted_max(const struct roce_fabric_flow_qp *fq)
{
	uint32_t depth = depth_of(fq->flow);

	if (fq->count >= depth)
		return depth;
	return fq->count ? (uint32_t)fq->count : 1;
}

/* Answers may be repeated, where requests are. */
static uint32_t send_room(const struct roce_fabric_flow_qp *fq, bool is_src)
{
	if (is_src)
		return posted_max(fq);
	return fq->flow->cfg.response_bytes ? depth_of(fq->flow) : 1;
}

/* ---- making ---- */

static uint8_t qp_type(const struct roce_fabric_flow *flow)
{
	switch ((enum roce_fabric_transport)flow->cfg.transport) {
	case ROCE_FABRIC_RC:
	case ROCE_FABRIC_TRANSPORT_COUNT:
		return ROCE_QP_RC;
	case ROCE_FABRIC_UC:
		return ROCE_QP_UC;
	case ROCE_FABRIC_UD:
		return ROCE_QP_UD;
	}
	return ROCE_QP_RC;
}

static int make_end(struct roce_fabric_flow_qp *fq, bool is_src)
{
	const struct roce_fabric_flow *flow = fq->flow;
	struct roce_fabric_host *host = roce_fabric_flow_host(flow, is_src);
	struct roce_qp_request req = {
		.type = qp_type(flow),
		.pd = &host->pd,
		.send_cq = &host->cq,
		.recv_cq = &host->cq,
		.caps = {.max_send_wr = send_room(fq, is_src),
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1},
		.owner = fq,
	};

	if (flow->cfg.operation == ROCE_FABRIC_SEND) {
		int err = roce_fabric_host_open_srq(host);

		if (err)
			return err;
		req.srq = &host->srq;
		roce_fabric_payload_expect(fq, is_src);
	}
	return roce_verbs_qp_init(is_src ? &fq->src : &fq->dst, &host->ctx, &req);
}

/* What the adapter makes of the flow's marks, which is the class of the queue pair. */
static uint8_t class_of(const struct roce_fabric_flow *flow, const struct roce_fabric_host *host)
{
	return roce_fabric_classify(&host->port->profile->cfg.qos, (uint8_t)(flow->cfg.dscp << 2),
				    flow->cfg.prio);
}

static uint8_t traffic_class(const struct roce_fabric_flow *flow)
{
	return (uint8_t)((uint32_t)flow->cfg.dscp << 2 | (flow->cfg.is_not_ecn ? 0 : ECT_0));
}

static int to_init(struct roce_verbs_qp *qp, bool is_datagram)
{
	const struct roce_qp_attr attr = {
		.state = ROCE_QP_INIT,
		.port_num = 1,
		.qkey = QKEY,
		.access_flags = ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_READ,
	};
	uint32_t mask = ROCE_ATTR_STATE | ROCE_ATTR_PKEY_INDEX | ROCE_ATTR_PORT;

	mask |= is_datagram ? ROCE_ATTR_QKEY : ROCE_ATTR_ACCESS_FLAGS;
	return roce_verbs_qp_modify(qp, &attr, mask, NULL);
}

static int to_rtr(struct roce_fabric_flow_qp *fq, bool is_src)
{
	const struct roce_fabric_flow *flow = fq->flow;
	const struct roce_fabric_host *host = roce_fabric_flow_host(flow, is_src);
	const struct roce_av av = {
		.dgid = roce_fabric_flow_host(flow, !is_src)->gid,
		.hop_limit = ROCE_FABRIC_HOP_LIMIT,
		.traffic_class = traffic_class(flow),
		.sl = class_of(flow, host),
		.port_num = 1,
		.is_global = true,
	};
	const struct roce_qp_attr attr = {
		.state = ROCE_QP_RTR,
		.path_mtu = roce_mtu_code(flow->cfg.path_mtu),
		.dest_qpn = is_src ? fq->dst.qp.cfg.qpn.v : fq->src.qp.cfg.qpn.v,
		.max_dest_rd_atomic = ROCE_MAX_RD_ATOMIC,
		.min_rnr_timer = RNR_TIMER_CODE,
	};
	uint32_t mask = ROCE_ATTR_STATE;

	if (flow->cfg.transport != ROCE_FABRIC_UD)
		mask |= ROCE_ATTR_AV | ROCE_ATTR_PATH_MTU | ROCE_ATTR_DEST_QPN | ROCE_ATTR_RQ_PSN;
	if (flow->cfg.transport == ROCE_FABRIC_RC)
		mask |= ROCE_ATTR_MAX_DEST_RD_ATOMIC | ROCE_ATTR_MIN_RNR_TIMER;
	return roce_verbs_qp_modify(is_src ? &fq->src : &fq->dst, &attr, mask, &av);
}

static int to_rts(struct roce_fabric_flow_qp *fq, bool is_src)
{
	const struct roce_fabric_flow *flow = fq->flow;
	const struct roce_qp_attr attr = {
		.state = ROCE_QP_RTS,
		.timeout = flow->cfg.timeout,
		.retry_cnt = flow->cfg.retry_cnt,
		.rnr_retry = RNR_RETRY,
		.max_rd_atomic = ROCE_MAX_RD_ATOMIC,
	};
	struct roce_verbs_qp *qp = is_src ? &fq->src : &fq->dst;
	uint32_t mask = ROCE_ATTR_STATE | ROCE_ATTR_SQ_PSN;
	int err;

	if (flow->cfg.transport == ROCE_FABRIC_RC)
		mask |= ROCE_ATTR_TIMEOUT | ROCE_ATTR_RETRY_CNT | ROCE_ATTR_RNR_RETRY |
			ROCE_ATTR_MAX_QP_RD_ATOMIC;
	err = roce_verbs_qp_modify(qp, &attr, mask, NULL);
	if (!err && flow->cfg.rate_kbps)
		err = roce_verbs_qp_limit_rate(qp, flow->cfg.rate_kbps, BURST_ONE);
	return err;
}

static void number(struct roce_fabric_flow_qp *fq)
{
	const struct roce_fabric_flow *flow = fq->flow;
	uint64_t ends = (uint64_t)flow->cfg.src << 32 | flow->cfg.dst;
	uint64_t entropy = roce_fabric_mix(
		((uint64_t)fq->src.qp.cfg.qpn.v << 24 ^ fq->dst.qp.cfg.qpn.v) + ends);

	fq->udp_sport = flow->cfg.udp_sport ? (uint16_t)(flow->cfg.udp_sport + fq->index)
					    : (uint16_t)(SPORT_FIRST + entropy % SPORT_COUNT);
	fq->hash[0] = (uint32_t)roce_fabric_mix(ends * 31 + fq->udp_sport);
	fq->hash[1] = (uint32_t)roce_fabric_mix((ends >> 32 | ends << 32) * 31 + fq->udp_sport);
}

static int make_ring(struct roce_fabric_flow_qp *fq)
{
	uint32_t size = 1;

	while (size < posted_max(fq))
		size *= 2;
	fq->posted_ps = calloc(size, sizeof(*fq->posted_ps));
	fq->ring_mask = size - 1;
	return fq->posted_ps ? 0 : -ENOMEM;
}

static int open_one(struct roce_fabric_flow_qp *fq)
{
	bool is_datagram = fq->flow->cfg.transport == ROCE_FABRIC_UD;
	int err = make_ring(fq);

	if (err)
		return err;
	err = make_end(fq, true);
	if (err)
		goto free_ring;
	err = make_end(fq, false);
	if (err)
		goto end_src;
	for (int is_src = 0; !err && is_src < 2; is_src++)
		err = to_init(is_src ? &fq->src : &fq->dst, is_datagram);
	for (int is_src = 0; !err && is_src < 2; is_src++)
		err = to_rtr(fq, is_src);
	for (int is_src = 0; !err && is_src < 2; is_src++)
		err = to_rts(fq, is_src);
	if (err)
		goto end_dst;
	number(fq);
	return 0;
end_dst:
	roce_verbs_qp_fini(&fq->dst);
end_src:
	roce_verbs_qp_fini(&fq->src);
free_ring:
	free(fq->posted_ps);
	fq->posted_ps = NULL;
	return err;
}

static void close_first(struct roce_fabric_flow *flow, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		roce_verbs_qp_fini(&flow->qps[i].src);
		roce_verbs_qp_fini(&flow->qps[i].dst);
		roce_fabric_payload_close(&flow->qps[i]);
		roce_fabric_seen_fini(&flow->qps[i].taken[0]);
		roce_fabric_seen_fini(&flow->qps[i].taken[1]);
		roce_fabric_seen_fini(&flow->qps[i].answers_taken);
		free(flow->qps[i].posted_ps);
	}
	free(flow->qps);
	flow->qps = NULL;
}

int roce_fabric_flow_open(struct roce_fabric_flow *flow)
{
	uint32_t count = flow->cfg.qp_count;

	flow->qps = calloc(count, sizeof(*flow->qps));
	if (!flow->qps)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		struct roce_fabric_flow_qp *fq = &flow->qps[i];
		int err;

		fq->flow = flow;
		fq->index = i;
		fq->count = flow->message_count / count + (i < flow->message_count % count);
		flow->qps_open += fq->count > 0;
		err = open_one(fq);
		if (err) {
			close_first(flow, i);
			return err;
		}
	}
	return 0;
}

void roce_fabric_flow_close(struct roce_fabric_flow *flow)
{
	if (flow->qps)
		close_first(flow, flow->cfg.qp_count);
}

/* ---- posting ---- */

/* A completion costs time, so only some are asked for, unless each message counts. */
static bool is_signaled(const struct roce_fabric_flow_qp *fq)
{
	const struct roce_fabric_flow *flow = fq->flow;
	uint32_t depth = depth_of(flow);

	if (depth <= SIGNAL_ALL || flow->cfg.interval_ps || fq->posted + 1 == fq->count)
		return true;
	return (fq->posted + 1) % (depth / SIGNAL_SHARE) == 0;
}

static uint8_t wr_opcode(const struct roce_fabric_flow *flow)
{
	switch ((enum roce_fabric_operation)flow->cfg.operation) {
	case ROCE_FABRIC_WRITE:
	case ROCE_FABRIC_OPERATION_COUNT:
		return ROCE_WR_RDMA_WRITE;
	case ROCE_FABRIC_READ:
		return ROCE_WR_RDMA_READ;
	case ROCE_FABRIC_SEND:
		return flow->cfg.response_bytes ? ROCE_WR_SEND_WITH_IMM : ROCE_WR_SEND;
	}
	return ROCE_WR_SEND;
}

static bool post(struct roce_fabric_flow_qp *fq, bool is_src, struct roce_send_wr *wr,
		 const struct roce_fabric_slots *slots, uint64_t bytes)
{
	const struct roce_fabric_flow *flow = fq->flow;
	struct roce_fabric_host *host = roce_fabric_flow_host(flow, is_src);
	struct roce_verbs_qp *from = is_src ? &fq->src : &fq->dst;
	const struct roce_verbs_qp *to = is_src ? &fq->dst : &fq->src;
	bool is_read = wr->opcode == ROCE_WR_RDMA_READ;
	const struct roce_sge sge = {
		.addr = roce_fabric_slot_address(is_read ? slots->sink : slots->source),
		.length = (uint32_t)bytes,
		.lkey = host->mr.mr.lkey.v};
	struct roce_path path;

	wr->sge = &sge;
	wr->sge_count = 1;
	wr->remote_addr = roce_fabric_slot_address(is_read ? slots->source : slots->sink);
	wr->rkey = roce_fabric_flow_host(flow, !is_src)->mr.mr.rkey.v;
	if (flow->cfg.transport == ROCE_FABRIC_UD) {
		path = (struct roce_path){
			.sgid = host->gid,
			.dgid = roce_fabric_flow_host(flow, !is_src)->gid,
			.pkey = ROCE_PKEY_DEFAULT,
			.traffic_class = traffic_class(flow),
			.hop_limit = ROCE_FABRIC_HOP_LIMIT,
			.sl = class_of(flow, host),
		};
		wr->path = &path;
		wr->remote_qpn = to->qp.cfg.qpn.v;
		wr->remote_qkey = QKEY;
	}
	return roce_post_send(&from->qp, wr, roce_fabric_host_now(host)) == ROCE_POST_OK;
}

/* Messages of which the answer, or else the completion, is still to come. */
static uint64_t outstanding(const struct roce_fabric_flow_qp *fq)
{
	bool is_answer_sure =
		fq->flow->cfg.response_bytes && fq->flow->cfg.transport == ROCE_FABRIC_RC;

	return fq->posted -
	       (is_answer_sure && fq->answered < fq->completed ? fq->answered : fq->completed);
}

void roce_fabric_flow_post(struct roce_fabric_flow_qp *fq)
{
	const struct roce_fabric_flow *flow = fq->flow;
	uint64_t depth = depth_of(flow);

	while (fq->posted < fq->count && outstanding(fq) < depth) {
		uint64_t message = fq->posted * flow->cfg.qp_count + fq->index;
		struct roce_send_wr wr = {
			.wr_id = fq->posted,
			.opcode = wr_opcode(flow),
			.flags = is_signaled(fq) ? ROCE_SEND_SIGNALED : 0,
			.imm_be = (uint32_t)fq->posted,
		};
		struct roce_fabric_slots slots;
		bool is_posted;

		if (message >= flow->released)
			return;
		slots = roce_fabric_payload_take(fq, message);
		is_posted = post(fq, true, &wr, &slots, roce_fabric_message_length(flow, message));
		roce_fabric_payload_post(fq, &slots, is_posted);
		if (!is_posted)
			return;
		fq->posted_ps[fq->posted & fq->ring_mask] = flow->f->queue.now_ps;
		fq->posted++;
	}
}

void roce_fabric_flow_answer(struct roce_fabric_flow_qp *fq, uint32_t imm_be)
{
	struct roce_fabric_slots slots = roce_fabric_payload_take_answer(fq, imm_be);
	struct roce_send_wr wr = {
		.wr_id = slots.source,
		.opcode = ROCE_WR_SEND_WITH_IMM,
		.flags = ROCE_SEND_SIGNALED,
		.imm_be = imm_be,
	};

	/* Full only when UD answers pile up: then one is lost, as on the way. */
	roce_fabric_payload_post_answer(fq, &slots,
					post(fq, false, &wr, &slots, fq->flow->cfg.response_bytes));
}
