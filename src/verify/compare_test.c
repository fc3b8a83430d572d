/* SPDX-License-Identifier: BSD-2-Clause */
/* What counts as worse, what is noise, what is new or gone; and files that are no reports. */
#include "verify/compare.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/markup_check.h"

static json_t *make_report(void)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:{}, s:[]}", "program", "uroce verify", "started",
			 "2026-01-01T00:00:00Z", "plan", "a <plan>", "profile", "soft",
			 "environment", "cases");
}

/* One round of a case: `floor` 0 for none, value below 0 for none. */
static void add(json_t *report, const char *name, const char *verdict, double value,
		const char *unit, double floor)
{
	json_t *limit = floor > 0 ? json_pack("{s:f, s:n, s:s, s:f}", "at_most", 4.0, "at_least",
					      "of", "floor/udp", "floor", floor)
				  : json_null();

	json_array_append_new(json_object_get(report, "cases"),
			      json_pack("{s:s, s:s, s:o, s:s, s:s, s:o, s:s?}", "name", name,
					"verdict", verdict, "value",
					value >= 0 ? json_real(value) : json_null(), "unit", unit,
					"number", "p50", "limit", limit, "reason",
					strcmp(verdict, "fail") == 0	  ? "it <failed>"
					: strcmp(verdict, "skipped") == 0 ? "cannot"
									  : NULL));
}

struct pair {
	json_t *json[2];
	struct roce_verify_report reports[2];
	struct roce_verify_comparison comparison;
};

static void begin(struct pair *p)
{
	for (int i = 0; i < 2; i++)
		p->json[i] = make_report();
}

static void compare(struct pair *p, double tolerance)
{
	static const char *const names[] = {"before.json", "after.json"};
	char err[ROCE_VERIFY_ERR_MAX];

	for (int i = 0; i < 2; i++) {
		if (roce_verify_report_take(&p->reports[i], p->json[i], names[i], err))
			fail_msg("%s", err);
	}
	assert_int_equal(
		roce_verify_compare(&p->comparison, &p->reports[0], &p->reports[1], tolerance), 0);
}

static void end(struct pair *p)
{
	roce_verify_comparison_fini(&p->comparison);
	for (int i = 0; i < 2; i++) {
		roce_verify_report_fini(&p->reports[i]);
		json_decref(p->json[i]);
	}
}

static const struct roce_verify_comparison_case *find(const struct pair *p, const char *name)
{
	for (uint32_t i = 0; i < p->comparison.count; i++) {
		const struct roce_verify_comparison_case *c = &p->comparison.cases[i];

		if (strcmp(roce_verify_comparison_any(c)->name, name) == 0)
			return c;
	}
	fail_msg("no case %s", name);
	return NULL;
}

static void must_be(const struct pair *p, const char *name, enum roce_verify_change expected)
{
	enum roce_verify_change found = find(p, name)->change;

	if (found != expected)
		fail_msg("%s is %s, expected %s", name, roce_verify_change_str(found),
			 roce_verify_change_str(expected));
}

static void add_both(struct pair *p, const char *name, const char *unit, double before,
		     double after)
{
	add(p->json[0], name, "measured", before, unit, 0);
	add(p->json[1], name, "measured", after, unit, 0);
}

static void compare__of_single_runs_has_a_tolerance(void **state)
{
	struct pair p = {0};

	(void)state;
	begin(&p);
	add_both(&p, "a/slower", "us", 10, 11.2);
	add_both(&p, "a/noise", "us", 10, 10.9);
	add_both(&p, "a/faster", "us", 10, 8.8);
	add_both(&p, "a/more", "Gb/s", 10, 11.2);
	add_both(&p, "a/less", "Gb/s", 10, 8.8);
	add_both(&p, "a/share", "%", 10, 20); /* of what? nobody says which way is better */
	add_both(&p, "a/count", "", 10, 20);
	compare(&p, -1);
	must_be(&p, "a/slower", ROCE_VERIFY_WORSE);
	must_be(&p, "a/noise", ROCE_VERIFY_EQUAL);
	must_be(&p, "a/faster", ROCE_VERIFY_BETTER);
	must_be(&p, "a/more", ROCE_VERIFY_BETTER);
	must_be(&p, "a/less", ROCE_VERIFY_WORSE);
	must_be(&p, "a/share", ROCE_VERIFY_CHANGED);
	must_be(&p, "a/count", ROCE_VERIFY_EQUAL);
	assert_int_equal(p.comparison.counts[ROCE_VERIFY_WORSE], 2);
	end(&p);
	begin(&p);
	add_both(&p, "a/slower", "us", 10, 11.2);
	add_both(&p, "a/noise", "us", 10, 10.9);
	compare(&p, 5);
	must_be(&p, "a/noise", ROCE_VERIFY_WORSE);
	end(&p);
	begin(&p);
	add_both(&p, "a/slower", "us", 10, 11.2);
	compare(&p, 15);
	must_be(&p, "a/slower", ROCE_VERIFY_EQUAL);
	end(&p);
}

/* 9% is nothing where rounds stray by 6% each, and much where they stray by 1%. */
static void compare__of_rounds_knows_their_spread(void **state)
{
	static const double wide[] = {9.7, 10, 10.3}, narrow[] = {9.95, 10, 10.05};
	struct pair p = {0};

	(void)state;
	begin(&p);
	for (int round = 0; round < 3; round++) {
		add_both(&p, "a/wide", "us", wide[round], wide[round] * 1.09);
		add_both(&p, "a/narrow", "us", narrow[round], narrow[round] * 1.09);
		add_both(&p, "a/still", "us", 10, 10.15);
	}
	compare(&p, -1);
	must_be(&p, "a/wide", ROCE_VERIFY_EQUAL);
	must_be(&p, "a/narrow", ROCE_VERIFY_WORSE);
	assert_null(roce_verify_comparison_caution(&p.comparison));
	must_be(&p, "a/still", ROCE_VERIFY_EQUAL); /* below what is ever told */
	assert_int_equal(find(&p, "a/wide")->before->rounds, 3);
	assert_true(find(&p, "a/wide")->before->median == 10);
	end(&p);
}

/* Of many rounds a single bad one is no spread. */
static void compare__one_round_gone_wrong_hides_nothing(void **state)
{
	struct pair p = {0};

	(void)state;
	begin(&p);
	for (int round = 0; round < 8; round++)
		add_both(&p, "a/x", "us", round == 3 ? 500 : 10 + 0.01 * round,
			 round == 5 ? 500 : 11.5 + 0.01 * round);
	compare(&p, -1);
	must_be(&p, "a/x", ROCE_VERIFY_WORSE);
	end(&p);
}

/* A machine that is twice as slow as a whole is told by its floor, once. */
static void compare__what_is_held_to_a_floor_is_compared_with_it(void **state)
{
	struct pair p = {0};
	char remark[128];

	(void)state;
	begin(&p);
	add_both(&p, "floor/udp", "us", 4, 8);
	add(p.json[0], "a/along", "pass", 12, "us", 4);
	add(p.json[1], "a/along", "pass", 24.5, "us", 8);
	add(p.json[0], "a/beyond", "pass", 12, "us", 4);
	add(p.json[1], "a/beyond", "pass", 30, "us", 8);
	add(p.json[0], "a/mixed", "pass", 12, "us", 4);
	add(p.json[1], "a/mixed", "pass", 12, "us", 0);
	compare(&p, -1);
	must_be(&p, "floor/udp", ROCE_VERIFY_WORSE);
	must_be(&p, "a/along", ROCE_VERIFY_EQUAL);
	must_be(&p, "a/beyond", ROCE_VERIFY_WORSE);
	roce_verify_comparison_remark(find(&p, "a/beyond"), remark, sizeof(remark));
	assert_string_equal(remark, "+25% relative to floor/udp, 10% allowed");
	must_be(&p, "a/mixed", ROCE_VERIFY_EQUAL); /* not comparable, so not judged */
	assert_false(find(&p, "a/mixed")->has_numbers);
	end(&p);
}

static void add_verdicts(struct pair *p, const char *name, const char *before, const char *after)
{
	if (before)
		add(p->json[0], name, before, 12, "", 0);
	if (after)
		add(p->json[1], name, after, 12, "", 0);
}

static void compare__verdicts_weigh_more_than_numbers(void **state)
{
	static const struct {
		const char *name, *before, *after;
		enum roce_verify_change change;
	} cases[] = {
		{"v/pf", "pass", "fail", ROCE_VERIFY_WORSE},
		{"v/mf", "measured", "fail", ROCE_VERIFY_WORSE},
		{"v/sf", "skipped", "fail", ROCE_VERIFY_WORSE},
		{"v/nf", NULL, "fail", ROCE_VERIFY_WORSE},
		{"v/fp", "fail", "pass", ROCE_VERIFY_BETTER},
		{"v/ff", "fail", "fail", ROCE_VERIFY_EQUAL},
		{"v/pp", "pass", "pass", ROCE_VERIFY_EQUAL},
		{"v/ps", "pass", "skipped", ROCE_VERIFY_GONE},
		{"v/fs", "fail", "skipped", ROCE_VERIFY_GONE},
		{"v/sp", "skipped", "pass", ROCE_VERIFY_NEW},
		{"v/ss", "skipped", "skipped", ROCE_VERIFY_EQUAL},
		{"v/np", NULL, "pass", ROCE_VERIFY_NEW},
		{"v/pn", "pass", NULL, ROCE_VERIFY_GONE},
	};
	struct pair p = {0};

	(void)state;
	begin(&p);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		add_verdicts(&p, cases[i].name, cases[i].before, cases[i].after);
	/* one round of three that fails is a failure */
	for (int round = 0; round < 3; round++)
		add_verdicts(&p, "v/some", "pass", round == 1 ? "fail" : "pass");
	compare(&p, -1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		must_be(&p, cases[i].name, cases[i].change);
	must_be(&p, "v/some", ROCE_VERIFY_WORSE);
	assert_int_equal(find(&p, "v/some")->after->fails, 1);
	assert_int_equal(p.comparison.still_failing, 1);
	end(&p);
}

static char *write_text(const struct pair *p, bool is_page)
{
	char *bytes = NULL;
	size_t size;
	FILE *out = open_memstream(&bytes, &size);

	assert_non_null(out);
	if (is_page)
		roce_verify_comparison_page(&p->comparison, out);
	else
		roce_verify_comparison_text(&p->comparison, out);
	assert_int_equal(fclose(out), 0);
	return bytes;
}

static void make_mixture(struct pair *p)
{
	begin(p);
	add_both(p, "latency/x", "us", 10, 15);
	add_both(p, "bandwidth/x", "Gb/s", 10, 15);
	add_verdicts(p, "function/x", "pass", "fail");
	add_verdicts(p, "function/y", "fail", "fail");
	add_verdicts(p, "function/new", NULL, "pass");
	add_verdicts(p, "function/gone", "pass", NULL);
	json_object_set_new(p->json[1], "profile", json_string("100<g>"));
	json_object_set_new(p->json[0], "environment",
			    json_pack("{s:{s:{s:s}}}", "initiator", "facts", "kernel", "6.1"));
	json_object_set_new(p->json[1], "environment",
			    json_pack("{s:{s:{s:s}}}", "initiator", "facts", "kernel", "6.<18>"));
	compare(p, -1);
}

static void must_have(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("no \"%s\" in:\n%s", what, text);
}

static void compare__is_told_in_text(void **state)
{
	struct pair p = {0};
	char *text;

	(void)state;
	make_mixture(&p);
	text = write_text(&p, false);
	must_have(text, "initiator's kernel: 6.1 -> 6.<18>");
	must_have(text, "profile: soft -> 100<g>");
	must_have(text, "10.0 us -> 15.0 us   +50%, 10% allowed");
	must_have(text, "pass -> fail   it <failed>");
	must_have(text, "not there -> pass");
	must_have(text, "pass -> not there");
	must_have(text, "2 worse, 1 better, 1 no longer verified, 1 new, 1 equal; "
			"1 failing before and after");
	assert_true(strstr(text, "Worse") < strstr(text, "Better"));
	must_have(text, "--repeat 3"); /* for one round is nothing to go by */
	free(text);
	end(&p);
}

static void compare__is_told_as_a_page(void **state)
{
	struct pair p = {0};
	char *text;

	(void)state;
	make_mixture(&p);
	text = write_text(&p, true);
	assert_well_formed(text);
	assert_null(strstr(text, "http"));
	assert_null(strstr(text, "<failed>"));
	must_have(text, "it &lt;failed&gt;");
	must_have(text, "6.&lt;18&gt;");
	must_have(text, "C-states"); /* advice for the latency */
	assert_int_equal(count_of(text, "<article class=\"finding bad\">"), 2);
	free(text);
	end(&p);
	/* two empty reports have a page too */
	begin(&p);
	compare(&p, -1);
	text = write_text(&p, true);
	assert_well_formed(text);
	free(text);
	end(&p);
}

static void compare__is_told_as_json(void **state)
{
	struct pair p = {0};
	json_t *json, *entry;

	(void)state;
	make_mixture(&p);
	json = roce_verify_comparison_json(&p.comparison);
	assert_non_null(json);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(json, "totals"), "worse")), 2);
	assert_int_equal(json_array_size(json_object_get(json, "differences")), 2);
	entry = json_array_get(json_object_get(json, "cases"), 0);
	assert_string_equal(json_string_value(json_object_get(entry, "name")), "latency/x");
	assert_string_equal(json_string_value(json_object_get(entry, "change")), "worse");
	assert_true(json_number_value(json_object_get(entry, "change_percent")) > 49);
	json_decref(json);
	end(&p);
}

/* ---- what one reads first ---- */

static json_t *last_entry(const json_t *report)
{
	const json_t *cases = json_object_get(report, "cases");

	return json_array_get(cases, json_array_size(cases) - 1);
}

static void set_others(const json_t *report, double others, double seconds)
{
	json_object_set_new(last_entry(report), "others", json_real(others));
	json_object_set_new(last_entry(report), "seconds", json_real(seconds));
}

static void add_processors(json_t *report, double initiator, double target)
{
	add(report, "floor/processors", "measured", initiator, "us", 0);
	json_object_set_new(last_entry(report), "kind", json_string("processors"));
	json_object_set_new(last_entry(report), "values",
			    json_pack("{s:{s:f}}", "target", "value", target));
}

static void must_not_have(const char *text, const char *what)
{
	if (strstr(text, what))
		fail_msg("\"%s\" in:\n%s", what, text);
}

static void compare__says_that_a_run_was_disturbed(void **state)
{
	struct pair p = {0};
	json_t *json;
	char *text;

	(void)state;
	begin(&p);
	for (int i = 0; i < 2; i++) {
		add(p.json[i], "latency/x", "measured", i ? 15 : 10, "us", 0);
		set_others(p.json[i], i ? 40 : 2, 3);
		add(p.json[i], "latency/y", "measured", 10, "us", 0);
		set_others(p.json[i], 4, 1);
		add(p.json[i], "latency/not_run", "skipped", -1, "us", 0);
		set_others(p.json[i], 90, 0);
	}
	compare(&p, -1);
	text = write_text(&p, false);
	must_have(text, "caution after: other programs had 31% of the initiator's processors, more "
			"than 10% in 1 of 2 cases that were run");
	must_not_have(text, "caution before");
	must_have(text, "10% allowed; other programs 2% -> 40%");
	assert_true(strstr(text, "caution") < strstr(text, "Worse"));
	free(text);
	text = write_text(&p, true);
	must_have(text, "After: other programs had 31%");
	assert_true(strstr(text, "After: other") < strstr(text, "Worse"));
	free(text);
	json = roce_verify_comparison_json(&p.comparison);
	assert_int_equal(json_array_size(json_object_get(json, "cautions")), 1);
	assert_true(json_number_value(json_object_get(
			    json_object_get(json_object_get(json, "after"), "others"), "percent")) >
		    30.9);
	json_decref(json);
	end(&p);
}

/* Of a long calm run one case, whose change it may have made. */
static void compare__says_that_a_case_was_disturbed(void **state)
{
	struct pair p = {0};
	char *text;

	(void)state;
	begin(&p);
	for (int i = 0; i < 2; i++) {
		add(p.json[i], "latency/x", "measured", i ? 10 : 15, "us", 0);
		set_others(p.json[i], i ? 0 : 30, 1);
		add(p.json[i], "latency/y", "measured", 10, "us", 0);
		set_others(p.json[i], 0, 100);
	}
	compare(&p, -1);
	text = write_text(&p, false);
	must_have(text, "caution before: other programs had 0% of the initiator's processors, more "
			"than 10% in 1 of 2 cases");
	must_not_have(text, "caution after");
	free(text);
	end(&p);
}

static void compare__says_that_processors_were_moved(void **state)
{
	static const struct {
		double before, after, target_before, target_after;
		const char *initiator, *target; /* NULL: not told */
	} rows[] = {
		{0.06, 0.35, 0.06, 0.06,
		 "initiator's processors are farther from each other (a cache line there and back: "
		 "0.06 us before, 0.35 us after)",
		 NULL},
		{0.06, 0.07, 0.35, 0.06, NULL, "target's processors are nearer to each other"},
		{0.06, 0.11, 0.11, 0.06, NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pair p = {0};
		char *text;

		begin(&p);
		add_processors(p.json[0], rows[i].before, rows[i].target_before);
		add_processors(p.json[1], rows[i].after, rows[i].target_after);
		compare(&p, -1);
		text = write_text(&p, false);
		if (rows[i].initiator)
			must_have(text, rows[i].initiator);
		else
			must_not_have(text, "the initiator's processors");
		if (rows[i].target)
			must_have(text, rows[i].target);
		else
			must_not_have(text, "the target's processors");
		free(text);
		end(&p);
	}
}

static void compare__says_that_a_run_is_not_whole(void **state)
{
	struct pair p = {0};
	char *text;

	(void)state;
	begin(&p);
	json_object_set_new(p.json[1], "complete", json_false());
	json_object_set_new(p.json[1], "broken_off", json_string("interrupted"));
	compare(&p, -1);
	text = write_text(&p, false);
	must_have(text, "caution after: the run is not complete: interrupted");
	must_not_have(text, "caution before");
	free(text);
	end(&p);
}

static void compare__tells_what_is_missing_by_groups(void **state)
{
	struct pair p = {0};
	char name[32];
	char *text;
	json_t *json;

	(void)state;
	begin(&p);
	add_verdicts(&p, "alone/x", "pass", NULL);
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "all/%d", i);
		add_verdicts(&p, name, i ? "pass" : "measured", NULL);
	}
	for (int i = 0; i < 9; i++) {
		snprintf(name, sizeof(name), "some/%d", i);
		add_verdicts(&p, name, i < 3 ? "pass" : NULL, i < 6 ? "pass" : "measured");
	}
	add_verdicts(&p, "cut/a", "pass", "skipped");
	add_verdicts(&p, "cut/b", "measured", "skipped");
	add_verdicts(&p, "cut/c", "pass", NULL);
	compare(&p, -1);
	text = write_text(&p, false);
	must_have(text, "  alone/x                          pass -> not there\n");
	must_have(text, "  all/*, all 3                     2 pass, 1 measured -> not there\n");
	must_have(text, "  some/*, 6 of 9                   not there -> 3 pass, 3 measured   "
			"3, 4, 5, 6 and 2 more\n");
	must_have(text, "  cut/*, 2 of 3                    1 pass, 1 measured -> 2 skipped   "
			"cannot   a, b\n");
	must_have(text, "  cut/c                            pass -> not there\n");
	must_have(text, "7 no longer verified, 6 new");
	free(text);
	text = write_text(&p, true);
	assert_well_formed(text);
	must_have(text, "all/*, all 3");
	must_have(text, "3, 4, 5, 6, 7, 8");
	must_have(text, "cannot: a, b");
	free(text);
	json = roce_verify_comparison_json(&p.comparison);
	assert_int_equal(json_array_size(json_object_get(json, "cases")), 16);
	json_decref(json);
	end(&p);
}

/* ---- what is no report ---- */

static void must_refuse(json_t *json, const char *words)
{
	struct roce_verify_report report;
	char err[ROCE_VERIFY_ERR_MAX];

	assert_int_not_equal(roce_verify_report_take(&report, json, "x.json", err), 0);
	if (strncmp(err, "x.json: ", 8) != 0 || !strstr(err, words))
		fail_msg("\"%s\" does not say \"%s\"", err, words);
	json_decref(json);
}

static json_t *with_case(const char *member, json_t *value)
{
	json_t *report = make_report();

	add(report, "a/b", "pass", 1, "us", 0);
	json_object_set_new(json_array_get(json_object_get(report, "cases"), 0), member, value);
	return report;
}

static json_t *with_member(const char *member, json_t *value)
{
	json_t *report = make_report();

	json_object_set_new(report, member, value);
	return report;
}

static void report__that_is_none_is_refused(void **state)
{
	(void)state;
	must_refuse(json_array(), "no report of uroce verify");
	must_refuse(with_member("program", json_string("fio")), "\"program\" says fio");
	must_refuse(with_member("cases", json_integer(3)), "\"cases\" is no list");
	must_refuse(with_case("name", json_null()), "cases[0] has no name");
	must_refuse(with_case("verdict", json_string("great")), "a/b: verdict");
	must_refuse(with_case("value", json_string("12")), "a/b: value is no number");
	must_refuse(with_case("unit", json_null()), "a/b: unit is missing");
}

static void report__file_errors_name_file_and_line(void **state)
{
	struct roce_verify_report report;
	char name[] = "/tmp/uroce-report-XXXXXX", err[ROCE_VERIFY_ERR_MAX];
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "{\n\"cases\": [\n", 13), 13);
	close(fd);
	assert_int_not_equal(roce_verify_report_load(&report, name, err), 0);
	must_have(err, name);
	must_have(err, ":3: no JSON");
	assert_int_equal(unlink(name), 0);
	assert_int_not_equal(roce_verify_report_load(&report, name, err), 0);
	must_have(err, "No such file");
}

/* Whatever a damaged file has for numbers: each case and each difference is told in each form. */
static void compare__of_any_numbers_is_told(void **state)
{
	static const double values[] = {0, 5e-324, 1e-300, 1, 1e300, 1.7976931348623157e308};
	enum { COUNT = sizeof(values) / sizeof(values[0]) };
	struct pair p;
	json_t *json;
	char *text, name[32];

	(void)state;
	begin(&p);
	for (int i = 0; i < COUNT * COUNT; i++) {
		snprintf(name, sizeof(name), "a/%d", i);
		for (int round = 0; round < 2; round++) {
			add(p.json[0], name, "pass", values[i / COUNT], "us", values[i % COUNT]);
			add(p.json[1], name, "pass", values[i % COUNT], "us", values[round]);
		}
	}
	json_object_set_new(p.json[0], "plan", json_sprintf("%254s\u00e9", "x"));
	compare(&p, -1);
	json = roce_verify_comparison_json(&p.comparison);
	assert_int_equal(json_array_size(json_object_get(json, "cases")), COUNT * COUNT);
	assert_int_equal(json_array_size(json_object_get(json, "differences")), 1);
	json_decref(json);
	for (int is_page = 0; is_page < 2; is_page++) {
		text = write_text(&p, is_page);
		assert_null(strstr(text, "nan"));
		assert_null(strstr(text, "inf%"));
		free(text);
	}
	end(&p);
}

static void report__of_a_stranger_does_not_steer_the_terminal(void **state)
{
	static const char text[] =
		"{\"program\": \"uroce verify\", \"started\": \"\\u001b]0;x\\u0007\", \"cases\": "
		"[{\"name\": \"a/\\u001b[2J\", \"verdict\": \"fail\", \"unit\": \"us\", "
		"\"reason\": "
		"\"\\u00e4\\n\\u007f\"}]}";
	struct roce_verify_report report;
	char name[] = "/tmp/uroce-report-XXXXXX", err[ROCE_VERIFY_ERR_MAX];
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
	close(fd);
	assert_int_equal(roce_verify_report_load(&report, name, err), 0);
	assert_string_equal(report.cases[0].name, "a/?[2J");
	assert_string_equal(report.cases[0].reason, "\u00e4??");
	assert_string_equal(roce_verify_report_text(&report, "started"), "?]0;x?");
	roce_verify_report_fini(&report);
	assert_int_equal(unlink(name), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compare__of_single_runs_has_a_tolerance),
		cmocka_unit_test(compare__of_rounds_knows_their_spread),
		cmocka_unit_test(compare__one_round_gone_wrong_hides_nothing),
		cmocka_unit_test(compare__what_is_held_to_a_floor_is_compared_with_it),
		cmocka_unit_test(compare__verdicts_weigh_more_than_numbers),
		cmocka_unit_test(compare__is_told_in_text),
		cmocka_unit_test(compare__is_told_as_a_page),
		cmocka_unit_test(compare__is_told_as_json),
		cmocka_unit_test(compare__of_any_numbers_is_told),
		cmocka_unit_test(compare__says_that_a_run_was_disturbed),
		cmocka_unit_test(compare__says_that_a_case_was_disturbed),
		cmocka_unit_test(compare__says_that_processors_were_moved),
		cmocka_unit_test(compare__says_that_a_run_is_not_whole),
		cmocka_unit_test(compare__tells_what_is_missing_by_groups),
		cmocka_unit_test(report__that_is_none_is_refused),
		cmocka_unit_test(report__file_errors_name_file_and_line),
		cmocka_unit_test(report__of_a_stranger_does_not_steer_the_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
