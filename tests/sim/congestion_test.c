/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a mark to a slower sender and back to full speed, in virtual time: who is told and how
 * often, at which rate packets leave then, to within a thousandth, what is not held back, and how
 * packets are marked as ECN-capable.
 */
#include "fixture.h"

#include "cc/dcqcn.h"
#include "wire/opcode.h"

#include <string.h>

#define LINE	   100000000u /* kbit/s */
#define US	   ROCE_NS_PER_US
#define LINK_BYTES 38u
#define UDP_BYTES  (40u + 8u + 4u) /* the hosts of the pair speak IPv6; with ICRC */

static struct fixture f;
static struct roce_cc_config cc;

/* The next `left` packets of `from` are marked. */
static struct {
	unsigned int from;
	uint32_t left;
} marks;

/* Of the packets of one host, since the last reset. */
static struct sent {
	uint32_t count;
	uint32_t acks;
	uint32_t ack_reqs;
	uint32_t cnps;
	uint32_t becns;
	uint64_t bytes; /* on the link */
	uint32_t last_bytes;
	roce_ns_t first_at;
	roce_ns_t last_at;
	uint8_t data_class;
	uint8_t ack_class;
	uint8_t cnp_class;
} sent[2];

static bool mark(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt)
{
	struct sent *s = &sent[from];
	const struct roce_opcode_info *info = roce_opcode_info(pkt->hdr.opcode);
	uint32_t bytes =
		LINK_BYTES + UDP_BYTES + info->header_len + pkt->payload_len + pkt->hdr.pad_count;

	if (info->operation == ROCE_OPERATION_CNP) {
		s->cnps++;
		s->cnp_class = pkt->traffic_class;
		return true;
	}
	if (info->operation == ROCE_OPERATION_ACK) {
		s->acks++;
		s->becns += pkt->hdr.becn;
		s->ack_class = pkt->traffic_class;
		return true;
	}
	if (!s->count++)
		s->first_at = sim_pair_now(p);
	s->ack_reqs += pkt->hdr.ack_req;
	s->last_at = sim_pair_now(p);
	s->bytes += bytes;
	s->last_bytes = bytes;
	s->data_class = pkt->traffic_class;
	if (marks.left && from == marks.from) {
		marks.left--;
		pkt->traffic_class |= ROCE_ECN_CE;
	}
	return true;
}

static void init(const char *set)
{
	fixture_init(&f);
	cc = (struct roce_cc_config){
		.ops = &roce_cc_dcqcn,
		.params = roce_cc_find_set(&roce_cc_dcqcn, set, strlen(set))->params,
		.line_kbit_per_s = LINE,
	};
	memset(sent, 0, sizeof(sent));
	memset(&marks, 0, sizeof(marks));
	f.conn.path_mtu = 5;
	f.tuning.cc = &cc;
	f.tuning.link_bytes = LINK_BYTES;
	f.tuning.read_chunk_packets = 1u << 20;
	f.tuning.window.initial = f.tuning.window.max = f.tuning.read_window = 1u << 30;
}

#define SET(name, value) (cc.params.v[ROCE_DCQCN_##name] = (value))

static void start(void)
{
	roce_cc_dcqcn.notify_config(&cc.params, &f.tuning.notify);
	fixture_start(&f, true);
	f.pair.is_quiet = true;
	f.pair.tamper = mark;
}

static uint64_t counter(unsigned int host, uint32_t index)
{
	return sim_counter(&f.pair.hosts[host], index);
}

/* kbit/s of what a host sent; what follows the last packet is not seen. */
static uint64_t measured(unsigned int host)
{
	const struct sent *s = &sent[host];

	return (s->bytes - s->last_bytes) * ROCE_PACE_BYTE_NS / (s->last_at - s->first_at);
}

static void cnp_to(struct roce_qp *qp)
{
	roce_cc_on_cnp(&qp->cc, sim_pair_now(&f.pair));
}

/* ---- the notification point ---- */

/* The CNP leaves at once, before the ACK, and slows the sender. */
static void mark__tells_the_sender(void **state)
{
	(void)state;
	init("paper");
	start();
	f.pair.is_quiet = false;
	marks.left = 1;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 100, 0);
	fixture_expect_within(&f, 3 * US,
			      "> WRITE_ONLY psn 10 len 100 ackreq\n"
			      "< CNP psn 0\n"
			      "< ACK psn 10 msn 1\n"
			      "0 cqe 1 WRITE SUCCESS\n");
	assert_int_equal(counter(1, ROCE_STAT_ECN_MARKED), 1);
	assert_int_equal(counter(1, ROCE_STAT_CNP_SENT), 1);
	assert_int_equal(counter(0, ROCE_RX_CNP_HANDLED), 1);
	assert_int_equal(counter(0, ROCE_STAT_ECN_MARKED), 0);
	assert_int_equal(roce_qp_controlled_rate(f.a, sim_pair_now(&f.pair)), LINE / 2);
	assert_int_equal(roce_qp_controlled_rate(f.b, sim_pair_now(&f.pair)), LINE);
	fixture_stop(&f);
}

/* Marks in the interval are counted, not told. */
static void mark__interval(void **state)
{
	(void)state;
	init("paper");
	SET(min_time_between_cnps, 50);
	f.link.ps_per_byte = 800; /* 10 Gb/s: 3.4 us a packet */
	start();
	marks.left = UINT32_MAX;
	for (uint64_t i = 0; i < 4; i++)
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, i, BUF, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_S);
	assert_int_equal(counter(1, ROCE_STAT_ECN_MARKED), 256);
	assert_int_equal(counter(1, ROCE_STAT_CNP_SENT), sent[1].cnps);
	assert_in_range(sent[1].cnps, 10, (sent[0].last_at - sent[0].first_at) / (50 * US) + 1);
	fixture_stop(&f);
}

/* Two connections: whether the one's CNP keeps the other's back. */
static void mark__scope(void **state)
{
	static const uint32_t expected[] = {
		[ROCE_NOTIFY_PER_QP] = 2,
		[ROCE_NOTIFY_PER_DESTINATION] = 1,
		[ROCE_NOTIFY_PER_PORT] = 1,
	};

	(void)state;
	for (uint32_t scope = 0; scope < 3; scope++) {
		struct roce_qp *ends[2];
		struct roce_sge sge;
		struct roce_send_wr wr;

		init("paper");
		SET(cnps_per, scope);
		start();
		for (unsigned int i = 0; i < 2; i++)
			ends[i] = &sim_stack_add_qp(&f.pair.hosts[i], &f.caps, f.send_cq[i],
						    f.recv_cq[i])
					   ->qp;
		assert_true(sim_pair_connect(&f.pair, ends[0], ends[1], &f.conn));
		marks.left = 2;
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 100, 0);
		wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 2, 100, &sge);
		assert_int_equal(sim_pair_send(&f.pair, 0, ends[0], &wr), ROCE_POST_OK);
		sim_pair_run(&f.pair, 10 * US);
		assert_int_equal(counter(1, ROCE_STAT_ECN_MARKED), 2);
		assert_int_equal(sent[1].cnps, expected[scope]);
		fixture_stop(&f);
	}
}

static void mark__by_acknowledgement(void **state)
{
	(void)state;
	init("hpcc-ns3");
	f.tuning.ack_interval_packets = 1;
	start();
	marks.left = 3;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8 * 4096, 0);
	sim_pair_run(&f.pair, 20 * US);
	assert_int_equal(sent[1].cnps, 0);
	assert_int_equal(counter(1, ROCE_STAT_CNP_SENT), 0);
	assert_in_range(sent[1].becns, 1, 3); /* one ACK may speak for several */
	assert_in_range(sent[1].acks, sent[1].becns, 8);
	/* The cut comes at the end of the first period. */
	assert_in_range(roce_qp_controlled_rate(f.a, sim_pair_now(&f.pair)), LINE / 2,
			LINE / 100 * 55);
	/* A READ's data is not acknowledged: it takes a CNP. */
	marks.from = 1;
	marks.left = 1;
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 4096, 0);
	sim_pair_run(&f.pair, 20 * US);
	assert_int_equal(sent[0].cnps, 1);
	assert_in_range(roce_qp_controlled_rate(f.b, sim_pair_now(&f.pair)), LINE / 2,
			LINE / 100 * 55);
	fixture_stop(&f);
}

static void mark__nobody_tells(void **state)
{
	(void)state;
	init("paper");
	start();
	f.pair.hosts[1].transport.cfg.notify.mode = ROCE_NOTIFY_OFF;
	marks.left = UINT32_MAX;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, BUF, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(counter(1, ROCE_STAT_ECN_MARKED), BUF / 4096);
	assert_int_equal(sent[1].cnps, 0);
	assert_int_equal(sent[1].becns, 0);
	fixture_stop(&f);
}

/* UC hears of it as well; UD does not, there is nobody to be told. */
static void mark__unreliable(void **state)
{
	struct roce_path path;
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	init("paper");
	f.types[0] = f.types[1] = ROCE_QP_UC;
	start();
	marks.left = 1;
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 4096, 0);
	sim_pair_run(&f.pair, 10 * US);
	assert_int_equal(sent[1].cnps, 1);
	assert_int_equal(roce_qp_controlled_rate(f.a, sim_pair_now(&f.pair)), LINE / 2);
	fixture_stop(&f);

	init("paper");
	f.types[0] = f.types[1] = ROCE_QP_UD;
	start();
	marks.left = 1;
	path = (struct roce_path){.sgid = f.pair.hosts[0].gid,
				  .dgid = f.pair.hosts[1].gid,
				  .pkey = 0xffff,
				  .traffic_class = 0x6a};
	fixture_recv(&f, 1, 1, 0, 4096);
	wr = fixture_wr(&f, 0, ROCE_WR_SEND, 1, 100, &sge);
	wr.path = &path;
	wr.remote_qpn = f.b->cfg.qpn.v;
	wr.remote_qkey = f.conn.qkey;
	assert_int_equal(sim_pair_send(&f.pair, 0, f.a, &wr), ROCE_POST_OK);
	sim_pair_run(&f.pair, 10 * US);
	assert_int_equal(counter(1, ROCE_STAT_ECN_MARKED), 1);
	assert_int_equal(counter(1, ROCE_RX_ACCEPTED), 1);
	assert_int_equal(sent[1].cnps, 0);
	assert_int_equal(sent[0].data_class, 0x6a);
	fixture_stop(&f);
}

/* CNPs are of a class of their own, and first in it. */
static void tx_classes__cnp(void **state)
{
	struct roce_transport *from, *to;
	struct roce_tx_pkt pkts[4];
	struct roce_rx_pkt rx;
	struct roce_sge sge;
	struct roce_send_wr wr;

	(void)state;
	init("paper");
	start();
	from = &f.pair.hosts[0].transport;
	to = &f.pair.hosts[1].transport;
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, &sge);
	assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_OK);
	assert_int_equal(roce_tx(from, pkts, 4, 0), 1);
	assert_int_equal(pkts[0].tx_class, 0);
	rx = (struct roce_rx_pkt){
		.hdr = pkts[0].hdr,
		.payload = fixture_bytes(&f, 0, 0),
		.payload_len = 8,
		.src = &f.pair.hosts[0].gid,
		.dst = &f.pair.hosts[1].gid,
		.traffic_class = ROCE_ECN_CE,
	};
	assert_int_equal(roce_rx(to, &rx, 0), ROCE_RX_ACCEPTED);
	assert_int_equal(roce_tx_waiting(to), 1u << 6 | 1u);
	assert_null(roce_tx_last_ready(to));
	assert_int_equal(roce_tx_classes(to, 1u << 5, pkts, 4, 0), 0);
	assert_int_equal(roce_tx_classes(to, 1u << 6, pkts, 4, 0), 1);
	assert_int_equal(pkts[0].hdr.opcode.v, ROCE_CNP);
	assert_true(pkts[0].hdr.becn);
	assert_false(pkts[0].hdr.mig_req);
	assert_int_equal(pkts[0].hdr.dest_qpn.v, f.a->cfg.qpn.v);
	assert_int_equal(pkts[0].tx_class, 6);
	assert_int_equal(roce_tx_waiting(to), 1);
	/* Another mark later, and the queue pair is gone before the CNP. */
	rx.hdr.psn = roce_psn_add(rx.hdr.psn, 1);
	assert_int_equal(roce_rx(to, &rx, 50 * US), ROCE_RX_ACCEPTED);
	assert_int_equal(roce_tx_waiting(to), 1u << 6 | 1u);
	roce_qp_enter_error(f.b, 50 * US);
	assert_int_equal(roce_tx_waiting(to), 0);
	fixture_stop(&f);
}

/* ConnectX-5 answers a loss by a CNP as well. No mark is counted, and nothing else makes a CNP. */
static void nak__case_065_with_a_cnp(void **state)
{
	(void)state;
	for (uint32_t is_with_nak = 0; is_with_nak < 2; is_with_nak++) {
		init("connectx");
		SET(cnp_with_nak, is_with_nak);
		start();
		for (uint64_t i = 0; i < 4; i++) {
			fixture_lose(&f, 2, 0);
			fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, i, 8 * 4096, 0);
			sim_pair_run(&f.pair, ROCE_NS_PER_S);
		}
		assert_int_equal(f.a->sq.completed, f.a->sq.posted);
		assert_int_equal(counter(1, ROCE_STAT_TX_NAKS), 4);
		assert_int_equal(counter(1, ROCE_STAT_CNP_SENT),
				 is_with_nak ? counter(1, ROCE_STAT_TX_NAKS) : 0);
		assert_int_equal(counter(0, ROCE_RX_CNP_HANDLED), counter(1, ROCE_STAT_CNP_SENT));
		assert_int_equal(counter(1, ROCE_STAT_ECN_MARKED), 0);
		fixture_stop(&f);
	}
}

/* ---- the reaction point ---- */

/* WRITEs and READ responses leave at the controlled rate, exact over many packets. */
static void rate__measured(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t mbit_per_s;
	} cases[] = {
		{ROCE_WR_RDMA_WRITE, 40000}, {ROCE_WR_RDMA_WRITE, 7777}, {ROCE_WR_RDMA_WRITE, 100},
		{ROCE_WR_RDMA_READ, 40000},  {ROCE_WR_RDMA_READ, 7777},	 {ROCE_WR_RDMA_READ, 100},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned int host = cases[i].opcode == ROCE_WR_RDMA_READ;
		uint64_t rate;

		init("paper");
		SET(rpg_max_rate, cases[i].mbit_per_s * 2);
		SET(rpg_time_reset, 131071);
		SET(rpg_byte_reset, 0x7fffffff);
		start();
		cnp_to(host ? f.b : f.a);
		for (uint64_t k = 0; k < 4; k++)
			fixture_post(&f, 0, cases[i].opcode, k, BUF, 0);
		sim_pair_run(&f.pair, 120 * ROCE_NS_PER_MS);
		assert_int_equal(f.a->sq.completed, f.a->sq.posted);
		rate = measured(host);
		assert_in_range(rate, cases[i].mbit_per_s * UINT64_C(999),
				cases[i].mbit_per_s * UINT64_C(1001));
		assert_int_equal(counter(0, ROCE_STAT_TX_RETRANSMITTED), 0);
		fixture_stop(&f);
	}
}

/* What the controller counts: HPCC's simulator has 48 bytes of headers, whatever the packet. */
static void rate__headers_of_another_kind(void **state)
{
	roce_ns_t took;

	(void)state;
	init("paper");
	SET(rpg_time_reset, 131071);
	f.tuning.header_bytes = 48;
	f.conn.path_mtu = 3;
	start();
	cnp_to(f.a);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, BUF, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	took = sent[0].last_at - sent[0].first_at;
	/* 255 packets of 1072 bytes at 50 Gb/s */
	assert_in_range(took, UINT64_C(255) * 1072 * 8 / 50 - 1, UINT64_C(255) * 1072 * 8 / 50 + 1);
	fixture_stop(&f);
}

/* Where no CNP comes any more, the rate returns to the line rate, and is free again. */
static void rate__recovers(void **state)
{
	uint32_t slow;

	(void)state;
	init("connectx");
	SET(rpg_time_reset, 50);
	f.tuning.window.initial = f.tuning.window.max = 1u << 20;
	f.link.ps_per_byte = 80; /* 100 Gb/s */
	start();
	marks.left = 10;
	for (uint64_t i = 0; i < 4; i++)
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, i, BUF, 0);
	sim_pair_run(&f.pair, 30 * US);
	slow = roce_qp_controlled_rate(f.a, sim_pair_now(&f.pair));
	assert_in_range(slow, LINE / 100, LINE / 2 + 100000);
	assert_in_range(counter(0, ROCE_RX_CNP_HANDLED), 1, 10);
	sim_pair_run(&f.pair, 20 * ROCE_NS_PER_MS);
	assert_int_equal(roce_qp_controlled_rate(f.a, sim_pair_now(&f.pair)), LINE);
	assert_int_equal(f.a->cc.kbit_per_s, 0);
	assert_int_equal(f.a->sq.completed, f.a->sq.posted);
	fixture_stop(&f);
}

/* A packet a 33 ms, and ACK timeouts of 8: they do not end while the next ACK is not asked for. */
static void rate__slower_than_the_timeout(void **state)
{
	(void)state;
	init("paper");
	SET(rpg_max_rate, 2);
	SET(rpg_time_reset, 131071);
	SET(rpg_ai_rate, 1);
	f.conn.timeout = 11;
	start();
	cnp_to(f.a);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 16 * 4096, 0);
	sim_pair_run(&f.pair, 2 * ROCE_NS_PER_S);
	assert_int_equal(f.a->sq.completed, f.a->sq.posted);
	assert_int_equal(sent[0].count, 16);
	assert_int_equal(sent[0].ack_reqs, 16);
	assert_int_equal(counter(0, ROCE_STAT_ACK_TIMEOUTS), 0);
	fixture_stop(&f);
	/* At speed an ACK for eight packets will do. */
	init("paper");
	start();
	cnp_to(f.a);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 16 * 4096, 0);
	sim_pair_run(&f.pair, ROCE_NS_PER_MS);
	assert_int_equal(sent[0].count, 16);
	assert_in_range(sent[0].ack_reqs, 2, 4);
	fixture_stop(&f);
}

/* A READ's answer that is held back holds nobody else up: the other direction's data goes on, and
 * the transport does not ask to be called before time. */
static void rate__held_answers(void **state)
{
	struct roce_transport *t;
	struct roce_tx_pkt pkts[4];

	(void)state;
	init("paper");
	SET(rpg_max_rate, 20);
	SET(rpg_time_reset, 131071);
	start();
	t = &f.pair.hosts[1].transport;
	cnp_to(f.b);
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 4 * 4096, 0);
	sim_pair_run(&f.pair, 10 * US);
	assert_int_equal(sent[1].count, 1);
	assert_false(roce_tx_is_pending(t));
	/* 4202 bytes at 10 Mb/s. */
	assert_in_range(roce_deadline(t), 3360 * US, 3364 * US);
	assert_int_equal(roce_tx(t, pkts, 4, sim_pair_now(&f.pair)), 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 2, 100, 0);
	sim_pair_run(&f.pair, 20 * ROCE_NS_PER_MS);
	assert_int_equal(sent[1].count, 4);
	assert_int_equal(f.a->sq.completed, 2);
	/* Whoever ends while an answer is held back leaves nothing behind. */
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 3, 4 * 4096, 0);
	sim_pair_run(&f.pair, 10 * US);
	assert_int_equal(sim_pair_set_state(&f.pair, 1, f.b, ROCE_QP_ERR), ROCE_MODIFY_OK);
	assert_int_equal(roce_deadline(t), ROCE_NEVER);
	assert_false(roce_tx_is_pending(t));
	fixture_stop(&f);
}

/* ---- ECN bits ---- */

static void ecn__of_packets(void **state)
{
	static const struct {
		uint8_t path;
		uint8_t data;
		uint8_t ack;
	} cases[] = {{0x6a, 0x6a, 0x68}, {0x68, 0x6a, 0x68}, {0x69, 0x6a, 0x68}, {0, 2, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		init("paper");
		start();
		f.a->attr.path.traffic_class = f.b->attr.path.traffic_class = cases[i].path;
		marks.left = 1;
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 100, 0);
		fixture_post(&f, 0, ROCE_WR_RDMA_READ, 2, 100, 0);
		sim_pair_run(&f.pair, 10 * US);
		assert_int_equal(sent[0].data_class, cases[i].data);
		assert_int_equal(sent[1].data_class, cases[i].data);
		assert_int_equal(sent[1].ack_class, cases[i].ack);
		assert_int_equal(sent[1].cnp_class, 48 << 2);
		fixture_stop(&f);
		/* Without a controller they are the program's. */
		init("paper");
		f.tuning.cc = NULL;
		start();
		f.a->attr.path.traffic_class = f.b->attr.path.traffic_class = cases[i].path;
		fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 100, 0);
		sim_pair_run(&f.pair, 10 * US);
		assert_int_equal(sent[0].data_class, cases[i].path);
		assert_int_equal(sent[1].ack_class, cases[i].path);
		fixture_stop(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mark__tells_the_sender),
		cmocka_unit_test(mark__interval),
		cmocka_unit_test(mark__scope),
		cmocka_unit_test(mark__by_acknowledgement),
		cmocka_unit_test(mark__nobody_tells),
		cmocka_unit_test(mark__unreliable),
		cmocka_unit_test(tx_classes__cnp),
		cmocka_unit_test(nak__case_065_with_a_cnp),
		cmocka_unit_test(rate__measured),
		cmocka_unit_test(rate__headers_of_another_kind),
		cmocka_unit_test(rate__recovers),
		cmocka_unit_test(rate__slower_than_the_timeout),
		cmocka_unit_test(rate__held_answers),
		cmocka_unit_test(ecn__of_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
