/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drawing an open seed: the link, the connections, the requests, then the receives that they may
 * take, and where all of it lies.
 */
#include "open_plan.h"

#include "wire/mtu.h"

#include <string.h>

#define GAP_MIN	     16u
#define SOURCE_BYTES 20000u
#define MESSAGE_MAX  9000u

struct draw {
	struct open_plan *plan;
	struct roce_prng prng;
};

static uint32_t below(struct draw *d, uint32_t bound)
{
	return (uint32_t)roce_prng_below(&d->prng, bound);
}

static uint32_t between(struct draw *d, uint32_t low, uint32_t high)
{
	return low + below(d, high - low + 1);
}

static bool chance(struct draw *d, uint32_t percent)
{
	return below(d, 100) < percent;
}

static void draw_link(struct draw *d)
{
	static const uint64_t rates[] = {0, 80, 800};
	struct open_plan *plan = d->plan;
	struct roce_link_config *link = &plan->link;
	bool is_reliable = open_is_reliable(plan);

	link->seed = roce_prng_next(&d->prng);
	link->ps_per_byte = rates[below(d, 3)];
	link->delay_ps = between(d, 100, 3000) * ROCE_PS_PER_NS;
	link->is_encoded = chance(d, 25);
	link->pull_max = between(d, 1, ROCE_LINK_PULL_MAX);
	plan->is_clean = chance(d, 25);
	if (plan->is_clean)
		return;
	plan->may_duplicate = chance(d, 30);
	plan->may_reorder = chance(d, 30);
	for (unsigned int i = 0; i < 2; i++) {
		struct roce_link_faults *f = &link->faults[i];

		f->late_ns_max = between(d, 1, 20000);
		/* not so much that a reliable requester could run out of retries by chance */
		f->loss_ppm = chance(d, 80) ? between(d, 1000, is_reliable ? 20000 : 100000) : 0;
		f->loss_burst_max = between(d, 1, 3);
		f->corrupt_ppm = chance(d, 30) ? below(d, 20000) : 0;
		f->duplicate_ppm = plan->may_duplicate ? between(d, 1000, 100000) : 0;
		f->reorder_ppm = plan->may_reorder ? between(d, 1000, 60000) : 0;
	}
}

static void draw_conns(struct draw *d)
{
	struct open_plan *plan = d->plan;
	uint8_t mtu = (uint8_t)between(d, 1, 5);

	for (uint32_t c = 0; c < plan->conn_count; c++) {
		struct sim_conn *conn = &plan->conns[c];

		*conn = sim_conn_default();
		conn->path_mtu = plan->type == ROCE_QP_UD ? 5 : mtu;
		conn->timeout = 8;
		conn->min_rnr_timer[0] = conn->min_rnr_timer[1] = (uint8_t)between(d, 1, 8);
		for (unsigned int i = 0; i < 2; i++)
			conn->psn[i] = chance(d, 30) ? ROCE_PSN_MASK - below(d, 20)
						     : below(d, ROCE_PSN_MASK + 1);
	}
}

/* ---- requests ---- */

static uint8_t draw_opcode(struct draw *d)
{
	static const uint8_t opcodes[] = {ROCE_WR_SEND, ROCE_WR_SEND_WITH_IMM, ROCE_WR_RDMA_WRITE,
					  ROCE_WR_RDMA_WRITE_WITH_IMM};

	return opcodes[below(d, d->plan->type == ROCE_QP_UD ? 2 : 4)];
}

static uint32_t draw_length(struct draw *d, uint32_t conn)
{
	uint32_t mtu = roce_mtu_bytes(d->plan->conns[conn].path_mtu);
	uint32_t length;

	switch (below(d, 4)) {
	case 0:
		length = below(d, 64);
		break;
	case 1:
		length = mtu * between(d, 1, 3) + below(d, 3) - 1;
		break;
	default:
		length = below(d, MESSAGE_MAX);
		break;
	}
	if (d->plan->type == ROCE_QP_UD && length > mtu)
		length = mtu;
	return length < MESSAGE_MAX ? length : MESSAGE_MAX;
}

static void draw_ops(struct draw *d, unsigned int from, uint32_t conn)
{
	struct open_plan *plan = d->plan;
	struct open_flow *flow = &plan->flows[from][conn];

	flow->op_count = between(d, 1, OPEN_OPS_MAX);
	for (uint32_t i = 0; i < flow->op_count; i++) {
		struct open_op *op = &flow->ops[i];

		op->opcode = draw_opcode(d);
		op->flags = chance(d, 20) ? ROCE_SEND_SOLICITED : 0;
		op->length = draw_length(d, conn);
		op->imm = (uint32_t)roce_prng_next(&d->prng);
		op->to = below(d, plan->type == ROCE_QP_UD ? plan->conn_count
							   : plan->pool_count[!from]);
		if (plan->type == ROCE_QP_UD)
			op->is_void = chance(d, 10);
		if (plan->type == ROCE_QP_UC && open_is_write(op->opcode) && op->length)
			op->is_void = chance(d, 15);
	}
}

uint32_t open_pool_of(const struct open_plan *plan, unsigned int from, uint32_t conn,
		      const struct open_op *op)
{
	if (plan->type == ROCE_QP_XRC_INI)
		return op->to;
	return plan->pool_of[!from][plan->type == ROCE_QP_UD ? op->to : conn];
}

/* ---- receives and memory ---- */

static void draw_pool(struct draw *d, unsigned int host, uint32_t p, size_t *cursor)
{
	struct open_plan *plan = d->plan;
	struct open_pool *pool = &plan->pools[host][p];

	for (uint32_t c = 0; c < plan->conn_count; c++) {
		const struct open_flow *flow = &plan->flows[!host][c];

		for (uint32_t i = 0; i < flow->op_count; i++) {
			const struct open_op *op = &flow->ops[i];

			if (open_takes_recv(op->opcode) && open_pool_of(plan, !host, c, op) == p)
				pool->count++;
		}
	}
	pool->slot_bytes = MESSAGE_MAX + OPEN_GRH_BYTES;
	pool->stride = pool->slot_bytes + between(d, GAP_MIN, 40);
	pool->first = chance(d, 60) ? pool->count : below(d, pool->count + 1);
	if (!open_is_reliable(plan) && chance(d, 30))
		pool->count = pool->first; /* more messages than receives */
	if (plan->is_shared && pool->first)
		pool->limit = between(d, 1, pool->first);
	pool->at = *cursor;
	*cursor += (size_t)pool->count * pool->stride + GAP_MIN;
}

static void place_flow(struct draw *d, unsigned int from, uint32_t conn, size_t cursors[2])
{
	struct open_flow *flow = &d->plan->flows[from][conn];
	size_t *cursor = &cursors[!from];

	flow->source_at = cursors[from];
	flow->source_length = SOURCE_BYTES;
	cursors[from] += SOURCE_BYTES + GAP_MIN;
	flow->target_at = *cursor;
	for (uint32_t i = 0; i < flow->op_count; i++) {
		struct open_op *op = &flow->ops[i];

		op->source = flow->source_at + below(d, SOURCE_BYTES - op->length + 1);
		if (!open_is_write(op->opcode))
			continue;
		op->target = *cursor;
		*cursor += op->length + below(d, 20);
	}
	flow->target_length = *cursor - flow->target_at + 1;
	*cursor += GAP_MIN + 1;
}

void open_plan_draw(struct open_plan *plan, uint64_t seed)
{
	static const uint8_t types[] = {ROCE_QP_UC, ROCE_QP_UD, ROCE_QP_RC, ROCE_QP_XRC_INI};
	struct draw d = {.plan = plan, .prng = {seed}};
	size_t cursors[2] = {GAP_MIN, GAP_MIN};

	memset(plan, 0, sizeof(*plan));
	roce_prng_next(&d.prng);
	plan->seed = seed;
	plan->type = types[below(&d, 4)];
	plan->is_shared = open_is_reliable(plan) || chance(&d, 40);
	plan->conn_count = between(&d, 1, OPEN_CONNS_MAX);
	plan->send_depth = 1u << below(&d, 6);
	plan->late_percent = between(&d, 1, 60);
	draw_link(&d);
	draw_conns(&d);
	for (unsigned int i = 0; i < 2; i++) {
		plan->tuning[i] = sim_tuning_default();
		plan->tuning[i].burst_packets = between(&d, 1, 32);
		plan->tuning[i].ack_interval_packets = between(&d, 1, 16);
		plan->pool_count[i] =
			plan->is_shared ? between(&d, 1, plan->conn_count) : plan->conn_count;
		for (uint32_t c = 0; c < plan->conn_count; c++)
			plan->pool_of[i][c] = plan->is_shared ? below(&d, plan->pool_count[i]) : c;
	}
	for (unsigned int from = 0; from < 2; from++)
		for (uint32_t c = 0; c < plan->conn_count; c++)
			draw_ops(&d, from, c);
	for (unsigned int host = 0; host < 2; host++) {
		for (uint32_t c = 0; c < plan->conn_count; c++)
			place_flow(&d, host, c, cursors);
		for (uint32_t p = 0; p < plan->pool_count[host]; p++)
			draw_pool(&d, host, p, &cursors[host]);
	}
	plan->arena_size[0] = cursors[0] + GAP_MIN;
	plan->arena_size[1] = cursors[1] + GAP_MIN;
}
