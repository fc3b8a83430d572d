/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of state changes through ibv_modify_qp() on an RC queue pair: every pair of states,
 * with the attributes that are required, each of them missing, each optional one added, each other
 * one added. Expected answers are written down here once more, apart from the table that is tested.
 */
#include "lo_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#define STATES 7 /* RESET to ERR */

/* Attributes that have a valid value in lo_attr(); IBV_QP_STATE apart. */
#define ALL_ATTRS                                                                             \
	(IBV_QP_EN_SQD_ASYNC_NOTIFY | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT | \
	 IBV_QP_QKEY | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |      \
	 IBV_QP_RNR_RETRY | IBV_QP_RQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER |  \
	 IBV_QP_SQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_CAP | IBV_QP_DEST_QPN |           \
	 IBV_QP_RATE_LIMIT | IBV_QP_CUR_STATE | IBV_QP_PATH_MIG_STATE)

struct rule {
	bool is_allowed;
	int required;
	int optional;
};

static struct rule rule_of(int from, int to)
{
	static const struct {
		int from;
		int to;
		int required;
		int optional;
	} rows[] = {
		{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		 0},
		{IBV_QPS_INIT, IBV_QPS_INIT, 0,
		 IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
		{IBV_QPS_INIT, IBV_QPS_RTR,
		 IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		 IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
		{IBV_QPS_RTR, IBV_QPS_RTS,
		 IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			 IBV_QP_MAX_QP_RD_ATOMIC,
		 IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
			 IBV_QP_PATH_MIG_STATE},
		{IBV_QPS_RTS, IBV_QPS_RTS, 0,
		 IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
			 IBV_QP_PATH_MIG_STATE},
		{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
		{IBV_QPS_SQD, IBV_QPS_RTS, 0,
		 IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
			 IBV_QP_PATH_MIG_STATE},
		{IBV_QPS_SQD, IBV_QPS_SQD, 0,
		 IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			 IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ACCESS_FLAGS |
			 IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE},
	};

	if (to == IBV_QPS_RESET || (to == IBV_QPS_ERR && from != IBV_QPS_RESET))
		return (struct rule){.is_allowed = true};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].from == from && rows[i].to == to)
			return (struct rule){true, rows[i].required, rows[i].optional};
	return (struct rule){0};
}

static bool is_right(const struct rule *rule, int mask)
{
	return rule->is_allowed && (mask & rule->required) == rule->required &&
	       !(mask & ~(rule->required | rule->optional));
}

static int tried;

/* One queue pair, brought to `from`, asked once; a refusal must leave the state as it was. */
static void try_once(struct lo_device *lo, int from, int to, int mask)
{
	struct rule rule = rule_of(from, to);
	struct ibv_qp *qp = lo_make_qp(lo);
	struct ibv_qp_attr attr = lo_attr(lo, qp->qp_num);
	struct ibv_qp_attr now;
	struct ibv_qp_init_attr init;
	int expected = is_right(&rule, mask) ? 0 : EINVAL;
	int err;

	assert_int_equal(lo_bring(lo, qp, qp->qp_num, (enum ibv_qp_state)from), 0);
	attr.qp_state = (enum ibv_qp_state)to;
	attr.cur_qp_state = (enum ibv_qp_state)from;
	err = ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask);
	if (err != expected)
		printf("%d to %d with mask 0x%x: %d, want %d\n", from, to, (unsigned int)mask, err,
		       expected);
	assert_int_equal(err, expected);
	assert_int_equal(ibv_query_qp(qp, &now, IBV_QP_STATE, &init), 0);
	assert_int_equal(now.qp_state, expected ? from : to);
	assert_int_equal(qp->state, now.qp_state);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	tried++;
}

static void every_transition(void **state)
{
	struct lo_device lo;

	(void)state;
	lo_open(&lo);
	for (int from = 0; from < STATES; from++) {
		if (from == IBV_QPS_SQE) /* not for RC */
			continue;
		for (int to = 0; to < STATES; to++) {
			int required = rule_of(from, to).required;

			try_once(&lo, from, to, required);
			for (int bit = 1; bit <= ALL_ATTRS; bit <<= 1)
				if (bit & ALL_ATTRS)
					try_once(&lo, from, to, required ^ bit);
		}
	}
	lo_close(&lo);
	assert_in_range(tried, 6 * STATES * 20, 6 * STATES * 21 + 1);
}

static void values(void **state)
{
	struct lo_device lo;
	struct ibv_qp *qp;
	struct ibv_qp_attr attr;

	(void)state;
	lo_open(&lo);
	qp = lo_make_qp(&lo);
	assert_int_equal(lo_bring(&lo, qp, qp->qp_num, IBV_QPS_RTR), 0);
#define REFUSED(field, value, mask)                                         \
	do {                                                                \
		attr = lo_attr(&lo, qp->qp_num);                            \
		attr.qp_state = IBV_QPS_RTS;                                \
		attr.cur_qp_state = IBV_QPS_RTR;                            \
		attr.field = (value);                                       \
		assert_int_equal(ibv_modify_qp(qp, &attr, (mask)), EINVAL); \
	} while (0)
	REFUSED(timeout, 32, LO_RTS_MASK);
	REFUSED(retry_cnt, 8, LO_RTS_MASK);
	REFUSED(rnr_retry, 8, LO_RTS_MASK);
	REFUSED(max_rd_atomic, 17, LO_RTS_MASK);
	REFUSED(min_rnr_timer, 32, LO_RTS_MASK | IBV_QP_MIN_RNR_TIMER);
	REFUSED(cur_qp_state, IBV_QPS_INIT, LO_RTS_MASK | IBV_QP_CUR_STATE);
	REFUSED(qp_state, (enum ibv_qp_state)7, LO_RTS_MASK);
	REFUSED(qp_state, (enum ibv_qp_state)256, IBV_QP_STATE);
	assert_int_equal(ibv_destroy_qp(qp), 0);

	qp = lo_make_qp(&lo);
	assert_int_equal(lo_bring(&lo, qp, qp->qp_num, IBV_QPS_INIT), 0);
#undef REFUSED
#define REFUSED(field, value)                                                    \
	do {                                                                     \
		attr = lo_attr(&lo, qp->qp_num);                                 \
		attr.qp_state = IBV_QPS_RTR;                                     \
		attr.field = (value);                                            \
		assert_int_equal(ibv_modify_qp(qp, &attr, LO_RTR_MASK), EINVAL); \
	} while (0)
	REFUSED(path_mtu, (enum ibv_mtu)0);
	REFUSED(path_mtu, (enum ibv_mtu)6);
	REFUSED(path_mtu, (enum ibv_mtu)(256 + 3));
	REFUSED(max_dest_rd_atomic, 17);
	REFUSED(dest_qp_num, 1u << 24);
	REFUSED(ah_attr.is_global, 0);
	REFUSED(ah_attr.port_num, 0);
	REFUSED(ah_attr.port_num, 2);
	REFUSED(ah_attr.grh.sgid_index, 100);
	REFUSED(ah_attr.grh.dgid, (union ibv_gid){{0}});
	attr = lo_attr(&lo, qp->qp_num);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr, LO_RTR_MASK), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	lo_close(&lo);
}

static void query__gives_back_what_was_set(void **state)
{
	struct lo_device lo;
	struct ibv_qp *qp;
	struct ibv_qp_attr set;
	struct ibv_qp_attr got;
	struct ibv_qp_init_attr init;

	(void)state;
	lo_open(&lo);
	qp = lo_make_qp(&lo);
	assert_int_equal(lo_bring(&lo, qp, qp->qp_num, IBV_QPS_RTS), 0);
	set = lo_attr(&lo, qp->qp_num);
	assert_int_equal(ibv_query_qp(qp, &got, 0, &init), 0);
	assert_int_equal(got.qp_state, IBV_QPS_RTS);
	assert_int_equal(got.path_mtu, set.path_mtu);
	assert_int_equal(got.dest_qp_num, set.dest_qp_num);
	assert_int_equal(got.qp_access_flags, set.qp_access_flags);
	assert_int_equal(got.max_rd_atomic, set.max_rd_atomic);
	assert_int_equal(got.max_dest_rd_atomic, set.max_dest_rd_atomic);
	assert_int_equal(got.min_rnr_timer, set.min_rnr_timer);
	assert_int_equal(got.timeout, set.timeout);
	assert_int_equal(got.retry_cnt, set.retry_cnt);
	assert_int_equal(got.rnr_retry, set.rnr_retry);
	assert_int_equal(got.port_num, 1);
	assert_int_equal(got.ah_attr.is_global, 1);
	assert_int_equal(got.ah_attr.grh.hop_limit, 64);
	assert_memory_equal(&got.ah_attr.grh.dgid, &set.ah_attr.grh.dgid, sizeof(union ibv_gid));
	assert_in_range(got.cap.max_send_wr, 8, 16384);
	assert_int_equal(got.cap.max_send_wr, init.cap.max_send_wr);
	assert_int_equal(got.cap.max_inline_data, 64);
	assert_ptr_equal(init.send_cq, lo.cq);
	assert_ptr_equal(init.qp_context, &lo);
	assert_int_equal(init.qp_type, IBV_QPT_RC);
	assert_int_equal(init.sq_sig_all, 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	lo_close(&lo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_transition),
		cmocka_unit_test(values),
		cmocka_unit_test(query__gives_back_what_was_set),
	};

	lo_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
