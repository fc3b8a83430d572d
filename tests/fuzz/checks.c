/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The books and the sums. What is compared here comes from the public structs only, so a role that
 * keeps its numbers wrong is seen at once and not when it stops a queue much later.
 */
#include "checks.h"

/* ---- books ---- */

void fuzz_book_init(struct fuzz_book *book, bool is_recv)
{
	*book = (struct fuzz_book){.is_recv = is_recv};
}

void fuzz_book_reset(struct fuzz_book *book)
{
	book->generation++;
	book->posted = 0;
	book->ended = 0;
	book->is_failed = false;
}

uint64_t fuzz_book_next(const struct fuzz_book *book)
{
	return (uint64_t)book->generation << 32 | book->posted;
}

static uint8_t wc_opcode_of(uint8_t wr_opcode)
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
	case ROCE_WR_SEND:
	case ROCE_WR_SEND_WITH_IMM:
	case ROCE_WR_SEND_WITH_INV:
		return ROCE_WC_SEND;
	case ROCE_WR_LOCAL_INV:
		return ROCE_WC_LOCAL_INV;
	case ROCE_WR_BIND_MW:
		return ROCE_WC_BIND_MW;
	case ROCE_WR_ATOMIC_WRITE:
		return ROCE_WC_ATOMIC_WRITE;
	}
	fuzz_require(false, "a request of this kind is refused");
	return 0;
}

void fuzz_book_post_send(struct fuzz_book *book, const struct roce_send_wr *wr, bool sig_all)
{
	uint32_t slot = book->posted % FUZZ_BOOK_SIZE;
	uint32_t length = 0;

	for (uint32_t i = 0; i < wr->sge_count; i++)
		length += wr->sge[i].length;
	book->entries[slot].is_signaled = sig_all || (wr->flags & ROCE_SEND_SIGNALED);
	book->entries[slot].wc_opcode = wc_opcode_of(wr->opcode);
	book->entries[slot].byte_len = 0;
	if (wr->opcode == ROCE_WR_RDMA_READ)
		book->entries[slot].byte_len = length;
	else if (wr->opcode == ROCE_WR_ATOMIC_CMP_AND_SWP ||
		 wr->opcode == ROCE_WR_ATOMIC_FETCH_AND_ADD || wr->opcode == ROCE_WR_ATOMIC_WRITE)
		book->entries[slot].byte_len = 8;
	book->posted++;
}

void fuzz_book_post_recv(struct fuzz_book *book)
{
	book->entries[book->posted % FUZZ_BOOK_SIZE].is_signaled = true;
	book->posted++;
}

uint32_t fuzz_book_complete(struct fuzz_book *book, const struct roce_cqe *cqe)
{
	uint32_t number = (uint32_t)cqe->wr_id;
	uint32_t slot = number % FUZZ_BOOK_SIZE;

	fuzz_require(cqe->wr_id >> 32 == book->generation, "nothing completes after a reset");
	fuzz_require(number - book->ended < book->posted - book->ended,
		     "a request completes once, and after it was posted");
	for (; book->ended != number; book->ended++)
		fuzz_require(!book->is_failed &&
				     !book->entries[book->ended % FUZZ_BOOK_SIZE].is_signaled,
			     "only unsignalled successes have no completion");
	book->ended++;
	if (cqe->status != ROCE_WC_SUCCESS) {
		fuzz_require(!book->is_failed || cqe->status == ROCE_WC_WR_FLUSH_ERR,
			     "after a failure everything is flushed");
		book->is_failed = true;
		return number;
	}
	fuzz_require(!book->is_failed, "nothing succeeds after a failure");
	fuzz_require(book->entries[slot].is_signaled, "an unsignalled success says nothing");
	if (book->is_recv)
		fuzz_require(cqe->opcode == ROCE_WC_RECV ||
				     cqe->opcode == ROCE_WC_RECV_RDMA_WITH_IMM,
			     "a receive completes as one");
	else
		fuzz_require(cqe->opcode == book->entries[slot].wc_opcode &&
				     cqe->byte_len == book->entries[slot].byte_len,
			     "a send completes as what was posted");
	return number;
}

void fuzz_book_require_ended(const struct fuzz_book *book)
{
	for (uint32_t i = book->ended; i != book->posted; i++)
		fuzz_require(!book->is_failed && !book->entries[i % FUZZ_BOOK_SIZE].is_signaled,
			     "every request ends");
}

/* ---- sums and lists ---- */

static void check_list(const struct roce_list *head)
{
	const struct roce_list *it;
	uint32_t count = 0;

	roce_list_for_each (it, head) {
		fuzz_require(it->next->prev == it && it->prev->next == it, "a list is whole");
		fuzz_require(++count <= SIM_QPS_MAX, "a list has no QP twice");
	}
}

static void check_send_queue(const struct roce_qp *qp)
{
	const struct roce_send_queue *sq = &qp->sq;
	const struct roce_requester *req = &qp->req;

	fuzz_require(sq->posted - sq->reclaimed <= sq->depth, "the send queue holds its depth");
	fuzz_require(sq->completed - sq->reclaimed <= sq->posted - sq->reclaimed &&
			     sq->next - sq->completed <= sq->posted - sq->completed,
		     "reclaimed, completed, next, posted stand in this order");
	fuzz_require(roce_psn_diff(req->next_psn, req->una) >= 0 &&
			     roce_psn_diff(req->max_psn, req->next_psn) >= 0,
		     "una, next_psn, max_psn stand in this order");
	fuzz_require(qp->rq.posted - qp->rq.head <= qp->rq.depth,
		     "the receive queue holds its depth");
}

static bool has_responses(const struct roce_responder *resp)
{
	return resp->pending_count || resp->is_ack_pending || resp->is_dup_ack_pending ||
	       resp->is_nak_pending;
}

static void check_responder(const struct roce_qp *qp)
{
	const struct roce_responder *resp = &qp->resp;
	uint32_t pending = 0;

	fuzz_require(resp->resource_count <= ROCE_MAX_RD_ATOMIC, "resources fit");
	for (uint32_t i = 1; i <= resp->resource_count; i++)
		pending +=
			resp->resources[(resp->resource_head - i) % ROCE_MAX_RD_ATOMIC].is_pending;
	fuzz_require(pending == resp->pending_count, "pending_count counts what is pending");
	if (has_responses(resp))
		fuzz_require(!roce_list_is_empty(&qp->ready_link) ||
				     qp->pace_deadline != ROCE_NEVER,
			     "who owes an answer is ready, or paced");
	if (resp->open == ROCE_RESP_OPEN_SEND)
		fuzz_require(qp->is_held || qp->rq.head != qp->rq.posted,
			     "an open SEND has a receive in hand");
	if (resp->open == ROCE_RESP_OPEN_WRITE)
		fuzz_require(resp->write_left <= resp->write_total, "an open WRITE gets shorter");
}

/* In SQD these go on, the others wait. */
static bool has_started(const struct roce_qp *qp)
{
	return qp->sq.completed != qp->sq.posted &&
	       roce_send_queue_at(&qp->sq, qp->sq.completed)->is_started;
}

/* Work that is left has something that will bring it on. */
static void check_liveness(const struct roce_qp *qp)
{
	bool has_work = false;

	if (qp->attr.state == ROCE_QP_RTS)
		has_work = qp->sq.completed != qp->sq.posted;
	else if (qp->attr.state == ROCE_QP_SQD)
		has_work = has_started(qp);
	if (has_work && qp->attr.timeout)
		fuzz_require(!roce_list_is_empty(&qp->ready_link) ||
				     !roce_list_is_empty(&qp->wait_link) ||
				     qp->req.ack_deadline != ROCE_NEVER ||
				     qp->req.rnr_deadline != ROCE_NEVER ||
				     qp->pace_deadline != ROCE_NEVER,
			     "a QP with work is ready, waits, or has a deadline");
	if (qp->attr.state == ROCE_QP_SQD && qp->req.is_drain_announced)
		fuzz_require(!has_started(qp), "a drained queue has nothing under way");
	fuzz_require(qp->timer.deadline <= qp->req.ack_deadline &&
			     qp->timer.deadline <= qp->req.rnr_deadline &&
			     qp->timer.deadline <= qp->pace_deadline,
		     "a timer is never late");
}

static void check_qp(const struct roce_qp *qp)
{
	check_send_queue(qp);
	check_responder(qp);
	check_liveness(qp);
	if (qp->attr.state == ROCE_QP_RESET || qp->attr.state == ROCE_QP_ERR)
		fuzz_require(qp->req.inflight == 0 && qp->req.read_inflight == 0 &&
				     roce_list_is_empty(&qp->wait_link) &&
				     (qp->timer.deadline == ROCE_NEVER || has_responses(&qp->resp)),
			     "a QP that sends no more holds nothing");
}

void fuzz_check_stack(const struct sim_stack *s)
{
	const struct roce_transport *t = &s->transport;
	uint32_t read_inflight = 0;

	fuzz_require(s->stray_count == 0, "no access outside every region");
	for (uint32_t i = 0; i < ROCE_TX_CLASSES; i++) {
		check_list(&t->ready.lines[i]);
		fuzz_require(!(t->ready.waiting >> i & 1) == roce_list_is_empty(&t->ready.lines[i]),
			     "a class waits when somebody stands in its line");
	}
	check_list(&t->read_waiters);
	check_list(&t->cnp_debtors);
	for (uint32_t i = 0; i < s->qp_count; i++) {
		check_qp(&s->qps[i]->qp);
		read_inflight += s->qps[i]->qp.req.read_inflight;
	}
	fuzz_require(read_inflight == t->read_inflight, "the READ window is the sum of its shares");
	for (uint32_t p = 0; p < s->peer_count; p++) {
		uint32_t inflight = 0;

		check_list(&s->peers[p].waiters);
		for (uint32_t i = 0; i < s->qp_count; i++)
			if (s->qps[i]->qp.peer == &s->peers[p])
				inflight += s->qps[i]->qp.req.inflight;
		fuzz_require(inflight == s->peers[p].window.inflight,
			     "a peer's window is the sum of its shares");
	}
}

void fuzz_check_quiet(const struct sim_stack *s)
{
	fuzz_check_stack(s);
	fuzz_require(!roce_tx_is_pending(&s->transport), "nobody is ready in the end");
	fuzz_require(roce_deadline(&s->transport) == ROCE_NEVER, "nothing is awaited in the end");
	for (uint32_t i = 0; i < s->qp_count; i++) {
		const struct roce_qp *qp = &s->qps[i]->qp;
		bool is_dead = qp->cfg.send_cq->is_overrun || qp->cfg.recv_cq->is_overrun;

		fuzz_require(qp->req.inflight == 0 && qp->req.read_inflight == 0 &&
				     roce_list_is_empty(&qp->wait_link),
			     "nothing is on its way in the end");
		if (qp->attr.state == ROCE_QP_RTS || (qp->attr.state == ROCE_QP_ERR && !is_dead))
			fuzz_require(qp->sq.completed == qp->sq.posted, "every send ends");
		if (qp->attr.state == ROCE_QP_SQD)
			fuzz_require(!has_started(qp), "every started send ends");
		if (qp->attr.state == ROCE_QP_ERR && !is_dead)
			fuzz_require(qp->rq.head == qp->rq.posted, "every receive is flushed");
	}
}

/* ---- tuning ---- */

void fuzz_control_congestion(struct roce_transport_config *tuning, uint8_t choice)
{
	static struct roce_cc_config cc;
	const struct roce_cc_ops *ops = &roce_cc_dcqcn;

	cc = (struct roce_cc_config){
		.ops = ops,
		.params = ops->sets[choice % ops->set_count].params,
		.line_kbit_per_s = choice & 1 ? 100000000 : 20000,
		.burst_ns = choice & 2 ? 10000 : 0,
	};
	tuning->cc = &cc;
	ops->notify_config(&cc.params, &tuning->notify);
	tuning->notify.scope = (enum roce_notify_scope)(choice % 3);
}
