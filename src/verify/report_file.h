/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A JSON report of an earlier run, read back: one entry for each case, rounds gathered. What is no
 * such report is refused with what was expected there, for people hand these files around.
 */
#ifndef ROCE_VERIFY_REPORT_FILE_H
#define ROCE_VERIFY_REPORT_FILE_H

#include "verify/others.h"
#include "verify/record.h"

#define ROCE_VERIFY_ERR_MAX 400u

struct roce_verify_report_case {
	const char *name;
	const char *number; /* which of the kind's numbers its value is; "" */
	const char *unit;
	const char *reason;		  /* of the first round that failed, or was skipped; NULL */
	const char *threshold;		  /* in words; NULL */
	const char *of;			  /* the floor that it is held to; NULL: none */
	enum roce_verify_verdict verdict; /* the worst: fail, pass, measured, skipped */
	uint32_t rounds;
	uint32_t fails;
	uint32_t value_count;
	double median; /* of the values */
	double least;
	double most;
	/* What is compared: the value, or how often the floor of the same round goes into it. */
	double measure;
	double spread;	/* of the rounds' measures, as a share of the middle; 0 with one round */
	int direction;	/* 1: more is better, -1: less is, 0: neither is known */
	double seconds; /* of all rounds */
	double others;	/* percent of the processors that other programs had meanwhile */
};

struct roce_verify_report {
	const char *file;
	json_t *json;	/* texts point into it */
	json_t *places; /* name -> index of its case */
	struct roce_verify_report_case *cases;
	uint32_t count;
	struct roce_verify_others_sum others;
};

/* 0, or -EINVAL, -ENOMEM or an error of open() with one line in `err`. */
int roce_verify_report_load(struct roce_verify_report *out, const char *file,
			    char err[ROCE_VERIFY_ERR_MAX]);
/* The same from an object, which is only borrowed; `file` names it in errors. */
int roce_verify_report_take(struct roce_verify_report *out, json_t *json, const char *file,
			    char err[ROCE_VERIFY_ERR_MAX]);
void roce_verify_report_fini(struct roce_verify_report *report);

/* A text at its top, as "started"; "?" without. */
const char *roce_verify_report_text(const struct roce_verify_report *report, const char *name);

/* NULL: it has none of that name. */
const struct roce_verify_report_case *
roce_verify_report_find(const struct roce_verify_report *report, const char *name);

#endif
