/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What arrives at the engine's socket and is not for the transport: each check of queue_rx.c with a
 * datagram that breaks only it, and the counter that tells.
 */
#include "engine/engine_internal.h"

#include "wire/headers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOURCE_PORT  51000
#define PACKET_BYTES (ROCE_BTH_BYTES + ROCE_RETH_BYTES + 8 + ROCE_ICRC_BYTES)

static struct roce_engine *engine;
static struct roce_gid gid; /* 127.0.0.1, both ends */
static int sender = -1;

static struct sockaddr_in address(uint16_t port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

static int open_engine(void **state)
{
	struct sockaddr_in from = address(SOURCE_PORT);
	struct roce_device *dev;
	uint32_t ifindex;
	uint8_t slot;
	int err;

	(void)state;
	setenv("UROCE_DAEMON", "off", 1);
	if ((unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0) ||
	    system("ip link set lo up") != 0)
		return 0; /* the tests are skipped */
	if (roce_engine_get(if_nametoindex("lo"), &engine) != 0)
		return -1;
	dev = roce_engine_device(engine);
	pthread_mutex_lock(&dev->lock);
	err = dev->env->query_gid(dev->env_ctx, 0, &gid, &ifindex);
	if (!err)
		err = dev->env->acquire_slot(dev->env_ctx, &slot);
	if (!err)
		err = dev->env->open_address(dev->env_ctx, &gid);
	pthread_mutex_unlock(&dev->lock);
	sender = socket(AF_INET, SOCK_DGRAM, 0);
	if (err || bind(sender, (struct sockaddr *)&from, sizeof(from)) < 0)
		return -1;
	return 0;
}

static int close_engine(void **state)
{
	(void)state;
	roce_engine_put(engine);
	if (sender >= 0)
		close(sender);
	return 0;
}

/* A WRITE ONLY of 8 bytes for a queue pair of our slot that does not exist. */
static void make_packet(uint8_t packet[PACKET_BYTES])
{
	struct roce_headers h = {.opcode = {0x0a}, .pkey = 0xffff, .dma_len = 8};

	h.dest_qpn.v = (uint32_t)engine->queue.slot << 16 | 0x1234;
	memset(packet, 0, PACKET_BYTES);
	roce_headers_encode(&h, packet);
}

static void seal_with(uint8_t *packet, size_t length, uint16_t id)
{
	struct roce_icrc_flow flow;

	roce_icrc_flow_init(&flow, &gid, &gid, SOURCE_PORT, ROCE_UDP_PORT);
	roce_icrc_put(packet + length - ROCE_ICRC_BYTES,
		      roce_icrc_compute(&flow, id, packet, length - ROCE_ICRC_BYTES));
}

static void seal(uint8_t *packet, size_t length)
{
	seal_with(packet, length, 0);
}

/* Sends it and waits until `counter` has gone up by one; nothing else may have counted it. */
static void expect_counted(const uint8_t *packet, size_t length, const uint64_t *counter)
{
	const volatile uint64_t *watched = counter;
	struct sockaddr_in to = address(ROCE_UDP_PORT);
	uint64_t before = *watched;
	uint64_t accepted = engine->counters->transport.v[ROCE_RX_NO_QP];

	assert_int_equal(sendto(sender, packet, length, 0, (struct sockaddr *)&to, sizeof(to)),
			 length);
	for (int i = 0; i < 60000 && *watched == before; i++)
		usleep(1000);
	assert_int_equal(*watched, before + 1);
	if (counter != &engine->counters->transport.v[ROCE_RX_NO_QP])
		assert_int_equal(engine->counters->transport.v[ROCE_RX_NO_QP], accepted);
}

static void rx__intact_packet_reaches_the_transport(void **state)
{
	uint8_t packet[PACKET_BYTES];

	(void)state;
	if (!engine)
		skip();
	make_packet(packet);
	seal(packet, sizeof(packet));
	expect_counted(packet, sizeof(packet), &engine->counters->transport.v[ROCE_RX_NO_QP]);
}

static void rx__too_short(void **state)
{
	uint8_t packet[PACKET_BYTES];

	(void)state;
	if (!engine)
		skip();
	make_packet(packet);
	seal(packet, 16);
	expect_counted(packet, 15, &engine->counters->engine.rx_too_short);
}

static void rx__another_slot(void **state)
{
	uint8_t packet[PACKET_BYTES];

	(void)state;
	if (!engine)
		skip();
	make_packet(packet);
	packet[5] ^= 1;
	seal(packet, sizeof(packet));
	/* there is no daemon that would take it */
	expect_counted(packet, sizeof(packet), &engine->counters->engine.rx_strays_dropped);
}

static void rx__damaged(void **state)
{
	uint8_t packet[PACKET_BYTES];

	(void)state;
	if (!engine)
		skip();
	make_packet(packet);
	seal(packet, sizeof(packet));
	packet[ROCE_BTH_BYTES + 3] ^= 0x40;
	expect_counted(packet, sizeof(packet), &engine->counters->engine.rx_bad_icrc);
}

/* Linux lets the identifications of a sender that was silent jump: not a reason to lose a packet.
 */
static void rx__counter_that_jumped_behind_a_silence(void **state)
{
	const uint64_t *accepted;
	uint8_t packet[PACKET_BYTES];
	uint16_t id = 30000;

	(void)state;
	if (!engine)
		skip();
	accepted = &engine->counters->transport.v[ROCE_RX_NO_QP];
	make_packet(packet);
	for (int i = 0; i < 300; i++) {
		seal_with(packet, sizeof(packet), id++);
		expect_counted(packet, sizeof(packet), accepted);
	}
	for (int i = 0; i < 3; i++) {
		usleep(2 * ROCE_ICRC_SILENCE_NS / 1000);
		seal_with(packet, sizeof(packet), id += 5000);
		expect_counted(packet, sizeof(packet), accepted);
	}
}

static void rx__undecodable(void **state)
{
	uint8_t packet[PACKET_BYTES];

	(void)state;
	if (!engine)
		skip();
	make_packet(packet);
	packet[0] = 0x1f; /* no such operation */
	seal(packet, sizeof(packet));
	expect_counted(packet, sizeof(packet),
		       &engine->counters->decode[ROCE_DECODE_RESERVED_OPCODE]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rx__intact_packet_reaches_the_transport),
		cmocka_unit_test(rx__too_short),
		cmocka_unit_test(rx__another_slot),
		cmocka_unit_test(rx__damaged),
		cmocka_unit_test(rx__counter_that_jumped_behind_a_silence),
		cmocka_unit_test(rx__undecodable),
	};

	return cmocka_run_group_tests(tests, open_engine, close_engine);
}
