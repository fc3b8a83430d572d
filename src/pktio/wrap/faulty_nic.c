/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The faulty adapter. A batch with a message to be damaged is copied whole to memory of our own,
 * and damaged there; all others are handed on as they came.
 *
 * The ICRC is linear: what it must change by follows from the changed bytes alone, whatever IP
 * header and identification it covers besides. So a packet that was intact stays so to the eye, and
 * one that was not is not healed.
 *
 * A flow is what one queue pair sends to another. One whose PSN falls behind the newest one seen
 * was reordered, and so are the flow's next packets as far as this adapter is concerned.
 */
#include "pktio/wrap/faulty_nic.h"

#include "base/hash.h"
#include "base/prng.h"
#include "wire/headers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FLOW_COUNT    256u
#define BATCH_BYTES   65536u
#define PAYLOAD_MAX   4096u
#define GSI_QPN	      1u
#define DRAWS_OF_UDMS UINT64_C(0x7564) /* keeps the draws apart from those of the impairments */

struct flow {
	struct roce_gid src;
	roce_qpn_t src_qpn;
	roce_qpn_t dest_qpn;
	roce_psn_t newest_psn;
	uint32_t disordered_left; /* packets */
	bool is_used;
};

struct faulty_io {
	struct roce_pktio base;
	struct roce_pktio *inner;
	struct roce_faulty_nic_spec spec;
	uint64_t message_number;
	struct flow flows[FLOW_COUNT]; /* by hash; a newcomer takes the place of another */
	uint8_t *memory;	       /* a copy of each batch that may be handed on */
	/* Payloads of the message that comes and of the one before it, by turns. */
	uint8_t payloads[2][PAYLOAD_MAX];
	uint32_t current;
};

static struct flow *find_flow(struct faulty_io *io, const struct roce_gid *src,
			      const struct roce_headers *h)
{
	const uint32_t qpns[2] = {h->src_qpn.v, h->dest_qpn.v};
	uint64_t hash =
		roce_hash(roce_hash(ROCE_HASH_START, src, sizeof(*src)), qpns, sizeof(qpns));
	struct flow *f = &io->flows[hash % FLOW_COUNT];

	if (f->is_used && roce_gid_is_equal(&f->src, src) && f->src_qpn.v == h->src_qpn.v &&
	    f->dest_qpn.v == h->dest_qpn.v)
		return f;
	*f = (struct flow){.src = *src,
			   .src_qpn = h->src_qpn,
			   .dest_qpn = h->dest_qpn,
			   .newest_psn = h->psn,
			   .is_used = true};
	return f;
}

/* Also of the late packet itself. */
static bool is_disordered(struct faulty_io *io, const struct roce_gid *src,
			  const struct roce_headers *h)
{
	struct flow *f = find_flow(io, src, h);
	int32_t ahead = roce_psn_diff(h->psn, f->newest_psn);

	if (ahead < 0)
		f->disordered_left = ROCE_FAULTY_NIC_WINDOW;
	else
		f->newest_psn = h->psn;
	if (f->disordered_left == 0)
		return false;
	f->disordered_left--;
	return true;
}

/* A line of the message before, in its place in the payload. Where that message was shorter, what
 * an older one has left there. */
struct wrong_line {
	uint32_t offset; /* in the packet */
	uint32_t bytes;
	const uint8_t *line;
};

/* Looks at each packet that comes; true when it is to get the wrong line. */
static bool draw_damage(struct faulty_io *io, const struct roce_gid *src, const uint8_t *packet,
			uint32_t length, struct wrong_line *out)
{
	struct roce_prng random = {io->spec.seed ^ DRAWS_OF_UDMS};
	struct roce_headers h;
	const uint8_t *payload;
	uint32_t bytes, at;
	bool is_exposed;

	if (roce_headers_decode(packet, length, &h, &payload, &bytes) != ROCE_DECODE_OK ||
	    roce_opcode_table[h.opcode.v].transport != ROCE_OPCODE_TRANSPORT_UD ||
	    h.dest_qpn.v == GSI_QPN || bytes == 0 || bytes > PAYLOAD_MAX)
		return false;
	io->current ^= 1;
	memcpy(io->payloads[io->current], payload, bytes);
	is_exposed = is_disordered(io, src, &h) || io->spec.is_always;
	random.state = roce_prng_next(&random) ^ io->message_number++;
	if (!roce_prng_hit(&random, io->spec.damage_ppm) || !is_exposed)
		return false;
	at = ROCE_FAULTY_NIC_LINE *
	     (uint32_t)roce_prng_below(&random,
				       (bytes + ROCE_FAULTY_NIC_LINE - 1) / ROCE_FAULTY_NIC_LINE);
	out->offset = (uint32_t)(payload - packet) + at;
	out->bytes = bytes - at < ROCE_FAULTY_NIC_LINE ? bytes - at : ROCE_FAULTY_NIC_LINE;
	out->line = io->payloads[io->current ^ 1] + at;
	return memcmp(packet + out->offset, out->line, out->bytes) != 0;
}

static uint32_t sum(const uint8_t *packet, uint32_t length)
{
	static const struct roce_icrc_flow any_flow;

	return roce_icrc_compute(&any_flow, 0, packet, length - ROCE_ICRC_BYTES);
}

static void damage(uint8_t *packet, uint32_t length, const struct wrong_line *wrong)
{
	uint8_t *icrc = packet + length - ROCE_ICRC_BYTES;
	uint32_t before = sum(packet, length);

	memcpy(packet + wrong->offset, wrong->line, wrong->bytes);
	roce_icrc_put(icrc, roce_icrc_get(icrc) ^ before ^ sum(packet, length));
}

static void pass_batch(struct faulty_io *io, struct roce_pktio_rx *b, uint8_t *copy)
{
	uint32_t end;

	for (uint32_t at = 0; at < b->length; at = end) {
		uint32_t left = b->length - at;
		uint32_t length = left < b->segment_length ? left : b->segment_length;
		struct wrong_line wrong;

		end = at + length;
		if (!draw_damage(io, &b->src, b->data + at, length, &wrong))
			continue;
		if (b->data != copy) {
			memcpy(copy, b->data, b->length);
			b->data = copy;
		}
		damage(copy + at, length, &wrong);
		io->base.stats->impair_ud_damaged++;
	}
}

static uint32_t faulty_rx(struct roce_pktio *base, struct roce_pktio_rx *out, uint32_t max)
{
	struct faulty_io *io = (struct faulty_io *)base;
	uint32_t count;

	if (max > ROCE_PKTIO_RX_BATCHES_MAX)
		max = ROCE_PKTIO_RX_BATCHES_MAX;
	count = roce_pktio_rx(io->inner, out, max);
	for (uint32_t i = 0; i < count; i++)
		pass_batch(io, &out[i], io->memory + (size_t)i * BATCH_BYTES);
	return count;
}

static void faulty_tx(struct roce_pktio *base, struct roce_pktio_tx *batches, uint32_t count)
{
	struct roce_pktio *inner = ((struct faulty_io *)base)->inner;

	roce_pktio_tx(inner, batches, count);
	base->segments_max = inner->segments_max;
}

static struct roce_pktio_flow *faulty_flow(struct roce_pktio *base, const struct roce_gid *dgid,
					   uint8_t slot)
{
	return roce_pktio_flow(((struct faulty_io *)base)->inner, dgid, slot);
}

static roce_ns_t faulty_deadline(struct roce_pktio *base)
{
	return roce_pktio_deadline(((struct faulty_io *)base)->inner);
}

static void faulty_facts(struct roce_pktio *base, struct roce_pktio_facts *out)
{
	roce_pktio_facts(((struct faulty_io *)base)->inner, out);
}

static void faulty_renew(struct roce_pktio *base)
{
	roce_pktio_renew(((struct faulty_io *)base)->inner);
}

static void faulty_close(struct roce_pktio *base, bool closes_fd)
{
	struct faulty_io *io = (struct faulty_io *)base;

	io->inner->ops->close(io->inner, closes_fd);
	free(io->memory);
	free(io);
}

static const struct roce_pktio_ops faulty_ops = {
	.rx = faulty_rx,
	.tx = faulty_tx,
	.flow = faulty_flow,
	.deadline = faulty_deadline,
	.facts = faulty_facts,
	.renew = faulty_renew,
	.close = faulty_close,
};

int roce_faulty_nic_open(const struct roce_faulty_nic_spec *spec, struct roce_pktio *inner,
			 struct roce_pktio **out)
{
	struct faulty_io *io = calloc(1, sizeof(*io));

	if (!io)
		return -ENOMEM;
	io->memory = malloc((size_t)ROCE_PKTIO_RX_BATCHES_MAX * BATCH_BYTES);
	if (!io->memory) {
		free(io);
		return -ENOMEM;
	}
	io->base = *inner;
	io->base.ops = &faulty_ops;
	io->inner = inner;
	io->spec = *spec;
	*out = &io->base;
	return 0;
}
