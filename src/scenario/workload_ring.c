/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ring all-reduce: the vector is cut into as many chunks as there are hosts; in 2 (n - 1) steps
 * each host sends a chunk to the next one. It may send in step s when it has what the host before
 * it sent in step s - 1 (it adds, or passes on), and when its own last chunk is gone.
 */
#include "scenario/workload.h"

void roce_workload_all_reduce(struct roce_workload *w)
{
	uint32_t n = w->from.count;
	uint64_t chunk = n ? (w->conf->bytes + n - 1) / n : 0;
	uint64_t steps = n ? w->conf->rounds * 2 * (n - 1) : 0;
	uint32_t first = w->flows->count;

	if (n < 2) {
		roce_problem_add(w->problems, w->conf->where.kind, "all-reduce needs two hosts");
		return;
	}
	w->flow.is_after_delivery = true;
	for (uint64_t step = 0; step < steps && !w->flows->is_full; step++) {
		uint32_t last = first + (uint32_t)(step - 1) * n;

		for (uint32_t i = 0; i < n; i++) {
			roce_workload_add(w, w->from.at[i], w->from.at[(i + 1) % n], chunk,
					  step ? 0 : w->conf->start,
					  step ? last + (i + n - 1) % n : ROCE_FLOW_NONE);
			roce_flows_add_after(w->flows, step ? last + i : ROCE_FLOW_NONE);
		}
	}
}
