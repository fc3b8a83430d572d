/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Listeners by service ID, and which of several takes a request: first the one on the address that
 * the request came to, then a wildcard of that family alone, then one that takes both. Backlog:
 * children whose CONNECT_REQUEST the program has not read yet hang on their listener.
 */
#include "cm/cm_internal.h"

#include "base/marks.h"

#include <errno.h>

static struct roce_cm_listener **bucket_of(struct roce_cm *cm, uint64_t service_id)
{
	uint64_t h = (service_id ^ cm->table_secret) * UINT64_C(0x9e3779b97f4a7c15);

	return &cm->service_table[(h >> 32) & cm->table_mask];
}

static uint64_t service_of(const struct roce_cm_listener *l)
{
	return roce_cm_service_id(l->cfg.port_space, l->cfg.port);
}

/* 0: does not take it; else the higher the closer. */
static unsigned rank(const struct roce_cm_listener *l, const struct roce_cm_route *route)
{
	bool is_v4 = roce_gid_is_v4(&route->local);

	if (!l->cfg.is_wildcard)
		return roce_gid_is_equal(&l->cfg.address, &route->local) &&
				       (!l->cfg.scope || l->cfg.scope == route->scope)
			       ? 3
			       : 0;
	if (!(is_v4 ? l->cfg.takes_v4 : l->cfg.takes_v6))
		return 0;
	return l->cfg.takes_v4 && l->cfg.takes_v6 ? 1 : 2;
}

struct roce_cm_listener *roce_cm_lookup_listener(struct roce_cm *cm, uint64_t service_id,
						 const struct roce_cm_route *route)
{
	struct roce_cm_listener *best = NULL;
	unsigned best_rank = 0;

	for (struct roce_cm_listener *l = *bucket_of(cm, service_id); l; l = l->next_service) {
		unsigned r = service_of(l) == service_id ? rank(l, route) : 0;

		if (r > best_rank) {
			best = l;
			best_rank = r;
		}
	}
	return best;
}

static bool is_same_place(const struct roce_cm_listen *a, const struct roce_cm_listen *b)
{
	if (a->is_wildcard != b->is_wildcard)
		return false;
	if (!a->is_wildcard)
		return roce_gid_is_equal(&a->address, &b->address) && a->scope == b->scope;
	return a->takes_v4 == b->takes_v4 && a->takes_v6 == b->takes_v6;
}

static struct roce_cm_listener *take_storage(struct roce_cm *cm)
{
	struct roce_cm_listener *l;

	if (!roce_list_is_empty(&cm->free_listeners)) {
		l = roce_container_of(cm->free_listeners.next, struct roce_cm_listener, owner_link);
		roce_list_remove(&l->owner_link);
		return l;
	}
	if (cm->listeners_used < cm->cfg.listener_max)
		return &cm->listeners[cm->listeners_used++];
	return NULL;
}

int roce_cm_listen(struct roce_cm *cm, const struct roce_cm_listen *cfg,
		   struct roce_cm_listener **out_listener)
{
	struct roce_cm_listener **bucket =
		bucket_of(cm, roce_cm_service_id(cfg->port_space, cfg->port));
	struct roce_cm_listener *l;

	if (cfg->is_wildcard && !cfg->takes_v4 && !cfg->takes_v6)
		return -EINVAL;
	for (l = *bucket; l; l = l->next_service) {
		if (l->cfg.port_space == cfg->port_space && l->cfg.port == cfg->port &&
		    is_same_place(&l->cfg, cfg))
			return -EADDRINUSE;
	}
	l = cfg->owner->listener_count < cm->cfg.owner_listener_max ? take_storage(cm) : NULL;
	if (!l) {
		ROCE_MARK(listener_full);
		roce_cm_count(cm, ROCE_CM_STAT_LISTENERS_FULL);
		return -ENOMEM;
	}
	*l = (struct roce_cm_listener){.cfg = *cfg, .next_service = *bucket};
	if (!l->cfg.backlog || l->cfg.backlog > ROCE_CM_BACKLOG_MAX)
		l->cfg.backlog = ROCE_CM_BACKLOG_MAX;
	*bucket = l;
	roce_list_init(&l->untaken);
	roce_list_add_tail(&cfg->owner->listeners, &l->owner_link);
	cfg->owner->listener_count++;
	roce_cm_count(cm, ROCE_CM_STAT_LISTENS);
	roce_cm_early_on_listen(cm, service_of(l));
	*out_listener = l;
	return 0;
}

void roce_cm_leave_listener(struct roce_cm_id *id)
{
	if (!id->listener)
		return;
	id->listener->untaken_count--;
	id->listener = NULL;
	roce_list_remove(&id->listener_link);
}

void roce_cm_take(struct roce_cm *cm, struct roce_cm_id *id)
{
	(void)cm;
	roce_cm_leave_listener(id);
}

void roce_cm_unlisten(struct roce_cm *cm, struct roce_cm_listener *l, roce_ns_t now)
{
	struct roce_cm_listener **at = bucket_of(cm, service_of(l));

	while (!roce_list_is_empty(&l->untaken))
		roce_cm_destroy(
			cm, roce_container_of(l->untaken.next, struct roce_cm_id, listener_link),
			now);
	while (*at != l)
		at = &(*at)->next_service;
	*at = l->next_service;
	roce_cm_early_on_unlisten(cm, service_of(l), now);
	l->cfg.owner->listener_count--;
	roce_list_remove(&l->owner_link);
	roce_list_add_tail(&cm->free_listeners, &l->owner_link);
}

void roce_cm_owner_fini(struct roce_cm *cm, struct roce_cm_owner *owner, roce_ns_t now)
{
	while (!roce_list_is_empty(&owner->listeners))
		roce_cm_unlisten(cm,
				 roce_container_of(owner->listeners.next, struct roce_cm_listener,
						   owner_link),
				 now);
	while (!roce_list_is_empty(&owner->ids))
		roce_cm_destroy(
			cm, roce_container_of(owner->ids.next, struct roce_cm_id, owner_link), now);
}
