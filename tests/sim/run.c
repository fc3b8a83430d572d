/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a run: build, connect, run events until every flow has ended, let the link fall
 * silent, look at both memories and at what the transports still hold, then flush what is left.
 */
#include "run.h"

#include "base/assert.h"
#include "wire/opcode.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 4000000u /* more is no progress */

void sim_run_fail(struct sim_run *run, const char *format, ...)
{
	va_list args;

	if (run->is_failed)
		return;
	run->is_failed = true;
	va_start(args, format);
	vsnprintf(run->failure, sizeof(run->failure), format, args);
	va_end(args);
}

void sim_run_mix(struct sim_run *run, uint64_t value)
{
	run->hash = (run->hash ^ value) * UINT64_C(0x9fb21c651e98df25);
	run->hash ^= run->hash >> 31;
}

void sim_run_trace(struct sim_run *run, const char *format, ...)
{
	va_list args;

	if (!run->is_traced)
		return;
	printf("%13.3f us  ", (double)run->pair.queue.now_ps / 1e6);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* ---- the wire ---- */

static struct sim_wire *wire_of(struct sim_run *run, unsigned int from,
				const struct roce_link_pkt *pkt, bool is_request)
{
	for (uint32_t c = 0; c < run->plan->conn_count; c++)
		if (run->flows[c][from].peer->qp.cfg.qpn.v == pkt->hdr.dest_qpn.v)
			return &run->wires[c][is_request ? from : !from];
	return NULL;
}

static void mix_packet(struct sim_run *run, enum roce_link_fate fate, unsigned int from,
		       const struct roce_link_pkt *pkt, enum roce_verdict verdict)
{
	const struct roce_headers *h = &pkt->hdr;
	const struct roce_opcode_info *info = roce_opcode_info(h->opcode);

	sim_run_mix(run, run->pair.queue.now_ps);
	sim_run_mix(run, (uint64_t)fate << 56 | (uint64_t)from << 48 | (uint64_t)verdict << 32 |
				 (uint64_t)h->opcode.v << 24 | h->psn.v);
	sim_run_mix(run, pkt->payload_len);
	if (info && roce_header_set_has(info->headers, ROCE_HEADER_AETH))
		sim_run_mix(run, (uint64_t)h->msn << 8 | h->syndrome);
}

static void on_packet(void *ctx, enum roce_link_fate fate, unsigned int from,
		      const struct roce_link_pkt *pkt, enum roce_verdict verdict)
{
	struct sim_run *run = ctx;
	const struct roce_opcode_info *info = roce_opcode_info(pkt->hdr.opcode);
	struct sim_wire *wire = wire_of(run, from, pkt, info && info->is_request);
	char line[SIM_LINE_MAX];

	if (run->is_failed)
		return;
	mix_packet(run, fate, from, pkt, verdict);
	if (run->is_traced) {
		sim_text_packet(line, &pkt->hdr, pkt->payload_len);
		sim_run_trace(
			run, "%u %c %-10s %s%s%s", wire ? wire->conn : 9, from ? '<' : '>',
			roce_link_fate_str(fate), line, fate == ROCE_LINK_DELIVERED ? "  -> " : "",
			fate == ROCE_LINK_DELIVERED ? roce_counter_str((uint32_t)verdict) : "");
	}
	if (!wire)
		sim_run_fail(run, "a packet for QP 0x%x", pkt->hdr.dest_qpn.v);
	else if (info->is_request)
		sim_wire_on_request(wire, fate, pkt, verdict);
	else
		sim_wire_on_response(wire, fate, pkt, verdict);
}

/* ---- polling ---- */

static void on_cqe(struct sim_run *run, unsigned int host, const struct roce_cqe *cqe)
{
	uint32_t conn = (uint32_t)(cqe->wr_id >> 48 & 0xff);
	unsigned int from = (unsigned int)(cqe->wr_id >> 40 & 0xff);
	uint32_t kind = (uint32_t)(cqe->wr_id >> 56);

	sim_run_mix(run, cqe->wr_id);
	sim_run_mix(run, (uint64_t)cqe->status << 32 | cqe->opcode);
	sim_run_trace(run, "%u   host %u %s %u: %s", conn, host, kind == 2 ? "receive" : "request",
		      (uint32_t)cqe->wr_id, sim_text_status(cqe->status));
	if (conn >= run->plan->conn_count || from > 1 || kind < 1 || kind > 2 ||
	    host != (kind == 1 ? from : !from))
		sim_run_fail(run, "host %u: completion of unknown 0x%lx", host,
			     (unsigned long)cqe->wr_id);
	else if (kind == 1)
		sim_flow_on_send_cqe(&run->flows[conn][from], cqe);
	else
		sim_flow_on_recv_cqe(&run->flows[conn][from], cqe);
}

/* True when a CQ was left with entries. */
static bool poll_host(struct sim_run *run, unsigned int host)
{
	struct sim_stack *s = &run->pair.hosts[host];
	struct roce_cqe cqes[32];
	bool is_left = false;
	uint32_t found = 0;

	for (uint32_t i = 0; i < s->cq_count && !run->is_failed; i++) {
		uint32_t n = roce_cq_poll(&s->cqs[i]->cq, cqes, run->plan->poll_batch_max[host]);

		found += n;
		for (uint32_t k = 0; k < n && !run->is_failed; k++)
			on_cqe(run, host, &cqes[k]);
		is_left |= !roce_cq_is_empty(&s->cqs[i]->cq);
	}
	for (uint32_t c = 0; c < run->plan->conn_count && !run->is_failed; c++) {
		sim_flow_post(&run->flows[c][host]);
		sim_flow_post_recvs(&run->flows[c][!host]);
	}
	run->idle_polls[host] = found ? 0 : run->idle_polls[host] + 1;
	return is_left;
}

static bool is_host_done(const struct sim_run *run, unsigned int host)
{
	for (uint32_t c = 0; c < run->plan->conn_count; c++) {
		const struct sim_flow *in = &run->flows[c][!host];

		if (!sim_flow_is_sent(&run->flows[c][host]))
			return false;
		if (!sim_flow_is_received(in))
			return false;
	}
	return true;
}

static void schedule_poll(struct sim_run *run, unsigned int host)
{
	uint64_t gap_ns;

	if (roce_event_is_queued(&run->poll_events[host]))
		return;
	gap_ns = 1 + roce_prng_below(&run->prng, run->plan->poll_gap_ns[host]);
	gap_ns <<= run->idle_polls[host] < 20 ? run->idle_polls[host] : 20;
	roce_event_schedule(&run->pair.queue, &run->poll_events[host],
			    run->pair.queue.now_ps + gap_ns * ROCE_PS_PER_NS);
}

static void on_poll(struct sim_run *run, unsigned int host)
{
	struct sim_stack *s = &run->pair.hosts[host];
	bool is_left = poll_host(run, host);

	if (run->is_failed || is_host_done(run, host))
		return;
	if (run->plan->uses_events[host]) {
		/* arm first, then look once more: no wake-up is lost */
		for (uint32_t i = 0; i < s->cq_count; i++)
			roce_cq_arm(&s->cqs[i]->cq, false);
		for (uint32_t i = 0; i < s->cq_count; i++)
			is_left |= !roce_cq_is_empty(&s->cqs[i]->cq);
		if (!is_left)
			return;
	}
	schedule_poll(run, host);
}

static void on_poll_0(struct roce_event *ev)
{
	on_poll(roce_container_of(ev, struct sim_run, poll_events[0]), 0);
}

static void on_poll_1(struct roce_event *ev)
{
	on_poll(roce_container_of(ev, struct sim_run, poll_events[1]), 1);
}

static void on_notify_0(void *ctx)
{
	schedule_poll(ctx, 0);
}

static void on_notify_1(void *ctx)
{
	schedule_poll(ctx, 1);
}

static void on_down(struct roce_event *ev)
{
	struct sim_run *run = roce_container_of(ev, struct sim_run, down_event);

	run->pair.link.is_down = true;
	sim_run_trace(run, "link down");
}

/* ---- building ---- */

static uint32_t round_up_pow2(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static struct sim_cq *add_cq(struct sim_run *run, unsigned int host, uint32_t entries)
{
	struct sim_cq *cq = sim_stack_add_cq(&run->pair.hosts[host], round_up_pow2(entries));

	if (run->plan->uses_events[host]) {
		cq->notify = host ? on_notify_1 : on_notify_0;
		cq->notify_ctx = run;
		roce_cq_arm(&cq->cq, false);
	}
	return cq;
}

static void add_qps(struct sim_run *run, unsigned int host, struct sim_qp *qps[SIM_CONNS_MAX])
{
	const struct sim_plan *plan = run->plan;
	struct sim_cq *shared = NULL;
	uint32_t entries = 0;

	for (uint32_t c = 0; c < plan->conn_count; c++)
		entries += plan->caps[c][host].send_wr + plan->caps[c][host].recv_wr;
	if (plan->has_one_cq[host])
		shared = add_cq(run, host, entries);
	for (uint32_t c = 0; c < plan->conn_count; c++) {
		struct sim_qp_caps caps = plan->caps[c][host];
		struct sim_cq *send_cq = shared ? shared : add_cq(run, host, caps.send_wr);
		struct sim_cq *recv_cq = shared ? shared : add_cq(run, host, caps.recv_wr);

		if (plan->has_srq[c][host])
			caps.srq = sim_stack_add_srq(&run->pair.hosts[host], caps.recv_wr, NULL);

		qps[c] = sim_stack_add_qp(&run->pair.hosts[host], &caps, send_cq, recv_cq);
	}
}

static void fill_memory(struct sim_run *run, unsigned int host)
{
	size_t size = run->plan->arena_size[host];
	size_t words = (size + 7) / 8;
	uint64_t *image = malloc(words * 8);

	ROCE_ASSERT(image);
	for (size_t i = 0; i < words; i++)
		image[i] = sim_fill_word(host, i);
	memcpy(run->pair.hosts[host].arena, image, size);
	run->images[host] = (uint8_t *)image;
}

static void build(struct sim_run *run)
{
	struct sim_plan *plan = run->plan;
	struct sim_qp *qps[2][SIM_CONNS_MAX];

	sim_pair_init_with(&run->pair, plan->arena_size, plan->tuning, &plan->link, plan->seed);
	run->pair.is_quiet = true;
	run->pair.observe = on_packet;
	run->pair.observe_ctx = run;
	roce_event_init(&run->poll_events[0], on_poll_0);
	roce_event_init(&run->poll_events[1], on_poll_1);
	roce_event_init(&run->down_event, on_down);
	roce_event_schedule(&run->pair.queue, &run->down_event, roce_ps_from_ns(plan->down_at_ns));
	for (unsigned int host = 0; host < 2; host++) {
		fill_memory(run, host);
		add_qps(run, host, qps[host]);
	}
	for (uint32_t c = 0; c < plan->conn_count; c++) {
		for (unsigned int from = 0; from < 2; from++) {
			sim_flow_init(&run->flows[c][from], run, c, from);
			run->flows[c][from].qp = qps[from][c];
			run->flows[c][from].peer = qps[!from][c];
			sim_wire_init(&run->wires[c][from], run, c, from);
		}
		if (!sim_pair_connect(&run->pair, &qps[0][c]->qp, &qps[1][c]->qp, &plan->conns[c]))
			sim_run_fail(run, "conn %u: modify refused", c);
		sim_flow_bind_windows(&run->flows[c][0]);
		sim_flow_bind_windows(&run->flows[c][1]);
	}
}

/* ---- running ---- */

/* Once nothing more can come of the requests, the receives that are left are flushed. */
static void flush_ended(struct sim_run *run)
{
	for (uint32_t c = 0; c < run->plan->conn_count; c++) {
		if (!sim_flow_is_sent(&run->flows[c][0]) || !sim_flow_is_sent(&run->flows[c][1]))
			continue;
		for (unsigned int host = 0; host < 2; host++) {
			const struct sim_flow *in = &run->flows[c][!host];
			struct sim_qp *qp = run->flows[c][host].qp;

			if (in->recv_polled == in->recv_posted ||
			    roce_qp_get_state(&qp->qp) == ROCE_QP_ERR)
				continue;
			sim_run_trace(run, "%u   host %u to ERR", c, host);
			sim_pair_set_state(&run->pair, host, &qp->qp, ROCE_QP_ERR);
		}
	}
}

/* All requests ended, and every receive that a successful one took was seen. */
static bool is_settled(const struct sim_run *run)
{
	for (uint32_t c = 0; c < run->plan->conn_count; c++) {
		for (unsigned int from = 0; from < 2; from++) {
			const struct sim_flow *flow = &run->flows[c][from];

			if (!sim_flow_is_sent(flow))
				return false;
			for (uint32_t i = 0; i < flow->succeeded; i++)
				if (flow->plan->ops[i].recv != SIM_NO_RECV &&
				    flow->plan->ops[i].recv >= flow->recv_polled)
					return false;
		}
	}
	return true;
}

/* What the QPs have charged is what the windows hold, at any time. */
static void check_windows(struct sim_run *run)
{
	for (unsigned int host = 0; host < 2; host++) {
		const struct sim_stack *s = &run->pair.hosts[host];
		uint64_t read_inflight = 0;
		uint64_t inflight = 0;

		for (uint32_t i = 0; i < s->qp_count; i++) {
			read_inflight += s->qps[i]->qp.req.read_inflight;
			inflight += s->qps[i]->qp.req.inflight;
		}
		for (uint32_t i = 0; i < s->peer_count; i++)
			inflight -= s->peers[i].window.inflight;
		if (inflight || read_inflight != s->transport.read_inflight)
			sim_run_fail(run, "host %u: windows do not hold what QPs charged", host);
	}
}

static bool step(struct sim_run *run)
{
	struct roce_event_queue *q = &run->pair.queue;

	if (run->is_failed)
		return false;
	if (q->fired_count > EVENTS_MAX)
		sim_run_fail(run, "no end after %u events", EVENTS_MAX);
	else if (roce_event_queue_next_ps(q) == ROCE_PS_NEVER)
		sim_run_fail(run, "nothing happens any more");
	else if (q->now_ps > roce_ps_from_ns(run->plan->limit_ns))
		sim_run_fail(run, "no end after %lu ns", (unsigned long)run->plan->limit_ns);
	else
		roce_event_queue_step(q);
	check_windows(run);
	return !run->is_failed;
}

static void check_transports(struct sim_run *run)
{
	for (unsigned int host = 0; host < 2; host++) {
		const struct sim_stack *s = &run->pair.hosts[host];

		if (s->stray_count)
			sim_run_fail(run, "host %u: %lu accesses outside every region", host,
				     (unsigned long)s->stray_count);
		if (roce_deadline(&s->transport) != ROCE_NEVER)
			sim_run_fail(run, "host %u: a deadline at rest", host);
		if (roce_tx_is_pending(&s->transport))
			sim_run_fail(run, "host %u: a ready QP at rest", host);
		if (s->transport.read_inflight)
			sim_run_fail(run, "host %u: %u of the READ window in use at rest", host,
				     s->transport.read_inflight);
		for (uint32_t i = 0; i < s->peer_count; i++)
			if (s->peers[i].window.inflight)
				sim_run_fail(run, "host %u: %u of the window in use at rest", host,
					     s->peers[i].window.inflight);
		if (run->pair.link.ends[host].damage_missed ||
		    run->pair.link.ends[host].codec_errors)
			sim_run_fail(run, "host %u: the codec let damage pass or made some", host);
	}
}

/* A QP that leaves its SRQ for good says so, once; no other QP does. */
static void check_last_wqe_events(struct sim_run *run)
{
	for (unsigned int host = 0; host < 2; host++) {
		const struct sim_stack *s = &run->pair.hosts[host];

		for (uint32_t q = 0; q < s->qp_count; q++) {
			const struct roce_qp *qp = &s->qps[q]->qp;
			uint32_t count = 0;

			for (uint32_t i = 0; i < s->event_count; i++)
				count += s->events[i].qp == qp &&
					 s->events[i].event == ROCE_EVENT_QP_LAST_WQE_REACHED;
			if (count != (qp->cfg.srq && roce_qp_get_state(qp) == ROCE_QP_ERR))
				sim_run_fail(run, "host %u: %u last-WQE events on QP 0x%x", host,
					     count, qp->cfg.qpn.v);
		}
	}
}

/* Nothing was executed twice: what was placed and how many atomics there were is exact. */
static void check_counts(struct sim_run *run)
{
	for (unsigned int host = 0; host < 2; host++) {
		const struct sim_stack *s = &run->pair.hosts[host];

		if (s->placed_bytes != run->expected_placed[host])
			sim_run_fail(run, "host %u: %lu bytes placed, not %lu", host,
				     (unsigned long)s->placed_bytes,
				     (unsigned long)run->expected_placed[host]);
		if (s->atomic_count != run->expected_atomics[host])
			sim_run_fail(run, "host %u: %lu atomics, not %lu", host,
				     (unsigned long)s->atomic_count,
				     (unsigned long)run->expected_atomics[host]);
		for (uint32_t v = ROCE_RX_NO_QP; v < ROCE_VERDICT_COUNT; v++) {
			if (v == ROCE_RX_RESPONSE_STALE || v == ROCE_RX_RESPONSE_GAP ||
			    v == ROCE_RX_NAK_SEQUENCE || v == ROCE_RX_NAK_RNR ||
			    v == ROCE_RX_DUPLICATE_MISMATCH)
				continue;
			if (sim_counter(s, v))
				sim_run_fail(run, "host %u: %s %lu", host, roce_counter_str(v),
					     (unsigned long)sim_counter(s, v));
		}
	}
}

static void drain(struct sim_run *run)
{
	struct roce_event_queue *q = &run->pair.queue;

	/* a timer of the core may be early and find nothing to do: that is all that may be left */
	while (!run->is_failed && roce_event_queue_next_ps(q) != ROCE_PS_NEVER) {
		if (!step(run))
			return;
		flush_ended(run);
	}
}

bool sim_run_plan(struct sim_run *run, struct sim_plan *plan, bool is_traced)
{
	memset(run, 0, sizeof(*run));
	run->plan = plan;
	run->is_traced = is_traced;
	run->prng.state = plan->seed ^ UINT64_C(0x5bd1e995);
	build(run);
	for (uint32_t c = 0; c < plan->conn_count && !run->is_failed; c++) {
		for (unsigned int from = 0; from < 2; from++) {
			sim_flow_start(&run->flows[c][from]);
			sim_flow_post(&run->flows[c][from]);
		}
	}
	schedule_poll(run, 0);
	schedule_poll(run, 1);
	while (!run->is_failed && !is_settled(run)) {
		if (!step(run))
			break;
	}
	if (!run->is_failed && sim_plan_must_succeed(plan)) {
		check_counts(run);
		sim_model_check_all(run);
	}
	if (!run->is_failed) {
		flush_ended(run);
		drain(run);
		for (uint32_t c = 0; c < plan->conn_count; c++)
			for (unsigned int from = 0; from < 2; from++)
				if (sim_flow_recvs_due(&run->flows[c][from]))
					sim_run_fail(run, "conn %u host %u: %u receives never end",
						     c, !from,
						     sim_flow_recvs_due(&run->flows[c][from]));
	}
	if (!run->is_failed) {
		check_transports(run);
		check_last_wqe_events(run);
	}
	if (!run->is_failed)
		sim_model_check_all(run);
	for (unsigned int host = 0; host < 2; host++)
		for (uint32_t i = 0; i < ROCE_COUNTER_COUNT; i++)
			sim_run_mix(run, sim_counter(&run->pair.hosts[host], i));
	return !run->is_failed;
}

void sim_run_fini(struct sim_run *run)
{
	for (uint32_t c = 0; c < run->plan->conn_count; c++)
		for (unsigned int from = 0; from < 2; from++)
			sim_wire_fini(&run->wires[c][from]);
	sim_pair_fini(&run->pair);
	free(run->images[0]);
	free(run->images[1]);
}
