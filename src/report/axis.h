/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Axes of charts: from the range of the data to round ticks and their labels. Quantities are in
 * base units (seconds, bytes, bits per second); labels carry the prefix that suits the range, the
 * same for all ticks of one axis, so that they can be compared at a glance.
 */
#ifndef ROCE_REPORT_AXIS_H
#define ROCE_REPORT_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#define ROCE_AXIS_TICKS_MAX 16u
#define ROCE_AXIS_LABEL_MAX 24u

enum roce_quantity {
	ROCE_QUANTITY_COUNT,	 /* 1.2 k, 3 M */
	ROCE_QUANTITY_SECONDS,	 /* 3 us */
	ROCE_QUANTITY_BYTES,	 /* 1000 bytes are 1 kB */
	ROCE_QUANTITY_BITS_RATE, /* Gb/s */
	ROCE_QUANTITY_PERCENT,	 /* of 100 */
	ROCE_QUANTITY_RATIO,	 /* a plain number */
	ROCE_QUANTITY_SIZE,	 /* bytes in powers of two: 64 B, 4 KiB; each label has its unit */
};

struct roce_axis {
	enum roce_quantity quantity;
	bool is_log;
	double min; /* of the drawn range; with is_log above 0 */
	double max; /* > min */
	unsigned int tick_count;
	double ticks[ROCE_AXIS_TICKS_MAX];
	double scale;	  /* base units to the unit of the labels */
	const char *unit; /* of the labels: "us", "Gb/s", "" */
};

/* Round limits around [min, max], which may be equal; on a logarithmic axis values of 0 and less
 * are not shown. */
void roce_axis_fit(struct roce_axis *axis, enum roce_quantity quantity, bool is_log, double min,
		   double max);

/* The same on a logarithmic axis that ends near the data: at 1, 2, 3, 5 or 7 times a power of ten,
 * with as many ticks as are read easily. For what spreads over less than some decades. */
void roce_axis_fit_close(struct roce_axis *axis, enum roce_quantity quantity, double min,
			 double max);

/* Ends a linear axis at `max`, where the data ends, in place of the round number behind it. */
void roce_axis_trim(struct roce_axis *axis, double max);

/* Where `value` lies: 0 at the start, 1 at the end, clamped to what is drawn. */
double roce_axis_at(const struct roce_axis *axis, double value);

/* The text of a tick in the unit of the axis, without the unit. */
void roce_axis_label(const struct roce_axis *axis, double value, char out[ROCE_AXIS_LABEL_MAX]);

/* A single value with three digits and its own unit: "12.5 us", "100 Gb/s", "0". */
void roce_quantity_format(enum roce_quantity quantity, double value, char out[ROCE_AXIS_LABEL_MAX]);

#endif
