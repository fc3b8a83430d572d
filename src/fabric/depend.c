/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The routes of all flows, and of what answers them, followed from switch to switch over every next
 * hop. Flows that no switch can tell apart are followed once: hosts behind one switch share all
 * routes but the last, and so do their frames where their ports are configured alike. What a frame
 * is marked with decides its priority at each switch, and changes where a port remarks; so a way is
 * followed by (switch, priority, marks), each once.
 */
#include "fabric/circle.h"

#include "fabric/flow_state.h"
#include "fabric/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MARK_FIRST   ROCE_FABRIC_PRIOS /* as the host marks it; below: as remarked to a priority */
#define MARK_COUNT   (ROCE_FABRIC_PRIOS + 1)
#define FLOW_DEMANDS 4u /* at most */
#define DEMANDS_MAX  (UINT32_C(1) << 25)

/* Frames with these marks come in at a switch from a host and go to another. */
struct demand {
	uint32_t via; /* host numbers; or ROCE_FABRIC_DIRECT */
	uint32_t dst;
	uint32_t in; /* port, by place among all */
	uint16_t dscp;
	uint16_t pcp; /* or ROCE_FABRIC_UNTAGGED */
};

_Static_assert(sizeof(struct demand) == 16, "compared byte by byte");

/* A way as far as it has been followed: frames stand in this switch. */
struct step {
	uint32_t node;
	uint32_t to; /* whose routes it follows: dst, or via as long as that is its way */
	uint8_t prio;
	uint8_t mark;
};

struct walk {
	const struct roce_fabric *f;
	struct roce_fabric_depends *depends;
	struct demand *demands;
	uint32_t demand_count;
	uint32_t *twin; /* of a host, as a source and as a destination: who stands for it */
	uint32_t *like;
	uint32_t *number; /* of a switch, by node */
	uint32_t *round;  /* by step: the walk that took it */
	uint32_t rounds;
	struct step *line;
	uint32_t line_count;
	uint64_t *set; /* of dependencies: ingress << 16 | group, + 1; open addressing */
	uint64_t set_mask;
	uint64_t set_count;
};

/* ---- the set ---- */

static uint64_t *find_place(const struct walk *w, uint64_t key)
{
	uint64_t i = (key * UINT64_C(0x9e3779b97f4a7c15)) >> 20 & w->set_mask;

	while (w->set[i] && w->set[i] != key)
		i = (i + 1) & w->set_mask;
	return &w->set[i];
}

static int grow_set(struct walk *w)
{
	struct walk wider = {.set_mask = w->set ? 2 * w->set_mask + 1 : 1023};

	wider.set = calloc(wider.set_mask + 1, sizeof(*wider.set));
	if (!wider.set)
		return -ENOMEM;
	for (uint64_t i = 0; w->set && i <= w->set_mask; i++)
		if (w->set[i])
			*find_place(&wider, w->set[i]) = w->set[i];
	free(w->set);
	w->set = wider.set;
	w->set_mask = wider.set_mask;
	return 0;
}

static int note(struct walk *w, const struct roce_fabric_port *in, uint8_t prio, uint32_t group)
{
	uint64_t key = ((uint64_t)roce_fabric_ingress_number(in, prio) << 16 | group) + 1;
	uint64_t *place;

	if (2 * w->set_count >= w->set_mask && grow_set(w))
		return -ENOMEM;
	place = find_place(w, key);
	w->set_count += !*place;
	*place = key;
	return 0;
}

/* ---- following ---- */

static uint64_t step_number(const struct walk *w, const struct step *s, bool is_detour)
{
	uint64_t number = (uint64_t)w->number[s->node] * ROCE_FABRIC_PRIOS + s->prio;

	return (number * MARK_COUNT + s->mark) * 2 + is_detour;
}

static uint8_t classify(const struct roce_fabric_port *in, const struct demand *d, uint8_t mark)
{
	uint32_t dscp = mark == MARK_FIRST ? d->dscp : (uint32_t)mark << 3 | (d->dscp & 7u);
	uint32_t pcp = mark == MARK_FIRST || d->pcp == ROCE_FABRIC_UNTAGGED ? d->pcp : mark;

	return roce_fabric_classify(&in->profile->cfg.qos, (uint8_t)(dscp << 2), (uint8_t)pcp);
}

static const struct roce_fabric_group *group_of(const struct roce_fabric_switch *sw, uint32_t to)
{
	return &sw->groups[sw->routes[to]];
}

static int arrive(struct walk *w, const struct roce_fabric_port *in, const struct demand *d,
		  uint8_t mark, uint32_t to)
{
	const struct roce_fabric_node *node = in->node;
	struct step s = {.node = node->index, .to = to, .mark = mark};
	uint32_t *round;
	int err = 0;

	if (!node->sw)
		return 0;
	if (s.to != d->dst && roce_fabric_is_region_of(node, s.to))
		s.to = d->dst;
	s.prio = classify(in, d, mark);
	if (roce_fabric_is_pausing(in, s.prio))
		err = note(w, in, s.prio, node->sw->routes[s.to]);
	round = &w->round[step_number(w, &s, s.to != d->dst)];
	if (*round == w->rounds)
		return err;
	*round = w->rounds;
	w->line[w->line_count++] = s;
	return err;
}

static int leave(struct walk *w, const struct demand *d, const struct step *s)
{
	const struct roce_fabric_node *node = &w->f->nodes[s->node];
	const struct roce_fabric_group *group = group_of(node->sw, s->to);
	int err = 0;

	for (uint32_t i = 0; !err && i < group->count; i++) {
		const struct roce_fabric_port *out = &node->ports[node->sw->hops[group->first + i]];
		uint8_t prio = out->profile->cfg.qos.remark[s->prio];

		if (!w->depends->steps_left)
			return -E2BIG;
		w->depends->steps_left--;
		err = arrive(w, out->peer, d, prio == s->prio ? s->mark : prio, s->to);
	}
	return err;
}

static bool is_one_walk(const struct demand *a, const struct demand *b)
{
	return a->dst == b->dst && a->via == b->via && a->dscp == b->dscp && a->pcp == b->pcp;
}

/* Demands that differ in their source alone; how many. */
static int follow(struct walk *w, const struct demand *d, uint32_t *out_count)
{
	uint32_t left = w->demand_count - (uint32_t)(d - w->demands);
	uint32_t head = 0, n = 0;
	int err = 0;

	w->rounds++;
	w->line_count = 0;
	for (; !err && n < left && is_one_walk(d, &d[n]); n++)
		err = arrive(w, &w->f->ports[d[n].in], d, MARK_FIRST,
			     d->via == ROCE_FABRIC_DIRECT ? d->dst : d->via);
	while (!err && head < w->line_count)
		err = leave(w, d, &w->line[head++]);
	*out_count = n;
	return err;
}

/* ---- demands ---- */

/* Of the hosts at one switch, those that are alike: sources whose ports at the switch are
 * configured the same way, destinations that have no routes of their own. */
static void find_twins(struct walk *w, const struct roce_fabric_node *node)
{
	const struct roce_fabric_port *last = NULL;
	uint32_t like = ROCE_FABRIC_NONE;

	for (uint32_t p = 0; p < node->port_count; p++) {
		const struct roce_fabric_port *port = &node->ports[p];
		uint32_t host = port->peer->node->host_number;

		if (!port->peer->node->host)
			continue;
		w->twin[host] = last && last->profile == port->profile
					? w->twin[last->peer->node->host_number]
					: host;
		last = port;
		if (w->like[host] == host)
			continue;
		if (like == ROCE_FABRIC_NONE)
			like = host;
		w->like[host] = like;
	}
}

static void find_all_twins(struct walk *w)
{
	const struct roce_fabric *f = w->f;

	memset(w->like, 0xff, f->host_count * sizeof(*w->like));
	for (uint32_t i = 0; i < f->static_count; i++) {
		const struct roce_fabric_static_route *r = &f->statics[i];

		if (r->count && r->dst != ROCE_FABRIC_ANY_HOST)
			w->like[f->nodes[r->dst].host_number] = f->nodes[r->dst].host_number;
	}
	for (uint32_t i = 0, switches = 0; i < f->node_count; i++) {
		if (!f->nodes[i].sw)
			continue;
		w->number[i] = switches++;
		find_twins(w, &f->nodes[i]);
	}
}

/* Frames from one end of the flow to the other, marked like this. */
static void add_demand(struct walk *w, const struct roce_fabric_flow *flow, bool is_src,
		       uint8_t prio, uint8_t dscp)
{
	const struct roce_fabric *f = w->f;
	uint32_t src = f->nodes[is_src ? flow->cfg.src : flow->cfg.dst].host_number;
	uint32_t dst = f->nodes[is_src ? flow->cfg.dst : flow->cfg.src].host_number;
	const struct roce_fabric_port *from = f->nodes[f->host_nodes[w->twin[src]]].ports;

	w->demands[w->demand_count++] = (struct demand){
		.via = flow->via == ROCE_FABRIC_DIRECT ? flow->via : w->like[flow->via],
		.dst = w->like[dst],
		.in = (uint32_t)(from->peer - f->ports),
		.dscp = dscp,
		.pcp = roce_fabric_flow_host(flow, is_src)->cfg.is_tagged ? prio
									  : ROCE_FABRIC_UNTAGGED,
	};
}

static void add_data(struct walk *w, const struct roce_fabric_flow *flow, bool is_src)
{
	const struct roce_fabric_flow_config *cfg = &flow->cfg;
	const struct roce_fabric_qos *qos =
		&roce_fabric_flow_host(flow, is_src)->port->profile->cfg.qos;

	add_demand(w, flow, is_src, roce_fabric_classify(qos, (uint8_t)(cfg->dscp << 2), cfg->prio),
		   cfg->dscp);
}

static void add_acks(struct walk *w, const struct roce_fabric_flow *flow, bool is_src)
{
	const struct roce_fabric_host_config *host = &roce_fabric_flow_host(flow, is_src)->cfg;

	if (host->ack_prio < 0)
		add_data(w, flow, is_src); /* they are marked as the data are */
	else
		add_demand(w, flow, is_src, (uint8_t)host->ack_prio, host->ack_dscp);
}

/* Messages and their acknowledgements; answers, or what READ asked for, and the answers'
 * acknowledgements. CNPs are left out: a queue pair sends one in tens of microseconds, which fills
 * no buffer. */
static void add_flow(struct walk *w, const struct roce_fabric_flow *flow)
{
	const struct roce_fabric_flow_config *cfg = &flow->cfg;
	bool is_read = cfg->operation == ROCE_FABRIC_READ;
	bool has_acks = cfg->transport == ROCE_FABRIC_RC && !is_read;

	if (!roce_fabric_flow_host(flow, true)->port->peer->node->sw ||
	    !roce_fabric_flow_host(flow, false)->port->peer->node->sw)
		return;
	add_data(w, flow, true);
	if (has_acks)
		add_acks(w, flow, false);
	if (cfg->response_bytes || is_read)
		add_data(w, flow, false);
	if (cfg->response_bytes && has_acks)
		add_acks(w, flow, true);
}

static int compare_demands(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct demand));
}

static int add_demands(struct walk *w)
{
	const struct roce_fabric *f = w->f;
	uint32_t kept = 0;

	if (f->flow_count > DEMANDS_MAX / FLOW_DEMANDS)
		return -E2BIG;
	w->demands = calloc(FLOW_DEMANDS * (size_t)f->flow_count + 1, sizeof(*w->demands));
	if (!w->demands)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->flow_count; i++)
		add_flow(w, f->flows[i]);
	qsort(w->demands, w->demand_count, sizeof(*w->demands), compare_demands);
	for (uint32_t i = 0; i < w->demand_count; i++)
		if (!kept || compare_demands(&w->demands[kept - 1], &w->demands[i]) != 0)
			w->demands[kept++] = w->demands[i];
	w->demand_count = kept;
	return 0;
}

/* ---- the whole ---- */

static int walk_init(struct walk *w)
{
	const struct roce_fabric *f = w->f;
	uint64_t switches = f->node_count - f->host_count;
	uint64_t steps = switches * ROCE_FABRIC_PRIOS * MARK_COUNT * 2;

	w->twin = calloc(2 * (size_t)f->host_count + f->node_count, sizeof(*w->twin));
	w->round = calloc(steps + 1, sizeof(*w->round));
	w->line = calloc(steps + 1, sizeof(*w->line));
	if (!w->twin || !w->round || !w->line)
		return -ENOMEM;
	w->like = w->twin + f->host_count;
	w->number = w->like + f->host_count;
	find_all_twins(w);
	return add_demands(w);
}

static int compare_depends(const void *a, const void *b)
{
	const struct roce_fabric_depend *x = a, *y = b;

	if (x->ingress != y->ingress)
		return x->ingress < y->ingress ? -1 : 1;
	return x->group < y->group ? -1 : x->group > y->group;
}

static int sort_set(const struct walk *w, struct roce_fabric_depends *d)
{
	d->at = calloc(w->set_count + 1, sizeof(*d->at));
	if (!d->at)
		return -ENOMEM;
	for (uint64_t i = 0; w->set && i <= w->set_mask; i++) {
		uint64_t key = w->set[i] - 1;

		if (w->set[i])
			d->at[d->count++] =
				(struct roce_fabric_depend){(uint32_t)(key >> 16), key & 0xffff};
	}
	qsort(d->at, d->count, sizeof(*d->at), compare_depends);
	return 0;
}

int roce_fabric_depends_init(struct roce_fabric_depends *d, const struct roce_fabric *f,
			     uint64_t steps_max)
{
	struct walk w = {.f = f, .depends = d};
	int err;

	*d = (struct roce_fabric_depends){.steps_left = steps_max};
	err = walk_init(&w);
	for (uint32_t i = 0, n; !err && i < w.demand_count; i += n)
		err = follow(&w, &w.demands[i], &n);
	if (!err)
		err = sort_set(&w, d);
	free(w.demands);
	free(w.twin);
	free(w.round);
	free(w.line);
	free(w.set);
	return err;
}

void roce_fabric_depends_fini(struct roce_fabric_depends *d)
{
	free(d->at);
	*d = (struct roce_fabric_depends){0};
}
