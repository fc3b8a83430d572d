/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ids: creation, the table by which events find them, moving one to another channel, and their
 * end, which waits until the program has acknowledged every event that it was given.
 */
#include "compat/librdmacm/rdmacm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static struct roce_list buckets[CM_IDS_BUCKETS];

__attribute__((constructor)) static void init_buckets(void)
{
	for (unsigned i = 0; i < CM_IDS_BUCKETS; i++)
		roce_list_init(&buckets[i]);
}

struct cm_id *cm_id_find(uint32_t handle)
{
	struct roce_list *pos;

	roce_list_for_each (pos, &buckets[handle % CM_IDS_BUCKETS]) {
		struct cm_id *id = roce_container_of(pos, struct cm_id, link);

		if (id->handle == handle)
			return id;
	}
	return NULL;
}

void cm_ids_on_removal(uint32_t ifindex)
{
	struct roce_list *pos;

	pthread_mutex_lock(&cm_lock);
	for (unsigned i = 0; i < CM_IDS_BUCKETS; i++)
		roce_list_for_each (pos, &buckets[i]) {
			struct cm_id *id = roce_container_of(pos, struct cm_id, link);
			struct cm_event *ev;

			if (!id->dev || id->ifindex != ifindex || id->is_removed)
				continue;
			ev = cm_event_make(id, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
			if (ev)
				cm_event_post(ev);
			id->is_removed = true;
		}
	pthread_mutex_unlock(&cm_lock);
}

int cm_id_default_qp_type(enum rdma_port_space ps, enum ibv_qp_type *out)
{
	switch (ps) {
	case RDMA_PS_TCP:
	case RDMA_PS_IB:
		*out = IBV_QPT_RC;
		return 0;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		*out = IBV_QPT_UD;
		return 0;
	}
	return -EINVAL;
}

bool cm_is_datagram(const struct cm_id *id)
{
	return id->id.qp_type == IBV_QPT_UD;
}

static uint32_t draw_psn(void)
{
	uint32_t psn = 0;

	while (getrandom(&psn, sizeof(psn), 0) < 0 && errno == EINTR)
		;
	return psn & 0xffffff;
}

struct cm_id *cm_id_create(struct cm_channel *channel, void *context, enum rdma_port_space ps,
			   enum ibv_qp_type qp_type, uint32_t handle)
{
	struct cm_id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	id->is_sync = !channel;
	if (!channel) {
		channel = cm_channel_create();
		if (!channel) {
			free(id);
			return NULL;
		}
	}
	id->id.channel = &channel->channel;
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = qp_type;
	id->handle = handle;
	id->own_psn = draw_psn();
	roce_list_init(&id->groups);
	pthread_mutex_lock(&cm_lock);
	roce_list_add_tail(&buckets[handle % CM_IDS_BUCKETS], &id->link);
	pthread_mutex_unlock(&cm_lock);
	return id;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	enum ibv_qp_type qp_type;
	struct cm_id *made;
	uint32_t handle;
	int error = cm_library_init();

	if (!error)
		error = cm_id_default_qp_type(ps, &qp_type);
	if (!error)
		error = cm_new_handle(&handle);
	if (error)
		return cm_fail(error);
	made = cm_id_create(channel ? cm_channel_of(channel) : NULL, context, ps, qp_type, handle);
	if (!made)
		return cm_fail(ENOMEM);
	*id = &made->id;
	return 0;
}

static void free_events(struct roce_list *events)
{
	struct roce_list *pos, *tmp;

	roce_list_for_each_safe (pos, tmp, events)
		free(roce_container_of(pos, struct cm_event, link));
}

static void wait_acked(const uint32_t *unacked)
{
	while (*unacked)
		pthread_cond_wait(&cm_acked, &cm_lock);
}

int rdma_destroy_id(struct rdma_cm_id *rid)
{
	struct cm_id *id = cm_id_of(rid);
	struct roce_cm_request r = {.handle = id->handle, .op = ROCE_CM_DESTROY};
	struct roce_list events;

	roce_list_init(&events);
	/* Off the table first: what comes meanwhile finds nobody. */
	pthread_mutex_lock(&cm_lock);
	roce_list_remove(&id->link);
	pthread_mutex_unlock(&cm_lock);
	if (id->is_bound)
		cm_request(&r, NULL);
	pthread_mutex_lock(&cm_lock);
	cm_channel_take(cm_channel_of(rid->channel), id, NULL, &events);
	pthread_mutex_unlock(&cm_lock);
	free_events(&events);
	if (rid->event)
		rdma_ack_cm_event(rid->event);
	rid->event = NULL;
	cm_groups_leave(id);
	pthread_mutex_lock(&cm_lock);
	wait_acked(&id->unacked);
	pthread_mutex_unlock(&cm_lock);
	if (id->is_sync)
		cm_channel_destroy(cm_channel_of(rid->channel));
	cm_device_unbind(id);
	free(id->qp_attr);
	free(id->connect_data);
	free(rid->route.path_rec);
	free(id);
	return 0;
}

/* What is not delivered goes along, in order. */
static void change_channel(struct cm_id *id, struct cm_channel *to)
{
	struct cm_channel *from = cm_channel_of(id->id.channel);
	struct roce_list events, *pos, *tmp;

	roce_list_init(&events);
	pthread_mutex_lock(&cm_lock);
	cm_channel_take(from, id, NULL, &events);
	id->id.channel = &to->channel;
	roce_list_for_each_safe (pos, tmp, &events) {
		roce_list_remove(pos);
		cm_channel_push(to, roce_container_of(pos, struct cm_event, link));
	}
	wait_acked(&id->unacked);
	pthread_mutex_unlock(&cm_lock);
}

int rdma_migrate_id(struct rdma_cm_id *rid, struct rdma_event_channel *channel)
{
	struct cm_id *id = cm_id_of(rid);
	struct cm_channel *from = cm_channel_of(rid->channel), *to;
	bool was_sync = id->is_sync;

	if (was_sync && !channel)
		return cm_fail(EINVAL);
	to = channel ? cm_channel_of(channel) : cm_channel_create();
	if (!to)
		return cm_fail(ENOMEM);
	if (was_sync && rid->event) {
		rdma_ack_cm_event(rid->event);
		rid->event = NULL;
	}
	id->is_sync = !channel;
	change_channel(id, to);
	if (was_sync)
		cm_channel_destroy(from);
	return 0;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
	return htobe16(cm_sockaddr_port(&id->route.addr.src_addr));
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
	return htobe16(cm_sockaddr_port(&id->route.addr.dst_addr));
}
