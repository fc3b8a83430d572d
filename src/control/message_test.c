/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every type of message survives a round trip, and every error of the decoder is provoked by a
 * message that is wrong in this respect only. Truncation is tried at every length of every type.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>

#include <cmocka.h>

#include "control/message.h"

static uint8_t bytes[ROCE_CONTROL_MESSAGE_MAX];
static struct roce_message got;

static const struct roce_gid v4 = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 7}};
static const struct roce_gid v6 = {{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9}};

static const uint8_t packet[] = {4, 0, 0xff, 0xff, 0, 17, 1, 2, 0x80, 0, 0, 5};

static void set(char *field, size_t size, const char *text)
{
	assert_true(strlen(text) < size);
	memcpy(field, text, strlen(text) + 1);
}

/* One with every field set, of each type. */
static struct roce_message make(enum roce_message_type type)
{
	struct roce_message m;
	struct sockaddr_in6 *from;

	memset(&m, 0, sizeof(m));
	m.type = type;
	m.sequence = 0x01020304;
	switch (type) {
	case ROCE_MESSAGE_HELLO:
	case ROCE_MESSAGE_HELLO_OK:
		m.hello.protocol = ROCE_CONTROL_PROTOCOL;
		m.hello.pid = 4711;
		m.hello.netns = 0x1122334455667788;
		m.hello.instance = 0x99aabbccddeeff00;
		set(m.hello.product, sizeof(m.hello.product), "1.2.3");
		set(m.hello.program, sizeof(m.hello.program), "ib_write_bw");
		break;
	case ROCE_MESSAGE_ERROR:
		m.error.error = 98;
		set(m.error.text, sizeof(m.error.text), "in use");
		break;
	case ROCE_MESSAGE_LEASE_OK:
	case ROCE_MESSAGE_RELEASE:
		m.lease.slot = 254;
		break;
	case ROCE_MESSAGE_OPEN_ADDRESS:
	case ROCE_MESSAGE_OPEN_ADDRESS_OK:
	case ROCE_MESSAGE_CLOSE_ADDRESS:
	case ROCE_MESSAGE_REMAPPED:
		m.open.slot = 1;
		m.open.address.gid = v6;
		m.open.address.ifindex = 3;
		m.open.flags = ROCE_OPEN_GRO_OFF;
		m.open.nonce = 0xdeadbeef;
		break;
	case ROCE_MESSAGE_CLAIM:
		m.claim.slot = 9;
		m.claim.count = ROCE_CONTROL_CLAIM_MAX;
		for (unsigned i = 0; i < ROCE_CONTROL_CLAIM_MAX; i++) {
			m.claim.address[i].gid = v4;
			m.claim.address[i].ifindex = i;
			m.claim.nonce[i] = i * 77;
		}
		break;
	case ROCE_MESSAGE_STRAY:
		m.stray.local = v6;
		from = (struct sockaddr_in6 *)&m.stray.from;
		from->sin6_family = AF_INET6;
		from->sin6_port = htons(50001);
		from->sin6_scope_id = 2;
		memcpy(&from->sin6_addr, v6.raw, 16);
		m.stray.tos = 0xb9;
		m.stray.length = sizeof(packet);
		m.stray.data = packet;
		break;
	case ROCE_MESSAGE_STATUS_DAEMON:
		m.status_daemon.pid = 1;
		m.status_daemon.keeper_pid = 2;
		m.status_daemon.uptime_ms = UINT64_C(1) << 40;
		m.status_daemon.slots = 254;
		m.status_daemon.clients = 70000;
		set(m.status_daemon.product, sizeof(m.status_daemon.product), "0.1.0");
		set(m.status_daemon.socket, sizeof(m.status_daemon.socket), "@uroce/0/1/0");
		break;
	case ROCE_MESSAGE_STATUS_SLOT:
		m.status_slot.slot = 8;
		m.status_slot.pid = 1234;
		m.status_slot.uid = 65534;
		set(m.status_slot.program, sizeof(m.status_slot.program), "rping");
		m.status_slot.count = ROCE_CONTROL_SLOT_ADDR_MAX;
		for (unsigned i = 0; i < ROCE_CONTROL_SLOT_ADDR_MAX; i++)
			m.status_slot.address[i].ifindex = i;
		break;
	case ROCE_MESSAGE_STATUS_ADDRESS:
		m.status_address.address.gid = v4;
		m.status_address.leased = 3;
		m.status_address.members = 500;
		break;
	case ROCE_MESSAGE_STATUS_COUNTER:
		m.status_counter.value = UINT64_MAX;
		set(m.status_counter.name, sizeof(m.status_counter.name), "strays_relayed");
		break;
	case ROCE_MESSAGE_STOP:
		m.stop.flags = ROCE_STOP_FORCE;
		break;
	case ROCE_MESSAGE_CM: /* every request and field: cm_message_test.c */
		m.cm.handle = 5;
		m.cm.op = ROCE_CM_LISTEN;
		m.cm.listen.backlog = 128;
		break;
	case ROCE_MESSAGE_CM_OK:
		m.cm_ok.handle = 5;
		m.cm_ok.port = 7471;
		m.cm_ok.saved.length = 3;
		set((char *)m.cm_ok.saved.data, 4, "abc");
		break;
	case ROCE_MESSAGE_CM_EVENT:
		m.cm_event.handle = 5;
		m.cm_event.event = ROCE_CM_EVENT_REJECTED;
		m.cm_event.status = 28;
		m.cm_event.private_data.length = 148;
		break;
	case ROCE_MESSAGE_OK:
	case ROCE_MESSAGE_LEASE:
	case ROCE_MESSAGE_CLAIMED:
	case ROCE_MESSAGE_STATUS:
	case ROCE_MESSAGE_STATUS_END:
		break;
	}
	return m;
}

static const enum roce_message_type types[] = {
#define X(name, value) ROCE_MESSAGE_##name,
	ROCE_MESSAGE_TYPES(X)
#undef X
};
#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

static void put_length(size_t length)
{
	for (unsigned i = 0; i < 4; i++)
		bytes[12 + i] = (uint8_t)(length >> (8 * i));
}

static enum roce_message_error decode(size_t length)
{
	memset(&got, 0xa5, sizeof(got));
	return roce_message_decode(&got, bytes, length);
}

static void roce_message_decode__round_trip(void **state)
{
	(void)state;
	for (size_t i = 0; i < TYPE_COUNT; i++) {
		struct roce_message m = make(types[i]);
		size_t length = roce_message_encode(&m, bytes);
		uint8_t again[ROCE_CONTROL_MESSAGE_MAX];

		assert_int_equal(decode(length), ROCE_MESSAGE_ERROR_OK);
		assert_int_equal(got.type, types[i]);
		assert_int_equal(got.sequence, 0x01020304);
		/* All fields are there: the same bytes come out again. */
		assert_int_equal(roce_message_encode(&got, again), length);
		assert_memory_equal(again, bytes, length);
	}
}

static void roce_message_decode__fields(void **state)
{
	struct roce_message m = make(ROCE_MESSAGE_STRAY);
	const struct sockaddr_in6 *from = (const struct sockaddr_in6 *)&got.stray.from;

	(void)state;
	assert_int_equal(decode(roce_message_encode(&m, bytes)), 0);
	assert_int_equal(from->sin6_port, htons(50001));
	assert_int_equal(from->sin6_scope_id, 2);
	assert_int_equal(got.stray.tos, 0xb9);
	assert_int_equal(got.stray.length, sizeof(packet));
	assert_memory_equal(got.stray.data, packet, sizeof(packet));
	m = make(ROCE_MESSAGE_HELLO);
	assert_int_equal(decode(roce_message_encode(&m, bytes)), 0);
	assert_string_equal(got.hello.program, "ib_write_bw");
	assert_int_equal(got.hello.instance, 0x99aabbccddeeff00);
}

static void roce_message_decode__truncated_everywhere(void **state)
{
	(void)state;
	for (size_t i = 0; i < TYPE_COUNT; i++) {
		struct roce_message m = make(types[i]);
		size_t full = roce_message_encode(&m, bytes);

		for (size_t length = 0; length < full; length++) {
			enum roce_message_error e;

			put_length(length);
			e = decode(length);
			assert_int_equal(e, length < 16 ? ROCE_MESSAGE_ERROR_SHORT
							: ROCE_MESSAGE_ERROR_TRUNCATED);
		}
	}
}

static void roce_message_decode__trailing(void **state)
{
	(void)state;
	for (size_t i = 0; i < TYPE_COUNT; i++) {
		struct roce_message m = make(types[i]);
		size_t full = roce_message_encode(&m, bytes);

		bytes[full] = 0;
		put_length(full + 1);
		assert_int_equal(decode(full + 1), ROCE_MESSAGE_ERROR_TRAILING);
	}
}

/* Encodes one of the type, changes one byte, expects this error. */
static void expect(enum roce_message_type type, size_t at, uint8_t value,
		   enum roce_message_error error)
{
	struct roce_message m = make(type);
	size_t length = roce_message_encode(&m, bytes);

	assert_int_equal(decode(length), ROCE_MESSAGE_ERROR_OK);
	bytes[at] = value;
	assert_int_equal(decode(length), error);
}

static void roce_message_decode__header(void **state)
{
	(void)state;
	expect(ROCE_MESSAGE_LEASE, 0, 'X', ROCE_MESSAGE_ERROR_MAGIC);
	expect(ROCE_MESSAGE_LEASE, 12, 17, ROCE_MESSAGE_ERROR_LENGTH);
	expect(ROCE_MESSAGE_LEASE, 6, 0, ROCE_MESSAGE_ERROR_TYPE);
	expect(ROCE_MESSAGE_LEASE, 6, ROCE_MESSAGE_CM_EVENT + 1, ROCE_MESSAGE_ERROR_TYPE);
	expect(ROCE_MESSAGE_LEASE, 7, 1, ROCE_MESSAGE_ERROR_TYPE);
	expect(ROCE_MESSAGE_LEASE, 4, ROCE_CONTROL_PROTOCOL + 1, ROCE_MESSAGE_ERROR_PROTOCOL);
}

static void roce_message_decode__body(void **state)
{
	(void)state;
	expect(ROCE_MESSAGE_RELEASE, 16, 0, ROCE_MESSAGE_ERROR_SLOT);
	expect(ROCE_MESSAGE_RELEASE, 16, 255, ROCE_MESSAGE_ERROR_SLOT);
	expect(ROCE_MESSAGE_OPEN_ADDRESS, 16, 0, ROCE_MESSAGE_ERROR_SLOT);
	expect(ROCE_MESSAGE_CLAIM, 16, 0, ROCE_MESSAGE_ERROR_SLOT);
	expect(ROCE_MESSAGE_OPEN_ADDRESS, 16 + 1 + 20, 2, ROCE_MESSAGE_ERROR_FLAGS);
	expect(ROCE_MESSAGE_STOP, 19, 0x80, ROCE_MESSAGE_ERROR_FLAGS);
	expect(ROCE_MESSAGE_CLAIM, 17, ROCE_CONTROL_CLAIM_MAX + 1, ROCE_MESSAGE_ERROR_COUNT);
	expect(ROCE_MESSAGE_STATUS_SLOT, 16 + 9 + 2 + 5, ROCE_CONTROL_SLOT_ADDR_MAX + 1,
	       ROCE_MESSAGE_ERROR_COUNT);
	expect(ROCE_MESSAGE_STRAY, 32, 5, ROCE_MESSAGE_ERROR_FAMILY);
	/* The length of the packet: after local, sockaddr and TOS. */
	expect(ROCE_MESSAGE_STRAY, 16 + 16 + 23 + 2, 0x12, ROCE_MESSAGE_ERROR_STRAY_LENGTH);
	/* A program name longer than its field; then one that clears the terminal. */
	expect(ROCE_MESSAGE_HELLO, 16 + 20 + 2 + 5, ROCE_CONTROL_PROGRAM_MAX,
	       ROCE_MESSAGE_ERROR_STRING);
	expect(ROCE_MESSAGE_HELLO, 16 + 20 + 2, 0x1b, ROCE_MESSAGE_ERROR_STRING);
	expect(ROCE_MESSAGE_HELLO, 16 + 20 + 2, 0x7f, ROCE_MESSAGE_ERROR_STRING);
	expect(ROCE_MESSAGE_ERROR, 16 + 4 + 2, 0, ROCE_MESSAGE_ERROR_STRING);
}

/* Another version can still be told apart, named and answered. */
static void roce_message_decode__other_version(void **state)
{
	struct roce_message m = make(ROCE_MESSAGE_HELLO);
	size_t length;

	(void)state;
	m.hello.protocol = 9;
	length = roce_message_encode(&m, bytes);
	bytes[length] = 42; /* it has one more field */
	put_length(length + 1);
	assert_int_equal(decode(length + 1), ROCE_MESSAGE_ERROR_PROTOCOL);
	assert_int_equal(got.type, ROCE_MESSAGE_HELLO);
	assert_int_equal(got.sequence, m.sequence);
	assert_int_equal(got.hello.protocol, 9);
	assert_string_equal(got.hello.product, "1.2.3");
}

static void roce_message_error_str__all_named(void **state)
{
	(void)state;
	for (int e = 0; e <= ROCE_MESSAGE_ERROR_CM_LENGTH; e++)
		assert_string_not_equal(roce_message_error_str((enum roce_message_error)e), "?");
	assert_string_equal(roce_message_error_str((enum roce_message_error)99), "?");
	for (size_t i = 0; i < TYPE_COUNT; i++)
		assert_string_not_equal(roce_message_type_str(types[i]), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roce_message_decode__round_trip),
		cmocka_unit_test(roce_message_decode__fields),
		cmocka_unit_test(roce_message_decode__truncated_everywhere),
		cmocka_unit_test(roce_message_decode__trailing),
		cmocka_unit_test(roce_message_decode__header),
		cmocka_unit_test(roce_message_decode__body),
		cmocka_unit_test(roce_message_decode__other_version),
		cmocka_unit_test(roce_message_error_str__all_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
