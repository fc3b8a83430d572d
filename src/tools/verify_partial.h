/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The JSON report of a run that is under way: what has been done so far is in the file, so that a
 * run which is killed has a report as well. It is written between cases, where nothing is measured,
 * or once in a case that lasts much longer than it should; and it takes a small share of the run's
 * time however long the report grows. It stands between the run and what shows the run.
 */
#ifndef ROCE_TOOLS_VERIFY_PARTIAL_H
#define ROCE_TOOLS_VERIFY_PARTIAL_H

#include "verify/run.h"

typedef json_t *(*roce_verify_make_json_fn)(const void *context,
					    const struct roce_verify_record *record);

struct roce_verify_partial {
	const char *path; /* NULL: none is written */
	roce_verify_make_json_fn make;
	const void *context;
	const struct roce_verify_watcher *shown;
	bool has_more; /* than what is written */
	/* seconds on the clock */
	double written;
	double allowed;
	double overdue; /* the case under way */
};

/* `path` is NULL for none, and none is written to what cannot be written anew (a pipe, say). The
 * result is for the run, and goes on to `shown`, which is borrowed. */
struct roce_verify_watcher roce_verify_partial_watcher(struct roce_verify_partial *partial,
						       const char *path,
						       const struct roce_verify_watcher *shown);

#endif
