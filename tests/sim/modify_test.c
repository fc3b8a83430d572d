/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * roce_qp_modify() against the specification's table, typed here a second time: every pair of
 * states with every single attribute missing or too many, wrong values, and what a refusal leaves
 * behind (nothing changed).
 */
#include "fixture.h"

#include <string.h>

#define PKEY   ROCE_ATTR_PKEY_INDEX
#define PORT   ROCE_ATTR_PORT
#define QKEY   ROCE_ATTR_QKEY
#define ACC    ROCE_ATTR_ACCESS_FLAGS
#define AV     ROCE_ATTR_AV
#define MTU    ROCE_ATTR_PATH_MTU
#define DQPN   ROCE_ATTR_DEST_QPN
#define RQPSN  ROCE_ATTR_RQ_PSN
#define SQPSN  ROCE_ATTR_SQ_PSN
#define MDRA   ROCE_ATTR_MAX_DEST_RD_ATOMIC
#define MRA    ROCE_ATTR_MAX_QP_RD_ATOMIC
#define RNRT   ROCE_ATTR_MIN_RNR_TIMER
#define TO     ROCE_ATTR_TIMEOUT
#define RTRY   ROCE_ATTR_RETRY_CNT
#define RNRR   ROCE_ATTR_RNR_RETRY
#define ALT    ROCE_ATTR_ALT_PATH
#define MIG    ROCE_ATTR_PATH_MIG_STATE
#define CUR    ROCE_ATTR_CUR_STATE
#define SQDN   ROCE_ATTR_EN_SQD_ASYNC_NOTIFY

#define STATES 7u

/* A state pair that is not here for a type is refused. Leaving for RESET or ERR needs nothing. */
struct row {
	const char *types; /* one letter each: RC, UC, UD (D), XRC initiator and target */
	uint8_t from;
	uint8_t to;
	uint32_t required;
	uint32_t optional;
};

static const struct row rows[] = {
	{"RUIT", ROCE_QP_RESET, ROCE_QP_INIT, PKEY | PORT | ACC, 0},
	{"D", ROCE_QP_RESET, ROCE_QP_INIT, PKEY | PORT | QKEY, 0},
	{"RUIT", ROCE_QP_INIT, ROCE_QP_INIT, 0, PKEY | PORT | ACC},
	{"D", ROCE_QP_INIT, ROCE_QP_INIT, 0, PKEY | PORT | QKEY},
	{"RT", ROCE_QP_INIT, ROCE_QP_RTR, AV | MTU | DQPN | RQPSN | MDRA | RNRT, ALT | ACC | PKEY},
	{"UI", ROCE_QP_INIT, ROCE_QP_RTR, AV | MTU | DQPN | RQPSN, ALT | ACC | PKEY},
	{"D", ROCE_QP_INIT, ROCE_QP_RTR, 0, PKEY | QKEY},
	{"R", ROCE_QP_RTR, ROCE_QP_RTS, TO | RTRY | RNRR | SQPSN | MRA,
	 CUR | ALT | ACC | RNRT | MIG},
	{"I", ROCE_QP_RTR, ROCE_QP_RTS, TO | RTRY | RNRR | SQPSN | MRA, CUR | ALT | ACC | MIG},
	{"T", ROCE_QP_RTR, ROCE_QP_RTS, TO | SQPSN, CUR | ALT | ACC | RNRT | MIG},
	{"U", ROCE_QP_RTR, ROCE_QP_RTS, SQPSN, CUR | ALT | ACC | MIG},
	{"D", ROCE_QP_RTR, ROCE_QP_RTS, SQPSN, CUR | QKEY},
	{"RT", ROCE_QP_RTS, ROCE_QP_RTS, 0, CUR | ACC | ALT | MIG | RNRT},
	{"UI", ROCE_QP_RTS, ROCE_QP_RTS, 0, CUR | ACC | ALT | MIG},
	{"D", ROCE_QP_RTS, ROCE_QP_RTS, 0, CUR | QKEY},
	{"RUDIT", ROCE_QP_RTS, ROCE_QP_SQD, 0, SQDN},
	{"RT", ROCE_QP_SQD, ROCE_QP_RTS, 0, CUR | ALT | ACC | RNRT | MIG},
	{"UI", ROCE_QP_SQD, ROCE_QP_RTS, 0, CUR | ALT | ACC | MIG},
	{"D", ROCE_QP_SQD, ROCE_QP_RTS, 0, CUR | QKEY},
	{"R", ROCE_QP_SQD, ROCE_QP_SQD, 0,
	 PORT | AV | TO | RTRY | RNRR | MRA | MDRA | ALT | ACC | PKEY | RNRT | MIG},
	{"I", ROCE_QP_SQD, ROCE_QP_SQD, 0,
	 PORT | AV | TO | RTRY | RNRR | MRA | ALT | ACC | PKEY | MIG},
	{"T", ROCE_QP_SQD, ROCE_QP_SQD, 0, PORT | AV | TO | MDRA | ALT | ACC | PKEY | RNRT | MIG},
	{"U", ROCE_QP_SQD, ROCE_QP_SQD, 0, AV | ALT | ACC | PKEY | MIG},
	{"D", ROCE_QP_SQD, ROCE_QP_SQD, 0, PKEY | QKEY},
	{"U", ROCE_QP_SQE, ROCE_QP_RTS, 0, CUR | ACC},
	{"D", ROCE_QP_SQE, ROCE_QP_RTS, 0, CUR | QKEY},
	{"RUDIT", ROCE_QP_RESET, ROCE_QP_RESET, 0, 0},
	{"RUDIT", ROCE_QP_INIT, ROCE_QP_RESET, 0, 0},
	{"RUDIT", ROCE_QP_RTR, ROCE_QP_RESET, 0, 0},
	{"RUDIT", ROCE_QP_RTS, ROCE_QP_RESET, 0, 0},
	{"RUDIT", ROCE_QP_SQD, ROCE_QP_RESET, 0, 0},
	{"RUDIT", ROCE_QP_SQE, ROCE_QP_RESET, 0, 0},
	{"RUDIT", ROCE_QP_ERR, ROCE_QP_RESET, 0, 0},
	{"RUDIT", ROCE_QP_INIT, ROCE_QP_ERR, 0, 0},
	{"RUDIT", ROCE_QP_RTR, ROCE_QP_ERR, 0, 0},
	{"RUDIT", ROCE_QP_RTS, ROCE_QP_ERR, 0, 0},
	{"RUDIT", ROCE_QP_SQD, ROCE_QP_ERR, 0, 0},
	{"RUDIT", ROCE_QP_SQE, ROCE_QP_ERR, 0, 0},
	{"RUDIT", ROCE_QP_ERR, ROCE_QP_ERR, 0, 0},
};

static const struct {
	char letter;
	enum roce_qp_type type;
} types[] = {
	{'R', ROCE_QP_RC},	{'U', ROCE_QP_UC},	{'D', ROCE_QP_UD},
	{'I', ROCE_QP_XRC_INI}, {'T', ROCE_QP_XRC_TGT},
};

static char type = 'R'; /* of the QP under test */

/* Bits of enum ibv_qp_attr_mask but STATE, those of no row included. */
static const uint32_t all_bits[] = {
	CUR,  SQDN,  ACC,  PKEY, PORT,		QKEY, AV,
	MTU,  TO,    RTRY, RNRR, RQPSN,		MRA,  ALT,
	RNRT, SQPSN, MDRA, MIG,	 ROCE_ATTR_CAP, DQPN, ROCE_ATTR_RATE_LIMIT,
};

static struct fixture f;

static const struct row *row_of(uint8_t from, uint8_t to)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].from == from && rows[i].to == to && strchr(rows[i].types, type))
			return &rows[i];
	return NULL;
}

static struct roce_qp_attr good_attr(uint8_t from, uint8_t to)
{
	struct roce_qp_attr attr;

	sim_conn_attr(&f.pair, 0, f.a, f.b, &f.conn, &attr);
	attr.state = to;
	attr.cur_state = from;
	return attr;
}

/* A fresh QP in `from`: what the way there sets is set. */
static void start_in(uint8_t from)
{
	static const uint8_t way[] = {ROCE_QP_INIT, ROCE_QP_RTR, ROCE_QP_RTS, ROCE_QP_SQD};
	uint32_t bad;

	fixture_init(&f);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].letter == type)
			f.types[0] = (uint8_t)types[i].type;
	fixture_start(&f, false);
	if (from == ROCE_QP_RESET)
		return;
	for (size_t i = 0; i < sizeof(way); i++) {
		struct roce_qp_attr attr = good_attr(0, way[i]);
		uint32_t mask = row_of(i ? way[i - 1] : (uint8_t)ROCE_QP_RESET, way[i])->required;

		assert_int_equal(roce_qp_modify(f.a, &attr, mask | ROCE_ATTR_STATE, 0, &bad),
				 ROCE_MODIFY_OK);
		if (way[i] == from)
			return;
	}
	/* SQE and ERR are not entered by asking, or by asking from anywhere */
	f.a->attr.state = from;
}

/* One modify on a fresh QP; a refusal must change nothing. */
static void check(uint8_t from, uint8_t to, uint32_t mask, enum roce_modify_result expected,
		  uint32_t expected_bad)
{
	struct roce_qp_attr attr;
	struct roce_qp before;
	uint32_t bad = 12345;
	enum roce_modify_result result;

	start_in(from);
	attr = good_attr(from, to);
	before = *f.a;
	result = roce_qp_modify(f.a, &attr, mask | ROCE_ATTR_STATE, 0, &bad);
	if (result != expected || bad != expected_bad)
		fail_msg("%c %u -> %u mask 0x%x: result %d not %d, bad 0x%x not 0x%x", type, from,
			 to, mask, result, expected, bad, expected_bad);
	if (expected == ROCE_MODIFY_OK)
		assert_int_equal(f.a->attr.state, to);
	else
		assert_memory_equal(&before, f.a, sizeof(before));
	fixture_stop(&f);
}

static void check_every_transition(void)
{
	for (uint8_t from = 0; from < STATES; from++) {
		for (uint8_t to = 0; to < STATES; to++) {
			const struct row *row = row_of(from, to);

			if (!row) {
				check(from, to, 0, ROCE_MODIFY_BAD_TRANSITION, ROCE_ATTR_STATE);
				continue;
			}
			check(from, to, row->required, ROCE_MODIFY_OK, 0);
			check(from, to, row->required | row->optional, ROCE_MODIFY_OK, 0);
			for (size_t i = 0; i < sizeof(all_bits) / sizeof(all_bits[0]); i++) {
				uint32_t bit = all_bits[i];

				if (row->required & bit)
					check(from, to, row->required & ~bit, ROCE_MODIFY_MISSING,
					      bit);
				else if (row->optional & bit)
					check(from, to, row->required | bit, ROCE_MODIFY_OK, 0);
				else
					check(from, to, row->required | bit, ROCE_MODIFY_UNEXPECTED,
					      bit);
			}
		}
	}
	check(ROCE_QP_RTS, STATES, 0, ROCE_MODIFY_BAD_TRANSITION, ROCE_ATTR_STATE);
}

static void modify__every_transition_and_attribute(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		type = types[i].letter;
		check_every_transition();
	}
	type = 'R';
}

/* Without STATE the QP stays where it is, by the same table. */
static void modify__without_state(void **state)
{
	struct roce_qp_attr attr;
	uint32_t bad;

	(void)state;
	start_in(ROCE_QP_RTS);
	attr = good_attr(ROCE_QP_RTS, ROCE_QP_INIT);
	attr.min_rnr_timer = 3;
	assert_int_equal(roce_qp_modify(f.a, &attr, RNRT, 0, &bad), ROCE_MODIFY_OK);
	assert_int_equal(f.a->attr.state, ROCE_QP_RTS);
	assert_int_equal(f.a->attr.min_rnr_timer, 3);
	assert_int_equal(roce_qp_modify(f.a, &attr, PORT, 0, &bad), ROCE_MODIFY_UNEXPECTED);
	assert_int_equal(bad, PORT);
	fixture_stop(&f);
}

static void modify__cur_state_must_be_true(void **state)
{
	struct roce_qp_attr attr;
	uint32_t bad;

	(void)state;
	start_in(ROCE_QP_RTS);
	attr = good_attr(ROCE_QP_SQD, ROCE_QP_RTS);
	assert_int_equal(roce_qp_modify(f.a, &attr, ROCE_ATTR_STATE | CUR, 0, &bad),
			 ROCE_MODIFY_WRONG_CUR_STATE);
	assert_int_equal(bad, CUR);
	fixture_stop(&f);
}

/* Values out of range, one at a time. */
static void modify__bad_values(void **state)
{
	static const struct {
		uint8_t from;
		uint8_t to;
		uint32_t bit;
		size_t offset;
		size_t size;
		uint32_t value;
	} cases[] = {
#define FIELD(name) offsetof(struct roce_qp_attr, name), sizeof(((struct roce_qp_attr *)0)->name)
		{ROCE_QP_INIT, ROCE_QP_RTR, MTU, FIELD(path_mtu), 0},
		{ROCE_QP_INIT, ROCE_QP_RTR, MTU, FIELD(path_mtu), 6},
		{ROCE_QP_INIT, ROCE_QP_RTR, RNRT, FIELD(min_rnr_timer), 32},
		{ROCE_QP_INIT, ROCE_QP_RTR, MDRA, FIELD(max_dest_rd_atomic), 17},
		{ROCE_QP_INIT, ROCE_QP_RTR, DQPN, FIELD(dest_qpn), 0x1000000},
		{ROCE_QP_RTR, ROCE_QP_RTS, TO, FIELD(timeout), 32},
		{ROCE_QP_RTR, ROCE_QP_RTS, RTRY, FIELD(retry_cnt), 8},
		{ROCE_QP_RTR, ROCE_QP_RTS, RNRR, FIELD(rnr_retry), 8},
		{ROCE_QP_RTR, ROCE_QP_RTS, MRA, FIELD(max_rd_atomic), 17},
#undef FIELD
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct roce_qp_attr attr;
		struct roce_qp before;
		uint32_t bad;

		start_in(cases[i].from);
		attr = good_attr(cases[i].from, cases[i].to);
		memcpy((uint8_t *)&attr + cases[i].offset, &cases[i].value, cases[i].size);
		before = *f.a;
		assert_int_equal(roce_qp_modify(f.a, &attr,
						row_of(cases[i].from, cases[i].to)->required |
							ROCE_ATTR_STATE,
						0, &bad),
				 ROCE_MODIFY_BAD_VALUE);
		assert_int_equal(bad, cases[i].bit);
		assert_memory_equal(&before, f.a, sizeof(before));
		fixture_stop(&f);
	}
}

/* case_018: an address vector without addresses. */
static void modify__case_018(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		struct roce_qp_attr attr;
		uint32_t bad;

		start_in(ROCE_QP_INIT);
		attr = good_attr(ROCE_QP_INIT, ROCE_QP_RTR);
		memset(i ? &attr.path.sgid : &attr.path.dgid, 0, sizeof(struct roce_gid));
		assert_int_equal(roce_qp_modify(f.a, &attr,
						row_of(ROCE_QP_INIT, ROCE_QP_RTR)->required |
							ROCE_ATTR_STATE,
						0, &bad),
				 ROCE_MODIFY_BAD_VALUE);
		assert_int_equal(bad, AV);
		fixture_stop(&f);
	}
}

/* Only what the mask names is taken. */
static void modify__leaves_the_rest_alone(void **state)
{
	struct roce_qp_attr attr;
	struct roce_qp_attr before;
	uint32_t bad;

	(void)state;
	start_in(ROCE_QP_SQD);
	before = f.a->attr;
	attr = good_attr(ROCE_QP_SQD, ROCE_QP_SQD);
	attr.path_mtu = 5;
	attr.port_num = 9;
	attr.max_rd_atomic = 9;
	attr.max_dest_rd_atomic = 9;
	attr.min_rnr_timer = 9;
	attr.timeout = 9;
	attr.retry_cnt = 3;
	attr.rnr_retry = 3;
	attr.en_sqd_async_notify = 1;
	attr.pkey_index = 9;
	attr.access_flags = 0;
	attr.qkey = 9;
	attr.dest_qpn = 9;
	attr.rq_psn = 9;
	attr.sq_psn = 9;
	attr.path.hop_limit = 9;
	assert_int_equal(roce_qp_modify(f.a, &attr, ROCE_ATTR_STATE, 0, &bad), ROCE_MODIFY_OK);
	assert_memory_equal(&before, &f.a->attr, sizeof(before));
	assert_int_equal(f.a->req.retries_left, before.retry_cnt);
	assert_int_equal(f.a->req.rnr_retries_left, before.rnr_retry);

	assert_int_equal(roce_qp_modify(f.a, &attr, ROCE_ATTR_STATE | TO | RTRY | RNRR, 0, &bad),
			 ROCE_MODIFY_OK);
	before.timeout = 9;
	before.retry_cnt = 3;
	before.rnr_retry = 3;
	assert_memory_equal(&before, &f.a->attr, sizeof(before));
	assert_int_equal(f.a->req.retries_left, 3);
	assert_int_equal(f.a->req.rnr_retries_left, 3);

	assert_int_equal(
		roce_qp_modify(f.a, &attr,
			       ROCE_ATTR_STATE | MRA | MDRA | RNRT | ACC | PORT | PKEY | AV, 0,
			       &bad),
		ROCE_MODIFY_OK);
	before.max_rd_atomic = 9;
	before.max_dest_rd_atomic = 9;
	before.min_rnr_timer = 9;
	before.access_flags = 0;
	before.port_num = 9;
	before.pkey_index = 9;
	before.path = attr.path;
	before.peer = attr.peer;
	assert_memory_equal(&before, &f.a->attr, sizeof(before));
	fixture_stop(&f);
}

/* PSNs are masked to 24 bits. */
static void modify__psns_are_masked(void **state)
{
	struct roce_qp_attr attr;
	uint32_t bad;

	(void)state;
	start_in(ROCE_QP_INIT);
	attr = good_attr(ROCE_QP_INIT, ROCE_QP_RTR);
	attr.rq_psn = 0xab123456;
	assert_int_equal(
		roce_qp_modify(f.a, &attr,
			       row_of(ROCE_QP_INIT, ROCE_QP_RTR)->required | ROCE_ATTR_STATE, 0,
			       &bad),
		ROCE_MODIFY_OK);
	assert_int_equal(f.a->attr.rq_psn, 0x123456);
	attr.sq_psn = 0xff654321;
	attr.state = ROCE_QP_RTS;
	assert_int_equal(
		roce_qp_modify(f.a, &attr,
			       row_of(ROCE_QP_RTR, ROCE_QP_RTS)->required | ROCE_ATTR_STATE, 0,
			       &bad),
		ROCE_MODIFY_OK);
	assert_int_equal(f.a->attr.sq_psn, 0x654321);
	fixture_stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modify__every_transition_and_attribute),
		cmocka_unit_test(modify__without_state),
		cmocka_unit_test(modify__cur_state_must_be_true),
		cmocka_unit_test(modify__bad_values),
		cmocka_unit_test(modify__case_018),
		cmocka_unit_test(modify__leaves_the_rest_alone),
		cmocka_unit_test(modify__psns_are_masked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
