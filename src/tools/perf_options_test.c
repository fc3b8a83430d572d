/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `uroce perf`: perftest's names and defaults, what is refused, and their plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tools/command.h"
#include "tools/perf.h"

#include "verify/auth.h"

#define ARGUMENTS_MAX 32

/* Arguments in one text, apart by blanks. */
static int parse(const char *text, struct roce_perf_options *out)
{
	static char copy[256];
	char *argv[ARGUMENTS_MAX] = {copy};
	char *rest;
	int argc = 0;

	snprintf(copy, sizeof(copy), "perf %s", text);
	for (char *p = strtok_r(copy, " ", &rest); p; p = strtok_r(NULL, " ", &rest))
		argv[argc++] = p;
	assert_true(argc < ARGUMENTS_MAX);
	return roce_perf_options_parse(argc, argv, out);
}

static struct roce_perf_options good(const char *text)
{
	struct roce_perf_options o;

	assert_int_equal(parse(text, &o), ROCE_EXIT_OK);
	return o;
}

static void parse__tests_and_defaults(void **state)
{
	static const struct {
		const char *text;
		const char *kind;
		const char *op;
		const char *transport;
		uint64_t size;
		uint64_t messages;
		uint64_t duration_ms;
		uint64_t inline_max;
	} rows[] = {
		{"write_lat --local", "latency", "write", "rc", 2, 10000, 0, 220},
		{"ib_write_lat --local", "latency", "write", "rc", 2, 10000, 0, 220},
		{"write_bw --local", "bandwidth", "write", "rc", 65536, 0, 1000, 0},
		{"write_imm_bw --local", "bandwidth", "write_imm", "rc", 65536, 0, 1000, 0},
		{"read_lat --local", "latency", "read", "rc", 2, 10000, 0, 220},
		{"send_bw --local -c UC", "bandwidth", "send", "uc", 65536, 0, 1000, 0},
		{"send_lat --local -c UD", "latency", "send", "ud", 2, 10000, 0, 188},
		{"send_bw --local -c UD", "bandwidth", "send", "ud", 1024, 0, 1000, 0},
		{"ud_send_bw --local -m 4096", "bandwidth", "ud_send", "ud", 4096, 0, 1000, 0},
		{"ib_send_lat --local -c XRC", "latency", "send", "xrc", 2, 10000, 0, 220},
		{"ib_write_bw --local -c XRC", "bandwidth", "write", "xrc", 65536, 0, 1000, 0},
		{"atomic_bw --local -c XRC", "bandwidth", NULL, "xrc", 8, 0, 1000, 0},
		{"atomic_lat --local", "latency", NULL, "rc", 8, 10000, 0, 220},
		{"atomic_bw --local", "bandwidth", NULL, "rc", 8, 0, 1000, 0},
		{"write_lat --local -a", "latency", "write", "rc", 2, 1000, 0, 220},
		{"write_bw --local -a", "bandwidth", "write", "rc", 65536, 0, 300, 0},
		{"write_lat --local -D 2.5", "latency", "write", "rc", 2, 10000000, 2500, 220},
		{"write_bw --local -n 5000", "bandwidth", "write", "rc", 65536, 5000, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct roce_perf_options o = good(rows[i].text);

		print_message("%s\n", rows[i].text);
		assert_string_equal(o.test->kind, rows[i].kind);
		if (rows[i].op)
			assert_string_equal(o.test->op, rows[i].op);
		else
			assert_null(o.test->op);
		assert_string_equal(o.transport, rows[i].transport);
		assert_int_equal(o.size, rows[i].size);
		assert_int_equal(o.messages, rows[i].messages);
		assert_int_equal(o.duration_ms, rows[i].duration_ms);
		assert_int_equal(o.inline_max, rows[i].inline_max);
	}
}

static void parse__values(void **state)
{
	struct roce_perf_options o = good("write_bw h -d mlx5_0 -i 2 -x 3 -p 99 -s 64K -q 4 -b -t "
					  "16 -m 2048 -F");

	(void)state;
	assert_string_equal(o.sides.peer, "h");
	assert_string_equal(o.sides.device[0], "mlx5_0");
	assert_int_equal(o.sides.ib_port, 2);
	assert_int_equal(o.sides.gid_index, 3);
	assert_int_equal(o.sides.port, 99);
	assert_int_equal(o.size, 65536);
	assert_int_equal(o.qps, 4);
	assert_int_equal(o.depth, 16);
	assert_int_equal(o.mtu, 2048);
	assert_true(o.is_both);
	o = good("--size=4KiB -I 100 atomic_lat --local -A CMP_AND_SWAP -s 8 --report_gbits");
	assert_int_equal(o.size, 8); /* the last one counts */
	assert_string_equal(o.atomic, "cmp_swap");
	assert_int_equal(o.inline_max, 100);
}

/* The link of --local carries the path MTU that was asked for, and both sides have the device. */
static void parse__local(void **state)
{
	struct roce_perf_options o = good("write_bw --local -m 4096 -d uroce_ve0");

	(void)state;
	assert_true(o.is_local && !o.is_server);
	assert_int_equal(o.sides.mtu, 4200);
	assert_string_equal(o.sides.device[1], "uroce_ve0");
	assert_int_equal(good("write_bw --local -m 1024").sides.mtu, 1500);
	assert_string_equal(good("write_bw --local -d a --target-device b").sides.device[1], "b");
}

/* Who may come: who knows a token that is made; or everybody, of this host. */
static void parse__server(void **state)
{
	struct roce_perf_options o = good("write_bw");

	(void)state;
	assert_true(o.is_server && o.sides.is_once);
	assert_null(o.sides.token);
	assert_null(o.sides.bind_to);
	assert_string_equal(o.sides.kinds, "latency,bandwidth");
	o = good("write_bw --no-token --persistent");
	assert_false(o.sides.is_once);
	assert_string_equal(o.sides.token, ROCE_VERIFY_TOKEN_OPEN);
	assert_string_equal(o.sides.bind_to, "127.0.0.1");
	assert_string_equal(good("write_bw --no-token --bind ::").sides.bind_to, "::");
}

static void parse__token(void **state)
{
	(void)state;
	assert_string_equal(good("write_bw h").sides.token, ROCE_VERIFY_TOKEN_OPEN);
	setenv("UROCE_VERIFY_TOKEN", "0123456789ab", 1);
	assert_string_equal(good("write_bw h").sides.token, "0123456789ab");
	assert_string_equal(good("write_bw").sides.token, "0123456789ab");
	assert_string_equal(good("write_bw h --token cccccccccccc").sides.token, "cccccccccccc");
	assert_string_equal(good("write_bw --no-token").sides.token, ROCE_VERIFY_TOKEN_OPEN);
	assert_null(good("write_bw --local").sides.token);
	unsetenv("UROCE_VERIFY_TOKEN");
}

static void parse__refused(void **state)
{
	static const char *const rows[] = {
		"",
		"write_lot --local",
		"write_lat host more",
		"write_lat --nothing",
		"write_lat --local -s",
		"write_lat --local -s 0",
		"write_lat --local -s 2G",
		"write_lat --local -s 17X",
		"write_lat --local -s -1",
		"write_lat --local -s 18446744073709551616",
		"write_lat --local -s 64 -a",
		"write_lat --local -n 1000 -D 1",
		"write_lat --local -n 0",
		"write_lat --local -D 0",
		"write_lat --local -D nan",
		"write_lat --local -D 1s",
		"write_lat --local -q 2",
		"write_lat --local -b",
		"write_lat --local -t 4",
		"write_lat --local -R -m 1024",
		"write_lat --local -R -c UC",
		"write_lat --local -c RD",
		"write_lat --local -c UD",
		"write_lat --local -m 1500",
		"write_lat --local -m 8192",
		"write_lat --local -A CMP_AND_SWAP",
		"write_lat --local -I 100000",
		"write_lat --local -x 256",
		"write_lat --local -i 0",
		"write_lat --local -p 65536",
		"write_bw --local -q 0",
		"read_lat --local -c UC",
		"atomic_bw --local -c UC",
		"atomic_lat --local -a",
		"atomic_lat --local -s 64",
		"atomic_lat --local -A SWAP",
		"ud_send_lat --local -c RC",
		"ud_send_lat --local -c XRC",
		"write_lat --local -R -c XRC",
		"ud_send_lat --local -s 8192",
		"write_lat host --local",
		"write_lat host --no-token",
		"write_lat host --persistent",
		"write_lat host --bind 1.2.3.4",
		"write_lat host --token short",
		"write_lat host --target-device x",
		"write_lat --local --token 0123456789ab",
		"write_lat --no-token --token 0123456789ab",
		"write_lat --json x.json",
	};
	struct roce_perf_options o;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		print_message("%s\n", rows[i]);
		assert_int_equal(parse(rows[i], &o), ROCE_EXIT_USAGE);
	}
}

/* Whatever options allow, the reader of plans takes. */
static void plan__of_all_options(void **state)
{
	static const char *const rows[] = {
		"write_lat --local",
		"write_lat --local -n 10000000",
		"write_lat --local -D 1000 -s 1G",
		"write_bw --local -n 10000000",
		"write_bw --local -D 1000 -s 1G -q 1024 -t 4096",
		"write_bw --local -D 0.05 -m 256 -I 1024 -b",
		"send_lat --local -c UC -a",
		"ud_send_bw --local -a",
		"send_bw --local -c UD -s 4096",
		"read_bw --local -R -q 2",
		"atomic_lat --local -A CMP_AND_SWAP -I 0",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct roce_perf_options o = good(rows[i]);
		struct roce_verify_plan *plan = roce_perf_plan(&o);

		print_message("%s\n", rows[i]);
		assert_non_null(plan);
		assert_int_equal(plan->case_count, !o.has_all_sizes	 ? 1
						   : roce_perf_is_ud(&o) ? 12
									 : 23);
		roce_verify_plan_destroy(plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__tests_and_defaults),
		cmocka_unit_test(parse__values),
		cmocka_unit_test(parse__local),
		cmocka_unit_test(parse__server),
		cmocka_unit_test(parse__token),
		cmocka_unit_test(parse__refused),
		cmocka_unit_test(plan__of_all_options),
	};

	unsetenv("UROCE_VERIFY_TOKEN");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
