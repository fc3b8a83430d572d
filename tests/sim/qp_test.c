/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue pair as the program sees it: failing and flushing, states, asynchronous and completion
 * events, posting, counters.
 */
#include "fixture.h"

#include "wire/opcode.h"

#include <stdio.h>
#include <string.h>

static struct fixture f;

static void start(void)
{
	fixture_start(&f, true);
}

/* ---- errors and flushing ---- */

/* A request that fails locally does so in its turn. */
static void local_error__waits_for_its_turn(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 2000, 0);
	wr = fixture_wr(&f, 0, ROCE_WR_SEND, 2, 8, &sge);
	sge.lkey = 0xbad00;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 3, 8, 0);
	fixture_expect(&f, "> WRITE_FIRST psn 10 len 1024\n"
			   "> WRITE_LAST psn 11 len 976 ackreq\n"
			   "< ACK psn 11 msn 1\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 LOC_PROT_ERR\n"
			   "0 cqe 3 WR_FLUSH_ERR\n");
	assert_int_equal(f.a->attr.state, ROCE_QP_ERR);
	fixture_stop(&f);
}

/* READ into memory that may not be written: refused before anything is asked for. */
static void local_error__read_into_read_only_memory(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	f.mr[0]->access = 0;
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 8, 0);
	fixture_expect(&f, "0 cqe 1 LOC_PROT_ERR\n");
	fixture_stop(&f);
}

/* READ without any agreed: the work request is wrong. */
static void local_error__no_reads_agreed(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.max_rd_atomic[0] = 0;
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 8, 0);
	fixture_expect(&f, "0 cqe 1 LOC_QP_OP_ERR\n");
	fixture_stop(&f);
}

/* case_035: posting in ERR is allowed and flushed, in order. */
static void flush__case_035(void **state)
{
	char expected[1000];
	int n = 0;

	(void)state;
	fixture_init(&f);
	start();
	fixture_recv(&f, 0, 5, 0, 8);
	assert_int_equal(sim_pair_set_state(&f.pair, 0, f.a, ROCE_QP_ERR), ROCE_MODIFY_OK);
	for (uint64_t i = 0; i < 10; i++) {
		fixture_post(&f, 0, ROCE_WR_SEND, 10 + i, 8, 0);
		fixture_recv(&f, 0, 30 + i, 0, 8);
	}
	for (unsigned int i = 0; i < 10; i++)
		n += snprintf(expected + n, sizeof(expected) - (size_t)n, "0 cqe %u WR_FLUSH_ERR\n",
			      10 + i);
	n += snprintf(expected + n, sizeof(expected) - (size_t)n, "0 cqe 5 WR_FLUSH_ERR\n");
	for (unsigned int i = 0; i < 10; i++)
		n += snprintf(expected + n, sizeof(expected) - (size_t)n, "0 cqe %u WR_FLUSH_ERR\n",
			      30 + i);
	fixture_expect(&f, expected);
	fixture_stop(&f);
}

/* Unsignalled requests give a completion only when they fail; their slots come back. */
static void completion__unsignalled(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	f.caps.send_wr = 4;
	start();
	f.pair.is_quiet = true;
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, &sge);
	wr.flags = 0;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_expect(&f, "");
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_FULL);
	fixture_expect(&f, "0 cqe 2 WRITE SUCCESS\n");

	for (uint32_t i = 0; i < 3; i++) {
		wr.wr_id = 10 + i;
		wr.rkey = i == 1 ? 0xbad00 : f.mr[1]->rkey.v;
		assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	}
	fixture_expect(&f, "0 cqe 11 REM_ACCESS_ERR\n"
			   "0 cqe 12 WR_FLUSH_ERR\n"
			   "1 event QP_ACCESS_ERR\n");
	fixture_stop(&f);
}

/* RESET forgets everything, also what failed; then the QP is as new. */
static void reset__as_new(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	start();
	wr = fixture_wr(&f, 0, ROCE_WR_SEND, 1, 8, &sge);
	sge.lkey = 0xbad00;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_recv(&f, 1, 3, 0, 8);
	assert_int_equal(sim_pair_set_state(&f.pair, 1, f.b, ROCE_QP_ERR), ROCE_MODIFY_OK);
	/* the completions of the failure and of the flush are never polled */
	assert_int_equal(f.a->attr.state, ROCE_QP_ERR);
	assert_int_equal(sim_pair_set_state(&f.pair, 0, f.a, ROCE_QP_RESET), ROCE_MODIFY_OK);
	assert_int_equal(sim_pair_set_state(&f.pair, 1, f.b, ROCE_QP_RESET), ROCE_MODIFY_OK);
	f.conn.psn[0] = 500;
	assert_true(sim_pair_connect(&f.pair, f.a, f.b, &f.conn));
	fixture_recv(&f, 1, 4, 0, 8);
	fixture_post(&f, 0, ROCE_WR_SEND, 2, 8, 0);
	fixture_expect(&f, "> SEND_ONLY psn 500 len 8 ackreq\n"
			   "< ACK psn 500 msn 1\n"
			   "0 cqe 2 SEND SUCCESS\n"
			   "1 cqe 4 RECV SUCCESS len 8\n");
	fixture_stop(&f);
}

/* ---- states and events ---- */

/* The first packet in RTR is told once. */
static void comm_est__once(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	f.b->attr.state = ROCE_QP_RTR;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	fixture_expect(&f, "> WRITE_ONLY psn 10 len 8 ackreq\n"
			   "> WRITE_ONLY psn 11 len 8 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "< ACK psn 11 msn 2\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 WRITE SUCCESS\n"
			   "1 event COMM_EST\n");
	fixture_stop(&f);
}

static void enter_sqd(bool wants_event)
{
	struct roce_qp_attr attr = {.state = ROCE_QP_SQD, .en_sqd_async_notify = wants_event};
	uint32_t bad;

	assert_int_equal(roce_qp_modify(f.a, &attr, ROCE_ATTR_STATE | ROCE_ATTR_EN_SQD_ASYNC_NOTIFY,
					sim_pair_now(&f.pair), &bad),
			 ROCE_MODIFY_OK);
	roce_link_kick(&f.pair.link, 0);
}

/* SQD: what has started is finished, the rest waits; then the event; RTS goes on. */
static void sqd__drains(void **state)
{
	(void)state;
	fixture_init(&f);
	f.tuning.window.initial = f.tuning.window.min = f.tuning.window.max =
		2 * (1024 + ROCE_WINDOW_PACKET_COST);
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 3000, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	enter_sqd(true);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 3, 8, 0);
	fixture_expect(&f, "> WRITE_FIRST psn 10 len 1024\n"
			   "> WRITE_MIDDLE psn 11 len 1024 ackreq\n"
			   "< ACK psn 11 msn 0\n"
			   "> WRITE_LAST psn 12 len 952 ackreq\n"
			   "< ACK psn 12 msn 1\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 event SQ_DRAINED\n");
	assert_int_equal(sim_pair_set_state(&f.pair, 0, f.a, ROCE_QP_RTS), ROCE_MODIFY_OK);
	fixture_expect(&f, "> WRITE_ONLY psn 13 len 8 ackreq\n"
			   "> WRITE_ONLY psn 14 len 8 ackreq\n"
			   "< ACK psn 13 msn 2\n"
			   "< ACK psn 14 msn 3\n"
			   "0 cqe 2 WRITE SUCCESS\n"
			   "0 cqe 3 WRITE SUCCESS\n");
	fixture_stop(&f);
}

/* An idle QP is drained at once; without the wish there is no event. */
static void sqd__idle(void **state)
{
	(void)state;
	for (unsigned int wants_event = 0; wants_event < 2; wants_event++) {
		fixture_init(&f);
		start();
		enter_sqd(wants_event);
		fixture_expect(&f, wants_event ? "0 event SQ_DRAINED\n" : "");
		fixture_stop(&f);
	}
}

/* Going back is not being done: a started request that waits to be sent again is no drain. */
static void sqd__an_rnr_wait_is_not_drained(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 8, 0);
	enter_sqd(true);
	fixture_expect_within(&f, 600 * ROCE_NS_PER_US,
			      "> SEND_ONLY psn 10 len 8 ackreq\n"
			      "< RNR_NAK 12 psn 10 msn 0\n");
	fixture_recv(&f, 1, 9, 0, 8);
	fixture_expect(&f, "> SEND_ONLY psn 10 len 8 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "0 cqe 1 SEND SUCCESS\n"
			   "0 event SQ_DRAINED\n"
			   "1 cqe 9 RECV SUCCESS len 8\n");
	fixture_stop(&f);
}

/* A new path while packets are on their way: the windows of both peers stay right. */
static void sqd__new_peer_takes_the_window_along(void **state)
{
	struct roce_qp_attr attr;
	struct roce_peer *old;
	struct roce_peer *new;
	uint32_t bad;

	(void)state;
	fixture_init(&f);
	start();
	old = f.a->peer;
	fixture_lose(&f, 1, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	assert_int_not_equal(old->window.inflight, 0);
	enter_sqd(false);
	sim_conn_attr(&f.pair, 0, f.a, f.b, &f.conn, &attr);
	new = sim_stack_peer(&f.pair.hosts[0], &f.pair.hosts[1].gid, 200);
	attr.peer = new;
	attr.state = ROCE_QP_SQD;
	assert_int_equal(roce_qp_modify(f.a, &attr, ROCE_ATTR_STATE | ROCE_ATTR_AV,
					sim_pair_now(&f.pair), &bad),
			 ROCE_MODIFY_OK);
	assert_int_equal(old->window.inflight, 0);
	assert_int_not_equal(new->window.inflight, 0);
	sim_text_clear(&f.pair.log);
	fixture_expect(&f, "> WRITE_ONLY psn 10 len 8 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "0 cqe 1 WRITE SUCCESS\n");
	assert_int_equal(new->window.inflight, 0);
	fixture_stop(&f);
}

/* A READ on its way is asked for again even if the limit of READs was lowered to 0 meanwhile. */
static void sqd__a_started_read_goes_on_without_quota(void **state)
{
	struct roce_qp_attr attr = {.state = ROCE_QP_SQD, .max_rd_atomic = 0};
	uint32_t bad;

	(void)state;
	fixture_init(&f);
	start();
	fixture_lose(&f, 1, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 8, 0);
	enter_sqd(false);
	assert_int_equal(roce_qp_modify(f.a, &attr, ROCE_ATTR_STATE | ROCE_ATTR_MAX_QP_RD_ATOMIC,
					sim_pair_now(&f.pair), &bad),
			 ROCE_MODIFY_OK);
	sim_text_clear(&f.pair.log);
	fixture_expect(&f, "> READ_REQUEST psn 10 dma_len 8 ackreq\n"
			   "< READ_RESPONSE_ONLY psn 10 len 8 msn 1\n"
			   "0 cqe 1 READ SUCCESS\n");
	fixture_stop(&f);
}

/* ---- completion events ---- */

static void cq__solicited_only(void **state)
{
	(void)state;
	fixture_init(&f);
	start();
	for (uint64_t i = 0; i < 4; i++)
		fixture_recv(&f, 1, i, 0, 2000);
	roce_cq_arm(&f.recv_cq[1]->cq, true);
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 2000, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(f.recv_cq[1]->event_count, 0);
	fixture_post(&f, 0, ROCE_WR_SEND, 2, 2000, ROCE_SEND_SOLICITED);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(f.recv_cq[1]->event_count, 1);
	fixture_post(&f, 0, ROCE_WR_SEND, 3, 2000, ROCE_SEND_SOLICITED);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(f.recv_cq[1]->event_count, 1); /* one shot */

	/* an error counts as solicited */
	roce_cq_arm(&f.recv_cq[1]->cq, true);
	sim_pair_set_state(&f.pair, 1, f.b, ROCE_QP_ERR);
	assert_int_equal(f.recv_cq[1]->event_count, 2);
	fixture_stop(&f);
}

/* ---- memory that vanishes under what is sent ---- */

static void tx_fault__of_a_request(void **state)
{
	struct roce_tx_pkt pkts[4];
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	start();
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, &sge);
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_OK);
	wr.wr_id = 2;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_OK);
	assert_int_equal(roce_tx(&f.pair.hosts[0].transport, pkts, 4, 0), 2);
	roce_tx_fault(&f.pair.hosts[0].transport, &pkts[0], 0);
	fixture_expect(&f, "0 cqe 1 LOC_PROT_ERR\n0 cqe 2 WR_FLUSH_ERR\n");
	fixture_stop(&f);
}

static void tx_fault__of_a_read_response(void **state)
{
	struct roce_tx_pkt pkts[4];
	struct roce_sge sge;
	struct roce_send_wr wr;
	struct roce_rx_pkt rx;

	(void)state;
	fixture_init(&f);
	start();
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_READ, 1, 8, &sge);
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_OK);
	assert_int_equal(roce_tx(&f.pair.hosts[0].transport, pkts, 4, 0), 1);
	rx = (struct roce_rx_pkt){
		.hdr = pkts[0].hdr, .src = &f.pair.hosts[0].gid, .dst = &f.pair.hosts[1].gid};
	assert_int_equal(roce_rx(&f.pair.hosts[1].transport, &rx, 0), ROCE_RX_ACCEPTED);
	assert_int_equal(roce_tx(&f.pair.hosts[1].transport, pkts, 4, 0), 1);
	roce_tx_fault(&f.pair.hosts[1].transport, &pkts[0], 0);
	fixture_expect(&f, "< NAK 3 psn 10 msn 1\n"
			   "0 cqe 1 REM_OP_ERR\n"
			   "1 event QP_ACCESS_ERR\n");
	fixture_stop(&f);
}

/* ---- posting ---- */

static void post__refusals(void **state)
{
	struct roce_sge sges[8] = {{0}};
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	start();
	fixture_expect(&f, "");
	wr = fixture_wr(&f, 0, ROCE_WR_SEND, 1, 8, &sge);
	wr.opcode = ROCE_WR_BIND_MW;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_BAD_OPCODE);
	wr.opcode = 200;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_BAD_OPCODE);
	wr.opcode = ROCE_WR_SEND;
	wr.sge = sges;
	wr.sge_count = 5;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_TOO_MANY_SGE);
	wr.sge = &sge;
	wr.sge_count = 1;
	wr.flags = ROCE_SEND_INLINE;
	sge.length = 129;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_BAD_INLINE);
	sge.length = 8;
	wr.opcode = ROCE_WR_RDMA_READ;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_BAD_INLINE);
	wr.flags = 0;
	sge.length = (1u << 31) + 1;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_BAD_LENGTH);
	sge.length = 7;
	wr.opcode = ROCE_WR_ATOMIC_FETCH_AND_ADD;
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_BAD_LENGTH);
	assert_int_equal(roce_post_recv(f.a, 1, sges, 5, 0), ROCE_POST_TOO_MANY_SGE);
	for (uint64_t i = 0; i < 16; i++)
		assert_int_equal(roce_post_recv(f.a, i, &sge, 1, 0), ROCE_POST_OK);
	assert_int_equal(roce_post_recv(f.a, 16, &sge, 1, 0), ROCE_POST_FULL);
	assert_false(roce_tx_is_pending(&f.pair.hosts[0].transport));
	fixture_stop(&f);
}

/* Section 11 of the verbs' states: who may post when. */
static void post__by_state(void **state)
{
	static const struct {
		enum roce_qp_state state;
		enum roce_post_result send;
		enum roce_post_result recv;
	} cases[] = {
		{ROCE_QP_RESET, ROCE_POST_BAD_STATE, ROCE_POST_BAD_STATE},
		{ROCE_QP_INIT, ROCE_POST_BAD_STATE, ROCE_POST_OK},
		{ROCE_QP_RTR, ROCE_POST_BAD_STATE, ROCE_POST_OK},
		{ROCE_QP_RTS, ROCE_POST_OK, ROCE_POST_OK},
		{ROCE_QP_SQD, ROCE_POST_OK, ROCE_POST_OK},
		{ROCE_QP_ERR, ROCE_POST_OK, ROCE_POST_OK},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct roce_sge sge;
		struct roce_send_wr wr;

		fixture_init(&f);
		start();
		f.a->attr.state = (uint8_t)cases[i].state;
		wr = fixture_wr(&f, 0, ROCE_WR_SEND, 1, 8, &sge);
		assert_int_equal(roce_post_send(f.a, &wr, 0), cases[i].send);
		assert_int_equal(roce_post_recv(f.a, 1, &sge, 1, 0), cases[i].recv);
		fixture_stop(&f);
	}
}

/* Bytes are sent from where they are, whatever the region calls them. */
static void send__from_a_region_with_an_iova(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	start();
	memset(fixture_bytes(&f, 0, 100), 0x5a, 64);
	f.mr[0]->iova = 0x1000;
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, 64, &sge);
	sge.addr = 0x1000 + 100;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_expect(&f, "> WRITE_ONLY psn 10 len 64 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "0 cqe 1 WRITE SUCCESS\n");
	assert_memory_equal(fixture_bytes(&f, 1, 0), fixture_bytes(&f, 0, 100), 64);
	fixture_stop(&f);
}

/* ---- ends of lists and numbers ---- */

/* A QP that goes while it is ready to send, or waits for room, leaves no trace. */
static void fini__of_a_busy_qp(void **state)
{
	struct sim_qp *qps[2];

	(void)state;
	for (unsigned int waits = 0; waits < 2; waits++) {
		struct sim_stack *s;
		struct roce_qp_config cfg;
		struct roce_sge sge;
		struct roce_send_wr wr;

		fixture_init(&f);
		f.tuning.window.initial = f.tuning.window.min = f.tuning.window.max = 1;
		start();
		s = &f.pair.hosts[0];
		for (unsigned int i = 0; i < 2; i++)
			qps[i] = sim_stack_add_qp(&f.pair.hosts[i], &f.caps, f.send_cq[i],
						  f.recv_cq[i]);
		assert_true(sim_pair_connect(&f.pair, &qps[0]->qp, &qps[1]->qp, &f.conn));
		fixture_expect(&f, "");
		assert_int_equal(s->transport.qp_count, 2);
		if (waits) {
			/* the other QP fills the window */
			f.pair.link.is_down = true;
			fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, 0);
		}
		wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 2, 8, &sge);
		assert_int_equal(roce_post_send(&qps[0]->qp, &wr, 0), ROCE_POST_OK);
		if (waits)
			roce_link_kick(&f.pair.link, 0);
		assert_int_equal(roce_tx_is_pending(&s->transport), !waits);
		assert_int_equal(roce_list_is_empty(&f.a->peer->waiters), !waits);

		roce_qp_fini(&qps[0]->qp);
		assert_int_equal(s->transport.qp_count, 1);
		assert_false(roce_tx_is_pending(&s->transport));
		assert_true(roce_list_is_empty(&f.a->peer->waiters));
		cfg = qps[0]->qp.cfg;
		assert_true(roce_qp_init(&qps[0]->qp, &s->transport, &cfg)); /* its place is free */
		fixture_stop(&f);
	}
}

/* Acknowledgements wake who has waited longest, and nobody for whom there is no room. */
static void window__waiters_stand_in_line(void **state)
{
	enum { QPS = 5 };
	struct sim_qp *qps[QPS][2];
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	f.tuning.window.initial = f.tuning.window.min = f.tuning.window.max = 1;
	start();
	f.pair.is_quiet = true;
	for (uint32_t k = 0; k < QPS; k++) {
		for (unsigned int i = 0; i < 2; i++)
			qps[k][i] = sim_stack_add_qp(&f.pair.hosts[i], &f.caps, f.send_cq[i],
						     f.recv_cq[i]);
		f.conn.psn[0] = 100 * (k + 1);
		assert_true(sim_pair_connect(&f.pair, &qps[k][0]->qp, &qps[k][1]->qp, &f.conn));
	}
	for (uint32_t k = 0; k < QPS; k++) {
		wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, k, 8, &sge);
		assert_int_equal(roce_post_send(&qps[k][0]->qp, &wr, sim_pair_now(&f.pair)),
				 ROCE_POST_OK);
	}
	roce_link_kick(&f.pair.link, 0);
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_WINDOW_BLOCKED), 4);
	/* who tries again keeps its place */
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 9, 8, &sge);
	assert_int_equal(roce_post_send(&qps[1][0]->qp, &wr, sim_pair_now(&f.pair)), ROCE_POST_OK);
	roce_link_kick(&f.pair.link, 0);
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_WINDOW_BLOCKED), 4 + 1);
	fixture_expect(&f, "0 cqe 0 WRITE SUCCESS\n0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 WRITE SUCCESS\n0 cqe 3 WRITE SUCCESS\n"
			   "0 cqe 4 WRITE SUCCESS\n0 cqe 9 WRITE SUCCESS\n");
	/* one behind each that has found room, and the second of its own twice */
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_STAT_WINDOW_BLOCKED), 4 + 1 + 5);
	fixture_stop(&f);
}

/* A READ asks for a quarter of the READ window at once, and for a packet at least. */
static void read_window__divided_into_requests(void **state)
{
	(void)state;
	fixture_init(&f);
	f.tuning.read_window = 8 * (1024 + ROCE_WINDOW_PACKET_COST);
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 2500, 0);
	fixture_expect(&f, "> READ_REQUEST psn 10 dma_len 2048 ackreq\n"
			   "> READ_REQUEST psn 12 dma_len 452 ackreq\n"
			   "< READ_RESPONSE_FIRST psn 10 len 1024 msn 1\n"
			   "< READ_RESPONSE_LAST psn 11 len 1024 msn 1\n"
			   "< READ_RESPONSE_ONLY psn 12 len 452 msn 2\n"
			   "0 cqe 1 READ SUCCESS\n");
	fixture_stop(&f);
	fixture_init(&f);
	f.tuning.read_window = 1;
	start();
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 2048, 0);
	fixture_expect(&f, "> READ_REQUEST psn 10 dma_len 1024 ackreq\n"
			   "< READ_RESPONSE_ONLY psn 10 len 1024 msn 1\n"
			   "> READ_REQUEST psn 11 dma_len 1024 ackreq\n"
			   "< READ_RESPONSE_ONLY psn 11 len 1024 msn 2\n"
			   "0 cqe 1 READ SUCCESS\n");
	fixture_stop(&f);
}

/* The READ window is shared by the QPs of a host; who waits for it goes on when it is free. */
static void read_window__is_shared(void **state)
{
	struct sim_qp *qps[2];
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	f.tuning.read_window = 4 * (1024 + ROCE_WINDOW_PACKET_COST);
	start();
	for (unsigned int i = 0; i < 2; i++)
		qps[i] = sim_stack_add_qp(&f.pair.hosts[i], &f.caps, f.send_cq[i], f.recv_cq[i]);
	f.conn.psn[0] = 700;
	assert_true(sim_pair_connect(&f.pair, &qps[0]->qp, &qps[1]->qp, &f.conn));
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 2500, 0);
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_READ, 2, 2048, &sge);
	assert_int_equal(sim_pair_send(&f.pair, 0, &qps[0]->qp, &wr), ROCE_POST_OK);
	fixture_expect(&f, "> READ_REQUEST psn 10 dma_len 1024 ackreq\n"
			   "> READ_REQUEST psn 11 dma_len 1024 ackreq\n"
			   "> READ_REQUEST psn 12 dma_len 452 ackreq\n"
			   "> READ_REQUEST psn 700 dma_len 1024 ackreq\n"
			   "< READ_RESPONSE_ONLY psn 10 len 1024 msn 1\n"
			   "< READ_RESPONSE_ONLY psn 11 len 1024 msn 2\n"
			   "< READ_RESPONSE_ONLY psn 12 len 452 msn 3\n"
			   "< READ_RESPONSE_ONLY psn 700 len 1024 msn 1\n"
			   "> READ_REQUEST psn 701 dma_len 1024 ackreq\n"
			   "< READ_RESPONSE_ONLY psn 701 len 1024 msn 2\n"
			   "0 cqe 1 READ SUCCESS\n"
			   "0 cqe 2 READ SUCCESS\n");
	assert_int_equal(f.pair.hosts[0].transport.read_inflight, 0);
	fixture_stop(&f);
}

static void counters__of_one_exchange(void **state)
{
	static const struct {
		unsigned int host;
		uint32_t counter;
		uint64_t value;
	} expected[] = {
		{0, ROCE_STAT_TX_PACKETS, 5},
		{0, ROCE_STAT_TX_BYTES, 2000},
		{0, ROCE_STAT_RX_PACKETS, 4},
		{0, ROCE_STAT_RX_BYTES, 1500},
		{1, ROCE_STAT_RX_PACKETS, 5},
		{1, ROCE_STAT_RX_BYTES, 2000},
		{1, ROCE_STAT_TX_PACKETS, 4},
		{1, ROCE_STAT_TX_BYTES, 1500},
		{1, ROCE_STAT_TX_ACKS, 1},
		{1, ROCE_STAT_TX_NAKS, 0},
		{1, ROCE_STAT_RX_WRITE_REQUESTS, 1},
		{1, ROCE_STAT_RX_READ_REQUESTS, 1},
		{1, ROCE_STAT_RX_ATOMIC_REQUESTS, 1},
		{1, ROCE_STAT_ECN_MARKED, 5},
		{1, ROCE_RX_ACCEPTED, 4},
		{1, ROCE_RX_CNP_IGNORED, 1},
		{1, ROCE_STAT_CNP_SENT, 0},
		{0, ROCE_RX_ACCEPTED, 4},
		{0, ROCE_STAT_TX_RETRANSMITTED, 0},
		{0, ROCE_STAT_ECN_MARKED, 0},
	};
	struct roce_link_pkt cnp = {.hdr = {.opcode = roce_opcode_make(ROCE_CNP), .becn = true}};

	(void)state;
	fixture_init(&f);
	start();
	f.a->attr.path.traffic_class = 0x6b; /* CE, as if a switch had marked it */
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 2000, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 2, 1500, 0);
	fixture_post(&f, 0, ROCE_WR_ATOMIC_FETCH_AND_ADD, 3, 8, 0);
	cnp.hdr.dest_qpn = f.b->cfg.qpn;
	cnp.hdr.pkey = 0xffff;
	cnp.src = f.pair.hosts[0].gid;
	cnp.dst = f.pair.hosts[1].gid;
	cnp.traffic_class = 3;
	f.pair.is_quiet = true;
	roce_link_inject(&f.pair.link, 0, &cnp);
	sim_pair_run(&f.pair, ROCE_NS_PER_S);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		uint64_t value = sim_counter(&f.pair.hosts[expected[i].host], expected[i].counter);

		if (expected[i].counter == ROCE_STAT_TX_PACKETS && expected[i].host == 0)
			value++; /* the CNP is not this host's transport's */
		if (value != expected[i].value)
			fail_msg("host %u: %s is %lu, not %lu", expected[i].host,
				 roce_counter_str(expected[i].counter), (unsigned long)value,
				 (unsigned long)expected[i].value);
	}
	fixture_stop(&f);
}

static void counter_str__all_differ(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < ROCE_COUNTER_COUNT; i++) {
		assert_non_null(roce_counter_str(i));
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(roce_counter_str(i), roce_counter_str(k));
	}
	assert_null(roce_counter_str(ROCE_COUNTER_COUNT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local_error__waits_for_its_turn),
		cmocka_unit_test(local_error__read_into_read_only_memory),
		cmocka_unit_test(local_error__no_reads_agreed),
		cmocka_unit_test(flush__case_035),
		cmocka_unit_test(completion__unsignalled),
		cmocka_unit_test(reset__as_new),
		cmocka_unit_test(comm_est__once),
		cmocka_unit_test(sqd__drains),
		cmocka_unit_test(sqd__idle),
		cmocka_unit_test(sqd__an_rnr_wait_is_not_drained),
		cmocka_unit_test(sqd__a_started_read_goes_on_without_quota),
		cmocka_unit_test(sqd__new_peer_takes_the_window_along),
		cmocka_unit_test(cq__solicited_only),
		cmocka_unit_test(tx_fault__of_a_request),
		cmocka_unit_test(tx_fault__of_a_read_response),
		cmocka_unit_test(post__refusals),
		cmocka_unit_test(post__by_state),
		cmocka_unit_test(send__from_a_region_with_an_iova),
		cmocka_unit_test(fini__of_a_busy_qp),
		cmocka_unit_test(window__waiters_stand_in_line),
		cmocka_unit_test(read_window__divided_into_requests),
		cmocka_unit_test(read_window__is_shared),
		cmocka_unit_test(counters__of_one_exchange),
		cmocka_unit_test(counter_str__all_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
