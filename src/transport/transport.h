/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sans-IO RoCE transport of one host queue: packets and `now` in; packets, completions and the
 * next deadline out. It has no clock, lock, allocation or system call; the caller serialises all
 * calls and owns all storage.
 *
 * Pull, not push: roce_rx() never transmits, it marks a QP ready; roce_tx() drains, bounded. After
 * any call that may have made work (roce_rx, roce_post_send, roce_qp_modify, roce_on_deadline) ask
 * roce_tx() until it returns 0 or the caller's budget is spent.
 */
#ifndef ROCE_TRANSPORT_TRANSPORT_H
#define ROCE_TRANSPORT_TRANSPORT_H

#include "base/list.h"
#include "base/ns.h"
#include "base/timer_heap.h"
#include "cc/cc.h"
#include "cc/window.h"
#include "mem/mem.h"
#include "transport/counter.h"
#include "cc/pace.h"
#include "transport/ready.h"
#include "transport/timing.h"
#include "wire/packet.h"

struct roce_qp;
struct roce_cq;
struct roce_srq;

/* Values of enum ibv_event_type. */
enum roce_async_event {
	ROCE_EVENT_CQ_ERR = 0,
	ROCE_EVENT_QP_FATAL = 1,
	ROCE_EVENT_QP_REQ_ERR = 2,
	ROCE_EVENT_QP_ACCESS_ERR = 3,
	ROCE_EVENT_COMM_EST = 4,
	ROCE_EVENT_SQ_DRAINED = 5,
	ROCE_EVENT_QP_LAST_WQE_REACHED = 16,
};

/* What the transport tells its owner; called from inside the calls above, must not re-enter. */
struct roce_transport_ops {
	/* qp or cq is NULL as the event demands */
	void (*async_event)(void *ctx, enum roce_async_event event, struct roce_qp *qp,
			    struct roce_cq *cq);
	/* The XRC SRQ of this number in the domain of an XRC target, or NULL. May be absent. */
	struct roce_srq *(*find_xrc_srq)(void *ctx, const struct roce_qp *qp, uint32_t srqn);
};

/* What is sent again after a loss. */
enum roce_recovery {
	ROCE_RECOVERY_GO_BACK_N, /* from the missing packet on */
	/* The whole message, as early adapters did it, on both sides: with messages longer than the
	 * distance between losses nothing ever arrives. To show why. */
	ROCE_RECOVERY_GO_BACK_0,
};

struct roce_transport_config {
	const struct roce_transport_ops *ops;
	const struct roce_mem_ops *mem_ops;
	void *ctx;
	struct roce_counters *counters;
	struct roce_qp **qp_table; /* zeroed; indexed by QPN & qp_table_mask */
	uint32_t qp_table_mask;
	struct roce_mr **mr_buckets; /* zeroed, mr_bucket_count entries (a power of two) */
	uint32_t mr_bucket_count;
	struct roce_window_config window;
	uint32_t read_window;	       /* cost of READ responses that may be on their way to us */
	uint32_t read_chunk_packets;   /* at most what a READ asks for at once, see qp.c */
	uint32_t ack_interval_packets; /* AckReq at least every so many packets */
	uint32_t burst_packets;	       /* packets of one QP before the next QP's turn */
	struct roce_pace_config pace;  /* of UC and UD packets */
	/* Limits the rate of each RC, UC and XRC queue pair, whose data is then sent as ECN-capable
	 * (ECT(0)) and whose acknowledgements are not. NULL: no limit, ECN bits as the path has
	 * them. It stays the owner's. */
	const struct roce_cc_config *cc;
	struct roce_notify_config notify; /* what marked packets lead to */
	uint32_t link_bytes;   /* around an IP packet, to be counted against a rate of `cc` */
	uint32_t header_bytes; /* if not 0, `cc` counts payload and this instead */
	/* Packets of RC and UC carry so many bytes, if that is less than the path MTU: to be
	 * compared with simulators whose packets are not a power of two. The peer must do the same.
	 * 0: no. */
	uint32_t segment_bytes;
	/* Payload of SENDs and WRITEs of one queue pair that may be unacknowledged: no packet
	 * begins beyond. 0: no limit of its own. By rate: at so much of the line as `cc` allows. */
	uint32_t qp_window_bytes;
	bool is_qp_window_by_rate;
	enum roce_recovery recovery;	  /* the peer must have the same */
	const struct roce_timing *timing; /* of local ACK timeouts; NULL: the specification's */
	roce_ns_t ack_timeout_floor_ns;	  /* local ACK timeouts are at least this; 0: as asked */
};

/* One receive queue of a remote host, with the window that all our QPs towards it share.
 * Storage and reference count belong to the owner (verbs). */
struct roce_peer {
	struct roce_list link; /* t->peers */
	struct roce_gid dgid;
	uint8_t slot;
	uint32_t use_count;
	struct roce_window window;
	struct roce_list waiters; /* QPs that want room */
	struct roce_notify notify;
	roce_ns_t single_until; /* packets leave one by one till then: batches get lost */
	roce_ns_t single_ns;	/* for how long, the last time */
};

static inline bool roce_peer_is_single(const struct roce_peer *peer, roce_ns_t now)
{
	return now < peer->single_until;
}

struct roce_transport {
	struct roce_transport_config cfg;
	struct roce_key_table keys;
	struct roce_ready ready;      /* QPs with something to send */
	struct roce_list cnp_debtors; /* QPs that owe a CNP; they are sent before all else */
	struct roce_notify notify;
	struct roce_list peers;
	struct roce_list groups;       /* multicast attachments */
	struct roce_list read_waiters; /* QPs that wait for read_inflight to fall */
	uint32_t read_inflight;
	struct roce_pace pace;
	struct roce_timer_heap timers; /* items: the owner's, a place for each QP and each CQ */
	uint32_t qp_count;
	roce_ns_t latest_ns; /* the latest `now`: completions and timers rely on its order */
};

/* A UD QP that wants the packets of a multicast group. Storage belongs to the owner. */
struct roce_group_member {
	struct roce_list link; /* t->groups */
	struct roce_gid mgid;
	struct roce_qp *qp;
};

void roce_group_attach(struct roce_transport *t, struct roce_group_member *member,
		       const struct roce_gid *mgid, struct roce_qp *qp);
void roce_group_detach(struct roce_group_member *member);
struct roce_group_member *roce_group_find(struct roce_transport *t, const struct roce_gid *mgid,
					  const struct roce_qp *qp);

void roce_transport_init(struct roce_transport *t, const struct roce_transport_config *cfg);

/* The peer entry for (dgid, slot), or NULL: the owner makes one with roce_peer_add(). */
struct roce_peer *roce_peer_find(struct roce_transport *t, const struct roce_gid *dgid,
				 uint8_t slot);
void roce_peer_add(struct roce_transport *t, struct roce_peer *peer, const struct roce_gid *dgid,
		   uint8_t slot);
void roce_peer_remove(struct roce_peer *peer);

/* A packet, borrowed for the call. What it leads to (CQEs, events) is there on return, but for what
 * is to be sent: that waits for roce_tx(). Each verdict is counted here. */
enum roce_verdict roce_rx(struct roce_transport *t, const struct roce_rx_pkt *pkt, roce_ns_t now);

/* An armed CQ tells of `count` completions by one event, but of none later than `period_ns` after
 * it came; a failed one it tells of at once. Either 0: no moderation. What is held is told of now.
 */
void roce_cq_moderate(struct roce_transport *t, struct roce_cq *cq, uint32_t count,
		      roce_ns_t period_ns);
/* After an entry was pushed: the timer follows what the CQ holds back. */
void roce_cq_moderate_follow(struct roce_transport *t, struct roce_cq *cq);
/* The CQ goes: its timer leaves the transport. */
void roce_cq_leave(struct roce_transport *t, struct roce_cq *cq);

/* Up to `max` packets of the classes whose bits are set; consecutive ones of a QP stand together.
 * Payload references are valid until the next call into the transport. A QP's class is the low
 * three bits of its path's service level, that of a UD QP is of the datagram it sends next. CNPs
 * have a class of their own. */
size_t roce_tx_classes(struct roce_transport *t, uint32_t classes, struct roce_tx_pkt *pkts,
		       size_t max, roce_ns_t now);

/* The same of all classes. */
static inline size_t roce_tx(struct roce_transport *t, struct roce_tx_pkt *pkts, size_t max,
			     roce_ns_t now)
{
	return roce_tx_classes(t, ROCE_TX_CLASSES_ALL, pkts, max, now);
}

/* An ACK or a NAK that this QP owes, out of turn and whatever its class: for an adapter that
 * answers each request when it comes, instead of once for all that came meanwhile. 0 when it owes
 * none, or READ responses, which go before it. */
size_t roce_tx_answer(struct roce_transport *t, roce_qpn_t qpn, struct roce_tx_pkt *pkt,
		      roce_ns_t now);

/* The bits of the classes that may have something to send. */
static inline uint32_t roce_tx_waiting(const struct roce_transport *t)
{
	if (roce_list_is_empty(&t->cnp_debtors))
		return t->ready.waiting;
	return t->ready.waiting | 1u << t->cfg.notify.tx_class;
}

/* The QP that was made ready last; NULL when there is none, or when more than one class waits. */
struct roce_qp *roce_tx_last_ready(const struct roce_transport *t);

/* The payload of `pkt` could not be read (memory gone): fails its WQE or READ as the specification
 * says. Later packets of that QP from the same roce_tx() may still be sent; they do no harm. */
void roce_tx_fault(struct roce_transport *t, const struct roce_tx_pkt *pkt, roce_ns_t now);

static inline bool roce_tx_is_pending(const struct roce_transport *t)
{
	return roce_tx_waiting(t) != 0;
}

/* When roce_on_deadline() wants to be called next; ROCE_NEVER if never. */
roce_ns_t roce_deadline(const struct roce_transport *t);
void roce_on_deadline(struct roce_transport *t, roce_ns_t now);

#endif
