/* SPDX-License-Identifier: BSD-2-Clause */
/* The wire format of rsockets against bytes that another implementation sent
 * (tests/vectors/captures: rstream.pcap), and the forms that no capture has against their
 * description. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <netinet/in.h>

#include "rsocket/wire.h"

/* The REQ of rstream.pcap, behind the 36 bytes of IP addressing. */
static const uint8_t captured[ROCE_RS_CONNECT_BYTES] = {
	0x01, 0x02, 0x01, 0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x56, 0x3c, 0x3b, 0xc2,
	0x60, 0x00, 0x00, 0x00, 0x2a, 0x48, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x7f, 0x30,
	0xee, 0xf8, 0xa0, 0x00, 0x00, 0x00, 0x2b, 0x3d, 0x00, 0x08, 0x00, 0x00,
};

static void connect_decode__captured_request(void **state)
{
	struct roce_rs_connect_data d;
	uint8_t again[ROCE_RS_CONNECT_BYTES];

	(void)state;
	roce_rs_connect_decode(captured, &d);
	assert_int_equal(d.version, 1);
	assert_int_equal(d.flags, ROCE_RS_FLAG_MAPPINGS);
	assert_int_equal(d.credits, 384);
	assert_int_equal(d.mapping_slots, 0);
	assert_true(d.list.address == UINT64_C(0x563c3bc26000));
	assert_int_equal(d.list.rkey, 0x2a48);
	assert_int_equal(d.list.length, 2);
	assert_true(d.ring.address == UINT64_C(0x7f30eef8a000));
	assert_int_equal(d.ring.rkey, 0x2b3d);
	assert_int_equal(d.ring.length, 1 << 19);
	roce_rs_connect_encode(&d, again);
	assert_memory_equal(again, captured, sizeof(captured));
}

static void mapping_slots__survive_the_wire(void **state)
{
	static const struct {
		uint32_t asked;
		uint16_t said;
	} rows[] = {{0, 0},	{1, 1},		{127, 127},	{128, 128},
		    {129, 128}, {255, 128},	{256, 256},	{511, 256},
		    {512, 512}, {32511, 32256}, {32512, 32512}, {65535, 32512}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct roce_rs_connect_data d = {
			.mapping_slots = roce_rs_mapping_slots_round(rows[i].asked)};
		uint8_t bytes[ROCE_RS_CONNECT_BYTES];

		assert_int_equal(d.mapping_slots, rows[i].said);
		roce_rs_connect_encode(&d, bytes);
		roce_rs_connect_decode(bytes, &d);
		assert_int_equal(d.mapping_slots, rows[i].said);
	}
}

/* The words that captures have. */
static void imm__words_seen(void **state)
{
	(void)state;
	assert_int_equal(roce_rs_imm(ROCE_RS_OP_DATA, 2048), 0x800);
	assert_int_equal(roce_rs_imm(ROCE_RS_OP_CREDIT, 384), 0x80000180);
	assert_int_equal(roce_rs_imm(ROCE_RS_OP_MAPPING, 0), 0xC0000000);
	assert_int_equal(roce_rs_imm(ROCE_RS_OP_CONTROL, ROCE_RS_CONTROL_DISCONNECT), 0xE0000000);
	assert_int_equal(roce_rs_imm_op(0xE0000002), ROCE_RS_OP_CONTROL);
	assert_int_equal(roce_rs_imm_value(0xE0000002), ROCE_RS_CONTROL_SHUTDOWN);
}

static void sge_encode__other_byte_order(void **state)
{
	const struct roce_rs_sge sge = {
		.address = UINT64_C(0x0102030405060708), .rkey = 0x11121314, .length = 0x21222324};
	uint8_t own[ROCE_RS_SGE_BYTES], swapped[ROCE_RS_SGE_BYTES];

	(void)state;
	roce_rs_sge_encode(&sge, false, own);
	assert_memory_equal(own, &sge.address, 8);
	roce_rs_sge_encode(&sge, true, swapped);
	for (int i = 0; i < 8; i++)
		assert_int_equal(swapped[i], own[7 - i]);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(swapped[8 + i], own[11 - i]);
		assert_int_equal(swapped[12 + i], own[15 - i]);
	}
}

static void ud_header__both_families(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(7471)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(7471)};
	static const uint8_t v4[] = {4, 8, 0x1d, 0x2f, 10, 77, 0, 1};
	uint8_t bytes[ROCE_RS_UD_HEADER_MAX];
	struct sockaddr_storage out;

	(void)state;
	inet_pton(AF_INET, "10.77.0.1", &in.sin_addr);
	inet_pton(AF_INET6, "2001:db8::1", &in6.sin6_addr);
	assert_int_equal(roce_rs_ud_header_encode((struct sockaddr *)&in, bytes), sizeof(v4));
	assert_memory_equal(bytes, v4, sizeof(v4));
	assert_int_equal(roce_rs_ud_header_decode(bytes, sizeof(v4), &out), sizeof(v4));
	assert_memory_equal(&out, &in, sizeof(in));
	assert_int_equal(roce_rs_ud_header_encode((struct sockaddr *)&in6, bytes), 24);
	assert_int_equal(roce_rs_ud_header_decode(bytes, 24, &out), 24);
	assert_memory_equal(&out, &in6, sizeof(in6));
	/* Too short, and a length that is not its version's. */
	assert_int_equal(roce_rs_ud_header_decode(bytes, 23, &out), 0);
	bytes[1] = 8;
	assert_int_equal(roce_rs_ud_header_decode(bytes, 24, &out), 0);
	assert_int_equal(roce_rs_ud_header_decode(v4, 7, &out), 0);
}

static void udp_header__both_families(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	struct roce_rs_udp_header header = {
		.family_version = 4, .op = ROCE_RS_OP_CONTROL, .qpn = 0x123456};
	static const uint8_t v4[] = {0x55, 0x55, 0x55, 0x55, 4,	 7,  16, 0,
				     0,	   0x12, 0x34, 0x56, 10, 77, 0,	 1};
	struct roce_rs_udp_header out;
	uint8_t bytes[ROCE_RS_UDP_HEADER_MAX];

	(void)state;
	inet_pton(AF_INET, "10.77.0.1", &in.sin_addr);
	assert_int_equal(roce_rs_udp_header_encode(&header, (struct sockaddr *)&in, bytes), 16);
	assert_memory_equal(bytes, v4, sizeof(v4));
	assert_int_equal(roce_rs_udp_header_decode(bytes, 16, &out), 16);
	assert_int_equal(out.qpn, 0x123456);
	assert_int_equal(out.op, ROCE_RS_OP_CONTROL);
	assert_int_equal(roce_rs_udp_header_decode(bytes, 15, &out), 0);
	bytes[0] ^= 1;
	assert_int_equal(roce_rs_udp_header_decode(bytes, 16, &out), 0);
	bytes[0] ^= 1;
	bytes[5] = 3;
	assert_int_equal(roce_rs_udp_header_decode(bytes, 16, &out), 0);
	header.family_version = 6;
	assert_int_equal(roce_rs_udp_header_encode(&header, (struct sockaddr *)&in6, bytes), 28);
	assert_int_equal(roce_rs_udp_header_decode(bytes, 28, &out), 28);
	assert_int_equal(roce_rs_udp_header_decode(bytes, 27, &out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connect_decode__captured_request),
		cmocka_unit_test(mapping_slots__survive_the_wire),
		cmocka_unit_test(imm__words_seen),
		cmocka_unit_test(sge_encode__other_byte_order),
		cmocka_unit_test(ud_header__both_families),
		cmocka_unit_test(udp_header__both_families),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
