/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A datagram rsocket. It is a UDP socket, which has the port and carries what is sent before the
 * two sides know each other's queue pairs, and for each local address one UD queue pair, which
 * carries all the rest. A datagram that came by UDP is answered with a notice of our queue pair's
 * number. UDP is easily forged, so a number is believed only as the answer to what we sent
 * (datagram_peer.c). `lock` of the socket guards all of it; the service thread reads the UDP
 * socket.
 */
#ifndef ROCE_RSOCKET_DATAGRAM_H
#define ROCE_RSOCKET_DATAGRAM_H

#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/list.h"
#include "base/ns.h"
#include "rsocket/wire.h"

#define ROCE_DS_QKEY	    UINT32_C(0x01234567)
#define ROCE_DS_SLOT_BYTES  2048 /* of a datagram with its header, without the GRH */
#define ROCE_DS_GRH_BYTES   40
#define ROCE_DS_PORTS_MAX   8 /* local addresses that one socket uses */
#define ROCE_DS_PEERS_MAX   1024
#define ROCE_DS_WAITING_MAX 64 /* datagrams that came by UDP and were not read yet */

struct roce_rs;

/* One local address. */
struct roce_ds_port {
	struct rdma_cm_id *id;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory; /* receive slots, each with room for a GRH, then send slots */
	unsigned receive_slots;
	unsigned send_slots;
	unsigned send_free;
	unsigned send_next; /* sends complete in order */
	uint32_t path_mtu;  /* bytes */
	int gid_index;
	bool is_armed;
	struct sockaddr_storage local;
};

struct roce_ds_peer {
	struct roce_list link;
	struct sockaddr_storage address;
	struct roce_ds_port *port;
	struct ibv_ah *ah; /* NULL: its queue pair is not known */
	uint32_t qpn;
	bool is_doubted; /* something named another number: asked for anew */
	bool is_asked;	 /* a datagram went by UDP and was not answered */
	roce_ns_t asked_ns;
};

/* A datagram that waits to be read. */
struct roce_ds_message {
	struct roce_list link;
	struct sockaddr_storage source;
	struct roce_ds_port *port; /* whose slot holds the data; NULL: they follow this struct */
	unsigned slot;
	const uint8_t *data;
	size_t length;
};

struct roce_ds {
	struct roce_ds_port *ports[ROCE_DS_PORTS_MAX];
	unsigned port_count;
	struct roce_list peers;
	unsigned peer_count;
	struct roce_ds_peer *connected;
	struct roce_list messages;
	unsigned waiting; /* those that came by UDP */
};

/* All: lock held; 0 or -errno. */
int roce_ds_create(struct roce_rs *rs, int domain, int protocol);
void roce_ds_destroy(struct roce_rs *rs);
int roce_ds_bind(struct roce_rs *rs, const struct sockaddr *address, socklen_t length);
int roce_ds_connect(struct roce_rs *rs, const struct sockaddr *address, socklen_t length);
ssize_t roce_ds_send(struct roce_rs *rs, const struct iovec *iov, int count, int flags,
		     const struct sockaddr *to, socklen_t to_length);
ssize_t roce_ds_receive(struct roce_rs *rs, const struct iovec *iov, int count, int flags,
			struct sockaddr *from, socklen_t *from_length);
/* The service: the UDP socket is readable. */
void roce_ds_on_udp(struct roce_rs *rs);

void roce_ds_progress(struct roce_rs *rs);
short roce_ds_revents(const struct roce_rs *rs, short events);
/* Arms, and fills in what to sleep on: at most ROCE_DS_PORTS_MAX. */
int roce_ds_poll_fds(struct roce_rs *rs, struct pollfd *out);
void roce_ds_take_events(struct roce_rs *rs);

/* datagram_peer.c */
/* NULL: nobody that we know. */
struct roce_ds_peer *roce_ds_peer_find(struct roce_ds *ds, const struct sockaddr *address);
/* The peer, made when it is not there. */
int roce_ds_peer_get(struct roce_rs *rs, const struct sockaddr *address, struct roce_ds_peer **out);
void roce_ds_peer_free(struct roce_ds *ds, struct roce_ds_peer *peer);
/* Its queue pair can be sent to; else the datagram goes by UDP. */
bool roce_ds_peer_is_known(const struct roce_ds_peer *peer);
/* A datagram went to it by UDP. */
void roce_ds_peer_on_asked(struct roce_ds_peer *peer);
/* It, or somebody in its name, says by UDP which its queue pair is. */
void roce_ds_peer_on_number(struct roce_ds_peer *peer, const struct roce_rs_udp_header *header);

/* datagram_port.c */
/* The port for a local address, made when it is not there. */
int roce_ds_port_get(struct roce_rs *rs, const struct sockaddr *local, struct roce_ds_port **out);
void roce_ds_port_destroy(struct roce_ds_port *port);
int roce_ds_port_post_receive(struct roce_ds_port *port, unsigned slot);
uint8_t *roce_ds_port_send_slot(const struct roce_ds_port *port, unsigned slot);
uint8_t *roce_ds_port_receive_slot(const struct roce_ds_port *port, unsigned slot);
/* To be freed by ibv_destroy_ah(); NULL and errno. */
struct ibv_ah *roce_ds_port_create_ah(const struct roce_ds_port *port, const struct sockaddr *peer);

#endif
