/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pair 1: management datagrams between packets of slot 0 and the connection manager. What
 * comes in is checked as any packet is (headers, ICRC, P_Key, Q_Key), each failure with a counter;
 * what goes out has the form that hardware and Linux give it, from a socket per local address with
 * DF set and identification 0, so that the ICRC is right.
 */
#ifndef ROCE_DAEMON_GSI_H
#define ROCE_DAEMON_GSI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/list.h"
#include "cm/cm.h"
#include "control/address.h"
#include "wire/icrc.h"

#define ROCE_GSI_SENDERS     256u
#define ROCE_GSI_SOCKETS_MAX 512u

#define ROCE_GSI_COUNTERS(X) \
	X(rx)                \
	X(rx_bad_headers)    \
	X(rx_bad_opcode)     \
	X(rx_bad_qpn)        \
	X(rx_bad_icrc)       \
	X(rx_bad_pkey)       \
	X(rx_bad_qkey)       \
	X(tx)                \
	X(tx_failed)

enum roce_gsi_counter {
#define X(name) ROCE_GSI_##name,
	ROCE_GSI_COUNTERS(X)
#undef X
		ROCE_GSI_COUNTER_COUNT
};

/* Who sent to us: what the ICRC check learns about its identifications. */
struct roce_gsi_sender {
	struct roce_gid src, dst;
	struct roce_icrc_id_state ids;
	roce_ns_t heard_ns;
};

struct roce_gsi_socket {
	struct roce_list link;
	struct roce_address local;
	int fd;
	uint16_t port;
};

struct roce_gsi {
	struct roce_list sockets; /* most recently used first */
	uint32_t socket_count;
	uint32_t psn;
	uint64_t counter[ROCE_GSI_COUNTER_COUNT];
	struct roce_gsi_sender sender[ROCE_GSI_SENDERS];
};

const char *roce_gsi_counter_str(enum roce_gsi_counter counter);

void roce_gsi_init(struct roce_gsi *g);
void roce_gsi_fini(struct roce_gsi *g);

/*
 * Takes a UDP payload that came to (local, 4791) apart. NULL: refused and counted. Else the
 * datagram's payload, *out_len bytes inside `data`, and where it came from.
 */
const uint8_t *roce_gsi_receive(struct roce_gsi *g, const struct roce_address *local,
				const struct sockaddr_storage *from, const uint8_t *data,
				size_t length, uint32_t *out_len, struct roce_cm_route *out_route);

/* What cannot be sent is counted and lost, as on the wire. */
void roce_gsi_send(struct roce_gsi *g, const struct roce_cm_packet *p);

#endif
