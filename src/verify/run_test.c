/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs with agents of this test's own, which end cases, hang in them, stop them or do not: what it
 * costs, and what is said of it. And what a report shows that is written meanwhile. Time is this
 * test's, too: it goes by when an agent lets it, and on a machine that stands still nothing is
 * late.
 */
#include "verify/run.h"

#include "base/clock.h"
#include "verify/lines.h"
#include "verify/protocol.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* What an agent lets go by is far below the silence of the other one that ends a run. */
#define TIMEOUT_S   2
#define GRACE_S	    2
#define TURN_S	    1 /* after that the run has a word for its agents */
#define TICK_NS	    (20 * ROCE_NS_PER_MS)
#define CASES	    6
#define PLAN_HEAD   "name: p\ncases:\n"
#define PLAN_CASE   "- {name: a/%d, kind: udp_latency, proves: p, timeout: 2s}\n"
#define GOOD_RESULT "ok"
#define BAD_RESULT  "fail"

struct agent {
	pthread_t thread;
	int fd;
	/* of the cases from 1, one letter each: e ends it, f fails, h hangs; behind it s: stops it
	 * when it is told to, l: so late that the grace is over, after a word that it is alive */
	const char *behaviour;
	uint32_t runs;
	uint32_t stops;
	bool is_deaf; /* to the order to stop */
	bool is_late; /* with what it was ordered */
};

/* ---- time ---- */

static _Atomic roce_ns_t gone_by; /* more than on the real clock */

int __real_clock_gettime(clockid_t id, struct timespec *t); /* of the linker */
int __wrap_clock_gettime(clockid_t id, struct timespec *t);

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	roce_ns_t more = atomic_load(&gone_by);
	int rc = __real_clock_gettime(id, t);

	more += (roce_ns_t)t->tv_nsec;
	t->tv_sec += (time_t)(more / ROCE_NS_PER_S);
	t->tv_nsec = (long)(more % ROCE_NS_PER_S);
	return rc;
}

static void let_go_by(unsigned int seconds)
{
	atomic_fetch_add(&gone_by, seconds * ROCE_NS_PER_S + 1);
}

struct fixture {
	struct roce_verify_plan *plan;
	struct roce_verify_record record;
	struct agent agents[ROCE_VERIFY_SIDES];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct roce_problems problems;
	char text[1024] = PLAN_HEAD;
	size_t used = strlen(text);

	for (int i = 1; i <= CASES; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, PLAN_CASE, i);
	roce_problems_init(&problems, "p.yaml");
	f->plan = roce_verify_plan_load(text, used, "p.yaml", &problems);
	assert_non_null(f->plan);
	roce_verify_plan_select(f->plan, NULL, NULL, "soft");
	assert_true(roce_verify_record_init(&f->record, f->plan, 1));
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

/* ---- an agent ---- */

static char letter_of(const struct agent *a)
{
	return a->runs <= strcspn(a->behaviour, " ") ? a->behaviour[a->runs - 1] : 'e';
}

static void tell_alive(struct roce_lines *lines)
{
	(void)roce_lines_send(lines, json_pack("{s:s}", "is", "alive"));
}

static void tell_stopped(const struct agent *a, struct roce_lines *lines)
{
	(void)roce_lines_send(lines, json_pack("{s:s, s:i}", "is", "stopped", "run", (int)a->runs));
}

/* The result, and behind it a word for the other side. */
static void end_case(const struct agent *a, struct roce_lines *lines, int run)
{
	(void)roce_lines_send(lines,
			      json_pack("{s:s, s:i, s:s, s:s, s:{s:f}}", "is", "result", "run", run,
					"verdict", letter_of(a) == 'e' ? GOOD_RESULT : BAD_RESULT,
					"reason", "r", "values", "p50", 1.0));
	(void)roce_lines_send(
		lines, json_pack("{s:s, s:i, s:b}", "is", "relay", "run", run, "data", true));
}

static void obey(struct agent *a, struct roce_lines *lines, const json_t *order)
{
	const char *what = roce_json_text(order, "do");
	int run = (int)roce_json_integer(order, "run");

	if (strcmp(what, "hello") == 0)
		(void)roce_lines_send(lines,
				      json_pack("{s:s, s:i, s:s, s:{s:[{s:s}]}}", "is", "hello",
						"protocol", ROCE_VERIFY_PROTOCOL, "version",
						UROCE_VERSION, "facts", "devices", "name", "d"));
	if (strcmp(what, "run") == 0) {
		a->runs++;
		if (letter_of(a) != 'h')
			end_case(a, lines, run);
	}
	/* By now the other side's result is there. */
	if (strcmp(what, "relay") == 0 && letter_of(a) == 'h')
		let_go_by(TIMEOUT_S + GRACE_S);
	if (strcmp(what, "stop") == 0) {
		a->stops++;
		a->is_late = strchr(a->behaviour, 'l');
		a->is_deaf = !strpbrk(a->behaviour, "sl");
		if (a->is_late || a->is_deaf)
			let_go_by(TURN_S);
		else
			tell_stopped(a, lines);
	}
	/* One that comes behind the order was sent when the grace had begun. */
	if (strcmp(what, "alive") == 0) {
		if (a->is_late || a->is_deaf)
			let_go_by(GRACE_S);
		tell_alive(lines);
		if (a->is_late)
			tell_stopped(a, lines);
		a->is_late = false;
	}
}

static void *be_agent(void *arg)
{
	struct agent *a = arg;
	struct roce_lines lines;
	bool is_over = false;

	roce_lines_init(&lines, a->fd, ROCE_VERIFY_LINE_MAX);
	while (!is_over) {
		json_t *order = NULL;
		int rc = roce_lines_receive(&lines, roce_clock_now() + TICK_NS, &order);

		if (rc == -ETIMEDOUT) {
			tell_alive(&lines);
			continue;
		}
		is_over = rc || strcmp(roce_json_text(order, "do"), "quit") == 0;
		if (!rc)
			obey(a, &lines, order);
		json_decref(order);
	}
	roce_lines_fini(&lines);
	return NULL;
}

/* ---- runs ---- */

static bool hangs(const char *behaviour, uint32_t number)
{
	return number <= strcspn(behaviour, " ") && behaviour[number - 1] == 'h';
}

static bool run_with(struct fixture *f, const char *initiator, const char *target,
		     const struct roce_verify_watcher *watcher)
{
	static const struct roce_verify_watcher nobody = {0};
	struct roce_verify_run_options options = {.signal_fd = -1, .grace_ms = GRACE_S * 1000};
	bool is_whole;

	/* what ends has all the time that it needs */
	for (uint32_t i = 0; i < CASES; i++) {
		if (!hangs(initiator, i + 1) && !hangs(target, i + 1))
			f->plan->cases[i].timeout_s = 600;
	}
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		int fds[2];

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
		options.fds[side] = fds[0];
		f->agents[side] =
			(struct agent){.fd = fds[1], .behaviour = side ? target : initiator};
		assert_int_equal(
			pthread_create(&f->agents[side].thread, NULL, be_agent, &f->agents[side]),
			0);
	}
	is_whole = roce_verify_run(&options, watcher ? watcher : &nobody, &f->record);
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++)
		pthread_join(f->agents[side].thread, NULL);
	assert_int_equal(f->record.outcome_count, CASES);
	return is_whole;
}

static void must_be(const struct fixture *f, uint32_t number, enum roce_verify_verdict verdict,
		    const char *reason)
{
	const struct roce_verify_outcome *o = &f->record.outcomes[number - 1];

	assert_string_equal(roce_verify_verdict_str(o->verdict), roce_verify_verdict_str(verdict));
	if (!reason)
		assert_null(o->reason);
	else if (!o->reason || !strstr(o->reason, reason))
		fail_msg("the reason of case %u is %s, expected %s", number,
			 o->reason ? o->reason : "none", reason);
}

static void run__of_good_cases_is_whole(void **state)
{
	struct fixture *f = *state;

	assert_true(run_with(f, "", "", NULL));
	for (uint32_t i = 1; i <= CASES; i++)
		must_be(f, i, ROCE_VERIFY_MEASURED, NULL);
	assert_true(f->record.is_complete);
}

/* A case that hangs costs itself; the agent stops it. */
static void run__goes_on_after_a_case_that_hangs(void **state)
{
	struct fixture *f = *state;

	assert_true(run_with(f, "", "ehe s", NULL));
	must_be(f, 1, ROCE_VERIFY_MEASURED, NULL);
	must_be(f, 2, ROCE_VERIFY_FAIL, "not ended in 2 s (target)");
	must_be(f, 3, ROCE_VERIFY_MEASURED, NULL);
	must_be(f, CASES, ROCE_VERIFY_MEASURED, NULL);
	assert_int_equal(f->agents[ROCE_VERIFY_TARGET].stops, 1);
	assert_int_equal(f->agents[ROCE_VERIFY_INITIATOR].stops, 0);
}

/* One that stood still between a word and the order to stop has not ignored the order. */
static void run__goes_on_after_a_case_that_is_stopped_late(void **state)
{
	struct fixture *f = *state;

	assert_true(run_with(f, "", "ehe l", NULL));
	must_be(f, 2, ROCE_VERIFY_FAIL, "not ended in 2 s (target)");
	must_be(f, CASES, ROCE_VERIFY_MEASURED, NULL);
	assert_int_equal(f->agents[ROCE_VERIFY_TARGET].stops, 1);
}

static void run__breaks_off_with_an_agent_that_is_alive_only(void **state)
{
	static const char reason[] = "the target's agent is alive, but has neither ended a/2 in 2 "
				     "s nor stopped it when it was told to";
	struct fixture *f = *state;

	assert_false(run_with(f, "", "ehhhhh", NULL));
	assert_string_equal(f->record.broken_off, reason);
	must_be(f, 1, ROCE_VERIFY_MEASURED, NULL);
	must_be(f, 2, ROCE_VERIFY_FAIL, reason);
	must_be(f, 3, ROCE_VERIFY_SKIPPED, "not run: the target's agent is alive, but");
	assert_int_equal(f->agents[ROCE_VERIFY_TARGET].runs, 2);
}

/* Also where the other side has failed long before the case's time. */
static void run__breaks_off_when_a_failed_case_is_not_stopped(void **state)
{
	struct fixture *f = *state;

	assert_false(run_with(f, "f", "h", NULL));
	must_be(f, 1, ROCE_VERIFY_FAIL, "the target's agent is alive, but");
	assert_int_equal(f->agents[ROCE_VERIFY_TARGET].runs, 1);
}

static void run__breaks_off_when_cases_are_not_ended_in_a_row(void **state)
{
	struct fixture *f = *state;

	assert_false(run_with(f, " s", "hehhhe s", NULL));
	must_be(f, 1, ROCE_VERIFY_FAIL, "not ended");
	must_be(f, 2, ROCE_VERIFY_MEASURED, NULL);
	must_be(f, 5, ROCE_VERIFY_FAIL, "not ended in 2 s (target)");
	must_be(f, 6, ROCE_VERIFY_SKIPPED,
		"not run: 3 cases in a row were not ended in their time, "
		"a/5 the last of them");
	assert_int_equal(f->agents[ROCE_VERIFY_TARGET].runs, 5);
}

/* Where one side fails the other one waits for it, which is no hang of its own. */
static void run__goes_on_after_failures_in_a_row(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 0; i < f->plan->case_count; i++)
		f->plan->cases[i].timeout_s = 600;
	assert_true(run_with(f, "ffff", "hhhh s", NULL));
	must_be(f, 4, ROCE_VERIFY_FAIL, "initiator: r");
	must_be(f, 5, ROCE_VERIFY_MEASURED, NULL);
	assert_int_equal(f->agents[ROCE_VERIFY_TARGET].stops, 4);
}

/* ---- a report meanwhile ---- */

struct meanwhile {
	json_t *report; /* made before the third case */
};

static void on_begun(void *context, const struct roce_verify_record *record,
		     const struct roce_verify_case *c, uint32_t round)
{
	struct meanwhile *m = context;

	(void)round;
	if (strcmp(c->name, "a/3") == 0)
		m->report = roce_verify_record_json(record);
}

static void run__has_a_report_meanwhile(void **state)
{
	struct fixture *f = *state;
	struct meanwhile m = {0};
	struct roce_verify_watcher watcher = {.context = &m, .begun = on_begun};
	json_t *cases;

	assert_true(run_with(f, "", "", &watcher));
	assert_non_null(m.report);
	assert_true(json_is_false(json_object_get(m.report, "complete")));
	assert_string_equal(roce_json_text(m.report, "broken_off"),
			    "this was written while the run was under way");
	assert_true(roce_json_number(m.report, "seconds") > 0);
	cases = json_object_get(m.report, "cases");
	assert_int_equal(json_array_size(cases), 3);
	assert_string_equal(roce_json_text(json_array_get(cases, 1), "verdict"), "measured");
	assert_string_equal(roce_json_text(json_array_get(cases, 2), "verdict"), "skipped");
	assert_string_equal(roce_json_text(json_array_get(cases, 2), "reason"),
			    "under way when this was written");
	must_be(f, 3, ROCE_VERIFY_MEASURED, NULL);
	json_decref(m.report);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(run__of_good_cases_is_whole),
		TEST(run__goes_on_after_a_case_that_hangs),
		TEST(run__goes_on_after_a_case_that_is_stopped_late),
		TEST(run__breaks_off_with_an_agent_that_is_alive_only),
		TEST(run__breaks_off_when_a_failed_case_is_not_stopped),
		TEST(run__breaks_off_when_cases_are_not_ended_in_a_row),
		TEST(run__goes_on_after_failures_in_a_row),
		TEST(run__has_a_report_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
