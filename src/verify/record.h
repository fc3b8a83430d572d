/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What came of a run. The terminal, JSON, JUnit and HTML are all told from this; it is filled case
 * by case, so a run that is broken off has a report as well.
 */
#ifndef ROCE_VERIFY_RECORD_H
#define ROCE_VERIFY_RECORD_H

#include "verify/others.h"
#include "verify/plan.h"

#include <stdio.h>
#include <time.h>

#define ROCE_VERIFY_VERDICTS(X)                                            \
	X(PASS, "pass") /* the threshold is held, or no fault was found */ \
	X(FAIL, "fail")                                                    \
	X(SKIPPED, "skipped") /* cannot be done here; or not come to */    \
	X(MEASURED,                                                        \
	  "measured") /* a number without a threshold in this profile, or not to be judged */

enum roce_verify_verdict {
#define VERDICT(name, text) ROCE_VERIFY_##name,
	ROCE_VERIFY_VERDICTS(VERDICT)
#undef VERDICT
		ROCE_VERIFY_VERDICT_COUNT,
};

const char *roce_verify_verdict_str(enum roce_verify_verdict verdict);

enum roce_verify_side { ROCE_VERIFY_INITIATOR, ROCE_VERIFY_TARGET, ROCE_VERIFY_SIDES };

const char *roce_verify_side_str(enum roce_verify_side side);

/* What broke a run off that somebody ended with a signal. */
#define ROCE_VERIFY_BY_SIGNAL "interrupted"

/* One case, once. */
struct roce_verify_outcome {
	const struct roce_verify_case *c;
	uint32_t round; /* from 1, with --repeat */
	uint64_t seed;
	enum roce_verify_verdict verdict;
	char *reason; /* NULL: none */
	bool has_value;
	double value;
	const struct roce_verify_threshold *threshold; /* that it was held to, or NULL */
	bool has_floor;
	double floor;	   /* the value of the case that the threshold names */
	json_t *values;	   /* by the names of the kind's numbers */
	json_t *detail;	   /* by side */
	json_t *histogram; /* or NULL */
	json_t *curves;	   /* or NULL */
	double seconds;
	double others; /* what other programs had of this machine's processors, in percent */
};

struct roce_verify_record {
	const struct roce_verify_plan *plan;
	const char *profile;
	uint64_t seed;
	uint32_t repeat;
	const char *place; /* "namespaces", "here", "system", "peer" */
	const char *peer;  /* NULL: both sides are on this machine */
	/* what else was asked for; borrowed */
	bool is_system;	  /* the hosts' own libraries */
	const char *only; /* patterns; NULL: all cases */
	const char *skip;
	const char *profile_file;	       /* NULL: the profile is the plan's own */
	const char *device[ROCE_VERIFY_SIDES]; /* NULL: any */
	bool has_gid_index;
	uint32_t gid_index;
	uint32_t mtu;	     /* of the link between namespaces; 0: the usual one */
	const char *quirks;  /* accepted here; or NULL */
	uint32_t qp_timeout; /* 0: none was given */
	time_t started;
	double seconds;
	bool is_complete;
	char *broken_off; /* why it is not; or NULL */
	json_t *facts[ROCE_VERIFY_SIDES];
	struct roce_verify_outcome *outcomes;
	uint32_t outcome_count;
	uint32_t outcome_size;
};

/* Room for all cases that the plan wants. False: out of memory. */
bool roce_verify_record_init(struct roce_verify_record *record, const struct roce_verify_plan *plan,
			     uint32_t repeat);
void roce_verify_record_fini(struct roce_verify_record *record);

/* The next one, with verdict skipped and no reason yet. */
struct roce_verify_outcome *roce_verify_record_add(struct roce_verify_record *record,
						   const struct roce_verify_case *c,
						   uint32_t round);
/* Of this case, the last that has a value; or NULL. */
const struct roce_verify_outcome *roce_verify_record_find(const struct roce_verify_record *record,
							  const char *name);
uint32_t roce_verify_record_count(const struct roce_verify_record *record,
				  enum roce_verify_verdict verdict);
/* Of those measured, how many have a threshold that they could not be held to. */
uint32_t roce_verify_record_unjudged(const struct roce_verify_record *record);

/* How busy the initiator's machine was with other programs. */
struct roce_verify_others_sum roce_verify_record_others(const struct roce_verify_record *record);

/* Words of a peer may be in it: what would steer a terminal, or is not allowed in XML, is replaced.
 */
__attribute__((format(printf, 2, 3))) void
roce_verify_outcome_reason(struct roce_verify_outcome *outcome, const char *fmt, ...);

/* "at most 10 us", "at least 0.9 x floor/tcp (11.2 Gb/s)"; "" without one. */
void roce_verify_threshold_text(const struct roce_verify_outcome *outcome, char *out, size_t size);

/* All of it as JSON (verify/README.md has the form); NULL: out of memory. */
json_t *roce_verify_record_json(const struct roce_verify_record *record);
/* For the servers that read JUnit's XML. */
void roce_verify_record_junit(const struct roce_verify_record *record, FILE *out);

#endif
