/* SPDX-License-Identifier: BSD-2-Clause */
/* An index keeps its address; what leaves frees it unless somebody holds it. */
#include "engine/gid_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <cmocka.h>

static struct roce_gid gid(uint8_t last)
{
	return (struct roce_gid){{[10] = 0xff, [11] = 0xff, [12] = 10, [15] = last}};
}

/* The addresses of the port are those whose last bytes are given, 0 ends them. */
static bool update(struct roce_gid_table *t, const char *last_bytes)
{
	struct roce_gid gids[ROCE_NETDEV_GIDS_MAX + 8];
	uint32_t count = 0;

	for (; last_bytes[count]; count++)
		gids[count] = gid((uint8_t)last_bytes[count]);
	return roce_gid_table_update(t, gids, count);
}

/* What stands at the indices, with a dot for an empty entry. */
static void check(const struct roce_gid_table *t, const char *expected)
{
	char found[ROCE_NETDEV_GIDS_MAX + 1] = "";
	uint32_t end = roce_gid_table_end(t);

	for (uint32_t i = 0; i < end; i++)
		found[i] = roce_gid_table_at(t, i) ? (char)roce_gid_table_at(t, i)->raw[15] : '.';
	assert_string_equal(found, expected);
}

static void update__index_keeps_its_address(void **state)
{
	static struct roce_gid_table t;

	(void)state;
	assert_true(update(&t, "abc"));
	check(&t, "abc");
	assert_false(update(&t, "cab")); /* in another order: nothing changed */
	check(&t, "abc");
	assert_true(update(&t, "xabc")); /* one that would stand first comes last */
	check(&t, "abcx");
	assert_true(update(&t, "acx"));
	check(&t, "a.cx");
	assert_true(update(&t, "acxyz"));
	check(&t, "aycxz");
	assert_true(update(&t, ""));
	check(&t, "");
	assert_null(roce_gid_table_at(&t, 0));
	assert_null(roce_gid_table_at(&t, ROCE_NETDEV_GIDS_MAX));
}

static void hold__nobody_else_gets_the_index(void **state)
{
	static struct roce_gid_table t;
	struct roce_gid a = gid('a');

	(void)state;
	update(&t, "ab");
	assert_int_equal(roce_gid_table_hold(&t, 1, &a), -ENOENT);
	assert_int_equal(roce_gid_table_hold(&t, 7, &a), -ENOENT);
	assert_int_equal(roce_gid_table_hold(&t, 0, &a), 0);
	assert_int_equal(roce_gid_table_hold(&t, 0, &a), 0);
	assert_true(update(&t, "b"));
	check(&t, ".b");
	assert_int_equal(roce_gid_table_hold(&t, 0, &a), -ENOENT);
	assert_true(update(&t, "bc"));
	check(&t, ".bc");
	assert_true(update(&t, "cba")); /* it comes back, and finds its place */
	check(&t, "abc");
	update(&t, "bc");
	roce_gid_table_release(&t, 0);
	update(&t, "bcd");
	check(&t, ".bcd");
	roce_gid_table_release(&t, 0);
	assert_true(update(&t, "bcde"));
	check(&t, "ebcd");
}

static void update__more_than_fit(void **state)
{
	static struct roce_gid_table t;
	struct roce_gid gids[ROCE_NETDEV_GIDS_MAX + 1];

	(void)state;
	for (uint32_t i = 0; i <= ROCE_NETDEV_GIDS_MAX; i++)
		gids[i] = gid((uint8_t)(i + 1));
	assert_true(roce_gid_table_update(&t, gids, ROCE_NETDEV_GIDS_MAX + 1));
	assert_int_equal(roce_gid_table_end(&t), ROCE_NETDEV_GIDS_MAX);
	assert_false(roce_gid_table_update(&t, gids, ROCE_NETDEV_GIDS_MAX + 1));
	/* With a free place the last one gets in. */
	assert_true(roce_gid_table_update(&t, gids + 1, ROCE_NETDEV_GIDS_MAX));
	assert_int_equal(roce_gid_table_at(&t, 0)->raw[15], ROCE_NETDEV_GIDS_MAX + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(update__index_keeps_its_address),
		cmocka_unit_test(hold__nobody_else_gets_the_index),
		cmocka_unit_test(update__more_than_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
