/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program's side of one direction: posts requests and receives as the plan says and judges each
 * completion: its place in the order, status, opcode, length, immediate, and that unsignalled
 * successes give none. The first error must be the one that the plan expects; from then on
 * everything is flushed, in order.
 */
#include "run.h"

#include "base/assert.h"

#include <string.h>

#define BAD_KEY 0xdead00u

/* wr_id: what it is and where it belongs, so that a mix-up shows. */
static uint64_t wr_id_of(const struct sim_flow *flow, bool is_recv, uint32_t index)
{
	return (uint64_t)(is_recv ? 2 : 1) << 56 | (uint64_t)flow->conn << 48 |
	       (uint64_t)flow->plan->from << 40 | index;
}

static uint64_t va_of(const struct sim_flow *flow, unsigned int host, const struct roce_mr *mr,
		      size_t offset)
{
	uint64_t address = (uint64_t)(uintptr_t)(flow->run->pair.hosts[host].arena + offset);

	return mr->iova + (address - mr->addr);
}

static struct roce_mr *add_region(struct sim_flow *flow, unsigned int host,
				  const struct sim_region *region, uint32_t access)
{
	struct roce_mr *mr = sim_stack_add_mr(&flow->run->pair.hosts[host], region->offset,
					      region->length, access);

	if (region->addressing == 1)
		mr->iova = roce_prng_next(&flow->prng) & UINT64_C(0x7ffffffffff8);
	else if (region->addressing == 2)
		mr->iova = 0;
	/* so that an aligned offset is an aligned address on the wire */
	if (region->addressing)
		mr->iova += region->offset & 7;
	return mr;
}

static struct roce_mr *add_window(struct sim_flow *flow, unsigned int host)
{
	struct sim_stack *s = &flow->run->pair.hosts[host];
	struct roce_mr *mw = &s->mrs[s->mr_count++];

	ROCE_ASSERT(s->mr_count <= SIM_MRS_MAX);
	while (roce_window_mr_add(&s->transport.keys, mw, ROCE_MR_WINDOW_2, &s->pd,
				  (uint32_t)roce_prng_next(&s->prng), 0x7f) != 0)
		continue;
	return mw;
}

static void on_post(struct roce_event *ev)
{
	struct sim_flow *flow = roce_container_of(ev, struct sim_flow, post_event);

	sim_flow_post(flow);
}

static void on_recv_due(struct roce_event *ev)
{
	struct sim_flow *flow = roce_container_of(ev, struct sim_flow, recv_event);

	sim_flow_post_recvs(flow);
}

void sim_flow_init(struct sim_flow *flow, struct sim_run *run, uint32_t conn, unsigned int from)
{
	struct sim_flow_plan *plan = &run->plan->flows[conn][from];

	*flow = (struct sim_flow){
		.run = run,
		.plan = plan,
		.conn = conn,
		.failed_at = SIM_NO_OP,
		.prng = {roce_prng_next(&run->prng)},
	};
	roce_event_init(&flow->post_event, on_post);
	roce_event_init(&flow->recv_event, on_recv_due);
	flow->source = add_region(flow, from, &plan->source, ROCE_ACCESS_MW_BIND);
	flow->sink = add_region(flow, from, &plan->sink, ROCE_ACCESS_LOCAL_WRITE);
	flow->target = add_region(flow, !from, &plan->target,
				  ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE |
					  ROCE_ACCESS_REMOTE_READ | ROCE_ACCESS_REMOTE_ATOMIC |
					  ROCE_ACCESS_MW_BIND);
	flow->landing = add_region(flow, !from, &plan->landing, ROCE_ACCESS_LOCAL_WRITE);
	for (uint32_t i = 0; i < plan->op_count; i++) {
		if (plan->ops[i].opcode == ROCE_WR_SEND_WITH_INV)
			flow->windows[i] = add_window(flow, !from);
		else if (plan->ops[i].opcode == ROCE_WR_BIND_MW)
			flow->windows[i] = add_window(flow, from);
	}
}

/* Over a whole region; the key gets another low byte. */
static struct roce_mem_bind bind_of(const struct sim_flow *flow, uint32_t index,
				    const struct roce_mr *mr, uint32_t access)
{
	const struct roce_mr *mw = flow->windows[index];

	return (struct roce_mem_bind){
		.rkey = {(mw->rkey.v & ~0xffu) | ((mw->rkey.v + 1) & 0xff)},
		.lkey = mr->lkey.v,
		.addr = mr->iova,
		.length = mr->length,
		.access = access |
			  (flow->plan->ops[index].is_zero_based ? ROCE_ACCESS_ZERO_BASED : 0),
	};
}

void sim_flow_bind_windows(struct sim_flow *flow)
{
	for (uint32_t i = 0; i < flow->plan->op_count; i++) {
		struct roce_mem_bind bind;

		if (flow->plan->ops[i].opcode != ROCE_WR_SEND_WITH_INV)
			continue;
		bind = bind_of(flow, i, flow->target, ROCE_ACCESS_REMOTE_WRITE);
		if (roce_mem_bind(&flow->peer->qp.t->keys, flow->peer->qp.cfg.pd, &flow->peer->qp,
				  &bind) != ROCE_MEM_OK)
			sim_run_fail(flow->run, "conn %u host %u: bind for request %u refused",
				     flow->conn, !flow->plan->from, i);
	}
}

bool sim_flow_is_sent(const struct sim_flow *flow)
{
	return flow->completed == flow->plan->op_count;
}

static bool has_left_srq(const struct sim_flow *flow)
{
	return flow->peer->qp.cfg.srq && roce_qp_get_state(&flow->peer->qp) == ROCE_QP_ERR;
}

uint32_t sim_flow_recvs_due(const struct sim_flow *flow)
{
	uint32_t due = flow->recv_posted - flow->recv_polled;

	return has_left_srq(flow) ? due - roce_srq_count(flow->peer->qp.cfg.srq) : due;
}

bool sim_flow_is_received(const struct sim_flow *flow)
{
	if (has_left_srq(flow))
		return sim_flow_recvs_due(flow) == 0;
	return flow->recv_polled >= flow->plan->recv_count - flow->plan->recvs_never;
}

/* ---- requests ---- */

static bool is_fetch(uint8_t opcode)
{
	return opcode == ROCE_WR_RDMA_READ || opcode == ROCE_WR_ATOMIC_CMP_AND_SWP ||
	       opcode == ROCE_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_in(const struct sim_region *region, size_t offset)
{
	return offset >= region->offset && offset < region->offset + region->length;
}

static void fill_sges(const struct sim_flow *flow, const struct sim_op *op, struct roce_sge *sges)
{
	for (uint32_t i = 0; i < op->piece_count; i++) {
		const struct sim_piece *piece = &op->pieces[i];
		const struct roce_mr *mr =
			is_in(&flow->plan->sink, piece->offset) ? flow->sink : flow->source;

		sges[i] = (struct roce_sge){
			.addr = va_of(flow, flow->plan->from, mr, piece->offset),
			.length = piece->length,
			.lkey = op->defect == SIM_DEFECT_LKEY ? BAD_KEY : mr->lkey.v,
		};
	}
}

/* Inline data comes from memory that no region names, and that changes after the post. */
static void fill_inline(const struct sim_flow *flow, const struct sim_op *op, struct roce_sge *sges,
			uint8_t *scratch)
{
	const uint8_t *arena = flow->run->pair.hosts[flow->plan->from].arena;

	for (uint32_t i = 0; i < op->piece_count; i++) {
		memcpy(scratch, arena + op->pieces[i].offset, op->pieces[i].length);
		sges[i] = (struct roce_sge){(uint64_t)(uintptr_t)scratch, op->pieces[i].length,
					    BAD_KEY};
		scratch += op->pieces[i].length;
	}
}

static void fill_wr(struct sim_flow *flow, uint32_t index, struct roce_send_wr *wr,
		    struct roce_sge *sges, uint8_t *scratch)
{
	const struct sim_op *op = &flow->plan->ops[index];

	*wr = (struct roce_send_wr){
		.wr_id = wr_id_of(flow, false, index),
		.sge = sges,
		.sge_count = op->piece_count,
		.opcode = op->opcode,
		.flags = op->flags,
		.imm_be = op->imm,
		.remote_addr = va_of(flow, !flow->plan->from, flow->target, op->remote),
		.rkey = flow->target->rkey.v,
		.compare_add = op->compare_add,
		.swap = op->swap,
	};
	if (op->opcode == ROCE_WR_BIND_MW) {
		flow->bind = bind_of(flow, index, flow->source, ROCE_ACCESS_REMOTE_READ);
		wr->bind = &flow->bind;
		flow->bound_keys[index] = flow->bind.rkey.v;
	} else if (op->opcode == ROCE_WR_LOCAL_INV) {
		wr->imm_be = flow->bound_keys[op->window_op];
	} else if (flow->windows[index]) {
		wr->imm_be = flow->windows[index]->rkey.v;
	} else if (op->window_op != SIM_NO_OP && flow->windows[op->window_op]) {
		wr->rkey = flow->windows[op->window_op]->rkey.v;
		wr->remote_addr =
			va_of(flow, !flow->plan->from, flow->windows[op->window_op], op->remote);
	}
	if (op->flags & ROCE_SEND_INLINE)
		fill_inline(flow, op, sges, scratch);
	else
		fill_sges(flow, op, sges);
	if (op->defect == SIM_DEFECT_RKEY || op->length == 0)
		wr->rkey = BAD_KEY; /* of no length: not looked at */
	if (op->defect == SIM_DEFECT_RKEY_IS_LKEY)
		wr->rkey = flow->target->lkey.v;
}

/* Without a signalled request among `depth` in a row the queue would stay full for ever. */
static bool must_signal(const struct sim_flow *flow)
{
	return flow->unsignaled_run + 1 >= flow->qp->qp.cfg.max_send_wr ||
	       flow->posted + 1 == flow->plan->op_count;
}

static bool is_signaled(const struct sim_flow *flow, uint32_t index)
{
	return flow->qp->qp.cfg.sq_sig_all || (flow->plan->ops[index].flags & ROCE_SEND_SIGNALED);
}

static bool post_one(struct sim_flow *flow)
{
	struct sim_run *run = flow->run;
	struct sim_op *op = &flow->plan->ops[flow->posted];
	uint32_t depth = flow->qp->qp.cfg.max_send_wr;
	uint8_t scratch[512];
	struct roce_sge sges[SIM_PIECES_MAX];
	struct roce_send_wr wr;
	enum roce_post_result result;
	enum roce_post_result expected =
		flow->posted - flow->completed < depth ? ROCE_POST_OK : ROCE_POST_FULL;

	if (must_signal(flow))
		op->flags |= ROCE_SEND_SIGNALED;
	fill_wr(flow, flow->posted, &wr, sges, scratch);
	result = roce_post_send(&flow->qp->qp, &wr, sim_pair_now(&run->pair));
	memset(scratch, 0xee, sizeof(scratch));
	memset(sges, 0xee, sizeof(sges));
	if (result != expected) {
		sim_run_fail(run, "conn %u host %u: post of request %u gave %d, not %d", flow->conn,
			     flow->plan->from, flow->posted, result, expected);
		return false;
	}
	if (result == ROCE_POST_FULL)
		return false;
	flow->unsignaled_run = is_signaled(flow, flow->posted) ? 0 : flow->unsignaled_run + 1;
	sim_run_trace(run, "%u/%u post %u %s length %u flags 0x%x", flow->conn, flow->plan->from,
		      flow->posted, sim_text_wr_opcode(op->opcode), op->length, op->flags);
	flow->posted++;
	return true;
}

void sim_flow_post(struct sim_flow *flow)
{
	struct sim_run *run = flow->run;
	bool has_posted = false;

	if (roce_event_is_queued(&flow->post_event))
		return;
	while (flow->posted < flow->plan->op_count && post_one(flow)) {
		has_posted = true;
		if (flow->plan->post_gap_ns) {
			roce_event_schedule(
				&run->pair.queue, &flow->post_event,
				run->pair.queue.now_ps +
					roce_prng_below(&flow->prng, flow->plan->post_gap_ns) *
						ROCE_PS_PER_NS);
			break;
		}
	}
	if (has_posted)
		roce_link_kick(&run->pair.link, flow->plan->from);
}

/* ---- receives ---- */

/* Now and then the queue gets another depth, with whatever is in it. */
static enum roce_post_result post_to_srq(struct sim_flow *flow, const struct roce_sge *sges,
					 uint32_t count)
{
	struct sim_srq *srq = flow->peer->qp.cfg.srq->owner;
	uint32_t depth = flow->peer->qp.cfg.max_recv_wr;

	if (roce_prng_below(&flow->prng, 8) == 0)
		sim_srq_resize(srq, depth << roce_prng_below(&flow->prng, 3));
	return sim_srq_post(srq, wr_id_of(flow, true, flow->recv_posted), sges, count)
		       ? ROCE_POST_OK
		       : ROCE_POST_FULL;
}

static void post_recv(struct sim_flow *flow)
{
	struct sim_run *run = flow->run;
	const struct sim_recv *recv = &flow->plan->recvs[flow->recv_posted];
	struct roce_sge sges[SIM_PIECES_MAX];
	enum roce_post_result result;

	for (uint32_t i = 0; i < recv->piece_count; i++)
		sges[i] = (struct roce_sge){
			.addr = va_of(flow, !flow->plan->from, flow->landing,
				      recv->pieces[i].offset),
			.length = recv->pieces[i].length,
			.lkey = recv->is_key_bad ? BAD_KEY : flow->landing->lkey.v,
		};
	if (flow->peer->qp.cfg.srq)
		result = post_to_srq(flow, sges, recv->piece_count);
	else
		result = roce_post_recv(&flow->peer->qp, wr_id_of(flow, true, flow->recv_posted),
					sges, recv->piece_count, sim_pair_now(&run->pair));
	memset(sges, 0xee, sizeof(sges));
	if (result != ROCE_POST_OK)
		sim_run_fail(run, "conn %u host %u: post of receive %u gave %d", flow->conn,
			     !flow->plan->from, flow->recv_posted, result);
	flow->recv_posted++;
}

static bool has_recv_room(const struct sim_flow *flow)
{
	return flow->recv_posted < flow->plan->recv_count - flow->plan->recvs_never &&
	       flow->recv_posted - flow->recv_polled < flow->peer->qp.cfg.max_recv_wr;
}

void sim_flow_post_recvs(struct sim_flow *flow)
{
	struct sim_run *run = flow->run;

	if (roce_event_is_queued(&flow->recv_event))
		return;
	while (!run->is_failed && has_recv_room(flow)) {
		post_recv(flow);
		if (flow->plan->recv_gap_ns && flow->recv_posted >= flow->plan->recvs_first) {
			roce_event_schedule(
				&run->pair.queue, &flow->recv_event,
				run->pair.queue.now_ps +
					roce_prng_below(&flow->prng, flow->plan->recv_gap_ns) *
						ROCE_PS_PER_NS);
			break;
		}
	}
	roce_link_kick(&run->pair.link, !flow->plan->from);
}

void sim_flow_start(struct sim_flow *flow)
{
	if (flow->plan->recvs_first || !flow->plan->recv_gap_ns)
		sim_flow_post_recvs(flow);
	else
		roce_event_schedule(&flow->run->pair.queue, &flow->recv_event,
				    roce_prng_below(&flow->prng, flow->plan->recv_gap_ns) *
					    ROCE_PS_PER_NS);
}

/* ---- completions ---- */

static uint8_t wc_opcode_of(uint8_t opcode)
{
	switch (opcode) {
	case ROCE_WR_RDMA_WRITE:
	case ROCE_WR_RDMA_WRITE_WITH_IMM:
		return ROCE_WC_RDMA_WRITE;
	case ROCE_WR_RDMA_READ:
		return ROCE_WC_RDMA_READ;
	case ROCE_WR_ATOMIC_CMP_AND_SWP:
		return ROCE_WC_COMP_SWAP;
	case ROCE_WR_ATOMIC_FETCH_AND_ADD:
		return ROCE_WC_FETCH_ADD;
	case ROCE_WR_ATOMIC_WRITE:
		return ROCE_WC_ATOMIC_WRITE;
	case ROCE_WR_BIND_MW:
		return ROCE_WC_BIND_MW;
	case ROCE_WR_LOCAL_INV:
		return ROCE_WC_LOCAL_INV;
	}
	return ROCE_WC_SEND;
}

/* What was bound is open until the invalidation that names it can have been executed. */
static void check_local(struct sim_flow *flow, uint32_t index)
{
	const struct sim_op *op = &flow->plan->ops[index];

	if (op->opcode == ROCE_WR_LOCAL_INV && flow->windows[op->window_op]->is_valid)
		sim_run_fail(flow->run, "conn %u host %u: request %u invalidated nothing",
			     flow->conn, flow->plan->from, index);
	if (op->opcode != ROCE_WR_BIND_MW || flow->windows[index]->is_valid)
		return;
	for (uint32_t i = index + 1; i < flow->posted; i++)
		if (flow->plan->ops[i].opcode == ROCE_WR_LOCAL_INV &&
		    flow->plan->ops[i].window_op == index)
			return;
	sim_run_fail(flow->run, "conn %u host %u: request %u bound nothing", flow->conn,
		     flow->plan->from, index);
}

static void check_success(struct sim_flow *flow, uint32_t index, const struct roce_cqe *cqe)
{
	const struct sim_op *op = &flow->plan->ops[index];

	if (flow->failed_at != SIM_NO_OP)
		sim_run_fail(flow->run, "conn %u host %u: request %u succeeds after %u failed",
			     flow->conn, flow->plan->from, index, flow->failed_at);
	if (index == flow->plan->fatal_op)
		sim_run_fail(flow->run, "conn %u host %u: request %u should fail with %s",
			     flow->conn, flow->plan->from, index,
			     sim_text_status((uint8_t)flow->plan->fatal_status));
	for (uint32_t i = flow->completed; i < index; i++)
		if (is_signaled(flow, i))
			sim_run_fail(flow->run,
				     "conn %u host %u: request %u completes before signalled %u",
				     flow->conn, flow->plan->from, index, i);
	if (!is_signaled(flow, index))
		sim_run_fail(flow->run, "conn %u host %u: completion of unsignalled request %u",
			     flow->conn, flow->plan->from, index);
	if (cqe->opcode != wc_opcode_of(op->opcode))
		sim_run_fail(flow->run, "conn %u host %u: request %u has opcode %u", flow->conn,
			     flow->plan->from, index, cqe->opcode);
	if (is_fetch(op->opcode) && cqe->byte_len != op->length)
		sim_run_fail(flow->run, "conn %u host %u: request %u has byte_len %lu, not %u",
			     flow->conn, flow->plan->from, index, (unsigned long)cqe->byte_len,
			     op->length);
	check_local(flow, index);
	if (flow->run->is_failed)
		return;
	sim_model_apply(flow, index);
	flow->succeeded = index + 1;
	for (uint32_t i = flow->completed; i <= index; i++) {
		if (is_fetch(flow->plan->ops[i].opcode))
			sim_model_check_fetch(flow, i);
	}
}

static bool is_right_failure(const struct sim_flow *flow, uint32_t index, uint8_t status)
{
	const struct sim_flow_plan *plan = flow->plan;

	if (index == plan->fatal_op && status == plan->fatal_status)
		return true;
	return plan->allowed_mask >> status & 1 &&
	       (plan->fatal_op == SIM_NO_OP || index <= plan->fatal_op);
}

static void check_failure(struct sim_flow *flow, uint32_t index, const struct roce_cqe *cqe)
{
	if (flow->failed_at != SIM_NO_OP) {
		if (cqe->status != ROCE_WC_WR_FLUSH_ERR || index != flow->completed)
			sim_run_fail(flow->run,
				     "conn %u host %u: request %u ends with %s after %u failed",
				     flow->conn, flow->plan->from, index,
				     sim_text_status(cqe->status), flow->failed_at);
		return;
	}
	for (uint32_t i = flow->completed; i < index; i++)
		if (is_signaled(flow, i))
			sim_run_fail(flow->run,
				     "conn %u host %u: request %u fails before signalled %u ends",
				     flow->conn, flow->plan->from, index, i);
	if (!is_right_failure(flow, index, cqe->status))
		sim_run_fail(flow->run, "conn %u host %u: request %u of %u ends with %s",
			     flow->conn, flow->plan->from, index, flow->plan->op_count,
			     sim_text_status(cqe->status));
	if (index > flow->completed && !flow->run->is_failed) {
		sim_model_apply(flow, index - 1);
		flow->succeeded = index;
	}
	flow->failed_at = index;
}

void sim_flow_on_send_cqe(struct sim_flow *flow, const struct roce_cqe *cqe)
{
	uint32_t index = (uint32_t)cqe->wr_id;

	if (cqe->wr_id != wr_id_of(flow, false, index) || index < flow->completed ||
	    index >= flow->posted || cqe->qp_num != flow->qp->qp.cfg.qpn.v) {
		sim_run_fail(flow->run,
			     "conn %u host %u: completion of 0x%lx on QP 0x%x; %u of %u posted "
			     "are completed",
			     flow->conn, flow->plan->from, (unsigned long)cqe->wr_id, cqe->qp_num,
			     flow->completed, flow->posted);
		return;
	}
	if (cqe->status == ROCE_WC_SUCCESS)
		check_success(flow, index, cqe);
	else
		check_failure(flow, index, cqe);
	flow->completed = index + 1;
}

/* What must stand in wc_flags and imm_be of the receive completion of request `index`. */
static uint8_t expected_extra(const struct sim_flow *flow, uint32_t index, uint32_t *out_imm)
{
	const struct sim_op *op = &flow->plan->ops[index];

	*out_imm = flow->windows[index] ? flow->windows[index]->rkey.v : op->imm;
	if (flow->windows[index])
		return ROCE_WC_WITH_INV;
	if (op->opcode == ROCE_WR_SEND_WITH_IMM || op->opcode == ROCE_WR_RDMA_WRITE_WITH_IMM)
		return ROCE_WC_WITH_IMM;
	return 0;
}

/* The key is dead from now on, and only from now on. */
static void check_window(struct sim_flow *flow, uint32_t index)
{
	for (uint32_t i = 0; i < flow->plan->op_count; i++) {
		const struct sim_op *op = &flow->plan->ops[i];

		if (op->opcode != ROCE_WR_SEND_WITH_INV)
			continue;
		if (i <= index && flow->windows[i]->is_valid)
			sim_run_fail(flow->run, "conn %u host %u: request %u invalidated nothing",
				     flow->conn, !flow->plan->from, i);
		/* what comes later may have been executed by now, but not before it was posted */
		if (i >= flow->posted && op->recv != SIM_NO_RECV && !flow->windows[i]->is_valid)
			sim_run_fail(flow->run, "conn %u host %u: key of request %u is dead early",
				     flow->conn, !flow->plan->from, i);
	}
}

static void check_recv_success(struct sim_flow *flow, uint32_t index, const struct roce_cqe *cqe)
{
	const struct sim_recv *recv = &flow->plan->recvs[index];
	const struct sim_op *op;
	uint8_t wc_flags;
	uint8_t opcode;
	uint32_t imm;

	if (recv->op == SIM_NO_OP || flow->is_recv_failed || recv->op >= flow->posted ||
	    recv->op == flow->plan->fatal_op) {
		sim_run_fail(flow->run, "conn %u host %u: receive %u succeeds", flow->conn,
			     !flow->plan->from, index);
		return;
	}
	op = &flow->plan->ops[recv->op];
	opcode = op->opcode == ROCE_WR_RDMA_WRITE_WITH_IMM ? ROCE_WC_RECV_RDMA_WITH_IMM
							   : ROCE_WC_RECV;
	wc_flags = expected_extra(flow, recv->op, &imm);
	if (cqe->opcode != opcode || cqe->byte_len != op->length || cqe->wc_flags != wc_flags ||
	    (wc_flags && cqe->imm_be != imm))
		sim_run_fail(
			flow->run,
			"conn %u host %u: receive %u: opcode %u byte_len %lu flags %u imm 0x%x",
			flow->conn, !flow->plan->from, index, cqe->opcode,
			(unsigned long)cqe->byte_len, cqe->wc_flags, cqe->imm_be);
	check_window(flow, recv->op);
	/* What was sent before it is in memory, too. */
	sim_model_apply(flow, recv->op);
	sim_model_check_recv(flow, index);
	for (uint32_t i = recv->op + 1; i-- > 0;) {
		if (flow->plan->ops[i].opcode == ROCE_WR_RDMA_WRITE ||
		    flow->plan->ops[i].opcode == ROCE_WR_ATOMIC_WRITE ||
		    flow->plan->ops[i].opcode == ROCE_WR_RDMA_WRITE_WITH_IMM)
			sim_model_check_target(flow, i);
		if (recv->op - i > 4)
			break;
	}
}

static void check_recv_failure(struct sim_flow *flow, uint32_t index, const struct roce_cqe *cqe)
{
	const struct sim_flow_plan *plan = flow->plan;
	bool is_fatal = plan->recvs[index].op != SIM_NO_OP &&
			plan->recvs[index].op == plan->fatal_op && plan->recv_fatal_status;

	if (!flow->is_recv_failed && is_fatal && cqe->status == plan->recv_fatal_status) {
		flow->is_recv_failed = true;
		return;
	}
	flow->is_recv_failed = true;
	if (cqe->status != ROCE_WC_WR_FLUSH_ERR)
		sim_run_fail(flow->run, "conn %u host %u: receive %u ends with %s", flow->conn,
			     !plan->from, index, sim_text_status(cqe->status));
}

void sim_flow_on_recv_cqe(struct sim_flow *flow, const struct roce_cqe *cqe)
{
	uint32_t index = flow->recv_polled;

	if (cqe->wr_id != wr_id_of(flow, true, index) || index >= flow->recv_posted ||
	    cqe->qp_num != flow->peer->qp.cfg.qpn.v) {
		sim_run_fail(flow->run, "conn %u host %u: receive 0x%lx completes, not %u",
			     flow->conn, !flow->plan->from, (unsigned long)cqe->wr_id, index);
		return;
	}
	if (cqe->status == ROCE_WC_SUCCESS)
		check_recv_success(flow, index, cqe);
	else
		check_recv_failure(flow, index, cqe);
	flow->recv_polled++;
}
