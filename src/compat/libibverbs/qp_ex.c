/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The builder interface, ibv_wr_*: between wr_start and wr_complete requests are collected in a
 * stage of the queue pair (as many as its send queue takes), and posted together or not at all. The
 * stage's own lock is held from start to complete or abort, as the interface says; the device lock
 * only while posting, so that the program may poll in between.
 */
#include "compat/libibverbs/compat.h"

#include "verbs/refuse.h"

#include <stdlib.h>

#define OPS_UD ((uint64_t)(IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM))
#define OPS_UC                                                                     \
	(OPS_UD | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | \
	 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)
#define OPS_RELIABLE                                                             \
	(OPS_UC | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV |    \
	 IBV_QP_EX_WITH_ATOMIC_WRITE)

/* Inline data has calls of its own here. */
#define WR_FLAGS_KNOWN ((unsigned int)(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED))

struct compat_wr_stage {
	pthread_mutex_t lock;
	uint32_t depth;
	uint32_t count;
	int err; /* first mistake since wr_start, positive */
	uint32_t max_sge;
	uint32_t max_inline;
	struct roce_send_wr *wrs;
	struct roce_sge *sges;	     /* max_sge for each request */
	uint8_t *inline_bytes;	     /* max_inline for each request */
	struct roce_sge *pieces;     /* one for each request: names its inline bytes */
	struct roce_mem_bind *binds; /* one for each request */
};

static struct compat_qp *qp_of(struct ibv_qp_ex *ex)
{
	return roce_container_of(ex, struct compat_qp, ex);
}

static struct compat_wr_stage *stage_of(struct ibv_qp_ex *ex)
{
	return qp_of(ex)->stage;
}

static void note_error(struct compat_wr_stage *st, int err)
{
	if (!st->err)
		st->err = err;
}

/* The request being built, or NULL when there is none that could be. */
static struct roce_send_wr *current_of(struct compat_wr_stage *st)
{
	if (st->err)
		return NULL;
	if (st->count == 0) {
		note_error(st, EINVAL);
		return NULL;
	}
	return &st->wrs[st->count - 1];
}

static struct roce_send_wr *begin_wr(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct compat_wr_stage *st = stage_of(ex);
	struct roce_send_wr *wr;

	if (st->err)
		return NULL;
	if (st->count == st->depth) {
		note_error(st, ENOMEM);
		return NULL;
	}
	if (ex->wr_flags & ~WR_FLAGS_KNOWN) {
		note_error(st, -roce_refuse(EINVAL, "wr: QP 0x%06x: flag 0x%x is unknown",
					    ex->qp_base.qp_num, ex->wr_flags & ~WR_FLAGS_KNOWN));
		return NULL;
	}
	wr = &st->wrs[st->count++];
	*wr = (struct roce_send_wr){
		.wr_id = ex->wr_id,
		.opcode = (uint8_t)opcode,
		.flags = (uint8_t)ex->wr_flags,
	};
	return wr;
}

static void begin_rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
		       uint64_t remote_addr, __be32 imm)
{
	struct roce_send_wr *wr = begin_wr(ex, opcode);

	if (!wr)
		return;
	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	wr->imm_be = imm;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(ex, IBV_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      __be32 imm_data)
{
	begin_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, imm_data);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_rdma(ex, IBV_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void wr_send(struct ibv_qp_ex *ex)
{
	begin_rdma(ex, IBV_WR_SEND, 0, 0, 0);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	begin_rdma(ex, IBV_WR_SEND_WITH_IMM, 0, 0, imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	begin_rdma(ex, IBV_WR_SEND_WITH_INV, 0, 0, invalidate_rkey);
}

static void begin_atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
			 uint64_t remote_addr, uint64_t compare_add, uint64_t swap)
{
	struct roce_send_wr *wr = begin_wr(ex, opcode);

	if (!wr)
		return;
	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	wr->compare_add = compare_add;
	wr->swap = swap;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			      uint64_t compare, uint64_t swap)
{
	begin_atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				uint64_t add)
{
	begin_atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr, add, 0);
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	begin_rdma(ex, IBV_WR_LOCAL_INV, 0, 0, invalidate_rkey);
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *bind_info)
{
	struct compat_wr_stage *st = stage_of(ex);
	struct roce_send_wr *wr = begin_wr(ex, IBV_WR_BIND_MW);

	if (!wr)
		return;
	if (!compat_may_bind(mw, rkey, bind_info)) {
		note_error(st, EINVAL);
		return;
	}
	compat_fill_bind(&st->binds[st->count - 1], mw, rkey, bind_info);
	wr->bind = &st->binds[st->count - 1];
}

static void set_inline(struct compat_wr_stage *st, struct roce_send_wr *wr, size_t length)
{
	struct roce_sge *piece = &st->pieces[st->count - 1];
	const uint8_t *bytes = &st->inline_bytes[(size_t)(st->count - 1) * st->max_inline];

	*piece = (struct roce_sge){.addr = (uintptr_t)bytes, .length = (uint32_t)length};
	wr->sge = piece;
	wr->sge_count = 1;
	wr->flags |= ROCE_SEND_INLINE;
}

/* The eight bytes are the program's only for the call. */
static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
			    const void *atomic_wr)
{
	struct compat_wr_stage *st = stage_of(ex);
	struct roce_send_wr *wr = begin_wr(ex, IBV_WR_ATOMIC_WRITE);

	if (!wr)
		return;
	wr->rkey = rkey;
	wr->remote_addr = remote_addr;
	memcpy(&st->inline_bytes[(size_t)(st->count - 1) * st->max_inline], atomic_wr,
	       sizeof(uint64_t));
	set_inline(st, wr, sizeof(uint64_t));
}

/* ---- builders of what this queue pair cannot do: the error shows at wr_complete ---- */

static void wr_send_tso_unsupported(struct ibv_qp_ex *ex, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	(void)hdr;
	(void)hdr_sz;
	(void)mss;
	note_error(stage_of(ex), EOPNOTSUPP);
}

/* ---- where the request goes ---- */

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
			   uint32_t remote_qkey)
{
	struct roce_send_wr *wr = current_of(stage_of(ex));

	if (!wr)
		return;
	wr->path = ah ? &compat_ah_of(ah)->rah.path : NULL;
	wr->remote_qpn = remote_qpn & ROCE_QPN_MASK;
	wr->remote_qkey = remote_qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	struct roce_send_wr *wr = current_of(stage_of(ex));

	if (wr)
		wr->remote_srqn = remote_srqn & ROCE_QPN_MASK;
}

/* ---- data of the request being built ---- */

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct compat_wr_stage *st = stage_of(ex);
	struct roce_send_wr *wr = current_of(st);
	struct roce_sge *sges;

	if (!wr)
		return;
	if (num_sge > st->max_sge) {
		note_error(st, EINVAL);
		return;
	}
	sges = &st->sges[(size_t)(st->count - 1) * st->max_sge];
	for (size_t i = 0; i < num_sge; i++)
		sges[i] = (struct roce_sge){.addr = sg_list[i].addr,
					    .length = sg_list[i].length,
					    .lkey = sg_list[i].lkey};
	wr->sge = sges;
	wr->sge_count = (uint32_t)num_sge;
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
				    const struct ibv_data_buf *buf_list)
{
	struct compat_wr_stage *st = stage_of(ex);
	struct roce_send_wr *wr = current_of(st);
	uint8_t *to;
	size_t length = 0;

	if (!wr)
		return;
	to = &st->inline_bytes[(size_t)(st->count - 1) * st->max_inline];
	for (size_t i = 0; i < num_buf; i++) {
		if (buf_list[i].length > st->max_inline - length) {
			note_error(st, EINVAL);
			return;
		}
		if (buf_list[i].length)
			memcpy(to + length, buf_list[i].addr, buf_list[i].length);
		length += buf_list[i].length;
	}
	set_inline(st, wr, length);
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = {.addr = addr, .length = length};

	wr_set_inline_data_list(ex, 1, &buf);
}

/* ---- start, complete, abort ---- */

static void wr_start(struct ibv_qp_ex *ex)
{
	struct compat_wr_stage *st = stage_of(ex);

	pthread_mutex_lock(&st->lock);
	st->count = 0;
	st->err = 0;
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	pthread_mutex_unlock(&stage_of(ex)->lock);
}

static uint32_t room_of(const struct roce_send_queue *sq)
{
	return sq->depth - (sq->posted - sq->reclaimed);
}

/* All or nothing: a request that the transport refuses takes those before it along. The queue is
 * touched by nobody else meanwhile, and nothing of it has been sent. */
static enum roce_post_result post_all(struct roce_verbs_qp *vqp, const struct compat_wr_stage *st,
				      roce_ns_t now)
{
	uint32_t posted = vqp->qp.sq.posted;

	if (st->count > room_of(&vqp->qp.sq))
		return ROCE_POST_FULL;
	for (uint32_t i = 0; i < st->count; i++) {
		enum roce_post_result result =
			vqp->qp.cfg.type == ROCE_QP_UD
				? roce_verbs_qp_post_datagram(vqp, &st->wrs[i], now)
				: roce_post_send(&vqp->qp, &st->wrs[i], now);

		if (result != ROCE_POST_OK) {
			if (roce_qp_get_state(&vqp->qp) != ROCE_QP_ERR)
				vqp->qp.sq.posted = posted;
			return result;
		}
	}
	return ROCE_POST_OK;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct compat_wr_stage *st = stage_of(ex);
	struct roce_verbs_qp *vqp = &qp_of(ex)->vqp;
	enum roce_post_result result;
	int err = st->err;

	if (!err && roce_context_is_forked(vqp->ctx))
		err = COMPAT_FORKED;
	if (!err) {
		roce_ns_t now = roce_verbs_qp_lock(vqp);

		result = post_all(vqp, st, now);
		roce_verbs_qp_unlock_send(vqp);
		err = roce_verbs_qp_refuse_post(vqp, "post_send", result, 0, 0);
	}
	pthread_mutex_unlock(&st->lock);
	return err;
}

/* ---- set-up ---- */

static bool alloc_stage(struct compat_wr_stage *st)
{
	st->wrs = calloc(st->depth, sizeof(*st->wrs));
	st->sges = calloc((size_t)st->depth * st->max_sge, sizeof(*st->sges));
	st->pieces = calloc(st->depth, sizeof(*st->pieces));
	st->binds = calloc(st->depth, sizeof(*st->binds));
	st->inline_bytes = malloc((size_t)st->depth * st->max_inline + 1);
	return st->wrs && st->sges && st->pieces && st->binds && st->inline_bytes;
}

/* What each transport can send. */
static uint64_t ops_of(uint8_t type)
{
	switch ((enum roce_qp_type)type) {
	case ROCE_QP_RC:
	case ROCE_QP_XRC_INI:
		return OPS_RELIABLE;
	case ROCE_QP_UC:
		return OPS_UC;
	case ROCE_QP_UD:
		return OPS_UD;
	case ROCE_QP_XRC_TGT:
		return 0;
	}
	return 0;
}

int compat_qp_ex_init(struct compat_qp *cqp, uint64_t send_ops_flags)
{
	const struct roce_qp_config *cfg = &cqp->vqp.qp.cfg;
	uint64_t foreign = send_ops_flags & ~ops_of(cfg->type);
	struct ibv_qp_ex *ex = &cqp->ex;

	if (foreign)
		return roce_refuse(EOPNOTSUPP,
				   "create_qp_ex: send_ops_flags 0x%llx are not of qp_type %u",
				   (unsigned long long)foreign, cfg->type);
	cqp->stage = calloc(1, sizeof(*cqp->stage));
	if (!cqp->stage)
		return -ENOMEM;
	pthread_mutex_init(&cqp->stage->lock, NULL);
	cqp->stage->depth = cfg->max_send_wr;
	cqp->stage->max_sge = cfg->max_send_sge;
	cqp->stage->max_inline = cfg->max_inline;
	if (!alloc_stage(cqp->stage))
		return -ENOMEM;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_send_tso = wr_send_tso_unsupported;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_atomic_write = wr_atomic_write;
	return 0;
}

void compat_qp_ex_fini(struct compat_qp *cqp)
{
	struct compat_wr_stage *st = cqp->stage;

	if (!st)
		return;
	free(st->wrs);
	free(st->sges);
	free(st->pieces);
	free(st->binds);
	free(st->inline_bytes);
	pthread_mutex_destroy(&st->lock);
	free(st);
}

/* NULL for a queue pair made without send_ops_flags. */
struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct compat_qp *cqp = compat_qp_of(qp);

	return cqp->stage ? &cqp->ex : NULL;
}
