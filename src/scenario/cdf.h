/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Distributions of flow sizes: points of a cumulative curve, straight lines between them. Three are
 * built in (cdf/NAME.def, each with its source); others come from files of lines "bytes,percent".
 */
#ifndef ROCE_SCENARIO_CDF_H
#define ROCE_SCENARIO_CDF_H

#include "base/prng.h"
#include "scenario/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_CDF_POINTS_MAX 1024
#define ROCE_CDF_ONE	    100000u /* 100% */

struct roce_cdf_point {
	uint64_t bytes;
	uint32_t part; /* of ROCE_CDF_ONE: flows that are not longer */
};

struct roce_cdf {
	struct roce_cdf_point points[ROCE_CDF_POINTS_MAX];
	uint32_t count;
};

/* One that is built in: "web-search", "hadoop", "storage". False: none of this name. */
bool roce_cdf_find(const char *name, struct roce_cdf *out);
/* The text of a file; empty lines and lines with '#' are passed over. Problems have its lines. */
bool roce_cdf_parse(const char *text, struct roce_cdf *out, struct roce_problems *problems);

uint64_t roce_cdf_mean(const struct roce_cdf *cdf);
/* At least 1. */
uint64_t roce_cdf_draw(const struct roce_cdf *cdf, struct roce_prng *prng);

#endif
