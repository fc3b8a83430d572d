/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No completion is ever left without a wake-up. The contract of verbs: a program arms, polls until
 * nothing is left, and sleeps on the channel; whatever arrives between any two of its steps, either
 * a poll finds it or the channel is readable. Here every interleaving of those steps with arrivals,
 * with moderation and its timer, with solicited-only arming, is walked through on the real queue,
 * channel and transport timer, one step after the other in one thread (each step is atomic in the
 * product: it holds the device lock).
 */
#include "verbs/loop_env.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define ARRIVALS_MAX 4u
#define PERIOD_US    50u
#define CQ_DEPTH     8u
#define STEPS	     14u

struct fixture {
	struct loop_env env;
	struct roce_context ctx;
	struct roce_comp_channel channel;
	struct roce_verbs_cq cq;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	loop_env_init(&f->env, 4);
	assert_int_equal(roce_context_init(&f->ctx, &f->env.dev, f), 0);
	assert_int_equal(roce_comp_channel_init(&f->channel, &f->ctx), 0);
	fcntl(f->channel.events.fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(roce_verbs_cq_init(&f->cq, &f->ctx, CQ_DEPTH, &f->channel, NULL, f), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(roce_verbs_cq_fini(&f->cq), 0);
	assert_int_equal(roce_deadline(&f->env.dev.transport), ROCE_NEVER);
	assert_int_equal(roce_comp_channel_fini(&f->channel), 0);
	roce_context_fini(&f->ctx);
	loop_env_fini(&f->env);
	free(f);
	return 0;
}

static bool is_readable(const struct fixture *f)
{
	struct pollfd fd = {.fd = f->channel.events.fd, .events = POLLIN};

	return poll(&fd, 1, 0) == 1;
}

/* A completion as a queue pair of the transport would write it. */
static void arrive(struct fixture *f, bool is_solicited, enum roce_wc_status status)
{
	struct roce_cqe cqe = {.status = (uint8_t)status};

	pthread_mutex_lock(&f->env.dev.lock);
	f->env.now += 10;
	cqe.timestamp_ns = f->env.now;
	assert_true(roce_cq_push(&f->cq.cq, &cqe, is_solicited));
	roce_cq_moderate_follow(&f->env.dev.transport, &f->cq.cq);
	pthread_mutex_unlock(&f->env.dev.lock);
}

static void run_timers(struct fixture *f, roce_ns_t now)
{
	pthread_mutex_lock(&f->env.dev.lock);
	f->env.now = now;
	roce_on_deadline(&f->env.dev.transport, now);
	pthread_mutex_unlock(&f->env.dev.lock);
}

/* The program's side as a machine: each call is one step that could be interrupted before. */
struct program {
	struct fixture *f;
	bool solicited_only;
	bool arms_last; /* the classic mistake: polls, then arms, then sleeps */
	enum { PROGRAM_ARM, PROGRAM_POLL, PROGRAM_SLEEP, PROGRAM_ACK } at;
	uint32_t taken;
	uint32_t events;
};

/* False when it sleeps and nothing wakes it. */
static bool step(struct program *p)
{
	struct roce_verbs_cq *from;
	struct roce_cqe cqe;

	switch (p->at) {
	case PROGRAM_ARM:
		roce_verbs_cq_arm(&p->f->cq, p->solicited_only);
		p->at = p->arms_last ? PROGRAM_SLEEP : PROGRAM_POLL;
		return true;
	case PROGRAM_POLL:
		if (roce_verbs_cq_poll(&p->f->cq, &cqe, 1) == 1)
			p->taken++;
		else
			p->at = p->arms_last ? PROGRAM_ARM : PROGRAM_SLEEP;
		return true;
	case PROGRAM_SLEEP:
		if (roce_comp_channel_get(&p->f->channel, &from) != 0)
			return false;
		assert_ptr_equal(from, &p->f->cq);
		p->events++;
		p->at = PROGRAM_ACK;
		return true;
	case PROGRAM_ACK:
		roce_event_source_ack(&p->f->channel.events, &p->f->cq.comp_events, 1);
		p->at = p->arms_last ? PROGRAM_POLL : PROGRAM_ARM;
		return true;
	}
	return false;
}

static void sleep_at_last(struct program *p)
{
	while (step(p))
		;
}

/* Runs one schedule: bit i of `schedule` says whether the next step is an arrival (1) or the
 * program's (0); when both are done the program runs on until it sleeps. How many completions it
 * sleeps over for good. */
static uint32_t run_schedule(struct fixture *f, struct program p, uint32_t schedule)
{
	struct roce_transport *t = &f->env.dev.transport;
	uint32_t arrived = 0;
	uint32_t missed;

	p.f = f;
	for (uint32_t i = 0; i < STEPS; i++) {
		if (!(schedule >> i & 1)) {
			(void)step(&p);
		} else if (arrived < ARRIVALS_MAX) {
			arrive(f, p.solicited_only, ROCE_WC_SUCCESS);
			arrived++;
		}
	}
	sleep_at_last(&p);
	/* What moderation holds back may wait for its period, and no longer. */
	if (roce_deadline(t) != ROCE_NEVER) {
		run_timers(f, f->env.now + PERIOD_US * ROCE_NS_PER_US);
		sleep_at_last(&p);
	}
	missed = arrived - p.taken;
	/* The next program finds an empty queue that nobody has armed. */
	while (roce_verbs_cq_poll(&f->cq, &(struct roce_cqe){0}, 1) == 1)
		;
	f->cq.cq.arm = ROCE_CQ_DISARMED;
	assert_false(is_readable(f));
	return missed;
}

static void run_all(struct fixture *f, struct program p, bool must_miss)
{
	uint32_t missed = 0;

	for (uint32_t schedule = 0; schedule < 1u << STEPS; schedule++) {
		missed += run_schedule(f, p, schedule);
		if (missed && !must_miss)
			fail_msg("schedule 0x%x: %u completions are slept over", schedule, missed);
	}
	assert_int_equal(missed != 0, must_miss);
}

static void arm_poll__case_039_every_interleaving(void **state)
{
	run_all(*state, (struct program){0}, false);
	run_all(*state, (struct program){.solicited_only = true}, false);
}

static void arm_poll__every_interleaving_with_moderation(void **state)
{
	struct fixture *f = *state;

	for (uint16_t count = 2; count <= ARRIVALS_MAX + 1; count++) {
		roce_verbs_cq_moderate(&f->cq, count, PERIOD_US);
		run_all(f, (struct program){0}, false);
	}
}

/* That these walks would find a lost wake-up: a program that arms too late has one. */
static void arm_poll__too_late_is_found(void **state)
{
	run_all(*state, (struct program){.arms_last = true, .at = PROGRAM_POLL}, true);
}

/* Only solicited completions and failures wake a program that asked for those. */
static void arm__solicited_only(void **state)
{
	struct fixture *f = *state;
	struct program p = {.f = f, .solicited_only = true};

	while (step(&p))
		;
	arrive(f, false, ROCE_WC_SUCCESS);
	assert_false(is_readable(f));
	arrive(f, true, ROCE_WC_SUCCESS);
	assert_true(is_readable(f));
	while (step(&p))
		;
	assert_int_equal(p.taken, 2);
	arrive(f, false, ROCE_WC_SUCCESS);
	assert_false(is_readable(f));
	arrive(f, false, ROCE_WC_WR_FLUSH_ERR);
	assert_true(is_readable(f));
	while (step(&p))
		;
	assert_int_equal(p.taken, 4);
	assert_int_equal(p.events, 2);
}

/* One event for many, and the last ones are told of when the period is over, not before. */
static void moderate__count_and_period(void **state)
{
	struct fixture *f = *state;
	struct program p = {.f = f};
	struct roce_transport *t = &f->env.dev.transport;
	roce_ns_t first;

	roce_verbs_cq_moderate(&f->cq, 4, PERIOD_US);
	while (step(&p))
		;
	for (int i = 0; i < 3; i++) {
		arrive(f, false, ROCE_WC_SUCCESS);
		assert_false(is_readable(f));
	}
	arrive(f, false, ROCE_WC_SUCCESS);
	assert_true(is_readable(f));
	assert_int_equal(roce_deadline(t), ROCE_NEVER);
	while (step(&p))
		;
	assert_int_equal(p.taken, 4);
	assert_int_equal(p.events, 1);

	arrive(f, false, ROCE_WC_SUCCESS);
	first = f->env.now;
	arrive(f, false, ROCE_WC_SUCCESS);
	assert_int_equal(roce_deadline(t), first + PERIOD_US * ROCE_NS_PER_US);
	run_timers(f, first + PERIOD_US * ROCE_NS_PER_US - 1);
	assert_false(is_readable(f));
	run_timers(f, first + PERIOD_US * ROCE_NS_PER_US);
	assert_true(is_readable(f));
	while (step(&p))
		;
	assert_int_equal(p.taken, 6);
	assert_int_equal(p.events, 2);
}

/* What was held back when moderation is switched off is told of at once. */
static void moderate__off_tells(void **state)
{
	struct fixture *f = *state;
	struct program p = {.f = f};

	roce_verbs_cq_moderate(&f->cq, 4, PERIOD_US);
	while (step(&p))
		;
	arrive(f, false, ROCE_WC_SUCCESS);
	assert_false(is_readable(f));
	roce_verbs_cq_moderate(&f->cq, 0, 0);
	assert_true(is_readable(f));
	assert_int_equal(roce_deadline(&f->env.dev.transport), ROCE_NEVER);
	while (step(&p))
		;
	arrive(f, false, ROCE_WC_SUCCESS);
	assert_true(is_readable(f));
	while (step(&p))
		;
}

/* A queue that goes while its timer runs takes it along. */
static void moderate__queue_goes(void **state)
{
	struct fixture *f = *state;
	struct roce_verbs_cq other;

	assert_int_equal(roce_verbs_cq_init(&other, &f->ctx, 4, &f->channel, NULL, f), 0);
	roce_verbs_cq_moderate(&other, 4, PERIOD_US);
	roce_verbs_cq_arm(&other, false);
	pthread_mutex_lock(&f->env.dev.lock);
	assert_true(roce_cq_push(&other.cq, &(struct roce_cqe){.timestamp_ns = 5}, false));
	roce_cq_moderate_follow(&f->env.dev.transport, &other.cq);
	pthread_mutex_unlock(&f->env.dev.lock);
	assert_int_not_equal(roce_deadline(&f->env.dev.transport), ROCE_NEVER);
	assert_int_equal(roce_verbs_cq_fini(&other), 0);
	assert_int_equal(roce_deadline(&f->env.dev.transport), ROCE_NEVER);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(arm_poll__case_039_every_interleaving),
		TEST(arm_poll__every_interleaving_with_moderation),
		TEST(arm_poll__too_late_is_found),
		TEST(arm__solicited_only),
		TEST(moderate__count_and_period),
		TEST(moderate__off_tells),
		TEST(moderate__queue_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
