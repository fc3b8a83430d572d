/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What must hold of a transport at any moment, whatever came in: the books of completions (each
 * work request ends at most once, in order, and after a failure everything is flushed), and the
 * sums and lists inside the transport. A violation ends the program.
 */
#ifndef TESTS_FUZZ_CHECKS_H
#define TESTS_FUZZ_CHECKS_H

#include "fuzz.h"
#include "stack.h"

#define FUZZ_BOOK_SIZE 64u /* more than any queue of the targets is deep */

/* The work requests of one queue since it was last reset; wr_ids come from fuzz_book_next(). */
struct fuzz_book {
	uint32_t generation;
	uint32_t posted;
	uint32_t ended; /* all before it have ended */
	bool is_failed;
	bool is_recv;
	struct {
		bool is_signaled;
		uint8_t wc_opcode; /* what a success must say; receives: not looked at */
		uint32_t byte_len; /* the same, for READs and atomics; else 0 */
	} entries[FUZZ_BOOK_SIZE];
};

void fuzz_book_init(struct fuzz_book *book, bool is_recv);
/* The queue was reset: nothing of before may come any more. */
void fuzz_book_reset(struct fuzz_book *book);
/* The wr_id that the next post must carry. */
uint64_t fuzz_book_next(const struct fuzz_book *book);
/* That post was taken. */
void fuzz_book_post_send(struct fuzz_book *book, const struct roce_send_wr *wr, bool sig_all);
void fuzz_book_post_recv(struct fuzz_book *book);
/* Checks a completion; returns the number of the request that it ends. */
uint32_t fuzz_book_complete(struct fuzz_book *book, const struct roce_cqe *cqe);
/* All that were posted have ended: nothing but unsignalled successes may lack a completion. */
void fuzz_book_require_ended(const struct fuzz_book *book);

/* Lists, sums and indexes of a transport and its QPs agree with each other, and no QP waits for
 * something that will not come. */
void fuzz_check_stack(const struct sim_stack *s);
/* The same when nothing is on its way, all timers have fired and all output was taken. */
void fuzz_check_quiet(const struct sim_stack *s);

/* Congestion control with numbers that differ by `choice`. */
void fuzz_control_congestion(struct roce_transport_config *tuning, uint8_t choice);

#endif
