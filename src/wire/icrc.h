/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The invariant CRC: CRC-32 over IP and UDP headers with their changeable bytes set to ones, the
 * BTH with byte 4 set to ones, and everything behind it. What is constant along a flow is prepared
 * once; a packet costs two CRC calls, one over 40 or 60 header bytes, one over the rest.
 *
 * A UDP socket does not show the sender's IPv4 identification, which the ICRC covers. Because
 * CRC-32 is linear the identification adds a known term to it, so roce_icrc_check() solves for the
 * one identification that makes a packet intact, without touching the payload again, and judges it:
 *
 *   mode                                        chance that a damaged packet passes
 *   IPv6 (no identification)                    2^-32, the CRC itself
 *   IPv4, sender unknown or erratic             2^-16, any identification is believed
 *   IPv4, sender held to its habit              below 2^-21: 128 + 1537 identifications are
 * believed
 *
 * "Damaged" means random damage; the UDP checksum, where the sender filled it in, is checked by the
 * kernel before and is not counted here. DF = 1 and no IPv4 options are assumed.
 */
#ifndef ROCE_WIRE_ICRC_H
#define ROCE_WIRE_ICRC_H

#include "base/addr.h"
#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_UDP_PORT	     4791u
#define ROCE_ICRC_SILENCE_NS UINT64_C(16000000)

/* IP and UDP header as the ICRC sees them. Lengths and IPv4 identification are filled in for each
 * packet, in a copy. */
struct roce_icrc_flow {
	uint8_t masked[48]; /* IPv6 40 or IPv4 20, UDP 8 */
	bool is_v4;
};

/*
 * What is known of one sender's (source address, destination address) identifications. All zero is
 * a sender not heard of yet. The habit is: below 128 (a socket that sends 0, or the segment's index
 * in its batch), or from 512 behind to 1024 ahead of the last one (a counter). A sender that kept
 * to it for 256 << lapses packets in a row is held to it: then another identification is refused,
 * once; a second one in a row is believed. Each such lapse doubles what it takes to be held again,
 * so a sender whose counter jumps loses few packets before it is left alone.
 *
 * Linux lets the counter of a sender that was silent jump ahead, by up to one for each tick of its
 * clock (at most 1000 a second), so that nobody can count its packets; and what it sent to others
 * meanwhile counts too. Behind a silence of ROCE_ICRC_SILENCE_NS any identification is believed:
 * else the first packet of many a burst would be refused, and each costs the sender a retry
 * timeout. The long step ahead is for a silence that we did not see because we were late ourselves.
 * The step back is for a sender of many processors: one numbers a packet and sends it when another
 * has sent a burst (Soft-RoCE was seen 76 behind with two queue pairs).
 */
struct roce_icrc_id_state {
	uint16_t last_id;
	uint8_t lapses;		/* 0 to 16 */
	bool is_counter;	/* the next guess is last_id + 1, else the index in the batch */
	bool has_refused;	/* the last intact-looking packet was refused */
	bool was_silent;	/* before the next packet */
	uint32_t regular_count; /* packets in a row that kept to the habit */
};

/* `src` and `dst` are both v4-mapped or both IPv6. Ports in host order, as in the packet. */
void roce_icrc_flow_init(struct roce_icrc_flow *f, const struct roce_gid *src,
			 const struct roce_gid *dst, uint16_t sport, uint16_t dport);

/* Changes the source port of a prepared flow: received packets of one peer come from many. */
void roce_icrc_flow_set_sport(struct roce_icrc_flow *f, uint16_t sport);

/* ICRC of the packet that starts at `bth`; `len_without_icrc` is at least 12 and counts to the end
 * of the pad. `ip_id` is ignored for IPv6. */
uint32_t roce_icrc_compute(const struct roce_icrc_flow *f, uint16_t ip_id, const uint8_t *bth,
			   size_t len_without_icrc);

/* The value as it stands on the wire: least significant byte first. */
static inline void roce_icrc_put(uint8_t *p, uint32_t icrc)
{
	roce_put_le32(p, icrc);
}

static inline uint32_t roce_icrc_get(const uint8_t *p)
{
	return roce_get_le32(p);
}

/*
 * True when the packet of `len_with_icrc` bytes (at least 16) is intact; false when it is damaged
 * or refused as above. `ids` belongs to the packet's sender and is not read for IPv6 (may be NULL).
 * `index_in_batch` is the segment's place in the received batch, 0 for a single datagram. The
 * caller sets ids->was_silent when so much time has passed since a packet of this sender was
 * intact.
 */
bool roce_icrc_check(const struct roce_icrc_flow *f, struct roce_icrc_id_state *ids,
		     uint16_t index_in_batch, const uint8_t *bth, size_t len_with_icrc);

/*
 * What must be xor'ed to the identification that an ICRC was computed with, so that the result
 * changes by `delta` (found xor computed); `len_without_icrc` as above. False when no 16-bit number
 * does that: the packet is damaged. Exposed for tools that explain a bad ICRC.
 */
bool roce_icrc_recover_id(uint32_t delta, size_t len_without_icrc, uint16_t *out_id_xor);

#endif
