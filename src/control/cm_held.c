/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Follows each id through its dialogue with the least that is needed to name it to a new daemon and
 * to choose the event that ends it when that fails. Called by cm_client.c with its lock held.
 */
#include "control/cm_held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void roce_cm_held_init(struct roce_cm_held_table *t)
{
	for (unsigned i = 0; i < ROCE_CM_HELD_BUCKETS; i++)
		roce_list_init(&t->bucket[i]);
}

static void free_entry(struct roce_cm_held *h)
{
	roce_list_remove(&h->link);
	roce_list_remove(&h->restore_link);
	free(h->saved);
	free(h);
}

void roce_cm_held_fini(struct roce_cm_held_table *t)
{
	struct roce_list *pos, *tmp;

	for (unsigned i = 0; i < ROCE_CM_HELD_BUCKETS; i++)
		roce_list_for_each_safe (pos, tmp, &t->bucket[i])
			free_entry(roce_container_of(pos, struct roce_cm_held, link));
}

struct roce_cm_held *roce_cm_held_find(const struct roce_cm_held_table *t, uint32_t handle)
{
	const struct roce_list *head = &t->bucket[handle % ROCE_CM_HELD_BUCKETS];
	struct roce_list *pos;

	roce_list_for_each (pos, head) {
		struct roce_cm_held *h = roce_container_of(pos, struct roce_cm_held, link);

		if (h->handle == handle)
			return h;
	}
	return NULL;
}

static struct roce_cm_held *find_or_add(struct roce_cm_held_table *t, uint32_t handle)
{
	struct roce_cm_held *h = roce_cm_held_find(t, handle);

	if (h)
		return h;
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->handle = handle;
	roce_list_init(&h->restore_link);
	roce_list_add_tail(&t->bucket[handle % ROCE_CM_HELD_BUCKETS], &h->link);
	return h;
}

static void drop_children(struct roce_cm_held_table *t, uint32_t listener)
{
	struct roce_list *pos, *tmp;

	for (unsigned i = 0; i < ROCE_CM_HELD_BUCKETS; i++)
		roce_list_for_each_safe (pos, tmp, &t->bucket[i]) {
			struct roce_cm_held *h = roce_container_of(pos, struct roce_cm_held, link);

			if (h->listener == listener)
				free_entry(h);
		}
}

void roce_cm_held_drop(struct roce_cm_held_table *t, uint32_t handle)
{
	struct roce_cm_held *h = roce_cm_held_find(t, handle);

	if (h && h->backlog)
		drop_children(t, handle);
	if (h)
		free_entry(h);
}

void roce_cm_held_on_taken(struct roce_cm_held_table *t, uint32_t handle)
{
	struct roce_cm_held *h = roce_cm_held_find(t, handle);

	if (h)
		h->listener = 0;
}

/* Without memory for them the id is one that cannot be taken up again. */
static void keep_saved(struct roce_cm_held *h, const struct roce_cm_saved *saved)
{
	if (saved->length && !h->saved)
		h->saved = calloc(1, sizeof(*h->saved));
	if (!h->saved)
		return;
	h->saved->length = saved->length;
	memcpy(h->saved->data, saved->data, saved->length);
}

int roce_cm_held_on_ok(struct roce_cm_held_table *t, const struct roce_cm_request *r,
		       const struct roce_cm_ok *ok)
{
	struct roce_cm_held *h;

	if (r->op == ROCE_CM_DESTROY) {
		roce_cm_held_drop(t, r->handle);
		return 0;
	}
	h = find_or_add(t, r->handle);
	if (!h)
		return -ENOMEM;
	switch (r->op) {
	case ROCE_CM_BIND:
		h->bind = r->bind;
		h->bind.port = ok->port;
		h->is_bound = true;
		break;
	case ROCE_CM_LISTEN:
		h->backlog = r->listen.backlog;
		h->bind.flags = r->listen.flags;
		break;
	case ROCE_CM_CONNECT:
		h->dialogue = ROCE_CM_DIALOGUE_CONNECTING;
		h->is_datagram = r->connect.conn.transport == ROCE_CM_TRANSPORT_UD;
		break;
	case ROCE_CM_ACCEPT:
		h->dialogue = h->is_datagram ? ROCE_CM_DIALOGUE_NONE : ROCE_CM_DIALOGUE_ACCEPTED;
		break;
	case ROCE_CM_ESTABLISH:
		h->dialogue = ROCE_CM_DIALOGUE_ESTABLISHED;
		break;
	case ROCE_CM_DISCONNECT:
		/* After the peer's DREQ the dialogue has had its DISCONNECTED already. */
		if (h->dialogue != ROCE_CM_DIALOGUE_TIMEWAIT)
			h->dialogue = ROCE_CM_DIALOGUE_DISCONNECTING;
		break;
	case ROCE_CM_REJECT:
		h->dialogue = ROCE_CM_DIALOGUE_NONE;
		break;
	case ROCE_CM_DESTROY:
	case ROCE_CM_NOTIFY:
	case ROCE_CM_TAKEN:
	case ROCE_CM_RESTORE:
	case ROCE_CM_RESTORED:
		break;
	}
	keep_saved(h, &ok->saved);
	return 0;
}

/* A child has its listener's port and port space. */
static void bind_child(struct roce_cm_held_table *t, struct roce_cm_held *h,
		       const struct roce_cm_event *e)
{
	const struct roce_cm_held *listener = roce_cm_held_find(t, e->listener);

	h->listener = e->listener;
	h->bind.port_space = listener->bind.port_space;
	h->bind.family = roce_gid_is_v4(&e->local_ip) ? 4 : 6;
	h->bind.address.gid = e->local_ip;
	h->bind.address.ifindex = e->path.local.ifindex;
	h->bind.port = e->local_port;
	h->is_bound = true;
	h->is_datagram = e->conn.transport == ROCE_CM_TRANSPORT_UD;
}

int roce_cm_held_on_event(struct roce_cm_held_table *t, const struct roce_cm_event *e)
{
	bool is_child = e->event == ROCE_CM_EVENT_CONNECT_REQUEST;
	struct roce_cm_held *h;

	if (!roce_cm_held_find(t, is_child ? e->listener : e->handle))
		return -ENOENT;
	h = find_or_add(t, e->handle);
	if (!h)
		return -ENOMEM;
	switch (e->event) {
	case ROCE_CM_EVENT_CONNECT_REQUEST:
		bind_child(t, h, e);
		h->dialogue = ROCE_CM_DIALOGUE_REQUESTED;
		break;
	case ROCE_CM_EVENT_CONNECT_RESPONSE:
		h->dialogue = ROCE_CM_DIALOGUE_RESPONDED;
		break;
	case ROCE_CM_EVENT_ESTABLISHED:
		h->dialogue = h->is_datagram ? ROCE_CM_DIALOGUE_NONE : ROCE_CM_DIALOGUE_ESTABLISHED;
		break;
	case ROCE_CM_EVENT_DISCONNECTED:
		h->dialogue = ROCE_CM_DIALOGUE_TIMEWAIT;
		break;
	case ROCE_CM_EVENT_CONNECT_ERROR:
	case ROCE_CM_EVENT_UNREACHABLE:
	case ROCE_CM_EVENT_REJECTED:
	case ROCE_CM_EVENT_TIMEWAIT_EXIT:
		h->dialogue = ROCE_CM_DIALOGUE_NONE;
		break;
	}
	keep_saved(h, &e->saved);
	return 0;
}

static void fill_end(struct roce_cm_held *h, struct roce_cm_event *out,
		     enum roce_cm_event_type type, int status)
{
	memset(out, 0, sizeof(*out));
	out->handle = h->handle;
	out->event = type;
	out->status = status;
}

bool roce_cm_held_is_waiting(const struct roce_cm_held *h)
{
	return h->dialogue == ROCE_CM_DIALOGUE_CONNECTING ||
	       h->dialogue == ROCE_CM_DIALOGUE_ACCEPTED ||
	       h->dialogue == ROCE_CM_DIALOGUE_DISCONNECTING ||
	       h->dialogue == ROCE_CM_DIALOGUE_TIMEWAIT;
}

bool roce_cm_held_end(struct roce_cm_held *h, struct roce_cm_event *out)
{
	enum roce_cm_dialogue dialogue = h->dialogue;

	h->dialogue = ROCE_CM_DIALOGUE_NONE;
	if (h->saved)
		h->saved->length = 0;
	switch (dialogue) {
	case ROCE_CM_DIALOGUE_CONNECTING:
	case ROCE_CM_DIALOGUE_ACCEPTED:
		fill_end(h, out, ROCE_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
		return true;
	case ROCE_CM_DIALOGUE_ESTABLISHED:
	case ROCE_CM_DIALOGUE_DISCONNECTING:
		fill_end(h, out, ROCE_CM_EVENT_DISCONNECTED, -ETIMEDOUT);
		return true;
	case ROCE_CM_DIALOGUE_TIMEWAIT:
		fill_end(h, out, ROCE_CM_EVENT_TIMEWAIT_EXIT, 0);
		return true;
	case ROCE_CM_DIALOGUE_NONE:
	case ROCE_CM_DIALOGUE_RESPONDED:
	case ROCE_CM_DIALOGUE_REQUESTED:
		break;
	}
	return false;
}
