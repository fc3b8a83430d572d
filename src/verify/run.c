/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One loop over the two agents' sockets and the signals. A case ends when both sides have told
 * their result; when one has failed, the other has a moment to say what it saw, and is stopped.
 */
#include "verify/run.h"

#include "base/clock.h"
#include "base/plain.h"
#include "base/prng.h"
#include "verify/judge.h"
#include "verify/kind.h"
#include "verify/lines.h"
#include "verify/others.h"
#include "verify/protocol.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS	 100
#define HELLO_S	 60
#define GRACE_MS 3000
#define LATE_MAX 3 /* cases in a row that are not ended in their time: the rest would not be */

struct runner {
	const struct roce_verify_run_options *options;
	const struct roce_verify_watcher *watcher;
	struct roce_verify_record *record;
	struct roce_lines lines[ROCE_VERIFY_SIDES];
	roce_ns_t heard_at[ROCE_VERIFY_SIDES];
	roce_ns_t alive_at;
	roce_ns_t begun;
	uint32_t number;
	json_t *results[ROCE_VERIFY_SIDES];
	bool is_stopped[ROCE_VERIFY_SIDES]; /* as it was told */
	roce_ns_t grace;
	roce_ns_t deadline;
	bool is_one_done;   /* deadline is that of the other's word */
	roce_ns_t time_out; /* the end of the case's own time */
	bool is_late;	    /* the case was not ended in it */
	uint32_t late_in_row;
};

__attribute__((format(printf, 2, 3))) static bool break_off(struct runner *r, const char *fmt, ...)
{
	va_list ap;

	if (r->record->broken_off)
		return false;
	va_start(ap, fmt);
	if (vasprintf(&r->record->broken_off, fmt, ap) < 0)
		r->record->broken_off = NULL;
	va_end(ap);
	if (r->record->broken_off)
		roce_plain_make(r->record->broken_off); /* a peer's words may be in it */
	return false;
}

static const char *side_str(int side)
{
	return roce_verify_side_str((enum roce_verify_side)side);
}

static bool is_signalled(const struct runner *r)
{
	struct pollfd p = {.fd = r->options->signal_fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static bool is_gone(struct runner *r, int side, int rc)
{
	/* Ctrl-C that came when they were just starting has ended them, too. */
	if (is_signalled(r))
		return break_off(r, ROCE_VERIFY_BY_SIGNAL);
	if (rc == -EPIPE)
		return break_off(r, "the %s's agent has gone", side_str(side));
	return break_off(r, "the %s's agent: %s", side_str(side), strerror(-rc));
}

static bool send_to(struct runner *r, int side, json_t *message)
{
	int rc = roce_lines_send(&r->lines[side], message);

	return rc ? is_gone(r, side, rc) : true;
}

/* ---- messages ---- */

static void take_result(struct runner *r, int side, json_t *message)
{
	if (r->results[side])
		return;
	r->results[side] = json_incref(message);
	if (strcmp(roce_json_text(message, "verdict"), "ok") != 0 && !r->is_one_done) {
		r->is_one_done = true;
		r->deadline = roce_clock_now() + r->grace;
	}
}

static bool take_message(struct runner *r, int side, json_t *message)
{
	const char *is = roce_json_text(message, "is");

	r->heard_at[side] = roce_clock_now();
	if (strcmp(is, "hello") == 0) {
		if (*roce_json_text(message, "reason"))
			return break_off(r, "the %s cannot list its devices: %s", side_str(side),
					 roce_json_text(message, "reason"));
		json_decref(r->record->facts[side]);
		r->record->facts[side] = json_incref(message);
		json_object_del(message, "is");
		json_object_del(message, "run");
		return true;
	}
	if (roce_json_integer(message, "run") != (json_int_t)r->number)
		return true; /* alive, or of a case that was stopped */
	if (strcmp(is, "relay") == 0)
		return send_to(r, !side,
			       json_pack("{s:s, s:i, s:O}", "do", "relay", "run", (int)r->number,
					 "data", json_object_get(message, "data")));
	if (strcmp(is, "progress") == 0 && r->watcher->progress)
		r->watcher->progress(r->watcher->context, r->record,
				     roce_json_number(message, "part"));
	if (strcmp(is, "result") == 0)
		take_result(r, side, message);
	if (strcmp(is, "stopped") == 0)
		r->is_stopped[side] = true;
	return true;
}

static bool take_messages(struct runner *r, int side)
{
	json_t *message;
	int rc = roce_lines_fill(&r->lines[side]);
	int taken;
	bool is_good = true;

	while (is_good && (taken = roce_lines_take(&r->lines[side], &message)) != 0) {
		if (taken < 0)
			return break_off(r, "the %s's agent sends what is no message",
					 side_str(side));
		is_good = take_message(r, side, message);
		json_decref(message);
	}
	return rc ? is_gone(r, side, rc) : is_good;
}

/* Waits a tick. False: the run is over. */
static bool turn(struct runner *r)
{
	struct pollfd p[] = {
		{.fd = r->lines[0].fd, .events = POLLIN},
		{.fd = r->lines[1].fd, .events = POLLIN},
		{.fd = r->options->signal_fd, .events = POLLIN},
	};
	roce_ns_t now;

	if (poll(p, 3, TICK_MS) < 0 && errno != EINTR)
		return break_off(r, "poll: %s", strerror(errno));
	if (p[2].revents)
		return break_off(r, ROCE_VERIFY_BY_SIGNAL);
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		if (p[side].revents && !take_messages(r, side))
			return false;
	}
	now = roce_clock_now();
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		if (now > r->heard_at[side] + ROCE_VERIFY_SILENT_S * ROCE_NS_PER_S)
			return break_off(r, "no word from the %s's agent for %d s", side_str(side),
					 ROCE_VERIFY_SILENT_S);
	}
	if (r->watcher->progress)
		r->watcher->progress(r->watcher->context, r->record, -1);
	if (now < r->alive_at)
		return true;
	r->alive_at = now + ROCE_VERIFY_ALIVE_S * ROCE_NS_PER_S;
	return send_to(r, ROCE_VERIFY_INITIATOR, json_pack("{s:s}", "do", "alive")) &&
	       send_to(r, ROCE_VERIFY_TARGET, json_pack("{s:s}", "do", "alive"));
}

/* ---- a case ---- */

/* Without a device every case would fail, for the same reason. */
static bool is_usable(struct runner *r, int side, const json_t *facts)
{
	const char *reason = roce_json_text(json_object_get(facts, "uses"), "reason");

	if (!json_array_size(json_object_get(facts, "devices")))
		return break_off(r,
				 "the %s has no verbs device (its library: %s); `uroce devices` "
				 "there, or `rdma link` with --system, tells more",
				 side_str(side), roce_json_text(facts, "libibverbs"));
	return !*reason || break_off(r, "the %s cannot be used: %s", side_str(side), reason);
}

static bool say_hello(struct runner *r)
{
	roce_ns_t deadline = roce_clock_now() + HELLO_S * ROCE_NS_PER_S;

	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		r->heard_at[side] = roce_clock_now();
		if (!send_to(r, side,
			     json_pack("{s:s, s:O*}", "do", "hello", "where",
				       r->options->where[side])))
			return false;
	}
	while (!r->record->facts[0] || !r->record->facts[1]) {
		if (!turn(r))
			return false;
		if (roce_clock_now() > deadline)
			return break_off(r, "the %s's agent does not list its devices",
					 side_str(r->record->facts[0] != NULL));
	}
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		const json_t *facts = r->record->facts[side];

		if (roce_json_integer(facts, "protocol") != ROCE_VERIFY_PROTOCOL ||
		    strcmp(roce_json_text(facts, "version"), UROCE_VERSION) != 0)
			return break_off(r, "the %s's agent is version %s, and this is %s",
					 side_str(side), roce_json_text(facts, "version"),
					 UROCE_VERSION);
		if (!is_usable(r, side, json_object_get(facts, "facts")))
			return false;
	}
	return true;
}

static bool give_order(struct runner *r, const struct roce_verify_outcome *o)
{
	json_t *none = json_object();
	bool is_good = true;

	for (int side = 0; side < ROCE_VERIFY_SIDES && is_good; side++) {
		json_t *where = r->options->where[side];

		is_good = send_to(r, side,
				  json_pack("{s:s, s:i, s:s, s:s, s:I, s:O, s:O, s:f}", "do", "run",
					    "run", (int)r->number, "kind", o->c->kind->name, "role",
					    side_str(side), "seed", (json_int_t)o->seed,
					    "parameters", o->c->parameters, "where",
					    where ? where : none, "timeout_s", o->c->timeout_s));
	}
	json_decref(none);
	return is_good;
}

static bool is_at_work(const struct runner *r, int side)
{
	return !r->results[side] && !r->is_stopped[side];
}

/* An agent that is alive ends a case when it is told to, and says so before anything else; with one
 * that only says that it is alive every case would cost its time. The first word after the grace
 * tells nothing: it may have been about to be said when the order came, by one that then stood
 * still. */
static bool await_stop(struct runner *r, const struct roce_verify_case *c)
{
	roce_ns_t enough[] = {roce_clock_now() + r->grace, roce_clock_now() + r->grace};
	bool is_warned[ROCE_VERIFY_SIDES] = {false};

	while (is_at_work(r, 0) || is_at_work(r, 1)) {
		if (!turn(r))
			return false;
		for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
			if (!is_at_work(r, side) || r->heard_at[side] <= enough[side])
				continue;
			if (is_warned[side])
				return break_off(
					r,
					"the %s's agent is alive, but has neither ended %s in %g s "
					"nor stopped it when it was told to",
					side_str(side), c->name, c->timeout_s);
			is_warned[side] = true;
			enough[side] = r->heard_at[side] + r->grace;
		}
	}
	return true;
}

static bool stop_late_ones(struct runner *r, const struct roce_verify_case *c)
{
	r->is_late = roce_clock_now() > r->time_out;
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		if (!r->results[side] && !send_to(r, side, json_pack("{s:s}", "do", "stop")))
			return false;
	}
	return await_stop(r, c);
}

static bool await_results(struct runner *r, const struct roce_verify_case *c)
{
	while (!r->results[0] || !r->results[1]) {
		if (!turn(r))
			return false;
		if (roce_clock_now() > r->deadline)
			return stop_late_ones(r, c);
	}
	return true;
}

static const char *late_side(const struct runner *r)
{
	return !r->results[0] && !r->results[1] ? "neither side"
	       : r->results[0]			? "target"
						: "initiator";
}

static void finish(struct runner *r, struct roce_verify_outcome *o, bool is_good)
{
	free(o->reason);
	o->reason = NULL;
	roce_verify_judge(o, r->results, r->record);
	if (!is_good && o->verdict != ROCE_VERIFY_FAIL) {
		o->verdict = ROCE_VERIFY_FAIL;
		free(o->reason);
		o->reason = NULL;
	}
	if (!is_good && (!o->reason || !r->results[0] || !r->results[1]))
		roce_verify_outcome_reason(
			o, "%s", r->record->broken_off ? r->record->broken_off : "broken off");
	else if ((!r->results[0] || !r->results[1]) && !r->is_one_done)
		roce_verify_outcome_reason(o, "not ended in %g s (%s)", o->c->timeout_s,
					   late_side(r));
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		json_decref(r->results[side]);
		r->results[side] = NULL;
		r->is_stopped[side] = false;
	}
}

/* What hangs in each of several cases hangs in the rest. */
static bool is_end_in_sight(struct runner *r, const struct roce_verify_case *c)
{
	r->late_in_row = r->is_late ? r->late_in_row + 1 : 0;
	return r->late_in_row < LATE_MAX ||
	       break_off(r, "%u cases in a row were not ended in their time, %s the last of them",
			 r->late_in_row, c->name);
}

/* Who writes a report before the end says of the case what it is. */
static void tell_begun(struct runner *r, struct roce_verify_outcome *o)
{
	r->record->seconds = (double)(roce_clock_now() - r->begun) / 1e9;
	roce_verify_outcome_reason(o, "under way when this was written");
	if (r->watcher->begun)
		r->watcher->begun(r->watcher->context, r->record, o->c, o->round);
}

static bool run_case(struct runner *r, const struct roce_verify_case *c, uint32_t round)
{
	struct roce_verify_outcome *o = roce_verify_record_add(r->record, c, round);
	struct roce_prng prng = {r->record->seed + round - 1};
	struct roce_verify_ticks from;
	struct roce_verify_ticks to;
	roce_ns_t begun;
	bool is_good;

	/* The same for a case alone and among others; small enough for every reader of JSON. */
	o->seed = roce_prng_next(&prng) >> 12;
	r->number++;
	r->is_one_done = r->is_late = false;
	tell_begun(r, o); /* a report takes its time, which is not the case's */
	roce_verify_ticks_now(&from);
	begun = roce_clock_now();
	r->time_out = begun + (roce_ns_t)(c->timeout_s * 1e9);
	r->deadline = r->time_out + r->grace;
	is_good = give_order(r, o) && await_results(r, c);
	o->seconds = (double)(roce_clock_now() - begun) / 1e9;
	roce_verify_ticks_now(&to);
	o->others = roce_verify_others(&from, &to);
	finish(r, o, is_good);
	if (r->watcher->ended)
		r->watcher->ended(r->watcher->context, r->record, o);
	if (is_good && r->options->ends_at_failure && o->verdict == ROCE_VERIFY_FAIL)
		return break_off(r, "%s failed", c->name);
	return is_good && is_end_in_sight(r, c);
}

/* ---- all of them ---- */

static void skip_case(struct runner *r, const struct roce_verify_case *c, uint32_t round)
{
	struct roce_verify_outcome *o = roce_verify_record_add(r->record, c, round);

	roce_verify_outcome_reason(o, "not run: %s",
				   r->record->broken_off ? r->record->broken_off : "broken off");
}

static bool run_all(struct runner *r)
{
	const struct roce_verify_plan *plan = r->record->plan;
	bool is_good = say_hello(r);

	for (uint32_t i = 0; i < plan->case_count; i++) {
		for (uint32_t round = 1; plan->cases[i].is_wanted && round <= r->record->repeat;
		     round++) {
			if (is_good)
				is_good = run_case(r, &plan->cases[i], round);
			else
				skip_case(r, &plan->cases[i], round);
		}
	}
	return is_good;
}

bool roce_verify_run(const struct roce_verify_run_options *options,
		     const struct roce_verify_watcher *watcher, struct roce_verify_record *record)
{
	struct runner r = {.options = options,
			   .watcher = watcher,
			   .record = record,
			   .begun = roce_clock_now(),
			   .grace = (options->grace_ms ? options->grace_ms : GRACE_MS) *
				    ROCE_NS_PER_MS};

	record->started = time(NULL);
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++)
		roce_lines_init(&r.lines[side], options->fds[side], ROCE_VERIFY_LINE_MAX);
	record->is_complete = run_all(&r);
	for (int side = 0; side < ROCE_VERIFY_SIDES; side++) {
		(void)roce_lines_send(&r.lines[side], json_pack("{s:s}", "do", "quit"));
		roce_lines_fini(&r.lines[side]);
	}
	record->seconds = (double)(roce_clock_now() - r.begun) / 1e9;
	return record->is_complete;
}
