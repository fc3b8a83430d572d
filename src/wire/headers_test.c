/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The codec against itself with random fields for every opcode, and every verdict with a packet
 * that earns only it. Known packets are in tests/vectors.
 */
#include "wire/headers.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define PACKET_MAX 600

static struct roce_headers make_random_headers(struct roce_prng *prng, uint8_t opcode)
{
	uint64_t bits = roce_prng_next(prng);
	struct roce_headers h;

	memset(&h, 0, sizeof(h));
	h.opcode.v = opcode;
	h.pad_count = bits & 3;
	h.solicited = bits >> 2 & 1;
	h.mig_req = bits >> 3 & 1;
	h.ack_req = bits >> 4 & 1;
	h.fecn = bits >> 5 & 1;
	h.becn = bits >> 6 & 1;
	h.pkey = (uint16_t)(bits >> 8);
	h.dest_qpn.v = (uint32_t)(bits >> 32) & 0xffffff;
	h.psn = roce_psn_make((uint32_t)roce_prng_next(prng));
	return h;
}

/* Fills exactly the fields that the opcode carries, so that whole structs can be compared. */
static void fill_extended(struct roce_prng *prng, struct roce_headers *h)
{
	roce_header_set_t set = roce_opcode_info(h->opcode)->headers;

	if (roce_header_set_has(set, ROCE_HEADER_DETH)) {
		h->qkey = (uint32_t)roce_prng_next(prng);
		h->src_qpn.v = (uint32_t)roce_prng_next(prng) & 0xffffff;
	}
	if (roce_header_set_has(set, ROCE_HEADER_XRCETH))
		h->xrc_srqn = (uint32_t)roce_prng_next(prng) & 0xffffff;
	if (roce_header_set_has(set, ROCE_HEADER_FETH)) {
		h->flush_sel = roce_prng_next(prng) & 3;
		h->flush_plt = roce_prng_next(prng) & 15;
	}
	if (roce_header_set_has(set, ROCE_HEADER_RETH) ||
	    roce_header_set_has(set, ROCE_HEADER_ATOMICETH)) {
		h->va = roce_prng_next(prng);
		h->rkey.v = (uint32_t)roce_prng_next(prng);
	}
	if (roce_header_set_has(set, ROCE_HEADER_RETH))
		h->dma_len = (uint32_t)roce_prng_next(prng);
	if (roce_header_set_has(set, ROCE_HEADER_ATOMICETH)) {
		h->swap_add = roce_prng_next(prng);
		h->compare = roce_prng_next(prng);
	}
	if (roce_header_set_has(set, ROCE_HEADER_AETH)) {
		h->syndrome = (uint8_t)roce_prng_next(prng);
		h->msn = (uint32_t)roce_prng_next(prng) & 0xffffff;
	}
	if (roce_header_set_has(set, ROCE_HEADER_ATOMICACKETH))
		h->atomic_orig = roce_prng_next(prng);
	if (roce_header_set_has(set, ROCE_HEADER_IMMDT))
		h->imm_be = (uint32_t)roce_prng_next(prng);
	if (roce_header_set_has(set, ROCE_HEADER_IETH))
		h->inv_rkey.v = (uint32_t)roce_prng_next(prng);
}

static void codec__round_trip_of_every_opcode(void **state)
{
	uint64_t seed = 0x5eed;
	struct roce_prng prng = {seed};
	size_t longest = 0;

	(void)state;
	print_message("seed %#llx\n", (unsigned long long)seed);
	for (unsigned int round = 0; round < 300 * 256; round++) {
		uint8_t packet[PACKET_MAX];
		struct roce_headers in = make_random_headers(&prng, (uint8_t)round);
		const struct roce_opcode_info *info = roce_opcode_info(in.opcode);
		uint32_t payload_len = (uint32_t)roce_prng_below(&prng, 500);
		uint32_t got_len = 0;
		const uint8_t *payload = NULL;
		struct roce_headers out;
		size_t header_len;
		size_t len;

		if (!info)
			continue;
		fill_extended(&prng, &in);
		memset(packet, 0xee, sizeof(packet));
		header_len = roce_headers_encode(&in, packet);
		assert_int_equal(header_len, info->header_len);
		assert_int_equal(packet[header_len], 0xee);
		longest = header_len > longest ? header_len : longest;
		if (info->transport == ROCE_OPCODE_TRANSPORT_RD)
			continue;
		len = header_len + payload_len + in.pad_count + ROCE_ICRC_BYTES;
		memset(&out, 0, sizeof(out));
		assert_int_equal(roce_headers_decode(packet, len, &out, &payload, &got_len),
				 ROCE_DECODE_OK);
		assert_memory_equal(&in, &out, sizeof(in));
		assert_ptr_equal(payload, packet + header_len);
		assert_int_equal(got_len, payload_len);
	}
	assert_int_equal(longest, ROCE_HEADERS_MAX);
}

/* IBTA: reserved bits are ignored by a receiver. */
static void decode__ignores_reserved_bits(void **state)
{
	struct roce_headers in = {.opcode = {ROCE_UD_SEND_ONLY}, .dest_qpn = {0x112233}};
	struct roce_headers out;
	const uint8_t *payload;
	uint32_t payload_len;
	uint8_t packet[64] = {0};
	size_t len = roce_headers_encode(&in, packet) + ROCE_ICRC_BYTES;

	(void)state;
	packet[4] |= 0x3f;
	packet[8] |= 0x7f;
	packet[16] = 0xff; /* in front of SrcQP */
	assert_int_equal(roce_headers_decode(packet, len, &out, &payload, &payload_len),
			 ROCE_DECODE_OK);
	assert_int_equal(out.dest_qpn.v, 0x112233);
	assert_int_equal(out.psn.v, 0);
	assert_int_equal(out.src_qpn.v, 0);
	assert_false(out.fecn || out.becn || out.ack_req);
}

static void case_002__pad_follows_payload(void **state)
{
	static const uint32_t lengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 255, 1023, 4095};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint8_t packet[ROCE_HEADERS_MAX + 4096 + ROCE_ICRC_BYTES];
		struct roce_headers in = {.opcode = {ROCE_RC_SEND_ONLY}, .pkey = 0xffff};
		struct roce_headers out;
		const uint8_t *payload = NULL;
		uint32_t got_len = 0;
		uint32_t n = lengths[i];
		size_t header_len;

		in.pad_count = roce_pad_count(n);
		assert_int_equal(in.pad_count, (4 - n % 4) % 4);
		header_len = roce_headers_encode(&in, packet);
		memset(packet + header_len, 0x5a, n);
		assert_int_equal(roce_packet_len(in.opcode, n), 12 + n + in.pad_count + 4);
		assert_int_equal(roce_packet_len(in.opcode, n) % 4, 0);
		assert_int_equal(roce_headers_decode(packet, roce_packet_len(in.opcode, n), &out,
						     &payload, &got_len),
				 ROCE_DECODE_OK);
		assert_int_equal(out.pad_count, in.pad_count);
		assert_int_equal(got_len, n);
		assert_ptr_equal(payload, packet + 12);
	}
}

static void case_004__mig_req_0_and_1_accepted(void **state)
{
	(void)state;
	for (unsigned int code = 0; code < 256; code++) {
		const struct roce_opcode_info *info =
			roce_opcode_info((roce_opcode_t){(uint8_t)code});

		if (!info || info->transport == ROCE_OPCODE_TRANSPORT_RD)
			continue;
		for (int mig_req = 0; mig_req < 2; mig_req++) {
			struct roce_headers in = {.opcode = {(uint8_t)code}, .mig_req = mig_req};
			uint8_t packet[64] = {0};
			struct roce_headers out;
			const uint8_t *payload;
			uint32_t payload_len;
			size_t len = roce_headers_encode(&in, packet) + ROCE_ICRC_BYTES;

			assert_int_equal(packet[1] >> 6 & 1, mig_req);
			assert_int_equal(
				roce_headers_decode(packet, len, &out, &payload, &payload_len),
				ROCE_DECODE_OK);
			assert_int_equal(out.mig_req, mig_req);
		}
	}
}

static enum roce_decode_verdict decode_verdict(const uint8_t *packet, size_t len)
{
	struct roce_headers out;
	const uint8_t *payload;
	uint32_t payload_len;

	return roce_headers_decode(packet, len, &out, &payload, &payload_len);
}

/* One valid packet, and for each verdict the one change that earns it. */
static void decode__every_verdict(void **state)
{
	struct roce_headers in = {.opcode = {ROCE_RC_WRITE_ONLY}, .pad_count = 3};
	uint8_t good[64] = {0};
	uint8_t bad[64];
	size_t header_len = roce_headers_encode(&in, good);
	size_t len = header_len + 1 + 3 + ROCE_ICRC_BYTES;

	(void)state;
	assert_int_equal(decode_verdict(good, len), ROCE_DECODE_OK);
	assert_int_equal(decode_verdict(good, len - 1), ROCE_DECODE_OK);
	assert_int_equal(decode_verdict(good, len - 2), ROCE_DECODE_PAYLOAD_NEGATIVE);
	assert_int_equal(decode_verdict(good, header_len + ROCE_ICRC_BYTES),
			 ROCE_DECODE_PAYLOAD_NEGATIVE);
	assert_int_equal(decode_verdict(good, header_len + ROCE_ICRC_BYTES - 1),
			 ROCE_DECODE_HEADERS_CUT);
	assert_int_equal(decode_verdict(good, 16), ROCE_DECODE_HEADERS_CUT);
	for (size_t n = 0; n < 16; n++)
		assert_int_equal(decode_verdict(good, n), ROCE_DECODE_TOO_SHORT);
	for (uint8_t tver = 1; tver < 16; tver++) {
		memcpy(bad, good, sizeof(bad));
		bad[1] |= tver;
		assert_int_equal(decode_verdict(bad, len), ROCE_DECODE_BAD_TVER);
	}
	memcpy(bad, good, sizeof(bad));
	bad[0] = 0x15;
	assert_int_equal(decode_verdict(bad, len), ROCE_DECODE_RESERVED_OPCODE);
	bad[0] = 0x80;
	assert_int_equal(decode_verdict(bad, len), ROCE_DECODE_RESERVED_OPCODE);
	bad[0] = 0xc0;
	assert_int_equal(decode_verdict(bad, len), ROCE_DECODE_RESERVED_OPCODE);
	bad[0] = ROCE_RD_SEND_ONLY;
	assert_int_equal(decode_verdict(bad, len), ROCE_DECODE_RD_OPCODE);
}

static void verdict_str__all_named(void **state)
{
	(void)state;
	for (int v = 0; v < ROCE_DECODE_COUNT; v++)
		assert_string_not_equal(roce_decode_verdict_str((enum roce_decode_verdict)v),
					"unknown");
	assert_string_equal(roce_decode_verdict_str(ROCE_DECODE_COUNT), "unknown");
}

/* Every opcode cut at every length: either it is refused, or the payload lies inside. The buffer
 * has exactly `len` bytes, so that the sanitizer sees a read beyond it. */
static void decode__every_opcode_at_every_length(void **state)
{
	uint8_t storage[80];

	(void)state;
	for (unsigned int code = 0; code < 256; code++) {
		for (unsigned int pad = 0; pad < 4; pad++) {
			for (size_t len = 0; len <= sizeof(storage); len++) {
				uint8_t *packet = storage + sizeof(storage) - len;
				struct roce_headers out;
				const uint8_t *payload = NULL;
				uint32_t n = 0;

				memset(storage, 0, sizeof(storage));
				if (len > 0)
					packet[0] = (uint8_t)code;
				if (len > 1)
					packet[1] = (uint8_t)(pad << 4);
				if (roce_headers_decode(packet, len, &out, &payload, &n) !=
				    ROCE_DECODE_OK)
					continue;
				assert_true(payload + n + pad + ROCE_ICRC_BYTES == packet + len);
				assert_true(payload >= packet + ROCE_BTH_BYTES);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codec__round_trip_of_every_opcode),
		cmocka_unit_test(decode__ignores_reserved_bits),
		cmocka_unit_test(case_002__pad_follows_payload),
		cmocka_unit_test(case_004__mig_req_0_and_1_accepted),
		cmocka_unit_test(decode__every_verdict),
		cmocka_unit_test(verdict_str__all_named),
		cmocka_unit_test(decode__every_opcode_at_every_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
