/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the InfiniBand connection manager (IBTA volume 1, chapter 12), as structs and as the
 * 256 bytes of a MAD. One struct holds any of them: what all have in common stands in front, the
 * rest in a union by attribute. Reserved bits are written as zero and not looked at.
 *
 * The decoder judges only what the bytes alone tell (see the verdicts). Whether a message fits a
 * connection is decided in src/cm. Private data has a fixed size per message; its true length is
 * not on the wire, so a receiver sees all of it, with zeros behind what the sender gave.
 */
#ifndef ROCE_WIRE_CM_MAD_H
#define ROCE_WIRE_CM_MAD_H

#include "base/addr.h"
#include "wire/ids.h"
#include "wire/mad.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, attribute ID, bytes of private data, their offset in the MAD data) */
#define ROCE_CM_ATTR_LIST(X)         \
	X(REQ, 0x0010, 92, 140)      \
	X(MRA, 0x0011, 222, 10)      \
	X(REJ, 0x0012, 148, 84)      \
	X(REP, 0x0013, 196, 36)      \
	X(RTU, 0x0014, 224, 8)       \
	X(DREQ, 0x0015, 220, 12)     \
	X(DREP, 0x0016, 224, 8)      \
	X(SIDR_REQ, 0x0017, 216, 16) \
	X(SIDR_REP, 0x0018, 136, 96) \
	X(LAP, 0x0019, 168, 64)      \
	X(APR, 0x001a, 148, 84)

enum roce_cm_attr {
#define X(name, id, bytes, offset) ROCE_CM_##name = (id),
	ROCE_CM_ATTR_LIST(X)
#undef X
};

/* ROCE_CM_REQ_PRIVATE_BYTES and so on. */
enum {
#define X(name, id, bytes, offset) ROCE_CM_##name##_PRIVATE_BYTES = (bytes),
	ROCE_CM_ATTR_LIST(X)
#undef X
};

#define ROCE_CM_PRIVATE_BYTES_MAX 224u
#define ROCE_CM_INFO_BYTES	  72u /* additional information of REJ, SIDR_REP and APR */

/* X(name, value, text): why a connection is refused. */
#define ROCE_CM_REJ_LIST(X)                                                    \
	X(NO_QP, 1, "no QP")                                                   \
	X(NO_EEC, 2, "no EE context")                                          \
	X(NO_RESOURCES, 3, "no resources")                                     \
	X(TIMEOUT, 4, "timeout")                                               \
	X(UNSUPPORTED, 5, "unsupported request")                               \
	X(INVALID_COMM_ID, 6, "invalid communication ID")                      \
	X(INVALID_COMM_INSTANCE, 7, "invalid communication instance")          \
	X(INVALID_SERVICE_ID, 8, "invalid service ID: nobody listens")         \
	X(INVALID_TRANSPORT, 9, "invalid transport service type")              \
	X(STALE, 10, "stale connection")                                       \
	X(NO_RDC, 11, "RDC does not exist")                                    \
	X(INVALID_GID, 12, "primary port GID rejected")                        \
	X(INVALID_LID, 13, "primary port LID rejected")                        \
	X(INVALID_SL, 14, "primary SL rejected")                               \
	X(INVALID_TRAFFIC_CLASS, 15, "primary traffic class rejected")         \
	X(INVALID_HOP_LIMIT, 16, "primary hop limit rejected")                 \
	X(INVALID_PACKET_RATE, 17, "primary packet rate rejected")             \
	X(INVALID_ALT_GID, 18, "alternate port GID rejected")                  \
	X(INVALID_ALT_LID, 19, "alternate port LID rejected")                  \
	X(INVALID_ALT_SL, 20, "alternate SL rejected")                         \
	X(INVALID_ALT_TRAFFIC_CLASS, 21, "alternate traffic class rejected")   \
	X(INVALID_ALT_HOP_LIMIT, 22, "alternate hop limit rejected")           \
	X(INVALID_ALT_PACKET_RATE, 23, "alternate packet rate rejected")       \
	X(PORT_CM_REDIRECT, 24, "port and CM redirection")                     \
	X(PORT_REDIRECT, 25, "port redirection")                               \
	X(INVALID_MTU, 26, "path MTU rejected")                                \
	X(INSUFFICIENT_RESP_RESOURCES, 27, "insufficient responder resources") \
	X(CONSUMER, 28, "rejected by the application")                         \
	X(RNR_RETRY_COUNT, 29, "RNR retry count rejected")                     \
	X(DUPLICATE_COMM_ID, 30, "duplicate local communication ID")           \
	X(CLASS_VERSION, 31, "unsupported class version")                      \
	X(INVALID_FLOW_LABEL, 32, "primary flow label rejected")               \
	X(INVALID_ALT_FLOW_LABEL, 33, "alternate flow label rejected")         \
	X(VENDOR_OPTION, 35, "vendor option not supported")

enum roce_cm_rej_reason {
#define X(name, value, text) ROCE_CM_REJ_##name = (value),
	ROCE_CM_REJ_LIST(X)
#undef X
};

/* Which message an MRA or REJ answers. */
enum roce_cm_answered {
	ROCE_CM_ANSWERED_REQ = 0,
	ROCE_CM_ANSWERED_REP = 1,
	ROCE_CM_ANSWERED_OTHER = 2, /* MRA: LAP; REJ: no message */
};

#define ROCE_CM_SIDR_LIST(X)                          \
	X(VALID, 0, "valid QPN")                      \
	X(UNSUPPORTED, 1, "service ID not supported") \
	X(REJECTED, 2, "rejected by the service")     \
	X(NO_QP, 3, "no QP available")                \
	X(REDIRECT, 4, "redirected")                  \
	X(UNSUPPORTED_VERSION, 5, "version not supported")

enum roce_cm_sidr_status {
#define X(name, value, text) ROCE_CM_SIDR_##name = (value),
	ROCE_CM_SIDR_LIST(X)
#undef X
};

#define ROCE_CM_APR_UNSUPPORTED 2u /* status of an APR: no alternate paths here */

/* Transport service type of a REQ; XRC is EXTENDED with extended type 1. */
enum roce_cm_service_type {
	ROCE_CM_SERVICE_RC = 0,
	ROCE_CM_SERVICE_UC = 1,
	ROCE_CM_SERVICE_RD = 2,
	ROCE_CM_SERVICE_EXTENDED = 3,
};

#define ROCE_CM_EXTENDED_XRC 1u

/* A path as REQ and LAP describe it: from the sender's point of view. */
struct roce_cm_path_record {
	uint16_t local_lid; /* 0xffff on routed paths, else 0 */
	uint16_t remote_lid;
	struct roce_gid local_gid;
	struct roce_gid remote_gid;
	uint32_t flow_label; /* 20 bits */
	uint8_t rate;	     /* 6 bits */
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t sl; /* 4 bits */
	bool subnet_local;
	uint8_t ack_timeout; /* 5 bits: 4.096 us << n */
	bool sap_supported;  /* alternate path only */
};

struct roce_cm_req {
	uint32_t vendor_id; /* 24 bits, ECE; the options travel in attribute_modifier */
	uint64_t service_id;
	uint64_t ca_guid;
	uint32_t qkey;
	roce_qpn_t qpn;
	uint8_t responder_resources; /* READs and atomics that the sender answers at a time */
	uint32_t local_eecn;
	uint8_t initiator_depth; /* those that it has outstanding */
	uint32_t remote_eecn;
	uint8_t remote_response_timeout; /* 5 bits: how fast the receiver is to answer */
	uint8_t transport;		 /* enum roce_cm_service_type */
	bool flow_control;
	roce_psn_t starting_psn;	/* first PSN that the sender will accept */
	uint8_t local_response_timeout; /* 5 bits: how fast the sender answers */
	uint8_t retry_count;		/* 3 bits */
	uint16_t pkey;
	uint8_t mtu; /* code 1 to 5 */
	bool rdc_exists;
	uint8_t rnr_retry_count; /* 3 bits */
	uint8_t max_cm_retries;	 /* 4 bits */
	bool srq;
	uint8_t extended_transport; /* 3 bits */
	struct roce_cm_path_record primary;
	struct roce_cm_path_record alternate;
};

struct roce_cm_rep {
	uint32_t qkey;
	roce_qpn_t qpn;
	uint32_t vendor_id;
	uint32_t local_eecn; /* XRC: QPN */
	roce_psn_t starting_psn;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t target_ack_delay; /* 5 bits */
	uint8_t failover_accepted;
	bool flow_control;
	uint8_t rnr_retry_count;
	bool srq;
	uint64_t ca_guid;
};

struct roce_cm_mra {
	uint8_t answered;	 /* enum roce_cm_answered */
	uint8_t service_timeout; /* 5 bits */
};

struct roce_cm_rej {
	uint8_t answered; /* enum roce_cm_answered */
	uint16_t reason;  /* enum roce_cm_rej_reason */
	uint8_t info_len; /* 7 bits as found; at most ROCE_CM_INFO_BYTES make sense */
	uint8_t info[ROCE_CM_INFO_BYTES];
};

struct roce_cm_dreq {
	roce_qpn_t remote_qpn; /* the receiver's */
};

struct roce_cm_sidr_req { /* the request ID is local_id of the message */
	uint16_t pkey;
	uint64_t service_id;
};

struct roce_cm_sidr_rep { /* the request ID is remote_id of the message */
	uint8_t status;	  /* enum roce_cm_sidr_status */
	uint8_t info_len;
	uint32_t vendor_id;
	roce_qpn_t qpn;
	uint64_t service_id;
	uint32_t qkey;
	uint8_t info[ROCE_CM_INFO_BYTES];
};

struct roce_cm_lap {
	roce_qpn_t remote_qpn;
	uint8_t remote_response_timeout;
	struct roce_cm_path_record alternate;
};

struct roce_cm_apr {
	uint8_t info_len;
	uint8_t status;
	uint8_t info[ROCE_CM_INFO_BYTES];
};

struct roce_cm_message {
	enum roce_cm_attr attr;
	uint64_t tid;
	uint32_t attribute_modifier; /* ECE options of REQ, REP and SIDR_REP; else 0 */
	uint32_t local_id;	     /* the sender's; 0 in a REJ without one */
	uint32_t remote_id;	     /* the receiver's; 0 where it is not known yet */
	/* Decoded: all of it, inside the bytes given. To encode: any length up to the capacity. */
	const uint8_t *private_data;
	uint16_t private_len;
	union {
		struct roce_cm_req req;
		struct roce_cm_rep rep;
		struct roce_cm_mra mra;
		struct roce_cm_rej rej;
		struct roce_cm_dreq dreq;
		struct roce_cm_sidr_req sidr_req;
		struct roce_cm_sidr_rep sidr_rep;
		struct roce_cm_lap lap;
		struct roce_cm_apr apr;
	};
};

#define ROCE_CM_DECODE_LIST(X)                                    \
	X(OK, "ok")                                               \
	X(BAD_LENGTH, "not 256 bytes")                            \
	X(BAD_BASE_VERSION, "MAD base version is not 1")          \
	X(BAD_CLASS, "not of the communication management class") \
	X(BAD_CLASS_VERSION, "class version is not 2")            \
	X(BAD_METHOD, "method is not Send")                       \
	X(BAD_ATTRIBUTE, "unknown attribute")

enum roce_cm_decode_verdict {
#define X(name, text) ROCE_CM_DECODE_##name,
	ROCE_CM_DECODE_LIST(X)
#undef X
		ROCE_CM_DECODE_COUNT,
};

const char *roce_cm_decode_verdict_str(enum roce_cm_decode_verdict verdict);

/* "REQ"; takes the raw value, since a peer may send any: "unknown". */
const char *roce_cm_attr_str(uint16_t attr);
const char *roce_cm_rej_reason_str(uint16_t reason);
const char *roce_cm_sidr_status_str(uint8_t status);

/* Capacity for private data of a message, 0 when there is no such. */
size_t roce_cm_private_capacity(enum roce_cm_attr attr);

/* On any verdict but OK the output is undefined. */
enum roce_cm_decode_verdict roce_cm_message_decode(const uint8_t *mad, size_t len,
						   struct roce_cm_message *out);

/* Writes ROCE_MAD_BYTES. */
void roce_cm_message_encode(const struct roce_cm_message *m, uint8_t *mad);

/*
 * The first 36 bytes of the private data of a REQ or SIDR_REQ whose service ID is an IP port
 * (annex A11). The destination port and the port space stand in the service ID.
 */
#define ROCE_CM_IP_HEADER_BYTES	      36u
#define ROCE_CM_IP_REQ_PRIVATE_BYTES  (ROCE_CM_REQ_PRIVATE_BYTES - ROCE_CM_IP_HEADER_BYTES)
#define ROCE_CM_IP_SIDR_PRIVATE_BYTES (ROCE_CM_SIDR_REQ_PRIVATE_BYTES - ROCE_CM_IP_HEADER_BYTES)

struct roce_cm_ip_header {
	uint8_t version;    /* major and minor, 0 */
	uint8_t ip_version; /* 4 or 6 */
	uint16_t src_port;
	struct roce_gid src; /* v4-mapped for IPv4 */
	struct roce_gid dst;
};

/* False when the version is not 0 or the IP version neither 4 nor 6. */
bool roce_cm_ip_header_decode(const uint8_t *private_data, struct roce_cm_ip_header *out);
void roce_cm_ip_header_encode(const struct roce_cm_ip_header *h, uint8_t *private_data);

/* Port spaces of the RDMA CM; their low byte is the protocol byte of the service ID. */
enum roce_port_space {
	ROCE_PORT_SPACE_IPOIB = 0x0002,
	ROCE_PORT_SPACE_TCP = 0x0106,
	ROCE_PORT_SPACE_UDP = 0x0111,
	ROCE_PORT_SPACE_IB = 0x013f,
};

static inline uint64_t roce_cm_service_id(uint16_t port_space, uint16_t port)
{
	return (uint64_t)port_space << 16 | port;
}

#endif
