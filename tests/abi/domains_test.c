/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parent and thread domains, device memory, and importing, through the public interface: whose
 * memory the queues lie in, what may not go before what, and that a second name reaches the same
 * object.
 */
#include "lo_device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

struct heap {
	int live;
	int calls;
	bool is_default;
	bool is_full;
};

static void *heap_alloc(struct ibv_pd *pd, void *ctx, size_t size, size_t alignment, uint64_t type)
{
	struct heap *heap = ctx;
	void *ptr = NULL;

	(void)pd;
	(void)type;
	heap->calls++;
	if (heap->is_default)
		return IBV_ALLOCATOR_USE_DEFAULT;
	if (heap->is_full || posix_memalign(&ptr, alignment, size))
		return NULL;
	memset(ptr, 0xee, size); /* it need not be zero */
	heap->live++;
	return ptr;
}

static void heap_free(struct ibv_pd *pd, void *ctx, void *ptr, uint64_t type)
{
	(void)pd;
	(void)type;
	((struct heap *)ctx)->live--;
	free(ptr);
}

static struct ibv_pd *make_parent(struct lo_device *lo, struct heap *heap, struct ibv_td *td)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = lo->pd,
		.td = td,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = heap_alloc,
		.free = heap_free,
		.pd_context = heap,
	};
	struct ibv_pd *parent = ibv_alloc_parent_domain(lo->context, &attr);

	assert_non_null(parent);
	return parent;
}

static void parent_domain_gives_the_memory_of_queues(void **state)
{
	struct lo_device *lo = *state;
	struct heap heap = {0};
	struct ibv_td_init_attr td_attr = {0};
	struct ibv_td *td = ibv_alloc_td(lo->context, &td_attr);
	struct ibv_pd *parent = make_parent(lo, &heap, td);
	struct ibv_srq_init_attr srq_attr = {.attr = {.max_wr = 4, .max_sge = 1}};
	struct ibv_cq_init_attr_ex cq_attr = {.cqe = 8,
					      .wc_flags = IBV_WC_STANDARD_FLAGS,
					      .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
					      .parent_domain = parent};
	struct ibv_qp_init_attr qp_attr = {.send_cq = lo->cq,
					   .recv_cq = lo->cq,
					   .cap = {.max_send_wr = 4, .max_recv_wr = 4},
					   .qp_type = IBV_QPT_RC};
	struct ibv_pd *base = lo->pd;
	struct ibv_cq_ex *cq = ibv_create_cq_ex(lo->context, &cq_attr);
	struct ibv_srq *srq = ibv_create_srq(parent, &srq_attr);
	struct ibv_qp *qp = ibv_create_qp(parent, &qp_attr);

	assert_non_null(cq);
	assert_non_null(srq);
	assert_non_null(qp);
	assert_int_equal(heap.live, 3);
	assert_int_equal(ibv_resize_cq(ibv_cq_ex_to_cq(cq), 100), 0);
	assert_int_equal(heap.live, 3);
	/* Regions of the base serve queue pairs of the parent: they are of one domain. */
	assert_ptr_equal(qp->pd, parent);
	lo->pd = parent;
	assert_int_equal(lo_bring(lo, qp, qp->qp_num, IBV_QPS_RTS), 0);
	lo->pd = base;
	{
		struct ibv_sge sge = {
			.addr = (uintptr_t)lo->mem, .length = 64, .lkey = lo->mr->lkey};
		struct ibv_send_wr wr = {.sg_list = &sge,
					 .num_sge = 1,
					 .opcode = IBV_WR_RDMA_WRITE,
					 .send_flags = IBV_SEND_SIGNALED,
					 .wr.rdma = {.remote_addr = (uintptr_t)lo->mem + 1024,
						     .rkey = lo->mr->rkey}};
		struct ibv_send_wr *bad;
		struct ibv_wc wc;

		assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
		assert_true(lo_poll(lo, &wc));
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	assert_int_equal(ibv_dealloc_td(td), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	assert_int_equal(heap.live, 0);

	heap.is_full = true;
	assert_null(ibv_create_qp(parent, &qp_attr));
	assert_int_equal(errno, ENOMEM);
	heap.is_default = true;
	heap.calls = 0;
	qp = ibv_create_qp(parent, &qp_attr);
	assert_non_null(qp);
	assert_int_equal(heap.calls, 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(heap.live, 0);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_td(td), 0);
}

static void parent_domain_keeps_its_base(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_pd *base = ibv_alloc_pd(lo->context);
	struct ibv_parent_domain_init_attr attr = {.pd = base};
	struct ibv_pd *parent = ibv_alloc_parent_domain(lo->context, &attr);
	struct ibv_mr *mr = ibv_reg_mr(parent, lo->mem, 64, IBV_ACCESS_LOCAL_WRITE);

	assert_non_null(parent);
	assert_non_null(mr);
	assert_int_equal(ibv_dealloc_pd(base), EBUSY);
	assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	attr.pd = parent;
	assert_null(ibv_alloc_parent_domain(lo->context, &attr));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_dealloc_pd(parent), 0);
	assert_int_equal(ibv_dealloc_pd(base), 0);
}

static void device_memory(void **state)
{
	struct lo_device *lo = *state;
	struct ibv_device_attr_ex limits;
	struct ibv_alloc_dm_attr attr = {.length = 256};
	struct ibv_dm *dm = ibv_alloc_dm(lo->context, &attr), *all;
	uint8_t bytes[64];
	struct ibv_mr *mr;

	assert_non_null(dm);
	memset(bytes, 0x77, sizeof(bytes));
	assert_int_equal(ibv_memcpy_to_dm(dm, 64, bytes, 64), 0);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(ibv_memcpy_from_dm(bytes, dm, 64, 64), 0);
	assert_int_equal(bytes[63], 0x77);
	assert_int_equal(ibv_memcpy_to_dm(dm, 2, bytes, 4), EINVAL);
	assert_int_equal(ibv_memcpy_to_dm(dm, 200, bytes, 64), EINVAL);
	assert_null(ibv_reg_dm_mr(lo->pd, dm, 0, 64, IBV_ACCESS_LOCAL_WRITE));
	assert_null(
		ibv_reg_dm_mr(lo->pd, dm, 200, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE));
	mr = ibv_reg_dm_mr(lo->pd, dm, 64, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_int_equal(ibv_free_dm(dm), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);

	/* As much as the device says, and not more. */
	assert_int_equal(ibv_query_device_ex(lo->context, NULL, &limits), 0);
	attr.length = limits.max_dm_size;
	all = ibv_alloc_dm(lo->context, &attr);
	assert_non_null(all);
	attr.length = 4;
	assert_null(ibv_alloc_dm(lo->context, &attr));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_free_dm(all), 0);
}

static void imported_names_reach_the_same_objects(void **state)
{
	struct lo_device *lo = *state;
	int fd = dup(lo->context->cmd_fd);
	struct ibv_context *context = ibv_import_device(fd);
	struct ibv_alloc_dm_attr dm_attr = {.length = 64};
	struct ibv_dm *dm = ibv_alloc_dm(lo->context, &dm_attr), *dm2;
	uint32_t word = 0xabcd1234;
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	assert_non_null(context);
	assert_int_equal(context->cmd_fd, fd);
	assert_ptr_equal(context->device, lo->context->device);
	pd = ibv_import_pd(context, lo->pd->handle);
	assert_non_null(pd);
	mr = ibv_import_mr(pd, lo->mr->handle);
	assert_non_null(mr);
	assert_int_equal(mr->rkey, lo->mr->rkey);
	assert_int_equal(mr->length, LO_BYTES);
	dm2 = ibv_import_dm(context, dm->handle);
	assert_non_null(dm2);
	assert_int_equal(ibv_memcpy_to_dm(dm, 0, &word, 4), 0);
	word = 0;
	assert_int_equal(ibv_memcpy_from_dm(&word, dm2, 0, 4), 0);
	assert_int_equal(word, 0xabcd1234);
	assert_null(ibv_import_pd(context, 0));
	assert_int_equal(errno, ENOENT);
	assert_null(ibv_import_mr(pd, 0));
	assert_null(ibv_import_dm(context, 0));
	ibv_unimport_mr(mr);
	ibv_unimport_dm(dm2);
	ibv_unimport_pd(pd);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(ibv_close_device(context), 0);
	assert_null(ibv_import_device(STDERR_FILENO));
	assert_int_equal(errno, EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parent_domain_gives_the_memory_of_queues),
		cmocka_unit_test(parent_domain_keeps_its_base),
		cmocka_unit_test(device_memory),
		cmocka_unit_test(imported_names_reach_the_same_objects),
	};

	lo_enter_namespace();
	return cmocka_run_group_tests(tests, lo_set_up, lo_tear_down);
}
