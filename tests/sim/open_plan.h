/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one open seed does: UC, UD, and RC and XRC with shared receive queues, where nobody knows
 * beforehand which receive a message takes. Drawn before anything runs, like plan.h for RC.
 *
 * Host memory: for each connection a source that never changes and a target with a place of its own
 * for each WRITE of the peer; for each pool of receives a row of slots. Gaps lie between all of
 * them, and nothing else of the memory may ever change.
 */
#ifndef TESTS_SIM_OPEN_PLAN_H
#define TESTS_SIM_OPEN_PLAN_H

#include "pair.h"

#define OPEN_CONNS_MAX 3u
#define OPEN_OPS_MAX   32u
#define OPEN_RECVS_MAX (2 * OPEN_CONNS_MAX * OPEN_OPS_MAX)
#define OPEN_GRH_BYTES 40u

struct open_op {
	uint8_t opcode; /* enum roce_wr_opcode */
	uint8_t flags;	/* enum roce_send_flags */
	bool is_void; /* by the key of a window bound anew, or with a wrong Q_Key: never executed */
	uint32_t length;
	uint32_t imm;
	uint32_t to;   /* UD: the peer's QP; XRC: its shared queue */
	size_t source; /* in the own arena */
	size_t target; /* of a WRITE, in the peer's */
};

struct open_flow {
	uint32_t op_count;
	struct open_op ops[OPEN_OPS_MAX];
	size_t source_at;
	size_t source_length;
	size_t target_at; /* in the peer's arena */
	size_t target_length;
};

struct open_pool {
	uint32_t count;
	uint32_t first; /* posted before anything is sent */
	uint32_t limit; /* of a shared queue; 0: none */
	uint32_t slot_bytes;
	uint32_t stride; /* with the gap behind a slot */
	size_t at;
};

struct open_plan {
	uint64_t seed;
	uint8_t type; /* enum roce_qp_type; XRC_INI for XRC */
	bool is_shared;
	bool is_clean; /* no faults of the link */
	bool may_duplicate;
	bool may_reorder;
	uint32_t conn_count;
	uint32_t send_depth;
	uint32_t late_percent; /* chance of each step to post a receive that is not in place yet */
	struct sim_conn conns[OPEN_CONNS_MAX];
	uint32_t pool_count[2];
	uint32_t pool_of[2][OPEN_CONNS_MAX]; /* of a QP; XRC: of its requests' `to`, itself */
	struct open_pool pools[2][OPEN_CONNS_MAX];
	struct open_flow flows[2][OPEN_CONNS_MAX]; /* by sender */
	struct roce_link_config link;
	struct roce_transport_config tuning[2];
	size_t arena_size[2];
};

static inline bool open_is_reliable(const struct open_plan *plan)
{
	return plan->type == ROCE_QP_RC || plan->type == ROCE_QP_XRC_INI;
}

static inline bool open_takes_recv(uint8_t opcode)
{
	return opcode != ROCE_WR_RDMA_WRITE;
}

static inline bool open_is_write(uint8_t opcode)
{
	return opcode == ROCE_WR_RDMA_WRITE || opcode == ROCE_WR_RDMA_WRITE_WITH_IMM;
}

/* The pool that a message of flow `conn` goes to at the peer of `from`. */
uint32_t open_pool_of(const struct open_plan *plan, unsigned int from, uint32_t conn,
		      const struct open_op *op);

void open_plan_draw(struct open_plan *plan, uint64_t seed);

/* What the memory of a host holds in the beginning. */
static inline uint8_t open_fill(unsigned int host, size_t at)
{
	uint64_t z = (at / 8 + 1) * UINT64_C(0x9e3779b97f4a7c15) + host;

	z = (z ^ z >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return (uint8_t)(z >> at % 8 * 8);
}

#endif
