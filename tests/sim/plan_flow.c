/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requests of a flow (kind and length), the receives that they take, and the one request that
 * is to fail when the recipe is about failing.
 */
#include "plan_draw.h"

#include "wire/mtu.h"

#define INVALIDATES_MAX 4u /* of one flow: each takes a window */
#define BINDS_MAX	4u /* the same */

/* ---- requests ---- */

static uint32_t draw_length(struct draw *d, uint32_t mtu, uint32_t length_max)
{
	uint32_t length;
	uint32_t packets;

	switch (below(d, 8)) {
	case 0:
		length = below(d, 3);
		break;
	case 1:
		length = mtu * between(d, 1, 3) + below(d, 3) - 1;
		break;
	case 2:
		length = below(d, 64);
		break;
	case 3:
		length = below(d, 4 * mtu);
		break;
	default:
		length = below(d, length_max + 1);
		break;
	}
	if (length > length_max)
		length = length_max;
	packets = length / mtu + 1;
	if (packets > d->packets_left || length > d->bytes_left) {
		length = below(d, 64);
		packets = 1;
	}
	d->packets_left -= packets < d->packets_left ? packets : d->packets_left;
	d->bytes_left -= length < d->bytes_left ? length : d->bytes_left;
	return length;
}

static void draw_op(struct draw *d, struct sim_op *op, uint32_t mtu, uint32_t length_max)
{
	static const uint8_t opcodes[] = {
		ROCE_WR_SEND,
		ROCE_WR_SEND,
		ROCE_WR_RDMA_WRITE,
		ROCE_WR_RDMA_WRITE,
		ROCE_WR_RDMA_READ,
		ROCE_WR_RDMA_READ,
		ROCE_WR_SEND_WITH_IMM,
		ROCE_WR_RDMA_WRITE_WITH_IMM,
		ROCE_WR_ATOMIC_CMP_AND_SWP,
		ROCE_WR_ATOMIC_FETCH_AND_ADD,
		ROCE_WR_SEND_WITH_INV,
		ROCE_WR_ATOMIC_WRITE,
		ROCE_WR_BIND_MW,
		ROCE_WR_LOCAL_INV,
	};

	*op = (struct sim_op){.recv = SIM_NO_RECV, .window_op = SIM_NO_OP};
	op->opcode = opcodes[below(d, sizeof(opcodes))];
	op->length = is_word(op->opcode) ? 8 : draw_length(d, mtu, length_max);
	if (is_local(op->opcode))
		op->length = 0;
	op->is_zero_based = chance(d, 50);
	op->imm = (uint32_t)roce_prng_next(&d->prng);
	op->swap = roce_prng_next(&d->prng);
	op->compare_add = roce_prng_next(&d->prng);
	if (chance(d, 60))
		op->flags |= ROCE_SEND_SIGNALED;
	if (chance(d, 10))
		op->flags |= ROCE_SEND_FENCE;
	if (chance(d, 20))
		op->flags |= ROCE_SEND_SOLICITED;
}

/* The bind before `index` whose window is still bound there; SIM_NO_OP if none. */
static uint32_t find_bound(const struct sim_flow_plan *flow, uint32_t index)
{
	for (uint32_t i = index; i-- > 0;) {
		bool is_ended = false;

		for (uint32_t k = i + 1; k < index; k++)
			is_ended |= flow->ops[k].opcode == ROCE_WR_LOCAL_INV &&
				    flow->ops[k].window_op == i;
		if (flow->ops[i].opcode == ROCE_WR_BIND_MW && !is_ended)
			return i;
	}
	return SIM_NO_OP;
}

/* What an invalidation ends, and which WRITEs use the window that a later SEND invalidates. */
static void draw_windows(struct draw *d, struct sim_flow_plan *flow)
{
	uint32_t binds = 0;

	for (uint32_t i = 0; i < flow->op_count; i++) {
		struct sim_op *op = &flow->ops[i];

		if (op->opcode == ROCE_WR_BIND_MW && binds++ >= BINDS_MAX)
			op->opcode = ROCE_WR_RDMA_WRITE;
		if (op->opcode == ROCE_WR_LOCAL_INV) {
			op->window_op = find_bound(flow, i);
			if (op->window_op == SIM_NO_OP)
				op->opcode = ROCE_WR_RDMA_WRITE;
		}
		if (op->opcode != ROCE_WR_SEND_WITH_INV)
			continue;
		for (uint32_t k = 0; k < i; k++)
			if (is_write(flow->ops[k].opcode) && flow->ops[k].window_op == SIM_NO_OP &&
			    chance(d, 30))
				flow->ops[k].window_op = i;
	}
}

void draw_ops(struct draw *d, struct sim_flow_plan *flow, const struct sim_conn *conn)
{
	uint32_t mtu = roce_mtu_bytes(conn->path_mtu);
	uint32_t invalidates = 0;
	uint32_t length_max;

	switch (below(d, 10)) {
	case 0:
		length_max = mtu >= 1024 ? 1u << 20 : 1u << 17;
		break;
	case 1:
	case 2:
		length_max = 64;
		break;
	default:
		length_max = 8 * mtu;
		break;
	}
	flow->op_count = chance(d, 10) ? 0 : between(d, 1, chance(d, 50) ? 12 : SIM_OPS_MAX);
	for (uint32_t i = 0; i < flow->op_count; i++) {
		draw_op(d, &flow->ops[i], mtu, length_max);
		if (flow->ops[i].opcode == ROCE_WR_SEND_WITH_INV &&
		    invalidates++ >= INVALIDATES_MAX)
			flow->ops[i].opcode = ROCE_WR_SEND;
	}
	draw_windows(d, flow);
	flow->fatal_op = SIM_NO_OP;
}

/* ---- the one request that fails ---- */

static void spoil(struct draw *d, struct sim_op *op, enum sim_defect defect)
{
	op->window_op = SIM_NO_OP;
	if (is_local(op->opcode))
		op->opcode = ROCE_WR_RDMA_WRITE;
	if (op->length == 0)
		op->length = between(d, 1, 3000);
	switch (defect) {
	case SIM_DEFECT_RKEY:
	case SIM_DEFECT_RKEY_IS_LKEY:
	case SIM_DEFECT_RANGE:
		/* an atomic beyond the region would be misaligned as well */
		if (is_send(op->opcode) || is_word(op->opcode))
			op->opcode = chance(d, 50) ? ROCE_WR_RDMA_WRITE : ROCE_WR_RDMA_READ;
		break;
	case SIM_DEFECT_MISALIGNED:
		op->opcode = chance(d, 70) ? ROCE_WR_ATOMIC_CMP_AND_SWP : ROCE_WR_ATOMIC_WRITE;
		break;
	case SIM_DEFECT_RECV_TOO_SMALL:
	case SIM_DEFECT_RECV_LKEY:
		op->opcode = ROCE_WR_SEND;
		break;
	case SIM_DEFECT_LKEY:
	case SIM_DEFECT_NONE:
	case SIM_DEFECT_COUNT:
		break;
	}
	if (is_word(op->opcode))
		op->length = 8;
	op->defect = (uint8_t)defect;
}

void draw_bad_request(struct draw *d)
{
	static const struct {
		uint8_t status;
		uint8_t recv_status;
	} outcomes[SIM_DEFECT_COUNT] = {
		[SIM_DEFECT_RKEY] = {ROCE_WC_REM_ACCESS_ERR, 0},
		[SIM_DEFECT_RKEY_IS_LKEY] = {ROCE_WC_REM_ACCESS_ERR, 0},
		[SIM_DEFECT_RANGE] = {ROCE_WC_REM_ACCESS_ERR, 0},
		[SIM_DEFECT_MISALIGNED] = {ROCE_WC_REM_INV_REQ_ERR, 0},
		[SIM_DEFECT_LKEY] = {ROCE_WC_LOC_PROT_ERR, 0},
		[SIM_DEFECT_RECV_TOO_SMALL] = {ROCE_WC_REM_INV_REQ_ERR, ROCE_WC_LOC_LEN_ERR},
		[SIM_DEFECT_RECV_LKEY] = {ROCE_WC_REM_OP_ERR, ROCE_WC_LOC_PROT_ERR},
	};
	unsigned int from = below(d, 2);
	struct sim_flow_plan *flow = &d->plan->flows[0][from];
	enum sim_defect defect = (enum sim_defect)between(d, 1, SIM_DEFECT_COUNT - 1);

	if (flow->op_count == 0) {
		flow->op_count = 1;
		draw_op(d, &flow->ops[0], 256, 3000);
	}
	flow->fatal_op = below(d, flow->op_count);
	spoil(d, &flow->ops[flow->fatal_op], defect);
	flow->fatal_status = outcomes[defect].status;
	flow->recv_fatal_status = outcomes[defect].recv_status;
	d->plan->flows[0][!from].allowed_mask =
		1u << ROCE_WC_WR_FLUSH_ERR | 1u << ROCE_WC_RETRY_EXC_ERR;
	if (d->plan->link.faults[0].loss_ppm || d->plan->link.faults[1].loss_ppm)
		flow->allowed_mask = 1u << ROCE_WC_RETRY_EXC_ERR;
}

/* ---- receives ---- */

void draw_recvs(struct draw *d, struct sim_flow_plan *flow)
{
	uint32_t spare = below(d, 3);

	for (uint32_t i = 0; i < flow->op_count; i++) {
		if (!takes_recv(flow->ops[i].opcode))
			continue;
		flow->ops[i].recv = flow->recv_count;
		flow->recvs[flow->recv_count++].op = i;
	}
	for (uint32_t i = 0; i < spare; i++)
		flow->recvs[flow->recv_count++].op = SIM_NO_OP;
	flow->recvs_first = flow->recv_count;
	flow->post_gap_ns = chance(d, 40) ? between(d, 1, 20000) : 0;
	if (d->plan->recipe == SIM_RECIPE_LATE_RECEIVES) {
		flow->recvs_first = below(d, flow->recv_count + 1);
		flow->recv_gap_ns = between(d, 1, chance(d, 50) ? 2000000 : 50000);
	}
}

void draw_no_receive(struct draw *d)
{
	unsigned int from = below(d, 2);
	struct sim_flow_plan *flow = &d->plan->flows[0][from];
	uint32_t index;

	if (flow->recv_count == 0)
		return;
	index = below(d, flow->recv_count);
	flow->recvs_never = flow->recv_count - index;
	flow->recvs_first = index;
	if (flow->recvs[index].op == SIM_NO_OP)
		return;
	flow->fatal_op = flow->recvs[index].op;
	flow->fatal_status = ROCE_WC_RNR_RETRY_EXC_ERR;
	d->plan->flows[0][!from].allowed_mask =
		1u << ROCE_WC_WR_FLUSH_ERR | 1u << ROCE_WC_RETRY_EXC_ERR;
	if (d->plan->link.faults[0].loss_ppm || d->plan->link.faults[1].loss_ppm)
		flow->allowed_mask = 1u << ROCE_WC_RETRY_EXC_ERR;
}
