/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The opcode table, generated from the list in opcode.h. What follows from operation, position and
 * headers is computed here by constant expressions, so that a list entry cannot contradict itself.
 */
#include "wire/opcode.h"

#define HAS(set, name) (((set) >> ROCE_HEADER_##name) & 1u)

#define HEADER_LEN_OF(SET)                                                                        \
	(ROCE_BTH_BYTES + HAS(SET, RDETH) * ROCE_RDETH_BYTES + HAS(SET, DETH) * ROCE_DETH_BYTES + \
	 HAS(SET, XRCETH) * ROCE_XRCETH_BYTES + HAS(SET, FETH) * ROCE_FETH_BYTES +                \
	 HAS(SET, RETH) * ROCE_RETH_BYTES + HAS(SET, ATOMICETH) * ROCE_ATOMICETH_BYTES +          \
	 HAS(SET, AETH) * ROCE_AETH_BYTES + HAS(SET, ATOMICACKETH) * ROCE_ATOMICACKETH_BYTES +    \
	 HAS(SET, IMMDT) * ROCE_IMMDT_BYTES + HAS(SET, IETH) * ROCE_IETH_BYTES +                  \
	 HAS(SET, CNP_RESERVED) * ROCE_CNP_RESERVED_BYTES)

#define IS_REQUEST_REQUEST   1
#define IS_REQUEST_RESPONSE  0
#define IS_REQUEST_NEITHER   0
#define IS_RESPONSE_REQUEST  0
#define IS_RESPONSE_RESPONSE 1
#define IS_RESPONSE_NEITHER  0

#define IS_SEND(operation)   (ROCE_OPERATION_##operation == ROCE_OPERATION_SEND)
#define IS_WRITE(operation)  (ROCE_OPERATION_##operation == ROCE_OPERATION_WRITE)
#define IS_START(position)                                  \
	(ROCE_POSITION_##position == ROCE_POSITION_FIRST || \
	 ROCE_POSITION_##position == ROCE_POSITION_ONLY)
#define IS_END(position)                                   \
	(ROCE_POSITION_##position == ROCE_POSITION_LAST || \
	 ROCE_POSITION_##position == ROCE_POSITION_ONLY)

const struct roce_opcode_info roce_opcode_table[256] = {
#define X(T, op_name, code, op, pos, class, payload, header_bits)                                  \
	[code] = {                                                                                 \
		.name = #op_name,                                                                  \
		.headers = {(uint16_t)(header_bits)},                                              \
		.header_len = (uint8_t)HEADER_LEN_OF(header_bits),                                 \
		.transport = ROCE_OPCODE_TRANSPORT_##T,                                            \
		.operation = ROCE_OPERATION_##op,                                                  \
		.position = ROCE_POSITION_##pos,                                                   \
		.is_request = IS_REQUEST_##class,                                                  \
		.is_response = IS_RESPONSE_##class,                                                \
		.has_payload = payload,                                                            \
		.consumes_recv = (IS_SEND(op) && IS_START(pos)) ||                                 \
				 (IS_WRITE(op) && HAS(header_bits, IMMDT)),                        \
		.completes_recv =                                                                  \
			(IS_SEND(op) && IS_END(pos)) || (IS_WRITE(op) && HAS(header_bits, IMMDT)), \
		.has_imm = HAS(header_bits, IMMDT),                                                \
		.has_inv = HAS(header_bits, IETH),                                                 \
	},
	ROCE_OPCODE_LIST(X)
#undef X
};

const char *roce_opcode_str(roce_opcode_t opcode)
{
	const struct roce_opcode_info *info = roce_opcode_info(opcode);

	return info ? info->name : "reserved";
}

const char *roce_operation_str(enum roce_operation operation)
{
	switch (operation) {
#define X(name)                     \
	case ROCE_OPERATION_##name: \
		return #name;
		ROCE_OPERATION_LIST(X)
#undef X
	}
	return "unknown";
}

const char *roce_opcode_transport_str(enum roce_opcode_transport transport)
{
	switch (transport) {
#define X(name, base)                      \
	case ROCE_OPCODE_TRANSPORT_##name: \
		return #name;
		ROCE_TRANSPORT_LIST(X)
#undef X
	}
	return "unknown";
}

const char *roce_position_str(enum roce_position position)
{
	switch (position) {
#define X(name)                    \
	case ROCE_POSITION_##name: \
		return #name;
		ROCE_POSITION_LIST(X)
#undef X
	}
	return "unknown";
}
