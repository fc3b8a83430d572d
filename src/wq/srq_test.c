/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared receive queue by itself: order, the limit that fires once, and another depth. */
#include "wq/wq.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define SGES 3u

static struct roce_srq srq;
static uint32_t limit_count;

static void on_limit(struct roce_srq *which)
{
	assert_ptr_equal(which, &srq);
	limit_count++;
}

static void *start(uint32_t depth)
{
	void *storage = calloc(1, roce_recv_queue_bytes(depth, SGES));

	assert_non_null(storage);
	limit_count = 0;
	roce_srq_init(&srq, storage, depth, SGES, NULL, on_limit, NULL);
	return storage;
}

static bool post(uint64_t wr_id)
{
	const struct roce_sge sge[SGES] = {
		{wr_id * 100, 10, 1}, {wr_id * 200, 20, 2}, {wr_id * 300, 30, 3}};

	return roce_recv_queue_push(&srq.rq, wr_id, sge, 1 + (uint32_t)(wr_id % SGES));
}

/* The next WQE is `wr_id` with all its pieces; 0: there is none. */
static void expect(uint64_t wr_id)
{
	struct roce_recv_wqe *wqe = calloc(1, roce_recv_queue_bytes(1, SGES));

	assert_non_null(wqe);
	if (!wr_id) {
		assert_false(roce_srq_take(&srq, wqe));
	} else {
		assert_true(roce_srq_take(&srq, wqe));
		assert_int_equal(wqe->wr_id, wr_id);
		assert_int_equal(wqe->sge_count, 1 + wr_id % SGES);
		for (uint32_t i = 0; i < wqe->sge_count; i++) {
			assert_int_equal(wqe->sge[i].addr, wr_id * 100 * (i + 1));
			assert_int_equal(wqe->sge[i].length, 10 * (i + 1));
			assert_int_equal(wqe->sge[i].lkey, i + 1);
		}
	}
	free(wqe);
}

static void take__first_come_first_served(void **state)
{
	void *storage = start(4);

	(void)state;
	expect(0);
	for (uint64_t round = 0; round < 5; round++) {
		for (uint64_t i = 1; i <= 4; i++)
			assert_true(post(round * 10 + i));
		assert_false(post(99));
		assert_int_equal(roce_srq_count(&srq), 4);
		for (uint64_t i = 1; i <= 4; i++)
			expect(round * 10 + i);
		expect(0);
	}
	assert_int_equal(limit_count, 0);
	free(storage);
}

/* Fewer than the limit are left: one event, then none until it is armed again. */
static void take__limit_fires_once(void **state)
{
	void *storage = start(8);

	(void)state;
	for (uint64_t i = 1; i <= 6; i++)
		post(i);
	srq.limit = 4;
	expect(1);
	expect(2); /* 4 are left: not fewer */
	assert_int_equal(limit_count, 0);
	expect(3);
	assert_int_equal(limit_count, 1);
	assert_int_equal(srq.limit, 0);
	expect(4);
	expect(5);
	assert_int_equal(limit_count, 1);
	srq.limit = 1;
	expect(6);
	assert_int_equal(limit_count, 2);
	free(storage);
}

/* What waits goes along in order, from any place in the ring, to more room or less. */
static void resize__keeps_what_waits(void **state)
{
	(void)state;
	for (uint32_t depth = 2; depth <= 16; depth *= 2) {
		void *old = start(4);
		void *new_storage = calloc(1, roce_recv_queue_bytes(depth, SGES));

		assert_non_null(new_storage);
		for (uint64_t i = 1; i <= 4; i++)
			post(i);
		expect(1);
		expect(2);
		expect(3);
		post(5);
		srq.limit = 1;
		roce_srq_resize(&srq, new_storage, depth);
		memset(old, 0xee, roce_recv_queue_bytes(4, SGES));
		assert_int_equal(roce_srq_count(&srq), 2);
		assert_int_equal(srq.limit, 1);
		for (uint64_t i = 2; i < depth; i++)
			assert_true(post(4 + i));
		assert_false(post(99));
		for (uint64_t i = 0; i < depth; i++)
			expect(4 + i);
		expect(0);
		free(old);
		free(new_storage);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(take__first_come_first_served),
		cmocka_unit_test(take__limit_fires_once),
		cmocka_unit_test(resize__keeps_what_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
