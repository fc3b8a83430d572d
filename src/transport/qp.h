/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue pair: its states and attributes, and what requester, completer and responder remember.
 * The roles read and write their own part only; qp.c owns state changes and flushing.
 */
#ifndef ROCE_TRANSPORT_QP_H
#define ROCE_TRANSPORT_QP_H

#include "transport/transport.h"
#include "wq/wq.h"

/* Values of enum ibv_qp_type. */
enum roce_qp_type {
	ROCE_QP_RC = 2,
	ROCE_QP_UC = 3,
	ROCE_QP_UD = 4,
	ROCE_QP_XRC_INI = 9,  /* enum ibv_qp_type's XRC_SEND */
	ROCE_QP_XRC_TGT = 10, /* XRC_RECV */
};

/* Values of enum ibv_qp_state. */
enum roce_qp_state {
	ROCE_QP_RESET = 0,
	ROCE_QP_INIT = 1,
	ROCE_QP_RTR = 2,
	ROCE_QP_RTS = 3,
	ROCE_QP_SQD = 4,
	ROCE_QP_SQE = 5,
	ROCE_QP_ERR = 6,
};

/* Values of enum ibv_qp_attr_mask. */
enum roce_qp_attr_mask {
	ROCE_ATTR_STATE = 1 << 0,
	ROCE_ATTR_CUR_STATE = 1 << 1,
	ROCE_ATTR_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	ROCE_ATTR_ACCESS_FLAGS = 1 << 3,
	ROCE_ATTR_PKEY_INDEX = 1 << 4,
	ROCE_ATTR_PORT = 1 << 5,
	ROCE_ATTR_QKEY = 1 << 6,
	ROCE_ATTR_AV = 1 << 7,
	ROCE_ATTR_PATH_MTU = 1 << 8,
	ROCE_ATTR_TIMEOUT = 1 << 9,
	ROCE_ATTR_RETRY_CNT = 1 << 10,
	ROCE_ATTR_RNR_RETRY = 1 << 11,
	ROCE_ATTR_RQ_PSN = 1 << 12,
	ROCE_ATTR_MAX_QP_RD_ATOMIC = 1 << 13,
	ROCE_ATTR_ALT_PATH = 1 << 14,
	ROCE_ATTR_MIN_RNR_TIMER = 1 << 15,
	ROCE_ATTR_SQ_PSN = 1 << 16,
	ROCE_ATTR_MAX_DEST_RD_ATOMIC = 1 << 17,
	ROCE_ATTR_PATH_MIG_STATE = 1 << 18,
	ROCE_ATTR_CAP = 1 << 19,
	ROCE_ATTR_DEST_QPN = 1 << 20,
	ROCE_ATTR_RATE_LIMIT = 1 << 25,
};

#define ROCE_MAX_RD_ATOMIC 16u /* limit of max_rd_atomic and max_dest_rd_atomic */

struct roce_qp_attr {
	uint8_t state; /* enum roce_qp_state */
	uint8_t cur_state;
	uint8_t path_mtu; /* enum ibv_mtu: 1 (256) to 5 (4096) */
	uint8_t port_num;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer; /* code, 0-31 */
	uint8_t timeout;       /* code, 0-31: 4.096 us << code, 0 never */
	uint8_t retry_cnt;     /* 0-7 */
	uint8_t rnr_retry;     /* 0-7, 7 infinite */
	uint8_t en_sqd_async_notify;
	uint16_t pkey_index;
	uint32_t access_flags; /* enum roce_access, the REMOTE ones */
	uint32_t qkey;
	uint32_t dest_qpn;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t rate_kbit_per_s; /* set by roce_qp_limit_rate() alone */
	struct roce_path path;	  /* sgid filled in by the caller */
	struct roce_peer *peer; /* with ROCE_ATTR_AV: the entry of (path.dgid, slot of dest_qpn) */
};

/* Why roce_qp_modify() refused; `out_bad_mask` names the attributes. */
enum roce_modify_result {
	ROCE_MODIFY_OK,
	ROCE_MODIFY_BAD_TRANSITION,
	ROCE_MODIFY_WRONG_CUR_STATE,
	ROCE_MODIFY_MISSING,	/* required attributes that are not given */
	ROCE_MODIFY_UNEXPECTED, /* attributes that this transition does not take */
	ROCE_MODIFY_BAD_VALUE,
};

/* A saved READ or atomic of the responder, kept for replay. */
struct roce_resp_resource {
	roce_psn_t first_psn;
	roce_psn_t last_psn;
	roce_psn_t next_psn; /* READ: response to send next */
	roce_key_t rkey;
	uint64_t va;
	union {
		const struct roce_pd *pd; /* READ: domain of the key, an XRC request names it */
		uint64_t orig;		  /* atomic: the value that was there */
	};
	uint32_t length;
	uint32_t msn;
	bool is_atomic;
	bool is_pending;  /* has responses to send */
	bool is_answered; /* all responses have been sent once: what is pending is a repetition */
	bool is_restart;  /* the next response opens a (re)started sequence: FIRST or ONLY */
};

/* Message that the responder is in the middle of. */
enum roce_resp_open {
	ROCE_RESP_OPEN_NONE,
	ROCE_RESP_OPEN_SEND,
	ROCE_RESP_OPEN_WRITE,
};

struct roce_requester {
	roce_psn_t una;		 /* oldest unacknowledged PSN */
	roce_psn_t next_psn;	 /* PSN of the packet to send next; steps back on retransmission */
	roce_psn_t max_psn;	 /* first PSN never sent */
	uint32_t inflight;	 /* cost charged to the peer's window */
	uint32_t read_inflight;	 /* cost charged to the transport's READ window */
	uint32_t rd_outstanding; /* READ requests and atomics on their way */
	uint32_t since_ack_req;	 /* packets since the last AckReq */
	uint8_t retries_left;
	uint8_t rnr_retries_left;
	uint8_t fruitless; /* restarts in a row without progress, see batching.c */
	bool is_rnr_waiting;
	bool is_restarted; /* implied-NAK restart done, none more until progress */
	bool is_drain_announced;
	const struct roce_list *waits_in; /* where wait_link is, if anywhere */
	struct roce_list *woken_from;	  /* until it has sent a packet or had its turn */
	roce_ns_t ack_deadline;		  /* ROCE_NEVER when nothing waits */
	roce_ns_t rnr_deadline;
};

struct roce_responder {
	roce_psn_t expected_psn;
	roce_psn_t open_psn; /* first of the open message */
	uint32_t msn;	     /* 24 bits */
	uint8_t open;	     /* enum roce_resp_open */
	bool is_nak_sent;    /* sequence NAK given, silent until an in-order packet */
	bool is_ack_pending;
	bool is_nak_pending;
	bool is_dup_ack_pending;
	bool is_comm_est_told;
	bool is_becn_owed; /* with ROCE_NOTIFY_ACK */
	uint8_t fruitless; /* rounds of READs asked for again, from the same one on */
	uint8_t nak_syndrome;
	roce_psn_t nak_psn;
	roce_psn_t ahead_psn; /* newest packet ahead since a sequence NAK was last owed */
	roce_psn_t ack_psn;
	roce_psn_t dup_ack_psn;
	roce_psn_t again_first; /* where the last round of READs asked for again began */
	roce_psn_t again_last;
	uint64_t received; /* bytes of the open message so far */
	uint64_t write_va; /* next byte of an open WRITE */
	uint64_t write_left;
	uint64_t write_total;
	roce_key_t write_rkey;
	uint32_t resource_count; /* entries in use; their limit is in resp_resource.c */
	uint32_t resource_head;	 /* index of the newest + 1, free running */
	uint32_t pending_count;	 /* resources with is_pending */
	struct roce_resp_resource resources[ROCE_MAX_RD_ATOMIC];
};

struct roce_qp_config {
	roce_qpn_t qpn;
	uint8_t type; /* enum roce_qp_type */
	bool sq_sig_all;
	struct roce_pd *pd;
	struct roce_cq *send_cq;
	struct roce_cq *recv_cq;
	struct roce_srq *srq; /* receives come from here; NULL: own receive queue */
	uint8_t port_mtu;     /* enum ibv_mtu: longest datagram of a UD QP */
	uint32_t max_send_wr; /* granted values, powers of two where wq.h says so */
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline;
	void *sq_storage; /* roce_send_queue_bytes() */
	void *rq_storage; /* roce_recv_queue_bytes() */
	/* With an SRQ and for XRC targets: room for one WQE of the largest SRQ, 8-aligned. */
	struct roce_recv_wqe *held_storage;
	void *owner; /* the verbs object */
};

struct roce_qp {
	struct roce_transport *t;
	struct roce_list ready_link; /* in the line of its class in t->ready */
	struct roce_list wait_link;  /* peer->waiters or t->read_waiters */
	struct roce_list cnp_link;   /* t->cnp_debtors */
	struct roce_timer timer;
	struct roce_qp_config cfg;
	struct roce_qp_attr attr; /* current values, as query returns them */
	uint32_t mtu;		  /* bytes */
	uint32_t read_chunk;	  /* packets, see roce_read_chunk_packets() */
	uint8_t tx_class;	  /* of what it sends next, see ready.h */
	bool is_responder_first;  /* the responder was left without room in the last turn */
	struct roce_peer *peer;
	struct roce_srq *srq; /* source of the receive WQE in hand, or of the next one */
	bool is_held;	      /* a WQE was taken from the SRQ: it is in held_storage */
	bool has_bound;	      /* windows, which may be bound still */
	struct roce_send_queue sq;
	struct roce_recv_queue rq;
	struct roce_pace_config rate; /* what the program limits its send queue to */
	struct roce_pace pace;
	roce_ns_t rate_late_ns; /* lateness that it may make up for */
	bool is_paced;		/* by anybody: else nobody is asked */
	bool is_rate_behind;	/* it had more to send when the last packet left, or was held */
	struct roce_cc cc;	/* off for UD */
	struct roce_notify notify;
	roce_ns_t pace_deadline; /* ROCE_NEVER: no packet is held back */
	struct roce_requester req;
	struct roce_responder resp;
};

/* Enters the QP in RESET; the QPN must be free in the table (false if not: draw another). */
bool roce_qp_init(struct roce_qp *qp, struct roce_transport *t, const struct roce_qp_config *cfg);
/* Takes it out of every list and table; its CQ entries are the caller's to clean. */
void roce_qp_fini(struct roce_qp *qp);

/* To the state in `attr` (ROCE_ATTR_STATE), and the attributes that `mask` names. Nothing changes
 * on failure. */
enum roce_modify_result roce_qp_modify(struct roce_qp *qp, const struct roce_qp_attr *attr,
				       uint32_t mask, roce_ns_t now, uint32_t *out_bad_mask);

/* What its controller lets it send now; the line rate while it is not limited, 0 without one. */
uint32_t roce_qp_controlled_rate(struct roce_qp *qp, roce_ns_t now);

/* The send queue's packets, as IP carries them, leave at no more than the rate; 0: no limit.
 * `burst_bytes`: what may leave back to back, a packet at least, whether the rate is reached so or
 * not; 0: what it takes to reach it, though we are called late.
 * Answers to the peer's requests are not held back. A RESET ends it. False in states and for types
 * that do not send. */
bool roce_qp_limit_rate(struct roce_qp *qp, uint32_t kbit_per_s, uint32_t burst_bytes);

/* Moves to ERR and flushes; for the owner's use (device gone, process leaving). */
void roce_qp_enter_error(struct roce_qp *qp, roce_ns_t now);

static inline enum roce_qp_state roce_qp_get_state(const struct roce_qp *qp)
{
	return (enum roce_qp_state)qp->attr.state;
}

/* ---- posting ---- */

struct roce_send_wr {
	uint64_t wr_id;
	const struct roce_sge *sge;
	uint32_t sge_count;
	uint8_t opcode;	 /* enum roce_wr_opcode */
	uint8_t flags;	 /* enum roce_send_flags */
	uint32_t imm_be; /* immediate (network order) or rkey to invalidate (host order) */
	uint64_t remote_addr;
	uint32_t rkey;
	uint64_t compare_add;
	uint64_t swap;
	/* UD: the address handle and where it leads. */
	const struct roce_path *path;
	uint32_t remote_qpn;
	uint32_t remote_qkey;
	uint32_t remote_srqn;		  /* XRC */
	const struct roce_mem_bind *bind; /* BIND_MW */
};

enum roce_post_result {
	ROCE_POST_OK,
	ROCE_POST_FULL,		/* ENOMEM */
	ROCE_POST_BAD_STATE,	/* EINVAL */
	ROCE_POST_BAD_OPCODE,	/* EINVAL */
	ROCE_POST_TOO_MANY_SGE, /* EINVAL */
	ROCE_POST_BAD_INLINE,	/* EINVAL: inline too long, or not allowed for this opcode */
	ROCE_POST_BAD_PATH,	/* EINVAL: UD without an address handle */
	ROCE_POST_BAD_LENGTH,	/* EINVAL: above 2^31, or an atomic with less than 8 bytes */
	ROCE_POST_BAD_FLAGS,	/* EINVAL: one that we do not know; found before the transport */
};

/* What is posted in the error state is taken and flushed. Nothing is taken on failure. */
enum roce_post_result roce_post_send(struct roce_qp *qp, const struct roce_send_wr *wr,
				     roce_ns_t now);
enum roce_post_result roce_post_recv(struct roce_qp *qp, uint64_t wr_id, const struct roce_sge *sge,
				     uint32_t sge_count, roce_ns_t now);

#endif
