/* SPDX-License-Identifier: BSD-2-Clause */
/* Percentiles by counting, buckets by their bounds; the pattern of buffers. */
#include "verify/agent/samples.h"

#include "verify/agent/buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void percentile__is_the_nearest_rank(void **state)
{
	struct va_samples s;

	(void)state;
	assert_true(va_samples_init(&s, 1000));
	assert_int_equal(va_samples_percentile(&s, 50), 0);
	for (uint64_t i = 1000; i > 0; i--)
		va_samples_add(&s, i);
	va_samples_add(&s, 7); /* no room: dropped */
	assert_int_equal(s.count, 1000);
	assert_int_equal(va_samples_percentile(&s, 0), 1);
	assert_int_equal(va_samples_percentile(&s, 50), 500);
	assert_int_equal(va_samples_percentile(&s, 99), 990);
	assert_int_equal(va_samples_percentile(&s, 99.9), 999);
	assert_int_equal(va_samples_percentile(&s, 99.99), 1000);
	assert_int_equal(va_samples_percentile(&s, 100), 1000);
	assert_true(va_samples_mean(&s) == 500.5);
	assert_true(va_samples_beyond(&s, 0) == 100 && va_samples_beyond(&s, 1000) == 0);
	va_samples_fini(&s);
}

static void percentile__sees_one_in_a_thousand(void **state)
{
	struct va_samples s;

	(void)state;
	assert_true(va_samples_init(&s, 10000));
	for (int i = 0; i < 10000; i++)
		va_samples_add(&s, i % 1000 ? 10 : 5000);
	assert_int_equal(va_samples_percentile(&s, 99.9), 10);
	assert_int_equal(va_samples_percentile(&s, 99.99), 5000);
	va_samples_fini(&s);
}

static void bucket__holds_its_value(void **state)
{
	uint64_t end = 0;

	(void)state;
	for (uint64_t ns = 0; ns < 1u << 20; ns++) {
		uint64_t from;
		uint64_t to;

		va_bucket_of(ns, &from, &to);
		assert_true(from <= ns && ns < to);
		assert_true(ns < 16 ? to == from + 1 : (to - from) * 8 <= from);
		if (ns == end) { /* they follow each other without a gap */
			assert_int_equal(from, ns);
			end = to;
		}
		assert_int_equal(to, end);
	}
}

static void histogram__counts_all(void **state)
{
	struct va_samples s;
	json_t *json;
	json_t *buckets;
	json_int_t sum = 0;

	(void)state;
	assert_true(va_samples_init(&s, 3000));
	for (uint64_t i = 0; i < 3000; i++)
		va_samples_add(&s, i * i);
	json = va_samples_histogram(&s);
	buckets = json_object_get(json, "buckets");
	for (size_t i = 0; i < json_array_size(buckets); i++)
		sum += json_integer_value(json_array_get(json_array_get(buckets, i), 2));
	assert_int_equal(sum, 3000);
	json_decref(json);
	va_samples_fini(&s);
}

static void pattern__shows_any_wrong_byte(void **state)
{
	uint8_t buffer[10000];

	(void)state;
	for (size_t offset = 0; offset < 20; offset++) {
		va_pattern_fill(buffer, sizeof(buffer), 42, offset);
		assert_int_equal(va_pattern_check(buffer, sizeof(buffer), 42, offset),
				 sizeof(buffer));
		for (size_t i = 0; i < sizeof(buffer); i += 97) {
			buffer[i] ^= 1;
			assert_int_equal(va_pattern_check(buffer, sizeof(buffer), 42, offset), i);
			buffer[i] ^= 1;
		}
	}
}

static void pattern__depends_on_place_and_seed(void **state)
{
	uint8_t buffer[4096];
	size_t right;

	(void)state;
	va_pattern_fill(buffer, sizeof(buffer), 42, 0);
	right = va_pattern_check(buffer, sizeof(buffer), 43, 0);
	assert_true(right < 8);
	for (size_t shift = 1; shift < 64; shift++)
		assert_true(va_pattern_check(buffer, sizeof(buffer), 42, shift) < 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentile__is_the_nearest_rank),
		cmocka_unit_test(percentile__sees_one_in_a_thousand),
		cmocka_unit_test(bucket__holds_its_value),
		cmocka_unit_test(histogram__counts_all),
		cmocka_unit_test(pattern__shows_any_wrong_byte),
		cmocka_unit_test(pattern__depends_on_place_and_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
