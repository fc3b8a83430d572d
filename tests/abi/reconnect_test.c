/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program whose peer is gone connects again, time after time: a queue pair that gave up holds
 * nothing back, whether it is destroyed or brought up anew.
 */
#include "lo_device.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define CYCLES 100u

static unsigned int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void connect_impatiently(struct lo_device *lo, struct ibv_qp *qp, uint32_t dest_qpn)
{
	struct ibv_qp_attr attr = lo_attr(lo, dest_qpn);

	attr.timeout = 8;
	attr.retry_cnt = 0;
	assert_int_equal(lo_bring_with(qp, &attr, IBV_QPS_RTS), 0);
}

static void write_from(struct lo_device *lo, struct ibv_qp *qp, uint64_t wr_id)
{
	struct ibv_sge sge = {(uintptr_t)lo->mem, 1000, lo->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = wr_id,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_send_wr *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)lo->mem + 4096;
	wr.wr.rdma.rkey = lo->mr->rkey;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

static void expect(struct lo_device *lo, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc;

	assert_true(lo_poll(lo, &wc));
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.status, status);
}

/* As new, or really new. */
static struct ibv_qp *renew(struct lo_device *lo, struct ibv_qp *qp, bool is_reset)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	if (!is_reset) {
		assert_int_equal(ibv_destroy_qp(qp), 0);
		return lo_make_qp(lo);
	}
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	return qp;
}

static void case_053__after_status_12(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_qp *a = lo_make_qp(lo), *b = lo_make_qp(lo);
	unsigned int descriptors = 0;

	for (uint32_t i = 0; i < CYCLES; i++) {
		/* Nobody has this number: it was ours a moment ago. */
		struct ibv_qp *gone = lo_make_qp(lo);
		uint32_t gone_number = gone->qp_num;

		assert_int_equal(ibv_destroy_qp(gone), 0);
		connect_impatiently(lo, a, gone_number);
		write_from(lo, a, 1);
		write_from(lo, a, 2);
		expect(lo, 1, IBV_WC_RETRY_EXC_ERR);
		expect(lo, 2, IBV_WC_WR_FLUSH_ERR);

		a = renew(lo, a, i % 2);
		b = renew(lo, b, i % 3);
		assert_int_equal(lo_bring(lo, a, b->qp_num, IBV_QPS_RTS), 0);
		assert_int_equal(lo_bring(lo, b, a->qp_num, IBV_QPS_RTS), 0);
		memset(lo->mem, (int)i + 1, 1000);
		write_from(lo, a, 3);
		expect(lo, 3, IBV_WC_SUCCESS);
		assert_memory_equal(lo->mem, lo->mem + 4096, 1000);

		a = renew(lo, a, i % 5);
		if (i == 4)
			descriptors = count_descriptors();
	}
	assert_int_equal(count_descriptors(), descriptors);
	assert_int_equal(ibv_destroy_qp(a), 0);
	assert_int_equal(ibv_destroy_qp(b), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(case_053__after_status_12, lo_set_up, lo_tear_down),
	};

	setenv("UROCE_ACK_TIMEOUT_FLOOR_US", "2000", 1);
	lo_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
