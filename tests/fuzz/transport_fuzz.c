/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hostile packets against one host: the input is a program that mixes them with honest calls of the
 * host's own. Its queue pairs stand in different states (table below), with messages half received
 * and requests half answered. Each packet begins as bytes and passes the wire decoder; what a byte
 * asks for is then put right (a QPN, a PSN near the expected one, a key, an address in a region),
 * so that the search gets past the first checks.
 *
 * After every step: nothing was written but where this packet may write, by regions that this file
 * knows on its own; the books and sums of checks.h hold. In the end the host comes to rest.
 */
#include "one_host.h"
#include "pair.h"

#include "base/assert.h"
#include "wire/aeth.h"
#include "wire/headers.h"

#define MTU	    256u
#define MTU_ENUM    1
#define STEPS_MAX   400u
#define QUEUE_DEPTH 8u
#define ARENA_SIZE  16384u
#define PACKET_MAX  (ROCE_HEADERS_MAX + 512u)

/* ---- what the host has ---- */

enum region {
	REGION_OPEN,	    /* everything is allowed */
	REGION_ZERO_BASED,  /* the same, addressed from 0 */
	REGION_READABLE,    /* REMOTE_READ only */
	REGION_FOREIGN,	    /* everything, but of another PD */
	REGION_LANDING,	    /* LOCAL_WRITE only: receives and what READs fetch */
	REGION_SOURCE,	    /* no rights: what is sent */
	REGION_INVALIDABLE, /* everything, and a peer may end it */
	REGION_COUNT
};

#define ACCESS_ALL                                                                      \
	(ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_READ | \
	 ROCE_ACCESS_REMOTE_ATOMIC)

static const struct {
	uint32_t offset;
	uint32_t length;
	uint32_t access;
} layout[REGION_COUNT] = {
	[REGION_OPEN] = {512, 2048, ACCESS_ALL},
	[REGION_ZERO_BASED] = {3072, 1024, ACCESS_ALL},
	[REGION_READABLE] = {4608, 1024, ROCE_ACCESS_REMOTE_READ},
	[REGION_FOREIGN] = {6144, 1024, ACCESS_ALL},
	[REGION_LANDING] = {7680, 4096, ROCE_ACCESS_LOCAL_WRITE},
	[REGION_SOURCE] = {12288, 2048, 0},
	[REGION_INVALIDABLE] = {14848, 1024, ACCESS_ALL},
};

enum start {
	START_INIT,
	START_RTR,
	START_RTR_IN_WRITE, /* a WRITE is half received */
	START_RTS,
	START_RTS_IN_SEND, /* a SEND is half received */
	START_RTS_WAITING, /* READ, atomic and SEND are on their way */
	START_SQD_WAITING, /* the same, and drained */
	START_ERR,
	START_COUNT
};

static struct sim_stack host;
static struct roce_pd foreign_pd;
static struct fuzz_book sends[START_COUNT];
static struct fuzz_book recvs[START_COUNT];
static uint8_t before[ARENA_SIZE];
static roce_ns_t now;

static uint64_t address_of(uint32_t offset)
{
	return (uint64_t)(uintptr_t)(host.arena + offset);
}

static uint32_t offset_of(uint64_t address)
{
	return (uint32_t)(address - address_of(0));
}

/* ---- what a packet may write ---- */

struct allowed {
	uint32_t count;
	struct {
		uint32_t offset;
		uint32_t length;
	} ranges[QUEUE_DEPTH * 4 + 4];
};

static void allow(struct allowed *a, uint32_t offset, uint32_t length)
{
	fuzz_require(a->count < sizeof(a->ranges) / sizeof(a->ranges[0]), "few ranges");
	a->ranges[a->count].offset = offset;
	a->ranges[a->count].length = length;
	a->count++;
}

static void allow_region(struct allowed *a, enum region region)
{
	if (host.mrs[region].is_valid)
		allow(a, layout[region].offset, layout[region].length);
}

/* Pieces of a work request, where the program may write at all. */
static void allow_pieces(struct allowed *a, const struct roce_sge *sge, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t k = 0; k < REGION_COUNT; k++) {
			const struct roce_mr *mr = &host.mrs[k];

			if (k != REGION_FOREIGN && (layout[k].access & ROCE_ACCESS_LOCAL_WRITE) &&
			    sge[i].length && sge[i].lkey == mr->lkey.v && mr->is_valid)
				allow(a, layout[k].offset + (uint32_t)(sge[i].addr - mr->iova),
				      sge[i].length);
		}
	}
}

static struct roce_qp *qp_of(const struct roce_headers *hdr)
{
	for (uint32_t i = 0; i < host.qp_count; i++)
		if (host.qps[i]->qp.cfg.qpn.v == hdr->dest_qpn.v)
			return &host.qps[i]->qp;
	return NULL;
}

static void allow_packet(struct allowed *a, const struct roce_headers *hdr)
{
	const struct roce_opcode_info *info = roce_opcode_info(hdr->opcode);
	struct roce_qp *qp = qp_of(hdr);

	if (!qp || !info || info->transport != ROCE_OPCODE_TRANSPORT_RC)
		return;
	if (info->is_response) {
		for (uint32_t i = qp->sq.completed; i != qp->sq.posted; i++) {
			struct roce_send_wqe *wqe = roce_send_queue_at(&qp->sq, i);

			if (wqe->opcode >= ROCE_WR_RDMA_READ &&
			    wqe->opcode <= ROCE_WR_ATOMIC_FETCH_AND_ADD)
				allow_pieces(a, roce_send_wqe_sges(wqe), wqe->sge_count);
		}
	} else if (info->operation == ROCE_OPERATION_SEND) {
		if (!roce_recv_queue_is_empty(&qp->rq))
			allow_pieces(a, roce_recv_queue_head(&qp->rq)->sge,
				     roce_recv_queue_head(&qp->rq)->sge_count);
	} else if (info->operation == ROCE_OPERATION_WRITE ||
		   info->operation == ROCE_OPERATION_CMP_SWAP ||
		   info->operation == ROCE_OPERATION_FETCH_ADD ||
		   info->operation == ROCE_OPERATION_ATOMIC_WRITE) {
		allow_region(a, REGION_OPEN);
		allow_region(a, REGION_ZERO_BASED);
		allow_region(a, REGION_INVALIDABLE);
	}
}

static bool is_allowed(const struct allowed *a, uint32_t offset)
{
	for (uint32_t i = 0; i < a->count; i++)
		if (offset - a->ranges[i].offset < a->ranges[i].length)
			return true;
	return false;
}

static void check_writes(const struct allowed *a, uint32_t bytes_max, enum roce_verdict verdict)
{
	uint32_t changed = 0;

	for (uint32_t block = 0; block < ARENA_SIZE; block += 64) {
		if (memcmp(before + block, host.arena + block, 64) == 0)
			continue;
		for (uint32_t i = block; i < block + 64; i++) {
			if (before[i] == host.arena[i])
				continue;
			changed++;
			fuzz_require(is_allowed(a, i), "a packet writes only where it may");
		}
	}
	if (changed == 0)
		return;
	fuzz_require(changed <= bytes_max, "a packet writes no more than it carries");
	fuzz_require(fuzz_may_have_written(verdict), "a refused packet writes nothing");
}

/* A WRITE's first packet, or an ATOMIC WRITE, puts its bytes where the RETH says. */
static void check_write_placed(const struct roce_headers *hdr, const uint8_t *payload,
			       uint32_t payload_len)
{
	const struct roce_opcode_info *info = roce_opcode_info(hdr->opcode);

	if (info->operation == ROCE_OPERATION_ATOMIC_WRITE)
		fuzz_require(payload_len == 8 && (hdr->va & 7) == 0,
			     "an ATOMIC WRITE is one aligned word");
	else if (info->operation != ROCE_OPERATION_WRITE || !roce_position_is_start(info->position))
		return;
	for (uint32_t i = 0; i < REGION_COUNT; i++) {
		const struct roce_mr *mr = &host.mrs[i];

		if (mr->rkey.v == hdr->rkey.v && payload_len)
			fuzz_require(
				memcmp((const void *)(uintptr_t)(mr->addr + (hdr->va - mr->iova)),
				       payload, payload_len) == 0,
				"a WRITE places its payload");
	}
}

/* ---- receiving ---- */

enum fix {
	FIX_QPN = 1 << 0,
	FIX_PSN = 1 << 1,
	FIX_RKEY = 1 << 2,
	FIX_VA = 1 << 3,
	FIX_PAD = 1 << 4,
	FIX_DMA_LEN = 1 << 5,
	FIX_INV = 1 << 6,
	FIX_OPCODE = 1 << 7,
};

/* Puts right what `fixes` names; `choice` picks the QP and the distance of the PSN. */
static void fix_headers(struct roce_headers *hdr, uint8_t fixes, uint8_t choice,
			uint32_t payload_len)
{
	const struct roce_opcode_info *info;
	const struct roce_mr *mr = &host.mrs[hdr->rkey.v % REGION_COUNT];
	const struct roce_qp *qp = &host.qps[choice & 7]->qp;
	uint32_t distance = choice >> 3 < 24 ? choice >> 3 : (uint32_t)(choice >> 3) - 32;

	if (fixes & FIX_OPCODE)
		hdr->opcode.v &= 0x1f;
	info = roce_opcode_info(hdr->opcode);
	if (fixes & FIX_QPN) {
		hdr->dest_qpn = qp->cfg.qpn;
		hdr->pkey = 0xffff;
	}
	if ((fixes & FIX_PSN) && info)
		hdr->psn = roce_psn_add(info->is_response ? qp->req.una : qp->resp.expected_psn,
					distance);
	if (fixes & FIX_RKEY)
		hdr->rkey = mr->rkey;
	if (fixes & FIX_VA)
		hdr->va = mr->iova + (hdr->va & 0x1fff) - 0x40;
	if (fixes & FIX_PAD)
		hdr->pad_count = (uint8_t)(-payload_len & 3);
	if ((fixes & FIX_DMA_LEN) && info && info->position == ROCE_POSITION_ONLY &&
	    (info->operation == ROCE_OPERATION_WRITE ||
	     info->operation == ROCE_OPERATION_ATOMIC_WRITE))
		hdr->dma_len = payload_len;
	else if (fixes & FIX_DMA_LEN)
		hdr->dma_len &= 0x7ff;
	if (fixes & FIX_INV)
		hdr->inv_rkey = host.mrs[REGION_INVALIDABLE].rkey;
}

static void receive(const struct roce_headers *hdr, const uint8_t *payload, uint32_t payload_len,
		    bool is_from_peer)
{
	struct roce_gid src = fuzz_peer_gid(&host);
	struct roce_rx_pkt pkt = {
		.hdr = *hdr,
		.payload = payload,
		.payload_len = payload_len,
		.src = &src,
		.dst = &host.gid,
		.traffic_class = hdr->becn ? 3 : 2,
		.hop_limit = 64,
	};
	struct allowed allowed = {0};
	enum roce_verdict verdict;
	uint64_t count;

	if (!is_from_peer)
		src.raw[3] ^= 1;
	else
		allow_packet(&allowed, hdr);
	memcpy(before, host.arena, ARENA_SIZE);
	count = host.counters.v[ROCE_STAT_RX_PACKETS];
	verdict = roce_rx(&host.transport, &pkt, now);
	fuzz_require((uint32_t)verdict < ROCE_VERDICT_COUNT, "a verdict is one of the list");
	fuzz_require(host.counters.v[ROCE_STAT_RX_PACKETS] == count + 1, "every packet counts");
	/* an atomic writes 8 bytes and brings none, its answer brings 8 in the header */
	check_writes(&allowed, payload_len > 8 ? payload_len : 8, verdict);
	if (verdict == ROCE_RX_ACCEPTED)
		check_write_placed(hdr, payload, payload_len);
}

/* Bytes, behind them as many more as the length says, and the decoder. */
static void step_rx(struct fuzz_input *in)
{
	uint8_t fixes = fuzz_u8(in);
	uint8_t choice = fuzz_u8(in);
	uint8_t header_bytes = fuzz_u8(in) & 0x7f;
	uint16_t more = fuzz_u16(in);
	size_t len = header_bytes + (more & 0x1ffu);
	struct roce_headers hdr;
	const uint8_t *payload;
	uint32_t payload_len;
	uint8_t *bth;

	/* exactly as long as it is, so that reading beyond it is seen */
	bth = malloc(len ? len : 1);
	fuzz_require(bth != NULL, "memory");
	fuzz_bytes(in, bth, header_bytes);
	for (size_t i = header_bytes; i < len; i++)
		bth[i] = (uint8_t)(more >> 8 ^ i);
	memset(&hdr, 0, sizeof(hdr));
	if (roce_headers_decode(bth, len, &hdr, &payload, &payload_len) == ROCE_DECODE_OK) {
		fix_headers(&hdr, fixes, choice, payload_len);
		receive(&hdr, payload, payload_len, !(more >> 15));
	}
	free(bth);
}

/* ---- sending ---- */

/* Copies the payload out, as the engine does. */
static void gather(const struct roce_payload *p)
{
	uint8_t copy[MTU];
	uint64_t skip = p->offset;
	uint32_t done = 0;

	if (p->data)
		memcpy(copy, p->data, p->length);
	for (uint32_t k = 0; !p->data && k < p->sge_count && done < p->length; k++) {
		const uint8_t *from = (const uint8_t *)(uintptr_t)p->sge[k].addr;

		for (uint64_t i = skip; i < p->sge[k].length && done < p->length; i++)
			copy[done++] = from[i];
		skip = skip < p->sge[k].length ? 0 : skip - p->sge[k].length;
	}
	fuzz_require(p->data || done == p->length, "a payload has the bytes that it says");
}

/* What a READ is answered with lies in a region that its key opens. */
static bool is_readable(const struct roce_payload *p)
{
	static const enum region open[] = {REGION_OPEN, REGION_ZERO_BASED, REGION_READABLE,
					   REGION_INVALIDABLE};
	uint32_t offset = offset_of((uint64_t)(uintptr_t)p->data);

	for (uint32_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		if (host.mrs[open[i]].is_valid && offset >= layout[open[i]].offset &&
		    offset + p->length <= layout[open[i]].offset + layout[open[i]].length)
			return true;
	return p->length == 0;
}

static void check_tx(const struct roce_tx_pkt *pkt)
{
	const struct roce_opcode_info *info = roce_opcode_info(pkt->hdr.opcode);
	uint8_t bth[ROCE_HEADERS_MAX + ROCE_ICRC_BYTES + 4];
	struct roce_headers again = pkt->hdr;
	const uint8_t *payload;
	uint32_t payload_len;
	size_t len;

	fuzz_require(info && (info->transport == ROCE_OPCODE_TRANSPORT_RC ||
			      (info->transport == ROCE_OPCODE_TRANSPORT_CNP &&
			       host.transport.cfg.notify.mode != ROCE_NOTIFY_OFF)),
		     "an RC opcode is sent, or a CNP");
	fuzz_require(pkt->payload.length <= MTU, "no packet is above the path MTU");
	fuzz_require(info->has_payload || pkt->payload.length == 0, "payload goes with its opcode");
	fuzz_require(pkt->hdr.pad_count == (-pkt->payload.length & 3), "the pad fills up");
	fuzz_require(pkt->path == &pkt->qp->attr.path, "a packet goes where its QP says");
	if (info->operation == ROCE_OPERATION_READ_RESPONSE)
		fuzz_require(is_readable(&pkt->payload), "a READ sees only what it may");
	gather(&pkt->payload);
	len = roce_headers_encode(&pkt->hdr, bth);
	memset(bth + len, 0, 8);
	fuzz_require(roce_headers_decode(bth, len + pkt->hdr.pad_count + ROCE_ICRC_BYTES, &again,
					 &payload, &payload_len) == ROCE_DECODE_OK,
		     "what is sent decodes");
	fuzz_require(memcmp(&again, &pkt->hdr, sizeof(again)) == 0, "headers survive the wire");
}

static size_t take_packets(size_t max, bool is_fault)
{
	static struct roce_tx_pkt pkts[16];
	size_t n;

	memset(pkts, 0, sizeof(pkts));
	n = roce_tx(&host.transport, pkts, max, now);
	fuzz_require(n <= max, "no more packets than asked for");
	for (size_t i = 0; i < n; i++)
		check_tx(&pkts[i]);
	if (is_fault && n && pkts[0].hdr.opcode.v != ROCE_CNP)
		roce_tx_fault(&host.transport, &pkts[0], now);
	return n;
}

/* ---- the host's own calls ---- */

static struct roce_sge piece_of(enum region region, uint32_t offset, uint32_t length)
{
	const struct roce_mr *mr = &host.mrs[region];

	return (struct roce_sge){mr->iova + offset % layout[region].length, length, mr->lkey.v};
}

static void post_send(uint32_t index, uint8_t opcode, uint8_t flags, uint32_t length,
		      enum region region)
{
	struct roce_sge sge[2] = {
		piece_of(region, index * 8, length / 2),
		piece_of(region, 1024 + index * 8, length - length / 2),
	};
	struct roce_send_wr wr = {
		.wr_id = fuzz_book_next(&sends[index]),
		.sge = sge,
		.sge_count = 2,
		.opcode = opcode,
		.flags = flags & 0xf,
		.imm_be = 0x01020304,
		.remote_addr = 0x1000,
		.rkey = 0x77,
		.compare_add = length,
		.swap = flags,
	};

	/* a length that copies from beyond the region is the program's own fault */
	if ((wr.flags & ROCE_SEND_INLINE) && length > 64)
		wr.flags &= (uint8_t)~ROCE_SEND_INLINE;
	if (wr.flags & ROCE_SEND_INLINE)
		sge[0].addr = sge[1].addr = address_of(layout[REGION_SOURCE].offset);
	if (roce_post_send(&host.qps[index]->qp, &wr, now) == ROCE_POST_OK)
		fuzz_book_post_send(&sends[index], &wr, false);
}

static void step_send(struct fuzz_input *in)
{
	uint32_t index = fuzz_u8(in) % START_COUNT;
	uint8_t opcode = fuzz_u8(in) % (ROCE_WR_SEND_WITH_INV + 2);
	uint8_t flags = fuzz_u8(in);
	uint8_t size = fuzz_u8(in);
	bool is_fetch = opcode >= ROCE_WR_RDMA_READ && opcode <= ROCE_WR_ATOMIC_FETCH_AND_ADD;
	enum region region = is_fetch ? REGION_LANDING : REGION_SOURCE;

	if (flags & 0x80)
		region = (enum region)(size % REGION_COUNT);
	if (opcode == ROCE_WR_SEND_WITH_INV + 1)
		opcode = ROCE_WR_ATOMIC_WRITE;
	post_send(index, opcode, flags, opcode == ROCE_WR_ATOMIC_WRITE && size >= 8 ? 8 : size * 5u,
		  region);
}

static void post_recv(uint32_t index, uint32_t length, enum region region)
{
	struct roce_sge sge[2] = {
		piece_of(region, index * 256, length / 3),
		piece_of(region, 2048 + index * 256, length - length / 3),
	};

	if (roce_post_recv(&host.qps[index]->qp, fuzz_book_next(&recvs[index]), sge, 2, now) ==
	    ROCE_POST_OK)
		fuzz_book_post_recv(&recvs[index]);
}

static void step_recv(struct fuzz_input *in)
{
	uint8_t where = fuzz_u8(in);
	uint8_t size = fuzz_u8(in);

	post_recv(where % START_COUNT, size * 4u,
		  where & 0x80 ? (enum region)(size % REGION_COUNT) : REGION_LANDING);
}

static void poll_all(uint32_t max)
{
	struct roce_cqe cqe;

	for (uint32_t k = 0; k < host.cq_count; k++) {
		for (uint32_t n = 0; n < max && roce_cq_poll(&host.cqs[k]->cq, &cqe, 1); n++) {
			uint32_t index = 0;

			while (index < START_COUNT && cqe.qp != &host.qps[index]->qp)
				index++;
			fuzz_require(index < START_COUNT, "a completion is of a QP that is there");
			fuzz_book_complete(cqe.sq ? &sends[index] : &recvs[index], &cqe);
		}
	}
}

static void modify(uint32_t index, enum roce_qp_state state, uint32_t mask)
{
	struct roce_gid dgid = fuzz_peer_gid(&host);
	struct roce_qp_attr attr = {
		.state = (uint8_t)state,
		.path_mtu = MTU_ENUM,
		.port_num = 1,
		.max_rd_atomic = 3,
		.max_dest_rd_atomic = 3,
		.min_rnr_timer = 1,
		.timeout = 3,
		.retry_cnt = 2,
		.rnr_retry = 3,
		.en_sqd_async_notify = 1,
		.access_flags = ACCESS_ALL,
		.dest_qpn = 0x990000 + index,
		.rq_psn = 0xfffffa,
		.sq_psn = 0xfffffc,
		.path = {.sgid = host.gid, .dgid = dgid, .pkey = 0xffff, .hop_limit = 64},
		.peer = sim_stack_peer(&host, &dgid, 0x99),
	};
	uint32_t bad_mask;

	if (roce_qp_modify(&host.qps[index]->qp, &attr, mask, now, &bad_mask) != ROCE_MODIFY_OK)
		return;
	if (state == ROCE_QP_RESET) {
		fuzz_book_reset(&sends[index]);
		fuzz_book_reset(&recvs[index]);
	}
}

static void bring_up(uint32_t index, enum roce_qp_state state)
{
	modify(index, ROCE_QP_INIT, SIM_MASK_INIT);
	if (state == ROCE_QP_INIT)
		return;
	modify(index, ROCE_QP_RTR, SIM_MASK_RTR);
	if (state == ROCE_QP_RTR)
		return;
	modify(index, ROCE_QP_RTS, SIM_MASK_RTS);
}

static void step_modify(struct fuzz_input *in)
{
	uint8_t what = fuzz_u8(in);
	uint32_t index = what % START_COUNT;

	switch (what >> 3 & 7) {
	case 0:
		modify(index, ROCE_QP_RESET, ROCE_ATTR_STATE);
		break;
	case 1:
		modify(index, ROCE_QP_ERR, ROCE_ATTR_STATE);
		break;
	case 2:
		modify(index, ROCE_QP_SQD, ROCE_ATTR_STATE | ROCE_ATTR_EN_SQD_ASYNC_NOTIFY);
		break;
	case 3:
		modify(index, ROCE_QP_RTS, ROCE_ATTR_STATE);
		break;
	default:
		bring_up(index, (enum roce_qp_state)(ROCE_QP_INIT + (what >> 6)));
		break;
	}
}

/* A region goes, or comes back under new keys. */
static void step_region(struct fuzz_input *in)
{
	struct roce_mr *mr = &host.mrs[fuzz_u8(in) % REGION_COUNT];

	if (mr->is_valid) {
		roce_key_table_remove(&host.transport.keys, mr);
		return;
	}
	/* an invalidated one is still in the table */
	roce_key_table_remove(&host.transport.keys, mr);
	while (roce_key_table_add(&host.transport.keys, mr, (uint32_t)roce_prng_next(&host.prng),
				  0x10, 0x20) != 0)
		continue;
}

/* ---- the whole ---- */

static void start_regions(void)
{
	for (uint32_t i = 0; i < REGION_COUNT; i++) {
		struct roce_mr *mr = sim_stack_add_mr(&host, layout[i].offset, layout[i].length,
						      layout[i].access);

		if (i == REGION_FOREIGN)
			mr->pd = &foreign_pd;
		if (i == REGION_ZERO_BASED)
			mr->iova = 0;
		if (i == REGION_INVALIDABLE)
			mr->can_invalidate = true;
	}
	for (uint32_t i = 0; i < ARENA_SIZE; i += 8)
		memcpy(host.arena + i, &(uint64_t){i * UINT64_C(0x9e3779b97f4a7c15)}, 8);
}

/* A FIRST packet of three times the MTU, in sequence. */
static void receive_first(uint32_t index, enum roce_op op)
{
	static const uint8_t payload[MTU];
	const struct roce_qp *qp = &host.qps[index]->qp;
	struct roce_headers hdr = {
		.opcode = roce_opcode_make(op),
		.pkey = 0xffff,
		.dest_qpn = qp->cfg.qpn,
		.psn = qp->resp.expected_psn,
		.va = host.mrs[REGION_OPEN].iova,
		.rkey = host.mrs[REGION_OPEN].rkey,
		.dma_len = 3 * MTU,
	};

	receive(&hdr, payload, MTU, true);
}

static void start_qp(uint32_t index, struct sim_cq *send_cq, struct sim_cq *recv_cq)
{
	static const enum roce_qp_state states[START_COUNT] = {
		[START_INIT] = ROCE_QP_INIT,	    [START_RTR] = ROCE_QP_RTR,
		[START_RTR_IN_WRITE] = ROCE_QP_RTR, [START_RTS] = ROCE_QP_RTS,
		[START_RTS_IN_SEND] = ROCE_QP_RTS,  [START_RTS_WAITING] = ROCE_QP_RTS,
		[START_SQD_WAITING] = ROCE_QP_RTS,  [START_ERR] = ROCE_QP_RTS,
	};
	const struct sim_qp_caps caps = {.send_wr = QUEUE_DEPTH,
					 .recv_wr = QUEUE_DEPTH,
					 .send_sge = 3,
					 .recv_sge = 3,
					 .inline_bytes = 64};

	sim_stack_add_qp(&host, &caps, send_cq, recv_cq);
	fuzz_book_init(&sends[index], false);
	fuzz_book_init(&recvs[index], true);
	bring_up(index, states[index]);
	post_recv(index, 3 * MTU, REGION_LANDING);
	post_recv(index, 100, REGION_LANDING);
	if (index == START_RTR_IN_WRITE)
		receive_first(index, ROCE_RC_WRITE_FIRST);
	if (index == START_RTS_IN_SEND)
		receive_first(index, ROCE_RC_SEND_FIRST);
	if (index == START_RTS_WAITING || index == START_SQD_WAITING) {
		post_send(index, ROCE_WR_RDMA_READ, 0, 5 * MTU, REGION_LANDING);
		post_send(index, ROCE_WR_ATOMIC_FETCH_AND_ADD, ROCE_SEND_SIGNALED, 8,
			  REGION_LANDING);
		post_send(index, ROCE_WR_SEND, ROCE_SEND_SIGNALED, 2 * MTU, REGION_SOURCE);
		post_send(index, ROCE_WR_RDMA_WRITE, ROCE_SEND_SIGNALED, 2 * MTU, REGION_SOURCE);
	}
	if (index == START_ERR)
		modify(index, ROCE_QP_ERR, ROCE_ATTR_STATE);
}

/* The first byte chooses the window, the depth of a CQ, what one turn may send, and whether there
 * is congestion control. */
static void start(uint8_t choice)
{
	struct roce_transport_config tuning = sim_tuning_default();
	struct sim_cq *send_cq;
	struct sim_cq *recv_cq;
	struct sim_cq *small_cq;

	tuning.read_chunk_packets = choice & 1 ? 2 : 16;
	tuning.burst_packets = choice & 2 ? 3 : 16;
	if (choice & 4)
		tuning.window.initial = tuning.window.min = 2 * (MTU + ROCE_WINDOW_PACKET_COST);
	if (choice & 32)
		fuzz_control_congestion(&tuning, choice);
	sim_stack_init(&host, 1, choice, ARENA_SIZE, &tuning);
	now = 1000;
	start_regions();
	send_cq = sim_stack_add_cq(&host, 128);
	recv_cq = sim_stack_add_cq(&host, 128);
	small_cq = sim_stack_add_cq(&host, 4);
	for (uint32_t i = 0; i < START_COUNT; i++)
		start_qp(i, i == START_RTR && choice & 8 ? small_cq : send_cq,
			 i == START_RTS_IN_SEND && choice & 16 ? small_cq : recv_cq);
	take_packets(16, false);
	modify(START_SQD_WAITING, ROCE_QP_SQD, ROCE_ATTR_STATE | ROCE_ATTR_EN_SQD_ASYNC_NOTIFY);
}

/* No peer answers any more: everything must come to an end by itself. */
static void settle(void)
{
	fuzz_run_out(&host, &now, take_packets);
	poll_all(UINT32_MAX);
	fuzz_check_quiet(&host);
	fuzz_require_books_ended(&host, sends, recvs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};

	start(fuzz_u8(&in));
	for (uint32_t i = 0; in.left && i < STEPS_MAX; i++) {
		uint8_t op = fuzz_u8(&in);

		host.event_count = 0;
		switch (op & 15) {
		case 0:
			step_send(&in);
			break;
		case 1:
			step_recv(&in);
			break;
		case 2:
			poll_all(1 + (op >> 4));
			break;
		case 3:
			step_modify(&in);
			break;
		case 4:
			step_region(&in);
			break;
		case 5:
			fuzz_step_time(&in, &host, &now);
			break;
		case 6:
			host.copy_fault_in = 1 + (op >> 4);
			break;
		case 7:
			take_packets(1 + (op >> 4), true);
			break;
		case 8:
		case 9:
			take_packets(1 + (op >> 4), false);
			break;
		default:
			step_rx(&in);
			break;
		}
		fuzz_check_stack(&host);
	}
	settle();
	sim_stack_fini(&host);
	return 0;
}
