/* SPDX-License-Identifier: BSD-2-Clause */
/* Samples keep their peaks and means while the interval doubles. */
#include "record/series.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define INTERVAL_PS 1000000u /* 1 us */

/* Bytes that are 1 Gb/s for one first interval. */
#define BYTES_1G 125u

static void rates_follow_from_bytes(void **state)
{
	struct roce_series s;

	(void)state;
	assert_int_equal(roce_series_init(&s, 2, INTERVAL_PS, 5), 0);
	assert_int_equal(roce_series_next_ps(&s), 5 + INTERVAL_PS);
	roce_series_put(&s, 0, 77, BYTES_1G);
	roce_series_put(&s, 1, 0, 0);
	roce_series_advance(&s);
	roce_series_put(&s, 0, 78, 4 * BYTES_1G);
	roce_series_put(&s, 1, 0, BYTES_1G);
	roce_series_advance(&s);
	assert_int_equal(roce_series_of(&s, 0)[0].queue_bytes, 77);
	assert_int_equal(roce_series_of(&s, 0)[0].rate_bps, 1000000000);
	assert_int_equal(roce_series_of(&s, 0)[1].rate_bps, 3000000000);
	assert_int_equal(roce_series_of(&s, 1)[0].rate_bps, 0);
	assert_int_equal(roce_series_of(&s, 1)[1].rate_bps, 1000000000);
	roce_series_fini(&s);
}

/* Ten times what fits: one peak and the mean rate are still there, times stay right. */
static void long_runs_become_coarser(void **state)
{
	struct roce_series s;
	uint64_t tx = 0, now_ps = 0;
	uint32_t peak = 0;
	double sum = 0;

	(void)state;
	assert_int_equal(roce_series_init(&s, 1, INTERVAL_PS, 0), 0);
	for (uint32_t i = 0; now_ps < UINT64_C(10) * ROCE_SERIES_SAMPLES_MAX * INTERVAL_PS; i++) {
		uint64_t due = roce_series_next_ps(&s);

		assert_true(due > now_ps);
		tx += (due - now_ps) / INTERVAL_PS * BYTES_1G;
		now_ps = due;
		roce_series_put(&s, 0, i == 300 ? 1000 : 10, tx);
		roce_series_advance(&s);
	}
	assert_true(s.count < ROCE_SERIES_SAMPLES_MAX);
	assert_int_equal(s.interval_ps, 16 * INTERVAL_PS);
	assert_int_equal(roce_series_next_ps(&s), now_ps + s.interval_ps);
	for (uint32_t i = 0; i < s.count; i++) {
		const struct roce_series_sample *sample = &roce_series_of(&s, 0)[i];

		peak = sample->queue_bytes > peak ? sample->queue_bytes : peak;
		sum += (double)sample->rate_bps;
	}
	assert_int_equal(peak, 1000);
	assert_true(sum / s.count > 0.999e9 && sum / s.count < 1.001e9);
	roce_series_fini(&s);
}

static void many_ports_have_fewer_samples(void **state)
{
	struct roce_series s;

	(void)state;
	assert_int_equal(roce_series_init(&s, 1000000, INTERVAL_PS, 0), 0);
	assert_in_range(s.capacity, 2, 64);
	assert_true((size_t)s.capacity * 1000000 * sizeof(*s.samples) <= ROCE_SERIES_BYTES_MAX);
	roce_series_fini(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_follow_from_bytes),
		cmocka_unit_test(long_runs_become_coarser),
		cmocka_unit_test(many_ports_have_fewer_samples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
