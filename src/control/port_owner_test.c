/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owners of the port in a network namespace of the test's own, with sockets bound to one address
 * and to all. That a loaded rdma_rxe is found in this way is seen in a virtual machine
 * (tests/interop/loopback.py).
 */
#include "control/port_owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/message.h"

static const struct roce_gid here = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1}};
static const struct roce_gid there = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 2}};
static bool has_namespace;

static int make_namespace(void **state)
{
	(void)state;
	has_namespace =
		(unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) &&
		system("ip link set lo up") == 0;
	return 0;
}

static int open_on(uint32_t address)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(ROCE_CONTROL_PORT)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	in.sin_addr.s_addr = htonl(address);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	return fd;
}

static void find__one_address(void **state)
{
	struct roce_port_owner owner;
	int fd;

	(void)state;
	if (!has_namespace)
		skip();
	assert_false(roce_port_owner_find(&here, &owner));
	assert_false(roce_port_owner_is_user(geteuid()));
	fd = open_on(INADDR_LOOPBACK);
	assert_false(roce_port_owner_find(&there, &owner));
	assert_true(roce_port_owner_find(&here, &owner));
	assert_int_equal(owner.uid, geteuid());
	assert_true(roce_port_owner_is_user(geteuid()));
	assert_false(roce_port_owner_is_user(geteuid() + 1));
	/* Whoever it is, Soft-RoCE has all addresses. */
	assert_false(roce_port_owner_is_soft_roce(&owner, "/"));
	close(fd);
}

static void find__all_addresses(void **state)
{
	struct roce_port_owner owner;
	int fd;

	(void)state;
	if (!has_namespace)
		skip();
	fd = open_on(INADDR_ANY);
	assert_true(roce_port_owner_find(&there, &owner));
	assert_true(owner.is_wildcard);
	assert_true(roce_port_owner_is_soft_roce(&owner, "/"));
	assert_false(roce_port_owner_is_soft_roce(&owner, "/no/such/module"));
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(find__one_address),
		cmocka_unit_test(find__all_addresses),
	};

	return cmocka_run_group_tests(tests, make_namespace, NULL);
}
