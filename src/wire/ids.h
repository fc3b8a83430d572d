/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers of the InfiniBand transport as distinct types: a PSN cannot be compared with `<`, an
 * opcode cannot be tested against flag bits, and a QPN cannot be passed for a key, because each is
 * a struct of its own. The wrapped values are host-order integers of the width given.
 */
#ifndef ROCE_WIRE_IDS_H
#define ROCE_WIRE_IDS_H

#include <stdbool.h>
#include <stdint.h>

#define ROCE_PSN_MASK 0xffffffu
#define ROCE_QPN_MASK 0xffffffu

typedef struct {
	uint32_t v; /* 24 bits */
} roce_psn_t;

typedef struct {
	uint32_t v; /* 24 bits; 0 QP0 (invalid on RoCE), 1 GSI, 0xffffff multicast */
} roce_qpn_t;

typedef struct {
	uint32_t v; /* 32 bits: 24-bit index, low byte the consumer's variant */
} roce_key_t;

typedef struct {
	uint8_t v; /* whole BTH opcode byte: transport in bits 7-5, operation in bits 4-0 */
} roce_opcode_t;

static inline roce_psn_t roce_psn_make(uint32_t v)
{
	return (roce_psn_t){v & ROCE_PSN_MASK};
}

static inline roce_psn_t roce_psn_add(roce_psn_t a, uint32_t n)
{
	return roce_psn_make(a.v + n);
}

/* a - b as a signed distance in [-2^23, 2^23): negative means `a` is older than `b`. */
static inline int32_t roce_psn_diff(roce_psn_t a, roce_psn_t b)
{
	return (int32_t)((a.v - b.v) << 8) >> 8;
}

static inline bool roce_psn_is_equal(roce_psn_t a, roce_psn_t b)
{
	return a.v == b.v;
}

static inline uint8_t roce_qpn_slot(roce_qpn_t q)
{
	return (uint8_t)(q.v >> 16);
}

#endif
