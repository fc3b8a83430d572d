/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What two rsockets tell each other, as bytes: the 40 bytes of connection data in REQ and REP, the
 * 32 bits of immediate data, entries of the lists that a peer writes into our memory, and the
 * headers of datagrams. There is one wire version, 1. Pure functions.
 *
 * Connection data (numbers big-endian):
 *    0 version   1 flags   2 credits (16)   4 reserved (24)   7 slots for mappings, scaled
 *    8 list address (64)   16 list rkey (32)   20 list length, entries (32)
 *   24 ring address (64)   32 ring rkey (32)   36 bytes of the ring's first half (32)
 *
 * Immediate data: bits 31 to 29 say what, bits 28 to 0 are its value.
 */
#ifndef ROCE_RSOCKET_WIRE_H
#define ROCE_RSOCKET_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define ROCE_RS_VERSION		1
#define ROCE_RS_CONNECT_BYTES	40
#define ROCE_RS_SGE_BYTES	16
#define ROCE_RS_MAPPING_BYTES	24
#define ROCE_RS_LIST_LENGTH	2 /* halves of the ring that a side can know of */
#define ROCE_RS_VALUE_MASK	UINT32_C(0x1fffffff)

#define ROCE_RS_FLAG_BIG_ENDIAN 1 /* the sender's lists are in that order */
#define ROCE_RS_FLAG_MAPPINGS	2 /* the sender understands riomap */

enum roce_rs_op {
	ROCE_RS_OP_DATA = 0,	/* value: bytes */
	ROCE_RS_OP_WRITE = 2,	/* riowrite: never as immediate data */
	ROCE_RS_OP_CREDIT = 4,	/* value: new limit of the sender's sequence number */
	ROCE_RS_OP_MAPPING = 6, /* value: index of the mapping that was written */
	ROCE_RS_OP_CONTROL = 7, /* value: enum roce_rs_control */
};

enum roce_rs_control {
	ROCE_RS_CONTROL_DISCONNECT = 0,
	ROCE_RS_CONTROL_KEEPALIVE = 1, /* never as immediate data */
	ROCE_RS_CONTROL_SHUTDOWN = 2,
};

struct roce_rs_sge {
	uint64_t address;
	uint32_t rkey;
	uint32_t length; /* bytes */
};

struct roce_rs_connect_data {
	uint8_t version;
	uint8_t flags;
	uint16_t credits;
	uint16_t mapping_slots;
	struct roce_rs_sge list; /* length: entries */
	struct roce_rs_sge ring; /* its first half */
};

void roce_rs_connect_encode(const struct roce_rs_connect_data *d, uint8_t *out);
void roce_rs_connect_decode(const uint8_t *data, struct roce_rs_connect_data *out_data);

/* The nearest number of slots, downwards, that the 8-bit form can say: n up to 128, else a multiple
 * of 256 up to 32512. */
uint16_t roce_rs_mapping_slots_round(uint32_t slots);

static inline uint32_t roce_rs_imm(enum roce_rs_op op, uint32_t value)
{
	return ((uint32_t)op << 29) | (value & ROCE_RS_VALUE_MASK);
}

static inline uint32_t roce_rs_imm_op(uint32_t imm)
{
	return imm >> 29;
}

static inline uint32_t roce_rs_imm_value(uint32_t imm)
{
	return imm & ROCE_RS_VALUE_MASK;
}

bool roce_rs_host_is_big_endian(void);

/* List entries are in their owner's byte order; `swap`: it is not ours. */
void roce_rs_sge_encode(const struct roce_rs_sge *sge, bool swap, uint8_t *out);
void roce_rs_mapping_encode(uint64_t offset, const struct roce_rs_sge *sge, bool swap,
			    uint8_t *out);

/* Datagrams over a UD queue pair begin with who sent them. */
#define ROCE_RS_UD_HEADER_V4  8
#define ROCE_RS_UD_HEADER_V6  24
#define ROCE_RS_UD_HEADER_MAX ROCE_RS_UD_HEADER_V6

size_t roce_rs_ud_header_encode(const struct sockaddr *source, uint8_t *out);
/* Bytes of the header; 0: not one. */
size_t roce_rs_ud_header_decode(const uint8_t *data, size_t length, struct sockaddr_storage *out);

/* Datagrams over UDP, as long as a peer's queue pair is not known, begin with ours. */
#define ROCE_RS_UDP_TAG	       UINT32_C(0x55555555)
#define ROCE_RS_UDP_HEADER_V4  16
#define ROCE_RS_UDP_HEADER_V6  28
#define ROCE_RS_UDP_HEADER_MAX ROCE_RS_UDP_HEADER_V6

struct roce_rs_udp_header {
	uint8_t family_version; /* 4 or 6 */
	enum roce_rs_op op;	/* DATA or CONTROL */
	uint32_t qpn;
};

/* source: 4 or 16 bytes of address go in, which receivers ignore. */
size_t roce_rs_udp_header_encode(const struct roce_rs_udp_header *h, const struct sockaddr *source,
				 uint8_t *out);
size_t roce_rs_udp_header_decode(const uint8_t *data, size_t length,
				 struct roce_rs_udp_header *out_header);

#endif
