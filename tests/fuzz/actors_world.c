/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two hosts, their memory, and a link that delivers, loses or doubles what it is told to; bringing
 * connections up, down and up again. Everything that ends a promise marks its connection as harmed.
 */
#include "actors.h"

#include "wire/opcode.h"

const struct actors_region actors_layout[REGION_COUNT] = {
	[REGION_SOURCE] = {SOURCE_BYTES, ROCE_ACCESS_REMOTE_READ},
	[REGION_SINK] = {QUEUE_DEPTH * SLOT_BYTES, ROCE_ACCESS_LOCAL_WRITE},
	[REGION_TARGET] = {QUEUE_DEPTH * SLOT_BYTES,
			   ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE},
	[REGION_LANDING] = {QUEUE_DEPTH * SLOT_BYTES, ROCE_ACCESS_LOCAL_WRITE},
	[REGION_WORD] = {64, ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_ATOMIC},
};

struct sim_stack actors_hosts[2];
struct conn actors_conns[CONNS];
struct flying actors_links[2][FLYING_MAX];
uint32_t actors_flying_count[2];
uint32_t actors_reconnects;
roce_ns_t actors_now;

/* ---- memory ---- */

struct roce_mr *actors_region_of(uint32_t conn, unsigned int side, enum region region)
{
	return &actors_hosts[side].mrs[conn * REGION_COUNT + region];
}

uint8_t *actors_bytes_of(uint32_t conn, unsigned int side, enum region region, uint32_t offset)
{
	return (uint8_t *)(uintptr_t)(actors_region_of(conn, side, region)->addr + offset);
}

uint32_t actors_slot_of(uint32_t number)
{
	return number % QUEUE_DEPTH * SLOT_BYTES;
}

void actors_add_regions(unsigned int side)
{
	uint32_t offset = GAP_BYTES;

	for (uint32_t i = 0; i < CONNS * REGION_COUNT; i++) {
		uint32_t length = actors_layout[i % REGION_COUNT].length;

		sim_stack_add_mr(&actors_hosts[side], offset, length,
				 actors_layout[i % REGION_COUNT].access);
		offset += length + GAP_BYTES;
	}
	for (uint32_t c = 0; c < CONNS; c++) {
		actors_region_of(c, side, REGION_TARGET)->can_invalidate = true;
		for (uint32_t i = 0; i < SOURCE_BYTES; i += 8)
			memcpy(actors_bytes_of(c, side, REGION_SOURCE, i),
			       &(uint64_t){(i + c * 5 + side + 1) * UINT64_C(0x9e3779b97f4a7c15)},
			       8);
	}
}

void actors_remove_region(uint32_t conn, unsigned int side, enum region region)
{
	roce_key_table_remove(&actors_hosts[side].transport.keys,
			      actors_region_of(conn, side, region));
	actors_conns[conn].is_harmed = true;
}

static void renew_region(uint32_t conn, unsigned int side, enum region region)
{
	struct sim_stack *s = &actors_hosts[side];
	struct roce_mr *mr = actors_region_of(conn, side, region);

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

void actors_lose(unsigned int from, uint32_t index)
{
	struct flying *link = actors_links[from];

	actors_flying_count[from]--;
	memmove(&link[index], &link[index + 1],
		(actors_flying_count[from] - index) * sizeof(link[0]));
}

static void launch(unsigned int from, const struct roce_tx_pkt *pkt)
{
	struct flying *f;

	if (actors_flying_count[from] == FLYING_MAX)
		actors_lose(from, 0);
	f = &actors_links[from][actors_flying_count[from]++];
	f->hdr = pkt->hdr;
	f->src = pkt->path->sgid;
	f->dst = pkt->path->dgid;
	f->traffic_class = pkt->traffic_class;
	/* A switch on the way marks some of those that it may mark. */
	if (f->traffic_class == ROCE_ECN_ECT0 && (pkt->hdr.psn.v & 3) == 3)
		f->traffic_class = ROCE_ECN_CE;
	f->payload_len = pkt->payload.length;
	gather(&pkt->payload, f->payload);
}

struct conn *actors_conn_of(unsigned int side, const struct roce_qp *qp, struct end **out_end)
{
	for (uint32_t c = 0; c < CONNS; c++) {
		if (&actors_conns[c].ends[side].qp->qp == qp) {
			*out_end = &actors_conns[c].ends[side];
			return &actors_conns[c];
		}
	}
	fuzz_require(false, "what comes from a host belongs to a QP of it");
	return NULL;
}

/* With `is_fault` the memory of the first packet turns out to be gone, and it is not sent. */
size_t actors_pull(unsigned int side, size_t max, bool is_fault)
{
	static struct roce_tx_pkt pkts[16];
	struct end *end;
	size_t n = roce_tx(&actors_hosts[side].transport, pkts, max, actors_now);

	fuzz_require(n <= max, "no more packets than asked for");
	if (n && pkts[0].hdr.opcode.v == ROCE_CNP)
		is_fault = false; /* it is of no memory */
	for (size_t i = is_fault; i < n; i++)
		launch(side, &pkts[i]);
	if (is_fault && n) {
		actors_conn_of(side, pkts[0].qp, &end)->is_harmed = true;
		roce_tx_fault(&actors_hosts[side].transport, &pkts[0], actors_now);
	}
	return n;
}

void actors_deliver(unsigned int from, uint32_t index, bool stays)
{
	static struct flying f;
	struct roce_rx_pkt pkt;

	if (index >= actors_flying_count[from])
		return;
	f = actors_links[from][index];
	if (!stays)
		actors_lose(from, index);
	pkt = (struct roce_rx_pkt){
		.hdr = f.hdr,
		.payload = f.payload,
		.payload_len = f.payload_len,
		.src = &f.src,
		.dst = &f.dst,
		.traffic_class = f.traffic_class,
		.hop_limit = 64,
	};
	roce_rx(&actors_hosts[!from].transport, &pkt, actors_now);
}

/* ---- states ---- */

bool actors_modify(uint32_t c, unsigned int side, enum roce_qp_state state, uint32_t mask)
{
	const struct conn *conn = &actors_conns[c];
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
		.path = {.sgid = actors_hosts[side].gid,
			 .dgid = actors_hosts[!side].gid,
			 .pkey = 0xffff,
			 .hop_limit = 64},
		.peer = sim_stack_peer(&actors_hosts[side], &actors_hosts[!side].gid,
				       actors_hosts[!side].slot),
	};
	uint32_t bad_mask;

	return roce_qp_modify(&conn->ends[side].qp->qp, &attr, mask, actors_now, &bad_mask) ==
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

void actors_reset(uint32_t c, unsigned int side)
{
	fuzz_require(actors_modify(c, side, ROCE_QP_RESET, ROCE_ATTR_STATE),
		     "every state can be reset");
	fuzz_book_reset(&actors_conns[c].ends[side].sends);
	fuzz_book_reset(&actors_conns[c].ends[side].recvs);
	actors_conns[c].is_harmed = true;
}

/* The QP goes, and another takes its storage under a new number. */
void actors_replace(uint32_t c, unsigned int side)
{
	struct sim_stack *s = &actors_hosts[side];
	struct sim_qp *qp = actors_conns[c].ends[side].qp;
	struct roce_qp_config cfg = qp->qp.cfg;

	roce_qp_fini(&qp->qp);
	roce_cq_clean(cfg.send_cq, &qp->qp);
	roce_cq_clean(cfg.recv_cq, &qp->qp);
	do {
		cfg.qpn.v = (uint32_t)s->slot << 16 | (roce_prng_next(&s->prng) & 0xffff);
	} while (!roce_qp_init(&qp->qp, &s->transport, &cfg));
	fuzz_book_reset(&actors_conns[c].ends[side].sends);
	fuzz_book_reset(&actors_conns[c].ends[side].recvs);
	actors_conns[c].is_harmed = true;
}

void actors_connect_both(uint32_t c)
{
	for (unsigned int side = 0; side < 2; side++) {
		fuzz_require(actors_modify(c, side, ROCE_QP_INIT, SIM_MASK_INIT) &&
				     actors_modify(c, side, ROCE_QP_RTR, SIM_MASK_RTR) &&
				     actors_modify(c, side, ROCE_QP_RTS, SIM_MASK_RTS),
			     "a reset QP can be connected");
		forget(&actors_conns[c].ends[side]);
		for (uint32_t region = 0; region < REGION_COUNT; region++)
			renew_region(c, side, (enum region)region);
		memset(actors_bytes_of(c, side, REGION_WORD, 0), 0, 8);
	}
	/* a copy may still be going to fail */
	actors_conns[c].is_harmed = actors_hosts[0].copy_fault_in || actors_hosts[1].copy_fault_in;
}

/* New PSNs, far ahead: what is still on its way is old and must do no harm. */
void actors_reconnect(uint32_t c)
{
	if (actors_reconnects++ >= RECONNECT_MAX)
		return;
	for (unsigned int side = 0; side < 2; side++) {
		actors_reset(c, side);
		actors_conns[c].psn[side] = (actors_conns[c].psn[side] + PSN_STEP) & ROCE_PSN_MASK;
	}
	actors_connect_both(c);
}
