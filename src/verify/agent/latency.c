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
#include "verify/agent/latency.h"

#include "verify/agent/echo.h"
#include "verify/agent/kind.h"
#include "verify/agent/measure.h"

#include <string.h>

#define STEP	       8		    /* from a size to the next */
#define BYTES_OF_SIZE  (UINT64_C(64) << 20) /* larger sizes have fewer messages */
#define ITERATIONS_MIN 100

/* Of all sizes. */
struct curves {
	json_t *p50;
	json_t *p99;
};

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

static void read_parameters(struct va_run *run, struct va_latency *l, uint32_t size)
{
	const char *op = va_word(run, "op");
	bool is_ud = va_is(run, "op", "ud_send");

	*l = (struct va_latency){
		.warmup = va_number(run, "warmup"),
		.duration_ns = va_number(run, "duration"),
		.opcode = is_ud ? IBV_WR_SEND : va_opcode(op),
		.op = op,
		.type = is_ud ? IBV_QPT_UD : va_transport_type(va_word(run, "transport")),
		.is_ud = is_ud,
		.is_atomic = va_is(run, "op", "fetch_add") || va_is(run, "op", "cmp_swap"),
		.is_write_imm = va_is(run, "op", "write_imm"),
		.is_in_turn = va_is(run, "op", "write") && va_flag(run, "in_turn"),
	};
	l->is_two_sided = l->opcode == IBV_WR_SEND || l->is_write_imm;
	l->is_lossy = l->is_two_sided && (is_ud || l->type == IBV_QPT_UC);
	l->size = l->is_atomic ? 8 : size;
	if (l->duration_ns && l->warmup < VA_LATENCY_WARMUP_MIN)
		l->warmup = VA_LATENCY_WARMUP_MIN; /* which tells how many there is time for */
	l->total = l->warmup + iterations_of(run, l->size);
	if (l->type == IBV_QPT_UC && !l->is_two_sided && !l->is_in_turn)
		va_skip(run, "UC has no acknowledgement that tells when %s is done", op);
}

static void set_up(struct va_run *run, struct va_latency *l, uint32_t size)
{
	struct va_endpoint_config config = {
		.send_depth = 4,
		.receive_depth = VA_ECHO_RECEIVES,
		.by_cm = va_is(run, "connect", "rdma_cm"),
		.mtu_bytes = (uint32_t)va_number(run, "mtu"),
	};

	read_parameters(run, l, size);
	config.type = l->type;
	va_device_open(run, VA_ANY_FAMILY, &l->device);
	if (l->is_atomic && l->device.attr.atomic_cap == IBV_ATOMIC_NONE)
		va_skip(run, "the device has no atomics");
	if (l->size <= va_number(run, "inline") && !l->is_atomic && !va_is(run, "op", "read"))
		config.inline_max = l->size;
	va_endpoint_create(run, &l->device, &config, &l->endpoint);
	if (config.inline_max && l->endpoint.inline_max >= l->size)
		l->flags = IBV_SEND_INLINE;
	va_buffer_create(run, &l->device, l->size, VA_ACCESS_ALL, &l->out);
	va_buffer_create(run, &l->device, l->size + VA_GRH_BYTES, VA_ACCESS_ALL, &l->in);
	va_pattern_fill(l->out.at, l->size, va_seed(run, true), 0);
	if (l->is_atomic) {
		memset(l->out.at, 0, l->size);
		memset(l->in.at, 0, l->size);
	}
	va_need(run, va_samples_init(&l->samples, (size_t)(l->total - l->warmup)), "calloc");
	va_endpoint_connect(run, &l->endpoint);
	if (l->is_ud && l->size > l->endpoint.mtu_bytes)
		va_skip(run, "UD messages end at the path MTU of %u B", l->endpoint.mtu_bytes);
	/* a READ takes what the target has, others bring to where things arrive */
	va_buffer_exchange(run, va_is(run, "op", "read") ? &l->out : &l->in, &l->remote);
}

static void tear_down(struct va_run *run, struct va_latency *l)
{
	va_samples_fini(&l->samples);
	va_endpoint_destroy(run, &l->endpoint);
	va_buffer_destroy(run, &l->out);
	va_buffer_destroy(run, &l->in);
	va_device_close(run, &l->device);
}

/* ---- sizes ---- */

/* 0: there is none after it. */
static uint32_t next_size(const struct va_run *run, const struct va_latency *l)
{
	uint64_t most = va_number(run, "size_max");

	if (l->is_atomic)
		return 0;
	if (l->is_ud && most > l->endpoint.mtu_bytes)
		most = l->endpoint.mtu_bytes;
	if (l->size >= most)
		return 0;
	return (uint64_t)l->size * STEP < most ? l->size * STEP : (uint32_t)most;
}

static void add_point(json_t *points, const struct va_latency *l, uint64_t ns)
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
	struct va_latency l;
	uint32_t next;

	set_up(run, &l, size);
	va_latency_measure(run, &l);
	if (is_first) {
		va_report_latency(run, &l.samples);
		if (l.is_lossy)
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
	struct va_latency l;
	uint32_t next;

	set_up(run, &l, size);
	va_latency_measure(run, &l);
	va_device_report(run, &l.device);
	va_barrier(run, "measured");
	va_latency_check_target(run, &l);
	next = next_size(run, &l);
	tear_down(run, &l);
	return next;
}

void va_latency_target(struct va_run *run)
{
	for (uint32_t size = (uint32_t)va_number(run, "size"); size;)
		size = answer_size(run, size);
}
