/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queues: rings of WQEs and CQEs of fixed size, sized when they are made; nothing here
 * allocates. The owner (verbs) hands in zeroed storage of roce_*_bytes() bytes, aligned to 8.
 *
 * Who owns what: a send WQE belongs to the program until it is posted, then to the
 * requester until its CQE is polled (its slot is reclaimed with that CQE, as verbs demand). A
 * receive WQE belongs to the responder from post until its CQE is written.
 */
#ifndef ROCE_WQ_WQ_H
#define ROCE_WQ_WQ_H

#include "base/timer_heap.h"
#include "wire/packet.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct roce_pd;

/* Values of enum ibv_wr_opcode. */
enum roce_wr_opcode {
	ROCE_WR_RDMA_WRITE = 0,
	ROCE_WR_RDMA_WRITE_WITH_IMM = 1,
	ROCE_WR_SEND = 2,
	ROCE_WR_SEND_WITH_IMM = 3,
	ROCE_WR_RDMA_READ = 4,
	ROCE_WR_ATOMIC_CMP_AND_SWP = 5,
	ROCE_WR_ATOMIC_FETCH_AND_ADD = 6,
	ROCE_WR_LOCAL_INV = 7,
	ROCE_WR_BIND_MW = 8,
	ROCE_WR_SEND_WITH_INV = 9,
	ROCE_WR_ATOMIC_WRITE = 15,
};

/* Values of enum ibv_send_flags. */
enum roce_send_flags {
	ROCE_SEND_FENCE = 1 << 0,
	ROCE_SEND_SIGNALED = 1 << 1,
	ROCE_SEND_SOLICITED = 1 << 2,
	ROCE_SEND_INLINE = 1 << 3,
};

/* Values of enum ibv_wc_status. */
enum roce_wc_status {
	ROCE_WC_SUCCESS = 0,
	ROCE_WC_LOC_LEN_ERR = 1,
	ROCE_WC_LOC_QP_OP_ERR = 2,
	ROCE_WC_LOC_EEC_OP_ERR = 3,
	ROCE_WC_LOC_PROT_ERR = 4,
	ROCE_WC_WR_FLUSH_ERR = 5,
	ROCE_WC_MW_BIND_ERR = 6,
	ROCE_WC_BAD_RESP_ERR = 7,
	ROCE_WC_LOC_ACCESS_ERR = 8,
	ROCE_WC_REM_INV_REQ_ERR = 9,
	ROCE_WC_REM_ACCESS_ERR = 10,
	ROCE_WC_REM_OP_ERR = 11,
	ROCE_WC_RETRY_EXC_ERR = 12,
	ROCE_WC_RNR_RETRY_EXC_ERR = 13,
	ROCE_WC_FATAL_ERR = 19,
	ROCE_WC_GENERAL_ERR = 21,
};

/* Values of enum ibv_wc_opcode. */
enum roce_wc_opcode {
	ROCE_WC_SEND = 0,
	ROCE_WC_RDMA_WRITE = 1,
	ROCE_WC_RDMA_READ = 2,
	ROCE_WC_COMP_SWAP = 3,
	ROCE_WC_FETCH_ADD = 4,
	ROCE_WC_BIND_MW = 5,
	ROCE_WC_LOCAL_INV = 6,
	ROCE_WC_ATOMIC_WRITE = 9,
	ROCE_WC_RECV = 128,
	ROCE_WC_RECV_RDMA_WITH_IMM = 129,
};

/* Values of enum ibv_wc_flags. */
enum roce_wc_flags {
	ROCE_WC_GRH = 1 << 0,
	ROCE_WC_WITH_IMM = 1 << 1,
	ROCE_WC_WITH_INV = 1 << 3,
};

/* ---- send queue ---- */

struct roce_send_wqe {
	uint64_t wr_id;
	uint64_t remote_addr;
	uint64_t compare_add; /* compare value of CmpSwap, or the number to add */
	uint64_t swap;
	uint64_t length; /* bytes of the message */
	roce_key_t rkey;
	uint32_t imm_be;      /* immediate in network order */
	roce_key_t inv_rkey;  /* SEND with invalidate */
	uint32_t remote_qpn;  /* UD */
	uint32_t remote_qkey; /* UD */
	uint32_t remote_srqn; /* XRC */
	uint8_t opcode;	      /* enum roce_wr_opcode */
	uint8_t flags;	      /* enum roce_send_flags */
	uint8_t is_inline;
	uint8_t is_signaled; /* SIGNALED flag or sq_sig_all */

	/* requester's state */
	uint8_t status;	    /* enum roce_wc_status: set with is_done, or by a refused local check */
	uint8_t is_done;    /* acknowledged or failed; completes in posting order */
	uint8_t is_started; /* first_psn is valid */
	uint8_t is_all_sent;  /* last_psn has been sent at least once */
	roce_psn_t first_psn; /* valid once started */
	roce_psn_t last_psn;
	uint32_t sge_count;
	struct roce_path path; /* UD: a copy, the address handle may go before the WQE */
			       /* sge_count pieces, or `length` inline bytes, follow here */
};

struct roce_send_queue {
	uint8_t *storage;
	uint32_t stride; /* bytes of a slot */
	uint32_t depth;	 /* slots, a power of two (max_send_wr granted) */
	uint32_t max_sge;
	uint32_t max_inline; /* bytes */
	/* free-running indexes: reclaimed <= completed <= next <= posted, posted - reclaimed <=
	 * depth */
	uint32_t reclaimed; /* oldest slot whose CQE was not polled */
	uint32_t completed; /* oldest WQE without completion: the requester's oldest unacknowledged
			     */
	uint32_t next;	    /* WQE to send from next (may step back on retransmission) */
	uint32_t posted;    /* where the next post goes */
};

size_t roce_send_queue_bytes(uint32_t depth, uint32_t max_sge, uint32_t max_inline);
void roce_send_queue_init(struct roce_send_queue *sq, void *storage, uint32_t depth,
			  uint32_t max_sge, uint32_t max_inline);

static inline struct roce_send_wqe *roce_send_queue_at(const struct roce_send_queue *sq,
						       uint32_t index)
{
	return (struct roce_send_wqe *)(void *)(sq->storage +
						(size_t)(index & (sq->depth - 1)) * sq->stride);
}

static inline bool roce_send_queue_is_full(const struct roce_send_queue *sq)
{
	return sq->posted - sq->reclaimed >= sq->depth;
}

static inline struct roce_sge *roce_send_wqe_sges(struct roce_send_wqe *wqe)
{
	return (struct roce_sge *)(wqe + 1);
}

static inline uint8_t *roce_send_wqe_inline(struct roce_send_wqe *wqe)
{
	return (uint8_t *)(wqe + 1);
}

/* ---- receive queue (also of an SRQ) ---- */

struct roce_recv_wqe {
	uint64_t wr_id;
	uint64_t length; /* bytes all pieces hold */
	uint32_t sge_count;
	uint32_t reserved;
	struct roce_sge sge[];
};

struct roce_recv_queue {
	uint8_t *storage;
	uint32_t stride; /* bytes of a slot */
	uint32_t depth;	 /* slots, a power of two */
	uint32_t max_sge;
	uint32_t head;	 /* free-running: next WQE to take */
	uint32_t posted; /* free-running: where the next post goes */
};

size_t roce_recv_queue_bytes(uint32_t depth, uint32_t max_sge);
void roce_recv_queue_init(struct roce_recv_queue *rq, void *storage, uint32_t depth,
			  uint32_t max_sge);

/* False when full; the caller has checked sge_count <= max_sge. */
bool roce_recv_queue_push(struct roce_recv_queue *rq, uint64_t wr_id, const struct roce_sge *sge,
			  uint32_t sge_count);

static inline bool roce_recv_queue_is_empty(const struct roce_recv_queue *rq)
{
	return rq->head == rq->posted;
}

static inline struct roce_recv_wqe *roce_recv_queue_head(const struct roce_recv_queue *rq)
{
	return (struct roce_recv_wqe *)(void *)(rq->storage +
						(size_t)(rq->head & (rq->depth - 1)) * rq->stride);
}

/* ---- shared receive queue ---- */

/* Receive WQEs that several QPs draw from; first come, first served. */
struct roce_srq {
	struct roce_recv_queue rq;
	struct roce_pd *pd; /* its SGEs belong to this domain, whatever the QP's is */
	struct roce_cq *cq; /* XRC: where its completions go; NULL: the QP's receive CQ */
	uint32_t limit;	    /* on_limit once when fewer are left; 0: not armed */
	void (*on_limit)(struct roce_srq *srq);
	void *owner; /* the verbs object */
};

void roce_srq_init(struct roce_srq *srq, void *storage, uint32_t depth, uint32_t max_sge,
		   struct roce_pd *pd, void (*on_limit)(struct roce_srq *), void *owner);

static inline uint32_t roce_srq_count(const struct roce_srq *srq)
{
	return srq->rq.posted - srq->rq.head;
}

/* Copies the oldest WQE to `out` (room for max_sge pieces) and takes it off; false when empty. */
bool roce_srq_take(struct roce_srq *srq, struct roce_recv_wqe *out);

/* Continues in storage of another depth; WQEs stay in order. The new depth must hold them. */
void roce_srq_resize(struct roce_srq *srq, void *storage, uint32_t depth);

/* ---- completion queue ---- */

struct roce_cqe {
	uint64_t wr_id;
	uint64_t byte_len;
	uint64_t timestamp_ns;	    /* `now` of the call that wrote it */
	struct roce_send_queue *sq; /* send side: whose slots sq_reclaim frees; else NULL */
	const void *qp;		    /* whose entry it is, for roce_cq_clean() */
	uint32_t qp_num;
	uint32_t imm_be; /* immediate (network order), or the invalidated rkey */
	uint32_t src_qp;
	uint32_t vendor_err;
	uint32_t sq_reclaim; /* send side: free-running index behind this WQE, reclaimed when polled
			      */
	uint8_t status;	     /* enum roce_wc_status */
	uint8_t opcode;	     /* enum roce_wc_opcode */
	uint8_t wc_flags;
	uint8_t sl;
};

enum roce_cq_arm {
	ROCE_CQ_DISARMED,
	ROCE_CQ_ARMED_SOLICITED, /* only solicited or failed completions fire */
	ROCE_CQ_ARMED_ANY,
};

struct roce_cq {
	struct roce_cqe *ring;
	uint32_t depth; /* entries, a power of two; indexes run freely */
	uint32_t head;
	uint32_t tail;
	uint8_t arm;			      /* enum roce_cq_arm */
	bool is_overrun;		      /* an entry did not fit: the CQ is dead */
	void (*on_event)(struct roce_cq *cq); /* armed and a matching entry came; one shot */
	void *owner;			      /* the verbs object */

	/* Moderation: an armed queue tells of moderate_count matching entries by one event, but of
	 * none later than moderate_ns after it came. Either 0: it tells of the first at once. */
	uint32_t moderate_count;
	roce_ns_t moderate_ns;
	uint32_t held_count;	 /* entries that the armed queue has not told of */
	roce_ns_t event_due;	 /* when it has to; ROCE_NEVER: nothing is held */
	struct roce_timer timer; /* the transport's, follows event_due */
};

size_t roce_cq_bytes(uint32_t depth);
void roce_cq_init(struct roce_cq *cq, void *storage, uint32_t depth,
		  void (*on_event)(struct roce_cq *), void *owner);

/* False when it did not fit; the CQ is then overrun for good. */
bool roce_cq_push(struct roce_cq *cq, const struct roce_cqe *cqe, bool is_solicited);

/* Takes up to `max` entries and reclaims the send slots that they stand for. */
uint32_t roce_cq_poll(struct roce_cq *cq, struct roce_cqe *out, uint32_t max);
void roce_cq_arm(struct roce_cq *cq, bool solicited_only);

/* Tells of what is held; does nothing when nothing is. */
void roce_cq_tell_held(struct roce_cq *cq);

/* Drops the entries of a QP that is reset or destroyed; later ones keep their order. */
void roce_cq_clean(struct roce_cq *cq, const void *qp);
/* They stay, but are nobody's: a later QP at the same address does not take them along. */
void roce_cq_disown(struct roce_cq *cq, const void *qp);

static inline bool roce_cq_is_empty(const struct roce_cq *cq)
{
	return cq->head == cq->tail;
}

/* An empty queue begins at its first entry again, which is still in the cache. */
static inline void roce_cq_rewind(struct roce_cq *cq)
{
	if (roce_cq_is_empty(cq))
		cq->head = cq->tail = 0;
}

#endif
