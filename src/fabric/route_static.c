/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes given one by one. They are kept beside what is computed and laid over it each time that is
 * computed (route.c), so they survive links that go and come.
 */
#include "fabric/ecmp.h"
#include "fabric/state.h"

#include <errno.h>
#include <stdlib.h>

/* Its place among the slots: that of the route, or where it belongs. */
static uint32_t *find_slot(const struct roce_fabric *f, uint32_t node, uint32_t dst)
{
	uint64_t key = (uint64_t)node << 32 | dst;
	uint32_t i = (uint32_t)(roce_fabric_mix(key) & f->static_slot_mask);

	for (;; i = (i + 1) & f->static_slot_mask) {
		uint32_t number = f->static_slots[i];

		if (!number ||
		    (f->statics[number - 1].node == node && f->statics[number - 1].dst == dst))
			return &f->static_slots[i];
	}
}

static int make_room(struct roce_fabric *f)
{
	uint32_t room = f->static_room ? 2 * f->static_room : 16;
	struct roce_fabric_static_route *all;
	uint32_t *slots;

	if (f->static_count < f->static_room)
		return 0;
	all = realloc(f->statics, room * sizeof(*all));
	if (!all)
		return -ENOMEM;
	f->statics = all;
	slots = calloc(2 * (size_t)room, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(f->static_slots);
	f->static_slots = slots;
	f->static_slot_mask = 2 * room - 1;
	f->static_room = room;
	for (uint32_t i = 0; i < f->static_count; i++)
		*find_slot(f, all[i].node, all[i].dst) = i + 1;
	return 0;
}

/* NULL: no memory. */
static struct roce_fabric_static_route *get_static(struct roce_fabric *f, uint32_t node,
						   uint32_t dst)
{
	uint32_t *slot;

	if (make_room(f))
		return NULL;
	slot = find_slot(f, node, dst);
	if (!*slot) {
		f->statics[f->static_count++] =
			(struct roce_fabric_static_route){.node = node, .dst = dst};
		*slot = f->static_count;
	}
	return &f->statics[*slot - 1];
}

static int check(struct roce_fabric *f, uint32_t node, uint32_t dst)
{
	bool is_any = dst == ROCE_FABRIC_ANY_HOST;

	if (node >= f->node_count || (!is_any && dst >= f->node_count))
		return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_NO_SUCH_NODE,
					  node >= f->node_count ? node : dst, ROCE_FABRIC_NONE,
					  ROCE_FABRIC_NONE);
	if (!f->nodes[node].sw)
		return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_NOT_SWITCH, node, ROCE_FABRIC_NONE,
					  ROCE_FABRIC_NONE);
	if (!is_any && !f->nodes[dst].host)
		return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_NOT_HOST, dst, ROCE_FABRIC_NONE,
					  ROCE_FABRIC_NONE);
	return 0;
}

int roce_fabric_route_static(struct roce_fabric *f, uint32_t node, uint32_t dst,
			     const uint32_t *ports, uint32_t count)
{
	struct roce_fabric_static_route *route;
	uint32_t *copy;
	int err = check(f, node, dst);

	if (err)
		return err;
	for (uint32_t i = 0; i < count; i++)
		if (ports[i] >= f->nodes[node].port_count)
			return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_NO_SUCH_PORT, node, ports[i],
						  ROCE_FABRIC_NONE);
	copy = calloc(count + 1, sizeof(*copy));
	route = copy ? get_static(f, node, dst) : NULL;
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
