/* SPDX-License-Identifier: BSD-2-Clause */
/* Each rule of the port table, as a table of two bindings and what the second one meets. */
#include "daemon/port_table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define PS_TCP 0x106
#define PS_UDP 0x111

static struct roce_port_table table;

static struct roce_port_binding binding(const char *where, uint16_t port, bool reuse, bool af_only)
{
	struct roce_port_binding b = {
		.port_space = PS_TCP,
		.port = port,
		.is_reuse_allowed = reuse,
		.is_af_only = af_only,
		.is_v6 = where[0] == '6',
	};

	if (strcmp(where, "4a") == 0)
		b.address.gid = (struct roce_gid){{[10] = 0xff, 0xff, 10, 0, 0, 1}};
	else if (strcmp(where, "4b") == 0)
		b.address.gid = (struct roce_gid){{[10] = 0xff, 0xff, 10, 0, 0, 2}};
	else if (strcmp(where, "4lo") == 0)
		b.address.gid = (struct roce_gid){{[10] = 0xff, 0xff, 127, 0, 0, 1}};
	else if (strcmp(where, "6a") == 0)
		b.address.gid = (struct roce_gid){{0xfd, [15] = 1}};
	else if (strcmp(where, "6lo") == 0)
		b.address.gid = (struct roce_gid){{[15] = 1}};
	return b;
}

static void bind__two_on_one_port(void **state)
{
	static const struct {
		const char *first, *second;
		bool reuse, af_only;
		int bind, listen;
	} rows[] = {
		{"4a", "4a", false, false, -EADDRINUSE, 0},
		{"4a", "4b", false, false, 0, 0},
		{"4a", "4*", false, false, -EADDRNOTAVAIL, 0},
		{"4*", "4a", false, false, -EADDRNOTAVAIL, 0},
		{"4*", "4*", false, false, -EADDRNOTAVAIL, 0},
		{"4a", "4lo", false, false, -EADDRNOTAVAIL, 0},
		{"4lo", "4a", false, false, -EADDRNOTAVAIL, 0},
		{"4lo", "4lo", false, false, -EADDRNOTAVAIL, 0},
		{"6a", "6lo", false, false, -EADDRNOTAVAIL, 0},
		/* An IPv6 wildcard takes IPv4 too, unless told not to. */
		{"4*", "6*", false, false, -EADDRNOTAVAIL, 0},
		{"4a", "6*", false, false, -EADDRNOTAVAIL, 0},
		{"4*", "6*", false, true, 0, 0},
		{"6*", "6*", false, true, -EADDRNOTAVAIL, 0},
		{"4a", "6a", false, false, 0, 0},
		/* Both allow it: bound, but only one may listen. */
		{"4a", "4a", true, false, 0, -EADDRINUSE},
		{"4*", "4*", true, false, 0, -EADDRNOTAVAIL},
		{"4a", "4b", true, false, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct roce_port_binding a =
			binding(rows[i].first, 7471, rows[i].reuse, rows[i].af_only);
		struct roce_port_binding b =
			binding(rows[i].second, 7471, rows[i].reuse, rows[i].af_only);
		struct roce_port_binding udp = binding(rows[i].second, 7471, false, false);

		roce_port_table_init(&table, 32768, 60999);
		assert_int_equal(roce_port_table_bind(&table, &a, false, 0), 0);
		print_message("%s, then %s\n", rows[i].first, rows[i].second);
		assert_int_equal(roce_port_table_bind(&table, &b, false, 0), rows[i].bind);
		if (!rows[i].bind)
			assert_int_equal(roce_port_table_check_listen(&table, &b), rows[i].listen);
		udp.port_space = PS_UDP;
		assert_int_equal(roce_port_table_bind(&table, &udp, false, 0), 0);
		roce_port_table_release(&a);
		if (rows[i].bind)
			assert_int_equal(b.port, 0);
		b.port = b.port ? b.port : 7471;
		if (rows[i].bind)
			assert_int_equal(roce_port_table_bind(&table, &b, false, 0), 0);
		assert_int_equal(roce_port_table_check_listen(&table, &b), 0);
	}
}

/* Only when both say so. */
static void bind__reuse_needs_both(void **state)
{
	struct roce_port_binding a = binding("4a", 7471, true, false);
	struct roce_port_binding b = binding("4a", 7471, false, false);

	(void)state;
	roce_port_table_init(&table, 32768, 60999);
	assert_int_equal(roce_port_table_bind(&table, &a, false, 0), 0);
	assert_int_equal(roce_port_table_bind(&table, &b, false, 0), -EADDRINUSE);
}

static void bind__privileged_port(void **state)
{
	struct roce_port_binding b = binding("4a", 1023, false, false);

	(void)state;
	roce_port_table_init(&table, 32768, 60999);
	assert_int_equal(roce_port_table_bind(&table, &b, false, 0), -EACCES);
	b.port = 1023;
	assert_int_equal(roce_port_table_bind(&table, &b, true, 0), 0);
	b = binding("4a", 1024, false, false);
	assert_int_equal(roce_port_table_bind(&table, &b, false, 0), 0);
}

static void bind__ephemeral(void **state)
{
	struct roce_port_binding b[4];

	(void)state;
	roce_port_table_init(&table, 40000, 40002);
	for (unsigned i = 0; i < 4; i++)
		b[i] = binding("4a", 0, false, false);
	assert_int_equal(roce_port_table_bind(&table, &b[0], false, 2), 0);
	assert_int_equal(b[0].port, 40002);
	roce_port_table_release(&b[0]);
	/* Free, but the last one given. */
	assert_int_equal(roce_port_table_bind(&table, &b[0], false, 2), 0);
	assert_int_equal(b[0].port, 40000);
	assert_int_equal(roce_port_table_bind(&table, &b[1], false, 0), 0);
	assert_int_equal(b[1].port, 40001);
	assert_int_equal(roce_port_table_bind(&table, &b[2], false, 0), 0);
	assert_int_equal(b[2].port, 40002);
	assert_int_equal(roce_port_table_bind(&table, &b[3], false, 0), -EADDRNOTAVAIL);
	b[3].port_space = PS_UDP;
	assert_int_equal(roce_port_table_bind(&table, &b[3], false, 0), 0);
}

/* The same link-local address on two links. */
static void bind__scope(void **state)
{
	struct roce_port_binding a = binding("6a", 7471, false, false);
	struct roce_port_binding b = binding("6a", 7471, false, false);

	(void)state;
	roce_port_table_init(&table, 40000, 40002);
	a.address.gid.raw[0] = b.address.gid.raw[0] = 0xfe;
	a.address.gid.raw[1] = b.address.gid.raw[1] = 0x80;
	a.address.ifindex = 2;
	b.address.ifindex = 3;
	assert_int_equal(roce_port_table_bind(&table, &a, false, 0), 0);
	assert_int_equal(roce_port_table_bind(&table, &b, false, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bind__two_on_one_port), cmocka_unit_test(bind__reuse_needs_both),
		cmocka_unit_test(bind__privileged_port), cmocka_unit_test(bind__ephemeral),
		cmocka_unit_test(bind__scope),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
