/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole-frame headers: round trips in all four shapes, one frame for each verdict, and the known
 * answers of the UDP source port.
 */
#include "wire/encap.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define PAYLOAD_LEN 20u

static struct roce_encap make_encap(struct roce_prng *prng, bool is_v4, bool has_vlan)
{
	struct roce_encap e;

	memset(&e, 0, sizeof(e));
	for (int i = 0; i < 6; i++) {
		e.dst_mac[i] = (uint8_t)roce_prng_next(prng);
		e.src_mac[i] = (uint8_t)roce_prng_next(prng);
	}
	if (has_vlan) {
		e.has_vlan = true;
		e.vlan_dei = roce_prng_next(prng) & 1;
		e.vlan_pcp = roce_prng_next(prng) & 7;
		e.vlan_id = roce_prng_next(prng) & 0xfff;
	}
	for (int i = is_v4 ? 12 : 0; i < 16; i++) {
		e.src.raw[i] = (uint8_t)roce_prng_next(prng);
		e.dst.raw[i] = (uint8_t)roce_prng_next(prng);
	}
	if (is_v4) {
		memset(e.src.raw + 10, 0xff, 2);
		memset(e.dst.raw + 10, 0xff, 2);
		e.ip_id = (uint16_t)roce_prng_next(prng);
		e.dont_fragment = roce_prng_next(prng) & 1;
	} else {
		e.flow_label = (uint32_t)roce_prng_next(prng) & 0xfffff;
		e.dont_fragment = true;
	}
	e.traffic_class = (uint8_t)roce_prng_next(prng);
	e.hop_limit = (uint8_t)roce_prng_next(prng);
	e.udp_sport = (uint16_t)roce_prng_next(prng);
	e.udp_dport = 4791;
	e.udp_checksum = (uint16_t)roce_prng_next(prng);
	return e;
}

static void encap__round_trip(void **state)
{
	uint64_t seed = 0xe2;
	struct roce_prng prng = {seed};

	(void)state;
	print_message("seed %#llx\n", (unsigned long long)seed);
	for (int i = 0; i < 4000; i++) {
		uint8_t frame[ROCE_ENCAP_MAX + PAYLOAD_LEN + 3] = {0};
		struct roce_encap in = make_encap(&prng, i & 1, i & 2);
		struct roce_encap out;
		const uint8_t *payload = NULL;
		size_t len = 0;
		size_t at = roce_encap_encode(&in, PAYLOAD_LEN, frame);

		assert_int_equal(at, 14u + (i & 2 ? 4 : 0) + (i & 1 ? 20 : 40) + 8);
		memset(&out, 0, sizeof(out));
		/* Link padding behind the datagram is no part of it. */
		assert_int_equal(roce_encap_decode(frame, at + PAYLOAD_LEN + (size_t)(i % 4), &out,
						   &payload, &len),
				 ROCE_ENCAP_OK);
		assert_memory_equal(&in, &out, sizeof(in));
		assert_ptr_equal(payload, frame + at);
		assert_int_equal(len, PAYLOAD_LEN);
	}
}

static enum roce_encap_verdict verdict_of(const uint8_t *frame, size_t len)
{
	struct roce_encap out;
	const uint8_t *payload;
	size_t payload_len;

	return roce_encap_decode(frame, len, &out, &payload, &payload_len);
}

/* Flips bits of one byte in a copy of `good`. */
static enum roce_encap_verdict verdict_with(const uint8_t *good, size_t len, size_t at,
					    uint8_t flip)
{
	uint8_t bad[128];

	memcpy(bad, good, len);
	bad[at] ^= flip;
	return verdict_of(bad, len);
}

static void decode__ipv4_verdicts(void **state)
{
	struct roce_prng prng = {21};
	struct roce_encap e = make_encap(&prng, true, false);
	uint8_t good[128] = {0};
	size_t len = roce_encap_encode(&e, PAYLOAD_LEN, good) + PAYLOAD_LEN;

	(void)state;
	assert_int_equal(verdict_of(good, len), ROCE_ENCAP_OK);
	assert_int_equal(verdict_with(good, len, 13, 0x05), ROCE_ENCAP_NOT_IP);
	assert_int_equal(verdict_with(good, len, 14, 0x20), ROCE_ENCAP_NOT_IP);
	assert_int_equal(verdict_with(good, len, 14, 0x03), ROCE_ENCAP_IPV4_OPTIONS);
	assert_int_equal(verdict_with(good, len, 16, 0xff), ROCE_ENCAP_BAD_LENGTH);
	assert_int_equal(verdict_of(good, len - 1), ROCE_ENCAP_BAD_LENGTH);
	assert_int_equal(verdict_with(good, len, 20, 0x20), ROCE_ENCAP_IPV4_FRAGMENT);
	assert_int_equal(verdict_with(good, len, 20, 0x80), ROCE_ENCAP_IPV4_FRAGMENT);
	assert_int_equal(verdict_with(good, len, 21, 0x01), ROCE_ENCAP_IPV4_FRAGMENT);
	assert_int_equal(verdict_with(good, len, 24, 0x01), ROCE_ENCAP_IPV4_CHECKSUM);
	assert_int_equal(verdict_with(good, len, 39, 0x01), ROCE_ENCAP_BAD_LENGTH);
	for (size_t n = 0; n < 34; n++)
		assert_int_equal(verdict_of(good, n), ROCE_ENCAP_TOO_SHORT);
	/* TCP, with the header checksum moved by as much in the same column. */
	good[23] = 6;
	assert_int_equal(verdict_of(good, len), ROCE_ENCAP_IPV4_CHECKSUM);
	for (unsigned int sum = 0; sum < 0x10000; sum++) {
		good[24] = (uint8_t)(sum >> 8);
		good[25] = (uint8_t)sum;
		if (verdict_of(good, len) != ROCE_ENCAP_IPV4_CHECKSUM)
			break;
	}
	assert_int_equal(verdict_of(good, len), ROCE_ENCAP_NOT_UDP);
}

static void decode__ipv6_and_vlan_verdicts(void **state)
{
	struct roce_prng prng = {22};
	struct roce_encap e = make_encap(&prng, false, true);
	uint8_t good[128] = {0};
	size_t len = roce_encap_encode(&e, PAYLOAD_LEN, good) + PAYLOAD_LEN;

	(void)state;
	assert_int_equal(verdict_of(good, len), ROCE_ENCAP_OK);
	assert_int_equal(verdict_with(good, len, 16, 0x01), ROCE_ENCAP_NOT_IP);
	assert_int_equal(verdict_with(good, len, 18, 0x20), ROCE_ENCAP_NOT_IP);
	assert_int_equal(verdict_with(good, len, 22, 0x01), ROCE_ENCAP_BAD_LENGTH);
	assert_int_equal(verdict_with(good, len, 23, 0x04), ROCE_ENCAP_BAD_LENGTH);
	assert_int_equal(verdict_with(good, len, 24, 0x11), ROCE_ENCAP_NOT_UDP);
	assert_int_equal(verdict_of(good, len - 1), ROCE_ENCAP_BAD_LENGTH);
	for (size_t n = 0; n < 58; n++)
		assert_int_equal(verdict_of(good, n), ROCE_ENCAP_TOO_SHORT);
	/* An IPv6 payload too short for UDP. */
	good[22] = 0;
	good[23] = 7;
	assert_int_equal(verdict_of(good, len), ROCE_ENCAP_BAD_LENGTH);
}

static void verdict_str__all_named(void **state)
{
	(void)state;
	for (int v = 0; v < ROCE_ENCAP_COUNT; v++)
		assert_string_not_equal(roce_encap_verdict_str((enum roce_encap_verdict)v),
					"unknown");
	assert_string_equal(roce_encap_verdict_str(ROCE_ENCAP_COUNT), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encap__round_trip),
		cmocka_unit_test(decode__ipv4_verdicts),
		cmocka_unit_test(decode__ipv6_and_vlan_verdicts),
		cmocka_unit_test(verdict_str__all_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
