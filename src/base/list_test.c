/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The linked list: order, removal from any place, removal while walking, removal twice.
 */
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

struct item {
	int value;
	struct roce_list link;
};

static int collect(struct roce_list *head, int *out)
{
	struct roce_list *pos;
	int n = 0;

	roce_list_for_each (pos, head) {
		struct item *item = roce_container_of(pos, struct item, link);

		assert_ptr_equal(pos->next->prev, pos);
		out[n++] = item->value;
	}
	return n;
}

static void list__order_and_removal(void **state)
{
	struct roce_list head;
	struct item items[4];
	int seen[4];

	(void)state;
	roce_list_init(&head);
	assert_true(roce_list_is_empty(&head));
	for (int i = 0; i < 4; i++) {
		items[i].value = i;
		roce_list_init(&items[i].link);
		assert_true(roce_list_is_empty(&items[i].link));
		roce_list_add_tail(&head, &items[i].link);
	}
	assert_int_equal(collect(&head, seen), 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(seen[i], i);
	roce_list_remove(&items[1].link);
	roce_list_remove(&items[1].link);
	roce_list_remove(&items[3].link);
	assert_int_equal(collect(&head, seen), 2);
	assert_int_equal(seen[0], 0);
	assert_int_equal(seen[1], 2);
	roce_list_add_tail(&head, &items[1].link);
	assert_int_equal(collect(&head, seen), 3);
	assert_int_equal(seen[2], 1);
}

static void for_each_safe__body_removes(void **state)
{
	struct roce_list head;
	struct roce_list *pos;
	struct roce_list *tmp;
	struct item items[3];
	int visited = 0;

	(void)state;
	roce_list_init(&head);
	for (int i = 0; i < 3; i++)
		roce_list_add_tail(&head, &items[i].link);
	roce_list_for_each_safe (pos, tmp, &head) {
		roce_list_remove(pos);
		visited++;
	}
	assert_int_equal(visited, 3);
	assert_true(roce_list_is_empty(&head));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(list__order_and_removal),
		cmocka_unit_test(for_each_safe__body_removes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
