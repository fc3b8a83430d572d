/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When to send again, and when to give up: local ACK timeout, RNR waits, and the two retry counters
 * (retry_cnt: time-outs and sequence NAKs without progress; rnr_retry: RNR NAKs, 7 means for ever).
 *
 * The heap entry of a QP may be early: pushing a deadline back costs nothing, the entry is looked
 * at when it fires and set anew. It is never late.
 */
#include "transport/roles.h"

#include "base/marks.h"
#include "wire/aeth.h"

static roce_ns_t min_ns(roce_ns_t a, roce_ns_t b)
{
	return a < b ? a : b;
}

static void schedule(struct roce_qp *qp)
{
	roce_ns_t due =
		min_ns(min_ns(qp->req.ack_deadline, qp->req.rnr_deadline), qp->pace_deadline);

	if (due < qp->timer.deadline)
		roce_timer_heap_set(&qp->t->timers, &qp->timer, due);
}

/* T of the specification; detection may come anywhere between T and 4T, so a floor for starved
 * machines is within the rules only up to that, and the owner chooses it. */
roce_ns_t roce_retransmit_timeout_ns(const struct roce_qp *qp)
{
	const struct roce_timing *timing = qp->t->cfg.timing;
	uint8_t code = qp->attr.timeout;
	roce_ns_t t;

	if (timing && code && code < timing->code_min)
		code = timing->code_min;
	t = roce_ack_timeout_ns(code);
	if (timing && t != ROCE_NEVER)
		t = t * timing->permille / 1000;
	return t < qp->t->cfg.ack_timeout_floor_ns ? qp->t->cfg.ack_timeout_floor_ns : t;
}

static roce_ns_t add_ns(roce_ns_t now, roce_ns_t delta)
{
	return delta == ROCE_NEVER ? ROCE_NEVER : now + delta;
}

void roce_retransmit_arm(struct roce_qp *qp, roce_ns_t now)
{
	if (qp->req.ack_deadline != ROCE_NEVER)
		return;
	qp->req.ack_deadline = add_ns(now, roce_retransmit_timeout_ns(qp));
	schedule(qp);
}

void roce_retransmit_on_progress(struct roce_qp *qp, roce_ns_t now)
{
	struct roce_requester *req = &qp->req;

	req->retries_left = qp->attr.retry_cnt;
	req->rnr_retries_left = qp->attr.rnr_retry;
	req->is_restarted = false;
	req->fruitless = 0;
	if (roce_psn_is_equal(req->una, req->next_psn))
		req->ack_deadline = ROCE_NEVER;
	else
		req->ack_deadline = add_ns(now, roce_retransmit_timeout_ns(qp));
	schedule(qp);
}

/* Go-back-0: nothing of the oldest message counts as acknowledged. */
static void rewind_message(struct roce_qp *qp)
{
	const struct roce_send_wqe *wqe;

	if (qp->t->cfg.recovery != ROCE_RECOVERY_GO_BACK_0 || qp->sq.completed == qp->sq.posted)
		return;
	wqe = roce_send_queue_at(&qp->sq, qp->sq.completed);
	if (wqe->is_started)
		qp->req.una = wqe->first_psn;
}

void roce_retransmit_on_sequence_nak(struct roce_qp *qp, roce_ns_t now)
{
	if (qp->req.retries_left == 0) {
		ROCE_MARK(retransmit_naks_exceeded);
		roce_count(qp->t, ROCE_STAT_RETRY_EXCEEDED);
		roce_qp_fail_send(qp, ROCE_WC_RETRY_EXC_ERR, now);
		return;
	}
	qp->req.retries_left--;
	roce_peer_on_fruitless(qp, &qp->req.fruitless, now);
	if (qp->peer) {
		roce_window_on_loss(&qp->peer->window, &qp->t->cfg.window);
		roce_count(qp->t, ROCE_STAT_WINDOW_CUTS);
	}
	rewind_message(qp);
	roce_requester_restart(qp);
}

void roce_retransmit_on_rnr_nak(struct roce_qp *qp, uint8_t timer_code, roce_ns_t now)
{
	struct roce_requester *req = &qp->req;

	if (qp->attr.rnr_retry != 7) {
		if (req->rnr_retries_left == 0) {
			ROCE_MARK(retransmit_rnr_exceeded);
			roce_count(qp->t, ROCE_STAT_RNR_RETRY_EXCEEDED);
			roce_qp_fail_send(qp, ROCE_WC_RNR_RETRY_EXC_ERR, now);
			return;
		}
		req->rnr_retries_left--;
	}
	/* The peer has answered: losses during a long wait for receives do not add up. */
	req->retries_left = qp->attr.retry_cnt;
	roce_requester_restart(qp);
	req->is_rnr_waiting = true;
	req->rnr_deadline = now + roce_rnr_delay_ns(timer_code);
	schedule(qp);
}

static void on_timeout(struct roce_qp *qp, roce_ns_t now)
{
	roce_count(qp->t, ROCE_STAT_ACK_TIMEOUTS);
	if (qp->req.retries_left == 0) {
		ROCE_MARK(retransmit_timeouts_exceeded);
		roce_count(qp->t, ROCE_STAT_RETRY_EXCEEDED);
		roce_qp_fail_send(qp, ROCE_WC_RETRY_EXC_ERR, now);
		return;
	}
	qp->req.retries_left--;
	roce_peer_on_fruitless(qp, &qp->req.fruitless, now);
	if (qp->peer)
		roce_window_on_timeout(&qp->peer->window, &qp->t->cfg.window);
	rewind_message(qp);
	roce_requester_restart(qp);
}

void roce_retransmit_on_deadline(struct roce_qp *qp, roce_ns_t now)
{
	struct roce_requester *req = &qp->req;

	roce_timer_heap_set(&qp->t->timers, &qp->timer, ROCE_NEVER);
	if (req->rnr_deadline <= now) {
		req->rnr_deadline = ROCE_NEVER;
		req->is_rnr_waiting = false;
		roce_qp_mark_ready(qp);
	}
	if (qp->pace_deadline <= now) {
		qp->pace_deadline = ROCE_NEVER;
		roce_qp_mark_ready(qp);
	}
	if (req->ack_deadline <= now) {
		req->ack_deadline = ROCE_NEVER;
		on_timeout(qp, now);
	}
	schedule(qp);
}

void roce_retransmit_pause(struct roce_qp *qp, roce_ns_t until)
{
	qp->pace_deadline = min_ns(qp->pace_deadline, until);
	schedule(qp);
}

void roce_retransmit_stop(struct roce_qp *qp)
{
	qp->req.ack_deadline = ROCE_NEVER;
	qp->req.rnr_deadline = ROCE_NEVER;
	qp->req.is_rnr_waiting = false;
	qp->pace_deadline = ROCE_NEVER;
	roce_timer_heap_set(&qp->t->timers, &qp->timer, ROCE_NEVER);
}
