/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one seed does, drawn before anything runs: the two hosts' tuning, the link and its faults,
 * the connections, every work request and every receive buffer, and what is to come of it.
 *
 * A "flow" is one direction of one connection: requests of host `from` to host `!from`. Each flow
 * has memory of its own on both hosts:
 *   source   requester   never changes; SEND, WRITE take from here
 *   sink     requester   a place of its own for each READ and atomic
 *   target   responder   WRITE, READ and atomics, which may overlap each other
 *   landing  responder   receive buffers, a place of its own for each
 * with unregistered gaps around every one. Nothing else of the memory may ever change.
 */
#ifndef TESTS_SIM_PLAN_H
#define TESTS_SIM_PLAN_H

#include "pair.h"

#define SIM_CONNS_MAX  3u
#define SIM_OPS_MAX    48u
#define SIM_PIECES_MAX 5u
#define SIM_NO_RECV    UINT32_MAX
#define SIM_NO_OP      UINT32_MAX

/* X(enumerator, name): what kind of trouble a seed is about. */
#define SIM_RECIPES(X)                    \
	X(CLEAN, "clean")                 \
	X(LOSS, "loss")                   \
	X(DUPLICATE, "duplicate")         \
	X(REORDER, "reorder")             \
	X(CORRUPT, "corrupt")             \
	X(DELAY, "delay")                 \
	X(MIXED, "mixed")                 \
	X(LARGE_WINDOW, "large-window")   \
	X(LATE_RECEIVES, "late-receives") \
	X(HEAVY_LOSS, "heavy-loss")       \
	X(DEAD_LINK, "dead-link")         \
	X(BAD_REQUEST, "bad-request")     \
	X(NO_RECEIVE, "no-receive")

enum sim_recipe {
#define X(id, name) SIM_RECIPE_##id,
	SIM_RECIPES(X)
#undef X
		SIM_RECIPE_COUNT
};

const char *sim_recipe_str(enum sim_recipe recipe);

/* What is wrong with one request, in the recipe BAD_REQUEST. */
enum sim_defect {
	SIM_DEFECT_NONE,
	SIM_DEFECT_RKEY,	   /* unknown key: REM_ACCESS_ERR */
	SIM_DEFECT_RKEY_IS_LKEY,   /* REM_ACCESS_ERR */
	SIM_DEFECT_RANGE,	   /* one byte beyond the region: REM_ACCESS_ERR */
	SIM_DEFECT_MISALIGNED,	   /* atomic: REM_INV_REQ_ERR */
	SIM_DEFECT_LKEY,	   /* LOC_PROT_ERR */
	SIM_DEFECT_RECV_TOO_SMALL, /* REM_INV_REQ_ERR, and LOC_LEN_ERR at the receiver */
	SIM_DEFECT_RECV_LKEY,	   /* REM_OP_ERR, and LOC_PROT_ERR at the receiver */
	SIM_DEFECT_COUNT
};

struct sim_piece {
	size_t offset; /* in its host's arena */
	uint32_t length;
};

struct sim_op {
	uint8_t opcode;	     /* enum roce_wr_opcode */
	uint8_t flags;	     /* enum roce_send_flags */
	uint8_t defect;	     /* enum sim_defect */
	bool is_overwritten; /* a later WRITE or atomic touches its target */
	uint32_t length;
	uint32_t piece_count;
	struct sim_piece pieces[SIM_PIECES_MAX]; /* requester's memory */
	size_t remote;				 /* offset in the responder's arena */
	uint32_t imm;
	uint64_t compare_add;
	uint64_t swap;
	uint32_t recv; /* the receive that it takes, or SIM_NO_RECV */
	/* WRITE: goes through the window that this later SEND invalidates; LOCAL_INV: what it ends
	 * is of this bind; SIM_NO_OP: neither */
	uint32_t window_op;
	bool is_zero_based; /* the window of a bind, or of a SEND with invalidate */
};

struct sim_recv {
	uint32_t op; /* the request that takes it, or SIM_NO_OP: flushed in the end */
	uint32_t piece_count;
	bool is_key_bad;
	struct sim_piece pieces[SIM_PIECES_MAX]; /* responder's memory */
};

struct sim_region {
	size_t offset;
	size_t length;
	uint8_t addressing; /* 0: iova is the address, 1: another one, 2: zero based */
};

struct sim_flow_plan {
	unsigned int from; /* requester's host */
	uint32_t op_count;
	struct sim_op ops[SIM_OPS_MAX];
	uint32_t recv_count;
	struct sim_recv recvs[SIM_OPS_MAX + 4];
	uint32_t recvs_first;  /* posted before anything is sent */
	uint32_t recvs_never;  /* the last so many are never posted */
	roce_ns_t recv_gap_ns; /* time between late receives */
	roce_ns_t post_gap_ns; /* time between posts of work requests, at most */
	struct sim_region source;
	struct sim_region sink;
	struct sim_region target;
	struct sim_region landing;
	/* what is to come of it */
	uint32_t fatal_op;	    /* the request that must fail, or SIM_NO_OP */
	uint32_t fatal_status;	    /* its enum roce_wc_status */
	uint32_t allowed_mask;	    /* 1 << status: other first errors that are right too */
	uint32_t recv_fatal_status; /* of the receive that fatal_op takes; 0: none fails */
};

struct sim_plan {
	uint64_t seed;
	enum sim_recipe recipe;
	struct roce_transport_config tuning[2];
	struct roce_link_config link;
	roce_ns_t down_at_ns; /* the link dies; ROCE_NEVER */
	size_t arena_size[2];
	uint32_t conn_count;
	struct sim_conn conns[SIM_CONNS_MAX];
	struct sim_qp_caps caps[SIM_CONNS_MAX][2];
	bool has_srq[SIM_CONNS_MAX][2];		      /* that end receives from an SRQ */
	struct sim_flow_plan flows[SIM_CONNS_MAX][2]; /* [conn][from] */
	bool has_one_cq[2];  /* for all QPs and both directions of the host */
	bool uses_events[2]; /* polls when the CQ's event comes, else by the clock */
	roce_ns_t poll_gap_ns[2];
	uint32_t poll_batch_max[2];
	roce_ns_t limit_ns; /* everything has ended by then */
};

/* `recipe` SIM_RECIPE_COUNT: drawn too. */
void sim_plan_draw(struct sim_plan *plan, uint64_t seed, enum sim_recipe recipe);

/* What the memory of a host holds in the beginning, by aligned word. */
static inline uint64_t sim_fill_word(unsigned int host, size_t index)
{
	uint64_t z = (index + 1) * UINT64_C(0x9e3779b97f4a7c15) + host;

	return (z ^ z >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* Everything that the seed may not break: true when each request must succeed. */
static inline bool sim_plan_must_succeed(const struct sim_plan *plan)
{
	return plan->recipe < SIM_RECIPE_HEAVY_LOSS;
}

#endif
