/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cutting a message into packets: a message of n bytes takes max(1, ceil(n / MTU)) packets, all
 * full but the last. Only powers of two are path MTUs, so everything is shifts.
 */
#ifndef ROCE_TRANSPORT_SEGMENT_H
#define ROCE_TRANSPORT_SEGMENT_H

#include "cc/window.h"

#include <stdint.h>

/* `mtu` is what each packet but the last carries. */
static inline uint32_t roce_segment_count(uint64_t length, uint32_t mtu)
{
	return length <= mtu ? 1 : (uint32_t)((length + mtu - 1) / mtu);
}

/* Payload bytes of packet `index` of a message. */
static inline uint32_t roce_segment_bytes(uint64_t length, uint32_t mtu, uint32_t index)
{
	uint64_t left = length - (uint64_t)index * mtu;

	return left < mtu ? (uint32_t)left : mtu;
}

/* Window cost of packets [from, to) of a message. */
static inline uint64_t roce_segment_cost(uint64_t length, uint32_t mtu, uint32_t from, uint32_t to)
{
	uint64_t begin = (uint64_t)from * mtu;
	uint64_t end = (uint64_t)to * mtu;

	if (end > length)
		end = length;
	if (begin > end)
		begin = end;
	return end - begin + (uint64_t)(to - from) * ROCE_WINDOW_PACKET_COST;
}

#endif
