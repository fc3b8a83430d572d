/* SPDX-License-Identifier: BSD-2-Clause */
/* The rings of send and receive WQEs, and the walk through a scatter/gather list. */
#include "wq/sge.h"
#include "wq/wq.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* Slots of every size keep apart: filling each to the last byte disturbs no other. */
static void send_queue__slots_do_not_overlap(void **state)
{
	static const struct {
		uint32_t max_sge;
		uint32_t max_inline;
	} cases[] = {{1, 0}, {0, 0}, {4, 0}, {1, 100}, {1, 17}, {30, 512}};

	(void)state;
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		uint32_t max_sge = cases[k].max_sge;
		uint32_t max_inline = cases[k].max_inline;
		size_t tail = max_sge * sizeof(struct roce_sge);
		size_t bytes = roce_send_queue_bytes(8, max_sge, max_inline);
		void *storage = calloc(1, bytes);
		struct roce_send_queue sq;

		if (tail < max_inline)
			tail = max_inline;
		roce_send_queue_init(&sq, storage, 8, max_sge, max_inline);
		for (uint32_t i = 0; i < 8; i++) {
			struct roce_send_wqe *wqe = roce_send_queue_at(&sq, i);

			assert_int_equal((uintptr_t)wqe % 8, 0);
			assert_true((uint8_t *)(wqe + 1) + tail <= (uint8_t *)storage + bytes);
			memset(wqe, (int)i + 1, sizeof(*wqe) + tail);
		}
		for (uint32_t i = 0; i < 8; i++) {
			const uint8_t *p = (const uint8_t *)roce_send_queue_at(&sq, i + 8);

			for (size_t b = 0; b < sizeof(struct roce_send_wqe) + tail; b++)
				assert_int_equal(p[b], i + 1);
		}
		free(storage);
	}
}

static void send_queue__full_across_the_wrap(void **state)
{
	uint64_t storage[512];
	struct roce_send_queue sq;

	(void)state;
	assert_true(roce_send_queue_bytes(4, 1, 0) <= sizeof(storage));
	roce_send_queue_init(&sq, storage, 4, 1, 0);
	sq.reclaimed = sq.completed = sq.next = sq.posted = UINT32_MAX - 1;
	for (int i = 0; i < 4; i++) {
		assert_false(roce_send_queue_is_full(&sq));
		sq.posted++;
	}
	assert_true(roce_send_queue_is_full(&sq));
	sq.reclaimed++;
	assert_false(roce_send_queue_is_full(&sq));
}

static void recv_queue__fifo(void **state)
{
	size_t bytes = roce_recv_queue_bytes(4, 2);
	void *storage = calloc(1, bytes);
	struct roce_recv_queue rq;
	struct roce_sge sges[2] = {{1000, 10, 1}, {2000, 20, 2}};

	(void)state;
	roce_recv_queue_init(&rq, storage, 4, 2);
	rq.head = rq.posted = UINT32_MAX - 2;
	assert_true(roce_recv_queue_is_empty(&rq));
	for (uint64_t i = 0; i < 4; i++) {
		sges[0].addr = 1000 + i;
		assert_true(roce_recv_queue_push(&rq, i, sges, i == 3 ? 0 : 2));
	}
	assert_false(roce_recv_queue_push(&rq, 9, sges, 1));
	for (uint64_t i = 0; i < 4; i++) {
		const struct roce_recv_wqe *wqe = roce_recv_queue_head(&rq);

		assert_int_equal(wqe->wr_id, i);
		assert_int_equal(wqe->length, i == 3 ? 0 : 30);
		assert_int_equal(wqe->sge_count, i == 3 ? 0 : 2);
		if (wqe->sge_count) {
			assert_int_equal(wqe->sge[0].addr, 1000 + i);
			assert_int_equal(wqe->sge[1].length, 20);
		}
		rq.head++;
	}
	assert_true(roce_recv_queue_is_empty(&rq));
	free(storage);
}

/* Every offset of a list with empty pieces in it, against counting bytes one by one. */
static void sge_seek__every_offset(void **state)
{
	const struct roce_sge sges[] = {{0, 3, 0}, {0, 0, 0}, {0, 1, 0}, {0, 0, 0}, {0, 4, 0}};
	uint64_t offset = 0;

	(void)state;
	assert_int_equal(roce_sge_total(sges, 5), 8);
	for (uint32_t i = 0; i < 5; i++) {
		for (uint32_t skip = 0; skip < sges[i].length; skip++) {
			struct roce_sge_cursor c = roce_sge_seek(sges, 5, offset++);

			assert_int_equal(c.index, i);
			assert_int_equal(c.skip, skip);
		}
	}
	assert_int_equal(roce_sge_seek(sges, 5, 8).index, 5);
	assert_int_equal(roce_sge_seek(NULL, 0, 0).index, 0);
}

/* Lengths are summed in 64 bits. */
static void sge_total__beyond_32_bits(void **state)
{
	const struct roce_sge sges[] = {{0, UINT32_MAX, 0}, {0, UINT32_MAX, 0}};

	(void)state;
	assert_int_equal(roce_sge_total(sges, 2), UINT64_C(2) * UINT32_MAX);
	assert_int_equal(roce_sge_seek(sges, 2, UINT64_C(0x100000000)).skip, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(send_queue__slots_do_not_overlap),
		cmocka_unit_test(send_queue__full_across_the_wrap),
		cmocka_unit_test(recv_queue__fifo),
		cmocka_unit_test(sge_seek__every_offset),
		cmocka_unit_test(sge_total__beyond_32_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
