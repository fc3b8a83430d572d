/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagram rsockets: there and back, to others than the connected one, and strangers in numbers. */
#include <errno.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "sockets.h"

#define DATAGRAMS      200
#define DATAGRAM_BYTES 1000
#define STRANGERS      4200

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
		cmocka_unit_test(datagram__too_long),
	};

	enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
