/* SPDX-License-Identifier: BSD-2-Clause */
/* Round numbers and units; see axis.h. */
#include "report/axis.h"

#include <math.h>
#include <stdio.h>

#define TICKS_WANTED 5.0
#define SIZE_TICKS   7
#define CLOSE_TICKS  9
#define LABEL_MAX    999999.0
/* Whatever a damaged file says, steps and logarithms stay numbers. */
#define VALUE_MAX 1e300
#define VALUE_MIN 1e-300

struct prefix {
	double scale; /* base units in one */
	const char *text;
};

static const struct prefix count_units[] = {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}};
static const struct prefix second_units[] = {
	{1e-12, "ps"}, {1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}};
static const struct prefix byte_units[] = {{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}};
static const struct prefix size_units[] = {
	{1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}};
static const struct prefix rate_units[] = {
	{1, "b/s"}, {1e3, "kb/s"}, {1e6, "Mb/s"}, {1e9, "Gb/s"}, {1e12, "Tb/s"}};
static const struct prefix percent_units[] = {{1, "%"}};
static const struct prefix ratio_units[] = {{1, ""}};

/* The largest unit of which `value` is at least one, or the smallest. */
static struct prefix unit_for(enum roce_quantity quantity, double value)
{
	const struct prefix *units = ratio_units;
	size_t count = 1;

#define TAKE(table) (units = (table), count = sizeof(table) / sizeof((table)[0]))
	switch (quantity) {
	case ROCE_QUANTITY_COUNT:
		TAKE(count_units);
		break;
	case ROCE_QUANTITY_SECONDS:
		TAKE(second_units);
		break;
	case ROCE_QUANTITY_BYTES:
		TAKE(byte_units);
		break;
	case ROCE_QUANTITY_BITS_RATE:
		TAKE(rate_units);
		break;
	case ROCE_QUANTITY_PERCENT:
		TAKE(percent_units);
		break;
	case ROCE_QUANTITY_RATIO:
		TAKE(ratio_units);
		break;
	case ROCE_QUANTITY_SIZE:
		TAKE(size_units);
		break;
	}
#undef TAKE
	for (size_t i = count; i-- > 1;) {
		if (fabs(value) >= units[i].scale * 0.9999)
			return units[i];
	}
	return units[0];
}

/* 1, 2 or 5 times a power of ten, so that about TICKS_WANTED steps make `span`. */
static double round_step(double span)
{
	double rough = span / TICKS_WANTED;
	double power = pow(10, floor(log10(rough)));
	double digit = rough / power;

	if (digit < 1.5)
		return power;
	if (digit < 3.5)
		return 2 * power;
	return digit < 7.5 ? 5 * power : 10 * power;
}

static void fit_linear(struct roce_axis *axis, double min, double max)
{
	double step;

	if (min > 0 && (min < max * 0.6 || max <= min))
		min = 0; /* lengths are compared from zero, and one alone is */
	if (max <= min)
		max = min + (min != 0 ? fabs(min) : 1);
	max = fmax(max, min + VALUE_MIN);
	step = round_step(max - min);
	axis->min = floor(min / step + 1e-9) * step;
	axis->max = ceil(max / step - 1e-9) * step;
	for (int i = 0; axis->tick_count < ROCE_AXIS_TICKS_MAX; i++) {
		double at = axis->min + i * step;

		if (at > axis->max + step / 2)
			break;
		axis->ticks[axis->tick_count++] = fabs(at) < step / 1e6 ? 0 : at;
	}
}

/* Sizes double, everything else is counted in tens. */
static void fit_log(struct roce_axis *axis, double min, double max)
{
	bool is_size = axis->quantity == ROCE_QUANTITY_SIZE;
	double base = is_size ? 2 : 10;
	int wanted = is_size ? SIZE_TICKS : (int)(ROCE_AXIS_TICKS_MAX - 1);
	int first, last, each;

	if (max <= 0)
		max = 1;
	if (min <= 0 || min > max)
		min = max / 1e3;
	min = fmax(min, VALUE_MIN);
	max = fmax(max, VALUE_MIN);
	first = (int)floor(log(min) / log(base) + 1e-9);
	last = (int)ceil(log(max) / log(base) - 1e-9);
	if (last == first)
		last++;
	each = (last - first) / wanted + 1;
	axis->min = pow(base, first);
	axis->max = pow(base, last);
	for (int e = first; e <= last; e += each)
		axis->ticks[axis->tick_count++] = pow(base, e);
}

/* 1, 2, 3, 5, 7, 10, 20, ... by their number. */
#define GRID 5

static double grid_at(int number)
{
	static const double digits[GRID] = {1, 2, 3, 5, 7};
	int decade = (int)floor((double)number / GRID);

	return digits[number - decade * GRID] * pow(10, decade);
}

static int grid_below(double value)
{
	int number = GRID * (int)floor(log10(value) + 1e-9);

	while (grid_at(number + 1) <= value * (1 + 1e-9))
		number++;
	return number;
}

/* When there would be too many, those of 1 and 3 remain, then those of 1. */
static bool is_tick(int number, int span)
{
	int digit = number - GRID * (int)floor((double)number / GRID);

	return span <= CLOSE_TICKS || digit == 0 || (digit == 2 && span <= 2 * CLOSE_TICKS);
}

/* Of what is to be shown; no number at all is as large as can be. */
static double within(double value)
{
	return fmax(-VALUE_MAX, fmin(value, VALUE_MAX));
}

/* The unit that suits `value`. */
static void set_unit(struct roce_axis *axis, double value)
{
	struct prefix unit = unit_for(axis->quantity, value);

	if (axis->quantity == ROCE_QUANTITY_SIZE)
		unit = ratio_units[0]; /* each label has its own */
	axis->scale = 1 / unit.scale;
	axis->unit = unit.text;
}

/* Of decades that of the first one, or a larger one where the last would be 1e+06 and more: 0.01
 * to 10000 us reads better. Counts are counted, and have no thousandths. */
static double value_of_unit(const struct roce_axis *axis)
{
	double value = axis->min;

	while (axis->quantity != ROCE_QUANTITY_COUNT && value < axis->max &&
	       axis->max / unit_for(axis->quantity, value).scale > LABEL_MAX)
		value *= 1e3;
	return value;
}

void roce_axis_fit_close(struct roce_axis *axis, enum roce_quantity quantity, double min,
			 double max)
{
	int first, last;

	*axis = (struct roce_axis){.quantity = quantity, .is_log = true};
	min = within(min);
	max = within(max);
	if (max <= 0)
		max = 1;
	if (min <= 0 || min > max)
		min = max / 1e3;
	min = fmax(min, VALUE_MIN);
	max = fmax(max, VALUE_MIN);
	first = grid_below(min);
	last = grid_below(max);
	if (grid_at(last) < max * (1 - 1e-9) || last == first)
		last++;
	axis->min = grid_at(first);
	axis->max = grid_at(last);
	for (int i = first; i <= last && axis->tick_count < ROCE_AXIS_TICKS_MAX; i++) {
		if (is_tick(i, last - first))
			axis->ticks[axis->tick_count++] = grid_at(i);
	}
	/* labels get neither long nor small when those in the middle are of one or two digits */
	set_unit(axis, sqrt(axis->min * axis->max));
}

void roce_axis_fit(struct roce_axis *axis, enum roce_quantity quantity, bool is_log, double min,
		   double max)
{
	*axis = (struct roce_axis){.quantity = quantity, .is_log = is_log};
	if (is_log)
		fit_log(axis, within(min), within(max));
	else
		fit_linear(axis, within(min), within(max));
	/* decades are counted up from 1, other ranges down from their largest */
	if (is_log)
		set_unit(axis, value_of_unit(axis));
	else
		set_unit(axis, fabs(axis->min) > fabs(axis->max) ? axis->min : axis->max);
}

void roce_axis_trim(struct roce_axis *axis, double max)
{
	if (axis->is_log || max <= axis->min || max >= axis->max)
		return;
	axis->max = max;
	while (axis->tick_count > 1 && axis->ticks[axis->tick_count - 1] > max)
		axis->tick_count--;
}

double roce_axis_at(const struct roce_axis *axis, double value)
{
	double at;

	if (axis->is_log) {
		if (value <= axis->min)
			return 0;
		at = log10(value / axis->min) / log10(axis->max / axis->min);
	} else {
		at = (value - axis->min) / (axis->max - axis->min);
	}
	return at < 0 ? 0 : at > 1 ? 1 : at;
}

void roce_axis_label(const struct roce_axis *axis, double value, char out[ROCE_AXIS_LABEL_MAX])
{
	if (axis->quantity == ROCE_QUANTITY_SIZE) {
		struct prefix unit = unit_for(axis->quantity, value);

		snprintf(out, ROCE_AXIS_LABEL_MAX, "%.4g %s", value / unit.scale, unit.text);
		return;
	}
	snprintf(out, ROCE_AXIS_LABEL_MAX, "%.6g", value * axis->scale);
}

void roce_quantity_format(enum roce_quantity quantity, double value, char out[ROCE_AXIS_LABEL_MAX])
{
	struct prefix unit = unit_for(quantity, value);
	double scaled = value / unit.scale;
	/* three digits, and never an exponent for what has a larger unit */
	int digits = fabs(scaled) >= 99.95 || scaled == 0 ? 0 : fabs(scaled) >= 9.995 ? 1 : 2;

	if (value == 0)
		snprintf(out, ROCE_AXIS_LABEL_MAX, "0");
	else
		snprintf(out, ROCE_AXIS_LABEL_MAX, "%.*f%s%s", digits, scaled,
			 unit.text[0] && unit.text[0] != '%' ? " " : "", unit.text);
}
