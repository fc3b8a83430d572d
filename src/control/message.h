/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages between uroced and its clients: one per SOCK_SEQPACKET datagram, a fixed header and a
 * body of fixed layout per type, little-endian, every length checked. The header and the bodies of
 * HELLO and ERROR keep their layout for ever, so that two versions can always tell each other that
 * they do not match; everything else may change with ROCE_CONTROL_PROTOCOL.
 *
 *   0        4        6        8          12         16
 *   | magic  | proto  | type   | sequence | length   | body ...
 *
 * `sequence` is chosen by the client and echoed in the answer; 0 is what nobody asked for (STRAY,
 * REMAPPED, CM_EVENT). Descriptors travel beside the message (channel.h), never inside it.
 */
#ifndef ROCE_CONTROL_MESSAGE_H
#define ROCE_CONTROL_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/addr.h"
#include "control/address.h"
#include "control/cm_message.h"

#define ROCE_CONTROL_MAGIC	   UINT32_C(0x454f5255) /* "UROE" in memory */
#define ROCE_CONTROL_PROTOCOL	   2
#define ROCE_CONTROL_PORT	   4791

#define ROCE_CONTROL_PRODUCT_MAX   32
#define ROCE_CONTROL_PROGRAM_MAX   64
#define ROCE_CONTROL_PATH_MAX	   128
#define ROCE_CONTROL_TEXT_MAX	   320
#define ROCE_CONTROL_CLAIM_MAX	   32	/* addresses (and descriptors) in one CLAIM */
#define ROCE_CONTROL_SLOT_ADDR_MAX 128	/* addresses that one slot may open */
#define ROCE_CONTROL_STRAY_MAX	   4608 /* largest RoCE packet: 4096 of payload and all headers */
#define ROCE_CONTROL_MESSAGE_MAX   5120
#define ROCE_CONTROL_SLOT_MAX	   254

/* X(NAME, value): who sends it is in the comment. */
#define ROCE_MESSAGE_TYPES(X)                                                                   \
	X(HELLO, 1)	      /* client: first message */                                       \
	X(HELLO_OK, 2)	      /* daemon */                                                      \
	X(ERROR, 3)	      /* daemon: answer to anything */                                  \
	X(OK, 4)	      /* daemon: answer to CLAIM, CLAIMED, STOP */                      \
	X(LEASE, 5)	      /* client */                                                      \
	X(LEASE_OK, 6)	      /* daemon */                                                      \
	X(RELEASE, 7)	      /* client, no answer */                                           \
	X(OPEN_ADDRESS, 8)    /* client */                                                      \
	X(OPEN_ADDRESS_OK, 9) /* daemon, with the socket */                                     \
	X(CLOSE_ADDRESS, 10)  /* client, no answer */                                           \
	X(CLAIM, 11)	      /* client after a reconnect, with its sockets */                  \
	X(CLAIMED, 12)	      /* client: no more claims; what it did not name is free */        \
	X(STRAY, 13)	      /* both: a packet that reached the wrong socket */                \
	X(REMAPPED, 14)	      /* daemon, with a socket that takes the place of a damaged one */ \
	X(STATUS, 15)	      /* client */                                                      \
	X(STATUS_DAEMON, 16)  /* daemon, once */                                                \
	X(STATUS_SLOT, 17)    /* daemon, per leased slot */                                     \
	X(STATUS_ADDRESS, 18) /* daemon, per local address */                                   \
	X(STATUS_COUNTER, 19) /* daemon, per counter */                                         \
	X(STATUS_END, 20)     /* daemon */                                                      \
	X(STOP, 21)	      /* client */                                                      \
	X(CM, 22)	      /* client: a request to the connection manager (cm_message.h) */  \
	X(CM_OK, 23)	      /* daemon: answer to CM */                                        \
	X(CM_EVENT, 24)	      /* daemon, of itself */

enum roce_message_type {
#define X(name, value) ROCE_MESSAGE_##name = (value),
	ROCE_MESSAGE_TYPES(X)
#undef X
};

#define ROCE_MESSAGE_ERRORS(X)                                      \
	X(OK, "no error")                                           \
	X(SHORT, "shorter than the header")                         \
	X(MAGIC, "not a uroce message")                             \
	X(PROTOCOL, "other protocol version")                       \
	X(LENGTH, "length field does not match the datagram")       \
	X(TYPE, "unknown type")                                     \
	X(TRUNCATED, "body too short for its type")                 \
	X(TRAILING, "bytes after the body")                         \
	X(STRING, "string too long or with control characters")     \
	X(SLOT, "slot number outside 1 to 254")                     \
	X(COUNT, "too many addresses")                              \
	X(FAMILY, "address family neither IPv4 nor IPv6")           \
	X(STRAY_LENGTH, "stray packet longer than any RoCE packet") \
	X(FLAGS, "unknown flag")                                    \
	X(CM_OP, "unknown request to the connection manager")       \
	X(CM_EVENT, "unknown event of the connection manager")      \
	X(CM_TRANSPORT, "unknown transport")                        \
	X(CM_LENGTH, "private data too long")

enum roce_message_error {
#define X(name, text) ROCE_MESSAGE_ERROR_##name,
	ROCE_MESSAGE_ERRORS(X)
#undef X
};

#define ROCE_OPEN_GRO_OFF UINT32_C(1)
#define ROCE_STOP_FORCE	  UINT32_C(1)

struct roce_message {
	enum roce_message_type type;
	uint32_t sequence;
	union {
		struct {
			uint16_t protocol; /* of the header, also when it is not ours */
			uint32_t pid;	   /* as the sender sees itself: for display only */
			uint64_t netns;	   /* inode of its network namespace, 0 unknown */
			uint64_t instance; /* random, secret: what a claim is checked against */
			char product[ROCE_CONTROL_PRODUCT_MAX];
			char program[ROCE_CONTROL_PROGRAM_MAX];
		} hello; /* HELLO, HELLO_OK */
		struct {
			uint32_t error; /* positive errno */
			char text[ROCE_CONTROL_TEXT_MAX];
		} error;
		struct {
			uint8_t slot;
		} lease; /* LEASE_OK, RELEASE */
		struct {
			uint8_t slot;
			struct roce_address address;
			uint32_t flags; /* ROCE_OPEN_*; in OPEN_ADDRESS only, else 0 */
			uint32_t nonce; /* OPEN_ADDRESS_OK, REMAPPED: goes back in CLAIM; else 0 */
		} open;			/* OPEN_ADDRESS, OPEN_ADDRESS_OK, CLOSE_ADDRESS, REMAPPED */
		struct {
			uint8_t slot;
			uint8_t count;
			struct roce_address address[ROCE_CONTROL_CLAIM_MAX];
			uint32_t nonce[ROCE_CONTROL_CLAIM_MAX];
		} claim; /* the n-th descriptor is the socket of the n-th address */
		struct {
			struct roce_gid local;
			struct sockaddr_storage from;
			uint8_t tos;
			uint16_t length;
			const uint8_t *data; /* decoded: points into the datagram */
		} stray;
		struct {
			uint32_t pid;
			uint32_t keeper_pid; /* 0: none */
			uint64_t uptime_ms;
			uint16_t slots;
			uint32_t clients;
			char product[ROCE_CONTROL_PRODUCT_MAX];
			char socket[ROCE_CONTROL_PATH_MAX];
		} status_daemon;
		struct {
			uint8_t slot;
			uint32_t pid;
			uint32_t uid;
			char program[ROCE_CONTROL_PROGRAM_MAX];
			uint8_t count;
			struct roce_address address[ROCE_CONTROL_SLOT_ADDR_MAX];
		} status_slot;
		struct {
			struct roce_address address;
			uint16_t leased;  /* sockets in the hands of programs */
			uint16_t members; /* all sockets of the group */
		} status_address;
		struct {
			uint64_t value;
			char name[ROCE_CONTROL_PROGRAM_MAX];
		} status_counter;
		struct {
			uint32_t flags; /* ROCE_STOP_* */
		} stop;
		struct roce_cm_request cm;
		struct roce_cm_ok cm_ok;
		struct roce_cm_event cm_event;
	};
};

const char *roce_message_type_str(enum roce_message_type type);
const char *roce_message_error_str(enum roce_message_error error);

/* Bytes written to `out` (ROCE_CONTROL_MESSAGE_MAX bytes). The message must be well-formed. */
size_t roce_message_encode(const struct roce_message *m, uint8_t *out);

/*
 * On failure type and sequence are there as far as they were decoded; on _PROTOCOL, for HELLO,
 * HELLO_OK and ERROR, the body too, or zeros in its place when it makes no sense.
 */
enum roce_message_error roce_message_decode(struct roce_message *out_message, const uint8_t *data,
					    size_t length);

#endif
