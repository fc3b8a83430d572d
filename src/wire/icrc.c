/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ICRC over a prepared flow, and the check without sight of the IPv4 identification. The CRC itself
 * is ISA-L's, which uses carry-less multiplication where the machine has it.
 *
 * Polynomials here are reflected as in CRC-32: bit 31 stands for x^0, and feeding one zero byte to
 * the CRC register multiplies it by x^8.
 */
#include "wire/icrc.h"

#include "base/assert.h"
#include "base/marks.h"

#include <isa-l/crc.h>
#include <string.h>

#define IPV4_BYTES     20u
#define IPV6_BYTES     40u
#define UDP_BYTES      8u
#define BTH_BYTES      12u
#define ICRC_BYTES     4u
#define PROTOCOL_UDP   17
#define POLYNOMIAL     0xedb88320u
#define X_POWER_0      0x80000000u
#define PACKET_LEN_MAX 65507u

/* CRC-32 of eight bytes 0xff, the stand-in for the LRH that InfiniBand would have in front. */
#define SEED 0x2144df1cu

/* Bytes that the ICRC covers from the identification on, beside BTH and what follows it. */
#define IPV4_COVERED_FROM_ID (IPV4_BYTES - 4 + UDP_BYTES)

#define HABIT_SMALL_IDS	     128u /* UDP_SEGMENT never makes more segments of one call */
#define HABIT_STEP_BACK	     512u
#define HABIT_STEP_AHEAD     1024u
#define HOLD_AFTER_PACKETS   256u
#define LAPSES_MAX	     16u

void roce_icrc_flow_init(struct roce_icrc_flow *f, const struct roce_gid *src,
			 const struct roce_gid *dst, uint16_t sport, uint16_t dport)
{
	uint8_t *p = f->masked;

	f->is_v4 = roce_gid_is_v4(src);
	if (f->is_v4) {
		memset(p, 0, IPV4_BYTES);
		p[0] = 0x45;
		p[1] = 0xff; /* ToS */
		p[6] = 0x40; /* DF */
		p[8] = 0xff; /* TTL */
		p[9] = PROTOCOL_UDP;
		roce_put_be16(p + 10, 0xffff); /* header checksum */
		memcpy(p + 12, src->raw + 12, 4);
		memcpy(p + 16, dst->raw + 12, 4);
		p += IPV4_BYTES;
	} else {
		roce_put_be32(p, 0x6fffffff); /* traffic class, flow label */
		roce_put_be16(p + 4, 0);
		p[6] = PROTOCOL_UDP;
		p[7] = 0xff; /* hop limit */
		memcpy(p + 8, src->raw, 16);
		memcpy(p + 24, dst->raw, 16);
		p += IPV6_BYTES;
	}
	roce_put_be16(p, sport);
	roce_put_be16(p + 2, dport);
	roce_put_be16(p + 4, 0);
	roce_put_be16(p + 6, 0xffff); /* checksum */
}

void roce_icrc_flow_set_sport(struct roce_icrc_flow *f, uint16_t sport)
{
	roce_put_be16(f->masked + (f->is_v4 ? IPV4_BYTES : IPV6_BYTES), sport);
}

uint32_t roce_icrc_compute(const struct roce_icrc_flow *f, uint16_t ip_id, const uint8_t *bth,
			   size_t len_without_icrc)
{
	uint8_t head[IPV6_BYTES + UDP_BYTES + BTH_BYTES];
	uint16_t udp_len = (uint16_t)(UDP_BYTES + len_without_icrc + ICRC_BYTES);
	size_t ip_bytes;
	uint32_t crc;

	ROCE_ASSERT(len_without_icrc >= BTH_BYTES && len_without_icrc <= PACKET_LEN_MAX);
	memcpy(head, f->masked, sizeof(f->masked));
	if (f->is_v4) {
		ip_bytes = IPV4_BYTES;
		roce_put_be16(head + 2, (uint16_t)(IPV4_BYTES + udp_len));
		roce_put_be16(head + 4, ip_id);
	} else {
		ip_bytes = IPV6_BYTES;
		roce_put_be16(head + 4, udp_len);
	}
	roce_put_be16(head + ip_bytes + 4, udp_len);
	memcpy(head + ip_bytes + UDP_BYTES, bth, BTH_BYTES);
	head[ip_bytes + UDP_BYTES + 4] = 0xff; /* FECN, BECN, reserved */
	crc = crc32_gzip_refl(SEED, head, ip_bytes + UDP_BYTES + BTH_BYTES);
	return crc32_gzip_refl(crc, bth + BTH_BYTES, len_without_icrc - BTH_BYTES);
}

/* a * b modulo the polynomial; no branch depends on the values. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (int bit = 31; bit >= 0; bit--) {
		product ^= a & (0u - (b >> bit & 1));
		a = a >> 1 ^ (POLYNOMIAL & (0u - (a & 1)));
	}
	return product;
}

/* x^(-8 * digit * 16^place): takes back `digit` zero bytes of a hexadecimal count of them. */
static const uint32_t inverse_powers[4][16] = {
	{0x80000000u, 0x6567cb95u, 0xd7125358u, 0x1f81b6e1u, 0x5b358fd3u, 0xeb21cebfu, 0x2ff880c5u,
	 0x97fc423cu, 0x2e9bb40bu, 0x2fb98a7du, 0xd6f6fa3cu, 0x2059d4a0u, 0x36511375u, 0x525983aau,
	 0x31619cb3u, 0x0f125caeu},
	{0x80000000u, 0x12a59a49u, 0x8df9403du, 0x9d764201u, 0x5139de12u, 0x17958e0bu, 0xdb1c4863u,
	 0xc31ec6b9u, 0xba340226u, 0x6b85d37bu, 0x0ba861bcu, 0x39b0d61cu, 0xfb844d1fu, 0xc9771684u,
	 0x8073ef0cu, 0xc3f881beu},
	{0x80000000u, 0x29c45641u, 0x12fbc105u, 0x8b712bc1u, 0xecd30c55u, 0x930588dcu, 0x3c4c471au,
	 0x25cd5760u, 0x3755ebd8u, 0xe264a9e0u, 0xc3a68b42u, 0x219c9d64u, 0x75cc86fau, 0xebcce135u,
	 0x84773a36u, 0x4e1b970fu},
	{0x80000000u, 0x24ee460cu, 0x23783fcfu, 0xea8683d0u, 0x479933fcu, 0x1e25ac62u, 0x6523628cu,
	 0x3704e154u, 0xa39442a5u, 0x4ff1fa8cu, 0xbc26806eu, 0x1b2888beu, 0x7910287du, 0xb8721901u,
	 0x7bea74c8u, 0x655ffa6bu},
};

static uint32_t inverse_power(size_t zero_bytes)
{
	uint32_t power = inverse_powers[0][zero_bytes & 15];

	for (unsigned int place = 1; place < 4; place++) {
		zero_bytes >>= 4;
		if (zero_bytes & 15)
			power = multiply(power, inverse_powers[place][zero_bytes & 15]);
	}
	return power;
}

bool roce_icrc_recover_id(uint32_t delta, size_t len_without_icrc, uint16_t *out_id_xor)
{
	uint32_t back;

	ROCE_ASSERT(len_without_icrc <= PACKET_LEN_MAX);
	back = multiply(delta, inverse_power(IPV4_COVERED_FROM_ID + len_without_icrc));
	if (back >> 16)
		return false;
	*out_id_xor = __builtin_bswap16((uint16_t)back);
	return true;
}

static bool is_regular(const struct roce_icrc_id_state *ids, uint16_t id)
{
	return id < HABIT_SMALL_IDS || (uint16_t)(id - ids->last_id + HABIT_STEP_BACK) <=
					       HABIT_STEP_BACK + HABIT_STEP_AHEAD;
}

/* The packet is intact if its sender used `id`: believe that or not. */
static bool judge_id(struct roce_icrc_id_state *ids, uint16_t index_in_batch, uint16_t id)
{
	if (is_regular(ids, id)) {
		if (ids->regular_count < UINT32_MAX)
			ids->regular_count++;
	} else if (!ids->was_silent) {
		if (ids->regular_count >= HOLD_AFTER_PACKETS << ids->lapses) {
			if (!ids->has_refused) {
				ROCE_MARK(icrc_id_refused);
				ids->has_refused = true;
				return false;
			}
			ROCE_MARK(icrc_id_lapse);
			if (ids->lapses < LAPSES_MAX)
				ids->lapses++;
		}
		ids->regular_count = 0;
	}
	if (id == index_in_batch)
		ids->is_counter = false;
	else if (id == (uint16_t)(ids->last_id + 1))
		ids->is_counter = true;
	ids->last_id = id;
	ids->was_silent = false;
	ids->has_refused = false;
	return true;
}

bool roce_icrc_check(const struct roce_icrc_flow *f, struct roce_icrc_id_state *ids,
		     uint16_t index_in_batch, const uint8_t *bth, size_t len_with_icrc)
{
	size_t len = len_with_icrc - ICRC_BYTES;
	uint32_t found = roce_icrc_get(bth + len);
	uint16_t id_xor = 0;
	uint16_t guess;
	uint32_t delta;

	if (!f->is_v4)
		return roce_icrc_compute(f, 0, bth, len) == found;
	guess = ids->is_counter ? (uint16_t)(ids->last_id + 1) : index_in_batch;
	delta = roce_icrc_compute(f, guess, bth, len) ^ found;
	if (delta != 0) {
		if (!roce_icrc_recover_id(delta, len, &id_xor)) {
			ROCE_MARK(icrc_damaged);
			return false;
		}
		ROCE_MARK(icrc_id_solved);
	}
	return judge_id(ids, index_in_batch, guess ^ id_xor);
}
