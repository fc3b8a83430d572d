/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ways in which an error seed goes wrong, one row each: the status that the requester must see,
 * the status that the responder's receive must end with (SUCCESS: no receive is involved), and what
 * becomes of the responder's QP. Devices that are known to answer otherwise are listed as quirks;
 * a quirk applies only when the user names it.
 */
#ifndef VERBS_CHECK_FAULT_H
#define VERBS_CHECK_FAULT_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the fault leaves of the responder's QP without anybody calling ibv_modify_qp. */
enum vc_fate {
	VC_FATE_ERROR, /* NAK sent, or moved by the script: ERR */
	VC_FATE_ALIVE, /* it noticed nothing: RTS */
	VC_FATE_RESET, /* moved to RESET by the script */
};

#define VC_FAULTS(X)                                                                           \
	X(NONE, "none", SUCCESS, SUCCESS, ALIVE)                                               \
	X(BAD_RKEY, "unknown rkey", REM_ACCESS_ERR, SUCCESS, ERROR)                            \
	X(BOUNDS, "one byte out of bounds", REM_ACCESS_ERR, SUCCESS, ERROR)                    \
	X(MR_ACCESS, "region without the remote access flag", REM_ACCESS_ERR, SUCCESS, ERROR)  \
	X(OTHER_PD, "region of another protection domain", REM_ACCESS_ERR, SUCCESS, ERROR)     \
	X(DEREGISTERED, "deregistered region", REM_ACCESS_ERR, SUCCESS, ERROR)                 \
	X(INVALIDATED, "invalidated memory window", REM_ACCESS_ERR, SUCCESS, ERROR)            \
	X(WINDOW_LOCAL_INV, "window invalidated by its owner", REM_ACCESS_ERR, SUCCESS, ERROR) \
	X(WINDOW_FREED, "freed memory window", REM_ACCESS_ERR, SUCCESS, ERROR)                 \
	X(WINDOW_REBOUND, "old key of a window bound anew", REM_ACCESS_ERR, SUCCESS, ERROR)    \
	X(WINDOW_UNBOUND, "window bound to nothing", REM_ACCESS_ERR, SUCCESS, ERROR)           \
	X(QP_ACCESS, "QP without the remote access flag", REM_INV_REQ_ERR, SUCCESS, ERROR)     \
	X(MISALIGNED, "misaligned atomic", REM_INV_REQ_ERR, SUCCESS, ERROR)                    \
	X(SHORT_RECEIVE, "receive too small", REM_INV_REQ_ERR, LOC_LEN_ERR, ERROR)             \
	X(RECEIVE_LKEY, "receive with an unknown lkey", REM_OP_ERR, LOC_PROT_ERR, ERROR)       \
	X(BAD_LKEY, "unknown lkey", LOC_PROT_ERR, SUCCESS, ALIVE)                              \
	X(LKEY_ACCESS, "read into a region without local write", LOC_PROT_ERR, SUCCESS, ALIVE) \
	X(NO_RECEIVE, "receiver never ready", RNR_RETRY_EXC_ERR, SUCCESS, ALIVE)               \
	X(PEER_ERR, "peer in the error state", RETRY_EXC_ERR, SUCCESS, ERROR)                  \
	X(PEER_RESET, "peer reset", RETRY_EXC_ERR, SUCCESS, RESET)                             \
	X(LOCAL_ERR, "own QP moved to the error state", WR_FLUSH_ERR, SUCCESS, ALIVE)

enum vc_fault {
#define VC_FAULT_ENUM(id, name, requester, responder, fate) VC_FAULT_##id,
	VC_FAULTS(VC_FAULT_ENUM)
#undef VC_FAULT_ENUM
};

enum { VC_FAULT_COUNT = VC_FAULT_LOCAL_ERR + 1 };

/* Known deviations of a device, as a set of bits; 0 is a device that does as it should. */
#define VC_QUIRK_RXE 1u

/* A memory window's key that opens nothing any more. */
static inline bool vc_fault_is_window(enum vc_fault fault)
{
	return fault == VC_FAULT_INVALIDATED || fault == VC_FAULT_WINDOW_LOCAL_INV ||
	       fault == VC_FAULT_WINDOW_FREED || fault == VC_FAULT_WINDOW_REBOUND ||
	       fault == VC_FAULT_WINDOW_UNBOUND;
}

const char *vc_fault_str(enum vc_fault fault);
enum ibv_wc_status vc_fault_requester_status(enum vc_fault fault);
enum ibv_wc_status vc_fault_responder_status(enum vc_fault fault);
/* The same, but for what the quirks allow instead; quirks of the requester and the responder. */
enum ibv_wc_status vc_fault_requester_quirk(enum vc_fault fault, uint32_t own, uint32_t peer);
enum ibv_wc_status vc_fault_responder_quirk(enum vc_fault fault, uint32_t own);
enum vc_fate vc_fault_fate(enum vc_fault fault);
/* "request REM_INV_REQ_ERR, receive LOC_LEN_ERR, responder ERROR": the row, by the names of verbs;
 * "receive -" where none is involved. */
void vc_fault_describe(enum vc_fault fault, char *out, size_t size);

/* False for a name that is no quirk list. */
bool vc_quirks_parse(const char *name, uint32_t *out_quirks);

#endif
