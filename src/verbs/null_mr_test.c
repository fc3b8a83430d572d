/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Null regions: as a source they are zeros, as a target they forget, at any address and length;
 * only their local key is good for anything, and only in their own domain.
 */
#include "verbs/loop_pair.h"
#include "verbs/mw_verbs.h"

#define SOMEWHERE UINT64_C(0xdeadbeef000)

static struct roce_verbs_mr null_mr;

static int set_up(void **state)
{
	struct loop_pair *p;

	loop_pair_set_up(state);
	p = *state;
	loop_pair_connect(p);
	memset(p->mem, 0xa5, LOOP_BYTES);
	assert_int_equal(roce_verbs_mr_init_null(&null_mr, &p->ctx, &p->pd), 0);
	return 0;
}

static int tear_down(void **state)
{
	assert_int_equal(roce_verbs_mr_fini(&null_mr), 0);
	return loop_pair_tear_down(state);
}

static struct roce_sge nowhere(uint32_t length)
{
	return (struct roce_sge){.addr = SOMEWHERE, .length = length, .lkey = null_mr.mr.lkey.v};
}

static bool is_all(const uint8_t *bytes, uint8_t value, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != value)
			return false;
	return true;
}

static void null__reads_as_zeros(void **state)
{
	struct loop_pair *p = *state;
	struct roce_sge from[3] = {loop_pair_sge(p, 0, 100), nowhere(3000),
				   loop_pair_sge(p, 100, 50)};
	struct roce_sge to = loop_pair_sge(p, 8192, 4096);
	const struct roce_send_wr wr = {
		.wr_id = 1, .sge = from, .sge_count = 3, .opcode = ROCE_WR_SEND};

	assert_int_equal(loop_recv(&p->b, 2, &to, 1), ROCE_POST_OK);
	assert_int_equal(loop_send(&p->a, &wr), ROCE_POST_OK);
	loop_expect(&p->cq, 2, ROCE_WC_SUCCESS);
	loop_expect(&p->cq, 1, ROCE_WC_SUCCESS);
	assert_true(is_all(p->mem + 8192, 0xa5, 100));
	assert_true(is_all(p->mem + 8292, 0, 3000));
	assert_true(is_all(p->mem + 8192 + 3100, 0xa5, 4096 - 3100));
}

static void null__receives_and_forgets(void **state)
{
	struct loop_pair *p = *state;
	struct roce_sge from = loop_pair_sge(p, 0, 3000);
	struct roce_sge to[3] = {loop_pair_sge(p, 8192, 10), nowhere(2980),
				 loop_pair_sge(p, 8202, 10)};
	const struct roce_send_wr wr = {
		.wr_id = 1, .sge = &from, .sge_count = 1, .opcode = ROCE_WR_SEND};
	struct roce_cqe cqe;

	for (uint32_t i = 0; i < 3000; i++)
		p->mem[i] = (uint8_t)(i * 7);
	assert_int_equal(loop_recv(&p->b, 2, to, 3), ROCE_POST_OK);
	assert_int_equal(loop_send(&p->a, &wr), ROCE_POST_OK);
	assert_true(loop_poll(&p->cq, &cqe));
	assert_int_equal(cqe.status, ROCE_WC_SUCCESS);
	assert_int_equal(cqe.byte_len, 3000);
	loop_expect(&p->cq, 1, ROCE_WC_SUCCESS);
	assert_memory_equal(p->mem + 8192, p->mem, 10);
	assert_memory_equal(p->mem + 8202, p->mem + 2990, 10);
}

static void null__takes_what_is_fetched(void **state)
{
	struct loop_pair *p = *state;
	struct roce_sge to = nowhere(3000);
	struct roce_send_wr wr = {.wr_id = 1,
				  .sge = &to,
				  .sge_count = 1,
				  .opcode = ROCE_WR_RDMA_READ,
				  .remote_addr = (uintptr_t)p->mem,
				  .rkey = p->mr.mr.rkey.v};
	uint64_t word = 41;

	assert_int_equal(loop_send(&p->a, &wr), ROCE_POST_OK);
	loop_expect(&p->cq, 1, ROCE_WC_SUCCESS);
	memcpy(p->mem, &word, sizeof(word));
	to.length = 8;
	wr.opcode = ROCE_WR_ATOMIC_FETCH_AND_ADD;
	wr.compare_add = 1;
	assert_int_equal(loop_send(&p->a, &wr), ROCE_POST_OK);
	loop_expect(&p->cq, 1, ROCE_WC_SUCCESS);
	memcpy(&word, p->mem, sizeof(word));
	assert_int_equal(word, 42);
}

static void null__no_peer_reaches_it(void **state)
{
	struct loop_pair *p = *state;
	struct roce_sge from = loop_pair_sge(p, 0, 8);
	const struct roce_send_wr wr = {.wr_id = 1,
					.sge = &from,
					.sge_count = 1,
					.opcode = ROCE_WR_RDMA_WRITE,
					.remote_addr = SOMEWHERE,
					.rkey = null_mr.mr.rkey.v};

	assert_int_equal(loop_send(&p->a, &wr), ROCE_POST_OK);
	loop_expect(&p->cq, 1, ROCE_WC_REM_ACCESS_ERR);
}

static void null__another_domain(void **state)
{
	struct loop_pair *p = *state;
	struct roce_verbs_mr foreign;
	struct roce_sge from;
	const struct roce_send_wr wr = {
		.wr_id = 1, .sge = &from, .sge_count = 1, .opcode = ROCE_WR_SEND};
	struct roce_pd other;

	roce_pd_init(&other, 2);
	assert_int_equal(roce_verbs_mr_init_null(&foreign, &p->ctx, &other), 0);
	assert_int_equal(roce_pd_fini(&p->ctx, &other), -EBUSY);
	from = (struct roce_sge){.length = 8, .lkey = foreign.mr.lkey.v};
	assert_int_equal(loop_send(&p->a, &wr), ROCE_POST_OK);
	loop_expect(&p->cq, 1, ROCE_WC_LOC_PROT_ERR);
	assert_int_equal(roce_verbs_mr_fini(&foreign), 0);
	assert_int_equal(roce_pd_fini(&p->ctx, &other), 0);
}

/* ibv_rereg_mr and a bind are invalid with one. */
static void null__stays_what_it_is(void **state)
{
	struct loop_pair *p = *state;
	const struct roce_mr_change change = {.is_access_given = true};
	struct roce_verbs_mw mw;
	struct roce_mem_bind bind = {.lkey = null_mr.mr.lkey.v, .addr = SOMEWHERE, .length = 8};
	struct roce_send_wr wr = {.wr_id = 1, .opcode = ROCE_WR_BIND_MW, .bind = &bind};

	assert_int_equal(roce_verbs_mr_change(&null_mr, &change), -EINVAL);
	assert_int_equal(roce_verbs_mw_init(&mw, &p->ctx, &p->pd, ROCE_MR_WINDOW_2), 0);
	bind.rkey = mw.mw.rkey;
	assert_int_equal(loop_send(&p->a, &wr), ROCE_POST_OK);
	loop_expect(&p->cq, 1, ROCE_WC_MW_BIND_ERR);
	bind.rkey = null_mr.mr.rkey; /* nor is it a window */
	bind.lkey = p->mr.mr.lkey.v;
	bind.addr = (uintptr_t)p->mem;
	wr.wr_id = 2;
	assert_int_equal(loop_send(&p->b, &wr), ROCE_POST_OK);
	loop_expect(&p->cq, 2, ROCE_WC_MW_BIND_ERR);
	roce_verbs_mw_fini(&mw);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(null__reads_as_zeros),	   TEST(null__receives_and_forgets),
		TEST(null__takes_what_is_fetched), TEST(null__no_peer_reaches_it),
		TEST(null__another_domain),	   TEST(null__stays_what_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
