/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `polling`: what it costs a program to take a completion that is there. WRITEs are posted in
 * batches and left alone for a moment; then each call of ibv_poll_cq() is timed in the processor
 * time of this thread, so what is seen is what the adapter's library does, and neither the network
 * nor whoever else uses the machine. The first call of a batch does not count, for it may do what
 * was left undone, nor does any after one that brought nothing. A library that now and then does
 * something else there makes late completions.
 */
#include "verify/agent/kind.h"
#include "verify/agent/measure.h"
#include "verify/agent/work.h"

#include <time.h>

#define MESSAGE_BYTES  64
#define BATCH	       32
#define BATCHES_MAX(n) (16 * (n) / BATCH + 16)
#define PAUSE_NS       (500 * 1000)

struct polling {
	struct va_device device;
	struct va_endpoint endpoint;
	struct va_buffer memory;
	struct va_remote remote;
};

static void set_up(struct va_run *run, struct polling *p)
{
	va_device_open(run, VA_ANY_FAMILY, &p->device);
	va_endpoint_create(run, &p->device, &(struct va_endpoint_config){.send_depth = BATCH},
			   &p->endpoint);
	va_buffer_create(run, &p->device, MESSAGE_BYTES, VA_ACCESS_ALL, &p->memory);
	va_endpoint_connect(run, &p->endpoint);
	va_buffer_exchange(run, &p->memory, &p->remote);
}

static void tear_down(struct va_run *run, struct polling *p)
{
	va_endpoint_destroy(run, &p->endpoint);
	va_buffer_destroy(run, &p->memory);
	va_device_close(run, &p->device);
}

static uint64_t processor_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One completion; false: it was not there at once. */
static bool take_one(struct va_run *run, struct polling *p, uint64_t number, uint64_t *out_ns)
{
	uint64_t begun = processor_ns();
	struct ibv_wc wc;
	int n = ibv_poll_cq(p->endpoint.send_cq, 1, &wc);

	*out_ns = processor_ns() - begun;
	if (n < 0)
		va_fail(run, "ibv_poll_cq: %d", n);
	if (!n)
		va_wait(run, p->endpoint.send_cq, "a WRITE", &wc);
	if (wc.status != IBV_WC_SUCCESS || wc.wr_id != number)
		va_fail(run, "WRITE %llu completed as %llu with status %d (%s)",
			(unsigned long long)number, (unsigned long long)wc.wr_id, (int)wc.status,
			ibv_wc_status_str(wc.status));
	return n == 1;
}

static void run_batch(struct va_run *run, struct polling *p, struct va_samples *samples)
{
	struct va_request request = {
		.opcode = IBV_WR_RDMA_WRITE,
		.local = &p->memory,
		.length = MESSAGE_BYTES,
		.remote = &p->remote,
	};
	bool is_there = true;

	for (; request.wr_id < BATCH; request.wr_id++)
		va_post(run, &p->endpoint, &request);
	(void)nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	for (uint64_t i = 0; i < BATCH; i++) {
		uint64_t spent;

		is_there &= take_one(run, p, i, &spent);
		if (i > 0 && is_there)
			va_samples_add(samples, spent);
	}
}

void va_polling_initiator(struct va_run *run)
{
	uint64_t iterations = va_number(run, "iterations");
	struct va_samples samples;
	struct polling p;

	va_need(run, va_samples_init(&samples, (size_t)iterations), "calloc");
	set_up(run, &p);
	va_pattern_fill(p.memory.at, MESSAGE_BYTES, run->seed, 0);
	for (uint64_t i = 0; samples.count < samples.size && i < BATCHES_MAX(iterations); i++) {
		run_batch(run, &p, &samples);
		va_progress(run, (double)samples.count / (double)samples.size);
	}
	if (samples.count < samples.size / 2)
		va_skip(run, "completions are not there before they are polled for");
	va_report_latency(run, &samples);
	va_samples_fini(&samples);
	va_barrier(run, "measured");
	tear_down(run, &p);
}

void va_polling_target(struct va_run *run)
{
	struct polling p;

	set_up(run, &p);
	va_barrier(run, "measured");
	va_pattern_must(run, p.memory.at, MESSAGE_BYTES, run->seed, 0, "what WRITE left");
	tear_down(run, &p);
}
