/* SPDX-License-Identifier: BSD-2-Clause */
/* Ways of 63 switches are fine, those of 64 are told, there and back, as are loops of routes; and
 * runs of them agree. */
#include "scenario/build_run.h"

#include <stdlib.h>

#define RING "topology: {kind: ring, switches: 66, hosts_per_switch: 1, routing: clockwise}\n"

/* The line that is told, or "" when there is nothing to say; the next call ends it. */
static const char *tell(const char *text)
{
	static char line[1024];
	char *told;

	if (!make(text))
		fail_msg("%s: %s", text, problems.text[0]);
	told = roce_build_way_text(&built);
	snprintf(line, sizeof(line), "%s", told ? told : "");
	free(told);
	drop();
	return line;
}

static void assert_told(const char *text, const char *begin)
{
	char expected[256];
	const char *told;

	snprintf(expected, sizeof(expected), "%s is the first: ", begin);
	told = tell(text);
	if (strncmp(told, expected, strlen(expected)) != 0)
		fail_msg("%s: told: %s", expected, told);
}

static void long_ways(void **state)
{
	(void)state;
	assert_string_equal(tell(RING "workload: [{from: \"@s0\", to: \"@s62\"}]\n"), "");
	assert_told(RING "workload: [{from: \"@s0\", to: \"@s63\"}]\n",
		    "1 of 1 flows never arrive, h0 to h63");
	/* There it is two links, back it is all the others. */
	assert_told(RING "workload: [{from: \"@s1\", to: \"@s3\"}]\n",
		    "1 of 1 flows never arrive, h1 to h3");
	assert_string_equal(tell(RING "workload: [{from: \"@s1\", to: \"@s3\", service: uc}]\n"),
			    "");
}

static void loops(void **state)
{
	(void)state;
	assert_told("topology: {kind: ring, switches: 5, hosts_per_switch: 1}\n"
		    "routes: [{at: s1, to: h2, via: s0}]\n"
		    "workload: [{from: h0, to: h3}, {from: h0, to: h2}, {from: h1, to: h2}]\n",
		    "2 of 3 flows never arrive, h0 to h2");
}

/* What is told is what happens. */
static void run_of_long_ways(void **state)
{
	struct roce_fabric_flow_result result;

	(void)state;
	for (uint32_t to = 62; to < 64; to++) {
		char text[512];

		snprintf(text, sizeof(text),
			 RING
			 "workload: [{from: \"@s0\", to: \"@s%u\", bytes: 1kB, service: uc}]\n",
			 to);
		if (!make(text))
			fail_msg("%s: %s", text, problems.text[0]);
		(void)roce_fabric_run(built.fabric, 10 * ROCE_PS_PER_MS);
		roce_fabric_flow_result(built.fabric, 0, &result);
		assert_int_equal(result.state == ROCE_FABRIC_FLOW_DONE, to == 62);
		drop();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_ways),
		cmocka_unit_test(loops),
		cmocka_unit_test(run_of_long_ways),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
