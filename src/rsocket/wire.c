/* SPDX-License-Identifier: BSD-2-Clause */
/* Layouts: wire.h. */
#include "rsocket/wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/bytes.h"

#define SLOTS_EXACT_MAX 128
#define SLOTS_UNIT	256
#define SLOTS_MAX	(0x7f * SLOTS_UNIT)
#define SLOTS_SCALED	0x80

uint16_t roce_rs_mapping_slots_round(uint32_t slots)
{
	if (slots <= SLOTS_EXACT_MAX)
		return (uint16_t)slots;
	if (slots < SLOTS_UNIT)
		return SLOTS_EXACT_MAX;
	if (slots > SLOTS_MAX)
		return SLOTS_MAX;
	return (uint16_t)(slots / SLOTS_UNIT * SLOTS_UNIT);
}

static uint8_t scale_slots(uint16_t slots)
{
	return slots <= SLOTS_EXACT_MAX ? (uint8_t)slots
					: (uint8_t)(SLOTS_SCALED | (slots / SLOTS_UNIT));
}

static uint16_t unscale_slots(uint8_t scaled)
{
	return scaled <= SLOTS_EXACT_MAX
		       ? scaled
		       : (uint16_t)((uint32_t)(scaled & ~SLOTS_SCALED) * SLOTS_UNIT);
}

static void put_sge(uint8_t *out, const struct roce_rs_sge *sge)
{
	roce_put_be64(out, sge->address);
	roce_put_be32(out + 8, sge->rkey);
	roce_put_be32(out + 12, sge->length);
}

static void get_sge(const uint8_t *data, struct roce_rs_sge *out)
{
	out->address = roce_get_be64(data);
	out->rkey = roce_get_be32(data + 8);
	out->length = roce_get_be32(data + 12);
}

void roce_rs_connect_encode(const struct roce_rs_connect_data *d, uint8_t *out)
{
	memset(out, 0, ROCE_RS_CONNECT_BYTES);
	out[0] = d->version;
	out[1] = d->flags;
	roce_put_be16(out + 2, d->credits);
	out[7] = scale_slots(d->mapping_slots);
	put_sge(out + 8, &d->list);
	put_sge(out + 24, &d->ring);
}

void roce_rs_connect_decode(const uint8_t *data, struct roce_rs_connect_data *out_data)
{
	out_data->version = data[0];
	out_data->flags = data[1];
	out_data->credits = roce_get_be16(data + 2);
	out_data->mapping_slots = unscale_slots(data[7]);
	get_sge(data + 8, &out_data->list);
	get_sge(data + 24, &out_data->ring);
}

bool roce_rs_host_is_big_endian(void)
{
	return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
}

void roce_rs_sge_encode(const struct roce_rs_sge *sge, bool swap, uint8_t *out)
{
	uint64_t address = swap ? __builtin_bswap64(sge->address) : sge->address;
	uint32_t rkey = swap ? __builtin_bswap32(sge->rkey) : sge->rkey;
	uint32_t length = swap ? __builtin_bswap32(sge->length) : sge->length;

	memcpy(out, &address, 8);
	memcpy(out + 8, &rkey, 4);
	memcpy(out + 12, &length, 4);
}

void roce_rs_mapping_encode(uint64_t offset, const struct roce_rs_sge *sge, bool swap, uint8_t *out)
{
	uint64_t first = swap ? __builtin_bswap64(offset) : offset;

	memcpy(out, &first, 8);
	roce_rs_sge_encode(sge, swap, out + 8);
}

size_t roce_rs_ud_header_encode(const struct sockaddr *source, uint8_t *out)
{
	if (source->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)source;

		out[0] = 4;
		out[1] = ROCE_RS_UD_HEADER_V4;
		memcpy(out + 2, &in->sin_port, 2);
		memcpy(out + 4, &in->sin_addr, 4);
		return ROCE_RS_UD_HEADER_V4;
	}
	const struct sockaddr_in6 *in6 = (const void *)source;

	out[0] = 6;
	out[1] = ROCE_RS_UD_HEADER_V6;
	memcpy(out + 2, &in6->sin6_port, 2);
	memcpy(out + 4, &in6->sin6_flowinfo, 4);
	memcpy(out + 8, &in6->sin6_addr, 16);
	return ROCE_RS_UD_HEADER_V6;
}

size_t roce_rs_ud_header_decode(const uint8_t *data, size_t length, struct sockaddr_storage *out)
{
	if (length < ROCE_RS_UD_HEADER_V4)
		return 0;
	memset(out, 0, sizeof(*out));
	if (data[0] == 4 && data[1] == ROCE_RS_UD_HEADER_V4) {
		struct sockaddr_in *in = (void *)out;

		in->sin_family = AF_INET;
		memcpy(&in->sin_port, data + 2, 2);
		memcpy(&in->sin_addr, data + 4, 4);
		return ROCE_RS_UD_HEADER_V4;
	}
	if (data[0] == 6 && data[1] == ROCE_RS_UD_HEADER_V6 && length >= ROCE_RS_UD_HEADER_V6) {
		struct sockaddr_in6 *in6 = (void *)out;

		in6->sin6_family = AF_INET6;
		memcpy(&in6->sin6_port, data + 2, 2);
		memcpy(&in6->sin6_flowinfo, data + 4, 4);
		memcpy(&in6->sin6_addr, data + 8, 16);
		return ROCE_RS_UD_HEADER_V6;
	}
	return 0;
}

size_t roce_rs_udp_header_encode(const struct roce_rs_udp_header *h, const struct sockaddr *source,
				 uint8_t *out)
{
	bool is_v4 = h->family_version == 4;
	size_t length = is_v4 ? ROCE_RS_UDP_HEADER_V4 : ROCE_RS_UDP_HEADER_V6;

	memset(out, 0, length);
	roce_put_be32(out, ROCE_RS_UDP_TAG);
	out[4] = h->family_version;
	out[5] = (uint8_t)h->op;
	out[6] = (uint8_t)length;
	roce_put_be32(out + 8, h->qpn & 0xffffff);
	if (is_v4)
		memcpy(out + 12, &((const struct sockaddr_in *)(const void *)source)->sin_addr, 4);
	else
		memcpy(out + 12, &((const struct sockaddr_in6 *)(const void *)source)->sin6_addr,
		       16);
	return length;
}

size_t roce_rs_udp_header_decode(const uint8_t *data, size_t length,
				 struct roce_rs_udp_header *out_header)
{
	size_t expected;

	if (length < ROCE_RS_UDP_HEADER_V4 || roce_get_be32(data) != ROCE_RS_UDP_TAG)
		return 0;
	if (data[4] == 4)
		expected = ROCE_RS_UDP_HEADER_V4;
	else if (data[4] == 6)
		expected = ROCE_RS_UDP_HEADER_V6;
	else
		return 0;
	if (data[6] != expected || length < expected)
		return 0;
	if (data[5] != ROCE_RS_OP_DATA && data[5] != ROCE_RS_OP_CONTROL)
		return 0;
	out_header->family_version = data[4];
	out_header->op = data[5];
	out_header->qpn = roce_get_be32(data + 8) & 0xffffff;
	return expected;
}
