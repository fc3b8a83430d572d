/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The impairing pktio. Received batches are cut where something happens to a packet and handed on
 * in pieces that still lie in the inner pktio's buffers; packets that are held back or damaged are
 * copied to slots of our own. A slot is FREE, HELD until it is due, then LENT to the caller until
 * its next call of rx.
 *
 * On the way out packets must be single to be dropped one by one, so an impaired sender does not
 * batch (segments_max is 1).
 */
#include "pktio/wrap/impair.h"

#include "base/clock.h"
#include "pktio/wrap/faulty_nic.h"
#include "wire/headers.h"
#include "wire/packet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOT_COUNT	64u
#define SLOT_BYTES	65536u
#define REORDER_HOLD_NS ROCE_NS_PER_MS
/* A packet may become: the run before it, itself twice, and held ones that are due. */
#define OUTPUTS_OF_PACKET 3u

enum slot_state {
	SLOT_FREE,
	SLOT_HELD,
	SLOT_LENT,
};

struct slot {
	enum slot_state state;
	bool is_tx;
	uint32_t after_count; /* packets still to pass it; UINT32_MAX: time alone counts */
	roce_ns_t release_ns;
	struct roce_pktio_rx rx;
	struct roce_pktio_tx tx; /* flow is looked up again */
	struct roce_gid dgid;
	uint8_t flow_slot;
	uint8_t *bytes;
};

struct impair_io {
	struct roce_pktio base;
	struct roce_pktio *inner;
	struct roce_impair_spec spec;
	uint64_t rx_number;
	uint64_t tx_number;
	uint32_t held_count;
	struct slot slots[SLOT_COUNT];

	struct roce_pktio_rx batches[ROCE_PKTIO_RX_BATCHES_MAX];
	uint32_t batch_count;
	uint32_t batch_index;
	uint32_t batch_offset; /* bytes of the current batch that were handed on */
	uint8_t *memory;
};

static void count_action(struct impair_io *io, enum roce_impair_action action)
{
	struct roce_pktio_stats *stats = io->base.stats;

	switch (action) {
	case ROCE_IMPAIR_DROP:
		stats->impair_dropped++;
		break;
	case ROCE_IMPAIR_DUP:
		stats->impair_duplicated++;
		break;
	case ROCE_IMPAIR_REORDER:
		stats->impair_reordered++;
		break;
	case ROCE_IMPAIR_CORRUPT:
		stats->impair_corrupted++;
		break;
	case ROCE_IMPAIR_DELAY:
		stats->impair_delayed++;
		break;
	case ROCE_IMPAIR_CE:
		stats->impair_marked++;
		break;
	case ROCE_IMPAIR_PASS:
	case ROCE_IMPAIR_COUNT:
		break;
	}
}

/* Only what its sender declared ECN-capable may be marked. */
static bool is_markable(uint8_t traffic_class)
{
	return (traffic_class & ROCE_ECN_MASK) != 0;
}

static bool needs_slot(enum roce_impair_action action)
{
	return action == ROCE_IMPAIR_CORRUPT || action == ROCE_IMPAIR_REORDER ||
	       action == ROCE_IMPAIR_DELAY;
}

/* NULL when all are in use: the packet then passes unharmed, and is not counted. */
static struct slot *take_slot(struct impair_io *io, const uint8_t *data, uint32_t length)
{
	for (uint32_t i = 0; i < SLOT_COUNT; i++) {
		struct slot *s = &io->slots[i];

		if (s->state != SLOT_FREE)
			continue;
		memcpy(s->bytes, data, length);
		return s;
	}
	return NULL;
}

static void flip_bit(uint8_t *bytes, uint32_t length, uint64_t random)
{
	uint64_t bit = random % ((uint64_t)length * 8);

	bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
}

static void hold(struct impair_io *io, struct slot *s, const struct roce_impair_fate *fate,
		 bool is_tx)
{
	bool is_delay = fate->action == ROCE_IMPAIR_DELAY;

	s->state = SLOT_HELD;
	s->is_tx = is_tx;
	s->after_count = is_delay ? UINT32_MAX : fate->after_count;
	s->release_ns = roce_clock_now() + (is_delay ? io->spec.delay_ns : REORDER_HOLD_NS);
	io->held_count++;
}

static void on_packet_passed(struct impair_io *io, bool is_tx)
{
	if (io->held_count == 0)
		return;
	for (uint32_t i = 0; i < SLOT_COUNT; i++) {
		struct slot *s = &io->slots[i];

		if (s->state == SLOT_HELD && s->is_tx == is_tx && s->after_count != UINT32_MAX &&
		    s->after_count > 0)
			s->after_count--;
	}
}

static struct slot *find_due(struct impair_io *io, bool is_tx, roce_ns_t now)
{
	if (io->held_count == 0)
		return NULL;
	for (uint32_t i = 0; i < SLOT_COUNT; i++) {
		struct slot *s = &io->slots[i];

		if (s->state == SLOT_HELD && s->is_tx == is_tx &&
		    (s->after_count == 0 || s->release_ns <= now))
			return s;
	}
	return NULL;
}

/* ---- receiving ---- */

static void lend(struct slot *s, const struct roce_pktio_rx *from, uint16_t index, uint32_t length)
{
	s->rx = *from;
	s->rx.data = s->bytes;
	s->rx.length = length;
	s->rx.segment_length = length;
	s->rx.index_base = index;
}

static uint32_t release_rx(struct impair_io *io, struct roce_pktio_rx *out, uint32_t max,
			   roce_ns_t now)
{
	uint32_t count = 0;
	struct slot *s;

	while (count < max && (s = find_due(io, false, now)) != NULL) {
		s->state = SLOT_LENT;
		io->held_count--;
		out[count++] = s->rx;
	}
	return count;
}

static void return_lent(struct impair_io *io)
{
	for (uint32_t i = 0; i < SLOT_COUNT; i++) {
		if (io->slots[i].state == SLOT_LENT)
			io->slots[i].state = SLOT_FREE;
	}
}

/* Packets [begin, end) bytes of a batch as they came. */
static uint32_t put_run(const struct roce_pktio_rx *b, uint32_t begin, uint32_t end,
			struct roce_pktio_rx *out)
{
	if (begin == end)
		return 0;
	*out = *b;
	out->data = b->data + begin;
	out->length = end - begin;
	out->index_base = (uint16_t)(b->index_base + begin / b->segment_length);
	if (out->segment_length > out->length)
		out->segment_length = out->length;
	return 1;
}

/* The packet at [begin, end), which is not simply passed on. */
static uint32_t put_impaired(struct impair_io *io, const struct roce_pktio_rx *b, uint32_t begin,
			     uint32_t end, const struct roce_impair_fate *fate,
			     struct roce_pktio_rx *out)
{
	uint16_t index = (uint16_t)(b->index_base + begin / b->segment_length);
	uint32_t count = 0;
	struct slot *s;

	if (fate->action == ROCE_IMPAIR_CE && !is_markable(b->traffic_class))
		return put_run(b, begin, end, out);
	s = needs_slot(fate->action) ? take_slot(io, b->data + begin, end - begin) : NULL;
	if (needs_slot(fate->action) && !s)
		return put_run(b, begin, end, out);
	count_action(io, fate->action);
	if (fate->action == ROCE_IMPAIR_DROP)
		return 0;
	if (fate->action == ROCE_IMPAIR_CE) {
		count = put_run(b, begin, end, out);
		out->traffic_class |= ROCE_ECN_CE;
		return count;
	}
	if (fate->action == ROCE_IMPAIR_DUP) {
		count += put_run(b, begin, end, out);
		return count + put_run(b, begin, end, out + count);
	}
	lend(s, b, index, end - begin);
	if (fate->action == ROCE_IMPAIR_CORRUPT) {
		flip_bit(s->bytes, end - begin, fate->random);
		s->state = SLOT_LENT;
		*out = s->rx;
		return 1;
	}
	hold(io, s, fate, false);
	return 0;
}

/* Hands on the current batch from batch_offset; stops early when `max` outputs are near. */
static uint32_t cut_batch(struct impair_io *io, struct roce_pktio_rx *out, uint32_t max)
{
	const struct roce_pktio_rx *b = &io->batches[io->batch_index];
	uint32_t run = io->batch_offset;
	uint32_t at = run;
	uint32_t count = 0;

	while (at < b->length && count + OUTPUTS_OF_PACKET < max) {
		uint32_t left = b->length - at;
		uint32_t end = at + (left < b->segment_length ? left : b->segment_length);
		struct roce_impair_fate fate = roce_impair_draw(&io->spec, false, io->rx_number++);

		if (fate.action != ROCE_IMPAIR_PASS) {
			count += put_run(b, run, at, out + count);
			count += put_impaired(io, b, at, end, &fate, out + count);
			run = end;
		} else {
			on_packet_passed(io, false);
			if (find_due(io, false, 0)) {
				count += put_run(b, run, end, out + count);
				count += release_rx(io, out + count, 1, 0);
				run = end;
			}
		}
		at = end;
	}
	count += put_run(b, run, at, out + count);
	io->batch_offset = at;
	if (at == b->length) {
		io->batch_index++;
		io->batch_offset = 0;
	}
	return count;
}

static void release_tx(struct impair_io *io, roce_ns_t now);

static uint32_t impair_rx(struct roce_pktio *base, struct roce_pktio_rx *out, uint32_t max)
{
	struct impair_io *io = (struct impair_io *)base;
	roce_ns_t now = io->held_count ? roce_clock_now() : 0;
	uint32_t count;

	release_tx(io, now);
	if (!io->spec.is_rx)
		return roce_pktio_rx(io->inner, out, max);
	return_lent(io);
	count = release_rx(io, out, max, now);
	if (io->batch_index == io->batch_count) {
		io->batch_index = 0;
		io->batch_offset = 0;
		io->batch_count = roce_pktio_rx(io->inner, io->batches, ROCE_PKTIO_RX_BATCHES_MAX);
	}
	while (io->batch_index < io->batch_count && count + OUTPUTS_OF_PACKET < max)
		count += cut_batch(io, out + count, max - count);
	return count;
}

/* ---- transmitting ---- */

static void send_slot(struct impair_io *io, struct slot *s)
{
	s->tx.data = s->bytes;
	s->tx.flow = roce_pktio_flow(io->inner, &s->dgid, s->flow_slot);
	if (s->tx.flow)
		roce_pktio_tx(io->inner, &s->tx, 1);
	s->state = SLOT_FREE;
}

static void release_tx(struct impair_io *io, roce_ns_t now)
{
	struct slot *s;

	while ((s = find_due(io, true, now)) != NULL) {
		io->held_count--;
		send_slot(io, s);
	}
}

static void send_impaired(struct impair_io *io, struct roce_pktio_tx *b,
			  const struct roce_impair_fate *fate)
{
	struct slot *s;

	if (fate->action == ROCE_IMPAIR_CE) {
		if (is_markable(b->traffic_class)) {
			count_action(io, fate->action);
			b->traffic_class |= ROCE_ECN_CE;
		}
		roce_pktio_tx(io->inner, b, 1);
		return;
	}
	s = needs_slot(fate->action) ? take_slot(io, b->data, b->length) : NULL;
	if (needs_slot(fate->action) && !s) {
		roce_pktio_tx(io->inner, b, 1);
		return;
	}
	count_action(io, fate->action);
	if (fate->action == ROCE_IMPAIR_DROP)
		return;
	if (fate->action == ROCE_IMPAIR_DUP) {
		roce_pktio_tx(io->inner, b, 1);
		roce_pktio_tx(io->inner, b, 1);
		return;
	}
	s->tx = *b;
	s->dgid = b->flow->dgid;
	s->flow_slot = b->flow->slot;
	if (fate->action == ROCE_IMPAIR_CORRUPT) {
		flip_bit(s->bytes, b->length, fate->random);
		send_slot(io, s);
	} else {
		hold(io, s, fate, true);
	}
}

/* Takes the batches of more than one packet out, as a path does that loses them. */
static uint32_t keep_single(struct impair_io *io, struct roce_pktio_tx *batches, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (batches[i].segment_count == 1)
			batches[kept++] = batches[i];
		else
			io->base.stats->impair_dropped += batches[i].segment_count;
	}
	return kept;
}

static void impair_tx(struct roce_pktio *base, struct roce_pktio_tx *batches, uint32_t count)
{
	struct impair_io *io = (struct impair_io *)base;

	if (!io->spec.is_tx) {
		if (io->spec.drops_batches)
			count = keep_single(io, batches, count);
		roce_pktio_tx(io->inner, batches, count);
		base->segments_max = io->inner->segments_max;
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		struct roce_impair_fate fate = roce_impair_draw(&io->spec, true, io->tx_number++);

		if (fate.action == ROCE_IMPAIR_PASS) {
			roce_pktio_tx(io->inner, &batches[i], 1);
			on_packet_passed(io, true);
			release_tx(io, 0);
		} else {
			send_impaired(io, &batches[i], &fate);
		}
	}
}

/* ---- the rest ---- */

static struct roce_pktio_flow *impair_flow(struct roce_pktio *base, const struct roce_gid *dgid,
					   uint8_t slot)
{
	return roce_pktio_flow(((struct impair_io *)base)->inner, dgid, slot);
}

static roce_ns_t impair_deadline(struct roce_pktio *base)
{
	const struct impair_io *io = (const struct impair_io *)base;
	roce_ns_t earliest = roce_pktio_deadline(io->inner);

	if (io->batch_index < io->batch_count)
		return 0;
	for (uint32_t i = 0; i < SLOT_COUNT; i++) {
		if (io->slots[i].state == SLOT_HELD && io->slots[i].release_ns < earliest)
			earliest = io->slots[i].release_ns;
	}
	return earliest;
}

static void impair_facts(struct roce_pktio *base, struct roce_pktio_facts *out)
{
	roce_pktio_facts(((struct impair_io *)base)->inner, out);
	if (base->segments_max == 1 && out->segments_max > 1) {
		out->batching_tx = "off while impaired";
		out->segments_max = 1;
	}
}

static void impair_renew(struct roce_pktio *base)
{
	roce_pktio_renew(((struct impair_io *)base)->inner);
}

static void impair_close(struct roce_pktio *base, bool closes_fd)
{
	struct impair_io *io = (struct impair_io *)base;

	io->inner->ops->close(io->inner, closes_fd);
	free(io->memory);
	free(io);
}

static const struct roce_pktio_ops impair_ops = {
	.rx = impair_rx,
	.tx = impair_tx,
	.flow = impair_flow,
	.deadline = impair_deadline,
	.facts = impair_facts,
	.renew = impair_renew,
	.close = impair_close,
};

/* What the network did comes first; the adapter receives the result. */
static int add_faulty_nic(struct impair_io *io, struct roce_pktio **out)
{
	const struct roce_faulty_nic_spec spec = {.seed = io->spec.seed,
						  .damage_ppm = io->spec.ud_damage_ppm,
						  .is_always = io->spec.ud_damage_always};

	return roce_faulty_nic_open(&spec, &io->base, out);
}

int roce_impair_open(const struct roce_impair_spec *spec, struct roce_pktio *inner,
		     struct roce_pktio **out)
{
	struct impair_io *io = calloc(1, sizeof(*io));

	if (!io)
		return -ENOMEM;
	io->memory = malloc((size_t)SLOT_COUNT * SLOT_BYTES);
	if (!io->memory) {
		free(io);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < SLOT_COUNT; i++)
		io->slots[i].bytes = io->memory + (size_t)i * SLOT_BYTES;
	io->base = *inner;
	io->base.ops = &impair_ops;
	if (spec->is_tx)
		io->base.segments_max = 1;
	io->inner = inner;
	io->spec = *spec;
	if (spec->ud_damage_ppm && add_faulty_nic(io, out) != 0) {
		free(io->memory);
		free(io);
		return -ENOMEM;
	}
	if (!spec->ud_damage_ppm)
		*out = &io->base;
	return 0;
}
