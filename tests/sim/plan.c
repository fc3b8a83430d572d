/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drawing a plan. Order: what kind of trouble, the link, the hosts, the connections, then for every
 * flow its requests, its receives and its memory.
 */
#include "plan_draw.h"

#include "wire/aeth.h"

#include <string.h>

#define PACKETS_MAX 2500u /* of one seed, all flows together */
#define BYTES_MAX   (3u << 20)

const char *sim_recipe_str(enum sim_recipe recipe)
{
	static const char *const names[] = {
#define X(id, name) name,
		SIM_RECIPES(X)
#undef X
	};

	return recipe < SIM_RECIPE_COUNT ? names[recipe] : "?";
}

/* ---- the link and the hosts ---- */

static void draw_faults(struct draw *d, struct roce_link_faults *f)
{
	f->late_ns_max = between(d, 1, 30000);
	f->jitter_ns_max = chance(d, 30) ? between(d, 1, 3000) : 0;
	switch (d->plan->recipe) {
	case SIM_RECIPE_LOSS:
		f->loss_ppm = between(d, 500, 20000);
		f->loss_burst_max = between(d, 1, 2);
		break;
	case SIM_RECIPE_DUPLICATE:
		f->duplicate_ppm = between(d, 5000, 200000);
		break;
	case SIM_RECIPE_REORDER:
		f->reorder_ppm = between(d, 1000, 80000);
		break;
	case SIM_RECIPE_CORRUPT:
		f->corrupt_ppm = between(d, 1000, 30000);
		break;
	case SIM_RECIPE_DELAY:
		f->stall_ppm = between(d, 500, 20000);
		f->stall_ns_max = between(d, 10000, 800000);
		f->jitter_ns_max = between(d, 1, 30000);
		break;
	case SIM_RECIPE_MIXED:
	case SIM_RECIPE_LARGE_WINDOW:
		f->loss_ppm = below(d, 8000);
		f->duplicate_ppm = below(d, 20000);
		f->reorder_ppm = below(d, 20000);
		f->corrupt_ppm = below(d, 4000);
		f->stall_ppm = chance(d, 30) ? below(d, 3000) : 0;
		f->stall_ns_max = 200000;
		break;
	case SIM_RECIPE_HEAVY_LOSS:
		f->loss_ppm = between(d, 30000, 400000);
		f->loss_burst_max = between(d, 1, 8);
		break;
	case SIM_RECIPE_LATE_RECEIVES:
	case SIM_RECIPE_DEAD_LINK:
	case SIM_RECIPE_BAD_REQUEST:
	case SIM_RECIPE_NO_RECEIVE:
		if (chance(d, 40)) {
			f->loss_ppm = below(d, 10000);
			f->reorder_ppm = below(d, 10000);
		}
		break;
	case SIM_RECIPE_CLEAN:
	case SIM_RECIPE_COUNT:
		break;
	}
}

static void draw_link(struct draw *d)
{
	static const uint64_t rates[] = {0, 20, 80, 320, 800, 8000};
	struct roce_link_config *link = &d->plan->link;
	uint32_t slowest = d->plan->recipe == SIM_RECIPE_LARGE_WINDOW ? 5 : 6;

	link->seed = roce_prng_next(&d->prng);
	link->ps_per_byte = rates[below(d, slowest)];
	link->delay_ps = between(d, 100, chance(d, 20) ? 50000 : 3000) * ROCE_PS_PER_NS;
	link->is_encoded = chance(d, 25);
	link->pull_max = between(d, 1, ROCE_LINK_PULL_MAX);
	for (unsigned int i = 0; i < 2; i++)
		if (chance(d, 40))
			link->lag_ps[i] = between(d, 1, 5000) * ROCE_PS_PER_NS;
	draw_faults(d, &link->faults[0]);
	draw_faults(d, &link->faults[1]);
	d->plan->down_at_ns =
		d->plan->recipe == SIM_RECIPE_DEAD_LINK ? below(d, 200000) : ROCE_NEVER;
}

static void draw_tuning(struct draw *d, struct roce_transport_config *t)
{
	uint32_t packets = d->plan->recipe == SIM_RECIPE_LARGE_WINDOW ? between(d, 64, 300)
								      : between(d, 1, 48);
	uint32_t cost = 4096 + ROCE_WINDOW_PACKET_COST;

	*t = sim_tuning_default();
	t->window.max = packets * cost;
	t->window.initial = between(d, packets > 1 ? packets / 2 : 1, packets) * cost;
	t->window.min = (packets > 2 ? 2 : 1) * cost;
	t->read_window = between(d, 1, packets) * cost;
	t->read_chunk_packets = between(d, 1, chance(d, 50) ? 64 : 8);
	t->ack_interval_packets = between(d, 1, 32);
	t->burst_packets = between(d, 1, 32);
}

/* How long an answer may take when nothing is lost: half of what the timeout must be at least. */
static uint64_t slowest_answer_ns(const struct sim_plan *plan)
{
	uint64_t ns = (2 * plan->link.delay_ps + plan->link.lag_ps[0] + plan->link.lag_ps[1]) /
		      ROCE_PS_PER_NS;

	for (unsigned int i = 0; i < 2; i++) {
		const struct roce_link_faults *f = &plan->link.faults[i];

		ns += f->jitter_ns_max + f->late_ns_max + 2 * (f->stall_ppm ? f->stall_ns_max : 0);
		ns += (plan->tuning[i].window.max + (uint64_t)plan->tuning[i].read_window) *
		      plan->link.ps_per_byte / ROCE_PS_PER_NS;
	}
	return ns;
}

static uint8_t draw_timeout(struct draw *d)
{
	uint64_t need = slowest_answer_ns(d->plan) << below(d, 4);
	uint8_t t = 1;

	if (d->plan->recipe == SIM_RECIPE_CLEAN && chance(d, 20))
		return 0; /* never */
	while (roce_ack_timeout_ns(t) < need)
		t++;
	return t;
}

static void draw_conn(struct draw *d, struct sim_conn *c)
{
	bool may_break = !sim_plan_must_succeed(d->plan);

	*c = sim_conn_default();
	c->path_mtu = (uint8_t)between(d, 1, 5);
	c->timeout = draw_timeout(d);
	c->retry_cnt = may_break && d->plan->recipe != SIM_RECIPE_BAD_REQUEST &&
				       d->plan->recipe != SIM_RECIPE_NO_RECEIVE
			       ? (uint8_t)below(d, 8)
			       : 7;
	c->rnr_retry = d->plan->recipe == SIM_RECIPE_NO_RECEIVE ? (uint8_t)below(d, 7) : 7;
	for (unsigned int i = 0; i < 2; i++) {
		c->psn[i] =
			chance(d, 30) ? ROCE_PSN_MASK - below(d, 40) : below(d, ROCE_PSN_MASK + 1);
		c->max_dest_rd_atomic[i] = (uint8_t)between(d, 1, ROCE_MAX_RD_ATOMIC);
		c->min_rnr_timer[i] = (uint8_t)(chance(d, 80) ? between(d, 1, 12) : below(d, 32));
	}
	for (unsigned int i = 0; i < 2; i++)
		c->max_rd_atomic[i] = (uint8_t)between(d, 1, c->max_dest_rd_atomic[!i]);
}

static void draw_caps(struct draw *d, struct sim_qp_caps *caps)
{
	*caps = (struct sim_qp_caps){
		.send_wr = 1u << below(d, 7),
		.recv_wr = d->plan->recipe == SIM_RECIPE_NO_RECEIVE ? 64 : 1u << below(d, 7),
		.send_sge = between(d, 1, SIM_PIECES_MAX),
		.recv_sge = between(d, 1, SIM_PIECES_MAX),
		.inline_bytes = chance(d, 50) ? between(d, 1, 300) : 0,
		.sq_sig_all = chance(d, 20),
	};
}

/* ---- all of it ---- */

static void draw_flows(struct draw *d, size_t cursors[2])
{
	struct sim_plan *plan = d->plan;

	for (uint32_t c = 0; c < plan->conn_count; c++) {
		for (unsigned int from = 0; from < 2; from++) {
			plan->flows[c][from].from = from;
			draw_ops(d, &plan->flows[c][from], &plan->conns[c]);
			if (plan->recipe == SIM_RECIPE_HEAVY_LOSS ||
			    plan->recipe == SIM_RECIPE_DEAD_LINK)
				plan->flows[c][from].allowed_mask =
					1u << ROCE_WC_RETRY_EXC_ERR | 1u << ROCE_WC_WR_FLUSH_ERR;
		}
	}
	if (plan->recipe == SIM_RECIPE_BAD_REQUEST)
		draw_bad_request(d);
	for (uint32_t c = 0; c < plan->conn_count; c++)
		for (unsigned int from = 0; from < 2; from++)
			draw_recvs(d, &plan->flows[c][from]);
	if (plan->recipe == SIM_RECIPE_NO_RECEIVE)
		draw_no_receive(d);
	for (uint32_t c = 0; c < plan->conn_count; c++) {
		for (unsigned int from = 0; from < 2; from++) {
			struct sim_flow_plan *flow = &plan->flows[c][from];

			draw_memory(d, flow, &plan->caps[c][from], &plan->caps[c][!from], cursors);
		}
	}
}

static roce_ns_t longest_run_ns(const struct sim_plan *plan)
{
	roce_ns_t ns = ROCE_NS_PER_S;

	for (uint32_t c = 0; c < plan->conn_count; c++) {
		const struct sim_conn *conn = &plan->conns[c];

		if (conn->timeout)
			ns += 3000 * roce_ack_timeout_ns(conn->timeout);
		for (unsigned int i = 0; i < 2; i++)
			ns += 4 * SIM_OPS_MAX * roce_rnr_delay_ns(conn->min_rnr_timer[i]) +
			      SIM_OPS_MAX * plan->flows[c][i].recv_gap_ns;
	}
	return ns;
}

void sim_plan_draw(struct sim_plan *plan, uint64_t seed, enum sim_recipe recipe)
{
	struct draw d = {
		.plan = plan, .prng = {seed}, .packets_left = PACKETS_MAX, .bytes_left = BYTES_MAX};
	size_t cursors[2] = {GAP_MIN, GAP_MIN};
	uint32_t drawn;

	memset(plan, 0, sizeof(*plan));
	roce_prng_next(&d.prng);
	plan->seed = seed;
	drawn = below(&d, SIM_RECIPE_COUNT);
	plan->recipe = recipe == SIM_RECIPE_COUNT ? (enum sim_recipe)drawn : recipe;
	draw_link(&d);
	plan->conn_count = chance(&d, 60) ? 1 : between(&d, 2, SIM_CONNS_MAX);
	for (unsigned int i = 0; i < 2; i++) {
		draw_tuning(&d, &plan->tuning[i]);
		plan->has_one_cq[i] = chance(&d, 50);
		plan->uses_events[i] = chance(&d, 50);
		plan->poll_gap_ns[i] = between(&d, 1, chance(&d, 20) ? 200000 : 5000);
		plan->poll_batch_max[i] = between(&d, 1, 32);
	}
	for (uint32_t c = 0; c < plan->conn_count; c++) {
		draw_conn(&d, &plan->conns[c]);
		draw_caps(&d, &plan->caps[c][0]);
		draw_caps(&d, &plan->caps[c][1]);
		plan->has_srq[c][0] = chance(&d, 25);
		plan->has_srq[c][1] = chance(&d, 25);
	}
	draw_flows(&d, cursors);
	plan->arena_size[0] = cursors[0] + GAP_MIN;
	plan->arena_size[1] = cursors[1] + GAP_MIN;
	plan->limit_ns = longest_run_ns(plan);
}
