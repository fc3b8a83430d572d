/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases are told apart by their place in the plan; see rollup.h. */
#include "verify/rollup.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double roce_verify_median(double *values, uint32_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare);
	return count % 2 ? values[count / 2] : values[count / 2 - 1] / 2 + values[count / 2] / 2;
}

uint32_t roce_verify_group_length(const char *name)
{
	return (uint32_t)strcspn(name, "/");
}

const char *roce_verify_name_in_group(const char *name)
{
	const char *slash = strchr(name, '/');

	return slash ? slash + 1 : name;
}

int roce_verify_verdict_weight(enum roce_verify_verdict verdict)
{
	switch (verdict) {
	case ROCE_VERIFY_FAIL:
		return 3;
	case ROCE_VERIFY_PASS:
		return 2;
	case ROCE_VERIFY_MEASURED:
		return 1;
	case ROCE_VERIFY_SKIPPED:
	case ROCE_VERIFY_VERDICT_COUNT:
		return 0;
	}
	return 0;
}

static void add(struct roce_verify_rollup *r, const struct roce_verify_outcome *o)
{
	bool is_fail = o->verdict == ROCE_VERIFY_FAIL;

	if (!r->rounds ||
	    roce_verify_verdict_weight(o->verdict) > roce_verify_verdict_weight(r->verdict))
		r->verdict = o->verdict;
	if (!r->fails)
		r->shown = o;
	r->fails += is_fail;
	r->rounds++;
}

static void sum_up(struct roce_verify_rollup *r, const struct roce_verify_record *record,
		   double *values)
{
	for (uint32_t i = 0; i < record->outcome_count; i++) {
		const struct roce_verify_outcome *o = &record->outcomes[i];

		if (o->c == r->c)
			add(r, o);
		if (o->c == r->c && o->has_value)
			values[r->value_count++] = o->value;
	}
	r->median = roce_verify_median(values, r->value_count);
	r->least = r->value_count ? values[0] : 0;
	r->most = r->value_count ? values[r->value_count - 1] : 0;
}

struct roce_verify_rollup *roce_verify_rollup(const struct roce_verify_record *record,
					      uint32_t *out_count)
{
	const struct roce_verify_plan *plan = record->plan;
	struct roce_verify_rollup *all = calloc(plan->case_count + 1, sizeof(*all));
	double *values = calloc(record->outcome_count + 1, sizeof(*values));
	uint32_t count = 0;

	for (uint32_t i = 0; all && values && i < plan->case_count; i++) {
		struct roce_verify_rollup *r = &all[count];

		*r = (struct roce_verify_rollup){.c = &plan->cases[i]};
		sum_up(r, record, values);
		count += r->rounds > 0;
	}
	if (!values) {
		free(all);
		all = NULL;
	}
	free(values);
	*out_count = count;
	return all;
}
