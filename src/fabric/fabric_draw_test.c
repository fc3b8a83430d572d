/* SPDX-License-Identifier: BSD-2-Clause */
/* Draws and quantiles: exponential intervals by mean and tail, histogram buckets by their bounds.
 */
#include "fabric/draw.h"
#include "fabric/histogram.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#define DRAWS 100000u
#define MEAN  1000000u

/* The mean of n draws has a standard deviation of mean / sqrt(n): 0.3%. */
static void exponential__mean_and_tail(void **state)
{
	struct roce_prng prng = {42};
	double sum = 0;
	uint32_t above_mean = 0;
	uint32_t above_five = 0;

	(void)state;
	for (uint32_t i = 0; i < DRAWS; i++) {
		uint64_t x = roce_fabric_draw_exponential(&prng, MEAN);

		sum += (double)x;
		above_mean += x > MEAN;
		above_five += x > 5 * MEAN;
	}
	assert_true(sum / DRAWS > 0.985 * MEAN && sum / DRAWS < 1.015 * MEAN);
	assert_in_range(above_mean, 36000, 37600); /* 1/e: 36.8% */
	assert_in_range(above_five, 580, 770);	   /* e^-5: 0.67% */
}

/* A fixed point: the same on every compiler. */
static void exponential__is_reproducible(void **state)
{
	struct roce_prng prng = {1};
	uint64_t sum = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		sum = sum * 31 + roce_fabric_draw_exponential(&prng, MEAN);
	assert_int_equal(sum, UINT64_C(11075428897357563339));
}

static void histogram__quantiles_within_a_bucket(void **state)
{
	struct roce_fabric_histogram *h = calloc(1, sizeof(*h));
	static const double qs[] = {0, 0.01, 0.5, 0.99, 0.999, 1};

	(void)state;
	assert_non_null(h);
	assert_int_equal(roce_fabric_histogram_quantile(h, 0.5), 0);
	for (uint64_t v = 1; v <= 1000000; v++)
		roce_fabric_histogram_add(h, v);
	for (uint32_t i = 0; i < sizeof(qs) / sizeof(qs[0]); i++) {
		double exact = 1 + qs[i] * 999999;
		double got = (double)roce_fabric_histogram_quantile(h, qs[i]);

		assert_true(got >= exact - 1 && got <= exact * 1.032 + 1);
	}
	free(h);
}

static void histogram__ends_of_the_range(void **state)
{
	struct roce_fabric_histogram *h = calloc(1, sizeof(*h));

	(void)state;
	assert_non_null(h);
	roce_fabric_histogram_add(h, 0);
	assert_int_equal(roce_fabric_histogram_quantile(h, 1), 0);
	roce_fabric_histogram_add(h, UINT64_MAX);
	assert_int_equal(roce_fabric_histogram_quantile(h, 1), UINT64_MAX);
	assert_int_equal(roce_fabric_histogram_quantile(h, -1), 0);
	free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exponential__mean_and_tail),
		cmocka_unit_test(exponential__is_reproducible),
		cmocka_unit_test(histogram__quantiles_within_a_bucket),
		cmocka_unit_test(histogram__ends_of_the_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
