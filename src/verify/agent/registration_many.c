/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `registration_many`: a thousand regions and more, registered by several threads at once, all
 * there at the same time; the target writes to each by its rkey, each finds its own bytes, and the
 * threads deregister them.
 */
#include "verify/agent/kind.h"
#include "verify/agent/measure.h"
#include "verify/agent/work.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define WRITES_UNDER_WAY 64u

struct worker;

struct many {
	struct va_device device;
	struct va_endpoint endpoint;
	struct va_buffer memory; /* initiator: all regions; target: what it writes */
	struct ibv_mr **mrs;
	uint64_t *spent_ns;
	uint32_t regions;
	size_t size;
	uint32_t threads;
	pthread_barrier_t start;
};

struct worker {
	struct many *many;
	pthread_t thread;
	uint32_t first;
	int error; /* errno of the first call that failed */
};

static void set_up(struct va_run *run, struct many *m)
{
	*m = (struct many){
		.regions = (uint32_t)va_number(run, "regions"),
		.size = (size_t)va_number(run, "size"),
		.threads = (uint32_t)va_number(run, "threads"),
	};
	va_device_open(run, VA_ANY_FAMILY, &m->device);
	if (m->device.attr.max_mr > 0 && m->regions >= (uint32_t)m->device.attr.max_mr)
		va_skip(run, "the device has %d regions at most", m->device.attr.max_mr);
	va_endpoint_create(run, &m->device,
			   &(struct va_endpoint_config){.send_depth = WRITES_UNDER_WAY},
			   &m->endpoint);
	va_buffer_create(run, &m->device, m->regions * m->size, VA_ACCESS_ALL, &m->memory);
	va_endpoint_connect(run, &m->endpoint);
}

static void tear_down(struct va_run *run, struct many *m)
{
	va_endpoint_destroy(run, &m->endpoint);
	va_buffer_destroy(run, &m->memory);
	va_device_close(run, &m->device);
}

/* ---- initiator ---- */

/* Every m->threads-th region from `first` on. */
static void *register_share(void *argument)
{
	struct worker *w = argument;
	struct many *m = w->many;

	(void)pthread_barrier_wait(&m->start);
	for (uint32_t i = w->first; i < m->regions && !w->error; i += m->threads) {
		roce_ns_t begun = roce_clock_now();

		m->mrs[i] = ibv_reg_mr(m->device.pd, m->memory.at + i * m->size, m->size,
				       VA_ACCESS_ALL);
		m->spent_ns[i] = roce_clock_now() - begun;
		if (!m->mrs[i])
			w->error = errno ? errno : EIO;
	}
	return NULL;
}

static void *deregister_share(void *argument)
{
	struct worker *w = argument;
	struct many *m = w->many;

	(void)pthread_barrier_wait(&m->start);
	for (uint32_t i = w->first; i < m->regions; i += m->threads) {
		int rc = ibv_dereg_mr(m->mrs[i]);

		if (rc && !w->error)
			w->error = rc;
	}
	return NULL;
}

/* The time from when all threads may start until the last one is through. */
static roce_ns_t run_threads(struct va_run *run, struct many *m, void *(*share)(void *),
			     const char *what)
{
	struct worker *workers = calloc(m->threads, sizeof(*workers));
	roce_ns_t begun;

	va_need(run, workers != NULL, "calloc");
	va_need(run, !pthread_barrier_init(&m->start, NULL, m->threads + 1),
		"pthread_barrier_init");
	for (uint32_t i = 0; i < m->threads; i++) {
		workers[i] = (struct worker){.many = m, .first = i};
		va_need(run, !pthread_create(&workers[i].thread, NULL, share, &workers[i]),
			"pthread_create");
	}
	(void)pthread_barrier_wait(&m->start);
	begun = roce_clock_now();
	for (uint32_t i = 0; i < m->threads; i++)
		(void)pthread_join(workers[i].thread, NULL);
	begun = roce_clock_now() - begun;
	for (uint32_t i = 0; i < m->threads; i++) {
		if (workers[i].error)
			va_fail(run, "%s in thread %u of %u: %s", what, i, m->threads,
				strerror(workers[i].error));
	}
	(void)pthread_barrier_destroy(&m->start);
	free(workers);
	return begun;
}

static void tell_keys(struct va_run *run, struct many *m)
{
	json_t *keys = json_array();

	for (uint32_t i = 0; i < m->regions; i++)
		json_array_append_new(keys, json_integer((json_int_t)m->mrs[i]->rkey));
	va_send(run, json_pack("{s:I, s:o}", "address", (json_int_t)(uintptr_t)m->memory.at, "keys",
			       keys));
}

static void check_keys_differ(struct va_run *run, const struct many *m)
{
	for (uint32_t i = 1; i < m->regions; i++) {
		if (m->mrs[i]->rkey == m->mrs[i - 1]->rkey)
			va_fail(run, "regions %u and %u have the same rkey 0x%x", i - 1, i,
				m->mrs[i]->rkey);
	}
}

static void report(struct va_run *run, struct many *m, roce_ns_t registering,
		   roce_ns_t deregistering)
{
	struct va_samples samples;

	va_need(run, va_samples_init(&samples, m->regions), "calloc");
	for (uint32_t i = 0; i < m->regions; i++)
		va_samples_add(&samples, m->spent_ns[i]);
	va_report_latency(run, &samples);
	va_samples_fini(&samples);
	va_value(run, "rate", (double)m->regions * 1e9 / (double)(registering ? registering : 1));
	va_value(run, "dereg_rate",
		 (double)m->regions * 1e9 / (double)(deregistering ? deregistering : 1));
}

void va_registration_many_initiator(struct va_run *run)
{
	roce_ns_t registering;
	struct many m;

	set_up(run, &m);
	m.mrs = calloc(m.regions, sizeof(struct ibv_mr *));
	m.spent_ns = calloc(m.regions, sizeof(*m.spent_ns));
	va_need(run, m.mrs && m.spent_ns, "calloc");
	registering = run_threads(run, &m, register_share, "ibv_reg_mr");
	check_keys_differ(run, &m);
	tell_keys(run, &m);
	va_barrier(run, "written");
	va_pattern_must(run, m.memory.at, m.regions * m.size, run->seed, 0,
			"what WRITEs left in all regions");
	report(run, &m, registering, run_threads(run, &m, deregister_share, "ibv_dereg_mr"));
	free(m.mrs);
	free(m.spent_ns);
	tear_down(run, &m);
}

/* ---- target ---- */

static void write_all(struct va_run *run, struct many *m, const json_t *theirs)
{
	const json_t *keys = json_object_get(theirs, "keys");
	struct va_remote remote = {
		.address = (uint64_t)roce_json_integer(theirs, "address"),
	};
	struct va_request request = {
		.opcode = IBV_WR_RDMA_WRITE,
		.local = &m->memory,
		.length = (uint32_t)m->size,
		.remote = &remote,
	};
	struct ibv_wc wc;

	for (uint32_t i = 0; i < m->regions; i++) {
		remote.rkey = (uint32_t)json_integer_value(json_array_get(keys, i));
		request.local_offset = request.remote_offset = i * m->size;
		va_post(run, &m->endpoint, &request);
		if (i >= WRITES_UNDER_WAY - 1)
			va_wait_success(run, m->endpoint.send_cq, "a WRITE to a region", &wc);
	}
	for (uint32_t i = 0; i < m->regions && i < WRITES_UNDER_WAY - 1; i++)
		va_wait_success(run, m->endpoint.send_cq, "a WRITE to a region", &wc);
}

void va_registration_many_target(struct va_run *run)
{
	json_t *theirs;
	struct many m;

	set_up(run, &m);
	va_pattern_fill(m.memory.at, m.regions * m.size, run->seed, 0);
	theirs = va_receive(run);
	write_all(run, &m, theirs);
	json_decref(theirs);
	va_barrier(run, "written");
	tear_down(run, &m);
}
