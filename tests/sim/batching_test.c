/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When packets to a peer stop leaving in batches, and when they begin again. The link carries
 * single packets; what is looked at is what the transport asks of its owner.
 */
#include "fixture.h"

static struct fixture f;

static uint64_t suspended(unsigned int host)
{
	return sim_counter(&f.pair.hosts[host], ROCE_STAT_BATCHING_SUSPENDED);
}

/* Whether host 0 wants its next packet to leave alone. It is lost: nobody carries it. */
static bool wants_single(void)
{
	struct roce_tx_pkt pkt;
	struct roce_sge sge;
	struct roce_send_wr wr = fixture_wr(&f, 0, ROCE_WR_RDMA_WRITE, 99, 8, &sge);
	roce_ns_t now = sim_pair_now(&f.pair);

	assert_int_equal(roce_post_send(f.a, &wr, now), ROCE_POST_OK);
	assert_int_equal(roce_tx(&f.pair.hosts[0].transport, &pkt, 1, now), 1);
	assert_ptr_equal(pkt.qp, f.a);
	return pkt.is_single;
}

static void start(void)
{
	fixture_init(&f);
	f.conn.timeout = 8; /* 1.05 ms */
	fixture_start(&f, true);
	f.pair.is_quiet = true;
}

/* A request whose first `losses` transmissions are lost. */
static void write_with_losses(unsigned int losses)
{
	fixture_lose(&f, (1u << losses) - 1, 0);
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 8, 0);
	fixture_expect_within(&f, 10 * ROCE_NS_PER_MS, "0 cqe 1 WRITE SUCCESS\n");
}

static void requester__three_rounds_without_progress(void **state)
{
	(void)state;
	start();
	write_with_losses(2);
	write_with_losses(2); /* the ACK in between has begun a new count */
	assert_int_equal(suspended(0), 0);
	assert_false(wants_single());
	fixture_expect_within(&f, 10 * ROCE_NS_PER_MS, "0 cqe 99 WRITE SUCCESS\n");
	write_with_losses(3);
	assert_int_equal(suspended(0), 1);
	assert_true(wants_single());
	fixture_stop(&f);
}

/* A sequence NAK is a round, too: the tail of each burst arrives alone. */
static void requester__naks_count(void **state)
{
	(void)state;
	start();
	fixture_lose(&f, 1 << 0 | 1 << 2 | 1 << 4, 0); /* the first of two */
	fixture_post(&f, 0, ROCE_WR_RDMA_WRITE, 1, 2000, 0);
	fixture_expect_within(&f, 10 * ROCE_NS_PER_MS, "0 cqe 1 WRITE SUCCESS\n");
	assert_in_range(sim_counter(&f.pair.hosts[0], ROCE_RX_NAK_SEQUENCE), 1, 3);
	assert_int_equal(suspended(0), 1);
	fixture_stop(&f);
}

static void suspension__ends_and_doubles(void **state)
{
	(void)state;
	start();
	for (roce_ns_t s = 1; s <= 4; s *= 2) {
		roce_ns_t until;

		write_with_losses(3);
		until = f.a->peer->single_until;
		assert_in_range(until - sim_pair_now(&f.pair),
				s * ROCE_NS_PER_S - 20 * ROCE_NS_PER_MS, s * ROCE_NS_PER_S);
		write_with_losses(3); /* changes nothing while it lasts */
		assert_int_equal(f.a->peer->single_until, until);
		roce_event_queue_run(&f.pair.queue, (until - 1) * ROCE_PS_PER_NS);
		assert_true(roce_peer_is_single(f.a->peer, sim_pair_now(&f.pair)));
		roce_event_queue_run(&f.pair.queue, until * ROCE_PS_PER_NS);
		assert_false(roce_peer_is_single(f.a->peer, sim_pair_now(&f.pair)));
	}
	assert_int_equal(suspended(0), 3);
	/* all was well for long: from the beginning */
	sim_pair_run(&f.pair, 40 * ROCE_NS_PER_S);
	write_with_losses(3);
	assert_int_equal(f.a->peer->single_ns, ROCE_NS_PER_S);
	fixture_stop(&f);
}

static void suspension__has_a_longest(void **state)
{
	(void)state;
	start();
	for (unsigned int i = 0; i < 9; i++) {
		write_with_losses(3);
		roce_event_queue_run(&f.pair.queue, f.a->peer->single_until * ROCE_PS_PER_NS);
	}
	assert_int_equal(f.a->peer->single_ns, 64 * ROCE_NS_PER_S);
	fixture_stop(&f);
}

/* The answers to a READ are lost: their sender hears the READ again and again. */
static void responder__read_asked_for_again(void **state)
{
	(void)state;
	start();
	for (unsigned int losses = 2; losses <= 3; losses++) {
		fixture_lose(&f, 0, (1u << losses) - 1);
		fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 64, 0);
		fixture_expect_within(&f, 10 * ROCE_NS_PER_MS, "0 cqe 1 READ SUCCESS\n");
		assert_int_equal(suspended(1), losses == 3);
	}
	assert_true(roce_peer_is_single(f.b->peer, sim_pair_now(&f.pair)));
	fixture_stop(&f);
}

/* One lost answer of many READs: all behind it are asked for again, in one round. */
static void responder__one_round_of_many_reads(void **state)
{
	(void)state;
	start();
	fixture_lose(&f, 0, 1);
	for (uint64_t i = 1; i <= 4; i++)
		fixture_post(&f, 0, ROCE_WR_RDMA_READ, i, 64, 0);
	fixture_expect_within(&f, 10 * ROCE_NS_PER_MS,
			      "0 cqe 1 READ SUCCESS\n0 cqe 2 READ SUCCESS\n"
			      "0 cqe 3 READ SUCCESS\n0 cqe 4 READ SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_DUPLICATE), 4);
	assert_int_equal(suspended(1), 0);
	fixture_stop(&f);
}

/* Each round brings a bit: it begins elsewhere than the last one. */
static void responder__rounds_with_progress(void **state)
{
	(void)state;
	start();
	fixture_lose(&f, 0, 1 << 1 | 1 << 9 | 1 << 16); /* the second packet of each round */
	fixture_post(&f, 0, ROCE_WR_RDMA_READ, 1, 8 * 1024, 0);
	fixture_expect_within(&f, 50 * ROCE_NS_PER_MS, "0 cqe 1 READ SUCCESS\n");
	assert_int_equal(sim_counter(&f.pair.hosts[1], ROCE_RX_DUPLICATE), 3);
	assert_int_equal(suspended(1), 0);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requester__three_rounds_without_progress),
		cmocka_unit_test(requester__naks_count),
		cmocka_unit_test(suspension__ends_and_doubles),
		cmocka_unit_test(suspension__has_a_longest),
		cmocka_unit_test(responder__read_asked_for_again),
		cmocka_unit_test(responder__one_round_of_many_reads),
		cmocka_unit_test(responder__rounds_with_progress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
