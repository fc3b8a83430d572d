/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of op.h as functions; called by the runner, the checkers and the reports. */
#include "tools/verbs_check/op.h"

const char *vc_op_str(enum vc_op op)
{
	switch (op) {
#define VC_OP_CASE(id, name, wr, wc) \
	case VC_OP_##id:             \
		return name;
		VC_OPS(VC_OP_CASE)
#undef VC_OP_CASE
	}
	return "?";
}

enum ibv_wr_opcode vc_op_wr_opcode(enum vc_op op)
{
	static const enum ibv_wr_opcode opcodes[] = {
#define VC_OP_WR(id, name, wr, wc) [VC_OP_##id] = wr,
		VC_OPS(VC_OP_WR)
#undef VC_OP_WR
	};

	return opcodes[op];
}

enum ibv_wc_opcode vc_op_wc_opcode(enum vc_op op)
{
	static const enum ibv_wc_opcode opcodes[] = {
#define VC_OP_WC(id, name, wr, wc) [VC_OP_##id] = wc,
		VC_OPS(VC_OP_WC)
#undef VC_OP_WC
	};

	return opcodes[op];
}
