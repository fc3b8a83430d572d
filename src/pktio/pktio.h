/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets in and out at one local address, whatever carries them: the contract between the engine
 * and a backend (udp/) or a wrapper around one (wrap/).
 *
 * The unit is a batch: packets of one flow and of one size, back to back in memory, of which only
 * the last may be shorter. A packet is the UDP payload, BTH first, ICRC last. The ICRC covers the
 * IPv4 identification, so both sides must know it: packet i of a batch is sent with identification
 * i. A backend that has to split a batch numbers the parts anew and corrects their ICRCs.
 *
 * One thread at a time may use a struct roce_pktio; the engine's lock sees to it.
 */
#ifndef ROCE_PKTIO_PKTIO_H
#define ROCE_PKTIO_PKTIO_H

#include "base/addr.h"
#include "base/ns.h"
#include "wire/icrc.h"

#include <stdbool.h>
#include <stdint.h>

#define ROCE_PKTIO_SEGMENTS_MAX	   128u
#define ROCE_PKTIO_BATCH_BYTES_MAX 65507u
#define ROCE_PKTIO_RX_BATCHES_MAX  16u

/* Where packets go: one receive slot of one destination address. Look it up for each transmission:
 * roce_pktio_flow() may have to make room, which a flow survives once but not twice. */
struct roce_pktio_flow {
	struct roce_pktio_flow *bucket_next;
	struct roce_gid dgid;
	uint8_t slot;
	uint16_t sport;
	struct roce_icrc_flow icrc;
};

struct roce_pktio_tx {
	struct roce_pktio_flow *flow;
	uint8_t *data; /* the caller's staging memory; the ICRCs in it may be corrected */
	uint32_t length;
	uint32_t segment_length; /* of every packet but the last */
	uint32_t flow_label;	 /* 20 bits, IPv6 */
	uint16_t segment_count;
	uint8_t traffic_class;
	uint8_t hop_limit; /* 0: the system's default */
};

struct roce_pktio_rx {
	const uint8_t *data; /* borrowed until the next call of rx */
	uint32_t length;
	uint32_t segment_length; /* of every packet but the last; `length` for a single one */
	uint16_t index_base;	 /* place of the first packet in the batch as it arrived */
	uint16_t sport;
	uint8_t traffic_class;
	uint8_t hop_limit;
	struct roce_gid src;
};

/* X(field, what it counts). Packets that were sent or received but not counted as dropped. */
#define ROCE_PKTIO_STATS(X)                                            \
	X(tx_packets, "packets handed to the network")                 \
	X(tx_batches, "batches they made")                             \
	X(tx_dropped, "packets that the system refused")               \
	X(tx_retries, "transmissions tried again")                     \
	X(tx_resegmented, "packets sent in smaller batches than made") \
	X(rx_packets, "packets received")                              \
	X(rx_batches, "batches in which they came")                    \
	X(rx_overflow, "datagrams lost because a socket was full")     \
	X(rx_truncated, "datagrams larger than the receive buffer")    \
	X(rx_errors, "receive calls that failed")                      \
	X(flow_resets, "times the table of flows was full")            \
	X(impair_dropped, "packets dropped on purpose")                \
	X(impair_duplicated, "packets duplicated on purpose")          \
	X(impair_reordered, "packets sent out of order on purpose")    \
	X(impair_corrupted, "packets damaged on purpose")              \
	X(impair_delayed, "packets delayed on purpose")                \
	X(impair_marked, "packets marked as by congestion")            \
	X(impair_ud_damaged, "UD messages damaged behind a right ICRC on purpose")

struct roce_pktio_stats {
#define X(field, text) uint64_t field;
	ROCE_PKTIO_STATS(X)
#undef X
};

/* What is in force, for `uroce devices -v`. */
struct roce_pktio_facts {
	const char *backend;
	const char *batching_tx; /* "on", or why not */
	const char *batching_rx;
	uint32_t segments_max; /* packets of one batch */
	uint32_t receive_buffer_bytes;
};

struct roce_pktio;

struct roce_pktio_ops {
	/* Receives what is there, without blocking: the number of batches, 0 to `max`, which is at
	 * least ROCE_PKTIO_RX_BATCHES_MAX. More may be waiting when the result is not 0. */
	uint32_t (*rx)(struct roce_pktio *io, struct roce_pktio_rx *batches, uint32_t max);
	/* Takes all batches: what cannot be sent is lost and counted, as in a network. */
	void (*tx)(struct roce_pktio *io, struct roce_pktio_tx *batches, uint32_t count);
	/* NULL when the destination cannot be reached from here (other family, no memory). */
	struct roce_pktio_flow *(*flow)(struct roce_pktio *io, const struct roce_gid *dgid,
					uint8_t slot);
	/* When rx wants to be called even if the descriptor is quiet; ROCE_NEVER if never. */
	roce_ns_t (*deadline)(struct roce_pktio *io);
	void (*facts)(struct roce_pktio *io, struct roce_pktio_facts *out);
	/* Another socket took the place of the one behind `fd`, under the same number. */
	void (*renew)(struct roce_pktio *io);
	/* The descriptor `fd` is closed too, or left alone: it is somebody else's by now. */
	void (*close)(struct roce_pktio *io, bool closes_fd);
};

struct roce_pktio {
	const struct roce_pktio_ops *ops;
	struct roce_pktio_stats *stats; /* lives as long as the pktio; may be shared by several */
	struct roce_gid local;
	int fd;		       /* readable when rx has something; for epoll */
	uint32_t segments_max; /* packets of one batch, 1 without batching; may fall */
};

static inline uint32_t roce_pktio_rx(struct roce_pktio *io, struct roce_pktio_rx *batches,
				     uint32_t max)
{
	return io->ops->rx(io, batches, max);
}

static inline void roce_pktio_tx(struct roce_pktio *io, struct roce_pktio_tx *batches,
				 uint32_t count)
{
	io->ops->tx(io, batches, count);
}

static inline struct roce_pktio_flow *roce_pktio_flow(struct roce_pktio *io,
						      const struct roce_gid *dgid, uint8_t slot)
{
	return io->ops->flow(io, dgid, slot);
}

static inline roce_ns_t roce_pktio_deadline(struct roce_pktio *io)
{
	return io->ops->deadline(io);
}

static inline void roce_pktio_facts(struct roce_pktio *io, struct roce_pktio_facts *out)
{
	io->ops->facts(io, out);
}

static inline void roce_pktio_renew(struct roce_pktio *io)
{
	io->ops->renew(io);
}

/* NULL is allowed. */
static inline void roce_pktio_close(struct roce_pktio *io)
{
	if (io)
		io->ops->close(io, true);
}

/* Closes everything but `fd`. */
static inline void roce_pktio_close_but_fd(struct roce_pktio *io)
{
	io->ops->close(io, false);
}

#endif
