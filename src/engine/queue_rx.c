/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From socket to transport. The checks in order, each with its counter: long enough for BTH and
 * ICRC; for our slot (else it is a stray and its owner gets it through the daemon); ICRC; headers.
 * Everything after that is the transport's to judge.
 */
#include "engine/queue.h"

#include "wire/headers.h"

#include <netinet/in.h>
#include <string.h>

#define STRAYS_PER_SECOND 2000u
#define PACKET_BYTES_MIN  (ROCE_BTH_BYTES + ROCE_ICRC_BYTES)
#define DEST_SLOT_OFFSET  5u
#define GROUP_SLOT	  0xffu /* of the DestQP 0xffffff */

/* Where a batch comes from. */
struct origin {
	struct roce_queue_address *address;
	struct roce_queue_sender *sender;
	const struct roce_pktio_rx *batch;
};

static uint32_t hash_source(const struct roce_gid *gid)
{
	uint64_t low;

	memcpy(&low, gid->raw + 8, 8);
	return (uint32_t)((low * UINT64_C(0x9e3779b97f4a7c15)) >> 56) % ROCE_QUEUE_SENDERS;
}

static struct roce_queue_sender *find_sender(struct roce_queue_address *a,
					     const struct roce_gid *src, uint16_t sport)
{
	struct roce_queue_sender *s = &a->senders[hash_source(src)];

	if (!s->is_used || !roce_gid_is_equal(&s->src, src)) {
		*s = (struct roce_queue_sender){.src = *src, .is_used = true, .sport = sport};
		roce_icrc_flow_init(&s->flow, src, &a->gid, sport, ROCE_UDP_PORT);
	} else if (s->sport != sport) {
		s->sport = sport;
		roce_icrc_flow_set_sport(&s->flow, sport);
	}
	return s;
}

/* ---- strays ---- */

static bool take_stray_token(struct roce_queue *q, roce_ns_t now)
{
	if (now - q->stray_refill_ns >= ROCE_NS_PER_S) {
		q->stray_refill_ns = now;
		q->stray_tokens = STRAYS_PER_SECOND;
	}
	if (!q->stray_tokens)
		return false;
	q->stray_tokens--;
	return true;
}

static void fill_from(const struct roce_pktio_rx *b, uint32_t ifindex, struct sockaddr_storage *out)
{
	memset(out, 0, sizeof(*out));
	if (roce_gid_is_v4(&b->src)) {
		struct sockaddr_in *a = (struct sockaddr_in *)out;

		a->sin_family = AF_INET;
		a->sin_port = htons(b->sport);
		memcpy(&a->sin_addr, b->src.raw + 12, 4);
	} else {
		struct sockaddr_in6 *a = (struct sockaddr_in6 *)out;

		a->sin6_family = AF_INET6;
		a->sin6_port = htons(b->sport);
		a->sin6_scope_id = ifindex;
		memcpy(&a->sin6_addr, b->src.raw, 16);
	}
}

static void forward_stray(struct roce_queue *q, const struct origin *from, const uint8_t *data,
			  uint32_t length, roce_ns_t now)
{
	struct roce_engine_stats *stats = &q->counters->engine;
	struct sockaddr_storage address;

	if (!take_stray_token(q, now)) {
		stats->rx_strays_dropped++;
		return;
	}
	fill_from(from->batch, q->ifindex, &address);
	if (roce_lease_forward_stray(q->lease, &from->address->gid, &address, data, length,
				     from->batch->traffic_class) == 0)
		stats->rx_strays_forwarded++;
	else
		stats->rx_strays_dropped++;
}

/* ---- packets ---- */

static void take_packet(struct roce_queue *q, const struct origin *from, const uint8_t *bth,
			uint32_t length, uint16_t index, roce_ns_t now)
{
	struct roce_shared_counters *counters = q->counters;
	enum roce_decode_verdict verdict;
	struct roce_rx_pkt pkt;
	const uint8_t *payload;

	if (length < PACKET_BYTES_MIN) {
		counters->engine.rx_too_short++;
		return;
	}
	if (bth[DEST_SLOT_OFFSET] != (from->address->is_group ? GROUP_SLOT : q->slot)) {
		if (from->address->is_group)
			counters->engine.rx_strays_dropped++;
		else
			forward_stray(q, from, bth, length, now);
		return;
	}
	if (!roce_icrc_check(&from->sender->flow, &from->sender->ids, index, bth, length)) {
		counters->engine.rx_bad_icrc++;
		return;
	}
	from->sender->heard_ns = now;
	verdict = roce_headers_decode(bth, length, &pkt.hdr, &payload, &pkt.payload_len);
	counters->decode[verdict]++;
	if (verdict != ROCE_DECODE_OK)
		return;
	pkt.payload = payload;
	pkt.src = &from->sender->src;
	pkt.dst = &from->address->gid;
	pkt.traffic_class = from->batch->traffic_class;
	pkt.hop_limit = from->batch->hop_limit;
	(void)roce_rx(q->transport, &pkt, now); /* it counts its verdict */
}

static uint32_t take_batch(struct roce_queue *q, struct roce_queue_address *a,
			   const struct roce_pktio_rx *b, roce_ns_t now)
{
	struct origin from = {
		.address = a, .sender = find_sender(a, &b->src, b->sport), .batch = b};
	uint16_t index = b->index_base;
	uint32_t count = 0;

	if (now - from.sender->heard_ns >= ROCE_ICRC_SILENCE_NS)
		from.sender->ids.was_silent = true;
	for (uint32_t at = 0; at < b->length; at += b->segment_length) {
		uint32_t left = b->length - at;

		take_packet(q, &from, b->data + at,
			    left < b->segment_length ? left : b->segment_length, index++, now);
		count++;
	}
	return count;
}

static uint32_t take_address(struct roce_queue *q, struct roce_queue_address *a, roce_ns_t now)
{
	uint32_t packets = 0;
	uint32_t count = roce_pktio_rx(a->io, q->rx_batches, ROCE_PKTIO_RX_BATCHES_MAX);

	for (uint32_t k = 0; k < count; k++)
		packets += take_batch(q, a, &q->rx_batches[k], now);
	return packets;
}

static uint32_t take_ready(struct roce_queue *q, roce_ns_t now)
{
	uint32_t places[ROCE_QUEUE_READY_MAX];
	uint32_t count = roce_queue_ready_list(q, places);
	uint32_t packets = 0;

	for (uint32_t i = 0; i < count; i++)
		packets += take_address(q, &q->addresses[places[i]], now);
	return packets;
}

uint32_t roce_queue_rx(struct roce_queue *q, roce_ns_t now)
{
	uint32_t packets = 0;

	if (q->ready_fd >= 0)
		return take_ready(q, now);
	for (uint32_t i = 0; i < q->address_count; i++)
		if (q->addresses[i].use_count)
			packets += take_address(q, &q->addresses[i], now);
	return packets;
}

void roce_queue_take_stray(struct roce_queue *q, const struct roce_gid *local,
			   const struct sockaddr_storage *from, const uint8_t *data, size_t length,
			   uint8_t traffic_class, roce_ns_t now)
{
	struct roce_pktio_rx b = {.data = data,
				  .length = (uint32_t)length,
				  .segment_length = (uint32_t)length,
				  .traffic_class = traffic_class};

	if (length < PACKET_BYTES_MIN || length > ROCE_PKTIO_BATCH_BYTES_MAX ||
	    data[DEST_SLOT_OFFSET] != q->slot)
		return; /* handing it on again could go round for ever */
	if (from->ss_family == AF_INET) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;

		b.src.raw[10] = 0xff;
		b.src.raw[11] = 0xff;
		memcpy(b.src.raw + 12, &v4->sin_addr, 4);
		b.sport = ntohs(v4->sin_port);
	} else {
		const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

		memcpy(b.src.raw, &v6->sin6_addr, 16);
		b.sport = ntohs(v6->sin6_port);
	}
	for (uint32_t i = 0; i < q->address_count; i++) {
		struct roce_queue_address *a = &q->addresses[i];

		if (a->use_count && roce_gid_is_equal(&a->gid, local)) {
			q->counters->engine.rx_strays_taken++;
			take_batch(q, a, &b, now);
			return;
		}
	}
}
