/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between bytes and struct roce_headers: the BTH and all extended headers, as the opcode table
 * orders them. The decoder decides only what the bytes alone can decide (see the verdicts);
 * sequence, length against the path MTU, pad and keys are the transport's business.
 *
 * Both directions work on the UDP payload: BTH first, ICRC last.
 */
#ifndef ROCE_WIRE_HEADERS_H
#define ROCE_WIRE_HEADERS_H

#include "wire/opcode.h"
#include "wire/packet.h"

#include <stddef.h>
#include <stdint.h>

#define ROCE_ICRC_BYTES 4u

/* The longest header set: RD atomics, BTH + RDETH + DETH + AtomicETH. RC needs 44 at most. */
#define ROCE_HEADERS_MAX 52u

/* Each verdict but OK is a reason to drop without an answer. */
#define ROCE_DECODE_LIST(X)                                      \
	X(OK, "ok")                                              \
	X(TOO_SHORT, "shorter than BTH and ICRC")                \
	X(BAD_TVER, "transport version is not 0")                \
	X(RESERVED_OPCODE, "reserved opcode")                    \
	X(RD_OPCODE, "reliable datagram is not supported")       \
	X(HEADERS_CUT, "shorter than the headers of its opcode") \
	X(PAYLOAD_NEGATIVE, "pad count exceeds the payload")

enum roce_decode_verdict {
#define X(name, text) ROCE_DECODE_##name,
	ROCE_DECODE_LIST(X)
#undef X
		ROCE_DECODE_COUNT,
};

const char *roce_decode_verdict_str(enum roce_decode_verdict verdict);

/*
 * Decodes `len` bytes from the BTH through the ICRC (UDP length - 8). On OK `out` holds the BTH
 * fields and those of the extended headers that the opcode has (others keep what they held), and
 * the payload without pad and ICRC is *out_payload_len bytes at *out_payload, inside `bth`. An
 * opcode that never carries payload may still come with some: the caller sees its length.
 * On any other verdict the outputs are undefined. The ICRC is not looked at (icrc.h).
 */
enum roce_decode_verdict roce_headers_decode(const uint8_t *bth, size_t len,
					     struct roce_headers *out, const uint8_t **out_payload,
					     uint32_t *out_payload_len);

/*
 * Writes BTH and extended headers for h->opcode, which must not be reserved, to `bth` (room for
 * ROCE_HEADERS_MAX) and returns their length. Payload, pad and ICRC follow from the caller.
 */
size_t roce_headers_encode(const struct roce_headers *h, uint8_t *bth);

/* Bytes of pad behind a payload: PadCnt. */
static inline uint8_t roce_pad_count(uint32_t payload_len)
{
	return (uint8_t)(-payload_len & 3u);
}

/* UDP payload of a packet: headers, payload, pad, ICRC. */
static inline size_t roce_packet_len(roce_opcode_t opcode, uint32_t payload_len)
{
	return roce_opcode_table[opcode.v].header_len + (size_t)payload_len +
	       roce_pad_count(payload_len) + ROCE_ICRC_BYTES;
}

#endif
