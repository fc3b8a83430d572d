/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Planted faults: a library in front of any libibverbs (LD_PRELOAD) that makes one thing wrong, so
 * that whatever verifies an RDMA installation can be shown to notice.
 *
 *     PLANT=NAME[,RATE[,SEED]]   RATE is 1/N or P%; one fault in each N opportunities, where is
 *                                drawn from the seed. Without RATE: as faults.def says
 *     PLANT=list                 prints the table and ends the program
 *     PLANT_REPORT=FILE          a line, if there were opportunities: name, faults planted,
 *                                opportunities
 *     PLANT_SHARED=FILE          two processes on one machine that are to know each other's keys
 *                                (wrong-rkey-accepted, ignored-qkey)
 *
 * Faults are at the interface of ibv_post_send, ibv_post_recv, ibv_poll_cq and the calls that make
 * and destroy objects; what goes through ibv_wr_* or an extended CQ's own functions is left alone.
 * Without PLANT, and in what a fault does not concern, all calls pass.
 *
 * One mutex guards all that is remembered here; it is held across posting and polling, so that the
 * order of what is remembered is that of the queues.
 */
#ifndef ROCE_TESTS_VERIFY_FAULTS_PLANT_H
#define ROCE_TESTS_VERIFY_FAULTS_PLANT_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#define PLANT_PIECES_MAX  32u
#define PLANT_SCRATCH	  (256u * 1024)
#define PLANT_LATENCY_NS  20000u
#define PLANT_SLOW_NS	  100000u
#define PLANT_REGIONS_MAX 1000u
#define PLANT_GROUPS_MAX  8u

enum plant_id {
#define X(id, name, period, what, where) PLANT_##id,
#include "faults.def"
#undef X
	PLANT_COUNT,
};

/* Whether this is the fault of the program. */
bool plant_is(enum plant_id id);
/* The same, and this opportunity is one to be taken. */
bool plant_draw(enum plant_id id);
/* Whether any is planted at all. */
bool plant_is_any(void);
/* Takes so much processor time. */
void plant_spin(uint64_t ns);

/* ---- what is remembered ---- */

/* A posted request, as far as faults need it at its completion. */
struct plant_request {
	uint64_t wr_id;
	enum ibv_wr_opcode opcode;
	bool is_signaled;
	bool is_flipped; /* WRONG_BYTE of a READ */
	bool is_torn;	 /* TORN_ATOMIC: a READ in its place, then a WRITE */
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t add;
	uint32_t piece_count;
	struct ibv_sge pieces[PLANT_PIECES_MAX];
	uint8_t *saved; /* STALE_READ: what was there */
};

struct plant_fifo {
	struct plant_request *requests;
	uint32_t begin, end, room;
};

struct plant_srq {
	struct plant_srq *next;
	struct ibv_srq *srq;
	struct plant_fifo receives;
	bool has_extra_piece;
};

struct plant_qp {
	struct plant_qp *next;
	struct ibv_qp *qp;
	struct plant_fifo sends;
	struct plant_fifo receives;
	bool is_sig_all;
	bool has_extra_pieces; /* two more to send than the program asked for, one to receive */
	bool has_late;	       /* LATE_INLINE, SWAPPED_REQUESTS: a request that waits */
	bool is_late_behind;   /* for the next one to have been posted */
	/* How a request of ours failed: the program's own, which is flushed behind it, says so. */
	enum ibv_wc_status own_error;
	struct ibv_send_wr late;
	struct ibv_sge late_pieces[PLANT_PIECES_MAX];
};

/* Completions that go out with a later poll. */
struct plant_cq {
	struct plant_cq *next;
	struct ibv_cq *cq;
	struct ibv_wc waiting; /* DOUBLED_COMPLETION, SWAPPED_COMPLETIONS */
	bool has_waiting;
	bool is_behind_next; /* it goes out behind the next one */
	uint32_t empty_polls;
};

struct plant_context {
	struct plant_context *next;
	struct ibv_context *context;
	struct ibv_context_ops real;
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *context,
				       struct ibv_qp_init_attr_ex *attr);
	struct ibv_srq *(*create_srq_ex)(struct ibv_context *context,
					 struct ibv_srq_init_attr_ex *attr);
	int (*query_device_ex)(struct ibv_context *context,
			       const struct ibv_query_device_ex_input *input,
			       struct ibv_device_attr_ex *attr, size_t attr_size);
	struct plant_qp *qps;
	struct plant_srq *srqs;
	struct plant_cq *cqs;
};

void plant_lock(void);
void plant_unlock(void);

/* The lock is held for all of these. */
struct plant_context *plant_context_find(struct ibv_context *context);
struct plant_qp *plant_qp_find(struct plant_context *pc, uint32_t qp_num);
struct plant_srq *plant_srq_find(struct plant_context *pc, struct ibv_srq *srq);
struct plant_cq *plant_cq_get(struct plant_context *pc, struct ibv_cq *cq);
/* Where receives of a queue pair are remembered: its own, or those of its shared queue. */
struct plant_fifo *plant_receives_of(struct plant_context *pc, struct plant_qp *q);

struct plant_request *plant_fifo_push(struct plant_fifo *f);
/* Takes the request that completed, and for sends all before it; false when it is not known. The
 * caller frees out->saved. */
bool plant_fifo_take(struct plant_fifo *f, uint64_t wr_id, bool is_send, struct plant_request *out);
/* The last one pushed was refused. */
void plant_fifo_pop_newest(struct plant_fifo *f);
void plant_fifo_fini(struct plant_fifo *f);

/* Registered memory of ours in the protection domain; NULL when there is none to be had. */
struct ibv_mr *plant_scratch(struct ibv_pd *pd);
/* With the domain. */
void plant_scratch_release(struct ibv_pd *pd);

/* ---- objects.c, for verbs.c ---- */

/* Takes the place of the context's operations. */
void plant_context_hook(struct ibv_context *context);
void plant_context_forget(struct ibv_context *context);
void plant_qp_enlist(struct ibv_qp *qp, bool is_sig_all, bool has_extra_pieces);
void plant_qp_delist(struct ibv_qp *qp);
void plant_srq_enlist(struct ibv_srq *srq, bool has_extra_piece);
void plant_srq_delist(struct ibv_srq *srq);
void plant_cq_delist(struct ibv_cq *cq);
/* Makes room for what faults add, and what of it the program asked for. */
bool plant_cap_raise(struct ibv_qp_cap *cap, bool has_srq);
void plant_cap_lower(struct ibv_qp_cap *cap, const struct ibv_qp_cap *asked);

/* The functions behind the context's operations. */
int plant_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int plant_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int plant_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int plant_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
int plant_req_notify_cq(struct ibv_cq *cq, int solicited_only);
struct ibv_qp *plant_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
struct ibv_srq *plant_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int plant_query_device_ex(struct ibv_context *context,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t attr_size);

/* Posts the request that waits, if one does. */
void plant_post_late(struct plant_context *pc, struct plant_qp *q);
/* wr_id of requests that are ours alone: their completions are not handed out. */
#define PLANT_OWN_WR_ID UINT64_C(0x706c616e74656421)
/* TORN_ATOMIC's WRITE: this, and the number of the request in torn_requests. */
#define PLANT_TORN_WR_ID UINT64_C(0x706c616e00000000)

/* ---- shared.c: keys that both ends know ---- */

void plant_shared_add_region(const struct ibv_mr *mr, uint64_t begin, uint64_t bytes,
			     unsigned int access);
void plant_shared_remove_region(uint32_t rkey);
/* The rkey that opens [begin, begin + bytes) for `access`: the one given if it does, else another
 * one, else the one given. */
uint32_t plant_shared_rkey(uint32_t rkey, uint64_t begin, uint64_t bytes, unsigned int access);
void plant_shared_set_qkey(uint32_t qp_num, uint32_t qkey);
/* The Q_Key of the queue pair, or the one given. */
uint32_t plant_shared_qkey(uint32_t qp_num, uint32_t qkey);

#endif
