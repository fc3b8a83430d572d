/* SPDX-License-Identifier: BSD-2-Clause */
/* Spans of pauses and storms; see spans.h. */
#include "record/spans.h"

#include <errno.h>
#include <stdlib.h>

#define NOT_KEPT UINT32_MAX

static size_t lane_index(enum roce_span_kind kind, uint32_t port, uint32_t prio)
{
	return ((size_t)port * ROCE_SPANS_PRIOS + prio) * ROCE_SPAN_KIND_COUNT + kind;
}

int roce_spans_init(struct roce_spans *s, uint32_t port_count)
{
	size_t lanes = (size_t)port_count * ROCE_SPANS_PRIOS * ROCE_SPAN_KIND_COUNT;

	*s = (struct roce_spans){.port_count = port_count};
	s->lanes = calloc(lanes + 1, sizeof(*s->lanes));
	if (!s->lanes)
		return -ENOMEM;
	for (size_t i = 0; i < lanes; i++)
		s->lanes[i].since_ps = ROCE_SPANS_OPEN;
	return 0;
}

void roce_spans_fini(struct roce_spans *s)
{
	free(s->spans);
	free(s->lanes);
	*s = (struct roce_spans){0};
}

/* Room for one more, or NOT_KEPT. */
static uint32_t take_place(struct roce_spans *s)
{
	if (s->count == s->capacity) {
		uint32_t capacity = s->capacity ? s->capacity * 2 : 256;
		struct roce_span *grown;

		if (s->count >= ROCE_SPANS_MAX || s->is_out_of_memory)
			return NOT_KEPT;
		grown = realloc(s->spans, capacity * sizeof(*grown));
		if (!grown) {
			s->is_out_of_memory = true;
			return NOT_KEPT;
		}
		s->spans = grown;
		s->capacity = capacity;
	}
	return s->count++;
}

void roce_spans_mark(struct roce_spans *s, enum roce_span_kind kind, uint32_t port, uint32_t prio,
		     bool is_on, uint64_t now_ps)
{
	struct roce_span_lane *lane = &s->lanes[lane_index(kind, port, prio)];
	bool was_on = lane->since_ps != ROCE_SPANS_OPEN;

	if (is_on == was_on)
		return;
	if (is_on) {
		lane->since_ps = now_ps;
		lane->count++;
		lane->open_at = take_place(s);
		if (lane->open_at == NOT_KEPT)
			s->left_out++;
		else
			s->spans[lane->open_at] = (struct roce_span){now_ps, ROCE_SPANS_OPEN, port,
								     (uint8_t)prio, (uint8_t)kind};
		return;
	}
	lane->total_ps += now_ps - lane->since_ps;
	lane->since_ps = ROCE_SPANS_OPEN;
	if (lane->open_at != NOT_KEPT)
		s->spans[lane->open_at].to_ps = now_ps;
}

const struct roce_span_lane *roce_spans_lane(const struct roce_spans *s, enum roce_span_kind kind,
					     uint32_t port, uint32_t prio)
{
	return &s->lanes[lane_index(kind, port, prio)];
}

uint64_t roce_spans_total_ps(const struct roce_span_lane *lane, uint64_t now_ps)
{
	return lane->total_ps + (lane->since_ps != ROCE_SPANS_OPEN ? now_ps - lane->since_ps : 0);
}
