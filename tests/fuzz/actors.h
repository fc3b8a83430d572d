/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The world of the actors: two actors_hosts with their connections and memory, and the link between
 * them, which does what it is told. actors_world.c keeps it; actors_fuzz.c reads the input, posts,
 * and judges what is completed.
 */
#ifndef TESTS_FUZZ_ACTORS_H
#define TESTS_FUZZ_ACTORS_H

#include "checks.h"
#include "pair.h"

#define CONNS	      2u
#define MTU	      256u
#define MTU_ENUM      1
#define STEPS_MAX     600u
#define QUEUE_DEPTH   8u
#define SLOT_BYTES    1024u
#define SOURCE_BYTES  2048u
#define MESSAGE_MAX   1000u
#define INLINE_MAX    128u
#define FLYING_MAX    48u
#define MESSAGES_MAX  128u /* of one end that the other has not polled yet */
#define RECONNECT_MAX 100u
#define PSN_STEP      0x012345u

/* Each connection has these on both actors_hosts. A slot belongs to one request at a time. */
enum region {
	REGION_SOURCE,	/* never changes: what is sent, and what the peer READs */
	REGION_SINK,	/* what READs and atomics fetch, by slot */
	REGION_TARGET,	/* what the peer WRITEs, by slot */
	REGION_LANDING, /* receives, by slot */
	REGION_WORD,	/* the peer's atomics */
	REGION_COUNT
};

struct actors_region {
	uint32_t length;
	uint32_t access;
};

extern const struct actors_region actors_layout[REGION_COUNT];

#define GAP_BYTES 256u

struct request {
	uint8_t opcode;
	uint32_t length;
	uint32_t offset; /* in the source: of the sender, or for a READ of the peer */
	uint32_t number; /* of an atomic: how many came before it */
};

struct message {
	uint8_t opcode;
	uint32_t length;
	uint32_t offset;
	uint32_t imm;
};

/* One end of a connection. */
struct end {
	struct sim_qp *qp;
	struct fuzz_book sends;
	struct fuzz_book recvs;
	struct request requests[FUZZ_BOOK_SIZE];
	struct message messages[MESSAGES_MAX]; /* sent: what takes a receive of the peer */
	uint32_t message_count;
	uint32_t received; /* messages of the peer that were completed here */
	uint32_t atomic_count;
	bool is_given_up; /* a retry count was spent */
};

struct conn {
	struct end ends[2];
	uint32_t psn[2];
	bool is_harmed;
	uint8_t rd_atomic;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
};

struct flying {
	struct roce_headers hdr;
	struct roce_gid src;
	struct roce_gid dst;
	uint8_t traffic_class;
	uint32_t payload_len;
	uint8_t payload[MTU];
};

extern struct sim_stack actors_hosts[2];
extern struct conn actors_conns[CONNS];
extern struct flying actors_links[2][FLYING_MAX]; /* by sender, oldest first */
extern uint32_t actors_flying_count[2];
extern uint32_t actors_reconnects;
extern roce_ns_t actors_now;

struct roce_mr *actors_region_of(uint32_t conn, unsigned int side, enum region region);
uint8_t *actors_bytes_of(uint32_t conn, unsigned int side, enum region region, uint32_t offset);
uint32_t actors_slot_of(uint32_t number);
void actors_add_regions(unsigned int side);
void actors_remove_region(uint32_t conn, unsigned int side, enum region region);
void actors_lose(unsigned int from, uint32_t index);
struct conn *actors_conn_of(unsigned int side, const struct roce_qp *qp, struct end **out_end);
/* With `is_fault` the memory of the first packet turns out to be gone, and it is not sent. */
size_t actors_pull(unsigned int side, size_t max, bool is_fault);
/* A packet on its way by its place; with `stays` a copy of it is still to come. */
void actors_deliver(unsigned int from, uint32_t index, bool stays);
bool actors_modify(uint32_t c, unsigned int side, enum roce_qp_state state, uint32_t mask);
void actors_reset(uint32_t c, unsigned int side);
/* The QP goes, and another takes its storage under a new number. */
void actors_replace(uint32_t c, unsigned int side);
void actors_connect_both(uint32_t c);
/* New PSNs, far ahead: what is still on its way is old and must do no harm. */
void actors_reconnect(uint32_t c);

#endif
