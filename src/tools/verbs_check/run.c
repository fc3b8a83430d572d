/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loop of one side. Completions must come exactly as the program lists them: per queue in the
 * order of posting, one for each request that is signalled or fails, none for others; what a
 * completion promises about memory is checked before the next one is looked at.
 */
#include "tools/verbs_check/run.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tools/verbs_check/completion.h"
#include "tools/verbs_check/poll.h"

enum { POLL_MAX = 16, IDLE_YIELD = 16, IDLE_LOOK = 256 };

uint64_t vc_now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static const struct vc_lane *own_lane(const struct vc_run *run, uint32_t qp)
{
	return &run->program->sides[run->side].lanes[qp];
}

/* The first request from `from` on that must complete. */
static uint32_t next_completing(const struct vc_lane *lane, uint32_t from)
{
	while (from < lane->request_count && !lane->requests[from].completes)
		from++;
	return from;
}

static bool is_phase_done(const struct vc_run *run)
{
	for (uint32_t q = 0; q < run->program->qp_count; q++) {
		const struct vc_lane *lane = own_lane(run, q);
		const struct vc_phase *phase = &lane->phases[run->phase];
		const struct vc_lane_run *at = &run->lanes[q];

		/* Receives of messages that are lost stay where they are. */
		bool owes_receives =
			(vc_program_is_reliable(run->program) || run->program->all_arrive) &&
			at->receive_posted < phase->receive_post;

		if (at->request_posted < phase->request_post || owes_receives ||
		    next_completing(lane, at->request_done) < phase->request_await ||
		    at->receive_done < phase->receive_await)
			return false;
	}
	return true;
}

/* Each addition to the shared cell must return a value of its own. */
static enum vc_verdict check_shared(struct vc_run *run, uint32_t qp, uint32_t index)
{
	const struct vc_program *program = run->program;
	const struct vc_request *request = &own_lane(run, qp)->requests[index];
	const struct vc_piece *piece = &program->sides[run->side].pieces[request->piece_first];
	const struct vc_cell *cell = &program->sides[!run->side].cells[0];
	uint64_t found, nth;
	char text[128];

	memcpy(&found, vc_memory_at(run->memory, program, run->side, piece), sizeof(found));
	nth = found - cell->initial;
	if (nth >= cell->value - cell->initial)
		return vc_report_wrong(
			run->report,
			"%s: original value 0x%016" PRIx64
			" of the shared cell, which goes from 0x%016" PRIx64 " to 0x%016" PRIx64,
			vc_request_describe(program, run->side, qp, index, text, sizeof(text)),
			found, cell->initial, cell->value);
	if (nth >= sizeof(run->shared_seen) * 8)
		return VC_RIGHT;
	if (run->shared_seen[nth / 64] & (1ULL << nth % 64))
		return vc_report_wrong(
			run->report, "%s: the shared cell returned 0x%016" PRIx64 " twice",
			vc_request_describe(program, run->side, qp, index, text, sizeof(text)),
			found);
	run->shared_seen[nth / 64] |= 1ULL << nth % 64;
	return VC_RIGHT;
}

static enum vc_verdict report_completion(struct vc_run *run, const char *what, const char *text)
{
	return vc_report_wrong(
		run->report, "completion of %s: %s%s%s", what, text,
		run->program->fault == VC_FAULT_NONE ? "" : "; error seed: ",
		run->program->fault == VC_FAULT_NONE ? "" : vc_fault_str(run->program->fault));
}

static enum vc_verdict finish_request(struct vc_run *run, const struct ibv_wc *wc, uint32_t qp,
				      uint32_t index)
{
	const struct vc_request *request = &own_lane(run, qp)->requests[index];
	struct vc_expected expected = {
		.wr_id = vc_request_wr_id(run->program, run->side, qp, index),
		.qp_num = run->endpoint->qps[qp]->qp_num,
		.status = request->status,
		.quirk_status = request->quirk_status,
		.op = request->op,
		.length = request->length,
		.quirks = run->program->limits->quirks[run->side],
	};
	enum vc_verdict verdict = VC_RIGHT;
	char text[200], what[128];

	(void)vc_request_describe(run->program, run->side, qp, index, what, sizeof(what));
	if (!vc_completion_check(wc, &expected, text, sizeof(text)))
		return report_completion(run, what, text);
	if (run->side == run->program->requester)
		vc_report_failed(&run->report->failed_request, wc->status);
	verdict = vc_region_fetch(run->endpoint, &run->program->sides[run->side], run->memory,
				  run->report);
	/* Unsignalled ones before it are done too. */
	for (uint32_t i = run->lanes[qp].request_done; i <= index && verdict == VC_RIGHT; i++) {
		const struct vc_request *done = &own_lane(run, qp)->requests[i];

		if (done->status != IBV_WC_SUCCESS ||
		    (done->op != VC_OP_READ && !vc_op_is_atomic(done->op)))
			continue;
		verdict = done->flags & VC_SHARED
				  ? check_shared(run, qp, i)
				  : vc_memory_check_fetched(run->memory, run->program, run->side,
							    qp, i, run->report);
	}
	run->lanes[qp].request_done = index + 1;
	return verdict;
}

static enum vc_verdict finish_receive(struct vc_run *run, const struct ibv_wc *wc, uint32_t qp,
				      uint32_t index)
{
	const struct vc_receive *receive = &own_lane(run, qp)->receives[index];
	const struct vc_lane *peer = &run->program->sides[!run->side].lanes[qp];
	struct vc_lane_run *at = &run->lanes[qp];
	struct vc_expected expected = {
		.wr_id = vc_receive_wr_id(run->program, run->side, qp, index),
		.qp_num = run->endpoint->qps[qp]->qp_num,
		.status = receive->status,
		.quirk_status = receive->quirk_status,
		.receive = true,
		.quirks = run->program->limits->quirks[run->side],
	};
	enum vc_verdict verdict = VC_RIGHT;
	char text[200], what[160], by[128];

	(void)snprintf(what, sizeof(what), "%s qp %u receive %u", vc_side_str(run->side), qp,
		       index);
	if (receive->status == IBV_WC_SUCCESS) {
		const struct vc_request *request = &peer->requests[receive->request];

		expected.op = request->op;
		expected.length = request->length;
		expected.imm = request->imm;
		if (request->op == VC_OP_SEND_INV)
			expected.invalidated = run->endpoint->window_rkeys[qp][request->window];
		(void)snprintf(what, sizeof(what), "receive %u for %s", index,
			       vc_request_describe(run->program, !run->side, qp, receive->request,
						   by, sizeof(by)));
	}
	if (!vc_completion_check(wc, &expected, text, sizeof(text)))
		return report_completion(run, what, text);
	if (run->side != run->program->requester)
		vc_report_failed(&run->report->failed_receive, wc->status);
	at->receive_done = index + 1;
	if (receive->status != IBV_WC_SUCCESS)
		return VC_RIGHT;
	verdict = vc_region_fetch(run->endpoint, &run->program->sides[run->side], run->memory,
				  run->report);
	/* This message and all before it on the QP are in memory. */
	for (; at->arrival_done <= receive->request && verdict == VC_RIGHT; at->arrival_done++)
		verdict = vc_memory_check_arrived(run->memory, run->program, run->side, qp,
						  at->arrival_done, run->report);
	return verdict;
}

/* A completion that is not the next one of its queue: says which one it would be. */
static enum vc_verdict report_stray(struct vc_run *run, const struct ibv_wc *wc, uint32_t qp)
{
	const struct vc_lane *lane = own_lane(run, qp);
	const struct vc_lane_run *at = &run->lanes[qp];
	char text[128] = "an unknown wr_id";
	const char *kind = "";

	for (uint32_t i = 0; i < lane->request_count; i++) {
		if (vc_request_wr_id(run->program, run->side, qp, i) != wc->wr_id)
			continue;
		(void)vc_request_describe(run->program, run->side, qp, i, text, sizeof(text));
		kind = i < at->request_done	      ? " (which is done)"
		       : i >= at->request_posted      ? " (which is not posted)"
		       : !lane->requests[i].completes ? " (which must not complete)"
						      : " (which is not the next one)";
	}
	for (uint32_t i = 0; i < lane->receive_count; i++) {
		if (vc_receive_wr_id(run->program, run->side, qp, i) != wc->wr_id)
			continue;
		(void)snprintf(text, sizeof(text), "%s qp %u receive %u", vc_side_str(run->side),
			       qp, i);
		kind = i < at->receive_done	 ? " (which is done)"
		       : i >= at->receive_posted ? " (which is not posted)"
						 : " (which is not the next one)";
	}
	return vc_report_wrong(
		run->report,
		"unexpected completion: wr_id 0x%016" PRIx64 " is %s%s, status %d (%s); "
		"next of %s qp %u are request %u and receive %u%s%s",
		wc->wr_id, text, kind, (int)wc->status, ibv_wc_status_str(wc->status),
		vc_side_str(run->side), qp, next_completing(lane, at->request_done),
		at->receive_done, run->program->fault == VC_FAULT_NONE ? "" : "; error seed: ",
		run->program->fault == VC_FAULT_NONE ? "" : vc_fault_str(run->program->fault));
}

static enum vc_verdict take_arrival(struct vc_run *run, uint32_t cq, const struct ibv_wc *wc)
{
	enum vc_verdict verdict = vc_region_fetch(run->endpoint, &run->program->sides[run->side],
						  run->memory, run->report);

	return verdict == VC_RIGHT ? vc_arrival_take(run, cq, wc) : verdict;
}

static enum vc_verdict take_completion(struct vc_run *run, uint32_t cq, const struct ibv_wc *wc)
{
	const struct vc_lane *lane;
	const struct vc_phase *phase;
	const struct vc_lane_run *at;
	uint32_t request, q = 0;

	while (q < run->program->qp_count && run->endpoint->qps[q]->qp_num != wc->qp_num)
		q++;
	if (q == run->program->qp_count && run->endpoint->targets[0])
		return take_arrival(run, cq, wc);
	if (q == run->program->qp_count)
		return vc_report_wrong(run->report,
				       "completion with qp_num 0x%x, which no QP of this seed has",
				       wc->qp_num);
	lane = own_lane(run, q);
	phase = &lane->phases[run->phase];
	at = &run->lanes[q];
	request = next_completing(lane, at->request_done);
	if (request < at->request_posted && request < phase->request_await && lane->send_cq == cq &&
	    wc->wr_id == vc_request_wr_id(run->program, run->side, q, request))
		return finish_request(run, wc, q, request);
	if (run->program->is_open)
		return take_arrival(run, cq, wc);
	if (at->receive_done < at->receive_posted && at->receive_done < phase->receive_await &&
	    lane->receive_cq == cq &&
	    wc->wr_id == vc_receive_wr_id(run->program, run->side, q, at->receive_done))
		return finish_receive(run, wc, q, at->receive_done);
	return report_stray(run, wc, q);
}

enum vc_verdict vc_run_poll(struct vc_run *run, uint32_t *out_count)
{
	const struct vc_side *side = &run->program->sides[run->side];
	struct ibv_wc wcs[POLL_MAX];

	for (uint32_t c = 0; c < side->cq_count; c++) {
		int got = vc_poll(run->endpoint, c, (int)side->poll_batch, wcs, run->report);

		if (run->report->verdict != VC_RIGHT)
			return run->report->verdict;
		if (got < 0 || got > (int)side->poll_batch)
			return vc_report_wrong(run->report, "ibv_poll_cq for %u: %d",
					       side->poll_batch, got);
		vc_event_note_polled(run, c, got);
		for (int i = 0; i < got; i++) {
			enum vc_verdict verdict = take_completion(run, c, &wcs[i]);

			if (verdict != VC_RIGHT)
				return verdict;
		}
		*out_count += (uint32_t)got;
	}
	return VC_RIGHT;
}

/* A late side posts one receive at a time, so that the other one meets RNR. */
static enum vc_verdict post_late(struct vc_run *run, uint32_t *out_count)
{
	uint64_t now = vc_now_ns();
	bool posted = false;

	if (now < run->next_receive_ns)
		return VC_RIGHT;
	for (uint32_t q = 0; q < run->program->qp_count; q++) {
		const struct vc_phase *phase = &own_lane(run, q)->phases[run->phase];
		uint32_t limit = run->lanes[q].receive_posted + 1;
		uint32_t count = 0;
		enum vc_verdict verdict;

		if (limit > phase->receive_post)
			continue;
		verdict = vc_run_post_receives(run, q, limit, &count);
		if (verdict != VC_RIGHT)
			return verdict;
		posted = posted || count;
		*out_count += count;
	}
	if (posted)
		run->next_receive_ns = now + 1000ULL * run->program->sides[run->side].late_us;
	return VC_RIGHT;
}

static enum vc_verdict post_all(struct vc_run *run, uint32_t *out_count)
{
	bool late = run->program->sides[run->side].late_us;
	enum vc_verdict verdict = VC_RIGHT;

	if (late)
		verdict = post_late(run, out_count);
	for (uint32_t q = 0; q < run->program->qp_count && verdict == VC_RIGHT; q++) {
		const struct vc_phase *phase = &own_lane(run, q)->phases[run->phase];

		if (!late)
			verdict = vc_run_post_receives(run, q, phase->receive_post, out_count);
		if (verdict == VC_RIGHT)
			verdict = vc_run_post_requests(run, q, out_count);
	}
	return verdict;
}

/* The first thing in the phase that this side has not seen yet. */
static void describe_awaited(const struct vc_run *run, char *text, size_t size)
{
	const struct vc_program *program = run->program;

	(void)snprintf(text, size, "nothing");
	for (uint32_t q = program->qp_count; q-- > 0;) {
		const struct vc_lane *lane = own_lane(run, q);
		const struct vc_phase *phase = &lane->phases[run->phase];
		const struct vc_lane_run *at = &run->lanes[q];
		uint32_t request = next_completing(lane, at->request_done);
		char what[128];

		if (request < phase->request_await)
			(void)snprintf(text, size, "%s (%s posted)",
				       vc_request_describe(program, run->side, q, request, what,
							   sizeof(what)),
				       request < at->request_posted ? "is" : "not");
		else if (at->receive_done < phase->receive_await)
			(void)snprintf(text, size, "%s qp %u receive %u (%s posted)",
				       vc_side_str(run->side), q, at->receive_done,
				       at->receive_done < at->receive_posted ? "is" : "not");
	}
}

static enum vc_verdict report_stall(struct vc_run *run)
{
	const struct vc_program *program = run->program;
	char text[300];

	describe_awaited(run, text, sizeof(text));
	return vc_report_wrong(run->report, "no completion for %u s; waiting for %s%s%s",
			       run->stall_s, text,
			       program->fault == VC_FAULT_NONE ? "" : "; error seed: ",
			       program->fault == VC_FAULT_NONE ? "" : vc_fault_str(program->fault));
}

/* The other side has ended the session, or has gone; whether this one was through tells where a
 * message was lost. */
static enum vc_verdict look_at_other_side(struct vc_run *run)
{
	enum vc_verdict verdict = vc_control_peek(run->control, run->report);
	char text[300];

	if (verdict == VC_RIGHT)
		return VC_RIGHT;
	describe_awaited(run, text, sizeof(text));
	vc_report_add(run->report, "; this side was waiting for %s", text);
	return verdict;
}

static enum vc_verdict rest(struct vc_run *run)
{
	enum vc_verdict verdict;

	if (run->idle++ == 0)
		run->idle_ns = vc_now_ns();
	if (run->endpoint->channel && run->idle > 1) {
		verdict = vc_event_wait(run, run->program->sides[run->side].late_us ? 1 : 20);
		if (verdict != VC_RIGHT)
			return verdict;
	} else if (run->idle % IDLE_YIELD == 0) {
		(void)sched_yield();
	}
	if (run->idle % IDLE_LOOK != 0 && !run->endpoint->channel)
		return VC_RIGHT;
	verdict = look_at_other_side(run);
	if (verdict != VC_RIGHT)
		return verdict;
	if (vc_now_ns() - run->idle_ns > run->stall_s * 1000000000ULL)
		return report_stall(run);
	return VC_RIGHT;
}

enum vc_verdict vc_run_prepost(struct vc_run *run)
{
	enum vc_verdict verdict = VC_RIGHT;
	uint32_t count = 0;

	for (uint32_t q = 0; q < run->program->qp_count && verdict == VC_RIGHT; q++) {
		const struct vc_lane *lane = own_lane(run, q);
		uint32_t limit = lane->phases[0].receive_post;

		verdict = vc_run_post_receives(
			run, q, lane->prepost < limit ? lane->prepost : limit, &count);
	}
	return verdict;
}

enum vc_verdict vc_run_phase(struct vc_run *run)
{
	run->idle = 0;
	while (!is_phase_done(run)) {
		enum vc_verdict verdict;
		uint32_t count = 0;

		verdict = post_all(run, &count);
		if (verdict == VC_RIGHT)
			verdict = vc_run_poll(run, &count);
		if (verdict == VC_RIGHT)
			verdict = vc_vary_step(run);
		if (verdict == VC_RIGHT && !count)
			verdict = rest(run);
		if (verdict != VC_RIGHT)
			return verdict;
		if (count)
			run->idle = 0;
	}
	if (vc_vary_settle(run) != VC_RIGHT)
		return run->report->verdict;
	return run->endpoint->channel ? vc_event_settle(run) : VC_RIGHT;
}

enum vc_verdict vc_run_check_empty(struct vc_run *run)
{
	uint32_t count = 0;

	/* Anything that comes now is nobody's, and vc_run_poll() says so. */
	return vc_run_poll(run, &count);
}
