/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The product's own verdict on a capture: icrc_of_pcap FILE.pcap prints "N packets, N wrong" as
 * tests/programs/icrc_check.py does. A packet is wrong when it does not decode, when its headers do
 * not encode to the same bytes, or when its ICRC is not the one that the codec computes. The rows
 * of tests/interop run it; the exit status is 1 when a packet is wrong or there is none.
 */
#include "wire/encap.h"
#include "wire/headers.h"
#include "wire/icrc.h"

#include <stdio.h>
#include <string.h>
#include <pcap/pcap.h>

static bool is_right(const uint8_t *frame, size_t frame_len)
{
	uint8_t again[ROCE_HEADERS_MAX];
	struct roce_icrc_flow flow;
	struct roce_encap encap;
	struct roce_headers hdr;
	const uint8_t *payload;
	const uint8_t *bth;
	uint32_t payload_len;
	size_t header_len;
	size_t len;

	if (roce_encap_decode(frame, frame_len, &encap, &bth, &len) != ROCE_ENCAP_OK ||
	    roce_headers_decode(bth, len, &hdr, &payload, &payload_len) != ROCE_DECODE_OK)
		return false;
	header_len = (size_t)(payload - bth);
	if (roce_headers_encode(&hdr, again) != header_len || memcmp(again, bth, header_len) != 0)
		return false;
	roce_icrc_flow_init(&flow, &encap.src, &encap.dst, encap.udp_sport, encap.udp_dport);
	return roce_icrc_compute(&flow, encap.ip_id, bth, len - ROCE_ICRC_BYTES) ==
	       roce_icrc_get(bth + len - ROCE_ICRC_BYTES);
}

int main(int argc, char **argv)
{
	char error[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *meta;
	const uint8_t *frame;
	unsigned packets = 0;
	unsigned wrong = 0;
	pcap_t *file;

	if (argc != 2) {
		fprintf(stderr, "usage: %s FILE.pcap\n", argv[0]);
		return 2;
	}
	file = pcap_open_offline(argv[1], error);
	if (!file || pcap_datalink(file) != DLT_EN10MB) {
		fprintf(stderr, "%s: %s\n", argv[1], file ? "not of Ethernet" : error);
		return 2;
	}
	while (pcap_next_ex(file, &meta, &frame) == 1) {
		packets++;
		wrong += !is_right(frame, meta->caplen);
	}
	pcap_close(file);
	printf("%u packets, %u wrong\n", packets, wrong);
	return wrong || !packets ? 1 : 0;
}
