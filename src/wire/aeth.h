/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The AETH syndrome and the tables behind its five-bit values: credits, RNR delays, NAK codes; and
 * the local ACK timeout, which is coded alike. Values on the wire, times in nanoseconds.
 *
 *    bit  7   6 5   4 3 2 1 0
 *       +---+-----+-----------+
 *       | 0 | kind|   value   |   kind 0 ACK (credit code), 1 RNR NAK (timer code), 3 NAK (code)
 *       +---+-----+-----------+
 */
#ifndef ROCE_WIRE_AETH_H
#define ROCE_WIRE_AETH_H

#include "base/ns.h"

#include <stdint.h>

#define ROCE_AETH_KIND_LIST(X) \
	X(ACK, 0)              \
	X(RNR_NAK, 1)          \
	X(RESERVED, 2)         \
	X(NAK, 3)

enum roce_aeth_kind {
#define X(name, value) ROCE_AETH_##name = (value),
	ROCE_AETH_KIND_LIST(X)
#undef X
};

/* Codes 5 to 31 are reserved. */
#define ROCE_NAK_LIST(X)                                     \
	X(PSN_SEQUENCE, 0, "PSN sequence error")             \
	X(INVALID_REQUEST, 1, "invalid request")             \
	X(REMOTE_ACCESS, 2, "remote access error")           \
	X(REMOTE_OPERATIONAL, 3, "remote operational error") \
	X(INVALID_RD_REQUEST, 4, "invalid RD request")

enum roce_nak {
#define X(name, value, text) ROCE_NAK_##name = (value),
	ROCE_NAK_LIST(X)
#undef X
};

/* "No credit information": flow control is not used (mandatory with an SRQ). */
#define ROCE_CREDIT_NONE 31u

/* What roce_credit_count() says for ROCE_CREDIT_NONE. */
#define ROCE_CREDIT_UNLIMITED UINT32_MAX

/* A syndrome with bit 7 set is reserved, whatever the other bits say. */
static inline enum roce_aeth_kind roce_aeth_kind(uint8_t syndrome)
{
	return syndrome & 0x80 ? ROCE_AETH_RESERVED : (enum roce_aeth_kind)(syndrome >> 5 & 3);
}

static inline uint8_t roce_aeth_value(uint8_t syndrome)
{
	return syndrome & 0x1f;
}

static inline uint8_t roce_aeth_syndrome(enum roce_aeth_kind kind, uint8_t value)
{
	return (uint8_t)((uint32_t)kind << 5 | (value & 0x1fu));
}

static inline uint8_t roce_aeth_nak(enum roce_nak code)
{
	return roce_aeth_syndrome(ROCE_AETH_NAK, (uint8_t)code);
}

const char *roce_aeth_kind_str(enum roce_aeth_kind kind);

/* Takes the raw value, since a peer may send any: "reserved" for 5 to 31. */
const char *roce_nak_str(uint8_t code);

/* Receive WQEs beyond the MSN that an ACK's credit code grants. */
uint32_t roce_credit_count(uint8_t code);

/* The largest code that grants no more than `count`; never ROCE_CREDIT_NONE. */
uint8_t roce_credit_code(uint32_t count);

/* How long an RNR NAK's timer code asks the requester to wait, at least. Code 0 is the longest. */
roce_ns_t roce_rnr_delay_ns(uint8_t code);

/* Local ACK timeout exponent (5 bits): 4.096 us << t; 0 switches the timer off (ROCE_NEVER). */
static inline roce_ns_t roce_ack_timeout_ns(uint8_t t)
{
	return (t & 0x1f) ? UINT64_C(4096) << (t & 0x1f) : ROCE_NEVER;
}

#endif
