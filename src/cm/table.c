/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Storage of the CM and its three hash tables of ids: by our number, by the peer's number, by the
 * peer's QPN (cm_internal.h says when an ID is in which). Memory is handed out from a free list
 * first, then from what was never touched, last by giving up the finished ID that has been kept
 * longest; only when all are in use is the table full.
 */
#include "cm/cm_internal.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/marks.h"

#define ALIGNMENT 16u

/* ---- storage ---- */

struct layout {
	size_t ids, timers, local_table, peer_table, qpn_table, service_table, listeners, replies;
	size_t total;
	uint32_t buckets;
};

static size_t take_bytes(struct layout *l, size_t count, size_t size)
{
	size_t at = l->total;

	l->total += (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	return at;
}

static struct layout lay_out(const struct roce_cm_config *cfg)
{
	struct layout l = {.buckets = 1};

	while (l.buckets < cfg->id_max)
		l.buckets *= 2;
	take_bytes(&l, 1, sizeof(struct roce_cm));
	l.ids = take_bytes(&l, cfg->id_max, sizeof(struct roce_cm_id));
	l.timers = take_bytes(&l, cfg->id_max, sizeof(struct roce_timer *));
	l.local_table = take_bytes(&l, l.buckets, sizeof(struct roce_cm_id *));
	l.peer_table = take_bytes(&l, l.buckets, sizeof(struct roce_cm_id *));
	l.qpn_table = take_bytes(&l, l.buckets, sizeof(struct roce_cm_id *));
	l.service_table = take_bytes(&l, l.buckets, sizeof(struct roce_cm_listener *));
	l.listeners = take_bytes(&l, cfg->listener_max, sizeof(struct roce_cm_listener));
	l.replies = take_bytes(&l, cfg->reply_max, sizeof(struct roce_cm_packet));
	return l;
}

size_t roce_cm_storage_bytes(const struct roce_cm_config *cfg)
{
	return lay_out(cfg).total;
}

struct roce_cm *roce_cm_init(void *storage, const struct roce_cm_config *cfg)
{
	const struct layout l = lay_out(cfg);
	uint8_t *base = storage;
	struct roce_cm *cm = storage;

	cm->cfg = *cfg;
	cm->ids = (void *)(base + l.ids);
	cm->local_table = (void *)(base + l.local_table);
	cm->peer_table = (void *)(base + l.peer_table);
	cm->qpn_table = (void *)(base + l.qpn_table);
	cm->service_table = (void *)(base + l.service_table);
	cm->table_mask = l.buckets - 1;
	cm->table_secret = cfg->ops->random(cfg->ctx);
	cm->listeners = (void *)(base + l.listeners);
	cm->replies = (void *)(base + l.replies);
	roce_timer_heap_init(&cm->timers, (void *)(base + l.timers), cfg->id_max);
	roce_list_init(&cm->free_ids);
	roce_list_init(&cm->free_listeners);
	roce_list_init(&cm->tx);
	roce_list_init(&cm->reports);
	roce_list_init(&cm->held);
	return cm;
}

const struct roce_cm_counters *roce_cm_counters(const struct roce_cm *cm)
{
	return &cm->counters;
}

struct roce_cm_usage roce_cm_usage(const struct roce_cm *cm)
{
	return (struct roce_cm_usage){
		.ids = cm->id_count, .held = cm->held_count, .half_open = cm->half_open_count};
}

/* ---- hashes ---- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	h ^= h >> 29;
	h *= UINT64_C(0xbf58476d1ce4e5b9);
	return h ^ h >> 32;
}

static struct roce_cm_id **local_bucket(struct roce_cm *cm, uint32_t local_id)
{
	return &cm->local_table[mix(cm->table_secret, local_id) & cm->table_mask];
}

static struct roce_cm_id **far_bucket(struct roce_cm *cm, struct roce_cm_id **table,
				      const struct roce_cm_info *key, uint32_t number)
{
	uint64_t h = mix(cm->table_secret, number);

	h = mix(h, key->remote_guid);
	h = mix(h, roce_get_be64(key->route.remote.raw));
	h = mix(h, roce_get_be64(key->route.remote.raw + 8));
	return &table[h & cm->table_mask];
}

static bool is_same_device(const struct roce_cm_info *a, const struct roce_cm_info *b)
{
	return a->remote_guid == b->remote_guid && a->route.scope == b->route.scope &&
	       roce_gid_is_equal(&a->route.remote, &b->route.remote);
}

bool roce_cm_is_sidr(const struct roce_cm_id *id)
{
	return id->info.qp_type == ROCE_CM_QP_UD;
}

struct roce_cm_id *roce_cm_lookup_local(struct roce_cm *cm, uint32_t local_id)
{
	struct roce_cm_id *id = *local_bucket(cm, local_id);

	while (id && id->info.local_id != local_id)
		id = id->next_local;
	return id;
}

struct roce_cm_id *roce_cm_lookup_peer(struct roce_cm *cm, const struct roce_cm_info *key,
				       bool is_sidr)
{
	struct roce_cm_id *id = *far_bucket(cm, cm->peer_table, key, key->remote_id);

	while (id && (id->info.remote_id != key->remote_id || roce_cm_is_sidr(id) != is_sidr ||
		      !is_same_device(&id->info, key)))
		id = id->next_peer;
	return id;
}

struct roce_cm_id *roce_cm_lookup_qpn(struct roce_cm *cm, const struct roce_cm_info *key)
{
	struct roce_cm_id *id = *far_bucket(cm, cm->qpn_table, key, key->remote_qpn.v);

	while (id &&
	       (id->info.remote_qpn.v != key->remote_qpn.v || !is_same_device(&id->info, key)))
		id = id->next_qpn;
	return id;
}

static void enter_local(struct roce_cm *cm, struct roce_cm_id *id)
{
	struct roce_cm_id **bucket = local_bucket(cm, id->info.local_id);

	id->next_local = *bucket;
	*bucket = id;
}

void roce_cm_enter_peer(struct roce_cm *cm, struct roce_cm_id *id)
{
	struct roce_cm_id **bucket = far_bucket(cm, cm->peer_table, &id->info, id->info.remote_id);

	ROCE_ASSERT(!id->is_in_peer_table);
	id->is_in_peer_table = true;
	id->next_peer = *bucket;
	*bucket = id;
}

void roce_cm_enter_qpn(struct roce_cm *cm, struct roce_cm_id *id)
{
	struct roce_cm_id **bucket =
		far_bucket(cm, cm->qpn_table, &id->info, id->info.remote_qpn.v);

	ROCE_ASSERT(!id->is_in_qpn_table);
	id->is_in_qpn_table = true;
	id->next_qpn = *bucket;
	*bucket = id;
}

static void leave_local(struct roce_cm *cm, struct roce_cm_id *id)
{
	struct roce_cm_id **at = local_bucket(cm, id->info.local_id);

	while (*at != id)
		at = &(*at)->next_local;
	*at = id->next_local;
}

static void leave_peer(struct roce_cm *cm, struct roce_cm_id *id)
{
	struct roce_cm_id **at = far_bucket(cm, cm->peer_table, &id->info, id->info.remote_id);

	if (!id->is_in_peer_table)
		return;
	id->is_in_peer_table = false;
	while (*at != id)
		at = &(*at)->next_peer;
	*at = id->next_peer;
}

void roce_cm_leave_qpn(struct roce_cm *cm, struct roce_cm_id *id)
{
	struct roce_cm_id **at = far_bucket(cm, cm->qpn_table, &id->info, id->info.remote_qpn.v);

	if (!id->is_in_qpn_table)
		return;
	id->is_in_qpn_table = false;
	while (*at != id)
		at = &(*at)->next_qpn;
	*at = id->next_qpn;
}

/* ---- ids ---- */

static uint32_t new_local_id(struct roce_cm *cm)
{
	uint32_t number;

	do {
		number = (uint32_t)cm->cfg.ops->random(cm->cfg.ctx);
	} while (!number || roce_cm_lookup_local(cm, number));
	return number;
}

static struct roce_cm_id *take_storage(struct roce_cm *cm)
{
	struct roce_cm_id *id;

	if (!roce_list_is_empty(&cm->free_ids)) {
		id = roce_container_of(cm->free_ids.next, struct roce_cm_id, owner_link);
		roce_list_remove(&id->owner_link);
		return id;
	}
	if (cm->ids_used < cm->cfg.id_max)
		return &cm->ids[cm->ids_used++];
	if (!roce_list_is_empty(&cm->held)) {
		ROCE_MARK(table_held_gives_way);
		roce_cm_id_free(cm, roce_container_of(cm->held.next, struct roce_cm_id, held_link));
		return take_storage(cm);
	}
	return NULL;
}

struct roce_cm_id *roce_cm_id_alloc(struct roce_cm *cm)
{
	return roce_cm_id_alloc_as(cm, new_local_id(cm));
}

struct roce_cm_id *roce_cm_id_alloc_as(struct roce_cm *cm, uint32_t local_id)
{
	struct roce_cm_id *id = take_storage(cm);

	if (!id) {
		ROCE_MARK(table_full);
		roce_cm_count(cm, ROCE_CM_STAT_TABLE_FULL);
		return NULL;
	}
	*id = (struct roce_cm_id){.info = {.local_id = local_id}};
	roce_list_init(&id->owner_link);
	roce_list_init(&id->tx_link);
	roce_list_init(&id->report_link);
	roce_list_init(&id->listener_link);
	roce_list_init(&id->held_link);
	roce_timer_init(&id->timer);
	cm->id_count++;
	enter_local(cm, id);
	return id;
}

void roce_cm_id_free(struct roce_cm *cm, struct roce_cm_id *id)
{
	roce_cm_set_state(cm, id, ROCE_CM_STATE_IDLE);
	roce_cm_disarm(cm, id);
	roce_cm_leave_listener(id);
	roce_cm_id_leave(id);
	leave_local(cm, id);
	leave_peer(cm, id);
	roce_cm_leave_qpn(cm, id);
	if (!roce_list_is_empty(&id->held_link)) {
		roce_list_remove(&id->held_link);
		cm->held_count--;
	}
	roce_cm_send_last_words(cm, id);
	roce_list_remove(&id->report_link);
	id->info.local_id = 0;
	cm->id_count--;
	roce_list_add_tail(&cm->free_ids, &id->owner_link);
}

void roce_cm_forget(struct roce_cm *cm, struct roce_cm_id *id)
{
	roce_list_remove(&id->tx_link);
	roce_cm_id_free(cm, id);
}

static bool is_half_open(enum roce_cm_state state)
{
	switch (state) {
	case ROCE_CM_STATE_REQ_SENT:
	case ROCE_CM_STATE_MRA_REQ_RCVD:
	case ROCE_CM_STATE_REP_RCVD:
	case ROCE_CM_STATE_MRA_REP_SENT:
	case ROCE_CM_STATE_REQ_RCVD:
	case ROCE_CM_STATE_MRA_REQ_SENT:
	case ROCE_CM_STATE_REP_SENT:
	case ROCE_CM_STATE_MRA_REP_RCVD:
	case ROCE_CM_STATE_SIDR_REQ_SENT:
	case ROCE_CM_STATE_SIDR_REQ_RCVD:
		return true;
	case ROCE_CM_STATE_IDLE:
	case ROCE_CM_STATE_ESTABLISHED:
	case ROCE_CM_STATE_DREQ_SENT:
	case ROCE_CM_STATE_DREQ_RCVD:
	case ROCE_CM_STATE_TIMEWAIT:
	case ROCE_CM_STATE_SIDR_REP_SENT:
	case ROCE_CM_STATE_COUNT:
		return false;
	}
	roce_unreachable();
}

void roce_cm_set_state(struct roce_cm *cm, struct roce_cm_id *id, enum roce_cm_state state)
{
	bool was = is_half_open(id->info.state);
	bool is = is_half_open(state);

	cm->dreq_sent_count += state == ROCE_CM_STATE_DREQ_SENT;
	cm->dreq_sent_count -= id->info.state == ROCE_CM_STATE_DREQ_SENT;
	id->info.state = state;
	if (was == is)
		return;
	cm->half_open_count += is ? 1u : -1u;
	if (id->owner)
		id->owner->half_open_count += is ? 1u : -1u;
}

void roce_cm_owner_init(struct roce_cm_owner *owner)
{
	*owner = (struct roce_cm_owner){.id_count = 0};
	roce_list_init(&owner->ids);
	roce_list_init(&owner->listeners);
}

void roce_cm_id_join(struct roce_cm_id *id, struct roce_cm_owner *owner, void *user)
{
	id->owner = owner;
	id->user = user;
	owner->id_count++;
	roce_list_add_tail(&owner->ids, &id->owner_link);
}

void roce_cm_id_leave(struct roce_cm_id *id)
{
	if (!id->owner)
		return;
	if (is_half_open(id->info.state))
		id->owner->half_open_count--;
	id->owner->id_count--;
	roce_list_remove(&id->owner_link);
	id->owner = NULL;
	id->user = NULL;
	id->report_count = 0;
	roce_list_remove(&id->report_link);
}

enum roce_cm_verdict roce_cm_check_room(struct roce_cm *cm, const struct roce_cm_owner *owner)
{
	if (owner->id_count >= cm->cfg.owner_id_max)
		return ROCE_MARKED(table_owner_full, ROCE_CM_RX_OWNER_FULL);
	if (owner->half_open_count >= cm->cfg.owner_half_open_max)
		return ROCE_MARKED(table_owner_half_open_full, ROCE_CM_RX_HALF_OPEN_FULL);
	if (cm->half_open_count >= cm->cfg.half_open_max)
		return ROCE_MARKED(table_half_open_full, ROCE_CM_RX_HALF_OPEN_FULL);
	return ROCE_CM_RX_ACCEPTED;
}

/* ---- what the caller may know of an ID ---- */

void roce_cm_id_info(const struct roce_cm_id *id, struct roce_cm_info *out)
{
	*out = id->info;
}

enum roce_cm_state roce_cm_id_state(const struct roce_cm_id *id)
{
	return id->info.state;
}

struct roce_cm_id *roce_cm_find(struct roce_cm *cm, uint32_t local_id)
{
	struct roce_cm_id *id = roce_cm_lookup_local(cm, local_id);

	return id && id->owner ? id : NULL;
}

void roce_cm_id_set_user(struct roce_cm_id *id, void *user)
{
	id->user = user;
}

void *roce_cm_id_user(const struct roce_cm_id *id)
{
	return id->user;
}

struct roce_cm_owner *roce_cm_id_owner(const struct roce_cm_id *id)
{
	return id->owner;
}

bool roce_cm_has_address(const struct roce_cm *cm, const struct roce_gid *local, uint32_t scope)
{
	for (uint32_t i = 0; i < cm->ids_used; i++) {
		const struct roce_cm_id *id = &cm->ids[i];

		if (id->info.local_id && roce_list_is_empty(&id->held_link) &&
		    id->info.route.scope == scope &&
		    roce_gid_is_equal(&id->info.route.local, local))
			return true;
	}
	return false;
}

bool roce_cm_is_closing(const struct roce_cm *cm)
{
	return cm->dreq_sent_count > 0;
}
