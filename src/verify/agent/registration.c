/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `registration`: what ibv_reg_mr() takes on one kind of pages, from one page to the largest
 * size. The target writes to the last bytes of each size and reads them back, for a region that
 * nobody can reach is none.
 */
#include "verify/agent/huge.h"
#include "verify/agent/kind.h"
#include "verify/agent/measure.h"
#include "verify/agent/room.h"
#include "verify/agent/work.h"

#include "base/clock.h"

#include <string.h>
#include <sys/mman.h>

#define TOUCHED_BYTES 4096u
#define SMALL_PAGE    4096u
#define STEP	      8 /* from a size to the next */

struct registration {
	struct va_device device;
	struct va_endpoint endpoint;
	struct va_buffer touch; /* of the target: what it writes and reads */
	uint8_t *memory;
	size_t page;
	size_t largest;
	struct va_samples registered;
	struct va_samples deregistered;
	json_t *curve;
};

static size_t page_of(const struct va_run *run)
{
	if (va_is(run, "page", "2m"))
		return (size_t)2 << 20;
	return va_is(run, "page", "1g") ? (size_t)1 << 30 : SMALL_PAGE;
}

static void set_up(struct va_run *run, struct registration *r)
{
	*r = (struct registration){.page = page_of(run)};
	/* whole pages: of a huge one no part can be unmapped */
	r->largest = (va_number(run, "size") + r->page - 1) / r->page * r->page;
	va_device_open(run, VA_ANY_FAMILY, &r->device);
	if (r->largest > r->device.attr.max_mr_size)
		va_skip(run, "the device registers %llu B at most",
			(unsigned long long)r->device.attr.max_mr_size);
	va_endpoint_create(run, &r->device, &(struct va_endpoint_config){0}, &r->endpoint);
	va_endpoint_connect(run, &r->endpoint);
}

static void tear_down(struct va_run *run, struct registration *r)
{
	va_endpoint_destroy(run, &r->endpoint);
	va_device_close(run, &r->device);
}

static size_t next_size(const struct registration *r, size_t size)
{
	return size < r->largest && size * STEP > r->largest ? r->largest : size * STEP;
}

static struct ibv_mr *register_one(struct va_run *run, struct registration *r, size_t size)
{
	struct ibv_mr *mr = ibv_reg_mr(r->device.pd, r->memory, size, VA_ACCESS_ALL);

	va_need(run, mr != NULL, "ibv_reg_mr");
	return mr;
}

static void measure(struct va_run *run, struct registration *r, size_t size)
{
	uint64_t iterations = va_number(run, "iterations");

	va_need(run,
		va_samples_init(&r->registered, (size_t)iterations) &&
			va_samples_init(&r->deregistered, (size_t)iterations),
		"calloc");
	for (uint64_t i = 0; i < iterations; i++) {
		roce_ns_t begun = roce_clock_now();
		struct ibv_mr *mr = register_one(run, r, size);
		roce_ns_t registered = roce_clock_now();

		va_need(run, !ibv_dereg_mr(mr), "ibv_dereg_mr");
		va_samples_add(&r->registered, registered - begun);
		va_samples_add(&r->deregistered, roce_clock_now() - registered);
	}
	json_array_append_new(r->curve,
			      json_pack("[I, f]", (json_int_t)size,
					(double)va_samples_percentile(&r->registered, 50) / 1e3));
}

/* The target reaches the last bytes. */
static void be_reached(struct va_run *run, struct registration *r, size_t size)
{
	struct va_buffer all = {.at = r->memory, .bytes = size, .mr = register_one(run, r, size)};
	struct va_remote none;

	va_buffer_exchange(run, &all, &none);
	va_barrier(run, "reached");
	va_pattern_must(run, r->memory + size - TOUCHED_BYTES, TOUCHED_BYTES, run->seed + size, 0,
			"what the other side wrote to the end of the region");
	va_need(run, !ibv_dereg_mr(all.mr), "ibv_dereg_mr");
}

static void report(struct va_run *run, struct registration *r)
{
	va_report_latency(run, &r->registered);
	va_value(run, "dereg", (double)va_samples_percentile(&r->deregistered, 50) / 1e3);
	va_picture(run, "curves",
		   json_pack("[{s:s, s:s, s:s, s:s, s:o}]", "name", "p50", "x", "size", "x_unit",
			     "B", "unit", "us", "points", r->curve));
}

void va_registration_initiator(struct va_run *run)
{
	struct registration r;
	roce_ns_t begun;

	set_up(run, &r);
	if (r.page == SMALL_PAGE) /* huge ones are set aside, and counted when they are mapped */
		va_room_need_here(run, r.largest);
	r.curve = json_array();
	begun = roce_clock_now();
	r.memory = va_pages_map(run, r.page, r.largest);
	va_detail(run, "mapped_us", json_real((double)(roce_clock_now() - begun) / 1e3));
	for (size_t size = r.page; size <= r.largest; size = next_size(&r, size)) {
		va_samples_fini(&r.registered);
		va_samples_fini(&r.deregistered);
		measure(run, &r, size);
		be_reached(run, &r, size);
	}
	report(run, &r);
	va_samples_fini(&r.registered);
	va_samples_fini(&r.deregistered);
	va_need(run, !munmap(r.memory, r.largest), "munmap");
	tear_down(run, &r);
}

static void reach(struct va_run *run, struct registration *r, size_t size)
{
	struct va_request request = {.opcode = IBV_WR_RDMA_WRITE, .length = TOUCHED_BYTES};
	struct va_remote remote;
	struct ibv_wc wc;

	va_buffer_exchange(run, &r->touch, &remote);
	request.local = &r->touch;
	request.remote = &remote;
	request.remote_offset = size - TOUCHED_BYTES;
	va_pattern_fill(r->touch.at, TOUCHED_BYTES, run->seed + size, 0);
	va_post(run, &r->endpoint, &request);
	va_wait_success(run, r->endpoint.send_cq, "a WRITE to the end of the region", &wc);
	memset(r->touch.at, 0, TOUCHED_BYTES);
	request.opcode = IBV_WR_RDMA_READ;
	va_post(run, &r->endpoint, &request);
	va_wait_success(run, r->endpoint.send_cq, "a READ of the end of the region", &wc);
	va_pattern_must(run, r->touch.at, TOUCHED_BYTES, run->seed + size, 0,
			"what READ brought from the end of the region");
	va_barrier(run, "reached");
}

void va_registration_target(struct va_run *run)
{
	struct registration r;

	set_up(run, &r);
	va_buffer_create(run, &r.device, TOUCHED_BYTES, VA_ACCESS_ALL, &r.touch);
	for (size_t size = r.page; size <= r.largest; size = next_size(&r, size))
		reach(run, &r, size);
	va_buffer_destroy(run, &r.touch);
	tear_down(run, &r);
}
