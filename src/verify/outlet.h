/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Words of a run for a reader who may not read them, as a pager that waits for a key. A run that
 * waited for him would keep its agents waiting, who give it up; so the words wait, in memory, and
 * the run goes on. Whoever shows the run writes to `text`, pushes, and ends it when all is done.
 */
#ifndef ROCE_VERIFY_OUTLET_H
#define ROCE_VERIFY_OUTLET_H

#include <stdbool.h>
#include <stdio.h>

struct roce_verify_outlet {
	FILE *text; /* never waits */
	FILE *to;
	char *buffer;
	size_t size;
	size_t sent;
};

/* Without memory `text` is `to` itself. */
void roce_verify_outlet_init(struct roce_verify_outlet *outlet, FILE *to);
/* Whether something that was written waits, and some of it can go. */
bool roce_verify_outlet_can_push(struct roce_verify_outlet *outlet);
/* What the reader takes at once. */
void roce_verify_outlet_push(struct roce_verify_outlet *outlet);
/* The rest, waiting for so long altogether; below 0: until it is taken, or the reader has gone. */
void roce_verify_outlet_end(struct roce_verify_outlet *outlet, int wait_ms);

/* Whether a line can be written at once. */
bool roce_verify_outlet_has_room(FILE *to);

#endif
