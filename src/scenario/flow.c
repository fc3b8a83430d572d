/* SPDX-License-Identifier: BSD-2-Clause */
/* Two growing arrays. */
#include "scenario/flow.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define AFTER_MAX 64000000u

static bool grow(void **array, uint32_t count, uint32_t *room, uint32_t max, size_t size)
{
	uint32_t wanted = *room ? *room * 2 : 256;
	void *grown;

	if (count < *room)
		return true;
	grown = count < max ? realloc(*array, wanted * size) : NULL;
	if (!grown)
		return false;
	*array = grown;
	*room = wanted;
	return true;
}

uint32_t roce_flows_add(struct roce_flows *flows, const struct roce_flow *flow)
{
	if (!grow((void **)&flows->at, flows->count, &flows->room, ROCE_FLOWS_MAX,
		  sizeof(*flows->at))) {
		flows->is_full = true;
		return 0;
	}
	flows->at[flows->count] = *flow;
	flows->at[flows->count].after_at = flows->after_count;
	flows->at[flows->count].after_count = 0;
	return flows->count++;
}

void roce_flows_add_after(struct roce_flows *flows, uint32_t predecessor)
{
	if (predecessor == ROCE_FLOW_NONE || flows->is_full)
		return;
	if (!grow((void **)&flows->after, flows->after_count, &flows->after_room, AFTER_MAX,
		  sizeof(*flows->after))) {
		flows->is_full = true;
		return;
	}
	flows->after[flows->after_count++] = predecessor;
	flows->at[flows->count - 1].after_count++;
}

void roce_flows_fini(struct roce_flows *flows)
{
	free(flows->at);
	free(flows->after);
	memset(flows, 0, sizeof(*flows));
}
