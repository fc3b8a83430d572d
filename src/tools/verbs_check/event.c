/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels. A CQ that was armed and then seen empty owes exactly one event for its next
 * entry; one that was armed while entries were in it may or may not. Events of CQs that are not
 * armed are a fault, and so is an owed event that does not come.
 */
#include "tools/verbs_check/run.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

enum { OWED_MS = 5000 };

static uint32_t first_receive_cq(const struct vc_run *run)
{
	return run->program->sides[run->side].lanes[0].receive_cq;
}

/* The CQ whose solicited events are checked is armed by vc_event_arm_solicited() alone. */
static bool is_set_aside(const struct vc_run *run, uint32_t cq)
{
	return run->quiet && cq == first_receive_cq(run);
}

void vc_event_note_polled(struct vc_run *run, uint32_t cq, int got)
{
	if (is_set_aside(run, cq))
		return;
	if (got == 0 && run->arms[cq] == VC_ARM_MAYBE)
		run->arms[cq] = VC_ARM_WATCHED;
	if (got > 0 && run->arms[cq] == VC_ARM_WATCHED)
		run->owed[cq] = true;
}

static bool is_ready(struct vc_run *run, int timeout_ms)
{
	struct pollfd fds = {.fd = run->endpoint->channel->fd, .events = POLLIN};

	return poll(&fds, 1, timeout_ms) == 1;
}

/* Takes one event, which must be there. */
static enum vc_verdict take_event(struct vc_run *run)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;
	uint32_t c = 0;

	if (ibv_get_cq_event(run->endpoint->channel, &cq, &context))
		return vc_report_wrong(run->report, "ibv_get_cq_event: %s", strerror(errno));
	while (c < VC_CQ_MAX && run->endpoint->cqs[c] != cq)
		c++;
	if (c == VC_CQ_MAX || context != run->endpoint)
		return vc_report_wrong(run->report,
				       "ibv_get_cq_event returned a CQ or context of nobody's");
	ibv_ack_cq_events(cq, 1);
	if (run->arms[c] == VC_ARM_NONE)
		return vc_report_wrong(run->report, "event for CQ %u, which is not armed", c);
	run->arms[c] = VC_ARM_NONE;
	run->owed[c] = false;
	return VC_RIGHT;
}

static enum vc_verdict take_all(struct vc_run *run, int timeout_ms)
{
	while (is_ready(run, timeout_ms)) {
		enum vc_verdict verdict = take_event(run);

		if (verdict != VC_RIGHT)
			return verdict;
		timeout_ms = 0;
	}
	return VC_RIGHT;
}

static enum vc_verdict await_owed(struct vc_run *run, uint32_t cq)
{
	while (run->owed[cq]) {
		enum vc_verdict verdict;

		if (!is_ready(run, OWED_MS))
			return vc_report_wrong(
				run->report,
				"CQ %u was armed and empty, got a completion, but no "
				"event for %d ms",
				cq, OWED_MS);
		verdict = take_event(run);
		if (verdict != VC_RIGHT)
			return verdict;
	}
	return VC_RIGHT;
}

enum vc_verdict vc_event_settle(struct vc_run *run)
{
	enum vc_verdict verdict = VC_RIGHT;

	for (uint32_t c = 0; c < VC_CQ_MAX && verdict == VC_RIGHT; c++)
		verdict = await_owed(run, c);
	return verdict;
}

static enum vc_verdict arm(struct vc_run *run, uint32_t cq, int solicited_only)
{
	int error = ibv_req_notify_cq(run->endpoint->cqs[cq], solicited_only);

	if (error)
		return vc_report_wrong(run->report, "ibv_req_notify_cq: %s", strerror(error));
	run->arms[cq] = VC_ARM_MAYBE;
	return VC_RIGHT;
}

enum vc_verdict vc_event_wait(struct vc_run *run, int timeout_ms)
{
	enum vc_verdict verdict = vc_event_settle(run);
	uint32_t count = 0;

	for (uint32_t c = 0; c < run->program->sides[run->side].cq_count; c++)
		if (verdict == VC_RIGHT && run->arms[c] == VC_ARM_NONE && !is_set_aside(run, c))
			verdict = arm(run, c, 0);
	if (verdict == VC_RIGHT)
		verdict = vc_run_poll(run, &count);
	if (verdict != VC_RIGHT)
		return verdict;
	if (!count)
		return take_all(run, timeout_ms);
	run->idle = 0;
	return VC_RIGHT;
}

enum vc_verdict vc_event_arm_solicited(struct vc_run *run)
{
	uint32_t cq = first_receive_cq(run);
	enum vc_verdict verdict;

	/* Entries have come since it was armed, so that an event is there or about to be. */
	if (run->arms[cq] != VC_ARM_NONE) {
		run->owed[cq] = true;
		verdict = await_owed(run, cq);
		if (verdict != VC_RIGHT)
			return verdict;
	}
	return arm(run, cq, 1);
}

enum vc_verdict vc_event_expect(struct vc_run *run, bool expected)
{
	uint32_t cq = first_receive_cq(run);
	enum vc_verdict verdict;

	if (expected) {
		run->owed[cq] = run->arms[cq] != VC_ARM_NONE;
		return await_owed(run, cq);
	}
	verdict = take_all(run, 0);
	if (verdict == VC_RIGHT && run->arms[cq] == VC_ARM_NONE)
		return vc_report_wrong(run->report,
				       "a completion that is not solicited raised an event on a CQ "
				       "armed for solicited ones");
	return verdict;
}
