/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A connected pair for tests of single exchanges: host 0 asks (QP `a`), host 1 answers (QP `b`),
 * each with one region (BUF bytes, unless the test wants more) at REGION in its arena and separate
 * CQs for sending and receiving, polled in this order. Names of wr_ids are the test's.
 */
#ifndef TESTS_SIM_FIXTURE_H
#define TESTS_SIM_FIXTURE_H

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define REGION 4096u
#define BUF    (256u * 1024)

struct fixture {
	struct sim_pair pair;
	struct sim_conn conn;
	struct sim_qp_caps caps;
	struct roce_transport_config tuning;
	struct roce_link_config link;
	uint8_t types[2];   /* enum roce_qp_type of `a` and `b`; 0: RC */
	uint32_t srq_depth; /* `b` receives from `srq` if not 0 */
	size_t region_bytes;
	struct sim_srq *srq;
	struct roce_qp *a;
	struct roce_qp *b;
	struct roce_mr *mr[2];
	struct sim_cq *send_cq[2];
	struct sim_cq *recv_cq[2];
	uint64_t
		drops[2]; /* bit n - 1: the nth packet of that host is lost, since fixture_lose() */
	uint32_t sent[2];
};

/* Fills in the defaults; change conn, caps, tuning, link, types, srq_depth and region_bytes before
 * fixture_start(). */
void fixture_init(struct fixture *f);
/* Builds both hosts and, if `is_connected`, brings both QPs to RTS. */
void fixture_start(struct fixture *f, bool is_connected);
void fixture_stop(struct fixture *f);

/* Address of byte `offset` of a host's region. */
uint64_t fixture_va(const struct fixture *f, unsigned int host, size_t offset);
uint8_t *fixture_bytes(const struct fixture *f, unsigned int host, size_t offset);

/* A signalled request of host `i`: its bytes [0, length) to or from the peer's [0, length). */
struct roce_send_wr fixture_wr(const struct fixture *f, unsigned int i, uint8_t opcode,
			       uint64_t wr_id, uint32_t length, struct roce_sge *sge);
/* Posts it; more flags may be given. */
void fixture_post(struct fixture *f, unsigned int i, uint8_t opcode, uint64_t wr_id,
		  uint32_t length, uint8_t flags);
/* Posts a receive of `length` bytes at `offset` on host `i`: of `b` to its SRQ, if it has one. */
void fixture_recv(struct fixture *f, unsigned int i, uint64_t wr_id, size_t offset,
		  uint32_t length);

/* From now on loses those packets, counted from here: bit 0 is the next one of that host. */
void fixture_lose(struct fixture *f, uint64_t of_host_0, uint64_t of_host_1);

/* Runs for 20 s, compares the transcript since the last call with `expected`, and clears it. */
#define fixture_expect(f, expected)                             \
	do {                                                    \
		sim_pair_run(&(f)->pair, 20 * ROCE_NS_PER_S);   \
		assert_string_equal((f)->pair.log.s, expected); \
		sim_text_clear(&(f)->pair.log);                 \
	} while (0)
/* The same for `ns` only. */
#define fixture_expect_within(f, ns, expected)                  \
	do {                                                    \
		sim_pair_run(&(f)->pair, ns);                   \
		assert_string_equal((f)->pair.log.s, expected); \
		sim_text_clear(&(f)->pair.log);                 \
	} while (0)

#endif
