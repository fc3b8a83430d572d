/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page of a record: what failed stands first with its reason, each case is there, rounds are
 * one row, and it is well-formed whatever the texts are. With UROCE_SAMPLE=FILE the page is kept,
 * to be looked at.
 */
#include "verify/page_internal.h"

#include "verify/kind.h"
#include "verify/limit_test.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/markup_check.h"

static const char plan_text[] =
	"name: a <plan>\n"
	"cases:\n"
	"  - {name: floor/udp, kind: udp_latency, proves: what sockets do, parameters: {size: "
	"64}}\n"
	"  - {name: function/rc, kind: verbs_check, proves: \"all of <RC> & more\",\n"
	"     parameters: {scenario: rc}}\n"
	"  - name: latency/write_8\n"
	"    kind: latency\n"
	"    proves: a WRITE in time\n"
	"    parameters: {op: write, size: 8}\n"
	"    thresholds: {soft: {at_most: 2, of: floor/udp, source: \"a <source>\"}}\n"
	"  - {name: latency/write_4k, kind: latency, proves: the same, parameters: {size: 4KiB}}\n"
	"  - {name: latency/write_64k, kind: latency, proves: the same, parameters: {size: "
	"64KiB}}\n"
	"  - {name: latency/ud, kind: latency, proves: UD, parameters: {op: ud_send}}\n";

struct fixture {
	struct roce_verify_plan *plan;
	struct roce_verify_record record;
	char *page;
	size_t size;
};

static json_t *make_facts(const char *host, const char *implementation)
{
	json_t *facts = json_pack(
		"{s:s, s:{s:s, s:s, s:i, s:I, s:[{s:s, s:i, s:[{s:i, s:s, s:s}]}]}}", "version",
		"9.9", "facts", "host", host, "kernel", "6.1 <x>", "cpus", 4, "memory_bytes",
		(json_int_t)8 << 30, "devices", "name", "mlx5_0", "active_mtu", 4096, "gids",
		"index", 3, "gid", "::ffff:10.0.0.1", "type", "RoCEv2");

	json_object_set_new(json_object_get(facts, "facts"), "uses",
			    json_pack("{s:s, s:s, s:s, s:s}", "implementation", implementation,
				      "implementation_version", "8.1", "device", "mlx5_0", "gid",
				      "::ffff:10.0.0.1"));
	return facts;
}

/* The target's packets come to harm, the initiator's do not. */
static void add_harm(struct roce_verify_outcome *o)
{
	static const char *const sides[] = {"initiator", "target"};

	for (int i = 0; i < 2; i++) {
		json_t *harm = json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "packets_received",
					 8100 + i, "packets_sent", 70, "dropped", i * 83, "<late>",
					 i * 29, "out_of_place", 90, "bad_icrc", 0);

		if (!json_object_get(o->detail, sides[i]))
			json_object_set_new(o->detail, sides[i], json_object());
		json_object_set_new(json_object_get(o->detail, sides[i]), "harm", harm);
	}
}

/* `rounds` of each case: latencies rise by one a round, what is larger than 2 floors fails. */
static void fill(struct fixture *f, uint32_t rounds)
{
	for (uint32_t i = 0; i < f->plan->case_count; i++) {
		for (uint32_t round = 1; round <= rounds; round++) {
			const struct roce_verify_case *c = &f->plan->cases[i];
			struct roce_verify_outcome *o =
				roce_verify_record_add(&f->record, c, round);

			o->has_value = strcmp(c->name, "latency/ud") != 0;
			o->value = 10.0 * (i + 1) + round;
			o->values = json_pack("{s:f, s:f}", "p50", o->value, "p99", o->value * 3);
			o->detail = json_pack("{s:{s:[{s:s, s:i}, {s:s, s:s}]}}", "initiator",
					      "steps", "step", "INIT <a>", "wait_us", 3, "step",
					      "RTR", "wait_us", "WRONG");
			o->verdict = ROCE_VERIFY_MEASURED;
			if (strcmp(c->name, "function/rc") == 0) {
				o->verdict = ROCE_VERIFY_PASS;
				add_harm(o);
			}
			if (!o->has_value) {
				o->verdict = ROCE_VERIFY_SKIPPED;
				roce_verify_outcome_reason(o, "no <UD> here");
			}
			if (strcmp(c->name, "latency/write_64k") == 0)
				roce_verify_outcome_reason(o, "not judged: <busy>");
			if (c->kind->number_count > 5 && o->has_value)
				o->histogram = json_pack("{s:s, s:[[f,f,i],[f,f,i]]}", "unit", "us",
							 "buckets", o->value - 1, o->value, 900,
							 o->value, o->value * 4, 1);
			if (strcmp(c->name, "latency/write_8") != 0)
				continue;
			o->threshold = roce_verify_case_threshold(c, "soft");
			o->has_floor = true;
			o->floor = 15.75;
			o->verdict = round > 1 ? ROCE_VERIFY_FAIL : ROCE_VERIFY_PASS;
			if (round > 1)
				roce_verify_outcome_reason(o, "p50 %g us, expected at most <less>",
							   o->value);
		}
	}
}

static void make(struct fixture *f, uint32_t rounds)
{
	struct roce_problems problems;
	FILE *out;

	roce_problems_init(&problems, "plan.yaml");
	f->plan = roce_verify_plan_load(plan_text, strlen(plan_text), "plan.yaml", &problems);
	if (!f->plan)
		fail_msg("%s", problems.text[0]);
	assert_true(roce_verify_plan_select(f->plan, NULL, NULL, "soft"));
	assert_true(roce_verify_record_init(&f->record, f->plan, rounds));
	f->record.profile = "soft";
	f->record.seed = 7;
	f->record.place = "peer";
	f->record.peer = "10.0.0.2";
	f->record.is_complete = true;
	f->record.facts[ROCE_VERIFY_INITIATOR] = make_facts("one<1>", "mlx5<5>");
	f->record.facts[ROCE_VERIFY_TARGET] = make_facts("two", "uroce");
	if (rounds)
		fill(f, rounds);
	else
		f->record.broken_off = strdup("interrupted");
	out = open_memstream(&f->page, &f->size);
	assert_non_null(out);
	assert_true(roce_verify_page(&f->record, out));
	assert_int_equal(fclose(out), 0);
}

static void drop(struct fixture *f)
{
	free(f->page);
	roce_verify_record_fini(&f->record);
	roce_verify_plan_destroy(f->plan);
}

static const char *must_have(const char *text, const char *what)
{
	const char *found = strstr(text, what);

	if (!found)
		fail_msg("the page has no \"%s\"", what);
	return found;
}

static void page__has_every_case_and_nothing_foreign(void **state)
{
	struct fixture f = {0};
	const char *sample = getenv("UROCE_SAMPLE");
	FILE *file;

	(void)state;
	make(&f, 1);
	assert_well_formed(f.page);
	assert_null(strstr(f.page, "http"));
	assert_null(strstr(f.page, "<UD>"));
	assert_null(strstr(f.page, "<less>"));
	must_have(f.page, "between one&lt;1&gt; and two");
	must_have(f.page, "a &lt;source&gt;");
	must_have(must_have(f.page, "id=\"skipped\""), "no &lt;UD&gt; here");
	must_have(must_have(f.page, "id=\"not-judged\""), "not judged: &lt;busy&gt;");
	must_have(f.page, ">1 not judged<");
	must_have(f.page, "at most 2 x floor/udp (31.5 us)");
	must_have(f.page, "INIT &lt;a&gt;"); /* the table that a case brought along */
	must_have(f.page, ">wait (us)<");
	must_have(must_have(f.page, "<tr class=\"bad\">"), "RTR"); /* a cell is WRONG */
	must_have(must_have(f.page, "Harm to packets"), "83 dropped, 29 &lt;late&gt;");
	must_have(f.page, ">8101<");
	assert_null(strstr(f.page, ">8100<")); /* of the side that did none */
	must_have(f.page, "3: ::ffff:10.0.0.1 RoCEv2");
	must_have(f.page, "8.0 GiB");
	must_have(f.page, "mlx5&lt;5&gt; with uroce");
	must_have(must_have(f.page, "id=\"environment\""), "mlx5&lt;5&gt; 8.1, mlx5_0 10.0.0.1");
	must_have(f.page, "size 64KiB");
	must_have(f.page, ">passed<");
	must_have(f.page, ">p99 (us)<");
	assert_null(strstr(f.page, ">p90 (us)<")); /* nobody measured it */
	assert_null(strstr(f.page, "id=\"failures\""));
	for (uint32_t i = 0; i < f.plan->case_count; i++)
		must_have(f.page, f.plan->cases[i].name);
	if (sample) {
		file = fopen(sample, "w");
		assert_non_null(file);
		assert_int_equal(fwrite(f.page, 1, f.size, file), f.size);
		assert_int_equal(fclose(file), 0);
	}
	drop(&f);
}

/* A peer that lies about its pictures costs a moment, and the page stays one. */
static void page__of_any_pictures_is_well_formed(void **state)
{
	struct fixture f = {0};
	struct roce_verify_outcome *o;
	char *page = NULL;
	size_t size;
	FILE *out;

	(void)state;
	make(&f, 1);
	o = &f.record.outcomes[0];
	json_decref(o->histogram);
	o->histogram = json_pack("{s:s, s:[[f,f,f],[f,f,f],[s,i]]}", "unit", "Gb/s", "buckets",
				 1e300, 1.7e308, 1e308, 5e-324, 1e-323, 1.0, "x", 1);
	json_object_set_new(o->values, "p99", json_real(1.7e308));
	o->curves = json_array();
	for (int i = 0; i < 60000; i++)
		json_array_append_new(o->curves, json_pack("{s:o}", "unit", json_sprintf("%d", i)));
	out = open_memstream(&page, &size);
	assert_non_null(out);
	limit_processor_seconds(60);
	assert_true(roce_verify_page(&f.record, out));
	limit_processor_seconds(0);
	assert_int_equal(fclose(out), 0);
	assert_well_formed(page);
	free(page);
	drop(&f);
}

/* Values over the size, and the tails of three sizes, are one picture each; a case alone has its
 * histogram. */
static void page__pictures_gather_sizes(void **state)
{
	struct fixture f = {0};

	(void)state;
	make(&f, 1);
	must_have(f.page, "Time over size");
	must_have(f.page, "write: how long the slow ones took");
	must_have(f.page, "data-name=\"write_64k\"");
	must_have(f.page, ">32 KiB<");				       /* on the axis */
	assert_int_equal(count_of(f.page, "<rect class=\"bucket"), 2); /* of floor/udp */
	drop(&f);
}

static void page__failures_come_first_with_all_that_is_known(void **state)
{
	struct fixture f = {0};
	const char *failures, *groups;

	(void)state;
	make(&f, 3);
	assert_well_formed(f.page);
	failures = must_have(f.page, "id=\"failures\"");
	groups = must_have(f.page, "-latency\"");
	assert_true(failures < groups);
	assert_int_equal(count_of(failures, "<article class=\"finding bad\">"), 1);
	must_have(failures, "p50 32 us, expected at most &lt;less&gt;");
	must_have(failures, "pass 31 us, fail 32 us, fail 33 us");
	must_have(failures, "C-states");
	must_have(failures, "uroce verify --peer 10.0.0.2 --token TOKEN --plan plan.yaml "
			    "--only latency/write_8 --seed 8<");
	must_have(groups, "fail in 2 of 3");
	must_have(groups, "31 us to 33 us");
	must_have(f.page, ">failed<");
	drop(&f);
}

/* What was asked for is in the command, and a shell reads it as it was. */
static void page__commands_do_it_again(void **state)
{
	struct roce_verify_plan plan = {.file = "my plan's.yaml"};
	struct roce_verify_record record = {
		.plan = &plan,
		.profile = "site",
		.profile_file = "site.yaml",
		.seed = 7,
		.repeat = 2,
		.place = "system",
		.is_system = true,
		.device = {"mlx5_0", "mlx5_1"},
		.has_gid_index = true,
		.gid_index = 3,
		.quirks = "rxe",
		.qp_timeout = 18,
		.mtu = 4200,
	};
	const struct roce_verify_case c = {.name = "a/b"};
	const struct roce_verify_outcome o = {.c = &c, .round = 3};
	char text[ROCE_VERIFY_TEXT_MAX];

	(void)state;
	roce_verify_page_run_command(&record, text, sizeof(text));
	assert_string_equal(text, "uroce verify --system --device mlx5_0 --target-device mlx5_1 "
				  "--gid-index 3 --quirks rxe --qp-timeout 18 --mtu 4200 --plan "
				  "'my plan'\\''s.yaml' --profile "
				  "site.yaml --seed 7 --repeat 2");
	roce_verify_page_command(&record, &o, text, 40);
	assert_string_equal(text, "uroce verify --system --device mlx5_0 -");
	record = (struct roce_verify_record){
		.plan = &plan, .profile = "soft", .seed = 7, .place = "here"};
	roce_verify_page_command(&record, &o, text, sizeof(text));
	assert_string_equal(text, "uroce verify --self-test --only a/b --seed 9");
	record.only = "a*,b/c d";
	record.skip = "x";
	record.repeat = 1;
	roce_verify_page_run_command(&record, text, sizeof(text));
	assert_string_equal(text, "uroce verify --self-test --only 'a*,b/c d' --skip x --seed 7 "
				  "--repeat 1");
}

/* Times of a busy machine are read with that in mind, so it stands above them. */
static void page__says_that_the_machine_was_busy(void **state)
{
	static const char text[] = "Other programs had 61% of the initiator's processors, more "
				   "than 10% in 1 of 2 cases that were run";

	(void)state;
	for (int is_busy = 0; is_busy < 2; is_busy++) {
		struct fixture f = {0};
		FILE *out;

		make(&f, 1);
		free(f.page);
		f.record.outcomes[0].seconds = 3;
		f.record.outcomes[0].others = is_busy ? 80 : 2;
		f.record.outcomes[1].seconds = 1;
		f.record.outcomes[1].others = 4;
		f.record.outcomes[2].others = 100; /* was not run */
		out = open_memstream(&f.page, &f.size);
		assert_non_null(out);
		assert_true(roce_verify_page(&f.record, out));
		assert_int_equal(fclose(out), 0);
		if (is_busy)
			assert_true(must_have(f.page, text) < must_have(f.page, "id=\"skipped\""));
		else
			assert_null(strstr(f.page, "Other programs had"));
		drop(&f);
	}
}

static void page__of_a_run_that_was_broken_off_says_so(void **state)
{
	struct fixture f = {0};

	(void)state;
	make(&f, 0);
	assert_well_formed(f.page);
	must_have(f.page, ">broken off<");
	must_have(f.page, "The run was not finished: interrupted.");
	must_have(f.page, "0 of 0 cases");
	drop(&f);
}

static void rollup__takes_the_middle_and_the_worst(void **state)
{
	struct fixture f = {0};
	struct roce_verify_rollup *all;
	uint32_t count;

	(void)state;
	make(&f, 4);
	all = roce_verify_rollup(&f.record, &count);
	assert_non_null(all);
	assert_int_equal(count, 6);
	assert_int_equal(all[2].rounds, 4);
	assert_int_equal(all[2].fails, 3);
	assert_int_equal(all[2].verdict, ROCE_VERIFY_FAIL);
	assert_int_equal(all[2].shown->round, 2); /* the first that failed */
	assert_true(all[2].median == 32.5 && all[2].least == 31 && all[2].most == 34);
	assert_int_equal(all[1].verdict, ROCE_VERIFY_PASS);
	assert_int_equal(all[5].verdict, ROCE_VERIFY_SKIPPED);
	assert_int_equal(all[5].value_count, 0);
	free(all);
	drop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page__has_every_case_and_nothing_foreign),
		cmocka_unit_test(page__of_any_pictures_is_well_formed),
		cmocka_unit_test(page__pictures_gather_sizes),
		cmocka_unit_test(page__failures_come_first_with_all_that_is_known),
		cmocka_unit_test(page__commands_do_it_again),
		cmocka_unit_test(page__says_that_the_machine_was_busy),
		cmocka_unit_test(page__of_a_run_that_was_broken_off_says_so),
		cmocka_unit_test(rollup__takes_the_middle_and_the_worst),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
