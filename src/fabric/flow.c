/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a flow: waiting for its time and its predecessors, running, ended. A flow has ended
 * when src knows that all was done (RC) or when the last byte is there (UC, UD, where nobody
 * knows), or when a queue pair failed. What comes after it starts by events, never from within.
 */
#include "fabric/draw.h"
#include "fabric/ecmp.h"
#include "fabric/flow_state.h"
#include "fabric/histogram.h"
#include "fabric/payload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_LARGEST (1u << 30) /* of a flow that names no size */

/* ---- ending ---- */

static void plan_start(struct roce_fabric_flow *flow)
{
	uint64_t at_ps = flow->f->queue.now_ps + (flow->cfg.after_count ? flow->cfg.after_ps : 0);

	roce_event_schedule(&flow->f->queue, &flow->event,
			    at_ps > flow->cfg.start_ps ? at_ps : flow->cfg.start_ps);
}

/* Those that wait for this kind of end. */
static void tell_successors(struct roce_fabric_flow *flow, bool is_delivery)
{
	for (uint32_t i = 0; i < flow->successor_count; i++) {
		struct roce_fabric_flow *next = flow->f->flows[flow->successors[i]];

		if (next->cfg.is_after_delivery == is_delivery && --next->after_open == 0)
			plan_start(next);
	}
}

static void end(struct roce_fabric_flow *flow, enum roce_fabric_flow_state state)
{
	struct roce_fabric *f = flow->f;

	f->running_count--;
	flow->is_ended = true;
	flow->result.state = (uint8_t)state;
	flow->result.done_ps = f->queue.now_ps;
	if (state == ROCE_FABRIC_FLOW_DONE)
		f->totals.flows_done++;
	else
		f->totals.flows_failed++;
	if (roce_fabric_is_observed(f) && f->observer->flow_done)
		f->observer->flow_done(f->observer_ctx, f->queue.now_ps, flow->index);
	if (state == ROCE_FABRIC_FLOW_DONE)
		tell_successors(flow, false);
	roce_event_schedule(&f->queue, &flow->event, f->queue.now_ps);
	if (--f->open_count == 0) {
		f->end = ROCE_FABRIC_END_DONE;
		f->is_stopped = true;
	}
}

static void look_for_end(struct roce_fabric_flow *flow)
{
	bool is_answered = !flow->cfg.response_bytes || flow->answers >= flow->message_count;

	if (flow->qps_open || !is_answered || flow->is_ended)
		return;
	if (flow->cfg.transport == ROCE_FABRIC_RC || flow->is_delivered)
		end(flow, ROCE_FABRIC_FLOW_DONE);
}

/* ---- what hosts report ---- */

static void add_latency(struct roce_fabric_flow_qp *fq, uint64_t message)
{
	struct roce_fabric_flow *flow = fq->flow;
	struct roce_fabric_latency *l = &flow->result.messages;
	uint64_t ps = flow->f->queue.now_ps - fq->posted_ps[message & fq->ring_mask];

	if (!l->count || ps < l->min_ps)
		l->min_ps = ps;
	if (ps > l->max_ps)
		l->max_ps = ps;
	l->sum_ps += (double)ps;
	l->count++;
	if (flow->histogram)
		roce_fabric_histogram_add(flow->histogram, ps);
}

/* The answer to a message that came twice comes twice, and either may come twice. */
static bool is_new_answer(struct roce_fabric_flow_qp *fq, uint32_t message)
{
	return fq->flow->cfg.transport == ROCE_FABRIC_RC ||
	       roce_fabric_seen_add(&fq->answers_taken, message);
}

static void on_recv(struct roce_fabric_flow_qp *fq, const struct roce_cqe *cqe, bool is_src,
		    uint64_t message)
{
	struct roce_fabric_flow *flow = fq->flow;

	roce_fabric_payload_received(fq, cqe, is_src, message);
	roce_fabric_host_repost(roce_fabric_flow_host(flow, is_src), (uint32_t)cqe->wr_id);
	if (!flow->cfg.response_bytes || flow->is_ended)
		return;
	if (!is_src) {
		roce_fabric_flow_answer(fq, cqe->imm_be);
		return;
	}
	if (!is_new_answer(fq, cqe->imm_be))
		return;
	add_latency(fq, cqe->imm_be);
	fq->answered++;
	flow->answers++;
	roce_fabric_flow_post(fq);
	look_for_end(flow);
}

/* A message of UC that has lost a packet ends with its receive, not with its queue pair. */
static bool is_broken_message(const struct roce_fabric_flow *flow, const struct roce_cqe *cqe)
{
	return flow->cfg.transport == ROCE_FABRIC_UC && cqe->status == ROCE_WC_LOC_QP_OP_ERR;
}

void roce_fabric_flow_on_cqe(struct roce_fabric_flow_qp *fq, const struct roce_cqe *cqe,
			     bool is_src, uint64_t message)
{
	struct roce_fabric_flow *flow = fq->flow;
	bool is_recv = cqe->opcode & ROCE_WC_RECV;

	if (cqe->status == ROCE_WC_SUCCESS && is_recv) {
		on_recv(fq, cqe, is_src, message);
		return;
	}
	if (is_recv && is_broken_message(flow, cqe)) {
		roce_fabric_payload_broken(fq, cqe, is_src);
		roce_fabric_host_repost(roce_fabric_flow_host(flow, is_src), (uint32_t)cqe->wr_id);
		return;
	}
	if (flow->is_ended)
		return;
	if (cqe->status != ROCE_WC_SUCCESS) {
		flow->result.status = cqe->status;
		end(flow, ROCE_FABRIC_FLOW_FAILED);
		return;
	}
	if (!is_src) {
		roce_fabric_payload_answered(fq, cqe->wr_id);
		return;
	}
	if (!flow->cfg.response_bytes)
		add_latency(fq, cqe->wr_id);
	roce_fabric_payload_completed(fq, cqe->wr_id);
	fq->completed = cqe->wr_id + 1;
	if (fq->completed == fq->count)
		flow->qps_open--;
	else
		roce_fabric_flow_post(fq);
	look_for_end(flow);
}

void roce_fabric_flow_on_sent(struct roce_fabric_flow_qp *fq, bool is_forward, roce_psn_t psn,
			      uint32_t bytes)
{
	struct roce_fabric_flow_result *r = &fq->flow->result;
	roce_psn_t *high = &fq->high_psn[!is_forward];

	r->bytes_sent += bytes;
	r->packets_sent++;
	if (roce_psn_diff(psn, *high) < 0)
		r->packets_repeated++;
	else
		*high = roce_psn_add(psn, 1);
}

/* Go-back-0 begins a message anew, and what had come of it comes again; unreliable services take
 * what a link delivers twice for something new: that is nothing new. */
static bool is_repeated(struct roce_fabric_flow_qp *fq, bool is_at_src, roce_psn_t psn)
{
	roce_psn_t *behind = &fq->new_psn[is_at_src];

	if (fq->flow->cfg.transport != ROCE_FABRIC_RC)
		return !roce_fabric_seen_add_psn(&fq->taken[is_at_src], psn);
	if (roce_psn_diff(psn, *behind) < 0)
		return true;
	*behind = roce_psn_add(psn, 1);
	return false;
}

void roce_fabric_flow_on_payload(struct roce_fabric_flow_qp *fq, bool is_at_src, roce_psn_t psn,
				 uint32_t bytes)
{
	struct roce_fabric_flow *flow = fq->flow;

	if (is_repeated(fq, is_at_src, psn))
		return;
	/* The answers of a flow with responses are not its bytes. */
	if (is_at_src != (flow->cfg.operation == ROCE_FABRIC_READ)) {
		flow->f->totals.answer_bytes += bytes;
		return;
	}
	flow->f->totals.bytes_delivered += bytes;
	flow->result.bytes_delivered += bytes;
	flow->result.arrived_ps = flow->f->queue.now_ps;
	if (flow->result.bytes_delivered < flow->cfg.bytes || flow->is_delivered)
		return;
	flow->is_delivered = true;
	flow->result.delivered_ps = flow->f->queue.now_ps;
	tell_successors(flow, true);
	look_for_end(flow);
}

/* ---- the flow's event ---- */

static void post_all(struct roce_fabric_flow *flow)
{
	for (uint32_t i = 0; i < flow->cfg.qp_count; i++)
		roce_fabric_flow_post(&flow->qps[i]);
	roce_fabric_host_follow(roce_fabric_flow_host(flow, true)->port);
	roce_fabric_port_kick(roce_fabric_flow_host(flow, true)->port);
}

/* The next message's time has come. */
static void release(struct roce_fabric_flow *flow)
{
	uint64_t wait_ps = flow->cfg.interval_ps;

	flow->released++;
	if (flow->released < flow->message_count) {
		if (flow->cfg.is_poisson)
			wait_ps = roce_fabric_draw_exponential(&flow->prng, wait_ps);
		roce_event_schedule(&flow->f->queue, &flow->event, flow->f->queue.now_ps + wait_ps);
	}
	post_all(flow);
}

static void start(struct roce_fabric_flow *flow)
{
	struct roce_fabric *f = flow->f;

	f->running_count++;
	flow->result.started_ps = f->queue.now_ps;
	flow->result.state = ROCE_FABRIC_FLOW_RUNNING;
	if (roce_fabric_is_observed(f) && f->observer->flow_started)
		f->observer->flow_started(f->observer_ctx, f->queue.now_ps, flow->index);
	if (roce_fabric_flow_open(flow)) {
		flow->result.status = ROCE_WC_GENERAL_ERR;
		end(flow, ROCE_FABRIC_FLOW_FAILED);
		return;
	}
	if (flow->cfg.interval_ps) {
		release(flow);
		return;
	}
	flow->released = flow->message_count;
	post_all(flow);
}

static void on_event(struct roce_event *ev)
{
	struct roce_fabric_flow *flow = roce_container_of(ev, struct roce_fabric_flow, event);

	if (flow->is_ended)
		roce_fabric_flow_close(flow);
	else if (flow->result.state == ROCE_FABRIC_FLOW_WAITING)
		start(flow);
	else
		release(flow);
}

/* ---- adding ---- */

static struct roce_fabric_histogram *get_histogram(struct roce_fabric *f, uint64_t tag)
{
	struct roce_fabric_histogram *h;

	for (h = f->histograms; h; h = h->next)
		if (h->tag == tag)
			return h;
	h = calloc(1, sizeof(*h));
	if (!h)
		return NULL;
	h->tag = tag;
	h->next = f->histograms;
	f->histograms = h;
	return h;
}

static int add_successor(struct roce_fabric_flow *flow, uint32_t index)
{
	uint32_t room = flow->successor_room ? flow->successor_room * 2 : 2;
	uint32_t *grown;

	if (flow->successor_count == flow->successor_room) {
		grown = realloc(flow->successors, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		flow->successors = grown;
		flow->successor_room = room;
	}
	flow->successors[flow->successor_count++] = index;
	return 0;
}

static int wait_for_predecessors(struct roce_fabric_flow *flow)
{
	const struct roce_fabric_flow_config *cfg = &flow->cfg;

	for (uint32_t i = 0; i < cfg->after_count; i++) {
		struct roce_fabric_flow *before = flow->f->flows[cfg->after[i]];
		bool is_over = cfg->is_after_delivery
				       ? before->is_delivered
				       : before->result.state == ROCE_FABRIC_FLOW_DONE;

		if (is_over)
			continue;
		if (add_successor(before, flow->index))
			return -ENOMEM;
		flow->after_open++;
	}
	return 0;
}

uint32_t roce_fabric_flow_message_bytes(const struct roce_fabric_flow_config *cfg)
{
	if (cfg->message_bytes)
		return cfg->message_bytes;
	if (cfg->transport == ROCE_FABRIC_UD)
		return cfg->path_mtu;
	return cfg->bytes < MESSAGE_LARGEST ? (uint32_t)cfg->bytes : MESSAGE_LARGEST;
}

static void free_flow(struct roce_fabric_flow *flow)
{
	roce_fabric_flow_close(flow);
	free((void *)(uintptr_t)flow->cfg.after);
	free(flow->successors);
	free(flow);
}

static struct roce_fabric_flow *make_flow(struct roce_fabric *f,
					  const struct roce_fabric_flow_config *cfg)
{
	struct roce_fabric_flow *flow = calloc(1, sizeof(*flow));
	uint32_t *after = NULL;

	if (!flow)
		return NULL;
	flow->cfg = *cfg;
	flow->via = cfg->via == ROCE_FABRIC_DIRECT ? cfg->via : f->nodes[cfg->via].host_number;
	flow->cfg.after = NULL;
	if (cfg->after_count) {
		after = calloc(cfg->after_count, sizeof(*after));
		if (!after) {
			free(flow);
			return NULL;
		}
		memcpy(after, cfg->after, cfg->after_count * sizeof(*after));
		flow->cfg.after = after;
	}
	flow->f = f;
	flow->index = f->flow_count;
	flow->message_bytes = roce_fabric_flow_message_bytes(cfg);
	flow->message_count = (cfg->bytes + flow->message_bytes - 1) / flow->message_bytes;
	flow->prng.state = roce_fabric_mix(f->cfg.seed + flow->index);
	flow->result = (struct roce_fabric_flow_result){
		.started_ps = ROCE_FABRIC_NEVER,
		.done_ps = ROCE_FABRIC_NEVER,
		.delivered_ps = ROCE_FABRIC_NEVER,
	};
	roce_event_init(&flow->event, on_event);
	return flow;
}

static int make_room(struct roce_fabric *f)
{
	uint32_t room = f->flow_room ? f->flow_room * 2 : 64;
	struct roce_fabric_flow **flows;

	if (f->flow_count < f->flow_room)
		return 0;
	flows = realloc(f->flows, room * sizeof(struct roce_fabric_flow *));
	if (!flows)
		return -ENOMEM;
	f->flows = flows;
	f->flow_room = room;
	return 0;
}

int roce_fabric_add_flow(struct roce_fabric *f, const struct roce_fabric_flow_config *cfg,
			 uint32_t *out_flow)
{
	int err = roce_fabric_check_flow(f, cfg);
	struct roce_fabric_flow *flow;

	if (!err)
		err = make_room(f);
	if (err)
		return err;
	flow = make_flow(f, cfg);
	if (!flow)
		return -ENOMEM;
	if (cfg->tag)
		flow->histogram = get_histogram(f, cfg->tag);
	if (wait_for_predecessors(flow)) {
		free_flow(flow);
		return -ENOMEM;
	}
	f->flows[f->flow_count] = flow;
	f->open_count++;
	if (!flow->after_open)
		plan_start(flow);
	*out_flow = f->flow_count++;
	return 0;
}

void roce_fabric_flows_free(struct roce_fabric *f)
{
	for (uint32_t i = 0; i < f->flow_count; i++)
		free_flow(f->flows[i]);
	free(f->flows);
	while (f->histograms) {
		struct roce_fabric_histogram *h = f->histograms;

		f->histograms = h->next;
		free(h);
	}
}

/* ---- results ---- */

uint32_t roce_fabric_flow_count(const struct roce_fabric *f)
{
	return f->flow_count;
}

const struct roce_fabric_flow_config *roce_fabric_flow_config(const struct roce_fabric *f,
							      uint32_t flow)
{
	return &f->flows[flow]->cfg;
}

/* The data of READs comes from dst. */
uint64_t roce_fabric_flow_rate_bps(struct roce_fabric *f, uint32_t index, uint32_t qp)
{
	struct roce_fabric_flow *flow = f->flows[index];
	bool is_read = flow->cfg.operation == ROCE_FABRIC_READ;
	struct roce_qp *sender;

	if (!flow->qps || flow->is_ended || qp >= flow->cfg.qp_count)
		return 0;
	sender = is_read ? &flow->qps[qp].dst.qp : &flow->qps[qp].src.qp;
	if (!roce_cc_is_on(&sender->cc))
		return 0;
	return UINT64_C(1000) * roce_cc_rate(&sender->cc, roce_event_queue_now_ns(&f->queue));
}

void roce_fabric_flow_result(const struct roce_fabric *f, uint32_t index,
			     struct roce_fabric_flow_result *out)
{
	const struct roce_fabric_flow *flow = f->flows[index];

	*out = flow->result;
	if (out->state == ROCE_FABRIC_FLOW_RUNNING && flow->qps && !flow->qps_open &&
	    flow->cfg.transport != ROCE_FABRIC_RC)
		out->state = ROCE_FABRIC_FLOW_LOSSY;
}

uint64_t roce_fabric_latency_quantile(const struct roce_fabric *f, uint64_t tag, double q)
{
	for (const struct roce_fabric_histogram *h = f->histograms; h; h = h->next)
		if (h->tag == tag)
			return roce_fabric_histogram_quantile(h, q);
	return 0;
}
