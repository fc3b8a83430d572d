/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Quantities as people write them ("100G", "25 Gb/s", "10m", "1.5us", "64KiB", "5%", "1e-9") to
 * integers and back. Only integer arithmetic, so a scenario means the same number for every
 * compiler; a value that is finer than the integer's unit is rounded to the nearest.
 *
 * K, M and G alone are refused for bytes: some mean 1000, others 1024.
 */
#ifndef ROCE_SCENARIO_UNIT_H
#define ROCE_SCENARIO_UNIT_H

#include <stddef.h>
#include <stdint.h>

/* What an integer counts. The last column names the number without a unit, where that is allowed.
 */
enum roce_unit {
	ROCE_UNIT_COUNT,     /* plain numbers */
	ROCE_UNIT_RATE,	     /* bit/s */
	ROCE_UNIT_RATE_MBPS, /* bit/s; a bare number is Mb/s, as in NVIDIA's parameters */
	ROCE_UNIT_TIME,	     /* picoseconds; 0 needs no unit */
	ROCE_UNIT_TIME_US,   /* picoseconds; a bare number is microseconds */
	ROCE_UNIT_BYTES,     /* bytes, also bare */
	ROCE_UNIT_LENGTH,    /* millimetres of cable; 0 needs no unit */
	ROCE_UNIT_FRACTION,  /* in 10^-15; "5%", "0.05", "1/256" */
	ROCE_UNIT_PERCENT,   /* in 10^-15; a bare number is a percentage */
	ROCE_UNIT_FREQUENCY, /* millihertz; "200k/s", "200 kHz"; a bare number is per second */
	ROCE_UNIT_LAST = ROCE_UNIT_FREQUENCY,
};

#define ROCE_FRACTION_ONE UINT64_C(1000000000000000)

#define ROCE_PS_PER_NS	  UINT64_C(1000)
#define ROCE_PS_PER_US	  UINT64_C(1000000)
#define ROCE_PS_PER_MS	  UINT64_C(1000000000)
#define ROCE_PS_PER_S	  UINT64_C(1000000000000)

/* Light in fibre and copper: 5 ns a metre. */
#define ROCE_PS_PER_MM UINT64_C(5)

/* 0; -EINVAL: no number; -EDOM: another unit, or none where one is needed; -ERANGE: too large. */
int roce_unit_parse(enum roce_unit unit, const char *text, uint64_t *out_value)
	__attribute__((warn_unused_result));

/* What should have stood there: "a rate, as 100G or 25Gb/s". */
const char *roce_unit_expected(enum roce_unit unit);

/* The shortest usual form, which roce_unit_parse() takes back ("100Gb/s", "1.5us"). */
void roce_unit_format(enum roce_unit unit, uint64_t value, char *out, size_t size);

#endif
