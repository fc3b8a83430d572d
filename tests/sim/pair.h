/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two hosts on a simulated link, QP i of one connected to QP i of the other, and a transcript: what
 * went over the link and what was completed, one line each, to be compared as text.
 *
 *   > SEND_ONLY psn 10 len 5 ackreq      host 0 to host 1
 *   < ACK psn 10 msn 1                   host 1 to host 0
 *   x WRITE_LAST psn 12 len 7 ackreq     host 0 to host 1, lost on the way (y: the other way)
 *   0 cqe 7 SEND SUCCESS                 a completion on host 0
 *   1 event COMM_EST                     an asynchronous event on host 1
 */
#ifndef TESTS_SIM_PAIR_H
#define TESTS_SIM_PAIR_H

#include "sim/link.h"
#include "stack.h"
#include "text.h"

/* What the two ends of a connection agree upon, and each end's own choices. */
struct sim_conn {
	uint8_t path_mtu;
	uint32_t psn[2]; /* sq_psn of each end */
	uint8_t max_rd_atomic[2];
	uint8_t max_dest_rd_atomic[2];
	uint8_t min_rnr_timer[2];
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint32_t access_flags;
	uint32_t qkey; /* UD */
	uint8_t sl;    /* of both paths */
};

struct sim_pair {
	struct roce_event_queue queue;
	struct roce_link link;
	struct sim_stack hosts[2];
	struct sim_text log;
	/* May change or (false) drop a packet; NULL: none. */
	bool (*tamper)(struct sim_pair *p, unsigned int from, struct roce_link_pkt *pkt);
	/* Sees every packet's fate; NULL: none. */
	void (*observe)(void *ctx, enum roce_link_fate fate, unsigned int from,
			const struct roce_link_pkt *pkt, enum roce_verdict verdict);
	void *observe_ctx;
	uint64_t tampered;		   /* for the tamper function's own use */
	enum roce_verdict last_verdict[2]; /* of the last packet that host 0, 1 received */
	uint32_t events_told[2];
	bool is_quiet; /* no packets in the transcript */
};

struct sim_conn sim_conn_default(void);

/* `link_cfg` NULL: 1 us each way, infinitely fast, no faults. `tuning` NULL: the default. */
void sim_pair_init(struct sim_pair *p, size_t arena_size,
		   const struct roce_transport_config *tuning,
		   const struct roce_link_config *link_cfg);
/* The same with all choices: `arena_size` and `tuning` by host; `seed` for keys and QPNs. */
void sim_pair_init_with(struct sim_pair *p, const size_t arena_size[2],
			const struct roce_transport_config tuning[2],
			const struct roce_link_config *link_cfg, uint64_t seed);
void sim_pair_fini(struct sim_pair *p);

/* Attributes of INIT, RTR and RTS for end `i`, with the masks that the table demands. */
void sim_conn_attr(struct sim_pair *p, unsigned int i, const struct roce_qp *own,
		   const struct roce_qp *other, const struct sim_conn *conn,
		   struct roce_qp_attr *out);
#define SIM_MASK_INIT \
	(ROCE_ATTR_STATE | ROCE_ATTR_PKEY_INDEX | ROCE_ATTR_PORT | ROCE_ATTR_ACCESS_FLAGS)
#define SIM_MASK_RTR                                                                \
	(ROCE_ATTR_STATE | ROCE_ATTR_AV | ROCE_ATTR_PATH_MTU | ROCE_ATTR_DEST_QPN | \
	 ROCE_ATTR_RQ_PSN | ROCE_ATTR_MAX_DEST_RD_ATOMIC | ROCE_ATTR_MIN_RNR_TIMER)
#define SIM_MASK_RTS                                                                       \
	(ROCE_ATTR_STATE | ROCE_ATTR_TIMEOUT | ROCE_ATTR_RETRY_CNT | ROCE_ATTR_RNR_RETRY | \
	 ROCE_ATTR_SQ_PSN | ROCE_ATTR_MAX_QP_RD_ATOMIC)

/* What a QP type needs for INIT, RTR, RTS. */
uint32_t sim_mask(uint8_t type, uint8_t state);

/* Brings both ends to RTS; false if a modify was refused. */
bool sim_pair_connect(struct sim_pair *p, struct roce_qp *a, struct roce_qp *b,
		      const struct sim_conn *conn);
/* Moves one end to `state` with no other attribute. */
enum roce_modify_result sim_pair_set_state(struct sim_pair *p, unsigned int i, struct roce_qp *qp,
					   enum roce_qp_state state);

roce_ns_t sim_pair_now(const struct sim_pair *p);
/* Runs events until none is left within `ns` from now, then writes new completions and events to
 * the transcript. */
void sim_pair_run(struct sim_pair *p, roce_ns_t ns);

enum roce_post_result sim_pair_send(struct sim_pair *p, unsigned int i, struct roce_qp *qp,
				    const struct roce_send_wr *wr);
enum roce_post_result sim_pair_recv(struct sim_pair *p, unsigned int i, struct roce_qp *qp,
				    uint64_t wr_id, const struct roce_sge *sge, uint32_t sge_count);

#endif
