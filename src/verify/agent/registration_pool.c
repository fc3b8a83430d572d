/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `registration_pool`: the same WRITEs twice, from memory out of a pool of regions that were
 * registered before, and from memory that is registered for each message and deregistered after it.
 * What a message costs in each way tells whether a pool is worth its memory.
 */
#include "verify/agent/kind.h"
#include "verify/agent/measure.h"
#include "verify/agent/work.h"

#include "base/clock.h"

#include <stdlib.h>

struct pool {
	struct va_device device;
	struct va_endpoint endpoint;
	struct va_buffer memory; /* as many places as regions */
	struct va_remote remote;
	struct ibv_mr **mrs;
	struct va_samples pooled;
	struct va_samples on_demand;
	uint32_t regions;
	size_t size;
};

static void set_up(struct va_run *run, struct pool *p)
{
	*p = (struct pool){
		.regions = (uint32_t)va_number(run, "regions"),
		.size = (size_t)va_number(run, "size"),
	};
	va_device_open(run, VA_ANY_FAMILY, &p->device);
	va_endpoint_create(run, &p->device, &(struct va_endpoint_config){0}, &p->endpoint);
	va_buffer_create(run, &p->device, p->regions * p->size, VA_ACCESS_ALL, &p->memory);
	va_endpoint_connect(run, &p->endpoint);
	va_buffer_exchange(run, &p->memory, &p->remote);
}

static void tear_down(struct va_run *run, struct pool *p)
{
	va_endpoint_destroy(run, &p->endpoint);
	va_buffer_destroy(run, &p->memory);
	va_device_close(run, &p->device);
}

static struct ibv_mr *register_place(struct va_run *run, struct pool *p, uint32_t place)
{
	struct ibv_mr *mr = ibv_reg_mr(p->device.pd, p->memory.at + place * p->size, p->size,
				       IBV_ACCESS_LOCAL_WRITE);

	va_need(run, mr != NULL, "ibv_reg_mr");
	return mr;
}

static void write_place(struct va_run *run, struct pool *p, uint32_t place, struct ibv_mr *mr)
{
	struct va_buffer from = {.at = p->memory.at + place * p->size, .bytes = p->size, .mr = mr};
	struct va_request request = {
		.opcode = IBV_WR_RDMA_WRITE,
		.local = &from,
		.length = (uint32_t)p->size,
		.remote = &p->remote,
		.remote_offset = place * p->size,
	};
	struct ibv_wc wc;

	va_post(run, &p->endpoint, &request);
	va_wait_success(run, p->endpoint.send_cq, "a WRITE", &wc);
}

static void use_pool(struct va_run *run, struct pool *p, uint64_t message)
{
	uint32_t place = (uint32_t)(message % p->regions);
	roce_ns_t begun = roce_clock_now();

	write_place(run, p, place, p->mrs[place]);
	va_samples_add(&p->pooled, roce_clock_now() - begun);
}

static void register_for_it(struct va_run *run, struct pool *p, uint64_t message)
{
	uint32_t place = (uint32_t)(message % p->regions);
	roce_ns_t begun = roce_clock_now();
	struct ibv_mr *mr = register_place(run, p, place);

	write_place(run, p, place, mr);
	va_need(run, !ibv_dereg_mr(mr), "ibv_dereg_mr");
	va_samples_add(&p->on_demand, roce_clock_now() - begun);
}

void va_registration_pool_initiator(struct va_run *run)
{
	uint64_t messages = va_number(run, "messages");
	struct pool p;
	double pooled;
	double on_demand;

	set_up(run, &p);
	va_pattern_fill(p.memory.at, p.regions * p.size, run->seed, 0);
	p.mrs = calloc(p.regions, sizeof(struct ibv_mr *));
	va_need(run,
		p.mrs && va_samples_init(&p.pooled, messages) &&
			va_samples_init(&p.on_demand, messages),
		"calloc");
	for (uint32_t i = 0; i < p.regions; i++)
		p.mrs[i] = register_place(run, &p, i);
	/* in turns, so that what else the machine does meets both */
	for (uint64_t i = 0; i < messages; i++) {
		use_pool(run, &p, i);
		register_for_it(run, &p, i);
		va_progress(run, (double)i / (double)messages);
	}
	for (uint32_t i = 0; i < p.regions; i++)
		va_need(run, !ibv_dereg_mr(p.mrs[i]), "ibv_dereg_mr");
	pooled = (double)va_samples_percentile(&p.pooled, 50) / 1e3;
	on_demand = (double)va_samples_percentile(&p.on_demand, 50) / 1e3;
	va_value(run, "pool", pooled);
	va_value(run, "on_demand", on_demand);
	va_value(run, "registering", on_demand > pooled ? on_demand - pooled : 0);
	va_barrier(run, "written");
	free(p.mrs);
	va_samples_fini(&p.pooled);
	va_samples_fini(&p.on_demand);
	tear_down(run, &p);
}

void va_registration_pool_target(struct va_run *run)
{
	uint64_t messages = va_number(run, "messages");
	struct pool p;

	set_up(run, &p);
	va_barrier(run, "written");
	va_pattern_must(run, p.memory.at,
			(messages < p.regions ? (size_t)messages : p.regions) * p.size, run->seed,
			0, "what WRITEs left");
	tear_down(run, &p);
}
