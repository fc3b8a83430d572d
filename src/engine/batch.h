/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which packets may leave together: those of one flow with the same traffic class, hop limit and
 * flow label; all as long as the first, but a shorter one may end the batch. At most as many
 * packets as the backend takes and as many bytes as a datagram holds.
 *
 * A WRITE of 64 KiB at MTU 4096 therefore leaves as two batches: its first packet is 16 bytes
 * longer (RETH), so it goes with the second, and the other 14 follow. SENDs fill 15 a batch.
 */
#ifndef ROCE_ENGINE_BATCH_H
#define ROCE_ENGINE_BATCH_H

#include "pktio/pktio.h"

static inline bool roce_batch_is_ended(const struct roce_pktio_tx *b)
{
	return b->length < b->segment_length * b->segment_count;
}

/* May `packet_length` bytes with the fields of `like` (flow, class, hop limit, label) join? */
static inline bool roce_batch_can_append(const struct roce_pktio_tx *b,
					 const struct roce_pktio_tx *like, uint32_t packet_length,
					 uint32_t segments_max)
{
	return b->flow == like->flow && packet_length <= b->segment_length &&
	       b->segment_count < segments_max && !roce_batch_is_ended(b) &&
	       b->length + packet_length <= ROCE_PKTIO_BATCH_BYTES_MAX &&
	       b->traffic_class == like->traffic_class && b->hop_limit == like->hop_limit &&
	       b->flow_label == like->flow_label;
}

static inline void roce_batch_append(struct roce_pktio_tx *b, uint32_t packet_length)
{
	if (b->segment_count == 0)
		b->segment_length = packet_length;
	b->segment_count++;
	b->length += packet_length;
}

#endif
