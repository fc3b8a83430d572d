/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One side running one program: posts what a phase allows, polls, and checks each completion as it
 * comes. Independent of the transport. Files: run.c (the loop, completions), post.c (work requests
 * from the program), event.c (completion channels).
 */
#ifndef VERBS_CHECK_RUN_H
#define VERBS_CHECK_RUN_H

#include <stdint.h>

#include "tools/verbs_check/arrival.h"
#include "tools/verbs_check/control.h"
#include "tools/verbs_check/endpoint.h"
#include "tools/verbs_check/memory.h"
#include "tools/verbs_check/program.h"
#include "tools/verbs_check/report.h"

/* Positions in a lane's lists; everything before them is posted, or done. */
struct vc_lane_run {
	uint32_t request_posted;
	uint32_t request_done;
	uint32_t receive_posted;
	uint32_t receive_done;
	uint32_t arrival_done; /* of the other side's requests, checked in memory */
};

/* Asynchronous events that have come; async.c. */
struct vc_async {
	uint32_t drained[VC_QP_MAX];
	uint32_t last_wqe[VC_QP_MAX];
	uint32_t access_errors[VC_QP_MAX];
	uint32_t request_errors[VC_QP_MAX];
	uint32_t limits[VC_QP_MAX]; /* by pool */
};

/* What is changed while requests run; vary.c. */
struct vc_vary {
	struct vc_draw draw; /* of this side alone */
	uint32_t countdown;
	uint32_t drain_qp;
	uint32_t drain_seen; /* its SQ_DRAINED events before */
	bool is_draining;
};

/* A CQ's notification. Armed after which an empty poll was seen: the next entry owes an event. */
enum vc_arm { VC_ARM_NONE, VC_ARM_MAYBE, VC_ARM_WATCHED };

struct vc_run {
	const struct vc_program *program;
	struct vc_endpoint *endpoint;
	struct vc_memory *memory;
	struct vc_control *control;
	struct vc_report *report;
	uint32_t side;
	uint32_t phase;
	unsigned int stall_s;
	struct vc_lane_run lanes[VC_QP_MAX];
	struct vc_device *device;
	union ibv_gid peer_gid;
	struct vc_arrivals arrivals;
	struct vc_async async;
	struct vc_vary vary;
	bool is_flushing; /* an open seed's QPs are in the error state */
	enum vc_arm arms[VC_CQ_MAX];
	bool owed[VC_CQ_MAX];
	bool quiet;		  /* the receive CQ of qp 0 is set aside for solicited events */
	uint64_t shared_seen[64]; /* bit per value that the shared cell's additions returned */
	uint64_t next_receive_ns;
	uint64_t idle_ns; /* when the present row of idle rounds began */
	uint32_t idle;	  /* rounds in which nothing was posted or polled */
};

uint64_t vc_now_ns(void);

/* Receives that are in place before the other side may send. */
enum vc_verdict vc_run_prepost(struct vc_run *run);
/* Until everything that the present phase awaits is done. */
enum vc_verdict vc_run_phase(struct vc_run *run);
/* Polls all CQs once; out_count is the number of completions. */
enum vc_verdict vc_run_poll(struct vc_run *run, uint32_t *out_count);
/* That no CQ holds anything. */
enum vc_verdict vc_run_check_empty(struct vc_run *run);

/* post.c: as much as the queues and the phase's limits take; out_count is the number posted. */
enum vc_verdict vc_run_post_requests(struct vc_run *run, uint32_t qp, uint32_t *out_count);
enum vc_verdict vc_run_post_receives(struct vc_run *run, uint32_t qp, uint32_t limit,
				     uint32_t *out_count);

/* wr_post.c: a list of requests by ibv_wr_*(). */
int vc_post_by_builder(struct ibv_qp_ex *qp, const struct ibv_send_wr *list, enum ibv_qp_type type);

/* arrival.c: an open seed's receive completions. */
enum vc_verdict vc_arrival_prepare(struct vc_run *run);
enum vc_verdict vc_arrival_take(struct vc_run *run, uint32_t cq, const struct ibv_wc *wc);
void vc_arrival_fini(struct vc_run *run);

/* grh.c */
struct vc_grh_place {
	uint32_t from;
	uint32_t lane;
	uint32_t pool;
	uint32_t index;
	uint32_t qp;
	bool is_group; /* set by vc_grh_check(): it was sent to the group */
};

/* Before a receive is posted: no byte that could be a header. */
void vc_grh_blank(const struct vc_run *run, const struct vc_receive *receive);
/* Whether the header at this place names that side as the sender; of one address, both. */
bool vc_grh_is_from(const struct vc_run *run, const struct vc_grh_place *place, uint32_t side);
enum vc_verdict vc_grh_check(struct vc_run *run, const struct ibv_wc *wc,
			     struct vc_grh_place *place);

/* That the header carries the traffic class of the sender's address handle. */
enum vc_verdict vc_grh_check_class(struct vc_run *run, const struct vc_grh_place *place,
				   uint8_t expected);

/* async.c: takes what has come, and checks that it may come. */
enum vc_verdict vc_async_take(struct vc_run *run);
/* Until a count is `expected`. */
enum vc_verdict vc_async_await(struct vc_run *run, const uint32_t *count, uint32_t expected,
			       const char *what);
/* What an error seed owes its responder, and that nothing else has come. */
enum vc_verdict vc_async_check_fault(struct vc_run *run);

/* SRQ_LIMIT of the shared queues that are to tell; all receives that it counts are posted. */
enum vc_verdict vc_limit_arm_all(struct vc_run *run);

/* vary.c: now and then, in the loop of a phase. */
enum vc_verdict vc_vary_step(struct vc_run *run);
/* Back to where everything runs. */
enum vc_verdict vc_vary_settle(struct vc_run *run);

/* event.c */
void vc_event_note_polled(struct vc_run *run, uint32_t cq, int got);
/* Arms the CQs, and if nothing has come sleeps until an event or `timeout_ms`. */
enum vc_verdict vc_event_wait(struct vc_run *run, int timeout_ms);
/* Takes the events that are owed, waiting for them. */
enum vc_verdict vc_event_settle(struct vc_run *run);
/* The receive CQ of qp 0: armed for solicited completions only, and whether its event has come. */
enum vc_verdict vc_event_arm_solicited(struct vc_run *run);
enum vc_verdict vc_event_expect(struct vc_run *run, bool expected);

#endif
