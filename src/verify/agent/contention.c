/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kind `contention`: one cell in the target's memory, and atomics on it from several queue pairs of
 * the initiator and as many of the target's own, which are their own partners and so go through the
 * same device. FETCH_ADD: each adds one. CMP_SWAP: each tries to swap what it has seen last for one
 * more, until it has succeeded often enough. Either way every value from 0 on must have been taken
 * by exactly one of them, and the cell be the number of all.
 */
#include "verify/agent/kind.h"
#include "verify/agent/trouble.h"
#include "verify/agent/work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH	       4 /* FETCH_ADDs under way on a queue pair */
#define CELL_BYTES     8
#define PROGRESS_EVERY 256

struct lane {
	struct va_endpoint endpoint;
	uint64_t expected; /* CMP_SWAP: what it has seen last */
	uint64_t posted;
};

struct contention {
	struct va_device device;
	struct ibv_cq *cq;
	struct lane *lanes; /* those that ask here */
	/* target: the partners of the initiator's */
	struct va_endpoint *answering;
	uint32_t lane_count;
	struct va_buffer results; /* a place for each request under way */
	struct va_buffer cell;	  /* the target's is the one */
	struct va_remote remote;
	bool is_swap;
	uint32_t depth;
	uint64_t wanted; /* values to be taken by this side */
	uint64_t taken;
	uint64_t attempts;
	uint64_t all; /* of both sides */
	uint8_t *seen;
};

/* ---- set-up ---- */

static void set_up(struct va_run *run, struct contention *c)
{
	struct va_endpoint_config config = {
		.type = va_transport_type(va_word(run, "transport")),
		.timeout = va_impair_timeout(run),
	};

	*c = (struct contention){
		.lane_count = (uint32_t)va_number(run, "qps"),
		.is_swap = va_is(run, "op", "cmp_swap"),
		.wanted = va_number(run, "operations"),
	};
	c->depth = c->is_swap ? 1 : DEPTH;
	c->all = 2 * c->wanted;
	va_impair(run);
	va_device_open(run, VA_ANY_FAMILY, &c->device);
	if (c->device.attr.atomic_cap == IBV_ATOMIC_NONE)
		va_skip(run, "the device has no atomics");
	c->cq = ibv_create_cq(c->device.context, (int)(c->lane_count * c->depth), NULL, NULL, 0);
	c->lanes = calloc(c->lane_count, sizeof(*c->lanes));
	c->answering = calloc(c->lane_count, sizeof(*c->answering));
	c->seen = calloc((size_t)(c->all + 7) / 8, 1);
	va_need(run, c->cq && c->lanes && c->answering && c->seen, "ibv_create_cq, calloc");
	config.send_depth = c->depth;
	for (uint32_t i = 0; i < c->lane_count; i++) {
		config.send_cq = c->cq;
		va_endpoint_create(run, &c->device, &config, &c->lanes[i].endpoint);
		if (run->is_initiator) {
			va_endpoint_connect(run, &c->lanes[i].endpoint);
			continue;
		}
		va_endpoint_connect_to_itself(run, &c->lanes[i].endpoint);
		config.send_cq = NULL;
		va_endpoint_create(run, &c->device, &config, &c->answering[i]);
		va_endpoint_connect(run, &c->answering[i]);
	}
	va_buffer_create(run, &c->device, (size_t)c->lane_count * c->depth * CELL_BYTES,
			 VA_ACCESS_ALL, &c->results);
	va_buffer_create(run, &c->device, CELL_BYTES, VA_ACCESS_ALL, &c->cell);
	memset(c->cell.at, 0, CELL_BYTES);
	va_buffer_exchange(run, &c->cell, &c->remote);
	if (!run->is_initiator)
		c->remote = (struct va_remote){(uintptr_t)c->cell.at, c->cell.mr->rkey, CELL_BYTES};
}

static void tear_down(struct va_run *run, struct contention *c)
{
	for (uint32_t i = 0; i < c->lane_count; i++) {
		va_endpoint_destroy(run, &c->lanes[i].endpoint);
		if (!run->is_initiator)
			va_endpoint_destroy(run, &c->answering[i]);
	}
	va_need(run, !ibv_destroy_cq(c->cq), "ibv_destroy_cq");
	va_buffer_destroy(run, &c->results);
	va_buffer_destroy(run, &c->cell);
	va_device_close(run, &c->device);
	free(c->lanes);
	free(c->answering);
	free(c->seen);
}

/* ---- atomics ---- */

static void post(struct va_run *run, struct contention *c, uint32_t index, uint32_t place)
{
	struct lane *lane = &c->lanes[index];
	uint32_t result = index * c->depth + place;
	struct va_request request = {
		.opcode = c->is_swap ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD,
		.local = &c->results,
		.local_offset = (size_t)result * CELL_BYTES,
		.length = CELL_BYTES,
		.remote = &c->remote,
		.wr_id = result,
		.compare_add = c->is_swap ? lane->expected : 1,
		.swap = lane->expected + 1,
	};

	va_post(run, &lane->endpoint, &request);
	c->attempts++;
}

static void take_value(struct va_run *run, struct contention *c, uint64_t value)
{
	uint8_t bit = (uint8_t)(1u << value % 8);

	if (value >= c->all)
		va_fail(run, "%s returned %llu, and %llu are all", va_word(run, "op"),
			(unsigned long long)value, (unsigned long long)c->all);
	if (c->seen[value / 8] & bit)
		va_fail(run, "%s returned %llu a second time", va_word(run, "op"),
			(unsigned long long)value);
	c->seen[value / 8] |= bit;
	c->taken++;
}

/* True when that queue pair is to go on. */
static bool take_result(struct va_run *run, struct contention *c, const struct ibv_wc *wc)
{
	struct lane *lane;
	uint64_t found;

	if (wc->wr_id >= (uint64_t)c->lane_count * c->depth)
		va_fail(run, "a completion has wr_id %llu", (unsigned long long)wc->wr_id);
	lane = &c->lanes[wc->wr_id / c->depth];
	memcpy(&found, c->results.at + wc->wr_id * CELL_BYTES, sizeof(found));
	if (!c->is_swap) {
		take_value(run, c, found);
		return c->attempts < c->wanted;
	}
	if (found != lane->expected) {
		if (found < lane->expected)
			va_fail(run, "cmp_swap returned %llu, and %llu was there before",
				(unsigned long long)found, (unsigned long long)lane->expected);
		lane->expected = found;
		return c->taken < c->wanted;
	}
	take_value(run, c, found);
	lane->expected = found + 1;
	return c->taken < c->wanted;
}

/* A swap that succeeds cannot be taken back: no more are under way than may still succeed. */
static bool may_try(const struct contention *c, uint32_t under_way)
{
	return !c->is_swap || c->taken + under_way < c->wanted;
}

static void contend(struct va_run *run, struct contention *c)
{
	bool *is_idle = calloc(c->lane_count, sizeof(*is_idle));
	uint32_t under_way = 0;
	struct ibv_wc wc;

	va_need(run, is_idle != NULL, "calloc");
	for (uint32_t i = 0; i < c->lane_count; i++) {
		for (uint32_t k = 0; k < c->depth && c->attempts < c->wanted; k++, under_way++)
			post(run, c, i, k);
	}
	while (under_way) {
		uint32_t index;

		va_wait_success(run, c->cq, va_word(run, "op"), &wc);
		under_way--;
		index = (uint32_t)wc.wr_id / c->depth;
		if (!take_result(run, c, &wc))
			continue;
		is_idle[index] = true;
		for (uint32_t i = 0; i < c->lane_count; i++) {
			uint32_t lane = (index + i) % c->lane_count;

			if (!is_idle[lane] || !may_try(c, under_way))
				continue;
			is_idle[lane] = false;
			post(run, c, lane, c->is_swap ? 0 : (uint32_t)wc.wr_id % c->depth);
			under_way++;
		}
		if (c->taken % PROGRESS_EVERY == 0)
			va_progress(run, (double)c->taken / (double)c->wanted);
	}
	free(is_idle);
	if (c->taken != c->wanted)
		va_fail(run, "%llu values were taken, expected %llu", (unsigned long long)c->taken,
			(unsigned long long)c->wanted);
}

/* ---- what both have taken ---- */

static json_t *seen_text(struct va_run *run, const struct contention *c)
{
	size_t bytes = (size_t)(c->all + 7) / 8;
	char *text = malloc(2 * bytes + 1);
	json_t *json;

	va_need(run, text != NULL, "malloc");
	for (size_t i = 0; i < bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", c->seen[i]);
	json = json_string(text);
	free(text);
	return json;
}

static void check_together(struct va_run *run, const struct contention *c)
{
	json_t *theirs = va_exchange(run, seen_text(run, c));
	const char *text = json_string_value(theirs);
	size_t bytes = (size_t)(c->all + 7) / 8;

	if (!text || strlen(text) != 2 * bytes)
		va_fail(run, "the other side did not say what it has taken");
	for (size_t i = 0; i < bytes; i++) {
		unsigned int byte = 0;

		if (sscanf(text + 2 * i, "%2x", &byte) != 1)
			va_fail(run, "the other side did not say what it has taken");
		for (uint64_t v = i * 8; v < c->all && v < i * 8 + 8; v++) {
			bool is_own = c->seen[i] >> v % 8 & 1;
			bool is_theirs = byte >> v % 8 & 1;

			if (is_own == is_theirs)
				va_fail(run, "%s: value %llu was taken by %s", va_word(run, "op"),
					(unsigned long long)v, is_own ? "both sides" : "nobody");
		}
	}
	json_decref(theirs);
}

static void check_cell(struct va_run *run, const struct contention *c)
{
	uint64_t found;

	memcpy(&found, c->cell.at, sizeof(found));
	if (!run->is_initiator && found != c->all)
		va_fail(run, "%llu values were taken, and the cell is %llu",
			(unsigned long long)c->all, (unsigned long long)found);
}

static void run_side(struct va_run *run)
{
	struct contention c;

	set_up(run, &c);
	va_barrier(run, "ready");
	contend(run, &c);
	check_together(run, &c);
	check_cell(run, &c);
	if (run->is_initiator) {
		va_value(run, "operations", (double)c.all);
		va_value(run, "attempts", (double)c.attempts);
	}
	va_barrier(run, "over");
	va_impair_check(run, true);
	tear_down(run, &c);
}

void va_contention_initiator(struct va_run *run)
{
	run_side(run);
}

void va_contention_target(struct va_run *run)
{
	run_side(run);
}
