/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations that are checked, one row each: name for options and reports, the opcode to post
 * and the opcode that the requester's completion must carry.
 */
#ifndef VERBS_CHECK_OP_H
#define VERBS_CHECK_OP_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#define VC_OPS(X)                                                                \
	X(SEND, "send", IBV_WR_SEND, IBV_WC_SEND)                                \
	X(SEND_IMM, "send-imm", IBV_WR_SEND_WITH_IMM, IBV_WC_SEND)               \
	X(SEND_INV, "send-inv", IBV_WR_SEND_WITH_INV, IBV_WC_SEND)               \
	X(WRITE, "write", IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE)                  \
	X(WRITE_IMM, "write-imm", IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE) \
	X(READ, "read", IBV_WR_RDMA_READ, IBV_WC_RDMA_READ)                      \
	X(CMP_SWAP, "cmp-swap", IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP)     \
	X(FETCH_ADD, "fetch-add", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD) \
	X(ATOMIC_WRITE, "atomic-write", IBV_WR_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE)

enum vc_op {
#define VC_OP_ENUM(id, name, wr, wc) VC_OP_##id,
	VC_OPS(VC_OP_ENUM)
#undef VC_OP_ENUM
};

enum { VC_OP_COUNT = VC_OP_ATOMIC_WRITE + 1 };

const char *vc_op_str(enum vc_op op);
enum ibv_wr_opcode vc_op_wr_opcode(enum vc_op op);
enum ibv_wc_opcode vc_op_wc_opcode(enum vc_op op);

static inline bool vc_op_is_send(enum vc_op op)
{
	return op == VC_OP_SEND || op == VC_OP_SEND_IMM || op == VC_OP_SEND_INV;
}

static inline bool vc_op_is_write(enum vc_op op)
{
	return op == VC_OP_WRITE || op == VC_OP_WRITE_IMM || op == VC_OP_ATOMIC_WRITE;
}

static inline bool vc_op_is_atomic(enum vc_op op)
{
	return op == VC_OP_CMP_SWAP || op == VC_OP_FETCH_ADD;
}

static inline bool vc_op_has_imm(enum vc_op op)
{
	return op == VC_OP_SEND_IMM || op == VC_OP_WRITE_IMM;
}

static inline bool vc_op_takes_receive(enum vc_op op)
{
	return vc_op_is_send(op) || op == VC_OP_WRITE_IMM;
}

#endif
