/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A RoCEv2 packet as the core sees it: decoded headers, the payload by reference, and the two ends.
 * Bytes exist only at the edge (engine and pktio encode and decode with headers.h); the simulator
 * passes these structs along and never serialises.
 *
 * Ownership: a received packet and its payload are borrowed for the call of roce_rx(). The payload
 * reference of a packet to be sent points into memory regions or the WQE and is valid until the
 * next call into the transport: the engine copies it into its staging buffer at once.
 */
#ifndef ROCE_WIRE_PACKET_H
#define ROCE_WIRE_PACKET_H

#include "base/addr.h"
#include "wire/ids.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decoded BTH and every extended header; which extended ones are meaningful follows from the opcode
 * (opcode.h), and those that no opcode has together share their place: one cache line. Integers are
 * host order. */
struct roce_headers {
	roce_opcode_t opcode;
	uint8_t pad_count; /* 0-3 */
	uint8_t tver;	   /* must be 0 */
	bool solicited;
	bool mig_req;
	bool ack_req;
	bool fecn;
	bool becn;
	uint16_t pkey;
	uint8_t flush_sel; /* FETH 5-4 */
	uint8_t flush_plt; /* FETH 3-0 */
	roce_qpn_t dest_qpn;
	roce_psn_t psn;
	uint32_t xrc_srqn; /* XRCETH, 24 bits */

	/* RETH; AtomicETH shares va and rkey */
	union {
		uint64_t va;
		struct {
			uint32_t qkey;	    /* DETH */
			roce_qpn_t src_qpn; /* DETH */
		};
	};
	roce_key_t rkey;
	union {
		uint32_t dma_len; /* bytes, 0 to 2^31 */
		uint32_t msn;	  /* AETH: 24 bits */
	};

	uint64_t swap_add; /* AtomicETH: swap value, or the number to add */
	union {
		uint64_t compare;     /* AtomicETH */
		uint64_t atomic_orig; /* AtomicAckETH */
	};
	union {
		uint32_t imm_be;     /* ImmDt untouched, network order */
		roce_key_t inv_rkey; /* IETH */
	};
	uint8_t syndrome; /* AETH */
};

_Static_assert(sizeof(struct roce_headers) == 64, "one cache line");

/* One address of a work request; addr is a virtual address of this process. */
struct roce_sge {
	uint64_t addr;
	uint32_t length; /* bytes */
	uint32_t lkey;
};

/* Where the payload of a packet to be sent lies. */
struct roce_payload {
	const struct roce_sge
		*sge; /* pieces, or NULL: `data`, and if that is NULL too, phantom bytes */
	uint32_t sge_count;
	uint64_t offset; /* bytes to skip from the start of the pieces */
	const void *data;
	uint32_t length;   /* bytes, without pad */
	bool is_on_demand; /* `data` may be gone and is read in a way that does not fault */
};

/* The low two bits of a traffic class (RFC 3168). */
#define ROCE_ECN_MASK 3u
#define ROCE_ECN_ECT0 2u /* may be marked */
#define ROCE_ECN_CE   3u /* was marked: congestion on the way */

/* The network part of an address vector. */
struct roce_path {
	struct roce_gid sgid;
	struct roce_gid dgid;
	uint32_t flow_label;
	uint16_t pkey;
	uint8_t traffic_class; /* DSCP << 2 | ECN */
	uint8_t hop_limit;
	uint8_t sl;
	uint8_t sgid_index;
};

struct roce_rx_pkt {
	struct roce_headers hdr;
	const void *payload; /* payload_len bytes; NULL for phantom payload */
	uint32_t payload_len;
	const struct roce_gid *src;
	const struct roce_gid *dst;
	uint8_t traffic_class; /* as received; low 2 bits are ECN */
	uint8_t hop_limit;
};

struct roce_qp;

struct roce_tx_pkt {
	struct roce_headers hdr; /* pad_count is set */
	struct roce_payload payload;
	const struct roce_path *path;
	struct roce_qp *qp;    /* whose packet it is: roce_tx_fault() wants it back */
	uint8_t traffic_class; /* DSCP << 2 | ECN, that of the path or not */
	uint8_t tx_class;      /* 0 to 7, see transport.h */
	bool is_single;	       /* must not leave in a batch with others */
};

#endif
