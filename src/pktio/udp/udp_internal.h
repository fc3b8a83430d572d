/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the three parts of the UDP backend share: udp.c (sockets and flows), udp_tx.c and udp_rx.c.
 */
#ifndef ROCE_PKTIO_UDP_UDP_INTERNAL_H
#define ROCE_PKTIO_UDP_UDP_INTERNAL_H

#include "pktio/udp/udp.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#ifndef IPV6_FLOWINFO
#define IPV6_FLOWINFO 11
#endif

#define UDP_TX_SOCKETS_MAX    64u
#define UDP_FLOW_BUCKETS      1024u
#define UDP_FLOWS_MAX	      16384u
#define UDP_RX_DEPTH_MAX      8u
#define UDP_RX_BYTES	      65536u
#define UDP_HOP_LIMIT_DEFAULT 64  /* the system's, which a batch need not name */
#define UDP_TX_CALL_MAX	      16u /* batches of one sendmmsg() */

union udp_address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct udp_flow {
	struct roce_pktio_flow base; /* first: the two are cast into each other */
	union udp_address to;
	int fd;
};

/* Room for UDP_SEGMENT, TOS or TCLASS, TTL or HOPLIMIT, FLOWINFO; received: TOS, TTL, GRO, OVFL. */
#define UDP_CONTROL_BYTES (CMSG_SPACE(sizeof(uint16_t)) + 4 * CMSG_SPACE(sizeof(int)))

struct udp_io {
	struct roce_pktio base;
	uint32_t ifindex;
	bool is_v4;
	bool has_gro;
	bool is_flow_label_refused;
	const char *gso_note; /* "on", or why not */
	const char *gro_note;
	socklen_t address_bytes;

	int tx_fds[UDP_TX_SOCKETS_MAX]; /* -1: not made yet */
	uint16_t tx_ports[UDP_TX_SOCKETS_MAX];
	struct roce_pktio_flow *flows[UDP_FLOW_BUCKETS];
	uint32_t flow_count;
	struct roce_pktio_flow *retired_flows; /* of the table before this one */

	uint32_t rx_depth; /* datagrams to ask for next, 1 to UDP_RX_DEPTH_MAX */
	uint32_t rx_overflow_last;
	bool has_rx_overflow;
	uint8_t *rx_buffers; /* UDP_RX_DEPTH_MAX of UDP_RX_BYTES */
	struct mmsghdr rx_headers[UDP_RX_DEPTH_MAX];
	struct iovec rx_iovecs[UDP_RX_DEPTH_MAX];
	union udp_address rx_from[UDP_RX_DEPTH_MAX];
	_Alignas(struct cmsghdr) uint8_t rx_control[UDP_RX_DEPTH_MAX][UDP_CONTROL_BYTES];

	struct mmsghdr tx_headers[UDP_TX_CALL_MAX];
	struct iovec tx_iovecs[UDP_TX_CALL_MAX];
	_Alignas(struct cmsghdr) uint8_t tx_control[UDP_TX_CALL_MAX][UDP_CONTROL_BYTES];
};

uint32_t roce_udp_rx(struct roce_pktio *base, struct roce_pktio_rx *batches, uint32_t max);
void roce_udp_tx(struct roce_pktio *base, struct roce_pktio_tx *batches, uint32_t count);
/* Prepares the parts of the message headers that never change. */
void roce_udp_rx_init(struct udp_io *io);
void roce_udp_tx_init(struct udp_io *io);

#endif
