/* SPDX-License-Identifier: BSD-2-Clause */
/* Each field of a completion that the program determines is compared, and named when it differs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>

#include "tools/verbs_check/completion.h"

static const struct vc_expected expected_imm = {
	.wr_id = 0x1122334455667788,
	.qp_num = 0x4711,
	.receive = true,
	.op = VC_OP_WRITE_IMM,
	.length = 4097,
	.imm = 0xa1b2c3d4,
};

static struct ibv_wc right_imm(void)
{
	return (struct ibv_wc){
		.wr_id = 0x1122334455667788,
		.qp_num = 0x4711,
		.opcode = IBV_WC_RECV_RDMA_WITH_IMM,
		.byte_len = 4097,
		.wc_flags = IBV_WC_WITH_IMM | IBV_WC_GRH,
		.imm_data = htonl(0xa1b2c3d4),
	};
}

static void assert_names(const struct ibv_wc *wc, const struct vc_expected *expected,
			 const char *field)
{
	char text[200] = "";

	assert_false(vc_completion_check(wc, expected, text, sizeof(text)));
	assert_memory_equal(text, field, strlen(field));
}

static void right_one_passes(void **state)
{
	struct ibv_wc wc = right_imm();
	char text[200];

	(void)state;
	assert_true(vc_completion_check(&wc, &expected_imm, text, sizeof(text)));
}

static void each_wrong_field_is_named(void **state)
{
	struct ibv_wc wc;

	(void)state;
	wc = right_imm();
	wc.wr_id ^= 1ULL << 63;
	assert_names(&wc, &expected_imm, "wr_id");
	wc = right_imm();
	wc.qp_num++;
	assert_names(&wc, &expected_imm, "qp_num");
	wc = right_imm();
	wc.opcode = IBV_WC_RECV;
	assert_names(&wc, &expected_imm, "opcode");
	wc = right_imm();
	wc.byte_len--;
	assert_names(&wc, &expected_imm, "byte_len");
	wc = right_imm();
	wc.wc_flags = IBV_WC_GRH;
	assert_names(&wc, &expected_imm, "wc_flags");
	wc = right_imm();
	wc.wc_flags |= IBV_WC_WITH_INV;
	assert_names(&wc, &expected_imm, "wc_flags");
	wc = right_imm();
	wc.imm_data = 0xa1b2c3d4;
	assert_names(&wc, &expected_imm, "imm_data");
	wc = right_imm();
	wc.status = IBV_WC_WR_FLUSH_ERR;
	assert_names(&wc, &expected_imm, "status");
}

static void invalidated_key_is_compared(void **state)
{
	struct vc_expected expected = expected_imm;
	struct ibv_wc wc = right_imm();
	char text[200];

	(void)state;
	expected.op = VC_OP_SEND_INV;
	expected.invalidated = 0x105;
	wc.opcode = IBV_WC_RECV;
	wc.wc_flags = IBV_WC_WITH_INV;
	wc.invalidated_rkey = 0x105;
	assert_true(vc_completion_check(&wc, &expected, text, sizeof(text)));
	wc.invalidated_rkey = 0x106;
	assert_names(&wc, &expected, "invalidated_rkey");
}

static void error_has_only_status(void **state)
{
	struct vc_expected expected = expected_imm;
	struct ibv_wc wc = {
		.wr_id = expected.wr_id, .qp_num = expected.qp_num, .status = IBV_WC_LOC_LEN_ERR};
	char text[200];

	(void)state;
	expected.status = IBV_WC_LOC_LEN_ERR;
	expected.quirk_status = IBV_WC_LOC_LEN_ERR;
	assert_true(vc_completion_check(&wc, &expected, text, sizeof(text)));
	wc.status = IBV_WC_LOC_QP_OP_ERR;
	assert_names(&wc, &expected, "status");
	expected.quirk_status = IBV_WC_LOC_QP_OP_ERR;
	assert_true(vc_completion_check(&wc, &expected, text, sizeof(text)));
	wc.status = IBV_WC_SUCCESS;
	assert_names(&wc, &expected, "status");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_one_passes),
		cmocka_unit_test(each_wrong_field_is_named),
		cmocka_unit_test(invalidated_key_is_compared),
		cmocka_unit_test(error_has_only_status),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
