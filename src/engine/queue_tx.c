/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From transport to socket: packets are pulled, staged one behind the other as batch.h allows, and
 * sent with as few system calls as the flows permit.
 *
 * Payload references are valid until the next call into the transport, so everything that
 * roce_tx() returned is staged before a fault is reported.
 */
#include "engine/queue.h"

#include "engine/batch.h"
#include "engine/guard.h"
#include "engine/on_demand.h"
#include "wire/headers.h"
#include "wq/sge.h"

#include <string.h>

/* The packets of one roce_tx() mostly share their destination: the last lookup is kept. */
struct route {
	const struct roce_path *path;
	uint8_t slot;
	struct roce_queue_address *address;
	struct roce_pktio_tx like; /* flow, hop limit, label; the class is the packet's own */
};

static void flush(struct roce_queue *q)
{
	if (q->tx_batch_count)
		roce_pktio_tx(q->tx_io, q->tx_batches, q->tx_batch_count);
	q->tx_batch_count = 0;
	q->stage_used = 0;
}

/* False when there is no way to send it. */
static bool find_route(struct roce_queue *q, const struct roce_tx_pkt *pkt, struct route *r)
{
	uint8_t slot = roce_qpn_slot(pkt->hdr.dest_qpn);

	if (r->path == pkt->path && r->slot == slot)
		return r->like.flow != NULL;
	r->path = pkt->path;
	r->slot = slot;
	r->like.flow = NULL;
	r->address = NULL;
	for (uint32_t i = 0; i < q->address_count; i++) {
		if (q->addresses[i].use_count &&
		    roce_gid_is_equal(&q->addresses[i].gid, &pkt->path->sgid))
			r->address = &q->addresses[i];
	}
	if (!r->address)
		return false;
	if (q->tx_io != r->address->io) {
		flush(q); /* before flow tables may change, too */
		q->tx_io = r->address->io;
	}
	r->like.flow = roce_pktio_flow(q->tx_io, &pkt->path->dgid, slot);
	r->like.hop_limit = pkt->path->hop_limit;
	r->like.flow_label = pkt->path->flow_label;
	return r->like.flow != NULL;
}

static int copy_piece(uint8_t *to, const void *from, uint32_t length, bool is_on_demand)
{
	if (length == 0)
		return 0;
	return is_on_demand ? roce_on_demand_read(to, from, length)
			    : roce_guard_copy(to, from, length);
}

/* 0, or negative when the memory is gone. */
static int copy_payload(uint8_t *to, const struct roce_payload *p)
{
	struct roce_sge_cursor at;
	uint32_t left = p->length;

	if (!p->sge)
		return copy_piece(to, p->data, left, p->is_on_demand);
	at = roce_sge_seek(p->sge, p->sge_count, p->offset);
	while (left) {
		const struct roce_sge *sge = &p->sge[at.index];
		uint32_t piece = sge->length - at.skip;

		if (piece > left)
			piece = left;
		if (roce_sge_is_zeros(sge))
			memset(to, 0, piece);
		else if (copy_piece(to, (const void *)(uintptr_t)(sge->addr + at.skip), piece,
				    roce_sge_is_on_demand(sge)) < 0)
			return -1;
		to += piece;
		left -= piece;
		at.index++;
		at.skip = 0;
	}
	return 0;
}

/* The batch that a packet of this length joins or opens, with room for it in the stage. */
static struct roce_pktio_tx *choose_batch(struct roce_queue *q, const struct route *r,
					  uint32_t length, bool is_single)
{
	uint32_t segments_max = is_single ? 1 : q->tx_io->segments_max;
	struct roce_pktio_tx *b;

	if (q->stage_used + length > ROCE_QUEUE_STAGE_BYTES)
		flush(q);
	if (q->tx_batch_count) {
		b = &q->tx_batches[q->tx_batch_count - 1];
		if (roce_batch_can_append(b, &r->like, length, segments_max))
			return b;
	}
	if (q->tx_batch_count == ROCE_QUEUE_TX_BATCHES)
		flush(q);
	b = &q->tx_batches[q->tx_batch_count++];
	*b = r->like;
	b->data = q->stage + q->stage_used;
	return b;
}

/* False when the payload is gone. */
static bool stage_packet(struct roce_queue *q, const struct route *r, const struct roce_tx_pkt *pkt)
{
	uint32_t length = (uint32_t)roce_packet_len(pkt->hdr.opcode, pkt->payload.length);
	struct roce_pktio_tx *b = choose_batch(q, r, length, pkt->is_single);
	uint8_t *packet = q->stage + q->stage_used;
	uint8_t *payload = packet + roce_headers_encode(&pkt->hdr, packet);
	uint8_t *icrc = packet + length - ROCE_ICRC_BYTES;

	if (copy_payload(payload, &pkt->payload) < 0) {
		if (b->segment_count == 0)
			q->tx_batch_count--;
		return false;
	}
	memset(payload + pkt->payload.length, 0, (size_t)(icrc - payload) - pkt->payload.length);
	roce_icrc_put(icrc, roce_icrc_compute(&r->like.flow->icrc, b->segment_count, packet,
					      length - ROCE_ICRC_BYTES));
	roce_batch_append(b, length);
	q->stage_used += length;
	return true;
}

/* Packets of one round whose memory is gone: the first of each QP in each role. */
struct faults {
	uint32_t count;
	uint8_t index[ROCE_QUEUE_TX_PACKETS];
};

_Static_assert(ROCE_QUEUE_TX_PACKETS <= UINT8_MAX + 1, "an index fits");

static bool is_response(const struct roce_tx_pkt *pkt)
{
	return roce_opcode_info(pkt->hdr.opcode)->is_response;
}

static void note_fault(const struct roce_queue *q, struct faults *f, size_t i)
{
	const struct roce_tx_pkt *pkt = &q->tx_packets[i];

	for (uint32_t k = 0; k < f->count; k++) {
		const struct roce_tx_pkt *other = &q->tx_packets[f->index[k]];

		if (other->qp == pkt->qp && is_response(other) == is_response(pkt))
			return;
	}
	f->index[f->count++] = (uint8_t)i;
}

static void stage_all(struct roce_queue *q, size_t count, struct faults *out_faults)
{
	struct route r = {0};

	out_faults->count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct roce_tx_pkt *pkt = &q->tx_packets[i];

		if (!find_route(q, pkt, &r)) {
			if (r.address)
				q->counters->engine.tx_no_flow++;
			else
				q->counters->engine.tx_no_address++;
			continue;
		}
		r.like.traffic_class = pkt->traffic_class;
		if (!stage_packet(q, &r, pkt)) {
			q->counters->engine.tx_memory_faults++;
			note_fault(q, out_faults, i);
		}
	}
}

uint32_t roce_queue_tx(struct roce_queue *q, roce_ns_t now)
{
	uint32_t total = 0;
	size_t count;

	while (total < ROCE_QUEUE_TX_BUDGET &&
	       (count = roce_tx(q->transport, q->tx_packets, ROCE_QUEUE_TX_PACKETS, now)) > 0) {
		struct faults faults;

		stage_all(q, count, &faults);
		total += (uint32_t)count;
		for (uint32_t i = 0; i < faults.count; i++)
			roce_tx_fault(q->transport, &q->tx_packets[faults.index[i]], now);
	}
	flush(q);
	return total;
}
