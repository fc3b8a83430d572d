/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of scenarios, one row each, and how a row becomes a program. What a row needs of the
 * devices is said in it; a scenario that two devices cannot run is skipped with the reason.
 */
#include "tools/verbs_check/scenario.h"

#include <stdio.h>
#include <string.h>

#include "tools/verbs_check/scenario_write.h"

#define OP(op)	    (1u << VC_OP_##op)
#define FEATURE(id) (1u << VC_FEATURE_##id)
#define OPS_SEND    (OP(SEND) | OP(SEND_IMM))
#define OPS_WRITE   (OP(WRITE) | OP(WRITE_IMM))
#define OPS_UC	    (OPS_SEND | OPS_WRITE)
#define OPS_RC	    (OPS_UC | OP(READ))
#define OPS_ATOMIC  (OP(CMP_SWAP) | OP(FETCH_ADD))

#define RC	    VC_TRANSPORT_RC
#define UC	    VC_TRANSPORT_UC
#define UD	    VC_TRANSPORT_UD

#define PLAIN(transport, name, what, ops, needs, plan)                    \
	{                                                                 \
		name, what, transport, VC_FAULT_NONE, ops, needs, 0, plan \
	}
#define USING(transport, name, what, ops, feature, plan)                             \
	{                                                                            \
		name, what, transport, VC_FAULT_NONE, ops, 0, FEATURE(feature), plan \
	}
#define FAULT(name, what, fault, ops, needs)                                   \
	{                                                                      \
		name, what, RC, VC_FAULT_##fault, ops, needs, 0, vc_plan_fault \
	}
#define WINDOW1_FAULT(name, what, fault)                                                     \
	{                                                                                    \
		name, what, RC, VC_FAULT_##fault, OPS_RC, 0, FEATURE(WINDOW1), vc_plan_fault \
	}

static const struct vc_scenario scenarios[] = {
	PLAIN(RC, "rc/send", "lengths around the MTU", OP(SEND), 0, vc_plan_sizes),
	PLAIN(RC, "rc/send-imm", "with immediate data", OP(SEND_IMM), 0, vc_plan_sizes),
	PLAIN(RC, "rc/send-inv", "each ends a memory window", OP(SEND_INV), VC_NEEDS_WINDOW2,
	      vc_plan_invalidate),
	PLAIN(RC, "rc/write", "lengths around the MTU", OP(WRITE), 0, vc_plan_sizes),
	PLAIN(RC, "rc/write-imm", "with immediate data", OP(WRITE_IMM), 0, vc_plan_sizes),
	PLAIN(RC, "rc/read", "lengths around the MTU", OP(READ), 0, vc_plan_sizes),
	PLAIN(RC, "rc/cmp-swap", "equal and unequal values", OP(CMP_SWAP), VC_NEEDS_ATOMICS,
	      vc_plan_sizes),
	PLAIN(RC, "rc/fetch-add", "sums modulo 2^64", OP(FETCH_ADD), VC_NEEDS_ATOMICS,
	      vc_plan_sizes),
	PLAIN(RC, "rc/atomic-write", "eight bytes at once", OP(ATOMIC_WRITE), VC_NEEDS_ATOMIC_WRITE,
	      vc_plan_sizes),
	PLAIN(RC, "rc/long", "the longest message", OP(SEND) | OP(WRITE) | OP(READ), 0,
	      vc_plan_long),
	PLAIN(RC, "rc/zero-length", "messages of no bytes", OPS_RC, 0, vc_plan_zero),
	PLAIN(RC, "rc/unaligned", "odd addresses on both sides", OPS_RC, 0, vc_plan_unaligned),
	PLAIN(RC, "rc/page-crossing", "memory across the ends of pages", OPS_RC, 0, vc_plan_pages),
	PLAIN(RC, "rc/sge-list", "2 to 16 pieces, empty ones among them", OPS_RC, 0, vc_plan_lists),
	PLAIN(RC, "rc/inline", "sources overwritten after the post", OPS_UC, 0, vc_plan_inline),
	PLAIN(RC, "rc/chain", "lists of requests, the last one signalled", OPS_RC, 0,
	      vc_plan_chains),
	PLAIN(RC, "rc/fence", "a SEND or WRITE of what a READ fetches", OPS_RC, 0, vc_plan_fence),
	PLAIN(RC, "rc/both-ways", "both sides request at once", OPS_RC, 0, vc_plan_both_ways),
	PLAIN(RC, "rc/psn-wrap", "PSNs wrap within messages", OPS_RC, 0, vc_plan_psn_wrap),
	PLAIN(RC, "rc/psn-wrap-atomic", "PSNs wrap between atomics", OPS_ATOMIC, VC_NEEDS_ATOMICS,
	      vc_plan_psn_wrap),
	PLAIN(RC, "rc/reads-outstanding", "16 READs under way", OP(READ), VC_NEEDS_16_READS,
	      vc_plan_outstanding),
	PLAIN(RC, "rc/atomics-outstanding", "16 atomics under way", OPS_ATOMIC,
	      VC_NEEDS_16_READS | VC_NEEDS_ATOMICS, vc_plan_outstanding),
	PLAIN(RC, "rc/mixed-outstanding", "16 READs and atomics under way", OP(READ) | OPS_ATOMIC,
	      VC_NEEDS_16_READS | VC_NEEDS_ATOMICS, vc_plan_outstanding),
	USING(RC, "rc/shared-receives", "two QPs, one receive queue", OPS_SEND, SRQ,
	      vc_plan_shared_receives),
	USING(RC, "rc/window-type-1", "through a window bound by ibv_bind_mw()",
	      OPS_WRITE | OP(READ), WINDOW1, vc_plan_window),
	PLAIN(RC, "rc/window-type-2", "through a window bound by a request", OPS_WRITE | OP(READ),
	      VC_NEEDS_WINDOW2, vc_plan_window),
	PLAIN(RC, "rc/rnr-recovery", "receives posted late", OPS_UC, 0, vc_plan_late_receives),
	FAULT("rc/rnr-exhausted", "no receive is ever posted", NO_RECEIVE, OPS_SEND, 0),
	FAULT("rc/bad-rkey-write", "unknown rkey", BAD_RKEY, OP(WRITE), 0),
	FAULT("rc/bad-rkey-read", "unknown rkey", BAD_RKEY, OP(READ), 0),
	FAULT("rc/bad-rkey-atomic", "unknown rkey", BAD_RKEY, OPS_ATOMIC, VC_NEEDS_ATOMICS),
	FAULT("rc/out-of-bounds-write", "one byte beside the region", BOUNDS, OP(WRITE), 0),
	FAULT("rc/out-of-bounds-read", "one byte beside the region", BOUNDS, OP(READ), 0),
	FAULT("rc/no-access-write", "region without remote write", MR_ACCESS, OP(WRITE), 0),
	FAULT("rc/no-access-read", "region without remote read", MR_ACCESS, OP(READ), 0),
	FAULT("rc/no-access-atomic", "region without remote atomic", MR_ACCESS, OPS_ATOMIC,
	      VC_NEEDS_ATOMICS),
	FAULT("rc/qp-no-write", "QP without remote write", QP_ACCESS, OP(WRITE), 0),
	FAULT("rc/qp-no-read", "QP without remote read", QP_ACCESS, OP(READ), 0),
	FAULT("rc/qp-no-atomic", "QP without remote atomic", QP_ACCESS, OPS_ATOMIC,
	      VC_NEEDS_ATOMICS),
	FAULT("rc/other-pd", "region of another protection domain", OTHER_PD, OPS_RC, 0),
	FAULT("rc/deregistered", "region that is gone", DEREGISTERED, OPS_RC, 0),
	FAULT("rc/misaligned-atomic", "address not a multiple of 8", MISALIGNED, OPS_ATOMIC,
	      VC_NEEDS_ATOMICS | VC_NEEDS_MISALIGNED),
	FAULT("rc/short-receive", "message longer than the receive", SHORT_RECEIVE, OPS_SEND, 0),
	FAULT("rc/receive-bad-lkey", "receive with an unknown lkey", RECEIVE_LKEY, OPS_SEND, 0),
	FAULT("rc/bad-lkey", "request with an unknown lkey", BAD_LKEY, OPS_UC, 0),
	FAULT("rc/read-to-read-only", "READ into a region without local write", LKEY_ACCESS,
	      OP(READ), 0),
	FAULT("rc/peer-in-error", "peer's QP in the error state", PEER_ERR, OPS_RC, 0),
	FAULT("rc/peer-reset", "peer's QP in RESET", PEER_RESET, OPS_RC, 0),
	FAULT("rc/own-qp-in-error", "own QP moved to the error state", LOCAL_ERR, OPS_SEND, 0),
	FAULT("rc/remote-invalidated", "window ended by a SEND", INVALIDATED, OPS_RC,
	      VC_NEEDS_WINDOW2),
	FAULT("rc/local-invalidated", "window ended by its owner's LOCAL_INV", WINDOW_LOCAL_INV,
	      OPS_RC, VC_NEEDS_WINDOW2),
	FAULT("rc/window-freed", "window that is gone", WINDOW_FREED, OPS_RC, VC_NEEDS_WINDOW2),
	WINDOW1_FAULT("rc/window-rebound", "old key of a window bound anew", WINDOW_REBOUND),
	WINDOW1_FAULT("rc/window-unbound", "window bound to nothing", WINDOW_UNBOUND),

	PLAIN(UC, "uc/send", "lengths around the MTU", OP(SEND), 0, vc_plan_sizes),
	PLAIN(UC, "uc/send-imm", "with immediate data", OP(SEND_IMM), 0, vc_plan_sizes),
	PLAIN(UC, "uc/write", "lengths around the MTU", OP(WRITE), 0, vc_plan_sizes),
	PLAIN(UC, "uc/write-imm", "with immediate data", OP(WRITE_IMM), 0, vc_plan_sizes),
	PLAIN(UC, "uc/zero-length", "messages of no bytes", OPS_UC, 0, vc_plan_zero),
	PLAIN(UC, "uc/unaligned", "odd addresses on both sides", OPS_UC, 0, vc_plan_unaligned),
	PLAIN(UC, "uc/page-crossing", "memory across the ends of pages", OPS_UC, 0, vc_plan_pages),
	PLAIN(UC, "uc/sge-list", "lists of pieces, empty ones among them", OPS_UC, 0,
	      vc_plan_lists),
	PLAIN(UC, "uc/inline", "sources overwritten after the post", OPS_UC, 0, vc_plan_inline),
	PLAIN(UC, "uc/chain", "lists of requests, the last one signalled", OPS_UC, 0,
	      vc_plan_chains),
	PLAIN(UC, "uc/both-ways", "both sides request at once", OPS_UC, 0, vc_plan_both_ways),
	PLAIN(UC, "uc/psn-wrap", "PSNs wrap within messages", OPS_UC, 0, vc_plan_psn_wrap),
	PLAIN(UC, "uc/no-receive", "lost; the next one comes", OPS_SEND, 0, vc_plan_no_receive),
	PLAIN(UC, "uc/short-receive", "lost; the next one takes the receive", OPS_SEND, 0,
	      vc_plan_short_receive),
	PLAIN(UC, "uc/bad-rkey", "lost, and no byte written; the next one comes", OPS_WRITE, 0,
	      vc_plan_bad_rkey),

	PLAIN(UD, "ud/send", "lengths up to the MTU", OP(SEND), 0, vc_plan_sizes),
	PLAIN(UD, "ud/send-imm", "with immediate data", OP(SEND_IMM), 0, vc_plan_sizes),
	PLAIN(UD, "ud/zero-length", "messages of no bytes", OPS_SEND, 0, vc_plan_zero),
	PLAIN(UD, "ud/unaligned", "odd addresses on both sides", OPS_SEND, 0, vc_plan_unaligned),
	PLAIN(UD, "ud/page-crossing", "memory across the ends of pages", OPS_SEND, 0,
	      vc_plan_pages),
	PLAIN(UD, "ud/sge-list", "lists of pieces, empty ones among them", OPS_SEND, 0,
	      vc_plan_lists),
	PLAIN(UD, "ud/inline", "sources overwritten after the post", OPS_SEND, 0, vc_plan_inline),
	PLAIN(UD, "ud/chain", "lists of requests, the last one signalled", OPS_SEND, 0,
	      vc_plan_chains),
	PLAIN(UD, "ud/both-ways", "both sides request at once", OPS_SEND, 0, vc_plan_both_ways),
	PLAIN(UD, "ud/psn-wrap", "PSNs wrap", OPS_SEND, 0, vc_plan_psn_wrap),
	PLAIN(UD, "ud/no-receive", "lost; the next one comes", OPS_SEND, 0, vc_plan_no_receive),
	PLAIN(UD, "ud/short-receive", "lost; the next one takes the receive", OPS_SEND, 0,
	      vc_plan_short_receive),
	USING(UD, "ud/wrong-qkey", "lost; the next one comes", OPS_SEND, BAD_QKEY,
	      vc_plan_wrong_qkey),
	USING(UD, "ud/oversize", "longer than the MTU: nothing is sent", OP(SEND), OVERSIZE,
	      vc_plan_sizes),
	USING(UD, "ud/reply", "by an address handle made of a completion", OPS_SEND, REPLY,
	      vc_plan_replies),
	USING(UD, "ud/multicast", "two members each get a copy", OPS_SEND, MULTICAST,
	      vc_plan_multicast),
};

enum { COUNT = sizeof(scenarios) / sizeof(scenarios[0]) };

_Static_assert(COUNT <= 64 * VC_SCENARIO_WORDS, "a set of scenarios has a bit for each");

const struct vc_scenario *vc_scenario_at(uint32_t index)
{
	return index < COUNT ? &scenarios[index] : NULL;
}

/* Itself, its transport, or all. */
static bool is_named(const struct vc_scenario *scenario, const char *name, size_t length)
{
	if (length == 3 && memcmp(name, "all", 3) == 0)
		return true;
	return strncmp(scenario->name, name, length) == 0 &&
	       (scenario->name[length] == '\0' || scenario->name[length] == '/');
}

static bool add_named(struct vc_scenario_set *set, const char *name, size_t length)
{
	bool found = false;

	for (uint32_t i = 0; length && i < COUNT; i++) {
		if (!is_named(&scenarios[i], name, length))
			continue;
		set->words[i / 64] |= 1ull << i % 64;
		found = true;
	}
	return found;
}

bool vc_scenarios_parse(const char *list, struct vc_scenario_set *out_set, char *out_bad,
			size_t out_bad_size)
{
	struct vc_scenario_set set = {0};

	for (;;) {
		size_t length = strcspn(list, ",");

		if (!add_named(&set, list, length)) {
			(void)snprintf(out_bad, out_bad_size, "%.*s", (int)length, list);
			return false;
		}
		if (!list[length])
			break;
		list += length + 1;
	}
	*out_set = set;
	return true;
}

void vc_scenarios_list(void)
{
	char owed[96];

	for (uint32_t i = 0; i < COUNT; i++) {
		printf("%-24s %s", scenarios[i].name, scenarios[i].what);
		if (scenarios[i].fault != VC_FAULT_NONE) {
			vc_fault_describe(scenarios[i].fault, owed, sizeof(owed));
			printf(": %s", owed);
		}
		putchar('\n');
	}
}

const char *vc_scenario_refusal(const struct vc_scenario *scenario, const struct vc_limits *limits)
{
	if (!vc_mask_has(limits->transports, scenario->transport))
		return "the transport is not offered, or not asked for";
	if ((scenario->needs & VC_NEEDS_WINDOW2) && !limits->windows)
		return "no memory windows of type 2";
	if ((scenario->needs & VC_NEEDS_ATOMICS) && !limits->atomics)
		return "no atomics";
	if ((scenario->needs & VC_NEEDS_ATOMIC_WRITE) && !limits->atomic_write)
		return "no ATOMIC WRITE";
	if ((scenario->needs & VC_NEEDS_16_READS) && limits->rd_atomic_max < 16)
		return "no 16 READs at a time";
	if ((scenario->needs & VC_NEEDS_MISALIGNED) && (limits->quirks[VC_CLIENT] & VC_QUIRK_RXE))
		return "the requester's library refuses to post one";
	for (uint32_t f = 0; f < VC_FEATURE_COUNT; f++)
		if (vc_mask_has(scenario->features, f) && !vc_mask_has(limits->features, f))
			return "a device does not offer what it uses, or it is not asked for";
	return NULL;
}

void vc_scenario_write(struct vc_program *program, const struct vc_limits *limits,
		       const struct vc_scenario *scenario, uint64_t seed)
{
	vc_program_reset(program, limits, seed);
	program->transport = scenario->transport;
	program->features = scenario->features | (limits->features & FEATURE(ASYNC));
	program->is_open = false;
	program->all_arrive = true;
	program->window_type = vc_mask_has(scenario->features, VC_FEATURE_WINDOW1) ? 1 : 2;
	program->mtu = (enum ibv_mtu)limits->mtu_max;
	program->requester = VC_CLIENT;
	program->solicited = false;
	scenario->write(program, scenario);
	vc_program_settle(program);
}
