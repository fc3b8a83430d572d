/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults in what is posted. A chain of requests is posted one by one, each a copy that a fault may
 * have changed (an ignored fence leaves it a chain, else what it should have waited for might be
 * done by then); the program's own structs and memory stay as they are. A wrong byte lies in memory
 * of ours, as a piece of its own between two parts of the program's.
 */
#include "plant.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX  (UINT64_C(1) << 31) /* of any device */
#define UNFENCED_MAX 32

/* A request on its way to the real post_send. */
struct outgoing {
	struct ibv_send_wr wr;
	struct ibv_sge pieces[PLANT_PIECES_MAX + 2];
};

static bool is_write(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_send(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM ||
	       opcode == IBV_WR_SEND_WITH_INV;
}

static bool is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
}

static uint64_t bytes_of(const struct ibv_send_wr *wr)
{
	uint64_t bytes = 0;

	for (int i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	return bytes;
}

/* ---- the faults ---- */

/* The middle byte of the longest piece, from our memory. */
static void make_byte_wrong(struct plant_qp *q, struct outgoing *o)
{
	static uint32_t used;
	struct ibv_mr *mr = plant_scratch(q->qp->pd);
	struct ibv_sge *longest = o->pieces;
	struct ibv_sge behind, wrong;
	uint32_t half;
	uint8_t *byte;
	int at;

	if (!mr || !q->has_extra_pieces || o->wr.num_sge > (int)PLANT_PIECES_MAX)
		return;
	for (int i = 1; i < o->wr.num_sge; i++) {
		if (o->pieces[i].length > longest->length)
			longest = &o->pieces[i];
	}
	at = (int)(longest - o->pieces);
	half = longest->length / 2;
	byte = (uint8_t *)mr->addr + used++ % PLANT_SCRATCH;
	*byte = (uint8_t) ~((const uint8_t *)(uintptr_t)longest->addr)[half];
	wrong = (struct ibv_sge){(uintptr_t)byte, 1, mr->lkey};
	behind = (struct ibv_sge){longest->addr + half + 1, longest->length - half - 1,
				  longest->lkey};
	memmove(longest + 3, longest + 1, (size_t)(o->wr.num_sge - at - 1) * sizeof(*longest));
	longest->length = half;
	longest[1] = wrong;
	longest[2] = behind;
	o->wr.num_sge += 2;
	/* A piece of no bytes means 2 GiB to some adapters. */
	for (int i = 0; i < o->wr.num_sge; i++) {
		if (o->pieces[i].length)
			continue;
		memmove(&o->pieces[i], &o->pieces[i + 1],
			(size_t)(o->wr.num_sge - i - 1) * sizeof(*o->pieces));
		o->wr.num_sge--;
		i--;
	}
}

static void swap_pieces(struct outgoing *o)
{
	struct ibv_sge first = o->pieces[0];

	o->pieces[0] = o->pieces[1];
	o->pieces[1] = first;
}

static void shorten(struct outgoing *o)
{
	int last = o->wr.num_sge - 1;

	while (o->pieces[last].length == 0)
		last--;
	o->pieces[last].length--;
}

static void lengthen(struct outgoing *o)
{
	int last = o->wr.num_sge - 1;

	while (o->pieces[last].length == 0)
		last--;
	o->pieces[last].length++;
}

static void open_window(struct ibv_send_wr *wr)
{
	struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;

	info->addr = (uintptr_t)info->mr->addr;
	info->length = info->mr->length;
	info->mw_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
}

static void lose_atomic(struct ibv_send_wr *wr)
{
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		wr->wr.atomic.compare_add = 0;
	else
		wr->wr.atomic.swap = wr->wr.atomic.compare_add;
}

static void open_region(struct ibv_send_wr *wr)
{
	uint32_t *rkey = is_atomic(wr->opcode) ? &wr->wr.atomic.rkey : &wr->wr.rdma.rkey;
	unsigned int access = is_atomic(wr->opcode)  ? IBV_ACCESS_REMOTE_ATOMIC
			      : is_write(wr->opcode) ? IBV_ACCESS_REMOTE_WRITE
						     : IBV_ACCESS_REMOTE_READ;
	/* remote_addr is at the same place for both */
	uint32_t right = plant_shared_rkey(*rkey, wr->wr.rdma.remote_addr, bytes_of(wr), access);

	if (right != *rkey && plant_draw(PLANT_WRONG_RKEY_ACCEPTED))
		*rkey = right;
}

static void change_write(struct outgoing *o, uint64_t bytes)
{
	if (bytes >= 2 && plant_draw(PLANT_SHORT_WRITE))
		shorten(o);
	if (bytes >= 2 && plant_draw(PLANT_WRITE_OFFSET)) {
		shorten(o);
		o->wr.wr.rdma.remote_addr++;
	}
	if (bytes && plant_draw(PLANT_LONG_WRITE))
		lengthen(o);
}

static void change_datagram(struct ibv_send_wr *wr)
{
	if (plant_draw(PLANT_LOST_DATAGRAM))
		wr->wr.ud.remote_qkey = (wr->wr.ud.remote_qkey ^ 0x00a5a5a5u) & 0x7fffffffu;
	if (plant_is(PLANT_IGNORED_QKEY)) {
		uint32_t right = plant_shared_qkey(wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);

		if (right != wr->wr.ud.remote_qkey && plant_draw(PLANT_IGNORED_QKEY))
			wr->wr.ud.remote_qkey = right;
	}
}

static void change(struct plant_qp *q, struct outgoing *o)
{
	struct ibv_send_wr *wr = &o->wr;
	uint64_t bytes = bytes_of(wr);
	bool brings_data = is_send(wr->opcode) || is_write(wr->opcode);

	if (brings_data && bytes && plant_draw(PLANT_WRONG_BYTE))
		make_byte_wrong(q, o);
	if (brings_data && wr->num_sge >= 2 && plant_draw(PLANT_SWAPPED_PIECES))
		swap_pieces(o);
	if ((is_write(wr->opcode) || wr->opcode == IBV_WR_RDMA_READ) && bytes > MESSAGE_MAX &&
	    plant_draw(PLANT_CUT_MESSAGE))
		wr->num_sge = 0;
	if (is_write(wr->opcode))
		change_write(o, bytes);
	if (is_atomic(wr->opcode) && plant_draw(PLANT_LOST_ATOMIC))
		lose_atomic(wr);
	if ((is_atomic(wr->opcode) || is_write(wr->opcode) || wr->opcode == IBV_WR_RDMA_READ) &&
	    plant_is(PLANT_WRONG_RKEY_ACCEPTED))
		open_region(wr);
	if (q->qp->qp_type == IBV_QPT_UD)
		change_datagram(wr);
	if ((wr->send_flags & IBV_SEND_SOLICITED) && plant_draw(PLANT_MISSING_SOLICITED))
		wr->send_flags &= ~(unsigned int)IBV_SEND_SOLICITED;
	if (wr->opcode == IBV_WR_BIND_MW && wr->bind_mw.bind_info.length &&
	    plant_draw(PLANT_IGNORED_WINDOW))
		open_window(wr);
	if (wr->opcode == IBV_WR_SEND_WITH_INV && plant_draw(PLANT_IGNORED_INVALIDATE))
		wr->opcode = IBV_WR_SEND;
}

/* ---- remembering ---- */

static bool remembers_sends(void)
{
	return plant_is(PLANT_STALE_READ) || plant_is(PLANT_READ_OFFSET) ||
	       plant_is(PLANT_WRONG_BYTE) || plant_is(PLANT_ATOMIC_OLD_WRONG) ||
	       plant_is(PLANT_TORN_ATOMIC);
}

static uint8_t *copy_pieces(const struct ibv_send_wr *wr)
{
	uint8_t *copy = malloc(bytes_of(wr));
	size_t at = 0;

	for (int i = 0; copy && i < wr->num_sge; i++) {
		memcpy(copy + at, (const void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		at += wr->sg_list[i].length;
	}
	return copy;
}

static void remember_send(struct plant_qp *q, struct outgoing *o)
{
	struct ibv_send_wr *wr = &o->wr;
	struct plant_request *r = plant_fifo_push(&q->sends);

	r->wr_id = wr->wr_id;
	r->opcode = wr->opcode;
	r->is_signaled = q->is_sig_all || (wr->send_flags & IBV_SEND_SIGNALED);
	r->piece_count = (uint32_t)wr->num_sge;
	if (r->piece_count > PLANT_PIECES_MAX)
		r->piece_count = 0;
	memcpy(r->pieces, wr->sg_list, r->piece_count * sizeof(*r->pieces));
	if (wr->opcode == IBV_WR_RDMA_READ && r->is_signaled && bytes_of(wr)) {
		if (plant_draw(PLANT_STALE_READ))
			r->saved = copy_pieces(wr);
		r->is_flipped = plant_draw(PLANT_WRONG_BYTE);
	}
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD && r->is_signaled &&
	    plant_draw(PLANT_TORN_ATOMIC)) {
		r->is_torn = true;
		r->remote_addr = wr->wr.atomic.remote_addr;
		r->rkey = wr->wr.atomic.rkey;
		r->add = wr->wr.atomic.compare_add;
		wr->opcode = IBV_WR_RDMA_READ;
		wr->wr.rdma.remote_addr = r->remote_addr;
		wr->wr.rdma.rkey = r->rkey;
	}
}

static void remember_receive(struct plant_fifo *f, const struct ibv_recv_wr *wr)
{
	struct plant_request *r = plant_fifo_push(f);

	r->wr_id = wr->wr_id;
	if (wr->num_sge > (int)PLANT_PIECES_MAX)
		return;
	r->piece_count = (uint32_t)wr->num_sge;
	memcpy(r->pieces, wr->sg_list, r->piece_count * sizeof(*r->pieces));
}

/* ---- posting ---- */

static void post_own(struct plant_context *pc, struct plant_qp *q, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad;

	wr.wr_id = PLANT_OWN_WR_ID;
	wr.send_flags &= ~(unsigned int)(IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
	(void)pc->real.post_send(q->qp, &wr, &bad); /* no room: then this one is not doubled */
}

void plant_post_late(struct plant_context *pc, struct plant_qp *q)
{
	struct ibv_send_wr *bad;

	if (!q->has_late)
		return;
	q->has_late = false;
	q->is_late_behind = false;
	q->late.sg_list = q->late_pieces;
	(void)pc->real.post_send(q->qp, &q->late, &bad);
}

static void keep_back(struct plant_qp *q, const struct outgoing *o, bool is_behind_next)
{
	q->late = o->wr;
	memcpy(q->late_pieces, o->pieces, sizeof(q->late_pieces));
	q->has_late = true;
	q->is_late_behind = is_behind_next;
}

/* The same addition once more, whose result nobody sees. */
static void add_twice(struct plant_context *pc, struct plant_qp *q, const struct ibv_send_wr *wr)
{
	struct ibv_mr *mr = plant_scratch(q->qp->pd);
	struct ibv_send_wr own = *wr;
	struct ibv_sge piece;

	if (!mr)
		return;
	piece = (struct ibv_sge){(uintptr_t)mr->addr, sizeof(uint64_t), mr->lkey};
	own.sg_list = &piece;
	own.num_sge = 1;
	post_own(pc, q, own);
}

static int post_one(struct plant_context *pc, struct plant_qp *q, const struct ibv_send_wr *wr)
{
	struct outgoing o = {.wr = *wr};
	struct ibv_send_wr *bad;
	int err;

	o.wr.next = NULL;
	if (wr->num_sge > (int)PLANT_PIECES_MAX)
		return pc->real.post_send(q->qp, &o.wr, &bad);
	if (!q->is_late_behind)
		plant_post_late(pc, q);
	memcpy(o.pieces, wr->sg_list, (size_t)wr->num_sge * sizeof(*o.pieces));
	o.wr.sg_list = o.pieces;
	change(q, &o);
	if (remembers_sends())
		remember_send(q, &o);
	if ((wr->send_flags & IBV_SEND_INLINE) && wr->num_sge && plant_draw(PLANT_LATE_INLINE)) {
		keep_back(q, &o, false);
		return 0;
	}
	if (wr->opcode == IBV_WR_RDMA_WRITE && !(wr->send_flags & IBV_SEND_INLINE) &&
	    !q->has_late && plant_draw(PLANT_SWAPPED_REQUESTS)) {
		keep_back(q, &o, true);
		return 0;
	}
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD && plant_draw(PLANT_DOUBLED_ATOMIC))
		add_twice(pc, q, &o.wr);
	if ((is_write(wr->opcode) || wr->opcode == IBV_WR_RDMA_READ) &&
	    wr->opcode != IBV_WR_RDMA_WRITE_WITH_IMM && plant_draw(PLANT_BANDWIDTH_CAP))
		post_own(pc, q, o.wr);
	err = pc->real.post_send(q->qp, &o.wr, &bad);
	if (err && remembers_sends())
		plant_fifo_pop_newest(&q->sends);
	if (!err && q->qp->qp_type == IBV_QPT_UD && plant_draw(PLANT_DOUBLED_DATAGRAM))
		post_own(pc, q, o.wr);
	plant_post_late(pc, q); /* one that was to come behind this one */
	return err && plant_draw(PLANT_HIDDEN_REFUSAL) ? 0 : err;
}

/* A part of a chain, which `*wr` then is behind; at an error it is the one that failed. */
static int post_unfenced(struct plant_context *pc, struct plant_qp *q, struct ibv_send_wr **wr)
{
	struct ibv_send_wr part[UNFENCED_MAX];
	struct ibv_send_wr *next = *wr;
	struct ibv_send_wr *bad;
	size_t count = 0;
	int err;

	for (; next && count < UNFENCED_MAX; next = next->next, count++) {
		part[count] = *next;
		part[count].next = NULL;
		if (count)
			part[count - 1].next = &part[count];
		if ((next->send_flags & IBV_SEND_FENCE) && plant_draw(PLANT_IGNORED_FENCE))
			part[count].send_flags &= ~(unsigned int)IBV_SEND_FENCE;
	}
	err = pc->real.post_send(q->qp, part, &bad);
	for (struct ibv_send_wr *at = part; err && at != bad; at++)
		*wr = (*wr)->next;
	if (!err)
		*wr = next;
	return err;
}

int plant_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct plant_context *pc;
	struct plant_qp *q;
	int err = 0;

	plant_lock();
	pc = plant_context_find(qp->context);
	q = plant_qp_find(pc, qp->qp_num);
	if (q) {
		while (wr && !err && plant_is(PLANT_IGNORED_FENCE))
			err = post_unfenced(pc, q, &wr);
		for (; wr && !err; wr = err ? wr : wr->next)
			err = post_one(pc, q, wr);
		if (err)
			*bad_wr = wr;
	} else {
		err = pc->real.post_send(qp, wr, bad_wr);
	}
	plant_unlock();
	return err;
}

static bool remembers_receives(void)
{
	return plant_is(PLANT_MISSING_GRH);
}

/* The copy that is posted: with room for more than the program gave, if that is planted. */
static void widen(struct ibv_pd *pd, bool has_extra, struct ibv_recv_wr *wr, struct ibv_sge *pieces)
{
	struct ibv_mr *mr;

	if (!has_extra || wr->num_sge > (int)PLANT_PIECES_MAX ||
	    !plant_draw(PLANT_SHORT_BUFFER_ACCEPTED))
		return;
	mr = plant_scratch(pd);
	if (!mr)
		return;
	memcpy(pieces, wr->sg_list, (size_t)wr->num_sge * sizeof(*pieces));
	pieces[wr->num_sge++] = (struct ibv_sge){(uintptr_t)mr->addr, PLANT_SCRATCH, mr->lkey};
	wr->sg_list = pieces;
}

int plant_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct plant_context *pc;
	struct plant_qp *q;
	int err = 0;

	plant_lock();
	pc = plant_context_find(qp->context);
	q = plant_qp_find(pc, qp->qp_num);
	for (; wr && !err; wr = err ? wr : wr->next) {
		struct ibv_sge pieces[PLANT_PIECES_MAX + 1];
		struct ibv_recv_wr one = *wr, *bad;

		one.next = NULL;
		widen(qp->pd, q && q->has_extra_pieces, &one, pieces);
		if (q && remembers_receives())
			remember_receive(&q->receives, wr);
		err = pc->real.post_recv(qp, &one, &bad);
		if (err && q && remembers_receives())
			plant_fifo_pop_newest(&q->receives);
		if (err && plant_draw(PLANT_HIDDEN_REFUSAL))
			err = 0;
	}
	if (err)
		*bad_wr = wr;
	plant_unlock();
	return err;
}

int plant_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct plant_context *pc;
	struct plant_srq *s;
	int err = 0;

	plant_lock();
	pc = plant_context_find(srq->context);
	s = plant_srq_find(pc, srq);
	for (; wr && !err; wr = err ? wr : wr->next) {
		struct ibv_sge pieces[PLANT_PIECES_MAX + 1];
		struct ibv_recv_wr one = *wr, *bad;

		one.next = NULL;
		widen(srq->pd, s && s->has_extra_piece, &one, pieces);
		if (s && remembers_receives())
			remember_receive(&s->receives, wr);
		err = pc->real.post_srq_recv(srq, &one, &bad);
		if (err && s && remembers_receives())
			plant_fifo_pop_newest(&s->receives);
		if (err && plant_draw(PLANT_HIDDEN_REFUSAL))
			err = 0;
	}
	if (err)
		*bad_wr = wr;
	plant_unlock();
	return err;
}
