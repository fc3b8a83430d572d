/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fault table as functions, and what Linux Soft-RoCE is known to report instead. Called when a
 * program is drawn (expected statuses) and when a failure is reported (names).
 */
#include "tools/verbs_check/fault.h"

#include <stdio.h>
#include <string.h>

const char *vc_fault_str(enum vc_fault fault)
{
	switch (fault) {
#define VC_FAULT_CASE(id, name, requester, responder, fate) \
	case VC_FAULT_##id:                                 \
		return name;
		VC_FAULTS(VC_FAULT_CASE)
#undef VC_FAULT_CASE
	}
	return "?";
}

enum ibv_wc_status vc_fault_requester_status(enum vc_fault fault)
{
	static const enum ibv_wc_status statuses[] = {
#define VC_FAULT_REQUESTER(id, name, requester, responder, fate) IBV_WC_##requester,
		VC_FAULTS(VC_FAULT_REQUESTER)
#undef VC_FAULT_REQUESTER
	};

	return statuses[fault];
}

enum ibv_wc_status vc_fault_responder_status(enum vc_fault fault)
{
	static const enum ibv_wc_status statuses[] = {
#define VC_FAULT_RESPONDER(id, name, requester, responder, fate) IBV_WC_##responder,
		VC_FAULTS(VC_FAULT_RESPONDER)
#undef VC_FAULT_RESPONDER
	};

	return statuses[fault];
}

enum ibv_wc_status vc_fault_requester_quirk(enum vc_fault fault, uint32_t own, uint32_t peer)
{
	if ((own & VC_QUIRK_RXE) && fault == VC_FAULT_BAD_LKEY)
		return IBV_WC_LOC_QP_OP_ERR;
	/* Linux 6.1 does not compare lengths first, and then fails to copy. */
	if ((peer & VC_QUIRK_RXE) && fault == VC_FAULT_SHORT_RECEIVE)
		return IBV_WC_REM_OP_ERR;
	return vc_fault_requester_status(fault);
}

enum ibv_wc_status vc_fault_responder_quirk(enum vc_fault fault, uint32_t own)
{
	if ((own & VC_QUIRK_RXE) &&
	    (fault == VC_FAULT_SHORT_RECEIVE || fault == VC_FAULT_RECEIVE_LKEY))
		return IBV_WC_LOC_QP_OP_ERR;
	return vc_fault_responder_status(fault);
}

enum vc_fate vc_fault_fate(enum vc_fault fault)
{
	static const enum vc_fate fates[] = {
#define VC_FAULT_FATE(id, name, requester, responder, fate) VC_FATE_##fate,
		VC_FAULTS(VC_FAULT_FATE)
#undef VC_FAULT_FATE
	};

	return fates[fault];
}

void vc_fault_describe(enum vc_fault fault, char *out, size_t size)
{
	static const struct {
		const char *requester;
		const char *responder;
		const char *fate;
	} names[] = {
#define VC_FAULT_NAMES(id, name, requester, responder, fate) {#requester, #responder, #fate},
		VC_FAULTS(VC_FAULT_NAMES)
#undef VC_FAULT_NAMES
	};
	bool has_receive = vc_fault_responder_status(fault) != IBV_WC_SUCCESS;

	(void)snprintf(out, size, "request %s, receive %s, responder %s", names[fault].requester,
		       has_receive ? names[fault].responder : "-", names[fault].fate);
}

bool vc_quirks_parse(const char *name, uint32_t *out_quirks)
{
	if (strcmp(name, "none") == 0)
		*out_quirks = 0;
	else if (strcmp(name, "rxe") == 0)
		*out_quirks = VC_QUIRK_RXE;
	else
		return false;
	return true;
}
