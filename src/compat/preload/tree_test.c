/* SPDX-License-Identifier: BSD-2-Clause */
/* The tree of a made-up device: what is where, and what it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compat/preload/tree.h"
#include "engine/shared_dir.h"
#include "verbs/limits.h"

static const struct roce_netdev netdev = {
	.ifindex = 7,
	.name = "nodev0", /* no such interface: a virtual device */
	.mtu = 1500,
	.speed_mbps = 100000,
	.is_up = true,
	.mac = {0x52, 0x54, 0x00, 0x77, 0x02, 0xd0},
	.gid_count = 2,
	.gids = {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, 2}},
		 {{0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}}},
};

static struct roce_shared_counters counters;
static const struct roce_attr_device device = {"mlx5_0", &netdev, &counters};
static char base[64];
static char root[96];

static int make_tree(void **state)
{
	(void)state;
	snprintf(base, sizeof(base), "/tmp/uroce-tree-test-XXXXXX");
	if (!mkdtemp(base))
		return -1;
	snprintf(root, sizeof(root), "%s/t", base);
	return roce_tree_write(root, &device, 1);
}

static int remove_tree(void **state)
{
	(void)state;
	roce_shared_dir_remove(base);
	return access(base, F_OK) == 0 ? -1 : 0;
}

static const char *at(const char *tail)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", root, tail);
	return path;
}

static void expect(const char *tail, const char *content)
{
	char text[256] = "";
	int fd = open(at(tail), O_RDONLY);

	if (fd < 0)
		fail_msg("%s: %s", tail, strerror(errno));
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	close(fd);
	assert_string_equal(text, content);
}

#define DEVICE "/sys/class/infiniband/mlx5_0"

static void tree__device(void **state)
{
	(void)state;
	expect(DEVICE "/node_guid", "5054:00ff:fe77:02d0\n");
	expect(DEVICE "/sys_image_guid", "5054:00ff:fe77:02d0\n");
	expect(DEVICE "/node_type", "1: CA\n");
	expect(DEVICE "/node_desc", "uroce nodev0\n");
	expect(DEVICE "/fw_ver", UROCE_VERSION "\n");
	expect(DEVICE "/hca_type", "uroce\n");
	expect(DEVICE "/board_id", "uroce\n");
}

static void tree__parent_device(void **state)
{
	char target[128] = "";

	(void)state;
	expect(DEVICE "/device/numa_node", "-1\n");
	expect(DEVICE "/device/vendor", "0xffff\n");
	assert_true(readlink(at(DEVICE "/device/net/nodev0"), target, sizeof(target) - 1) > 0);
	assert_string_equal(target, "/sys/class/net/nodev0");
	/* Links inside lead to what they mean. */
	expect(DEVICE "/device/infiniband/mlx5_0/fw_ver", UROCE_VERSION "\n");
	expect(DEVICE "/device/infiniband_verbs/uverbs6/ibdev", "mlx5_0\n");
	expect("/sys/class/infiniband_verbs/uverbs6/device/numa_node", "-1\n");
}

static void tree__port(void **state)
{
	(void)state;
	expect(DEVICE "/ports/1/state", "4: ACTIVE\n");
	expect(DEVICE "/ports/1/phys_state", "5: LinkUp\n");
	expect(DEVICE "/ports/1/rate", "100 Gb/sec (4X EDR)\n");
	expect(DEVICE "/ports/1/link_layer", "Ethernet\n");
	expect(DEVICE "/ports/1/lid", "0x0\n");
	expect(DEVICE "/ports/1/sm_lid", "0x0\n");
	expect(DEVICE "/ports/1/cap_mask", "0x04010000\n");
	expect(DEVICE "/ports/1/pkeys/0", "0xffff\n");
}

static void tree__gids(void **state)
{
	char last[64];

	(void)state;
	expect(DEVICE "/ports/1/gids/0", "0000:0000:0000:0000:0000:ffff:0a4d:0002\n");
	expect(DEVICE "/ports/1/gids/1", "fd77:0000:0000:0000:0000:0000:0000:0002\n");
	expect(DEVICE "/ports/1/gids/2", "0000:0000:0000:0000:0000:0000:0000:0000\n");
	snprintf(last, sizeof(last), DEVICE "/ports/1/gids/%u", ROCE_GID_TABLE - 1);
	expect(last, "0000:0000:0000:0000:0000:0000:0000:0000\n");
	snprintf(last, sizeof(last), DEVICE "/ports/1/gids/%u", ROCE_GID_TABLE);
	assert_int_not_equal(access(at(last), F_OK), 0);
	expect(DEVICE "/ports/1/gid_attrs/types/1", "RoCE v2\n");
	expect(DEVICE "/ports/1/gid_attrs/ndevs/1", "nodev0\n");
	assert_int_not_equal(access(at(DEVICE "/ports/1/gid_attrs/types/2"), F_OK), 0);
}

static void tree__device_file(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(stat(at("/dev/infiniband/uverbs6"), &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(access(at("/dev/infiniband/uverbs6"), R_OK | W_OK), 0);
	expect("/sys/class/infiniband_verbs/uverbs6/ibdev", "mlx5_0\n");
	expect("/sys/class/infiniband_verbs/uverbs6/dev", "1:3\n");
	expect("/sys/class/infiniband_verbs/abi_version", "6\n");
}

static void tree__without_devices(void **state)
{
	char empty[128];

	(void)state;
	snprintf(empty, sizeof(empty), "%s/empty", base);
	assert_int_equal(roce_tree_write(empty, NULL, 0), 0);
	snprintf(empty, sizeof(empty), "%s/empty/sys/class/infiniband", base);
	assert_int_equal(rmdir(empty), 0); /* is there, and empty */
	snprintf(empty, sizeof(empty), "%s/empty/dev/infiniband", base);
	assert_int_equal(rmdir(empty), 0);
}

/* Every file of the tree is what roce_attr_read() says; counters are not, they live. */
static void compare_with_file(void *ctx, enum roce_attr_kind kind, const char *path,
			      const char *text)
{
	unsigned int *seen = ctx;
	char tail[256];
	char line[PATH_MAX + 2];
	char read_text[256];

	seen[kind]++;
	if (kind == ROCE_ATTR_LINK)
		return;
	assert_int_equal(roce_attr_read(&device, path, read_text, sizeof(read_text)),
			 (int)strlen(text));
	assert_string_equal(read_text, text);
	snprintf(tail, sizeof(tail), DEVICE "/%s", path);
	snprintf(line, sizeof(line), "%s\n", kind == ROCE_ATTR_COUNTER ? "0" : text);
	expect(tail, line);
}

static void attr__is_what_the_tree_has(void **state)
{
	unsigned int seen[4] = {0};

	(void)state;
	counters.transport.v[ROCE_STAT_TX_BYTES] = 4000;
	counters.pktio.tx_packets = 17;
	roce_attr_each(&device, compare_with_file, seen);
	assert_true(seen[ROCE_ATTR_FILE] > 20);
	assert_int_equal(seen[ROCE_ATTR_EMPTY_GID], ROCE_GID_TABLE - 2);
	assert_true(seen[ROCE_ATTR_COUNTER] > 60);
}

static void attr__counters(void **state)
{
	char text[64];

	(void)state;
	assert_true(roce_attr_read(&device, "ports/1/counters/port_xmit_data", text, 64) > 0);
	assert_string_equal(text, "1000"); /* words of four octets */
	assert_true(roce_attr_read(&device, "ports/1/hw_counters/io_tx_packets", text, 64) > 0);
	assert_string_equal(text, "17");
	assert_int_equal(roce_attr_read(&device, "ports/1/hw_counters/io_tx_packets", text, 2),
			 -ENOSPC);
	assert_int_equal(roce_attr_read(&device, "ports/1/hw_counters/nothing", text, 64), -ENOENT);
	assert_int_equal(roce_attr_read(&device, "ports/1/hw_counters", text, 64), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree__device),
		cmocka_unit_test(tree__parent_device),
		cmocka_unit_test(tree__port),
		cmocka_unit_test(tree__gids),
		cmocka_unit_test(tree__device_file),
		cmocka_unit_test(tree__without_devices),
		cmocka_unit_test(attr__is_what_the_tree_has),
		cmocka_unit_test(attr__counters),
	};

	return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
