/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One end of a connected queue pair on a real engine, without the verbs ABI on top: what tests and
 * measurements of the engine have in common. Two processes exchange what they need over a socket.
 */
#ifndef ROCE_TESTS_ENGINE_END_H
#define ROCE_TESTS_ENGINE_END_H

#include "engine/engine.h"
#include "verbs/cq_verbs.h"
#include "verbs/mr_verbs.h"
#include "verbs/pd.h"
#include "verbs/qp_verbs.h"

#include <stdint.h>

struct end_config {
	uint32_t ifindex;
	uint8_t gid_index;
	uint8_t mtu; /* enum ibv_mtu */
	uint32_t depth;
	size_t buffer_bytes;
	bool is_on_demand; /* the region */
	bool has_events;
	uint8_t timeout; /* local ACK timeout code */
	uint8_t retry_count;
};

struct end_address { /* what the other side is told */
	struct roce_gid gid;
	uint32_t qpn;
	uint32_t psn;
	uint64_t buffer;
	uint32_t rkey;
};

struct end {
	struct roce_engine *engine;
	struct roce_context ctx;
	struct roce_pd pd;
	struct roce_comp_channel channel;
	struct roce_verbs_cq cq;
	struct roce_verbs_qp qp;
	struct roce_verbs_mr mr;
	uint8_t *buffer;
	struct end_config cfg;
	struct end_address own;
	struct end_address peer;
};

/* Opens everything and brings the queue pair to RTS with the process behind `socket_fd`. Ends the
 * process with a line on stderr if anything fails. */
void end_open(struct end *e, const struct end_config *cfg, int socket_fd);
void end_close(struct end *e);

/* What each side has for the other; `bytes` of both. */
void end_exchange(int socket_fd, const void *out, void *in, size_t bytes);
/* Waits until the other side says the same. */
void end_meet(int socket_fd);

enum roce_post_result end_post(struct end *e, uint8_t opcode, uint64_t wr_id, size_t offset,
			       uint32_t length, uint8_t flags);
/* Signalled, to another place at the peer than it comes from. */
enum roce_post_result end_post_to(struct end *e, uint8_t opcode, size_t offset,
				  size_t remote_offset, uint32_t length);
enum roce_post_result end_post_recv(struct end *e, uint64_t wr_id, size_t offset, uint32_t length);

/* Polls until an entry comes, or until `timeout_ns` have passed: then false. */
bool end_poll(struct end *e, struct roce_cqe *out, roce_ns_t timeout_ns);
/* The same by blocking on the channel (no time-out). */
bool end_wait(struct end *e, struct roce_cqe *out);

#endif
