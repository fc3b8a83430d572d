/* SPDX-License-Identifier: BSD-2-Clause */
/* Ranges become round ticks, and values texts that people read. */
#include "report/axis.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static void lengths_start_at_zero(void **state)
{
	struct roce_axis axis;

	(void)state;
	roce_axis_fit(&axis, ROCE_QUANTITY_BYTES, false, 100e3, 320e3);
	assert_true(axis.min == 0);
	assert_true(is_near(axis.max, 350e3));
	assert_string_equal(axis.unit, "kB");
	assert_int_equal(axis.tick_count, 8);
}

static void a_narrow_range_does_not_start_at_zero(void **state)
{
	struct roce_axis axis;

	(void)state;
	roce_axis_fit(&axis, ROCE_QUANTITY_BITS_RATE, false, 97e9, 99e9);
	assert_true(axis.min > 96e9 && axis.min <= 97e9);
	assert_true(axis.max >= 99e9 && axis.max < 100e9);
	assert_string_equal(axis.unit, "Gb/s");
	/* One value alone is a length, too. */
	roce_axis_fit(&axis, ROCE_QUANTITY_BITS_RATE, false, 50e9, 50e9);
	assert_true(axis.min == 0 && axis.max >= 50e9);
}

static void nothing_and_one_value_have_an_axis(void **state)
{
	static const double values[] = {0, 5, -3, 1e-12};
	struct roce_axis axis;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		for (int is_log = 0; is_log < 2; is_log++) {
			roce_axis_fit(&axis, ROCE_QUANTITY_COUNT, is_log, values[i], values[i]);
			assert_true(axis.max > axis.min);
			assert_in_range(axis.tick_count, 2, ROCE_AXIS_TICKS_MAX);
		}
	}
}

static void a_logarithmic_axis_counts_decades(void **state)
{
	struct roce_axis axis;
	char label[ROCE_AXIS_LABEL_MAX];

	(void)state;
	roce_axis_fit(&axis, ROCE_QUANTITY_SECONDS, true, 3e-6, 140e-6);
	assert_true(is_near(axis.min, 1e-6) && is_near(axis.max, 1e-3));
	assert_int_equal(axis.tick_count, 4);
	roce_axis_label(&axis, axis.ticks[2], label);
	assert_string_equal(label, "100");
	assert_string_equal(axis.unit, "us");
	assert_true(is_near(roce_axis_at(&axis, 1e-4), 2.0 / 3));
	assert_true(roce_axis_at(&axis, 0) == 0);
}

/* No 1e+07 ns. */
static void a_logarithmic_axis_has_a_unit_for_all_decades(void **state)
{
	struct roce_axis axis;
	char label[ROCE_AXIS_LABEL_MAX];

	(void)state;
	roce_axis_fit(&axis, ROCE_QUANTITY_SECONDS, true, 90e-9, 3e-3);
	assert_string_equal(axis.unit, "us");
	roce_axis_label(&axis, axis.ticks[0], label);
	assert_string_equal(label, "0.01");
	roce_axis_label(&axis, axis.ticks[axis.tick_count - 1], label);
	assert_string_equal(label, "10000");
	roce_axis_fit(&axis, ROCE_QUANTITY_SECONDS, true, 90e-9, 0.09e-3);
	assert_string_equal(axis.unit, "ns");
	roce_axis_fit(&axis, ROCE_QUANTITY_COUNT, true, 1, 9e6);
	assert_string_equal(axis.unit, "");
}

/* Ticks rise, lie in the range, and are few, whatever comes. */
static void any_range_has_good_ticks(void **state)
{
	(void)state;
	for (int e = -15; e < 15; e++) {
		for (int digit = 1; digit < 40; digit++) {
			double max = digit * pow(10, e) / 3;
			struct roce_axis axis;

			roce_axis_fit(&axis, ROCE_QUANTITY_RATIO, digit % 2, max / 1e4, max);
			assert_in_range(axis.tick_count, 2, ROCE_AXIS_TICKS_MAX);
			assert_true(axis.max >= max * (1 - 1e-9));
			for (unsigned int i = 1; i < axis.tick_count; i++)
				assert_true(axis.ticks[i] > axis.ticks[i - 1]);
		}
	}
}

static void a_trimmed_axis_ends_with_the_data(void **state)
{
	struct roce_axis axis;

	(void)state;
	roce_axis_fit(&axis, ROCE_QUANTITY_SECONDS, false, 0, 2.01e-3);
	assert_true(is_near(axis.max, 2.5e-3));
	roce_axis_trim(&axis, 2.01e-3);
	assert_true(is_near(axis.max, 2.01e-3));
	assert_true(is_near(axis.ticks[axis.tick_count - 1], 2e-3));
	assert_true(roce_axis_at(&axis, 2.01e-3) == 1);
	roce_axis_trim(&axis, 5);
	assert_true(is_near(axis.max, 2.01e-3));
}

static void sizes_double_and_have_their_own_units(void **state)
{
	struct roce_axis axis;
	char label[ROCE_AXIS_LABEL_MAX];

	(void)state;
	roce_axis_fit(&axis, ROCE_QUANTITY_SIZE, true, 8, 1 << 20);
	assert_true(axis.min == 8 && axis.max == 1 << 20);
	assert_string_equal(axis.unit, "");
	roce_axis_label(&axis, axis.ticks[0], label);
	assert_string_equal(label, "8 B");
	roce_axis_label(&axis, 32768, label);
	assert_string_equal(label, "32 KiB");
	assert_in_range(axis.tick_count, 5, 8);
	for (unsigned int i = 0; i < axis.tick_count; i++)
		assert_true(exp2(round(log2(axis.ticks[i]))) == axis.ticks[i]);
}

static void a_close_axis_ends_near_the_data(void **state)
{
	struct roce_axis axis;

	(void)state;
	roce_axis_fit_close(&axis, ROCE_QUANTITY_SECONDS, 23e-6, 260e-6);
	assert_true(is_near(axis.min, 20e-6) && is_near(axis.max, 300e-6));
	assert_true(axis.is_log);
	assert_int_equal(axis.tick_count, 7); /* 20 30 50 70 100 200 300, in us */
	assert_string_equal(axis.unit, "us");
	roce_axis_fit_close(&axis, ROCE_QUANTITY_SECONDS, 300e-9, 100e-6);
	assert_string_equal(axis.unit, "us"); /* 0.3 to 100, not 300 to 100000 ns */
	/* whatever comes, the data is within, and ticks rise and are few */
	for (int e = -12; e < 12; e++) {
		for (int digit = 1; digit < 30; digit++) {
			double min = digit * pow(10, e) / 3, max = min * pow(1.7, digit);

			roce_axis_fit_close(&axis, ROCE_QUANTITY_RATIO, min, max);
			assert_true(axis.min <= min * (1 + 1e-9));
			assert_true(axis.max >= max * (1 - 1e-9));
			assert_true(axis.min >= min / 2.1 && axis.max <= max * 2.1);
			assert_in_range(axis.tick_count, 1, ROCE_AXIS_TICKS_MAX);
			for (unsigned int i = 1; i < axis.tick_count; i++)
				assert_true(axis.ticks[i] > axis.ticks[i - 1]);
		}
	}
}

static void values_have_three_digits_and_a_unit(void **state)
{
	static const struct {
		enum roce_quantity quantity;
		double value;
		const char *text;
	} cases[] = {
		{ROCE_QUANTITY_SECONDS, 0, "0"},
		{ROCE_QUANTITY_SECONDS, 88.48e-9, "88.5 ns"},
		{ROCE_QUANTITY_SECONDS, 335.54e-6, "336 us"},
		{ROCE_QUANTITY_SECONDS, 1e-3, "1.00 ms"},
		{ROCE_QUANTITY_BITS_RATE, 100e9, "100 Gb/s"},
		{ROCE_QUANTITY_BITS_RATE, 92.59e9, "92.6 Gb/s"},
		{ROCE_QUANTITY_BYTES, 37500, "37.5 kB"},
		{ROCE_QUANTITY_PERCENT, 12.345, "12.3%"},
		{ROCE_QUANTITY_COUNT, 12, "12.0"},
		{ROCE_QUANTITY_COUNT, 2984000, "2.98 M"},
		{ROCE_QUANTITY_SIZE, 65536, "64.0 KiB"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[ROCE_AXIS_LABEL_MAX];

		roce_quantity_format(cases[i].quantity, cases[i].value, text);
		assert_string_equal(text, cases[i].text);
	}
}

/* What only a damaged file or a lying peer says ends too. */
static void the_largest_numbers_have_an_axis(void **state)
{
	static const double values[] = {
		-INFINITY, -1.7e308, 0, 5e-324, 1e308, 1.7976931348623157e308, INFINITY};
	size_t count = sizeof(values) / sizeof(values[0]);
	struct roce_axis axis;

	(void)state;
	for (size_t i = 0; i < count * count; i++) {
		double min = values[i / count], max = values[i % count];

		roce_axis_fit_close(&axis, ROCE_QUANTITY_SECONDS, min, max);
		assert_true(axis.max > axis.min && isfinite(axis.max));
		assert_in_range(axis.tick_count, 1, ROCE_AXIS_TICKS_MAX);
		for (int is_log = 0; is_log < 2; is_log++) {
			roce_axis_fit(&axis, ROCE_QUANTITY_COUNT, is_log, min, max);
			assert_true(axis.max > axis.min && isfinite(axis.max));
			assert_in_range(axis.tick_count, 1, ROCE_AXIS_TICKS_MAX);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_start_at_zero),
		cmocka_unit_test(a_narrow_range_does_not_start_at_zero),
		cmocka_unit_test(nothing_and_one_value_have_an_axis),
		cmocka_unit_test(the_largest_numbers_have_an_axis),
		cmocka_unit_test(a_logarithmic_axis_counts_decades),
		cmocka_unit_test(a_logarithmic_axis_has_a_unit_for_all_decades),
		cmocka_unit_test(any_range_has_good_ticks),
		cmocka_unit_test(a_trimmed_axis_ends_with_the_data),
		cmocka_unit_test(sizes_double_and_have_their_own_units),
		cmocka_unit_test(a_close_axis_ends_near_the_data),
		cmocka_unit_test(values_have_three_digits_and_a_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
