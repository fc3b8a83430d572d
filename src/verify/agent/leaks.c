/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `leaks`: all sorts of objects made, used and destroyed, thousands of times. What stays
 * behind shows in one of three ways: a parent that cannot be destroyed because a child is still
 * there, the process's memory (what it has mapped, not only what it has touched), its open files.
 */
#include "verify/agent/kind.h"
#include "verify/agent/work.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WARMUP_ROUNDS  200
#define CQ_DEPTH       4096 /* so that one that stays is seen */
#define REGION_BYTES   65536
#define MESSAGE_BYTES  64
#define XRC_EVERY      10 /* rounds: its objects are many, and the plan is to end */
#define GROWTH_ALLOWED (1u << 20)

struct footprint {
	uint64_t mapped_bytes;
	uint32_t files;
};

struct leaks {
	struct va_device device; /* opened once */
	uint8_t *memory;
};

static struct footprint footprint_now(struct va_run *run)
{
	struct footprint now = {0};
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	DIR *folder = opendir("/proc/self/fd");

	va_need(run, file && folder && fscanf(file, "%llu", &pages) == 1, "/proc/self");
	now.mapped_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	while (readdir(folder))
		now.files++;
	(void)closedir(folder);
	(void)fclose(file);
	return now;
}

static void gone(struct va_run *run, int rc, const char *call, uint64_t round)
{
	if (rc)
		va_fail(run, "round %llu: %s: %s%s", (unsigned long long)round, call, strerror(rc),
			rc == EBUSY ? ", something that belongs to it is still there" : "");
}

/* A queue pair with itself as partner carries a WRITE. */
static void use(struct va_run *run, struct va_endpoint *endpoint, struct va_buffer *memory,
		uint64_t round)
{
	struct va_remote remote = {.address = (uintptr_t)memory->at, .rkey = memory->mr->rkey};
	struct va_request request = {
		.opcode = IBV_WR_RDMA_WRITE,
		.local = memory,
		.length = MESSAGE_BYTES,
		.remote = &remote,
		.remote_offset = MESSAGE_BYTES,
		.wr_id = round,
	};
	struct ibv_wc wc;

	va_endpoint_connect_to_itself(run, endpoint);
	va_pattern_fill(memory->at, MESSAGE_BYTES, run->seed, round * MESSAGE_BYTES);
	va_post(run, endpoint, &request);
	va_wait_success(run, endpoint->send_cq, "a WRITE", &wc);
	va_pattern_must(run, memory->at + MESSAGE_BYTES, MESSAGE_BYTES, run->seed,
			round * MESSAGE_BYTES, "what WRITE left");
}

static void run_round(struct va_run *run, struct leaks *l, uint64_t round)
{
	struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 64, .max_sge = 1}};
	struct va_device own = l->device;
	struct va_endpoint endpoint;
	struct va_buffer memory = {.at = l->memory, .bytes = REGION_BYTES};
	struct ibv_comp_channel *channel;
	struct ibv_srq *srq;
	struct ibv_mw *mw = NULL;
	struct ibv_cq *cq;

	own.pd = ibv_alloc_pd(own.context);
	va_need(run, own.pd != NULL, "ibv_alloc_pd");
	channel = ibv_create_comp_channel(own.context);
	va_need(run, channel != NULL, "ibv_create_comp_channel");
	cq = ibv_create_cq(own.context, CQ_DEPTH, NULL, channel, 0);
	va_need(run, cq != NULL, "ibv_create_cq");
	srq = ibv_create_srq(own.pd, &srq_attr);
	va_need(run, srq != NULL, "ibv_create_srq");
	memory.mr = ibv_reg_mr(own.pd, l->memory, REGION_BYTES, VA_ACCESS_ALL);
	va_need(run, memory.mr != NULL, "ibv_reg_mr");
	if (own.attr.max_mw > 0) {
		mw = ibv_alloc_mw(own.pd, IBV_MW_TYPE_2);
		va_need(run, mw != NULL, "ibv_alloc_mw");
	}
	va_endpoint_create(run, &own,
			   &(struct va_endpoint_config){.send_cq = cq, .recv_cq = cq, .srq = srq},
			   &endpoint);
	use(run, &endpoint, &memory, round);
	va_endpoint_address(run, &endpoint);
	va_endpoint_destroy(run, &endpoint);
	if (round % XRC_EVERY == 0 && (own.attr.device_cap_flags & IBV_DEVICE_XRC)) {
		va_endpoint_create(run, &own,
				   &(struct va_endpoint_config){
					   .type = IBV_QPT_XRC_SEND, .send_cq = cq, .recv_cq = cq},
				   &endpoint);
		use(run, &endpoint, &memory, round);
		va_endpoint_destroy(run, &endpoint);
	}
	if (mw)
		gone(run, ibv_dealloc_mw(mw), "ibv_dealloc_mw", round);
	gone(run, ibv_dereg_mr(memory.mr), "ibv_dereg_mr", round);
	gone(run, ibv_destroy_srq(srq), "ibv_destroy_srq", round);
	gone(run, ibv_destroy_cq(cq), "ibv_destroy_cq", round);
	gone(run, ibv_destroy_comp_channel(channel), "ibv_destroy_comp_channel", round);
	gone(run, ibv_dealloc_pd(own.pd), "ibv_dealloc_pd", round);
}

void va_leaks_initiator(struct va_run *run)
{
	uint64_t rounds = va_number(run, "rounds");
	static uint8_t memory[REGION_BYTES];
	struct leaks l = {.memory = memory};
	struct footprint before;
	struct footprint after;
	double grown;

	va_device_open(run, VA_ANY_FAMILY, &l.device);
	for (uint64_t i = 0; i < WARMUP_ROUNDS; i++)
		run_round(run, &l, i);
	before = footprint_now(run);
	for (uint64_t i = 0; i < rounds; i++) {
		run_round(run, &l, WARMUP_ROUNDS + i);
		va_progress(run, (double)i / (double)rounds);
	}
	after = footprint_now(run);
	grown = (double)after.mapped_bytes - (double)before.mapped_bytes;
	va_value(run, "rounds", (double)rounds);
	va_value(run, "grown", grown > 0 ? grown : 0);
	if (after.files > before.files)
		va_fail(run, "%u more files are open after %llu rounds", after.files - before.files,
			(unsigned long long)rounds);
	if (grown > GROWTH_ALLOWED)
		va_fail(run, "the process has %.0f KiB more of memory after %llu rounds",
			grown / 1024, (unsigned long long)rounds);
	va_device_close(run, &l.device);
}

/* Objects of one side are its own. */
void va_leaks_target(struct va_run *run)
{
	(void)run;
}
