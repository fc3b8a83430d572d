/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One seed being run: the pair, the flows, the model of both memories, the check of the wire, and
 * the hash of all that happened. The first thing found wrong is kept as text and ends the run.
 */
#ifndef TESTS_SIM_RUN_H
#define TESTS_SIM_RUN_H

#include "pair.h"
#include "plan.h"
#include "wire_check.h"

struct sim_run;

/* A direction of a connection in motion; see plan.h. */
struct sim_flow {
	struct sim_run *run;
	struct sim_flow_plan *plan;
	uint32_t conn;
	struct sim_qp *qp;   /* requester's */
	struct sim_qp *peer; /* responder's */
	struct roce_mr *source;
	struct roce_mr *sink;
	struct roce_mr *target;
	struct roce_mr *landing;
	struct roce_mr *windows[SIM_OPS_MAX]; /* by request: what its SEND invalidates, what it
						 binds, or NULL */
	struct roce_mem_bind bind;	      /* of the request being posted */
	uint32_t bound_keys[SIM_OPS_MAX];     /* by request: key that its bind gives */
	struct roce_event post_event;
	struct roce_event recv_event;
	struct roce_prng prng;

	uint32_t posted;    /* requests handed in */
	uint32_t completed; /* requests whose end is known from a CQE of theirs or a later one */
	uint32_t succeeded; /* requests known to have succeeded, all from 0 */
	uint32_t failed_at; /* index of the first that failed, SIM_NO_OP */
	uint32_t applied;   /* requests whose effect is in the model */
	uint32_t unsignaled_run;
	uint32_t recv_posted;
	uint32_t recv_polled;
	bool is_recv_failed;
};

struct sim_run {
	struct sim_plan *plan;
	struct sim_pair pair;
	struct sim_flow flows[SIM_CONNS_MAX][2];
	struct sim_wire wires[SIM_CONNS_MAX][2];
	uint8_t *images[2]; /* what the arenas must hold */
	struct roce_event poll_events[2];
	uint32_t idle_polls[2]; /* in a row; the clock of polling slows down with them */
	struct roce_event down_event;
	struct roce_prng prng;
	bool is_traced;
	bool is_failed;
	char failure[256];
	uint64_t hash;
	uint64_t expected_placed[2]; /* bytes that requests and responses place, when all succeed */
	uint64_t expected_atomics[2];
};

/* Runs a plan. True when nothing was wrong; else run->failure says what. `run` is zeroed or used
 * before; sim_run_fini() frees what the run holds. */
bool sim_run_plan(struct sim_run *run, struct sim_plan *plan, bool is_traced);
void sim_run_fini(struct sim_run *run);

void sim_run_fail(struct sim_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void sim_run_mix(struct sim_run *run, uint64_t value);
void sim_run_trace(struct sim_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- flow.c ---- */

void sim_flow_init(struct sim_flow *flow, struct sim_run *run, uint32_t conn, unsigned int from);
void sim_flow_start(struct sim_flow *flow);
/* A completion of the requester's or the responder's QP. */
void sim_flow_on_send_cqe(struct sim_flow *flow, const struct roce_cqe *cqe);
void sim_flow_on_recv_cqe(struct sim_flow *flow, const struct roce_cqe *cqe);
/* Room for more: after polling. */
void sim_flow_post(struct sim_flow *flow);
void sim_flow_post_recvs(struct sim_flow *flow);
/* All requests have ended. */
bool sim_flow_is_sent(const struct sim_flow *flow);
/* The peer binds what SENDs will invalidate; both QPs are connected. */
void sim_flow_bind_windows(struct sim_flow *flow);
/* Receives that were posted and will still complete: what a dead QP leaves in its SRQ will not. */
uint32_t sim_flow_recvs_due(const struct sim_flow *flow);
/* All receives of the plan have ended, or the SRQ keeps them. */
bool sim_flow_is_received(const struct sim_flow *flow);

/* ---- model.c ---- */

/* Brings the model up to and including request `op`. */
void sim_model_apply(struct sim_flow *flow, uint32_t op);
/* Memory against model, where an executed request has put something. */
void sim_model_check_recv(struct sim_flow *flow, uint32_t recv);
void sim_model_check_fetch(struct sim_flow *flow, uint32_t op);
void sim_model_check_target(struct sim_flow *flow, uint32_t op);
/* Both arenas, every byte: equal to the model, but where requests that failed may have got to. */
void sim_model_check_all(struct sim_run *run);

#endif
