/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The largest completion queue is filled by WRITEs of no bytes on as many queue pairs as that
 * takes, each its own partner; nothing is polled before it is full, and then each completion must
 * be there, in the order of its queue pair. One more entry than the device states must be refused,
 * and so must one more receive than the largest shared queue holds.
 */
#include "verify/agent/limits_queues.h"

#include "verify/agent/work.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GROUP_BYTES 16u

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- completions ---- */

static struct ibv_cq *make_largest(struct va_run *run, struct va_device *device)
{
	struct ibv_cq *cq = ibv_create_cq(device->context, device->attr.max_cqe, NULL, NULL, 0);
	struct ibv_cq *larger;

	if (!cq)
		va_fail(run,
			"a completion queue of %d entries: %s; the device says that it has so "
			"many",
			device->attr.max_cqe, strerror(errno));
	larger = ibv_create_cq(device->context, device->attr.max_cqe + 1, NULL, NULL, 0);
	if (larger)
		va_fail(run,
			"a completion queue of %d entries was made; the device says that it "
			"has %d",
			device->attr.max_cqe + 1, device->attr.max_cqe);
	return cq;
}

static void fill(struct va_run *run, struct va_endpoint *endpoint, const struct va_buffer *memory,
		 uint32_t lane, uint32_t count)
{
	struct va_remote remote = {(uintptr_t)memory->at, memory->mr->rkey, memory->bytes};

	for (uint32_t i = 0; i < count; i++) {
		struct va_request request = {
			.opcode = IBV_WR_RDMA_WRITE,
			.local = memory,
			.remote = &remote,
			.wr_id = (uint64_t)lane << 32 | i,
		};

		va_post(run, endpoint, &request);
	}
}

static void take_all(struct va_run *run, struct ibv_cq *cq, uint64_t count, uint32_t *seen,
		     uint32_t lanes)
{
	struct ibv_wc wc;

	for (uint64_t i = 0; i < count; i++) {
		uint32_t lane;

		va_wait_success(run, cq, "a request of a full completion queue", &wc);
		lane = (uint32_t)(wc.wr_id >> 32);
		if (lane >= lanes || (uint32_t)wc.wr_id != seen[lane]++)
			va_fail(run, "completion %llu of a full queue has wr_id 0x%llx",
				(unsigned long long)i, (unsigned long long)wc.wr_id);
	}
	if (ibv_poll_cq(cq, 1, &wc) != 0)
		va_fail(run, "a completion queue had more than the %llu that were due",
			(unsigned long long)count);
}

uint64_t va_limits_completions(struct va_run *run, struct va_device *device, uint64_t most)
{
	struct ibv_cq *cq = make_largest(run, device);
	uint32_t depth = (uint32_t)device->attr.max_qp_wr;
	uint64_t wanted = least((uint64_t)device->attr.max_cqe, most);
	uint32_t lanes = (uint32_t)((wanted + depth - 1) / depth);
	struct va_endpoint *endpoints = calloc(lanes, sizeof(*endpoints));
	uint32_t *seen = calloc(lanes, sizeof(*seen));
	struct va_buffer memory;
	uint64_t posted = 0;

	va_need(run, endpoints && seen, "calloc");
	va_buffer_create(run, device, 1, VA_ACCESS_ALL, &memory);
	for (uint32_t i = 0; i < lanes; i++) {
		uint32_t count = (uint32_t)least(depth, wanted - posted);

		va_endpoint_create(run, device,
				   &(struct va_endpoint_config){.send_depth = depth, .send_cq = cq},
				   &endpoints[i]);
		va_endpoint_connect_to_itself(run, &endpoints[i]);
		fill(run, &endpoints[i], &memory, i, count);
		posted += count;
	}
	take_all(run, cq, wanted, seen, lanes);
	for (uint32_t i = 0; i < lanes; i++)
		va_endpoint_destroy(run, &endpoints[i]);
	va_need(run, !ibv_destroy_cq(cq), "ibv_destroy_cq");
	va_buffer_destroy(run, &memory);
	free(endpoints);
	free(seen);
	return wanted;
}

/* ---- receives ---- */

static int post_shared(struct ibv_srq *srq, uint64_t wr_id)
{
	struct ibv_recv_wr wr = {.wr_id = wr_id};
	struct ibv_recv_wr *bad;

	return ibv_post_srq_recv(srq, &wr, &bad);
}

uint64_t va_limits_receives(struct va_run *run, struct va_device *device, uint64_t most)
{
	uint32_t promised = (uint32_t)device->attr.max_srq_wr;
	uint32_t wanted = (uint32_t)least(promised, most);
	struct ibv_srq_init_attr init = {.attr = {.max_wr = wanted, .max_sge = 1}};
	struct ibv_srq_attr attr = {0};
	struct ibv_srq *srq;
	uint32_t taken = 0;

	if (!promised)
		va_skip(run, "the device has no shared receive queues");
	srq = ibv_create_srq(device->pd, &init);
	if (!srq)
		va_fail(run, "a shared queue of %u receives: %s; the device says that it has %u",
			wanted, strerror(errno), promised);
	va_need(run, !ibv_query_srq(srq, &attr), "ibv_query_srq");
	/* it may hold somewhat more, for sizes are rounded up */
	while (taken <= 4 * attr.max_wr + 64 && !post_shared(srq, taken))
		taken++;
	if (taken < attr.max_wr || taken > 4 * attr.max_wr + 64)
		va_fail(run, "a shared queue of %u receives took %u", attr.max_wr, taken);
	va_need(run, !ibv_destroy_srq(srq), "ibv_destroy_srq");
	return taken;
}

/* ---- groups ---- */

static union ibv_gid group_of(uint32_t number)
{
	union ibv_gid gid = {.raw = {0xff, 0x15}};

	gid.raw[GROUP_BYTES - 2] = (uint8_t)(number >> 8);
	gid.raw[GROUP_BYTES - 1] = (uint8_t)(number & 0xff);
	gid.raw[GROUP_BYTES - 3] = 0x77;
	return gid;
}

uint64_t va_limits_groups(struct va_run *run, struct va_device *device, uint64_t most)
{
	uint32_t promised = (uint32_t)device->attr.max_mcast_grp;
	uint32_t wanted = (uint32_t)least(promised, most);
	struct va_endpoint endpoint;
	union ibv_gid gid;

	if (!promised)
		va_skip(run, "the device has no multicast groups");
	va_endpoint_create(run, device, &(struct va_endpoint_config){.type = IBV_QPT_UD},
			   &endpoint);
	va_need(run, !va_endpoint_to_init(&endpoint), "ibv_modify_qp");
	for (uint32_t i = 0; i < wanted; i++) {
		int rc;

		gid = group_of(i);
		rc = ibv_attach_mcast(endpoint.qp, &gid, 0);
		if (rc)
			va_fail(run, "group %u of %u: %s", i + 1, promised, strerror(rc));
	}
	for (uint32_t i = 0; i < wanted; i++) {
		gid = group_of(i);
		va_need(run, !ibv_detach_mcast(endpoint.qp, &gid, 0), "ibv_detach_mcast");
	}
	va_endpoint_destroy(run, &endpoint);
	return wanted;
}
