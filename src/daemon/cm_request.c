/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What programs ask of the connection manager (control/cm_message.h says what each request is):
 * each is answered by CM_OK or by ERROR with the errno that the rdma_*() call shall give, and may
 * change one handle. A handle is made by BIND or RESTORE, or by a CONNECT_REQUEST; it goes with
 * DESTROY or with the session.
 */
#include "daemon/cm_service_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "daemon/cm_saved.h"

#define CAP_NET_BIND_SERVICE_BIT 10

/* One request on its way. */
struct request {
	struct roce_server *s;
	struct roce_cm_service *v;
	struct roce_session *c;
	const struct roce_cm_request *r;
	struct roce_cm_handle *h; /* NULL: unknown */
	char err[ROCE_CONTROL_TEXT_MAX];
};

__attribute__((format(printf, 3, 4))) static int fail(struct request *q, int error,
						      const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(q->err, sizeof(q->err), format, ap);
	va_end(ap);
	return error;
}

/* ---- BIND ---- */

/* May the program use ports below 1024? As it says in /proc, or, where that is hidden, root may. */
static bool is_privileged(const struct roce_session *c)
{
	uint64_t effective = c->peer.uid == 0 ? UINT64_MAX : 0;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", c->peer.pid);
	f = c->peer.pid > 0 ? fopen(path, "re") : NULL;
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %" SCNx64, &effective) == 1)
			break;
	if (f)
		fclose(f);
	return effective >> CAP_NET_BIND_SERVICE_BIT & 1;
}

static void fill_binding(struct roce_port_binding *b, const struct roce_cm_bind *bind)
{
	*b = (struct roce_port_binding){
		.port_space = bind->port_space,
		.port = bind->port,
		.is_v6 = bind->family == 6,
		.address = bind->address,
		.is_reuse_allowed = bind->flags & ROCE_CM_BIND_REUSE,
		.is_af_only = bind->flags & ROCE_CM_BIND_AF_ONLY,
	};
	if (!roce_gid_is_link_local(&bind->address.gid))
		b->address.ifindex = 0;
}

static bool is_family_right(const struct roce_cm_bind *b)
{
	return roce_gid_is_zero(&b->address.gid) ||
	       roce_gid_is_v4(&b->address.gid) == (b->family == 4);
}

static int open_group(struct request *q, const struct roce_address *a)
{
	struct roce_served_group *sg;

	return roce_server_get_group(q->s, a, 0, &sg, q->err, sizeof(q->err));
}

/* IPv4 addresses come mapped; ifindex only counts for link-local ones. */
static struct roce_address normal_address(const struct roce_address *a)
{
	struct roce_address out = *a;

	if (!roce_gid_is_link_local(&a->gid))
		out.ifindex = 0;
	return out;
}

static int bind_port(struct request *q, struct roce_cm_handle *h, const struct roce_cm_bind *bind)
{
	uint32_t random = 0;
	int error;

	fill_binding(&h->port, bind);
	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		random = (uint32_t)roce_clock_now();
	error = roce_port_table_bind(&q->v->ports, &h->port,
				     bind->port && bind->port < 1024 && is_privileged(q->c),
				     random);
	if (error)
		return fail(q, error, "port %u: %s", bind->port, strerror(-error));
	return 0;
}

static int on_bind(struct request *q)
{
	const struct roce_cm_bind *bind = &q->r->bind;
	const struct roce_address address = normal_address(&bind->address);
	bool is_new = !q->h;
	int error;

	if (q->h && q->h->port.port)
		return fail(q, -EINVAL, "bound already");
	if ((is_new && (q->r->handle & ROCE_CM_HANDLE_CHILD)) || !is_family_right(bind))
		return fail(q, -EINVAL, "no such id");
	if (!roce_gid_is_zero(&address.gid)) {
		error = open_group(q, &address);
		if (error)
			return error;
	}
	if (is_new)
		q->h = roce_cm_handle_create(q->v, q->c, q->r->handle);
	if (!q->h)
		return fail(q, -ENOMEM, "a program may have %d ids", ROCE_CM_CLIENT_HANDLES_MAX);
	error = bind_port(q, q->h, bind);
	if (error && is_new) {
		roce_cm_handle_destroy(q->v, q->h);
		q->h = NULL;
	}
	return error;
}

/* ---- LISTEN ---- */

static int listen_on(struct request *q, struct roce_cm_handle *h, uint32_t backlog)
{
	const struct roce_port_binding *p = &h->port;
	const struct roce_cm_listen l = {
		.owner = &q->c->cm.owner,
		.user = h,
		.qp_type = p->port_space == ROCE_PORT_SPACE_UDP ? ROCE_CM_QP_UD : ROCE_CM_QP_ANY,
		.port_space = p->port_space,
		.port = p->port,
		.is_wildcard = roce_gid_is_zero(&p->address.gid),
		.address = p->address.gid,
		.scope = p->address.ifindex,
		.takes_v4 = !p->is_v6 || !p->is_af_only,
		.takes_v6 = p->is_v6,
		.backlog = backlog,
	};
	int error = roce_cm_listen(q->v->cm, &l, &h->listener);

	if (error)
		return fail(q, error, "cannot listen on port %u: %s", p->port, strerror(-error));
	if (l.is_wildcard) {
		q->v->wildcard_count++;
		roce_cm_service_open_groups(q->s);
	}
	return 0;
}

static int on_listen(struct request *q)
{
	int error;

	if (!q->h || !q->h->port.port || q->h->listener || q->h->id)
		return fail(q, -EINVAL, "not bound, or busy");
	q->h->port.is_af_only = q->r->listen.flags & ROCE_CM_BIND_AF_ONLY;
	error = roce_port_table_check_listen(&q->v->ports, &q->h->port);
	if (error)
		return fail(q, error, "port %u: %s", q->h->port.port, strerror(-error));
	return listen_on(q, q->h, q->r->listen.backlog);
}

/* ---- CONNECT ---- */

static struct roce_cm_route route_of(const struct roce_cm_path *p)
{
	const struct roce_address local = normal_address(&p->local);

	return (struct roce_cm_route){
		.local = local.gid,
		.remote = p->remote,
		.scope = local.ifindex,
		.flow_label = p->flow_label,
		.traffic_class = p->traffic_class,
		.hop_limit = p->hop_limit,
		.sl = p->sl,
	};
}

static struct roce_cm_params params_of(const struct roce_cm_conn *n, uint64_t guid)
{
	return (struct roce_cm_params){
		.qpn.v = n->qpn & ROCE_QPN_MASK,
		.starting_psn = roce_psn_make(n->starting_psn),
		.responder_resources = n->responder_resources,
		.initiator_depth = n->initiator_depth,
		.retry_count = n->retry_count,
		.rnr_retry_count = n->rnr_retry_count,
		.target_ack_delay = n->ack_delay,
		.flow_control = n->flow_control,
		.srq = n->srq,
		.qkey = n->qkey,
		.ca_guid = guid,
		.vendor_id = n->ece_vendor,
		.vendor_options = n->ece_options,
	};
}

static struct roce_cm_data data_of(const struct roce_cm_private *p)
{
	return (struct roce_cm_data){.data = p->data, .length = p->length};
}

static enum roce_cm_qp_type qp_type_of(uint8_t transport)
{
	switch ((enum roce_cm_transport)transport) {
	case ROCE_CM_TRANSPORT_RC:
		return ROCE_CM_QP_RC;
	case ROCE_CM_TRANSPORT_UC:
		return ROCE_CM_QP_UC;
	case ROCE_CM_TRANSPORT_XRC:
		return ROCE_CM_QP_XRC_SEND;
	case ROCE_CM_TRANSPORT_UD:
		return ROCE_CM_QP_UD;
	}
	return ROCE_CM_QP_RC;
}

static int connect_datagram(struct request *q)
{
	const struct roce_cm_sidr_connect c = {
		.owner = &q->c->cm.owner,
		.user = q->h,
		.route = route_of(&q->r->connect.path),
		.port_space = q->h->port.port_space,
		.src_port = q->h->port.port,
		.dst_port = q->r->connect.remote_port,
		.response_timeout = ROCE_CM_RESPONSE_TIMEOUT,
		.max_retries = ROCE_CM_MAX_RETRIES,
		.data = data_of(&q->r->connect.private_data),
	};

	return roce_cm_sidr_connect(q->v->cm, &c, roce_clock_now(), &q->h->id);
}

static int connect_queue_pair(struct request *q, uint64_t guid)
{
	const struct roce_cm_path *p = &q->r->connect.path;
	const struct roce_cm_conn *n = &q->r->connect.conn;
	const struct roce_cm_connect c = {
		.owner = &q->c->cm.owner,
		.user = q->h,
		.qp_type = qp_type_of(n->transport),
		.route = route_of(p),
		.port_space = q->h->port.port_space,
		.src_port = q->h->port.port,
		.dst_port = q->r->connect.remote_port,
		.params = params_of(n, guid),
		.mtu = p->mtu,
		.rate = p->rate,
		.packet_lifetime = p->packet_life,
		.ack_timeout = n->ack_timeout,
		.response_timeout = ROCE_CM_RESPONSE_TIMEOUT,
		.max_retries = ROCE_CM_MAX_RETRIES,
		.data = data_of(&q->r->connect.private_data),
	};

	return roce_cm_connect(q->v->cm, &c, roce_clock_now(), &q->h->id);
}

static int on_connect(struct request *q)
{
	const struct roce_address local = normal_address(&q->r->connect.path.local);
	int error;

	if (!q->h || !q->h->port.port || q->h->listener || q->h->id)
		return fail(q, -EINVAL, "not bound, or in a dialogue");
	error = open_group(q, &local);
	if (error)
		return error;
	if (q->r->connect.conn.transport == ROCE_CM_TRANSPORT_UD)
		error = connect_datagram(q);
	else
		error = connect_queue_pair(q, roce_cm_service_guid(q->v, &local));
	return error ? fail(q, error, "cannot connect: %s", strerror(-error)) : 0;
}

/* ---- what needs a dialogue ---- */

static int on_accept(struct request *q)
{
	const struct roce_cm_data data = data_of(&q->r->accept.private_data);
	struct roce_address local = {.ifindex = 0};
	struct roce_cm_params params;
	struct roce_cm_info info;

	roce_cm_id_info(q->h->id, &info);
	local.gid = info.route.local;
	local.ifindex = info.route.scope;
	params = params_of(&q->r->accept.conn, roce_cm_service_guid(q->v, &local));
	q->h->parent = NULL;
	return roce_cm_accept(q->v->cm, q->h->id, &params, &data, roce_clock_now());
}

static int on_reject(struct request *q)
{
	const struct roce_cm_data data = data_of(&q->r->reject.private_data);
	enum roce_cm_rej_reason reason = q->r->reject.reason == ROCE_CM_REJ_VENDOR_OPTION
						 ? ROCE_CM_REJ_VENDOR_OPTION
						 : ROCE_CM_REJ_CONSUMER;

	q->h->parent = NULL;
	return roce_cm_reject(q->v->cm, q->h->id, reason, &data, roce_clock_now());
}

/* As rdma_disconnect(): no error when there is nothing to end (any more). */
static int on_disconnect(struct request *q)
{
	int error = roce_cm_disconnect(q->v->cm, q->h->id, roce_clock_now());

	return error == -EINVAL ? 0 : error;
}

static int on_dialogue(struct request *q)
{
	int error = -EINVAL;

	if (!q->h || !q->h->id)
		return fail(q, -EINVAL, "the id is in no dialogue");
	switch (q->r->op) {
	case ROCE_CM_ACCEPT:
		error = on_accept(q);
		break;
	case ROCE_CM_REJECT:
		error = on_reject(q);
		break;
	case ROCE_CM_ESTABLISH:
		error = roce_cm_establish(q->v->cm, q->h->id, roce_clock_now());
		break;
	case ROCE_CM_DISCONNECT:
		error = on_disconnect(q);
		break;
	case ROCE_CM_NOTIFY:
		error = roce_cm_notify(q->v->cm, q->h->id, roce_clock_now());
		break;
	case ROCE_CM_BIND:
	case ROCE_CM_LISTEN:
	case ROCE_CM_CONNECT:
	case ROCE_CM_TAKEN:
	case ROCE_CM_DESTROY:
	case ROCE_CM_RESTORE:
	case ROCE_CM_RESTORED:
		break;
	}
	return error ? fail(q, error, "not in this state: %s", strerror(-error)) : 0;
}

static void on_taken(struct request *q)
{
	if (!q->h || !q->h->id)
		return;
	q->h->parent = NULL;
	roce_cm_take(q->v->cm, q->h->id);
}

/* ---- RESTORE ---- */

static int restore_connection(struct request *q)
{
	const struct roce_cm_saved *saved = &q->r->restore.saved;
	struct roce_address local = {.ifindex = 0};
	struct roce_cm_info info;
	int error;

	if (!saved->length)
		return 0;
	if (!roce_cm_saved_decode(saved, &info))
		return fail(q, -ESTALE, "not saved by this version of uroced");
	local.gid = info.route.local;
	local.ifindex = info.route.scope;
	error = open_group(q, &local);
	if (error)
		return -ESTALE;
	error = roce_cm_restore(q->v->cm, &q->c->cm.owner, q->h, &info, roce_clock_now(),
				&q->h->id);
	return error ? fail(q, -ESTALE, "cannot be taken up again: %s", strerror(-error)) : 0;
}

/* A child shares its listener's port, which it does not hold. */
static int restore_port(struct request *q)
{
	const struct roce_cm_bind *bind = &q->r->restore.bind;
	const struct roce_address address = normal_address(&bind->address);
	int error;

	if ((q->r->handle & ROCE_CM_HANDLE_CHILD) || !bind->port)
		return 0;
	if (!roce_gid_is_zero(&address.gid) && open_group(q, &address))
		return -ESTALE;
	error = bind_port(q, q->h, bind);
	if (!error && q->r->restore.backlog)
		error = listen_on(q, q->h, q->r->restore.backlog);
	return error ? -ESTALE : 0;
}

/* Also one that cannot be taken up: its program goes on calling it so until it is destroyed. */
static void note_child(struct roce_cm_session *cm, uint32_t handle)
{
	uint32_t number = handle & ~ROCE_CM_HANDLE_CHILD;

	if ((handle & ROCE_CM_HANDLE_CHILD) && number > cm->last_child)
		cm->last_child = number;
}

static int on_restore(struct request *q)
{
	int error;

	note_child(&q->c->cm, q->r->handle);
	if (q->h || !is_family_right(&q->r->restore.bind))
		return fail(q, -ESTALE, "there is such an id");
	q->h = roce_cm_handle_create(q->v, q->c, q->r->handle);
	if (!q->h)
		return fail(q, -ESTALE, "a program may have %d ids", ROCE_CM_CLIENT_HANDLES_MAX);
	error = restore_port(q);
	if (!error)
		error = restore_connection(q);
	if (error) {
		roce_cm_handle_destroy(q->v, q->h);
		q->h = NULL;
	}
	return error;
}

/* ---- all ---- */

static int serve(struct request *q)
{
	switch (q->r->op) {
	case ROCE_CM_BIND:
		return on_bind(q);
	case ROCE_CM_LISTEN:
		return on_listen(q);
	case ROCE_CM_CONNECT:
		return on_connect(q);
	case ROCE_CM_ACCEPT:
	case ROCE_CM_REJECT:
	case ROCE_CM_ESTABLISH:
	case ROCE_CM_DISCONNECT:
	case ROCE_CM_NOTIFY:
		return on_dialogue(q);
	case ROCE_CM_TAKEN:
		on_taken(q);
		return 0;
	case ROCE_CM_DESTROY:
		if (q->h)
			roce_cm_handle_destroy(q->v, q->h);
		q->h = NULL;
		return 0;
	case ROCE_CM_RESTORE:
		return on_restore(q);
	case ROCE_CM_RESTORED:
		return 0;
	}
	return -EINVAL;
}

static void answer_ok(struct request *q, uint32_t sequence)
{
	struct roce_message m = {.type = ROCE_MESSAGE_CM_OK, .sequence = sequence};
	struct roce_cm_info info;

	m.cm_ok.handle = q->r->handle;
	if (q->h) {
		m.cm_ok.port = q->h->port.port;
		if (q->h->id) {
			roce_cm_id_info(q->h->id, &info);
			roce_cm_saved_encode(&info, &m.cm_ok.saved);
			if (!m.cm_ok.port)
				m.cm_ok.port = info.dst_port; /* a child's is its listener's */
		}
	}
	roce_session_send(q->s, q->c, &m);
}

void roce_cm_service_on_request(struct roce_server *s, struct roce_session *c,
				const struct roce_message *m)
{
	struct request q = {.s = s, .v = s->cm, .c = c, .r = &m->cm};
	int error;

	q.h = roce_cm_handle_find(q.v, c, m->cm.handle);
	error = serve(&q);
	if (error)
		roce_session_send_error(s, c, m->sequence, error, q.err);
	else if (m->cm.op != ROCE_CM_TAKEN)
		answer_ok(&q, m->sequence);
	roce_cm_service_pump(s);
}
