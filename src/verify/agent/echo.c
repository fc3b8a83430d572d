/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The answering side keeps no account: it sends back what comes, until the relay says that it is
 * over. It looks there only when nothing has come for long, for that takes as long as a message. A
 * message without an answer is given up soon, for on a network that loses some that must not cost
 * much; the next one that has none is waited for twice as long, since an answering side that stands
 * still for some seconds has lost nothing.
 */
#include "verify/agent/echo.h"

#include "base/clock.h"

#include <arpa/inet.h>

#define AGAIN_NS       (100 * ROCE_NS_PER_MS)
#define AGAIN_NS_MAX   (3200 * ROCE_NS_PER_MS)
#define LOST_PART      100 /* more than one of so many is too many, */
#define LOST_FREE      10  /* but for the first ones */
#define POLLS_PER_LOOK 8192
#define PROGRESS_EVERY 1024

static bool is_send(const struct va_echo *e)
{
	return e->request.opcode == IBV_WR_SEND_WITH_IMM;
}

static void post_receive(struct va_run *run, struct va_echo *e)
{
	bool is_ud = e->endpoint->ah != NULL;

	va_post_receive(run, e->endpoint, e->in, is_ud ? 0 : VA_GRH_BYTES,
			is_send(e) ? e->size + (is_ud ? VA_GRH_BYTES : 0) : 0, 0);
}

static void post_receives(struct va_run *run, struct va_echo *e)
{
	for (uint32_t i = 0; i < VA_ECHO_RECEIVES; i++)
		post_receive(run, e);
	va_barrier(run, "ready");
}

static void send_number(struct va_run *run, struct va_echo *e, uint32_t number)
{
	e->request.imm = number;
	va_post(run, e->endpoint, &e->request);
}

static void take_own(struct va_run *run, struct va_echo *e)
{
	struct ibv_wc wc;

	va_wait_success(run, e->endpoint->send_cq, "a message", &wc);
}

/* False: nothing was there. */
static bool take_number(struct va_run *run, struct va_echo *e, uint32_t *out)
{
	uint32_t expected = e->size + (e->endpoint->ah ? VA_GRH_BYTES : 0);
	struct ibv_wc wc;
	int n = ibv_poll_cq(e->endpoint->recv_cq, 1, &wc);

	if (n < 0)
		va_fail(run, "ibv_poll_cq: %d", n);
	if (!n)
		return false;
	va_must_succeed(run, &wc, "a receive");
	if (wc.byte_len != expected || !(wc.wc_flags & IBV_WC_WITH_IMM))
		va_fail(run, "a message of %u B came, expected %u and an immediate", wc.byte_len,
			expected);
	*out = ntohl(wc.imm_data);
	return true;
}

/* True: the answer to `number` came in time. Others that come are late. */
static bool await_number(struct va_run *run, struct va_echo *e, uint32_t number, roce_ns_t wait_ns,
			 roce_ns_t *out_at)
{
	roce_ns_t give_up = 0;
	uint32_t found;

	for (uint32_t i = 1;; i++) {
		if (take_number(run, e, &found)) {
			*out_at = roce_clock_now();
			post_receive(run, e);
			if (found == number)
				return true;
		}
		if (i % 1024)
			continue;
		if (!give_up)
			give_up = roce_clock_now() + wait_ns;
		else if (roce_clock_now() > give_up)
			return false;
	}
}

static void must_not_be_many(struct va_run *run, const struct va_echo *e, uint64_t of)
{
	if (e->lost > LOST_FREE && e->lost * LOST_PART > of)
		va_fail(run,
			"%llu of %llu messages, or their answers, were lost: more than one in %d",
			(unsigned long long)e->lost, (unsigned long long)of, LOST_PART);
}

/* With a duration the warm-up tells how many there is time for. */
static void fit_total(struct va_echo *e, roce_ns_t warmup_ns)
{
	double fits =
		(double)e->duration_ns * (double)e->warmup / (double)(warmup_ns ? warmup_ns : 1);

	if (!e->duration_ns)
		return;
	if (fits < (double)e->warmup)
		fits = (double)e->warmup;
	if (fits < (double)(e->total - e->warmup))
		e->total = e->warmup + (uint64_t)fits;
}

void va_echo_ask(struct va_run *run, struct va_echo *e)
{
	roce_ns_t again_ns = AGAIN_NS;
	roce_ns_t start;

	post_receives(run, e);
	start = roce_clock_now(); /* the sides have met, which is no part of the warm-up */
	for (uint64_t i = 0; i < e->total; i++) {
		roce_ns_t begun = roce_clock_now();
		roce_ns_t ended = begun;
		bool is_answered;

		if (i == e->warmup)
			fit_total(e, begun - start);
		send_number(run, e, (uint32_t)i);
		is_answered = await_number(run, e, (uint32_t)i, again_ns, &ended);
		take_own(run, e);
		if (!is_answered) {
			again_ns = again_ns < AGAIN_NS_MAX ? 2 * again_ns : AGAIN_NS_MAX;
			e->lost++;
			must_not_be_many(run, e, e->total);
		} else {
			again_ns = AGAIN_NS;
			if (i >= e->warmup)
				va_samples_add(e->samples, (ended - begun) / 2);
		}
		if (i % PROGRESS_EVERY == 0)
			va_progress(run, (double)i / (double)e->total);
	}
	va_send(run, json_string("over"));
}

void va_echo_answer(struct va_run *run, struct va_echo *e)
{
	uint32_t number;

	post_receives(run, e);
	for (uint32_t i = 1;; i++) {
		if (take_number(run, e, &number)) {
			i = 0;
			post_receive(run, e);
			send_number(run, e, number);
			take_own(run, e);
		} else if (i % POLLS_PER_LOOK == 0 && va_is_heard(run)) {
			break;
		}
	}
	json_decref(va_receive(run));
}
