/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the targets share that have one host and no peer (transport_fuzz.c, services_fuzz.c): the
 * time that the input lets pass, and the end, when nobody answers any more.
 */
#ifndef TESTS_FUZZ_ONE_HOST_H
#define TESTS_FUZZ_ONE_HOST_H

#include "checks.h"

/* Whom the host's queue pairs are connected to. */
struct roce_gid fuzz_peer_gid(const struct sim_stack *host);

/* Verdicts of packets that may have put something before they failed. */
bool fuzz_may_have_written(enum roce_verdict verdict);

/* On to the next deadline, or by a power of two; what is due then is done. */
void fuzz_step_time(struct fuzz_input *in, struct sim_stack *host, roce_ns_t *now);

/* Until nothing is sent and nothing awaited. `take` takes some packets from the host at *now, and
 * tells how many. */
void fuzz_run_out(struct sim_stack *host, roce_ns_t *now,
		  size_t (*take)(size_t max, bool is_fault));

/* Then, with all completions polled: every request of a queue pair that can end it has ended. Books
 * by the number of the queue pair. */
void fuzz_require_books_ended(const struct sim_stack *host, const struct fuzz_book *sends,
			      const struct fuzz_book *recvs);

#endif
