/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Circular doubly linked list with the links inside the members. A member that is on no list points
 * at itself, so removing twice is harmless and "is it queued?" is one compare.
 */
#ifndef ROCE_BASE_LIST_H
#define ROCE_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct roce_list {
	struct roce_list *next;
	struct roce_list *prev;
};

#define roce_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline void roce_list_init(struct roce_list *l)
{
	l->next = l;
	l->prev = l;
}

static inline bool roce_list_is_empty(const struct roce_list *l)
{
	return l->next == l;
}

static inline void roce_list_add_tail(struct roce_list *head, struct roce_list *item)
{
	item->prev = head->prev;
	item->next = head;
	head->prev->next = item;
	head->prev = item;
}

static inline void roce_list_remove(struct roce_list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	roce_list_init(item);
}

#define roce_list_for_each(pos, head) \
	for ((pos) = (head)->next; (pos) != (head); (pos) = (pos)->next)

/* `tmp` holds the successor, so that the body may remove `pos`. */
#define roce_list_for_each_safe(pos, tmp, head)                          \
	for ((pos) = (head)->next, (tmp) = (pos)->next; (pos) != (head); \
	     (pos) = (tmp), (tmp) = (pos)->next)

#endif
