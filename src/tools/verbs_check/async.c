/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asynchronous events. Each is counted under the object that it is of; one of an object that this
 * seed has not made, or that says that something broke, is a fault. COMM_EST and changes of port
 * and addresses may come at any time. Called from the loop of a phase and where an event is owed.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "tools/verbs_check/run.h"

enum { OWED_MS = 5000, SLICE_MS = 20 };

static uint32_t *count_of_qp(struct vc_run *run, const struct ibv_async_event *event,
			     uint32_t counts[VC_QP_MAX])
{
	for (uint32_t q = 0; q < VC_QP_MAX; q++)
		if (event->element.qp == run->endpoint->qps[q] ||
		    event->element.qp == run->endpoint->targets[q])
			return &counts[q];
	return NULL;
}

static uint32_t *count_of_srq(struct vc_run *run, const struct ibv_async_event *event)
{
	for (uint32_t p = 0; p < VC_QP_MAX; p++)
		if (event->element.srq == run->endpoint->srqs[p])
			return &run->async.limits[p];
	return NULL;
}

static enum vc_verdict note(struct vc_run *run, const struct ibv_async_event *event)
{
	uint32_t ignored[VC_QP_MAX] = {0};
	struct vc_async *async = &run->async;
	uint32_t *count = NULL;

	switch (event->event_type) {
	case IBV_EVENT_SQ_DRAINED:
		count = count_of_qp(run, event, async->drained);
		break;
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		count = count_of_qp(run, event, async->last_wqe);
		break;
	case IBV_EVENT_QP_ACCESS_ERR:
		count = count_of_qp(run, event, async->access_errors);
		break;
	case IBV_EVENT_QP_REQ_ERR:
		count = count_of_qp(run, event, async->request_errors);
		break;
	case IBV_EVENT_COMM_EST:
		count = count_of_qp(run, event, ignored);
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		count = count_of_srq(run, event);
		break;
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		return VC_RIGHT;
	case IBV_EVENT_CQ_ERR:
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_WQ_FATAL:
		break;
	}
	if (!count)
		return vc_report_wrong(run->report, "unexpected event: %s",
				       ibv_event_type_str(event->event_type));
	(*count)++;
	return VC_RIGHT;
}

enum vc_verdict vc_async_take(struct vc_run *run)
{
	struct ibv_async_event event;

	while (ibv_get_async_event(run->device->context, &event) == 0) {
		enum vc_verdict verdict = note(run, &event);

		ibv_ack_async_event(&event);
		if (verdict != VC_RIGHT)
			return verdict;
	}
	return VC_RIGHT;
}

enum vc_verdict vc_async_await(struct vc_run *run, const uint32_t *count, uint32_t expected,
			       const char *what)
{
	uint64_t give_up = vc_now_ns() + OWED_MS * 1000000ull;
	enum vc_verdict verdict = vc_async_take(run);

	while (verdict == VC_RIGHT && *count < expected && vc_now_ns() < give_up) {
		struct pollfd fds = {.fd = run->device->context->async_fd, .events = POLLIN};

		(void)poll(&fds, 1, SLICE_MS);
		verdict = vc_async_take(run);
	}
	if (verdict == VC_RIGHT && *count != expected)
		return vc_report_wrong(run->report, "%s: %u events, expected %u", what, *count,
				       expected);
	return verdict;
}

enum vc_verdict vc_async_check_fault(struct vc_run *run)
{
	const struct vc_program *program = run->program;
	enum ibv_wc_status status = vc_fault_requester_status(program->fault);
	bool is_silent = vc_fault_responder_status(program->fault) == IBV_WC_SUCCESS;

	if (!vc_program_has(program, VC_FEATURE_ASYNC) || run->side == program->requester ||
	    program->limits->lossy || !is_silent ||
	    (program->limits->quirks[run->side] & VC_QUIRK_RXE))
		return VC_RIGHT;
	if (status == IBV_WC_REM_ACCESS_ERR)
		return vc_async_await(run, &run->async.access_errors[0], 1,
				      "QP_ACCESS_ERR at the responder");
	if (status == IBV_WC_REM_INV_REQ_ERR)
		return vc_async_await(run, &run->async.request_errors[0], 1,
				      "QP_REQ_ERR at the responder");
	return VC_RIGHT;
}

enum vc_verdict vc_limit_arm_all(struct vc_run *run)
{
	const struct vc_side *side = &run->program->sides[run->side];

	for (uint32_t p = 0; p < side->pool_count; p++) {
		struct ibv_srq_attr attr = {.srq_limit = side->limits[p]};
		int error = 0;

		if (side->limits[p])
			error = ibv_modify_srq(run->endpoint->srqs[p], &attr, IBV_SRQ_LIMIT);
		if (error)
			return vc_report_wrong(run->report, "SRQ_LIMIT of %u: %s", attr.srq_limit,
					       strerror(error));
	}
	return VC_RIGHT;
}
