/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The five path MTUs of InfiniBand, as payload bytes and as the codes 1 to 5 that verbs, the CM and
 * MADs use (the values of enum ibv_mtu).
 */
#ifndef ROCE_WIRE_MTU_H
#define ROCE_WIRE_MTU_H

#include <stdint.h>

#define ROCE_MTU_CODE_MIN  1u
#define ROCE_MTU_CODE_MAX  5u
#define ROCE_MTU_BYTES_MAX 4096u

/* Room beside the payload that Linux reserves when it derives the path MTU from a network device:
 * GRH 40, UDP 8, BTH 12, XRCETH 4, AtomicETH 28, ICRC 4. */
#define ROCE_MTU_HEADROOM_BYTES 96u

/* Payload bytes; 0 for a code that is none. */
static inline uint32_t roce_mtu_bytes(uint8_t code)
{
	return code >= ROCE_MTU_CODE_MIN && code <= ROCE_MTU_CODE_MAX ? 128u << code : 0;
}

/* The largest code whose payload is at most `bytes`; 0 when even 256 is too much. */
static inline uint8_t roce_mtu_code(uint32_t bytes)
{
	uint8_t code = ROCE_MTU_CODE_MAX;

	while (code && roce_mtu_bytes(code) > bytes)
		code--;
	return code;
}

/* Code for a network device's MTU (1500 -> 3, that is 1024); 0 below 352. */
static inline uint8_t roce_mtu_enum_from_netdev(uint32_t mtu)
{
	return mtu > ROCE_MTU_HEADROOM_BYTES ? roce_mtu_code(mtu - ROCE_MTU_HEADROOM_BYTES) : 0;
}

#endif
