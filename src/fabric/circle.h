/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who may wait for whom, before anything runs. An ingress is what one priority of one port of a
 * switch holds in the buffer. If it pauses its sender, the sender's queue stands still until it
 * drains, and it drains when the queues may send in which its frames stand. So ingresses wait for
 * ingresses further on, along the routes that frames take, and where that goes round in a circle a
 * network can lock up.
 *
 * depend.c follows the routes of the flows and notes by which next hops the frames of each ingress
 * leave; circle.c looks for a circle in that.
 */
#ifndef ROCE_FABRIC_CIRCLE_H
#define ROCE_FABRIC_CIRCLE_H

#include "fabric/state.h"

/* Frames of an ingress leave by the next hops of a group, of its switch. */
struct roce_fabric_depend {
	uint32_t ingress; /* place of its port among all * ROCE_FABRIC_PRIOS + priority */
	uint32_t group;
};

struct roce_fabric_depends {
	struct roce_fabric_depend *at; /* sorted, each once */
	uint32_t count;
	uint64_t steps_left; /* that may still be taken */
};

/* Of all flows that there are. 0, -ENOMEM, or -E2BIG: the steps are used up. To be freed in any
 * case. */
int roce_fabric_depends_init(struct roce_fabric_depends *d, const struct roce_fabric *f,
			     uint64_t steps_max);
void roce_fabric_depends_fini(struct roce_fabric_depends *d);

static inline uint32_t roce_fabric_ingress_number(const struct roce_fabric_port *port,
						  uint32_t prio)
{
	return (uint32_t)(port - port->f->ports) * ROCE_FABRIC_PRIOS + prio;
}

/* Does it stop the queue of another switch? */
static inline bool roce_fabric_is_pausing(const struct roce_fabric_port *in, uint32_t prio)
{
	return in->node->sw && in->peer->node->sw && (in->profile->cfg.pfc.prios >> prio & 1) &&
	       (in->peer->profile->cfg.pfc.prios >> prio & 1);
}

#endif
