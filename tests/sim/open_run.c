/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of an open seed: build, connect, bind the windows twice so that the first keys are
 * void, then events until nothing happens any more. Between events requests and receives are
 * posted as there is room, and CQs polled now and then.
 */
#include "open_run.h"

#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EVENTS_MAX 2000000u
#define CQ_DEPTH   1024u

void open_run_fail(struct open_run *run, const char *format, ...)
{
	va_list args;

	if (run->is_failed)
		return;
	run->is_failed = true;
	va_start(args, format);
	vsnprintf(run->failure, sizeof(run->failure), format, args);
	va_end(args);
}

static void mix(struct open_run *run, uint64_t value)
{
	run->hash = (run->hash ^ value) * UINT64_C(0x9fb21c651e98df25);
	run->hash ^= run->hash >> 31;
}

static void on_packet(void *ctx, enum roce_link_fate fate, unsigned int from,
		      const struct roce_link_pkt *pkt, enum roce_verdict verdict)
{
	struct open_run *run = ctx;
	char line[SIM_LINE_MAX];

	mix(run, run->pair.queue.now_ps);
	mix(run,
	    (uint64_t)fate << 48 | (uint64_t)from << 40 | (uint64_t)verdict << 32 | pkt->hdr.psn.v);
	if (!run->is_traced)
		return;
	sim_text_packet(line, &pkt->hdr, pkt->payload_len);
	printf("%13.3f us  %c %-10s qp 0x%06x %s%s%s\n", (double)run->pair.queue.now_ps / 1e6,
	       from ? '<' : '>', roce_link_fate_str(fate), pkt->hdr.dest_qpn.v, line,
	       fate == ROCE_LINK_DELIVERED ? "  -> " : "",
	       fate == ROCE_LINK_DELIVERED ? roce_counter_str((uint32_t)verdict) : "");
}

/* ---- building ---- */

static void add_regions(struct open_run *run, unsigned int host)
{
	const struct open_plan *plan = run->plan;
	struct sim_stack *s = &run->pair.hosts[host];
	struct open_host *h = &run->hosts[host];

	for (size_t i = 0; i < plan->arena_size[host]; i++)
		s->arena[i] = open_fill(host, i);
	for (uint32_t c = 0; c < plan->conn_count; c++) {
		const struct open_flow *out = &plan->flows[host][c];
		const struct open_flow *in = &plan->flows[!host][c];

		h->sources[c] = sim_stack_add_mr(s, out->source_at, out->source_length, 0);
		h->target_mrs[c] = sim_stack_add_mr(
			s, in->target_at, in->target_length,
			ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_MW_BIND);
	}
	for (uint32_t p = 0; p < plan->pool_count[host]; p++) {
		const struct open_pool *pool = &plan->pools[host][p];

		h->landings[p] =
			sim_stack_add_mr(s, pool->at, (size_t)pool->count * pool->stride + 1,
					 ROCE_ACCESS_LOCAL_WRITE);
	}
}

static void add_qps(struct open_run *run, unsigned int host)
{
	const struct open_plan *plan = run->plan;
	struct sim_stack *s = &run->pair.hosts[host];
	struct open_host *h = &run->hosts[host];
	struct sim_cq *send_cq = sim_stack_add_cq(s, CQ_DEPTH);
	struct sim_cq *recv_cq = sim_stack_add_cq(s, CQ_DEPTH);
	bool is_xrc = plan->type == ROCE_QP_XRC_INI;

	for (uint32_t p = 0; plan->is_shared && p < plan->pool_count[host]; p++)
		h->srqs[p] = sim_stack_add_srq(s, 256, is_xrc ? recv_cq : NULL);
	for (uint32_t c = 0; c < plan->conn_count; c++) {
		struct sim_qp_caps caps = {
			.send_wr = plan->send_depth,
			.recv_wr = 256,
			.send_sge = 2,
			.recv_sge = 2,
			.sq_sig_all = true,
			.type = plan->type,
			.srq = is_xrc || !plan->is_shared ? NULL : h->srqs[plan->pool_of[host][c]],
		};

		h->qps[c] = sim_stack_add_qp(s, &caps, send_cq, recv_cq);
		caps.type = ROCE_QP_XRC_TGT;
		if (is_xrc)
			h->targets[c] = sim_stack_add_qp(s, &caps, send_cq, recv_cq);
	}
}

static bool connect_all(struct open_run *run)
{
	const struct open_plan *plan = run->plan;
	struct open_host *a = &run->hosts[0];
	struct open_host *b = &run->hosts[1];

	for (uint32_t c = 0; c < plan->conn_count; c++) {
		const struct sim_conn *conn = &plan->conns[c];

		if (plan->type != ROCE_QP_XRC_INI) {
			if (!sim_pair_connect(&run->pair, &a->qps[c]->qp, &b->qps[c]->qp, conn))
				return false;
		} else if (!sim_pair_connect(&run->pair, &a->qps[c]->qp, &b->targets[c]->qp,
					     conn) ||
			   !sim_pair_connect(&run->pair, &a->targets[c]->qp, &b->qps[c]->qp,
					     conn)) {
			return false;
		}
	}
	return true;
}

/* A window of type 1 over each target, bound twice: the key of the first time is void. */
static void bind_windows(struct open_run *run, unsigned int host)
{
	struct open_host *h = &run->hosts[host];
	struct sim_stack *s = &run->pair.hosts[host];

	for (uint32_t c = 0; c < run->plan->conn_count; c++) {
		struct roce_mr *mw = &s->mrs[s->mr_count++];
		struct roce_mem_bind bind = {
			.lkey = h->target_mrs[c]->lkey.v,
			.addr = h->target_mrs[c]->iova,
			.length = h->target_mrs[c]->length,
			.access = ROCE_ACCESS_REMOTE_WRITE,
		};

		ROCE_ASSERT(s->mr_count <= SIM_MRS_MAX);
		while (roce_window_mr_add(&s->transport.keys, mw, ROCE_MR_WINDOW_1, &s->pd,
					  (uint32_t)roce_prng_next(&s->prng), 0x7f) != 0)
			continue;
		for (unsigned int i = 0; i < 2; i++) {
			bind.rkey.v = (mw->rkey.v & ~0xffu) | ((mw->rkey.v + 1) & 0xff);
			h->void_keys[c] = h->good_keys[c];
			h->good_keys[c] = bind.rkey.v;
			if (roce_mem_bind(&s->transport.keys, &s->pd, &h->qps[c]->qp, &bind) !=
			    ROCE_MEM_OK)
				open_run_fail(run, "host %u: bind %u refused", host, c);
		}
	}
}

/* ---- posting ---- */

static void post_op(struct open_run *run, unsigned int from, uint32_t c)
{
	const struct open_plan *plan = run->plan;
	struct open_host *h = &run->hosts[from];
	struct open_host *peer = &run->hosts[!from];
	const struct open_op *op = &plan->flows[from][c].ops[h->posted[c]];
	uint32_t half = op->length / 2;
	uint64_t addr = h->sources[c]->addr + (op->source - plan->flows[from][c].source_at);
	struct roce_sge sges[2] = {{addr, half, h->sources[c]->lkey.v},
				   {addr + half, op->length - half, h->sources[c]->lkey.v}};
	struct roce_path path = {.sgid = run->pair.hosts[from].gid,
				 .dgid = run->pair.hosts[!from].gid,
				 .pkey = 0xffff,
				 .hop_limit = 64};
	struct roce_send_wr wr = {
		.wr_id = UINT64_C(1) << 56 | (uint64_t)c << 32 | h->posted[c],
		.sge = sges,
		.sge_count = 2,
		.opcode = op->opcode,
		.flags = op->flags | ROCE_SEND_SIGNALED,
		.imm_be = op->imm,
		.path = &path,
		.remote_qpn = peer->qps[plan->type == ROCE_QP_UD ? op->to : c]->qp.cfg.qpn.v,
		.remote_qkey = plan->conns[c].qkey ^ (op->is_void ? 1 : 0),
	};

	if (plan->type == ROCE_QP_XRC_INI)
		wr.remote_srqn = peer->srqs[op->to]->number;
	if (open_is_write(op->opcode)) {
		wr.remote_addr =
			peer->target_mrs[c]->iova + (op->target - plan->flows[from][c].target_at);
		wr.rkey = op->is_void ? peer->void_keys[c] : peer->good_keys[c];
	}
	if (sim_pair_send(&run->pair, from, &h->qps[c]->qp, &wr) != ROCE_POST_OK)
		open_run_fail(run, "host %u: post of request %u of QP %u refused", from,
			      h->posted[c], c);
	h->posted[c]++;
}

static void post_recv(struct open_run *run, unsigned int host, uint32_t p)
{
	const struct open_pool *pool = &run->plan->pools[host][p];
	struct open_host *h = &run->hosts[host];
	uint64_t wr_id = (uint64_t)p << 32 | h->recv_posted[p];
	uint64_t addr = h->landings[p]->addr + (uint64_t)h->recv_posted[p] * pool->stride;
	struct roce_sge sges[2] = {{addr, 30, h->landings[p]->lkey.v},
				   {addr + 30, pool->slot_bytes - 30, h->landings[p]->lkey.v}};
	bool is_posted;

	if (run->plan->is_shared)
		is_posted = sim_srq_post(h->srqs[p], wr_id, sges, 2);
	else
		is_posted = sim_pair_recv(&run->pair, host, &h->qps[p]->qp, wr_id, sges, 2) ==
			    ROCE_POST_OK;
	if (!is_posted)
		open_run_fail(run, "host %u: post of receive %u of pool %u refused", host,
			      h->recv_posted[p], p);
	h->recv_posted[p]++;
}

/* As there is room; receives that are late come one by one. True when something was posted. */
static bool post_all(struct open_run *run, bool is_idle)
{
	const struct open_plan *plan = run->plan;
	bool has_posted = false;

	for (unsigned int host = 0; host < 2; host++) {
		struct open_host *h = &run->hosts[host];

		for (uint32_t p = 0; p < plan->pool_count[host]; p++) {
			if (h->recv_posted[p] == plan->pools[host][p].count ||
			    (!is_idle && roce_prng_below(&run->prng, 100) >= plan->late_percent))
				continue;
			post_recv(run, host, p);
			has_posted = true;
		}
		for (uint32_t c = 0; c < plan->conn_count; c++) {
			while (h->posted[c] < plan->flows[host][c].op_count &&
			       h->posted[c] - h->completed[c] < plan->send_depth) {
				post_op(run, host, c);
				has_posted = true;
			}
		}
	}
	return has_posted;
}

/* ---- completions ---- */

static void on_send(struct open_run *run, unsigned int host, const struct roce_cqe *cqe)
{
	struct open_host *h = &run->hosts[host];
	uint32_t c = (uint32_t)(cqe->wr_id >> 32 & 0xff);
	uint32_t index = (uint32_t)cqe->wr_id;

	if (c >= run->plan->conn_count || index != h->completed[c] || index >= h->posted[c] ||
	    cqe->status != ROCE_WC_SUCCESS) {
		open_run_fail(run, "host %u: completion 0x%lx with %s; next of QP %u is %u", host,
			      (unsigned long)cqe->wr_id, sim_text_status(cqe->status), c,
			      c < run->plan->conn_count ? h->completed[c] : 0);
		return;
	}
	h->completed[c]++;
}

/* True when something was found. */
static bool poll_host(struct open_run *run, unsigned int host)
{
	struct sim_stack *s = &run->pair.hosts[host];
	bool has_found = false;
	struct roce_cqe cqe;

	for (uint32_t i = 0; i < s->cq_count; i++) {
		while (!run->is_failed && roce_cq_poll(&s->cqs[i]->cq, &cqe, 1)) {
			has_found = true;
			mix(run, cqe.wr_id << 8 | cqe.status);
			if (cqe.wr_id >> 56)
				on_send(run, host, &cqe);
			else
				open_on_recv(run, host, &cqe);
		}
	}
	return has_found;
}

static void drive(struct open_run *run)
{
	struct roce_event_queue *q = &run->pair.queue;

	while (!run->is_failed) {
		bool is_idle = roce_event_queue_next_ps(q) == ROCE_PS_NEVER;
		bool has_moved = !is_idle;

		if (q->fired_count > EVENTS_MAX) {
			open_run_fail(run, "no end after %u events", EVENTS_MAX);
			return;
		}
		if (!is_idle)
			roce_event_queue_step(q);
		for (unsigned int host = 0; host < 2; host++)
			if (is_idle || roce_prng_below(&run->prng, 4) == 0)
				has_moved |= poll_host(run, host);
		has_moved |= post_all(run, is_idle);
		if (!has_moved)
			return;
	}
}

static void check_sent(struct open_run *run)
{
	for (unsigned int host = 0; host < 2; host++)
		for (uint32_t c = 0; c < run->plan->conn_count; c++)
			if (run->hosts[host].completed[c] != run->plan->flows[host][c].op_count)
				open_run_fail(run, "host %u: %u of %u requests of QP %u ended",
					      host, run->hosts[host].completed[c],
					      run->plan->flows[host][c].op_count, c);
}

bool open_run_plan(struct open_run *run, struct open_plan *plan, bool is_traced)
{
	memset(run, 0, sizeof(*run));
	run->plan = plan;
	run->is_traced = is_traced;
	run->prng.state = plan->seed ^ UINT64_C(0x2545f491);
	sim_pair_init_with(&run->pair, plan->arena_size, plan->tuning, &plan->link, plan->seed);
	run->pair.is_quiet = true;
	run->pair.observe = on_packet;
	run->pair.observe_ctx = run;
	for (unsigned int host = 0; host < 2; host++) {
		add_regions(run, host);
		add_qps(run, host);
		bind_windows(run, host);
	}
	if (!connect_all(run))
		open_run_fail(run, "a connection was refused");
	for (unsigned int host = 0; host < 2; host++) {
		for (uint32_t p = 0; p < plan->pool_count[host]; p++) {
			for (uint32_t i = 0; i < plan->pools[host][p].first; i++)
				post_recv(run, host, p);
			if (plan->is_shared)
				run->hosts[host].srqs[p]->srq.limit = plan->pools[host][p].limit;
		}
	}
	post_all(run, false);
	drive(run);
	if (!run->is_failed)
		check_sent(run);
	if (!run->is_failed)
		open_check_end(run);
	for (unsigned int host = 0; host < 2; host++)
		for (uint32_t i = 0; i < ROCE_COUNTER_COUNT; i++)
			mix(run, sim_counter(&run->pair.hosts[host], i));
	return !run->is_failed;
}

void open_run_fini(struct open_run *run)
{
	sim_pair_fini(&run->pair);
}
