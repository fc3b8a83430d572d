/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion window towards one receive queue: (destination address, destination slot), shared by
 * all queue pairs towards it. RC has no window of its own and an unprivileged socket's receive
 * buffer holds few packets, so the requester limits what is unacknowledged.
 *
 * The unit is cost: payload bytes plus ROCE_WINDOW_PACKET_COST for each packet, because a socket
 * buffer is charged for whole buffers, not for bytes. Simulated lossless hosts use a huge limit.
 */
#ifndef ROCE_CC_WINDOW_H
#define ROCE_CC_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define ROCE_WINDOW_PACKET_COST 512u

/* As initial, min and max: the window is never full, so nobody has to ask for room. */
#define ROCE_WINDOW_UNLIMITED (1u << 31)

struct roce_window_config {
	uint32_t initial; /* cost */
	uint32_t min;
	uint32_t max;
};

struct roce_window {
	uint32_t limit;	   /* cost that may be unacknowledged */
	uint32_t inflight; /* cost sent and not acknowledged */
	uint32_t growth;   /* acknowledged cost since the limit last grew */
};

void roce_window_init(struct roce_window *w, const struct roce_window_config *cfg);

/* Room for one more packet? An empty window always takes one. */
static inline bool roce_window_has_room(const struct roce_window *w, uint32_t cost)
{
	return w->inflight == 0 || w->inflight + cost <= w->limit;
}

static inline void roce_window_on_send(struct roce_window *w, uint32_t cost)
{
	w->inflight += cost;
}

/* Gives cost back without judging (go-back-N forgets what was in flight). */
void roce_window_release(struct roce_window *w, uint32_t cost);
void roce_window_on_ack(struct roce_window *w, const struct roce_window_config *cfg, uint32_t cost);
/* A sequence NAK or implied loss: halve. */
void roce_window_on_loss(struct roce_window *w, const struct roce_window_config *cfg);
/* A time-out: fall back to the minimum. */
void roce_window_on_timeout(struct roce_window *w, const struct roce_window_config *cfg);

#endif
