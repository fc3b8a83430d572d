/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns, slots of messages, and the comparison; see payload.h. */
#include "fabric/payload.h"

#include "base/assert.h"
#include "fabric/ecmp.h"
#include "wire/grh.h"

#include <stdlib.h>
#include <string.h>

#define WORD	 8u
#define NOT_ZERO UINT64_C(0x0101010101010101)
#define COMPARED 4096u /* at a time */
/* So much of what a queue pair of UC wrote may still arrive. */
#define KEPT_BYTES (UINT32_C(32) << 20)

/* ---- patterns ---- */

static uint64_t seed_of(const struct roce_fabric_content *c)
{
	return roce_fabric_mix(roce_fabric_mix(((uint64_t)c->flow << 1 | c->is_answer) + 1) +
			       c->message);
}

static uint64_t word_at(uint64_t seed, uint64_t number)
{
	return roce_fabric_mix(seed + number) | NOT_ZERO;
}

/* Byte i of a word is bits 8 i to 8 i + 7, on every machine. */
static void put_word(uint8_t *out, uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	memcpy(out, &word, sizeof(word));
}

void roce_fabric_payload_fill(const struct roce_fabric_content *content, uint32_t offset,
			      uint8_t *out, uint32_t length)
{
	uint64_t seed = seed_of(content);
	uint32_t end = offset + length;
	uint32_t at = offset;

	while (at < end) {
		uint64_t word = word_at(seed, at / WORD);

		if (at % WORD == 0 && end - at >= WORD) {
			put_word(out, word);
			out += WORD;
			at += WORD;
			continue;
		}
		*out++ = (uint8_t)(word >> 8 * (at % WORD));
		at++;
	}
}

/* ---- comparing ---- */

static void add_difference(struct roce_fabric_wrong *w, uint32_t offset, uint8_t expected,
			   uint8_t found)
{
	if (expected == found)
		return;
	if (!w->wrong_bytes && !w->missing_bytes) {
		w->offset = offset;
		w->expected = expected;
		w->found = found;
	}
	if (found)
		w->wrong_bytes++;
	else
		w->missing_bytes++;
}

/* `bytes` NULL: nothing has come. */
static void compare(struct roce_fabric_wrong *w, const struct roce_fabric_content *content,
		    const uint8_t *bytes, uint32_t length)
{
	static const uint8_t nothing[COMPARED];
	uint8_t expected[COMPARED];

	for (uint32_t at = 0; at < length; at += COMPARED) {
		uint32_t part = length - at < COMPARED ? length - at : COMPARED;
		const uint8_t *found = bytes ? bytes + at : nothing;

		roce_fabric_payload_fill(content, at, expected, part);
		if (memcmp(expected, found, part) == 0)
			continue;
		for (uint32_t i = 0; i < part; i++)
			add_difference(w, at + i, expected[i], found[i]);
	}
}

static void report(struct roce_fabric_flow *flow, const struct roce_fabric_wrong *w)
{
	struct roce_fabric *f = flow->f;

	flow->result.messages_wrong++;
	f->totals.messages_wrong++;
	f->totals.bytes_wrong += w->wrong_bytes;
	f->totals.bytes_missing += w->missing_bytes;
	if (f->wrong_count < ROCE_FABRIC_WRONGS_MAX)
		f->wrongs[f->wrong_count++] = *w;
	if (roce_fabric_is_observed(f) && f->observer->payload_wrong)
		f->observer->payload_wrong(f->observer_ctx, w->ps, w);
}

static void check(struct roce_fabric_flow *flow, const struct roce_fabric_content *content,
		  uint32_t node, const uint8_t *bytes, uint32_t length)
{
	struct roce_fabric_wrong w = {
		.ps = flow->f->queue.now_ps,
		.flow = flow->index,
		.node = node,
		.is_answer = content->is_answer,
		.message = content->message,
		.length = length,
	};

	flow->result.messages_checked++;
	flow->f->totals.messages_checked++;
	compare(&w, content, bytes, length);
	if (w.wrong_bytes || w.missing_bytes)
		report(flow, &w);
}

/* ---- slots of messages ---- */

/* Who has what is sent, and who gets it. */
static struct roce_fabric_host *source_host(const struct roce_fabric_flow *flow)
{
	return roce_fabric_flow_host(flow, flow->cfg.operation != ROCE_FABRIC_READ);
}

static struct roce_fabric_host *sink_host(const struct roce_fabric_flow *flow)
{
	return roce_fabric_flow_host(flow, flow->cfg.operation == ROCE_FABRIC_READ);
}

static void link_or_give(struct roce_fabric_slot_list *list, struct roce_fabric_memory *m,
			 uint32_t slot, bool is_posted)
{
	if (slot == ROCE_FABRIC_SLOT_NONE)
		return;
	if (!is_posted) {
		roce_fabric_memory_give(m, slot);
		return;
	}
	if (list->head)
		m->slots[list->tail].next = slot;
	else
		list->head = slot;
	list->tail = slot;
}

static void pop(struct roce_fabric_slot_list *list, struct roce_fabric_memory *m)
{
	uint32_t slot = list->head;

	list->head = slot == list->tail ? ROCE_FABRIC_SLOT_NONE : m->slots[slot].next;
	roce_fabric_memory_give(m, slot);
}

void roce_fabric_payload_expect(struct roce_fabric_flow_qp *fq, bool is_at_src)
{
	const struct roce_fabric_flow *flow = fq->flow;
	uint32_t bytes = is_at_src ? flow->cfg.response_bytes : flow->message_bytes;

	if (flow->cfg.is_real && bytes)
		roce_fabric_memory_receive(&roce_fabric_flow_host(flow, is_at_src)->memory,
					   ROCE_GRH_BYTES + bytes);
}

struct roce_fabric_slots roce_fabric_payload_take(struct roce_fabric_flow_qp *fq, uint64_t message)
{
	const struct roce_fabric_flow *flow = fq->flow;
	const struct roce_fabric_content content = {.flow = flow->index, .message = message};
	struct roce_fabric_slots slots = {ROCE_FABRIC_SLOT_NONE, ROCE_FABRIC_SLOT_NONE};
	uint32_t length = (uint32_t)roce_fabric_message_length(flow, message);

	if (!flow->cfg.is_real)
		return slots;
	slots.source = roce_fabric_memory_take(&source_host(flow)->memory, &content, length, true);
	if (flow->cfg.operation != ROCE_FABRIC_SEND)
		slots.sink =
			roce_fabric_memory_take(&sink_host(flow)->memory, &content, length, false);
	return slots;
}

/* What was written so long ago is lost. */
static void give_up_old(struct roce_fabric_flow_qp *fq)
{
	struct roce_fabric_memory *m = &sink_host(fq->flow)->memory;
	uint64_t kept = fq->flow->cfg.depth + KEPT_BYTES / fq->flow->message_bytes;

	if (fq->posted > kept)
		roce_fabric_memory_end(m, fq->uc_sinks[fq->posted - kept - 1]);
}

/* Those of unreliable WRITEs last as long as the queue pair: UC takes a packet that begins a
 * message whenever it comes, so a late one, or its second copy, must not meet another message's
 * bytes. */
static void keep_uc_sink(struct roce_fabric_flow_qp *fq, uint32_t slot, bool is_posted)
{
	if (!is_posted) {
		roce_fabric_memory_give(&sink_host(fq->flow)->memory, slot);
		return;
	}
	if (!fq->uc_sinks)
		fq->uc_sinks = calloc(fq->count, sizeof(*fq->uc_sinks));
	ROCE_ASSERT(fq->uc_sinks);
	fq->uc_sinks[fq->posted] = slot;
	give_up_old(fq);
}

void roce_fabric_payload_post(struct roce_fabric_flow_qp *fq, const struct roce_fabric_slots *slots,
			      bool is_posted)
{
	const struct roce_fabric_flow *flow = fq->flow;

	link_or_give(&fq->sources, &source_host(flow)->memory, slots->source, is_posted);
	if (slots->sink && flow->cfg.transport == ROCE_FABRIC_UC)
		keep_uc_sink(fq, slots->sink, is_posted);
	else
		link_or_give(&fq->sinks, &sink_host(flow)->memory, slots->sink, is_posted);
}

/* The numbers of queue pairs, in `imm_be`, as numbers of the flow. */
static uint64_t message_of(const struct roce_fabric_flow_qp *fq, uint64_t number)
{
	return number * fq->flow->cfg.qp_count + fq->index;
}

struct roce_fabric_slots roce_fabric_payload_take_answer(struct roce_fabric_flow_qp *fq,
							 uint32_t imm_be)
{
	const struct roce_fabric_flow *flow = fq->flow;
	const struct roce_fabric_content content = {
		.flow = flow->index, .is_answer = true, .message = message_of(fq, imm_be)};
	struct roce_fabric_slots slots = {ROCE_FABRIC_SLOT_NONE, ROCE_FABRIC_SLOT_NONE};

	if (flow->cfg.is_real)
		slots.source = roce_fabric_memory_take(&roce_fabric_flow_host(flow, false)->memory,
						       &content, flow->cfg.response_bytes, true);
	return slots;
}

void roce_fabric_payload_post_answer(struct roce_fabric_flow_qp *fq,
				     const struct roce_fabric_slots *slots, bool is_posted)
{
	link_or_give(&fq->answers, &roce_fabric_flow_host(fq->flow, false)->memory, slots->source,
		     is_posted);
}

void roce_fabric_payload_answered(struct roce_fabric_flow_qp *fq, uint64_t wr_id)
{
	struct roce_fabric_memory *m = &roce_fabric_flow_host(fq->flow, false)->memory;
	bool is_last = false;

	while (fq->answers.head && !is_last) {
		is_last = fq->answers.head == wr_id;
		pop(&fq->answers, m);
	}
}

static void check_sink(struct roce_fabric_flow_qp *fq, uint32_t number)
{
	const struct roce_fabric_host *host = sink_host(fq->flow);
	const struct roce_fabric_slot *slot = &host->memory.slots[number];

	check(fq->flow, &slot->content, host->port->node->index, slot->bytes, slot->length);
}

void roce_fabric_payload_completed(struct roce_fabric_flow_qp *fq, uint64_t last)
{
	const struct roce_fabric_flow *flow = fq->flow;

	if (!flow->cfg.is_real)
		return;
	for (uint64_t n = fq->completed; n <= last && fq->sources.head; n++) {
		pop(&fq->sources, &source_host(flow)->memory);
		if (!fq->sinks.head)
			continue;
		check_sink(fq, fq->sinks.head);
		pop(&fq->sinks, &sink_host(flow)->memory);
	}
}

/* Also late, or once more; the first time counts. */
void roce_fabric_payload_written(struct roce_fabric_flow_qp *fq, uint64_t message)
{
	struct roce_fabric_memory *m = &sink_host(fq->flow)->memory;
	uint32_t slot = fq->uc_sinks[message / fq->flow->cfg.qp_count];

	if (m->slots[slot].is_over)
		return;
	check_sink(fq, slot);
	roce_fabric_memory_end(m, slot);
}

/* RC delivers each message once and in order, so their number is known; else it is the packet's. */
void roce_fabric_payload_received(struct roce_fabric_flow_qp *fq, const struct roce_cqe *cqe,
				  bool is_at_src, uint64_t message)
{
	struct roce_fabric_flow *flow = fq->flow;
	struct roce_fabric_host *host = roce_fabric_flow_host(flow, is_at_src);
	struct roce_fabric_content content = {.flow = flow->index, .is_answer = is_at_src};
	const struct roce_fabric_slot *slot;
	uint32_t skip = flow->cfg.transport == ROCE_FABRIC_UD ? ROCE_GRH_BYTES : 0;
	uint32_t length;

	if (flow->cfg.is_real) {
		slot = roce_fabric_memory_at(&host->memory, (uint32_t)cqe->wr_id);
		content.message = flow->cfg.transport == ROCE_FABRIC_RC
					  ? message_of(fq, fq->received[is_at_src]++)
					  : message;
		length = is_at_src ? flow->cfg.response_bytes
				   : (uint32_t)roce_fabric_message_length(flow, content.message);
		check(flow, &content, host->port->node->index,
		      slot && slot->length >= skip + length ? slot->bytes + skip : NULL, length);
	}
	roce_fabric_memory_forget(&host->memory, (uint32_t)cqe->wr_id);
}

void roce_fabric_payload_broken(struct roce_fabric_flow_qp *fq, const struct roce_cqe *cqe,
				bool is_at_src)
{
	roce_fabric_memory_forget(&roce_fabric_flow_host(fq->flow, is_at_src)->memory,
				  (uint32_t)cqe->wr_id);
}

void roce_fabric_payload_close(struct roce_fabric_flow_qp *fq)
{
	const struct roce_fabric_flow *flow = fq->flow;

	while (fq->sources.head)
		pop(&fq->sources, &source_host(flow)->memory);
	while (fq->sinks.head)
		pop(&fq->sinks, &sink_host(flow)->memory);
	while (fq->answers.head)
		pop(&fq->answers, &roce_fabric_flow_host(flow, false)->memory);
	for (uint64_t n = 0; fq->uc_sinks && n < fq->posted; n++)
		roce_fabric_memory_give(&sink_host(flow)->memory, fq->uc_sinks[n]);
	free(fq->uc_sinks);
	fq->uc_sinks = NULL;
}

/* ---- frames ---- */

void roce_fabric_payload_load(struct roce_fabric_host *host, struct roce_fabric_frame *frame,
			      const struct roce_payload *from)
{
	uint64_t address = from->sge ? from->sge->addr : (uint64_t)(uintptr_t)from->data;
	struct roce_fabric_block *block = roce_fabric_frame_add_block(&host->f->frames, frame);
	const struct roce_fabric_slot *slot = roce_fabric_memory_load(
		&host->memory, address + from->offset, block->bytes, from->length);

	block->message = slot ? slot->content.message : 0;
}

/* ---- how much of it ---- */

static uint64_t at_most(uint64_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

uint64_t roce_fabric_flow_memory_bytes(const struct roce_fabric_flow_config *cfg)
{
	uint64_t message = roce_fabric_flow_message_bytes(cfg);
	uint64_t all = (cfg->bytes + message - 1) / message;
	uint64_t posted = at_most((uint64_t)cfg->qp_count * (cfg->depth ? cfg->depth : 1), all);
	uint64_t sent, answers, kept = 0;

	sent = at_most(posted * message, cfg->bytes);
	answers = posted * cfg->response_bytes;
	if (cfg->transport == ROCE_FABRIC_UC && cfg->operation == ROCE_FABRIC_WRITE)
		kept = all * (sizeof(struct roce_fabric_slot) + sizeof(uint32_t)) +
		       at_most((uint64_t)cfg->qp_count * KEPT_BYTES, cfg->bytes);
	/* At its source, in frames, and where it goes. */
	return 3 * (sent + answers) + kept;
}
