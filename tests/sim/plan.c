/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Drawing a plan. Order: what kind of trouble, the connections, the requests (kind and length), the
 * memory that they need, then their pieces and targets, last the one request that is to fail. What
 * a request means for memory must not depend on time, so a WRITE or atomic that touches what an
 * earlier READ reads is fenced, and so is one that sends what an earlier READ fetched.
 */
#include "plan.h"

#include "base/assert.h"
#include "wire/aeth.h"
#include "wire/mtu.h"

#include <string.h>

#define PACKETS_MAX 2500u /* of one seed, all flows together */
#define BYTES_MAX   (3u << 20)
#define GAP_MIN	    16u /* bytes that nobody may touch, around every region */

struct draw {
	struct sim_plan *plan;
	struct roce_prng prng;
	uint32_t packets_left;
	uint32_t bytes_left;
};

const char *sim_recipe_str(enum sim_recipe recipe)
{
	static const char *const names[] = {
#define X(id, name) name,
		SIM_RECIPES(X)
#undef X
	};

	return recipe < SIM_RECIPE_COUNT ? names[recipe] : "?";
}

static uint32_t below(struct draw *d, uint32_t bound)
{
	return (uint32_t)roce_prng_below(&d->prng, bound);
}

/* In [low, high]. */
static uint32_t between(struct draw *d, uint32_t low, uint32_t high)
{
	return low + below(d, high - low + 1);
}

static bool chance(struct draw *d, uint32_t percent)
{
	return below(d, 100) < percent;
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
	uint64_t ns = 2 * plan->link.delay_ps / ROCE_PS_PER_NS;

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

/* ---- requests ---- */

static uint32_t draw_length(struct draw *d, uint32_t mtu, uint32_t length_max)
{
	uint32_t length;
	uint32_t packets;

	switch (below(d, 8)) {
	case 0:
		length = below(d, 3);
		break;
	case 1:
		length = mtu * between(d, 1, 3) + below(d, 3) - 1;
		break;
	case 2:
		length = below(d, 64);
		break;
	case 3:
		length = below(d, 4 * mtu);
		break;
	default:
		length = below(d, length_max + 1);
		break;
	}
	if (length > length_max)
		length = length_max;
	packets = length / mtu + 1;
	if (packets > d->packets_left || length > d->bytes_left) {
		length = below(d, 64);
		packets = 1;
	}
	d->packets_left -= packets < d->packets_left ? packets : d->packets_left;
	d->bytes_left -= length < d->bytes_left ? length : d->bytes_left;
	return length;
}

static bool is_atomic(uint8_t opcode)
{
	return opcode == ROCE_WR_ATOMIC_CMP_AND_SWP || opcode == ROCE_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_send(uint8_t opcode)
{
	return opcode == ROCE_WR_SEND || opcode == ROCE_WR_SEND_WITH_IMM;
}

static bool is_fetch(uint8_t opcode)
{
	return opcode == ROCE_WR_RDMA_READ || is_atomic(opcode);
}

static bool takes_recv(uint8_t opcode)
{
	return is_send(opcode) || opcode == ROCE_WR_RDMA_WRITE_WITH_IMM;
}

static void draw_op(struct draw *d, struct sim_op *op, uint32_t mtu, uint32_t length_max)
{
	static const uint8_t opcodes[] = {
		ROCE_WR_SEND,
		ROCE_WR_SEND,
		ROCE_WR_RDMA_WRITE,
		ROCE_WR_RDMA_WRITE,
		ROCE_WR_RDMA_READ,
		ROCE_WR_RDMA_READ,
		ROCE_WR_SEND_WITH_IMM,
		ROCE_WR_RDMA_WRITE_WITH_IMM,
		ROCE_WR_ATOMIC_CMP_AND_SWP,
		ROCE_WR_ATOMIC_FETCH_AND_ADD,
	};

	*op = (struct sim_op){.recv = SIM_NO_RECV};
	op->opcode = opcodes[below(d, sizeof(opcodes))];
	op->length = is_atomic(op->opcode) ? 8 : draw_length(d, mtu, length_max);
	op->imm = (uint32_t)roce_prng_next(&d->prng);
	op->swap = roce_prng_next(&d->prng);
	op->compare_add = roce_prng_next(&d->prng);
	if (chance(d, 60))
		op->flags |= ROCE_SEND_SIGNALED;
	if (chance(d, 10))
		op->flags |= ROCE_SEND_FENCE;
	if (chance(d, 20))
		op->flags |= ROCE_SEND_SOLICITED;
}

static void draw_ops(struct draw *d, struct sim_flow_plan *flow, const struct sim_conn *conn)
{
	uint32_t mtu = roce_mtu_bytes(conn->path_mtu);
	uint32_t length_max;

	switch (below(d, 10)) {
	case 0:
		length_max = mtu >= 1024 ? 1u << 20 : 1u << 17;
		break;
	case 1:
	case 2:
		length_max = 64;
		break;
	default:
		length_max = 8 * mtu;
		break;
	}
	flow->op_count = chance(d, 10) ? 0 : between(d, 1, chance(d, 50) ? 12 : SIM_OPS_MAX);
	for (uint32_t i = 0; i < flow->op_count; i++)
		draw_op(d, &flow->ops[i], mtu, length_max);
	flow->fatal_op = SIM_NO_OP;
}

/* ---- the one request that fails ---- */

static void spoil(struct draw *d, struct sim_op *op, enum sim_defect defect)
{
	if (op->length == 0)
		op->length = between(d, 1, 3000);
	switch (defect) {
	case SIM_DEFECT_RKEY:
	case SIM_DEFECT_RKEY_IS_LKEY:
	case SIM_DEFECT_RANGE:
		/* an atomic beyond the region would be misaligned as well */
		if (is_send(op->opcode) || is_atomic(op->opcode))
			op->opcode = chance(d, 50) ? ROCE_WR_RDMA_WRITE : ROCE_WR_RDMA_READ;
		break;
	case SIM_DEFECT_MISALIGNED:
		op->opcode = ROCE_WR_ATOMIC_CMP_AND_SWP;
		break;
	case SIM_DEFECT_RECV_TOO_SMALL:
	case SIM_DEFECT_RECV_LKEY:
		op->opcode = ROCE_WR_SEND;
		break;
	case SIM_DEFECT_LKEY:
	case SIM_DEFECT_NONE:
	case SIM_DEFECT_COUNT:
		break;
	}
	if (is_atomic(op->opcode))
		op->length = 8;
	op->defect = (uint8_t)defect;
}

static void draw_bad_request(struct draw *d)
{
	static const struct {
		uint8_t status;
		uint8_t recv_status;
	} outcomes[SIM_DEFECT_COUNT] = {
		[SIM_DEFECT_RKEY] = {ROCE_WC_REM_ACCESS_ERR, 0},
		[SIM_DEFECT_RKEY_IS_LKEY] = {ROCE_WC_REM_ACCESS_ERR, 0},
		[SIM_DEFECT_RANGE] = {ROCE_WC_REM_ACCESS_ERR, 0},
		[SIM_DEFECT_MISALIGNED] = {ROCE_WC_REM_INV_REQ_ERR, 0},
		[SIM_DEFECT_LKEY] = {ROCE_WC_LOC_PROT_ERR, 0},
		[SIM_DEFECT_RECV_TOO_SMALL] = {ROCE_WC_REM_INV_REQ_ERR, ROCE_WC_LOC_LEN_ERR},
		[SIM_DEFECT_RECV_LKEY] = {ROCE_WC_REM_OP_ERR, ROCE_WC_LOC_PROT_ERR},
	};
	unsigned int from = below(d, 2);
	struct sim_flow_plan *flow = &d->plan->flows[0][from];
	enum sim_defect defect = (enum sim_defect)between(d, 1, SIM_DEFECT_COUNT - 1);

	if (flow->op_count == 0) {
		flow->op_count = 1;
		draw_op(d, &flow->ops[0], 256, 3000);
	}
	flow->fatal_op = below(d, flow->op_count);
	spoil(d, &flow->ops[flow->fatal_op], defect);
	flow->fatal_status = outcomes[defect].status;
	flow->recv_fatal_status = outcomes[defect].recv_status;
	d->plan->flows[0][!from].allowed_mask =
		1u << ROCE_WC_WR_FLUSH_ERR | 1u << ROCE_WC_RETRY_EXC_ERR;
	if (d->plan->link.faults[0].loss_ppm || d->plan->link.faults[1].loss_ppm)
		flow->allowed_mask = 1u << ROCE_WC_RETRY_EXC_ERR;
}

/* ---- receives ---- */

static void draw_recvs(struct draw *d, struct sim_flow_plan *flow)
{
	uint32_t spare = below(d, 3);

	for (uint32_t i = 0; i < flow->op_count; i++) {
		if (!takes_recv(flow->ops[i].opcode))
			continue;
		flow->ops[i].recv = flow->recv_count;
		flow->recvs[flow->recv_count++].op = i;
	}
	for (uint32_t i = 0; i < spare; i++)
		flow->recvs[flow->recv_count++].op = SIM_NO_OP;
	flow->recvs_first = flow->recv_count;
	flow->post_gap_ns = chance(d, 40) ? between(d, 1, 20000) : 0;
	if (d->plan->recipe == SIM_RECIPE_LATE_RECEIVES) {
		flow->recvs_first = below(d, flow->recv_count + 1);
		flow->recv_gap_ns = between(d, 1, chance(d, 50) ? 2000000 : 50000);
	}
}

static void draw_no_receive(struct draw *d)
{
	unsigned int from = below(d, 2);
	struct sim_flow_plan *flow = &d->plan->flows[0][from];
	uint32_t index;

	if (flow->recv_count == 0)
		return;
	index = below(d, flow->recv_count);
	flow->recvs_never = flow->recv_count - index;
	flow->recvs_first = index;
	if (flow->recvs[index].op == SIM_NO_OP)
		return;
	flow->fatal_op = flow->recvs[index].op;
	flow->fatal_status = ROCE_WC_RNR_RETRY_EXC_ERR;
	d->plan->flows[0][!from].allowed_mask =
		1u << ROCE_WC_WR_FLUSH_ERR | 1u << ROCE_WC_RETRY_EXC_ERR;
	if (d->plan->link.faults[0].loss_ppm || d->plan->link.faults[1].loss_ppm)
		flow->allowed_mask = 1u << ROCE_WC_RETRY_EXC_ERR;
}

/* ---- memory ---- */

static size_t take(struct draw *d, size_t *cursor, size_t length)
{
	size_t at = *cursor;

	*cursor += length + between(d, GAP_MIN, 80);
	return at;
}

static uint32_t recv_capacity(struct draw *d, const struct sim_flow_plan *flow, uint32_t i)
{
	const struct sim_op *op;

	if (flow->recvs[i].op == SIM_NO_OP)
		return below(d, 64);
	op = &flow->ops[flow->recvs[i].op];
	if (!is_send(op->opcode))
		return below(d, 64);
	if (op->defect == SIM_DEFECT_RECV_TOO_SMALL)
		return below(d, op->length);
	return op->length + (chance(d, 30) ? below(d, 64) : 0);
}

/* Cuts `length` bytes at `at` into pieces with holes between them; returns the bytes used up. */
static size_t cut(struct draw *d, struct sim_piece *pieces, uint32_t *out_count, uint32_t count_max,
		  size_t at, uint32_t length)
{
	size_t begin = at;
	uint32_t count = between(d, 1, count_max);

	if (length == 0 && chance(d, 50))
		count = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = i + 1 == count ? length : below(d, length + 1);

		pieces[i] = (struct sim_piece){at, n};
		length -= n;
		at += n + below(d, 9);
	}
	*out_count = count;
	return at - begin;
}

/* Sinks and landings are laid out piece by piece; the region is what they need in all. */
static void place_sinks(struct draw *d, struct sim_flow_plan *flow, uint32_t sge_max,
			size_t *cursor)
{
	size_t at = *cursor;

	flow->sink.offset = at;
	for (uint32_t i = 0; i < flow->op_count; i++) {
		struct sim_op *op = &flow->ops[i];

		if (!is_fetch(op->opcode))
			continue;
		if (is_atomic(op->opcode))
			at += below(d, 8);
		at += cut(d, op->pieces, &op->piece_count, is_atomic(op->opcode) ? 1 : sge_max, at,
			  op->length) +
		      below(d, 9);
	}
	flow->sink.length = at - flow->sink.offset + 1;
	take(d, &at, 1);
	*cursor = at;
}

static void place_landings(struct draw *d, struct sim_flow_plan *flow, uint32_t sge_max,
			   size_t *cursor)
{
	size_t at = *cursor;

	flow->landing.offset = at;
	for (uint32_t i = 0; i < flow->recv_count; i++) {
		struct sim_recv *recv = &flow->recvs[i];

		at += cut(d, recv->pieces, &recv->piece_count, sge_max, at,
			  recv_capacity(d, flow, i)) +
		      below(d, 9);
	}
	flow->landing.length = at - flow->landing.offset + 1;
	take(d, &at, 1);
	*cursor = at;
}

static void place_flow(struct draw *d, struct sim_flow_plan *flow, const struct sim_qp_caps *own,
		       const struct sim_qp_caps *peer, size_t cursors[2])
{
	uint32_t longest = 64;

	for (uint32_t i = 0; i < flow->op_count; i++)
		if (flow->ops[i].length > longest)
			longest = flow->ops[i].length;
	flow->source.length = longest + below(d, 2000);
	flow->source.offset = take(d, &cursors[flow->from], flow->source.length);
	flow->target.length = longest + below(d, 3000);
	cursors[!flow->from] = (cursors[!flow->from] + 7) & ~(size_t)7;
	flow->target.offset = take(d, &cursors[!flow->from], flow->target.length);
	place_sinks(d, flow, own->send_sge, &cursors[flow->from]);
	place_landings(d, flow, peer->recv_sge, &cursors[!flow->from]);
	flow->source.addressing = (uint8_t)below(d, 3);
	flow->sink.addressing = (uint8_t)below(d, 3);
	flow->target.addressing = (uint8_t)below(d, 3);
	flow->landing.addressing = (uint8_t)below(d, 3);
}

/* ---- where requests take from and go to ---- */

static void draw_sources(struct draw *d, struct sim_flow_plan *flow, struct sim_op *op,
			 uint32_t sge_max)
{
	uint32_t left = op->length;
	uint32_t count = between(d, 1, sge_max);

	if (left == 0 && chance(d, 50))
		count = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t n = i + 1 == count ? left : below(d, left + 1);

		op->pieces[i].length = n;
		op->pieces[i].offset = flow->source.offset +
				       roce_prng_below(&d->prng, flow->source.length - n + 1);
		left -= n;
	}
	op->piece_count = count;
}

/* Sends on what an earlier READ fetched, which a fence makes safe. */
static bool borrow_sink(struct draw *d, struct sim_flow_plan *flow, uint32_t index)
{
	struct sim_op *op = &flow->ops[index];
	const struct sim_op *earlier;

	if (index == 0 || !chance(d, 25))
		return false;
	earlier = &flow->ops[below(d, index)];
	if (!is_fetch(earlier->opcode) || earlier->length == 0 || op->length == 0 || op->defect)
		return false;
	for (uint32_t i = 0; i < earlier->piece_count; i++) {
		if (earlier->pieces[i].length < op->length)
			continue;
		op->pieces[0] = earlier->pieces[i];
		op->pieces[0].length = op->length;
		op->piece_count = 1;
		op->flags |= ROCE_SEND_FENCE;
		return true;
	}
	return false;
}

static bool is_overlap(const struct sim_op *a, const struct sim_op *b)
{
	return a->remote < b->remote + b->length && b->remote < a->remote + a->length;
}

static bool has_target(uint8_t opcode)
{
	return !is_send(opcode);
}

static void draw_target(struct draw *d, struct sim_flow_plan *flow, uint32_t index)
{
	struct sim_op *op = &flow->ops[index];
	size_t room = flow->target.length - op->length;

	op->remote = flow->target.offset + roce_prng_below(&d->prng, room + 1);
	if (is_atomic(op->opcode))
		op->remote &= ~(size_t)7; /* the target begins aligned */
	if (op->defect == SIM_DEFECT_MISALIGNED)
		op->remote = flow->target.offset + between(d, 1, 7);
	if (op->defect == SIM_DEFECT_RANGE)
		op->remote = flow->target.offset + room + 1;
	if (op->opcode == ROCE_WR_RDMA_READ)
		return;
	for (uint32_t i = index; i-- > 0;) {
		struct sim_op *earlier = &flow->ops[i];

		if (has_target(earlier->opcode) && is_overlap(earlier, op)) {
			if (earlier->opcode == ROCE_WR_RDMA_READ)
				op->flags |= ROCE_SEND_FENCE;
			else
				earlier->is_overwritten = true;
		}
	}
}

/* A compare that hits: the value of the beginning, or what the CmpSwap before has put there. */
static void draw_hit(struct draw *d, struct sim_flow_plan *flow, uint32_t index)
{
	struct sim_op *op = &flow->ops[index];
	struct sim_op *before = index ? &flow->ops[index - 1] : NULL;

	op->compare_add = sim_fill_word(!flow->from, op->remote / 8);
	if (!before || before->opcode != ROCE_WR_ATOMIC_CMP_AND_SWP || before->defect ||
	    chance(d, 50))
		return;
	/* the one before was checked against all READs, but not against this one's fence */
	op->remote = before->remote;
	op->compare_add = before->swap;
	op->flags |= ROCE_SEND_FENCE;
	before->is_overwritten = true;
}

static void draw_places(struct draw *d, struct sim_flow_plan *flow, const struct sim_qp_caps *caps)
{
	for (uint32_t i = 0; i < flow->op_count; i++) {
		struct sim_op *op = &flow->ops[i];
		bool is_borrowed = false;

		if (!is_fetch(op->opcode)) {
			is_borrowed = borrow_sink(d, flow, i);
			if (!is_borrowed)
				draw_sources(d, flow, op, caps->send_sge);
		}
		if (has_target(op->opcode))
			draw_target(d, flow, i);
		if (!is_fetch(op->opcode) && !is_borrowed && op->length <= caps->inline_bytes &&
		    op->defect != SIM_DEFECT_LKEY && chance(d, 50))
			op->flags |= ROCE_SEND_INLINE;
		if (op->opcode == ROCE_WR_ATOMIC_CMP_AND_SWP && !op->defect && chance(d, 50))
			draw_hit(d, flow, i);
	}
	for (uint32_t i = 0; i < flow->recv_count; i++)
		if (flow->recvs[i].op != SIM_NO_OP &&
		    flow->ops[flow->recvs[i].op].defect == SIM_DEFECT_RECV_LKEY)
			flow->recvs[i].is_key_bad = true;
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

			place_flow(d, flow, &plan->caps[c][from], &plan->caps[c][!from], cursors);
			draw_places(d, flow, &plan->caps[c][from]);
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
	}
	draw_flows(&d, cursors);
	plan->arena_size[0] = cursors[0] + GAP_MIN;
	plan->arena_size[1] = cursors[1] + GAP_MIN;
	plan->limit_ns = longest_run_ns(plan);
}
