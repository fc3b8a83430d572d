/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `uroce perf`: a plan of one case a size, made of options that are named after perftest's, and run
 * as `uroce verify` runs its own (src/verify); what is shown of it fits on a screen.
 */
#ifndef ROCE_TOOLS_PERF_H
#define ROCE_TOOLS_PERF_H

#include "tools/verify.h"

#include "verify/outlet.h"
#include "verify/run.h"

struct roce_perf_test {
	const char *name;
	const char *kind; /* of case */
	const char *op;	  /* NULL: the atomic that is asked for */
};

struct roce_perf_options {
	struct roce_verify_options sides; /* peer, token, devices, ports, JSON */
	const struct roce_perf_test *test;
	const char *transport; /* "rc", "uc", "ud", "xrc" */
	const char *atomic;
	uint64_t size;
	uint64_t messages; /* 0: by duration */
	uint64_t duration_ms;
	uint64_t qps;
	uint64_t depth;
	uint64_t mtu;	     /* 0: what the ports have */
	uint64_t inline_max; /* UINT64_MAX: as perftest has it */
	bool has_all_sizes;
	bool is_both;
	bool is_by_cm;
	bool is_local;
	bool is_server;
	bool is_open; /* --no-token */
};

bool roce_perf_is_bandwidth(const struct roce_perf_options *o);
/* An operation that the target's program has no part in, and that is timed to its completion. */
bool roce_perf_is_to_completion(const struct roce_perf_options *o);
bool roce_perf_is_ud(const struct roce_perf_options *o);
/* What is lost is sent again: RC and XRC. */
bool roce_perf_is_reliable(const struct roce_perf_options *o);

/* ROCE_EXIT_OK, or ROCE_EXIT_USAGE after one line that says what is wrong. */
int roce_perf_options_parse(int argc, char **argv, struct roce_perf_options *out);

/* NULL after lines that say why. */
struct roce_verify_plan *roce_perf_plan(const struct roce_perf_options *o);

/* ---- what is shown ---- */

struct roce_perf_text {
	const struct roce_perf_options *o;
	struct roce_verify_outlet outlet;
	bool has_progress; /* the standard error is a terminal */
	bool has_head;
	bool is_drawn;				  /* a line of progress stands there */
	const struct roce_verify_outcome *failed; /* told in the end; NULL: none */
};

void roce_perf_text_init(struct roce_perf_text *text, const struct roce_perf_options *o, FILE *out);

struct roce_verify_watcher roce_perf_text_watcher(struct roce_perf_text *text);
/* The last lines: the histogram of a single size, hints, why it broke off. */
void roce_perf_text_summary(struct roce_perf_text *text, const struct roce_verify_record *record);
/* When nobody waits for this program any longer: the rest of the words. Of a run that was
 * interrupted what is not read soon is lost. */
void roce_perf_text_end(struct roce_perf_text *text, bool was_interrupted);
/* What may make the figures worse than they need be; an array of texts. */
json_t *roce_perf_hints(const struct roce_perf_options *o, const struct roce_verify_record *record);

#endif
