/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registration: access rules, ranges, keys that say nothing, and no pinning.
 */
#include "verbs/loop_env.h"
#include "verbs/mr_verbs.h"
#include "verbs/pd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <cmocka.h>

#define PAGE 4096u
#define RW   (ROCE_ACCESS_LOCAL_WRITE | ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_READ)

struct fixture {
	struct loop_env env;
	struct roce_context ctx;
	struct roce_pd pd;
	uint8_t *mem; /* two pages, the second one not mapped */
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	loop_env_init(&f->env, 1);
	assert_int_equal(roce_context_init(&f->ctx, &f->env.dev, f), 0);
	roce_pd_init(&f->pd, 1);
	f->mem = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(f->mem, MAP_FAILED);
	munmap(f->mem + PAGE, PAGE);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	munmap(f->mem, PAGE);
	roce_context_fini(&f->ctx);
	loop_env_fini(&f->env);
	free(f);
	return 0;
}

static int reg(struct fixture *f, struct roce_verbs_mr *mr, uint64_t addr, uint64_t length,
	       uint64_t iova, uint32_t access)
{
	return roce_verbs_mr_init(mr, &f->ctx, &f->pd, addr, length, iova, access);
}

static void access__remote_write_needs_local_write(void **state)
{
	struct fixture *f = *state;
	uint64_t a = (uintptr_t)f->mem;
	struct roce_verbs_mr mr;

	for (uint32_t access = 0; access < 0x100; access++) {
		bool is_right =
			!(access & (ROCE_ACCESS_REMOTE_WRITE | ROCE_ACCESS_REMOTE_ATOMIC)) ||
			(access & ROCE_ACCESS_LOCAL_WRITE);

		assert_int_equal(reg(f, &mr, a, 64, a, access), is_right ? 0 : -EINVAL);
		if (is_right)
			assert_int_equal(roce_verbs_mr_fini(&mr), 0);
	}
	assert_int_equal(reg(f, &mr, a, 64, a, 1u << 12), -EINVAL);
	/* optional flags are hints */
	assert_int_equal(reg(f, &mr, a, 64, a, RW | 1u << 20), 0);
	assert_int_equal(mr.mr.access, RW);
	assert_int_equal(roce_verbs_mr_fini(&mr), 0);
}

static void range__must_be_mapped(void **state)
{
	struct fixture *f = *state;
	uint64_t a = (uintptr_t)f->mem;
	struct roce_verbs_mr mr;

	assert_int_equal(reg(f, &mr, a, PAGE, a, RW), 0);
	assert_int_equal(roce_verbs_mr_fini(&mr), 0);
	assert_int_equal(reg(f, &mr, a, PAGE + 1, a, RW), -EFAULT);
	assert_int_equal(reg(f, &mr, a + PAGE, 1, a + PAGE, RW), -EFAULT);
	assert_int_equal(reg(f, &mr, 0, 64, 0, RW), -EFAULT);
	assert_int_equal(reg(f, &mr, a, 0, a, RW), -EINVAL);
	assert_int_equal(reg(f, &mr, a, UINT64_MAX, a, RW), -EINVAL);
	/* on demand, memory may come later; all of it only so */
	assert_int_equal(reg(f, &mr, a, PAGE + 1, a, RW | ROCE_ACCESS_ON_DEMAND), 0);
	assert_int_equal(roce_verbs_mr_fini(&mr), 0);
	assert_int_equal(reg(f, &mr, 0, UINT64_MAX, 0, RW | ROCE_ACCESS_ON_DEMAND), 0);
	assert_int_equal(roce_verbs_mr_fini(&mr), 0);
	assert_int_equal(reg(f, &mr, 0, UINT64_MAX, 0, RW), -EINVAL);
	assert_int_equal(f->pd.use_count, 0);
	assert_int_equal(f->env.dev.transport.keys.count, 0);
}

static void iova__keeps_the_offset_into_the_page(void **state)
{
	struct fixture *f = *state;
	uint64_t a = (uintptr_t)f->mem + 24;
	struct roce_verbs_mr mr;

	assert_int_equal(reg(f, &mr, a, 64, UINT64_C(0x123456000) + 24, RW), 0);
	assert_int_equal(mr.mr.iova, UINT64_C(0x123456000) + 24);
	assert_int_equal(roce_verbs_mr_fini(&mr), 0);
	assert_int_equal(reg(f, &mr, a, 64, UINT64_C(0x123456000), RW), -EINVAL);
	assert_int_equal(reg(f, &mr, a, 64, a, RW | ROCE_ACCESS_ZERO_BASED), 0);
	assert_int_equal(mr.mr.iova, 0);
	assert_int_equal(roce_verbs_mr_fini(&mr), 0);
}

#define KEYS 2000

/* One key opens one side only, and tells nothing about the others. */
static void keys__case_026(void **state)
{
	struct fixture *f = *state;
	uint64_t a = (uintptr_t)f->mem;
	struct roce_verbs_mr *mrs = calloc(KEYS, sizeof(*mrs));
	int near = 0;

	for (int i = 0; i < KEYS; i++) {
		assert_int_equal(reg(f, &mrs[i], a, 64, a, RW), 0);
		assert_int_not_equal(mrs[i].mr.lkey.v, mrs[i].mr.rkey.v);
		assert_ptr_equal(roce_key_table_find(&f->env.dev.transport.keys, mrs[i].mr.lkey),
				 &mrs[i].mr);
		if (i) {
			int64_t step = (int64_t)(mrs[i].mr.rkey.v >> 8) -
				       (int64_t)(mrs[i - 1].mr.rkey.v >> 8);

			near += step > -64 && step < 64;
		}
	}
	/* 128 of 2^24 distances are that short: two in 2000 would be a rare accident */
	assert_in_range(near, 0, 2);
	for (int i = 0; i < KEYS; i++)
		assert_int_equal(roce_verbs_mr_fini(&mrs[i]), 0);
	free(mrs);
}

static void reg__case_042(void **state)
{
	struct fixture *f = *state;
	const struct rlimit small = {65536, 65536};
	const size_t gib = (size_t)1 << 30;
	struct rlimit saved;
	struct roce_verbs_mr mr;
	void *mem = mmap(NULL, gib, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(mem, MAP_FAILED);
	getrlimit(RLIMIT_MEMLOCK, &saved);
	setrlimit(RLIMIT_MEMLOCK, &small);
	assert_int_equal(reg(f, &mr, (uintptr_t)mem, gib, (uintptr_t)mem, RW), 0);
	assert_int_equal(roce_verbs_mr_fini(&mr), 0);
	setrlimit(RLIMIT_MEMLOCK, &saved);
	munmap(mem, gib);
}

static void pd__is_busy_while_it_has_regions(void **state)
{
	struct fixture *f = *state;
	uint64_t a = (uintptr_t)f->mem;
	struct roce_verbs_mr mr;

	assert_int_equal(reg(f, &mr, a, 64, a, RW), 0);
	assert_int_equal(roce_pd_fini(&f->ctx, &f->pd), -EBUSY);
	assert_int_equal(roce_verbs_mr_fini(&mr), 0);
	assert_int_equal(roce_pd_fini(&f->ctx, &f->pd), 0);
}

static void change__keeps_the_keys(void **state)
{
	struct fixture *f = *state;
	uint64_t a = (uintptr_t)f->mem;
	struct roce_verbs_mr mr;
	struct roce_pd other;
	uint32_t rkey;
	struct roce_mr_change change = {.pd = &other};

	roce_pd_init(&other, 2);
	assert_int_equal(reg(f, &mr, a, 64, a, RW), 0);
	rkey = mr.mr.rkey.v;
	assert_int_equal(roce_verbs_mr_change(&mr, &change), 0);
	assert_int_equal(f->pd.use_count, 0);
	assert_int_equal(other.use_count, 1);
	change = (struct roce_mr_change){.is_access_given = true,
					 .access = ROCE_ACCESS_REMOTE_WRITE};
	assert_int_equal(roce_verbs_mr_change(&mr, &change), -EINVAL);
	assert_int_equal(mr.mr.access, RW);
	change = (struct roce_mr_change){.is_range_given = true, .addr = a, .length = 2 * PAGE};
	assert_int_equal(roce_verbs_mr_change(&mr, &change), -EFAULT);
	assert_int_equal(mr.mr.length, 64);
	change.length = 128;
	assert_int_equal(roce_verbs_mr_change(&mr, &change), 0);
	assert_int_equal(mr.mr.length, 128);
	assert_int_equal(mr.mr.rkey.v, rkey);
	assert_int_equal(roce_verbs_mr_fini(&mr), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(access__remote_write_needs_local_write),
		TEST(range__must_be_mapped),
		TEST(iova__keeps_the_offset_into_the_page),
		TEST(keys__case_026),
		TEST(reg__case_042),
		TEST(pd__is_busy_while_it_has_regions),
		TEST(change__keeps_the_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
