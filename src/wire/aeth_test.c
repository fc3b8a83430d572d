/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AETH syndromes, credit and RNR tables, ACK timeouts, and path MTU codes, each over its whole
 * domain.
 */
#include "wire/aeth.h"
#include "wire/mtu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static void syndrome__all_256(void **state)
{
	static const enum roce_aeth_kind kinds[8] = {
		ROCE_AETH_ACK,	    ROCE_AETH_RNR_NAK,	ROCE_AETH_RESERVED, ROCE_AETH_NAK,
		ROCE_AETH_RESERVED, ROCE_AETH_RESERVED, ROCE_AETH_RESERVED, ROCE_AETH_RESERVED,
	};

	(void)state;
	for (unsigned int s = 0; s < 256; s++) {
		uint8_t syndrome = (uint8_t)s;

		assert_int_equal(roce_aeth_kind(syndrome), kinds[s / 32]);
		assert_int_equal(roce_aeth_value(syndrome), s % 32);
		if (s < 128)
			assert_int_equal(roce_aeth_syndrome(roce_aeth_kind(syndrome),
							    roce_aeth_value(syndrome)),
					 s);
	}
	assert_string_equal(roce_aeth_kind_str(ROCE_AETH_RNR_NAK), "RNR_NAK");
	assert_string_equal(roce_aeth_kind_str((enum roce_aeth_kind)9), "unknown");
}

static void nak__codes(void **state)
{
	(void)state;
	assert_int_equal(roce_aeth_nak(ROCE_NAK_PSN_SEQUENCE), 0x60);
	assert_int_equal(roce_aeth_nak(ROCE_NAK_INVALID_REQUEST), 0x61);
	assert_int_equal(roce_aeth_nak(ROCE_NAK_REMOTE_ACCESS), 0x62);
	assert_int_equal(roce_aeth_nak(ROCE_NAK_REMOTE_OPERATIONAL), 0x63);
	assert_int_equal(roce_aeth_nak(ROCE_NAK_INVALID_RD_REQUEST), 0x64);
	assert_string_equal(roce_nak_str(2), "remote access error");
	for (unsigned int code = 5; code < 256; code++)
		assert_string_equal(roce_nak_str((uint8_t)code), "reserved");
}

static void credit__table_and_inverse(void **state)
{
	uint32_t before = 0;

	(void)state;
	for (uint8_t code = 0; code < 31; code++) {
		uint32_t count = roce_credit_count(code);
		/* 0 to 4, then alternately 3/2 and 4/3 of the last: 2^k and 3 * 2^(k-1). */
		uint32_t want = code < 5	? code
				: code % 2 != 0 ? 3u << ((code - 3) / 2)
						: 1u << ((code / 2));

		assert_int_equal(count, want);
		if (code > 0)
			assert_true(count > before);
		assert_int_equal(roce_credit_code(count), code);
		if (code > 0)
			assert_int_equal(roce_credit_code(count - 1), code - 1);
		before = count;
	}
	assert_int_equal(roce_credit_count(10), 32);
	assert_int_equal(roce_credit_count(30), 32768);
	assert_int_equal(roce_credit_count(31), ROCE_CREDIT_UNLIMITED);
	assert_int_equal(roce_credit_code(UINT32_MAX), 30);
}

static void case_006__all_rnr_codes(void **state)
{
	static const double milliseconds[32] = {
		655.36, 0.01,  0.02,  0.03,  0.04,  0.06,   0.08,   0.12,   0.16,   0.24,   0.32,
		0.48,	0.64,  0.96,  1.28,  1.92,  2.56,   3.84,   5.12,   7.68,   10.24,  15.36,
		20.48,	30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52,
	};

	(void)state;
	for (uint8_t code = 0; code < 32; code++)
		assert_int_equal(roce_rnr_delay_ns(code),
				 (uint64_t)(milliseconds[code] * 1e6 + 0.5));
}

static void case_007__ack_timeout(void **state)
{
	(void)state;
	assert_true(roce_ack_timeout_ns(0) == ROCE_NEVER);
	assert_int_equal(roce_ack_timeout_ns(1), 8192);
	assert_int_equal(roce_ack_timeout_ns(8), 1048576);
	/* (retries + 1) timeouts: 536.9 ms, 34.36 s, 8.39 ms. */
	assert_int_equal(8 * roce_ack_timeout_ns(14), 536870912);
	assert_true(8 * roce_ack_timeout_ns(20) == UINT64_C(34359738368));
	assert_int_equal(8 * roce_ack_timeout_ns(8), 8388608);
	assert_true(roce_ack_timeout_ns(31) == UINT64_C(8796093022208));
	for (uint8_t t = 2; t < 32; t++)
		assert_true(roce_ack_timeout_ns(t) == 2 * roce_ack_timeout_ns(t - 1));
}

static void mtu__codes_and_netdev_thresholds(void **state)
{
	static const uint32_t thresholds[] = {352, 608, 1120, 2144, 4192};

	(void)state;
	assert_int_equal(roce_mtu_bytes(0), 0);
	assert_int_equal(roce_mtu_bytes(6), 0);
	assert_int_equal(roce_mtu_bytes(ROCE_MTU_CODE_MAX), ROCE_MTU_BYTES_MAX);
	for (uint8_t code = 1; code <= 5; code++) {
		uint32_t bytes = roce_mtu_bytes(code);

		assert_int_equal(bytes, 128 << code);
		assert_int_equal(roce_mtu_code(bytes), code);
		assert_int_equal(roce_mtu_code(bytes - 1), code - 1);
		assert_int_equal(roce_mtu_enum_from_netdev(thresholds[code - 1]), code);
		assert_int_equal(roce_mtu_enum_from_netdev(thresholds[code - 1] - 1), code - 1);
	}
	assert_int_equal(roce_mtu_enum_from_netdev(1500), 3);
	assert_int_equal(roce_mtu_enum_from_netdev(4200), 5);
	assert_int_equal(roce_mtu_enum_from_netdev(9000), 5);
	assert_int_equal(roce_mtu_enum_from_netdev(65536), 5);
	assert_int_equal(roce_mtu_enum_from_netdev(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(syndrome__all_256),
		cmocka_unit_test(nak__codes),
		cmocka_unit_test(credit__table_and_inverse),
		cmocka_unit_test(case_006__all_rnr_codes),
		cmocka_unit_test(case_007__ack_timeout),
		cmocka_unit_test(mtu__codes_and_netdev_thresholds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
