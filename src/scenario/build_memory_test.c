/* SPDX-License-Identifier: BSD-2-Clause */
/* What does not fit into the memory is refused with what was asked for and what would fit; what
 * does fit is not. */
#include "scenario/build_run.h"

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)

/* What is said when there is so much room; "" when it fits. */
static const char *check(const char *text, uint64_t room)
{
	bool fits;

	roce_problems_init(&problems, "b.yaml");
	memset(&plan, 0, sizeof(plan));
	memset(&built, 0, sizeof(built));
	memset(&outcome, 0, sizeof(outcome));
	problems.text[0][0] = '\0';
	scenario = roce_scenario_load(text, strlen(text), "b.yaml", &problems);
	assert_non_null(scenario);
	assert_true(roce_plan_init(&plan, scenario, NULL, &problems));
	fits = roce_build_check_memory(&plan, room, &problems);
	assert_int_equal(fits, problems.count == 0);
	drop();
	return problems.text[0];
}

static void check_memory__networks(void **state)
{
	static const char text[] =
		"topology:\n  kind: fat-tree\n  k: 16\nworkload: [{kind: permutation}]\n";

	(void)state;
	assert_string_equal(check(text, 1024 * MIB), "");
	assert_non_null(strstr(check(text, 5 * MIB),
			       "b.yaml:2: topology: 1024 hosts, 320 switches and "
			       "3072 links take at least "));
	assert_non_null(strstr(problems.text[0], " MiB, and there are 5; about "));
}

static void check_memory__flows(void **state)
{
	static const char text[] =
		"topology: {hosts: 100}\nworkload:\n  - {kind: all-to-all, queue_pairs: 100}\n";
	unsigned int count = 0;
	const char *at;

	(void)state;
	assert_string_equal(check(text, UINT64_MAX), "");
	assert_non_null(
		strstr(check(text, 100 * MIB), "b.yaml:3: workload: 9900 flows take at least "));
	at = strstr(problems.text[0], "about ");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "about %u such flows would fit", &count), 1);
	assert_in_range(count, 100, 9000);
	/* One behind the other they are there at one time, but their queue pairs are not. */
	assert_string_equal(
		check("topology: {hosts: 2}\nworkload: [{from: h0, to: h1, rounds: 9900, "
		      "queue_pairs: 100}]\n",
		      100 * MIB),
		"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_memory__networks),
		cmocka_unit_test(check_memory__flows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
