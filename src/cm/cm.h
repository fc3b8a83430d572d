/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sans-IO connection manager of one namespace: management datagrams and `now` in; datagrams,
 * reports and the next deadline out. It knows connections, listeners and their owners (client
 * programs), and nothing of sockets, clocks or queue pairs. The caller serialises all calls and
 * owns all storage.
 *
 * Pull, not push: no call transmits or reports by itself. After roce_cm_rx() or
 * roce_cm_on_deadline(), pull roce_cm_next_report() until it says false, then roce_cm_tx() until it
 * says 0. roce_cm_rx() asserts that no report of an earlier call is left, because what a report
 * shows of a message is kept only until the next one.
 *
 * An ID is a communication ID, that is one end of one connection (or of one SIDR exchange). It is
 * born in roce_cm_connect(), roce_cm_sidr_connect(), roce_cm_restore() or with a CONNECT_REQUEST
 * report, and is the owner's until roce_cm_destroy(), whatever has become of the connection; the
 * pointer is dead after that, though the CM keeps the number in quarantine as long as needed.
 *
 * Every attempt ends in exactly one report:
 *   active RC    CONNECT_RESPONSE (then roce_cm_establish(), _reject() or _destroy()), REJECTED or
 *                UNREACHABLE; later REJECTED or DISCONNECTED, then TIMEWAIT_EXIT after the latter
 *   passive RC   after roce_cm_accept(): ESTABLISHED, REJECTED, UNREACHABLE or DISCONNECTED (when
 *                the peer leaves before its RTU came through); then DISCONNECTED as above.
 *                Before it: none; a peer that goes away shows as -EINVAL of roce_cm_accept()
 *   active UD    ESTABLISHED or UNREACHABLE;   passive UD: none
 */
#ifndef ROCE_CM_CM_H
#define ROCE_CM_CM_H

#include "base/addr.h"
#include "base/list.h"
#include "base/ns.h"
#include "base/timer_heap.h"
#include "cm/counter.h"
#include "wire/cm_mad.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Defaults of the RDMA CM: 5-bit times are 4.096 us << n. */
#define ROCE_CM_RESPONSE_TIMEOUT 20u
#define ROCE_CM_MAX_RETRIES	 15u
#define ROCE_CM_PACKET_LIFETIME	 16u
#define ROCE_CM_TARGET_ACK_DELAY 15u
#define ROCE_CM_BACKLOG_MAX	 1024u

/* What the owner of an ID is told; a program sees these as events of rdma_cm, whose numbers they
 * have. */
#define ROCE_CM_REPORT_LIST(X) \
	X(CONNECT_REQUEST, 4)  \
	X(CONNECT_RESPONSE, 5) \
	X(UNREACHABLE, 7)      \
	X(REJECTED, 8)         \
	X(ESTABLISHED, 9)      \
	X(DISCONNECTED, 10)    \
	X(TIMEWAIT_EXIT, 15)

enum roce_cm_report_type {
#define X(name, value) ROCE_CM_REPORT_##name = (value),
	ROCE_CM_REPORT_LIST(X)
#undef X
};

const char *roce_cm_report_str(enum roce_cm_report_type type);

/* States of an ID as the specification names them. */
#define ROCE_CM_STATE_LIST(X) \
	X(IDLE)               \
	X(REQ_SENT)           \
	X(MRA_REQ_RCVD)       \
	X(REP_RCVD)           \
	X(MRA_REP_SENT)       \
	X(REQ_RCVD)           \
	X(MRA_REQ_SENT)       \
	X(REP_SENT)           \
	X(MRA_REP_RCVD)       \
	X(ESTABLISHED)        \
	X(DREQ_SENT)          \
	X(DREQ_RCVD)          \
	X(TIMEWAIT)           \
	X(SIDR_REQ_SENT)      \
	X(SIDR_REQ_RCVD)      \
	X(SIDR_REP_SENT)

enum roce_cm_state {
#define X(name) ROCE_CM_STATE_##name,
	ROCE_CM_STATE_LIST(X)
#undef X
		ROCE_CM_STATE_COUNT,
};

const char *roce_cm_state_str(enum roce_cm_state state);

/* How a connection's datagrams travel; seen from this end. */
struct roce_cm_route {
	struct roce_gid local;
	struct roce_gid remote;
	uint32_t scope;	     /* interface of a link-local address, else 0 */
	uint32_t flow_label; /* 20 bits */
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t sl;
};

struct roce_cm_packet {
	struct roce_cm_route route;
	uint8_t mad[ROCE_MAD_BYTES];
};

/* What kind of queue pair is connected; values of enum ibv_qp_type. */
enum roce_cm_qp_type {
	ROCE_CM_QP_ANY = 0, /* of listeners only */
	ROCE_CM_QP_RC = 2,
	ROCE_CM_QP_UC = 3,
	ROCE_CM_QP_UD = 4,
	ROCE_CM_QP_XRC_SEND = 9,
	ROCE_CM_QP_XRC_RECV = 10,
};

/* Connection parameters. In reports: what the peer said, not yet swapped for this side, so
 * responder_resources is what the peer offers as responder. */
struct roce_cm_params {
	roce_qpn_t qpn;
	roce_psn_t starting_psn; /* first PSN that the sender of the message accepts */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry_count; /* REQ only */
	uint8_t rnr_retry_count;
	uint8_t target_ack_delay; /* REP only */
	bool flow_control;
	bool srq;
	uint32_t qkey;
	uint64_t ca_guid;	 /* of the sender's device; not 0 */
	uint32_t vendor_id;	 /* ECE: 24 bits; 0 none */
	uint32_t vendor_options; /* ECE: the MAD's attribute modifier */
};

/* Private data to send: up to the capacity of the message, else -EINVAL. */
struct roce_cm_data {
	const uint8_t *data;
	uint16_t length;
};

/* One client program. Storage is the caller's; zero it with roce_cm_owner_init(). */
struct roce_cm_owner {
	struct roce_list ids;
	struct roce_list listeners;
	uint32_t id_count;
	uint32_t half_open_count;
	uint32_t listener_count;
};

struct roce_cm;
struct roce_cm_id;
struct roce_cm_listener;

struct roce_cm_ops {
	uint64_t (*random)(void *ctx); /* unpredictable: comm IDs come from here */
};

struct roce_cm_config {
	const struct roce_cm_ops *ops;
	void *ctx;
	uint32_t id_max;    /* ids of all owners, with those in quarantine */
	uint32_t held_max;  /* finished ids kept only to know late duplicates: oldest go first */
	uint32_t reply_max; /* answers that belong to no ID, waiting for roce_cm_tx() */
	uint32_t listener_max;
	uint32_t half_open_max;
	uint32_t owner_id_max;
	uint32_t owner_half_open_max;
	uint32_t owner_listener_max;
};

/* Bytes that a CM with these limits needs; it touches them only as far as it comes to use them. */
size_t roce_cm_storage_bytes(const struct roce_cm_config *cfg);

/* `storage` is zeroed and aligned as malloc aligns; the result points into it. */
struct roce_cm *roce_cm_init(void *storage, const struct roce_cm_config *cfg);

const struct roce_cm_counters *roce_cm_counters(const struct roce_cm *cm);

/* What is in use at this moment. */
struct roce_cm_usage {
	uint32_t ids;	    /* all, with those of nobody */
	uint32_t held;	    /* of these: finished, kept only to know late duplicates */
	uint32_t half_open; /* of these: being set up */
};

struct roce_cm_usage roce_cm_usage(const struct roce_cm *cm);

void roce_cm_owner_init(struct roce_cm_owner *owner);
/* Destroys what the owner has left: listeners, then ids (see roce_cm_destroy()). */
void roce_cm_owner_fini(struct roce_cm *cm, struct roce_cm_owner *owner, roce_ns_t now);

/* ---- datagrams and time ---- */

/* One MAD that came in for QP1: `route` is as seen from here, ICRC and Q_Key are checked. */
enum roce_cm_verdict roce_cm_rx(struct roce_cm *cm, const struct roce_cm_route *route,
				const uint8_t *mad, size_t len, roce_ns_t now);
size_t roce_cm_tx(struct roce_cm *cm, struct roce_cm_packet *out, size_t max);
bool roce_cm_tx_is_pending(const struct roce_cm *cm);
/* ROCE_NEVER if none. */
roce_ns_t roce_cm_deadline(const struct roce_cm *cm);
void roce_cm_on_deadline(struct roce_cm *cm, roce_ns_t now);

/* A message that roce_cm_rx() would deny for want of an ID or a listener. While those are being
 * restored it is better not to answer at all. */
bool roce_cm_would_deny(struct roce_cm *cm, const struct roce_cm_route *route, const uint8_t *mad,
			size_t len);
/* An ID uses this local address; one that is only kept to know duplicates does not count. */
bool roce_cm_has_address(const struct roce_cm *cm, const struct roce_gid *local, uint32_t scope);
/* Some peer has not yet answered a DREQ. */
bool roce_cm_is_closing(const struct roce_cm *cm);

/* ---- reports ---- */

struct roce_cm_report {
	enum roce_cm_report_type type;
	/* REJECTED: reason of the REJ. UNREACHABLE: -ETIMEDOUT, or the status of the SIDR_REP.
	 * DISCONNECTED: 0, or -ETIMEDOUT when the peer never answered. Else 0. */
	int status;
	struct roce_cm_id *id; /* CONNECT_REQUEST: the new child */
	void *user;	       /* of the id; NULL for a new child */
	struct roce_cm_owner *owner;
	struct roce_cm_listener *listener; /* CONNECT_REQUEST only */
	void *listener_user;
	bool is_ud; /* CONNECT_REQUEST, ESTABLISHED, UNREACHABLE of a SIDR exchange */
	/* CONNECT_REQUEST (REQ), CONNECT_RESPONSE (REP); UD ESTABLISHED: qpn and qkey */
	struct roce_cm_params params;
	/* All that the message carries without the IP header: REQ 56, REP 196, REJ 148, SIDR_REQ
	 * 180, SIDR_REP 136; 0 where no message stands behind the report. */
	uint16_t private_len;
	uint8_t private_data[ROCE_CM_PRIVATE_BYTES_MAX];
};

/* The oldest report; false when there is none. */
bool roce_cm_next_report(struct roce_cm *cm, struct roce_cm_report *out);

/* ---- ids ---- */

/* Who an ID is and whom it is connected with. Enough to bring a connection back after a restart. */
struct roce_cm_info {
	enum roce_cm_state state;
	enum roce_cm_qp_type qp_type;
	bool is_active;
	uint32_t local_id; /* unique in this CM: a handle for messages */
	uint32_t remote_id;
	uint64_t tid;	   /* of the REQ */
	uint64_t dreq_tid; /* of the DREQ sent or received */
	roce_qpn_t local_qpn;
	roce_qpn_t remote_qpn;
	uint64_t local_guid;
	uint64_t remote_guid;
	uint16_t port_space;
	uint16_t src_port; /* of the active side */
	uint16_t dst_port; /* of the listener */
	struct roce_cm_route route;
	uint8_t mtu; /* code of the path, 0 for SIDR */
	uint8_t rate;
	uint8_t ack_timeout;	  /* 5 bits: how long TIMEWAIT lasts */
	uint8_t response_timeout; /* 5 bits: how fast the peer's CM answers */
	uint8_t packet_lifetime;  /* active side only */
	uint8_t max_retries;
};

/* The ACK timeout of a QP on a path: both 5-bit times, the second one of the far device. */
uint8_t roce_cm_ack_timeout(uint8_t packet_lifetime, uint8_t ack_delay);

void roce_cm_id_info(const struct roce_cm_id *id, struct roce_cm_info *out);
enum roce_cm_state roce_cm_id_state(const struct roce_cm_id *id);
/* The living ID of this number, or NULL; not one that its owner has destroyed. */
struct roce_cm_id *roce_cm_find(struct roce_cm *cm, uint32_t local_id);
void roce_cm_id_set_user(struct roce_cm_id *id, void *user);
void *roce_cm_id_user(const struct roce_cm_id *id);
struct roce_cm_owner *roce_cm_id_owner(const struct roce_cm_id *id);

struct roce_cm_connect {
	struct roce_cm_owner *owner;
	void *user;
	enum roce_cm_qp_type qp_type; /* not UD */
	struct roce_cm_route route;
	uint16_t port_space;
	uint16_t src_port;
	uint16_t dst_port;
	struct roce_cm_params params;
	uint8_t mtu;		  /* code 1 to 5 */
	uint8_t rate;		  /* 6 bits */
	uint8_t packet_lifetime;  /* 5 bits: one way */
	uint8_t ack_timeout;	  /* 5 bits: of the local QP, see roce_cm_ack_timeout() */
	uint8_t response_timeout; /* 5 bits, both directions */
	uint8_t max_retries;	  /* 4 bits */
	struct roce_cm_data data; /* at most 56 bytes */
};

/* Errors of calls on ids: -EINVAL for a parameter, a state or too much private data; -ENOMEM when
 * a table or a limit is full (counted). */

int roce_cm_connect(struct roce_cm *cm, const struct roce_cm_connect *c, roce_ns_t now,
		    struct roce_cm_id **out_id) __attribute__((warn_unused_result));

struct roce_cm_sidr_connect {
	struct roce_cm_owner *owner;
	void *user;
	struct roce_cm_route route;
	uint16_t port_space;
	uint16_t src_port;
	uint16_t dst_port;
	uint8_t response_timeout;
	uint8_t max_retries;
	struct roce_cm_data data; /* at most 180 bytes */
};

int roce_cm_sidr_connect(struct roce_cm *cm, const struct roce_cm_sidr_connect *c, roce_ns_t now,
			 struct roce_cm_id **out_id) __attribute__((warn_unused_result));

/* The program has read a CONNECT_REQUEST: the child no longer counts against the backlog. Implied
 * by the calls that answer it; harmless when repeated. */
void roce_cm_take(struct roce_cm *cm, struct roce_cm_id *id);

/* REP. With UD, SIDR_REP: only params.qpn, params.qkey and data (at most 136 bytes) count. */
int roce_cm_accept(struct roce_cm *cm, struct roce_cm_id *id, const struct roce_cm_params *params,
		   const struct roce_cm_data *data, roce_ns_t now)
	__attribute__((warn_unused_result));

/* REJ from either side before ESTABLISHED, or SIDR_REP with status 2. The ID becomes idle. */
int roce_cm_reject(struct roce_cm *cm, struct roce_cm_id *id, enum roce_cm_rej_reason reason,
		   const struct roce_cm_data *data, roce_ns_t now)
	__attribute__((warn_unused_result));

/* RTU, after CONNECT_RESPONSE. */
int roce_cm_establish(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
	__attribute__((warn_unused_result));

/* Data came before the RTU: ESTABLISHED on the passive side. -EISCONN when it is already. */
int roce_cm_notify(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
	__attribute__((warn_unused_result));

/* DREQ, or the DREP to one that came in. */
int roce_cm_disconnect(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now)
	__attribute__((warn_unused_result));

/*
 * Gives the ID up, in any state; reports not yet pulled are dropped. What the peer is sent:
 *   REQ_SENT, MRA_REQ_RCVD                        REJ 4 (timeout)
 *   REQ_RCVD, MRA_REQ_SENT, REP_SENT, REP_RCVD, MRA_REP_*   REJ 28
 *   ESTABLISHED                                   DREQ, repeated until answered
 *   DREQ_RCVD                                     DREP
 *   SIDR_REQ_RCVD                                 SIDR_REP with status 2
 */
void roce_cm_destroy(struct roce_cm *cm, struct roce_cm_id *id, roce_ns_t now);

/* As roce_cm_destroy(), but nobody is told anything: somebody else will take the connection up. */
void roce_cm_forget(struct roce_cm *cm, struct roce_cm_id *id);

bool roce_cm_can_restore(enum roce_cm_state state);

/* A connection of before a restart: `info` as roce_cm_id_info() gave it in ESTABLISHED, DREQ_RCVD,
 * DREQ_SENT (then a DREQ goes out anew), REP_SENT or MRA_REP_RCVD (then one goes out as well).
 * -EEXIST when one of the numbers is taken. */
int roce_cm_restore(struct roce_cm *cm, struct roce_cm_owner *owner, void *user,
		    const struct roce_cm_info *info, roce_ns_t now, struct roce_cm_id **out_id)
	__attribute__((warn_unused_result));

/* ---- listeners ---- */

struct roce_cm_listen {
	struct roce_cm_owner *owner;
	void *user;
	enum roce_cm_qp_type qp_type; /* what it takes; UD: SIDR */
	uint16_t port_space;
	uint16_t port;
	bool is_wildcard; /* else `address` */
	struct roce_gid address;
	uint32_t scope;	  /* of a link-local address, else 0 */
	bool takes_v4;	  /* wildcard: IPv4 requests */
	bool takes_v6;	  /* wildcard: IPv6 requests */
	uint32_t backlog; /* CONNECT_REQUESTs not yet taken; 0: the maximum */
};

/* -EADDRINUSE when there is a listener for the same requests; -ENOMEM. A request goes to the
 * listener on its own address before one on a wildcard, and there to the one of its own family
 * before one that takes both. */
int roce_cm_listen(struct roce_cm *cm, const struct roce_cm_listen *l,
		   struct roce_cm_listener **out_listener) __attribute__((warn_unused_result));
/* Children that were not taken are destroyed with it; others live on. */
void roce_cm_unlisten(struct roce_cm *cm, struct roce_cm_listener *listener, roce_ns_t now);

#endif
