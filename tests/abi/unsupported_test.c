/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every public call of something that the device does not have: an error in the call's own style,
 * and no crash.
 */
#include "lo_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define GIVES_NULL(call)                             \
	do {                                         \
		errno = 0;                           \
		assert_null(call);                   \
		assert_int_equal(errno, EOPNOTSUPP); \
	} while (0)
#define GIVES_ERRNO(call) assert_int_equal((call), EOPNOTSUPP)

static void tag_matching(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_srq_init_attr_ex ex = {.comp_mask =
						  IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
					  .srq_type = IBV_SRQT_TM,
					  .pd = lo->pd};
	struct ibv_srq none = {.context = lo->context};
	struct ibv_ops_wr op = {0};
	struct ibv_ops_wr *bad_op = NULL;

	GIVES_NULL(ibv_create_srq_ex(lo->context, &ex));
	GIVES_ERRNO(ibv_post_srq_ops(&none, &op, &bad_op));
}

static void foreign_memory(void **state)
{
	struct lo_device *lo = *state;

	GIVES_NULL(ibv_reg_dmabuf_mr(lo->pd, 0, 64, 0, 0, 0));
}

static void queues(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_wq_init_attr wq_attr = {0};
	struct ibv_wq_attr wq_modify = {0};
	struct ibv_wq wq = {.context = lo->context};
	struct ibv_rwq_ind_table_init_attr table_attr = {0};
	struct ibv_rwq_ind_table table = {.context = lo->context};
	struct ibv_qp *qp = lo_make_qp(lo);

	GIVES_NULL(ibv_create_wq(lo->context, &wq_attr));
	GIVES_ERRNO(ibv_modify_wq(&wq, &wq_modify));
	GIVES_ERRNO(ibv_destroy_wq(&wq));
	GIVES_NULL(ibv_create_rwq_ind_table(lo->context, &table_attr));
	GIVES_ERRNO(ibv_destroy_rwq_ind_table(&table));
	assert_null(ibv_qp_to_qp_ex(qp));
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void flows_counters(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_flow_attr flow_attr = {0};
	struct ibv_flow flow = {.context = lo->context};
	struct ibv_flow_action_esp_attr esp = {0};
	struct ibv_flow_action action = {.context = lo->context};
	struct ibv_counters_init_attr counters_attr = {0};
	struct ibv_counters counters = {.context = lo->context};
	struct ibv_counter_attach_attr attach = {0};
	struct ibv_qp *qp = lo_make_qp(lo);
	uint64_t value;

	GIVES_NULL(ibv_create_flow(qp, &flow_attr));
	GIVES_ERRNO(ibv_destroy_flow(&flow));
	GIVES_NULL(ibv_create_flow_action_esp(lo->context, &esp));
	GIVES_ERRNO(ibv_modify_flow_action_esp(&action, &esp));
	GIVES_ERRNO(ibv_destroy_flow_action(&action));
	GIVES_NULL(ibv_create_counters(lo->context, &counters_attr));
	GIVES_ERRNO(ibv_destroy_counters(&counters));
	GIVES_ERRNO(ibv_attach_counters_point_flow(&counters, &attach, &flow));
	GIVES_ERRNO(ibv_read_counters(&counters, &value, 1, 0));
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

static void link_addresses(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_ah_attr ah_attr = lo_ah_attr(lo);
	uint8_t mac[ETHERNET_LL_SIZE];
	uint16_t vid;

	GIVES_ERRNO(ibv_resolve_eth_l2_from_gid(lo->context, &ah_attr, mac, &vid));
}

/* Nothing is pinned, so no page is withheld from a child. */
static void fork__case_041(void **state)
{
	(void)state;
	assert_int_equal(ibv_fork_init(), 0);
	assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tag_matching),	  cmocka_unit_test(foreign_memory),
		cmocka_unit_test(queues),	  cmocka_unit_test(flows_counters),
		cmocka_unit_test(link_addresses), cmocka_unit_test(fork__case_041),
	};

	lo_enter_namespace();
	return cmocka_run_group_tests(tests, lo_set_up, lo_tear_down);
}
