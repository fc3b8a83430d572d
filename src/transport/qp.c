/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue pair as an object: it is made, changes state, completes its work requests in order, and
 * goes to ERR with everything flushed. State changes happen here and nowhere else; the roles report
 * what they saw.
 */
#include "transport/qp.h"

#include "base/assert.h"
#include "base/marks.h"
#include "transport/qp_states.h"
#include "transport/roles.h"
#include "wire/mtu.h"

static struct roce_qp **table_entry(struct roce_transport *t, roce_qpn_t qpn)
{
	return &t->cfg.qp_table[qpn.v & t->cfg.qp_table_mask];
}

static void reset_roles(struct roce_qp *qp)
{
	roce_requester_init(qp);
	qp->resp = (struct roce_responder){0};
	qp->notify = (struct roce_notify){0};
	if (qp->t->cfg.cc && qp->cfg.type != ROCE_QP_UD)
		roce_cc_init(&qp->cc, qp->t->cfg.cc);
	roce_pacing_follow(qp);
}

bool roce_qp_init(struct roce_qp *qp, struct roce_transport *t, const struct roce_qp_config *cfg)
{
	if (*table_entry(t, cfg->qpn))
		return ROCE_MARKED(qp_number_taken, false);
	*qp = (struct roce_qp){.t = t, .cfg = *cfg, .srq = cfg->srq, .pace_deadline = ROCE_NEVER};
	roce_list_init(&qp->ready_link);
	roce_list_init(&qp->wait_link);
	roce_list_init(&qp->cnp_link);
	roce_timer_init(&qp->timer);
	roce_send_queue_init(&qp->sq, cfg->sq_storage, cfg->max_send_wr, cfg->max_send_sge,
			     cfg->max_inline);
	roce_recv_queue_init(&qp->rq, cfg->rq_storage, cfg->max_recv_wr, cfg->max_recv_sge);
	reset_roles(qp);
	*table_entry(t, cfg->qpn) = qp;
	t->qp_count++;
	return true;
}

static void leave_lists(struct roce_qp *qp)
{
	roce_requester_release(qp);
	roce_retransmit_stop(qp);
	roce_qp_unmark_ready(qp);
	roce_list_remove(&qp->cnp_link);
}

void roce_qp_fini(struct roce_qp *qp)
{
	leave_lists(qp);
	if (qp->has_bound)
		roce_mem_unbind_all(&qp->t->keys, qp);
	*table_entry(qp->t, qp->cfg.qpn) = NULL;
	qp->t->qp_count--;
}

void roce_qp_event(struct roce_qp *qp, enum roce_async_event event)
{
	qp->t->cfg.ops->async_event(qp->t->cfg.ctx, event, qp, NULL);
}

void roce_qp_fill_headers(const struct roce_qp *qp, struct roce_headers *hdr, roce_opcode_t opcode,
			  roce_psn_t psn)
{
	hdr->opcode = opcode;
	hdr->pad_count = 0;
	hdr->tver = 0;
	hdr->solicited = false;
	/* Without path migration the state is "migrated" (as hardware sends it). */
	hdr->mig_req = true;
	hdr->ack_req = false;
	hdr->fecn = false;
	hdr->becn = false;
	hdr->pkey = qp->attr.path.pkey;
	hdr->dest_qpn = (roce_qpn_t){qp->attr.dest_qpn};
	hdr->psn = psn;
}

/* ---- completions ---- */

static enum roce_wc_opcode wc_opcode(uint8_t wr_opcode)
{
	switch ((enum roce_wr_opcode)wr_opcode) {
	case ROCE_WR_RDMA_WRITE:
	case ROCE_WR_RDMA_WRITE_WITH_IMM:
		return ROCE_WC_RDMA_WRITE;
	case ROCE_WR_RDMA_READ:
		return ROCE_WC_RDMA_READ;
	case ROCE_WR_ATOMIC_CMP_AND_SWP:
		return ROCE_WC_COMP_SWAP;
	case ROCE_WR_ATOMIC_FETCH_AND_ADD:
		return ROCE_WC_FETCH_ADD;
	case ROCE_WR_LOCAL_INV:
		return ROCE_WC_LOCAL_INV;
	case ROCE_WR_BIND_MW:
		return ROCE_WC_BIND_MW;
	case ROCE_WR_ATOMIC_WRITE:
		return ROCE_WC_ATOMIC_WRITE;
	case ROCE_WR_SEND:
	case ROCE_WR_SEND_WITH_IMM:
	case ROCE_WR_SEND_WITH_INV:
		return ROCE_WC_SEND;
	}
	roce_unreachable();
}

static void flush_sends(struct roce_qp *qp, roce_ns_t now)
{
	while (qp->sq.completed != qp->sq.posted)
		roce_qp_complete_send(qp, ROCE_WC_WR_FLUSH_ERR, now);
	qp->sq.next = qp->sq.posted;
}

/* WQEs of an SRQ stay there; only the one that was taken completes. */
static void flush(struct roce_qp *qp, roce_ns_t now)
{
	flush_sends(qp, now);
	while (roce_recv_is_in_hand(qp))
		roce_qp_complete_recv(qp,
				      &(struct roce_cqe){.status = ROCE_WC_WR_FLUSH_ERR,
							 .opcode = ROCE_WC_RECV,
							 .timestamp_ns = now},
				      false);
}

/* Stops the requester and flushes; the responder's output is the caller's business. */
static void enter_error(struct roce_qp *qp, roce_ns_t now)
{
	if (qp->attr.state == ROCE_QP_ERR)
		return;
	qp->attr.state = ROCE_QP_ERR;
	qp->resp.open = ROCE_RESP_OPEN_NONE;
	leave_lists(qp);
	flush(qp, now);
	if (qp->cfg.srq) {
		ROCE_MARK(qp_last_wqe_reached);
		roce_qp_event(qp, ROCE_EVENT_QP_LAST_WQE_REACHED);
	}
}

/* A send of an unreliable QP failed: sending stops until the program brings it back to RTS. */
static void enter_sqe(struct roce_qp *qp, roce_ns_t now)
{
	ROCE_MARK(qp_sqe);
	qp->attr.state = ROCE_QP_SQE;
	flush_sends(qp, now);
}

/*
 * IBTA class G: the QP dies with an event. What is still posted is flushed all the same: the other
 * CQ may work, and what does not fit is lost.
 */
static void on_cq_overrun(struct roce_qp *qp, roce_ns_t now)
{
	if (qp->attr.state == ROCE_QP_ERR)
		return;
	roce_qp_event(qp, ROCE_EVENT_QP_FATAL);
	enter_error(qp, now);
}

static void push_cqe(struct roce_qp *qp, struct roce_cq *cq, const struct roce_cqe *cqe,
		     bool is_solicited)
{
	struct roce_transport *t = qp->t;
	bool was_overrun = cq->is_overrun;

	if (roce_cq_push(cq, cqe, is_solicited)) {
		roce_cq_moderate_follow(t, cq);
		return;
	}
	if (was_overrun) {
		ROCE_MARK(qp_cq_dead);
	} else {
		roce_count(t, ROCE_STAT_CQ_OVERRUNS);
		t->cfg.ops->async_event(t->cfg.ctx, ROCE_EVENT_CQ_ERR, NULL, cq);
	}
	on_cq_overrun(qp, cqe->timestamp_ns);
}

void roce_qp_complete_send(struct roce_qp *qp, enum roce_wc_status status, roce_ns_t now)
{
	struct roce_send_wqe *wqe = roce_send_queue_at(&qp->sq, qp->sq.completed);
	bool is_read = wqe->opcode == ROCE_WR_RDMA_READ;

	qp->sq.completed++;
	if (status == ROCE_WC_SUCCESS && !wqe->is_signaled)
		return;
	push_cqe(qp, qp->cfg.send_cq,
		 &(struct roce_cqe){
			 .wr_id = wqe->wr_id,
			 .byte_len = is_read				      ? wqe->length
				     : roce_wr_is_read_or_atomic(wqe->opcode) ? 8
									      : 0,
			 .timestamp_ns = now,
			 .sq = &qp->sq,
			 .sq_reclaim = qp->sq.completed,
			 .qp = qp,
			 .qp_num = qp->cfg.qpn.v,
			 .status = (uint8_t)status,
			 .opcode = (uint8_t)wc_opcode(wqe->opcode),
		 },
		 false);
}

void roce_qp_complete_local(struct roce_qp *qp, roce_ns_t now)
{
	while (qp->sq.completed != qp->sq.posted && qp->attr.state != ROCE_QP_ERR &&
	       roce_send_queue_at(&qp->sq, qp->sq.completed)->is_done) {
		/* Sending has gone back and has not come by here again yet: nothing to do here. */
		if (qp->sq.next == qp->sq.completed) {
			ROCE_MARK(qp_local_behind);
			qp->sq.next++;
		}
		roce_qp_complete_send(qp, ROCE_WC_SUCCESS, now);
	}
}

void roce_qp_complete_recv(struct roce_qp *qp, const struct roce_cqe *cqe, bool is_solicited)
{
	struct roce_cqe full = *cqe;

	full.wr_id = roce_recv_release(qp);
	full.qp = qp;
	full.qp_num = qp->cfg.qpn.v;
	if (!qp->srq)
		qp->rq.head++;
	push_cqe(qp, qp->srq && qp->srq->cq ? qp->srq->cq : qp->cfg.recv_cq, &full, is_solicited);
}

static void drop_responder_output(struct roce_qp *qp)
{
	qp->resp.resource_count = 0;
	qp->resp.pending_count = 0;
	qp->resp.is_ack_pending = false;
	qp->resp.is_dup_ack_pending = false;
	qp->resp.is_nak_pending = false;
}

void roce_qp_enter_error(struct roce_qp *qp, roce_ns_t now)
{
	enter_error(qp, now);
	drop_responder_output(qp);
	roce_qp_unmark_ready(qp);
}

void roce_qp_error_by_responder(struct roce_qp *qp, roce_ns_t now)
{
	enter_error(qp, now);
	if (roce_responder_has_output(qp))
		roce_qp_mark_ready(qp);
}

void roce_qp_fail_send(struct roce_qp *qp, enum roce_wc_status status, roce_ns_t now)
{
	if (qp->attr.state == ROCE_QP_ERR)
		return;
	if (qp->sq.completed != qp->sq.posted)
		roce_qp_complete_send(qp, status, now);
	if (roce_qp_is_reliable(qp))
		roce_qp_enter_error(qp, now);
	else if (qp->attr.state != ROCE_QP_ERR)
		enter_sqe(qp, now);
}

/* ---- modify ---- */

/* Attributes whose value is wrong whatever the transition. */
static uint32_t bad_values(const struct roce_qp *qp, const struct roce_qp_attr *a, uint32_t mask)
{
	uint32_t bad = 0;

	if ((mask & ROCE_ATTR_PATH_MTU) && (a->path_mtu < 1 || a->path_mtu > 5))
		bad |= ROCE_ATTR_PATH_MTU;
	if ((mask & ROCE_ATTR_TIMEOUT) && a->timeout > 31)
		bad |= ROCE_ATTR_TIMEOUT;
	if ((mask & ROCE_ATTR_RETRY_CNT) && a->retry_cnt > 7)
		bad |= ROCE_ATTR_RETRY_CNT;
	if ((mask & ROCE_ATTR_RNR_RETRY) && a->rnr_retry > 7)
		bad |= ROCE_ATTR_RNR_RETRY;
	if ((mask & ROCE_ATTR_MIN_RNR_TIMER) && a->min_rnr_timer > 31)
		bad |= ROCE_ATTR_MIN_RNR_TIMER;
	if ((mask & ROCE_ATTR_MAX_QP_RD_ATOMIC) && a->max_rd_atomic > ROCE_MAX_RD_ATOMIC)
		bad |= ROCE_ATTR_MAX_QP_RD_ATOMIC;
	if ((mask & ROCE_ATTR_MAX_DEST_RD_ATOMIC) && a->max_dest_rd_atomic > ROCE_MAX_RD_ATOMIC)
		bad |= ROCE_ATTR_MAX_DEST_RD_ATOMIC;
	if ((mask & ROCE_ATTR_DEST_QPN) && a->dest_qpn > ROCE_QPN_MASK)
		bad |= ROCE_ATTR_DEST_QPN;
	if ((mask & ROCE_ATTR_AV) && qp->cfg.type != ROCE_QP_UD &&
	    (roce_gid_is_zero(&a->path.sgid) || roce_gid_is_zero(&a->path.dgid)))
		bad |= ROCE_ATTR_AV;
	return bad;
}

/* What a packet carries that is not its message's last. */
static uint32_t segment_bytes(const struct roce_transport *t, uint8_t path_mtu)
{
	uint32_t mtu = roce_mtu_bytes(path_mtu);

	return t->cfg.segment_bytes && t->cfg.segment_bytes < mtu ? t->cfg.segment_bytes : mtu;
}

/* Packets that one READ request asks for. Four of them fill the window: with fewer a request is not
 * yet there when the last answer ends, with more the responder cuts its answers into more batches
 * (16 packets of 1 KiB: 10.0 Gb/s between two namespaces, 48: 14.7). */
static uint32_t read_chunk(const struct roce_transport *t, uint32_t mtu)
{
	uint32_t quarter = t->cfg.read_window / 4 / (mtu + ROCE_WINDOW_PACKET_COST);

	if (quarter == 0)
		return 1;
	return quarter < t->cfg.read_chunk_packets ? quarter : t->cfg.read_chunk_packets;
}

static void apply_attributes(struct roce_qp *qp, const struct roce_qp_attr *a, uint32_t mask)
{
	struct roce_qp_attr *cur = &qp->attr;

	if (mask & ROCE_ATTR_EN_SQD_ASYNC_NOTIFY)
		cur->en_sqd_async_notify = a->en_sqd_async_notify;
	if (mask & ROCE_ATTR_ACCESS_FLAGS)
		cur->access_flags = a->access_flags;
	if (mask & ROCE_ATTR_PKEY_INDEX)
		cur->pkey_index = a->pkey_index;
	if (mask & ROCE_ATTR_PORT)
		cur->port_num = a->port_num;
	if (mask & ROCE_ATTR_QKEY)
		cur->qkey = a->qkey;
	if (mask & ROCE_ATTR_AV) {
		cur->path = a->path;
		roce_qp_set_class(qp, a->path.sl);
		roce_requester_set_peer(qp, a->peer);
		cur->peer = a->peer;
	}
	if (mask & ROCE_ATTR_PATH_MTU) {
		cur->path_mtu = a->path_mtu;
		qp->mtu = segment_bytes(qp->t, a->path_mtu);
		qp->read_chunk = read_chunk(qp->t, qp->mtu);
	}
	if (mask & ROCE_ATTR_TIMEOUT)
		cur->timeout = a->timeout;
	if (mask & ROCE_ATTR_RETRY_CNT)
		cur->retry_cnt = qp->req.retries_left = a->retry_cnt;
	if (mask & ROCE_ATTR_RNR_RETRY)
		cur->rnr_retry = qp->req.rnr_retries_left = a->rnr_retry;
	if (mask & ROCE_ATTR_RQ_PSN) {
		cur->rq_psn = a->rq_psn & ROCE_PSN_MASK;
		qp->resp.expected_psn = roce_psn_make(a->rq_psn);
	}
	if (mask & ROCE_ATTR_MAX_QP_RD_ATOMIC)
		cur->max_rd_atomic = a->max_rd_atomic;
	if (mask & ROCE_ATTR_MIN_RNR_TIMER)
		cur->min_rnr_timer = a->min_rnr_timer;
	if (mask & ROCE_ATTR_SQ_PSN) {
		cur->sq_psn = a->sq_psn & ROCE_PSN_MASK;
		qp->req.una = qp->req.next_psn = qp->req.max_psn = roce_psn_make(a->sq_psn);
	}
	if (mask & ROCE_ATTR_MAX_DEST_RD_ATOMIC)
		cur->max_dest_rd_atomic = a->max_dest_rd_atomic;
	if (mask & ROCE_ATTR_DEST_QPN)
		cur->dest_qpn = a->dest_qpn;
}

static void enter_reset(struct roce_qp *qp)
{
	leave_lists(qp);
	roce_cq_clean(qp->cfg.send_cq, qp);
	roce_cq_clean(qp->cfg.recv_cq, qp);
	qp->sq.reclaimed = qp->sq.completed = qp->sq.next = qp->sq.posted = 0;
	qp->rq.head = qp->rq.posted = 0;
	qp->attr = (struct roce_qp_attr){.state = ROCE_QP_RESET};
	qp->rate = (struct roce_pace_config){0};
	qp->pace = (struct roce_pace){0};
	qp->peer = NULL;
	qp->tx_class = 0;
	qp->mtu = 0;
	qp->srq = qp->cfg.srq;
	qp->is_held = false;
	reset_roles(qp);
}

enum roce_modify_result roce_qp_modify(struct roce_qp *qp, const struct roce_qp_attr *attr,
				       uint32_t mask, roce_ns_t now, uint32_t *out_bad_mask)
{
	uint8_t from = qp->attr.state;
	uint8_t to = mask & ROCE_ATTR_STATE ? attr->state : from;
	enum roce_modify_result result;

	*out_bad_mask = 0;
	if (to > ROCE_QP_ERR) {
		*out_bad_mask = ROCE_ATTR_STATE;
		return ROCE_MODIFY_BAD_TRANSITION;
	}
	if ((mask & ROCE_ATTR_CUR_STATE) && attr->cur_state != from) {
		*out_bad_mask = ROCE_ATTR_CUR_STATE;
		return ROCE_MODIFY_WRONG_CUR_STATE;
	}
	result = roce_qp_check_transition(qp->cfg.type, from, to, mask, out_bad_mask);
	if (result != ROCE_MODIFY_OK)
		return result;
	*out_bad_mask = bad_values(qp, attr, mask);
	if (*out_bad_mask)
		return ROCE_MODIFY_BAD_VALUE;

	if (to == ROCE_QP_RESET) {
		enter_reset(qp);
		return ROCE_MODIFY_OK;
	}
	if (to == ROCE_QP_ERR) {
		roce_qp_enter_error(qp, now);
		return ROCE_MODIFY_OK;
	}
	apply_attributes(qp, attr, mask);
	qp->attr.state = to;
	if (to == ROCE_QP_RTS || to == ROCE_QP_SQD) {
		qp->req.is_drain_announced = false;
		roce_qp_mark_ready(qp);
	}
	return ROCE_MODIFY_OK;
}
