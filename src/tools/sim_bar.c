/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How far a run is: by simulated time or by flows that have ended, whichever is further, and from
 * that how long it will take. Drawn at most ten times a second, wiped off at the end.
 */
#include "tools/sim.h"

#include "base/clock.h"

#include <string.h>
#include <unistd.h>

#define WIDTH	     30
#define BETWEEN_DRAW 0.1
#define WIPE_LINE    "\r\033[K"

double roce_sim_clock(void)
{
	return (double)roce_clock_now() / 1e9;
}

void roce_sim_bar_init(struct roce_sim_bar *bar, const struct roce_built *built, uint64_t until_ps)
{
	*bar = (struct roce_sim_bar){
		.built = built,
		.until_ps = until_ps,
		.begun = roce_sim_clock(),
		.is_on = isatty(STDERR_FILENO),
	};
}

static double part_done(const struct roce_sim_bar *bar)
{
	struct roce_fabric_totals totals;
	double flows = (double)roce_fabric_flow_count(bar->built->fabric);
	double by_flows;
	double by_time = 0;

	roce_fabric_totals(bar->built->fabric, &totals);
	by_flows = flows > 0 ? (totals.flows_done + totals.flows_failed) / flows : 0;
	if (bar->until_ps != ROCE_FABRIC_NEVER)
		by_time = (double)roce_fabric_now_ps(bar->built->fabric) / (double)bar->until_ps;
	return by_time > by_flows ? by_time : by_flows;
}

void roce_sim_bar_draw(struct roce_sim_bar *bar)
{
	double now = roce_sim_clock();
	double part;
	char marks[WIDTH + 1];
	char simulated[32];
	int filled;

	if (!bar->is_on || now - bar->drawn < BETWEEN_DRAW)
		return;
	bar->drawn = now;
	part = part_done(bar);
	filled = (int)(part * WIDTH);
	filled = filled > WIDTH ? WIDTH : filled;
	memset(marks, '.', WIDTH);
	memset(marks, '#', (size_t)filled);
	marks[WIDTH] = '\0';
	roce_unit_format(ROCE_UNIT_TIME,
			 roce_fabric_now_ps(bar->built->fabric) / ROCE_PS_PER_US * ROCE_PS_PER_US,
			 simulated, sizeof(simulated));
	fprintf(stderr, WIPE_LINE "[%s] %3d%%  %s simulated", marks, (int)(part * 100), simulated);
	if (part > 0.005)
		fprintf(stderr, ", %.0f s left", (now - bar->begun) * (1 - part) / part);
	fflush(stderr);
}

void roce_sim_bar_end(struct roce_sim_bar *bar)
{
	if (bar->is_on && bar->drawn > 0)
		fprintf(stderr, WIPE_LINE);
}
