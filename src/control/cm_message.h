/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What librdmacm.so.1 and the connection manager in uroced say to each other: the bodies of the
 * messages CM, CM_OK and CM_EVENT (message.h has the framing and the other types).
 *
 * A connection id of the program is a `handle`: one number per session, chosen by the client for
 * ids that it makes and by the daemon, with ROCE_CM_HANDLE_CHILD set, for the child that a
 * CONNECT_REQUEST brings. Every CM request but TAKEN is answered, by CM_OK or by ERROR with the
 * errno that the rdma_*() call shall give; what happens later is a CM_EVENT, in order, sequence 0.
 * Requests of one session are served in order, so that after the answer to DESTROY no event of the
 * handle comes any more and its port is free.
 *
 * After uroced was replaced the client names every id again (RESTORE, then RESTORED), with the
 * newest `saved` bytes that it was given: the daemon's own notes about a dialogue, opaque to the
 * client. An id without them in a dialogue ends with the error event of that dialogue.
 */
#ifndef ROCE_CONTROL_CM_MESSAGE_H
#define ROCE_CONTROL_CM_MESSAGE_H

#include <stdint.h>

#include "control/address.h"

#define ROCE_CM_HANDLE_CHILD UINT32_C(0x80000000)
#define ROCE_CM_PRIVATE_MAX  224 /* the largest private data of any message: RTU, DREP */
#define ROCE_CM_SAVED_MAX    512

/*
 * X(NAME, value, body): the member of struct roce_cm_request that it uses.
 *
 * BIND        port of an address; zero GID: all addresses of the family. EADDRINUSE,
 *             EADDRNOTAVAIL, EACCES, EINVAL (bound already)
 * LISTEN      EADDRINUSE, EINVAL (not bound)
 * CONNECT     REQ, or SIDR_REQ for datagrams. EINVAL (not bound, in a dialogue)
 * ACCEPT      REP, or SIDR_REP. EINVAL: the peer has gone
 * REJECT      REJ, or SIDR_REP with status 2; also by the active side instead of ESTABLISH
 * ESTABLISH   RTU, after CONNECT_RESPONSE
 * DISCONNECT  DREQ, or DREP if a DREQ has come. EINVAL: never connected
 * NOTIFY      data has come on a connection whose RTU has not. EISCONN
 * TAKEN       the program has read this child's CONNECT_REQUEST: it counts no longer against the
 *             backlog, and lives on when the listener is destroyed. No answer
 * DESTROY     sends what the state asks for; an unread child goes with its listener
 * RESTORE     after a reconnect: the id as it was. ESTALE: cannot be; ends with an event
 * RESTORED    no more of them
 */
#define ROCE_CM_OPS(X)          \
	X(BIND, 1, bind)        \
	X(LISTEN, 2, listen)    \
	X(CONNECT, 3, connect)  \
	X(ACCEPT, 4, accept)    \
	X(REJECT, 5, reject)    \
	X(ESTABLISH, 6, none)   \
	X(DISCONNECT, 7, none)  \
	X(NOTIFY, 8, none)      \
	X(TAKEN, 9, none)       \
	X(DESTROY, 10, none)    \
	X(RESTORE, 11, restore) \
	X(RESTORED, 12, none)

enum roce_cm_op {
#define X(name, value, body) ROCE_CM_##name = (value),
	ROCE_CM_OPS(X)
#undef X
};

/* The numbers of enum rdma_cm_event_type. What is missing happens in the library. */
#define ROCE_CM_EVENTS(X)      \
	X(CONNECT_REQUEST, 4)  \
	X(CONNECT_RESPONSE, 5) \
	X(CONNECT_ERROR, 6)    \
	X(UNREACHABLE, 7)      \
	X(REJECTED, 8)         \
	X(ESTABLISHED, 9)      \
	X(DISCONNECTED, 10)    \
	X(TIMEWAIT_EXIT, 15)

enum roce_cm_event_type {
#define X(name, value) ROCE_CM_EVENT_##name = (value),
	ROCE_CM_EVENTS(X)
#undef X
};

enum roce_cm_transport {
	ROCE_CM_TRANSPORT_RC = 0,
	ROCE_CM_TRANSPORT_UC = 1,
	ROCE_CM_TRANSPORT_XRC = 3,
	ROCE_CM_TRANSPORT_UD = 4, /* SIDR: on the wire it has no number */
};

#define ROCE_CM_BIND_REUSE   UINT32_C(1) /* RDMA_OPTION_ID_REUSEADDR */
#define ROCE_CM_BIND_AF_ONLY UINT32_C(2) /* an IPv6 wildcard that takes no IPv4 */

struct roce_cm_bind {
	uint16_t port_space; /* RDMA_PS_* */
	uint8_t family;	     /* 4 or 6 */
	struct roce_address address;
	uint16_t port;	/* host order; 0: any free one */
	uint32_t flags; /* ROCE_CM_BIND_* */
};

/* Both ends' addresses and the fields of a path record that RoCE has. */
struct roce_cm_path {
	struct roce_address local; /* ifindex also when it is not link-local, if it is known */
	struct roce_gid remote;
	uint32_t flow_label;
	uint16_t pkey;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t sl;
	uint8_t mtu;  /* enum ibv_mtu */
	uint8_t rate; /* enum ibv_rate; 0: of the port */
	uint8_t packet_life;
};

/* Named as the field of REQ or REP that it goes to or comes from: no swapping of the depths here.
 */
struct roce_cm_conn {
	uint32_t qpn;
	uint32_t qkey;	       /* SIDR_REP */
	uint32_t starting_psn; /* the first that the sender of this message will accept */
	uint32_t ece_vendor;   /* 24 bits; 0: no ECE */
	uint32_t ece_options;  /* in the attribute modifier */
	uint8_t transport;     /* enum roce_cm_transport */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t flow_control; /* 0 or 1 */
	uint8_t retry_count;  /* REQ */
	uint8_t rnr_retry_count;
	uint8_t srq;	     /* 0 or 1 */
	uint8_t ack_timeout; /* REQ: primary local ACK timeout, the 5-bit exponent */
	uint8_t ack_delay;   /* REP: target ACK delay */
};

/*
 * Of a request: what the program gave. Of an event: the capacity of the message, zero-padded; of a
 * CONNECT_REQUEST without the 36 bytes of IP addressing, which only the daemon writes and reads.
 */
struct roce_cm_private {
	uint8_t length;
	uint8_t data[ROCE_CM_PRIVATE_MAX];
};

struct roce_cm_saved {
	uint16_t length; /* 0: none */
	uint8_t data[ROCE_CM_SAVED_MAX];
};

struct roce_cm_request {
	uint32_t handle;
	enum roce_cm_op op;
	union {
		struct roce_cm_bind bind;
		struct {
			uint32_t backlog; /* at least 1 */
			uint32_t flags;	  /* ROCE_CM_BIND_*: may have changed since BIND */
		} listen;
		struct {
			struct roce_cm_path path;
			uint16_t remote_port; /* host order */
			struct roce_cm_conn conn;
			struct roce_cm_private private_data; /* at most 56; UD 180 */
		} connect;
		struct {
			struct roce_cm_conn conn;
			struct roce_cm_private private_data; /* at most 196; UD 136 */
		} accept;
		struct {
			uint16_t reason;		     /* 28 or 35 */
			struct roce_cm_private private_data; /* at most 148; UD 136 */
		} reject;
		struct {
			struct roce_cm_bind bind; /* with the port that it had */
			uint32_t backlog;	  /* 0: it does not listen */
			struct roce_cm_saved saved;
		} restore;
	};
};

/* The answer. */
struct roce_cm_ok {
	uint32_t handle;
	uint16_t port; /* of the id, host order; 0: not bound */
	struct roce_cm_saved saved;
};

struct roce_cm_event {
	uint32_t handle;
	uint32_t listener; /* CONNECT_REQUEST: whose child; else 0 */
	enum roce_cm_event_type event;
	int32_t status; /* 0; -errno; REJECTED: the reason; UNREACHABLE: the SIDR status */
	/* CONNECT_REQUEST: of the header in the private data, which a program reads as addresses.
	 */
	struct roce_gid local_ip, remote_ip;
	uint16_t local_port, remote_port; /* host order */
	struct roce_cm_path path;	  /* CONNECT_REQUEST; UD ESTABLISHED: of the answer */
	struct roce_cm_conn conn; /* CONNECT_REQUEST, CONNECT_RESPONSE, UD ESTABLISHED; else 0 */
	struct roce_cm_private private_data;
	struct roce_cm_saved saved; /* length 0: what there was no longer holds */
};

const char *roce_cm_op_str(enum roce_cm_op op);
const char *roce_cm_event_type_str(enum roce_cm_event_type type);

struct roce_cursor;
void roce_cm_request_transfer(struct roce_cursor *c, struct roce_cm_request *r);
void roce_cm_ok_transfer(struct roce_cursor *c, struct roce_cm_ok *ok);
void roce_cm_event_transfer(struct roce_cursor *c, struct roce_cm_event *e);

#endif
