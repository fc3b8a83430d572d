/* SPDX-License-Identifier: BSD-2-Clause */
/* The observer and the sampled run; see record.h. */
#include "record/record_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Fine enough for the shortest run; a series doubles it as it must. */
#define SAMPLE_PS_DEFAULT UINT64_C(100000) /* 100 ns */

void roce_record_destroy(struct roce_record *r)
{
	if (!r)
		return;
	roce_story_fini(&r->story);
	roce_capture_fini(&r->capture);
	roce_samples_fini(&r->samples);
	roce_history_fini(&r->history);
	roce_rates_fini(&r->rates);
	roce_series_fini(&r->series);
	roce_spans_fini(&r->spans);
	free(r->cycle);
	free(r->wrongs);
	free(r->first_port);
	free(r);
}

int roce_record_begin(struct roce_record *r, struct roce_fabric *f, const char *const *names)
{
	uint32_t ports = 0;
	int err;

	r->fabric = f;
	r->names = names;
	r->node_count = roce_fabric_node_count(f);
	r->first_port = calloc((size_t)r->node_count + 1, sizeof(*r->first_port));
	if (!r->first_port)
		return -ENOMEM;
	for (uint32_t node = 0; node < r->node_count; node++) {
		r->first_port[node] = ports;
		ports += roce_fabric_port_count(f, node);
	}
	r->first_port[r->node_count] = ports;
	err = roce_spans_init(&r->spans, ports);
	if (!err)
		err = roce_story_init(&r->story, r->cfg.log, ports);
	if (!err)
		err = roce_capture_begin(r);
	if (!err)
		err = roce_samples_begin(r);
	if (!err)
		err = roce_history_begin(r);
	if (!err)
		err = roce_rates_begin(r);
	if (!err && r->cfg.has_series)
		err = roce_series_init(&r->series, ports,
				       r->cfg.sample_ps ? r->cfg.sample_ps : SAMPLE_PS_DEFAULT,
				       roce_fabric_now_ps(f));
	return err;
}

/* ---- names of ports ---- */

static uint32_t links_between(const struct roce_record *r, uint32_t node, uint32_t peer)
{
	struct roce_fabric_port_view view;
	uint32_t count = 0;

	for (uint32_t i = 0; i < roce_fabric_port_count(r->fabric, node); i++) {
		if (roce_fabric_port_view(r->fabric, node, i, &view) == 0)
			count += view.peer_node == peer;
	}
	return count;
}

void roce_record_port_label(const struct roce_record *r, uint32_t node, uint32_t port,
			    char out[ROCE_RECORD_LABEL_MAX])
{
	struct roce_fabric_port_view view;

	if (roce_fabric_port_view(r->fabric, node, port, &view) != 0)
		snprintf(out, ROCE_RECORD_LABEL_MAX, "%s:%u", r->names[node], port);
	else if (links_between(r, node, view.peer_node) > 1)
		snprintf(out, ROCE_RECORD_LABEL_MAX, "%s:%u to %s", r->names[node], port,
			 r->names[view.peer_node]);
	else
		snprintf(out, ROCE_RECORD_LABEL_MAX, "%s to %s", r->names[node],
			 r->names[view.peer_node]);
}

/* In quotes if it could be taken for more than one. */
void roce_record_put_cell(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\n")) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (const char *p = text; *p; p++) {
		if (*p == '"')
			fputc('"', out);
		fputc(*p, out);
	}
	fputc('"', out);
}

struct roce_record_port roce_record_port_at(const struct roce_record *r, uint32_t index)
{
	uint32_t low = 0, high = r->node_count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (r->first_port[middle] <= index)
			low = middle;
		else
			high = middle;
	}
	return (struct roce_record_port){low, index - r->first_port[low]};
}

uint64_t roce_record_tx_bytes(const struct roce_fabric_port_view *view)
{
	uint64_t sum = 0;

	for (uint32_t p = 0; p < ROCE_FABRIC_PRIOS; p++)
		sum += view->prio_counters[p][ROCE_FABRIC_TX_BYTES];
	return sum;
}

uint64_t roce_record_queue_bytes(const struct roce_fabric_port_view *view)
{
	uint64_t sum = 0;

	for (uint32_t tc = 0; tc < ROCE_FABRIC_PRIOS; tc++)
		sum += view->queue_bytes[tc];
	return sum;
}

/* ---- the observer ---- */

static void on_frame_sent(void *ctx, uint64_t ps, uint32_t node, uint32_t port,
			  const struct roce_fabric_frame_view *frame)
{
	roce_capture_frame(ctx, ps, node, port, frame, ROCE_PCAPNG_OUTBOUND);
}

static void on_frame_received(void *ctx, uint64_t ps, uint32_t node, uint32_t port,
			      const struct roce_fabric_frame_view *frame)
{
	roce_capture_frame(ctx, ps, node, port, frame, ROCE_PCAPNG_INBOUND);
}

static void on_frame_dropped(void *ctx, uint64_t ps, uint32_t node, uint32_t port,
			     const struct roce_fabric_frame_view *frame, enum roce_fabric_drop why)
{
	if (why == ROCE_FABRIC_DROP_BIT_ERROR)
		roce_capture_frame(ctx, ps, node, port, frame, ROCE_PCAPNG_INBOUND);
	roce_story_dropped(ctx, ps, node, port, frame, why);
}

static void on_frame_marked(void *ctx, uint64_t ps, uint32_t node, uint32_t port,
			    const struct roce_fabric_frame_view *frame)
{
	roce_story_marked(ctx, ps, node, port, frame);
}

static void on_pause_sent(void *ctx, uint64_t ps, uint32_t node, uint32_t port, uint8_t prios,
			  const uint16_t quanta[8])
{
	roce_capture_pause(ctx, ps, node, port, prios, quanta, ROCE_PCAPNG_OUTBOUND);
	roce_story_pause_sent(ctx, ps, node, port, prios, quanta);
}

static void on_pause_received(void *ctx, uint64_t ps, uint32_t node, uint32_t port, uint8_t prios,
			      const uint16_t quanta[8])
{
	roce_capture_pause(ctx, ps, node, port, prios, quanta, ROCE_PCAPNG_INBOUND);
}

static void on_paused(void *ctx, uint64_t ps, uint32_t node, uint32_t port, uint32_t prio,
		      bool is_paused)
{
	struct roce_record *r = ctx;
	uint32_t index = roce_record_port_index(r, node, port);
	uint64_t since = roce_spans_lane(&r->spans, ROCE_SPAN_PAUSED, index, prio)->since_ps;

	roce_spans_mark(&r->spans, ROCE_SPAN_PAUSED, index, prio, is_paused, ps);
	roce_story_paused(r, ps, node, port, prio, is_paused,
			  since == ROCE_SPANS_OPEN ? 0 : ps - since);
}

static void on_storm(void *ctx, uint64_t ps, uint32_t node, uint32_t port, uint32_t prio,
		     bool is_stormed)
{
	struct roce_record *r = ctx;

	roce_spans_mark(&r->spans, ROCE_SPAN_STORMED, roce_record_port_index(r, node, port), prio,
			is_stormed, ps);
	roce_story_storm(r, ps, node, port, prio, is_stormed);
}

static void on_link_changed(void *ctx, uint64_t ps, uint32_t node, uint32_t port, bool is_up)
{
	roce_story_link(ctx, ps, node, port, is_up);
}

static void on_host_stormed(void *ctx, uint64_t ps, uint32_t node, bool is_begin)
{
	roce_story_host_stormed(ctx, ps, node, is_begin);
}

static void on_host_drained(void *ctx, uint64_t ps, uint32_t node, uint64_t drain_bps)
{
	roce_story_host_drained(ctx, ps, node, drain_bps);
}

static void on_flow_started(void *ctx, uint64_t ps, uint32_t flow)
{
	roce_story_flow_started(ctx, ps, flow);
}

static void on_flow_done(void *ctx, uint64_t ps, uint32_t flow)
{
	roce_story_flow_done(ctx, ps, flow);
}

static void on_payload_wrong(void *ctx, uint64_t ps, const struct roce_fabric_wrong *wrong)
{
	struct roce_record *r = ctx;

	roce_story_payload_wrong(r, ps, wrong);
	if (!r->cfg.has_series)
		return;
	if (r->wrong_count == r->wrong_room && r->wrong_room < ROCE_RECORD_WRONGS_MAX) {
		uint32_t room = r->wrong_room ? 2 * r->wrong_room : 64;
		struct roce_record_wrong *grown = realloc(r->wrongs, room * sizeof(*grown));

		if (!grown)
			return;
		r->wrongs = grown;
		r->wrong_room = room;
	}
	if (r->wrong_count < r->wrong_room)
		r->wrongs[r->wrong_count++] = (struct roce_record_wrong){ps, wrong->flow};
}

static void on_deadlock(void *ctx, uint64_t ps, const struct roce_fabric_cycle *cycle,
			uint32_t count)
{
	struct roce_record *r = ctx;

	roce_story_deadlock(r, ps, cycle, count);
	if (r->cycle)
		return; /* the first one is the cause */
	r->cycle = malloc(count * sizeof(*cycle));
	if (!r->cycle)
		return;
	memcpy(r->cycle, cycle, count * sizeof(*cycle));
	r->cycle_count = count;
	r->cycle_ps = ps;
}

static struct roce_fabric_observer make_observer(const struct roce_record_config *cfg)
{
	struct roce_fabric_observer o = {
		.paused = on_paused, .storm = on_storm, .deadlock = on_deadlock};

	if (cfg->capture) {
		o.frame_sent = on_frame_sent;
		o.frame_received = on_frame_received;
		o.frame_dropped = on_frame_dropped;
		o.pause_received = on_pause_received;
	}
	if (cfg->log) {
		o.frame_dropped = on_frame_dropped;
		o.frame_marked = on_frame_marked;
		o.link_changed = on_link_changed;
		o.host_stormed = on_host_stormed;
		o.host_drained = on_host_drained;
		o.flow_started = on_flow_started;
		o.flow_done = on_flow_done;
	}
	if (cfg->log || cfg->has_series)
		o.payload_wrong = on_payload_wrong;
	if (cfg->capture || cfg->log)
		o.pause_sent = on_pause_sent;
	return o;
}

const struct roce_rates *roce_record_rates(const struct roce_record *r)
{
	return &r->rates;
}

const struct roce_fabric_observer *roce_record_observer(const struct roce_record *r)
{
	return &r->observer;
}

int roce_record_create(const struct roce_record_config *cfg, struct roce_record **out)
{
	struct roce_record *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->cfg = *cfg;
	r->observer = make_observer(cfg);
	*out = r;
	return 0;
}

/* ---- the run ---- */

static void take_samples(struct roce_record *r)
{
	for (uint32_t node = 0; node < r->node_count; node++) {
		uint32_t ports = roce_fabric_port_count(r->fabric, node);

		for (uint32_t port = 0; port < ports; port++) {
			struct roce_fabric_port_view view;

			if (roce_fabric_port_view(r->fabric, node, port, &view) != 0)
				continue;
			roce_series_put(&r->series, roce_record_port_index(r, node, port),
					roce_record_queue_bytes(&view),
					roce_record_tx_bytes(&view));
		}
	}
	roce_series_advance(&r->series);
}

uint64_t roce_record_next_stop(const struct roce_record *r)
{
	uint64_t series = r->cfg.has_series ? roce_series_next_ps(&r->series) : ROCE_FABRIC_NEVER;
	uint64_t samples = r->samples.out ? r->samples.next_ps : ROCE_FABRIC_NEVER;
	uint64_t history = roce_history_next_ps(&r->history);
	uint64_t rates = roce_rates_next_ps(&r->rates);

	samples = samples < history ? samples : history;
	series = series < rates ? series : rates;
	return series < samples ? series : samples;
}

void roce_record_look(struct roce_record *r)
{
	uint64_t now_ps = roce_fabric_now_ps(r->fabric);

	if (r->cfg.has_series && now_ps >= roce_series_next_ps(&r->series))
		take_samples(r);
	if (r->samples.out && now_ps >= r->samples.next_ps)
		roce_samples_take(r);
	if (now_ps >= roce_history_next_ps(&r->history))
		roce_history_take(r);
	if (now_ps >= roce_rates_next_ps(&r->rates))
		roce_rates_take(r);
}

void roce_record_end(struct roce_record *r, enum roce_fabric_end end)
{
	r->end = end;
	if (r->history.out)
		roce_history_take(r);
	roce_story_end(r, roce_fabric_now_ps(r->fabric), roce_fabric_end_str(end));
}
