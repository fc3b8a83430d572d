/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The IP header that a UD receiver finds, as bytes: both families, and the IPv4 checksum over
 * headers whose sum carries.
 */
#include "wire/grh.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define V4(a, b, c, d)                                                               \
	{                                                                            \
		{                                                                    \
			0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, (a), (b), (c), (d) \
		}                                                                    \
	}

static void encode__v4(void **state)
{
	/* worked by hand: the words add up to 0x5b00, so the checksum is 0xa4ff */
	static const uint8_t expected[40] = {
		[20] = 0x45, 0x6a, 0x00, 0x30, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
		0xa4,	     0xff, 0xc0, 0xa8, 0x0a, 0x02, 0xc0, 0xa8, 0x0a, 0x01,
	};
	const struct roce_gid src = V4(192, 168, 10, 2);
	const struct roce_gid dst = V4(192, 168, 10, 1);
	uint8_t out[ROCE_GRH_BYTES];

	(void)state;
	memset(out, 0xee, sizeof(out));
	roce_grh_encode(out, &src, &dst, 0x6a, 64, 28);
	assert_memory_equal(out, expected, sizeof(out));
}

/* Ones' complement: the sum of all words with the checksum is 0xffff. */
static void encode__v4_checksum(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4096; i++) {
		const struct roce_gid src = V4(255, 255, (uint8_t)(i * 7), (uint8_t)i);
		const struct roce_gid dst = V4(255, 254, (uint8_t)(i * 13), (uint8_t)(i >> 4));
		uint8_t out[ROCE_GRH_BYTES];
		uint32_t sum = 0;

		roce_grh_encode(out, &src, &dst, (uint8_t)i, (uint8_t)(i >> 4), (uint16_t)(i * 16));
		for (uint32_t k = 20; k < 40; k += 2)
			sum += (uint32_t)(out[k] << 8 | out[k + 1]);
		while (sum >> 16)
			sum = (sum & 0xffff) + (sum >> 16);
		assert_int_equal(sum, 0xffff);
	}
}

static void encode__v6(void **state)
{
	static const uint8_t expected[40] = {
		0x66, 0xa0, 0x00, 0x00, 0x00, 0x34, 0x11, 0x40, 0x20, 0x01, 0x0d, 0xb8, 0,    0,
		0,    0,    0,	  0,	0,    0,    0,	  0,	0,    0x01, 0x20, 0x01, 0x0d, 0xb8,
		0,    0,    0,	  0,	0,    0,    0,	  0,	0,    0,    0,	  0x02,
	};
	const struct roce_gid src = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
	const struct roce_gid dst = {{0x20, 0x01, 0x0d, 0xb8, [15] = 2}};
	uint8_t out[ROCE_GRH_BYTES];

	(void)state;
	memset(out, 0xee, sizeof(out));
	roce_grh_encode(out, &src, &dst, 0x6a, 64, 0x34);
	assert_memory_equal(out, expected, sizeof(out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encode__v4),
		cmocka_unit_test(encode__v4_checksum),
		cmocka_unit_test(encode__v6),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
