/* SPDX-License-Identifier: BSD-2-Clause */
#include "verify/agent/parts.h"

#include <stdlib.h>

uint32_t va_parts_rates(const struct va_parts *parts, double rates[VA_PARTS])
{
	uint32_t n = 0;

	for (uint32_t i = 1; i < parts->count; i++) {
		const struct va_parts_mark *from = &parts->marks[i - 1];
		const struct va_parts_mark *to = &parts->marks[i];
		roce_ns_t ns = to->at - from->at;
		roce_ns_t length = (ns + parts->part_ns / 2) / parts->part_ns;

		do
			rates[n++] = (double)(to->done - from->done) * 1e9 / (double)ns;
		while (n < VA_PARTS && length-- > 1);
		if (n == VA_PARTS)
			break;
	}
	return n;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

double va_parts_median(double *rates, uint32_t count)
{
	if (count < VA_PARTS_MIN)
		return 0;
	qsort(rates, count, sizeof(*rates), compare);
	return (rates[(count - 1) / 2] + rates[count / 2]) / 2;
}
