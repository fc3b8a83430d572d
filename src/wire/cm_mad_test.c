/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The message formats by themselves: every field keeps its value, none overlaps another, reserved
 * bits stay zero; places of fields that no capture shows; and each verdict of the decoder.
 */
#include "wire/cm_mad.h"

#include "base/bytes.h"
#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const enum roce_cm_attr attrs[] = {
#define X(name, id, bytes, offset) ROCE_CM_##name,
	ROCE_CM_ATTR_LIST(X)
#undef X
};

#define ATTR_COUNT (sizeof(attrs) / sizeof(attrs[0]))

static uint8_t *make(enum roce_cm_attr attr, uint8_t *mad)
{
	const struct roce_mad_header h = {.base_version = 1,
					  .mgmt_class = 7,
					  .class_version = 2,
					  .method = 3,
					  .attribute_id = (uint16_t)attr};

	roce_mad_header_encode(&h, mad);
	return mad + ROCE_MAD_HEADER_BYTES;
}

/* How many bits of a message mean something: those that survive decoding and encoding. */
static unsigned count_kept_bits(enum roce_cm_attr attr)
{
	unsigned kept = 0;

	for (size_t bit = 0; bit < ROCE_MAD_DATA_BYTES * 8; bit++) {
		uint8_t mad[ROCE_MAD_BYTES] = {0};
		uint8_t again[ROCE_MAD_BYTES];
		uint8_t *data = make(attr, mad);
		struct roce_cm_message m;

		data[bit / 8] = (uint8_t)(1u << bit % 8);
		assert_int_equal(roce_cm_message_decode(mad, sizeof(mad), &m), ROCE_CM_DECODE_OK);
		roce_cm_message_encode(&m, again);
		if (memcmp(again, mad, sizeof(mad)) == 0) {
			kept++;
			continue;
		}
		/* a reserved bit: gone, and nothing else changed */
		data[bit / 8] = 0;
		assert_memory_equal(again, mad, sizeof(mad));
	}
	return kept;
}

/* The sums of the field widths in the tables of the specification. */
static void message__every_field_has_its_bits(void **state)
{
	const unsigned path = 16 + 16 + 128 + 128 + 20 + 6 + 8 + 8 + 4 + 1 + 5;
	const unsigned req = 32 + 24 + 64 + 64 + 32 + 24 + 8 + 24 + 8 + 24 + 5 + 2 + 1 + 24 + 5 +
			     3 + 16 + 4 + 1 + 3 + 4 + 1 + 3 + 2 * path + 2 /* SAP */;
	const unsigned rep = 32 + 32 + 32 + 24 + 24 + 24 + 24 + 8 + 8 + 5 + 2 + 1 + 3 + 1 + 64;

	(void)state;
	assert_int_equal(count_kept_bits(ROCE_CM_REQ), req + 92 * 8);
	assert_int_equal(count_kept_bits(ROCE_CM_MRA), 64 + 2 + 5 + 222 * 8);
	assert_int_equal(count_kept_bits(ROCE_CM_REJ), 64 + 2 + 7 + 16 + 72 * 8 + 148 * 8);
	assert_int_equal(count_kept_bits(ROCE_CM_REP), rep + 196 * 8);
	assert_int_equal(count_kept_bits(ROCE_CM_RTU), 64 + 224 * 8);
	assert_int_equal(count_kept_bits(ROCE_CM_DREQ), 64 + 24 + 220 * 8);
	assert_int_equal(count_kept_bits(ROCE_CM_DREP), 64 + 224 * 8);
	assert_int_equal(count_kept_bits(ROCE_CM_SIDR_REQ), 32 + 16 + 64 + 216 * 8);
	assert_int_equal(count_kept_bits(ROCE_CM_SIDR_REP),
			 32 + 8 + 8 + 24 + 24 + 64 + 32 + 72 * 8 + 136 * 8);
	assert_int_equal(count_kept_bits(ROCE_CM_LAP), 64 + 24 + 5 + path + 168 * 8);
	assert_int_equal(count_kept_bits(ROCE_CM_APR), 64 + 8 + 8 + 72 * 8 + 148 * 8);
}

static void message__random_bytes_twice(void **state)
{
	const uint64_t seed = 0x3ad;
	struct roce_prng prng = {seed};

	(void)state;
	print_message("seed %#llx\n", (unsigned long long)seed);
	for (unsigned i = 0; i < 5000; i++) {
		uint8_t mad[ROCE_MAD_BYTES], once[ROCE_MAD_BYTES], twice[ROCE_MAD_BYTES];
		struct roce_cm_message m;

		for (size_t j = 0; j < sizeof(mad); j++)
			mad[j] = (uint8_t)roce_prng_next(&prng);
		make(attrs[i % ATTR_COUNT], mad);
		assert_int_equal(roce_cm_message_decode(mad, sizeof(mad), &m), ROCE_CM_DECODE_OK);
		roce_cm_message_encode(&m, once);
		assert_int_equal(roce_cm_message_decode(once, sizeof(once), &m), ROCE_CM_DECODE_OK);
		roce_cm_message_encode(&m, twice);
		assert_memory_equal(once, twice, sizeof(once));
	}
}

/* Byte for byte where a 24-bit number stands that the captures have as zero. */
static void message__places_of_rare_fields(void **state)
{
	uint8_t mad[ROCE_MAD_BYTES];
	const uint8_t *d = mad + ROCE_MAD_HEADER_BYTES;
	struct roce_cm_message m = {.attr = ROCE_CM_REQ, .attribute_modifier = 0xa1b2c3d4};

	(void)state;
	m.req.vendor_id = 0x0002c9;
	m.req.alternate.flow_label = 0xabcde;
	m.req.alternate.rate = 0x2a;
	m.req.alternate.ack_timeout = 0x11;
	m.req.alternate.sap_supported = true;
	roce_cm_message_encode(&m, mad);
	assert_int_equal(roce_get_be32(mad + 20), 0xa1b2c3d4);
	assert_int_equal(roce_get_be24(d + 5), 0x0002c9);
	assert_int_equal(roce_get_be32(d + 132), 0xabcde000u | 0x2a);
	assert_int_equal(d[139], 0x11 << 3 | 4);

	m = (struct roce_cm_message){.attr = ROCE_CM_REP};
	m.rep.vendor_id = 0x0102c9;
	m.rep.rnr_retry_count = 5;
	m.rep.srq = true;
	roce_cm_message_encode(&m, mad);
	assert_int_equal(d[15], 0x01);
	assert_int_equal(d[19], 0x02);
	assert_int_equal(d[23], 0xc9);
	assert_int_equal(d[27], 5 << 5 | 1 << 4);

	m = (struct roce_cm_message){.attr = ROCE_CM_MRA};
	m.mra.answered = ROCE_CM_ANSWERED_REP;
	m.mra.service_timeout = 24;
	roce_cm_message_encode(&m, mad);
	assert_int_equal(d[8], 0x40);
	assert_int_equal(d[9], 24 << 3);

	m = (struct roce_cm_message){.attr = ROCE_CM_REJ};
	m.rej.answered = ROCE_CM_ANSWERED_OTHER;
	m.rej.reason = ROCE_CM_REJ_TIMEOUT;
	m.rej.info_len = 8;
	m.rej.info[0] = 0x50;
	roce_cm_message_encode(&m, mad);
	assert_int_equal(d[8], 0x80);
	assert_int_equal(d[9], 8 << 1);
	assert_int_equal(d[11], 4);
	assert_int_equal(d[12], 0x50);

	m = (struct roce_cm_message){.attr = ROCE_CM_SIDR_REP};
	m.sidr_rep.vendor_id = 0x0102c9;
	m.sidr_rep.info_len = 3;
	roce_cm_message_encode(&m, mad);
	assert_int_equal(d[5], 3);
	assert_int_equal(roce_get_be16(d + 6), 0x0102);
	assert_int_equal(d[11], 0xc9);

	m = (struct roce_cm_message){.attr = ROCE_CM_LAP};
	m.lap.remote_qpn.v = 0x123456;
	m.lap.remote_response_timeout = 20;
	m.lap.alternate.flow_label = 0xabcde;
	m.lap.alternate.traffic_class = 0x6a;
	roce_cm_message_encode(&m, mad);
	assert_int_equal(roce_get_be24(d + 12), 0x123456);
	assert_int_equal(d[15], 20 << 3);
	assert_int_equal(roce_get_be32(d + 56), 0xabcde06a);

	m = (struct roce_cm_message){.attr = ROCE_CM_APR};
	m.apr.status = ROCE_CM_APR_UNSUPPORTED;
	roce_cm_message_encode(&m, mad);
	assert_int_equal(d[9], 2);
}

static void expect_verdict(size_t at, uint8_t value, enum roce_cm_decode_verdict verdict)
{
	uint8_t mad[ROCE_MAD_BYTES] = {0};
	struct roce_cm_message m;

	make(ROCE_CM_RTU, mad);
	assert_int_equal(roce_cm_message_decode(mad, sizeof(mad), &m), ROCE_CM_DECODE_OK);
	mad[at] = value;
	assert_int_equal(roce_cm_message_decode(mad, sizeof(mad), &m), verdict);
}

static void decode__verdicts(void **state)
{
	uint8_t mad[ROCE_MAD_BYTES + 1] = {0};
	struct roce_cm_message m;

	(void)state;
	make(ROCE_CM_RTU, mad);
	assert_int_equal(roce_cm_message_decode(mad, 255, &m), ROCE_CM_DECODE_BAD_LENGTH);
	assert_int_equal(roce_cm_message_decode(mad, 257, &m), ROCE_CM_DECODE_BAD_LENGTH);
	expect_verdict(0, 2, ROCE_CM_DECODE_BAD_BASE_VERSION);
	expect_verdict(1, 1, ROCE_CM_DECODE_BAD_CLASS);
	expect_verdict(2, 1, ROCE_CM_DECODE_BAD_CLASS_VERSION);
	expect_verdict(3, 0x81, ROCE_CM_DECODE_BAD_METHOD);
	expect_verdict(17, 0x1b, ROCE_CM_DECODE_BAD_ATTRIBUTE);
	expect_verdict(17, 0x0f, ROCE_CM_DECODE_BAD_ATTRIBUTE);
	expect_verdict(16, 0x01, ROCE_CM_DECODE_BAD_ATTRIBUTE);
	assert_string_equal(roce_cm_decode_verdict_str(ROCE_CM_DECODE_BAD_METHOD),
			    "method is not Send");
}

static void ip_header__both_families(void **state)
{
	const struct roce_cm_ip_header v6 = {.ip_version = 6,
					     .src_port = 0x1234,
					     .src = {{0xfd, 0x77, [15] = 1}},
					     .dst = {{0xfd, 0x77, [15] = 2}}};
	const struct roce_cm_ip_header v4 = {
		.ip_version = 4,
		.src_port = 40000,
		.src = {{[10] = 0xff, 0xff, 10, 0, 0, 1}},
		.dst = {{[10] = 0xff, 0xff, 10, 0, 0, 2}},
	};
	static const uint8_t v4_bytes[ROCE_CM_IP_HEADER_BYTES] = {
		0x00, 0x40, 0x9c, 0x40, [16] = 10, 0, 0, 1, [32] = 10, 0, 0, 2};
	uint8_t bytes[ROCE_CM_IP_HEADER_BYTES];
	struct roce_cm_ip_header out;

	(void)state;
	roce_cm_ip_header_encode(&v4, bytes);
	assert_memory_equal(bytes, v4_bytes, sizeof(bytes));
	assert_true(roce_cm_ip_header_decode(bytes, &out));
	assert_memory_equal(&out, &v4, sizeof(v4));
	roce_cm_ip_header_encode(&v6, bytes);
	assert_int_equal(bytes[1], 0x60);
	assert_true(roce_cm_ip_header_decode(bytes, &out));
	assert_memory_equal(&out, &v6, sizeof(v6));
	bytes[0] = 0x10;
	assert_false(roce_cm_ip_header_decode(bytes, &out));
	bytes[0] = 0;
	bytes[1] = 0x50;
	assert_false(roce_cm_ip_header_decode(bytes, &out));
}

static void names__known_and_unknown(void **state)
{
	(void)state;
	assert_string_equal(roce_cm_attr_str(ROCE_CM_SIDR_REP), "SIDR_REP");
	assert_string_equal(roce_cm_attr_str(0x0f), "unknown");
	assert_string_equal(roce_cm_rej_reason_str(28), "rejected by the application");
	assert_string_equal(roce_cm_rej_reason_str(34), "unknown");
	assert_string_equal(roce_cm_sidr_status_str(1), "service ID not supported");
	assert_string_equal(roce_cm_sidr_status_str(6), "unknown");
	assert_int_equal(roce_cm_service_id(ROCE_PORT_SPACE_TCP, 7471), 0x1061d2f);
	assert_int_equal(ROCE_CM_IP_REQ_PRIVATE_BYTES, 56);
	assert_int_equal(ROCE_CM_IP_SIDR_PRIVATE_BYTES, 180);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message__every_field_has_its_bits),
		cmocka_unit_test(message__random_bytes_twice),
		cmocka_unit_test(message__places_of_rare_fields),
		cmocka_unit_test(decode__verdicts),
		cmocka_unit_test(ip_header__both_families),
		cmocka_unit_test(names__known_and_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
