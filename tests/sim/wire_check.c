/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PSNs are kept as indexes from the connection's first one, so that nothing here wraps.
 */
#include "wire_check.h"

#include "base/assert.h"
#include "run.h"
#include "wire/aeth.h"
#include "wire/opcode.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

void sim_wire_init(struct sim_wire *w, struct sim_run *run, uint32_t conn, unsigned int from)
{
	const struct sim_conn *c = &run->plan->conns[conn];

	*w = (struct sim_wire){
		.run = run,
		.conn = conn,
		.from = from,
		.first_psn = c->psn[from],
		.mtu = roce_mtu_bytes(c->path_mtu),
		.max_rd_atomic = c->max_rd_atomic[from],
		.nak_index = NONE,
	};
}

void sim_wire_fini(struct sim_wire *w)
{
	free(w->pkts);
	w->pkts = NULL;
}

static struct sim_wire_pkt *pkt_at(struct sim_wire *w, uint32_t index)
{
	if (index >= w->capacity) {
		uint32_t capacity = w->capacity ? w->capacity : 256;

		while (capacity <= index)
			capacity *= 2;
		w->pkts = realloc(w->pkts, capacity * sizeof(*w->pkts));
		ROCE_ASSERT(w->pkts);
		memset(w->pkts + w->capacity, 0, (capacity - w->capacity) * sizeof(*w->pkts));
		w->capacity = capacity;
	}
	return &w->pkts[index];
}

/* Signed: an ACK may name the PSN before the first one. */
static int64_t index_of(const struct sim_wire *w, roce_psn_t psn)
{
	return (int64_t)w->sent +
	       roce_psn_diff(psn, roce_psn_add(roce_psn_make(w->first_psn), w->sent));
}

#define complain(w, text, ...)                                                             \
	sim_run_fail((w)->run, "conn %u requests of host %u: " text, (w)->conn, (w)->from, \
		     __VA_ARGS__)

static uint64_t hash_bytes(const uint8_t *p, uint32_t n)
{
	uint64_t h = n;
	uint64_t word;

	for (; n >= sizeof(word); n -= (uint32_t)sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = (h ^ word) * UINT64_C(0x9fb21c651e98df25);
		h ^= h >> 32;
	}
	for (; n; n--, p++)
		h = (h ^ *p) * UINT64_C(0x9fb21c651e98df25);
	return h;
}

static bool is_fetch(const struct roce_opcode_info *info)
{
	return info->operation == ROCE_OPERATION_READ_REQUEST ||
	       info->operation == ROCE_OPERATION_CMP_SWAP ||
	       info->operation == ROCE_OPERATION_FETCH_ADD ||
	       info->operation == ROCE_OPERATION_ATOMIC_WRITE;
}

static bool is_atomic(const struct roce_opcode_info *info)
{
	return info->operation == ROCE_OPERATION_CMP_SWAP ||
	       info->operation == ROCE_OPERATION_FETCH_ADD;
}

/* ---- requests being sent ---- */

static uint32_t span_of(const struct sim_wire *w, const struct roce_headers *hdr,
			const struct roce_opcode_info *info)
{
	if (info->operation != ROCE_OPERATION_READ_REQUEST || hdr->dma_len == 0)
		return 1;
	return (hdr->dma_len + w->mtu - 1) / w->mtu;
}

static void check_order(struct sim_wire *w, const struct roce_opcode_info *info, uint32_t index)
{
	const struct roce_opcode_info *before;
	bool is_open = false;

	if (index > 0) {
		before = roce_opcode_info(pkt_at(w, pkt_at(w, index - 1)->owner)->hdr.opcode);
		is_open = before->operation != ROCE_OPERATION_READ_REQUEST &&
			  !roce_position_is_end(before->position);
		if (is_open && before->operation != info->operation)
			complain(w, "%s after %s", info->name, before->name);
	}
	if (is_open == roce_position_is_start(info->position))
		complain(w, "%s at index %u out of order", info->name, index);
}

static void check_new(struct sim_wire *w, const struct roce_link_pkt *pkt,
		      const struct roce_opcode_info *info)
{
	uint32_t index = w->sent;
	uint32_t span = span_of(w, &pkt->hdr, info);
	struct sim_wire_pkt *p;

	check_order(w, info, index);
	pkt_at(w, index + span);
	p = pkt_at(w, index);
	*p = (struct sim_wire_pkt){
		.hdr = pkt->hdr,
		.payload_hash = hash_bytes(pkt->payload, pkt->payload_len),
		.payload_len = pkt->payload_len,
		.span = span,
		.replay_next = NONE,
	};
	for (uint32_t i = 0; i < span; i++)
		p[i].owner = index;
	w->sent += span;
	if (!is_fetch(info))
		return;
	if (++w->outstanding > w->max_rd_atomic)
		complain(w, "%u READs and atomics on their way, %u agreed", w->outstanding,
			 w->max_rd_atomic);
}

/* Extended headers alike, those that the opcode has. */
static bool is_same_extended(const struct roce_headers *a, const struct roce_headers *b,
			     roce_header_set_t set)
{
	if (roce_header_set_has(set, ROCE_HEADER_RETH) &&
	    (a->va != b->va || a->rkey.v != b->rkey.v || a->dma_len != b->dma_len))
		return false;
	if (roce_header_set_has(set, ROCE_HEADER_ATOMICETH) &&
	    (a->va != b->va || a->rkey.v != b->rkey.v || a->swap_add != b->swap_add ||
	     a->compare != b->compare))
		return false;
	if (roce_header_set_has(set, ROCE_HEADER_IETH) && a->inv_rkey.v != b->inv_rkey.v)
		return false;
	return !roce_header_set_has(set, ROCE_HEADER_IMMDT) || a->imm_be == b->imm_be;
}

static void check_again(struct sim_wire *w, const struct roce_link_pkt *pkt,
			const struct roce_opcode_info *info, uint32_t index)
{
	const struct sim_wire_pkt *p = pkt_at(w, pkt_at(w, index)->owner);
	const struct roce_headers *was = &p->hdr;
	uint32_t into = index - pkt_at(w, index)->owner;
	const struct roce_headers *is = &pkt->hdr;

	w->retransmitted++;
	if (is->opcode.v != was->opcode.v) {
		complain(w, "index %u was %s, sent again as %s", index,
			 roce_opcode_str(was->opcode), info->name);
		return;
	}
	if (info->operation == ROCE_OPERATION_READ_REQUEST) {
		if (is->va != was->va + (uint64_t)into * w->mtu || is->rkey.v != was->rkey.v ||
		    is->dma_len != was->dma_len - into * w->mtu)
			complain(w, "READ retry at index %u is no suffix: length %u of %u", index,
				 is->dma_len, was->dma_len);
		return;
	}
	if (into || pkt->payload_len != p->payload_len ||
	    hash_bytes(pkt->payload, pkt->payload_len) != p->payload_hash ||
	    !is_same_extended(is, was, info->headers) || is->solicited != was->solicited)
		complain(w, "%s at index %u changed when sent again", info->name, index);
}

static void check_headers(struct sim_wire *w, const struct roce_link_pkt *pkt,
			  const struct roce_opcode_info *info)
{
	const struct roce_headers *hdr = &pkt->hdr;
	uint32_t len = pkt->payload_len;

	if (hdr->tver || !hdr->mig_req || hdr->fecn || hdr->becn || hdr->pkey != 0xffff ||
	    hdr->pad_count != (-len & 3) || len > w->mtu)
		complain(w, "%s with pad %u length %u M %d", info->name, hdr->pad_count, len,
			 hdr->mig_req);
	if (!info->has_payload && len)
		complain(w, "%s with %u bytes of payload", info->name, len);
	if (info->has_payload && info->position != ROCE_POSITION_ONLY &&
	    info->position != ROCE_POSITION_LAST && len != w->mtu)
		complain(w, "%s of %u bytes", info->name, len);
	if (info->position == ROCE_POSITION_LAST && len == 0)
		complain(w, "%s without payload", info->name);
}

static void on_request_sent(struct sim_wire *w, const struct roce_link_pkt *pkt,
			    const struct roce_opcode_info *info)
{
	int64_t index = index_of(w, pkt->hdr.psn);
	roce_ns_t now = sim_pair_now(&w->run->pair);

	check_headers(w, pkt, info);
	if (index < 0 || index > w->sent) {
		complain(w, "%s at index %ld, %u sent", info->name, (long)index, w->sent);
		return;
	}
	if (index != w->cursor && index != w->acked)
		complain(w, "%s at index %ld: neither the next (%u) nor the oldest unanswered (%u)",
			 info->name, (long)index, w->cursor, w->acked);
	if (index < w->acked)
		complain(w, "%s at index %ld, acknowledged to %u", info->name, (long)index,
			 w->acked);
	if (now < w->rnr_until_ns && index >= w->rnr_index && w->acked <= w->rnr_index)
		complain(w, "%s at index %ld, %lu ns before the end of an RNR wait", info->name,
			 (long)index, (unsigned long)(w->rnr_until_ns - now));
	if (index == w->sent)
		check_new(w, pkt, info);
	else
		check_again(w, pkt, info, (uint32_t)index);
	if (!w->run->is_failed)
		w->cursor = pkt_at(w, pkt_at(w, (uint32_t)index)->owner)->span +
			    pkt_at(w, (uint32_t)index)->owner;
}

/* ---- requests being taken ---- */

static void on_request_taken(struct sim_wire *w, const struct roce_opcode_info *info, int64_t index)
{
	struct sim_wire_pkt *p;

	if (index != w->taken) {
		complain(w, "%s at index %ld accepted, %u expected", info->name, (long)index,
			 w->taken);
		return;
	}
	p = pkt_at(w, w->taken);
	if (is_fetch(info) || roce_position_is_end(info->position))
		w->msn++;
	for (uint32_t i = 0; i < p->span; i++)
		p[i].msn = w->msn;
	w->taken += p->span;
	w->nak_index = NONE;
}

static void on_duplicate(struct sim_wire *w, const struct roce_opcode_info *info, int64_t index)
{
	if (index >= w->taken || index < 0) {
		complain(w, "%s at index %ld called a duplicate, %u expected", info->name,
			 (long)index, w->taken);
		return;
	}
	if (is_fetch(info))
		pkt_at(w, pkt_at(w, (uint32_t)index)->owner)->replay_next = (uint32_t)index;
}

void sim_wire_on_request(struct sim_wire *w, enum roce_link_fate fate,
			 const struct roce_link_pkt *pkt, enum roce_verdict verdict)
{
	const struct roce_opcode_info *info = roce_opcode_info(pkt->hdr.opcode);
	int64_t index = index_of(w, pkt->hdr.psn);

	if (fate == ROCE_LINK_SENT)
		on_request_sent(w, pkt, info);
	if (fate != ROCE_LINK_DELIVERED)
		return;
	if (verdict == ROCE_RX_ACCEPTED)
		on_request_taken(w, info, index);
	else if (verdict == ROCE_RX_DUPLICATE)
		on_duplicate(w, info, index);
	else if (verdict == ROCE_RX_OUT_OF_SEQUENCE && index <= w->taken)
		complain(w, "%s at index %ld called out of sequence, %u expected", info->name,
			 (long)index, w->taken);
	else if (verdict == ROCE_RX_RNR && index != w->taken)
		complain(w, "%s at index %ld not ready, %u expected", info->name, (long)index,
			 w->taken);
}

/* ---- responses being sent ---- */

/* Index of the first READ or atomic at or after `index` that was taken; w->taken if none. */
static uint32_t next_fetch(struct sim_wire *w, uint32_t index)
{
	while (index < w->taken) {
		struct sim_wire_pkt *p = pkt_at(w, index);

		if (is_fetch(roce_opcode_info(p->hdr.opcode)))
			break;
		index += p->span;
	}
	return index;
}

/* The oldest response that was never sent. */
static uint32_t oldest_unsent_response(struct sim_wire *w)
{
	for (;;) {
		struct sim_wire_pkt *p;

		w->responded_read = next_fetch(w, w->responded_read);
		if (w->responded_read == w->taken)
			return w->taken;
		p = pkt_at(w, w->responded_read);
		if (p->responded < p->span)
			return w->responded_read + p->responded;
		w->responded_read += p->span;
	}
}

static void check_msn(struct sim_wire *w, const struct roce_link_pkt *pkt, int64_t index)
{
	uint32_t low = index < 0 ? 0 : pkt_at(w, (uint32_t)index)->msn;

	if (pkt->hdr.msn < (low & ROCE_PSN_MASK) || pkt->hdr.msn > w->msn)
		complain(w, "MSN %u at index %ld, between %u and %u is right", pkt->hdr.msn,
			 (long)index, low, w->msn);
}

static void on_ack_sent(struct sim_wire *w, const struct roce_link_pkt *pkt, int64_t index)
{
	uint32_t unsent = oldest_unsent_response(w);

	switch (roce_aeth_kind(pkt->hdr.syndrome)) {
	case ROCE_AETH_ACK:
		if (index >= w->taken)
			complain(w, "ACK of index %ld, taken to %u", (long)index, w->taken);
		else if (index >= unsent)
			complain(w, "ACK of index %ld before READ response %u", (long)index,
				 unsent);
		else
			check_msn(w, pkt, index);
		return;
	case ROCE_AETH_RNR_NAK:
	case ROCE_AETH_NAK:
		if (index != w->taken)
			complain(w, "NAK 0x%02x of index %ld, %u expected", pkt->hdr.syndrome,
				 (long)index, w->taken);
		else if (unsent < w->taken)
			complain(w, "NAK 0x%02x of index %ld before READ response %u",
				 pkt->hdr.syndrome, (long)index, unsent);
		else
			check_msn(w, pkt, index - 1);
		if (pkt->hdr.syndrome != roce_aeth_nak(ROCE_NAK_PSN_SEQUENCE))
			return;
		if (w->nak_index == w->taken)
			complain(w, "sequence NAK of index %ld once more", (long)index);
		w->nak_index = w->taken;
		return;
	case ROCE_AETH_RESERVED:
		complain(w, "syndrome 0x%02x", pkt->hdr.syndrome);
		return;
	}
}

static void on_fetch_response_sent(struct sim_wire *w, const struct roce_link_pkt *pkt,
				   const struct roce_opcode_info *info, int64_t index)
{
	struct sim_wire_pkt *p;
	uint32_t owner;
	uint32_t into;

	if (index < 0 || index >= w->taken) {
		complain(w, "%s at index %ld, taken to %u", info->name, (long)index, w->taken);
		return;
	}
	owner = pkt_at(w, (uint32_t)index)->owner;
	p = pkt_at(w, owner);
	into = (uint32_t)index - owner;
	if (!is_fetch(roce_opcode_info(p->hdr.opcode)) ||
	    (info->operation == ROCE_OPERATION_ATOMIC_ACK) !=
		    is_atomic(roce_opcode_info(p->hdr.opcode))) {
		complain(w, "%s for %s at index %ld", info->name, roce_opcode_str(p->hdr.opcode),
			 (long)index);
		return;
	}
	if (roce_header_set_has(info->headers, ROCE_HEADER_AETH))
		check_msn(w, pkt, index);
	if (info->operation == ROCE_OPERATION_READ_RESPONSE) {
		bool is_read =
			roce_opcode_info(p->hdr.opcode)->operation == ROCE_OPERATION_READ_REQUEST;
		uint32_t left = is_read ? p->hdr.dma_len - into * w->mtu : 0;

		if (pkt->payload_len != (left < w->mtu ? left : w->mtu))
			complain(w, "%s of %u bytes at index %ld", info->name, pkt->payload_len,
				 (long)index);
		if (roce_position_is_end(info->position) != (into + 1 == p->span))
			complain(w, "%s at response %u of %u", info->name, into, p->span);
	}
	if (index == p->replay_next) {
		p->replay_next++;
		if (into == p->responded)
			p->responded++;
		return;
	}
	if (index != oldest_unsent_response(w))
		complain(w, "%s at index %ld, %u is the next", info->name, (long)index,
			 oldest_unsent_response(w));
	p->responded++;
}

/* ---- responses being taken ---- */

/* The requester is done with everything before `index` but READs and atomics, whose own responses
 * count. */
static void advance(struct sim_wire *w, uint32_t index)
{
	while (w->acked < index) {
		const struct sim_wire_pkt *p = pkt_at(w, w->acked);

		if (p->owner != w->acked || is_fetch(roce_opcode_info(p->hdr.opcode)))
			return;
		w->acked++;
	}
}

static void on_response_taken(struct sim_wire *w, const struct roce_link_pkt *pkt,
			      const struct roce_opcode_info *info, int64_t index)
{
	struct sim_wire_pkt *p;

	if (index < 0 || index >= w->sent)
		return;
	if (info->operation == ROCE_OPERATION_ACK) {
		bool is_ack = roce_aeth_kind(pkt->hdr.syndrome) == ROCE_AETH_ACK;

		advance(w, (uint32_t)index + is_ack);
		return;
	}
	advance(w, (uint32_t)index);
	if (w->acked != (uint32_t)index) {
		complain(w, "%s at index %ld taken, %u is the oldest unanswered", info->name,
			 (long)index, w->acked);
		return;
	}
	w->acked++;
	p = pkt_at(w, pkt_at(w, (uint32_t)index)->owner);
	if (w->acked == pkt_at(w, (uint32_t)index)->owner + p->span && !p->is_answered) {
		p->is_answered = true;
		w->outstanding--;
	}
}

void sim_wire_on_response(struct sim_wire *w, enum roce_link_fate fate,
			  const struct roce_link_pkt *pkt, enum roce_verdict verdict)
{
	const struct roce_opcode_info *info = roce_opcode_info(pkt->hdr.opcode);
	int64_t index = index_of(w, pkt->hdr.psn);

	if (fate == ROCE_LINK_SENT) {
		check_headers(w, pkt, info);
		if (pkt->hdr.ack_req || pkt->hdr.solicited)
			complain(w, "%s with AckReq or SE", info->name);
		if (info->operation == ROCE_OPERATION_ACK)
			on_ack_sent(w, pkt, index);
		else
			on_fetch_response_sent(w, pkt, info, index);
		return;
	}
	if (fate != ROCE_LINK_DELIVERED)
		return;
	/* a repeated RNR NAK does not make the wait longer, not even at its very end */
	if (verdict == ROCE_RX_NAK_RNR && sim_pair_now(&w->run->pair) > w->rnr_until_ns) {
		w->rnr_until_ns = sim_pair_now(&w->run->pair) +
				  roce_rnr_delay_ns(roce_aeth_value(pkt->hdr.syndrome));
		w->rnr_index = (uint32_t)index;
	}
	if (verdict == ROCE_RX_ACCEPTED || verdict == ROCE_RX_NAK_RNR ||
	    verdict == ROCE_RX_NAK_SEQUENCE || verdict == ROCE_RX_RESPONSE_GAP ||
	    verdict == ROCE_RX_NAK_INVALID_REQUEST || verdict == ROCE_RX_NAK_ACCESS ||
	    verdict == ROCE_RX_NAK_OPERATION) {
		if (verdict == ROCE_RX_RESPONSE_GAP)
			advance(w, (uint32_t)index);
		else
			on_response_taken(w, pkt, info, index);
	}
	if (verdict == ROCE_RX_RESPONSE_GHOST || verdict == ROCE_RX_RESPONSE_BAD ||
	    verdict == ROCE_RX_RESPONSE_RESERVED)
		complain(w, "%s at index %ld refused: %s", info->name, (long)index,
			 roce_counter_str((uint32_t)verdict));
}
