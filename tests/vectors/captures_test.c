/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every packet of every capture: it decodes, its ICRC is right with the identification of its IPv4
 * header and without it, its headers encode to the same bytes, and one damaged bit is noticed.
 */
#include "base/prng.h"
#include "wire/encap.h"
#include "wire/headers.h"
#include "wire/icrc.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <pcap/pcap.h>

#define FILES	    28u
#define PACKETS	    1010u
#define SENDERS_MAX 4

/* One sender's identifications, as a receiver would keep them. */
struct sender {
	struct roce_gid src;
	struct roce_gid dst;
	struct roce_icrc_id_state ids;
};

struct senders {
	struct sender list[SENDERS_MAX];
	size_t count;
};

static struct roce_icrc_id_state *find_ids(struct senders *s, const struct roce_encap *e)
{
	for (size_t i = 0; i < s->count; i++) {
		if (roce_gid_is_equal(&s->list[i].src, &e->src) &&
		    roce_gid_is_equal(&s->list[i].dst, &e->dst))
			return &s->list[i].ids;
	}
	assert_true(s->count < SENDERS_MAX);
	s->list[s->count] = (struct sender){.src = e->src, .dst = e->dst};
	return &s->list[s->count++].ids;
}

static void expect_headers(const uint8_t *bth, size_t len)
{
	uint8_t again[ROCE_HEADERS_MAX];
	struct roce_headers hdr;
	const uint8_t *payload;
	uint32_t payload_len;
	enum roce_decode_verdict verdict =
		roce_headers_decode(bth, len, &hdr, &payload, &payload_len);

	if (verdict != ROCE_DECODE_OK)
		fail_msg("%s", roce_decode_verdict_str(verdict));
	assert_int_equal(hdr.pad_count, roce_pad_count(payload_len));
	assert_int_equal(roce_headers_encode(&hdr, again), (size_t)(payload - bth));
	assert_memory_equal(again, bth, (size_t)(payload - bth));
}

static void expect_damage_noticed(const struct roce_icrc_flow *flow, struct roce_prng *prng,
				  const uint8_t *bth, size_t len)
{
	uint8_t damaged[9000];
	size_t bit = roce_prng_below(prng, (len - 5) * 8);
	struct roce_icrc_id_state stranger = {0};

	if (bit >= 32)
		bit += 8; /* byte 4 is not covered */
	memcpy(damaged, bth, len);
	damaged[bit / 8] ^= (uint8_t)(1u << bit % 8);
	assert_false(roce_icrc_check(flow, &stranger, 0, damaged, len));
}

static uint32_t check_capture(const char *path, struct roce_prng *prng)
{
	char error[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *meta;
	struct senders senders = {0};
	const uint8_t *frame;
	uint32_t packets = 0;
	pcap_t *file = pcap_open_offline(path, error);

	if (!file)
		fail_msg("%s: %s", path, error);
	assert_int_equal(pcap_datalink(file), DLT_EN10MB);
	while (pcap_next_ex(file, &meta, &frame) == 1) {
		struct roce_icrc_flow flow;
		struct roce_encap encap;
		const uint8_t *bth;
		size_t len;

		assert_int_equal(roce_encap_decode(frame, meta->caplen, &encap, &bth, &len),
				 ROCE_ENCAP_OK);
		assert_int_equal(encap.udp_dport, ROCE_UDP_PORT);
		expect_headers(bth, len);
		roce_icrc_flow_init(&flow, &encap.src, &encap.dst, encap.udp_sport,
				    encap.udp_dport);
		assert_int_equal(roce_icrc_compute(&flow, encap.ip_id, bth, len - 4),
				 roce_icrc_get(bth + len - 4));
		assert_true(roce_icrc_check(&flow, find_ids(&senders, &encap), 0, bth, len));
		expect_damage_noticed(&flow, prng, bth, len);
		packets++;
	}
	pcap_close(file);
	return packets;
}

static void captures__every_packet(void **state)
{
	const char *root = getenv("UROCE_SOURCE_DIR");
	uint64_t seed = 0xca9;
	struct roce_prng prng = {seed};
	char folder[2048];
	char path[4096];
	struct dirent *entry;
	uint32_t packets = 0;
	uint32_t files = 0;
	DIR *dir;

	(void)state;
	print_message("seed %#llx\n", (unsigned long long)seed);
	snprintf(folder, sizeof(folder), "%s/tests/vectors/captures", root ? root : ".");
	dir = opendir(folder);
	if (!dir)
		fail_msg("cannot open %s", folder);
	while ((entry = readdir(dir)) != NULL) {
		if (!strstr(entry->d_name, ".pcap"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		print_message("%s\n", entry->d_name);
		packets += check_capture(path, &prng);
		files++;
	}
	closedir(dir);
	assert_int_equal(files, FILES);
	assert_int_equal(packets, PACKETS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(captures__every_packet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
