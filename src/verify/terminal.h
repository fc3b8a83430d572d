/* SPDX-License-Identifier: BSD-2-Clause */
/* A run as it is seen on the terminal: a line for each case, and below them what is under way. */
#ifndef ROCE_VERIFY_TERMINAL_H
#define ROCE_VERIFY_TERMINAL_H

#include "verify/run.h"

#include <stdio.h>

struct roce_verify_terminal {
	FILE *out;
	int signal_fd; /* readable when nobody waits for the rest; -1: none */
	bool has_bar;  /* the standard error is a terminal */
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
/* Waits until what reads the output takes some, so that a line can be written at once. False: a
 * signal came first. */
bool roce_verify_terminal_has_room(FILE *out, int signal_fd);
struct roce_verify_watcher roce_verify_terminal_watcher(struct roce_verify_terminal *t);
/* The last lines: counts, failures once more, why it was broken off. */
void roce_verify_terminal_summary(const struct roce_verify_terminal *t,
				  const struct roce_verify_record *record);

#endif
