/* SPDX-License-Identifier: BSD-2-Clause */
/* Drawing is inverting the curve at a random height; everything in integers. */
#include "scenario/cdf.h"

#include "scenario/unit.h"

#include <stdio.h>
#include <string.h>

#define POINT(bytes, part) {bytes, part},
static const struct roce_cdf_point web_search[] = {
#include "scenario/cdf/web_search.def"
};
static const struct roce_cdf_point hadoop[] = {
#include "scenario/cdf/hadoop.def"
};
static const struct roce_cdf_point storage[] = {
#include "scenario/cdf/storage.def"
};
#undef POINT

static const struct {
	const char *name;
	const struct roce_cdf_point *points;
	uint32_t count;
} built_in[] = {
	{"web-search", web_search, sizeof(web_search) / sizeof(web_search[0])},
	{"hadoop", hadoop, sizeof(hadoop) / sizeof(hadoop[0])},
	{"storage", storage, sizeof(storage) / sizeof(storage[0])},
};

bool roce_cdf_find(const char *name, struct roce_cdf *out)
{
	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++) {
		if (strcmp(built_in[i].name, name) != 0)
			continue;
		memcpy(out->points, built_in[i].points, built_in[i].count * sizeof(out->points[0]));
		out->count = built_in[i].count;
		return true;
	}
	return false;
}

/* "bytes,percent" or "bytes percent" */
static bool parse_point(const char *line, struct roce_cdf_point *out)
{
	char bytes[40];
	char percent[40];
	uint64_t part;

	if (sscanf(line, "%39[^, \t] %*[, \t] %39s", bytes, percent) != 2 ||
	    roce_unit_parse(ROCE_UNIT_BYTES, bytes, &out->bytes) ||
	    roce_unit_parse(ROCE_UNIT_PERCENT, percent, &part) || part > ROCE_FRACTION_ONE)
		return false;
	out->part = (uint32_t)(part / (ROCE_FRACTION_ONE / ROCE_CDF_ONE));
	return true;
}

static void add_point(struct roce_cdf *cdf, const char *line, uint32_t number,
		      struct roce_problems *problems)
{
	struct roce_cdf_point *point = &cdf->points[cdf->count];

	if (cdf->count == ROCE_CDF_POINTS_MAX)
		roce_problem_add(problems, number, "more than %d points", ROCE_CDF_POINTS_MAX);
	else if (!parse_point(line, point))
		roce_problem_add(problems, number, "found \"%.40s\", expected BYTES,PERCENT", line);
	else if (cdf->count && (point->bytes < point[-1].bytes || point->part < point[-1].part))
		roce_problem_add(problems, number,
				 "the curve falls: sizes and percentages must rise");
	else
		cdf->count++;
}

bool roce_cdf_parse(const char *text, struct roce_cdf *out, struct roce_problems *problems)
{
	uint32_t before = problems->count;
	char line[160];

	out->count = 0;
	for (uint32_t number = 1; *text && problems->count == before; number++) {
		size_t length = strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)(length < 159 ? length : 159), text);
		line[strcspn(line, "#\r")] = '\0';
		text += length + (text[length] == '\n');
		if (line[strspn(line, " \t")])
			add_point(out, line, number, problems);
	}
	if (problems->count == before &&
	    (out->count == 0 || out->points[out->count - 1].part != ROCE_CDF_ONE))
		roce_problem_add(problems, 0, "the curve does not end at 100%%");
	return problems->count == before;
}

uint64_t roce_cdf_mean(const struct roce_cdf *cdf)
{
	/* What the first point has of itself is all of its size. */
	unsigned __int128 sum = (unsigned __int128)cdf->points[0].bytes * cdf->points[0].part * 2;

	for (uint32_t i = 1; i < cdf->count; i++) {
		const struct roce_cdf_point *p = &cdf->points[i];

		sum += ((unsigned __int128)p->bytes + p[-1].bytes) * (p->part - p[-1].part);
	}
	sum /= 2 * ROCE_CDF_ONE;
	return sum ? (uint64_t)sum : 1;
}

uint64_t roce_cdf_draw(const struct roce_cdf *cdf, struct roce_prng *prng)
{
	uint64_t height = roce_prng_next(prng) >> 32; /* of 2^32 */
	uint64_t bytes = cdf->points[0].bytes;

	for (uint32_t i = 0; i < cdf->count; i++) {
		const struct roce_cdf_point *p = &cdf->points[i];
		uint64_t high = ((uint64_t)p->part << 32) / ROCE_CDF_ONE;
		uint64_t low = i ? ((uint64_t)p[-1].part << 32) / ROCE_CDF_ONE : 0;

		if (height >= high)
			continue;
		if (i)
			bytes = p[-1].bytes +
				(uint64_t)((unsigned __int128)(p->bytes - p[-1].bytes) *
					   (height - low) / (high - low));
		break;
	}
	return bytes ? bytes : 1;
}
