/* SPDX-License-Identifier: BSD-2-Clause */
/* Quantities as people write them, those that mean nothing, and the way back for random values. */
#include "scenario/unit.h"

#include "base/prng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

static void expect(enum roce_unit unit, const char *text, uint64_t value)
{
	uint64_t got = 99;

	if (roce_unit_parse(unit, text, &got) || got != value)
		fail_msg("\"%s\": got %llu", text, (unsigned long long)got);
}

static void refuse(enum roce_unit unit, const char *text, int error)
{
	uint64_t got = 99;
	int r = roce_unit_parse(unit, text, &got);

	if (r != -error || got != 99)
		fail_msg("\"%s\": %d, got %llu", text, r, (unsigned long long)got);
}

static void unit_parse__rates(void **state)
{
	(void)state;
	expect(ROCE_UNIT_RATE, "100G", 100000000000);
	expect(ROCE_UNIT_RATE, "100Gbps", 100000000000);
	expect(ROCE_UNIT_RATE, "25 Gb/s", 25000000000);
	expect(ROCE_UNIT_RATE, " 2.5Gbit/s ", 2500000000);
	expect(ROCE_UNIT_RATE, "1.6Tb/s", 1600000000000);
	expect(ROCE_UNIT_RATE, "20Mb/s", 20000000);
	expect(ROCE_UNIT_RATE, "0G", 0);
	expect(ROCE_UNIT_RATE_MBPS, "5", 5000000);
	expect(ROCE_UNIT_RATE_MBPS, "5Gb/s", 5000000000);
	refuse(ROCE_UNIT_RATE, "100", EDOM);
	refuse(ROCE_UNIT_RATE, "0", EDOM);
	refuse(ROCE_UNIT_RATE, "100GB", EDOM);
	refuse(ROCE_UNIT_RATE, "100 m", EDOM);
	refuse(ROCE_UNIT_RATE, "100G G", EDOM);
	refuse(ROCE_UNIT_RATE, "fast", EINVAL);
	refuse(ROCE_UNIT_RATE, "-1G", EINVAL);
	refuse(ROCE_UNIT_RATE, "", EINVAL);
	refuse(ROCE_UNIT_RATE, ".G", EINVAL);
	refuse(ROCE_UNIT_RATE, "1e30G", ERANGE);
	refuse(ROCE_UNIT_RATE, "99999999999999999999G", ERANGE);
}

static void unit_parse__times_and_lengths(void **state)
{
	(void)state;
	expect(ROCE_UNIT_TIME, "500ns", 500000);
	expect(ROCE_UNIT_TIME, "1us", 1000000);
	expect(ROCE_UNIT_TIME, "1.5 us", 1500000);
	expect(ROCE_UNIT_TIME, "55\xc2\xb5s", 55000000);
	expect(ROCE_UNIT_TIME, "2.000000000s", 2000000000000);
	expect(ROCE_UNIT_TIME, "0.0005ns", 1); /* to the nearest */
	expect(ROCE_UNIT_TIME, "0", 0);
	expect(ROCE_UNIT_TIME_US, "300", 300000000);
	expect(ROCE_UNIT_TIME_US, "4us", 4000000);
	expect(ROCE_UNIT_LENGTH, "10m", 10000);
	expect(ROCE_UNIT_LENGTH, "1.5km", 1500000);
	refuse(ROCE_UNIT_TIME, "5", EDOM);
	refuse(ROCE_UNIT_TIME, "10m", EDOM);
	refuse(ROCE_UNIT_TIME, "1e-13s", ERANGE);
	refuse(ROCE_UNIT_TIME, "1e-4000s", ERANGE);
	refuse(ROCE_UNIT_LENGTH, "10", EDOM);
}

static void unit_parse__sizes_and_numbers(void **state)
{
	(void)state;
	expect(ROCE_UNIT_BYTES, "64KiB", 65536);
	expect(ROCE_UNIT_BYTES, "12MB", 12000000);
	expect(ROCE_UNIT_BYTES, "4096", 4096);
	expect(ROCE_UNIT_BYTES, "0.5MiB", 524288);
	expect(ROCE_UNIT_COUNT, "16", 16);
	expect(ROCE_UNIT_FRACTION, "5%", 50000000000000);
	expect(ROCE_UNIT_FRACTION, "0.05", 50000000000000);
	expect(ROCE_UNIT_FRACTION, "1/256", 3906250000000);
	expect(ROCE_UNIT_FRACTION, "1e-12", 1000);
	expect(ROCE_UNIT_FRACTION, "1", ROCE_FRACTION_ONE);
	expect(ROCE_UNIT_PERCENT, "50", ROCE_FRACTION_ONE / 2);
	expect(ROCE_UNIT_FREQUENCY, "200k/s", 200000000);
	expect(ROCE_UNIT_FREQUENCY, "0.5", 500);
	refuse(ROCE_UNIT_BYTES, "64K", EDOM); /* 1000 or 1024? */
	refuse(ROCE_UNIT_BYTES, "12Mb", EDOM);
	refuse(ROCE_UNIT_COUNT, "1.5", EINVAL);
	refuse(ROCE_UNIT_COUNT, "3 hosts", EDOM);
	refuse(ROCE_UNIT_FRACTION, "1/0", EDOM);
	refuse(ROCE_UNIT_FRACTION, "1e-16", ERANGE);
}

static void unit_format__short(void **state)
{
	static const struct {
		enum roce_unit unit;
		uint64_t value;
		const char *text;
	} rows[] = {
		{ROCE_UNIT_RATE, 100000000000, "100Gb/s"},
		{ROCE_UNIT_RATE, 2500000000, "2.5Gb/s"},
		{ROCE_UNIT_TIME, 1500000, "1.5us"},
		{ROCE_UNIT_TIME, 88480, "88.48ns"},
		{ROCE_UNIT_BYTES, 65536, "64KiB"},
		{ROCE_UNIT_BYTES, 12000000, "12MB"},
		{ROCE_UNIT_BYTES, 1048, "1048B"},
		{ROCE_UNIT_LENGTH, 10000, "10m"},
		{ROCE_UNIT_FRACTION, 200000000000000, "20%"},
		{ROCE_UNIT_FRACTION, 1000, "1e-12"},
		{ROCE_UNIT_FREQUENCY, 200000000, "200k/s"},
		{ROCE_UNIT_COUNT, 7, "7"},
		{ROCE_UNIT_TIME, 0, "0"},
	};
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		roce_unit_format(rows[i].unit, rows[i].value, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
	}
}

/* What is printed means the same number again. */
static void unit_format__and_back(void **state)
{
	struct roce_prng prng = {20};
	char text[64];

	(void)state;
	for (int i = 0; i < 200000; i++) {
		enum roce_unit unit = (enum roce_unit)roce_prng_below(&prng, ROCE_UNIT_LAST + 1);
		uint64_t value = roce_prng_next(&prng) >> (14 + roce_prng_below(&prng, 50));
		uint64_t got = 0;

		if (i % 3 == 0)
			value *= 1000;
		if (unit == ROCE_UNIT_RATE && value == 0)
			continue;
		roce_unit_format(unit, value, text, sizeof(text));
		if (roce_unit_parse(unit, text, &got) || got != value)
			fail_msg("seed 20, %d: unit %d, %llu is \"%s\" is %llu", i, unit,
				 (unsigned long long)value, text, (unsigned long long)got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unit_parse__rates),
		cmocka_unit_test(unit_parse__times_and_lengths),
		cmocka_unit_test(unit_parse__sizes_and_numbers),
		cmocka_unit_test(unit_format__short),
		cmocka_unit_test(unit_format__and_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
