/* SPDX-License-Identifier: BSD-2-Clause */
/* From two results to a verdict, and what reports make of it. */
#include "verify/judge.h"

#include "verify/others.h"
#include "verify/kind.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char text[] =
	"name: <x> & \"y\"\ncases:\n"
	"- {name: floor/f, kind: udp_latency, proves: p}\n"
	"- {name: a/most, kind: latency, proves: p, thresholds: {soft: {at_most: 10us, source: "
	"s}}}\n"
	"- {name: a/both, kind: latency, proves: p, thresholds: {soft: {at_least: 2us, at_most: "
	"10us, "
	"source: s}}}\n"
	"- {name: a/ratio, kind: latency, proves: p, thresholds: {soft: {at_most: 3, of: floor/f, "
	"source: s}}}\n"
	"- {name: a/where, kind: latency, proves: p, thresholds: {soft: {at_most: 10us, where: "
	"floor/f, reaches: 4us, source: s}}}\n"
	"- {name: a/share, kind: integrity, proves: p, value: lost, thresholds: {soft: {at_most: "
	"0.5%, source: s}}}\n"
	"- {name: a/check, kind: verbs_check, proves: p}\n"
	"- {name: a/rate, kind: stream, proves: p, thresholds: {soft: {at_least: 5Gb/s, source: "
	"s}}}\n";

struct fixture {
	struct roce_verify_plan *plan;
	struct roce_verify_record record;
	double others;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct roce_problems problems;

	roce_problems_init(&problems, "p.yaml");
	f->plan = roce_verify_plan_load(text, strlen(text), "p.yaml", &problems);
	assert_non_null(f->plan);
	roce_verify_plan_select(f->plan, NULL, NULL, "soft");
	assert_true(roce_verify_record_init(&f->record, f->plan, 10));
	f->record.profile = "soft";
	f->record.place = "here";
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	roce_verify_record_fini(&f->record);
	roce_verify_plan_destroy(f->plan);
	free(f);
	return 0;
}

/* `initiator` and `target` are JSON, NULL: no result came. */
static const struct roce_verify_outcome *judge(struct fixture *f, const char *name,
					       const char *initiator, const char *target)
{
	struct roce_verify_outcome *o =
		roce_verify_record_add(&f->record, roce_verify_plan_find(f->plan, name), 1);
	json_t *results[] = {
		initiator ? json_loads(initiator, 0, NULL) : NULL,
		target ? json_loads(target, 0, NULL) : NULL,
	};

	o->others = f->others;
	assert_true((!initiator || results[0]) && (!target || results[1]));
	roce_verify_judge(o, results, &f->record);
	json_decref(results[0]);
	json_decref(results[1]);
	return o;
}

#define OK	"{\"verdict\":\"ok\"}"
#define P50(x)	"{\"verdict\":\"ok\",\"values\":{\"p50\":" #x "}}"
#define FAIL(r) "{\"verdict\":\"fail\",\"reason\":\"" r "\"}"
#define SKIP(r) "{\"verdict\":\"skip\",\"reason\":\"" r "\"}"

static void expect(struct fixture *f, const char *name, const char *initiator, const char *target,
		   enum roce_verify_verdict verdict, const char *reason)
{
	const struct roce_verify_outcome *o = judge(f, name, initiator, target);

	assert_string_equal(roce_verify_verdict_str(o->verdict), roce_verify_verdict_str(verdict));
	if (reason)
		assert_string_equal(o->reason, reason);
	else
		assert_null(o->reason);
}

static void judge__holds_values_to_thresholds(void **state)
{
	struct fixture *f = *state;

	expect(f, "a/most", P50(10), OK, ROCE_VERIFY_PASS, NULL);
	expect(f, "a/most", P50(10.5), OK, ROCE_VERIFY_FAIL, "p50 10.5 us, expected at most 10 us");
	expect(f, "a/both", P50(1), OK, ROCE_VERIFY_FAIL,
	       "p50 1 us, expected at least 2 us and at most 10 us");
	expect(f, "a/both", P50(2), OK, ROCE_VERIFY_PASS, NULL);
	expect(f, "a/rate", "{\"verdict\":\"ok\",\"values\":{\"rate\":4.9}}", OK, ROCE_VERIFY_FAIL,
	       "rate 4.9 Gb/s, expected at least 5 Gb/s");
	expect(f, "a/rate", "{\"verdict\":\"ok\",\"values\":{\"rate\":4.9990001}}", OK,
	       ROCE_VERIFY_FAIL, "rate 4.999 Gb/s, expected at least 5 Gb/s");
}

static void judge__blames_nobody_for_what_others_took(void **state)
{
	struct fixture *f = *state;

	f->others = 63;
	expect(f, "a/most", P50(10.5), OK, ROCE_VERIFY_MEASURED,
	       "not judged: other programs had 63 % of the processors; p50 10.5 us, expected at "
	       "most 10 us");
	expect(f, "a/most", P50(10), OK, ROCE_VERIFY_PASS, NULL);
	expect(f, "a/most", P50(1), FAIL("byte 3"), ROCE_VERIFY_FAIL, "target: byte 3");
	expect(f, "a/share", "{\"verdict\":\"ok\",\"values\":{\"lost\":1}}", OK, ROCE_VERIFY_FAIL,
	       "lost 1 %, expected at most 0.5 %");
	expect(f, "a/most", P50(1001), OK, ROCE_VERIFY_FAIL, "p50 1001 us, expected at most 10 us");
	expect(f, "a/rate", "{\"verdict\":\"ok\",\"values\":{\"rate\":0.04}}", OK, ROCE_VERIFY_FAIL,
	       "rate 0.04 Gb/s, expected at least 5 Gb/s");
	f->others = ROCE_VERIFY_OTHERS_MAX;
	expect(f, "a/most", P50(10.5), OK, ROCE_VERIFY_FAIL, "p50 10.5 us, expected at most 10 us");
}

static void judge__measured_without_threshold(void **state)
{
	struct fixture *f = *state;

	expect(f, "floor/f", P50(3), OK, ROCE_VERIFY_MEASURED, NULL);
	f->record.profile = "100g";
	expect(f, "a/most", P50(30), OK, ROCE_VERIFY_MEASURED, NULL);
	expect(f, "a/most", OK, OK, ROCE_VERIFY_FAIL, "no value p50 was measured");
	expect(f, "a/check", OK, OK, ROCE_VERIFY_FAIL, "no value operations was measured");
	expect(f, "a/check", "{\"verdict\":\"ok\",\"values\":{\"operations\":3}}", OK,
	       ROCE_VERIFY_PASS, NULL);
}

static void judge__ratios_need_their_floor(void **state)
{
	struct fixture *f = *state;

	expect(f, "a/ratio", P50(9), OK, ROCE_VERIFY_MEASURED, "not judged: floor/f has no value");
	(void)judge(f, "floor/f", P50(0), OK);
	expect(f, "a/ratio", P50(9), OK, ROCE_VERIFY_MEASURED, "not judged: floor/f is 0");
	(void)judge(f, "floor/f", P50(4), FAIL("lost"));
	expect(f, "a/ratio", P50(9), OK, ROCE_VERIFY_MEASURED, "not judged: floor/f has failed");
	(void)judge(f, "floor/f", P50(4), OK);
	expect(f, "a/ratio", P50(12), OK, ROCE_VERIFY_PASS, NULL);
	expect(f, "a/ratio", P50(12.5), OK, ROCE_VERIFY_FAIL,
	       "p50 12.5 us, expected at most 3 x floor/f (12 us)");
}

static void judge__holds_only_machines_that_it_is_for(void **state)
{
	struct fixture *f = *state;

	expect(f, "a/where", P50(9), OK, ROCE_VERIFY_MEASURED, "not judged: floor/f has no value");
	(void)judge(f, "floor/f", P50(3.5), OK);
	expect(f, "a/where", P50(12), OK, ROCE_VERIFY_MEASURED,
	       "not judged: floor/f is 3.5 us here, expected 4 us for it");
	(void)judge(f, "floor/f", P50(4), OK);
	expect(f, "a/where", P50(9), OK, ROCE_VERIFY_PASS, NULL);
	expect(f, "a/where", P50(12), OK, ROCE_VERIFY_FAIL,
	       "p50 12 us, expected at most 10 us where floor/f is 4 us or more");
}

static void judge__failure_of_either_side_counts(void **state)
{
	struct fixture *f = *state;

	expect(f, "a/most", P50(1), FAIL("byte 3"), ROCE_VERIFY_FAIL, "target: byte 3");
	expect(f, "a/most", FAIL("status 12"), SKIP("x"), ROCE_VERIFY_FAIL, "initiator: status 12");
	expect(f, "a/most", FAIL("a"), FAIL("b"), ROCE_VERIFY_FAIL, "initiator: a; target: b");
	expect(f, "a/most", FAIL("a"), FAIL("a"), ROCE_VERIFY_FAIL, "both sides: a");
	/* a peer's words do not steer the terminal */
	expect(f, "a/most", OK, FAIL("\\u001b[2Jx\\ny \u00e9"), ROCE_VERIFY_FAIL,
	       "target: ?[2Jx?y \u00e9");
	expect(f, "a/most", OK, FAIL("\\u009b2J\\ufffe"), ROCE_VERIFY_FAIL, "target: ??2J???");
	expect(f, "a/most", SKIP("no atomics"), OK, ROCE_VERIFY_SKIPPED, "initiator: no atomics");
	expect(f, "a/most", SKIP("none"), NULL, ROCE_VERIFY_SKIPPED, "initiator: none");
	expect(f, "a/most", P50(1), NULL, ROCE_VERIFY_FAIL, "the target gave no result");
	expect(f, "a/most", NULL, NULL, ROCE_VERIFY_FAIL, "the initiator gave no result");
	/* nothing passes by another word */
	expect(f, "a/most", P50(1), "{\"verdict\":\"fine\"}", ROCE_VERIFY_FAIL,
	       "the target gave no verdict");
	expect(f, "a/most", P50(1), "{\"verdict\":1}", ROCE_VERIFY_FAIL,
	       "the target gave no verdict");
	expect(f, "a/most", "{\"values\":{\"p50\":1}}", OK, ROCE_VERIFY_FAIL,
	       "the initiator gave no verdict");
}

static void judge__numbers_must_be_the_kinds(void **state)
{
	struct fixture *f = *state;

	expect(f, "a/most", "{\"verdict\":\"ok\",\"values\":{\"p51\":1}}", OK, ROCE_VERIFY_FAIL,
	       "the initiator sent a number p51, which is none of kind latency");
	expect(f, "a/most", "{\"verdict\":\"ok\",\"values\":{\"p50\":\"1\"}}", OK, ROCE_VERIFY_FAIL,
	       "the initiator sent no number as p50, which is one of kind latency");
	expect(f, "a/most", OK, OK, ROCE_VERIFY_FAIL, "no value p50 was measured");
	/* which would be below each threshold that there is */
	expect(f, "a/most", P50(-1), OK, ROCE_VERIFY_FAIL,
	       "the initiator sent no number as p50, which is one of kind latency");
	/* either side may measure; the initiator goes first */
	expect(f, "a/most", OK, P50(11), ROCE_VERIFY_FAIL, "p50 11 us, expected at most 10 us");
	expect(f, "a/most", P50(9), P50(11), ROCE_VERIFY_PASS, NULL);
}

static void record__as_json(void **state)
{
	struct fixture *f = *state;
	json_t *json;
	json_t *c;

	(void)judge(f, "floor/f", P50(4), OK);
	(void)judge(f, "a/ratio",
		    "{\"verdict\":\"ok\",\"values\":{\"p50\":13,\"p99\":20},\"detail\":{\"n\":1},"
		    "\"histogram\":{\"unit\":\"us\",\"buckets\":[[1,2,3]]}}",
		    "{\"verdict\":\"ok\",\"detail\":{\"m\":2}}");
	json = roce_verify_record_json(&f->record);
	assert_non_null(json);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(json, "totals"), "fail")), 1);
	c = json_array_get(json_object_get(json, "cases"), 1);
	assert_string_equal(json_string_value(json_object_get(c, "name")), "a/ratio");
	assert_string_equal(json_string_value(json_object_get(c, "verdict")), "fail");
	assert_true(json_number_value(json_object_get(c, "value")) == 13);
	assert_string_equal(json_string_value(json_object_get(c, "unit")), "us");
	assert_string_equal(json_string_value(json_object_get(c, "threshold")),
			    "at most 3 x floor/f (12 us)");
	assert_string_equal(json_string_value(json_object_get(c, "reason")),
			    "p50 13 us, expected at most 3 x floor/f (12 us)");
	assert_true(json_number_value(json_object_get(json_object_get(c, "limit"), "floor")) == 4);
	assert_int_equal(json_integer_value(json_object_get(
				 json_object_get(json_object_get(c, "detail"), "target"), "m")),
			 2);
	assert_non_null(json_object_get(json_object_get(c, "values"), "p99"));
	assert_non_null(json_object_get(json_object_get(c, "histogram"), "buckets"));
	json_decref(json);
}

/* A path need not be UTF-8, which JSON is. */
static void record__as_json_of_any_path(void **state)
{
	struct fixture *f = *state;
	json_t *json;

	f->plan->file = "\xff.yaml";
	f->record.profile_file = "a\x1b";
	json = roce_verify_record_json(&f->record);
	assert_non_null(json);
	assert_string_equal(json_string_value(json_object_get(json, "plan_file")), "?.yaml");
	assert_string_equal(json_string_value(json_object_get(json, "profile_file")), "a?");
	assert_true(json_is_null(json_object_get(json, "peer")));
	json_decref(json);
}

static void record__as_junit(void **state)
{
	struct fixture *f = *state;
	char *out = NULL;
	size_t size;
	FILE *stream = open_memstream(&out, &size);

	(void)judge(f, "a/most", FAIL("a < b & c"), OK);
	(void)judge(f, "a/check", SKIP("why"), OK);
	roce_verify_record_junit(&f->record, stream);
	fclose(stream);
	assert_non_null(strstr(out, "<testsuite name=\"&lt;x&gt; &amp; &quot;y&quot;\" tests=\"2\" "
				    "failures=\"1\" errors=\"0\" skipped=\"1\""));
	assert_non_null(strstr(out, "<testcase classname=\"a\" name=\"most#1\""));
	assert_non_null(strstr(out, "<failure message=\"initiator: a &lt; b &amp; c\"/>"));
	assert_non_null(strstr(out, "<skipped message=\"initiator: why\"/>"));
	free(out);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(judge__holds_values_to_thresholds),
		TEST(judge__blames_nobody_for_what_others_took),
		TEST(judge__measured_without_threshold),
		TEST(judge__ratios_need_their_floor),
		TEST(judge__holds_only_machines_that_it_is_for),
		TEST(judge__failure_of_either_side_counts),
		TEST(judge__numbers_must_be_the_kinds),
		TEST(record__as_json),
		TEST(record__as_json_of_any_path),
		TEST(record__as_junit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
