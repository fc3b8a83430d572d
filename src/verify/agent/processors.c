/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `processors`: how far apart the processors of each host are. Two threads, on the first and
 * the last processor that this process may use, hand each other a cache line; what an adapter in
 * software hands from one thread to another goes the same way. On a rented machine it says where
 * its owner put the processors, which can change in the middle of a run: the same programs then
 * move half as much.
 *
 * A sample is the mean of some hand-overs there and back. Either side measures while the other one
 * waits, for both may be one machine.
 */
#include "verify/agent/kind.h"
#include "verify/agent/measure.h"

#include "base/clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define LINE_BYTES	 64
#define TURNS_OF_SAMPLE	 1000u
#define BUDGET_NS	 (2 * ROCE_NS_PER_S) /* where others use the processors, too */
#define SPINS_OF_A_CHECK 4096u

struct court {
	_Alignas(2 * LINE_BYTES) _Atomic uint32_t ball; /* odd: the partner's turn */
	_Alignas(2 * LINE_BYTES) _Atomic bool is_over;
	int processors[2];
};

/* False: there is one only. */
static bool choose_processors(int out[2])
{
	cpu_set_t allowed;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) || CPU_COUNT(&allowed) < 2)
		return false;
	out[0] = out[1] = -1;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET((size_t)cpu, &allowed))
			continue;
		if (out[0] < 0)
			out[0] = cpu;
		out[1] = cpu;
	}
	return true;
}

static bool stay_on(int processor)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)processor, &one);
	return pthread_setaffinity_np(pthread_self(), sizeof(one), &one) == 0;
}

/* False: it is over. */
static bool await(struct court *c, uint32_t ball, roce_ns_t until)
{
	for (uint32_t i = 1; atomic_load_explicit(&c->ball, memory_order_acquire) != ball; i++) {
		if (i % SPINS_OF_A_CHECK)
			continue;
		if (atomic_load_explicit(&c->is_over, memory_order_relaxed) ||
		    roce_clock_now() > until)
			return false;
	}
	return true;
}

static void *return_balls(void *arg)
{
	struct court *c = arg;

	if (!stay_on(c->processors[1]))
		return NULL;
	for (uint32_t ball = 1; await(c, ball, ROCE_NEVER); ball += 2)
		atomic_store_explicit(&c->ball, ball + 1, memory_order_release);
	return NULL;
}

static void play(struct va_run *run, struct court *c, struct va_samples *samples)
{
	roce_ns_t enough = roce_clock_now() + BUDGET_NS;
	uint32_t ball = 0;

	va_need(run, stay_on(c->processors[0]), "pthread_setaffinity_np");
	while (samples->count < samples->size) {
		roce_ns_t begun = roce_clock_now();

		for (uint32_t i = 0; i < TURNS_OF_SAMPLE; i++) {
			atomic_store_explicit(&c->ball, ball + 1, memory_order_release);
			ball += 2;
			if (!await(c, ball, enough))
				return;
		}
		va_samples_add(samples, (roce_clock_now() - begun) / TURNS_OF_SAMPLE);
	}
}

static void measure(struct va_run *run, struct va_samples *samples)
{
	static struct court court;
	pthread_t partner;

	if (!choose_processors(court.processors))
		va_skip(run, "this side may use one processor only");
	va_need(run, va_samples_init(samples, (size_t)va_number(run, "samples")), "calloc");
	va_need(run, pthread_create(&partner, NULL, return_balls, &court) == 0, "pthread_create");
	play(run, &court, samples);
	atomic_store_explicit(&court.is_over, true, memory_order_relaxed);
	pthread_join(partner, NULL);
	if (!samples->count)
		va_skip(run, "others had the processors of this side");
	va_detail(run, "processors", json_pack("[i, i]", court.processors[0], court.processors[1]));
}

void va_processors_initiator(struct va_run *run)
{
	struct va_samples samples;

	measure(run, &samples);
	va_report_latency(run, &samples);
	va_samples_fini(&samples);
	va_barrier(run, "initiator");
}

void va_processors_target(struct va_run *run)
{
	struct va_samples samples;

	va_barrier(run, "initiator");
	measure(run, &samples);
	va_value(run, "target", (double)va_samples_percentile(&samples, 50) / 1e3);
	va_samples_fini(&samples);
}
