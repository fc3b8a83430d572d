/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets over plain UDP sockets, without privilege. Receives from the one socket that the caller
 * leased (bound to the local address and port 4791); transmits from a small pool of sockets of its
 * own, whose source ports give the network something to spread flows by.
 *
 * Batches leave by UDP_SEGMENT and arrive by UDP_GRO where the kernel has them; UROCE_GSO=off and
 * UROCE_GRO=off force the ways without.
 */
#ifndef ROCE_PKTIO_UDP_UDP_H
#define ROCE_PKTIO_UDP_UDP_H

#include "pktio/pktio.h"

struct roce_udp_config {
	struct roce_gid local;
	uint32_t ifindex; /* scope of a link-local address; where multicast leaves */
	int rx_fd;	  /* non-blocking; owned by the pktio from a successful open on */
	struct roce_pktio_stats *stats;
};

/* 0 or -errno. Nothing is bound yet: a socket to transmit from is made when a flow needs it. */
int roce_udp_open(const struct roce_udp_config *cfg, struct roce_pktio **out);

/* What a pktio of this kind would have in force here, found out with sockets of its own. */
void roce_udp_probe(struct roce_pktio_facts *out);

#endif
