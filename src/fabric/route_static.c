/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes given one by one. They are kept beside what is computed and laid over it each time that is
 * computed (route.c), so they survive links that go and come.
 */
#include "fabric/state.h"

#include <errno.h>
#include <stdlib.h>

static struct roce_fabric_static_route *find_static(struct roce_fabric *f, uint32_t node,
						    uint32_t dst)
{
	struct roce_fabric_static_route *all;

	for (uint32_t i = 0; i < f->static_count; i++)
		if (f->statics[i].node == node && f->statics[i].dst == dst)
			return &f->statics[i];
	all = realloc(f->statics, (f->static_count + 1) * sizeof(*all));
	if (!all)
		return NULL;
	f->statics = all;
	all[f->static_count] = (struct roce_fabric_static_route){.node = node, .dst = dst};
	return &all[f->static_count++];
}

int roce_fabric_route_static(struct roce_fabric *f, uint32_t node, uint32_t dst,
			     const uint32_t *ports, uint32_t count)
{
	struct roce_fabric_static_route *route;
	uint32_t *copy;

	if (node >= f->node_count || dst >= f->node_count)
		return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_NO_SUCH_NODE,
					  node >= f->node_count ? node : dst, ROCE_FABRIC_NONE,
					  ROCE_FABRIC_NONE);
	if (!f->nodes[node].sw || !f->nodes[dst].host)
		return roce_fabric_refuse(f,
					  f->nodes[node].sw ? ROCE_FABRIC_FAULT_NOT_HOST
							    : ROCE_FABRIC_FAULT_NOT_SWITCH,
					  f->nodes[node].sw ? dst : node, ROCE_FABRIC_NONE,
					  ROCE_FABRIC_NONE);
	for (uint32_t i = 0; i < count; i++)
		if (ports[i] >= f->nodes[node].port_count)
			return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_NO_SUCH_PORT, node, ports[i],
						  ROCE_FABRIC_NONE);
	copy = calloc(count + 1, sizeof(*copy));
	route = copy ? find_static(f, node, dst) : NULL;
	if (!route) {
		free(copy);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		copy[i] = ports[i];
	free(route->ports);
	route->ports = copy;
	route->count = count;
	return f->is_prepared ? roce_fabric_routes_compute(f) : 0;
}
