/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the drawing of a plan: the stream of chance, and who draws what. plan.c the link, the
 * hosts and the connections; plan_flow.c the requests and receives of a flow; plan_memory.c where
 * their bytes lie.
 */
#ifndef TESTS_SIM_PLAN_DRAW_H
#define TESTS_SIM_PLAN_DRAW_H

#include "plan.h"

struct draw {
	struct sim_plan *plan;
	struct roce_prng prng;
	uint32_t packets_left; /* of what all messages together may take */
	uint32_t bytes_left;
};

static inline uint32_t below(struct draw *d, uint32_t bound)
{
	return (uint32_t)roce_prng_below(&d->prng, bound);
}

/* In [low, high]. */
static inline uint32_t between(struct draw *d, uint32_t low, uint32_t high)
{
	return low + below(d, high - low + 1);
}

static inline bool chance(struct draw *d, uint32_t percent)
{
	return below(d, 100) < percent;
}

static inline bool is_atomic(uint8_t opcode)
{
	return opcode == ROCE_WR_ATOMIC_CMP_AND_SWP || opcode == ROCE_WR_ATOMIC_FETCH_AND_ADD;
}

/* Of one aligned word. */
static inline bool is_word(uint8_t opcode)
{
	return is_atomic(opcode) || opcode == ROCE_WR_ATOMIC_WRITE;
}

/* Executed here, without a packet. */
static inline bool is_local(uint8_t opcode)
{
	return opcode == ROCE_WR_BIND_MW || opcode == ROCE_WR_LOCAL_INV;
}

static inline bool is_send(uint8_t opcode)
{
	return opcode == ROCE_WR_SEND || opcode == ROCE_WR_SEND_WITH_IMM ||
	       opcode == ROCE_WR_SEND_WITH_INV;
}

static inline bool is_write(uint8_t opcode)
{
	return opcode == ROCE_WR_RDMA_WRITE || opcode == ROCE_WR_RDMA_WRITE_WITH_IMM ||
	       opcode == ROCE_WR_ATOMIC_WRITE;
}

static inline bool is_fetch(uint8_t opcode)
{
	return opcode == ROCE_WR_RDMA_READ || is_atomic(opcode);
}

static inline bool takes_recv(uint8_t opcode)
{
	return is_send(opcode) || opcode == ROCE_WR_RDMA_WRITE_WITH_IMM;
}

/* ---- plan_flow.c ---- */

void draw_ops(struct draw *d, struct sim_flow_plan *flow, const struct sim_conn *conn);
/* Makes one request fail, as the recipe wants it. */
void draw_bad_request(struct draw *d);
void draw_no_receive(struct draw *d);
void draw_recvs(struct draw *d, struct sim_flow_plan *flow);

/* ---- plan_memory.c ---- */

#define GAP_MIN 16u /* bytes that nobody may touch, around every region */

/* Lays out a flow's regions behind `cursors` (by host) and finds every request its places. */
void draw_memory(struct draw *d, struct sim_flow_plan *flow, const struct sim_qp_caps *own,
		 const struct sim_qp_caps *peer, size_t cursors[2]);

#endif
