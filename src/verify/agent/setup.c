/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `setup`. Queue pairs are made in batches, as a server makes them: each call is timed, in
 * between the two sides tell each other all facts at once, so no time of the relay is in a sample.
 * Each queue pair then carries one SEND whose bytes are its own, for one that says RTS and moves
 * nothing is not set up. One that cannot be made is counted, and both sides leave it out.
 */
#include "verify/agent/kind.h"
#include "verify/agent/measure.h"
#include "verify/agent/work.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

#define CELL_BYTES 64 /* of a queue pair: a GRH, and its message */
#define TEXT_BYTES 8

enum step { STEP_CREATE, STEP_INIT, STEP_RTR, STEP_RTS, STEP_DESTROY, STEP_COUNT };

static const char *const step_names[STEP_COUNT] = {"create", "init", "rtr", "rts", "destroy"};

struct one {
	struct va_endpoint endpoint;
	roce_ns_t spent; /* to RTS */
	bool is_made;
};

struct setup {
	struct va_device device;
	struct va_endpoint_config config;
	struct va_buffer out;
	struct va_buffer in;
	struct one *ones; /* of a batch */
	struct va_samples whole;
	struct va_samples steps[STEP_COUNT];
	uint64_t failed;
	enum step first_step; /* that failed, with its errno */
	int first_error;
};

static void set_up(struct va_run *run, struct setup *s)
{
	uint32_t batch = (uint32_t)va_number(run, "batch");
	size_t count = (size_t)va_number(run, "count");

	*s = (struct setup){.ones = calloc(batch, sizeof(*s->ones))};
	va_need(run, s->ones != NULL, "calloc");
	va_device_open(run, VA_ANY_FAMILY, &s->device);
	s->config = (struct va_endpoint_config){
		.type = va_transport_type(va_word(run, "transport")),
		.send_cq = ibv_create_cq(s->device.context, (int)batch, NULL, NULL, 0),
		.recv_cq = ibv_create_cq(s->device.context, (int)batch, NULL, NULL, 0),
	};
	va_need(run, s->config.send_cq && s->config.recv_cq, "ibv_create_cq");
	va_buffer_create(run, &s->device, (size_t)batch * CELL_BYTES, VA_ACCESS_ALL, &s->out);
	va_buffer_create(run, &s->device, (size_t)batch * CELL_BYTES, VA_ACCESS_ALL, &s->in);
	va_need(run, va_samples_init(&s->whole, count), "calloc");
	for (unsigned int i = 0; i < STEP_COUNT; i++)
		va_need(run, va_samples_init(&s->steps[i], count), "calloc");
}

static void tear_down(struct va_run *run, struct setup *s)
{
	for (unsigned int i = 0; i < STEP_COUNT; i++)
		va_samples_fini(&s->steps[i]);
	va_samples_fini(&s->whole);
	va_buffer_destroy(run, &s->out);
	va_buffer_destroy(run, &s->in);
	va_need(run, !ibv_destroy_cq(s->config.send_cq) && !ibv_destroy_cq(s->config.recv_cq),
		"ibv_destroy_cq");
	va_device_close(run, &s->device);
	free(s->ones);
}

/* Takes the time of a step of a queue pair; one that failed is none any more. */
static void step_done(struct setup *s, struct one *one, enum step step, roce_ns_t begun, int error)
{
	roce_ns_t spent = roce_clock_now() - begun;

	if (!error) {
		va_samples_add(&s->steps[step], spent);
		one->spent += spent;
		return;
	}
	one->is_made = false;
	if (!s->first_error) {
		s->first_step = step;
		s->first_error = error;
	}
}

static void make(struct va_run *run, struct setup *s, struct one *one, uint32_t cell)
{
	roce_ns_t begun = roce_clock_now();

	*one = (struct one){.is_made = true};
	step_done(s, one, STEP_CREATE, begun,
		  va_endpoint_try(run, &s->device, &s->config, &one->endpoint));
	if (!one->is_made)
		return;
	begun = roce_clock_now();
	step_done(s, one, STEP_INIT, begun, va_endpoint_to_init(&one->endpoint));
	if (one->is_made && !run->is_initiator)
		va_post_receive(run, &one->endpoint, &s->in, (size_t)cell * CELL_BYTES, CELL_BYTES,
				cell);
}

static void bring_to_rts(struct va_run *run, struct setup *s, struct one *one, const json_t *facts)
{
	roce_ns_t begun;

	if (!one->is_made || !json_is_object(facts)) {
		one->is_made = false;
		return;
	}
	va_endpoint_take(run, &one->endpoint, facts);
	begun = roce_clock_now();
	step_done(s, one, STEP_RTR, begun, va_endpoint_to_rtr(&one->endpoint));
	if (!one->is_made)
		return;
	begun = roce_clock_now();
	step_done(s, one, STEP_RTS, begun, va_endpoint_to_rts(&one->endpoint));
	if (one->is_made)
		va_samples_add(&s->whole, one->spent);
}

/* What is made here, one entry each: facts, or false. */
static json_t *facts_of(const struct setup *s, uint32_t count)
{
	json_t *all = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(all, s->ones[i].is_made
						   ? va_endpoint_facts(&s->ones[i].endpoint)
						   : json_false());
	return all;
}

/* Both sides go on with what both have. */
static void agree(struct va_run *run, struct setup *s, uint32_t count)
{
	json_t *own = json_array();
	json_t *theirs;

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(own, json_boolean(s->ones[i].is_made));
	theirs = va_exchange(run, own);
	for (uint32_t i = 0; i < count; i++) {
		s->ones[i].is_made &= json_is_true(json_array_get(theirs, i));
		s->failed += !s->ones[i].is_made;
	}
	json_decref(theirs);
}

static void send_one(struct va_run *run, struct setup *s, struct one *one, uint32_t cell,
		     uint64_t number)
{
	struct va_request request = {
		.opcode = IBV_WR_SEND,
		.local = &s->out,
		.local_offset = (size_t)cell * CELL_BYTES,
		.length = TEXT_BYTES,
		.wr_id = cell,
	};

	va_pattern_fill(s->out.at + request.local_offset, TEXT_BYTES, run->seed,
			number * TEXT_BYTES);
	if (s->config.type == IBV_QPT_UD)
		va_endpoint_address(run, &one->endpoint);
	va_post(run, &one->endpoint, &request);
}

static void use(struct va_run *run, struct setup *s, uint32_t count, uint64_t number)
{
	uint32_t grh = s->config.type == IBV_QPT_UD ? VA_GRH_BYTES : 0;
	struct ibv_wc wc;

	for (uint32_t i = 0; i < count; i++) {
		if (s->ones[i].is_made && run->is_initiator)
			send_one(run, s, &s->ones[i], i, number + i);
	}
	for (uint32_t i = 0; i < count; i++) {
		if (s->ones[i].is_made)
			va_wait_success(run,
					run->is_initiator ? s->config.send_cq : s->config.recv_cq,
					"the SEND of a new queue pair", &wc);
	}
	for (uint32_t i = 0; i < count; i++) {
		if (s->ones[i].is_made && !run->is_initiator)
			va_pattern_must(run, s->in.at + (size_t)i * CELL_BYTES + grh, TEXT_BYTES,
					run->seed, (number + i) * TEXT_BYTES,
					"what a new queue pair brought");
	}
}

static void destroy(struct va_run *run, struct setup *s, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct one *one = &s->ones[i];
		roce_ns_t begun;

		if (!one->endpoint.qp)
			continue;
		begun = roce_clock_now();
		va_endpoint_destroy(run, &one->endpoint);
		va_samples_add(&s->steps[STEP_DESTROY], roce_clock_now() - begun);
	}
}

static void run_batch(struct va_run *run, struct setup *s, uint32_t count, uint64_t number)
{
	json_t *theirs;

	for (uint32_t i = 0; i < count; i++)
		make(run, s, &s->ones[i], i);
	theirs = va_exchange(run, facts_of(s, count));
	for (uint32_t i = 0; i < count; i++)
		bring_to_rts(run, s, &s->ones[i], json_array_get(theirs, i));
	json_decref(theirs);
	agree(run, s, count);
	use(run, s, count, number);
	va_barrier(run, "used");
	destroy(run, s, count);
}

/* A curve: one in so many samples takes longer. From the median on that spreads out the tail. */
static json_t *distribution(const char *name, struct va_samples *samples)
{
	static const double one_in[] = {1.25, 2, 4, 10, 20, 50, 100, 200, 500, 1000, 2000};
	json_t *points = json_array();

	for (size_t i = 0; i < sizeof(one_in) / sizeof(one_in[0]); i++)
		json_array_append_new(points, json_pack("[f, f]", one_in[i],
							(double)va_samples_percentile(
								samples, 100 - 100 / one_in[i]) /
								1e3));
	return json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", name, "x", "one in so many is slower",
			 "x_unit", "", "unit", "us", "points", points);
}

static void report(struct va_run *run, struct setup *s)
{
	uint64_t count = va_number(run, "count");
	json_t *curves = json_array();
	json_t *steps = json_array();

	va_report_latency(run, &s->whole);
	for (unsigned int i = 0; i < STEP_COUNT; i++) {
		struct va_samples *samples = &s->steps[i];
		double p50 = (double)va_samples_percentile(samples, 50) / 1e3;

		va_value(run, step_names[i], p50);
		json_array_append_new(
			steps,
			json_pack("{s:s, s:f, s:f, s:f}", "step", step_names[i], "p50_us", p50,
				  "p99_us", (double)va_samples_percentile(samples, 99) / 1e3,
				  "p99.9_us", (double)va_samples_percentile(samples, 99.9) / 1e3));
		json_array_append_new(curves, distribution(step_names[i], samples));
	}
	json_array_append_new(curves, distribution("to RTS", &s->whole));
	if (run->is_initiator)
		va_detail(run, "steps", steps);
	else
		json_decref(steps);
	va_picture(run, "curves", curves);
	va_value(run, "success", 100.0 * (double)(count - s->failed) / (double)count);
}

static void run_side(struct va_run *run)
{
	uint64_t count = va_number(run, "count");
	uint64_t batch = va_number(run, "batch");
	struct setup s;

	set_up(run, &s);
	for (uint64_t i = 0; i < count; i += batch) {
		run_batch(run, &s, (uint32_t)(count - i < batch ? count - i : batch), i);
		va_progress(run, (double)i / (double)count);
	}
	report(run, &s);
	if (s.first_error)
		va_fail(run, "%llu of %llu queue pairs were not made; the first failed to %s: %s",
			(unsigned long long)s.failed, (unsigned long long)count,
			step_names[s.first_step], strerror(s.first_error));
	tear_down(run, &s);
}

void va_setup_initiator(struct va_run *run)
{
	run_side(run);
}

void va_setup_target(struct va_run *run)
{
	run_side(run);
}
