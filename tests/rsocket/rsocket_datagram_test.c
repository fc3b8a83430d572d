/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagram rsockets: there and back, to others than the connected one, strangers in numbers, and
 * packets that somebody else writes in a peer's name.
 */
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/udp.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "sockets.h"

#define DATAGRAMS      200
#define DATAGRAM_BYTES 1000
#define STRANGERS      4200
#define OP_DATA	       0
#define OP_CONTROL     7

static void datagram__there_and_back(void **state)
{
	struct sockaddr_in address = local(next_port()), from;
	int server = rsocket(AF_INET, SOCK_DGRAM, 0), client = rsocket(AF_INET, SOCK_DGRAM, 0);
	uint8_t out[DATAGRAM_BYTES], in[DATAGRAM_BYTES + 1];
	socklen_t length;

	(void)state;
	assert_int_equal(rbind(server, (struct sockaddr *)&address, sizeof(address)), 0);
	for (int i = 0; i < DATAGRAMS; i++) {
		struct pollfd fd = {.fd = server, .events = POLLIN};
		ssize_t bytes = 1 + i * 5 % DATAGRAM_BYTES;

		for (ssize_t k = 0; k < bytes; k++)
			out[k] = byte_of((uint64_t)i, (size_t)k);
		assert_int_equal(rsendto(client, out, (size_t)bytes, 0, (struct sockaddr *)&address,
					 sizeof(address)),
				 bytes);
		assert_int_equal(rpoll(&fd, 1, WAIT_MS), 1);
		length = sizeof(from);
		assert_int_equal(
			rrecvfrom(server, in, sizeof(in), 0, (struct sockaddr *)&from, &length),
			bytes);
		assert_memory_equal(in, out, (size_t)bytes);
		assert_int_equal(
			rsendto(server, in, (size_t)bytes, 0, (struct sockaddr *)&from, length),
			bytes);
		fd.fd = client;
		assert_int_equal(rpoll(&fd, 1, WAIT_MS), 1);
		assert_int_equal(rrecv(client, in, sizeof(in), 0), bytes);
		assert_memory_equal(in, out, (size_t)bytes);
	}
	assert_int_equal(rclose(client), 0);
	assert_int_equal(rclose(server), 0);
}

/* A plain UDP packet that says it is a datagram rsocket's; true when it was answered. */
static bool is_stranger_answered(int server, const struct sockaddr_in *to, uint32_t from)
{
	static const uint8_t packet[16] = {0x55, 0x55, 0x55, 0x55, 4, 0, 16, 0, 0, 0, 0x12, 0x34};
	struct sockaddr_in source = {.sin_family = AF_INET, .sin_addr = {htonl(from)}};
	struct pollfd fd = {.fd = socket(AF_INET, SOCK_DGRAM, 0), .events = POLLIN};
	uint8_t bytes[32];
	bool result;

	assert_true(fd.fd >= 0);
	assert_int_equal(bind(fd.fd, (struct sockaddr *)&source, sizeof(source)), 0);
	assert_int_equal(
		sendto(fd.fd, packet, sizeof(packet), 0, (const struct sockaddr *)to, sizeof(*to)),
		sizeof(packet));
	result = poll(&fd, 1, WAIT_MS) == 1;
	close(fd.fd);
	while (rrecv(server, bytes, sizeof(bytes), MSG_DONTWAIT) >= 0)
		;
	return result;
}

/* Whoever sends from many addresses keeps nobody else out. */
static void datagram__strangers_lock_nobody_out(void **state)
{
	struct sockaddr_in address = local(next_port());
	int server = rsocket(AF_INET, SOCK_DGRAM, 0), client = rsocket(AF_INET, SOCK_DGRAM, 0);
	struct pollfd fd = {.fd = server, .events = POLLIN};
	char byte = 0;

	(void)state;
	assert_int_equal(rbind(server, (struct sockaddr *)&address, sizeof(address)), 0);
	for (uint32_t i = 0; i < STRANGERS; i++)
		assert_true(is_stranger_answered(server, &address, 0x7f010001 + i));
	assert_int_equal(rsendto(client, "c", 1, 0, (struct sockaddr *)&address, sizeof(address)),
			 1);
	assert_int_equal(rpoll(&fd, 1, WAIT_MS), 1);
	assert_int_equal(rrecv(server, &byte, 1, 0), 1);
	assert_int_equal(byte, 'c');
	assert_int_equal(rclose(client), 0);
	assert_int_equal(rclose(server), 0);
}

/* What names its destination goes there, also from a socket that is connected to another. */
static void datagram__elsewhere_than_connected(void **state)
{
	struct sockaddr_in address[2] = {local(next_port()), local(next_port())};
	int servers[2], client = rsocket(AF_INET, SOCK_DGRAM, 0);
	struct pollfd fd = {.events = POLLIN};
	char byte = 0;

	(void)state;
	for (int i = 0; i < 2; i++) {
		servers[i] = rsocket(AF_INET, SOCK_DGRAM, 0);
		assert_int_equal(
			rbind(servers[i], (struct sockaddr *)&address[i], sizeof(address[i])), 0);
	}
	assert_int_equal(rconnect(client, (struct sockaddr *)&address[0], sizeof(address[0])), 0);
	assert_int_equal(
		rsendto(client, "e", 1, 0, (struct sockaddr *)&address[1], sizeof(address[1])), 1);
	fd.fd = servers[1];
	assert_int_equal(rpoll(&fd, 1, WAIT_MS), 1);
	assert_int_equal(rrecv(servers[1], &byte, 1, 0), 1);
	assert_int_equal(byte, 'e');
	assert_int_equal(rclose(client), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(rclose(servers[i]), 0);
}

/* ---- in a peer's name ---- */

static void exchange(int from, const struct sockaddr_in *to, int at, char byte)
{
	struct pollfd fd = {.fd = at, .events = POLLIN};
	char got = 0;

	assert_int_equal(rsendto(from, &byte, 1, 0, (const struct sockaddr *)to, sizeof(*to)), 1);
	assert_int_equal(rpoll(&fd, 1, WAIT_MS), 1);
	assert_int_equal(rrecv(at, &got, 1, 0), 1);
	assert_int_equal(got, byte);
}

/* What somebody else sends with the peer's address as source: "my queue pair is 0x123456". */
static void forge(const struct sockaddr_in *peer, const struct sockaddr_in *to, uint8_t op)
{
	struct {
		struct iphdr ip;
		struct udphdr udp;
		uint8_t data[16];
	} packet = {
		.ip = {.version = 4,
		       .ihl = 5,
		       .ttl = 64,
		       .protocol = IPPROTO_UDP,
		       .saddr = peer->sin_addr.s_addr,
		       .daddr = to->sin_addr.s_addr},
		.udp = {.source = peer->sin_port, .dest = to->sin_port, .len = htons(8 + 16)},
		.data = {0x55, 0x55, 0x55, 0x55, 4, op, 16, 0, 0, 0x12, 0x34, 0x56},
	};
	int fd = socket(AF_INET, SOCK_RAW, IPPROTO_RAW);

	assert_true(fd >= 0);
	assert_int_equal(
		sendto(fd, &packet, sizeof(packet), 0, (const struct sockaddr *)to, sizeof(*to)),
		sizeof(packet));
	close(fd);
}

struct two {
	int a, b;
	struct sockaddr_in at_a, at_b;
};

static struct two make_two(void)
{
	struct two t = {.at_a = local(next_port()), .at_b = local(next_port())};

	t.a = rsocket(AF_INET, SOCK_DGRAM, 0);
	t.b = rsocket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(rbind(t.a, (struct sockaddr *)&t.at_a, sizeof(t.at_a)), 0);
	assert_int_equal(rbind(t.b, (struct sockaddr *)&t.at_b, sizeof(t.at_b)), 0);
	return t;
}

/* The service has read what was there before. */
static void let_service_read(const struct two *t)
{
	const struct sockaddr_in stranger = {.sin_family = AF_INET,
					     .sin_addr = {htonl(INADDR_LOOPBACK + 7)}};

	assert_true(is_stranger_answered(t->a, &t->at_a, ntohl(stranger.sin_addr.s_addr)));
}

static void datagram__a_forged_number_leads_nowhere(void **state)
{
	static const uint8_t ops[] = {OP_CONTROL, OP_DATA};

	(void)state;
	for (size_t i = 0; i < sizeof(ops); i++) {
		struct two t = make_two();

		/* From a peer that is not one yet, from one that is, and once more behind that. */
		for (char byte = 'a'; byte < 'd'; byte++) {
			forge(&t.at_b, &t.at_a, ops[i]);
			let_service_read(&t);
			for (int k = 0; k < 3; k++)
				exchange(t.a, &t.at_b, t.b, byte);
			exchange(t.b, &t.at_a, t.a, byte);
		}
		assert_int_equal(rclose(t.a), 0);
		assert_int_equal(rclose(t.b), 0);
	}
}

/* A number that comes as if it were the answer is found out by the true one. */
static void datagram__a_forged_answer_is_found_out(void **state)
{
	struct two t = make_two();
	struct pollfd fd = {.fd = t.b, .events = POLLIN};
	char byte = 0;

	(void)state;
	assert_int_equal(rsendto(t.a, "f", 1, 0, (struct sockaddr *)&t.at_b, sizeof(t.at_b)), 1);
	forge(&t.at_b, &t.at_a, OP_CONTROL);
	assert_int_equal(rpoll(&fd, 1, WAIT_MS), 1);
	assert_int_equal(rrecv(t.b, &byte, 1, 0), 1);
	let_service_read(&t);
	exchange(t.a, &t.at_b, t.b, 'g');
	assert_int_equal(rclose(t.a), 0);
	assert_int_equal(rclose(t.b), 0);
}

/* Its first datagram says that it is another, and the answer finds it. */
static void datagram__a_peer_that_starts_anew(void **state)
{
	struct two t = make_two();

	(void)state;
	exchange(t.a, &t.at_b, t.b, 'h');
	exchange(t.b, &t.at_a, t.a, 'i');
	assert_int_equal(rclose(t.b), 0);
	t.b = rsocket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(rbind(t.b, (struct sockaddr *)&t.at_b, sizeof(t.at_b)), 0);
	for (char byte = 'j'; byte < 'm'; byte++) {
		exchange(t.b, &t.at_a, t.a, byte);
		exchange(t.a, &t.at_b, t.b, byte);
	}
	assert_int_equal(rclose(t.a), 0);
	assert_int_equal(rclose(t.b), 0);
}

static void datagram__too_long(void **state)
{
	struct sockaddr_in address = local(next_port());
	int fd = rsocket(AF_INET, SOCK_DGRAM, 0);
	static uint8_t data[4096];

	(void)state;
	assert_int_equal(
		rsendto(fd, data, sizeof(data), 0, (struct sockaddr *)&address, sizeof(address)),
		-1);
	assert_int_equal(errno, EMSGSIZE);
	assert_int_equal(rsend(fd, data, 1, 0), -1);
	assert_int_equal(errno, EDESTADDRREQ);
	assert_int_equal(rclose(fd), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(datagram__there_and_back),
		cmocka_unit_test(datagram__strangers_lock_nobody_out),
		cmocka_unit_test(datagram__elsewhere_than_connected),
		cmocka_unit_test(datagram__a_forged_number_leads_nowhere),
		cmocka_unit_test(datagram__a_forged_answer_is_found_out),
		cmocka_unit_test(datagram__a_peer_that_starts_anew),
		cmocka_unit_test(datagram__too_long),
	};

	enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
