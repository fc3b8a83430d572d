/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `latency`. WRITE, READ and atomics: the initiator times each from post to completion, and
 * the target's program sleeps, for these operations need nothing of it. SEND and UD SEND, and WRITE
 * in turn: the two sides answer each other, and half a round trip counts. Whoever waits for a WRITE
 * looks at its last byte, which counts the turns. Where a message may be lost (UD, UC) that is
 * echo.c's.
 *
 * The payload has the pattern of its place: after the last message the receiving side compares
 * every byte, and the sum that FETCH_ADD must have left. With `size_max` it is all done again for
 * each size up to there, which makes the curves; percentiles are those of the first.
 */
#include "verify/agent/echo.h"
#include "verify/agent/kind.h"
#include "verify/agent/measure.h"
#include "verify/agent/work.h"

#include "base/clock.h"

#include <string.h>

#define GRH_BYTES	40
#define PROGRESS_EVERY	1024
#define STEP		8		     /* from a size to the next */
#define BYTES_OF_SIZE	(UINT64_C(64) << 20) /* larger sizes have fewer messages */
#define ITERATIONS_MIN	100
#define WARMUP_MIN	100
#define LOOKS_PER_POLL	8
#define TURNS_PER_CLOCK 1024
#define TARGET_SEED(r)	((r)->seed ^ UINT64_C(0x7a7a7a7a7a7a7a7a))

struct latency {
	struct va_device device;
	struct va_endpoint endpoint;
	struct va_buffer out; /* what this side sends, or others read */
	struct va_buffer in;  /* what arrives */
	struct va_remote remote;
	struct va_samples samples;
	uint32_t size;
	uint64_t warmup;
	uint64_t total; /* with warmup */
	uint64_t duration_ns;
	unsigned int flags;
	enum ibv_wr_opcode opcode;
	uint32_t under_way; /* WRITEs without their completion */
	/* parameters, for the loops: looking one up takes as long as posting */
	const char *op;
	bool is_atomic;
	bool is_write_imm;
	uint64_t lost; /* UD, UC */
};

/* Of all sizes. */
struct curves {
	json_t *p50;
	json_t *p99;
};

static bool is_ud(const struct va_run *run)
{
	return va_is(run, "op", "ud_send");
}

static bool is_atomic(const struct va_run *run)
{
	return va_is(run, "op", "fetch_add") || va_is(run, "op", "cmp_swap");
}

static bool is_write_imm(const struct va_run *run)
{
	return va_is(run, "op", "write_imm");
}

static bool is_two_sided(const struct va_run *run)
{
	return is_ud(run) || va_is(run, "op", "send") || is_write_imm(run);
}

static bool is_in_turn(const struct va_run *run)
{
	return va_is(run, "op", "write") && va_flag(run, "in_turn");
}

static enum ibv_qp_type type_of(const struct va_run *run)
{
	if (is_ud(run))
		return IBV_QPT_UD;
	return va_transport_type(va_word(run, "transport"));
}

/* Messages, and answers to them, that nobody repeats. */
static bool is_lossy(const struct va_run *run)
{
	return is_two_sided(run) && (is_ud(run) || type_of(run) == IBV_QPT_UC);
}

static uint64_t own_seed(const struct va_run *run)
{
	return run->is_initiator ? run->seed : TARGET_SEED(run);
}

static uint64_t peer_seed(const struct va_run *run)
{
	return run->is_initiator ? TARGET_SEED(run) : run->seed;
}

/* Of a size: what takes long is done less often. */
static uint64_t iterations_of(const struct va_run *run, uint32_t size)
{
	uint64_t wanted = va_number(run, "iterations");
	uint64_t most = BYTES_OF_SIZE / (size ? size : 1);

	if (most < ITERATIONS_MIN)
		most = ITERATIONS_MIN;
	if (!va_number(run, "size_max"))
		most = UINT64_MAX; /* a single size has what was asked for */
	return wanted < most ? wanted : most;
}

static void set_up(struct va_run *run, struct latency *l, uint32_t size)
{
	struct va_endpoint_config config = {
		.type = type_of(run),
		.send_depth = 4,
		.receive_depth = VA_ECHO_RECEIVES,
		.by_cm = va_is(run, "connect", "rdma_cm"),
		.mtu_bytes = (uint32_t)va_number(run, "mtu"),
	};

	*l = (struct latency){
		.size = is_atomic(run) ? 8 : size,
		.warmup = va_number(run, "warmup"),
		.duration_ns = va_number(run, "duration"),
		.opcode = is_ud(run) ? IBV_WR_SEND : va_opcode(va_word(run, "op")),
		.op = va_word(run, "op"),
		.is_atomic = is_atomic(run),
		.is_write_imm = is_write_imm(run),
	};
	if (l->duration_ns && l->warmup < WARMUP_MIN)
		l->warmup = WARMUP_MIN; /* which tells how many there is time for */
	l->total = l->warmup + iterations_of(run, l->size);
	if (type_of(run) == IBV_QPT_UC && !is_two_sided(run) && !is_in_turn(run))
		va_skip(run, "UC has no acknowledgement that tells when %s is done",
			va_word(run, "op"));
	va_device_open(run, VA_ANY_FAMILY, &l->device);
	if (is_atomic(run) && l->device.attr.atomic_cap == IBV_ATOMIC_NONE)
		va_skip(run, "the device has no atomics");
	if (l->size <= va_number(run, "inline") && !is_atomic(run) && !va_is(run, "op", "read"))
		config.inline_max = l->size;
	va_endpoint_create(run, &l->device, &config, &l->endpoint);
	if (config.inline_max && l->endpoint.inline_max >= l->size)
		l->flags = IBV_SEND_INLINE;
	va_buffer_create(run, &l->device, l->size, VA_ACCESS_ALL, &l->out);
	va_buffer_create(run, &l->device, l->size + GRH_BYTES, VA_ACCESS_ALL, &l->in);
	va_pattern_fill(l->out.at, l->size, own_seed(run), 0);
	if (is_atomic(run)) {
		memset(l->out.at, 0, l->size);
		memset(l->in.at, 0, l->size);
	}
	va_need(run, va_samples_init(&l->samples, (size_t)(l->total - l->warmup)), "calloc");
	va_endpoint_connect(run, &l->endpoint);
	if (is_ud(run) && l->size > l->endpoint.mtu_bytes)
		va_skip(run, "UD messages end at the path MTU of %u B", l->endpoint.mtu_bytes);
	/* a READ takes what the target has, others bring to where things arrive */
	va_buffer_exchange(run, va_is(run, "op", "read") ? &l->out : &l->in, &l->remote);
}

static void tear_down(struct va_run *run, struct latency *l)
{
	va_samples_fini(&l->samples);
	va_endpoint_destroy(run, &l->endpoint);
	va_buffer_destroy(run, &l->out);
	va_buffer_destroy(run, &l->in);
	va_device_close(run, &l->device);
}

/* ---- how many ---- */

/* With a duration the initiator says after the warm-up how many there is time for. */
static void agree_on_total(struct va_run *run, struct latency *l, roce_ns_t warmup_ns)
{
	json_t *heard;
	uint64_t count;

	if (!l->duration_ns)
		return;
	if (run->is_initiator) {
		count = (uint64_t)((double)l->duration_ns * (double)l->warmup /
				   (double)(warmup_ns ? warmup_ns : 1));
		count = count < WARMUP_MIN ? WARMUP_MIN : count;
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
static void measure(struct va_run *run, struct latency *l,
		    roce_ns_t (*one)(struct va_run *run, struct latency *l, uint64_t i))
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

static void check_atomic(struct va_run *run, const struct latency *l, uint64_t i)
{
	uint64_t found;

	memcpy(&found, l->in.at, sizeof(found));
	if (found != i)
		va_fail(run, "atomic %llu returned %llu, expected %llu", (unsigned long long)i,
			(unsigned long long)found, (unsigned long long)i);
}

static roce_ns_t do_one_sided(struct va_run *run, struct latency *l, uint64_t i)
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

static void take_own(struct va_run *run, struct latency *l)
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

static bool is_there(const struct latency *l, uint64_t i)
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
static void await_turn(struct va_run *run, struct latency *l, uint64_t i)
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

static void write_turn(struct va_run *run, struct latency *l, uint64_t i)
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

static roce_ns_t do_in_turn(struct va_run *run, struct latency *l, uint64_t i)
{
	roce_ns_t begun = roce_clock_now();

	if (run->is_initiator)
		write_turn(run, l, i);
	await_turn(run, l, i);
	if (!run->is_initiator)
		write_turn(run, l, i);
	return (roce_clock_now() - begun) / 2;
}

static void finish_turns(struct va_run *run, struct latency *l)
{
	await_turn(run, l, l->total - 1);
	va_pattern_must(run, l->in.at, l->size - 1, peer_seed(run), 0, "what WRITE left");
}

/* ---- what is left ---- */

static void check_target(struct va_run *run, struct latency *l)
{
	uint64_t found;

	if (va_is(run, "op", "write") && !is_in_turn(run))
		va_pattern_must(run, l->in.at, l->size, peer_seed(run), 0, "what WRITE left");
	if (!is_atomic(run))
		return;
	memcpy(&found, l->in.at, sizeof(found));
	if (found != l->total)
		va_fail(run, "%s left %llu, expected %llu", va_word(run, "op"),
			(unsigned long long)found, (unsigned long long)l->total);
}

/* ---- two-sided ---- */

static void receive(struct va_run *run, struct latency *l)
{
	va_post_receive(run, &l->endpoint, &l->in, GRH_BYTES, l->is_write_imm ? 0 : l->size, 0);
}

static void send_one(struct va_run *run, struct latency *l)
{
	struct va_request request = {
		.opcode = l->opcode,
		.local = &l->out,
		.length = l->size,
		.flags = l->flags,
		.remote = l->is_write_imm ? &l->remote : NULL,
		.remote_offset = GRH_BYTES,
	};
	va_post(run, &l->endpoint, &request);
}

static void take_one(struct va_run *run, struct latency *l)
{
	struct ibv_wc wc;

	va_wait_success(run, l->endpoint.recv_cq, "a receive", &wc);
	if (wc.byte_len != l->size)
		va_fail(run, "a message of %u B came, expected %u", wc.byte_len, l->size);
}

static roce_ns_t do_two_sided(struct va_run *run, struct latency *l, uint64_t i)
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

static void measure_lossy(struct va_run *run, struct latency *l)
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
				.remote_offset = GRH_BYTES,
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

static void measure_side(struct va_run *run, struct latency *l)
{
	if (is_in_turn(run)) {
		measure(run, l, do_in_turn);
		finish_turns(run, l);
	} else if (is_lossy(run)) {
		measure_lossy(run, l);
		va_pattern_must(run, l->in.at + GRH_BYTES, l->size, peer_seed(run), 0,
				"what a message brought");
	} else if (is_two_sided(run)) {
		receive(run, l);
		va_barrier(run, "ready");
		measure(run, l, do_two_sided);
		va_pattern_must(run, l->in.at + GRH_BYTES, l->size, peer_seed(run), 0,
				"what SEND brought");
	} else if (run->is_initiator) {
		measure(run, l, do_one_sided);
		if (va_is(run, "op", "read"))
			va_pattern_must(run, l->in.at, l->size, peer_seed(run), 0,
					"what READ brought");
	} else if (l->duration_ns) {
		agree_on_total(run, l, 0);
	}
}

/* ---- sizes ---- */

/* 0: there is none after it. */
static uint32_t next_size(const struct va_run *run, const struct latency *l)
{
	uint64_t most = va_number(run, "size_max");

	if (is_atomic(run))
		return 0;
	if (is_ud(run) && most > l->endpoint.mtu_bytes)
		most = l->endpoint.mtu_bytes;
	if (l->size >= most)
		return 0;
	return (uint64_t)l->size * STEP < most ? l->size * STEP : (uint32_t)most;
}

static void add_point(json_t *points, const struct latency *l, uint64_t ns)
{
	json_array_append_new(points, json_pack("[I, f]", (json_int_t)l->size, (double)ns / 1e3));
}

static json_t *curve(const char *name, json_t *points)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", name, "x", "size", "x_unit", "B",
			 "unit", "us", "points", points);
}

static uint32_t measure_size(struct va_run *run, uint32_t size, bool is_first,
			     struct curves *curves)
{
	struct latency l;
	uint32_t next;

	set_up(run, &l, size);
	measure_side(run, &l);
	if (is_first) {
		va_report_latency(run, &l.samples);
		if (is_lossy(run))
			va_value(run, "lost", 100 * (double)l.lost / (double)l.total);
		va_detail(run, "inline", json_boolean(l.flags != 0));
		va_detail(run, "mtu", json_integer(l.endpoint.mtu_bytes));
		va_device_report(run, &l.device);
	}
	add_point(curves->p50, &l, va_samples_percentile(&l.samples, 50));
	add_point(curves->p99, &l, va_samples_percentile(&l.samples, 99));
	va_barrier(run, "measured");
	next = next_size(run, &l);
	tear_down(run, &l);
	return next;
}

void va_latency_initiator(struct va_run *run)
{
	struct curves curves = {json_array(), json_array()};
	bool is_first = true;

	for (uint32_t size = (uint32_t)va_number(run, "size"); size; is_first = false)
		size = measure_size(run, size, is_first, &curves);
	if (json_array_size(curves.p50) > 1)
		va_picture(run, "curves",
			   json_pack("[o, o]", curve("p50", json_incref(curves.p50)),
				     curve("p99", json_incref(curves.p99))));
	json_decref(curves.p50);
	json_decref(curves.p99);
}

static uint32_t answer_size(struct va_run *run, uint32_t size)
{
	struct latency l;
	uint32_t next;

	set_up(run, &l, size);
	measure_side(run, &l);
	va_device_report(run, &l.device);
	va_barrier(run, "measured");
	check_target(run, &l);
	next = next_size(run, &l);
	tear_down(run, &l);
	return next;
}

void va_latency_target(struct va_run *run)
{
	for (uint32_t size = (uint32_t)va_number(run, "size"); size;)
		size = answer_size(run, size);
}
