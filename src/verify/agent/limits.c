/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `limits`: as many objects of one sort as the device says that there can be, all at the same
 * time, or `most` of them where it promises more than a test can hold. Depths and lists are tried
 * at their limits too: one queue pair that has all of them is made, and used at its full depth.
 */
#include "verify/agent/kind.h"
#include "verify/agent/limits_queues.h"
#include "verify/agent/work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGION_BYTES  4096
#define MAPPINGS_NEAR 64 /* the error itself is told with less */

struct limits {
	struct va_device device;
	struct ibv_cq *cq;
	struct ibv_ah_attr path;
	uint8_t *bytes; /* registered again and again */
};

/* What there is to be made: NULL and errno, or the object. */
static void *make_pd(struct limits *l)
{
	return ibv_alloc_pd(l->device.context);
}

static void *make_cq(struct limits *l)
{
	return ibv_create_cq(l->device.context, 1, NULL, NULL, 0);
}

static void *make_qp(struct limits *l)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = l->cq,
		.recv_cq = l->cq,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};

	return ibv_create_qp(l->device.pd, &attr);
}

static void *make_mr(struct limits *l)
{
	return ibv_reg_mr(l->device.pd, l->bytes, REGION_BYTES, IBV_ACCESS_LOCAL_WRITE);
}

static void *make_mw(struct limits *l)
{
	return ibv_alloc_mw(l->device.pd, IBV_MW_TYPE_2);
}

static void *make_srq(struct limits *l)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 1, .max_sge = 1}};

	return ibv_create_srq(l->device.pd, &attr);
}

static void *make_ah(struct limits *l)
{
	return ibv_create_ah(l->device.pd, &l->path);
}

static int end_pd(void *object)
{
	return ibv_dealloc_pd(object);
}

static int end_cq(void *object)
{
	return ibv_destroy_cq(object);
}

static int end_qp(void *object)
{
	return ibv_destroy_qp(object);
}

static int end_mr(void *object)
{
	return ibv_dereg_mr(object);
}

static int end_mw(void *object)
{
	return ibv_dealloc_mw(object);
}

static int end_srq(void *object)
{
	return ibv_destroy_srq(object);
}

static int end_ah(void *object)
{
	return ibv_destroy_ah(object);
}

static const struct sort {
	const char *name;
	void *(*make)(struct limits *l);
	int (*end)(void *object);
	size_t field; /* of struct ibv_device_attr: an int */
	int own;      /* those that the case itself has */
} sorts[] = {
	{"pd", make_pd, end_pd, offsetof(struct ibv_device_attr, max_pd), 1},
	{"cq", make_cq, end_cq, offsetof(struct ibv_device_attr, max_cq), 1},
	{"qp", make_qp, end_qp, offsetof(struct ibv_device_attr, max_qp), 0},
	{"mr", make_mr, end_mr, offsetof(struct ibv_device_attr, max_mr), 0},
	{"mw", make_mw, end_mw, offsetof(struct ibv_device_attr, max_mw), 0},
	{"srq", make_srq, end_srq, offsetof(struct ibv_device_attr, max_srq), 0},
	{"ah", make_ah, end_ah, offsetof(struct ibv_device_attr, max_ah), 0},
};

static const struct sort *sort_of(const struct va_run *run)
{
	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
		if (va_is(run, "object", sorts[i].name))
			return &sorts[i];
	}
	return NULL;
}

static void set_up(struct va_run *run, struct limits *l)
{
	*l = (struct limits){0};
	va_device_open(run, VA_ANY_FAMILY, &l->device);
	l->cq = ibv_create_cq(l->device.context, 1, NULL, NULL, 0);
	va_need(run, l->cq != NULL, "ibv_create_cq");
	l->bytes = aligned_alloc(REGION_BYTES, REGION_BYTES);
	va_need(run, l->bytes != NULL, "aligned_alloc");
	l->path = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = l->device.port,
		.grh = {.dgid = l->device.gid, .sgid_index = l->device.gid_index, .hop_limit = 64},
	};
}

static void tear_down(struct va_run *run, struct limits *l)
{
	va_need(run, !ibv_destroy_cq(l->cq), "ibv_destroy_cq");
	free(l->bytes);
	va_device_close(run, &l->device);
}

/* Objects of devices in the kernel have memory that is mapped; a process has so many mappings. */
static unsigned long mappings_max(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	FILE *limit = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned long most = 0;
	unsigned long count = 0;

	for (int c; maps && (c = fgetc(maps)) != EOF;)
		count += c == '\n';
	if (limit && fscanf(limit, "%lu", &most) != 1)
		most = 0;
	if (maps)
		(void)fclose(maps);
	if (limit)
		(void)fclose(limit);
	return count + MAPPINGS_NEAR >= most ? most : 0;
}

__attribute__((noreturn)) static void give_up(struct va_run *run, const struct sort *sort,
					      uint64_t made, int limit)
{
	int error = errno;
	unsigned long mappings = error == ENOMEM ? mappings_max() : 0;

	if (mappings)
		va_skip(run,
			"%s %llu could not be made, for this process has all the %lu mappings that "
			"it may have; more with: sysctl -w vm.max_map_count=%lu",
			sort->name, (unsigned long long)made + 1, mappings, 4 * mappings);
	va_fail(run, "%s %llu could not be made: %s; the device says that it has %d", sort->name,
		(unsigned long long)made + 1, strerror(error), limit);
}

static void reach(struct va_run *run, struct limits *l, const struct sort *sort)
{
	int limit = *(const int *)((const char *)&l->device.attr + sort->field);
	uint64_t most = va_number(run, "most");
	uint64_t wanted = limit > sort->own ? (uint64_t)(limit - sort->own) : 0;
	void **objects;

	if (!wanted)
		va_skip(run, "the device has no %s", sort->name);
	if (wanted > most)
		wanted = most;
	objects = calloc((size_t)wanted, sizeof(*objects));
	va_need(run, objects != NULL, "calloc");
	for (uint64_t i = 0; i < wanted; i++) {
		objects[i] = sort->make(l);
		if (!objects[i])
			give_up(run, sort, i, limit);
		va_progress(run, (double)i / (double)wanted);
	}
	for (uint64_t i = 0; i < wanted; i++) {
		int rc = sort->end(objects[i]);

		if (rc)
			va_fail(run, "%s %llu could not be destroyed: %s", sort->name,
				(unsigned long long)i + 1, strerror(rc));
	}
	free(objects);
	va_value(run, "reached", (double)wanted);
	va_detail(run, "limit", json_integer(limit));
}

/* ---- depths ---- */

/* One queue pair with all that the device promises of each, to itself. */
static void make_deep(struct va_run *run, struct limits *l, struct va_endpoint *out)
{
	const struct ibv_device_attr *attr = &l->device.attr;
	int depth = attr->max_qp_wr < attr->max_cqe ? attr->max_qp_wr : attr->max_cqe;
	struct va_endpoint_config config = {
		.type = IBV_QPT_RC,
		.send_depth = (uint32_t)depth,
		.receive_depth = (uint32_t)depth,
		.pieces_max = (uint32_t)attr->max_sge,
	};

	va_endpoint_create(run, &l->device, &config, out);
	va_endpoint_connect_to_itself(run, out);
}

/* A WRITE from as many pieces as there may be, each of them one byte, last one first. */
static void post_pieces(struct va_run *run, struct va_endpoint *endpoint,
			const struct va_buffer *memory, uint64_t wr_id, bool is_signalled)
{
	uint32_t pieces = endpoint->config.pieces_max;
	struct ibv_sge *list = calloc(pieces, sizeof(*list));
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = list,
		.num_sge = (int)pieces,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = is_signalled ? IBV_SEND_SIGNALED : 0,
		.wr.rdma = {.remote_addr = (uintptr_t)memory->at + pieces,
			    .rkey = memory->mr->rkey},
	};
	struct ibv_send_wr *bad;
	int rc;

	va_need(run, list != NULL, "calloc");
	for (uint32_t i = 0; i < pieces; i++)
		list[i] = (struct ibv_sge){.addr = (uintptr_t)memory->at + pieces - 1 - i,
					   .length = 1,
					   .lkey = memory->mr->lkey};
	rc = ibv_post_send(endpoint->qp, &wr, &bad);
	if (rc)
		va_fail(run, "request %llu with %u pieces: %s", (unsigned long long)wr_id + 1,
			pieces, strerror(rc));
	free(list);
}

static void use_depth(struct va_run *run, struct limits *l)
{
	struct va_endpoint deep;
	struct va_buffer memory;
	struct ibv_wc wc;
	uint32_t depth;
	uint32_t pieces;

	make_deep(run, l, &deep);
	depth = deep.config.send_depth;
	pieces = deep.config.pieces_max;
	va_buffer_create(run, &l->device, (size_t)2 * pieces, VA_ACCESS_ALL, &memory);
	va_pattern_fill(memory.at, pieces, run->seed, 0);
	for (uint32_t i = 0; i < depth; i++)
		post_pieces(run, &deep, &memory, i, i + 1 == depth);
	va_wait_success(run, deep.send_cq, "the last of a full send queue", &wc);
	for (uint32_t i = 0; i < pieces; i++) {
		if (memory.at[pieces + i] != memory.at[pieces - 1 - i])
			va_fail(run, "piece %u of %u brought 0x%02x, expected 0x%02x", i, pieces,
				memory.at[pieces + i], memory.at[pieces - 1 - i]);
	}
	va_value(run, "reached", depth);
	va_detail(run, "pieces", json_integer(pieces));
	va_endpoint_destroy(run, &deep);
	va_buffer_destroy(run, &memory);
}

static void fill_one(struct va_run *run, struct limits *l)
{
	uint64_t most = va_number(run, "most");
	uint64_t reached = 0;

	if (va_is(run, "object", "completion"))
		reached = va_limits_completions(run, &l->device, most);
	else if (va_is(run, "object", "receive"))
		reached = va_limits_receives(run, &l->device, most);
	else
		reached = va_limits_groups(run, &l->device, most);
	va_value(run, "reached", (double)reached);
}

void va_limits_initiator(struct va_run *run)
{
	const struct sort *sort = sort_of(run);
	struct limits l;

	set_up(run, &l);
	if (sort)
		reach(run, &l, sort);
	else if (va_is(run, "object", "depth"))
		use_depth(run, &l);
	else
		fill_one(run, &l);
	tear_down(run, &l);
}

/* Objects of one side are its own. */
void va_limits_target(struct va_run *run)
{
	(void)run;
}
