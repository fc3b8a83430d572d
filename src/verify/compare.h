/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two reports compared, case by case. A verdict that became fail is worse whatever the numbers are.
 * A number has changed when it differs by more than what is noise: where a case was run several
 * times, the spread of its rounds on both sides; else a tolerance.
 */
#ifndef ROCE_VERIFY_COMPARE_H
#define ROCE_VERIFY_COMPARE_H

#include "verify/report_file.h"

#include <stdio.h>

/* X(enumerator, word in JSON, headline) */
#define ROCE_VERIFY_CHANGES(X)                                                           \
	X(WORSE, "worse", "Worse")                                                       \
	X(BETTER, "better", "Better")                                                    \
	X(GONE, "gone", "No longer verified") /* missing, or skipped where it was run */ \
	X(NEW, "new", "New")                                                             \
	X(CHANGED, "changed", "Changed, neither better nor worse")                       \
	X(EQUAL, "equal", "Equal")

enum roce_verify_change {
#define CHANGE(name, word, headline) ROCE_VERIFY_##name,
	ROCE_VERIFY_CHANGES(CHANGE)
#undef CHANGE
		ROCE_VERIFY_CHANGE_COUNT,
};

const char *roce_verify_change_str(enum roce_verify_change change);
const char *roce_verify_change_headline(enum roce_verify_change change);

#define ROCE_VERIFY_TOLERANCE_PERCENT 10.0 /* where nothing is known of the noise */
#define ROCE_VERIFY_NOISE_PERCENT     2.0  /* at least, where the rounds say less */

struct roce_verify_comparison_case {
	const struct roce_verify_report_case *before; /* NULL: not in that report */
	const struct roce_verify_report_case *after;
	enum roce_verify_change change;
	bool has_numbers;	/* both have values that can be compared */
	double change_percent;	/* of what is compared */
	double allowed_percent; /* up to here it is noise */
	bool is_by_verdict;	/* the verdict decided, not the number */
	/* Of cases that one report lacks, or could not run for the same reason, all of a group are
	 * told in one line: that of the first. */
	bool is_told_with_another;
	uint32_t alike;	     /* of the first: how many there are; else 0 */
	uint32_t next_alike; /* the index of the next one, 0: none */
	uint32_t of_group;   /* of the first: all cases of its group, in either report */
};

struct roce_verify_comparison {
	const struct roce_verify_report *before;
	const struct roce_verify_report *after;
	double tolerance_percent; /* asked for; below 0: it was not */
	struct roce_verify_comparison_case *cases;
	uint32_t count;
	uint32_t counts[ROCE_VERIFY_CHANGE_COUNT];
	uint32_t still_failing;
};

/* In the order of the later report, then what only the earlier one has. 0 or -ENOMEM. */
int roce_verify_compare(struct roce_verify_comparison *out, const struct roce_verify_report *before,
			const struct roce_verify_report *after, double tolerance_percent);
void roce_verify_comparison_fini(struct roce_verify_comparison *comparison);

/* The case as it is now, or as it was. */
const struct roce_verify_report_case *
roce_verify_comparison_any(const struct roce_verify_comparison_case *c);
/* One round each is too little to know the noise: what to say about that, or NULL. */
const char *roce_verify_comparison_caution(const struct roce_verify_comparison *comparison);
bool roce_verify_is_still_failing(const struct roce_verify_comparison_case *c);
/* Its number has changed, and other programs were at work on one of the machines. */
bool roce_verify_is_disturbed(const struct roce_verify_comparison_case *c);
void roce_verify_comparison_disturbance(const struct roce_verify_comparison_case *c, char *out,
					size_t size);

/* "27.6 us", "pass", "fail in 2 of 3", "not there". */
void roce_verify_comparison_side(const struct roce_verify_report_case *c, bool has_numbers,
				 char *out, size_t size);
/* Why it is in its class, in words: "+27%, 4% allowed", "relative to floor/udp_64", a reason. */
void roce_verify_comparison_remark(const struct roce_verify_comparison_case *c, char *out,
				   size_t size);

/* Of several that are told in one line: "12 measured", "2 pass, 1 skipped", "not there". */
void roce_verify_comparison_alike_side(const struct roce_verify_comparison *comparison,
				       const struct roce_verify_comparison_case *first,
				       bool is_before, char *out, size_t size);
/* "latency/<any>, all 12", "latency/<any>, 3 of 12". */
void roce_verify_comparison_alike_name(const struct roce_verify_comparison_case *first, char *out,
				       size_t size);
/* "write_64, write_4k and 3 more": names within the group, as many as `most` and `size` allow. */
void roce_verify_comparison_alike_names(const struct roce_verify_comparison *comparison,
					const struct roce_verify_comparison_case *first,
					uint32_t most, char *out, size_t size);
/* Why they were not run, where it is that; or "". */
const char *roce_verify_comparison_alike_reason(const struct roce_verify_comparison_case *first);
/* Finds which are; part of roce_verify_compare(). 0 or -ENOMEM. */
int roce_verify_comparison_find_alike(struct roce_verify_comparison *comparison);

/* What makes the figures of the two runs say little about each other: other programs on the
 * machine, processors that are nearer to each other than they were, a run that broke off. Calls
 * back with a sentence for each. */
typedef void roce_verify_caution_fn(void *context, const char *sentence);
void roce_verify_compare_circumstances(const struct roce_verify_comparison *comparison,
				       roce_verify_caution_fn *found, void *context);
/* What a cache line takes between the processors of a side, in us, as that run measured it; 0: it
 * did not. */
double roce_verify_report_processors(const struct roce_verify_report *report,
				     enum roce_verify_side side);

/* What differs between the runs themselves: plan, profile, hosts, kernels, versions. Calls back for
 * each, in the order in which they are told. */
typedef void roce_verify_difference_fn(void *context, const char *what, const char *before,
				       const char *after);
void roce_verify_compare_runs(const struct roce_verify_comparison *comparison,
			      roce_verify_difference_fn *found, void *context);

void roce_verify_comparison_text(const struct roce_verify_comparison *comparison, FILE *out);
/* NULL: out of memory. */
json_t *roce_verify_comparison_json(const struct roce_verify_comparison *comparison);
void roce_verify_comparison_page(const struct roce_verify_comparison *comparison, FILE *out);

#endif
