/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transmit classes: what a port may pause on its own. Connections of different service levels do
 * not hold each other up, share when all may send, and answers go by the class of their connection.
 */
#include "fixture.h"

#include "transport/ready.h"
#include "wire/opcode.h"

#define ALL_BUT(c) (ROCE_TX_CLASSES_ALL & ~(1u << (c)))
#define CLASS(c)   (1u << (c))

static struct fixture f;

/* `f.a` to `f.b` at service level 0, and this one. */
static struct {
	struct roce_qp *a;
	struct roce_qp *b;
} other;

static void start_with(uint8_t sl)
{
	struct sim_conn conn;
	struct roce_qp *ends[2];

	fixture_init(&f);
	fixture_start(&f, true);
	for (unsigned int i = 0; i < 2; i++)
		ends[i] = &sim_stack_add_qp(&f.pair.hosts[i], &f.caps, f.send_cq[i], f.recv_cq[i])
				   ->qp;
	other.a = ends[0];
	other.b = ends[1];
	conn = f.conn;
	conn.sl = sl;
	assert_true(sim_pair_connect(&f.pair, other.a, other.b, &conn));
	/* Becoming RTS makes ready; that is over. */
	for (unsigned int i = 0; i < 2; i++) {
		struct roce_tx_pkt pkt;

		assert_int_equal(roce_tx(&f.pair.hosts[i].transport, &pkt, 1, 0), 0);
		assert_false(roce_tx_is_pending(&f.pair.hosts[i].transport));
	}
}

static void post_write(struct roce_qp *qp, uint32_t bytes)
{
	struct roce_sge sge;
	struct roce_send_wr wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 1, bytes, &sge);

	assert_int_equal(roce_post_send(qp, &wr, 0), ROCE_POST_OK);
}

static size_t tx(uint32_t classes, struct roce_tx_pkt *pkts, size_t max)
{
	return roce_tx_classes(&f.pair.hosts[0].transport, classes, pkts, max, 0);
}

static void tx_classes__paused_class_waits_alone(void **state)
{
	struct roce_transport *t = &f.pair.hosts[0].transport;
	struct roce_tx_pkt pkts[16];

	(void)state;
	start_with(3);
	post_write(other.a, 3000);
	assert_int_equal(roce_tx_waiting(t), CLASS(3));
	assert_ptr_equal(roce_tx_last_ready(t), other.a);
	post_write(f.a, 2000);
	assert_int_equal(roce_tx_waiting(t), CLASS(0) | CLASS(3));
	assert_null(roce_tx_last_ready(t)); /* who came last is not known across classes */

	assert_int_equal(tx(ALL_BUT(3), pkts, 16), 2);
	for (size_t i = 0; i < 2; i++)
		assert_ptr_equal(pkts[i].qp, f.a);
	assert_int_equal(tx(ALL_BUT(3), pkts, 16), 0);
	assert_int_equal(roce_tx_waiting(t), CLASS(3));
	assert_int_equal(tx(CLASS(3), pkts, 2), 2);
	for (size_t i = 0; i < 2; i++)
		assert_ptr_equal(pkts[i].qp, other.a);
	assert_int_equal(tx(CLASS(3), pkts, 16), 1);
	assert_int_equal(tx(ROCE_TX_CLASSES_ALL, pkts, 16), 0);
	assert_false(roce_tx_is_pending(t));
	fixture_stop(&f);
}

/* Each class has a turn, however long the line of another. */
static void tx_classes__take_turns(void **state)
{
	struct roce_tx_pkt pkts[16];
	uint32_t of_other = 0;

	(void)state;
	start_with(7);
	f.pair.hosts[0].transport.cfg.burst_packets = 2;
	post_write(f.a, 16 * 1024);
	post_write(other.a, 16 * 1024);
	assert_int_equal(tx(ROCE_TX_CLASSES_ALL, pkts, 16), 16);
	for (size_t i = 0; i < 16; i++) {
		assert_ptr_equal(pkts[i].qp, pkts[i - i % 2].qp);
		if (i >= 2)
			assert_ptr_not_equal(pkts[i].qp, pkts[i - 2].qp);
		of_other += pkts[i].qp == other.a;
	}
	assert_int_equal(of_other, 8);
	fixture_stop(&f);
}

/* An ACK is of its connection's class: while that is paused, the requester hears nothing. */
static void tx_classes__answers(void **state)
{
	struct roce_transport *to = &f.pair.hosts[1].transport;
	struct roce_tx_pkt pkts[4];
	struct roce_rx_pkt rx;

	(void)state;
	start_with(5);
	post_write(other.a, 8);
	assert_int_equal(tx(CLASS(5), pkts, 4), 1);
	rx = (struct roce_rx_pkt){
		.hdr = pkts[0].hdr,
		.payload = fixture_bytes(&f, 0, 0),
		.payload_len = 8,
		.src = &f.pair.hosts[0].gid,
		.dst = &f.pair.hosts[1].gid,
	};
	assert_int_equal(roce_rx(to, &rx, 0), ROCE_RX_ACCEPTED);
	assert_int_equal(roce_tx_waiting(to), CLASS(5));
	assert_int_equal(roce_tx_classes(to, ALL_BUT(5), pkts, 4, 0), 0);
	assert_int_equal(roce_tx_classes(to, CLASS(5), pkts, 4, 0), 1);
	assert_int_equal(pkts[0].hdr.opcode.v, ROCE_RC_ACK);
	fixture_stop(&f);
}

/* An adapter that answers at once gets each ACK, whatever the class; and nothing twice. */
static void tx_answer__at_once_and_once(void **state)
{
	struct roce_transport *to = &f.pair.hosts[1].transport;
	struct roce_tx_pkt pkts[4], ack;
	size_t n;

	(void)state;
	start_with(5);
	post_write(other.a, 8);
	post_write(other.a, 8);
	n = tx(CLASS(5), pkts, 4);
	assert_int_equal(n, 2);
	assert_int_equal(roce_tx_answer(to, other.b->cfg.qpn, &ack, 0), 0);
	for (size_t i = 0; i < n; i++) {
		const struct roce_rx_pkt rx = {
			.hdr = pkts[i].hdr,
			.payload = fixture_bytes(&f, 0, 0),
			.payload_len = 8,
			.src = &f.pair.hosts[0].gid,
			.dst = &f.pair.hosts[1].gid,
		};

		assert_int_equal(roce_rx(to, &rx, 0), ROCE_RX_ACCEPTED);
		assert_int_equal(roce_tx_answer(to, other.b->cfg.qpn, &ack, 0), 1);
		assert_int_equal(ack.hdr.opcode.v, ROCE_RC_ACK);
		assert_int_equal(ack.hdr.psn.v, pkts[i].hdr.psn.v);
		assert_int_equal(roce_tx_answer(to, other.b->cfg.qpn, &ack, 0), 0);
	}
	assert_int_equal(roce_tx_answer(to, (roce_qpn_t){0}, &ack, 0), 0);
	assert_int_equal(roce_tx_classes(to, ROCE_TX_CLASSES_ALL, pkts, 4, 0), 0);
	fixture_stop(&f);
}

/* READ responses are owed before it, and an ACK behind them waits for its turn. */
static void tx_answer__not_before_read_responses(void **state)
{
	struct roce_transport *to = &f.pair.hosts[1].transport;
	struct roce_tx_pkt pkts[4], ack;
	struct roce_sge sge;
	struct roce_send_wr wr;
	size_t n;

	(void)state;
	start_with(5);
	wr = fixture_wr(&f, 0, ROCE_WR_RDMA_READ, 1, 8, &sge);
	assert_int_equal(roce_post_send(other.a, &wr, 0), ROCE_POST_OK);
	post_write(other.a, 8);
	n = tx(CLASS(5), pkts, 4);
	assert_int_equal(n, 2);
	for (size_t i = 0; i < n; i++) {
		const struct roce_rx_pkt rx = {
			.hdr = pkts[i].hdr,
			.payload = fixture_bytes(&f, 0, 0),
			.payload_len = i ? 8 : 0,
			.src = &f.pair.hosts[0].gid,
			.dst = &f.pair.hosts[1].gid,
		};

		assert_int_equal(roce_rx(to, &rx, 0), ROCE_RX_ACCEPTED);
	}
	assert_int_equal(roce_tx_answer(to, other.b->cfg.qpn, &ack, 0), 0);
	assert_int_equal(roce_tx_classes(to, CLASS(5), pkts, 4, 0), 2);
	assert_int_equal(pkts[0].hdr.opcode.v, ROCE_RC_READ_RESPONSE_ONLY);
	assert_int_equal(pkts[1].hdr.opcode.v, ROCE_RC_ACK);
	fixture_stop(&f);
}

/* Another path, another class, and who is ready stays so. A RESET ends it. */
static void set_class__follows_the_path(void **state)
{
	struct roce_transport *t = &f.pair.hosts[0].transport;
	struct roce_tx_pkt pkts[4];
	struct roce_qp_attr attr;
	uint32_t bad_mask;

	(void)state;
	start_with(2);
	assert_int_equal(sim_pair_set_state(&f.pair, 0, other.a, ROCE_QP_SQD), ROCE_MODIFY_OK);
	post_write(other.a, 8);
	assert_int_equal(roce_tx_waiting(t), CLASS(2));
	attr = other.a->attr;
	attr.path.sl = 8 + 6; /* three bits count */
	assert_int_equal(
		roce_qp_modify(other.a, &attr, ROCE_ATTR_STATE | ROCE_ATTR_AV, 0, &bad_mask),
		ROCE_MODIFY_OK);
	assert_int_equal(roce_tx_waiting(t), CLASS(6));
	attr.state = ROCE_QP_RTS;
	assert_int_equal(roce_qp_modify(other.a, &attr, ROCE_ATTR_STATE, 0, &bad_mask),
			 ROCE_MODIFY_OK);
	assert_int_equal(tx(CLASS(2), pkts, 4), 0);
	assert_int_equal(tx(CLASS(6), pkts, 4), 1);
	assert_int_equal(sim_pair_set_state(&f.pair, 0, other.a, ROCE_QP_RESET), ROCE_MODIFY_OK);
	assert_int_equal(other.a->tx_class, 0);
	assert_int_equal(roce_tx_waiting(t), 0);
	fixture_stop(&f);
}

/* What has nothing more to send leaves no class waiting behind. */
static void set_class__of_a_queue_pair_that_fails(void **state)
{
	struct roce_transport *t = &f.pair.hosts[0].transport;

	(void)state;
	start_with(4);
	post_write(other.a, 8);
	assert_int_equal(roce_tx_waiting(t), CLASS(4));
	roce_qp_enter_error(other.a, 0);
	assert_int_equal(roce_tx_waiting(t), 0);
	fixture_stop(&f);
}

/* Each datagram is of the class of its own path, in the order of posting. */
static void tx_classes__datagrams(void **state)
{
	static const uint8_t levels[] = {1, 1, 3, 1};
	struct roce_transport *t = &f.pair.hosts[0].transport;
	struct roce_tx_pkt pkts[8];
	struct roce_path path;
	struct roce_sge sge;

	(void)state;
	fixture_init(&f);
	f.types[0] = f.types[1] = ROCE_QP_UD;
	fixture_start(&f, true);
	path = (struct roce_path){.sgid = f.pair.hosts[0].gid, .dgid = f.pair.hosts[1].gid};
	for (size_t i = 0; i < sizeof(levels); i++) {
		struct roce_send_wr wr = fixture_wr(&f, 0, ROCE_WR_SEND, i, 8, &sge);

		path.sl = levels[i];
		wr.path = &path;
		wr.remote_qpn = f.b->cfg.qpn.v;
		assert_int_equal(roce_post_send(f.a, &wr, 0), ROCE_POST_OK);
	}
	assert_int_equal(tx(ALL_BUT(1), pkts, 8), 0);
	assert_int_equal(roce_tx_waiting(t), CLASS(1));
	assert_int_equal(tx(ALL_BUT(3), pkts, 8), 2);
	assert_int_equal(roce_tx_waiting(t), CLASS(3));
	assert_int_equal(tx(CLASS(1), pkts, 8), 0);
	assert_int_equal(tx(ROCE_TX_CLASSES_ALL, pkts, 8), 2);
	assert_int_equal(pkts[0].path->sl, 3);
	assert_int_equal(pkts[1].path->sl, 1);
	assert_int_equal(tx(ROCE_TX_CLASSES_ALL, pkts, 8), 0);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tx_classes__paused_class_waits_alone),
		cmocka_unit_test(tx_classes__take_turns),
		cmocka_unit_test(tx_classes__answers),
		cmocka_unit_test(tx_answer__at_once_and_once),
		cmocka_unit_test(tx_answer__not_before_read_responses),
		cmocka_unit_test(set_class__follows_the_path),
		cmocka_unit_test(set_class__of_a_queue_pair_that_fails),
		cmocka_unit_test(tx_classes__datagrams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
