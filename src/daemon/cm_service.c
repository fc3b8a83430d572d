/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The service of cm_service.h: its life, handles, packets, reports, time. Every entry ends with
 * roce_cm_service_pump(), so the machine never has something to say while the loop sleeps.
 */
#include "daemon/cm_service_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "daemon/cm_saved.h"

#define QUIET_NS	(ROCE_NS_PER_S + ROCE_NS_PER_S / 2)
#define PACKETS_AT_ONCE 32
#define PKEY_DEFAULT	0xffffu
#define RANGE_PATH	"/proc/sys/net/ipv4/ip_local_port_range"
#define RANGE_FIRST	32768
#define RANGE_LAST	60999

/* ---- life ---- */

static uint64_t draw(void *ctx)
{
	uint64_t v = 0;

	(void)ctx;
	while (getrandom(&v, sizeof(v), 0) != (ssize_t)sizeof(v))
		;
	return v;
}

static const struct roce_cm_ops ops = {.random = draw};

static void read_port_range(uint16_t *first, uint16_t *last)
{
	FILE *f = fopen(RANGE_PATH, "re");
	unsigned a = 0, b = 0;

	*first = RANGE_FIRST;
	*last = RANGE_LAST;
	if (f && fscanf(f, "%u %u", &a, &b) == 2 && a > 0 && a <= b && b <= 65535) {
		*first = (uint16_t)a;
		*last = (uint16_t)b;
	}
	if (f)
		fclose(f);
}

static void on_netlink(struct roce_server *s, struct roce_source *source)
{
	(void)source;
	roce_cm_locals_refresh(&s->cm->locals);
	roce_cm_service_open_groups(s);
}

int roce_cm_service_open(struct roce_server *s, bool is_restart)
{
	const struct roce_cm_config cfg = {
		.ops = &ops,
		.id_max = ROCE_CM_SERVICE_IDS_MAX,
		.held_max = ROCE_CM_SERVICE_HELD_MAX,
		.reply_max = ROCE_CM_SERVICE_REPLIES_MAX,
		.listener_max = ROCE_CM_SERVICE_LISTENERS_MAX,
		.half_open_max = ROCE_CM_SERVICE_HALF_OPEN_MAX,
		.owner_id_max = ROCE_CM_CLIENT_HANDLES_MAX,
		.owner_half_open_max = ROCE_CM_CLIENT_HALF_OPEN_MAX,
		.owner_listener_max = ROCE_CM_CLIENT_LISTENERS_MAX,
	};
	struct roce_cm_service *v = calloc(1, sizeof(*v));
	uint16_t first, last;

	if (!v)
		return -ENOMEM;
	v->cm_storage = calloc(1, roce_cm_storage_bytes(&cfg));
	if (!v->cm_storage) {
		free(v);
		return -ENOMEM;
	}
	v->cm = roce_cm_init(v->cm_storage, &cfg);
	for (unsigned i = 0; i < ROCE_CM_HANDLE_BUCKETS; i++)
		roce_list_init(&v->bucket[i]);
	roce_gsi_init(&v->gsi);
	read_port_range(&first, &last);
	roce_port_table_init(&v->ports, first, last);
	roce_cm_locals_init(&v->locals);
	v->netlink.fd = v->locals.netlink_fd;
	v->netlink.on_ready = on_netlink;
	if (v->netlink.fd >= 0)
		roce_server_add_source(s, &v->netlink);
	if (is_restart)
		v->quiet_until = roce_clock_now() + QUIET_NS;
	s->cm = v;
	return 0;
}

void roce_cm_service_close(struct roce_server *s)
{
	struct roce_cm_service *v = s->cm;

	if (!v)
		return;
	s->cm = NULL;
	roce_cm_locals_fini(&v->locals);
	roce_gsi_fini(&v->gsi);
	free(v->cm_storage);
	free(v);
}

/* ---- handles ---- */

static struct roce_list *bucket_of(struct roce_cm_service *v, const struct roce_session *c,
				   uint32_t number)
{
	uint32_t h = (number ^ c->number * 0x9e3779b9u) * 0x85ebca6bu;

	return &v->bucket[(h >> 16) % ROCE_CM_HANDLE_BUCKETS];
}

struct roce_cm_handle *roce_cm_handle_find(struct roce_cm_service *v, const struct roce_session *c,
					   uint32_t number)
{
	struct roce_list *pos, *bucket = bucket_of(v, c, number);

	roce_list_for_each (pos, bucket) {
		struct roce_cm_handle *h =
			roce_container_of(pos, struct roce_cm_handle, bucket_link);

		if (h->number == number && h->session == c)
			return h;
	}
	return NULL;
}

struct roce_cm_handle *roce_cm_handle_create(struct roce_cm_service *v, struct roce_session *c,
					     uint32_t number)
{
	struct roce_cm_handle *h =
		c->cm.handle_count < ROCE_CM_CLIENT_HANDLES_MAX ? calloc(1, sizeof(*h)) : NULL;

	if (!h)
		return NULL;
	h->session = c;
	h->number = number;
	roce_list_add_tail(&c->cm.handles, &h->link);
	roce_list_add_tail(bucket_of(v, c, number), &h->bucket_link);
	c->cm.handle_count++;
	return h;
}

uint32_t roce_cm_handle_new_child(struct roce_cm_service *v, struct roce_session *c)
{
	uint32_t number;

	do {
		number = ++c->cm.last_child | ROCE_CM_HANDLE_CHILD;
	} while (roce_cm_handle_find(v, c, number));
	return number;
}

static void free_handle(struct roce_cm_handle *h)
{
	roce_port_table_release(&h->port);
	roce_list_remove(&h->link);
	roce_list_remove(&h->bucket_link);
	h->session->cm.handle_count--;
	free(h);
}

static void destroy_unread_children(struct roce_cm_service *v, struct roce_cm_handle *parent)
{
	struct roce_list *pos, *next;

	roce_list_for_each_safe (pos, next, &parent->session->cm.handles) {
		struct roce_cm_handle *h = roce_container_of(pos, struct roce_cm_handle, link);

		if (h->parent != parent)
			continue;
		roce_cm_destroy(v->cm, h->id, roce_clock_now());
		free_handle(h);
	}
}

void roce_cm_handle_destroy(struct roce_cm_service *v, struct roce_cm_handle *h)
{
	if (h->listener) {
		if (roce_gid_is_zero(&h->port.address.gid))
			v->wildcard_count--;
		destroy_unread_children(v, h);
		roce_cm_unlisten(v->cm, h->listener, roce_clock_now());
	}
	if (h->id)
		roce_cm_destroy(v->cm, h->id, roce_clock_now());
	free_handle(h);
}

void roce_cm_service_begin_session(struct roce_session *c)
{
	roce_cm_owner_init(&c->cm.owner);
	roce_list_init(&c->cm.handles);
}

void roce_cm_service_end_session(struct roce_server *s, struct roce_session *c,
				 enum roce_cm_farewell farewell)
{
	struct roce_cm_service *v = s->cm;

	if (!v || s->is_leaving)
		farewell = ROCE_CM_FAREWELL_COMES_BACK;
	while (!roce_list_is_empty(&c->cm.handles)) {
		struct roce_cm_handle *h =
			roce_container_of(c->cm.handles.next, struct roce_cm_handle, link);

		if (h->id && farewell == ROCE_CM_FAREWELL_COMES_BACK && v) {
			roce_cm_forget(v->cm, h->id);
			h->id = NULL;
		}
		if (v)
			roce_cm_handle_destroy(v, h);
		else
			free_handle(h);
	}
	if (v && !s->is_leaving)
		roce_cm_service_pump(s);
}

/* ---- addresses ---- */

uint64_t roce_cm_service_guid(const struct roce_cm_service *v, const struct roce_address *a)
{
	const struct roce_cm_local *l = roce_cm_locals_find(&v->locals, a);

	/* Gone, or not seen yet: any number but 0. */
	return l ? l->guid : v->locals.fallback_guid;
}

void roce_cm_service_open_groups(struct roce_server *s)
{
	struct roce_cm_service *v = s->cm;

	for (uint32_t i = 0; v->wildcard_count && i < v->locals.count; i++) {
		const struct roce_address *a = &v->locals.local[i].address;
		struct roce_served_group *sg;
		char err[ROCE_CONTROL_TEXT_MAX];
		int error = 0;

		if (!roce_server_find_group(s, a))
			error = roce_server_get_group(s, a, 0, &sg, err, sizeof(err));
		/* One that is tentative still comes again when it is usable. One that somebody
		 * else serves is not ours to listen on. */
		if (error && error != -EADDRNOTAVAIL)
			roce_server_log(s, "connections to one address will not be seen: %s", err);
	}
}

static bool is_bound_to(const struct roce_cm_service *v, const struct roce_address *a)
{
	for (unsigned i = 0; i < ROCE_CM_HANDLE_BUCKETS; i++) {
		struct roce_list *pos;

		roce_list_for_each (pos, &v->bucket[i]) {
			const struct roce_cm_handle *h =
				roce_container_of(pos, struct roce_cm_handle, bucket_link);

			if (h->port.port && roce_gid_is_equal(&h->port.address.gid, &a->gid) &&
			    h->port.address.ifindex == a->ifindex)
				return true;
		}
	}
	return false;
}

bool roce_cm_service_needs(const struct roce_server *s, const struct roce_address *a)
{
	const struct roce_cm_service *v = s->cm;

	if (!v)
		return false;
	if (v->wildcard_count && roce_cm_locals_find(&v->locals, a))
		return true;
	return roce_cm_has_address(v->cm, &a->gid, a->ifindex) || is_bound_to(v, a);
}

bool roce_cm_service_is_closing(const struct roce_server *s)
{
	return s->cm && roce_cm_is_closing(s->cm->cm);
}

/* ---- reports to programs ---- */

static void fill_path(struct roce_cm_path *out, const struct roce_cm_info *info)
{
	*out = (struct roce_cm_path){
		.local = {.gid = info->route.local, .ifindex = info->route.scope},
		.remote = info->route.remote,
		.flow_label = info->route.flow_label,
		.pkey = PKEY_DEFAULT,
		.traffic_class = info->route.traffic_class,
		.hop_limit = info->route.hop_limit,
		.sl = info->route.sl,
		.mtu = info->mtu,
		.rate = info->rate,
		/* As the peer sees it: its ACK timeout is one more. */
		.packet_life = info->is_active
				       ? info->packet_lifetime
				       : (uint8_t)(info->ack_timeout - (info->ack_timeout > 0)),
	};
}

static uint8_t transport_of(enum roce_cm_qp_type type)
{
	switch (type) {
	case ROCE_CM_QP_UC:
		return ROCE_CM_TRANSPORT_UC;
	case ROCE_CM_QP_UD:
		return ROCE_CM_TRANSPORT_UD;
	case ROCE_CM_QP_XRC_SEND:
	case ROCE_CM_QP_XRC_RECV:
		return ROCE_CM_TRANSPORT_XRC;
	case ROCE_CM_QP_ANY:
	case ROCE_CM_QP_RC:
		return ROCE_CM_TRANSPORT_RC;
	}
	return ROCE_CM_TRANSPORT_RC;
}

static void fill_conn(struct roce_cm_conn *out, const struct roce_cm_params *p,
		      const struct roce_cm_info *info)
{
	*out = (struct roce_cm_conn){
		.qpn = p->qpn.v,
		.qkey = p->qkey,
		.starting_psn = p->starting_psn.v,
		.ece_vendor = p->vendor_id,
		.ece_options = p->vendor_options,
		.transport = transport_of(info->qp_type),
		.responder_resources = p->responder_resources,
		.initiator_depth = p->initiator_depth,
		.flow_control = p->flow_control,
		.retry_count = p->retry_count,
		.rnr_retry_count = p->rnr_retry_count,
		.srq = p->srq,
		.ack_timeout = info->ack_timeout,
		.ack_delay = p->target_ack_delay,
	};
}

/* An event only carries what its kind has; the rest stays zero. */
static void fill_event(struct roce_cm_event *e, const struct roce_cm_report *r,
		       const struct roce_cm_info *info)
{
	e->event = (enum roce_cm_event_type)r->type;
	e->status = r->status;
	e->private_data.length = (uint8_t)r->private_len;
	memcpy(e->private_data.data, r->private_data, r->private_len);
	roce_cm_saved_encode(info, &e->saved);
	if (r->type == ROCE_CM_REPORT_CONNECT_REQUEST ||
	    r->type == ROCE_CM_REPORT_CONNECT_RESPONSE ||
	    (r->type == ROCE_CM_REPORT_ESTABLISHED && r->is_ud))
		fill_conn(&e->conn, &r->params, info);
	if (r->type == ROCE_CM_REPORT_CONNECT_REQUEST) {
		e->local_ip = info->route.local;
		e->remote_ip = info->route.remote;
		e->local_port = info->dst_port;
		e->remote_port = info->src_port;
	}
	if (r->type == ROCE_CM_REPORT_CONNECT_REQUEST ||
	    (r->type == ROCE_CM_REPORT_ESTABLISHED && r->is_ud))
		fill_path(&e->path, info);
}

static struct roce_cm_handle *adopt_child(struct roce_cm_service *v, struct roce_cm_report *r)
{
	struct roce_cm_handle *parent = r->listener_user;
	struct roce_session *c = parent->session;
	struct roce_cm_handle *h = roce_cm_handle_create(v, c, roce_cm_handle_new_child(v, c));

	if (!h)
		return NULL;
	h->id = r->id;
	h->parent = parent;
	roce_cm_id_set_user(r->id, h);
	return h;
}

static void pass_on(struct roce_server *s, struct roce_cm_report *r)
{
	struct roce_cm_service *v = s->cm;
	struct roce_message m = {.type = ROCE_MESSAGE_CM_EVENT};
	struct roce_cm_handle *h = r->user;
	struct roce_cm_info info;

	if (r->type == ROCE_CM_REPORT_CONNECT_REQUEST) {
		h = adopt_child(v, r);
		if (!h) {
			roce_cm_destroy(v->cm, r->id, roce_clock_now());
			return;
		}
		m.cm_event.listener = h->parent->number;
	}
	roce_cm_id_info(r->id, &info);
	m.cm_event.handle = h->number;
	fill_event(&m.cm_event, r, &info);
	roce_session_send(s, h->session, &m);
}

void roce_cm_service_pump(struct roce_server *s)
{
	struct roce_cm_service *v = s->cm;
	struct roce_cm_packet packets[PACKETS_AT_ONCE];
	struct roce_cm_report r;
	size_t n;

	while (roce_cm_next_report(v->cm, &r))
		pass_on(s, &r);
	while ((n = roce_cm_tx(v->cm, packets, PACKETS_AT_ONCE)) > 0)
		for (size_t i = 0; i < n; i++)
			roce_gsi_send(&v->gsi, &packets[i]);
}

/* ---- packets and time ---- */

void roce_cm_service_on_packet(struct roce_server *s, const struct roce_address *local,
			       const struct sockaddr_storage *from, const uint8_t *data,
			       size_t length)
{
	struct roce_cm_service *v = s->cm;
	struct roce_cm_route route;
	const uint8_t *mad;
	uint32_t mad_len;

	if (!v)
		return;
	mad = roce_gsi_receive(&v->gsi, local, from, data, length, &mad_len, &route);
	if (!mad)
		return;
	/* What we do not know yet we must not deny: the peer will ask again. */
	if (roce_clock_now() < v->quiet_until && roce_cm_would_deny(v->cm, &route, mad, mad_len)) {
		v->rx_while_restoring++;
		return;
	}
	roce_cm_rx(v->cm, &route, mad, mad_len, roce_clock_now());
	roce_cm_service_pump(s);
}

void roce_cm_service_tick(struct roce_server *s, roce_ns_t now, roce_ns_t *next)
{
	struct roce_cm_service *v = s->cm;
	roce_ns_t deadline;

	if (roce_cm_deadline(v->cm) <= now) {
		roce_cm_on_deadline(v->cm, now);
		roce_cm_service_pump(s);
	}
	deadline = roce_cm_deadline(v->cm);
	if (deadline != ROCE_NEVER)
		roce_server_nearest(next, deadline);
}

/* ---- counters ---- */

bool roce_cm_service_counter(const struct roce_server *s, unsigned i, const char **out_name,
			     uint64_t *out_value)
{
	const struct roce_cm_service *v = s->cm;
	const struct roce_cm_usage usage = roce_cm_usage(v->cm);
	const struct {
		const char *name;
		uint64_t value;
	} more[] = {
		{"gsi_rx_while_restoring", v->rx_while_restoring},
		{"cm_ids", usage.ids},
		{"cm_ids_held", usage.held},
		{"cm_ids_half_open", usage.half_open},
	};

	if (i < ROCE_GSI_COUNTER_COUNT) {
		*out_name = roce_gsi_counter_str((enum roce_gsi_counter)i);
		*out_value = v->gsi.counter[i];
		return true;
	}
	i -= ROCE_GSI_COUNTER_COUNT;
	if (i < sizeof(more) / sizeof(more[0])) {
		*out_name = more[i].name;
		*out_value = more[i].value;
		return true;
	}
	i -= (unsigned)(sizeof(more) / sizeof(more[0]));
	if (i >= ROCE_CM_COUNTER_COUNT)
		return false;
	*out_name = roce_cm_counter_str(i);
	*out_value = roce_cm_counters(v->cm)->v[i];
	return true;
}
