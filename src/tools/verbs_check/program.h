/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program is all that happens in one seed, on both sides: regions, queue depths, every work
 * request and every receive, and what each must complete with. It is a pure function of the seed
 * and of the limits agreed at the start, so that each side knows exactly what the other will do.
 *
 * Memory is laid out by region and offset; addresses and keys exist only in endpoint.c. Each piece
 * of memory belongs to one request or receive, and is separated from the next by bytes that nobody
 * may touch. Where two requests share memory on purpose (a READ of what was written before, an
 * overwrite, a READ forwarded behind a fence) both are on one QP and ordered by the specification.
 */
#ifndef VERBS_CHECK_PROGRAM_H
#define VERBS_CHECK_PROGRAM_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/verbs_check/draw.h"
#include "tools/verbs_check/fault.h"
#include "tools/verbs_check/op.h"
#include "tools/verbs_check/transport.h"

/* The phases of a seed that checks solicited events; others have VC_PHASE_MAIN alone. */
enum {
	VC_PHASE_MAIN,
	VC_PHASE_SWEEP, /* a message each way that uses up what is still armed */
	VC_PHASE_QUIET, /* a message that must not raise an event, and one that must */
	VC_PHASE_SOLICITED,
};

/* The phases of an open seed: MAIN and this. */
enum { VC_PHASE_REPLY = 1 };

/* The phases of an error seed. */
enum {
	VC_PHASE_LEAD,	/* what succeeds before anything is changed */
	VC_PHASE_FAULT, /* the faulty request, with others before and behind it */
	VC_PHASE_ERROR, /* QPs that are not yet in the error state have been moved there */
	VC_PHASE_TAIL,	/* posted in the error state */
	VC_PHASES,
};

enum {
	VC_SIDES = 2, /* 0 the server, 1 the client */
	VC_QP_MAX = 16,
	VC_CQ_MAX = 4,
	VC_MR_MAX = 6,
	VC_WINDOW_MAX = 3,
	VC_CELL_MAX = 4,
	VC_CHAIN_MAX = 16,
	VC_SGE_MAX = 32,
};

#define VC_NO_INDEX UINT32_MAX

/* What both sides can do and the client asked for; equal on both sides after the first exchange. */
struct vc_limits {
	uint32_t ops;	   /* requests of a seed, both sides together */
	uint32_t size_max; /* bytes of a message */
	uint32_t qp_max;   /* QPs of a seed */
	uint32_t op_mask;  /* bit per enum vc_op that may be drawn */
	uint32_t mtu_min;  /* enum ibv_mtu; equal to mtu_max when fixed */
	uint32_t mtu_max;
	uint32_t sge_max;
	uint32_t sge_read_max;
	uint32_t inline_max;
	uint32_t depth_max;
	uint32_t cqe_max;
	uint32_t rd_atomic_max;
	uint32_t fault_every; /* each n-th seed is an error seed; 0 for none */
	uint32_t timeout;     /* code of the local ACK timeout */
	uint32_t transports;  /* bit per enum vc_transport */
	uint32_t features;    /* bit per enum vc_feature */
	uint32_t links;	      /* bit per enum vc_link */
	uint32_t srq_sge_max;
	uint64_t dm_max;
	bool windows; /* memory windows of type 2 on both sides */
	bool atomic_write;
	bool atomics;
	bool lossy;  /* a NAK may be lost, and its sender answers no more */
	bool events; /* completion channels on both sides */
	uint32_t quirks[VC_SIDES];
};

struct vc_piece {
	uint64_t offset; /* from the start of the region; may be outside it in a faulty request */
	uint32_t length;
	uint32_t mr;
};

#define VC_SIGNALED   0x01u
#define VC_INLINE     0x02u
#define VC_FENCE      0x04u
#define VC_SOLICITED  0x08u
#define VC_CHAINED    0x10u  /* posted in one list with the next request */
#define VC_FORWARD    0x20u  /* its source is what an earlier READ of this QP fetched */
#define VC_READ_BACK  0x40u  /* a READ of what an earlier WRITE of this QP left, or that WRITE */
#define VC_SUPERSEDED 0x80u  /* a later WRITE of this QP goes to the same place */
#define VC_SHARED     0x100u /* adds 1 to the cell that all QPs of a side add to */
#define VC_UNDEFINED  0x200u /* failed half-way: its target may hold anything */
#define VC_BAD_LKEY   0x400u
#define VC_BAD_RKEY   0x800u
#define VC_BAD_QKEY   0x1000u /* nobody may receive it */
#define VC_REPLY      0x2000u /* by an address handle made of a completion, if there was one */
#define VC_MULTICAST  0x4000u
#define VC_LOST	      0x8000u /* nobody may receive it, or write by it */

struct vc_request {
	enum vc_op op;
	uint32_t flags;
	uint32_t length;
	uint32_t imm;
	uint64_t payload_key;
	uint64_t payload_offset;
	uint32_t piece_first; /* local memory, in the side's pieces */
	uint32_t piece_count;
	struct vc_piece remote; /* in the other side's memory */
	uint32_t window;	/* of the other side's lane; the key to use or to invalidate */
	uint32_t receive;	/* of the other side's lane, or VC_NO_INDEX */
	uint32_t to;		/* of the other side: UD the QP, XRC the shared queue */
	uint64_t compare_add;
	uint64_t swap;
	uint64_t original; /* what an atomic must return */
	enum ibv_wc_status status;
	enum ibv_wc_status quirk_status; /* accepted as well */
	bool completes;			 /* exactly one completion, or none */
};

struct vc_receive {
	uint32_t flags; /* VC_UNDEFINED, VC_BAD_LKEY */
	uint32_t capacity;
	uint32_t piece_first;
	uint32_t piece_count;
	uint32_t request; /* of the other side's lane, or VC_NO_INDEX */
	enum ibv_wc_status status;
	enum ibv_wc_status quirk_status;
};

/* How far posting and waiting go before both sides meet at a barrier; counts from the start. */
struct vc_phase {
	uint32_t request_post;
	uint32_t request_await;
	uint32_t receive_post;
	uint32_t receive_await;
};

/* One side's end of one QP. */
struct vc_lane {
	struct vc_request *requests;
	uint32_t request_count;
	uint32_t request_capacity;
	struct vc_receive *receives;
	uint32_t receive_count;
	uint32_t receive_capacity;
	struct vc_piece windows[VC_WINDOW_MAX]; /* own memory opened to the other side */
	uint32_t window_used[VC_WINDOW_MAX];	/* bytes given out while drawing */
	uint32_t window_count;
	uint32_t window_live; /* while drawing: those not yet invalidated are the first ones */

	uint32_t send_depth;
	uint32_t receive_depth;
	uint32_t send_sge;
	uint32_t receive_sge;
	uint32_t inline_max;
	uint32_t send_cq;
	uint32_t receive_cq;
	uint32_t psn; /* first PSN sent */
	uint32_t rd_atomic;
	uint32_t dest_rd_atomic;
	uint32_t min_rnr_timer;
	uint32_t timeout;
	uint32_t retry_cnt;
	uint32_t rnr_retry;
	uint32_t access;
	uint32_t prepost; /* receives posted before the other side may send */
	uint32_t pool;	  /* the lane whose receives this QP takes: its own, or a shared queue's */
	bool attached;	  /* a member of the multicast group */
	bool builder;	  /* posts by ibv_wr_*() */
	bool signal_all;
	struct vc_phase phases[VC_PHASES];
};

/* Eight bytes that atomics change. */
struct vc_cell {
	struct vc_piece at;
	uint64_t initial;
	uint64_t value; /* after all requests of the program */
	uint32_t qp;	/* the only QP that changes it, or VC_NO_INDEX: all add 1 */
};

/* How a region is made; all but device memory lie in the side's memory. */
enum vc_mr_kind { VC_MR_PLAIN, VC_MR_REREG, VC_MR_ODP, VC_MR_IMPLICIT, VC_MR_DM };

struct vc_mr {
	enum vc_mr_kind kind;
	bool is_plain;	 /* a source of inline data, or opened by windows: of no other kind */
	uint32_t skew;	 /* of its start from a page boundary */
	uint32_t access; /* what is needed, or more */
	uint32_t pd;	 /* 0, or 1: not the QPs' */
	bool fixed;	 /* neither access nor length is more than what was asked for */
	uint64_t length;
	uint64_t base; /* of its start in the side's memory */
};

struct vc_side {
	struct vc_lane lanes[VC_QP_MAX];
	struct vc_mr mrs[VC_MR_MAX];
	uint32_t mr_count;
	uint32_t mr_draw_count; /* the first ones, from which memory is drawn */
	struct vc_cell cells[VC_QP_MAX * VC_CELL_MAX];
	uint32_t cell_count;
	struct vc_piece *pieces;
	uint32_t piece_count;
	uint32_t piece_capacity;
	uint32_t pool_count;
	uint32_t limits[VC_QP_MAX]; /* SRQ_LIMIT of a shared queue; 0: none */
	uint32_t cq_count;
	uint32_t cq_depth[VC_CQ_MAX];
	bool cq_extended[VC_CQ_MAX];
	uint32_t poll_batch;
	uint32_t
		late_us; /* pause before each receive is posted, so that the other side meets RNR */
	uint64_t memory_bytes;
	uint64_t background_key;
};

struct vc_program {
	uint64_t seed;
	const struct vc_limits *limits;
	struct vc_draw draw;
	enum vc_transport transport;
	uint32_t features; /* of this seed */
	/* Which receive a message takes is known only when it has come: shared queues, UC, UD. */
	bool is_open;
	bool is_shared; /* the receives of the first pool_count lanes are those of shared queues */
	uint32_t window_type; /* 1 or 2 */
	uint32_t qkey;	      /* UD: of all QPs */
	uint64_t group;	      /* of the multicast address */
	enum ibv_mtu mtu;
	uint32_t qp_count;
	uint32_t phase_count; /* 1 or VC_PHASES */
	enum vc_fault fault;
	uint32_t fault_ops;	/* bit per enum vc_op that may be the faulty one; 0: any */
	bool all_arrive;	/* a scenario: what is not VC_LOST comes, on UC and UD too */
	uint32_t requester;	/* the side that meets the fault */
	uint32_t deregister_mr; /* of the responder, before the faulty request; or VC_NO_INDEX */
	bool solicited;		/* the run ends with a check of solicited events */
	uint32_t skipped;	/* requests drawn that a side's device does not offer */
	uint64_t byte_count;	/* payload of what succeeds, both directions */
	uint64_t byte_budget;	/* left for long messages */
	uint32_t request_count; /* both sides */
	struct vc_side sides[VC_SIDES];
};

static inline bool vc_program_has(const struct vc_program *program, enum vc_feature feature)
{
	return vc_mask_has(program->features, feature);
}

static inline bool vc_program_is_reliable(const struct vc_program *program)
{
	return vc_transport_is_reliable(program->transport);
}

static inline uint32_t vc_mtu_bytes(enum ibv_mtu mtu)
{
	return 128u << (unsigned int)mtu;
}

/* Memory is kept from seed to seed; a program of zeroes is a fresh one. */
void vc_program_fini(struct vc_program *program);
void vc_program_reset(struct vc_program *program, const struct vc_limits *limits, uint64_t seed);
void vc_program_draw(struct vc_program *program, const struct vc_limits *limits, uint64_t seed);

/* For the transports' files. */
struct vc_request *vc_program_add_request(struct vc_program *program, uint32_t side, uint32_t qp);
struct vc_receive *vc_program_add_receive(struct vc_program *program, uint32_t side, uint32_t qp);
/* Memory for one stretch of bytes in a region, with the access that its use needs. */
struct vc_piece vc_program_place(struct vc_program *program, uint32_t side, uint32_t mr,
				 uint32_t length, uint32_t align, uint32_t access);
void vc_program_add_piece(struct vc_program *program, uint32_t side, struct vc_piece piece);
/* A region that draws do not use, with exactly this access. */
uint32_t vc_program_add_mr(struct vc_program *program, uint32_t side, uint32_t access, uint32_t pd);
uint32_t vc_program_draw_mr(struct vc_program *program, uint32_t side);
/* Cuts length into pieces for a scatter/gather list, some of them empty; returns their count. */
uint32_t vc_program_scatter(struct vc_program *program, uint32_t side, uint32_t length,
			    uint32_t sge_max, uint32_t access, uint32_t *out_first);
uint32_t vc_program_draw_length(struct vc_program *program);
/* Sets where each region lies; called once, when all pieces are placed. */
void vc_program_settle(struct vc_program *program);

uint64_t vc_request_wr_id(const struct vc_program *program, uint32_t side, uint32_t qp,
			  uint32_t index);
uint64_t vc_receive_wr_id(const struct vc_program *program, uint32_t side, uint32_t qp,
			  uint32_t index);

#endif
