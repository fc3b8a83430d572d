/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a pcap file of random packets as uroce makes them: IPv4 and IPv6, every field that may
 * vary, payloads of all lengths with their pad, the ICRC behind it. For checkers that share no code
 * with ours (tests/programs/icrc_check.py). The last of them is damaged if `--damage-last` is
 * given.
 *
 *   random_frames FILE [--damage-last]
 */
#include "base/prng.h"
#include "wire/encap.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"

#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>

#define FRAMES	  1000u
#define SEED	  UINT64_C(0x5ca9)
#define FRAME_MAX (ROCE_ENCAP_MAX + ROCE_HEADERS_MAX + 4096 + ROCE_ICRC_BYTES)

static void draw_gid(struct roce_prng *prng, bool is_v4, struct roce_gid *out)
{
	static const uint8_t mapped[12] = {[10] = 0xff, 0xff};

	for (uint32_t i = 0; i < sizeof(out->raw); i++)
		out->raw[i] = (uint8_t)roce_prng_next(prng);
	if (is_v4)
		memcpy(out->raw, mapped, sizeof(mapped));
	else
		out->raw[0] = 0x20;
}

static struct roce_encap draw_encap(struct roce_prng *prng, bool is_v4)
{
	struct roce_encap e = {
		.traffic_class = (uint8_t)roce_prng_next(prng),
		.hop_limit = (uint8_t)(1 + roce_prng_below(prng, 255)),
		.dont_fragment = true,
		.ip_id = (uint16_t)roce_prng_next(prng),
		.flow_label = (uint32_t)roce_prng_below(prng, 1u << 20),
		.udp_sport = (uint16_t)(49152 + roce_prng_below(prng, 16384)),
		.udp_dport = ROCE_UDP_PORT,
		.udp_checksum = (uint16_t)roce_prng_next(prng),
	};

	draw_gid(prng, is_v4, &e.src);
	draw_gid(prng, is_v4, &e.dst);
	return e;
}

static struct roce_headers draw_headers(struct roce_prng *prng, uint32_t payload_len)
{
	static const uint8_t opcodes[] = {ROCE_RC_SEND_ONLY, ROCE_RC_WRITE_ONLY,
					  ROCE_RC_READ_RESPONSE_ONLY, ROCE_UD_SEND_ONLY_IMM,
					  ROCE_XRC_SEND_ONLY};
	struct roce_headers h = {
		.opcode = {opcodes[roce_prng_below(prng, sizeof(opcodes))]},
		.mig_req = true,
		.pad_count = roce_pad_count(payload_len),
		.pkey = (uint16_t)roce_prng_next(prng),
		.solicited = roce_prng_next(prng) & 1,
		.ack_req = roce_prng_next(prng) & 1,
		.fecn = roce_prng_next(prng) & 1,
		.becn = roce_prng_next(prng) & 1,
		.dma_len = payload_len,
		.va = roce_prng_next(prng),
	};

	h.dest_qpn.v = (uint32_t)roce_prng_below(prng, 1u << 24);
	h.psn.v = (uint32_t)roce_prng_below(prng, 1u << 24);
	return h;
}

/* Its length. */
static size_t make_frame(struct roce_prng *prng, uint32_t number, uint8_t frame[FRAME_MAX])
{
	/* every small length in turn, then any */
	uint32_t payload_len =
		number < 64 ? number / 2 : (uint32_t)roce_prng_below(prng, number % 8 ? 200 : 4097);
	struct roce_encap encap = draw_encap(prng, number & 1);
	struct roce_headers h = draw_headers(prng, payload_len);
	size_t length = roce_packet_len(h.opcode, payload_len);
	uint8_t *bth = frame + roce_encap_encode(&encap, length, frame);
	uint8_t *payload = bth + roce_headers_encode(&h, bth);
	struct roce_icrc_flow flow;

	for (uint32_t i = 0; i < payload_len; i++)
		payload[i] = (uint8_t)roce_prng_next(prng);
	memset(payload + payload_len, 0, h.pad_count);
	roce_icrc_flow_init(&flow, &encap.src, &encap.dst, encap.udp_sport, encap.udp_dport);
	roce_icrc_put(bth + length - ROCE_ICRC_BYTES,
		      roce_icrc_compute(&flow, encap.ip_id, bth, length - ROCE_ICRC_BYTES));
	return (size_t)(bth - frame) + length;
}

int main(int argc, char **argv)
{
	bool damages_last = argc == 3 && strcmp(argv[2], "--damage-last") == 0;
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, 65535);
	pcap_dumper_t *out = pcap && argc >= 2 ? pcap_dump_open(pcap, argv[1]) : NULL;
	struct roce_prng prng = {SEED};
	static uint8_t frame[FRAME_MAX];

	if (!out) {
		fprintf(stderr, "usage: random_frames FILE [--damage-last]\n");
		return 2;
	}
	printf("seed %#llx\n", (unsigned long long)SEED);
	for (uint32_t i = 0; i < FRAMES; i++) {
		struct pcap_pkthdr header = {0};

		header.caplen = header.len = (uint32_t)make_frame(&prng, i, frame);
		if (damages_last && i == FRAMES - 1)
			frame[header.len - ROCE_ICRC_BYTES - 1] ^= 1;
		pcap_dump((u_char *)out, &header, frame);
	}
	pcap_dump_close(out);
	pcap_close(pcap);
	return 0;
}
