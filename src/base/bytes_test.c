/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Byte order and extent of every load and store, at all eight alignments: the value is right and
 * the bytes around it stay as they were.
 */
#include "base/bytes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const uint8_t digits[8] = {0x81, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};

static void get__any_alignment(void **state)
{
	uint8_t buf[16];

	(void)state;
	for (size_t at = 0; at < 8; at++) {
		memset(buf, 0xee, sizeof(buf));
		memcpy(buf + at, digits, sizeof(digits));
		assert_int_equal(roce_get_be16(buf + at), 0x8123);
		assert_int_equal(roce_get_be24(buf + at), 0x812345);
		assert_int_equal(roce_get_be32(buf + at), 0x81234567);
		assert_true(roce_get_be64(buf + at) == UINT64_C(0x8123456789abcdef));
		assert_int_equal(roce_get_le32(buf + at), 0x67452381);
	}
}

static void expect_bytes(const uint8_t *buf, size_t at, const uint8_t *want, size_t len)
{
	for (size_t i = 0; i < 24; i++) {
		if (i >= at && i < at + len)
			assert_int_equal(buf[i], want[i - at]);
		else
			assert_int_equal(buf[i], 0xee);
	}
}

static void put__touches_only_its_bytes(void **state)
{
	static const uint8_t swapped[4] = {0x67, 0x45, 0x23, 0x81};
	uint8_t buf[24];

	(void)state;
	for (size_t at = 4; at < 12; at++) {
		memset(buf, 0xee, sizeof(buf));
		roce_put_be16(buf + at, 0x8123);
		expect_bytes(buf, at, digits, 2);
		memset(buf, 0xee, sizeof(buf));
		roce_put_be24(buf + at, 0xff812345);
		expect_bytes(buf, at, digits, 3);
		memset(buf, 0xee, sizeof(buf));
		roce_put_be32(buf + at, 0x81234567);
		expect_bytes(buf, at, digits, 4);
		memset(buf, 0xee, sizeof(buf));
		roce_put_be64(buf + at, UINT64_C(0x8123456789abcdef));
		expect_bytes(buf, at, digits, 8);
		memset(buf, 0xee, sizeof(buf));
		roce_put_le32(buf + at, 0x81234567);
		expect_bytes(buf, at, swapped, 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(get__any_alignment),
		cmocka_unit_test(put__touches_only_its_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
