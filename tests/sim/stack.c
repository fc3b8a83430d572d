/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Storage and environment of one host. A failed allocation or a full table is a fault of the test
 * itself and stops it.
 */
#include "stack.h"

#include "base/assert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

static bool is_in_arena(const struct sim_stack *s, const void *p)
{
	return (const uint8_t *)p >= s->arena && (const uint8_t *)p < s->arena + s->arena_size;
}

static bool is_in_region(const struct sim_stack *s, const void *p, size_t length)
{
	uint64_t at = (uint64_t)(uintptr_t)p;

	for (uint32_t i = 0; i < s->mr_count; i++) {
		const struct roce_mr *mr = &s->mrs[i];

		if (mr->is_valid && at >= mr->addr && at + length <= mr->addr + mr->length)
			return true;
	}
	return false;
}

static int store_guarded(void *ctx, const struct roce_mem_place *to, const void *from,
			 size_t length)
{
	struct sim_stack *s = ctx;
	void *dst = (void *)(uintptr_t)to->ptr;

	if (s->copy_fault_in && --s->copy_fault_in == 0)
		return -EFAULT;
	if (!length)
		return 0;
	if (is_in_arena(s, dst)) {
		if (!is_in_region(s, dst, length)) {
			s->stray_count++;
			return -EFAULT;
		}
		s->placed_bytes += length;
	}
	memcpy(dst, from, length);
	return 0;
}

static bool is_good_word(struct sim_stack *s, const uint64_t *word)
{
	if (is_in_region(s, word, sizeof(*word)) && (uintptr_t)word % sizeof(*word) == 0)
		return true;
	s->stray_count++;
	return false;
}

static int compare_swap(void *ctx, uint64_t *word, uint64_t compare, uint64_t swap,
			uint64_t *out_orig)
{
	struct sim_stack *s = ctx;

	if (s->copy_fault_in && --s->copy_fault_in == 0)
		return -EFAULT;
	if (!is_good_word(s, word))
		return -EFAULT;
	*out_orig = *word;
	if (*word == compare)
		*word = swap;
	s->atomic_count++;
	return 0;
}

static int fetch_add(void *ctx, uint64_t *word, uint64_t add, uint64_t *out_orig)
{
	struct sim_stack *s = ctx;

	if (s->copy_fault_in && --s->copy_fault_in == 0)
		return -EFAULT;
	if (!is_good_word(s, word))
		return -EFAULT;
	*out_orig = *word;
	*word += add;
	s->atomic_count++;
	return 0;
}

static const struct roce_mem_ops mem_ops = {
	.store = store_guarded,
	.compare_swap = compare_swap,
	.fetch_add = fetch_add,
};

/* ---- events ---- */

static void on_async_event(void *ctx, enum roce_async_event event, struct roce_qp *qp,
			   struct roce_cq *cq)
{
	struct sim_stack *s = ctx;

	ROCE_ASSERT(s->event_count < SIM_EVENTS_MAX);
	s->events[s->event_count++] = (struct sim_async){event, qp, cq};
}

static struct roce_srq *find_xrc_srq(void *ctx, const struct roce_qp *qp, uint32_t srqn)
{
	struct sim_stack *s = ctx;

	(void)qp;
	for (uint32_t i = 0; i < s->srq_count; i++)
		if (s->srqs[i]->number == srqn && s->srqs[i]->srq.cq)
			return &s->srqs[i]->srq;
	return NULL;
}

static const struct roce_transport_ops transport_ops = {.async_event = on_async_event,
							.find_xrc_srq = find_xrc_srq};

uint32_t sim_stack_event_count(const struct sim_stack *s, enum roce_async_event event)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->event_count; i++)
		n += s->events[i].event == event;
	return n;
}

/* ---- the host ---- */

struct roce_transport_config sim_tuning_default(void)
{
	return (struct roce_transport_config){
		.window = {.initial = 16 * (4096 + ROCE_WINDOW_PACKET_COST),
			   .min = 2 * (4096 + ROCE_WINDOW_PACKET_COST),
			   .max = 32 * (4096 + ROCE_WINDOW_PACKET_COST)},
		.read_window = 32 * (4096 + ROCE_WINDOW_PACKET_COST),
		.read_chunk_packets = 16,
		.ack_interval_packets = 8,
		.burst_packets = 16,
		.ack_timeout_floor_ns = 0,
	};
}

struct sim_qp_caps sim_caps_default(void)
{
	return (struct sim_qp_caps){
		.send_wr = 16, .recv_wr = 16, .send_sge = 4, .recv_sge = 4, .inline_bytes = 128};
}

void sim_stack_init(struct sim_stack *s, unsigned int number, uint64_t seed, size_t arena_size,
		    const struct roce_transport_config *tuning)
{
	struct roce_transport_config cfg = *tuning;

	memset(s, 0, sizeof(*s));
	s->prng.state = seed;
	s->slot = (uint8_t)(number * 3);
	s->pd.handle = number;
	s->gid = (struct roce_gid){
		{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (uint8_t)number}};
	s->arena_size = arena_size;
	s->arena = aligned_alloc(4096, (arena_size + 4095) & ~(size_t)4095);
	ROCE_ASSERT(s->arena);
	memset(s->arena, 0, arena_size);

	cfg.ops = &transport_ops;
	cfg.mem_ops = &mem_ops;
	cfg.ctx = s;
	cfg.counters = &s->counters;
	cfg.qp_table = s->qp_table;
	cfg.qp_table_mask = sizeof(s->qp_table) / sizeof(s->qp_table[0]) - 1;
	cfg.mr_buckets = s->buckets;
	cfg.mr_bucket_count = sizeof(s->buckets) / sizeof(s->buckets[0]);
	roce_transport_init(&s->transport, &cfg);
	roce_timer_heap_init(&s->transport.timers, s->timers, SIM_QPS_MAX + SIM_CQS_MAX);
}

void sim_stack_fini(struct sim_stack *s)
{
	for (uint32_t i = 0; i < s->qp_count; i++) {
		roce_qp_fini(&s->qps[i]->qp);
		free(s->qps[i]->sq_storage);
		free(s->qps[i]->rq_storage);
		free(s->qps[i]->held_storage);
		free(s->qps[i]);
	}
	for (uint32_t i = 0; i < s->cq_count; i++) {
		free(s->cqs[i]->ring);
		free(s->cqs[i]);
	}
	for (uint32_t i = 0; i < s->srq_count; i++) {
		free(s->srqs[i]->storage);
		free(s->srqs[i]);
	}
	free(s->arena);
}

struct roce_mr *sim_stack_add_mr(struct sim_stack *s, size_t offset, size_t length, uint32_t access)
{
	struct roce_mr *mr = &s->mrs[s->mr_count++];

	ROCE_ASSERT(s->mr_count <= SIM_MRS_MAX && offset + length <= s->arena_size);
	*mr = (struct roce_mr){
		.pd = &s->pd,
		.addr = (uint64_t)(uintptr_t)(s->arena + offset),
		.length = length,
		.access = access,
	};
	mr->iova = mr->addr;
	while (roce_key_table_add(&s->transport.keys, mr, (uint32_t)roce_prng_next(&s->prng), 0x10,
				  0x20) != 0)
		continue;
	return mr;
}

static void on_cq_event(struct roce_cq *cq)
{
	struct sim_cq *sim_cq = cq->owner;

	sim_cq->event_count++;
	if (sim_cq->notify)
		sim_cq->notify(sim_cq->notify_ctx);
}

struct sim_cq *sim_stack_add_cq(struct sim_stack *s, uint32_t depth)
{
	struct sim_cq *cq = calloc(1, sizeof(*cq));

	ROCE_ASSERT(cq && s->cq_count < SIM_CQS_MAX);
	cq->ring = calloc(1, roce_cq_bytes(depth));
	ROCE_ASSERT(cq->ring);
	roce_cq_init(&cq->cq, cq->ring, depth, on_cq_event, cq);
	s->cqs[s->cq_count++] = cq;
	return cq;
}

struct sim_qp *sim_stack_add_qp(struct sim_stack *s, const struct sim_qp_caps *caps,
				struct sim_cq *send_cq, struct sim_cq *recv_cq)
{
	struct sim_qp *qp = calloc(1, sizeof(*qp));
	struct roce_qp_config cfg = {
		.type = caps->type ? caps->type : (uint8_t)ROCE_QP_RC,
		.sq_sig_all = caps->sq_sig_all,
		.pd = &s->pd,
		.send_cq = &send_cq->cq,
		.recv_cq = &recv_cq->cq,
		.srq = caps->srq ? &caps->srq->srq : NULL,
		.port_mtu = caps->port_mtu ? caps->port_mtu : 5,
		.max_send_wr = caps->send_wr,
		.max_recv_wr = caps->recv_wr,
		.max_send_sge = caps->send_sge,
		.max_recv_sge = caps->recv_sge,
		.max_inline = caps->inline_bytes,
	};

	ROCE_ASSERT(qp && s->qp_count < SIM_QPS_MAX);
	qp->sq_storage =
		calloc(1, roce_send_queue_bytes(caps->send_wr, caps->send_sge, caps->inline_bytes));
	qp->rq_storage = calloc(1, roce_recv_queue_bytes(caps->recv_wr, caps->recv_sge));
	qp->held_storage = calloc(1, roce_recv_queue_bytes(1, SIM_SRQ_SGE));
	ROCE_ASSERT(qp->sq_storage && qp->rq_storage && qp->held_storage);
	cfg.held_storage = qp->held_storage;
	cfg.sq_storage = qp->sq_storage;
	cfg.rq_storage = qp->rq_storage;
	cfg.owner = qp;
	do {
		cfg.qpn.v = (uint32_t)s->slot << 16 | (roce_prng_next(&s->prng) & 0xffff);
	} while (!roce_qp_init(&qp->qp, &s->transport, &cfg));
	s->qps[s->qp_count++] = qp;
	return qp;
}

static void on_srq_limit(struct roce_srq *srq)
{
	((struct sim_srq *)srq->owner)->limit_count++;
}

struct sim_srq *sim_stack_add_srq(struct sim_stack *s, uint32_t depth, struct sim_cq *cq)
{
	struct sim_srq *srq = calloc(1, sizeof(*srq));

	ROCE_ASSERT(srq && s->srq_count < SIM_SRQS_MAX);
	srq->storage = calloc(1, roce_recv_queue_bytes(depth, SIM_SRQ_SGE));
	ROCE_ASSERT(srq->storage);
	roce_srq_init(&srq->srq, srq->storage, depth, SIM_SRQ_SGE, &s->pd, on_srq_limit, srq);
	srq->srq.cq = cq ? &cq->cq : NULL;
	srq->number = 0x51 + s->srq_count;
	s->srqs[s->srq_count++] = srq;
	return srq;
}

void sim_srq_resize(struct sim_srq *srq, uint32_t depth)
{
	void *old = srq->storage;

	srq->storage = calloc(1, roce_recv_queue_bytes(depth, SIM_SRQ_SGE));
	ROCE_ASSERT(srq->storage);
	roce_srq_resize(&srq->srq, srq->storage, depth);
	free(old);
}

bool sim_srq_post(struct sim_srq *srq, uint64_t wr_id, const struct roce_sge *sge,
		  uint32_t sge_count)
{
	return roce_recv_queue_push(&srq->srq.rq, wr_id, sge, sge_count);
}

struct roce_peer *sim_stack_peer(struct sim_stack *s, const struct roce_gid *dgid, uint8_t slot)
{
	struct roce_peer *peer = roce_peer_find(&s->transport, dgid, slot);

	if (peer)
		return peer;
	ROCE_ASSERT(s->peer_count < sizeof(s->peers) / sizeof(s->peers[0]));
	peer = &s->peers[s->peer_count++];
	roce_peer_add(&s->transport, peer, dgid, slot);
	return peer;
}
