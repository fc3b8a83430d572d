/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two ends (end.h) for a test: this process and a child of it, on the loopback of a network
 * namespace of their own, each alone at an address (no daemon), with a stream between them on which
 * they meet.
 */
#ifndef TESTS_ENGINE_TWO_ENDS_H
#define TESTS_ENGINE_TWO_ENDS_H

#include "end.h"

#define TWO_ENDS_BUFFER_BYTES (4u << 20)
#define TWO_ENDS_PATIENCE     (60 * ROCE_NS_PER_S)

#define TWO_ENDS_GIVES_UP     10 /* after 8 times the 20 ms of the floor */

typedef void end_fn(struct end *e, int fd);

struct two_ends_options {
	bool is_v6;
	bool has_events;
	bool second_is_killed;
	bool is_on_demand; /* both regions */
	/* 0: long, so that an end may stand still for seconds as on a busy machine. Else as in
	 * verbs: TWO_ENDS_GIVES_UP, where the other does not answer, or what a lossy path needs. */
	uint8_t timeout;
};

/* For the group of tests; where there can be no namespace, two_ends_run() skips. */
int two_ends_enter_namespace(void **state);
/* `second` runs in a child and must end with status 0. */
void two_ends_run(end_fn *first, end_fn *second, struct two_ends_options options);
/* ThreadSanitizer wants the fault signals for itself, and takes memory and counters that are
 * watched for races. */
void two_ends_skip_under_tsan(void);
/* The next completion must come and have this status. */
void two_ends_expect(struct end *e, uint8_t status);
/* An end that does nothing until the other meets it. */
void two_ends_stay_passive(struct end *e, int fd);

#endif
