/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bodies of CM, CM_OK and CM_EVENT as lists of fields, in the order in which they stand in the
 * message. Lengths and enumerations are checked here, so that neither end meets a number that it
 * has no name for; whether a request makes sense in a state is the connection manager's to say.
 */
#include "control/cm_message.h"

#include "control/cursor.h"

/* An enumeration of one byte. */
static uint8_t transfer_enum(struct roce_cursor *c, unsigned value)
{
	uint8_t byte = (uint8_t)value;

	roce_cursor_u8(c, &byte);
	return byte;
}

static void transfer_op(struct roce_cursor *c, enum roce_cm_op *op)
{
	uint8_t value = transfer_enum(c, *op);

	if (c->error)
		return;
	*op = (enum roce_cm_op)value;
	if (roce_cm_op_str(*op)[0] == '?')
		c->error = ROCE_MESSAGE_ERROR_CM_OP;
}

static void transfer_event_type(struct roce_cursor *c, enum roce_cm_event_type *type)
{
	uint8_t value = transfer_enum(c, *type);

	if (c->error)
		return;
	*type = (enum roce_cm_event_type)value;
	if (roce_cm_event_type_str(*type)[0] == '?')
		c->error = ROCE_MESSAGE_ERROR_CM_EVENT;
}

static void transfer_bind(struct roce_cursor *c, struct roce_cm_bind *b)
{
	roce_cursor_u16(c, &b->port_space);
	roce_cursor_u8(c, &b->family);
	if (!c->error && b->family != 4 && b->family != 6)
		c->error = ROCE_MESSAGE_ERROR_FAMILY;
	roce_cursor_address(c, &b->address);
	roce_cursor_u16(c, &b->port);
	roce_cursor_flags(c, &b->flags, ROCE_CM_BIND_REUSE | ROCE_CM_BIND_AF_ONLY);
}

static void transfer_path(struct roce_cursor *c, struct roce_cm_path *p)
{
	roce_cursor_address(c, &p->local);
	roce_cursor_bytes(c, p->remote.raw, sizeof(p->remote.raw));
	roce_cursor_u32(c, &p->flow_label);
	roce_cursor_u16(c, &p->pkey);
	roce_cursor_u8(c, &p->traffic_class);
	roce_cursor_u8(c, &p->hop_limit);
	roce_cursor_u8(c, &p->sl);
	roce_cursor_u8(c, &p->mtu);
	roce_cursor_u8(c, &p->rate);
	roce_cursor_u8(c, &p->packet_life);
}

static void transfer_conn(struct roce_cursor *c, struct roce_cm_conn *n)
{
	roce_cursor_u32(c, &n->qpn);
	roce_cursor_u32(c, &n->qkey);
	roce_cursor_u32(c, &n->starting_psn);
	roce_cursor_u32(c, &n->ece_vendor);
	roce_cursor_u32(c, &n->ece_options);
	roce_cursor_u8(c, &n->transport);
	if (!c->error && n->transport > ROCE_CM_TRANSPORT_UD)
		c->error = ROCE_MESSAGE_ERROR_CM_TRANSPORT;
	roce_cursor_u8(c, &n->responder_resources);
	roce_cursor_u8(c, &n->initiator_depth);
	roce_cursor_u8(c, &n->flow_control);
	roce_cursor_u8(c, &n->retry_count);
	roce_cursor_u8(c, &n->rnr_retry_count);
	roce_cursor_u8(c, &n->srq);
	roce_cursor_u8(c, &n->ack_timeout);
	roce_cursor_u8(c, &n->ack_delay);
}

static void transfer_private(struct roce_cursor *c, struct roce_cm_private *p)
{
	roce_cursor_u8(c, &p->length);
	if (!c->error && p->length > sizeof(p->data))
		c->error = ROCE_MESSAGE_ERROR_CM_LENGTH;
	if (!c->error)
		roce_cursor_bytes(c, p->data, p->length);
}

static void transfer_saved(struct roce_cursor *c, struct roce_cm_saved *s)
{
	roce_cursor_u16(c, &s->length);
	if (!c->error && s->length > sizeof(s->data))
		c->error = ROCE_MESSAGE_ERROR_CM_LENGTH;
	if (!c->error)
		roce_cursor_bytes(c, s->data, s->length);
}

void roce_cm_request_transfer(struct roce_cursor *c, struct roce_cm_request *r)
{
	roce_cursor_u32(c, &r->handle);
	transfer_op(c, &r->op);
	if (c->error)
		return;
	switch (r->op) {
	case ROCE_CM_BIND:
		transfer_bind(c, &r->bind);
		break;
	case ROCE_CM_LISTEN:
		roce_cursor_u32(c, &r->listen.backlog);
		roce_cursor_flags(c, &r->listen.flags, ROCE_CM_BIND_REUSE | ROCE_CM_BIND_AF_ONLY);
		break;
	case ROCE_CM_CONNECT:
		transfer_path(c, &r->connect.path);
		roce_cursor_u16(c, &r->connect.remote_port);
		transfer_conn(c, &r->connect.conn);
		transfer_private(c, &r->connect.private_data);
		break;
	case ROCE_CM_ACCEPT:
		transfer_conn(c, &r->accept.conn);
		transfer_private(c, &r->accept.private_data);
		break;
	case ROCE_CM_REJECT:
		roce_cursor_u16(c, &r->reject.reason);
		transfer_private(c, &r->reject.private_data);
		break;
	case ROCE_CM_RESTORE:
		transfer_bind(c, &r->restore.bind);
		roce_cursor_u32(c, &r->restore.backlog);
		transfer_saved(c, &r->restore.saved);
		break;
	case ROCE_CM_ESTABLISH:
	case ROCE_CM_DISCONNECT:
	case ROCE_CM_NOTIFY:
	case ROCE_CM_TAKEN:
	case ROCE_CM_DESTROY:
	case ROCE_CM_RESTORED:
		break;
	}
}

void roce_cm_ok_transfer(struct roce_cursor *c, struct roce_cm_ok *ok)
{
	roce_cursor_u32(c, &ok->handle);
	roce_cursor_u16(c, &ok->port);
	transfer_saved(c, &ok->saved);
}

void roce_cm_event_transfer(struct roce_cursor *c, struct roce_cm_event *e)
{
	uint32_t status = (uint32_t)e->status;

	roce_cursor_u32(c, &e->handle);
	roce_cursor_u32(c, &e->listener);
	transfer_event_type(c, &e->event);
	roce_cursor_u32(c, &status);
	e->status = (int32_t)status;
	roce_cursor_bytes(c, e->local_ip.raw, sizeof(e->local_ip.raw));
	roce_cursor_bytes(c, e->remote_ip.raw, sizeof(e->remote_ip.raw));
	roce_cursor_u16(c, &e->local_port);
	roce_cursor_u16(c, &e->remote_port);
	transfer_path(c, &e->path);
	transfer_conn(c, &e->conn);
	transfer_private(c, &e->private_data);
	transfer_saved(c, &e->saved);
}

const char *roce_cm_op_str(enum roce_cm_op op)
{
	switch (op) {
#define X(name, value, body) \
	case ROCE_CM_##name: \
		return #name;
		ROCE_CM_OPS(X)
#undef X
	}
	return "?";
}

const char *roce_cm_event_type_str(enum roce_cm_event_type type)
{
	switch (type) {
#define X(name, value)             \
	case ROCE_CM_EVENT_##name: \
		return #name;
		ROCE_CM_EVENTS(X)
#undef X
	}
	return "?";
}
