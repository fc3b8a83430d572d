/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PSN arithmetic modulo 2^24, exhaustively in the windows where it wraps: around 0, around half the
 * space, and along the whole ring from a few origins. The expected values come from plain 64-bit
 * arithmetic that knows nothing of the trick in roce_psn_diff().
 */
#include "wire/ids.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define RING (INT64_C(1) << 24)
#define HALF (INT64_C(1) << 23)

static int64_t expected_diff(uint32_t a, uint32_t b)
{
	int64_t d = ((int64_t)a - (int64_t)b) % RING;

	if (d >= HALF)
		d -= RING;
	if (d < -HALF)
		d += RING;
	return d;
}

static void psn_diff__windows_of_every_wrap(void **state)
{
	static const int64_t centres[] = {0, 1, 1000, HALF - 1, HALF, HALF + 1, RING - 1};

	(void)state;
	for (size_t c = 0; c < sizeof(centres) / sizeof(centres[0]); c++) {
		for (size_t d = 0; d < sizeof(centres) / sizeof(centres[0]); d++) {
			for (int64_t i = -40; i <= 40; i++) {
				for (int64_t j = -40; j <= 40; j++) {
					roce_psn_t a = roce_psn_make((uint32_t)(centres[c] + i));
					roce_psn_t b = roce_psn_make((uint32_t)(centres[d] + j));
					int64_t want = expected_diff(a.v, b.v);

					if (roce_psn_diff(a, b) != want)
						fail_msg("diff(%#x, %#x) = %d, want %d", a.v, b.v,
							 roce_psn_diff(a, b), (int)want);
				}
			}
		}
	}
}

static void psn_diff__whole_ring(void **state)
{
	static const uint32_t origins[] = {0, 0x7fffff, 0x800000, 0xffffff, 0xabcdef};

	(void)state;
	for (size_t o = 0; o < sizeof(origins) / sizeof(origins[0]); o++) {
		roce_psn_t b = {origins[o]};
		uint32_t wrong = 0;

		for (uint32_t n = 0; n < RING; n++) {
			roce_psn_t a = roce_psn_add(b, n);
			int32_t want = n < HALF ? (int32_t)n : (int32_t)((int64_t)n - RING);

			wrong += roce_psn_diff(a, b) != want;
			wrong += a.v > ROCE_PSN_MASK;
			wrong += roce_psn_is_equal(a, b) != (n == 0);
		}
		assert_int_equal(wrong, 0);
	}
}

static void psn_add__wraps(void **state)
{
	(void)state;
	assert_int_equal(roce_psn_add(roce_psn_make(0xffffff), 1).v, 0);
	assert_int_equal(roce_psn_add(roce_psn_make(0xfffffe), 5).v, 3);
	assert_int_equal(roce_psn_add(roce_psn_make(5), (uint32_t)-6).v, 0xffffff);
	assert_int_equal(roce_psn_make(0x1000001).v, 1);
}

static void qpn_slot__is_the_high_byte(void **state)
{
	(void)state;
	assert_int_equal(roce_qpn_slot((roce_qpn_t){0xfe1234}), 0xfe);
	assert_int_equal(roce_qpn_slot((roce_qpn_t){1}), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(psn_diff__windows_of_every_wrap),
		cmocka_unit_test(psn_diff__whole_ring),
		cmocka_unit_test(psn_add__wraps),
		cmocka_unit_test(qpn_slot__is_the_high_byte),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
