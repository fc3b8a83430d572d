/* SPDX-License-Identifier: BSD-2-Clause */
/* Plans: what is read, what is refused and where, what is chosen; the plans that are built in. */
#include "scenario/yaml.h"
#include "verify/kind.h"
#include "verify/limit_test.h"
#include "verify/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct roce_verify_plan *load(const char *text, struct roce_problems *problems)
{
	roce_problems_init(problems, "p.yaml");
	return roce_verify_plan_load(text, strlen(text), "p.yaml", problems);
}

static struct roce_verify_plan *load_good(const char *text)
{
	struct roce_problems problems;
	struct roce_verify_plan *plan = load(text, &problems);

	for (uint32_t i = 0; i < roce_problems_kept(&problems); i++)
		print_error("%s\n", problems.text[i]);
	assert_non_null(plan);
	return plan;
}

#define CASE "name: x\ncases:\n- {name: a/b, kind: latency, proves: p"

static void plan__reads_a_case(void **state)
{
	struct roce_verify_plan *plan =
		load_good("name: mine\n"
			  "cases:\n"
			  "  - {name: floor/f, kind: udp_latency, proves: a floor}\n"
			  "  - name: a/b\n"
			  "    kind: latency\n"
			  "    proves: something\n"
			  "    value: p99.9\n"
			  "    takes: 500ms\n"
			  "    timeout: 7s\n"
			  "    parameters: {op: read, size: 4KiB}\n"
			  "    thresholds:\n"
			  "      soft: {at_most: 2.5, of: floor/f, where: floor/f, reaches: "
			  "3us, source: s1}\n"
			  "      100g: {at_least: 1us, at_most: 10us, source: s2}\n");
	const struct roce_verify_case *c = roce_verify_plan_find(plan, "a/b");
	const struct roce_verify_threshold *t;

	(void)state;
	assert_string_equal(plan->name, "mine");
	assert_int_equal(plan->case_count, 2);
	assert_string_equal(c->kind->name, "latency");
	assert_string_equal(c->kind->numbers[c->value].name, "p99.9");
	assert_true(c->takes_s == 0.5 && c->timeout_s == 7);
	assert_string_equal(json_string_value(json_object_get(c->parameters, "op")), "read");
	assert_int_equal(json_integer_value(json_object_get(c->parameters, "size")), 4096);
	assert_int_equal(json_integer_value(json_object_get(c->parameters, "iterations")), 10000);
	t = roce_verify_case_threshold(c, "soft");
	assert_true(t->has_most && !t->has_least && t->most == 2.5);
	assert_string_equal(t->of, "floor/f");
	assert_string_equal(t->where, "floor/f");
	assert_true(t->reaches == 3);
	t = roce_verify_case_threshold(c, "100g");
	assert_true(t->has_most && t->has_least && t->most == 10 && t->least == 1 && !t->of);
	assert_string_equal(t->source, "s2");
	assert_null(roce_verify_case_threshold(c, "other"));
	assert_true(roce_verify_plan_has_profile(plan, "100g"));
	assert_false(roce_verify_plan_has_profile(plan, "400g"));
	roce_verify_plan_destroy(plan);
}

static void plan__refuses(void **state)
{
	/* each with the one line that is said of it */
	static const char *const rows[][2] = {
		{"", "p.yaml: the plan is empty"},
		{"[a]", "p.yaml:1: a plan: found a list, expected a mapping"},
		{"name: x", "p.yaml: cases: found nothing, expected a list of cases"},
		{"name: x\ncases: []", "p.yaml:2: cases: found a list, expected a list of cases"},
		{"name: x\ncase: []\ncases: [{name: a/b, kind: latency, proves: p}]",
		 "p.yaml:2: unknown key case, expected perhaps cases; there are name|cases"},
		{"name: x\ncases:\n- {kind: latency, proves: p}",
		 "p.yaml:3: case 1: `name` is missing, expected a text"},
		{"name: x\ncases:\n- {name: a, kind: latency, proves: p}",
		 "p.yaml:3: name: found a, expected group/case of small letters, digits, _, - and "
		 "."},
		{"name: x\ncases:\n- {name: a/b, kind: latency}",
		 "p.yaml:3: case 1: `proves` is missing, expected a text"},
		{"name: x\ncases:\n- {name: a/b, kind: latencie, proves: p}",
		 "p.yaml:3: unknown kind of case latencie, expected perhaps latency; there are "},
		{CASE "}\n- {name: a/b, kind: latency, proves: p}",
		 "p.yaml:4: name: a/b is line 3's already"},
		{CASE ", parameters: {sise: 64}}",
		 "p.yaml:3: kind latency has no parameter sise; did you mean size?"},
		{CASE ", parameters: {size: big}}", "p.yaml:3: size: found \"big\", expected "},
		{CASE ", parameters: {size: 2GiB}}", "p.yaml:3: size: "},
		{CASE ", parameters: {op: wriet}}",
		 "p.yaml:3: op: found \"wriet\"; did you mean write?"},
		{CASE ", parameters: {op: write, op: read}}", "p.yaml:3: key op is there twice"},
		{CASE ", value: p51}",
		 "p.yaml:3: unknown value p51, expected perhaps p50; there are p50|p90|p99|"},
		{CASE ", takes: never}", "p.yaml:3: takes: found never, expected a time up to "},
		{CASE ", timeout: 2h}", "p.yaml:3: timeout: found 2h, expected a time up to "},
		{CASE ", thresholds: {soft: {at_most: 5us}}}",
		 "p.yaml:3: a threshold: `source` is missing, expected a text"},
		{CASE ", thresholds: {soft: {at_most: 5us, where: a/b, reaches: 5us, source: s}}}",
		 "p.yaml:3: where: found a/b, expected the name of a case before this one"},
		{CASE ", thresholds: {soft: {at_most: 5us, reaches: 5us, source: s}}}",
		 "p.yaml:3: reaches: `where` is missing, expected the name of a case before this "
		 "one"},
		{CASE
		 "}\n- {name: b/c, kind: latency, proves: p, thresholds: {soft: {at_most: 5us, "
		 "where: a/b, source: s}}}",
		 "p.yaml:4: where: `reaches` is missing, expected what the value of that case has "
		 "to be at least"},
		{CASE
		 "}\n- {name: b/c, kind: latency, proves: p, thresholds: {soft: {at_most: 5us, "
		 "where: a/b, reaches: 5Gb/s, source: s}}}",
		 "p.yaml:4: reaches: found 5Gb/s, expected a time"},
		{CASE ", thresholds: {soft: {source: s}}}",
		 "p.yaml:3: a threshold: neither at_least nor at_most is there"},
		{CASE ", thresholds: {soft: {at_mots: 5us, at_least: 1us, source: s}}}",
		 "p.yaml:3: unknown key at_mots, expected perhaps at_most; there are "},
		{CASE ", thresholds: {soft: {at_most: 5, source: s}}}",
		 "p.yaml:3: at_most: found 5, expected a time"},
		{CASE ", thresholds: {soft: {at_most: -5us, source: s}}}",
		 "p.yaml:3: at_most: found -5us, expected a time"},
		{CASE ", thresholds: {soft: {at_most: 5Gb/s, source: s}}}",
		 "p.yaml:3: at_most: found 5Gb/s, expected a time"},
		{CASE ", thresholds: {soft: {at_most: 0, source: s}}}",
		 "p.yaml:3: impossible threshold: no value is at most 0 us"},
		{CASE ", thresholds: {soft: {at_least: 0, source: s}}}",
		 "p.yaml:3: impossible threshold: every value is at least 0 us, it could never "
		 "fail"},
		{CASE ", thresholds: {soft: {at_least: 9us, at_most: 5us, source: s}}}",
		 "p.yaml:3: impossible threshold: at_least is above at_most"},
		{CASE ", thresholds: {soft: {at_most: 5, of: floor/none, source: s}}}",
		 "p.yaml:3: of: found floor/none, expected the name of a case before this one"},
		{CASE ", thresholds: {soft: {at_most: 5, of: a/b, source: s}}}",
		 "p.yaml:3: of: found a/b, expected the name of a case before this one"},
		{CASE "}\n- {name: a/c, kind: stream, proves: p, thresholds: {soft: {at_least: 1, "
		      "of: a/b, source: s}}}",
		 "p.yaml:4: of: a/b is measured in us, and this case in Gb/s"},
		{CASE "}\n- {name: a/c, kind: latency, proves: p, thresholds: {soft: {at_least: "
		      "-1, of: a/b, source: s}}}",
		 "p.yaml:4: at_least: found -1, expected how many times the value of the case in "
		 "`of`, as 2.5"},
		{CASE "}\n- {name: a/c, kind: latency, proves: p, thresholds: {soft: {at_most: 0, "
		      "of: a/b, source: s}}}",
		 "p.yaml:4: impossible threshold: a factor must be above 0"},
		{"name: x\ncases:\n- {name: a/b, kind: stream, proves: p, thresholds: {soft: "
		 "{at_least: 200Tb/s, source: s}}}",
		 "p.yaml:3: impossible threshold: no value is above 100000 Gb/s"},
		{"name: x\ncases:\n- {name: a/b, kind: stream, proves: p, value: lost, "
		 "thresholds: {soft: {at_least: 101%, source: s}}}",
		 "p.yaml:3: "},
		{"name: [x", "p.yaml:"},
		{"name: \"\\e[2J\"\ncases: []", "p.yaml:1: a control character in a value"},
		{"name: x\ncases:\n- {name: a/b, kind: latency, proves: \"\\x9b31m\"}",
		 "p.yaml:3: a control character in a value"},
		{"name: x\ncases:\n- {name: a/b, kind: latency, proves: \"a\\uFFFE\"}",
		 "p.yaml:3: a control character in a value"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct roce_problems problems;
		struct roce_verify_plan *plan = load(rows[i][0], &problems);

		if (plan || problems.count != 1 ||
		    strncmp(problems.text[0], rows[i][1], strlen(rows[i][1])) != 0) {
			print_error("%s\nexpected %s\n", rows[i][0], rows[i][1]);
			for (uint32_t j = 0; j < roce_problems_kept(&problems); j++)
				print_error("found    %s\n", problems.text[j]);
			fail();
		}
	}
}

/* Keys are compared with each other: a file of hundreds of thousands would take minutes. */
static void plan__refuses_many_keys_soon(void **state)
{
	struct roce_problems problems;
	char *text = NULL;
	size_t length;
	FILE *f = open_memstream(&text, &length);

	(void)state;
	assert_non_null(f);
	fprintf(f, "name: x\ncases: []\n");
	for (int i = 0; i < 300000; i++)
		fprintf(f, "k%d: 0\n", i);
	assert_int_equal(fclose(f), 0);
	roce_problems_init(&problems, "p.yaml");
	limit_processor_seconds(60);
	assert_null(roce_verify_plan_load(text, length, "p.yaml", &problems));
	limit_processor_seconds(0);
	assert_true(problems.count > 0);
	free(text);
}

static void plan__tells_all_mistakes(void **state)
{
	struct roce_problems problems;

	(void)state;
	assert_null(load("name: x\ncases:\n"
			 "- {name: a/b, kind: latency, proves: p, parameters: {sise: 1}}\n"
			 "- {name: a/c, kind: nothing_like_it, proves: p}\n"
			 "- {name: a/d, kind: latency, proves: p, value: 7}\n",
			 &problems));
	assert_int_equal(problems.count, 3);
}

static const char three[] =
	"name: x\ncases:\n"
	"- {name: floor/f, kind: udp_latency, proves: p}\n"
	"- {name: a/read_1, kind: latency, proves: p, thresholds: {soft: {at_most: 2, of: floor/f, "
	"source: s}}}\n"
	"- {name: ab/read_2, kind: latency, proves: p}\n";

static void expect_selection(const char *only, const char *skip, const char *wanted)
{
	struct roce_verify_plan *plan = load_good(three);
	char found[8] = "";

	(void)roce_verify_plan_select(plan, only, skip, "soft");
	for (uint32_t i = 0; i < plan->case_count; i++)
		found[i] = plan->cases[i].is_wanted ? '1' : '0';
	assert_string_equal(found, wanted);
	roce_verify_plan_destroy(plan);
}

static void select__by_patterns(void **state)
{
	(void)state;
	expect_selection(NULL, NULL, "111");
	expect_selection("ab", NULL, "001");
	expect_selection("floor/f", NULL, "100");
	expect_selection("*read*", NULL, "111");
	expect_selection("ab/read_2,floor", NULL, "101");
	expect_selection("ab/read", NULL, "000");
	expect_selection(NULL, "a", "101");
	expect_selection(NULL, "*read*", "100");
}

static void select__knows_what_fits_nothing(void **state)
{
	struct roce_verify_plan *plan = load_good(three);
	char unfit[16];

	(void)state;
	assert_false(roce_verify_plan_unfit(plan, "a,ab/read_2,*read*", unfit, sizeof(unfit)));
	assert_false(roce_verify_plan_unfit(plan, ",,a,", unfit, sizeof(unfit)));
	assert_true(roce_verify_plan_unfit(plan, "a,,ab/read,b", unfit, sizeof(unfit)));
	assert_string_equal(unfit, "ab/read");
	roce_verify_plan_destroy(plan);
}

static void select__takes_floors_along(void **state)
{
	(void)state;
	expect_selection("a", NULL, "110");
	expect_selection("a", "floor", "110");
}

static void profile__adds_thresholds(void **state)
{
	static const char text[] = "profile: site\n"
				   "thresholds:\n"
				   "- {case: a, at_most: 7us, source: s}\n"
				   "- {case: ab/read_2, at_most: 3, of: floor/f, source: s}\n";
	struct roce_verify_plan *plan = load_good(three);
	struct roce_problems problems;

	(void)state;
	roce_problems_init(&problems, "f.yaml");
	assert_string_equal(roce_verify_profile_load(plan, text, strlen(text), &problems), "site");
	assert_true(roce_verify_case_threshold(&plan->cases[1], "site")->most == 7);
	assert_string_equal(roce_verify_case_threshold(&plan->cases[2], "site")->of, "floor/f");
	assert_null(roce_verify_case_threshold(&plan->cases[0], "site"));
	assert_non_null(roce_verify_case_threshold(&plan->cases[1], "soft"));
	roce_verify_plan_destroy(plan);
}

static void profile__may_be_patient(void **state)
{
	static const char text[] = "profile: slow\npatience: 2.5\nthresholds: []\n";
	struct roce_verify_plan *plan = load_good(three);
	double limit = plan->cases[0].timeout_s;
	struct roce_problems problems;

	(void)state;
	roce_problems_init(&problems, "f.yaml");
	assert_non_null(roce_verify_profile_load(plan, text, strlen(text), &problems));
	assert_true(limit > 0 && plan->cases[0].timeout_s == 2.5 * limit);
	roce_verify_plan_destroy(plan);
}

static void profile__refuses(void **state)
{
	static const char *const rows[][2] = {
		{"", "f.yaml: the profile is empty"},
		{"profile: x", "f.yaml: thresholds: found nothing, expected a list"},
		{"profile: x\npatience: 0.5\nthresholds: []",
		 "f.yaml:2: patience: found 0.5, expected a number of 1 to 1000"},
		{"profile: x\npatience: 2s\nthresholds: []",
		 "f.yaml:2: patience: found 2s, expected a number of 1 to 1000"},
		{"profile: x\nthresholds: [a]",
		 "f.yaml:2: a threshold: found a, expected a mapping"},
		{"profile: x\nthresholds: [{at_most: 1us, source: s}]",
		 "f.yaml:2: a threshold: `case` is missing, expected a text"},
		{"profile: x\nthresholds:\n- {case: none/x, at_most: 1us, source: s}",
		 "f.yaml:3: case: the plan has none of the name none/x"},
		{"profile: x\nthresholds:\n- {case: a, at_most: 1Gb/s, source: s}",
		 "f.yaml:3: at_most: found 1Gb/s, expected a time"},
		{"profile: x\nthresholds:\n- {case: floor, at_most: 1, of: floor/f, source: s}",
		 "f.yaml:3: of: found floor/f, expected the name of a case before this one"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct roce_verify_plan *plan = load_good(three);
		struct roce_problems problems;

		roce_problems_init(&problems, "f.yaml");
		assert_null(
			roce_verify_profile_load(plan, rows[i][0], strlen(rows[i][0]), &problems));
		assert_memory_equal(problems.text[0], rows[i][1], strlen(rows[i][1]));
		roce_verify_plan_destroy(plan);
	}
}

static void built_in__plans_are_good(void **state)
{
	struct roce_verify_text texts[] = {roce_verify_default_plan(),
					   roce_verify_self_test_plan()};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct roce_problems problems;
		struct roce_verify_plan *plan;

		roce_problems_init(&problems, "built in");
		plan = roce_verify_plan_load(texts[i].text, texts[i].length, "built in", &problems);
		for (uint32_t j = 0; j < roce_problems_kept(&problems); j++)
			print_error("%s\n", problems.text[j]);
		assert_non_null(plan);
		assert_true(plan->case_count > 3);
		roce_verify_plan_destroy(plan);
	}
}

static void unit__reads_and_writes(void **state)
{
	static const struct {
		enum roce_verify_unit unit;
		const char *text;
		double value;
		const char *shown;
	} rows[] = {
		{ROCE_VERIFY_TIME, "10us", 10, "10 us"},
		{ROCE_VERIFY_TIME, "1.5ms", 1500, "1500 us"},
		{ROCE_VERIFY_RATE, "100G", 100, "100 Gb/s"},
		{ROCE_VERIFY_RATE, "98Mb/s", 0.098, "0.098 Gb/s"},
		{ROCE_VERIFY_FREQUENCY, "200k/s", 200000, "200 k/s"},
		{ROCE_VERIFY_FREQUENCY, "9k/s", 9000, "9000 1/s"},
		{ROCE_VERIFY_FREQUENCY, "1.5M/s", 1500000, "1.5 M/s"},
		{ROCE_VERIFY_TIME, "478992us", 478992, "479 ms"},
		{ROCE_VERIFY_TIME, "10s", 10000000, "10 s"},
		{ROCE_VERIFY_PERCENT, "98%", 98, "98 %"},
		{ROCE_VERIFY_CPU, "150%", 150, "150 % of one CPU"},
		{ROCE_VERIFY_COUNT, "1000", 1000, "1000"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double value = -1;
		char shown[64];

		assert_int_equal(roce_verify_unit_parse(rows[i].unit, rows[i].text, &value), 0);
		assert_true(value == rows[i].value);
		roce_verify_unit_format(rows[i].unit, value, shown, sizeof(shown));
		assert_string_equal(shown, rows[i].shown);
	}
}

static void kind__each_gives_its_parameters(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < roce_verify_kind_count; i++) {
		const struct roce_verify_kind *kind = &roce_verify_kinds[i];
		struct roce_word_store store = {0};
		uint64_t in[128];
		json_t *json;

		assert_true(kind->parameters.size <= sizeof(in));
		assert_true(kind->number_count > 0);
		assert_true(roce_section_defaults(&kind->parameters, &store, in));
		json = roce_verify_parameters_json(kind, in);
		assert_int_equal(json_object_size(json), kind->parameters.key_count);
		json_decref(json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plan__reads_a_case),
		cmocka_unit_test(plan__refuses),
		cmocka_unit_test(plan__refuses_many_keys_soon),
		cmocka_unit_test(plan__tells_all_mistakes),
		cmocka_unit_test(select__by_patterns),
		cmocka_unit_test(select__knows_what_fits_nothing),
		cmocka_unit_test(select__takes_floors_along),
		cmocka_unit_test(profile__adds_thresholds),
		cmocka_unit_test(profile__may_be_patient),
		cmocka_unit_test(profile__refuses),
		cmocka_unit_test(built_in__plans_are_good),
		cmocka_unit_test(unit__reads_and_writes),
		cmocka_unit_test(kind__each_gives_its_parameters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
