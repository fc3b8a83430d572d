/* SPDX-License-Identifier: BSD-2-Clause */
/* GID order on a made-up table, names, and real devices in a network namespace of the test's own.
 */
#include "engine/netdev.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <unistd.h>

static struct roce_gid gid_of(const char *text)
{
	struct roce_gid gid = {{0}};

	if (strchr(text, ':')) {
		assert_int_equal(inet_pton(AF_INET6, text, gid.raw), 1);
	} else {
		gid.raw[10] = gid.raw[11] = 0xff;
		assert_int_equal(inet_pton(AF_INET, text, gid.raw + 12), 1);
	}
	return gid;
}

static void check_gids(const struct roce_gid *gids, const char *const *expected, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct roce_gid g = gid_of(expected[i]);

		assert_memory_equal(&gids[i], &g, sizeof(g));
	}
}

static void sort_gids__routable_v4_global_v6_link_local(void **state)
{
	static const char *const given[] = {"fe80::1",	   "fd00::2",	  "169.254.1.2", "10.0.0.2",
					    "2001:db8::1", "192.168.1.1", "fe80::2"};
	static const char *const expected[] = {"10.0.0.2", "192.168.1.1", "fd00::2", "2001:db8::1",
					       "fe80::1",  "169.254.1.2", "fe80::2"};
	struct roce_gid gids[7];

	(void)state;
	for (uint32_t i = 0; i < 7; i++)
		gids[i] = gid_of(given[i]);
	roce_netdev_sort_gids(gids, 7);
	check_gids(gids, expected, 7);
}

static void expect_first(const char *const *given, uint32_t count, const char *first)
{
	struct roce_gid gids[4];

	for (uint32_t i = 0; i < count; i++)
		gids[i] = gid_of(given[i]);
	roce_netdev_sort_gids(gids, count);
	check_gids(gids, &first, 1);
}

/* Entries of RoCE v1 do not exist here, so what is right is a matter of order. */
static void sort_gids__case_012_routable_before_link_local(void **state)
{
	(void)state;
	expect_first((const char *const[]){"fe80::1", "10.1.2.3"}, 2, "10.1.2.3");
	expect_first((const char *const[]){"10.1.2.3", "fe80::1"}, 2, "10.1.2.3");
}

static void sort_gids__case_013_private_v4_is_routable(void **state)
{
	(void)state;
	expect_first((const char *const[]){"fe80::1", "10.102.9.101"}, 2, "10.102.9.101");
	expect_first((const char *const[]){"fe80::1", "fd00::1", "172.16.0.1"}, 3, "172.16.0.1");
	expect_first((const char *const[]){"169.254.0.9", "fe80::1", "192.168.7.7"}, 3,
		     "192.168.7.7");
}

static void device_name__default_and_renamed(void **state)
{
	char name[ROCE_DEVICE_NAME_MAX];

	(void)state;
	unsetenv("UROCE_NAME");
	roce_netdev_device_name("eth0", name);
	assert_string_equal(name, "uroce_eth0");
	setenv("UROCE_NAME", "mlx5_0=eth0,mlx5_1=eth01", 1);
	roce_netdev_device_name("eth0", name);
	assert_string_equal(name, "mlx5_0");
	roce_netdev_device_name("eth01", name);
	assert_string_equal(name, "mlx5_1");
	roce_netdev_device_name("lo", name);
	assert_string_equal(name, "uroce_lo");
	setenv("UROCE_NAME", "=lo,,nonsense", 1);
	roce_netdev_device_name("lo", name);
	assert_string_equal(name, "uroce_lo");
	/* A name is a directory in sysfs. */
	setenv("UROCE_NAME", "../x=lo,..=lo,a/b=lo", 1);
	roce_netdev_device_name("lo", name);
	assert_string_equal(name, "uroce_lo");
	unsetenv("UROCE_NAME");
}

static void run(const char *command)
{
	assert_int_equal(system(command), 0);
}

static bool enter_namespace(void)
{
	static bool is_done;

	if (!is_done && unshare(CLONE_NEWNET) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	if (!is_done && system("command -v ip >/dev/null") != 0)
		return false;
	is_done = true;
	return true;
}

static void live__list_and_read(void **state)
{
	static const char *const expected[] = {"10.9.8.7", "fd09::7"};
	struct roce_netdev_source *src;
	struct roce_netdev *devs;
	struct roce_netdev one;
	uint32_t count = 99;

	(void)state;
	if (!enter_namespace())
		skip();
	assert_int_equal(roce_netdev_source_open(&src), 0);
	assert_int_equal(roce_netdev_list(src, &devs, &count), 0);
	assert_int_equal(count, 0); /* loopback is down */
	assert_null(devs);

	run("ip link set lo up && ip link add tstA mtu 4200 type veth peer name tstB mtu 9000 && "
	    "ip link set tstA up && ip link set tstB up && "
	    "ip addr add fd09::7/64 dev tstA nodad && ip addr add 10.9.8.7/24 dev tstA");
	assert_int_equal(roce_netdev_list(src, &devs, &count), 0);
	assert_true(count >= 2);
	assert_string_equal(devs[count - 1].name, "lo");
	assert_true(devs[count - 1].is_loopback);
	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(devs[i].name, "tstA") != 0)
			continue;
		assert_int_equal(devs[i].mtu, 4200);
		assert_true(devs[i].is_up);
		assert_true(devs[i].mac[0] || devs[i].mac[5]);
		assert_true(devs[i].gid_count >= 2);
		check_gids(devs[i].gids, expected, 2);
		assert_int_equal(roce_netdev_read(src, devs[i].ifindex, &one), 0);
		assert_string_equal(one.name, "tstA");
		assert_true(one.gid_count >= 2);
		run("ip addr add 10.9.8.8/24 dev tstA && ip link set tstB down");
		assert_int_equal(roce_netdev_read(src, devs[i].ifindex, &one), 0);
		check_gids(one.gids + 1, (const char *const[]){"10.9.8.8"}, 1);
		assert_false(one.is_up);
		run("ip link del tstA");
		assert_int_equal(roce_netdev_read(src, devs[i].ifindex, &one), -ENODEV);
		free(devs);
		roce_netdev_source_close(src);
		return;
	}
	fail_msg("tstA is not listed");
}

static uint8_t lack_of(const char *name)
{
	struct roce_netdev_source *src;
	struct roce_netdev *devs;
	uint32_t count;
	uint32_t usable;
	uint8_t lack = UINT8_MAX;

	assert_int_equal(roce_netdev_source_open(&src), 0);
	assert_int_equal(roce_netdev_list_all(src, &devs, &count), 0);
	for (uint32_t i = 0; i < count; i++) {
		if (strcmp(devs[i].name, name) == 0)
			lack = devs[i].lack;
		/* usable ones first */
		assert_false(i > 0 && devs[i - 1].lack && !devs[i].lack);
	}
	free(devs);
	assert_int_equal(roce_netdev_list(src, &devs, &usable), 0);
	for (uint32_t i = 0; i < usable; i++)
		assert_int_equal(devs[i].lack, ROCE_NETDEV_LACKS_NOTHING);
	free(devs);
	roce_netdev_source_close(src);
	return lack;
}

static void list_all__case_047_says_what_is_missing(void **state)
{
	(void)state;
	if (!enter_namespace())
		skip();
	run("ip link add tstC type veth peer name tstD");
	assert_int_equal(lack_of("tstC"), ROCE_NETDEV_LACKS_UP);
	run("for v6 in /proc/sys/net/ipv6/conf/tst*/disable_ipv6; do "
	    "if test -e $v6; then echo 1 >$v6; fi; done; ip link set tstC up; ip link set tstD up");
	assert_int_equal(lack_of("tstC"), ROCE_NETDEV_LACKS_ADDRESS);
	run("ip addr add 10.9.6.1/24 dev tstC");
	assert_int_equal(lack_of("tstC"), ROCE_NETDEV_LACKS_NOTHING);
	run("ip link set tstC mtu 300");
	assert_int_equal(lack_of("tstC"), ROCE_NETDEV_LACKS_MTU);
	assert_string_equal(roce_netdev_lack_str(ROCE_NETDEV_LACKS_UP), "it is down");
	run("ip link del tstC");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sort_gids__routable_v4_global_v6_link_local),
		cmocka_unit_test(sort_gids__case_012_routable_before_link_local),
		cmocka_unit_test(sort_gids__case_013_private_v4_is_routable),
		cmocka_unit_test(device_name__default_and_renamed),
		cmocka_unit_test(live__list_and_read),
		cmocka_unit_test(list_all__case_047_says_what_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
