/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A number is read as digits and a power of ten, then scaled by its suffix; nothing is ever a
 * double. Suffixes stand in one table for both directions: the first of its unit whose factor fits
 * is the one that is printed.
 */
#include "scenario/unit.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* A quantity without a suffix counts as if it had the empty one. */
struct suffix {
	const char *text;
	uint64_t factor; /* of the unit's integer */
	bool is_printed;
};

/* Rates: bits a second. */
#define RATE_SUFFIXES                                                                            \
	{"Tb/s", 1000000000000, true}, {"Tbps", 1000000000000, false},                           \
		{"Tbit/s", 1000000000000, false}, {"Tbit", 1000000000000, false},                \
		{"T", 1000000000000, false}, {"Gb/s", 1000000000, true},                         \
		{"Gbps", 1000000000, false}, {"Gbit/s", 1000000000, false},                      \
		{"Gbit", 1000000000, false}, {"G", 1000000000, false}, {"Mb/s", 1000000, true},  \
		{"Mbps", 1000000, false}, {"Mbit/s", 1000000, false}, {"Mbit", 1000000, false},  \
		{"M", 1000000, false}, {"kb/s", 1000, true}, {"kbps", 1000, false},              \
		{"Kbps", 1000, false}, {"Kb/s", 1000, false}, {"kbit/s", 1000, false},           \
		{"kbit", 1000, false}, {"k", 1000, false}, {"K", 1000, false}, {"b/s", 1, true}, \
		{"bps", 1, false},                                                               \
	{                                                                                        \
		"bit/s", 1, false                                                                \
	}

#define TIME_SUFFIXES                                                                           \
	{"s", ROCE_PS_PER_S, true}, {"ms", ROCE_PS_PER_MS, true}, {"us", ROCE_PS_PER_US, true}, \
		{"\xc2\xb5s", ROCE_PS_PER_US, false}, {"\xce\xbcs", ROCE_PS_PER_US, false},     \
		{"ns", ROCE_PS_PER_NS, true}, {"ps", 1, true}, {"sec", ROCE_PS_PER_S, false},   \
	{                                                                                       \
		"min", 60 * ROCE_PS_PER_S, false                                                \
	}

static const struct suffix count_suffixes[] = {{"", 1, true}, {NULL, 0, false}};

static const struct suffix rate_suffixes[] = {RATE_SUFFIXES, {NULL, 0, false}};

static const struct suffix rate_mbps_suffixes[] = {
	RATE_SUFFIXES, {"", 1000000, false}, {NULL, 0, false}};

static const struct suffix time_suffixes[] = {TIME_SUFFIXES, {NULL, 0, false}};

static const struct suffix time_us_suffixes[] = {
	TIME_SUFFIXES, {"", ROCE_PS_PER_US, false}, {NULL, 0, false}};

static const struct suffix bytes_suffixes[] = {
	{"GB", 1000000000, true}, {"GiB", UINT64_C(1) << 30, true},
	{"MB", 1000000, true},	  {"MiB", UINT64_C(1) << 20, true},
	{"kB", 1000, true},	  {"KB", 1000, false},
	{"KiB", 1024, true},	  {"kiB", 1024, false},
	{"B", 1, true},		  {"bytes", 1, false},
	{"byte", 1, false},	  {"TB", 1000000000000, false},
	{"", 1, false},		  {NULL, 0, false},
};

static const struct suffix length_suffixes[] = {
	{"km", 1000000, true}, {"m", 1000, true}, {"cm", 10, false},
	{"mm", 1, true},       {NULL, 0, false},
};

static const struct suffix fraction_suffixes[] = {
	{"%", ROCE_FRACTION_ONE / 100, true},
	{"", ROCE_FRACTION_ONE, true},
	{"ppm", ROCE_FRACTION_ONE / 1000000, false},
	{NULL, 0, false},
};

static const struct suffix percent_suffixes[] = {
	{"%", ROCE_FRACTION_ONE / 100, true},
	{"", ROCE_FRACTION_ONE / 100, false},
	{NULL, 0, false},
};

static const struct suffix frequency_suffixes[] = {
	{"M/s", UINT64_C(1000000000), true},
	{"k/s", UINT64_C(1000000), true},
	{"/s", 1000, true},
	{"MHz", UINT64_C(1000000000), false},
	{"kHz", UINT64_C(1000000), false},
	{"Hz", 1000, false},
	{"M", UINT64_C(1000000000), false},
	{"k", UINT64_C(1000000), false},
	{"", 1000, false},
	{NULL, 0, false},
};

static const struct unit_facts {
	const struct suffix *suffixes;
	const char *expected;
} units[] = {
	[ROCE_UNIT_COUNT] = {count_suffixes, "a whole number"},
	[ROCE_UNIT_RATE] = {rate_suffixes, "a rate with its unit, as 100G or 25Gb/s"},
	[ROCE_UNIT_RATE_MBPS] = {rate_mbps_suffixes, "a rate in Mb/s, or with its unit, as 40Mb/s"},
	[ROCE_UNIT_TIME] = {time_suffixes, "a time with its unit, as 500ns, 1.5us or 10ms"},
	[ROCE_UNIT_TIME_US] = {time_us_suffixes,
			       "a time in microseconds, or with its unit, as 300us"},
	[ROCE_UNIT_BYTES] = {bytes_suffixes, "a size in bytes, or with its unit, as 64KiB or 12MB"},
	[ROCE_UNIT_LENGTH] = {length_suffixes, "a length with its unit, as 10m or 2km"},
	[ROCE_UNIT_FRACTION] = {fraction_suffixes, "a fraction, as 5%, 0.05, 1e-9 or 1/256"},
	[ROCE_UNIT_PERCENT] = {percent_suffixes, "a percentage, as 5% or 5"},
	[ROCE_UNIT_FREQUENCY] = {frequency_suffixes, "a number per second, as 200k/s or 200000"},
};

#define EXPONENT_MAX 40

struct number {
	uint64_t digits;
	int exponent; /* of ten */
	uint64_t divisor;
	bool is_cut; /* there were more digits than fit: too fine to matter where things are
			measured */
};

static const char *take_digits(const char *p, struct number *n, bool is_fraction)
{
	for (; isdigit((unsigned char)*p); p++) {
		uint64_t digit = (uint64_t)(*p - '0');

		n->is_cut = n->is_cut || n->digits > (UINT64_MAX - digit) / 10;
		if (n->is_cut) {
			n->exponent += !is_fraction;
			continue;
		}
		n->digits = n->digits * 10 + digit;
		n->exponent -= is_fraction;
	}
	return p;
}

static const char *take_exponent(const char *p, struct number *n)
{
	const char *q = p + 1;
	int sign = 1;
	int value = 0;

	if (*q == '+' || *q == '-')
		sign = *q++ == '-' ? -1 : 1;
	if (!isdigit((unsigned char)*q))
		return p;
	for (; isdigit((unsigned char)*q); q++)
		value = value < 1000 ? value * 10 + (*q - '0') : value;
	n->exponent += sign * value;
	return q;
}

/* "1/256": only where nothing else follows the second number. */
static const char *take_divisor(const char *p, struct number *n)
{
	const char *q = p + 1;
	uint64_t value = 0;

	for (; isdigit((unsigned char)*q) && value < UINT32_MAX; q++)
		value = value * 10 + (uint64_t)(*q - '0');
	if (value == 0 || *q)
		return p;
	n->divisor = value;
	return q;
}

static int take_number(const char **p, enum roce_unit unit, struct number *out)
{
	struct number n = {.divisor = 1};
	const char *start = *p;
	const char *q = start;

	q = take_digits(q, &n, false);
	if (*q == '.' && (isdigit((unsigned char)q[1]) || q > start))
		q = take_digits(q + 1, &n, true);
	if (q == start || (q == start + 1 && *start == '.'))
		return -EINVAL;
	if (*q == 'e' || *q == 'E')
		q = take_exponent(q, &n);
	if (*q == '/' && unit == ROCE_UNIT_FRACTION)
		q = take_divisor(q, &n);
	*p = q;
	*out = n;
	return 0;
}

/* digits * 10^exponent * factor / divisor, to the nearest. */
static int scale(const struct number *n, uint64_t factor, uint64_t *out)
{
	unsigned __int128 v = n->digits;
	unsigned __int128 divisor = n->divisor;
	int exponent = n->exponent;

	if (v == 0) {
		*out = 0;
		return 0;
	}
	if (exponent > EXPONENT_MAX)
		return -ERANGE;
	v *= factor; /* 64 bits each */
	for (; exponent > 0; exponent--) {
		if (v > (unsigned __int128)UINT64_MAX * divisor)
			return -ERANGE;
		v *= 10;
	}
	/* Beyond these digits the quotient is 0 in any case. */
	for (; exponent < 0; exponent++) {
		if (divisor > (unsigned __int128)UINT64_MAX * UINT32_MAX) {
			*out = 0;
			return 0;
		}
		divisor *= 10;
	}
	v = (v + divisor / 2) / divisor;
	if (v > UINT64_MAX)
		return -ERANGE;
	*out = (uint64_t)v;
	return 0;
}

static const struct suffix *find_suffix(enum roce_unit unit, const char *text)
{
	for (const struct suffix *s = units[unit].suffixes; s->text; s++) {
		if (strcmp(s->text, text) == 0)
			return s;
	}
	return NULL;
}

int roce_unit_parse(enum roce_unit unit, const char *text, uint64_t *out_value)
{
	const struct suffix *suffix;
	struct number n;
	uint64_t value;
	char rest[8];
	size_t length;
	int r;

	while (*text == ' ')
		text++;
	r = take_number(&text, unit, &n);
	if (r)
		return r;
	while (*text == ' ')
		text++;
	length = strcspn(text, " ");
	if (length >= sizeof(rest) || text[length + strspn(text + length, " ")])
		return -EDOM;
	memcpy(rest, text, length);
	rest[length] = '\0';
	suffix = find_suffix(unit, rest);
	if (!suffix) {
		if (length || n.digits || unit == ROCE_UNIT_RATE)
			return -EDOM;
		*out_value = 0;
		return 0;
	}
	r = scale(&n, suffix->factor, &value);
	if (r)
		return r;
	/* A count of 1.5 is a mistake, half a picosecond is not worth one; but no number that is
	 * not 0 becomes 0. */
	if (unit == ROCE_UNIT_COUNT && n.exponent < 0)
		return -EINVAL;
	if (unit == ROCE_UNIT_COUNT && n.is_cut)
		return -ERANGE;
	if (value == 0 && n.digits)
		return -ERANGE;
	*out_value = value;
	return 0;
}

const char *roce_unit_expected(enum roce_unit unit)
{
	return units[unit].expected;
}

/* No more than three decimals. */
static bool is_short(uint64_t value, uint64_t factor)
{
	return value % factor == 0 || (factor % 1000 == 0 && value % (factor / 1000) == 0);
}

static void format_as(uint64_t value, uint64_t factor, const char *suffix, char *out, size_t size)
{
	uint64_t thousandths = factor >= 1000 ? value % factor / (factor / 1000) : 0;
	char decimals[8] = "";

	if (thousandths) {
		snprintf(decimals, sizeof(decimals), ".%03u", (unsigned int)thousandths);
		for (size_t last = 3; decimals[last] == '0'; last--)
			decimals[last] = '\0';
	}
	snprintf(out, size, "%llu%s%s", (unsigned long long)(value / factor), decimals, suffix);
}

/* digits and a power of ten, where one is 10^ones of the unit. */
static void format_exponent(uint64_t value, int ones, char *out, size_t size)
{
	int exponent = -ones;

	for (; value % 10 == 0; exponent++)
		value /= 10;
	snprintf(out, size, "%llue%d", (unsigned long long)value, exponent);
}

void roce_unit_format(enum roce_unit unit, uint64_t value, char *out, size_t size)
{
	char best[48] = "";
	char text[48];

	for (const struct suffix *s = units[unit].suffixes; s->text && value; s++) {
		if (!s->is_printed || value < s->factor || !is_short(value, s->factor))
			continue;
		format_as(value, s->factor, s->text, text, sizeof(text));
		if (!*best || strlen(text) < strlen(best))
			memcpy(best, text, sizeof(best));
	}
	if (value == 0)
		snprintf(best, sizeof(best), "0");
	else if (!*best && unit == ROCE_UNIT_FRACTION)
		format_exponent(value, 15, best, sizeof(best));
	else if (!*best && unit == ROCE_UNIT_PERCENT)
		format_exponent(value, 13, best, sizeof(best));
	else if (!*best)
		format_exponent(value, 3, best, sizeof(best)); /* millihertz */
	snprintf(out, size, "%s", best);
}
