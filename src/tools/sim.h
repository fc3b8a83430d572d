/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of `uroce sim`. */
#ifndef ROCE_TOOLS_SIM_H
#define ROCE_TOOLS_SIM_H

#include "record/rates.h"
#include "scenario/outcome.h"

#include <stdbool.h>
#include <stdio.h>

/* The summary for people. */
void roce_sim_print_table(const struct roce_outcome *outcome, FILE *out);
/* 0 or -errno. `rates` may be NULL. */
int roce_sim_write_json(const struct roce_outcome *outcome, const struct roce_rates *rates,
			FILE *out);

/* A bar on standard error, if that is a terminal. */
struct roce_sim_bar {
	const struct roce_built *built;
	uint64_t until_ps; /* ROCE_FABRIC_NEVER: until all flows have ended */
	double begun;	   /* seconds */
	double drawn;
	bool is_on;
};

void roce_sim_bar_init(struct roce_sim_bar *bar, const struct roce_built *built, uint64_t until_ps);
void roce_sim_bar_draw(struct roce_sim_bar *bar);
void roce_sim_bar_end(struct roce_sim_bar *bar);

/* Seconds of the monotonic clock. */
double roce_sim_clock(void);

#endif
