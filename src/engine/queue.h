/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One receive slot: packets come from the sockets of its open addresses, are decoded, checked and
 * given to the transport; what the transport wants to send is staged, summed and sent in batches.
 *
 * Staging: header and payload are copied to our memory and the copy is summed, since the program
 * may change its buffer meanwhile (a READ of memory that is polled), and a sum over moving bytes
 * would be wrong. Rules of batches: batch.h.
 *
 * The device's lock is held in every call.
 */
#ifndef ROCE_ENGINE_QUEUE_H
#define ROCE_ENGINE_QUEUE_H

#include "engine/counters.h"
#include "engine/lease.h"
#include "pktio/pktio.h"
#include "pktio/wrap/impair.h"
#include "transport/transport.h"

#define ROCE_QUEUE_GROUPS_MAX	 64u
#define ROCE_QUEUE_ADDRESSES_MAX (128u + ROCE_QUEUE_GROUPS_MAX)
#define ROCE_QUEUE_SENDERS	 256u
#define ROCE_QUEUE_TX_PACKETS	 64u  /* asked from the transport at once */
#define ROCE_QUEUE_TX_BUDGET	 512u /* and at most so many before receiving again */
#define ROCE_QUEUE_TX_BATCHES	 32u
#define ROCE_QUEUE_STAGE_BYTES	 (2 * 65536u)
#define ROCE_QUEUE_ASKED_MAX	 2u  /* open addresses that are all asked at each poll */
#define ROCE_QUEUE_READY_MAX	 16u /* of more, asked at once of those that have something */

/* A remote address that sends to us: what its ICRC check needs. Direct-mapped; a clash costs the
 * newcomer's identification habit, nothing else. */
struct roce_queue_sender {
	struct roce_gid src;
	bool is_used;
	uint16_t sport; /* in `flow` now */
	struct roce_icrc_flow flow;
	struct roce_icrc_id_state ids;
	roce_ns_t heard_ns; /* its last intact packet */
};

struct roce_queue_address {
	struct roce_gid gid;
	uint32_t use_count; /* 0: place is free */
	bool is_group;	    /* a multicast group: received from only, its socket is ours alone */
	struct roce_pktio *io;
	struct roce_queue_sender *senders; /* ROCE_QUEUE_SENDERS */
};

struct roce_queue {
	struct roce_transport *transport;
	struct roce_lease *lease; /* set with the slot */
	uint8_t slot;		  /* 0: none yet */
	uint32_t ifindex;
	const struct roce_impair_spec *impair; /* NULL: none */
	struct roce_shared_counters *counters;
	int ready_fd;		/* epoll set of the sockets; -1: each is asked */
	uint32_t address_count; /* places in use end here */
	uint32_t group_count;
	struct roce_queue_address addresses[ROCE_QUEUE_ADDRESSES_MAX];

	roce_ns_t stray_refill_ns;
	uint32_t stray_tokens;

	struct roce_pktio_rx rx_batches[ROCE_PKTIO_RX_BATCHES_MAX];

	struct roce_tx_pkt tx_packets[ROCE_QUEUE_TX_PACKETS];
	struct roce_pktio_tx tx_batches[ROCE_QUEUE_TX_BATCHES];
	uint32_t tx_batch_count;
	struct roce_pktio *tx_io; /* of all batches that wait */
	uint32_t stage_used;
	uint8_t *stage; /* ROCE_QUEUE_STAGE_BYTES */
};

/* The caller sets transport, ifindex, impair and counters before. 0 or -ENOMEM. */
int roce_queue_init(struct roce_queue *q);
/* Closes what is open; slot and lease are the owner's. */
void roce_queue_fini(struct roce_queue *q);

/* Counted. 0, or -errno with one clear line in `err` (ROCE_LEASE_ERROR_MAX bytes). *out_is_new:
 * there is a new descriptor to wait on. */
int roce_queue_open_address(struct roce_queue *q, const struct roce_gid *gid, bool *out_is_new,
			    char *err);
void roce_queue_close_address(struct roce_queue *q, const struct roce_gid *gid);

/* The same for a multicast group, which is joined on the network device. */
int roce_queue_join_group(struct roce_queue *q, const struct roce_gid *mgid, bool *out_is_new,
			  char *err);
void roce_queue_leave_group(struct roce_queue *q, const struct roce_gid *mgid);

/* In a forked child: closes the process's copies without a word to anybody. */
void roce_queue_abandon(struct roce_queue *q, bool are_sockets_closed);

/* The socket behind the descriptor of an open address was replaced. */
void roce_queue_renew(struct roce_queue *q, struct roce_queue_address *a);

/* queue_ready.c: an address was opened; is about to be closed; a socket was replaced; in a forked
 * child. */
void roce_queue_ready_add(struct roce_queue *q, const struct roce_queue_address *a);
void roce_queue_ready_remove(struct roce_queue *q, const struct roce_queue_address *a);
void roce_queue_ready_renew(struct roce_queue *q);
void roce_queue_ready_abandon(struct roce_queue *q);
/* Places of addresses whose sockets have something, at most ROCE_QUEUE_READY_MAX. */
uint32_t roce_queue_ready_list(const struct roce_queue *q, uint32_t *out_places);

/* Takes what the sockets have, once each, without blocking; the number of packets. */
uint32_t roce_queue_rx(struct roce_queue *q, roce_ns_t now);
/* A packet that the daemon brought. */
void roce_queue_take_stray(struct roce_queue *q, const struct roce_gid *local,
			   const struct sockaddr_storage *from, const uint8_t *data, size_t length,
			   uint8_t traffic_class, roce_ns_t now);
/* Sends what the transport has, up to the budget; the number of packets. More may be pending. */
uint32_t roce_queue_tx(struct roce_queue *q, roce_ns_t now);

/* When the packet interfaces want roce_queue_rx() although their descriptors are quiet. */
roce_ns_t roce_queue_deadline(const struct roce_queue *q);

#endif
