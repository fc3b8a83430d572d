/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One host of a test: a transport with all the storage that its owner must provide, memory with
 * regions in it, CQs and QPs. Everything that the transport does to memory passes the ops here,
 * which refuse to touch a byte outside a registered region and count what was placed.
 */
#ifndef TESTS_SIM_STACK_H
#define TESTS_SIM_STACK_H

#include "base/prng.h"
#include "transport/qp.h"
#include "transport/transport.h"

#define SIM_QPS_MAX    8u
#define SIM_MRS_MAX    64u
#define SIM_CQS_MAX    16u
#define SIM_EVENTS_MAX 64u
#define SIM_SRQS_MAX   4u
#define SIM_SRQ_SGE    8u

struct sim_async {
	enum roce_async_event event;
	const struct roce_qp *qp;
	const struct roce_cq *cq;
};

struct sim_srq;

struct sim_qp_caps {
	uint32_t send_wr; /* powers of two */
	uint32_t recv_wr;
	uint32_t send_sge;
	uint32_t recv_sge;
	uint32_t inline_bytes;
	bool sq_sig_all;
	uint8_t type;	     /* enum roce_qp_type; 0: RC */
	struct sim_srq *srq; /* receives come from here; NULL: own queue */
	uint8_t port_mtu;    /* UD; 0: 4096 bytes */
};

/* A shared receive queue; `number` is what an XRC request calls it. */
struct sim_srq {
	struct roce_srq srq;
	void *storage;
	uint32_t number;
	uint32_t limit_count; /* limit events */
};

struct sim_qp {
	struct roce_qp qp;
	void *sq_storage;
	void *rq_storage;
	void *held_storage;
};

struct sim_cq {
	struct roce_cq cq;
	void *ring;
	uint32_t event_count;	   /* calls of on_event */
	void (*notify)(void *ctx); /* told of each event; NULL: nobody */
	void *notify_ctx;
};

struct sim_stack {
	struct roce_transport transport;
	struct roce_counters counters;
	struct roce_qp *qp_table[64];
	struct roce_mr *buckets[16];
	struct roce_timer *timers[SIM_QPS_MAX + SIM_CQS_MAX];
	struct roce_gid gid;
	uint8_t slot;
	struct roce_pd pd;
	struct roce_peer peers[4]; /* by slot of the other host, as they are needed */
	uint32_t peer_count;
	struct roce_prng prng; /* keys and QPNs */

	uint8_t *arena; /* zeroed memory of the host; regions lie inside */
	size_t arena_size;
	struct roce_mr mrs[SIM_MRS_MAX];
	uint32_t mr_count;
	struct sim_qp *qps[SIM_QPS_MAX];
	uint32_t qp_count;
	struct sim_cq *cqs[SIM_CQS_MAX];
	uint32_t cq_count;
	struct sim_srq *srqs[SIM_SRQS_MAX];
	uint32_t srq_count;

	struct sim_async events[SIM_EVENTS_MAX];
	uint32_t event_count;
	uint64_t placed_bytes;	/* written into the arena */
	uint64_t atomic_count;	/* executed here */
	uint64_t stray_count;	/* accesses outside every region: refused */
	uint32_t copy_fault_in; /* n: the nth copy from now fails with EFAULT; 0: none */
};

/* Sensible tuning for tests: a window of 32 packets of 4 KiB, no timeout floor. */
struct roce_transport_config sim_tuning_default(void);
struct sim_qp_caps sim_caps_default(void);

/* `tuning` gives window, read_*, ack_*, burst_packets. `number` is 1 or 2: address and slot. */
void sim_stack_init(struct sim_stack *s, unsigned int number, uint64_t seed, size_t arena_size,
		    const struct roce_transport_config *tuning);
void sim_stack_fini(struct sim_stack *s);

/* Registers [offset, offset + length) of the arena; its iova is the address unless changed. */
struct roce_mr *sim_stack_add_mr(struct sim_stack *s, size_t offset, size_t length,
				 uint32_t access);
struct sim_cq *sim_stack_add_cq(struct sim_stack *s, uint32_t depth);
struct sim_qp *sim_stack_add_qp(struct sim_stack *s, const struct sim_qp_caps *caps,
				struct sim_cq *send_cq, struct sim_cq *recv_cq);

/* An SRQ for SIM_SRQ_SGE pieces; `cq` for XRC, NULL otherwise. XRC requests find it by number. */
struct sim_srq *sim_stack_add_srq(struct sim_stack *s, uint32_t depth, struct sim_cq *cq);
/* Another depth; it must hold what waits. */
void sim_srq_resize(struct sim_srq *srq, uint32_t depth);
/* Posts a receive; false when the SRQ is full. */
bool sim_srq_post(struct sim_srq *srq, uint64_t wr_id, const struct roce_sge *sge,
		  uint32_t sge_count);

/* The shared entry of a remote receive queue. */
struct roce_peer *sim_stack_peer(struct sim_stack *s, const struct roce_gid *dgid, uint8_t slot);

static inline uint64_t sim_counter(const struct sim_stack *s, uint32_t index)
{
	return s->counters.v[index];
}

/* How often an async event came. */
uint32_t sim_stack_event_count(const struct sim_stack *s, enum roce_async_event event);

#endif
