/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which fields count: on an error only wr_id, status and qp_num are valid; byte_len of a send-side
 * completion only for READ and atomics; of wc_flags only those that say whether an immediate or an
 * invalidated key is there, for devices set others (GRH, checksum) as they like, and some set
 * WITH_IMM on the requester's completion too.
 */
#include "tools/verbs_check/completion.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>

/* Soft-RoCE hands the kernel's flag to the program, where it means something else. */
#define RXE_WITH_INV (1u << 2)

static bool differ(char *text, size_t size, const char *field, uint64_t expected, uint64_t found)
{
	(void)snprintf(text, size,
		       "%s: expected %" PRIu64 " (0x%" PRIx64 "), found %" PRIu64 " (0x%" PRIx64
		       ")",
		       field, expected, expected, found, found);
	return false;
}

static bool check_receive(const struct ibv_wc *wc, const struct vc_expected *expected, char *text,
			  size_t size)
{
	unsigned int mask = IBV_WC_WITH_IMM | IBV_WC_WITH_INV;
	unsigned int flags = 0;
	enum ibv_wc_opcode opcode =
		expected->op == VC_OP_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;

	if (vc_op_has_imm(expected->op))
		flags = IBV_WC_WITH_IMM;
	else if (expected->op == VC_OP_SEND_INV)
		flags = IBV_WC_WITH_INV;
	if (flags == IBV_WC_WITH_INV && (expected->quirks & VC_QUIRK_RXE)) {
		mask |= RXE_WITH_INV;
		flags = RXE_WITH_INV;
	}
	if (wc->opcode != opcode)
		return differ(text, size, "opcode", opcode, wc->opcode);
	if (wc->byte_len != expected->length)
		return differ(text, size, "byte_len", expected->length, wc->byte_len);
	if ((wc->wc_flags & mask) != flags)
		return differ(text, size, "wc_flags", flags, wc->wc_flags);
	if (flags == IBV_WC_WITH_IMM && ntohl(wc->imm_data) != expected->imm)
		return differ(text, size, "imm_data", expected->imm, ntohl(wc->imm_data));
	if (expected->op == VC_OP_SEND_INV && wc->invalidated_rkey != expected->invalidated)
		return differ(text, size, "invalidated_rkey", expected->invalidated,
			      wc->invalidated_rkey);
	return true;
}

static bool check_request(const struct ibv_wc *wc, const struct vc_expected *expected, char *text,
			  size_t size)
{
	unsigned int flags = wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV);

	if (wc->opcode != vc_op_wc_opcode(expected->op))
		return differ(text, size, "opcode", vc_op_wc_opcode(expected->op), wc->opcode);
	if ((expected->op == VC_OP_READ || vc_op_is_atomic(expected->op)) &&
	    wc->byte_len != expected->length)
		return differ(text, size, "byte_len", expected->length, wc->byte_len);
	if (flags && !(flags == IBV_WC_WITH_IMM && vc_op_has_imm(expected->op)))
		return differ(text, size, "wc_flags", 0, wc->wc_flags);
	return true;
}

bool vc_completion_check(const struct ibv_wc *wc, const struct vc_expected *expected, char *text,
			 size_t size)
{
	if (wc->qp_num != expected->qp_num)
		return differ(text, size, "qp_num", expected->qp_num, wc->qp_num);
	if (wc->wr_id != expected->wr_id)
		return differ(text, size, "wr_id", expected->wr_id, wc->wr_id);
	if (wc->status != expected->status && wc->status != expected->quirk_status) {
		(void)snprintf(text, size,
			       "status: expected %d (%s), found %d (%s), vendor_err 0x%x",
			       (int)expected->status, ibv_wc_status_str(expected->status),
			       (int)wc->status, ibv_wc_status_str(wc->status), wc->vendor_err);
		return false;
	}
	if (wc->status != IBV_WC_SUCCESS)
		return true;
	return expected->receive ? check_receive(wc, expected, text, size)
				 : check_request(wc, expected, text, size);
}
