/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ethernet, 802.1Q, IPv4, IPv6 and UDP headers of whole frames, both directions.
 */
#include "wire/encap.h"

#include "base/assert.h"
#include "base/bytes.h"

#include <string.h>

#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define ETHERTYPE_VLAN 0x8100

#define ETH_BYTES      14u
#define VLAN_BYTES     4u
#define IPV4_BYTES     20u
#define IPV6_BYTES     40u
#define UDP_BYTES      8u

#define PROTOCOL_UDP   17
#define FLAG_DF	       0x4000
#define FLAGS_NOT_DF   0xbfff /* reserved, MF, offset */

const char *roce_encap_verdict_str(enum roce_encap_verdict verdict)
{
	switch (verdict) {
#define X(name, text)           \
	case ROCE_ENCAP_##name: \
		return text;
		ROCE_ENCAP_LIST(X)
#undef X
	case ROCE_ENCAP_COUNT:
		break;
	}
	return "unknown";
}

/* Internet checksum of an IPv4 header without options; 0 over a header that carries a right one. */
static uint16_t sum_ipv4_header(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < IPV4_BYTES; i += 2)
		sum += roce_get_be16(ip + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void map_ipv4(const uint8_t *addr, struct roce_gid *out)
{
	memset(out->raw, 0, 10);
	memset(out->raw + 10, 0xff, 2);
	memcpy(out->raw + 12, addr, 4);
}

/*
 * IPv4
 *    0 | 4 | IHL 5 | ToS  | total length |
 *    4 | identification   | 0 DF MF offset
 *    8 | TTL  | protocol  | checksum     |
 *   12 | source, destination             |
 */
static enum roce_encap_verdict decode_ipv4(const uint8_t *ip, size_t len, struct roce_encap *out,
					   size_t *out_ip_payload_len)
{
	uint16_t total;

	if (len < IPV4_BYTES)
		return ROCE_ENCAP_TOO_SHORT;
	if (ip[0] >> 4 != 4)
		return ROCE_ENCAP_NOT_IP;
	if ((ip[0] & 0xf) != 5)
		return ROCE_ENCAP_IPV4_OPTIONS;
	total = roce_get_be16(ip + 2);
	if (total < IPV4_BYTES || total > len)
		return ROCE_ENCAP_BAD_LENGTH;
	if (roce_get_be16(ip + 6) & FLAGS_NOT_DF)
		return ROCE_ENCAP_IPV4_FRAGMENT;
	if (sum_ipv4_header(ip) != 0)
		return ROCE_ENCAP_IPV4_CHECKSUM;
	if (ip[9] != PROTOCOL_UDP)
		return ROCE_ENCAP_NOT_UDP;
	out->traffic_class = ip[1];
	out->ip_id = roce_get_be16(ip + 4);
	out->dont_fragment = roce_get_be16(ip + 6) & FLAG_DF;
	out->hop_limit = ip[8];
	out->flow_label = 0;
	map_ipv4(ip + 12, &out->src);
	map_ipv4(ip + 16, &out->dst);
	*out_ip_payload_len = total - IPV4_BYTES;
	return ROCE_ENCAP_OK;
}

/*
 * IPv6
 *    0 | 6 | traffic class 8 | flow label 20          |
 *    4 | payload length      | next header | hop limit |
 *    8 | source 16, destination 16                     |
 */
static enum roce_encap_verdict decode_ipv6(const uint8_t *ip, size_t len, struct roce_encap *out,
					   size_t *out_ip_payload_len)
{
	uint32_t first;

	if (len < IPV6_BYTES)
		return ROCE_ENCAP_TOO_SHORT;
	first = roce_get_be32(ip);
	if (first >> 28 != 6)
		return ROCE_ENCAP_NOT_IP;
	*out_ip_payload_len = roce_get_be16(ip + 4);
	if (*out_ip_payload_len > len - IPV6_BYTES)
		return ROCE_ENCAP_BAD_LENGTH;
	if (ip[6] != PROTOCOL_UDP)
		return ROCE_ENCAP_NOT_UDP;
	out->traffic_class = (uint8_t)(first >> 20);
	out->flow_label = first & 0xfffff;
	out->hop_limit = ip[7];
	out->ip_id = 0;
	out->dont_fragment = true;
	memcpy(out->src.raw, ip + 8, 16);
	memcpy(out->dst.raw, ip + 24, 16);
	return ROCE_ENCAP_OK;
}

static uint16_t decode_ethernet(const uint8_t *frame, struct roce_encap *out)
{
	memcpy(out->dst_mac, frame, 6);
	memcpy(out->src_mac, frame + 6, 6);
	out->has_vlan = false;
	out->vlan_dei = false;
	out->vlan_pcp = 0;
	out->vlan_id = 0;
	return roce_get_be16(frame + 12);
}

enum roce_encap_verdict roce_encap_decode(const uint8_t *frame, size_t len, struct roce_encap *out,
					  const uint8_t **out_udp_payload, size_t *out_len)
{
	enum roce_encap_verdict verdict;
	size_t at = ETH_BYTES;
	size_t ip_payload_len = 0;
	uint16_t ethertype;
	uint16_t tag;

	if (len < ETH_BYTES)
		return ROCE_ENCAP_TOO_SHORT;
	ethertype = decode_ethernet(frame, out);
	if (ethertype == ETHERTYPE_VLAN) {
		if (len < at + VLAN_BYTES)
			return ROCE_ENCAP_TOO_SHORT;
		tag = roce_get_be16(frame + at);
		out->has_vlan = true;
		out->vlan_pcp = (uint8_t)(tag >> 13);
		out->vlan_dei = tag >> 12 & 1;
		out->vlan_id = tag & 0xfff;
		ethertype = roce_get_be16(frame + at + 2);
		at += VLAN_BYTES;
	}
	if (ethertype == ETHERTYPE_IPV4) {
		verdict = decode_ipv4(frame + at, len - at, out, &ip_payload_len);
		at += IPV4_BYTES;
	} else if (ethertype == ETHERTYPE_IPV6) {
		verdict = decode_ipv6(frame + at, len - at, out, &ip_payload_len);
		at += IPV6_BYTES;
	} else {
		return ROCE_ENCAP_NOT_IP;
	}
	if (verdict != ROCE_ENCAP_OK)
		return verdict;
	if (ip_payload_len < UDP_BYTES || roce_get_be16(frame + at + 4) != ip_payload_len)
		return ROCE_ENCAP_BAD_LENGTH;
	out->udp_sport = roce_get_be16(frame + at);
	out->udp_dport = roce_get_be16(frame + at + 2);
	out->udp_checksum = roce_get_be16(frame + at + 6);
	*out_udp_payload = frame + at + UDP_BYTES;
	*out_len = ip_payload_len - UDP_BYTES;
	return ROCE_ENCAP_OK;
}

static size_t encode_ipv4(const struct roce_encap *e, size_t udp_len, uint8_t *ip)
{
	ip[0] = 0x45;
	ip[1] = e->traffic_class;
	roce_put_be16(ip + 2, (uint16_t)(IPV4_BYTES + udp_len));
	roce_put_be16(ip + 4, e->ip_id);
	roce_put_be16(ip + 6, e->dont_fragment ? FLAG_DF : 0);
	ip[8] = e->hop_limit;
	ip[9] = PROTOCOL_UDP;
	roce_put_be16(ip + 10, 0);
	memcpy(ip + 12, e->src.raw + 12, 4);
	memcpy(ip + 16, e->dst.raw + 12, 4);
	roce_put_be16(ip + 10, sum_ipv4_header(ip));
	return IPV4_BYTES;
}

static size_t encode_ipv6(const struct roce_encap *e, size_t udp_len, uint8_t *ip)
{
	roce_put_be32(ip, 6u << 28 | (uint32_t)e->traffic_class << 20 | (e->flow_label & 0xfffffu));
	roce_put_be16(ip + 4, (uint16_t)udp_len);
	ip[6] = PROTOCOL_UDP;
	ip[7] = e->hop_limit;
	memcpy(ip + 8, e->src.raw, 16);
	memcpy(ip + 24, e->dst.raw, 16);
	return IPV6_BYTES;
}

size_t roce_encap_encode(const struct roce_encap *e, size_t udp_payload_len, uint8_t *frame)
{
	bool is_v4 = roce_gid_is_v4(&e->src);
	size_t udp_len = UDP_BYTES + udp_payload_len;
	size_t at = 12;

	ROCE_ASSERT(udp_len <= 0xffff - IPV4_BYTES);
	memcpy(frame, e->dst_mac, 6);
	memcpy(frame + 6, e->src_mac, 6);
	if (e->has_vlan) {
		roce_put_be16(frame + at, ETHERTYPE_VLAN);
		roce_put_be16(frame + at + 2,
			      (uint16_t)((e->vlan_pcp & 7u) << 13 | (uint32_t)e->vlan_dei << 12 |
					 (e->vlan_id & 0xfffu)));
		at += VLAN_BYTES;
	}
	roce_put_be16(frame + at, is_v4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6);
	at += 2;
	at += is_v4 ? encode_ipv4(e, udp_len, frame + at) : encode_ipv6(e, udp_len, frame + at);
	roce_put_be16(frame + at, e->udp_sport);
	roce_put_be16(frame + at + 2, e->udp_dport);
	roce_put_be16(frame + at + 4, (uint16_t)udp_len);
	roce_put_be16(frame + at + 6, e->udp_checksum);
	return at + UDP_BYTES;
}
