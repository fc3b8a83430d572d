/* SPDX-License-Identifier: BSD-2-Clause */
/* An open seed being run; open_run.c builds and drives it, open_check.c judges what comes. */
#ifndef TESTS_SIM_OPEN_RUN_H
#define TESTS_SIM_OPEN_RUN_H

#include "open_plan.h"

struct open_taken {
	bool is_done;
	bool is_filled;
	uint32_t conn; /* of the peer */
	uint32_t op;
};

struct open_host {
	struct sim_qp *qps[OPEN_CONNS_MAX];
	struct sim_qp *targets[OPEN_CONNS_MAX]; /* XRC */
	struct sim_srq *srqs[OPEN_CONNS_MAX];
	struct roce_mr *sources[OPEN_CONNS_MAX];
	struct roce_mr *target_mrs[OPEN_CONNS_MAX]; /* for the peer's flow */
	struct roce_mr *landings[OPEN_CONNS_MAX];
	uint32_t good_keys[OPEN_CONNS_MAX]; /* of windows over the targets */
	uint32_t void_keys[OPEN_CONNS_MAX];
	uint32_t posted[OPEN_CONNS_MAX];
	uint32_t completed[OPEN_CONNS_MAX];
	uint32_t recv_posted[OPEN_CONNS_MAX]; /* by pool */
	uint32_t recv_done[OPEN_CONNS_MAX];
	struct open_taken taken[OPEN_CONNS_MAX][OPEN_RECVS_MAX];
	uint32_t cursors[OPEN_CONNS_MAX][OPEN_CONNS_MAX]; /* by the peer's flow and pool */
	bool seen[OPEN_CONNS_MAX][OPEN_OPS_MAX];	  /* of the peer's */
};

struct open_run {
	struct open_plan *plan;
	struct sim_pair pair;
	struct open_host hosts[2];
	struct roce_prng prng;
	bool is_traced;
	bool is_failed;
	char failure[256];
	uint64_t hash;
	uint64_t message_count; /* that came */
};

/* True when nothing was wrong; else run->failure says what. */
bool open_run_plan(struct open_run *run, struct open_plan *plan, bool is_traced);
void open_run_fini(struct open_run *run);

void open_run_fail(struct open_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- open_check.c ---- */

/* A receive completion of `host`. */
void open_on_recv(struct open_run *run, unsigned int host, const struct roce_cqe *cqe);
/* Every byte of both arenas, and what a reliable transport owes. */
void open_check_end(struct open_run *run);

#endif
