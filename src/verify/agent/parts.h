/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How evenly a count goes on: what was added in each twentieth of a while. Their median is the pace
 * without pauses, as long as these touch fewer than half of them, and without what comes late in
 * one part and all the sooner in the next; the whole beside it tells whether there were any.
 */
#ifndef VERIFY_AGENT_PARTS_H
#define VERIFY_AGENT_PARTS_H

#include "base/ns.h"

#include <stdint.h>

#define VA_PARTS     20u
#define VA_PARTS_MIN 5u /* fewer have no median worth the name */

struct va_parts {
	roce_ns_t part_ns;
	roce_ns_t next; /* when the part under way ends */
	uint32_t count; /* of the marks */
	/* A part begins and ends with something that was counted, so it is not cut within one. */
	struct va_parts_mark {
		roce_ns_t at;
		uint64_t done;
	} marks[VA_PARTS + 1];
};

static inline void va_parts_begin(struct va_parts *parts, roce_ns_t now, roce_ns_t duration_ns)
{
	*parts = (struct va_parts){
		.part_ns = duration_ns / VA_PARTS,
		.next = now + duration_ns / VA_PARTS,
		.count = 1,
		.marks = {{now, 0}},
	};
}

/* At `now` something came, and `done` have come by then. */
static inline void va_parts_note(struct va_parts *parts, roce_ns_t now, uint64_t done)
{
	if (now < parts->next || parts->count > VA_PARTS)
		return;
	parts->marks[parts->count++] = (struct va_parts_mark){now, done};
	parts->next = now - (now - parts->next) % parts->part_ns + parts->part_ns;
}

/*
 * Writes the rate of each part, in counts per second, and returns how many there are. Parts in
 * which nothing came have the mean of themselves and the part behind them, where something did.
 */
uint32_t va_parts_rates(const struct va_parts *parts, double rates[VA_PARTS]);

/* Their median; sorts them. 0: there are too few. */
double va_parts_median(double *rates, uint32_t count);

#endif
