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
#include "checks.h"
#include "pair.h"

#include "wire/opcode.h"

#define CONNS	      2u
#define MTU	      256u
#define MTU_ENUM      1
#define STEPS_MAX     600u
#define QUEUE_DEPTH   8u
#define SLOT_BYTES    1024u
#define SOURCE_BYTES  2048u
#define MESSAGE_MAX   1000u
#define INLINE_MAX    128u
#define FLYING_MAX    48u
#define MESSAGES_MAX  128u /* of one end that the other has not polled yet */
#define RECONNECT_MAX 100u
#define PSN_STEP      0x012345u

/* Each connection has these on both hosts. A slot belongs to one request at a time. */
enum region {
	REGION_SOURCE,	/* never changes: what is sent, and what the peer READs */
	REGION_SINK,	/* what READs and atomics fetch, by slot */
	REGION_TARGET,	/* what the peer WRITEs, by slot */
	REGION_LANDING, /* receives, by slot */
	REGION_WORD,	/* the peer's atomics */
	REGION_COUNT
};

static const struct {
	uint32_t length;
	uint32_t access;
} layout[REGION_COUNT] = {
	[REGION_SOURCE] = {SOURCE_BYTES, ROCE_ACCESS_REMOTE_READ},
	[REGION_SINK] = {QUEUE_DEPTH * SLOT_BYTES, ROCE_ACCESS_LOCAL_WRITE},
	[REGION_TARGET] = {QUEUE_DEPTH * SLOT_BYTES,
			   ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE},
	[REGION_LANDING] = {QUEUE_DEPTH * SLOT_BYTES, ROCE_ACCESS_LOCAL_WRITE},
	[REGION_WORD] = {64, ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_ATOMIC},
};

#define GAP_BYTES 256u

struct request {
	uint8_t opcode;
	uint32_t length;
	uint32_t offset; /* in the source: of the sender, or for a READ of the peer */
	uint32_t number; /* of an atomic: how many came before it */
};

struct message {
	uint8_t opcode;
	uint32_t length;
	uint32_t offset;
	uint32_t imm;
};

/* One end of a connection. */
struct end {
	struct sim_qp *qp;
	struct fuzz_book sends;
	struct fuzz_book recvs;
	struct request requests[FUZZ_BOOK_SIZE];
	struct message messages[MESSAGES_MAX]; /* sent: what takes a receive of the peer */
	uint32_t message_count;
	uint32_t received; /* messages of the peer that were completed here */
	uint32_t atomic_count;
	bool is_given_up; /* a retry count was spent */
};

struct conn {
	struct end ends[2];
	uint32_t psn[2];
	bool is_harmed;
	uint8_t rd_atomic;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
};

struct flying {
	struct roce_headers hdr;
	struct roce_gid src;
	struct roce_gid dst;
	uint32_t payload_len;
	uint8_t payload[MTU];
};

static struct sim_stack hosts[2];
static struct conn conns[CONNS];
static struct flying links[2][FLYING_MAX]; /* by sender, oldest first */
static uint32_t flying_count[2];
static uint32_t reconnects;
static roce_ns_t now;

/* ---- memory ---- */

static struct roce_mr *region_of(uint32_t conn, unsigned int side, enum region region)
{
	return &hosts[side].mrs[conn * REGION_COUNT + region];
}

static uint8_t *bytes_of(uint32_t conn, unsigned int side, enum region region, uint32_t offset)
{
	return (uint8_t *)(uintptr_t)(region_of(conn, side, region)->addr + offset);
}

static uint32_t slot_of(uint32_t number)
{
	return number % QUEUE_DEPTH * SLOT_BYTES;
}

static void add_regions(unsigned int side)
{
	uint32_t offset = GAP_BYTES;

	for (uint32_t i = 0; i < CONNS * REGION_COUNT; i++) {
		uint32_t length = layout[i % REGION_COUNT].length;

		sim_stack_add_mr(&hosts[side], offset, length, layout[i % REGION_COUNT].access);
		offset += length + GAP_BYTES;
	}
	for (uint32_t c = 0; c < CONNS; c++) {
		region_of(c, side, REGION_TARGET)->can_invalidate = true;
		for (uint32_t i = 0; i < SOURCE_BYTES; i += 8)
			memcpy(bytes_of(c, side, REGION_SOURCE, i),
			       &(uint64_t){(i + c * 5 + side + 1) * UINT64_C(0x9e3779b97f4a7c15)},
			       8);
	}
}

static void remove_region(uint32_t conn, unsigned int side, enum region region)
{
	roce_key_table_remove(&hosts[side].transport.keys, region_of(conn, side, region));
	conns[conn].is_harmed = true;
}

static void renew_region(uint32_t conn, unsigned int side, enum region region)
{
	struct sim_stack *s = &hosts[side];
	struct roce_mr *mr = region_of(conn, side, region);

	if (mr->is_valid)
		return;
	/* an invalidated one is still in the table */
	roce_key_table_remove(&s->transport.keys, mr);
	while (roce_key_table_add(&s->transport.keys, mr, (uint32_t)roce_prng_next(&s->prng), 0x10,
				  0x20) != 0)
		continue;
}

/* ---- the link ---- */

static void gather(const struct roce_payload *p, uint8_t *to)
{
	uint64_t skip = p->offset;
	uint32_t done = 0;

	fuzz_require(p->length <= MTU, "no packet is above the path MTU");
	if (p->data)
		memcpy(to, p->data, p->length);
	for (uint32_t k = 0; !p->data && k < p->sge_count && done < p->length; k++) {
		const uint8_t *from = (const uint8_t *)(uintptr_t)p->sge[k].addr;

		for (uint64_t i = skip; i < p->sge[k].length && done < p->length; i++)
			to[done++] = from[i];
		skip = skip < p->sge[k].length ? 0 : skip - p->sge[k].length;
	}
	fuzz_require(p->data || done == p->length, "a payload has the bytes that it says");
}

static void lose(unsigned int from, uint32_t index)
{
	struct flying *link = links[from];

	flying_count[from]--;
	memmove(&link[index], &link[index + 1], (flying_count[from] - index) * sizeof(link[0]));
}

static void launch(unsigned int from, const struct roce_tx_pkt *pkt)
{
	struct flying *f;

	if (flying_count[from] == FLYING_MAX)
		lose(from, 0);
	f = &links[from][flying_count[from]++];
	f->hdr = pkt->hdr;
	f->src = pkt->path->sgid;
	f->dst = pkt->path->dgid;
	f->payload_len = pkt->payload.length;
	gather(&pkt->payload, f->payload);
}

static struct conn *conn_of(unsigned int side, const struct roce_qp *qp, struct end **out_end)
{
	for (uint32_t c = 0; c < CONNS; c++) {
		if (&conns[c].ends[side].qp->qp == qp) {
			*out_end = &conns[c].ends[side];
			return &conns[c];
		}
	}
	fuzz_require(false, "what comes from a host belongs to a QP of it");
	return NULL;
}

/* With `is_fault` the memory of the first packet turns out to be gone, and it is not sent. */
static size_t pull(unsigned int side, size_t max, bool is_fault)
{
	static struct roce_tx_pkt pkts[16];
	struct end *end;
	size_t n = roce_tx(&hosts[side].transport, pkts, max, now);

	fuzz_require(n <= max, "no more packets than asked for");
	for (size_t i = is_fault; i < n; i++)
		launch(side, &pkts[i]);
	if (is_fault && n) {
		conn_of(side, pkts[0].qp, &end)->is_harmed = true;
		roce_tx_fault(&hosts[side].transport, &pkts[0], now);
	}
	return n;
}

static void deliver(unsigned int from, uint32_t index, bool stays)
{
	static struct flying f;
	struct roce_rx_pkt pkt;

	if (index >= flying_count[from])
		return;
	f = links[from][index];
	if (!stays)
		lose(from, index);
	pkt = (struct roce_rx_pkt){
		.hdr = f.hdr,
		.payload = f.payload,
		.payload_len = f.payload_len,
		.src = &f.src,
		.dst = &f.dst,
		.hop_limit = 64,
	};
	roce_rx(&hosts[!from].transport, &pkt, now);
}

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
	struct conn *conn = &conns[c];
	struct end *end = &conn->ends[side];
	uint8_t opcode = opcode_of(kind);
	uint32_t slot = slot_of(end->sends.posted);
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
	const struct roce_mr *local = region_of(c, side, local_region(opcode));
	const struct roce_mr *remote = region_of(c, !side, remote_region(opcode));

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
	if (roce_post_send(&end->qp->qp, &wr, now) == ROCE_POST_OK)
		note_request(end, &wr, length, offset);
}

/* A program that polls before it posts more: a slot is used again when its receive was polled. */
static void post_recv(uint32_t c, unsigned int side, uint32_t length, uint32_t first)
{
	struct end *end = &conns[c].ends[side];
	const struct roce_mr *landing = region_of(c, side, REGION_LANDING);
	uint64_t addr = landing->addr + slot_of(end->recvs.posted);
	struct roce_sge sge[2] = {
		{addr, first, landing->lkey.v},
		{addr + first, length - first, landing->lkey.v},
	};

	if (end->recvs.posted - end->recvs.ended >= QUEUE_DEPTH)
		return;
	if (roce_post_recv(&end->qp->qp, fuzz_book_next(&end->recvs), sge, 2, now) == ROCE_POST_OK)
		fuzz_book_post_recv(&end->recvs);
}

static void step_recv(struct fuzz_input *in)
{
	uint8_t where = fuzz_u8(in);
	uint32_t length = SLOT_BYTES;

	if (where >= 0xf0) {
		length = 64;
		conns[where & 1].is_harmed = true;
	}
	post_recv(where & 1, where >> 1 & 1, length, length / 16 * (where >> 2 & 15));
}

/* ---- completions ---- */

/* A request that is known to have succeeded has done what it says. */
static void check_effect(uint32_t c, unsigned int side, uint32_t number)
{
	const struct request *r = &conns[c].ends[side].requests[number % FUZZ_BOOK_SIZE];
	uint64_t orig;

	if (is_atomic(r->opcode)) {
		memcpy(&orig, bytes_of(c, side, REGION_SINK, slot_of(number)), sizeof(orig));
		fuzz_require(orig == r->number, "the n-th atomic finds the value n");
	} else if (r->opcode == ROCE_WR_RDMA_READ) {
		fuzz_require(memcmp(bytes_of(c, side, REGION_SINK, slot_of(number)),
				    bytes_of(c, !side, REGION_SOURCE, r->offset), r->length) == 0,
			     "a READ fetches the peer's bytes");
	} else if (r->opcode == ROCE_WR_RDMA_WRITE || r->opcode == ROCE_WR_RDMA_WRITE_WITH_IMM ||
		   r->opcode == ROCE_WR_ATOMIC_WRITE) {
		fuzz_require(memcmp(bytes_of(c, !side, REGION_TARGET, slot_of(number)),
				    bytes_of(c, side, REGION_SOURCE, r->offset), r->length) == 0,
			     "a WRITE places its bytes");
	}
}

static void on_send_cqe(uint32_t c, unsigned int side, const struct roce_cqe *cqe)
{
	struct end *end = &conns[c].ends[side];
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
		fuzz_require(conns[c].is_harmed, "nothing fails for no reason");
		break;
	}
}

static void on_recv_cqe(uint32_t c, unsigned int side, const struct roce_cqe *cqe)
{
	struct end *end = &conns[c].ends[side];
	const struct end *peer = &conns[c].ends[!side];
	uint32_t number = fuzz_book_complete(&end->recvs, cqe);
	const struct message *m = &peer->messages[end->received % MESSAGES_MAX];
	bool is_write = m->opcode == ROCE_WR_RDMA_WRITE_WITH_IMM;
	uint8_t flags = 0;

	if (cqe->status != ROCE_WC_SUCCESS) {
		fuzz_require(cqe->status == ROCE_WC_WR_FLUSH_ERR || conns[c].is_harmed,
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
		fuzz_require(memcmp(bytes_of(c, side, REGION_LANDING, slot_of(number)),
				    bytes_of(c, !side, REGION_SOURCE, m->offset), m->length) == 0,
			     "a SEND lands in its receive");
}

static void poll(unsigned int side, uint32_t max)
{
	struct roce_cqe cqe;
	struct end *end;

	for (uint32_t k = 0; k < hosts[side].cq_count; k++) {
		for (uint32_t n = 0; n < max && roce_cq_poll(&hosts[side].cqs[k]->cq, &cqe, 1);
		     n++) {
			uint32_t c = (uint32_t)(conn_of(side, cqe.qp, &end) - conns);

			if (cqe.sq)
				on_send_cqe(c, side, &cqe);
			else
				on_recv_cqe(c, side, &cqe);
		}
	}
}

/* ---- states ---- */

static bool modify(uint32_t c, unsigned int side, enum roce_qp_state state, uint32_t mask)
{
	const struct conn *conn = &conns[c];
	const struct roce_qp *other = &conn->ends[!side].qp->qp;
	struct roce_qp_attr attr = {
		.state = (uint8_t)state,
		.path_mtu = MTU_ENUM,
		.port_num = 1,
		.max_rd_atomic = conn->rd_atomic,
		.max_dest_rd_atomic = conn->rd_atomic,
		.min_rnr_timer = 1,
		.timeout = 4,
		.retry_cnt = conn->retry_cnt,
		.rnr_retry = conn->rnr_retry,
		.en_sqd_async_notify = 1,
		.access_flags = ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_READ |
				ROCE_ACCESS_REMOTE_ATOMIC,
		.dest_qpn = other->cfg.qpn.v,
		.rq_psn = conn->psn[!side],
		.sq_psn = conn->psn[side],
		.path = {.sgid = hosts[side].gid,
			 .dgid = hosts[!side].gid,
			 .pkey = 0xffff,
			 .hop_limit = 64},
		.peer = sim_stack_peer(&hosts[side], &hosts[!side].gid, hosts[!side].slot),
	};
	uint32_t bad_mask;

	return roce_qp_modify(&conn->ends[side].qp->qp, &attr, mask, now, &bad_mask) ==
	       ROCE_MODIFY_OK;
}

static void forget(struct end *end)
{
	fuzz_book_reset(&end->sends);
	fuzz_book_reset(&end->recvs);
	end->message_count = 0;
	end->received = 0;
	end->atomic_count = 0;
	end->is_given_up = false;
}

static void reset(uint32_t c, unsigned int side)
{
	fuzz_require(modify(c, side, ROCE_QP_RESET, ROCE_ATTR_STATE), "every state can be reset");
	fuzz_book_reset(&conns[c].ends[side].sends);
	fuzz_book_reset(&conns[c].ends[side].recvs);
	conns[c].is_harmed = true;
}

/* The QP goes, and another takes its storage under a new number. */
static void replace(uint32_t c, unsigned int side)
{
	struct sim_stack *s = &hosts[side];
	struct sim_qp *qp = conns[c].ends[side].qp;
	struct roce_qp_config cfg = qp->qp.cfg;

	roce_qp_fini(&qp->qp);
	roce_cq_clean(cfg.send_cq, &qp->qp);
	roce_cq_clean(cfg.recv_cq, &qp->qp);
	do {
		cfg.qpn.v = (uint32_t)s->slot << 16 | (roce_prng_next(&s->prng) & 0xffff);
	} while (!roce_qp_init(&qp->qp, &s->transport, &cfg));
	fuzz_book_reset(&conns[c].ends[side].sends);
	fuzz_book_reset(&conns[c].ends[side].recvs);
	conns[c].is_harmed = true;
}

static void connect_both(uint32_t c)
{
	for (unsigned int side = 0; side < 2; side++) {
		fuzz_require(modify(c, side, ROCE_QP_INIT, SIM_MASK_INIT) &&
				     modify(c, side, ROCE_QP_RTR, SIM_MASK_RTR) &&
				     modify(c, side, ROCE_QP_RTS, SIM_MASK_RTS),
			     "a reset QP can be connected");
		forget(&conns[c].ends[side]);
		for (uint32_t region = 0; region < REGION_COUNT; region++)
			renew_region(c, side, (enum region)region);
		memset(bytes_of(c, side, REGION_WORD, 0), 0, 8);
	}
	/* a copy may still be going to fail */
	conns[c].is_harmed = hosts[0].copy_fault_in || hosts[1].copy_fault_in;
}

/* New PSNs, far ahead: what is still on its way is old and must do no harm. */
static void reconnect(uint32_t c)
{
	if (reconnects++ >= RECONNECT_MAX)
		return;
	for (unsigned int side = 0; side < 2; side++) {
		reset(c, side);
		conns[c].psn[side] = (conns[c].psn[side] + PSN_STEP) & ROCE_PSN_MASK;
	}
	connect_both(c);
}

static void step_state(struct fuzz_input *in)
{
	uint8_t what = fuzz_u8(in);
	uint32_t c = what & 1;
	unsigned int side = what >> 1 & 1;

	switch (what >> 2 & 7) {
	case 0:
		reconnect(c);
		break;
	case 1:
		modify(c, side, ROCE_QP_SQD, ROCE_ATTR_STATE | ROCE_ATTR_EN_SQD_ASYNC_NOTIFY);
		break;
	case 2:
		modify(c, side, ROCE_QP_RTS, ROCE_ATTR_STATE);
		break;
	case 3:
		modify(c, side, ROCE_QP_RTS, ROCE_ATTR_STATE | ROCE_ATTR_MIN_RNR_TIMER);
		break;
	case 4:
		if (modify(c, side, ROCE_QP_ERR, ROCE_ATTR_STATE))
			conns[c].is_harmed = true;
		break;
	case 5:
		reset(c, side);
		break;
	case 6:
		replace(c, side);
		break;
	case 7:
		remove_region(c, side, (enum region)((what >> 5) % REGION_COUNT));
		break;
	}
}

/* ---- time ---- */

static roce_ns_t next_deadline(void)
{
	roce_ns_t a = roce_deadline(&hosts[0].transport);
	roce_ns_t b = roce_deadline(&hosts[1].transport);

	return a < b ? a : b;
}

static void pass(roce_ns_t to)
{
	if (to > now)
		now = to;
	for (unsigned int side = 0; side < 2; side++) {
		roce_on_deadline(&hosts[side].transport, now);
		fuzz_require(roce_deadline(&hosts[side].transport) > now,
			     "no deadline stays in the past");
	}
}

static void step_time(uint8_t how)
{
	if (how >= 12)
		pass(next_deadline() == ROCE_NEVER ? now : next_deadline());
	else
		pass(now + (UINT64_C(64) << how));
}

/* ---- the end ---- */

static bool exchange(void)
{
	bool has_moved = false;

	for (unsigned int side = 0; side < 2; side++) {
		hosts[side].event_count = 0;
		while (pull(side, 16, false)) {
			has_moved = true;
			while (flying_count[side])
				deliver(side, 0, false);
		}
		while (flying_count[side]) {
			has_moved = true;
			deliver(side, 0, false);
		}
		poll(side, UINT32_MAX);
	}
	return has_moved;
}

/* The link is well, the programs post receives and leave SQD. */
static void heal(void)
{
	for (uint32_t rounds = 0;; rounds++) {
		fuzz_require(rounds < 20000, "the hosts come to rest");
		for (uint32_t c = 0; c < CONNS; c++) {
			for (unsigned int side = 0; side < 2; side++) {
				const struct roce_qp *qp = &conns[c].ends[side].qp->qp;

				if (qp->attr.state == ROCE_QP_SQD)
					modify(c, side, ROCE_QP_RTS, ROCE_ATTR_STATE);
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
		arena += layout[i % REGION_COUNT].length + GAP_BYTES;
	tuning.read_chunk_packets = choice & 1 ? 1 : 3;
	tuning.ack_interval_packets = choice & 2 ? 1 : 4;
	tuning.burst_packets = choice & 4 ? 2 : 16;
	if (choice & 8)
		tuning.window.initial = tuning.window.min = 2 * (MTU + ROCE_WINDOW_PACKET_COST);
	if (choice & 16)
		tuning.read_window = 4 * (MTU + ROCE_WINDOW_PACKET_COST);
	now = 1;
	reconnects = 0;
	for (unsigned int side = 0; side < 2; side++) {
		struct sim_cq *send_cq;
		struct sim_cq *recv_cq;

		flying_count[side] = 0;
		sim_stack_init(&hosts[side], side + 1, choice * 2u + side, arena, &tuning);
		add_regions(side);
		send_cq = sim_stack_add_cq(&hosts[side], 64);
		recv_cq = choice & 32 ? send_cq : sim_stack_add_cq(&hosts[side], 64);
		for (uint32_t c = 0; c < CONNS; c++) {
			struct end *end = &conns[c].ends[side];

			*end = (struct end){0};
			end->qp = sim_stack_add_qp(&hosts[side], &caps, send_cq, recv_cq);
			fuzz_book_init(&end->sends, false);
			fuzz_book_init(&end->recvs, true);
			conns[c].psn[side] = (0xfffff0 + 7 * c + 3 * side) & ROCE_PSN_MASK;
		}
	}
	for (uint32_t c = 0; c < CONNS; c++) {
		conns[c].rd_atomic = choice >> 6;
		conns[c].retry_cnt = retries & 7;
		conns[c].rnr_retry = retries >> 3 & 7;
		connect_both(c);
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
		pull(side, 1 + amount * 2, false);
		break;
	case 9: /* a burst arrives in order */
		for (uint32_t i = 0; i <= amount; i++)
			deliver(side, 0, false);
		break;
	case 10:
		deliver(side, amount, false);
		break;
	case 11:
		deliver(side, amount, true);
		break;
	case 12:
		if (amount < flying_count[side])
			lose(side, amount);
		break;
	case 13: /* all of it, both ways */
		exchange();
		break;
	case 14:
		pull(side, 1 + amount * 2, true);
		break;
	case 15:
		for (uint32_t c = 0; c < CONNS; c++)
			conns[c].is_harmed = true;
		hosts[side].copy_fault_in = 1 + amount;
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};

	start(&in);
	for (uint32_t i = 0; in.left && i < STEPS_MAX; i++) {
		hosts[0].event_count = hosts[1].event_count = 0;
		step(&in);
		for (unsigned int side = 0; side < 2; side++)
			fuzz_check_stack(&hosts[side]);
	}
	heal();
	for (unsigned int side = 0; side < 2; side++)
		fuzz_check_quiet(&hosts[side]);
	for (uint32_t c = 0; c < CONNS; c++)
		check_conn(&conns[c]);
	for (unsigned int side = 0; side < 2; side++)
		sim_stack_fini(&hosts[side]);
	return 0;
}
