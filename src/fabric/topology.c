/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Building: nodes and links are collected until prepare() makes ports of them, all in one block,
 * and sizes buffers, routes and hosts. Nothing of the network is allocated after that but frames.
 */
#include "fabric/state.h"

#include "base/assert.h"
#include "fabric/ecmp.h"
#include "fabric/host.h"
#include "fabric/pages.h"
#include "fabric/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RATE_MIN 1000u
#define RATE_MAX UINT64_C(800000000000)

/* Room for one more in a growing array. */
static int make_room(void *array, uint32_t count, uint32_t *room, size_t size)
{
	void **items = array;
	uint32_t more = *room ? *room * 2 : 16;
	void *grown;

	if (count < *room)
		return 0;
	grown = realloc(*items, more * size);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*room = more;
	return 0;
}

int roce_fabric_create(const struct roce_fabric_config *cfg, struct roce_fabric **out)
{
	const struct roce_fabric_framing *framing = &cfg->framing;
	struct roce_fabric *f;

	if (framing->data_extra_bytes > ROCE_FABRIC_FRAME_BYTES_MAX - ROCE_MTU_BYTES_MAX ||
	    framing->ack_bytes > ROCE_FABRIC_FRAME_BYTES_MAX)
		return -EINVAL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->cfg = *cfg;
	f->observer = cfg->observer;
	f->observer_ctx = cfg->observer_ctx;
	roce_event_queue_init(&f->queue);
	*out = f;
	return 0;
}

static int add_node(struct roce_fabric *f, const struct roce_fabric_port_config *port)
{
	struct roce_fabric_node *node;
	int err;

	if (f->is_prepared)
		return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_PREPARED, f->node_count,
					  ROCE_FABRIC_NONE, ROCE_FABRIC_NONE);
	err = roce_fabric_check_port(f, port, f->node_count, ROCE_FABRIC_NONE);
	if (!err)
		err = make_room(&f->nodes, f->node_count, &f->node_room, sizeof(*f->nodes));
	if (err)
		return err;
	node = &f->nodes[f->node_count];
	*node = (struct roce_fabric_node){.index = f->node_count,
					  .host_number = ROCE_FABRIC_NONE,
					  .profile = roce_fabric_profile_get(f, port)};
	return node->profile ? 0 : -ENOMEM;
}

int roce_fabric_add_host(struct roce_fabric *f, const struct roce_fabric_host_config *cfg,
			 uint32_t *out_node)
{
	int err = add_node(f, &cfg->port);
	uint32_t *numbers;

	if (!err)
		err = roce_fabric_host_create(f, &f->nodes[f->node_count], cfg);
	if (err)
		return err;
	numbers = realloc(f->host_nodes, (f->host_count + 1) * sizeof(*numbers));
	if (!numbers) {
		roce_fabric_host_destroy(&f->nodes[f->node_count]);
		return -ENOMEM;
	}
	f->host_nodes = numbers;
	numbers[f->host_count] = f->node_count;
	f->nodes[f->node_count].host_number = f->host_count++;
	*out_node = f->node_count++;
	return 0;
}

int roce_fabric_add_switch(struct roce_fabric *f, const struct roce_fabric_switch_config *cfg,
			   uint32_t *out_node)
{
	int err = add_node(f, &cfg->port);
	struct roce_fabric_switch *sw;

	if (err)
		return err;
	sw = roce_fabric_pages_get(sizeof(*sw));
	if (!sw)
		return -ENOMEM;
	*sw = (struct roce_fabric_switch){
		.cfg = *cfg, .hash = cfg->hash, .acl_count = cfg->acl_count};
	if (cfg->acl_count) {
		sw->acl = calloc(cfg->acl_count, sizeof(*sw->acl));
		if (!sw->acl) {
			free(sw);
			return -ENOMEM;
		}
		memcpy(sw->acl, cfg->acl, cfg->acl_count * sizeof(*sw->acl));
	}
	sw->cfg.acl = sw->acl;
	f->nodes[f->node_count].sw = sw;
	*out_node = f->node_count++;
	return 0;
}

static int check_link(struct roce_fabric *f, uint32_t a, uint32_t b,
		      const struct roce_fabric_link_config *cfg)
{
	enum roce_fabric_fault fault = ROCE_FABRIC_FAULT_NONE;

	if (f->is_prepared)
		fault = ROCE_FABRIC_FAULT_PREPARED;
	else if (a >= f->node_count || b >= f->node_count)
		fault = ROCE_FABRIC_FAULT_NO_SUCH_NODE;
	else if (a == b)
		fault = ROCE_FABRIC_FAULT_SELF_LINK;
	else if (cfg->rate_bps < RATE_MIN || cfg->rate_bps > RATE_MAX)
		fault = ROCE_FABRIC_FAULT_RATE;
	else if ((f->nodes[a].host && f->nodes[a].port_count) ||
		 (f->nodes[b].host && f->nodes[b].port_count))
		fault = ROCE_FABRIC_FAULT_HOST_PORTS;
	if (fault != ROCE_FABRIC_FAULT_NONE)
		return roce_fabric_refuse(f, fault, a, ROCE_FABRIC_NONE, ROCE_FABRIC_NONE);
	return 0;
}

int roce_fabric_connect(struct roce_fabric *f, uint32_t a, uint32_t b,
			const struct roce_fabric_link_config *cfg, uint32_t *out_a_port,
			uint32_t *out_b_port)
{
	const uint32_t nodes[2] = {a, b};
	struct roce_fabric_link *link;
	int err = check_link(f, a, b, cfg);

	for (uint32_t i = 0; !err && i < 2; i++)
		if (cfg->port[i])
			err = roce_fabric_check_port(f, cfg->port[i], nodes[i],
						     f->nodes[nodes[i]].port_count);
	if (!err)
		err = make_room(&f->links, f->link_count, &f->link_room, sizeof(*f->links));
	if (err)
		return err;
	link = &f->links[f->link_count];
	*link = (struct roce_fabric_link){.cfg = *cfg, .node = {a, b}};
	for (uint32_t i = 0; i < 2; i++) {
		link->profile[i] = cfg->port[i] ? roce_fabric_profile_get(f, cfg->port[i])
						: f->nodes[nodes[i]].profile;
		if (!link->profile[i])
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < 2; i++)
		link->port[i] = f->nodes[nodes[i]].port_count++;
	if (out_a_port)
		*out_a_port = link->port[0];
	if (out_b_port)
		*out_b_port = link->port[1];
	f->link_count++;
	return 0;
}

/* ---- prepare ---- */

static int make_ports(struct roce_fabric *f)
{
	size_t count = 2 * (size_t)f->link_count + 1;
	size_t size = count * sizeof(*f->ports);
	struct roce_fabric_port *next = roce_fabric_pages_get(size);

	if (!next)
		return -ENOMEM;
	memset(next, 0, size);
	f->ports = next;
	for (uint32_t i = 0; i < f->node_count; i++) {
		f->nodes[i].ports = next;
		next += f->nodes[i].port_count;
	}
	return 0;
}

static void join(struct roce_fabric *f, const struct roce_fabric_link *link)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct roce_fabric_node *node = &f->nodes[link->node[i]];
		struct roce_fabric_port *port = &node->ports[link->port[i]];

		port->f = f;
		port->node = node;
		port->index = link->port[i];
		port->peer = &f->nodes[link->node[!i]].ports[link->port[!i]];
		port->profile = link->profile[i];
		port->rate_bps = link->cfg.rate_bps;
		port->delay_ps = link->cfg.delay_ps;
		port->is_up = true;
	}
}

static int start_faults(struct roce_fabric *f, const struct roce_fabric_link *link,
			struct roce_prng *root)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < 2; i++) {
		struct roce_prng own = {roce_prng_next(root)};

		err = roce_fabric_faults_init(&f->nodes[link->node[i]].ports[link->port[i]],
					      &link->cfg.faults[i], &own);
	}
	return err;
}

static void seed_switches(struct roce_fabric *f)
{
	struct roce_prng root = {roce_fabric_mix(f->cfg.seed)};

	for (uint32_t i = 0; i < f->node_count; i++) {
		struct roce_fabric_switch *sw = f->nodes[i].sw;

		if (!sw)
			continue;
		sw->hash_seed = roce_prng_next(&root);
		sw->wred.state = roce_prng_next(&root);
		sw->tie.state = roce_prng_next(&root);
	}
}

/* The hosts that are broken in this way. */
static void pause_for_ever(struct roce_fabric *f)
{
	for (uint32_t i = 0; i < f->host_count; i++) {
		struct roce_fabric_host *host = f->nodes[f->host_nodes[i]].host;

		host->storms = host->cfg.is_pausing_forever;
		roce_fabric_host_storm(host);
	}
}

int roce_fabric_prepare(struct roce_fabric *f)
{
	struct roce_prng root = {f->cfg.seed};
	int err;

	if (f->is_prepared)
		return roce_fabric_refuse(f, ROCE_FABRIC_FAULT_PREPARED, ROCE_FABRIC_NONE,
					  ROCE_FABRIC_NONE, ROCE_FABRIC_NONE);
	ROCE_ASSERT(f->host_count <= ROCE_FABRIC_FRAME_NUMBERS);
	err = f->ports ? 0 : make_ports(f);
	for (uint32_t i = 0; !err && i < f->link_count; i++)
		join(f, &f->links[i]);
	for (uint32_t i = 0; !err && i < f->link_count; i++)
		err = start_faults(f, &f->links[i], &root);
	for (uint32_t i = 0; !err && i < 2 * f->link_count; i++)
		roce_fabric_port_init(&f->ports[i]);
	seed_switches(f);
	if (!err)
		err = roce_fabric_buffers_prepare(f);
	if (!err)
		err = roce_fabric_routes_compute(f);
	if (!err && !f->gids)
		f->gids = calloc(f->host_count + 1, sizeof(*f->gids));
	if (!err && !f->gids)
		err = -ENOMEM;
	for (uint32_t i = 0; !err && i < f->host_count; i++)
		err = roce_fabric_host_prepare(&f->nodes[f->host_nodes[i]]);
	if (!err)
		err = roce_fabric_watchdogs_start(f);
	if (!err)
		err = roce_fabric_deadlock_start(f);
	if (!err)
		pause_for_ever(f);
	f->is_prepared = !err;
	return err;
}

/* ---- the end ---- */

static void free_frames(struct roce_fabric *f)
{
	roce_fabric_frame_pool_fini(&f->frames);
	roce_fabric_late_free_all(f);
}

void roce_fabric_destroy(struct roce_fabric *f)
{
	if (!f)
		return;
	roce_fabric_flows_free(f);
	roce_fabric_watchdogs_free(f);
	roce_fabric_host_changes_free(f);
	roce_fabric_deadlock_free(f);
	for (uint32_t i = 0; i < f->node_count; i++) {
		struct roce_fabric_switch *sw = f->nodes[i].sw;

		roce_fabric_host_destroy(&f->nodes[i]);
		if (!sw)
			continue;
		roce_fabric_routes_free(sw);
		free(sw->acl);
		free(sw);
	}
	for (uint32_t i = 0; f->ports && i < 2 * f->link_count; i++)
		free(f->ports[i].faults);
	for (uint32_t i = 0; i < f->static_count; i++)
		free(f->statics[i].ports);
	while (f->profiles) {
		struct roce_fabric_profile *p = f->profiles;

		f->profiles = p->next;
		free(p);
	}
	free_frames(f);
	roce_event_queue_fini(&f->queue);
	free(f->statics);
	free(f->static_slots);
	free(f->ports);
	free(f->links);
	free(f->host_nodes);
	free(f->gids);
	free(f->nodes);
	free(f);
}
