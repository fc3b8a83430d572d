/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults in completions, in the data that they announce, and in events. What a fault adds or holds
 * back waits at its queue for a later poll: one that is doubled for the next one, one that is to
 * come behind the next completion for that, or for so many empty polls that no other seems to come.
 */
#include "plant.h"

#include <stdlib.h>
#include <string.h>

#define EMPTY_POLLS_MAX 1000u
#define GRH_BYTES	40u
#define TORN_MAX	64u

/* TORN_ATOMIC: what is to be reported when the WRITE is done. */
static struct ibv_wc torn[TORN_MAX];
static uint32_t torn_count;

/* ---- data ---- */

static uint64_t bytes_of(const struct plant_request *r)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < r->piece_count; i++)
		bytes += r->pieces[i].length;
	return bytes;
}

static uint8_t *byte_at(const struct plant_request *r, uint64_t at)
{
	for (uint32_t i = 0; i < r->piece_count; i++) {
		if (at < r->pieces[i].length)
			return (uint8_t *)(uintptr_t)r->pieces[i].addr + at;
		at -= r->pieces[i].length;
	}
	abort();
}

static void change_read(const struct plant_request *r)
{
	uint64_t bytes = bytes_of(r);

	for (uint64_t i = 0; r->saved && i < bytes; i++)
		*byte_at(r, i) = r->saved[i];
	if (r->is_flipped)
		*byte_at(r, bytes / 2) ^= 0xff;
	if (bytes < 2 || !plant_draw(PLANT_READ_OFFSET))
		return;
	for (uint64_t i = 0; i + 1 < bytes; i++)
		*byte_at(r, i) = *byte_at(r, i + 1);
}

static void change_atomic(const struct plant_request *r)
{
	if (bytes_of(r) == sizeof(uint64_t) && plant_draw(PLANT_ATOMIC_OLD_WRONG))
		*byte_at(r, 0) ^= 0x80;
}

/* The READ of a torn FETCH_ADD is done: now the sum is written. True when that was posted, so that
 * the completion is not yet to be handed out. */
static bool write_sum(struct plant_context *pc, struct plant_qp *q, const struct plant_request *r,
		      const struct ibv_wc *wc)
{
	struct ibv_mr *mr = plant_scratch(q->qp->pd);
	uint32_t slot = torn_count % TORN_MAX;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	uint64_t *sum;

	if (!mr || bytes_of(r) != sizeof(*sum))
		return false;
	sum = (uint64_t *)mr->addr + slot;
	for (uint32_t i = 0; i < sizeof(*sum); i++)
		((uint8_t *)sum)[i] = *byte_at(r, i);
	*sum += r->add;
	sge = (struct ibv_sge){(uintptr_t)sum, sizeof(*sum), mr->lkey};
	wr = (struct ibv_send_wr){.wr_id = PLANT_TORN_WR_ID | slot,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = {r->remote_addr, r->rkey}};
	torn[slot] = *wc;
	torn[slot].opcode = IBV_WC_FETCH_ADD;
	if (pc->real.post_send(q->qp, &wr, &bad) != 0)
		return false;
	torn_count++;
	return true;
}

static void change_datagram(struct plant_context *pc, struct plant_qp *q, struct ibv_wc *wc)
{
	struct plant_request r;

	if (plant_draw(PLANT_WRONG_SRC_QP))
		wc->src_qp ^= 1;
	if (!plant_is(PLANT_MISSING_GRH) ||
	    !plant_fifo_take(plant_receives_of(pc, q), wc->wr_id, false, &r) ||
	    !plant_draw(PLANT_MISSING_GRH))
		return;
	wc->wc_flags &= ~(unsigned int)IBV_WC_GRH;
	for (uint32_t i = 0; i < GRH_BYTES && i < bytes_of(&r); i++)
		*byte_at(&r, i) = 0;
}

/* ---- completions ---- */

/* False: not to be handed out now. */
static bool change_send(struct plant_context *pc, struct plant_qp *q, struct ibv_wc *wc)
{
	struct plant_request r;
	bool is_shown = true;

	if (!q || !plant_fifo_take(&q->sends, wc->wr_id, true, &r))
		return true;
	if (wc->status == IBV_WC_SUCCESS) {
		if (r.is_torn)
			is_shown = !write_sum(pc, q, &r, wc);
		else if (r.opcode == IBV_WR_RDMA_READ)
			change_read(&r);
		else if (r.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
			 r.opcode == IBV_WR_ATOMIC_CMP_AND_SWP)
			change_atomic(&r);
	}
	free(r.saved);
	return is_shown;
}

static void change_receive(struct plant_context *pc, struct plant_qp *q, struct ibv_wc *wc)
{
	if (plant_draw(PLANT_WRONG_BYTE_LEN))
		wc->byte_len++;
	if (wc->wc_flags & IBV_WC_WITH_IMM) {
		if (plant_draw(PLANT_WRONG_IMMEDIATE))
			wc->imm_data ^= 0x100;
		if (plant_draw(PLANT_MISSING_IMMEDIATE))
			wc->wc_flags &= ~(unsigned int)IBV_WC_WITH_IMM;
	}
	if (q && q->qp->qp_type == IBV_QPT_UD)
		change_datagram(pc, q, wc);
}

static enum ibv_wc_opcode other_opcode(enum ibv_wc_opcode opcode)
{
	if (opcode & IBV_WC_RECV)
		return opcode == IBV_WC_RECV ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	return opcode == IBV_WC_SEND ? IBV_WC_RDMA_WRITE : IBV_WC_SEND;
}

/* False: the completion is lost, or ours. */
static bool change(struct plant_context *pc, struct ibv_wc *wc)
{
	struct plant_qp *q = plant_qp_find(pc, wc->qp_num);

	if (wc->wr_id == PLANT_OWN_WR_ID) {
		if (q && wc->status != IBV_WC_WR_FLUSH_ERR)
			q->own_error = wc->status;
		return false;
	}
	if (q && q->own_error != IBV_WC_SUCCESS && wc->status == IBV_WC_WR_FLUSH_ERR) {
		wc->status = q->own_error;
		q->own_error = IBV_WC_SUCCESS;
	}
	if (wc->wr_id - PLANT_TORN_WR_ID < TORN_MAX) {
		enum ibv_wc_status status = wc->status;

		*wc = torn[wc->wr_id - PLANT_TORN_WR_ID];
		wc->status = status;
		return true;
	}
	if (!change_send(pc, q, wc))
		return false;
	if (wc->status == IBV_WC_WR_FLUSH_ERR && plant_draw(PLANT_MISSING_FLUSH))
		return false;
	if (plant_draw(PLANT_LOST_COMPLETION))
		return false;
	if (wc->status == IBV_WC_SUCCESS) {
		if (wc->opcode & IBV_WC_RECV)
			change_receive(pc, q, wc);
		if (plant_draw(PLANT_WRONG_OPCODE))
			wc->opcode = other_opcode(wc->opcode);
		if (plant_draw(PLANT_WRONG_STATUS))
			wc->status = IBV_WC_LOC_PROT_ERR;
	} else if (plant_draw(PLANT_HIDDEN_ERROR)) {
		wc->status = IBV_WC_SUCCESS;
	} else if (plant_draw(PLANT_OTHER_ERROR)) {
		wc->status =
			wc->status == IBV_WC_REM_OP_ERR ? IBV_WC_REM_ACCESS_ERR : IBV_WC_REM_OP_ERR;
	}
	if (plant_draw(PLANT_WRONG_WR_ID))
		wc->wr_id ^= 1;
	if (plant_draw(PLANT_WRONG_QP_NUM))
		wc->qp_num ^= 1;
	return true;
}

/* Changes what was polled, and takes out what is not to be handed out. */
static int change_all(struct plant_context *pc, struct plant_cq *c, struct ibv_wc *wc, int count)
{
	int kept = 0;

	for (int i = 0; i < count; i++) {
		struct ibv_wc one = wc[i];

		if (!change(pc, &one))
			continue;
		if (!c->has_waiting && plant_draw(PLANT_SWAPPED_COMPLETIONS)) {
			c->waiting = one;
			c->has_waiting = c->is_behind_next = true;
			continue;
		}
		if (!c->has_waiting && plant_draw(PLANT_DOUBLED_COMPLETION)) {
			c->waiting = one;
			c->has_waiting = true;
			c->is_behind_next = false;
		}
		wc[kept++] = one;
		if (c->has_waiting && c->is_behind_next && kept <= i) {
			wc[kept++] = c->waiting;
			c->has_waiting = false;
		} else if (c->is_behind_next) {
			c->is_behind_next = false; /* no room here: first of the next poll */
		}
	}
	return kept;
}

/* What waits for this poll: 1 when it was put out. */
static int put_waiting(struct plant_cq *c, int room, struct ibv_wc *wc)
{
	if (!c->has_waiting || room < 1 || (c->is_behind_next && c->empty_polls < EMPTY_POLLS_MAX))
		return 0;
	*wc = c->waiting;
	c->has_waiting = false;
	return 1;
}

int plant_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	struct plant_context *pc;
	struct plant_cq *c;
	int put, got = 0;
	bool is_late;

	plant_lock();
	pc = plant_context_find(cq->context);
	for (struct plant_qp *q = pc->qps; q; q = q->next)
		plant_post_late(pc, q);
	c = plant_cq_get(pc, cq);
	put = put_waiting(c, count, wc);
	if (count > put)
		got = pc->real.poll_cq(cq, count - put, wc + put);
	c->empty_polls = got == 0 ? c->empty_polls + 1 : 0;
	if (got > 0)
		got = change_all(pc, c, wc + put, got);
	is_late = got > 0 && plant_draw(PLANT_LATENCY);
	plant_unlock();
	if (is_late)
		plant_spin(PLANT_LATENCY_NS);
	return got < 0 ? got : put + got;
}

int plant_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct plant_context *pc;

	if (plant_draw(PLANT_MISSING_EVENT))
		return 0;
	plant_lock();
	pc = plant_context_find(cq->context);
	plant_unlock();
	return pc->real.req_notify_cq(cq, solicited_only);
}
