/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CNPs as a peer or a stranger may send them: each check of them is broken alone, and what is
 * refused slows nobody down. A CNP needs no sequence number, so this is all there is against
 * forgers.
 */
#include "fixture.h"

#include "wire/headers.h"
#include "wire/opcode.h"

#include <string.h>

#define LINE 100000000u /* kbit/s */

static struct fixture f;
static struct roce_cc_config cc;

static void init(void)
{
	fixture_init(&f);
	cc = (struct roce_cc_config){
		.ops = &roce_cc_dcqcn,
		.params = roce_cc_find_set(&roce_cc_dcqcn, "paper", 5)->params,
		.line_kbit_per_s = LINE,
	};
	f.tuning.cc = &cc;
	roce_cc_dcqcn.notify_config(&cc.params, &f.tuning.notify);
}

/* From the peer to `f.a`. */
static struct roce_link_pkt cnp_to_a(void)
{
	struct roce_link_pkt pkt = {
		.hdr = {.opcode = roce_opcode_make(ROCE_CNP),
			.becn = true,
			.pkey = 0xffff,
			.dest_qpn = f.a->cfg.qpn},
		.src = f.pair.hosts[1].gid,
		.dst = f.pair.hosts[0].gid,
	};

	return pkt;
}

static enum roce_verdict receive(const struct roce_link_pkt *pkt)
{
	static const uint8_t more[16];
	struct roce_rx_pkt rx = {
		.hdr = pkt->hdr,
		.payload = more,
		.payload_len = pkt->payload_len,
		.src = &pkt->src,
		.dst = &pkt->dst,
	};

	return roce_rx(&f.pair.hosts[0].transport, &rx, sim_pair_now(&f.pair));
}

static uint32_t rate_of_a(void)
{
	return roce_qp_controlled_rate(f.a, sim_pair_now(&f.pair));
}

static void rx__good(void **state)
{
	struct roce_link_pkt pkt;

	(void)state;
	init();
	fixture_start(&f, true);
	pkt = cnp_to_a();
	/* What a CNP has no use for is not looked at. */
	pkt.hdr.psn = roce_psn_make(0x123456);
	pkt.hdr.ack_req = true;
	assert_int_equal(receive(&pkt), ROCE_RX_CNP_HANDLED);
	assert_int_equal(rate_of_a(), LINE / 2);
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_RX_CNP_HANDLED), 1);
	fixture_expect(&f, ""); /* nobody answers a CNP */
	fixture_stop(&f);
}

static void other_qpn(struct roce_link_pkt *pkt)
{
	pkt->hdr.dest_qpn.v ^= 1;
}

static void colliding_qpn(struct roce_link_pkt *pkt)
{
	pkt->hdr.dest_qpn.v ^= 0x8000;
}

static void source(struct roce_link_pkt *pkt)
{
	pkt->src.raw[15] ^= 0x40;
}

static void destination(struct roce_link_pkt *pkt)
{
	pkt->dst.raw[15] ^= 0x40;
}

static void pkey(struct roce_link_pkt *pkt)
{
	pkt->hdr.pkey = 0x8001;
}

static void too_long(struct roce_link_pkt *pkt)
{
	pkt->payload_len = 16;
}

static void pad(struct roce_link_pkt *pkt)
{
	pkt->hdr.pad_count = 1;
}

static const struct {
	const char *name;
	void (*change)(struct roce_link_pkt *pkt);
	enum roce_verdict verdict;
} cases[] = {
	{"no QP of that number", other_qpn, ROCE_RX_NO_QP},
	{"another QP's place", colliding_qpn, ROCE_RX_NO_QP},
	{"source", source, ROCE_RX_WRONG_ADDRESS},
	{"destination", destination, ROCE_RX_WRONG_ADDRESS},
	{"P_Key", pkey, ROCE_RX_BAD_PKEY},
	{"bytes behind it", too_long, ROCE_RX_BAD_LENGTH},
	{"pad", pad, ROCE_RX_BAD_LENGTH},
};

static void rx__forged(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct roce_link_pkt pkt;
		enum roce_verdict verdict;

		init();
		fixture_start(&f, true);
		pkt = cnp_to_a();
		cases[i].change(&pkt);
		verdict = receive(&pkt);
		if (verdict != cases[i].verdict || rate_of_a() != LINE)
			fail_msg("%s: %s, rate %u", cases[i].name, roce_counter_str(verdict),
				 rate_of_a());
		assert_int_equal(sim_counter(&f.pair.hosts[0], verdict), 1);
		assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_RX_CNP_HANDLED), 0);
		fixture_expect(&f, "");
		fixture_stop(&f);
	}
}

/* Shorter than its 16 bytes: the decoder lets none through. */
static void rx__too_short(void **state)
{
	const struct roce_headers hdr = {.opcode = roce_opcode_make(ROCE_CNP), .becn = true};
	struct roce_headers out;
	const uint8_t *payload;
	uint8_t bytes[64] = {0};
	uint32_t payload_len;
	size_t length = roce_headers_encode(&hdr, bytes) + ROCE_ICRC_BYTES;

	(void)state;
	assert_int_equal(length, 12 + 16 + 4);
	assert_int_equal(roce_headers_decode(bytes, length, &out, &payload, &payload_len),
			 ROCE_DECODE_OK);
	assert_true(out.becn);
	for (size_t i = 16; i < length; i++)
		assert_int_equal(roce_headers_decode(bytes, i, &out, &payload, &payload_len),
				 ROCE_DECODE_HEADERS_CUT);
}

static void rx__states(void **state)
{
	static const struct {
		enum roce_qp_state state;
		enum roce_verdict verdict;
	} states[] = {
		{ROCE_QP_RESET, ROCE_RX_WRONG_STATE}, {ROCE_QP_INIT, ROCE_RX_WRONG_STATE},
		{ROCE_QP_RTR, ROCE_RX_CNP_HANDLED},   {ROCE_QP_RTS, ROCE_RX_CNP_HANDLED},
		{ROCE_QP_SQD, ROCE_RX_CNP_HANDLED},   {ROCE_QP_ERR, ROCE_RX_WRONG_STATE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		struct roce_link_pkt pkt;

		init();
		fixture_start(&f, true);
		pkt = cnp_to_a();
		f.a->attr.state = (uint8_t)states[i].state;
		assert_int_equal(receive(&pkt), states[i].verdict);
		fixture_stop(&f);
	}
}

/* Where no controller is on, a CNP is counted as ignored. */
static void rx__ignored(void **state)
{
	struct roce_link_pkt pkt;

	(void)state;
	init();
	f.tuning.cc = NULL;
	fixture_start(&f, true);
	pkt = cnp_to_a();
	assert_int_equal(receive(&pkt), ROCE_RX_CNP_IGNORED);
	assert_int_equal(roce_qp_controlled_rate(f.a, 0), 0);
	assert_int_equal(sim_counter(&f.pair.hosts[0], ROCE_RX_CNP_HANDLED), 0);
	fixture_stop(&f);
}

/* A UD queue pair has no rate of its own. */
static void rx__datagrams(void **state)
{
	struct roce_link_pkt pkt;

	(void)state;
	init();
	f.types[0] = f.types[1] = ROCE_QP_UD;
	fixture_start(&f, true);
	pkt = cnp_to_a();
	assert_int_equal(receive(&pkt), ROCE_RX_WRONG_TRANSPORT);
	assert_int_equal(rate_of_a(), 0);
	fixture_stop(&f);
}

/* A RESET forgets how slow the connection was. */
static void reset__forgets(void **state)
{
	struct roce_link_pkt pkt;

	(void)state;
	init();
	fixture_start(&f, true);
	pkt = cnp_to_a();
	assert_int_equal(receive(&pkt), ROCE_RX_CNP_HANDLED);
	assert_int_equal(rate_of_a(), LINE / 2);
	assert_int_equal(sim_pair_set_state(&f.pair, 0, f.a, ROCE_QP_RESET), ROCE_MODIFY_OK);
	assert_int_equal(rate_of_a(), LINE);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rx__good),	  cmocka_unit_test(rx__forged),
		cmocka_unit_test(rx__too_short),  cmocka_unit_test(rx__states),
		cmocka_unit_test(rx__ignored),	  cmocka_unit_test(rx__datagrams),
		cmocka_unit_test(reset__forgets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
