/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One pass of a packet: put_on_line() copies it and gives it a place on the line, apply_faults()
 * decides its fate and arrival, on_arrival() hands it to the receiver and kicks that end.
 */
#include "sim/link.h"

#include "base/assert.h"
#include "sim/link_bytes.h"
#include "wire/headers.h"

#include <stdlib.h>
#include <string.h>

const char *roce_link_fate_str(enum roce_link_fate fate)
{
	switch (fate) {
#define X(id, name)          \
	case ROCE_LINK_##id: \
		return name;
		ROCE_LINK_FATES(X)
#undef X
	case ROCE_LINK_FATE_COUNT:
		break;
	}
	return "?";
}

static void on_arrival(struct roce_event *ev);

static struct roce_link_pkt *get_pkt(struct roce_link *link)
{
	struct roce_link_pkt *pkt = link->free_pkts;

	if (pkt) {
		link->free_pkts = pkt->next_free;
	} else {
		pkt = malloc(sizeof(*pkt));
		ROCE_ASSERT(pkt);
		roce_event_init(&pkt->arrival, on_arrival);
	}
	roce_list_add_tail(&link->flying, &pkt->link);
	return pkt;
}

static void put_pkt(struct roce_link *link, struct roce_link_pkt *pkt)
{
	roce_list_remove(&pkt->link);
	pkt->next_free = link->free_pkts;
	link->free_pkts = pkt;
}

static void copy_pkt(struct roce_link_pkt *to, const struct roce_link_pkt *from)
{
	to->to = from->to;
	to->id = from->id;
	to->hdr = from->hdr;
	to->src = from->src;
	to->dst = from->dst;
	to->traffic_class = from->traffic_class;
	to->hop_limit = from->hop_limit;
	to->is_phantom = from->is_phantom;
	to->payload_len = from->payload_len;
	if (!from->is_phantom)
		memcpy(to->payload, from->payload, from->payload_len);
}

static void tell(struct roce_link_end *from, enum roce_link_fate fate,
		 const struct roce_link_pkt *pkt, enum roce_verdict verdict)
{
	struct roce_link *link = from->link;

	from->fates[fate]++;
	if (link->hooks.observe)
		link->hooks.observe(link->hooks.ctx, fate, from->index, pkt, verdict);
}

static void look_at_deadline(struct roce_link_end *end)
{
	roce_event_schedule(end->link->queue, &end->deadline,
			    roce_ps_from_ns(roce_deadline(end->transport)));
}

static void on_arrival(struct roce_event *ev)
{
	struct roce_link_pkt *pkt = roce_container_of(ev, struct roce_link_pkt, arrival);
	struct roce_link_end *to = pkt->to;
	struct roce_link *link = to->link;
	enum roce_verdict verdict;
	struct roce_rx_pkt rx = {
		.hdr = pkt->hdr,
		.payload = pkt->is_phantom ? NULL : pkt->payload,
		.payload_len = pkt->payload_len,
		.src = &pkt->src,
		.dst = &pkt->dst,
		.traffic_class = pkt->traffic_class,
		.hop_limit = pkt->hop_limit,
	};

	verdict = roce_rx(to->transport, &rx, roce_event_queue_now_ns(link->queue));
	tell(&link->ends[!to->index], ROCE_LINK_DELIVERED, pkt, verdict);
	put_pkt(link, pkt);
	if (link->cfg.lag_ps[to->index] == 0) {
		roce_link_kick(link, to->index);
		return;
	}
	if (!roce_event_is_queued(&to->pull))
		roce_event_schedule(link->queue, &to->pull,
				    link->queue->now_ps + link->cfg.lag_ps[to->index]);
	look_at_deadline(to);
}

/* Copies the payload out of memory that the next call into the transport may change. */
static void gather(struct roce_link_pkt *pkt, const struct roce_payload *payload)
{
	uint64_t skip = payload->offset;
	uint32_t done = 0;

	ROCE_ASSERT(payload->length <= sizeof(pkt->payload));
	pkt->payload_len = payload->length;
	pkt->is_phantom = payload->length && !payload->sge && !payload->data;
	if (pkt->is_phantom || !payload->length)
		return;
	if (!payload->sge) {
		memcpy(pkt->payload, payload->data, payload->length);
		return;
	}
	for (uint32_t i = 0; i < payload->sge_count && done < payload->length; i++) {
		const struct roce_sge *sge = &payload->sge[i];
		uint32_t n;

		if (skip >= sge->length) {
			skip -= sge->length;
			continue;
		}
		n = sge->length - (uint32_t)skip;
		if (n > payload->length - done)
			n = payload->length - done;
		memcpy(pkt->payload + done, (const uint8_t *)(uintptr_t)(sge->addr + skip), n);
		done += n;
		skip = 0;
	}
	ROCE_ASSERT(done == payload->length);
}

static uint64_t draw_up_to(struct roce_prng *prng, roce_ns_t ns_max)
{
	return roce_prng_below(prng, ns_max * ROCE_PS_PER_NS + 1);
}

static bool is_lost(struct roce_link_end *from, const struct roce_link_faults *faults)
{
	if (from->link->is_down)
		return true;
	if (from->burst_left) {
		from->burst_left--;
		return true;
	}
	if (!roce_prng_hit(&from->loss, faults->loss_ppm))
		return false;
	if (faults->loss_burst_max > 1)
		from->burst_left = (uint32_t)roce_prng_below(&from->loss, faults->loss_burst_max);
	return true;
}

/* True when the packet goes on; with bytes on the wire the codec says so, not the fault. */
static bool survives_damage(struct roce_link_end *from, struct roce_link_pkt *pkt,
			    const struct roce_link_faults *faults)
{
	bool is_hit = roce_prng_hit(&from->corrupt, faults->corrupt_ppm);

	if (!from->link->cfg.is_encoded || pkt->is_phantom)
		return !is_hit;
	switch (roce_link_bytes_carry(pkt, is_hit ? &from->corrupt : NULL)) {
	case ROCE_LINK_BYTES_INTACT:
		return true;
	case ROCE_LINK_BYTES_REFUSED:
		if (!is_hit)
			from->codec_errors++;
		return false;
	case ROCE_LINK_BYTES_CHANGED:
		if (is_hit)
			from->damage_missed++;
		else
			from->codec_errors++;
		return false;
	}
	return false;
}

static void fly(struct roce_link_end *from, struct roce_link_pkt *pkt, uint64_t at_ps)
{
	roce_event_schedule(from->link->queue, &pkt->arrival, at_ps);
}

/* `left_ps` is when the last bit leaves the sender. */
static void apply_faults(struct roce_link_end *from, struct roce_link_pkt *pkt, uint64_t left_ps)
{
	struct roce_link *link = from->link;
	const struct roce_link_faults *faults = &link->cfg.faults[from->index];
	uint64_t at_ps = left_ps + link->cfg.delay_ps;

	if (is_lost(from, faults)) {
		tell(from, ROCE_LINK_LOST, pkt, ROCE_RX_ACCEPTED);
		put_pkt(link, pkt);
		return;
	}
	if (!survives_damage(from, pkt, faults)) {
		tell(from, ROCE_LINK_CORRUPTED, pkt, ROCE_RX_ACCEPTED);
		put_pkt(link, pkt);
		return;
	}
	if (roce_prng_hit(&from->duplicate, faults->duplicate_ppm)) {
		struct roce_link_pkt *twin = get_pkt(link);

		copy_pkt(twin, pkt);
		tell(from, ROCE_LINK_DUPLICATED, twin, ROCE_RX_ACCEPTED);
		fly(from, twin, at_ps + draw_up_to(&from->duplicate, faults->late_ns_max));
	}
	if (roce_prng_hit(&from->reorder, faults->reorder_ppm)) {
		tell(from, ROCE_LINK_REORDERED, pkt, ROCE_RX_ACCEPTED);
		fly(from, pkt, at_ps + draw_up_to(&from->reorder, faults->late_ns_max));
		return;
	}
	at_ps += draw_up_to(&from->jitter, faults->jitter_ns_max);
	if (at_ps < from->last_arrival_ps)
		at_ps = from->last_arrival_ps;
	from->last_arrival_ps = at_ps;
	fly(from, pkt, at_ps);
}

/* The line is taken one packet after the other. */
static void put_on_line(struct roce_link_end *from, struct roce_link_pkt *pkt)
{
	struct roce_link *link = from->link;
	const struct roce_link_faults *faults = &link->cfg.faults[from->index];

	pkt->to = &link->ends[!from->index];
	pkt->id = from->next_id++;
	tell(from, ROCE_LINK_SENT, pkt, ROCE_RX_ACCEPTED);
	if (from->line_free_ps < link->queue->now_ps)
		from->line_free_ps = link->queue->now_ps;
	if (roce_prng_hit(&from->stall, faults->stall_ppm))
		from->line_free_ps += draw_up_to(&from->stall, faults->stall_ns_max);
	from->line_free_ps +=
		link->cfg.ps_per_byte *
		(roce_packet_len(pkt->hdr.opcode, pkt->payload_len) + ROCE_LINK_FRAME_BYTES);
	if (link->hooks.filter && !link->hooks.filter(link->hooks.ctx, from->index, pkt)) {
		tell(from, ROCE_LINK_FILTERED, pkt, ROCE_RX_ACCEPTED);
		put_pkt(link, pkt);
		return;
	}
	apply_faults(from, pkt, from->line_free_ps);
}

/* Copies a batch whole before anything else happens to its packets. */
static bool pull_batch(struct roce_link_end *end)
{
	struct roce_link *link = end->link;
	struct roce_tx_pkt tx[ROCE_LINK_PULL_MAX];
	struct roce_link_pkt *batch[ROCE_LINK_PULL_MAX];
	size_t count = roce_tx(end->transport, tx, link->cfg.pull_max,
			       roce_event_queue_now_ns(link->queue));

	ROCE_ASSERT(count <= link->cfg.pull_max);
	for (size_t i = 0; i < count; i++) {
		batch[i] = get_pkt(link);
		batch[i]->hdr = tx[i].hdr;
		batch[i]->src = tx[i].path->sgid;
		batch[i]->dst = tx[i].path->dgid;
		batch[i]->traffic_class = tx[i].traffic_class;
		batch[i]->hop_limit = tx[i].path->hop_limit;
		gather(batch[i], &tx[i].payload);
	}
	for (size_t i = 0; i < count; i++)
		put_on_line(end, batch[i]);
	return count > 0;
}

void roce_link_kick(struct roce_link *link, unsigned int index)
{
	struct roce_link_end *end = &link->ends[index];

	while (end->line_free_ps <= link->queue->now_ps && pull_batch(end))
		continue;
	if (end->line_free_ps > link->queue->now_ps)
		roce_event_schedule(link->queue, &end->pull, end->line_free_ps);
	look_at_deadline(end);
}

static void on_line_free(struct roce_event *ev)
{
	struct roce_link_end *end = roce_container_of(ev, struct roce_link_end, pull);

	roce_link_kick(end->link, end->index);
}

static void on_deadline(struct roce_event *ev)
{
	struct roce_link_end *end = roce_container_of(ev, struct roce_link_end, deadline);

	roce_on_deadline(end->transport, roce_event_queue_now_ns(end->link->queue));
	roce_link_kick(end->link, end->index);
}

static struct roce_prng split(struct roce_prng *root)
{
	return (struct roce_prng){roce_prng_next(root)};
}

void roce_link_init(struct roce_link *link, struct roce_event_queue *queue,
		    const struct roce_link_config *cfg, const struct roce_link_hooks *hooks,
		    struct roce_transport *a, struct roce_transport *b)
{
	struct roce_prng root = {cfg->seed};

	*link = (struct roce_link){.queue = queue, .cfg = *cfg};
	roce_list_init(&link->flying);
	if (hooks)
		link->hooks = *hooks;
	if (link->cfg.pull_max == 0 || link->cfg.pull_max > ROCE_LINK_PULL_MAX)
		link->cfg.pull_max = ROCE_LINK_PULL_MAX;
	for (unsigned int i = 0; i < 2; i++) {
		struct roce_link_end *end = &link->ends[i];

		end->link = link;
		end->transport = i ? b : a;
		end->index = i;
		roce_event_init(&end->deadline, on_deadline);
		roce_event_init(&end->pull, on_line_free);
		end->loss = split(&root);
		end->corrupt = split(&root);
		end->duplicate = split(&root);
		end->reorder = split(&root);
		end->stall = split(&root);
		end->jitter = split(&root);
	}
}

static void drop_flying(struct roce_link *link)
{
	while (!roce_list_is_empty(&link->flying)) {
		struct roce_link_pkt *pkt =
			roce_container_of(link->flying.next, struct roce_link_pkt, link);

		roce_event_cancel(link->queue, &pkt->arrival);
		put_pkt(link, pkt);
	}
}

void roce_link_fini(struct roce_link *link)
{
	drop_flying(link);
	for (unsigned int i = 0; i < 2; i++) {
		roce_event_cancel(link->queue, &link->ends[i].deadline);
		roce_event_cancel(link->queue, &link->ends[i].pull);
	}
	while (link->free_pkts) {
		struct roce_link_pkt *pkt = link->free_pkts;

		link->free_pkts = pkt->next_free;
		free(pkt);
	}
}

void roce_link_inject(struct roce_link *link, unsigned int from, const struct roce_link_pkt *pkt)
{
	struct roce_link_pkt *copy = get_pkt(link);

	copy_pkt(copy, pkt);
	put_on_line(&link->ends[from], copy);
}
