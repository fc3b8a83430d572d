/* SPDX-License-Identifier: BSD-2-Clause */
/* What the plans of scenarios are written with; scenario_write.c. */
#ifndef VERBS_CHECK_SCENARIO_WRITE_H
#define VERBS_CHECK_SCENARIO_WRITE_H

#include "tools/verbs_check/scenario.h"

enum {
	VC_SERVER = 0,
	VC_CLIENT = 1,
	VC_SIZES_MAX = 16,
	VC_ANYWHERE = -1,
};

/* Where a request's memory lies, and how it is posted. */
struct vc_form {
	int local_at;  /* within a page of 4096 bytes, or VC_ANYWHERE; its receive lies likewise */
	int remote_at; /* the same, of a WRITE's target or a READ's source */
	uint32_t pieces; /* of the scatter/gather lists, on both sides; 0 counts as 1 */
	uint32_t flags;	 /* VC_INLINE, VC_FENCE, VC_CHAINED, VC_LOST, ... */
	bool is_silent;	 /* not signalled */
	bool by_window;	 /* through window 0 of the other side's lane */
};

#define VC_FORM_PLAIN ((struct vc_form){.local_at = VC_ANYWHERE, .remote_at = VC_ANYWHERE})

/* Regions, queues, PSNs: all as wide as the devices allow. */
void vc_scenario_begin(struct vc_program *program, const struct vc_scenario *scenario,
		       uint32_t qp_count);
/* A request and, unless it is lost, the receive that it takes. */
struct vc_request *vc_scenario_add(struct vc_program *program, uint32_t side, uint32_t qp,
				   enum vc_op op, uint32_t length, const struct vc_form *form);
/* Sends on what an earlier READ fetches, behind a fence. */
struct vc_request *vc_scenario_forward(struct vc_program *program, uint32_t qp, enum vc_op op,
				       uint32_t read);
/* Everything that the lanes hold by now is posted, and completes, in this phase. */
void vc_scenario_close_phase(struct vc_program *program, uint32_t phase);
/* Depths of queues and CQs. After the last phase. */
void vc_scenario_finish(struct vc_program *program);
/* Memory of a side's lane that is opened by window `w`. */
void vc_scenario_open_window(struct vc_program *program, uint32_t side, uint32_t qp,
			     uint32_t length);

/* Lengths around the path MTU, as long as the transport takes; returns their number. */
uint32_t vc_scenario_sizes(const struct vc_program *program, uint32_t sizes[VC_SIZES_MAX]);

/* scenario_plans.c: what any transport can do. */
void vc_plan_sizes(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_zero(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_unaligned(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_pages(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_lists(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_inline(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_chains(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_both_ways(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_psn_wrap(struct vc_program *program, const struct vc_scenario *scenario);

/* scenario_reliable.c */
void vc_plan_long(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_fence(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_outstanding(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_late_receives(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_window(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_invalidate(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_shared_receives(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_fault(struct vc_program *program, const struct vc_scenario *scenario);

/* scenario_unreliable.c */
void vc_plan_no_receive(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_short_receive(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_bad_rkey(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_wrong_qkey(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_replies(struct vc_program *program, const struct vc_scenario *scenario);
void vc_plan_multicast(struct vc_program *program, const struct vc_scenario *scenario);

#endif
