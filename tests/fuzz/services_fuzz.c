/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hostile packets against one host whose QPs are of the other services: UC, UD (one in a group),
 * XRC, and all kinds with shared receive queues; and whose memory is opened by windows of both
 * types that the input binds, binds anew and invalidates. Like transport_fuzz.c: a packet begins
 * as bytes, what a byte asks for is put right, and the host does honest things between.
 *
 * After every step: a packet has written only where receives are posted, in the open region, or
 * where a window is bound; receives end once; the sums of checks.h hold. In the end it comes to
 * rest.
 */
#include "one_host.h"
#include "pair.h"

#include "wire/headers.h"
#include "wire/opcode.h"

#define MTU	    256u
#define MTU_ENUM    1
#define STEPS_MAX   400u
#define QUEUE_DEPTH 8u
#define SRQ_DEPTH   16u
#define RECVS_MAX   4096u
#define ARENA_SIZE  11264u
#define QKEY	    0x11111111u

enum region { REGION_OPEN, REGION_CLOSED, REGION_LANDING, REGION_SOURCE, REGION_COUNT };

static const struct {
	uint32_t offset;
	uint32_t length;
	uint32_t access;
} layout[REGION_COUNT] = {
	[REGION_OPEN] = {512, 2048,
			 ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE |
				 ROCE_ACCESS_REMOTE_READ | ROCE_ACCESS_REMOTE_ATOMIC},
	/* opened by windows alone */
	[REGION_CLOSED] = {3072, 2048, ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_MW_BIND},
	[REGION_LANDING] = {5632, 4096, ROCE_ACCESS_LOCAL_WRITE},
	[REGION_SOURCE] = {9984, 1024, 0},
};

enum { WINDOW_COUNT = 3 }; /* the last one of type 1 */

/* One QP of each sort; those of type XRC_TGT send nothing. */
static const struct {
	uint8_t type;
	bool is_shared;
} sorts[] = {
	{ROCE_QP_UC, false}, {ROCE_QP_UC, true}, {ROCE_QP_UD, false},	   {ROCE_QP_UD, true},
	{ROCE_QP_RC, true},  {ROCE_QP_RC, true}, {ROCE_QP_XRC_TGT, false}, {ROCE_QP_XRC_INI, false},
};

#define QPS (sizeof(sorts) / sizeof(sorts[0]))

static struct sim_stack host;
static struct sim_srq *srqs[2]; /* of the QPs; of XRC */
static struct roce_mr windows[WINDOW_COUNT];
static struct roce_group_member member;
static struct roce_gid group;
static struct fuzz_book sends[QPS];
static struct fuzz_book recvs[QPS];
static bool is_shared_done[2][RECVS_MAX];
static uint32_t shared_posted[2];
static uint8_t before[ARENA_SIZE];
static roce_ns_t now;

/* ---- what a packet may write ---- */

static bool is_in(enum region region, uint32_t offset)
{
	return offset - layout[region].offset < layout[region].length;
}

static bool is_window_open(uint32_t offset)
{
	for (uint32_t w = 0; w < WINDOW_COUNT; w++) {
		uint64_t first = windows[w].addr - (uint64_t)(uintptr_t)host.arena;

		if (windows[w].bound_to && offset - first < windows[w].length &&
		    (windows[w].access & (ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_ATOMIC)))
			return true;
	}
	return false;
}

/* A message lands in receives and so does an answer; requests go to what is open. */
static bool may_write(const struct roce_opcode_info *info, uint32_t offset)
{
	if (is_in(REGION_LANDING, offset))
		return info->is_response || info->operation == ROCE_OPERATION_SEND;
	return info->operation != ROCE_OPERATION_SEND &&
	       (is_in(REGION_OPEN, offset) || is_window_open(offset));
}

static void check_writes(const struct roce_opcode_info *info, enum roce_verdict verdict,
			 uint32_t payload_len)
{
	uint32_t changed = 0;

	for (uint32_t i = 0; i < ARENA_SIZE; i++) {
		if (before[i] == host.arena[i])
			continue;
		changed++;
		fuzz_require(info && may_write(info, i), "a packet writes only where it may");
	}
	if (!changed)
		return;
	fuzz_require(fuzz_may_have_written(verdict), "a refused packet writes nothing");
	/* a group has one member here, which also gets the header */
	fuzz_require(changed <= (payload_len > 8 ? payload_len : 8) + 40,
		     "a packet writes no more than it carries");
}

/* ---- receiving ---- */

enum fix {
	FIX_QPN = 1 << 0,
	FIX_PSN = 1 << 1,
	FIX_RKEY = 1 << 2,
	FIX_VA = 1 << 3,
	FIX_LENGTHS = 1 << 4,
	FIX_INV = 1 << 5,
	FIX_QKEY = 1 << 6,
	FIX_OPCODE = 1 << 7,
};

static uint8_t base_of(const struct roce_qp *qp)
{
	switch ((enum roce_qp_type)qp->cfg.type) {
	case ROCE_QP_UC:
		return 0x20;
	case ROCE_QP_UD:
		return 0x60;
	case ROCE_QP_XRC_INI:
	case ROCE_QP_XRC_TGT:
		return 0xa0;
	case ROCE_QP_RC:
		break;
	}
	return 0;
}

static const struct roce_mr *target_of(uint32_t choice)
{
	uint32_t w = choice % (WINDOW_COUNT + 1);

	return w < WINDOW_COUNT ? &windows[w] : &host.mrs[REGION_OPEN];
}

static void fix_headers(struct roce_headers *hdr, uint8_t fixes, uint8_t choice,
			uint32_t payload_len)
{
	const struct roce_qp *qp = &host.qps[choice % QPS]->qp;
	const struct roce_mr *mr = target_of(hdr->rkey.v);
	const struct roce_opcode_info *info = roce_opcode_info(hdr->opcode);

	if (fixes & FIX_QPN) {
		hdr->dest_qpn = qp->cfg.qpn;
		hdr->pkey = 0xffff;
		hdr->tver = 0;
	}
	if ((fixes & FIX_PSN) && info)
		hdr->psn = roce_psn_add(info->is_response ? qp->req.una : qp->resp.expected_psn,
					choice >> 6);
	if (fixes & FIX_RKEY)
		hdr->rkey = mr->rkey;
	if (fixes & FIX_VA)
		hdr->va = mr->iova + (hdr->va & 0x3ff) - 0x20;
	if (fixes & FIX_LENGTHS) {
		hdr->pad_count = (uint8_t)(-payload_len & 3);
		hdr->dma_len = info && info->position == ROCE_POSITION_ONLY ? payload_len
									    : hdr->dma_len & 0x3ff;
	}
	if (fixes & FIX_INV)
		hdr->inv_rkey = windows[hdr->inv_rkey.v % WINDOW_COUNT].rkey;
	if (fixes & FIX_QKEY) {
		hdr->qkey = QKEY;
		hdr->xrc_srqn = srqs[1]->number;
	}
}

static void receive(const struct roce_headers *hdr, const uint8_t *payload, uint32_t payload_len,
		    bool is_to_group)
{
	struct roce_gid src = fuzz_peer_gid(&host);
	struct roce_rx_pkt pkt = {
		.hdr = *hdr,
		.payload = payload,
		.payload_len = payload_len,
		.src = &src,
		.dst = is_to_group ? &group : &host.gid,
		.hop_limit = 64,
	};
	enum roce_verdict verdict;

	if (is_to_group)
		pkt.hdr.dest_qpn.v = 0xffffff;
	memcpy(before, host.arena, ARENA_SIZE);
	verdict = roce_rx(&host.transport, &pkt, now);
	fuzz_require((uint32_t)verdict < ROCE_VERDICT_COUNT, "a verdict is one of the list");
	check_writes(roce_opcode_info(hdr->opcode), verdict, payload_len);
}

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
	uint8_t *bth = malloc(len ? len : 1);

	fuzz_require(bth != NULL, "memory");
	fuzz_bytes(in, bth, header_bytes);
	for (size_t i = header_bytes; i < len; i++)
		bth[i] = (uint8_t)(more >> 8 ^ i);
	if (header_bytes && (fixes & FIX_OPCODE))
		bth[0] = (uint8_t)((bth[0] & 0x1f) | base_of(&host.qps[choice % QPS]->qp));
	memset(&hdr, 0, sizeof(hdr));
	if (roce_headers_decode(bth, len, &hdr, &payload, &payload_len) == ROCE_DECODE_OK) {
		fix_headers(&hdr, fixes, choice, payload_len);
		receive(&hdr, payload, payload_len, more >> 15);
	}
	free(bth);
}

/* ---- the host's own calls ---- */

static struct roce_sge piece_of(enum region region, uint32_t offset, uint32_t length)
{
	const struct roce_mr *mr = &host.mrs[region];

	return (struct roce_sge){mr->iova + offset % layout[region].length, length, mr->lkey.v};
}

static struct roce_mem_bind bind_of(struct roce_mr *mw, uint8_t size, uint8_t how)
{
	return (struct roce_mem_bind){
		.rkey = {(mw->rkey.v & ~0xffu) | ((mw->rkey.v + 1) & 0xff)},
		.lkey = host.mrs[how == 15 ? REGION_OPEN : REGION_CLOSED].lkey.v,
		.addr = host.mrs[REGION_CLOSED].iova + size * 4u,
		.length = how & 2 ? 0 : 512 + size,
		.access = ROCE_ACCESS_REMOTE_READ | (how & 4 ? 0 : ROCE_ACCESS_REMOTE_WRITE) |
			  (how & 8 ? ROCE_ACCESS_ZERO_BASED : 0),
	};
}

static void step_send(struct fuzz_input *in)
{
	uint32_t index = fuzz_u8(in) % QPS;
	uint8_t opcode = fuzz_u8(in) % (ROCE_WR_SEND_WITH_INV + 2);
	uint8_t flags = fuzz_u8(in);
	uint8_t size = fuzz_u8(in);
	bool is_fetch = opcode >= ROCE_WR_RDMA_READ && opcode <= ROCE_WR_ATOMIC_FETCH_AND_ADD;
	struct roce_mr *mw = &windows[size % WINDOW_COUNT];
	struct roce_mem_bind bind = bind_of(mw, size, flags >> 4);
	struct roce_gid dgid = fuzz_peer_gid(&host);
	struct roce_path path = {.sgid = host.gid, .dgid = dgid, .pkey = 0xffff, .hop_limit = 64};
	struct roce_sge sge[2] = {
		piece_of(is_fetch ? REGION_LANDING : REGION_SOURCE, size, size),
		piece_of(is_fetch ? REGION_LANDING : REGION_SOURCE, size * 2u, size * 2u),
	};
	struct roce_send_wr wr = {
		.wr_id = fuzz_book_next(&sends[index]),
		.sge = sge,
		.sge_count = 2,
		.opcode = opcode,
		.flags = flags & (ROCE_SEND_SIGNALED | ROCE_SEND_FENCE | ROCE_SEND_SOLICITED),
		.imm_be = opcode == ROCE_WR_LOCAL_INV ? mw->rkey.v : 0x01020304,
		.remote_addr = 0x1000,
		.rkey = 0x77,
		.path = &path,
		.remote_qpn = 0x990001,
		.remote_qkey = QKEY,
		.remote_srqn = 3,
		.bind = &bind,
	};

	if (opcode == ROCE_WR_SEND_WITH_INV + 1)
		wr.opcode = ROCE_WR_ATOMIC_WRITE;
	if (opcode == ROCE_WR_BIND_MW || opcode == ROCE_WR_LOCAL_INV)
		wr.sge_count = 0;
	if (roce_post_send(&host.qps[index]->qp, &wr, now) == ROCE_POST_OK)
		fuzz_book_post_send(&sends[index], &wr, false);
}

static void post_recv(uint32_t index, uint32_t length)
{
	struct roce_sge sge[2] = {
		piece_of(REGION_LANDING, index * 128, length / 3),
		piece_of(REGION_LANDING, 2048 + index * 128, length - length / 3),
	};

	if (roce_post_recv(&host.qps[index]->qp, fuzz_book_next(&recvs[index]), sge, 2, now) ==
	    ROCE_POST_OK)
		fuzz_book_post_recv(&recvs[index]);
}

/* The number of a receive is its wr_id, with the queue above. */
static void post_shared(uint32_t which, uint32_t length, bool is_bad)
{
	struct roce_sge sge[2] = {
		piece_of(REGION_LANDING, which * 512, length / 2),
		piece_of(REGION_LANDING, 1024 + which * 512, length - length / 2),
	};
	uint64_t wr_id = UINT64_C(1) << 60 | (uint64_t)which << 32 | shared_posted[which];

	if (is_bad)
		sge[1].lkey ^= 1;
	if (shared_posted[which] == RECVS_MAX || !sim_srq_post(srqs[which], wr_id, sge, 2))
		return;
	is_shared_done[which][shared_posted[which]++] = false;
}

static void step_recv(struct fuzz_input *in)
{
	uint8_t where = fuzz_u8(in);
	uint32_t length = fuzz_u8(in) * 3u;

	if (where & 0x80)
		post_shared(where & 1, length, (where & 0x7e) == 0x7e);
	else
		post_recv(where % QPS, length);
}

static void step_srq(struct fuzz_input *in)
{
	uint8_t what = fuzz_u8(in);
	struct sim_srq *srq = srqs[what & 1];

	if (what & 2)
		srq->srq.limit = what >> 4;
	else if (roce_srq_count(&srq->srq) <= SRQ_DEPTH)
		sim_srq_resize(srq, SRQ_DEPTH << (what >> 4 & 1));
}

static void end_shared(uint64_t wr_id)
{
	uint32_t which = (uint32_t)(wr_id >> 32) & 1;
	uint32_t number = (uint32_t)wr_id;

	fuzz_require(number < shared_posted[which] && !is_shared_done[which][number],
		     "a shared receive completes once, and after it was posted");
	is_shared_done[which][number] = true;
}

static void poll_all(uint32_t max)
{
	struct roce_cqe cqe;

	for (uint32_t k = 0; k < host.cq_count; k++) {
		for (uint32_t n = 0; n < max && roce_cq_poll(&host.cqs[k]->cq, &cqe, 1); n++) {
			uint32_t index = 0;

			while (index < QPS && cqe.qp != &host.qps[index]->qp)
				index++;
			fuzz_require(index < QPS, "a completion is of a QP that is there");
			if (cqe.wr_id >> 60)
				end_shared(cqe.wr_id);
			else
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
		.access_flags = ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_READ |
				ROCE_ACCESS_REMOTE_ATOMIC,
		.qkey = QKEY,
		.dest_qpn = 0x990000 + index,
		.rq_psn = 0xfffffa,
		.sq_psn = 0xfffffc,
		.path = {.sgid = host.gid, .dgid = dgid, .pkey = 0xffff, .hop_limit = 64},
		.peer = sim_stack_peer(&host, &dgid, 0x99),
	};
	bool is_recovery = state == ROCE_QP_RTS && host.qps[index]->qp.attr.state == ROCE_QP_SQE;
	uint32_t bad_mask;

	/* what failed and was flushed is read before new requests may succeed */
	if (is_recovery)
		poll_all(UINT32_MAX);
	if (roce_qp_modify(&host.qps[index]->qp, &attr, mask, now, &bad_mask) != ROCE_MODIFY_OK)
		return;
	if (is_recovery)
		sends[index].is_failed = false;
	if (state != ROCE_QP_RESET)
		return;
	fuzz_book_reset(&sends[index]);
	fuzz_book_reset(&recvs[index]);
}

static void bring_up(uint32_t index)
{
	for (uint8_t state = ROCE_QP_INIT; state <= ROCE_QP_RTS; state++)
		modify(index, (enum roce_qp_state)state, sim_mask(sorts[index].type, state));
}

static void step_modify(struct fuzz_input *in)
{
	uint8_t what = fuzz_u8(in);
	uint32_t index = what % QPS;

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
		bring_up(index);
		break;
	}
}

static size_t take_packets(size_t max, bool is_fault)
{
	static struct roce_tx_pkt pkts[16];
	size_t n = roce_tx(&host.transport, pkts, max, now);

	fuzz_require(n <= max, "no more packets than asked for");
	for (size_t i = 0; i < n; i++)
		fuzz_require(pkts[i].payload.length <=
				     (pkts[i].qp->cfg.type == ROCE_QP_UD ? 4096 : MTU),
			     "no packet is above the MTU");
	if (is_fault && n)
		roce_tx_fault(&host.transport, &pkts[0], now);
	return n;
}

/* ---- the whole ---- */

static void start_memory(void)
{
	for (uint32_t i = 0; i < REGION_COUNT; i++)
		sim_stack_add_mr(&host, layout[i].offset, layout[i].length, layout[i].access);
	for (uint32_t i = 0; i < ARENA_SIZE; i += 8)
		memcpy(host.arena + i, &(uint64_t){i * UINT64_C(0x9e3779b97f4a7c15)}, 8);
	for (uint32_t w = 0; w < WINDOW_COUNT; w++) {
		enum roce_mr_kind kind =
			w + 1 == WINDOW_COUNT ? ROCE_MR_WINDOW_1 : ROCE_MR_WINDOW_2;

		memset(&windows[w], 0, sizeof(windows[w]));
		while (roce_window_mr_add(&host.transport.keys, &windows[w], kind, &host.pd,
					  (uint32_t)roce_prng_next(&host.prng), 0x7f) != 0)
			continue;
	}
}

static void start(uint8_t choice)
{
	struct roce_transport_config tuning = sim_tuning_default();
	struct sim_cq *cqs[3];

	tuning.read_chunk_packets = choice & 1 ? 2 : 16;
	tuning.burst_packets = choice & 2 ? 3 : 16;
	sim_stack_init(&host, 1, choice, ARENA_SIZE, &tuning);
	now = 1000;
	start_memory();
	for (uint32_t i = 0; i < 3; i++)
		cqs[i] = sim_stack_add_cq(&host, i == 2 && choice & 4 ? 4 : 128);
	srqs[0] = sim_stack_add_srq(&host, SRQ_DEPTH, NULL);
	srqs[1] = sim_stack_add_srq(&host, SRQ_DEPTH, cqs[2]);
	shared_posted[0] = shared_posted[1] = 0;
	for (uint32_t i = 0; i < QPS; i++) {
		const struct sim_qp_caps caps = {.send_wr = QUEUE_DEPTH,
						 .recv_wr = QUEUE_DEPTH,
						 .send_sge = 2,
						 .recv_sge = 2,
						 .type = sorts[i].type,
						 .srq = sorts[i].is_shared ? srqs[0] : NULL};

		sim_stack_add_qp(&host, &caps, cqs[0], cqs[1]);
		fuzz_book_init(&sends[i], false);
		fuzz_book_init(&recvs[i], true);
		bring_up(i);
		post_recv(i, 400);
	}
	post_shared(0, 700, false);
	post_shared(0, 50, false);
	post_shared(1, 700, false);
	group = (struct roce_gid){{0xff, 0x12, [15] = 7}};
	roce_group_attach(&host.transport, &member, &group, &host.qps[2]->qp);
}

static void settle(void)
{
	fuzz_run_out(&host, &now, take_packets);
	poll_all(UINT32_MAX);
	fuzz_check_quiet(&host);
	fuzz_require_books_ended(&host, sends, recvs);
}

static void step(struct fuzz_input *in)
{
	uint8_t op = fuzz_u8(in);

	switch (op & 15) {
	case 0:
	case 1:
		step_send(in);
		break;
	case 2:
		step_recv(in);
		break;
	case 3:
		poll_all(1 + (op >> 4));
		break;
	case 4:
		step_modify(in);
		break;
	case 5:
		step_srq(in);
		break;
	case 6:
		fuzz_step_time(in, &host, &now);
		break;
	case 7:
		host.copy_fault_in = 1 + (op >> 4);
		break;
	case 8:
		take_packets(1 + (op >> 4), true);
		break;
	case 9:
		take_packets(1 + (op >> 4), false);
		break;
	default:
		step_rx(in);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};

	start(fuzz_u8(&in));
	for (uint32_t i = 0; in.left && i < STEPS_MAX; i++) {
		host.event_count = 0;
		step(&in);
		fuzz_check_stack(&host);
	}
	settle();
	roce_group_detach(&member);
	sim_stack_fini(&host);
	return 0;
}
