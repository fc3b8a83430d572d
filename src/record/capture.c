/* SPDX-License-Identifier: BSD-2-Clause */
/* From the fabric's frames to bytes; see capture.h. */
#include "record/record_internal.h"

#include "wire/encap.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/mtu.h"
#include "wire/pfc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PS_PER_NS	1000u
#define ICRC_BYTES	4u

#define DAMAGED_COMMENT "one bit was flipped on the link: dropped by its checksum"

int roce_capture_begin(struct roce_record *r)
{
	struct roce_capture *c = &r->capture;
	uint32_t ports = roce_record_port_total(r);

	*c = (struct roce_capture){.out = r->cfg.capture};
	if (!c->out)
		return 0;
	c->interfaces = malloc(((size_t)ports + 1) * sizeof(*c->interfaces));
	if (!c->interfaces)
		return -ENOMEM;
	for (uint32_t i = 0; i < ports; i++)
		c->interfaces[i] = ROCE_CAPTURE_NONE;
	roce_pcapng_begin(c->out, "uroce sim");
	for (uint32_t i = 0; i < r->cfg.capture_port_count; i++) {
		const struct roce_record_port *at = &r->cfg.capture_ports[i];
		struct roce_fabric_port_view view;
		char label[ROCE_RECORD_LABEL_MAX];

		(void)roce_fabric_port_view(r->fabric, at->node, at->port, &view);
		roce_record_port_label(r, at->node, at->port, label);
		roce_pcapng_interface(c->out, label, view.rate_bps);
		c->interfaces[roce_record_port_index(r, at->node, at->port)] = i;
	}
	return 0;
}

void roce_capture_fini(struct roce_capture *c)
{
	free(c->interfaces);
	*c = (struct roce_capture){0};
}

/* Locally administered, told apart by node and port. */
static void make_mac(uint8_t mac[6], uint32_t node, uint32_t port)
{
	const uint8_t bytes[6] = {0x02,
				  (uint8_t)port,
				  (uint8_t)(node >> 24),
				  (uint8_t)(node >> 16),
				  (uint8_t)(node >> 8),
				  (uint8_t)node};

	memcpy(mac, bytes, sizeof(bytes));
}

static void write_packet(struct roce_record *r, uint64_t ps, uint32_t interface,
			 const uint8_t *bytes, size_t length, enum roce_pcapng_direction direction,
			 const char *comment)
{
	roce_pcapng_write(r->capture.out, &(struct roce_pcapng_packet){
						  .interface = interface,
						  .time_ns = ps / PS_PER_NS,
						  .bytes = bytes,
						  .length = (uint32_t)length,
						  .original = (uint32_t)length,
						  .direction = direction,
						  .comment = comment,
					  });
}

/* Behind the ICRC, as it happens on the way; what the link did to the FCS is not in a capture. */
static void damage(const struct roce_fabric_frame_view *frame, uint8_t *bytes, size_t length)
{
	uint32_t at = frame->damaged_bit / 8;

	if (frame->damaged_bit != ROCE_FABRIC_UNDAMAGED && at < length)
		bytes[at] ^= (uint8_t)(1u << frame->damaged_bit % 8);
}

static uint32_t interface_of(const struct roce_record *r, uint32_t node, uint32_t port)
{
	if (!r->capture.out)
		return ROCE_CAPTURE_NONE;
	return r->capture.interfaces[roce_record_port_index(r, node, port)];
}

/* MAC addresses are those of the link: it is routed, each hop has its own. */
static void set_macs(const struct roce_record *r, uint32_t node, uint32_t port,
		     enum roce_pcapng_direction direction, uint8_t src[6], uint8_t dst[6])
{
	struct roce_fabric_port_view view;
	bool is_out = direction == ROCE_PCAPNG_OUTBOUND;

	(void)roce_fabric_port_view(r->fabric, node, port, &view);
	make_mac(is_out ? src : dst, node, port);
	make_mac(is_out ? dst : src, view.peer_node, view.peer_port);
}

void roce_capture_frame(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port,
			const struct roce_fabric_frame_view *frame,
			enum roce_pcapng_direction direction)
{
	uint32_t interface = interface_of(r, node, port);
	uint8_t bytes[ROCE_ENCAP_MAX + ROCE_HEADERS_MAX + ROCE_MTU_BYTES_MAX + 4 + ICRC_BYTES];
	struct roce_encap encap = {
		.traffic_class = frame->traffic_class,
		.hop_limit = frame->ttl,
		.dont_fragment = true,
		.has_vlan = frame->is_tagged,
		.vlan_pcp = frame->is_tagged ? frame->pcp : 0,
		.vlan_id = frame->vlan_id,
		.udp_sport = frame->udp_sport,
		.udp_dport = ROCE_UDP_PORT,
	};
	struct roce_headers headers;
	struct roce_icrc_flow flow;
	size_t at, bth, length;

	if (interface == ROCE_CAPTURE_NONE)
		return;
	headers = frame->hdr;
	headers.pad_count = roce_pad_count(frame->payload_bytes);
	encap.src = *roce_fabric_host_gid(r->fabric, frame->src);
	encap.dst = *roce_fabric_host_gid(r->fabric, frame->dst);
	set_macs(r, node, port, direction, encap.src_mac, encap.dst_mac);
	length = roce_packet_len(headers.opcode, frame->payload_bytes);
	bth = roce_encap_encode(&encap, length, bytes);
	at = bth + roce_headers_encode(&headers, bytes + bth);
	memset(bytes + at, 0, bth + length - at);
	if (frame->payload)
		memcpy(bytes + at, frame->payload, frame->payload_bytes);
	at = bth + length - ICRC_BYTES;
	roce_icrc_flow_init(&flow, &encap.src, &encap.dst, encap.udp_sport, encap.udp_dport);
	roce_icrc_put(bytes + at, roce_icrc_compute(&flow, 0, bytes + bth, length - ICRC_BYTES));
	damage(frame, bytes, bth + length);
	write_packet(r, ps, interface, bytes, bth + length, direction,
		     frame->damaged_bit == ROCE_FABRIC_UNDAMAGED ? NULL : DAMAGED_COMMENT);
}

void roce_capture_pause(struct roce_record *r, uint64_t ps, uint32_t node, uint32_t port,
			uint8_t prios, const uint16_t quanta[8],
			enum roce_pcapng_direction direction)
{
	uint32_t interface = interface_of(r, node, port);
	uint8_t bytes[ROCE_PFC_FRAME_BYTES], peer[6];
	struct roce_pfc pfc = {.enabled = prios};

	if (interface == ROCE_CAPTURE_NONE)
		return;
	memcpy(pfc.quanta, quanta, sizeof(pfc.quanta));
	set_macs(r, node, port, direction, pfc.src_mac, peer);
	roce_pfc_encode(&pfc, bytes);
	write_packet(r, ps, interface, bytes, sizeof(bytes), direction, NULL);
}
