/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The impairments as numbers: parsing the user's line, and drawing the fate of the n-th packet.
 * Pure functions; impair.c acts on them.
 */
#include "pktio/wrap/impair.h"

#include "base/prng.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PPM		  1000000.0
#define REORDER_AFTER_MAX 4u
#define FAULTY_UD_PPM	  1000u
#define DELAY_DEFAULT_NS  (500 * ROCE_NS_PER_US)

static const char *const action_names[] = {
#define X(name, text) text,
	ROCE_IMPAIR_LIST(X)
#undef X
};

/* strtod() for the user's line, which looks the same whatever the program's locale. */
static double parse_number(const char *text, char **out_end)
{
	locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	double value;

	if (!c_locale) { /* out of memory: nothing is understood */
		*out_end = (char *)(uintptr_t)text;
		return 0;
	}
	value = strtod_l(text, out_end, c_locale);
	freelocale(c_locale);
	return value;
}

/* "1%", "0.01", "100%:500us": the share, and where parsing ended. */
static bool parse_share(const char *text, uint32_t *out_ppm, const char **out_end)
{
	char *end;
	double share = parse_number(text, &end);

	if (end == text)
		return false;
	if (*end == '%') {
		share /= 100;
		end++;
	}
	if (!(share >= 0 && share <= 1))
		return false;
	*out_ppm = (uint32_t)(share * PPM + 0.5);
	*out_end = end;
	return true;
}

static bool parse_duration(const char *text, roce_ns_t *out)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double value = parse_number(text, &end);

	if (end == text || !(value >= 0 && value <= 1e9))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].unit) == 0) {
			*out = (roce_ns_t)(value * units[i].ns);
			return true;
		}
	}
	return false;
}

static bool parse_direction(const char *value, struct roce_impair_spec *out)
{
	bool both = strcmp(value, "both") == 0;

	out->is_rx = both || strcmp(value, "rx") == 0;
	out->is_tx = both || strcmp(value, "tx") == 0;
	return out->is_rx || out->is_tx;
}

static bool parse_whole(const char *value, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(value, &end, 0);
	return end != value && *end == '\0' && errno == 0;
}

static bool parse_ud_damage(const char *value, struct roce_impair_spec *out)
{
	const char *end;

	if (!parse_share(value, &out->ud_damage_ppm, &end))
		return false;
	out->ud_damage_always = strcmp(end, ":always") == 0;
	return out->ud_damage_always || *end == '\0';
}

/* Named sets: a word alone. */
static bool parse_set(const char *name, struct roce_impair_spec *out)
{
	if (strcmp(name, "faulty-ud") != 0)
		return false;
	out->ud_damage_ppm = FAULTY_UD_PPM;
	out->ud_damage_always = false;
	return true;
}

static bool parse_item(const char *key, const char *value, struct roce_impair_spec *out)
{
	const char *end;

	if (!value)
		return parse_set(key, out);

	if (strcmp(key, "seed") == 0)
		return parse_whole(value, &out->seed);
	if (strcmp(key, "first") == 0)
		return parse_whole(value, &out->first_count) && out->first_count;
	if (strcmp(key, "dir") == 0)
		return parse_direction(value, out);
	if (strcmp(key, "ud_damage") == 0)
		return parse_ud_damage(value, out);
	if (strcmp(key, "batches") == 0)
		return out->drops_batches = strcmp(value, "drop") == 0;
	for (uint32_t i = ROCE_IMPAIR_DROP; i < ROCE_IMPAIR_COUNT; i++) {
		if (strcmp(key, action_names[i]) != 0)
			continue;
		if (!parse_share(value, &out->ppm[i], &end))
			return false;
		if (*end == ':' && i == ROCE_IMPAIR_DELAY)
			return parse_duration(end + 1, &out->delay_ns);
		return *end == '\0';
	}
	return false;
}

int roce_impair_parse(const char *text, struct roce_impair_spec *out, char *err, size_t err_size)
{
	struct roce_impair_spec spec = {.seed = 1, .delay_ns = DELAY_DEFAULT_NS, .is_rx = true};
	uint64_t total = 0;
	char *copy = strdup(text);
	char *rest = NULL;

	if (!copy)
		return -ENOMEM;
	for (char *item = strtok_r(copy, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
		char *value = strchr(item, '=');

		if (value)
			*value++ = '\0';
		if (!parse_item(item, value, &spec)) {
			snprintf(err, err_size,
				 "UROCE_IMPAIR: cannot understand '%s%s%s'; expected "
				 "seed=1,drop=1%%,dup=1%%,reorder=1%%,corrupt=0.1%%,delay=1%%:"
				 "500us,ce=1%%,"
				 "first=1000,dir=rx|tx|both,batches=drop,ud_damage=0.1%%[:always],"
				 "faulty-ud",
				 item, value ? "=" : "", value ? value : "");
			free(copy);
			return -EINVAL;
		}
	}
	free(copy);
	for (uint32_t i = 0; i < ROCE_IMPAIR_COUNT; i++)
		total += spec.ppm[i];
	if (total > (uint64_t)PPM) {
		snprintf(err, err_size, "UROCE_IMPAIR: the shares add up to more than 100%%");
		return -EINVAL;
	}
	*out = spec;
	return 0;
}

struct roce_impair_fate roce_impair_draw(const struct roce_impair_spec *spec, bool is_tx,
					 uint64_t number)
{
	struct roce_prng mix = {spec->seed * 2 + is_tx};
	struct roce_prng own = {roce_prng_next(&mix) ^ number};
	struct roce_impair_fate fate = {.action = ROCE_IMPAIR_PASS};
	uint64_t share = roce_prng_below(&own, (uint64_t)PPM);

	if (spec->first_count && number >= spec->first_count)
		return fate;
	for (uint32_t i = ROCE_IMPAIR_DROP; i < ROCE_IMPAIR_COUNT; i++) {
		if (share < spec->ppm[i]) {
			fate.action = (enum roce_impair_action)i;
			break;
		}
		share -= spec->ppm[i];
	}
	fate.random = roce_prng_next(&own);
	fate.after_count = 1 + (uint32_t)roce_prng_below(&own, REORDER_AFTER_MAX);
	return fate;
}
