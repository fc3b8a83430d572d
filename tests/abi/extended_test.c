/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The extended verbs on a device with data on its way: what ibv_query_device_ex() claims is tried,
 * one claim after the other, and what it does not claim is zero.
 */
#include "lo_device.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#define KBIT_PER_S 8000u /* a byte a microsecond */

struct pair {
	struct lo_device lo;
	struct ibv_device_attr_ex caps;
	struct ibv_qp *a;
	struct ibv_qp *b;
};

static int set_up(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	lo_open(&p->lo);
	p->a = lo_make_qp(&p->lo);
	p->b = lo_make_qp(&p->lo);
	assert_int_equal(lo_bring(&p->lo, p->a, p->b->qp_num, IBV_QPS_RTS), 0);
	assert_int_equal(lo_bring(&p->lo, p->b, p->a->qp_num, IBV_QPS_RTS), 0);
	assert_int_equal(ibv_query_device_ex(p->lo.context, NULL, &p->caps), 0);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	struct pair *p = *state;

	assert_int_equal(ibv_destroy_qp(p->a), 0);
	assert_int_equal(ibv_destroy_qp(p->b), 0);
	lo_close(&p->lo);
	free(p);
	return 0;
}

static void send(struct pair *p, struct ibv_sge *sge, int count, enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.sg_list = sge,
		.num_sge = count,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = {.remote_addr = (uintptr_t)p->lo.mem + 32768, .rkey = p->lo.mr->rkey}};
	struct ibv_send_wr *bad;

	assert_int_equal(ibv_post_send(p->a, &wr, &bad), 0);
}

static void expect_success(struct pair *p)
{
	struct ibv_wc wc;

	assert_true(lo_poll(&p->lo, &wc));
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* ---- null regions ---- */

static void null_mr__zeros_and_nothing(void **state)
{
	struct pair *p = *state;
	struct ibv_mr *null = ibv_alloc_null_mr(p->lo.pd);
	struct ibv_sge sge;

	assert_non_null(null);
	assert_ptr_equal(null->pd, p->lo.pd);
	assert_int_equal(null->length, SIZE_MAX);
	sge = (struct ibv_sge){.addr = 12345, .length = 20000, .lkey = null->lkey};
	memset(p->lo.mem, 0xff, LO_BYTES);
	send(p, &sge, 1, IBV_WR_RDMA_WRITE);
	expect_success(p);
	for (int i = 0; i < 20000; i++)
		assert_int_equal(p->lo.mem[32768 + i], 0);
	assert_int_equal(p->lo.mem[52768], 0xff);
	send(p, &sge, 1, IBV_WR_RDMA_READ);
	expect_success(p);
	assert_int_equal(ibv_rereg_mr(null, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);
	assert_int_equal(ibv_dealloc_pd(p->lo.pd), EBUSY);
	assert_int_equal(ibv_dereg_mr(null), 0);
}

/* ---- moderation ---- */

static void modify_cq__events_come_together(void **state)
{
	struct pair *p = *state;
	struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE,
					  .moderate = {.cq_count = 4, .cq_period = 50000}};
	struct pollfd fd = {.fd = p->lo.channel->fd, .events = POLLIN};
	struct ibv_sge sge = {.addr = (uintptr_t)p->lo.mem, .length = 8, .lkey = p->lo.mr->lkey};
	uint64_t begin;
	struct ibv_cq *cq;
	void *context;

	assert_int_equal(p->caps.cq_mod_caps.max_cq_count, UINT16_MAX);
	assert_int_equal(p->caps.cq_mod_caps.max_cq_period, UINT16_MAX);
	assert_int_equal(ibv_modify_cq(p->lo.cq, &attr), 0);
	/* A single one comes when the period is over, though nobody polls. */
	assert_int_equal(ibv_req_notify_cq(p->lo.cq, 0), 0);
	begin = now_us();
	send(p, &sge, 1, IBV_WR_RDMA_WRITE);
	assert_int_equal(poll(&fd, 1, LO_PATIENCE_S * 1000), 1);
	assert_in_range(now_us() - begin, 50000, 100000000);
	assert_int_equal(ibv_get_cq_event(p->lo.channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	expect_success(p);
	/* The fourth brings the event of all. */
	attr.moderate.cq_period = 65535;
	assert_int_equal(ibv_modify_cq(p->lo.cq, &attr), 0);
	assert_int_equal(ibv_req_notify_cq(p->lo.cq, 0), 0);
	for (int i = 0; i < 4; i++)
		send(p, &sge, 1, IBV_WR_RDMA_WRITE);
	assert_int_equal(poll(&fd, 1, LO_PATIENCE_S * 1000), 1);
	assert_int_equal(ibv_get_cq_event(p->lo.channel, &cq, &context), 0);
	ibv_ack_cq_events(cq, 1);
	for (int i = 0; i < 4; i++)
		expect_success(p);
	assert_int_equal(poll(&fd, 1, 0), 0);
	attr.attr_mask = IBV_CQ_ATTR_RESERVED;
	assert_int_equal(ibv_modify_cq(p->lo.cq, &attr), EINVAL);
}

/* ---- rate limits ---- */

/* A slow machine makes it slower, never faster. */
static void modify_qp_rate_limit__holds_back(void **state)
{
	struct pair *p = *state;
	struct ibv_qp_rate_limit_attr attr = {.rate_limit = KBIT_PER_S, .max_burst_sz = 4096};
	struct ibv_sge sge = {
		.addr = (uintptr_t)p->lo.mem, .length = 32768, .lkey = p->lo.mr->lkey};
	struct ibv_qp_attr qp_attr;
	struct ibv_qp_init_attr init;
	uint64_t begin;
	struct ibv_wc wc;
	struct ibv_qp *fresh = lo_make_qp(&p->lo);

	assert_in_range(KBIT_PER_S, p->caps.packet_pacing_caps.qp_rate_limit_min,
			p->caps.packet_pacing_caps.qp_rate_limit_max);
	assert_true(p->caps.packet_pacing_caps.supported_qpts & 1u << IBV_QPT_RC);
	assert_int_equal(ibv_modify_qp_rate_limit(p->a, &attr), 0);
	assert_int_equal(ibv_query_qp(p->a, &qp_attr, IBV_QP_RATE_LIMIT, &init), 0);
	assert_int_equal(qp_attr.rate_limit, KBIT_PER_S);
	begin = now_us();
	send(p, &sge, 1, IBV_WR_RDMA_WRITE);
	assert_true(lo_poll(&p->lo, &wc));
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_in_range(now_us() - begin, 32768 - 2 * 4096, 100000000);

	assert_int_equal(ibv_modify_qp_rate_limit(fresh, &attr), EINVAL);
	attr.rate_limit = UINT32_MAX;
	assert_int_equal(ibv_modify_qp_rate_limit(p->a, &attr), EINVAL);
	attr = (struct ibv_qp_rate_limit_attr){.comp_mask = 1};
	assert_int_equal(ibv_modify_qp_rate_limit(p->a, &attr), EINVAL);
	attr.comp_mask = 0;
	assert_int_equal(ibv_modify_qp_rate_limit(p->a, &attr), 0);
	assert_int_equal(ibv_destroy_qp(fresh), 0);
}

/* ---- questions ---- */

/* No vendor's options: the answers of a device without them, which librdmacm knows. */
static void ece__none(void **state)
{
	struct pair *p = *state;
	struct ibv_ece ece = {.vendor_id = 0x15b3, .options = 7};

	assert_int_equal(ibv_set_ece(p->a, &ece), EOPNOTSUPP);
	assert_int_equal(ibv_query_ece(p->a, &ece), EOPNOTSUPP);
	assert_int_equal(ece.vendor_id, 0);
	assert_int_equal(ece.options, 0);
}

/* memcpy() promises no order. */
static void data_in_order__is_not_promised(void **state)
{
	struct pair *p = *state;

	assert_int_equal(ibv_query_qp_data_in_order(p->b, IBV_WR_RDMA_WRITE, 0), 0);
	assert_int_equal(ibv_query_qp_data_in_order(p->b, IBV_WR_SEND, 0), 0);
}

static void rt_values__a_clock_that_goes_on(void **state)
{
	struct pair *p = *state;
	struct ibv_values_ex first = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	struct ibv_values_ex second = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK | 1u << 20};
	struct ibv_values_ex none = {.comp_mask = 0, .raw_clock = {.tv_sec = 77}};

	assert_int_equal(ibv_query_rt_values_ex(p->lo.context, &first), 0);
	assert_int_equal(first.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	assert_int_equal(ibv_query_rt_values_ex(p->lo.context, &second), 0);
	assert_int_equal(second.comp_mask, IBV_VALUES_MASK_RAW_CLOCK); /* what it knows */
	assert_true(second.raw_clock.tv_sec > first.raw_clock.tv_sec ||
		    (second.raw_clock.tv_sec == first.raw_clock.tv_sec &&
		     second.raw_clock.tv_nsec >= first.raw_clock.tv_nsec));
	assert_int_equal(ibv_query_rt_values_ex(p->lo.context, &none), 0);
	assert_int_equal(none.comp_mask, 0);
	assert_int_equal(none.raw_clock.tv_sec, 77);
}

/* The region of everything, on every transport that says so. */
static void odp__implicit_region(void **state)
{
	struct pair *p = *state;
	struct ibv_mr *all =
		ibv_reg_mr(p->lo.pd, NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge;

	assert_non_null(all);
	assert_true(p->caps.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT);
	assert_true(p->caps.odp_caps.per_transport_caps.rc_odp_caps & IBV_ODP_SUPPORT_WRITE);
	assert_true(p->caps.odp_caps.per_transport_caps.uc_odp_caps & IBV_ODP_SUPPORT_WRITE);
	assert_false(p->caps.odp_caps.per_transport_caps.ud_odp_caps & IBV_ODP_SUPPORT_WRITE);
	sge = (struct ibv_sge){.addr = (uintptr_t)p->lo.mem, .length = 16, .lkey = all->lkey};
	memcpy(p->lo.mem, "on demand region", 16);
	send(p, &sge, 1, IBV_WR_RDMA_WRITE);
	expect_success(p);
	assert_memory_equal(p->lo.mem + 32768, "on demand region", 16);
	assert_int_equal(ibv_dereg_mr(all), 0);
}

/* Nothing that is not there is claimed. */
static void query_device_ex__claims_no_more(void **state)
{
	struct pair *p = *state;
	const struct ibv_device_attr_ex *caps = &p->caps;

	assert_int_equal(caps->tso_caps.max_tso, 0);
	assert_int_equal(caps->rss_caps.supported_qpts, 0);
	assert_int_equal(caps->max_wq_type_rq, 0);
	assert_int_equal(caps->raw_packet_caps, 0);
	assert_int_equal(caps->tm_caps.max_num_tags, 0);
	assert_int_equal(caps->pci_atomic_caps.fetch_add, 0);
	assert_int_equal(caps->pci_atomic_caps.compare_swap, 0);
	assert_int_equal(caps->orig_attr.max_raw_ipv6_qp, 0);
	assert_int_equal(caps->orig_attr.max_raw_ethy_qp, 0);
	assert_int_equal(caps->orig_attr.max_ee, 0);
	assert_int_equal(caps->orig_attr.max_rdd, 0);
	assert_int_equal(caps->orig_attr.max_fmr, 0);
	assert_int_equal(caps->completion_timestamp_mask, UINT64_MAX);
	assert_int_equal(caps->hca_core_clock, 1000000);
	assert_int_equal(caps->phys_port_cnt_ex, 1);
}

/* ---- UROCE_TIMING ---- */

/* One timeout without a retry: 8 us by the specification, but a profile has its own idea. */
static void timing__by_name(void **state)
{
	struct lo_device lo;
	struct ibv_qp_attr attr;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND};
	struct ibv_send_wr *bad;
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_wc wc;
	struct ibv_qp *qp;
	uint64_t begin;

	(void)state;
	setenv("UROCE_TIMING", "cx7000", 1);
	errno = 0;
	assert_null(ibv_open_device(list[0]));
	assert_int_equal(errno, EINVAL);
	ibv_free_device_list(list);
	setenv("UROCE_TIMING", "cx6", 1);
	lo_open(&lo);
	unsetenv("UROCE_TIMING");
	qp = lo_make_qp(&lo);
	attr = lo_attr(&lo, qp->qp_num ^ 1);
	attr.timeout = 1;
	attr.retry_cnt = 0;
	assert_int_equal(lo_bring_with(qp, &attr, IBV_QPS_RTS), 0);
	begin = now_us();
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	assert_true(lo_poll(&lo, &wc));
	assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
	assert_in_range(now_us() - begin, 443000, 100000000);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	lo_close(&lo);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(null_mr__zeros_and_nothing),
		TEST(modify_cq__events_come_together),
		TEST(modify_qp_rate_limit__holds_back),
		TEST(ece__none),
		TEST(data_in_order__is_not_promised),
		TEST(rt_values__a_clock_that_goes_on),
		TEST(odp__implicit_region),
		TEST(query_device_ex__claims_no_more),
		cmocka_unit_test(timing__by_name),
	};

	lo_enter_namespace();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
