/* SPDX-License-Identifier: BSD-2-Clause */
/* Which paths are ours and which are a stranger's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "compat/preload/path.h"

#define ROOT "/dev/shm/uroce-7/abc/tree-0"

static enum roce_path_kind classify(const char *path)
{
	const char *tail;

	return roce_path_classify(path, ROOT, &tail);
}

static const char *tail_of(const char *path)
{
	const char *tail = NULL;

	assert_int_not_equal(roce_path_classify(path, ROOT, &tail), ROCE_PATH_STRANGER);
	return tail;
}

static void classify__ours(void **state)
{
	(void)state;
	assert_int_equal(classify("/sys/class/infiniband"), ROCE_PATH_TREE);
	assert_int_equal(classify("/sys/class/infiniband/"), ROCE_PATH_TREE);
	assert_int_equal(classify("/sys/class/infiniband/uroce_lo/node_guid"), ROCE_PATH_TREE);
	assert_int_equal(classify("/sys/class/infiniband_verbs/uverbs0/dev"), ROCE_PATH_TREE);
	assert_int_equal(classify("/dev/infiniband/uverbs0"), ROCE_PATH_DEVICE);
	assert_int_equal(classify("/dev/infiniband"), ROCE_PATH_DEVICE);
	assert_string_equal(tail_of("/sys/class/infiniband/x"), "/sys/class/infiniband/x");
	assert_string_equal(tail_of(ROOT "/sys/class/infiniband/x"), "/sys/class/infiniband/x");
	assert_string_equal(tail_of(ROOT "/dev/infiniband/y"), "/dev/infiniband/y");
}

static void classify__strangers(void **state)
{
	static const char *const strangers[] = {
		"/",
		"/etc/passwd",
		"/sys/class",
		"/sys/class/infiniband_mad",
		"/sys/class/infiniband_cm/x",
		"/sys/class/infinibandage",
		"/dev/infinibands/uverbs0",
		"/var/me/infiniband",
		"/var/me/sys/class/infiniband",
		"sys/class/infiniband",
		ROOT,
		ROOT "/sys/class/net",
		ROOT "x/sys/class/infiniband",
		"/sys/class/net/infiniband/dev",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++)
		assert_int_equal(classify(strangers[i]), ROCE_PATH_STRANGER);
}

static void classify__counters_are_live(void **state)
{
	(void)state;
#define PORT "/sys/class/infiniband/uroce_lo/ports/1"
	assert_int_equal(classify(PORT "/hw_counters/tx_pkts"), ROCE_PATH_LIVE);
	assert_int_equal(classify(PORT "/counters/port_xmit_data"), ROCE_PATH_LIVE);
	assert_int_equal(classify(ROOT PORT "/counters/port_xmit_data"), ROCE_PATH_LIVE);
	assert_int_equal(classify(PORT "/counters"), ROCE_PATH_TREE);
	assert_int_equal(classify(PORT "/counters/"), ROCE_PATH_TREE);
	assert_int_equal(classify(PORT "/counters/.."), ROCE_PATH_TREE);
	assert_int_equal(classify(PORT "/counters/a/b"), ROCE_PATH_TREE);
	assert_int_equal(classify(PORT "/gids/0"), ROCE_PATH_TREE);
	assert_int_equal(classify("/sys/class/infiniband_verbs/x/ports/1/counters/y"),
			 ROCE_PATH_TREE);
}

static void candidate__needs_the_word(void **state)
{
	(void)state;
	assert_true(roce_path_is_candidate("/sys/class/infiniband"));
	assert_true(roce_path_is_candidate("infiniband/x"));
	assert_false(roce_path_is_candidate("/etc/passwd"));
	assert_false(roce_path_is_candidate(""));
	assert_false(roce_path_is_candidate(NULL));
}

static void join__squeezes(void **state)
{
	char out[PATH_MAX];

	(void)state;
	assert_true(roce_path_join("/sys", "/a//b/./c/.", out));
	assert_string_equal(out, "/a/b/c/.");
	assert_true(roce_path_join("/sys/class", "./infiniband//x", out));
	assert_string_equal(out, "/sys/class/infiniband/x");
	assert_true(roce_path_join("/", "sys/class/infiniband", out));
	assert_string_equal(out, "/sys/class/infiniband");
	assert_true(roce_path_join("/x", "a/../b/.hidden/", out));
	assert_string_equal(out, "/x/a/../b/.hidden/");
}

static void join__refuses_what_is_too_long(void **state)
{
	char long_path[PATH_MAX + 8];
	char out[PATH_MAX];

	(void)state;
	memset(long_path, 'a', sizeof(long_path));
	long_path[0] = '/';
	long_path[PATH_MAX - 1] = '\0';
	assert_true(roce_path_join("", long_path, out));
	assert_string_equal(out, long_path);
	long_path[PATH_MAX - 1] = 'a';
	long_path[PATH_MAX] = '\0';
	assert_false(roce_path_join("", long_path, out));
}

static void in_a_tree__not_sysfs_itself(void **state)
{
	(void)state;
	assert_true(roce_path_is_in_a_tree(ROOT "/sys/class/infiniband"));
	assert_true(roce_path_is_in_a_tree("/tmp/t/sys/class/infiniband/x/ports"));
	assert_false(roce_path_is_in_a_tree("/sys/class/infiniband/x"));
	assert_false(roce_path_is_in_a_tree("/tmp/t/sys/class/infinibandage"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classify__ours),
		cmocka_unit_test(classify__strangers),
		cmocka_unit_test(classify__counters_are_live),
		cmocka_unit_test(candidate__needs_the_word),
		cmocka_unit_test(join__squeezes),
		cmocka_unit_test(join__refuses_what_is_too_long),
		cmocka_unit_test(in_a_tree__not_sysfs_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
