/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory behind a host's region, and the pattern of messages. */
#include "fabric/payload.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define RECEIVES 4u

static void fill__depends_on_flow_message_and_offset(void **state)
{
	const struct roce_fabric_content contents[] = {{.flow = 0},
						       {.flow = 1},
						       {.flow = 0, .message = 1},
						       {.flow = 0, .is_answer = true}};
	uint8_t whole[4][100], part[100];
	uint32_t same;

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		roce_fabric_payload_fill(&contents[i], 0, whole[i], 100);
		for (uint32_t k = 0; k < 100; k++)
			assert_int_not_equal(whole[i][k], 0);
		for (uint32_t k = 0; k < i; k++) {
			same = 0;
			for (uint32_t at = 0; at < 100; at++)
				same += whole[i][at] == whole[k][at];
			assert_in_range(same, 0, 10);
		}
	}
	same = 0;
	for (uint32_t at = 8; at < 100; at++)
		same += whole[0][at] == whole[0][at - 8];
	assert_in_range(same, 0, 10);
	/* In pieces it is the same, wherever they begin and end. */
	for (uint32_t from = 0; from < 100; from++) {
		roce_fabric_payload_fill(&contents[2], from, part, 100 - from);
		assert_memory_equal(part, whole[2] + from, 100 - from);
		roce_fabric_payload_fill(&contents[2], 3, part, from % 17);
		assert_memory_equal(part, whole[2] + 3, from % 17);
	}
}

static void store__where_there_is_something(void **state)
{
	const struct roce_fabric_content content = {.message = 3};
	const uint8_t bytes[] = {1, 2, 3, 4};
	const uint8_t zeros[10] = {0};
	struct roce_fabric_memory m;
	uint8_t out[10];
	uint64_t at;
	uint32_t slot;

	(void)state;
	roce_fabric_memory_init(&m, RECEIVES);
	slot = roce_fabric_memory_take(&m, &content, 10, false);
	assert_int_equal(slot, RECEIVES + 1);
	at = roce_fabric_slot_address(slot);
	assert_ptr_equal(roce_fabric_memory_load(&m, at, out, 10), &m.slots[slot]);
	assert_memory_equal(out, zeros, 10);
	assert_int_equal(roce_fabric_memory_store(&m, at + 6, bytes, 4), 0);
	assert_int_equal(roce_fabric_memory_store(&m, at + 7, bytes, 4), -EFAULT);
	roce_fabric_memory_load(&m, at + 6, out, 4);
	assert_memory_equal(out, bytes, 4);
	assert_null(roce_fabric_memory_load(&m, at + 7, out, 4));
	assert_int_equal(roce_fabric_memory_store(&m, roce_fabric_slot_address(slot + 1), bytes, 4),
			 -EFAULT);
	roce_fabric_memory_give(&m, slot);
	assert_int_equal(roce_fabric_memory_store(&m, at, bytes, 4), -EFAULT);
	/* The next one to take it finds zeros. */
	assert_int_equal(roce_fabric_memory_take(&m, &content, 10, false), slot);
	roce_fabric_memory_load(&m, at, out, 10);
	assert_memory_equal(out, zeros, 10);
	roce_fabric_memory_fini(&m);
}

static void load__a_source_has_its_pattern(void **state)
{
	const struct roce_fabric_content content = {.flow = 7, .message = 9};
	struct roce_fabric_memory m;
	uint8_t expected[50], out[50];
	uint32_t slot;

	(void)state;
	roce_fabric_memory_init(&m, RECEIVES);
	slot = roce_fabric_memory_take(&m, &content, 50, true);
	roce_fabric_payload_fill(&content, 20, expected, 30);
	roce_fabric_memory_load(&m, roce_fabric_slot_address(slot) + 20, out, 30);
	assert_memory_equal(out, expected, 30);
	roce_fabric_memory_fini(&m);
}

/* Phantom bytes go nowhere; receives hold what they were told of, and forget it. */
static void store__phantom_and_receives(void **state)
{
	const uint8_t bytes[40] = {1};
	struct roce_fabric_memory m;
	uint64_t at = roce_fabric_slot_address(2);

	(void)state;
	roce_fabric_memory_init(&m, RECEIVES);
	assert_int_equal(roce_fabric_memory_store(&m, roce_fabric_slot_address(0), bytes, 40), 0);
	assert_int_equal(roce_fabric_memory_store(&m, at, bytes, 40), 0);
	assert_int_equal(m.count, 0);
	roce_fabric_memory_receive(&m, 40);
	assert_int_equal(roce_fabric_memory_store(&m, at, bytes, 40), 0);
	assert_int_equal(roce_fabric_memory_store(&m, at + 1, bytes, 40), -EFAULT);
	/* A longer message is expected while this one is under way. */
	roce_fabric_memory_receive(&m, 80);
	assert_int_equal(roce_fabric_memory_store(&m, at + 40, bytes, 40), 0);
	assert_memory_equal(m.slots[2].bytes, bytes, 40);
	roce_fabric_memory_forget(&m, 2);
	assert_null(m.slots[2].bytes);
	assert_int_equal(roce_fabric_memory_store(&m, at, bytes, 1), 0);
	assert_int_equal(m.slots[2].bytes[40], 0);
	roce_fabric_memory_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fill__depends_on_flow_message_and_offset),
		cmocka_unit_test(store__where_there_is_something),
		cmocka_unit_test(load__a_source_has_its_pattern),
		cmocka_unit_test(store__phantom_and_receives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
