/* SPDX-License-Identifier: BSD-2-Clause */
/* Sides in words, from whole facts, from less, and from none. */
#include "verify/sides.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static json_t *facts(json_t *uses)
{
	return json_pack("{s:s, s:{s:s, s:s, s:s, s:o*}}", "version", "9.9", "facts", "host", "h1",
			 "system", "Linux", "kernel", "6.18", "uses", uses);
}

static void expect(json_t *uses, const char *expected)
{
	struct roce_verify_record record = {.facts = {[ROCE_VERIFY_TARGET] = facts(uses)}};
	char text[256];

	roce_verify_side_text(&record, ROCE_VERIFY_TARGET, text, sizeof(text));
	assert_string_equal(text, expected);
	json_decref(record.facts[ROCE_VERIFY_TARGET]);
}

static void sides__uroce(void **state)
{
	(void)state;
	expect(json_pack("{s:s, s:s, s:s, s:s}", "implementation", "uroce",
			 "implementation_version", "0.9", "device", "uroce_eth0", "gid", "fd77::1"),
	       "uroce 0.9, uroce_eth0 fd77::1, on h1, Linux 6.18");
}

static void sides__soft_roce(void **state)
{
	(void)state;
	expect(json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "implementation", "Soft-RoCE (rdma_rxe)",
			 "implementation_version", "Linux 6.1.0", "device", "rxe0", "gid",
			 "::ffff:10.77.0.2", "rdma_core", "44.0", "quirks", "rxe"),
	       "Soft-RoCE (rdma_rxe) of Linux 6.1.0, rxe0 10.77.0.2, rdma-core 44.0, on h1; known "
	       "departures of rxe are accepted");
}

static void sides__no_device(void **state)
{
	(void)state;
	expect(json_pack("{s:s}", "reason", "port 1 of mlx5_0 is PORT_DOWN"),
	       "no device (port 1 of mlx5_0 is PORT_DOWN), on h1, Linux 6.18");
}

static void sides__nothing_said(void **state)
{
	struct roce_verify_record record = {0};
	char text[64] = "x";

	(void)state;
	roce_verify_side_text(&record, ROCE_VERIFY_INITIATOR, text, sizeof(text));
	assert_string_equal(text, "");
	assert_string_equal(roce_verify_side_implementation(&record, ROCE_VERIFY_INITIATOR), "");
	expect(NULL, "");
}

/* It goes to a terminal, and comes from another host. */
static void sides__only_printable(void **state)
{
	(void)state;
	expect(json_pack("{s:s, s:s, s:s, s:s}", "implementation", "a\033[2J",
			 "implementation_version", "1", "device", "b\n", "gid", "\xc3\xa4"),
	       "a?[2J 1, b? ??, on h1, Linux 6.18");
}

static void sides__cut_at_the_end(void **state)
{
	struct roce_verify_record record = {
		.facts = {facts(json_pack("{s:s, s:s, s:s, s:s}", "implementation", "uroce",
					  "implementation_version", "0.9", "device", "d", "gid",
					  "::1"))}};
	char text[12];

	(void)state;
	roce_verify_side_text(&record, ROCE_VERIFY_INITIATOR, text, sizeof(text));
	assert_string_equal(text, "uroce 0.9, ");
	json_decref(record.facts[ROCE_VERIFY_INITIATOR]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sides__uroce),		 cmocka_unit_test(sides__soft_roce),
		cmocka_unit_test(sides__no_device),	 cmocka_unit_test(sides__nothing_said),
		cmocka_unit_test(sides__only_printable), cmocka_unit_test(sides__cut_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
