/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes from every switch to every host. Hosts behind one switch share all routes but the last, so
 * the graph is searched once for each such switch, from there outwards. A route is a number: the
 * group of next hops that a switch keeps once for all destinations that share it.
 *
 * Up-down: each link has a lower and an upper end (by rank, then by number). Where a switch can
 * reach the destination by going down only, it does; else it goes up. So nothing goes up after it
 * went down, and buffers cannot wait for each other in a circle.
 *
 * Minimal: into another region by one link, at most one hop before it, and shortest within.
 */
#include "fabric/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FAR	   UINT32_MAX
#define GROUPS_MAX UINT16_MAX
#define GROUP_NONE 0u /* the first of every switch: no way */

struct search {
	struct roce_fabric *f;
	uint32_t *distance; /* by node: to the switch searched from; up-down: going down only */
	uint32_t *climb;    /* up-down: with going up first; minimal: see find_gates() */
	uint32_t *line;	    /* nodes to look at */
	uint32_t *rank;	    /* of switches */
	uint32_t *place;    /* in the line */
	uint32_t *ports;    /* next hops under construction */
	/* What is behind each port of the network, by its place: a switch, or NONE if that is a
	 * host or the link is down. Ports are large, and all are looked at for each destination. */
	uint32_t *behind;
};

static const uint32_t *behind(const struct search *s, const struct roce_fabric_node *node)
{
	return s->behind + (node->ports - s->f->ports);
}

static bool is_above(const struct search *s, uint32_t node, uint32_t than)
{
	if (s->rank[node] != s->rank[than])
		return s->rank[node] > s->rank[than];
	return node > than;
}

static const struct roce_fabric_node *neighbour(const struct roce_fabric_port *port)
{
	return port->peer->node;
}

/* ---- groups ---- */

static bool is_group(const struct roce_fabric_switch *sw, uint32_t group, const uint32_t *ports,
		     uint32_t count)
{
	const struct roce_fabric_group *g = &sw->groups[group];

	return g->count == count &&
	       (!count || memcmp(sw->hops + g->first, ports, count * sizeof(*ports)) == 0);
}

/* Powers of two: thousands of switches that grow in turns by a group each leave holes otherwise. */
static uint32_t room_for(uint32_t count)
{
	uint32_t room = 4;

	while (room < count)
		room *= 2;
	return room;
}

/* -ENOMEM, or `more` fit behind `count`. */
static int make_room(void *items, uint32_t count, uint32_t more, size_t size)
{
	void **array = items;
	void *grown;

	if (count && count + more <= room_for(count))
		return 0;
	grown = realloc(*array, room_for(count + more) * size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	return 0;
}

/* -ENOMEM, or the group of these ports. */
static int get_group(struct roce_fabric_switch *sw, const uint32_t *ports, uint32_t count)
{
	for (uint32_t i = 0; i < sw->group_count; i++)
		if (is_group(sw, i, ports, count))
			return (int)i;
	if (sw->group_count == GROUPS_MAX ||
	    make_room(&sw->hops, sw->hop_count, count, sizeof(*sw->hops)) ||
	    make_room(&sw->groups, sw->group_count, 1, sizeof(*sw->groups)))
		return -ENOMEM;
	if (count)
		memcpy(sw->hops + sw->hop_count, ports, count * sizeof(*ports));
	sw->groups[sw->group_count] = (struct roce_fabric_group){sw->hop_count, count};
	sw->hop_count += count;
	return (int)sw->group_count++;
}

static int set_routes(struct roce_fabric_switch *sw, const uint32_t *hosts, uint32_t host_count,
		      const uint32_t *ports, uint32_t port_count)
{
	int group = get_group(sw, ports, port_count);

	if (group < 0)
		return group;
	for (uint32_t i = 0; i < host_count; i++)
		sw->routes[hosts[i]] = (uint16_t)group;
	return 0;
}

/* ---- search ---- */

/* Behind what is there: of the nodes found from one node, the last number comes first. */
static void enqueue(struct search *s, uint32_t first, uint32_t tail, uint32_t node)
{
	while (tail > first && s->line[tail - 1] < node) {
		s->line[tail] = s->line[tail - 1];
		tail--;
	}
	s->line[tail] = node;
}

/* Distances of all switches to `from`; with ranks, of those that reach it by going down. */
static void spread(struct search *s, uint32_t from, bool is_ranked)
{
	struct roce_fabric *f = s->f;
	uint32_t head = 0;
	uint32_t tail = 0;

	for (uint32_t i = 0; i < f->node_count; i++)
		s->distance[i] = FAR;
	s->distance[from] = 0;
	s->line[tail++] = from;
	while (head < tail) {
		const struct roce_fabric_node *node = &f->nodes[s->line[head]];
		const uint32_t *next = behind(s, node);
		uint32_t first = tail;

		s->place[node->index] = head++;
		for (uint32_t p = node->port_count; p-- > 0;) {
			uint32_t to = next[p];

			if (to == ROCE_FABRIC_NONE || s->distance[to] != FAR ||
			    (is_ranked && !is_above(s, to, node->index)))
				continue;
			s->distance[to] = s->distance[node->index] + 1;
			enqueue(s, first, tail++, to);
		}
	}
}

/* climb[]: the shortest way up and then down. Relaxed until nothing changes: ranks are few. */
static void spread_climb(struct search *s)
{
	struct roce_fabric *f = s->f;
	bool is_changed = true;

	memcpy(s->climb, s->distance, f->node_count * sizeof(*s->climb));
	while (is_changed) {
		is_changed = false;
		for (uint32_t i = 0; i < f->node_count; i++) {
			const struct roce_fabric_node *node = &f->nodes[i];

			for (uint32_t p = 0; node->sw && p < node->port_count; p++) {
				uint32_t to = behind(s, node)[p];

				if (to == ROCE_FABRIC_NONE || s->climb[to] == FAR ||
				    !is_above(s, to, i) || s->climb[to] + 1 >= s->climb[i])
					continue;
				s->climb[i] = s->climb[to] + 1;
				is_changed = true;
			}
		}
	}
}

/* Those first that the search came to first. */
static void sort_hops(const struct search *s, const struct roce_fabric_node *node, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++) {
		uint32_t port = s->ports[i];
		uint32_t place = s->place[neighbour(&node->ports[port])->index];
		uint32_t at = i;

		while (at > 0 &&
		       s->place[neighbour(&node->ports[s->ports[at - 1]])->index] > place) {
			s->ports[at] = s->ports[at - 1];
			at--;
		}
		s->ports[at] = port;
	}
}

static uint32_t next_hops(const struct search *s, const struct roce_fabric_node *node)
{
	bool is_up_down = s->f->routing == ROCE_FABRIC_ROUTING_UP_DOWN;
	bool is_climbing = is_up_down && s->distance[node->index] == FAR;
	const uint32_t *distance = is_climbing ? s->climb : s->distance;
	const uint32_t *next = behind(s, node);
	uint32_t count = 0;

	if (distance[node->index] == FAR)
		return 0;
	for (uint32_t p = 0; p < node->port_count; p++) {
		uint32_t to = next[p];

		if (to == ROCE_FABRIC_NONE || distance[to] == FAR ||
		    distance[to] + 1 != distance[node->index])
			continue;
		if (is_up_down && is_above(s, to, node->index) != is_climbing)
			continue;
		s->ports[count++] = p;
	}
	if (node->sw->hash == ROCE_FABRIC_HASH_MURMUR3 && !is_up_down)
		sort_hops(s, node, count);
	return count;
}

/* ---- minimal: one link between regions ---- */

static bool is_one_region(const struct roce_fabric_node *a, const struct roce_fabric_node *b)
{
	return a == b || (a->sw->cfg.region != ROCE_FABRIC_REGION_OWN &&
			  a->sw->cfg.region == b->sw->cfg.region);
}

/* climb[]: 1 for switches of other regions with a link into that of `at`, 0 for others. */
static void find_gates(struct search *s, const struct roce_fabric_node *at)
{
	const struct roce_fabric *f = s->f;

	for (uint32_t i = 0; i < f->node_count; i++) {
		const struct roce_fabric_node *node = &f->nodes[i];

		s->climb[i] = 0;
		for (uint32_t p = 0; node->sw && !is_one_region(node, at) && p < node->port_count;
		     p++) {
			const struct roce_fabric_node *to = neighbour(&node->ports[p]);

			if (node->ports[p].is_up && to->sw && is_one_region(to, at))
				s->climb[i] = 1;
		}
	}
}

/* By links of its own, or to neighbours of its region that have some; where links are missing,
 * what is shortest. */
static uint32_t minimal_hops(const struct search *s, const struct roce_fabric_node *node,
			     const struct roce_fabric_node *at)
{
	bool is_gate = s->climb[node->index];
	uint32_t count = 0;

	if (is_one_region(node, at))
		return next_hops(s, node);
	for (uint32_t p = 0; p < node->port_count; p++) {
		const struct roce_fabric_node *to = neighbour(&node->ports[p]);

		if (!node->ports[p].is_up || !to->sw)
			continue;
		if (is_gate ? is_one_region(to, at)
			    : is_one_region(to, node) && s->climb[to->index])
			s->ports[count++] = p;
	}
	return count ? count : next_hops(s, node);
}

/* ---- all ways to one switch ---- */

static uint32_t hops_of(const struct search *s, const struct roce_fabric_node *node,
			const struct roce_fabric_node *at)
{
	return s->f->routing == ROCE_FABRIC_ROUTING_MINIMAL ? minimal_hops(s, node, at)
							    : next_hops(s, node);
}

/* Routes of all switches to the hosts behind `at`. */
static int route_to(struct search *s, const struct roce_fabric_node *at, const uint32_t *hosts,
		    uint32_t host_count)
{
	struct roce_fabric *f = s->f;
	bool is_up_down = f->routing == ROCE_FABRIC_ROUTING_UP_DOWN;

	spread(s, at->index, is_up_down);
	if (is_up_down)
		spread_climb(s);
	if (f->routing == ROCE_FABRIC_ROUTING_MINIMAL)
		find_gates(s, at);
	for (uint32_t i = 0; i < f->node_count; i++) {
		const struct roce_fabric_node *node = &f->nodes[i];
		int err;

		if (!node->sw || node == at)
			continue;
		err = set_routes(node->sw, hosts, host_count, s->ports, hops_of(s, node, at));
		if (err)
			return err;
	}
	for (uint32_t p = 0; p < at->port_count; p++) {
		const struct roce_fabric_node *to = neighbour(&at->ports[p]);
		int err;

		if (!to->host)
			continue;
		err = set_routes(at->sw, &to->host_number, 1, &p, at->ports[p].is_up ? 1 : 0);
		if (err)
			return err;
	}
	return 0;
}

/* ---- ranks ---- */

/* Distance from the hosts, where the switch was not given one. */
static void rank(struct search *s)
{
	struct roce_fabric *f = s->f;
	uint32_t head = 0;
	uint32_t tail = 0;

	for (uint32_t i = 0; i < f->node_count; i++) {
		s->rank[i] = f->nodes[i].host ? 0 : FAR;
		if (f->nodes[i].host)
			s->line[tail++] = i;
	}
	while (head < tail) {
		const struct roce_fabric_node *node = &f->nodes[s->line[head++]];

		for (uint32_t p = 0; p < node->port_count; p++) {
			uint32_t to = neighbour(&node->ports[p])->index;

			if (s->rank[to] != FAR)
				continue;
			s->rank[to] = s->rank[node->index] + 1;
			s->line[tail++] = to;
		}
	}
	for (uint32_t i = 0; i < f->node_count; i++)
		if (f->nodes[i].sw && f->nodes[i].sw->cfg.rank >= 0)
			s->rank[i] = (uint32_t)f->nodes[i].sw->cfg.rank;
}

/* ---- entry ---- */

static int search_init(struct search *s, struct roce_fabric *f)
{
	uint32_t ports = 1;
	size_t nodes = f->node_count;

	for (uint32_t i = 0; i < f->node_count; i++)
		if (f->nodes[i].port_count > ports)
			ports = f->nodes[i].port_count;
	*s = (struct search){.f = f};
	s->distance = calloc(nodes * 5 + ports + 2 * (size_t)f->link_count, sizeof(uint32_t));
	if (!s->distance)
		return -ENOMEM;
	s->climb = s->distance + nodes;
	s->line = s->climb + nodes;
	s->rank = s->line + nodes;
	s->place = s->rank + nodes;
	s->ports = s->place + nodes;
	s->behind = s->ports + ports;
	for (uint32_t i = 0; i < 2 * f->link_count; i++) {
		const struct roce_fabric_node *to = neighbour(&f->ports[i]);

		s->behind[i] = f->ports[i].is_up && to->sw ? to->index : ROCE_FABRIC_NONE;
	}
	return 0;
}

static int reset(struct roce_fabric *f, struct roce_fabric_switch *sw)
{
	roce_fabric_routes_free(sw);
	sw->routes = calloc(f->host_count + 1, sizeof(*sw->routes));
	if (!sw->routes)
		return -ENOMEM;
	return get_group(sw, NULL, 0); /* GROUP_NONE */
}

static int apply_default(struct roce_fabric *f, const struct roce_fabric_static_route *r)
{
	const struct roce_fabric_node *node = &f->nodes[r->node];
	int err = 0;

	for (uint32_t h = 0; !err && h < f->host_count; h++) {
		const struct roce_fabric_node *host = &f->nodes[f->host_nodes[h]];

		if (host->port_count && neighbour(&host->ports[0]) != node)
			err = set_routes(node->sw, &h, 1, r->ports, r->count);
	}
	return err;
}

/* Defaults first. */
static int apply_statics(struct roce_fabric *f)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < f->static_count; i++)
		if (f->statics[i].count && f->statics[i].dst == ROCE_FABRIC_ANY_HOST)
			err = apply_default(f, &f->statics[i]);
	for (uint32_t i = 0; !err && i < f->static_count; i++) {
		const struct roce_fabric_static_route *r = &f->statics[i];

		if (r->count && r->dst != ROCE_FABRIC_ANY_HOST)
			err = set_routes(f->nodes[r->node].sw, &f->nodes[r->dst].host_number, 1,
					 r->ports, r->count);
	}
	return err;
}

/* From where frames of a host start: its switch, which has a way to that host, too, if it has a
 * link. Two hosts on one cable reach each other. */
static int check_reachable(struct roce_fabric *f)
{
	const struct roce_fabric_node *at = NULL;

	for (uint32_t i = 0; i < f->host_count; i++) {
		const struct roce_fabric_node *node = &f->nodes[f->host_nodes[i]];

		if (!node->port_count)
			return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_UNREACHABLE, node->index,
						  ROCE_FABRIC_NONE, ROCE_FABRIC_NONE);
		if (neighbour(&node->ports[0]) == at)
			continue; /* hosts of a switch mostly follow each other */
		at = neighbour(&node->ports[0]);
		for (uint32_t d = 0; at->sw && d < f->host_count; d++)
			if (at->sw->groups[at->sw->routes[d]].count == 0)
				return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_UNREACHABLE,
							  node->index, ROCE_FABRIC_NONE,
							  ROCE_FABRIC_NONE);
	}
	return 0;
}

int roce_fabric_routes_compute(struct roce_fabric *f)
{
	uint32_t *hosts = calloc(f->host_count + 1, sizeof(*hosts));
	struct search s;
	int err = hosts ? search_init(&s, f) : -ENOMEM;

	if (err) {
		free(hosts);
		return err;
	}
	rank(&s);
	for (uint32_t i = 0; err >= 0 && i < f->node_count; i++)
		if (f->nodes[i].sw)
			err = reset(f, f->nodes[i].sw);
	for (uint32_t i = 0; err >= 0 && i < f->node_count; i++) {
		const struct roce_fabric_node *node = &f->nodes[i];
		uint32_t count = 0;

		for (uint32_t p = 0; node->sw && p < node->port_count; p++)
			if (neighbour(&node->ports[p])->host)
				hosts[count++] = neighbour(&node->ports[p])->host_number;
		if (count)
			err = route_to(&s, node, hosts, count);
	}
	if (err >= 0)
		err = apply_statics(f);
	if (err >= 0)
		err = check_reachable(f);
	free(s.distance);
	free(hosts);
	return err;
}

void roce_fabric_routes_free(struct roce_fabric_switch *sw)
{
	free(sw->routes);
	free(sw->groups);
	free(sw->hops);
	sw->routes = NULL;
	sw->groups = NULL;
	sw->hops = NULL;
	sw->group_count = 0;
	sw->hop_count = 0;
}

int roce_fabric_route(struct roce_fabric *f, enum roce_fabric_routing routing)
{
	f->routing = (uint8_t)routing;
	return f->is_prepared ? roce_fabric_routes_compute(f) : 0;
}

uint32_t roce_fabric_next_hops(const struct roce_fabric *f, uint32_t node, uint32_t dst,
			       uint32_t *out_ports, uint32_t max)
{
	const struct roce_fabric_switch *sw = f->nodes[node].sw;
	const struct roce_fabric_group *group;

	if (!f->is_prepared || !sw || !f->nodes[dst].host)
		return 0;
	group = &sw->groups[sw->routes[f->nodes[dst].host_number]];
	for (uint32_t i = 0; i < group->count && i < max; i++)
		out_ports[i] = sw->hops[group->first + i];
	return group->count;
}
