/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two honest hosts with two connections over a link that does what the input says: the input is a
 * program of posts, polls, changes of state, regions that go, and of packets that are delivered,
 * lost, doubled or passed by others. A model knows what every completion must say and what bytes it
 * stands for: requests end once and in order, receives match the peer's messages one to one, the
 * n-th atomic finds the value n.
 *
 * In the end the link gets well and both hosts must come to rest with every request ended. As long
 * as a program does nothing wrong ("harm"), no request may fail but by too many losses.
 */
#include "actors.h"

/* ---- posting ---- */

static bool is_atomic(uint8_t opcode)
{
	return opcode == ROCE_WR_ATOMIC_CMP_AND_SWP || opcode == ROCE_WR_ATOMIC_FETCH_AND_ADD;
}

/* Answered one by one, and aligned. */
static bool is_word(uint8_t opcode)
{
	return is_atomic(opcode) || opcode == ROCE_WR_ATOMIC_WRITE;
}

static bool takes_recv(uint8_t opcode)
{
	return opcode == ROCE_WR_SEND || opcode == ROCE_WR_SEND_WITH_IMM ||
	       opcode == ROCE_WR_SEND_WITH_INV || opcode == ROCE_WR_RDMA_WRITE_WITH_IMM;
}

static enum region local_region(uint8_t opcode)
{
	return opcode == ROCE_WR_RDMA_READ || is_atomic(opcode) ? REGION_SINK : REGION_SOURCE;
}

static enum region remote_region(uint8_t opcode)
{
	if (is_atomic(opcode))
		return REGION_WORD;
	return opcode == ROCE_WR_RDMA_READ ? REGION_SOURCE : REGION_TARGET;
}

/* What may be wrong with a request. */
static void break_request(struct conn *conn, struct roce_send_wr *wr, struct roce_sge *sge,
			  uint8_t how)
{
	switch (how & 7) {
	case 1:
		wr->rkey ^= 1;
		break;
	case 2:
		wr->remote_addr += 1 << 20;
		break;
	case 3:
		sge[1].lkey ^= 1;
		break;
	case 4:
		sge[0].addr -= 1 << 20;
		break;
	case 5:
		if (!is_word(wr->opcode))
			return;
		wr->remote_addr += 4;
		break;
	default:
		return;
	}
	conn->is_harmed = true;
}

static void note_request(struct end *end, const struct roce_send_wr *wr, uint32_t length,
			 uint32_t offset)
{
	uint32_t number = end->sends.posted;

	end->requests[number % FUZZ_BOOK_SIZE] =
		(struct request){wr->opcode, length, offset, end->atomic_count};
	if (is_atomic(wr->opcode))
		end->atomic_count++;
	if (takes_recv(wr->opcode))
		end->messages[end->message_count++ % MESSAGES_MAX] =
			(struct message){wr->opcode, length, offset, wr->imm_be};
	fuzz_book_post_send(&end->sends, wr, false);
}

/* In the place of a bind stands the ATOMIC WRITE: there are no windows here. */
static uint8_t opcode_of(uint8_t kind)
{
	uint8_t opcode = kind % (ROCE_WR_SEND_WITH_INV + 1);

	return opcode == ROCE_WR_BIND_MW ? ROCE_WR_ATOMIC_WRITE : opcode;
}

static void step_send(struct fuzz_input *in)
{
	uint8_t where = fuzz_u8(in);
	uint8_t kind = fuzz_u8(in);
	uint8_t size = fuzz_u8(in);
	uint8_t how = fuzz_u8(in);
	uint32_t c = where & 1;
	unsigned int side = where >> 1 & 1;
	struct conn *conn = &actors_conns[c];
	struct end *end = &conn->ends[side];
	uint8_t opcode = opcode_of(kind);
	uint32_t slot = actors_slot_of(end->sends.posted);
	uint32_t length = is_word(opcode) ? 8 : size * 4u < MESSAGE_MAX ? size * 4u : MESSAGE_MAX;
	uint32_t offset = (where >> 2) * 8u;
	uint32_t first;
	struct roce_sge sge[2];
	struct roce_send_wr wr = {
		.wr_id = fuzz_book_next(&end->sends),
		.sge = sge,
		.sge_count = 2,
		.opcode = opcode,
		.flags = kind >> 4,
		.imm_be = size * 0x01010101u,
		.compare_add = opcode == ROCE_WR_ATOMIC_CMP_AND_SWP ? end->atomic_count : 1,
		.swap = end->atomic_count + 1,
	};
	const struct roce_mr *local = actors_region_of(c, side, local_region(opcode));
	const struct roce_mr *remote = actors_region_of(c, !side, remote_region(opcode));

	if (end->message_count - conn->ends[!side].received >= MESSAGES_MAX)
		return;
	if ((wr.flags & ROCE_SEND_INLINE) && length > INLINE_MAX)
		length = INLINE_MAX;
	first = length * (how >> 4) / 16;
	sge[0].addr = local->addr + (local_region(opcode) == REGION_SINK ? slot : offset);
	sge[1].addr = sge[0].addr + first;
	sge[0].length = first;
	sge[1].length = length - first;
	sge[0].lkey = sge[1].lkey = local->lkey.v;
	wr.remote_addr = remote->iova;
	if (opcode == ROCE_WR_RDMA_READ)
		wr.remote_addr += offset;
	else if (!is_atomic(opcode))
		wr.remote_addr += slot;
	wr.rkey = remote->rkey.v;
	if (opcode == ROCE_WR_SEND_WITH_INV) {
		wr.imm_be = wr.rkey;
		conn->is_harmed = true; /* the target is of no use to anybody then */
	}
	if ((opcode == ROCE_WR_RDMA_READ || is_word(opcode)) && conn->rd_atomic == 0)
		conn->is_harmed = true;
	/* there is no window that it could end */
	if (opcode == ROCE_WR_LOCAL_INV)
		conn->is_harmed = true;
	if (!(wr.flags & ROCE_SEND_INLINE))
		break_request(conn, &wr, sge, how);
	if (roce_post_send(&end->qp->qp, &wr, actors_now) == ROCE_POST_OK)
		note_request(end, &wr, length, offset);
}

/* A program that polls before it posts more: a slot is used again when its receive was polled. */
static void post_recv(uint32_t c, unsigned int side, uint32_t length, uint32_t first)
{
	struct end *end = &actors_conns[c].ends[side];
	const struct roce_mr *landing = actors_region_of(c, side, REGION_LANDING);
	uint64_t addr = landing->addr + actors_slot_of(end->recvs.posted);
	struct roce_sge sge[2] = {
		{addr, first, landing->lkey.v},
		{addr + first, length - first, landing->lkey.v},
	};

	if (end->recvs.posted - end->recvs.ended >= QUEUE_DEPTH)
		return;
	if (roce_post_recv(&end->qp->qp, fuzz_book_next(&end->recvs), sge, 2, actors_now) ==
	    ROCE_POST_OK)
		fuzz_book_post_recv(&end->recvs);
}

static void step_recv(struct fuzz_input *in)
{
	uint8_t where = fuzz_u8(in);
	uint32_t length = SLOT_BYTES;

	if (where >= 0xf0) {
		length = 64;
		actors_conns[where & 1].is_harmed = true;
	}
	post_recv(where & 1, where >> 1 & 1, length, length / 16 * (where >> 2 & 15));
}

/* ---- completions ---- */

/* A request that is known to have succeeded has done what it says. */
static void check_effect(uint32_t c, unsigned int side, uint32_t number)
{
	const struct request *r = &actors_conns[c].ends[side].requests[number % FUZZ_BOOK_SIZE];
	uint64_t orig;

	if (is_atomic(r->opcode)) {
		memcpy(&orig, actors_bytes_of(c, side, REGION_SINK, actors_slot_of(number)),
		       sizeof(orig));
		fuzz_require(orig == r->number, "the n-th atomic finds the value n");
	} else if (r->opcode == ROCE_WR_RDMA_READ) {
		fuzz_require(memcmp(actors_bytes_of(c, side, REGION_SINK, actors_slot_of(number)),
				    actors_bytes_of(c, !side, REGION_SOURCE, r->offset),
				    r->length) == 0,
			     "a READ fetches the peer's bytes");
	} else if (r->opcode == ROCE_WR_RDMA_WRITE || r->opcode == ROCE_WR_RDMA_WRITE_WITH_IMM ||
		   r->opcode == ROCE_WR_ATOMIC_WRITE) {
		fuzz_require(
			memcmp(actors_bytes_of(c, !side, REGION_TARGET, actors_slot_of(number)),
			       actors_bytes_of(c, side, REGION_SOURCE, r->offset), r->length) == 0,
			"a WRITE places its bytes");
	}
}

static void on_send_cqe(uint32_t c, unsigned int side, const struct roce_cqe *cqe)
{
	struct end *end = &actors_conns[c].ends[side];
	uint32_t ended = end->sends.ended;
	uint32_t number = fuzz_book_complete(&end->sends, cqe);

	for (; ended != number; ended++)
		check_effect(c, side, ended);
	switch (cqe->status) {
	case ROCE_WC_SUCCESS:
		check_effect(c, side, number);
		break;
	case ROCE_WC_WR_FLUSH_ERR:
		break;
	case ROCE_WC_RETRY_EXC_ERR:
	case ROCE_WC_RNR_RETRY_EXC_ERR:
		end->is_given_up = true;
		break;
	default:
		fuzz_require(actors_conns[c].is_harmed, "nothing fails for no reason");
		break;
	}
}

static void on_recv_cqe(uint32_t c, unsigned int side, const struct roce_cqe *cqe)
{
	struct end *end = &actors_conns[c].ends[side];
	const struct end *peer = &actors_conns[c].ends[!side];
	uint32_t number = fuzz_book_complete(&end->recvs, cqe);
	const struct message *m = &peer->messages[end->received % MESSAGES_MAX];
	bool is_write = m->opcode == ROCE_WR_RDMA_WRITE_WITH_IMM;
	uint8_t flags = 0;

	if (cqe->status != ROCE_WC_SUCCESS) {
		fuzz_require(cqe->status == ROCE_WC_WR_FLUSH_ERR || actors_conns[c].is_harmed,
			     "no receive fails for no reason");
		return;
	}
	fuzz_require(end->received != peer->message_count, "a receive needs a message");
	end->received++;
	if (is_write || m->opcode == ROCE_WR_SEND_WITH_IMM)
		flags = ROCE_WC_WITH_IMM;
	else if (m->opcode == ROCE_WR_SEND_WITH_INV)
		flags = ROCE_WC_WITH_INV;
	fuzz_require(cqe->byte_len == m->length &&
			     cqe->opcode == (is_write ? ROCE_WC_RECV_RDMA_WITH_IMM : ROCE_WC_RECV),
		     "a receive is of the next message");
	fuzz_require(cqe->wc_flags == flags && (!flags || cqe->imm_be == m->imm),
		     "immediate and key come along");
	if (!is_write)
		fuzz_require(
			memcmp(actors_bytes_of(c, side, REGION_LANDING, actors_slot_of(number)),
			       actors_bytes_of(c, !side, REGION_SOURCE, m->offset), m->length) == 0,
			"a SEND lands in its receive");
}

static void poll(unsigned int side, uint32_t max)
{
	struct roce_cqe cqe;
	struct end *end;

	for (uint32_t k = 0; k < actors_hosts[side].cq_count; k++) {
		for (uint32_t n = 0;
		     n < max && roce_cq_poll(&actors_hosts[side].cqs[k]->cq, &cqe, 1); n++) {
			uint32_t c = (uint32_t)(actors_conn_of(side, cqe.qp, &end) - actors_conns);

			if (cqe.sq)
				on_send_cqe(c, side, &cqe);
			else
				on_recv_cqe(c, side, &cqe);
		}
	}
}

/* ---- states ---- */

static void step_state(struct fuzz_input *in)
{
	uint8_t what = fuzz_u8(in);
	uint32_t c = what & 1;
	unsigned int side = what >> 1 & 1;

	switch (what >> 2 & 7) {
	case 0:
		actors_reconnect(c);
		break;
	case 1:
		actors_modify(c, side, ROCE_QP_SQD,
			      ROCE_ATTR_STATE | ROCE_ATTR_EN_SQD_ASYNC_NOTIFY);
		break;
	case 2:
		actors_modify(c, side, ROCE_QP_RTS, ROCE_ATTR_STATE);
		break;
	case 3:
		actors_modify(c, side, ROCE_QP_RTS, ROCE_ATTR_STATE | ROCE_ATTR_MIN_RNR_TIMER);
		break;
	case 4:
		if (actors_modify(c, side, ROCE_QP_ERR, ROCE_ATTR_STATE))
			actors_conns[c].is_harmed = true;
		break;
	case 5:
		actors_reset(c, side);
		break;
	case 6:
		actors_replace(c, side);
		break;
	case 7:
		actors_remove_region(c, side, (enum region)((what >> 5) % REGION_COUNT));
		break;
	}
}

/* ---- time ---- */

static roce_ns_t next_deadline(void)
{
	roce_ns_t a = roce_deadline(&actors_hosts[0].transport);
	roce_ns_t b = roce_deadline(&actors_hosts[1].transport);

	return a < b ? a : b;
}

static void pass(roce_ns_t to)
{
	if (to > actors_now)
		actors_now = to;
	for (unsigned int side = 0; side < 2; side++) {
		roce_on_deadline(&actors_hosts[side].transport, actors_now);
		fuzz_require(roce_deadline(&actors_hosts[side].transport) > actors_now,
			     "no deadline stays in the past");
	}
}

static void step_time(uint8_t how)
{
	if (how >= 12)
		pass(next_deadline() == ROCE_NEVER ? actors_now : next_deadline());
	else
		pass(actors_now + (UINT64_C(64) << how));
}

/* ---- the end ---- */

static bool exchange(void)
{
	bool has_moved = false;

	for (unsigned int side = 0; side < 2; side++) {
		actors_hosts[side].event_count = 0;
		while (actors_pull(side, 16, false)) {
			has_moved = true;
			while (actors_flying_count[side])
				actors_deliver(side, 0, false);
		}
		while (actors_flying_count[side]) {
			has_moved = true;
			actors_deliver(side, 0, false);
		}
		poll(side, UINT32_MAX);
	}
	return has_moved;
}

/* The link is well, the programs post receives and leave SQD. */
static void heal(void)
{
	for (uint32_t rounds = 0;; rounds++) {
		fuzz_require(rounds < 20000, "the actors_hosts come to rest");
		for (uint32_t c = 0; c < CONNS; c++) {
			for (unsigned int side = 0; side < 2; side++) {
				const struct roce_qp *qp = &actors_conns[c].ends[side].qp->qp;

				if (qp->attr.state == ROCE_QP_SQD)
					actors_modify(c, side, ROCE_QP_RTS, ROCE_ATTR_STATE);
				if (qp->attr.state == ROCE_QP_RTS &&
				    roce_recv_queue_is_empty(&qp->rq))
					post_recv(c, side, SLOT_BYTES, 100);
			}
		}
		if (exchange())
			continue;
		if (next_deadline() == ROCE_NEVER)
			return;
		pass(next_deadline());
	}
}

static void check_conn(const struct conn *conn)
{
	bool has_given_up = conn->ends[0].is_given_up || conn->ends[1].is_given_up;

	for (unsigned int side = 0; side < 2; side++) {
		const struct end *end = &conn->ends[side];
		uint8_t state = end->qp->qp.attr.state;

		if (state == ROCE_QP_RTS || state == ROCE_QP_ERR)
			fuzz_book_require_ended(&end->sends);
		if (state == ROCE_QP_ERR)
			fuzz_book_require_ended(&end->recvs);
		if (conn->is_harmed || has_given_up)
			continue;
		fuzz_require(state == ROCE_QP_RTS && !end->sends.is_failed && !end->recvs.is_failed,
			     "without harm everything succeeds");
		fuzz_require(end->received == conn->ends[!side].message_count,
			     "every message is received");
	}
}

static void start(struct fuzz_input *in)
{
	const struct sim_qp_caps caps = {.send_wr = QUEUE_DEPTH,
					 .recv_wr = QUEUE_DEPTH,
					 .send_sge = 2,
					 .recv_sge = 2,
					 .inline_bytes = INLINE_MAX};
	struct roce_transport_config tuning = sim_tuning_default();
	uint8_t choice = fuzz_u8(in);
	uint8_t retries = fuzz_u8(in);
	size_t arena = GAP_BYTES;

	for (uint32_t i = 0; i < CONNS * REGION_COUNT; i++)
		arena += actors_layout[i % REGION_COUNT].length + GAP_BYTES;
	tuning.read_chunk_packets = choice & 1 ? 1 : 3;
	tuning.ack_interval_packets = choice & 2 ? 1 : 4;
	tuning.burst_packets = choice & 4 ? 2 : 16;
	if (choice & 8)
		tuning.window.initial = tuning.window.min = 2 * (MTU + ROCE_WINDOW_PACKET_COST);
	if (choice & 16)
		tuning.read_window = 4 * (MTU + ROCE_WINDOW_PACKET_COST);
	if (retries & 64)
		fuzz_control_congestion(&tuning, retries);
	actors_now = 1;
	actors_reconnects = 0;
	for (unsigned int side = 0; side < 2; side++) {
		struct sim_cq *send_cq;
		struct sim_cq *recv_cq;

		actors_flying_count[side] = 0;
		sim_stack_init(&actors_hosts[side], side + 1, choice * 2u + side, arena, &tuning);
		actors_add_regions(side);
		send_cq = sim_stack_add_cq(&actors_hosts[side], 64);
		recv_cq = choice & 32 ? send_cq : sim_stack_add_cq(&actors_hosts[side], 64);
		for (uint32_t c = 0; c < CONNS; c++) {
			struct end *end = &actors_conns[c].ends[side];

			*end = (struct end){0};
			end->qp = sim_stack_add_qp(&actors_hosts[side], &caps, send_cq, recv_cq);
			fuzz_book_init(&end->sends, false);
			fuzz_book_init(&end->recvs, true);
			actors_conns[c].psn[side] = (0xfffff0 + 7 * c + 3 * side) & ROCE_PSN_MASK;
		}
	}
	for (uint32_t c = 0; c < CONNS; c++) {
		actors_conns[c].rd_atomic = choice >> 6;
		actors_conns[c].retry_cnt = retries & 7;
		actors_conns[c].rnr_retry = retries >> 3 & 7;
		actors_connect_both(c);
	}
}

static void step(struct fuzz_input *in)
{
	uint8_t op = fuzz_u8(in);
	unsigned int side = op >> 4 & 1;
	uint32_t amount = op >> 5; /* 0 to 7 */

	switch (op & 15) {
	case 0:
	case 1:
	case 2:
		step_send(in);
		break;
	case 3:
	case 4:
		step_recv(in);
		break;
	case 5:
		poll(side, 1 + amount);
		break;
	case 6:
		step_state(in);
		break;
	case 7:
		step_time((uint8_t)(amount * 2 + side));
		break;
	case 8:
		actors_pull(side, 1 + amount * 2, false);
		break;
	case 9: /* a burst arrives in order */
		for (uint32_t i = 0; i <= amount; i++)
			actors_deliver(side, 0, false);
		break;
	case 10:
		actors_deliver(side, amount, false);
		break;
	case 11:
		actors_deliver(side, amount, true);
		break;
	case 12:
		if (amount < actors_flying_count[side])
			actors_lose(side, amount);
		break;
	case 13: /* all of it, both ways */
		exchange();
		break;
	case 14:
		actors_pull(side, 1 + amount * 2, true);
		break;
	case 15:
		for (uint32_t c = 0; c < CONNS; c++)
			actors_conns[c].is_harmed = true;
		actors_hosts[side].copy_fault_in = 1 + amount;
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};

	start(&in);
	for (uint32_t i = 0; in.left && i < STEPS_MAX; i++) {
		actors_hosts[0].event_count = actors_hosts[1].event_count = 0;
		step(&in);
		for (unsigned int side = 0; side < 2; side++)
			fuzz_check_stack(&actors_hosts[side]);
	}
	heal();
	for (unsigned int side = 0; side < 2; side++)
		fuzz_check_quiet(&actors_hosts[side]);
	for (uint32_t c = 0; c < CONNS; c++)
		check_conn(&actors_conns[c]);
	for (unsigned int side = 0; side < 2; side++)
		sim_stack_fini(&actors_hosts[side]);
	return 0;
}
