/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A second ICRC for the tests: bit by bit, over a copy of a whole IP packet, written from the list
 * of masked fields and sharing nothing with icrc.c. Slow on purpose.
 */
#ifndef ROCE_WIRE_ICRC_MODEL_H
#define ROCE_WIRE_ICRC_MODEL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ROCE_ICRC_MODEL_MAX 9000

static inline uint32_t roce_icrc_model_feed(uint32_t crc, uint8_t byte)
{
	crc ^= byte;
	for (int i = 0; i < 8; i++)
		crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
	return crc;
}

/* `ip` to the end of the pad, without the ICRC. */
static inline uint32_t roce_icrc_model(const uint8_t *ip, size_t len)
{
	uint8_t copy[ROCE_ICRC_MODEL_MAX];
	uint32_t crc = 0xffffffffu;
	size_t udp;

	memcpy(copy, ip, len);
	if (ip[0] >> 4 == 4) {
		copy[1] = 0xff;
		copy[8] = 0xff;
		copy[10] = copy[11] = 0xff;
		udp = 20;
	} else {
		copy[0] |= 0x0f;
		copy[1] = copy[2] = copy[3] = 0xff;
		copy[7] = 0xff;
		udp = 40;
	}
	copy[udp + 6] = copy[udp + 7] = 0xff;
	copy[udp + 12] = 0xff;
	for (int i = 0; i < 8; i++)
		crc = roce_icrc_model_feed(crc, 0xff);
	for (size_t i = 0; i < len; i++)
		crc = roce_icrc_model_feed(crc, copy[i]);
	return ~crc;
}

#endif
