/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `events`: programs that sleep must be woken. Armed completion queues: the two sides answer
 * each other, each arms before it says anything that the other answers, so each message must make
 * an event. Solicited ones: the target sleeps through messages that do not ask for an event, and is
 * woken by the one that does. The limit of a shared receive queue: told when it is reached, and
 * not before.
 */
#include "verify/agent/kind.h"
#include "verify/agent/work.h"

#include <poll.h>
#include <string.h>

#define MESSAGE_BYTES 64
#define EVENT_MS      5000
#define UNSOLICITED   3	 /* messages before the one that wakes */
#define RECEIVES      32 /* of the shared receive queue, and its limit below */
#define LIMIT	      16
#define EARLY_MS      2

struct events {
	struct va_device device;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq; /* of receives */
	struct ibv_srq *srq;
	struct va_endpoint endpoint;
	struct va_buffer memory; /* what is sent, and behind it what is received */
	uint64_t received;
	uint32_t unacknowledged;
};

static bool is_srq(const struct va_run *run)
{
	return va_is(run, "what", "srq_limit");
}

static void set_up(struct va_run *run, struct events *e)
{
	struct ibv_srq_init_attr srq = {.attr = {.max_wr = RECEIVES, .max_sge = 1}};
	struct va_endpoint_config config = {
		.send_depth = RECEIVES,
		.receive_depth = RECEIVES,
	};

	*e = (struct events){0};
	va_device_open(run, VA_ANY_FAMILY, &e->device);
	if (is_srq(run) && e->device.attr.max_srq < 1)
		va_skip(run, "the device has no shared receive queues");
	e->channel = ibv_create_comp_channel(e->device.context);
	va_need(run, e->channel != NULL, "ibv_create_comp_channel");
	e->cq = ibv_create_cq(e->device.context, 2 * RECEIVES, NULL, e->channel, 0);
	va_need(run, e->cq != NULL, "ibv_create_cq");
	if (is_srq(run)) {
		e->srq = ibv_create_srq(e->device.pd, &srq);
		va_need(run, e->srq != NULL, "ibv_create_srq");
	}
	config.recv_cq = e->cq;
	config.srq = e->srq;
	va_endpoint_create(run, &e->device, &config, &e->endpoint);
	va_buffer_create(run, &e->device, (size_t)2 * MESSAGE_BYTES, VA_ACCESS_ALL, &e->memory);
	va_endpoint_connect(run, &e->endpoint);
}

static void tear_down(struct va_run *run, struct events *e)
{
	va_endpoint_destroy(run, &e->endpoint);
	va_buffer_destroy(run, &e->memory);
	if (e->srq)
		va_need(run, !ibv_destroy_srq(e->srq), "ibv_destroy_srq");
	ibv_ack_cq_events(e->cq, e->unacknowledged);
	va_need(run, !ibv_destroy_cq(e->cq), "ibv_destroy_cq");
	va_need(run, !ibv_destroy_comp_channel(e->channel), "ibv_destroy_comp_channel");
	va_device_close(run, &e->device);
}

static void send_one(struct va_run *run, struct events *e, uint64_t number, unsigned int flags)
{
	struct va_request request = {
		.opcode = IBV_WR_SEND,
		.local = &e->memory,
		.length = MESSAGE_BYTES,
		.wr_id = number,
		.flags = flags,
	};
	struct ibv_wc wc;

	va_pattern_fill(e->memory.at, MESSAGE_BYTES, run->seed, number);
	va_post(run, &e->endpoint, &request);
	va_wait_success(run, e->endpoint.send_cq, "a SEND", &wc);
}

static void receive_one(struct va_run *run, struct events *e)
{
	va_post_receive(run, &e->endpoint, &e->memory, MESSAGE_BYTES, MESSAGE_BYTES, 0);
}

static void arm(struct va_run *run, struct events *e, bool is_solicited_only)
{
	int rc = ibv_req_notify_cq(e->cq, is_solicited_only);

	if (rc)
		va_fail(run, "ibv_req_notify_cq: %s", strerror(rc));
}

static bool is_readable(int fd, int ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, ms) == 1;
}

/* Sleeps until the armed queue makes its event. */
static void sleep_until_event(struct va_run *run, struct events *e, const char *what)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	if (!is_readable(e->channel->fd, EVENT_MS)) {
		if (ibv_poll_cq(e->cq, 1, &wc) == 1)
			va_fail(run, "no event of %s %llu in %d s, and its completion is there",
				what, (unsigned long long)e->received, EVENT_MS / 1000);
		va_fail(run, "no event of %s %llu in %d s, and no completion", what,
			(unsigned long long)e->received, EVENT_MS / 1000);
	}
	va_need(run, !ibv_get_cq_event(e->channel, &cq, &context), "ibv_get_cq_event");
	e->unacknowledged++;
	if (cq != e->cq)
		va_fail(run, "an event names another completion queue");
}

/* The next completion must be there: an event has told of it. */
static void take_one(struct va_run *run, struct events *e, const char *what)
{
	struct ibv_wc wc;

	if (ibv_poll_cq(e->cq, 1, &wc) != 1)
		va_fail(run, "an event came before %s %llu", what, (unsigned long long)e->received);
	va_must_succeed(run, &wc, "a receive");
	va_pattern_must(run, e->memory.at + MESSAGE_BYTES, MESSAGE_BYTES, run->seed, e->received++,
			"what a message brought");
}

static void must_be_asleep(struct va_run *run, struct events *e)
{
	if (is_readable(e->channel->fd, 0))
		va_fail(run, "an event more than were armed");
}

/* ---- each message ---- */

static void answer_each_other(struct va_run *run, struct events *e)
{
	uint64_t rounds = va_number(run, "rounds");

	receive_one(run, e);
	arm(run, e, false);
	va_barrier(run, "ready");
	for (uint64_t i = 0; i < rounds; i++) {
		if (run->is_initiator)
			send_one(run, e, i, 0);
		sleep_until_event(run, e, "message");
		take_one(run, e, "message");
		if (i + 1 < rounds) {
			receive_one(run, e);
			arm(run, e, false);
		}
		if (!run->is_initiator)
			send_one(run, e, i, 0);
		if (i % 64 == 0)
			va_progress(run, (double)i / (double)rounds);
	}
	must_be_asleep(run, e);
}

/* ---- solicited ones ---- */

static void wake(struct va_run *run, struct events *e)
{
	uint64_t rounds = va_number(run, "rounds");

	for (uint64_t i = 0; i < rounds; i++) {
		va_barrier(run, "asleep");
		for (uint64_t m = 0; m <= UNSOLICITED; m++)
			send_one(run, e, i * (UNSOLICITED + 1) + m,
				 m == UNSOLICITED ? IBV_SEND_SOLICITED : 0);
		va_progress(run, (double)i / (double)rounds);
	}
}

static void be_woken(struct va_run *run, struct events *e)
{
	uint64_t rounds = va_number(run, "rounds");

	for (uint64_t i = 0; i < rounds; i++) {
		for (uint64_t m = 0; m <= UNSOLICITED; m++)
			va_post_receive(run, &e->endpoint, &e->memory, MESSAGE_BYTES, MESSAGE_BYTES,
					m);
		arm(run, e, true);
		va_barrier(run, "asleep");
		sleep_until_event(run, e, "the solicited message after");
		for (uint64_t m = 0; m <= UNSOLICITED; m++) {
			struct ibv_wc wc;

			if (ibv_poll_cq(e->cq, 1, &wc) != 1)
				va_fail(run,
					"an event came after %llu messages, and only the %d. was "
					"solicited",
					(unsigned long long)m, UNSOLICITED + 1);
			va_must_succeed(run, &wc, "a receive");
			e->received++;
		}
	}
	must_be_asleep(run, e);
}

/* ---- the limit of a shared receive queue ---- */

static void use_up(struct va_run *run, struct events *e)
{
	uint64_t rounds = va_number(run, "rounds");

	for (uint64_t i = 0; i < rounds; i++) {
		va_barrier(run, "filled");
		for (uint64_t m = 0; m < LIMIT / 2; m++)
			send_one(run, e, m, 0);
		va_barrier(run, "half");
		va_barrier(run, "still quiet");
		for (uint64_t m = LIMIT / 2; m < RECEIVES; m++)
			send_one(run, e, m, 0);
		va_progress(run, (double)i / (double)rounds);
	}
}

/* Others than the limit's are none of this case's business. */
static bool is_limit_told(struct va_run *run, struct events *e, int ms)
{
	while (is_readable(e->device.context->async_fd, ms)) {
		struct ibv_async_event event;
		bool is_it;

		va_need(run, !ibv_get_async_event(e->device.context, &event),
			"ibv_get_async_event");
		is_it = event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED &&
			event.element.srq == e->srq;
		ibv_ack_async_event(&event);
		if (is_it)
			return true;
	}
	return false;
}

static void post_shared(struct va_run *run, struct events *e)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)e->memory.at + MESSAGE_BYTES,
		.length = MESSAGE_BYTES,
		.lkey = e->memory.mr->lkey,
	};
	struct ibv_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
	struct ibv_recv_wr *bad;
	int rc = ibv_post_srq_recv(e->srq, &wr, &bad);

	if (rc)
		va_fail(run, "ibv_post_srq_recv: %s", strerror(rc));
}

static void be_told(struct va_run *run, struct events *e)
{
	struct ibv_srq_attr attr = {.srq_limit = LIMIT};
	uint64_t rounds = va_number(run, "rounds");
	struct ibv_wc wc;

	for (uint64_t i = 0; i < rounds; i++) {
		for (int m = 0; m < RECEIVES; m++)
			post_shared(run, e);
		va_need(run, !ibv_modify_srq(e->srq, &attr, IBV_SRQ_LIMIT), "ibv_modify_srq");
		va_barrier(run, "filled");
		va_barrier(run, "half");
		if (is_limit_told(run, e, EARLY_MS))
			va_fail(run,
				"the limit of %d receives was told of when more than those were "
				"left",
				LIMIT);
		va_barrier(run, "still quiet");
		for (int m = 0; m < RECEIVES; m++)
			va_wait_success(run, e->cq, "a receive of the shared queue", &wc);
		if (!is_limit_told(run, e, EVENT_MS))
			va_fail(run, "no event of the limit of %d receives in %d s, round %llu",
				LIMIT, EVENT_MS / 1000, (unsigned long long)i);
	}
}

static void run_side(struct va_run *run)
{
	struct events e;

	set_up(run, &e);
	if (va_is(run, "what", "armed"))
		answer_each_other(run, &e);
	else if (is_srq(run))
		(run->is_initiator ? use_up : be_told)(run, &e);
	else
		(run->is_initiator ? wake : be_woken)(run, &e);
	va_value(run, "rounds", (double)va_number(run, "rounds"));
	va_barrier(run, "over");
	tear_down(run, &e);
}

void va_events_initiator(struct va_run *run)
{
	run_side(run);
}

void va_events_target(struct va_run *run)
{
	run_side(run);
}
