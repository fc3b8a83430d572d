/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What stands around a RoCEv2 packet: Ethernet, one optional 802.1Q tag, IPv4 or IPv6, UDP. For
 * whole frames, that is captures and what a packet socket sees; so far only tests look at those,
 * since the socket backend leaves all this to the kernel.
 *
 * Frame lengths are not trusted: short frames are padded on the link, so IP and UDP lengths rule.
 */
#ifndef ROCE_WIRE_ENCAP_H
#define ROCE_WIRE_ENCAP_H

#include "base/addr.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ethernet 14, tag 4, IPv6 40, UDP 8. */
#define ROCE_ENCAP_MAX 66u

struct roce_encap {
	uint8_t dst_mac[6];
	uint8_t src_mac[6];
	bool has_vlan;
	bool vlan_dei;
	uint8_t vlan_pcp; /* 3 bits */
	uint16_t vlan_id; /* 12 bits */

	struct roce_gid src; /* v4-mapped for IPv4 */
	struct roce_gid dst;
	uint8_t traffic_class; /* DSCP << 2 | ECN */
	uint8_t hop_limit;
	bool dont_fragment;  /* IPv4; icrc.h takes it for granted */
	uint16_t ip_id;	     /* IPv4 */
	uint32_t flow_label; /* IPv6, 20 bits */

	uint16_t udp_sport;
	uint16_t udp_dport;
	uint16_t udp_checksum; /* as found; senders write 0 */
};

#define ROCE_ENCAP_LIST(X)                                 \
	X(OK, "ok")                                        \
	X(TOO_SHORT, "frame ends inside a header")         \
	X(NOT_IP, "neither IPv4 nor IPv6")                 \
	X(IPV4_OPTIONS, "IPv4 header length is not 20")    \
	X(IPV4_FRAGMENT, "IPv4 fragment or reserved flag") \
	X(IPV4_CHECKSUM, "IPv4 header checksum is wrong")  \
	X(NOT_UDP, "not UDP, or IPv6 extension headers")   \
	X(BAD_LENGTH, "IP and UDP lengths disagree or exceed the frame")

enum roce_encap_verdict {
#define X(name, text) ROCE_ENCAP_##name,
	ROCE_ENCAP_LIST(X)
#undef X
		ROCE_ENCAP_COUNT,
};

const char *roce_encap_verdict_str(enum roce_encap_verdict verdict);

/*
 * Takes a frame without FCS apart. On OK the UDP payload is *out_len bytes at *out_udp_payload, any
 * destination port; the caller decides what 4791 means to it. On another verdict the outputs are
 * undefined.
 */
enum roce_encap_verdict roce_encap_decode(const uint8_t *frame, size_t len, struct roce_encap *out,
					  const uint8_t **out_udp_payload, size_t *out_len);

/*
 * Writes the headers for `udp_payload_len` bytes (BTH through ICRC, at most 65,507) to `frame`
 * (room for ROCE_ENCAP_MAX) and returns their length. IPv4 when e->src is v4-mapped.
 */
size_t roce_encap_encode(const struct roce_encap *e, size_t udp_payload_len, uint8_t *frame);

#endif
