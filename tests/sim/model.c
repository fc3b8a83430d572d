/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model: an image of each host's memory, to which the requests of a flow are applied one after
 * the other, whole. What a request that did not succeed may have done is not applied; the final
 * comparison accepts its bytes where they differ from the image.
 */
#include "run.h"

#include "base/assert.h"

#include <string.h>

static bool is_atomic(uint8_t opcode)
{
	return opcode == ROCE_WR_ATOMIC_CMP_AND_SWP || opcode == ROCE_WR_ATOMIC_FETCH_AND_ADD;
}

static bool is_local(uint8_t opcode)
{
	return opcode == ROCE_WR_BIND_MW || opcode == ROCE_WR_LOCAL_INV;
}

static bool is_write(uint8_t opcode)
{
	return opcode == ROCE_WR_RDMA_WRITE || opcode == ROCE_WR_RDMA_WRITE_WITH_IMM ||
	       opcode == ROCE_WR_ATOMIC_WRITE;
}

static void gather(uint8_t *to, const uint8_t *image, const struct sim_piece *pieces,
		   uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		memcpy(to, image + pieces[i].offset, pieces[i].length);
		to += pieces[i].length;
	}
}

/* Fills the pieces in order with `length` bytes. */
static void scatter(uint8_t *image, const struct sim_piece *pieces, uint32_t count,
		    const uint8_t *from, uint32_t length)
{
	for (uint32_t i = 0; i < count && length; i++) {
		uint32_t n = pieces[i].length < length ? pieces[i].length : length;

		memcpy(image + pieces[i].offset, from, n);
		from += n;
		length -= n;
	}
}

static void execute_atomic(struct sim_flow *flow, const struct sim_op *op, uint8_t *own,
			   uint8_t *peer)
{
	uint64_t orig;
	uint64_t value;

	memcpy(&orig, peer + op->remote, sizeof(orig));
	if (op->opcode == ROCE_WR_ATOMIC_FETCH_AND_ADD)
		value = orig + op->compare_add;
	else
		value = orig == op->compare_add ? op->swap : orig;
	memcpy(peer + op->remote, &value, sizeof(value));
	scatter(own, op->pieces, op->piece_count, (const uint8_t *)&orig, sizeof(orig));
	flow->run->expected_placed[flow->plan->from] += sizeof(orig);
	flow->run->expected_atomics[!flow->plan->from]++;
}

static void apply(struct sim_flow *flow, const struct sim_op *op)
{
	struct sim_run *run = flow->run;
	unsigned int from = flow->plan->from;
	uint8_t *own = run->images[from];
	uint8_t *peer = run->images[!from];
	static uint8_t message[(1u << 20) + 4096];

	ROCE_ASSERT(op->length <= sizeof(message));
	if (is_local(op->opcode))
		return;
	if (is_atomic(op->opcode)) {
		execute_atomic(flow, op, own, peer);
		return;
	}
	if (op->opcode == ROCE_WR_RDMA_READ) {
		scatter(own, op->pieces, op->piece_count, peer + op->remote, op->length);
		run->expected_placed[from] += op->length;
		return;
	}
	gather(message, own, op->pieces, op->piece_count);
	if (is_write(op->opcode)) {
		memcpy(peer + op->remote, message, op->length);
	} else {
		const struct sim_recv *recv = &flow->plan->recvs[op->recv];

		scatter(peer, recv->pieces, recv->piece_count, message, op->length);
	}
	run->expected_placed[!from] += op->length;
}

void sim_model_apply(struct sim_flow *flow, uint32_t op)
{
	for (; flow->applied <= op; flow->applied++)
		apply(flow, &flow->plan->ops[flow->applied]);
}

/* ---- comparing ---- */

static bool is_piece_right(const struct sim_run *run, unsigned int host,
			   const struct sim_piece *piece)
{
	return !memcmp(run->pair.hosts[host].arena + piece->offset,
		       run->images[host] + piece->offset, piece->length);
}

void sim_model_check_recv(struct sim_flow *flow, uint32_t recv)
{
	const struct sim_recv *r = &flow->plan->recvs[recv];

	for (uint32_t i = 0; i < r->piece_count; i++)
		if (!is_piece_right(flow->run, !flow->plan->from, &r->pieces[i]))
			sim_run_fail(flow->run, "host %u: receive %u holds wrong bytes",
				     !flow->plan->from, recv);
}

void sim_model_check_fetch(struct sim_flow *flow, uint32_t op)
{
	const struct sim_op *o = &flow->plan->ops[op];

	for (uint32_t i = 0; i < o->piece_count; i++)
		if (!is_piece_right(flow->run, flow->plan->from, &o->pieces[i]))
			sim_run_fail(flow->run, "host %u: request %u fetched wrong bytes",
				     flow->plan->from, op);
}

void sim_model_check_target(struct sim_flow *flow, uint32_t op)
{
	const struct sim_op *o = &flow->plan->ops[op];
	struct sim_piece piece = {o->remote, o->length};

	if (o->is_overwritten)
		return;
	if (!is_piece_right(flow->run, !flow->plan->from, &piece))
		sim_run_fail(flow->run, "host %u: request %u wrote wrong bytes", !flow->plan->from,
			     op);
}

/* Byte `position` of what a request sends. */
static uint8_t message_byte(const struct sim_flow *flow, const struct sim_op *op, size_t position)
{
	const uint8_t *image = flow->run->images[flow->plan->from];

	for (uint32_t i = 0; i < op->piece_count; i++) {
		if (position < op->pieces[i].length)
			return image[op->pieces[i].offset + position];
		position -= op->pieces[i].length;
	}
	return 0;
}

/* Where in the message the byte at `offset` lies, if the pieces hold it; SIZE_MAX if not. */
static size_t position_in(const struct sim_piece *pieces, uint32_t count, size_t offset)
{
	size_t position = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (offset >= pieces[i].offset && offset < pieces[i].offset + pieces[i].length)
			return position + (offset - pieces[i].offset);
		position += pieces[i].length;
	}
	return SIZE_MAX;
}

/* Byte `offset` of `host`, if request `op` of a flow could have put it there. */
static bool could_have_put(const struct sim_flow *flow, const struct sim_op *op, unsigned int host,
			   size_t offset, uint8_t value)
{
	unsigned int from = flow->plan->from;
	const struct sim_recv *recv;
	size_t position;

	if (is_local(op->opcode))
		return false;
	if (host == from) {
		position = position_in(op->pieces, op->piece_count, offset);
		if (position >= op->length)
			return false;
		/* the value that an atomic found is beyond a byte's judgement */
		return is_atomic(op->opcode) ||
		       (op->opcode == ROCE_WR_RDMA_READ &&
			flow->run->images[!from][op->remote + position] == value);
	}
	if (op->opcode == ROCE_WR_RDMA_READ)
		return false;
	if (is_atomic(op->opcode))
		return offset >= op->remote && offset < op->remote + op->length;
	if (is_write(op->opcode)) {
		position = offset - op->remote; /* huge below it */
	} else {
		recv = &flow->plan->recvs[op->recv];
		position = position_in(recv->pieces, recv->piece_count, offset);
	}
	return position < op->length && message_byte(flow, op, position) == value;
}

/* A request that the responder has executed, but whose answer may never have come. */
static bool is_unanswered(const struct sim_flow *flow, const struct sim_op *op, unsigned int host,
			  size_t offset, uint8_t value)
{
	uint64_t word = sim_fill_word(host, offset / 8);

	if (host != flow->plan->from || !(is_atomic(op->opcode) || op->opcode == ROCE_WR_RDMA_READ))
		return false;
	for (uint32_t i = 0; i < op->piece_count; i++)
		if (offset >= op->pieces[i].offset &&
		    offset < op->pieces[i].offset + op->pieces[i].length)
			return value == ((const uint8_t *)&word)[offset % 8];
	return false;
}

static bool is_excused(const struct sim_run *run, unsigned int host, size_t offset)
{
	uint8_t value = run->pair.hosts[host].arena[offset];

	for (uint32_t c = 0; c < run->plan->conn_count; c++) {
		for (unsigned int from = 0; from < 2; from++) {
			const struct sim_flow *flow = &run->flows[c][from];

			for (uint32_t i = flow->succeeded; i < flow->plan->op_count; i++) {
				const struct sim_op *op = &flow->plan->ops[i];

				if (i < flow->applied
					    ? is_unanswered(flow, op, host, offset, value)
					    : could_have_put(flow, op, host, offset, value))
					return true;
			}
		}
	}
	return false;
}

/* Requests that were neither completed nor seen by the receiver may still have been executed whole
 * one after the other, so that one reads what another wrote: too many cases for bytes. Only a few
 * bytes are looked at closely, the rest need only lie where such a request points. */
#define CLOSE_LOOKS 64u

static bool is_pointed_at(const struct sim_run *run, unsigned int host, size_t offset)
{
	for (uint32_t c = 0; c < run->plan->conn_count; c++) {
		for (unsigned int from = 0; from < 2; from++) {
			const struct sim_flow *flow = &run->flows[c][from];
			const struct sim_region *region;

			if (flow->succeeded == flow->plan->op_count)
				continue;
			region = host == from ? &flow->plan->sink : &flow->plan->target;
			if (offset >= region->offset && offset < region->offset + region->length)
				return true;
			region = &flow->plan->landing;
			if (host != from && offset >= region->offset &&
			    offset < region->offset + region->length)
				return true;
		}
	}
	return false;
}

void sim_model_check_all(struct sim_run *run)
{
	for (unsigned int host = 0; host < 2; host++) {
		const uint8_t *arena = run->pair.hosts[host].arena;
		const uint8_t *image = run->images[host];
		size_t size = run->plan->arena_size[host];
		uint32_t looks = 0;

		if (!memcmp(arena, image, size))
			continue;
		for (size_t i = 0; i < size; i++) {
			if (arena[i] == image[i])
				continue;
			if (looks++ < CLOSE_LOOKS ? is_excused(run, host, i)
						  : is_pointed_at(run, host, i))
				continue;
			sim_run_fail(run, "host %u: byte %zu of %zu is 0x%02x, model 0x%02x", host,
				     i, size, arena[i], image[i]);
			return;
		}
	}
}
