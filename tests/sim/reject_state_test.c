/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Refusals that depend on more than one packet: on rights and regions that change, on how many
 * READs are open, on the receive, on what was saved for duplicates, on a CQ that is full.
 */
#include "break.h"
#include "fixture.h"

#include "wire/aeth.h"
#include "wire/opcode.h"

#include <stdio.h>
#include <string.h>

static struct fixture f;

/* ---- refusals that need more than one changed packet ---- */

static void check_op_allowed__by_access_flags(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t missing;
	} cases[] = {
		{ROCE_WR_RDMA_WRITE, ROCE_ACCESS_REMOTE_WRITE},
		{ROCE_WR_RDMA_WRITE_WITH_IMM, ROCE_ACCESS_REMOTE_WRITE},
		{ROCE_WR_RDMA_READ, ROCE_ACCESS_REMOTE_READ},
		{ROCE_WR_ATOMIC_CMP_AND_SWP, ROCE_ACCESS_REMOTE_ATOMIC},
		{ROCE_WR_ATOMIC_FETCH_AND_ADD, ROCE_ACCESS_REMOTE_ATOMIC},
		{ROCE_WR_ATOMIC_WRITE, ROCE_ACCESS_REMOTE_WRITE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fixture_init(&f);
		f.conn.access_flags &= ~cases[i].missing;
		fixture_start(&f, true);
		fixture_post(&f, 0, cases[i].opcode, 1, 8, 0);
		sim_pair_run(&f.pair, ROCE_NS_PER_S);
		assert_string_equal(strchr(f.pair.log.s, '<'), "< NAK 1 psn 10 msn 0\n"
							       "0 cqe 1 REM_INV_REQ_ERR\n"
							       "1 event QP_REQ_ERR\n");
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_OP_NOT_ALLOWED), 1);
		fixture_stop(&f);

		/* the same right missing in the region only: an access error */
		fixture_init(&f);
		fixture_start(&f, true);
		f.mr[1]->access &= ~cases[i].missing;
		fixture_post(&f, 0, cases[i].opcode, 1, 8, 0);
		sim_pair_run(&f.pair, ROCE_NS_PER_S);
		assert_string_equal(strchr(f.pair.log.s, '<'), "< NAK 2 psn 10 msn 0\n"
							       "0 cqe 1 REM_ACCESS_ERR\n"
							       "1 event QP_ACCESS_ERR\n");
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_BAD_RKEY), 1);
		fixture_stop(&f);
	}
}

/* A key of another protection domain. */
static void check_rkey__case_027(void **state)
{
	struct roce_pd other = {.handle = 99};

	(void)state;
	fixture_init(&f);
	fixture_start(&f, true);
	f.mr[1]->pd = &other;
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 64, 0);
	fixture_expect(&f, "> READ_REQUEST psn 10 dma_len 64 ackreq\n"
			   "< NAK 2 psn 10 msn 0\n"
			   "0 cqe 1 REM_ACCESS_ERR\n"
			   "1 event QP_ACCESS_ERR\n");
	fixture_stop(&f);
}

/* The region goes between two packets of a WRITE: what was placed stays, the rest is refused. */
static void check_rkey__region_goes_within_a_write(void **state)
{
	(void)state;
	fixture_init(&f);
	f.link.ps_per_byte = 8000; /* the first packet is there after 10 us, the second after 19 */
	fixture_start(&f, true);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 2048, 0);
	sim_pair_run(&f.pair, 15 * ROCE_NS_PER_US);
	roce_key_table_remove(&f.pair.hosts[1].transport.keys, f.mr[1]);
	sim_pair_run(&f.pair, ROCE_NS_PER_S);
	assert_non_null(strstr(f.pair.log.s, "< NAK 2 psn 11 msn 0\n"
					     "0 cqe 1 REM_ACCESS_ERR\n"
					     "1 event QP_ACCESS_ERR\n"));
	assert_int_equal(f.pair.hosts[1].placed_bytes, 1024);
	fixture_stop(&f);
}

/* Zero-length accesses: keys and ranges are not looked at. */
static void check_rkey__zero_length_needs_no_key(void **state)
{
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	fixture_init(&f);
	fixture_start(&f, true);
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, 0, &sge);
	wr.rkey = 0xbad00;
	wr.remote_addr = 3;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	wr.opcode = ROCE_WR_RDMA_READ;
	wr.wr_id = 2;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	fixture_expect(&f, "> WRITE_ONLY psn 10 len 0 ackreq\n"
			   "> READ_REQUEST psn 11 dma_len 0 ackreq\n"
			   "< ACK psn 10 msn 1\n"
			   "< READ_RESPONSE_ONLY psn 11 len 0 msn 2\n"
			   "0 cqe 1 WRITE SUCCESS\n"
			   "0 cqe 2 READ SUCCESS\n");
	fixture_stop(&f);
}

/* A second READ while the first, all that was agreed, still has responses to send. */
static void check_rd_atomic__too_many_reads(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.max_dest_rd_atomic[1] = 1;
	f.conn.max_rd_atomic[0] = 2;
	f.tuning.read_chunk_packets = 64;
	f.tuning.read_window = 1u << 20;
	f.link.ps_per_byte = 800;
	fixture_start(&f, true);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 40 * 1024, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 2, 64, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_S);
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_TOO_MANY_READS), 1);
	/* the answer that is due goes out first, then the NAK */
	assert_string_equal(strstr(f.pair.log.s, "< READ_RESPONSE_LAST"),
			    "< READ_RESPONSE_LAST psn 49 len 1024 msn 1\n"
			    "< NAK 1 psn 50 msn 1\n"
			    "0 cqe 1 READ SUCCESS\n"
			    "0 cqe 2 REM_INV_REQ_ERR\n"
			    "1 event QP_REQ_ERR\n");
	fixture_stop(&f);
}

/* Soft-RoCE takes 3 for 4, so the fourth is answered too; the fifth is one too many. */
static void check_rd_atomic__limit_is_a_power_of_two(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.max_dest_rd_atomic[1] = 3;
	f.conn.max_rd_atomic[0] = 5;
	f.tuning.read_chunk_packets = 64;
	f.tuning.read_window = 1u << 20;
	f.link.ps_per_byte = 800;
	fixture_start(&f, true);
	f.pair.is_quiet = true;
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 40 * 1024, 0);
	for (uint64_t i = 2; i <= 5; i++)
		fixture_post(&f, 0, ROCE_WR_RDMA_READ, i, 64, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_S);
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_TOO_MANY_READS), 1);
	assert_string_equal(f.pair.log.s, "0 cqe 1 READ SUCCESS\n0 cqe 2 READ SUCCESS\n"
					  "0 cqe 3 READ SUCCESS\n0 cqe 4 READ SUCCESS\n"
					  "0 cqe 5 REM_INV_REQ_ERR\n"
					  "1 event QP_REQ_ERR\n");
	fixture_stop(&f);
}

/* Answers already given make room: four READs in a row through one resource. */
static void check_rd_atomic__answered_ones_make_room(void **state)
{
	(void)state;
	fixture_init(&f);
	f.conn.max_dest_rd_atomic[1] = 1;
	f.conn.max_rd_atomic[0] = 1;
	fixture_start(&f, true);
	f.pair.is_quiet = true;
	for (uint64_t i = 1; i <= 4; i++)
		fixture_post(&f, 0, ROCE_WR_RDMA_READ, i, 2000, 0);
	fixture_expect(&f, "0 cqe 1 READ SUCCESS\n0 cqe 2 READ SUCCESS\n"
			   "0 cqe 3 READ SUCCESS\n0 cqe 4 READ SUCCESS\n");
	fixture_stop(&f);
}

/* Class A: a bad local key in the receive WQE is this side's fault. */
static void place_send__bad_recv_key(void **state)
{
	struct roce_sge sge;

	(void)state;
	fixture_init(&f);
	fixture_start(&f, true);
	sge = (struct roce_sge){fixture_va(&f, 1, 0), 64, 0xbad00};
	assert_int_equal(sim_pair_recv(&f.pair, 1, f.b, 9, &sge, 1), ROCE_POST_OK);
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
	fixture_expect(&f, "> SEND_ONLY psn 10 len 64 ackreq\n"
			   "< NAK 3 psn 10 msn 0\n"
			   "0 cqe 1 REM_OP_ERR\n"
			   "1 cqe 9 LOC_PROT_ERR\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_RECV_BAD_SGE), 1);
	assert_int_equal(f.pair.hosts[1].placed_bytes, 0);
	fixture_stop(&f);
}

/* The receive WQE's region does not allow writing. */
static void place_send__recv_region_is_read_only(void **state)
{
	(void)state;
	fixture_init(&f);
	fixture_start(&f, true);
	f.mr[1]->access = 0;
	fixture_recv(&f, 1, 9, 0, 64);
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
	fixture_expect(&f, "> SEND_ONLY psn 10 len 64 ackreq\n"
			   "< NAK 3 psn 10 msn 0\n"
			   "0 cqe 1 REM_OP_ERR\n"
			   "1 cqe 9 LOC_PROT_ERR\n");
	fixture_stop(&f);
}

/* Registered memory that is no longer there. */
static void execute__memory_is_gone(void **state)
{
	static const uint8_t opcodes[] = {ROCE_WR_RDMA_WRITE, ROCE_WR_ATOMIC_CMP_AND_SWP,
					  ROCE_WR_ATOMIC_FETCH_AND_ADD, ROCE_WR_ATOMIC_WRITE};

	(void)state;
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		fixture_init(&f);
		fixture_start(&f, true);
		f.pair.hosts[1].copy_fault_in = 1;
		fixture_post(&f, 0, opcodes[i], 1, 8, 0);
		sim_pair_run(&f.pair, ROCE_NS_PER_S);
		assert_string_equal(strchr(f.pair.log.s, '<'), "< NAK 3 psn 10 msn 0\n"
							       "0 cqe 1 REM_OP_ERR\n"
							       "1 event QP_ACCESS_ERR\n");
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_MEMORY_FAULT), 1);
		fixture_stop(&f);
	}
}

/* The longest message, 2^31 bytes, is within the rules; one more is not (see the table). */
static void check_length__longest_read(void **state)
{
	struct roce_rx_pkt rx = {
		.hdr = {.opcode = roce_opcode_make(ROCE_RC_READ_REQUEST),
			.pkey = 0xffff,
			.psn = {10},
			.dma_len = 1u << 31},
	};

	(void)state;
	fixture_init(&f);
	fixture_start(&f, true);
	f.mr[1]->length = UINT64_C(1) << 31;
	rx.src = &f.pair.hosts[0].gid;
	rx.dst = &f.pair.hosts[1].gid;
	rx.hdr.dest_qpn = f.b->cfg.qpn;
	rx.hdr.va = f.mr[1]->iova;
	rx.hdr.rkey = f.mr[1]->rkey;
	assert_int_equal(roce_rx(&f.pair.hosts[1].transport, &rx, 0), ROCE_RX_ACCEPTED);
	assert_int_equal(f.b->resp.expected_psn.v, 10 + (1u << 21));
	fixture_stop(&f);
}

/* ---- duplicates that do not match what was saved ---- */

static struct roce_link_pkt last_request;

static bool keep_request(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt)
{
	(void)p;
	if (from == 0)
		last_request = *pkt;
	return true;
}

static void on_duplicate__mismatch_is_dropped(void **state)
{
	static const struct {
		uint8_t opcode;
		sim_change change;
	} cases[] = {
		{ROCE_WR_RDMA_READ, sim_set_rkey_unknown},
		{ROCE_WR_RDMA_READ, sim_set_va_odd},
		{ROCE_WR_RDMA_READ, sim_set_dma_len_less},
		{ROCE_WR_RDMA_READ, sim_set_dma_len_more},
		{ROCE_WR_RDMA_READ, sim_set_psn_before_all},
		{ROCE_WR_RDMA_READ, sim_set_flush},
		{ROCE_WR_ATOMIC_FETCH_AND_ADD, sim_set_read_request},
		{ROCE_WR_ATOMIC_FETCH_AND_ADD, sim_set_psn_before_all},
		{ROCE_WR_ATOMIC_FETCH_AND_ADD, sim_set_atomic_write},
		{ROCE_WR_RDMA_READ, sim_set_atomic_write},
		{ROCE_WR_ATOMIC_WRITE, sim_set_psn_before_all},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fixture_init(&f);
		fixture_start(&f, true);
		f.pair.tamper = keep_request;
		fixture_post(&f, 0, cases[i].opcode, 1, 8, 0);
		sim_pair_run(&f.pair, ROCE_NS_PER_MS);
		sim_text_clear(&f.pair.log);

		cases[i].change(&last_request);
		f.pair.is_quiet = true;
		roce_link_inject(&f.pair.link, 0, &last_request);
		sim_pair_run(&f.pair, ROCE_NS_PER_MS);
		assert_int_equal(f.pair.last_verdict[1], ROCE_RX_DUPLICATE_MISMATCH);
		assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_DUPLICATE_MISMATCH), 1);
		assert_int_equal(f.pair.link.ends[1].fates[ROCE_LINK_SENT], 1);
		assert_int_equal(f.b->attr.state, ROCE_QP_RTS);
		fixture_stop(&f);
	}
}

/* A repeated READ whose key is no longer good is dropped, never answered with a NAK. */
static void on_duplicate_read__key_is_checked_again(void **state)
{
	(void)state;
	fixture_init(&f);
	fixture_start(&f, true);
	f.pair.tamper = keep_request;
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 64, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	f.mr[1]->access &= ~(uint32_t)ROCE_ACCESS_REMOTE_READ;
	roce_link_inject(&f.pair.link, 0, &last_request);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(f.pair.last_verdict[1], ROCE_RX_DUPLICATE_MISMATCH);
	assert_int_equal(f.pair.link.ends[1].fates[ROCE_LINK_SENT], 1);
	fixture_stop(&f);
}

/* ---- completion queue ---- */

/* Class G: no room for the receive completion; both QPs of that CQ die when they need it. */
static void complete_recv__cq_overrun(void **state)
{
	struct sim_cq *small;
	struct sim_qp *qp;

	(void)state;
	fixture_init(&f);
	fixture_start(&f, false);
	small = sim_stack_add_cq(&f.pair.hosts[1], 1);
	qp = sim_stack_add_qp(&f.pair.hosts[1], &f.caps, f.send_cq[1], small);
	f.b = &qp->qp;
	assert_true(sim_pair_connect(&f.pair, f.a, f.b, &f.conn));
	fixture_recv(&f, 1, 9, 0, 64);
	fixture_recv(&f, 1, 10, 0, 64);
	fixture_recv(&f, 1, 11, 0, 64);
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
	fixture_post(&f, 0, ROCE_WR_SEND, 2, 64, 0);
	fixture_post(&f, 0, ROCE_WR_SEND, 3, 64, 0);
	sim_pair_run(&f.pair, 5 * ROCE_NS_PER_US);

	assert_true(small->cq.is_overrun);
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_STAT_CQ_OVERRUNS), 1);
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_CQ_OVERRUN), 1);
	assert_int_equal(f.b->attr.state, ROCE_QP_ERR);
	assert_int_equal(sim_stack_event_count(&f.pair.hosts[1], ROCE_EVENT_CQ_ERR), 1);
	assert_int_equal(sim_stack_event_count(&f.pair.hosts[1], ROCE_EVENT_QP_FATAL), 1);
	assert_ptr_equal(f.pair.hosts[1].events[0].cq, &small->cq);
	fixture_stop(&f);
}

/* Sends have a CQ of their own: what was posted ends there, each under its own name. */
static void complete_recv__cq_overrun_flushes_sends(void **state)
{
	struct roce_cqe cqes[4];
	struct sim_cq *small;
	struct sim_cq *sends;

	(void)state;
	fixture_init(&f);
	fixture_start(&f, false);
	small = sim_stack_add_cq(&f.pair.hosts[1], 1);
	sends = f.send_cq[1];
	f.b = &sim_stack_add_qp(&f.pair.hosts[1], &f.caps, sends, small)->qp;
	assert_true(sim_pair_connect(&f.pair, f.a, f.b, &f.conn));
	for (uint64_t i = 0; i < 3; i++)
		fixture_recv(&f, 1, 9 + i, 0, 64);
	fixture_post(&f, 0, ROCE_WR_SEND, 1, 64, 0);
	fixture_post(&f, 0, ROCE_WR_SEND, 2, 64, 0);
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 21, 8, 0);
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 22, 8, 0);
	/* Not polled meanwhile: the second SEND finds no room, before an ACK comes back. */
	roce_event_queue_run(&f.pair.queue, f.pair.queue.now_ps + 1500 * ROCE_PS_PER_NS);
	assert_true(small->cq.is_overrun);
	assert_int_equal(f.b->attr.state, ROCE_QP_ERR);
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 23, 8, 0);
	assert_int_equal(roce_cq_poll(&sends->cq, cqes, 4), 3);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(cqes[i].wr_id, 21 + i);
		assert_int_equal(cqes[i].status, ROCE_WC_WR_FLUSH_ERR);
	}
	assert_int_equal(sim_stack_event_count(&f.pair.hosts[1], ROCE_EVENT_QP_FATAL), 1);
	fixture_stop(&f);
}

/* The CQ is dead for everybody: another QP that needs it dies too, with an event of its own. */
static void push_cqe__second_qp_of_a_dead_cq(void **state)
{
	struct sim_cq *small;
	struct sim_qp *qps[2];

	(void)state;
	fixture_init(&f);
	fixture_start(&f, false);
	small = sim_stack_add_cq(&f.pair.hosts[1], 1);
	for (uint32_t i = 0; i < 2; i++)
		qps[i] = sim_stack_add_qp(&f.pair.hosts[1], &f.caps, small, small);
	f.b = &qps[0]->qp;
	assert_true(sim_pair_connect(&f.pair, f.a, f.b, &f.conn));
	f.conn.psn[0] = 77;
	assert_true(sim_pair_connect(
		&f.pair,
		&sim_stack_add_qp(&f.pair.hosts[0], &f.caps, f.send_cq[0], f.recv_cq[0])->qp,
		&qps[1]->qp, &f.conn));
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 2, 8, 0);
	roce_event_queue_run(&f.pair.queue, f.pair.queue.now_ps + 5000 * ROCE_PS_PER_NS);
	assert_int_equal(qps[0]->qp.attr.state, ROCE_QP_ERR);
	assert_int_equal(qps[1]->qp.attr.state, ROCE_QP_RTS);

	f.b = &qps[1]->qp;
	fixture_post(&f, 1, ROCE_WR_RDMA_WRITE, 3, 8, 0);
	roce_event_queue_run(&f.pair.queue, f.pair.queue.now_ps + 5000 * ROCE_PS_PER_NS);
	assert_int_equal(qps[1]->qp.attr.state, ROCE_QP_ERR);
	assert_int_equal(sim_stack_event_count(&f.pair.hosts[1], ROCE_EVENT_CQ_ERR), 1);
	assert_int_equal(sim_stack_event_count(&f.pair.hosts[1], ROCE_EVENT_QP_FATAL), 2);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(check_op_allowed__by_access_flags),
		cmocka_unit_test(check_rkey__case_027),
		cmocka_unit_test(check_rkey__region_goes_within_a_write),
		cmocka_unit_test(check_rkey__zero_length_needs_no_key),
		cmocka_unit_test(check_rd_atomic__too_many_reads),
		cmocka_unit_test(check_rd_atomic__limit_is_a_power_of_two),
		cmocka_unit_test(check_rd_atomic__answered_ones_make_room),
		cmocka_unit_test(place_send__bad_recv_key),
		cmocka_unit_test(place_send__recv_region_is_read_only),
		cmocka_unit_test(execute__memory_is_gone),
		cmocka_unit_test(check_length__longest_read),
		cmocka_unit_test(on_duplicate__mismatch_is_dropped),
		cmocka_unit_test(on_duplicate_read__key_is_checked_again),
		cmocka_unit_test(complete_recv__cq_overrun),
		cmocka_unit_test(complete_recv__cq_overrun_flushes_sends),
		cmocka_unit_test(push_cqe__second_qp_of_a_dead_cq),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
