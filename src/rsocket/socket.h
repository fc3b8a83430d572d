/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stream rsocket and what its parts do to it: connect.c and listen.c bring it up, stream.c moves
 * its completions, credits and notices, transfer.c its data, wait.c lets a thread sleep until
 * something is true, shutdown.c ends it. Everything is built on public verbs and the public
 * connection manager alone.
 *
 * Locks, in this order: the service's (service.h), a direction's (send_lock, recv_lock: one caller
 * a direction, held while it sleeps), `lock` (all the rest of a socket; never held while anybody
 * sleeps). A listener's `lock` may be taken inside that of one of its children.
 *
 * Numbers of the protocol are 16 bits and wrap: a sender tests its sequence number against the
 * limit for equality, a receiver takes a signed difference.
 */
#ifndef ROCE_RSOCKET_SOCKET_H
#define ROCE_RSOCKET_SOCKET_H

#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/list.h"
#include "rsocket/config.h"
#include "rsocket/wire.h"

#define ROCE_RS_CONTROL_SENDS 4	   /* send WQEs kept for credits and notices */
#define ROCE_RS_SEND_MIN      2048 /* free bytes of the send ring without which nothing is sent */
#define ROCE_RS_CHUNK_MAX     65536
#define ROCE_RS_WAITING_MAX   256 /* connections of a listener that nobody has accepted yet */
#define ROCE_RS_INLINE_MIN    ROCE_RS_MAPPING_BYTES /* list entries always fit */

struct roce_ds;

enum roce_rs_state {
	ROCE_RS_IDLE,
	ROCE_RS_BOUND,
	ROCE_RS_LISTENING,
	ROCE_RS_RESOLVING_ADDRESS, /* the three steps of rconnect() */
	ROCE_RS_RESOLVING_ROUTE,
	ROCE_RS_CONNECTING,
	ROCE_RS_ACCEPTING, /* a listener's child before its RTU */
	ROCE_RS_CONNECTED,
	ROCE_RS_DISCONNECTED, /* what has arrived can still be read */
	ROCE_RS_FAILED,
};

/* One that has arrived: DATA is in the ring, in this order. */
struct roce_rs_message {
	uint32_t left; /* bytes that were not read yet */
};

/* A buffer that riomap() registered. */
struct roce_rs_mapping {
	struct roce_list link;
	struct ibv_mr *mr;
	uint64_t offset;
	int index;	 /* in the peer's table; -1 local only */
	bool is_pending; /* the peer was not told yet */
};

struct roce_rs {
	int fd;			  /* of `channel`, or of the UDP socket */
	struct roce_ds *datagram; /* NULL: a stream, all below is for those */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct roce_rs_sizes sizes; /* fixed once connecting */
	int fd_flags;		    /* O_NONBLOCK of the program */
	pid_t owner;
	int domain;

	pthread_mutex_t send_lock;
	pthread_mutex_t recv_lock;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* with `lock`: for those that wait behind the watcher */
	int watcher_fd;		/* eventfd of the thread that sleeps on the CQ; -1 none */
	unsigned poller_count;	/* threads in rpoll() with this socket in their set */

	enum roce_rs_state state;
	bool was_connected;
	bool is_readable; /* while connected: the peer may still send */
	bool is_writable;
	bool is_done;	   /* our SHUTDOWN is posted */
	bool is_peer_done; /* its SHUTDOWN came */
	int error;	   /* SO_ERROR, a positive errno */
	int route_tries;   /* of a nonblocking rconnect() */

	struct ibv_comp_channel *cq_channel;
	struct ibv_cq *cq;
	bool is_armed;

	/* Sending. */
	unsigned send_room;    /* free send WQEs but the control ones */
	unsigned control_room; /* free ones of ROCE_RS_CONTROL_SENDS */
	uint32_t inline_max;
	uint16_t sent_sequence;
	uint16_t sent_limit;
	struct roce_rs_sge
		target[ROCE_RS_LIST_LENGTH]; /* halves of the peer's ring; length 0: full */
	unsigned target_index;
	uint8_t *send_ring;
	struct ibv_mr *send_mr;
	uint32_t send_position;
	uint32_t send_free;	      /* bytes */
	struct roce_rs_sge peer_list; /* where we publish halves of ours; length: entries */
	uint32_t peer_list_next;
	bool is_peer_swapped;

	/* Receiving. */
	uint8_t *list; /* the peer writes here: two SGEs, then mappings */
	struct ibv_mr *list_mr;
	uint8_t *ring;
	struct ibv_mr *ring_mr;
	uint32_t ring_position; /* of the next byte to read */
	uint32_t ring_free;	/* read since a half was published last */
	uint32_t publish_position;
	uint32_t unread;		  /* bytes of all messages that wait */
	struct roce_rs_message *messages; /* circular, message_slots of them */
	unsigned message_slots;
	unsigned message_head;
	unsigned message_count;
	uint16_t received_sequence;
	uint16_t credit_threshold;

	/* riomap. */
	struct roce_rs_sge peer_mappings; /* where ours are published; length: entries */
	struct roce_list mappings;
	bool has_pending_mapping;

	/* A listener's, and its children's. */
	struct roce_rs *listener;
	struct roce_list sibling;  /* of a child: in `children` or `accepted` */
	struct roce_list children; /* not connected yet */
	struct roce_list accepted; /* for raccept() */
	unsigned waiting;	   /* children of both kinds */
	bool is_paused;		   /* the service does not look: too many wait */
	int accepted_fd;	   /* eventfd, semaphore: their number */

	unsigned keepalive_s;  /* 0: not chosen yet; in force with ROCE_RS_OPTION_KEEPALIVE */
	uint64_t keepalive_ms; /* this and the next two: the service's own */
	uint64_t keepalive_at_ms;
	struct roce_list keepalive_link;
	int option_bits; /* SO_* that are only remembered: ROCE_RS_OPTION_* */
	struct linger linger;

	uint64_t give_up_at_ms; /* rshutdown() and rclose() wait no longer; 0: none does */
	uint64_t patience_ms;
};

#define ROCE_RS_OPTION_REUSEADDR 1
#define ROCE_RS_OPTION_OOBINLINE 2
#define ROCE_RS_OPTION_NODELAY	 4
#define ROCE_RS_OPTION_V6ONLY	 8
#define ROCE_RS_OPTION_KEEPALIVE 16

/* socket.c */
int roce_rs_create(struct roce_rs **out, int domain);
/* Everything but the descriptor table; NULL is allowed. */
void roce_rs_destroy(struct roce_rs *rs);
/* To be called with every change that a sleeping thread may wait for; lock held. */
void roce_rs_notify(struct roce_rs *rs);
void roce_rs_fail(struct roce_rs *rs, int error);
/* Set-up runs: neither done nor failed. */
bool roce_rs_is_connecting(const struct roce_rs *rs);
bool roce_rs_is_nonblocking(const struct roce_rs *rs, int flags);

/* endpoint.c: queue pair, buffers and connection data; lock held, 0 or -errno. */
int roce_rs_endpoint_create(struct roce_rs *rs);
void roce_rs_endpoint_destroy(struct roce_rs *rs);
void roce_rs_endpoint_describe(const struct roce_rs *rs, uint8_t *out_connect_data);
/* -EPROTONOSUPPORT: not our version, or nonsense. */
int roce_rs_endpoint_apply(struct roce_rs *rs, const uint8_t *data, size_t length);

/* connect.c */
/* rconnect(): takes the lock itself. -EINPROGRESS on a nonblocking socket. */
int roce_rs_connect(struct roce_rs *rs, const struct sockaddr *address);
/* Takes what the connection manager has to say, of any socket; lock held. */
void roce_rs_on_cm(struct roce_rs *rs);

/* listen.c */
struct roce_rs_request {
	struct rdma_cm_id *id;
	struct rdma_conn_param param;
	uint8_t data[ROCE_RS_CONNECT_BYTES];
	size_t data_length;
};
/* Lock of the listener held. */
void roce_rs_accept_request(struct roce_rs *listener, const struct roce_rs_request *request);
/* Has as many children as may wait: others are not answered, and their peers ask again. */
bool roce_rs_is_full(const struct roce_rs *listener);
/* A child is connected (lock of the child held), or will never be. */
void roce_rs_child_ready(struct roce_rs *child);
void roce_rs_child_gone(struct roce_rs *child);
/* Service lock held. */
void roce_rs_discard_children(struct roce_rs *listener);
/* rlisten() and raccept(): take the lock themselves. */
int roce_rs_listen(struct roce_rs *rs, int backlog);
int roce_rs_accept(struct roce_rs *listener, struct roce_rs **out);

/* stream.c; lock held. */
/* Takes completions, sends credits that are due. */
void roce_rs_progress(struct roce_rs *rs);
int roce_rs_post_write(struct roce_rs *rs, struct ibv_sge *sge, int sge_count,
		       const struct roce_rs_sge *to, uint64_t wr_id, int64_t imm);
int roce_rs_send_control(struct roce_rs *rs, enum roce_rs_control control);
int roce_rs_send_keepalive(struct roce_rs *rs);
uint64_t roce_rs_wr_id(enum roce_rs_op op, uint32_t bytes);
/* Tests for roce_rs_wait(). */
bool roce_rs_can_send(const struct roce_rs *rs);
bool roce_rs_can_send_or_never(const struct roce_rs *rs);
bool roce_rs_has_data_or_never(const struct roce_rs *rs);
bool roce_rs_has_control_room_or_never(const struct roce_rs *rs);
bool roce_rs_has_sent_all_or_never(const struct roce_rs *rs);

/* wait.c: lock held, and given up while it sleeps. 0, -EAGAIN when is_nonblocking, -EINTR. */
int roce_rs_wait(struct roce_rs *rs, bool is_nonblocking, bool (*is_true)(const struct roce_rs *));
uint64_t roce_rs_now_ms(void);
/* Takes the events of the completion channel. */
void roce_rs_take_cq_event(struct roce_rs *rs);
/* 0, -errno; after it a completion makes the channel readable. */
int roce_rs_arm(struct roce_rs *rs);

/* iomap.c: tells the peer of new mappings; lock held. */
int roce_rs_publish_mappings(struct roce_rs *rs, bool is_nonblocking);

/* shutdown.c: lock held. */
int roce_rs_shutdown(struct roce_rs *rs, int how);

#endif
