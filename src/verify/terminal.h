/* SPDX-License-Identifier: BSD-2-Clause */
/* A run as it is seen on the terminal: a line for each case, and below them what is under way. */
#ifndef ROCE_VERIFY_TERMINAL_H
#define ROCE_VERIFY_TERMINAL_H

#include "verify/outlet.h"
#include "verify/run.h"

struct roce_verify_terminal {
	struct roce_verify_outlet outlet;
	bool has_bar; /* the standard error is a terminal */
	bool has_colours;
	bool is_quiet; /* failures only */
	bool has_told_sides;
	double begun;
	double drawn;
	double takes_done; /* by the plan's estimates */
	double takes_all;
	double part; /* of the case under way */
	const struct roce_verify_case *c;
};

void roce_verify_terminal_init(struct roce_verify_terminal *t, FILE *out,
			       const struct roce_verify_record *record, bool is_quiet);
struct roce_verify_watcher roce_verify_terminal_watcher(struct roce_verify_terminal *t);
/* The last lines: counts, why it was broken off. They may still wait for their reader. */
void roce_verify_terminal_summary(struct roce_verify_terminal *t,
				  const struct roce_verify_record *record);
/* When nobody waits for this program any longer: the rest of the words. Of a run that was
 * interrupted what is not read soon is lost. */
void roce_verify_terminal_end(struct roce_verify_terminal *t, bool was_interrupted);

#endif
