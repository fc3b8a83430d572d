/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A circle among ingresses that wait for each other, if there is one. Depth first, so each is
 * looked at once; what is told is the shortest circle through one of those that were found, as
 * nobody reads a long one.
 *
 * The frames of an ingress wait in a queue of an egress, and that stands still when the neighbour
 * pauses any of the priorities that share the queue: so an ingress waits for all of these of the
 * neighbour that hold something at all.
 */
#include "fabric/circle.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NEW, ON_PATH, DONE };

/* Ingresses with frames; those that one waits for are gone through by a cursor. */
struct cursor {
	uint32_t node;	 /* number in `first` */
	uint32_t depend; /* which of the node's, */
	uint32_t hop;	 /* which next hop of that, */
	uint32_t prio;	 /* and which of the neighbour's priorities comes next */
};

struct search {
	const struct roce_fabric *f;
	struct roce_fabric_depends depends;
	uint32_t *first; /* by node: of its dependencies; one more at the end */
	uint32_t node_count;
	uint32_t *node_of; /* by number of an ingress, + 1; 0: it holds nothing */
	uint8_t *colour;
	struct cursor *path;
	uint32_t path_count;
	uint32_t *parent; /* of the shortest circle */
	uint32_t *line;
};

/* ---- the graph ---- */

static uint32_t ingress_of(const struct search *s, uint32_t node)
{
	return s->depends.at[s->first[node]].ingress;
}

static int make_nodes(struct search *s)
{
	const struct roce_fabric_depends *d = &s->depends;
	size_t ingresses = 2 * (size_t)s->f->link_count * ROCE_FABRIC_PRIOS;

	s->first = calloc((size_t)d->count + 1, sizeof(*s->first));
	s->node_of = calloc(ingresses + 1, sizeof(*s->node_of));
	s->colour = calloc((size_t)d->count + 1, sizeof(*s->colour));
	s->path = calloc((size_t)d->count + 1, sizeof(*s->path));
	s->parent = calloc((size_t)d->count + 1, sizeof(*s->parent));
	s->line = calloc((size_t)d->count + 1, sizeof(*s->line));
	if (!s->first || !s->node_of || !s->colour || !s->path || !s->parent || !s->line)
		return -ENOMEM;
	for (uint32_t i = 0; i < d->count; i++) {
		if (i && d->at[i].ingress == d->at[i - 1].ingress)
			continue;
		s->first[s->node_count] = i;
		s->node_of[d->at[i].ingress] = ++s->node_count;
	}
	s->first[s->node_count] = d->count;
	return 0;
}

/* The node that the neighbour behind `out` has for `prio`, + 1, if it can stop the queue in which
 * frames of `own_prio` wait; else 0. */
static uint32_t waited_for(const struct search *s, const struct roce_fabric_port *out,
			   uint32_t own_prio, uint32_t prio)
{
	const struct roce_fabric_qos *qos = &out->profile->cfg.qos;

	if (qos->prio_to_tc[qos->remark[own_prio]] != qos->prio_to_tc[prio] ||
	    !roce_fabric_is_pausing(out->peer, prio))
		return 0;
	return s->node_of[roce_fabric_ingress_number(out->peer, prio)];
}

/* The next that the cursor's node waits for, + 1; 0: that was all. */
static uint32_t next(struct search *s, struct cursor *c)
{
	uint32_t ingress = ingress_of(s, c->node);
	const struct roce_fabric_port *in = &s->f->ports[ingress / ROCE_FABRIC_PRIOS];
	const struct roce_fabric_switch *sw = in->node->sw;

	for (; s->first[c->node] + c->depend < s->first[c->node + 1]; c->depend++, c->hop = 0) {
		const struct roce_fabric_depend *d = &s->depends.at[s->first[c->node] + c->depend];
		const struct roce_fabric_group *group = &sw->groups[d->group];

		for (; c->hop < group->count; c->hop++, c->prio = 0) {
			const struct roce_fabric_port *out =
				&in->node->ports[sw->hops[group->first + c->hop]];

			while (out->peer->node->sw && c->prio < ROCE_FABRIC_PRIOS) {
				uint32_t node =
					waited_for(s, out, ingress % ROCE_FABRIC_PRIOS, c->prio++);

				if (node)
					return node;
			}
		}
	}
	return 0;
}

/* ---- searching ---- */

static int take_step(struct search *s)
{
	if (!s->depends.steps_left)
		return -E2BIG;
	s->depends.steps_left--;
	return 0;
}

/* From `root` on; a node on a circle, + 1, or 0. */
static int visit(struct search *s, uint32_t root, uint32_t *out_node)
{
	int err = 0;

	s->path[0] = (struct cursor){.node = root};
	s->path_count = 1;
	s->colour[root] = ON_PATH;
	*out_node = 0;
	while (!err && s->path_count) {
		uint32_t node = next(s, &s->path[s->path_count - 1]);

		err = take_step(s);
		if (!node) {
			s->colour[s->path[--s->path_count].node] = DONE;
		} else if (s->colour[node - 1] == ON_PATH) {
			*out_node = node;
			return err;
		} else if (s->colour[node - 1] == NEW) {
			s->colour[node - 1] = ON_PATH;
			s->path[s->path_count++] = (struct cursor){.node = node - 1};
		}
	}
	return err;
}

/* Breadth first from a node on a circle until it is met again; how many there are on the way, which
 * s->line has then, from the last to the first. */
static uint32_t shorten(struct search *s, uint32_t from)
{
	uint32_t head = 0, tail = 0, count = 0;

	memset(s->parent, 0xff, s->node_count * sizeof(*s->parent));
	s->line[tail++] = from;
	while (head < tail && s->parent[from] == ROCE_FABRIC_NONE) {
		struct cursor c = {.node = s->line[head++]};
		uint32_t node;

		while ((node = next(s, &c)) != 0) {
			if (s->parent[node - 1] != ROCE_FABRIC_NONE)
				continue;
			s->parent[node - 1] = c.node;
			if (node - 1 != from)
				s->line[tail++] = node - 1;
		}
	}
	for (uint32_t node = from; !count || node != from; node = s->parent[node])
		s->line[count++] = node;
	return count;
}

/* Named by the queue that stands still: that at the other end of the link. */
static const struct roce_fabric_port *sender_of(const struct search *s, uint32_t node)
{
	return s->f->ports[ingress_of(s, node) / ROCE_FABRIC_PRIOS].peer;
}

/* Begins with the first of the network, as a reader does. */
static int tell(struct search *s, uint32_t count, struct roce_fabric_cycle **out_cycle)
{
	struct roce_fabric_cycle *cycle = calloc(count, sizeof(*cycle));
	uint32_t begin = 0;

	if (!cycle)
		return -ENOMEM;
	for (uint32_t i = 1; i < count; i++)
		if (sender_of(s, s->line[i]) < sender_of(s, s->line[begin]))
			begin = i;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t node = s->line[(begin + count - i) % count];

		cycle[i] =
			(struct roce_fabric_cycle){.node = sender_of(s, node)->node->index,
						   .port = sender_of(s, node)->index,
						   .prio = ingress_of(s, node) % ROCE_FABRIC_PRIOS};
	}
	*out_cycle = cycle;
	return 0;
}

int roce_fabric_find_circle(const struct roce_fabric *f, uint64_t steps_max,
			    struct roce_fabric_cycle **out_cycle, uint32_t *out_count)
{
	struct search s = {.f = f};
	uint32_t found = 0;
	int err = roce_fabric_depends_init(&s.depends, f, steps_max);

	*out_cycle = NULL;
	*out_count = 0;
	if (!err)
		err = make_nodes(&s);
	for (uint32_t i = 0; !err && !found && i < s.node_count; i++)
		if (s.colour[i] == NEW)
			err = visit(&s, i, &found);
	if (!err && found) {
		uint32_t count = shorten(&s, found - 1);

		err = tell(&s, count, out_cycle);
		*out_count = err ? 0 : count;
	}
	roce_fabric_depends_fini(&s.depends);
	free(s.first);
	free(s.node_of);
	free(s.colour);
	free(s.path);
	free(s.parent);
	free(s.line);
	return err;
}
