/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cases from practice (tests/CASES.md) that look at the transport as a whole: the flag that every
 * packet must have, the status of every kind of failure, progress over a bad link for a long time,
 * and which counters stay at zero.
 */
#include "fixture.h"

#include "wire/opcode.h"

#include <string.h>

static struct fixture f;

/* ---- every packet that we send ---- */

static bool has_been_sent[256];
static bool is_mig_req_cleared;

static void note_sent(void *ctx, enum roce_link_fate fate, unsigned int from,
		      const struct roce_link_pkt *pkt, enum roce_verdict verdict)
{
	(void)ctx;
	(void)from;
	(void)verdict;
	if (fate != ROCE_LINK_SENT)
		return;
	has_been_sent[pkt->hdr.opcode.v] = true;
	assert_true(pkt->hdr.mig_req);
}

/* Runs behind note_sent(): what arrives may have it or not. */
static bool clear_mig_req(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt)
{
	(void)p;
	(void)from;
	pkt->hdr.mig_req = !is_mig_req_cleared;
	return true;
}

static void start_watched(uint8_t type_a, uint8_t type_b)
{
	fixture_init(&f);
	f.types[0] = type_a;
	f.types[1] = type_b;
	f.caps.send_wr = 32;
	fixture_start(&f, true);
	f.pair.is_quiet = true;
	f.pair.observe = note_sent;
	f.pair.tamper = clear_mig_req;
}

/* Posts on host 0 what `wr` says, and nothing may fail. */
static void send_well(struct roce_send_wr *wr)
{
	struct roce_cqe cqe;
	uint32_t count = 0;

	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, wr), ROCE_POST_OK);
	roce_event_queue_run(&f.pair.queue, f.pair.queue.now_ps + ROCE_NS_PER_S * ROCE_PS_PER_NS);
	while (roce_cq_poll(&f.send_cq[0]->cq, &cqe, 1)) {
		assert_int_equal(cqe.status, ROCE_WC_SUCCESS);
		count++;
	}
	assert_int_equal(count, 1);
	while (roce_cq_poll(&f.recv_cq[1]->cq, &cqe, 1))
		assert_int_equal(cqe.status, ROCE_WC_SUCCESS);
}

/* One packet, and more than two. */
static void send_in_both_lengths(uint8_t opcode, uint32_t number)
{
	static const uint32_t lengths[] = {5, 3000};

	for (size_t i = 0; i < 2; i++) {
		struct roce_sge sge;
		struct roce_send_wr wr = fixture_wr(&f, 0, opcode, 1, lengths[i], &sge);

		wr.remote_srqn = number;
		if (opcode == ROCE_WR_SEND_WITH_INV) {
			struct roce_mr *window = sim_stack_add_mr(&f.pair.hosts[1], REGION, 64,
								  ROCE_ACCESS_LOCAL_WRITE |
									  ROCE_ACCESS_REMOTE_WRITE);

			window->can_invalidate = true;
			wr.imm_be = window->rkey.v;
		}
		send_well(&wr);
	}
}

static void send_eight_bytes(uint8_t opcode, uint32_t number)
{
	struct roce_sge sge;
	struct roce_send_wr wr = fixture_wr(&f, 0, opcode, 1, 8, &sge);

	wr.remote_srqn = number;
	send_well(&wr);
}

static void use_connection(uint8_t type_a, uint8_t type_b)
{
	static const uint8_t opcodes[] = {ROCE_WR_SEND, ROCE_WR_SEND_WITH_IMM, ROCE_WR_RDMA_WRITE,
					  ROCE_WR_RDMA_WRITE_WITH_IMM};
	struct sim_srq *srq = NULL;
	uint32_t number = 0;

	start_watched(type_a, type_b);
	if (type_a == ROCE_QP_XRC_INI) {
		srq = sim_stack_add_srq(&f.pair.hosts[1], 32, f.recv_cq[1]);
		number = srq->number;
	}
	for (uint32_t i = 0; i < 8; i++) {
		struct roce_sge sge = {fixture_va(&f, 1, 8192), 4096, f.mr[1]->lkey.v};

		if (srq)
			assert_true(sim_srq_post(srq, i, &sge, 1));
		else
			fixture_recv(&f, 1, i, 8192, 4096);
	}
	for (size_t i = 0; i < sizeof(opcodes); i++)
		send_in_both_lengths(opcodes[i], number);
	if (type_a != ROCE_QP_UC) {
		send_in_both_lengths(ROCE_WR_SEND_WITH_INV, number);
		send_in_both_lengths(ROCE_WR_RDMA_READ, number);
		send_eight_bytes(ROCE_WR_ATOMIC_CMP_AND_SWP, number);
		send_eight_bytes(ROCE_WR_ATOMIC_FETCH_AND_ADD, number);
	}
	if (type_a == ROCE_QP_RC)
		send_eight_bytes(ROCE_WR_ATOMIC_WRITE, number);
	fixture_stop(&f);
}

static void use_datagrams(void)
{
	static const uint8_t opcodes[] = {ROCE_WR_SEND, ROCE_WR_SEND_WITH_IMM};
	struct roce_path path;

	start_watched(ROCE_QP_UD, ROCE_QP_UD);
	path = (struct roce_path){.sgid = f.pair.hosts[0].gid,
				  .dgid = f.pair.hosts[1].gid,
				  .pkey = 0xffff,
				  .hop_limit = 64};
	for (size_t i = 0; i < 2; i++) {
		struct roce_sge sge;
		struct roce_send_wr wr = fixture_wr(&f, 0, opcodes[i], 1, 100, &sge);

		fixture_recv(&f, 1, 9, 0, 4096);
		wr.path = &path;
		wr.remote_qpn = f.b->cfg.qpn.v;
		wr.remote_qkey = f.conn.qkey;
		send_well(&wr);
	}
	fixture_stop(&f);
}

/* What the transport may send: everything but what it has no request for. */
static bool is_ours(const struct roce_opcode_info *info)
{
	if (!info || info->operation == ROCE_OPERATION_FLUSH ||
	    info->operation == ROCE_OPERATION_RESYNC || info->operation == ROCE_OPERATION_CNP)
		return false;
	if (info->transport == ROCE_OPCODE_TRANSPORT_XRC)
		return info->operation != ROCE_OPERATION_ATOMIC_WRITE;
	return info->transport != ROCE_OPCODE_TRANSPORT_RD;
}

static void tx__case_004(void **state)
{
	(void)state;
	for (int cleared = 0; cleared < 2; cleared++) {
		is_mig_req_cleared = cleared;
		memset(has_been_sent, 0, sizeof(has_been_sent));
		use_connection(ROCE_QP_RC, ROCE_QP_RC);
		use_connection(ROCE_QP_UC, ROCE_QP_UC);
		use_connection(ROCE_QP_XRC_INI, ROCE_QP_XRC_TGT);
		use_datagrams();
		for (unsigned int code = 0; code < 256; code++) {
			const struct roce_opcode_info *info =
				roce_opcode_info((roce_opcode_t){(uint8_t)code});

			if (has_been_sent[code] != is_ours(info))
				print_message("%s\n", info ? info->name : "?");
			assert_int_equal(has_been_sent[code], is_ours(info));
		}
	}
}

/* ---- every kind of failure ---- */

/* The request, its numbers as <infiniband/verbs.h> has them; the next request is flushed. */
static void expect_status(uint8_t status)
{
	struct roce_cqe cqe;

	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	roce_event_queue_run(&f.pair.queue,
			     f.pair.queue.now_ps + 20 * ROCE_NS_PER_S * ROCE_PS_PER_NS);
	assert_int_equal(roce_cq_poll(&f.send_cq[0]->cq, &cqe, 1), 1);
	assert_int_equal(cqe.wr_id, 1);
	assert_int_equal(cqe.status, status);
	assert_int_equal(roce_cq_poll(&f.send_cq[0]->cq, &cqe, 1), 1);
	assert_int_equal(cqe.wr_id, 2);
	assert_int_equal(cqe.status, 5);
	assert_int_equal(f.a->attr.state, ROCE_QP_ERR);
	fixture_stop(&f);
}

static void start(void)
{
	fixture_start(&f, true);
	f.pair.is_quiet = true;
}

static void post_with(uint32_t lkey, uint32_t rkey)
{
	struct roce_sge sge;
	struct roce_send_wr wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, &sge);

	sge.lkey = lkey;
	wr.rkey = rkey;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
}

static void status__case_025(void **state)
{
	struct roce_cqe cqe;

	(void)state;
	/* local: reads that nobody agreed to, an unknown lkey */
	fixture_init(&f);
	f.conn.max_rd_atomic[0] = 0;
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 8, 0);
	expect_status(2);
	fixture_init(&f);
	start();
	post_with(0xbad00, f.mr[1]->rkey.v);
	expect_status(4);

	/* a message longer than its receive: 1 there, 9 here */
	fixture_init(&f);
	start();
	fixture_recv(&f, 1, 9, 0, 63);
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
	sim_pair_run(&f.pair, 0);
	roce_event_queue_run(&f.pair.queue, f.pair.queue.now_ps + ROCE_NS_PER_S * ROCE_PS_PER_NS);
	assert_int_equal(roce_cq_poll(&f.recv_cq[1]->cq, &cqe, 1), 1);
	assert_int_equal(cqe.status, 1);
	expect_status(9);

	/* remote: an operation that was not allowed, an unknown rkey, memory that is gone */
	fixture_init(&f);
	f.conn.access_flags = ROCE_ACCESS_REMOTE_READ;
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	expect_status(9);
	fixture_init(&f);
	start();
	post_with(f.mr[0]->lkey.v, 0xbad00);
	expect_status(10);
	fixture_init(&f);
	start();
	f.pair.hosts[1].copy_fault_in = 1;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	expect_status(11);

	/* nobody answers; nobody is ready */
	fixture_init(&f);
	start();
	f.pair.link.is_down = true;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	expect_status(12);
	fixture_init(&f);
	f.conn.rnr_retry = 2;
	start();
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 8, 0);
	expect_status(13);
}

/* ---- a bad link for a long time ---- */

#define RUN_NS	   (300 * ROCE_NS_PER_S)
#define GAP_NS	   ROCE_NS_PER_S
#define CLIENTS	   2u
#define SHARE	   65536u /* of the region, for each client */
#define LENGTH_MAX 9000u

struct client {
	struct roce_qp *qp;
	uint64_t count;
	uint32_t length;
	roce_ns_t at; /* of the last completion */
};

static void write_next(struct client *c, size_t base)
{
	struct roce_sge sge;
	struct roce_send_wr wr;
	uint8_t *from = fixture_bytes(&f, 0, base);

	c->length = 1 + (uint32_t)(c->count * 1031 % LENGTH_MAX);
	for (uint32_t i = 0; i < c->length; i += 97)
		from[i] = (uint8_t)(c->count * 7 + i);
	from[c->length - 1] = (uint8_t)c->count;
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, base / SHARE, c->length, &sge);
	sge.addr += base;
	wr.remote_addr += base;
	assert_int_equal(sim_pair_send(&f.pair, 0, c->qp, &wr), ROCE_POST_OK);
}

/* Two connections over a link that loses one packet in a hundred, each way. */
static void loss__case_060(void **state)
{
	struct client clients[CLIENTS] = {{0}};
	struct roce_cqe cqe;
	struct sim_qp *second[2];

	(void)state;
	fixture_init(&f);
	f.link.delay_ps = 4 * ROCE_NS_PER_MS * ROCE_PS_PER_NS;
	f.link.seed = 60;
	f.link.faults[0].loss_ppm = f.link.faults[1].loss_ppm = 10000;
	start();
	for (unsigned int i = 0; i < 2; i++)
		second[i] = sim_stack_add_qp(&f.pair.hosts[i], &f.caps, f.send_cq[i], f.recv_cq[i]);
	assert_true(sim_pair_connect(&f.pair, &second[0]->qp, &second[1]->qp, &f.conn));
	clients[0].qp = f.a;
	clients[1].qp = &second[0]->qp;
	for (uint32_t i = 0; i < CLIENTS; i++)
		write_next(&clients[i], i * SHARE);
	while (sim_pair_now(&f.pair) < RUN_NS) {
		assert_true(roce_event_queue_step(&f.pair.queue));
		while (roce_cq_poll(&f.send_cq[0]->cq, &cqe, 1)) {
			size_t i = cqe.wr_id;
			struct client *c = &clients[i];

			assert_int_equal(cqe.status, ROCE_WC_SUCCESS);
			assert_memory_equal(fixture_bytes(&f, 1, i * SHARE),
					    fixture_bytes(&f, 0, i * SHARE), c->length);
			c->at = sim_pair_now(&f.pair);
			c->count++;
			write_next(c, i * SHARE);
		}
		for (uint32_t i = 0; i < CLIENTS; i++)
			assert_in_range(sim_pair_now(&f.pair) - clients[i].at, 0, GAP_NS);
	}
	/* 8 ms each without a loss */
	assert_in_range(clients[0].count, 10000, RUN_NS / (8 * ROCE_NS_PER_MS));
	assert_in_range(clients[1].count, 10000, RUN_NS / (8 * ROCE_NS_PER_MS));
	assert_in_range(sim_counter(&f.pair.hosts[0], ROCE_STAT_TX_RETRANSMITTED), 1000, 200000);
	fixture_stop(&f);
}

/* ---- counters ---- */

/* Lost packets are lost packets: nothing about congestion is counted while nothing was marked,
 * though marks would be told and a controller is there to hear of it. */
static void counters__case_065(void **state)
{
	const struct roce_cc_config cc = {
		.ops = &roce_cc_dcqcn,
		.params = roce_cc_dcqcn.sets[0].params,
		.line_kbit_per_s = 100000000,
	};

	(void)state;
	fixture_init(&f);
	f.tuning.cc = &cc;
	cc.ops->notify_config(&cc.params, &f.tuning.notify);
	start();
	fixture_lose(&f, 0x5a5a5a, 0x11);
	for (uint64_t i = 0; i < 12; i++)
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, i, 4000, 0);
	sim_pair_run(&f.pair, 20 * ROCE_NS_PER_S);
	assert_int_equal(f.a->attr.state, ROCE_QP_RTS);
	assert_in_range(sim_counter(&f.pair.hosts[0], ROCE_STAT_TX_RETRANSMITTED), 5, 500);
	assert_in_range(sim_counter(&f.pair.hosts[1], ROCE_RX_OUT_OF_SEQUENCE), 5, 500);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(sim_counter(&f.pair.hosts[i], ROCE_STAT_ECN_MARKED), 0);
		assert_int_equal(sim_counter(&f.pair.hosts[i], ROCE_STAT_CNP_SENT), 0);
		assert_int_equal(sim_counter(&f.pair.hosts[i], ROCE_RX_CNP_HANDLED), 0);
		assert_int_equal(sim_counter(&f.pair.hosts[i], ROCE_RX_CNP_IGNORED), 0);
	}
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tx__case_004),
		cmocka_unit_test(status__case_025),
		cmocka_unit_test(loss__case_060),
		cmocka_unit_test(counters__case_065),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
