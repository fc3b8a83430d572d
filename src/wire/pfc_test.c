/* SPDX-License-Identifier: BSD-2-Clause */
/* PFC frames byte by byte, and what is not one. */
#include "wire/pfc.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static const struct roce_pfc xoff_3 = {
	.src_mac = {2, 0, 0, 0, 0, 7}, .enabled = 1 << 3 | 1 << 4, .quanta = {[3] = 0xffff}};

/* Priority 3 stops for the longest time, priority 4 goes on. */
static const uint8_t xoff_3_bytes[ROCE_PFC_FRAME_BYTES] = {
	0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x07, 0x88,
	0x08, 0x01, 0x01, 0x00, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff};

static void the_frame_is_that_of_the_standard(void **state)
{
	uint8_t frame[ROCE_PFC_FRAME_BYTES];

	(void)state;
	memset(frame, 0xaa, sizeof(frame));
	roce_pfc_encode(&xoff_3, frame);
	assert_memory_equal(frame, xoff_3_bytes, sizeof(frame));
}

static void what_was_written_is_read(void **state)
{
	struct roce_pfc out;

	(void)state;
	memset(&out, 0xaa, sizeof(out));
	assert_true(roce_pfc_decode(xoff_3_bytes, sizeof(xoff_3_bytes), &out));
	assert_memory_equal(out.src_mac, xoff_3.src_mac, sizeof(out.src_mac));
	assert_int_equal(out.enabled, xoff_3.enabled);
	assert_memory_equal(out.quanta, xoff_3.quanta, sizeof(out.quanta));
}

static void other_frames_are_refused(void **state)
{
	static const size_t told_by[] = {0, 5, 12, 13, 14, 15};
	struct roce_pfc out;

	(void)state;
	for (size_t i = 0; i < sizeof(told_by) / sizeof(told_by[0]); i++) {
		uint8_t frame[ROCE_PFC_FRAME_BYTES];

		memcpy(frame, xoff_3_bytes, sizeof(frame));
		frame[told_by[i]] ^= 1;
		assert_false(roce_pfc_decode(frame, sizeof(frame), &out));
	}
	assert_false(roce_pfc_decode(xoff_3_bytes, 33, &out));
	assert_true(roce_pfc_decode(xoff_3_bytes, 34, &out));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_frame_is_that_of_the_standard),
		cmocka_unit_test(what_was_written_is_read),
		cmocka_unit_test(other_frames_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
