/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port follows a real network device, in a network namespace of the test's own: each change is
 * there with the next question, and is reported exactly once.
 */
#include "engine/port_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#define SKIP 77

static struct roce_port_state port;

static void run(const char *command)
{
	assert_int_equal(system(command), 0);
}

static struct roce_gid gid_of(const char *ipv4)
{
	struct roce_gid gid = {{[10] = 0xff, [11] = 0xff}};

	assert_int_equal(inet_pton(AF_INET, ipv4, gid.raw + 12), 1);
	return gid;
}

/* The index, or -1. */
static int find(const char *ipv4)
{
	struct roce_gid wanted = gid_of(ipv4);

	for (uint32_t i = 0; i < ROCE_NETDEV_GIDS_MAX; i++) {
		struct roce_gid at;

		if (roce_port_state_gid(&port, i, &at) == 0 && roce_gid_is_equal(&at, &wanted))
			return (int)i;
	}
	return -1;
}

static struct roce_port_info query(void)
{
	struct roce_port_info info;

	assert_int_equal(roce_port_state_query(&port, &info), 0);
	return info;
}

/* The kernel tells of the carrier up to a second late. */
static void await_link(bool is_up)
{
	for (int i = 0; i < 6000 && query().is_up != is_up; i++)
		usleep(10000);
	assert_int_equal(query().is_up, is_up);
}

static void no_change(void)
{
	struct roce_port_change c;

	assert_false(roce_port_state_take(&port, &c));
}

static int setup(void **state)
{
	(void)state;
	if (system("ip link add tstA mtu 4200 type veth peer name tstB && "
		   /* no link-local address that comes at a moment of its own */
		   "for v6 in /proc/sys/net/ipv6/conf/tst*/disable_ipv6; do "
		   "if test -e $v6; then echo 1 >$v6; fi; done && "
		   "ip link set tstB up && ip link set tstA up && "
		   "ip addr add 10.9.8.7/24 dev tstA") != 0)
		return -1;
	if (roce_port_state_open(&port, if_nametoindex("tstA")) != 0)
		return -1;
	await_link(true);
	roce_port_state_close(&port); /* and with it what was told until now */
	return roce_port_state_open(&port, if_nametoindex("tstA"));
}

static int teardown(void **state)
{
	(void)state;
	roce_port_state_close(&port);
	(void)!system("ip link del tstA 2>/dev/null");
	(void)!system("ip link del tstC 2>/dev/null");
	return 0;
}

static bool is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void query__addresses(void **state)
{
	struct roce_port_change c;

	(void)state;
	assert_int_equal(find("10.9.8.7"), 0);
	assert_int_equal(query().gid_count, 1);
	no_change();
	run("ip addr add 10.9.8.9/24 dev tstA");
	assert_true(find("10.9.8.9") > 0);
	assert_int_equal(find("10.9.8.7"), 0);
	/* The question found it: whoever takes the changes is called. */
	assert_true(is_readable(port.wake_fd));
	assert_true(roce_port_state_take(&port, &c));
	assert_true(c.is_gid_changed && c.was_up && c.is_up);
	assert_false(c.is_flapped || c.is_mtu_changed || c.is_gone);
	assert_false(is_readable(port.wake_fd));
	no_change();
	run("ip addr del 10.9.8.7/24 dev tstA && ip addr add 10.9.8.9/24 dev tstA || true");
	assert_true(roce_port_state_take(&port, &c));
	assert_true(c.is_gid_changed);
	assert_int_equal(find("10.9.8.7"), -1);
	no_change();
	/* Other devices are none of ours. */
	run("ip addr add 10.9.9.1/24 dev tstB && ip link set tstB mtu 2000");
	no_change();
}

static void hold__index_of_an_address_that_left(void **state)
{
	struct roce_gid held = gid_of("10.9.8.7");
	struct roce_gid at;

	(void)state;
	assert_int_equal(roce_port_state_hold_gid(&port, 0, &held), 0);
	run("ip addr flush dev tstA scope global && ip addr add 10.9.8.8/24 dev tstA");
	assert_true(find("10.9.8.8") > 0);
	assert_int_equal(roce_port_state_gid(&port, 0, &at), -ENOENT);
	roce_port_state_release_gid(&port, 0);
	run("ip addr add 10.9.8.9/24 dev tstA");
	assert_int_equal(find("10.9.8.9"), 0);
}

static void take__link(void **state)
{
	struct roce_port_change c;

	(void)state;
	assert_true(query().is_up);
	run("ip link set tstB down"); /* no carrier */
	await_link(false);
	assert_true(roce_port_state_take(&port, &c));
	assert_true(c.was_up && !c.is_up && !c.is_flapped);
	run("ip link set tstB up");
	await_link(true);
	assert_true(roce_port_state_take(&port, &c));
	assert_true(!c.was_up && c.is_up && !c.is_flapped);
	/* Down and up again while nobody looked. */
	run("ip link set tstA down && ip link set tstA up");
	await_link(true);
	assert_true(roce_port_state_take(&port, &c));
	assert_true(c.was_up && c.is_up && c.is_flapped);
}

static void take__mtu_and_name(void **state)
{
	struct roce_port_change c;

	(void)state;
	assert_int_equal(query().active_mtu, 5);
	run("ip link set tstA mtu 1500");
	assert_int_equal(query().active_mtu, 3);
	assert_int_equal(query().netdev_mtu, 1500);
	assert_true(roce_port_state_take(&port, &c));
	assert_true(c.is_mtu_changed && c.is_up && !c.is_flapped && !c.is_gid_changed);
	run("ip link set tstA name tstC");
	assert_true(query().is_up);
	assert_string_equal(port.facts.name, "tstC");
	no_change(); /* of what programs hear of */
}

/* A port that cannot carry the smallest path MTU is down until it can. */
static void take__mtu_too_small(void **state)
{
	struct roce_port_change c;

	(void)state;
	assert_true(query().is_up);
	run("ip link set tstA mtu 351");
	assert_false(query().is_up);
	assert_int_equal(query().active_mtu, 0);
	assert_true(roce_port_state_take(&port, &c));
	assert_true(c.was_up && !c.is_up && c.is_mtu_changed);
	run("ip link set tstA mtu 352");
	assert_true(query().is_up);
	assert_int_equal(query().active_mtu, 1);
	assert_true(roce_port_state_take(&port, &c));
	assert_true(!c.was_up && c.is_up);
}

static void take__gone(void **state)
{
	struct roce_port_change c;

	(void)state;
	assert_false(roce_port_state_is_gone(&port));
	run("ip link del tstA");
	assert_false(query().is_up);
	assert_int_equal(query().gid_count, 0);
	assert_true(roce_port_state_take(&port, &c));
	assert_true(c.is_gone && c.was_up && !c.is_up && c.is_gid_changed);
	assert_true(roce_port_state_is_gone(&port));
	no_change();
}

/* A port of a bridge that leaves it, which bridges tell in a way of their own, is still there. */
static void take__leaving_a_bridge_is_not_the_end(void **state)
{
	(void)state;
	if (system("ip link add tstBr type bridge 2>/dev/null") != 0)
		skip();
	run("ip link set tstA master tstBr && ip link set tstA nomaster && ip link del tstBr");
	assert_true(query().is_up);
	assert_false(roce_port_state_is_gone(&port));
}

/* More news than the socket holds: the port is read until it is right again. */
static void take__news_that_were_lost(void **state)
{
	struct roce_port_change c;
	int small = 1;

	(void)state;
	assert_int_equal(setsockopt(port.news.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	run("for i in 1 2 3 4 5 6 7 8; do ip addr add 10.9.7.$i/32 dev tstA; done; "
	    "ip link set tstA mtu 1400; ip link set tstA down");
	assert_true(roce_port_state_take(&port, &c));
	assert_true(c.was_up && !c.is_up && c.is_gid_changed && c.is_mtu_changed);
	assert_true(find("10.9.7.8") > 0);
	assert_false(query().is_up);
}

static void open__no_such_device(void **state)
{
	struct roce_port_state p;

	(void)state;
	assert_int_equal(roce_port_state_open(&p, 99999), -ENODEV);
	roce_port_state_close(&p);
}

int main(void)
{
#define LIVE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		LIVE(query__addresses),
		LIVE(hold__index_of_an_address_that_left),
		LIVE(take__link),
		LIVE(take__mtu_and_name),
		LIVE(take__mtu_too_small),
		LIVE(take__gone),
		LIVE(take__leaving_a_bridge_is_not_the_end),
		LIVE(take__news_that_were_lost),
		cmocka_unit_test(open__no_such_device),
	};

	if ((unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) ||
	    system("command -v ip >/dev/null && ip link set lo up") != 0)
		return SKIP;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
