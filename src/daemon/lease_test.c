/* SPDX-License-Identifier: BSD-2-Clause */
/* The slot table: who gets which slot, how long a freed one rests, who may claim. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/lease.h"

static struct roce_lease_table t;

static uint8_t take(uint32_t holder)
{
	uint8_t slot = 0;

	assert_int_equal(roce_lease_table_take(&t, holder, holder * 100, &slot), 0);
	return slot;
}

static void roce_lease_take__all_different_then_full(void **state)
{
	uint8_t seen[256] = {0}, slot = 77;

	(void)state;
	roce_lease_table_init(&t);
	for (unsigned i = 1; i <= ROCE_LEASE_SLOT_MAX; i++) {
		slot = take(i);
		assert_in_range(slot, 1, ROCE_LEASE_SLOT_MAX);
		assert_int_equal(seen[slot]++, 0);
	}
	assert_int_equal(t.held_count, ROCE_LEASE_SLOT_MAX);
	slot = 77;
	assert_int_equal(roce_lease_table_take(&t, 1, 1, &slot), -EUSERS);
	assert_int_equal(slot, 77);
	roce_lease_table_release(&t, 200);
	assert_int_equal(take(9), 200);
}

/* A freed slot comes back only after all others that are free. */
static void roce_lease_take__freed_slot_rests(void **state)
{
	uint8_t first, second;

	(void)state;
	roce_lease_table_init(&t);
	first = take(1);
	second = take(1);
	roce_lease_table_release(&t, second);
	roce_lease_table_release(&t, first);
	for (unsigned i = 0; i < ROCE_LEASE_SLOT_MAX - 2; i++) {
		uint8_t slot = take(2);

		assert_int_not_equal(slot, first);
		assert_int_not_equal(slot, second);
	}
	assert_int_equal(take(3), second); /* freed first */
	assert_int_equal(take(3), first);
}

static void roce_lease_claim__free_own_foreign(void **state)
{
	uint8_t slot;

	(void)state;
	roce_lease_table_init(&t);
	slot = take(5);
	t.lease[slot].holder = 0; /* the daemon was restarted */
	assert_int_equal(roce_lease_table_claim(&t, slot, 6, 501), -EBUSY);
	assert_false(roce_lease_table_is_holder(&t, slot, 6));
	assert_int_equal(roce_lease_table_claim(&t, slot, 7, 500), 0);
	assert_true(roce_lease_table_is_holder(&t, slot, 7));
	assert_int_equal(t.held_count, 1);
	assert_int_equal(roce_lease_table_claim(&t, 99, 8, 800),
			 0); /* nobody knows of it any more */
	assert_true(roce_lease_table_is_holder(&t, 99, 8));
	assert_int_equal(t.held_count, 2);
}

static void roce_lease_is_holder__nonsense(void **state)
{
	(void)state;
	roce_lease_table_init(&t);
	assert_false(roce_lease_table_is_holder(&t, 0, 0));
	assert_false(roce_lease_table_is_holder(&t, 255, 0));
	assert_false(roce_lease_table_is_holder(&t, 1, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roce_lease_take__all_different_then_full),
		cmocka_unit_test(roce_lease_take__freed_slot_rests),
		cmocka_unit_test(roce_lease_claim__free_own_foreign),
		cmocka_unit_test(roce_lease_is_holder__nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
