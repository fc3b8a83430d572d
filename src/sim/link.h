/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A full-duplex link between two transports in virtual time, with seeded faults. It is their whole
 * environment: it pulls packets with roce_tx(), carries copies of them, delivers them to roce_rx()
 * and calls roce_on_deadline() in time. Each direction and each kind of fault draws from a stream
 * of its own, so switching one fault on does not move the others.
 *
 *   roce_tx -> line (rate, stalls) -> faults (loss, corruption, duplicate, reorder) -> delay,
 *   jitter -> roce_rx
 *
 * Without reordering the order of delivery is the order of sending, whatever jitter and stalls do.
 * Payload is copied when it is sent, since references are valid until the next call only.
 *
 * Use: init, then after every call into a transport that may have made work, roce_link_kick() its
 * end; the event queue does the rest. Filter and observer must not call into the transports.
 */
#ifndef ROCE_SIM_LINK_H
#define ROCE_SIM_LINK_H

#include "base/prng.h"
#include "sim/event_queue.h"
#include "transport/transport.h"
#include "wire/mtu.h"
#include "wire/packet.h"

#define ROCE_LINK_PULL_MAX 16u /* packets from one roce_tx() */

/* Bytes of a frame around the UDP payload: preamble 8, Ethernet 14, IPv4 20, UDP 8, FCS 4, gap 12.
 */
#define ROCE_LINK_FRAME_BYTES 66u

/* Probabilities are parts per million, for each packet. */
struct roce_link_faults {
	uint32_t loss_ppm;
	uint32_t loss_burst_max; /* a loss takes 1 to this many packets in a row; 0 as 1 */
	uint32_t corrupt_ppm;
	uint32_t duplicate_ppm;
	uint32_t reorder_ppm;
	uint32_t stall_ppm;    /* the line stands still */
	roce_ns_t late_ns_max; /* how much later a duplicate or a reordered packet comes */
	roce_ns_t stall_ns_max;
	roce_ns_t jitter_ns_max;
};

struct roce_link_config {
	uint64_t seed;
	uint64_t delay_ps;
	uint64_t ps_per_byte; /* 0: infinitely fast. 10 Gb/s is 800 */
	uint32_t pull_max;    /* packets from one roce_tx(), 0: ROCE_LINK_PULL_MAX */
	uint64_t lag_ps[2];   /* by end: between receiving and transmitting, so that work gathers */
	bool is_encoded; /* carry bytes: encode, ICRC, decode; damage is then found, not assumed */
	struct roce_link_faults faults[2]; /* by sending end */
};

/* X(enumerator, name): what became of a packet. */
#define ROCE_LINK_FATES(X)          \
	X(SENT, "sent")             \
	X(LOST, "lost")             \
	X(CORRUPTED, "corrupted")   \
	X(DUPLICATED, "duplicated") \
	X(REORDERED, "reordered")   \
	X(FILTERED, "filtered")     \
	X(DELIVERED, "delivered")

enum roce_link_fate {
#define X(id, name) ROCE_LINK_##id,
	ROCE_LINK_FATES(X)
#undef X
		ROCE_LINK_FATE_COUNT
};

const char *roce_link_fate_str(enum roce_link_fate fate);

struct roce_link;
struct roce_link_end;

/* A packet on its way. */
struct roce_link_pkt {
	struct roce_event arrival;
	struct roce_list link; /* link->flying */
	struct roce_link_pkt *next_free;
	struct roce_link_end *to;
	uint64_t id; /* running number in its direction; a duplicate keeps it */
	struct roce_headers hdr;
	struct roce_gid src;
	struct roce_gid dst;
	uint8_t traffic_class;
	uint8_t hop_limit;
	bool is_phantom;
	uint32_t payload_len;
	uint8_t payload[ROCE_MTU_BYTES_MAX];
};

struct roce_link_hooks {
	/* May change the packet, or return false to drop it; NULL: none. Runs before the faults. */
	bool (*filter)(void *ctx, unsigned int from, struct roce_link_pkt *pkt);
	/* Sees every packet's fate; `verdict` is valid with ROCE_LINK_DELIVERED. NULL: none. */
	void (*observe)(void *ctx, enum roce_link_fate fate, unsigned int from,
			const struct roce_link_pkt *pkt, enum roce_verdict verdict);
	void *ctx;
};

struct roce_link_end {
	struct roce_link *link;
	struct roce_transport *transport;
	unsigned int index; /* 0 or 1 */
	struct roce_event deadline;
	struct roce_event pull; /* the line is free again */
	uint64_t line_free_ps;
	uint64_t last_arrival_ps; /* of what this end sent, reordered packets left out */
	uint64_t next_id;
	uint32_t burst_left; /* of a loss */
	struct roce_prng loss;
	struct roce_prng corrupt;
	struct roce_prng duplicate;
	struct roce_prng reorder;
	struct roce_prng stall;
	struct roce_prng jitter;
	uint64_t fates[ROCE_LINK_FATE_COUNT];
	uint64_t damage_missed; /* damaged bytes that decoder and ICRC let pass: never, one hopes */
	uint64_t codec_errors;	/* undamaged packets that came out of the codec changed */
};

struct roce_link {
	struct roce_event_queue *queue;
	struct roce_link_config cfg;
	struct roce_link_hooks hooks;
	struct roce_link_end ends[2];
	struct roce_link_pkt *free_pkts;
	struct roce_list flying; /* packets on their way */
	bool is_down;		 /* everything is lost; set and cleared by the owner */
};

void roce_link_init(struct roce_link *link, struct roce_event_queue *queue,
		    const struct roce_link_config *cfg, const struct roce_link_hooks *hooks,
		    struct roce_transport *a, struct roce_transport *b);
/* Takes its events out of the queue and frees all packets. */
void roce_link_fini(struct roce_link *link);

/* Pulls what end `index` has to send and looks at its next deadline. */
void roce_link_kick(struct roce_link *link, unsigned int index);

/* An end may hand in a packet of its own making, as if the peer's transport had sent it now: for
 * tests of what a transport must refuse. `pkt` is copied; arrival, to and id are filled in. */
void roce_link_inject(struct roce_link *link, unsigned int from, const struct roce_link_pkt *pkt);

#endif
