/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What came of the run: the first thing that was wrong, counts, and how both are printed. A side
 * has one report; whoever finds something wrong says so here once and hands the verdict up.
 */
#ifndef VERBS_CHECK_REPORT_H
#define VERBS_CHECK_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/verbs_check/program.h"

/* Also the exit status. */
enum vc_verdict {
	VC_RIGHT = 0,
	VC_WRONG = 1,	 /* data, status, count or order */
	VC_UNUSABLE = 2, /* no device, no connection, refused objects */
};

/* How a scenario ended that was not wrong. */
struct vc_scenario_result {
	const char *name;
	const char *reason; /* why it was skipped; NULL: it was right */
	enum ibv_wc_status failed_request;
	enum ibv_wc_status failed_receive;
};

#define VC_SCENARIO_RESULTS_MAX 128

struct vc_report {
	enum vc_verdict verdict;
	char text[600]; /* of the first fault */
	uint64_t seed;	/* at present, or of the fault */
	bool seed_valid;
	const char *scenario; /* at present, or of the fault; NULL: a drawn program */
	/* Of the scenario: how the requester's request and the responder's receive ended if they
	 * failed, else SUCCESS. A side knows its own. */
	enum ibv_wc_status failed_request;
	enum ibv_wc_status failed_receive;
	struct vc_scenario_result results[VC_SCENARIO_RESULTS_MAX];
	uint32_t result_count;
	uint32_t scenarios_right;
	uint32_t scenarios_skipped;
	const char *skip_reason; /* of the last one; NULL: none */
	bool remote;		 /* the other side found it */
	bool not_offered;	 /* what was asked for, by one of the devices */
	uint64_t seed_count;
	uint64_t request_count;
	uint64_t byte_count;
	uint64_t skipped;
	uint64_t op_counts[VC_OP_COUNT];	       /* that succeeded, both sides */
	uint64_t transport_counts[VC_TRANSPORT_COUNT]; /* seeds */
	uint64_t feature_counts[VC_FEATURE_COUNT];     /* seeds */
	uint64_t arrived[VC_TRANSPORT_COUNT];	       /* messages of open seeds, here */
	uint64_t awaited[VC_TRANSPORT_COUNT];
	uint64_t arrived_group;
	uint64_t awaited_group;
	uint64_t fault_counts[VC_FAULT_COUNT];
	uint64_t progress_ns;
};

enum vc_verdict vc_report_wrong(struct vc_report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
enum vc_verdict vc_report_unusable(struct vc_report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* What the other side found; its seed is ours. */
enum vc_verdict vc_report_remote(struct vc_report *report, enum vc_verdict verdict,
				 const char *text);

/* Behind the first fault, whoever found it. */
void vc_report_add(struct vc_report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void vc_report_count(struct vc_report *report, const struct vc_program *program, uint32_t side);
/* Of an unreliable transport on a network that is said to lose nothing some messages must come, or
 * it would be right for one that does nothing. Wrong when nine tenths of many are missing. */
enum vc_verdict vc_report_check_arrivals(struct vc_report *report);
/* A completion in error that was expected; of several, the one that is no flush counts. */
void vc_report_failed(enum ibv_wc_status *failed, enum ibv_wc_status status);
/* One more scenario has ended well, or is skipped for a reason; `print`: a line says so. */
void vc_report_scenario(struct vc_report *report, const char *name, const char *reason, bool print);
/* A line on the terminal that the next one overwrites, ten times a second at most. */
void vc_report_progress(struct vc_report *report, uint64_t seed_count, uint64_t now_ns);
/* The last line, the line to repeat a failure with, with -v the counts, with --json an object. */
void vc_report_print(const struct vc_report *report, const char *name, const char *replay,
		     bool json, bool verbose);

#endif
