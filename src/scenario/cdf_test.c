/* SPDX-License-Identifier: BSD-2-Clause */
/* The built-in curves rise to 100%; what is drawn has the curve's mean and parts; files. */
#include "scenario/cdf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static struct roce_cdf cdf;
static struct roce_problems problems;

static void cdf__built_in(void **state)
{
	static const char *const names[] = {"web-search", "hadoop", "storage"};

	(void)state;
	for (size_t n = 0; n < 3; n++) {
		struct roce_prng prng = {n};
		uint64_t mean;
		uint64_t sum = 0;
		uint32_t below = 0;

		assert_true(roce_cdf_find(names[n], &cdf));
		assert_int_equal(cdf.points[cdf.count - 1].part, ROCE_CDF_ONE);
		for (uint32_t i = 1; i < cdf.count; i++) {
			assert_true(cdf.points[i].bytes > cdf.points[i - 1].bytes);
			assert_true(cdf.points[i].part > cdf.points[i - 1].part);
		}
		mean = roce_cdf_mean(&cdf);
		for (int i = 0; i < 200000; i++) {
			uint64_t bytes = roce_cdf_draw(&cdf, &prng);

			sum += bytes;
			below += bytes <= cdf.points[4].bytes;
		}
		assert_in_range(sum / 200000, mean * 95 / 100, mean * 105 / 100);
		assert_in_range(below, cdf.points[4].part * 2 - 1500,
				cdf.points[4].part * 2 + 1500);
	}
	assert_false(roce_cdf_find("nothing", &cdf));
}

/* Against what was published: the mean, and the shares that are quoted of each. */
static void cdf__as_published(void **state)
{
	static const struct {
		const char *name;
		uint64_t mean;
		uint64_t bytes[3];
		uint32_t percent[3];
	} rows[] = {
		{"web-search", 1711250, {80000, 1000000, 10000000}, {53, 70, 97}},
		{"hadoop", 120420, {700, 30000, 300000}, {50, 72, 95}},
		{"storage", 40869, {16000, 32000, 2000000}, {80, 90, 100}},
	};

	(void)state;
	for (size_t n = 0; n < 3; n++) {
		uint32_t found = 0;

		assert_true(roce_cdf_find(rows[n].name, &cdf));
		assert_int_equal(roce_cdf_mean(&cdf), rows[n].mean);
		for (uint32_t i = 0; i < cdf.count; i++)
			for (uint32_t k = 0; k < 3; k++)
				if (cdf.points[i].bytes == rows[n].bytes[k] &&
				    cdf.points[i].part / 1000 == rows[n].percent[k])
					found++;
		assert_int_equal(found, 3);
	}
}

static void cdf_parse__right(void **state)
{
	struct roce_prng prng = {1};

	(void)state;
	roce_problems_init(&problems, "c.csv");
	assert_true(roce_cdf_parse("# sizes\n1kB,50\n\n3kB, 100%\r\n", &cdf, &problems));
	assert_int_equal(cdf.count, 2);
	assert_int_equal(roce_cdf_mean(&cdf), 1500); /* half are 1000, half 1000 to 3000 */
	for (int i = 0; i < 1000; i++)
		assert_in_range(roce_cdf_draw(&cdf, &prng), 1000, 3000);
}

static void cdf_parse__each_mistake(void **state)
{
	static const struct {
		const char *text;
		const char *problem;
	} rows[] = {
		{"", "does not end at 100%"},
		{"1,50\n2,99\n", "does not end at 100%"},
		{"1,50\n1 2 3,\n", "c.csv:2: "},
		{"x,50\n", "c.csv:1: found \"x,50\""},
		{"5,50\n4,100\n", "c.csv:2: the curve falls"},
		{"5,50\n6,40\n", "c.csv:2: the curve falls"},
		{"5,101\n", "expected BYTES,PERCENT"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		roce_problems_init(&problems, "c.csv");
		assert_false(roce_cdf_parse(rows[i].text, &cdf, &problems));
		if (!strstr(problems.text[0], rows[i].problem))
			fail_msg("%s: %s", rows[i].text, problems.text[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cdf__built_in),
		cmocka_unit_test(cdf__as_published),
		cmocka_unit_test(cdf_parse__right),
		cmocka_unit_test(cdf_parse__each_mistake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
