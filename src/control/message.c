/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encoding and decoding of control messages. Both directions run through the same list of fields
 * (transfer_body), so they cannot drift apart: a cursor either writes a field or reads and checks
 * it. A cursor that met an error stays there and touches nothing more. Called by channel.c; pure.
 */
#include "control/message.h"

#include <netinet/in.h>
#include <string.h>

#include "base/assert.h"

#define HEADER_BYTES 16

struct cursor {
	uint8_t *data;
	size_t length; /* reading: bytes there are; writing: room */
	size_t at;
	int writing;
	enum roce_message_error error;
};

static uint8_t *advance(struct cursor *c, size_t bytes)
{
	uint8_t *p = c->data + c->at;

	if (c->error)
		return NULL;
	if (bytes > c->length - c->at) {
		c->error = ROCE_MESSAGE_ERROR_TRUNCATED;
		return NULL;
	}
	c->at += bytes;
	return p;
}

static uint64_t transfer_number(struct cursor *c, uint64_t value, size_t bytes)
{
	uint8_t *p = advance(c, bytes);

	if (!p)
		return 0;
	if (c->writing) {
		for (size_t i = 0; i < bytes; i++)
			p[i] = (uint8_t)(value >> (8 * i));
		return value;
	}
	value = 0;
	for (size_t i = 0; i < bytes; i++)
		value |= (uint64_t)p[i] << (8 * i);
	return value;
}

static void transfer_u8(struct cursor *c, uint8_t *v)
{
	*v = (uint8_t)transfer_number(c, *v, 1);
}

static void transfer_u16(struct cursor *c, uint16_t *v)
{
	*v = (uint16_t)transfer_number(c, *v, 2);
}

static void transfer_u32(struct cursor *c, uint32_t *v)
{
	*v = (uint32_t)transfer_number(c, *v, 4);
}

static void transfer_u64(struct cursor *c, uint64_t *v)
{
	*v = transfer_number(c, *v, 8);
}

static void transfer_bytes(struct cursor *c, void *bytes, size_t length)
{
	uint8_t *p = advance(c, length);

	if (!p)
		return;
	if (c->writing)
		memcpy(p, bytes, length);
	else
		memcpy(bytes, p, length);
}

/* Two bytes of length, then the characters without a terminator. */
static void transfer_string(struct cursor *c, char *s, size_t size)
{
	uint16_t length = c->writing ? (uint16_t)strnlen(s, size - 1) : 0;

	transfer_u16(c, &length);
	if (c->error)
		return;
	if (length >= size) {
		c->error = ROCE_MESSAGE_ERROR_STRING;
		return;
	}
	transfer_bytes(c, s, length);
	if (c->writing || c->error)
		return;
	s[length] = 0;
	/* They end up in terminals and logs. */
	for (uint16_t i = 0; i < length; i++)
		if ((uint8_t)s[i] < 0x20 || s[i] == 0x7f)
			c->error = ROCE_MESSAGE_ERROR_STRING;
}

static void transfer_slot(struct cursor *c, uint8_t *slot)
{
	transfer_u8(c, slot);
	if (!c->error && (*slot < 1 || *slot > ROCE_CONTROL_SLOT_MAX))
		c->error = ROCE_MESSAGE_ERROR_SLOT;
}

static void transfer_flags(struct cursor *c, uint32_t *flags, uint32_t known)
{
	transfer_u32(c, flags);
	if (!c->error && (*flags & ~known))
		c->error = ROCE_MESSAGE_ERROR_FLAGS;
}

static void transfer_address(struct cursor *c, struct roce_address *a)
{
	transfer_bytes(c, a->gid.raw, sizeof(a->gid.raw));
	transfer_u32(c, &a->ifindex);
}

static void transfer_count(struct cursor *c, uint8_t *count, uint8_t most)
{
	transfer_u8(c, count);
	if (!c->error && *count > most)
		c->error = ROCE_MESSAGE_ERROR_COUNT;
}

/* Family (4 or 6), port, scope, 16 bytes of address: IPv4 in the first four. */
static void transfer_sockaddr(struct cursor *c, struct sockaddr_storage *ss)
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
	transfer_u8(c, &family);
	transfer_u16(c, &port);
	transfer_u32(c, &scope);
	transfer_bytes(c, address, sizeof(address));
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

static void transfer_stray(struct cursor *c, struct roce_message *m)
{
	uint8_t *p;

	transfer_bytes(c, m->stray.local.raw, sizeof(m->stray.local.raw));
	transfer_sockaddr(c, &m->stray.from);
	transfer_u8(c, &m->stray.tos);
	transfer_u16(c, &m->stray.length);
	if (!c->error && m->stray.length > ROCE_CONTROL_STRAY_MAX)
		c->error = ROCE_MESSAGE_ERROR_STRAY_LENGTH;
	p = advance(c, m->stray.length);
	if (!p)
		return;
	if (c->writing)
		memcpy(p, m->stray.data, m->stray.length);
	else
		m->stray.data = p;
}

static void transfer_body(struct cursor *c, struct roce_message *m)
{
	switch (m->type) {
	case ROCE_MESSAGE_HELLO:
	case ROCE_MESSAGE_HELLO_OK:
		transfer_u32(c, &m->hello.pid);
		transfer_u64(c, &m->hello.netns);
		transfer_u64(c, &m->hello.instance);
		transfer_string(c, m->hello.product, sizeof(m->hello.product));
		transfer_string(c, m->hello.program, sizeof(m->hello.program));
		break;
	case ROCE_MESSAGE_ERROR:
		transfer_u32(c, &m->error.error);
		transfer_string(c, m->error.text, sizeof(m->error.text));
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
		transfer_address(c, &m->open.address);
		transfer_flags(c, &m->open.flags, ROCE_OPEN_GRO_OFF);
		transfer_u32(c, &m->open.nonce);
		break;
	case ROCE_MESSAGE_CLAIM:
		transfer_slot(c, &m->claim.slot);
		transfer_count(c, &m->claim.count, ROCE_CONTROL_CLAIM_MAX);
		for (uint8_t i = 0; !c->error && i < m->claim.count; i++) {
			transfer_address(c, &m->claim.address[i]);
			transfer_u32(c, &m->claim.nonce[i]);
		}
		break;
	case ROCE_MESSAGE_STRAY:
		transfer_stray(c, m);
		break;
	case ROCE_MESSAGE_STATUS_DAEMON:
		transfer_u32(c, &m->status_daemon.pid);
		transfer_u32(c, &m->status_daemon.keeper_pid);
		transfer_u64(c, &m->status_daemon.uptime_ms);
		transfer_u16(c, &m->status_daemon.slots);
		transfer_u32(c, &m->status_daemon.clients);
		transfer_string(c, m->status_daemon.product, sizeof(m->status_daemon.product));
		transfer_string(c, m->status_daemon.socket, sizeof(m->status_daemon.socket));
		break;
	case ROCE_MESSAGE_STATUS_SLOT:
		transfer_slot(c, &m->status_slot.slot);
		transfer_u32(c, &m->status_slot.pid);
		transfer_u32(c, &m->status_slot.uid);
		transfer_string(c, m->status_slot.program, sizeof(m->status_slot.program));
		transfer_count(c, &m->status_slot.count, ROCE_CONTROL_SLOT_ADDR_MAX);
		for (uint8_t i = 0; !c->error && i < m->status_slot.count; i++)
			transfer_address(c, &m->status_slot.address[i]);
		break;
	case ROCE_MESSAGE_STATUS_ADDRESS:
		transfer_address(c, &m->status_address.address);
		transfer_u16(c, &m->status_address.leased);
		transfer_u16(c, &m->status_address.members);
		break;
	case ROCE_MESSAGE_STATUS_COUNTER:
		transfer_u64(c, &m->status_counter.value);
		transfer_string(c, m->status_counter.name, sizeof(m->status_counter.name));
		break;
	case ROCE_MESSAGE_STOP:
		transfer_flags(c, &m->stop.flags, ROCE_STOP_FORCE);
		break;
	}
}

static int is_known_type(uint16_t type)
{
	return type >= ROCE_MESSAGE_HELLO && type <= ROCE_MESSAGE_STOP;
}

size_t roce_message_encode(const struct roce_message *m, uint8_t *out)
{
	struct cursor c = {out, ROCE_CONTROL_MESSAGE_MAX, 0, 1, ROCE_MESSAGE_ERROR_OK};
	struct roce_message copy = *m;
	uint32_t magic = ROCE_CONTROL_MAGIC, length = 0;
	uint16_t protocol = ROCE_CONTROL_PROTOCOL, type = (uint16_t)m->type;

	/* A test may pretend to be another version. */
	if ((m->type == ROCE_MESSAGE_HELLO || m->type == ROCE_MESSAGE_HELLO_OK) &&
	    m->hello.protocol)
		protocol = m->hello.protocol;
	transfer_u32(&c, &magic);
	transfer_u16(&c, &protocol);
	transfer_u16(&c, &type);
	transfer_u32(&c, &copy.sequence);
	transfer_u32(&c, &length);
	transfer_body(&c, &copy);
	ROCE_ASSERT(!c.error);
	length = (uint32_t)c.at;
	c.at = HEADER_BYTES - 4;
	transfer_u32(&c, &length);
	return length;
}

enum roce_message_error roce_message_decode(struct roce_message *out_message, const uint8_t *data,
					    size_t length)
{
	struct cursor c = {(uint8_t *)(uintptr_t)data, length, 0, 0, ROCE_MESSAGE_ERROR_OK};
	uint32_t magic = 0, said = 0;
	uint16_t protocol = 0, type = 0;
	int is_stable;

	memset(out_message, 0, offsetof(struct roce_message, hello));
	if (length < HEADER_BYTES)
		return ROCE_MESSAGE_ERROR_SHORT;
	transfer_u32(&c, &magic);
	transfer_u16(&c, &protocol);
	transfer_u16(&c, &type);
	transfer_u32(&c, &out_message->sequence);
	transfer_u32(&c, &said);
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
