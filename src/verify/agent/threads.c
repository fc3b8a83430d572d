/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `threads`: as many queue pairs as threads, each thread with its own, on one device that is
 * opened once; what they carry together, that each one's bytes are right, and how evenly they
 * share. With `numa` the threads are bound to the processors of the nodes in turn, as numactl does
 * it, and each node's share is told; a machine of one node has nothing to compare.
 */
#include "verify/agent/kind.h"
#include "verify/agent/work.h"

#include "base/clock.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH	  8
#define NODES_MAX 64

struct node {
	int number;
	cpu_set_t cpus; /* those that we may use */
};

struct worker {
	struct va_run *run;
	struct va_endpoint endpoint;
	struct va_remote remote;
	const struct va_buffer *out;
	pthread_t thread;
	pthread_barrier_t *start;
	uint32_t number;
	uint32_t size;
	const struct node *node; /* NULL: wherever */
	roce_ns_t duration;
	uint64_t completed;
	roce_ns_t spent;
	int cpu; /* where it ended */
};

struct threads {
	struct va_device device;
	struct worker *workers;
	uint32_t count;
	struct va_buffer out;
	struct va_buffer in;
	pthread_barrier_t start;
	struct node nodes[NODES_MAX];
	int node_count;
};

/* ---- nodes ---- */

/* "0-3,8-11" as the kernel lists them. */
static void read_processors(const char *text, cpu_set_t *out)
{
	CPU_ZERO(out);
	while (*text >= '0' && *text <= '9') {
		char *end;
		unsigned long from = strtoul(text, &end, 10);
		unsigned long to = from;

		if (*end == '-')
			to = strtoul(end + 1, &end, 10);
		for (unsigned long cpu = from; cpu <= to && cpu < CPU_SETSIZE; cpu++)
			CPU_SET(cpu, out);
		text = *end == ',' ? end + 1 : end;
	}
}

/* Those with processors, and of these the ones that we may run on: a container or taskset may have
 * left us some of them. `out_all` is how many the machine has. */
static int find_nodes(struct va_run *run, struct node nodes[NODES_MAX], int *out_all)
{
	cpu_set_t allowed;
	int count = 0;

	va_need(run, !sched_getaffinity(0, sizeof(allowed), &allowed), "sched_getaffinity");
	*out_all = 0;
	for (int number = 0; number < NODES_MAX; number++) {
		struct node *node = &nodes[count];
		char path[80];
		char text[1024] = "";
		FILE *file;

		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", number);
		file = fopen(path, "re");
		if (!file)
			continue;
		if (fgets(text, sizeof(text), file)) {
			node->number = number;
			read_processors(text, &node->cpus);
			*out_all += CPU_COUNT(&node->cpus) > 0;
			CPU_AND(&node->cpus, &node->cpus, &allowed);
			count += CPU_COUNT(&node->cpus) > 0;
		}
		(void)fclose(file);
	}
	return count;
}

static void take_nodes(struct va_run *run, struct threads *t)
{
	int all;

	t->node_count = find_nodes(run, t->nodes, &all);
	if (all < 2)
		va_skip(run, "this machine has one NUMA node");
	if (t->node_count < 2)
		va_skip(run, "of this machine's %d NUMA nodes this program may run on one only",
			all);
	t->count = (uint32_t)t->node_count;
}

/* ---- set-up ---- */

static void set_up(struct va_run *run, struct threads *t)
{
	uint32_t size = (uint32_t)va_number(run, "size");

	*t = (struct threads){.count = (uint32_t)va_number(run, "threads")};
	if (run->is_initiator && va_flag(run, "numa"))
		take_nodes(run, t);
	/* the initiator says how many */
	if (run->is_initiator) {
		va_send(run, json_integer(t->count));
	} else {
		json_t *count = va_receive(run);

		t->count = (uint32_t)json_integer_value(count);
		json_decref(count);
	}
	va_device_open(run, VA_ANY_FAMILY, &t->device);
	t->workers = calloc(t->count, sizeof(*t->workers));
	va_need(run, t->workers != NULL, "calloc");
	va_buffer_create(run, &t->device, (size_t)t->count * size, VA_ACCESS_ALL, &t->out);
	va_buffer_create(run, &t->device, (size_t)t->count * size, VA_ACCESS_ALL, &t->in);
	for (uint32_t i = 0; i < t->count; i++) {
		struct worker *w = &t->workers[i];

		*w = (struct worker){
			.run = run,
			.out = &t->out,
			.start = &t->start,
			.number = i,
			.size = size,
			.node = run->is_initiator && va_flag(run, "numa") ? &t->nodes[i] : NULL,
			.duration = va_number(run, "duration"),
		};
		va_endpoint_create(run, &t->device,
				   &(struct va_endpoint_config){.send_depth = DEPTH}, &w->endpoint);
		va_endpoint_connect(run, &w->endpoint);
		va_pattern_fill(t->out.at + (size_t)i * size, size, run->seed + i, 0);
	}
	va_buffer_exchange(run, &t->in, &t->workers[0].remote);
	for (uint32_t i = 1; i < t->count; i++)
		t->workers[i].remote = t->workers[0].remote;
}

static void tear_down(struct va_run *run, struct threads *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		va_endpoint_destroy(run, &t->workers[i].endpoint);
	va_buffer_destroy(run, &t->out);
	va_buffer_destroy(run, &t->in);
	va_device_close(run, &t->device);
	free(t->workers);
}

/* ---- a thread ---- */

static void post(struct worker *w, uint64_t message)
{
	size_t own = (size_t)w->number * w->size;
	struct va_request request = {
		.opcode = IBV_WR_RDMA_WRITE,
		.local = w->out,
		.local_offset = own,
		.length = w->size,
		.remote = &w->remote,
		.remote_offset = own,
		.wr_id = message,
	};

	va_post(w->run, &w->endpoint, &request);
}

static void *work(void *argument)
{
	struct worker *w = argument;
	uint64_t posted = 0;
	roce_ns_t begun;
	roce_ns_t end;
	struct ibv_wc wc;

	(void)pthread_barrier_wait(w->start);
	begun = roce_clock_now();
	end = begun + w->duration;
	while (posted < DEPTH)
		post(w, posted++);
	while (w->completed < posted) {
		va_wait_success(w->run, w->endpoint.send_cq, "a WRITE", &wc);
		if (wc.wr_id != w->completed++)
			va_fail(w->run, "thread %u: request %llu completed, expected %llu",
				w->number, (unsigned long long)wc.wr_id,
				(unsigned long long)w->completed - 1);
		if (roce_clock_now() < end)
			post(w, posted++);
	}
	w->spent = roce_clock_now() - begun;
	w->cpu = sched_getcpu();
	return NULL;
}

static void start(struct va_run *run, struct worker *w)
{
	pthread_attr_t attr;

	va_need(run, !pthread_attr_init(&attr), "pthread_attr_init");
	if (w->node)
		va_need(run,
			!pthread_attr_setaffinity_np(&attr, sizeof(w->node->cpus), &w->node->cpus),
			"pthread_attr_setaffinity_np");
	va_need(run, !pthread_create(&w->thread, &attr, work, w), "pthread_create");
	(void)pthread_attr_destroy(&attr);
}

/* ---- the sides ---- */

static void report(struct va_run *run, const struct threads *t)
{
	json_t *shares = json_array();
	json_t *nodes = json_array();
	double sum = 0;
	double squares = 0;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct worker *w = &t->workers[i];
		double rate = (double)w->completed * w->size * 8 / (double)w->spent; /* Gb/s */

		sum += rate;
		squares += rate * rate;
		json_array_append_new(shares, json_real(rate));
		if (!w->node)
			continue;
		if (w->cpu < 0 || !CPU_ISSET((unsigned int)w->cpu, &w->node->cpus))
			va_fail(run, "the thread of NUMA node %d ran on processor %d",
				w->node->number, w->cpu);
		json_array_append_new(nodes, json_pack("{s:i, s:i, s:f}", "node", w->node->number,
						       "processor", w->cpu, "gbps", rate));
	}
	if (json_array_size(nodes))
		va_detail(run, "nodes", json_incref(nodes));
	json_decref(nodes);
	va_value(run, "rate", sum);
	/* Jain's index: 100% when all have the same */
	va_value(run, "fairness", squares > 0 ? 100 * sum * sum / (t->count * squares) : 0);
	va_detail(run, "rates_gbps", shares);
}

void va_threads_initiator(struct va_run *run)
{
	struct threads t;

	set_up(run, &t);
	va_need(run, !pthread_barrier_init(&t.start, NULL, t.count), "pthread_barrier_init");
	for (uint32_t i = 0; i < t.count; i++)
		start(run, &t.workers[i]);
	for (uint32_t i = 0; i < t.count; i++)
		(void)pthread_join(t.workers[i].thread, NULL);
	(void)pthread_barrier_destroy(&t.start);
	report(run, &t);
	va_barrier(run, "written");
	tear_down(run, &t);
}

void va_threads_target(struct va_run *run)
{
	uint32_t size = (uint32_t)va_number(run, "size");
	struct threads t;

	set_up(run, &t);
	va_barrier(run, "written");
	for (uint32_t i = 0; i < t.count; i++)
		va_pattern_must(run, t.in.at + (size_t)i * size, size, run->seed + i, 0,
				"what a thread's WRITEs left");
	tear_down(run, &t);
}
