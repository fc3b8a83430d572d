/* SPDX-License-Identifier: BSD-2-Clause */
/* The pattern finds every single wrong byte, at every alignment, and no right one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tools/verbs_check/pattern.h"

enum { LENGTH = 37 };

static void fill_is_the_bytes_one_by_one(void **state)
{
	uint8_t bytes[LENGTH];

	(void)state;
	for (uint64_t offset = 0; offset < 16; offset++) {
		vc_pattern_fill(bytes, LENGTH, 0x1234, offset);
		for (uint64_t i = 0; i < LENGTH; i++)
			assert_int_equal(bytes[i], vc_pattern_byte(0x1234, offset + i));
	}
}

static void check_reports_a_flipped_byte(void **state)
{
	struct vc_mismatch mismatch;
	uint8_t bytes[LENGTH];

	(void)state;
	for (uint64_t offset = 0; offset < 8; offset++) {
		for (uint64_t at = 0; at < LENGTH; at++) {
			vc_pattern_fill(bytes, LENGTH, 77, offset);
			assert_true(vc_pattern_check(bytes, LENGTH, 77, offset, &mismatch));
			bytes[at] ^= (uint8_t)(1u << at % 8);
			assert_false(vc_pattern_check(bytes, LENGTH, 77, offset, &mismatch));
			assert_int_equal(mismatch.offset, at);
			assert_int_equal(mismatch.found, bytes[at]);
			assert_int_equal(mismatch.expected, vc_pattern_byte(77, offset + at));
		}
	}
}

/* A packet that lands one MTU, one word or one byte off is wrong. */
static void shifted_data_is_wrong(void **state)
{
	static const uint64_t shifts[] = {1, 7, 8, 256, 1024, 4096};
	struct vc_mismatch mismatch;
	uint8_t bytes[LENGTH];

	(void)state;
	for (size_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++) {
		vc_pattern_fill(bytes, LENGTH, 5, shifts[i]);
		assert_false(vc_pattern_check(bytes, LENGTH, 5, 0, &mismatch));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fill_is_the_bytes_one_by_one),
		cmocka_unit_test(check_reports_a_flipped_byte),
		cmocka_unit_test(shifted_data_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
