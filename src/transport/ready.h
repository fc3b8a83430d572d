/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs with something to send, by transmit class. A class is what a port can pause on its
 * own: in an Ethernet with priority flow control, the priority. Members of a class stand in line;
 * `waiting` has the bit of every class with a line, so that an idle class costs nothing.
 */
#ifndef ROCE_TRANSPORT_READY_H
#define ROCE_TRANSPORT_READY_H

#include "base/list.h"

#include <stdint.h>

#define ROCE_TX_CLASSES	    8u
#define ROCE_TX_CLASSES_ALL ((1u << ROCE_TX_CLASSES) - 1)

struct roce_ready {
	struct roce_list lines[ROCE_TX_CLASSES];
	uint32_t waiting;    /* bits of the classes whose line is not empty */
	uint32_t last_class; /* the last that had its turn */
};

static inline void roce_ready_init(struct roce_ready *r)
{
	*r = (struct roce_ready){0};
	for (uint32_t i = 0; i < ROCE_TX_CLASSES; i++)
		roce_list_init(&r->lines[i]);
}

/* Nothing happens if it stands in line already. */
static inline void roce_ready_add(struct roce_ready *r, struct roce_list *link, uint32_t tx_class)
{
	if (!roce_list_is_empty(link))
		return;
	roce_list_add_tail(&r->lines[tx_class], link);
	r->waiting |= 1u << tx_class;
}

static inline void roce_ready_remove(struct roce_ready *r, struct roce_list *link,
				     uint32_t tx_class)
{
	roce_list_remove(link);
	if (roce_list_is_empty(&r->lines[tx_class]))
		r->waiting &= ~(1u << tx_class);
}

/* Takes the first of a line out: of the next class among `classes` that has one. NULL: none has. */
static inline struct roce_list *roce_ready_take(struct roce_ready *r, uint32_t classes)
{
	uint32_t found = r->waiting & classes;
	struct roce_list *line;
	struct roce_list *link;

	if (!found)
		return NULL;
	if (found & (found - 1)) {
		uint32_t behind = found & ~((2u << r->last_class) - 1);

		found = behind ? behind : found;
	}
	r->last_class = (uint32_t)__builtin_ctz(found);
	line = &r->lines[r->last_class];
	link = line->next;
	line->next = link->next;
	line->next->prev = line;
	if (line->next == line)
		r->waiting &= ~(1u << r->last_class);
	roce_list_init(link);
	return link;
}

/* Who came last, where one line alone has members; NULL elsewhere. */
static inline struct roce_list *roce_ready_last(const struct roce_ready *r)
{
	if (!r->waiting || (r->waiting & (r->waiting - 1)))
		return NULL;
	return r->lines[__builtin_ctz(r->waiting)].prev;
}

#endif
