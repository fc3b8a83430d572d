/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small program that notices: each trial does something by verbs on the loopback device of a
 * network namespace of its own and complains about what is not as it must be. With a fault planted
 * the trial for it complains, without it does not (faults_test.py).
 */
#ifndef ROCE_TESTS_VERIFY_FAULTS_PROBE_H
#define ROCE_TESTS_VERIFY_FAULTS_PROBE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#define PROBE_BYTES    65536u
#define PROBE_MESSAGES 8u
#define PROBE_WAIT_MS  5000 /* for what must come; see probe_patience_ms() */
#define PROBE_QUIET_MS 60   /* for what must not */
#define PROBE_POLLS    1000 /* at least, however short the time and slow the machine */
#define PROBE_QKEY     0x1234u
#define PROBE_RIGHTS                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC)

/* "complaint: what, figure"; the trial goes on. */
void complain(const char *what, uint64_t figure);
/* Ends the program: something that is no planted fault stands in the way. */
void need(bool is_right, const char *what);
/* A figure for the test to compare. */
void measure(const char *what, double figure);
/* Processor time of this thread. */
double cpu_us(void);

/* One side: a queue pair with a completion queue, a channel and memory of its own. */
struct side {
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_srq *srq; /* NULL: none */
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *mem; /* PROBE_BYTES */
};

struct ends {
	struct ibv_context *context;
	struct ibv_pd *pd;
	union ibv_gid gid;
	struct side a; /* asks */
	struct side b; /* answers */
};

struct ends_options {
	enum ibv_qp_type type;
	int b_access; /* of b's region and its queue pair */
	int b_qp_access;
	uint32_t b_limit;     /* > 0: b has a shared receive queue with that limit */
	bool is_peer_missing; /* a is connected to a number that nobody has */
};

/* What most trials want. */
struct ends_options ends_rc(void);
void ends_open(struct ends *e, const struct ends_options *options);
void ends_close(struct ends *e);
/* An open device, and its GID 0. */
struct ibv_context *ends_open_device(union ibv_gid *out_gid);
struct ibv_qp *ends_make_qp(struct ibv_pd *pd, struct ibv_cq *cq, enum ibv_qp_type type,
			    struct ibv_srq *srq);
/* RESET to INIT; INIT to RTS. */
void ends_init_qp(struct ibv_qp *qp, int access);
void ends_connect(const struct ends *e, struct ibv_qp *qp, uint32_t peer_qpn);
struct ibv_ah *ends_make_ah(struct ends *e, const union ibv_gid *to);

/* Pieces of one length from mem + offset on, `count` of them, `stride` apart. */
struct pieces {
	uint32_t offset;
	uint32_t bytes;
	uint32_t stride;
	int count;
};
void post_receive(struct side *s, uint64_t wr_id, struct pieces pieces);
/* wr: all but the list; IBV_SEND_SIGNALED is added. */
void post_send(struct side *s, struct ibv_send_wr wr, struct pieces pieces);
/* `ms` where a fault is planted, which is seen by waiting in vain. Else as long as it may take on a
 * machine that has others. */
int probe_patience_ms(int ms);
/* True when a completion came in time. */
bool wait_for(struct ibv_cq *cq, struct ibv_wc *wc, int ms);
/* One that must come and be good; complains, false. */
bool expect(struct ibv_cq *cq, struct ibv_wc *wc);
void expect_quiet(struct ibv_cq *cq);
/* One that must come and be an error. */
void expect_error(struct ibv_cq *cq, const char *what);

void fill(uint8_t *mem, uint32_t bytes, uint32_t seed);
/* Complains about the first byte that is not as fill() left it. */
void check(const uint8_t *mem, uint32_t bytes, uint32_t seed, const char *what);

struct trial {
	const char *name;
	void (*run)(void);
};

extern const struct trial around_trials[], data_trials[], error_trials[], object_trials[];

#endif
