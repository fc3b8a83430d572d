/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encoding and decoding of control messages. Both directions run through the same list of fields
 * (transfer_body) with the functions of cursor.h. Called by channel.c; pure.
 */
#include "control/message.h"

#include <netinet/in.h>
#include <string.h>

#include "base/assert.h"
#include "control/cursor.h"

#define HEADER_BYTES 16

static void transfer_slot(struct roce_cursor *c, uint8_t *slot)
{
	roce_cursor_u8(c, slot);
	if (!c->error && (*slot < 1 || *slot > ROCE_CONTROL_SLOT_MAX))
		c->error = ROCE_MESSAGE_ERROR_SLOT;
}

/* Family (4 or 6), port, scope, 16 bytes of address: IPv4 in the first four. */
static void transfer_sockaddr(struct roce_cursor *c, struct sockaddr_storage *ss)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
	uint8_t family = 0, address[16] = {0};
	uint16_t port = 0;
	uint32_t scope = 0;

	if (c->writing && ss->ss_family == AF_INET) {
		family = 4;
		port = in->sin_port;
		memcpy(address, &in->sin_addr, 4);
	} else if (c->writing) {
		family = 6;
		port = in6->sin6_port;
		scope = in6->sin6_scope_id;
		memcpy(address, &in6->sin6_addr, 16);
	}
	roce_cursor_u8(c, &family);
	roce_cursor_u16(c, &port);
	roce_cursor_u32(c, &scope);
	roce_cursor_bytes(c, address, sizeof(address));
	if (c->writing || c->error)
		return;
	memset(ss, 0, sizeof(*ss));
	if (family == 4) {
		in->sin_family = AF_INET;
		in->sin_port = port;
		memcpy(&in->sin_addr, address, 4);
	} else if (family == 6) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = port;
		in6->sin6_scope_id = scope;
		memcpy(&in6->sin6_addr, address, 16);
	} else {
		c->error = ROCE_MESSAGE_ERROR_FAMILY;
	}
}

static void transfer_stray(struct roce_cursor *c, struct roce_message *m)
{
	uint8_t *p;

	roce_cursor_bytes(c, m->stray.local.raw, sizeof(m->stray.local.raw));
	transfer_sockaddr(c, &m->stray.from);
	roce_cursor_u8(c, &m->stray.tos);
	roce_cursor_u16(c, &m->stray.length);
	if (!c->error && m->stray.length > ROCE_CONTROL_STRAY_MAX)
		c->error = ROCE_MESSAGE_ERROR_STRAY_LENGTH;
	p = roce_cursor_advance(c, m->stray.length);
	if (!p)
		return;
	if (c->writing)
		memcpy(p, m->stray.data, m->stray.length);
	else
		m->stray.data = p;
}

static void transfer_body(struct roce_cursor *c, struct roce_message *m)
{
	switch (m->type) {
	case ROCE_MESSAGE_HELLO:
	case ROCE_MESSAGE_HELLO_OK:
		roce_cursor_u32(c, &m->hello.pid);
		roce_cursor_u64(c, &m->hello.netns);
		roce_cursor_u64(c, &m->hello.instance);
		roce_cursor_string(c, m->hello.product, sizeof(m->hello.product));
		roce_cursor_string(c, m->hello.program, sizeof(m->hello.program));
		break;
	case ROCE_MESSAGE_ERROR:
		roce_cursor_u32(c, &m->error.error);
		roce_cursor_string(c, m->error.text, sizeof(m->error.text));
		break;
	case ROCE_MESSAGE_OK:
	case ROCE_MESSAGE_LEASE:
	case ROCE_MESSAGE_CLAIMED:
	case ROCE_MESSAGE_STATUS:
	case ROCE_MESSAGE_STATUS_END:
		break;
	case ROCE_MESSAGE_LEASE_OK:
	case ROCE_MESSAGE_RELEASE:
		transfer_slot(c, &m->lease.slot);
		break;
	case ROCE_MESSAGE_OPEN_ADDRESS:
	case ROCE_MESSAGE_OPEN_ADDRESS_OK:
	case ROCE_MESSAGE_CLOSE_ADDRESS:
	case ROCE_MESSAGE_REMAPPED:
		transfer_slot(c, &m->open.slot);
		roce_cursor_address(c, &m->open.address);
		roce_cursor_flags(c, &m->open.flags, ROCE_OPEN_GRO_OFF);
		roce_cursor_u32(c, &m->open.nonce);
		break;
	case ROCE_MESSAGE_CLAIM:
		transfer_slot(c, &m->claim.slot);
		roce_cursor_count(c, &m->claim.count, ROCE_CONTROL_CLAIM_MAX);
		for (uint8_t i = 0; !c->error && i < m->claim.count; i++) {
			roce_cursor_address(c, &m->claim.address[i]);
			roce_cursor_u32(c, &m->claim.nonce[i]);
		}
		break;
	case ROCE_MESSAGE_STRAY:
		transfer_stray(c, m);
		break;
	case ROCE_MESSAGE_STATUS_DAEMON:
		roce_cursor_u32(c, &m->status_daemon.pid);
		roce_cursor_u32(c, &m->status_daemon.keeper_pid);
		roce_cursor_u64(c, &m->status_daemon.uptime_ms);
		roce_cursor_u16(c, &m->status_daemon.slots);
		roce_cursor_u32(c, &m->status_daemon.clients);
		roce_cursor_string(c, m->status_daemon.product, sizeof(m->status_daemon.product));
		roce_cursor_string(c, m->status_daemon.socket, sizeof(m->status_daemon.socket));
		break;
	case ROCE_MESSAGE_STATUS_SLOT:
		transfer_slot(c, &m->status_slot.slot);
		roce_cursor_u32(c, &m->status_slot.pid);
		roce_cursor_u32(c, &m->status_slot.uid);
		roce_cursor_string(c, m->status_slot.program, sizeof(m->status_slot.program));
		roce_cursor_count(c, &m->status_slot.count, ROCE_CONTROL_SLOT_ADDR_MAX);
		for (uint8_t i = 0; !c->error && i < m->status_slot.count; i++)
			roce_cursor_address(c, &m->status_slot.address[i]);
		break;
	case ROCE_MESSAGE_STATUS_ADDRESS:
		roce_cursor_address(c, &m->status_address.address);
		roce_cursor_u16(c, &m->status_address.leased);
		roce_cursor_u16(c, &m->status_address.members);
		break;
	case ROCE_MESSAGE_STATUS_COUNTER:
		roce_cursor_u64(c, &m->status_counter.value);
		roce_cursor_string(c, m->status_counter.name, sizeof(m->status_counter.name));
		break;
	case ROCE_MESSAGE_STOP:
		roce_cursor_flags(c, &m->stop.flags, ROCE_STOP_FORCE);
		break;
	case ROCE_MESSAGE_CM:
		roce_cm_request_transfer(c, &m->cm);
		break;
	case ROCE_MESSAGE_CM_OK:
		roce_cm_ok_transfer(c, &m->cm_ok);
		break;
	case ROCE_MESSAGE_CM_EVENT:
		roce_cm_event_transfer(c, &m->cm_event);
		break;
	}
}

static int is_known_type(uint16_t type)
{
	return type >= ROCE_MESSAGE_HELLO && type <= ROCE_MESSAGE_CM_EVENT;
}

size_t roce_message_encode(const struct roce_message *m, uint8_t *out)
{
	struct roce_cursor c = {out, ROCE_CONTROL_MESSAGE_MAX, 0, 1, ROCE_MESSAGE_ERROR_OK};
	struct roce_message copy = *m;
	uint32_t magic = ROCE_CONTROL_MAGIC, length = 0;
	uint16_t protocol = ROCE_CONTROL_PROTOCOL, type = (uint16_t)m->type;

	/* A test may pretend to be another version. */
	if ((m->type == ROCE_MESSAGE_HELLO || m->type == ROCE_MESSAGE_HELLO_OK) &&
	    m->hello.protocol)
		protocol = m->hello.protocol;
	roce_cursor_u32(&c, &magic);
	roce_cursor_u16(&c, &protocol);
	roce_cursor_u16(&c, &type);
	roce_cursor_u32(&c, &copy.sequence);
	roce_cursor_u32(&c, &length);
	transfer_body(&c, &copy);
	ROCE_ASSERT(!c.error);
	length = (uint32_t)c.at;
	c.at = HEADER_BYTES - 4;
	roce_cursor_u32(&c, &length);
	return length;
}

enum roce_message_error roce_message_decode(struct roce_message *out_message, const uint8_t *data,
					    size_t length)
{
	struct roce_cursor c = {(uint8_t *)(uintptr_t)data, length, 0, 0, ROCE_MESSAGE_ERROR_OK};
	uint32_t magic = 0, said = 0;
	uint16_t protocol = 0, type = 0;
	int is_stable;

	memset(out_message, 0, offsetof(struct roce_message, hello));
	if (length < HEADER_BYTES)
		return ROCE_MESSAGE_ERROR_SHORT;
	roce_cursor_u32(&c, &magic);
	roce_cursor_u16(&c, &protocol);
	roce_cursor_u16(&c, &type);
	roce_cursor_u32(&c, &out_message->sequence);
	roce_cursor_u32(&c, &said);
	if (magic != ROCE_CONTROL_MAGIC)
		return ROCE_MESSAGE_ERROR_MAGIC;
	if (said != length)
		return ROCE_MESSAGE_ERROR_LENGTH;
	if (!is_known_type(type))
		return protocol == ROCE_CONTROL_PROTOCOL ? ROCE_MESSAGE_ERROR_TYPE
							 : ROCE_MESSAGE_ERROR_PROTOCOL;
	out_message->type = (enum roce_message_type)type;
	is_stable = type == ROCE_MESSAGE_HELLO || type == ROCE_MESSAGE_HELLO_OK ||
		    type == ROCE_MESSAGE_ERROR;
	if (protocol != ROCE_CONTROL_PROTOCOL && !is_stable)
		return ROCE_MESSAGE_ERROR_PROTOCOL;
	transfer_body(&c, out_message);
	if (!c.error && c.at != length)
		c.error = ROCE_MESSAGE_ERROR_TRAILING;
	/* A later version may have appended fields: what we read is still right. Else nothing is,
	 * and what the caller's memory held must not be shown as the peer's text. */
	if (c.error && c.error != ROCE_MESSAGE_ERROR_TRAILING)
		memset(&out_message->hello, 0,
		       sizeof(*out_message) - offsetof(struct roce_message, hello));
	if (type == ROCE_MESSAGE_HELLO || type == ROCE_MESSAGE_HELLO_OK)
		out_message->hello.protocol = protocol;
	if (protocol != ROCE_CONTROL_PROTOCOL)
		return ROCE_MESSAGE_ERROR_PROTOCOL;
	return c.error;
}

const char *roce_message_type_str(enum roce_message_type type)
{
	switch (type) {
#define X(name, value)            \
	case ROCE_MESSAGE_##name: \
		return #name;
		ROCE_MESSAGE_TYPES(X)
#undef X
	}
	return "?";
}

const char *roce_message_error_str(enum roce_message_error error)
{
	switch (error) {
#define X(name, text)                   \
	case ROCE_MESSAGE_ERROR_##name: \
		return text;
		ROCE_MESSAGE_ERRORS(X)
#undef X
	}
	return "?";
}
