/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a change of the port does to the objects of the device, and which asynchronous events tell
 * of it. Datagram queue pairs follow first, so that a program that hears of an address can use it.
 *
 * A connected queue pair stays with the address that it was given: when that leaves, what it sends
 * is lost, and it fails as it would with an unplugged cable; when it comes back in time nothing has
 * happened.
 */
#include "verbs/context.h"
#include "verbs/qp_verbs.h"

static uint32_t type_of(enum roce_port_event event)
{
	static const uint32_t types[] = {
#define X(name, type) type,
		ROCE_PORT_EVENTS(X)
#undef X
	};

	return types[event];
}

/* ---- datagram queue pairs ---- */

/* mtu 0: none fits the network device now. */
static void follow(struct roce_context *ctx, const struct roce_locals *now, uint8_t mtu)
{
	struct roce_list *pos;

	roce_list_for_each (pos, &ctx->qps) {
		struct roce_verbs_qp *vqp = roce_container_of(pos, struct roce_verbs_qp, link);

		if (vqp->qp.cfg.type != ROCE_QP_UD)
			continue;
		if (mtu)
			vqp->qp.cfg.port_mtu = mtu;
		if (vqp->has_locals)
			roce_locals_follow(vqp, now);
	}
}

static void follow_all(struct roce_device *dev)
{
	struct roce_locals now;
	struct roce_port_info port;
	struct roce_list *pos;

	if (roce_list_is_empty(&dev->contexts) || dev->env->query_port(dev->env_ctx, &port) != 0 ||
	    roce_locals_read(dev, &now) != 0)
		return;
	roce_list_for_each (pos, &dev->contexts)
		follow(roce_container_of(pos, struct roce_context, link), &now, port.active_mtu);
}

/* ---- events ---- */

static void post(struct roce_context *ctx, enum roce_port_event event)
{
	roce_events_post(&ctx->async, &ctx->port_events[event], type_of(event));
}

static void post_link(struct roce_context *ctx, bool is_up)
{
	enum roce_port_event event = is_up ? ROCE_PORT_ACTIVE : ROCE_PORT_ERR;
	enum roce_port_event opposite = is_up ? ROCE_PORT_ERR : ROCE_PORT_ACTIVE;

	roce_events_post_state(&ctx->async, &ctx->port_events[event], &ctx->port_events[opposite],
			       type_of(event));
}

static void tell(struct roce_context *ctx, const struct roce_port_change *c)
{
	if (c->is_up != c->was_up) {
		post_link(ctx, c->is_up);
	} else if (c->is_flapped) {
		post_link(ctx, !c->is_up);
		post_link(ctx, c->is_up);
	}
	if (c->is_gid_changed)
		post(ctx, ROCE_PORT_GID_CHANGE);
	if (c->is_gone)
		post(ctx, ROCE_PORT_FATAL);
}

void roce_device_on_port_change(struct roce_device *dev, const struct roce_port_change *change)
{
	struct roce_list *pos;

	if (change->is_gid_changed || change->is_mtu_changed)
		follow_all(dev);
	roce_list_for_each (pos, &dev->contexts)
		tell(roce_container_of(pos, struct roce_context, link), change);
}
