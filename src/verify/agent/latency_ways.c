/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a message of kind `latency` is timed: one-sided from post to completion, WRITEs in turn, and
 * messages that are answered. The bytes that came last are compared.
 */
#include "verify/agent/latency.h"

#include "verify/agent/echo.h"

#include "base/clock.h"

#include <string.h>

#define PROGRESS_EVERY	1024
#define LOOKS_PER_POLL	8
#define TURNS_PER_CLOCK 1024

/* ---- how many ---- */

/* With a duration the initiator says after the warm-up how many there is time for. */
static void agree_on_total(struct va_run *run, struct va_latency *l, roce_ns_t warmup_ns)
{
	json_t *heard;
	uint64_t count;

	if (!l->duration_ns)
		return;
	if (run->is_initiator) {
		count = (uint64_t)((double)l->duration_ns * (double)l->warmup /
				   (double)(warmup_ns ? warmup_ns : 1));
		count = count < VA_LATENCY_WARMUP_MIN ? VA_LATENCY_WARMUP_MIN : count;
		if (count < l->total - l->warmup)
			l->total = l->warmup + count;
		va_send(run, json_integer((json_int_t)l->total));
	} else {
		heard = va_receive(run);
		l->total = (uint64_t)json_integer_value(heard);
		json_decref(heard);
	}
	va_barrier(run, "how many"); /* or the first message would wait for the relay */
}

/* The messages one after the other: `one` does the i-th, and returns how long it took. */
static void measure(struct va_run *run, struct va_latency *l,
		    roce_ns_t (*one)(struct va_run *run, struct va_latency *l, uint64_t i))
{
	roce_ns_t begun = roce_clock_now();

	for (uint64_t i = 0; i < l->total; i++) {
		roce_ns_t took;

		if (i == l->warmup)
			agree_on_total(run, l, roce_clock_now() - begun);
		took = one(run, l, i);
		if (!run->is_initiator)
			continue;
		if (i >= l->warmup)
			va_samples_add(&l->samples, took);
		if (i % PROGRESS_EVERY == 0)
			va_progress(run, (double)i / (double)l->total);
	}
}

/* ---- one-sided ---- */

static void check_atomic(struct va_run *run, const struct va_latency *l, uint64_t i)
{
	uint64_t found;

	memcpy(&found, l->in.at, sizeof(found));
	if (found != i)
		va_fail(run, "atomic %llu returned %llu, expected %llu", (unsigned long long)i,
			(unsigned long long)found, (unsigned long long)i);
}

static roce_ns_t do_one_sided(struct va_run *run, struct va_latency *l, uint64_t i)
{
	bool is_in = l->opcode != IBV_WR_RDMA_WRITE;
	struct va_request request = {
		.opcode = l->opcode,
		.local = is_in ? &l->in : &l->out,
		.length = l->size,
		.remote = &l->remote,
		.wr_id = i,
		.flags = l->flags,
		/* each compare-and-swap finds what the last one left */
		.compare_add = l->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 1 : i,
		.swap = i + 1,
	};
	roce_ns_t begun = roce_clock_now();
	roce_ns_t took;
	struct ibv_wc wc;

	va_post(run, &l->endpoint, &request);
	va_wait_success(run, l->endpoint.send_cq, l->op, &wc);
	took = roce_clock_now() - begun;
	if (wc.wr_id != i)
		va_fail(run, "completion %llu has wr_id %llu", (unsigned long long)i,
			(unsigned long long)wc.wr_id);
	if (l->is_atomic)
		check_atomic(run, l, i);
	return took;
}

/* ---- WRITE in turn ---- */

/* Never 0, with which memory begins, and never what it was the turn before. */
static uint8_t turn_byte(uint64_t i)
{
	return (uint8_t)(i % 255 + 1);
}

static void take_own(struct va_run *run, struct va_latency *l)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(l->endpoint.send_cq, 1, &wc);

	if (n < 0)
		va_fail(run, "ibv_poll_cq: %d", n);
	if (!n)
		return;
	va_must_succeed(run, &wc, "write");
	l->under_way--;
}

static bool is_there(const struct va_latency *l, uint64_t i)
{
	const volatile uint8_t *last = l->in.at + l->size - 1;

	for (int k = 0; k < LOOKS_PER_POLL; k++) {
		if (*last == turn_byte(i))
			return true;
	}
	return false;
}

/* Until the i-th WRITE of the other side is in memory and our own are acknowledged. Polling goes on
 * all the time: where the adapter is software that is what makes it receive. */
static void await_turn(struct va_run *run, struct va_latency *l, uint64_t i)
{
	roce_ns_t deadline = 0;

	for (;;) {
		for (int k = 0; k < TURNS_PER_CLOCK; k++) {
			if (is_there(l, i) && !l->under_way)
				return;
			take_own(run, l);
		}
		if (!deadline)
			deadline = roce_clock_now() + VA_STALL_S * ROCE_NS_PER_S;
		else if (roce_clock_now() > deadline)
			va_fail(run, "WRITE %llu %s in %d s", (unsigned long long)i,
				l->under_way ? "was not acknowledged" : "did not come", VA_STALL_S);
	}
}

static void write_turn(struct va_run *run, struct va_latency *l, uint64_t i)
{
	struct va_request request = {
		.opcode = IBV_WR_RDMA_WRITE,
		.local = &l->out,
		.length = l->size,
		.remote = &l->remote,
		.flags = l->flags,
	};

	l->out.at[l->size - 1] = turn_byte(i);
	l->under_way++;
	va_post(run, &l->endpoint, &request);
}

static roce_ns_t do_in_turn(struct va_run *run, struct va_latency *l, uint64_t i)
{
	roce_ns_t begun = roce_clock_now();

	if (run->is_initiator)
		write_turn(run, l, i);
	await_turn(run, l, i);
	if (!run->is_initiator)
		write_turn(run, l, i);
	return (roce_clock_now() - begun) / 2;
}

static void finish_turns(struct va_run *run, struct va_latency *l)
{
	await_turn(run, l, l->total - 1);
	va_pattern_must(run, l->in.at, l->size - 1, va_seed(run, false), 0, "what WRITE left");
}

/* ---- what is left ---- */

void va_latency_check_target(struct va_run *run, struct va_latency *l)
{
	uint64_t found;

	if (va_is(run, "op", "write") && !l->is_in_turn)
		va_pattern_must(run, l->in.at, l->size, va_seed(run, false), 0, "what WRITE left");
	if (!l->is_atomic)
		return;
	memcpy(&found, l->in.at, sizeof(found));
	if (found != l->total)
		va_fail(run, "%s left %llu, expected %llu", va_word(run, "op"),
			(unsigned long long)found, (unsigned long long)l->total);
}

/* ---- two-sided ---- */

static void receive(struct va_run *run, struct va_latency *l)
{
	va_post_receive(run, &l->endpoint, &l->in, VA_GRH_BYTES, l->is_write_imm ? 0 : l->size, 0);
}

static void send_one(struct va_run *run, struct va_latency *l)
{
	struct va_request request = {
		.opcode = l->opcode,
		.local = &l->out,
		.length = l->size,
		.flags = l->flags,
		.remote = l->is_write_imm ? &l->remote : NULL,
		.remote_offset = VA_GRH_BYTES,
	};
	va_post(run, &l->endpoint, &request);
}

static void take_one(struct va_run *run, struct va_latency *l)
{
	struct ibv_wc wc;

	va_wait_success(run, l->endpoint.recv_cq, "a receive", &wc);
	if (wc.byte_len != l->size)
		va_fail(run, "a message of %u B came, expected %u", wc.byte_len, l->size);
}

static roce_ns_t do_two_sided(struct va_run *run, struct va_latency *l, uint64_t i)
{
	roce_ns_t begun = roce_clock_now();
	roce_ns_t took;
	struct ibv_wc wc;

	if (run->is_initiator)
		send_one(run, l);
	take_one(run, l);
	took = (roce_clock_now() - begun) / 2;
	if (i + 1 < l->total)
		receive(run, l);
	if (!run->is_initiator)
		send_one(run, l);
	va_wait_success(run, l->endpoint.send_cq, "a SEND", &wc);
	return took;
}

static void measure_lossy(struct va_run *run, struct va_latency *l)
{
	struct va_echo echo = {
		.endpoint = &l->endpoint,
		.in = &l->in,
		.request =
			{
				.opcode = l->is_write_imm ? IBV_WR_RDMA_WRITE_WITH_IMM
							  : IBV_WR_SEND_WITH_IMM,
				.local = &l->out,
				.length = l->size,
				.flags = l->flags,
				.remote = l->is_write_imm ? &l->remote : NULL,
				.remote_offset = VA_GRH_BYTES,
			},
		.size = l->size,
		.warmup = l->warmup,
		.total = l->total,
		.duration_ns = l->duration_ns,
		.samples = &l->samples,
	};

	(run->is_initiator ? va_echo_ask : va_echo_answer)(run, &echo);
	l->lost = echo.lost;
	l->total = echo.total;
}

void va_latency_measure(struct va_run *run, struct va_latency *l)
{
	if (l->is_in_turn) {
		measure(run, l, do_in_turn);
		finish_turns(run, l);
	} else if (l->is_lossy) {
		measure_lossy(run, l);
		va_pattern_must(run, l->in.at + VA_GRH_BYTES, l->size, va_seed(run, false), 0,
				"what a message brought");
	} else if (l->is_two_sided) {
		receive(run, l);
		va_barrier(run, "ready");
		measure(run, l, do_two_sided);
		va_pattern_must(run, l->in.at + VA_GRH_BYTES, l->size, va_seed(run, false), 0,
				"what SEND brought");
	} else if (run->is_initiator) {
		measure(run, l, do_one_sided);
		if (va_is(run, "op", "read"))
			va_pattern_must(run, l->in.at, l->size, va_seed(run, false), 0,
					"what READ brought");
	} else if (l->duration_ns) {
		agree_on_total(run, l, 0);
	}
}
