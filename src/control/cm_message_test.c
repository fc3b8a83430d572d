/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every request, answer and event of the connection manager survives a round trip with every field
 * different from every other, is refused at every shorter length, and each check of the decoder is
 * provoked by a message that is wrong in this respect only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "control/message.h"

#define BODY 16 /* bytes of the header */

static uint8_t bytes[ROCE_CONTROL_MESSAGE_MAX];
static struct roce_message got;

static struct roce_gid make_gid(uint8_t last)
{
	return (struct roce_gid){{0x20, 1, 0x0d, 0xb8, [15] = last}};
}

static struct roce_cm_bind make_bind(void)
{
	return (struct roce_cm_bind){.port_space = 0x106,
				     .family = 6,
				     .address = {make_gid(1), 7},
				     .port = 7471,
				     .flags = ROCE_CM_BIND_REUSE | ROCE_CM_BIND_AF_ONLY};
}

static struct roce_cm_path make_path(void)
{
	return (struct roce_cm_path){.local = {make_gid(2), 9},
				     .remote = make_gid(3),
				     .flow_label = 0xabcde,
				     .pkey = 0xffff,
				     .traffic_class = 11,
				     .hop_limit = 64,
				     .sl = 12,
				     .mtu = 3,
				     .rate = 14,
				     .packet_life = 18};
}

static struct roce_cm_conn make_conn(void)
{
	return (struct roce_cm_conn){.qpn = 0x123456,
				     .qkey = 0x01234567,
				     .starting_psn = 0x654321,
				     .ece_vendor = 0x15b3,
				     .ece_options = 0x77665544,
				     .transport = ROCE_CM_TRANSPORT_XRC,
				     .responder_resources = 21,
				     .initiator_depth = 22,
				     .flow_control = 1,
				     .retry_count = 6,
				     .rnr_retry_count = 5,
				     .srq = 1,
				     .ack_timeout = 19,
				     .ack_delay = 15};
}

static void fill_private(struct roce_cm_private *p, uint8_t length)
{
	p->length = length;
	for (unsigned i = 0; i < length; i++)
		p->data[i] = (uint8_t)(i * 3 + 1);
}

static void fill_saved(struct roce_cm_saved *s)
{
	s->length = ROCE_CM_SAVED_MAX;
	for (unsigned i = 0; i < s->length; i++)
		s->data[i] = (uint8_t)(i * 7 + 1);
}

static void fill_request(struct roce_message *m, enum roce_cm_op op)
{
	m->type = ROCE_MESSAGE_CM;
	m->cm.handle = 0x80001234;
	m->cm.op = op;
	switch (op) {
	case ROCE_CM_BIND:
		m->cm.bind = make_bind();
		break;
	case ROCE_CM_LISTEN:
		m->cm.listen.backlog = 1024;
		m->cm.listen.flags = ROCE_CM_BIND_AF_ONLY;
		break;
	case ROCE_CM_CONNECT:
		m->cm.connect.path = make_path();
		m->cm.connect.remote_port = 4420;
		m->cm.connect.conn = make_conn();
		fill_private(&m->cm.connect.private_data, 56);
		break;
	case ROCE_CM_ACCEPT:
		m->cm.accept.conn = make_conn();
		fill_private(&m->cm.accept.private_data, 196);
		break;
	case ROCE_CM_REJECT:
		m->cm.reject.reason = 28;
		fill_private(&m->cm.reject.private_data, 148);
		break;
	case ROCE_CM_RESTORE:
		m->cm.restore.bind = make_bind();
		m->cm.restore.backlog = 5;
		fill_saved(&m->cm.restore.saved);
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

static void fill_event(struct roce_message *m, enum roce_cm_event_type type)
{
	struct roce_cm_event *e = &m->cm_event;

	m->type = ROCE_MESSAGE_CM_EVENT;
	e->handle = 17;
	e->listener = 18;
	e->event = type;
	e->status = -110;
	e->local_ip = make_gid(4);
	e->remote_ip = make_gid(5);
	e->local_port = 4420;
	e->remote_port = 33001;
	e->path = make_path();
	e->conn = make_conn();
	fill_private(&e->private_data, ROCE_CM_PRIVATE_MAX);
	fill_saved(&e->saved);
}

static enum roce_message_error decode(size_t length)
{
	for (unsigned i = 0; i < 4; i++)
		bytes[12 + i] = (uint8_t)(length >> (8 * i));
	memset(&got, 0xa5, sizeof(got));
	return roce_message_decode(&got, bytes, length);
}

static void check_round_trip(const struct roce_message *m)
{
	uint8_t again[ROCE_CONTROL_MESSAGE_MAX];
	size_t full = roce_message_encode(m, bytes);

	assert_int_equal(decode(full), ROCE_MESSAGE_ERROR_OK);
	assert_int_equal(roce_message_encode(&got, again), full);
	assert_memory_equal(again, bytes, full);
	for (size_t length = BODY; length < full; length++)
		assert_int_equal(decode(length), ROCE_MESSAGE_ERROR_TRUNCATED);
	bytes[full] = 0;
	assert_int_equal(decode(full + 1), ROCE_MESSAGE_ERROR_TRAILING);
	assert_int_equal(decode(full), ROCE_MESSAGE_ERROR_OK);
}

static void roce_cm_request__round_trip(void **state)
{
	static const enum roce_cm_op ops[] = {
#define X(name, value, body) ROCE_CM_##name,
		ROCE_CM_OPS(X)
#undef X
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct roce_message m;

		memset(&m, 0, sizeof(m));
		fill_request(&m, ops[i]);
		check_round_trip(&m);
		assert_int_equal(got.cm.handle, m.cm.handle);
		assert_int_equal(got.cm.op, ops[i]);
	}
}

static void roce_cm_event__round_trip(void **state)
{
	static const enum roce_cm_event_type types[] = {
#define X(name, value) ROCE_CM_EVENT_##name,
		ROCE_CM_EVENTS(X)
#undef X
	};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct roce_message m;

		memset(&m, 0, sizeof(m));
		fill_event(&m, types[i]);
		check_round_trip(&m);
		assert_int_equal(got.cm_event.event, types[i]);
		assert_int_equal(got.cm_event.status, -110);
	}
}

/* The bytes come back equal; here, that each goes to its field. */
static void roce_cm_request__fields(void **state)
{
	struct roce_message m;

	(void)state;
	memset(&m, 0, sizeof(m));
	fill_request(&m, ROCE_CM_CONNECT);
	assert_int_equal(decode(roce_message_encode(&m, bytes)), ROCE_MESSAGE_ERROR_OK);
	assert_int_equal(got.cm.connect.remote_port, 4420);
	assert_int_equal(got.cm.connect.path.local.ifindex, 9);
	assert_memory_equal(&got.cm.connect.path.remote, &m.cm.connect.path.remote, 16);
	assert_int_equal(got.cm.connect.path.flow_label, 0xabcde);
	assert_int_equal(got.cm.connect.path.packet_life, 18);
	assert_int_equal(got.cm.connect.conn.qpn, 0x123456);
	assert_int_equal(got.cm.connect.conn.responder_resources, 21);
	assert_int_equal(got.cm.connect.conn.ack_delay, 15);
	assert_int_equal(got.cm.connect.private_data.length, 56);
	assert_memory_equal(got.cm.connect.private_data.data, m.cm.connect.private_data.data, 56);
}

static void roce_cm_ok__round_trip(void **state)
{
	struct roce_message m;

	(void)state;
	memset(&m, 0, sizeof(m));
	m.type = ROCE_MESSAGE_CM_OK;
	m.cm_ok.handle = 3;
	m.cm_ok.port = 40000;
	check_round_trip(&m);
	fill_saved(&m.cm_ok.saved);
	check_round_trip(&m);
	assert_int_equal(got.cm_ok.port, 40000);
	assert_int_equal(got.cm_ok.saved.length, ROCE_CM_SAVED_MAX);
}

static void expect(size_t at, uint8_t value, enum roce_message_error error)
{
	size_t length = bytes[12] | (size_t)bytes[13] << 8;
	uint8_t before = bytes[at];

	assert_int_equal(decode(length), ROCE_MESSAGE_ERROR_OK);
	bytes[at] = value;
	assert_int_equal(decode(length), error);
	bytes[at] = before;
}

static void roce_cm_message__refused(void **state)
{
	struct roce_message m;

	(void)state;
	memset(&m, 0, sizeof(m));
	fill_request(&m, ROCE_CM_BIND);
	roce_message_encode(&m, bytes);
	expect(BODY + 4, 0, ROCE_MESSAGE_ERROR_CM_OP);
	expect(BODY + 4, ROCE_CM_RESTORED + 1, ROCE_MESSAGE_ERROR_CM_OP);
	expect(BODY + 7, 5, ROCE_MESSAGE_ERROR_FAMILY);
	expect(BODY + 30, 4, ROCE_MESSAGE_ERROR_FLAGS);

	fill_request(&m, ROCE_CM_LISTEN);
	roce_message_encode(&m, bytes);
	expect(BODY + 9, 4, ROCE_MESSAGE_ERROR_FLAGS);

	fill_request(&m, ROCE_CM_REJECT);
	roce_message_encode(&m, bytes);
	expect(BODY + 7, ROCE_CM_PRIVATE_MAX + 1, ROCE_MESSAGE_ERROR_CM_LENGTH);

	fill_request(&m, ROCE_CM_ACCEPT);
	roce_message_encode(&m, bytes);
	expect(BODY + 25, ROCE_CM_TRANSPORT_UD + 1, ROCE_MESSAGE_ERROR_CM_TRANSPORT);

	memset(&m, 0, sizeof(m));
	m.type = ROCE_MESSAGE_CM_OK;
	fill_saved(&m.cm_ok.saved);
	roce_message_encode(&m, bytes);
	expect(BODY + 6, 1, ROCE_MESSAGE_ERROR_CM_LENGTH);

	memset(&m, 0, sizeof(m));
	fill_event(&m, ROCE_CM_EVENT_ESTABLISHED);
	roce_message_encode(&m, bytes);
	expect(BODY + 8, 0, ROCE_MESSAGE_ERROR_CM_EVENT);
	expect(BODY + 8, 14, ROCE_MESSAGE_ERROR_CM_EVENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roce_cm_request__round_trip),
		cmocka_unit_test(roce_cm_request__fields),
		cmocka_unit_test(roce_cm_ok__round_trip),
		cmocka_unit_test(roce_cm_event__round_trip),
		cmocka_unit_test(roce_cm_message__refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
