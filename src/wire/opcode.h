/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BTH opcodes: one list from which come the enum, the names, and the table that says what a packet
 * with this opcode carries and does. Nothing else in the tree knows which headers an opcode has;
 * code asks for the operation, the position and the flags, and compares whole opcodes rarely.
 *
 * To add an opcode: one line in the group it belongs to, and its row in opcode_test.c.
 */
#ifndef ROCE_WIRE_OPCODE_H
#define ROCE_WIRE_OPCODE_H

#include "wire/ids.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_BTH_BYTES 12u

/* Extended headers in the order in which they stand after the BTH: name, bytes. CNP_RESERVED is the
 * zero block that a CNP has instead of headers. */
#define ROCE_HEADER_LIST(X) \
	X(RDETH, 4)         \
	X(DETH, 8)          \
	X(XRCETH, 4)        \
	X(FETH, 4)          \
	X(RETH, 16)         \
	X(ATOMICETH, 28)    \
	X(AETH, 4)          \
	X(ATOMICACKETH, 8)  \
	X(IMMDT, 4)         \
	X(IETH, 4)          \
	X(CNP_RESERVED, 16)

enum roce_header {
#define X(name, bytes) ROCE_HEADER_##name,
	ROCE_HEADER_LIST(X)
#undef X
};

enum {
#define X(name, bytes) ROCE_##name##_BYTES = (bytes),
	ROCE_HEADER_LIST(X)
#undef X
};

/* A set of enum roce_header, one bit each. */
typedef struct {
	uint16_t v;
} roce_header_set_t;

static inline bool roce_header_set_has(roce_header_set_t set, enum roce_header h)
{
	return (set.v >> h) & 1;
}

#define ROCE_TRANSPORT_LIST(X) \
	X(RC, 0x00)            \
	X(UC, 0x20)            \
	X(RD, 0x40)            \
	X(UD, 0x60)            \
	X(CNP, 0x80)           \
	X(XRC, 0xa0)

/* The values are the top three bits of the opcode byte, in place. */
enum __attribute__((packed)) roce_opcode_transport {
#define X(name, base) ROCE_OPCODE_TRANSPORT_##name = (base),
	ROCE_TRANSPORT_LIST(X)
#undef X
};

#define ROCE_OPERATION_LIST(X) \
	X(SEND)                \
	X(WRITE)               \
	X(READ_REQUEST)        \
	X(READ_RESPONSE)       \
	X(ACK)                 \
	X(ATOMIC_ACK)          \
	X(CMP_SWAP)            \
	X(FETCH_ADD)           \
	X(FLUSH)               \
	X(ATOMIC_WRITE)        \
	X(CNP)                 \
	X(RESYNC)

enum __attribute__((packed)) roce_operation {
#define X(name) ROCE_OPERATION_##name,
	ROCE_OPERATION_LIST(X)
#undef X
};

#define ROCE_POSITION_LIST(X) \
	X(FIRST)              \
	X(MIDDLE)             \
	X(LAST)               \
	X(ONLY)

enum __attribute__((packed)) roce_position {
#define X(name) ROCE_POSITION_##name,
	ROCE_POSITION_LIST(X)
#undef X
};

/*
 * X(transport, name, code, operation, position, class, payload, headers)
 *   name     with the transport in front: RC_SEND_FIRST
 *   class    REQUEST or RESPONSE (a CNP is neither)
 *   payload  1 when bytes may follow the headers
 *   headers  HDR(x) bits or'ed, see the use of ROCE_HEADER_BIT below
 * `req` and `rsp` are the headers that the transport puts before all others.
 */
#define ROCE_HEADER_BIT(name) (1u << ROCE_HEADER_##name)

#define ROCE_OPCODES_SEND_WRITE(X, T, base, req)                              \
	X(T, T##_SEND_FIRST, (base) + 0x00, SEND, FIRST, REQUEST, 1, req)     \
	X(T, T##_SEND_MIDDLE, (base) + 0x01, SEND, MIDDLE, REQUEST, 1, req)   \
	X(T, T##_SEND_LAST, (base) + 0x02, SEND, LAST, REQUEST, 1, req)       \
	X(T, T##_SEND_LAST_IMM, (base) + 0x03, SEND, LAST, REQUEST, 1,        \
	  (req) | ROCE_HEADER_BIT(IMMDT))                                     \
	X(T, T##_SEND_ONLY, (base) + 0x04, SEND, ONLY, REQUEST, 1, req)       \
	X(T, T##_SEND_ONLY_IMM, (base) + 0x05, SEND, ONLY, REQUEST, 1,        \
	  (req) | ROCE_HEADER_BIT(IMMDT))                                     \
	X(T, T##_WRITE_FIRST, (base) + 0x06, WRITE, FIRST, REQUEST, 1,        \
	  (req) | ROCE_HEADER_BIT(RETH))                                      \
	X(T, T##_WRITE_MIDDLE, (base) + 0x07, WRITE, MIDDLE, REQUEST, 1, req) \
	X(T, T##_WRITE_LAST, (base) + 0x08, WRITE, LAST, REQUEST, 1, req)     \
	X(T, T##_WRITE_LAST_IMM, (base) + 0x09, WRITE, LAST, REQUEST, 1,      \
	  (req) | ROCE_HEADER_BIT(IMMDT))                                     \
	X(T, T##_WRITE_ONLY, (base) + 0x0a, WRITE, ONLY, REQUEST, 1,          \
	  (req) | ROCE_HEADER_BIT(RETH))                                      \
	X(T, T##_WRITE_ONLY_IMM, (base) + 0x0b, WRITE, ONLY, REQUEST, 1,      \
	  (req) | ROCE_HEADER_BIT(RETH) | ROCE_HEADER_BIT(IMMDT))

#define ROCE_OPCODES_READ_ATOMIC(X, T, base, req, rsp)                                         \
	X(T, T##_READ_REQUEST, (base) + 0x0c, READ_REQUEST, ONLY, REQUEST, 0,                  \
	  (req) | ROCE_HEADER_BIT(RETH))                                                       \
	X(T, T##_READ_RESPONSE_FIRST, (base) + 0x0d, READ_RESPONSE, FIRST, RESPONSE, 1,        \
	  (rsp) | ROCE_HEADER_BIT(AETH))                                                       \
	X(T, T##_READ_RESPONSE_MIDDLE, (base) + 0x0e, READ_RESPONSE, MIDDLE, RESPONSE, 1, rsp) \
	X(T, T##_READ_RESPONSE_LAST, (base) + 0x0f, READ_RESPONSE, LAST, RESPONSE, 1,          \
	  (rsp) | ROCE_HEADER_BIT(AETH))                                                       \
	X(T, T##_READ_RESPONSE_ONLY, (base) + 0x10, READ_RESPONSE, ONLY, RESPONSE, 1,          \
	  (rsp) | ROCE_HEADER_BIT(AETH))                                                       \
	X(T, T##_ACK, (base) + 0x11, ACK, ONLY, RESPONSE, 0, (rsp) | ROCE_HEADER_BIT(AETH))    \
	X(T, T##_ATOMIC_ACK, (base) + 0x12, ATOMIC_ACK, ONLY, RESPONSE, 0,                     \
	  (rsp) | ROCE_HEADER_BIT(AETH) | ROCE_HEADER_BIT(ATOMICACKETH))                       \
	X(T, T##_CMP_SWAP, (base) + 0x13, CMP_SWAP, ONLY, REQUEST, 0,                          \
	  (req) | ROCE_HEADER_BIT(ATOMICETH))                                                  \
	X(T, T##_FETCH_ADD, (base) + 0x14, FETCH_ADD, ONLY, REQUEST, 0,                        \
	  (req) | ROCE_HEADER_BIT(ATOMICETH))

#define ROCE_OPCODES_INVALIDATE(X, T, base, req)                       \
	X(T, T##_SEND_LAST_INV, (base) + 0x16, SEND, LAST, REQUEST, 1, \
	  (req) | ROCE_HEADER_BIT(IETH))                               \
	X(T, T##_SEND_ONLY_INV, (base) + 0x17, SEND, ONLY, REQUEST, 1, \
	  (req) | ROCE_HEADER_BIT(IETH))

#define ROCE_OPCODES_FLUSH(X, T, base, req)                     \
	X(T, T##_FLUSH, (base) + 0x1c, FLUSH, ONLY, REQUEST, 0, \
	  (req) | ROCE_HEADER_BIT(FETH) | ROCE_HEADER_BIT(RETH))

#define ROCE_OPCODES_ATOMIC_WRITE(X, T, base, req)                            \
	X(T, T##_ATOMIC_WRITE, (base) + 0x1d, ATOMIC_WRITE, ONLY, REQUEST, 1, \
	  (req) | ROCE_HEADER_BIT(RETH))

/* RD is listed so that tools can name it; the decoder drops it. */
#define ROCE_RD_REQUEST_HEADERS (ROCE_HEADER_BIT(RDETH) | ROCE_HEADER_BIT(DETH))

#define ROCE_OPCODE_LIST(X)                                                                    \
	ROCE_OPCODES_SEND_WRITE(X, RC, 0x00, 0u)                                               \
	ROCE_OPCODES_READ_ATOMIC(X, RC, 0x00, 0u, 0u)                                          \
	ROCE_OPCODES_INVALIDATE(X, RC, 0x00, 0u)                                               \
	ROCE_OPCODES_FLUSH(X, RC, 0x00, 0u)                                                    \
	ROCE_OPCODES_ATOMIC_WRITE(X, RC, 0x00, 0u)                                             \
	ROCE_OPCODES_SEND_WRITE(X, UC, 0x20, 0u)                                               \
	ROCE_OPCODES_SEND_WRITE(X, RD, 0x40, ROCE_RD_REQUEST_HEADERS)                          \
	ROCE_OPCODES_READ_ATOMIC(X, RD, 0x40, ROCE_RD_REQUEST_HEADERS, ROCE_HEADER_BIT(RDETH)) \
	X(RD, RD_RESYNC, 0x55, RESYNC, ONLY, REQUEST, 0, ROCE_RD_REQUEST_HEADERS)              \
	ROCE_OPCODES_FLUSH(X, RD, 0x40, ROCE_RD_REQUEST_HEADERS)                               \
	X(UD, UD_SEND_ONLY, 0x64, SEND, ONLY, REQUEST, 1, ROCE_HEADER_BIT(DETH))               \
	X(UD, UD_SEND_ONLY_IMM, 0x65, SEND, ONLY, REQUEST, 1,                                  \
	  ROCE_HEADER_BIT(DETH) | ROCE_HEADER_BIT(IMMDT))                                      \
	X(CNP, CNP, 0x81, CNP, ONLY, NEITHER, 0, ROCE_HEADER_BIT(CNP_RESERVED))                \
	ROCE_OPCODES_SEND_WRITE(X, XRC, 0xa0, ROCE_HEADER_BIT(XRCETH))                         \
	ROCE_OPCODES_READ_ATOMIC(X, XRC, 0xa0, ROCE_HEADER_BIT(XRCETH), 0u)                    \
	ROCE_OPCODES_INVALIDATE(X, XRC, 0xa0, ROCE_HEADER_BIT(XRCETH))                         \
	ROCE_OPCODES_FLUSH(X, XRC, 0xa0, ROCE_HEADER_BIT(XRCETH))                              \
	ROCE_OPCODES_ATOMIC_WRITE(X, XRC, 0xa0, ROCE_HEADER_BIT(XRCETH))

/* ROCE_RC_SEND_FIRST and so on; ROCE_CNP is the congestion notification packet. */
enum roce_op {
#define X(T, name, code, operation, position, class, payload, headers) ROCE_##name = (code),
	ROCE_OPCODE_LIST(X)
#undef X
};

struct roce_opcode_info {
	const char *name;	   /* "RC_SEND_FIRST"; NULL marks a reserved code in the table */
	roce_header_set_t headers; /* after the BTH */
	uint8_t header_len;	   /* bytes, BTH included */
	enum roce_opcode_transport transport;
	enum roce_operation operation;
	enum roce_position position;
	bool is_request;
	bool is_response;
	bool has_payload;
	bool consumes_recv;  /* takes a receive WQE with this packet */
	bool completes_recv; /* makes a receive CQE with this packet */
	bool has_imm;
	bool has_inv;
};

extern const struct roce_opcode_info roce_opcode_table[256];

/* NULL when the code is reserved or manufacturer specific. Hot path: one load and one test. */
static inline const struct roce_opcode_info *roce_opcode_info(roce_opcode_t opcode)
{
	const struct roce_opcode_info *info = &roce_opcode_table[opcode.v];

	return info->name ? info : NULL;
}

static inline roce_opcode_t roce_opcode_make(enum roce_op op)
{
	return (roce_opcode_t){(uint8_t)op};
}

/* True for First and Only: a packet that may stand where no message is open. */
static inline bool roce_position_is_start(enum roce_position p)
{
	return p == ROCE_POSITION_FIRST || p == ROCE_POSITION_ONLY;
}

/* True for Last and Only: a packet that ends its message. */
static inline bool roce_position_is_end(enum roce_position p)
{
	return p == ROCE_POSITION_LAST || p == ROCE_POSITION_ONLY;
}

/* "RC_SEND_FIRST"; "reserved" for codes that have no meaning. Never NULL. */
const char *roce_opcode_str(roce_opcode_t opcode);
const char *roce_operation_str(enum roce_operation operation);
const char *roce_opcode_transport_str(enum roce_opcode_transport transport);
const char *roce_position_str(enum roce_position position);

#endif
